"""Answers that stand, those that are forgotten, and the cost of both."""

import gc

import pytest

from shapes import Always, Depends, Never, ShapeEnv, SymBool
from shapes.environment import memory, questions, reader
from shapes.environment.events import Asked, Deferred, Guarded, RolledBack
from shapes.environment.trail import Trail
from shapes.errors import InvalidArgument
from tests.costs import in_calls


def two_sizes() -> ShapeEnv:
    env = ShapeEnv(solvers=False)
    env.sizes("b s", hints=(4, 128), lo=1)
    return env


@pytest.fixture
def env() -> ShapeEnv:
    return two_sizes()


def test_always_is_inherited_and_depends_is_asked_again(env: ShapeEnv) -> None:
    """An `Always` answer is inherited, and a `Depends` answer is asked again once a fact may close it."""
    settled, opened = env.ask("b*s >= 1"), env.ask("s % 8 == 0")
    env.assume("b <= 100")
    again = env.ask("b*s >= 1")
    assert again == settled and isinstance(again, Always) and isinstance(settled, Always)
    assert again.found is settled.found and again is env.ask("b*s >= 1")
    still = env.ask("s % 8 == 0")
    assert isinstance(still, Depends) and still.facts is env.known and still.check()
    env.assume("s % 16 == 0")
    assert isinstance(env.ask("s % 8 == 0"), Always)
    assert isinstance(opened, Depends)


def test_a_core_does_not_depend_on_when_it_was_asked_first() -> None:
    """A question that was settled early has the core that it would have if it were asked now."""
    cores = []
    for early in (False, True):
        env = ShapeEnv(solvers=False)
        env.sizes("a b c", lo=0)
        mark = env.checkpoint()
        env.assume("a + b >= 9")
        env.assume("b <= 2")
        if early:
            first = env.ask("a >= 5")
            assert isinstance(first, Always) and first.check()
        env.assume("a >= 6")
        verdict = env.ask("a >= 5")
        assert isinstance(verdict, Always) and verdict.check()
        cores.append({fact.text for fact in verdict.core})
        env.rollback(mark)
        assert not isinstance(env.ask("a >= 5"), Always)
    assert cores[0] == cores[1]


def test_a_core_has_no_fact_that_was_taken_back() -> None:
    """A question that is asked again under facts that a rollback takes back keeps none of them as evidence."""
    env = ShapeEnv(solvers=False)
    env.sizes("b s", lo=0)
    env.assume("b + s >= 9")
    env.assume("s <= 2")
    assert isinstance(env.ask("b >= 5"), Always)
    mark = env.checkpoint()
    env.assume("b >= 6")
    env.ask("b >= 5")
    env.rollback(mark)
    (verdict,) = [each for each in env._questions.valid_verdicts() if str(each.prop) == "b >= 5"]
    assert isinstance(verdict, Always) and verdict.check()
    assert {fact.text for fact in verdict.core} == {"b + s >= 9", "s <= 2"}


def test_what_is_no_proposition_is_refused(env: ShapeEnv) -> None:
    """Bad arguments end in a sentence, also where they cannot be looked up."""
    prop, _ = env.parse("b >= 1")
    refused: list[tuple[object, ...]] = [("b", "b"), ([],), (None,), (prop, "b"), ({}, prop)]
    for arguments in refused:
        with pytest.raises(InvalidArgument, match=r"verdict_on: (prop|domain)=.*expected a proposition"):
            env.verdict_on(*arguments)  # type: ignore[arg-type]
    assert isinstance(env.verdict_on(prop), Always)
    opened = env.ask("b >= 2")
    assert isinstance(opened, Depends)
    with pytest.raises(InvalidArgument, match=r"facts=None: expected facts"):
        opened.under(None)  # type: ignore[arg-type]


def test_a_new_symbol_gets_a_value_in_every_witness(env: ShapeEnv) -> None:
    """Witnesses assign values to all symbols, new ones too."""
    env.ask("s % 8 == 0")
    env.symbol("h", lo=5, hint=6)
    verdict = env.ask("s % 8 == 0")
    assert isinstance(verdict, Depends)
    for values in (verdict.true_values, verdict.false_values):
        assert {atom.name for atom in values} == {"b", "s", "h"}
    assert verdict.check() and set(verdict.true_at) == set(verdict.false_at) == {"s"}


