"""Path-sensitive recording of branches: each under its own assumptions, joined afterwards.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> def program(x):
    ...     return torch.cond(x.shape[0] > 4, lambda: x[: x.shape[0] // 2], lambda: x * 2)
    >>> graph = trace(program, (torch.randn(6),)).graph
    >>> [node.name for node in graph.branch_0.graph.nodes if node.op == "placeholder"]
    ['operand_0', 'x_size0']

Inside of a branch, outer tensors are placeholders, which a function mode substitutes; so closed-over tensors are lifted
like operands. The branch's facts are rolled back at its end; a fork keeps them for the join.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import TreeSpec, tree_flatten, tree_map

from frontends.pytorch.errors import unsupported
from frontends.pytorch.recording.operations import Branch, Operation, bound, flat, is_written, listed, results_of
from frontends.pytorch.recording.recorder import Recorder
from frontends.pytorch.source_location import origin
from frontends.pytorch.symbolic.function_mode import Arguments, Function, Keywords
from frontends.pytorch.symbolic.node import Node, value_of
from frontends.pytorch.symbolic.tensor import Result, Traced, tensor_of
from frontends.pytorch.symbolic.values import symbols_of
from shapes.env import ShapeEnv
from shapes.environment.events import Guarded, Specialized, within
from shapes.origin import Origin
from shapes.symbolic.choices import Int
from shapes.symbolic.numbers import SymBool, SymInt
from solver.decide.verdict import Always
from solver.terms.expr import Atom, Expr
from solver.terms.prop import Prop

if TYPE_CHECKING:
    from solver.proofs.fact import Fact

aten: Final = torch.ops.aten


class Substitution(TorchFunctionMode):
    """A function mode that replaces outer tensors by a branch's placeholders."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.outer: dict[int, torch.Tensor] = {}
        self.inner: dict[int, Traced] = {}
        self.placeholders: set[Result] = set()
        self._start = recorder.recording.count
        # not the stack of modes, which torch clears during differentiation
        self._enclosing: Substitution | None = recorder.branches[-1] if recorder.branches else None

    def __enter__(self) -> Substitution:
        super().__enter__()
        self.recorder.branches.append(self)
        return self

    def __exit__(self, *error: object) -> None:
        self.recorder.branches.pop()
        super().__exit__(*error)

    def of(self, tensor: torch.Tensor) -> torch.Tensor:
        """The branch's substitute for a tensor."""
        if isinstance(tensor, Traced) and getattr(tensor, "result", None) is None:
            return tensor # the exemplar of some metadata
        around = self._enclosing
        if around is not None:
            tensor = around.of(tensor)
        if isinstance(tensor, Traced) and tensor.result.index >= self._start:
            if around is None or tensor.result not in around.placeholders:
                return tensor
        found = self.inner.get(id(tensor))
        if found is None:
            with torch._C.DisableTorchFunction():
                kind = self.recorder.lift(tensor).metadata
                # new metadata for the branch: answers cached on it may depend on the branch's facts
                metadata = self.recorder.kinds.of(kind.sizes, kind.strides, kind.offset, kind.dtype, kind.device)
                result = self.recorder.recording.result(metadata)
                found = self.inner[id(tensor)] = tensor_of(metadata, result)
                self.outer[id(tensor)] = tensor
                self.placeholders.add(result)
                if tensor.requires_grad:
                    found.requires_grad_(True)
        return found

    def __torch_function__(
        self, func: Function, types: object, args: Arguments = (), kwargs: Keywords | None = None
    ) -> Any:
        args, kwargs = tree_map(
            lambda value: self.of(value) if isinstance(value, torch.Tensor) else value, (args, kwargs or {})
        )
        return func(*args, **kwargs)


@dataclass(slots=True)
class Way:
    """One recorded branch.

    Attributes:
        outer: the outer tensors that it uses, by identity.
        inner: their placeholders in the branch.
        known: a fork of the environment at the branch's end.
        guards: the branch's guards on inputs.
    """

    branch: Branch
    outer: dict[int, torch.Tensor]
    inner: dict[int, Traced]
    values: list[object]
    structure: TreeSpec
    known: ShapeEnv
    guards: list[Fact]


