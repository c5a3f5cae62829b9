"""Policies: what they choose, that the environment obeys, and that a choice is never knowledge."""

import pytest

from shapes import Always, Depends, ShapeEnv, UndecidedGuard
from shapes.environment.events import Chosen
from shapes.errors import SpecializedDynamic
from shapes.policies import OpenQuestion, Policy, named, size_oblivious, static, torch_defaults, unspecialized


def texts(env: ShapeEnv) -> list[str]:
    return [str(guard.prop) for guard in env.guards()]


def test_nothing_is_specialized_unless_asked() -> None:
    """Sizes 0 and 1, and equal hints, are not specialized unless asked."""
    env = ShapeEnv(policy=unspecialized)
    b, s, t = env.sizes("b s t", hints=(1, 64, 64))
    assert texts(env) == []
    assert isinstance(env.ask(s == t), Depends) and isinstance(env.ask(b == 1), Depends)


def test_torch_defaults() -> None:
    """The policy of torch has torch's behaviour."""
    env = ShapeEnv(policy=torch_defaults)
    zero, one, s, t, free = env.sizes("zero one s t free", hints=(0, 1, 64, 64, None))
    assert isinstance(env.ask(zero == 0), Always) and isinstance(env.ask(one == 1), Always)
    assert isinstance(env.ask(s >= 2), Always) and isinstance(env.ask(s == t), Always)
    assert isinstance(env.ask(free == 0), Depends), "no hint, no policy"
    check = env.compile_guards({"zero": 0, "one": 1, "s": 2, "t": 3})
    assert check(0, 1, 8, 8) and not check(0, 1, 8, 9) and not check(0, 1, 1, 1) and not check(2, 1, 8, 8)


def test_static() -> None:
    """A static trace accepts no other sizes."""
    env = ShapeEnv(policy=static)
    b = env.symbol("b", hint=4)
    assert isinstance(env.ask(b == 4), Always) and texts(env) == ["b == 4"]
    (constant,) = env.specializations()
    assert (constant.text, constant.value) == ("b", 4)


def test_size_oblivious_answers_are_choices_and_no_facts() -> None:
    """A size-oblivious answer is a choice and no fact."""
    env = ShapeEnv(policy=size_oblivious)
    u = env.unbacked("u0", lo=0)
    assert env.guard(u == 1) is False
    assert env.guard(u == 1) is False
    assert isinstance(env.ask(u == 1), Depends) and not env.guards() and not env.runtime_asserts()
    (choice,) = [event for event in env.events if isinstance(event, Chosen)]
    assert choice.answer is False and "size_oblivious" in choice.by
    with pytest.raises(UndecidedGuard):
        env.guard(u == 7)
    anything = env.unbacked("i0")
    with pytest.raises(UndecidedGuard):
        env.guard(anything == 1)


def test_fallbacks_are_choices_and_no_facts() -> None:
    """`guard_or_false` of a data-dependent condition adds no fact."""
    env = ShapeEnv()
    u = env.unbacked("u0", lo=0)
    assert env.guard_or_false(u > 3) is False and env.guard_or_true(u > 3) is True
    assert isinstance(env.ask(u > 3), Depends)
    assert env.guard_or_true(u < 0) is False and env.guard_or_false(u >= 0) is True, "known answers are no fallbacks"
    assert len([event for event in env.events if isinstance(event, Chosen)]) == 2
    b = env.symbol("b", hint=4)
    assert env.guard_or_false(b > 3) is True and texts(env) == ["b >= 4"], "with a hint it is a guard"


def test_an_optional_question_adds_no_check() -> None:
    """An optional question adds no check: 1 % u == 0 does not refuse u = 0."""
    env = ShapeEnv()
    u, b = env.unbacked("u0", lo=0), env.symbol("b", hint=4)
    assert env.guard_or_false(1 % u == 0) is False and env.guard_or_true(b // u == 0) is True
    assert env.runtime_asserts() == () and len([event for event in env.events if isinstance(event, Chosen)]) == 2
    assert env.guard_or_false(8 % b == 0) is True and texts(env) == ["8 % b == 0"], "of inputs it is a guard"
    with pytest.raises(UndecidedGuard):
        env.guard(1 % u == 0)


def test_a_choice_is_logged_once_per_stretch() -> None:
    """A choice is logged once per stretch."""
    env = ShapeEnv()
    u = env.unbacked("u0", lo=0)
    for _ in range(100):
        env.guard_or_false(u > 3)
    assert len(env.events) == 2
    with env.speculate():
        env.guard_or_false(u > 4)
    env.guard_or_false(u > 4)
    assert len(env.events) == 3


def test_a_strict_size_does_not_become_a_constant() -> None:
    """A dimension marked as dynamic is not silently specialized."""
    env = ShapeEnv()
    b = env.symbol("b", hint=4, strict=True)
    s = env.symbol("s", hint=4)
    env.guard(b == s)
    before = env.events
    for command in (lambda: env.guard(b == 4), lambda: env.guard(s == 4), lambda: int(b)):
        with pytest.raises(SpecializedDynamic) as caught:
            command()
        assert "b is marked as dynamic" in str(caught.value) and "test_policies.py" in str(caught.value)
    assert env.events == before
    assert env.guard(b >= 4) is True
    with pytest.raises(SpecializedDynamic):
        env.guard(b <= 4)


class Cautious:
    """Never takes a hint for an equality."""

    name = "cautious"

    def on_input(self, size):  # type: ignore[no-untyped-def]
        from shapes.policies import Dynamic

        return Dynamic(at_least=1, why="never empty")

    def on_open(self, question: OpenQuestion):  # type: ignore[no-untyped-def]
        from shapes.policies import Refuse, TakeHint

        return Refuse("keep it dynamic") if question.pins else TakeHint("cautiously")


def test_a_policy_of_the_users_own() -> None:
    """A policy of the user's own can be used."""
    policy: Policy = Cautious()
    env = ShapeEnv(policy=policy)
    b = env.symbol("b", hint=4)
    assert texts(env) == ["b >= 1"]
    with pytest.raises(UndecidedGuard, match="keep it dynamic"):
        env.guard(b == 4)
    assert env.guard(b != 5) is True
    assert set(named) == {"unspecialized", "torch_defaults", "size_oblivious", "static"}
