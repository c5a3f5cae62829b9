"""Mean and variance of tensor expressions.

    >>> from shapes import ShapeEnv
    >>> from backends.decisions.questions import Decisions
    >>> from backends.loops.kernels import Buffer
    >>> from backends.loops.tensors import Expressions
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, s = [size.expr for size in env.sizes("b s", hints=(4, 8))]
    >>> build = Expressions(Decisions(env))
    >>> x = Value(build, build.memory(Buffer("x", "float32", (b, s), (s, build.one))), (b, s))
    >>> moments(x, (1,), keepdim=True)
    (float32[b, 1], float32[b, 1])
"""

from __future__ import annotations

from typing import Final

from backends.loops.values import Value

LONG: Final = 8192
"""Rows of at least this length are normalized by the corrected algorithm, which takes a tenth longer in cache."""


def moments(
    x: Value, axes: tuple[int, ...], correction: int = 0, *, keepdim: bool = False, normalizes: bool = False
) -> tuple[Value, Value]:
    """Variance and mean, in the dtype that x is computed in: the corrected two-pass algorithm (Chan, Golub, LeVeque
    1983).

    The mean is rounded by some d, so each squared deviation is too large by d * d; eager sums doubles or uses Welford's
    algorithm. The deviations are summed as well, which gives d times their number, and the squares are corrected by it.
    Short rows are normalized without, which is as accurate as eager's normalization.
    """
    x = x.computed()
    average = x.mean(axes, keepdim=True)
    away = x - average
    whole = x.count(axes)
    if normalizes and not correction and whole.evaluate(x.build.decisions.hints) < LONG:
        variance = (away * away).mean(axes, keepdim=True)
        return (variance, average) if keepdim else (variance.squeezed(axes), average.squeezed(axes))
    count = whole - correction
    off = away.sum(axes, keepdim=True)
    rest = off / whole
    much = off * rest
    # if the mean is infinite, no deviation is finite: no correction
    finite = (much - much).equals(0)
    squares = ((away * away).sum(axes, keepdim=True) - finite.select(much, 0)).apply("maximum", 0)
    variance = squares / (count if correction <= 0 else x.build.interner.maximum(count, 0))
    average = average + finite.select(rest, 0)
    return (variance, average) if keepdim else (variance.squeezed(axes), average.squeezed(axes))
