"""Pieces of symbolic sizes: how many there are, how long they are, and what that requires.

If one of these fails, the number of pieces is guessed, or more sizes are excluded than have another number.
"""

import pytest

from shapes import ShapeEnv
from shapes.errors import UndecidedGuard
from shapes.rules import rules
from shapes.testing.agreement import recorded_facts

CASES = [
    ("split", lambda b, s: [(b, 3 * s), s, 1], "(Shape(b, s), Shape(b, s), Shape(b, s))", []),
    ("split", lambda b, s: [(b, s), [8, b], 1], "(Shape(b, 8), Shape(b, b))", ["b + 8 == s"]),
    ("chunk", lambda b, s: [(b, 2 * s), 2, 1], "(Shape(b, s), Shape(b, s))", []),
    ("tensor_split", lambda b, s: [(s,), 2], "(Shape(ceildiv(s, 2)), Shape(s//2))", []),
    ("tensor_split", lambda b, s: [(s,), [3]], "(Shape(min(s, 3)), Shape(max(s - 3, 0)))", []),
    ("hsplit", lambda b, s: [(s,), 2], "(Shape(s//2), Shape(s//2))", ["s % 2 == 0"]),
    ("unbind", lambda b, s: [(b, 2), 1], "(Shape(b), Shape(b))", []),
]


@pytest.mark.parametrize("name, arguments, expected, required", CASES)
def test_pieces_of_symbolic_sizes(name, arguments, expected, required):
    env = ShapeEnv(origin=lambda: None)
    found = rules[name](env, *arguments(*env.sizes("b s", lo=1)))
    assert repr(found) == expected
    assert [guard.text for guard in env.guards()] == required
    assert env.specializations() == ()


@pytest.mark.parametrize("name", ["tensor_split", "hsplit", "vsplit", "dsplit"])
def test_a_number_of_pieces_that_is_a_symbol_is_taken_from_a_hint(name):
    env = ShapeEnv(origin=lambda: None)
    b, s, count = env.symbol("b", lo=1), env.symbol("s", lo=1), env.symbol("n", hint=2)
    with pytest.raises(UndecidedGuard, match="n"):
        rules[name](env, (4 * b, 4 * s, 4 * s), env.symbol("m"))
    assert len(rules[name](env, (4 * b, 4 * s, 4 * s), count)) == 2
    assert [guard.text for guard in env.guards()] == ["n == 2"]


@pytest.mark.parametrize("name", ["split", "chunk", "unbind"])
def test_the_number_of_pieces_is_never_guessed(name):
    env = ShapeEnv(origin=lambda: None)
    s = env.symbol("s")
    with pytest.raises(UndecidedGuard, match=f"in:     {name}|s"):
        rules[name](env, (s, 4), *([3] if name != "unbind" else []))
    assert env.guards() == ()


def test_a_hint_tells_the_number_of_pieces_and_every_size_with_as_many_will_do():
    env = ShapeEnv(origin=lambda: None)
    s = env.symbol("s", hint=100)
    assert len(rules["split"](env, (s,), 16)) == 7
    assert [guard.text for guard in env.guards()] == ["s >= 97", "s <= 112"]
    t = env.symbol("t", hint=5)
    assert len(rules["chunk"](env, (t,), 4)) == 3
    guards = [fact.prop for fact in recorded_facts(env) if t.expr.atom in fact.prop.symbols]
    assert [size for size in range(20) if all(guard.evaluate({t.expr.atom: size}) for guard in guards)] == [3, 5, 6, 9]


def test_facts_tell_the_number_of_pieces():
    env = ShapeEnv(origin=lambda: None)
    s = env.symbol("s", lo=1)
    env.assume("s % 4 == 0")
    assert repr(rules["chunk"](env, (s,), 4)) == "(Shape(s//4), Shape(s//4), Shape(s//4), Shape(s//4))"
    assert env.guards() == ()
