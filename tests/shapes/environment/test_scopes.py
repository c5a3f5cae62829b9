"""Scopes end where they end: hypotheses, bound variables, forks, joins, bounds over loops."""

import itertools

import pytest

from shapes import Always, Contradiction, Depends, Never, ShapeEnv, ShapeError, SymInt, UndecidedGuard


@pytest.fixture
def env() -> ShapeEnv:
    return ShapeEnv()


def test_a_bound_variable_leaks_nothing(env: ShapeEnv) -> None:
    """A bound variable does not imply that the loop has an iteration."""
    env.sizes("s t", hints=(3, 5))
    before = (env.known, env.events, dict(env.names))
    with env.hypothesis("i < s*t") as (i,):
        assert isinstance(env.ask("s*t > 0"), Always)
        assert isinstance(env.ask(i >= 0), Always)
    assert (env.known, env.events, dict(env.names)) == before
    assert isinstance(env.ask("s*t > 0"), Depends)


def test_a_scope_ends_with_an_exception_too(env: ShapeEnv) -> None:
    """A scope ends with an exception too."""
    s = env.symbol("s", hint=3)
    before = (env.known, env.events)
    with pytest.raises(ZeroDivisionError), env.hypothesis(s > 10):
        env.guard("s > 1")
        raise ZeroDivisionError
    assert (env.known, env.events) == before
    with pytest.raises(Contradiction), env.hypothesis("s < 0"):
        pytest.fail("nothing can run here")
    assert (env.known, env.events) == before


def test_what_is_committed_in_a_scope_lasts_without_the_scope(env: ShapeEnv) -> None:
    """A guard found in a scope lasts, and a check of one branch is not known in the other."""
    s, b = env.sizes("s b", hints=(30, 4))
    u = env.unbacked("u0", lo=0)
    with env.hypothesis(s > 10):
        assert env.guard(b > 2) is True
        env.expect_true(u <= 7, "few")
        assert isinstance(env.ask(u <= 7), Always)
    assert [str(guard.prop) for guard in env.guards()] == ["b >= 3"]
    assert isinstance(env.ask(u <= 7), Depends)
    (check,) = env.runtime_asserts()
    assert check.message == "few"
    with env.hypothesis("s > 10"):
        assert isinstance(env.ask(u <= 7), Always)


def test_hints_say_nothing_in_a_branch_that_is_not_taken(env: ShapeEnv) -> None:
    """Tracing a branch that the run does not take commits to no guards of that run."""
    s, b = env.sizes("s b", hints=(3, 4))
    with env.hypothesis(s > 10), pytest.raises(UndecidedGuard):
        env.guard(b > 2)
    assert not env.guards()


def test_nested_scopes(env: ShapeEnv) -> None:
    """An inner scope ends without ending the outer one."""
    s, b = env.sizes("s b", lo=1)
    with env.hypothesis("i < b") as (i,):
        with env.hypothesis("j < s") as (j,):
            assert isinstance(env.ask(i * s + j < b * s), Always)
        assert isinstance(env.ask(i < b), Always) and "j" not in env.names
        with pytest.raises(ShapeError):
            env.ask("j < s")


