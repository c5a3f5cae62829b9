"""What functions that remember their results change, they change once; and what a size is asked for by name."""

from __future__ import annotations

import functools

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
