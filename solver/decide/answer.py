"""The base of the verdicts: a question and its domain, the rung that answered, and what every answer can do.

    >>> from solver.decide.answer import Answer
    >>> from solver.decide.verdict import Always, Depends
    >>> issubclass(Always, Answer) and issubclass(Depends, Answer)
    True
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Final, Literal, NoReturn, Self

from solver.errors import InvalidArgument
from solver.hooks import Hook
from solver.knowledge.facts import Facts
from solver.syntax.short_text import with_names
from solver.terms.digest import digest, same
from solver.terms.prop import Prop


class Answer:
    """The base of the verdicts."""

    __slots__ = ("domain", "prop", "rung", "written")

    prop: Prop
    domain: Prop
    rung: str
    written: str | None
    """The text of the question, where it was asked as one."""

    def __bool__(self) -> NoReturn:
        shown = with_names(str(self.prop), self.prop.interner.shown_names)
        raise TypeError(
            f"a verdict is not a truth value; match on Always, Never, Depends and GaveUp (asked: `{shown}`)"
        )

    @abstractmethod
    def check(self) -> bool:
        """Verify the evidence again, without search."""

    @abstractmethod
    def evidence(self) -> object:
        """The part in which two verdicts of one question may differ, comparable across processes."""

    def __eq__(self, other: object) -> bool:
        """Return True for the same answer with the same evidence to the same question, also of another process: symbols
        are compared by name."""
        if self is other or not isinstance(other, Answer):
            return self is other
        return (
            type(self) is type(other)
            and same(self.prop, other.prop)
            and same(self.domain, other.domain)
            and self.evidence() == other.evidence()
        )

    def __hash__(self) -> int:
        return hash((type(self).__name__, digest(self.prop), digest(self.domain)))

    @abstractmethod
    def of_text(self, text: str) -> Answer:
        """The same answer to a question that was asked as this text."""

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def export(self, system: Literal["coq"] = "coq") -> str:
        """The evidence as a file that another system checks: theorems with their proofs for `coqc`.

        Raises:
            NotExported: a step of the proof has no counterpart there; `rule` names it.
        """
        wanted: object = system
        if wanted != "coq":
            known = "a verdict is exported to 'coq'; SMT-LIB has `env.export('smtlib')`"
            raise InvalidArgument(f"system={system!r}: {known}")
        return coq_exporter.call(self)

    def _repr_html_(self) -> str:
        """The verdict with its core or its witnesses, as notebooks show it."""
        return html_renderer.call(self)


coq_exporter: Final[Hook[Callable[[Answer], str]]] = Hook()
"""An answer for Coq's kernel, by `solver.coq`."""

html_renderer: Final[Hook[Callable[[Answer], str]]] = Hook()
"""An answer for a notebook, by `solver.decide.pages`."""


def included(facts: object) -> Facts:
    """Facts for an answer that was found under some of them."""
    if not isinstance(facts, Facts):
        expected = "facts that include those of the verdict, such as `env.known`"
        raise InvalidArgument(f"under: facts={facts!r}: expected {expected}")
    return facts
