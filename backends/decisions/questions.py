"""The one place where backends ask the engine: every question whose answer changes the code, and what was chosen.

    >>> from shapes import ShapeEnv
    >>> from backends.decisions.questions import Choice, Decisions, is_multiple
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, s = env.sizes("b s")
    >>> env.assume("s % 16 == 0")
    >>> decisions = Decisions(env)
    >>> tail = Choice("no tail", "a tail")
    >>> decisions.holds("divisible", is_multiple((b * s).expr, 16), tail)
    True
    >>> decisions.holds("divisible", is_multiple(b.expr, 16), tail) is None
    True
    >>> for decision in decisions.log:
    ...     print(decision)
    divisible: b*s % 16 == 0? always, because s % 16 == 0: no tail; nothing added
    divisible: b % 16 == 0? depends: a tail; nothing added

An answer that is not known takes the general path: a question of a backend never adds a guard by itself. Where a
policy asks for it, what a guard would save is weighed against what it costs (`backends.decisions.costs`); kernels are
then made once more with the guards that pay as facts, and the decisions that rest on them say so. A kind of question
can be switched off, or its facts withheld, to see what it is worth.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias, get_args

from backends.decisions.guard_candidates import GuardCandidate
from shapes.env import ShapeEnv
from solver.decide.verdict import Always, Depends, Never, Verdict
from solver.errors import Undefined
from solver.proofs.fact import Fact
from solver.terms.expr import Atom, Expr
from solver.terms.interner import Interner
from solver.terms.prop import Prop

Kind = Literal[
    "equal",
    "constant",
    "size one",
    "stride one",
    "collapse",
    "divisible",
    "lanes",
    "order",
    "interleaving",
    "inside",
    "parallel",
    "split",
    "parts",
    "reversed",
    "index width",
    "short",
    "sign",
    "channels",
    "repack",
    "recompute",
    "reuse",
    "large",
]
KINDS: Final = frozenset(get_args(Kind))
Added = Literal["nothing", "guard", "branch"]
WORDS: Final = {Always: "always", Never: "never", Depends: "depends"}
Put: TypeAlias = tuple[object, ...]
"""The words of a question as it was put."""
NO_LIMIT: Final = f" <= {2**63 - 1}"
"""Trivial bound of every size; suppressed in messages."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question about sizes, and its words: the normal form may be another, or that it is true."""

    prop: Prop
    put: Put = ()


def at_least(size: Expr, least: Expr | int) -> Question:
    return Question(Prop.ge(size, least), (size, ">=", least))


def at_most(size: Expr, most: Expr | int) -> Question:
    return Question(Prop.le(size, most), (size, "<=", most))


def more_than(size: Expr, limit: int) -> Question:
    return Question(Prop.ge(size, limit + 1), (size, ">", limit))


def is_multiple(size: Expr, of: int) -> Question:
    return Question(Prop.zero(size % of), (size, "%", of, "==", 0))


@dataclass(frozen=True, slots=True)
class Choice:
    """The code for each answer to a question.

    Attributes:
        always: what is chosen if it always holds, and `otherwise` if that is not known.
        never: what is chosen if it cannot hold; the same as otherwise, if not given.
        added: what an open question adds.
    """

    always: str
    otherwise: str
    never: str | None = None
    added: Added = "nothing"


@dataclass(frozen=True, slots=True)
class Open:
    """A question that was not answered, and what the answer is for.

    Attributes:
        iterations: how often a loop runs; None where it is once a call.
        length: how long that loop is.
        origin: the line of the program.
    """

    kind: Kind
    question: Prop
    iterations: Expr | None
    length: Expr | None
    origin: str


