"""Calls of normalizing layers, and of distances."""

from __future__ import annotations

from math import inf

from hypothesis import strategies as st

from shapes.testing.arguments import among, calls_of, calls_of_tensor
from shapes.testing.arguments.mistakes import (
    ANY,
    SIZE,
    WRONG,
    narrowed,
    optional,
    seldom,
    sizes,
    slipped,
    some_axes,
    some_axis,
)
from shapes.testing.arguments.pointwise import meeting
from shapes.testing.calls import Call, Input


@calls_of("softmax", "log_softmax", "softmin", "special.softmax", "special.log_softmax")
def softmax(draw: st.DrawFn, name: str) -> Call:
    one = draw(sizes(0, 4))
    dim = some_axis(draw, len(one))
    if not name.startswith("special") and seldom(draw):
        return Call((Input(one),))
    return Call((Input(one), dim))


calls_of_tensor(ANY, "gumbel_softmax", hard=among(True), dim=some_axis)


@calls_of("layer_norm", "native_layer_norm", "rms_norm")
def layer_norm(draw: st.DrawFn, name: str) -> Call:
    one = draw(sizes(0, 4))
    last = slipped(draw, one[draw(st.integers(0, len(one))) :])
    parameters = [Input(slipped(draw, last)) if draw(st.booleans()) else None for _ in range(2)]
    if name == "rms_norm":
        parameters.pop()
    elif name == "native_layer_norm":
        return Call((Input(one), list(last), *parameters, 1e-5))
    return Call((Input(one), list(last), *parameters))


def of_channels(draw: st.DrawFn, one: tuple[int, ...]) -> Input | None:
    """A vector with an element for each channel, or none."""
    channels = one[1] if len(one) > 1 else 2
    # torch does not compare it where the input has no elements, and takes it for empty where that has no channels
    if 0 in one or draw(st.booleans()):
        return None
    return Input((channels + 1 if seldom(draw) else channels,))


def _looks_at_statistics(call: Call) -> bool:
    """Without elements, torch does not look what is missing."""
    one, mean, variance = call.args
    assert isinstance(one, Input)
    fits = len(one) > 1 and (mean is None) is (variance is None) is call.kwargs["training"]
    return 0 not in one or fits and all(tuple(each) == one[1:2] for each in list(call.inputs())[1:])


@calls_of("batch_norm", only=_looks_at_statistics)
def batch_norm(draw: st.DrawFn, name: str) -> Call:
    one = (3,) if seldom(draw) else draw(sizes(2, 4))
    mean, variance, weight, bias = [of_channels(draw, one) for _ in range(4)]
    if 0 in one and len(one) > 1 and draw(st.booleans()):
        mean = Input((one[1],))
    training = draw(st.booleans()) if 0 not in one else mean is None
    if training is (mean is None):
        variance = None if mean is None else Input(mean)
    return Call((Input(one), mean, variance), {"weight": weight, "bias": bias, "training": training})


def _has_vectors(call: Call) -> bool:
    """For one channel torch takes statistics without axes, if it need not update them."""
    return all(len(tensor) > 0 for tensor in call.inputs())


@calls_of("instance_norm", only=_has_vectors)
def instance_norm(draw: st.DrawFn, name: str) -> Call:
    one = draw(sizes(2, 4))
    mean, weight, bias = [of_channels(draw, one) for _ in range(3)]
    variance = None if mean is None or seldom(draw) else Input(mean)
    return Call(
        (Input(one), mean, variance),
        {"weight": weight, "bias": bias, "use_input_stats": mean is None or draw(st.booleans())},
    )


@calls_of("group_norm")
def group_norm(draw: st.DrawFn, name: str) -> Call:
    one = draw(sizes(1 if seldom(draw) else 2, 4))
    groups = draw(st.sampled_from((1, 2, 3, 1, 2, 3, -1, 0)))
    if len(one) > 1 and groups > 0 and draw(st.booleans()):
        one = (one[0], one[1] * groups, *one[2:]) if not seldom(draw) else (1, groups, draw(SIZE), 1)
    weight, bias = [of_channels(draw, one) for _ in range(2)]
    return Call((Input(one), groups), {"weight": weight, "bias": bias})


calls_of_tensor(sizes(2, 5).map(Input), "local_response_norm", then=(among(2, 1, 3, 4, 0),))


calls_of_tensor(ANY, "normalize", p=among(1, 2, 0.5, inf, -1), dim=some_axes)


calls_of_tensor(sizes(1, 4).map(Input), "renorm", then=(among(1, 2, 2, 0), some_axis, among(1.0)))


@calls_of("cosine_similarity")
def cosine_similarity(draw: st.DrawFn, name: str) -> Call:
    one, other = meeting(draw, 2)
    dim = some_axis(draw, max(len(one), len(other)))
    return Call((Input(one), Input(other)), optional(draw, dim=dim))


@calls_of("pairwise_distance")
def pairwise_distance(draw: st.DrawFn, name: str) -> Call:
    one, other = meeting(draw, 2)
    order = draw(st.sampled_from([1, 2, inf, -1]))
    return Call((Input(one), Input(other)), optional(draw, p=order, keepdim=True))


@calls_of("cdist")
def cdist(draw: st.DrawFn, name: str) -> Call:
    batch, columns = draw(sizes(0, 2)), draw(SIZE)
    one, other = [
        slipped(draw, (*narrowed(draw, batch), draw(SIZE), columns + 1 if seldom(draw) else columns)) for _ in range(2)
    ]
    if seldom(draw):
        one, other = ((columns,), other) if draw(st.booleans()) else (one, (columns,))
    order = draw(st.sampled_from([0, 1, 2, 2.5, inf, -1]))
    mode = draw(st.sampled_from(["use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist", "mm"]))
    return Call((Input(one), Input(other)), {"p": order, **optional(draw, compute_mode=mode)})


@calls_of("pdist")
def pdist(draw: st.DrawFn, name: str) -> Call:
    one = draw(sizes(1, 3)) if draw(WRONG) else draw(sizes(2))
    return Call((Input(one),), optional(draw, p=draw(st.sampled_from([0, 1, 2, inf, -1]))))
