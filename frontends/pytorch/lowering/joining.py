"""Tensors put together from several: pieces are assigned to slices of new memory."""

from __future__ import annotations

from typing import Final

import torch

from frontends.pytorch.lowering.registry import Declined, Lowered, Number, Site, lowering
from frontends.pytorch.lowering.values import Value
from frontends.pytorch.lowering.views import first_of, selected, sliced
from solver.expr import Expr

aten: Final = torch.ops.aten


@lowering(aten.cat.default)
def cat(at: Site, tensors: list[Value], axis: int = 0) -> Value:
    """Tensors of rank 1 without elements may be among others, and count as nothing."""
    rank = len(at.sizes)
    axis %= rank
    pieces = [x for x in tensors if x.rank == rank]
    if any(x.rank != rank and not _is_nothing(x) for x in tensors):
        raise Declined
    whole = at.new()
    start = at.build.zero
    for piece in pieces:
        if rank > 1 and piece.rank == 1:
            continue
        target = sliced(at, whole, axis, start, 1, _with(at.sizes, axis, piece.sizes[axis]))
        at.assign(target, piece)
        start = start + piece.sizes[axis]
    return whole


def _is_nothing(x: Value) -> bool:
    return x.rank == 1 and x.sizes[0].is_constant and x.sizes[0].constant == 0


def _with(sizes: tuple[Expr, ...], axis: int, size: Expr) -> tuple[Expr, ...]:
    return (*sizes[:axis], size, *sizes[axis + 1 :])


@lowering(aten.stack.default)
def stack(at: Site, tensors: list[Value], axis: int = 0) -> Value:
    axis %= len(at.sizes)
    whole = at.new()
    for place, piece in enumerate(tensors):
        at.assign(selected(whole, axis, at.build.lift(place)), piece)
    return whole


@lowering(aten.constant_pad_nd.default)
def constant_pad_nd(at: Site, x: Value, pad: list[Number], value: Number = 0) -> Value:
    """Padding that may be negative takes elements away."""
    if not all(type(each) is int and each >= 0 for each in pad):
        raise Declined
    whole = at.new()
    at.assign(whole, at.operand(value))
    target = whole
    for place in range(len(pad) // 2):
        axis = x.rank - 1 - place
        start = at.build.lift(pad[2 * place])
        target = sliced(at, target, axis, start, 1, _with(target.sizes, axis, x.sizes[axis]))
    at.assign(target, x)
    return whole


@lowering(aten.slice_scatter.default)
def slice_scatter(
    at: Site,
    x: Value,
    source: Value,
    axis: int = 0,
    start: Number | None = None,
    end: object = None,
    step: int = 1,
) -> Value:
    axis %= x.rank
    whole = at.new()
    at.assign(whole, x)
    at.assign(sliced(at, whole, axis, first_of(at, x.sizes[axis], start), step, source.sizes), source)
    return whole


@lowering(aten.select_scatter.default)
def select_scatter(at: Site, x: Value, source: Value, axis: int, place: Number) -> Value:
    axis %= x.rank
    whole = at.new()
    at.assign(whole, x)
    at.assign(selected(whole, axis, first_of(at, x.sizes[axis], place)), source)
    return whole


@lowering(aten.slice_backward.default)
def slice_backward(
    at: Site, grad: Value, sizes: object, axis: int, start: Number, end: object, step: int
) -> Value:
    axis %= len(at.sizes)
    whole = at.new()
    at.assign(whole, at.full(0))
    at.assign(sliced(at, whole, axis, first_of(at, at.sizes[axis], start), step, grad.sizes), grad)
    return whole


@lowering(aten.select_backward.default)
def select_backward(at: Site, grad: Value, sizes: object, axis: int, place: Number) -> Value:
    axis %= len(at.sizes)
    whole = at.new()
    at.assign(whole, at.full(0))
    at.assign(selected(whole, axis, first_of(at, at.sizes[axis], place)), grad)
    return whole


@lowering(aten.repeat.default)
def repeat(at: Site, x: Value, times: list[Number]) -> Lowered:
    raise Declined
