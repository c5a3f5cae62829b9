"""Calls of convolutions.

>>> from hypothesis import find
>>> from shapes.testing.arguments import arguments_for
>>> find(arguments_for("conv1d"), lambda call: call.kwargs.get("padding") == "same").kwargs["padding"]
'same'
"""

from __future__ import annotations

from hypothesis import strategies as st

from shapes.testing.arguments import calls_of
from shapes.testing.arguments.mistakes import chosen
from shapes.testing.arguments.windows import Draw, each, mostly, once_or_each, seldom, spoiled
from shapes.testing.calls import Call, Input

LARGEST = {1: 7, 2: 5, 3: 4}
"""The largest size by the number of axes."""


@calls_of("conv1d", "conv2d", "conv3d")
def convolutions(draw: Draw, name: str) -> Call:
    """A kernel over an input, in groups."""
    axes = int(name[-2])
    groups = draw(st.sampled_from((1, 1, 1, 2, 2, 3)))
    inside = draw(mostly((1, 2), (0,), 8))
    out = groups * draw(mostly((1, 2), (0,), 20))
    most = LARGEST[axes]
    sizes = [draw(mostly((2, 3, most - 1, most, most + 1), (0, 1), 8)) for _ in range(axes)]
    kernel = [draw(mostly((1, 2, 3, 2)[: 5 - axes], (0,), 20)) for _ in range(axes)]
    batch = draw(st.sampled_from(((), (0,), (1,), (2,), (2,))))
    x = draw(spoiled((*batch, inside * groups, *sizes), 16)) if not draw(seldom(30)) else tuple(sizes)
    weight = draw(spoiled((out, inside, *kernel), 16))
    pads = once_or_each(mostly((0, 1, 2, 3), (-1,), 20), axes)
    kwargs = chosen(
        draw,
        bias=st.one_of(*[spoiled((out,), 8)] * 14, st.just((out, 1))).map(Input),
        stride=once_or_each(mostly((1, 2, 3), (0,)), axes),
        # without channels, torch does not look at it
        dilation=once_or_each(mostly((1, 1, 2, 2, 3)[: 6 - axes], (0,), 15 if inside else 2), axes),
        padding=st.one_of(pads, pads, st.sampled_from(("same", "valid", "same"))),
    )
    if kwargs.get("padding") == "same" and draw(st.booleans()):
        kwargs.pop("stride", None)
    if groups != 1:
        kwargs["groups"] = groups
    if draw(seldom(30)):
        kwargs["groups"] = draw(st.integers(0, 3))
    return Call((Input(x), Input(weight)), kwargs)


def spread_sizes(call: Call, axes: int) -> list[int]:
    """The sizes of a transposed convolution, empty for a call that is none."""
    x, weight = call.inputs().__next__(), list(call.inputs())[1]
    if len(weight) != axes + 2 or axes < 1 or len(x) < axes:
        return []

    def option(name: str, default: int) -> tuple[int, ...]:
        value = call.kwargs.get(name, default)
        assert isinstance(value, int | tuple)
        return each(value, axes)

    parts = zip(
        x[-axes:], weight[2:], option("stride", 1), option("padding", 0), option("output_padding", 0),
        option("dilation", 1), strict=True,
    )  # fmt: skip
    return [
        (size - 1) * stride - 2 * padding + (kernel - 1) * dilation + 1 + extra
        for size, kernel, stride, padding, extra, dilation in parts
        if isinstance(size, int) and isinstance(kernel, int)
    ]


def _is_computed_alike(call: Call) -> bool:
    """Return True if acceptance does not depend on the library that computes it: of an axis of the output without
    elements, or of no dilation.
    """
    weight = list(call.inputs())[1]
    dilation = call.kwargs.get("dilation", 1)
    return (
        0 not in spread_sizes(call, len(weight) - 2)
        and dilation != 0
        and not (isinstance(dilation, tuple) and 0 in dilation)
    )


@calls_of("conv_transpose1d", "conv_transpose2d", "conv_transpose3d", only=_is_computed_alike)
def transposed_convolutions(draw: Draw, name: str) -> Call:
    """A kernel that spreads an input out, in groups."""
    axes = int(name[-2])
    groups = draw(st.sampled_from((1, 1, 1, 2, 2)))
    channels = groups * draw(st.integers(1, 2))
    inside = draw(mostly((1, 2), (0,), 20))
    sizes = [draw(mostly((1, 2, 3), (0,), 15)) for _ in range(axes)]
    kernel = [draw(st.integers(1, 3)) for _ in range(axes)]
    batch = draw(st.sampled_from(((), (0,), (1,), (2,), (2,))))
    x = draw(spoiled((*batch, channels, *sizes), 16))
    weight = draw(spoiled((channels, inside, *kernel), 16))
    stride = draw(once_or_each(mostly((1, 2, 3), (0,)), axes))
    dilation = draw(once_or_each(st.sampled_from((1, 1, 2, 3)), axes))
    padding = draw(once_or_each(mostly((0, 0, 0, 1), (-1, 2)), axes))
    most = max(min(each(stride, axes)), min(each(dilation, axes)))
    extra = draw(once_or_each(st.sampled_from((*list(range(most)) * 4, *range(-1, most + 1))), axes))
    kwargs: dict[str, object] = {"stride": stride, "padding": padding, "output_padding": extra, "dilation": dilation}
    for option in list(kwargs):
        if draw(st.booleans()):
            del kwargs[option]
    if draw(st.booleans()):
        kwargs["bias"] = Input(draw(spoiled((inside * groups,), 10)))
    if groups != 1:
        kwargs["groups"] = groups
    if draw(seldom(30)):
        kwargs["groups"] = draw(st.integers(0, 3))
    return Call((Input(x), Input(weight)), kwargs)


@calls_of("conv_tbc")
def convolutions_over_time(draw: Draw, name: str) -> Call:
    """Time first, the channels last."""
    time, batch, channels, out = [draw(st.integers(0, most)) for most in (5, 2, 2, 2)]
    kernel = draw(st.integers(0, 4))
    x = Input(draw(spoiled((time, batch, channels))))
    weight = Input(draw(spoiled((kernel, channels, out))))
    pad = draw(st.sampled_from(((), (0,), (1,), (1,), (2,), (-1,))))
    return Call((x, weight, Input(draw(spoiled((out + draw(seldom(6)),)))), *pad))
