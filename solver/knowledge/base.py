"""The knowledge base that rungs query: ranges of monomials and forms, excluded values, rewrite rules.

The state of `solver.knowledge.facts.Facts` (a value) and of `solver.knowledge.draft.Draft` (under construction), and
the queries that both answer:

- `range_of(m)`: the bounds of a monomial, including those derived from its atoms;
- `low(e)`, `high(e)`: bounds of an expression by interval arithmetic;
- `prove_bound(m, side, needed)`: the proof, from the oldest facts that suffice;
- `canonical(e)`: the expression with equalities applied and decided atoms replaced, and the steps.

A bound derived from the structure of an atom is computed and explained lazily:

    >>> from solver.terms.interner import Interner
    >>> from solver.knowledge.facts import Facts
    >>> terms = Interner()
    >>> s = terms.symbol("s")
    >>> known = Facts.empty(terms).declare_range(s, 5, 9)
    >>> known.low(s // 2 + 1), known.high(s * s)
    (3, 81)
"""

from __future__ import annotations

from typing import Final

from solver.knowledge.entries import UNBOUNDED, Caches, Products, Range, Rule, Uses, form_key
from solver.knowledge.quotient_bounds import ordered_interval
from solver.proofs.rewriting import Round, apply_round, apply_round_to_prop
from solver.proofs.step import ProofStep
from solver.terms import intervals
from solver.terms.atoms import arguments, interval_of_atom, intervals_of_product
from solver.terms.deadline import look
from solver.terms.expr import Atom, Expr, TermTable
from solver.terms.intervals import Interval
from solver.terms.monomials import divides, without
from solver.terms.persistent import ShardedMap
from solver.terms.prop import Prop

DEEP: Final = 24
"""Atoms nested deeper than this are bounded level by level."""
ROUNDS: Final = 24
"""Substitution stops after this many rounds."""
REWRITES: Final = 4


