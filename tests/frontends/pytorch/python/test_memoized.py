"""What functions that remember their results change, they change once; and what a size is asked for by name."""

from __future__ import annotations

import functools
import random
from collections import defaultdict
from numbers import Real

import pytest
import torch

from frontends.pytorch import compile

REMEMBERING = {
    "without a bound": functools.cache,
    "with a bound": functools.lru_cache(maxsize=8),
    "by class": functools.lru_cache(typed=True),
}


@pytest.mark.parametrize("backend", ["eager", "cpu"])
@pytest.mark.parametrize("remembering", REMEMBERING.values(), ids=REMEMBERING)
def test_an_effect_of_a_function_that_remembers(remembering, backend):
    """The effect is put back after the trace, and the result kept, so that nothing does it again."""
    counts = {}

    def made(number):
        counts[number] = counts.get(number, 0) + 1
        return number * 2

    known = remembering(made)
    compiled = compile(lambda x: x * known(3), backend=backend)
    for _ in range(3):
        assert torch.equal(compiled(torch.ones(2)), torch.full((2,), 6.0))
        assert counts == {3: 1}


def test_what_was_remembered_before():
    """What a function had remembered before the trace is forgotten with what it has from the trace."""
    calls = []

    @functools.cache
    def known(number):
        calls.append(number)
        return number * 2

    known(1), known(2)
    compiled = compile(lambda x: x * known(2) + known(3))
    for _ in range(3):
        assert torch.equal(compiled(torch.ones(2)), torch.full((2,), 10.0))
    assert known(1) == 2 and calls == [1, 2, 3]


def test_a_method_that_remembers():
    """The same for a method."""

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.calls = 0

        @functools.lru_cache  # noqa: B019
        def factor(self):
            self.calls += 1
            return 2.0 + self.calls

        def forward(self, x):
            return x * self.factor()

    net = Net()
    compiled = compile(net)
    for _ in range(3):
        assert torch.equal(compiled(torch.ones(2)), torch.full((2,), 3.0))
        assert net.calls == 1


ASKED = {
    "node": lambda x: x * 2 if hasattr(x.shape[0], "node") else x * 3,
    "bits": lambda x: x * 2 if hasattr(x.shape[0], "bit_length") else x * 3,
    "default": lambda x: x * getattr(x.shape[0], "node", 5),
    "item": lambda x: x * (2 if hasattr(x.shape[0], "item") else x.shape[0]),
    "names": lambda x: x * len([name for name in dir(x.shape[0]) if "sym" in name or name == "node"]) + 1,
    "absent": lambda x: x * (1 if getattr(x.shape[0], "dtype", None) is None else 2),
}


@pytest.mark.parametrize("program", ASKED.values(), ids=ASKED)
def test_attributes_of_a_size(program):
    """A size has the attributes of torch's symbolic numbers, not those of an integer."""
    compiled = compile(program, dynamic=True)
    for rows in (3, 5, 2):
        assert torch.equal(compiled(torch.ones(rows, 2)), program(torch.ones(rows, 2)))
    assert len(compiled.variants) == 1


@pytest.mark.parametrize("bound", [1, 2, 3, 8, None])
@pytest.mark.parametrize("known_before", [(1,), (1, 2), (1, 2, 3)])
@pytest.mark.parametrize("numbers", [(2, 2, 1), (5, 5, 6, 5, 1, 2), (4, 1, 4, 7)])
def test_what_a_bounded_function_remembered_before(bound, known_before, numbers):
    """If it fails, a trace that is refused leaves results behind, or drops some: effects are lost, or done twice."""

    def run(called):
        calls = []

        @functools.lru_cache(maxsize=bound)
        def known(number, *, power=1):
            calls.append(number)
            return float(number) ** power

        for number in known_before:
            known(number)
        program = called(lambda x, number: x * known(number) + known(number + 1, power=2))
        found = [program(torch.ones(2), number).tolist() for number in numbers]
        return found, calls

    # each number is new to it, so that no call finds a graph
    def compiled(program):
        return lambda x, number: compile(program)(x, number)

    assert run(compiled) == run(lambda program: program)


