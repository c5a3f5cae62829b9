"""Greedy loop fusion: loop nests are merged, so that what one stores the next need not load.

    for outer axes O | inner axes I                     a reduction: O kept, I reduced

Two nests can be one kernel if their loops are the same: both O | I; or one is O | I and the other, without inner axes,
covers all of them (in the order of the tensor that is reduced) or O only. Sums over I | O are fused as accumulations,
where a backend can (`backends.loops.interchange`). Every dependence must be within one iteration: the second loads the
element that the first stores in it, at an equal offset. Such a load becomes the stored value (store-to-load
forwarding), so a chain of tensors becomes one expression.

Fusion is greedy, in the order of the program: each nest is merged with the last one before it that it shares memory
with and that it can be moved to, past all steps in between that neither depends on; then once more over all. Last come
sibling reductions with the same loops over the results of one kernel: for small tensors, launching a kernel takes as
long as running it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from backends.loops.affine import Affine, same_place
from backends.loops.interchange import absorb_copies, interchanged, is_interchangeable, is_profitable
from backends.loops.kernels import Bodies, Buffer, Load, Scalar, Store
from backends.loops.loop_nest import LoopNest, below, renumbered, rewritten
from backends.loops.loop_order import is_transpose
from backends.loops.nodes import Indices, Rows
from backends.loops.tensors import Expressions
from backends.loops.toposort import toposort
from solver.terms.expr import Atom, Expr

BUFFERS: Final = 24
"""A kernel takes no more buffers than these; addresses of more would not stay in registers."""


@dataclass(eq=False)
class Item:
    """A step in order, a loop nest or something that is no kernel, and the buffers that it accesses.

    Attributes:
        before: the transitive dependences, as a bit set of item numbers.
    """

    number: int
    nest: LoopNest | None
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
        interchanges: whether column reductions may be fused into row-major kernels.
    """

    def __init__(self, build: Expressions, bodies: Bodies, *, interchanges: bool) -> None:
        self.build = build
        self.bodies = bodies
        self.interchanges = interchanges
        self.items: list[Item] = []
        self._writers: dict[Buffer, list[Item]] = {}
        self._readers: dict[Buffer, list[Item]] = {}
        self._guards: dict[Buffer, list[Item]] = {}
        self._latest_call = 0
        self._told: dict[Atom, Item] = {}
        """The steps that compute unbacked symbols."""

    def add_step(
        self,
        step: object,
        reads: set[Buffer],
        writes: set[Buffer],
        *,
        in_order: bool,
        tells: Sequence[Atom] = (),
        guards: Sequence[Buffer] = (),
    ) -> None:
        """A step other than a kernel. Steps that are `in_order` stay so among themselves; what needs a symbol that a
        step `tells`, or reads a buffer that it `guards`, comes behind it."""
        item = self._item(None, step, reads, writes)
        self._told.update(dict.fromkeys(tells, item))
        for buffer in guards:
            self._guards.setdefault(buffer, []).append(item)
        if in_order:
            item.before |= self._latest_call
            self._latest_call = item.before | item.bit
        self._enter(item)

    def add_nest(self, nest: LoopNest) -> None:
        """One more nest, fused into one that is there if possible."""
        reads, writes = buffers_of(nest)
        item = self._item(nest, None, reads, writes)
        for symbol in self._told.keys() & symbols_of(nest) if self._told else ():
            item.before |= self._told[symbol].before | self._told[symbol].bit
        first = self._fused(item, self.items, self._is_worth)
        if first is None:
            self._enter(item)
        else:
            self._register(first, reads, writes)

    def settle(self) -> None:
        """Fuse what could not be while it was added: kernels that each were fused with something in between, and then
        sibling reductions."""
        for is_worth in (self._is_worth, self._are_siblings):
            for place in reversed(range(1, len(self.items))):
                item = self.items[place]
                first = None if item.nest is None else self._fused(item, self.items[:place], is_worth)
                if first is not None:
                    del self.items[place]
                    for each in self.items:
                        if each is not first and each.before & item.bit:
                            each.before = each.before & ~item.bit | first.bit | first.before

    def in_order(self) -> list[Item]:
        """All items in topological order, close to that of the program; those that read no intermediate result as late
        as possible, which shortens live ranges."""
        late = {each for each in self.items if each.nest and not any(read.role == "made" for read in each.reads)}
        soon = [each for each in self.items if each not in late]
        bits = {each.bit: each for each in self.items}

        def behind(item: Item) -> list[Item]:
            left = item.before & ~item.bit
            return [each for bit, each in bits.items() if left & bit]

        done = 0
        ordered: list[Item] = []
        for item in toposort([*soon, *self.items], behind):
            assert not item.before & ~done & ~item.bit, "steps depend on each other in a circle"
            done |= item.bit
            ordered.append(item)
        return ordered

    # ------------------------------------------------------------------ dependences

    def _item(self, nest: LoopNest | None, step: object, reads: set[Buffer], writes: set[Buffer]) -> Item:
        item = Item(len(self.items), nest, step, reads, writes)
        earlier: list[Item] = []
        for buffer in reads | writes:
            earlier += self._writers.get(buffer, ())
        for buffer in reads:
            earlier += self._guards.get(buffer, ())
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
        """Return True if fusing saves a load: they share memory."""
        shared = first.writes & second.reads or first.reads & second.reads
        return bool(shared) and self._are_few(first, second)

    def _are_siblings(self, first: Item, second: Item) -> bool:
        """Return True if they reduce results of one kernel along the same axes. Results are smaller than operands, so
        longer live ranges do not matter.
        """
        one, other = first.nest, second.nest
        if one is None or other is None or not one.inner or one.outer != other.outer or one.inner != other.inner:
            return False
        makers = [each.writes for each in self.items if each.nest is not None]
        return self._are_few(first, second) and any(each & first.reads and each & second.reads for each in makers)

    def _are_few(self, first: Item, second: Item) -> bool:
        return len(first.reads | first.writes | second.reads | second.writes) <= BUFFERS

    def _is_between(self, first: Item, second: Item) -> bool:
        """Return True if a dependence path leads from the first through another item to the second, or back."""
        if first.before & second.bit:
            return True
        between = second.before & ~first.bit
        return any(between & each.bit and each.before & first.bit for each in self.items)

    def _fused(self, second: Item, others: Sequence[Item], is_worth: Callable[[Item, Item], bool]) -> Item | None:
        """The last of the others that an item can be fused into, with the item as its part."""
        for first in reversed(others):
            if first.nest is None:
                continue
            earlier, later = (second, first) if first.before & second.bit else (first, second)
            if not is_worth(earlier, later) or self._is_between(earlier, later):
                continue
            fused = self._as_one(earlier.nest, later.nest)
            if fused is None:
                continue
            first.nest = fused
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

    def _as_one(self, earlier: LoopNest | None, later: LoopNest | None) -> LoopNest | None:
        if earlier is None or later is None:
            return None
        fused = fuse(self.build, self.bodies, earlier, later)
        if fused is None and self.interchanges:
            fused = _fuse_interchanged(self.build, self.bodies, earlier, later)
        return fused


