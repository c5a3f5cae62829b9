"""Systems of linear equations.

    >>> from shapes import ShapeEnv
    >>> from shapes.rules import rules
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, n, k = env.sizes("b n k")
    >>> rules["linalg.solve"](env, (b, n, n), (1, n, k))
    Shape(b, n, k)
    >>> rules["linalg.solve"](env, (b, n, n), (b, n))               # a vector for each matrix
    Shape(b, n)

The axes before the matrices broadcast.
"""

from __future__ import annotations

from collections.abc import Sequence

from shapes.env import ShapeEnv
from shapes.environment.layout import numel
from shapes.errors import ShapeError
from shapes.rules.axes import axis_of
from shapes.rules.broadcasting import agree, agree_all, broadcast, same
from shapes.rules.expectations import expect_one_of, expect_rank
from shapes.rules.linalg import EMPTY, matrices, squares
from shapes.rules.promotion import real
from shapes.rules.registry import rule
from shapes.rules.shape import Shape
from shapes.symbolic.choices import Int, sym_and, sym_min, sym_or


def _is_vector(env: ShapeEnv, a: Shape, b: Shape) -> bool:
    """Return True if the right side has a vector for each matrix, and not a matrix: the number of axes depends on it.
    """
    if len(b) == 1:
        return True
    if len(b) != len(a) - 1:
        return False
    pairs = [(size, wanted) for size, wanted in zip(b, a) if not same(size, wanted)]
    alike = sym_and(*[size == wanted for size, wanted in pairs])
    return alike if isinstance(alike, bool) else env.guard(alike)


def _solution(env: ShapeEnv, a: Shape, b: Shape, left: bool, name: str = "A") -> tuple[tuple[Int, ...], Int, Int]:
    """The axes before the matrices, broadcast, and the rows and columns of a solution."""
    batch, side = squares(env, a, name)
    other, rows, columns = matrices(b, "B")
    agree(env, side, rows if left else columns, f"{name} and B do not fit")
    return broadcast(env, batch, other), rows, columns


def _solved(env: ShapeEnv, a: Shape, b: Shape, left: bool) -> Shape:
    if not _is_vector(env, a, b):
        batch, rows, columns = _solution(env, a, b, left)
        return Shape((*batch, rows, columns), dtype=a.dtype)
    if not left:
        raise ShapeError("B: a vector can not stand on the left")
    batch, rows, _ = _solution(env, a, Shape((*b, 1)), left)
    return Shape((*batch, rows), dtype=a.dtype)


@rule("linalg.solve")
def solve(env: ShapeEnv, A: Shape, B: Shape, *, left: bool = True) -> Shape:
    """As the right side, which may be a vector for each matrix."""
    return _solved(env, A, B, left)


@rule("linalg.solve_ex", schema="A, B, *, left=True, check_errors=False")
def solve_ex(env: ShapeEnv, A: Shape, B: Shape, left: bool) -> tuple[Shape, Shape]:
    """As the right side, which may be a vector for each matrix, and a number for each matrix."""
    return _solved(env, A, B, left), Shape(A[:-2], dtype="int32")


@rule("linalg.solve_triangular", schema="A, B, *, upper, left=True, unitriangular=False")
def solve_triangular(env: ShapeEnv, A: Shape, B: Shape, left: bool) -> Shape:
    """As the right side."""
    batch, rows, columns = _solution(env, A, B, left)
    return Shape((*batch, rows, columns), dtype=A.dtype)


@rule("triangular_solve", schema="b, A, upper=True, transpose=False, unitriangular=False")
def triangular_solve(env: ShapeEnv, b: Shape, A: Shape) -> tuple[Shape, Shape]:
    """As the right side, and the matrices once more."""
    batch, rows, columns = _solution(env, A, b, True)
    return Shape((*batch, rows, columns), dtype=A.dtype), Shape((*batch, rows, rows), dtype=A.dtype)


@rule("cholesky_solve")
def cholesky_solve(env: ShapeEnv, B: Shape, L: Shape, upper: bool = False) -> Shape:
    """As the right side."""
    batch, rows, columns = _solution(env, L, B, True, "L")
    return Shape((*batch, rows, columns), dtype=L.dtype)


