"""The kernel, the intermediate representation that code is emitted from: a loop nest and the body of its loops.

    for outer axes                                    (in parallel; iterations are independent)
        for inner axes: pass 0                        reductions that need no other, stores that need no reduction
        for inner axes: pass 1                        what needs the results of pass 0, and so on
        stores that are once per iteration of the outer axes
    stores that accumulate over all iterations of the outer axes

A softmax over rows has one outer axis, one inner, and three passes: the maximum, the sum, the stores. A kernel without
inner axes is pointwise. `lanes` is the axis that is vectorized: the last inner one, or the last outer one (then each
lane has an accumulator of its own), whichever memory is contiguous along.

    >>> from solver.terms.interner import Interner
    >>> from backends.loops.affine import Affine
    >>> terms = Interner()
    >>> rows, columns, one = terms.symbol("r"), terms.symbol("c"), terms.constant(1)
    >>> x = Buffer("x", "float32", (rows, columns), (columns, one))
    >>> total = Buffer("total", "float32", (rows,), (one,))
    >>> i, j = Affine.axis(0, terms), Affine.axis(1, terms)
    >>> reduction = Reduction("sum", Load(x, i * columns + j))
    >>> kernel = Kernel("k0", (rows, columns), 1, (reduction,), (Store(total, i, Reduced(reduction)),), lanes=1)
    >>> print(kernel)
    k0: for i0 < r | i1 < c, lanes i1
      pass 0:
        sum0 += x[c*i0 + i1]
      once:
        total[i0] = sum0
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal, TypeAlias

from backends.decisions.questions import is_plain
from backends.loops.affine import Affine, is_zero
from backends.loops.operations import INFIX, computed_as
from backends.loops.toposort import toposort
from solver.terms.expr import Expr

Role = Literal["input", "constant", "made"]
SYMBOLS: Final = INFIX | {"div": "/"}


@dataclass(eq=False, slots=True)
class Buffer:
    """Memory of one tensor. Strides and offset count elements; the offset is in the pointer already.

    Attributes:
        role: an input of the program, a constant, or allocated by it.
        place: the number of the input or constant.
    """

    name: str
    dtype: str
    sizes: tuple[Expr, ...]
    strides: tuple[Expr, ...]
    role: Role = "made"
    place: int = 0

    def __repr__(self) -> str:
        return f"{self.name}: {self.dtype}[{', '.join(map(str, self.sizes))}]"


@dataclass(frozen=True, eq=False, slots=True)
class Load:
    """An element of a buffer, converted to the dtype that is computed with.

    Attributes:
        offset: elements from the start of the buffer.
        indirect: the data-dependent part of the offset: scalars, each times a stride.
        condition: the mask of the load; where it is false the address may be out of bounds, and the value is 0.
    """

    buffer: Buffer
    offset: Affine
    indirect: tuple[tuple[Scalar, Expr], ...] = ()
    condition: Scalar | None = None

    @property
    def dtype(self) -> str:
        return computed_as(self.buffer.dtype)

    @property
    def operands(self) -> tuple[Scalar, ...]:
        places = [value for value, _ in self.indirect]
        return tuple(places if self.condition is None else [*places, self.condition])


class Leaf:
    """A value without operands."""

    __slots__ = ()

    @property
    def operands(self) -> tuple[Scalar, ...]:
        return ()


@dataclass(frozen=True, eq=False, slots=True)
class Constant(Leaf):
    value: int | float | bool
    dtype: str


@dataclass(frozen=True, eq=False, slots=True)
class SizeValue(Leaf):
    """A size as an operand."""

    size: Expr
    dtype: str


@dataclass(frozen=True, eq=False, slots=True)
class IndexValue(Leaf):
    """An affine index as an operand, as in `arange`."""

    index: Affine
    dtype: str = "int64"


@dataclass(frozen=True, eq=False, slots=True)
class Apply:
    """An operation of `backends.loops.operations`."""

    operation: str
    operands: tuple[Scalar, ...]
    dtype: str


@dataclass(frozen=True, eq=False, slots=True)
class Reduction:
    """The reduction of a body over all inner axes. Sums of float32 may have several accumulators, in any order."""

    operation: str
    body: Scalar

    @property
    def dtype(self) -> str:
        return self.body.dtype


@dataclass(frozen=True, eq=False, slots=True)
class Reduced(Leaf):
    """The result of a reduction; invariant in the inner loops."""

    reduction: Reduction

    @property
    def dtype(self) -> str:
        return self.reduction.dtype


Scalar: TypeAlias = Load | Constant | SizeValue | IndexValue | Apply | Reduced
"""One value of a loop body. Equal values are one object within a kernel (hash-consing), so a body is a graph, and each
node is computed once."""


@dataclass(frozen=True, eq=False, slots=True)
class Store:
    """A store of a value to an element of a buffer, rounded to the dtype of the buffer.

    Attributes:
        accumulates: the sum over all iterations of the outer axes is stored instead; the offset is invariant in the
            outer loops, and different in each iteration of the inner ones.
    """

    buffer: Buffer
    offset: Affine
    value: Scalar
    accumulates: bool = False


@dataclass(frozen=True, eq=False, slots=True)
class Ragged:
    """A ragged axis: its loop runs from `first` to `last`, which are other numbers for each index of an outer axis.
    Its extent bounds both.

    Attributes:
        source: the rows that these are; loops over the same rows may be fused.
        row: the outer axis.
        axis: the ragged one.
    """

    source: object
    row: int
    axis: int
    first: Scalar
    last: Scalar


@dataclass(frozen=True, slots=True)
class Pass:
    """One run over the inner axes."""

    reductions: tuple[Reduction, ...]
    stores: tuple[Store, ...]

    @property
    def roots(self) -> list[Scalar]:
        """The tensors that the kernel computes."""
        return [*[reduction.body for reduction in self.reductions], *[store.value for store in self.stores]]


@dataclass(frozen=True, eq=False, slots=True)
class InterleavedGroup:
    """Kernels that are interleaved (`backends.loops.interleaving`): their common iterations, and how many they are."""

    iterations: Expr
    kernels: int


@dataclass(frozen=True, eq=False)
class Kernel:
    """A loop nest with its body.

    Attributes:
        extents: of the axes, outermost first; the first `outer` of them are the outer ones.
        reductions: in topological order.
        kept: values of a pass that a later one reloads instead of recomputing them; each needs memory of the size of
            the inner axes.
        lanes: the vector axis.
        origins: lines of the program that it comes from.
        interleaved: the group that it is interleaved with, if any.
        ragged: which of its inner axes is ragged, if any.
    """

    name: str
    extents: tuple[Expr, ...]
    outer: int
    reductions: tuple[Reduction, ...]
    stores: tuple[Store, ...]
    kept: tuple[Scalar, ...] = ()
    lanes: int = 0
    origins: tuple[str, ...] = ()
    interleaved: InterleavedGroup | None = None
    ragged: Ragged | None = None

    @property
    def inner(self) -> int:
        return len(self.extents) - self.outer

    def is_inner(self, index: Affine) -> bool:
        """Return True if an index varies in the inner loops."""
        return any(axis >= self.outer for axis, _ in index.terms)

    @cached_property
    def varying(self) -> frozenset[Scalar]:
        """The values that vary in the inner loops."""
        found: set[Scalar] = set()
        for value in walk(self.roots()):
            match value:
                case Load(offset=index) | IndexValue(index=index) if self.is_inner(index):
                    found.add(value)
                case _ if not found.isdisjoint(value.operands):
                    found.add(value)
        return frozenset(found)

    @cached_property
    def passes(self) -> tuple[Pass, ...]:
        """The runs over the inner axes; a pointwise kernel has one, of stores."""
        number = {reduction: self._earliest(reduction.body) for reduction in self.reductions}
        stores = {store: self._earliest(store.value) for store in self.stores if not self.is_once(store)}
        count = max([*number.values(), *stores.values(), -1]) + 1
        return tuple(
            [
                Pass(
                    tuple([reduction for reduction in self.reductions if number[reduction] == place]),
                    tuple([store for store in self.stores if stores.get(store) == place]),
                )
                for place in range(count)
            ]
        )

    def is_once(self, store: Store) -> bool:
        """Return True if a store is outside of the inner axes."""
        return self.inner > 0 and store.value not in self.varying and not self.is_inner(store.offset)

    @cached_property
    def accumulating(self) -> tuple[Store, ...]:
        """The stores that accumulate over the outer axes."""
        return tuple([store for store in self.stores if store.accumulates])

    @property
    def once(self) -> tuple[Store, ...]:
        return tuple([store for store in self.stores if self.is_once(store)])

    def _earliest(self, value: Scalar) -> int:
        """The first pass in which a value can be computed."""
        needed = [node.reduction for node in walk([value]) if isinstance(node, Reduced)]
        return max([self._earliest(reduction.body) + 1 for reduction in needed], default=0)

    def roots(self) -> list[Scalar]:
        return [*Pass(self.reductions, self.stores).roots, *self.bounds]

    @property
    def bounds(self) -> list[Scalar]:
        """The bounds of the ragged axis."""
        return [] if self.ragged is None else [self.ragged.first, self.ragged.last]

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """The buffers that are written, then those that are only read, each once."""
        read = [value.buffer for value in walk(self.roots()) if isinstance(value, Load)]
        return tuple(dict.fromkeys([*[store.buffer for store in self.stores], *read]))

    @property
    def scalars(self) -> tuple[Expr, ...]:
        """The scalar arguments: the sizes in it that are not constant, each once."""
        found = [*self.extents, *[size for store in self.stores for size in sizes_in(store.offset)]]
        for value in walk(self.roots()):
            match value:
                case Load(offset=offset, indirect=indirect):
                    found += [*sizes_in(offset), *[stride for _, stride in indirect]]
                case IndexValue(index=index):
                    found += sizes_in(index)
                case SizeValue(size=size):
                    found.append(size)
        return tuple([size for size in dict.fromkeys(found) if not size.is_constant])

    def __repr__(self) -> str:
        return "\n".join(_lines(self))


def sizes_in(index: Affine) -> Iterator[Expr]:
    """The coefficients and the constant of an index."""
    for _, coefficient in index.terms:
        yield coefficient
    if not is_zero(index.constant):
        yield index.constant


def walk(roots: Iterable[Scalar]) -> Iterator[Scalar]:
    """All scalars below these, each once, operands first. Bodies of reductions are not below their results."""
    return toposort(roots, lambda value: value.operands)


def _lines(kernel: Kernel) -> Iterator[str]:
    axes = [f"i{number} < {extent}" for number, extent in enumerate(kernel.extents)]
    if kernel.ragged is not None:
        axes[kernel.ragged.axis] = f"first <= i{kernel.ragged.axis} < last"
    outer, inner = axes[: kernel.outer], axes[kernel.outer :]
    bar = f" | {', '.join(inner)}" if inner else ""
    yield f"{kernel.name}: for {', '.join(outer)}{bar}, lanes i{kernel.lanes}"
    if kernel.interleaved is not None:
        group = kernel.interleaved
        yield f"  interleaved: {group.iterations} common iterations, one of {group.kernels} kernels"
    if kernel.ragged is not None:
        yield f"  first: {text(kernel.ragged.first, {})}"
        yield f"  last: {text(kernel.ragged.last, {})}"
    names = {reduction: f"{reduction.operation}{place}" for place, reduction in enumerate(kernel.reductions)}
    for number, each in enumerate(kernel.passes):
        if kernel.inner:
            yield f"  pass {number}:"
        for reduction in each.reductions:
            yield f"    {names[reduction]} += {text(reduction.body, names)}"
        for store in each.stores:
            becomes = "+=" if store.accumulates else "="
            yield f"    {store.buffer.name}[{store.offset}] {becomes} {text(store.value, names)}"
    if kernel.once:
        yield "  once:"
    for store in kernel.once:
        yield f"    {store.buffer.name}[{store.offset}] = {text(store.value, names)}"


def text(value: Scalar, names: dict[Reduction, str]) -> str:
    """A value as a person reads it."""
    match value:
        case Load(buffer=buffer, offset=offset, indirect=indirect, condition=condition):
            more = "".join([f" + {stride}*{text(part, names)}" for part, stride in indirect])
            where = "" if condition is None else f" if {text(condition, names)}"
            return f"{buffer.name}[{offset}{more}{where}]"
        case Constant(value=number):
            return repr(number)
        case SizeValue(size=size):
            return str(size) if is_plain(size) else f"({size})"
        case IndexValue(index=index):
            return f"({index})"
        case Reduced(reduction=reduction):
            return names[reduction]
        case Apply(operation="cast", operands=(operand,), dtype=dtype):
            return f"{dtype}({text(operand, names)})"
        case Apply(operation=operation, operands=operands):
            parts = [text(operand, names) for operand in operands]
            if operation in SYMBOLS:
                return f"({parts[0]} {SYMBOLS[operation]} {parts[1]})"
            return f"{operation}({', '.join(parts)})"


class Bodies:
    """Hash-consing of values: equal ones are one object, so that a common subexpression is computed once."""

    def __init__(self) -> None:
        self._made: dict[tuple[object, ...], Scalar] = {}

    def load(
        self,
        buffer: Buffer,
        offset: Affine,
        indirect: Sequence[tuple[Scalar, Expr]] = (),
        condition: Scalar | None = None,
    ) -> Scalar:
        key = ("load", buffer, offset, condition, *indirect)
        return self._once(key, Load(buffer, offset, tuple(indirect), condition))

    def constant(self, value: int | float | bool, dtype: str) -> Scalar:
        return self._once(("constant", repr(value), dtype), Constant(value, dtype))

    def size(self, size: Expr, dtype: str) -> Scalar:
        return self._once(("size", size, dtype), SizeValue(size, dtype))

    def place(self, index: Affine) -> Scalar:
        return self._once(("place", index), IndexValue(index))

    def apply(self, operation: str, operands: Sequence[Scalar], dtype: str) -> Scalar:
        return self._once((operation, dtype, *operands), Apply(operation, tuple(operands), dtype))

    def reduced(self, operation: str, body: Scalar) -> Reduced:
        made = self._once(("reduced", operation, body), Reduced(Reduction(operation, body)))
        assert isinstance(made, Reduced)
        return made

    def _once(self, key: tuple[object, ...], value: Scalar) -> Scalar:
        return self._made.setdefault(key, value)