def buffers_of(nest: LoopNest) -> tuple[set[Buffer], set[Buffer]]:
    """The buffers that a nest reads, and those that it writes."""
    reads = {value.buffer for value in below(nest.roots) if isinstance(value, Load)}
    return reads, {store.buffer for store in nest.stores}


def symbols_of(nest: LoopNest) -> set[Atom]:
    """The symbols in the sizes that a nest computes with, those of the memory that it allocates included."""
    sizes = [*nest.kernel("").scalars, *[size for store in nest.stores for size in store.buffer.sizes]]
    return {symbol for size in sizes for symbol in size.symbols}


def fuse(build: Expressions, bodies: Bodies, first: LoopNest, second: LoopNest) -> LoopNest | None:
    """Both as one kernel, the first's stores before the second's; None where they cannot be."""
    loops = _common(build, first, second)
    if loops is None:
        return None
    shape, of_first, of_second = loops
    stores = first.stores if of_first is None else renumbered(bodies, first, of_first)
    indices = _axes(build, second) if of_second is None else of_second
    values = _same_iteration(build, stores, second, indices, shape)
    if values is None:
        return None
    new = rewritten(bodies, second.roots, indices, values)
    added = [replace(store, offset=store.offset.at(indices), value=value) for store, value in zip(second.stores, new)]
    origins = tuple(dict.fromkeys([*first.origins, *second.origins]))
    fused = replace(shape, stores=(*stores, *added), origins=origins)
    interchanges = is_transpose(fused) and not any(each.inner and is_transpose(each) for each in (first, second))
    return None if interchanges else fused


