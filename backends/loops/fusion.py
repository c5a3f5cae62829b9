"""Putting drafts of kernels together, so that what one stores the next need not load.

    for outer axes O | inner axes I                     a reduction: O kept, I reduced

Two drafts can be one kernel if their loops are the same: both O | I; or one is O | I and the other, without inner axes,
goes over all of them (in the order of the tensor that is reduced) or over O only. Sums I | O join as sums over turns,
where a backend can (`backends.loops.interchange`). What the first stores and the second
loads must be the same element in the same turn, seen from equal offsets. A load of what was stored before becomes the
value itself, so a chain of tensors becomes one expression.

Which drafts are put together is decided greedily, in the order of the program: each with the last one before it that it
shares memory with and that it can be moved to, past all steps in between that do not depend on either; and once more
when all are there. Last come reductions with the same loops of what one kernel has left behind: two sums of small
tensors take as long as starting two kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from backends.loops.affine import Affine, same_place
from backends.loops.interchange import crossed, is_crossable, pays, with_copies
from backends.loops.kernels import Bodies, Buffer, Load, Scalar, Store
from backends.loops.loop_body import Draft, below, renumbered, rewritten
from backends.loops.loop_order import is_crosswise
from backends.loops.nodes import Places
from backends.loops.tensors import Expressions
from backends.loops.toposort import parts_first
from solver.terms.expr import Atom, Expr

BUFFERS: Final = 24
"""A kernel takes no more buffers than these; addresses of more would not stay in registers."""


@dataclass(eq=False)
class Item:
    """A step in order: a draft, or something that is no kernel, and which buffers it needs.

    Attributes:
        before: numbers of all items that must come first, as bits.
    """

    number: int
    draft: Draft | None
    step: object
    reads: set[Buffer]
    writes: set[Buffer]
    before: int = 0

    @property
    def bit(self) -> int:
        return 1 << self.number


class Fusion:
    """The items of a program, fused as they are added.

    Attributes:
        crosses: whether sums over rows may become part of kernels that go by rows.
    """

    def __init__(self, build: Expressions, bodies: Bodies, *, crosses: bool) -> None:
        self.build = build
        self.bodies = bodies
        self.crosses = crosses
        self.items: list[Item] = []
        self._writers: dict[Buffer, list[Item]] = {}
        self._readers: dict[Buffer, list[Item]] = {}
        self._latest_call = 0
        self._told: dict[Atom, Item] = {}
        """The steps that tell symbols which only the run knows."""

    def add_step(
        self, step: object, reads: set[Buffer], writes: set[Buffer], *, in_order: bool, tells: Sequence[Atom] = ()
    ) -> None:
        """Something that is no kernel. Steps that are `in_order` stay so among themselves; what needs a symbol that a
        step `tells` comes behind it."""
        item = self._item(None, step, reads, writes)
        self._told.update(dict.fromkeys(tells, item))
        if in_order:
            item.before |= self._latest_call
            self._latest_call = item.before | item.bit
        self._enter(item)

    def add_draft(self, draft: Draft) -> None:
        """One more kernel, or more of one that is there."""
        reads, writes = buffers_of(draft)
        item = self._item(draft, None, reads, writes)
        for symbol in self._told.keys() & symbols_of(draft) if self._told else ():
            item.before |= self._told[symbol].before | self._told[symbol].bit
        first = self._fused(item, self.items, self._is_worth)
        if first is None:
            self._enter(item)
        else:
            self._register(first, reads, writes)

    def settle(self) -> None:
        """Put together what could not be while it was added: kernels that each took in something in between, and then
        reductions of what one kernel has written."""
        for is_worth in (self._is_worth, self._are_siblings):
            self._settle(is_worth)

    def _settle(self, is_worth: Callable[[Item, Item], bool]) -> None:
        place = len(self.items)
        while place > 1:
            place -= 1
            item = self.items[place]
            if item.draft is not None:
                first = self._fused(item, self.items[:place], is_worth)
                if first is not None:
                    del self.items[place]
                    for each in self.items:
                        if each is not first and each.before & item.bit:
                            each.before = each.before & ~item.bit | first.bit | first.before

    def in_order(self) -> list[Item]:
        """All items as they came, what an item depends on right before it where that came later; what is made of
        nothing but what is given, as late as it can be."""
        late = {each for each in self.items if each.draft and not any(read.role == "made" for read in each.reads)}
        soon = [each for each in self.items if each not in late]
        bits = {each.bit: each for each in self.items}

        def behind(item: Item) -> list[Item]:
            left = item.before & ~item.bit
            return [each for bit, each in bits.items() if left & bit]

        done = 0
        ordered: list[Item] = []
        for item in parts_first([*soon, *self.items], behind):
            assert not item.before & ~done & ~item.bit, "steps depend on each other in a circle"
            done |= item.bit
            ordered.append(item)
        return ordered

    # ------------------------------------------------------------------ what depends on what

    def _item(self, draft: Draft | None, step: object, reads: set[Buffer], writes: set[Buffer]) -> Item:
        item = Item(len(self.items), draft, step, reads, writes)
        earlier: list[Item] = []
        for buffer in reads | writes:
            earlier += self._writers.get(buffer, ())
        for buffer in writes:
            earlier += self._readers.get(buffer, ())
        for each in earlier:
            item.before |= each.before | each.bit
        return item

    def _enter(self, item: Item) -> None:
        self.items.append(item)
        self._register(item, item.reads, item.writes)

    def _register(self, item: Item, reads: set[Buffer], writes: set[Buffer]) -> None:
        for buffer in reads:
            self._readers.setdefault(buffer, []).append(item)
        for buffer in writes:
            self._writers.setdefault(buffer, []).append(item)

    def _is_worth(self, first: Item, second: Item) -> bool:
        """Whether they share memory."""
        shared = first.writes & second.reads or first.reads & second.reads
        return bool(shared) and self._are_few(first, second)

    def _are_siblings(self, first: Item, second: Item) -> bool:
        """Whether they reduce along the same axes what one kernel has written. What they leave is smaller than what
        they read, so it does not matter for memory that it is there at once."""
        if not first.draft.inner or first.draft.outer != second.draft.outer or first.draft.inner != second.draft.inner:
            return False
        makers = [each.writes for each in self.items if each.draft is not None]
        return self._are_few(first, second) and any(each & first.reads and each & second.reads for each in makers)

    def _are_few(self, first: Item, second: Item) -> bool:
        return len(first.reads | first.writes | second.reads | second.writes) <= BUFFERS

    def _is_between(self, first: Item, second: Item) -> bool:
        """Whether something must come after the first and before the second, or the second before the first."""
        if first.before & second.bit:
            return True
        between = second.before & ~first.bit
        return any(between & each.bit and each.before & first.bit for each in self.items)

    def _fused(self, second: Item, others: Sequence[Item], is_worth: Callable[[Item, Item], bool]) -> Item | None:
        """The last of the others that an item could become a part of, with the item as its part."""
        for first in reversed(others):
            if first.draft is None:
                continue
            earlier, later = (second, first) if first.before & second.bit else (first, second)
            if not is_worth(earlier, later) or self._is_between(earlier, later):
                continue
            fused = fused_drafts(self.build, self.bodies, earlier.draft, later.draft)
            if fused is None and self.crosses:
                fused = _fused_crosswise(self.build, self.bodies, earlier.draft, later.draft)
            if fused is None:
                continue
            first.draft = fused
            first.reads |= second.reads
            first.writes |= second.writes
            first.before = (first.before | second.before) & ~first.bit & ~second.bit
            for each in self.items:
                if each.before & first.bit:
                    each.before |= first.before
            if self._latest_call & first.bit:
                self._latest_call |= first.before
            return first
        return None


def buffers_of(draft: Draft) -> tuple[set[Buffer], set[Buffer]]:
    """The buffers that a draft reads, and those that it writes."""
    reads = {value.buffer for value in below(draft.roots) if isinstance(value, Load)}
    return reads, {store.buffer for store in draft.stores}


def symbols_of(draft: Draft) -> set[Atom]:
    """The symbols in the sizes that a draft computes with, those of the memory that it makes included."""
    sizes = [*draft.kernel("").numbers, *[size for store in draft.stores for size in store.buffer.sizes]]
    return {symbol for size in sizes for symbol in size.symbols}


def fused_drafts(build: Expressions, bodies: Bodies, first: Draft, second: Draft) -> Draft | None:
    """Both as one kernel, the first's stores before the second's; None where they can not be."""
    loops = _common(build, first, second)
    if loops is None:
        return None
    shape, of_first, of_second = loops
    stores = first.stores if of_first is None else renumbered(bodies, first, of_first)
    places = _places(build, second) if of_second is None else of_second
    values = _same_turn(build, stores, second, places, shape)
    if values is None:
        return None
    new = rewritten(bodies, second.roots, places, values)
    added = [replace(store, offset=store.offset.at(places), value=value) for store, value in zip(second.stores, new)]
    origins = tuple(dict.fromkeys([*first.origins, *second.origins]))
    fused = replace(shape, stores=(*stores, *added), origins=origins)
    crosses = is_crosswise(fused) and not any(each.inner and is_crosswise(each) for each in (first, second))
    return None if crosses else fused


def _fused_crosswise(build: Expressions, bodies: Bodies, first: Draft, second: Draft) -> Draft | None:
    """Both as one kernel, one of them with outer and inner axes exchanged."""
    if not second.inner:
        return with_copies(build, first, second)
    may_cross = [is_crossable(draft) for draft in (first, second)]
    if not any(may_cross) or not first.inner:
        return None
    if not _equal(build, first.outer, second.inner) or not _equal(build, first.inner, second.outer):
        return None
    if may_cross[0]:
        sums = crossed(build, bodies, first)
        if pays(build, bodies, sums, second):
            return fused_drafts(build, bodies, sums, second)
    if may_cross[1]:
        sums = crossed(build, bodies, second)
        if pays(build, bodies, sums, first):
            return fused_drafts(build, bodies, first, sums)
    return None


def _common(build: Expressions, first: Draft, second: Draft) -> tuple[Draft, Places | None, Places | None] | None:
    """The draft whose loops both can have, and for each of the two, where its axes are among them if elsewhere."""
    if len(first.inner) == len(second.inner):
        if _equal(build, first.outer, second.outer) and _equal(build, first.inner, second.inner):
            return first, None, None
        return None
    if first.inner and second.inner:
        return None
    shape, flat = (first, second) if first.inner else (second, first)
    if _equal(build, flat.outer, shape.outer):
        return shape, None, None
    natural = [shape.extents[axis] for axis in shape.natural]
    if not _equal(build, flat.outer, natural):
        return None
    places = tuple([build.axis(axis) for axis in shape.natural])
    return (shape, None, places) if shape is first else (shape, places, None)


def _equal(build: Expressions, sizes: Sequence[Expr], others: Sequence[Expr]) -> bool:
    if len(sizes) != len(others):
        return False
    turns = build.product(sizes)
    return all(build.decisions.equal(a, b, turns=turns) for a, b in zip(sizes, others))


def _places(build: Expressions, draft: Draft) -> Places:
    return build.axes(len(draft.extents))


def _same_turn(
    build: Expressions, stores: Sequence[Store], second: Draft, places: Places, shape: Draft
) -> dict[tuple[Buffer, Affine], Scalar] | None:
    """What the second loads that was stored, by where, if it may run turn by turn with the first: it loads what was
    stored in the same turn only, and stores to nothing that the first uses, or in the same turn only."""
    turns = build.product(shape.extents)
    written: dict[Buffer, list[Store]] = {}
    for store in stores:
        written.setdefault(store.buffer, []).append(store)
    stored: dict[tuple[Buffer, Affine], Scalar] = {}
    for value in below(second.roots):
        if isinstance(value, Load) and value.buffer in written:
            offset = value.offset.at(places)
            found = [
                store.value
                for store in written[value.buffer]
                if not store.summed and same_place(build.decisions, store.offset, offset, turns=turns)
            ]
            if value.indirect or not found:
                return None
            stored[value.buffer, offset] = found[-1]
    targets = {store.buffer: store.offset.at(places) for store in second.stores}
    if not targets.keys().isdisjoint(written):
        return None
    for value in below([store.value for store in stores]):
        if isinstance(value, Load) and value.buffer in targets:
            if shape.inner or value.indirect:
                return None
            if not same_place(build.decisions, value.offset, targets[value.buffer], turns=turns):
                return None
    return stored
