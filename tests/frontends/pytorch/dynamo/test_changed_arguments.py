"""Arguments that are changed in place and differentiated: graphs, with eager's values, gradients and errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from frontends.pytorch import compile


def fails_later(x: torch.Tensor) -> torch.Tensor:
    x.mul_(2)
    return x[torch.tensor(5 if x.shape[0] == 2 else 0)]


PROGRAMS: dict[str, Callable[[torch.Tensor], object]] = {
    "itself": lambda x: x.mul_(3),
    "by a view": lambda x: x[0].add_(x[1]).sum(),
    "by a view of a view": lambda x: (x * 2, x.t()[1:].add_(x.t()[:-1].exp()).sum()),
    "by a view without a gradient": lambda x: x[1].detach().mul_(2).sum() + x.sum() + x[0].add_(x[1]).sum(),
    "by overlapping views": lambda x: (x[:-1].add_(1).sum() * x[1:].mul_(2).sum()),
    "is read before": lambda x: ((x * 2).mul_(3).sum(), x.mul_(2).sum()),
    "without a gradient": lambda x: x.detach().mul_(2).sum() + x.sum(),
    "a view is returned": lambda x: (x.mul_(x.exp()), x[0]),
    "an error": fails_later,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_changes_are_eagers(name: str) -> None:
    """Fails when changes or gradients are lost, an error comes before earlier changes, or the result is another."""

    def seen(call: Callable[..., Any], kind: str, size: int) -> list[object]:
        leaf = torch.linspace(0.1, 0.9, 4 * size).view(size, 4).requires_grad_()
        x = leaf if kind == "leaf" else leaf * 1
        given = x[:, 1:] if kind == "part" else x
        try:
            result = call(given)
        except Exception as error:
            return [isinstance(error, IndexError), x]
        results = result if isinstance(result, tuple) else (result,)
        gradient = torch.autograd.grad(sum([(each * each).sum() for each in (*results, x)]), leaf)
        return [list(results), result is given, x, gradient]

    compiled = compile(PROGRAMS[name], dynamic=True)
    for kind in ("inner", "part", "leaf"):
        for size in (3, 5, 2):
            torch.testing.assert_close(seen(compiled, kind, size), seen(PROGRAMS[name], kind, size))
    assert name in ("a view is returned", "an error") or not any(graph.reason for graph in compiled.graphs)


def test_arguments_that_overlap() -> None:
    """Fails when a change is not seen by another argument on the same memory."""
    compiled = compile(lambda x, y: x.mul_(2) + y, dynamic=True)
    for _ in range(2):
        x = torch.ones(4, requires_grad=True) * 1
        assert compiled(x[1:], x[:-1]).tolist() == [3.0, 4.0, 4.0]
        assert compiled(x, torch.ones(4)).tolist() == [3.0, 5.0, 5.0, 5.0]


def test_arguments_that_were_changed_before() -> None:
    """Fails when an argument that a graph only reads is written to, because its caller had changed it."""
    compiled = compile(lambda x: x * 2, dynamic=True)
    for size in (2, 3):
        x = (torch.ones(size, requires_grad=True) * 1).add_(1)
        before = x._version, x.grad_fn
        compiled(x)
        assert (x._version, x.grad_fn) == before


@pytest.mark.parametrize("mode", [torch.no_grad, lambda: torch.autocast("cpu", torch.bfloat16)])
def test_an_error_restores_modes(mode: Callable[[], Any]) -> None:
    """Fails when a mode of torch that a graph enters stays on after an error of one that runs operator by operator."""

    def program(x: torch.Tensor, places: torch.Tensor) -> object:
        # it has no derivative
        steps = torch.heaviside(x, x)
        with mode():
            return x[places].exp(), steps

    compiled: Any = compile(program, dynamic=True)
    x = torch.ones(4, requires_grad=True) * 1
    # what is left on goes off again at the end of the block
    with torch.enable_grad(), torch.autocast("cpu", enabled=False):
        compiled(x, torch.tensor([1, 2]))
        with pytest.raises(IndexError):
            compiled(x, torch.tensor([1, 9]))
        assert any(graph.reason for graph in compiled.graphs)
        assert torch.is_grad_enabled() and not torch.is_autocast_enabled("cpu")
