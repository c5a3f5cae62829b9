"""The adapter through which the suite asks an environment, and the options that name one.

    >>> from shapes.testing.conformance.adapter import named
    >>> named("fractions:Fraction").__name__
    'Fraction'
"""

from __future__ import annotations

from pkgutil import resolve_name
from typing import Literal, Protocol

Answer = Literal["always", "never", "open"]


class Environment(Protocol):
    """Symbols, facts and questions, propositions as Python text. An operation that it does not have raises
    `NotImplementedError`.

    `checkpoint()` with `rollback(mark)`, `bounds(size)` (None for unbounded) and `simplify(size)`, which prints as
    Python text, are tested where they are there.
    """

    def symbol(self, name: str, lo: int | None = None, hi: int | None = None) -> object:
        """Declare an integer between two bounds, which may be None."""

    def assume(self, prop: str, /) -> None:
        """Know a proposition from here on; any exception where it contradicts what is known."""

    def ask(self, prop: str, /) -> object:
        """Decide whether a proposition follows: see `answer_of`."""


def answer_of(verdict: object) -> Answer:
    """An answer: a bool or None, a word, or an object of a class called `Always`, `Never` or anything else."""
    if verdict is None or isinstance(verdict, bool):
        return "open" if verdict is None else "always" if verdict else "never"
    word = verdict if isinstance(verdict, str) else type(verdict).__name__
    match word.lower():
        case "always":
            return "always"
        case "never":
            return "never"
        case _:
            return "open"


def named(place: str) -> object:
    """The object at `module:name`.

    Raises:
        ValueError: it is not written so, or there is no such object.
    """
    if not place.partition(":")[2]:
        raise ValueError(f"{place!r}: expected module:name")
    try:
        return resolve_name(place)
    except AttributeError as missing:
        raise ValueError(f"{place!r}: {missing}") from None
