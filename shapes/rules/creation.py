"""New tensors: filled, counted, drawn at random, and grids.

>>> from shapes import ShapeEnv
>>> from shapes.rules import rules
>>> env = ShapeEnv(origin=lambda: None)
>>> b, s = env.sizes("b s")
>>> rules["zeros"](env, b, s + 1), rules["eye"](env, s, dtype="bool")
(Shape(b, s + 1), Shape(s, s, dtype=bool))
>>> rules["arange"](env, 1, 2*s + 1, 2)
Shape(s, dtype=int64)
>>> rules["tril_indices"](env, s, s)
Shape(2, (s**2 + s)//2, dtype=int64)
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Final

from shapes.env import ShapeEnv
from shapes.environment.layout import numel
from shapes.errors import ShapeError
from shapes.rules.expectations import expect_axes, expect_one_of, expect_rank
from shapes.rules.promotion import kind_of
from shapes.rules.registry import rule
from shapes.rules.shape import Shape, as_shape
from shapes.rules.windows import require_at_least
from shapes.symbolic.choices import Int, Real, sym_and, sym_int, sym_max, sym_or
from shapes.symbolic.numbers import SymInt

Number = Real | bool | complex
Sizes = Int | Sequence[Int]
Tensors = Shape | Sequence[Shape]

PLACEMENT: Final = frozenset(
    ("layout", "device", "requires_grad", "pin_memory", "memory_format", "generator", "names", "out")
)
"""Options that say nothing about sizes."""


def _place(options: dict[str, object]) -> None:
    if not options.keys() <= PLACEMENT:
        raise ShapeError(f"unexpected arguments: {', '.join(sorted(options.keys() - PLACEMENT))}")


def _sized(env: ShapeEnv, size: Sequence[Sizes], dtype: str | None, options: dict[str, object]) -> Shape:
    """A fresh tensor; its sizes come one by one or in one sequence."""
    if options:
        _place(options)
    given = size[0] if len(size) == 1 and isinstance(size[0], tuple | list) else size
    sizes: list[Int] = []
    for one in given:
        if not isinstance(one, int | SymInt):
            raise ShapeError(f"size: expected numbers, not {one!r}")
        require_at_least(env, one, 0, "size: expected no negative number")
        sizes.append(one)
    return Shape(sizes, dtype=dtype)


# ------------------------------------------------------------------ of given sizes


@rule("zeros", "ones", "empty", "rand", "randn")
def filled(env: ShapeEnv, *size: Sizes, dtype: str | None = None, **options: object) -> Shape:
    """The sizes given."""
    return _sized(env, size, dtype, options)


@rule("full", schema="size, fill_value, *, dtype=None, **options")
def full(env: ShapeEnv, size: Sequence[Int], dtype: str | None, **options: object) -> Shape:
    """The sizes given."""
    return _sized(env, (size,), dtype, options)


@rule("randint")
def randint(
    env: ShapeEnv,
    low: Int = 0,
    high: Sizes | None = None,
    size: Sequence[Int] | None = None,
    *,
    dtype: str | None = "int64",
    **options: object,
) -> Shape:
    """The sizes given; the first bound may be left out."""
    if high is None:
        low, high = 0, low
    elif size is None and not isinstance(high, int | SymInt):
        size, high, low = high, low, 0
    if size is None or not isinstance(high, int | SymInt):
        raise ShapeError("size: expected the sizes of a tensor")
    env.require(low < high, "low is not below high")
    return _sized(env, (size,), dtype, options)


@rule("randperm")
def randperm(env: ShapeEnv, n: Int, *, dtype: str | None = "int64", **options: object) -> Shape:
    """As many as are counted."""
    return _sized(env, (n,), dtype, options)


@rule("eye")
def eye(env: ShapeEnv, n: Int, m: Int | None = None, *, dtype: str | None = None, **options: object) -> Shape:
    """A matrix, square unless the columns are given."""
    return _sized(env, (n, n if m is None else m), dtype, options)


@rule("empty_strided")
def empty_strided(
    env: ShapeEnv, size: Sequence[Int], stride: Sequence[Int], *, dtype: str | None = None, **options: object
) -> Shape:
    """The sizes and strides given."""
    if len(size) != len(stride):
        raise ShapeError("stride: expected one for each size")
    for one in stride:
        require_at_least(env, one, 0, "stride: expected no negative number")
    return Shape(_sized(env, (size,), dtype, options), dtype=dtype, strides=stride)


@rule("scalar_tensor")
def scalar_tensor(env: ShapeEnv, s: Number, *, dtype: str | None = None, **options: object) -> Shape:
    """A number."""
    return _sized(env, ((),), dtype, options)


@rule("bartlett_window", "blackman_window", "hamming_window", "hann_window", "kaiser_window")
def window(
    env: ShapeEnv, window_length: Int, periodic: bool = True, *, dtype: str | None = None, **options: object
) -> Shape:
    """As many as are counted."""
    # `alpha` and `beta` are numbers of the window's form
    return _sized(env, (window_length,), dtype, {name: options[name] for name in options.keys() - {"alpha", "beta"}})


# ------------------------------------------------------------------ like another tensor


@rule("zeros_like", "ones_like", "empty_like", "rand_like", "randn_like", schema="input, *, dtype=None, **options")
@rule("full_like", schema="input, fill_value, *, dtype=None, **options")
def like(env: ShapeEnv, input: Shape, dtype: str | None, **options: object) -> Shape:
    """As the input."""
    _place(options)
    return Shape(input, dtype=dtype or input.dtype)


@rule("randint_like")
def randint_like(
    env: ShapeEnv, input: Shape, low: Int = 0, high: Int | None = None, *, dtype: str | None = None, **options: object
) -> Shape:
    """As the input; the first bound may be left out."""
    _place(options)
    env.require(0 < low if high is None else low < high, "low is not below high")
    return Shape(input, dtype=dtype or input.dtype)


@rule("new_zeros", "new_ones", "new_empty")
def new_filled(env: ShapeEnv, self: Shape, *size: Sizes, dtype: str | None = None, **options: object) -> Shape:
    """The sizes given."""
    return _sized(env, size, dtype or self.dtype, options)


@rule("new_full", schema="self, size, fill_value, *, dtype=None, **options")
def new_full(env: ShapeEnv, self: Shape, size: Sequence[Int], dtype: str | None, **options: object) -> Shape:
    """The sizes given."""
    return _sized(env, (size,), dtype or self.dtype, options)


# ------------------------------------------------------------------ counted


@rule("arange")
def arange(
    env: ShapeEnv,
    start: Real = 0,
    end: Real | None = None,
    step: Real = 1,
    *,
    dtype: str | None = None,
    **options: object,
) -> Shape:
    """As many steps as fit before the end, which is the only argument where there is one."""
    if end is None:
        start, end = 0, start
    if (kind_of(dtype) or 2) < 2:
        start, end, step = sym_int(start), sym_int(end), sym_int(step)
    return _counted(env, start, end, step, dtype, options, inclusive=False)


@rule("range")
def inclusive_range(
    env: ShapeEnv,
    start: Real = 0,
    end: Real | None = None,
    step: Real = 1,
    *,
    dtype: str | None = None,
    **options: object,
) -> Shape:
    """As many steps as fit up to the end, and one."""
    if end is None:
        start, end = 0, start
    return _counted(env, start, end, step, dtype, options, inclusive=True)


def _counted(
    env: ShapeEnv, start: Real, end: Real, step: Real, dtype: str | None, options: dict[str, object], *, inclusive: bool
) -> Shape:
    _place(options)
    _expect_direction(env, start, end, step)
    if isinstance(start, int | SymInt) and isinstance(end, int | SymInt) and isinstance(step, int | SymInt):
        if inclusive:
            return Shape(((end - start) // step + 1,), dtype=dtype)
        return Shape((-((start - end) // step),), dtype=dtype or "int64")
    steps = (end - start) / step
    return Shape((steps.__floor__() + 1 if inclusive else steps.__ceil__(),), dtype=dtype)


def _expect_direction(env: ShapeEnv, start: Real, end: Real, step: Real) -> None:
    """Require that the steps lead from the start to the end."""
    message = "the steps do not lead from the start to the end"
    if isinstance(step, int | float):
        env.require(step != 0, "step: expected another number than 0")
        first, last = (start, end) if step > 0 else (end, start)
        if isinstance(first, int | SymInt) and isinstance(last, int | SymInt):
            require_at_least(env, last - first, 0, message)
        else:
            env.require(first <= last, message)
        return
    env.require(sym_or(sym_and(step > 0, end >= start), sym_and(step < 0, end <= start)), message)


@rule("linspace", schema="start, end, steps, *, dtype=None, **options")
@rule("logspace", schema="start, end, steps, base=10.0, *, dtype=None, **options")
def linspace(
    env: ShapeEnv, start: Shape | Number, end: Shape | Number, steps: Int, dtype: str | None, **options: object
) -> Shape:
    """As many as there are steps."""
    for name, bound in (("start", start), ("end", end)):
        if isinstance(bound, Shape):
            expect_rank(bound, 0, name)
    return _sized(env, (steps,), dtype, options)


@rule("tril_indices")
def tril_indices(
    env: ShapeEnv, row: Int, col: Int, offset: Int = 0, *, dtype: str | None = "int64", **options: object
) -> Shape:
    """A row and a column for each place on the diagonal and below."""
    _place(options)
    _expect_matrix(env, row, col)
    return Shape((2, _below(env, row, col, offset)), dtype=dtype)


@rule("triu_indices")
def triu_indices(
    env: ShapeEnv, row: Int, col: Int, offset: Int = 0, *, dtype: str | None = "int64", **options: object
) -> Shape:
    """A row and a column for each place on the diagonal and above."""
    _place(options)
    _expect_matrix(env, row, col)
    return Shape((2, row * col - _below(env, row, col, offset - 1)), dtype=dtype)


def _expect_matrix(env: ShapeEnv, row: Int, col: Int) -> None:
    require_at_least(env, row, 0, "row: expected no negative number")
    require_at_least(env, col, 0, "col: expected no negative number")


def _below(env: ShapeEnv, rows: Int, columns: Int, offset: Int) -> Int:
    """The number of elements on a diagonal and below: row r has min(max(r + 1 + offset, 0), columns) of them.

    With T(n) = 1 + ... + n, that is T(rows + offset) - T(offset) without the cut at the columns, which takes away the
    same once more, `columns` further down.
    """
    whole = _triangle(env, rows + offset) - _triangle(env, offset)
    return whole - _triangle(env, rows + offset - columns) + _triangle(env, offset - columns)


def _triangle(env: ShapeEnv, n: Int) -> Int:
    """1 + ... + n, nothing for a negative n."""
    lo, hi = env.bounds(n)
    if hi is not None and hi <= 0:
        return 0
    side = n if lo is not None and lo >= 0 else sym_max(n, 0)
    return side * (side + 1) // 2


# ------------------------------------------------------------------ grids


def _vectors(tensors: Sequence[Tensors]) -> list[Shape]:
    """The tensors, which may come in one list."""
    if len(tensors) == 1 and type(tensors[0]) is list and all(isinstance(one, tuple | list) for one in tensors[0]):
        tensors = [one for one in tensors[0] if isinstance(one, tuple | list)]
    if not tensors:
        raise ShapeError("tensors: expected at least one")
    return [as_shape(one) for one in tensors]


@rule("meshgrid")
def meshgrid(env: ShapeEnv, *tensors: Tensors, indexing: str | None = None) -> tuple[Shape, ...]:
    """A grid for each vector, with an axis of each; "xy" swaps the first two."""
    shapes = _vectors(tensors)
    for shape in shapes:
        expect_axes(shape, 0, "tensors", most=1)
    expect_one_of(indexing, (None, "ij", "xy"), "indexing")
    sizes = [shape[0] if shape else 1 for shape in shapes]
    if indexing == "xy":
        sizes[:2] = sizes[1::-1]
    return tuple([Shape(sizes, dtype=shape.dtype) for shape in shapes])


@rule("cartesian_prod")
def cartesian_prod(env: ShapeEnv, *tensors: Tensors) -> Shape:
    """A row for each choice of one element of every vector; a single vector as it is."""
    shapes = _vectors(tensors)
    for place, shape in enumerate(shapes):
        expect_rank(shape, 1, f"tensors[{place}]")
    rows = numel([shape[0] for shape in shapes])
    return Shape((rows, len(shapes)) if len(shapes) > 1 else (rows,), dtype=shapes[0].dtype)


@rule("combinations")
def combinations(env: ShapeEnv, input: Shape, r: int = 2, with_replacement: bool = False) -> Shape:
    """A row for each choice of r elements."""
    expect_rank(input, 1, "input")
    r = operator.index(r)
    if r < 0:
        raise ShapeError(f"r={r}: expected no negative number")
    if r == 0:
        return Shape((0,), dtype=input.dtype)
    n = input[0]
    factors = [n + place if with_replacement else n - place for place in range(r)]
    return Shape((numel(factors) // math.factorial(r), r), dtype=input.dtype)
