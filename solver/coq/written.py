"""Operations of a text as it was written, as terms of Coq, each proven equal to its normal form.

`solver.coq.texts` reads the texts. `needs` says where Python evaluates a text without an error. The proof of a normal
form follows the text: every operation equals the canonical form that the interner gives it, which
`solver.coq.canonical` proves.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from solver.coq.canonical import Canonical
from solver.coq.terms import Names, argument, by_lia, call, direct_atoms
from solver.errors import NotExpressible
from solver.syntax.tokens import Decimals
from solver.terms.expr import Expr
from solver.terms.interner import Interner
from solver.terms.operations import OPERATIONS, Operation
from solver.terms.polynomials import exact_quotient
from solver.terms.prop import Prop

R = "eq_refl"
DECIMALS: Final[tuple[Decimals, ...]] = ("ieee", "real")
SUMS: Final[dict[type[ast.operator], tuple[str, str]]] = {
    ast.Add: ("+", "sum_is"),
    ast.Sub: ("-", "difference_is"),
    ast.Mult: ("*", "product_is"),
}


@dataclass(frozen=True, slots=True)
class Proven:
    """A normal form; the proof that the text equals it or, of a proposition, is equivalent to it; and the needs in
    terms of normal forms, each with its proof."""

    value: Expr | Prop
    proof: str
    defined: list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Read:
    """A part of a text as a term of Coq.

    Attributes:
        text: the term. boolean: of a proposition, the same as a boolean.
        needs: where Python evaluates it without an error, a conjunction.
        prove: the normal form from proofs of the needs.
    """

    text: str
    boolean: str
    needs: list[str]
    prove: Callable[[Sequence[str]], Proven]

    @property
    def whole(self) -> str:
        """The proposition and its needs: what a fact states."""
        return conjunction([*self.needs, self.text])

    @property
    def domain(self) -> str:
        """All needs."""
        return conjunction(self.needs)


def conjunction(texts: Sequence[str]) -> str:
    """The conjunction of these propositions, at least one."""
    return " /\\ ".join([argument(text) for text in texts]) if len(texts) > 1 else texts[0]


class Operations:
    """Sums, products and operations of integers."""

    def __init__(self, interner: Interner, names: Names) -> None:
        self.interner = interner
        self.names = names
        self.canonical = Canonical(names, self._nonzero)
        self.nonzero: list[tuple[Expr, str]] = []

    def _nonzero(self, d: Expr) -> str:
        """A proof that a divisor is nonzero, from that of a multiple of it which the text divides by."""
        wanted = f"{self.names.expression(d)} <> 0"
        for known, proof in reversed(self.nonzero):
            if Prop.zero(known) is Prop.zero(d):
                return by_lia(wanted, proof)
        for known, proof in reversed(self.nonzero):
            factor = exact_quotient(known, d) if d.terms else None
            if factor is not None:
                texts = [self.names.expression(e) for e in (known, d, factor)]
                return call("factor_of_nonzero", *texts, "by_ring", proof)
        raise NotExpressible(f"no divisor in the text shows that {d} is not zero")

    # ------------------------------------------------------------------ leaves

    def _leaf(self, text: str, value: Expr) -> Read:
        return Read(text, "", [], lambda _: Proven(value, R, []))

    def _truth(self, value: bool) -> Read:
        prop, text = Prop.truth(self.interner, value), "True" if value else "False"
        return Read(text, text.lower(), [], lambda _: Proven(prop, call("iff_refl", text), []))

    # ------------------------------------------------------------------ arithmetic

    def _text(self, e: Expr) -> str:
        return self.names.expression(e)

    def _operation(
        self,
        text: str,
        operands: Sequence[Read],
        proof: Callable[[list[Expr], list[str], str], tuple[Expr, str]],
        need: str = "",
        of: int = -1,
    ) -> Read:
        """An operation of integers.

        `proof` gives its normal form from the operands' normal forms, the proofs of these and that of the operation's
        own need, which is about the operand `of`.
        """
        needs = [each for operand in operands for each in operand.needs]

        def prove(proofs: Sequence[str]) -> Proven:
            parts, at = [], 0
            for operand in operands:
                parts.append(operand.prove(proofs[at : at + len(operand.needs)]))
                at += len(operand.needs)
            values = [part.value for part in parts if isinstance(part.value, Expr)]
            defined = [each for part in parts for each in part.defined]
            known = len(self.nonzero)
            if need:
                normal = need.format(self._text(values[of]))
                equal = f"{argument(operands[of].text)} = {argument(self._text(values[of]))}"
                shown = by_lia(normal, proofs[at], f"({parts[of].proof} : {equal})")
                defined.append((normal, shown))
                if "<>" in need:
                    self.nonzero.append((values[of], shown))
            try:
                value, shown = proof(values, [part.proof for part in parts], proofs[at] if need else "")
            finally:
                del self.nonzero[known:]
            return Proven(value, shown, defined)

        if need:
            needs.append(need.format(argument(operands[of].text)))
        return Read(text, "", needs, prove)

    def _sum(self, op: type[ast.operator], a: Read, b: Read) -> Read:
        sign, lemma = SUMS[op]

        def proof(values: list[Expr], proofs: list[str], _: str) -> tuple[Expr, str]:
            x, y = values
            z = x + y if op is ast.Add else x - y if op is ast.Sub else x * y
            return z, call(lemma, a.text, b.text, self._text(x), self._text(y), self._text(z), *proofs, "by_ring")

        return self._operation(f"{argument(a.text)} {sign} {argument(b.text)}", [a, b], proof)

    def _opposite(self, a: Read) -> Read:
        def proof(values: list[Expr], proofs: list[str], _: str) -> tuple[Expr, str]:
            (x,) = values
            return -x, call("opposite_is", a.text, self._text(x), self._text(-x), *proofs, "by_ring")

        return self._operation(f"- {argument(a.text)}", [a], proof)

    def _binary(self, node: ast.expr, op: ast.operator, a: Read, b: Read) -> Read:
        left, right = argument(a.text), argument(b.text)
        number = self._number(b)
        nonzero = "" if number else "{} <> 0"
        nonnegative = "" if number is not None and number >= 0 else "0 <= {}"
        match op:
            case ast.Add() | ast.Sub() | ast.Mult():
                return self._sum(type(op), a, b)
            case ast.FloorDiv():
                return self._operation(f"{left} / {right}", [a, b], self._quotient(a, b), nonzero)
            case ast.Mod():
                return self._operation(f"{left} mod {right}", [a, b], self._remainder(a, b), nonzero)
            case ast.Pow():
                return self._operation(f"{left} ^ {right}", [a, b], self._power(a, b), nonnegative)
            case ast.LShift() | ast.RShift():
                name = "Z.shiftl" if isinstance(op, ast.LShift) else "Z.shiftr"
                return self._operation(f"{name} {left} {right}", [a, b], self._shift(name, a, b), nonnegative)
            case ast.BitAnd():
                return self._operation(f"Z.land {left} {right}", [a, b], self._land(a, b))
        raise NotExpressible(f"`{ast.unparse(node)}` is not integer arithmetic")

    def _number(self, read: Read) -> int | None:
        """The value of a literal."""
        try:
            return int(read.text.strip("()"))
        except ValueError:
            return None

    def _quotient(self, a: Read, b: Read) -> Callable[[list[Expr], list[str], str], tuple[Expr, str]]:
        def proof(values: list[Expr], proofs: list[str], _: str) -> tuple[Expr, str]:
            x, y = values
            z, canonical = self.canonical.operation(self.interner, "floordiv", "", (x, y))
            return z, call("quotient_is", a.text, b.text, *[self._text(e) for e in (x, y, z)], *proofs, canonical)

        return proof

    def _remainder(self, a: Read, b: Read) -> Callable[[list[Expr], list[str], str], tuple[Expr, str]]:
        def proof(values: list[Expr], proofs: list[str], need: str) -> tuple[Expr, str]:
            x, y = values
            q, canonical = self.canonical.operation(self.interner, "floordiv", "", (x, y))
            z = x - y * q
            texts = [a.text, b.text, *[self._text(e) for e in (x, y, q, z)]]
            need = need or by_lia(f"{argument(b.text)} <> 0")
            return z, call("remainder_is", *texts, need, *proofs, canonical, "by_ring")

        return proof

    def _power(self, a: Read, b: Read) -> Callable[[list[Expr], list[str], str], tuple[Expr, str]]:
        def proof(values: list[Expr], proofs: list[str], _: str) -> tuple[Expr, str]:
            x, y = values
            z, canonical = self.canonical.operation(self.interner, "power", "", (x, y))
            return z, call("power_is", a.text, b.text, *[self._text(e) for e in (x, y, z)], *proofs, canonical)

        return proof

    def _shift(self, name: str, a: Read, b: Read) -> Callable[[list[Expr], list[str], str], tuple[Expr, str]]:
        def proof(values: list[Expr], proofs: list[str], need: str) -> tuple[Expr, str]:
            x, y = values
            two = self.interner.constant(2)
            p, power = self.canonical.operation(self.interner, "power", "", (two, y))
            if name == "Z.shiftl":
                z, canonical, lemma = x * p, "by_ring", "shift_left_is"
            else:
                if p.terms:
                    raise NotExpressible("a quotient by a power with a symbolic exponent")
                z, canonical = self.canonical.operation(self.interner, "floordiv", "", (x, p))
                lemma = "shift_right_is"
            texts = [a.text, b.text, *[self._text(e) for e in (x, y, p, z)]]
            need = need or by_lia(f"0 <= {argument(b.text)}")
            return z, call(lemma, *texts, need, *proofs, power, canonical)

        return proof

    def _masked(self, x: Expr, y: Expr) -> tuple[Expr, str]:
        """`x & y`; with a mask, the sum over its runs of ones, as `solver.terms.bits` writes it."""
        z = self.interner.apply(OPERATIONS["bitand"], x, y)
        if x.is_constant or not y.is_constant or y.constant < 0 or _is_bitwise(z):
            return self.canonical.operation(self.interner, "bitand", "", (x, y))
        mask, total, proof, so_far = y.constant, self.interner.zero, "", 0
        while mask >> so_far.bit_length():
            low = so_far.bit_length()
            while not mask >> low & 1:
                low += 1
            width = ((mask >> low) + 1 & -((mask >> low) + 1)).bit_length() - 1
            run, p, k = (1 << width) - 1 << low, self.interner.constant(1 << low), self.interner.constant(1 << width)
            q, first = self.canonical.operation(self.interner, "floordiv", "", (x, p))
            r, second = self.canonical.operation(self.interner, "floordiv", "", (q, k))
            value = (q - k * r) * p
            numbers: list[str | int] = [self._text(x), run, low, width]
            numbers += [self._text(e) for e in (p, k, q, r, value)]
            of_run = call("land_run", *numbers, R, R, R, R, R, first, second, "by_ring")
            whole = total + value
            if proof:
                sides: list[str | int] = [self._text(x), so_far, run, so_far + run]
                sides += [self._text(e) for e in (total, value, whole)]
                proof = call("land_runs", *sides, R, R, proof, of_run, "by_ring")
            else:
                proof = of_run
            total, so_far = whole, so_far + run
        if total is not z:
            raise NotExpressible(f"the canonical form of {z}")
        return z, proof

    def _land(self, a: Read, b: Read) -> Callable[[list[Expr], list[str], str], tuple[Expr, str]]:
        def proof(values: list[Expr], proofs: list[str], _: str) -> tuple[Expr, str]:
            x, y = values
            z, canonical = self._masked(x, y)
            texts = [f"Z.land {argument(a.text)} {argument(b.text)}", a.text, b.text]
            texts += [self._text(e) for e in (x, y, z)]
            return z, call("same_land", *texts, R, *proofs, canonical)

        return proof


    def _extreme(self, name: str, a: Read, b: Read) -> Read:
        def proof(values: list[Expr], proofs: list[str], _: str) -> tuple[Expr, str]:
            x, y = values
            r, canonical = self.canonical.relu(x - y)
            z = y + r if name == "max" else x - r
            texts = [a.text, b.text, *[self._text(e) for e in (x, y, x - y, r, z)]]
            return z, call(f"{name}_is", *texts, *proofs, "by_ring", canonical, "by_ring")

        return self._operation(f"Z.{name} {argument(a.text)} {argument(b.text)}", [a, b], proof)

    def _abs(self, a: Read) -> Read:
        def proof(values: list[Expr], proofs: list[str], _: str) -> tuple[Expr, str]:
            (x,) = values
            r, canonical = self.canonical.relu(x)
            z = 2 * r - x
            return z, call("abs_is", a.text, *[self._text(e) for e in (x, r, z)], *proofs, canonical, "by_ring")

        return self._operation(f"Z.abs {argument(a.text)}", [a], proof)

    def _function(self, operation: Operation, operands: list[Read]) -> Read:
        places = ["u_", "v_", "w_"][: len(operands)]
        if len(operands) > 2 or len(operation.nonnegative) > 1 or operation.nonzero:
            raise NotExpressible(f"{operation.name} of {len(operands)} integers")

        def applied(texts: Sequence[str]) -> str:
            if operation.coq:
                return operation.coq.format(*[argument(text) for text in texts])
            return " ".join([self.names.function(operation.name, len(texts)), *[argument(text) for text in texts]])

        def proof(values: list[Expr], proofs: list[str], _: str) -> tuple[Expr, str]:
            z, canonical = self.canonical.operation(self.interner, "function", operation.name, tuple(values))
            lemma = "f_equal" if len(values) == 1 else "f_equal2"
            same = call(lemma, f"fun {' '.join(places)} => {applied(places)}", *proofs)
            return z, call("eq_trans", same, canonical)

        nonnegative = operation.nonnegative
        need, of = ("0 <= {}", nonnegative[0]) if nonnegative else ("", -1)
        return self._operation(applied([each.text for each in operands]), operands, proof, need, of)


def _is_bitwise(e: Expr) -> bool:
    """Return True if an expression is one bitwise operation, or a constant."""
    return not e.terms or any(atom.kind == "bitand" for atom in direct_atoms(e))
