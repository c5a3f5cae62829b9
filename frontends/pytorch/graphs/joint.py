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

The tangents are symbolic tensors with the outputs' metadata; autograd runs on them, and its operators are recorded
after the program's. So a guard that only the backward needs is a guard of the variant, checked before the forward runs.
Besides the outputs, the forward returns the tensors and sizes that the backward reads.

Double backward is not supported: autograd raises an error that says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, NoReturn

import torch
from torch._C._dynamo.eval_frame import _FrameAction, _FrameExecStrategy, set_code_exec_strategy
from torch.autograd.function import FunctionCtx

from backends import eager
from frontends.pytorch.errors import unsupported
from frontends.pytorch.graphs.captured import Captured, Joint
from frontends.pytorch.graphs.form import Form
from frontends.pytorch.graphs.split import Split, recorded
from frontends.pytorch.meta_rules.registry import packed
from frontends.pytorch.recording.recorder import Recorder
from frontends.pytorch.symbolic.metadata import Metadata
from frontends.pytorch.symbolic.node import Node
from frontends.pytorch.symbolic.tensor import Result, Traced, tensor_of
from shapes.rules.memory_order import order_of

NO_SECOND: Final = (
    b"a compiled function was differentiated twice, and its graph holds the first gradient only: differentiate inside"
    b" of it (torch.autograd.grad in the compiled function), or leave this call uncompiled"
)

NOT_IMPLEMENTED: Final = "torch::autograd::NotImplemented"
"""Autograd's node of an operator without a derivative."""
MOST_BACKWARDS: Final = 8
"""Limit of specialized backwards, one per set of outputs without gradient; beyond it missing gradients are zeros."""

Runner = Callable[[Sequence[object]], Sequence[object]]
_is_any_autocast_enabled: Final = torch._C._is_any_autocast_enabled


@dataclass(frozen=True, slots=True)
class Backward:
    """A backward that takes the gradients of these outputs only."""

    run: Runner
    given: tuple[int, ...]


def differentiate(recorder: Recorder, inputs: Sequence[Traced], values: Sequence[object]) -> Joint | None:
    """Record the backward of the program's results; None if none requires a gradient."""
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
        unsupported("a tensor is returned whose gradient reaches no tensor of the caller", "detach it", None)
    kinds = [_kind_of_tangent(recorder, each.metadata) for each in outputs.values()]
    tangents = [tensor_of(kind, recording.result(kind)) for kind in kinds]
    roots = list(outputs.values())
    if has_missing_derivative(roots):
        unsupported("an operator without a derivative computes a result that requires one", "detach its argument", None)
    recorder.backward = True
    try:
        hooks = _hooks_apart([each.constant for each, _ in leaves if each.constant is not None])
        # `backward` runs outside of autocast, even if the program runs inside
        with hooks, torch._C._DisableAutocast():
            gradients = torch.autograd.grad(roots, [leaf for _, leaf in leaves], tangents, allow_unused=True)
    finally:
        recorder.backward = False
    # without leaves on which nothing depends, so that autograd does not continue to their history
    pairs = [(result, each) for (result, _), each in zip(leaves, gradients) if each is not None]
    reached = pairs or [(result, None) for result, _ in leaves]
    return Joint(
        tuple(outputs),
        tuple([tangent.result for tangent in tangents]),
        tuple([result for result, _ in reached]),
        tuple([None if each is None else recorder.result_of(each) for _, each in reached]),
    )


def has_missing_derivative(outputs: Sequence[torch.Tensor]) -> bool:
    """Return True if an operator without a derivative is in the history of these: a node that raises stands for it."""
    found: set[Any] = set()
    waiting: list[Any] = [each.grad_fn for each in outputs]
    while waiting:
        node = waiting.pop()
        if node is not None and node not in found:
            found.add(node)
            waiting += [each for each, _ in node.next_functions]
    return any(node.name() == NOT_IMPLEMENTED for node in found)


