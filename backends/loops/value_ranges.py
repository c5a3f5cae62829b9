"""Interval analysis of integer tensors: symbolic bounds on their elements.

    >>> from shapes import ShapeEnv
    >>> from backends.decisions.questions import Decisions
    >>> from backends.loops.kernels import Buffer
    >>> from backends.loops.tensors import Expressions
    >>> env = ShapeEnv(origin=lambda: None)
    >>> (n,) = [size.expr for size in env.sizes("n")]
    >>> env.assume("1 <= n")
    >>> env.assume("n <= 1 << 40")
    >>> build = Expressions(Decisions(env))
    >>> x = build.memory(Buffer("x", "float32", (n,), (build.one,)))
    >>> positive = build.cast(build.apply("gt", x, build.number(0.0, "float32")), "int64")
    >>> last = build.apply("mul", positive, build.number(n - 1, "int64"))
    >>> print(*bounds(build, last))
    0 n - 1
    >>> is_inside(build, last, n), is_inside(build, last, n - 1)
    (True, False)

A gather needs no bounds check where its index is proven to be inside of the axis. The abstract domain is that of
intervals [first, last] with symbolic ends (Cousot and Cousot); an operation that may overflow int64 has none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from backends.decisions.questions import Choice
from backends.loops.nodes import CollapseAxes, Iota, Number, Pointwise, Reduce, RowOf, Rows, Tensor, View, descend
from backends.loops.tensors import Expressions
from solver.terms.expr import Expr
from solver.terms.prop import Prop

Bounds: TypeAlias = tuple[Expr, Expr]


def is_inside(build: Expressions, place: Tensor, size: Expr) -> bool:
    """Return True if every element is proven to be a valid index of an axis of this size."""
    found = bounds(build, place)
    if found is None:
        return False
    first, last = found
    return _holds(build, build.interner.conjunction([build.interner.ge(first, 0), build.interner.lt(last, size)]))


def bounds(build: Expressions, x: Tensor) -> Bounds | None:
    """The interval that contains every element; None if there is no bound."""
    found: dict[Tensor, Bounds | None] = {}
    for tensor in descend([x], lambda tensor: tensor.dtype == "int64"):
        found[tensor] = _bounds(build, tensor, found)
    return found[x]


def _bounds(build: Expressions, x: Tensor, known: Mapping[Tensor, Bounds | None]) -> Bounds | None:
    if x.dtype in ("bool", "uint8"):
        return build.zero, build.lift(1 if x.dtype == "bool" else 255)
    if x.dtype != "int64":
        return None
    match x:
        case Number(value=value) if isinstance(value, int | Expr):
            return build.lift(value), build.lift(value)
        case Iota(axis=axis):
            return build.zero, x.sizes[axis] - 1
        case Reduce(rows=Rows()):
            return None
        case View(source=source) | CollapseAxes(source=source) | Reduce(operation="minimum" | "maximum", source=source):
            return known[source]
        case RowOf(rows=rows):
            return build.zero, rows.count - 1
        case Pointwise(operation="cast", operands=(operand,)):
            return known[operand]
        case Pointwise(operation=operation, operands=operands):
            found = [each for each in map(known.get, operands) if each is not None]
            return _applied(build, operation, found) if len(found) == len(operands) else None
    return None


def _applied(build: Expressions, operation: str, operands: Sequence[Bounds]) -> Bounds | None:
    """The interval of an operation on intervals; None where int64 may overflow."""
    interner = build.interner
    if len(operands) < 2:
        return None
    (first, last), (other_first, other_last) = operands[-2:]
    match operation:
        case "select":
            return interner.minimum(first, other_first), interner.maximum(last, other_last)
        case "minimum":
            return interner.minimum(first, other_first), interner.minimum(last, other_last)
        case "maximum":
            return interner.maximum(first, other_first), interner.maximum(last, other_last)
        case "add":
            made = first + other_first, last + other_last
        case "sub":
            made = first - other_last, last - other_first
        case "mul" if _holds(build, interner.conjunction([interner.ge(first, 0), interner.ge(other_first, 0)])):
            made = first * other_first, last * other_last
        case _:
            return None
    fits = interner.conjunction([interner.ge(made[0], -(1 << 63)), interner.lt(made[1], 1 << 63)])
    return made if _holds(build, fits) else None


def _holds(build: Expressions, question: Prop) -> bool:
    return build.decisions.holds("inside", question, Choice("no bounds check", "a bounds check")) is True
