"""The alias check of written tensors, at every call of a program that writes."""

from __future__ import annotations

import random

import pytest
import torch

from backends.cpu.launcher import Unavailable, launcher
from frontends.pytorch import compile, trace
from frontends.pytorch.graphs.form import sharing
from frontends.pytorch.graphs.functional import functional


def apart(given, written, constants=()):
    """The answer in C, and that by storages, which may only doubt more."""
    found = launcher()
    if isinstance(found, Unavailable):
        pytest.skip(found.reason)
    answer = found.Apart(len(given), tuple(constants), tuple(written))(given)
    assert answer or sharing([*given, *constants], written), (given, written)
    return answer


BASE = torch.arange(64.0)
PLACES = {
    "apart": ([BASE[:8], BASE[8:16]], (0,), True),
    "in reverse": ([BASE[8:16], BASE[:8]], (0, 1), True),
    "the last element": ([BASE[:9], BASE[8:16]], (0,), False),
    "only the other is written": ([BASE[:9], BASE[8:16]], (1,), False),
    "none is written": ([BASE[:9], BASE[8:16]], (), True),
    "inside": ([BASE[4:6], BASE], (0,), False),
    "behind one that reaches far": ([BASE[:32], BASE[2:4], BASE[30:34]], (2,), False),
    "those that are read share": ([BASE[:9], BASE[8:16], BASE[16:20]], (2,), True),
    "the same twice": ([BASE[:8], BASE[:8]], (0,), False),
    "the very same": ([BASE, BASE], (0,), False),
    "nothing in it": ([BASE[8:8], BASE], (0,), True),
    "nothing in the other": ([BASE, BASE[8:8]], (0,), True),
    "turned": ([BASE.view(8, 8).t()], (0,), True),
    "expanded": ([BASE[:8].expand(3, 8)], (0,), False),
    "expanded and read": ([BASE[:8].expand(3, 8), BASE[8:16]], (1,), True),
    "windows": ([BASE.unfold(0, 3, 1)], (0,), False),
    "windows that do not overlap": ([BASE.unfold(0, 3, 4)], (0,), True),
    "every second": ([BASE[:16:2], BASE[16:20]], (0, 1), True),
    "between each other": ([BASE[:16:2], BASE[1:17:2]], (0,), False),
    "one axis of size 1": ([BASE[:8].as_strided((1, 8), (0, 1))], (0,), True),
    "other dtypes": ([BASE[:8].view(torch.int16), BASE[4:]], (0,), False),
}


@pytest.mark.parametrize(("tensors", "written", "expected"), PLACES.values(), ids=PLACES)
def test_where_tensors_lie(tensors, written, expected):
    """A program runs in its functional form where what it writes is read under another name, or never does."""
    assert apart(tensors, written) is expected
    assert apart(tensors[:1], written, tensors[1:]) is expected


def test_random_places():
    """The sorted ranges say otherwise than all pairs do."""
    chance = random.Random(0)
    answers = set()
    for _ in range(300):
        starts = [(chance.randrange(60), chance.randrange(5)) for _ in range(chance.randrange(1, 7))]
        tensors = [BASE[start : start + length] for start, length in starts]
        written = [place for place in range(len(tensors)) if chance.random() < 0.3]
        bytes_of = [set(range(start, min(start + length, 64))) for start, length in starts]
        expected = not any(
            bytes_of[one] & bytes_of[other] for one in written for other in range(len(tensors)) if other != one
        )
        assert apart(tensors, written) is expected, (starts, written)
        answers.add(expected)
    assert answers == {True, False}


def test_what_moves_is_seen():
    """The cached range of the last call is used for a tensor at a new address."""
    found = launcher()
    if isinstance(found, Unavailable):
        pytest.skip(found.reason)
    one, other, constant = torch.zeros(4), torch.ones(8), torch.nn.Parameter(torch.zeros(4))
    test = found.Apart(2, (constant,), (2,))
    assert test([one, other]) is True and test((one, other, 3)) is True
    constant.data = other[:4]
    assert test([one, other]) is False and test([one, torch.ones(8)]) is True and test([one, other]) is False
    constant.data = torch.zeros(4)
    assert test([one, other]) is True
    other.set_(constant.data.untyped_storage(), 3, (1,), (1,))
    assert test([one, other]) is False
    assert test([one, torch.ones(2).to_sparse()]) is None and test([one, 3]) is None
    assert test([one, torch.zeros(4)]) is True


def test_an_argument_is_the_buffer_that_is_written():
    """An argument that is the very buffer of a module keeps what it held before the call changed it."""

    class Counting(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("seen", torch.zeros(3))

        def forward(self, x):
            self.seen.add_(1)
            return x * 2

    ours, theirs = Counting(), Counting()
    compiled = compile(ours, backend="cpu", dynamic=True)
    compiled(torch.ones(3))
    theirs(torch.ones(3))
    torch.testing.assert_close(compiled(ours.seen), theirs(theirs.seen))
    torch.testing.assert_close(ours.seen, theirs.seen)


@pytest.mark.parametrize("where", ["argument", "parameter"])
def test_a_buffer_shares_memory_later(where):
    """A buffer that shares memory only after the first call is noticed."""

    def made():
        norm = torch.nn.BatchNorm1d(4)
        return norm, compile(norm, backend="cpu")

    (ours, compiled), (theirs, _) = made(), made()
    for each in (compiled, theirs):
        each(torch.arange(12.0).view(3, 4))
    results = []
    for norm, call in ((ours, compiled), (theirs, theirs)):
        memory = torch.arange(16.0)
        norm.running_mean.data = memory[:4]
        if where == "parameter":
            norm.weight.data = memory[:4]
            results.append(call(torch.arange(12.0).view(3, 4)))
        else:
            results.append(call(memory[2:14].view(3, 4)))
        results.append(memory)
    torch.testing.assert_close(results[0], results[2])
    torch.testing.assert_close(results[1], results[3])


def test_numbers_behind_tensors_are_not_looked_at():
    """A number among the arguments of a program that writes is taken for a tensor."""
    form = functional(trace(lambda x, n: x.mul_(n), (torch.ones(3), 4), dynamic=lambda name, axis, size: True))
    assert len(form.numbers) == 1 and not form.overlaps([torch.ones(3), 5])
