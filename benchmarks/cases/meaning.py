"""The meaning of a proposition of the cases: its value at an assignment, and its translation to z3.

Both are independent of the engine (they use Python's parser), so a label never depends on the code that it tests.
Division and remainder are Python's: the floor, and the sign of the divisor. A zero divisor makes `value_at` raise
ZeroDivisionError; in z3 it is kept out by the condition that `Translation.domain` collects.

>>> value_at("(x*4 + y) // 4 == x", {"x": -3, "y": 3})
True
"""

from __future__ import annotations

import ast
import functools
import operator
from collections.abc import Callable, Mapping
from typing import Any

import z3


class NotTranslated(ValueError):
    """A proposition that the translation to z3 does not cover: a case with it gets no label."""


def ceildiv(a: int, b: int) -> int:
    return -((-a) // b)


FUNCTIONS = {"min": min, "max": max, "abs": abs, "ceildiv": ceildiv}


@functools.lru_cache(maxsize=100_000)
def parsed(text: str) -> ast.expr:
    return ast.parse(text.strip(), mode="eval").body


def names_in(text: str) -> set[str]:
    return {node.id for node in ast.walk(parsed(text)) if isinstance(node, ast.Name)} - set(FUNCTIONS)


@functools.lru_cache(maxsize=100_000)
def compiled(text: str) -> Any:
    return compile(ast.Expression(parsed(text)), "case", "eval")


def value_at(text: str, values: Mapping[str, int]) -> Any:
    return eval(compiled(text), {"__builtins__": {}, **FUNCTIONS}, dict(values))  # only our own files come here


@functools.lru_cache(maxsize=100_000)
def divisors(text: str) -> tuple[Any, ...]:
    """The divisors that are no literals, as code: an assignment that makes one of them zero is left out everywhere."""
    found = []
    for node in ast.walk(parsed(text)):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv | ast.Mod):
            divisor = node.right
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "ceildiv":
            divisor = node.args[1]
        else:
            continue
        if any(isinstance(inner, ast.Name) for inner in ast.walk(divisor)):
            found.append(compile(ast.Expression(divisor), "divisor", "eval"))
    return tuple(found)


def defined_at(text: str, values: Mapping[str, int]) -> bool:
    """Return True if no divisor anywhere in the text is zero, also where short-circuiting would skip it."""
    scope = {"__builtins__": {}, **FUNCTIONS}
    try:
        return all(eval(code, scope, dict(values)) != 0 for code in divisors(text))
    except ZeroDivisionError:
        return False


COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt,
    ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
}  # fmt: skip


