"""Calls of operators that run along an axis."""

from __future__ import annotations

from hypothesis import strategies as st

from shapes.rules.axes import replaced
from shapes.testing.arguments import calls_of, calls_of_tensor
from shapes.testing.arguments.mistakes import (
    ANY,
    SIZE,
    WRONG,
    narrowed,
    optional,
    seldom,
    sizes,
    slipped,
    some_axis,
    with_axes,
)
from shapes.testing.calls import Call, Input


def _looks_at_dim(call: Call) -> bool:
    """Torch does not where there are no elements."""
    one, dim = call.args
    assert isinstance(one, Input)
    return len(one) > 0 and 0 not in one or dim in (0, -1)


calls_of_tensor(ANY, "cumsum", "cumprod", "logcumsumexp", then=(some_axis,))
calls_of_tensor(ANY, "cummax", "cummin", then=(some_axis,), only=_looks_at_dim)


@calls_of("diff")
def diff(draw: st.DrawFn, name: str) -> Call:
    one = draw(sizes(0, 3))
    kwargs = optional(draw, n=draw(st.integers(-1, 4)))
    axis = len(one) - 1
    if len(one) > 0 and draw(st.booleans()):
        axis = draw(st.integers(0, len(one) - 1))
        kwargs["dim"] = axis
    elif draw(WRONG):
        kwargs["dim"] = some_axis(draw, len(one))
    for end in ("prepend", "append"):
        if len(one) > 0 and draw(st.booleans()):
            kwargs[end] = Input(slipped(draw, replaced(one, axis, draw(SIZE))))  # type: ignore[arg-type]
    return Call((Input(one),), kwargs)


def _counts_samples(call: Call) -> bool:
    """Without samples x does not count, so that there is no shape for all sizes of y."""
    y, *x = call.inputs()
    return 0 not in y or not x or len(x[0]) <= len(y)


@calls_of("trapezoid", "trapz", "cumulative_trapezoid", only=_counts_samples)
def trapezoid(draw: st.DrawFn, name: str) -> Call:
    y = draw(with_axes(3))
    dim = some_axis(draw, len(y))
    kwargs: dict[str, object] = {} if dim in (-1, len(y) - 1) else {"dim": dim}
    if seldom(draw):
        return Call((Input(y),), {**kwargs, **optional(draw, dx=0.5)})
    x: tuple[int, ...] = slipped(draw, narrowed(draw, y))
    if y and -len(y) <= dim < len(y) and draw(st.booleans()):
        x = slipped(draw, (y[dim],))
    return Call((Input(y), Input(x)), kwargs)


def _spaces_axes(call: Call) -> bool:
    """An axis of 3 takes another number of points, to which torch makes its result fit."""
    one, *points = call.inputs()
    axes = len(one) > 0 or "dim" in call.kwargs  # the rule's answer for none of either looks like one without axes
    return axes and not (3 in one and any(tuple(each) in ((2,), (4,)) for each in points))


@calls_of("gradient", only=_spaces_axes)
def gradient(draw: st.DrawFn, name: str) -> Call:
    one = tuple([size + 1 for size in draw(sizes(1, 3))])
    axes = draw(st.lists(st.integers(0, len(one) - 1), min_size=1, max_size=len(one), unique=not seldom(draw)))
    kwargs = optional(draw, edge_order=draw(st.sampled_from([1, 2, 2, 3])))
    if draw(st.booleans()):
        kwargs["dim"] = axes[0] if len(axes) == 1 else axes
    else:
        axes = list(range(len(one)))
    points = [Input((one[axis],)) for axis in axes]
    if draw(st.integers(0, 3)) == 0:
        points[0] = Input((one[axes[0]] + draw(st.sampled_from((1, -1))),)) if one[axes[0]] > 4 else Input((1, 2))
    spacing = draw(st.sampled_from([2.0, [0.5] * len(axes), points, points, [1.0] * (len(axes) + 1)]))
    return Call((Input(one),), {**kwargs, **optional(draw, spacing=spacing)})
