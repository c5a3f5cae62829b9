"""Learn equalities by elimination: solve for an atom, change variables (Euclid), or rewrite the largest product.

>>> from solver.knowledge.facts import Facts
>>> from solver.terms.interner import Interner
>>> terms = Interner()
>>> x, y = terms.symbol("x"), terms.symbol("y")
>>> known = Facts.empty(terms).declare_range(x, 0, None).declare_range(y, 0, None).learn_prop(terms.eq(y, 3 * x + 1))
>>> known.canonical(y - x)[0] is 2 * x + 1
True
"""

from __future__ import annotations

from solver.knowledge.by_intervals import prove_nonzero
from solver.knowledge.draft import Contradictory
from solver.knowledge.entries import Range, Rule, form_key
from solver.knowledge.explain import prove_bound, prove_side
from solver.knowledge.factor_cancellation import factored, without_factors
from solver.knowledge.inequalities import Inequalities
from solver.knowledge.laws import definition_of, laws_of, rewritten, size_of
from solver.knowledge.multiples import coprime, without_inverse
from solver.proofs.rewriting import apply_round_to_prop
from solver.proofs.step import ProofStep, combine
from solver.terms.atoms import arguments
from solver.terms.expr import Atom, Expr
from solver.terms.monomials import divides
from solver.terms.operations import OPERATIONS
from solver.terms.polynomials import factors_of
from solver.terms.prop import Prop


