"""Proofs that operations equal the canonical forms that the interner gives them.

`solver.terms.division`, `solver.terms.choice` and the interner rewrite an operation on construction: content is divided
out, signs are turned, factors are cancelled. Quotients by constants, relus and conditionals are linear: Coq finds out.
For quotients by expressions each rewriting is a lemma, and the functions below take the same turns.

    >>> from solver.coq.canonical import Canonical
    >>> from solver.coq.terms import Names
    >>> from solver.terms.interner import Interner
    >>> terms = Interner()
    >>> s = terms.symbol("s")
    >>> value, proof = Canonical(Names(), lambda d: "").quotient(4 * s + 3, terms.constant(4))
    >>> print(value, proof)
    s since ((4 * s + 3) / 4 = s) I by_division
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from solver.coq.terms import Names, argument, by_lia, call, conjoined, direct_atoms, integer
from solver.errors import NotExpressible
from solver.terms import choice, division, quotients
from solver.terms.expr import Expr, TermTable
from solver.terms.functions import function
from solver.terms.polynomials import exact_quotient
from solver.terms.prop import Prop

R = "eq_refl"

Equal = tuple[Expr, str]
"""An expression, and the proof that the operation equals it."""


class Canonical:
    """Proofs of canonical forms; `nonzero` proves that a divisor is not zero, or raises `NotExpressible`."""

    def __init__(self, names: Names, nonzero: Callable[[Expr], str]) -> None:
        self.names = names
        self.known_nonzero = nonzero
        self.before: tuple[Expr, Expr, str] | None = None

    def operation(self, terms: TermTable, kind: str, name: str, args: tuple[Expr | Prop, ...]) -> Equal:
        """`interner.rebuild(kind, name, args)`, with a proof that the operation on these arguments equals it."""
        match kind, args:
            case "floordiv", (Expr() as n, Expr() as d):
                return self.quotient(n, d)
            case "relu", (Expr() as e,):
                return self.relu(e)
            case _:
                made = terms.rebuild(kind, name, args)
        text = self.names.operation(kind, name, args)
        if made.terms:
            atom = self._atom_of(made, kind, name, args)
            if atom:
                return made, atom
        values = [arg for arg in args if isinstance(arg, Expr)]
        if kind == "function" and "{" not in name and all(value.is_constant for value in values):
            if not function(name).coq:
                raise NotExpressible(f"{name} of constants")
            return made, R
        if kind in ("power", "product") and not (kind == "power" and values[1].terms):
            return made, call("Z.pow_neg_r", *[each.constant for each in values], R) if (
                kind == "power" and values[1].constant < 0
            ) else "by_ring"
        if kind == "bitand" and not made.terms and all(value.is_constant for value in values):
            return made, R
        if kind == "bitand" and values[0] is values[1]:
            return made, call("Z.land_diag", self.names.expression(values[0]))
        raise NotExpressible(f"the canonical form of {text}")

    def nonzero(self, d: Expr) -> str:
        """A proof that a divisor is nonzero; one that a substitution made equals the divisor that it replaced."""
        if self.before is not None and self.before[0] is d:
            _, old, equality = self.before
            try:
                known = self.known_nonzero(old)
            except NotExpressible:
                return self.known_nonzero(d)
            equality = f"({equality} : {self.names.expression(old)} = {self.names.expression(d)})"
            return by_lia(f"{self.names.expression(d)} <> 0", known, equality)
        return self.known_nonzero(d)

    def _atom_of(self, made: Expr, kind: str, name: str, args: tuple[Expr | Prop, ...]) -> str | None:
        """A proof that the operation equals its own atom, where it has no other form."""
        try:
            atom = made.atom
        except ValueError:
            return None
        if atom.kind != kind or atom.name != name:
            return None
        equation = self.names.equation(atom)
        if atom.args == args:
            return call("eq_sym", equation)
        lemma = {"bitand": "Z.land_comm", "product": "Z.mul_comm"}.get(kind)
        if lemma is not None and atom.args == args[::-1]:
            values = [self.names.expression(arg) for arg in args if isinstance(arg, Expr)]
            return f"eq_trans ({call(lemma, *values)}) (eq_sym {equation})"
        return None

    # ------------------------------------------------------------------ floor division

    def quotient(self, n: Expr, d: Expr) -> Equal:
        """The canonical form of `n / d`."""
        if d.terms:
            return self._by_expression(n, d)
        # quotients by constants: what they and those in n are is linear
        value = n.interner.floordiv(n, d)
        wanted = f"{argument(self.names.expression(n))} / {integer(d.constant)} = {self.names.expression(value)}"
        return value, call("since", wanted, conjoined(self._equations("floordiv", n, value)), "by_division")

    def _equations(self, kind: str, *values: Expr) -> list[str]:
        """The equations that define the operations of one kind in these sums."""
        atoms = dict.fromkeys([atom for value in values for atom in direct_atoms(value) if atom.kind == kind])
        return [self.names.equation(atom) for atom in atoms]

    def _by_expression(self, n: Expr, d: Expr) -> Equal:
        terms, text = n.interner, self.names.expression
        if n is terms.zero:
            return n, call("quotient_of_zero", text(n), text(d), R)
        if n is d:
            return terms.one, call("quotient_of_same", text(n), text(d), self.nonzero(d), R)
        m, e = division._cancel_factors(terms, *division._cancel(terms, n, d))
        if e is not d:
            return self._cancelled(n, d, m, e, self._divided)
        return self._divided(n, d)

    def _cancelled(self, n: Expr, d: Expr, m: Expr, e: Expr, onward: Callable[[Expr, Expr], Equal]) -> Equal:
        """Cancel a common factor: `n / d` equals `m / e`."""
        text = self.names.expression
        k = exact_quotient(d, e) if e.terms else quotients.divide_content(d, e.constant)
        if k is None:
            raise NotExpressible(f"the quotient of {d} by {e}")
        value, proof = onward(m, e)
        texts = [text(each) for each in (n, d, m, e, k, value)]
        return value, call("quotient_cancelled", *texts, self.nonzero(d), "by_ring", "by_ring", proof)

    def _divided(self, n: Expr, d: Expr) -> Equal:
        """Divide without common factors: normalize the divisor's sign, and take its multiples out."""
        terms, text = n.interner, self.names.expression
        if not d.terms:
            return self.quotient(n, d)
        if d.lead()[1] < 0:
            value, proof = self._divided(-n, -d)
            texts = [text(each) for each in (n, d, -n, -d, value)]
            return value, call("quotient_opposite", *texts, "by_ring", "by_ring", proof)
        quotient, rest = quotients.divide(terms, n, d)
        if quotient is terms.zero and rest is n:
            return self._left(n, d)
        if rest is terms.zero:
            value, proof = terms.zero, call("quotient_of_zero", 0, text(d), R)
        elif quotient is terms.zero:
            value, proof = self._left(rest, d)
        else:
            m, e = division._cancel(terms, rest, d)
            value, proof = self._left(rest, d) if e is d else self._cancelled(rest, d, m, e, self._left)
        total = quotient + value
        texts = [text(each) for each in (n, d, quotient, rest, value, total)]
        return total, call("quotient_whole", *texts, self.nonzero(d), "by_ring", proof, "by_ring")

    def _left(self, n: Expr, d: Expr) -> Equal:
        """The quotient as an atom; by a constant, its canonical form."""
        if not d.terms:
            return self.quotient(n, d)
        value = n.interner.atom("floordiv", (n, d))
        self.names.variable(value.atom)
        return value, call("eq_sym", self.names.equation(value.atom))

    # ------------------------------------------------------------------ choice

    def relu(self, e: Expr) -> Equal:
        """The canonical form of `Z.max e 0`."""
        value = choice.relu(e.interner, e)
        wanted = f"Z.max {argument(self.names.expression(e))} 0 = {self.names.expression(value)}"
        return value, by_lia(wanted, *self._equations("relu", value), *(self._products(e) if value is e else ()))

    def _products(self, e: Expr) -> list[str]:
        """Proofs that products of relus are not negative."""
        found = []
        for m, _ in e.terms:
            equations = [self.names.equation(atom) for atom in e.interner.monomials[m]]
            signs = [call("relu_above_zero", "_", "_", equation) for equation in equations]
            found.append(reduce(lambda one, other: call("Z.mul_nonneg_nonneg", "_", "_", one, other), signs))
        return found

    def chosen(self, p: Prop, a: Expr, b: Expr, holds: bool, proof: str) -> Equal:
        """`choice.ite(p, a, b)`, with a proof that it equals a where p holds, and b elsewhere."""
        made, text = choice.ite(a.interner, p, a, b), self.names.expression
        facts = [proof, *self._equations("relu", made)]
        for atom in direct_atoms(made):
            condition = atom.args[0] if atom.kind == "ite" else None
            if isinstance(condition, Prop) and condition in (p, p.negation):
                taken = (condition is p) == holds
                truth = by_lia(f"{self.names.truth(condition)} = {'true' if taken else 'false'}", proof)
                facts.append(call("choice_taken" if taken else "choice_left", self.names.equation(atom), truth))
        return made, by_lia(f"{text(made)} = {text(a if holds else b)}", *facts)
