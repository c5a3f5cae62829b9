"""Texts as they were written, as propositions of Coq with their definedness, each proven equivalent to its normal form.

    >>> from solver.coq.terms import Names
    >>> from solver.coq.written import Reader
    >>> from solver.terms.interner import Interner
    >>> terms = Interner()
    >>> names = {name: terms.symbol(name) for name in ("n", "d")}
    >>> read = Reader(names, terms, Names()).read("d > 0 and n % d == n - d*(n//d)")
    >>> read.text
    '(d > 0) /\\\\ ((n mod d) = (n - (d * (n / d))))'
    >>> read.needs
    ['(d > 0) -> ((d <> 0) /\\\\ (d <> 0))']
    >>> read.prove(["W_"]).value
    <d >= 1>

Python's own parser reads the text, not `solver.syntax`, and no normal form is built for the statement: each operation
is Coq's. `needs` says where Python evaluates the text without an error. The proof follows the text: every operation
equals the canonical form that the interner gives it, which `solver.coq.canonical` proves.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from solver.coq.canonical import Canonical
from solver.coq.terms import Names, argument, by_lia, call, conjoined, conjunct, direct_atoms, integer
from solver.errors import NotExpressible, ParseError
from solver.proofs.fact import Fact
from solver.syntax.parser import parse, parse_expr
from solver.syntax.tokens import Decimals
from solver.terms.expr import Atom, Expr, TermTable
from solver.terms.functions import called
from solver.terms.operations import OPERATIONS, Operation
from solver.terms.polynomials import exact_quotient
from solver.terms.prop import Prop

R = "eq_refl"
DECIMALS: Final[tuple[Decimals, ...]] = ("ieee", "real")
COMPARED: Final[dict[type[ast.cmpop], tuple[str, str]]] = {
    ast.Eq: ("=", "@eq Z"),
    ast.NotEq: ("<>", "fun u_ v_ => u_ <> v_"),
    ast.LtE: ("<=", "Z.le"),
    ast.Lt: ("<", "Z.lt"),
    ast.GtE: (">=", "Z.ge"),
    ast.Gt: (">", "Z.gt"),
}
BOOLEANS: Final = {"=": "({} =? {})", "<>": "(negb ({} =? {}))", "<=": "({} <=? {})", "<": "({} <? {})",
                   ">=": "({1} <=? {0})", ">": "({1} <? {0})"}  # fmt: skip
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
    """All of these propositions, of which there is one at least."""
    return " /\\ ".join([argument(text) for text in texts]) if len(texts) > 1 else texts[0]


class Reader:
    """Reads texts over these names; a name that is none of them is a variable of its own, which must cancel."""

    def __init__(self, symbols: Mapping[str, Expr], interner: TermTable, names: Names) -> None:
        self.symbols = dict(symbols)
        self.interner = interner
        self.names = names
        self.canonical = Canonical(names, self._nonzero)
        self.nonzero: list[tuple[Expr, str]] = []
        self.source = ""

    def read(self, text: str) -> Read:
        """A proposition.

        Raises:
            NotExpressible: something in it is no arithmetic of integers.
        """
        self.source = f"({text})"
        try:
            tree = ast.parse(self.source, mode="eval").body
        except (SyntaxError, ValueError, MemoryError):
            raise NotExpressible("its text is not an expression of Python") from None
        read = self._read(tree)
        if not read.boolean:
            raise NotExpressible("its text is not a proposition")
        return read

    def _nonzero(self, d: Expr) -> str:
        """A proof that a divisor is not zero, from that of a divisor in the text, which it may be a factor of."""
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

    # ------------------------------------------------------------------ syntax

    def _read(self, node: ast.expr) -> Read:
        match node:
            case ast.Constant(value=bool() as value):
                return self._truth(value)
            case ast.Constant(value=int() as value):
                return self._leaf(integer(value), self.interner.constant(value))
            case ast.Name(id=name):
                value = self.symbols.get(name)
                if value is None:
                    value = self.symbols[name] = self.interner.symbol(name)
                return self._leaf(self.names.expression(value), value)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return self._not(self._proposition(operand))
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as value)) if type(value) is int:
                return self._leaf(integer(-value), self.interner.constant(-value))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self._opposite(self._integer(operand))
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self._integer(operand)
            case ast.UnaryOp(op=ast.Invert(), operand=operand):
                opposite = self._opposite(self._integer(operand))
                return self._sum(ast.Sub, opposite, self._leaf("1", self.interner.one))
            case ast.BinOp(left=left, op=op, right=right):
                return self._binary(node, op, self._integer(left), self._integer(right))
            case ast.BoolOp(op=op, values=values):
                join = self._and if isinstance(op, ast.And) else self._or
                found = self._proposition(values[0])
                for each in values[1:]:
                    found = join(found, self._proposition(each))
                return found
            case ast.Compare(left=left, ops=ops, comparators=others):
                sides = [self._integer(side) for side in (left, *others)]
                parts = [self._compared(*each) for each in zip(ops, sides, sides[1:], strict=False)]
                found = parts[0]
                for each in parts[1:]:
                    found = self._and(found, each)
                return found
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self._choice(self._proposition(test), self._integer(body), self._integer(orelse))
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
                return self._call(node, name, arguments)
        raise NotExpressible(f"`{ast.unparse(node)}` is no arithmetic of integers")

    def _integer(self, node: ast.expr) -> Read:
        read = self._read(node)
        if read.boolean:
            raise NotExpressible(f"`{ast.unparse(node)}` is a truth value among integers")
        return read

    def _proposition(self, node: ast.expr) -> Read:
        read = self._read(node)
        if not read.boolean:
            raise NotExpressible(f"`{ast.unparse(node)}` is an integer among truth values")
        return read

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
        """An operation of integers. `proof` gives its normal form from the operands' normal forms, the proofs of these
        and that of the operation's own need, which is about the operand `of`."""
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
        raise NotExpressible(f"`{ast.unparse(node)}` is no arithmetic of integers")

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
        z = self.interner.bit_and(x, y)
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
            texts = [self._text(x), run, low, width, *[self._text(e) for e in (p, k, q, r, value)]]
            of_run = call("land_run", *texts, R, R, R, R, R, first, second, "by_ring")
            whole = total + value
            if proof:
                sides = [self._text(x), so_far, run, so_far + run, *[self._text(e) for e in (total, value, whole)]]
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

    # ------------------------------------------------------------------ calls

    def _call(self, node: ast.Call, name: str, arguments: Sequence[ast.expr]) -> Read:
        if name in ("int", "floor", "ceil", "trunc", "round") and len(arguments) == 1:
            return self._rounded(node, arguments[0])
        if name in ("min", "max") and len(arguments) > 1:
            found = self._integer(arguments[0])
            for each in arguments[1:]:
                found = self._extreme(name, found, self._integer(each))
            return found
        operands = [self._integer(each) for each in arguments]
        if name == "abs" and len(operands) == 1:
            return self._abs(operands[0])
        if name == "ceildiv" and len(operands) == 2:
            return self._opposite(self._binary(node, ast.FloorDiv(), self._opposite(operands[0]), operands[1]))
        operation = called(name)
        if operation is not None and len(operands) == operation.arity and not operation.constructor:
            return self._function(operation, operands)
        if operation is not None and operation is OPERATIONS["gcd"] and len(operands) == 2:
            return self._function(operation, operands)
        raise NotExpressible(f"`{ast.unparse(node)}` is no arithmetic of integers")

    def _rounded(self, node: ast.Call, inside: ast.expr) -> Read:
        """A rounding of a double: a function of integers of which nothing is known; of an integer, the integer."""
        try:
            return self._integer(inside)
        except NotExpressible:
            pass
        text = ast.get_source_segment(self.source, node)
        assert text is not None
        unknown = NotExpressible(f"`{text}` rounds a double, of which Coq knows nothing")
        value, domain = parse_expr(text, self.symbols, self.interner)
        if domain.schedule or len(value.schedule) != 1 or "{" not in value.schedule[0].name:
            raise unknown
        try:
            atom = value.atom
        except ValueError:
            raise unknown from None

        def prove(proofs: Sequence[str]) -> Proven:
            self.names.variable(atom)
            defined = list(zip(needs, proofs, strict=True))
            return Proven(value, call("eq_sym", self.names.equation(atom)), defined)

        needs = [] if domain.kind == "true" else [self.names.proposition(domain)]
        return Read(self.names.definition(atom), "", needs, prove)

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

    # ------------------------------------------------------------------ propositions

    def _iff(self, left: str, right: Prop) -> str:
        return f"{argument(left)} <-> {argument(self.names.proposition(right))}"

    def _compared(self, op: ast.cmpop, a: Read, b: Read) -> Read:
        sign, relation = COMPARED[type(op)]

        def prove(proofs: Sequence[str]) -> Proven:
            first, second = a.prove(proofs[: len(a.needs)]), b.prove(proofs[len(a.needs) :])
            x, y = first.value, second.value
            assert isinstance(x, Expr) and isinstance(y, Expr)
            made = {"=": Prop.eq, "<>": Prop.ne, "<=": Prop.le, "<": Prop.lt, ">=": Prop.ge, ">": Prop.gt}[sign](x, y)
            normal = f"{argument(self._text(x))} {sign} {argument(self._text(y))}"
            texts = [relation, a.text, b.text, self._text(x), self._text(y), self.names.proposition(made)]
            proof = call("compared_is", *texts, first.proof, second.proof, by_lia(self._iff(normal, made)))
            return Proven(made, proof, [*first.defined, *second.defined])

        left, right = argument(a.text), argument(b.text)
        boolean = BOOLEANS[sign].format(left, right)
        return Read(f"{left} {sign} {right}", boolean, [*a.needs, *b.needs], prove)

    def _joined(self, kind: str, p: Prop, q: Prop, made: Prop) -> str:
        """Why p and q are the proposition that joins them, part by part: `lia` would try the cases of all parts."""
        sign, names = ("/\\" if kind == "and" else "\\/"), self.names
        whole = f"{argument(names.proposition(p))} {sign} {argument(names.proposition(q))}"
        sides = [each.parts if each.kind == kind else (each,) for each in (p, q)]
        parts = made.parts if made.kind == kind else (made,)
        if made.kind in ("true", "false") or any(part not in parts for side in sides for part in side):
            return by_lia(self._iff(whole, made))
        if kind == "and":
            of = {part: conjunct("h_", place, len(parts)) for place, part in enumerate(parts)}
            back = call("conj", *[conjoined([of[part] for part in side]) for side in sides])
            found = {
                part: conjunct(f"({word} h_)", place, len(side))
                for word, side in zip(("proj1", "proj2"), sides, strict=True)
                for place, part in enumerate(side)
            }
            there = conjoined([found[part] for part in parts])
        else:
            chosen = [
                by_parts([injected(parts.index(part), len(parts)) for part in side], name)
                for side, name in zip(sides, ("a_", "b_"), strict=True)
            ]
            there = f"match h_ with or_introl a_ => {chosen[0]} | or_intror b_ => {chosen[1]} end"
            into = []
            for part in parts:
                place = 0 if part in sides[0] else 1
                inside = injected(sides[place].index(part), len(sides[place]))
                into.append(f"({('or_introl', 'or_intror')[place]} {inside})")
            back = by_parts(into, "h_")
        normal = names.proposition(made)
        return f"conj (fun h_ : {whole} => ({there} : {normal})) (fun h_ : {normal} => ({back} : {whole}))"

    def _not(self, a: Read) -> Read:
        def prove(proofs: Sequence[str]) -> Proven:
            found = a.prove(proofs)
            assert isinstance(found.value, Prop)
            text, made = self.names.proposition(found.value), found.value.negation
            opposite = negated(self.names, found.value)
            texts = [a.text, text, self.names.proposition(made)]
            return Proven(made, call("not_is", *texts, found.proof, opposite), found.defined)

        return Read(f"~ {argument(a.text)}", f"(negb {a.boolean})", a.needs, prove)

    def _guarded(self, guard: str, name: str, read: Read, proofs: Sequence[str]) -> Proven:
        """What is evaluated only where the guard holds, whose proof has this name."""
        if not read.needs:
            return read.prove([])
        given = call(argument(proofs[0]), name)
        return read.prove([conjunct(given, index, len(read.needs)) for index in range(len(read.needs))])

    def _needs_under(self, guard: str, read: Read) -> list[str]:
        return [f"{argument(guard)} -> {argument(read.domain)}"] if read.needs else []

    def _defined_under(
        self, guard: str, name: str, normal: str, back: str, defined: list[tuple[str, str]]
    ) -> list[tuple[str, str]]:
        """What normal forms need under a guard, from the proof `back` of the guard from its normal form."""
        if not defined:
            return []
        needed = conjunction([each for each, _ in defined])
        text = f"{argument(normal)} -> {argument(needed)}"
        inner = f"(fun {name} : {guard} => {conjoined([proof for _, proof in defined])})"
        return [(text, f"fun g_ : {normal} => {inner} ({back} g_)")]

    def _and(self, a: Read, b: Read) -> Read:
        def prove(proofs: Sequence[str]) -> Proven:
            first, name = a.prove(proofs[: len(a.needs)]), self.names.local()
            second = self._guarded(a.text, name, b, proofs[len(a.needs) :])
            p, q = first.value, second.value
            assert isinstance(p, Prop) and isinstance(q, Prop)
            made = Prop.join(self.interner, "and", [p, q])
            left, right = self.names.proposition(p), self.names.proposition(q)
            whole = self._joined("and", p, q, made)
            texts = [a.text, b.text, left, right, self.names.proposition(made)]
            under = f"fun {name} : {a.text} => {second.proof}"
            back = call("proj2", first.proof)
            defined = self._defined_under(a.text, name, left, back, second.defined)
            return Proven(made, call("and_is", *texts, first.proof, under, whole), [*first.defined, *defined])

        text = f"{argument(a.text)} /\\ {argument(b.text)}"
        return Read(text, f"({a.boolean} && {b.boolean})%bool", [*a.needs, *self._needs_under(a.text, b)], prove)

    def _or(self, a: Read, b: Read) -> Read:
        guard = f"~ {argument(a.text)}"

        def prove(proofs: Sequence[str]) -> Proven:
            first, name = a.prove(proofs[: len(a.needs)]), self.names.local()
            second = self._guarded(guard, name, b, proofs[len(a.needs) :])
            p, q = first.value, second.value
            assert isinstance(p, Prop) and isinstance(q, Prop)
            made = Prop.join(self.interner, "or", [p, q])
            left, right = self.names.proposition(p), self.names.proposition(q)
            whole = self._joined("or", p, q, made)
            decided = decidable(self.names, p)
            texts = [a.text, b.text, left, right, self.names.proposition(made)]
            under = f"fun {name} : {guard} => {second.proof}"
            back = call("not_back", a.text, left, first.proof)
            defined = self._defined_under(guard, name, f"~ {argument(left)}", back, second.defined)
            return Proven(made, call("or_is", *texts, decided, first.proof, under, whole), [*first.defined, *defined])

        text = f"{argument(a.text)} \\/ {argument(b.text)}"
        return Read(text, f"({a.boolean} || {b.boolean})%bool", [*a.needs, *self._needs_under(guard, b)], prove)

    def _choice(self, c: Read, a: Read, b: Read) -> Read:
        """`a if c else b`."""
        guard = f"~ {argument(c.text)}"
        ends = len(c.needs), len(c.needs) + bool(a.needs)

        def prove(proofs: Sequence[str]) -> Proven:
            test, yes, no = c.prove(proofs[: ends[0]]), self.names.local(), self.names.local()
            first = self._guarded(c.text, yes, a, proofs[ends[0] : ends[1]])
            second = self._guarded(guard, no, b, proofs[ends[1] :])
            p, x, y = test.value, first.value, second.value
            assert isinstance(p, Prop) and isinstance(x, Expr) and isinstance(y, Expr)
            left = self.names.proposition(p)
            holds = call("proj1", test.proof, yes)
            fails = self.names.follows(p.negation, call("not_there", c.text, left, test.proof, no))
            made, taken = self.canonical.chosen(p, x, y, True, holds)
            _, other = self.canonical.chosen(p, x, y, False, fails)
            decided = decidable(self.names, p)
            reflected = by_lia(f"{c.boolean} = true <-> {argument(c.text)}")
            proof = call(
                "choice_of", c.boolean, c.text, left, a.text, b.text, self._text(made), reflected, test.proof, decided,
                f"fun {yes} : {c.text} => eq_trans {argument(first.proof)} (eq_sym {argument(taken)})",
                f"fun {no} : {guard} => eq_trans {argument(second.proof)} (eq_sym {argument(other)})",
            )  # fmt: skip
            defined = self._defined_under(c.text, yes, left, call("proj2", test.proof), first.defined)
            back = call("not_back", c.text, left, test.proof)
            defined += self._defined_under(guard, no, f"~ {argument(left)}", back, second.defined)
            return Proven(made, proof, [*test.defined, *defined])

        needs = [*c.needs, *self._needs_under(c.text, a), *self._needs_under(guard, b)]
        return Read(f"if {c.boolean} then {a.text} else {b.text}", "", needs, prove)


