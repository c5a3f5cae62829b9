"""Operators on memory layouts: copies, strided views, and the real view of complex numbers.

    >>> from shapes import ShapeEnv
    >>> from shapes.rules import Shape, rules
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, s = env.sizes("b s", lo=1)
    >>> turned = Shape((b, s), strides=(1, b))
    >>> rules["contiguous"](env, turned), rules["clone"](env, turned)
    (Shape(b, s, strides=(s, 1)), Shape(b, s, strides=(1, b)))
    >>> rules["view_as_complex"](env, Shape((b, s), dtype="float32"))
    Shape(b, dtype=complex64)
    >>> [guard.text for guard in env.guards()]
    ['s == 2']
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from shapes.env import ShapeEnv
from shapes.environment.layout import channels_last_strides, contiguous_strides, is_empty, max_storage_index, numel
from shapes.errors import ShapeError
from shapes.rules.broadcasting import known
from shapes.rules.promotion import REAL_OF, kind_of
from shapes.rules.registry import rule
from shapes.rules.shape import Shape
from shapes.rules.structure import at_least
from shapes.symbolic.choices import Int, Truth, sym_ite, sym_or

COMPLEX_OF: Final = {real: dtype for dtype, real in REAL_OF.items()}
"""The dtype of numbers that consist of two real ones."""


@rule("detach", "resolve_conj", "resolve_neg", "conj")
def detach(env: ShapeEnv, input: Shape) -> Shape:
    """The input's sizes."""
    return input


@rule("contiguous")
def contiguous(env: ShapeEnv, input: Shape, memory_format: object = None) -> Shape:
    """The input's sizes, without gaps."""
    order = str(memory_format or "contiguous_format").rpartition(".")[2]
    result = packed(input, order)
    if input.strides is not None:
        layout = input.layout()
        stays = layout.is_contiguous if order == "contiguous_format" else layout.is_channels_last
        result.storage_offset = sym_ite(stays, input.storage_offset, 0)
    return result


@rule("clone")
def clone(env: ShapeEnv, input: Shape, *, memory_format: object = None) -> Shape:
    """The input's sizes, in the order of the strides, unless given."""
    order = str(memory_format or "preserve_format").rpartition(".")[2]
    if order != "preserve_format":
        return packed(input, order)
    if input.strides is not None and known(env, input.layout().is_non_overlapping_and_dense):
        return Shape(input, dtype=input.dtype, strides=input.strides)
    return Shape(input, dtype=input.dtype)


def packed(x: Shape, order: str = "contiguous_format") -> Shape:
    """A copy without gaps."""
    ranks = {"channels_last": 4, "channels_last_3d": 5}
    if order not in ranks and order != "contiguous_format":
        raise ShapeError(f"memory_format={order}: expected contiguous_format, channels_last or channels_last_3d")
    if ranks.get(order, len(x)) != len(x):
        raise ShapeError(f"memory_format={order}: expected {ranks[order]} axes, not {len(x)}")
    strides = channels_last_strides(x) if order in ranks else None if x.strides is None else contiguous_strides(x)
    return Shape(x, dtype=x.dtype, strides=strides)


@rule("as_strided")
def as_strided(
    env: ShapeEnv, input: Shape, size: Sequence[Int], stride: Sequence[Int], storage_offset: Int | None = None
) -> Shape:
    """The sizes asked for; their elements have to be in the storage, which is a fresh one if there are no strides."""
    return strided(env, input, size, stride, storage_offset)


def strided(
    env: ShapeEnv, input: Shape, size: Sequence[Int], stride: Sequence[Int], storage_offset: Int | None
) -> Shape:
    """Sizes and strides on the storage of a tensor."""
    offset = input.storage_offset if storage_offset is None else storage_offset
    if len(size) != len(stride):
        raise ShapeError(f"{len(size)} sizes, but {len(stride)} strides")
    for number in (*size, *stride, offset):
        if not at_least(number, 0):
            env.require(number >= 0, "a size, a stride or the offset is negative")
    if input.strides is None:
        inside: Truth = max_storage_index(size, stride, offset) < numel(input)
        env.require(sym_or(is_empty(size), inside), "elements outside of the storage")
    return Shape(size, dtype=input.dtype, strides=stride, storage_offset=offset)


@rule("view_as_real")
def view_as_real(env: ShapeEnv, input: Shape) -> Shape:
    """A last axis of real and imaginary part."""
    if kind_of(input.dtype) not in (None, 3):
        raise ShapeError(f"dtype={input.dtype}: expected complex numbers")
    strides = None if input.strides is None else (*[2 * stride for stride in input.strides], 1)
    dtype = None if input.dtype is None else REAL_OF.get(input.dtype)
    return _retyped(input, (*input, 2), dtype, strides, 2 * input.storage_offset)


@rule("view_as_complex")
def view_as_complex(env: ShapeEnv, input: Shape) -> Shape:
    """Without the last axis, which is real and imaginary part."""
    if not input or input.dtype is not None and input.dtype not in COMPLEX_OF:
        raise ShapeError(f"dtype={input.dtype}: expected real numbers, and an axis for both parts")
    env.require(input[-1] == 2, "the last axis does not consist of two parts")
    dtype = None if input.dtype is None else COMPLEX_OF[input.dtype]
    if input.strides is None:
        return Shape(input[:-1], dtype=dtype)
    env.require(input.strides[-1] == 1, "the two parts do not follow each other")
    env.require(input.storage_offset % 2 == 0, "the offset is not even")
    for size, stride in zip(input[:-1], input.strides):
        env.require(sym_or(stride % 2 == 0, size == 1), "a stride is not even")
    strides = [stride // 2 for stride in input.strides[:-1]]
    return _retyped(input, input[:-1], dtype, strides, input.storage_offset // 2)


@rule("real")
def real(env: ShapeEnv, input: Shape) -> Shape:
    """The input's sizes."""
    return _part(input, 0) if kind_of(input.dtype) == 3 else input


@rule("imag")
def imag(env: ShapeEnv, input: Shape) -> Shape:
    """The input's sizes."""
    if kind_of(input.dtype) not in (None, 3):
        raise ShapeError(f"dtype={input.dtype}: expected complex numbers")
    return _part(input, 1)


def _part(x: Shape, offset: int) -> Shape:
    """One of the two numbers that a complex one consists of."""
    strides = None if x.strides is None else [2 * stride for stride in x.strides]
    return _retyped(x, x, None if x.dtype is None else REAL_OF[x.dtype], strides, 2 * x.storage_offset + offset)


def _retyped(x: Shape, sizes: Sequence[Int], dtype: str | None, strides: Sequence[Int] | None, offset: Int) -> Shape:
    return Shape(sizes, dtype=dtype, strides=strides, storage_offset=0 if strides is None else offset)
