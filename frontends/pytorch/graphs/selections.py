"""Selections by masks become computations on all elements: no size is left that data decides.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> from frontends.pytorch.graphs.functional import functional
    >>> variant = trace(lambda x: x[x > 0].sum(), (torch.randn(3),))
    >>> [str(node.target) for node in functional(variant).graph.graph.nodes if node.op == "call_function"]
    ['aten.gt.Scalar', 'aten.full.default', 'aten.where.self', 'aten.sum.default']

`x[mask]` has an axis with one element for each True. For each tensor with such an axis stands one whose axis has an
element for each element of the mask, in the same order: the axes of a mask of several are flattened. Only the elements
under the mask mean something: pointwise operators compute all of them, a reduction over the axis replaces the others by
its identity first, a masked assignment selects by `where`. The rules are in `masked_operators` beside this file. A
selection stays if it is returned, or if an operator without such a rule reads it.

The number of selected elements is a sum. Where a number or a check of the program needs it, the sum is read by one
`item`, with the symbol that was the size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

import torch
from torch._dispatch.python import enable_python_dispatcher

from frontends.pytorch.graphs.captured import Captured
from frontends.pytorch.graphs.graph import is_symbol
from frontends.pytorch.recording.operations import Argument, Operation, bound, flat, results_of
from frontends.pytorch.recording.operations import replaced as substituted
from frontends.pytorch.recording.recorder import Recorder
from frontends.pytorch.recording.torch_internals import replaced
from frontends.pytorch.symbolic.metadata import Metadata
from frontends.pytorch.symbolic.node import Node, TorchValue
from frontends.pytorch.symbolic.tensor import Result, Traced, tensor_of
from frontends.pytorch.symbolic.values import symbols_of
from shapes.symbolic.choices import Truth
from solver.decide.verdict import Always
from solver.terms.expr import Atom

aten: Final = torch.ops.aten
SELECTING: Final = (aten.index.Tensor, aten.masked_select.default, aten.nonzero.default)
Parts: TypeAlias = tuple[list[Operation], list[Operation]]
"""The operators of the forward and of the backward."""
Rewrite: TypeAlias = "Callable[[Site], None]"
"""Records the operators that stand for one."""


class NotMasked(Exception):
    """An operator has no rule for a selection."""


def without_selections(
    program: Captured, operations: Sequence[Operation], cut: int, outputs: Sequence[object], rewrite: Rewrite
) -> Parts:
    """Forward and backward of a functional program, whose first `cut` operators are its forward, without the selections
    that have rules."""
    masks = dict(selections(program, operations))
    kept = {atom for atom in masks for each in results_of(outputs) if atom in atoms_of(each)}
    while wanted := {atom: mask for atom, mask in masks.items() if atom not in kept}:
        found = SelectionPass(program, wanted, rewrite).run(operations, cut, outputs)
        if isinstance(found, tuple):
            return found
        kept |= found
    return [*operations[:cut]], [*operations[cut:]]


def selections(program: Captured, operations: Iterable[Operation]) -> Iterator[tuple[Atom, tuple[Result, Node]]]:
    """The symbols that count what a mask selects, each with the first mask and the symbol as a node."""
    seen = set()
    known = {symbol.name for symbol in program.env.symbols.values() if symbol.kind == "unbacked"}
    for operation in operations:
        if operation.target in SELECTING:
            mask = mask_of(operation)
            if mask is None:
                continue
            (result,) = operation.outputs
            for size in result.metadata.sizes:
                if isinstance(size, torch.SymInt) and is_symbol(size.node.value.expr):
                    (atom,) = size.node.value.expr.symbols
                    if atom not in seen and atom.name in known:
                        seen.add(atom)
                        yield atom, (mask, size.node)


def mask_of(operation: Operation) -> Result | None:
    """The one mask by which an operator selects."""
    if operation.target is aten.masked_select.default:
        source, mask = operation.args
        whole = len(mask.metadata.sizes) >= len(source.metadata.sizes)
        return mask if whole else None
    is_nonzero = operation.target is aten.nonzero.default
    given = [each for each in ([operation.args[0]] if is_nonzero else operation.args[1]) if each is not None]
    is_mask = len(given) == 1 and given[0].metadata.dtype is torch.bool and bool(given[0].metadata.sizes)
    return given[0] if is_mask else None


def atoms_of(value: object) -> set[Atom]:
    """The symbols in the sizes of a tensor, or of a number."""
    if isinstance(value, Node):
        return set() if value.is_plain else set(symbols_of(value.value))
    sizes = value.metadata.sizes if isinstance(value, Result) and value.metadata is not None else ()
    return {atom for size in sizes if isinstance(size, torch.SymInt) for atom in symbols_of(size.node.value)}


# ---------------------------------------------------------------------- one program


@dataclass(eq=False)
class Selection:
    """The elements under a mask.

    Attributes:
        number: the symbol of how many there are, as a node.
        flat: the mask with one axis.
        count: the number as a tensor.
        reading: the operator that reads it.
    """

    atom: Atom
    number: Node
    mask: Result
    flat: Traced | None = None
    count: Traced | None = None
    reading: Operation | None = None


class SelectionPass:
    """Rewrites a program in which these symbols count selected elements.

    Attributes:
        recorder: records the operators of the new program.
    """

    def __init__(self, program: Captured, masks: dict[Atom, tuple[Result, Node]], rewrite: Rewrite) -> None:
        self.env = program.env
        self.program = program
        self.rewrite = rewrite
        self.recorder: Final = Recorder(program.env, program.kinds.nodes, program.kinds)
        self.selections = {atom: Selection(atom, number, mask) for atom, (mask, number) in masks.items()}
        self.whole: dict[Result, Traced] = {}
        """For each tensor with an axis of selected elements the one that stands for it."""
        self.coordinates: dict[Result, int | None] = {}
        """The tensors that are coordinates of selected elements along one axis of the mask, or along all."""

    @property
    def operations(self) -> list[Operation]:
        return self.recorder.recording.operations

    def run(self, operations: Sequence[Operation], cut: int, outputs: Sequence[object]) -> Parts | set[Atom]:
        """Forward and backward, or the selections that stay."""
        nodes, later = self.recorder.nodes, 0
        with self.env.speculate(), self.recorder, enable_python_dispatcher(), replaced(), torch.no_grad():
            before = self.env.known
            for place, operation in enumerate(operations):
                if place == cut:
                    later = len(self.operations)
                touched = self.touched(operation)
                if not touched:
                    self.operations.append(operation)
                    continue
                try:
                    if len(touched) > 1:
                        return touched
                    selection = self.selections[next(iter(touched))]
                    with nodes.lays_out():
                        if operation.target in SELECTING and mask_of(operation) is selection.mask:
                            self.count(selection)
                        self.rewrite(Site(self, operation, selection))
                except Exception:
                    # torch's rules refuse arguments by errors of many kinds; the selection stays
                    return touched
                if self.env.known is not before:
                    return touched
            later = later if cut < len(operations) else len(self.operations)
        self.recorder.kinds.let_go_of_tensors()
        unread = self.unread(outputs)
        first, second = self.operations[:later], self.operations[later:]
        return [each for each in first if each not in unread], [each for each in second if each not in unread]

    def count(self, selection: Selection) -> None:
        """Count the selected elements as soon as the first of them is read."""
        if selection.count is None:
            selection.flat = self.tensor(selection.mask).flatten()
            selection.count = aten.sum.default(selection.flat)
            count = (selection.count.result,)
            selection.reading = Operation(aten._local_scalar_dense.default, count, {}, selection.number)
            self.operations.append(selection.reading)

    def tensor(self, result: Result) -> Traced:
        return tensor_of(self.kind(result), result)

    def kind(self, result: Result) -> Metadata:
        if result.metadata is None:
            raise NotMasked("a tensor of unknown dtype")
        return result.metadata

    def touched(self, operation: Operation) -> set[Atom]:
        """The selections whose elements or number an operator reads or gives."""
        values = flat((*operation.arguments, operation.output))
        return {atom for value in values for atom in atoms_of(value) if atom in self.selections}

    def unread(self, outputs: Sequence[object]) -> list[Operation]:
        """The operators that read how many elements are selected, where nothing needs it or another one reads it."""
        readings = {atom: each.reading for atom, each in self.selections.items() if each.reading is not None}
        others = [each for each in self.operations if each not in readings.values()]
        checked = {atom for check in self.program.runtime_asserts for atom in check.prop.symbols}
        numbers = [value for each in others for value in flat(each.arguments) if isinstance(value, Node)]
        used = checked.union(*[atoms_of(number) for number in (*numbers, *outputs)])
        told = set().union(*[atoms_of(each) for other in others for each in other.outputs if isinstance(each, Node)])
        return [reading for atom, reading in readings.items() if atom not in used or atom in told]


# ---------------------------------------------------------------------- one operator


@dataclass(frozen=True)
class Site:
    """An operator that is rewritten, with the queries of the rules about it."""

    rewriting: SelectionPass
    operation: Operation
    selection: Selection

    @property
    def given(self) -> dict[str, Argument]:
        """The operator's arguments by name, with defaults."""
        target = self.operation.target
        found = {each.name: each.default_value for each in target._schema.arguments if each.has_default_value()}
        return found | {each.name: value for each, value in bound(target, self.operation.args, self.operation.kwargs)}

    @property
    def tensors(self) -> dict[str, Result]:
        """Its arguments that are tensors, by name."""
        return {name: value for name, value in self.given.items() if isinstance(value, Result)}

    # ------------------------------------------------------------------ what is read

    def axis(self, value: object) -> int | None:
        """The axis of the selected elements; None for a tensor that has none.

        Raises:
            NotMasked: the number of selected elements is in its sizes in another way.
        """
        if not isinstance(value, Result) or self.selection.atom not in atoms_of(value):
            return None
        counting = [
            (axis, size.node)
            for axis, size in enumerate(self.rewriting.kind(value).sizes)
            if isinstance(size, torch.SymInt) and self.selection.atom in symbols_of(size.node.value)
        ]
        if len(counting) != 1 or counting[0][1] is not self.selection.number:
            raise NotMasked(str(value))
        return counting[0][0]

    def whole(self, value: Result) -> Traced:
        """The tensor that stands for one with selected elements; another one itself."""
        found = self.rewriting.whole.get(value)
        if found is None:
            if self.axis(value) is not None:
                raise NotMasked(str(value))
            return self.rewriting.tensor(value)
        return found

    def outside(self, value: Argument) -> Any:
        """An argument as torch takes it, all elements for selected ones."""
        if isinstance(value, list):
            return [self.length if each is self.selection.number else self.outside(each) for each in value]
        if isinstance(value, Node):
            return value.outside
        return self.whole(value) if isinstance(value, Result) else value

    @property
    def length(self) -> TorchValue:
        """The number of elements of the mask."""
        return self.mask(0).metadata.sizes[0]

    @property
    def mask_sizes(self) -> tuple[TorchValue, ...]:
        return self.rewriting.kind(self.selection.mask).sizes

    def mask(self, behind: int) -> Traced:
        """The mask with one axis, and with this many of one element behind it."""
        found = self.selection.flat
        assert found is not None
        for _ in range(behind):
            found = found.unsqueeze(-1)
        return found

    def sizes(self, result: Result) -> list[TorchValue]:
        """The sizes of the tensor that stands for this one."""
        sizes, axis = list(self.rewriting.kind(result).sizes), self.axis(result)
        return [self.length if place == axis else size for place, size in enumerate(sizes)]

    def filled(self, value: Result, fill: float, whole: Traced | None = None) -> Traced:
        """The tensor that stands for this one, or another `whole` one, with a number in all places that are not
        selected."""
        axis = self.axis(value)
        assert axis is not None
        whole = self.whole(value) if whole is None else whole
        number = torch.full((), fill, dtype=whole.dtype, device=whole.device)
        return torch.where(self.mask(len(self.rewriting.kind(value).sizes) - axis - 1), whole, number)

    def count(self, dtype: torch.dtype) -> Traced:
        """The number of selected elements."""
        assert self.selection.count is not None
        return self.selection.count.to(dtype)

    # ------------------------------------------------------------------ what is given

    def called(self, /, **changed: Any) -> Any:
        """The operator's result for its arguments, some of them changed."""
        declared, given = self.operation.target._schema.arguments, self.given
        known = {name: changed[name] if name in changed else self.outside(value) for name, value in given.items()}
        return self.operation.target(
            *[known[each.name] for each in declared if not each.kwarg_only],
            **{each.name: known[each.name] for each in declared if each.kwarg_only},
        )

    def gives(self, made: torch.Tensor, output: Result | None = None, like: Result | None = None) -> None:
        """Make a tensor the operator's result, or let it stand for one with selected elements.

        `like` has the result's layout, if the tensor may have another.

        Raises:
            NotMasked: it has another dtype or layout.
        """
        result = self.operation.output if output is None else output
        assert isinstance(made, Traced)
        if self.axis(result) is not None:
            self.rewriting.whole[result] = made
            return
        kind, operations = self.rewriting.kind(result), self.rewriting.operations
        if not self.is_alike(made.metadata, kind):
            if like is None or made.dtype is not kind.dtype:
                raise NotMasked(f"{self.operation.target}: {made.metadata} is laid out unlike {kind}")
            operations.append(Operation(aten.copy.default, (like, made.result), {}, result))
            return
        last = operations[-1]
        if any(each is made.result for each in last.outputs):
            operations[-1] = replace(last, output=substituted(last.output, {made.result: result}))
        else:
            operations.append(Operation(aten.clone.default, (made.result,), {}, result))

    def is_alike(self, one: Metadata, other: Metadata) -> bool:
        """Return True if two tensors have equal sizes, strides and dtypes."""
        if one.dtype is not other.dtype or one.device != other.device or len(one.sizes) != len(other.sizes):
            return False
        pairs = zip((*one.shape, *(one.shape.strides or ())), (*other.shape, *(other.shape.strides or ())))
        return all(a is b or self._holds(a == b) for a, b in pairs)

    def _holds(self, truth: Truth) -> bool:
        return truth if isinstance(truth, bool) else isinstance(self.rewriting.env.ask(truth), Always)
