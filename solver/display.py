"""From propositions and expressions to text: the exact inverse of `solver.text`, with few operators.

    >>> from solver.display import text_of
    >>> from solver.expr import Interner
    >>> terms = Interner()
    >>> b, s = terms.symbol("b"), terms.symbol("s")
    >>> print(text_of(terms.eq((b * s) % 16, 0)))
    b*s % 16 == 0
    >>> print(text_of(terms.maximum(b, s) - (s + 3) // 4))
    max(b, s) - ceildiv(s, 4)
    >>> print(text_of(terms.lt(b + s, 2 * s)))
    b < s

The normal form has no `%`, `min`, `max`, `abs`: `solver.recover` finds them again, `solver.factored` writes the sums. The text depends on structure and
names alone, never on the age of an object; two symbols with one name print alike.
"""

from __future__ import annotations

import sys
from typing import Final

from solver import recover
from solver.errors import NotExpressible
from solver.expr import Atom, Expr
from solver.factored import AND, BIT_AND, BIT_OR, BIT_XOR, CHOICE, COMPARISON, DIVISION, OR, POWER, PRODUCT, SHIFT, SUM, WHOLE
from solver.factored import Comparison, Pieces, Text
from solver.factors import Key, Sum, multiply
from solver.functions import function
from solver.prop import Prop

LONGEST: Final = 20_000_000
"""No text has more characters."""


def text_of(value: Expr | Prop) -> str:
    """The text that the parser reads as this expression or proposition.

    Raises:
        NotExpressible: the text would be longer than `LONGEST` characters (shared parts are written out each time).
    """
    depth = value.depth
    if depth < 20:
        return _write(value)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(limit + 60 * depth)
    try:
        return _write(value)
    finally:
        sys.setrecursionlimit(limit)


def _write(value: Expr | Prop) -> str:
    printer = Printer()
    return printer.expression(value).text if isinstance(value, Expr) else printer.proposition(value).text


