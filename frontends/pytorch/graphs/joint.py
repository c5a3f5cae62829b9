"""The joint graph: forward and backward in one trace, split in two graphs that autograd runs.

    >>> import torch
    >>> from frontends.pytorch.graphs.joint import runner
    >>> from frontends.pytorch.tracing import trace
    >>> weight = torch.nn.Parameter(torch.randn(8, 4))
    >>> def f(x):
    ...     return torch.tanh(x @ weight)
    >>> variant = trace(f, (torch.randn(3, 8, requires_grad=True),), gradients=True)
    >>> run = runner(variant)
    >>> x = torch.randn(5, 8, requires_grad=True)
    >>> (y,) = run([x])
    >>> y.sum().backward()
    >>> expected = torch.autograd.grad(f(x).sum(), [x, weight])
    >>> torch.allclose(x.grad, expected[0]), torch.allclose(weight.grad, expected[1])
    (True, True)

The gradients of the outputs are symbolic tensors of the same kinds, autograd runs on symbolic tensors, and what it does
is recorded behind the program itself. So a guard that only the backward needs is a guard of the variant, checked
before the forward runs. The forward returns, beside the outputs, the tensors and sizes that the backward reads.

Gradients of gradients are not in the graph: asking for them is an error of autograd's that says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Final, NoReturn

import torch
from torch._C._dynamo.eval_frame import _FrameAction, _FrameExecStrategy, set_code_exec_strategy
from torch.autograd.function import FunctionCtx

from backends import eager
from frontends.pytorch.errors import eager_only
from frontends.pytorch.graphs.captured import Captured, Joint
from frontends.pytorch.graphs.graph import GraphBuilder, numbered, told_by, unused_removed
from frontends.pytorch.graphs.undefined_gradients import without
from frontends.pytorch.meta_rules.layouts import order_of
from frontends.pytorch.meta_rules.registry import packed
from frontends.pytorch.recording.operations import Operation, results_of
from frontends.pytorch.recording.recorder import Recorder
from frontends.pytorch.symbolic.metadata import Metadata
from frontends.pytorch.symbolic.node import Node
from frontends.pytorch.symbolic.tensor import Result, Traced, tensor_of
from frontends.pytorch.symbolic.values import symbols_of
from shapes.guards.guards import RuntimeAssert
from solver.terms.expr import Atom

NO_SECOND: Final = (
    b"a compiled function was differentiated twice, and its graph holds the first gradient only: differentiate inside"
    b" of it (torch.autograd.grad in the compiled function), or leave this call uncompiled"
)

MOST_BACKWARDS: Final = 8
"""Limit of specialized backwards, one per set of outputs without gradient; beyond it missing gradients are zeros."""

Runner = Callable[[Sequence[object]], Sequence[object]]
_is_any_autocast_enabled: Final = torch._C._is_any_autocast_enabled


@dataclass(frozen=True, slots=True)
class Parts:
    """Forward and backward as two calls, and what passes between them.

    Attributes:
        forward: from the inputs and numbers to the outputs that are tensors or numbers, each once, the tensors that the
            backward reads, and the sizes that it reads.
        backward: from those tensors, the gradients of the outputs, and those sizes, to the gradients of the leaves; may
            empty the list that it is given.
        saved: how many tensors the backward reads.
        without: the backward where some outputs have no gradient, by their places among those that could.
    """

    forward: Runner
    backward: Runner
    saved: int
    without: Callable[[frozenset[int]], Backward | None]


@dataclass(frozen=True, slots=True)
class Backward:
    """A backward that is given the gradients of these outputs, and not of others."""

    run: Runner
    given: tuple[int, ...]


def differentiate(recorder: Recorder, inputs: Sequence[Traced], values: Sequence[object]) -> Joint | None:
    """Record the backward of what the program returned; None where nothing in it has a gradient."""
    outputs: dict[Result, Traced] = {}
    for value in values:
        if isinstance(value, Traced) and value.requires_grad:
            outputs.setdefault(value.result, value)
    if not outputs:
        return None
    recording = recorder.recording
    leaves: list[tuple[Result, torch.Tensor]] = [(each.result, each) for each in inputs if each.requires_grad]
    for constant in recording.constants:
        assert constant.constant is not None
        if constant.constant.requires_grad:
            leaves.append((constant, constant.constant))
    if not leaves:
        eager_only("a tensor is returned whose gradient leads to nothing that the caller has", "detach it", None)
    kinds = [_kind_of_tangent(recorder, each.metadata) for each in outputs.values()]
    tangents = [tensor_of(kind, recording.result(kind)) for kind in kinds]
    recorder.backward = True
    try:
        hooks = _hooks_apart([each.constant for each, _ in leaves if each.constant is not None])
        # `backward` is called outside of autocast, though the program is called in it
        with hooks, torch._C._DisableAutocast():
            gradients = torch.autograd.grad(
                list(outputs.values()), [leaf for _, leaf in leaves], tangents, allow_unused=True
            )
    finally:
        recorder.backward = False
    # autograd must not go on to what came before a leaf that nothing here depends on
    reached = [(result, gradient) for (result, _), gradient in zip(leaves, gradients) if gradient is not None]
    return Joint(
        tuple(outputs),
        tuple([tangent.result for tangent in tangents]),
        tuple([result for result, _ in reached or leaves]),
        tuple([recorder.result_of(gradient) for _, gradient in reached]) or (None,) * len(leaves),
    )


@contextmanager
def _hooks_apart(parameters: Sequence[torch.Tensor]) -> Iterator[None]:
    """Without what parameters do with their gradients: it is done for those that the run gives."""
    hooks = [(each, each._backward_hooks) for each in parameters if each._backward_hooks]
    for parameter, _ in hooks:
        parameter._backward_hooks = None
    try:
        yield
    finally:
        for parameter, before in hooks:
            parameter._backward_hooks = before


def _kind_of_tangent(recorder: Recorder, output: Metadata) -> Metadata:
    """A gradient lies as its output does; where elements of that may share memory or leave gaps, it is packed."""
    order = order_of(recorder.env, output)
    if order is not None and order.dense:
        return recorder.kinds.like(output)
    return packed(recorder, output.shape, output.dtype, output.device)


class JointRunner:
    """Forward and backward of a variant as autograd runs them."""

    def __init__(self, program: Captured, joint: Joint, parts: Parts) -> None:
        self.saved = parts.saved
        self.run_forward = parts.forward
        self._whole = Backward(parts.backward, tuple(range(len(joint.tangents))))
        self._without = parts.without
        self._backwards: dict[frozenset[int], Backward] = {frozenset(): self._whole}
        results: dict[object, int] = {}
        returned = (*program.outputs, *program.bases)
        for output in returned:
            if isinstance(output, Result | Node):
                results.setdefault(output, len(results))
        self._outputs = [results[each] if isinstance(each, Result | Node) else None for each in returned]
        self._plain = [None if isinstance(each, Result | Node) else each for each in returned]
        self._detached = [
            isinstance(output, Result) and output in joint.differentiable and not wanted
            for output, wanted in zip(returned, (*program.with_gradient, *[True] * len(program.bases)))
        ]
        inputs = {each.result: place for place, each in enumerate(program.inputs)}
        self.given = [inputs.get(each) for each in results]
        """The outputs that are inputs, given back as they are."""
        self.differentiable = [isinstance(each, Result) and each in joint.differentiable for each in results]
        self.tangents = [
            (results[output], tangent.metadata.strides is output.metadata.strides)
            for output, tangent in zip(joint.differentiable, joint.tangents)
        ]
        """(output index, whether the tangent has the output's strides)."""
        self.parameters = [leaf.constant for leaf in joint.leaves if leaf.constant is not None]
        self.learned = [inputs[leaf] for leaf in joint.leaves if leaf.constant is None]
        """The inputs that have a gradient."""
        self._unreached = [
            place
            for place, given in enumerate(program.inputs)
            if given.requires_grad and place not in self.learned
        ]
        given = len(program.inputs) + len(program.numbers)
        self._gradient_places = [*self.learned, *range(given, given + len(self.parameters))]
        self.count = given + len(self.parameters)

    def __call__(self, tensors: Sequence[torch.Tensor]) -> list[object]:
        given_on = tensors
        if self._unreached:
            given_on = list(tensors)
            for place in self._unreached:
                given_on[place] = tensors[place].detach()
        outputs = _apply(self, *given_on, *self.parameters)
        found: list[object] = []
        for place, plain, detached in zip(self._outputs, self._plain, self._detached):
            if place is None:
                found.append(plain)
                continue
            given = self.given[place]
            value = outputs[place] if given is None else tensors[given]
            found.append(value.detach() if detached else value)
        return found

    def backward(self, absent: frozenset[int]) -> Backward:
        """The backward where these outputs, by their places in `tangents`, have no gradient."""
        found = self._backwards.get(absent)
        if found is None:
            if len(self._backwards) > MOST_BACKWARDS:
                return self._whole
            found = self._backwards[absent] = self._without(absent) or self._whole
        return found

    def run_backward(self, backward: Backward, given: list[object]):
        """The gradients of all tensors that went in, None where there is none, from the tensors that were saved, the
        gradients of the outputs, and sizes. `given` is consumed: each entry is dropped after its last use."""
        gradients: list[object] = [None] * self.count
        for place, gradient in zip(self._gradient_places, backward.run(given)):
            gradients[place] = gradient
        return gradients


class _JointFunction(torch.autograd.Function):
    """What autograd sees of a program."""

    @staticmethod
    def forward(ctx: FunctionCtx, runner: JointRunner, *tensors: torch.Tensor) -> tuple[object, ...]:
        inputs = tensors[: len(tensors) - len(runner.parameters)]
        values = runner.run_forward(inputs)
        count, saved = len(runner.given), runner.saved
        # a view of what else is in memory could not be written by who gets it
        outputs = [y.detach() if isinstance(y, torch.Tensor) and y._is_view() else y for y in values[:count]]
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*values[count : count + saved])
        ctx.runner = runner
        ctx.links = _links([tensors[place] for place in runner.learned])
        ctx.sizes = values[count + saved :]
        ctx.kinds = [
            (y.shape, y.stride() if is_alike else None, y.dtype, y.device)
            for y, is_alike in [(outputs[place], is_alike) for place, is_alike in runner.tangents]
        ]
        for place, given in enumerate(runner.given):
            if given is not None:
                outputs[place] = None
        ctx.mark_non_differentiable(
            *[
                output
                for output, wanted in zip(outputs, runner.differentiable)
                if not wanted and isinstance(output, torch.Tensor)
            ]
        )
        return tuple(outputs)

    @staticmethod
    def backward(ctx, *tangents: torch.Tensor | None) -> tuple[object, ...]:
        runner: JointRunner = ctx.runner
        with torch.no_grad(), torch._C._DisableAutocast() if _is_any_autocast_enabled() else nullcontext():
            come = [tangents[place] for place, _ in runner.tangents]
            backward = runner.backward(frozenset([place for place, each in enumerate(come) if each is None]))
            given = [_laid_out(come[place], *ctx.kinds[place]) for place in backward.given]
            given = [*ctx.saved_tensors, *given, *ctx.sizes]
            # unless the graph is to be kept, from here on only the list holds them
            ctx.maybe_clear_saved_tensors()
            gradients = runner.run_backward(backward, given)
        if torch.is_grad_enabled():
            gradients = _once(gradients, [*runner.parameters, *ctx.links])
        return None, *gradients


