"""Programs that return views of DTensors are graphs; what is written to such a view is written to its base."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor

from frontends.pytorch import compile
from tests.frontends.pytorch.distributed.processes import run

Results = tuple[Tensor, ...]


def of_argument(x: Tensor) -> Results:
    return x * 2, x.t()


def of_result(x: Tensor) -> Results:
    y = x * 2
    return y.t(), y.sum(0)


def parts(x: Tensor) -> Results:
    return x.chunk(2, 1)


def two_of_one(x: Tensor) -> Results:
    y = x * 3
    return y, y.t(), y.unsqueeze(0)


def by_size(x: Tensor) -> Results:
    return (x.unsqueeze(1).expand(x.shape[0], x.shape[1] // 2, x.shape[1]).transpose(1, 2),)


def after_a_change(x: Tensor) -> Results:
    y = x * 1
    z = y.t()
    y.mul_(3)
    return (z,)


def without_gradient(x: Tensor) -> Results:
    with torch.no_grad():
        y = x.t()
    return y, x * 2


PROGRAMS: Final[tuple[Callable[[Tensor], Results], ...]] = (
    of_argument, of_result, parts, two_of_one, by_size, after_a_change, without_gradient,
)  # fmt: skip


READ_ONLY: Final = (parts, by_size)
"""Torch refuses to change several views of one operator, and expanded ones."""


def local(value: Any) -> Tensor:
    return value.to_local() if isinstance(value, DTensor) else value


def observed(program: Callable[[Tensor], Results], x: Tensor, writes: bool) -> list[Any]:
    """Results, gradients, and the base after the results were written to."""
    base = x.detach().clone().requires_grad_()
    results = program(base * 1) if writes else program(base)
    if writes:
        for each in results:
            if each.grad_fn is not None:
                each.mul_(2)
    found: list[Any] = [local(each).detach() for each in results]
    differentiable = [each for each in results if each.grad_fn is not None]
    (gradient,) = torch.autograd.grad(differentiable, [base], [torch.ones_like(each) for each in differentiable])
    return [*found, *[each._is_view() for each in results], local(gradient)]


def compared(rank: int) -> dict[str, str]:
    """By program, its first difference from eager, or why it runs operator by operator."""
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    failed = {}
    for program in PROGRAMS:
        compiled = compile(program, dynamic=True)
        for rows, placement in ((4, Shard(0)), (6, Shard(0)), (4, Replicate())):
            x = distribute_tensor(torch.arange(float(rows * 4)).reshape(rows, 4) / math.pi, mesh, [placement])
            for writes in (False, True):
                if writes and program in READ_ONLY:
                    continue
                for one, other in zip(observed(compiled, x, writes), observed(program, x, writes), strict=True):
                    same = torch.equal(one, other) if isinstance(one, Tensor) else one == other
                    if not same:
                        failed[program.__name__] = f"{rows}, {placement}, {writes}: {one} != {other}"
        reasons = [each.reason for each in (*compiled.fallbacks, *compiled.graphs) if each.reason]
        # modes of torch change inside of one of them
        if bool(reasons or not compiled.graphs) != (program is without_gradient):
            failed[program.__name__] = str(reasons)
    return failed


def test_views() -> None:
    """A view of a DTensor leaves its graph to eager, or is a tensor of its own, whose changes its base does not see."""
    assert run(2, compared) == [{}, {}]