class Printer:
    """What has been written so far for one text."""

    def __init__(self) -> None:
        self.pieces = Pieces()
        self.weights: dict[Atom, int] = {}
        self._expressions: dict[Expr, Text] = {}
        self._propositions: dict[Prop, Text] = {}
        self._atoms: dict[Atom, int] = {}
        self._characters = 0

    # ------------------------------------------------------------------ expressions

    def expression(self, e: Expr) -> Text:
        found = self._expressions.get(e)
        if found is None:
            found = self.pieces.write(self.poly(e, relation=False))
            if any(len(m) > 1 or m[0].kind != "symbol" for m in self.direct(e)):
                plain = self.pieces.write(self.plain(e))
                if plain.rank < found.rank:
                    found = plain
                if found.wide:
                    found = self.pieces.flat(self.plain(e))
            self._keep(found)
            self._expressions[e] = found
        return found

    def direct(self, e: Expr) -> list[tuple[Atom, ...]]:
        monomials = e.interner.monomials
        return [monomials[m] for m, _ in e.terms]

    def _keep(self, text: Text) -> None:
        self._characters += len(text.text)
        if len(text.text) > LONGEST or self._characters > 50 * LONGEST:
            raise NotExpressible(f"the text of this expression would have more than {LONGEST} characters")

    def plain(self, e: Expr) -> Sum:
        """The terms as they are, each atom a piece."""
        poly: Sum = {}
        for (_, c), atoms in zip(e.terms, self.direct(e), strict=True):
            poly[tuple(sorted([self.piece(atom) for atom in atoms]))] = c
        if e.constant:
            poly[()] = e.constant
        return poly

    def poly(self, e: Expr, *, relation: bool) -> Sum:
        """The terms with `%`, `min`, `max`, `abs` and the like recovered, as a sum over pieces."""
        rest, recovered = recover.recover(self, e, relation)
        total = self.plain(rest)
        for factor, piece in recovered:
            inner = self.poly(factor, relation=False) if factor.terms else {(): factor.constant}
            for key, c in multiply(inner, {(piece,): 1}).items():
                both = total.get(key, 0) + c
                if both:
                    total[key] = both
                else:
                    del total[key]
        return total

    # ------------------------------------------------------------------ atoms

    def piece(self, atom: Atom) -> int:
        """The number of the piece that is this atom alone."""
        found = self._atoms.get(atom)
        if found is None:
            exponent = None
            match atom.kind, atom.args:
                case "symbol", _:
                    text = Text(atom.name)
                case "power", (Expr() as base, Expr() as power):
                    e = self.expression(power)
                    b = self.expression(base)
                    text = Text(f"{b.within(WHOLE)}**{e.within(WHOLE)}", POWER, b.cost + e.cost + 1)
                    if base.constant == 2 and not base.terms:
                        exponent = e
                case "product", (Expr() as a, Expr() as b):
                    x, y = self.expression(a), self.expression(b)
                    # in parentheses, so that nothing beside it is multiplied into one of its two factors first
                    text = Text(f"{x.within(POWER)}*{y.within(POWER)}", SHIFT, x.cost + y.cost + 1)
                case _:
                    text = self._operation(atom)
            self._keep(text)
            found = self._atoms[atom] = self.pieces.add(text, exponent=exponent)
        return found

    def _operation(self, atom: Atom) -> Text:
        match atom.kind, atom.args:
            case "floordiv", (Expr() as n, Expr() as d):
                return self.quotient(n, d)
            case "relu", (Expr() as e,):
                return self.extreme("max", e, e.interner.zero)
            case "ite", (Prop() as p, Expr() as e):
                return self.choice(p, e, e.interner.zero)
            case "bitand", (Expr() as a, Expr() as b):
                return self.bits("&", a, b)
            case _:
                return self._call(atom)

    def _call(self, atom: Atom) -> Text:
        arguments = [self.expression(arg) for arg in atom.args if isinstance(arg, Expr)]
        known = function(atom.name)
        texts = [argument.text if known.template is None else argument.within(WHOLE) for argument in arguments]
        return Text(known.text(texts), WHOLE if known.template is None else CHOICE, 1 + sum([argument.cost for argument in arguments]))

    # ------------------------------------------------------------------ operations

    def quotient(self, n: Expr, d: Expr) -> Text:
        """`n // d`, or `ceildiv` where that is shorter."""
        exponent = recover.exponent_of_two(d)
        if exponent is not None:
            left, right = self.expression(n), self.expression(exponent)
            return Text(f"{left.within(SUM)} >> {right.within(SUM)}", SHIFT, left.cost + right.cost + 1)
        best = self.division("//", n, d)
        upper = recover.ceiling_numerator(n, d)
        if upper is not None:
            left, right = self.expression(upper), self.expression(d)
            other = Text(f"ceildiv({left.text}, {right.text})", WHOLE, left.cost + right.cost + 1)
            if other.cost < best.cost or (other.cost == best.cost and len(n.terms) == 1):
                best = other
        return best

    def division(self, operator: str, n: Expr, d: Expr) -> Text:
        left, right = self.expression(n), self.expression(d)
        gap = " % " if operator == "%" else operator
        terms = 1
        if operator == "%":
            terms = max(1, len(n.terms) + max(1, len(d.terms)))
        return Text(f"{left.within(PRODUCT)}{gap}{right.within(POWER)}", DIVISION, left.cost + right.cost + 1, terms)

    def ceiling(self, n: Expr, d: Expr) -> Text:
        left, right = self.expression(n), self.expression(d)
        return Text(f"ceildiv({left.text}, {right.text})", WHOLE, left.cost + right.cost + 1)

    def extreme(self, name: str, a: Expr, b: Expr) -> Text:
        """`max(a, b)` or `min(a, b)`; one nested in the first place shares the call."""
        x, y = self.expression(a), self.expression(b)
        inner = [argument for argument in (x, y) if argument.arguments and argument.text.startswith(name)]
        others = [argument for argument in (x, y) if not inner or argument is not inner[0]]
        if not a.terms or (b.terms and not inner and _first_in_call(y) < _first_in_call(x)):
            others.reverse()
        arguments = (*(inner[0].arguments if inner else ()), *[argument.text for argument in others])
        cost = x.cost + y.cost + (0 if inner else 1)
        return Text(f"{name}({', '.join(arguments)})", WHOLE, cost, 1 + len(a.terms) + len(b.terms), arguments)

    def magnitude(self, e: Expr) -> Text:
        inner, opposite = self.expression(e), self.expression(-e)
        if opposite.rank < inner.rank:
            inner = opposite
        return Text(f"abs({inner.text})", WHOLE, inner.cost + 1, 1 + len(e.terms))

    def choice(self, p: Prop, a: Expr, b: Expr) -> Text:
        """`a if p else b`, with the complement where that is shorter."""
        x, y = self.expression(a), self.expression(b)
        condition, opposite = self.proposition(p), self.proposition(p.negation)
        if (opposite.cost, len(opposite.text)) < (condition.cost, len(condition.text)):
            x, condition, y = y, opposite, x
        cost = x.cost + y.cost + condition.cost + 1
        text = f"{x.within(OR)} if {condition.within(OR)} else {y.text}"
        return Text(text, CHOICE, cost, 1 + len(a.terms) + len(b.terms))

    def bits(self, operator: str, a: Expr, b: Expr) -> Text:
        level = {"&": BIT_AND, "^": BIT_XOR, "|": BIT_OR}[operator]
        first, second = sorted((self.expression(a), self.expression(b)), key=_first_in_call)
        text = f"{first.within(SHIFT)} {operator} {second.within(SHIFT)}"
        return Text(text, level, first.cost + second.cost + 1, 1 + (len(a.terms) + len(b.terms) if operator != "&" else 0))

    # ------------------------------------------------------------------ propositions

    def proposition(self, p: Prop) -> Text:
        """Parts first, without recursion over `and` and `or`."""
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
            self._keep(text)
            self._propositions[node] = text
        return self._propositions[p]

    def _simple(self, p: Prop) -> Text:
        if p.kind in ("true", "false"):
            return Text(p.kind.capitalize())
        made = self.comparison(p)
        return Text(made.text, COMPARISON, made.cost)

    def comparison(self, p: Prop) -> Comparison:
        best = self.pieces.compare(p.kind, self.poly(p.expr, relation=True))
        if any(len(m) > 1 or m[0].kind != "symbol" for m in self.direct(p.expr)):
            plain = self.pieces.compare(p.kind, self.plain(p.expr))
            if plain.rank < best.rank:
                best = plain
        if best.left.wide or best.right.wide:
            best = Comparison(self.pieces.flat(self.plain(p.expr)), {"ge": ">=", "eq": "==", "ne": "!="}[p.kind], Text("0"))
        return best

    def _joined(self, p: Prop) -> Text:
        level = AND if p.kind == "and" else OR
        words: list[str] = []
        cost = len(p.parts) - 1
        last: Comparison | None = None
        fixed = False
        for part in p.parts:
            if part.parts:
                last = None
                text = self._propositions[part]
                words.append(text.within(level + 1))
                cost += text.cost
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
    """The two comparisons turned so that they make a chain, `a <= x` and `x < b` for `a <= x < b`; the first cannot be turned if it is fixed."""
    for one in (first,) if fixed else (first, first.swapped()):
        for two in (second, second.swapped()):
            shared = one.right.text
            if shared == two.left.text and one.operator[0] == two.operator[0] != "!" and shared.strip("-0123456789"):
                return one, two
    return None


def _first_in_call(text: Text) -> tuple[bool, int, str]:
    """Names and sums before numbers, short before long."""
    return (text.text.isdigit() or text.text[0] == "-", len(text.text), text.text)