@dataclass(frozen=True, slots=True)
class Decision:
    """One question, its verdict, and the code that was chosen.

    Attributes:
        where: the kernel, or the step of the program.
        added: a guard, a branch at run time between two versions, or nothing.
        bought: what the guard saves and costs, where one was added for this answer.
        put: how the question was put, where that is not its normal form.
        origin: the line of the program.
    """

    kind: Kind
    question: Prop
    verdict: Verdict | None
    chosen: str
    added: Added
    where: str
    bought: GuardCandidate | None = None
    put: Put = ()
    origin: str = ""

    @property
    def words(self) -> str:
        """The question as it was put."""
        words = [str(word) for word in self.put]
        for place, word in enumerate(words[:-1]):
            if words[place + 1] == "%" and " " in word:
                words[place] = f"({word})"
        return " ".join(words) if words else str(self.question)

    @property
    def outcome(self) -> str:
        """The code that was chosen, and what it added."""
        price = "" if self.bought is None else f": {self.bought.price}"
        return f"{self.chosen}; {self.added} added{price}"

    @property
    def answer(self) -> str:
        """always, never, depends, gave up; or withheld, where the engine was not to be asked."""
        return "withheld" if self.verdict is None else WORDS.get(type(self.verdict), "gave up")

    @property
    def core(self) -> tuple[Fact, ...]:
        """The facts that the answer rests on."""
        return tuple(self.verdict.core) if isinstance(self.verdict, Always | Never) else ()

    def __str__(self) -> str:
        facts = ", ".join([fact.text.removesuffix(NO_LIMIT) for fact in self.core])
        because = f", because {facts}" if facts else ""
        place = f"{self.where}: " if self.where else ""
        return f"{place}{self.kind}: {self.words}? {self.answer}{because}: {self.outcome}"


