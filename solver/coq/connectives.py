"""Connectives of a text as it was written, as propositions of Coq, each proven equivalent to its normal form.

What Python evaluates only where something holds (after `and`, `or`, `if`) is needed, and proven, only there. Normal
forms are joined part by part: `lia` would try the cases of all parts of a long conjunction.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Final

from solver.coq.terms import Names, argument, by_lia, call, conjoined, conjunct
from solver.coq.written import Operations, Proven, Read, conjunction
from solver.terms.expr import Expr
from solver.terms.prop import Prop

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


class Connectives(Operations):
    """Comparisons, negations, conjunctions, disjunctions and choices."""

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
        """Proofs, part by part, that p and q equal their joined form: `lia` would try the cases of all parts."""
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
        """Prove a text that is evaluated only where the guard holds; the guard's proof has this name."""
        if not read.needs:
            return read.prove([])
        given = call(argument(proofs[0]), name)
        return read.prove([conjunct(given, index, len(read.needs)) for index in range(len(read.needs))])

    def _needs_under(self, guard: str, read: Read) -> list[str]:
        return [f"{argument(guard)} -> {argument(read.domain)}"] if read.needs else []

    def _defined_under(
        self, guard: str, name: str, normal: str, back: str, defined: list[tuple[str, str]]
    ) -> list[tuple[str, str]]:
        """The conditions of normal forms under a guard, from the proof `back` of the guard from its normal form."""
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


def injected(place: int, count: int) -> str:
    """A part, `x_`, as a disjunction of this many parts."""
    text = "x_" if place == count - 1 else "(or_introl x_)"
    for _ in range(place):
        text = f"(or_intror {text})"
    return text


def by_parts(proofs: Sequence[str], name: str) -> str:
    """Case analysis of a disjunction by name, with a proof from `x_` for each part."""
    first, *others = proofs
    if not others:
        return f"(let x_ := {name} in {first})"
    rest = f"{name[0]}r{len(others)}_"
    return f"(match {name} with or_introl x_ => {first} | or_intror {rest} => {by_parts(others, rest)} end)"


def decidable(names: Names, p: Prop) -> str:
    """A proof that a proposition or its complement holds, part by part."""
    if not p.parts:
        text = argument(names.proposition(p))
        return by_lia(f"{text} \\/ ~ {text}")
    *others, last = [decidable(names, part) for part in p.parts]
    for proof in reversed(others):
        last = call(f"decided_{p.kind}", proof, last)
    return last


def negated(names: Names, p: Prop) -> str:
    """A proof, part by part, that the complement of a proposition is its negation."""
    made = p.negation
    if not p.parts or made.parts != tuple([part.negation for part in p.parts]):
        return by_lia(f"~ {argument(names.proposition(p))} <-> {argument(names.proposition(made))}")
    *others, last = [(decidable(names, part), negated(names, part)) for part in p.parts]
    text = last[1]
    for known, proof in reversed(others):
        text = call("not_and", known, proof, text) if p.kind == "and" else call("not_or", proof, text)
    return text
