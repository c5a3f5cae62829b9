"""Images of symbolic sizes at another resolution: what comes out, what is required, and that nothing is pinned.

If one of these fails, a rule asks for more than it needs, or tells less than it knows.
"""

import pytest

from shapes import ShapeEnv
from shapes.rules import rules
from tests.shapes.rules.expectations import told

TABLE = [
    ("interpolate", ("b 3 s t", (7, 9)), {"mode": "bilinear"}, "Shape(b, 3, 7, 9)", ["s >= 1", "t >= 1"]),
    ("interpolate", ("b 3 4 4", "s t"), {}, "Shape(b, 3, s, t)", ["s >= 1", "t >= 1"]),
    ("interpolate", ("b 3 s",), {"scale_factor": 1.1}, "Shape(b, 3, trunc(1.1*float(s)))", ["s >= 1"]),
    ("interpolate", ("b 3 8 8",), {"scale_factor": 0.7}, "Shape(b, 3, 5, 5)", []),
    ("interpolate", ("b d s", 1), {"mode": "area"}, "Shape(b, d, 1)", []),
    ("upsample", ("b 3 s 4", 6), {}, "Shape(b, 3, 6, 6)", ["s >= 1"]),
    ("grid_sample", ("b 3 s t", "b h e 2"), {}, "Shape(b, 3, h, e)", ["s >= 1", "t >= 1"]),
    ("grid_sample", ("b 3 4 4", "s h e 2"), {}, "Shape(b, 3, h, e)", ["b == s"]),
    ("affine_grid", ("b 2 3", "b 3 s t"), {}, "Shape(b, s, t, 2)", ["s >= 1", "t >= 1", "b >= 1"]),
    ("pixel_shuffle", ("b d s t", 2), {}, "Shape(b, d//4, 2*s, 2*t)", ["d % 4 == 0"]),
    ("pixel_unshuffle", ("b d s 4", 2), {}, "Shape(b, 4*d, s//2, 2)", ["s % 2 == 0"]),
    ("channel_shuffle", ("b d s", 3), {}, "Shape(b, d, s)", ["d % 3 == 0"]),
]


@pytest.mark.parametrize(("name", "arguments", "options", "output", "guards"), TABLE)
def test_images_of_symbolic_sizes(name, arguments, options, output, guards):
    assert told(name, *arguments, **options) == (output, guards)


@pytest.mark.parametrize("factor", [0.5, 1.0, 1.5, 2.0, 0.1, 2 / 3, 1.1, 3.3])
def test_factors_are_multiplied_as_floats_are(factor):
    for hi in (None, 10**6):
        env = ShapeEnv(origin=lambda: None)
        s = env.symbol("s", lo=1, hi=hi)
        (_, _, size) = rules["interpolate"](env, (1, 1, s), scale_factor=factor)
        for value in (1, 3, 10, 30, 99, 100, 1000, 12345):
            assert size.expr.evaluate({s.expr.atom: value}) == int(value * factor)