def test_counts_of_a_trace_that_is_refused():
    """If it fails, what a function tells of its results counts those of a trace as well."""
    calls = []

    @functools.lru_cache(maxsize=2)
    def known(number):
        calls.append(number)
        return number * 2

    known(1), known(2)
    compile(lambda x: x * known(2) + known(3))(torch.ones(2))
    assert tuple(known.cache_info()) == (1, 3, 2, 2) and calls == [1, 2, 3]
    known(2), known(3)
    assert calls == [1, 2, 3]


class Counting:
    """A function of two bounded caches, one inside of the other, with an effect for some arguments; what was done."""

    def __init__(self, draw: random.Random) -> None:
        self.calls: list[tuple[str, object]] = []
        noisy = draw.choice([frozenset(), frozenset({1}), frozenset({1, 2, 3})])
        depends = draw.random() < 0.5

        @functools.lru_cache(maxsize=draw.choice([1, 2, 3, None]), typed=draw.random() < 0.3)
        def inner(number, *, scale=1):
            if number in noisy:
                self.calls.append(("inner", number))
            return float(number * scale + (len(self.calls) if depends else 0))

        @functools.lru_cache(maxsize=draw.choice([1, 2, 3, 8]))
        def outer(number):
            if number == 2 and noisy:
                self.calls.append(("outer", number))
            return inner(number) + inner(number, scale=2)

        self.functions = inner, outer


PROGRAMS = {
    "one": lambda inner, outer: lambda x, number: x * inner(number),
    "two": lambda inner, outer: lambda x, number: x * inner(number) + inner(2),
    "again": lambda inner, outer: lambda x, number: x * inner(1) + inner(number) - inner(1),
    "by name": lambda inner, outer: lambda x, number: x * inner(number, scale=3) + inner(number),
    "nested": lambda inner, outer: lambda x, number: x * outer(number) + inner(3),
    "mapped": lambda inner, outer: lambda x, number: x * sum(map(inner, [1, number])),
    "classes": lambda inner, outer: lambda x, number: x * inner(1.0) + inner(number) + inner(True),
    "asked": lambda inner, outer: lambda x, number: x * inner(number) + len(outer.__wrapped__.__name__),
}


def remembered_run(seed: int, called) -> list[object]:
    """A random program of functions that remember, with calls of them in between; what was seen of it."""
    draw = random.Random(seed)
    counting = Counting(draw)
    inner, outer = counting.functions
    for _ in range(draw.randrange(4)):
        draw.choice(counting.functions)(draw.randrange(1, 4))
    plain = PROGRAMS[draw.choice(list(PROGRAMS))](inner, outer)
    # told by its text, a number never becomes a symbol, which has no hash
    given = draw.choice([int, str, str])
    program = called(lambda x, number: plain(x, number if given is int else int(number)))
    seen: list[object] = []
    for _ in range(12):
        step, number = draw.random(), draw.randrange(1, 4)
        if step < 0.65:
            seen.append(program(torch.ones(2), given(number if draw.random() < 0.7 else 1)).tolist())
        elif step < 0.9:
            seen.append(draw.choice(counting.functions)(number))
        else:
            draw.choice(counting.functions).cache_clear()
        seen.append((list(counting.calls), *[tuple(each.cache_info()) for each in counting.functions]))
    return seen


@pytest.mark.parametrize("seed", range(20))
def test_random_programs_of_functions_that_remember(seed):
    """If it fails, a graph runs on after what it used was forgotten, or functions forget at other times than in eager
    Python: effects are lost, done twice, or values are of another time."""
    assert remembered_run(seed, compile) == remembered_run(seed, lambda program: program)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(20, 320))
def test_many_random_programs_of_functions_that_remember(seed):
    """The same, of more."""
    backend = "cpu" if seed % 4 == 0 else "eager"
    compiled = remembered_run(seed, functools.partial(compile, backend=backend))
    assert compiled == remembered_run(seed, lambda program: program)


def by_call(known):
    return lambda x: x * known(1)


def by_property(known):
    class Settings:
        factor = property(lambda self: known(1))

    settings = Settings()
    return lambda x: x * settings.factor


