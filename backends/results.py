"""Run-time checks of custom operators: results compared with what a rule or fake implementation predicts.

    >>> import torch
    >>> from backends.results import check_results
    >>> kind = ((2, 3), (3, 1), torch.float32, torch.device("cpu"))
    >>> check_results(torch.ones(2, 3), (), (kind,), "lib::op", "the shape rule lib.op").shape
    torch.Size([2, 3])
    >>> check_results(torch.ones(4, 3), (), (kind,), "lib::op", "the shape rule lib.op")
    Traceback (most recent call last):
    shapes.errors.RuleViolation: lib::op: mismatch with the shape rule lib.op
      predicted: float32[2, 3], strides (3, 1), on cpu
      result:    float32[4, 3], strides (3, 1), on cpu
      fix:    correct what predicts, or the kernel: torch.library.opcheck compares them

Kernels compute addresses from predicted sizes and strides, so a wrong prediction would read or return memory that is
not the result's. A size that is known only from this result is None, or the range in which it was said to be.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Sequence
from typing import Final, NoReturn, TypeAlias

import torch
from torch.fx.node import has_side_effect

from shapes.errors import RuleViolation

Sizes: TypeAlias = Sequence["int | None"]
Predicted: TypeAlias = "tuple[Sizes, Sizes | str, torch.dtype, torch.device] | None"
"""Sizes, strides, dtype and device of one result, each number None where only the result tells; None for a result that
is no tensor, or is an argument given back."""
FIX: Final = "correct what predicts, or the kernel: torch.library.opcheck compares them"
PACKED: Final = "packed"
"""The strides of a contiguous tensor, whatever its sizes are."""


def check_results(
    results: object,
    operands: Sequence[object],
    predicted: Sequence[Predicted],
    operator: str,
    rule: str,
    aliases: bool = False,
) -> object:
    """Return the results of an operator if they are as predicted.

    `operands` are its arguments, with whose tensors memory no result may share unless its schema says so (`aliases`).

    Raises:
        RuleViolation: it is not; the message has both.
    """
    found = tuple(results) if isinstance(results, list | tuple) else (results,)
    if len(found) != len(predicted):
        _violated(operator, rule, f"{len(predicted)} results", f"{len(found)} results")
    moved = False
    for tensor, kind in zip(found, predicted):
        if kind is None:
            continue
        if not isinstance(tensor, torch.Tensor):
            _violated(operator, rule, text_of(kind), repr(tensor))
        sizes, strides, dtype, device = kind
        is_same = tensor.dtype is dtype and tensor.device == device and tensor.layout is torch.strided
        if not is_same or not _agrees(tensor, sizes, strides):
            _violated(operator, rule, text_of(kind), actual(tensor))
        moved = moved or tensor.storage_offset() != 0
    if not aliases and torch._C._any_output_is_alias_to_input_or_output(tuple(tensors_of(operands)), {}, found):
        what = "memory of its own for each result, as the schema has no alias annotation"
        given = "a result that shares memory with an argument or with another result"
        fix = "return a clone, or annotate the schema: Tensor(a)"
        _violated(operator, rule, what, given, fix=fix)
    if not moved or aliases:
        return results
    # new memory begins at offset 0 for everything that reads it
    begun = [
        tensor.clone() if kind is not None and isinstance(tensor, torch.Tensor) and tensor.storage_offset() else tensor
        for tensor, kind in zip(found, predicted)
    ]
    return begun if isinstance(results, list) else tuple(begun) if isinstance(results, tuple) else begun[0]


def tensors_of(operands: Sequence[object]) -> Iterator[torch.Tensor]:
    """The tensors among arguments, those in lists too."""
    for operand in operands:
        if isinstance(operand, torch.Tensor):
            yield operand
        elif isinstance(operand, list | tuple):
            yield from tensors_of(operand)


def _agrees(tensor: torch.Tensor, sizes: Sizes, strides: Sizes | str) -> bool:
    shape = tensor.shape
    if len(shape) != len(sizes) or any(a != b and b is not None for a, b in zip(shape, sizes)):
        return False
    if strides == PACKED:
        return bool(tensor.is_contiguous())
    pairs = zip(shape, tensor.stride(), strides)
    # the stride of an axis without a second element is any number
    return all(a == b or b is None or size <= 1 for size, a, b in pairs) or 0 in shape


class Aliased(RuntimeError):
    """A call for which a result is a view, where the graph makes a copy."""


def assert_or_raise(holds: object, message: str, error: str) -> None:
    """An assertion that raises another error than a `RuntimeError`: `Aliased`, or one of Python's own.

    Raises:
        Exception: of this class, where it does not hold.
    """
    if not holds:
        raise (Aliased if error == Aliased.__name__ else getattr(builtins, error))(message)


def text_of(kind: Predicted) -> str:
    """A prediction for people."""
    assert kind is not None
    sizes, strides, dtype, device = kind
    name = str(dtype).removeprefix("torch.")
    lies = strides if isinstance(strides, str) else f"strides ({_listed(strides)})"
    return f"{name}[{_listed(sizes)}], {lies}, on {device}"


def actual(tensor: torch.Tensor) -> str:
    """A result for people."""
    if tensor.layout is not torch.strided:
        return f"a tensor of layout {tensor.layout}"
    return text_of((tuple(tensor.shape), tensor.stride(), tensor.dtype, tensor.device))


def _listed(numbers: Sizes) -> str:
    return ", ".join(["?" if number is None else str(number) for number in numbers])


def _violated(operator: str, rule: str, predicted: str, given: str, *, fix: str = FIX) -> NoReturn:
    raise RuleViolation(
        f"{operator}: mismatch with {rule}\n  predicted: {predicted}\n  result:    {given}\n  fix:    {fix}"
    )


has_side_effect(check_results)
has_side_effect(assert_or_raise)
