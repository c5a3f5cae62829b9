"""Analysis of a kernel: the loop that each value varies in (its depth), and what differs between lanes.

    >>> from solver.terms.interner import Interner
    >>> from shapes import ShapeEnv
    >>> from backends.decisions.questions import Decisions
    >>> from backends.loops.affine import Affine
    >>> from backends.loops.kernels import Apply, Buffer, Kernel, Load, Store
    >>> env = ShapeEnv(origin=lambda: None)
    >>> r, c = [size.expr for size in env.sizes("r c")]
    >>> one = env.interner.constant(1)
    >>> x, w = Buffer("x", "float32", (r, c), (c, one)), Buffer("w", "float32", (r,), (one,))
    >>> i, j = Affine.axis(0, env.interner), Affine.axis(1, env.interner)
    >>> row, each = Load(w, i), Load(x, i * c + j)
    >>> product = Apply("mul", (row, each), "float32")
    >>> kernel = Kernel("k0", (r, c), 2, (), (Store(x, i * c + j, product),), lanes=1)
    >>> loops = Loops(kernel, Decisions(env))
    >>> [loops.depth[value] for value in (row, each, product)], row in loops.varying
    ([0, 1, 1], False)

Loops stand in the order of the axes, so the depth of a value is the last axis that it depends on, -1 for none. Along
the axis of the lanes a value is either one vector of different elements, or the same in all lanes; the latter is
computed once, outside of that loop.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import reduce
from typing import Final

from backends.cpu.emission.c_operations import width
from backends.cpu.emission.lane_compare import ByLane, by_lane
from backends.cpu.emission.loop_split import outer_split_points, split_points
from backends.cpu.emission.transpose import swapped_lanes, transposed
from backends.cpu.vector import lanes_for
from backends.decisions.questions import Choice, Decisions, at_least, is_multiple
from backends.loops.affine import Affine, is_one
from backends.loops.kernels import Apply, Buffer, IndexValue, Kernel, Load, Pass, Reduced, Scalar
from backends.loops.operations import ITEMSIZE, OPERATIONS
from backends.loops.toposort import toposort
from solver.terms.expr import Expr

GRAIN: Final = 1 << 17
"""Simple operations that are worth a thread."""
ALIGNED: Final = 64
"""Threads begin at multiples of these elements, where lanes run along what is divided."""
WEIGHT: Final = 8
"""Simple operations that one costly operation takes the time of."""


class Loops:
    """The loops of a kernel.

    Attributes:
        is_swapped: whether this is the second form of a transposing kernel, for short runs along what is stored.
        scalars, buffers: what the kernel is given, in this order.
        lanes: the axis that lanes run along, None where there are no axes.
        along_inner: whether that is an inner axis, so that reductions go over the lanes as well.
        depth: the last axis that a value depends on.
        varying: the values that differ between lanes.
        late: the values that need a reduction.
        kept: of the kernel's, those that are kept in memory, and the pass that writes them.
        by_lane: comparisons that are made with numbers of lanes.
        count: how many lanes.
        bits: how wide the elements of full vectors are.
        open: coefficients of the lanes' axis that may be 1 or not.
        split_points: where the vectorized loop is split.
        outer_split_points: where loops along other axes are.
        is_divided: whether the vector length divides the vectorized axis, so that there is no tail.
        grain: how many elements are worth a thread.
        is_large: whether there are enough of them for several threads, or parts of a reduction; None if only the run
            tells.
    """

    def __init__(
        self,
        given: Kernel,
        decisions: Decisions,
        *,
        is_swapped: bool = False,
        scalars: Sequence[Expr] | None = None,
        buffers: Sequence[Buffer] | None = None,
    ) -> None:
        """`scalars` and `buffers` where they are those of another kernel, that this is a form of."""
        self.is_swapped = is_swapped
        self.scalars = given.scalars if scalars is None else tuple(scalars)
        self.buffers = given.buffers if buffers is None else tuple(buffers)
        self.kernel = kernel = swapped_lanes(given) if is_swapped else transposed(given)
        self.lanes = kernel.lanes if kernel.extents else None
        self.along_inner = kernel.inner > 0 and kernel.lanes >= kernel.outer
        self.depth: dict[Scalar, int] = {}
        self.varying: set[Scalar] = set()
        self.late: set[Scalar] = set()
        self.by_lane: dict[Scalar, ByLane] = {}
        for value in self.values():
            self._analyse(value)
        found = {value: by_lane(value, self.lanes, self.varying) for value in self.values()}
        self.by_lane = {value: each for value, each in found.items() if each is not None}
        self.kept = self._kept()
        self.bits = 8 * self._widest()
        self.count = lanes_for(self.bits // 8)
        self._contiguous: dict[Expr, bool | None] = {}
        for offset in self._accesses():
            coefficient = offset.coefficient(kernel.lanes)
            if coefficient is not None and not coefficient.is_constant and coefficient not in self._contiguous:
                one = decisions.interner.eq(coefficient, 1)
                choice = Choice("vector loads", "two versions", "one element at a time", "branch")
                self._contiguous[coefficient] = decisions.holds("stride one", one, choice)
        # sums over rows are written in whole vectors, which begin at multiples of their length in no divided loop
        may_split = [] if kernel.accumulating else self.values()
        self.split_points = split_points(may_split, self.lanes)
        self.outer_split_points = outer_split_points(may_split, self._others(), 2 * len(self.split_points) or 1)
        self.open = tuple([each for each, known in self._contiguous.items() if known is None])
        self.grain = max(1, GRAIN // self.work())
        self.is_divided = self._ask_divided(decisions)
        self.is_large = self._ask_large(decisions)
        if self.along_inner and kernel.reductions:
            self._ask_lengths(decisions)

    def _ask_divided(self, decisions: Decisions) -> bool:
        if self.lanes is None or (not self.along_inner and self.count > ALIGNED):
            return False
        if self.kernel.ragged is not None and self.kernel.ragged.axis == self.lanes:
            return False
        extent = self.kernel.extents[self.lanes]
        question, iterations = is_multiple(extent, self.count), self._iterations(decisions)
        choice = Choice("no tail", "a tail")
        return decisions.holds("divisible", question, choice, iterations=iterations, length=extent) is True

    def _ask_large(self, decisions: Decisions) -> bool | None:
        kernel = self.kernel
        row = None if kernel.ragged is None else kernel.ragged.row
        extents = [extent for axis, extent in enumerate(kernel.extents) if axis != row]
        elements = reduce(Expr.__mul__, extents, decisions.interner.one)
        if not kernel.outer:
            choice = Choice("in parts", "in parts where there is enough to do", "at once", "branch")
            return decisions.holds("split", at_least(elements, self.grain), choice)
        choice = Choice("threads", "threads where there is enough to do", "one thread", "branch")
        return decisions.holds("parallel", at_least(elements, 2 * self.grain), choice)

    def _others(self) -> list[int]:
        """The outer axes that lanes do not run along, and the last inner one."""
        axes = [*range(self.kernel.outer), len(self.kernel.extents) - 1]
        return [axis for axis in dict.fromkeys(axes) if axis >= 0 and axis != self.lanes]

    def _iterations(self, decisions: Decisions) -> Expr:
        """The number of iterations along the axis of the lanes."""
        kernel = self.kernel
        around = [extent for axis, extent in enumerate(kernel.extents) if axis != self.lanes]
        passes = max(len(kernel.passes), 1) if self.along_inner else 1
        return reduce(Expr.__mul__, around, decisions.interner.constant(passes))

    def _ask_lengths(self, decisions: Decisions) -> None:
        """The lengths of rows that are reduced: constants would let the C compiler unroll."""
        kernel = self.kernel
        interner = decisions.interner
        rows = kernel.extents[kernel.outer :]
        atoms = sorted({atom for extent in rows for atom in extent.symbols}, key=lambda atom: atom.serial)
        hints = decisions.env.hints
        if atoms and all(atom in hints for atom in atoms):
            question = interner.conjunction([interner.eq(atom.expr, hints[atom]) for atom in atoms])
            iterations, choice = self._iterations(decisions), Choice("numbers", "lengths of the run")
            decisions.holds("constant", question, choice, iterations=iterations, length=rows[-1])

    # ------------------------------------------------------------------ values

    def values(self) -> list[Scalar]:
        """All values, operands first, bodies of reductions before their results."""
        return self._reachable(self.kernel.roots())

    def needed(self, number: int) -> list[Scalar]:
        """The values of a pass, operands first; nothing below those that an earlier pass has kept."""
        earlier = [value for value, writer in self.kept.items() if writer < number]
        return self._reachable(self.kernel.passes[number].roots, earlier)

    def below(self, each: Pass) -> list[Scalar]:
        """All values of a pass, operands first, whatever is kept."""
        return self._reachable(each.roots)

    def bounds(self) -> list[Scalar]:
        """The values that the bounds of the ragged axis are computed from, operands first."""
        return self._reachable(self.kernel.bounds)

    def after_passes(self) -> list[Scalar]:
        """The values that are stored once."""
        return self._reachable([store.value for store in self.kernel.once])

    def _reachable(self, roots: Sequence[Scalar], known: Collection[Scalar] = ()) -> list[Scalar]:
        """All values below these, operands first, results of reductions as they are; nothing below what is known."""
        stop = set(known)
        return list(toposort(roots, lambda value: () if value in stop else self.operands(value)))

    def operands(self, value: Scalar) -> Sequence[Scalar]:
        """The operands of a value."""
        return self.by_lane.get(value, value).operands

    def _analyse(self, value: Scalar) -> None:
        depth, varying = -1, False
        match value:
            case Load(offset=index) | IndexValue(index=index):
                depth, varying = self._of_index(index)
            case Reduced():
                depth, varying = self.kernel.outer - 1, not self.along_inner
                self.late.add(value)
        self.depth[value] = max([depth, *[self.depth[operand] for operand in value.operands]])
        if varying or any(operand in self.varying for operand in value.operands):
            self.varying.add(value)
        if any(operand in self.late for operand in value.operands):
            self.late.add(value)

    def _of_index(self, index: Affine) -> tuple[int, bool]:
        return max(index.axes, default=-1), self.lanes is not None and self.lanes in index.axes

    def _kept(self) -> dict[Scalar, int]:
        last = len(self.kernel.extents) - 1
        wanted = [value for value in self.kernel.kept if value in self.varying and self.depth[value] == last]
        found: dict[Scalar, int] = {}
        for number, each in enumerate(self.kernel.passes):
            inside = set(self._reachable(each.roots, list(found)))
            for value in wanted:
                if value in inside:
                    found.setdefault(value, number)
        return found

    def indices(self, number: int) -> Iterator[Affine]:
        """The indices at which a pass loads and stores, and those that it computes with."""
        for value in self.needed(number):
            # the place in a comparison by lanes is no value of its own
            match self.by_lane[value].place if value in self.by_lane else value:
                case Load(offset=index) | IndexValue(index=index):
                    yield index
        yield from [store.offset for store in self.kernel.passes[number].stores]

    def is_stored_along(self, offset: Affine) -> bool:
        """Return True if a store at this offset varies along the lanes."""
        return self.lanes is not None and self.lanes in offset.axes

    # ------------------------------------------------------------------ memory

    def _accesses(self) -> Iterator[Affine]:
        for value in self.values():
            if isinstance(value, Load) and not any(part in self.varying for part, _ in value.indirect):
                yield value.offset
        for store in self.kernel.stores:
            yield store.offset

    def is_contiguous(self, coefficient: Expr) -> bool | None:
        """Return True if this stride is 1; None if that is known at run time only."""
        return is_one(coefficient) if coefficient.is_constant else self._contiguous[coefficient]

    def _widest(self) -> int:
        """Element width that the vector length is based on. When float work dominates, 64-bit integers (mostly indices)
        are split over two registers: otherwise half of each register of floats would be empty."""
        varying = [value for value in self.values() if value in self.varying]
        applied = [value for value in varying if isinstance(value, Apply)]
        costly = [value.dtype for value in applied if OPERATIONS[value.operation].is_costly]
        of_wide = [value for value in applied if any(part.dtype == "int64" for part in value.operands)]
        wide = {*of_wide, *[value for value in varying if value.dtype == "int64"]}
        is_narrow = set(costly) == {"float32"} and not any(value.dtype == "float64" for value in varying)
        if is_narrow and len(wide) <= len(costly):
            return width("float32")
        sizes = [width(value.dtype) for value in varying]
        sizes += [8 for value in varying if isinstance(value, Load) and value.indirect]
        sizes += [ITEMSIZE[store.buffer.dtype] for store in self.kernel.stores if self.is_stored_along(store.offset)]
        return max(sizes, default=4)

    # ------------------------------------------------------------------ work

    def costly(self, values: Collection[Scalar]) -> int:
        """The number of costly operations on vectors."""
        applied = [value for value in values if isinstance(value, Apply) and value in self.varying]
        return sum([OPERATIONS[value.operation].is_costly for value in applied])

    def work(self) -> int:
        """The work of an element, in simple operations."""
        total = 1
        for value in self.values():
            if isinstance(value, Apply):
                total += WEIGHT if OPERATIONS[value.operation].is_costly else 1
            elif isinstance(value, Load):
                total += 1
        return total
