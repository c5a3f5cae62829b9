"""Running sums, differences and integrals on symbolic sizes.

If one of these fails, a rule asks for more than it needs, or forgets that an axis ends at 0.
"""

import pytest

from tests.shapes.rules.expectations import told

TABLE = [
    ("cumsum", ("b s", 1), {}, "Shape(b, s)", []),
    ("cummax", ("b s", 0), {}, "(Shape(b, s), Shape(b, s, dtype=int64))", []),
    ("diff", ("b s",), {}, "Shape(b, max(s - 1, 0))", []),
    ("diff", ("b s",), {"dim": 0, "n": 2, "prepend": "3 s"}, "Shape(b + 1, s)", []),
    ("diff", ("b s",), {"append": "t 1"}, "Shape(b, s)", ["b == t"]),
    ("trapezoid", ("b s",), {}, "Shape(b)", []),
    ("trapezoid", ("b s", "t"), {}, "Shape(b)", ["s == 0 or s == t"]),
    ("cumulative_trapezoid", ("b s", "b s"), {}, "Shape(b, max(s - 1, 0))", []),
    ("gradient", ("b s",), {"dim": 0}, "(Shape(b, s),)", ["b >= 2"]),
]


@pytest.mark.parametrize(("name", "arguments", "options", "output", "guards"), TABLE)
def test_scans_of_symbolic_sizes(name, arguments, options, output, guards):
    assert told(name, *arguments, **options) == (output, guards)