class Translation:
    """Texts as z3 terms over one set of variables.

    `domain` holds the nonzero divisors, `axioms` what defines the helper variables (quotients by symbols) and facts
    that hold of every bit operation. With `real=True` every variable is real and every quotient only bounded, a
    relaxation: unsatisfiable there is unsatisfiable over the integers, and nothing else may be concluded from it.
    """

    def __init__(self, *, real: bool = False, ranges: Mapping[str, tuple[int | None, int | None]] | None = None):
        self.real = real
        self.ranges = ranges or {}
        self.variables: dict[str, Any] = {}
        self.domain: list[Any] = []
        self.axioms: list[Any] = []
        self.quotients: dict[Any, Any] = {}
        self.fresh = 0

    def variable(self, name: str) -> Any:
        if name not in self.variables:
            self.variables[name] = z3.Real(name) if self.real else z3.Int(name)
        return self.variables[name]

    def helper(self) -> Any:
        self.fresh += 1
        return self.variable(f"helper!{self.fresh}")

    def literal(self, value: int) -> Any:
        return z3.RealVal(value) if self.real else z3.IntVal(value)

    def floordiv(self, n: Any, d: Any) -> Any:
        constant = z3.simplify(d)
        fixed = z3.is_int_value(constant) or z3.is_rational_value(constant)
        if fixed and not self.real:
            value = constant.as_long()
            if value == 0:
                raise ZeroDivisionError
            return n / z3.IntVal(value) if value > 0 else (-n) / z3.IntVal(-value)
        key = (n.get_id(), d.get_id())
        if key not in self.quotients:
            q = self.helper()
            rest = n - q * d
            self.axioms.append(z3.Implies(d > 0, z3.And(0 <= rest, rest <= d - 1)))
            self.axioms.append(z3.Implies(d < 0, z3.And(d + 1 <= rest, rest <= 0)))
            if not fixed:
                self.domain.append(z3.Or(d >= 1, d <= -1))
            self.quotients[key] = (q, n, d)  # the terms stay alive, so that their numbers stay theirs
        return self.quotients[key][0]

    def mod(self, n: Any, d: Any) -> Any:
        constant = z3.simplify(d)
        if not self.real and z3.is_int_value(constant) and constant.as_long() > 0:
            return n % constant
        return n - d * self.floordiv(n, d)

    def mask(self, n: Any, mask: int) -> Any:
        if mask < 0:
            return n - self.mask(n, -mask - 1)
        total: Any = self.literal(0)
        place = 0
        while mask >> place:  # each run of ones is one remainder
            if not mask >> place & 1:
                place += 1
                continue
            start = place
            while mask >> place & 1:
                place += 1
            low = self.floordiv(n, self.literal(1 << start)) if start else n
            total = total + self.mod(low, self.literal(1 << (place - start))) * (1 << start)
        return total

    def bit_and(self, a: Any, b: Any) -> Any:
        for x, y in ((a, b), (b, a)):
            constant = z3.simplify(y)
            if z3.is_int_value(constant):
                return self.mask(x, constant.as_long())
        x, y = sorted((a, b), key=lambda term: str(term))
        kind = z3.RealSort() if self.real else z3.IntSort()
        result = z3.Function("bit_and", kind, kind, kind)(x, y)
        self.axioms += [
            z3.Implies(x >= 0, z3.And(0 <= result, result <= x)),
            z3.Implies(y >= 0, z3.And(0 <= result, result <= y)),
            z3.Implies(z3.And(x < 0, y < 0), z3.And(result <= x, result <= y)),
            z3.Implies(x == y, result == x),
            z3.Implies(z3.And(x >= 0, y >= 0), x + y - result >= z3.If(x >= y, x, y)),
        ]
        return result

    def shift_factor(self, count: ast.expr) -> Any:
        term = self.term(count)
        constant = z3.simplify(term)
        if z3.is_int_value(constant):
            return self.literal(1 << constant.as_long())
        low, high = self.ranges.get(count.id, (None, None)) if isinstance(count, ast.Name) else (None, None)
        if low is None or high is None or low < 0 or high > 128:
            raise NotTranslated("a shift count needs a range within 0 and 128")
        factor = self.literal(1 << high)
        for bits in range(high - 1, low - 1, -1):
            factor = z3.If(term == bits, self.literal(1 << bits), factor)
        return factor

    def shift_right(self, n: Any, count: ast.expr) -> Any:
        if isinstance(count, ast.Name):
            low, high = self.ranges[count.id]
            if low is None or high is None or low < 0 or high > 128:
                raise NotTranslated("a shift count needs a range within 0 and 128")
            term = self.term(count)
            result = self.floordiv(n, self.literal(1 << high))
            for bits in range(high - 1, low - 1, -1):
                result = z3.If(term == bits, self.floordiv(n, self.literal(1 << bits)), result)
            return result
        return self.floordiv(n, self.shift_factor(count))

    def term(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=bool()):
                return z3.BoolVal(node.value)
            case ast.Constant(value=int()):
                return self.literal(node.value)
            case ast.Name():
                return self.variable(node.id)
            case ast.UnaryOp(op=ast.USub()):
                return -self.term(node.operand)
            case ast.UnaryOp(op=ast.UAdd()):
                return self.term(node.operand)
            case ast.UnaryOp(op=ast.Invert()):
                return -self.term(node.operand) - 1
            case ast.UnaryOp(op=ast.Not()):
                return z3.Not(self.term(node.operand))
            case ast.BinOp():
                return self.binary(node)
            case ast.BoolOp(op=ast.And()):
                return z3.And([self.term(part) for part in node.values])
            case ast.BoolOp(op=ast.Or()):
                return z3.Or([self.term(part) for part in node.values])
            case ast.IfExp():
                return z3.If(self.term(node.test), self.term(node.body), self.term(node.orelse))
            case ast.Compare():
                sides = [self.term(side) for side in (node.left, *node.comparators)]
                parts = [COMPARISONS[type(op)](a, b) for op, a, b in zip(node.ops, sides, sides[1:], strict=False)]
                return z3.And(parts) if len(parts) > 1 else parts[0]
            case ast.Call(func=ast.Name()):
                return self.call(node)
        raise NotTranslated(f"no term of z3 for {ast.unparse(node)!r}")

    def binary(self, node: ast.BinOp) -> Any:
        match node.op:
            case ast.LShift():
                return self.term(node.left) * self.shift_factor(node.right)
            case ast.RShift():
                return self.shift_right(self.term(node.left), node.right)
            case ast.Pow():
                assert isinstance(node.right, ast.Constant) and isinstance(node.right.value, int)
                base = self.term(node.left)
                return functools.reduce(operator.mul, [base] * node.right.value, self.literal(1))
        a, b = self.term(node.left), self.term(node.right)
        match node.op:
            case ast.Add():
                return a + b
            case ast.Sub():
                return a - b
            case ast.Mult():
                return a * b
            case ast.FloorDiv():
                return self.floordiv(a, b)
            case ast.Mod():
                return self.mod(a, b)
            case ast.BitAnd():
                return self.bit_and(a, b)
            case ast.BitOr():
                return a + b - self.bit_and(a, b)
            case ast.BitXor():
                return a + b - 2 * self.bit_and(a, b)
        raise NotTranslated(f"no term of z3 for the operator of {ast.unparse(node)!r}")

    def call(self, node: ast.Call) -> Any:
        assert isinstance(node.func, ast.Name)
        arguments = [self.term(argument) for argument in node.args]
        match node.func.id:
            case "min":
                return functools.reduce(lambda a, b: z3.If(a <= b, a, b), arguments)
            case "max":
                return functools.reduce(lambda a, b: z3.If(a >= b, a, b), arguments)
            case "abs":
                return z3.If(arguments[0] >= 0, arguments[0], -arguments[0])
            case "ceildiv":
                return -self.floordiv(-arguments[0], arguments[1])
        raise NotTranslated(f"no term of z3 for the function {node.func.id!r}")

    def proposition(self, text: str) -> Any:
        return self.term(parsed(text))
