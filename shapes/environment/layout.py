"""Memory layouts of tensors: sizes, strides and storage offset, and predicates such as contiguity.

    >>> from shapes import ShapeEnv
    >>> from shapes.environment.layout import Layout
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, s = env.sizes("b s", lo=1)
    >>> x = Layout.contiguous((b, s, 64))
    >>> x.strides, x.numel, x.storage_size
    ((64*s, 64, 1), 64*b*s, 64*b*s)
    >>> x.is_contiguous                                    # whatever the sizes
    True
    >>> turned = Layout((s, b), strides=(1, s))
    >>> turned.is_contiguous, turned.is_non_overlapping_and_dense
    ((b == 1 or s == 1) and (s == 1 or b == 1), True)

The propositions are torch's, for every rank: a size of 1 leaves its stride free, and without elements every layout is
contiguous. Ints give a bool, sizes a `SymBool`; nothing here guards.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from shapes.symbolic.choices import Int, Truth, sym_and, sym_ite, sym_max, sym_not, sym_or, sym_sum
from shapes.symbolic.numbers import SymBool, SymInt

CHANNELS_LAST: Final = {4: (1, 3, 2, 0), 5: (1, 4, 3, 2, 0)}
"""The axes by rank, innermost first: channels, then space backwards, then the batch."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Sizes, strides and storage offset of a tensor, in elements."""

    sizes: tuple[Int, ...]
    strides: tuple[Int, ...]
    storage_offset: Int = 0

    def __post_init__(self) -> None:
        if len(self.sizes) != len(self.strides):
            raise ValueError(f"sizes={self.sizes}, strides={self.strides}: one stride for each size")

    @staticmethod
    def contiguous(sizes: Iterable[Int], storage_offset: Int = 0) -> Layout:
        """The layout of a fresh tensor."""
        sizes = tuple(sizes)
        return Layout(sizes, contiguous_strides(sizes), storage_offset)

    @property
    def rank(self) -> int:
        return len(self.sizes)

    @property
    def numel(self) -> Int:
        return numel(self.sizes)

    @property
    def storage_size(self) -> Int:
        """The number of elements that the storage needs to have."""
        return storage_size(self.sizes, self.strides, self.storage_offset)

    @property
    def is_contiguous(self) -> Truth:
        return contiguous(self.sizes, self.strides)

    @property
    def is_channels_last(self) -> Truth:
        return channels_last(self.sizes, self.strides)

    @property
    def is_non_overlapping_and_dense(self) -> Truth:
        return non_overlapping_and_dense(self.sizes, self.strides)


def numel(sizes: Iterable[Int]) -> Int:
    """The number of elements."""
    product: Int = 1
    for size in sizes:
        product = product * size
    return product


def contiguous_strides(sizes: Sequence[Int]) -> tuple[Int, ...]:
    """The strides of a fresh tensor: products of the sizes further in, where a size of 0 counts as 1."""
    return packed_strides(sizes, range(len(sizes) - 1, -1, -1))


def channels_last_strides(sizes: Sequence[Int]) -> tuple[Int, ...]:
    """The strides of a fresh tensor of rank 4 or 5 whose channels are innermost."""
    if len(sizes) not in CHANNELS_LAST:
        raise ValueError(f"sizes={tuple(sizes)}: channels last is for 4 or 5 of them")
    return packed_strides(sizes, CHANNELS_LAST[len(sizes)])


def packed_strides(sizes: Sequence[Int], axes: Iterable[int]) -> tuple[Int, ...]:
    """Strides without gaps, the axes given from the innermost outwards."""
    strides: list[Int] = [1] * len(sizes)
    stride: Int = 1
    for axis in axes:
        strides[axis] = stride
        stride = stride * at_least_one(sizes[axis])
    return tuple(strides)


def at_least_one(size: Int) -> Int:
    """`max(size, 1)`, which is the size where that is known."""
    return size if is_positive(size) else sym_max(size, 1)


def is_positive(size: Int) -> bool:
    """Return True if a size is at least 1 by its bounds alone."""
    if not isinstance(size, SymInt):
        return bool(size > 0)
    lo, _ = size.env.known.bounds(size.expr)
    return lo is not None and lo > 0


def is_empty(sizes: Sequence[Int]) -> Truth:
    """The condition that there is no element."""
    if all(is_positive(size) for size in sizes):
        return False
    return simple(numel(sizes) == 0)


