"""Modules as people write them: containers of layers, hooks, buffers, shared parameters, attributes that change, lazily
made layers, copies, states that are loaded."""

from __future__ import annotations

import copy
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from tests.frontends.pytorch.real_programs.running import Call, Compiling, Made, program

Tensor = torch.Tensor
modules = program("more of modules")


def called(compiled: Any, width: int = 4) -> Call:
    return lambda size: compiled(torch.randn(size, width))


class Block(nn.Module):
    """A residual layer."""

    def __init__(self, width: int = 4, scale: float = 1.0) -> None:
        super().__init__()
        self.layer, self.norm, self.scale = nn.Linear(width, width), nn.LayerNorm(width), scale

    def forward(self, x: Tensor) -> Tensor:
        return x + self.norm(torch.relu(self.layer(x))) * self.scale


@modules
def layers_in_a_list(compiling: Compiling) -> Call:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList([Block(scale=i) for i in range(3)])

        def forward(self, x: Tensor) -> Tensor:
            for i, layer in enumerate(self.layers):
                x = layer(x) * i if i % 2 else layer(x)
            return self.layers[-1](x) + len(self.layers)

    return called(compiling(Net()))


@modules
def layers_in_a_dictionary(compiling: Compiling) -> Call:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.acts = nn.ModuleDict({"relu": nn.ReLU(), "gelu": nn.GELU()})

        def forward(self, x: Tensor, name: str) -> Tensor:
            return self.acts[name](x) + sum([act(x).sum() for key, act in self.acts.items() if key in self.acts])

    compiled = compiling(Net())
    return lambda size: compiled(torch.randn(size, 4), "relu" if size % 2 else "gelu")


@modules
def layers_in_a_plain_list(compiling: Compiling) -> Call:
    layers = [nn.Linear(4, 4), Block()]

    class Net(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            for layer in layers:
                x = layer(x)
            return x

    return called(compiling(Net()))


@modules
def parameters_in_lists_and_dictionaries(compiling: Compiling) -> Call:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weights = nn.ParameterList([nn.Parameter(torch.ones(4) * i) for i in range(3)])
            self.named = nn.ParameterDict({"shift": nn.Parameter(torch.ones(4))})

        def forward(self, x: Tensor) -> Tensor:
            for weight in self.weights:
                x = x * weight + self.named["shift"]
            return x

    return called(compiling(Net()))


@modules
def a_sequence_that_is_sliced(compiling: Compiling) -> Call:
    net = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), Block(), nn.Tanh())

    def f(x: Tensor) -> Tensor:
        y = net[:2](x)
        for layer in net[2:]:
            y = layer(y)
        return y + net[0].weight.sum()

    return called(compiling(f))


@modules
def a_parameter_that_is_shared(compiling: Compiling) -> Call:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.one, self.other = nn.Linear(4, 4), nn.Linear(4, 4)
            self.other.weight = self.one.weight

        def forward(self, x: Tensor) -> Tensor:
            return self.other(self.one(x)) + (1 if self.one.weight is self.other.weight else 0)

    net = Net()
    compiled = compiling(net)

    def call(size: int) -> object:
        net.zero_grad()
        compiled(torch.randn(size, 4)).sum().backward()
        return [each.grad for each in net.parameters()]

    return call


@modules
def a_layer_used_twice(compiling: Compiling) -> Call:
    layer = nn.Linear(4, 4)
    return called(compiling(nn.Sequential(layer, nn.ReLU(), layer)))


@modules
def a_buffer_that_is_assigned(compiling: Compiling) -> Made:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("total", torch.zeros(4))
            self.register_buffer("steps", torch.tensor(0), persistent=False)

        def forward(self, x: Tensor) -> Tensor:
            self.total = self.total * 0.9 + x.mean(0)
            self.steps += 1
            return x - self.total / self.steps

    net = Net()
    return called(compiling(net)), lambda: (net.state_dict(), net.steps)


@modules
def an_attribute_that_others_set(compiling: Compiling) -> Call:
    net = Block()
    compiled = compiling(net)

    def call(size: int) -> object:
        net.scale = size * 0.5
        return compiled(torch.randn(size, 4))

    return call


