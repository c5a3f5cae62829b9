"""Conjunctions, disjunctions, complements and truth values as terms of Coq, by the structure of the propositions.

No search: a part is found by its index, a complement by the complements of its parts.

    >>> from solver.coq.logic import Logic
    >>> from solver.coq.terms import Names
    >>> from solver.terms.interner import Interner
    >>> terms = Interner()
    >>> s = terms.symbol("s")
    >>> logic = Logic(Names())
    >>> logic.contradiction(terms.ge(s, 4), "H", "K")
    'opposite (s - 4) (-s + 3) by_ring H K'
    >>> logic.injected("H", terms.ge(s, 4), terms.disjunction([terms.eq(s, 0), terms.ge(s, 4)]))
    'or_intror H'
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from solver.coq.terms import Names, argument, call
from solver.terms.prop import Prop


def impossible(proof: str) -> str:
    """Anything, from false."""
    return call("False_ind", "_", proof)


def conjoined(proofs: Iterable[str]) -> str:
    """A conjunction, nested to the right."""
    *rest, text = proofs
    for proof in reversed(rest):
        text = call("conj", proof, text)
    return text


def conjunct(proof: str, index: int, count: int) -> str:
    """One part of a conjunction of so many."""
    for _ in range(index):
        proof = call("proj2", proof)
    return proof if index == count - 1 else call("proj1", proof)


def projected(proof: str, whole: Prop, part: Prop) -> str:
    """A part, or a conjunction of parts, of a conjunction."""
    if part is whole:
        return proof
    if part.kind == "true":
        return "I"
    if whole.kind == "false":
        return impossible(proof)
    if part.kind == "and":
        return conjoined([projected(proof, whole, each) for each in part.parts])
    return conjunct(proof, whole.parts.index(part), len(whole.parts))


def disjunct(proof: str, index: int, count: int) -> str:
    """A disjunction of so many from the part at a place."""
    if index < count - 1:
        proof = call("or_introl", proof)
    for _ in range(index):
        proof = call("or_intror", proof)
    return proof


class Logic:
    """Steps between propositions. Terms are built inside out, so names of local proofs only have to differ."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self.locals = 0

    def local(self) -> str:
        self.locals += 1
        return f"c{self.locals}_"

    def eliminated(self, proof: str, parts: Sequence[Prop], branch: Callable[[Prop, str], str]) -> str:
        """By cases over a disjunction; a branch gets its part and the name of its proof."""
        first, *others = parts
        left, right = self.local(), self.local()
        if " " in proof:
            whole = " \\/ ".join([argument(self.names.proposition(part)) for part in parts])
            proof = f"({proof} : {whole})"
        rest = branch(others[0], right) if len(others) == 1 else self.eliminated(right, others, branch)
        return f"match {proof} with or_introl {left} => {branch(first, left)} | or_intror {right} => {rest} end"

    def injected(self, proof: str, part: Prop, whole: Prop) -> str:
        """A disjunction from one of its parts, or from a disjunction of some."""
        if part is whole:
            return proof
        if whole.kind == "true":
            return "I"
        if part.kind == "false":
            return impossible(proof)
        if part.kind == "or":
            return self.eliminated(proof, part.parts, lambda each, name: self.injected(name, each, whole))
        return disjunct(proof, whole.parts.index(part), len(whole.parts))

    def contradiction(self, p: Prop, proof: str, complement: str) -> str:
        """False, from a proposition and its complement."""
        negation = p.negation
        match p.kind:
            case "ge":
                sides = self.names.expression(p.expr), self.names.expression(negation.expr)
                return call("opposite", *sides, "by_ring", proof, complement)
            case "eq":
                return f"{argument(complement)} {argument(proof)}"
            case "ne":
                return f"{argument(proof)} {argument(complement)}"
            case "true":
                return complement
            case "false":
                return proof
            case "and":
                p, negation, proof, complement = negation, p, complement, proof
        return self.eliminated(
            proof,
            p.parts,
            lambda part, name: self.contradiction(part, name, projected(complement, negation, part.negation)),
        )

    def decided(self, p: Prop) -> str:
        """The proposition or its complement (excluded middle)."""
        negation = p.negation
        match p.kind:
            case "ge":
                return call("decide_ge", self.names.expression(p.expr), self.names.expression(negation.expr), "by_ring")
            case "eq" | "ne":
                return call(f"decide_{p.kind}", self.names.expression(p.expr))
            case "true":
                return "or_introl I"
            case "false":
                return "or_intror I"
        found: list[str] = []

        def rest(parts: Sequence[Prop]) -> str:
            if not parts:
                return (
                    call("or_introl", conjoined(found))
                    if p.kind == "and"
                    else call(
                        "or_intror",
                        self.gathered(dict(zip([q.negation for q in p.parts], found, strict=True)), negation),
                    )
                )
            part, *others = parts
            yes, no = self.local(), self.local()
            if p.kind == "and":
                found.append(yes)
                taken = rest(others)
                left = call("or_intror", self.injected(no, part.negation, negation))
            else:
                taken = call("or_introl", self.injected(yes, part, p))
                found.append(no)
                left = rest(others)
            return f"match {self.decided(part)} with or_introl {yes} => {taken} | or_intror {no} => {left} end"

        return rest(p.parts)

    def gathered(self, found: Mapping[Prop, str], whole: Prop) -> str:
        """What `Prop.join` makes of a conjunction of these, flat."""
        flat: dict[Prop, str] = {}
        for p, proof in found.items():
            for part in p.parts if p.kind == "and" else (p,):
                flat.setdefault(part, projected(proof, p, part))
        if whole.kind == "true":
            return "I"
        if whole.kind == "false":
            for p, proof in flat.items():
                if p.kind == "false":
                    return proof
                if p.negation in flat:
                    return self.contradiction(p, proof, flat[p.negation])
        return conjoined([flat[part] for part in (whole.parts if whole.kind == "and" else (whole,))])

    # ------------------------------------------------------------------ truth values

    def true(self, p: Prop, proof: str) -> str:
        """`truth(p) = true`."""
        match p.kind:
            case "ge" | "eq" | "ne":
                return call(f"true_{p.kind}", self.names.expression(p.expr), proof)
            case "true":
                return "eq_refl"
            case "false":
                return impossible(proof)
            case "and":
                *rest, text = [self.true(part, projected(proof, p, part)) for part in p.parts]
                for each in reversed(rest):
                    text = call("both", "_", "_", each, text)
                return text
        return self.eliminated(proof, p.parts, lambda part, name: self._true_part(p, part, name))

    def _true_part(self, whole: Prop, part: Prop, proof: str) -> str:
        index = whole.parts.index(part)
        text = self.true(part, proof)
        if index < len(whole.parts) - 1:
            text = call("either_left", "_", "_", text)
        for _ in range(index):
            text = call("either_right", "_", "_", text)
        return text

    def false(self, p: Prop, complement: str) -> str:
        """`truth(p) = false`, from the complement."""
        negation = p.negation
        match p.kind:
            case "ge":
                sides = self.names.expression(p.expr), self.names.expression(negation.expr)
                return call("false_ge", *sides, "by_ring", complement)
            case "eq" | "ne":
                return call(f"false_{p.kind}", self.names.expression(p.expr), complement)
            case "true":
                return impossible(complement)
            case "false":
                return "eq_refl"
            case "or":
                *rest, text = [self.false(part, projected(complement, negation, part.negation)) for part in p.parts]
                for each in reversed(rest):
                    text = call("neither", "_", "_", each, text)
                return text
        parts = {part.negation: part for part in p.parts}
        return self.eliminated(complement, negation.parts, lambda part, name: self._false_part(p, parts[part], name))

    def _false_part(self, whole: Prop, part: Prop, complement: str) -> str:
        index = whole.parts.index(part)
        text = self.false(part, complement)
        if index < len(whole.parts) - 1:
            text = call("not_left", "_", "_", text)
        for _ in range(index):
            text = call("not_right", "_", "_", text)
        return text

    def of_true(self, p: Prop, proof: str) -> str:
        """The proposition from `truth(p) = true`."""
        match p.kind:
            case "ge" | "eq" | "ne":
                return call(f"of_true_{p.kind}", self.names.expression(p.expr), proof)
            case "true":
                return "I"
            case "false":
                return call("false_is_not_true", "_", proof)
            case "and":
                found = []
                for part in p.parts[:-1]:
                    found.append(self.of_true(part, call("of_both_left", "_", "_", proof)))
                    proof = call("of_both_right", "_", "_", proof)
                return conjoined([*found, self.of_true(p.parts[-1], proof)])

        def rest(parts: Sequence[Prop], proof: str) -> str:
            part, *others = parts
            if not others:
                return self.injected(self.of_true(part, proof), part, p)
            yes, no = self.local(), self.local()
            taken = self.injected(self.of_true(part, yes), part, p)
            return (
                f"match of_either _ _ {argument(proof)} with or_introl {yes} => {taken} "
                f"| or_intror {no} => {rest(others, no)} end"
            )

        return rest(p.parts, proof)