def test_a_name_that_comes_back_is_another_symbol(env: ShapeEnv) -> None:
    """A name that is declared again after a rollback is another symbol."""
    mark = env.checkpoint()
    env.symbol("h", lo=10)
    assert isinstance(env.ask("h >= 10"), Always)
    env.rollback(mark)
    env.symbol("h", lo=0)
    assert isinstance(env.ask("h >= 10"), Depends)


def test_forgetting_changes_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forgetting cached answers changes no answer, and a rollback restores none of the undone ones."""
    monkeypatch.setattr(questions, "ANSWERS_KEPT", 8)
    monkeypatch.setattr(reader, "TEXTS_KEPT", 8)
    monkeypatch.setattr(memory, "NODES_SWEPT", 16)
    env = two_sizes()
    env.ask("s % 8 == 0")
    mark = env.checkpoint()
    env.assume("s % 16 == 0")
    for k in range(40):
        assert isinstance(env.ask(f"{k}*b + s >= 1"), Always)
    assert isinstance(env.ask("s % 8 == 0"), Always)
    env.rollback(mark)
    assert isinstance(env.ask("s % 8 == 0"), Depends)
    inner = env.checkpoint()
    env.assume("b % 2 == 0")
    env.ask("b % 2 == 0")
    env.rollback(inner)
    assert isinstance(env.ask("b % 2 == 0"), Depends)


def test_memory_does_not_grow_with_the_number_of_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory does not grow with the number of questions."""
    monkeypatch.setattr(questions, "ANSWERS_KEPT", 256)
    monkeypatch.setattr(reader, "TEXTS_KEPT", 256)
    monkeypatch.setattr(memory, "NODES_SWEPT", 1024)
    env = two_sizes()

    def objects() -> int:
        gc.collect()
        return len(gc.get_objects())

    def ask(begin: int, end: int) -> None:
        for k in range(begin, end):
            env.ask(f"{k}*b + s >= {k + 1}")

    ask(0, 2000)
    before = objects()
    ask(2000, 6000)
    assert objects() <= 1.2 * before


def test_a_trail_goes_back_whatever_was_dropped() -> None:
    """A rollback after forgetting undoes exactly the answers that came later."""
    trail: Trail[int, int] = Trail(8)
    for k in range(6):
        trail[k] = k
    early = trail.position
    for k in range(6, 30):
        trail.make_room()
        trail[k] = k
        assert len(trail) <= 8
    late = trail.position
    assert late == 30
    trail[30] = 30
    trail.return_to(late)
    assert 30 not in trail and 29 in trail and trail.position == 30
    trail.return_to(early)
    assert not trail and trail.position <= early
    trail[100] = 100
    trail.return_to(trail.position)
    assert list(trail) == [100]


def test_listeners_hear_questions_and_commitments_in_order(env: ShapeEnv) -> None:
    """Listeners are notified of guards, choices and questions in order."""
    heard: list[object] = []
    stop = env.listen(heard.append)
    env.ask("s % 8 == 0", purpose="person")
    env.guard("s % 8 == 0")
    mark = env.checkpoint()
    env.expect_true(env.unbacked("u0", lo=0) < 5, "small")
    env.rollback(mark)
    stop()
    env.ask("b >= 2")
    kinds = [type(event).__name__ for event in heard]
    assert kinds == ["Asked", "Asked", "Guarded", "Marked", "Declared", "Asked", "Deferred", "RolledBack"]
    first, second = [event for event in heard if isinstance(event, Asked)][:2]
    assert (first.purpose, first.commits, first.text) == ("person", False, "s % 8 == 0")
    assert second.commits is True
    assert [type(event) for event in heard if not isinstance(event, Asked)][-1] is RolledBack
    assert any(isinstance(event, Guarded) for event in env.events)
    assert not any(isinstance(event, Deferred) for event in env.events)


def test_an_answered_question_costs_a_look_up(env: ShapeEnv) -> None:
    """A question that was answered costs a look-up (limits are several times the measured cost)."""
    question = SymBool(env, *env.parse("b*s >= 1"))
    undecided = SymBool(env, *env.parse("s % 8 == 0"))
    env.ask(question)
    env.ask(undecided)
    assert in_calls(lambda: env.ask(question)) < 25
    assert in_calls(lambda: env.ask(undecided)) < 25
    assert in_calls(lambda: env.guard(question)) < 25