@modules
def hooks_that_change_what_comes(compiling: Compiling) -> Call:
    net = Block()
    net.layer.register_forward_pre_hook(lambda module, args: (args[0] * 2,))
    net.norm.register_forward_hook(lambda module, args, out: out + args[0].sum())
    net.register_forward_pre_hook(lambda module, args, kwargs: (args, kwargs), with_kwargs=True)
    return called(compiling(net))


@modules
def a_hook_that_keeps(compiling: Compiling) -> Made:
    net, kept = Block(), []
    net.layer.register_forward_hook(lambda module, args, out: kept.append(out.detach().mean()))
    return called(compiling(net)), lambda: kept


@modules
def a_hook_for_gradients(compiling: Compiling) -> Made:
    seen: list[Tensor] = []

    def f(x: Tensor) -> Tensor:
        y = x * 2
        y.register_hook(lambda grad: grad * 3)
        return y.sum()

    compiled = compiling(f)

    def call(size: int) -> object:
        x = torch.randn(size, 4, requires_grad=True)
        compiled(x).backward()
        return x.grad

    return call, lambda: seen


@modules
def modes_of_parts(compiling: Compiling) -> Call:
    net = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5), nn.BatchNorm1d(4))
    compiled = compiling(net)

    def call(size: int) -> object:
        net.train(size % 2 == 0)
        net[2].eval()
        return compiled(torch.randn(size, 4)), net.training, net[1].training, net[2].running_mean

    return call


@modules
def a_layer_that_is_replaced(compiling: Compiling) -> Call:
    net = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    compiled = compiling(net)

    def call(size: int) -> object:
        if size == 2:
            net[1] = nn.Tanh()
        if size == 7:
            net[0] = nn.Linear(4, 2)
        return compiled(torch.randn(size, 4))

    return call


@modules
def weights_changed_in_place(compiling: Compiling) -> Call:
    net = nn.Linear(4, 2)
    compiled = compiling(net)

    def call(size: int) -> object:
        with torch.no_grad():
            net.weight.add_(0.1 * size)
            net.bias.data = net.bias.data + 1
        return compiled(torch.randn(size, 4))

    return call


@modules
def a_method_that_is_not_forward(compiling: Compiling) -> Call:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 4)

        def encode(self, x: Tensor, *, times: int = 2) -> Tensor:
            for _ in range(times):
                x = self.layer(x)
            return x

        def forward(self, x: Tensor) -> Tensor:
            return self.encode(x, times=3)

    net = Net()
    encode, whole = compiling(net.encode), compiling(net)
    return lambda size: (encode(torch.randn(size, 4)), whole(torch.randn(size, 4)))


@modules
def an_inherited_forward(compiling: Compiling) -> Call:
    class Net(Block):
        def forward(self, x: Tensor) -> Tensor:
            return super().forward(x) * 2 + self.gain

        @property
        def gain(self) -> float:
            return self.scale + 1

    return called(compiling(Net(scale=3.0)))


@modules
def parameters_that_are_walked(compiling: Compiling) -> Call:
    net = Block()

    def penalty(x: Tensor) -> object:
        total = net(x).sum()
        for name, parameter in net.named_parameters():
            if name.endswith("weight"):
                total = total + parameter.square().sum()
        return total + sum([p.numel() for p in net.parameters()]) + len(list(net.modules()))

    return called(compiling(penalty))


@modules
def a_layer_made_within(compiling: Compiling) -> Call:
    def f(x: Tensor) -> Tensor:
        act = nn.LeakyReLU(0.2)
        return nn.Sequential(act, nn.Flatten(0))(x)

    return called(compiling(f))


@modules
def a_layer_made_at_the_first_call(compiling: Compiling) -> Made:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer: Any = None

        def forward(self, x: Tensor) -> Tensor:
            if self.layer is None:
                self.layer = nn.Linear(x.shape[1], 2)
            return self.layer(x)

    net = Net()
    return called(compiling(net)), lambda: list(net.parameters())


