"""Reductions of symbolic sizes: what comes out and what is required.

If one of these fails, a rule asks for elements where none are needed, or forgets to.
"""

import pytest

from tests.shapes.rules.expectations import told

TABLE = [
    ("sum", ("b s",), {}, "Shape()", []),
    ("sum", ("b s h",), {"dim": (0, -1)}, "Shape(s)", []),
    ("mean", ("b s",), {"dim": 1, "keepdim": True}, "Shape(b, 1)", []),
    ("amax", ("b s",), {"dim": 1}, "Shape(b)", ["s != 0"]),
    ("max", ("b s", 0), {}, "(Shape(s), Shape(s, dtype=int64))", ["b != 0"]),
    ("max", ("b 1", "8"), {}, "Shape(b, 8)", []),
    ("argmax", ("4 s",), {"dim": 0}, "Shape(s, dtype=int64)", []),
    ("median", ("b s",), {}, "Shape()", []),
    ("median", ("b s", -1), {}, "(Shape(b), Shape(b, dtype=int64))", ["s != 0"]),
    ("all", ("b s",), {"dim": ()}, "Shape(b, s)", []),
    ("var_mean", ("b s",), {"dim": 1}, "(Shape(b), Shape(b))", []),
    ("linalg.vector_norm", ("b s",), {"dim": 1}, "Shape(b)", []),
    ("linalg.vector_norm", ("b s",), {"ord": float("inf"), "dim": 1}, "Shape(b)", ["s != 0"]),
    ("quantile", ("b 4", "t", 1), {"keepdim": True}, "Shape(t, b, 1)", ["b != 0"]),
]


@pytest.mark.parametrize(("name", "arguments", "options", "output", "guards"), TABLE)
def test_reductions_of_symbolic_sizes(name, arguments, options, output, guards):
    assert told(name, *arguments, **options) == (output, guards)
