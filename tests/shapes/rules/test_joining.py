"""Tensors of symbolic sizes put beside each other or repeated.

If one of these fails, sizes no longer add up, or more is required than that the other axes agree.
"""

import pytest

from shapes import ShapeEnv
from shapes.rules import Refused, rules

CASES = [
    ("cat", lambda b, s, t: [[(b, s), (b, t), (b, 1)], 1], "Shape(b, s + t + 1)", []),
    ("cat", lambda b, s, t: [[(b, s), (t, 8)]], "Shape(b + t, 8)", ["s == 8"]),
    ("cat", lambda b, s, t: [[(0,), (b, s)], 1], "Shape(b, s)", []),
    ("stack", lambda b, s, t: [[(b, s), (b, s)], -1], "Shape(b, s, 2)", []),
    ("hstack", lambda b, s, t: [[(b, s), (b, t)]], "Shape(b, s + t)", []),
    ("vstack", lambda b, s, t: [[(b, s), (s,)]], "Shape(b + 1, s)", []),
    ("dstack", lambda b, s, t: [[(b, s), (b, s)]], "Shape(b, s, 2)", []),
    ("column_stack", lambda b, s, t: [[(b,), (b, t)]], "Shape(b, t + 1)", []),
    ("repeat", lambda b, s, t: [(b, s), 2, t, 1], "Shape(2, b*t, s)", []),
    ("tile", lambda b, s, t: [(b, s), (t,)], "Shape(b, s*t)", []),
    ("roll", lambda b, s, t: [(b, s), t, 0], "Shape(b, s)", []),
    ("rot90", lambda b, s, t: [(b, s)], "Shape(s, b)", []),
]


@pytest.mark.parametrize("name, arguments, expected, required", CASES)
def test_joining_symbolic_sizes(name, arguments, expected, required):
    env = ShapeEnv(origin=lambda: None)
    assert repr(rules[name](env, *arguments(*env.sizes("b s t")))) == expected
    assert [guard.text for guard in env.guards()] == required


def test_blocks_add_up_in_both_axes():
    env = ShapeEnv(origin=lambda: None)
    b, s = env.sizes("b s")
    assert repr(rules["block_diag"](env, (b, s), (s,), ())) == "Shape(b + 2, 2*s + 1)"


def test_sizes_that_cannot_agree_are_refused():
    env = ShapeEnv(origin=lambda: None)
    b = env.symbol("b")
    with pytest.raises(Refused, match="axes differ"):
        rules["cat"](env, [(b, 4), (b, 5)])
