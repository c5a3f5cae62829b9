"""Threads that share an environment, or the interner of one, get right answers or one clear error."""

from __future__ import annotations

import random
import sys
import threading
from collections.abc import Callable, Iterator

import pytest

from shapes import ShapeEnv
from shapes.errors import ConcurrentScope, Contradiction
from solver.terms.prop import Prop

POINTS = ((3, 5, 7), (4, 9, 2), (8, 8, 1), (12, 40, 33))
TEXTS = [
    f"(x + {i})*(y + z)*(x + y + {i}) {comparison} (z + {i})*(x*y + {j}) // {j + 2}"
    for i in range(4)
    for j in range(3)
    for comparison in (">=", "==")
]


@pytest.fixture(autouse=True)
def _many_switches() -> Iterator[None]:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def in_threads(count: int, work: Callable[[int], None]) -> list[BaseException]:
    """The errors of as many threads that begin at once."""
    errors: list[BaseException] = []
    barrier = threading.Barrier(count)

    def run(number: int) -> None:
        barrier.wait()
        try:
            work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


def environment() -> ShapeEnv:
    env = ShapeEnv(origin=lambda: None, solvers=False)
    env.sizes("x y z")
    for fact in ("x % 4 == 0", "y >= x", "x*y <= 4000"):
        env.assume(fact)
    return env


def expected() -> dict[str, str]:
    """The kinds of answers of one thread alone."""
    return {text: type(environment().ask(text)).__name__ for text in TEXTS}


@pytest.mark.parametrize("forked", [False, True], ids=["one environment", "a fork for each thread"])
def test_questions(forked: bool) -> None:
    kinds = expected()
    for _ in range(6):
        shared = environment()
        forks = [shared.fork() if forked else shared for _ in range(4)]
        found: dict[str, list[Prop]] = {text: [] for text in TEXTS}

        def work(number: int, forks: list[ShapeEnv] = forks, found: dict[str, list[Prop]] = found) -> None:
            for text in random.Random(number).sample(TEXTS, len(TEXTS)):
                found[text].append(forks[number].parse(text)[0])
                verdict = forks[number].ask(text)
                assert type(verdict).__name__ == kinds[text] and verdict.check()

        assert not in_threads(4, work)
        for text, props in found.items():
            assert len(props) == 4 and all(prop is props[0] for prop in props)
            for point in POINTS:
                values = {shared.names[name].atom: value for name, value in zip("xyz", point, strict=True)}
                assert props[0].evaluate(values) == eval(text, dict(zip("xyz", point, strict=True)))


def test_expressions_are_built_at_once() -> None:
    """Arithmetic takes no lock where it finds what it makes; what it makes is the same object in every thread."""
    for _ in range(20):
        env = environment()
        x, y, z = (env.names[name] for name in "xyz")
        built: list[list[object]] = [[] for _ in range(4)]

        def work(number: int, x=x, y=y, z=z, built=built) -> None:
            for k in range(1, 60):
                built[number].append((x * y + k) // (z + k) * (y + k) % 7 + (x - k) * (z * z + k))

        assert not in_threads(4, work)
        assert all(one is other for others in built[1:] for one, other in zip(built[0], others, strict=True))


def test_facts_are_added_while_others_ask() -> None:
    for _ in range(5):
        env = ShapeEnv(origin=lambda: None, solvers=False)
        symbols = env.sizes(" ".join(f"s{k}" for k in range(40)))

        def work(number: int, env: ShapeEnv = env, symbols: tuple = symbols) -> None:
            for k in range(number, 40, 4):
                env.assume(symbols[k] >= k)
                assert type(env.ask(symbols[k] >= k)).__name__ == "Always"
                assert env.guard(symbols[k] + 1 >= k)

        assert not in_threads(4, work)
        assert len(env.preconditions()) == 40
        assert env.bounds(sum(symbols)) == (sum(range(40)), None)


def test_what_holds_in_a_scope_is_not_for_other_threads() -> None:
    env = environment()
    before = env.ask("x >= 8")
    with env.hypothesis("x >= 8"):
        assert type(env.ask("x >= 8")).__name__ == "Always"
        (error,) = in_threads(1, lambda _: env.ask("x >= 8"))
        assert isinstance(error, ConcurrentScope) and "fork" in str(error)
    assert not in_threads(1, lambda _: env.ask("x >= 8"))
    assert type(env.ask("x >= 8")) is type(before)
    with env.speculate():
        env.assume("x <= 100")
        (error,) = in_threads(1, lambda _: env.assume("x >= 101"))
        assert isinstance(error, ConcurrentScope)
    with pytest.raises(Contradiction):
        env.assume("x*y >= 5000")


@pytest.mark.thorough
def test_100_000_questions_of_8_threads() -> None:
    kinds = expected()
    env = environment()
    questions = [text.replace("(x +", f"(x*{k} +") for k in range(20) for text in TEXTS]

    def work(number: int) -> None:
        draw = random.Random(number)
        for _ in range(12_500):
            text = draw.choice(TEXTS) if draw.random() < 0.9 else draw.choice(questions)
            verdict = env.ask(text)
            assert text not in kinds or type(verdict).__name__ == kinds[text]

    assert not in_threads(8, work)
