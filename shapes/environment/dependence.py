"""Dependence tests between two strided views of one storage: do they share an element?

    >>> from shapes import ShapeEnv
    >>> from shapes.environment.dependence import disjoint
    >>> from shapes.environment.layout import Layout
    >>> even, odd = Layout((4,), (2,), 0), Layout((4,), (2,), 1)
    >>> disjoint(even, odd, bool)
    ()
    >>> disjoint(Layout((4,), (1,), 0), Layout((4,), (1,), 1), bool) is None
    True
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, s, k = env.sizes("b s k", lo=1, hints=(4, 8, 3))
    >>> left, right = Layout((b, k), (s, 1), 0), Layout((b, s - k), (s, 1), k)        # x[:, :k] and x[:, k:]
    >>> disjoint(left, right, lambda truth: truth if isinstance(truth, bool) else env.hint(truth) is True)
    (s >= 1, k >= 0, k <= s)

The bounds test (Banerjee) compares the ranges of elements. Delinearization (Maslov) takes an address apart into a
quotient and a remainder by one of the strides: where no remainder reaches that stride, two elements are one only if
both agree, and either is a smaller problem. A common divisor of all strides is such a step as well (the GCD test).

A proof is the conditions that it needs. None says that no proof was found, not that an element is shared.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TypeAlias

from shapes.environment.layout import Layout, simple
from shapes.symbolic.choices import Int, Truth
from shapes.symbolic.numbers import SymInt

Axes: TypeAlias = tuple[tuple[Int, Int], ...]
"""Sizes and strides."""
Holds: TypeAlias = Callable[[Truth], bool]
"""A predicate that is True if a condition may be relied on."""
Proof: TypeAlias = tuple[Truth, ...]


def disjoint(one: Layout, other: Layout, holds: Holds) -> Proof | None:
    """The conditions, each of which `holds`, under which no element is in both; None without a proof."""
    distance = other.storage_offset - one.storage_offset
    found = _disjoint(_stepping(one), _stepping(other), distance, holds)
    return None if found is None else tuple([each for each in found if each is not True])


def injective(layout: Layout, holds: Holds) -> Proof | None:
    """The conditions under which no two indices of a layout are one element: each axis steps further than all those
    inside of it reach."""
    axes = [(size, stride) for size, stride in zip(layout.sizes, layout.strides) if not _is(size, 1)]
    conditions: list[Truth] = []
    inside: list[tuple[Int, Int]] = []
    while axes:
        reach = _reach(tuple(inside))
        found = next((axis for axis in axes if _innermost(axis, axes, holds)), None)
        if found is None or not holds(found[1] > reach):
            return None
        conditions.append(found[1] > reach)
        inside.append(found)
        axes.remove(found)
    return tuple([each for each in map(simple, conditions) if each is not True])


def identical(one: Layout, other: Layout, equal: Callable[[Int, Int], bool]) -> bool:
    """Return True if the same index is the same element in both."""
    if len(one.sizes) != len(other.sizes) or not equal(one.storage_offset, other.storage_offset):
        return False
    axes = zip(one.sizes, other.sizes, one.strides, other.strides)
    return all(equal(a, b) and (_is(a, 1) or equal(first, second)) for a, b, first, second in axes)


def _innermost(axis: tuple[Int, Int], axes: list[tuple[Int, Int]], holds: Holds) -> bool:
    return all(axis is other or holds(axis[1] <= other[1]) for other in axes)


def _stepping(layout: Layout) -> Axes:
    """The axes along which elements differ."""
    axes = zip(layout.sizes, layout.strides)
    return tuple([(size, stride) for size, stride in axes if not (_is(size, 1) or _is(stride, 0))])


def _reach(axes: Axes) -> Int:
    """The distance from the first element to the last."""
    reach: Int = 0
    for size, stride in axes:
        reach = reach + (size - 1) * stride
    return reach


def _disjoint(one: Axes, other: Axes, distance: Int, holds: Holds) -> Proof | None:
    for bounds in (_reach(one) < distance, distance + _reach(other) < 0):
        condition = simple(bounds)
        if holds(condition):
            return (condition,)
    for step in _steps(one, other):
        for first, second, apart in ((one, other, distance), (other, one, -distance)):
            found = _delinearized(first, second, apart, step, holds)
            if found is not None:
                return found
    return None


def _steps(one: Axes, other: Axes) -> Iterator[Int]:
    """Divisors that may split an address; each makes the remaining strides smaller or fewer."""
    strides: list[Int] = []
    for _, stride in (*one, *other):
        if not (_is(stride, 1) or any(_same(stride, other) for other in strides)):
            strides.append(stride)
    yield from strides
    numbers = [stride for _, stride in (*one, *other) if isinstance(stride, int)]
    common = math.gcd(*numbers)
    if len(numbers) == len(one) + len(other) and common > 1 and common not in numbers:
        yield common


def _delinearized(one: Axes, other: Axes, distance: Int, step: Int, holds: Holds) -> Proof | None:
    """A proof that quotients differ, or remainders, where the second begins `distance` behind the first."""
    first, second = _divided(one, step), _divided(other, step)
    for quotient in _quotients(distance, step):
        remainder = distance - quotient * step
        conditions = [
            simple(step >= 1),
            simple(remainder >= 0),
            simple(_reach(first[1]) < step),
            simple(remainder + _reach(second[1]) < step),
        ]
        if all(map(holds, conditions)):
            rest = _disjoint(first[1], second[1], remainder, holds)
            if rest is None:
                rest = _disjoint(first[0], second[0], quotient, holds)
            if rest is not None:
                return (*conditions, *rest)
    return None


def _divided(axes: Axes, step: Int) -> tuple[Axes, Axes]:
    """The axes whose strides are multiples of a step, divided by it, and the others."""
    outer: list[tuple[Int, Int]] = []
    inner: list[tuple[Int, Int]] = []
    for size, stride in axes:
        quotient = 1 if _same(stride, step) else stride // step
        if _same(quotient * step, stride):
            outer.append((size, quotient))
        else:
            inner.append((size, stride))
    return tuple(outer), tuple(inner)


def _quotients(distance: Int, step: Int) -> Iterator[Int]:
    """The distance divided by the step, plain forms first: any is right whose remainder is below the step."""
    exact = distance // step
    if isinstance(exact, int):
        yield exact
        return
    constant = distance if isinstance(distance, int) else distance.expr.constant
    rounded = (distance - constant) // step
    if not isinstance(rounded, SymInt) or rounded.expr.depth <= _depth(distance):
        yield rounded
        yield rounded - 1
    yield from (0, -1)
    yield exact


def _depth(number: Int) -> int:
    return 0 if isinstance(number, int) else number.expr.depth


def _same(one: Int, other: Int) -> bool:
    """Return True if two numbers are the same expression."""
    if isinstance(one, int) or isinstance(other, int):
        return isinstance(one, int) and isinstance(other, int) and one == other
    return one.expr is other.expr


def _is(value: Int, number: int) -> bool:
    """Return True if a number is this one, whatever the sizes."""
    return isinstance(value, int) and value == number


__all__ = ["disjoint", "identical", "injective"]
