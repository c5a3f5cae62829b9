"""Products on symbolic sizes: what comes out, what is required, and that nothing is pinned.

If one of these fails, a rule asks for more than it needs, or tells less than it knows.
"""

import pytest

from shapes import ShapeEnv
from shapes.rules import Refused, rules
from tests.shapes.rules.expectations import told

TABLE = [
    ("matmul", ("b s d", "d"), "Shape(b, s)", []),
    ("matmul", ("b 1 s d", "h d t"), "Shape(b, h, s, t)", []),
    ("matmul", ("s d", "t e"), "Shape(s, e)", ["d == t"]),
    ("bmm", ("b s d", "b d t"), "Shape(b, s, t)", []),
    ("addmm", ("t", "s d", "d t"), "Shape(s, t)", []),
    ("addmm", ("b", "s d", "d t"), "Shape(s, t)", ["b == t or b == 1"]),
    ("linear", ("b s d", "e d", "e"), "Shape(b, s, e)", []),
    ("tensordot", ("b s d", "d s e", ([1, 2], [1, 0])), "Shape(b, e)", []),
    ("kron", ("b", "s d"), "Shape(s, b*d)", []),
    ("cross", ("b s", "b s"), "Shape(b, s)", ["b == 3 or s == 3"]),
    ("linalg.multi_dot", (["b", "b s", "s d"],), "Shape(d)", []),
    ("einsum", ("b...i,bij->...j", "b h s d", "b d e"), "Shape(h, s, e)", []),
    ("einsum", ("ii->i", "s t"), "Shape(t)", ["s == t"]),
    ("einsum", ("ij,jk", "b 1", "s d"), "Shape(b, d)", []),
]


@pytest.mark.parametrize(("name", "arguments", "output", "guards"), TABLE)
def test_products_of_symbolic_sizes(name, arguments, output, guards):
    assert told(name, *arguments) == (output, guards)


def test_axes_that_cannot_agree_are_refused_by_name():
    env = ShapeEnv(origin=lambda: None)
    s = env.symbol("s", hi=8)
    with pytest.raises(Refused, match=r"mm\(input=Shape\(2, s\), mat2=Shape\(9, 4\)\): rows of the one"):
        rules["mm"](env, (2, s), (9, 4))
    assert env.guards() == ()
