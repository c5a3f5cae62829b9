"""The results and requirements of views of symbolic sizes.

If one of these fails, a view is described in other words than before, requires more than it has to, or pins a size.
"""

import pytest

from shapes import ShapeEnv
from shapes.errors import UndecidedGuard
from shapes.rules import Refused, Shape, rules

CASES = [
    ("reshape", lambda b, s, h: [(b, s, 64 * h), (b, s, h, -1)], "(b, s, h, 64)", []),
    ("reshape", lambda b, s, h: [(b, s, 64 * h), (-1, 64 * h)], "(b*s, 64*h)", []),
    ("reshape", lambda b, s, h: [(b, s, h), (b, -1, 8)], "(b, h*s//8, 8)", ["h*s % 8 == 0"]),
    ("reshape", lambda b, s, h: [(b * (s + 1),), (b, -1)], "(b, s + 1)", []),
    ("reshape", lambda b, s, h: [(b, s, h), (b, 8, 64)], "(b, 8, 64)", ["h*s == 512"]),
    ("view", lambda b, s, h: [Shape((b, s, h), strides=(s * h, h, 1)), b * s, h], "(b*s, h), strides=(h, 1)", []),
    (
        "view",
        lambda b, s, h: [Shape((b, s, 8), strides=(8, h, 1)), b, 8 * s],
        "(b, 8*s), strides=(8, 1)",
        ["s == 1 or h == 8"],
    ),
    ("flatten", lambda b, s, h: [(b, s, h), 1], "(b, h*s)", []),
    ("unflatten", lambda b, s, h: [(b, 12 * h), 1, (3, -1, h)], "(b, 3, 4, h)", []),
    ("transpose", lambda b, s, h: [Shape((b, s), strides=(s, 1)), 0, 1], "(s, b), strides=(1, s)", []),
    ("permute", lambda b, s, h: [(b, s, h), (2, 0, 1)], "(h, b, s)", []),
    ("movedim", lambda b, s, h: [(b, s, h), 0, -1], "(s, h, b)", []),
    ("expand", lambda b, s, h: [Shape((b, 1), strides=(1, 1)), h, -1, s], "(h, b, s), strides=(0, 1, 0)", []),
    ("expand", lambda b, s, h: [(b,), s], "(s)", ["b == s or b == 1"]),
    ("squeeze", lambda b, s, h: [(b, 1, s), 1], "(b, s)", []),
    ("unsqueeze", lambda b, s, h: [Shape((b, s), strides=(s, 1)), 1], "(b, 1, s), strides=(s, s, 1)", []),
    ("as_strided", lambda b, s, h: [(b, s), (b,), (s,)], "(b), strides=(s)", []),
]


@pytest.mark.parametrize("name, arguments, expected, required", CASES)
def test_a_view_of_symbolic_sizes(name, arguments, expected, required):
    env = ShapeEnv(origin=lambda: None)
    found = rules[name](env, *arguments(*env.sizes("b s h", lo=1)))
    sizes, _, strides = expected.partition("), ")
    assert repr(found) == (f"Shape{sizes}, {strides})" if strides else f"Shape{expected}")
    assert [guard.text for guard in env.guards()] == required
    assert env.specializations() == ()


def test_what_a_view_needs_of_the_strides_is_a_requirement():
    """Columns read as one row: only where there is one of them."""
    env = ShapeEnv(origin=lambda: None)
    b = env.symbol("b", lo=1)
    rules["view"](env, Shape((b, 8), strides=(1, b)), -1)
    assert [guard.text for guard in env.guards()] == ["b == 1"]
    with pytest.raises(Refused, match="strides"):
        rules["view"](env, Shape((4, 8), strides=(1, 4)), 32)
    assert rules["reshape"](env, Shape((4, 8), strides=(1, 4)), 32).strides == (1,)


def test_a_size_that_may_be_zero_is_required_where_minus_one_needs_it():
    env = ShapeEnv(origin=lambda: None)
    b, s = env.sizes("b s")
    assert repr(rules["reshape"](env, (b, s, 8), (b, -1))) == "Shape(b, 8*s)"
    assert [guard.text for guard in env.guards()] == ["b >= 1"]
    with pytest.raises(Refused, match="-1"):
        rules["reshape"](env, (0, 3), (0, -1))


def test_whether_an_axis_is_there_is_never_guessed():
    """Without a fact or a hint the error names the check; with a fact nothing is recorded."""
    env = ShapeEnv(origin=lambda: None)
    b, s = env.sizes("b s")
    with pytest.raises(UndecidedGuard, match=r"expect_true\(b == 1\)"):
        rules["squeeze"](env, (b, 8))
    assert env.guards() == ()
    env.assume(s >= 2)
    assert repr(rules["squeeze"](env, (1, s))) == "Shape(s)"


def test_a_hint_tells_whether_an_axis_is_there_and_that_is_a_guard():
    env = ShapeEnv(origin=lambda: None)
    s = env.symbol("s", hint=7)
    assert repr(rules["squeeze"](env, (1, s))) == "Shape(s)"
    assert [guard.text for guard in env.guards()] == ["s != 1"]
