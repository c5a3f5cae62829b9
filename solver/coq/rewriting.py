"""Substitution of equals as terms of Coq: `solver.proofs.rewriting`, with a proof for each expression that changes.

A round replaces atoms, or one product of atoms, everywhere. What an operation becomes is proven first, arguments before
the operations on them, each as a local lemma `E1`, `E2`, ...; a proposition is then carried over by the equality of its
polynomials, in either direction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from solver.coq.canonical import Canonical
from solver.coq.logic import projected
from solver.coq.normal import normal, plain
from solver.coq.terms import argument, call
from solver.errors import NotExpressible
from solver.terms.expr import Atom, Expr
from solver.terms.monomials import divides, without
from solver.terms.prop import Prop

Carry = Callable[[str], str]
"""From the proof of one proposition to that of another."""


@dataclass(frozen=True, slots=True)
class Carried:
    """A proposition after a round: its proof from that of the one before, and back."""

    prop: Prop
    forward: Carry
    backward: Carry


class Substitution:
    """One round. `images` maps an atom to its image and the name of the equality."""

    def __init__(self, canonical: Canonical, remember: Callable[[str, str], str]) -> None:
        self.canonical = canonical
        self.names = canonical.names
        self.logic = canonical.logic
        self.remember = remember
        self.images: dict[Atom, tuple[Expr, str]] = {}
        self.product: tuple[int, Expr, str] | None = None

    def prepare(self, schedule: Iterable[Atom]) -> None:
        """What the operations become."""
        for atom in schedule:
            if atom in self.images:
                continue
            changed = [self._argument(arg) for arg in atom.args]
            if all(new is old for (new, _), old in zip(changed, atom.args, strict=True)):
                continue
            self.images[atom] = self._rebuilt(atom, changed)

    def _argument(self, arg: Expr | Prop) -> tuple[Expr | Prop, str | Carried]:
        if isinstance(arg, Expr):
            return self.expression(arg)
        carried = self.proposition(arg)
        return carried.prop, carried

    def _rebuilt(self, atom: Atom, changed: list[tuple[Expr | Prop, str | Carried]]) -> tuple[Expr, str]:
        terms, text, names = atom.expr.interner, self.names.expression, self.names
        args = tuple([new for new, _ in changed])
        v, equation = names.variable(atom), names.equation(atom)
        match changed:
            case [(Prop() as p, Carried() as carried), (Expr() as e, str() as same)]:
                yes, no = self.logic.local(), self.logic.local()
                old, old_e = atom.args[0], atom.args[1]
                assert isinstance(old, Prop) and isinstance(old_e, Expr)
                image, taken = self.canonical.chosen(p, e, terms.zero, True, carried.forward(yes))
                first = call("choice_is", "_", v, text(old_e), text(image), equation, self.logic.true(old, yes))
                first += " " + argument(f"eq_trans {argument(same)} (eq_sym {argument(taken)})")
                back = self.complement(old, carried)
                _, left = self.canonical.chosen(p, e, terms.zero, False, back(no))
                second = call("choice_is_not", "_", v, text(old_e), text(image), equation, self.logic.false(old, no))
                second += f" (eq_sym {argument(left)})"
                term = (
                    f"match {self.logic.decided(old)} with or_introl {yes} => {first} | or_intror {no} => {second} end"
                )
                return image, self.remember(f"{v} = {text(image)}", term)
        self.canonical.before = None
        match atom.kind, atom.args, changed:
            case "floordiv", (_, Expr() as divisor), [_, (Expr() as made, str() as same)] if made is not divisor:
                self.canonical.before = made, divisor, same
        image, canonical = self.canonical.operation(terms, atom.kind, atom.name, args)
        self.canonical.before = None
        if image is not terms.rebuild(atom.kind, atom.name, args):
            raise NotExpressible(f"the canonical form of {atom}")
        lemma = {
            "floordiv": "same_quotient",
            "relu": "same_relu",
            "bitand": "same_land",
            "power": "same_power",
            "product": "same_product",
        }.get(atom.kind)
        if lemma is None:
            raise NotExpressible(f"substitution inside of {atom.name or atom.kind}")
        before = [text(arg) for arg in atom.args if isinstance(arg, Expr)]
        after = [text(arg) for arg in args if isinstance(arg, Expr)]
        proofs = [proof for _, proof in changed if isinstance(proof, str)]
        term = call(lemma, v, *before, *after, text(image), equation, *proofs, canonical)
        return image, self.remember(f"{v} = {text(image)}", term)

    def complement(self, old: Prop, carried: Carried) -> Carry:
        """From the complement of the old proposition to that of the new one."""

        def carry(proof: str) -> str:
            p = carried.prop
            yes, no = self.logic.local(), self.logic.local()
            clash = call("False_ind", "_", self.logic.contradiction(old, carried.backward(yes), proof))
            return f"match {self.logic.decided(p)} with or_introl {yes} => {clash} | or_intror {no} => {no} end"

        return carry

    def expression(self, e: Expr) -> tuple[Expr, str]:
        """An expression after the round, and the equality."""
        terms, text = e.interner, self.names.expression
        new = terms.replace(e, {atom: image for atom, (image, _) in self.images.items()})
        proof = "eq_refl"
        if new is not e:
            present = {atom for m, _ in e.terms for atom in terms.monomials[m]}
            atoms = [atom for atom in self.images if atom in present]
            proof = "by_ring"
            done: dict[Atom, str] = {}
            steps = []
            for atom in atoms:
                image, equality = self.images[atom]
                f = self.names.polynomial(e, {**done, atom: "z_"})
                steps.append((f, self.names.variable(atom), argument(text(image)), equality))
                done[atom] = argument(text(image))
            for place, (f, v, image_text, equality) in reversed(list(enumerate(steps))):
                source = self.names.polynomial(e, dict(list(done.items())[:place]))
                proof = call("exchange", f"fun z_ => {f}", v, image_text, source, text(new), "eq_refl", equality, proof)
        if self.product is None:
            return new, proof
        return self._without_product(new, proof, text(e))

    def _without_product(self, e: Expr, proof: str, source: str) -> tuple[Expr, str]:
        """One occurrence of the product replaced in every monomial that it divides."""
        assert self.product is not None
        product, image, equality = self.product
        terms, text = e.interner, self.names.expression
        atoms = terms.monomials[product]
        kept: dict[int, int] = {}
        factors: list[Expr] = []
        for m, c in e.terms:
            if divides(atoms, terms.monomials[m]):
                rest = without(terms.monomials[m], atoms)
                factors.append(terms.expr(((terms.monomial(rest), c),), 0) if rest else terms.constant(c))
            else:
                kept[m] = c
        if not factors:
            return e, proof
        factor = terms.sum(factors)
        left = terms.expr(tuple(kept.items()), e.constant)
        new = terms.sum([left, *[terms.multiply(each, image) for each in factors]])
        whole = terms.expr(((product, 1),), 0)
        f = f"fun z_ => {text(left)} + ({text(factor)}) * z_"
        exchanged = call("exchange", f, text(whole), text(image), text(e), text(new), "by_ring", equality, "by_ring")
        return new, exchanged if proof == "eq_refl" else f"eq_trans {argument(proof)} {argument(exchanged)}"

    def proposition(self, p: Prop) -> Carried:
        """A proposition after the round."""
        if p.parts:
            return self._compound(p)
        if not p.terms:
            return Carried(p, _same, _same)
        new, equality = self.expression(p.expr)
        if new is p.expr:
            return Carried(p, _same, _same)
        q = p.of(new)
        kind, names = p.kind, self.names
        before, after = names.expression(p.expr), names.expression(new)

        def forward(proof: str) -> str:
            return normal(names, kind, new, after, call(f"moved_{kind}", before, after, equality, proof))

        def backward(proof: str) -> str:
            back = plain(names, kind, new, after, proof)
            return call(f"moved_{kind}", after, before, f"eq_sym {argument(equality)}", back)

        return Carried(q, forward, backward)

    def _compound(self, p: Prop) -> Carried:
        parts = {part: self.proposition(part) for part in p.parts}
        if self.product is None and all(each.prop is part for part, each in parts.items()):
            return Carried(p, _same, _same)
        q = Prop.join(p.interner, p.kind, [each.prop for each in parts.values()])
        logic = self.logic

        def forward_and(proof: str) -> str:
            found = {each.prop: each.forward(projected(proof, p, part)) for part, each in parts.items()}
            return logic.gathered(found, q)

        def backward_and(proof: str) -> str:
            found = {part: each.backward(projected(proof, q, each.prop)) for part, each in parts.items()}
            return logic.gathered(found, p)

        def forward_or(proof: str) -> str:
            return logic.eliminated(
                proof, p.parts, lambda part, name: logic.injected(parts[part].forward(name), parts[part].prop, q)
            )

        def backward_or(proof: str) -> str:
            def returned(part: Prop, given: str) -> str:
                for old, each in parts.items():
                    inside = each.prop.parts if each.prop.kind == "or" else (each.prop,)
                    if part in inside:
                        return logic.injected(each.backward(logic.injected(given, part, each.prop)), old, p)
                raise NotExpressible("a disjunction that became true")

            if q.kind == "true":
                return absorbed()
            if q.kind == "or":
                return logic.eliminated(proof, q.parts, returned)
            if q.kind == "false":
                return call("False_ind", "_", proof)
            return returned(q, proof)

        def absorbed() -> str:
            flat = {
                part: (old, each)
                for old, each in parts.items()
                for part in (each.prop.parts if each.prop.kind == "or" else (each.prop,))
            }
            for part, (old, each) in flat.items():
                if part.kind == "true":
                    return logic.injected(each.backward("I"), old, p)
                if part.negation in flat:
                    yes, no = logic.local(), logic.local()
                    other, opposed = flat[part.negation]
                    first = logic.injected(each.backward(logic.injected(yes, part, each.prop)), old, p)
                    second = logic.injected(opposed.backward(logic.injected(no, part.negation, opposed.prop)), other, p)
                    return (
                        f"match {logic.decided(part)} with or_introl {yes} => {first} | or_intror {no} => {second} end"
                    )
            raise NotExpressible("a disjunction that became true")

        if p.kind == "and":
            return Carried(q, forward_and, backward_and)
        return Carried(q, forward_or, backward_or)


def _same(proof: str) -> str:
    return proof
