"""Calls of pooling.

>>> from hypothesis import find
>>> from shapes.testing.arguments import arguments_for
>>> find(arguments_for("max_pool1d"), lambda call: "ceil_mode" in call.kwargs).kwargs["ceil_mode"]
True
"""

from __future__ import annotations

from hypothesis import strategies as st

from shapes.testing.arguments import calls_of
from shapes.testing.arguments.mistakes import chosen
from shapes.testing.arguments.windows import Draw, each, mostly, once_or_each, seldom, spoiled
from shapes.testing.calls import Call, Input

LARGEST = {1: 8, 2: 6, 3: 5}
"""The largest size by the number of axes."""


@st.composite
def images(draw: Draw, axes: int, *, least: int = 1) -> Input:
    """Batch, channels and sizes, with or without the batch."""
    most = LARGEST[axes]
    sizes = [draw(mostly((most - 2, most - 1, most), tuple(range(least, most - 2)), 5)) for _ in range(axes)]
    batch = draw(st.sampled_from(((), (0,), (1,), (2,), (2,))))
    channels = draw(mostly((1, 2), (0,), 20))
    return Input(sizes if draw(seldom(30)) else draw(spoiled((*batch, channels, *sizes), 16)))


@calls_of(
    *[f"max_pool{axes}d{ending}" for axes in (1, 2, 3) for ending in ("", "_with_indices")],
    *[f"avg_pool{axes}d" for axes in (1, 2, 3)],
)
def sliding(draw: Draw, name: str) -> Call:
    """A kernel with all of its options."""
    axes = int(name[8])
    largest = name.startswith("max")
    kernel = draw(once_or_each(mostly((1, 2, 3, 2), (0, 4)), axes))
    most = min(each(kernel, axes)) // 2
    pads = (*list(range(most + 1)) * 5, *range(-1, most + 2))
    kwargs = chosen(
        draw,
        stride=_strides(axes, (0, -1)),
        padding=once_or_each(st.sampled_from(pads), axes),
        ceil_mode=st.sampled_from((True, True, False)),
    )
    if largest:
        kwargs |= chosen(draw, dilation=once_or_each(mostly((1, 2, 3), (0,)), axes), return_indices=st.booleans())
    else:
        kwargs |= chosen(draw, count_include_pad=st.booleans())
        if axes > 1 and draw(seldom(4)):
            kwargs["divisor_override"] = draw(st.sampled_from((1, 3, -1, None, 0)))
    return Call((draw(images(axes)), kernel), kwargs)


def _strides(axes: int, wrong: tuple[int, ...]) -> st.SearchStrategy[object]:
    steps = once_or_each(mostly((1, 2, 3, 4), wrong), axes)
    return st.one_of(steps, steps, st.sampled_from((None, ())))


@calls_of("lp_pool1d", "lp_pool2d", "lp_pool3d")
def powers(draw: Draw, name: str) -> Call:
    """A norm and a kernel."""
    axes = int(name[7])
    norm = draw(st.sampled_from((1, 2, 3.5, -2.0, float("inf"), float("-inf"))))
    kernel = draw(once_or_each(mostly((1, 2, 3), (4, 5), 10), axes))
    kwargs = chosen(draw, stride=_strides(axes, (0,)), ceil_mode=st.booleans())
    return Call((draw(images(axes)), norm, kernel), kwargs)


@calls_of(
    *[f"adaptive_avg_pool{axes}d" for axes in (1, 2, 3)],
    *[f"adaptive_max_pool{axes}d{ending}" for axes in (1, 2, 3) for ending in ("", "_with_indices")],
)
def dividing(draw: Draw, name: str) -> Call:
    """An output size, parts of which may be None."""
    axes = int(name[17])
    numbers = mostly((0, 1, 2, 3, 4, 7), (-1,))
    parts = st.tuples(*[st.one_of(numbers, st.none())] * axes)
    size = draw(st.one_of(once_or_each(numbers, axes), parts))
    return Call((draw(images(axes)), size), chosen(draw, return_indices=st.booleans()) if "max" in name else {})


@calls_of(
    *[f"fractional_max_pool{axes}d{ending}" for axes in (2, 3) for ending in ("", "_with_indices")],
)
def at_random(draw: Draw, name: str) -> Call:
    """A kernel and an output size, or a share of the input's."""
    axes = int(name[19])
    x = draw(images(axes, least=2))
    kernel = draw(once_or_each(mostly((1, 2), (3,), 10), axes))
    kwargs: dict[str, object] = {}
    sizes = once_or_each(mostly((0, 1, 2, 3), (-1, 4)), axes)
    ratios = st.tuples(*[st.sampled_from((0.5, 0.3, 0.25, 0.4, 0.55, 0.1, 2 / 3, -0.5))] * axes)
    kwargs |= chosen(draw, output_size=sizes)
    if not kwargs or draw(seldom()):
        kwargs["output_ratio"] = draw(st.one_of(*[ratios] * 8, st.just(0.5), st.just((0.5,) * (axes + 1))))
    if draw(seldom(20)):
        kwargs = {}
    kwargs |= chosen(draw, return_indices=st.booleans())
    if draw(seldom(3)) and len(x) > axes:
        batch = draw(st.integers(0, 2)) if draw(seldom(4)) else 1 if len(x) == axes + 1 else x[0]
        assert isinstance(batch, int)
        channels = x[-axes - 1]
        assert isinstance(channels, int)
        dtype = "float64" if draw(seldom(12)) else "float32"
        x = Input(x, dtype="float32")
        kwargs["_random_samples"] = Input(draw(spoiled((batch, channels, axes), 5)), dtype=dtype)
    return Call((x, kernel), kwargs)


@calls_of("max_unpool1d", "max_unpool2d", "max_unpool3d", as_written=True)
def undoing(draw: Draw, name: str) -> Call:
    """Values and indices, which point to the first element here."""
    axes = int(name[10])
    x = draw(images(axes))
    indices = draw(spoiled(tuple([size for size in x if isinstance(size, int)])))
    dtype = "int32" if draw(seldom(20)) else "int64"
    kernel = draw(once_or_each(st.sampled_from((1, 2, 3)), axes))
    kernels = each(kernel, axes)
    kwargs: dict[str, object] = {}
    strides, paddings = kernels, (0,) * axes
    if draw(st.booleans()):
        step = draw(once_or_each(mostly((1, 2, 3), (0,)), axes))
        strides = each(step, axes)
        kwargs["stride"] = step if isinstance(step, int) else strides
    if draw(st.booleans()):
        pad = draw(once_or_each(st.sampled_from((0, 0, 1)), axes))
        paddings = each(pad, axes)
        kwargs["padding"] = pad if isinstance(pad, int) else paddings
    if draw(st.booleans()) and len(x) > axes:
        wanted = []
        for size, width, step, pad in zip(x[-axes:], kernels, strides, paddings, strict=True):
            assert isinstance(size, int)
            spare = draw(st.integers(1 - step, max(step - 1, 1 - step)))
            wanted.append((size - 1) * step + width - 2 * pad + (spare if not draw(seldom(20)) else step))
        ahead = draw(st.sampled_from(((), (), (), (), (2, 2), (2, 2), (2,))))
        kwargs["output_size"] = (*ahead, *wanted)
    return Call((x, Input(indices, dtype=dtype), kernel), kwargs)
