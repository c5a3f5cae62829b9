"""From a tensor expression to the body of loops: every element as loads, numbers and operations.

    >>> from shapes import ShapeEnv
    >>> from backends.decisions.questions import Decisions
    >>> from backends.loops.program import Program
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, s = [size.expr for size in env.sizes("b s")]
    >>> program = Program(Decisions(env))
    >>> x = program.input("x", "float32", (b, s), (s, program.build.one))
    >>> turned = program.build.permute(program.build.apply("exp", x), (1, 0))
    >>> _ = program.stored(turned, (b, program.build.one))
    >>> print(Binding(program.build, {}).assigned(program.steps[0]).kernel("k0"))
    k0: for i0 < s, i1 < b, lanes i1
        made0[b*i0 + i1] = exp(x[i0 + s*i1])

Axes of size 1 are no loops. A tensor that has been given memory is loaded from there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from backends.loops.affine import Affine, summed
from backends.loops.kernels import (
    Apply,
    Bodies,
    Constant,
    Kernel,
    Load,
    Place,
    Reduced,
    Reduction,
    Scalar,
    SizeValue,
    Store,
)
from backends.loops.nodes import Joined, Memory, Merge, Number, Places, Pointwise, Position, Reduce, Taken, Tensor, View
from backends.loops.operations import computed_as
from backends.loops.program import Assign
from backends.loops.tensors import Expressions
from backends.loops.toposort import parts_first
from solver.terms.expr import Expr

Wanted: TypeAlias = tuple[Tensor, Places, Scalar | None]
"""An element: of which tensor, where, and the condition under which it is looked at."""


@dataclass(frozen=True, eq=False)
class Draft:
    """A kernel before fusion is done with it.

    Attributes:
        outer: extents of the outer axes, which are numbered first.
        inner: extents of the inner ones.
        natural: the axes in the order in which the tensor has them that is reduced.
    """

    outer: tuple[Expr, ...]
    inner: tuple[Expr, ...]
    natural: tuple[int, ...]
    stores: tuple[Store, ...]
    origins: tuple[str, ...] = ()

    @property
    def extents(self) -> tuple[Expr, ...]:
        return (*self.outer, *self.inner)

    @property
    def roots(self) -> list[Scalar]:
        return [store.value for store in self.stores]

    def kernel(self, name: str) -> Kernel:
        """With the axes as they are."""
        reductions = [value.reduction for value in below(self.roots) if isinstance(value, Reduced)]
        lanes = max(len(self.extents) - 1, 0)
        return Kernel(name, self.extents, len(self.outer), tuple(reductions), self.stores, (), lanes, self.origins)


class Binding:
    """Makes drafts.

    Attributes:
        memory: where tensors are that are not computed anew.
    """

    def __init__(self, build: Expressions, memory: Mapping[Tensor, Memory]) -> None:
        self.build = build
        self.memory = memory
        self.bodies = Bodies()

    def assigned(self, step: Assign) -> Draft:
        """The loops of a step."""
        return self.made(step.buffer, step.sizes, step.offset, step.value, step.origin)

    def made(self, buffer, sizes: Sequence[Expr], offset: Affine, value: Tensor, origin: str = "") -> Draft:
        """The loops that store a tensor at these offsets, one axis for each of its sizes."""
        if isinstance(value, Reduce) and value not in self.memory:
            return self._reducing(buffer, offset, value, origin)
        places, extents = self._loops(sizes, range(len(sizes)), 0)
        stored = Store(buffer, offset.at(places), self.element(value, places))
        return Draft(extents, (), tuple(range(len(extents))), (stored,), _origins(origin))

    def _reducing(self, buffer, offset: Affine, value: Reduce, origin: str) -> Draft:
        source = value.source
        kept, outer = self._loops(source.sizes, value.kept, 0)
        reduced, inner = self._loops(source.sizes, value.axes, len(outer))
        by_axis = dict(zip(value.kept, kept)) | dict(zip(value.axes, reduced))
        places = tuple([by_axis[axis] for axis in range(source.rank)])
        natural = [axis for place in places for axis in place.axes]
        body = self.element(source, places)
        result = self.bodies.reduced(value.operation, body) if inner else body
        stored = Store(buffer, offset.at(kept), result)
        return Draft(outer, inner, tuple(natural), (stored,), _origins(origin))

    def _loops(self, sizes: Sequence[Expr], axes: Sequence[int], first: int) -> tuple[Places, tuple[Expr, ...]]:
        """A loop for each of these axes, none where the size is 1."""
        places: list[Affine] = []
        extents: list[Expr] = []
        for axis in axes:
            if self.build.decisions.is_one(sizes[axis], turns=self.build.product(sizes[:axis])):
                places.append(Affine.of(self.build.zero))
            else:
                places.append(self.build.axis(first + len(extents)))
                extents.append(sizes[axis])
        return tuple(places), tuple(extents)

    def element(self, tensor: Tensor, places: Places) -> Scalar:
        """What is at a place of a tensor."""
        known: dict[Wanted, Scalar] = {}
        stack: list[Wanted] = [(tensor, places, None)]
        while stack:
            key = stack[-1]
            if key in known:
                stack.pop()
                continue
            needed = self._needed(*key)
            missing = [each for each in needed if each not in known]
            if missing:
                stack.extend(reversed(missing))
            else:
                known[key] = self._element(*key, [known[each] for each in needed])
                stack.pop()
        return known[tensor, places, None]

    def _needed(self, tensor: Tensor, places: Places, condition: Scalar | None) -> list[Wanted]:
        """Which elements of others it is made from."""
        if tensor in self.memory:
            return []
        match tensor:
            case Pointwise(operands=operands):
                return [(operand, places if operand.rank else (), condition) for operand in operands]
            case View(source=source, places=inside):
                return [(source, tuple([place.at(places) for place in inside]), condition)]
            case Taken():
                computed = [each for each in tensor.computed if each is not None]
                return [(each, places if each.rank else (), condition) for each in computed]
            case Joined():
                first = _first_piece(tensor, places)
                wheres = self._wheres(tensor.bounds[first:], places[tensor.axis], condition)
                return [(tensor.pieces[k], tensor.at(k, places), where) for k, where in enumerate(wheres, first)]
        return []

    def _element(self, tensor: Tensor, places: Places, condition: Scalar | None, parts: list[Scalar]) -> Scalar:
        bodies = self.bodies
        at = self.memory.get(tensor)
        if at is not None:
            return bodies.load(at.buffer, at.offset.at(places), (), condition)
        match tensor:
            case Memory(buffer=buffer, offset=offset):
                return bodies.load(buffer, offset.at(places), (), condition)
            case Number(value=value, dtype=dtype):
                dtype = computed_as(dtype)
                return bodies.size(value, dtype) if isinstance(value, Expr) else bodies.constant(value, dtype)
            case Position(axis=axis):
                return bodies.place(places[axis])
            case Pointwise(operation=operation, dtype=dtype):
                dtype = computed_as(dtype)
                if operation == "cast" and parts[0].dtype == dtype:
                    return parts[0]
                return bodies.apply(operation, parts, dtype)
            case View():
                return parts[0]
            case Merge(source=source, runs=runs) if source in self.memory:
                at = self.memory[source]
                return bodies.load(at.buffer, _merged(at, runs).at(places), (), condition)
            case Taken():
                return self._taken(tensor, places, condition, parts)
            case Joined():
                made = parts[-1]
                bounds = tensor.bounds[_first_piece(tensor, places) :]
                for bound, part in zip(reversed(bounds), reversed(parts[:-1])):
                    before = self._is_before(places[tensor.axis], bound)
                    made = bodies.apply("select", (before, part, made), part.dtype)
                return made
        raise TypeError(f"{type(tensor).__name__} has no element of its own: it must be in memory")

    def _is_before(self, place: Affine, bound: Expr) -> Scalar:
        return self.bodies.apply("lt", (self.bodies.place(place), self.bodies.size(bound, "int64")), "bool")

    def _wheres(self, bounds: Sequence[Expr], place: Affine, condition: Scalar | None) -> list[Scalar | None]:
        """For each of the pieces that meet at these bounds, where its elements are looked at."""
        before = [self._is_before(place, bound) for bound in bounds]
        sizes = [self.bodies.size(bound, "int64") for bound in bounds]
        behind = [self.bodies.apply("ge", (self.bodies.place(place), size), "bool") for size in sizes]
        firsts, lasts = [None, *behind], [*before, None]
        return [self._both(condition, self._both(first, last)) for first, last in zip(firsts, lasts)]

    def _both(self, first: Scalar | None, second: Scalar | None) -> Scalar | None:
        if first is None or second is None:
            return first if second is None else second
        return self.bodies.apply("bitand", (first, second), "bool")

    def _taken(self, tensor: Taken, places: Places, condition: Scalar | None, parts: list[Scalar]) -> Scalar:
        source = tensor.source if isinstance(tensor.source, Memory) else self.memory[tensor.source]
        numbers = iter(parts)
        direct: list[Affine] = [Affine.of(source.offset.constant)]
        indirect: list[tuple[Scalar, Expr]] = []
        for axis, place in enumerate(tensor.places):
            stride = source.offset.coefficient(axis)
            if isinstance(place, Affine):
                direct += [place.at(places) * stride] if stride is not None else []
            else:
                number = next(numbers)
                if stride is not None:
                    moved, left = _taken_apart(number, stride)
                    direct += moved
                    indirect += left
        inside = None if tensor.inside is None else parts[-1]
        return self.bodies.load(source.buffer, summed(direct), indirect, self._both(condition, inside))


def _first_piece(joined: Joined, places: Places) -> int:
    """The first piece that has an element at these places, as what they begin with tells."""
    place = places[joined.axis]
    first = 0
    if all(step.is_constant and step.constant >= 0 for _, step in place.terms):
        for number, bound in enumerate(joined.bounds):
            ahead = place.constant - bound
            if ahead.is_constant and ahead.constant >= 0:
                first = number + 1
    return first


def _taken_apart(place: Scalar, stride: Expr) -> tuple[list[Affine], list[tuple[Scalar, Expr]]]:
    """A place times a stride as the indices in it, and what is left of numbers that are computed with strides of their
    own. Sums and products wrap around as addresses do."""
    direct: list[Affine] = []
    left: list[tuple[Scalar, Expr]] = []
    stack = [(place, stride)]
    while stack:
        value, step = stack.pop()
        match value:
            case Place(index=index):
                direct.append(index * step)
            case SizeValue(size=size, dtype="int64"):
                direct.append(Affine.of(size * step))
            case Constant(value=number, dtype="int64"):
                direct.append(Affine.of(step * step.interner.constant(int(number))))
            case Apply(operation="add", operands=operands, dtype="int64"):
                stack += [(operand, step) for operand in reversed(operands)]
            case Apply(operation="mul", operands=(other, SizeValue(size=size)), dtype="int64"):
                stack.append((other, step * size))
            case Apply(operation="mul", operands=(other, Constant(value=number)), dtype="int64"):
                stack.append((other, step * step.interner.constant(int(number))))
            case _:
                left.append((value, step))
    return direct, left


def _merged(memory: Memory, runs: Sequence[Sequence[int]]) -> Affine:
    """The offset in fresh memory whose runs of axes are each seen as one."""
    terms = [(axis, memory.offset.coefficient(run[-1])) for axis, run in enumerate(runs) if run]
    return Affine(tuple([(axis, stride) for axis, stride in terms if stride is not None]), memory.offset.constant)


def _origins(origin: str) -> tuple[str, ...]:
    return (origin,) if origin else ()


def below(roots: Sequence[Scalar]) -> list[Scalar]:
    """All values below these, bodies of reductions included, each once, operands first."""
    return list(
        parts_first(roots, lambda value: (value.reduction.body,) if isinstance(value, Reduced) else value.operands)
    )


def rewritten(
    bodies: Bodies,
    roots: Sequence[Scalar],
    places: Places,
    stored: Mapping[tuple[object, Affine], Scalar],
) -> list[Scalar]:
    """The same values with other indices for the axes, and with what has been stored in place of loads of it."""
    new: dict[Scalar, Scalar] = {}
    for value in below(roots):
        match value:
            case Load(buffer=buffer, offset=offset, indirect=indirect, condition=condition):
                moved = offset.at(places)
                found = None if indirect else stored.get((buffer, moved))
                more = [(new[part], stride) for part, stride in indirect]
                where = None if condition is None else new[condition]
                new[value] = bodies.load(buffer, moved, more, where) if found is None else found
            case Place(index=index):
                new[value] = bodies.place(index.at(places))
            case Reduced(reduction=Reduction(operation=operation, body=body)):
                new[value] = bodies.reduced(operation, new[body])
            case Apply(operation=operation, operands=operands, dtype=dtype):
                new[value] = bodies.apply(operation, [new[operand] for operand in operands], dtype)
            case Constant() | SizeValue():
                new[value] = value
    return [new[root] for root in roots]


def renumbered(bodies: Bodies, draft: Draft, places: Places) -> tuple[Store, ...]:
    """The stores of a draft with other indices for its axes."""
    values = rewritten(bodies, draft.roots, places, {})
    return tuple(
        [replace(store, offset=store.offset.at(places), value=value) for store, value in zip(draft.stores, values)]
    )
