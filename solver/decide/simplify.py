"""Simplification under facts: an equal expression with fewer operators; every step is proven.

    >>> from solver.knowledge.facts import Facts
    >>> from solver.terms.interner import Interner
    >>> from solver.decide.simplify import simplify
    >>> terms = Interner()
    >>> b, s = terms.symbol("b"), terms.symbol("s")
    >>> known = Facts.empty(terms).declare_range(b, 0, 7).declare_range(s, 1, None)
    >>> known = known.learn_prop(terms.divides(16, s))
    >>> print(simplify(known, terms.maximum(s, 12) // 16 * 16 + b // 8))
    s
    >>> print(simplify(known, (8 * s + b) // 8 - terms.minimum(s, b + s)))
    0

Bottom-up, each operation becomes what the facts make of it: a choice one of its branches, a division a polynomial. Then
candidates are proposed: short expressions that agree in every sample (`solver.samples.proposals`), rewritings by known
equalities, and sympy's. The one with the fewest printed operators wins if a rung, or z3, proves it equal. The value of
a conditional is simplified under its condition.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

from solver.decide.ladder import decide, decide_within
from solver.decide.verdict import Always, GaveUp, Never, Verdict
from solver.errors import Contradictory, NotExpressible, Undefined
from solver.knowledge.facts import Conflict, Facts
from solver.knowledge.substitution import by_equalities, equalities, merged, named
from solver.knowledge.symbols import by_age
from solver.rungs.effort import Effort
from solver.samples.proposals import proposals
from solver.samples.sampling import Probes, rows
from solver.syntax.connectives import same
from solver.syntax.defined import domain_read, is_partial
from solver.syntax.printer import Printer, text_of
from solver.terms.choice import ite
from solver.terms.expr import Atom, Expr
from solver.terms.prop import Prop

ROUNDS: Final = 3
WIDE: Final = 24
"""For a sum of more terms, or over more operations, nothing is proposed; bottom-up simplification remains."""
TRIED: Final = 6
"""Proposals for one value whose proof is tried."""
MATCHES: Final = 400
"""Proposals examined in one search, most of them spellings of one another."""
EXAMINED: Final = 900
"""Proposals examined in one simplification, a twentieth of a millisecond each."""
HOPELESS: Final = 128
"""Proposals in a row that cannot be shorter, after which no more are examined: they come roughly by size."""
VAIN: Final = 16
"""Proposals in a row that are no shorter, after which no more are written: the likeliest come first."""
PROOFS: Final = 200
"""Questions of one simplification."""
SEARCHES: Final = 10
"""Searches for proposals in one simplification."""
SPELLING: Final = 10_000
"""Work for finding the texts of candidates in one simplification, in terms printed: about a thirtieth of a second."""
SHARE: Final = 3
"""One search may spend a third of what is left of either."""
EACH: Final = 8_000
"""Work for one candidate, out of the same."""
COMPARED: Final = 20_000
"""The same for each of the two texts compared at the end."""
HARD: Final = 4
"""Proofs in one simplification that may use all rungs and z3."""
WORK: Final = 200_000
"""Work for all proofs of one simplification, in the unit of `solver.rungs.effort`."""
TRIAL: Final = 40_000
"""Work for one proof out of that; for a hard one twice as much."""
VAINLY: Final = 30_000
"""Work that a proof without success costs beside that of its rungs."""
NESTED: Final = 2
"""Depth of nested conditions under which values are simplified."""
RELATED: Final = 6
"""Symbols from known equalities used as building blocks."""


def simplify(facts: Facts, expr: Expr, *, domain: Prop | None = None, solvers: bool = True) -> Expr:
    """The expression with the fewest operators that was proven equal under the facts, inside the domain.

    Args:
        domain: where the expression is to be equal; by default everywhere that the facts allow.
        solvers: true if sympy and z3 may be asked.
    """
    simple = Simplification(facts, domain, solvers).expression(expr)
    if simple is expr or not stays_defined(facts, simple, domain, expr, solvers=solvers):
        return expr
    # a printer with much of its budget spent writes less well: a fresh one decides
    first, second = [printed(Printer(facts.interner), each, COMPARED)[0] for each in (simple, expr)]
    longer = first > second or (first == second and len(text_of(simple)) > len(text_of(expr)))
    return expr if longer else simple


def stays_defined(facts: Facts, simple: Expr, domain: Prop | None, expr: Expr, *, solvers: bool) -> bool:
    """Return True if the text of `simple` is defined wherever the value is.

    An operation whose argument is 0 or negative there is equal to what it replaces, until that argument is replaced:
    normal forms hold where operations are defined.
    """
    if not is_partial(simple):
        return True
    inside = domain_read(text_of(simple), simple)
    if inside is None:
        return False
    if inside.kind == "true" or inside is domain or inside is domain_read(text_of(expr), expr):
        return True
    return always(facts, inside, domain, solvers=solvers)


def always(facts: Facts, prop: Prop, domain: Prop | None, *, solvers: bool) -> bool:
    """Return True if the proposition holds inside the domain."""
    try:
        inside = Prop.truth(facts.interner, True) if domain is None else domain
        verdict = decide(facts, prop, domain=inside, solvers=solvers)
    except Undefined:
        return False
    return isinstance(verdict, Always)


def simplify_pair(facts: Facts, expr: Expr, domain: Prop, *, solvers: bool = True) -> tuple[Expr, Prop]:
    """The value with the fewest operators, and its domain: that of its plain text where the facts make it the same."""
    simple = simplify(facts, expr, domain=domain, solvers=solvers)
    plain = domain_read(text_of(simple), simple)
    if plain is None or plain is domain:
        return simple, domain
    return simple, plain if always(facts, same(plain, domain), None, solvers=solvers) else domain


def printed(printer: Printer, e: Expr | Prop, work: int) -> tuple[int, int]:
    """The number of operators in the text, very large where it would be too long, and the work spent to find it."""
    try:
        cost = printer.operators(e, work=max(work, 0))
    except NotExpressible:
        cost = 1 << 30
    return cost, max(work, 0) - printer.work


@dataclass(slots=True)
class Budget:
    """The rest of the budget of one simplification, nested ones included."""

    proofs: int = PROOFS
    work: int = WORK
    hard: int = HARD
    searches: int = SEARCHES
    examined: int = EXAMINED
    spelling: int = SPELLING


class Simplification:
    """The state of one simplification: its samples, simplified operations, and budget."""

    def __init__(
        self, facts: Facts, domain: Prop | None, solvers: bool, budget: Budget | None = None, nested: int = NESTED
    ) -> None:
        self.facts = facts
        self.interner = facts.interner
        self.domain = Prop.truth(self.interner, True) if domain is None else domain
        self.solvers = solvers
        self.nested = nested
        self.budget = Budget() if budget is None else budget
        self.printer = Printer(facts.interner)
        self._samples: dict[frozenset[Atom], Probes] = {}
        self._costs: dict[Expr, int] = {}
        self._outcomes: dict[Expr, Expr] = {}
        self._vain: dict[Prop, bool] = {}
        """Questions without an answer, and whether they were hard."""

    def under(self, facts: Facts) -> Simplification:
        """The simplification of a part under more facts."""
        return Simplification(facts, self.domain, self.solvers, self.budget, self.nested - 1)

    # ------------------------------------------------------------------ expressions

    def expression(self, expr: Expr) -> Expr:
        best = expr
        for _ in range(ROUNDS):
            before = best
            for candidate in self.candidates(best):
                if self.cost(candidate) < self.cost(best) and self.equal(best, candidate, hard=True):
                    best = candidate
            if best is before or not self.cost(best):
                break
        return best

    def candidates(self, e: Expr) -> Iterator[Expr]:
        simpler = self.bottom_up(e)
        yield simpler
        for replaced in by_equalities(self.facts, simpler):
            yield self.bottom_up(replaced)
        yield self.merged(named(self.facts, simpler))
        for start in dict.fromkeys((simpler, e)):
            if self.proposable(start):
                yield from self.proposed(start)
                if len(start.terms) > 2:
                    yield self.parts_merged(start)

    def cost(self, e: Expr) -> int:
        found = self._costs.get(e)
        if found is None:
            found, spent = printed(self.printer, e, min(EACH, self.budget.spelling))
            self._costs[e] = found
            self.budget.spelling -= spent
        return found

    def proposable(self, e: Expr) -> bool:
        return len(e.terms) <= WIDE and len(e.schedule) <= WIDE and self.budget.searches > 0 < self.budget.spelling

    # ------------------------------------------------------------------ bottom-up

    def bottom_up(self, e: Expr) -> Expr:
        """The expression with every operation simplified, innermost first."""
        interner = self.interner
        images: dict[Atom, Expr] = {}
        for atom in e.schedule:
            args = tuple(
                [
                    self.merged(arg.replace(images)) if isinstance(arg, Expr) else arg.replace(images)
                    for arg in atom.args
                ]
            )
            changed = any(new is not old for new, old in zip(args, atom.args, strict=True))
            built = interner.rebuild(atom.kind, atom.name, args) if changed else atom.expr
            outcome = self.outcome(built)
            if outcome is not atom.expr:
                images[atom] = outcome
        return self.merged(e.replace(images))

    def outcome(self, e: Expr) -> Expr:
        """The simplified form of a value, usually of one operation."""
        found = self._outcomes.get(e)
        if found is None:
            found = self._outcomes[e] = self._outcome(e)
        return found

    def _outcome(self, e: Expr) -> Expr:
        if not e.terms:
            return e
        lo, hi = self.facts.bounds(e)
        if lo is not None and lo == hi:
            return self.interner.constant(lo)
        if len(e.terms) == 1 and not e.constant and e.terms[0][1] == 1:
            atoms = self.interner.monomials[e.terms[0][0]]
            if len(atoms) == 1:
                chosen = self.chosen(atoms[0])
                if chosen is not None:
                    return chosen
        if self.proposable(e):
            for candidate in self.proposed(e):
                if self.equal(e, candidate):
                    return candidate
        return e

    def chosen(self, atom: Atom) -> Expr | None:
        """The branch of a choice that the facts decide.

        A conditional with its value simplified under its condition.
        """
        match atom.kind, atom.args:
            case "relu", (Expr() as e,):
                return self.side(Prop.ge(e, 0), e)
            case "ite", (Prop() as p, Expr() as e):
                side = self.side(p, e)
                if side is not None or self.nested <= 0 or self.budget.searches <= 0:
                    return side
                inside = self.facts.suppose(p)
                if isinstance(inside, Conflict):
                    return self.interner.zero
                if not inside.samples.alive:
                    return None
                try:
                    value = self.under(inside).expression(e)
                except Contradictory:
                    return self.interner.zero
                return ite(self.interner, p, value, self.interner.zero) if value is not e else None
            case _:
                return None

    def side(self, p: Prop, e: Expr) -> Expr | None:
        match self.decide(p):
            case Always():
                return e
            case Never():
                return self.interner.zero
            case _:
                return None

    # ------------------------------------------------------------------ sums

    def merged(self, e: Expr) -> Expr:
        """Merge conditionals with one condition, and write exact quotients times their divisors as numerators."""
        interner = self.interner
        e = merged(e)
        for m, c in e.terms:
            atoms = interner.monomials[m]
            for atom in atoms:
                image = self.exact(atom, c) if atoms.count(atom) == 1 else None
                if image is not None:
                    for other in atoms:
                        if other is not atom:
                            image = image * other.expr
                    e = e - interner.expr(((m, c),), 0) + image
                    break
        return e

    def exact(self, atom: Atom, c: int) -> Expr | None:
        """`c * (n//d)` as a multiple of n, where the facts say that the constant d divides n, and d divides c."""
        if atom.kind != "floordiv":
            return None
        n, d = atom.args
        if not isinstance(n, Expr) or not isinstance(d, Expr) or d.terms or c % d.constant:
            return None
        divides = Prop.zero(n % d)
        return n * (c // d.constant) if isinstance(self.decide(divides), Always) else None

    def parts_merged(self, e: Expr) -> Expr:
        """Merge pairs of terms that simplify together."""
        interner = self.interner
        terms = [interner.expr((term,), 0) for term in e.terms]
        for i, first in enumerate(terms):
            for second in terms[i + 1 :]:
                pair = first + second
                composite = any(atom.kind != "symbol" for atom in pair.atoms)
                outcome = self.outcome(pair) if composite else pair
                if outcome is not pair and self.cost(outcome) < self.cost(pair):
                    return e - pair + outcome
        return e

    # ------------------------------------------------------------------ proposals

    def proposed(self, e: Expr) -> list[Expr]:
        """The proposals with fewer operators, shortest first."""
        self.budget.searches -= 1
        limit = self.cost(e)
        found: dict[Expr, int] = {}
        vain = 0
        kept = self.budget.spelling - self.budget.spelling // SHARE
        for candidate in self.hopeful(e, limit):
            vain += 1
            if self.cost(candidate) < limit:
                found[candidate] = self.cost(candidate)
                vain = 0
            if len(found) == 4 * TRIED or vain == VAIN or self.budget.spelling < kept:
                break
        return sorted(found, key=found.__getitem__)[:TRIED]

    def hopeful(self, e: Expr, limit: int) -> list[Expr]:
        """Proposals that may have fewer operators, the likeliest first."""
        ranks: dict[Expr, tuple[int, int]] = {}
        seen: set[Expr] = set()
        since = 0
        matches = min(MATCHES, self.budget.examined // SHARE)
        for candidate in islice(proposals(self.samples(e), e, self.related(e)), matches):
            self.budget.examined -= 1
            if candidate in seen:
                continue
            seen.add(candidate)
            since += 1
            least, plainly = self.printer.estimated(candidate)
            if least < limit:
                ranks[candidate] = (plainly, least)
                since = 0
            if since == HOPELESS:
                break
        return sorted(ranks, key=ranks.__getitem__)

    def related(self, e: Expr) -> list[Expr]:
        """Symbols that known equalities connect with those of the expression."""
        near = e.symbols
        found: dict[Atom, None] = {}
        for equality in equalities(self.facts, e):
            for atom in sorted(equality.symbols - near, key=by_age):
                found[atom] = None
        return [atom.expr for atom in list(found)[:RELATED]]

    # ------------------------------------------------------------------ proof and samples

    def equal(self, a: Expr, b: Expr, *, hard: bool = False) -> bool:
        """Return True if a rung or z3 proves them equal within the budget."""
        if a is b:
            return True
        goal = Prop.eq(a, b)
        hard = hard and self.budget.hard > 0
        verdict = self.decide(goal, hard=hard and not self.solvers)
        if hard and (verdict is None or isinstance(verdict, GaveUp)):
            self.budget.hard -= 1
            if self.solvers:
                verdict = self.decide(goal, hard=True)
        return isinstance(verdict, Always)

    def decide(self, p: Prop, *, hard: bool = False) -> Verdict | None:
        if self.budget.proofs <= 0 or self.budget.work <= 0 or self._vain.get(p, -1) >= hard:
            return None
        self.budget.proofs -= 1
        try:
            if hard and self.solvers:
                return decide(self.facts, p, domain=self.domain, effort="thorough")
            work = min(2 * TRIAL if hard else TRIAL, self.budget.work)
            effort: Effort = "thorough" if hard else "default"
            verdict, spent = decide_within(self.facts, p, self.domain, effort=effort, work=work)
        except Undefined:
            return None
        self.budget.work -= spent
        if isinstance(verdict, GaveUp):
            self.budget.work -= VAINLY
            self._vain[p] = hard
        return verdict

    def samples(self, e: Expr) -> Probes:
        """Assignments that satisfy the facts, of the symbols of the expression and all declared ones."""
        found = self._samples.get(e.symbols)
        if found is None:
            found = self._samples[e.symbols] = Probes(rows(self.facts, e, self.domain))
        return found
