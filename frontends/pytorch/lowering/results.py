"""The value of each result while a program is lowered: an expression, or memory.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> from frontends.pytorch.graphs.functional import functional
    >>> place_of(functional(trace(torch.relu, (torch.randn(3),)))).device
    device(type='cpu')

A materialized result has eager's strides. A view of memory is memory; materializing a view of an expression
materializes the expression. Kernels run on one device. Like operators, a program on an accelerator accepts CPU scalars
(tensors with one element) if they are not aliased by its results.

Scalars are sizes, or floats and truth values of sizes that a call computes. A float of the run is the integer of its 64
bits, as in the engine, until a call computes with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, Final

import torch

from backends.loops.affine import Affine, affine_sum
from backends.loops.channels_last import channels_last_strides, is_channels_last
from backends.loops.kernels import Buffer
from backends.loops.nodes import Memory, Tensor, descend
from backends.loops.operations import DTYPES
from backends.loops.program import Call, Check, Program
from backends.loops.values import Value
from backends.program.runtime_functions import Brought, Copied
from frontends.pytorch.errors import Unsupported
from frontends.pytorch.graphs.form import Form
from frontends.pytorch.graphs.graph import reads_floats, undefined
from frontends.pytorch.lowering.registry import sizes_of
from frontends.pytorch.recording.operations import results_of
from frontends.pytorch.symbolic.metadata import Metadata, name_of
from frontends.pytorch.symbolic.node import Node
from frontends.pytorch.symbolic.tensor import Result
from frontends.pytorch.symbolic.values import symbols_of
from shapes.symbolic.numbers import SymBool, SymFloat, SymInt
from solver.floats.ordinals import pattern as pattern_of
from solver.terms.expr import Atom, Expr
from solver.terms.prop import Prop

aten: Final = torch.ops.aten
WRITTEN: Final = (aten.lift_fresh_copy.default, aten.scalar_tensor.default, aten.full.default)
"""Operators that make tensors of a program's literals."""


@dataclass(frozen=True, slots=True)
class Places:
    """A program's device.

    Attributes:
        device: where everything is computed; None if there is no tensor.
        brought: CPU scalars that are copied to it.
    """

    device: torch.device | None
    brought: frozenset[Result] = frozenset()


def place_of(form: Form) -> Places:
    """Find a program's device.

    Raises:
        Unsupported: on several devices.
    """
    made = list(results_of([operation.output for operation in form.operations]))
    given = [*[result for _, result in form.inputs], *form.constants]
    where = {each: each.metadata.device for each in (*given, *made) if each.metadata is not None}
    devices = [*dict.fromkeys(where.values())]
    device = next((each for each in devices if each.type != "cpu"), devices[0] if devices else None)
    apart = [each for each in where if where[each] != device]
    if not apart:
        return Places(device)
    writing = [each for each in form.operations if each.target in WRITTEN]
    literals = {each.output for each in writing}
    seen = {each for each in (*form.outputs, *form.changed) if isinstance(each, Result)}
    for each in apart:
        if each in seen or each not in literals.union(given) or not is_number(each):
            raise Unsupported(f"a program with tensors on both {device} and {where[each]} has no kernels")
    literals.update(results_of([each.args for each in writing]))
    return Places(device, frozenset(apart) - literals)


def is_number(result: Result) -> bool:
    """Return True for a CPU scalar."""
    kind = result.metadata
    return kind is not None and kind.device.type == "cpu" and not kind.sizes and name_of(kind.dtype) in DTYPES


