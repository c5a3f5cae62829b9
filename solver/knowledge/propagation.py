"""Constraint propagation: learn a fact and its immediate consequences, by a worklist.

A `Learner` extends knowledge; `solver.knowledge.facts` makes one from a value, learns into it and returns a new value.
Learning a proposition

- records an inequality as a bound of its linear form (or monomial), and propagates bounds a bounded number of steps;
- solves an equality for an atom (or rewrites its largest monomial) and substitutes it in what is known;
- records an excluded value, and tightens a bound equal to it;
- keeps a disjunction and, once all disjuncts but one are refuted, learns that one (unit propagation).

Each derived statement keeps its proof. A contradiction raises with the proof of false.

    >>> from solver.terms.interner import Interner
    >>> from solver.knowledge.facts import Facts
    >>> terms = Interner()
    >>> x, y = terms.symbol("x"), terms.symbol("y")
    >>> known = Facts.empty(terms).declare_range(x, 0, 9).declare_range(y, 0, None)
    >>> known = known.learn_prop(terms.ge(x, y + 2))
    >>> known.high(y)
    7
"""

from __future__ import annotations

from solver.knowledge.by_intervals import bounded_away, prove_by_intervals, prove_nonzero
from solver.knowledge.clamps import factors_apart
from solver.knowledge.draft import Contradictory
from solver.knowledge.entries import form_key
from solver.knowledge.equalities import Equalities
from solver.knowledge.explain import prove_side
from solver.knowledge.factor_cancellation import factored, without_factors
from solver.knowledge.inequalities import NEIGHBOURS, STEPS
from solver.knowledge.laws import rewritten
from solver.knowledge.multiples import reduced
from solver.proofs.fact import Fact
from solver.proofs.step import ProofStep, combine, equal, part
from solver.terms.deadline import look
from solver.terms.expr import Expr
from solver.terms.prop import Prop
from solver.terms.quotients import common_atoms


