"""Substitution of the sizes of one environment for those of another in propositions.

    >>> from shapes import ShapeEnv
    >>> here, there = ShapeEnv(origin=lambda: None), ShapeEnv(origin=lambda: None)
    >>> b, s = here.sizes("b s")
    >>> rows, columns = there.sizes("rows columns")
    >>> here.translate((rows * columns) % 16 == 0, {"rows": b, "columns": 2 * s})
    b*s % 8 == 0

Environments with an interner each share nothing, so the expression is built again, arguments first, through the
normal form.
"""

from __future__ import annotations

from collections.abc import Mapping

from shapes.accepted import shown
from shapes.environment.reader import Question, Reader, Size
from shapes.errors import ForeignSymbol, ShapeError
from shapes.symbolic.numbers import SymBool
from solver.syntax.parser import parse
from solver.terms.atoms import operands
from solver.terms.expr import Atom, Expr
from solver.terms.interner import Interner
from solver.terms.prop import Prop


def translated(reader: Reader, question: Question, mapping: Mapping[str, Size]) -> tuple[Prop, Prop]:
    """The proposition with each symbol replaced by what it is here, and its domain; keys are the other environment's
    names."""
    if not isinstance(mapping, Mapping):
        raise ShapeError(f"mapping={shown(mapping)}: expected a size for each name of the other environment")
    interner = reader.interner
    images = {name: reader.read_expr(size)[0] for name, size in mapping.items()}
    if isinstance(question, str):
        parsed = parse(question, images, interner)
        return parsed.prop, parsed.domain
    if isinstance(question, bool):
        return (interner.true if question else interner.false), interner.true
    prop = question.prop if isinstance(question, SymBool) else question
    domain = question.domain if isinstance(question, SymBool) else Prop.truth(prop.interner, True)
    atoms: dict[Atom, Expr] = {}
    for atom in sorted(prop.symbols | domain.symbols, key=lambda atom: atom.serial):
        image = images.get(atom.name)
        if image is None and atom in reader.table.symbols:
            image = atom.expr
        if image is None:
            raise ForeignSymbol(f"`{prop}` is about {atom.name}: the mapping does not say what that is here")
        atoms[atom] = image
    translator = Translator(interner, atoms)
    return translator.prop(prop), translator.prop(domain)


class Translator:
    """Builds expressions of one interner again in another; `images` of the atoms are filled lazily."""

    __slots__ = ("images", "target")

    def __init__(self, target: Interner, images: dict[Atom, Expr]) -> None:
        self.target = target
        self.images = images

    def expr(self, e: Expr) -> Expr:
        for atom in e.schedule:
            self._meet(atom)
        return self._direct(e)

    def prop(self, p: Prop) -> Prop:
        for atom in p.schedule:
            self._meet(atom)
        return self._direct_prop(p)

    def _meet(self, atom: Atom) -> None:
        if atom not in self.images:
            args = [self._direct(arg) if isinstance(arg, Expr) else self._direct_prop(arg) for arg in operands(atom)]
            self.images[atom] = self.target.rebuild(atom.kind, atom.name, args)

    def _direct(self, e: Expr) -> Expr:
        """`e`, whose atoms all have images."""
        target = self.target
        parts = [target.constant(e.constant)]
        for m, c in e.terms:
            product = target.constant(c)
            for atom in e.interner.monomials[m]:
                product = target.multiply(product, self.images[atom])
            parts.append(product)
        return target.sum(parts)

    def _direct_prop(self, p: Prop) -> Prop:
        target = self.target
        match p.kind:
            case "and" | "or":
                found: dict[Prop, Prop] = {}
                for node in p.nodes:
                    if node.parts:
                        join = target.conjunction if node.kind == "and" else target.disjunction
                        found[node] = join([found[part] for part in node.parts])
                    else:
                        found[node] = self._direct_prop(node)
                return found[p]
            case "ge":
                return target.ge(self._direct(p.expr), 0)
            case "eq":
                return target.eq(self._direct(p.expr), 0)
            case "ne":
                return target.ne(self._direct(p.expr), 0)
            case _:
                return target.true if p.kind == "true" else target.false
