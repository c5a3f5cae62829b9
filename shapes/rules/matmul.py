"""Products of matrices and vectors, and Einstein sums.

    >>> from shapes import ShapeEnv
    >>> from shapes.rules import rules
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, s, t = env.sizes("b s t")
    >>> rules["matmul"](env, (b, 1, s, 64), (8, 64, t))
    Shape(b, 8, s, t)
    >>> rules["linear"](env, (b, s), (256, t), (256,))
    Shape(b, 256)
    >>> [guard.text for guard in env.guards()]
    ['s == t']

The equation of an Einstein sum names the axes; what the output does not name is summed over.

    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, s, t, d = env.sizes("b s t d", lo=2)
    >>> rules["einsum"](env, "...qd, ...kd -> ...qk", (b, 8, s, d), (1, 8, t, d))
    Shape(b, 8, s, t)
    >>> rules["einsum"](env, "ii", (s, t))          # without an arrow: what comes up once, here nothing
    Shape()
    >>> [guard.text for guard in env.guards()]
    ['s == t']
    >>> parse("ab,bc")
    Equation(inputs=('ab', 'bc'), output='ac')

An ellipsis stands for any number of axes; they broadcast, as do axes of one name in different operands. Axes of one
name in one operand are its diagonal, and have to be equal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from shapes.env import ShapeEnv
from shapes.errors import ShapeError
from shapes.rules.axes import axes_of, axis_of, without
from shapes.rules.broadcasting import agree, broadcast, broadcast_size, expandable, same
from shapes.rules.expectations import expect_axes, expect_rank
from shapes.rules.registry import rule
from shapes.rules.shape import Shape, as_shape
from shapes.symbolic.choices import Int, Truth, sym_and, sym_ite, sym_or

Real = int | float


def matrix_product(
    env: ShapeEnv, a: Sequence[Int], b: Sequence[Int], message: str = "rows of the one, columns of the other differ"
) -> tuple[Int, ...]:
    """The sizes of a product of (stacks of) matrices or vectors."""
    if not a or not b:
        raise ShapeError("a tensor without axes has no matrix product")
    agree(env, a[-1], b[-2] if len(b) > 1 else b[0], message)
    batch = broadcast(env, a[:-2], b[:-2]) if len(a) > 2 or len(b) > 2 else ()
    return (*batch, *a[-2:-1], *(b[-1:] if len(b) > 1 else ()))


def common_dtype(*shapes: Shape) -> str | None:
    """The dtype that all of them have."""
    first = shapes[0].dtype
    return first if all(shape.dtype == first for shape in shapes) else None


@rule("matmul")
def matmul(env: ShapeEnv, input: Shape, other: Shape) -> Shape:
    """Rows of the one, columns of the other; the axes before them broadcast."""
    return Shape(matrix_product(env, input, other), dtype=common_dtype(input, other))


@rule("mm")
def mm(env: ShapeEnv, input: Shape, mat2: Shape) -> Shape:
    """(n, m) and (m, p) give (n, p)."""
    expect_rank(input, 2, "input")
    expect_rank(mat2, 2, "mat2")
    return Shape(matrix_product(env, input, mat2), dtype=common_dtype(input, mat2))


@rule("bmm")
def bmm(env: ShapeEnv, input: Shape, mat2: Shape) -> Shape:
    """(b, n, m) and (b, m, p) give (b, n, p)."""
    return Shape(_stacked_product(env, input, mat2, "input", "mat2"), dtype=common_dtype(input, mat2))


def _stacked_product(env: ShapeEnv, a: Shape, b: Shape, a_name: str, b_name: str) -> tuple[Int, Int, Int]:
    expect_rank(a, 3, a_name)
    expect_rank(b, 3, b_name)
    batch = agree(env, a[0], b[0], "different numbers of matrices")
    agree(env, a[2], b[1], "rows of the one, columns of the other differ")
    return batch, a[1], b[2]


@rule("mv")
def mv(env: ShapeEnv, input: Shape, vec: Shape) -> Shape:
    """(n, m) and (m) give (n)."""
    expect_rank(input, 2, "input")
    expect_rank(vec, 1, "vec")
    return Shape(matrix_product(env, input, vec), dtype=common_dtype(input, vec))


@rule("dot")
def dot(env: ShapeEnv, input: Shape, tensor: Shape) -> Shape:
    """A number from two vectors of one size."""
    return _dot(env, input, tensor, "tensor")


@rule("vdot")
def vdot(env: ShapeEnv, input: Shape, other: Shape) -> Shape:
    """A number from two vectors of one size."""
    return _dot(env, input, other, "other")


def _dot(env: ShapeEnv, a: Shape, b: Shape, name: str) -> Shape:
    expect_rank(a, 1, "input")
    expect_rank(b, 1, name)
    agree(env, a[0], b[0], "the vectors have different sizes")
    return Shape((), dtype=common_dtype(a, b))


@rule("inner")
def inner(env: ShapeEnv, input: Shape, other: Shape) -> Shape:
    """All axes of both without the last one, which they share; a tensor without axes scales the other."""
    if input and other:
        agree(env, input[-1], other[-1], "the last axes differ")
        return Shape((*input[:-1], *other[:-1]), dtype=common_dtype(input, other))
    return Shape(input or other, dtype=common_dtype(input, other))


@rule("outer", "ger")
def outer(env: ShapeEnv, input: Shape, vec2: Shape) -> Shape:
    """(n) and (m) give (n, m)."""
    expect_rank(input, 1, "input")
    expect_rank(vec2, 1, "vec2")
    return Shape((input[0], vec2[0]), dtype=common_dtype(input, vec2))


@rule("addmm")
def addmm(env: ShapeEnv, input: Shape, mat1: Shape, mat2: Shape, *, beta: Real = 1, alpha: Real = 1) -> Shape:
    """(n, p) from (n, m) and (m, p), to which the input broadcasts."""
    expect_rank(mat1, 2, "mat1")
    expect_rank(mat2, 2, "mat2")
    return _added(env, input, matrix_product(env, mat1, mat2), mat1, mat2)


@rule("addbmm")
def addbmm(env: ShapeEnv, input: Shape, batch1: Shape, batch2: Shape, *, beta: Real = 1, alpha: Real = 1) -> Shape:
    """(n, p) from (b, n, m) and (b, m, p), to which the input broadcasts."""
    return _added(env, input, _stacked_product(env, batch1, batch2, "batch1", "batch2")[1:], batch1, batch2)


@rule("baddbmm")
def baddbmm(env: ShapeEnv, input: Shape, batch1: Shape, batch2: Shape, *, beta: Real = 1, alpha: Real = 1) -> Shape:
    """(b, n, p) from (b, n, m) and (b, m, p), to which the input broadcasts."""
    return _added(env, input, _stacked_product(env, batch1, batch2, "batch1", "batch2"), batch1, batch2)


@rule("addmv")
def addmv(env: ShapeEnv, input: Shape, mat: Shape, vec: Shape, *, beta: Real = 1, alpha: Real = 1) -> Shape:
    """(n) from (n, m) and (m), to which the input broadcasts."""
    expect_rank(mat, 2, "mat")
    expect_rank(vec, 1, "vec")
    return _added(env, input, matrix_product(env, mat, vec), mat, vec)


@rule("addr")
def addr(env: ShapeEnv, input: Shape, vec1: Shape, vec2: Shape, *, beta: Real = 1, alpha: Real = 1) -> Shape:
    """(n, m) from (n) and (m), to which the input broadcasts."""
    expect_rank(vec1, 1, "vec1")
    expect_rank(vec2, 1, "vec2")
    return _added(env, input, (vec1[0], vec2[0]), vec1, vec2)


def _added(env: ShapeEnv, added: Shape, product: Sequence[Int], *factors: Shape) -> Shape:
    expandable(env, added, product, "the input does not broadcast to the product")
    return Shape(product, dtype=common_dtype(added, *factors))


@rule("linear")
def linear(env: ShapeEnv, input: Shape, weight: Shape, bias: Shape | None = None) -> Shape:
    """The last axis, of as many as the weight has columns, becomes as many as it has rows."""
    expect_axes(weight, 1, "weight", most=2)
    sizes = matrix_product(env, input, weight[::-1], "the input's last axis and the weight's differ")
    if bias is None:
        return Shape(sizes, dtype=common_dtype(input, weight))
    if len(weight) == 1 and (len(input) == 2 or len(bias) == 1):
        raise ShapeError("weight: expected 2 axes, with this bias")
    expandable(env, bias, sizes, "the bias does not broadcast to the output")
    return Shape(sizes, dtype=common_dtype(input, weight, bias))


@rule("bilinear")
def bilinear(env: ShapeEnv, input1: Shape, input2: Shape, weight: Shape, bias: Shape | None = None) -> Shape:
    """(..., n) and (..., m) with a weight of (p, n, m) give (..., p)."""
    if len(input1) != len(input2) or not input1:
        raise ShapeError("input1 and input2: expected the same number of axes, at least one")
    expect_rank(weight, 3, "weight")
    batch = [agree(env, a, b, "input1 and input2 differ before the last axis") for a, b in zip(input1[:-1], input2)]
    agree(env, input1[-1], weight[1], "input1's last axis and the weight's second differ")
    agree(env, input2[-1], weight[2], "input2's last axis and the weight's third differ")
    env.require(sym_and(weight[1] > 0, weight[2] > 0), "weight: an axis of the inputs is empty")
    sizes: tuple[Int, ...] = (*batch, weight[0])
    if bias is not None:
        if not bias:
            raise ShapeError("bias: expected an axis")
        agree(env, bias[0], weight[0], "the bias and the weight's first axis differ")
        sizes = broadcast(env, sizes, bias)
    return Shape(sizes, dtype=common_dtype(input1, input2, weight))


@rule("linalg.multi_dot")
def multi_dot(env: ShapeEnv, tensors: Sequence[Shape]) -> Shape:
    """A chain of matrices; the first and the last may be vectors."""
    if len(tensors) < 2:
        raise ShapeError(f"tensors: expected at least 2, not {len(tensors)}")
    for place, tensor in enumerate(tensors):
        outermost = place in (0, len(tensors) - 1)
        if len(tensor) != 2 and not (outermost and len(tensor) == 1):
            raise ShapeError(f"tensors[{place}]: expected {'1 or 2' if outermost else '2'} axes, not {len(tensor)}")
    return _chained(env, tensors)


@rule("chain_matmul")
def chain_matmul(env: ShapeEnv, *matrices: Shape) -> Shape:
    """A chain of matrices."""
    shapes = [as_shape(matrix) for matrix in matrices]
    if not shapes:
        raise ShapeError("matrices: expected at least one")
    for place, shape in enumerate(shapes):
        expect_rank(shape, 2, f"matrices[{place}]")
    return _chained(env, shapes)


def _chained(env: ShapeEnv, shapes: Sequence[Shape]) -> Shape:
    sizes: Sequence[Int] = shapes[0]
    for place, shape in enumerate(shapes[1:], 1):
        sizes = matrix_product(env, sizes, shape, f"matrix {place} of the chain does not fit those before it")
    return Shape(sizes, dtype=common_dtype(*shapes))


@rule("tensordot")
def tensordot(env: ShapeEnv, a: Shape, b: Shape, dims: int | Sequence[Sequence[int]] | Sequence[int] = 2) -> Shape:
    """The axes of both without those that are summed over; of those, one of size 1 stands for any."""
    if isinstance(dims, int):
        if not 0 <= dims <= min(len(a), len(b)):
            raise ShapeError(f"dims={dims}: expected 0 to {min(len(a), len(b))}")
        a_axes, b_axes = tuple(range(len(a) - dims, len(a))), tuple(range(dims))
    else:
        a_dims, b_dims = [[one] if isinstance(one, int) else one for one in dims]
        if len(a_dims) != len(b_dims):
            raise ShapeError(f"dims={dims}: expected as many axes of the one as of the other")
        a_axes, b_axes = axes_of(a_dims, len(a), "dims"), axes_of(b_dims, len(b), "dims")
        if a_axes and not (a and b):
            raise ShapeError(f"dims={dims}: a tensor without axes has none to sum over")
    for one, other in zip([a[axis] for axis in a_axes], [b[axis] for axis in b_axes]):
        if not same(one, other):
            env.require(sym_or(one == other, one == 1, other == 1), "axes that are summed over differ")
    return Shape((*without(a, a_axes), *without(b, b_axes)), dtype=common_dtype(a, b))


@rule("kron")
def kron(env: ShapeEnv, input: Shape, other: Shape) -> Shape:
    """Products of the sizes, aligned at the last axis."""
    rank = max(len(input), len(other))
    padded = [(1,) * (rank - len(shape)) + tuple(shape) for shape in (input, other)]
    return Shape([one * another for one, another in zip(*padded)], dtype=common_dtype(input, other))


@rule("linalg.cross")
def linalg_cross(env: ShapeEnv, input: Shape, other: Shape, *, dim: int = -1) -> Shape:
    """The shape that both broadcast to; they have three elements along the axis."""
    _expect_one_rank(input, other)
    axis = axis_of(dim, len(input))
    if not input:
        raise ShapeError(f"dim={dim}: the tensors have no axes")
    for shape in (input, other):
        env.require(shape[axis] == 3, f"dim={dim}: expected 3 elements along it")
    return Shape(broadcast(env, input, other), dtype=common_dtype(input, other))


@rule("cross")
def cross(env: ShapeEnv, input: Shape, other: Shape, dim: int | None = None) -> Shape:
    """The shape that both broadcast to; they have three elements along the axis, which is the first such one unless
    given.
    """
    if dim is not None:
        result = linalg_cross(env, input, other, dim=dim)
        assert isinstance(result, Shape)
        return result
    _expect_one_rank(input, other)
    fits: Truth = False
    for one, another in reversed(list(zip(input, other))):
        fits = sym_or(one == 3, fits) if same(one, another) else sym_ite(one == 3, another == 3, fits)
    env.require(fits, "expected 3 elements along the input's first such axis, and along the other's")
    return Shape(broadcast(env, input, other), dtype=common_dtype(input, other))


def _expect_one_rank(input: Shape, other: Shape) -> None:
    if len(input) != len(other):
        raise ShapeError(f"expected as many axes of the other as of the input, which has {len(input)}")


Operand = Shape | Sequence[Shape]

ELLIPSIS: Final = "."
"""The spelling of an ellipsis in a term that was read."""


@dataclass(frozen=True, slots=True)
class Equation:
    """The names of the axes, a letter each, of every operand and of the output."""

    inputs: tuple[str, ...]
    output: str


@lru_cache(maxsize=1024)
def parse(equation: str) -> Equation:
    """Read an equation.

    Raises:
        ShapeError: it is none.
    """
    left, arrow, right = equation.partition("->")
    inputs = tuple([_term(term) for term in left.split(",")])
    counts = Counter("".join(inputs))
    if not arrow:
        once = sorted([letter for letter, count in counts.items() if count == 1 and letter != ELLIPSIS])
        return Equation(inputs, (ELLIPSIS if ELLIPSIS in counts else "") + "".join(once))
    output = _term(right)
    for letter, count in Counter(output).items():
        if count > 1:
            raise ShapeError(f"equation: {letter} appears twice in the output")
        if letter not in counts and letter != ELLIPSIS:
            raise ShapeError(f"equation: {letter} is in the output alone")
    return Equation(inputs, output)


def _term(text: str) -> str:
    """One operand's names, the ellipsis as one character."""
    term = text.replace(" ", "")
    if ELLIPSIS in term.replace("...", "", 1):
        raise ShapeError(f"equation: expected one ellipsis of three dots in {text.strip()!r}")
    term = term.replace("...", ELLIPSIS)
    for letter in term:
        if letter != ELLIPSIS and not (letter.isascii() and letter.isalpha()):
            raise ShapeError(f"equation: {letter!r} is no letter")
    return term


