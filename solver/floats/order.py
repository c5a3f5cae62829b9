"""From floats to integers: roundings and comparisons.

    >>> from solver.floats import values as floats
    >>> from solver.terms.interner import Interner
    >>> terms = Interner()
    >>> s, t = terms.symbol("s"), terms.symbol("t")
    >>> half = floats.quotient(s, terms.constant(2))
    >>> floats.compare(">=", half, floats.constant(terms, 1.5)) is terms.ge(s, 3)
    True
    >>> floats.compare(">=", half, t) is terms.ge(floats.floor(half), t)
    True

A monotone program of one argument, compared with a constant, is a bound of the argument. An integer is compared with
the rounding of a float. Other floats are compared by their ordinals, one integer function (see
`solver.floats.ordinals`), so that order and bounds are those of integers:

    >>> u = floats.from_pattern(terms.symbol("u"))
    >>> floats.compare(">", floats.add(u, floats.constant(terms, 1.0)), floats.constant(terms, 3.5)) is (
    ...     floats.compare(">", u, floats.constant(terms, 2.5)))
    True

What remains, and what has an exact form where integers are small, is one opaque function with the values 0 and 1.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Final

from solver.floats.exact import has_exact_form
from solver.floats.ordinals import (
    LARGEST,
    NAN,
    SMALLEST,
    Ordinals,
    complement,
    from_ordinal,
    inverse_image,
    values_where,
)
from solver.floats.ordinals import ordinal as to_ordinal
from solver.floats.programs import Node, is_reducible, ordinal_bounds, outermost_step, program, round_by
from solver.floats.ranges import MAX
from solver.floats.value import Float, Places, constant
from solver.hooks import Hook
from solver.terms.choice import ite
from solver.terms.expr import Expr, TermTable
from solver.terms.functions import function
from solver.terms.operations import Threshold
from solver.terms.prop import Prop

ORDINAL_OF_PATTERN: Final = "ordinal(double({0}))"
_MIRRORED: Final = {"<": ">", "<=": ">="}
_MIRROR_IMAGES: Final = {">": "<", ">=": "<="}
_LEAF: Final = re.compile(r"double\(\{(\d+)\}\)|\{(\d+)\}")


def _rounded(name: str, a: Float) -> Expr:
    """The rounding of this name, defined where `finite(a)` holds."""
    if a.value is not None:
        return a.interner.constant(round_by(name, a.value))
    text, arguments = in_order(a)
    return a.interner.apply(function(f"{name}({text})"), *arguments)


floor, ceil, trunc, round_half_even = [partial(_rounded, name) for name in ("floor", "ceil", "trunc", "round")]


def finite(a: Float) -> Prop:
    """The condition that a is defined and finite, so that it has a rounding."""
    interner = a.interner
    if a.value is not None:
        return Prop.truth(interner, math.isfinite(a.value))
    if _always_finite(a):
        return a.domain
    ends = [compare("<=", a, constant(interner, MAX)), compare(">=", a, constant(interner, -MAX))]
    return Prop.join(interner, "and", [a.domain, *ends])


def _always_finite(a: Float) -> bool:
    """Return True if no value in the domain is infinite or a NaN, whatever the arguments."""
    return a.program.range(*[(None, None)] * len(a.arguments)).finite


def not_negative(a: Float) -> Prop:
    """The condition that a is at least zero or a NaN, so that Python takes its root."""
    return compare("<", a, constant(a.interner, 0.0)).negation


def not_a_number(a: Float) -> Prop:
    """The condition that a is a NaN."""
    may_be = a.value is None and a.program.range(*[(None, None)] * len(a.arguments)).nan
    return compare("==", a, a).negation if may_be else Prop.truth(a.interner, a.value != a.value)


def nonzero(a: Float) -> Prop:
    return compare("!=", a, constant(a.interner, 0.0))


def compare(operation: str, a: Float | Expr, b: Float | Expr) -> Prop:
    """`a < b` and the like; integers are compared exactly, without conversion, as Python does.

    It makes sense where the domains of both do.
    """
    if operation == "!=":
        return compare("==", a, b).negation
    if operation in _MIRRORED:
        return compare(_MIRRORED[operation], b, a)
    if isinstance(b, Expr):
        if isinstance(a, Expr):
            return {">=": Prop.ge, ">": Prop.gt, "==": Prop.eq}[operation](a, b)
        if b.is_constant:
            return _float_against(operation, a, b.constant)
        return _integer_against(operation, b, a, below=True)
    if isinstance(a, Expr):
        if a.is_constant:
            return _float_below(operation, a.constant, b)
        return _integer_against(operation, a, b, below=False)
    if b.value is not None:
        return _float_against(operation, a, b.value)
    if a.value is not None:
        return _float_below(operation, a.value, b)
    if has_exact_form(a.program.node) and has_exact_form(b.program.node):
        return _opaque(operation, a, b)
    return _ordered(operation, a, b)


def _ordered(operation: str, a: Float, b: Float) -> Prop:
    """A comparison by ordinals: if the lesser side is no NaN, the greater is none either."""
    interner = a.interner
    x, y = ordinal(a), ordinal(b)
    holds = {">=": Prop.ge, ">": Prop.gt, "==": Prop.eq}[operation](x, y)
    lowest, _ = ordinal_bounds(b.program.range(*[(None, None)] * len(b.arguments)))
    return holds if lowest > NAN else Prop.join(interner, "and", [holds, Prop.ge(y, SMALLEST)])


def _float_against(operation: str, a: Float, c: float) -> Prop:
    """`a >= c`, `a > c` or `a == c` for a constant c (an int is compared exactly)."""
    interner = a.interner
    if c != c:  # a NaN
        return Prop.truth(interner, False)
    if a.value is not None:
        holds = a.value >= c if operation == ">=" else a.value > c if operation == ">" else a.value == c
        return Prop.truth(interner, holds)
    found = _by_integers(operation, a, c)
    return within(a, values_where(operation, c)) if found is None else found


def _by_integers(operation: str, a: Float, c: float) -> Prop | None:
    """The comparison as one of integers, or as a function of integers that has an exact form.

    None for neither.
    """
    interner = a.interner
    least, above = _threshold(a.text, c, strict=False), _threshold(a.text, c, strict=True)
    if least is not None and above is not None:
        at_least, more = _bound(a.arguments[0], least), _bound(a.arguments[0], above)
        if operation == "==":
            return Prop.join(interner, "and", [at_least, more.negation])
        return at_least if operation == ">=" else more
    if is_reducible(a.program.node):
        return None
    if (isinstance(c, int) or c.is_integer()) and operation != "==" and _always_finite(a):
        return Prop.ge(floor(a), math.floor(c)) if operation == ">=" else Prop.gt(ceil(a), math.floor(c))
    if has_exact_form(a.program.node):
        return _opaque(operation, a, constant(interner, c) if isinstance(c, float) else interner.constant(c))
    return None


@lru_cache(maxsize=4096)
def _threshold(text: str, c: float, *, strict: bool) -> Threshold | bool | None:
    """The least argument at which a program reaches c, or exceeds it if strict."""
    return program(text).least(lambda x: x > c if strict else x >= c)


def _float_below(operation: str, c: float, a: Float) -> Prop:
    """`c >= a`, `c > a` or `c == a`."""
    if operation == "==":
        return _float_against("==", a, c)
    if c != c or a.value is not None and a.value != a.value:  # a NaN
        return Prop.truth(a.interner, False)
    if a.value is None and a.program.range(*[(None, None)] * len(a.arguments)).nan:
        if has_exact_form(a.program.node):
            return _opaque(operation, constant(a.interner, c) if isinstance(c, float) else a.interner.constant(c), a)
        return within(a, values_where(_MIRROR_IMAGES[operation], c))
    return _float_against(">" if operation == ">=" else ">=", a, c).negation


def within(a: Float, values: Ordinals) -> Prop:
    """State that a value is in a set of doubles: invert monotone steps, then compare the rest by its ordinal."""
    text, arguments = in_order(a)
    return _inside(a.interner, program(text).node, arguments, values)


float_maker: Final[Hook[Callable[[Node, Sequence[Expr]], Float]]] = Hook()
"""The steps of a program on these arguments, by `solver.floats.substitution`."""


def _inside(interner: TermTable, node: Node, arguments: Sequence[Expr], values: Ordinals) -> Prop:
    while True:
        if not complement(values):
            return Prop.truth(interner, True)
        operation, constants, inner = outermost_step(node)
        before = None if inner is None else inverse_image(operation, constants, values)
        if before is None or inner is None:
            break
        node, values = inner, before
    match node.operation:
        case "choose":
            test, *branches = node.operands
            p = Prop.gt(arguments[test.place], 0)
            first, second = (_inside(interner, branch, arguments, values) for branch in branches)
            # the last part is implied, and shows at once what holds, or does not, of both values
            cases = ((p, first), (p.negation, second), (first, second))
            return Prop.join(interner, "or", [Prop.join(interner, "and", case) for case in cases])
        case "from_ordinal" if node.operands[0].operation == "integer":
            return _among(arguments[node.operands[0].place], values, NAN, LARGEST)
    a = float_maker.call(node, arguments)
    if a.value is not None:
        k = to_ordinal(a.value)
        return Prop.truth(interner, any(lo <= k <= hi for lo, hi in values))
    lowest, highest = ordinal_bounds(a.program.range(*[(None, None)] * len(a.arguments)))
    if lowest > NAN:
        parts = [_between(a, max(lo, SMALLEST), hi) for lo, hi in values if hi > NAN]
        found = [part for part in parts if part is not None]
        if len(found) == len(parts):
            return Prop.join(interner, "or", found)
    return _among(ordinal(a), values, lowest, highest)


def _between(a: Float, lo: int, hi: int) -> Prop | None:
    """State by comparisons of integers, if possible, that a value, never a NaN, has an ordinal from lo to hi."""
    if lo == hi and has_exact_form(a.program.node):
        return _by_integers("==", a, from_ordinal(lo))
    parts = []
    if lo > SMALLEST:
        parts.append(_by_integers(">=", a, from_ordinal(lo)))
    if hi < LARGEST:
        above = _by_integers(">", a, from_ordinal(hi))
        parts.append(None if above is None else above.negation)
    known = [part for part in parts if part is not None]
    return Prop.join(a.interner, "and", known) if len(known) == len(parts) else None


def _among(e: Expr, values: Ordinals, lowest: int, highest: int) -> Prop:
    """State that an ordinal, known to be within these bounds, is in a set."""
    interner = e.interner
    others = complement(values, lowest, highest)
    if len(others) < len([1 for lo, hi in values if hi >= lowest and lo <= highest]):
        return _union(e, others, lowest, highest).negation
    return _union(e, values, lowest, highest) if values else Prop.truth(interner, False)


def _union(e: Expr, values: Ordinals, lowest: int, highest: int) -> Prop:
    interner = e.interner
    parts = []
    for lo, hi in values:
        if hi < lowest or lo > highest:
            continue
        if lo == hi:
            parts.append(Prop.eq(e, lo))
            continue
        ends = [Prop.ge(e, lo)] if lo > lowest else []
        parts.append(Prop.join(interner, "and", [*ends, Prop.le(e, hi)] if hi < highest else ends))
    return Prop.join(interner, "or", parts)


def ordinal(a: Float) -> Expr:
    """The ordinal of a value among doubles (`solver.floats.ordinals`)."""
    if a.value is not None:
        return a.interner.constant(to_ordinal(a.value))
    text, arguments = in_order(a)
    if text == "from_ordinal({0})" and pattern_of(arguments[0]) is not None:
        return arguments[0]
    return a.interner.apply(function(f"ordinal({text})"), *arguments)


def pattern_of(e: Expr) -> Expr | None:
    """The bits of the double whose ordinal is e; None if e is no such ordinal."""
    if len(e.terms) == 1 and e.terms[0][1] == 1 and not e.constant:
        atoms = e.interner.monomials[e.terms[0][0]]
        if len(atoms) == 1 and atoms[0].name == ORDINAL_OF_PATTERN and isinstance(atoms[0].args[0], Expr):
            return atoms[0].args[0]
    return None


def in_order(a: Float) -> tuple[str, tuple[Expr, ...]]:
    """The text and arguments of a value, doubles that are given by their bits as doubles given by their ordinals.

    That forgets the sign of zeros, which no rounding and no comparison tells apart (a divisor that is zero is outside
    the domain), and gives what is computed of such doubles their order and their bounds.
    """
    if "double(" not in a.text:
        return a.text, a.arguments
    places = Places(())

    def placed(found: re.Match[str]) -> str:
        bits = found[1]
        if bits is None:
            return places.of(a.arguments[int(found[2])])
        return f"from_ordinal({places.of(a.interner.apply(function(ORDINAL_OF_PATTERN), a.arguments[int(bits)]))})"

    return _LEAF.sub(placed, a.text), tuple(places.arguments)


def _bound(e: Expr, threshold: Threshold | bool) -> Prop:
    interner = e.interner
    if isinstance(threshold, bool):
        return Prop.truth(interner, threshold)
    return Prop.ge(e, threshold.at) if threshold.rising else Prop.le(e, threshold.at)


def _integer_against(operation: str, e: Expr, x: Float, *, below: bool) -> Prop:
    """`e op x`, or `x op e` if below, by the roundings of x where it has them."""
    interner = e.interner
    if x.value is None:
        if not _always_finite(x):
            return _opaque(operation, x, e) if below else _opaque(operation, e, x)
    elif not math.isfinite(x.value):
        infinite = x.value > 0 if below else x.value < 0
        return Prop.truth(interner, infinite and operation != "==")
    match operation, below:
        case ">=", True:
            return Prop.ge(floor(x), e)
        case ">", True:
            return Prop.gt(ceil(x), e)
        case ">=", False:
            return Prop.ge(e, ceil(x))
        case ">", False:
            return Prop.gt(e, floor(x))
        case _:
            return Prop.join(interner, "and", [Prop.eq(e, floor(x)), Prop.eq(e, ceil(x))])


def _opaque(operation: str, a: Float | Expr, b: Float | Expr) -> Prop:
    """The comparison as one opaque function with the values 0 and 1."""
    places = Places(())
    sides = [places.text(side) if isinstance(side, Float) else f"({places.of(side)})" for side in (a, b)]
    interner = a.interner
    return Prop.ge(interner.apply(function(f"int({sides[0]} {operation} {sides[1]})"), *places.arguments), 1)


def truth_as_integer(p: Prop) -> Expr:
    """`int(p)`: 1 or 0; a comparison of floats is such a function itself."""
    interner = p.interner
    if p.kind == "ge":
        value = p.expr + 1
        if len(value.terms) == 1 and value.terms[0][1] == 1 and not value.constant:
            atoms = interner.monomials[value.terms[0][0]]
            if len(atoms) == 1 and atoms[0].kind == "function" and atoms[0].name.startswith("int("):
                return value
    return ite(interner, p, interner.one, interner.zero)
