"""The one place where backends ask the engine: every question whose answer changes the code, and what was chosen.

    >>> from shapes import ShapeEnv
    >>> from backends.decisions import Decisions
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, s = env.sizes("b s")
    >>> env.assume("s % 16 == 0")
    >>> decisions = Decisions(env)
    >>> decisions.holds("divisible", (b * s).expr.interner.divides(16, (b * s).expr), "no tail", "a tail")
    True
    >>> decisions.holds("divisible", b.expr.interner.divides(16, b.expr), "no tail", "a tail") is None
    True
    >>> for decision in decisions.log:
    ...     print(decision)
    divisible: b*s % 16 == 0? always, because s % 16 == 0: no tail; nothing added
    divisible: b % 16 == 0? depends: a tail; nothing added

An answer that is not known takes the general path: a question of a backend never adds a guard by itself. A kind of
question can be switched off, or its facts withheld, to see what it is worth.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, get_args

from solver.errors import Undefined
from solver.verdict import Always, Depends, Never, Verdict

if TYPE_CHECKING:
    from shapes.env import ShapeEnv
    from solver.expr import Atom, Expr
    from solver.fact import Fact
    from solver.interner import Interner
    from solver.prop import Prop

Kind = Literal[
    "equal",
    "size one",
    "stride one",
    "collapse",
    "divisible",
    "index width",
    "short",
    "reuse",
]
KINDS: Final = frozenset(get_args(Kind))
Added = Literal["nothing", "guard", "branch"]
WORDS: Final = {Always: "always", Never: "never", Depends: "depends"}


@dataclass(frozen=True, slots=True)
class Decision:
    """One question, its verdict, and the code that was chosen.

    Attributes:
        where: the kernel, or the step of the program.
        added: a guard, a branch at run time between two versions, or nothing.
    """

    kind: Kind
    question: Prop
    verdict: Verdict | None
    chosen: str
    added: Added
    where: str

    @property
    def answer(self) -> str:
        """always, never, depends, gave up; or withheld, where the engine was not to be asked."""
        return "withheld" if self.verdict is None else WORDS.get(type(self.verdict), "gave up")

    @property
    def core(self) -> tuple[Fact, ...]:
        """The facts that the answer rests on."""
        return tuple(self.verdict.core) if isinstance(self.verdict, Always | Never) else ()

    def __str__(self) -> str:
        facts = ", ".join([fact.text for fact in self.core])
        because = f", because {facts}" if facts else ""
        place = f"{self.where}: " if self.where else ""
        return f"{place}{self.kind}: {self.question}? {self.answer}{because}: {self.chosen}; {self.added} added"


class Decisions:
    """Questions about one program's sizes.

    Attributes:
        withheld: kinds of questions that are answered as if nothing were known.
        log: every decision, in order, each once.
    """

    def __init__(self, env: ShapeEnv, *, withheld: Collection[str] = ()) -> None:
        self.env = env
        self.withheld = frozenset(withheld)
        self.where = ""
        self._log: dict[tuple[str, Prop, str, str], Decision] = {}

    @property
    def interner(self) -> Interner:
        return self.env.interner

    @property
    def log(self) -> tuple[Decision, ...]:
        return tuple(self._log.values())

    @property
    def hints(self) -> dict[Atom, int]:
        """The sizes where the program was traced, 1 for those that only a run tells."""
        known = self.env.symbols
        return {atom: 1 if declared.hint is None else declared.hint for atom, declared in known.items()}

    @contextmanager
    def at(self, where: str) -> Iterator[None]:
        """Decisions from here on are about this."""
        before, self.where = self.where, where
        try:
            yield
        finally:
            self.where = before

    def holds(
        self,
        kind: Kind,
        question: Prop,
        yes: str,
        otherwise: str,
        *,
        added: Added = "nothing",
        never: str | None = None,
    ) -> bool | None:
        """Whether it always or never holds, or None; with what is chosen if it does, and if that is not known.

        `added` is what an open question adds; `never` is chosen where it can not hold (the same as otherwise, if not
        given).
        """
        verdict = None if kind in self.withheld else self._asked(question)
        if isinstance(verdict, Always):
            self._note(Decision(kind, question, verdict, yes, "nothing", self.where))
            return True
        if isinstance(verdict, Never):
            chosen = otherwise if never is None else never
            self._note(Decision(kind, question, verdict, chosen, "nothing", self.where))
            return False
        self._note(Decision(kind, question, verdict, otherwise, added, self.where))
        return None

    def equal(self, a: Expr, b: Expr) -> bool:
        """Whether two sizes are known to be equal."""
        if a is b:
            return True
        if a.is_constant and b.is_constant:
            return False
        return self.holds("equal", self.interner.eq(a, b), "the same", "different") is True

    def is_one(self, size: Expr) -> bool | None:
        """Whether a size is known to be 1, or known not to be."""
        if size.is_constant:
            return size.constant == 1
        return self.holds("size one", self.interner.eq(size, 1), "no loop", "a loop")

    def _asked(self, question: Prop) -> Verdict | None:
        try:
            return self.env.ask(question, effort="fast", purpose="optional")
        except Undefined:
            return None

    def _note(self, decision: Decision) -> None:
        self._log.setdefault((decision.kind, decision.question, decision.where, decision.chosen), decision)
