"""Errors of the solver; `shapes.errors` re-exports them beside its own.

>>> from solver.errors import ParseError
>>> print(ParseError("expected a value", "s + ", 4))
expected a value
  s +
      ^
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

LONGEST_MESSAGE: Final = 400
LONGEST_LINE: Final = 800
"""Characters of one line of a message: computed text may be arbitrarily long."""


class Recorded(Protocol):
    """A fact, as errors see it (`solver.proofs.fact`)."""

    @property
    def text(self) -> str: ...


class Proof(Protocol):
    """A proof step, as errors see it (`solver.proofs.step`)."""

    @property
    def rule(self) -> str: ...


def bounded(message: str) -> str:
    """A message whose long lines are shortened in the middle."""
    if len(message) <= LONGEST_LINE:
        return message
    return "\n".join([_cut(line) for line in message.split("\n")])


def _cut(line: str) -> str:
    return line if len(line) <= LONGEST_LINE else f"{line[: LONGEST_LINE // 2]} ... {line[-LONGEST_LINE // 4 :]}"


class ShapeError(Exception):
    """The base of every error of this project."""

    def __str__(self) -> str:
        return bounded(super().__str__())


class ParseError(ShapeError, ValueError):
    """Text that is not a proposition or expression; `column` counts from 0."""

    def __init__(self, message: str, text: str, column: int) -> None:
        if len(message) > LONGEST_MESSAGE:  # it quotes the text, which may be long
            message = f"{message[: LONGEST_MESSAGE // 2]} ... {message[-LONGEST_MESSAGE // 4 :]}"
        self.message, self.text, self.column = message, text, column
        super().__init__(message, text, column)

    def __str__(self) -> str:
        start = max(0, self.column - 60)
        shown = self.text[start : self.column + 60].replace("\n", " ")
        return f"{self.message}\n  {shown}\n  {' ' * (self.column - start)}^"


class InvalidArgument(ShapeError, ValueError):
    """An argument that is none of the accepted values."""


class Undefined(ShapeError, ArithmeticError):
    """A question that is undefined under the facts: they refute its domain (a divisor that is zero, say)."""


class Contradictory(ShapeError):
    """A question under contradictory facts: everything would follow.

    `core` is a minimal unsat core, `proof` the proof of false.
    """

    def __init__(self, core: Sequence[Recorded], proof: Proof) -> None:
        self.core, self.proof = tuple(core), proof
        super().__init__("the facts contradict each other")

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.core, self.proof)


class NotExpressible(ShapeError, TypeError):
    """An operation for which there is no exact integer form."""


class NotExported(NotExpressible):
    """Evidence without a counterpart in another system; `rule` is the rule of inference that has no lemma there, "text"
    where the question or a fact cannot be stated there as it was written.
    """

    def __init__(self, rule: str, why: str) -> None:
        self.rule, self.why = rule, why
        what = "the text is not stated here" if rule == "text" else f"the rule `{rule}` is not exported here"
        super().__init__(f"{what}: {why}")

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.rule, self.why)
