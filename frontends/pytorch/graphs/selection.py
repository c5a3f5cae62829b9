"""One selection by a mask, and an operator that reads its elements while it is rewritten.

`frontends.pytorch.graphs.selections` rewrites programs, with the rules in `masked_operators` and `masked_reductions`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

import torch

from frontends.pytorch.graphs.captured import Captured
from frontends.pytorch.recording.operations import Argument, Operation, bound, replaced
from frontends.pytorch.recording.recorder import Recorder
from frontends.pytorch.symbolic.metadata import Metadata
from frontends.pytorch.symbolic.node import Node, TorchValue
from frontends.pytorch.symbolic.tensor import Result, Traced, tensor_of
from frontends.pytorch.symbolic.values import symbols_of
from shapes.symbolic.choices import Truth
from solver.decide.verdict import Always
from solver.terms.expr import Atom

aten: Final = torch.ops.aten


class NotMasked(Exception):
    """An operator has no rule for a selection."""


@dataclass(eq=False)
class Selection:
    """The elements under a mask.

    Attributes:
        number: the symbol of how many there are, as a node.
        count: the same as a tensor.
        reading: the operator that reads it.
    """

    atom: Atom
    number: Node
    mask: Result
    count: Traced | None = None
    reading: Operation | None = None


def atoms_of(value: object) -> set[Atom]:
    """The symbols in the sizes of a tensor, or of a number."""
    if isinstance(value, Node):
        return set() if value.is_plain else set(symbols_of(value.value))
    sizes = value.metadata.sizes if isinstance(value, Result) and value.metadata is not None else ()
    return {atom for size in sizes if isinstance(size, torch.SymInt) for atom in symbols_of(size.node.value)}


class Rewriting:
    """A program while it is rewritten, in which these symbols count selected elements.

    Attributes:
        recorder: records the operators of the new program.
    """

    def __init__(self, program: Captured, masks: dict[Atom, tuple[Result, Node]]) -> None:
        self.env = program.env
        self.program = program
        self.recorder: Final = Recorder(program.env, program.kinds.nodes, program.kinds)
        self.selections = {atom: Selection(atom, number, mask) for atom, (mask, number) in masks.items()}
        self.whole: dict[Result, Traced] = {}
        """For each tensor with an axis of selected elements the one that stands for it."""
        self.coordinates: dict[Result, int | None] = {}
        """The tensors that are coordinates of selected elements along one axis of the mask, or along all."""

    @property
    def operations(self) -> list[Operation]:
        return self.recorder.recording.operations

    def count(self, selection: Selection) -> None:
        """Count the selected elements as soon as the first of them is read."""
        if selection.count is None:
            selection.count = aten.sum.default(self.tensor(selection.mask))
            count = (selection.count.result,)
            selection.reading = Operation(aten._local_scalar_dense.default, count, {}, selection.number)
            self.operations.append(selection.reading)

    def tensor(self, result: Result) -> Traced:
        return tensor_of(self.kind(result), result)

    def kind(self, result: Result) -> Metadata:
        if result.metadata is None:
            raise NotMasked("a tensor of unknown dtype")
        return result.metadata


@dataclass(frozen=True)
class Site:
    """An operator that is rewritten, with the queries of the rules about it."""

    rewriting: Rewriting
    operation: Operation
    selection: Selection

    @property
    def given(self) -> dict[str, Argument]:
        """The operator's arguments by name, with defaults."""
        target = self.operation.target
        found = {each.name: each.default_value for each in target._schema.arguments if each.has_default_value()}
        return found | {each.name: value for each, value in bound(target, self.operation.args, self.operation.kwargs)}

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
            return [self.outside(each) for each in value]
        if isinstance(value, Node):
            return value.outside
        return self.whole(value) if isinstance(value, Result) else value

    @property
    def rank(self) -> int:
        """The number of axes of the mask."""
        return len(self.rewriting.kind(self.selection.mask).sizes)

    def sizes(self, result: Result) -> list[TorchValue]:
        """The sizes of the tensor that stands for this one."""
        sizes, axis = list(self.rewriting.kind(result).sizes), self.axis(result)
        if axis is None:
            return sizes
        return [*sizes[:axis], *self.rewriting.kind(self.selection.mask).sizes, *sizes[axis + 1 :]]

    def mask(self, behind: int) -> Traced:
        """The mask with this many axes of one element behind its own."""
        found = self.rewriting.tensor(self.selection.mask)
        for _ in range(behind):
            found = found.unsqueeze(-1)
        return found

    def filled(self, value: Result, fill: float) -> Traced:
        """The tensor that stands for this one, with a number in all places that are not selected."""
        axis = self.axis(value)
        assert axis is not None
        whole = self.whole(value)
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
            operations[-1] = replace(last, output=replaced(last.output, {made.result: result}))
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