@rule("linalg.lu_solve", schema="LU, pivots, B, *, left=True, adjoint=False")
def linalg_lu_solve(env: ShapeEnv, LU: Shape, pivots: Shape, B: Shape, left: bool) -> Shape:
    """As the right side."""
    batch, rows, columns = _solution(env, LU, B, left, "LU")
    expect_rank(pivots, len(LU) - 1, "pivots")
    agree_all(env, pivots, LU, "pivots: expected one for each row of LU")
    return Shape((*batch, rows, columns), dtype=LU.dtype)


@rule("lu_solve")
def lu_solve(env: ShapeEnv, b: Shape, LU_data: Shape, LU_pivots: Shape) -> object:
    """As the right side."""
    return linalg_lu_solve(env, LU_data, LU_pivots, b)


@rule("linalg.lstsq", schema="A, B, rcond=None, *, driver=None")
def lstsq(env: ShapeEnv, A: Shape, B: Shape, driver: str | None) -> tuple[Shape, Shape, Shape, Shape]:
    """The solution, its residuals, the rank of each matrix and its singular values. The residuals are empty where
    there are no more equations than unknowns; `driver` says which of the rest is computed.
    """
    batch, rows, columns = matrices(A)
    expect_one_of(driver, (None, "gelsy", "gels", "gelsd", "gelss"), "driver")
    if not 0 <= len(A) - len(B) <= 1 :
        raise ShapeError(f"B: expected {len(A)} or {len(A) - 1} axes, not {len(B)}")
    vectors = _is_vector(env, A, B)
    other, given, right = matrices(Shape((*B, 1)) if vectors else B, "B")
    agree(env, rows, given, "A and B do not have the same number of rows")
    merged = broadcast(env, batch, other)
    solution = (*merged, columns) if vectors else (*merged, columns, right)
    residuals = values = Shape(EMPTY, dtype=real(A.dtype))
    rank = Shape(EMPTY, dtype="int64")
    if driver in ("gels", "gelsd", "gelss"):
        overdetermined = rows > columns
        if overdetermined if isinstance(overdetermined, bool) else env.guard(overdetermined):
            residuals = Shape((*merged, right), dtype=real(A.dtype))
    if driver != "gels":
        rank = Shape(batch, dtype="int64")
    if driver in ("gelsd", "gelss"):
        values = Shape((*batch, sym_min(rows, columns)), dtype=real(A.dtype))
    return Shape(solution, dtype=A.dtype), residuals, rank, values


@rule("linalg.tensorinv")
def tensorinv(env: ShapeEnv, A: Shape, ind: int = 2) -> Shape:
    """The axes from `ind` on come first."""
    if not 0 < ind <= len(A):
        raise ShapeError(f"ind={ind}: expected 1 to {len(A)}")
    env.require(numel(A[:ind]) == numel(A[ind:]), "the axes before ind and those after it do not have one product")
    return Shape((*A[ind:], *A[:ind]), dtype=A.dtype)


@rule("linalg.tensorsolve")
def tensorsolve(env: ShapeEnv, A: Shape, B: Shape, dims: Sequence[int] | None = None) -> Shape:
    """The axes of A after as many as B has."""
    moved = [axis_of(dim, len(A), "dims") for dim in dims or ()]
    if len(set(moved)) < len(moved):
        raise ShapeError(f"dims={dims}: an axis appears twice")
    sizes = [*[size for axis, size in enumerate(A) if axis not in moved], *[A[axis] for axis in moved]]
    if len(sizes) < len(B):
        raise ShapeError(f"A: expected at least {len(B)} axes, not {len(sizes)}")
    unknowns = numel(sizes[len(B) :])
    env.require(unknowns == numel(B), "B: as many equations as unknowns are expected")
    square = unknowns == numel(sizes[: len(B)])
    env.require(sym_or(square, unknowns == 0), "A: as many equations as unknowns are expected")
    return Shape(sizes[len(B) :], dtype=A.dtype)
