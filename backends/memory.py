"""When memory is needed, what can be in the same place, and how much there is at once: as expressions over sizes.

    >>> from shapes import ShapeEnv
    >>> from backends.decisions import Decisions
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

Memory that the program makes is needed from the first step that touches it to the last; what is returned, and what
shares memory with something that is, to the end. A buffer may take the place of one that is not needed any more where
the engine knows that it fits, or that is overwritten element by element as it is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from backends.loops.kernels import Buffer, Kernel, Load, walk
from backends.loops.operations import ITEMSIZE
from backends.loops.program import Bind, Call, Program
from backends.loops.schedule import Scheduled, memories
from backends.loops.tensors import Memory
from solver.expr import Expr

if TYPE_CHECKING:
    from backends.decisions import Decisions
    from solver.expr import Atom

TRIED: Final = 4
"""So many free places are asked about for a buffer, those that came free last first."""


@dataclass(frozen=True, slots=True)
class Life:
    """When a buffer is needed: from one step to another, both included."""

    buffer: Buffer
    first: int
    last: int
    origin: str


@dataclass(frozen=True)
class Plan:
    """The memory of a program.

    Attributes:
        lives: of every buffer that the program makes, in the order in which they are made.
        places: for a buffer that takes the place of others, the first one that was there.
        size: the bytes of each buffer.
    """

    lives: tuple[Life, ...]
    places: Mapping[Buffer, Buffer]
    size: Mapping[Buffer, Expr]

    def at(self, step: int) -> list[Life]:
        """What is there during a step; a place that is taken over counts as what was there first."""
        first = {life.buffer: life for life in self.lives}
        alive = [life.buffer for life in self.lives if life.first <= step <= life.last]
        return [first[buffer] for buffer in dict.fromkeys([self.places.get(each, each) for each in alive])]

    def bytes(self, step: int) -> Expr:
        """How much is there during a step."""
        parts = [self.size[life.buffer] for life in self.at(step)]
        return parts[0].interner.sum(parts)

    def peak(self, hints: Mapping[Atom, int]) -> int | None:
        """The first step during which most memory is there, at these sizes; None where nothing is made."""
        steps = sorted({life.first for life in self.lives})
        return max(steps, key=lambda step: self.bytes(step).evaluate(hints), default=None)

    def lines(self, hints: Mapping[Atom, int]) -> Iterator[str]:
        """The peak and what is there then, the largest first, for people."""
        step = self.peak(hints)
        if step is None:
            yield "peak: no memory is made"
            return
        whole = self.bytes(step)
        yield f"peak: {whole} bytes at step {step}, {whole.evaluate(hints)} where it was traced"
        for life in sorted(self.at(step), key=lambda life: -self.size[life.buffer].evaluate(hints)):
            where = f"  ({life.origin})" if life.origin else ""
            yield f"  {life.buffer}, {self.size[life.buffer]} bytes{where}"


def plan(program: Program, steps: Sequence[Scheduled]) -> Plan:
    """The memory that the steps of a program need."""
    lives = list(_lives(program, steps))
    size = {life.buffer: span(life.buffer, program.build.one) for life in lives}
    return Plan(tuple(lives), _places(program.decisions, steps, lives, size), size)


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


def _lives(program: Program, steps: Sequence[Scheduled]) -> Iterator[Life]:
    first: dict[Buffer, int] = {}
    last: dict[Buffer, int] = {}
    origins: dict[Buffer, str] = {}
    for place, step in enumerate(steps):
        for buffer in touched(step):
            if buffer.role == "made":
                first.setdefault(buffer, place)
                last[buffer] = place
                origins.setdefault(buffer, origin_of(step))
    for output in program.outputs:
        if isinstance(output, Memory) and output.buffer in last:
            last[output.buffer] = len(steps)
    for step in reversed(steps):
        if isinstance(step, Call) and step.aliases is not None and step.aliases in last:
            shared = [last[result] for result in step.results if isinstance(result, Buffer) and result in last]
            last[step.aliases] = max([last[step.aliases], *shared])
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


def _places(
    decisions: Decisions, steps: Sequence[Scheduled], lives: Sequence[Life], size: Mapping[Buffer, Expr]
) -> dict[Buffer, Buffer]:
    """Which buffers take the place of another one that is not needed any more, and is as large for certain.

    Only what kernels write is placed, unless it is returned. It may take the place of what its own kernel reads for the
    last time, if that is overwritten turn by turn.
    """
    by_kernels = {store.buffer for step in steps if isinstance(step, Kernel) for store in step.stores}
    fresh = {each for step in steps if isinstance(step, Call) and step.is_laid_out for each in step.results}
    places: dict[Buffer, Buffer] = {}
    taken_until: dict[Buffer, int] = {}
    for life in lives:
        buffer = life.buffer
        if life.last == len(steps) or buffer not in by_kernels:
            if buffer in fresh and life.last < len(steps):
                taken_until[buffer] = life.last
            continue
        free = [
            owner
            for owner, end in taken_until.items()
            if owner.dtype == buffer.dtype
            and (end < life.first or end == life.first and _is_overwritten(steps[end], owner, buffer, places))
        ]
        free.sort(key=lambda owner: -taken_until[owner])
        for owner in free[:TRIED]:
            if size[owner] is size[buffer] or _fits(decisions, size[buffer], size[owner]):
                places[buffer] = owner
                taken_until[owner] = life.last
                break
        else:
            taken_until[buffer] = life.last
    return places


def _is_overwritten(step: Scheduled, owner: Buffer, buffer: Buffer, places: Mapping[Buffer, Buffer]) -> bool:
    """Whether a kernel reads what is in a place element by element as it writes a buffer, never after that."""
    if not isinstance(step, Kernel):
        return False
    there = [each for each in step.buffers if each is owner or places.get(each) is owner]
    stores = [store for store in step.stores if store.buffer is buffer]
    if len(there) != 1 or len(stores) != 1 or any(store.buffer is there[0] for store in step.stores):
        return False
    (store,) = stores
    if step.is_once(store) or store.summed:
        return False
    loads = [each for each in walk(step.roots()) if isinstance(each, Load) and each.buffer is there[0]]
    if any(load.indirect or load.offset != store.offset for load in loads):
        return False
    written = next(number for number, each in enumerate(step.passes) if store in each.stores)
    later = [reduction.body for each in step.passes[written + 1 :] for reduction in each.reductions]
    later += [other.value for each in step.passes[written + 1 :] for other in each.stores]
    later += [other.value for other in step.once]
    return not any(isinstance(each, Load) and each.buffer is there[0] for each in walk(later))


def _fits(decisions: Decisions, small: Expr, large: Expr) -> bool:
    question = decisions.interner.le(small, large)
    return decisions.holds("reuse", question, "the same memory", "memory of its own") is True
