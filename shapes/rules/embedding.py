"""Table look-ups: embeddings, embedding bags and one-hot vectors.

>>> from shapes import ShapeEnv
>>> from shapes.rules import rules
>>> env = ShapeEnv(origin=lambda: None)
>>> b, s, v, d = env.sizes("b s v d", lo=1)
>>> rules["embedding"](env, (b, s), (v, d))
Shape(b, s, d)
>>> rules["embedding_bag"](env, (s,), (v, d), offsets=(b,))
Shape(b, d)
>>> rules["one_hot"](env, (b, s))                    # as many classes as the largest number tells
Shape(b, s, u0, dtype=int64)
"""

from __future__ import annotations

from shapes.env import ShapeEnv
from shapes.environment.layout import is_positive
from shapes.errors import ShapeError
from shapes.rules.broadcasting import agree_all
from shapes.rules.expectations import expect_axes, expect_one_of, expect_rank
from shapes.rules.registry import rule
from shapes.rules.shape import Shape
from shapes.rules.structure import alike, at_least, filled, pickable, typed
from shapes.symbolic.choices import Int, sym_and, sym_ite, sym_or

NUMBERS = ("int64", "int32")
MODES = ("sum", "mean", "max")


@rule(
    "embedding",
    schema="input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False",
)
def embedding(env: ShapeEnv, input: Shape, weight: Shape, padding_idx: Int | None) -> Shape:
    """The sizes of the input, and a row of the table for each of its numbers."""
    typed(input, NUMBERS, "input")
    rows, columns = _table(weight)
    if padding_idx is not None:
        env.require(sym_or(padding_idx == 0, padding_idx < rows), "padding_idx: out of range")
        env.require(padding_idx >= -rows, "padding_idx: out of range")
    pickable(env, rows, input)
    return Shape((*input, columns), dtype=weight.dtype)


@rule("embedding_bag")
def embedding_bag(
    env: ShapeEnv,
    input: Shape,
    weight: Shape,
    offsets: Shape | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Shape | None = None,
    include_last_offset: bool = False,
    padding_idx: Int | None = None,
) -> Shape:
    """A row of the table for each bag: each row of the input, or the input between two offsets."""
    expect_one_of(mode, MODES, "mode")
    if mode == "max" and (sparse or scale_grad_by_freq):
        raise ShapeError("mode='max': takes neither sparse nor scale_grad_by_freq")
    typed(input, NUMBERS, "input")
    rows, columns = _table(weight)
    if per_sample_weights is not None:
        _weighed(env, input, weight, per_sample_weights, mode)
    if padding_idx is not None:
        env.require(padding_idx < rows, "padding_idx: out of range")
        env.require(padding_idx >= -rows, "padding_idx: out of range")
    if len(input) == 2:
        if offsets is not None:
            raise ShapeError("offsets: an input with 2 axes has its bags in rows")
        if not is_positive(input[1]):
            env.require(input[1] != 0, "input: rows without elements")
        pickable(env, rows, input)
        return Shape((input[0], columns), dtype=weight.dtype)
    expect_axes(input, 1, "input", most=2)
    if offsets is None or len(offsets) != 1:
        raise ShapeError("offsets: expected a tensor with 1 axis")
    typed(offsets, NUMBERS, "offsets")
    bags = offsets[0]
    if include_last_offset:
        if not is_positive(bags):
            env.require(bags != 0, "offsets: not even the last one")
        bags = bags - 1
    else:
        # where the last offset is given, nothing may precede it
        pickable(env, rows, input, bags == 0)
    return Shape((bags, columns), dtype=weight.dtype)


def _table(weight: Shape) -> tuple[Int, Int]:
    expect_rank(weight, 2, "weight")
    return weight[0], weight[1]


def _weighed(env: ShapeEnv, input: Shape, weight: Shape, weights: Shape, mode: str) -> None:
    if mode != "sum":
        raise ShapeError("per_sample_weights: expected only with mode='sum'")
    if len(weights) != len(input):
        raise ShapeError("per_sample_weights: has another rank than the input")
    agree_all(env, weights, input, "per_sample_weights: has other sizes than the input")
    alike(weight, weights, "weight", "per_sample_weights")


@rule("one_hot")
def one_hot(env: ShapeEnv, tensor: Shape, num_classes: Int = -1) -> Shape:
    """The sizes of the tensor, and a place for each class; for -1 a run tells how many there are."""
    typed(tensor, ("int64",), "tensor")
    if isinstance(num_classes, int) and num_classes == -1:
        env.require(filled(tensor), "tensor: has no element that tells how many classes there are")
        return Shape((*tensor, env.unbacked(lo=1)), dtype="int64")
    if not at_least(num_classes, 0):
        inferred = sym_and(num_classes == -1, filled(tensor))
        env.require(sym_or(num_classes >= 1, inferred), "num_classes: expected at least 1, or -1 and elements")
        return Shape((*tensor, sym_ite(num_classes == -1, env.unbacked(lo=1), num_classes)), dtype="int64")
    env.require(num_classes >= 1, "num_classes: expected at least 1, or -1")
    return Shape((*tensor, num_classes), dtype="int64")
