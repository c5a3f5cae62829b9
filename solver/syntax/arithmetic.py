"""Reading arithmetic straight into the normal form: sums gathered as coefficients by monomial, powers, signs, calls.

    >>> from solver.terms.interner import Interner
    >>> from solver.syntax.parser import parse_expr
    >>> terms = Interner()
    >>> s = terms.symbol("s")
    >>> parse_expr("max(s, 3) + min(s, 3) - 3", {"s": s}, terms).expr is s
    True
"""

from __future__ import annotations

import difflib
from functools import reduce

from solver.floats.order import truth_as_integer
from solver.syntax.numerals import Doubles, Numerals, Operand, Rationals
from solver.syntax.shunting_yard import Level
from solver.syntax.tokens import WORDS, Tokens, Value, long_integer
from solver.terms.atoms import domain_of
from solver.terms.expr import Expr
from solver.terms.functions import called, known_functions
from solver.terms.operations import CALLED, OPERATIONS, Operation
from solver.terms.prop import Prop


class Arithmetic(Tokens):
    """The rules from sums down to names and calls; what stands in brackets may be anything."""

    __slots__ = ()

    # ------------------------------------------------------------------ arithmetic

    def sum(self) -> Value:
        """A sum of products, gathered as `solver.syntax.shunting_yard` does while its factors are integers."""
        interner, level = self.interner, Level("")
        value = self.factor()
        if isinstance(value, Prop) and self.tokens[self.at] not in ("+", "-", "*", "//", "%", "/"):
            return value
        while True:
            op = self.tokens[self.at]
            if type(value) is not Expr:
                return self.real_sum(level, value)
            level.take(value, interner, self.obligations)
            if op == "/":
                return self.real_sum(level, interner.one)
            if op in ("*", "//", "%"):
                level.op = op
            elif op in ("+", "-"):
                level.add(interner)
                level.start(1 if op == "+" else -1)
            else:
                return level.finish(interner)
            self.at += 1
            value = self.factor()

    def real_sum(self, level: Level, value: Value) -> Value:
        """The rest of a sum after a term that is not an integer expression."""
        interner, tokens = self.interner, self.tokens
        total: Operand = interner.collect(level.coefficients, level.constant)
        if level.op != "*" and not isinstance(value, Expr):
            self.fail(f"`{level.op}` takes integers")
        product, sign = self.times(level.product(interner), self.number(value)), level.sign
        while True:
            while (op := tokens[self.at]) in ("*", "/", "//", "%"):
                self.at += 1
                right = self.number(self.factor())
                if op == "*":
                    product = self.times(product, right)
                elif op == "/":
                    product = self.numerals.divide(product, right)
                elif isinstance(product, Expr) and isinstance(right, Expr):
                    if right.terms or not right.constant:
                        self.obligations.append(Prop.ne(right, 0))
                    product = interner.floordiv(product, right) if op == "//" else interner.mod(product, right)
                else:
                    product = self.numerals.combine(op, product, right)
            total = self.plus(total, product if sign > 0 else self.negative(product))
            if tokens[self.at] not in ("+", "-"):
                return total
            sign = 1 if tokens[self.at] == "+" else -1
            self.at += 1
            product = self.number(self.factor())

    @property
    def numerals(self) -> Numerals:
        """The meaning of non-integer values in this text."""
        if self.decimals == "real":
            return Rationals(self.interner, self.obligations)
        return Doubles(self.interner, self.obligations, self.refuse)

    def plus(self, a: Operand, b: Operand) -> Operand:
        if isinstance(a, Expr) and isinstance(b, Expr):
            return a + b
        return self.numerals.add(a, b)

    def times(self, a: Operand, b: Operand) -> Operand:
        if isinstance(a, Expr) and isinstance(b, Expr):
            return a * b
        return self.numerals.multiply(a, b)

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
                self.obligations.append(Prop.ge(exponent, 0))
            elif exponent.constant < 0:
                self.fail("a negative exponent does not give an integer")
            elif exponent.constant > 64 and base.terms or exponent.constant * base.constant.bit_length() > 1 << 20:
                self.fail("the exponent is too large")
            return self.interner.apply(OPERATIONS["power"], base, exponent)
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
            value = self.ternary()
            self.expect(")")
            return value
        if token in self.defined:
            value, needed = self.defined[token]
            if needed.kind != "true":
                self.obligations.append(needed)
            return value
        if token == "True":
            return Prop.truth(self.interner, True)
        if token == "False":
            return Prop.truth(self.interner, False)
        if token and (token[0].isdecimal() or token[0] == "."):
            return self.numerals.decimal(token)
        self.at -= 1
        if not token:
            self.fail("expected a value before the end")
        if tokens[self.at + 1] == "(" and token.isidentifier() and token not in WORDS:
            return self.call()
        if token.isidentifier() and token not in WORDS:
            close = difflib.get_close_matches(token, self.names, 3)
            self.fail(
                f"unknown name `{token}`"
                + (f"; did you mean {' or '.join(f'`{name}`' for name in close)}?" if close else "")
            )
        self.fail(f"expected a value, found `{token}`")

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
                return self.numerals.divide(x, y)
            case "float", [x]:
                return self.numerals.convert(x)
            case "round", [x, Expr() as digits] if not digits.terms:
                return self.numerals.round_to(x, digits.constant)
            case "double", [Expr() as bits]:
                return self.numerals.double(bits)
            case "from_ordinal", [Expr() as e]:
                return self.numerals.from_ordinal(e)
            case (("sqrt" | "floor" | "ceil" | "trunc" | "int" | "round" | "abs" | "ordinal" | "computes"), [x]):
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
        """A call of an integer operation, with its obligations."""
        if operation.folds and values:
            return reduce(lambda a, b: self.interner.apply(operation, a, b), values)
        if len(values) != operation.arity:
            self.fail(f"`{operation.name}` takes {operation.arity} values")
        domain = domain_of(self.interner, operation, values)
        if domain.kind != "true":
            self.obligations.append(domain)
        return self.interner.apply(operation, *values)
