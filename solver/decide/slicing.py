"""Constraint slicing: the facts that a question can depend on, learned again in canonical order.

Answers must depend neither on the order of the facts nor on unrelated symbols. A question that stays unknown is
therefore decided once more on its slice: the facts connected with it by shared symbols (constraint independence, as in
KLEE), sorted by structure, with sample values by the position of a symbol in the slice. Further attempts reverse the
order, then change the samples alone.

    >>> from solver.knowledge.facts import Facts, Memos, Slice
    >>> from solver.terms.interner import Interner
    >>> from solver.decide.slicing import slice_of
    >>> terms = Interner()
    >>> a, b, c = terms.symbol("a"), terms.symbol("b"), terms.symbol("c")
    >>> known = Facts.empty(terms)
    >>> for symbol in (a, b, c):
    ...     known = known.declare_range(symbol, 0, None)
    >>> known = known.learn_prop(terms.ge(c, 7)).learn_prop(terms.ge(a, b)).learn_prop(terms.eq(a % 4, 0))
    >>> [fact.text for fact in slice_of(known, terms.ge(a, 1), terms.true).known.records()]
    ['a % 4 == 0', 'a >= b', '0 <= b <= None', '0 <= a <= None']
"""

from __future__ import annotations

from typing import Final

from solver.decide.assume import assume
from solver.integer.work_budget import Limits, WorkBudget
from solver.knowledge.entries import Rule
from solver.knowledge.facts import Conflict, Consistent, Facts, Memos, Slice, Unknown
from solver.knowledge.samples import Samples
from solver.knowledge.symbols import by_age, declared_in
from solver.proofs.fact import Fact
from solver.samples.replenish import replenished
from solver.terms.atoms import operands
from solver.terms.coefficients import distinct_hash
from solver.terms.expr import Atom, Expr
from solver.terms.prop import Prop

LARGEST: Final = 160
"""Largest slice, in facts, that is learned again."""
ATTEMPTS: Final = 2
RESAMPLED: Final = 6
"""Further attempts with other sample values, which only look for a witness."""
SEEDS: Final = 1009
"""Distance between the seeds of two attempts."""
LEARNED: Final = 100
"""Cost of a learned statement, in units of the linear solver's work."""
SAMPLED: Final = 500
"""Cost of evaluating the samples on a fact."""
REPAIRING: Final = 4_000
"""Budget for repairing samples, for each fact."""
KINDS: Final = {"eq": 1, "ge": 0, "ne": 2, "and": 3, "or": 4}


def slice_of(facts: Facts, prop: Prop, domain: Prop, attempt: int = 0) -> Slice | None:
    """The facts about the symbols of a question and those connected with them.

    A conflict is data, and None stands for a slice that is too large.

    The second attempt reverses the order; the others are the first with other sample values, empty where none were
    found.
    """
    found = _connected(facts, prop, domain)
    if found is None:
        return None
    symbols, related = found
    key = (frozenset(symbols), attempt)
    made = facts.memos.slices.get(key)
    if made is None:
        if attempt < ATTEMPTS:
            made = _learned(facts, symbols, related, attempt)
        else:
            first = slice_of(facts, prop, domain)
            assert first is not None
            made = _resampled(first, symbols, attempt)
        facts.memos.slices[key] = made
    return made


def completed(facts: Facts, values: dict[Atom, int]) -> dict[Atom, int] | None:
    """An assignment of the symbols of a slice extended to all others; None if the facts have no sample."""
    missing = [atom for atom in facts.all_symbols() if atom not in values]
    if not missing:
        return values
    row = facts.witness()
    return None if row is None else {**row, **values}


def with_sample(facts: Facts) -> Facts | Conflict | None:
    """Facts that no sample satisfies, with one that is put together: each part of connected facts that the last values
    violate is learned by itself, in canonical order; a conflict is data, and None stands for none found.

    Which samples are lost and which repairs succeed depends on the order in which facts came; this does not.
    """
    made = facts.memos.together
    if made is None:
        made = facts.memos.together = _together(facts)
    match made:
        case Consistent(witness=witness):
            return facts.with_samples(facts.samples.with_row(0, witness))
        case Conflict():
            return made
        case _:
            return None


def _together(facts: Facts) -> Consistent | Conflict | Unknown:
    """An assignment of all symbols from those of the parts."""
    values = facts.samples.row_values(facts.all_symbols(), 0)
    for fact in facts.records():
        if _holds(fact, values):
            continue
        for attempt in range(ATTEMPTS + RESAMPLED):
            part = slice_of(facts, fact.prop, fact.domain, attempt)
            if part is None:
                return Unknown("too many connected facts")
            if isinstance(part.known, Conflict):
                return part.known
            found = None if part.known is None else part.known.witness()
            if found is not None:
                values.update(found)
                break
        else:
            return Unknown("no sample was found for some of the facts")
    return Consistent(values) if facts.holds_at(values) else Unknown("the parts do not fit together")


def _holds(fact: Fact, values: dict[Atom, int]) -> bool:
    """Return True if an assignment satisfies a fact and its domain; False where that is too large to compute."""
    try:
        return fact.domain.evaluate(values) and fact.prop.evaluate(values)
    except OverflowError:
        return False


