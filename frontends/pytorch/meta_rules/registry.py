"""Registry of meta rules, and how they apply the shape rules of `shapes.rules`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, TypeAlias, TypeVar

import torch
from torch._prims_common import number_type, type_to_dtype

from frontends.operator_names.aten_operators import aten as vocabulary
from frontends.pytorch.symbolic.metadata import Metadata, name_of
from frontends.pytorch.symbolic.node import value_of
from frontends.pytorch.symbolic.tensor import Trace, Traced
from shapes.environment.layout import contiguous_strides
from shapes.rules import Shape
from shapes.symbolic.choices import Int

KindRule: TypeAlias = Callable[..., object]
Rule = TypeVar("Rule", bound=KindRule)
Ruled: TypeAlias = Any
"""A `Shape`, a number, or a tuple or list of these, as the schema of torch's operator says, which is Any here."""

RULES: Final[dict[object, KindRule]] = {}
ONCE: Final[set[object]] = set()
"""Operators with data-dependent results, which are different for each call and not cached."""


def kind_rule(*operators: object, once: bool = False) -> Callable[[Rule], Rule]:
    """Register a function as the rule of these operators."""

    def register(rule: Rule) -> Rule:
        RULES.update(dict.fromkeys(operators, rule))
        ONCE.update(operators if once else ())
        return rule

    return register


def kind_rules(*operators: object, once: bool = False) -> Callable[[Rule], Rule]:
    """Register a function as the rule of each of these operators, which is its first argument."""

    def register(rule: Rule) -> Rule:
        for operator in operators:
            kind_rule(operator, once=once)(partial(rule, operator))
        return rule

    return register


def word_of(func: torch._ops.OpOverload) -> str:
    """An operator's name in our tables."""
    name = func._schema.name.partition("::")[2].replace("linalg_", "linalg.")
    return f"{name}.{func._overloadname}" if func._overloadname != "default" else name


def ruled(recorder: Trace, func: torch._ops.OpOverload, *args: object, **kwargs: object) -> Ruled:
    """The result sizes of the shape rule: a `Shape`, or a tuple of them."""
    given = [sizes_of(arg) for arg in args]
    named = {name: sizes_of(value) for name, value in kwargs.items()}
    return vocabulary[word_of(func)](recorder.env, *given, **named)


def sizes_of(
    value: object, number: Callable[[Any], object] = value_of, shape: Callable[[torch.Tensor], Shape] | None = None
) -> Ruled:
    """An argument converted for a shape rule: `number` converts torch's symbolic numbers, `shape` tensors."""
    if type(value) is Metadata:
        return value.shape
    if isinstance(value, Shape):
        return value
    if isinstance(value, Traced):
        return value.metadata.shape
    if isinstance(value, torch.Tensor):
        if shape is not None:
            return shape(value)
        sizes, strides = [[sizes_of(each, number) for each in axes] for axes in (value.shape, value.stride())]
        return Shape(sizes, dtype=name_of(value.dtype), strides=strides)
    if isinstance(value, torch.SymInt | torch.SymFloat | torch.SymBool):
        return number(value)
    if isinstance(value, list | tuple):
        return [sizes_of(item, number, shape) for item in value]
    return value


def metadata_of(recorder: Trace, tensor: torch.Tensor) -> Metadata:
    """The metadata of an argument: a traced tensor, or a constant of the program."""
    if isinstance(tensor, int | float | complex):
        # C++ wraps a number in a tensor, and passes the number
        return recorder.kinds.of((), (), 0, type_to_dtype(number_type(tensor)), torch.device("cpu"))
    return tensor.metadata if type(tensor) is Traced else recorder.lift(tensor).metadata


def given(recorder: Trace, *tensors: torch.Tensor | None) -> list[Any]:
    """The `Metadata` of each argument; None for an optional one that is left out."""
    return [None if tensor is None else metadata_of(recorder, tensor) for tensor in tensors]


def one_dtype(*kinds: Metadata | None) -> bool:
    """Return True if all have the same dtype and device."""
    present = [kind for kind in kinds if kind is not None]
    return all(kind.dtype is present[0].dtype and kind.device == present[0].device for kind in present)


def packed(recorder: Trace, shape: Sequence[Int], dtype: torch.dtype, device: torch.device) -> Metadata:
    """The metadata of a new contiguous tensor."""
    return recorder.kinds.laid(shape, None, 0, dtype, device)


def by_rule_alone(
    func: torch._ops.OpOverload, recorder: Trace, self: torch.Tensor, *args: object, **kwargs: object
) -> object:
    """New contiguous tensors with the sizes and dtypes of the shape rule."""
    return made(recorder, ruled(recorder, func, self, *args, **kwargs), metadata_of(recorder, self))


def made(recorder: Trace, found: Ruled, base: Metadata) -> Any:
    """New contiguous tensors with these sizes and dtypes; the base's dtype where there is none."""
    if isinstance(found, Shape):
        return packed(recorder, found, base.dtype if found.dtype is None else getattr(torch, found.dtype), base.device)
    pieces = [made(recorder, each, base) for each in found]
    return pieces if isinstance(found, list) else tuple(pieces)


def column_strides(shape: Shape, rows: Int) -> Sequence[Int]:
    """The strides of column-major matrices, whose columns are `rows` apart."""
    turned = contiguous_strides([*shape[:-2], shape[-1], rows])
    return [*turned[:-2], turned[-1], turned[-2]]


def viewed(recorder: Trace, shape: object, base: Metadata) -> Metadata:
    """The metadata of a view of another tensor."""
    assert isinstance(shape, Shape) and shape.strides is not None
    return recorder.kinds.laid(shape, shape.strides, shape.storage_offset, base.dtype, base.device)
