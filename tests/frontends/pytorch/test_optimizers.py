"""Optimizers inside of a compiled function: parameters and state are those of eager torch, step by step."""

import pytest
import torch

from frontends.pytorch import compile

OPTIMIZERS = {
    "SGD": lambda given: torch.optim.SGD(given, 0.1, momentum=0.9, nesterov=True, weight_decay=0.1),
    "Adam": lambda given: torch.optim.Adam(given, 0.1),
    "Adam, several at once": lambda given: torch.optim.Adam(given, 0.1, foreach=True),
    "Adam, fused": lambda given: torch.optim.Adam(given, 0.1, fused=True),
    "AdamW": lambda given: torch.optim.AdamW(given, torch.tensor(0.1), amsgrad=True),
    "RMSprop": lambda given: torch.optim.RMSprop(given, 0.1, centered=True),
    "Adadelta": torch.optim.Adadelta,
    "Rprop": torch.optim.Rprop,
}


def training(make):
    """A step of training, and all that it changes."""
    torch.manual_seed(0)
    layer = torch.nn.Linear(4, 3)
    optimizer = make(list(layer.parameters()))

    def step(x):
        optimizer.zero_grad()
        loss = layer(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step, lambda: (list(layer.parameters()), [dict(optimizer.state[each]) for each in layer.parameters()])


def is_settled(value: object) -> bool:
    """Whether every tensor in it is one of torch's own classes."""
    return all(
        type(leaf) in (torch.Tensor, torch.nn.Parameter)
        for leaf in torch.utils._pytree.tree_leaves(value)
        if isinstance(leaf, torch.Tensor)
    )


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_training(name: str) -> None:
    """If it fails, an optimizer goes another way, or keeps tensors that wait for their elements."""
    step, state = training(OPTIMIZERS[name])
    eager, expected = training(OPTIMIZERS[name])
    compiled = compile(step)
    for rows in (5, 5, 2, 5):
        x = torch.linspace(-1, 1, rows * 4).reshape(rows, 4)
        torch.testing.assert_close(compiled(x), eager(x))
        torch.testing.assert_close(state(), expected())
        assert is_settled(state())


STEPS = {
    "SGD": lambda given, foreach: torch.optim.SGD(given, 0.1, momentum=0.9, foreach=foreach),
    "Adam": lambda given, foreach: torch.optim.Adam(given, 0.1, foreach=foreach),
    "AdamW": lambda given, foreach: torch.optim.AdamW(given, 0.1, amsgrad=True, foreach=foreach),
    "RMSprop": lambda given, foreach: torch.optim.RMSprop(given, 0.1, momentum=0.5, foreach=foreach),
}


@pytest.mark.parametrize("foreach", [False, True])
@pytest.mark.parametrize("name", STEPS)
def test_the_step_alone(name: str, foreach: bool) -> None:
    """If it fails, a compiled step differs from eager torch's."""

    def make():
        torch.manual_seed(0)
        layer = torch.nn.Linear(4, 3)
        return layer, STEPS[name](list(layer.parameters()), foreach)

    (layer, optimizer), (expected, eager) = make(), make()
    step = compile(optimizer.step, dynamic=True, backend="cpu")
    for rows in (5, 3, 2, 5, 7, 4):
        x = torch.linspace(-1, 1, rows * 4).reshape(rows, 4)
        for net, each, call in ((layer, optimizer, step), (expected, eager, eager.step)):
            each.zero_grad()
            net(x).square().mean().backward()
            assert call() is None
        for one, other in zip(layer.parameters(), expected.parameters(), strict=True):
            torch.testing.assert_close(one, other)
            torch.testing.assert_close(dict(optimizer.state[one]), dict(eager.state[other]))


def test_changed_learning_rate() -> None:
    """If it fails, what a call does to an object of torch's is lost, or done twice by the first call."""
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(2))], 1.0)

    def step(x):
        for group in optimizer.param_groups:
            group["lr"] = group["lr"] * 0.5
        return x * 2

    compiled = compile(step)
    for expected in (0.5, 0.25, 0.125):
        assert torch.equal(compiled(torch.ones(3)), torch.full((3,), 2.0))
        assert optimizer.param_groups[0]["lr"] == expected


def test_learning_rate_before_what_is_eager() -> None:
    """If it fails, a call that is left to eager torch begins with what the trace has changed."""

    def make():
        parameter = torch.nn.Parameter(torch.ones(2))
        optimizer = torch.optim.SGD([parameter], 1.0)

        def step(x):
            for group in optimizer.param_groups:
                group["lr"] = group["lr"] * 0.5
            optimizer.zero_grad()
            (parameter * x).sum().backward()
            optimizer.step()
            return x

        return step, parameter

    (eager, expected), (step, parameter) = make(), make()
    compiled = compile(step)
    for _ in range(3):
        eager(torch.ones(2)), compiled(torch.ones(2))
        torch.testing.assert_close(parameter, expected)
