"""Sizes that one guard alone rejects: what is shown is right, and what is not shown is left to proofs."""

from hypothesis import given
from hypothesis import strategies as st

from shapes import ShapeEnv
from shapes.guards.rejection import Conditions, rejected_alone

CONDITIONS = [
    "a >= 2",
    "a > b",
    "a % 4 == 0",
    "b <= 12",
    "a * b <= 60",
    "max(a, b) <= 20",
    "max(a, 9) == 9",
    "a != 3",
    "a * b != 24",
    "a == 2 * b",
    "a < 8 or b > 3",
]


@given(st.lists(st.sampled_from(CONDITIONS), max_size=5), st.integers(0, 16), st.integers(0, 8))
def test_what_is_shown_is_rejected_by_that_guard_alone(conditions: list[str], a: int, b: int) -> None:
    """A guard that follows from others is left out, and each assignment shown is rejected by that guard alone."""
    env = ShapeEnv(solvers=False)
    env.sizes("a b", hints=(a, b))
    hints = {atom: declared.hint for atom, declared in env.symbols.items()}
    props = [env.parse(condition)[0] for condition in conditions]
    ranges = [declared.fact.prop for declared in env.symbols.values()]
    for place, values in enumerate(rejected_alone(hints, props, ranges)):
        if values is not None:
            assert not props[place].evaluate(values)
            assert all(prop.evaluate(values) for other, prop in enumerate(props) if other != place)
            assert all(prop.evaluate(values) for prop in ranges)


def test_no_proof_is_needed_where_a_size_shows_it() -> None:
    """The assignments that only one guard rejects are found without a proof."""
    env = ShapeEnv(solvers=False)
    a, b = env.sizes("a b", hints=(6, 4))
    (left,), (right,) = a.expr.symbols, b.expr.symbols
    props = [env.parse(text)[0] for text in ("a >= 2", "max(b, 9) == 9", "a*b != 20", "a*b <= 1000000")]
    found = rejected_alone({left: 6, right: 4}, props, [])
    assert found == [{left: 1, right: 4}, {left: 6, right: 10}, {left: 5, right: 4}, {left: 250001, right: 4}]


def test_guards_that_are_the_same_are_no_witness_of_each_other() -> None:
    """Neither of two equal guards has an assignment that it alone rejects."""
    env = ShapeEnv(solvers=False)
    a = env.symbol("a", hint=6)
    (atom,) = a.expr.symbols
    prop = env.parse("a >= 2")[0]
    assert rejected_alone({atom: 6}, [prop, prop], []) == [None, None]


def test_conditions_about_one_symbol_answer_together() -> None:
    """n guards about one symbol are minimized together, not pair by pair."""
    env = ShapeEnv(solvers=False)
    a = env.symbol("a", hint=10**6)
    (atom,) = a.expr.symbols
    texts = ["a % 7 != 3", "a * a >= 9"]
    evaluated = []
    for count in (200, 2000):
        props = [env.parse(text)[0] for text in [*[f"a != {3 * i + 2}" for i in range(count)], *texts]]
        conditions = Conditions({atom: 10**6}, props)
        assert conditions.accept_hints()
        alone = [conditions.rejecting(atom, 3 * i + 2) for i in range(count)]
        assert sum([found == [place] for place, found in enumerate(alone)]) > count // 2
        evaluated.append(conditions.evaluated)
    assert evaluated[1] <= 12 * evaluated[0]
    found = rejected_alone({atom: 10**6}, props, [])
    assert sum([values is not None for values in found]) > 1000


@given(st.lists(st.sampled_from(CONDITIONS), max_size=7), st.integers(0, 16), st.integers(0, 8), st.integers(-3, 40))
def test_lines_say_what_evaluation_says(conditions: list[str], a: int, b: int, value: int) -> None:
    """The ends and excluded values of a symbol are those that evaluation finds."""
    env = ShapeEnv(solvers=False)
    env.sizes("a b", hints=(a, b))
    hints = {atom: declared.hint for atom, declared in env.symbols.items() if declared.hint is not None}
    props = [env.parse(condition)[0] for condition in conditions]
    known = Conditions(hints, props)
    if known.accept_hints():
        for atom in hints:
            if atom in known.about:
                expected = [place for place, prop in enumerate(props) if not prop.evaluate({**hints, atom: value})]
                found = known.rejecting(atom, value)
                assert set(found) <= set(expected) and min(len(found), 2) == min(len(expected), 2)
