"""Losses: the agreement of predictions and targets, and the sizes before and after the reduction.

    >>> from shapes import ShapeEnv
    >>> from shapes.rules import rules
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, s, c = env.sizes("b s c")
    >>> rules["cross_entropy"](env, (b * s, c), (b * s,), reduction="sum")
    Shape()
    >>> rules["mse_loss"](env, (b, s), (b, 1), reduction="none")
    Shape(b, s)
    >>> rules["mse_loss"](env, (b, s), (b, 1), reduction="average")
    Traceback (most recent call last):
    shapes.rules.registry.Refused: mse_loss(input=Shape(b, s), target=Shape(b, 1), reduction='average'): \
reduction='average': expected none, mean or sum

Those over classes are in `shapes.rules.classification`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Final

from shapes.env import ShapeEnv
from shapes.errors import ShapeError
from shapes.rules.axes import axis_of, without
from shapes.rules.broadcasting import agree, broadcast, expandable, same
from shapes.rules.promotion import promoted
from shapes.rules.reductions import need_elements
from shapes.rules.registry import rule
from shapes.rules.shape import Shape
from shapes.symbolic.choices import Int, sym_and, sym_ite, sym_or, sym_sum

VARIANCES: Final = "var: expected the sizes of the input, or one axis of size 1"
REDUCTIONS: Final = ("none", "mean", "sum")


def averaged(
    sizes: Sequence[Int],
    reduction: str,
    size_average: bool | None = None,
    reduce: bool | None = None,
    *,
    dtype: str | None = None,
    known: Sequence[str] = REDUCTIONS,
) -> Shape:
    """What is left of a loss of these sizes; the older two arguments count for more where they are given."""
    if size_average is not None or reduce is not None:
        reduction = "none" if reduce is False else "sum" if size_average is False else "mean"
    if reduction not in known:
        raise ShapeError(f"reduction={reduction!r}: expected {', '.join(known[:-1])} or {known[-1]}")
    return Shape(sizes if reduction == "none" else (), dtype=dtype)


def agreeing(env: ShapeEnv, one: Sequence[Int], other: Sequence[Int], message: str) -> None:
    """Require the same sizes."""
    env.require(len(one) == len(other), message)
    for size, wanted in zip(one, other):
        agree(env, size, wanted, message)


@rule("mse_loss", "l1_loss")
def mse_loss(
    env: ShapeEnv,
    input: Shape,
    target: Shape,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Shape | None = None,
) -> Shape:
    """The sizes that both broadcast to, or none."""
    sizes = _weighted(env, input, target, weight)
    return averaged(sizes, reduction, size_average, reduce, dtype=promoted(input, target))


def _weighted(env: ShapeEnv, input: Shape, target: Shape, weight: Shape | None) -> tuple[Int, ...]:
    """The sizes that both broadcast to, with a weight for each number of the input."""
    if weight is None:
        return broadcast(env, input, target)
    agreeing(env, weight, input, "weight: expected the sizes of the input")
    return broadcast(env, input, target, weight)


@rule("smooth_l1_loss")
def smooth_l1_loss(
    env: ShapeEnv,
    input: Shape,
    target: Shape,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Shape:
    """The sizes that both broadcast to, or none."""
    env.require(beta >= 0, "beta: expected 0 or more")
    return averaged(broadcast(env, input, target), reduction, size_average, reduce, dtype=promoted(input, target))


@rule("huber_loss")
def huber_loss(
    env: ShapeEnv,
    input: Shape,
    target: Shape,
    reduction: str = "mean",
    delta: float = 1.0,
    weight: Shape | None = None,
) -> Shape:
    """The sizes that both broadcast to, or none."""
    env.require(delta > 0, "delta: expected more than 0")
    return averaged(_weighted(env, input, target, weight), reduction, dtype=promoted(input, target))


@rule("binary_cross_entropy")
def binary_cross_entropy(
    env: ShapeEnv,
    input: Shape,
    target: Shape,
    weight: Shape | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Shape:
    """The sizes of the input, or none; a weight broadcasts to them."""
    return _binary(env, input, target, (weight,), averaged(input, reduction, size_average, reduce, dtype=input.dtype))


@rule("binary_cross_entropy_with_logits")
def binary_cross_entropy_with_logits(
    env: ShapeEnv,
    input: Shape,
    target: Shape,
    weight: Shape | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Shape | None = None,
) -> Shape:
    """The sizes of the input, or none; weights broadcast to them."""
    result = averaged(input, reduction, size_average, reduce, dtype=input.dtype)
    return _binary(env, input, target, (weight, pos_weight), result)


def _binary(env: ShapeEnv, input: Shape, target: Shape, weights: Sequence[Shape | None], result: Shape) -> Shape:
    agreeing(env, target, input, "target: expected the sizes of the input")
    for weight in weights:
        if weight is not None:
            expandable(env, weight, input, "weight: does not broadcast to the input")
    return result


@rule("kl_div")
def kl_div(
    env: ShapeEnv,
    input: Shape,
    target: Shape,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Shape:
    """The sizes that both broadcast to, or none."""
    known = (*REDUCTIONS, "batchmean")
    sizes = broadcast(env, input, target)
    return averaged(sizes, reduction, size_average, reduce, dtype=promoted(input, target), known=known)


@rule("hinge_embedding_loss")
def hinge_embedding_loss(
    env: ShapeEnv,
    input: Shape,
    target: Shape,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Shape:
    """The sizes that both broadcast to, or none."""
    return averaged(broadcast(env, input, target), reduction, size_average, reduce)


@rule("soft_margin_loss")
def soft_margin_loss(
    env: ShapeEnv,
    input: Shape,
    target: Shape,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Shape:
    """The sizes of the input, or none; the target broadcasts to them."""
    expandable(env, target, input, "target: does not broadcast to the input")
    return averaged(input, reduction, size_average, reduce)


@rule("poisson_nll_loss")
def poisson_nll_loss(
    env: ShapeEnv,
    input: Shape,
    target: Shape,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-08,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Shape:
    """The sizes that both broadcast to, or none."""
    return averaged(broadcast(env, input, target), reduction, size_average, reduce)


@rule("gaussian_nll_loss")
def gaussian_nll_loss(
    env: ShapeEnv,
    input: Shape,
    target: Shape,
    var: Shape | float,
    full: bool = False,
    eps: float = 1e-06,
    reduction: str = "mean",
) -> Shape:
    """The sizes that all broadcast to, or none; one axis of the variances may be of size 1, or the last missing."""
    variances: Sequence[Int] = input
    if not isinstance(var, Shape):
        env.require(var >= 0, "var: expected 0 or more")
    elif len(var) == len(input) - 1:
        agreeing(env, var, input[:-1], VARIANCES)
        variances = (*var, 1)
    else:
        env.require(len(var) == len(input), VARIANCES)
        variances = var
        open_pairs = [(size, wanted) for size, wanted in zip(var, input) if not same(size, wanted)]
        if len(open_pairs) == 1:
            [(size, wanted)] = open_pairs
            env.require(sym_or(size == wanted, size == 1), VARIANCES)
        elif open_pairs:
            # as torch has it: the sizes that differ add up to 1
            differing = sym_sum([sym_ite(size == wanted, 0, size) for size, wanted in open_pairs])
            equal = sym_and(*[size == wanted for size, wanted in open_pairs])
            env.require(sym_or(equal, differing == 1), VARIANCES)
    return averaged(broadcast(env, input, target, variances), reduction)


@rule("margin_ranking_loss")
def margin_ranking_loss(
    env: ShapeEnv,
    input1: Shape,
    input2: Shape,
    target: Shape,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Shape:
    """The sizes that all three broadcast to, or none."""
    env.require(len(input1) == len(input2) == len(target), "expected inputs and target with equally many axes")
    return averaged(broadcast(env, input1, input2, target), reduction, size_average, reduce)


@rule("cosine_embedding_loss")
def cosine_embedding_loss(
    env: ShapeEnv,
    input1: Shape,
    input2: Shape,
    target: Shape,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Shape:
    """One number for each pair of rows, or for all of them."""
    env.require(len(target) < 2, "target: expected at most one axis")
    env.require(len(input1) == len(input2) == len(target) + 1, "expected inputs with one axis more than the target")
    rows = broadcast(env, input1, input2)[:-1]
    return averaged(broadcast(env, rows, target), reduction, size_average, reduce)


@rule("triplet_margin_loss")
def triplet_margin_loss(
    env: ShapeEnv,
    anchor: Shape,
    positive: Shape,
    negative: Shape,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-06,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Shape:
    """One number for each row, or for all of them."""
    sizes = _triplet(env, anchor, positive, negative, margin, p, swap)
    return averaged(sizes, reduction, size_average, reduce)


@rule("triplet_margin_with_distance_loss")
def triplet_margin_with_distance_loss(
    env: ShapeEnv,
    anchor: Shape,
    positive: Shape,
    negative: Shape,
    *,
    distance_function: None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Shape:
    """One number for each row, or for all of them."""
    env.require(distance_function is None, "distance_function: expected None, for which there is a rule")
    return averaged(_triplet(env, anchor, positive, negative, margin, 2, swap), reduction)


def _triplet(
    env: ShapeEnv, anchor: Shape, positive: Shape, negative: Shape, margin: float, p: float, swap: bool
) -> tuple[Int, ...]:
    env.require(margin > 0, "margin: expected more than 0")
    env.require(len(anchor) == len(positive) == len(negative), "expected three tensors with equally many axes")
    pairs = [(anchor, positive), (anchor, negative), *([(positive, negative)] if swap else [])]
    distances = []
    for one, other in pairs:
        sizes = broadcast(env, one, other)
        axis = axis_of(-1, len(sizes))
        if p < 0 or p == inf:
            need_elements(env, sizes, (axis,))
        distances.append(without(sizes, (axis,)))
    return broadcast(env, *distances)
