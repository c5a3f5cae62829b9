"""Training: steps of optimizers, schedules, accumulation, autocast, scalers, checkpoints, hooks, own functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn
from torch.optim import SGD, Adagrad, Adam, AdamW, NAdam, RMSprop
from torch.utils.checkpoint import checkpoint

from tests.frontends.pytorch.real_programs.running import Compiling, Made, program

optimizers = program("optimizers")
training = program("training")


def net_of(width: int = 4) -> nn.Module:
    return nn.Sequential(nn.Linear(width, 6), nn.Tanh(), nn.Linear(6, 2))


def stepping(compiling: Compiling, make: Callable[[Any], torch.optim.Optimizer], *, closure: bool = False) -> Made:
    """Steps of an optimizer that is compiled, between forward and backward that are not."""
    net = net_of()
    optimizer = make(net.parameters())
    step = compiling(optimizer.step)

    def call(size: int) -> object:
        optimizer.zero_grad()
        loss = net(torch.randn(size, 4)).square().mean()
        loss.backward()
        step()
        return loss

    return call, lambda: (list(net.parameters()), [optimizer.state[each] for each in net.parameters()])


STEPS: dict[str, Callable[[Any], torch.optim.Optimizer]] = {
    "SGD": lambda given: SGD(given, 0.1),
    "SGD with momentum": lambda given: SGD(given, 0.1, momentum=0.9, nesterov=True, weight_decay=0.01),
    "SGD, one by one": lambda given: SGD(given, 0.1, momentum=0.9, foreach=False),
    "Adam": lambda given: Adam(given, 0.01),
    "Adam, one by one": lambda given: Adam(given, 0.01, foreach=False),
    "Adam, capturable": lambda given: Adam(given, torch.tensor(0.01), capturable=False, foreach=False),
    "Adam, fused": lambda given: Adam(given, 0.01, fused=True),
    "AdamW": lambda given: AdamW(given, 0.01, amsgrad=True),
    "AdamW, one by one": lambda given: AdamW(given, 0.01, foreach=False),
    "RMSprop": lambda given: RMSprop(given, 0.01, momentum=0.5),
    "Adagrad": lambda given: Adagrad(given, 0.05),
    "NAdam": lambda given: NAdam(given, 0.01),
}


def step_of(name: str) -> None:
    def made(compiling: Compiling) -> Made:
        return stepping(compiling, STEPS[name])

    made.__name__ = f"a step of {name}"
    optimizers(made)


for name in STEPS:
    step_of(name)


@optimizers
def a_step_with_a_schedule(compiling: Compiling) -> Made:
    net = net_of()
    optimizer = SGD(net.parameters(), 0.1, momentum=0.9)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    step = compiling(optimizer.step)

    def call(size: int) -> object:
        optimizer.zero_grad()
        loss = net(torch.randn(size, 4)).square().mean()
        loss.backward()
        step()
        schedule.step()
        return loss, schedule.get_last_lr()

    return call, lambda: list(net.parameters())


@optimizers
def a_step_and_a_warm_up(compiling: Compiling) -> Made:
    """The rate is set by the program, and gradients are clipped, in what is compiled."""
    net = net_of()
    optimizer = SGD(net.parameters(), 0.1)
    steps = 0

    def step() -> torch.Tensor:
        nonlocal steps
        steps += 1
        for group in optimizer.param_groups:
            group["lr"] = 0.1 * min(1.0, steps / 4)
        norm = nn.utils.clip_grad_norm_(net.parameters(), 0.5)
        optimizer.step()
        return norm

    compiled = compiling(step)

    def call(size: int) -> object:
        optimizer.zero_grad()
        net(torch.randn(size, 4)).square().mean().backward()
        return compiled()

    return call, lambda: (list(net.parameters()), steps, optimizer.param_groups[0]["lr"])


@optimizers
def an_optimizer_by_hand(compiling: Compiling) -> Made:
    net = net_of()
    means = [torch.zeros_like(each) for each in net.parameters()]

    @torch.no_grad()
    def step(gradients: list[torch.Tensor], rate: float) -> None:
        for parameter, mean, gradient in zip(net.parameters(), means, gradients):
            mean.mul_(0.9).add_(gradient)
            parameter.sub_(mean * rate)

    compiled = compiling(step)

    def call(size: int) -> object:
        loss = net(torch.randn(size, 4)).square().mean()
        compiled(list(torch.autograd.grad(loss, list(net.parameters()))), 0.1)
        return loss

    return call, lambda: (list(net.parameters()), means)


@optimizers
def gradients_set_to_zero(compiling: Compiling) -> Made:
    net = net_of()
    optimizer = SGD(net.parameters(), 0.1)
    zero = compiling(lambda: optimizer.zero_grad(set_to_none=False))

    def call(size: int) -> object:
        zero()
        loss = net(torch.randn(size, 4)).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    return call, lambda: list(net.parameters())


@training
def a_loss_compiled(compiling: Compiling) -> Made:
    """The usual loop: the loss is compiled, backward and step are torch's."""
    net = net_of()
    optimizer = AdamW(net.parameters(), 0.01)

    def loss_of(x: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(net(x), wanted)

    compiled = compiling(loss_of)

    def call(size: int) -> object:
        optimizer.zero_grad()
        loss = compiled(torch.randn(size, 4), torch.randint(0, 2, (size,)))
        loss.backward()
        optimizer.step()
        return loss

    return call, lambda: list(net.parameters())


@training
def a_whole_step_compiled(compiling: Compiling) -> Made:
    net = net_of()
    optimizer = SGD(net.parameters(), 0.1, momentum=0.9)

    def step(x: torch.Tensor) -> torch.Tensor:
        optimizer.zero_grad()
        loss = net(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss.detach()

    compiled = compiling(step)
    return lambda size: compiled(torch.randn(size, 4)), lambda: list(net.parameters())


@training
def gradients_accumulated(compiling: Compiling) -> Made:
    net = net_of()
    optimizer = SGD(net.parameters(), 0.1)
    compiled = compiling(net)

    def call(size: int) -> object:
        optimizer.zero_grad()
        for _ in range(3):
            (compiled(torch.randn(size, 4)).square().mean() / 3).backward()
        optimizer.step()
        return [each.grad for each in net.parameters()]

    return call, lambda: list(net.parameters())


@training
def autocast_around(compiling: Compiling) -> Made:
    net = net_of()
    compiled = compiling(net)

    def call(size: int) -> object:
        net.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = compiled(torch.ones(size, 4))
        y.float().sum().backward()
        return y.dtype

    return call, lambda: [each.grad is None for each in net.parameters()]


@training
def autocast_within(compiling: Compiling) -> Made:
    net = net_of()

    def forward(x: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = net(x)
        return y.float().softmax(-1)

    compiled = compiling(forward)
    return lambda size: compiled(torch.randn(size, 4)).round(decimals=1).shape, lambda: None


@training
def autocast_at_some_calls(compiling: Compiling) -> Made:
    net = net_of()
    compiled = compiling(net)

    def call(size: int) -> object:
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=size == 5):
            return compiled(torch.randn(size, 4)).dtype

    return call, lambda: None


@training
def a_scaler(compiling: Compiling) -> Made:
    net = net_of()
    optimizer = SGD(net.parameters(), 0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0, growth_interval=2)
    compiled = compiling(lambda x: net(x).square().mean())

    def call(size: int) -> object:
        optimizer.zero_grad()
        loss = compiled(torch.randn(size, 4))
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        return loss, scaler.get_scale()

    return call, lambda: list(net.parameters())


def checkpointing(name: str, *, dropout: float = 0.0, reentrant: bool = False) -> None:
    def made(compiling: Compiling) -> Made:
        net = nn.Sequential(nn.Linear(4, 6), nn.Dropout(dropout), nn.Tanh())
        last = nn.Linear(6, 2)
        compiled = compiling(lambda x: last(checkpoint(net, x, use_reentrant=reentrant)))

        def call(size: int) -> object:
            net.zero_grad()
            x = torch.randn(size, 4, requires_grad=True)
            y = compiled(x)
            y.square().sum().backward()
            return y, x.grad

        return call, lambda: list(net.parameters())

    made.__name__ = name
    training(made)


checkpointing("activation checkpointing")
checkpointing("activation checkpointing with dropout", dropout=0.5)
checkpointing("reentrant checkpointing", reentrant=True)


@training
def a_compiled_block_in_a_checkpoint(compiling: Compiling) -> Made:
    net = compiling(nn.Sequential(nn.Linear(4, 6), nn.Dropout(0.5), nn.Tanh()))

    def call(size: int) -> object:
        net.zero_grad()
        x = torch.randn(size, 4, requires_grad=True)
        y = checkpoint(net, x, use_reentrant=False)
        y.square().sum().backward()
        return y, x.grad

    return call, lambda: list(net.parameters())


@training
def hooks_of_tensors(compiling: Compiling) -> Made:
    net = net_of()

    def forward(x: torch.Tensor) -> torch.Tensor:
        y = torch.tanh(x)
        y.register_hook(lambda gradient: gradient * 2)
        return net(y)

    compiled = compiling(forward)

    def call(size: int) -> object:
        x = torch.randn(size, 4, requires_grad=True)
        compiled(x).square().sum().backward()
        return x.grad

    return call, lambda: None


@training
def hooks_of_what_goes_in_and_out(compiling: Compiling) -> Made:
    net, seen = net_of(), []
    net[0].weight.register_hook(lambda gradient: gradient.clamp(-0.1, 0.1))
    net[2].weight.register_post_accumulate_grad_hook(lambda weight: seen.append(weight.grad.shape[0]))
    compiled = compiling(net)

    def call(size: int) -> object:
        net.zero_grad()
        x = torch.randn(size, 4, requires_grad=True)
        x.register_hook(lambda gradient: gradient + 1)
        y = compiled(x)
        y.register_hook(lambda gradient: gradient * 3)
        y.sum().backward()
        return x.grad

    return call, lambda: (list(net.parameters()), seen)


class Rounded(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, scale: float) -> torch.Tensor:
        ctx.save_for_backward(x)
        ctx.scale = scale
        return torch.round(x * scale) / scale

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        (x,) = ctx.saved_tensors
        return gradient * (x.abs() <= ctx.scale), None


@training
def a_function_with_its_own_gradient(compiling: Compiling) -> Made:
    net = net_of()
    compiled = compiling(lambda x: Rounded.apply(net(x), 8.0) * 2)

    def call(size: int) -> object:
        net.zero_grad()
        y = compiled(torch.randn(size, 4))
        y.square().sum().backward()
        return y

    return call, lambda: list(net.parameters())


@training
def a_gradient_penalty(compiling: Compiling) -> Made:
    """A gradient of a gradient, inside of what is compiled."""
    net = net_of()

    def penalty(x: torch.Tensor) -> torch.Tensor:
        x = x.detach().requires_grad_()
        (gradient,) = torch.autograd.grad(net(x).sum(), x, create_graph=True)
        return (gradient.norm(dim=-1) - 1).square().mean()

    compiled = compiling(penalty)

    def call(size: int) -> object:
        net.zero_grad()
        y = compiled(torch.randn(size, 4))
        y.backward()
        return y

    return call, lambda: list(net.parameters())


@training
def gradients_without_backward(compiling: Compiling) -> Made:
    net = net_of()

    def gradients(x: torch.Tensor) -> Any:
        return torch.autograd.grad(net(x).square().mean(), list(net.parameters()))

    compiled = compiling(gradients)
    return lambda size: compiled(torch.randn(size, 4)), lambda: None


@training
def two_losses_of_one_forward(compiling: Compiling) -> Made:
    net = net_of()
    compiled = compiling(lambda x: net(x).chunk(2, -1))

    def call(size: int) -> object:
        net.zero_grad()
        one, other = compiled(torch.randn(size, 4))
        one.sum().backward(retain_graph=True)
        other.square().sum().backward()
        return one, other

    return call, lambda: list(net.parameters())


@training
def parts_in_turns(compiling: Compiling) -> Made:
    """Adversarial: one of two networks is frozen while the other one learns."""
    maker, judge = nn.Linear(4, 4), nn.Linear(4, 1)
    by_maker, by_judge = SGD(maker.parameters(), 0.1), SGD(judge.parameters(), 0.1)
    compiled = compiling(lambda x: judge(torch.tanh(maker(x))).mean())

    def call(size: int) -> object:
        judge.requires_grad_(False)
        by_maker.zero_grad()
        compiled(torch.randn(size, 4)).backward()
        by_maker.step()
        judge.requires_grad_(True)
        by_judge.zero_grad()
        loss = compiled(torch.randn(size, 4))
        loss.backward()
        by_judge.step()
        return loss

    return call, lambda: (list(maker.parameters()), list(judge.parameters()))
