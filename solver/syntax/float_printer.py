"""Print inequalities between ordinals as comparisons of floats.

    >>> from solver.floats import values as floats
    >>> from solver.syntax.printer import text_of
    >>> from solver.terms.interner import Interner
    >>> terms = Interner()
    >>> u, v = (floats.from_pattern(terms.symbol(name)) for name in "uv")
    >>> above = floats.compare(">", u, floats.constant(terms, 2.5))
    >>> print(text_of(above), "|", text_of(above.negation), "|", text_of(floats.compare("<", u, v)))
    double(u) > 2.5 | not double(u) > 2.5 | double(v) > double(u)

A text is used only where it parses back to the same proposition. Of `>= c` and `> c`, the one with the shorter decimal.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from solver.floats import values as floats
from solver.floats.order import pattern_of
from solver.floats.ordinals import LARGEST, NAN, SMALLEST, from_ordinal
from solver.floats.programs import read_function
from solver.floats.substitution import as_float
from solver.floats.values import Float
from solver.syntax.precedence import COMPARISON, Text
from solver.syntax.writer import Writer
from solver.terms.expr import Atom, Expr
from solver.terms.prop import Prop

_PREFIX: Final = "ordinal("
_OPERATION: Final = re.compile(r"\w+\(|//|\*\*|[-+*/%]")
MOST: Final = 40
"""Largest conjunction in which two parts are merged into one comparison."""


def template_of(atom: Atom) -> str:
    """The template of a function over floats, doubles that are given by their bits as such: then their place stands for
    the bits (see `shown_arguments`).
    """
    template = atom.name
    for i, argument in enumerate(atom.args):
        if isinstance(argument, Expr) and pattern_of(argument) is not None:
            template = template.replace(f"from_ordinal({{{i}}})", f"double({{{i}}})")
    return template


def shown_arguments(atom: Atom) -> list[Expr]:
    """The arguments as `template_of` takes them."""
    found = []
    for i, argument in enumerate(atom.args):
        assert isinstance(argument, Expr)
        bits = pattern_of(argument) if f"from_ordinal({{{i}}})" in atom.name else None
        found.append(argument if bits is None else bits)
    return found


def comparison(printer: Writer, p: Prop) -> Text | None:
    """The proposition as one comparison of floats, or the negation of one; None where it is none."""
    parts = p.parts if p.kind == "and" else (p,)
    made = _chain(printer, parts)
    if made is not None:
        return made
    opposite = p.negation
    made = _chain(printer, opposite.parts if opposite.kind == "and" else (opposite,))
    if made is None:
        return None
    equal = _equality(made.text)
    if equal is not None:
        return Text(f"{made.text[:equal]} != {made.text[equal + 4 :]}", COMPARISON, made.cost)
    return Text(f"not {made.text}", COMPARISON, made.cost + 1)


def _equality(text: str) -> int | None:
    """The index of ` == ` in a comparison, outside of all brackets: inside, it is part of an operand."""
    depth = 0
    for position, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if not depth and text.startswith(" == ", position):
            return position
    return None


def grouped(printer: Writer, parts: Sequence[Prop]) -> dict[Prop, Text | None]:
    """The texts of the parts of a conjunction that are comparisons of floats.

    None for a part that the text of another part covers.
    """
    simple = [part for part in parts if not part.parts and _ordinals(part)]
    if len(simple) > MOST:
        return {}
    found: dict[Prop, Text | None] = {}
    for first in simple:
        if first in found:
            continue
        for second in simple:
            made = None if second is first or second in found else _chain(printer, (first, second))
            if made is not None:
                found[first], found[second] = made, None
                break
    for part in simple:
        if part not in found:
            single = comparison(printer, part)
            if single is not None:
                found[part] = single
    return found


def _ordinals(p: Prop) -> list[tuple[Atom, int]]:
    """The ordinals that it is a comparison of, with their coefficients; empty for any other proposition."""
    if p.parts or not 1 <= len(p.terms) <= 2:
        return []
    found = []
    monomials = p.interner.monomials
    for m, c in p.terms:
        atoms = monomials[m]
        if len(atoms) != 1 or abs(c) != 1 or atoms[0].kind != "function" or not atoms[0].name.startswith(_PREFIX):
            return []
        found.append((atoms[0], c))
    return found


def _chain(printer: Writer, parts: Sequence[Prop]) -> Text | None:
    """One comparison, or a chain of two around one value, equivalent to all parts."""
    if not 1 <= len(parts) <= 2:
        return None
    sides = [_ordinals(part) for part in parts]
    if not all(sides):
        return None
    target = Prop.join(parts[0].interner, "and", parts)
    if max(len(side) for side in sides) == 2:
        return _of_two(printer, parts, target)
    if any(side[0][0] is not sides[0][0][0] for side in sides):
        return None
    return _of_one(printer, sides[0][0][0], parts, target)


def _of_one(printer: Writer, atom: Atom, parts: Sequence[Prop], target: Prop) -> Text | None:
    a = _value(atom)
    text, cost = _text(printer, atom)
    if len(parts) == 1 and parts[0].kind in ("eq", "ne"):
        k = abs(parts[0].expr.constant) * (-1 if parts[0].expr.constant * parts[0].terms[0][1] > 0 else 1)
        sign = "==" if parts[0].kind == "eq" else "!="
        c = _constant(a, k)
        if c is None or floats.compare(sign, a, c) is not target:
            return None
        return Text(f"{text} {sign} {c.text}", COMPARISON, cost + 1)
    low, high = SMALLEST, LARGEST
    for part in parts:
        if part.kind != "ge":
            return None
        if part.terms[0][1] > 0:
            low = max(low, -part.expr.constant)
        else:
            high = min(high, part.expr.constant)
    above, below = _limit(a, low, ">"), _limit(a, high, "<")
    made = []
    if low == SMALLEST and high == LARGEST:
        made = [floats.compare("==", a, a)]
        words = f"{text} == {text}"
    elif high == LARGEST and above is not None:
        made = [floats.compare(above[0], a, above[1])]
        words = f"{text} {above[0]} {above[1].text}"
    elif low == SMALLEST and below is not None:
        made = [floats.compare(below[0], a, below[1])]
        words = f"{text} {below[0]} {below[1].text}"
    elif above is not None and below is not None:
        # what is above a number is no NaN
        over = floats.compare(">" if below[0] == "<=" else ">=", a, below[1])
        made = [floats.compare(above[0], a, above[1]), over.negation]
        words = f"{above[1].text} {above[0].replace('>', '<')} {text} {below[0]} {below[1].text}"
    if not made or Prop.join(target.interner, "and", made) is not target:
        return None
    return Text(words, COMPARISON, cost + len(made))


def _of_two(printer: Writer, parts: Sequence[Prop], target: Prop) -> Text | None:
    first = max(parts, key=lambda part: len(part.terms))
    (one, c), (other, d) = _ordinals(first)
    if c == d:
        return None
    if c < 0:
        one, other = other, one
    a, b = _value(one), _value(other)
    for sign, left, x, right, y in (
        (">=", one, a, other, b),
        (">", one, a, other, b),
        ("==", one, a, other, b),
        ("==", other, b, one, a),
    ):
        if floats.compare(sign, x, y) is target:
            (p, m), (q, n) = _text(printer, left), _text(printer, right)
            return Text(f"{p} {sign} {q}", COMPARISON, m + n + 1)
    return None


def _limit(a: Float, k: int, sign: str) -> tuple[str, Float] | None:
    """`>= c` or `> c` for the ordinals from k, `<= c` or `< c` for those up to k."""
    closed, opened = _constant(a, k), _constant(a, k - 1 if sign == ">" else k + 1)
    if closed is None or opened is not None and len(opened.text) < len(closed.text):
        return None if opened is None else (sign, opened)
    return sign + "=", closed


def _constant(a: Float, k: int) -> Float | None:
    return floats.constant(a.interner, from_ordinal(k)) if NAN < k <= LARGEST else None


def _value(atom: Atom) -> Float:
    _, (node,), _ = read_function(atom.name)
    return as_float(node, [argument for argument in atom.args if isinstance(argument, Expr)])


def _text(printer: Writer, atom: Atom) -> tuple[str, int]:
    """The text of the value with this ordinal, and its operators."""
    arguments = [printer.expression(argument) for argument in shown_arguments(atom)]
    template = template_of(atom)[len(_PREFIX) : -1]
    cost = len(_OPERATION.findall(template)) + sum([argument.cost for argument in arguments])
    return template.format(*[argument.text for argument in arguments]), cost
