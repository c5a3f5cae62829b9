"""Guards about remainders: which follow from the others is arithmetic, and what is needed is shown by a size."""

from math import lcm

import pytest
from hypothesis import given
from hypothesis import strategies as st

import shapes.guards.guards
from shapes import ShapeEnv
from shapes.guards.congruences import congruence_of, implied, lcm_of_others
from shapes.guards.rejection import rejected_alone
from solver.terms.interner import Interner

SIDES = ("a", "3*a + 1", "2*a - 6", "a + b", "2*a + 2*b + 5", "a*b", "-a", "6*a")


@given(
    st.lists(st.tuples(st.sampled_from(SIDES), st.integers(1, 12)), max_size=7), st.integers(0, 40), st.integers(0, 9)
)
def test_what_is_left_out_follows_and_what_is_left_is_no_congruence_of_the_others(
    remainders: list[tuple[str, int]], a: int, b: int
) -> None:
    """A congruence is left out if and only if it follows from the others."""
    env = ShapeEnv(origin=lambda: None, solvers=False)
    env.sizes("a b", hints=(a, b))
    left, right = env.symbols
    hints = {left: a, right: b}
    props = [
        env.parse(f"({side}) % {modulus} == {eval(side, {}, {'a': a, 'b': b}) % modulus}")[0]
        for side, modulus in remainders
    ]
    gone = implied(props, hints)
    kept = [prop for place, prop in enumerate(props) if place not in gone]
    for x in range(60):
        for y in range(0, 24, 5):
            values = {left: x, right: y}
            if all(prop.evaluate(values) for prop in kept):
                assert all(prop.evaluate(values) for prop in props)
    assert not implied(kept, hints)


def test_only_equalities_that_hold_at_the_hints_say_what_a_size_leaves() -> None:
    """A congruence is derived only from equalities that hold at the hints."""
    terms = Interner()
    s, t = terms.symbol("s"), terms.symbol("t")
    here = {s.atom: 12}
    assert implied([terms.eq(s % 2, 0), terms.eq(s % 4, 0)], here) == {0}
    for first, second in (
        (terms.ne(s % 2, 1), terms.eq(s % 4, 0)),
        (terms.eq(s % 2, 0), terms.ne(s % 4, 1)),
        (terms.eq(s % 2, 0), terms.eq(s % 4, 1)),  # does not hold
        (terms.eq(s % 2, 0), terms.le(s % 4, 0)),
        (terms.eq(s % 2, 0), terms.eq(t % 4, 0)),  # without a hint
        (terms.eq(s % 2, 0), terms.eq(s % t, 0)),
        (terms.eq(s % 2, 0), terms.eq(s // 4, 3)),
    ):
        assert not implied([first, second], here), (first, second)
    assert congruence_of(terms.eq((6 * s) % 4, 0)) == (s, 2)


@given(st.lists(st.integers(1, 60), min_size=1, max_size=8))
def test_the_least_common_multiple_of_all_others(moduli: list[int]) -> None:
    """The least common multiple of the others gives the sizes at which one remainder alone changes."""
    others = lcm_of_others(moduli, left_out=False)
    assert others == [lcm(*moduli[:place], *moduli[place + 1 :]) for place in range(len(moduli))]
    left = [modulus for modulus, other in zip(moduli, lcm_of_others(moduli), strict=True) if other % modulus]
    assert lcm(*left) == lcm(*moduli)
    assert all(lcm(*left[:place], *left[place + 1 :]) % modulus for place, modulus in enumerate(left))


@given(
    st.lists(st.tuples(st.integers(-6, 9), st.integers(2, 12), st.booleans()), min_size=1, max_size=6),
    st.integers(0, 40),
)
def test_what_one_remainder_alone_rejects_is_found_by_arithmetic(
    remainders: list[tuple[int, int, bool]], hint: int
) -> None:
    """Arithmetic finds the assignments that only one remainder guard rejects."""
    terms = Interner()
    s = terms.symbol("s")
    props = []
    for slope, modulus, zero in remainders:
        if not zero and slope * hint % modulus != 0 and slope:
            props.append(terms.ne((slope * s) % modulus, 0))
        elif slope:
            props.append(terms.eq((slope * s) % modulus, slope * hint % modulus))
    props = [prop for prop in dict.fromkeys(props) if prop.terms]
    found = rejected_alone({s.atom: hint}, props, [])
    for place, values in enumerate(found):
        alone = [value for value in range(2000) if [p.evaluate({s.atom: value}) for p in props].count(False) == 1]
        wanted = [value for value in alone if not props[place].evaluate({s.atom: value})]
        if values is not None:
            assert [prop.evaluate(values) for prop in props] == [other != place for other in range(len(props))]
        elif props[place].kind == "eq" and all(prop.kind == "eq" for prop in props):
            assert not wanted


@pytest.mark.parametrize("hint", [0, 5040 * 11 * 13 * 17 * 19 * 23])
def test_remainders_of_a_multiple_of_all_are_sorted_out_without_a_question(
    hint: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """n guards `s % i == 0` at a size that is a multiple of all are minimized without a question."""
    env = ShapeEnv(origin=lambda: None, solvers=False)
    s = env.symbol("s", lo=0, hint=hint)
    t = env.symbol("t", hint=3)
    for divisor in range(1, 26):
        if hint % divisor == 0:
            env.guard(s % divisor == 0)
    env.guard(t <= 5)

    def asked(*_: object, **__: object) -> None:
        raise AssertionError("a question was asked")

    monkeypatch.setattr(shapes.guards.guards, "verdict_under", asked)
    found = {str(guard): guard.rejects for guard in env.guards()}
    wanted = [13, 17, 19, 23, 11, 7, 9, 16] + [25] * (hint % 25 == 0) + [5] * (hint % 25 != 0)
    assert set(found) == {f"s % {divisor} == 0" for divisor in wanted} | {"t <= 5"}
    for text, rejected in found.items():
        assert rejected is not None and not eval(text, {}, dict(rejected))
        assert all(eval(other, {}, dict(rejected)) for other in found if other != text)
