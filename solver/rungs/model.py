"""A candidate model: a point of the linear relaxation, read as values of atoms and expressions.

The linear rung treats every monomial as an unknown of its own. A point that gives every operation the value that its
arguments call for is an assignment; otherwise it is spurious, and those operations are what refinement looks at.

    >>> from solver.terms.interner import Interner
    >>> from solver.knowledge.facts import Facts
    >>> from solver.integer.certificate import Point
    >>> from solver.rungs.rows import rows_near
    >>> from solver.rungs.model import Model
    >>> terms = Interner()
    >>> x = terms.symbol("x")
    >>> known = Facts.empty(terms).declare_range(x, -9, 9)
    >>> rows = rows_near(known, [terms.relu(x)])
    >>> model = Model(rows, Point((3, -2)))            # of relu(x) and x
    >>> model.expr(terms.relu(x) + 1), model.spurious()
    (4, [<max(x, 0)>])
"""

from __future__ import annotations

from collections.abc import Callable

from solver.integer.certificate import Point
from solver.knowledge.symbols import declared_symbols
from solver.rungs.rows import Rows
from solver.terms.atoms import operands
from solver.terms.expr import Atom, Expr
from solver.terms.prop import Prop


class Model:
    """Values of monomials where the relaxation has them.

    Others are computed; symbols without a row are as in a sample, or 0.
    """

    __slots__ = ("_atoms", "count", "point", "rows", "sample")

    def __init__(self, rows: Rows, point: Point, sample: Callable[[Atom], int] | None = None) -> None:
        self.rows = rows
        self.sample = sample
        self.point = point.values
        self.count = len(rows.monomials)  # of the unknowns then; those without a value are free
        self._atoms: dict[Atom, int] = {}

    def monomial(self, m: int) -> int:
        position = self.rows.index.get(m)
        if position is not None and position < len(self.point):
            return self.point[position]
        value = 1
        for atom in self.rows.known.interner.monomials[m]:
            value *= self.atom(atom)
        return value

    def atom(self, atom: Atom) -> int:
        found = self._atoms.get(atom)
        if found is None:
            self._atoms[atom] = 0  # names and what they name may be defined by each other
            position = self.rows.index.get(atom.monomial)
            if position is not None and position < len(self.point):
                found = self.point[position]
            elif atom.args:
                found = self.computed(atom)
            else:
                rule = self.rows.known.solved.get(atom.monomial)
                image = atom.definition if rule is None else rule.image
                self._atoms[atom] = 0  # a symbol and a name made from it may each be replaced by the other
                if image is not None:
                    found = self.expr(image)
                else:
                    found = 0 if self.sample is None or position is not None else self.sample(atom)
            self._atoms[atom] = found
        return found

    def expr(self, e: Expr) -> int:
        return e.constant + sum([c * self.monomial(m) for m, c in e.terms])

    def prop(self, p: Prop) -> bool:
        match p.kind:
            case "ge":
                return self.expr(p.expr) >= 0
            case "eq":
                return self.expr(p.expr) == 0
            case "ne":
                return self.expr(p.expr) != 0
            case "and" | "or":
                truths: dict[Prop, bool] = {}
                for node in p.nodes:
                    if node.kind == "and":
                        truths[node] = all(truths[part] for part in node.parts)
                    elif node.kind == "or":
                        truths[node] = any(truths[part] for part in node.parts)
                    else:
                        truths[node] = self.prop(node)
                return truths[p]
            case _:
                return p.kind == "true"

    def computed(self, atom: Atom) -> int:
        """The value that the semantics of an operation gives its arguments."""
        values = [self.expr(arg) if isinstance(arg, Expr) else self.prop(arg) for arg in operands(atom)]
        try:
            return atom.operation.evaluate(*values)
        except (OverflowError, ValueError):
            return 0

    def spurious(self) -> list[Expr]:
        """The monomials and operations whose value at the point contradicts their semantics."""
        interner = self.rows.known.interner
        found = []
        for m in self.rows.monomials[: self.count]:
            atoms = interner.monomials[m]
            if len(atoms) > 1:
                value = 1
                for atom in atoms:
                    value *= self.atom(atom)
            elif atoms[0].args:
                value = self.computed(atoms[0])
            elif atoms[0].definition is not None:
                value = self.expr(atoms[0].definition)
            else:
                continue
            if value != self.monomial(m):
                found.append(interner.expr(((m, 1),), 0))
        return found

    def symbols(self) -> dict[Atom, int]:
        """The values of the declared symbols of the relaxation."""
        found = {}
        for m in self.rows.monomials[: self.count]:
            for atom in self.rows.known.interner.monomials[m]:
                for symbol in declared_symbols(atom.expr):
                    if symbol not in found:
                        found[symbol] = self.atom(symbol)
        return found
