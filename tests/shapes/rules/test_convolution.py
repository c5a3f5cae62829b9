"""Convolutions on symbolic sizes: what comes out, what is required, and that nothing is pinned.

If one of these fails, a rule asks for more than it needs, or tells less than it knows.
"""

import pytest

from shapes import ShapeEnv
from shapes.rules import Refused, rules
from tests.shapes.rules.expectations import told

TABLE = [
    ("conv1d", ("b 4 s", "8 4 3"), {}, "Shape(b, 8, s - 2)", ["s >= 3"]),
    ("conv2d", ("b 3 s t", "8 3 3 3", "8"), {"padding": 1}, "Shape(b, 8, s, t)", ["s >= 1", "t >= 1"]),
    ("conv2d", ("b 3 s t", "8 3 3 3"), {"padding": "same", "dilation": 2}, "Shape(b, 8, s, t)", ["s >= 1", "t >= 1"]),
    ("conv2d", ("b 3 224 224", "8 3 7 7"), {"stride": 2, "padding": 3}, "Shape(b, 8, 112, 112)", []),
    ("conv2d", ("b d 9 9", "8 e 3 3"), {"groups": 4}, "Shape(b, 0 if e == 0 else 8, 7, 7)", ["4*e == d"]),
    ("conv1d", ("b 4 9", "e 4 t"), {}, "Shape(b, e, 10 - t)", ["e >= 1", "t <= 9", "t >= 1"]),
    ("conv3d", ("3 s 9 9", "8 3 1 1 1"), {"stride": 2}, "Shape(8, ceildiv(s, 2), 5, 5)", ["s >= 1"]),
    ("conv_transpose1d", ("1 3 s", "3 8 4"), {"stride": 2, "padding": 1}, "Shape(1, 8, 2*s)", ["s >= 1"]),
    ("conv_transpose2d", ("b 3 s t", "3 4 2 2"), {"stride": 2, "groups": 3}, "Shape(b, 12, 2*s, 2*t)",
     ["s >= 1 or b == 0", "t >= 1 or b == 0"]),
    ("conv_tbc", ("t b 3", "2 3 8", "8"), {"pad": 1}, "Shape(t + 1, b, 8)", []),
]  # fmt: skip


@pytest.mark.parametrize(("name", "arguments", "options", "output", "guards"), TABLE)
def test_convolutions_of_symbolic_sizes(name, arguments, options, output, guards):
    assert told(name, *arguments, **options) == (output, guards)


def test_a_kernel_that_is_too_large_is_refused_by_name():
    env = ShapeEnv(origin=lambda: None)
    s = env.symbol("s", hi=4)
    with pytest.raises(Refused, match=r"conv1d\(input=Shape\(2, 3, s\), .*the kernel is larger than the padded input"):
        rules["conv1d"](env, (2, 3, s), (8, 3, 5))
    assert env.guards() == ()
