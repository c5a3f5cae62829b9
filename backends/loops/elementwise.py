"""Elementwise operations, broadcasts and affine views, built over leaves.

    >>> from shapes import ShapeEnv
    >>> from backends.decisions.questions import Decisions
    >>> from backends.loops.kernels import Buffer
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, s = [size.expr for size in env.sizes("b s")]
    >>> build = Elementwise(Decisions(env))
    >>> x = build.memory(Buffer("x", "float32", (b, s), (s, build.lift(1))))
    >>> build.permute(x, (1, 0)).offset                          # views of memory are other offsets
    i0 + s*i1
    >>> build.reshape(build.apply("exp", x), (b * s,))
    float32[b*s]

Views are affine maps of indices, so they cost nothing. A view that would have to divide, several axes collapsed to one,
is a `CollapseAxes`: what is computed from it is computed over the axes before they were collapsed.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Final

from backends.decisions.questions import Decisions
from backends.loops.affine import Affine, affine_sum, is_one, is_zero
from backends.loops.kernels import Buffer
from backends.loops.nodes import CollapseAxes, Indices, Iota, Memory, Number, Pointwise, Sizes, Tensor, View
from backends.loops.operations import result_dtype
from solver.terms.expr import Expr


class Elementwise:
    """Builds leaves, views and elementwise operations."""

    def __init__(self, decisions: Decisions) -> None:
        self.decisions = decisions
        self.interner = decisions.interner
        self.zero: Final = self.interner.constant(0)
        self.one: Final = self.interner.constant(1)

    def lift(self, size: Expr | int) -> Expr:
        return self.interner.constant(size) if isinstance(size, int) else self.decisions.number(size)

    def axis(self, number: int) -> Affine:
        return Affine.axis(number, self.interner)

    def axes(self, rank: int) -> Indices:
        return tuple([self.axis(number) for number in range(rank)])

    # ------------------------------------------------------------------ leaves

    def memory(self, buffer: Buffer) -> Memory:
        strides = zip(self.axes(len(buffer.sizes)), map(self.lift, buffer.strides))
        offset = affine_sum([Affine.of(self.zero), *[axis * stride for axis, stride in strides]])
        return Memory(tuple(map(self.lift, buffer.sizes)), buffer.dtype, buffer, offset)

    def number(self, value: int | float | bool | Expr, dtype: str) -> Number:
        return Number((), dtype, value.constant if isinstance(value, Expr) and value.is_constant else value)

    def iota(self, sizes: Sizes, axis: int) -> Iota:
        return Iota(sizes, "int64", axis)

    # ------------------------------------------------------------------ elementwise

    def apply(self, operation: str, *operands: Tensor) -> Tensor:
        """An operation on tensors of the same sizes, and numbers; their dtypes are as the operation takes them."""
        same = _given_back(operation, operands)
        if same is not None:
            return same
        sizes = next((operand.sizes for operand in operands if operand.rank), ())
        return self._pointwise(operation, operands, sizes, result_dtype(operation, [x.dtype for x in operands]))

    def cast(self, x: Tensor, dtype: str) -> Tensor:
        if x.dtype == dtype:
            return x
        if isinstance(x, Number) and not isinstance(x.value, Expr):
            return Number((), dtype, _converted(x.value, dtype))
        if isinstance(x, Number):
            return Number((), dtype, x.value)
        return self._pointwise("cast", (x,), x.sizes, dtype)

    def _pointwise(self, operation: str, operands: Sequence[Tensor], sizes: Sizes, dtype: str) -> Tensor:
        merged = next((operand for operand in operands if isinstance(operand, CollapseAxes)), None)
        if merged is None:
            return Pointwise(sizes, dtype, operation, tuple(operands))
        inside = [self.split(operand, merged.runs, merged.source.sizes) for operand in operands]
        whole = Pointwise(merged.source.sizes, dtype, operation, tuple(inside))
        return CollapseAxes(sizes, dtype, whole, merged.runs)

    def split(self, x: Tensor, runs: tuple[tuple[int, ...], ...], sizes: Sizes) -> Tensor:
        """The inverse of collapsing: each axis expanded to a run of axes of these sizes."""
        if not x.rank:
            return x
        if isinstance(x, CollapseAxes) and x.runs == runs and all(map(self.decisions.equal, x.source.sizes, sizes)):
            return x.source
        return self.view(x, sizes, [self._flat(run, sizes) for run in runs])

    def _flat(self, run: Sequence[int], sizes: Sizes) -> Affine:
        """The index along a collapsed axis, from those along its parts (row-major linearization)."""
        place = Affine.of(self.zero)
        for axis in run:
            place = place * sizes[axis] + self.axis(axis)
        return place

    # ------------------------------------------------------------------ views

    def view(self, x: Tensor, sizes: Sizes, indices: Sequence[Affine]) -> Tensor:
        """A tensor of these sizes, `indices` of x as affine maps of its axes."""
        if isinstance(x, Number):
            return x
        indices = tuple(indices)
        if len(sizes) == x.rank and all(place.as_axis == axis for axis, place in enumerate(indices)):
            if all(a is b for a, b in zip(sizes, x.sizes)):
                return x
        if isinstance(x, Memory):
            return Memory(sizes, x.dtype, x.buffer, x.offset.at(indices))
        if isinstance(x, CollapseAxes) and (runs := self._runs_seen(x, sizes, indices)) is not None:
            return CollapseAxes(sizes, x.dtype, x.source, runs)
        if isinstance(x, View):
            return View(sizes, x.dtype, x.source, tuple([place.at(indices) for place in x.indices]))
        return View(sizes, x.dtype, x, indices)

    def _runs_seen(self, x: CollapseAxes, sizes: Sizes, indices: Indices) -> tuple[tuple[int, ...], ...] | None:
        """The runs that are collapsed, by the axes of a view that only adds or removes axes of size 1: elementwise
        operations are still pulled through it. None for any other view."""
        runs: list[tuple[int, ...]] = [()] * len(sizes)
        last = -1
        for axis, place in enumerate(indices):
            seen = place.as_axis
            if seen is None:
                if x.runs[axis] or place.terms or not is_zero(place.constant):
                    return None
            elif seen <= last or not self.decisions.equal(sizes[seen], x.sizes[axis]):
                return None
            else:
                runs[seen], last = x.runs[axis], seen
        return tuple(runs) if all(run or is_one(size) for run, size in zip(runs, sizes)) else None

    def expand(self, x: Tensor, sizes: Sizes) -> Tensor:
        """Broadcast: new axes come first, and an axis of size 1 is repeated."""
        if isinstance(x, Number):
            return x
        first = len(sizes) - x.rank
        indices = [self._along(axis + first, x.sizes[axis], sizes[axis + first]) for axis in range(x.rank)]
        return self.view(x, sizes, indices)

    def _along(self, axis: int, given: Expr, wanted: Expr) -> Affine:
        """The index along an axis that is as long as the result's, or 1."""
        if given is wanted and self.decisions.equal(given, wanted):
            return self.axis(axis)
        if self.decisions.is_one(given):
            return Affine.of(self.zero)
        if self.decisions.equal(given, wanted):
            return self.axis(axis)
        one = self.interner.eq(given, 1)
        return self.axis(axis) * self.interner.ite(one, self.zero, self.one)

    def permute(self, x: Tensor, order: Sequence[int]) -> Tensor:
        indices = [self.axis(list(order).index(axis)) for axis in range(x.rank)]
        return self.view(x, tuple([x.sizes[axis] for axis in order]), indices)

    def unsqueeze(self, x: Tensor, axis: int) -> Tensor:
        sizes = (*x.sizes[:axis], self.one, *x.sizes[axis:])
        return self.view(x, sizes, [self.axis(k if k < axis else k + 1) for k in range(x.rank)])

    def squeeze(self, x: Tensor, axes: Sequence[int]) -> Tensor:
        """The tensor without these axes, which have size 1."""
        kept = [axis for axis in range(x.rank) if axis not in axes]
        indices = [self.axis(kept.index(k)) if k in kept else Affine.of(self.zero) for k in range(x.rank)]
        return self.view(x, tuple([x.sizes[axis] for axis in kept]), indices)

    def slice(self, x: Tensor, axis: int, start: Expr, step: int, size: Expr) -> Tensor:
        indices = list(self.axes(x.rank))
        indices[axis] = indices[axis] * self.lift(step) + Affine.of(start)
        return self.view(x, (*x.sizes[:axis], size, *x.sizes[axis + 1 :]), indices)

    def select(self, x: Tensor, axis: int, place: Expr) -> Tensor:
        indices = [self.axis(k if k < axis else k - 1) for k in range(x.rank)]
        indices[axis] = Affine.of(place)
        return self.view(x, (*x.sizes[:axis], *x.sizes[axis + 1 :]), indices)

    def reshape(self, x: Tensor, sizes: Sizes) -> Tensor | None:
        """The same elements in order with other sizes; None where the axes do not match up.

        Axes are matched from the left by equal products. A run of axes that becomes one is collapsed (a view where its
        strides allow that), one axis that becomes a run is split.
        """
        if isinstance(x, Number):
            return x
        if isinstance(x, CollapseAxes):
            # its elements are those of what was collapsed, in the same order
            found = self.reshape(x.source, sizes)
            if found is not None:
                return found
        matched = self._matched(x.sizes, sizes)
        if matched is None:
            return None
        if all(len(run) <= 1 for run, _ in matched):
            return self.view(x, sizes, [self._of_run(matched, axis, sizes) for axis in range(x.rank)])
        middle = tuple([self._along_run(sizes, run) for _, run in matched])
        merged = self._merged(x, tuple([run for run, _ in matched]), middle)
        return self.view(merged, sizes, [self._flat(run, sizes) for _, run in matched])

    def _of_run(self, matched: Matched, axis: int, sizes: Sizes) -> Affine:
        return next((self._flat(to, sizes) for run, to in matched if axis in run), Affine.of(self.zero))

    def _matched(self, given: Sizes, wanted: Sizes) -> Matched | None:
        """Runs of axes with equal products on both sides; an axis of size 1 that matches none is in no run on its side
        (its index is always 0)."""
        matched: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
        left = [axis for axis in range(len(given)) if not is_one(given[axis])]
        right = [axis for axis in range(len(wanted)) if not is_one(wanted[axis])]
        i = j = 0
        while i < len(left) and j < len(right):
            a, b = [left[i]], [right[j]]
            i, j = i + 1, j + 1
            while True:
                first, second = self._along_run(given, a), self._along_run(wanted, b)
                if self.decisions.equal(first, second, iterations=self.product(given)):
                    break
                if _is_factor(first, second) and i < len(left):
                    a.append(left[i])
                    i += 1
                elif j < len(right):
                    b.append(right[j])
                    j += 1
                elif i < len(left):
                    a.append(left[i])
                    i += 1
                else:
                    return None
            matched.append((tuple(a), tuple(b)))
        rest = [*[given[axis] for axis in left[i:]], *[wanted[axis] for axis in right[j:]]]
        return matched if all(map(self.decisions.is_one, rest)) else None

    def _along_run(self, sizes: Sizes, run: Sequence[int]) -> Expr:
        return self.product([sizes[axis] for axis in run])

    def product(self, sizes: Sequence[Expr]) -> Expr:
        """The number of elements."""
        return reduce(Expr.__mul__, sizes, self.one)

    def _merged(self, x: Tensor, runs: tuple[tuple[int, ...], ...], sizes: Sizes) -> Tensor:
        """Runs of axes collapsed to one axis each; axes in no run have size 1."""
        if isinstance(x, Memory):
            strides = [self._merged_stride(x, run) for run in runs]
            if None not in strides:
                terms = [self.axis(place) * stride for place, stride in enumerate(strides) if stride is not None]
                return Memory(sizes, x.dtype, x.buffer, affine_sum([Affine.of(x.offset.constant), *terms]))
        inside = [axis for run in runs for axis in run]
        if len(inside) < x.rank:
            x = self.squeeze(x, [axis for axis in range(x.rank) if axis not in inside])
            first = iter(range(len(inside)))
            runs = tuple([tuple([next(first) for _ in run]) for run in runs])
        if isinstance(x, CollapseAxes):
            inner = x.runs
            runs = tuple([tuple([axis for part in run for axis in inner[part]]) for run in runs])
            x = x.source
        return CollapseAxes(sizes, x.dtype, x, runs)

    def _merged_stride(self, x: Memory, run: Sequence[int]) -> Expr | None:
        """The stride of a collapsed run of axes, if there is one."""
        strides = [x.offset.coefficient(axis) or self.zero for axis in run]
        for outer, inner, axis in zip(strides, strides[1:], run[1:]):
            if not self.decisions.equal(outer, inner * x.sizes[axis], iterations=self.product(x.sizes)):
                return None
        return strides[-1]


Matched = Sequence[tuple[tuple[int, ...], tuple[int, ...]]]


def _is_factor(first: Expr, second: Expr) -> bool:
    """Return True if the first product is the smaller one: by its degree, then by its number."""
    if first.is_constant and second.is_constant:
        return first.constant < second.constant
    return (first.degree, abs(first.content())) < (second.degree, abs(second.content()))


def _given_back(operation: str, operands: Sequence[Tensor]) -> Tensor | None:
    """The operand that an operation returns unchanged: multiplied or divided by 1, which is exact for every number."""
    if operation not in ("mul", "div"):
        return None
    first, second = operands
    if first.dtype != second.dtype:
        return None
    if _is_one(second):
        return first
    return second if operation == "mul" and _is_one(first) else None


def _is_one(x: Tensor) -> bool:
    return isinstance(x, Number) and not isinstance(x.value, Expr | bool) and x.value == 1


def _converted(value: int | float | bool, dtype: str) -> int | float | bool:
    if dtype == "bool":
        return bool(value)
    return float(value) if dtype.startswith(("float", "bfloat")) else int(value)
