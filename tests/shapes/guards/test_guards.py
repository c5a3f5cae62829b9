"""Guards: complete, minimal, each with a size that only it rejects; certificates over boxes."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shapes import Always, Depends, Never, ShapeEnv, ShapeError
from shapes.guards import guards
from solver.decide.assume import assume
from solver.knowledge.facts import Conflict, Facts
from solver.proofs.fact import Fact


def accepted(env: ShapeEnv, sizes: dict[str, int]) -> bool:
    """The answer of the compiled check, by evaluating the guards and ranges one by one."""
    values = {atom: sizes[declared.name] for atom, declared in env.symbols.items()}
    conditions = [fact for guard in env.guards() for fact in (guard.domain, guard.prop)]
    conditions += [declared.fact.prop for declared in env.symbols.values()]
    return all(condition.evaluate(values) for condition in conditions)


def test_a_guard_that_follows_from_later_ones_is_left_out() -> None:
    """A guard that later ones imply is left out."""
    env = ShapeEnv()
    s = env.symbol("s", hint=128)
    env.guard(s > 3)
    env.guard(s % 4 == 0)
    env.guard(s % 16 == 0)
    env.guard(s > 64)
    assert [str(guard.prop) for guard in env.guards()] == ["s % 16 == 0", "s >= 65"]


def test_redundant_guards_of_a_known_report() -> None:
    """`s > 3` makes the two others redundant, and `s > 2` does not."""
    for least, redundant in ((3, True), (2, False)):
        env = ShapeEnv()
        s = env.symbol("s", hint=12)
        env.guard(s > least)
        first, second = 1 % (s // 2) != 0, 32 * (s // 2) ** 2 - 16 * (s // 2) != 0
        assert isinstance(env.ask(first), Always) is redundant
        assert isinstance(env.ask(second), Always)
        env.guard(first)
        env.guard(second)
        expected = ["s >= 4"] if redundant else ["1 % (s//2) != 0"]
        assert [str(guard.prop) for guard in env.guards()] == expected, "the second form implies s >= 3"
        if not redundant:
            verdict = env.certify(s=(3, 100))
            assert isinstance(verdict, Depends) and verdict.false_at == {"s": 3}


def test_many_guards_of_one_form() -> None:
    """The cost of reading thousands of bounds is not quadratic."""
    env = ShapeEnv(solvers=False)
    b = env.symbol("b", hint=1000)
    for k in range(120):
        env.guard(env.symbol(f"s{k}", hint=k) <= b)
    guards = env.guards()
    assert len(guards) == 120
    assert all(guard.rejects is not None for guard in guards)


CONDITIONS = [
    "a >= 2",
    "a > b",
    "a % 4 == 0",
    "a % 8 == 0",
    "a + b >= 9",
    "b <= 12",
    "a * b <= 60",
    "a // (b + 1) >= 1",
    "a // b == 2",
    "max(a, b) <= 20",
    "a != 3",
    "a == 2 * b",
]


@given(st.lists(st.sampled_from(CONDITIONS), max_size=6), st.integers(0, 16), st.integers(0, 8))
def test_the_minimal_set_accepts_exactly_what_all_guards_accept(conditions: list[str], a: int, b: int) -> None:
    """The minimal guards accept exactly what all guards accept, and each `rejects` is rejected by its guard alone."""
    env = ShapeEnv(solvers=False)
    env.sizes("a b", hints=(a, b))
    recorded = []
    for condition in conditions:
        if "// b" in condition and b == 0:
            continue
        before = len(env.events)
        env.guard(condition)
        recorded += [event.fact for event in env.events[before:]]  # type: ignore[union-attr]
    guards = env.guards()
    atoms = {declared.name: atom for atom, declared in env.symbols.items()}
    for x, y in itertools.product(range(25), range(15)):
        values = {atoms["a"]: x, atoms["b"]: y}
        everything = all(fact.domain.evaluate(values) and fact.prop.evaluate(values) for fact in recorded)
        kept = all(guard.domain.evaluate(values) and guard.prop.evaluate(values) for guard in guards)
        assert kept == everything, (x, y)
    for guard in guards:
        if guard.rejects is None:
            continue
        values = {atoms[name]: size for name, size in guard.rejects.items()}
        assert not (guard.domain.evaluate(values) and guard.prop.evaluate(values))
        assert all(size >= 0 for size in guard.rejects.values())
        others = [other for other in guards if other is not guard]
        assert all(other.domain.evaluate(values) and other.prop.evaluate(values) for other in others)


@given(st.lists(st.sampled_from(CONDITIONS), min_size=1, max_size=4), st.data())
def test_a_certificate_says_what_enumeration_says(conditions: list[str], data: st.DataObject) -> None:
    """A certificate says the same as enumeration."""
    env = ShapeEnv(solvers=False)
    env.sizes("a b", hints=(8, 4))
    for condition in conditions:
        env.guard(condition)
    low = data.draw(st.tuples(st.integers(0, 9), st.integers(0, 5)))
    high = tuple(at + data.draw(st.integers(0, 6)) for at in low)
    answers = {
        accepted(env, {"a": a, "b": b})
        for a, b in itertools.product(range(low[0], high[0] + 1), range(low[1], high[1] + 1))
    }
    match env.certify(a=(low[0], high[0]), b=(low[1], high[1])):
        case Always():
            assert answers == {True}
        case Never():
            assert answers == {False}
        case Depends(true_at, false_at):
            assert answers == {True, False}
            assert accepted(env, true_at) and not accepted(env, false_at)


def test_certificates_name_what_they_cannot_certify() -> None:
    """Certificates name what they cannot certify: mistyped sizes, empty boxes."""
    env = ShapeEnv()
    b = env.symbol("b", lo=1, hi=64, hint=4)
    u = env.unbacked("u0", lo=0)
    env.expect_true(u < b)
    assert isinstance(env.certify(), Always), "run-time checks are not judged"
    assert isinstance(env.certify(b=(1, 65)), Depends)
    assert isinstance(env.certify({"b": 7}), Always)
    assert isinstance(env.certify(b=(65, None)), Never)
    with pytest.raises(ShapeError, match="batch"):
        env.certify(batch=(1, 2))
    with pytest.raises(ShapeError, match="no size"):
        env.certify(b=(3, 2))


def test_assumptions_are_part_of_what_is_accepted_unless_they_are_trusted() -> None:
    """An assumption that a dropped guard follows from is tested, unless it is trusted."""
    env = ShapeEnv()
    s = env.symbol("s", hint=64)
    env.assume("s % 16 == 0")
    assert env.guard(s % 8 == 0) is True and not env.guards()
    assert not env.compile_guards({"s": 0})(68) and env.compile_guards({"s": 0}, trusted=True)(68)
    verdict = env.certify(s=(0, 64))
    assert isinstance(verdict, Depends) and verdict.false_at["s"] % 16
    assert isinstance(env.certify(s=(0, 64), trusted=True), Always)


def test_specializations_name_the_chain_of_lines() -> None:
    """Specializations name the chain of lines that made a size constant."""
    env = ShapeEnv()
    a, b, c = env.sizes("a b c", hints=(8, 8, 4))
    env.guard(a == b)
    env.guard(b == 2 * c)
    env.guard(c == 4)
    by_name = {each.text: each for each in env.specializations()}
    assert {name: each.value for name, each in by_name.items()} == {"a": 8, "b": 8, "c": 4}
    assert [fact.text for fact in by_name["a"].because] == ["a == b", "2*c == b", "c == 4"] or (
        len(by_name["a"].because) == 3
    )
    assert str(by_name["c"]).count("test_guards.py") == 1


def test_a_guard_that_needs_a_proof_is_tested_beside_what_is_about_its_symbols() -> None:
    """A guard that needs a proof is compared with the guards that share symbols with it."""
    env = ShapeEnv(solvers=False)
    a, b, c = env.sizes("a b c", hints=(12, 20, 7))
    for condition in (c >= 5, a * b != 6, a >= b - 30, c != 9, a + b >= 8, b % 4 == 0, a + b <= 400):
        assert env.guard(condition)
    guards = env.guards()
    assert [str(guard) for guard in guards] == [
        "c >= 5", "a + 30 >= b", "c != 9", "a + b >= 8", "b % 4 == 0", "a + b <= 400"
    ]  # fmt: skip
    atoms = {declared.name: atom for atom, declared in env.symbols.items()}
    for guard in guards:
        assert guard.rejects is not None
        values = {atoms[name]: size for name, size in guard.rejects.items()}
        assert [other for other in guards if not other.prop.evaluate(values)] == [guard]


PAIRS = [
    "0 <= s and s <= b",
    "s <= b + 3",
    "b >= 0",
    "s + b >= 6",
    "s % 2 == 1",
    "b % 4 == 0 and b % 8 == 0",
    "b % 2 == 0",
]


@given(
    st.lists(st.lists(st.sampled_from(PAIRS), max_size=4), min_size=1, max_size=4),
    st.booleans(),
)
def test_guards_that_share_no_symbol_are_independent(groups: list[list[str]], hinted: bool) -> None:
    """The minimal guards of independent groups are those of each group; each `rejects` is rejected by its guard alone,
    among the guards of all groups."""
    together = ShapeEnv(solvers=False)
    expected = []
    for number, conditions in enumerate(groups):
        alone = ShapeEnv(solvers=False)
        for env, end in ((together, str(number)), (alone, str(number))):
            for name, size in (("s", 5), ("b", 16)):
                env.symbol(name + end, None, hint=size)
            for condition in conditions:
                env.guard(condition.replace("s", f"s{end}").replace("b", f"b{end}"))
        expected += [guard.text for guard in alone.guards()]
    if not hinted:
        together.symbol("unrelated")
    found = together.guards()
    atoms = {declared.name: atom for atom, declared in together.symbols.items()}
    assert [guard.text for guard in found] == expected
    for guard in found:
        assert guard.rejects is not None
        values = {atoms[name]: size for name, size in guard.rejects.items()}
        rejecting = [each for each in found if not (each.domain.evaluate(values) and each.prop.evaluate(values))]
        assert rejecting == [guard]


def test_redundant_guards_of_independent_pairs_cost_a_linear_number_of_assumptions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The guards on other pairs of sizes are not assumed for each redundant guard."""
    learned: list[Fact] = []

    def counted(facts: Facts, fact: Fact) -> Facts | Conflict:
        learned.append(fact)
        return assume(facts, fact)

    monkeypatch.setattr(guards, "assume", counted)
    counts = []
    for pairs in (10, 40):
        env = ShapeEnv(solvers=False)
        for k in range(pairs):
            s, b = env.symbol(f"s{k}", hint=5), env.symbol(f"b{k}", hint=20)
            env.guard(s <= b + 3)
            env.guard(s <= b)
        learned.clear()
        assert [guard.text for guard in env.guards()] == [f"b{k} >= s{k}" for k in range(pairs)]
        counts.append(len(learned))
    assert counts[1] == 4 * counts[0]


def test_what_is_no_fact_is_refused() -> None:
    """A guard of something else ends in a sentence."""
    with pytest.raises(ShapeError, match=r"Guard\.of: fact=None: expected a fact"):
        guards.Guard.of(None)  # type: ignore[arg-type]
