"""A decision tree over the conditions of all variants: chooses one by few tests.

A variant is a list of conditions over shared operations, and of opaque tests (an input equals a value). The first
variant, in the order in which they were added, whose conditions all hold is the answer; the tree gives the same
answer as trying each in order:

    >>> from shapes.guards.decision_tree import Variant, grow
    >>> from shapes.guards.lowering import Operations
    >>> operations = Operations()
    >>> s = operations.leaf(0)
    >>> bounds = [(16 * k, 16 * k + 15) for k in range(8)]
    >>> def variant(low, high):
    ...     conditions = [operations.make(code, (s, operations.constant(k))) for code, k in (("ge", low), ("le", high))]
    ...     return Variant(low // 16, tuple(conditions), {}, frozenset([0]))
    >>> tree = grow(operations, [variant(low, high) for low, high in bounds])
    >>> type(tree).__name__
    'Split'

A node tests what every remaining variant requires, then splits on what separates them best: a value that many require
(a table), a threshold, or a condition and its opposite. Where nothing separates them, the rest are tried one by one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from shapes.guards.emit_python import reachable
from shapes.guards.lowering import Operation, Operations
from shapes.guards.ordering import OPPOSITE, cost, ordered

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Variant:
    """The requirements of one variant; `inputs` are the positions of all inputs that it takes to be there."""

    number: int
    conditions: tuple[Operation, ...]
    tests: dict[Operation, Hashable]
    """The values that inputs must equal."""
    inputs: frozenset[int]


Test = tuple[Operation, Hashable]
"""An input and the value that it must equal."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """A variant with the conditions and opaque tests that are still open."""

    variant: Variant
    conditions: tuple[Operation, ...]
    tests: tuple[Test, ...]


@dataclass(frozen=True, slots=True)
class Attempts:
    """The remaining variants, one after the other."""

    attempts: tuple[Attempt, ...]


@dataclass(frozen=True, slots=True)
class Required:
    """Conditions and opaque tests that all remaining variants share, and what to do where they hold; else none fits."""

    conditions: tuple[Operation, ...]
    tests: tuple[Test, ...]
    then: Tree


@dataclass(frozen=True, slots=True)
class Table:
    """A branch for each value of an operation that some variant requires, and one for all other values."""

    subject: Operation
    branches: dict[Hashable, Tree]
    otherwise: Tree


@dataclass(frozen=True, slots=True)
class Split:
    """A condition, and what to do where it holds and where it does not."""

    condition: Operation
    then: Tree
    otherwise: Tree


@dataclass(frozen=True, slots=True)
class Present:
    """Inputs that some variants need and others do not: what to do where they are there, and where one is not."""

    inputs: frozenset[int]
    then: Tree
    otherwise: Tree


Tree = Attempts | Required | Table | Split | Present


@dataclass(frozen=True, slots=True)
class _State:
    """One remaining variant with what a path through the tree has not decided."""

    variant: Variant
    values: dict[Operation, Hashable]
    least: dict[Operation, int]
    most: dict[Operation, int]
    others: frozenset[Operation]

    @staticmethod
    def of(variant: Variant) -> _State:
        values: dict[Operation, Hashable] = dict(variant.tests)
        least: dict[Operation, int] = {}
        most: dict[Operation, int] = {}
        others = []
        for condition in variant.conditions:
            code, subject, bound = _bound(condition)
            if code == "eq" and subject not in values:
                values[subject] = bound
            elif code == "ge" and subject not in least:
                least[subject] = bound
            elif code == "le" and subject not in most:
                most[subject] = bound
            else:
                others.append(condition)
        return _State(variant, values, least, most, frozenset(others))

    def is_open(self, condition: Operation) -> bool:
        """Return True if a condition of the variant is still to be tested."""
        code, subject, bound = _bound(condition)
        known = self.values if code == "eq" else self.least if code == "ge" else self.most
        return condition in self.others or (code != "" and known.get(subject, _NOTHING) == bound)

    def assuming(self, condition: Operation) -> _State:
        """The state where the condition has held."""
        code, subject, bound = _bound(condition)
        if code == "eq":
            return self.with_value(subject, bound)
        if code == "ge" and self.least.get(subject, bound + 1) <= bound:
            return replace(self, least=_but(self.least, subject))
        if code == "le" and self.most.get(subject, bound - 1) >= bound:
            return replace(self, most=_but(self.most, subject))
        return replace(self, others=self.others - {condition}) if condition in self.others else self

    def with_value(self, subject: Operation, value: Hashable) -> _State:
        """The state where an operation is known to have a value."""
        return replace(self, values=_but(self.values, subject)) if self.values.get(subject, _NOTHING) == value else self

    def allows(self, subject: Operation, value: Hashable) -> bool:
        """Return True if the required bounds of an operation allow a value."""
        if not isinstance(value, int):
            return True
        return self.least.get(subject, value) <= value <= self.most.get(subject, value)


_NOTHING: Final = object()


def _but(entries: dict[Operation, Value], subject: Operation) -> dict[Operation, Value]:
    return {key: value for key, value in entries.items() if key is not subject}


def _bound(condition: Operation) -> tuple[str, Operation, int]:
    """`(code, subject, number)` of a bound by a constant; the code is empty for another condition."""
    if condition.code in ("eq", "ge", "le") and condition.operands[1].code == "constant":
        return condition.code, condition.operands[0], condition.operands[1].number
    return "", condition, 0


def grow(operations: Operations, variants: Sequence[Variant], there: frozenset[int] = frozenset()) -> Tree:
    """The tree over these variants; `there` are positions of inputs that can always be read."""
    return _grow(operations, [_State.of(variant) for variant in variants], there)


def _grow(operations: Operations, states: Sequence[_State], there: frozenset[int]) -> Tree:
    if len(states) <= 1:
        return _attempts(operations, states)
    conditions, tests, states = _take_common(operations, states)
    best = min(_divisions(operations, states, there), key=lambda division: division.score, default=None)
    tree = _present(operations, states, there) if best is None else _divided(operations, best, there)
    return Required(conditions, tests, tree) if conditions or tests else tree


def _divided(operations: Operations, division: _Division, there: frozenset[int]) -> Tree:
    if division.table is not None:
        branches = {}
        for value, group in division.table.items():
            known = [state.with_value(division.subject, value) for state in group]
            branches[value] = _grow(operations, known, there)
        return Table(division.subject, branches, _grow(operations, division.otherwise, there))
    condition, opposite = division.subject, _opposite(operations, division.subject)
    then = _grow(operations, [state.assuming(condition) for state in division.then], there)
    otherwise = _grow(operations, [state.assuming(opposite) for state in division.otherwise], there)
    return Split(condition, then, otherwise)


def _present(operations: Operations, states: Sequence[_State], there: frozenset[int]) -> Tree:
    """Divided by whether an input is there that most variants need, if that helps; otherwise one by one."""
    needs = Counter([position for state in states for position in state.variant.inputs - there])
    for position, count in needs.most_common():
        if count < len(states) and 4 * (len(states) - count) <= 3 * len(states):
            lacking = [state for state in states if position not in state.variant.inputs]
            having = [state.variant.inputs for state in states if position in state.variant.inputs]
            alike = frozenset.intersection(*having) - there
            more = there.union([other for other in alike if needs[other] == count])
            best = min(_divisions(operations, states, more), key=lambda division: division.score, default=None)
            if best is not None:
                return Present(more - there, _divided(operations, best, more), _grow(operations, lacking, there))
    return _attempts(operations, states)


def _attempts(operations: Operations, states: Iterable[_State]) -> Attempts:
    tried = []
    for state in states:
        conditions = [condition for condition in state.variant.conditions if state.is_open(condition)]
        tests = [(subject, value) for subject, value in state.variant.tests.items() if subject in state.values]
        tried.append(Attempt(state.variant, tuple(ordered(operations, conditions)), tuple(tests)))
    return Attempts(tuple(tried))


def _take_common(
    operations: Operations, states: Sequence[_State]
) -> tuple[tuple[Operation, ...], tuple[Test, ...], list[_State]]:
    """The requirements common to all states, removed from each."""
    first, *rest = states
    conditions = [
        condition
        for condition in first.variant.conditions
        if first.is_open(condition)
        and all(condition in state.variant.conditions and state.is_open(condition) for state in rest)
    ]
    tests = [
        (subject, value)
        for subject, value in first.variant.tests.items()
        if subject in first.values and all(state.values.get(subject, _NOTHING) == value for state in rest)
    ]
    remaining = []
    for state in states:
        for condition in conditions:
            state = state.assuming(condition)
        for subject, value in tests:
            state = state.with_value(subject, value)
        remaining.append(state)
    return tuple(ordered(operations, conditions)), tuple(tests), remaining


@dataclass(frozen=True, slots=True)
class _Division:
    """One way to divide the states: by a condition, or by the value of an operation."""

    score: float
    subject: Operation
    table: dict[Hashable, list[_State]] | None
    then: list[_State]
    otherwise: list[_State]


def _divisions(operations: Operations, states: Sequence[_State], there: frozenset[int]) -> Iterator[_Division]:
    """The ways to divide the states that leave fewer in every part, without many copies."""
    subjects: Counter[Operation] = Counter()
    conditions: Counter[Operation] = Counter()
    for state in states:
        subjects.update({*state.values, *state.least, *state.most})
        conditions.update(state.others)
    shared = there.union(frozenset.intersection(*[state.variant.inputs for state in states]))
    for subject, uses in subjects.items():
        if uses > 1 and _reads(subject) <= shared:
            yield from _by_value(states, subject)
            yield from _by_threshold(operations, states, subject)
    for condition in conditions:
        if condition.code in OPPOSITE and _reads(condition) <= shared:
            opposite = _opposite(operations, condition)
            then = [state for state in states if not state.is_open(opposite)]
            if len(then) < len(states):
                otherwise = [state for state in states if condition not in state.others]
                yield from _weighed(condition, None, then, otherwise, len(states))


def _reads(root: Operation) -> frozenset[int]:
    return frozenset([node.number for node in reachable([root]) if node.code == "leaf"])


def _opposite(operations: Operations, condition: Operation) -> Operation:
    """The complement; for a bound by a constant a bound of the other kind, as conditions have it."""
    a, b = condition.operands
    if b.code == "constant" and condition.code in ("ge", "le"):
        code, number = ("le", b.number - 1) if condition.code == "ge" else ("ge", b.number + 1)
        return operations.make(code, (a, operations.constant(number)))
    return operations.make(OPPOSITE[condition.code], (a, b))


def _by_value(states: Sequence[_State], subject: Operation) -> Iterator[_Division]:
    groups: dict[Hashable, list[_State]] = {}
    free = []
    for state in states:
        if subject in state.values:
            groups.setdefault(state.values[subject], []).append(state)
        else:
            free.append(state)
    if len(groups) < 2:
        return
    for value, group in groups.items():
        group += [state for state in free if state.allows(subject, value)]
        group.sort(key=lambda state: state.variant.number)
    yield from _weighed(subject, groups, [], free, len(states))


def _by_threshold(operations: Operations, states: Sequence[_State], subject: Operation) -> Iterator[_Division]:
    """Below a number and from it on, at the number that divides the states most evenly."""
    ends: list[tuple[int | None, int | None]] = []
    for state in states:
        value = state.values.get(subject)
        if subject in state.variant.tests or not (value is None or isinstance(value, int)):
            return
        ends.append((state.least.get(subject), state.most.get(subject)) if value is None else (value, value))
    lows = sorted([low for low, _ in ends if low is not None])
    highs = sorted([high for _, high in ends if high is not None])
    best: tuple[int, int] | None = None
    for cut in sorted({*lows, *[high + 1 for high in highs]}):
        below = len(ends) - len(lows) + bisect_left(lows, cut)
        above = len(ends) - bisect_left(highs, cut)
        if best is None or max(below, above) < best[0]:
            best = (max(below, above), cut)
    if best is not None:
        cut = best[1]
        then = [state for state, (_, high) in zip(states, ends) if high is None or high >= cut]
        otherwise = [state for state, (low, _) in zip(states, ends) if low is None or low < cut]
        condition = operations.make("ge", (subject, operations.constant(cut)))
        yield from _weighed(condition, None, then, otherwise, len(states))


def _weighed(
    subject: Operation,
    table: dict[Hashable, list[_State]] | None,
    then: list[_State],
    otherwise: list[_State],
    count: int,
) -> Iterator[_Division]:
    """The division, if it is worth making: nowhere more than three quarters remain, and a small part is copied."""
    parts = [then, otherwise] if table is None else [*table.values(), otherwise]
    largest = max([len(part) for part in parts])
    copies = sum([len(part) for part in parts]) - count
    useful = largest < count if count <= 3 else 4 * largest <= 3 * count
    if useful and copies <= (count // 3 if table is None else 2 * count):
        yield _Division(largest + copies / 4 + cost(subject) / 8, subject, table, then, otherwise)
