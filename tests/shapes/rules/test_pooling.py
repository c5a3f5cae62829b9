"""Pooling of symbolic sizes: what comes out, what is required, and that nothing is pinned.

If one of these fails, a rule asks for more than it needs, or tells less than it knows.
"""

import pytest

from tests.shapes.rules.expectations import told

TABLE = [
    ("max_pool2d", ("b 8 s t", 2), {}, "Shape(b, 8, s//2, t//2)", ["s >= 2", "t >= 2"]),
    ("max_pool1d", ("b 8 s", 3), {"stride": 2, "padding": 1}, "Shape(b, 8, ceildiv(s, 2))", ["s >= 1"]),
    ("avg_pool1d", ("b 8 s", 2), {"ceil_mode": True}, "Shape(b, 8, ceildiv(s, 2))", ["s >= 1"]),
    ("avg_pool2d", ("b 8 s t", "s t"), {}, "Shape(b, 8, 1, 1)", ["s >= 1", "t >= 1"]),
    ("avg_pool3d", ("b 8 s 4 4", 2), {"stride": 1}, "Shape(b, 8, s - 1, 3, 3)", ["s >= 2"]),
    ("max_pool1d", ("b 8 s", 1), {"stride": 3, "ceil_mode": True}, "Shape(b, 8, ceildiv(s, 3))", ["s >= 1"]),
    ("adaptive_avg_pool2d", ("b d s t", (1, 1)), {}, "Shape(b, d, 1, 1)", []),
    ("adaptive_max_pool2d", ("b 8 s t", (None, 7)), {}, "Shape(b, 8, s, 7)", ["s >= 1", "t >= 1"]),
    ("adaptive_avg_pool1d", ("b d s", "$t"), {}, "Shape(b, d, t)", ["t == 1 or s >= 1"]),
    ("fractional_max_pool2d", ("b 8 s t", 2), {"output_size": 3}, "Shape(b, 8, 3, 3)", ["s >= 4", "t >= 4"]),
    ("max_unpool1d", ("b 8 s", "b 8 s", 2), {}, "Shape(b, 8, 2*s)", ["s >= 1"]),
    ("max_unpool1d", ("b 8 s", "b 8 s", 2), {"output_size": (7,)}, "Shape(b, 8, 7)", ["s <= 4", "s >= 3"]),
]


@pytest.mark.parametrize(("name", "arguments", "options", "output", "guards"), TABLE)
def test_pooling_of_symbolic_sizes(name, arguments, options, output, guards):
    assert told(name, *arguments, **options) == (output, guards)


def test_indices_have_the_sizes_of_the_values():
    assert told("max_pool1d", "b 8 s", 2, return_indices=True)[0] == (
        "(Shape(b, 8, s//2), Shape(b, 8, s//2, dtype=int64))"
    )
