"""Learn inequalities: bounds of monomials and forms, of their factors and arguments, and interval propagation.

>>> from solver.knowledge.facts import Facts
>>> from solver.terms.interner import Interner
>>> terms = Interner()
>>> x, y = terms.symbol("x"), terms.symbol("y")
>>> known = Facts.empty(terms).declare_range(x, 1, None).declare_range(y, 2, None).learn_prop(terms.le(x * y, 9))
>>> known.high(x), known.high(y)
(4, 9)
"""

from __future__ import annotations

from typing import Final

from solver.knowledge import remainder
from solver.knowledge.by_intervals import bounded_away
from solver.knowledge.clamps import one_sided, unclamped
from solver.knowledge.draft import Contradictory, Draft
from solver.knowledge.entries import form_key, tightened
from solver.knowledge.explain import prove_bound, prove_side
from solver.knowledge.factor_cancellation import factored, without_factors
from solver.knowledge.laws import floordiv_law, law_expr, laws_of, size_of, times_nonnegative, unfold
from solver.knowledge.roots import root_bound
from solver.proofs.step import ProofStep, combine, equal, hypothesis, refute, strengthen, times
from solver.terms.expr import Atom, Expr
from solver.terms.intervals import root
from solver.terms.monomials import without
from solver.terms.prop import Prop
from solver.terms.quotients import common_atoms, divide_atoms

STEPS: Final = 160
"""Statements learned from one fact; further ones are not derived (they may still be proven when asked)."""
GROUPS: Final = 32
"""Bounded products looked for inside larger products."""
NEIGHBOURS: Final = 24
"""Forms examined when the bounds of one atom change."""
DEGREE: Final = 8
"""Largest degree of a univariate polynomial that bounds its atom."""