def _connected(facts: Facts, prop: Prop, domain: Prop) -> tuple[list[Atom], list[Fact]] | None:
    """The connected component of a question: declared symbols, in their order, and the facts that connect them."""
    pending = [atom for p in (prop, domain) for atom in declared_in(p)]
    symbols: set[Atom] = set()
    related: dict[int, Fact] = {}
    while pending:
        atom = pending.pop()
        if atom in symbols:
            continue
        symbols.add(atom)
        touching = facts.samples.touching.get(atom.serial)
        while touching is not None:
            fact = touching.fact
            if fact.serial not in related:
                related[fact.serial] = fact
                if len(related) > LARGEST:
                    return None
                pending += [*declared_in(fact.prop), *declared_in(fact.domain)]
            touching = touching.rest
    return sorted(symbols, key=by_age), [related[serial] for serial in sorted(related)]


def _learned(facts: Facts, symbols: list[Atom], related: list[Fact], attempt: int) -> Slice:
    """Facts about these symbols, learned in canonical order."""
    declarations = {each.atom: each for each in facts.declarations()}
    known = Facts.empty(facts.interner)
    order = Order(symbols)
    learned: list[tuple[Fact, list[tuple[Atom, Rule]]]] = []
    cost = 0
    for position, atom in enumerate(symbols):
        declared = declarations.get(atom)
        if declared is not None:
            lo, hi = facts.samples.limits.get(atom.serial) or (None, None)
            seed = position + 1 + attempt * SEEDS
            larger = known.declare(atom.expr, lo, hi, declared.fact, hint=declared.hint, seed=seed)
            if isinstance(larger, Conflict):
                return Slice(larger, learned, cost)
            known = larger
    for fact in sorted(related, key=order.of_fact, reverse=attempt % 2 == 1):
        larger = assume(known, fact)
        if isinstance(larger, Conflict):
            return Slice(larger, learned, cost)
        known = larger
        cost += SAMPLED + LEARNED * known.steps
        learned.append((fact, known.eliminated))
    return Slice(known, learned, cost)


def _resampled(first: Slice, symbols: list[Atom], attempt: int) -> Slice:
    """The same facts with other samples."""
    known = first.known
    if not isinstance(known, Facts):
        return first
    hints = {each.atom: each.hint for each in known.declarations()}
    samples = Samples.empty()
    for position, atom in enumerate(symbols):
        if atom in hints:
            lo, hi = known.samples.limits.get(atom.serial) or (None, None)
            samples = samples.declare(atom, lo, hi, hints[atom], position + 1 + attempt * SEEDS)
    budget = WorkBudget(Limits(work=REPAIRING * len(first.order)))
    for fact, eliminated in first.order:
        samples = replenished(samples, samples.assume(fact, eliminated), known, fact, budget=budget)
        if not samples.alive:
            break
    cost = REPAIRING * len(first.order) - budget.work + SAMPLED * len(first.order)
    if not samples.alive:
        return Slice(None, first.order, cost)
    # what is unknown with those samples may be found with these
    return Slice(known.with_samples(samples, Memos()), first.order, cost)


class Order:
    """A total order of propositions over some symbols that depends on their structure and on the order of these symbols
    alone.
    """

    def __init__(self, symbols: list[Atom]) -> None:
        self._marks: dict[Atom, int] = {atom: position for position, atom in enumerate(symbols)}

    def of_fact(self, fact: Fact) -> tuple[int, tuple[int, ...], int, int, int, str, str]:
        """The sort key of a fact: inequalities first, whose factors equalities would expand; then by the first symbols,
        then by text."""
        prop = fact.prop
        symbols = tuple(sorted([self._mark(atom) for atom in declared_in(prop)]))
        structure = prop.depth, self._of_prop(prop), self._of_prop(fact.domain)
        return KINDS.get(prop.kind, 0), symbols, *structure, fact.kind, fact.written or ""

    def _of_prop(self, prop: Prop) -> int:
        marks: dict[Prop, int] = {}
        for node in prop.nodes:
            parts = [marks[part] for part in node.parts]
            marks[node] = hash((*node.kind.encode(), self._of_expr(node.expr), *parts))
        return marks[prop]

    def _of_expr(self, e: Expr) -> int:
        for atom in e.schedule:
            self._mark(atom)
        monomials = e.interner.monomials
        terms = [hash((distinct_hash(c), *sorted([self._mark(atom) for atom in monomials[m]]))) for m, c in e.terms]
        return hash((distinct_hash(e.constant), *sorted(terms)))

    def _mark(self, atom: Atom) -> int:
        """A number for an atom; those in its arguments, except names, have theirs already."""
        found = self._marks.get(atom)
        if found is None:
            if atom.definition is not None:
                found = hash((1, self._of_expr(atom.definition)))
            else:
                args = [self._of_expr(arg) if isinstance(arg, Expr) else self._of_prop(arg) for arg in operands(atom)]
                found = hash((*atom.kind.encode(), 0, *atom.name.encode(), *args))
            self._marks[atom] = found
        return found