def test_a_rollback_costs_what_it_takes_back() -> None:
    """The cost of a rollback depends on what it undoes, not on the size of the environment."""

    def stretch(env: ShapeEnv) -> None:
        with env.speculate():
            env.assume("x + y >= 3")
            env.ask("x + y >= 2")
            env.ask("x >= 2")

    environments = []
    for count in (20, 600):
        env = ShapeEnv(solvers=False)
        for k in range(count):
            env.symbol(f"s{k}", lo=1)
        env.sizes("x y", lo=0)
        stretch(env)
        environments.append(env)
    small, large = environments
    # in turns, so that a busy machine slows down both; with 30 times the symbols a copy would cost 30 times as much
    ratios = []
    for _ in range(3):
        before = in_calls(lambda: stretch(small), times=20)
        ratios.append(in_calls(lambda: stretch(large), times=20) / before)
    assert min(ratios) < 10, ratios


def test_an_open_answer_seen_to_stand_in_a_scope_is_seen_again_after_it(env: ShapeEnv) -> None:
    """A witness that was checked against a hypothesis is checked again against the facts that come in its place."""
    env.ask("max(b, s) <= 5")
    with env.hypothesis("b >= 1 and s <= 10**6"):
        env.ask("max(b, s) <= 5")
    env.assume("max(b, s) <= 130")
    verdict = env.ask("max(b, s) <= 5")
    assert (
        isinstance(verdict, Depends)
        and env.known.holds_at(verdict.true_values)
        and env.known.holds_at(verdict.false_values)
    )


def test_what_is_recorded_is_recognised_word_by_word() -> None:
    """A failure means that a rule which runs again requires what it has required before once more, each time."""
    env = ShapeEnv(origin=lambda: None)
    env.sizes("b d")
    either = "b == 0 or max(b - 1, 0) == max(d - 1, 0) or max(b, 1) == 2 or max(d, 1) == 2"
    env.assume(either)
    for question, answer in ((either, Always), (f"not ({either})", Never)):
        verdict = env.ask(question, effort="fast")
        assert isinstance(verdict, answer) and verdict.check()
    before = len(env.events)
    env.require(either)
    assert len(env.events) == before


def test_witnesses_name_every_symbol_of_the_text(env: ShapeEnv) -> None:
    """A symbol that cancels is a symbol of the question as it was asked: its witnesses have a value for it."""
    env.assume("b % 4 == 0")
    env.symbol("t", hint=7)
    for text, names in (("s + b - b > 3", "bs"), ("s > 3 or t != t", "st"), ("s > 3", "s"), ("s*0 + b > 9", "bs")):
        for _ in range(2):  # once more, as it was answered before
            verdict = env.ask(text)
            assert isinstance(verdict, Depends) and verdict.check()
            assert "".join(verdict.true_at) == "".join(verdict.false_at) == names
            assert env.known.holds_at(verdict.true_values) and env.known.holds_at(verdict.false_values)
    again = env.ask("s + b - b > 3")
    assert isinstance(again, Depends) and again.true_at == {"b": 4, "s": 4} and again.false_at == {"b": 4, "s": 1}
    mark = env.checkpoint()
    env.assume("b <= 4")
    later = env.ask("s + b - b > 3")
    assert isinstance(later, Depends) and later.true_at == {"b": 4, "s": 4} and later.check()
    env.rollback(mark)
    assert isinstance(env.ask("s + b - b > 3"), Depends)


def test_a_text_is_worded_anew_when_a_name_in_it_means_another_symbol(env: ShapeEnv) -> None:
    """An answer outlives a symbol that cancels in its text; its witnesses then name the symbol of this name now."""
    env.ask("s > 3")
    for low in (10, 20):
        mark = env.checkpoint()
        env.symbol("h", lo=low)
        verdict = env.ask("s + h - h > 3")
        assert isinstance(verdict, Depends) and verdict.true_at["h"] >= low and verdict.check()
        assert env.ask("s + h - h > 3") is verdict
        env.rollback(mark)


def test_an_answer_found_in_a_stretch_ends_with_it(env: ShapeEnv) -> None:
    """There is one trail of answers: an open one that a stretch closed is open after it."""
    env.ask("s % 8 == 0")
    mark = env.checkpoint()
    env.assume("s % 16 == 0")
    assert isinstance(env.ask("s % 8 == 0"), Always)
    env.rollback(mark)
    assert isinstance(env.ask("s % 8 == 0"), Depends)
    before = env.ask("b*s >= 1")
    env.rollback(env.checkpoint())
    assert env.ask("b*s >= 1") is before, "found before anything was committed, it stands"