# between two graphs of torch.compile a program may call `backward`: Dynamo would trace how our kernels are called
set_code_exec_strategy(_JointFunction.backward.__code__, _FrameExecStrategy(_FrameAction.SKIP, _FrameAction.SKIP))


# Function.apply looks at each argument in Python for what a transform of functions left behind; where a transform is
# active, the call does not come here
_apply: Final = super(torch.autograd.Function, _JointFunction).apply


class _Link(torch.autograd.Function):
    """A tensor without elements that stands in autograd's graph behind others, and keeps none of their memory."""

    @staticmethod
    def forward(ctx: FunctionCtx, *tensors: torch.Tensor) -> torch.Tensor:
        return torch.empty(0)

    @staticmethod
    def backward(ctx: FunctionCtx, *gradients: torch.Tensor) -> NoReturn:
        raise RuntimeError(NO_SECOND.decode())


def _links(tensors: list[torch.Tensor]) -> list[torch.Tensor]:
    """Tensors from which autograd finds the way to all that these come from: leaves, which it keeps anyway, and what
    stands for the others."""
    made = [tensor for tensor in tensors if not tensor.is_leaf]
    if not made:
        return tensors
    with torch.enable_grad():
        return [*[tensor for tensor in tensors if tensor.is_leaf], _Link.apply(*made)]


