"""Calls of activations and dropout."""

from __future__ import annotations

from typing import Final

from hypothesis import strategies as st

from shapes.rules.pointwise import names
from shapes.testing.arguments import among, calls_of, calls_of_tensor
from shapes.testing.arguments.mistakes import ANY, optional, seldom, sizes, slipped, some_axis
from shapes.testing.calls import Call, Input

OPTIONS: Final[dict[str, dict[str, tuple[object, ...]]]] = {
    **{name: {"inplace": (True,)} for name in names("relu relu6 selu silu mish hardswish hardsigmoid")},
    **{name: {} for name in names("relu_ selu_ sigmoid tanh softsign tanhshrink logsigmoid")},
    **{name: {"alpha": (0.5, 2)} for name in names("elu celu")},
    "leaky_relu": {"negative_slope": (0.1, -1), "inplace": (True,)},
    "gelu": {"approximate": ("none", "tanh", "sigmoid")},
    **{name: {"lambd": (-1, 0, 1)} for name in names("hardshrink softshrink")},
    "softplus": {"beta": (2,), "threshold": (1,)},
    "hardtanh": {"min_val": (0, 2), "max_val": (0.5, -2, 0, 2)},
    "rrelu": {"lower": (0.1, 0.2), "upper": (0.2, 0.15), "training": (True,)},
    **{name: {"p": (0, 1, 1.5, -0.5), "training": (True, False)} for name in names("dropout alpha_dropout")},
    **{
        name: {"p": (0.1, 1, 1.5, -0.5), "training": (True, False)}
        for name in names("feature_alpha_dropout dropout1d dropout2d dropout3d")
    },
}
"""The options of each besides its input, with values that it accepts and values that it does not."""


@calls_of(*OPTIONS)
def activation(draw: st.DrawFn, name: str) -> Call:
    options = {option: draw(st.sampled_from(values)) for option, values in OPTIONS[name].items()}
    most = 3 if name == "dropout1d" else 4
    return Call((Input(draw(sizes(0, most))),), optional(draw, **options))


calls_of_tensor(ANY, "threshold", then=(among(0.5), among(2)))


@calls_of("glu")
def glu(draw: st.DrawFn, name: str) -> Call:
    one = draw(sizes(0, 4))
    dim = some_axis(draw, len(one))
    if one and -len(one) <= dim < len(one) and not seldom(draw):
        one = tuple([2 * size if axis == dim % len(one) else size for axis, size in enumerate(one)])
    return Call((Input(one),), optional(draw, dim=dim))


@calls_of("prelu")
def prelu(draw: st.DrawFn, name: str) -> Call:
    one = draw(sizes(0, 4))
    channels = one[1] if len(one) > 1 else 1
    weight = draw(st.sampled_from([(), (1,), (channels,), (channels,), (channels,), (1, channels)]))
    return Call((Input(one), Input(slipped(draw, slipped(draw, weight)))))