class Learner(Equalities):
    """A draft that learns facts."""

    __slots__ = ()

    def learn_fact(self, fact: Fact) -> None:
        """Learn a fact, its domain first.

        Raises:
            Contradictory: with the proof of false.
        """
        if fact.domain.kind != "true":
            self.queue.append((fact.domain, ProofStep("domain", fact.domain, fact=fact)))
        self.queue.append((fact.prop, ProofStep("fact", fact.prop, fact=fact)))
        self.run()

    def run(self) -> None:
        """Process the worklist to a fixpoint, or until the steps are spent."""
        while True:
            if self.queue:
                if self.steps > 2 * STEPS:
                    return
                prop, proof = self.queue.popleft()
                self.learn(prop, proof)
            elif self.moved and self.steps < STEPS:
                atom = next(iter(self.moved))
                del self.moved[atom]
                self.spread(atom)
            else:
                return

    def learn(self, prop: Prop, proof: ProofStep) -> None:
        look()
        self.steps += 1
        if prop.kind == "and":
            self.queue.extendleft([(p, part(proof, i)) for i, p in enumerate(prop.parts)][::-1])
            return
        prop, proof = self.restated(prop, proof)
        match prop.kind:
            case "true":
                return
            case "false":
                raise Contradictory(proof)
            case "and":
                self.queue.extendleft([(p, part(proof, i)) for i, p in enumerate(prop.parts)][::-1])
            case "or":
                self.learn_disjunction(prop, proof)
            case "ge":
                self.learn_nonzero_factors(prop, proof)
                self.queue.extend([(each.conclusion, each) for each in factors_apart(proof)])
                self.learn_inequality(prop, proof)
            case "eq":
                self.learn_nonzero_factors(prop, proof)
                self.learn_equality(prop, proof)
            case "ne":
                self.learn_nonzero_factors(prop, proof)
                self.learn_disequality(prop, proof)

    def restated(self, prop: Prop, proof: ProofStep) -> tuple[Prop, ProofStep]:
        """The proposition with all substitutions applied, and their proof."""
        new, rounds = self.canonical_prop(prop)
        if new is prop:
            return prop, proof
        return new, rewritten(new, proof, rounds)

    def learn_nonzero_factors(self, prop: Prop, proof: ProofStep) -> None:
        """An atom in every monomial is nonzero if the statement is false without it: `r != 0` from `r + r*t >= 1`."""
        e = prop.expr
        if len(e.terms) == 1 and len(self.interner.monomials[e.terms[0][0]]) == 1:
            return
        if (e.constant >= 0) if prop.kind == "ge" else (e.constant == 0) != (prop.kind == "ne"):
            return
        for atom in sorted(set(common_atoms(self.interner, e)), key=lambda atom: atom.key):
            goal = Prop.zero(atom.expr).negation
            if not bounded_away(self, atom.expr) and prove_nonzero(self, goal) is None:
                self.queue.append((goal, ProofStep("factor-nonzero", goal, (proof,), atom)))

    # ------------------------------------------------------------------ disequalities and disjunctions

    def learn_disequality(self, prop: Prop, proof: ProofStep) -> None:
        e = prop.expr
        if bounded_away(self, e) or prove_nonzero(self, prop) is not None:
            return
        smaller = without_factors(self, prop)
        if smaller is not None:
            self.queue.append((smaller.goal, factored(smaller, smaller.goal, proof)))
            return
        self.queue.extend([(each.conclusion, each) for each in factors_apart(proof)])
        low, high = self.low(e), self.high(e)
        if low == 0 == high:
            zero = equal(prove_side(self, e, True, 0), prove_side(self, e, False, 0))
            raise Contradictory(ProofStep("clash", Prop.truth(self.interner, False), (zero, proof)))
        self.exclude(proof)
        again = reduced(prop, proof)
        if again is not None:
            self.exclude(again)
        self.caches.forget()
        self.note(prop, proof)
        self.requeue_disjunctions(prop)
        form, _ = e.form()
        if len(form.terms) == 1 and not e.constant:
            self.divide_uses(form)
        self.check_excluded_end(prop, proof)

    def requeue_disjunctions(self, prop: Prop) -> None:
        """Look again at the disjunctions that have just this inequation's complement as a part."""
        uses = self.uses.get(min(prop.atoms, key=lambda atom: atom.serial).serial)
        for _ in range(NEIGHBOURS):
            if uses is None:
                break
            entry = uses.entry
            if entry.prop.kind == "or" and prop.negation in entry.prop.parts:
                self.queue.append((entry.prop, entry.proof))
            uses = uses.rest

    def exclude(self, proof: ProofStep) -> None:
        """Record a value that a form does not take."""
        form, k = proof.conclusion.expr.form()
        key = form_key(form)
        values = dict(self.excluded.get(key) or {})
        values[-proof.conclusion.expr.constant // k] = proof
        self.excluded.set(key, values)

    def divide_uses(self, form: Expr) -> None:
        """Cancel a factor now known to be nonzero in the statements that mention it."""
        atom = self.interner.monomials[form.terms[0][0]][0]
        uses = self.uses.get(atom.serial)
        for _ in range(NEIGHBOURS):
            if uses is None:
                break
            prop = uses.entry.prop
            if prop.kind in ("eq", "ne") and not prop.expr.constant and len(prop.terms) > 1:
                smaller = without_factors(self, prop)
                if smaller is not None:
                    self.queue.append((smaller.goal, factored(smaller, smaller.goal, uses.entry.proof)))
            uses = uses.rest

    def learn_disjunction(self, prop: Prop, proof: ProofStep) -> None:
        """Unit propagation: drop disjuncts that the bounds refute; a last one is a fact."""
        refuted: list[ProofStep] = []
        left: list[Prop] = []
        for p in prop.parts:
            if prove_by_intervals(self, p) is not None:
                return
            against = prove_by_intervals(self, p.negation)
            if against is None:
                left.append(p)
            else:
                refuted.append(against)
        goal = Prop.join(self.interner, "or", left)
        if refuted:
            proof = ProofStep("remaining", goal, (proof, *refuted))
        if len(left) <= 1:
            self.queue.append((goal, proof))
        elif refuted or not self._noted(prop):
            self.note(goal, proof)
            self.bound_by_hull(goal, proof)

    def _noted(self, prop: Prop) -> bool:
        atom = min(prop.atoms, key=lambda atom: atom.serial)
        uses = self.uses.get(atom.serial)
        for _ in range(NEIGHBOURS):
            if uses is None:
                return False
            if uses.entry.prop is prop:
                return True
            uses = uses.rest
        return False

    def bound_by_hull(self, prop: Prop, proof: ProofStep) -> None:
        """The interval hull of a disjunction: `1 <= x <= 5` from `x == 1 or x == 5`."""
        forms = {p.expr.form()[0] for p in prop.parts if p.kind in ("ge", "eq")}
        if len(forms) != 1 or any(p.kind not in ("ge", "eq") for p in prop.parts):
            return
        (form,) = forms
        for lower in (True, False):
            ends = []
            for p in prop.parts:
                k, constant = p.expr.form()[1], p.expr.constant
                if p.kind == "eq":
                    ends.append(-constant // k)
                elif (k > 0) == lower:
                    ends.append(-constant if k > 0 else constant)
            if len(ends) == len(prop.parts):
                bound = min(ends) if lower else max(ends)
                goal = Prop.nonnegative(form - bound if lower else bound - form)
                branches = []
                for p, end in zip(prop.parts, ends, strict=True):
                    assumed = ProofStep("hypothesis", p)
                    if p.kind == "eq":
                        sign = p.expr.form()[1] if lower else -p.expr.form()[1]
                        branches.append(combine([assumed], [sign], end - bound if lower else bound - end))
                    else:
                        branches.append(combine([assumed], [1], end - bound if lower else bound - end))
                self.queue.append((goal, ProofStep("cases", goal, (proof, *branches))))
