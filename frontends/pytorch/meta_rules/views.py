"""Views: other sizes and strides over the same elements.

The strides determine whether a view is possible, as in torch but without a special case for axes of extent 1; sizes and
strides come from `shapes.rules`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import torch

from frontends.pytorch.meta_rules.layouts import is_number, is_packed
from frontends.pytorch.meta_rules.registry import kind_rule, kind_rules, metadata_of, ruled, sizes_of, viewed
from frontends.pytorch.symbolic.tensor import Trace
from shapes.rules import Shape
from shapes.rules.axes import axis_of
from shapes.rules.broadcasting import same
from shapes.rules.viewing import reshaped

aten: Final = torch.ops.aten


@kind_rule(aten.view.default, aten._unsafe_view.default)
def view(recorder: Trace, self: torch.Tensor, size: Sequence[object]) -> object:
    """The requested sizes; a contiguous tensor allows all of them, others if their strides do."""
    base = metadata_of(recorder, self)
    target = sizes_of(size)
    if len(target) == len(base.shape) and all(same(one, other) for one, other in zip(base.shape, target)):
        return base
    if is_packed(base):
        sizes = reshaped(recorder.env, base.shape, target)
        return recorder.kinds.laid(sizes, None, base.shape.storage_offset, base.dtype, base.device)
    return viewed(recorder, ruled(recorder, aten.view.default, base, size), base)


@kind_rule(aten.expand.default)
def expand(recorder: Trace, self: torch.Tensor, size: Sequence[object], *, implicit: bool = False) -> object:
    """Expand axes of size 1 by a stride of 0.

    An axis whose hint equals the requested size is guarded to be equal.
    """
    base = metadata_of(recorder, self)
    target = sizes_of(size)
    env = recorder.env
    shift = len(target) - len(base.shape)
    for place, one in enumerate(base.shape, shift):
        wanted = target[place] if 0 <= place else 0
        if is_number(one, 1) or is_number(wanted, -1) or same(one, wanted):
            continue
        hints = [value if isinstance(value, int) else env.hint(value) for value in (one, wanted)]
        if None not in hints:
            env.guard(one == wanted) if hints[0] == hints[1] else env.guard(one == 1)
    return viewed(recorder, ruled(recorder, aten.expand.default, base, size), base)


@kind_rules(
    aten.permute.default, aten.transpose.int, aten.t.default, aten.unsqueeze.default, aten.squeeze.dim,
    aten.squeeze.dims, aten.squeeze.default, aten.select.int, aten.split.Tensor, aten.split_with_sizes.default,
    aten.unbind.int,
)  # fmt: skip
def view_by_rule(operator: torch._ops.OpOverload, recorder: Trace, self: torch.Tensor, *args: object) -> object:
    """One view or several, with the sizes and strides of the shape rule.

    A size that `squeeze` drops is a branch: torch's meta function takes it for larger than 1.
    """
    base = metadata_of(recorder, self)
    found = ruled(recorder, operator, base, *args)
    return viewed(recorder, found, base) if type(found) is Shape else [viewed(recorder, one, base) for one in found]


@kind_rule(aten.slice.Tensor)
def slice_tensor(
    recorder: Trace,
    self: torch.Tensor,
    dim: int = 0,
    start: object = None,
    end: object = None,
    step: object = 1,
) -> object:
    """A part of one axis."""
    base = metadata_of(recorder, self)
    shape = base.shape
    if not shape:
        return NotImplemented
    axis = axis_of(dim, len(shape))
    first, last = sizes_of(start), sizes_of(end)
    if type(last) is int and last >= 2**62 or last is not None and same(last, shape[axis]):
        last = None
    if type(step) is int and step == 1 and last is None and (first is None or is_number(first, 0)):
        return base
    return viewed(recorder, ruled(recorder, aten.slice.Tensor, base, dim, first, last, step), base)
