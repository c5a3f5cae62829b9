"""A fact: a proposition that was declared, assumed, guarded or asserted, with its source location.

>>> from solver.terms.interner import Interner
>>> from solver.proofs.fact import Fact
>>> terms = Interner()
>>> s = terms.symbol("s")
>>> Fact(terms.ge(s, 2), terms.true, "range", "s >= 2", None, 1, 0).kind
'range'
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from solver.syntax.short_text import with_names
from solver.terms.prop import Prop

Kind = Literal["range", "given", "guard", "assert", "hypothesis"]


@dataclass(frozen=True, slots=True)
class Fact:
    """A known proposition with its kind and origin.

    Attributes:
        prop: the proposition, true wherever the fact holds. domain: where it makes sense; the fact asserts that too.
        kind: range (bounds of a symbol, or what holds by construction), given (an assumption of the caller), guard (a
        committed branch), assert (a run-time check), hypothesis (for a scope). written: its text, where somebody wrote
        one. origin: the place in the program, opaque here. line: the caller's number for it, a line of a file for
        instance. serial: its position among the facts.
    """

    prop: Prop
    domain: Prop
    kind: Kind
    written: str | None
    origin: object | None
    line: int | None
    serial: int
    _printed: str | None = field(default=None, init=False, compare=False, repr=False)

    @property
    def text(self) -> str:
        """The text as it was written, or else the printed proposition, computed on demand."""
        text = self._printed if self.written is None else self.written
        if text is None:
            text = _printed(self.prop, self.domain)
            object.__setattr__(self, "_printed", text)
        return text

    @property
    def shown(self) -> str:
        """The text with the names that people read."""
        return with_names(self.text, self.prop.interner.shown_names)

    def __repr__(self) -> str:
        return f"<{self.kind} {self.shown}>"


def _printed(prop: Prop, domain: Prop) -> str:
    from solver.syntax.defined import readable_text

    if prop.kind == "true":
        return readable_text(domain, prop)
    return readable_text(prop, domain)


class Record:
    """A fact in the linked list of recorded facts, newest first, which many values share.

    It keeps what the fact stated when it was recorded, which evidence is checked against.
    """

    __slots__ = ("before", "domain", "fact", "prop", "written")

    def __init__(self, fact: Fact, before: Record | None) -> None:
        self.fact = fact
        self.before = before
        self.prop, self.domain, self.written = fact.prop, fact.domain, fact.written

    def is_unchanged(self) -> bool:
        """Return True if the fact states what it did when it was recorded."""
        return self.fact.prop is self.prop and self.fact.domain is self.domain

    def is_shown_unchanged(self) -> bool:
        """Return True if the fact also prints as it did when it was recorded."""
        fact = self.fact
        shown = fact._printed is None or fact._printed == _printed(self.prop, self.domain)
        return self.is_unchanged() and fact.written == self.written and shown