def brute(upper: bool, size: str, bound: str, loops: dict[str, str], free: dict[str, range]) -> bool:
    """Return True if the bound holds for all small sizes and all iterations."""
    for values in itertools.product(*free.values()):
        known = {**dict(zip(free, values)), "ceildiv": lambda n, d: -(-n // d)}
        for steps in itertools.product(*[range(eval(limit, known)) for limit in loops.values()]):
            inside = eval(size, {**known, **dict(zip(loops, steps))})
            outside = eval(bound, known)
            if inside > outside if upper else inside < outside:
                return False
    return True


@pytest.mark.parametrize(
    ("size", "loops", "expected"),
    [
        ("i*s + 3", {"i": "b"}, "b*s - s + 3"),
        ("i*s + j", {"i": "b", "j": "s"}, "b*s - 1"),
        ("(i*s + j) // 4", {"i": "b", "j": "s"}, "(b*s - 1)//4"),
        ("b - i", {"i": "b"}, "b"),
        ("s*i - i", {"i": "b"}, "b*s - b - s + 1"),
        ("i*i", {"i": "b"}, "(b - 1)**2"),
        ("7", {"i": "b"}, "7"),
        ("i % 8", {"i": "b"}, None),
    ],
)
def test_bounds_over_loops(env: ShapeEnv, size: str, loops: dict[str, str], expected: str | None) -> None:
    """Bounds over loops hold, and are tight."""
    free = {"b": range(1, 5), "s": range(1, 5)}
    env.sizes("b s", lo=1)
    with env.hypothesis(*[f"{name} < {limit}" for name, limit in loops.items()]):
        variables = [SymInt(env, env.names[name], env.interner.true) for name in loops]
        upper, lower = env.upper_bound(size, over=variables), env.lower_bound(size, over=variables)
    assert upper is not None and lower is not None
    assert brute(True, size, str(upper), loops, free) and brute(False, size, str(lower), loops, free)
    if expected is not None:
        assert isinstance(env.ask(f"{upper} == {expected}"), Always), f"{upper} is not {expected}"


def test_forks_do_not_disturb_one_another(env: ShapeEnv) -> None:
    """Facts of one fork are not known in the other."""
    s = env.symbol("s", hint=128)
    env.guard(s > 3)
    one, other = env.fork(), env.fork()
    one.guard(s > 64)
    other.assume("s % 16 == 0")
    assert isinstance(one.ask(s > 64), Always) and isinstance(other.ask(s > 64), Depends)
    assert isinstance(other.ask("s % 16 == 0"), Always) and isinstance(env.ask("s % 16 == 0"), Depends)
    assert len(env.events) == 2
    mark = one.checkpoint()
    one.symbol("t", hint=1)
    one.rollback(mark)
    assert "t" not in env.names


def test_joining_keeps_what_both_branches_know(env: ShapeEnv) -> None:
    """A join keeps exactly the facts of both branches."""
    s, _ = env.sizes("s b", hints=(100, 6))
    u = env.unbacked("u0", lo=0)
    then, other = env.fork(under=s >= 64), env.fork(under=s < 64)
    then.assume("b % 6 == 0")
    then.expect_true(u < 10)
    other.assume("b % 4 == 2")
    other.expect_true(u < 20)
    env.join(then, other)
    for question, expected in [
        ("b % 2 == 0", Always),
        ("u0 < 20", Always),
        ("u0 < 10", Depends),
        ("b % 6 == 0", Depends),
        ("s >= 64", Depends),
    ]:
        assert isinstance(env.ask(question), expected), question
    with env.hypothesis("s >= 64"):
        assert isinstance(env.ask("u0 < 10"), Always), "which way was taken says more"
    with env.hypothesis("b >= 5"):
        assert env.guard("s >= 90") is True
        inside = env.fork()
    env.join(inside)
    assert isinstance(env.ask("b >= 5"), Always), "there was but one way"
    stranger = ShapeEnv()
    stranger.symbol("q", hint=1)
    with pytest.raises(ShapeError, match="forks"):
        env.join(stranger)


def test_a_dead_branch_is_seen_when_it_is_entered(env: ShapeEnv) -> None:
    """A branch that can never run is reported when it is entered."""
    s = env.symbol("s", lo=10)
    with pytest.raises(Contradiction):
        env.fork(under=s < 5)
    assert isinstance(env.ask(s < 5), Never)


def test_a_forks_own_sizes_commit_there(env: ShapeEnv) -> None:
    """A guard about sizes of a fork stays in the fork."""
    s = env.symbol("s", hint=128)
    fork = env.fork()
    assert bool(fork.adopt(s) > 3)
    assert not env.guards() and [str(guard.prop) for guard in fork.guards()] == ["s >= 4"]


def test_a_fork_takes_symbols_declared_since() -> None:
    """A fork keeps its facts about symbols that its parent declared later."""
    env = ShapeEnv(origin=lambda: None)
    s = env.symbol("s", lo=1, hint=8)
    then, other = env.fork(under=s > 4), env.fork(under=s <= 4)
    inner = then.unbacked(lo=0)
    then.assume(inner <= then.adopt(s))
    u = env.unbacked(lo=0)
    then.rebind(then.adopt(u), inner)
    other.rebind(other.adopt(u), s)
    for fork in (then, other):
        assert isinstance(fork.ask(u <= s), Always)
        fork.postulate(u <= s)
    env.join(then, other)
    assert isinstance(env.ask(u <= s), Always)
    assert isinstance(env.ask(u == s), Depends)
