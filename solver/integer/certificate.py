"""Rows, answers, and the language of certificates: Farkas combinations, Chvátal-Gomory rounding, branches.

A certificate is replayed with two rules and no search. Rows are numbered: first those of the question, then those that
the steps derive, in order.

`Combine` adds multiples of rows (inequalities by multipliers >= 0, equalities by any), divides by the gcd g of the
coefficients, and rounds: from g*f + c >= 0 it concludes f + floor(c/g) >= 0, as f is an integer. A sum of equalities
only is an equality, f + c/g == 0, or a contradiction if g does not divide c. A row without coefficients that is false
is the contradiction. `Branch` splits on an integer form: form <= value or form >= value + 1; that assumption is the
next row on its side, and the numbering goes on from there on each side by itself.

Running example: 1 <= 3*x - 3*y <= 2 has rational solutions and no integer one.

    >>> from solver.integer.solving import solve
    >>> from solver.integer.work_budget import Limits
    >>> thin = [Row(((0, 3), (1, -3)), -1, False), Row(((0, -3), (1, 3)), 2, False)]
    >>> answer = solve(thin, limits=Limits())
    >>> for step in answer.certificate.steps:
    ...     print(step)
    Combine(multipliers=((0, 1),))
    Combine(multipliers=((1, 1),))
    Combine(multipliers=((2, 1), (3, 1)))

The first two steps are x - y - 1 >= 0 and -x + y >= 0, the third is their sum, -1 >= 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

Pairs: TypeAlias = tuple[tuple[int, int], ...]


class Row(NamedTuple):
    """`sum(c * x[i] for i, c in coefficients) + constant`, which is `>= 0`, or `== 0` if `equality`.

    Variables are small ints from 0; a variable occurs at most once in a row.
    """

    coefficients: Pairs
    constant: int
    equality: bool


@dataclass(frozen=True, slots=True)
class Combine:
    """Derives one row from (row number, multiplier) pairs: sum, division by the gcd, rounding."""

    multipliers: Pairs


@dataclass(frozen=True, slots=True)
class Branch:
    """Either `form <= value` (the row `value - form >= 0` on the left) or `form >= value + 1` (on the right)."""

    form: Pairs
    value: int
    left: Refutation
    right: Refutation


@dataclass(frozen=True, slots=True)
class Refutation:
    """A refutation: the last step is the contradiction, or both sides of `branch` end in one."""

    steps: tuple[Combine, ...]
    branch: Branch | None = None

    @property
    def size(self) -> int:
        """Steps and branches, over the whole tree."""
        if self.branch is None:
            return len(self.steps)
        return len(self.steps) + 1 + self.branch.left.size + self.branch.right.size


@dataclass(frozen=True, slots=True)
class Point:
    """Integers that satisfy every row, one for each variable up to the highest that occurs."""

    values: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Infeasible:
    """No integers satisfy the rows."""

    certificate: Refutation


@dataclass(frozen=True, slots=True)
class Unknown:
    """The budget did not suffice."""

    reason: str


@dataclass(frozen=True, slots=True)
class Bound:
    """`objective >= value` follows: the last step derives `(objective - value) / g >= 0`, g the objective's gcd."""

    value: int
    steps: tuple[Combine, ...]


@dataclass(frozen=True, slots=True)
class Unbounded:
    """The rational relaxation has no lower bound on the objective."""
