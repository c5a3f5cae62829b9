"""Witnesses: assignments that satisfy the facts and a goal.

    >>> from solver.knowledge.facts import Facts
    >>> from solver.samples.witness_search import find
    >>> from solver.terms.interner import Interner
    >>> terms = Interner()
    >>> x, y = terms.symbol("x"), terms.symbol("y")
    >>> known = Facts.empty(terms).declare_range(x, 0, None).declare_range(y, 0, None).learn_prop(terms.le(x, y))
    >>> values = find(known, terms.eq(x, 2**63 - 1), terms.true).values(known)
    >>> values[x.atom], values[y.atom] >= 2**63 - 1
    (9223372036854775807, True)

`free_symbol` changes a symbol that no fact but its range mentions. `find` is local search, one symbol at a time.
`divisor_search` divides a product's value among its factors, `grid_search` tries the points of a small grid over all
symbols of the goal, `repaired` completes a proposed partial assignment. Every witness is evaluated against each fact
that mentions a changed symbol.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from solver.integer.work_budget import WorkBudget
from solver.knowledge.facts import Facts
from solver.samples.pushing import Pushing
from solver.samples.repair import Search, terms_evaluated
from solver.samples.table import Table
from solver.samples.witness import Witness
from solver.terms.expr import Atom, Expr
from solver.terms.polynomials import exact_quotient, factors_of
from solver.terms.prop import Prop
from solver.terms.quotients import common_atoms, divide_atoms, divide_content

FAR: Final = (9, 1 << 62, 100, 1 << 40, 5000, 1 << 20, 1 << 64)
SCATTERED: Final = (20, 16, 9, 6, 4, 3)
"""Values for each symbol, when there are one, two, three or more."""
MANY: Final = 4
"""Number of symbols from which on far values come before near ones."""
SCATTERED_TERMS: Final = 200_000
"""Terms evaluated at all points of a grid together."""
TERMS: Final = 4
"""Terms evaluated at the cost of one number that the linear solver touches."""
TRIED: Final = 4
SMALL: Final = 64
"""Divisors of a product's value are looked for below this."""
DIVISORS: Final = 4
DIVIDED: Final = 12
"""Divisions of a product's value that are tried."""
QUOTIENT: Final = 4
"""Largest divisor of a quotient all remainders of which are tried."""
LEFT: Final = 24
FACTORED: Final = 8
TOUCHED: Final = 500
"""Facts about one symbol that a proposed value is checked against."""
NEAR: Final = 2
"""The number of symbols that are changed to repair a point of the linear relaxation."""


def free_symbol(facts: Facts, p: Prop) -> tuple[Witness, Witness] | None:
    """An assignment where a proposition holds and one where it does not, which differ in a symbol that no fact
    mentions.

    Within its range such a symbol may take any value, whatever the others are: only the proposition is evaluated. Most
    sizes that meet for the first time are like that.
    """
    samples = facts.samples
    if facts.supposing or not samples.alive:
        return None
    touching = samples.touching
    symbols = p.symbols
    free = [atom for atom in symbols if touching.get(atom.serial) is None]
    if not free or p.schedule:
        return None
    row = samples.alive[0]
    columns = samples.columns
    values: dict[Atom, int] = {}
    for atom in symbols:
        column = columns.get(atom.serial)
        if column is None or atom.definition is not None:
            return None
        values[atom] = column[row]
    holds = p.at(values)
    comparisons = p.comparisons()
    for atom in sorted(free, key=_key) if len(free) > 1 else free:
        here = values[atom]
        lo, hi = samples.limits.get(atom.serial) or (None, None)
        for comparison in comparisons:
            e = comparison.expr
            slope = 0
            for m, c in e.terms:
                if m == atom.monomial:
                    slope = c
            if not slope:
                continue
            root = here - e.at(values) // slope
            for place in (root, root + 1, root - 1):
                if place != here and (lo is None or place >= lo) and (hi is None or place <= hi):
                    values[atom] = place
                    if p.at(values) is not holds:
                        first, second = Witness(row), Witness(row, {atom: place})
                        return (first, second) if holds else (second, first)
            values[atom] = here
    return None


