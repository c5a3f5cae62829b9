"""Substitution of equals as terms of Coq: `solver.proofs.rewriting`, with a proof for each expression that changes.

A round replaces atoms, or one product of atoms, everywhere. What an operation becomes is proven first, arguments before
the operations on them, each as a local lemma `E1`, `E2`, ...; a proposition follows from the one before, and back, by
the equalities of its polynomials.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from solver.coq.canonical import Canonical
from solver.coq.terms import argument, by_lia, call
from solver.errors import NotExpressible
from solver.terms.expr import Atom, Expr
from solver.terms.monomials import divides, without
from solver.terms.prop import Prop


class Substitution:
    """One round. `images` maps an atom to its image and the name of the equality."""

    def __init__(self, canonical: Canonical, remember: Callable[[str, str], str]) -> None:
        self.canonical = canonical
        self.names = canonical.names
        self.remember = remember
        self.images: dict[Atom, tuple[Expr, str]] = {}
        self.product: tuple[int, Expr, str] | None = None

    def prepare(self, schedule: Iterable[Atom]) -> None:
        """Record the images of the operations that change."""
        for atom in schedule:
            if atom in self.images:
                continue
            match atom.args:
                case (Prop() as p, Expr() as e):
                    found = self._choice(atom, p, e)
                case _:
                    found = self._rebuilt(atom, [arg for arg in atom.args if isinstance(arg, Expr)])
            if found is not None:
                image, term = found
                self.images[atom] = image, self.remember(f"{self.names.variable(atom)} = {self._text(image)}", term)

    def _text(self, e: Expr) -> str:
        return self.names.expression(e)

    def _choice(self, atom: Atom, old: Prop, old_e: Expr) -> tuple[Expr, str] | None:
        """A conditional, by cases."""
        (p, equalities), (e, same) = self.proposition(old), self.expression(old_e)
        if p is old and e is old_e:
            return None
        names, zero = self.names, e.interner.zero
        v, equation = names.variable(atom), names.equation(atom)
        yes, no = names.local(), names.local()
        image, taken = self.canonical.chosen(p, e, zero, True, names.follows(p, *equalities, yes))
        _, left = self.canonical.chosen(p, e, zero, False, names.follows(p.negation, *equalities, no))
        truth, sides = names.truth(old), (v, self._text(old_e), self._text(image))
        first = call("choice_is", "_", *sides, equation, by_lia(f"{truth} = true", yes))
        second = call("choice_is_not", "_", *sides, equation, by_lia(f"{truth} = false", no))
        first += f" (eq_trans {argument(same)} (eq_sym {argument(taken)}))"
        return image, names.by_cases(old, yes, first, no, f"{second} (eq_sym {argument(left)})")

    def _rebuilt(self, atom: Atom, before: list[Expr]) -> tuple[Expr, str] | None:
        """Any other operation, through its canonical form."""
        changed = [self.expression(arg) for arg in before]
        after = [new for new, _ in changed]
        if all(new is old for new, old in zip(after, before, strict=True)):
            return None
        terms, names = atom.expr.interner, self.names
        if atom.kind == "floordiv" and after[1] is not before[1]:
            self.canonical.before = after[1], before[1], changed[1][1]
        image, canonical = self.canonical.operation(terms, atom.kind, atom.name, tuple(after))
        self.canonical.before = None
        if image is not terms.rebuild(atom.kind, atom.name, tuple(after)):
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
        sides = [self._text(e) for e in (*before, *after, image)]
        return image, call(
            lemma, names.variable(atom), *sides, names.equation(atom), *[proof for _, proof in changed], canonical
        )

    def expression(self, e: Expr) -> tuple[Expr, str]:
        """An expression after the round, and the equality."""
        terms, text = e.interner, self.names.expression
        new = e.replace({atom: image for atom, (image, _) in self.images.items()})
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
            for index, (f, v, image_text, equality) in reversed(list(enumerate(steps))):
                source = self.names.polynomial(e, dict(list(done.items())[:index]))
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

    def proposition(self, p: Prop) -> tuple[Prop, list[str]]:
        """A proposition after the round, and the equalities from which either one follows from the other."""
        images: dict[Prop, Prop] = {}
        equalities: list[str] = []
        for q in p.comparisons():
            if q.terms:
                new, equality = self.expression(q.expr)
                if new is not q.expr:
                    images[q] = q.of(new)
                    stated = f"{self._text(q.expr)} = {self._text(new)}"
                    equalities.append(f"({equality} : {stated})")
        return p.mapped(images), equalities
