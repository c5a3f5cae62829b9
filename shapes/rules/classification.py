"""Classification losses: targets that are class indices, probabilities, or label sequences.

    >>> from shapes import ShapeEnv
    >>> from shapes.rules import Shape, rules
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

from shapes.env import ShapeEnv
from shapes.environment.layout import numel
from shapes.rules.axes import without
from shapes.rules.broadcasting import agree, broadcast
from shapes.rules.losses import REDUCED, agreeing, loss
from shapes.rules.promotion import kind_of
from shapes.rules.shape import Shape
from shapes.rules.structure import filled, pickable
from shapes.symbolic.choices import Int

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


