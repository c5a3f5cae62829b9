"""Factoring for print: a sum of products of named pieces, in few operators.

    >>> from solver.syntax.factored import Pieces
    >>> from solver.syntax.precedence import Text
    >>> pieces = Pieces()
    >>> b, s = pieces.add(Text("b")), pieces.add(Text("s"))
    >>> print(pieces.write({(b, s): 2, (b,): 2}).text)
    2*b*(s + 1)
    >>> print(pieces.write({(b, s): 1, (b,): 2, (s,): 3, (): 6}).text)
    (b + 3)*(s + 2)

A *piece* is anything with a text that is not itself a sum of products here: a name, `s % 4`, `max(a, b)`. A sum is a
dictionary from sorted tuples of piece numbers to coefficients. The candidates are: the expanded sum; greedy factoring,
common factors first; and exact factors. The one with the fewest operators wins. The order of terms and factors depends
on texts alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from math import gcd
from typing import Final

from solver.syntax.precedence import (
    DIVISION,
    POWER,
    PRODUCT,
    SHIFT,
    SUM,
    WHOLE,
    Comparison,
    SortKey,
    Text,
    natural,
    number,
)
from solver.terms import factors
from solver.terms.factors import Key, Sum
from solver.terms.interner import EXPANSION_CAP

LITERAL_FIRST: Final = re.compile(r"\d+(?:\*(?!\*)|$)")
EXPONENT: Final = 64
"""The largest exponent the parser reads."""

class Pieces:
    """The pieces of one text being made, and the writing of sums over them.

    `exponents` are those of pieces that are powers of two, which can be written as shifts.
    """

    def __init__(self, write: Callable[[int], Text] | None = None) -> None:
        self.count = 0
        self.exponents: dict[int, Text] = {}
        self._later = write
        self._texts: dict[int, Text] = {}
        self._keys: dict[int, SortKey] = {}
        self._written: dict[frozenset[tuple[Key, int]], Text] = {}

    def add(self, text: Text | None = None) -> int:
        """A new piece. Without a text it is printed lazily."""
        piece = self.count
        self.count += 1
        if text is not None:
            self._set(piece, text)
        return piece

    def _set(self, piece: int, text: Text) -> None:
        self._texts[piece] = text
        name = text.level == WHOLE and text.cost == 0
        self._keys[piece] = (0, natural(text.text)) if name else (1, (text.text,))

    def text(self, piece: int) -> Text:
        found = self._texts.get(piece)
        if found is None:
            assert self._later is not None
            found = self._later(piece)
            self._set(piece, found)
        return found

    def key(self, piece: int) -> SortKey:
        """The place of a piece among others: by text, names first."""
        if piece not in self._keys:
            self.text(piece)
        return self._keys[piece]

    # ------------------------------------------------------------------ sums

    def write(self, poly: Sum) -> Text:
        """The text of a sum."""
        if len(poly) < 2:
            for key, c in poly.items():
                return self.signed_sum([(c < 0, self.product(abs(c), key))])
            return Text("0")
        mark = frozenset(poly.items())
        found = self._written.get(mark)
        if found is None:
            found = self._written[mark] = self._best(poly)
        return found

    def _best(self, poly: Sum) -> Text:
        common = common_factors(poly)
        content = gcd(*poly.values())
        if content == 1 and not common:
            return self._primitive(poly)
        if all(c < 0 for c in poly.values()):
            content = -content
        without = self.grouped(poly) if not common else None
        best = without
        for k in {content, 1 if content > 0 else -1} if common else {content}:
            inner = {factors.divide_key(key, common): c // k for key, c in poly.items()}
            text = self._primitive(inner)
            factored = self.signed_sum([(k < 0, self.product(abs(k), common, [text]))])
            if best is None or factored.rank < best.rank:
                best = factored
        assert best is not None
        if common and best.cost >= len(poly) - 1:
            flat = self.flat(poly)
            if flat.rank < best.rank:
                best = flat
        return best

    def _primitive(self, poly: Sum) -> Text:
        best = self.grouped(poly)
        if len(poly) > 2:
            found = factors.parts(poly)
            if len(found) > 1 or found[0][1] > 1:
                negative, found = factors.positive(found)
                texts = [self.raised(self.write(factor), power) for factor, power in found]
                text = self.signed_sum([(negative, self.product(1, (), texts))])
                if text.rank < best.rank:
                    best = text
        return best

    def raised(self, base: Text, power: int) -> Text:
        if power == 1:
            return base
        size = base.terms**power
        wide = base.wide or size > EXPANSION_CAP
        return Text(f"{base.within(WHOLE)}**{power}", POWER, base.cost + 1, size, wide=wide)

    def flat(self, poly: Sum) -> Text:
        """Every term on its own."""
        return self._ordered([(self.term_order(key), c < 0, self.product(abs(c), key)) for key, c in poly.items()])

    def grouped(self, poly: Sum) -> Text:
        """Greedy factoring: take out the factor that saves most, then the next, until none saves anything."""
        rest = dict(poly)
        parts: list[tuple[tuple[int, list[SortKey]], bool, Text]] = []
        holders: dict[int, dict[Key, None]] = {}
        for key, c in rest.items():
            for factor in holding(key, c):
                holders.setdefault(factor, {})[key] = None
        shared = {factor: keys for factor, keys in holders.items() if len(keys) > 1}
        while shared:
            best: int | None = None
            most = 0
            for factor, keys in shared.items():
                gain = self._gain(factor, keys, rest)
                if gain > most or (gain == most and best is not None and self._before(factor, best)):
                    best, most = factor, gain
            if best is None:
                break
            taken = list(shared[best])
            inner: Sum = {}
            for key in taken:
                c = rest.pop(key)
                for factor in holding(key, c):
                    others = shared.get(factor)
                    if others is not None:
                        del others[key]
                        if len(others) < 2:
                            del shared[factor]
                if best < 0:
                    inner[key] = c // -best
                else:
                    inner[factors.divide_key(key, (best,))] = c
            negative = all(c < 0 for c in inner.values())
            if negative:
                inner = {key: -c for key, c in inner.items()}
            taken_out = common_factors(inner)
            if taken_out:
                inner = {factors.divide_key(key, taken_out): c for key, c in inner.items()}
            taken_out = taken_out if best < 0 else (best, *taken_out)
            text = self.product(-best if best < 0 else 1, taken_out, [self.write(inner)])
            parts.append((min([self.term_order(key) for key in taken]), negative, text))
        parts.extend([(self.term_order(key), c < 0, self.product(abs(c), key)) for key, c in rest.items()])
        return self._ordered(parts)

    def _gain(self, factor: int, keys: dict[Key, None], rest: Sum) -> int:
        """Operators saved by taking a factor (a piece; a coefficient, if negative) out of these terms."""
        if factor < 0:
            return len(keys) - 1
        own = self.text(factor).cost
        gain = -own - 1
        for key in keys:
            gain += own + 1 if len(key) > 1 or abs(rest[key]) > 1 else own
        return gain

    def _before(self, factor: int, other: int) -> bool:
        """The order of factors that save the same: pieces by text, then coefficients."""
        if factor < 0 or other < 0:
            return factor > other
        return self.key(factor) < self.key(other)

    def term_order(self, key: Key) -> tuple[int, list[SortKey]]:
        """Terms of many factors first, then by text."""
        return (-len(key), sorted([self.key(piece) for piece in key]))

    def _ordered(self, parts: list[tuple[tuple[int, list[SortKey]], bool, Text]]) -> Text:
        parts.sort(key=_order)
        return self.signed_sum([(negative, text) for _, negative, text in parts])

    def signed_sum(self, parts: list[tuple[bool, Text]]) -> Text:
        """The parts added and subtracted, a positive one first if there is one."""
        if len(parts) == 1 and not parts[0][0]:
            return parts[0][1]
        first = next((i for i, (negative, _) in enumerate(parts) if not negative), None)
        if first is None:
            # the sign of a literal is no operator
            first = next((i for i, (_, text) in enumerate(parts) if LITERAL_FIRST.match(text.text)), None)
            literal = first is not None
        else:
            literal = False
        if first:
            parts.insert(0, parts.pop(first))
        cost = len(parts) - 1 + sum([text.cost for _, text in parts])
        pieces = [text.within(DIVISION) for _, text in parts]
        if parts[0][0]:
            cost += 0 if literal else 1
            pieces[0] = "-" + parts[0][1].within(PRODUCT)
        words = [pieces[0]]
        for (negative, _), piece in zip(parts[1:], pieces[1:], strict=True):
            words.append(" - " if negative else " + ")
            words.append(piece)
        wide = any(text.wide for _, text in parts)
        return Text("".join(words), SUM, cost, sum([text.terms for _, text in parts]), wide=wide)

    # ------------------------------------------------------------------ products

    def product(self, c: int, key: Key, others: list[Text] | None = None) -> Text:
        """`c` > 0 times the pieces, times other texts."""
        if not others:
            if not key:
                return number(c)
            if c == 1 and len(key) == 1:
                return self.text(key[0])
        words: list[str] = []
        cost, terms, sums = -1, 1, 0
        wide = False
        level = PRODUCT
        shift: Text | None = None
        if c != 1:
            constant = number(c)
            words.append(constant.within(POWER))
            cost += 1 + constant.cost
        pieces = set(key)
        for piece in pieces:
            self.text(piece)
        for piece in sorted(pieces, key=self._keys.__getitem__):
            text = self.text(piece)
            power = key.count(piece)
            if power == 1 and shift is None and piece in self.exponents and (others or c != 1 or len(key) > 1):
                shift = self.exponents[piece]
                continue
            cost += text.cost * ((power - 1) // EXPONENT + 1)
            terms *= text.terms**power
            sums += power if text.terms > 1 else 0
            if power == 1:
                words.append(text.within(POWER))
                level = min(PRODUCT, max(text.level, POWER))
                cost += 1
            while power > 1:
                step = min(power, EXPONENT)
                words.append(text.within(WHOLE) + f"**{step}" if step > 1 else text.within(POWER))
                power -= step
                cost += 2 if step > 1 else 1
                if power == 1:
                    words.append(text.within(POWER))
                    cost += 1
                    power = 0
        for text in sorted(others, key=_spelling) if others else ():
            word = text.within(PRODUCT)
            if c == 1 and word[0].isdigit() and text.level == PRODUCT:
                constant_word, _, word = word.partition("*")
                words.insert(0, constant_word)
            words.append(word)
            terms *= text.terms
            sums += 1 if text.terms > 1 else 0
            wide = wide or text.wide
            cost += text.cost + 1
        if len(words) == 1:
            level = POWER if key else WHOLE
        wide = wide or (sums > 1 and terms > EXPANSION_CAP)
        result = Text("*".join(words), level, cost, terms, wide=wide)
        if shift is not None:
            result = Text(f"{result.text} << {shift.within(SUM)}", SHIFT, cost + 1 + shift.cost, terms, wide=wide)
        return result

    # ------------------------------------------------------------------ comparisons

    def compare(self, kind: str, poly: Sum) -> Comparison:
        """The sum compared with zero ("ge", "eq" or "ne"), its terms moved so that few operators remain."""
        best: Comparison | None = None
        for strict in (False, True) if kind == "ge" else (False,):
            shifted = dict(poly)
            if strict:
                shifted[()] = shifted.get((), 0) + 1
                if not shifted[()]:
                    del shifted[()]
            operator = {"ge": ">" if strict else ">=", "eq": "==", "ne": "!="}[kind]
            for left, right in splits(shifted):
                made = self._oriented(left, operator, right)
                if best is None or made.rank < best.rank:
                    best = made
        assert best is not None
        return best

    def _oriented(self, left: Sum, operator: str, right: Sum) -> Comparison:
        """Constants on the right; else the side with more operators on the left, or the one with the first term."""
        made = Comparison(self.write(left), operator, self.write(right))
        if any(left) and any(right):
            swap = (-made.right.cost, self._first(right)) < (-made.left.cost, self._first(left))
        else:
            swap = any(right)
        return made.swapped() if swap else made

    def _first(self, side: Sum) -> tuple[int, list[SortKey]]:
        return min([self.term_order(key) for key in side if key])


def splits(poly: Sum) -> list[tuple[Sum, Sum]]:
    """Ways to write `poly == 0` as `left == right`."""
    positive, negative = factors.halves(poly)
    found = [(positive, negative)]
    symbolic = [c for key, c in poly.items() if key]
    constant = poly.get((), 0)
    mixed = min(symbolic, default=1) < 0 < max(symbolic, default=-1)
    if mixed or constant:
        rest = {key: c for key, c in poly.items() if key}
        highest = max(rest, key=factors.order, default=())
        forward = 2 * sum([c > 0 for c in symbolic]) + (highest in positive) > len(symbolic)
        sign = 1 if forward else -1
        if mixed or (constant > 0) == forward:
            moved: Sum = {(): -sign * constant} if constant else {}
            found.append(_sided({key: sign * c for key, c in rest.items()}, moved, forward))
        if any(len(key) > 1 for key in poly):
            found.append(_sided({key: sign * c for key, c in poly.items()}, {}, forward))
    return found


def _sided(left: Sum, right: Sum, forward: bool) -> tuple[Sum, Sum]:
    return (left, right) if forward else (right, left)


def common_factors(poly: Sum) -> Key:
    """The pieces, with repetition, that divide every term."""
    common: list[int] | None = None
    for key in poly:
        if common is None:
            common = list(key)
        else:
            left = list(key)
            kept = []
            for piece in common:
                if piece in left:
                    left.remove(piece)
                    kept.append(piece)
            common = kept
        if not common:
            return ()
    return tuple(common or ())


def holding(key: Key, c: int) -> list[int]:
    """The factors of a term: its pieces, and its coefficient as a negative number."""
    if not key:
        return []
    found = list(dict.fromkeys(key))
    if abs(c) > 1:
        found.append(-abs(c))
    return found


def _order(part: tuple[tuple[int, list[SortKey]], bool, Text]) -> tuple[int, list[SortKey]]:
    return part[0]


def _spelling(text: Text) -> str:
    return text.text
