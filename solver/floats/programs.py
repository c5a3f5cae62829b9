"""Programs over IEEE doubles: evaluation by Python itself, and ranges by the monotonicity of correct rounding.

A program is the text of a float expression, with `{0}`, `{1}` where its integer arguments stand:

    >>> from solver.floats.programs import program
    >>> share = program("0.29*float({0})")
    >>> share.evaluate(100)                  # not 29: neither 0.29 nor the product is exact
    28.999999999999996
    >>> share.range((0, 100))
    Range(lo=0.0, hi=28.999999999999996, nan=False, raises=False)
    >>> share.least(lambda x: x >= 28.5)     # the first size from which on that is so
    Threshold(at=99, rising=True)

Why ranges need no widening: IEEE conversion, + - * / and sqrt give the exact result rounded to nearest, and rounding is
monotone. Where the exact operation is monotone the rounded one is too, so its values at the ends of an interval bound
all between. `**` comes from the C library without that guarantee: its ranges are widened by some units in the last
place. A range covers the domain: the integers for which Python raises nothing. `raises`: there may be others.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple, Protocol, cast

from solver.floats.ordinals import LARGEST, NAN, SMALLEST, double, from_ordinal, ordinal, ordinal_of_pattern
from solver.floats.ranges import ANY, MAX, OVERFLOW, Range, apply_range, converted, exact, quotient
from solver.terms.intervals import Interval
from solver.terms.operations import Evaluate, Operation, Threshold

ROUNDINGS: Final = ("floor", "ceil", "trunc", "round")
INTEGER_VALUED: Final = (*ROUNDINGS, "ordinal", "computes")
CALLS: Final = ("float", "truediv", "double", "from_ordinal", "sqrt", "abs", "round")


NAMESPACE: Final[dict[str, object]] = {
    "double": double,
    "ordinal": ordinal,
    "from_ordinal": from_ordinal,
    "floor": math.floor,
    "ceil": math.ceil,
    "trunc": math.trunc,
    "sqrt": math.sqrt,
    "truediv": operator.truediv,
}
"""The values of the names that program texts use beside Python's own."""

_OPERATORS: Final[dict[type[ast.operator], str]] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
}
_PLACE: Final = re.compile(r"\{(\d+)\}")


class Node(NamedTuple):
    """A step: `constant`, an `integer` argument, `float`, `truediv`, `double` of integers, or an operation."""

    operation: str
    operands: tuple[Node, ...] = ()
    value: float = 0.0
    place: int = 0


class _Compiled(Protocol):
    def __call__(self, *arguments: int) -> float: ...


@dataclass(frozen=True, slots=True)
class Program:
    """A float-valued program.

    `direction`: 1 if it never falls as its only argument rises, -1 if it never rises.
    """

    text: str
    arity: int
    node: Node
    run: _Compiled
    direction: int | None

    def evaluate(self, *arguments: int) -> float:
        """The value, exactly as Python computes it; raises what Python raises."""
        return self.run(*arguments)

    def range(self, *arguments: Interval) -> Range:
        """Bounds of the value for integers in these intervals."""
        return _range(self.node, arguments)

    def least(self, accepts: Callable[[float], bool]) -> Threshold | bool | None:
        """The arguments whose values are accepted, for `accepts` true from some float upwards.

        None if unknown.
        """
        if self.arity != 1 or not self.direction or self.range((None, None)).nan:
            return None
        rising = self.direction > 0
        sign = 1 if rising else -1
        limit = _limit(self.node)

        def accepted(e: int) -> bool:
            return accepts(_extended(self.node, sign * e))

        if accepted(-limit):
            return True
        if not accepted(limit):
            return False
        high = 1
        if accepted(0):
            while accepted(-high):
                high = min(2 * high, limit)
            low, high = -high, 0
        else:
            while not accepted(high):
                high = min(2 * high, limit)
            low = 0
        while high - low > 1:  # refused at low, accepted at high
            middle = (low + high) // 2
            if accepted(middle):
                high = middle
            else:
                low = middle
        return Threshold(sign * high, rising)