def _once(gradients: Sequence[torch.Tensor | None], links: Sequence[torch.Tensor]) -> list[torch.Tensor | None]:
    """The gradients, with an error for whoever differentiates them; `links` say with respect to what that may be, as
    autograd leaves out what leads nowhere that was asked for."""
    tensors = [gradient for gradient in gradients if gradient is not None]
    refuse = torch._C._functions.DelayedError(NO_SECOND, len(tensors) + len(links))
    refused = refuse(*[tensor.detach().requires_grad_() for tensor in tensors], *links)
    marked = iter([refused] if isinstance(refused, torch.Tensor) else refused)
    return [None if gradient is None else next(marked) for gradient in gradients]


def _laid_out(
    tangent: torch.Tensor | None,
    shape: torch.Size,
    stride: tuple[int, ...] | None,
    dtype: torch.dtype,
    device: torch.device,
) -> torch.Tensor:
    """A gradient with the strides with which the backward was traced, packed if there are none, and with values that
    are in memory as they are; zeros where nobody gave one."""
    if stride is None:
        zeros = tangent is None
        return torch.zeros(shape, dtype=dtype, device=device) if zeros else tangent.resolve_neg().contiguous()
    if tangent is None:
        return torch.empty_strided(shape, stride, dtype=dtype, device=device).zero_()
    if tangent.stride() == stride and not tangent.is_neg():
        return tangent
    return torch.empty_strided(shape, stride, dtype=dtype, device=device).copy_(tangent)