def _fuse_interchanged(build: Expressions, bodies: Bodies, first: LoopNest, second: LoopNest) -> LoopNest | None:
    """Both as one kernel, one of them with outer and inner loops interchanged."""
    if first.ragged is not None or second.ragged is not None:
        return None
    if not second.inner:
        return absorb_copies(build, first, second)
    may_interchange = [is_interchangeable(nest) for nest in (first, second)]
    if not any(may_interchange) or not first.inner:
        return None
    if not _equal(build, first.outer, second.inner) or not _equal(build, first.inner, second.outer):
        return None
    if may_interchange[0]:
        sums = interchanged(build, bodies, first)
        if is_profitable(build, bodies, sums, second):
            return fuse(build, bodies, sums, second)
    if may_interchange[1]:
        sums = interchanged(build, bodies, second)
        if is_profitable(build, bodies, sums, first):
            return fuse(build, bodies, first, sums)
    return None


def _common(
    build: Expressions, first: LoopNest, second: LoopNest
) -> tuple[LoopNest, Indices | None, Indices | None] | None:
    """The nest whose loops both can have, and for each of the two the map of its axes to them, if not the identity."""
    if first.ragged is not None or second.ragged is not None:
        return _common_ragged(build, first, second)
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
    indices = tuple([build.axis(axis) for axis in shape.natural])
    return (shape, None, indices) if shape is first else (shape, indices, None)


def _common_ragged(
    build: Expressions, first: LoopNest, second: LoopNest
) -> tuple[LoopNest, Indices | None, Indices | None] | None:
    """The same where one of them is ragged. The other has the same rows, or no inner axes: then it covers the outer
    ones, or all elements of an axis whose rows cover it."""
    one, other = first.ragged, second.ragged
    if one is not None and other is not None:
        if one.source is not other.source:
            return None
        if len(first.inner) == len(second.inner):
            is_same = (one.row, one.axis) == (other.row, other.axis)
            is_same = is_same and _equal(build, first.outer, second.outer) and _equal(build, first.inner, second.inner)
            return (first, None, None) if is_same else None
        if first.inner and second.inner:
            return None
        shape, flat = (first, second) if first.inner else (second, first)
        order = shape.natural
    else:
        shape, flat = (first, second) if one is not None else (second, first)
        if flat.inner:
            return None
        if shape.inner and _equal(build, flat.outer, shape.outer):
            return shape, None, None
        assert shape.ragged is not None and isinstance(shape.ragged.source, Rows)
        if not shape.ragged.source.covers:
            return None
        order = shape.natural[1:]
    if not _equal(build, flat.outer, [shape.extents[axis] for axis in order]):
        return None
    if flat.ragged is not None and shape.ragged is not None:
        if (order[flat.ragged.row], order[flat.ragged.axis]) != (shape.ragged.row, shape.ragged.axis):
            return None
    indices = tuple([build.axis(axis) for axis in order])
    return (shape, None, indices) if shape is first else (shape, indices, None)


def _equal(build: Expressions, sizes: Sequence[Expr], others: Sequence[Expr]) -> bool:
    if len(sizes) != len(others):
        return False
    iterations = build.product(sizes)
    return all(build.decisions.equal(a, b, iterations=iterations) for a, b in zip(sizes, others))


def _axes(build: Expressions, nest: LoopNest) -> Indices:
    return build.axes(len(nest.extents))


def _same_iteration(
    build: Expressions, stores: Sequence[Store], second: LoopNest, indices: Indices, shape: LoopNest
) -> dict[tuple[Buffer, Affine], Scalar] | None:
    """The stored values that the second nest loads, by buffer and offset; None if a dependence between the two is
    carried by a loop: a load of what another iteration stores, or a store to what the first uses in another."""
    iterations = build.product(shape.extents)
    written: dict[Buffer, list[Store]] = {}
    for store in stores:
        written.setdefault(store.buffer, []).append(store)
    stored: dict[tuple[Buffer, Affine], Scalar] = {}
    for value in below(second.roots):
        if isinstance(value, Load) and value.buffer in written:
            offset = value.offset.at(indices)
            found = [
                store.value
                for store in written[value.buffer]
                if not store.accumulates and same_place(build.decisions, store.offset, offset, iterations=iterations)
            ]
            if value.indirect or not found:
                return None
            stored[value.buffer, offset] = found[-1]
    targets = {store.buffer: store.offset.at(indices) for store in second.stores}
    if not targets.keys().isdisjoint(written):
        return None
    if any(isinstance(value, Load) and value.buffer in targets for value in below(shape.bounds)):
        return None
    for value in below([store.value for store in stores]):
        if isinstance(value, Load) and value.buffer in targets:
            if shape.inner or value.indirect:
                return None
            if not same_place(build.decisions, value.offset, targets[value.buffer], iterations=iterations):
                return None
    return stored