@lru_cache(maxsize=4096)
def program(text: str) -> Program:
    """The program with this text.

    Raises:
        ValueError: the text is not a float expression over numbered arguments.
    """
    node = _node(ast.parse(_named(text), mode="eval").body)
    return Program(text, _arity(text), node, _compiled(text), _direction(node))


def function_of_text(text: str) -> Operation:
    """The integer function with this text: a rounding or the ordinal of a program, 1 where Python computes it, or
    `int(...)` of a comparison.

    Raises:
        LookupError: the text is neither.
    """
    name, operands, operations = read_function(text)
    if name == "computes":
        return _computes(text, operands[0])
    run = _compiled(text)

    def evaluate(*arguments: int) -> int:
        try:
            return int(run(*arguments))
        except (ArithmeticError, ValueError, TypeError):  # outside the domain; TypeError: a complex power
            return 0

    if name == "ordinal":
        ordered = operands[0]

        def ordinals(*arguments: Interval) -> Interval:
            return ordinal_bounds(_range(ordered, arguments))

        direct = cast(Evaluate, ordinal_of_pattern) if ordered == Node("double", (Node("integer"),)) else evaluate
        return Operation(text, _arity(text), direct, ordinals, template=text)
    if name in ROUNDINGS:
        rounded = program(text[len(name) + 1 : -1])

        def bounds(*arguments: Interval) -> Interval:
            return rounded_bounds(name, rounded.range(*arguments))

        def threshold(k: int) -> Threshold | bool | None:
            return rounded.least(lambda x: reaches(name, x, k))

        return Operation(text, rounded.arity, evaluate, bounds, threshold=threshold, template=text)

    def truth(*arguments: Interval) -> Interval:
        return _comparison_bounds(operations, [_range(operand, arguments) for operand in operands])

    return Operation(text, _arity(text), evaluate, truth, template=text)


def _computes(text: str, node: Node) -> Operation:
    """The function that is 1 where Python computes the program in a text, and 0 where it raises an error."""
    run = _compiled(text[len("computes(") : -1])

    def evaluate(*arguments: int) -> int:
        try:
            return 1 if isinstance(run(*arguments), float) else 0
        except (ArithmeticError, ValueError):
            return 0

    def bounds(*arguments: Interval) -> Interval:
        return (0 if _range(node, arguments).raises else 1), 1

    return Operation(text, _arity(text), evaluate, bounds, template=text)


def read_function(text: str) -> tuple[str, tuple[Node, ...], tuple[ast.cmpop, ...]]:
    """The parts of a function over floats: a rounding (`ordinal`, `computes`) and its operand, or `int`, the operands
    that it compares, and how.

    Raises:
        LookupError: the text is neither.
    """
    match ast.parse(_named(text), mode="eval").body:
        case ast.Call(func=ast.Name(id="int"), args=[ast.Compare(left=left, ops=ops, comparators=others)]):
            return "int", tuple(_node(side) for side in (left, *others)), tuple(ops)
        case ast.Call(func=ast.Name(id=name), args=[inner]) if name in INTEGER_VALUED:
            return name, (_node(inner),), ()
        case _:
            raise LookupError(f"not a function over floats: {text!r}")


def ordinal_bounds(x: Range) -> tuple[int, int]:
    """The bounds of the ordinal of a value in this range."""
    return (NAN if x.nan else ordinal(x.lo)), ordinal(x.hi)


def rounded_bounds(name: str, x: Range) -> Interval:
    """The bounds of a rounding of a value in this range; none where only the size of doubles bounds it."""
    lo, hi = (round_by(name, end) if -MAX < end < MAX else None for end in (x.lo, x.hi))
    return lo, hi


