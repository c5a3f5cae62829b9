"""From text to propositions and expressions, in Python's syntax.

    >>> from solver.interner import Interner
    >>> from solver.text import parse
    >>> terms = Interner()
    >>> names = {name: terms.symbol(name) for name in ("b", "s")}
    >>> parsed = parse("(b*s) % 16 == 0 and b // s >= 1", names, terms)
    >>> print(parsed.prop)
    b*s % 16 == 0 and b//s >= 1
    >>> print(parsed.domain)
    b*s % 16 != 0 or s != 0

A recursive descent straight into the normal form: sums are gathered as coefficients by monomial, so the common comparison of two
polynomials makes no intermediate expression. The *domain* of what was read (no divisor zero, no negative shift, as far as Python would evaluate
it) is gathered beside it. `solver.display` is the inverse.
"""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Callable, Mapping
from typing import Final, Literal, NamedTuple, NoReturn, TypeVar

from solver.errors import NotExpressible, ParseError
from solver.expr import Expr
from solver.functions import known_functions
from solver.interner import Interner
from solver.numerals import Doubles, Numerals, Operand, Rationals, truth_as_integer
from solver.prop import Prop

Decimals = Literal["ieee", "real"]
Value = Operand | Prop
Result = TypeVar("Result")

TOKEN: Final = re.compile(r"\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|[^\W\d]\w*|\*\*|//|<<|>>|[<>=!]=|\S")
COMPARISONS: Final = frozenset(("==", "!=", ">=", "<=", ">", "<"))
BITWISE: Final = {"|": 1, "^": 2, "&": 3, "<<": 4, ">>": 4}
WORDS: Final = frozenset(("and", "or", "not", "if", "else", "True", "False"))
NESTING: Final = 100_000


class Parsed(NamedTuple):
    """A proposition and where it makes sense."""

    prop: Prop
    domain: Prop


class ParsedExpr(NamedTuple):
    """An expression and where it makes sense."""

    expr: Expr
    domain: Prop


Side = tuple[Expr, tuple[Prop, ...]]
"""One side of a comparison and what it needs to make sense."""

COMPARISON: Final = re.compile(r" (<=|>=|==|!=|<|>) ")


def parse(
    text: str, names: Mapping[str, Expr], interner: Interner, *, decimals: Decimals = "ieee", sides: dict[str, Side] | None = None
) -> Parsed:
    """The proposition that the text says.

    Args:
        sides: a cache of sides of comparisons, to be kept with `names` and dropped when a name changes its meaning. Programs ask the same sizes
            about different things: 71 % of the sides in the recorded sessions were read before in the same session.

    Raises:
        ParseError: the text is not a proposition over these names; it has the column.
    """
    if sides is not None:
        parts = COMPARISON.split(text)
        if len(parts) == 3:
            left, op, right = parts
            try:
                a = sides.get(left) or _side(left, names, interner, decimals, sides)
                b = sides.get(right) or _side(right, names, interner, decimals, sides)
            except ParseError:
                pass  # `a == b and c`, or an error, told with its column in the whole text below
            else:
                if a is not None and b is not None:
                    prop = comparison(op, a[0], b[0])
                    return Parsed(prop, interner.conjunction((*a[1], *b[1])) if a[1] or b[1] else interner.true)
    reader = Reader(text, names, interner, decimals)
    prop = reader.read(reader.condition)
    return Parsed(prop, reader.domain())


def _side(text: str, names: Mapping[str, Expr], interner: Interner, decimals: Decimals, sides: dict[str, Side]) -> Side | None:
    """One side of a comparison, if it is an integer."""
    known = names.get(text)
    if known is None and text.isdigit():
        known = interner.constant(_long_integer(text))
    if known is not None:
        plain = sides[text] = (known, ())
        return plain
    reader = Reader(text, names, interner, decimals)
    value = reader.read(reader.bits)
    if not isinstance(value, Expr):
        return None
    side = sides[text] = (value, tuple(reader.obligations))
    return side


def comparison(op: str, a: Expr, b: Expr) -> Prop:
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


def parse_expr(text: str, names: Mapping[str, Expr], interner: Interner, *, decimals: Decimals = "ieee") -> ParsedExpr:
    """The integer expression that the text says.

    Raises:
        ParseError: the text is not an integer expression over these names; it has the column.
    """
    reader = Reader(text, names, interner, decimals)
    expr = reader.read(reader.integer)
    return ParsedExpr(expr, reader.domain())


