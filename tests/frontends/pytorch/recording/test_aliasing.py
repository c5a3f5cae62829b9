"""Results that are views only for some sizes that data decides: one graph, and views where they are in eager torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from frontends.pytorch import compile, trace
from shapes.errors import UndecidedGuard


def repeated(x: Tensor, mask: Tensor) -> Tensor:
    return x[:1].expand(mask.sum().item(), -1).contiguous()


PROGRAMS: dict[str, Callable[[Tensor, Tensor], Any]] = {
    "contiguous": repeated,
    "reshape": lambda x, m: x[:1].expand(m.sum().item(), -1).reshape(-1),
    "transposed": lambda x, m: (x[: m.sum().item()].t().contiguous(), x.sum()),
    "view of it": lambda x, m: repeated(x, m)[:, 1:],
    "changed in place": lambda x, m: repeated(x, m).add_(1),
    "argument changed before": lambda x, m: (x.add_(1), repeated(x, m))[1],
    "random numbers before": lambda x, m: (torch.rand(2), repeated(x, m)),
}
ONE_GRAPH = "contiguous", "reshape", "transposed", "view of it", "changed in place"
MASKS = [1, 1, 0], [1, 0, 0], [0, 0, 1], [1, 1, 1], [0, 0, 0]


def tensors(value: Any) -> list[Tensor]:
    return [value] if isinstance(value, Tensor) else list(value)


def is_seen(change: Tensor, tensor: Tensor) -> bool:
    """Return True if a change of one tensor shows in another one."""
    before = tensor.detach().clone()
    with torch.no_grad():
        change.add_(1)
    return not torch.equal(before, tensor.detach())


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("how", ["cpu", "eager", "torch.compile"])
def test_views_for_one_size(name: str, how: str) -> None:
    """Fails when a result shares no memory where it does in eager torch, or does where it should not; or when the
    values, the arguments or the next random numbers are others."""
    torch._dynamo.reset()
    program = PROGRAMS[name]
    if how == "torch.compile":
        compiled: Any = torch.compile(program, backend="symshape", dynamic=True)
    else:
        compiled = compile(program, backend=how, dynamic=True)
    for mask in map(torch.tensor, MASKS):
        x = torch.arange(12.0).view(3, 4)
        given = x.clone(), x.clone()
        results, numbers = [], []
        for run, each in zip((compiled, program), given):
            torch.manual_seed(0)
            results.append(tensors(run(each, mask)))
            numbers.append(torch.rand(3))
        torch.testing.assert_close(results[0], results[1])
        torch.testing.assert_close(*given)
        torch.testing.assert_close(*numbers)
        for one, other in zip(*results):
            assert is_seen(one, given[0]) == is_seen(other, given[1])
    if how != "torch.compile" and name in ONE_GRAPH:
        assert not compiled.fallbacks and [len(each.variants) for each in compiled.graphs] == [1]
        assert not any(each.reason for each in compiled.graphs)


def test_gradients() -> None:
    """Fails when a result that is a view has another gradient, or no history to be changed with."""
    compiled = compile(repeated, backend="cpu", dynamic=True)
    for mask in map(torch.tensor, MASKS[:4]):
        found = []
        for run in (compiled, repeated):
            x = torch.arange(12.0).view(3, 4).requires_grad_()
            y = x * 2
            (run(y, mask) * torch.arange(4.0)).sum().backward()
            found.append(x.grad)
        torch.testing.assert_close(*found)


def test_trace() -> None:
    """Fails when a trace, which cannot run its function again, makes a copy of what may be a view."""
    with pytest.raises(UndecidedGuard, match="u0 == 1"):
        trace(repeated, (torch.ones(3, 4), torch.tensor([1, 1, 0])))