class Decisions:
    """Questions about one program's sizes.

    Attributes:
        withheld: kinds of questions that are answered as if nothing were known.
        bought: guards that were added for the sake of kernels, by what they say.
        known: the sizes of inputs that can only be one number.
        log: every decision, in order, each once.
        libraries: what was compiled for the program, in order.
        unanswered: the questions that a fact would have answered, each once for what it is about.
    """

    def __init__(
        self, env: ShapeEnv, *, withheld: Collection[str] = (), bought: Mapping[Prop, GuardCandidate] | None = None
    ) -> None:
        self.env = env
        self.withheld = frozenset(withheld)
        self.bought = bought or {}
        self.known = dict(self._known())
        self.libraries: dict[Path, None] = {}
        self.files: list[Path] = []
        """The library of each file of kernels, in order; files of the same text share one."""
        self.where = ""
        self.origin = ""
        self._log: dict[tuple[object, ...], Decision] = {}
        self._open: dict[tuple[str, Prop, Expr | None, Expr | None, str], Open] = {}

    def _known(self) -> Iterator[tuple[Atom, Expr]]:
        facts = self.env.known
        for atom, declared in self.env.symbols.items():
            if declared.kind == "backed":
                lo, hi = facts.bounds(atom.expr)
                if lo is not None and lo == hi:
                    yield atom, self.env.interner.constant(lo)

    @property
    def interner(self) -> Interner:
        return self.env.interner

    @property
    def log(self) -> tuple[Decision, ...]:
        return tuple(self._log.values())

    @property
    def unanswered(self) -> tuple[Open, ...]:
        return tuple(self._open.values())

    @property
    def hints(self) -> dict[Atom, int]:
        """The sizes where the program was traced, 1 for those that only a run tells."""
        known = self.env.symbols
        return {atom: 1 if declared.hint is None else declared.hint for atom, declared in known.items()}

    @contextmanager
    def at(self, where: str, origin: str = "") -> Iterator[None]:
        """Decisions from here on are about this, which comes from that line of the program."""
        before = self.where, self.origin
        self.where, self.origin = where, origin
        try:
            yield
        finally:
            self.where, self.origin = before

    def holds(
        self,
        kind: Kind,
        question: Question | Prop,
        choice: Choice,
        *,
        iterations: Expr | None = None,
        length: Expr | None = None,
    ) -> bool | None:
        """Decide whether it always or never holds, or None. The answer saves time in each of the `iterations` of a
        loop of this `length`.
        """
        prop, put = (question.prop, question.put) if isinstance(question, Question) else (question, ())
        of_numbers = self._is_settled(prop) and put and is_of_numbers(put)
        verdict = None if kind in self.withheld and not of_numbers else self._asked(prop)
        if isinstance(verdict, Always):
            bought = self._bought_for(verdict)
            what: Added = "nothing" if bought is None else "guard"
            self._note(Decision(kind, prop, verdict, choice.always, what, self.where, bought, put, self.origin))
            return True
        if isinstance(verdict, Never):
            chosen = choice.otherwise if choice.never is None else choice.never
            self._note(Decision(kind, prop, verdict, chosen, "nothing", self.where, put=put, origin=self.origin))
            return False
        self._note(
            Decision(kind, prop, verdict, choice.otherwise, choice.added, self.where, put=put, origin=self.origin)
        )
        key = (kind, prop, iterations, length, self.where)
        self._open.setdefault(key, Open(kind, prop, iterations, length, self.origin))
        return None

    def equal(self, a: Expr, b: Expr, *, iterations: Expr | None = None) -> bool:
        """Return True if two sizes are known to be equal, where that saves time in each of the iterations."""
        if a is b and is_plain(a):
            return True
        return self.same("equal", a, b, Choice("the same", "taken for different"), iterations=iterations)

    def same(
        self,
        kind: Kind,
        a: Expr,
        b: Expr,
        choice: Choice,
        *,
        iterations: Expr | None = None,
        length: Expr | None = None,
    ) -> bool:
        """Return True if two sizes are known to be equal. That two products or sums are is an answer as any other, be
        it that they have one normal form; only numbers are compared without asking.
        """
        if a.is_constant and b.is_constant:
            return a is b
        put = (a, "==", b)
        if a is b and (kind, self.interner.true, self.where, choice.always, put) in self._log:
            return True
        question = Question(self.interner.eq(a, b), put)
        return self.holds(kind, question, choice, iterations=iterations, length=length) is True

    def is_one(self, size: Expr, *, iterations: Expr | None = None) -> bool | None:
        """Decide whether a size is 1, or known not to be, where that saves time in each of the given number of
        iterations.
        """
        if size.is_constant:
            return size.constant == 1
        return self.holds("size one", self.interner.eq(size, 1), Choice("no loop", "a loop"), iterations=iterations)

    def sooner(self, kind: Kind, question: Question | Prop, choice: Choice, *, likely: bool) -> bool:
        """Decide whether to take the first of two ways that give the same result, for any sizes, in different time or
        memory. What is not known is decided by what is `likely`: what holds where the program was traced.
        """
        if kind in self.withheld:
            return self.holds(kind, question, choice) is True
        guess = f"{choice.always if likely else choice.otherwise}, as where it was traced"
        found = self.holds(kind, question, Choice(choice.always, guess, choice.otherwise))
        return likely if found is None else found

    def number(self, size: Expr) -> Expr:
        """A size with numbers in place of what is known to be one."""
        if self.known.keys().isdisjoint(size.symbols):
            return size
        for atom in size.symbols & self.known.keys():
            known = self.interner.eq(atom.expr, self.known[atom])
            self.holds("constant", known, Choice("a number", "a size of the run"))
        return size.substitute(self.known)

    def _is_settled(self, question: Prop) -> bool:
        """Return True if its normal form settles it."""
        return question is self.interner.true or question is self.interner.false

    def _asked(self, question: Prop) -> Verdict | None:
        try:
            return self.env.ask(question, purpose="optional")
        except Undefined:
            return None

    def _bought_for(self, verdict: Always) -> GuardCandidate | None:
        """The guard behind an answer that was added for the sake of kernels."""
        if not self.bought:
            return None
        return next((found for fact in verdict.core if (found := self.bought.get(fact.prop)) is not None), None)

    def _note(self, decision: Decision) -> None:
        put = decision.put if self._is_settled(decision.question) else ()
        key = (decision.kind, decision.question, decision.where, decision.chosen, put)
        self._log.setdefault(key, decision)


def is_of_numbers(put: Put) -> bool:
    """Return True if a question is about numbers alone, which needs no engine."""
    return all(isinstance(word, str | int) or getattr(word, "is_constant", False) for word in put)


def is_plain(size: Expr) -> bool:
    """Return True for a number or a symbol: comparing it needs no engine."""
    terms = size.terms
    if len(terms) != 1:
        return not terms
    atoms = size.interner.monomials[terms[0][0]]
    return terms[0][1] == 1 and not size.constant and len(atoms) == 1 and not atoms[0].args
