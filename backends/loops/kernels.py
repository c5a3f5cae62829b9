"""A kernel: loops over axes, and what one turn of them loads, computes, reduces and stores. What code is made from.

    for outer axes                                    (in parallel; each turn is independent)
        for inner axes: pass 0                        reductions that need no other, stores that need no reduction
        for inner axes: pass 1                        what needs the results of pass 0, and so on
        stores that are once per turn of the outer axes
    stores of what was added up over all turns of the outer axes

A softmax over rows has one outer axis, one inner, and three passes: the maximum, the sum, the stores. A kernel without
inner axes is pointwise. `lanes` is the axis that vector lanes run along: the last inner one, or the last outer one
(then each lane has a reduction of its own), whichever memory is contiguous along.

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
from backends.loops.operations import computed_as
from backends.loops.toposort import parts_first
from solver.terms.expr import Expr

Role = Literal["input", "constant", "made"]


@dataclass(eq=False, slots=True)
class Buffer:
    """Memory of one tensor. Strides and offset count elements; the offset is in the pointer already.

    Attributes:
        role: given to the program, always the same tensor, or made by it.
        place: which of the inputs or constants it is.
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
    """An element of a buffer, as its dtype is computed with.

    Attributes:
        offset: elements from the start of the buffer.
        indirect: more of the offset, each part a number that is itself loaded or computed, times a size.
        condition: where this is false there may be no such element, and the value is 0.
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


@dataclass(frozen=True, eq=False, slots=True)
class Constant:
    value: int | float | bool
    dtype: str

    @property
    def operands(self) -> tuple[Scalar, ...]:
        return ()


@dataclass(frozen=True, eq=False, slots=True)
class SizeValue:
    """A size as a number that is computed with."""

    size: Expr
    dtype: str

    @property
    def operands(self) -> tuple[Scalar, ...]:
        return ()


@dataclass(frozen=True, eq=False, slots=True)
class Place:
    """An index as a number that is computed with, as in `arange`."""

    index: Affine
    dtype: str = "int64"

    @property
    def operands(self) -> tuple[Scalar, ...]:
        return ()


@dataclass(frozen=True, eq=False, slots=True)
class Apply:
    """An operation of `backends.loops.operations`."""

    operation: str
    operands: tuple[Scalar, ...]
    dtype: str


@dataclass(frozen=True, eq=False, slots=True)
class Reduction:
    """All inner axes reduced to one value. Sums of float32 may be kept in several accumulators, in any order."""

    operation: str
    body: Scalar

    @property
    def dtype(self) -> str:
        return self.body.dtype


@dataclass(frozen=True, eq=False, slots=True)
class Reduced:
    """The result of a reduction; the same for all turns of the inner axes."""

    reduction: Reduction

    @property
    def dtype(self) -> str:
        return self.reduction.dtype

    @property
    def operands(self) -> tuple[Scalar, ...]:
        return ()


Scalar: TypeAlias = Load | Constant | SizeValue | Place | Apply | Reduced
"""One value of a loop body. Equal values are one object within a kernel, so a body is a graph, and is to be
computed as one."""


@dataclass(frozen=True, eq=False, slots=True)
class Store:
    """An element of a buffer becomes a value, rounded to the dtype of the buffer.

    Attributes:
        summed: it becomes the sum of the values of all turns of the outer axes instead; the offset is the same in all
            of them, and another for each turn of the inner axes.
    """

    buffer: Buffer
    offset: Affine
    value: Scalar
    summed: bool = False


@dataclass(frozen=True, slots=True)
class Pass:
    """One run over the inner axes."""

    reductions: tuple[Reduction, ...]
    stores: tuple[Store, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Turns:
    """What kernels that run turn by turn have in common (`backends.loops.interleaving`): how many turns, and how many
    kernels they are."""

    count: Expr
    kernels: int


@dataclass(eq=False)
class Kernel:
    """Loops and what they do.

    Attributes:
        extents: of the axes, outermost first; the first `outer` of them are the outer ones.
        reductions: in an order in which they can be computed.
        kept: values of a pass that a later one reads again instead of computing them anew; each needs memory of the
            size of the inner axes.
        lanes: the axis that vector lanes run along.
        origins: lines of the program that it comes from.
        turns: what it has in common with kernels before or after it.
    """

    name: str
    extents: tuple[Expr, ...]
    outer: int
    reductions: tuple[Reduction, ...]
    stores: tuple[Store, ...]
    kept: tuple[Scalar, ...] = ()
    lanes: int = 0
    origins: tuple[str, ...] = ()
    turns: Turns | None = None

    @property
    def inner(self) -> int:
        return len(self.extents) - self.outer

    def is_inner(self, index: Affine) -> bool:
        """Whether it differs between turns of the inner axes."""
        return any(axis >= self.outer for axis, _ in index.terms)

    @cached_property
    def varying(self) -> frozenset[Scalar]:
        """The values that differ between turns of the inner axes."""
        found: set[Scalar] = set()
        for value in walk(self.roots()):
            match value:
                case Load(offset=index):
                    own = self.is_inner(index)
                case Place(index=index):
                    own = self.is_inner(index)
                case _:
                    own = False
            if own or any(operand in found for operand in value.operands):
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
        """Whether a store is outside of the inner axes."""
        return self.inner > 0 and store.value not in self.varying and not self.is_inner(store.offset)

    @cached_property
    def summed(self) -> tuple[Store, ...]:
        """The stores of what is added up over the outer axes."""
        return tuple([store for store in self.stores if store.summed])

    @property
    def once(self) -> tuple[Store, ...]:
        return tuple([store for store in self.stores if self.is_once(store)])

    def _earliest(self, value: Scalar) -> int:
        """The first pass in which a value can be computed."""
        needed = [node.reduction for node in walk([value]) if isinstance(node, Reduced)]
        return max([self._earliest(reduction.body) + 1 for reduction in needed], default=0)

    def roots(self) -> list[Scalar]:
        return [*[reduction.body for reduction in self.reductions], *[store.value for store in self.stores]]

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """Those written, then those only read, each once."""
        written = dict.fromkeys([store.buffer for store in self.stores])
        read = dict.fromkeys([value.buffer for value in walk(self.roots()) if isinstance(value, Load)])
        return tuple(dict.fromkeys([*written, *read]))

    @property
    def numbers(self) -> tuple[Expr, ...]:
        """The sizes that are not constant and that the kernel is to be given, each once."""
        found: dict[Expr, None] = dict.fromkeys(self.extents)
        for store in self.stores:
            found.update(dict.fromkeys(sizes_in(store.offset)))
        for value in walk(self.roots()):
            match value:
                case Load(offset=offset, indirect=indirect):
                    found.update(dict.fromkeys(sizes_in(offset)))
                    found.update(dict.fromkeys([stride for _, stride in indirect]))
                case Place(index=index):
                    found.update(dict.fromkeys(sizes_in(index)))
                case SizeValue(size=size):
                    found[size] = None
        return tuple([size for size in found if not size.is_constant])

    def __repr__(self) -> str:
        return "\n".join(_lines(self))


def sizes_in(index: Affine) -> Iterator[Expr]:
    """The coefficients and the constant of an index."""
    for _, coefficient in index.terms:
        yield coefficient
    if not is_zero(index.constant):
        yield index.constant


def walk(roots: Iterable[Scalar]) -> Iterator[Scalar]:
    """All values below these, each once, operands first. Bodies of reductions are not below their results."""
    return parts_first(roots, lambda value: value.operands)


INFIX: Final = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "div": "/",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "eq": "==",
}


def _lines(kernel: Kernel) -> Iterator[str]:
    axes = [f"i{number} < {extent}" for number, extent in enumerate(kernel.extents)]
    outer, inner = axes[: kernel.outer], axes[kernel.outer :]
    bar = f" | {', '.join(inner)}" if inner else ""
    yield f"{kernel.name}: for {', '.join(outer)}{bar}, lanes i{kernel.lanes}"
    if kernel.turns is not None:
        yield f"  turn by turn, {kernel.turns.count}, as one of {kernel.turns.kernels}"
    names = {reduction: f"{reduction.operation}{place}" for place, reduction in enumerate(kernel.reductions)}
    for number, each in enumerate(kernel.passes):
        if kernel.inner:
            yield f"  pass {number}:"
        for reduction in each.reductions:
            yield f"    {names[reduction]} += {text(reduction.body, names)}"
        for store in each.stores:
            becomes = "+=" if store.summed else "="
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
        case Place(index=index):
            return f"({index})"
        case Reduced(reduction=reduction):
            return names[reduction]
        case Apply(operation="cast", operands=(operand,), dtype=dtype):
            return f"{dtype}({text(operand, names)})"
        case Apply(operation=operation, operands=operands):
            parts = [text(operand, names) for operand in operands]
            if operation in INFIX:
                return f"({parts[0]} {INFIX[operation]} {parts[1]})"
            return f"{operation}({', '.join(parts)})"


class Bodies:
    """Makes values, equal ones once: so that what two stores share is computed once."""

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
        return self._once(("place", index), Place(index))

    def apply(self, operation: str, operands: Sequence[Scalar], dtype: str) -> Scalar:
        return self._once((operation, dtype, *operands), Apply(operation, tuple(operands), dtype))

    def reduced(self, operation: str, body: Scalar) -> Reduced:
        made = self._once(("reduced", operation, body), Reduced(Reduction(operation, body)))
        assert isinstance(made, Reduced)
        return made

    def _once(self, key: tuple[object, ...], value: Scalar) -> Scalar:
        return self._made.setdefault(key, value)


__all__ = [
    "Apply",
    "Bodies",
    "Buffer",
    "Constant",
    "Kernel",
    "Load",
    "Pass",
    "Place",
    "Reduced",
    "Reduction",
    "Scalar",
    "SizeValue",
    "Store",
    "Turns",
    "sizes_in",
    "text",
    "walk",
]
