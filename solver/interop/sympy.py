"""Expressions and propositions to sympy and back, exactly; factors by sympy.

    >>> from solver.interop.sympy import factor, from_sympy, to_sympy
    >>> from solver.terms.interner import Interner
    >>> terms = Interner()
    >>> names = {name: terms.symbol(name) for name in ("b", "s")}
    >>> b, s = names["b"], names["s"]
    >>> outside = to_sympy((b * s + 3) // 4)
    >>> outside, outside.is_integer
    ((b*s + 3)//4, True)
    >>> from_sympy(outside, terms, names).expr is (b * s + 3) // 4
    True
    >>> [str(e) for e in factor(b * s * s - b)]
    ['b', 's + 1', 's - 1']

Out: symbols become integer symbols of the same name, with the signs that bounds give them; what sympy has with another
meaning, or would rewrite, is a function of our own (`solver.interop.sympy_functions`). In: those, and ordinary sympy as
far as it has an exact integer form (`floor`, `ceiling`, `Mod`, `Max`, `Min`, `Abs`, `Piecewise`, relations, logic,
rational coefficients inside a rounding or a comparison), and torch's own functions by name; floats on request
(`solver.interop.sympy_floats`). Anything else is `NotExpressible`, which says which node. sympy is loaded when it is
used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from solver.floats.value import Float
from solver.interop.sympy_floats import FloatReading
from solver.interop.sympy_reading import Reading, as_integer
from solver.syntax.defined import is_partial
from solver.syntax.parser import Parsed, ParsedExpr
from solver.syntax.printer import text_of
from solver.terms.atoms import domain_of, operands
from solver.terms.expr import Atom, Expr
from solver.terms.factors import Key, Sum
from solver.terms.interner import Interner
from solver.terms.prop import Prop

if TYPE_CHECKING:
    import sympy

Bounds = Callable[[Expr], tuple[int | None, int | None]]

FACTORING_TERMS: Final = 60
FACTORING_DEGREE: Final = 12


def to_sympy(
    value: Expr | Prop, bounds: Bounds | None = None, *, domain: Prop | None = None, protected: bool = True
) -> sympy.Basic:
    """The value as sympy has it; with bounds, its symbols know their signs.

    Read back, it is defined inside `domain`, by default everywhere: an operation that need not be has its condition in
    a `Choice`. Unless `protected`, operations stand as they are, for whoever knows that they are defined.

    Two different symbols with one name are distinguished by their serial numbers, `u0` and `u0__7` (see `names_of`).
    """
    inside = Prop.truth(value.interner, True) if domain is None else domain
    plain = Writing((value,), bounds, protected=False).written(value)
    if not protected or not is_partial(value) and inside.kind == "true":
        return plain
    interner = value.interner
    assert isinstance(interner, Interner)
    if inside.kind != "true" and Reading(interner, names_of(value, inside)).read(plain)[1] is inside:
        return plain
    writing = Writing((value, inside), bounds, protected=True)
    total = writing.written(value)
    return total if inside.kind == "true" else writing.within(inside, total)


def from_sympy(
    value: sympy.Basic, interner: Interner, names: Mapping[str, Expr | Float], *, floats: bool = False
) -> ParsedExpr | Parsed:
    """The expression or proposition, and its domain.

    With `floats`, floats are the doubles that Python computes for each node, until they are rounded or compared;
    otherwise they have no exact form.

    sympy has no order of evaluation: of `p & q` and `p | q`, the parts that always make sense are taken to come first.

    Raises:
        NotExpressible: some node has no exact integer form, or a symbol no name; it says which.
    """
    result, domain = (FloatReading if floats else Reading)(interner, names).read(value)
    if isinstance(result, Prop):
        return Parsed(result, domain)
    return ParsedExpr(as_integer(result, str(value)), domain)


def names_of(*values: Expr | Prop) -> dict[str, Expr]:
    """The symbols of values by the names that `to_sympy` gives them: what `from_sympy` needs to read them back."""
    found: dict[str, Expr] = {}
    for atom in sorted({symbol for value in values for symbol in value.symbols}, key=_serial):
        found[atom.name if atom.name not in found else f"{atom.name}__{atom.serial}"] = atom.expr
    return found


def factor(e: Expr) -> list[Expr]:
    """The factors that sympy finds, a constant first, repeated as often as they occur; their product is checked.

    `[e]` if it finds none, or if the expression is too large.
    """
    if len(e.terms) < 2 or len(e.terms) > FACTORING_TERMS or e.degree > FACTORING_DEGREE:
        return [e]
    import sympy

    interner = e.interner
    atoms = sorted({atom for m, _ in e.terms for atom in interner.monomials[m]}, key=_serial)
    places = {atom: i for i, atom in enumerate(atoms)}
    poly: Sum = {}
    for m, c in e.terms:
        poly[tuple([places[atom] for atom in interner.monomials[m]])] = c
    if e.constant:
        poly[()] = e.constant
    symbols = sympy.symbols(f"x0:{len(atoms)}")
    dense = {tuple([key.count(i) for i in range(len(atoms))]): c for key, c in poly.items()}
    content, factors = sympy.Poly(dense, *symbols, domain=sympy.ZZ).factor_list()
    found = [] if content == 1 else [interner.constant(int(content))]
    for part, power in factors:
        image = interner.zero
        for exponents, c in part.terms():
            key: Key = tuple([i for i, exponent in enumerate(exponents) for _ in range(exponent)])
            term = interner.constant(int(c))
            for i in key:
                term = term * atoms[i].expr
            image = image + term
        found.extend([image] * power)
    found.sort(key=_plainest)
    product = interner.one
    for part in found:
        product = product * part
    return found if product is e and len(found) > 1 else [e]


def _plainest(e: Expr) -> tuple[int, int, str]:
    return (e.degree, len(e.terms), text_of(e))


def _serial(atom: Atom) -> int:
    return atom.serial


class Writing:
    """Values being converted, their atoms first."""

    def __init__(self, values: Sequence[Expr | Prop], bounds: Bounds | None, *, protected: bool) -> None:
        import sympy

        self.sympy = sympy
        self.atoms: dict[Atom, sympy.Basic] = {}
        for name, e in names_of(*values).items():
            (atom,) = e.symbols
            self.atoms[atom] = sympy.Symbol(name, integer=True, **_signs(e, bounds))
        for atom in [atom for value in values for atom in value.schedule]:
            if atom not in self.atoms:
                self.atoms[atom] = self.operation(atom)
                if protected:
                    self.atoms[atom] = self.protected(atom, bounds)

    def protected(self, atom: Atom, bounds: Bounds | None) -> sympy.Basic:
        """An operation under its condition, unless bounds settle that."""
        from solver.interop import sympy_functions as ours

        domain = domain_of(atom.expr.interner, atom.operation, [arg for arg in atom.args if isinstance(arg, Expr)])
        if domain.kind == "true" or bounds is not None and all(_settled(p, bounds) for p in domain.comparisons()):
            return self.atoms[atom]
        return ours.Choice(self.proposition(domain), self.atoms[atom], self.sympy.Integer(0))

    def within(self, domain: Prop, value: sympy.Basic) -> sympy.Basic:
        """A converted value inside its domain, undefined elsewhere."""
        from solver.interop import sympy_functions as ours

        nowhere = ours.FloorDiv(self.sympy.Integer(1), self.sympy.Integer(0))
        condition = self.proposition(domain)
        if isinstance(value, self.sympy.logic.boolalg.Boolean):
            return self.sympy.ITE(condition, value, self.sympy.Eq(nowhere, 0, evaluate=False), evaluate=False)
        return ours.Choice(condition, value, nowhere)

    def written(self, value: Expr | Prop) -> sympy.Basic:
        return self.expression(value) if isinstance(value, Expr) else self.proposition(value)

    def expression(self, e: Expr) -> sympy.Expr:
        """A polynomial over the atoms converted so far."""
        monomials = e.interner.monomials
        parts = [self.sympy.Integer(e.constant)]
        for m, c in e.terms:
            parts.append(self.sympy.Mul(self.sympy.Integer(c), *[self.atoms[atom] for atom in monomials[m]]))
        return self.sympy.Add(*parts)

    def operation(self, atom: Atom) -> sympy.Expr:
        from solver.interop import sympy_functions as ours

        args = [self.written(arg) for arg in operands(atom)]
        if atom.kind == "ite":
            args.append(self.sympy.Integer(0))
        if atom.operation.sympy:
            return getattr(ours, atom.operation.sympy[0])(*args)
        return self.sympy.Function(atom.name, integer=True)(*args)

    def proposition(self, root: Prop) -> sympy.Basic:
        done: dict[Prop, sympy.Basic] = {}
        for p in root.nodes:
            join = self.sympy.And if p.kind == "and" else self.sympy.Or
            parts = [done[part] for part in p.parts]
            done[p] = join(*parts, evaluate=False) if parts else self.comparison(p)
        return done[root]

    def comparison(self, p: Prop) -> sympy.Basic:
        if p.kind in ("true", "false"):
            return self.sympy.true if p.kind == "true" else self.sympy.false
        e = p.expr
        left = e.interner.expr(tuple([term for term in e.terms if term[1] > 0]), max(e.constant, 0))
        right = left - e
        relation = {"ge": self.sympy.Ge, "eq": self.sympy.Eq, "ne": self.sympy.Ne}[p.kind]
        return relation(self.expression(left), self.expression(right), evaluate=False)


def _settled(p: Prop, bounds: Bounds) -> bool:
    lo, hi = bounds(p.expr)
    return (lo is not None and lo >= (1 if p.kind == "ne" else 0)) or (p.kind == "ne" and hi is not None and hi < 0)


def _signs(e: Expr, bounds: Bounds | None) -> dict[str, bool]:
    """Sympy's assumptions about the sign of a symbol, from its bounds."""
    lo, hi = bounds(e) if bounds is not None else (None, None)
    if lo is not None and lo >= 0:
        return {"positive": True} if lo else {"nonnegative": True}
    if hi is not None and hi <= 0:
        return {"negative": True} if hi else {"nonpositive": True}
    return {}