class Equalities(Inequalities):
    """A draft that learns equalities."""

    __slots__ = ()

    def learn_equality(self, prop: Prop, proof: ProofStep) -> None:
        e = prop.expr
        smaller = without_factors(self, prop)
        if smaller is not None:
            self.queue.append((smaller.goal, factored(smaller, smaller.goal, proof)))
            return
        if e.degree > 1 and self.cancel_factor(prop, proof):
            return
        congruence = without_inverse(prop, proof)
        if congruence is not None:
            self.queue.append((congruence.conclusion, congruence))
        against = prove_nonzero(self, prop.negation)
        if against is not None:
            raise Contradictory(ProofStep("clash", Prop.truth(self.interner, False), (proof, against)))
        form, _ = e.form()
        if len(form.terms) == 1 and len(self.interner.monomials[form.terms[0][0]]) == 1:
            self.pin_monomial(form.terms[0][0], proof)
            self.queue.extend([(each.conclusion, each) for each in coprime(prop, proof)])
        chosen = self.atom_to_solve(e)
        if chosen is not None:
            self.solve(chosen, prop, proof)
            return
        if self.change_variable(prop, proof):
            return
        self.note(prop, proof)
        if form.degree > 1:
            for sign in (1, -1):
                self.bound_by_roots(e * sign, combine([proof], [sign]))
        if len(form.terms) > 1:
            self.pin_form(form, -e.constant, proof)
            self.rewrite_product(prop, proof)
        elif len(self.interner.monomials[form.terms[0][0]]) > 1:
            self.pin_monomial(form.terms[0][0], proof)
            if not self.supposing:  # bounds refute hypotheses
                self.rewrite_product(prop, proof)

    def cancel_factor(self, prop: Prop, proof: ProofStep) -> bool:
        """`p == 0` from `p*q == 0` with q known to be nonzero."""
        factors = factors_of(prop.expr)
        if len(factors) == 1:
            return False
        for factor, power in factors:
            against = Prop.zero(factor).negation
            if against.kind == "false":
                continue
            # `2*s + 1 != 0` is valid
            nonzero = ProofStep("trivial", against) if against.kind == "true" else prove_nonzero(self, against)
            if nonzero is not None:
                rest = self.interner.one
                for other, times in factors:
                    if other is not factor:
                        rest = self.interner.multiply(rest, self.interner.apply(OPERATIONS["power"], other, times))
                goal = Prop.zero(rest)
                self.queue.append((goal, ProofStep("cancelled", goal, (proof, nonzero), (rest, factor, power))))
                return True
        return False

    def pin_form(self, form: Expr, value: int, proof: ProofStep) -> None:
        """An equality is two bounds of its form, which are also propagated."""
        above, below = combine([proof], [1]), combine([proof], [-1])
        recorded = self.forms.get(form_key(form))
        current_low, current_high = self.low(form), self.high(form)
        if current_low is not None and current_low > value:
            raise Contradictory(combine([below, prove_side(self, form, True, current_low)], [1, 1]))
        if current_high is not None and current_high < value:
            raise Contradictory(combine([above, prove_side(self, form, False, current_high)], [1, 1]))
        self.forms.set(form_key(form), Range(value, value, above, below, recorded))
        self.caches.forget()
        self.propagate(form)

    def pin_monomial(self, m: int, proof: ProofStep) -> None:
        """`x == v`, or `x*y == v`."""
        for sign in (1, -1):
            side = combine([proof], [sign])
            _, k = side.conclusion.expr.form()
            constant = side.conclusion.expr.constant
            self.set_bound(m, k > 0, -constant if k > 0 else constant, side)

    def atom_to_solve(self, e: Expr) -> Atom | None:
        """The atom to eliminate: coefficient 1 or -1 and in no other monomial.

        Symbols first, those that no division or relu of the equality contains before the others, then the least used,
        then the newest; a composite atom if there is no such symbol.
        """
        best: tuple[object, ...] | None = None
        chosen = None
        monomials = self.interner.monomials
        for m, c in e.terms:
            atoms = monomials[m]
            if abs(c) != 1 or len(atoms) != 1:
                continue
            atom = atoms[0]
            others = [other for n, _ in e.terms if n != m for other in monomials[n]]
            if atom in others:
                continue
            inside = any(other.args and atom in other.expr.atoms for other in others)
            defined = atom.definition is not None and (self.supposing or not is_congruence(e, atom))
            if inside and (atom.args or defined):
                continue
            uses = self.uses.get(atom.serial)
            used = 0 if uses is None else uses.count.bit_length()
            rank = (len(atom.args) > 0, inside, used, -atom.key[1] if not atom.args else 0, -atom.depth, atom.key)
            if best is None or rank < best:
                best, chosen = rank, atom
        return chosen

    def solve(self, atom: Atom, prop: Prop, proof: ProofStep) -> None:
        """Substitute `atom == image`; other atoms that contain it get a name of their own first."""
        interner = self.interner
        e = prop.expr
        names: dict[Atom, Expr] = {}
        for m, _ in e.terms:
            for other in interner.monomials[m]:
                if other.args and other is not atom and other not in names and atom in other.expr.atoms:
                    names[other] = interner.name_of(other.expr)
        if names:
            steps = tuple((other.monomial, name, definition_of(other.expr, name)) for other, name in names.items())
            proof = rewritten(apply_round_to_prop(prop, steps), proof, (steps,))
            prop = proof.conclusion
            e = prop.expr
        c = next(k for m, k in e.terms if m == atom.monomial)
        image = atom.expr - e if c > 0 else atom.expr + e
        rule = Rule(image, proof)
        self.solved.set(atom.monomial, rule)
        self.new_solved.append((atom, rule))
        self.caches.forget()
        self.restate(atom, image)
        if atom.args:
            self.note(prop, proof)
            self.queue.extend((law.conclusion, law) for law in laws_of(self, atom))
        for other, name in names.items():
            definition = definition_of(other.expr, name)
            self.queue.append((definition.conclusion, definition))
            for lower in (True, False):
                bound = self.range_of(other.monomial).lo if lower else self.range_of(other.monomial).hi
                if bound is not None:
                    proof = prove_bound(self, other.monomial, lower, bound)
                    known = combine([proof, definition], [1, _sign_of(definition, other) * (-1 if lower else 1)])
                    self.queue.append((known.conclusion, known))

    def change_variable(self, prop: Prop, proof: ProofStep) -> bool:
        """An equality of single atoms without a coefficient of 1: Euclid's step on its smallest coefficient.

        With `c_i = c*q_i + r_i`, `c*x + sum(c_i*x_i)` is `c*(x + sum(q_i*x_i)) + sum(r_i*x_i)`: a name for what is in
        brackets replaces x, and the coefficients get smaller until one is 1 (Knuth, The Art of Computer Programming,
        4.5.2).
        """
        interner = self.interner
        e = prop.expr
        if len(e.terms) < 2 or any(len(interner.monomials[m]) != 1 for m, _ in e.terms):
            return False
        atoms = [(interner.monomials[m][0], c) for m, c in e.terms]
        free = [
            (abs(c), len(atom.args) > 0, atom.key, atom, c)
            for atom, c in atoms
            if not any(other is not atom and atom in other.expr.atoms for other, _ in atoms)
        ]
        if not free or min(free)[0] > min(abs(c) for _, c in atoms):
            return False
        _, _, _, chosen, c = min(free, key=lambda each: each[:3])
        rest = interner.sum(
            [interner.scale(atom.expr, (2 * k + abs(c)) // (2 * c)) for atom, k in atoms if atom is not chosen]
        )
        name = interner.name_of(chosen.expr + rest)
        definition = definition_of(chosen.expr + rest, name)
        rule = Rule(name - rest, definition)
        self.solved.set(chosen.monomial, rule)
        self.new_solved.append((chosen, rule))
        self.caches.forget()
        self.restate(chosen, rule.image)
        if chosen.args:
            self.queue.extend((law.conclusion, law) for law in laws_of(self, chosen))
        # finish this equality before any other: interleaved, two undo each other's steps
        self.queue.appendleft((prop, proof))
        return True

    def restate(self, atom: Atom, image: Expr) -> None:
        """Restate what was known of an eliminated atom in terms of the others."""
        seen: set[Prop] = set()
        uses = self.uses.get(atom.serial)
        while uses is not None:
            self.restate_one(atom, image, uses.entry.prop, uses.entry.proof, seen)
            uses = uses.rest
        r = self.ranges.get(atom.monomial)
        if r is not None:
            for proof in (r.lo_proof, r.hi_proof):
                if proof is not None:
                    self.restate_one(atom, image, proof.conclusion, proof, seen)
        self.withdraw_rules([atom in rule.proof.conclusion.atoms for _, rule in self.products.rules])

    def withdraw_rules(self, outdated: list[bool]) -> None:
        """Withdraw product rules that something learned since applies to, and learn their equalities again. (A rule
        left in place would rewrite its own equality to `0 == 0`.)
        """
        if not any(outdated):
            return
        rules = self.products.rules
        self.products.rules = tuple([each for each, old in zip(rules, outdated, strict=True) if not old])
        for (_, rule), old in zip(rules, outdated, strict=True):
            if old:
                self.queue.append((rule.proof.conclusion, rule.proof))

    def restate_one(self, atom: Atom, image: Expr, prop: Prop, proof: ProofStep, seen: set[Prop]) -> None:
        """Restate one statement, unless it is a bound that the image of the atom has by itself."""
        if prop in seen:
            return
        seen.add(prop)
        terms = prop.expr.terms
        if prop.kind == "ge" and len(terms) == 1 and terms[0][0] == atom.monomial and self.is_line(image):
            c = terms[0][1]
            end = self.low(image) if c > 0 else self.high(image)
            if end is not None and c * end + prop.expr.constant >= 0:
                return
        solved = self.solved.get(atom.monomial)
        if prop.kind == "eq" and solved is not None and self.decides_operation(prop, proof):
            # its own rule would rewrite it to `0 == 0`
            steps = ((atom.monomial, image, solved.proof),)
            new = apply_round_to_prop(prop, steps)
            self.queue.append((new, rewritten(new, proof, (steps,))))
            return
        self.queue.append((prop, proof))

    def decides_operation(self, prop: Prop, proof: ProofStep) -> bool:
        """Return True if an equality is the rule of an operation in it."""
        for m, _ in prop.terms:
            atoms = self.interner.monomials[m]
            if len(atoms) == 1 and atoms[0].args:
                rule = self.solved.get(m)
                if rule is not None and rule.proof is proof:
                    return True
        return False

    def is_line(self, e: Expr) -> bool:
        """Return True if the expression is linear in a single atom, or constant."""
        return not e.terms or len(e.terms) == 1 and len(self.interner.monomials[e.terms[0][0]]) == 1

    def rewrite_product(self, prop: Prop, proof: ProofStep) -> None:
        """An equality without a linear atom to solve rewrites its largest monomial, if its coefficient is 1 or -1.

        A number that a product equals is recorded as its bounds already (`pin_monomial`).
        """
        e = prop.expr
        lead, c = e.lead()
        if abs(c) != 1 or len(self.interner.monomials[lead]) < 2:
            return
        whole = self.interner.expr(((lead, 1),), 0)
        image = whole - e if c > 0 else whole + e
        if any(lead == m for m, _ in image.terms) or _occurs_inside(self.interner.monomials[lead], image):
            return
        # bounds of the other side must reach the factors before the product is replaced everywhere
        for lower, bound in ((True, self.low(image)), (False, self.high(image))):
            if bound is not None and image.terms:
                side = combine([proof, prove_side(self, image, lower, bound)], [c if lower else -c, size_of(image)])
                end = -side.conclusion.expr.constant
                self.set_bound(lead, lower, end if lower else -end, side)
                self.learn_cofactors(side.conclusion, side)
        before = self.range_of(lead)
        rule = Rule(image, proof)
        for lower, bound in ((True, before.lo), (False, before.hi)):
            if bound is not None:
                proof = prove_bound(self, lead, lower, bound)
                self.queue.append((proof.conclusion, proof))
        product = self.interner.monomials[lead]
        self.withdraw_rules([_occurs(product, rule.proof.conclusion.expr) for _, rule in self.products.rules])
        self.products.rules = (*self.products.rules, (lead, rule))
        self.caches.forget()


def is_congruence(e: Expr, atom: Atom) -> bool:
    """Return True if an equality says that an atom is a multiple of a constant: `x == k*(x//k)`."""
    parts = [e.interner.monomials[m][0] for m, _ in e.terms]
    others = [part for part in parts if part is not atom]
    if e.constant or len(parts) != 2 or len(others) != 1 or others[0].kind != "floordiv":
        return False
    n, divisor = others[0].args
    return n is atom.expr and isinstance(divisor, Expr) and not divisor.terms


def _occurs(product: tuple[Atom, ...], e: Expr) -> bool:
    """Return True if the product divides some monomial of the expression."""
    return any(divides(product, e.interner.monomials[m]) for m, _ in e.terms)


def _occurs_inside(product: tuple[Atom, ...], image: Expr) -> bool:
    """Return True if an argument of an atom of the image contains the product: the rule would not terminate."""
    return any(_occurs(product, e) for atom in image.schedule for e in arguments(atom))


def _sign_of(definition: ProofStep, atom: Atom) -> int:
    """The coefficient of the atom in the equality that defines it."""
    return next(c for m, c in definition.conclusion.expr.terms if m == atom.monomial)
