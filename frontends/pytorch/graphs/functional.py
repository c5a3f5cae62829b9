"""Functionalized graphs for backends, in single-assignment form; mutated arguments are written back at the end.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> from frontends.pytorch.graphs.functional import functional
    >>> def program(x):
    ...     x[0].mul_(2)
    ...     return x.relu()
    >>> form = functional(trace(program, (torch.randn(3, 4),)))
    >>> [str(node.target) for node in form.graph.graph.nodes if node.op == "call_function"]
    ['aten.select.int', 'aten.mul.Tensor', 'aten.select_scatter.default', 'aten.relu.default', 'aten.copy_.default']
    >>> [name for name, result in form.inputs if result in form.changed]
    ['x']

Aliased tensors are chains of views of one base. A write to a view becomes a new value of the base, by the inverses of
the views; views that are read afterwards are regenerated from it. Outputs keep their aliasing with arguments and with
each other.

Selections by masks are rewritten so that no size depends on data (`frontends.pytorch.graphs.selections`).

The form is valid if nothing in `changed` overlaps another argument (`overlaps`); the mutating graph needs no such
condition.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Final, TypeAlias

import torch

from backends.decisions.questions import Decisions
from frontends.pytorch.errors import Unsupported
from frontends.pytorch.graphs.captured import Captured, unused_removed
from frontends.pytorch.graphs.form import Form
from frontends.pytorch.graphs.masked_operators import rewritten
from frontends.pytorch.graphs.partition import computed_again
from frontends.pytorch.graphs.selections import without_selections
from frontends.pytorch.graphs.split import Split, needed, split
from frontends.pytorch.recording.operations import (
    STATISTICS,
    Argument,
    Operation,
    Recording,
    Target,
    bound,
    is_random,
    is_view,
    is_written,
)
from frontends.pytorch.symbolic.metadata import Metadata
from frontends.pytorch.symbolic.node import TorchValue
from frontends.pytorch.symbolic.tensor import Result
from shapes.rules.memory_order import is_packed

aten: Final = torch.ops.aten


def functional(program: Captured) -> Form:
    """Functionalize a program.

    Raises:
        Unsupported: it resizes an argument, or uses an operator that has no functional variant.
    """
    values = functionalized(program)
    outputs = [values.argument(output) for output in program.outputs]
    operations, _ = without_selections(program, values.operations, len(values.operations), outputs, rewritten)
    return program.form(operations, outputs, program.runtime_asserts)


def functional_joint(program: Captured, lowered: Container[object], decisions: Decisions | None = None) -> Split:
    """Functionalized forward and backward, partitioned for a backend that lowers these operators, by the answers to
    `decisions`.

    Raises:
        Unsupported: as `functional`.
    """
    joint = program.joint
    assert joint is not None
    decisions = Decisions(program.env) if decisions is None else decisions
    values = functionalized(program)
    results = [values.argument(output) for output in program.results]
    cut = len(values.operations)
    for operation in program.recording.operations:
        if operation.backward:
            values.run(operation)
    if any(values.tensor(first).base.value is not first for first in values.written()):
        raise Unsupported("the backward mutates its inputs, which has no functional variant")
    gradients = [values.argument(gradient) for gradient in joint.gradients]
    forward, backward = without_selections(program, values.operations, cut, [*results, *gradients], rewritten)
    checked = [check.prop.symbols for check in program.told_later[1]]
    backward = unused_removed(backward, [gradients, *checked])
    changed = {operation.args[0] for operation in forward if operation.target is aten.copy_.default}
    there = {each for each in results if isinstance(each, Result)}
    read, _ = needed(backward, joint.tangents, gradients)
    backward = [*computed_again(decisions, forward, read, there, changed, lowered), *backward]
    return split(program, forward, backward, results, gradients)


def functionalized(program: Captured) -> Values:
    """Functionalize the forward, with the arguments written at its end."""
    if program.recording.overlapping:
        raise Unsupported(f"{program.recording.overlapping[0]}: it has no functional variant")
    values = Values(program.recording)
    for operation in program.recording.operations:
        if not operation.backward:
            values.run(operation)
    values.finish()
    return values


# ---------------------------------------------------------------------- values of tensors


@dataclass(eq=False)
class Base:
    """Separate memory with its first and its current value."""

    first: Result
    value: Result
    version: int = 0


@dataclass(eq=False)
class Shared:
    """A tensor: the whole base, or a view of another one."""

    base: Base
    result: Result
    parent: Shared | None = None
    view: Operation | None = None
    place: int = 0

    def __post_init__(self) -> None:
        self.version = self.base.version


class Values:
    """The current value of each tensor while operators are functionalized in order."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.operations: list[Operation] = []
        self._tensors: dict[Result, Shared] = {}
        self._is_of_function = False

    # ------------------------------------------------------------------ reading

    def tensor(self, result: Result) -> Shared:
        found = self._tensors.get(result)
        if found is None:
            found = self._tensors[result] = Shared(Base(result, result), result)
        return found

    def current(self, shared: Shared) -> Result:
        """The tensor's current value."""
        if shared.parent is None:
            return shared.base.value
        if shared.version != shared.base.version:
            view = shared.view
            assert view is not None
            args = (self.current(shared.parent), *[self.argument(arg) for arg in view.args[1:]])
            shared.result = made = self.recording.result(shared.result.metadata)
            pieces = [made if place == shared.place else None for place in range(len(view.outputs))]
            self._add(view.target, args, self._named(view), pieces if isinstance(view.output, list) else made)
            shared.version = shared.base.version
        return shared.result

    def argument(self, value: Argument) -> Argument:
        if isinstance(value, Result):
            return self.current(self.tensor(value))
        if isinstance(value, list):
            return [self.argument(item) for item in value]
        return value

    def _add(self, target: Target, args: Sequence[Argument], named: dict[str, Argument], output: Argument) -> None:
        self.operations.append(Operation(target, tuple(args), named, output, is_of_function=self._is_of_function))

    def _named(self, operation: Operation) -> dict[str, Argument]:
        return {name: self.argument(value) for name, value in operation.kwargs.items()}

    def _call(self, target: Target, args: Sequence[Argument], metadata: Metadata | None, **named: Argument) -> Result:
        result = self.recording.result(metadata)
        self._add(target, args, named, result)
        return result

    # ------------------------------------------------------------------ operators

    def run(self, operation: Operation) -> None:
        """Functionalize one operator."""
        target, self._is_of_function = operation.target, operation.is_of_function
        if target in STATISTICS:
            self._statistics(operation)
        elif target._schema.is_mutable:
            self._mutation(operation)
        elif is_view(target):
            self._view(operation)
        else:
            self._plain(operation)

    def _plain(self, operation: Operation) -> None:
        args = tuple([self.argument(arg) for arg in operation.args])
        self.operations.append(replace(operation, args=args, kwargs=self._named(operation)))

    def _view(self, operation: Operation) -> None:
        parent = self.tensor(operation.args[0])
        if operation.target is aten.as_strided.default and not _has_its_memory(parent):
            raise Unsupported("`as_strided` of a view reads memory outside of the view")
        self._plain(operation)
        for place, result in enumerate(operation.outputs):
            if isinstance(result, Result):
                self._tensors[result] = Shared(parent.base, result, parent, operation, place)

    def _mutation(self, operation: Operation) -> None:
        schema = operation.target._schema
        written = [each for each in bound(operation.target, operation.args, operation.kwargs) if is_written(each[0])]
        refused = Unsupported(f"{operation.target} mutates its argument and has no functional variant")
        if len(written) != 1 or torch.Tag.inplace_view in operation.target.tags:
            raise refused
        changed, tensor = written[0]
        plain = out_of_place(operation.target)
        if plain is None or not isinstance(tensor, Result):
            raise refused
        target, kind, out = self.tensor(tensor), tensor.metadata, changed.is_out
        assert kind is not None
        if is_random(operation) and not is_packed(kind.shape):
            # numbers are drawn in memory order
            raise Unsupported(f"{operation.target} draws random numbers into a tensor that is not contiguous")
        args = [self.argument(arg) for arg in operation.args]
        named = {name: value for name, value in self._named(operation).items() if not (out and name == changed.name)}
        defaults = {argument.name: argument for argument in schema.arguments if argument.has_default_value()}
        for place, argument in enumerate(plain._schema.arguments):
            if place >= len(args) and argument.name in defaults and argument.name not in named:
                named[argument.name] = defaults[argument.name].default_value
            if argument.name == "dtype" and place >= len(args) and named.get("dtype") is None:
                # sums of integers would have another dtype
                named["dtype"] = kind.dtype
        value = self._call(plain, args, kind if not out or _meets(operation, kind) else None, **named)
        view = target.view
        if out and view is not None and view.target is aten.alias.default and view.args[0].metadata.key != kind.key:
            raise Unsupported("an `out` tensor is resized to the result's sizes")
        if out:
            # the result is converted while it is written to existing memory
            value = self._call(aten.copy.default, (self.current(target), value), kind)
        self._write(target, value)

    def _statistics(self, operation: Operation) -> None:
        """Functionalize batch normalization, which in training updates its running statistics."""
        mean, variance = operation.args[3], operation.args[4]
        if not operation.args[STATISTICS[operation.target]] or mean is None or variance is None:
            self._plain(operation)
            return
        tensors = [self.tensor(mean), self.tensor(variance)]
        updated = [self.recording.result(each.metadata) for each in (mean, variance)]
        args = tuple([self.argument(arg) for arg in operation.args])
        output = [*operation.outputs, *updated]
        self.operations.append(Operation(aten._native_batch_norm_legit_functional.default, args, {}, output))
        for tensor, value in zip(tensors, updated):
            self._write(tensor, value)

    # ------------------------------------------------------------------ writing

    def _write(self, shared: Shared, value: Result) -> None:
        """Set a tensor's value, and that of its base."""
        if shared.parent is None:
            shared.base.value = value
            shared.base.version += 1
            return
        view, before = shared.view, self.current(shared.parent)
        assert view is not None
        inverse = INVERSES.get(view.target)
        if inverse is None:
            raise Unsupported(f"a write through the view {view.target}, which has no inverse")
        metadata = shared.parent.result.metadata if shared.parent.parent else shared.base.first.metadata
        assert metadata is not None
        if view.target is aten.as_strided.default and not is_packed(metadata.shape):
            raise Unsupported("a write through `as_strided` of a tensor that is not contiguous")
        rest = [self.argument(arg) for arg in view.args[1:]]
        pieces = [piece.metadata.sizes for piece in view.outputs[: shared.place + 1]]
        target, args = inverse(before, value, rest, pieces, metadata)
        self._write(shared.parent, self._call(target, args, metadata))

    def written(self) -> list[Result]:
        """The arguments and constants whose value has changed."""
        bases = dict.fromkeys([shared.base for shared in self._tensors.values()])
        made = {
            output
            for operation in self.operations
            for output in operation.outputs
            if isinstance(output, Result) and operation.target is not aten.copy_.default
        }
        return [base.first for base in bases if base.version and base.first not in made]

    def finish(self) -> None:
        """Write the arguments back; later reads are views of them."""
        for first in self.written():
            base = self.tensor(first).base
            self.operations.append(Operation(aten.copy_.default, (first, base.value), {}, first))
            base.value = first
            base.version += 1


