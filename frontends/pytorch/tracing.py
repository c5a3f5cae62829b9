"""`trace`: a function run once on symbolic sizes, as a graph with the guards under which it is right.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> def f(x, y):
    ...     return torch.cat([x, y]).relu().sum(-1)
    >>> variant = trace(f, (torch.randn(3, 8), torch.randn(5, 8)))
    >>> [str(guard) for guard in variant.guards]
    ['x_size1 == y_size1']
    >>> x, y = torch.randn(1, 4), torch.randn(7, 4)
    >>> bool((variant.graph(x, y)[0] == f(x, y)).all())
    True
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import torch
from torch._dispatch.python import enable_python_dispatcher
from torch.utils._pytree import TreeSpec, tree_flatten, tree_unflatten

from frontends.pytorch.before_autograd import BeforeAutograd
from frontends.pytorch.graph import GraphBuilder, arguments_of, unused_removed
from frontends.pytorch.inputs import Dynamic, Input, symbolic_input
from frontends.pytorch.joint import Joint, differentiate
from frontends.pytorch.node import Nodes, value_of
from frontends.pytorch.policy import general_path
from frontends.pytorch.recording import Recorder, Recording, Result, renamed_inputs
from frontends.pytorch.tensor import Traced
from shapes.env import ShapeEnv
from shapes.origin import StackWalk

if TYPE_CHECKING:
    from shapes.guards import Guard, RuntimeAssert

TORCH: Final = os.path.dirname(torch.__file__) + os.sep


class Variant:
    """One graph of a function, with what it relies on.

    Attributes:
        env: the facts about its sizes.
        inputs: the tensors among the arguments, in order.
        with_gradient: which outputs have one.
        joint: the backward, where it was recorded.
        cause: why it was traced.
    """

    def __init__(
        self,
        env: ShapeEnv,
        recording: Recording,
        inputs: Sequence[Input],
        arguments: Sequence[object],
        outputs: Sequence[object],
        structure: TreeSpec,
        with_gradient: Sequence[bool] = (),
        joint: Joint | None = None,
        cause: str = "first call",
    ) -> None:
        self.env = env
        self.recording = recording
        self.inputs = tuple(inputs)
        self.arguments = tuple(arguments)
        self.outputs = tuple(outputs)
        self.structure = structure
        self.with_gradient = tuple(with_gradient)
        self.joint = joint
        self.cause = cause
        self._graph: torch.fx.GraphModule | None = None

    @property
    def guards(self) -> tuple[Guard, ...]:
        return self.env.guards()

    @property
    def runtime_asserts(self) -> tuple[RuntimeAssert, ...]:
        return self.env.runtime_asserts()

    @property
    def graph(self) -> torch.fx.GraphModule:
        """The graph, made when it is first looked at; it returns a list of the outputs that are tensors or sizes."""
        if self._graph is None:
            builder = GraphBuilder(self.runtime_asserts)
            for each in self.inputs:
                builder.placeholder(each.name, each.result)
            ends = self.recording.ends
            for operation in unused_removed(self.recording.operations, (self.outputs, arguments_of(ends))):
                builder.operation(operation)
            self._graph = builder.module([builder.argument(output) for output in self.outputs], ends)
        return self._graph

    def assembled(self, values: Sequence[object]) -> object:
        """What the function returns, from what the graph does."""
        return tree_unflatten(list(values), self.structure)


def trace(
    fn: Callable[..., object],
    args: Sequence[object],
    kwargs: Mapping[str, object] | None = None,
    *,
    dynamic: bool | Dynamic = True,
    pre_autograd: bool = False,
    gradients: bool = False,
) -> Variant:
    """The graph of a function for arguments like these, whatever their sizes, without running anything.

    `dynamic=False` makes every size a number. With `gradients`, the backward of what comes out is recorded as well
    (see `frontends.pytorch.joint`); with `pre_autograd`, composite operators stay whole, and there is no backward.
    """
    decide: Dynamic = dynamic if callable(dynamic) else lambda name, axis, size: bool(dynamic)
    env = ShapeEnv(origin=StackWalk(skip=[TORCH]), policy=general_path)
    nodes = Nodes(env)
    recorder = Recorder(env, nodes)
    leaves, structure = tree_flatten((tuple(args), dict(kwargs or {})))
    names = leaf_names(fn, args, kwargs or {}, len(leaves))
    inputs: list[Input] = []
    symbolic: list[object] = []
    for name, leaf in zip(names, leaves):
        if isinstance(leaf, torch.Tensor):
            made, described = symbolic_input(recorder, name, leaf, decide)
            inputs.append(described)
            symbolic.append(made)
        else:
            symbolic.append(leaf)
    positional, named = tree_unflatten(symbolic, structure)
    with BeforeAutograd(recorder) if pre_autograd else recorder, enable_python_dispatcher():
        returned = fn(*positional, **named)
        values, output_structure = tree_flatten(returned)
        given = [leaf for leaf in symbolic if isinstance(leaf, Traced)]
        recorder.recording.ends = renamed_inputs(zip(given, [each.result for each in inputs]))
        outputs = [output_of(recorder, value) for value in values]
        joint = differentiate(recorder, given, values) if gradients and not pre_autograd else None
    with_gradient = [isinstance(value, torch.Tensor) and value.requires_grad for value in values]
    return Variant(env, recorder.recording, inputs, leaves, outputs, output_structure, with_gradient, joint)


def output_of(recorder: Recorder, value: object) -> object:
    """What the graph returns for a value that the function returned."""
    if isinstance(value, torch.Tensor):
        return recorder.result_of(value)
    if isinstance(value, torch.SymInt | torch.SymFloat | torch.SymBool):
        return recorder.nodes.node(value_of(value))
    return value


def leaf_names(
    fn: Callable[..., object], args: Sequence[object], kwargs: Mapping[str, object], count: int
) -> list[str]:
    """A name for each leaf of the arguments: the parameter's, numbered where it holds several."""
    try:
        parameters = list(inspect.signature(fn).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    heads: list[tuple[str, object]] = []
    for place, arg in enumerate(args):
        if place < len(parameters) and parameters[place].kind is not inspect.Parameter.VAR_POSITIONAL:
            heads.append((parameters[place].name, arg))
        else:
            heads.append((f"arg{place}", arg))
    heads += list(kwargs.items())
    names: list[str] = []
    taken: set[str] = set()
    for head, value in heads:
        leaves, _ = tree_flatten(value)
        for place in range(len(leaves)):
            name = head if len(leaves) == 1 else f"{head}_{place}"
            while name in taken:
                name += "_"
            taken.add(name)
            names.append(name)
    assert len(names) == count
    return names


__all__ = ["Result", "Variant", "trace"]