def contiguous(sizes: Sequence[Int], strides: Sequence[Int]) -> Truth:
    """The condition that the tensor is dense with the last axis innermost."""
    packed = contiguous_strides(sizes)
    return simple(sym_or(is_empty(sizes), _matches(sizes, strides, packed, range(len(sizes)))))


def channels_last(sizes: Sequence[Int], strides: Sequence[Int]) -> Truth:
    """The condition that it is dense with the channels innermost: for rank 4 (N, C, H, W) and 5 (N, C, D, H, W).

    Torch has no exception for tensors without elements here: the stride after an empty axis would have to be 0.
    """
    if len(sizes) not in CHANNELS_LAST:
        return False
    expected: list[Int] = [1] * len(sizes)
    stride: Int = 1
    for axis in CHANNELS_LAST[len(sizes)]:
        expected[axis] = stride
        stride = stride * sizes[axis]
    return simple(_matches(sizes, strides, expected, CHANNELS_LAST[len(sizes)]))


def strided_channels_last(sizes: Sequence[Int], strides: Sequence[Int]) -> Truth:
    """The condition that the strides are in the order of a tensor with the channels innermost, with gaps or without."""
    order = CHANNELS_LAST.get(len(sizes))
    if order is None:
        return False
    conditions: list[Truth] = [strides[1] != 0]
    least: Int = 0
    for axis in order:
        conditions += [sizes[axis] != 0, strides[axis] >= least]
        if axis == 0:
            # for N1H1 and the like the order is ambiguous: treated as contiguous
            conditions.append(sym_not(sym_and(strides[0] == strides[1], least == strides[1])))
        least = strides[axis] * at_least_one(sizes[axis])
    return simple(sym_and(*map(simple, conditions)))


def _matches(sizes: Sequence[Int], strides: Sequence[Int], expected: Sequence[Int], axes: Iterable[int]) -> Truth:
    """The condition that every axis with more or fewer elements than one has the stride that is expected."""
    return sym_and(*[sym_or(simple(strides[axis] == expected[axis]), simple(sizes[axis] == 1)) for axis in axes])


def non_overlapping_and_dense(sizes: Sequence[Int], strides: Sequence[Int]) -> Truth:
    """The condition that the elements fill a piece of storage exactly, in whatever order of the axes."""
    if _packs(sizes, strides):
        return True
    packed = sym_or(contiguous(sizes, strides), channels_last(sizes, strides))
    if packed is True:
        return True
    return simple(sym_or(packed, sym_and(*[_fills(sizes, strides, axis) for axis in range(len(sizes))])))


def _packs(sizes: Sequence[Int], strides: Sequence[Int]) -> bool:
    """The condition that some order of the axes packs for all sizes: each stride is the product of the sizes before it.
    """
    left = list(range(len(sizes)))
    stride: Int = 1
    while left:
        axis = next((axis for axis in left if simple(strides[axis] == stride) is True), None)
        if axis is None:
            return False
        left.remove(axis)
        stride = stride * sizes[axis]
    return True


def _fills(sizes: Sequence[Int], strides: Sequence[Int], axis: int) -> Truth:
    """The condition that an axis steps over exactly the axes with smaller strides (of two equal ones the first goes
    first).
    """
    below: Int = 1
    for other, size in enumerate(sizes):
        if other != axis:
            nearer = strides[other] <= strides[axis] if other < axis else strides[other] < strides[axis]
            below = below * sym_ite(simple(nearer), size, 1)
    return sym_or(simple(sizes[axis] < 2), simple(strides[axis] == below))


def storage_size(sizes: Sequence[Int], strides: Sequence[Int], storage_offset: Int = 0) -> Int:
    """The number of elements that the storage needs to have: none for a tensor without elements, wherever it starts."""
    needed = max_storage_index(sizes, strides, storage_offset) + 1
    return sym_ite(is_empty(sizes), 0, needed)


def max_storage_index(sizes: Sequence[Int], strides: Sequence[Int], storage_offset: Int = 0) -> Int:
    """The largest index into the storage, for a tensor with elements."""
    return sym_sum([storage_offset, *[(size - 1) * stride for size, stride in zip(sizes, strides, strict=True)]])


def simple(truth: Truth) -> Truth:
    """A truth value that is one already, as a bool."""
    if isinstance(truth, SymBool) and truth.is_constant:
        return truth.prop.kind == "true"
    return truth if isinstance(truth, SymBool) else bool(truth)
