"""From propositions and expressions to text: the exact inverse of `solver.syntax.parser`, with few operators.

    >>> from solver.syntax.printer import text_of
    >>> from solver.terms.interner import Interner
    >>> terms = Interner()
    >>> b, s = terms.symbol("b"), terms.symbol("s")
    >>> print(text_of(terms.eq((b * s) % 16, 0)))
    b*s % 16 == 0
    >>> print(text_of(terms.maximum(b, s) - (s + 3) // 4))
    max(b, s) - ceildiv(s, 4)
    >>> print(text_of(terms.lt(b + s, 2 * s)))
    b < s

The normal form has no `%`, `min`, `max`, `abs`: `solver.syntax.resugar` finds them again, `solver.syntax.factored`
writes the sums. The text depends on structure and names alone, never on the age of an object; two symbols with one name
print alike.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from solver.errors import NotExpressible, ParseError
from solver.syntax import float_printer, resugar
from solver.syntax.factored import Pieces
from solver.syntax.parser import parse, parse_expr
from solver.syntax.precedence import AND, BIT_OR, COMPARISON, OR, POWER, SHIFT, WHOLE, Comparison, Text
from solver.syntax.sharing import Shared, joined
from solver.syntax.writer import Writer
from solver.terms.atoms import operands
from solver.terms.depth import SHALLOW, room_for
from solver.terms.expr import Atom, Expr, TermTable
from solver.terms.factors import Sum
from solver.terms.functions import function
from solver.terms.prop import SHARING, Prop

TRIALS: Final = 8
"""Candidates written out for one text; beyond, the choice is by estimate alone."""
WORK: Final = 100_000
"""Terms handled in search of the best candidates; beyond, only the plainest are tried."""
OPERATION: Final = re.compile(r"\w+\(|//|\*\*|[-+*/%]")
"""An operator or call in the text of a program over floats."""
LONGEST: Final = 5_000_000
"""Limit of a text, in characters."""
FEW: Final = 400
"""Symbols and operations that are written out, even if some are shared."""
MANY: Final = 20_000
"""Symbols and operations beyond which a value is not written out."""
SHORT: Final = 1_000
"""Characters of a text in which nothing gets a name."""


def text_of(value: Expr | Prop) -> str:
    """The text that the parser reads as this expression or proposition.

    A long one has names for what is shared in it: `t0 + 2*t1 where t0 = ..., t1 = ...` (see `solver.syntax.sharing`).
    """
    if len(value.schedule) <= 3 and (isinstance(value, Expr) or value.written <= SHARING):
        return written_out(value)
    main, definitions = _with_names(value, "t")
    return joined(main, definitions)


def text_of_both(domain: Prop, prop: Prop) -> str:
    """The text of a proposition behind its domain, `(domain) and (prop)`."""
    first, names_of_first = _with_names(domain, "d")
    second, names_of_second = _with_names(prop, "t")
    return joined(f"({first}) and ({second})", names_of_first + names_of_second)


def print_any(value: object) -> str:
    """The text of an expression or proposition, for `solver.terms.printing`."""
    assert isinstance(value, (Expr, Prop))
    return text_of(value)


def text_with_names(value: Expr | Prop) -> str:
    """The text with names for all that is shared, however short it would be without."""
    return joined(*Shared(value).parts("t", written_with))


def written_with(value: Expr | Prop, truths: Mapping[Prop, Text]) -> str:
    """The text without names, some comparisons as texts that are given."""
    return Printer(value.interner, truths=truths).write(value).text


def written_out(value: Expr | Prop) -> str:
    """The text without names: Python's own syntax.

    Raises:
        NotExpressible: the text would be longer than `LONGEST` characters (shared parts are written out each time).
    """
    return Printer(value.interner).write(value).text


def _with_names(value: Expr | Prop, prefix: str) -> tuple[str, list[tuple[str, str]]]:
    shared = Shared(value)
    if shared.size <= FEW:
        return written_out(value), []
    plain = None
    if shared.size <= MANY:
        with suppress(NotExpressible):
            plain = Printer(value.interner, longest=10 * SHORT).write(value).text
        if plain is not None and len(plain) <= SHORT:
            return plain, []
    main, definitions = shared.parts(prefix, written_with)
    if not definitions:
        return plain or main, []
    if plain is not None:
        text = joined(main, definitions)
        if len(plain) <= len(text) or not reads_as(text, value):
            return plain, []
    return main, definitions


def reads_as(text: str, value: Expr | Prop) -> bool:
    """Return True if a text is read as this very normal form. (A sum under a name may be turned another way than
    written out; its values are the same.)"""
    names = {symbol.name: symbol.expr for symbol in value.symbols}
    try:
        if isinstance(value, Expr):
            return parse_expr(text, names, value.interner).expr is value
        return parse(text, names, value.interner).prop is value
    except ParseError:
        return False


def operators(value: Expr | Prop) -> int:
    """The number of operators in the text; a call of n arguments counts n - 1, and at least one.

    Raises:
        NotExpressible: the text would be too long.
    """
    return Printer(value.interner).operators(value)


class Printer(Writer):
    """The writer of one text, with the parts written so far.

    Atoms are written when they are needed: nested, a plain text may be exponentially longer than one with `max`
    recovered. `weights` count how many operators that plain text would have, without writing it.
    """

    def __init__(self, interner: TermTable, *, longest: int = LONGEST, truths: Mapping[Prop, Text] = {}) -> None:
        self.interner = interner
        self.longest = longest
        self.pieces = Pieces(self._written)
        self.atoms: dict[int, Atom] = {}
        self.weights: dict[int, int] = {}
        self.trials = TRIALS
        self.work = WORK
        self._values: dict[int, Expr] = {}
        self._of_atom: dict[Atom, int] = {}
        self._of_operation: dict[tuple[str, tuple[Expr | Prop, ...]], int] = {}
        self._expressions: dict[Expr, Text] = {}
        self._truths = truths
        """Comparisons that stand for propositions with names, and their texts."""
        self._propositions: dict[Prop, Text] = dict(truths)
        self._characters = 0

    def operators(self, value: Expr | Prop, *, work: int = WORK) -> int:
        """The number of operators in the text; texts are kept for the next value.

        `self.work` has the rest of the budget.
        """
        self.trials, self.work, self._characters = TRIALS, work, 0
        return self.write(value).cost

    def estimated(self, e: Expr) -> tuple[int, int]:
        """The operators that the text has at least, and those of the plain text, found without writing either.

        Each operation is one operator or more, and joins leaves: symbols, and the constants that divide. And recovering
        one halves the operators around it at most, roughly: `(a + b) % 4` is `a + b - 4*((a + b)//4)`.
        """
        leaves, operations = 0, 0
        for atom in e.atoms:
            if atom.kind == "symbol":
                leaves += 1
            elif atom.kind not in ("function", "power"):  # a quotient by a power is one shift
                operations += 1
                leaves += atom.kind == "floordiv" and isinstance(atom.args[1], Expr) and not atom.args[1].terms
        plainly = resugar.estimate(self.weights, self.plain(e), False)
        least = max(operations, leaves - 1)
        return max(least, plainly // (2 * operations + 2)), plainly

    def write(self, value: Expr | Prop) -> Text:
        """The text."""
        depth = value.depth
        if depth > SHALLOW:
            with room_for(depth):
                return self._by_kind(value)
        return self._by_kind(value)

    def _by_kind(self, value: Expr | Prop) -> Text:
        return self.expression(value) if isinstance(value, Expr) else self.proposition(value)

    # ------------------------------------------------------------------ expressions

    def expression(self, e: Expr) -> Text:
        found = self._expressions.get(e)
        if found is None:
            plain = self.plain(e)
            poly = resugar.resugared(self, plain, relation=False) if self._composite(plain) else plain
            found = self.pieces.write(poly)
            if poly is not plain and resugar.estimate(self.weights, plain, False) < 4 * found.cost + 8:
                found = min(found, self.pieces.write(plain), key=_rank)
            if found.wide:
                found = self.pieces.flat(plain)
            self._expressions[e] = self._kept(found)
        return found

    def _composite(self, poly: Sum) -> bool:
        return any(self.atoms[piece].kind != "symbol" for key in poly for piece in key)

    def _kept(self, text: Text) -> Text:
        self._characters += len(text.text)
        if len(text.text) > self.longest or self._characters > 50 * self.longest:
            raise NotExpressible(f"the text of this expression would have more than {self.longest} characters")
        return text

    def plain(self, e: Expr) -> Sum:
        """The terms, unchanged, each atom a piece.

        Structure numbers the pieces, not which expressions came first.
        """
        monomials, keys = e.interner.monomials, e.interner.monomial_keys
        poly: Sum = {}
        for m, c in sorted(e.terms, key=lambda term: keys[term[0]]):
            atoms = sorted(monomials[m], key=lambda atom: atom.key)
            poly[tuple(sorted([self.piece(atom) for atom in atoms]))] = c
        if e.constant:
            poly[()] = e.constant
        return poly

    def value(self, poly: Sum) -> Expr:
        """The expression that a sum over pieces stands for."""
        interner = self.interner
        parts = []
        for key, c in poly.items():
            part = interner.constant(c)
            for piece in key:
                part = part * self._values[piece]
            parts.append(part)
        return interner.sum(parts)

    # ------------------------------------------------------------------ pieces

    def piece(self, atom: Atom) -> int:
        """The number of the piece that is this atom alone."""
        found = self._of_atom.get(atom)
        if found is None:
            for inner in atom.expr.schedule:
                if inner not in self._of_atom and inner is not atom:
                    self._add(inner)
            found = self._add(atom)
        return found

    def _add(self, atom: Atom) -> int:
        made = self.pieces.add()
        self._of_atom[atom] = made
        self.atoms[made] = atom
        self._values[made] = atom.expr
        self.weights[made] = resugar.weight(self, atom)
        return made

    def resugared(self, operation: str, arguments: tuple[Expr | Prop, ...]) -> int:
        """The number of the piece that is an operation of the source language."""
        found = self._of_operation.get((operation, arguments))
        if found is None:
            text = self._kept(self.operation(operation, arguments))
            found = self._of_operation[operation, arguments] = self.pieces.add(text)
            self._values[found] = resugar.value_of(operation, arguments)
            self.weights[found] = text.cost
        return found

    def _written(self, piece: int) -> Text:
        """The text of an atom alone."""
        atom = self.atoms[piece]
        match atom.kind, atom.args:
            case "symbol", _:
                return Text(atom.name)
            case "power", (Expr() as base, Expr() as power):
                e, b = self.expression(power), self.expression(base)
                if base.constant == 2 and not base.terms:
                    self.pieces.exponents[piece] = e
                return self._kept(Text(f"{b.within(WHOLE)}**{e.within(WHOLE)}", POWER, b.cost + e.cost + 1))
            case "product", (Expr() as a, Expr() as b):
                x, y = self.expression(a), self.expression(b)
                # it binds loosely: in parentheses, nothing beside it is multiplied into one factor first
                return self._kept(Text(f"{x.within(POWER)}*{y.within(POWER)}", SHIFT, x.cost + y.cost + 1))
            case "function", _:
                return self._kept(self._call(atom))
            case _:
                return self._kept(self.operation(atom.kind, operands(atom)))

    def _call(self, atom: Atom) -> Text:
        if "from_ordinal({" in atom.name:
            shown, known = float_printer.shown_arguments(atom), function(float_printer.template_of(atom))
        else:
            shown, known = [arg for arg in atom.args if isinstance(arg, Expr)], atom.operation
        arguments = [self.expression(arg) for arg in shown]
        texts = [argument.text for argument in arguments]
        own = max(1, len(arguments) - 1) if known.template is None else len(OPERATION.findall(known.template))
        cost = own + sum([argument.cost for argument in arguments])
        return Text(known.text(texts), WHOLE, cost)

    # ------------------------------------------------------------------ propositions

    def proposition(self, p: Prop) -> Text:
        """The text of a proposition, parts first, without recursion over `and` and `or`."""
        stack = [p]
        while stack:
            node = stack[-1]
            if node in self._propositions:
                stack.pop()
                continue
            missing = [part for part in node.parts if part.parts and part not in self._propositions]
            if missing:
                stack.extend(missing)
                continue
            stack.pop()
            text = self._joined(node) if node.parts else self._simple(node)
            self._kept(text)
            self._propositions[node] = text
        return self._propositions[p]

    def _simple(self, p: Prop) -> Text:
        if p.kind in ("true", "false"):
            return Text(p.kind.capitalize())
        if _has_ordinals(p):
            found = float_printer.comparison(self, p)
            if found is not None:
                return found
        made = self.comparison(p)
        return Text(made.text, COMPARISON, made.cost)

    def comparison(self, p: Prop) -> Comparison:
        plain = self.plain(p.expr)
        poly = resugar.resugared(self, plain, relation=True) if self._composite(plain) else plain
        best = self.pieces.compare(p.kind, poly)
        if poly is not plain and resugar.estimate(self.weights, plain, True) < 4 * best.cost + 8:
            other = self.pieces.compare(p.kind, plain)
            if other.rank < best.rank:
                best = other
        if best.left.wide or best.right.wide:
            best = Comparison(self.pieces.flat(plain), {"ge": ">=", "eq": "==", "ne": "!="}[p.kind], Text("0"))
        return best

    def _joined(self, p: Prop) -> Text:
        level = AND if p.kind == "and" else OR
        words: list[str] = []
        cost = len(p.parts) - 1
        last: Comparison | None = None
        fixed = False
        of_floats: dict[Prop, Text | None] = {}
        if any(_has_ordinals(part) for part in p.parts):
            whole = float_printer.comparison(self, p)
            if whole is not None:
                return whole
            if p.kind == "and":
                of_floats = float_printer.grouped(self, p.parts)
            else:
                of_floats = {part: self._simple(part) for part in p.parts if not part.parts and _has_ordinals(part)}
        for part in p.parts:
            if part.parts or part in self._truths or part in of_floats:
                last = None
                text = self._propositions[part] if part.parts or part in self._truths else of_floats[part]
                if text is not None:
                    words.append(text.within(level + 1))
                cost += -1 if text is None else text.cost
                continue
            made = self.comparison(part)
            cost += made.cost
            link = _link(last, made, fixed) if p.kind == "and" and last is not None else None
            if link is None:
                words.append(made.text)
                last, fixed = made, False
            else:
                first, last = link
                if not fixed:
                    words[-1] = first.text
                words[-1] += f" {last.operator} {last.right.within(BIT_OR)}"
                fixed = True
                cost -= 1
        return Text(f" {p.kind} ".join(words), level, cost)


def _link(first: Comparison, second: Comparison, fixed: bool) -> tuple[Comparison, Comparison] | None:
    """The two comparisons turned so that they make a chain: `a <= x` and `x < b` for `a <= x < b`.

    The first cannot be turned if it is fixed.
    """
    for one in (first,) if fixed else (first, first.swapped()):
        for two in (second, second.swapped()):
            shared = one.right.text
            if shared == two.left.text and one.operator[0] == two.operator[0] != "!" and shared.strip("-0123456789"):
                return one, two
    return None


def _has_ordinals(p: Prop) -> bool:
    """Return True if the proposition is about the order of floats."""
    return not p.parts and any(atom.kind == "function" and atom.name.startswith("ordinal(") for atom in p.schedule)


def _rank(text: Text) -> tuple[int, int, int, str]:
    return text.rank
