"""Systems of equations on symbolic sizes: what comes out, what is required, and that nothing is pinned.

If one of these fails, a rule asks for more than it needs, or tells less than it knows.
"""

import pytest

from tests.shapes.rules.expectations import told

TABLE = [
    ("linalg.solve", ("b s s", "b s t"), {}, "Shape(b, s, t)", []),
    ("linalg.solve", ("b s s", "b s"), {}, "Shape(b, s)", []),
    ("linalg.solve", ("b s s", "t"), {}, "Shape(b, t)", ["s == t"]),
    ("linalg.solve_triangular", ("1 s s", "b t s"), {"upper": True, "left": False}, "Shape(b, t, s)", []),
    ("linalg.lstsq", ("s t", "s"), {}, "(Shape(t), Shape(0), Shape(dtype=int64), Shape(0))", []),
    ("linalg.lstsq", ("2 3", "2"), {"driver": "gels"}, "(Shape(3), Shape(0), Shape(0, dtype=int64), Shape(0))", []),
    ("linalg.tensorinv", ("s t e",), {"ind": 1}, "Shape(t, e, s)", ["e*t == s"]),
]


@pytest.mark.parametrize(("name", "arguments", "options", "output", "guards"), TABLE)
def test_systems_of_symbolic_sizes(name, arguments, options, output, guards):
    assert told(name, *arguments, **options) == (output, guards)
