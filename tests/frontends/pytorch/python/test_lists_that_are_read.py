"""A list that a program appends to and looks into, by whatever way, is what it is at each call."""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Callable

import pytest
import torch
from torch import nn

from frontends.pytorch import compile

Program = Callable[..., object]
Made = tuple[Program, list]
READING: dict[str, Callable[[], Made]] = {}


def reading(make: Callable[[], Made]) -> Callable[[], Made]:
    READING[make.__name__] = make
    return make


class History(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.history: list[object] = []
        self.again = self.history

    def forward(self, x):
        self.history.append(x.sum())
        return x + 1


class State:
    def __init__(self) -> None:
        self.losses: list[object] = []


@reading
def its_length():
    kept: list[object] = []

    def program(x):
        kept.append(x.sum())
        return x * len(kept)

    return program, kept


@reading
def its_items():
    kept: list[object] = []

    def program(x):
        kept.append(x.sum())
        return x + sum(kept[-2:])

    return program, kept


@reading
def whether_there_are_any():
    kept: list[object] = []

    def program(x):
        y = x * 2 if kept else x * 3
        kept.append(1)
        return y

    return program, kept


@reading
def by_another_name():
    net = History()

    def program(x):
        return net(x) * len(net.again)

    return program, net.history


@reading
def by_its_text():
    net = History()
    del net.again

    def program(x):
        return net(x) * len(getattr(net, "history"))  # noqa: B009

    return program, net.history


@reading
def by_a_pattern():
    state = State()

    def program(x):
        state.losses.append(1)
        match state:
            case State(losses=found):
                return x * len(found)

    return program, state.losses


@reading
def by_a_default_value():
    kept: list[object] = []

    def program(x, found=kept):
        kept.append(1)
        return x * len(found)

    return program, kept


@reading
def by_a_container():
    kept: list[object] = []
    table = {"kept": kept}

    def program(x):
        kept.append(1)
        return x * len(table["kept"])

    return program, kept


@reading
def by_a_method_of_its_own():
    kept: list[object] = []
    note = kept.append

    def program(x):
        note(1)
        return x * len(note.__self__)

    return program, kept


@reading
def by_its_variables():
    kept: list[object] = []

    def program(x):
        kept.append(1)
        return x * len(locals()["kept"])

    return program, kept


@reading
def by_all_that_an_object_is():
    state = State()

    def program(x):
        state.losses.append(1)
        return x * (len(pickle.dumps(state)) % 7)

    return program, state.losses


@reading
def by_an_inner_function_later():
    kept: list[object] = []

    def program(x):
        kept.append(1)
        return x * (lambda: len(kept))()

    return program, kept


def called(make: Callable[[], Made], compiling: Callable[[Program], Program]) -> list[object]:
    """What calls give and what is in the list then, some of which the caller has taken out or put in."""
    torch.manual_seed(0)
    program, kept = make()
    program = compiling(program)
    seen = []
    for number, rows in enumerate((3, 5, 5, 2, 7, 4, 3, 6)):
        if number == 4:
            kept.clear()
        if number == 6:
            kept.append(0)
        seen.append((program(torch.full((rows, 2), 1.0 + number)), [plain(each) for each in kept]))
    return seen


def plain(value: object) -> object:
    if isinstance(value, torch.Tensor):
        return value.tolist()
    return [value[0].tolist(), value[1]] if isinstance(value, list) else value


def check(found: list[object], expected: list[object]) -> None:
    for (one, kept), (other, wanted) in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other)
        assert kept == wanted


@pytest.mark.parametrize("name", READING)
def test_a_list_that_is_read(name: str) -> None:
    """If it fails, a program that looks into a list gets what was in it at an earlier call."""
    expected = called(READING[name], lambda program: program)
    check(called(READING[name], lambda program: compile(program, dynamic=True)), expected)


@pytest.mark.parametrize("backend", ["eager", "cpu"])
def test_a_list_that_another_call_reads(backend: str) -> None:
    """If it fails, a branch that reads the list finds it as the first variant had it."""

    def make() -> Made:
        kept: list[object] = []

        def count() -> int:
            return len(kept)

        def program(x):
            kept.append(x.sum())
            return x * count() if x.shape[1] > 2 else x * 2

        return program, kept

    (program, _), (expected, _) = make(), make()
    compiled = compile(program, dynamic=True, backend=backend)
    for columns in (2, 2, 3, 3, 2, 3, 2, 2, 3):
        x = torch.ones(4, columns)
        assert torch.equal(compiled(x), expected(x))


def test_a_list_that_is_given_as_well() -> None:
    """If it fails, a list that is given beside its name is taken for two."""

    def make() -> Made:
        kept: list[object] = []

        def program(x, values):
            kept.append(1)
            return x * len(values)

        return program, kept

    (program, kept), (expected, wanted) = make(), make()
    compiled = compile(program, dynamic=True)
    for number in range(6):
        x = torch.ones(2)
        given, also = (kept, wanted) if number % 2 else ([1], [1])
        assert torch.equal(compiled(x, given), expected(x, also))
        assert kept == wanted


@pytest.mark.parametrize("length", [1, 3, 6])
def test_a_queue_that_fills(length: int) -> None:
    """If it fails, a window over the last calls has no graph: it is full before its length repeats."""

    def make() -> Program:
        window: deque[torch.Tensor] = deque(maxlen=length)

        def program(x):
            window.append(x.mean(0))
            return sum(window) / len(window)

        return program

    program, expected = compile(make(), dynamic=True), make()
    for rows in range(2, 14):
        x = torch.linspace(0, rows, rows * 2).reshape(rows, 2)
        torch.testing.assert_close(program(x), expected(x))
    assert len(program.variants) == length + 2 and not program.fallbacks


def test_a_queue_without_an_end() -> None:
    """If it fails, a queue that is read and only grows has a variant for each length."""
    queue: deque[torch.Tensor] = deque(maxlen=1000)

    def program(x):
        queue.append(x.mean(0))
        return sum(queue)

    compiled = compile(program, dynamic=True)
    total = torch.zeros(2)
    for rows in range(1, 9):
        total = total + rows
        torch.testing.assert_close(compiled(torch.full((rows, 2), float(rows))), total)
    assert len(compiled.variants) <= 3 and compiled.fallbacks
