"""Torch's samples of operators on DTensors of two ranks, run compiled and eagerly.

    $ python -m tests.frontends.pytorch.distributed.sharded_operators 4                # every fourth operator
    $ python -m tests.frontends.pytorch.distributed.sharded_operators 4 --gradients    # and those of its arguments

Each operator is one program with `dynamic=True`, called with samples of several sizes and placements: those with which
eager torch succeeds. A DTensor's local shard and its placements are compared.
"""

from __future__ import annotations

import itertools
import os
import random
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor
from torch.utils._pytree import tree_leaves, tree_map

from frontends.pytorch import compile
from tests.frontends.pytorch.distributed.processes import run

SAMPLES: Final = 4
"""Samples of an operator."""
CALLS: Final = 3
"""Calls of an operator that eager torch can do."""
TOGETHER: Final = 30
"""Operators of one pair of processes."""
LIMIT: Final = 900
"""Seconds for them."""
RANDOM: Final = (
    "dropout", "rand", "bernoulli", "multinomial", "uniform", "normal", "cauchy", "geometric", "exponential", "empty",
    "rrelu", "gumbel",
)  # fmt: skip
"""Parts of names of operators without one result."""


def names() -> list[str]:
    """The operators that have one result."""
    from torch.testing._internal.common_methods_invocations import op_db

    found = {op.full_name for op in op_db if torch.float32 in op.dtypes and "jiterator" not in op.full_name}
    return sorted(name for name in found if not any(part in name for part in RANDOM))


def given(operator: Any, mesh: DeviceMesh, gradients: bool) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Arguments of samples, as DTensors: replicated, then each tensor sharded along its first axis, or its last."""
    random.seed(0)
    torch.manual_seed(0)
    for sample in itertools.islice(operator.sample_inputs("cpu", torch.float32), SAMPLES):
        for axis in (None, 0, -1):
            def placed(value: Any, axis: int | None = axis) -> Any:
                if not isinstance(value, Tensor):
                    return value
                is_whole = axis is None or value.dim() == 0 or value.dtype == torch.bool
                place = Replicate() if is_whole else Shard(axis % value.dim())
                sharded = distribute_tensor(value.detach().contiguous(), mesh, [place])
                return sharded.requires_grad_(gradients and sharded.is_floating_point())

            try:
                yield tree_map(placed, ((sample.input, *sample.args), dict(sample.kwargs)))
            except RuntimeError:
                # of another layout
                continue


def local(value: object) -> list[object]:
    """The part of a result that a rank has."""
    leaves = tree_leaves(value)
    return [part for each in leaves for part in
            ((each.to_local(), each.placements, tuple(each.shape)) if isinstance(each, DTensor) else (each,))]


def copied(value: object) -> Any:
    return tree_map(
        lambda each: each.detach().clone().requires_grad_(each.requires_grad) if isinstance(each, Tensor) else each,
        value,
    )


def called(program: Callable[..., Any], args: Any, kwargs: Any, gradients: bool) -> tuple[Any, Any]:
    """The result of a program, and the gradients of its arguments."""
    args, kwargs = copied((args, kwargs))
    with torch.set_grad_enabled(gradients):
        result = program(*args, **kwargs)
    if not gradients:
        return result, ()
    inputs, outputs = (
        [each for each in tree_leaves(value) if isinstance(each, Tensor) and each.requires_grad]
        for value in ((args, kwargs), result)
    )
    tangents = [torch.ones_like(each) for each in outputs]
    return result, torch.autograd.grad(outputs, inputs, tangents, allow_unused=True)


def differs(got: object, expected: object) -> str:
    """The first difference of two results; empty if there is none."""
    for one, other in itertools.zip_longest(local(got), local(expected)):
        if not isinstance(other, Tensor):
            if one != other:
                return f"{one} != {other}"
            continue
        try:
            torch.testing.assert_close(one, other, equal_nan=True)
        except AssertionError as error:
            return str(error)
    return ""


def verdict(operator: Any, mesh: DeviceMesh, gradients: bool) -> tuple[str, str]:
    """The verdict on an operator: "refused" by eager torch, "wrong", "error", "eager", or "right"."""
    calls = list[tuple[Any, Any, Any]]()
    for args, kwargs in given(operator, mesh, gradients):
        if len(calls) == CALLS:
            break
        try:
            one, other = (called(operator.op, args, kwargs, gradients) for _ in range(2))
            if any(isinstance(each, DTensor) for each in tree_leaves(one)) and not differs(one, other):
                calls.append((args, kwargs, one))
        except Exception:
            # eager torch has no such sharding
            continue
    if not calls:
        return "refused", ""
    torch._dynamo.reset()

    def program(*args: Any, **kwargs: Any) -> Any:
        return operator.op(*args, **kwargs)

    compiled = compile(program, dynamic=True)
    for args, kwargs, expected in calls:
        try:
            found = differs(called(compiled, args, kwargs, gradients), expected)
        except Exception as error:
            return "error", f"{type(error).__name__}: {error}"
        if found:
            return "wrong", found
    reasons = [each.reason for each in (*compiled.fallbacks, *compiled.graphs) if each.reason]
    # one of views alone has no part
    if reasons or not compiled.graphs:
        return "eager", (reasons or ["no graph"])[0]
    return "right", f"{len(compiled.graphs)} graphs for {len(calls)} calls"


def verdicts(rank: int, *, chosen: tuple[str, ...], gradients: bool) -> dict[str, tuple[str, str]]:
    """The verdict on each operator on this rank."""
    from torch.testing._internal.common_methods_invocations import op_db

    warnings.simplefilter("ignore")
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    found: dict[str, tuple[str, str]] = {}
    for operator in op_db:
        if operator.full_name in chosen and operator.full_name not in found:
            found[operator.full_name] = verdict(operator, mesh, gradients)
            if "SHOWN" in os.environ and rank == 0:
                what, why = found[operator.full_name]
                print(f"{what:8} {operator.full_name}: {why[:300]!r}", flush=True)
            dist.barrier()
    return found


def judged(chosen: list[str], gradients: bool = False) -> dict[str, tuple[str, str]]:
    """The worse of the verdicts of two ranks on each operator."""
    order = ("wrong", "error", "eager", "right", "refused")
    found: dict[str, tuple[str, str]] = {}
    for start in range(0, len(chosen), TOGETHER):
        part = tuple(chosen[start : start + TOGETHER])
        for each in run(2, partial(verdicts, chosen=part, gradients=gradients), limit=LIMIT):
            assert each is not None
            for name, outcome in each.items():
                found[name] = min(found.get(name, outcome), outcome, key=lambda outcome: order.index(outcome[0]))
    return found


if __name__ == "__main__":
    os.environ["SHOWN"] = "1"
    steps = [int(each) for each in sys.argv[1:] if each != "--gradients"]
    outcomes = judged(names()[:: steps[0] if steps else 1], gradients="--gradients" in sys.argv)
    for verdict_ in ("wrong", "error", "eager", "right", "refused"):
        found_ = [name for name, outcome in outcomes.items() if outcome[0] == verdict_]
        print(len(found_), verdict_, *(found_ if verdict_ != "refused" else ()))
