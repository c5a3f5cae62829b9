"""`torch.cond` in a trace: both branches are recorded under their own facts, and joined.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> def program(x):
    ...     return torch.cond(x.sum() > 0, lambda x: x[: x.shape[0] // 2], lambda x: x[x > -1], (x,))
    >>> variant = trace(program, (torch.randn(6),))
    >>> [str(node.target) for node in variant.graph.graph.nodes if "cond" in node.name]
    ['cond']
    >>> variant.graph(torch.ones(8))[0].shape, variant.graph(-torch.ones(8))[0].shape
    (torch.Size([4]), torch.Size([0]))

Each branch is a subgraph whose inputs are the tensors that it uses, operands or closed over, and the sizes that it
reads. Its checks run inside. A branch's guard about inputs is a guard of the variant. Where output sizes differ, the
size is an unbacked symbol. A branch that the facts exclude is dropped. The gradient is another `cond`, whose branches
compute the gradients of these.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import torch
from torch._higher_order_ops import utils as higher_order
from torch.autograd.function import FunctionCtx, once_differentiable
from torch.utils._pytree import TreeSpec, tree_flatten, tree_unflatten

from frontends.pytorch.errors import unsupported
from frontends.pytorch.recording.branches import Choice, Ways, equality
from frontends.pytorch.recording.operations import is_random
from frontends.pytorch.recording.recorder import Recorder
from frontends.pytorch.recording.special import refuse_control_flow
from frontends.pytorch.symbolic.function_mode import Arguments, Keywords
from frontends.pytorch.symbolic.node import value_of
from frontends.pytorch.symbolic.tensor import running_trace
from shapes.symbolic.numbers import SymBool
from solver.decide.verdict import Always, Never

Function = Callable[..., object]


def cond(
    recorder: Recorder, predicate: object, then: Function, otherwise: Function, operands: Sequence[object]
) -> object:
    """Trace `torch.cond`."""
    side = decided(recorder, predicate)
    if side is not None:
        return (then if side else otherwise)(*operands)
    choice = Choice(recorder, predicate)
    ways = choice.recorded(lambda: then(*operands), lambda: otherwise(*operands))
    if ways[0].structure != ways[1].structure:
        shown = " and ".join([shape_of(way.structure) for way in ways])
        fix = "return as many tensors from both, in the same containers"
        unsupported(f"the branches of torch.cond return different structures: {shown}", fix)
    outer = {**ways[0].outer, **ways[1].outer}
    learned = [tensor for tensor in outer.values() if tensor.requires_grad] if torch.is_grad_enabled() else []
    if not learned:
        return tree_unflatten(choice.joined(ways), ways[0].structure)
    if any(is_random(operation) for way in ways for operation in way.branch.operations):
        what = "random numbers in a branch of torch.cond that is differentiated"
        unsupported(what, "draw them before it")
    gradient = Gradient(choice, (then, otherwise), operands, ways, learned)
    tensors = iter(_Differentiable.apply(gradient, *learned))
    return tree_unflatten(
        [next(tensors) if isinstance(value, torch.Tensor) else value for value in gradient.values], ways[0].structure
    )


def shape_of(structure: TreeSpec) -> str:
    """The text of a result's structure: `(_, [_, _])`."""
    return str(tree_unflatten([_Leaf()] * structure.num_leaves, structure))


class _Leaf:
    def __repr__(self) -> str:
        return "_"


def decided(recorder: Recorder, predicate: object) -> bool | None:
    """The branch that is always taken, if the facts decide it."""
    if isinstance(predicate, torch.Tensor):
        return None
    if not isinstance(predicate, torch.SymBool):
        return bool(predicate)
    match recorder.env.ask(value_of(predicate)):
        case Always():
            return True
        case Never():
            return False
    return None


@dataclass(slots=True)
class Gradient:
    """A differentiable `cond`, with the values that its backward needs."""

    choice: Choice
    functions: tuple[Function, Function]
    operands: Sequence[object]
    ways: Ways
    learned: list[torch.Tensor]
    values: Sequence[Any] = ()

    @property
    def outputs(self) -> list[torch.Tensor]:
        return [value for value in self.values if isinstance(value, torch.Tensor)]

    def backward(self, tangents: Sequence[torch.Tensor | None]) -> list[object]:
        ways = self.choice.recorded(*[self._differentiated(function, tangents) for function in self.functions])
        return self.choice.joined(ways)

    def _differentiated(self, function: Function, tangents: Sequence[torch.Tensor | None]) -> Callable[[], object]:
        env = self.choice.recorder.env

        def gradients() -> list[torch.Tensor]:
            substitution = self.choice.recorder.branches[-1]
            with torch.enable_grad():
                leaves = [substitution.of(tensor) for tensor in self.learned]
                values = tree_flatten(function(*self.operands))[0]
                outputs = [substitution.of(value) for value in values if isinstance(value, torch.Tensor)]
            pairs: list[tuple[torch.Tensor, torch.Tensor]] = []
            for output, first, tangent in zip(outputs, self.outputs, tangents):
                for size, known in zip(output.metadata.sizes, first.metadata.sizes):
                    # recomputed values have the same sizes
                    env.postulate(SymBool(env, equality(env, value_of(size), value_of(known)), env.interner.true))
                if tangent is not None and output.requires_grad:
                    pairs.append((output, substitution.of(tangent)))
            if not pairs:
                return [torch.zeros_like(leaf) for leaf in leaves]
            found = torch.autograd.grad(
                [output for output, _ in pairs], leaves, [tangent for _, tangent in pairs], allow_unused=True
            )
            return [torch.zeros_like(leaf) if each is None else each for each, leaf in zip(found, leaves)]

        return gradients


class _Differentiable(torch.autograd.Function):
    """The autograd function of a `cond`."""

    @staticmethod
    def forward(ctx: FunctionCtx, gradient: Gradient, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        gradient.values = gradient.choice.joined(gradient.ways)
        ctx.gradient = gradient
        ctx.set_materialize_grads(False)
        kinds = [(output, output.dtype) for output in gradient.outputs]
        ctx.mark_non_differentiable(*[y for y, kind in kinds if not kind.is_floating_point and not kind.is_complex])
        return tuple(gradient.outputs)

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, *tangents: torch.Tensor | None) -> tuple[object, ...]:
        return None, *ctx.gradient.backward(tangents)


_eager: Final = higher_order._hop_compile_and_call


def hop_compile_and_call(fn: Function, args: Arguments, kwargs: Keywords | None = None) -> object:
    """Replaces torch's own, which compiles the branches: a trace records them."""
    recorder = running_trace()
    if recorder is None:
        return _eager(fn, args, kwargs)
    assert isinstance(recorder, Recorder)
    if fn.__qualname__ == "cond.<locals>._cond_op_wrapper":
        return cond(recorder, *args)
    refuse_control_flow(fn.__qualname__.partition(".")[0])
