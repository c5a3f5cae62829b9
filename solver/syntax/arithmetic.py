"""Reading arithmetic straight into the normal form: sums gathered as coefficients by monomial, powers, signs, calls.

A common comparison of two polynomials makes no intermediate expression: both sides are gathered into the same
coefficients, with opposite signs.

    >>> from solver.terms.interner import Interner
    >>> from solver.syntax.parser import parse_expr
    >>> terms = Interner()
    >>> s = terms.symbol("s")
    >>> parse_expr("max(s, 3) + min(s, 3) - 3", {"s": s}, terms).expr is s
    True
"""

from __future__ import annotations

import difflib
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import reduce

from solver.floats.order import truth_as_integer
from solver.syntax.numerals import Doubles, Numerals, Operand, Rationals
from solver.syntax.tokens import WORDS, Tokens, Value, long_integer
from solver.terms.expr import Expr
from solver.terms.functions import called, known_functions
from solver.terms.operations import CALLED, Operation
from solver.terms.prop import Prop


class Arithmetic(Tokens, ABC):
    """The rules from sums down to names and calls; what stands in brackets may be anything."""

    __slots__ = ()

    @abstractmethod
    def ternary(self) -> Value:
        """Anything at all: `a if p else b` and what binds tighter."""

    @abstractmethod
    def comparison(self) -> Value:
        """A value, or a chain of comparisons of values."""

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
                if tokens[at + 1 if token else at] in ("**", "("):
                    self.at = at
                    value = self.factor()
                    at = self.at
                elif token in names:
                    at += 1
                    value = names[token]
                elif token.isdecimal():
                    at += 1
                    c *= int(token) if len(token) < 4000 else long_integer(token)
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
        self,
        coefficients: dict[int, int],
        constant: int,
        outer: int,
        sign: int,
        value: Value,
        c: int,
        m: int,
        e: Expr | None,
    ) -> Value:
        """The rest of a sum in which something that is not an integer expression turned up (not inside a comparison's
        right side).
        """
        if isinstance(value, Prop):
            if (
                c == 1
                and not m
                and e is None
                and not coefficients
                and not constant
                and self.tokens[self.at] not in ("+", "-", "*", "//", "%", "/")
            ):
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
        if named is not None and tokens[self.at] != "(":
            return named
        if token.isdecimal():
            return self.interner.constant(long_integer(token))
        if token == "(":
            return self.once(self.bracketed)
        if token in self.defined:
            value, needed = self.defined[token]
            if needed.kind != "true":
                self.obligations.append(needed)
            return value
        if token == "True":
            return self.interner.true
        if token == "False":
            return self.interner.false
        if token and (token[0].isdecimal() or token[0] == "."):
            return self.numerals.decimal(token)
        self.at -= 1
        if not token:
            self.fail("expected a value before the end")
        if tokens[self.at + 1] == "(" and token.isidentifier() and token not in WORDS:
            return self.once(self.call)
        if token.isidentifier() and token not in WORDS:
            close = difflib.get_close_matches(token, self.names, 3)
            self.fail(
                f"unknown name `{token}`"
                + (f"; did you mean {' or '.join(f'`{name}`' for name in close)}?" if close else "")
            )
        self.fail(f"expected a value, found `{token}`")

    def once(self, rule: Callable[[], Value]) -> Value:
        """What stands in brackets, by a rule. A comparison that turns out to be a chain is read again, its brackets are
        not: else every level of nesting would double the time.
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
        integers = [argument for argument in arguments if isinstance(argument, Expr)]
        if len(integers) == len(arguments):
            if name in ("floor", "ceil", "trunc", "round", "int") and len(integers) == 1:
                return integers[0]
            operation = called(name)
            if operation is not None:
                return self.called(operation, integers)
        match name, arguments:
            case ("min" | "max"), [_, _, *_]:
                best: Operand = arguments[0]
                for another in arguments[1:]:
                    best = self.numerals.extreme(name, best, another)
                return best
            case "truediv", [x, y]:
                return self.quotient(x, y)
            case "float", [x]:
                return self.numerals.convert(x)
            case "round", [x, Expr() as digits] if not digits.terms:
                return self.numerals.round_to(x, digits.constant)
            case "double", [Expr() as bits]:
                return self.numerals.double(bits)
            case "from_ordinal", [Expr() as e]:
                return self.numerals.from_ordinal(e)
            case (("sqrt" | "floor" | "ceil" | "trunc" | "int" | "round" | "abs" | "ordinal"), [x]):
                return self.numerals.apply(name, x)
        words = ("truediv", "float", "sqrt", "floor", "ceil", "trunc", "round", *CALLED, *known_functions())
        if name in words:
            self.fail(f"`{name}` does not take {len(arguments)} such values")
        close = difflib.get_close_matches(name, words, 3)
        self.fail(
            f"unknown function `{name}`"
            + (f"; did you mean {' or '.join(f'`{word}`' for word in close)}?" if close else "")
        )

    def called(self, operation: Operation, values: list[Expr]) -> Expr:
        """An operation of integers, which may have to make sense."""
        if operation.folds and values:
            return reduce(lambda a, b: self.interner.apply(operation, a, b), values)
        if len(values) != operation.arity:
            self.fail(f"`{operation.name}` takes {operation.arity} values")
        domain = self.interner.domain(operation, values)
        if domain.kind != "true":
            self.obligations.append(domain)
        return self.interner.apply(operation, *values)
