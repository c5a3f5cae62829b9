"""Arguments of operators that look numbers up in a table.

>>> from shapes.testing.arguments import arguments_for
>>> arguments_for("embedding").example()                # doctest: +SKIP
Call((Input((2, 3), dtype='int64'), Input((4, 2))))
"""

from __future__ import annotations

from hypothesis import assume
from hypothesis import strategies as st

from shapes.testing.arguments import calls_of
from shapes.testing.arguments.indexing import numbers, other_dtype
from shapes.testing.arguments.mistakes import SIZE, seldom, sizes, slipped
from shapes.testing.calls import Call, Input


def _padding(draw: st.DrawFn, rows: int) -> dict[str, object]:
    """A row for padding, sometimes."""
    if draw(st.integers(0, 4)) or not rows:
        return {}
    outside = draw(st.integers(0, 3)) == 0
    return {"padding_idx": draw(st.sampled_from((-rows - 1, rows)) if outside else st.integers(-rows, rows - 1))}


@calls_of("embedding")
def looking_up(draw: st.DrawFn, name: str) -> Call:
    """Numbers of any rank, and a table."""
    rows = draw(SIZE)
    named = _padding(draw, rows)
    if draw(st.integers(0, 3)) == 0:
        named["max_norm"] = 1.0
    shape = (rows, draw(SIZE)) if draw(st.integers(0, 15)) else (rows, 2, 1)
    table = Input(slipped(draw, shape), dtype="float32")
    return Call((numbers(draw, draw(sizes(0, 3))), table), named)


@calls_of("embedding_bag", as_written=True)
def bags(draw: st.DrawFn, name: str) -> Call:
    """Rows of numbers, or a list of them with offsets that are all 0.

    Left out is where torch reads or writes past its tensors: tables without columns, numbers without a bag and,
    together with `include_last_offset`, bags in rows.
    """
    named: dict[str, object] = {}
    rows, shape = draw(SIZE), draw(sizes(1, 2))
    if seldom(draw):
        shape = draw(sizes(0, 3))
    mode = draw(st.sampled_from(("sum", "sum", "mean", "max", None)))
    mode = "min" if seldom(draw) and draw(st.booleans()) else mode
    last = len(shape) == 1 and draw(st.integers(0, 2)) == 0
    if last:
        # whether an empty table is looked into depends on the last offset then
        named["include_last_offset"], rows = True, max(rows, 1)
    if (len(shape) < 2) is not seldom(draw):
        offsets = slipped(draw, (draw(st.sampled_from((2, 3, 2, 3, 2, 3, 0)) if last else SIZE),))
        if seldom(draw) and not last:
            rows, offsets = 0, (1,)
        assume(offsets != ((1,) if last else (0,)) or shape == (0,))
        values = [0] * (offsets[0] - 1) + [shape[0]] if last and len(offsets) == 1 and offsets[0] > 1 else None
        named["offsets"] = Input(offsets, dtype=draw(st.sampled_from(("int64", "int32"))), values=values)
    if mode is not None:
        named["mode"] = mode
    if mode == "sum" and draw(st.booleans()) or seldom(draw) and draw(st.booleans()):
        weights = draw(st.sampled_from((shape, (*shape, 1), tuple([size + 1 for size in shape]))))
        named["per_sample_weights"] = Input(weights, dtype=other_dtype(draw))
    if draw(st.integers(0, 2 if mode == "max" else 7)) == 0:
        named[draw(st.sampled_from(("sparse", "scale_grad_by_freq")))] = True
    table = Input(slipped(draw, (rows, draw(st.integers(1, 4)))), dtype="float32")
    assume(len(table) < 2 or table[1] != 0)
    return Call((numbers(draw, shape), table), {**named, **_padding(draw, rows)})


@calls_of("one_hot")
def classes(draw: st.DrawFn, name: str) -> Call:
    """Numbers that are all 0, and how many classes there are."""
    tensor = Input(draw(sizes(0, 3)), dtype="int32" if seldom(draw) else "int64")
    match draw(st.integers(0, 2)):
        case 0:
            return Call((tensor,))
        case 1:
            return Call((tensor, draw(st.integers(-2, 5))))
        case _:
            return Call((tensor,), {"num_classes": draw(st.integers(1, 5))})
