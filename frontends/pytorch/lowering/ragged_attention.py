"""Attention of padded rows, row by row: no product of padding is computed.

    >>> import torch
    >>> from frontends.pytorch import compile
    >>> aten = torch.ops.aten
    >>> @compile(backend="cpu", dynamic=True)
    ... def attend(x, offsets):
    ...     rows = aten._jagged_to_padded_dense_forward(x, [offsets], [6]).unflatten(2, (2, 4)).transpose(1, 2)
    ...     made = torch.nn.functional.scaled_dot_product_attention(rows, rows, rows, is_causal=True)
    ...     return aten._padded_dense_to_jagged_forward(made.transpose(1, 2).flatten(2), [offsets], len(x))
    >>> with torch.no_grad():
    ...     attend(torch.randn(9, 8), torch.tensor([0, 3, 3, 9])).shape
    torch.Size([9, 8])

Queries, keys and values are the same rows, padded at their ends; what the attention makes is used without the padding.
Padded keys must not be seen: a query sees those before it, or a mask takes away what is behind the end of its row.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final
from weakref import WeakKeyDictionary

import torch

from backends.loops.affine import Affine, is_zero, packed
from backends.loops.loop_body import LoopBuilder
from backends.loops.nodes import Memory, Rows, Tensor
from backends.loops.padding import padded_source, unpadded
from backends.loops.program import Call, Program
from frontends.pytorch.lowering.registry import Declined, Lowered, Site, lowering
from frontends.pytorch.lowering.values import Value
from frontends.pytorch.symbolic.tensor import Result

aten: Final = torch.ops.aten
FUSED: Final = aten._scaled_dot_product_flash_attention_for_cpu.default


@dataclass(frozen=True, eq=False, slots=True)
class Attention:
    """An attention of rows: queries, keys and values as (elements, heads, features)."""

    operands: tuple[Value, ...]
    rows: Rows
    is_causal: bool
    scale: float | None


_known: Final[WeakKeyDictionary[Program, dict[Result, Attention]]] = WeakKeyDictionary()
"""By what it makes, the attention of padded rows that an operator is called for."""


@lowering(FUSED)
def attention(
    at: Site,
    q: Value,
    k: Value,
    v: Value,
    dropout: object = 0.0,
    is_causal: object = False,
    *,
    attn_mask: Value | None = None,
    scale: object = None,
) -> Lowered:
    """Note the operands of an attention, and decline: its call is dropped if only elements outside of padding are used.
    """
    by_element = [at.build.permute(x.tensor, (0, 2, 1, 3)) if x.tensor.rank == 4 else None for x in (q, k, v)]
    sources = [None if x is None else padded_source(x) for x in by_element]
    found = [each.rows for each in sources if each is not None]
    result = at.operation.outputs[0]
    if len(found) < len(sources) or not all(are_alike(found[0], each) for each in found) or dropout != 0.0:
        raise Declined
    rows = found[0]
    if any(each in at.returned for each in at.operation.outputs):
        # its gradient needs all that it makes
        raise Declined
    is_hidden = is_causal is True if attn_mask is None else hides_padding(at, attn_mask, rows)
    if is_hidden and isinstance(is_causal, bool) and isinstance(scale, float | None) and isinstance(result, Result):
        made = [unpadded(at.build, x, each) for x, each in zip(by_element, found) if x is not None]
        operands = tuple([Value(at.build, each, each.sizes) for each in made])
        _known.setdefault(at.program, {})[result] = Attention(operands, rows, is_causal, scale)
    raise Declined


def are_alike(rows: Rows, others: Rows) -> bool:
    """Return True if two tensors have the same rows, where each has all elements that the offsets tell."""
    is_same = rows.offsets.buffer is others.offsets.buffer and rows.offsets.offset == others.offsets.offset
    return is_same and rows.limit is others.limit and not rows.is_shifted and not others.is_shifted


def hides_padding(at: Site, mask: Value, rows: Rows) -> bool:
    """Return True if a mask, which is added to the products, is minus infinity where a key is behind the end of its
    row, and 0 elsewhere."""
    build, bodies = at.build, LoopBuilder(at.build, {})
    if mask.rank != 4 or not mask.tensor.rank or rows.is_shifted:
        return False
    last, first = [build.slice(rows.offsets, 0, start, 1, rows.count) for start in (build.one, build.zero)]
    sizes = (rows.count, mask.sizes[3])
    count = build.view(build.apply("sub", last, first), sizes, (build.axis(0),))
    before = build.apply("lt", build.iota(sizes, 1), build.cast(count, "int64"))
    hidden = build.apply("select", before, build.number(0.0, mask.dtype), build.number(-math.inf, mask.dtype))
    try:
        wanted = bodies.element(hidden, build.axes(2))
        return bodies.element(mask.tensor, (build.axis(0), build.axis(2), build.axis(3), build.axis(1))) is wanted
    except (KeyError, TypeError):  # it is computed from what is no element by itself
        return False


def attended(at: Site, x: Tensor, rows: Rows) -> Tensor | None:
    """The result of an attention of these rows, for the elements that are no padding; None if x is none."""
    result = at.owner(x.buffer) if isinstance(x, Memory) else None
    found = None if result is None else _known.get(at.program, {}).get(result)
    if found is None or not isinstance(x, Memory) or found.rows is not rows:
        return None
    q, _, v = found.operands
    sizes = (*q.sizes[:2], v.sizes[2])
    total, strides = sizes[1] * sizes[2], packed(sizes)
    equal, width = at.build.decisions.equal, x.sizes[1]
    steps = [x.offset.coefficient(axis) or at.build.zero for axis in (0, 1)]
    places = zip((*steps, *x.buffer.strides), (width * total, total, width * total, strides[1], total, strides[2]))
    if not is_zero(x.offset.constant) or len(x.buffer.strides) != 4 or not all(equal(*pair) for pair in places):
        return None
    buffer = at.program.buffer(q.dtype, sizes, strides)
    memories = [each.memory or at.program.stored(each.tensor, packed(each.sizes)) for each in found.operands]
    arguments = (*memories, rows.offsets, found.is_causal, found.scale)
    at.program.steps.append(Call(attention_by_rows, arguments, {}, (buffer,), has_layout=True, is_fresh=True))
    along = [(axis - 1, step) for axis, step in x.offset.terms if axis > 1]
    offset = Affine(((0, total), *along), at.build.zero)
    return Memory((rows.total, *x.sizes[2:]), q.dtype, buffer, offset)


def attention_by_rows(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, offsets: torch.Tensor, is_causal: bool, scale: float | None
) -> torch.Tensor:
    """Attention within each row, of tensors of (elements, heads, features)."""
    made = q.new_empty((*q.shape[:2], v.shape[2]))
    lengths = offsets.diff().tolist()
    if min(len(k), len(v)) < len(q):
        raise RuntimeError(f"offsets end at {len(q)}, beyond {len(k)} keys or {len(v)} values")
    pieces = [x[: len(q)].transpose(0, 1).unsqueeze(0).split(lengths, 2) for x in (q, k, v, made)]
    for of_q, of_k, of_v, target in zip(*pieces):
        if of_q.shape[2]:
            target.copy_(FUSED(of_q, of_k, of_v, 0.0, is_causal, scale=scale)[0])
    return made