# ---------------------------------------------------------------------- out-of-place operators


def _has_its_memory(shared: Shared) -> bool:
    """Return True if a tensor is the whole of its memory, from the beginning."""
    while shared.parent is not None:
        if shared.view is None or shared.view.target not in (aten.alias.default, aten.detach.default):
            return False
        shared = shared.parent
    return True


def _meets(operation: Operation, kind: Metadata) -> bool:
    """Return True if a result has the dtype of its `out` tensor."""
    given = [arg for arg in operation.args if isinstance(arg, Result)]
    return all(arg.metadata is not None and arg.metadata.dtype is kind.dtype for arg in given)


@cache
def out_of_place(target: torch._ops.OpOverload) -> torch._ops.OpOverload | None:
    """The operator with the same arguments that changes none: of `add_` that is `add`."""
    if target is aten.normal_.default:
        return aten.normal_functional.default
    name, arguments = target._schema.name.partition("::")[2], target._schema.arguments
    packet = target.overloadpacket if any(each.is_out for each in arguments) else None
    if packet is None and target.namespace == "aten" and name.endswith("_"):
        packet = getattr(aten, name[:-1], None)
    wanted = [(each.name, str(each.type)) for each in arguments if not each.is_out]
    for overload in packet.overloads() if packet is not None else ():
        found = getattr(packet, overload)
        if not found._schema.is_mutable and [(a.name, str(a.type)) for a in found._schema.arguments] == wanted:
            return found
    return None


