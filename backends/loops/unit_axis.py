"""Specialize a kernel for an axis of extent 1: gathers become loads, reductions disappear.

    >>> from shapes import ShapeEnv
    >>> from backends.decisions.questions import Decisions
    >>> from backends.loops.kernels import Apply, Buffer, Load, Reduced, Reduction, Store
    >>> from backends.loops.tensors import Expressions
    >>> env = ShapeEnv(origin=lambda: None)
    >>> r, c = [size.expr for size in env.sizes("r c")]
    >>> build = Expressions(Decisions(env))
    >>> x, y = [Buffer(name, "float32", (r, c), (c, build.one)) for name in "xy"]
    >>> i, j = build.axes(2)
    >>> is_last = Load(Buffer("is_last", "int64", (c,), (build.one,)), i)
    >>> most = Reduced(Reduction("maximum", Load(x, j * c + i)))
    >>> found = Load(x, i, ((is_last, (r - 1) * c),))
    >>> kernel = Kernel("k0", (c, r), 1, (most.reduction,), (Store(y, i, Apply("sub", (most, found), "float32")),))
    >>> only, axis = unit_axis_candidates(kernel)[0], 1
    >>> only is r
    True
    >>> print(specialize_unit_axis(build, kernel, only))
    k0: for i0 < c, lanes i0
        y[i0] = (x[i0] - x[i0])

Both versions are emitted, and the size at run time chooses: a gather along a unit axis is as cheap as it would be were
the size known at compile time. Constants are folded through index arithmetic, comparisons and selections.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from backends.decisions.questions import is_plain
from backends.loops.affine import Affine, is_one, is_zero
from backends.loops.kernels import (
    Apply,
    Bodies,
    Constant,
    IndexValue,
    Kernel,
    Load,
    Reduced,
    Scalar,
    SizeValue,
    Store,
    walk,
)
from backends.loops.loop_nest import LoopNest, below
from backends.loops.loop_order import order_loops
from backends.loops.nodes import Indices
from backends.loops.tensors import Expressions
from solver.terms.expr import Atom, Expr

COMPARED = {
    "lt": int.__lt__,
    "le": int.__le__,
    "gt": int.__gt__,
    "ge": int.__ge__,
    "eq": int.__eq__,
    "ne": int.__ne__,
}


def unit_axis_candidates(kernel: Kernel) -> list[Expr]:
    """The extents worth a version for 1: of axes that are gathered along, reduced over a concatenation, or transposed
    by a store. Those that most loads depend on come first."""
    if kernel.accumulating or kernel.ragged is not None:
        return []
    found: dict[Expr, int] = {}
    for value in walk(kernel.roots()):
        if not isinstance(value, Load):
            continue
        sizes = {size for _, stride in value.indirect for size in _without_which_none(stride)}
        if value.condition is not None:
            sizes |= {
                kernel.extents[axis] for axis in _concatenated_along(value.condition) if _is_reduced(kernel, axis)
            }
        for size in sizes:
            found[size] = found.get(size, 0) + 1
    if kernel.inner == 1 and any(_is_transposed(kernel, store) for store in kernel.once):
        found.setdefault(kernel.extents[-1], 1)
    plain = [size for size in found if not size.is_constant and is_plain(size) and size in kernel.extents]
    return sorted(plain, key=lambda size: -found[size])


def _without_which_none(stride: Expr) -> Iterator[Expr]:
    """The symbols whose being 1 makes a stride 0."""
    for atom in stride.symbols:
        if is_zero(stride.substitute({atom: stride.interner.constant(1)})):
            yield atom.expr


def _concatenated_along(condition: Scalar) -> Iterator[int]:
    for each in walk([condition]):
        if isinstance(each, IndexValue):
            yield from each.index.axes


def _is_transposed(kernel: Kernel, store: Store) -> bool:
    """Return True if lanes store with a stride, though the store is contiguous along another axis."""
    step = store.offset.coefficient(kernel.lanes)
    return step is not None and not is_one(step) and any(is_one(other) for _, other in store.offset.terms)


def _is_reduced(kernel: Kernel, axis: int) -> bool:
    """Return True if an axis is reduced over, and not the vector axis."""
    return axis >= kernel.outer and axis != kernel.lanes


def specialize_unit_axis(build: Expressions, kernel: Kernel, size: Expr) -> Kernel:
    """The kernel with 1 substituted for a symbol, its unit loops removed."""
    (atom,) = size.symbols
    known: Mapping[Atom, Expr] = {atom: build.one}
    extents = [extent.substitute(known) for extent in kernel.extents]
    left = [axis for axis, extent in enumerate(extents) if not is_one(extent)]
    indices = tuple(
        [build.axis(left.index(axis)) if axis in left else Affine.of(build.zero) for axis in range(len(extents))]
    )
    outer = tuple([extents[axis] for axis in left if axis < kernel.outer])
    inner = tuple([extents[axis] for axis in left if axis >= kernel.outer])
    folding = _Folding(build, known, indices, is_reduced=bool(inner))
    values = folding.values([store.value for store in kernel.stores])
    stores = [
        replace(store, offset=folding.index(store.offset), value=value) for store, value in zip(kernel.stores, values)
    ]
    nest = LoopNest(outer, inner, (), tuple(stores), kernel.origins)
    given = {number.substitute(known) for number in kernel.scalars}
    made = order_loops(folding.bodies, build, nest, kernel.name)
    if not given.issuperset(made.scalars):
        made = order_loops(folding.bodies, build, nest, kernel.name, collapses=False)
    return made


class _Folding:
    """Constant folding over the values of a kernel."""

    def __init__(self, build: Expressions, known: Mapping[Atom, Expr], indices: Indices, *, is_reduced: bool) -> None:
        self.build = build
        self.bodies = Bodies()
        self._known = known
        self._indices = indices
        self._is_reduced = is_reduced

    def size(self, size: Expr) -> Expr:
        return size.substitute(self._known)

    def index(self, index: Affine) -> Affine:
        moved = index.at(self._indices)
        terms = [(axis, self.size(step)) for axis, step in moved.terms]
        return Affine(tuple([term for term in terms if not is_zero(term[1])]), self.size(moved.constant))

    def values(self, roots: Sequence[Scalar]) -> list[Scalar]:
        new: dict[Scalar, Scalar] = {}
        for value in below(roots):
            new[value] = self._value(value, new)
        return [new[root] for root in roots]

    def _value(self, value: Scalar, new: Mapping[Scalar, Scalar]) -> Scalar:
        match value:
            case Load(buffer=buffer, offset=offset, indirect=indirect, condition=condition):
                where = None if condition is None else new[condition]
                if isinstance(where, Constant):
                    if not where.value:
                        return self.bodies.constant(0, value.dtype)
                    where = None
                parts = [(new[part], self.size(stride)) for part, stride in indirect]
                moving = [part for part in parts if not is_zero(part[1])]
                return self.bodies.load(buffer, self.index(offset), moving, where)
            case IndexValue(index=index):
                found = self.index(index)
                return self._number(found.constant) if not found.terms else self.bodies.place(found)
            case SizeValue(size=size, dtype=dtype):
                return self._number(self.size(size), dtype)
            case Reduced(reduction=reduction):
                body = new[reduction.body]
                return self.bodies.reduced(reduction.operation, body) if self._is_reduced else body
            case Apply(operation=operation, operands=operands, dtype=dtype):
                return self._applied(operation, [new[operand] for operand in operands], dtype)
        return value

    def _number(self, size: Expr, dtype: str = "int64") -> Scalar:
        return self.bodies.constant(size.constant, dtype) if size.is_constant else self.bodies.size(size, dtype)

    def _applied(self, operation: str, operands: list[Scalar], dtype: str) -> Scalar:
        match operation, operands:
            case "select", [Constant(value=holds), yes, no]:
                return yes if holds else no
            case "bitand", [Constant(value=bool(holds)), other] | [other, Constant(value=bool(holds))]:
                return other if holds else self.bodies.constant(False, "bool")
            case _, [Constant(value=a, dtype="int64"), Constant(value=b)] if operation in COMPARED:
                return self.bodies.constant(COMPARED[operation](int(a), int(b)), "bool")
        return self.bodies.apply(operation, operands, dtype)
