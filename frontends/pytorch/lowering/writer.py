"""Lower a graph to a program for backends: operators become expressions, or calls with materialized arguments.

A result (`results.py`) stays an expression until something needs its memory: a call, an output, a mutated argument.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import torch

from backends.loops.affine import packed
from backends.loops.channels_last import channels_last_strides, has_channels
from backends.loops.kernels import Buffer
from backends.loops.nodes import Memory, Number, Pointwise, Tensor
from backends.loops.operations import DTYPES
from backends.loops.program import Assign, Bind, Call, Check, Program
from backends.loops.values import Value
from backends.program.layouts import is_whole
from backends.program.runtime_functions import double
from backends.results import check_results
from frontends.pytorch.errors import Unsupported
from frontends.pytorch.graphs.form import Form
from frontends.pytorch.graphs.graph import are_bound, due, is_symbol, prediction_of
from frontends.pytorch.lowering.layouts import FRESH, INTO, SURE, begins, images_of
from frontends.pytorch.lowering.registry import BINDING, LOWERINGS, VIEWS, Declined, Site, in_order, symbolic_sizes_of
from frontends.pytorch.lowering.results import Numbers, Results, place_of
from frontends.pytorch.recording.operations import Operation, is_custom, is_view, results_of
from frontends.pytorch.symbolic.metadata import Metadata, name_of
from frontends.pytorch.symbolic.node import Node
from frontends.pytorch.symbolic.tensor import Result
from solver.terms.expr import Atom, Expr

aten: Final = torch.ops.aten
Laid: TypeAlias = Mapping[Result, tuple[Expr, ...]]
"""The strides of results."""


class Writer:
    """Visits the operators of a program and emits its steps."""

    def __init__(
        self, program: Program, form: Form, inner: Collection[Result] = (), laid: Laid | None = None
    ) -> None:
        """`inner` are outputs that only compiled programs read, in any layout; `laid` has the strides of inputs with
        other layouts than eager's."""
        self.program = program
        self._inner = inner
        self._laid = laid or {}
        self._begins = begins(form.operations)
        self.build = program.build
        self.form = form
        self.numbers = Numbers(program)
        self.calls: list[Operation] = []
        """The operators that became calls."""
        self.results = Results(program, place_of(form))
        self._returned: set[Result] = set()
        """The outputs, or the tensors that they are views of."""
        self._bound: set[Atom] = set()
        self._waiting = list(form.checks)

    def run(self) -> None:
        """Lower the whole program."""
        for name, result in self.form.inputs:
            self._input(name, result)
        for atom in self.form.numbers:
            self.program.numbers.append(self.numbers.given(atom) if atom in self.form.floats else atom)
            self._bound.add(atom)
        self._checks()
        for operation in self.form.operations:
            if is_view(operation.target):
                self.results.views |= dict.fromkeys(operation.outputs, operation.args[0])
        self._returned = {self.results.root(output) for output in self.form.outputs if isinstance(output, Result)}
        changes = [each for each in self.form.operations if each.target is aten.copy_.default]
        for operation in self.form.operations:
            written = len(self.program.steps)
            if operation.target is aten.copy_.default:
                if operation is changes[0]:
                    self._keep(changes)
                self._change(operation)
            else:
                self.operation(operation)
            self._checks()
            for step in self.program.steps[written:]:
                if isinstance(step, Assign | Call) and operation.origin is not None:
                    step.origin = str(operation.origin)
        self.program.outputs.extend(self._outputs())
        seen = [None if output in self._inner else output for output in self.form.outputs]
        self.program.apart.update(self.results.apart(seen))

    # ------------------------------------------------------------------ inputs

    def _input(self, name: str, result: Result) -> None:
        kind = self.results.kind(result)
        sizes, strides = [symbolic_sizes_of(each, self.build) for each in (kind.sizes, kind.strides)]
        strides = self._laid.get(result, strides)
        self.results.given(result, self.program.input(name, name_of(kind.dtype), sizes, strides))
        for size in (*sizes, *strides):
            self._known(size)
        if not isinstance(kind.offset, int):
            self._known(kind.offset.node.value.expr)

    def _known(self, size: Expr) -> None:
        if is_symbol(size):
            self._bound.update(size.symbols)

    # ------------------------------------------------------------------ values

    def operation(self, operation: Operation) -> None:
        """Lower one operator: an expression for each result, or a call."""
        values = self._lowered(operation)
        if values is None:
            self._call(operation)
            return
        for result, value in zip(operation.outputs, values):
            if isinstance(result, Result) and value is not None:
                kind = self.results.kind(result)
                converted = value.cast(name_of(kind.dtype))
                self.results.set(result, converted.of(converted.tensor, self.results.sizes(kind)))
                if result in self._returned:
                    # at once, which shortens the live ranges of its operands
                    (self._inside if result in self._inner else self._hold)(result)

    def _lowered(self, operation: Operation) -> Sequence[Value | None] | None:
        """The values of an operator's results, or None if it must be called."""
        if not is_view(operation.target) or not self._same_dtype(operation):
            return self._expressions(operation)
        source = operation.args[0]
        if not self.results.has_layout(self.results.value(source), self.results.kind(source)):
            made = self._expressions(operation)
            if made is not None:
                return made
            self.results.memory(source)
        return [self.results.viewed(source, each) if isinstance(each, Result) else None for each in operation.outputs]

    def _expressions(self, operation: Operation) -> Sequence[Value | None] | None:
        function = LOWERINGS.get(operation.target)
        if function is None:
            return None
        kinds = [each.metadata if isinstance(each, Result) else None for each in operation.outputs]
        if not all(kind is None or self._is_loopable(kind, function) for kind in kinds):
            return None
        try:
            args, named = in_order(operation)
            args = [self._operand(arg, function) for arg in args]
            named = {name: self._operand(value, function) for name, value in named.items()}
            made = function(Site(self.program, operation, kinds, self.results.anyhow), *args, **named)
        except Declined:
            return None
        if function in BINDING:
            self._bound.update(*[self._symbols(kind) for kind in kinds if kind is not None])
        return made if isinstance(made, list) else [made]

    def _is_loopable(self, kind: Metadata, function: object) -> bool:
        """Return True if loops support the dtype, and the sizes are known."""
        if name_of(kind.dtype) not in DTYPES and function not in VIEWS:
            return False
        return function in BINDING or are_bound(self._symbols(kind), self._bound)

    def _symbols(self, kind: Metadata) -> frozenset[Atom]:
        return frozenset().union(*[size.symbols for size in self.results.sizes(kind)])

    def _operand(self, value: object, function: object) -> object:
        """An argument of a lowering."""
        match value:
            case Result():
                found = self.results.value(value)
                if found.dtype not in DTYPES and function not in VIEWS:
                    raise Declined
                return found
            case Node():
                number = self.numbers.of(value)
                if isinstance(number, Expr) and not are_bound(number.symbols, self._bound):
                    return self._scalar(number)
                return number
            case list():
                return [self._operand(item, function) for item in value]
        return value

    def _scalar(self, number: Expr) -> Value:
        """A runtime float or truth value as a tensor."""
        buffer = self.program.buffer("float64", (), ())
        where = {"device": self.results.places.device}
        self.program.steps.append(Call(double, (number,), where, (buffer,), has_layout=True))
        return Value(self.build, self.build.memory(buffer), ())

    # ------------------------------------------------------------------ calls

    def _call(self, operation: Operation) -> None:
        self.calls.append(operation)
        outputs = operation.outputs
        by_place, by_name = in_order(operation)
        images = images_of(operation, self.results, begins=self._begins)
        read: dict[int, Callable[[Any], object]] = dict.fromkeys(images, self.results.channels_last_strides)
        args = tuple([read.get(place, self._argument)(arg) for place, arg in enumerate(by_place)])
        named = {name: self._argument(value) for name, value in by_name.items()}
        made: list[Buffer | Atom | None] = []
        target: Callable[..., object] = operation.target
        aliases = None
        for each in outputs:
            if isinstance(each, Result) and not self.results.is_there(each):
                kind = self.results.kind(each)
                buffer = self.results.buffer(kind)
                if images and has_channels(buffer.sizes):
                    buffer = self.program.buffer(buffer.dtype, buffer.sizes, channels_last_strides(buffer.sizes))
                self.results.own(each, self.build.memory(buffer))
                if each in self.results.views:
                    source = self.results.memory(self.results.views[each]).buffer
                    aliases, self.results.owners[buffer] = source, self.results.owners[source]
                made.append(buffer)
            elif isinstance(each, Node):
                atom, convert = self.numbers.bind(each)
                target = _then(target, convert)
                self._bound.add(atom)
                made.append(atom)
            else:
                made.append(None)
        is_list = isinstance(operation.output, list)
        # the layout of a tensor that is written in place is predicted exactly
        is_packed = all(each.strides == packed(each.sizes) for each in made if isinstance(each, Buffer))
        laid, fresh = operation.target in SURE and is_packed, operation.target in FRESH
        into = INTO.get(operation.target)
        checked = checking(operation, made) if is_custom(operation.target) else None
        call = Call(target, args, named, tuple(made), is_list, aliases, (), laid, fresh, into, checked)
        self.program.steps.append(call)
        self._bind([each for each in made if isinstance(each, Buffer)])

    def _bind(self, buffers: Iterable[Buffer]) -> None:
        """Bind the symbols that first occur as sizes of these tensors."""
        for buffer in buffers:
            for axis, size in enumerate(buffer.sizes):
                if is_symbol(size):
                    (atom,) = size.symbols
                    if not are_bound((atom,), self._bound):
                        self.program.steps.append(Bind(atom, buffer, axis))
                        self._bound.add(atom)

    def _argument(self, value: object) -> object:
        match value:
            case Result():
                return self.results.memory(value)
            case Node():
                return self.numbers.of(value)
            case list():
                return [self._argument(item) for item in value]
        return value

    def _checks(self) -> None:
        """Emit the checks whose symbols are all bound."""
        self.program.steps += [Check(*condition) for condition in due(self._waiting, self._bound)]

    # ------------------------------------------------------------------ outputs

    def _keep(self, changes: Sequence[Operation]) -> None:
        """Materialize values from before a mutation that are read after it."""
        self._outputs()
        changed: set[Result] = set()
        for operation in changes:
            first, second = operation.args
            if not changed.isdisjoint(self.results.read_by(self.results.value(second).tensor)):
                self.results.store(second)
            changed.add(first)

    def _change(self, operation: Operation) -> None:
        """Write an argument's final value."""
        first, second = operation.args
        memory = self.results.memory(first)
        value = self.results.value(second).cast(memory.dtype)
        if memory.dtype not in DTYPES:
            raise Unsupported(f"an argument of dtype {memory.dtype} is changed")
        if not self._reads_in_place(value.tensor, memory):
            value = Value(self.build, self.results.store(second), value.sizes).cast(memory.dtype)
        self.program.assign(memory, value.tensor)

    def _reads_in_place(self, value: Tensor, memory: Memory) -> bool:
        """Return True if each element reads a mutated argument only at its own index."""
        changed = {self.results.owners.get(memory.buffer), *self.form.changed}
        stack = [value]
        while stack:
            tensor = stack.pop()
            if isinstance(tensor, Pointwise):
                stack.extend(tensor.operands)
            elif isinstance(tensor, Memory) and tensor.buffer is memory.buffer:
                if tensor.offset != memory.offset:
                    return False
            elif not isinstance(tensor, Number) and not changed.isdisjoint(self.results.read_by(tensor)):
                return False
        return True

    def _outputs(self) -> list[object]:
        """Materialize all available outputs; tensors that do not alias in eager do not alias here."""
        found: list[object] = []
        for output in self.form.outputs:
            if isinstance(output, Result):
                if self.results.is_there(output):
                    found.append(self._inside(output) if output in self._inner else self._output(output))
            elif isinstance(output, Node):
                found.append(self.numbers.of(output))
            elif isinstance(output, Atom):
                found.append(output.expr)
            else:
                found.append(output)
        return found

    def _hold(self, result: Result) -> None:
        """Materialize a result without aliases that eager does not have."""
        if self.results.owners[self.results.memory(result).buffer] is not result:
            self.results.store(result)

    def _inside(self, result: Result) -> Memory:
        """An output with any layout: a whole buffer of its own, or eager's layout."""
        if result not in self.results.views and result.constant is None:
            memory = self.results.anyhow(result)
            if self.results.owners.get(memory.buffer) is result and is_whole(memory, self.program.decisions):
                return memory
        return self._output(result)

    def _output(self, result: Result) -> Memory:
        root = self.results.root(result)
        self._hold(root)
        chain = [result]
        while chain[-1] in self.results.views:
            chain.append(self.results.views[chain[-1]])
        for source, view in zip(chain[::-1], chain[-2::-1]):
            memory = self.results.value(view).memory
            if memory is None or self.results.owners[memory.buffer] is not root:
                self.results.set(view, self.results.viewed(source, view))
        return self.results.memory(result)

    def _same_dtype(self, operation: Operation) -> bool:
        source = self.results.kind(operation.args[0])
        return all(self.results.kind(each).dtype is source.dtype for each in results_of(operation.output))


def checking(operation: Operation, made: Sequence[object]) -> Callable[..., object] | None:
    """A call that compares a custom operator's results with the predicted sizes and strides."""
    if not any(isinstance(each, Buffer) for each in made):
        return None
    kinds = [each.metadata if isinstance(each, Result) else None for each in operation.outputs]
    what = (str(operation.target.name()), prediction_of(operation), is_view(operation.target))

    def checked(
        results: object, operands: Sequence[object], layouts: Sequence[tuple[Sequence[int], Sequence[int]] | None]
    ) -> object:
        predicted = [
            None if layout is None or kind is None else (*layout, kind.dtype, kind.device)
            for layout, kind in zip(layouts, kinds)
        ]
        return check_results(results, operands, predicted, *what)

    return checked


def _then(target: Callable[..., object], convert: Callable[[object], object]) -> Callable[..., object]:
    def converted(*args: object, **kwargs: object) -> object:
        return convert(target(*args, **kwargs))

    converted.__name__ = str(target)
    return converted
