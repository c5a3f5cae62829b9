"""What the suite asks of an environment, and how options name one.

    >>> from shapes.testing.conformance.adapter import named
    >>> named("fractions:Fraction").__name__
    'Fraction'
"""

from __future__ import annotations

import importlib
from functools import reduce
from typing import Literal, Protocol

Answer = Literal["always", "never", "open"]


class Environment(Protocol):
    """Symbols, facts and questions, propositions as Python text. An operation that it does not have raises
    `NotImplementedError`.

    `checkpoint` and `rollback`, `bounds` and `simplify` are tested where they are there.
    """

    def symbol(self, name: str, lo: int | None = None, hi: int | None = None) -> object:
        """Declare an integer between two bounds, which may be None."""

    def assume(self, prop: str, /) -> None:
        """Know a proposition from here on; any exception where it contradicts what is known."""

    def ask(self, prop: str, /) -> object:
        """Whether a proposition follows: see `answer_of`."""


class Undoing(Environment, Protocol):
    """An environment that can be taken back."""

    def checkpoint(self) -> object: ...

    def rollback(self, mark: object, /) -> None: ...


class Bounding(Environment, Protocol):
    """An environment that knows bounds of expressions; None for unbounded."""

    def bounds(self, size: str, /) -> tuple[int | None, int | None]: ...


class Simplifying(Environment, Protocol):
    """An environment that simplifies expressions; the result prints as Python text."""

    def simplify(self, size: str, /) -> object: ...


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
    module, colon, name = place.partition(":")
    if not colon or not name:
        raise ValueError(f"{place!r}: expected module:name")
    try:
        return reduce(getattr, name.split("."), importlib.import_module(module))
    except AttributeError as missing:
        raise ValueError(f"{place!r}: {missing}") from None
