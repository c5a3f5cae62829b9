"""Diagonals on symbolic sizes: what comes out, what is required, and that nothing is pinned.

If one of these fails, a rule asks for more than it needs, or tells less than it knows.
"""

import pytest

from tests.shapes.rules.expectations import told

TABLE = [
    ("trace", ("s t",), {}, "Shape()", []),
    ("diagonal", ("b s t",), {"dim1": -1, "dim2": -2}, "Shape(b, min(s, t))", []),
    ("diagonal", ("s t", "$d"), {}, "Shape(max(min(t, d + s) - max(d, 0), 0))", []),
    ("diag_embed", ("b s",), {"offset": -1, "dim1": 0}, "Shape(s + 1, b, s + 1)", []),
    ("diagflat", ("b s",), {}, "Shape(b*s, b*s)", []),
    ("vander", ("s",), {"N": "$t"}, "Shape(s, t)", []),
]


@pytest.mark.parametrize(("name", "arguments", "options", "output", "guards"), TABLE)
def test_diagonals_of_symbolic_sizes(name, arguments, options, output, guards):
    assert told(name, *arguments, **options) == (output, guards)
