"""Launch groups: consecutive kernels launched by one call, where that does not raise peak memory much.

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

For small tensors, a launch takes as long as the kernel. All outputs of a group are allocated before its first kernel,
and nothing is freed before the last has run. Kernels that can be interleaved (`backends.loops.interleaving`) are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Final

from backends.backend import Combine, Launch
from backends.loops.interleaving import may_share_slot
from backends.loops.kernels import Buffer, Kernel
from backends.loops.schedule import Scheduled
from backends.program.memory import Plan, probes
from solver.terms.expr import Atom

MOST: Final = 32
"""Tensors, and scalars, of one group at most."""
MORE: Final = 64
"""Combining may raise peak memory by at most 1/64,"""
LITTLE: Final = 1 << 16
"""or by this number of bytes."""


def runs(steps: Sequence[Scheduled], memory: Plan, hints: Mapping[Atom, int], *, most: int = MOST) -> Iterator[range]:
    """All steps in order, as ranges: launch groups with a limited number of kernels, and every other step by itself."""
    held = [_Held(memory, len(steps), sizes) for sizes in probes(hints)]
    first = 0
    for place in range(1, len(steps) + 1):
        inside = range(first, place + 1)
        ends = place == len(steps) or len(inside) > most or not _are_few(steps[first : place + 1], memory)
        if ends or not all(each.fits(inside) for each in held):
            yield range(first, place)
            first = place


def _are_few(steps: Sequence[Scheduled], memory: Plan) -> bool:
    """Return True if all steps are kernels, with few enough tensors and scalars for one call."""
    kernels = [step for step in steps if isinstance(step, Kernel)]
    buffers = {memory.slots.get(buffer, buffer) for kernel in kernels for buffer in kernel.buffers}
    numbers = {number for kernel in kernels for number in kernel.scalars}
    return len(kernels) == len(steps) and len(buffers) <= MOST and len(numbers) < MOST


class _Held:
    """The bytes that are live during each step, and those allocated at it, for given sizes."""

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
        """Return True if all buffers of these steps may be live at once."""
        held = self._there[steps[0]] + sum([self._begun[step] for step in steps[1:] if step < len(self._begun)])
        return held <= self._most + max(self._most // MORE, LITTLE)


def interleaved_counts(kernels: Sequence[Kernel], memory: Plan) -> list[int]:
    """For each kernel of a launch group, the length of the interleaved group that starts with it, 1 if none does: one
    that the scheduler has marked, unless its buffers share slots in a way that forbids it."""
    found = [1] * len(kernels)
    for first, kernel in enumerate(kernels):
        marked = kernel.interleaved
        if marked is None or (first and kernels[first - 1].interleaved is marked):
            continue
        group = kernels[first : first + marked.kernels]
        if len(group) == marked.kernels and group[-1].interleaved is marked and _are_apart(group, memory):
            found[first] = len(group)
    return found


def _are_apart(kernels: Sequence[Kernel], memory: Plan) -> bool:
    """Return True if the stores of these kernels in one iteration do not touch what another one reads in another
    iteration, slots considered.
    """
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
    """One launch for several, each with the names of its tensors and scalars and the length of the interleaved group
    that starts with it; and the arguments of that launch, each name once."""
    of_all = [list(dict.fromkeys(chain.from_iterable(names))) for names in (tensors, numbers)]
    places = [[tuple(map(all_names.index, its)) for its in each] for all_names, each in zip(of_all, (tensors, numbers))]
    return combined(tuple(zip(launches, *places, iterations)), *map(len, of_all)), [*of_all[0], *of_all[1]]
