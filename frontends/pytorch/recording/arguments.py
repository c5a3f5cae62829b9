"""The arguments of a traced call: its tensors and numbers, with symbols for sizes.

    >>> import torch
    >>> from frontends.pytorch.recording.arguments import leaf_names
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

from frontends.pytorch.recording.inputs import (
    STATIC,
    Dynamism,
    Input,
    Number,
    declared,
    free_name,
    symbolic_float,
    symbolic_input,
    symbolic_number,
)

if TYPE_CHECKING:
    from frontends.pytorch.recording.recorder import Recorder
    from shapes.env import ShapeEnv


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
    word = free_name(env, f"{given.name}_offset")
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
