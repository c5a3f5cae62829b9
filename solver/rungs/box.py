"""Small boxes: every assignment of symbols with few values each, one column per expression.

    >>> from solver.interner import Interner
    >>> from solver.facts import Facts
    >>> from solver.ladder import decide
    >>> terms = Interner()
    >>> x, y = terms.symbol("x"), terms.symbol("y")
    >>> known = Facts.empty(terms).declare_range(x, 0, 15).declare_range(y, 0, 15)
    >>> decide(known, terms.le(terms.bit_or(x, y), 15)).rung
    'box'

Facts about the same symbols leave assignments out. An assignment that none leaves out and that the goal fails is tried
as a witness.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING, Final

from solver.explain import prove_bound
from solver.expr import Atom, Expr, evaluate_atom
from solver.facts import Facts
from solver.knowledge import Knowledge
from solver.prop import Prop
from solver.reasons import Reason, boxed

if TYPE_CHECKING:
    from solver.ladder import Climb

VOLUME: Final = {"fast": 512, "full": 4096}
"""Assignments in a box."""
CONSTRAINTS: Final = 24
TRIED: Final = 3


class Table:
    """The values of expressions under many assignments at once."""

    __slots__ = ("columns", "count", "products")

    def __init__(self, symbols: Sequence[Atom], sides: Sequence[range]) -> None:
        points = list(zip(*product(*sides), strict=True))
        self.count = len(points[0]) if points else 1
        self.columns: dict[Atom, Sequence[int]] = dict(zip(symbols, points, strict=True))
        self.products: dict[int, Sequence[int]] = {}

    def column(self, atom: Atom) -> Sequence[int]:
        found = self.columns.get(atom)
        if found is None:
            for inner in atom.expr.schedule:
                if inner not in self.columns:
                    self.columns[inner] = self.operation(inner)
            found = self.columns[atom]
        return found

    def operation(self, atom: Atom) -> Sequence[int]:
        match atom.kind, atom.args:
            case "floordiv", (Expr() as n, Expr() as d):
                return [x // y if y else 0 for x, y in zip(self.values(n), self.values(d), strict=True)]
            case "relu", (Expr() as e,):
                return [x if x > 0 else 0 for x in self.values(e)]
            case "ite", (Prop() as p, Expr() as e):
                return [x if truth else 0 for x, truth in zip(self.values(e), self.truths(p), strict=True)]
            case "bitand", (Expr() as a, Expr() as b):
                return [x & y for x, y in zip(self.values(a), self.values(b), strict=True)]
            case _:
                monomials = atom.expr.interner.monomials
                direct = {a for arg in atom.args if isinstance(arg, Expr) for m, _ in arg.terms for a in monomials[m]}
                columns = {a: self.column(a) for a in direct}
                return [evaluate_atom(atom, {a: column[i] for a, column in columns.items()}) for i in range(self.count)]

    def values(self, e: Expr) -> Sequence[int]:
        total: Sequence[int] = [e.constant] * self.count
        monomials = e.interner.monomials
        for m, c in e.terms:
            column = self.products.get(m)
            if column is None:
                first, *rest = monomials[m]
                column = self.column(first)
                for atom in rest:
                    column = [x * y for x, y in zip(column, self.column(atom), strict=True)]
                self.products[m] = column
            total = [x + c * y for x, y in zip(total, column, strict=True)]
        return total

    def truths(self, p: Prop) -> Sequence[bool]:
        match p.kind:
            case "ge":
                return [x >= 0 for x in self.values(p.expr)]
            case "eq":
                return [x == 0 for x in self.values(p.expr)]
            case "ne":
                return [x != 0 for x in self.values(p.expr)]
            case "and":
                return [all(column) for column in zip(*[self.truths(part) for part in p.parts], strict=True)]
            case "or":
                return [any(column) for column in zip(*[self.truths(part) for part in p.parts], strict=True)]
            case _:
                return [p.kind == "true"] * self.count


def prove(climb: Climb, facts: Facts, goal: Prop, depth: int) -> Reason | None:
    """The goal in every assignment of its symbols that the facts about them allow."""
    del depth
    return exhaust(climb, facts, goal, goal.symbols)


def exhaust(climb: Climb, facts: Facts, goal: Prop, symbols: frozenset[Atom]) -> Reason | None:
    """The goal, or false, in every assignment of some symbols, and of their neighbours where those have few values too.
    """
    chosen = sorted(symbols, key=lambda atom: atom.key)
    volume = 1
    for atom in chosen:
        volume *= _size(facts, atom) or VOLUME["full"] + 1
        if volume > VOLUME[climb.effort]:
            return None
    while True:
        climb.work -= volume * (len(goal.schedule) + len(chosen) + 4)
        if climb.work <= 0 or not chosen:
            return None
        sides = [_side(facts, atom) for atom in chosen]
        try:
            table = Table(chosen, sides)
            truth = table.truths(goal)
            left = {i for i, holds in enumerate(truth) if not holds}
            used = _constraints(facts, chosen, table, left) if left else []
        except OverflowError:
            return None
        if not left:
            return _proof(facts, goal, chosen, sides, used)
        for i in sorted(left)[:TRIED]:
            climb.consider_values({atom: table.columns[atom][i] for atom in chosen})
        wider = _widened(facts, chosen, VOLUME[climb.effort] // volume)
        if wider is None:
            return None
        chosen.append(wider)
        volume *= _size(facts, wider) or 1


def _side(known: Knowledge, atom: Atom) -> range:
    r = known.range_of(atom.monomial)
    assert r.lo is not None and r.hi is not None
    return range(r.lo, r.hi + 1)


def _size(known: Knowledge, atom: Atom) -> int | None:
    r = known.range_of(atom.monomial)
    return None if r.lo is None or r.hi is None else r.hi - r.lo + 1


def _entries(known: Knowledge, chosen: Sequence[Atom]) -> dict[Prop, Reason]:
    """What was learned about these symbols."""
    found: dict[Prop, Reason] = {}
    for atom in chosen:
        uses = known.uses.get(atom.serial)
        for _ in range(CONSTRAINTS):
            if uses is None:
                break
            found.setdefault(uses.entry.prop, uses.entry.reason)
            uses = uses.rest
    return found


def _constraints(known: Knowledge, chosen: Sequence[Atom], table: Table, left: set[int]) -> list[Reason]:
    """Facts about these symbols alone that leave the remaining assignments out, those that leave out most first."""
    inside = set(chosen)
    excluding: list[tuple[set[int], Reason]] = []
    for p, reason in _entries(known, chosen).items():
        if p.symbols <= inside:
            truth = table.truths(p)
            excluded = {i for i in left if not truth[i]}
            if excluded:
                excluding.append((excluded, reason))
    used = []
    while left and excluding:
        best = max(excluding, key=lambda each: len(each[0] & left))
        gained = best[0] & left
        if not gained:
            break
        left -= gained
        used.append(best)
    # one that later ones make superfluous
    kept = list(used)
    for each in used:
        others = [other for other in kept if other is not each]
        if not left and others and each[0] <= set().union(*[other[0] for other in others]):
            kept = others
    return [reason for _, reason in kept]


def _widened(known: Knowledge, chosen: Sequence[Atom], room: int) -> Atom | None:
    """The neighbour with the fewest values."""
    candidates = {
        symbol: size
        for p in _entries(known, chosen)
        for symbol in p.symbols
        if symbol not in chosen and (size := _size(known, symbol)) is not None and size <= room
    }
    return min(candidates, key=lambda atom: (candidates[atom], atom.key)) if candidates else None


def _proof(
    known: Knowledge, goal: Prop, chosen: Sequence[Atom], sides: Sequence[range], used: Sequence[Reason]
) -> Reason:
    premises = []
    for atom, side in zip(chosen, sides, strict=True):
        premises.append(prove_bound(known, atom.monomial, True, side.start))
        premises.append(prove_bound(known, atom.monomial, False, side.stop - 1))
    return boxed(
        goal,
        premises,
        used,
        tuple([(atom, side.start, side.stop - 1) for atom, side in zip(chosen, sides, strict=True)]),
    )
