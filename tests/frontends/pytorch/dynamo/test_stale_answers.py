"""State that a program reads besides its arguments, changed between two calls: the second agrees with eager.

Each case makes its state and a function of a tensor, and changes the state step by step. After each step the compiled
function is called twice; without a step in between, nothing is traced anew.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, localcontext

import pytest
import torch
from torch import nn

from frontends.pytorch import compile

Steps = list[Callable[[], object]]
Case = Callable[[], tuple[Callable[[torch.Tensor], torch.Tensor], Steps]]

CASES: dict[str, Case] = {}


def case(made: Case) -> Case:
    CASES[made.__name__] = made
    return made


@case
def floats_that_are_equal():
    held = [0.0, 1]
    return lambda x: torch.copysign(x, torch.tensor(held[0])) * (2 if type(held[1]) is int else 3), [
        lambda: held.__setitem__(0, -0.0),
        lambda: held.__setitem__(1, 1.0),
        lambda: held.__setitem__(1, True),
    ]


@case
def defaults_of_a_callee():
    def inner(x, factor=2.0, *, more=1.0):
        return x * factor + more

    return lambda x: inner(x), [
        lambda: setattr(inner, "__defaults__", (3.0,)),
        lambda: setattr(inner, "__kwdefaults__", {"more": 4.0}),
        lambda: inner.__kwdefaults__.update(more=5.0),
    ]


@case
def code_of_the_function_itself():
    def program(x):
        return x.mul(2)

    def other(x):
        return x.mul(3)

    return program, [lambda: setattr(program, "__code__", other.__code__)]


@case
def closure_of_a_callee():
    factor = 2.0

    def change(value):
        nonlocal factor
        factor = value

    def inner(x):
        return x * factor

    held = {"inner": inner}
    return lambda x: held["inner"](x), [lambda: change(3.0), lambda: held.update(inner=lambda x: x * 4)]


FACTOR = 2.0


def reads_globals(x):
    return x * FACTOR


def set_global(name, value):
    globals()[name] = value


@case
def global_number():
    set_global("FACTOR", 2.0)
    return reads_globals, [lambda: set_global("FACTOR", 3.0), lambda: set_global("FACTOR", 2.0)]


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(3, 3), nn.ReLU()])
        self.weights = nn.ParameterList([torch.ones(3)])
        self.named = nn.ModuleDict({"a": nn.Identity()})
        self.register_buffer("shift", torch.zeros(3))
        self.register_buffer("absent", None)
        self.settings = {"inner": {"factor": 2.0}}

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        for weight in self.weights:
            x = x * weight
        for each in self.named.values():
            x = each(x)
        if self.shift is not None:
            x = x + self.shift
        if self.absent is not None:
            x = x + self.absent
        return nn.functional.dropout(x, 1.0, self.layers[1].training) * self.settings["inner"]["factor"]


@case
def lists_of_modules():
    module = Layers().eval()
    return module, [
        lambda: module.layers.append(nn.Tanh()),
        lambda: module.layers.__setitem__(0, nn.Linear(3, 3)),
        lambda: module.named.update({"b": nn.Sigmoid()}),
        lambda: module.named.pop("a"),
        lambda: module.weights.append(nn.Parameter(torch.full((3,), 2.0))),
        lambda: module.weights.__setitem__(0, nn.Parameter(torch.full((3,), 3.0))),
        lambda: module.settings["inner"].update(factor=7.0),
    ]


@case
def buffers():
    module = Layers().eval()
    return module, [
        lambda: setattr(module, "shift", torch.ones(3)),
        lambda: setattr(module, "shift", torch.ones(3, dtype=torch.float64)),
        lambda: setattr(module, "shift", None),
        lambda: setattr(module, "absent", torch.ones(3)),
        lambda: setattr(module, "absent", torch.ones(4, 3)),
    ]


@case
def data_of_a_parameter():
    module = Layers().eval()

    def data(value):
        module.weights[0].data = value

    return module, [
        lambda: data(torch.full((4, 3), 2.0)),
        lambda: data(torch.full((1,), 3.0)),
        lambda: data(torch.full((3,), 2.0, dtype=torch.float64)),
        lambda: data(torch.arange(6.0)[::2]),
    ]


@case
def hooks_of_a_submodule():
    module, held = Layers().eval(), {"factor": 2.0}
    handles = []
    return module, [
        lambda: handles.append(module.layers[0].register_forward_hook(lambda m, args, out: out * held["factor"])),
        lambda: held.update(factor=3.0),
        lambda: handles.append(module.layers[0].register_forward_pre_hook(lambda m, args: (args[0] + 1,))),
        lambda: handles.pop(0).remove(),
        lambda: handles.append(module.layers[0].register_forward_hook(lambda m, args, out: out * 11)),
        lambda: handles.pop().remove(),
    ]


def broken(program):
    """The program twice, with a line between that Python runs."""

    def run(x):
        y = program(x)
        print(end="")
        return y + program(x)

    return run


def check(name: str, backend: str, around: Callable = lambda program: program) -> None:
    torch.manual_seed(0)
    program, steps = CASES[name]()
    program = around(program)
    f = compile(program, dynamic=True, backend=backend)
    x = torch.randn(4, 3)
    for step in [lambda: None, *steps]:
        step()
        for repeated in (False, True):
            known = len(f.variants)
            torch.testing.assert_close(f(x), program(x), rtol=1e-5, atol=1e-6)
            assert not repeated or len(f.variants) == known, f"{name} is traced anew though nothing changed"


@pytest.mark.parametrize("name", CASES)
def test_changed_between_calls(name: str) -> None:
    """A compiled function notices that the state it read when traced has changed."""
    check(name, "eager")


@pytest.mark.parametrize("name", list(CASES)[::6])
def test_changed_between_calls_of_kernels(name: str) -> None:
    """The same for kernels, whose calls are looked up in C."""
    check(name, "cpu")


@pytest.mark.parametrize("name", CASES)
def test_changed_between_calls_with_breaks(name: str) -> None:
    """Code behind a graph break notices that the state it read when captured has changed."""
    check(name, "eager", broken)


def test_the_precision_of_decimals_is_read() -> None:
    """A number computed with decimals is right at another precision."""
    x = torch.ones(2)

    def scaled(x: torch.Tensor) -> torch.Tensor:
        return x * float(Decimal(2).sqrt())

    compiled = compile(scaled)
    with localcontext() as context:
        for precision in (28, 3, 28):
            context.prec = precision
            assert torch.equal(compiled(x), scaled(x))