class Results:
    """The values of a program's results.

    Attributes:
        views: the base of each result that is a view.
        owners: the result that owns a buffer.
        places: the program's device.
    """

    def __init__(self, program: Program, places: Places) -> None:
        self.program = program
        self.places = places
        self.build = program.build
        self.views: dict[Result, Result] = {}
        self.owners: dict[Buffer, Result] = {}
        self._values: dict[Result, Value] = {}
        self._otherwise: dict[Result, Memory] = {}
        """Results with other strides than eager's, where calls take them so."""

    def is_there(self, result: Result) -> bool:
        """Return True if a result has a value already."""
        return result in self._values or result.constant is not None

    def set(self, result: Result, value: Value) -> None:
        """Set a result's value."""
        self._values[result] = value
        if value.memory is not None:
            self.owners.setdefault(value.memory.buffer, result)

    # ------------------------------------------------------------------ values

    def value(self, result: Result) -> Value:
        found = self._values.get(result)
        if found is None:
            assert result.constant is not None, result
            found = self.constant(result)
        return found

    def constant(self, result: Result) -> Value:
        kind = self.kind(result)
        memory = self.program.constant(result.constant, name_of(kind.dtype), self.sizes(kind), self.strides(kind))
        return self.given(result, memory)

    def given(self, result: Result, memory: Memory) -> Value:
        """An input of the program, copied to its device."""
        if result in self.places.brought:
            assert self.places.device is not None
            buffer = self.program.buffer(memory.dtype, (), ())
            self.program.steps.append(Call(Brought(self.places.device), (memory,), {}, (buffer,), has_layout=True))
            memory = self.build.memory(buffer)
        return self.own(result, memory)

    def own(self, result: Result, memory: Memory) -> Value:
        self.owners[memory.buffer] = result
        made = self._values[result] = Value(self.build, memory, memory.sizes)
        return made

    def root(self, result: Result) -> Result:
        while result in self.views:
            result = self.views[result]
        return result

    # ------------------------------------------------------------------ memory

    def apart(self, outputs: Iterable[object]) -> dict[int, int]:
        """Outputs, by index, that view all of an argument, a constant or an earlier output: as separate tensors, with
        the index of their first occurrence."""
        found: dict[int, int] = {}
        first: dict[Result, int] = {}
        there: set[Buffer] = set()
        for place, output in enumerate(outputs):
            if not isinstance(output, Result):
                continue
            before = first.setdefault(output, place)
            buffer = self.memory(output).buffer
            is_another = buffer in there if buffer.role == "made" else self.owners.get(buffer) is not output
            if before in found or before == place and is_another:
                found[place] = before
            there.add(buffer)
        return found

    def memory(self, result: Result) -> Memory:
        """Materialize a result with eager's strides."""
        value = self.value(result)
        if self.has_layout(value, self.kind(result)):
            assert value.memory is not None
            return value.memory
        source = self.views.get(result)
        if source is not None and self.kind(source).dtype is self.kind(result).dtype:
            self.memory(source)
            viewed = self._values[result] = self.viewed(source, result)
            assert viewed.memory is not None
            return viewed.memory
        return self.store(result)

    def store(self, result: Result) -> Memory:
        """Store a result to new memory."""
        value, kind = self.value(result), self.kind(result)
        buffer = self.buffer(kind)
        memory = self.build.memory(buffer)
        if value.dtype in DTYPES:
            self.program.assign(memory, value.tensor)
        else:
            assert value.memory is not None
            copy = Copied(len(memory.sizes))
            arguments = (value.memory, *memory.sizes, *buffer.strides)
            self.program.steps.append(Call(copy, arguments, {}, (buffer,), has_layout=True))
        self.own(result, memory)
        return memory

    def channels_last_strides(self, image: Result) -> Memory:
        """Materialize an image as channels-last, whatever eager's layout is."""
        found = self._otherwise.get(image)
        if found is None:
            value = self.value(image)
            found = value.memory
            if found is None or not is_channels_last(found):
                memory = self.build.memory(
                    self.program.buffer(value.dtype, value.sizes, channels_last_strides(value.sizes))
                )
                self.program.assign(memory, value.tensor)
                if found is None:
                    self.own(image, memory)
                found = memory
            self._otherwise[image] = found
        return found

    def anyhow(self, result: Result) -> Memory:
        """Materialize a result with any strides: its existing memory, else the layout of its operands."""
        memory = self._otherwise.get(result) or self.value(result).memory
        if memory is not None:
            return memory
        if is_channels_last(self.value(result).tensor):
            return self.channels_last_strides(result)
        return self.memory(result)

    def buffer(self, kind: Metadata) -> Buffer:
        """New memory with eager's layout."""
        return self.program.buffer(name_of(kind.dtype), self.sizes(kind), self.strides(kind))

    def viewed(self, source: Result, result: Result) -> Value:
        """A view of memory with eager's layout: its metadata have strides and offset."""
        base, kind, under = self.value(source).memory, self.kind(result), self.kind(source)
        assert base is not None
        start = base.offset.constant + self.offset(kind) - self.offset(under)
        sizes = self.sizes(kind)
        steps = [axis * stride for axis, stride in zip(self.build.axes(len(sizes)), self.strides(kind))]
        memory = Memory(sizes, base.dtype, base.buffer, affine_sum([Affine.of(start), *steps]))
        return Value(self.build, memory, sizes)

    def has_layout(self, value: Value, kind: Metadata) -> bool:
        """Return True if a value is materialized with its metadata's strides."""
        memory = value.memory
        return memory is not None and all(
            size.is_constant and size.constant in (0, 1) and memory.rank == len(memory.buffer.sizes)
            or self.build.decisions.equal(memory.offset.coefficient(axis) or self.build.zero, stride)
            for axis, (size, stride) in enumerate(zip(memory.sizes, self.strides(kind)))
        )

    def read_by(self, tensor: Tensor) -> AbstractSet[Result | None]:
        """The owners of the memory that an expression reads."""
        return {self.owners.get(each.buffer) for each in descend([tensor]) if isinstance(each, Memory)}

    # ------------------------------------------------------------------ metadata

    def kind(self, result: Result) -> Metadata:
        if result.metadata is None:
            raise Unsupported("a result has another dtype than predicted: it cannot be stored")
        return result.metadata

    def sizes(self, kind: Metadata) -> tuple[Expr, ...]:
        return sizes_of(kind.sizes, self.build)

    def strides(self, kind: Metadata) -> tuple[Expr, ...]:
        return sizes_of(kind.strides, self.build)

    def offset(self, kind: Metadata) -> Expr:
        return sizes_of((kind.offset,), self.build)[0]


