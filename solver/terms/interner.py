"""The table in which expressions and propositions are made and hash-consed.

    >>> from solver.terms.interner import Interner
    >>> terms = Interner()
    >>> b, s = terms.symbol("b"), terms.symbol("s")
    >>> terms.maximum(b, s) is terms.maximum(b, s)
    True
    >>> print(terms.divides(16, b * s))
    b*s % 16 == 0

One interner serves an environment and its forks and knows none of them. Monomials are small integers, so that terms
compare and sort natively.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from solver.errors import NotExpressible
from solver.hooks import Hook
from solver.terms import bits, choice, division, divisors
from solver.terms.depth import DEEPEST
from solver.terms.expr import COMPARED, Atom, Expr, Node, TermTable
from solver.terms.functions import function as registered_function
from solver.terms.operations import OPERATIONS, POWER_BITS, SYMBOL, Operation
from solver.terms.prop import Prop

EXPANSION_CAP: Final = 1024
"""A product of sums whose expansion would have more monomials than this stays an atom."""
LONGEST_SUM: Final = 2048
"""A product of a longer sum with a symbol and a constant, which would double its terms, stays an atom."""

POWER_EXPANDED: Final = 1024
"""A power of an expression with symbols stays an atom beyond this exponent, as one of a constant does beyond
`POWER_BITS`.
"""

MOST_FACTORS: Final = 1 << 16
"""Symbols that a product has at most: squared sixteen times, one is a product of as many."""

NUMBERS: Final = {kind: number for number, kind in enumerate((*OPERATIONS, "function"))}
"""The operations in the order of their table."""

program_applier: Final[Hook[Callable[[str, Sequence[Expr]], Expr | None]]] = Hook()
"""A program over floats applied to other arguments, by `solver.floats.substitution`."""


class Interner(TermTable):
    """Owns everything hash-consed; shared by an environment and its forks, and knows none of them.

    Several threads may build expressions at once. A node that is found is found without a lock; atoms, monomials,
    symbols and propositions are made under `lock` and entered when they are whole, expressions by one `setdefault`.
    """

    def __init__(self) -> None:
        super().__init__()
        self._monomial_ids: dict[tuple[Atom, ...], int] = {}
        self._products: dict[tuple[int, int], int] = {}
        self.composites: dict[tuple[object, ...], Atom] = {}
        self.named: dict[Expr, Expr] = {}
        self._quotients: dict[tuple[Expr, Expr], Expr] = {}
        self._remainders: dict[tuple[Expr, Expr], Expr] = {}
        self._relus: dict[Expr, Expr] = {}
        self._wide_products: dict[tuple[Expr, Expr], Expr] = {}
        self._atom_serial = 0
        self._monomial_serial = 0
        self._symbol_serial = 0
        self.true = Prop.truth(self, True)
        self.false = self.true.negation

    # ------------------------------------------------------------------ construction

    def symbol(self, name: str, *, definition: Expr | None = None) -> Expr:
        """A fresh symbol. Its serial number is its identity; the name is for display."""
        with self.lock:
            self._symbol_serial += 1
            atom = self._new_atom(SYMBOL, "symbol", name, (), 0, (0, self._symbol_serial))
            atom.definition = definition
            return atom.expr

    def atom(self, kind: str, args: tuple[Node, ...], name: str = "") -> Expr:
        """The atom of an operation as an expression. Callers bring the arguments into canonical form first."""
        key = (kind, name, args)
        with self.lock:
            found = self.composites.get(key)
            if found is None:
                depth = 1 + max((arg.depth for arg in args), default=0)
                if depth > DEEPEST:
                    raise NotExpressible(f"operations nested more than {DEEPEST:,} levels deep")
                operation = OPERATIONS[kind] if kind != "function" else registered_function(name)
                mark = hash((depth, *kind.encode(), 0, *name.encode(), *[arg.fingerprint for arg in args]))
                order = [depth, NUMBERS[kind], *name.encode()]
                for arg in args:
                    order.extend(arg.order)
                place = (*order[:COMPARED], mark)
                found = self.composites[key] = self._new_atom(operation, kind, name, args, depth, place)
            return found.expr

    def name_of(self, e: Expr) -> Expr:
        """A symbol that stands for an expression, the same one each time; its definition says so."""
        with self.lock:
            found = self.named.get(e)
            if found is None:
                found = self.named[e] = self.symbol(f"_{len(self.named)}", definition=e)
            return found

    def _new_atom(
        self,
        operation: Operation,
        kind: str,
        name: str,
        args: tuple[Node, ...],
        depth: int,
        key: tuple[int, ...],
    ) -> Atom:
        self._atom_serial += 1
        atom = Atom(operation, kind, name, args, self._atom_serial, depth, key)
        atom.monomial = self.monomial((atom,))
        atom.expr = self.expr(((atom.monomial, 1),), 0)
        return atom

    def monomial(self, atoms: tuple[Atom, ...]) -> int:
        """The number of a monomial, its atoms sorted by serial."""
        found = self._monomial_ids.get(atoms)
        if found is None:
            with self.lock:
                found = self._monomial_ids.get(atoms)
                if found is None:
                    self._monomial_serial += 1
                    found = self._monomial_serial
                    self.monomials[found] = atoms
                    self.monomial_keys[found] = (len(atoms), tuple(sorted([atom.key for atom in atoms], reverse=True)))
                    self._monomial_ids[atoms] = found  # last, so that whoever finds it finds all of it
        return found

    def multiply_monomials(self, m: int, n: int) -> int:
        key = (m, n) if m < n else (n, m)
        found = self._products.get(key)
        if found is None:
            factors = self.monomials[m] + self.monomials[n]
            if len(factors) > MOST_FACTORS:
                raise NotExpressible(f"a product of {len(factors):,} factors; at most {MOST_FACTORS:,} are kept")
            atoms = sorted(factors, key=_serial)
            found = self._products[key] = self.monomial(tuple(atoms))
        return found

    # ------------------------------------------------------------------ restoring (see `solver.decide.serialization`)

    @property
    def serials(self) -> tuple[int, int]:
        """The last serial numbers of atoms and of symbols."""
        return self._atom_serial, self._symbol_serial

    def continue_from(self, atom: int, symbol: int) -> None:
        """Leave these serial numbers and those before them to what is restored."""
        self._atom_serial, self._symbol_serial = atom, symbol

    def restored_symbol(self, name: str, definition: Expr | None, serial: int, number: int) -> Expr:
        """A symbol with the serial numbers that it had elsewhere, among atoms and among symbols."""
        with self.lock:
            last = self.serials
            self.continue_from(serial - 1, number - 1)
            try:
                symbol = self.symbol(name, definition=definition)
            finally:
                self.continue_from(max(last[0], serial), max(last[1], number))
            if definition is not None:
                self.named[definition] = symbol
            return symbol

    def restored_operation(self, kind: str, args: tuple[Node, ...], name: str, serial: int) -> Expr:
        """The atom of an operation; with the serial number that it had elsewhere, where it is new here."""
        with self.lock:
            last = self.serials
            self.continue_from(serial - 1, last[1])
            try:
                return self.atom(kind, args, name)
            finally:
                self.continue_from(max(last[0], serial), last[1])

    # ------------------------------------------------------------------ forgetting (see `solver.terms.sweep`)

    def forget_operations(self) -> None:
        """Drop the cached results of operations."""
        self.term_marks.clear()
        for memo in (self._quotients, self._remainders, self._relus, self._wide_products):
            memo.clear()

    def drop_monomials(self, dead: set[Atom]) -> None:
        """Drop the monomials in which these atoms occur."""
        gone = [m for m, atoms in self.monomials.items() if not dead.isdisjoint(atoms)]
        for m in gone:
            del self._monomial_ids[self.monomials.pop(m)]
            del self.monomial_keys[m]
        missing = set(gone)
        if missing:
            self._products = {
                key: product
                for key, product in list(self._products.items())
                if product not in missing and missing.isdisjoint(key)
            }

    # ------------------------------------------------------------------ arithmetic

    def multiply(self, a: Expr, b: Expr) -> Expr:
        if not a.terms:
            return self.scale(b, a.constant)
        if not b.terms:
            return self.scale(a, b.constant)
        if len(a.terms) == 1 or len(b.terms) == 1:
            return self._expand(a, b)
        key = (a, b)
        found = self._wide_products.get(key)
        if found is None:
            found = self._wide_products[key] = self._expand(a, b)
        return found

    def _expand(self, a: Expr, b: Expr) -> Expr:
        if expands_too_far(a, b):
            first, second = sorted((a, b), key=lambda e: e.order)
            return self.atom("product", (first, second))
        coefficients: dict[int, int] = {}
        for m, c in a.terms:
            for n, d in b.terms:
                product = self.multiply_monomials(m, n)  # a method by another name would be called as Python's
                coefficients[product] = coefficients.get(product, 0) + c * d
            if b.constant:
                coefficients[m] = coefficients.get(m, 0) + c * b.constant
        if a.constant:
            for n, d in b.terms:
                coefficients[n] = coefficients.get(n, 0) + d * a.constant
        return self.collect(coefficients, a.constant * b.constant)

    def power(self, base: Expr, exponent: Expr | int) -> Expr:
        """`base ** exponent`; the domain (exponent >= 0) is the caller's to state."""
        if not isinstance(exponent, int):
            if exponent.terms:
                if base is self.one:
                    return base
                return self.atom("power", (base, exponent))
            exponent = exponent.constant
        if exponent < 0:
            return self.zero
        if base.constant.bit_length() * exponent > POWER_BITS if not base.terms else exponent > POWER_EXPANDED:
            if base.terms or base.constant not in (-1, 0, 1):
                return self.atom("power", (base, self.constant(exponent)))
        if not base.terms:
            return self.constant(base.constant**exponent)
        result = self.one
        while exponent:
            if exponent & 1:
                result = self.multiply(result, base)
            exponent >>= 1
            if exponent:
                base = self.multiply(base, base)
        return result

    # ------------------------------------------------------------------ operations with atoms

    def lift(self, value: Expr | int) -> Expr:
        return self.constant(value) if isinstance(value, int) else value

    def floordiv(self, n: Expr | int, d: Expr | int) -> Expr:
        key = (self.lift(n), self.lift(d))
        found = self._quotients.get(key)
        if found is None:
            found = self._quotients[key] = division.divided(self, *key)
        return found

    def mod(self, a: Expr | int, b: Expr | int) -> Expr:
        a, b = key = (self.lift(a), self.lift(b))
        found = self._remainders.get(key)
        if found is None:
            rest = divisors.remainder(self, a, b)
            found = self._remainders[key] = self.subtract(rest, self.multiply(b, self.floordiv(rest, b)))
        return found

    def ceildiv(self, a: Expr | int, b: Expr | int) -> Expr:
        return -self.floordiv(-self.lift(a), b)

    def relu(self, e: Expr) -> Expr:
        found = self._relus.get(e)
        if found is None:
            found = self._relus[e] = choice.relu(self, e)
        return found

    def maximum(self, a: Expr | int, b: Expr | int) -> Expr:
        a, b = self.lift(a), self.lift(b)
        return b + self.relu(a - b)

    def minimum(self, a: Expr | int, b: Expr | int) -> Expr:
        a, b = self.lift(a), self.lift(b)
        return a - self.relu(a - b)

    def absolute(self, e: Expr) -> Expr:
        return 2 * self.relu(e) - e

    def ite(self, p: Prop, a: Expr | int, b: Expr | int) -> Expr:
        return choice.ite(self, p, self.lift(a), self.lift(b))

    def where(self, p: Prop, e: Expr) -> Expr:
        """`e if p else 0`."""
        return choice.ite(self, p, e, self.zero)

    def bit_and(self, a: Expr | int, b: Expr | int) -> Expr:
        return bits.bit_and(self, self.lift(a), self.lift(b))

    def bit_or(self, a: Expr | int, b: Expr | int) -> Expr:
        a, b = self.lift(a), self.lift(b)
        return a + b - bits.bit_and(self, a, b)

    def bit_xor(self, a: Expr | int, b: Expr | int) -> Expr:
        a, b = self.lift(a), self.lift(b)
        return a + b - 2 * bits.bit_and(self, a, b)

    def gcd(self, a: Expr | int, b: Expr | int) -> Expr:
        return divisors.gcd(self, self.lift(a), self.lift(b))

    def shift_left(self, a: Expr | int, b: Expr | int) -> Expr:
        return self.multiply(self.lift(a), self.power(self.constant(2), self.lift(b)))

    def shift_right(self, a: Expr | int, b: Expr | int) -> Expr:
        b = self.lift(b)
        if not b.terms and b.constant < 0:
            return self.zero
        return self.floordiv(a, self.power(self.constant(2), b))

    def function(self, name: str, *args: Expr | int) -> Expr:
        """An opaque function with a registered evaluation (see `solver.terms.functions`)."""
        operation = registered_function(name)
        if operation.constructor:
            return self.apply(operation, *args)
        lifted = tuple([self.lift(arg) for arg in args])
        if all(not arg.terms for arg in lifted):
            return self.constant(operation.evaluate(*[arg.constant for arg in lifted]))
        return self.atom("function", lifted, name)

    def apply(self, operation: Operation, *args: Node | int) -> Expr:
        """The normal form of an operation of these arguments."""
        if operation.constructor:
            made: Expr = getattr(self, operation.constructor)(*args)
            return made
        return self.function(operation.name, *[arg for arg in args if isinstance(arg, (Expr, int))])

    def rebuild(self, kind: str, name: str, args: Sequence[Node]) -> Expr:
        """The operation of an atom applied to other arguments, through the normal form."""
        if kind != "function":
            return self.apply(OPERATIONS[kind], *args)
        values = [arg for arg in args if isinstance(arg, Expr)]
        if "{" in name and (len(set(values)) < len(values) or not all(value.terms for value in values)):
            return program_applier.call(name, values) or self.function(name, *values)
        return self.function(name, *values)

    def images(self, schedule: Iterable[Atom], mapping: Mapping[Atom, Expr]) -> dict[Atom, Expr]:
        """The given images, and those of the atoms of a schedule that change."""
        images = dict(mapping)
        least = min([atom.depth for atom in mapping], default=0)
        for atom in schedule:
            if atom.depth <= least or atom in images:  # what contains another is deeper
                continue
            args = tuple([arg.replace(images) for arg in atom.args])
            if any(new is not old for new, old in zip(args, atom.args, strict=True)):
                images[atom] = self.rebuild(atom.kind, atom.name, args)
        return images

    # ------------------------------------------------------------------ propositions

    def ge(self, a: Expr | int, b: Expr | int) -> Prop:
        return Prop.ge(self.lift(a), b)

    def gt(self, a: Expr | int, b: Expr | int) -> Prop:
        return Prop.gt(self.lift(a), b)

    def le(self, a: Expr | int, b: Expr | int) -> Prop:
        return Prop.le(self.lift(a), b)

    def lt(self, a: Expr | int, b: Expr | int) -> Prop:
        return Prop.lt(self.lift(a), b)

    def eq(self, a: Expr | int, b: Expr | int) -> Prop:
        return Prop.eq(self.lift(a), b)

    def ne(self, a: Expr | int, b: Expr | int) -> Prop:
        return Prop.ne(self.lift(a), b)

    def divides(self, d: Expr | int, e: Expr | int) -> Prop:
        return Prop.zero(self.mod(e, d))

    def conjunction(self, parts: Iterable[Prop]) -> Prop:
        return Prop.join(self, "and", parts)

    def disjunction(self, parts: Iterable[Prop]) -> Prop:
        return Prop.join(self, "or", parts)


def expands_too_far(a: Expr, b: Expr) -> bool:
    """Return True if a product stays one atom, so that a chain of n sums does not become a sum of 2**n terms."""
    long, short = len(a.terms), len(b.terms)
    if long < short:
        a, b, long, short = b, a, short, long
    if short > 1:
        return long * short > EXPANSION_CAP
    return bool(b.constant) and 2 * (long + 1) > LONGEST_SUM


def _serial(atom: Atom) -> int:
    return atom.serial