class Inequalities(Draft):
    """A draft that learns inequalities."""

    __slots__ = ()

    def learn_inequality(self, prop: Prop, proof: ProofStep) -> None:
        e = prop.expr
        form, k = e.form()
        if form.degree > 1:
            self.bound_by_roots(e, proof)
        if len(form.terms) == 1:
            if self.set_bound(form.terms[0][0], k > 0, -e.constant if k > 0 else e.constant, proof):
                self.note(prop, proof)
                if form.degree > 1:
                    self.learn_by_division(prop, proof)
                    self.learn_cofactors(prop, proof)
            return
        self.learn_by_division(prop, proof)
        self.learn_cofactors(prop, proof)
        if self.set_form_bound(form, k > 0, -e.constant if k > 0 else e.constant, proof):
            self.note(prop, proof)
            self.propagate(form)
            self.queue.extend([(side.conclusion, side) for side in unclamped(self, prop, proof)])
            below = remainder.prove_nonnegative(self, -e)
            if below is not None:  # dividing does not round further
                meeting = equal(proof, below)
                self.queue.append((meeting.conclusion, meeting))

    def learn_by_division(self, prop: Prop, proof: ProofStep) -> None:
        """`p >= 0` from `m*p >= 0` with m > 0 known."""
        smaller = without_factors(self, prop)
        if smaller is not None:
            self.queue.append((smaller.goal, factored(smaller, smaller.goal, proof)))

    def learn_cofactors(self, prop: Prop, proof: ProofStep) -> None:
        """`L >= 1` from `a*L >= c` with c > 0 and a nonnegative."""
        e = prop.expr
        if e.constant >= 0:
            return
        whole = e - e.constant
        nonnegative = []
        for atom in common_atoms(self.interner, whole):
            low = self.range_of(atom.monomial).lo
            if low is not None and low >= 0:
                nonnegative.append(atom)
        for divisor in _divisors(whole, tuple(nonnegative)):
            rest = divide_atoms(self.interner, whole, divisor)
            goal = Prop.ge(rest, 1)
            known = self.low(goal.expr) if goal.kind == "ge" else 0
            if known is None or known < 0:
                cofactor = self.interner.expr(((self.interner.monomial(divisor), 1),), 0)
                opposite = times(prove_side(self, cofactor, True, 0), hypothesis(goal.negation))
                false = combine([proof, opposite], [1, size_of(whole)] if opposite.conclusion.terms else [1, 1])
                if false.conclusion.kind == "false":
                    self.queue.append((goal, refute(false, goal)))

    def set_bound(self, m: int, lower: bool, value: int, proof: ProofStep) -> bool:
        """Record a bound of a monomial; return True if it is new."""
        current = self.range_of(m)
        if not _is_tighter(lower, value, current.lo if lower else current.hi):
            return False
        end = current.hi if lower else current.lo
        if end is not None and (value > end if lower else value < end):
            raise Contradictory(combine([proof, prove_bound(self, m, not lower, end)], [1, 1]))
        if self.moved_enough(m, lower, value):
            return False
        self.ranges.set(m, tightened(self.ranges.get(m), lower, value, proof))
        self.caches.forget()
        atoms = self.interner.monomials[m]
        self.moved.update(dict.fromkeys(atoms))
        if len(atoms) > 1:
            if m not in self.products.bounded and len(self.products.bounded) < GROUPS:
                self.products.bounded = (*self.products.bounded, m)
            self.bound_factors(m, atoms)
        elif atoms[0].args:
            self.bound_arguments(atoms[0], lower, value, proof)
        tight = self.range_of(m)
        if tight.lo is not None and tight.lo == tight.hi:
            above, below = prove_bound(self, m, True, tight.lo), prove_bound(self, m, False, tight.lo)
            meeting = equal(above, below)
            self.queue.append((meeting.conclusion, meeting))
            if len(atoms) == 1 and atoms[0].args and any(law.divides for law in atoms[0].operation.laws):
                # the rule of a decided operation leaves nothing of the equality to be solved
                self.queue.extend([(law.conclusion, law) for law in laws_of(self, atoms[0])])
        else:
            self.skip_excluded(self.interner.expr(((m, 1),), 0), value, proof)
        return True

    def skip_excluded(self, form: Expr, value: int, proof: ProofStep) -> None:
        """Move a bound past the excluded values that it equals."""
        if not self.excluded.count:
            return
        values = self.excluded.get(form_key(form))
        if values is not None and value in values:
            stronger = strengthen(proof, values[value])
            self.queue.append((stronger.conclusion, stronger))

    def bound_factors(self, m: int, atoms: tuple[Atom, ...]) -> None:
        """`x*y <= c` with y positive: x is at most c over the least value of y."""
        r = self.range_of(m)
        if r.hi is None:
            return
        if atoms[0] is atoms[-1]:
            low = self.range_of(atoms[0].monomial).lo
            if low is None or low < 0:
                self.bound_by_roots(r.hi - self.interner.expr(((m, 1),), 0), prove_bound(self, m, False, r.hi))
                return
        if r.hi < 0:
            return
        for atom in dict.fromkeys(atoms):
            others = 1
            for other in atoms:
                if other is not atom:
                    low = self.range_of(other.monomial).lo
                    others = 0 if low is None or low < 1 else others * low
            if not others:
                continue
            bound = root(r.hi // others, atoms.count(atom))
            high = self.range_of(atom.monomial).hi
            if high is None or bound < high:
                premises = (
                    prove_bound(self, m, False, r.hi),
                    *[self._at_least(a) for a in dict.fromkeys(atoms) if a is not atom],
                )
                goal = Prop.nonnegative(bound - atom.expr)
                self.queue.append((goal, ProofStep("factor-bounded", goal, premises, (m, atom))))

    def bound_by_roots(self, e: Expr, proof: ProofStep) -> None:
        """Bound x by `p(x) >= 0`, for a univariate polynomial that is negative beyond some value."""
        monomials = self.interner.monomials
        atom = monomials[e.terms[0][0]][0]
        if e.degree > DEGREE or any(other is not atom for m, _ in e.terms for other in monomials[m]):
            return
        r = self.range_of(atom.monomial)
        for lower in (True, False):
            end = root_bound(e, atom, lower=lower)
            known = r.lo if lower else r.hi
            if end is None or known is not None and (known >= end if lower else known <= end):
                continue
            goal = Prop.nonnegative(atom.expr - end if lower else end - atom.expr)
            beyond = hypothesis(goal.negation)
            negative = ProofStep(
                "shift", Prop.nonnegative(-e - 1), (beyond,), ((atom, (end - 1 if lower else end + 1, not lower)),)
            )
            self.queue.append((goal, refute(combine([proof, negative], [1, 1]), goal)))

    def _at_least(self, atom: Atom) -> ProofStep:
        low = self.range_of(atom.monomial).lo
        assert low is not None
        return prove_bound(self, atom.monomial, True, low)

    def bound_arguments(self, atom: Atom, lower: bool, value: int, proof: ProofStep) -> None:
        """Bounds of the arguments of an operation from a bound of its value."""
        match atom.kind, atom.args:
            case "floordiv", (_, Expr() as d):
                low = self.low(d)
                if low is None or low < 1 or (not d.is_constant and value < 0):
                    return
                # q >= v gives n - d*v >= 0; q <= v gives d*v + d - 1 - n >= 0
                law = floordiv_law(self, atom, lower)
                if d.is_constant:
                    bound = combine([law, proof], [1, d.constant])
                    self.queue.append((bound.conclusion, bound))
                    return
                scaled = times_nonnegative(self, proof, d)
                if scaled is not None:
                    bound = combine(
                        [law, scaled], [size_of(law_expr(atom, lower)), size_of(proof.conclusion.expr * d)]
                    )
                    self.queue.append((bound.conclusion, bound))
            case "relu", (Expr() as e,):
                if lower and value > 0:
                    goal = Prop.nonnegative(e - value)
                    self.queue.append((goal, ProofStep("axiom", goal, (proof,), (atom, "at least"))))
                elif not lower:
                    law = ProofStep("axiom", Prop.nonnegative(atom.expr - e), (), (atom, "above argument"))
                    bound = combine([proof, law], [1, 1])
                    self.queue.append((bound.conclusion, bound))

    def set_form_bound(self, form: Expr, lower: bool, value: int, proof: ProofStep) -> bool:
        """Record a bound of a linear form; return True if it is new."""
        if not _is_tighter(lower, value, self.low(form) if lower else self.high(form)):
            return False
        end = self.high(form) if lower else self.low(form)
        if end is not None and (value > end if lower else value < end):
            raise Contradictory(self._clash(proof, form, not lower, end))
        if self.moved_enough(-form_key(form), lower, value):
            return False
        key = form_key(form)
        self.forms.set(key, tightened(self.forms.get(key), lower, value, proof))
        self.caches.forget()
        low, high = self.low(form), self.high(form)
        if low is not None and low == high:
            meeting = equal(prove_side(self, form, True, low), prove_side(self, form, False, low))
            self.queue.append((meeting.conclusion, meeting))
        else:
            self.skip_excluded(form, value, proof)
        return True

    def _clash(self, proof: ProofStep, form: Expr, lower: bool, value: int) -> ProofStep:
        other = prove_side(self, form, lower, value)
        return combine([proof, other], [1, 1])

    # ------------------------------------------------------------------ propagation

    def spread(self, atom: Atom) -> None:
        """Requeue what mentions an atom whose bounds changed."""
        uses = self.uses.get(atom.serial)
        looked = 0
        while uses is not None and looked < NEIGHBOURS and self.steps < STEPS:
            prop = uses.entry.prop
            if prop.kind == "ge" and len(prop.terms) > 1:
                self.propagate(prop.expr.form()[0])
                looked += 1
            elif prop.kind == "or":
                self.queue.append((prop, uses.entry.proof))
                looked += 1
            elif prop.kind == "ne" and not atom.args:
                self.check_excluded_end(prop, uses.entry.proof)
                looked += 1
            elif prop.kind == "eq" and prop.schedule:
                unfolded = unfold(self, uses.entry.proof)
                if unfolded is not None:
                    self.queue.append((unfolded.conclusion, unfolded))
                looked += 1
            elif prop.kind == "eq" and len(prop.terms) > 1:
                self.propagate(prop.expr.form()[0])
                looked += 1
            uses = uses.rest

    def check_excluded_end(self, prop: Prop, proof: ProofStep) -> None:
        """Learn a stricter bound from `form != v` where v has become the minimum or maximum."""
        e = prop.expr
        for lower in (True, False):
            bound = self.low(e) if lower else self.high(e)
            if bound == 0:
                stronger = strengthen(prove_side(self, e, lower, 0), proof)
                self.queue.append((stronger.conclusion, stronger))
                return
        clamped = None if bounded_away(self, e) else one_sided(self, proof)
        if clamped is not None:
            self.queue.append((clamped.conclusion, clamped))

    def propagate(self, form: Expr) -> None:
        """Interval propagation: bounds of each term of a form from those of the form and of the other terms."""
        recorded = self.forms.get(form_key(form))
        if recorded is None or len(form.terms) > 40:
            return
        self.steps += 1
        for lower in (True, False):
            bound = recorded.lo if lower else recorded.hi
            proof = recorded.lo_proof if lower else recorded.hi_proof
            if bound is None or proof is None:
                continue
            # lower: sum c*m >= bound, so c_i*m_i >= bound - (upper bound of the others)
            total, open_terms = 0, []
            ends: list[int | None] = []
            for m, c in form.terms:
                r = self.range_of(m)
                end = r.hi if (c > 0) == lower else r.lo
                ends.append(end)
                if end is None:
                    open_terms.append(m)
                else:
                    total += c * end
            if len(open_terms) > 1:
                continue
            for (m, c), end in zip(form.terms, ends, strict=True):
                if open_terms and m != open_terms[0]:
                    continue
                others = total if end is None else total - c * end
                need = bound - others
                r = self.range_of(m)
                raises = (c > 0) == lower
                value = (
                    (-(-need // c) if raises else need // c) if c > 0 else (need // c if not raises else -(-need // c))
                )
                if raises and (r.lo is None or value > r.lo) or not raises and (r.hi is None or value < r.hi):
                    derived = self._propagated(form, m, lower, proof)
                    if derived is not None:
                        self.queue.append((derived.conclusion, derived))

    def _propagated(self, form: Expr, m: int, lower: bool, proof: ProofStep) -> ProofStep:
        premises, multipliers = [proof], [1]
        for other, c in form.terms:
            if other == m:
                continue
            r = self.range_of(other)
            high = (c > 0) == lower
            end = r.hi if high else r.lo
            assert end is not None
            premises.append(prove_bound(self, other, not high, end))
            multipliers.append(abs(c))
        return combine(premises, multipliers)


def _is_tighter(lower: bool, value: int, known: int | None) -> bool:
    return known is None or (value > known if lower else value < known)


def _divisors(whole: Expr, nonnegative: tuple[Atom, ...]) -> list[tuple[Atom, ...]]:
    """The products of nonnegative factors by which to divide.

    A sum is divided by each factor. A product has as many cofactors as subsets of its factors, all of which follow from
    those of one factor, or of none that is nonnegative.
    """
    distinct = sorted(set(nonnegative), key=lambda atom: atom.key)
    if len(whole.terms) > 1:
        return [(atom,) for atom in distinct]
    if len(nonnegative) < whole.degree:
        return [nonnegative] if nonnegative else []
    return [without(nonnegative, (atom,)) for atom in distinct if len(nonnegative) > 1]
