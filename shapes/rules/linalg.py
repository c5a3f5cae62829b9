"""Factorizations, inverses and other functions of (stacks of) matrices.

    >>> from shapes import ShapeEnv
    >>> from shapes.rules import rules
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, m, n = env.sizes("b m n")
    >>> rules["linalg.qr"](env, (b, m, n))
    (Shape(b, m, min(m, n)), Shape(b, min(m, n), n))
    >>> rules["linalg.inv"](env, (b, m, n))
    Shape(b, m, n)
    >>> [guard.text for guard in env.guards()]
    ['m == n']
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from shapes.env import ShapeEnv
from shapes.errors import ShapeError
from shapes.rules.axes import axis_of, replaced, without
from shapes.rules.broadcasting import agree, agree_all, same
from shapes.rules.expectations import expect_axes, expect_one_of, expect_rank
from shapes.rules.promotion import COMPLEX_OF, real
from shapes.rules.registry import rule
from shapes.rules.shape import Shape
from shapes.symbolic.choices import Int, sym_min, sym_or

Order = int | float | str | None

ORDERS: Final = ("fro", "nuc", 1, -1, 2, -2, float("inf"), float("-inf"))
"""The norms of matrices."""

EMPTY: Final = Shape((0,))
"""The value of an output that was not asked for."""


def matrices(a: Shape, name: str = "A") -> tuple[tuple[Int, ...], Int, Int]:
    """The axes before the matrices, their rows and their columns.

    Raises:
        ShapeError: they are no matrices.
    """
    expect_axes(a, 2, name)
    return a[:-2], a[-2], a[-1]


def squares(env: ShapeEnv, a: Shape, name: str = "A") -> tuple[tuple[Int, ...], Int]:
    """The axes before square matrices, and their side."""
    batch, rows, columns = matrices(a, name)
    return batch, agree(env, rows, columns, f"{name}: the matrices are not square")


def _square_unless_empty(env: ShapeEnv, a: Shape, name: str = "A") -> None:
    """Require square matrices of a tensor with elements: some operators return before they look."""
    _, rows, columns = matrices(a, name)
    if not same(rows, columns):
        env.require(sym_or(rows == columns, *[size == 0 for size in a]), f"{name}: the matrices are not square")


def _alike(env: ShapeEnv, a: Shape, name: str = "A") -> Shape:
    """The shape of a function of square matrices that gives matrices."""
    squares(env, a, name)
    return Shape(a, dtype=a.dtype)


def _info(a: Shape) -> Shape:
    return Shape(a[:-2], dtype="int32")


# ------------------------------------------------------------------ square matrices


@rule("linalg.cholesky")
def linalg_cholesky(env: ShapeEnv, A: Shape, *, upper: bool = False) -> Shape:
    """As the input, square matrices."""
    return _alike(env, A)


@rule("linalg.cholesky_ex")
def cholesky_ex(env: ShapeEnv, A: Shape, *, upper: bool = False, check_errors: bool = False) -> tuple[Shape, Shape]:
    """As the input, square matrices, and a number for each."""
    return _alike(env, A), _info(A)


@rule("cholesky")
def cholesky(env: ShapeEnv, input: Shape, upper: bool = False) -> Shape:
    """As the input, square matrices; what has no elements passes as it is, one axis included."""
    if len(input) == 1:
        env.require(input[0] == 0, "input: expected at least 2 axes, or no elements")
    else:
        _square_unless_empty(env, input, "input")
    return Shape(input, dtype=input.dtype)


@rule("cholesky_inverse")
def cholesky_inverse(env: ShapeEnv, input: Shape, upper: bool = False) -> Shape:
    """As the input, square matrices."""
    return _alike(env, input, "input")


@rule("linalg.inv", "linalg.matrix_exp")
def inv(env: ShapeEnv, A: Shape) -> Shape:
    """As the input, square matrices."""
    return _alike(env, A)


@rule("inverse", "matrix_exp")
def inverse(env: ShapeEnv, input: Shape) -> Shape:
    """As the input, square matrices."""
    return _alike(env, input, "input")


@rule("linalg.inv_ex")
def inv_ex(env: ShapeEnv, A: Shape, *, check_errors: bool = False) -> tuple[Shape, Shape]:
    """As the input, square matrices, and a number for each."""
    return _alike(env, A), _info(A)


@rule("linalg.matrix_power")
def linalg_matrix_power(env: ShapeEnv, A: Shape, n: int) -> Shape:
    """As the input, square matrices."""
    return _alike(env, A)


@rule("matrix_power")
def matrix_power(env: ShapeEnv, input: Shape, n: int) -> Shape:
    """As the input, square matrices."""
    return _alike(env, input, "input")


@rule("linalg.det")
def linalg_det(env: ShapeEnv, A: Shape) -> Shape:
    """A number for each square matrix."""
    return Shape(squares(env, A)[0], dtype=A.dtype)


@rule("det", "logdet")
def det(env: ShapeEnv, input: Shape) -> Shape:
    """A number for each square matrix."""
    return Shape(squares(env, input, "input")[0], dtype=input.dtype)


@rule("linalg.slogdet")
def linalg_slogdet(env: ShapeEnv, A: Shape) -> tuple[Shape, Shape]:
    """A sign and a logarithm for each square matrix."""
    batch, _ = squares(env, A)
    return Shape(batch, dtype=A.dtype), Shape(batch, dtype=real(A.dtype))


@rule("slogdet")
def slogdet(env: ShapeEnv, input: Shape) -> object:
    """A sign and a logarithm for each square matrix."""
    return linalg_slogdet(env, input)


@rule("linalg.eigh")
def eigh(env: ShapeEnv, A: Shape, UPLO: str = "L") -> tuple[Shape, Shape]:
    """As many values as each square matrix has rows, and a vector for each."""
    return eigvalsh_sizes(env, A, UPLO), Shape(A, dtype=A.dtype)


@rule("linalg.eigvalsh")
def eigvalsh(env: ShapeEnv, A: Shape, UPLO: str = "L") -> Shape:
    """As many values as each square matrix has rows."""
    return eigvalsh_sizes(env, A, UPLO)


def eigvalsh_sizes(env: ShapeEnv, a: Shape, triangle: str) -> Shape:
    """As many real values as each square matrix has rows; one of its triangles is read."""
    batch, side = squares(env, a)
    if triangle.upper() not in ("L", "U"):
        raise ShapeError(f"UPLO={triangle!r}: expected 'L' or 'U'")
    return Shape((*batch, side), dtype=real(a.dtype))


@rule("linalg.eig")
def eig(env: ShapeEnv, A: Shape) -> tuple[Shape, Shape]:
    """As many complex values as each square matrix has rows, and a vector for each."""
    batch, side = squares(env, A)
    dtype = None if A.dtype is None else COMPLEX_OF.get(A.dtype, A.dtype)
    return Shape((*batch, side), dtype=dtype), Shape(A, dtype=dtype)


@rule("linalg.eigvals")
def eigvals(env: ShapeEnv, A: Shape) -> Shape:
    """As many complex values as each square matrix has rows."""
    batch, side = squares(env, A)
    return Shape((*batch, side), dtype=None if A.dtype is None else COMPLEX_OF.get(A.dtype, A.dtype))


@rule("linalg.ldl_factor")
def ldl_factor(env: ShapeEnv, A: Shape, *, hermitian: bool = False) -> tuple[Shape, Shape]:
    """As the input, square matrices, and a pivot for each row."""
    batch, side = squares(env, A)
    return Shape(A, dtype=A.dtype), Shape((*batch, side), dtype="int32")


@rule("linalg.ldl_factor_ex", schema="A, *, hermitian=False, check_errors=False")
def ldl_factor_ex(env: ShapeEnv, A: Shape) -> tuple[Shape, Shape, Shape]:
    """As the input, square matrices, a pivot for each row, and a number for each matrix."""
    batch, side = squares(env, A)
    return Shape(A, dtype=A.dtype), Shape((*batch, side), dtype="int32"), _info(A)


# ------------------------------------------------------------------ any matrices


@rule("linalg.lu_factor")
def lu_factor(env: ShapeEnv, A: Shape, *, pivot: bool = True) -> tuple[Shape, Shape]:
    """As the input, and a pivot for each row or column, whichever there are fewer of."""
    batch, rows, columns = matrices(A)
    return Shape(A, dtype=A.dtype), Shape((*batch, sym_min(rows, columns)), dtype="int32")


@rule("linalg.lu_factor_ex", schema="A, *, pivot=True, check_errors=False")
def lu_factor_ex(env: ShapeEnv, A: Shape) -> tuple[Shape, Shape, Shape]:
    """As the input, a pivot for each row or column, whichever there are fewer of, and a number for each matrix."""
    batch, rows, columns = matrices(A)
    return Shape(A, dtype=A.dtype), Shape((*batch, sym_min(rows, columns)), dtype="int32"), _info(A)


@rule("linalg.lu")
def lu(env: ShapeEnv, A: Shape, *, pivot: bool = True) -> tuple[Shape, Shape, Shape]:
    """(..., m, m), (..., m, k) and (..., k, n), where k is the smaller side."""
    batch, rows, columns = matrices(A)
    inner = sym_min(rows, columns)
    permutation = Shape((*batch, rows, rows), dtype=A.dtype) if pivot else EMPTY
    return permutation, Shape((*batch, rows, inner), dtype=A.dtype), Shape((*batch, inner, columns), dtype=A.dtype)


@rule("linalg.qr")
def linalg_qr(env: ShapeEnv, A: Shape, mode: str = "reduced") -> tuple[Shape, Shape]:
    """(..., m, k) and (..., k, n), where k is the smaller side, or m for all columns of the first."""
    batch, rows, columns = matrices(A)
    expect_one_of(mode, ("reduced", "complete", "r"), "mode")
    inner = rows if mode == "complete" else sym_min(rows, columns)
    first = EMPTY if mode == "r" else Shape((*batch, rows, inner), dtype=A.dtype)
    return first, Shape((*batch, inner, columns), dtype=A.dtype)


@rule("qr")
def qr(env: ShapeEnv, input: Shape, some: bool = True) -> object:
    """(..., m, k) and (..., k, n), where k is the smaller side, or m for all columns of the first."""
    return linalg_qr(env, input, "reduced" if some else "complete")


@rule("geqrf")
def geqrf(env: ShapeEnv, input: Shape) -> tuple[Shape, Shape]:
    """As the input, and a factor for each row or column, whichever there are fewer of."""
    batch, rows, columns = matrices(input, "input")
    return Shape(input, dtype=input.dtype), Shape((*batch, sym_min(rows, columns)), dtype=input.dtype)


@rule("linalg.svd", schema="A, full_matrices=True, *, driver=None")
def linalg_svd(env: ShapeEnv, A: Shape, full_matrices: bool) -> tuple[Shape, Shape, Shape]:
    """(..., m, m), as many values as the smaller side, and (..., n, n); or no more of both than there are values."""
    batch, rows, columns = matrices(A)
    inner = sym_min(rows, columns)
    left, right = (rows, columns) if full_matrices else (inner, inner)
    return (
        Shape((*batch, rows, left), dtype=A.dtype),
        Shape((*batch, inner), dtype=real(A.dtype)),
        Shape((*batch, right, columns), dtype=A.dtype),
    )


@rule("svd")
def svd(env: ShapeEnv, input: Shape, some: bool = True, compute_uv: bool = True) -> tuple[Shape, Shape, Shape]:
    """(..., m, k), as many values as the smaller side, k, and (..., n, k); or all of both."""
    batch, rows, columns = matrices(input, "input")
    inner = sym_min(rows, columns)
    left, right = (inner, inner) if some and compute_uv else (rows, columns)
    return (
        Shape((*batch, rows, left), dtype=input.dtype),
        Shape((*batch, inner), dtype=real(input.dtype)),
        Shape((*batch, columns, right), dtype=input.dtype),
    )


@rule("linalg.svdvals")
def svdvals(env: ShapeEnv, A: Shape, *, driver: str | None = None) -> Shape:
    """As many values as the smaller side."""
    batch, rows, columns = matrices(A)
    return Shape((*batch, sym_min(rows, columns)), dtype=real(A.dtype))


@rule("linalg.pinv", schema="A, rcond=None, hermitian=False, *, atol=None, rtol=None")
def linalg_pinv(env: ShapeEnv, A: Shape, hermitian: bool) -> Shape:
    """Rows and columns change places."""
    batch, rows, columns = matrices(A)
    if hermitian:
        _square_unless_empty(env, A)
    return Shape((*batch, columns, rows), dtype=A.dtype)


@rule("pinverse")
def pinverse(env: ShapeEnv, input: Shape, rcond: float = 1e-15) -> object:
    """Rows and columns change places."""
    return linalg_pinv(env, input, rcond)


@rule("linalg.matrix_rank", schema="A, tol=None, hermitian=False, *, atol=None, rtol=None")
def matrix_rank(env: ShapeEnv, A: Shape, hermitian: bool) -> Shape:
    """A number for each matrix."""
    batch, _, _ = matrices(A)
    if hermitian:
        _square_unless_empty(env, A)
    return Shape(batch, dtype="int64")


@rule("linalg.householder_product")
def householder_product(env: ShapeEnv, A: Shape, tau: Shape) -> Shape:
    """As the input, which has at least as many rows as columns and these as there are factors."""
    return _product_of_reflections(env, A, tau, "A")


@rule("orgqr")
def orgqr(env: ShapeEnv, input: Shape, tau: Shape) -> Shape:
    """As the input, which has at least as many rows as columns and these as there are factors."""
    return _product_of_reflections(env, input, tau, "input")


def _product_of_reflections(env: ShapeEnv, a: Shape, tau: Shape, name: str) -> Shape:
    batch, rows, columns = matrices(a, name)
    env.require(rows >= columns, f"{name}: fewer rows than columns")
    expect_rank(tau, len(a) - 1, "tau")
    env.require(tau[-1] <= columns, f"tau: more factors than {name} has columns")
    agree_all(env, tau, batch, f"tau and {name} differ in an axis before the last")
    return Shape(a, dtype=a.dtype)


# ------------------------------------------------------------------ norms


@rule("linalg.matrix_norm", schema="A, ord='fro', dim=(-2, -1), keepdim=False, *, dtype=None")
def matrix_norm(env: ShapeEnv, A: Shape, ord: Order, dim: Sequence[int], keepdim: bool) -> Shape:
    """A number for each matrix, whose axes are given."""
    matrices(A)
    if len(dim) != 2:
        raise ShapeError(f"dim={dim}: expected 2 axes")
    rows, columns = axis_of(dim[0], len(A)), axis_of(dim[1], len(A))
    if rows == columns:
        raise ShapeError(f"dim={dim}: an axis appears twice")
    expect_one_of(ord, ORDERS, "ord")
    if isinstance(ord, int | float) and ord < 0:
        # the least of nothing: of singular values, of columns, of rows
        needed = sym_min(A[rows], A[columns]) if ord == -2 else A[columns if ord == -1 else rows]
        env.require(needed > 0, "the matrices are empty")
    if not keepdim:
        return Shape(without(A, (rows, columns)), dtype=real(A.dtype))
    return Shape(replaced(replaced(A, rows, 1), columns, 1), dtype=real(A.dtype))


@rule("linalg.cond")
def cond(env: ShapeEnv, A: Shape, p: Order = None) -> Shape:
    """A number for each matrix, which has to be square for norms that are not of singular values."""
    batch, _, _ = matrices(A)
    expect_one_of(p, (None, *ORDERS), "p")
    if isinstance(p, str):
        squares(env, A)
    elif p is not None and abs(p) != 2:
        _square_unless_empty(env, A)
    return Shape(batch, dtype=real(A.dtype))
