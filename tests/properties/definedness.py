"""Random texts with partial operations, most of them protected, and what Python makes of them.

    >>> from tests.properties.definedness import Texts, outcome
    >>> from random import Random
    >>> outcome("n // d if d != 0 else 0", {"n": 7, "d": 0}), outcome("n // d", {"n": 7, "d": 0})
    (0, None)
    >>> isinstance(Texts(Random(1)).condition(2), str)
    True
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from random import Random
from typing import Final

from solver.floats.ordinals import double, from_ordinal, ordinal

NAMES: Final = ("n", "d", "k")
VALUES: Final = (-5, -2, -1, 0, 0, 1, 2, 3, 7)


def ceildiv(a: int, b: int) -> int:
    return -(-a // b)


def bit_length(a: int) -> int:
    return a.bit_length()


def power(a: float, b: float) -> float:
    """`a**b`: undefined for integers with a negative exponent, where Python leaves them, and where it is complex."""
    if b < 0 and isinstance(a, int) and isinstance(b, int):
        raise ValueError("a negative exponent")
    found = a**b
    if isinstance(found, complex):
        raise ValueError("complex")
    return found


def is_computed(compute: Callable[[], float]) -> int:
    """The value of `computes`."""
    try:
        compute()
    except (ArithmeticError, ValueError):
        return 0
    return 1


class Powers(ast.NodeTransformer):
    """Calls of `power` in place of `**`; the operand of `computes` is not computed before."""

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == "computes":
            nothing = ast.arguments([], [], None, [], [], None, [])
            node.args = [ast.Lambda(nothing, node.args[0])]
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        if not isinstance(node.op, ast.Pow):
            return node
        return ast.Call(ast.Name("power", ast.Load()), [node.left, node.right], [])


FUNCTIONS: Final = {
    "power": power,
    "isqrt": math.isqrt, "gcd": math.gcd, "ceildiv": ceildiv, "bit_length": bit_length, "sqrt": math.sqrt,
    "floor": math.floor, "ceil": math.ceil, "trunc": math.trunc,
    "truediv": lambda a, b: a / b, "double": double, "ordinal": ordinal,
    "from_ordinal": from_ordinal, "computes": is_computed,
}  # fmt: skip


def outcome(text: str, values: Mapping[str, int]) -> int | bool | None:
    """The value that Python gives a text; None where it raises or leaves the integers."""
    tree = ast.fix_missing_locations(Powers().visit(ast.parse(text, mode="eval")))
    try:
        found = eval(compile(tree, "<text>", "eval"), {**FUNCTIONS, **values})
    except (ArithmeticError, ValueError):
        return None
    assert isinstance(found, int)
    return found


def assignments(random: Random, count: int) -> list[dict[str, int]]:
    """Sizes, zeros and negative ones among them."""
    zeros = [{"n": 7, "d": 0, "k": 2}, {"n": -7, "d": 2, "k": 0}, {"n": 3, "d": -2, "k": 5}]
    return zeros + [{name: random.choice(VALUES) for name in NAMES} for _ in range(count)]


class Texts:
    """Texts of integers and conditions, of a given depth."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def leaf(self) -> str:
        return self.random.choice([*NAMES, *NAMES, "n", "d", str(self.random.randrange(-2, 4))])

    def small(self) -> str:
        return self.random.choice([*NAMES, "n - k", "d - 1", "n*d", "k + 1", "2*d"])

    def partial(self, depth: int) -> tuple[str, str, str]:
        """A partial operation, where it is defined, and where it is not."""
        a, b = self.number(depth - 1), self.small()
        match self.random.randrange(9):
            case 0 | 1 | 2:
                return f"({a}) // ({b})", f"{b} != 0", f"{b} == 0"
            case 3 | 4:
                return f"({a}) % ({b})", f"{b} != 0", f"{b} == 0"
            case 5:
                return f"isqrt({b})", f"{b} >= 0", f"{b} < 0"
            case 6:
                sign = self.random.choice(["<<", ">>"])
                return f"(({a}) {sign} ({b}))", f"{b} >= 0", f"{b} < 0"
            case 7:
                rounding = self.random.choice(["floor", "trunc", "ceil"])
                return f"{rounding}({self.leaf()} / ({b}))", f"{b} != 0", f"{b} == 0"
            case _:
                return f"ceildiv({a}, {b})", f"{b} != 0", f"0 == {b}"

    def number(self, depth: int) -> str:
        if depth <= 0:
            return self.leaf()
        match self.random.randrange(8):
            case 0 | 1:
                text, defined, undefined = self.partial(depth)
                if self.random.randrange(2):
                    return f"({text} if {defined} else {self.number(depth - 1)})"
                return f"({self.number(depth - 1)} if {undefined} else {text})"
            case 2:
                return f"({self.partial(depth)[0]})"
            case 3:
                text, defined, _ = self.partial(depth)
                return f"({text}*({self.small()}) if {defined} else {self.leaf()})"
            case 4:
                name = self.random.choice(["min", "max", "gcd"])
                return f"{name}({self.number(depth - 1)}, {self.leaf()})"
            case 5:
                return f"({self.number(depth - 1)} {self.random.choice('+-*')} {self.number(depth - 1)})"
            case 6:
                return f"({self.number(depth - 1)} if {self.condition(depth - 1)} else {self.leaf()})"
            case _:
                return f"abs({self.number(depth - 1)})"

    def comparison(self, depth: int) -> str:
        sign = self.random.choice(["<", "<=", "==", "!=", ">=", ">"])
        return f"{self.number(depth - 1)} {sign} {self.leaf()}"

    def condition(self, depth: int) -> str:
        if depth <= 1:
            return self.comparison(depth)
        text, defined, undefined = self.partial(depth)
        match self.random.randrange(8):
            case 0 | 1:
                return f"({defined} and {text} >= {self.leaf()})"
            case 2:
                return f"({undefined} or {text} <= {self.leaf()})"
            case 3:
                return f"({self.condition(depth - 1)} {self.random.choice(['and', 'or'])} {self.condition(depth - 1)})"
            case 4:
                return f"not {self.comparison(depth)}"
            case 5:
                return f"({text} > {self.leaf()} if {defined} else {self.comparison(depth - 1)})"
            case 6:
                return f"(sqrt({self.small()}) >= {self.random.choice(['1.0', '0.5', '-1.0'])})"
            case _:
                return self.comparison(depth)
