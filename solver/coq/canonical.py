"""Why an operation equals the canonical form that the interner gives it.

`solver.terms.division`, `solver.terms.choice` and the interner rewrite an operation on construction: content is divided
out, signs are turned, factors are cancelled. Each of these is a lemma here, and the functions below take the same
turns:

    >>> from solver.coq.canonical import Canonical
    >>> from solver.coq.logic import Logic
    >>> from solver.coq.terms import Names
    >>> from solver.terms.interner import Interner
    >>> terms = Interner()
    >>> s = terms.symbol("s")
    >>> value, proof = Canonical(Logic(Names()), lambda d: "").quotient(4 * s + 3, terms.constant(4))
    >>> print(value, proof)
    s quotient_whole (4 * s + 3) 4 s 3 0 s ltac:(discriminate) by_ring eq_refl by_ring
"""

from __future__ import annotations

from collections.abc import Callable
from math import gcd

from solver.coq.logic import Logic, impossible
from solver.coq.normal import plain_ge, plain_lt
from solver.coq.terms import argument, call, integer
from solver.errors import NotExpressible
from solver.terms import choice, division, quotients
from solver.terms.expr import Expr
from solver.terms.functions import function
from solver.terms.interner import Interner
from solver.terms.polynomials import exact_quotient
from solver.terms.prop import Prop

R = "eq_refl"

Equal = tuple[Expr, str]
"""An expression, and the proof that the operation equals it."""


