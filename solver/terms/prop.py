"""Propositions in normal form: `e >= 0`, `e == 0`, `e != 0`, and their conjunctions and disjunctions.

    >>> from solver.terms.interner import Interner
    >>> terms = Interner()
    >>> s = terms.symbol("s")
    >>> terms.gt(2 * s, 7) is terms.ge(s, 4)          # tightened over the integers
    True
    >>> terms.eq(2 * s, 7) is terms.false
    True
    >>> terms.lt(s, 3).negation is terms.ge(s, 3)
    True

There is no negation node: `negation` gives the complement. Parts of `and` and `or` keep their written order, which is
the order in which Python would evaluate them. What must hold for a proposition to make sense (divisors not zero) is its
*domain*, kept beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from solver.terms.expr import Atom, Expr, evaluate_atoms, reachable
from solver.terms.printing import printer

if TYPE_CHECKING:
    from solver.terms.interner import Interner


SHARING: Final = 64
"""A compound that written out has more comparisons than this is walked node by node: parts may be shared many times."""
MOST_WRITTEN: Final = 1 << 60


class Prop:
    """A proposition; hash-consed, so equality is identity.

    `kind` is one of ge, eq, ne (about `expr`), and, or (of `parts`), true, false. `written` is how many comparisons it
    has when it is written out, which may be exponential in how many nodes it has (at most `MOST_WRITTEN` is counted).
    """

    __slots__ = (
        "_atoms",
        "_depth",
        "_fingerprint",
        "_nodes",
        "_schedule",
        "_symbols",
        "expr",
        "interner",
        "kind",
        "negation_cache",
        "parts",
        "written",
    )

    def __init__(self, interner: Interner, kind: str, expr: Expr, parts: tuple[Prop, ...]) -> None:
        self.interner = interner
        self.kind = kind
        self.expr = expr
        self.parts = parts
        self.negation_cache: Prop | None = None
        self.written: int = min(sum([part.written for part in parts]), MOST_WRITTEN) if parts else 1
        self._nodes: tuple[Prop, ...] | None = None
        self._atoms: frozenset[Atom] | None = None
        self._schedule: tuple[Atom, ...] | None = None
        self._symbols: frozenset[Atom] | None = None
        self._fingerprint: int | None = None
        self._depth = -1

    # ------------------------------------------------------------------ construction

    @staticmethod
    def make(interner: Interner, kind: str, expr: Expr) -> Prop:
        """The node for an expression already in the normal form of its kind."""
        key = (kind, expr)
        found = interner.props.get(key)
        if found is None:
            found = interner.props.setdefault(key, Prop(interner, kind, expr, ()))
        return found

    @staticmethod
    def nonnegative(e: Expr) -> Prop:
        """`e >= 0`: the content divided out, the constant floored."""
        interner = e.interner
        if not e.terms:
            return interner.true if e.constant >= 0 else interner.false
        k = e.content()
        if k > 1:
            e = interner.expr(tuple([(m, c // k) for m, c in e.terms]), e.constant // k)
        return Prop.make(interner, "ge", e)

    @staticmethod
    def zero(e: Expr) -> Prop:
        """`e == 0`: the content divided out (false if it does not divide the constant), the lead positive."""
        interner = e.interner
        if not e.terms:
            return interner.false if e.constant else interner.true
        k = e.content()
        if k > 1 and e.constant % k:
            return interner.false
        if e.lead()[1] < 0:
            k = -k
        if k != 1:
            e = interner.expr(tuple([(m, c // k) for m, c in e.terms]), e.constant // k)
        return Prop.make(interner, "eq", e)

    @staticmethod
    def join(interner: Interner, kind: str, parts: Iterable[Prop]) -> Prop:
        """The conjunction ("and") or disjunction ("or") of the parts, flat, without repetitions."""
        neutral, absorbing = (interner.true, interner.false) if kind == "and" else (interner.false, interner.true)
        kept: dict[Prop, None] = {}
        for part in parts:
            for p in part.parts if part.kind == kind else (part,):
                if p is absorbing or p.negation in kept:
                    return absorbing
                if p is not neutral:
                    kept[p] = None
        if not kept:
            return neutral
        if len(kept) == 1:
            return next(iter(kept))
        flat = tuple(kept)
        key = (kind, flat)
        found = interner.props.get(key)
        if found is None:
            found = interner.props.setdefault(key, Prop(interner, kind, interner.zero, flat))
        return found

    @property
    def negation(self) -> Prop:
        found = self.negation_cache
        if found is None:
            interner = self.interner
            if self.kind == "ge":
                e = self.expr
                opposite = interner.expr(tuple([(m, -c) for m, c in e.terms]), -e.constant - 1)
                found = Prop.make(interner, "ge", opposite)
            elif self.kind == "eq":
                found = Prop.make(interner, "ne", self.expr)
            elif self.kind == "ne":
                found = Prop.make(interner, "eq", self.expr)
            else:
                found = _negated_tree(self)
            self.negation_cache = found
            found.negation_cache = self
        return found

    def forget(self) -> None:
        """Drop what was computed from it, its complement included."""
        self.negation_cache = self._atoms = self._schedule = self._symbols = self._nodes = None

    # ------------------------------------------------------------------ reading

    @property
    def children(self) -> tuple[Expr | Prop, ...]:
        return self.parts or ((self.expr,) if self.expr.terms else ())

    @property
    def atoms(self) -> frozenset[Atom]:
        """All atoms, those inside arguments included."""
        found = self._atoms
        if found is None:
            found = self._atoms = self.expr.atoms if not self.parts else frozenset(reachable(self))
        return found

    @property
    def symbols(self) -> frozenset[Atom]:
        found = self._symbols
        if found is None:
            found = self._symbols = frozenset([atom for atom in self.atoms if not atom.args])
        return found

    @property
    def schedule(self) -> tuple[Atom, ...]:
        """The atoms that are not symbols, arguments first."""
        found = self._schedule
        if found is None:
            composite = [atom for atom in self.atoms if atom.kind != "symbol"]
            found = self._schedule = tuple(sorted(composite, key=lambda atom: (atom.depth, atom.serial)))
        return found

    @property
    def depth(self) -> int:
        if self._depth < 0:
            deepest = self.expr.depth  # an operation is deeper than its operands
            if self.parts:
                for comparison in self.comparisons():
                    inside = comparison.expr.depth
                    if inside > deepest:
                        deepest = inside
            self._depth = deepest
        return self._depth

    @property
    def terms(self) -> tuple[tuple[int, int], ...]:
        """Those of the expression; none for a compound proposition."""
        return self.expr.terms

    @property
    def fingerprint(self) -> int:
        """A number that depends on the structure alone: the same in every process."""
        if self._fingerprint is None:
            own = [*self.kind.encode(), self.expr.fingerprint]
            self._fingerprint = hash(tuple(own + [part.fingerprint for part in self.parts]))
        return self._fingerprint

    def comparisons(self) -> list[Prop]:
        """The comparisons that it is built of, each once, in written order."""
        return [node for node in self.nodes if not node.parts] if self.parts else [self]

    @property
    def nodes(self) -> tuple[Prop, ...]:
        """It and all parts of parts, each once, each after its own parts, in written order."""
        found = self._nodes
        if found is None:
            found = self._nodes = _parts_first(self)
        return found

    def evaluate(self, values: Mapping[Atom, int]) -> bool:
        """The truth under an assignment of the symbols (total: a zero divisor gives 0)."""
        if self.schedule:
            values = evaluate_atoms(self.schedule, values)
        return self.at(values)

    def at(self, values: Mapping[Atom, int]) -> bool:
        """The truth when the values of all direct atoms are given."""
        match self.kind:
            case "ge":
                return self.expr.at(values) >= 0
            case "eq":
                return self.expr.at(values) == 0
            case "ne":
                return self.expr.at(values) != 0
            case "and" | "or":
                decisive = self.kind == "or"
                if self.written > SHARING:
                    return self._shared_at(values)
                for part in self.parts:
                    if part.at(values) is decisive:
                        return decisive
                return not decisive
            case _:
                return self.kind == "true"

    def _shared_at(self, values: Mapping[Atom, int]) -> bool:
        """The truth of a compound, that of each node computed once."""
        truths: dict[Prop, bool] = {}
        for node in self.nodes:
            if node.parts:
                decisive = node.kind == "or"
                truth = not decisive
                for part in node.parts:
                    if truths[part] is decisive:
                        truth = decisive
                        break
                truths[node] = truth
            else:
                truths[node] = node.at(values)
        return truths[self]

    def replace(self, images: Mapping[Atom, Expr]) -> Prop:
        """The proposition with direct atoms replaced, through the normal form."""
        if self.parts:
            interner = self.interner
            return self.mapped({p: p.of(interner.replace(p.expr, images)) for p in self.comparisons() if p.terms})
        return self.of(self.interner.replace(self.expr, images)) if self.expr.terms else self

    def mapped(self, comparisons: Mapping[Prop, Prop]) -> Prop:
        """The proposition with comparisons replaced, each node once."""
        images: dict[Prop, Prop] = {}
        for node in self.nodes:
            if node.parts:
                parts = [images[part] for part in node.parts]
                same = all(new is old for new, old in zip(parts, node.parts, strict=True))
                images[node] = node if same else Prop.join(self.interner, node.kind, parts)
            else:
                images[node] = comparisons.get(node, node)
        return images[self]

    def of(self, e: Expr) -> Prop:
        """The same comparison of another expression with zero."""
        if e is self.expr:
            return self
        match self.kind:
            case "ge":
                return Prop.nonnegative(e)
            case "eq":
                return Prop.zero(e)
            case _:
                return Prop.zero(e).negation

    def substitute(self, mapping: Mapping[Atom, Expr]) -> Prop:
        """The proposition with atoms replaced everywhere, arguments included."""
        if self.atoms.isdisjoint(mapping):
            return self
        return self.replace(self.interner.images(self.schedule, mapping))

    def __bool__(self) -> bool:
        raise TypeError(f"a proposition has no truth value of its own: ask whether `{self}` follows")

    def __str__(self) -> str:
        return printer.call(self)

    def __repr__(self) -> str:
        return f"<{self}>"


def _parts_first(root: Prop) -> tuple[Prop, ...]:
    """Every node once, parts before what they are parts of, without recursion."""
    order: dict[Prop, None] = {}
    stack = [(root, False)]
    while stack:
        node, ready = stack.pop()
        if node in order:
            continue
        if ready or not node.parts:
            order[node] = None
        else:
            stack.append((node, True))
            stack.extend([(part, False) for part in reversed(node.parts)])
    return tuple(order)


def _negated_tree(root: Prop) -> Prop:
    """De Morgan, bottom up, without recursion; below a part whose complement is known nothing is looked at."""
    stack = [root]
    while stack:
        node = stack[-1]
        below = [part for part in node.parts if part.negation_cache is None and part.parts]
        if node.negation_cache is None and below:
            stack.extend(below)
            continue
        stack.pop()
        if node.negation_cache is None:
            kind = "or" if node.kind == "and" else "and"
            opposite = Prop.join(node.interner, kind, [part.negation for part in node.parts])
            node.negation_cache = opposite
            if opposite.negation_cache is None:
                opposite.negation_cache = node
    negated = root.negation_cache
    assert negated is not None
    return negated
