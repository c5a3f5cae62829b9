"""Common subexpression elimination in print: `t0 + t0//3 where t0 = ...`.

    >>> from solver.terms.interner import Interner
    >>> from solver.syntax.printer import text_with_names
    >>> terms = Interner()
    >>> x, y = terms.symbol("x"), terms.symbol("y")
    >>> e = (x * y + 3 * x) // (y + 5)
    >>> for _ in range(2):
    ...     e = terms.maximum(e * e // 7, e + y)
    >>> print(text_with_names(e))
    max(t0 + t1 + y, (t0 + t1)**2//7) where t0 = (x + (-2*x)//(y + 5))**2//7, t1 = max(x - t0 + y + (-2*x)//(y + 5), 0)

An expression is a graph: written out, a part that two others have is written twice, and a chain of such parts has a
text that is exponential in its length. What is shared and longer than a few operations gets a name, so that the text
is as long as the graph is large. `solver.syntax.parser` reads definitions back; `solver.syntax.printer` decides when
they are used.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Final

from solver.syntax.precedence import AND, Text
from solver.terms.atoms import operands
from solver.terms.expr import Atom, Expr
from solver.terms.interner import Interner
from solver.terms.prop import Prop

LONG: Final = 4
"""Terms from which a sum may be written as a difference to another one."""
NEAR: Final = 32
"""Preceding sums compared for that, the last ones first."""
ALIKE: Final = 2
"""A sum that differs in no more terms is taken at once."""
NAMED: Final = 8
"""A shared part gets a name when it has more symbols and operations than this."""
MOST: Final = 1 << 40
"""Sizes are counted up to this."""

Node = Atom | Expr | Prop
"""An expression counts as a node where it is more than one atom."""
Write = Callable[[Expr | Prop, Mapping[Prop, Text]], str]
"""Writes a value out, some comparisons in it as texts that are given."""


class Shared:
    """A value as a graph of atoms, sums and propositions, each with how often it is referred to and how large it is."""

    def __init__(self, value: Expr | Prop) -> None:
        self.value = value
        self.order: list[Node] = []
        self.references: dict[Node, int] = {}
        self.sides: dict[Prop, Prop] = {}
        self._walk()
        self.size = self._size()

    # ------------------------------------------------------------------ the graph

    def side(self, p: Prop) -> Prop:
        """The proposition or its complement, whichever was met first: they share one name."""
        found = self.sides.get(p)
        if found is None:
            found = self.sides[p] = self.sides[p.negation] = p
        return found

    def node(self, value: Expr | Prop) -> Node | None:
        """The node of an expression or proposition; None for a number."""
        if isinstance(value, Prop):
            return self.side(value)
        if not value.terms:
            return None
        terms = value.terms
        if len(terms) == 1 and terms[0][1] == 1 and not value.constant:
            atoms = value.interner.monomials[terms[0][0]]
            if len(atoms) == 1:
                return atoms[0]
        return value

    def below(self, node: Node) -> list[Node]:
        """The operands of a node, with repetitions."""
        if isinstance(node, Expr):
            return list(_atoms_of(node))
        inner = [self.node(part) for part in (operands(node) if isinstance(node, Atom) else node.parts or (node.expr,))]
        return [part for part in inner if part is not None]

    def _walk(self) -> None:
        """All nodes in topological order, operands first."""
        root = self.node(self.value)
        done: set[Node] = set()
        stack: list[tuple[Node, bool]] = [] if root is None else [(root, False)]
        while stack:
            node, ready = stack.pop()
            if ready:
                self.order.append(node)
            elif node not in done:
                done.add(node)
                stack.append((node, True))
                below = self.below(node)
                for inner in below:
                    self.references[inner] = self.references.get(inner, 0) + 1
                stack.extend([(inner, False) for inner in reversed(below) if inner not in done])

    def _size(self) -> int:
        """Number of symbols and operations of the text without sharing."""
        sizes: dict[Node, int] = {}
        for node in self.order:
            sizes[node] = min(1 + sum([sizes[inner] for inner in self.below(node)]), MOST)
        return sizes[self.order[-1]] if self.order else 1

    # ------------------------------------------------------------------ the text

    def parts(self, prefix: str, write: Write) -> tuple[str, list[tuple[str, str]]]:
        """The text, and the names in it with their definitions, in the order in which they are made."""
        return Naming(self, prefix).parts(write)


def joined(main: str, definitions: list[tuple[str, str]]) -> str:
    """A text with its definitions."""
    if not definitions:
        return main
    return f"{main} where {', '.join([f'{name} = {text}' for name, text in definitions])}"


class Naming:
    """A graph copied into an interner of its own, with symbols in the place of named parts."""

    def __init__(self, shared: Shared, prefix: str) -> None:
        self.shared = shared
        self.terms = Interner()
        self.values: dict[Atom, Expr] = {}
        self.sums: dict[Expr, Expr] = {}
        self.bases = bases_of([node for node in shared.order if isinstance(node, Expr)])
        self.based = set(self.bases.values())
        self.props: dict[Prop, Prop] = {}
        self.truths: dict[Prop, Text] = {}
        self.definitions: list[tuple[str, Expr | Prop]] = []
        symbols = sorted([n for n in shared.order if isinstance(n, Atom) and n.kind == "symbol"], key=_serial)
        self.taken = {symbol.name for symbol in symbols}
        self.prefix = prefix
        for symbol in symbols:
            self.values[symbol] = self.terms.symbol(symbol.name)

    def parts(self, write: Write) -> tuple[str, list[tuple[str, str]]]:
        shared = self.shared
        sizes: dict[Node, int] = {}
        for node in shared.order:
            base = self.bases.get(node) if isinstance(node, Expr) else None
            below = shared.below(node) if base is None or not isinstance(node, Expr) else _atoms_of(node - base)
            size = 1 + sum([sizes[inner] for inner in below])
            named = shared.references.get(node, 0) > 1 and size > NAMED or node in self.based
            sizes[node] = 1 if named else size
            if isinstance(node, Prop):
                self._add_prop(node, named)
            elif isinstance(node, Expr):
                self._add_sum(node, named)
            elif node.kind != "symbol":
                self._add_atom(node, named)
        value = shared.value
        main = write(self.image(value), self.truths)
        return main, [(name, write(image, self.truths)) for name, image in self.definitions]

    def _add_atom(self, atom: Atom, named: bool) -> None:
        args = tuple([self.image(arg) for arg in operands(atom)])
        image = self.terms.rebuild(atom.kind, atom.name, args)
        self.values[atom] = self.terms.symbol(self._define(image)) if named else image

    def _add_sum(self, e: Expr, named: bool) -> None:
        image = self._copied_sum(e)
        if named:
            image = self.terms.symbol(self._define(image))
        self.sums[e] = image

    def _add_prop(self, p: Prop, named: bool) -> None:
        image = self._copied(p)
        if named and image.kind not in ("true", "false"):
            name = self._define(image)
            image = self.terms.ge(self.terms.symbol(name), 1)
            self.truths[image] = Text(name)
            self.truths[image.negation] = Text(f"not {name}", AND)
        self.props[p] = image

    def _define(self, image: Expr | Prop) -> str:
        number = len(self.definitions)
        while f"{self.prefix}{number}" in self.taken:
            self.prefix += "_"
        name = f"{self.prefix}{number}"
        self.definitions.append((name, image))
        return name

    def image(self, value: Expr | Prop) -> Expr | Prop:
        """The copy of an expression or proposition whose parts are copied."""
        if isinstance(value, Expr):
            node = self.shared.node(value)
            if isinstance(node, Atom):
                return self.values[node]
            return self.sums[value] if value.terms else self.terms.constant(value.constant)
        side = self.shared.side(value)
        return self.props[side] if side is value else self.props[side].negation

    def _copied_sum(self, e: Expr) -> Expr:
        """A sum of copies: what it adds to another one that has a name, or all terms."""
        terms, monomials = self.terms, e.interner.monomials
        base = self.bases.get(e)
        parts = []
        if base is not None:
            parts.append(self.sums[base])
            e = e - base
        parts.append(terms.constant(e.constant))
        for m, c in e.terms:
            product = terms.constant(c)
            for atom in monomials[m]:
                product = terms.multiply(product, self.values[atom])
            parts.append(product)
        return terms.sum(parts)

    def _copied(self, p: Prop) -> Prop:
        terms = self.terms
        if p.parts:
            parts = [part for part in [self.image(part) for part in p.parts] if isinstance(part, Prop)]
            return Prop.join(terms, p.kind, parts)
        if p.kind in ("true", "false"):
            return terms.true if p.kind == "true" else terms.false
        e = self.image(p.expr)
        assert isinstance(e, Expr)
        if p.kind == "ge":
            return Prop.nonnegative(e)
        return Prop.zero(e) if p.kind == "eq" else Prop.zero(e).negation


def _atoms_of(e: Expr) -> list[Atom]:
    monomials = e.interner.monomials
    return [atom for m, _ in e.terms for atom in monomials[m]]


def bases_of(sums: list[Expr]) -> dict[Expr, Expr]:
    """For each sum close to an earlier one, that earlier sum: programs that accumulate are printed so."""
    found: dict[Expr, Expr] = {}
    recent: deque[tuple[Expr, dict[int, int]]] = deque(maxlen=NEAR)
    for e in sums:
        if len(e.terms) < LONG:
            continue
        terms = dict(e.terms)
        best = len(terms) // 2
        for other, known in recent:
            if abs(len(known) - len(terms)) >= best:
                continue
            apart = sum([terms.get(m) != c for m, c in known.items()]) + sum([m not in known for m in terms])
            if apart < best:
                best, found[e] = apart, other
                if best <= ALIKE:
                    break
        recent.appendleft((e, terms))
    return found


_serial: Callable[[Atom], int] = lambda atom: atom.serial  # noqa: E731
