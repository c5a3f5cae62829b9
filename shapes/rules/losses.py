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

A rule gives the sizes before the reduction. Targets that are class indices, probabilities, or label sequences:

    >>> from shapes.rules import Shape
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, s, c = env.sizes("b s c")
    >>> rules["cross_entropy"](env, (b, c, s), Shape((b, s), dtype="int64"), reduction="none")
    Shape(b, s)
    >>> [guard.text for guard in env.guards()]           # a target is one of the classes
    ['c != 0 or b == 0 or s == 0']
    >>> rules["cross_entropy"](env, (b, c, s), (b, c, s), reduction="none")
    Shape(b, s)
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import wraps
from math import inf
from typing import Final

from shapes.env import ShapeEnv
from shapes.environment.layout import numel
from shapes.errors import ShapeError
from shapes.rules.axes import axis_of, without
from shapes.rules.broadcasting import agree, agree_all, broadcast, expandable, same
from shapes.rules.promotion import kind_of, promoted
from shapes.rules.reductions import need_elements
from shapes.rules.registry import Rule, rule
from shapes.rules.shape import Shape
from shapes.rules.structure import filled, pickable
from shapes.symbolic.choices import Int, sym_and, sym_ite, sym_or, sym_sum

VARIANCES: Final = "var: expected the sizes of the input, or one axis of size 1"
REDUCTIONS: Final = ("none", "mean", "sum")
REDUCED: Final = "size_average=None, reduce=None, reduction='mean'"
"""The reduction arguments of most losses: the older two arguments take precedence where they are given."""
Loss = Callable[..., Shape]  # type: ignore[explicit-any]  # any arguments


def loss(*names: str, schema: str, known: Sequence[str] = REDUCTIONS) -> Callable[[Loss], Rule]:
    """Register the rule of losses, which gives their sizes before the reduction."""

    def register(function: Loss) -> Rule:
        @wraps(function)
        def reduced(
            env: ShapeEnv,
            size_average: bool | None = None,
            reduce: bool | None = None,
            reduction: str = "mean",
            **arguments: object,
        ) -> Shape:
            if size_average is not None or reduce is not None:
                reduction = "none" if reduce is False else "sum" if size_average is False else "mean"
            if reduction not in known:
                raise ShapeError(f"reduction={reduction!r}: expected {', '.join(known[:-1])} or {known[-1]}")
            sizes = function(env, **arguments)
            return sizes if reduction == "none" else Shape(dtype=sizes.dtype)

        own = inspect.signature(function)
        _, *reductions, _ = inspect.signature(reduced, follow_wrapped=False).parameters.values()
        vars(reduced)["__signature__"] = own.replace(parameters=[*own.parameters.values(), *reductions])
        return rule(*names, schema=schema)(reduced)

    return register


def agreeing(env: ShapeEnv, one: Sequence[Int], other: Sequence[Int], message: str) -> None:
    """Require the same sizes."""
    env.require(len(one) == len(other), message)
    agree_all(env, one, other, message)


@loss("mse_loss", "l1_loss", schema=f"input, target, {REDUCED}, weight=None")
def mse_loss(env: ShapeEnv, input: Shape, target: Shape, weight: Shape | None) -> Shape:
    """The sizes that both broadcast to, or none."""
    return Shape(_weighted(env, input, target, weight), dtype=promoted(input, target))


def _weighted(env: ShapeEnv, input: Shape, target: Shape, weight: Shape | None) -> tuple[Int, ...]:
    """The sizes that both broadcast to, with a weight for each number of the input."""
    if weight is None:
        return broadcast(env, input, target)
    agreeing(env, weight, input, "weight: expected the sizes of the input")
    return broadcast(env, input, target, weight)


@loss("smooth_l1_loss", schema=f"input, target, {REDUCED}, beta=1.0")
def smooth_l1_loss(env: ShapeEnv, input: Shape, target: Shape, beta: float) -> Shape:
    """The sizes that both broadcast to, or none."""
    env.require(beta >= 0, "beta: expected 0 or more")
    return Shape(broadcast(env, input, target), dtype=promoted(input, target))


@loss("huber_loss", schema="input, target, reduction='mean', delta=1.0, weight=None")
def huber_loss(env: ShapeEnv, input: Shape, target: Shape, delta: float, weight: Shape | None) -> Shape:
    """The sizes that both broadcast to, or none."""
    env.require(delta > 0, "delta: expected more than 0")
    return Shape(_weighted(env, input, target, weight), dtype=promoted(input, target))


@loss("binary_cross_entropy", schema=f"input, target, weight=None, {REDUCED}")
def binary_cross_entropy(env: ShapeEnv, input: Shape, target: Shape, weight: Shape | None) -> Shape:
    """The sizes of the input, or none; a weight broadcasts to them."""
    return _binary(env, input, target, weight)


