"""The read-only half of an environment: questions, and views of its commitments.

    >>> from shapes import Always, ShapeEnv
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, s = env.sizes("b s", hints=(4, 128))
    >>> env.assume("s % 16 == 0")
    >>> isinstance(env.ask((b * s) % 16 == 0), Always), env.bounds(s % 16), env.hint(b * s)
    (True, (0, 0), 512)
    >>> len(env.events)                                    # as before: two symbols, one assumption
    3
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from time import perf_counter
from typing import TYPE_CHECKING, Final

from shapes.accepted import did_you_mean, is_truth, one_of, shown
from shapes.environment.access import Access, synchronized
from shapes.environment.commands import Commands
from shapes.environment.declaring import Declarations
from shapes.environment.events import Asked, Commitment, Purpose
from shapes.environment.hints import value_at_hints
from shapes.environment.ledger import Ledger
from shapes.environment.memory import Memory
from shapes.environment.questions import RANKS, Effort, Questions, check_cost
from shapes.environment.reader import Question, Reader, Size
from shapes.environment.symbols import SymbolTable
from shapes.environment.undecided import undefined, valueless
from shapes.environment.universal import BoundRange
from shapes.errors import Contradiction, InvalidArgument, ParseError, ShapeError, Undefined
from shapes.origin import OriginProvider, here
from shapes.policies import Policy, named, unspecialized
from shapes.symbolic.numbers import SymBool, SymInt
from solver.decide.verdict import Always, Verdict
from solver.knowledge.facts import Conflict, Consistent, Facts, Unknown
from solver.proofs.fact import Fact
from solver.syntax.tokens import Decimals
from solver.terms.expr import Atom, Expr
from solver.terms.interner import Interner
from solver.terms.prop import Prop

if TYPE_CHECKING:
    from shapes.environment.explanation import Explanation


DEFAULT: Final = "default"
FAST: Final = "fast"
SHOWN_SYMBOLS: Final = 6
"""The number of symbols in the text of an environment."""


class Asking(ABC):
    """The questions that an environment answers, and the parts that answer them."""

    def __init__(
        self,
        *,
        interner: Interner | None = None,
        policy: Policy = unspecialized,
        origin: OriginProvider = here,
        solvers: bool = True,
        decimals: Decimals = "ieee",
    ) -> None:
        if interner is not None and not isinstance(interner, Interner):
            raise ShapeError(f"interner={shown(interner)}: expected another environment's interner, or None")
        if not all(hasattr(policy, name) for name in ("name", "on_input", "on_open")):
            known = ", ".join(named)
            hint = did_you_mean(policy, named)
            raise ShapeError(f"policy={shown(policy)}: expected one of shapes.policies ({known}), or your own{hint}")
        if not callable(origin):
            raise ShapeError(f"origin={shown(origin)}: expected a function that returns the caller's place")
        if not is_truth(solvers):
            raise ShapeError(f"solvers={shown(solvers)}: expected True or False")
        one_of("decimals", decimals, ("ieee", "real"))
        self.interner = interner or Interner()
        self.policy = policy
        self.solvers = solvers
        self.decimals = decimals
        self._true = self.interner.true
        self._access = Access(self.interner.lock)
        table = SymbolTable()
        self.names, self.symbols, self.hints = table.names, table.symbols, table.hints
        self._ledger = Ledger(self.interner, table, origin=origin)
        self._memory = Memory(self._ledger)
        forget = self._memory.forget
        self._reader = Reader(self.interner, table, self._access, decimals=decimals, forget=forget)
        self._questions = Questions(self._ledger, self._reader, self._access, solvers=solvers, forget=forget)
        self._ledger.trails = (self._questions, self._reader)
        self._texts = self._reader.texts
        self._table = table
        self._watched = False
        """True if a listener is notified of questions."""
        self._declarations = Declarations(self._ledger, self._reader)
        self._commands = Commands(self._questions, self._reader)

    @abstractmethod
    def guard(self, question: Question) -> bool:
        """Commit to a branch; symbolic truth values need it."""

    @abstractmethod
    def specialize(self, size: SymInt | str, why: str) -> int:
        """The value of a size as a constant; symbolic numbers need it."""

    @property
    def known(self) -> Facts:
        """The known facts, as the solver's value."""
        return self._ledger.facts

    @property
    def ranges(self) -> tuple[BoundRange, ...]:
        """The bound variables of the open `for_all` with their ranges, outermost first."""
        return self._ledger.ranges

    def facts(self) -> tuple[Fact, ...]:
        """The facts in the order in which they were learned: ranges, assumptions, guards, run-time checks, hypotheses;
        each has its `text`, `kind` and `origin`."""
        return tuple(reversed(list(self.known.records())))

    def __repr__(self) -> str:
        """The symbols with their ranges, and the number of other facts."""
        symbols = [declared.fact.shown for declared in self.symbols.values()]
        listed = symbols if len(symbols) <= SHOWN_SYMBOLS else [*symbols[:SHOWN_SYMBOLS], "..."]
        more = self.known.count - len(symbols)
        facts = f"; {more} fact{'s' * (more != 1)}" if more else ""
        return f"<{type(self).__name__} {', '.join(listed) or 'without symbols'}{facts}>"

    @property
    def origin(self) -> OriginProvider:
        """The function that tells the source location of the caller."""
        return self._ledger.origin

    @property
    def events(self) -> tuple[Commitment, ...]:
        """The commitments that stand, in order."""
        return tuple(self._ledger.commitments)

    def where(self) -> str | None:
        """The place that is asking, as recorded sessions write it."""
        origin = self._ledger.origin()
        return None if origin is None else origin.recorded

    def sources(self, size: SymInt | str) -> tuple[str, ...]:
        """The places of a symbol's value, if they are known."""
        name = self._ledger.table.name_of(self.expression(size))
        return () if name is None else self._ledger.sources(name)

    # ------------------------------------------------------------------ reading

    def parse(self, text: str) -> tuple[Prop, Prop]:
        """The proposition that a text says, and its domain."""
        return self._reader.parse(text)

    def parse_expr(self, text: str) -> tuple[Expr, Prop]:
        """The size that a text says, and its domain."""
        return self._reader.parse_expr(text)

    def expression(self, size: Size) -> Expr:
        """A size as the solver's expression."""
        return self._reader.read_expr(size)[0]

    def domain_of(self, size: Size) -> Prop:
        """The condition under which a size has a value."""
        return self._reader.read_expr(size)[1]

    def true_at_hints(self, question: Question) -> bool | None:
        """Return True or False as it holds at the hints or not; None where they say nothing: a symbol has none, it
        is undefined there, or the scope is one that this run does not enter.
        """
        try:
            return self._ledger.at_hint(*self._reader.read(question))
        except Undefined:
            return None

    def hint(self, size: Size | SymBool | Prop, fallback: int | None = None) -> int | bool | None:
        """The value at the hints, for estimates and tuning. Symbols without a hint count as `fallback`; with none,
        the answer is None."""
        node: Expr | Prop
        if isinstance(size, (SymBool, Prop)):
            node = self._reader.read(size)[0]
        else:
            try:
                node = self.expression(size)
            except ParseError:
                node = self.parse(str(size))[0]
        return value_at_hints(node, self.hints, self.known, fallback)

    def size(self, text: str) -> SymInt | int:
        """A size from text, such as `max(b, s)`; an int where it is a constant."""
        expr, domain = self._reader.parse_expr(text)
        return expr.constant if expr.is_constant and domain is self._true else self._size(expr, domain)

    # ------------------------------------------------------------------ asking

    def ask(
        self,
        question: Question,
        *,
        effort: Effort = "default",
        timeout: float | None = None,
        purpose: Purpose = "program",
    ) -> Verdict:
        """Decide whether a proposition follows from what is known. Changes nothing.

        Args:
            effort: what it may cost: "fast" and "default" have budgets of work, "thorough" has the largest and asks z3
                ("full" is another word for it).
            timeout: seconds after which the answer is unknown, whatever the effort allows.
            purpose: who asks, for listeners.

        Raises:
            Undefined: the facts refute what the question needs to make sense (a divisor that is zero, say).
        """
        started = 0.0
        if timeout is not None or (effort is not DEFAULT and effort is not FAST):
            check_cost(effort, timeout)  # the usual efforts are these very objects
            started = perf_counter()
        questions = self._questions
        text = None
        if type(question) is SymBool and question.domain is self._true:
            known = questions.answers_now.get(question.prop)
            if known is not None and known.facts is self._ledger.facts and known.effort >= RANKS[effort]:
                return known.verdict
        if type(question) is str:
            text = question
            prop, domain = self._texts.get(text) or self._reader.parse(text)
            if domain is self._true:
                known = questions.answers_now.get(prop)
                if known is not None and known.facts is self._ledger.facts and known.effort >= RANKS[effort]:
                    worded = known.worded
                    if worded is not None and worded[1] == text and worded[0] == self._table.epoch:
                        return worded[2]
        else:
            prop, domain = self._reader.read(question)
        if timeout is not None:
            timeout = max(0.0, timeout - (perf_counter() - started))  # reading takes time, too
        try:
            verdict = questions.answer(prop, domain, effort, timeout)
        except Undefined:
            raise undefined(text or str(prop), domain) from None
        if text is not None:
            verdict = questions.worded(verdict, prop, domain, text)
        if self._watched:
            one_of("purpose", purpose, ("program", "optional", "person"))
            self._ledger.tell(Asked(prop, domain, text, verdict, purpose, False))
        return verdict

    def verdict_on(
        self, prop: Prop, domain: Prop | None = None, effort: Effort = "default", timeout: float | None = None
    ) -> Verdict:
        """`ask`, of a proposition that was read before; listeners are not notified."""
        try:
            return self._questions.answer(prop, self._true if domain is None else domain, effort, timeout)
        except (AttributeError, TypeError):
            for label, value in (("prop", prop), ("domain", domain)):
                if not isinstance(value, Prop) and (label, value) != ("domain", None):
                    expected = "a proposition, such as env.parse(text) gives; `ask` takes text"
                    raise InvalidArgument(f"verdict_on: {label}={shown(value)}: expected {expected}") from None
            raise

    def proves(self, question: Question, *, effort: Effort = "default", timeout: float | None = None) -> bool:
        """Return True if a proposition is `Always`: for compilers that have use for a proof alone."""
        return isinstance(self.ask(question, effort=effort, timeout=timeout), Always)

    @synchronized
    def bounds(self, size: Size) -> tuple[int | None, int | None]:
        """The least and the greatest value, as far as interval reasoning knows; None for unbounded."""
        from shapes.environment.value_ranges import bounds

        return bounds(self.known, self._reader.read_expr(size)[0])

    def guarding_hint(self, size: Size) -> int:
        """The value this time, for callers that will guard on it.

        Raises:
            UndecidedGuard: a symbol in it has no hint; `hint(size, fallback=...)` estimates.
        """
        expr, domain = self._reader.read_expr(size)
        value = self.hint(expr)
        if value is None:
            lo, hi = self.known.bounds(expr)
            if lo is None or lo != hi:
                raise valueless(self._ledger, expr, domain, "a symbol in it has no hint")
            value = lo
        return int(value)

    @synchronized
    def counterexample(self, verdict: Verdict, about: Collection[Atom] = ()) -> dict[str, int] | None:
        """Small sizes at which a question is false, of bound variables first, from its verdict; None where none were
        found. They have a value for all symbols that the question is `about`."""
        from shapes.environment.counterexample import counterexample

        return counterexample(self._ledger, verdict, about)

    @synchronized
    def explain(self, question: Question) -> Explanation:
        """The verdict in words: the facts and lines it rests on and the steps, or the sizes that show both outcomes."""
        from shapes.environment.explanation import explain

        prop, domain = self._reader.read(question)
        verdict = self.verdict_on(prop, domain, "thorough")
        if isinstance(question, str):
            verdict = self._questions.naming(verdict, question)
        return explain(verdict, prop, domain)

    @synchronized
    def simplify(self, size: Size) -> SymInt | int:
        """The same value in fewer operations, as far as the facts allow, defined where it was; every step is proven."""
        from solver.decide.simplify import simplify_pair

        expr, domain = self._reader.read_expr(size)
        # a constant in place of a symbol is as many operations, so that `simplify` would not prefer it
        known = {atom: self.known.bounds(atom.expr) for atom in expr.symbols}
        fixed = {atom: lo for atom, (lo, hi) in known.items() if lo is not None and lo == hi}
        expr = expr.substitute({atom: self.interner.constant(value) for atom, value in fixed.items()})
        simple, where = simplify_pair(self.known, expr, domain, solvers=self.solvers)
        return simple.constant if simple.is_constant and where is self._true else self._size(simple, where)

    @synchronized
    def fits(self, size: Size, bits: int) -> Verdict:
        """Decide whether the value *and every intermediate* of its computation, as written, fits a signed integer of so
        many bits.
        """
        from shapes.environment.overflow import fitting

        prop, domain = fitting(self._reader, size, bits)
        return self.verdict_on(prop, domain)

    @synchronized
    def check_consistent(self) -> Mapping[str, int] | None:
        """Sizes that satisfy everything known; None where none were found and no contradiction either.

        Raises:
            Contradiction: the facts cannot hold together.
        """
        from solver.decide.consistency import consistency

        match consistency(self.known, solvers=self.solvers):
            case Conflict(core=core, proof=proof):
                raise Contradiction("the facts contradict each other", core, proof)
            case Consistent(witness=witness):
                return {declared.name: witness[atom] for atom, declared in self.symbols.items()}
            case Unknown():
                return None

    # ------------------------------------------------------------------ elsewhere

    def translate(self, question: Question, mapping: Mapping[str, Size]) -> SymBool:
        """A proposition of another environment in terms of this one's sizes; `mapping` says what its symbols are
        here."""
        from shapes.environment.translation import translated

        return SymBool(self, *translated(self._reader, question, mapping))

    @synchronized
    def fingerprint(self, *, hints: bool = True) -> str:
        """A key for caches that other processes read: a digest of the policy and of all commitments, in order, symbols
        by name; without `hints`, whatever the sizes are this time. Equal ones mean the same guards and checks."""
        from shapes.environment.fingerprint import fingerprint

        settings = self.policy.name, self.solvers, self.decimals, *self._ledger.table.strict.values()
        return fingerprint(settings, self._ledger.commitments, hints=hints)

    def _size(self, expr: Expr, domain: Prop | None = None) -> SymInt:
        """An expression as a symbolic number of this environment."""
        return SymInt(self, expr, self._true if domain is None else domain)
