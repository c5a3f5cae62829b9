"""Padding of symbolic sizes: what comes out, what is required, and that nothing is pinned.

If one of these fails, a rule asks for more than it needs, or tells less than it knows.
"""

import pytest

from tests.shapes.rules.expectations import told

TABLE = [
    ("pad", ("b s", (1, 2)), {}, "Shape(b, s + 3)", []),
    ("pad", ("b s", (1, 2, 0, 3)), {"value": 1.0}, "Shape(b + 3, s + 3)", []),
    ("pad", ("b s", (-1, -1)), {}, "Shape(b, s - 2)", ["s >= 2"]),
    ("pad", ("b s", (-3, 5)), {}, "Shape(b, s + 2)", ["s >= 3"]),
    ("constant_pad_nd", ("b s", [0, "$t"]), {}, "Shape(b, s + t)", []),
    ("pad", ("b 3 s", (2, 1)), {"mode": "reflect"}, "Shape(b, 3, s + 3)", ["s >= 3"]),
    ("pad", ("b 3 s", (2, 1)), {"mode": "replicate"}, "Shape(b, 3, s + 3)", ["s >= 1"]),
    ("pad", ("b 3 s t", (2, 1, 0, 0)), {"mode": "circular"}, "Shape(b, 3, s, t + 3)", ["t >= 2"]),
    ("reflection_pad2d", ("3 s s", 1), {}, "Shape(3, s + 2, s + 2)", ["s >= 2"]),
    ("_jagged_to_padded_dense_forward", ("t 3", ["b"], ["$s"]), {}, "Shape(b - 1, s, 3)", ["b >= 1"]),
    ("_padded_dense_to_jagged_forward", ("b s 3", ["d"], "$t"), {}, "Shape(t, 3)", ["d >= 1", "b + 1 >= d"]),
    ("replication_pad1d", ("d s", (-2, 0)), {}, "Shape(d, s - 2)", ["d >= 1", "s >= 3"]),
]


@pytest.mark.parametrize(("name", "arguments", "options", "output", "guards"), TABLE)
def test_padding_of_symbolic_sizes(name, arguments, options, output, guards):
    assert told(name, *arguments, **options) == (output, guards)
