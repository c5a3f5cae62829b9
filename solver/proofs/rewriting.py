"""Substitution of equals for equals: an atom, or a product of atoms, replaced everywhere, in arguments too.

    >>> from solver.terms.interner import Interner
    >>> from solver.proofs.step import hypothesis
    >>> from solver.proofs.rewriting import apply_round
    >>> terms = Interner()
    >>> a, b, s = terms.symbol("a"), terms.symbol("b"), terms.symbol("s")
    >>> equality = hypothesis(terms.eq(a * b, 4 * s))
    >>> ((product, _),) = (a * b).terms
    >>> apply_round((3 * a * b) // 4, ((product, 4 * s, equality),)) is 3 * s
    True

Pure and deterministic: the checker applies the same rounds again and compares the result.
"""

from __future__ import annotations

from solver.proofs.step import ProofStep
from solver.terms.atoms import operands
from solver.terms.expr import Atom, Expr
from solver.terms.monomials import divides, without
from solver.terms.prop import Prop

Round = tuple[tuple[int, Expr, ProofStep], ...]
"""One round of substitution: monomials, their images, and the equalities."""


def apply_round(e: Expr, steps: Round) -> Expr:
    """One round of substitution, arguments of atoms included: atoms, or one product of atoms."""
    interner = e.interner
    atoms = {interner.monomials[m][0]: image for m, image, _ in steps if len(interner.monomials[m]) == 1}
    if atoms:
        return e.substitute(atoms)
    product, image, _ = steps[0]
    return replace_product(e.replace(_product_images(e.schedule, product, image)), product, image)


def apply_round_to_prop(p: Prop, steps: Round) -> Prop:
    interner = p.interner
    atoms = {interner.monomials[m][0]: image for m, image, _ in steps if len(interner.monomials[m]) == 1}
    if atoms:
        return p.substitute(atoms)
    product, image, _ = steps[0]
    return _replace_product_in_prop(p, product, image, _product_images(p.schedule, product, image))


def replace_product(e: Expr, product: int, image: Expr) -> Expr:
    """Replace one occurrence of the product in every monomial that it divides."""
    interner = e.interner
    atoms = interner.monomials[product]
    kept: dict[int, int] = {}
    parts: list[Expr] = []
    for m, c in e.terms:
        if divides(atoms, interner.monomials[m]):
            rest = without(interner.monomials[m], atoms)
            factor = interner.expr(((interner.monomial(rest), c),), 0) if rest else interner.constant(c)
            parts.append(interner.multiply(factor, image))
        else:
            kept[m] = c
    if not parts:
        return e
    return interner.sum([interner.expr(tuple(kept.items()), e.constant), *parts])


def _product_images(schedule: tuple[Atom, ...], product: int, image: Expr) -> dict[Atom, Expr]:
    """The images of atoms when a product in their arguments is replaced."""
    images: dict[Atom, Expr] = {}
    for atom in schedule:
        args = tuple(
            [
                replace_product(arg.replace(images), product, image)
                if isinstance(arg, Expr)
                else _replace_product_in_prop(arg, product, image, images)
                for arg in operands(atom)
            ]
        )
        if any(new is not old for new, old in zip(args, atom.args, strict=True)):
            images[atom] = image.interner.rebuild(atom.kind, atom.name, args)
    return images


def _replace_product_in_prop(p: Prop, product: int, image: Expr, images: dict[Atom, Expr]) -> Prop:
    if p.parts:
        return p.mapped({q: _replace_product_in_prop(q, product, image, images) for q in p.comparisons()})
    if not p.terms:
        return p
    return p.of(replace_product(p.expr.replace(images), product, image))
