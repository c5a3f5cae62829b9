"""Lowering of normal forms to few machine operations: the step before code generation.

The normal form is made for reasoning: `a % b` is `a - b*(a//b)` and `max(a, b)` is `b + relu(a - b)`. Here the
operations come back, differences are put on the two sides of a comparison, and everything is numbered by value, so
that what two guards share is one node:

    >>> from solver.terms.interner import Interner
    >>> from shapes.guards.lowering import Lowering, Operations
    >>> terms = Interner()
    >>> b, s = terms.symbol("b"), terms.symbol("s")
    >>> operations = Operations()
    >>> lowering = Lowering(operations, {b: operations.leaf(0), s: operations.leaf(1)})
    >>> first = lowering.proposition(terms.divides(16, b * s))
    >>> print(first.code, [operand.code for operand in first.operands])
    eq ['mod', 'constant']
    >>> second = lowering.proposition(terms.ge(b * s, 64))
    >>> second.operands[0] is first.operands[0].operands[0]      # the product is shared
    True

Every operation is total, with the values that `Expr.evaluate` gives: `n // 0` is 0 and `n % 0` is n. A printer may
leave the test of a divisor out where something before it has established that the divisor is not zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from solver.terms.expr import Atom, Expr
from solver.terms.prop import Prop

COMPARISONS: Final = frozenset(("ge", "gt", "le", "lt", "eq", "ne"))
CONDITIONS: Final = COMPARISONS | {"all", "any", "true", "false"}


@dataclass(eq=False, slots=True, repr=False)
class Operation:
    """One numbered value. Operands have smaller numbers, so the number is an order of computation.

    `code` is one of leaf (`number` of the input), constant (`number`), sum (of `coefficients` times operands, plus
    `number`), mul, floordiv, mod, relu, max, min, abs, select (condition, then, else), bitand, power, call (`name`);
    and the conditions ge, gt, le, lt, eq, ne, all, any, true, false.
    """

    index: int
    code: str
    operands: tuple[Operation, ...]
    number: int
    coefficients: tuple[int, ...]
    name: str

    @property
    def is_leaf(self) -> bool:
        return self.code in ("leaf", "constant", "true", "false")

    def __repr__(self) -> str:
        return f"<{self.code} {self.index}>"


class Operations:
    """All operations of one piece of generated code, each distinct one once."""

    def __init__(self) -> None:
        self._found: dict[tuple[object, ...], Operation] = {}

    def make(
        self,
        code: str,
        operands: tuple[Operation, ...] = (),
        *,
        number: int = 0,
        coefficients: tuple[int, ...] = (),
        name: str = "",
    ) -> Operation:
        key = (code, operands, number, coefficients, name)
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = Operation(len(self._found), code, operands, number, coefficients, name)
        return found

    def leaf(self, position: int) -> Operation:
        """An input: the value at this position of the flattened arguments."""
        return self.make("leaf", number=position)

    def constant(self, value: int) -> Operation:
        return self.make("constant", number=value)

    def sum(self, parts: list[tuple[int, Operation]], constant: int) -> Operation:
        """The sum of coefficient * operation, plus a constant. Positive coefficients first: shorter to print and to
        compute."""
        if not parts:
            return self.constant(constant)
        if len(parts) == 1 and not constant and parts[0][0] == 1:
            return parts[0][1]
        ordered = sorted(parts, key=lambda part: (part[0] < 0, part[1].index))
        return self.make(
            "sum", tuple([node for _, node in ordered]), number=constant, coefficients=tuple([c for c, _ in ordered])
        )

    def compare(self, kind: str, parts: list[tuple[int, Operation]], constant: int) -> Operation:
        """`sum >= 0`, `== 0` or `!= 0` without a subtraction: negative terms move to the other side."""
        left = [part for part in parts if part[0] > 0]
        right = [(-c, node) for c, node in parts if c < 0]
        if not left:  # constant >= right
            code = {"ge": "le"}.get(kind, kind)
            return self.make(code, (self.sum(right, 0), self.constant(constant)))
        if not right:
            return self.make(kind, (self.sum(left, 0), self.constant(-constant)))
        if kind == "ge" and constant == -1:
            return self.make("gt", (self.sum(left, 0), self.sum(right, 0)))
        return self.make(kind, (self.sum(left, max(constant, 0)), self.sum(right, max(-constant, 0))))

    def join(self, code: str, parts: list[Operation]) -> Operation:
        """`all` or `any` of the conditions."""
        return parts[0] if len(parts) == 1 else self.make(code, tuple(parts))


class Lowering:
    """Lowers expressions and propositions of one interner into shared operations, each once.

    `inputs` says which operation stands for a symbol. A symbol without one is computed from its definition;
    `missing` collects those that have neither.
    """

    def __init__(self, operations: Operations, inputs: Mapping[Expr, Operation]) -> None:
        self.operations = operations
        self.missing: dict[Atom, None] = {}
        self._symbols = {_symbol(symbol): operation for symbol, operation in inputs.items()}
        self._atoms: dict[Atom, Operation] = {}
        self._exprs: dict[Expr, Operation] = {}
        self._props: dict[Prop, Operation] = {}

    def bind(self, symbol: Expr, operation: Operation) -> None:
        """Say what stands for one more symbol, before it is first met."""
        self._symbols[_symbol(symbol)] = operation

    def expression(self, e: Expr) -> Operation:
        self._prepare(e.schedule, e.symbols)
        return self._expression(e)

    def proposition(self, p: Prop) -> Operation:
        self._prepare(p.schedule, p.symbols)
        return self._proposition(p)

    def _prepare(self, schedule: tuple[Atom, ...], symbols: frozenset[Atom]) -> None:
        """Lower the atoms, arguments first, so that nothing below recurses into nested expressions."""
        for atom in sorted(symbols, key=lambda atom: atom.serial):
            if atom in self._atoms:
                continue
            operation = self._symbols.get(atom)
            if operation is None and atom.definition is not None:
                operation = self.expression(atom.definition)
            if operation is None:
                self.missing[atom] = None
                operation = self.operations.constant(0)
            self._atoms[atom] = operation
        for atom in schedule:
            if atom not in self._atoms:
                self._atoms[atom] = self._atom(atom)

    def _atom(self, atom: Atom) -> Operation:
        make = self.operations.make
        if atom.kind == "ite":
            condition, value = atom.args
            assert isinstance(condition, Prop) and isinstance(value, Expr)
            zero = self.operations.constant(0)
            return make("select", (self._proposition(condition), self._expression(value), zero))
        operands = tuple([self._expression(arg) for arg in atom.args if isinstance(arg, Expr)])
        match atom.kind:
            case "function":
                return make("call", operands, name=atom.name)
            case "product":
                return make("mul", operands)
            case _:
                return make(atom.kind, operands)

    def _expression(self, e: Expr) -> Operation:
        found = self._exprs.get(e)
        if found is None:
            parts, constant = self._parts(e)
            found = self._exprs[e] = self.operations.sum(parts, constant)
        return found

    def _proposition(self, root: Prop) -> Operation:
        """The condition, its parts first, without recursion."""
        stack = [root]
        while stack:
            p = stack[-1]
            if p in self._props:
                stack.pop()
                continue
            waiting = [part for part in p.parts if part not in self._props]
            if waiting:
                stack.extend(waiting)
                continue
            stack.pop()
            match p.kind:
                case "and" | "or":
                    joined = {"and": "all", "or": "any"}[p.kind]
                    self._props[p] = self.operations.join(joined, [self._props[part] for part in p.parts])
                case "true" | "false":
                    self._props[p] = self.operations.make(p.kind)
                case _:
                    parts, constant = self._parts(p.expr)
                    self._props[p] = self.operations.compare(p.kind, parts, constant)
        return self._props[root]

    # ------------------------------------------------------------------ bringing operations back

    def _parts(self, e: Expr) -> tuple[list[tuple[int, Operation]], int]:
        """The terms of e as coefficient and operation, with `%`, `max`, `min` and `abs` where that saves terms."""
        terms = Terms(e)
        collected: dict[Operation, int] = {}
        for atom in terms.choices():
            recovered = self._remainder(terms, atom) if atom.kind == "floordiv" else self._choice(terms, atom)
            if recovered is not None:
                c, node = recovered
                collected[node] = collected.get(node, 0) + c
        monomials = e.interner.monomials
        for m, c in terms.coefficients.items():
            node = self._monomial(monomials[m])
            collected[node] = collected.get(node, 0) + c
        return [(c, node) for node, c in collected.items() if c], terms.constant

    def _monomial(self, atoms: tuple[Atom, ...]) -> Operation:
        """The product of the atoms; sorted as they are, `a*b` is shared with `a*b*c`."""
        product = self._atoms[atoms[0]]
        for atom in atoms[1:]:
            product = self.operations.make("mul", (product, self._atoms[atom]))
        return product

    def _remainder(self, terms: Terms, atom: Atom) -> tuple[int, Operation] | None:
        """`k*d*(n//d)` becomes `k*n - k*(n % d)`, when that leaves fewer terms."""
        n, d = atom.args
        assert isinstance(n, Expr) and isinstance(d, Expr)
        if d.is_constant and terms.coefficients.get(atom.monomial, 0) % (d.constant or 1):
            return None
        k = _multiple(terms.factor(atom), d)
        if not k:
            return None
        removed = terms.containing(atom)
        if terms.growth(k, n) >= len(removed):
            return None
        terms.remove(removed)
        terms.add(k, n)
        return -k, self.operations.make("mod", (self._expression(n), self._expression(d)))

    def _choice(self, terms: Terms, atom: Atom) -> tuple[int, Operation] | None:
        """`relu(x - y) + y` becomes `max(x, y)`, `x - relu(x - y)` `min(x, y)`, `2*relu(x) - x` `abs(x)`."""
        (inner,) = atom.args
        assert isinstance(inner, Expr)
        c = terms.coefficients.get(atom.monomial, 0)
        if not c or len(terms.containing(atom)) != 1:
            return None
        high = inner.interner.expr(tuple([term for term in inner.terms if term[1] > 0]), max(inner.constant, 0))
        low = high - inner
        pair: tuple[Expr, ...] = (high, low)
        candidates = [("max", c, -c, low, pair), ("min", -c, c, high, pair)] if low.terms or low.constant else []
        if c % 2 == 0:
            candidates.append(("abs", c // 2, c // 2, inner, (inner,)))
        if not candidates:
            return None  # a relu is `max(x, 0)` already
        growths = [terms.growth(k, part) for _, _, k, part, _ in candidates]
        growth = min(growths)
        code, coefficient, k, part, arguments = candidates[growths.index(growth)]
        if growth > 0 or (growth == 0 and not (code == "max" and low.is_constant)):
            return None
        terms.remove([atom.monomial])
        terms.add(k, part)
        return coefficient, self.operations.make(code, tuple([self._expression(argument) for argument in arguments]))


class Terms:
    """The terms of an expression while operations are taken out of it."""

    def __init__(self, e: Expr) -> None:
        self._interner = e.interner
        self.coefficients = dict(e.terms)
        self.constant = e.constant
        self._containing: dict[Atom, list[int]] = {}
        for m in self.coefficients:
            self._index(m)

    def _index(self, m: int) -> None:
        for atom in dict.fromkeys(self._interner.monomials[m]):
            if atom.kind in ("floordiv", "relu"):
                self._containing.setdefault(atom, []).append(m)

    def choices(self) -> Iterator[Atom]:
        """The atoms that may be part of a recovered operation, outermost first, and those met on the way."""
        tried: set[Atom] = set()
        while True:
            waiting = [atom for atom in self._containing if atom not in tried]
            if not waiting:
                return
            for atom in sorted(waiting, key=lambda atom: (-atom.depth, atom.serial)):
                tried.add(atom)
                yield atom

    def containing(self, atom: Atom) -> list[int]:
        """The monomials with a coefficient that contain an atom."""
        return [m for m in dict.fromkeys(self._containing.get(atom, ())) if m in self.coefficients]

    def factor(self, atom: Atom) -> Expr:
        """The factor of the atom; zero when it occurs in a power."""
        interner = self._interner
        factor: dict[int, int] = {}
        constant = 0
        for m in self.containing(atom):
            rest = [other for other in interner.monomials[m] if other is not atom]
            if len(rest) != len(interner.monomials[m]) - 1:
                return interner.zero
            if rest:
                factor[interner.monomial(tuple(rest))] = self.coefficients[m]
            else:
                constant = self.coefficients[m]
        return interner.collect(factor, constant)

    def growth(self, k: int, e: Expr) -> int:
        """The number of terms gained by adding k*e."""
        before = self.coefficients
        grown = sum([(before.get(m, 0) + k * c != 0) - (m in before) for m, c in e.terms])
        return grown + (self.constant + k * e.constant != 0) - (self.constant != 0)

    def add(self, k: int, e: Expr) -> None:
        for m, c in e.terms:
            total = self.coefficients.get(m, 0) + k * c
            if not total:
                del self.coefficients[m]
                continue
            if m not in self.coefficients:
                self._index(m)
            self.coefficients[m] = total
        self.constant += k * e.constant

    def remove(self, monomials: Iterable[int]) -> None:
        for m in monomials:
            del self.coefficients[m]


def _symbol(e: Expr) -> Atom:
    """The atom of an expression that is one symbol."""
    (term,) = e.terms
    (atom,) = e.interner.monomials[term[0]]
    return atom


def _multiple(e: Expr, d: Expr) -> int:
    """k when `e == k*d` for an integer k that is not zero, else 0."""
    if d.terms:
        lead = d.terms[0]
        k = next((c // lead[1] for m, c in e.terms if m == lead[0] and c % lead[1] == 0), 0)
    else:
        k = e.constant // d.constant if not e.terms and d.constant and e.constant % d.constant == 0 else 0
    return k if k and e is d * k else 0
