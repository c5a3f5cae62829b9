"""Symbolic inputs of a traced function: which sizes are symbols, and a variant's other preconditions on its inputs.

A static size is a symbol with one value, so that the check tests it like any other. A size of 0 has a variant of its
own unless stated otherwise, since nearly every operator branches on it; any other is a symbol >= 1. A contiguous input
has contiguous strides, and its strides of axes of extent 1 are ignored; otherwise strides are symbols, or products of
sizes where they match. The storage offset is a constant, checked if the program reads it.

    >>> import torch
    >>> from frontends.pytorch.tracing import trace
    >>> from shapes.choices import Choice
    >>> first = lambda name, axis, size: Choice("dynamic", hi=64) if axis == 0 else Choice("static")
    >>> variant = trace(lambda x: x * 2, (torch.randn(3, 8),), dynamic=first)
    >>> for name, path in variant.inputs[0].symbols:
    ...     print(name, path, *variant.env.bounds(name))
    x_size0 ('.shape', 0) 1 64
    x_size1 ('.shape', 1) 8 8
    >>> leaf_names(lambda x, more: x, (torch.ones(2), [3, 4]), {}, 3)
    ['x', 'more_0', 'more_1']
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch
from torch.utils._pytree import TreeSpec, tree_flatten, tree_unflatten, treespec_leaf

from frontends.pytorch.recording.callers import check_supported
from frontends.pytorch.recording.recorder import Recorder
from frontends.pytorch.symbolic.node import TorchValue, value_of
from frontends.pytorch.symbolic.tensor import Result, Traced, argument_of
from shapes.choices import DYNAMIC, LARGEST, STATIC, Choice, declared
from shapes.environment.symbols import free_name
from shapes.symbolic.numbers import SymFloat
from solver.floats.ordinals import pattern
from solver.floats.values import from_pattern

if TYPE_CHECKING:
    from shapes.env import ShapeEnv
    from shapes.guards.arguments import Path

Dynamic = Callable[[str, int, int], "bool | Choice"]
"""Decides how a size is treated from the input's name, the axis, and the size. An integer has the axis -1."""


class Dynamism:
    """Decides if each number among the arguments of one trace is a constant or a symbol."""

    def __init__(self, decide: Dynamic) -> None:
        self._decide = decide

    def choose(self, name: str, axis: int, size: int) -> Choice:
        """Decide how this size is treated, or this integer, whose axis is -1."""
        choice = self._decide(name, axis, size)
        return choice if isinstance(choice, Choice) else DYNAMIC if choice else STATIC

    def is_varying(self, name: str, value: float) -> bool:
        """Return True if a float is a symbol; else it is a constant of the graph."""
        return False

    def settle(self, env: ShapeEnv, inputs: Sequence[Input]) -> None:
        """Assume the relations between them."""


@dataclass(frozen=True, slots=True)
class Input:
    """One tensor argument at the time of the trace."""

    name: str
    result: Result
    dtype: torch.dtype
    device: torch.device
    requires_grad: bool
    contiguous: bool
    symbols: tuple[tuple[str, Path], ...]
    """The symbols of its sizes and strides: name and path in the tensor."""
    rank: int
    offset: int


@dataclass(frozen=True, slots=True)
class Number:
    """An integer or float argument: a float's symbol is its 64 bits."""

    name: str
    symbol: str
    choice: Choice
    is_float: bool = False

    @property
    def is_read(self) -> bool:
        """True if the number is an input of the graph."""
        return self.choice.kind != "static"


