"""Result strides of element-wise operators: the permutation of axes of torch's TensorIterator.

    >>> from shapes import ShapeEnv
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, s, h = env.sizes("b s h", lo=1, hints=(2, 3, 4))
    >>> heads = Shape((b, h, s, 64), strides=(s * h * 64, 64, h * 64, 1))
    >>> order_of(env, heads)
    Order(axes=(3, 1, 2, 0), dense=True)
    >>> row = Shape((s, 1), strides=(1, 1))
    >>> elementwise_strides(env, [row, heads], (b, h, s, 64))      # the layout of the second, which has all axes
    (64*h*s, 64, 64*h, 1)

TensorIterator sorts axes by the strides of the first operand that distinguishes them, and its result is dense in that
order. The stride of an axis of extent 1 is irrelevant, so an order that is valid for longer axes is valid for all: our
strides equal torch's on every axis of two or more elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from shapes.env import ShapeEnv
from shapes.environment.layout import (
    CHANNELS_LAST,
    at_least_one,
    channels_last_strides,
    contiguous_strides,
    packed_strides,
)
from shapes.rules.broadcasting import broadcast, known, same
from shapes.rules.shape import Shape
from shapes.symbolic.choices import Int


@dataclass(frozen=True, slots=True)
class Order:
    """The axes of more than one element that are not expanded, innermost first.

    `dense`: they have no gaps, and no axis is expanded.
    """

    axes: tuple[int, ...]
    dense: bool


UNKNOWN: Final = Order((), dense=False)


def strides_of(shape: Shape) -> tuple[Int, ...]:
    """The strides of a tensor of the program, which all have some."""
    assert shape.strides is not None
    return shape.strides


def order_of(env: ShapeEnv, shape: Shape) -> Order | None:
    """The dimension order of a tensor; None if its strides do not determine it."""
    found = shape.order
    if not isinstance(found, Order):
        found = shape.order = _order_of(env, shape) or UNKNOWN
    return None if found is UNKNOWN else found


def _order_of(env: ShapeEnv, shape: Shape) -> Order | None:
    strides = strides_of(shape)
    counted = [axis for axis in range(len(shape) - 1, -1, -1) if not is_number(shape[axis], 1)]
    axes = [axis for axis in counted if not is_number(strides[axis], 0)]
    hints = [strides[axis] if isinstance(strides[axis], int) else env.hint(strides[axis]) for axis in axes]
    if None not in hints:
        # of axes with equal strides, one has extent 1 this time: start with the last one
        axes = [axis for _, _, axis in sorted(zip(hints, range(len(axes)), axes))]
    dense = len(axes) == len(counted)
    wanted: Int = 1
    for axis in axes:
        if not same(strides[axis], wanted):
            dense = False
            if not known(env, strides[axis] >= wanted):
                return _nested_otherwise(env, shape, axes) if None not in hints else None
        wanted = strides[axis] * at_least_one(shape[axis])
    return Order(tuple(axes), dense)


def _nested_otherwise(env: ShapeEnv, shape: Shape, axes: list[int]) -> Order | None:
    """The order of axes where some have extent 1 this time, so that their strides are misleading."""
    strides = strides_of(shape)
    left, ordered = list(axes), []
    wanted: Int = 1
    dense = len(axes) == sum([not is_number(size, 1) for size in shape])
    while left:
        following = next((axis for axis in left if same(strides[axis], wanted)), None)
        if following is None:
            return None
        left.remove(following)
        ordered.append(following)
        wanted = strides[following] * at_least_one(shape[following])
    return Order(tuple(ordered), dense)


def are_same(sizes: Sequence[Int], others: Sequence[Int]) -> bool:
    """Return True if sizes are the same expressions one by one."""
    return len(sizes) == len(others) and all(map(same, sizes, others))


def is_number(value: Int, number: int) -> bool:
    """Return True if a size is proven to be this number."""
    return type(value) is int and value == number


def common_sizes(env: ShapeEnv, operands: Sequence[Shape]) -> Sequence[Int]:
    """The sizes that operands broadcast to. Two sizes with equal hints become equal by a guard."""
    if all(shape is operands[0] for shape in operands):
        return operands[0]
    rank = max(map(len, operands))
    met: list[Int] = [1] * rank
    for shape in operands:
        for place, size in enumerate(shape, rank - len(shape)):
            before = met[place]
            if is_number(before, 1):
                met[place] = size
            elif not is_number(size, 1) and not same(before, size):
                meet(env, before, size)
    return broadcast(env, *operands)


def meet(env: ShapeEnv, one: Int, other: Int) -> None:
    """Decide by their hints how two sizes broadcast: equal, or one of them 1."""
    values = [size if isinstance(size, int) else env.hint(size) for size in (one, other)]
    if None in values:
        return
    if values[0] == values[1]:
        env.guard(one == other)
        return
    for size, value in ((one, values[0]), (other, values[1])):
        if value == 1 and not isinstance(size, int):
            env.guard(size == 1)


def elementwise_strides(env: ShapeEnv, operands: Sequence[Shape], sizes: Sequence[Int]) -> Sequence[Int] | None:
    """The strides of an elementwise kernel's result; None if the operands do not determine them."""
    orders: list[Order] = []
    for operand in operands:
        order = order_of(env, operand)
        if order is None:
            return None
        orders.append(order)
    rank = len(sizes)
    first = operands[0]
    if orders[0].dense and are_same(first, sizes):
        wanted = (*first, *strides_of(first))
        if all(each is first or are_same((*each, *strides_of(each)), wanted) for each in operands):
            return first.strides
    ranks: list[dict[int, int]] = []
    for operand, order in zip(operands, orders):
        shift = rank - len(operand)
        ranks.append({axis + shift: place for place, axis in enumerate(order.axes)})
        for axis, size in enumerate(operand, shift):
            if is_number(size, 1) or same(size, sizes[axis]) or known(env, size == sizes[axis]) is True:
                continue
            if known(env, size == 1) is not True:
                return None
            # expanded: it has no preferred order
            ranks[-1].pop(axis, None)
    axes = _sorted_axes(sizes, ranks)
    return None if axes is None else packed_by(sizes, axes)