def round_by(name: str, x: float) -> int:
    """The rounding of this name, of a finite value."""
    match name:
        case "floor":
            return math.floor(x)
        case "ceil":
            return math.ceil(x)
        case "trunc":
            return math.trunc(x)
        case _:
            return round(x)


def reaches(name: str, x: float, k: int) -> bool:
    """Return True if the rounding of x is at least k; infinities count as themselves."""
    if name == "floor" or (name == "trunc" and k > 0):
        return x >= k
    if name in ("ceil", "trunc"):
        return x > k - 1
    return x > 0 if math.isinf(x) else round(x) >= k


def _comparison_bounds(operations: Sequence[ast.cmpop], ranges: Sequence[Range]) -> Interval:
    """0 and 1 unless the ranges decide the chain. One that may raise stays open: it may state a domain."""
    if any(x.raises for x in ranges):
        return (0, 1)
    decided = []
    for operation, a, b in zip(operations, ranges, ranges[1:], strict=False):
        if isinstance(operation, ast.Lt | ast.LtE):
            a, b = b, a
        strict = isinstance(operation, ast.Gt | ast.Lt)
        if isinstance(operation, ast.Eq):
            yes, no = a.lo == a.hi == b.lo == b.hi, a.lo > b.hi or a.hi < b.lo
        else:
            yes = a.lo > b.hi if strict else a.lo >= b.hi
            no = a.hi <= b.lo if strict else a.hi < b.lo
        decided.append(1 if yes and not (a.nan or b.nan) else 0 if no else None)
    if all(decided):
        return (1, 1)
    return (0, 0) if 0 in decided else (0, 1)


# ---------------------------------------------------------------------- reading


def _named(text: str) -> str:
    return _PLACE.sub(r"_\1", text)


def _arity(text: str) -> int:
    return 1 + max((int(place) for place in _PLACE.findall(text)), default=-1)


def _compiled(text: str) -> _Compiled:
    """The text as a Python function. `_node` has parsed it before, so it holds nothing but arithmetic."""
    arguments = ", ".join(f"_{i}" for i in range(_arity(text)))
    return cast(_Compiled, eval(f"lambda {arguments}: {_named(text)}", dict(NAMESPACE)))


def _node(tree: ast.expr) -> Node:
    match tree:
        case ast.Constant(value=bool()):
            pass
        case ast.Constant(value=int() | float() as value):
            return Node("constant", value=value)
        case ast.Name(id=name) if name[0] == "_" and name[1:].isdigit():
            return Node("integer", place=int(name[1:]))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            inner = _node(operand)
            return Node("constant", value=-inner.value) if inner.operation == "constant" else Node("negate", (inner,))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return Node(_OPERATORS[type(op)], (_node(left), _node(right)))
        case ast.IfExp(test=ast.Compare(left=test), body=body, orelse=orelse):
            return Node("choose", (_node(test), _node(body), _node(orelse)))
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in CALLS:
            return Node(name, tuple(_node(argument) for argument in arguments))
    raise ValueError(f"not a step of a float program: {ast.unparse(tree)}")


# ---------------------------------------------------------------------- analysis


def outermost_step(node: Node) -> tuple[str, tuple[float | None, ...], Node | None]:
    """The last step of a program as an operation on one value, its constants, and that value; no value if it has two
    that are different, or none.
    """
    match node.operation, node.operands:
        case ("negate" | "abs" | "sqrt") as operation, (a,):
            return operation, (), a
        case ("+" | "*") as operation, (a, b) if a == b and a.operation != "constant":
            return "twice" if operation == "+" else "square", (), a
        case ("+" | "-" | "*" | "/") as operation, (a, b) if b.operation == "constant" and a.operation != "constant":
            return operation, (None, float(b.value)), a
        case ("+" | "-" | "*" | "/") as operation, (a, b) if a.operation == "constant" and b.operation != "constant":
            return operation, (float(a.value), None), b
    return node.operation, (), None


