"""A list or a queue that a program appends to and never looks into: its length is no guard, unless it is read."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

import pytest
import torch

from frontends.pytorch import compile

EVERYWHERE: list[torch.Tensor] = []


class Logs(torch.nn.Module):
    """Keeps what it computes."""

    def __init__(self) -> None:
        super().__init__()
        self.log: list[object] = []
        self.other: list[object] = []
        self.same = self.log
        self.table = {"log": self.log}
        self.queue: deque[object] = deque()
        self.last: deque[object] = deque([1, 1], maxlen=2)
        self.append: list[object] = []
        self.wide = False


def appends(self, x):
    y = x * 2
    self.log.append(y.sum())
    return y


def appends_everywhere(self, x):
    EVERYWHERE.append(x.sum())
    self.queue.append(x.shape[0])
    for each in (x, x * 2):
        self.log.append(each)
    self.other.extend([x, "text"])
    return x + 1


def by_a_comprehension(self, x):
    [self.log.append(each) for each in (x, x + 1)]
    return x + 1


def some_calls(self, x):
    if x.shape[0] % 2:
        self.log.append(x)
    return x + 1


ONLY_APPENDED = {each.__name__: each for each in (appends, appends_everywhere, by_a_comprehension, some_calls)}


def reads_its_length(self, x):
    self.log.append(x)
    return x + len(self.log)


def reads_by_another_name(self, x):
    self.log.append(x)
    return x + len(self.same)


def reads_in_a_table(self, x):
    self.log.append(x)
    return x + len(self.table["log"])


def reads_by_a_computed_name(self, x):
    self.log.append(x)
    return x + len(getattr(self, "l" + "og"))


def reads_all(self, x):
    self.log.append(x)
    return x + len(vars(self)["log"])


def reads_by_the_method(self, x):
    self.log.append(x)
    return x + len(self.log.append.__self__)


def adds_itself(self, x):
    self.log.append(x.shape[0])
    self.log.extend(self.log)
    return x + 1


def a_list_called_append(self, x):
    self.append.append(x)
    return x + len(self.append)


def reads_an_item(self, x):
    self.log.append(x.sum())
    return x + self.log[0]


def is_true(self, x):
    y = x * 2 if self.log else x
    self.log.append(y)
    return y


def by_a_local_name(self, x):
    log = self.log
    log.append(x)
    return x + len(log)


def a_full_queue(self, x):
    self.last.append(1)
    return x + 1


def reads_in_some_calls(self, x):
    self.log.append(x)
    return reads(self, x) if self.wide else x


def reads(self, x):
    return x * len(self.log)


def gives_it_back(self, x):
    self.log.append(x)
    return x, self.log


READ = (
    *(reads_its_length, reads_by_another_name, reads_in_a_table, reads_by_a_computed_name, reads_all),
    *(reads_by_the_method, adds_itself, a_list_called_append, reads_an_item, is_true, by_a_local_name, a_full_queue),
    *(reads_in_some_calls, gives_it_back),
)


def state(module: Logs) -> list[list[object]]:
    found = [module.log, module.other, module.same, list(module.queue), list(module.last), module.append]
    return [[each.tolist() if isinstance(each, torch.Tensor) else each for each in part] for part in found]


def both(forward: Callable[..., object]) -> tuple[Logs, Logs]:
    kind = type("Program", (Logs,), {"forward": forward})
    return kind(), kind()


@pytest.mark.parametrize("backend", ["eager", "cpu"])
@pytest.mark.parametrize("name", ONLY_APPENDED)
def test_one_variant(name: str, backend: str) -> None:
    """If it fails, each length of a list that nobody reads has a graph, or what is appended is not eager torch's."""
    one, other = both(ONLY_APPENDED[name])
    compiled = compile(other, dynamic=True, backend=backend)
    EVERYWHERE.clear()
    for size in (3, 5, 2, 4, 6, 3, 7):
        x = torch.arange(size * 2.0).reshape(size, 2)
        torch.testing.assert_close(compiled(x), one(x))
        assert state(other) == state(one)
    if name == "appends_everywhere":
        assert [each.item() for each in EVERYWHERE[::2]] == [each.item() for each in EVERYWHERE[1::2]]
    assert len(compiled.variants) == (2 if name == "some_calls" else 1) and not compiled.fallbacks