@loss("binary_cross_entropy_with_logits", schema=f"input, target, weight=None, {REDUCED}, pos_weight=None")
def binary_cross_entropy_with_logits(
    env: ShapeEnv, input: Shape, target: Shape, weight: Shape | None, pos_weight: Shape | None
) -> Shape:
    """The sizes of the input, or none; weights broadcast to them."""
    return _binary(env, input, target, weight, pos_weight)


def _binary(env: ShapeEnv, input: Shape, target: Shape, *weights: Shape | None) -> Shape:
    agreeing(env, target, input, "target: expected the sizes of the input")
    for weight in weights:
        if weight is not None:
            expandable(env, weight, input, "weight: does not broadcast to the input")
    return Shape(input, dtype=input.dtype)


@loss("kl_div", schema=f"input, target, {REDUCED}, log_target=False", known=(*REDUCTIONS, "batchmean"))
def kl_div(env: ShapeEnv, input: Shape, target: Shape) -> Shape:
    """The sizes that both broadcast to, or none."""
    return Shape(broadcast(env, input, target), dtype=promoted(input, target))


@loss("hinge_embedding_loss", schema=f"input, target, margin=1.0, {REDUCED}")
def hinge_embedding_loss(env: ShapeEnv, input: Shape, target: Shape) -> Shape:
    """The sizes that both broadcast to, or none."""
    return Shape(broadcast(env, input, target))


@loss("soft_margin_loss", schema=f"input, target, {REDUCED}")
def soft_margin_loss(env: ShapeEnv, input: Shape, target: Shape) -> Shape:
    """The sizes of the input, or none; the target broadcasts to them."""
    expandable(env, target, input, "target: does not broadcast to the input")
    return Shape(input)


@loss(
    "poisson_nll_loss",
    schema="input, target, log_input=True, full=False, size_average=None, eps=1e-08, reduce=None, reduction='mean'",
)
def poisson_nll_loss(env: ShapeEnv, input: Shape, target: Shape) -> Shape:
    """The sizes that both broadcast to, or none."""
    return Shape(broadcast(env, input, target))


@loss("gaussian_nll_loss", schema="input, target, var, full=False, eps=1e-06, reduction='mean'")
def gaussian_nll_loss(env: ShapeEnv, input: Shape, target: Shape, var: Shape | float) -> Shape:
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
    return Shape(broadcast(env, input, target, variances))


@loss("margin_ranking_loss", schema=f"input1, input2, target, margin=0, {REDUCED}")
def margin_ranking_loss(env: ShapeEnv, input1: Shape, input2: Shape, target: Shape) -> Shape:
    """The sizes that all three broadcast to, or none."""
    env.require(len(input1) == len(input2) == len(target), "expected inputs and target with equally many axes")
    return Shape(broadcast(env, input1, input2, target))


@loss("cosine_embedding_loss", schema=f"input1, input2, target, margin=0, {REDUCED}")
def cosine_embedding_loss(env: ShapeEnv, input1: Shape, input2: Shape, target: Shape) -> Shape:
    """One number for each pair of rows, or for all of them."""
    env.require(len(target) < 2, "target: expected at most one axis")
    env.require(len(input1) == len(input2) == len(target) + 1, "expected inputs with one axis more than the target")
    return Shape(broadcast(env, broadcast(env, input1, input2)[:-1], target))


@loss(
    "triplet_margin_loss",
    schema=f"anchor, positive, negative, margin=1.0, p=2, eps=1e-06, swap=False, {REDUCED}",
)
def triplet_margin_loss(
    env: ShapeEnv, anchor: Shape, positive: Shape, negative: Shape, margin: float, p: float, swap: bool
) -> Shape:
    """One number for each row, or for all of them."""
    return _triplet(env, anchor, positive, negative, margin, p, swap)


@loss(
    "triplet_margin_with_distance_loss",
    schema="anchor, positive, negative, *, distance_function=None, margin=1.0, swap=False, reduction='mean'",
)
def triplet_margin_with_distance_loss(
    env: ShapeEnv, anchor: Shape, positive: Shape, negative: Shape, distance_function: None, margin: float, swap: bool
) -> Shape:
    """One number for each row, or for all of them."""
    env.require(distance_function is None, "distance_function: expected None, for which there is a rule")
    return _triplet(env, anchor, positive, negative, margin, 2, swap)


def _triplet(
    env: ShapeEnv, anchor: Shape, positive: Shape, negative: Shape, margin: float, p: float, swap: bool
) -> Shape:
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
    return Shape(broadcast(env, *distances))


SAMPLES = "target: expected one class for each sample"


def _class_weight(env: ShapeEnv, weight: Shape | None, classes: Int) -> None:
    if weight is not None:
        env.require(len(weight) == 1, "weight: expected a vector")
        agree(env, weight[0], classes, "weight: expected one for each class")


