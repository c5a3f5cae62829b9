"""Families of questions that programs ask, each for any number of parts.

    >>> case = FAMILIES["offsets"].case(3)
    >>> case.facts, case.question, case.truth
    (('o0 <= o1', 'o1 <= o2', 'o2 <= o3'), 'o0 <= o3', 'always')

A case is what is known and one question. Its truth is known from how it was made: `tests/benchmarks/test_families.py`
holds it against samples and z3.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from math import prod


@dataclass(frozen=True, slots=True)
class Size:
    """A declared size: its name, and its limits."""

    name: str
    lo: int | None = 0
    hi: int | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """A question, what is known, and the truth: `always`, `never` or `depends`."""

    sizes: tuple[Size, ...]
    facts: tuple[str, ...]
    question: str
    truth: str = "always"


@dataclass(frozen=True, slots=True)
class Family:
    """Cases of one kind, made for each number of parts in `parts`."""

    name: str
    case: Callable[[int], Case]
    parts: tuple[int, ...]


FAMILIES: dict[str, Family] = {}


def family(*parts: int) -> Callable[[Callable[[int], Case]], Callable[[int], Case]]:
    def register(case: Callable[[int], Case]) -> Callable[[int], Case]:
        name = case.__name__.replace("_", " ")
        FAMILIES[name] = Family(name, case, parts)
        return case

    return register


def sizes(names: Sequence[str], lo: int | None = 0, hi: int | None = None) -> tuple[Size, ...]:
    return tuple([Size(name, lo, hi) for name in names])


def named(letter: str, n: int) -> list[str]:
    return [f"{letter}{i}" for i in range(n)]


def pairs(names: Sequence[str]) -> list[tuple[str, str]]:
    return list(pairwise(names))


# ---------------------------------------------------------------------- orders


@family(10, 28, 100, 300, 1000)
def offsets(n: int) -> Case:
    o = named("o", n + 1)
    return Case(sizes(o), tuple([f"{a} <= {b}" for a, b in pairs(o)]), f"{o[0]} <= {o[-1]}")


@family(10, 28, 100, 300, 1000)
def strict_offsets(n: int) -> Case:
    o = named("o", n + 1)
    return Case(sizes(o), tuple([f"{a} < {b}" for a, b in pairs(o)]), f"{o[0]} + {n} <= {o[-1]}")


@family(10, 28, 100, 300, 1000)
def offsets_told_in_reverse(n: int) -> Case:
    o = named("o", n + 1)
    return Case(sizes(o), tuple([f"{a} < {b}" for a, b in reversed(pairs(o))]), f"{o[0]} < {o[-1]}")


@family(10, 28, 100, 300, 1000)
def first_offset_against_last(n: int) -> Case:
    o = named("o", n + 1)
    return Case(sizes(o), tuple([f"{a} < {b}" for a, b in pairs(o)]), f"{o[0]} == {o[-1]}", "never")


@family(10, 28, 100, 300)
def prefix_sums(n: int) -> Case:
    """Offsets as sums of lengths."""
    o, length = named("o", n + 1), named("l", n)
    facts = ["o0 == 0", *[f"{b} == {a} + {k}" for (a, b), k in zip(pairs(o), length)]]
    return Case(sizes([*o, *length]), tuple(facts), f"{o[-1]} >= {o[n // 2]} + {length[-1]}")


@family(10, 28, 100, 300)
def ragged_sums(n: int) -> Case:
    """No part of a ragged tensor is longer than the longest row."""
    length = named("l", n)
    return Case(
        sizes([*length, "m"]),
        tuple([f"{k} <= m" for k in length]),
        f"{' + '.join(length)} <= {n}*m",
    )


@family(10, 28, 100, 300)
def interleaved_splits(n: int) -> Case:
    """Even pieces concatenated, then odd ones, are as long as all of them."""
    piece = named("p", n)
    even, odd = " + ".join(piece[::2]), " + ".join(piece[1::2])
    return Case(sizes([*piece, "s"]), (f"{' + '.join(piece)} == s",), f"({even}) + ({odd}) == s")


@family(10, 28, 100)
def pieces_fit(n: int) -> Case:
    """Each piece of a split is at most the whole."""
    piece = named("p", n)
    return Case(sizes([*piece, "s"]), (f"{' + '.join(piece)} == s",), f"{piece[n // 2]} <= s")


# ---------------------------------------------------------------------- clamps


def clamped(n: int) -> str:
    return reduce(lambda whole, i: f"min(max(s{i} + {whole}, 0), n)", range(n), "p")


@family(10, 12, 64, 200)
def clamps(n: int) -> Case:
    s = named("s", n)
    return Case((*sizes(s, None), Size("p", None), Size("n")), (), f"{clamped(n)} <= n")


@family(10, 12, 64, 200)
def clamps_times_a_size(n: int) -> Case:
    s = named("s", n)
    return Case((*sizes(s, None), Size("p", None), Size("n"), Size("k")), (), f"k*{clamped(n)} <= k*n")


@family(4, 8, 16, 32, 64)
def clamped_slices(n: int) -> Case:
    """The length of a slice of a slice of a slice."""
    text = reduce(lambda whole, i: f"max(min(b{i}, {whole}) - a{i}, 0)", range(n), "s")
    return Case(sizes([*named("a", n), *named("b", n), "s"]), (), f"{text} <= s")


@family(4, 8, 16, 32)
def alternating_extremes(n: int) -> Case:
    names = named("a", n)
    text = reduce(lambda whole, i: f"{'min' if i % 2 else 'max'}({whole}, {names[i]})", range(n), "s")
    upper = "max(" + ", ".join(["s", *names]) + ")"
    return Case(sizes([*names, "s"]), (), f"{text} <= {upper}")


@family(4, 8, 16, 32)
def capacity(n: int) -> Case:
    """Experts with a capacity keep at most as many tokens as there are."""
    t = named("t", n)
    kept = " + ".join([f"min({k}, c)" for k in t])
    return Case(sizes([*t, "c"]), (), f"{kept} <= {' + '.join(t)}")


@family(4, 8, 16, 32)
def capacity_bounds(n: int) -> Case:
    t = named("t", n)
    kept = " + ".join([f"min({k}, c)" for k in t])
    return Case(sizes([*t, "c"]), (), f"{kept} <= {n}*c")


# ---------------------------------------------------------------------- maxima


@family(4, 8, 16, 32, 64)
def maxima(n: int) -> Case:
    names = named("l", n)
    return Case(sizes(names), (), f"{names[n // 2]} <= max({', '.join(names)})")


@family(4, 8, 16, 32, 64)
def maxima_in_reverse(n: int) -> Case:
    names = named("l", n)
    return Case(sizes(names), (), f"max({', '.join(names)}) == max({', '.join(reversed(names))})")


@family(4, 8, 16, 32)
def scaled_maxima(n: int) -> Case:
    names = named("l", n)
    scaled = ", ".join([f"{name}*k" for name in names])
    return Case(sizes([*names, "k"]), (), f"max({scaled}) == k*max({', '.join(names)})")


@family(4, 8, 16, 32)
def broadcast_axes(n: int) -> Case:
    names = named("a", n)
    facts = tuple([f"{name} == b or {name} == 1" for name in names])
    largest = f"max({', '.join(names)})"
    return Case(sizes([*names, "b"], 1), facts, f"{largest} == b or {largest} == 1")


@family(4, 8, 16, 32)
def one_broadcast_axis(n: int) -> Case:
    names = named("a", n)
    facts = [f"{name} == b or {name} == 1" for name in names]
    facts.append(f"{names[n // 2]} == b")
    return Case(sizes([*names, "b"], 1), tuple(facts), f"max({', '.join(names)}) == b")


@family(4, 8, 16, 32)
def sum_against_maximum(n: int) -> Case:
    names = named("l", n)
    return Case(sizes(names), (), f"{' + '.join(names)} <= {n}*max({', '.join(names)})")


@family(4, 8, 16, 32)
def maximum_against_sum(n: int) -> Case:
    names = named("l", n)
    return Case(sizes(names), (), f"max({', '.join(names)}) <= {' + '.join(names)}")


@family(4, 8, 16, 32)
def padded_batch(n: int) -> Case:
    """Padding to the longest row wastes no negative number of elements."""
    names = named("l", n)
    waste = " + ".join([f"(m - {name})" for name in names])
    return Case(sizes([*names, "m"]), (f"m == max({', '.join(names)})",), f"{waste} >= 0")


@family(4, 8, 16, 32)
def shifted_maxima(n: int) -> Case:
    names = named("l", n)
    shifted = ", ".join([f"{name} + k" for name in names])
    return Case(sizes([*names, "k"]), (), f"max({shifted}) == k + max({', '.join(names)})")


# ---------------------------------------------------------------------- divisibility


@family(2, 4, 8, 16)
def odd_by_gcd(n: int) -> Case:
    names = named("a", n)
    facts = tuple([f"gcd({name}, 32) == 1" for name in names])
    return Case(sizes(names, 1), facts, f"({'*'.join(names[:2])}) % 2 == 1")


@family(2, 3, 4, 6)
def least_common_multiple(n: int) -> Case:
    """The least common multiple of pairs is a multiple of each."""
    names = named("a", n)
    text = reduce(lambda whole, name: f"({whole}*{name}//gcd({whole}, {name}))", names[1:], names[0])
    return Case(sizes(names, 1), (), f"{text} % {names[-1]} == 0")


@family(2, 4, 8, 16)
def gcd_of_sum(n: int) -> Case:
    names = named("a", n)
    total = " + ".join([f"{name}*b" for name in names])
    return Case(sizes([*names, "b", "c"], 1), (), f"gcd({total} + c, b) == gcd(c, b)")


@family(2, 4, 8, 16)
def sum_by_gcd(n: int) -> Case:
    names = named("a", n)
    return Case(sizes(names, 1), (), f"({' + '.join(names)}) % gcd({', '.join(names)}) == 0")


@family(4, 8, 24, 48)
def divisor_chain(n: int) -> Case:
    d = named("d", n + 1)
    return Case(sizes(d, 1), tuple([f"{b} % {a} == 0" for a, b in pairs(d)]), f"{d[-1]} % {d[0]} == 0")


@family(4, 8, 16, 32)
def multiples_of_a_tile(n: int) -> Case:
    names = named("s", n)
    facts = tuple([f"{name} % t == 0" for name in names])
    return Case((*sizes(names), Size("t", 1)), facts, f"({' + '.join(names)}) % t == 0")


@family(4, 8, 16, 32)
def multiples_of_two_numbers(n: int) -> Case:
    """Sizes that are multiples of 4 and of 6, so of 12."""
    names = named("s", n)
    facts = tuple([f"{name} % {number} == 0" for name in names for number in (4, 6)])
    return Case(sizes(names), facts, f"({' + '.join(names)}) % 12 == 0")


@family(2, 4, 8, 16)
def modular_chain(n: int) -> Case:
    """Each size is congruent to the next modulo a constant."""
    names = named("s", n + 1)
    facts = tuple([f"({a} - {b}) % 12 == 0" for a, b in pairs(names)])
    return Case(sizes(names), facts, f"({names[0]} - {names[-1]}) % 4 == 0")


@family(2, 3, 4, 6)
def divisible_by_several(n: int) -> Case:
    """Divisible by each of some constants, so by their least common multiple."""
    primes = (2, 3, 5, 7, 11, 13)[:n]
    return Case(sizes(["s"]), tuple([f"s % {p} == 0" for p in primes]), f"s % {prod(primes)} == 0")


@family(2, 4, 8, 16)
def group_sizes(n: int) -> Case:
    """Heads divided in groups, groups in groups."""
    names = named("g", n)
    product = "*".join(names)
    known = (f"h % ({product}) == 0",)
    return Case((*sizes([*names, "d"], 1), Size("h")), known, f"h // ({product}) * ({product}) * d == h*d")


@family(2, 4, 8, 16)
def rotary_halves(n: int) -> Case:
    names = named("d", n)
    facts = tuple([f"{name} % 2 == 0" for name in names])
    halves = " + ".join([f"2*({name}//2)" for name in names])
    return Case(sizes(names), facts, f"{halves} == {' + '.join(names)}")


@family(2, 4, 8, 16)
def rotary_rest(n: int) -> Case:
    names = named("d", n)
    halves = " + ".join([f"{name}//2 + ({name} - {name}//2)" for name in names])
    return Case(sizes(names), (), f"{halves} == {' + '.join(names)}")


# ---------------------------------------------------------------------- quotients


@family(2, 4, 8, 16, 32)
def tilings(n: int) -> Case:
    """Tiles cover a size."""
    names = named("s", n)
    tiles = " + ".join([f"((({name} + t - 1)//t)*t)" for name in names])
    return Case((*sizes(names), Size("t", 1)), (), f"{tiles} >= {' + '.join(names)}")


@family(4, 8, 16, 32)
def tiles_of_the_longest(n: int) -> Case:
    """The tiles of the longest sequence hold each of them."""
    names = named("s", n)
    tiles = ", ".join([f"({name} + t - 1)//t" for name in names])
    return Case((*sizes(names), Size("t", 1)), (), f"max({tiles})*t >= max({', '.join(names)})")


@family(2, 4, 8, 16, 32)
def paged_blocks(n: int) -> Case:
    """Pages of sequences: at most one page each is not full."""
    names = named("s", n)
    pages = " + ".join([f"(({name} + 15)//16)" for name in names])
    return Case(sizes(names), (), f"16*({pages}) <= {' + '.join(names)} + {15 * n}")


@family(2, 4, 8, 16, 32)
def pages_together(n: int) -> Case:
    """One ragged buffer needs no more pages than one for each sequence."""
    names = named("s", n)
    pages = " + ".join([f"(({name} + 15)//16)" for name in names])
    return Case(sizes(names), (), f"({' + '.join(names)} + 15)//16 <= {pages}")


@family(2, 4, 8, 16)
def padded_to_multiples(n: int) -> Case:
    text = reduce(lambda whole, i: f"(({whole} + {2**i - 1})//{2**i}*{2**i})", range(1, n + 1), "s")
    return Case(sizes(["s"]), (), f"{text} >= s")


@family(2, 4, 8, 16)
def halved_again(n: int) -> Case:
    """Pyramids: rounding up at each level leaves at least one element."""
    text = reduce(lambda whole, _: f"(({whole} + 1)//2)", range(n), "s")
    return Case(sizes(["s"], 1), (), f"{text} >= 1")


@family(2, 4, 8, 16)
def window_counts(n: int) -> Case:
    """Strided windows in series give no more positions than there were."""
    text = reduce(lambda whole, _: f"(({whole} + 2*p - k)//2 + 1)", range(n), "s")
    return Case((Size("s", 1), Size("p", 0), Size("k", 1)), ("2*p <= k - 1",), f"{text} <= s")


@family(2, 4, 8, 16)
def window_counts_grow(n: int) -> Case:
    """Same windows over a larger image give no fewer positions."""
    def text(name: str) -> str:
        return reduce(lambda whole, _: f"(({whole} + 1)//2 + 1)", range(n), name)

    return Case(sizes(["s", "t"], 1), ("s <= t",), f"{text('s')} <= {text('t')}")


@family(2, 4, 8, 16)
def clamped_tiles(n: int) -> Case:
    """Tiles of what is left after a clamp."""
    names = named("a", n)
    text = reduce(lambda whole, name: f"min({name}, {whole})", names, "s")
    return Case((*sizes([*names, "s"]), Size("t", 1)), (), f"({text} + t - 1)//t <= (s + t - 1)//t")


@family(2, 4, 8, 16)
def strides(n: int) -> Case:
    """The last element lies inside the storage: sum of (size - 1)*stride < product of the sizes."""
    names = named("s", n)
    strides = ["*".join(names[i + 1 :]) or "1" for i in range(n)]
    last = " + ".join([f"({name} - 1)*{stride}" for name, stride in zip(names, strides)])
    return Case(sizes(names, 1), (), f"{last} + 1 == {'*'.join(names)}")


@family(2, 4, 8, 12)
def index_in_bounds(n: int) -> Case:
    """A linear index of coordinates in bounds is in bounds."""
    names, index = named("s", n), named("i", n)
    strides = ["*".join(names[i + 1 :]) or "1" for i in range(n)]
    linear = " + ".join([f"{i}*{stride}" for i, stride in zip(index, strides)])
    return Case(
        (*sizes(names, 1), *sizes(index)),
        tuple([f"{i} < {s}" for i, s in zip(index, names)]),
        f"{linear} < {'*'.join(names)}",
    )


# ---------------------------------------------------------------------- bits, numbers


@family(2, 4, 8, 16)
def masks(n: int) -> Case:
    text = reduce(lambda whole, i: f"({whole} & {2 ** (n + 4 - i) - 1})", range(n), "s")
    return Case(sizes(["s"]), (), f"{text} <= {2**5 - 1}")


@family(2, 4, 8, 16)
def aligned_by_masks(n: int) -> Case:
    names = named("s", n)
    aligned = " + ".join([f"(({name} + 63) & -64)" for name in names])
    return Case(sizes(names), (), f"({aligned}) % 64 == 0")


@family(10, 100, 400, 1000)
def huge_numbers(n: int) -> Case:
    """Facts with integers of n digits."""
    big = 10**n + 7
    return Case(sizes(["x", "y"]), (f"x >= {big}*y", f"y >= {big}", f"x <= {big**3}"), f"x >= {big**2}")


@family(10, 100, 400, 1000)
def huge_equations(n: int) -> Case:
    big, other = 10**n + 7, 10**n + 9
    return Case(
        sizes(["x", "y", "z"]),
        (f"{big}*x == {other}*y + z", f"z <= {big}", f"y >= {other}", f"x % {big} == 3"),
        "x >= y - 1",
    )


# ---------------------------------------------------------------------- monotone functions


@family(4, 8, 16, 32)
def pages_of_the_longest(n: int) -> Case:
    names = named("s", n)
    pages = " + ".join([f"({name} + p - 1)//p" for name in names])
    known = tuple([f"{name} <= m" for name in names])
    return Case((*sizes([*names, "m"]), Size("p", 1)), known, f"{pages} <= {n}*((m + p - 1)//p)")


@family(4, 8, 16, 32)
def padded_to_the_longest(n: int) -> Case:
    names = named("s", n)
    padded = " + ".join([f"({name} + 15)//16*16" for name in names])
    return Case(sizes(names), (), f"{padded} <= {n}*((max({', '.join(names)}) + 15)//16*16)")


@family(4, 8, 16)
def clamps_of_two_positions(n: int) -> Case:
    """Clamps in series keep the order of positions."""

    def text(start: str) -> str:
        return reduce(lambda whole, i: f"min(max(s{i} + {whole}, 0), n)", range(n), start)

    return Case((*sizes([*named("s", n), "p", "q"], None), Size("n")), ("p <= q",), f"{text('p')} <= {text('q')}")


@family(2, 4, 8)
def strided_again(n: int) -> Case:
    """Strides in series give no more positions than there were."""
    text = reduce(lambda whole, i: f"(({whole} - 1)//d{i} + 1)", range(n), "s")
    return Case(sizes(["s", *named("d", n)], 1), (), f"{text} <= s")


@family(4, 8, 16, 32, 64)
def segments(n: int) -> Case:
    """Lengths between offsets add up to at most the last less the first."""
    o, k = named("o", n + 1), named("k", n)
    known = tuple([f"{a} + {c} <= {b}" for (a, b), c in zip(pairs(o), k)])
    return Case(sizes([*o, *k]), known, f"{' + '.join(k)} <= {o[-1]} - {o[0]}")


@family(4, 8, 16, 32)
def doubled_offsets(n: int) -> Case:
    o = named("o", n + 1)
    return Case(sizes(o), tuple([f"2*{a} <= {b}" for a, b in pairs(o)]), f"{2**n}*{o[0]} <= {o[-1]}")


@family(2, 4, 8, 12)
def larger_in_each_axis(n: int) -> Case:
    s, t = named("s", n), named("t", n)
    return Case(sizes([*s, *t], 1), tuple([f"{a} <= {b}" for a, b in zip(s, t)]), f"{'*'.join(s)} <= {'*'.join(t)}")


@family(2, 4, 8, 16)
def absolute_values(n: int) -> Case:
    names = named("x", n)
    return Case(sizes(names, None), (), f"abs({' + '.join(names)}) <= {' + '.join([f'abs({x})' for x in names])}")


@family(4, 8, 16, 32)
def maxima_by_halves(n: int) -> Case:
    """A tree of maxima, and a chain of them."""

    def tree(names: Sequence[str]) -> str:
        half = len(names) // 2
        return f"max({tree(names[:half])}, {tree(names[half:])})" if half else names[0]

    names = named("l", n)
    return Case(sizes(names), (), f"{tree(names)} == max({', '.join(names)})")
