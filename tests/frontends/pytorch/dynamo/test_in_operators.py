"""Compiled functions and modules as branches of `torch.cond` and bodies of loops, or called in these."""

from __future__ import annotations

import pytest
import torch
from torch._higher_order_ops import scan, while_loop
from torch._higher_order_ops.map import map as mapped

from frontends.pytorch import compile

torch.manual_seed(0)
LAYER = torch.nn.Linear(4, 4)


def shaped(x):
    return x.sin() * x.shape[-1] + 1


PROGRAMS = {
    "a branch": lambda f, net, x: torch.cond(x.sum() > 0, f, torch.neg, (x,)),
    "a module as a branch": lambda f, net, x: torch.cond(x.sum() < 100, net, torch.neg, (x,)),
    "in a branch": lambda f, net, x: torch.cond(x.sum() < 100, lambda a: net(f(a)) + 1, lambda a: a * 1.0, (x,)),
    "a body": lambda f, net, x: while_loop(
        lambda i, a: i < 3, lambda i, a: (i + 1, net(f(a))), (torch.zeros((), dtype=torch.long), x)
    ),
    "a scan": lambda f, net, x: scan(lambda c, row: (net(c + row), f(c) * 2), torch.zeros(4), x, dim=0),
    "a function that is mapped": lambda f, net, x: mapped(f, x),
}


QUICK = ("a module as a branch", "a body", "a function that is mapped")
"""The operators that take part in each run: Dynamo takes seconds for each."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.thorough) for name in PROGRAMS]
)
def test_called_by_an_operator(name: str) -> None:
    """A program whose operator calls compiled functions does what it does in Python, and later calls stay compiled."""
    program = PROGRAMS[name]
    torch.compiler.reset()
    f, net = compile(shaped, dynamic=True), compile(LAYER, dynamic=True)
    with torch.no_grad():
        for number, size in enumerate((3, 5, 2, 3, 7)):
            x = torch.linspace(-1, 1, size * 4).reshape(size, 4) + number - 2
            torch.testing.assert_close(f(x), shaped(x))
            torch.testing.assert_close(program(f, net, x), program(shaped, LAYER, x))
    assert len(f.variants) == 1 and not f.fallbacks
    torch.compiler.reset()


def test_compiled_as_a_whole() -> None:
    """A graph with a branch does all that a compiled function in the branch does."""
    inner = compile(shaped, dynamic=True)

    def program(f, x):
        return torch.cond(x.sum() > 0, lambda a: f(a) * 2, lambda a: f(a * 3), (x,))

    compiled = compile(lambda x: program(inner, x), dynamic=True)
    for number, size in enumerate((3, 5, 2, 3, 7)):
        x = torch.linspace(-1, 1, size * 4).reshape(size, 4) + number - 2
        torch.testing.assert_close(compiled(x), program(shaped, x))
    assert len(compiled.graphs) == 1 and not compiled.fallbacks