def _classified(env: ShapeEnv, input: Shape, target: Shape, weight: Shape | None) -> tuple[Int, ...]:
    """The sizes of a loss whose targets are classes."""
    env.require(len(input) > 0, "input: expected at least one axis")
    env.require(kind_of(target.dtype) in (None, 1), "target: expected classes as integers")
    classes = input[0] if len(input) == 1 else input[1]
    _class_weight(env, weight, classes)
    if len(input) == 1:
        env.require(len(target) <= 1, SAMPLES)
        agreeing(env, target, [1] * len(target), SAMPLES)
        pickable(env, classes, target)
        return ()
    sizes = without(input, (1,))
    agreeing(env, target, sizes, SAMPLES)
    pickable(env, classes, target)
    return sizes


NLL = "input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction='mean'"


@loss("nll_loss", schema=NLL)
def nll_loss(env: ShapeEnv, input: Shape, target: Shape, weight: Shape | None) -> Shape:
    """The sizes without the axis of classes, or none."""
    return Shape(_classified(env, input, target, weight), dtype=input.dtype)


@loss("cross_entropy", schema=f"{NLL}, label_smoothing=0.0")
def cross_entropy(
    env: ShapeEnv, input: Shape, target: Shape, weight: Shape | None, label_smoothing: float
) -> Shape:
    """The sizes without the axis of classes, or none; targets with all axes are probabilities."""
    env.require(label_smoothing <= 1, "label_smoothing: expected at most 1")
    if len(target) != len(input) or (len(input) == 1 and kind_of(target.dtype) == 1):
        if len(input) == len(target):
            env.require(input[0] != 1, "target: with as many axes and elements, torch takes it for probabilities")
        sizes = _classified(env, input, target, weight)
    else:
        env.require(len(input) > 0, "input: expected at least one axis")
        env.require(kind_of(target.dtype) in (None, 2), "target: expected probabilities")
        agreeing(env, target, input, "target: expected the sizes of the input")
        axis = min(1, len(input) - 1)
        _class_weight(env, weight, input[axis])
        sizes = without(input, (axis,))
    return Shape(sizes, dtype=input.dtype)


@loss("multi_margin_loss", schema=f"input, target, p=1, margin=1.0, weight=None, {REDUCED}")
def multi_margin_loss(env: ShapeEnv, input: Shape, target: Shape, p: int, weight: Shape | None) -> Shape:
    """One number for each sample, or for all of them."""
    env.require(p in (1, 2), "p: expected 1 or 2")
    classes = _classes(env, input)
    samples = input[0] if len(input) == 2 else 1
    _class_weight(env, weight, classes)
    env.require(len(target) <= 1, SAMPLES)
    agree(env, numel(target), samples, SAMPLES)
    return Shape(target, dtype=input.dtype)


@loss("multilabel_margin_loss", schema=f"input, target, {REDUCED}")
def multilabel_margin_loss(env: ShapeEnv, input: Shape, target: Shape) -> Shape:
    """One number for each sample, or for all of them."""
    classes = _classes(env, input)
    message = "target: expected the sizes of the input"
    if len(input) < 2:
        env.require(len(target) <= 1, message)
        agree(env, numel(target), classes, message)
    else:
        agreeing(env, target, input, message)
    return Shape(input[:-1], dtype=input.dtype)


def _classes(env: ShapeEnv, input: Shape) -> Int:
    """The number of classes, of which there have to be some: one sample, or a batch of them."""
    env.require(len(input) < 3, "input: expected at most two axes")
    classes = input[-1] if input else 1
    env.require(classes != 0, "input: expected classes")
    return classes


@loss("multilabel_soft_margin_loss", schema=f"input, target, weight=None, {REDUCED}")
def multilabel_soft_margin_loss(env: ShapeEnv, input: Shape, target: Shape, weight: Shape | None) -> Shape:
    """The sizes without the axis of classes, or none."""
    env.require(len(input) > 0, "input: expected at least one axis")
    sizes = broadcast(env, input, target, *(() if weight is None else (weight,)))
    return Shape(without(sizes, (len(input) - 1,)))


@loss(
    "ctc_loss",
    schema="log_probs, targets, input_lengths, target_lengths, blank=0, reduction='mean', zero_infinity=False",
)
def ctc_loss(
    env: ShapeEnv, log_probs: Shape, targets: Shape, input_lengths: Shape, target_lengths: Shape, blank: int
) -> Shape:
    """One number for each of a batch, or for all of them. Lengths in a tensor are known only at run time."""
    env.require(len(log_probs) in (2, 3), "log_probs: expected two or three axes")
    env.require(filled(log_probs), "log_probs: expected elements")
    batched = len(log_probs) == 3
    batch = log_probs[1] if batched else 1
    env.require(blank >= 0, "blank: expected 0 or more")
    env.require(log_probs[-1] > blank, "blank: there is no such label")
    for lengths in (input_lengths, target_lengths):
        agree(env, numel(lengths), batch, "lengths: expected one for each of the batch")
    env.require(len(targets) in (1, 2), "targets: expected one or two axes")
    if len(targets) == 2:
        agree(env, targets[0], batch, "targets: expected one row for each of the batch")
    return Shape((batch,) if batched else (), dtype=log_probs.dtype)
