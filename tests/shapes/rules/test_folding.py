"""Blocks of symbolic sizes: what comes out, what is required, and that nothing is pinned.

If one of these fails, a rule asks for more than it needs, or tells less than it knows.
"""

import pytest

from shapes import ShapeEnv
from shapes.rules import Shape, rules
from tests.shapes.rules.expectations import told

TABLE = [
    ("unfold", ("b 3 s 4", (2, 4)), {"stride": 2}, "Shape(b, 24, s//2)", ["s >= 2"]),
    ("unfold", ("b 3 s 4", 3), {"padding": 1}, "Shape(b, 27, 4*s)", ["s >= 1"]),
    ("fold", ("b 12 s", (6, "$t"), 2), {"stride": 2}, "Shape(b, 3, 6, t)", ["t >= 2", "3*(t//2) == s"]),
    ("fold", ("b d 9", 6, 2), {"stride": 2}, "Shape(b, d//4, 6, 6)", ["d >= 1", "d % 4 == 0"]),
    ("Tensor.unfold", ("b s", 1, 4, 2), {}, "Shape(b, s//2 - 1, 4)", ["s >= 4"]),
    ("Tensor.unfold", ("b s", 0, "$t", 1), {}, "Shape(b - t + 1, s, t)", ["b >= t"]),
]


@pytest.mark.parametrize(("name", "arguments", "options", "output", "guards"), TABLE)
def test_blocks_of_symbolic_sizes(name, arguments, options, output, guards):
    assert told(name, *arguments, **options) == (output, guards)


def test_windows_are_a_view():
    env = ShapeEnv(origin=lambda: None)
    b, s = env.sizes("b s", lo=5)
    windows = rules["Tensor.unfold"](env, Shape((b, s), strides=(s, 1), storage_offset=b), 0, 3, 2)
    assert (str(windows.strides), str(windows.storage_offset)) == ("(2*s, 1, s)", "b")