@pytest.mark.parametrize("forward", READ)
def test_what_is_read_is_guarded(forward: Callable[..., object]) -> None:
    """If it fails, a program that looks into a list goes on with what was in it at the trace."""
    one, other = both(forward)
    compiled = compile(other, dynamic=True)
    for number, size in enumerate((3, 5, 2, 4, 6, 3, 7)):
        one.wide = other.wide = number in (2, 3, 5)
        x = torch.arange(size * 2.0).reshape(size, 2)
        found, wanted = compiled(x), one(x)
        if forward is gives_it_back:
            assert found[1] is other.log
            found, wanted = found[0], wanted[0]
        torch.testing.assert_close(found, wanted)
        assert state(other) == state(one)


def test_another_list() -> None:
    """If it fails, a call appends to the list that was there at the trace, or to that of another module."""
    kind = type("Program", (Logs,), {"forward": appends})
    one, other = kind(), kind()
    compiled, second = compile(one, dynamic=True), compile(other, dynamic=True)
    x, first = torch.ones(2), one.log
    compiled(x)
    compiled(x)
    one.log = []
    compiled(x)
    second(x)
    assert (len(first), len(one.log), len(other.log)) == (2, 1, 1)
    one.log.clear()
    compiled(x)
    one.log = first
    compiled(x)
    one.log = deque()
    compiled(x)
    assert (len(first), len(one.log)) == (3, 1)


class Own(list):
    def append(self, value: object) -> None:
        super().append((len(self), value))


def test_a_list_of_another_class() -> None:
    """If it fails, what a class of lists makes of `append` is done as at the trace."""
    one, other = both(appends)
    one.log, other.log = Own(), Own()
    compiled = compile(other, dynamic=True)
    for size in (3, 5, 2, 4):
        compiled(torch.ones(size, 2))
        one(torch.ones(size, 2))
        assert [number for number, _ in other.log] == [number for number, _ in one.log]


def test_an_error_in_the_middle() -> None:
    """If it fails, a call that raises appends more, or less, than eager torch does."""

    def forward(self, x, index):
        self.log.append(x.sum())
        y = x[index]
        self.log.append(y.sum())
        return y

    one, other = both(forward)
    compiled = compile(other, dynamic=True)
    for index in (0, 9, 1, 9, 2):
        for program in (compiled, one):
            try:
                program(torch.arange(4.0), torch.tensor([index]))
            except IndexError:
                assert index == 9
        assert state(other) == state(one)


def test_threads() -> None:
    """If it fails, what a call in one thread appends is lost by one in another."""
    _, module = both(appends)
    compiled = compile(module, dynamic=True, backend="cpu")
    for size in (2, 3):
        compiled(torch.zeros(size))

    def run() -> None:
        for number in range(1, 51):
            compiled(torch.full((2,), float(number)))

    threads = [threading.Thread(target=run) for _ in range(3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert sorted([each.item() for each in module.log]) == sorted([0.0, 0.0, *[4.0 * n for n in range(1, 51)] * 3])


def window(self, x):
    self.queue.append(x.mean(0))
    return x + self.queue[0] * self.queue[1]


@pytest.mark.parametrize("backend", ["eager", "cpu"])
def test_a_queue_is_an_input(backend: str) -> None:
    """If it fails, a queue of tensors that rolls on has a graph for each call, or none."""
    one, other = both(window)
    for program in (one, other):
        program.queue = deque([torch.zeros(2), torch.ones(2)], maxlen=2)
    compiled = compile(other, dynamic=True, backend=backend)
    for size in (3, 5, 2, 4, 6, 3, 7):
        x = torch.arange(size * 2.0).reshape(size, 2)
        torch.testing.assert_close(compiled(x), one(x))
        torch.testing.assert_close(list(other.queue), list(one.queue))
    other.queue[0], one.queue[0] = torch.full((2,), 7.0), torch.full((2,), 7.0)
    other.queue.rotate(), one.queue.rotate()
    torch.testing.assert_close(compiled(x), one(x))
    other.queue.pop(), one.queue.pop()
    torch.testing.assert_close(compiled(x), one(x))
    assert len(compiled.variants) == 3 and not compiled.fallbacks