def needed(backward: Sequence[Operation], joint: Joint) -> tuple[list[Result], list[Atom]]:
    """The tensors that the backward reads but does not make, and the symbols in its sizes."""
    made: set[Result] = set(joint.tangents)
    saved: dict[Result, None] = {}
    symbols: dict[Atom, None] = {}

    def read(value: object) -> None:
        if isinstance(value, Result):
            if value not in made:
                saved[value] = None
        elif isinstance(value, Node):
            for atom in symbols_of(value.value):
                symbols[atom] = None
        elif isinstance(value, list | tuple):
            for item in value:
                read(item)

    for operation in backward:
        read(operation.arguments)
        made.update([output for output in results_of(operation.output) if output not in saved])
    for gradient in joint.gradients:
        read(gradient)
    return list(saved), list(symbols)


def told_later(
    program: Captured, forward: Sequence[Operation], backward: Sequence[Operation]
) -> tuple[frozenset[Atom], list[RuntimeAssert]]:
    """The numbers and sizes that only the backward tells, such as how many elements of the gradient are under a mask,
    and the checks that need one of them."""
    given = [program.env.names[symbol].symbols for each in program.inputs for symbol, _ in each.symbols]
    later = frozenset(told_by(backward).difference(told_by(forward), program.number_atoms, *given))
    return later, [check for check in program.runtime_asserts if not later.isdisjoint(check.prop.symbols)]


def checkable(
    checks: Sequence[RuntimeAssert], later: Set[Atom], operations: Sequence[Operation]
) -> list[RuntimeAssert]:
    """Of these checks of a backward, those that its operators, if only some of them are run, tell all numbers of."""
    known = told_by(operations)
    return [check for check in checks if known.issuperset(later.intersection(check.prop.symbols))]


def runner(program: Captured, parts: Parts | None = None) -> Runner:
    """Two parts, if none are given then the graphs as they are, as one call that autograd differentiates: tensors in,
    flat outputs out."""
    assert program.joint is not None
    return JointRunner(program, program.joint, graphs(program, program.joint) if parts is None else parts)


def graphs(program: Captured, joint: Joint) -> Parts:
    """The recording cut in two graphs, which run as they are."""
    recording = program.recording
    forward = [operation for operation in recording.operations if not operation.backward]
    backward = [operation for operation in recording.operations if operation.backward]
    later, deferred = told_later(program, forward, backward)
    checked = [check.prop.symbols for check in deferred]
    backward = unused_removed(backward, [*[each for each in joint.gradients if each is not None], *checked])
    saved, symbols = needed(backward, joint)
    atoms = [*symbols, *[atom for atoms in checked for atom in atoms]]
    symbols = [atom for atom in dict.fromkeys(atoms) if atom not in later]
    returned = (*program.outputs, *program.bases)
    results = list(dict.fromkeys([each for each in returned if isinstance(each, Result | Node)]))
    first = [each for each in program.runtime_asserts if each not in deferred]
    graph = program.graph_of(forward, [*results, *saved], symbols, first)

    def run(operations: Sequence[Operation], gradients: Sequence[Result | None], tangents: Sequence[Result]) -> Runner:
        checks = checkable(deferred, later, operations)
        return eager.runner(_backward_graph(operations, gradients, tangents, saved, symbols, checks))

    def backward_without(absent: frozenset[int]) -> Backward | None:
        left = without(absent, backward, joint.gradients, joint.tangents)
        if left is None:
            return None
        tangents = [joint.tangents[place] for place in left.given]
        return Backward(run(left.operations, left.gradients, tangents), left.given)

    whole = run(backward, joint.gradients, joint.tangents)
    return Parts(eager.runner(graph), whole, len(saved), backward_without)


def _backward_graph(
    operations: Sequence[Operation],
    gradients: Sequence[Result | None],
    tangents: Sequence[Result],
    saved: Sequence[Result],
    symbols: Sequence[Atom],
    checks: Sequence[RuntimeAssert],
) -> torch.fx.GraphModule:
    builder = GraphBuilder(checks)
    builder.program([*numbered("saved", saved), *numbered("tangent", tangents)], symbols, operations)
    return builder.module([None if each is None else builder.argument(each) for each in gradients])


__all__ = ["JointRunner", "Parts", "checkable", "differentiate", "graphs", "needed", "runner", "told_later"]