@modules
def functional_layers(compiling: Compiling) -> Call:
    weight = nn.Parameter(torch.randn(4, 4))

    def f(x: Tensor) -> Tensor:
        y = F.linear(F.gelu(x), weight)
        y = F.layer_norm(y, (4,)) + F.normalize(x, dim=-1) + F.one_hot(x.argmax(-1), 4)
        return F.scaled_dot_product_attention(y[None], x[None], x[None])[0]

    return called(compiling(f))


@modules
def attention_with_a_mask(compiling: Compiling) -> Call:
    net = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True)
    compiled = compiling(net)

    def call(size: int) -> object:
        mask = nn.Transformer.generate_square_subsequent_mask(size)
        return compiled(torch.randn(2, size, 4), src_mask=mask)

    return call


@modules
def embeddings_of_words_and_places(compiling: Compiling) -> Call:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words, self.places = nn.Embedding(10, 4, padding_idx=0), nn.Embedding(10, 4)

        def forward(self, ids: Tensor) -> Tensor:
            places = torch.arange(ids.shape[1], device=ids.device)
            return self.words(ids) + self.places(places)[None]

    compiled = compiling(Net())
    return lambda size: compiled(torch.randint(10, (2, size)))


@modules
def images_through_layers(compiling: Compiling) -> Call:
    net = nn.Sequential(nn.Conv2d(1, 3, 3, padding=1), nn.BatchNorm2d(3), nn.ReLU(), nn.AdaptiveAvgPool2d(2))
    compiled = compiling(net)
    return lambda size: compiled(torch.randn(2, 1, size + 2, size + 1)).flatten(1)


@modules
def the_state_of_a_cell(compiling: Compiling) -> Call:
    cell = nn.GRUCell(4, 4)

    def run(steps: Tensor) -> Tensor:
        h = steps.new_zeros(4)
        for step in steps:
            h = cell(step, h)
        return h

    return called(compiling(run))


@modules
def a_module_that_is_called_by_name(compiling: Compiling) -> Call:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            for i in range(3):
                setattr(self, f"layer{i}", nn.Linear(4, 4))

        def forward(self, x: Tensor) -> Tensor:
            for i in range(3):
                x = getattr(self, f"layer{i}")(x)
            return self.get_submodule("layer1")(x) if hasattr(self, "layer1") else x

    return called(compiling(Net()))


@modules
def a_module_that_is_called_itself(compiling: Compiling) -> Call:
    class Scale(nn.Module):
        def __call__(self, x: Tensor) -> Tensor:  # type: ignore[override]
            return super().__call__(x) + 1

        def forward(self, x: Tensor) -> Tensor:
            return x * 2

    return called(compiling(Scale()))


@modules
def a_module_copied_within_a_call(compiling: Compiling) -> Call:
    net = nn.Linear(4, 2)
    compiled = compiling(lambda x: copy.deepcopy(net)(x))
    return called(compiled)


@modules
def a_mixture_of_experts(compiling: Compiling) -> Call:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.gate = nn.Linear(4, 2)
            self.experts = nn.ModuleList([nn.Linear(4, 4) for _ in range(2)])

        def forward(self, x: Tensor) -> Tensor:
            weights, chosen = self.gate(x).softmax(-1).topk(1)
            out = torch.zeros_like(x)
            for i, expert in enumerate(self.experts):
                rows = (chosen == i).any(-1).nonzero().squeeze(-1)
                out = out.index_add(0, rows, expert(x[rows]) * weights[rows])
            return out

    return called(compiling(Net()))


@modules
def a_model_with_options(compiling: Compiling) -> Call:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.block, self.head = Block(), nn.Linear(4, 3)

        def forward(self, x: Tensor, labels: Any = None, return_dict: bool = True) -> Any:
            hidden = self.block(x)
            logits = self.head(hidden)
            loss = None if labels is None else F.cross_entropy(logits, labels)
            return {"loss": loss, "logits": logits, "hidden": (x, hidden)} if return_dict else (loss, logits)

    compiled = compiling(Net())

    def call(size: int) -> object:
        x = torch.randn(size, 4)
        return compiled(x), compiled(x, labels=torch.randint(3, (size,)), return_dict=False)

    return call