def symbolic_input(recorder: Recorder, name: str, tensor: torch.Tensor, dynamism: Dynamism) -> tuple[Traced, Input]:
    """A traced tensor for a tensor argument."""
    check_supported(name, tensor)
    env, nodes = recorder.env, recorder.nodes
    sizes: list[object] = []
    symbols: list[tuple[str, Path]] = []
    for axis, size in enumerate(tensor.shape):
        choice = dynamism.choose(name, axis, size)
        if size == 0 and (choice.lo is None or choice.lo > 0):
            choice = replace(choice, kind="static")
        word = free_name(choice.word or f"{name}_size{axis}", env.names)
        symbols.append((word, (".shape", axis)))
        sizes.append(nodes.wrap(declared(env, word, choice, size, f"{name}.shape[{axis}]", 1)))
    offset = tensor.storage_offset()
    if tensor.is_contiguous():
        strides = recorder.kinds.packed(sizes, tensor.dtype, tensor.device).strides
    else:
        strides = strides_of(recorder, name, tensor, sizes, symbols)
    metadata = recorder.kinds.of(sizes, strides, offset, tensor.dtype, tensor.device)
    result = recorder.recording.result(metadata)
    recorder.given.add(result)
    made = argument_of(metadata, result)
    if tensor.requires_grad:
        made.requires_grad_(True)
    return made, Input(
        name,
        result,
        tensor.dtype,
        tensor.device,
        tensor.requires_grad,
        tensor.is_contiguous(),
        tuple(symbols),
        tensor.dim(),
        offset,
    )


def symbolic_number(recorder: Recorder, name: str, value: int, dynamism: Dynamism) -> tuple[TorchValue, Number]:
    """A symbolic number for an integer argument."""
    choice = dynamism.choose(name, -1, value)
    word = free_name(name, recorder.env.names, "arg_")
    return recorder.nodes.wrap(declared(recorder.env, word, choice, value, name, None)), Number(name, word, choice)


def symbolic_float(recorder: Recorder, name: str, value: float, dynamism: Dynamism) -> tuple[TorchValue, Number]:
    """A symbolic number for a float argument: a double whose 64 bits are the symbol, since 0.0 == -0.0."""
    env = recorder.env
    word = free_name(name, env.names, "arg_")
    if not dynamism.is_varying(name, value):
        declared(env, word, STATIC, pattern(value), name, 0)
        return value, Number(name, word, STATIC, is_float=True)
    bits = env.symbol(word, lo=0, hi=2**64 - 1, hint=pattern(value), source=name)
    made = SymFloat(env, from_pattern(bits.expr), bits.domain)
    return recorder.nodes.wrap(made), Number(name, word, DYNAMIC, is_float=True)


def strides_of(
    recorder: Recorder,
    name: str,
    tensor: torch.Tensor,
    sizes: Sequence[TorchValue],
    symbols: list[tuple[str, Path]],
) -> tuple[TorchValue, ...]:
    """The strides of a non-contiguous input, as products of sizes where they match."""
    env, nodes = recorder.env, recorder.nodes
    strides: list[TorchValue] = [None] * tensor.dim()
    order = sorted(range(tensor.dim()), key=lambda axis: (tensor.stride(axis), -axis))
    inner: list[int] = []
    for axis in order:
        stride = tensor.stride(axis)
        word = free_name(f"{name}_stride{axis}", env.names)
        source = f"{name}.stride({axis})"
        symbols.append((word, (".stride()", axis)))
        if stride in (0, 1):
            strides[axis] = declared(env, word, STATIC, stride, source, 0)
        else:
            symbol = env.symbol(word, lo=0, hi=LARGEST, hint=stride, source=source)
            strides[axis] = nodes.wrap(symbol)
            for other in inner:
                product = strides[other] * sizes[other]
                if tensor.stride(other) * tensor.shape[other] == stride:
                    env.require(symbol == value_of(product))
                    strides[axis] = product
                    break
        inner.append(axis)
    return tuple(strides)


# ---------------------------------------------------------------------- the arguments of a call


@dataclass(frozen=True, slots=True)
class Arguments:
    """The flattened arguments of a call.

    Attributes:
        leaves, structure: the arguments as a pytree.
        names: the names of the leaves.
        inputs: the tensors, each once; `numbers` the integers and floats.
        symbolic: the values that replace the leaves in the trace.
        first: the first index of each tensor, by its identity key.
    """

    leaves: list[object]
    structure: TreeSpec
    names: list[str]
    inputs: list[Input]
    numbers: list[Number]
    symbolic: list[Any]
    first: dict[int, int]

    @property
    def places(self) -> list[int]:
        """The indices of tensors, and then of symbolic numbers, among the leaves."""
        symbols = [self.names.index(each.name) for each in self.numbers if each.is_read]
        return [*self.first.values(), *symbols]