# ---------------------------------------------------------------------- scalars


class Numbers:
    """The expression for each scalar; one that is no size has a symbol of its own, computed by a call."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._made: dict[Node, Expr] = {}
        self._checked: set[Prop] = set()

    def of(self, node: Node) -> Expr | int | float | bool:
        """A scalar as an argument."""
        value = node.value
        if isinstance(value, SymInt):
            self._check(value)
            return value.expr.constant if value.expr.is_constant else value.expr
        if not isinstance(value, SymBool | SymFloat):
            return value
        found = self._made.get(node)
        if found is None:
            if isinstance(value, SymFloat) and reads_floats(value):
                self._check(value)
            found = self._made[node] = self._computed(value)
        return found

    def _check(self, value: SymInt | SymFloat) -> None:
        found = None if value.domain in self._checked else undefined(value)
        if found is not None:
            self._checked.add(value.domain)
            self.program.steps.append(Check(*found))

    def _computed(self, value: SymBool | SymFloat) -> Expr:
        interner = self.program.build.interner
        arguments: Sequence[Expr]
        target: Callable[..., object]
        if isinstance(value, SymBool):
            arguments, target = (interner.ite(value.prop, 1, 0),), bool
        else:
            arguments, target = value.value.arguments, value.value.program.evaluate
        symbol = interner.symbol(f"number{len(self._made)}")
        (atom,) = symbol.symbols
        self.program.steps.append(Call(target, tuple(arguments), {}, (atom,)))
        return symbol

    def given(self, atom: Atom) -> Atom:
        """The symbol of a float argument with these bits."""
        (number,) = self.program.build.interner.symbol(f"{atom.name}_float").symbols
        self.program.steps.append(Call(pattern_of, (number.expr,), {}, (atom,)))
        return number

    def bind(self, node: Node) -> tuple[Atom, Callable[[Any], object]]:
        """The symbol of an operator's scalar result, and the conversion to it."""
        (atom,) = symbols_of(node.value)
        return atom, pattern_of if isinstance(node.value, SymFloat) else int