def _sorted_axes(sizes: Sequence[Int], ranks: Sequence[dict[int, int]]) -> list[int] | None:
    """ATen's insertion sort of the axes: two axes are compared by the first operand with a stride for both.

    None where operands disagree and the first one is ambiguous: then an axis of extent 1, whose stride is ignored, may
    change the order of the others, unless all sizes are constants.
    """
    axes = [axis for axis in range(len(sizes) - 1, -1, -1) if not is_number(sizes[axis], 1)]
    first = ranks[0]
    if len(first) == len(axes):
        return sorted(axes, key=first.__getitem__)
    unsettled = [] if all(type(sizes[axis]) is int for axis in axes) else axes
    for place, one in enumerate(unsettled):
        for other in axes[place + 1 :]:
            seen = {rank[one] > rank[other] for rank in ranks if one in rank and other in rank}
            if len(seen) > 1:
                return None

    def comparison(one: int, other: int) -> int:
        for rank in ranks:
            if one in rank and other in rank:
                return 1 if rank[one] > rank[other] else -1
        return 0

    for start in range(1, len(axes)):
        place = start
        for before in range(start - 1, -1, -1):
            found = comparison(axes[before], axes[place])
            if found > 0:
                axes[before], axes[place] = axes[place], axes[before]
                place = before
            elif found < 0:
                break
    return axes


def packed_by(sizes: Sequence[Int], axes: Sequence[int]) -> tuple[Int, ...]:
    """Dense strides for axes given innermost first; those left out have extent 1."""
    strides = list(packed_strides(sizes, axes))
    places = set(axes)
    for axis in range(len(sizes) - 1, -1, -1):
        if axis not in places:
            # as in a contiguous tensor
            strides[axis] = strides[axis + 1] * sizes[axis + 1] if axis + 1 < len(sizes) else 1
    return tuple(strides)


def is_packed(shape: Shape) -> bool:
    """Return True if a tensor is contiguous for all sizes."""
    if not shape.is_packed:
        rows = zip(shape, strides_of(shape), contiguous_strides(shape))
        shape.is_packed = all(is_number(size, 1) or same(stride, wanted) for size, stride, wanted in rows)
    return shape.is_packed


def is_ambiguously_channels_last(shape: Shape) -> bool:
    """Return True if ATen takes a contiguous image for a channels-last one: images of one channel or one pixel are
    both, and the strides of axes of extent 1 decide."""
    strides = shape.strides
    if len(shape) != 4 or strides is None or not (is_number(shape[1], 1) or is_number(shape[3], 1)):
        return False
    if not all(map(same, strides, channels_last_strides(shape))):
        return False
    return not all(map(same, strides, contiguous_strides(shape)))


def is_by_row(shape: Shape) -> bool:
    """Return True if a tensor is contiguous, and no image that is ambiguously channels-last as well."""
    return is_packed(shape) and not is_ambiguously_channels_last(shape)


def is_expanded(shape: Shape) -> bool:
    """Return True if a stride is 0, along an axis that may have more than one element."""
    return any(is_number(stride, 0) and not is_number(size, 1) for size, stride in zip(shape, strides_of(shape)))


def is_repeated(shape: Shape) -> bool:
    """Return True if all strides are 0 (fully expanded); TensorIterator then has no preferred order."""
    return all(is_number(stride, 0) for stride in strides_of(shape))


def suggested_strides(env: ShapeEnv, shape: Shape, sizes: Sequence[Int]) -> Sequence[Int] | None:
    """The strides of a fresh tensor with these sizes in the memory format of a tensor; None if unclear."""
    channels = suggests_channels_last(env, shape)
    if channels is None:
        return None
    return channels_last_strides(sizes) if channels else contiguous_strides(sizes)


def suggests_channels_last(env: ShapeEnv, shape: Shape) -> bool | None:
    """Return True if ATen suggests the channels-last memory format: every stride is at least the extent of the next
    inner axis.

    Where only the hints decide, there is a guard; None if they do not either.
    """
    strides = strides_of(shape)
    if is_ambiguously_channels_last(shape):
        return True
    if len(shape) not in CHANNELS_LAST or is_packed(shape) or any(is_number(stride, 0) for stride in strides):
        return False
    order = order_of(env, shape)
    if order is not None and 1 in order.axes:
        if order.axes == CHANNELS_LAST[len(shape)]:
            return True
        if order.axes[0] == len(shape) - 1:
            return False
    # torch considers the strides of axes of extent 1 as well
    inside, *outside = CHANNELS_LAST[len(shape)]
    for axis in outside:
        least = strides[inside] * at_least_one(shape[inside])
        holds = known(env, strides[axis] >= least)
        if holds is None:
            if None in [env.hint(each) for each in (strides[axis], least) if not isinstance(each, int)]:
                return None
            holds = env.guard(strides[axis] >= least)
        if not holds:
            return False
        inside = axis
    return True
