"""Local search by repair: from a nearby sample to an assignment that satisfies the facts and a goal.

    >>> from solver.knowledge.facts import Facts
    >>> from solver.terms.interner import Interner
    >>> from solver.samples.repair import Search
    >>> terms = Interner()
    >>> x, y = terms.symbol("x"), terms.symbol("y")
    >>> known = Facts.empty(terms).declare_range(x, 0, 9).declare_range(y, 0, None).learn_prop(terms.le(x, y))
    >>> moved = Search(known, known.samples, known.samples.alive[0]).reach([terms.true, terms.ge(x, 7)])
    >>> moved[x.atom] >= 7, moved[y.atom] >= moved[x.atom]
    (True, True)

One symbol changes at a time: to its bounds, to small values, and to the root of the violated constraint (two
evaluations give a slope). If a move violates another fact, a symbol of that fact moves next, a few levels deep
(depth-first). Symbols that equalities eliminate are recomputed. Every result is evaluated against every fact that it
touches: the search is incomplete, but sound.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd, lcm
from typing import Final

from solver.floats import candidates as float_search
from solver.integer.work_budget import WorkBudget
from solver.knowledge.facts import Facts
from solver.knowledge.samples import Samples
from solver.knowledge.symbols import declared_symbols
from solver.proofs.fact import Fact
from solver.samples.variation import TOUCHED, Variation
from solver.terms.atoms import operands
from solver.terms.deadline import look
from solver.terms.expr import Atom, Expr
from solver.terms.prop import Prop

DEPTH: Final = 4
CROWD: Final = 512
"""Facts about one symbol beyond which it is not changed."""
SYMBOLS: Final = 6
LONG: Final = 8192
"""Growth of a symbol in one move, in bits: roots of powers of roots would soon have millions."""
PLACES: Final = 14
ROOTS: Final = 6
"""Roots tried as remainders."""
FEWEST: Final = 5
"""A search of fewer moves is not begun."""
PLACE: Final = 20
"""The cost of each value tried, in units of the linear solver's work, and of each term of the violated constraint."""
TERM: Final = 3
EVALUATED: Final = 100_000
"""Terms evaluated in one search: of a proposition with thousands, few moves are tried."""


