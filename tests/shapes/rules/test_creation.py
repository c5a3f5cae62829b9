"""New tensors on symbolic sizes: what comes out, what is required, and that nothing is pinned.

If one of these fails, a rule asks for more than it needs, or tells less than it knows.
"""

import pytest

from tests.shapes.rules.expectations import told

TABLE = [
    ("zeros", ("b s",), {}, "Shape(b, s)", []),
    ("arange", ("$s",), {}, "Shape(s, dtype=int64)", []),
    ("arange", ("$s", 0, -2), {}, "Shape(ceildiv(s, 2), dtype=int64)", []),
    (
        "arange", ("$s", "$t", "$d"), {},
        "Shape(ceildiv(t - s, d), dtype=int64)",
        ["d >= 1 and s <= t or d < 0 and s >= t"],
    ),
    ("arange", (0, "$t", 0.5), {}, "Shape(ceil(float(t)/0.5))", []),
    ("linspace", (0, 1, "$s"), {}, "Shape(s)", []),
    ("triu_indices", ("$s", "$s", 1), {}, "Shape(2, s**2 - (s**2 + s)//2, dtype=int64)", []),
    (
        "triu_indices", ("$s", "$t"), {},
        "Shape(2, max(t - s + 1, 0)*(s - t) - (max(s, 1)**2 - max(s, 1))//2 "
        "+ (s**2 + t**2 + max(t - s + 1, 0)*(max(t - s + 1, 0) - 1) - s + t)//2, dtype=int64)",
        [],
    ),
    ("meshgrid", ("s", "t"), {"indexing": "xy"}, "(Shape(t, s), Shape(t, s))", []),
    ("cartesian_prod", ("s", "t"), {}, "Shape(s*t, 2)", []),
    ("combinations", ("s",), {}, "Shape((s**2 - s)//2, 2)", []),
    ("empty_strided", (["$s", "$t"], ["$t", 1]), {}, "Shape(s, t, strides=(t, 1))", []),
]


@pytest.mark.parametrize(("name", "arguments", "options", "output", "guards"), TABLE)
def test_new_tensors_of_symbolic_sizes(name, arguments, options, output, guards):
    assert told(name, *arguments, **options) == (output, guards)