Ways = tuple[Way, Way]


class Choice:
    """One predicate, with a branch recorded under it and one under its negation."""

    def __init__(self, recorder: Recorder, predicate: Any) -> None:
        self.recorder = recorder
        around = recorder.branches[-1] if recorder.branches else None
        # a function mode does not see the operator's operands
        self.predicate = around.of(predicate) if around and isinstance(predicate, torch.Tensor) else predicate

    def recorded(self, then: Callable[[], object], otherwise: Callable[[], object]) -> Ways:
        """Record both branches separately."""
        return self._way(then, True), self._way(otherwise, False)

    def _under(self, side: bool) -> SymBool | None:
        """Assume the predicate in a branch, if it is about sizes."""
        if not isinstance(self.predicate, torch.SymBool):
            return None
        truth: SymBool = value_of(self.predicate)
        return truth if side else truth.negated()

    def _way(self, function: Callable[[], object], side: bool) -> Way:
        recorder, env = self.recorder, self.recorder.env
        condition = self._under(side)
        with recorder.apart() as operations:
            checked = len(env.runtime_asserts())
            with nullcontext() if condition is None else env.hypothesis(condition):
                start = len(env.events)
                with Substitution(recorder) as substitution:
                    values, structure = tree_flatten(function())
                values = [substitution.of(value) if isinstance(value, torch.Tensor) else value for value in values]
                known = env.fork()
                committed = [event for event in env.events[start:] if isinstance(event, Guarded | Specialized)]
                checks = env.runtime_asserts()[checked:]
        shared = _sharing(operations, [each.result for each in substitution.inner.values()])
        branch = Branch([], [], operations, [_recorded(value) for value in values], checks)
        for place, output in enumerate(branch.outputs):
            if output in shared:
                self._lay(branch, place)
        guards = [event.fact for event in committed]
        return Way(branch, substitution.outer, substitution.inner, values, structure, known, guards)

    def _lay(self, branch: Branch, place: int) -> None:
        """Copy an output of a branch to new contiguous memory."""
        result = self.recorder.recording.result(None)
        arguments = {"memory_format": torch.contiguous_format}
        branch.operations.append(Operation(aten.clone.default, (branch.outputs[place],), arguments, result))
        branch.outputs[place] = result

    # ------------------------------------------------------------------ joining

    def joined(self, ways: Ways) -> list[object]:
        """Record the operator, and return its outputs."""
        env = self.recorder.env
        for way in ways:
            for fact in way.guards:
                with env.at(fact.origin if isinstance(fact.origin, Origin) else None):
                    env.guard(SymBool(env, within(fact), env.interner.true))
        outputs = [self._output(place, ways) for place in range(len(ways[0].values))]
        given = [place for place, output in enumerate(outputs) if isinstance(output, Traced | torch.SymInt)]
        for way in ways:
            way.branch.outputs = [way.branch.outputs[place] for place in given]
        results = [_recorded(outputs[place]) for place in given]
        self._record(ways, results)
        return outputs

    def _output(self, place: int, ways: Ways) -> object:
        """The join of the branches' outputs at one index."""
        one, other = ways[0].values[place], ways[1].values[place]
        if isinstance(one, Traced) and isinstance(other, Traced):
            return self._tensor(place, ways, one, other)
        if all(isinstance(each, int | torch.SymInt) and not isinstance(each, bool) for each in (one, other)):
            size = self._size(ways, value_of(one), value_of(other), None)
            return self.recorder.nodes.wrap(size)
        if type(one) is type(other) and not isinstance(one, torch.Tensor) and one == other:
            return one
        what = f"the branches of torch.cond return {_shown(one)} and {_shown(other)} at place {place}"
        unsupported(what, "return tensors or integers of the same kind from both")

    def _tensor(self, place: int, ways: Ways, one: Traced, other: Traced) -> Traced:
        kinds = self.recorder.kinds
        first, second = one.metadata, other.metadata
        if (first.dtype, first.device, len(first.sizes)) != (second.dtype, second.device, len(second.sizes)):
            what = f"the branches of torch.cond return {first} and {second} at place {place}"
            unsupported(what, "return the same dtype, device and number of axes from both")
        if first.key == second.key and all(self._is_outside(size) for size in (*first.sizes, *first.strides)):
            metadata = kinds.of(first.sizes, first.strides, first.offset, first.dtype, first.device)
        else:
            sizes = [self._size(ways, value_of(a), value_of(b), 0) for a, b in zip(first.sizes, second.sizes)]
            metadata = kinds.laid(sizes, None, 0, first.dtype, first.device)
            for way in ways:
                self._lay(way.branch, place)
        return tensor_of(metadata, self.recorder.recording.result(metadata))

    def _is_outside(self, size: object) -> bool:
        return isinstance(size, int) or all(atom in self.recorder.env.symbols for atom in symbols_of(value_of(size)))

    def _size(self, ways: Ways, one: Int, other: Int, least: int | None) -> Int:
        """The join of two sizes: a symbol if they differ."""
        env = self.recorder.env
        for size in (one, other):
            if self._is_outside(size) and all(_equal(way.known, size, each) for way, each in zip(ways, (one, other))):
                return size
        return env.unbacked(None, least)

    def _record(self, ways: Ways, results: list[object]) -> None:
        recorder = self.recorder
        outer = {**ways[0].outer, **ways[1].outer}
        numbers: dict[Atom, None] = {}
        for way in ways:
            numbers.update(dict.fromkeys(_symbols(recorder.env, way.branch)))
        for way in ways:
            way.branch.placeholders = [
                way.inner[key].result if key in way.inner else recorder.recording.result(None) for key in outer
            ]
            way.branch.numbers = list(numbers)
        predicate = self.predicate
        condition = recorder.result_of(predicate) if isinstance(predicate, torch.Tensor) else predicate.node
        true = recorder.env.interner.true
        operands = [
            *[recorder.result_of(tensor) for tensor in outer.values()],
            *[recorder.nodes.node(SymInt(recorder.env, atom.expr, true)) for atom in numbers],
        ]
        recorder.recording.operations.append(
            Operation(
                torch.ops.higher_order.cond,
                (condition, ways[0].branch, ways[1].branch, operands),
                {},
                results,
                recorder.backward,
            )
        )


