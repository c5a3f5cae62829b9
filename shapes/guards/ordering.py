"""The order in which a check tests its conditions, and what passed tests establish for later ones.

Cheap tests that reject much come first. What a test passed establishes is used by those after it: a divisor known
not to be zero needs no test of its own, and a condition that follows is left out.

    >>> from shapes.guards.lowering import Operations
    >>> from shapes.guards.ordering import ordered
    >>> operations = Operations()
    >>> s, zero, one = operations.leaf(0), operations.constant(0), operations.constant(1)
    >>> nonzero, positive = operations.make("ne", (s, zero)), operations.make("ge", (s, one))
    >>> ordered(operations, [nonzero, positive]) == [positive]
    True

Every operation is total, so the order never changes the answer, only its cost.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from shapes.guards.lowering import COMPARISONS, CONDITIONS, Operation, Operations
from solver.terms.intervals import EVERYTHING, Interval, meet
from solver.terms.operations import OPERATIONS

LOOK: Final = 8
"""The depth to which the sign of an expression is looked for."""

COSTS: Final = dict.fromkeys(("floordiv", "mod", "relu", "max", "min", "abs", "select"), 2) | {"power": 6, "call": 12}
"""The cost of an operation in elementary ones: 1 where it is not listed."""
OPPOSITE: Final = {"ge": "lt", "lt": "ge", "gt": "le", "le": "gt", "eq": "ne", "ne": "eq"}


class Established:
    """The facts known once some conditions have held: bounds of operations, and those that are not zero."""

    def __init__(self, operations: Operations) -> None:
        self._operations = operations
        self._bounds: dict[Operation, Interval] = {}
        self._held: set[Operation] = set()

    def copy(self) -> Established:
        other = Established(self._operations)
        other._bounds, other._held = dict(self._bounds), set(self._held)
        return other

    def add(self, condition: Operation) -> None:
        """The condition has held."""
        self._held.add(condition)
        if condition.code == "all":
            for part in condition.operands:
                self.add(part)
        if condition.code not in COMPARISONS:
            return
        a, b = condition.operands
        strict = int(condition.code in ("gt", "lt"))
        if condition.code in ("ge", "gt", "eq"):
            self._order(b, a, strict)
        if condition.code in ("le", "lt", "eq"):
            self._order(a, b, strict)

    def _order(self, low: Operation, high: Operation, strict: int) -> None:
        """One is at most the other, or less."""
        least = None if high.code == "constant" else self.bounds(low)[0]
        most = None if low.code == "constant" else self.bounds(high)[1]
        if least is not None:
            self._bounds[high] = meet(self._bounds.get(high, EVERYTHING), (least + strict, None))
        if most is not None:
            self._bounds[low] = meet(self._bounds.get(low, EVERYTHING), (None, most - strict))

    def refuse(self, condition: Operation) -> None:
        """The condition has not held."""
        if condition.code in COMPARISONS:
            self.add(self._operations.make(OPPOSITE[condition.code], condition.operands))
        elif condition.code == "any":
            for part in condition.operands:
                self.refuse(part)

    def holds(self, condition: Operation, look: int = LOOK) -> bool:
        """Return True if the condition follows, as far as bounds tell."""
        if condition in self._held or condition.code == "true":
            return True
        if look and condition.code == "all":
            return all(self.holds(part, look - 1) for part in condition.operands)
        if look and condition.code == "any":
            return any(self.holds(part, look - 1) for part in condition.operands)
        if condition.code not in COMPARISONS:
            return False
        a, b = condition.operands
        if condition.code == "ne" and b.code == "constant" and b.number == 0:
            return self.nonzero(a)
        (low_a, high_a), (low_b, high_b) = self.bounds(a), self.bounds(b)
        low = None if low_a is None or high_b is None else low_a - high_b
        high = None if high_a is None or low_b is None else high_a - low_b
        match condition.code:
            case "ge" | "gt":
                return low is not None and low >= (condition.code == "gt")
            case "le" | "lt":
                return high is not None and -high >= (condition.code == "lt")
            case "eq":
                return low == high == 0
            case _:
                return (low is not None and low > 0) or (high is not None and high < 0)

    def nonzero(self, node: Operation, look: int = LOOK) -> bool:
        if node.code == "constant":
            return node.number != 0
        least, most = self.bounds(node, look)
        if (least is not None and least > 0) or (most is not None and most < 0):
            return True
        if look and node.code == "mul":
            return all(self.nonzero(operand, look - 1) for operand in node.operands)
        if look and node.code == "power":
            base, exponent = node.operands
            smallest, _ = self.bounds(exponent, look - 1)
            return smallest is not None and smallest >= 0 and self.nonzero(base, look - 1)
        return self._apart(node) in self._held

    def _apart(self, node: Operation) -> Operation:
        """The condition `node != 0` as a comparison of two sides."""
        if node.code == "sum":
            return self._operations.compare("ne", list(zip(node.coefficients, node.operands)), node.number)
        return self._operations.make("ne", (node, self._operations.constant(0)))

    def bounds(self, node: Operation, look: int = LOOK) -> Interval:
        """An interval that the value is in."""
        if node.code == "constant":
            return node.number, node.number
        known = self._bounds.get(node)
        if not look or not node.operands:
            return EVERYTHING if known is None else known
        by_form = self._bounds_by_form(node, look - 1)
        return by_form if known is None else meet(known, by_form)

    def _bounds_by_form(self, node: Operation, look: int) -> Interval:
        if node.code in CONDITIONS or node.code == "select":
            return EVERYTHING
        operands = [self.bounds(operand, look) for operand in node.operands]
        match node.code:
            case "sum":
                low: int | None = node.number
                high: int | None = node.number
                for c, bounds in zip(node.coefficients, operands):
                    least, most = bounds if c > 0 else bounds[::-1]
                    low = None if low is None or least is None else low + c * least
                    high = None if high is None or most is None else high + c * most
                return low, high
            case "mod" | "floordiv" if operands[1][0] == 0:  # a divisor that may be zero
                least, most = operands[0]
                return (0, most) if least is not None and least >= 0 else EVERYTHING
            case "mod":
                least, most = operands[1]
                return (0, None if most is None else most - 1) if least is not None and least > 0 else EVERYTHING
            case "abs":
                return 0, None
            case "max":
                return meet((operands[0][0], None), (operands[1][0], None))
        row = OPERATIONS.get("product" if node.code == "mul" else node.name or node.code)
        return EVERYTHING if row is None else row.bounds(*operands)


def ordered(operations: Operations, conditions: Iterable[Operation]) -> list[Operation]:
    """The conditions whose conjunction is that of the given ones, in the order in which to test them."""
    remaining = dict.fromkeys(sorted(_tightest(_flat(conditions)), key=_rank))
    by_subject: dict[Operation, list[Operation]] = {}
    for condition in remaining:
        for operand in condition.operands if condition.code in COMPARISONS else ():
            by_subject.setdefault(operand, []).append(condition)
    established = Established(operations)
    result: list[Operation] = []

    def emit(condition: Operation, look: int = LOOK) -> None:
        """Test this condition now, after those that make its divisors safe or itself superfluous."""
        del remaining[condition]
        for node in _divisors(condition) if look else ():
            if not established.nonzero(node):
                for first in _about(node, by_subject):
                    if first in remaining:
                        emit(first, look - 1)
        if not established.holds(condition):
            established.add(condition)
            result.append(condition)

    for condition in list(remaining):
        if condition in remaining:
            emit(condition)
    return result


def _flat(conditions: Iterable[Operation]) -> Iterable[Operation]:
    for condition in conditions:
        if condition.code == "all":
            yield from _flat(condition.operands)
        elif condition.code != "true":
            yield condition


def _tightest(conditions: Iterable[Operation]) -> list[Operation]:
    """The conditions without constant bounds of an operation that a tighter one implies."""
    kept: dict[Operation, None] = {}
    bounds: dict[Operation, list[Operation]] = {}
    for condition in conditions:
        if condition.code in COMPARISONS and condition.operands[1].code == "constant":
            bounds.setdefault(condition.operands[0], []).append(condition)
        kept[condition] = None
    for group in bounds.values():
        strongest = {}
        for condition in sorted(group, key=lambda condition: condition.operands[1].number):
            # the largest of the lower bounds, the least of the upper
            if condition.code == "ge" or condition.code not in strongest:
                strongest[condition.code] = condition
        for condition in group:
            if any(_implies(other, condition) for other in strongest.values()):
                kept.pop(condition, None)
    return list(kept)


def _implies(strong: Operation, weak: Operation) -> bool:
    """Return True if one bound by a constant implies another of the same operation, which is not the same bound."""
    a, b = strong.operands[1].number, weak.operands[1].number
    low, high = a if strong.code in ("eq", "ge") else None, a if strong.code in ("eq", "le") else None
    match weak.code:
        case "ge" | "gt":
            return strong is not weak and low is not None and low - b >= (weak.code == "gt")
        case "le" | "lt":
            return strong is not weak and high is not None and b - high >= (weak.code == "lt")
        case "ne":
            return (low is not None and low > b) or (high is not None and high < b)
        case _:
            return False


def _rank(condition: Operation) -> float:
    """Expected cost of rejecting by this test: cost over the chance that it rejects."""
    return cost(condition) / rejects(condition)


def cost(root: Operation) -> int:
    """The number of elementary operations it takes, each distinct one once."""
    seen = {root}
    stack = [root]
    total = 0
    while stack:
        node = stack.pop()
        total += len(node.operands) if node.code == "sum" else COSTS.get(node.code, int(not node.is_leaf))
        for operand in node.operands:
            if operand not in seen:
                seen.add(operand)
                stack.append(operand)
    return total


def rejects(condition: Operation) -> float:
    """A guess of how often a size that was not seen before fails this test."""
    match condition.code:
        case "eq":
            a, b = condition.operands
            if a.code == "mod" and a.operands[1].code == "constant":
                return 1 - 1 / max(2, min(abs(a.operands[1].number), 1000))
            return 0.9 if b.code == "constant" else 0.8
        case "ge" | "gt" | "le" | "lt":
            bound = condition.operands[1]
            if bound.code != "constant":
                return 0.5
            if condition.code == "ge" and bound.number <= 2:
                return 0.05  # a size below 2 is rare
            return 0.3 if bound.number < 1 << 31 else 0.02
        case "all":
            return 0.6
        case "any":
            return 0.2
        case "false":
            return 1.0
        case _:
            return 0.05


def _divisors(condition: Operation) -> list[Operation]:
    """The operations that must not be zero for this test to need no test of a divisor; for `x != 0` also x, since the
    test may then be left out.
    """
    found: dict[Operation, None] = {}
    seen = {condition}
    stack = [condition]
    while stack:
        node = stack.pop()
        if node.code in ("floordiv", "mod") and node.operands[1].code != "constant":
            found[node.operands[1]] = None
        for operand in node.operands:
            if operand not in seen:
                seen.add(operand)
                stack.append(operand)
    if condition.code == "ne":
        found[condition.operands[0]] = None
    return list(found)


def _about(node: Operation, by_subject: dict[Operation, list[Operation]]) -> Sequence[Operation]:
    """Conditions that could establish that an operation is not zero: about it, or about what it is made of."""
    subjects = [node, *node.operands]
    for operand in node.operands:
        subjects.extend(operand.operands)
    return [condition for subject in subjects for condition in by_subject.get(subject, ()) if _bounds_away(condition)]


def _bounds_away(condition: Operation) -> bool:
    return condition.code in ("ge", "gt", "ne", "eq") or condition.operands[0].code == "constant"
