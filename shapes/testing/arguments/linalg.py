"""Calls of functions of matrices."""

from __future__ import annotations

from math import prod

from hypothesis import strategies as st

from shapes.testing.arguments import arguments_of, calls_of
from shapes.testing.arguments.mistakes import SIZE, chosen, seldom, sizes, slipped
from shapes.testing.calls import Call, Input

OPTIONS: dict[str, list[dict[str, object]]] = {
    "linalg.cholesky": [{"upper": True}],
    "cholesky": [{"upper": True}],
    "linalg.matrix_power": [{"n": 2}, {"n": 0}, {"n": -1}],
    "matrix_power": [{"n": 2}, {"n": 0}, {"n": -1}],
    "linalg.eigh": [{"UPLO": "u"}, {"UPLO": "L"}, {"UPLO": "x"}],
    "linalg.eigvalsh": [{"UPLO": "U"}, {"UPLO": "x"}],
    "linalg.ldl_factor": [{"hermitian": True}],
    "linalg.qr": [{"mode": "complete"}, {"mode": "r"}, {"mode": "full"}],
    "qr": [{"some": False}],
    "linalg.svd": [{"full_matrices": False}],
    "svd": [{"some": False}, {"compute_uv": False}],
    "linalg.pinv": [{"hermitian": True}, {"rtol": 0.1}],
    "linalg.matrix_rank": [{"hermitian": True}, {"tol": 0.1}],
}


def unit(shape: tuple[int, ...]) -> Input:
    """Matrices that have an inverse, a Cholesky factor and real eigenvalues."""
    if len(shape) < 2 or shape[-1] != shape[-2] or 0 in shape:
        return Input(shape)
    side = shape[-1]
    return Input(shape, values=[row == column for row in range(side) for column in range(side)] * prod(shape[:-2]))


def _has_factors(call: Call) -> bool:
    """Return True if matrices are positive definite, where there are any, so that only sizes refuse them."""
    tensor = next(call.inputs())
    return tensor.values is not None or 0 in tensor or tensor[-1:] != tensor[-2:-1]


@arguments_of("linalg.cholesky", "cholesky", only=_has_factors)
@calls_of(
    "linalg.cholesky_ex", "cholesky_inverse", "linalg.inv", "inverse", "linalg.inv_ex",
    "linalg.matrix_exp", "matrix_exp", "linalg.matrix_power", "matrix_power", "linalg.det", "det", "logdet",
    "linalg.slogdet", "slogdet", "linalg.eigh", "linalg.eigvalsh", "linalg.eig", "linalg.eigvals", "linalg.ldl_factor",
    "linalg.ldl_factor_ex",
)  # fmt: skip
def square(draw: st.DrawFn, name: str) -> Call:
    side = draw(SIZE)
    options = OPTIONS.get(name, [{}])
    kwargs = draw(st.sampled_from(options if name.endswith("power") else [{}, *options]))
    return Call((unit(slipped(draw, (*draw(sizes(0, 2)), side, side))),), kwargs)


@calls_of(
    "linalg.lu_factor", "linalg.lu_factor_ex", "linalg.lu", "linalg.qr", "qr", "geqrf", "linalg.svd", "svd",
    "linalg.svdvals", "linalg.pinv", "pinverse", "linalg.matrix_rank",
)  # fmt: skip
def any_matrix(draw: st.DrawFn, name: str) -> Call:
    kwargs = draw(st.sampled_from([{}, *OPTIONS.get(name, [])]))
    side = draw(SIZE)
    tensor = (side, side) if kwargs.get("hermitian") and not seldom(draw) else draw(sizes(2, 4))
    return Call((unit(slipped(draw, tensor)),), kwargs)


@calls_of("linalg.householder_product", "orgqr")
def reflections(draw: st.DrawFn, name: str) -> Call:
    batch, rows, columns = draw(sizes(0, 1)), draw(SIZE), draw(SIZE)
    rows, columns = (columns, rows) if rows < columns and not seldom(draw) else (rows, columns)
    factors = draw(st.integers(0, columns))
    return Call((Input(slipped(draw, (*batch, rows, columns))), Input(slipped(draw, (*batch, factors)))))


ORDER = st.sampled_from(["fro", "nuc", 1, -1, 2, -2, float("inf"), float("-inf"), 3, "x"])


@calls_of("linalg.matrix_norm")
def matrix_norm(draw: st.DrawFn, name: str) -> Call:
    kwargs = chosen(draw, keepdim=st.just(True))
    kwargs |= chosen(draw, dim=st.tuples(st.integers(-4, 3), st.integers(-4, 3)))
    return Call((Input(slipped(draw, draw(sizes(2, 4)))), draw(ORDER)), kwargs)


@calls_of("linalg.cond")
def cond(draw: st.DrawFn, name: str) -> Call:
    side = draw(SIZE)
    shape = (*draw(sizes(0, 1)), side, side) if draw(st.booleans()) else draw(sizes(2, 3))
    return Call((unit(slipped(draw, shape)), draw(st.one_of(st.none(), ORDER))))
