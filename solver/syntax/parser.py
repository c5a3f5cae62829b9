"""From text to propositions and expressions, in Python's syntax.

    >>> from solver.terms.interner import Interner
    >>> from solver.syntax.parser import parse
    >>> terms = Interner()
    >>> names = {name: terms.symbol(name) for name in ("b", "s")}
    >>> parsed = parse("(b*s) % 16 == 0 and b // s >= 1", names, terms)
    >>> print(parsed.prop)
    b*s % 16 == 0 and b//s >= 1
    >>> print(parsed.domain)
    b*s % 16 != 0 or s != 0

Most texts are read by `solver.syntax.shunting_yard`, all others by the recursive descent here, to the same. The
*domain* of what was read (no divisor zero, no negative shift, as far as Python would evaluate it) is gathered beside
it. `solver.syntax.printer` is the inverse.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from solver.syntax.arithmetic import Arithmetic
from solver.syntax.connectives import chosen, same
from solver.syntax.shunting_yard import Side, compared, read_condition, read_side
from solver.syntax.tokens import BITWISE, BITWISE_NAMES, COMPARISONS, Decimals, Value
from solver.terms.expr import Expr, TermTable
from solver.terms.operations import OPERATIONS
from solver.terms.prop import Prop


class Parsed(NamedTuple):
    """A proposition and its domain."""

    prop: Prop
    domain: Prop


class ParsedExpr(NamedTuple):
    """An expression and its domain."""

    expr: Expr
    domain: Prop


def parse(
    text: str,
    names: Mapping[str, Expr],
    interner: TermTable,
    *,
    decimals: Decimals = "ieee",
    sides: dict[str, Side] | None = None,
) -> Parsed:
    """Parse a proposition.

    Args:
        sides: a cache of sides of comparisons, to be kept with `names` and dropped when a name changes its meaning.
        Programs ask the same sizes about different things: 71 % of the sides in the recorded sessions were read before
        in the same session.

    Raises:
        ParseError: the text is not a proposition over these names; it has the column.
    """
    found = read_condition(text, names, interner, {} if sides is None else sides)
    if found is not None:
        return Parsed(*found)
    reader = Reader(text, names, interner, decimals)
    prop = reader.read(reader.condition)
    return Parsed(prop, reader.domain())


def parse_expr(text: str, names: Mapping[str, Expr], interner: TermTable, *, decimals: Decimals = "ieee") -> ParsedExpr:
    """Parse an integer expression.

    Raises:
        ParseError: the text is not an integer expression over these names; it has the column.
    """
    found = read_side(text, names, interner)
    if found is not None:
        return ParsedExpr(found[0], Prop.join(interner, "and", found[1]))
    reader = Reader(text, names, interner, decimals)
    expr = reader.read(reader.integer)
    return ParsedExpr(expr, reader.domain())


class Reader(Arithmetic):
    """The rules of logic, comparison and bits, above those of arithmetic."""

    __slots__ = ()

    # ------------------------------------------------------------------ kinds of values

    def condition(self) -> Prop:
        start = self.at
        value = self.ternary()
        if isinstance(value, Prop):
            return value
        if (
            isinstance(value, Expr)
            and value.is_constant
            and value.constant in (0, 1)
            and self.tokens[start] in ("True", "False")
        ):
            return Prop.truth(self.interner, value.constant == 1)
        if self.tokens[self.at]:
            advice = "; equality is `==`" if self.tokens[self.at] == "=" else ""
            self.fail(f"unexpected `{self.tokens[self.at]}`{advice}")
        self.at = start
        self.fail("expected a proposition (a comparison, say), found a number")

    def integer(self) -> Expr:
        start = self.at
        value = self.ternary()
        if isinstance(value, Expr):
            return value
        self.at = start
        self.fail(
            "expected an integer, found a "
            + ("proposition" if isinstance(value, Prop) else "real value; round it with floor, ceil or trunc")
        )

    # ------------------------------------------------------------------ logic

    def ternary(self) -> Value:
        """Parse `p => q` (right-associative) and everything that binds tighter."""
        value = self.conditional()
        if self.tokens[self.at] != "=>":
            return value
        if not isinstance(value, Prop):
            self.fail("`=>` joins propositions, not numbers")
        self.at += 1
        before = len(self.obligations)
        conclusion = self.ternary()
        if not isinstance(conclusion, Prop):
            self.fail("`=>` joins propositions, not numbers")
        needed = self.obligations[before:]
        del self.obligations[before:]
        self.oblige_under(value, needed)
        return Prop.join(self.interner, "or", [value.negation, conclusion])

    def conditional(self) -> Value:
        """Parse `a if p else b` and everything that binds tighter."""
        before = len(self.obligations)
        value = self.disjunction()
        if self.tokens[self.at] != "if":
            return value
        self.at += 1
        of_value = self.obligations[before:]
        del self.obligations[before:]
        p = self.disjunction()
        if not isinstance(p, Prop):
            self.fail("expected a proposition after `if`")
        self.expect("else")
        of_condition = len(self.obligations)
        other = self.conditional()
        of_other = self.obligations[of_condition:]
        del self.obligations[of_condition:]
        self.oblige_under(p, of_value)
        self.oblige_under(p.negation, of_other)
        if any(needed.kind == "false" for needed in of_other) and type(value) is type(other):
            return value  # `a if p else 1//0` is a where p holds, and nothing elsewhere
        if isinstance(value, Prop) and isinstance(other, Prop):
            return chosen(p, value, other)
        a, b = self.number(value), self.number(other)
        if isinstance(a, Expr) and isinstance(b, Expr):
            return chosen(p, a, b)
        return self.numerals.choose(p, a, b)

    def disjunction(self) -> Value:
        value = self.conjunction()
        return self.chain("or", value, self.conjunction) if self.tokens[self.at] == "or" else value

    def conjunction(self) -> Value:
        value = self.negation()
        return self.chain("and", value, self.negation) if self.tokens[self.at] == "and" else value

    def chain(self, word: str, first: Value, rule: Callable[[], Value]) -> Prop:
        parts: list[Prop] = []
        value = first
        while True:
            if not isinstance(value, Prop):
                self.fail(f"`{word}` joins propositions, not numbers")
            parts.append(value)
            if self.tokens[self.at] != word:
                break
            self.at += 1
            before = len(self.obligations)
            value = rule()
            needed = self.obligations[before:]
            if needed:
                del self.obligations[before:]
                so_far = Prop.join(self.interner, word, parts)
                self.oblige_under(so_far if word == "and" else so_far.negation, needed)
        return Prop.join(self.interner, word, parts)

    def negation(self) -> Value:
        if self.tokens[self.at] != "not":
            return self.comparison()
        self.at += 1
        value = self.negation()
        if not isinstance(value, Prop):
            self.fail("`not` takes a proposition, not a number")
        return value.negation

    def comparison(self) -> Value:
        """Parse a value, or a chain of comparisons."""
        left = self.bitwise(1)
        if self.tokens[self.at] not in COMPARISONS:
            return left
        parts: list[Prop] = []
        obliged: list[Prop] = []
        while (op := self.tokens[self.at]) in COMPARISONS:
            self.at += 1
            before = len(self.obligations)
            right = self.bitwise(1)
            prop = self.compare(op, left, right)
            needed = self.obligations[before:]
            if parts and needed:
                # Python goes on only while the chain holds; what is in the middle was computed before
                del self.obligations[before:]
                needed = [each for each in needed if each not in obliged]
                self.oblige_under(Prop.join(self.interner, "and", parts), needed)
            obliged += needed
            parts.append(prop)
            left = right
        return Prop.join(self.interner, "and", parts)

    def compare(self, op: str, left: Value, right: Value) -> Prop:
        if isinstance(left, Prop) and isinstance(right, Prop) and op in ("==", "!="):
            return same(left, right) if op == "==" else same(left, right).negation
        a, b = self.number(left), self.number(right)
        if isinstance(a, Expr) and isinstance(b, Expr):
            return compared(op, a, b)
        return self.numerals.compare(op, a, b)

    def bitwise(self, level: int) -> Value:
        """`|`, `^`, `&` and shifts, by precedence climbing."""
        value = self.sum()
        while (op := self.tokens[self.at]) in BITWISE and BITWISE[op] >= level:
            self.at += 1
            right = self.bitwise(BITWISE[op] + 1)
            if isinstance(value, Prop) and isinstance(right, Prop) and op in "&|":
                value = Prop.join(self.interner, "and" if op == "&" else "or", [value, right])
                continue
            a, b = self.number(value), self.number(right)
            if not isinstance(a, Expr) or not isinstance(b, Expr):
                self.fail(f"`{op}` takes integers")
            if op in ("<<", ">>"):
                self.obligations.append(Prop.ge(b, 0))
            value = self.interner.apply(OPERATIONS[BITWISE_NAMES[op]], a, b)
        return value