class Reader:
    """One text being read. `at` is the next token; `obligations` what the part read so far needs to make sense."""

    __slots__ = ("at", "bracketed_before", "decimals", "interner", "monomials", "names", "obligations", "text", "tokens")

    def __init__(self, text: str, names: Mapping[str, Expr], interner: Interner, decimals: Decimals) -> None:
        self.text = text
        self.tokens: list[str] = TOKEN.findall(text)
        self.tokens.append("")
        self.at = 0
        self.names = names
        self.interner = interner
        self.decimals = decimals
        self.obligations: list[Prop] = []
        self.bracketed_before: dict[int, tuple[Value, int, list[Prop]]] = {}

    def domain(self) -> Prop:
        return self.interner.conjunction(self.obligations) if self.obligations else self.interner.true

    def read(self, rule: Callable[[], Result]) -> Result:
        """The whole text by one rule. Deep nesting raises the recursion limit for its time; Python's frames are on the heap."""
        depth = self.text.count("(") if len(self.text) > 200 else 0
        depth += self.text.count("not") + self.text.count("if") if depth or len(self.text) > 200 else 0
        depth += self.text.count("-") if len(self.text) > 1000 else 0
        if depth > NESTING:
            raise ParseError(f"nested more than {NESTING} levels deep", self.text, 0)
        limit = sys.getrecursionlimit()
        if depth > 50:
            sys.setrecursionlimit(limit + 16 * depth)
        try:
            result = rule()
        except NotExpressible as error:
            raise ParseError(str(error), self.text, self.column()) from None
        finally:
            if depth > 50:
                sys.setrecursionlimit(limit)
        if self.tokens[self.at]:
            self.fail(f"unexpected `{self.tokens[self.at]}`")
        return result

    # ------------------------------------------------------------------ errors

    def column(self) -> int:
        for index, match in enumerate(TOKEN.finditer(self.text)):
            if index == self.at:
                return match.start()
        return len(self.text)

    def fail(self, message: str) -> NoReturn:
        raise ParseError(message, self.text, self.column())

    def expect(self, token: str) -> None:
        if self.tokens[self.at] != token:
            found = self.tokens[self.at]
            self.fail(f"expected `{token}`" + (f", found `{found}`" if found else " before the end"))
        self.at += 1

    # ------------------------------------------------------------------ kinds of values

    def condition(self) -> Prop:
        start = self.at
        value = self.ternary()
        if isinstance(value, Prop):
            return value
        if isinstance(value, Expr) and value.is_constant and value.constant in (0, 1) and self.tokens[start] in ("True", "False"):
            return self.interner.true if value.constant else self.interner.false
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
        self.fail("expected an integer, found a " + ("proposition" if isinstance(value, Prop) else "real value; round it with floor, ceil or trunc"))

    def number(self, value: Value) -> Operand:
        if isinstance(value, Prop):
            self.fail("a proposition has no arithmetic; use `1 if ... else 0`")
        return value

    # ------------------------------------------------------------------ logic

    def ternary(self) -> Value:
        """`a if p else b`, and everything that binds tighter."""
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
        other = self.ternary()
        of_other = self.obligations[of_condition:]
        del self.obligations[of_condition:]
        self.oblige_under(p, of_value)
        self.oblige_under(p.negation, of_other)
        if isinstance(value, Prop) and isinstance(other, Prop):
            join = self.interner
            return join.conjunction([join.disjunction([p.negation, value]), join.disjunction([p, other])])
        a, b = self.number(value), self.number(other)
        if isinstance(a, Expr) and isinstance(b, Expr):
            return self.interner.ite(p, a, b)
        return self.numerals.choose(p, a, b)

    def oblige_under(self, p: Prop, obligations: list[Prop]) -> None:
        """What a part that is evaluated only where `p` holds needs to make sense."""
        if obligations:
            needed = self.interner.conjunction(obligations)
            self.obligations.append(self.interner.disjunction([p.negation, needed]))

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
        """A value, or a chain of comparisons of values."""
        start = self.at
        coefficients: dict[int, int] = {}
        left = self.gather(coefficients, 0, 1)
        op = self.tokens[self.at]
        if type(left) is int:
            if op in COMPARISONS:
                between = self.at
                self.at += 1
                right = self.gather(coefficients, left, -1)
                if type(right) is int and self.tokens[self.at] not in COMPARISONS and self.tokens[self.at] not in BITWISE:
                    return self.compare_with_zero(op, coefficients, right)
                self.at = start
                del between
                return self.general_comparison()
            if op not in BITWISE:
                return self.interner.collect(coefficients, left)
        self.at = start
        return self.general_comparison()

    def compare_with_zero(self, op: str, coefficients: dict[int, int], constant: int) -> Prop:
        """`coefficients + constant op 0`."""
        return comparison(op, self.interner.collect(coefficients, constant), self.interner.zero)

    def general_comparison(self) -> Value:
        """Chains, real values and bitwise operators."""
        left = self.bitwise(1)
        if self.tokens[self.at] not in COMPARISONS:
            return left
        parts = []
        while (op := self.tokens[self.at]) in COMPARISONS:
            self.at += 1
            right = self.bitwise(1)
            parts.append(self.compare(op, left, right))
            left = right
        return self.interner.conjunction(parts)

    def compare(self, op: str, left: Value, right: Value) -> Prop:
        if isinstance(left, Prop) and isinstance(right, Prop) and op in ("==", "!="):
            join = self.interner
            same = join.disjunction([join.conjunction([left, right]), join.conjunction([left.negation, right.negation])])
            return same if op == "==" else same.negation
        a, b = self.number(left), self.number(right)
        if isinstance(a, Expr) and isinstance(b, Expr):
            return comparison(op, a, b)
        return self.numerals.compare(op, a, b)

    def bits(self) -> Value:
        return self.bitwise(1)

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
            match op:
                case "|":
                    value = self.interner.bit_or(a, b)
                case "^":
                    value = self.interner.bit_xor(a, b)
                case "&":
                    value = self.interner.bit_and(a, b)
                case _:
                    self.obligations.append(self.interner.ge(b, 0))
                    value = self.interner.shift_left(a, b) if op == "<<" else self.interner.shift_right(a, b)
        return value

    # ------------------------------------------------------------------ arithmetic

    def sum(self) -> Value:
        """A sum of products, as a value."""
        coefficients: dict[int, int] = {}
        rest = self.gather(coefficients, 0, 1)
        if type(rest) is int:
            return self.interner.collect(coefficients, rest)
        return rest  # type: ignore[return-value]

    def gather(self, coefficients: dict[int, int], constant: int, sign: int) -> int | Value:
        """Add `sign` times a sum of products into `coefficients`; the result is the new constant.

        A sum that is not an integer expression (a real value, a proposition alone) is returned as a value instead.
        """
        tokens, names = self.tokens, self.names
        interner = self.interner
        products = interner.multiply_monomials
        at = self.at
        outer = sign
        while True:
            c, m = sign, 0
            e: Expr | None = None
            while True:
                # one factor, with the common cases in line
                token = tokens[at]
                value: Value
                if tokens[at + 1 if token else at] == "**":
                    self.at = at
                    value = self.factor()
                    at = self.at
                elif token in names:
                    at += 1
                    value = names[token]
                elif token.isdigit():
                    at += 1
                    c *= int(token) if len(token) < 4000 else _long_integer(token)
                    value = interner.one
                else:
                    self.at = at
                    value = self.factor()
                    at = self.at
                if type(value) is not Expr:
                    self.at = at
                    return self.real_sum(coefficients, constant, outer, sign, value, c * sign, m, e)
                if value is not interner.one:
                    terms = value.terms
                    if len(terms) == 1 and not value.constant:
                        m = products(m, terms[0][0]) if m else terms[0][0]
                        c *= terms[0][1]
                    elif not terms:
                        c *= value.constant
                    else:
                        e = value if e is None else interner.multiply(e, value)
                op = tokens[at]
                while op == "//" or op == "%":
                    # the product so far is the left operand
                    self.at = at + 1
                    divisor = self.factor()
                    at = self.at
                    left = self.product(c * sign, m, e)
                    if type(divisor) is not Expr:
                        self.fail(f"`{op}` takes integers")
                    result = self.divide(op, left, divisor)
                    c, m, e = sign, 0, result
                    op = tokens[at]
                if op == "*":
                    at += 1
                    continue
                if op == "/":
                    self.at = at
                    return self.real_sum(coefficients, constant, outer, sign, interner.one, c * sign, m, e)
                break
            if e is None:
                if m:
                    coefficients[m] = coefficients.get(m, 0) + c
                else:
                    constant += c
            else:
                if m:
                    e = interner.multiply(interner.expr(((m, 1),), 0), e)
                constant += c * e.constant
                for n, k in e.terms:
                    coefficients[n] = coefficients.get(n, 0) + c * k
            if op == "+":
                sign = outer
            elif op == "-":
                sign = -outer
            else:
                self.at = at
                return constant
            at += 1

    def product(self, c: int, m: int, e: Expr | None) -> Expr:
        """`c * monomial m * e`, where 0 and None stand for one."""
        value = self.interner.expr(((m, 1),), 0) if m else self.interner.one
        if e is not None:
            value = self.interner.multiply(value, e)
        return self.interner.scale(value, c)

    def divide(self, op: str, a: Expr, b: Expr) -> Expr:
        self.oblige_nonzero(b)
        return self.interner.floordiv(a, b) if op == "//" else self.interner.mod(a, b)

    def oblige_nonzero(self, b: Expr) -> None:
        if b.terms or not b.constant:
            self.obligations.append(self.interner.ne(b, 0))

    def real_sum(
        self, coefficients: dict[int, int], constant: int, outer: int, sign: int, value: Value, c: int, m: int, e: Expr | None
    ) -> Value:
        """The rest of a sum in which something that is not an integer expression turned up (not inside a comparison's right side)."""
        if isinstance(value, Prop):
            if c == 1 and not m and e is None and not coefficients and not constant and self.tokens[self.at] not in ("+", "-", "*", "//", "%", "/"):
                return value
            self.number(value)
        if outer < 0:
            return value  # read again by general_comparison
        total: Operand = self.interner.collect(coefficients, constant)
        product = self.times(self.product(c, m, e), self.number(value))
        while True:
            product = self.real_product(product)
            total = self.plus(total, product if sign > 0 else self.negative(product))
            if self.tokens[self.at] not in ("+", "-"):
                return total
            sign = 1 if self.tokens[self.at] == "+" else -1
            self.at += 1
            product = self.number(self.factor())

    def real_product(self, product: Operand) -> Operand:
        while (op := self.tokens[self.at]) in ("*", "/", "//", "%"):
            self.at += 1
            right = self.number(self.factor())
            if op == "*":
                product = self.times(product, right)
            elif op == "/":
                product = self.quotient(product, right)
            elif isinstance(product, Expr) and isinstance(right, Expr):
                product = self.divide(op, product, right)
            else:
                product = self.numerals.combine(op, product, right)
        return product

    @property
    def numerals(self) -> Numerals:
        """What values that are no integers mean in this text."""
        return (Rationals if self.decimals == "real" else Doubles)(self.interner, self.obligations)

    def plus(self, a: Operand, b: Operand) -> Operand:
        if isinstance(a, Expr) and isinstance(b, Expr):
            return a + b
        return self.numerals.add(a, b)

    def times(self, a: Operand, b: Operand) -> Operand:
        if isinstance(a, Expr) and isinstance(b, Expr):
            return a * b
        return self.numerals.multiply(a, b)

    def quotient(self, a: Operand, b: Operand) -> Operand:
        return self.numerals.divide(a, b)

    def negative(self, a: Operand) -> Operand:
        return -a if isinstance(a, Expr) else self.numerals.negate(a)

    def factor(self) -> Value:
        """A value with its signs and its power."""
        tokens = self.tokens
        token = tokens[self.at]
        if token == "-" or token == "+" or token == "~":
            self.at += 1
            operand = self.number(self.factor())
            if token == "+":
                return operand
            if token == "-":
                return self.negative(operand)
            if not isinstance(operand, Expr):
                self.fail("`~` takes an integer")
            return -operand - 1
        value = self.primary()
        if tokens[self.at] == "**":
            self.at += 1
            base, exponent = self.number(value), self.number(self.factor())
            if not isinstance(base, Expr) or not isinstance(exponent, Expr):
                return self.numerals.combine("**", base, exponent)
            if exponent.terms:
                self.obligations.append(self.interner.ge(exponent, 0))
            elif exponent.constant < 0:
                self.fail("a negative exponent does not give an integer")
            elif exponent.constant > 64 and base.terms or exponent.constant * base.constant.bit_length() > 1 << 20:
                self.fail("the exponent is too large")
            return self.interner.power(base, exponent)
        return value

    def primary(self) -> Value:
        tokens = self.tokens
        token = tokens[self.at]
        self.at += 1
        named = self.names.get(token)
        if named is not None:
            return named
        if token.isdigit():
            return self.interner.constant(_long_integer(token))
        if token == "(":
            return self.once(self.bracketed)
        if token == "True":
            return self.interner.true
        if token == "False":
            return self.interner.false
        if token and (token[0].isdigit() or token[0] == "."):
            return self.numerals.decimal(token)
        self.at -= 1
        if not token:
            self.fail("expected a value before the end")
        if tokens[self.at + 1] == "(" and token.isidentifier() and token not in WORDS:
            return self.once(self.call)
        if token.isidentifier() and token not in WORDS:
            close = difflib.get_close_matches(token, self.names, 3)
            self.fail(f"unknown name `{token}`" + (f"; did you mean {' or '.join(f'`{name}`' for name in close)}?" if close else ""))
        self.fail(f"expected a value, found `{token}`")

    def once(self, rule: Callable[[], Value]) -> Value:
        """What stands in brackets, by a rule. A comparison that turns out to be a chain is read again, its brackets are not:
        else every level of nesting would double the time.
        """
        start = self.at
        known = self.bracketed_before.get(start)
        if known is not None:
            value, self.at, obligations = known
            self.obligations.extend(obligations)
            return value
        before = len(self.obligations)
        value = rule()
        self.bracketed_before[start] = (value, self.at, self.obligations[before:])
        return value

    def bracketed(self) -> Value:
        """The rest of `(...)`."""
        start, before = self.at, len(self.obligations)
        if self.tokens[start] != "not":
            value = self.comparison()
            if self.tokens[self.at] == ")":
                self.at += 1
                return value
            self.at = start
            del self.obligations[before:]
        value = self.ternary()
        self.expect(")")
        return value

    # ------------------------------------------------------------------ calls

    def call(self) -> Value:
        opening = self.at
        name = self.tokens[opening]
        self.at += 2
        arguments: list[Value] = []
        while self.tokens[self.at] != ")":
            arguments.append(self.ternary())
            if self.tokens[self.at] != ",":
                break
            self.at += 1
        self.expect(")")
        after, self.at = self.at, opening
        if name == "int" and len(arguments) == 1 and isinstance(arguments[0], Prop):
            arguments = [truth_as_integer(arguments[0])]
        value = self.apply(name, [self.number(argument) for argument in arguments])
        self.at = after
        return value

    def apply(self, name: str, arguments: list[Operand]) -> Value:
        interner = self.interner
        integers = [argument for argument in arguments if isinstance(argument, Expr)]
        if len(integers) == len(arguments):
            match name, integers:
                case ("min" | "max"), [first, *rest]:
                    combine = interner.minimum if name == "min" else interner.maximum
                    for other in rest:
                        first = combine(first, other)
                    return first
                case "abs", [e]:
                    return interner.absolute(e)
                case "ceildiv", [a, b]:
                    self.oblige_nonzero(b)
                    return interner.ceildiv(a, b)
                case ("floor" | "ceil" | "trunc" | "round" | "int"), [e]:
                    return e
                case _ if name in known_functions():
                    if len(integers) != known_functions()[name].arity:
                        self.fail(f"`{name}` takes {known_functions()[name].arity} values")
                    return interner.function(name, *integers)
        match name, arguments:
            case "truediv", [x, y]:
                return self.quotient(x, y)
            case "float", [x]:
                return self.numerals.convert(x)
            case "round", [x, Expr() as digits] if not digits.terms:
                return self.numerals.round_to(x, digits.constant)
            case "double", [Expr() as bits]:
                return self.numerals.double(bits)
            case ("sqrt" | "floor" | "ceil" | "trunc" | "int" | "round" | "abs"), [x]:
                return self.numerals.apply(name, x)
        words = ("min", "max", "abs", "ceildiv", "truediv", "float", "sqrt", "floor", "ceil", "trunc", "round", *known_functions())
        if name in words:
            self.fail(f"`{name}` does not take {len(arguments)} such values")
        close = difflib.get_close_matches(name, words, 3)
        self.fail(f"unknown function `{name}`" + (f"; did you mean {' or '.join(f'`{word}`' for word in close)}?" if close else ""))


def _long_integer(digits: str) -> int:
    """An integer of any length: Python refuses texts above some thousands of digits unless told otherwise."""
    if len(digits) < 4000:
        return int(digits)
    middle = len(digits) // 2
    return _long_integer(digits[:-middle]) * 10**middle + _long_integer(digits[-middle:])
