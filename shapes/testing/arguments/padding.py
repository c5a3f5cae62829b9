"""Calls of padding.

>>> from hypothesis import find
>>> from shapes.testing.arguments import arguments_for
>>> find(arguments_for("pad"), lambda call: call.kwargs.get("mode") == "circular").kwargs["mode"]
'circular'
"""

from __future__ import annotations

from itertools import accumulate, pairwise

from hypothesis import strategies as st

from shapes.testing.arguments import arguments_of, calls_of
from shapes.testing.arguments.mistakes import chosen
from shapes.testing.arguments.windows import Draw, mostly, seldom, spoiled
from shapes.testing.calls import Call, Input


@st.composite
def pads_of(draw: Draw, size: int, most: int, *, least: int) -> tuple[int, int]:
    """A pad before and one after an axis; the crop among them is at most what is there, and one more if `least`."""
    before = draw(st.integers(-1, most)) if draw(st.booleans()) else draw(st.integers(0, 2))
    after = draw(st.integers(-2, most)) if draw(st.booleans()) else draw(st.integers(0, 2))
    kept = size + min(before, 0) + min(after, 0)
    return (before, after) if kept >= least else (0, after if size + after >= least else 0)


def _within(call: Call) -> bool:
    """Nothing is cropped that is not there, and what is repeated around is left of it: torch reads outside else."""
    x, pads = call.args[:2]
    assert isinstance(x, Input) and isinstance(pads, tuple)
    for size, before, after in zip(reversed(x), pads[::2], pads[1::2]):
        kept = int(size) + min(before, 0) + min(after, 0)
        if kept < 0 or (call.kwargs.get("mode") == "circular" and kept < size and max(before, after) > kept):
            return False
    return True


def _padded_within(call: Call) -> bool:
    return call.kwargs.get("mode", "constant") == "constant" or isinstance(call.args[1], int) or _within(call)


@arguments_of("pad", only=_padded_within)
def padded(name: str) -> st.SearchStrategy[Call]:
    """Any mode."""
    return st.one_of(_constant("pad"), _repeated())


@st.composite
def _constant(draw: Draw, name: str) -> Call:
    sizes = draw(st.lists(st.integers(0, 4), max_size=4))
    axes = draw(st.integers(0, len(sizes)))
    pads: list[int] = []
    for size in list(reversed(sizes))[:axes]:
        pads += draw(pads_of(size, 3, least=-1))
    if draw(seldom(12)):
        pads += draw(st.lists(st.integers(0, 1), min_size=1, max_size=4))
    kwargs = chosen(draw, value=st.sampled_from((0, 1.5, -1)))
    if name == "pad" and draw(st.booleans()):
        kwargs["mode"] = draw(st.sampled_from(("constant", "constant", "mirror")))
    return Call((Input(sizes), 1 if draw(seldom(30)) else tuple(pads)), kwargs)


arguments_of("constant_pad_nd")(_constant)


@st.composite
def _image(draw: Draw, axes: int, mode: str) -> tuple[Input, tuple[int, ...]]:
    """An image with or without a batch, and pads."""
    batch = draw(st.sampled_from(((), (0,), (1,), (2,))))
    channels = draw(st.sampled_from((1, 2) * 5 + (0,)))
    sizes = [draw(st.sampled_from((1, 2, 3, 4, 5) * 4 + (0,))) for _ in range(axes)]
    pads: list[int] = []
    for size in reversed(sizes):
        # torch reads outside of the input where more is cropped than there is
        pads += draw(pads_of(size, max(size - (mode == "reflect"), 0) + draw(seldom(4)), least=0))
    return Input(draw(spoiled((*batch, channels, *sizes), 20))), tuple(pads)


@st.composite
def _repeated(draw: Draw) -> Call:
    mode = draw(st.sampled_from(("reflect", "replicate", "circular")))
    x, pads = draw(_image(draw(mostly((1, 2, 3), (4,), 8)), mode))
    kwargs: dict[str, object] = {"mode": mode}
    if draw(seldom(6)):
        kwargs["value"] = draw(st.sampled_from((None, 0, 0.0, 1.0)))
    if draw(seldom(20)):
        pads = draw(st.sampled_from((pads[:-1], pads[:-2], (*pads, 0, 0))))
    return Call((x, pads), kwargs)


@calls_of(*[f"{kind}_pad{axes}d" for kind in ("reflection", "replication") for axes in (1, 2, 3)], only=_within)
def repeated(draw: Draw, name: str) -> Call:
    """Pads for a number of axes."""
    x, pads = draw(_image(int(name[-2]), "reflect" if name.startswith("reflection") else "replicate"))
    if draw(seldom(12)):
        pads = draw(st.sampled_from((pads[:-1], (*pads, 0), (*pads, 0, 0))))
    return Call((x, pads))


def _rows(draw: Draw) -> tuple[list[int], Input]:
    """The lengths of rows, and their offsets; sometimes none, not even the last."""
    lengths = draw(st.lists(st.integers(0, 3), max_size=4))
    places = [0, *accumulate(lengths)]
    shape: tuple[int, ...] = (len(places),)
    if draw(seldom(12)):
        shape, places = draw(st.sampled_from((((0,), []), ((1, len(places)), places))))
    return lengths, Input(shape, dtype="int64", values=places)


@calls_of("_jagged_to_padded_dense_forward")
def rows_to_pad(draw: Draw, name: str) -> Call:
    """Rows, and the length of each of them padded, which may be less than that of a row."""
    lengths, offsets = _rows(draw)
    features = draw(st.lists(st.integers(0, 3), max_size=2))
    values = Input(() if draw(seldom(12)) else (sum(lengths), *features))
    given = [offsets] * (1 + draw(seldom(12)))
    return Call((values, given, [draw(st.integers(-1, 4))] * len(given)), chosen(draw, padding_value=st.just(1.5)))


def _fits(call: Call) -> bool:
    """Offsets end where the result does, and no row is longer than it is padded: the operator reads that from them."""
    dense, offsets, total = call.args
    assert isinstance(dense, Input) and isinstance(offsets, list)
    places = [each.values for each in offsets if each.values]
    length = dense[1] if len(dense) > 1 else 0
    return all(each[-1] == total and all(b - a <= length for a, b in pairwise(each)) for each in places)


@calls_of("_padded_dense_to_jagged_forward", only=_fits)
def padded_rows(draw: Draw, name: str) -> Call:
    """Padded rows, some of them behind those that the offsets tell; never shorter than a row, which is no size."""
    lengths, offsets = _rows(draw)
    features = draw(st.lists(st.integers(0, 3), max_size=2))
    count = max(len(lengths) + draw(st.integers(-1, 1)), 0)
    length = max([*lengths, 1]) + draw(st.integers(0, 1))
    dense = Input((count,) if draw(seldom(12)) else (count, length, *features))
    return Call((dense, [offsets] * (1 + draw(seldom(12))), sum(lengths)))
