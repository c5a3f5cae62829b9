"""Memory planning by linear scan: live ranges, slots that buffers share, and peak memory, over symbolic sizes.

    >>> from shapes import ShapeEnv
    >>> from backends.decisions.questions import Decisions
    >>> from backends.loops.program import Program
    >>> from backends.loops.schedule import schedule
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, s = [size.expr for size in env.sizes("b s", hints=(4, 128))]
    >>> program = Program(Decisions(env))
    >>> build = program.build
    >>> x = program.input("x", "float32", (b, s), (s, build.one))
    >>> columns = build.expand(build.reduce("sum", x, (0,), keepdim=True), x.sizes)
    >>> program.outputs.append(program.stored(build.apply("sub", x, columns), (s, build.one)))
    >>> for line in plan(program, schedule(program)).lines({b.atom: 4, s.atom: 128}):
    ...     print(line)
    peak: 4*b*s bytes at step 0, 2048 where it was traced
      made0: float32[b, s], 4*b*s bytes

A buffer is live from the first step that accesses it to the last; what is returned, and what it aliases, to the end. A
buffer may be assigned the slot of a dead one where the engine proves that it fits, or of one that is overwritten in
place, element by element as it is read. Slots are assigned greedily in the order of allocation (linear scan).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from backends.decisions.questions import Choice, Decisions, at_most
from backends.loops.affine import same_place
from backends.loops.kernels import Buffer, Kernel, Load, walk
from backends.loops.nodes import Memory
from backends.loops.operations import ITEMSIZE
from backends.loops.program import Bind, Call, Program
from backends.loops.schedule import Scheduled, memories
from solver.terms.expr import Atom, Expr

TRIED: Final = 4
"""The number of free slots that are asked about for a buffer, those freed last first; and one that at the sizes of the
trace would not do."""
WASTED: Final = 2
"""Do not reuse a slot more than 2x too large."""
MUCH: Final = 64
"""The factor of the larger sizes at which memory is compared."""


@dataclass(frozen=True, slots=True)
class Life:
    """The live range of a buffer: from one step to another, both included."""

    buffer: Buffer
    first: int
    last: int
    origin: str


@dataclass(frozen=True)
class Plan:
    """The memory plan of a program.

    Attributes:
        lives: the live range of every buffer that the program allocates, in the order of allocation.
        given: those of its inputs, as far as it drops them.
        slots: for a buffer that shares a slot, the first buffer in that slot.
        size: the bytes of each buffer.
        views: what results of calls may alias.
    """

    lives: tuple[Life, ...]
    given: tuple[Life, ...]
    slots: Mapping[Buffer, Buffer]
    size: Mapping[Buffer, Expr]
    views: Mapping[Buffer, set[Buffer]]

    def at(self, step: int) -> list[Life]:
        """The buffers that are live during a step; a slot counts as the first buffer in it, until the last is dead."""
        until: dict[Buffer, int] = {}
        for life in self.lives:
            owner = self.slots.get(life.buffer, life.buffer)
            until[owner] = max(until.get(owner, 0), life.last)
        return [each for each in self.lives if each.first <= step <= until.get(each.buffer, -1)]

    def bytes(self, step: int) -> Expr:
        """The bytes that are live during a step."""
        parts = [self.size[life.buffer] for life in self.at(step)]
        return parts[0].interner.sum(parts)

    def peak(self, hints: Mapping[Atom, int]) -> int | None:
        """The first step of peak memory at these sizes; None where nothing is allocated."""
        steps = sorted({life.first for life in self.lives})
        return max(steps, key=lambda step: self.bytes(step).evaluate(hints), default=None)

    def lines(self, hints: Mapping[Atom, int]) -> Iterator[str]:
        """The peak and what is live then, the largest first, for people."""
        step = self.peak(hints)
        if step is None:
            yield "peak: no memory is made"
            return
        whole = self.bytes(step)
        yield f"peak: {whole} bytes at step {step}, {whole.evaluate(hints)} where it was traced"
        for life in sorted(self.at(step), key=lambda life: -self.size[life.buffer].evaluate(hints)):
            where = f"  ({life.origin})" if life.origin else ""
            yield f"  {life.buffer}, {self.size[life.buffer]} bytes{where}"


def plan(program: Program, steps: Sequence[Scheduled], *, consuming: bool = False) -> Plan:
    """The memory plan of a program; one that is consuming drops each input after its last use."""
    lives = list(_lives(program, steps, "made"))
    given = list(_lives(program, steps, "input")) if consuming else []
    size = {life.buffer: span(life.buffer, program.build.one) for life in (*given, *lives)}
    allocation = _Allocation(program.decisions, steps, lives, given, size)
    return Plan(tuple(lives), tuple(given), allocation.slots, size, allocation.views)


def probes(hints: Mapping[Atom, int]) -> Sequence[Mapping[Atom, int]]:
    """Sizes at which memory is compared: where the program was traced, and much larger ones."""
    return hints, {atom: hint * MUCH for atom, hint in hints.items()}


def span(buffer: Buffer, one: Expr) -> Expr:
    """The bytes of a buffer: from its first element to its last, as if no size were 0."""
    furthest = one.interner.sum([(size - 1) * stride for size, stride in zip(buffer.sizes, buffer.strides)])
    return (furthest + 1) * ITEMSIZE.get(buffer.dtype, 16)


def touched(step: Scheduled) -> list[Buffer]:
    """The buffers that a step reads or writes."""
    match step:
        case Kernel():
            return list(step.buffers)
        case Call():
            arguments = [memory.buffer for memory in memories((*step.arguments, *step.named.values()))]
            return [*arguments, *[result for result in step.results if isinstance(result, Buffer)]]
        case Bind(buffer=buffer):
            return [buffer]
        case _:
            return []


def _lives(program: Program, steps: Sequence[Scheduled], role: str) -> Iterator[Life]:
    first: dict[Buffer, int] = {}
    last: dict[Buffer, int] = {}
    origins: dict[Buffer, str] = {}
    for place, step in enumerate(steps):
        for buffer in touched(step):
            if buffer.role == role:
                first.setdefault(buffer, place if role == "made" else 0)
                last[buffer] = place
                origins.setdefault(buffer, origin_of(step))
    for output in program.outputs:
        if isinstance(output, Memory) and output.buffer in last:
            last[output.buffer] = len(steps)
    for step in reversed(steps):
        results = [each for each in results_of(step) if each in last]
        for base in may_share(step):
            if base in last:
                last[base] = max([last[base], *[last[each] for each in results]])
    for buffer, place in first.items():
        yield Life(buffer, place, last[buffer], origins[buffer])


def origin_of(step: Scheduled) -> str:
    """The line of the program that a step comes from."""
    match step:
        case Kernel(origins=(origin, *_)):
            return origin
        case Call(origin=origin):
            return origin
        case _:
            return ""


class _Allocation:
    """Slot assignment: which buffers reuse the slot of a dead one that is proven to be large enough.

    Outputs of kernels get slots, and results of calls that can be given their memory; what is returned, only if the
    slot is exactly as large. A kernel may write in place, to the slot of what it reads for the last time, if each
    iteration reads its element before it stores it. A slot that is free for some steps is held only if that does not
    raise the peak.

    Attributes:
        slots: for a buffer that shares a slot, the first buffer in that slot.
        views: what results of calls may alias.
    """

    def __init__(
        self,
        decisions: Decisions,
        steps: Sequence[Scheduled],
        lives: Sequence[Life],
        given: Sequence[Life],
        size: Mapping[Buffer, Expr],
    ) -> None:
        self.decisions = decisions
        self.steps = steps
        self.size = size
        self.slots: dict[Buffer, Buffer] = {}
        self._placed = {store.buffer for step in steps if isinstance(step, Kernel) for store in step.stores}
        self._fresh: set[Buffer] = set()
        self.views = _views(steps)
        for step in steps:
            if isinstance(step, Call) and (step.has_layout or step.is_fresh):
                (self._placed if step.into is not None else self._fresh).update(results_of(step))
        probed = probes(decisions.hints)
        self._bytes = {buffer: [each.evaluate(sizes) for sizes in probed] for buffer, each in size.items()}
        self._there = [[0] * (len(steps) + 1) for _ in probed]
        """The bytes live during each step, at the sizes where the program was traced, and at much larger ones."""
        self._held: list[tuple[Buffer, int, int, int]] = []
        for life in (*given, *lives):
            self._hold(life.buffer, life.first, life.last)
        self._most: list[int] | None = None
        self._place(lives)
        self._most = [max(there) for there in self._there]
        self._peak = self._bytes_at(self._there[0].index(self._most[0]))
        self._place(lives)

    def _place(self, lives: Sequence[Life]) -> None:
        """Assign every buffer a slot. On the first pass (`_most` unknown) a slot is freed as soon as it is dead."""
        self.slots.clear()
        until: dict[Buffer, int] = {}
        for life in lives:
            buffer = life.buffer
            if buffer in self._placed:
                owner = self._owner(life, until)
                if owner is not None:
                    if until[owner] == life.first and self._most is None:
                        self._hold(owner, life.first, life.first, -1)
                    self._hold(owner, until[owner] + 1, life.first - 1)
                    self.slots[buffer] = owner
                    until[owner] = life.last
                    continue
            if buffer in self._placed or buffer in self._fresh:
                until[buffer] = life.last

    def _hold(self, buffer: Buffer, first: int, last: int, sign: int = 1) -> None:
        self._held.append((buffer, first, last, sign))
        for there, size in zip(self._there, self._bytes[buffer]):
            for step in range(first, last + 1):
                there[step] += sign * size

    def _owner(self, life: Life, until: Mapping[Buffer, int]) -> Buffer | None:
        buffer = life.buffer
        kept = {
            owner: self._is_likely_kept(owner, until[owner], life)
            for owner in until
            if owner.dtype == buffer.dtype and self._is_free(owner, until[owner], life)
        }
        free = sorted(kept, key=lambda owner: -until[owner])

        def first_of(owners: Sequence[Buffer]) -> Buffer | None:
            likely = {owner: kept[owner] and self._is_likely_near(owner, buffer) for owner in owners}
            tried = [owner for owner in owners if likely[owner]][:TRIED]
            tried += [owner for owner in owners if not likely[owner]][:1]
            fitting = (owner for owner in tried if _fits(self.decisions, self.size[buffer], self.size[owner]))
            near = (owner for owner in fitting if self._is_near(owner, buffer))
            return next((owner for owner in near if self._is_kept(owner, until[owner], life, kept[owner])), None)

        found = first_of([owner for owner in free if self.size[owner] is self.size[buffer]])
        if life.last == len(self.steps):
            return None if found in self._fresh else found
        if found is not None:
            return found
        return first_of(free)

    def _is_free(self, owner: Buffer, end: int, life: Life) -> bool:
        if end >= life.first:
            return end == life.first and self._is_overwritten(self.steps[end], owner, life.buffer)
        return self._most is not None or end + 1 == life.first

    # where only memory depends on it, an open question is decided by the sizes of the trace

    def _is_likely_near(self, owner: Buffer, buffer: Buffer) -> bool:
        return all(large <= WASTED * small for large, small in zip(self._bytes[owner], self._bytes[buffer]))

    def _is_near(self, owner: Buffer, buffer: Buffer) -> bool:
        """Return True if a slot is not much larger than the buffer."""
        large, small = self.size[owner], self.size[buffer]
        if large is small:
            return True
        question, likely = at_most(large, small * WASTED), self._is_likely_near(owner, buffer)
        return self.decisions.sooner("reuse", question, Choice("a slot as large", "too large a slot"), likely=likely)

    def _is_likely_kept(self, owner: Buffer, end: int, life: Life) -> bool:
        return self._most is None or all(
            there[step] + size <= most
            for there, size, most in zip(self._there, self._bytes[owner], self._most)
            for step in range(end + 1, life.first)
        )

    def _is_kept(self, owner: Buffer, end: int, life: Life, likely: bool) -> bool:
        """Return True if the peak does not grow if a slot is held from the end of one live range to the begin of the
        next.
        """
        if self._most is None or end + 1 >= life.first:
            return True
        step = max(range(end + 1, life.first), key=self._there[0].__getitem__)
        meanwhile = self._bytes_at(step) + self.size[owner]
        question = at_most(meanwhile, self._peak)
        return self.decisions.sooner("reuse", question, Choice("kept until then", "let go of"), likely=likely)

    def _bytes_at(self, step: int) -> Expr:
        parts = [self.size[buffer] * sign for buffer, first, last, sign in self._held if first <= step <= last]
        return self.decisions.interner.sum(parts)

    def _is_overwritten(self, step: Scheduled, owner: Buffer, buffer: Buffer) -> bool:
        """Return True if a kernel can write a buffer in place: each element of the slot is read before it is stored,
        and never after that.
        """
        if not isinstance(step, Kernel):
            return False
        there = [each for each in step.buffers if owner in self._occupants_of(each)]
        stores = [store for store in step.stores if store.buffer is buffer]
        if len(there) != 1 or there[0] in self.views or len(stores) != 1:
            return False
        (read,), (store,) = there, stores
        if any(each.buffer is read for each in step.stores) or step.is_once(store) or store.accumulates:
            return False
        loads = [each for each in walk(step.roots()) if isinstance(each, Load) and each.buffer is read]
        if any(load.indirect or not same_place(self.decisions, load.offset, store.offset) for load in loads):
            return False
        written = next(number for number, each in enumerate(step.passes) if store in each.stores)
        later = [reduction.body for each in step.passes[written + 1 :] for reduction in each.reductions]
        later += [other.value for each in step.passes[written + 1 :] for other in each.stores]
        later += [other.value for other in step.once]
        return not any(isinstance(each, Load) and each.buffer is read for each in walk(later))

    def _occupants_of(self, buffer: Buffer) -> set[Buffer]:
        """The slots that a buffer is in, or may alias, by their first buffers."""
        return {self.slots.get(each, each) for each in (buffer, *self.views.get(buffer, ()))}


def results_of(step: Scheduled) -> list[Buffer]:
    """The tensors that a call returns."""
    return [each for each in step.results if isinstance(each, Buffer)] if isinstance(step, Call) else []


def may_share(step: Scheduled) -> Sequence[Buffer]:
    """The buffers that results of a step may alias: of some operators no schema says so."""
    match step:
        case Call(aliases=Buffer() as base):
            return [base]
        case Call(has_layout=False, is_fresh=False):
            return [memory.buffer for memory in memories((*step.arguments, *step.named.values()))]
        case _:
            return []


def returned_by(program: Program, steps: Sequence[Scheduled], outputs: Sequence[object]) -> set[Buffer]:
    """The buffers that some of the outputs alias."""
    found = {output.buffer for output in outputs if isinstance(output, Memory)}
    for step in reversed(steps):
        if isinstance(step, Call) and any(result in found for result in step.results):
            found.update(may_share(step))
    return found


def _views(steps: Sequence[Scheduled]) -> dict[Buffer, set[Buffer]]:
    """Results of calls that may alias something, and what."""
    found: dict[Buffer, set[Buffer]] = {}
    for step in steps:
        bases = may_share(step)
        if bases:
            shared = {*bases}.union(*[found.get(base, ()) for base in bases])
            found.update(dict.fromkeys(results_of(step), shared))
    return found


def _fits(decisions: Decisions, small: Expr, large: Expr) -> bool:
    choice = Choice("the same memory", "memory of its own")
    if small is large:
        return decisions.same("reuse", small, large, choice)
    return decisions.holds("reuse", at_most(small, large), choice, iterations=small) is True
