"""Operators with faults planted in what is registered for them: a lowering, a shape. `planted` registers the first."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from backends.loops.values import Value
from frontends.pytorch.lowering.registry import LOWERINGS, Site, lowering


@torch.library.custom_op("planted::shifted", mutates_args=())
def shifted(x: torch.Tensor) -> torch.Tensor:
    return x + 1


@shifted.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)


@torch.library.custom_op("planted::widened", mutates_args=())
def widened(x: torch.Tensor) -> torch.Tensor:
    return torch.cat([x, x], -1)


@widened.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    """A wrong rule: the result is as wide as the input."""
    return torch.empty_like(x)


@contextmanager
def planted() -> Iterator[None]:
    """Make kernels add 2 inside of the block, where the operator adds 1."""

    @lowering(torch.ops.planted.shifted.default)
    def shifted_by_more(site: Site, x: Value) -> Value:
        return site.operand(x) + 2.0

    try:
        yield
    finally:
        del LOWERINGS[torch.ops.planted.shifted.default]


@contextmanager
def planted_in_gradients() -> Iterator[None]:
    """Make kernels compute another gradient of `tanh` inside of the block."""
    target = torch.ops.aten.tanh_backward.default
    before = LOWERINGS[target]

    @lowering(target)
    def doubled(site: Site, gradient: Value, x: Value) -> Value:
        found = before(site, gradient, x)
        (value,) = [found] if isinstance(found, Value) else found
        assert isinstance(value, Value)
        return value * 2.0

    try:
        yield
    finally:
        LOWERINGS[target] = before