class Search(Variation):
    """One local search from one row, charged to a work budget."""

    __slots__ = ("budget", "first", "left", "limit", "periods")

    def __init__(
        self, facts: Facts, samples: Samples, row: int, *, effort: int = 2, budget: WorkBudget | None = None
    ) -> None:
        super().__init__(facts, samples, row)
        self.budget = budget
        self.left = 40 * effort
        self.limit = CROWD
        self.first: tuple[Prop, ...] = ()  # repaired before anything else, in this order
        self.periods: dict[Atom, int] = {}

    def reach(self, goals: Sequence[Prop] | None) -> dict[Atom, int] | None:
        """The changed symbols of an assignment that satisfies the facts and the goals; None checks all facts."""
        if goals is None:
            broken = self.broken()
            return None if broken is None else self.repair({}, broken, DEPTH + len(broken), ())
        self.left = min(self.left, EVALUATED // max([terms_evaluated(p) for p in goals], default=1))
        if self.left < FEWEST:
            return None
        pending = [p for p in goals if p.kind != "true" and not self.holds(p, {})]
        return self.repair({}, pending, DEPTH, tuple(goals))

    def broken(self) -> list[Prop] | None:
        """The violated facts; None for too many."""
        found: list[Prop] = []
        for fact in self.facts.records():
            found += [p for p in (fact.domain, fact.prop) if p.kind != "true" and not self.holds(p, {})]
            if len(found) > TOUCHED:
                return None
        return found

    def repair(
        self, moved: dict[Atom, int], broken: list[Prop], depth: int, goals: tuple[Prop, ...]
    ) -> dict[Atom, int] | None:
        """Satisfy the violated constraints by changing symbols that have not been changed yet."""
        if not broken:
            return moved
        if not depth:
            return None
        budget = self.budget
        first = [p for p in self.first if p in broken]
        target = first[0] if first else min(broken, key=lambda p: len(p.atoms))
        price = PLACE + TERM * sum([terms_evaluated(p) for p in broken])
        for atom in self.movable(target, moved):
            if budget is not None:
                budget.work -= 4 * price
            for place in self.places(target, atom, moved):
                look()
                if self.left <= 0 or (budget is not None and budget.work <= 0):
                    return None
                self.left -= 1
                if budget is not None:
                    budget.work -= price
                trial = self.recompute(atom, {**moved, atom: place})
                if trial is None or not self.holds(target, trial):
                    continue
                rest = self.broken_by(trial, moved, broken, goals)
                if rest is None or len(rest) > 3 + len(broken):
                    continue
                found = self.repair(trial, rest, depth - 1, goals)
                if found is not None:
                    return found
        return None

    def movable(self, target: Prop, moved: dict[Atom, int]) -> list[Atom]:
        """The symbols to change; eliminated ones are replaced by those that they are computed from."""
        symbols: dict[Atom, None] = {}
        for atom in sorted(target.symbols, key=lambda atom: atom.key):
            for source in (atom,) if atom.definition is None else declared_symbols(atom.definition):
                rule = self.facts.solved.get(source.monomial)
                if rule is None:
                    symbols[source] = None
                    continue
                for inner in declared_symbols(rule.image):
                    symbols[inner] = None
                    deeper = self.facts.solved.get(inner.monomial)
                    if deeper is not None and inner is not source:
                        symbols.update(dict.fromkeys(declared_symbols(deeper.image)))
        free = [atom for atom in symbols if atom not in moved and atom.definition is None]
        if len(free) > SYMBOLS and target.kind == "ge" and not target.schedule and target.expr.degree == 1:
            free = [atom for atom in free if self.can_raise(target.expr, atom, moved)]
        touching = self.samples.touching

        def crowd(atom: Atom) -> int:
            facts = touching.get(atom.serial)
            return 0 if facts is None else facts.count

        return sorted(free, key=lambda atom: (crowd(atom), atom.key))[:SYMBOLS]

    def can_raise(self, e: Expr, atom: Atom, moved: dict[Atom, int]) -> bool:
        """Return True unless a symbol is at the end of its range to which it would have to move for a linear expression
        to grow."""
        slope = self.slope(e, atom)
        lo, hi = self.samples.limits.get(atom.serial) or (None, None)
        end = hi if slope > 0 else lo
        return not slope or end is None or self.value(atom, moved) != end

    def places(self, target: Prop, atom: Atom, moved: dict[Atom, int]) -> list[int]:
        """Candidate values for a symbol, the promising ones first."""
        current = self.value(atom, moved)
        lo, hi = self.samples.limits.get(atom.serial) or (None, None)
        if any(inner.kind == "function" for inner in target.schedule):
            found = self.doubles(target, atom, current, moved)
            if found:
                return [v for v in found if v != current and (lo is None or v >= lo) and (hi is None or v <= hi)]
        strides = self.strides(target, atom)
        found = []
        roots: list[int] = []
        for p in target.comparisons()[:4]:
            if atom in p.symbols or self.facts.solved.count:
                roots += self.roots(p, atom, current, moved)
        if strides:
            found += self.congruent(target, atom, current, roots, moved)
        common = lcm(*strides)
        if len(strides) > 1 and common.bit_length() <= LONG:
            found += [max(lo or 0, 1) + -max(lo or 0, 1) % common, current - current % common + common]
        found += roots
        if lo is not None:
            found += [lo, lo + 1]
        if hi is not None:
            found += [hi, hi - 1]
        found += [current + 1, current - 1] if not strides else []
        for step in strides:
            found += [current - current % step, current - current % step + step, current + step]
        found += [0, 1, 2, 3, 2 * current, current + 1, current - 1]
        size = LONG + current.bit_length()
        kept: dict[int, None] = {}
        for v in found:
            if v != current and (lo is None or v >= lo) and (hi is None or v <= hi) and v.bit_length() <= size:
                kept[v] = None
                if len(kept) == PLACES:
                    break
        return list(kept)

    def doubles(self, target: Prop, atom: Atom, current: int, moved: dict[Atom, int]) -> list[int]:
        """Candidate values for a symbol that stands for the bits of a double in the target; none for other symbols."""
        if not float_search.is_pattern_in(atom, target.schedule):
            return []
        wanted: list[tuple[int, int]] = []
        monomials = self.facts.interner.monomials
        for p in target.comparisons()[:4]:
            if atom not in p.symbols:
                continue
            try:
                value = self.evaluate(p.expr, moved)
                for m, c in p.expr.terms:
                    if len(monomials[m]) == 1 and monomials[m][0].name.startswith("ordinal("):
                        now = self.evaluate(monomials[m][0].expr, moved)
                        wanted.append((now, now - value // c if c > 0 else now + -(-value // -c)))
            except OverflowError:
                continue
        return float_search.places(current, wanted[:4])

    def strides(self, target: Prop, atom: Atom) -> list[int]:
        """Moduli of the symbol: in the target, and in the equality that eliminates it."""
        found: dict[int, None] = {}
        for inner in target.atoms:
            if inner.kind == "floordiv" and isinstance(inner.args[1], Expr) and inner.args[1].is_constant:
                found[inner.args[1].constant] = None
        rule = self.facts.solved.get(atom.monomial)
        if rule is not None:
            whole = self.multiple(rule.image)
            if whole > 1:
                found[whole] = None
            for _, c in rule.image.terms[:2]:
                if abs(c) > 1 and whole % c:
                    found[abs(c)] = None
        return list(found)[:3]

    def congruent(
        self, target: Prop, atom: Atom, current: int, roots: list[int], moved: dict[Atom, int]
    ) -> list[int]:
        """Values congruent to one of the roots that also leave the remainders required by the facts, by the Chinese
        remainder theorem.
        """
        modulus = 1
        for inner in target.atoms:
            if inner.kind == "floordiv" and isinstance(inner.args[1], Expr) and inner.args[1].is_constant:
                modulus = lcm(modulus, inner.args[1].constant)
        held = self.period(atom)
        common = lcm(modulus, held)
        if held == 1 or common.bit_length() > LONG:
            return []
        for root in roots[:ROOTS]:
            steps, rest = divmod(root - current, gcd(held, modulus))
            trial = None if rest else self.recompute(atom, {**moved, atom: root})
            if trial is not None and self.holds(target, trial):
                inverse = pow(held // gcd(held, modulus), -1, modulus // gcd(held, modulus))
                value = current + held * (steps * inverse % (modulus // gcd(held, modulus)))
                limits = self.samples.limits.get(atom.serial)
                lo = 0 if limits is None else limits[0] or 0
                least = lo + (value - lo) % common
                return [least or common, value, least + common, value - common]
        return []

    def period(self, atom: Atom) -> int:
        """The period of a symbol: changing it by multiples keeps the remainders that facts give it."""
        found = self.periods.get(atom)
        if found is None:
            found = 1
            touching = self.samples.touching.get(atom.serial)
            for _ in range(CROWD):
                if touching is None:
                    break
                p = touching.fact.prop
                if p.kind == "eq" and len(p.schedule) == 1:
                    (inner,) = p.schedule
                    if inner.kind == "floordiv" and isinstance(inner.args[1], Expr) and inner.args[1].is_constant:
                        found = lcm(found, inner.args[1].constant)
                touching = touching.rest
            self.periods[atom] = found
        return found

    def multiple(self, e: Expr) -> int:
        """The number that an eliminated symbol is a multiple of: 6 for `s = 2*t` and `t = 3*u`."""
        size = 1
        for _ in range(TOUCHED):
            if len(e.terms) != 1 or e.constant:
                break
            ((m, c),) = e.terms
            size *= abs(c)
            rule = self.facts.solved.get(m)
            if rule is None:
                break
            e = rule.image
        return size

    def roots(self, p: Prop, atom: Atom, current: int, moved: dict[Atom, int]) -> list[int]:
        """The points at which the comparison changes truth, by Newton's method: two steps from the current value."""
        slope = self.slope(p.expr, atom)
        if slope:
            try:
                value = self.evaluate(p.expr, moved) if moved or self.shifted else self.samples.values(p.expr)[self.row]
            except OverflowError:
                return []
            root = current - value // slope if p.kind != "ge" or slope < 0 else current + -(value // slope)
            return [current + 1, root, root + 1] if p.kind == "ne" else [root, root + 1, root - 1]
        found: list[int] = []
        at = current
        for _ in range(3):
            here = self.along(p.expr, atom, at, moved)
            step = self.along(p.expr, atom, at + 1, moved)
            if here is None or step is None:
                break
            slope = step - here
            if slope == 0:
                wide = max(16, abs(at))
                step = self.along(p.expr, atom, at + wide, moved)
                if step is None or step == here:
                    break
                found.append(at - here * wide // (step - here))
                found.append(at - here * wide // (step - here) + 1)
                at = found[-1]
                if at.bit_length() > LONG:
                    break
                continue
            root = at - here // slope
            if p.kind == "ge" and slope > 0:
                root = at + -(here // slope)
            found += [root, root + 1, root - 1]
            if root == at or root.bit_length() > LONG:
                break
            at = root
        if p.kind == "ne":
            found = [current + 1, current + 2, *found]
        return found

    def broken_by(
        self, trial: dict[Atom, int], before: dict[Atom, int], broken: list[Prop], goals: tuple[Prop, ...]
    ) -> list[Prop] | None:
        """The constraints that a move violates; None if that is too much to check."""
        rest = [p for p in dict.fromkeys((*broken, *goals)) if p.kind != "true" and not self.holds(p, trial)]
        checked: set[int] = set()
        for atom in trial:
            if before.get(atom) == trial[atom]:
                continue
            lo, hi = self.samples.limits.get(atom.serial) or (None, None)
            if lo is not None and trial[atom] < lo or hi is not None and trial[atom] > hi:
                rule = self.facts.solved.get(atom.monomial)
                if rule is None or len(rest) > len(broken):
                    return None
                # what it is computed from can move: of u1 = n - u0 >= 0, n rises with u0
                below = lo is not None and trial[atom] < lo
                inside = Prop.ge(rule.image, lo or 0) if below else Prop.le(rule.image, hi or 0)
                if inside.kind != "ge":
                    return None
                rest.append(inside)
            touching = self.samples.touching.get(atom.serial)
            if touching is not None and touching.count > TOUCHED:
                if touching.count > self.limit:
                    return None
                self.left -= touching.count // TOUCHED
            while touching is not None:
                fact: Fact = touching.fact
                if fact.serial not in checked:
                    checked.add(fact.serial)
                    if not self.holds(fact.prop, trial) and fact.prop not in rest:
                        rest.append(fact.prop)
                    if fact.domain.kind != "true" and not self.holds(fact.domain, trial) and fact.domain not in rest:
                        rest.append(fact.domain)
                    if len(rest) > 6 + len(broken):
                        return None
                touching = touching.rest
        return rest


def terms_evaluated(p: Prop) -> int:
    """The number of terms in the arguments of the operations of a proposition: the cost of evaluating it."""
    count = 1 + len(p.schedule)
    for atom in p.schedule:
        for arg in operands(atom):
            count += len(arg.terms)
    return count
