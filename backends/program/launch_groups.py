"""Which kernels one call launches: those that follow each other, where their memory may be there at once.

    >>> from shapes import ShapeEnv
    >>> from backends.decisions.questions import Decisions
    >>> from backends.loops.program import Program
    >>> from backends.loops.schedule import schedule
    >>> from backends.program.memory import plan
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, s = [size.expr for size in env.sizes("b s", hints=(4, 128))]
    >>> program = Program(Decisions(env))
    >>> build = program.build
    >>> x = program.input("x", "float32", (b, s), (s, build.one))
    >>> for axis in (0, 1):
    ...     total = build.expand(build.reduce("sum", x, (axis,), keepdim=True), x.sizes)
    ...     x = program.stored(build.apply("sub", x, total), (s, build.one))
    >>> program.outputs.append(x)
    >>> steps = schedule(program)
    >>> list(runs(steps, plan(program, steps), program.decisions.hints))
    [range(0, 2)]

Of small tensors a call takes as long as what the kernel does. All that the kernels of a call write is allocated before
the first, and nothing is let go of before the last has run. Those that can run turn by turn
(`backends.loops.interleaving`) do so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Final, TypeAlias

from backends.loops.interleaving import may_share_slot
from backends.loops.kernels import Buffer, Kernel
from backends.loops.schedule import Scheduled
from backends.program.memory import Plan, probes
from solver.terms.expr import Atom

Launch: TypeAlias = Callable[..., None]
Combine = Callable[[tuple[tuple[Launch, tuple[int, ...], tuple[int, ...], int], ...], int, int], Launch]
"""Launches, each with the places of its tensors and of its numbers among all of them, and how many launches from it on
run turn by turn; and how many tensors and numbers there are, to one launch that is given them."""
MOST: Final = 32
"""Tensors, and numbers, of one call."""
MORE: Final = 64
"""The peak may become larger by one part of so many,"""
LITTLE: Final = 1 << 16
"""or by so many bytes."""


def runs(steps: Sequence[Scheduled], memory: Plan, hints: Mapping[Atom, int], *, most: int = MOST) -> Iterator[range]:
    """All steps in order, in ranges: kernels that are launched together, so many at most, and every other step."""
    held = [_Held(memory, len(steps), sizes) for sizes in probes(hints)]
    first = 0
    for place in range(1, len(steps) + 1):
        inside = range(first, place + 1)
        ends = place == len(steps) or len(inside) > most or not _are_few(steps[first : place + 1], memory)
        if ends or not all(each.fits(inside) for each in held):
            yield range(first, place)
            first = place


def _are_few(steps: Sequence[Scheduled], memory: Plan) -> bool:
    """Whether they are kernels, and one call can be given all their tensors and numbers."""
    kernels = [step for step in steps if isinstance(step, Kernel)]
    buffers = {memory.slots.get(buffer, buffer) for kernel in kernels for buffer in kernel.buffers}
    numbers = {number for kernel in kernels for number in kernel.scalars}
    return len(kernels) == len(steps) and len(buffers) <= MOST and len(numbers) < MOST


class _Held:
    """How much memory is there during each step, and how much of it for the first time, at some sizes."""

    def __init__(self, memory: Plan, steps: int, sizes: Mapping[Atom, int]) -> None:
        self._there = [0] * (steps + 1)
        self._begun = [0] * (steps + 1)
        first: dict[Buffer, int] = {}
        last: dict[Buffer, int] = {}
        for life in (*memory.given, *memory.lives):
            owner = memory.slots.get(life.buffer, life.buffer)
            first[owner] = min(first.get(owner, life.first), life.first)
            last[owner] = max(last.get(owner, life.last), life.last)
        for owner, begin in first.items():
            size = memory.size[owner].evaluate(sizes)
            self._begun[begin] += size
            for step in range(begin, last[owner] + 1):
                self._there[step] += size
        self._most = max(self._there)

    def fits(self, steps: range) -> bool:
        """Whether all that these steps need may be there at once."""
        held = self._there[steps[0]] + sum([self._begun[step] for step in steps[1:] if step < len(self._begun)])
        return held <= self._most + max(self._most // MORE, LITTLE)


def interleaved_counts(kernels: Sequence[Kernel], memory: Plan) -> list[int]:
    """For each kernel, how many from it on may run turn by turn where these are launched together: all that can, if
    that goes with which of their buffers are one place in memory."""
    found = [1] * len(kernels)
    for first, kernel in enumerate(kernels):
        group = kernels[first : first + kernel.interleaved.kernels] if kernel.interleaved else []
        begins = not first or kernels[first - 1].interleaved is not kernel.interleaved
        is_whole = (
            begins
            and bool(group)
            and len(group) == kernel.interleaved.kernels
            and group[-1].interleaved is kernel.interleaved
        )
        if is_whole and _are_apart(group, memory):
            found[first] = len(group)
    return found


def _are_apart(kernels: Sequence[Kernel], memory: Plan) -> bool:
    """Whether what these kernels store in one turn is where none of them looks in another."""
    stored = {store.buffer for kernel in kernels for store in kernel.stores}
    inside: dict[Buffer, set[Buffer]] = {}
    for buffer in {buffer for kernel in kernels for buffer in kernel.buffers}:
        for each in (buffer, *memory.views.get(buffer, ())):
            inside.setdefault(memory.slots.get(each, each), set()).add(buffer)
    shared = [buffers for buffers in inside.values() if len(buffers) > 1 and not buffers.isdisjoint(stored)]
    return all(buffers.isdisjoint(memory.views) and may_share_slot(kernels, buffers) for buffers in shared)


def combine(
    combined: Combine,
    launches: Sequence[Launch],
    tensors: Sequence[Sequence[str]],
    numbers: Sequence[Sequence[str]],
    iterations: Sequence[int],
) -> tuple[Launch, list[str]]:
    """One launch for several, each with the names of its tensors and numbers and how many from it on may run turn by
    turn, and what it is given: each name once."""
    of_all = [list(dict.fromkeys(chain.from_iterable(names))) for names in (tensors, numbers)]
    places = [[tuple(map(all_names.index, its)) for its in each] for all_names, each in zip(of_all, (tensors, numbers))]
    return combined(tuple(zip(launches, *places, iterations)), *map(len, of_all)), [*of_all[0], *of_all[1]]


__all__ = ["MOST", "Combine", "combine", "interleaved_counts", "runs"]
