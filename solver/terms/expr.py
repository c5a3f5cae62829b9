"""Integer expressions in normal form: constant + coefficients * monomials over atoms.

Two expressions with the same normal form are the same object, so `a is b` means "the same polynomial over the same
atoms" (not merely "equal for all values": that is a question for the ladder).

    >>> from solver.terms.interner import Interner
    >>> terms = Interner()
    >>> b, s = terms.symbol("b"), terms.symbol("s")
    >>> (b + s) * 2 - s is b * 2 + s
    True
    >>> (4 * b + s % 4) // 4 is b
    True

The second line holds because there is no remainder atom: `a % b` is `a - b*(a//b)`, and floor divisions are kept in one
canonical form (see `solver.terms.division`). `min`, `max` and `abs` are written with one atom, `relu(e) = max(e, 0)`
(see `solver.terms.choice`). Python integers only: nothing here rounds or overflows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from math import gcd
from threading import RLock
from typing import Final

from solver.terms.coefficients import Terms, distinct_hash, merged
from solver.terms.deadline import look
from solver.terms.differences import LONG, Difference, differences_of
from solver.terms.operations import Operation
from solver.terms.printing import printer

COMPARED: Final = 32
"""The length of the beginnings of nodes by which they are ordered."""


class Node:
    """An operand of operations: an expression, or a proposition (`solver.terms.prop`)."""

    __slots__ = ("_atoms", "_differences", "_fingerprint", "_schedule", "_symbols", "interner")

    def __init__(self, interner: TermTable) -> None:
        self.interner = interner
        self._atoms: frozenset[Atom] | None = None
        self._schedule: tuple[Atom, ...] | None = None
        self._differences: dict[Expr, Difference[Expr]] | None = None
        self._symbols: frozenset[Atom] | None = None
        self._fingerprint: int | None = None

    @property
    def children(self) -> Sequence[Node]:
        """The nodes that a proposition is built of; none for an expression."""
        return ()

    @property
    @abstractmethod
    def depth(self) -> int:
        """The nesting depth of operations."""

    @property
    @abstractmethod
    def fingerprint(self) -> int:
        """A number that depends on the structure alone: the same in every process."""

    @property
    @abstractmethod
    def order(self) -> tuple[int, ...]:
        """A key of the total order of nodes, by structure: the beginning of the node in prefix notation, symbols by
        their age relative to each other, and the fingerprint where two nodes begin alike."""

    @abstractmethod
    def at(self, values: Mapping[Atom, int]) -> int:
        """The value, given those of all direct atoms."""

    @abstractmethod
    def replace(self, images: Mapping[Atom, Expr]) -> Node:
        """The normal form with direct atoms replaced."""

    def forget(self) -> None:
        """Drop the values cached on it."""
        self._atoms = self._schedule = self._symbols = self._differences = None

    @property
    def atoms(self) -> frozenset[Atom]:
        """All atoms, those inside arguments included."""
        found = self._atoms  # another thread may sweep (see `solver.terms.sweep`): what is returned is read once
        if found is None:
            found = self._atoms = frozenset(reachable(self))
        return found

    @property
    def symbols(self) -> frozenset[Atom]:
        found = self._symbols
        if found is None:
            found = self._symbols = frozenset([atom for atom in self.atoms if not atom.args])
        return found

    @property
    def schedule(self) -> tuple[Atom, ...]:
        """The atoms that are not symbols, arguments first: the order in which to compute their values."""
        found = self._schedule
        if found is None:
            composite = [atom for atom in self.atoms if atom.kind != "symbol"]
            found = self._schedule = tuple(sorted(composite, key=lambda atom: (atom.depth, atom.serial)))
        return found

    def with_atoms(self, values: Mapping[Atom, int]) -> Mapping[Atom, int]:
        """`values` of the symbols, extended to all other atoms."""
        schedule = self.schedule
        if len(schedule) < LONG:
            return evaluate_atoms(schedule, values) if schedule else values
        differences = self._differences
        if differences is None:
            sums = [arg for atom in schedule for arg in atom.args if isinstance(arg, Expr)]
            differences = self._differences = differences_of(sums)
        return evaluate_by(differences, schedule, values) if differences else evaluate_atoms(schedule, values)

    def __str__(self) -> str:
        return printer.call(self)

    def __repr__(self) -> str:
        return f"<{self}>"


class Atom:
    """A factor of monomials: a symbol, or an operation that polynomials do not have.

    `kind` is one of symbol, floordiv (n, d), relu (e,), ite (p, e) meaning "e if p else 0", bitand (a, b), power (base,
    exponent), product (a, b) for products too large to expand, and function (arguments, with a registered evaluation).
    `operation` is its row in the table.
    """

    __slots__ = ("args", "definition", "depth", "expr", "key", "kind", "monomial", "name", "operation", "serial")

    def __init__(
        self,
        operation: Operation,
        kind: str,
        name: str,
        args: tuple[Node, ...],
        serial: int,
        depth: int,
        key: tuple[int, ...],
    ) -> None:
        self.operation = operation
        self.kind = kind
        self.name = name
        self.args = args
        self.serial = serial
        self.depth = depth
        self.key = key
        self.definition: Expr | None = None
        self.expr: Expr
        self.monomial: int

    def __repr__(self) -> str:
        return str(self.expr)


class Expr(Node):
    """A polynomial with integer coefficients over atoms; hash-consed, so equality is identity."""

    __slots__ = ("_form", "constant", "terms")

    def __init__(self, interner: TermTable, terms: Terms, constant: int) -> None:
        super().__init__(interner)
        self.terms = terms
        self.constant = constant
        self._form: tuple[Expr, int] | None = None

    @property
    def is_constant(self) -> bool:
        return not self.terms

    @property
    def fingerprint(self) -> int:
        if self._fingerprint is None:
            keys = self.interner.monomial_keys
            if len(self.terms) < LONG:
                marks = sum([hash((keys[m], distinct_hash(c))) for m, c in self.terms])
            else:
                known = self.interner.term_marks
                marks = 0
                for term in self.terms:
                    mark = known.get(term)
                    if mark is None:
                        mark = known[term] = hash((keys[term[0]], distinct_hash(term[1])))
                    marks += mark
            self._fingerprint = hash((distinct_hash(self.constant), marks))
        return self._fingerprint

    @property
    def order(self) -> tuple[int, ...]:
        keys = self.interner.monomial_keys
        found: list[int] = []
        for m, c in sorted(self.terms, key=lambda term: keys[term[0]], reverse=True):
            count, atoms = keys[m]
            found.append(count)
            for key in atoms:
                found.extend(key)
            found.append(c)
            if len(found) > COMPARED:
                break
        found.append(-self.constant)  # a quotient by less is larger: so `(b//2) % 8` leads with its own quotient
        return (*found[:COMPARED], self.fingerprint)

    @property
    def degree(self) -> int:
        monomials = self.interner.monomials
        largest = 0
        for m, _ in self.terms:
            size = len(monomials[m])
            if size > largest:
                largest = size
        return largest

    @property
    def depth(self) -> int:
        monomials = self.interner.monomials
        deepest = 0
        for m, _ in self.terms:
            for atom in monomials[m]:
                if atom.depth > deepest:
                    deepest = atom.depth
        return deepest

    def forget(self) -> None:
        super().forget()
        self._form = None

    def lead(self) -> tuple[int, int]:
        """The term that decides the orientation: largest by degree, then by structure, never by age."""
        terms = self.terms
        if len(terms) == 1:
            return terms[0]
        keys = self.interner.monomial_keys
        found = terms[0]
        largest = keys[found[0]]
        for term in terms[1:]:
            key = keys[term[0]]
            if key > largest:
                found, largest = term, key
        return found

    @property
    def atom(self) -> Atom:
        """The atom that this expression is; for symbols and single operations.

        Raises:
            ValueError: it is something else.
        """
        if len(self.terms) == 1 and self.terms[0][1] == 1 and not self.constant:
            atoms = self.interner.monomials[self.terms[0][0]]
            if len(atoms) == 1:
                return atoms[0]
        raise ValueError(f"{self} is not a single atom")

    def content(self) -> int:
        """The gcd of the coefficients, without the constant; 0 for a constant."""
        common = 0
        for _, c in self.terms:
            common = gcd(common, c)
            if common == 1:
                break
        return common

    def form(self) -> tuple[Expr, int]:
        """`(f, k)` with `self - constant == k * f`, f primitive with a positive lead and no constant."""
        found = self._form
        if found is None:
            k = self.content()
            if k and self.lead()[1] < 0:
                k = -k
            if k == 0:
                found = (self.interner.zero, 1)
            elif k == 1 and not self.constant:
                return (self, 1)  # not kept: it would be a cycle
            else:
                found = (self.interner.expr(tuple([(m, c // k) for m, c in self.terms]), 0), k)
            self._form = found
        return found

    def evaluate(self, values: Mapping[Atom, int]) -> int:
        """The value under an assignment of the symbols. A zero divisor gives 0: domains are checked apart."""
        return self.at(self.with_atoms(values))

    def at(self, values: Mapping[Atom, int]) -> int:
        return total(self.interner, self.terms, self.constant, values)

    def replace(self, images: Mapping[Atom, Expr]) -> Expr:
        interner = self.interner
        monomials = interner.monomials
        kept: dict[int, int] = {}
        parts: list[Expr] = []
        for m, c in self.terms:
            atoms = monomials[m]
            if len(atoms) == 1:
                image = images.get(atoms[0])
                if image is None:
                    kept[m] = c
                else:
                    parts.append(interner.scale(image, c))
            elif any(atom in images for atom in atoms):
                product = interner.constant(c)
                for atom in atoms:
                    product = interner.multiply(product, images.get(atom, atom.expr))
                parts.append(product)
            else:
                kept[m] = c
        if not parts:
            return self
        return interner.sum([interner.expr(tuple(kept.items()), self.constant), *parts])

    def substitute(self, mapping: Mapping[Atom, Expr]) -> Expr:
        """The expression with atoms replaced everywhere, arguments of other atoms included."""
        if self.atoms.isdisjoint(mapping):
            return self
        return self.replace(self.interner.images(self.schedule, mapping))

    def __add__(self, other: Expr | int) -> Expr:
        if type(other) is int:
            return self.interner.expr(self.terms, self.constant + other) if other else self
        return self.interner.add(self, other) if isinstance(other, Expr) else NotImplemented

    def __radd__(self, other: int) -> Expr:
        return self + other

    def __sub__(self, other: Expr | int) -> Expr:
        if type(other) is int:
            return self.interner.expr(self.terms, self.constant - other) if other else self
        return self.interner.subtract(self, other) if isinstance(other, Expr) else NotImplemented

    def __rsub__(self, other: int) -> Expr:
        return self.interner.scale(self, -1) + other

    def __neg__(self) -> Expr:
        return self.interner.scale(self, -1)

    def __mul__(self, other: Expr | int) -> Expr:
        if type(other) is int:
            return self.interner.scale(self, other)
        return self.interner.multiply(self, other) if isinstance(other, Expr) else NotImplemented

    def __rmul__(self, other: int) -> Expr:
        return self * other

    def __floordiv__(self, other: Expr | int) -> Expr:
        return self.interner.floordiv(self, other)

    def __rfloordiv__(self, other: int) -> Expr:
        return self.interner.floordiv(self.interner.constant(other), self)

    def __mod__(self, other: Expr | int) -> Expr:
        return self.interner.mod(self, other)

    def __rmod__(self, other: int) -> Expr:
        return self.interner.mod(self.interner.constant(other), self)


class TermTable(ABC):
    """The table that interns nodes and that operators on expressions call: `solver.terms.interner` has the one class.

    Monomials are small integers: `monomials[m]` is the sorted tuple of atoms, with repetition for powers.
    """

    def __init__(self) -> None:
        self.lock = RLock()
        self.monomials: dict[int, tuple[Atom, ...]] = {}
        self.monomial_keys: dict[int, tuple[int, tuple[tuple[int, ...], ...]]] = {}
        self.term_marks: dict[tuple[int, int], int] = {}  # of the terms of long sums, many of which share them
        self.exprs: dict[tuple[Terms, int], Expr] = {}
        self.props: dict[tuple[object, ...], Node] = {}  # as `solver.terms.prop` makes them
        self.doubles: set[Atom] = set()  # the symbols that are the bits of a double: witnesses show the double
        self.shown_names: dict[str, str] = {}  # by name of a symbol, the name that people read, where it has another
        self.zero = self.expr((), 0)
        self.one = self.expr((), 1)

    def expr(self, terms: Terms, constant: int) -> Expr:
        """The one expression with these terms (sorted by monomial, no zero coefficient)."""
        key = (terms, constant)
        found = self.exprs.get(key)
        if found is None:
            if len(terms) > 1:  # never between an atom and its expression
                look()
            found = self.exprs.setdefault(key, Expr(self, terms, constant))
        return found

    def collect(self, coefficients: dict[int, int], constant: int) -> Expr:
        """The expression with these coefficients by monomial; zeros are dropped."""
        if 0 in coefficients.values():
            return self.expr(tuple(sorted([term for term in coefficients.items() if term[1]])), constant)
        return self.expr(tuple(sorted(coefficients.items())), constant)

    def constant(self, value: int) -> Expr:
        return self.expr((), value)

    def add(self, a: Expr, b: Expr) -> Expr:
        if not a.terms:
            return b + a.constant
        if not b.terms:
            return a + b.constant
        return self.expr(merged(a.terms, b.terms, 1), a.constant + b.constant)

    def subtract(self, a: Expr, b: Expr) -> Expr:
        if not b.terms:
            return a - b.constant
        if not a.terms:
            return self.expr(tuple([(m, -c) for m, c in b.terms]), a.constant - b.constant)
        return self.expr(merged(a.terms, b.terms, -1), a.constant - b.constant)

    def sum(self, parts: Iterable[Expr]) -> Expr:
        coefficients: dict[int, int] = {}
        constant = 0
        for part in parts:
            constant += part.constant
            for m, c in part.terms:
                coefficients[m] = coefficients.get(m, 0) + c
        return self.collect(coefficients, constant)

    def scale(self, a: Expr, k: int) -> Expr:
        if k == 1:
            return a
        if k == 0:
            return self.zero
        return self.expr(tuple([(m, c * k) for m, c in a.terms]), a.constant * k)

    @abstractmethod
    def monomial(self, atoms: tuple[Atom, ...]) -> int:
        """The number of a monomial, its atoms sorted by serial."""

    @abstractmethod
    def multiply_monomials(self, m: int, n: int) -> int: ...

    @abstractmethod
    def atom(self, kind: str, args: tuple[Node, ...], name: str = "") -> Expr:
        """The atom of an operation as an expression. Callers bring the arguments into canonical form first."""

    @abstractmethod
    def multiply(self, a: Expr, b: Expr) -> Expr: ...

    @abstractmethod
    def floordiv(self, n: Expr | int, d: Expr | int) -> Expr: ...

    @abstractmethod
    def mod(self, a: Expr | int, b: Expr | int) -> Expr: ...

    @abstractmethod
    def apply(self, operation: Operation, *args: Node | int) -> Expr:
        """The normal form of an operation of these arguments."""

    @abstractmethod
    def rebuild(self, kind: str, name: str, args: Sequence[Node]) -> Expr:
        """The operation of an atom applied to other arguments, through the normal form."""

    @abstractmethod
    def name_of(self, e: Expr) -> Expr:
        """A symbol that stands for an expression, the same one each time; its definition says so."""

    @abstractmethod
    def images(self, schedule: Iterable[Atom], mapping: Mapping[Atom, Expr]) -> dict[Atom, Expr]:
        """The given images, and those of the atoms of a schedule that change."""


def total(interner: TermTable, terms: Terms, constant: int, values: Mapping[Atom, int]) -> int:
    """The value of a sum of monomials, given those of its atoms."""
    monomials = interner.monomials
    for m, c in terms:
        for atom in monomials[m]:
            c *= values[atom]
        constant += c
    return constant


def evaluate_atoms(schedule: Iterable[Atom], values: Mapping[Atom, int]) -> dict[Atom, int]:
    """`values` of the symbols, extended to the scheduled atoms."""
    full = dict(values)
    look()
    for atom in schedule:
        if atom not in full:
            full[atom] = atom.operation.evaluate(*[arg.at(full) for arg in atom.args])
    return full


def evaluate_by(
    differences: Mapping[Expr, Difference[Expr]], schedule: Iterable[Atom], values: Mapping[Atom, int]
) -> dict[Atom, int]:
    """`evaluate_atoms`, where a chain of n atoms with sums of n terms takes n steps and not their square."""
    full = dict(values)
    look()
    sums: dict[Expr, int] = {}
    for atom in schedule:
        if atom not in full:
            numbers: list[int] = []
            for arg in atom.args:
                if isinstance(arg, Expr) and len(arg.terms) >= LONG:
                    known = differences.get(arg)
                    before = None if known is None else sums.get(known[0])
                    if known is None or before is None:
                        sums[arg] = arg.at(full)
                    else:
                        _, sign, terms, constant = known
                        sums[arg] = sign * before + total(arg.interner, terms, constant, full)
                    numbers.append(sums[arg])
                else:
                    numbers.append(arg.at(full))
            full[atom] = atom.operation.evaluate(*numbers)
    return full


def reachable(root: Node) -> set[Atom]:
    """All atoms of a node. Long sums inside keep theirs: the next longer sum of a chain adds a few to them."""
    pending: list[Node] = [root]
    while True:
        found = _reached(pending[-1])
        if isinstance(found, Expr):
            pending.append(found)
            continue
        node = pending.pop()
        if not pending:
            return found
        node._atoms = frozenset(found)


def _reached(root: Node) -> set[Atom] | Expr:
    """All atoms of a node, or a long sum inside whose atoms are to be gathered first."""
    seen: set[Atom] = set()
    entered: set[Node] = {root}
    nodes: list[Node] = [root]
    atoms: list[Atom] = []
    while nodes or atoms:
        if nodes:
            node = nodes.pop()
            if isinstance(node, Expr):
                monomials = node.interner.monomials
                direct = [atom for m, _ in node.terms for atom in monomials[m] if atom not in seen]
                if len(direct) >= LONG:
                    direct.sort(key=_depth)  # the deepest comes next: its argument has most of the others
                atoms += direct
            else:
                nodes += [child for child in node.children if child not in entered]
                entered.update(node.children)
            continue
        atom = atoms.pop()
        if atom in seen:
            continue
        seen.add(atom)
        for arg in atom.args:
            known = arg._atoms if isinstance(arg, Expr) else None
            if known is not None:
                seen |= known
            elif arg not in entered:
                if isinstance(arg, Expr) and len(arg.terms) >= LONG:
                    return arg
                entered.add(arg)
                nodes.append(arg)
    return seen


def _depth(atom: Atom) -> int:
    return atom.depth