class Canonical:
    """Proofs of canonical forms; `nonzero` proves that a divisor is not zero, or raises `NotExpressible`."""

    def __init__(self, logic: Logic, nonzero: Callable[[Expr], str]) -> None:
        self.logic = logic
        self.names = logic.names
        self.known_nonzero = nonzero
        self.before: tuple[Expr, Expr, str] | None = None

    def operation(self, terms: Interner, kind: str, name: str, args: tuple[Expr | Prop, ...]) -> Equal:
        """`interner.rebuild(kind, name, args)`, and why the operation on these arguments equals it."""
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
            return made, R if function(name).coq else self.value(name, values, made.constant)
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
        """That a divisor is not zero; one that a substitution made is what it was made of."""
        if self.before is not None and self.before[0] is d:
            _, old, equality = self.before
            try:
                known = self.known_nonzero(old)
            except NotExpressible:
                return self.known_nonzero(d)
            return call("moved_ne", self.names.expression(old), self.names.expression(d), equality, known)
        return self.known_nonzero(d)

    def value(self, name: str, arguments: list[Expr], result: int) -> str:
        raise NotExpressible(f"{name} of constants")

    def _atom_of(self, made: Expr, kind: str, name: str, args: tuple[Expr | Prop, ...]) -> str | None:
        """Why the operation is the atom of it, where no form was found."""
        try:
            atom = made.atom
        except ValueError:
            return None
        if atom.kind != kind or atom.name != name:
            return None
        self.names.variable(atom)
        equation = self.names.equation(atom)
        if atom.args == args:
            return call("eq_sym", equation)
        if kind == "bitand" and atom.args == args[::-1]:
            a, b = [argument(self.names.expression(arg)) for arg in args if isinstance(arg, Expr)]
            return f"eq_trans (Z.land_comm {a} {b}) (eq_sym {equation})"
        if kind == "product" and atom.args == args[::-1]:
            a, b = [argument(self.names.expression(arg)) for arg in args if isinstance(arg, Expr)]
            return f"eq_trans (Z.mul_comm {a} {b}) (eq_sym {equation})"
        return None

    # ------------------------------------------------------------------ floor division

    def quotient(self, n: Expr, d: Expr) -> Equal:
        """`n / d`."""
        if d.terms:
            return self._by_expression(n, d)
        if d.constant == 0:
            return n.interner.zero, call("quotient_by_zero", self.names.expression(n), 0, R)
        if d.constant < 0:
            return self._opposite(n, d)
        return self._by_constant(n, d.constant)

    def _opposite(self, n: Expr, d: Expr) -> Equal:
        value, proof = self.quotient(-n, -d)
        texts = [self.names.expression(e) for e in (n, d, -n, -d, value)]
        return value, call("quotient_opposite", *texts, "by_ring", "by_ring", proof)

    def _by_constant(self, n: Expr, d: int) -> Equal:
        terms, text = n.interner, self.names.expression
        if d == 1:
            return n, call("quotient_by_one", text(n), 1, text(n), R, R)
        if not n.terms:
            return terms.constant(n.constant // d), R
        quotient, constant = divmod(n.constant, d)
        whole: dict[int, int] = {}
        rest: dict[int, int] = {}
        for m, c in n.terms:
            if -d < c < d:
                rest[m] = c
                continue
            q = c // d if c > 0 else -(-c // d)
            whole[m] = q
            if c != q * d:
                rest[m] = c - q * d
        over = terms.collect(whole, quotient)
        remainder = terms.collect(rest, constant)
        value, proof = self._small(remainder, d) if rest else (terms.zero, R)
        total = over + value
        if over is terms.zero:
            return total, proof
        texts = [text(e) for e in (n, terms.constant(d), over, remainder, value, total)]
        apart = "ltac:(discriminate)"
        return total, call("quotient_whole", *texts, apart, "by_ring", proof, "by_ring")

    def _small(self, n: Expr, d: int) -> Equal:
        """`n / d` for coefficients smaller than d."""
        terms, text = n.interner, self.names.expression
        common = gcd(d, n.content())
        if common > 1:
            inner = terms.expr(tuple([(m, c // common) for m, c in n.terms]), n.constant // common)
            if d == common:
                value, proof = inner, call("quotient_by_one", text(inner), 1, text(inner), R, R)
            else:
                value, proof = self._turned(inner, d // common)
            numbers = common, d // common
            texts = text(n), integer(d), *map(integer, numbers), text(inner), integer(n.constant % common), text(value)
            return value, call("quotient_common", *texts, R, R, R, R, "by_ring", R, proof)
        return self._turned(n, d)

    def _turned(self, n: Expr, d: int) -> Equal:
        """`n / d` with a positive lead."""
        text = self.names.expression
        if n.lead()[1] > 0:
            return self._nested(n, d)
        flipped = -n + (d - 1)
        value, proof = self._nested(flipped, d)
        return -value, call(
            "quotient_flipped", text(n), d, text(flipped), text(value), text(-value), R, "by_ring", proof, "by_ring"
        )

    def _nested(self, n: Expr, d: int) -> Equal:
        """`(x // a + c) // d` is `(x + a*c) // (a*d)`; anything else is an atom by now."""
        terms, text = n.interner, self.names.expression
        inner = division._nested(terms, n)
        if inner is None:
            value = terms.atom("floordiv", (n, terms.constant(d)))
            self.names.variable(value.atom)
            return value, call("eq_sym", self.names.equation(value.atom))
        x, a = inner
        atom = (n - n.constant).atom
        numerator = x + a * n.constant
        value, proof = self._by_constant(numerator, a * d)
        texts = text(atom.expr), text(x), integer(a), text(n), integer(n.constant), integer(d), text(numerator)
        equation = self.names.equation(atom)
        identities = "by_ring", "by_ring", R
        return value, call("quotient_nested", *texts, a * d, text(value), equation, R, R, *identities, proof)

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
        """`n / d` is `m / e`, both multiplied by the same."""
        text = self.names.expression
        k = exact_quotient(d, e) if e.terms else quotients.divide_content(d, e.constant)
        if k is None:
            raise NotExpressible(f"what {d} over {e} is")
        value, proof = onward(m, e)
        texts = [text(each) for each in (n, d, m, e, k, value)]
        return value, call("quotient_cancelled", *texts, self.nonzero(d), "by_ring", "by_ring", proof)

    def _divided(self, n: Expr, d: Expr) -> Equal:
        """After common factors are gone: the sign of the divisor, and multiples of it taken out."""
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
        """The atom, or a constant divisor after all."""
        if not d.terms:
            return self.quotient(n, d)
        value = n.interner.atom("floordiv", (n, d))
        self.names.variable(value.atom)
        return value, call("eq_sym", self.names.equation(value.atom))

    # ------------------------------------------------------------------ choice

    def relu(self, e: Expr) -> Equal:
        """`Z.max e 0`."""
        terms, text = e.interner, self.names.expression
        if not e.terms:
            return choice.relu(terms, e), R
        if choice._never_negative(terms, e):
            return e, call("relu_of_positive", text(e), self._sum_of_relus(e))
        k = gcd(e.content(), e.constant)
        if k > 1:
            inner = quotients.divide_content(e, k)
            value, proof = self._relu_turned(inner)
            texts = text(e), text(inner), integer(k), text(value), text(k * value)
            return k * value, call("relu_scaled", *texts, R, "by_ring", proof, "by_ring")
        return self._relu_turned(e)

    def _relu_turned(self, e: Expr) -> Equal:
        terms, text = e.interner, self.names.expression
        if e.lead()[1] < 0:
            value, proof = self.relu(-e)
            texts = text(e), text(-e), text(value), text(value + e)
            return value + e, call("relu_opposite", *texts, "by_ring", proof, "by_ring")
        value = terms.atom("relu", (e,))
        self.names.variable(value.atom)
        return value, call("eq_sym", self.names.equation(value.atom))

    def _sum_of_relus(self, e: Expr) -> str:
        """A sum of products of relus is not negative."""
        parts: list[str] = []
        texts: list[str] = []
        for m, c in e.terms:
            proof, term = "", ""
            for atom in e.interner.monomials[m]:
                v = self.names.variable(atom)
                each = call("relu_above_zero", v, "_", self.names.equation(atom))
                proof = call("Z.mul_nonneg_nonneg", term, v, proof, each) if proof else each
                term = f"({term} * {v})" if term else v
            parts.append(call("scaled", c, term, R, proof))
            texts.append(f"{c} * {term}")
        if e.constant:
            parts.append(call("constant_nonnegative", e.constant, e.constant, R, R))
            texts.append(integer(e.constant))
        total, proof = texts[0], parts[0]
        for term, each in zip(texts[1:], parts[1:], strict=True):
            total, proof = f"{total} + {term}", call("added", total, term, proof, each)
        return call("moved_ge", total, self.names.expression(e), "by_ring", proof)

    def chosen(self, p: Prop, a: Expr, b: Expr, holds: bool, proof: str) -> Equal:
        """`choice.ite(p, a, b)`, and why it equals a where p holds, b where its complement does."""
        terms, text = a.interner, self.names.expression
        wanted = a if holds else b
        if p.kind == "true" or a is b or p.kind == "false":
            made = b if p.kind == "false" else a
            return made, R if made is wanted else impossible(proof)
        if choice._flips(p):
            return self.chosen(p.negation, b, a, not holds, proof)
        difference = a - b
        found = self._as_relu(p, difference, proof, holds) if p.kind == "ge" else None
        if found is not None:
            shifted, k, sign = found
            value, equation = self.relu(shifted)
            made = b + k * value
            if holds:
                inner = call("relu_is_argument", text(shifted), text(value), equation, sign)
                at = text(shifted)
            else:
                inner = call("relu_is_zero", text(shifted), text(value), equation, sign)
                at = "0"
            f = f"fun z_ => {text(b)} + {integer(k)} * z_"
            return made, call("exchange", f, text(value), at, text(made), text(wanted), "by_ring", inner, "by_ring")
        k = gcd(difference.content(), difference.constant)
        if difference.lead()[1] < 0 if difference.terms else difference.constant < 0:
            k = -k
        part = quotients.divide_content(difference, k)
        value = terms.atom("ite", (p, part))
        v = self.names.variable(value.atom)
        made = b + k * value
        definition = self.names.equation(value.atom)
        if holds:
            truth = self.logic.true(p, proof)
            inner = call("choice_is", "_", v, text(part), text(part), definition, truth, R)
            at = text(part)
        else:
            truth = self.logic.false(p, proof)
            inner = call("choice_is_not", "_", v, text(part), 0, definition, truth, R)
            at = "0"
        f = f"fun z_ => {text(b)} + {integer(k)} * z_"
        return made, call("exchange", f, v, at, text(made), text(wanted), "by_ring", inner, "by_ring")

    def _as_relu(self, p: Prop, difference: Expr, proof: str, holds: bool) -> tuple[Expr, int, str] | None:
        """`choice._as_relu` as an expression, a factor, and the sign of the expression under the proposition."""
        terms, text = p.interner, self.names.expression
        condition = p.expr
        for shifted in (condition, condition + 1):
            c, d = shifted.form(), difference.form()
            if (
                c[0] is d[0]
                and c[0].terms
                and d[1] * shifted.constant == difference.constant * c[1]
                and d[1] % c[1] == 0
            ):
                if holds:
                    sign = plain_ge(self.names, condition, text(condition), proof)
                    if shifted is not condition:
                        sign = call("loosened", 1, 1, text(shifted), text(condition), R, R, "by_ring", sign)
                else:
                    sign = plain_lt(self.names, condition, text(condition), proof)
                    lemma = "below_at_most" if shifted is condition else "at_most_zero"
                    sign = call(lemma, text(shifted), text(condition), "by_ring", sign)
                return shifted, d[1] // c[1], sign
        if condition.form()[0] is difference.form()[0]:
            for k, e in ((1, difference), (-1, -difference)):
                for least in (0, 1):
                    if terms.ge(e, least) is not p:
                        continue
                    shifted = e - least
                    if holds:
                        sign = plain_ge(self.names, shifted, text(shifted), proof)
                        sign = call("loosened", 1, least, text(e), text(shifted), R, R, "by_ring", sign)
                    else:
                        sign = plain_lt(self.names, shifted, text(shifted), proof)
                        lemma = "at_most_zero" if least else "below_at_most"
                        sign = call(lemma, text(e), text(shifted), "by_ring", sign)
                    return e, k, sign
        return None
