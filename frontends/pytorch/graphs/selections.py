"""Selections by masks become computations on all elements: no size is left that data decides.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> from frontends.pytorch.graphs.functional import functional
    >>> variant = trace(lambda x: x[x > 0].sum(), (torch.randn(3, 4),))
    >>> [str(node.target) for node in functional(variant).graph.graph.nodes if node.op == "call_function"]
    ['aten.gt.Scalar', 'aten.full.default', 'aten.where.self', 'aten.sum.default']

`x[mask]` has an axis with one element for each True. A tensor with the axes of the mask instead stands for each tensor
with such an axis, and only its elements under the mask mean something: pointwise operators compute all elements, a
reduction over the axis replaces the others by its identity first, a masked assignment selects by `where`. The rules are
in `masked_operators` and `masked_reductions` beside this file. A selection stays if it is returned, or if an operator
without such a rule reads it.

The number of selected elements is a sum. Where a number or a check of the program needs it, the sum is read by one
`item`, with the symbol that was the size.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import torch
from torch._dispatch.python import enable_python_dispatcher

from frontends.pytorch.graphs.captured import Captured
from frontends.pytorch.graphs.graph import is_symbol
from frontends.pytorch.graphs.masked_operators import rewritten
from frontends.pytorch.graphs.selection import Rewriting, Site, atoms_of
from frontends.pytorch.recording.operations import Operation, flat, results_of
from frontends.pytorch.recording.torch_internals import replaced
from frontends.pytorch.symbolic.node import Node
from frontends.pytorch.symbolic.tensor import Result
from solver.terms.expr import Atom

# its rules register themselves
importlib.import_module("frontends.pytorch.graphs.masked_reductions")

aten: Final = torch.ops.aten
SELECTING: Final = (aten.index.Tensor, aten.masked_select.default, aten.nonzero.default)


@dataclass(frozen=True)
class Rewritten:
    """A functional program without the selections that have rules.

    Attributes:
        cut: the number of operators of the forward, which come first.
    """

    operations: list[Operation]
    cut: int


def without_selections(
    program: Captured, operations: Sequence[Operation], cut: int, outputs: Sequence[object]
) -> Rewritten:
    """Rewrite the selections of a functional program, whose first `cut` operators are its forward."""
    unchanged = Rewritten(list(operations), cut)
    masks = dict(selections(program, operations))
    kept = {atom for atom in masks for each in results_of(outputs) if atom in atoms_of(each)}
    while True:
        wanted = {atom: mask for atom, mask in masks.items() if atom not in kept}
        if not wanted:
            return unchanged
        found = SelectionPass(program, wanted).run(operations, cut, outputs)
        if isinstance(found, Rewritten):
            return found
        kept |= found


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


class SelectionPass(Rewriting):
    """Rewrites a program in which these symbols count selected elements."""

    def run(self, operations: Sequence[Operation], cut: int, outputs: Sequence[object]) -> Rewritten | set[Atom]:
        """The program, or the selections that stay."""
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
                        rewritten(Site(self, operation, selection))
                except Exception:
                    # torch's rules refuse arguments by errors of many kinds; the selection stays
                    return touched
                if self.env.known is not before:
                    return touched
            later = later if cut < len(operations) else len(self.operations)
        self.recorder.kinds.let_go_of_tensors()
        unread = self.unread(outputs)
        forward, backward = [
            [each for each in part if each not in unread] for part in (self.operations[:later], self.operations[later:])
        ]
        return Rewritten([*forward, *backward], len(forward))

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