def _is_bitwise(e: Expr) -> bool:
    """Return True if an expression is one bitwise operation, or a constant."""
    return not e.terms or any(atom.kind == "bitand" for atom in direct_atoms(e))


def injected(place: int, count: int) -> str:
    """A part, `x_`, as a disjunction of so many."""
    text = "x_" if place == count - 1 else "(or_introl x_)"
    for _ in range(place):
        text = f"(or_intror {text})"
    return text


def by_parts(proofs: Sequence[str], name: str) -> str:
    """By cases of a disjunction of this name, these proofs from `x_`, its parts."""
    first, *others = proofs
    if not others:
        return f"(let x_ := {name} in {first})"
    rest = f"{name[0]}r{len(others)}_"
    return f"(match {name} with or_introl x_ => {first} | or_intror {rest} => {by_parts(others, rest)} end)"


def decidable(names: Names, p: Prop) -> str:
    """A proposition or its complement, part by part."""
    if not p.parts:
        text = argument(names.proposition(p))
        return by_lia(f"{text} \\/ ~ {text}")
    *others, last = [decidable(names, part) for part in p.parts]
    for proof in reversed(others):
        last = call(f"decided_{p.kind}", proof, last)
    return last


def negated(names: Names, p: Prop) -> str:
    """Why the complement of a proposition is its negation, part by part."""
    made = p.negation
    if not p.parts or made.parts != tuple([part.negation for part in p.parts]):
        return by_lia(f"~ {argument(names.proposition(p))} <-> {argument(names.proposition(made))}")
    *others, last = [(decidable(names, part), negated(names, part)) for part in p.parts]
    text = last[1]
    for known, proof in reversed(others):
        text = call("not_and", known, proof, text) if p.kind == "and" else call("not_or", proof, text)
    return text


