"""The table of operations: a row for each says all that evaluation, bounds, laws, texts and other systems need.

    >>> from solver.terms.operations import OPERATIONS
    >>> floordiv = OPERATIONS["floordiv"]
    >>> floordiv.evaluate(-7, 2), floordiv.bounds((25, 99), (10, 10)), floordiv.nonzero
    (-4, (2, 9), (1,))
    >>> [law.name for law in OPERATIONS["relu"].laws]
    ['above zero', 'above argument']

The rows of `ATOMS` are what atoms are made of: `Atom.operation` is the row. Those of `DERIVED` are written with them
(`a % b` is `a - b*(a//b)`) and come back in texts and generated code. Whoever reads a row looks there for

- evaluation: `evaluate`, total: 0 where there is no value, `nonnegative` and `nonzero` say where that is;
- bounds: `bounds`, an interval from those of the arguments, and `laws`, which the checker and z3 read as well;
- the normal form: `constructor`, the method of `Interner` that makes it;
- texts: `template`, `folds`; `c`, `smtlib`, `coq` and `sympy` for generated code and other systems.

Opaque functions (`solver.terms.functions`) are rows too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import gcd, isqrt
from typing import Final

from solver.terms import intervals
from solver.terms.intervals import EVERYTHING, Interval

# `...` counts as an explicit Any: the operations of the table take different numbers of arguments
Evaluate = Callable[..., int]  # type: ignore[explicit-any]
Bound = Callable[..., Interval]  # type: ignore[explicit-any]
Statement = Callable[..., object]  # type: ignore[explicit-any]


@dataclass(frozen=True, slots=True)
class Threshold:
    """`f(e) >= k` if and only if `e >= at` (rising) or `e <= at` (falling)."""

    at: int
    rising: bool


@dataclass(frozen=True, slots=True)
class Law:
    """A law of a value v by definition: `conclusion(v, *arguments) >= 0` where one of the premises is not
    negative, and everywhere if there are none. It is about whatever has `+`, `-` and `*`: expressions, terms of z3.
    """

    name: str
    conclusion: Statement
    premises: Sequence[Statement] = ()
    divides: bool = False
    """True if v divides the conclusion, which then may have any sign."""


@dataclass(frozen=True, slots=True)
class Operation:
    """A row of the table."""

    name: str
    arity: int
    evaluate: Evaluate
    bounds: Bound = lambda *_: EVERYTHING
    nonnegative: tuple[int, ...] = ()
    """The arguments that must not be negative."""
    nonzero: tuple[int, ...] = ()
    """The arguments that must not be zero."""
    constructor: str = ""
    """The method of `Interner` that gives its normal form; "" for functions without one."""
    folds: bool = False
    """True if a text may call the operation with any number of arguments, taken in pairs from the left."""
    laws: tuple[Law, ...] = ()
    threshold: Callable[[int], Threshold | bool | None] = lambda k: None
    template: str | None = None
    """The text with `{0}`, `{1}` for the arguments, where it is not `name(argument, ...)`."""
    smtlib: str = ""
    """A term of SMT-LIB, or the name of a function that is uninterpreted there, if it has another."""
    coq: str = ""
    """A term of Coq; "" for an uninterpreted function there."""
    sympy: tuple[str, ...] = ()
    """The classes of sympy and torch that are read as this; the first is written."""
    c: str = ""
    """Statements in C that compute `{v}` in checked 64 bits (`shapes.guards.emit_c`); "" for what is left to Python.
    """

    def text(self, arguments: Sequence[str]) -> str:
        if self.template is not None:
            return self.template.format(*arguments)
        return f"{self.name}({', '.join(arguments)})"


POWER_BITS: Final = 1 << 20


def bounded_power(base: int, exponent: int) -> int:
    """`base ** exponent`; 0 for a negative exponent (outside the domain).

    Raises:
        OverflowError: the result would have more than about a million bits.
    """
    if exponent < 0:
        return 0
    if base.bit_length() * exponent > POWER_BITS and base not in (-1, 0, 1):
        # without the numbers: they may have more digits than Python prints
        raise OverflowError("the power is too large to evaluate")
    return int(base**exponent)


def _no_value(*arguments: int) -> int:
    raise AssertionError("a symbol has no value without an assignment")


SYMBOL: Final = Operation("symbol", 0, _no_value)

ATOMS: Final[tuple[Operation, ...]] = (
    Operation(
        "floordiv",
        2,
        lambda n, d: n // d if d else 0,
        intervals.quotient,
        nonzero=(1,),
        constructor="floordiv",
        laws=(
            Law("below", lambda q, n, d: n - d * q, [lambda q, n, d: d - 1]),
            Law("above", lambda q, n, d: d * q + d - 1 - n, [lambda q, n, d: d - 1]),
            Law("below negative", lambda q, n, d: d * q - n, [lambda q, n, d: -d - 1]),
            Law("above negative", lambda q, n, d: n - d * q - d - 1, [lambda q, n, d: -d - 1]),
        ),
        smtlib="(ite (> {1} 0) (div {0} {1}) (ite (< {1} 0) (div (- {0}) (- {1})) 0))",
        coq="{0} / {1}",
        sympy=("FloorDiv", "CleanDiv"),
        c="if (quotient({0}, {1}, &{v})) goto python;",
    ),
    Operation(
        "relu",
        1,
        lambda e: e if e > 0 else 0,
        intervals.relu,
        constructor="relu",
        laws=(Law("above zero", lambda v, e: v), Law("above argument", lambda v, e: v - e)),
        smtlib="(ite (>= {0} 0) {0} 0)",
        coq="Z.max {0} 0",
        sympy=("Relu",),
        c="{v} = {0} > 0 ? {0} : 0;",
    ),
    Operation(
        "ite",
        2,
        lambda p, e: e if p else 0,
        lambda p, e: intervals.hull((0, 0), e),
        constructor="where",
        smtlib="(ite {0} {1} 0)",
        sympy=("Choice",),
    ),
    Operation(
        "bitand",
        2,
        lambda a, b: a & b,
        intervals.bitand,
        constructor="bit_and",
        laws=(
            Law("at most first", lambda v, a, b: a - v, [lambda v, a, b: a, lambda v, a, b: -b - 1]),
            Law("at most second", lambda v, a, b: b - v, [lambda v, a, b: b, lambda v, a, b: -a - 1]),
        ),
        smtlib="bit_and",
        coq="Z.land {0} {1}",
        sympy=("BitAnd", "BitwiseFn_bitwise_and"),
        c="{v} = {0} & {1};",
    ),
    Operation(
        "power",
        2,
        bounded_power,
        intervals.raised,
        nonnegative=(1,),
        constructor="power",
        smtlib="power",
        coq="{0} ^ {1}",
        sympy=("IntegerPower", "PowByNatural"),
        c="if (power_of({0}, {1}, &{v})) goto python;",
    ),
    Operation(
        "product",
        2,
        lambda a, b: a * b,
        intervals.product,
        constructor="multiply",
        smtlib="(* {0} {1})",
        coq="{0} * {1}",
        sympy=("Product",),
        c="if (__builtin_mul_overflow({0}, {1}, &{v})) goto python;",
    ),
)
"""The operations of the normal form beside sums and products."""

DERIVED: Final[tuple[Operation, ...]] = (
    Operation(
        "mod",
        2,
        lambda a, b: a % b if b else a,
        nonzero=(1,),
        constructor="mod",
        sympy=("PythonMod",),
        c="{v} = remainder_of({0}, {1});",
    ),
    Operation(
        "ceildiv",
        2,
        lambda n, d: -(-n // d) if d else 0,
        nonzero=(1,),
        constructor="ceildiv",
        sympy=("CeilDiv",),
    ),
    Operation("max", 2, max, constructor="maximum", folds=True, sympy=("Max",), c="{v} = {0} > {1} ? {0} : {1};"),
    Operation("min", 2, min, constructor="minimum", folds=True, sympy=("Min",), c="{v} = {0} < {1} ? {0} : {1};"),
    Operation(
        "abs",
        1,
        abs,
        constructor="absolute",
        sympy=("Abs",),
        c="if (__builtin_sub_overflow(0LL, {0}, &{v})) goto python;\nif ({0} > 0) {v} = {0};",
    ),
    Operation("select", 3, lambda p, a, b: a if p else b, constructor="ite", c="{v} = {0} ? {1} : {2};"),
    Operation("bitor", 2, lambda a, b: a | b, constructor="bit_or", sympy=("BitwiseFn_bitwise_or",)),
    Operation("bitxor", 2, lambda a, b: a ^ b, constructor="bit_xor", sympy=("BitwiseFn_bitwise_xor",)),
    Operation(
        "shl", 2, lambda a, b: a << b if b >= 0 else 0, nonnegative=(1,), constructor="shift_left", sympy=("LShift",)
    ),
    Operation(
        "shr", 2, lambda a, b: a >> b if b >= 0 else 0, nonnegative=(1,), constructor="shift_right", sympy=("RShift",)
    ),
)
"""The operations defined in terms of those."""


def _root(n: int) -> int:
    return isqrt(n) if n >= 0 else 0


def _root_bounds(n: Interval) -> Interval:
    lo, hi = n
    return (_root(lo) if lo is not None else 0, None if hi is None else _root(hi))


def _root_threshold(k: int) -> Threshold | bool:
    return Threshold(k * k, rising=True) if k > 0 else True


def _bit_length_bounds(n: Interval) -> Interval:
    lo, hi = n
    least = max(lo if lo is not None else 0, -hi if hi is not None else 0, 0)
    return (least.bit_length(), None if lo is None or hi is None else max(abs(lo), abs(hi)).bit_length())


def _gcd_bounds(*arguments: Interval) -> Interval:
    sizes = [None if lo is None or hi is None else max(abs(lo), abs(hi)) for lo, hi in arguments]
    nonzero = [(lo is not None and lo > 0) or (hi is not None and hi < 0) for lo, hi in arguments]
    if any(nonzero):
        return 1, min([size for size, sure in zip(sizes, nonzero, strict=True) if sure and size], default=None)
    known = [size for size in sizes if size is not None]
    return 0, max(known) if len(known) == len(sizes) else None


FUNCTIONS: Final[tuple[Operation, ...]] = (
    Operation(
        "isqrt",
        1,
        _root,
        _root_bounds,
        nonnegative=(0,),
        laws=(
            Law("square at most", lambda v, n: n - v * v, [lambda v, n: n]),
            Law("next square above", lambda v, n: (v + 1) * (v + 1) - 1 - n, [lambda v, n: n]),
        ),
        threshold=_root_threshold,
        coq="Z.sqrt {0}",
    ),
    Operation("bit_length", 1, int.bit_length, _bit_length_bounds, coq="bit_length {0}"),
    Operation(
        "gcd",
        2,
        gcd,
        _gcd_bounds,
        constructor="gcd",
        folds=True,
        laws=(
            Law("at most first", lambda v, a, b: a - v, [lambda v, a, b: a - 1]),
            Law("at most first negated", lambda v, a, b: -a - v, [lambda v, a, b: -a - 1]),
            Law("at most second", lambda v, a, b: b - v, [lambda v, a, b: b - 1]),
            Law("at most second negated", lambda v, a, b: -b - v, [lambda v, a, b: -b - 1]),
            Law("divides first", lambda v, a, b: a, divides=True),
            Law("divides second", lambda v, a, b: b, divides=True),
        ),
        coq="Z.gcd {0} {1}",
        c="if (gcd_of({0}, {1}, &{v})) goto python;",
    ),
)
"""Functions that are atoms of kind "function", beside those that `solver.terms.functions.register` adds."""

OPERATIONS: Final = {row.name: row for row in (*ATOMS, *DERIVED, *FUNCTIONS)}
CALLED: Final = {name: OPERATIONS[name] for name in ("min", "max", "abs", "ceildiv")}
"""The operations that texts call by name, beside functions."""