def known_arguments(
    recorder: Recorder,
    fn: Callable[..., object],
    args: Sequence[object],
    kwargs: Mapping[str, object],
    dynamism: Dynamism,
    *,
    shared: bool,
) -> Arguments:
    """Flatten the arguments of a call and declare their symbols.

    With `shared`, a tensor that is passed twice is one input.
    """
    given, named = tuple(args), dict(kwargs)
    leaves, structure = tree_flatten((given, named))
    names = leaf_names(fn, given, named, len(leaves))
    inputs: list[Input] = []
    numbers: list[Number] = []
    symbolic: list[Any] = []
    first: dict[int, int] = {}
    for place, (name, leaf) in enumerate(zip(names, leaves)):
        made: Any = leaf
        if isinstance(leaf, torch.Tensor):
            if first.setdefault(id(leaf) if shared else place, place) != place:
                made = symbolic[first[id(leaf)]]
            else:
                made, described = symbolic_input(recorder, name, leaf, dynamism)
                inputs.append(described)
        elif type(leaf) is int:
            made, number = symbolic_number(recorder, name, leaf, dynamism)
            numbers.append(number)
        elif type(leaf) is float:
            made, number = symbolic_float(recorder, name, leaf, dynamism)
            numbers.append(number)
        symbolic.append(made)
    return Arguments(leaves, structure, names, inputs, numbers, symbolic, first)


def with_offset(env: ShapeEnv, given: Input) -> Input:
    """An input whose storage offset is a precondition."""
    word = free_name(f"{given.name}_offset", env.names)
    declared(env, word, STATIC, given.offset, f"{given.name}.storage_offset()", None)
    return replace(given, symbols=(*given.symbols, (word, (".storage_offset()",))))


def leaf_names(
    fn: Callable[..., object], args: Sequence[object], kwargs: Mapping[str, object], count: int
) -> list[str]:
    """A name for each leaf of the arguments: the parameter's, numbered where it holds several."""
    try:
        signature = inspect.signature(fn.forward if isinstance(fn, torch.nn.Module) else fn)
        parameters = list(signature.parameters.values())
    except Exception:
        # an object with dynamic attributes may return anything
        parameters = []
    heads: list[tuple[str, object]] = []
    for place, arg in enumerate(args):
        is_named = place < len(parameters) and parameters[place].kind is not inspect.Parameter.VAR_POSITIONAL
        heads.append((parameters[place].name if is_named else f"arg{place}", arg))
    heads += list(kwargs.items())
    names: list[str] = []
    used: set[str] = set()
    for head, value in heads:
        leaves, _ = tree_flatten(value)
        for place in range(len(leaves)):
            name = head if len(leaves) == 1 else f"{head}_{place}"
            while name in used:
                name += "_"
            used.add(name)
            names.append(name)
    assert len(names) == count
    return names


def unflatten(values: Iterable[object], structure: TreeSpec) -> Any:
    """Assemble a pytree. A `torch.Size` stays one; torch's own function makes a tuple of it."""
    return tree_unflatten(*_with_sizes(iter(values), structure))


def _with_sizes(values: Iterator[object], structure: TreeSpec) -> tuple[list[object], TreeSpec]:
    if structure.is_leaf():
        return [next(values)], structure
    if structure.type is torch.Size:
        return [torch.Size([next(values) for _ in range(structure.num_leaves)])], treespec_leaf()
    found = [_with_sizes(values, each) for each in structure.children()]
    leaves = [leaf for each, _ in found for leaf in each]
    return leaves, TreeSpec(structure.type, structure.context, [each for _, each in found])
