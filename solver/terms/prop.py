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

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from solver.terms.expr import COMPARED, Atom, Expr, Node, TermTable, reachable

COMPLEMENT: Final = {"eq": "ne", "ne": "eq", "true": "false", "false": "true"}
SHARING: Final = 64
"""A compound that written out has more comparisons than this is walked node by node: parts may be shared many times."""
MOST_WRITTEN: Final = 1 << 60


class Prop(Node):
    """A proposition; hash-consed, so equality is identity.

    `kind` is one of ge, eq, ne (about `expr`), and, or (of `parts`), true, false. `written` is how many comparisons it
    has when it is written out, which may be exponential in how many nodes it has (at most `MOST_WRITTEN` is counted).
    """

    __slots__ = ("_depth", "_nodes", "expr", "kind", "negation_cache", "parts", "written")

    def __init__(self, interner: TermTable, kind: str, expr: Expr, parts: tuple[Prop, ...]) -> None:
        super().__init__(interner)
        self.kind = kind
        self.expr = expr
        self.parts = parts
        self.negation_cache: Prop | None = None
        self.written: int = min(sum([part.written for part in parts]), MOST_WRITTEN) if parts else 1
        self._nodes: tuple[Prop, ...] | None = None
        self._depth = -1

    # ------------------------------------------------------------------ construction

    @staticmethod
    def make(interner: TermTable, kind: str, expr: Expr, parts: tuple[Prop, ...] = ()) -> Prop:
        """The node for an expression already in the normal form of its kind, or for parts."""
        key = (kind, parts or expr)
        found = interner.props.get(key)
        if not isinstance(found, Prop):
            with interner.lock:
                found = interner.props.get(key)
                if not isinstance(found, Prop):
                    found = interner.props[key] = Prop(interner, kind, expr, parts)
        return found

    @staticmethod
    def truth(interner: TermTable, value: bool) -> Prop:
        return Prop.make(interner, "true" if value else "false", interner.zero)

    @staticmethod
    def nonnegative(e: Expr) -> Prop:
        """`e >= 0`: the content divided out, the constant floored."""
        interner = e.interner
        if not e.terms:
            return Prop.truth(interner, e.constant >= 0)
        k = e.content()
        if k > 1:
            e = interner.expr(tuple([(m, c // k) for m, c in e.terms]), e.constant // k)
        return Prop.make(interner, "ge", e)

    @staticmethod
    def zero(e: Expr) -> Prop:
        """`e == 0`: the content divided out (false if it does not divide the constant), the lead positive."""
        interner = e.interner
        if not e.terms:
            return Prop.truth(interner, not e.constant)
        k = e.content()
        if k > 1 and e.constant % k:
            return Prop.truth(interner, False)
        if e.lead()[1] < 0:
            k = -k
        if k != 1:
            e = interner.expr(tuple([(m, c // k) for m, c in e.terms]), e.constant // k)
        return Prop.make(interner, "eq", e)

    @staticmethod
    def ge(a: Expr, b: Expr | int) -> Prop:
        return Prop.nonnegative(a - b)

    @staticmethod
    def gt(a: Expr, b: Expr | int) -> Prop:
        return Prop.nonnegative(a - b - 1)

    @staticmethod
    def le(a: Expr, b: Expr | int) -> Prop:
        return Prop.nonnegative(b - a)

    @staticmethod
    def lt(a: Expr, b: Expr | int) -> Prop:
        return Prop.nonnegative(b - a - 1)

    @staticmethod
    def eq(a: Expr, b: Expr | int) -> Prop:
        return Prop.zero(a - b)

    @staticmethod
    def ne(a: Expr, b: Expr | int) -> Prop:
        return Prop.zero(a - b).negation

    @staticmethod
    def join(interner: TermTable, kind: str, parts: Iterable[Prop]) -> Prop:
        """The conjunction ("and") or disjunction ("or") of the parts, flat, without repetitions."""
        neutral, absorbing = ("true", "false") if kind == "and" else ("false", "true")
        kept: dict[Prop, None] = {}
        for part in parts:
            for p in part.parts if part.kind == kind else (part,):
                if p.kind == absorbing or p.negation in kept:
                    return Prop.make(interner, absorbing, interner.zero)
                if p.kind != neutral:
                    kept[p] = None
        if not kept:
            return Prop.make(interner, neutral, interner.zero)
        if len(kept) == 1:
            return next(iter(kept))
        return Prop.make(interner, kind, interner.zero, tuple(kept))

    @property
    def negation(self) -> Prop:
        found = self.negation_cache
        if found is None:
            interner = self.interner
            if self.kind == "ge":
                e = self.expr
                opposite = interner.expr(tuple([(m, -c) for m, c in e.terms]), -e.constant - 1)
                found = Prop.make(interner, "ge", opposite)
            elif self.parts:
                found = _negated_tree(self)
            else:
                found = Prop.make(interner, COMPLEMENT[self.kind], self.expr)
            self.negation_cache = found
            found.negation_cache = self
        return found

    def forget(self) -> None:
        super().forget()
        self.negation_cache = self._nodes = None

    # ------------------------------------------------------------------ reading

    @property
    def children(self) -> Sequence[Node]:
        return self.parts or ((self.expr,) if self.expr.terms else ())

    @property
    def atoms(self) -> frozenset[Atom]:
        """All atoms, those inside arguments included."""
        found = self._atoms
        if found is None:
            found = self._atoms = frozenset(reachable(self)) if self.parts else self.expr.atoms
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
        """The terms of the expression; none for a compound proposition."""
        return self.expr.terms

    @property
    def fingerprint(self) -> int:
        if self._fingerprint is None:
            own = [*self.kind.encode(), self.expr.fingerprint]
            self._fingerprint = hash(tuple(own + [part.fingerprint for part in self.parts]))
        return self._fingerprint

    @property
    def order(self) -> tuple[int, ...]:
        found = [*self.kind.encode(), *self.expr.order]
        for part in self.parts:
            found.extend(part.order)
            if len(found) > COMPARED:
                break
        return (*found[:COMPARED], self.fingerprint)

    def comparisons(self) -> list[Prop]:
        """The comparisons that it is built of, each once, in written order."""
        return [node for node in self.nodes if not node.parts] if self.parts else [self]

    @property
    def nodes(self) -> tuple[Prop, ...]:
        """The proposition and all parts below it, each once, each after its own parts, in written order."""
        found = self._nodes
        if found is None:
            found = self._nodes = _parts_first(self)
        return found

    def evaluate(self, values: Mapping[Atom, int]) -> bool:
        """The truth under an assignment of the symbols (total: a zero divisor gives 0)."""
        return self.at(self.with_atoms(values))

    def at(self, values: Mapping[Atom, int]) -> bool:
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
            return self.mapped({p: p.of(p.expr.replace(images)) for p in self.comparisons() if p.terms})
        return self.of(self.expr.replace(images)) if self.expr.terms else self

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
        raise TypeError(f"a proposition is not a truth value: ask if `{self}` follows")


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
    """De Morgan, bottom up, without recursion; parts with a known complement are not entered."""
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
