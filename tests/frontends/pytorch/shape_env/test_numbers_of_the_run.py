"""Python on numbers that only the run knows: read from tensors, or drawn by Python. What a graph has no rule for is a
graph break."""

from __future__ import annotations

import functools
import itertools
import random
from collections import deque
from collections.abc import Callable
from typing import Any, Final

import pytest
import torch

from frontends.pytorch import compile

Program = Callable[[torch.Tensor, int], object]


def of_list(change: Callable[[Any, int], object]) -> Program:
    """A program that changes a list by a number."""

    def program(x: torch.Tensor, number: int) -> object:
        items = [1, 2, 3, 4]
        return change(items, number), items

    return program


PROGRAMS: Final[dict[str, Program]] = {
    "an element": lambda x, n: [x, x * 2, x * 3, x * 4][n],
    "a function": lambda x, n: [torch.sin, torch.cos, torch.tan, torch.exp][n](x),
    "a character": lambda x, n: "abcd"[n],
    "an element of a range": lambda x, n: range(10)[n],
    "in a range": lambda x, n: n in range(3),
    "in a set": lambda x, n: n in {1, 2},
    "a key": lambda x, n: {0: x, 1: x + 1, 2: x + 2, 3: x + 3}[n],
    "a key that may be missing": lambda x, n: {1: x, 2: x}.get(n),
    "a new key": lambda x, n: {n: x},
    "an element that is set": of_list(lambda items, n: items.__setitem__(n, 9)),
    "an element that is removed": of_list(lambda items, n: items.pop(n)),
    "an element that is deleted": of_list(lambda items, n: items.__delitem__(n)),
    "an element that is inserted": of_list(lambda items, n: items.insert(n, 7)),
    "an element that is counted": of_list(lambda items, n: items.count(n)),
    "the first elements": lambda x, n: [1, 2, 3, 4][:n],
    "some elements": lambda x, n: list(itertools.islice([1, 2, 3, 4], n)),
    "a range from its end": lambda x, n: list(reversed(range(n))),
    "a limit": lambda x, n: deque([1, 2, 3], maxlen=n),
    "its type": lambda x, n: isinstance(n, int),
    "its truth": lambda x, n: (bool(n), not n),
    "either": lambda x, n: x if n else -x,
    "both": lambda x, n: n and x,
    "any": lambda x, n: any([n, 0]),
    "an integer": lambda x, n: int(n),
    "a text": lambda x, n: f"{n}",
    "elements of its type": lambda x, n: torch.full((2,), n),
    "a size": lambda x, n: torch.zeros(n),
}


def read(x: torch.Tensor) -> int:
    return int(x.argmax().item())


def drawn(x: torch.Tensor) -> int:
    return random.randint(0, 3)


@pytest.mark.parametrize("by_torch", [False, True])
@pytest.mark.parametrize("number", [read, drawn])
@pytest.mark.parametrize("name", PROGRAMS)
def test_python_of_a_number(name: str, number: Callable[[torch.Tensor], int], by_torch: bool) -> None:
    """A program raises an error of torch's, or has another result or state of `random` than in eager."""

    def program(x: torch.Tensor) -> object:
        y = x * 2
        return PROGRAMS[name](y, number(y)), y

    torch._dynamo.reset()
    compiled: Any
    if by_torch:
        compiled = torch.compile(program, backend="symshape", dynamic=True, options={"kernels": "eager"})
    else:
        compiled = compile(program, dynamic=True, backend="eager")
    for place in range(4):
        x = torch.tensor([0.0, 1, 2, 3]).roll(place)
        random.seed(place)
        expected = repr(program(x)), random.random()
        random.seed(place)
        assert (repr(compiled(x)), random.random()) == expected


Drawing = Callable[[torch.Tensor, random.Random], object]


def seeded(x: torch.Tensor, own: random.Random) -> object:
    own.seed(x.shape[0])
    first, state = own.random(), own.getstate()
    second = own.random()
    own.setstate(state)
    return first, second, own.random(), x + first


def drawn_after_a_branch(x: torch.Tensor, own: random.Random) -> object:
    y = x * 2
    if x.shape[0] > 2:
        own.seed(5)
    return y + own.random(), random.gauss(0, 1), own.gauss(0, 1)


def seeded_for_all(x: torch.Tensor, own: random.Random) -> object:
    random.seed(x.shape[0])
    state = random.getstate()
    first = random.random()
    random.setstate(state)
    return x * first, random.random(), random.choices([1, 2], k=3)


def new(x: torch.Tensor, own: random.Random) -> object:
    made = random.Random(x.shape[0])
    return x * made.random(), made.randint(0, 9), made.choice([1, 2, 3]), made.sample([1, 2, 3, 4], 2)


DRAWINGS: Final[dict[str, Drawing]] = {
    "one": lambda x, own: (x * own.random(), own.randint(0, 5), own.uniform(1, 2)),
    "seeded": seeded,
    "after a branch": drawn_after_a_branch,
    "of the process": seeded_for_all,
    "new": new,
}


@pytest.mark.parametrize("by_torch", [False, True])
@pytest.mark.parametrize("name", DRAWINGS)
def test_instances_of_random(name: str, by_torch: bool) -> None:
    """A call repeats the numbers of the one before it, or leaves another state."""
    own, other = random.Random(1), random.Random(1)
    expected, program = functools.partial(DRAWINGS[name], own=own), functools.partial(DRAWINGS[name], own=other)
    torch._dynamo.reset()
    compiled: Any = torch.compile(program, backend="symshape") if by_torch else compile(program)
    for size in (3, 2, 3, 4):
        x = torch.ones(size)
        random.seed(size)
        seen = repr(expected(x)), random.getstate(), own.getstate()
        random.seed(size)
        assert (repr(compiled(x)), random.getstate(), other.getstate()) == seen