def find(
    facts: Facts, goal: Prop, domain: Prop, *, rows: int = 3, effort: int = 2, budget: WorkBudget | None = None
) -> Witness | None:
    """An assignment that satisfies the facts, the domain and the goal.

    None if none was found within the budget.
    """
    samples = facts.samples
    for row in samples.alive[:rows]:
        moved = Search(facts, samples, row, effort=effort, budget=budget).reach([domain, goal])
        if moved is not None:
            return Witness(row, moved)
    return None


def difference_search(
    facts: Facts, goal: Prop, domain: Prop, *, rows: int = 2, budget: WorkBudget | None = None
) -> Witness | None:
    """An assignment that satisfies a difference constraint: a sample in which a chain of symbols moves."""
    if domain.kind != "true" or len(goal.terms) < 2:
        return None
    for row in facts.samples.alive[:rows]:
        moved = Pushing(facts, facts.samples, row, room=False, budget=budget).reach(goal)
        if moved is not None:
            return Witness(row, moved)
    return None


def divisor_search(
    facts: Facts, goal: Prop, domain: Prop, *, row: int, budget: WorkBudget | None = None
) -> Witness | None:
    """An assignment that gives a product, or a quotient of one, a value: one factor is a divisor of it, the others are
    the cofactor.
    """
    for dividend in _dividends(goal):
        witness = divisor_search(facts, dividend, domain, row=row, budget=budget)
        if witness is not None:
            return witness
    e = goal.expr if goal.expr.constant < 0 else -goal.expr
    if goal.kind != "eq" or not e.constant or e.degree < 2 or len(e.terms) > FACTORED:
        return None
    interner = e.interner
    k = e.content()
    number, rest = divmod(-e.constant, k)
    if rest or number < 2:
        return None
    whole = divide_content(e - e.constant, k)
    common = common_atoms(interner, whole)
    factors = dict.fromkeys(atom.expr for atom in common)
    sums = divide_atoms(interner, whole, common) if common else whole
    found = [factor if factor.lead()[1] > 0 else -factor for factor, _ in factors_of(sums) if factor.terms]
    factors.update(dict.fromkeys(found))
    divisors = [d for d in range(1, SMALL) if number % d == 0][:DIVISORS]
    tries = DIVIDED
    for factor in list(factors)[:DIVISORS]:
        others = exact_quotient(whole, factor)
        if others is None:
            continue
        for d in divisors:
            for size, left in ((d, number // d), (number // d, d)) if others.degree > 0 else ((d, number // d),):
                goals = [domain, Prop.eq(factor, size), Prop.eq(others, left)]
                first, second = sorted(goals[1:], key=lambda p: len(p.atoms))
                for order in ((first, second), (second, first)):
                    if tries and all(p.kind != "false" for p in goals):
                        tries -= 1
                        search = Search(facts, facts.samples, row, effort=1, budget=budget)
                        search.left, search.first = LEFT, order
                        moved = search.reach(goals)
                        if moved is not None:
                            return Witness(row, moved)
    return None


def _dividends(goal: Prop) -> list[Prop]:
    """The equalities of a product, one of which says that its quotient by a number has the value of the goal."""
    if goal.kind != "eq" or len(goal.terms) != 1 or goal.expr.degree != 1:
        return []
    interner = goal.interner
    ((m, c),) = goal.terms
    (atom,) = interner.monomials[m]
    if abs(c) != 1 or atom.kind != "floordiv":
        return []
    n, d = atom.args
    assert isinstance(n, Expr) and isinstance(d, Expr)
    if not d.is_constant or not 1 < d.constant <= QUOTIENT or n.degree < 2:
        return []
    value = -goal.expr.constant * c * d.constant
    return [Prop.eq(n, value + rest) for rest in range(d.constant)]


def repaired(
    facts: Facts,
    goals: Sequence[Prop],
    values: Mapping[Atom, int],
    *,
    row: int | None,
    solved: Sequence[Atom] = (),
    budget: WorkBudget | None = None,
) -> Witness | None:
    """An assignment that satisfies the facts and the goals, as close as possible to values of some symbols.

    The other symbols keep the values of the row, which satisfies the facts about them alone, except those just
    `solved`; without such a row, all facts are evaluated.
    """
    search = Search(facts, facts.samples, row or 0, effort=1, budget=budget)
    repairing, search.limit = search.limit, TOUCHED
    try:
        moved = {atom: value for atom, value in values.items() if atom.definition is None}
        for atom in solved:
            rule = facts.solved.get(atom.monomial)
            if rule is not None and atom not in moved and not atom.args and atom.definition is None:
                moved[atom] = search.evaluate(rule.image, moved)
        before = {atom: search.value(atom, {}) for atom in moved}
        for atom in list(moved):
            if search.recompute(atom, moved) is None:
                return None
        before.update(
            {atom: search.value(atom, {}) for atom in moved if atom not in before and atom.definition is None}
        )
        if row is None:
            search.base.update((atom, value) for atom, value in moved.items() if atom.definition is None)
            rest = search.broken()
        else:
            rest = search.broken_by(moved, before, [], tuple(goals))
    except OverflowError:
        return None
    if rest is None:
        return None
    if rest:
        search.base.update((atom, value) for atom, value in moved.items() if atom.definition is None)
        search.shifted = True
        search.limit = repairing
        further = search.repair({}, rest, NEAR, tuple(goals))
        if further is None:
            return None
        moved.update(further)
    return Witness(row or 0, moved)


def grid_search(
    facts: Facts, goal: Prop, domain: Prop, *, row: int, budget: WorkBudget | None = None
) -> Witness | None:
    """An assignment that satisfies the goal, all of whose symbols change at once: to ends of their ranges, or far."""
    symbols = sorted([atom for atom in goal.symbols if atom.definition is None], key=lambda atom: atom.key)
    if not 0 < len(symbols) <= len(SCATTERED):
        return None
    sides = []
    for atom in symbols:
        r = facts.range_of(atom.monomial)
        here = facts.samples.atom_column(atom)[row]
        low = r.lo if r.lo is not None else min(here, 0 if r.hi is None else r.hi)
        places = [low, here, low + 1, r.hi, *[low + far for far in FAR], low + 2, None if r.hi is None else r.hi - 1]
        if len(symbols) > MANY:
            places = [low, low + FAR[0], *places]
        places += [] if r.lo is not None else [-far for far in FAR]
        places += [] if r.hi is None else [(low + r.hi) // 2]
        inside = [v for v in places if v is not None and (r.lo is None or v >= r.lo) and (r.hi is None or v <= r.hi)]
        sides.append(list(dict.fromkeys(inside))[: SCATTERED[len(symbols) - 1]])
    others = sorted((goal.symbols | domain.symbols) - set(symbols), key=lambda atom: atom.key)
    tried = 1
    for side in sides:
        tried *= len(side)
    evaluated = tried * (terms_evaluated(goal) + terms_evaluated(domain))
    if evaluated > SCATTERED_TERMS or (budget is not None and evaluated // TERMS > budget.work):
        return None
    if budget is not None:
        budget.work -= evaluated // TERMS
    table = Table([*symbols, *others], [*sides, *[(facts.samples.atom_column(atom)[row],) for atom in others]])
    try:
        hits = [i for i, (a, b) in enumerate(zip(table.truths(goal), table.truths(domain), strict=True)) if a and b]
    except OverflowError:
        return None
    for i in hits[:: max(1, len(hits) // TRIED)][:TRIED]:
        found = repaired(
            facts, (domain, goal), {atom: table.columns[atom][i] for atom in symbols}, row=row, budget=budget
        )
        if found is not None:
            return found
    return None


def _key(atom: Atom) -> tuple[int, ...]:
    return atom.key