def is_reducible(node: Node) -> bool:
    """Return True to invert comparisons step by step, not by roundings: there are non-integer doubles or cases."""
    inner: Node | None = node
    while inner is not None:
        if inner.operation in ("abs", "choose"):
            return True
        inner = outermost_step(inner)[2]
    return _has_doubles(node)


def _has_doubles(node: Node) -> bool:
    """Return True if the node computes with non-integer doubles."""
    return node.operation in ("double", "from_ordinal") or any(_has_doubles(operand) for operand in node.operands)


def _range(node: Node, arguments: Sequence[Interval]) -> Range:
    match node.operation:
        case "constant":
            return exact(node.value)
        case "integer":
            return converted(arguments[node.place], outward=True)
        case "float":
            return converted(_interval(node.operands[0], arguments))
        case "double":
            lo, hi = _interval(node.operands[0], arguments)
            return exact(double(lo)) if lo is not None and lo == hi and 0 <= lo < 2**64 else ANY
        case "from_ordinal":
            return _of_ordinals(_interval(node.operands[0], arguments))
        case "truediv":
            n, d = node.operands
            return quotient(_interval(n, arguments), _interval(d, arguments))
        case operation:
            return apply_range(operation, [_range(operand, arguments) for operand in node.operands])


def _of_ordinals(interval: Interval) -> Range:
    lo = NAN if interval[0] is None else interval[0]
    hi = LARGEST if interval[1] is None else interval[1]
    if hi <= NAN:
        return exact(math.nan)
    return Range(from_ordinal(max(lo, SMALLEST)), from_ordinal(hi), lo <= NAN)


def _interval(node: Node, arguments: Sequence[Interval]) -> Interval:
    if node.operation == "constant":
        return (int(node.value), int(node.value))
    return arguments[node.place]


def _direction(node: Node) -> int | None:
    """1 if the value never falls as the argument rises, -1 if it never rises, 0 for a constant, None if not known."""
    if node.operation == "constant":
        return 0
    if node.operation == "integer":
        return 1
    directions = [_direction(operand) for operand in node.operands]
    first = directions[0]
    match node.operation, node.operands:
        case ("float" | "sqrt", _):
            return first
        case ("round", _):
            return first
        case ("negate", _):
            return None if first is None else -first
        case ("+", _):
            return _agreed(first, directions[1])
        case ("-", _):
            return _agreed(first, None if directions[1] is None else -directions[1])
        case ("*", (a, b)) if a.operation == "constant" and directions[1] is not None:
            return directions[1] * _sign(a.value)
        case ("*" | "/" | "truediv", (a, b)) if b.operation == "constant" and first is not None and b.value:
            return first * _sign(b.value)
    return None


def _agreed(a: int | None, b: int | None) -> int | None:
    if a is None or b is None or a * b < 0:
        return None
    return a or b


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)


def _limit(node: Node) -> int:
    """The largest size of the argument for which no conversion in a monotone program overflows."""
    if node.operation == "float":
        return OVERFLOW - 1
    if node.operation == "truediv":
        return OVERFLOW * abs(int(node.operands[1].value)) - 1
    return min((_limit(operand) for operand in node.operands), default=OVERFLOW * OVERFLOW)


def _extended(node: Node, e: int) -> float:
    """The value of a monotone program at e.

    The root of a negative number counts as -inf, which keeps it monotone.
    """
    match node.operation, node.operands:
        case "constant", _:
            return node.value
        case "float", _:
            return float(e)
        case "truediv", (_, d):
            return e / int(d.value)
        case "negate", (a,):
            return -_extended(a, e)
        case "sqrt", (a,):
            x = _extended(a, e)
            return math.sqrt(x) if x >= 0 else -math.inf
        case "round", (a, digits):
            return round(_extended(a, e), int(digits.value))
        case operation, (a, b):
            x, y = _extended(a, e), _extended(b, e)
            return x + y if operation == "+" else x - y if operation == "-" else x * y if operation == "*" else x / y
    raise ValueError(f"not a step of a monotone program: {node.operation}")
