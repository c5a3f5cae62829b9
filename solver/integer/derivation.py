"""The derivation graph of rows, from which a certificate is extracted on demand.

A number stands for a row of the question, a derived row or an assumption of a branch; `Parts` says that a row is the
sum of multiples of numbered rows, not yet rounded. Numbers only grow, so their order is an order in which to derive.

    >>> journal = Journal(2)
    >>> halved = journal.derive(((0, 1),))       # row 0 divided by its gcd
    >>> certificate(2, journal, Contradiction(((halved, 1), (1, 2))))
    Refutation(steps=(Combine(multipliers=((0, 1),)), Combine(multipliers=((1, 2), (2, 1)))), branch=None)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import gcd
from typing import TypeAlias

from solver.integer.certificate import Branch, Combine, Pairs, Refutation

Parts: TypeAlias = Pairs


class Journal:
    """The derivation of every numbered row; None for rows of the question and for assumptions."""

    __slots__ = ("derivations",)

    def __init__(self, rows: int) -> None:
        self.derivations: list[Parts | None] = [None] * rows

    def derive(self, parts: Parts) -> int:
        """The number of the row that `Combine` makes of `parts`."""
        self.derivations.append(parts)
        return len(self.derivations) - 1

    def assume(self) -> int:
        self.derivations.append(None)
        return len(self.derivations) - 1

    def needed(self, roots: Iterable[int]) -> set[int]:
        """The numbers that derivations of `roots` depend on, including themselves."""
        found: set[int] = set()
        waiting = list(roots)
        while waiting:
            number = waiting.pop()
            if number not in found:
                found.add(number)
                parts = self.derivations[number]
                if parts is not None:
                    waiting.extend(other for other, _ in parts)
        return found


@dataclass(frozen=True, slots=True)
class Contradiction:
    """The sum of `parts` is a false row."""

    parts: Parts


@dataclass(frozen=True, slots=True)
class Split:
    """A branch; `assumption` numbers the row of the left side, `assumption + 1` that of the right."""

    form: Pairs
    value: int
    assumption: int
    left: Proof
    right: Proof


Proof: TypeAlias = Contradiction | Split


def scaled(parts: Parts, factor: int) -> Parts:
    return parts if factor == 1 else tuple([(number, factor * m) for number, m in parts])


def premises(journal: Journal, proof: Proof) -> set[int]:
    """The numbers that a proof depends on."""
    if isinstance(proof, Contradiction):
        return journal.needed(number for number, _ in proof.parts)
    both = premises(journal, proof.left) | premises(journal, proof.right)
    return {number for number in both if number < proof.assumption}


def certificate(rows: int, journal: Journal, proof: Proof) -> Refutation:
    """The refutation from the first `rows` numbered rows, with the steps it needs and no others."""
    return _written(journal, proof, {number: number for number in range(rows)}, rows)


def steps(rows: int, journal: Journal, parts: Parts) -> tuple[Combine, ...]:
    """The steps that derive the sum of `parts`, which is the last of them."""
    return _written(journal, Contradiction(parts), {number: number for number in range(rows)}, rows).steps


def _written(journal: Journal, proof: Proof, index: dict[int, int], count: int) -> Refutation:
    wanted = sorted(number for number in premises(journal, proof) if number not in index)
    listed: list[Combine] = []
    for number in wanted:
        parts = journal.derivations[number]
        assert parts is not None, "an assumption is in the index of its side"
        listed.append(_combine(parts, index))
        index[number] = count
        count += 1
    if isinstance(proof, Contradiction):
        return Refutation((*listed, _combine(proof.parts, index)))
    left = _written(journal, proof.left, index | {proof.assumption: count}, count + 1)
    right = _written(journal, proof.right, index | {proof.assumption + 1: count}, count + 1)
    return Refutation(tuple(listed), Branch(proof.form, proof.value, left, right))


def _combine(parts: Parts, index: dict[int, int]) -> Combine:
    total: dict[int, int] = {}
    for number, multiplier in parts:
        row = index[number]
        total[row] = total.get(row, 0) + multiplier
    content = gcd(*total.values()) or 1
    return Combine(tuple([(row, m // content) for row, m in sorted(total.items()) if m]))
