"""A fast reader of common comparisons: integer sums of products, quotients and remainders, with brackets and clamps.

    >>> from solver.terms.interner import Interner
    >>> from solver.syntax.shunting_yard import read_side
    >>> terms = Interner()
    >>> names = {"b": terms.symbol("b"), "s": terms.symbol("s")}
    >>> read_side("max(b, 1) * (s - 1) // b", names, terms)
    (<max(b, 1)*(s - 1)//b>, (<b != 0>,))
    >>> read_side("b / 2", names, terms) is None
    True

`solver.syntax.parser` reads everything; what is read here is nearly all that programs ask. An operator-precedence
parser with a stack of its own (Dijkstra's shunting yard) needs no recursion, so this may be compiled: however deep a
text is nested, the stack of the process is not. Whatever is no such text, an error included, is left to
`solver.syntax.parser`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from solver.errors import NotExpressible
from solver.terms.depth import SHALLOW
from solver.terms.expr import Expr, TermTable
from solver.terms.operations import OPERATIONS
from solver.terms.prop import Prop

TOKEN: Final = re.compile(
    r"\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|[^\W\d]\w*|\*\*|//|<<|>>|=>|[<>=!]=|\S"
)
COMPARISONS: Final = (" == ", " >= ", " <= ", " != ", " < ", " > ")
"""Comparison operators, most frequent first."""
CLAMPS: Final = frozenset(("min", "max"))
LONGEST: Final = 1 << 14
"""Characters of a text that is read here."""
LONGEST_INTEGER: Final = 4000
"""Digits of an integer."""
LARGEST_EXPONENT: Final = 64
LONGEST_BASE: Final = 1 << 14
"""Bits of the constant term of a base."""

Side = tuple[Expr, tuple[Prop, ...]]
"""One side of a comparison and its obligations."""


class Level:
    """The parser's state inside one pair of brackets: a sum, and the product that is not yet part of it."""

    __slots__ = (
        "before", "call", "coefficient", "coefficients", "constant", "expr", "monomial", "negated", "op", "sign",
    )  # fmt: skip

    def __init__(self, call: str) -> None:
        self.call = call  # the function of the brackets, if they are of a call
        self.before: Expr | None = None  # its arguments so far, as one
        self.negated = False  # whether there is a sign before the factor that comes next
        self.coefficients: dict[int, int] = {}
        self.constant = 0
        self.start(1)

    def start(self, sign: int) -> None:
        """Begin the next product of the sum."""
        self.sign = sign
        self.op = "*"
        self.coefficient = sign
        self.monomial = 0  # where there is none
        self.expr: Expr | None = None

    def take(self, value: Expr, interner: TermTable, obligations: list[Prop]) -> None:
        """Take a factor of the product, or a divisor."""
        if self.op == "*":
            terms = value.terms
            if not terms:
                self.coefficient *= value.constant
            elif len(terms) == 1 and not value.constant:
                m, c = terms[0]
                self.monomial = interner.multiply_monomials(self.monomial, m) if self.monomial else m
                self.coefficient *= c
            else:
                self.expr = value if self.expr is None else interner.multiply(self.expr, value)
            return
        if value.terms or not value.constant:
            obligations.append(Prop.ne(value, 0))
        left = self.product(interner)
        self.coefficient = self.sign
        self.monomial = 0
        self.expr = interner.floordiv(left, value) if self.op == "//" else interner.mod(left, value)

    def product(self, interner: TermTable) -> Expr:
        """The product without its sign."""
        value = interner.expr(((self.monomial, 1),), 0) if self.monomial else interner.one
        if self.expr is not None:
            value = interner.multiply(value, self.expr)
        return interner.scale(value, self.coefficient * self.sign)

    def add(self, interner: TermTable) -> None:
        """Add the product to the sum."""
        e, m, c = self.expr, self.monomial, self.coefficient
        if e is None:
            if m:
                self.coefficients[m] = self.coefficients.get(m, 0) + c
            else:
                self.constant += c
            return
        if m:
            e = interner.multiply(interner.expr(((m, 1),), 0), e)
        self.constant += c * e.constant
        for n, k in e.terms:
            self.coefficients[n] = self.coefficients.get(n, 0) + c * k

    def finish(self, interner: TermTable) -> Expr:
        """The value of the sum; for a clamp, with the arguments before."""
        self.add(interner)
        value = interner.collect(self.coefficients, self.constant)
        before = self.before
        if before is None:
            return value
        return interner.apply(OPERATIONS[self.call], before, value)


def read_side(text: str, names: Mapping[str, Expr], interner: TermTable) -> Side | None:
    """Read one side of a comparison: the integer and its obligations; None if it needs the full parser."""
    known = names.get(text)
    if known is not None:
        return known, ()
    if len(text) > LONGEST:
        return None
    try:
        tokens = _spaced(text)
        tokens.append("")
        found = _read(tokens, names, interner)
        if found is None:
            matched: list[str] = TOKEN.findall(text)
            matched.append("")
            if matched != tokens:
                found = _read(matched, names, interner)
        return found
    except NotExpressible:
        return None