@rule("einsum")
def einsum(env: ShapeEnv, equation: str, *operands: Operand) -> Shape:
    """The axes that the output names."""
    shapes = _operands(operands)
    parsed = parse(equation)
    if len(parsed.inputs) != len(shapes):
        raise ShapeError(f"equation: it has {len(parsed.inputs)} operands, but {len(shapes)} are given")
    sizes: dict[str, Int] = {}
    spared: Sequence[Int] = ()
    for place, (term, shape) in enumerate(zip(parsed.inputs, shapes)):
        own, covered = _named(env, term, shape, place)
        if covered:
            spared = broadcast(env, spared, covered, message="the axes of the ellipsis do not broadcast")
        for letter, size in own.items():
            if letter in sizes:
                size = broadcast_size(env, sizes[letter], size, f"the sizes of {letter} differ")
            sizes[letter] = size
    result: list[Int] = []
    for letter in parsed.output:
        result += spared if letter == ELLIPSIS else [sizes[letter]]
    return Shape(result, dtype=common_dtype(*shapes))


def _named(env: ShapeEnv, term: str, shape: Shape, place: int) -> tuple[dict[str, Int], Sequence[Int]]:
    """The sizes of an operand by name, and those that its ellipsis covers."""
    before, dots, after = term.partition(ELLIPSIS)
    covered = len(shape) - len(before) - len(after)
    if covered < 0 or (covered and not dots):
        raise ShapeError(f"operand {place} has {len(shape)} axes, the equation names {len(before) + len(after)}")
    stop = len(before) + covered
    own: dict[str, Int] = {}
    for letter, size in zip(before + after, (*shape[: len(before)], *shape[stop:])):
        if letter in own:
            size = agree(env, own[letter], size, f"axes {letter} of operand {place} differ")
        own[letter] = size
    return own, shape[len(before) : stop]


def _operands(given: Sequence[Operand]) -> list[Shape]:
    """The operands, which may come in one list."""
    if len(given) == 1 and given[0] and all(isinstance(one, tuple | list) for one in given[0]):
        return [as_shape(one) for one in given[0]]
    return [as_shape(one) for one in given]
