"""Values an author of another compiler holds in hand, after pickle, in another process and under another hash seed."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import TypeVar

import pytest

import shapes.errors
from shapes import Always, Contradiction, Dispatch, ShapeEnv, SymInt, UndecidedGuard
from shapes.errors import ConcurrentScope
from shapes.guards.codegen import is_check
from shapes.origin import Origin, StackWalk, here
from shapes.policies import torch_defaults

T = TypeVar("T")
QUESTIONS = [
    *("(b * s) % 64 == 0", "s % 8 == 0", "b * s >= b", "u0 <= 2 * s", "s // b >= 1", "b * s <= 9999", "s + b - b > 70"),
    *("gcd(b, s) >= 2", "max(b, s) >= 64", "b * s == 511", "x0 >= 0", "b > 100 and s % 32 == 0", "7 // b > 3"),
]


def loaded(value: T) -> T:
    found: T = pickle.loads(pickle.dumps(value))
    return found


def program() -> tuple[ShapeEnv, SymInt]:
    """An environment with every kind of commitment, and a size of it."""
    env = ShapeEnv(policy=torch_defaults)
    b, s, x = env.symbol("b", lo=1, hint=4), env.symbol("s", hint=128, strict=True), env.symbol("x0", hint=4)
    env.add_source("b", "y.size(0)")
    env.assume(s % 16 == 0)
    env.guard((b * s) % 64 == 0)
    env.guard(s > 64)
    u = env.unbacked("u0", lo=0)
    env.unbacked("f", kind="float")
    env.expect_true(u <= s, "more tokens than slots", error=IndexError)
    env.guard_or_false(u > 3)
    int(x // 3)
    return env, b * s


def report(env: ShapeEnv) -> list[str]:
    """Everything that an environment says of itself, as text."""
    check = env.compile_guards({"b": 0, "s": 1, "x0": 2})
    return [
        *(repr(env), env.fingerprint(), env.fingerprint(hints=False), env.policy.name),
        *[str(event) for event in env.events],
        *[f"{fact.kind} {fact.text} {fact.origin}" for fact in env.facts()],
        *[f"{guard} {guard.origin} {dict(guard.rejects or {})} {guard.fingerprint}" for guard in env.guards()],
        *[f"{each} {each.error.__name__} {each.symbols}" for each in env.runtime_asserts()],
        *[str(each) for each in env.specializations()],
        *[f"{question} {env.ask(question)!r} {env.ask(question).check()}" for question in QUESTIONS],
        *(check.source, str(check.explain(4, 100, 4)), str(env.certify(s=(1, 64))), str(env.sources("b"))),
        *(str(env.simplify("b * s // 16")), str(env.hint("b * s")), env.size("b * s - max(b, s)").fingerprint),
    ]


CHILD = """
import pickle, sys
from tests.shapes.test_pickles import program, report
env, check, dispatch, verdicts = pickle.load(sys.stdin.buffer)
told = report(env), report(program()[0]), check(4, 128, 4), dispatch.lookup((4, 128, 4))
pickle.dump((told, [repr(each) for each in verdicts], env, verdicts), sys.stdout.buffer)
"""


def test_another_process_says_the_same() -> None:
    """Equal answers, texts and keys, whatever the hash seeds: canonical order never depends on them."""
    env, _ = program()
    sources = {"b": ("x", 0), "s": ("x", 1), "x0": ("x", 2)}
    check = env.compile_guards({"b": 0, "s": 1, "x0": 2})
    dispatch: Dispatch[str] = Dispatch(["x"])
    dispatch.add(env, "first", sources=sources)
    verdicts = [env.ask(question) for question in QUESTIONS]
    root = Path(shapes.__file__).parents[1]
    for seed in ("1", "77"):
        ran = subprocess.run(
            [sys.executable, "-c", CHILD],
            input=pickle.dumps((env, check, dispatch, verdicts)),
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(root)},
            capture_output=True,
            cwd=root,
        )
        assert ran.returncode == 0, ran.stderr.decode()
        (theirs, anew, accepted, found), shown, back, same = pickle.loads(ran.stdout)
        assert theirs == anew == report(env) == report(back)
        assert accepted is True and found == "first" and shown == [repr(each) for each in verdicts]
        assert same == verdicts and [hash(each) for each in same] == [hash(each) for each in verdicts]
        assert back.guards() == env.guards() and set(back.guards()) == set(env.guards())


def test_an_environment_goes_on_where_it_was() -> None:
    """Everything learned, asked and taken back after pickle is as it would have been before."""
    env, size = program()
    mark = env.checkpoint()
    other, larger, position = loaded((env, size, mark))
    assert larger.env is other and str(larger) == str(size) and other.interner is not env.interner
    with pytest.raises(shapes.errors.SpecializedDynamic):
        other.assume("s == 128")
    for each in (env, other):
        each.assume("b <= 12")
        each.symbol("t", hint=3)
        each.guard("t + b > 6")
    for question in (*QUESTIONS, "t * b <= 7"):
        assert repr(env.ask(question)) == repr(other.ask(question))
    assert env.fingerprint() == other.fingerprint() and isinstance(other.ask(larger % 64 == 0), Always)
    assert other.unbacked().__str__() == env.unbacked().__str__()
    other.rollback(position)
    assert "t" not in other.names and len(other.events) == position.position
    fork, origin = loaded((env.fork(), env))
    assert fork.interner is origin.interner and isinstance(fork.ask(origin.size("b") <= 12), Always)
    with env.hypothesis("i < b"):
        inside = loaded(env)
    assert isinstance(inside.ask("i < 12"), Always) and "i" not in env.names


def test_places_go_along_and_lambdas_stay() -> None:
    """Facts keep their lines; a provider of origins that pickle cannot take along is the default one there."""
    env = ShapeEnv()
    s = env.symbol("s", hint=8)
    env.guard(s > 3)
    again = loaded(env)
    assert again.guards()[0].origin == env.guards()[0].origin and again.origin is here
    origin = again.guards()[0].origin
    assert isinstance(origin, Origin) and origin.segment == "env.guard(s > 3)"
    assert loaded(ShapeEnv(origin=lambda: None)).origin is here
    walk = loaded(ShapeEnv(origin=StackWalk(skip=["/opt/framework/"]))).origin
    assert isinstance(walk, StackWalk) and walk.skip[-1] == "/opt/framework/" and walk.skip[:-1] == here.skip


def test_guards_and_verdicts_are_values() -> None:
    """Sets of guards of several variants have each condition once, wherever it was asked."""
    env, twin, other = ShapeEnv(), ShapeEnv(), ShapeEnv()
    for each in (env, twin):
        s = each.symbol("s", hint=128)
        each.guard(s > 64)
    other.symbol("s", hint=128)
    other.guard("s >= 66")
    assert env.guards()[0] == twin.guards()[0] != other.guards()[0] and env.guards()[0] != "s >= 65"
    assert len({*env.guards(), *twin.guards(), *other.guards()}) == 2
    assert copy.deepcopy({"guard": env.guards()[0]})["guard"] is env.guards()[0]
    always, elsewhere = env.ask("s >= 3"), twin.ask("s >= 3")
    assert always == elsewhere and hash(always) == hash(elsewhere)
    assert always != env.ask("s >= 4") != other.ask("s >= 3")
    assert env.ask("s >= 99") == twin.ask("s >= 99") != env.ask("s >= 98") and always != "always"
    assert copy.deepcopy([always])[0] is always is copy.copy(always) and len({always, elsewhere, env.ask("s < 2")}) == 2


@pytest.mark.parametrize("native", [False, True])
def test_checks_and_dispatches(native: bool) -> None:
    """A check is compiled again from its plan; copies of a dispatch grow apart."""
    env, _ = program()
    sources = {"b": 0, "s": 1, "x0": 2}
    check = env.compile_guards(sources, native=native)
    for again in (loaded(check), copy.deepcopy(check), copy.copy(check)):
        assert is_check(again) and again.form == check.form and again.source == check.source
        for sizes in ((4, 128, 4), (4, 100, 4), (0, 128, 4), (4, 128, 9)):
            assert again(*sizes) is check(*sizes) and str(again.explain(*sizes)) == str(check.explain(*sizes))
        assert again(s=128, b=4, x0=4) is True
    dispatch: Dispatch[list[str]] = Dispatch(["b", "s", "x0", "kind"])
    dispatch.add(check, ["fast"], tests={"kind": "float"})
    for other in (loaded(dispatch), copy.deepcopy(dispatch), copy.copy(dispatch)):
        assert other.lookup(4, 128, 4, "float") == ["fast"] and other.lookup(4, 128, 4, "int") is None
        other.add(ShapeEnv(), ["general"], sources={})
        assert other.lookup(4, 128, 4, "int") == ["general"] and dispatch.lookup(4, 128, 4, "int") is None
    deep, flat, value = copy.deepcopy(dispatch), copy.copy(dispatch), dispatch.entries[0].value
    assert flat.entries[0].value is value is not deep.entries[0].value == value


def test_fingerprints() -> None:
    """Equal keys mean the same guards and checks: whatever these depend on changes the key."""

    def key(*facts: str, hint: int = 128, lo: int = 0, name: str = "s", source: str | None = None) -> tuple[str, str]:
        env = ShapeEnv()
        env.symbol(name, lo=lo, hint=hint, source=source)
        for fact in facts:
            env.assume(fact)
        return env.fingerprint(), env.fingerprint(hints=False)

    assert key("s % 16 == 0") == key("0 == s % 16") and len(key()[0]) == 40
    changed = [key(), key("s % 16 == 0"), key(lo=1), key(name="t"), key(source="x"), key("s % 16 == 0", "s >= 3")]
    assert len(set(changed)) == len(changed)
    assert key(hint=64)[0] != key()[0] and key(hint=64)[1] == key()[1]
    env, guarded = ShapeEnv(), ShapeEnv()
    for each in (env, guarded):
        each.symbol("s", hint=128)
    env.assume("s >= 3")
    guarded.guard("s >= 3")
    assert env.fingerprint() != guarded.fingerprint() != ShapeEnv(policy=torch_defaults).fingerprint()
    s = env.size("s")
    assert (s + 1).fingerprint == guarded.size("1 + s").fingerprint != (s * 1).fingerprint
    assert (s > 3).fingerprint == (s >= 4).fingerprint != (7 // s > 3).fingerprint


def test_errors_come_back_from_workers() -> None:
    """An error of a worker process is the same error here, its evidence included."""
    env = ShapeEnv()
    s, u = env.symbol("s", hint=8, strict=True), env.unbacked("u", lo=0)
    found: list[Exception] = [ConcurrentScope("ask")]
    for wrong in (
        lambda: env.guard(u > 3), lambda: env.assume("s < 0"), lambda: env.assume("s == 8"), lambda: env.ask("s >"),
        lambda: env.ask("s // 0 == 1"), lambda: env.assume("s == 9"), lambda: env.ask("s > 3", effort="none"),
        lambda: ShapeEnv().ask(s > 3), lambda: env.symbol("s"),
    ):  # fmt: skip
        with pytest.raises(shapes.errors.ShapeError) as raised:
            wrong()
        found.append(raised.value)
    for error in found:
        again = loaded(error)
        assert type(again) is type(error) and str(again) == str(error) and vars(again).keys() == vars(error).keys()
        if isinstance(again, Contradiction) and isinstance(error, Contradiction):
            assert [fact.text for fact in again.core] == [fact.text for fact in error.core]
        if isinstance(again, UndecidedGuard) and isinstance(error, UndecidedGuard):
            assert again.verdict == error.verdict
