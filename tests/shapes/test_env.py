"""The environment as its documentation shows it: every line of the author's example, and what it must not do."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from shapes import Always, Depends, GaveUp, Never, ShapeEnv, ShapeError, SymBool, SymFloat, SymInt
from shapes.errors import (
    Contradiction,
    FalseAtHint,
    ForeignSymbol,
    ParseError,
    StaleCheckpoint,
    UndecidedGuard,
    Undefined,
)
from tests.threads import at_once

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture
def env() -> ShapeEnv:
    return ShapeEnv()


def test_the_authors_example_from_end_to_end(env: ShapeEnv, tmp_path: Path) -> None:
    """The first program of the documentation works as documented."""
    b, s, d = env.sizes("b s 64", hints=(4, 128))
    h = env.symbol("h", lo=1, hi=8192, hint=64)
    assert d == 64 and env.bounds(h) == (1, 8192)
    env.assume("s % 16 == 0")
    env.assume(s % 16 == 0)
    match env.ask((b * s) % 64 == 0):
        case Depends(true_at, false_at):
            assert (true_at["b"] * true_at["s"]) % 64 == 0 and true_at["s"] % 16 == 0
            assert (false_at["b"] * false_at["s"]) % 64 != 0 and false_at["s"] % 16 == 0
        case verdict:
            pytest.fail(repr(verdict))
    assert env.guard(s > 64) is True
    u = env.unbacked("u0", lo=0)
    env.expect_true(u <= s, "more tokens than slots")
    assert isinstance(env.ask(u > s), Never)
    if u > s:
        pytest.fail("the run-time check says otherwise")
    env.require(b * s < 2**31, "too large")
    mark = env.checkpoint()
    env.guard(b > 2)
    env.rollback(mark)
    with env.speculate():
        env.guard(b > 3)
    with env.hypothesis("i < b"):
        assert isinstance(env.ask("i < b"), Always)
    assert [str(guard.prop) for guard in env.guards()] == ["s >= 65", "b*s <= 2147483647"]
    assert all(guard.origin is not None and guard.origin.file == __file__ for guard in env.guards())
    check = env.compile_guards({"b": 0, "s": 1, "h": 2})
    assert check(4, 128, 64) is True and check(4, 64, 64) is False and check(4, 129, 64) is False
    assert "s % 16 == 0" in str(check.explain(4, 100, 64))
    assert isinstance(env.certify(b=(1, 64), s=(16, 4096)), Depends)
    assert isinstance(env.certify(b=(1, 64), s=(80, 4096), trusted=True), Always)
    env.save(tmp_path / "session.jsonl.gz")
    again = ShapeEnv.load(tmp_path / "session.jsonl.gz")
    assert [str(guard.prop) for guard in again.guards()] == ["s >= 65", "b*s <= 2147483647"]


def test_asking_changes_nothing(env: ShapeEnv) -> None:
    """Asking changes no state."""
    b, s = env.sizes("b s", hints=(4, 128))
    before = (env.known, env.events, dict(env.names))
    env.ask(b * s > 7)
    env.bounds(b * s)
    env.simplify(b * s // 1)
    env.explain(b * s > 7)
    env.fits(b * s, 32)
    assert env.hint(b * s) == 512
    assert env.guarding_hint(b + 1) == 5
    assert (env.known, env.events, dict(env.names)) == before


def test_everything_that_takes_a_proposition_takes_text_truth_values_and_bools(env: ShapeEnv) -> None:
    """Methods that take a proposition take text, truth values and bools."""
    b = env.symbol("b", lo=1, hint=4)
    for question in ("b >= 1", b >= 1, (b >= 1).prop, True):
        assert isinstance(env.ask(question), Always)
        assert env.guard(question) is True
        assert env.guard_or_false(question) is True
        env.assume(question)
        env.expect_true(question)
        env.require(question)
    assert isinstance(env.ask(False), Never)
    assert env.guards() == ()


def test_a_bound_of_none_is_unbounded(env: ShapeEnv) -> None:
    """A bound of None is no bound."""
    n = env.symbol("n", lo=None)
    assert env.bounds(n) == (None, None)
    assert isinstance(env.ask(n >= 0), Depends)
    assert env.bounds(env.symbol("m")) == (0, None)
    assert env.bounds(env.unbacked("u")) == (None, None)


def test_kinds_of_unbacked_values(env: ShapeEnv) -> None:
    """`item()` of float and bool tensors has a counterpart."""
    integer, real, truth = env.unbacked(), env.unbacked(kind="float"), env.unbacked("flag", kind="bool")
    assert isinstance(integer, SymInt) and isinstance(real, SymFloat) and isinstance(truth, SymBool)
    assert isinstance(env.ask("0 <= flag <= 1"), Always)
    assert isinstance(env.ask(truth), Depends)
    env.expect_true(truth)
    assert isinstance(env.ask(truth), Always)
    env.expect_true(real >= 2.0)
    assert not isinstance(env.ask(real >= 1.0), Never | Undefined)


def test_sizes_by_name(env: ShapeEnv) -> None:
    """Shapes that share a named dimension share its symbol."""
    b, _ = env.sizes("b s", hints={"b": 4, "s": 128})
    again, twice, seven = env.sizes("b, 2*b, 7")
    assert isinstance(env.ask(again == b), Always) and isinstance(env.ask(twice == 2 * b), Always) and seven == 7
    with pytest.raises(ShapeError, match="2 names"):
        env.sizes("x y", hints=(1,))
    with pytest.raises(FalseAtHint):
        env.sizes("b z", hints=(5, 6))
    assert "x" not in env.names and "z" not in env.names


@pytest.mark.parametrize("name", ["", "2b", "if", "min", "a b", "x.y"])
def test_names_that_text_could_not_say(env: ShapeEnv, name: str) -> None:
    """A name that text cannot mention is refused."""
    with pytest.raises(ShapeError, match="name="):
        env.symbol(name)


@pytest.mark.parametrize(
    "options", [{"lo": 5, "hi": 4}, {"lo": 1.5}, {"hint": True}, {"hint": "4"}, {"hint": -1}, {"hi": 8, "hint": 9}]
)
def test_bounds_and_hints_that_make_no_sense(env: ShapeEnv, options: dict[str, int]) -> None:
    """A bound or hint that makes no sense is an error."""
    with pytest.raises(ShapeError, match="="):
        env.symbol("b", **options)
    assert not env.names and not env.events


def test_mistakes_point_at_the_column_and_leave_no_trace(env: ShapeEnv) -> None:
    """A mistake points at its column, and the failed command changes nothing."""
    env.sizes("batch s", hints=(4, 128))
    before = env.events
    with pytest.raises(ParseError) as caught:
        env.assume("batch + bach > 3")
    assert caught.value.column == 8 and "batch" in str(caught.value)
    with pytest.raises(ParseError):
        env.ask("batch +")
    with pytest.raises(ShapeError):
        env.ask(3)  # type: ignore[arg-type]
    assert env.events == before


def test_a_question_that_makes_no_sense_is_an_error(env: ShapeEnv) -> None:
    """A question that divides by zero is an error."""
    z = env.symbol("z", lo=0, hi=0)
    n = env.symbol("n")
    with pytest.raises(Undefined):
        env.ask(n // z >= 0)
    with pytest.raises(Undefined):
        env.guard("n // z >= 0")


def test_a_commit_takes_the_domain_with_it(env: ShapeEnv) -> None:
    """A commitment includes its domain: no check accepts sizes at which the program divides by zero."""
    n, d = env.sizes("n d", hints=(12, 4))
    assert env.guard(n // d == 3) is True
    assert isinstance(env.ask("d != 0"), Always)
    check = env.compile_guards({"n": 0, "d": 1})
    assert check(12, 4) and not check(12, 0)


def test_contradictions_name_their_facts_and_change_nothing(env: ShapeEnv) -> None:
    """A contradiction names its facts and changes nothing."""
    env.sizes("a b")
    env.assume("a < b")
    env.assume("b < 10")
    before = (env.known, env.events)
    with pytest.raises(Contradiction) as caught:
        env.assume("a > 20")
    assert {fact.text for fact in caught.value.core} == {"a < b", "b < 10", "a > 20"}
    assert "test_env.py" in str(caught.value)
    assert (env.known, env.events) == before
    with pytest.raises(Contradiction):
        env.expect_true("a >= b", "no room")


def test_a_fact_that_is_false_at_the_hint_names_both_lines(env: ShapeEnv) -> None:
    """A fact that is false at the hint names both lines."""
    env.symbol("b", hint=4)
    with pytest.raises(FalseAtHint) as caught:
        env.assume("b >= 5")
    text = str(caught.value)
    assert "b=4" in text and text.count("test_env.py") == 2
    assert len(env.events) == 1


def test_sizes_of_another_environment_are_errors(env: ShapeEnv) -> None:
    """A size of another environment is an error."""
    stranger = ShapeEnv().symbol("stranger")
    with pytest.raises(ForeignSymbol, match="stranger"):
        env.ask(stranger > 3)
    mark = env.checkpoint()
    lost = env.symbol("lost", hint=3)
    env.rollback(mark)
    for command in (env.ask, env.guard, env.assume, env.expect_true):
        with pytest.raises(ForeignSymbol):
            command(lost > 2)


def test_rollback_leaves_nothing_behind(env: ShapeEnv) -> None:
    """A rollback leaves no guards, names or answers behind."""
    b, s = env.sizes("b s", hints=(4, 128))
    env.ask(b > 2)
    before = (env.known, env.events, dict(env.names), dict(env.hints), dict(env.symbols))
    mark = env.checkpoint()
    env.guard(b * s > 100)
    env.assume("s % 16 == 0")
    u = env.unbacked("u0", lo=0)
    env.expect_true(u < b)
    assert isinstance(env.ask("s % 16 == 0"), Always)
    env.rollback(mark)
    assert (env.known, env.events, dict(env.names), dict(env.hints), dict(env.symbols)) == before
    assert isinstance(env.ask("s % 16 == 0"), Depends)
    assert env.unbacked("u0").expr is not u.expr
    assert isinstance(env.ask("u0 < b"), Depends)


def test_a_checkpoint_that_was_passed_is_an_error(env: ShapeEnv) -> None:
    """A checkpoint that was passed is an error."""
    b = env.symbol("b", hint=4)
    outer = env.checkpoint()
    env.guard(b > 1)
    inner = env.checkpoint()
    env.guard(b > 2)
    env.rollback(outer)
    env.guard(b > 3)
    with pytest.raises(StaleCheckpoint):
        env.rollback(inner)
    env.rollback(outer)
    assert not env.guards()


def test_attached_state_is_rolled_back_too(env: ShapeEnv) -> None:
    """Attached state is rolled back too."""
    graph: list[str] = []

    def snapshot() -> object:
        count = len(graph)
        return lambda: graph.__delitem__(slice(count, None))

    env.attach(snapshot)  # type: ignore[arg-type]
    graph.append("kept")
    with env.speculate():
        graph.append("dropped")
    with env.speculate() as attempt:
        graph.append("kept too")
        attempt.keep()
    assert graph == ["kept", "kept too"]


def test_rebinding_says_what_a_symbol_is(env: ShapeEnv) -> None:
    """Rebinding defines a symbol by an expression, so that questions about it are decided."""
    s = env.symbol("s", lo=2, hint=8)
    u = env.unbacked("u0")
    env.rebind(u, 2 * s)
    assert isinstance(env.ask("u0 % 2 == 0"), Always)
    assert env.guard(u > 10) is True, "the hint of s says so"
    assert [str(guard.prop) for guard in env.guards()] and not env.preconditions() and not env.runtime_asserts()


def test_preconditions_guards_and_asserts_are_told_apart(env: ShapeEnv) -> None:
    """Preconditions, guards and asserts are told apart."""
    s = env.symbol("s", hint=128)
    u = env.unbacked("u0", lo=0)
    env.guard(s >= 10)
    env.expect_true(u >= 20, "at least 20")
    env.expect_true(s >= u, "room for all")
    env.assume("u0 <= 40")
    assert [str(guard) for guard in env.guards()] == ["s >= 10"], "the checks imply s >= 20, but only while it runs"
    assert [str(each) for each in env.preconditions()] == ["u0 <= 40"]
    first, second = env.runtime_asserts()
    assert (first.message, first.symbols, second.symbols) == ("at least 20", ("u0",), ("s", "u0"))
    assert env.compile_guards({"s": 0})(10) is True


def test_expect_true_on_inputs_is_a_guard(env: ShapeEnv) -> None:
    """`expect_true` of inputs is a guard."""
    b = env.symbol("b", hint=4)
    env.expect_true(b >= 2, "two at least")
    assert [str(guard.prop) for guard in env.guards()] == ["b >= 2"] and not env.runtime_asserts()
    with pytest.raises(Contradiction, match="no more"):
        env.expect_true(b >= 5, "no more")
    with pytest.raises(ShapeError, match="too small"):
        env.require(b >= 5, "too small")
    with pytest.raises(ShapeError, match="impossible"):
        env.require(b < 2, "impossible")
    without = env.symbol("w")
    env.expect_true(without >= 3)
    assert [str(guard.prop) for guard in env.guards()] == ["b >= 2", "w >= 3"], "the side is known without a hint"
    assert not env.runtime_asserts()


def test_several_sources_of_one_size(env: ShapeEnv) -> None:
    """A dimension shared by two inputs is checked in both."""
    b = env.symbol("b", hint=4, source="x.size(0)")
    env.add_source(b, "y.size(1)")
    assert env.sources(b) == ("x.size(0)", "y.size(1)") == env.sources("b")
    assert env.compile_guards({"b": [("x", 0), ("y", 1)]})([4], [0, 5]) is False


def test_forcing_a_value_is_logged_with_its_line(env: ShapeEnv) -> None:
    """Concretizing a value is logged with its line."""
    b, s = env.sizes("b s", hints=(4, 128))
    assert env.specialize(b * s, "range()") == 512
    (forced,) = env.specializations()
    assert (forced.value, forced.why) == (512, "range()") and forced.origin is not None
    assert forced.origin.file == __file__
    env.guard(b == 4)
    texts = [each.text for each in env.specializations()]
    assert "b" in texts and "s" in texts, "b == 4 and b*s == 512 make s constant as well"
    assert env.specialize(s, "hash") == 128
    assert "128" in str(next(each for each in env.specializations() if each.text == "s"))


def test_two_environments_on_two_threads() -> None:
    """Environments on two threads share no state."""

    failures: list[str] = []

    def work(seed: int) -> None:
        env = ShapeEnv()
        b, s = env.sizes("b s", hints=(4 + seed, 128))
        env.assume("s % 16 == 0")
        for k in range(60):
            if not isinstance(env.ask((b * s * 4) % 64 == 0), Always) or not isinstance(env.ask(b * k >= 0), Always):
                failures.append(f"{seed}: {k}")
            with env.speculate():
                env.guard(b > k)
        if env.guards():
            failures.append(f"{seed}: guards")

    at_once(work)
    assert not failures


def test_no_solver_is_asked_where_solvers_are_left_out() -> None:
    """`solvers=False` loads neither z3 nor sympy."""
    program = (
        "import sys; from shapes import ShapeEnv\nenv = ShapeEnv(solvers=False)\n"
        "a, b, c = env.sizes('a b c')\nenv.ask('a*a*b + c*b*7 - 3*a*c != 2*b*b*b + 5')\nenv.guards()\n"
        "print('z3' in sys.modules, 'sympy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


def test_gave_up_is_never_a_wrong_answer(env: ShapeEnv) -> None:
    """A question beyond the budget has no wrong answer."""
    a, b, c = env.sizes("a b c", lo=1)
    verdict = env.ask(a**7 + b**7 == c**7)
    assert isinstance(verdict, GaveUp | Depends | Never)


def test_integers_of_any_length(env: ShapeEnv, tmp_path: Path) -> None:
    """Integers may have any number of digits."""
    big = 2**100_000
    x = env.symbol("x", hi=big, hint=big)
    assert env.bounds(x) == (0, big) and isinstance(env.ask("x <= 2**100000"), Always)
    env.assume("x > 2**99998")
    assert env.guard(x > 3**50_000) is True
    assert all(str(event) for event in env.events) and all(str(guard) for guard in env.guards())
    with pytest.raises(FalseAtHint) as caught:
        env.assume("x <= 2**99999")
    assert len(str(caught.value)) < 2000
    env.save(tmp_path / "long.jsonl.gz")
    again = ShapeEnv.load(tmp_path / "long.jsonl.gz")
    assert again.bounds("x") == env.bounds(x) and again.hint("x") == big


def test_needing_a_number_that_there_is_not_says_what_needs_it(env: ShapeEnv) -> None:
    """`range(n)` of a run-time value is an error that names the line and the way out."""
    u = env.unbacked("u0", lo=0)
    for force in (lambda: range(u), lambda: int(u), lambda: env.guarding_hint(u), lambda: env.specialize(u, "hash")):
        with pytest.raises(UndecidedGuard) as caught:
            force()
        text = str(caught.value)
        assert (
            text.startswith("cannot take `u0` as a number: ") and "test_env.py:" in text and "keep it symbolic" in text
        )


def test_floats_are_shown_as_floats() -> None:
    """A failure means that messages about a float show the integer of its 64 bits."""
    env = ShapeEnv(origin=lambda: None)
    u = env.unbacked("u", kind="float")
    env.expect_true(u > 2.5)
    assert [fact.text for fact in env.runtime_asserts()] == ["double(u) > 2.5"]
    assert isinstance(env.ask(u > 2.0), Always) and isinstance(env.ask(2 * u + 1 < 6.0), Never)
    verdict = env.ask(u <= 3.0)
    assert isinstance(verdict, Depends) and verdict.check()
    values = re.findall(r"'u': ([^,}]+)", repr(verdict))
    assert 2.5 < float(values[0]) <= 3.0 < float(values[1]) < 9
    with pytest.raises(UndecidedGuard, match=r"true at u=\d\.\d+, false at u=\d\.\d+") as caught:
        bool(u <= 3.0)
    assert "expect_true(-" not in str(caught.value) and "double(u) <= 3.0" in str(caught.value)


def test_proves() -> None:
    """`proves` is true exactly for proven questions."""
    env = ShapeEnv()
    s = env.symbol("s", lo=1, hint=48)
    env.assume("s % 16 == 0")
    assert env.proves(s % 8 == 0) and env.proves("s >= 16", effort="fast")
    assert not env.proves(s % 32 == 0) and not env.proves("s < 16")