def by_default(known):
    return lambda x: x * defaultdict(functools.partial(known, 1))["factor"]


WAYS = {
    "a call": by_call,
    "a property": by_property,
    "map": lambda known: lambda x: x * next(map(known, [1])),
    "a sorted list": lambda known: lambda x: x * -sorted([1], key=known)[0] * known(1),
    "a default factory": by_default,
    "a partial": lambda known: functools.partial(lambda known, x: x * known(), functools.partial(known, 1)),
    "by name": lambda known: lambda x: x * known(number=1),
}


@pytest.mark.parametrize("backend", ["eager", "cpu"])
@pytest.mark.parametrize("bound", [1, 2, None])
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_graph_that_was_made_at_a_hit(way, bound, backend):
    """If it fails, a graph of a result that was known runs on when the function has forgotten it, and would run."""

    def run(called):
        calls = []

        @functools.lru_cache(maxsize=bound)
        def known(number):
            calls.append(number)
            return float(len(calls))

        asked = functools.partial(known, number=1) if way is WAYS["by name"] else functools.partial(known, 1)
        asked()
        program = called(way(known))
        seen = []
        for step in range(8):
            seen.append((program(torch.ones(2)).tolist(), list(calls), tuple(known.cache_info())))
            if step == 2:
                known(2)
            elif step == 4:
                known(2), known(3)
            elif step == 6:
                known.cache_clear()
        return seen

    compilations = []

    def compiled(program):
        compilations.append(compile(program, backend=backend))
        return compilations[0]

    assert run(compiled) == run(lambda program: program)
    assert compilations[0].variants


def test_a_result_that_is_changed_later():
    """If it fails, a graph has what was in a remembered list when it was traced."""

    @functools.lru_cache
    def factors(number):
        return [float(number)]

    compiled = compile(lambda x: x * factors(2)[0])
    for added in (2.0, 5.0):
        assert torch.equal(compiled(torch.ones(2)), torch.full((2,), added))
        factors(2)[0] += 3


def test_calls_in_c_use_what_is_remembered():
    """If it fails, a call that the launcher makes leaves a result the first one to be dropped, though it was used."""

    @functools.lru_cache(maxsize=2)
    def known(number):
        return number * 2.0

    compiled = compile(lambda x: x * known(1), backend="cpu")
    for _ in range(3):
        compiled(torch.ones(2))
    assert compiled.native.entry is not None and tuple(known.cache_info()) == (2, 1, 2, 1)
    known(2), compiled(torch.ones(2)), known(3), compiled(torch.ones(2))
    # dropping 2, and not 1
    assert tuple(known.cache_info()) == (4, 3, 2, 2)


def test_a_trace_that_keeps_a_tensor_forgets_nothing_else():
    """If it fails, all that a function remembers is dropped with a tensor of a trace, and it does its effects again."""

    def run(called):
        calls = []

        @functools.lru_cache(maxsize=4)
        def mask(size):
            calls.append(size) if size > 2 else None
            return torch.full((2,), float(size))

        mask(3)
        program = called(lambda x: x * mask(2))
        return program(torch.ones(2)).tolist(), mask(3).tolist(), calls, tuple(mask.cache_info())

    assert run(compile) == run(lambda program: program)


@pytest.mark.parametrize("kind", ["function", "method"])
def test_another_function_for_a_class(kind):
    """If it fails, a graph has what `functools.singledispatch` chose before another function was registered."""

    def run(called):
        class Net:
            @functools.singledispatchmethod
            def method(self, value):
                return 1.0

        @functools.singledispatch
        def function(value):
            return 1.0

        asked, net = function, Net()
        if kind == "method":
            program = called(lambda x: x * net.method("text") + net.method(2.5))
            asked = Net.__dict__["method"]
        else:
            program = called(lambda x: x * function("text") + function(2.5))
        seen = [program(torch.ones(2)).tolist()]
        for each, given in ((str, 3.0), (object, 4.0), (float, 5.0), (Real, 6.0), (str, 7.0)):
            asked.register(each, lambda *_, given=given: given)
            seen.append(program(torch.ones(2)).tolist())
        return seen

    assert run(compile) == run(lambda program: program)