class Texts:
    """The texts of a theorem: those of its facts and of its question."""

    def __init__(self, names: Names, props: Sequence[Prop], others: Iterable[Atom] = ()) -> None:
        """`others` are symbols that cancelled in the propositions."""
        self.asked: str | None = None
        self.symbols: dict[str, Expr] = {}
        self.ambiguous: set[str] = set()
        symbols = {atom for p in props for atom in p.symbols}.union(others)
        for atom in sorted(symbols, key=lambda atom: atom.serial):
            if atom.name in self.symbols:
                self.ambiguous.add(atom.name)
            self.symbols[atom.name] = atom.expr
        self.reader = Reader(self.symbols, props[0].interner, names)
        self.names: set[str] = set()

    def named(self) -> set[Atom]:
        """The symbols that the texts name."""
        values = [self.reader.symbols[name] for name in self.names]
        return {symbol for value in values for symbol in value.symbols}

    def question(self, text: str) -> Read:
        """A question.

        Raises:
            NotExpressible: Coq's integers do not state it.
        """
        self.asked = text
        return self._read(text)

    def fact(self, fact: Fact) -> Read | None:
        """A fact; None if it has no text that was parsed."""
        text = fact.written
        if text is None:
            return None
        new = identifiers(text) - self.reader.symbols.keys()
        missing = {name: self.reader.interner.symbol(name) for name in new}
        for decimals in DECIMALS:
            try:
                parsed = parse(text, {**self.reader.symbols, **missing}, self.reader.interner, decimals=decimals)
            except (ParseError, NotExpressible):
                continue
            if parsed.prop is fact.prop and parsed.domain is fact.domain:
                self.reader.symbols.update(missing)
                return self._read(text)
        return None

    def _read(self, text: str) -> Read:
        found = identifiers(text)
        if not self.ambiguous.isdisjoint(found):
            raise NotExpressible(f"`{text}` names two symbols alike")
        read = self.reader.read(text)
        self.names |= found
        return read


def identifiers(text: str) -> set[str]:
    """The names of values in a text."""
    try:
        tree = ast.parse(f"({text})", mode="eval")
    except (SyntaxError, ValueError, MemoryError):
        return set()
    called_names = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and id(node) not in called_names}
