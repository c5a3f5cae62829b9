"""Interval arithmetic as terms of Coq: bounds of products and operations from bounds of their operands.

A range is a text with a proof for each end that it has. Which lemma gives an end is read off the signs, as
`solver.terms.intervals` does; the number is computed there and its side conditions again by Coq.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from solver.coq.terms import Names, argument, by_lia, call, integer
from solver.terms import intervals
from solver.terms.atoms import interval_reader
from solver.terms.expr import Expr
from solver.terms.intervals import Interval
from solver.terms.prop import Prop

End = tuple[int, str]
"""A number and the proof that it bounds."""

R = "eq_refl"


@dataclass(frozen=True, slots=True)
class Range:
    """The range `low <= text <= high`; None for a missing end."""

    text: str
    low: End | None
    high: End | None

    @property
    def interval(self) -> Interval:
        return self.low and self.low[0], self.high and self.high[0]

    @property
    def ends(self) -> tuple[End, End]:
        """Both ends of the interval, which must exist."""
        assert self.low is not None and self.high is not None
        return self.low, self.high


def low(text: str, value: int, *proofs: str) -> End:
    """A lower end by `lia`."""
    return value, by_lia(f"{integer(value)} <= {text}", *proofs)


def high(text: str, value: int, *proofs: str) -> End:
    """An upper end by `lia`."""
    return value, by_lia(f"{text} <= {integer(value)}", *proofs)


def constant(value: int) -> Range:
    return renamed(Range("", (value, "I"), (value, "I")), integer(value))


def opposite(r: Range) -> Range:
    """The range of the negated value."""
    text = f"- {argument(r.text)}"
    return Range(text, r.high and low(text, -r.high[0], r.high[1]), r.low and high(text, -r.low[0], r.low[1]))


def renamed(r: Range, text: str, *equation: str) -> Range:
    """The range of an equal expression."""
    return Range(text, r.low and low(text, *r.low, *equation), r.high and high(text, *r.high, *equation))


def product(x: Range, y: Range) -> Range:
    """The range of a product."""
    text = f"{argument(x.text)} * {argument(y.text)}"
    lo, hi = intervals.product(x.interval, y.interval)
    least = None if lo is None else (lo, _low_of_product(x, y, lo))
    most = None if hi is None else high(text, hi, _low_of_product(opposite(x), y, -hi))  # x*y <= v is -x*y >= -v
    return Range(text, least, most)


def _low_of_product(x: Range, y: Range, v: int) -> str:
    """A proof of `v <= x * y`."""
    text = f"{argument(x.text)} * {argument(y.text)}"
    for a, b in ((x, y), (y, x), (opposite(x), opposite(y)), (opposite(y), opposite(x))):
        proof = _low_by_signs(a, b, v)
        if proof is not None:
            return by_lia(f"{integer(v)} <= {text}", proof)
    raise AssertionError("an end without a proof")


def _low_by_signs(x: Range, y: Range, v: int) -> str | None:
    match x, y:
        case Range(low=(0, above), high=(0, below)), _:
            return call("product_of_zero", x.text, y.text, v, R, above, below)
        case Range(low=(a, p)), Range(low=(c, q)) if a >= 0 and c >= 0:
            return call("product_of_lows", x.text, y.text, a, c, v, R, R, R, p, q)
        case Range(low=(a, p), high=(b, s)), Range(low=(c, q), high=(d, t)):
            return call("product_closed", x.text, y.text, a, b, c, d, v, R, R, R, R, p, s, q, t)
        case Range(low=(a, p)), Range(low=(c, q), high=(d, t)) if c >= 0:
            return call("product_half_open", x.text, y.text, a, c, d, v, R, R, R, p, q, t)
    return None


def power(x: Range, k: int) -> Range:
    """The range of a power with a constant exponent."""
    if k == 1:
        return x
    lo, hi = intervals.power(x.interval, k)
    text = f"{argument(x.text)} ^ {k}"
    if x.low is not None and x.low[0] >= 0:
        above = call("power_low", x.text, k, x.low[0], lo or 0, R, R, x.low[1])
        below = None
        if x.high is not None and hi is not None:
            sign = by_lia(f"0 <= {x.text}", x.low[1])
            below = hi, call("power_high", x.text, k, x.high[0], hi, R, sign, x.high[1])
        return Range(text, (lo or 0, above), below)
    if k % 2:
        least = x.low and (x.low[0] ** k, call("odd_power_low", x.text, k, x.low[0], x.low[0] ** k, R, R, x.low[1]))
        most = x.high and (
            x.high[0] ** k, call("odd_power_high", x.text, k, x.high[0], x.high[0] ** k, R, R, x.high[1])
        )  # fmt: skip
        return Range(text, least, most)
    if x.high is not None and x.high[0] <= 0:
        return renamed(power(opposite(x), k), text)
    most = None
    if x.low is not None and x.high is not None and hi is not None:
        most = hi, call("even_power_high", x.text, k, x.low[0], x.high[0], hi, R, R, R, x.low[1], x.high[1])
    return Range(text, (0, call("even_power_sign", x.text, k, 0, R, R)), most)


def quotient(n: Range, d: Range, by: int | None) -> Range:
    """The range of a quotient, rounded down; `by` is the divisor where it is a constant."""
    text = f"{argument(n.text)} / {argument(d.text)}"
    if by is not None and by > 0:
        least = n.low and (n.low[0] // by, _divided(f"{integer(n.low[0] // by)} <= {text}", n.low[1]))
        most = n.high and (n.high[0] // by, _divided(f"{text} <= {integer(n.high[0] // by)}", n.high[1]))
        return Range(text, least, most)
    lo, hi = intervals.quotient(n.interval, d.interval)
    if lo is None and hi is None:
        return Range(text, None, None)
    if d.low is None or d.low[0] < 1:
        over, under = opposite(n), opposite(d)
        same = call("quotient_opposite", n.text, d.text, over.text, under.text, "_", R, R, R)
        return renamed(quotient(over, under, None), text, same)
    c, q = d.low
    least = most = None
    if n.low is not None and lo is not None:
        least_n, p = n.low
        if least_n < 0:
            least = lo, call("quotient_low_negative", n.text, d.text, least_n, c, lo, R, R, R, p, q)
        elif d.high is None:
            least = lo, call("quotient_low_positive", n.text, d.text, least_n, c, lo, R, R, R, p, q)
        else:
            least = lo, call("quotient_low_closed", n.text, d.text, least_n, c, d.high[0], lo, R, R, R, p, q, d.high[1])
    if n.high is not None and hi is not None:
        h, p = n.high
        if h >= 0:
            most = hi, call("quotient_high_positive", n.text, d.text, h, c, hi, R, R, R, p, q)
        elif d.high is None:
            most = hi, call("quotient_high_open", n.text, d.text, h, c, hi, R, R, R, p, q)
        else:
            most = hi, call("quotient_high_closed", n.text, d.text, h, c, d.high[0], hi, R, R, R, p, q, d.high[1])
    return Range(text, least, most)


def _divided(wanted: str, proof: str) -> str:
    """A proof of a statement about a quotient by a constant."""
    return call("since", wanted, proof, "by_division")


def relu(x: Range) -> Range:
    text = f"Z.max {argument(x.text)} 0"
    lo, hi = intervals.relu(x.interval)
    assert lo is not None
    most = high(text, hi, x.high[1]) if x.high and hi is not None else None
    return Range(text, low(text, lo, *(x.low[1:] if x.low else ())), most)


def choice(test: str, x: Range) -> Range:
    """The range of a value or zero."""
    lo, hi = intervals.hull((0, 0), x.interval)
    least = x.low and (lo or 0, call("choice_low", test, x.text, x.low[0], lo or 0, R, x.low[1]))
    most = x.high and (hi or 0, call("choice_high", test, x.text, x.high[0], hi or 0, R, x.high[1]))
    return Range(f"(if {test} then {x.text} else 0)", least, most)


def bitand(a: Range, b: Range) -> Range:
    text = f"Z.land {argument(a.text)} {argument(b.text)}"
    lo, hi = intervals.bitand(a.interval, b.interval)
    least = most = None
    for side, r in (("left", a), ("right", b)):
        if r.low is not None and r.low[0] >= 0:
            if least is None and lo is not None:
                least = 0, call(f"land_low_{side}", a.text, b.text, r.low[0], 0, R, R, r.low[1])
            if r.high is not None and r.high[0] == hi:
                most = hi, call(f"land_high_{side}", a.text, b.text, r.low[0], hi, hi, R, R, r.low[1], r.high[1])
    return Range(text, least, most)


def raised(a: Range, b: Range) -> Range:
    """The range of a power with a symbolic exponent."""
    text = f"{argument(a.text)} ^ {argument(b.text)}"
    lo, hi = intervals.raised(a.interval, b.interval)
    if lo is None or a.low is None or b.low is None:
        return Range(text, None, None)
    ends = a.text, b.text, a.low[0], b.low[0]
    if lo == 1:
        least = call("raised_low_open", *ends, 1, R, R, R, a.low[1], b.low[1])
    else:
        least = call("raised_low", *ends, lo, R, R, R, a.low[1], b.low[1])
    most = None
    if hi is not None and a.high is not None and b.high is not None:
        proofs = a.low[1], b.low[1], a.high[1], b.high[1]
        most = hi, call("raised_high", *ends, a.high[0], b.high[0], hi, R, R, R, *proofs)
    return Range(text, (lo, least), most)


def root(x: Range, bounds: Interval) -> Range:
    lo, hi = bounds
    least = call("root_low", x.text, x.low[0], lo or 0, R, x.low[1]) if x.low else call("root_low_open", x.text, 0, R)
    most = x.high and hi is not None and (hi, call("root_high", x.text, x.high[0], hi, R, x.high[1])) or None
    return Range(f"Z.sqrt {argument(x.text)}", (lo or 0, least), most)


def bit_length(x: Range, bounds: Interval) -> Range:
    lo, hi = bounds[0] or 0, bounds[1]
    if lo and x.low is not None and x.low[0] > 0:
        least = call("bit_length_low", x.text, x.low[0], lo, R, R, x.low[1])
    elif lo and x.high is not None:
        least = call("bit_length_low_negative", x.text, x.high[0], lo, R, R, x.high[1])
    else:
        least = call("bit_length_low_open", x.text, lo, R)
    most = None
    if hi is not None:
        (low, above), (high, below) = x.ends
        most = hi, call("bit_length_high", x.text, low, high, hi, R, above, below)
    return Range(f"bit_length {argument(x.text)}", (lo, least), most)


def reader(names: Names, premises: Sequence[tuple[Prop, str]]) -> Callable[[Expr], Range]:
    """The range of an expression that inequalities about its form give, as `terms.atoms.interval_reader` reads them."""
    found = interval_reader([p for p, _ in premises])
    proofs = dict(premises)

    def range_of(e: Expr) -> Range:
        lo, hi = found(e)
        text = names.expression(e)

        def given(p: Prop) -> list[str]:
            return [proofs[p]] if e.terms else []

        return Range(
            text,
            None if lo is None else low(text, lo, *given(Prop.nonnegative(e - lo))),
            None if hi is None else high(text, hi, *given(Prop.nonnegative(hi - e))),
        )

    return range_of
