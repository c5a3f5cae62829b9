"""A traced program checked against eager torch: values, sizes, strides, changed arguments, and who shares memory."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils._pytree import tree_leaves, tree_structure

from frontends.pytorch import Variant, trace

Program = Callable[..., Any]


def tensors(value: object) -> list[torch.Tensor]:
    return [leaf for leaf in tree_leaves(value) if isinstance(leaf, torch.Tensor)]


def sharing(values: Sequence[torch.Tensor]) -> list[list[int]]:
    """For each tensor, the places of those with the same storage."""
    storages = [value.untyped_storage().data_ptr() if value.numel() else place for place, value in enumerate(values)]
    return [[other for other, storage in enumerate(storages) if storage == own] for own in storages]


def steps(tensor: torch.Tensor) -> list[int]:
    """The strides that mean something: not those of axes without a second element."""
    return [stride for size, stride in zip(tensor.shape, tensor.stride()) if size > 1 and tensor.numel()]


def admits(variant: Variant, inputs: Sequence[object]) -> bool:
    """Return True if the guards accept these arguments."""
    env = variant.env
    given = {each.name: tensor for each, tensor in zip(variant.inputs, tensors(inputs))}
    values: dict[str, int] = {}
    for symbol in env.symbols.values():
        if symbol.kind == "backed":
            values[symbol.name] = eval(symbol.source, dict(given))
    names = list(values)
    return bool(env.compile_guards({name: place for place, name in enumerate(names)})(*values.values()))


def run(variant: Variant, inputs: Sequence[object], form: Program | None = None) -> Any:
    """The results of a graph, or of another form of it."""
    with torch.no_grad():
        return variant.assembled((form or variant.graph)(*tensors(inputs)))


def same(got: object, expected: object) -> None:
    """The same values in the same places, with the same sizes, strides and sharing."""
    mine, theirs = tree_leaves(got), tree_leaves(expected)
    assert [type(each) for each in mine] == [type(each) for each in theirs]
    for one, other in zip(mine, theirs):
        if isinstance(other, torch.Tensor):
            torch.testing.assert_close(one, other, equal_nan=True)
            assert steps(one) == steps(other)
        else:
            assert one == other
    assert sharing(tensors(mine)) == sharing(tensors(theirs))


def alike(got: object, expected: object) -> None:
    """The same in the same containers, as much part of autograd's graph."""
    assert tree_structure(got) == tree_structure(expected)
    same(got, expected)
    assert [each.requires_grad for each in tensors(got)] == [each.requires_grad for each in tensors(expected)]


def agrees(program: Program, traced: Sequence[object], *others: Sequence[object]) -> Variant:
    """The graph does what the program does, on the traced arguments and on others, each of which the guards accept."""
    variant = trace(program, copy.deepcopy(list(traced)))
    for inputs in (traced, *others):
        assert admits(variant, inputs), [str(guard) for guard in variant.guards]
        agrees_at(variant, program, inputs)
    return variant


def agrees_at(variant: Variant, program: Program, inputs: Sequence[object], form: Program | None = None) -> None:
    """A graph or its form does what the program does on these arguments, twice: a run must leave it as it was."""
    for _ in range(2):
        theirs, ours = copy.deepcopy(list(inputs)), copy.deepcopy(list(inputs))
        torch.manual_seed(0)
        expected = program(*theirs)
        torch.manual_seed(0)
        same((run(variant, ours, form), ours), (expected, theirs))
