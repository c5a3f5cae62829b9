"""Emission of loop bodies: addresses, loads, operations and stores, for one or several vectors of an unrolled loop.

A value is defined in the innermost loop in which it varies (loop-invariant code motion). What varies along the lanes is
defined once for every vector of the unrolled loop (a `Vector`); what does not is one vector with the same in all lanes.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count as serials

from backends.cpu.emission.c_operations import (
    KINDS,
    MEMORY,
    SYMBOLS,
    CValue,
    applied,
    constant,
    converted,
    element_of,
    integer,
    scalar,
)
from backends.cpu.emission.lane_compare import ByLane
from backends.cpu.emission.loops import Loops
from backends.cpu.emission.text import Text
from backends.cpu.emission.uniform import applied as single_applied
from backends.cpu.emission.uniform import uniform
from backends.cpu.emission.unroll import ONE, Vector
from backends.loops.affine import Affine, is_one, is_zero
from backends.loops.kernels import (
    Apply,
    Buffer,
    Constant,
    IndexValue,
    Load,
    Reduced,
    Reduction,
    Scalar,
    SizeValue,
    Store,
)
from backends.loops.operations import ITEMSIZE, computed_as, is_float
from backends.loops.toposort import toposort
from solver.terms.expr import Expr


class Writer:
    """Prints the values of one kernel.

    Attributes:
        is_narrow: whether this code is for unit strides, where strides may be 1.
        serial: numbers fresh names.
    """

    def __init__(self, loops: Loops, text: Text, *, is_narrow: bool) -> None:
        self.loops = loops
        self.text = text
        self.is_narrow = is_narrow
        self._sizes = {size: f"n{place}" for place, size in enumerate(loops.scalars)}
        self._buffers = {buffer: f"p{place}" for place, buffer in enumerate(loops.buffers)}
        self._names: ChainMap[tuple[Scalar | Reduction, int], CValue] = ChainMap()
        self._written = {store.buffer for store in loops.kernel.stores}
        self._rows: ChainMap[object, str] = ChainMap()
        """Row pointers, by buffer and by offset without the term along the lanes."""
        self._assumed: dict[Scalar, bool] = {}
        self._alive: set[Scalar] | None = None
        self.serial = serials(1)

    # ------------------------------------------------------------------ names

    @contextmanager
    def scope(self) -> Iterator[None]:
        """A scope of names."""
        self._names, self._rows = self._names.new_child(), self._rows.new_child()
        yield
        self._names, self._rows = self._names.parents, self._rows.parents

    @contextmanager
    def assuming(self, known: Mapping[Scalar, bool]) -> Iterator[None]:
        """Conditions with a known result in the code that is printed inside (constant folding)."""
        before = self._assumed, self._alive
        self._assumed = {**self._assumed, **known}
        self._alive = set(toposort(self.loops.kernel.roots(), self.needed))
        with self.scope():
            yield
        self._assumed, self._alive = before

    def known(self, value: Scalar | None) -> bool | None:
        """The result of a condition in this code, if it is known."""
        if value is None or not self._assumed:
            return None
        if isinstance(value, Apply) and value.operation == "bitand" and value.dtype == "bool":
            found = [self.known(operand) for operand in value.operands]
            return False if False in found else True if None not in found else None
        return self._assumed.get(value)

    def needed(self, value: Scalar) -> Sequence[Scalar]:
        """The live operands of a value in this code."""
        match value:
            case Load(condition=condition) if (known := self.known(condition)) is not None:
                return [part for part, _ in value.indirect] if known else ()
            case Apply(operation="select", operands=(condition, yes, no)) if (
                known := self.known(condition)
            ) is not None:
                return (yes if known else no,)
        return () if self.known(value) is not None else self.loops.by_lane.get(value, value).operands

    def is_needed(self, value: Scalar) -> bool:
        """Return True if a value is live in this code."""
        return self._alive is None or value in self._alive

    def name(self, value: Scalar, vector: Vector) -> CValue:
        """The name of a value that is defined."""
        return self._names[value, vector.number if value in self.loops.varying else -1]

    def is_defined(self, value: Scalar, vector: Vector) -> bool:
        return (value, vector.number if value in self.loops.varying else -1) in self._names

    def give(self, value: Scalar | Reduction, number: int, named: CValue) -> None:
        """Name a value; `number` is that of the unrolled vector, -1 if it is uniform."""
        self._names[value, number] = named

    def result(self, reduction: Reduction, number: int) -> CValue:
        return self._names[reduction, number]

    def size(self, size: Expr) -> str:
        return integer(size.constant) if size.is_constant else self._sizes[size]

    def extent(self, axis: int) -> str:
        return self.size(self.loops.kernel.extents[axis])

    def buffer(self, buffer: Buffer) -> str:
        return self._buffers[buffer]

    def prologue(self) -> None:
        """Unpack the arguments."""
        for name in self._sizes.values():
            self.text.line(f"const int64_t {name} = numbers[{name[1:]}];")
        for buffer, name in self._buffers.items():
            self.text.line(f"{self._kind(buffer)} *{name} = pointers[{name[1:]}];")

    # ------------------------------------------------------------------ addresses

    def index(self, index: Affine, vector: Vector) -> str:
        """An index as a C expression."""
        constant = [] if is_zero(index.constant) else [self.size(index.constant)]
        return " + ".join([*self._steps(index.terms, vector), *constant]) or "0"

    def _steps(self, terms: Iterable[tuple[int, Expr]], vector: Vector) -> Iterator[str]:
        for axis, coefficient in terms:
            variable = f"i{axis}"
            if axis == self.loops.lanes:
                variable = vector.place(variable)
            yield variable if is_one(coefficient) else f"{self.size(coefficient)} * {variable}"

    def begin_rows(self, values: Iterable[Scalar], stores: Iterable[Store]) -> None:
        """Hoist the row pointers of the vectorized loop: the compiler would keep more of such sums than there are
        registers. 0.7 of the time for rows of a few vectors."""
        loads = [(each.buffer, each.offset) for each in values if isinstance(each, Load)]
        for buffer, index in [*loads, *[(each.buffer, each.offset) for each in stores]]:
            around = [term for term in index.terms if term[0] != self.loops.lanes]
            key = self._row(buffer, index)
            has_lanes = self.loops.lanes is not None and index.coefficient(self.loops.lanes) is not None
            is_row = has_lanes and around == list(index.terms[: len(around)])
            if key in self._rows or not is_row:
                continue
            constant = [] if is_zero(index.constant) else [self.size(index.constant)]
            if steps := [*self._steps(around, ONE[0]), *constant]:
                self._rows[key] = name = f"q{next(self.serial)}"
                kind, start = self._kind(buffer), self._buffers[buffer]
                self.text.line(f"{kind} *const {name} = {start} + {' + '.join(steps)};")

    def _kind(self, buffer: Buffer) -> str:
        """The C type of a buffer's elements."""
        return ("" if buffer in self._written else "const ") + MEMORY[KINDS[buffer.dtype]]

    def _row(self, buffer: Buffer, index: Affine) -> object:
        return buffer, tuple([term for term in index.terms if term[0] != self.loops.lanes]), index.constant

    def _address(
        self, buffer: Buffer, index: Affine, vector: Vector, indirect: Sequence[tuple[Scalar, Expr]] = ()
    ) -> str:
        row = self._rows.get(self._row(buffer, index))
        along = self._steps([term for term in index.terms if term[0] == self.loops.lanes], vector)
        parts = [self._buffers[buffer], self.index(index, vector)] if row is None else [row, *along]
        for value, stride in indirect:
            place = self._as_offset(value, vector)
            parts.append(place if is_one(stride) else f"{place} * {self.size(stride)}")
        return " + ".join(parts)

    def _as_index(self, value: Scalar, vector: Vector) -> str:
        return converted(self.name(value, vector), "int64").text

    def _as_offset(self, value: Scalar, vector: Vector) -> str:
        named = converted(self.name(value, vector), "int64")
        return named.number or f"{named.text}[0]"

    # ------------------------------------------------------------------ values

    def define(self, values: Iterable[Scalar], vectors: Sequence[Vector]) -> None:
        """Define these values, operands first, unless they are defined."""
        for value in filter(self.is_needed, values):
            varying = value in self.loops.varying
            for vector in vectors if varying else vectors[:1]:
                if not self.is_defined(value, vector):
                    number = None if varying else self._number(value, vector)
                    if number is not None:
                        name = f"s{next(self.serial)}"
                        self.text.line(f"const {element_of(value.dtype).scalar} {name} = {number};")
                        self.give(value, -1, uniform(name, value.dtype))
                        continue
                    named = self._value(value, vector)
                    name = f"v{next(self.serial)}"
                    self.text.line(f"const {named.type} {name} = {named.text};")
                    self.give(value, vector.number if varying else -1, CValue(name, value.dtype, named.bits))

    def _number(self, value: Scalar, vector: Vector) -> str | None:
        """A uniform integer or boolean as a scalar."""
        if is_float(value.dtype):
            return None
        known = self.known(value.condition if isinstance(value, Load) else value)
        if known is not None and not (known and isinstance(value, Load)):
            return str(int(known))
        match value:
            case Load(buffer=buffer, offset=offset, indirect=indirect, condition=condition):
                kind, address = KINDS[buffer.dtype], self._address(buffer, offset, vector, indirect)
                found = f"read_{kind}({address})" + " != 0" * (kind == "bool")
                return found if condition is None or known else f"{self._first(condition, vector)} ? {found} : 0"
            case Constant(value=number, dtype=dtype):
                return scalar(number, dtype)
            case SizeValue(size=size, dtype=dtype):
                return f"({element_of(dtype).scalar}){self.size(size)}"
            case IndexValue(index=index, dtype="int64"):
                return self.index(index, vector)
            case Apply(operation="select", operands=(condition, yes, no)) if (
                known := self.known(condition)
            ) is not None:
                return self.name(yes if known else no, vector).number or None
            case Apply(operation=operation, operands=operands, dtype=dtype):
                return single_applied(operation, [self.name(operand, vector) for operand in operands], dtype)
        return None

    def _first(self, value: Scalar, vector: Vector) -> str:
        """A uniform value as a scalar."""
        named = self.name(value, vector)
        return named.number or f"({named.mask(8) if named.dtype == 'bool' else named.text})[0]"

    def _value(self, value: Scalar, vector: Vector) -> CValue:
        known = self.known(value)
        if known is not None:
            return CValue(constant(known, "bool"), "bool")
        match value:
            case Apply(operation="select", operands=(condition, yes, no)) if (
                known := self.known(condition)
            ) is not None:
                return self.name(yes if known else no, vector)
            case Apply(operation="bitand", dtype="bool", operands=operands) if self._assumed:
                left = [operand for operand in operands if self.known(operand) is None]
                if len(left) < len(operands):
                    return self.name(left[0], vector)
                return applied("bitand", self._masks_alike(operands, vector), "bool")
            case Load():
                return CValue(self._load(value, vector), value.dtype)
            case Constant(value=number, dtype=dtype):
                return CValue(constant(number, dtype), dtype)
            case SizeValue(size=size, dtype=dtype):
                element = element_of(dtype)
                return CValue(f"splat_{element.name}(({element.scalar}){self.size(size)})", dtype)
            case IndexValue(index=index, dtype=dtype):
                return converted(CValue(self._place(index, vector), "int64"), dtype)
            case Apply() if value in self.loops.by_lane:
                return self._compared(self.loops.by_lane[value], vector)
            case Apply(operation=operation, operands=operands, dtype=dtype):
                return applied(operation, self._masks_alike(operands, vector), dtype)
            case Reduced(reduction=reduction):
                return self.result(reduction, vector.number if value in self.loops.varying else -1)
        raise TypeError(f"{value!r} is no value")

    def _masks_alike(self, operands: Sequence[Scalar], vector: Vector) -> list[CValue]:
        """Operands by name; a uniform mask is converted to the width of varying ones."""
        named = [self.name(operand, vector) for operand in operands]
        bits = max([each.bits for each, operand in zip(named, operands) if operand in self.loops.varying], default=0)
        return [CValue(each.mask(bits), each.dtype, bits) if bits and each.bits > bits else each for each in named]

    def _place(self, index: Affine, vector: Vector) -> str:
        start = f"splat_i64({self.index(index, vector)})"
        step = None if self.loops.lanes is None else index.coefficient(self.loops.lanes)
        if step is None:
            return start
        return f"({start} + lane_i64())" if is_one(step) else f"({start} + lane_i64() * {self.size(step)})"

    def _compared(self, compared: ByLane, vector: Vector) -> CValue:
        """The index of each lane compared with a bound: the lane number compared with the distance to the bound,
        saturated so that it fits narrow integers."""
        bits = self.loops.bits
        start = self.index(compared.place.index, vector)
        for sign, value in compared.addends:
            start += f" {sign} {self._first(value, vector)}"
        place, ahead = f"w{next(self.serial)}", f"w{next(self.serial)}"
        bound = self._first(compared.bound, vector)
        self.text.line(f"const int64_t {place} = {start};")
        far = f"{bound} >= {place} + N ? N : {bound} - {place}"
        self.text.line(f"const int{bits}_t {ahead} = {bound} < {place} ? -1 : {far};")
        return CValue(f"(lane_i{bits}() {SYMBOLS[compared.operation]} splat_i{bits}({ahead}))", "bool", bits)

    def _load(self, load: Load, vector: Vector) -> str:
        kind = KINDS[load.buffer.dtype]
        step = None if self.loops.lanes is None else load.offset.coefficient(self.loops.lanes)
        element = element_of(load.dtype)
        known = self.known(load.condition)
        if known is False:
            return f"splat_{element.name}(0)"
        where = None if load.condition is None or known else self.name(load.condition, vector)
        if where is not None and load.condition is not None and load.condition not in self.loops.varying:
            loaded, zero = self._loaded(load, kind, step, vector), f"splat_{element.name}(0)"
            return f"{self._first(load.condition, vector)} ? {loaded} : {zero}"
        return self._loaded(load, kind, step, vector, where)

    def _loaded(self, load: Load, kind: str, step: Expr | None, vector: Vector, where: CValue | None = None) -> str:
        """The lanes of a load; where a mask is false, nothing is read."""
        masked, mask = "", ""
        if where is not None:
            masked, mask = "_where", f"{where.mask(8 * ITEMSIZE[load.buffer.dtype])}, "
        if any(part in self.loops.varying for part, _ in load.indirect):
            return f"gather{masked}_{kind}({self._gathered(load, step, vector)}, {mask}{vector.count})"
        address = self._address(load.buffer, load.offset, vector, load.indirect)
        broadcast = f"broadcast_{kind}({address})"
        if step is None and where is None:
            return broadcast
        contiguous = f"load{masked}_{kind}({address}, {mask}{vector.count})"
        known = step is not None and self.loops.is_contiguous(step)
        if known or (known is None and self.is_narrow):
            return contiguous
        size = "0" if step is None else self.size(step)
        strided = f"load_strided{masked}_{kind}({address}, {size}, {mask}{vector.count})"
        if known is not None or where is not None:
            return strided
        return f"{size} == 1 ? {contiguous} : {size} == 0 ? {broadcast} : {strided}"

    def _gathered(self, load: Load, step: Expr | None, vector: Vector) -> str:
        """The address of a gather, and the index of each lane."""
        parts = [] if step is None else [f"lane_i64() * {self.size(step)}"]
        for value, stride in load.indirect:
            place = self._as_index(value, vector)
            parts.append(place if is_one(stride) else f"{place} * {self.size(stride)}")
        return f"{self._address(load.buffer, load.offset, vector)}, {' + '.join(parts)}"

    # ------------------------------------------------------------------ stores

    def store(self, store: Store, vectors: Sequence[Vector]) -> None:
        if not self.loops.is_stored_along(store.offset):
            kind = KINDS[store.buffer.dtype]
            value = converted(self.name(store.value, vectors[0]), computed_as(store.buffer.dtype)).vector
            address = self._address(store.buffer, store.offset, vectors[0])
            self.text.line(f"write_{kind}({address}, ({value})[0]);")
            return
        for vector in vectors:
            self.put(store, self.name(store.value, vector), vector)

    def put(self, store: Store, named: CValue, vector: Vector) -> None:
        """Store a vector, its lanes along the stride of the store."""
        assert self.loops.lanes is not None
        step = store.offset.coefficient(self.loops.lanes)
        assert step is not None
        kind = KINDS[store.buffer.dtype]
        value = converted(named, computed_as(store.buffer.dtype)).vector
        address = self._address(store.buffer, store.offset, vector)
        known = self.loops.is_contiguous(step)
        contiguous = f"store_{kind}({address}, {value}, {vector.count});"
        if known or (known is None and self.is_narrow):
            self.text.line(contiguous)
            return
        if known is None:
            self.text.line(f"if ({self.size(step)} == 1) {contiguous}")
        strided = f"store_strided_{kind}({address}, {value}, {self.size(step)}, {vector.count});"
        self.text.line(strided if known is False else f"else {strided}")
