"""Attention over ragged rows on the CPU: each row of queries attends to its row of keys, and nothing is padded.

    >>> import torch
    >>> from frontends.pytorch import compile
    >>> x, offsets = torch.ones(5, 2, 4), torch.tensor([0, 2, 5])
    >>> attended, logsumexp = ragged_attention(x, x, x, offsets, offsets, 0.5)
    >>> attended.shape, logsumexp.shape
    (torch.Size([5, 2, 4]), torch.Size([5, 2]))
    >>> aten = torch.ops.aten
    >>> @compile(backend="cpu", dynamic=True)
    ... def attend(x, offsets):
    ...     rows = aten._jagged_to_padded_dense_forward(x, [offsets], [6]).unflatten(2, (2, 4)).transpose(1, 2)
    ...     made = torch.nn.functional.scaled_dot_product_attention(rows, rows, rows, is_causal=True)
    ...     return aten._padded_dense_to_jagged_forward(made.transpose(1, 2).flatten(2), [offsets], len(x))
    >>> with torch.no_grad():
    ...     attend(torch.randn(9, 8), torch.tensor([0, 3, 3, 9])).shape
    torch.Size([9, 8])

Values lie by element, head and feature. The operator is one kernel of the CPU backend, or calls torch's once for each
row, as its gradient does. It is what the attention of jagged tensors becomes, which torch computes through strided
nested tensors, whose sizes are data; and that of rows padded at their ends, if what the attention makes is used without
the padding. Padded keys must not be seen: a query sees those before it, or a mask takes away what is behind its row.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final
from weakref import WeakKeyDictionary

import torch

from backends.cpu.attention import attention as kernel
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
FUSED_BACKWARD: Final = aten._scaled_dot_product_flash_attention_for_cpu_backward.default

# ---------------------------------------------------------------------- the operator


def by_row(values: torch.Tensor, offsets: Sequence[int]) -> tuple[torch.Tensor, ...]:
    """Each row as a batch of one, heads first."""
    inside = values.narrow(0, offsets[0], offsets[-1] - offsets[0])
    lengths = [last - first for first, last in pairwise(offsets)]
    return inside.transpose(0, 1).unsqueeze(0).split(lengths, 2) if lengths else ()


def attention_of_rows(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, queries: torch.Tensor, keys: torch.Tensor,
    scale: float | None, is_causal: bool = False, logsumexp: torch.Tensor | None = None,
) -> torch.Tensor:  # fmt: skip
    """The attention; `queries` and `keys` are the offsets of the rows. Logarithms of its denominators go into
    `logsumexp`."""
    given, steepness = (query, key, value, queries, keys), 1 / math.sqrt(query.shape[2]) if scale is None else scale
    found = kernel(*given, scale=steepness, is_causal=is_causal, logsumexp=logsumexp)
    if found is not None:
        return found
    attended = torch.zeros_like(query, memory_format=torch.contiguous_format)
    of, among = queries.tolist(), keys.tolist()
    targets = [by_row(each, of) for each in (attended, logsumexp) if each is not None]
    for q, k, v, *places in zip(by_row(query, of), by_row(key, among), by_row(value, among), *targets):
        if q.shape[2] and k.shape[2]:
            for place, made in zip(places, FUSED(q, k, v, 0.0, is_causal, scale=scale)):
                place.copy_(made)
    return attended


GIVEN: Final = "Tensor query, Tensor key, Tensor value, "
ROWS: Final = "Tensor queries, Tensor keys, float? scale, bool is_causal=False"


@torch.library.custom_op(
    "symshape::ragged_attention", mutates_args=(), schema=f"({GIVEN}{ROWS}) -> (Tensor, Tensor)"
)
def ragged_attention(query: torch.Tensor, *given: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """The attention, with the logarithms that its gradient needs."""
    logsumexp = query.new_zeros(query.shape[:2], dtype=torch.promote_types(query.dtype, torch.float32))
    return attention_of_rows(query, *given, logsumexp=logsumexp), logsumexp  # type: ignore[misc]


@torch.library.custom_op(
    "symshape::ragged_attention_backward", mutates_args=(),
    schema=f"(Tensor gradient, {GIVEN}Tensor attended, Tensor logsumexp, {ROWS}) -> (Tensor, Tensor, Tensor)",
)  # fmt: skip
def ragged_attention_backward(
    gradient: torch.Tensor, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, attended: torch.Tensor,
    logsumexp: torch.Tensor, queries: torch.Tensor, keys: torch.Tensor, scale: float | None, is_causal: bool = False,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:  # fmt: skip
    """The gradients of queries, keys and values."""
    made = [torch.zeros_like(each, memory_format=torch.contiguous_format) for each in (query, key, value)]
    of, among = queries.tolist(), keys.tolist()
    given = [by_row(*each) for each in (
        (gradient, of), (query, of), (key, among), (value, among), (attended, of), (logsumexp, of),
        *zip(made, (of, among, among)),
    )]  # fmt: skip
    for *row, q, k, v in zip(*given):
        if q.shape[2] and k.shape[2]:
            for target, found in zip((q, k, v), FUSED_BACKWARD(*row, 0.0, is_causal, scale=scale)):
                target.copy_(found)
    return made[0], made[1], made[2]


@ragged_attention.register_fake
def _(query: torch.Tensor, *others: object, **named: object) -> tuple[torch.Tensor, torch.Tensor]:
    wide = torch.promote_types(query.dtype, torch.float32)
    return query.new_empty(query.shape), query.new_empty(query.shape[:2], dtype=wide)


@ragged_attention_backward.register_fake
def _(_: torch.Tensor, *given: torch.Tensor, **named: object) -> tuple[torch.Tensor, ...]:
    return tuple([each.new_empty(each.shape) for each in given[:3]])


def saved(ctx: Any, inputs: tuple[Any, ...], output: tuple[torch.Tensor, torch.Tensor]) -> None:
    *tensors, ctx.scale, ctx.is_causal = inputs
    ctx.save_for_backward(*tensors, *output)


def backward(ctx: Any, gradient: torch.Tensor, _: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
    *values, queries, keys, attended, logsumexp = ctx.saved_tensors
    rest = attended, logsumexp, queries, keys, ctx.scale, ctx.is_causal
    return (*ragged_attention_backward(gradient, *values, *rest), None, None, None, None)


ragged_attention.register_autograd(backward, setup_context=saved)

# ---------------------------------------------------------------------- padded rows


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
    arguments = (*memories, rows.offsets, rows.offsets, found.scale, found.is_causal)
    at.program.steps.append(Call(attention_of_rows, arguments, {}, (buffer,), has_layout=True, is_fresh=True))
    along = [(axis - 1, step) for axis, step in x.offset.terms if axis > 1]
    offset = Affine(((0, total), *along), at.build.zero)
    return Memory((rows.total, *x.sizes[2:]), q.dtype, buffer, offset)