def _spaced(text: str) -> list[str]:
    """The tokens of a text in which operators stand between spaces, as they are printed: a fraction of what matching
    a pattern costs. A token of another text is no word, number or operator, so that nobody reads it as one.
    """
    text = text.replace("(", " ( ").replace(")", " ) ")
    if "-" in text:
        text = text.replace("-", " - ")
    if "," in text:
        text = text.replace(",", " , ")
    return text.split()


def _read(tokens: list[str], names: Mapping[str, Expr], interner: TermTable) -> Side | None:
    obligations: list[Prop] = []
    level = Level("")
    stack: list[Level] = []
    at = 0
    while True:
        # a factor
        token = tokens[at]
        at += 1
        value = names.get(token)
        if value is None:
            if len(stack) > SHALLOW:
                return None
            if token == "(":
                stack.append(level)
                level = Level("")
                continue
            if token == "-":
                level.negated = not level.negated
                continue
            if token.isdecimal():
                if len(token) > LONGEST_INTEGER:
                    return None
                value = interner.constant(int(token))
            elif token in CLAMPS and tokens[at] == "(":
                at += 1
                stack.append(level)
                level = Level(token)
                continue
            else:
                return None
        while True:
            # `value` is read, and what binds it comes next
            token = tokens[at]
            at += 1
            if token == "**":
                exponent = tokens[at]
                at += 1
                if not exponent.isdecimal() or len(exponent) > 2 or tokens[at] == "**" or not value.terms:
                    return None
                if int(exponent) > LARGEST_EXPONENT or value.constant.bit_length() > LONGEST_BASE:
                    return None
                value = interner.apply(OPERATIONS["power"], value, int(exponent))
                token = tokens[at]
                at += 1
            if level.negated:
                value = -value
                level.negated = False
            level.take(value, interner, obligations)
            if token == "*" or token == "//" or token == "%":
                level.op = token
                break
            if token == "+" or token == "-":
                level.add(interner)
                level.start(1 if token == "+" else -1)
                break
            if token == ")":
                if not stack:
                    return None
                value = level.finish(interner)
                level = stack.pop()
                continue
            if token == "," and level.call:
                before = level.finish(interner)
                level = Level(level.call)
                level.before = before
                break
            if token or stack:
                return None
            return level.finish(interner), tuple(obligations)


def read_condition(
    text: str, names: Mapping[str, Expr], interner: TermTable, sides: dict[str, Side]
) -> tuple[Prop, Prop] | None:
    """Read comparisons of integers joined by `and` and `or`, without brackets: a proposition and its domain.

    None where another reader has to look, as where a part after the first is defined only where those before it fail.
    """
    if " or " not in text and " and " not in text:
        return read_comparison(text, names, interner, sides)
    if len(text) > LONGEST:
        return None
    alternatives: list[str] = text.split(" or ")
    either: list[Prop] = []
    for alternative in alternatives:
        parts: list[str] = alternative.split(" and ")
        both: list[Prop] = []
        for part in parts:
            found = read_comparison(part, names, interner, sides)
            if found is None or found[1].kind != "true":
                return None
            both.append(found[0])
        either.append(both[0] if len(both) == 1 else Prop.join(interner, "and", both))
    return either[0] if len(either) == 1 else Prop.join(interner, "or", either), Prop.truth(interner, True)


def read_comparison(
    text: str, names: Mapping[str, Expr], interner: TermTable, sides: dict[str, Side]
) -> tuple[Prop, Prop] | None:
    """Read one comparison of integers: a proposition and its domain; None for any other text.

    Args:
        sides: the sides of comparisons that were read before, by their text.
    """
    if len(text) > LONGEST:
        return None
    for sign in COMPARISONS:
        at = text.find(sign)
        if at >= 0:
            break
    else:
        return None
    # a second comparison is in one of the sides, where it is not read
    left, right = text[:at], text[at + len(sign) :]
    a = sides.get(left)
    if a is None:
        a = read_side(left, names, interner)
        if a is None:
            return None
        sides[left] = a
    b = sides.get(right)
    if b is None:
        b = read_side(right, names, interner)
        if b is None:
            return None
        sides[right] = b
    prop = compared(sign[1:-1], a[0], b[0])
    return prop, Prop.join(interner, "and", (*a[1], *b[1])) if a[1] or b[1] else Prop.truth(interner, True)


def compared(op: str, a: Expr, b: Expr) -> Prop:
    """`a op b`."""
    if op == "==":
        return Prop.zero(a - b)
    if op == "!=":
        return Prop.zero(a - b).negation
    if op == ">=":
        return Prop.nonnegative(a - b)
    if op == "<=":
        return Prop.nonnegative(b - a)
    return Prop.nonnegative(a - b - 1 if op == ">" else b - a - 1)