class Knowledge:
    """The maps, and queries on them."""

    __slots__ = ("caches", "excluded", "forms", "interner", "products", "ranges", "solved", "uses")

    def __init__(
        self,
        interner: TermTable,
        ranges: ShardedMap[Range],
        forms: ShardedMap[Range],
        excluded: ShardedMap[dict[int, ProofStep]],
        solved: ShardedMap[Rule],
        uses: ShardedMap[Uses],
        products: Products,
        caches: Caches,
    ) -> None:
        self.interner: Final = interner
        self.ranges: Final = ranges
        self.forms: Final = forms
        self.excluded: Final = excluded
        self.solved: Final = solved
        self.uses: Final = uses
        self.products: Final = products
        self.caches: Final = caches

    @property
    def product_rules(self) -> tuple[tuple[int, Rule], ...]:
        return self.products.rules

    # ------------------------------------------------------------------ ranges

    def range_of(self, m: int) -> Range:
        """The bounds of a monomial."""
        found = self.caches.ranges.get(m)
        if found is not None:
            return found
        look()
        explicit = self.ranges.get(m)
        atoms = self.interner.monomials[m]
        if atoms[0].depth > DEEP or atoms[-1].depth > DEEP:
            self._bound_inside(atoms)
        if len(atoms) == 1 and atoms[0].kind == "symbol":
            result = explicit or UNBOUNDED
        else:
            derived = self.atom_interval(atoms[0]) if len(atoms) == 1 else self.product_interval(atoms)
            if len(atoms) > 2 and self.products.bounded:
                for _, _, interval in self.groupings(m):
                    derived = intervals.meet(derived, interval)
            result = _merge(explicit, derived)
        self.caches.ranges[m] = result
        return result

    def _bound_inside(self, atoms: tuple[Atom, ...]) -> None:
        """Bound the arguments of the atoms innermost first, without recursion through all levels."""
        cache = self.caches.ranges
        pending = [inner for atom in atoms for inner in self._unbounded_inside(atom)]
        while pending:
            inside = [] if pending[-1].monomial in cache else self._unbounded_inside(pending[-1])
            if inside:
                pending += inside
            else:
                self.range_of(pending.pop().monomial)

    def _unbounded_inside(self, atom: Atom) -> list[Atom]:
        """The operations in its arguments whose bounds are not cached."""
        cache, monomials = self.caches.ranges, self.interner.monomials
        direct = [inner for e in arguments(atom) for m, _ in e.terms for inner in monomials[m]]
        return [inner for inner in direct if inner.args and inner.monomial not in cache]

    def interval(self, m: int) -> Interval:
        r = self.range_of(m)
        return r.lo, r.hi

    def product_interval(self, atoms: tuple[Atom, ...]) -> Interval:
        """The product of the atoms' intervals, powers taken together."""
        lo = 1
        for atom in atoms:
            r = self.range_of(atom.monomial)
            if r.lo is None or r.lo < 0 or r.hi is not None:
                return intervals_of_product(atoms, self.interval)
            lo *= r.lo
        return lo, None

    def groupings(self, m: int) -> list[tuple[int, int, Interval]]:
        """A monomial as a product with recorded bounds times the rest, and the resulting interval."""
        atoms = self.interner.monomials[m]
        found = []
        if self.caches.bounding is None:
            self.caches.bounding = [product for product in self.products.bounded if self._is_bounding(product)]
        for product in self.caches.bounding:
            parts = self.interner.monomials[product]
            if len(parts) < len(atoms) and divides(parts, atoms):
                other = self.interner.monomial(without(atoms, parts))
                found.append((product, other, intervals.product(self.interval(product), self.interval(other))))
        return found

    def _is_bounding(self, product: int) -> bool:
        """Return True unless the symbols of a product give it the recorded bounds by themselves."""
        known = self.ranges.get(product)
        if known is None:
            return False
        atoms = self.interner.monomials[product]
        if any(atom.args for atom in atoms):
            return True  # their bounds may rest on those of this product
        lo, hi = self.product_interval(atoms)
        return intervals.meet((lo, hi), (known.lo, known.hi)) != (lo, hi)

    def atom_interval(self, atom: Atom) -> Interval:
        """The interval of an operation from those of its arguments, and of a quotient from the order of them."""
        found = interval_of_atom(atom, self.expr_interval)
        return intervals.meet(found, ordered_interval(atom, found, self.low)) if atom.kind == "floordiv" else found

    def expr_interval(self, e: Expr) -> Interval:
        return self.low(e), self.high(e)

    def low(self, e: Expr) -> int | None:
        """A lower bound of an expression, or None."""
        total = e.constant
        cache = self.caches.ranges
        bounded = True
        for m, c in e.terms:
            r = cache.get(m) or self.range_of(m)
            bound = r.lo if c > 0 else r.hi
            if bound is None:
                bounded = False
                break
            total += c * bound
        if self.forms.count and len(e.terms) > 1:
            known = self.form_bound(e, lower=True)
            if known is not None and (not bounded or known > total):
                return known
        return total if bounded else None

    def high(self, e: Expr) -> int | None:
        """An upper bound of an expression, or None."""
        total = e.constant
        cache = self.caches.ranges
        bounded = True
        for m, c in e.terms:
            r = cache.get(m) or self.range_of(m)
            bound = r.hi if c > 0 else r.lo
            if bound is None:
                bounded = False
                break
            total += c * bound
        if self.forms.count and len(e.terms) > 1:
            known = self.form_bound(e, lower=False)
            if known is not None and (not bounded or known < total):
                return known
        return total if bounded else None

    def refuted(self, e: Expr) -> bool:
        """Return True if a known assignment refutes `e >= 0`."""
        return False

    def form_range(self, e: Expr) -> tuple[Range | None, int]:
        """The recorded range of the expression's form, and the factor between them."""
        form, k = e.form()
        return self.forms.get(form_key(form)), k

    def form_bound(self, e: Expr, *, lower: bool) -> int | None:
        r, k = self.form_range(e)
        if r is None:
            return None
        bound = r.lo if lower == (k > 0) else r.hi
        return None if bound is None else k * bound + e.constant

    # ------------------------------------------------------------------ excluded values

    def excluded_values(self, e: Expr) -> tuple[dict[int, ProofStep] | None, int]:
        """The recorded values that the expression's form does not take, and the factor between them."""
        form, k = e.form()
        return self.excluded.get(form_key(form)), k

    # ------------------------------------------------------------------ substitution

    def elementary(self, m: int) -> Rule | None:
        """The rewrite rule of a monomial, from an equality or because its atom is decided."""
        cache = self.caches.rules
        rule = cache.get(m)
        if rule is not None or m in cache:
            return rule
        look()
        rule = self.solved.get(m)
        if rule is None:
            atoms = self.interner.monomials[m]
            if len(atoms) == 1 and atoms[0].kind != "symbol":
                rule = self.decided_rule(atoms[0])
        cache[m] = rule
        return rule

    def decided_rule(self, atom: Atom) -> Rule | None:
        """The rewrite rule of an operation that its arguments decide.

        Bounds alone decide none: the subclass does (`solver.knowledge.decided_atoms`), by lemmas that rest on bounds in
        turn.
        """
        return None

    def prove_sign(self, e: Expr, without: Atom | None = None) -> ProofStep | None:
        """`e >= 0`, cheaply, and without facts about the clamp `without` that it decides."""
        return None

    def is_inert(self, e: Expr) -> bool:
        """Return True if no substitution applies to the expression."""
        inert = self.caches.inert
        for m, _ in e.terms:
            if m in inert:
                continue
            if not self._monomial_is_inert(m):
                return False
        return True

    def _monomial_is_inert(self, m: int) -> bool:
        """Return True if no rule applies to a monomial or to its subterms, which are then inert as well."""
        inert, solved, monomials = self.caches.inert, self.solved, self.interner.monomials
        seen = {m}
        pending = [m]
        looked_at: set[int] = set()
        while pending:
            m = pending.pop()
            if self.products.rules and self.product_rule(m) is not None:
                return False
            for atom in monomials[m]:
                # a product too large to expand occurs in many monomials: its subterms are visited once
                if atom.monomial in looked_at or atom.monomial in inert:
                    continue
                looked_at.add(atom.monomial)
                if not atom.args:
                    if solved.count and solved.get(atom.monomial) is not None:
                        return False
                    continue
                if self.elementary(atom.monomial) is not None:
                    return False
                for e in arguments(atom):
                    for inner, _ in e.terms:
                        if inner not in seen and inner not in inert:
                            seen.add(inner)
                            pending.append(inner)
        inert.update(seen)
        inert.update(looked_at)
        return True

    def product_rule(self, m: int) -> tuple[int, Rule] | None:
        """A rule for a product of atoms that divides the monomial."""
        atoms = self.interner.monomials[m]
        if len(atoms) < 2:
            return None
        for product, rule in self.products.rules:
            if divides(self.interner.monomials[product], atoms) and not self.diverges(product, rule):
                return product, rule
        return None

    def diverges(self, product: int, rule: Rule) -> bool:
        """Return True if later equalities have made the image of a product larger than the product: the rule would not
        terminate.
        """
        found = self.caches.diverging.get(rule)
        if found is None:
            image = rule.image
            for _ in range(REWRITES):
                solved = {
                    atom.monomial: known
                    for m, _ in image.terms
                    for atom in self.interner.monomials[m]
                    if (known := self.elementary(atom.monomial))
                }
                if not solved:
                    break
                image = apply_round(image, tuple([(m, known.image, known.proof) for m, known in solved.items()]))
            found = self.caches.diverging[rule] = image.degree > len(self.interner.monomials[product])
        return found

    def canonical(self, e: Expr) -> tuple[Expr, tuple[Round, ...]]:
        """The expression rewritten to a fixpoint, and the rounds."""
        if self.is_inert(e):
            return e, ()
        rounds: list[Round] = []
        for _ in range(ROUNDS):
            steps = self._round(e.atoms, [e])
            if not steps:
                break
            new = apply_round(e, steps)
            if new is e or len(new.terms) > 4 * len(e.terms) + 64 or len(rounds) > 2 and new.depth > e.depth:
                break
            e = new
            rounds.append(steps)
            if self.is_inert(e):
                break
        return e, tuple(rounds)

    def canonical_prop(self, p: Prop) -> tuple[Prop, tuple[Round, ...]]:
        """A comparison or a compound rewritten to a fixpoint, and the rounds."""
        if not p.parts:
            if self.is_inert(p.expr):
                return p, ()
        elif all(self.is_inert(q.expr) for q in p.comparisons()):
            return p, ()
        rounds: list[Round] = []
        for _ in range(ROUNDS):
            steps = self._round(p.atoms, [q.expr for q in p.comparisons()])
            if not steps:
                break
            new = apply_round_to_prop(p, steps)
            if (
                new is p
                or sum(len(q.terms) for q in new.comparisons()) > 4 * sum(len(q.terms) for q in p.comparisons()) + 64
            ):
                break
            if len(rounds) > 2 and new.depth > p.depth:
                break
            p = new
            rounds.append(steps)
        return p, tuple(rounds)

    def _round(self, atoms: frozenset[Atom], exprs: list[Expr]) -> Round:
        """The rewrites that apply now."""
        steps: list[tuple[int, Expr, ProofStep]] = []
        for atom in sorted(atoms, key=lambda atom: atom.serial):
            rule = self.elementary(atom.monomial)
            if rule is not None:
                steps.append((atom.monomial, rule.image, rule.proof))
        if not steps and self.products.rules:
            found: dict[int, Rule] = {}
            inner = [arg for atom in atoms for arg in atom.args]
            exprs = (
                exprs
                + [a for a in inner if isinstance(a, Expr)]
                + [q.expr for p in inner if isinstance(p, Prop) for q in p.comparisons()]
            )
            for e in exprs:
                for m, _ in e.terms:
                    rule_found = self.product_rule(m)
                    if rule_found is not None:
                        found[rule_found[0]] = rule_found[1]
            first = [(product, rule) for product, rule in self.products.rules if product in found][:1]
            steps = [(product, rule.image, rule.proof) for product, rule in first]
        return tuple(steps)


def _merge(explicit: Range | None, derived: Interval) -> Range:
    """Merge two ranges: the tighter of each bound; a derived one has no proof yet."""
    lo, hi = derived
    if explicit is None:
        return Range(lo, hi) if lo is not None or hi is not None else UNBOUNDED
    lo_proof = hi_proof = None
    if explicit.lo is not None and (lo is None or explicit.lo >= lo):
        lo, lo_proof = explicit.lo, explicit.lo_proof
    if explicit.hi is not None and (hi is None or explicit.hi <= hi):
        hi, hi_proof = explicit.hi, explicit.hi_proof
    return Range(lo, hi, lo_proof, hi_proof, explicit.older)
