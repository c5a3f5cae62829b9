"""Activations on symbolic sizes.

If one of these fails, a rule asks for more than it needs.
"""

import pytest

from tests.shapes.rules.expectations import told

TABLE = [
    ("relu", ("b s",), {}, "Shape(b, s)", []),
    ("glu", ("b s",), {}, "Shape(b, s//2)", ["s % 2 == 0"]),
    ("glu", ("b 8", 1), {}, "Shape(b, 4)", []),
    ("prelu", ("b s h", "1"), {}, "Shape(b, s, h)", []),
    ("prelu", ("b s h", "s"), {}, "Shape(b, s, h)", []),
    ("prelu", ("b s h", "t"), {}, "Shape(b, s, h)", ["t == 1 or s == t"]),
    ("dropout2d", ("b s",), {}, "Shape(b, s)", []),
    ("dropout2d", ("b",), {"training": False}, "Shape(b)", []),
]


@pytest.mark.parametrize(("name", "arguments", "options", "output", "guards"), TABLE)
def test_activations_of_symbolic_sizes(name, arguments, options, output, guards):
    assert told(name, *arguments, **options) == (output, guards)