# ---------------------------------------------------------------------- inverses of views

Rest: TypeAlias = list[Argument]
Pieces: TypeAlias = Sequence[Sequence[TorchValue]]
Call: TypeAlias = tuple[Target, tuple[Argument, ...]]
Inverse: TypeAlias = Callable[[Result, Result, Rest, Pieces, Metadata], Call]


def _with(target: Target) -> Inverse:
    """The inverse of a permutation that this operator gives for the view's own arguments."""
    return lambda before, value, rest, pieces, metadata: (target, (value, *rest))


def _into(target: Target) -> Inverse:
    """An operator that replaces the view's elements in the old value."""
    return lambda before, value, rest, pieces, metadata: (target, (before, value, *rest))


def _reshaped(before: Result, value: Result, rest: Rest, pieces: Pieces, metadata: Metadata) -> Call:
    return aten.reshape.default, (value, [_number(size) for size in metadata.sizes])


def _permuted(before: Result, value: Result, rest: Rest, pieces: Pieces, metadata: Metadata) -> Call:
    order = [axis % len(rest[0]) for axis in rest[0]]
    return aten.permute.default, (value, [order.index(axis) for axis in range(len(order))])


def _unbound(before: Result, value: Result, rest: Rest, pieces: Pieces, metadata: Metadata) -> Call:
    return aten.select_scatter.default, (before, value, rest[0] if rest else 0, len(pieces) - 1)