def _sharing(operations: Sequence[Operation], placeholders: Sequence[Result]) -> set[Result]:
    """The results that alias an outer tensor.

    Raises:
        Unsupported: one of them is mutated.
    """
    shared = set(placeholders)
    for operation in operations:
        target = operation.target
        if not isinstance(target, torch._ops.OpOverload):
            continue
        for argument, value in bound(target, operation.args, operation.kwargs):
            if argument.alias_info is None:
                continue
            touched = [each for each in listed(value) if each in shared]
            if touched and is_written(argument):
                what = f"a branch of torch.cond changes a tensor from outside in place ({target._schema.name})"
                fix = "compute a new one in the branch, return it, and copy it outside"
                unsupported(what, fix, operation.origin or origin())
            if touched:
                shared.update(results_of(operation.output))
    return shared


def _symbols(env: ShapeEnv, branch: Branch) -> Iterator[Atom]:
    """The outer symbols that a branch reads."""

    for value in flat([*[operation.arguments for operation in branch.operations], branch.outputs]):
        if isinstance(value, Node) and not value.is_plain:
            yield from [atom for atom in symbols_of(value.value) if atom in env.symbols]
    for check in branch.checks:
        yield from [atom for atom in sorted(check.prop.symbols, key=lambda atom: atom.serial) if atom in env.symbols]


def equality(env: ShapeEnv, one: Int, other: Int) -> Prop:
    def expr(value: Int) -> Expr:
        return value.expr if isinstance(value, SymInt) else env.interner.constant(value)

    return env.interner.eq(expr(one), expr(other))


def _equal(env: ShapeEnv, one: Int, other: Int) -> bool:
    """Return True if an environment proves two sizes equal."""
    return isinstance(env.decide(equality(env, one, other), env.interner.true, "default"), Always)


def _recorded(value: object) -> object:
    """The graph value of an operator's output."""
    return value.result if isinstance(value, Traced) else value.node if isinstance(value, torch.SymInt) else value


def _shown(value: object) -> str:
    return str(value.metadata) if isinstance(value, Traced) else repr(value)
