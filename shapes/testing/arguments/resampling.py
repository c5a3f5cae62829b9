"""Calls of operators that give an image another resolution.

>>> from hypothesis import find
>>> from shapes.testing.arguments import arguments_for
>>> find(arguments_for("interpolate"), lambda call: call.kwargs.get("mode") == "area").kwargs["mode"]
'area'
"""

from __future__ import annotations

from hypothesis import strategies as st

from shapes.rules.resampling import MODES
from shapes.testing.arguments import arguments_of, calls_of
from shapes.testing.arguments.mistakes import chosen
from shapes.testing.arguments.pooling import images
from shapes.testing.arguments.windows import Draw, mostly, once_or_each, seldom, spoiled
from shapes.testing.calls import Call, Input

FACTORS = (0.5, 1.0, 2.0, 1.5, 2 / 3, 0.7, 3.3, 2, 1.25, 1.0000001, 2.5, 1.1, 0.9, 1.9, 0.1, 1 / 3, -0.5, 0.0)


@calls_of("interpolate", "upsample", "upsample_nearest", "upsample_bilinear")
def resized(draw: Draw, name: str) -> Call:
    """A size or a factor, and a mode for the rank."""
    axes = draw(st.integers(1, 3)) if name != "upsample_bilinear" or draw(seldom()) else 2
    x = draw(images(axes, least=2 if not draw(seldom(8)) else 0))
    if len(x) == axes + 1 and not draw(seldom(20)):
        x = Input((2, *x))
    kwargs = chosen(draw, size=once_or_each(mostly((1, 2, 3, 4, 5, 7), (0,)), axes))
    if not kwargs or draw(seldom(40)):
        one = st.sampled_from(FACTORS)
        kwargs["scale_factor"] = draw(st.one_of(one, st.tuples(*[one] * axes), st.tuples(*[one] * axes)))
    if draw(seldom(50)):
        kwargs.popitem()
    if name in ("upsample_nearest", "upsample_bilinear"):
        return Call((x,), kwargs)
    fitting = [mode for mode, ranks in MODES.items() if axes + 2 in ranks]
    mode = draw(st.sampled_from(fitting if not draw(seldom(30)) else (*MODES, "cubic")))
    if mode != "nearest" or draw(st.booleans()):
        kwargs["mode"] = mode
    if draw(seldom(3)):
        kwargs["align_corners"] = draw(st.sampled_from((None, True, False)))
        if not draw(seldom(12)) and (mode == "area" or mode.startswith("nearest")):
            del kwargs["align_corners"]
    if name == "interpolate":
        if draw(seldom(3)) and ("size" not in kwargs or draw(seldom(20))):
            kwargs["recompute_scale_factor"] = draw(st.sampled_from((None, True, False)))
        if mode == "lanczos" or (mode[:2] == "bi" and draw(seldom(2))) or draw(seldom(30)):
            kwargs["antialias"] = not draw(seldom(6))
    return Call((x,), kwargs)


@calls_of("grid_sample")
def sampled(draw: Draw, name: str) -> Call:
    """An image and where to look."""
    axes = draw(st.integers(2, 3))
    batch, channels = draw(st.integers(0, 2)), draw(st.integers(0, 2))
    sizes = [draw(st.sampled_from((1, 2, 3) * 6 + (0,))) for _ in range(axes)]
    points = [draw(st.integers(0, 3)) for _ in range(axes)]
    kwargs = chosen(
        draw,
        mode=st.sampled_from(("bilinear", "nearest", "bicubic", "cubic", "nearest")),
        padding_mode=st.sampled_from(("zeros", "border", "reflection") * 3 + ("circular",)),
        align_corners=st.sampled_from((None, True, False)),
    )
    x, grid = draw(spoiled((batch, channels, *sizes))), draw(spoiled((batch, *points, axes)))
    return Call((Input(x), Input(grid)), kwargs)


@calls_of("affine_grid")
def transformed(draw: Draw, name: str) -> Call:
    """Matrices and the sizes of an image."""
    axes = draw(st.sampled_from((2, 2, 2, 3, 3, 3, 1)))
    batch = draw(st.integers(1, 3))
    size = (batch, *[draw(st.sampled_from((1, 2, 3) * 6 + (0, -1))) for _ in range(axes + 1)])
    theta = draw(spoiled((batch, axes, axes + 1), 4, largest=4)) if not draw(seldom()) else (batch, axes, axes + 1, 2)
    kwargs = chosen(draw, align_corners=st.sampled_from((None, True, False)))
    return Call((Input(theta), size), kwargs)


def _has_elements(call: Call) -> bool:
    return all(0 not in tensor for tensor in call.inputs())


# torch gives an image without elements back unchanged where pixels become channels, against its documentation
@arguments_of("pixel_unshuffle", only=_has_elements)
@calls_of("pixel_shuffle")
def shuffled(draw: Draw, name: str) -> Call:
    factor = draw(st.sampled_from((1, 2, 3, 2, 3, 2) * 2 + (0, -1)))
    batch = draw(st.lists(st.integers(0, 2), max_size=2))
    channels, height, width = [draw(st.sampled_from((1, 2, 1, 2, 0))) for _ in range(3)]
    sizes = (*batch, channels * factor**2, height, width)
    if name == "pixel_unshuffle":
        sizes = (*batch, channels, height * abs(factor), width * abs(factor))
    return Call((Input(draw(spoiled(sizes, 4))), factor))


@calls_of("channel_shuffle", "native_channel_shuffle")
def mixed(draw: Draw, name: str) -> Call:
    """Channels and groups of them."""
    groups = draw(st.sampled_from((1, 2, 3, 2, 3, 2) * 2 + (0, -1)))
    sizes = [draw(st.integers(0, 3)) for _ in range(draw(st.integers(1, 3)))]
    return Call(
        (Input(draw(spoiled((draw(st.integers(0, 2)), abs(groups) * draw(st.integers(0, 2)), *sizes), 4))), groups)
    )
