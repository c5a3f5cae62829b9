"""MLIR's affine maps and integer sets, as sizes and propositions.

    >>> from frontends.mlir.affine import read_map, read_set
    >>> from shapes import ShapeEnv
    >>> env = ShapeEnv(origin=lambda: None)
    >>> x, n = env.sizes("x n")
    >>> read_map("affine_map<(d0)[s0] -> (d0 ceildiv 4 + s0, d0 mod 8)>").apply(env, [x], [n])
    (n + ceildiv(x, 4), x % 8)
    >>> read_set("affine_set<(d0)[s0] : (d0 - s0 >= 0, d0 mod 4 == 0)>").holds(env, [x], [n])
    n <= x and x % 4 == 0
    >>> read_map("(d0, d1) -> (d0 * d1)")
    Traceback (most recent call last):
    solver.errors.ParseError: not affine: one side of `*` is a constant or made of symbols
      (d0, d1) -> (d0 * d1)
                      ^

`floordiv`, `ceildiv` and `mod` round down, up and down. MLIR defines them for positive divisors, so one that the facts
do not show to be positive is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NoReturn, TypeVar

from shapes.accepted import shown
from shapes.env import ShapeEnv
from shapes.errors import ParseError, ShapeError, Undefined
from shapes.symbolic.choices import Int, Truth, sym_and
from solver.decide.verdict import Always

Found = TypeVar("Found")
LARGEST: Final = 2**63 - 1
DEEPEST: Final = 100


@dataclass(frozen=True, slots=True)
class Operation:
    """`left operator right`; operands are numbers, names, or operations."""

    operator: str
    left: Affine
    right: Affine

    def __str__(self) -> str:
        return f"({self.left} {self.operator} {self.right})"


Affine = int | str | Operation
DIVISIONS: Final = ("floordiv", "ceildiv", "mod")


@dataclass(frozen=True, slots=True)
class Inputs:
    """The names of dimensions and symbols."""

    dims: tuple[str, ...]
    symbols: tuple[str, ...]

    def values(self, dims: Sequence[Int], symbols: Sequence[Int]) -> dict[str, Int]:
        if len(dims) != len(self.dims) or len(symbols) != len(self.symbols):
            raise ShapeError(
                f"{len(dims)} dimensions and {len(symbols)} symbols: expected {len(self.dims)} and {len(self.symbols)}"
            )
        return dict(zip((*self.dims, *self.symbols), (*dims, *symbols)))

    def __str__(self) -> str:
        return f"({', '.join(self.dims)})" + (f"[{', '.join(self.symbols)}]" if self.symbols else "")


@dataclass(frozen=True, slots=True)
class AffineMap:
    """A map from dimensions and symbols to sizes."""

    inputs: Inputs
    results: tuple[Affine, ...]

    def apply(self, env: ShapeEnv, dims: Sequence[Int] = (), symbols: Sequence[Int] = ()) -> tuple[Int, ...]:
        """The sizes that it gives.

        Raises:
            Undefined: a divisor is not positive under the facts.
        """
        values = self.inputs.values(dims, symbols)
        return tuple([_value(env, each, values) for each in self.results])

    def __str__(self) -> str:
        return f"affine_map<{self.inputs} -> ({', '.join(map(str, self.results))})>"


@dataclass(frozen=True, slots=True)
class IntegerSet:
    """Constraints on dimensions and symbols: each is `left sign right`."""

    inputs: Inputs
    constraints: tuple[tuple[Affine, str, Affine], ...]

    def holds(self, env: ShapeEnv, dims: Sequence[Int] = (), symbols: Sequence[Int] = ()) -> Truth:
        """The proposition that these are in the set.

        Raises:
            Undefined: a divisor is not positive under the facts.
        """
        values = self.inputs.values(dims, symbols)
        parts = [
            COMPARISONS[sign](_value(env, left, values), _value(env, right, values))
            for left, sign, right in self.constraints
        ]
        return sym_and(True, *parts)

    def __str__(self) -> str:
        return f"affine_set<{self.inputs} : ({', '.join([f'{a} {sign} {b}' for a, sign, b in self.constraints])})>"


COMPARISONS: Final[Mapping[str, Callable[[Int, Int], Truth]]] = {
    ">=": lambda a, b: a >= b,
    "<=": lambda a, b: a <= b,
    "==": lambda a, b: a == b,
}


def _value(env: ShapeEnv, affine: Affine, values: Mapping[str, Int]) -> Int:
    if isinstance(affine, int):
        return affine
    if isinstance(affine, str):
        return values[affine]
    left, right = _value(env, affine.left, values), _value(env, affine.right, values)
    if affine.operator in DIVISIONS:
        positive = right > 0
        if positive is not True and (positive is False or not isinstance(env.ask(positive), Always)):
            raise Undefined(f"`{affine}`: the divisor {right} is not known to be positive; assume `{right} >= 1` first")
    match affine.operator:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "floordiv":
            return left // right
        case "ceildiv":
            return -(-left // right)
        case _:
            return left % right


def read_map(text: str) -> AffineMap:
    """Parse `affine_map<(d0)[s0] -> (d0 + s0)>`, or what stands between `<` and `>`.

    Raises:
        ParseError: MLIR does not accept it.
    """
    return _Parser(text, "an affine map").whole("affine_map", _Parser.map)


def read_set(text: str) -> IntegerSet:
    """Parse `affine_set<(d0)[s0] : (d0 - s0 >= 0, d0 mod 4 == 0)>`, or what stands between `<` and `>`.

    Raises:
        ParseError: MLIR does not accept it.
    """
    return _Parser(text, "an integer set").whole("affine_set", _Parser.set)


TOKEN: Final = re.compile(r"\s*(?:(0x[0-9a-fA-F]+|\d+)|([A-Za-z_][\w$.]*)|(->|>=|<=|==|[-+*()\[\],:<>]))")


class _Parser:
    """A parser by recursive descent."""

    def __init__(self, text: str, expected: str) -> None:
        if not isinstance(text, str):
            raise ShapeError(f"text={shown(text)}: expected {expected} as MLIR writes it")
        self.text, self.position, self.depth = text, 0, 0
        self.inputs = Inputs((), ())

    def whole(self, wrapper: str, read: Callable[[_Parser], Found]) -> Found:
        wrapped = self.take(wrapper)
        if wrapped:
            self.expect("<")
        found = read(self)
        if wrapped:
            self.expect(">")
        if self.text[self.position :].strip():
            self.refuse("expected the end")
        return found

    def map(self) -> AffineMap:
        self.read_inputs()
        self.expect("->")
        return AffineMap(self.inputs, tuple(self.listed("(", ")", self.sum)))

    def set(self) -> IntegerSet:
        self.read_inputs()
        self.expect(":")
        return IntegerSet(self.inputs, tuple(self.listed("(", ")", self.constraint)))

    def read_inputs(self) -> None:
        dims = tuple(self.listed("(", ")", self.name))
        symbols = tuple(self.listed("[", "]", self.name)) if self.peek() == "[" else ()
        if len({*dims, *symbols}) < len(dims) + len(symbols):
            self.refuse("a name occurs twice")
        self.inputs = Inputs(dims, symbols)

    def listed(self, opening: str, closing: str, read: Callable[[], Found]) -> list[Found]:
        self.expect(opening)
        found: list[Found] = []
        while self.peek() != closing:
            if found:
                self.expect(",")
            found.append(read())
        self.expect(closing)
        return found

    def constraint(self) -> tuple[Affine, str, Affine]:
        left = self.sum()
        for sign in COMPARISONS:
            if self.take(sign):
                return left, sign, self.sum()
        self.refuse("expected >=, <= or ==")

    def sum(self) -> Affine:
        left = self.product()
        while (sign := self.peek()) in ("+", "-"):
            self.expect(sign)
            left = Operation(sign, left, self.product())
        return left

    def product(self) -> Affine:
        left = self.operand()
        while (operator := self.peek()) in ("*", *DIVISIONS):
            start = self.position
            self.expect(operator)
            right = self.operand()
            fixed = [not self.depends(right), operator == "*" and not self.depends(left)]
            if not any(fixed):
                side = "one side" if operator == "*" else "the right side"
                self.refuse(f"not affine: {side} of `{operator}` is a constant or made of symbols", start)
            left = Operation(operator, left, right)
        return left

    def depends(self, affine: Affine) -> bool:
        """Return True if an expression contains a dimension."""
        if isinstance(affine, Operation):
            return self.depends(affine.left) or self.depends(affine.right)
        return affine in self.inputs.dims

    def operand(self) -> Affine:
        self.depth += 1
        if self.depth > DEEPEST:
            self.refuse("nested too deeply")
        try:
            if self.take("-"):
                found = self.operand()
                return -found if isinstance(found, int) else Operation("*", -1, found)
            if self.take("("):
                found = self.sum()
                self.expect(")")
                return found
            token = self.peek()
            if token[:1].isdigit():
                self.expect(token)
                if (number := int(token, 0 if token.startswith("0x") else 10)) > LARGEST:
                    self.refuse("a constant of more than 63 bits")
                return number
            name = self.name()
            if name not in (*self.inputs.dims, *self.inputs.symbols):
                self.refuse(f"{name} is neither a dimension nor a symbol here")
            return name
        finally:
            self.depth -= 1

    def name(self) -> str:
        token = self.peek()
        if not re.match("[A-Za-z_]", token):
            self.refuse("expected a name")
        self.expect(token)
        return token

    def peek(self) -> str:
        match = TOKEN.match(self.text, self.position)
        return match[0].strip() if match else ""

    def take(self, token: str) -> bool:
        if self.peek() != token:
            return False
        match = TOKEN.match(self.text, self.position)
        assert match is not None
        self.position = match.end()
        return True

    def expect(self, token: str) -> None:
        if not self.take(token):
            self.refuse(f"expected `{token}`")

    def refuse(self, why: str, position: int | None = None) -> NoReturn:
        place = self.position if position is None else position
        raise ParseError(why, self.text, place + len(self.text[place:]) - len(self.text[place:].lstrip()))


__all__ = ["AffineMap", "IntegerSet", "read_map", "read_set"]
