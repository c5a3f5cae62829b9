"""Calls that solve systems of linear equations."""

from __future__ import annotations

from math import prod

from hypothesis import strategies as st

from shapes.testing.arguments import calls_of
from shapes.testing.arguments.linalg import unit
from shapes.testing.arguments.mistakes import SIZE, narrowed, seldom, sizes, slipped
from shapes.testing.calls import Call, Input


@calls_of("linalg.solve", "linalg.solve_ex", "linalg.solve_triangular", "triangular_solve", "cholesky_solve")
def solve(draw: st.DrawFn, name: str) -> Call:
    batch, side, right = draw(sizes(0, 2)), draw(SIZE), draw(SIZE)
    left = "linalg" not in name or draw(st.booleans())
    one, other = narrowed(draw, batch), narrowed(draw, batch)
    b = (*other, side, right) if left else (*other, right, side)
    if name.startswith("linalg.solve") and left and draw(st.booleans()):
        b = (*one, side)
    kwargs: dict[str, object] = {"upper": draw(st.booleans())} if "triangular" in name else {}
    if "linalg" in name:
        kwargs["left"] = left
    tensors = unit(slipped(draw, (*one, side, side))), Input(slipped(draw, b))
    return Call(tensors if "linalg" in name else tensors[::-1], kwargs)


@calls_of("linalg.lu_solve", "lu_solve")
def lu_solve(draw: st.DrawFn, name: str) -> Call:
    batch, side, right = draw(sizes(0, 2)), draw(SIZE), draw(SIZE)
    one, other = narrowed(draw, batch), narrowed(draw, batch)
    factors = unit(slipped(draw, (*one, side, side)))
    pivots = Input(slipped(draw, (*one, side)), dtype="int32", low=1, high=2)
    if name == "lu_solve":
        return Call((Input(slipped(draw, (*other, side, right))), factors, pivots))
    left = draw(st.booleans())
    b = Input(slipped(draw, (*other, side, right) if left else (*other, right, side)))
    return Call((factors, pivots, b), {"left": left, "adjoint": draw(st.booleans())})


@calls_of("linalg.lstsq")
def lstsq(draw: st.DrawFn, name: str) -> Call:
    batch, rows, columns, right = draw(sizes(0, 1)), draw(SIZE), draw(SIZE), draw(SIZE)
    driver = draw(st.sampled_from([None, "gelsy", "gels", "gelsd", "gelss", "gesv"]))
    if draw(st.booleans()):
        return Call((Input((*batch, rows, columns)), Input((*batch, rows))), {"driver": driver})
    if driver in ("gelsd", "gelss"):
        right = max(right, 1)  # without a column, LAPACK reports an error
    b: tuple[int, ...] = (*[1 if seldom(draw) else size for size in batch], rows + seldom(draw), right)
    if seldom(draw):
        b = draw(st.sampled_from([(), (1, *b), b[:1] if batch else ()]))
    return Call((Input((*batch, rows, columns)), Input(b)), {"driver": driver})


@calls_of("linalg.tensorinv")
def tensorinv(draw: st.DrawFn, name: str) -> Call:
    first, second = draw(SIZE), draw(SIZE)
    ind = draw(st.sampled_from([1, 2, 2, 1, 0, 3, 4]))
    shape = slipped(draw, (first, second, first * second) if ind == 2 else (first * second, first, second))
    values = None
    if ind in (1, 2) and len(shape) == 3:
        values = unit((first * second, first * second)).values if shape[0] == first or ind == 1 else None
    return Call((Input(shape, values=values if values and len(values) == prod(shape) else None),), {"ind": ind})


@calls_of("linalg.tensorsolve")
def tensorsolve(draw: st.DrawFn, name: str) -> Call:
    first, second = draw(SIZE), draw(SIZE)
    product = first * second
    a: tuple[int, ...]
    b: tuple[int, ...]
    dims: tuple[int, ...] | None
    match draw(st.integers(0, 2)):
        case 0:
            a, b, dims = (first, second, product), (first, second), None
        case 1:
            a, b, dims = (product, first, second), (product,), None
        case _:
            a, b, dims = (first, product, second), (product,), (0, draw(st.sampled_from([-1, 2, 1, 0])))
    if seldom(draw):
        a, b = (1,) * len(b), (1,) * len(b)
    return Call((Input(slipped(draw, a)), Input(slipped(draw, b))), {} if dims is None else {"dims": dims})
