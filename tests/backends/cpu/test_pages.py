"""Large memory that is kept from one call to the next."""

from __future__ import annotations

import torch

from backends.cpu.pages import LARGE, PAGE, MemoryPool, pooled
from frontends.pytorch import compile
from tests.threads import at_once

ROWS = 2 * LARGE // (4 * 512)


def test_memory_comes_back_when_its_last_view_is_gone():
    """Two live tensors share memory."""
    first = pooled(LARGE, (LARGE // 8, 2), (2, 1), torch.float32)
    place, part = first.data_ptr(), first[5:, 1]
    del first
    second = pooled(LARGE, (LARGE // 8, 2), (2, 1), torch.float32)
    assert second.data_ptr() != place
    del part
    assert pooled(LARGE, (LARGE // 4,), (1,), torch.int32).data_ptr() == place


def test_there_is_never_more_than_was_needed_at_once():
    """Memory of every size that a program ever had stays."""
    memory = MemoryPool()
    views = [memory.take(count * PAGE) for count in (8, 2, 2)]
    assert (memory.lent, memory.most) == (12 * PAGE, 12 * PAGE)
    del views
    for count in (3, 1, 9, 2, 5, 7, 12, 1):
        view = memory.take(count * PAGE - 5)
        assert len(view) >= count * PAGE - 5
        assert memory.lent + sum(map(len, memory.free)) <= memory.most == 12 * PAGE
        del view


def test_much_more_than_is_needed_is_not_taken():
    """A small temporary takes the place of a large one, which then needs fresh memory."""
    memory = MemoryPool()
    for count in (4, 20):
        memory.take(count * PAGE)
    assert [len(memory.take(count * PAGE)) // PAGE for count in (16, 4, 5, 3)] == [20, 4, 5, 3]


def test_threads_take_and_give_back_at_once():
    """Memory is lent twice, or lost, when several threads run programs."""
    wrong = []

    def run(number):
        for turn in range(200):
            count = LARGE + (turn * 7 + number) % 5 * PAGE
            tensor = pooled(count, (count // 8,), (1,), torch.int64)
            tensor[::4096] = number
            if bool((tensor[::4096] != number).any()):
                wrong.append(number)

    at_once(run)
    assert not wrong


def test_programs_in_memory_that_is_kept():
    """Memory that a backward reads is not overwritten by another call, and results can be resized."""

    def program(x, w):
        return torch.softmax(torch.tanh(x @ w) * x, -1) @ w

    compiled = compile(program, backend="cpu", dynamic=True)
    w = torch.randn(512, 512, requires_grad=True)
    inputs = [torch.randn(rows, 512) for rows in (5, ROWS, ROWS + 3, ROWS)]
    results = [compiled(x, w) for x in inputs]
    for x, result in zip(inputs, results):
        expected = program(x, w)
        torch.testing.assert_close(result, expected, rtol=1e-4, atol=1e-4)
        gradients = [torch.autograd.grad(each.square().sum(), w)[0] for each in (result, expected)]
        torch.testing.assert_close(*gradients, rtol=1e-3, atol=1e-2)
    with torch.no_grad():
        compiled(inputs[1], w).resize_(2 * ROWS, 512)


def test_a_profiler_sees_all_memory():
    """The reported peak of a program is that of its results only."""
    compiled = compile(lambda x: torch.softmax(x @ x.t(), -1).sum(), backend="cpu", dynamic=True)
    x = torch.randn(ROWS // 4, ROWS // 4)
    compiled(x)
    with torch.profiler.profile(profile_memory=True, activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        compiled(x)
    sizes = [event.nbytes() for event in profile.profiler.kineto_results.events() if event.name() == "[memory]"]
    assert max(sizes) >= LARGE