@contextmanager
def _hooks_apart(parameters: Sequence[torch.Tensor]) -> Iterator[None]:
    """Suspend the parameters' gradient hooks: they run for the gradients of the run."""
    hooks = [(each, each._backward_hooks) for each in parameters if each._backward_hooks]
    for parameter, _ in hooks:
        parameter._backward_hooks = None
    try:
        yield
    finally:
        for parameter, before in hooks:
            parameter._backward_hooks = before


def _kind_of_tangent(recorder: Recorder, output: Metadata) -> Metadata:
    """The metadata of a tangent: its output's strides, or contiguous if the output may overlap itself or have gaps."""
    order = order_of(recorder.env, output.shape)
    if order is not None and order.dense:
        return recorder.kinds.laid(output.shape, output.shape.strides, 0, output.dtype, output.device)
    return packed(recorder, output.shape, output.dtype, output.device)


class JointRunner:
    """Runs forward and backward of a variant under autograd.

    `forward` maps inputs and numbers to the forward's outputs. `compiled` gives a call of a backward, which may empty
    its argument list, or None for one that cannot be compiled.
    """

    def __init__(
        self, program: Captured, split: Split, forward: Runner, compiled: Callable[[Form], Runner | None]
    ) -> None:
        joint, whole = program.joint, compiled(split.backward)
        assert joint is not None and whole is not None
        self.saved = len(split.saved)
        self.run_forward = forward
        self._split = split
        self._compiled = compiled
        self._whole = Backward(whole, tuple(range(len(joint.tangents))))
        self._backwards: dict[frozenset[int], Backward] = {frozenset(): self._whole}
        results = {each: place for place, each in enumerate(program.results)}
        returned = (*program.outputs, *program.bases)
        self._outputs = [results[each] if isinstance(each, Result | Node) else None for each in returned]
        self._plain = [None if isinstance(each, Result | Node) else each for each in returned]
        self._detached = [
            isinstance(output, Result) and output in joint.differentiable and not wanted
            for output, wanted in zip(returned, (*program.with_gradient, *[True] * len(program.bases)))
        ]
        inputs = {each.result: place for place, each in enumerate(program.inputs)}
        self.given = [inputs.get(each) if isinstance(each, Result) else None for each in results]
        """The outputs that are inputs."""
        self.differentiable = [isinstance(each, Result) and each in joint.differentiable for each in results]
        self.tangents = [
            (results[output], kind is not None and given is not None and given.strides is kind.strides)
            for output, tangent in zip(joint.differentiable, joint.tangents)
            for kind, given in [(output.metadata, tangent.metadata)]
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
        self.gradient_places = [*self.learned, *range(given, given + len(self.parameters))]
        self.count = given + len(self.parameters)

    def __call__(self, tensors: Sequence[torch.Tensor]) -> list[object]:
        given_on = tensors
        if self._unreached:
            given_on = list(tensors)
            for place in self._unreached:
                given_on[place] = tensors[place].detach()
        outputs = _apply(self, *given_on, *self.parameters)
        found: list[object] = []
        for index, plain, detached in zip(self._outputs, self._plain, self._detached):
            if index is None:
                found.append(plain)
                continue
            given = self.given[index]
            value = outputs[index] if given is None else tensors[given]
            found.append(value.detach() if detached else value)
        return found

    def backward(self, undefined: frozenset[int]) -> Backward:
        """The backward for undefined gradients of these outputs, by index in `tangents`."""
        found = self._backwards.get(undefined)
        if found is None:
            if len(self._backwards) > MOST_BACKWARDS:
                return self._whole
            left = self._split.without(undefined)
            run = None if left is None else self._compiled(left[0])
            found = self._whole if left is None or run is None else Backward(run, left[1])
            self._backwards[undefined] = found
        return found


class _JointFunction(torch.autograd.Function):
    """The autograd function of a program."""

    @staticmethod
    def forward(ctx: FunctionCtx, runner: JointRunner, *tensors: torch.Tensor) -> tuple[object, ...]:
        inputs = tensors[: len(tensors) - len(runner.parameters)]
        values = runner.run_forward(inputs)
        count, saved = len(runner.given), runner.saved
        # the caller could not write to a view of other memory
        outputs: list[Any] = [y.detach() if isinstance(y, torch.Tensor) and y._is_view() else y for y in values[:count]]
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
        plain = [output for output, wanted in zip(outputs, runner.differentiable) if not wanted]
        if plain:
            ctx.mark_non_differentiable(*[output for output in plain if isinstance(output, torch.Tensor)])
        return tuple(outputs)

    @staticmethod
    def backward(ctx: FunctionCtx, *tangents: torch.Tensor | None) -> tuple[object, ...]:
        is_followed = torch.is_grad_enabled()
        if is_followed or _is_any_autocast_enabled():
            with torch.no_grad(), torch._C._DisableAutocast():
                gradients = _gradients(ctx, tangents)
        else:
            gradients = _gradients(ctx, tangents)
        if is_followed:
            gradients = _once(gradients, [*ctx.runner.parameters, *ctx.links])
        return None, *gradients


def _gradients(ctx: FunctionCtx, tangents: Sequence[torch.Tensor | None]) -> list[Any]:
    """The gradients of all tensors that the autograd function of a program was given."""
    runner: JointRunner = ctx.runner
    come = [tangents[place] for place, _ in runner.tangents]
    backward = runner.backward(frozenset([place for place, each in enumerate(come) if each is None]))
    given = [_laid_out(come[place], *ctx.kinds[place]) for place in backward.given]
    given = [*ctx.saved_tensors, *given, *ctx.sizes]
    # unless the graph is retained, only the list references them from here on
    ctx.maybe_clear_saved_tensors()
    gradients: list[object] = [None] * runner.count
    for place, gradient in zip(runner.gradient_places, backward.run(given)):
        gradients[place] = gradient
    return gradients


# between two graphs of torch.compile a program may call `backward`: Dynamo must not trace our launch code
set_code_exec_strategy(_JointFunction.backward.__code__, _FrameExecStrategy(_FrameAction.SKIP, _FrameAction.SKIP))


# Function.apply unwraps each argument in Python for dead function transforms; under an active transform, the call does
# not reach this line
_apply: Final = super(torch.autograd.Function, _JointFunction).apply


class _Link(torch.autograd.Function):
    """An autograd node with an empty tensor, which links to others without keeping their memory alive."""

    @staticmethod
    def forward(ctx: FunctionCtx, *tensors: torch.Tensor) -> torch.Tensor:
        return torch.empty(0)

    @staticmethod
    def backward(ctx: FunctionCtx, *gradients: torch.Tensor) -> NoReturn:
        raise RuntimeError(NO_SECOND.decode())


def _links(tensors: list[torch.Tensor]) -> list[torch.Tensor]:
    """Tensors that connect autograd to the history of these: leaves themselves, which it keeps anyway, and links for
    others."""
    made = [tensor for tensor in tensors if not tensor.is_leaf]
    if not made:
        return tensors
    with torch.enable_grad():
        return [*[tensor for tensor in tensors if tensor.is_leaf], _Link.apply(*made)]


def _once(gradients: Sequence[torch.Tensor | None], links: Sequence[torch.Tensor]) -> list[torch.Tensor | None]:
    """Gradients that raise an error on double backward; `links` connect them to the inputs, since autograd prunes nodes
    that lead to no requested input."""
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
    """A tangent with the traced strides (contiguous if None) and without lazy bits; zeros if it is undefined."""
    if stride is None:
        if tangent is None:
            return torch.zeros(shape, dtype=dtype, device=device)
        return tangent.resolve_neg().contiguous()
    if tangent is None:
        return torch.empty_strided(shape, stride, dtype=dtype, device=device).zero_()
    if tangent.stride() == stride and not tangent.is_neg():
        return tangent
    return torch.empty_strided(shape, stride, dtype=dtype, device=device).copy_(tangent)


def runner(program: Captured, counted: Callable[[Runner], Runner] = lambda run: run) -> Runner:
    """A differentiable call of both graphs, operator by operator: tensors in, flat outputs out."""
    split = recorded(program)
    forward = counted(eager.runner(split.forward.graph))
    return JointRunner(program, split, forward, lambda form: eager.runner(form.graph))
