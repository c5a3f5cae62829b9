"""Claims about all ranks: each with its verdict, and the rank and sizes at which it is false.

>>> from shapes import ShapeEnv
>>> env = ShapeEnv(origin=lambda: None)
>>> n, world = env.sizes("n world")
>>> env.assume(world >= 1)
>>> with env.for_all("r", 0, world) as r:
...     found = claimed(env, "the rows of a rank are inside", (r + 1) * (n // world + 1), "<=", n)
>>> print(found)
false   the rows of a rank are inside: rank r = 1, n = 1, world = 2: 2 <= 1
>>> found.sizes
{'r': 1, 'n': 1, 'world': 2}
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from shapes.env import ShapeEnv
from shapes.errors import ShapeError
from shapes.symbolic.choices import Int, Truth
from solver.decide.verdict import Always, GaveUp, Verdict
from solver.syntax.precedence import number

RELATIONS: Final[Mapping[str, Callable[[Int, Int], Truth]]] = {
    "==": operator.eq,
    "<=": operator.le,
    "<": operator.lt,
}


@dataclass(frozen=True, slots=True)
class Claim:
    """A comparison that is to hold for all ranks and sizes.

    Attributes:
        text: what it says, for people.
        verdict: the answer.
        sizes: values at which it is false, bound variables first; None where it is proven, or unknown.
        sides: the comparison at these values.
        nouns: of each bound variable, by name: "rank" for instance.
    """

    text: str
    verdict: Verdict
    sizes: Mapping[str, int] | None = None
    sides: str = ""
    nouns: Mapping[str, str] = field(default_factory=dict)

    @property
    def proven(self) -> bool:
        return isinstance(self.verdict, Always)

    @property
    def counterexample(self) -> str:
        """The rank and the sizes at which it is false, in words; empty where there are none."""
        if self.sizes is None:
            return ""
        values = [(f"{self.nouns.get(name, '')} {name}".strip(), value) for name, value in self.sizes.items()]
        return ", ".join([f"{name} = {number(value).text}" for name, value in values])

    def __str__(self) -> str:
        if self.proven:
            return f"proven  {self.text}"
        if self.sizes is None:
            reason = self.verdict.reason if isinstance(self.verdict, GaveUp) else "no sizes were found"
            return f"unknown {self.text}: {reason}"
        return f"false   {self.text}: {self.counterexample}: {self.sides}"


@dataclass(frozen=True, slots=True)
class Report:
    """Claims, in the order in which they were asked."""

    claims: tuple[Claim, ...]

    @property
    def proven(self) -> bool:
        """True if all claims are proven."""
        return all(claim.proven for claim in self.claims)

    @property
    def false(self) -> tuple[Claim, ...]:
        """The claims with sizes at which they are false."""
        return tuple([claim for claim in self.claims if claim.sizes is not None])

    def __iter__(self) -> Iterator[Claim]:
        return iter(self.claims)

    def __getitem__(self, text: str) -> Claim:
        """The claim with this text."""
        for claim in self.claims:
            if claim.text == text:
                return claim
        raise KeyError(text)

    def __str__(self) -> str:
        return "\n".join(map(str, self.claims))


def claimed(
    env: ShapeEnv, text: str, left: Int, relation: str, right: Int, nouns: Mapping[str, str] | None = None
) -> Claim:
    """Ask whether a comparison holds for all values of the bound variables and all sizes. Bound variables are ranks,
    unless `nouns` says what they are."""
    if relation not in RELATIONS:
        raise ShapeError(f"relation={relation!r}: expected one of {', '.join(RELATIONS)}")
    verdict = env.ask(RELATIONS[relation](left, right), effort="thorough")
    if isinstance(verdict, Always):
        return Claim(text, verdict)
    variables = [each.variable for each in env.ranges]
    about = env.expression(left).symbols | env.expression(right).symbols | set(variables)
    sizes = env.counterexample(verdict, about)
    if sizes is None:
        return Claim(text, verdict)
    values = {env.names[name].atom: value for name, value in sizes.items()}
    sides = [number(env.expression(side).evaluate(values)).text for side in (left, right)]
    called = {atom.name: "rank" for atom in variables} | dict(nouns or {})
    return Claim(text, verdict, sizes, f"{sides[0]} {relation} {sides[1]}", called)