def _split(before: Result, value: Result, rest: Rest, pieces: Pieces, metadata: Metadata) -> Call:
    """Replace one piece between those before and after it."""
    axis = rest[1] if len(rest) > 1 else 0
    start: TorchValue = 0
    for sizes in pieces[:-1]:
        start = start + sizes[axis]
    end = start + pieces[-1][axis]
    return aten.slice_scatter.default, (before, value, axis, _number(start), _number(end))


def _number(size: TorchValue) -> Argument:
    return size if isinstance(size, int) else size.node


INVERSES: Final[Mapping[object, Inverse]] = {
    **dict.fromkeys((aten.alias.default, aten.detach.default), _with(aten.alias.default)),
    **dict.fromkeys((aten.view.default, aten._unsafe_view.default, aten._reshape_alias.default), _reshaped),
    **dict.fromkeys((aten.squeeze.default, aten.squeeze.dim, aten.squeeze.dims, aten.unsqueeze.default), _reshaped),
    aten.t.default: _with(aten.t.default),
    aten.transpose.int: _with(aten.transpose.int),
    aten.permute.default: _permuted,
    aten.slice.Tensor: _into(aten.slice_scatter.default),
    aten.select.int: _into(aten.select_scatter.default),
    aten.diagonal.default: _into(aten.diagonal_scatter.default),
    aten.as_strided.default: _into(aten.as_strided_scatter.default),
    aten.unbind.int: _unbound,
    **dict.fromkeys((aten.split.Tensor, aten.split_with_sizes.default), _split),
}
"""For each view: a function from the base's old value, the view's new value, the view's arguments and the sizes of the
pieces up to this one, to the base's new value."""
