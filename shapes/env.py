"""The shape environment of one traced program: facts about its sizes, questions about them, and commitments.

    >>> from shapes import Always, Depends, ShapeEnv
    >>> env = ShapeEnv()
    >>> b, s = env.sizes("b s", hints=(4, 128))
    >>> env.assume("s % 16 == 0")
    >>> isinstance(env.ask((b * s) % 16 == 0), Always)
    True
    >>> match env.ask((b * s) % 64 == 0):
    ...     case Depends(true_at, false_at):
    ...         (true_at["b"] * true_at["s"]) % 64, (false_at["b"] * false_at["s"]) % 64 > 0
    (0, True)
    >>> env.guard(s > 64)
    True
    >>> [str(guard) for guard in env.guards()]
    ['s >= 65']

Asking (`ask`, `bounds`, `simplify`, `hint`, `fits`, `explain`) changes nothing. Commands record what they did and
where; one that fails leaves the environment as it was. Several threads may share an environment: commands run one at a
time, and what holds in a scope is for the thread that opened it (`ConcurrentScope`).

An environment is a facade: what can be asked (`shapes.asking`), what is committed to (`shapes.commitments`), how sizes
are declared (`shapes.declaring`), and here the other commands. Behind it are the parts of `shapes.environment`, which
know expressions and propositions; only the facade makes symbolic numbers of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Self

from shapes.accepted import shown
from shapes.declaring import Declaring
from shapes.environment.access import synchronized
from shapes.environment.commands import with_message
from shapes.environment.events import Commitment, Listener
from shapes.environment.joining import join
from shapes.environment.ledger import Checkpoint
from shapes.environment.reader import Question, Size
from shapes.environment.scopes import Attempt, supposing
from shapes.errors import Contradiction, ShapeError
from shapes.origin import Origin, pickled_provider
from shapes.symbolic.numbers import SymBool, SymInt
from solver.decide.pages import facts_page
from solver.decide.verdict import Always
from solver.knowledge.facts import Facts
from solver.proofs.fact import Kind
from solver.styled_text import html_of_page, line, span
from solver.terms.expr import Atom
from solver.terms.prop import Prop

if TYPE_CHECKING:
    from shapes.environment.for_all import Lemma
    from shapes.environment.layout import Layout
    from shapes.environment.questions import Effort
    from shapes.environment.universal import BoundRange


class ShapeEnv(Declaring):
    """Sizes of one program, what is known about them, and what follows."""

    def _repr_html_(self) -> str:
        """All that is known, with the line of each fact, as notebooks show it."""
        return html_of_page([line(span("environment", "heading")), *facts_page(self.facts())])

    def input(
        self,
        name: str,
        sizes: Sequence[int],
        strides: Sequence[int] | None = None,
        offset: int = 0,
        *,
        dims: str | Sequence[str] | None = None,
        source: str | None = None,
    ) -> Layout:
        """An input tensor as it came: its sizes, strides and storage offset, as symbols with these hints.

        Strides that are products of sizes this time are taken to be so, as guards on the strides; `dims` names the
        sizes.
        """
        from shapes.environment.inputs import allocate

        return allocate(self, name, sizes, strides, offset, dims, source)

    # ------------------------------------------------------------------ facts

    @synchronized
    def assume(self, question: Question) -> None:
        """An assumption of the caller: a *given* fact, listed in `preconditions` and tested by compiled checks.

        Raises:
            Contradiction: it cannot hold together with what is known; its core are the facts.
        """
        self._commands.assume(question, "given")

    @synchronized
    def postulate(self, question: Question) -> None:
        """Add a fact that holds by construction of the values that an operator computes: of the kind "range", which no
        check tests.

        Raises:
            Contradiction: it cannot hold together with what is known.
        """
        self._commands.assume(question, "range")

    @synchronized
    def rebind(self, symbol: SymInt | str, size: Size) -> None:
        """A symbol is the value of an expression by construction, as when a program is traced again."""
        self._commands.rebind(symbol, size)

    @synchronized
    def restore_fact(self, text: str, kind: Kind, message: str, origin: Origin | None, line: int | None = None) -> None:
        """A fact as it was recorded, a guard as a guard and a check as a check."""
        self._commands.restore(text, kind, message, origin, line)

    # ------------------------------------------------------------------ branches, checks, values

    def guard(self, question: Question) -> bool:
        """Commit to a branch: what is known decides, otherwise the policy, by default the hint's side as a guard.

        Raises:
            UndecidedGuard: neither decides.
        """
        if type(question) is SymBool and question.domain is self._true:
            known = self._questions.answers_now.get(question.prop)
            if known is not None and known.lasting:
                return type(known.verdict) is Always
        return self._branch(question, None)

    def guard_or_false(self, question: Question) -> bool:
        """`guard`, but False where it would raise `UndecidedGuard`; that choice is logged and is not a fact."""
        return self._branch(question, False)

    def guard_or_true(self, question: Question) -> bool:
        """`guard`, but True where it would raise `UndecidedGuard`; that choice is logged and is not a fact."""
        return self._branch(question, True)

    @synchronized
    def _branch(self, question: Question, fallback: bool | None) -> bool:
        return self._commands.branch(question, fallback, self.policy)

    @synchronized
    def expect_true(self, question: Question, message: str = "", *, error: type[Exception] = RuntimeError) -> None:
        """Require a proposition from here on: by what is known, by a guard where the inputs decide it, else by a check
        that runs with the program, and raises `error`.

        Raises:
            Contradiction: it cannot hold.
        """
        self._commands.expect_true(question, message, error)

    def require(self, question: Question, message: str = "", *, error: type[Exception] = RuntimeError) -> None:
        """As `expect_true`, but a `ShapeError` with the message where it cannot hold."""
        if question is True:
            return
        if question is False:
            raise ShapeError(message or "requirement fails")
        if type(question) is SymBool and question.domain is self._true:
            known = self._questions.answers_now.get(question.prop)
            if known is not None and type(known.verdict) is Always:
                return
        try:
            self.expect_true(question, message, error=error)
        except Contradiction as contradiction:
            raise ShapeError(with_message(message or "requirement fails", str(contradiction))) from contradiction

    @synchronized
    def specialize(self, size: SymInt | str, why: str) -> int:
        """The value of a size as a constant, for Python code that needs one: guards on it and logs why.

        Raises:
            UndecidedGuard: it has no hint and no single value.
        """
        return self._commands.specialize(size, why)

    # ------------------------------------------------------------------ taking back

    @synchronized
    def checkpoint(self) -> Checkpoint:
        """A position to return to with `rollback`. Costs nothing but the reference."""
        return self._ledger.checkpoint()

    @synchronized
    def rollback(self, mark: Checkpoint) -> None:
        """Return to a checkpoint: facts, names, guards, checks and answers are as they were, and so are attached
        states.

        Raises:
            StaleCheckpoint: an earlier rollback went back beyond this mark.
        """
        if not isinstance(mark, Checkpoint):
            raise ShapeError(f"mark={shown(mark)}: expected the result of `checkpoint`")
        self._ledger.rollback(mark)
        if self._memory.is_full:
            self._memory.forget()  # about symbols that no longer exist

    def attach(self, participant: Callable[[], Callable[[], None]]) -> None:
        """Let a state of the caller's own be rolled back too: the participant is called at each checkpoint and
        returns what restores it."""
        self._ledger.attach(participant)

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Tell `listener` of every event from now on; the result ends that."""
        if not callable(listener):
            raise ShapeError(f"listener={shown(listener)}: expected a function of an event")
        self._listen((*self._ledger.listeners, listener))
        return lambda: self._listen(tuple([other for other in self._ledger.listeners if other is not listener]))

    def _listen(self, listeners: tuple[Listener, ...]) -> None:
        self._ledger.listeners = listeners
        self._watched = bool(listeners)
        self._access_changed()

    def _access_changed(self) -> None:
        self._questions.answer_without_lock(not self._access.owners and not self._watched)

    # ------------------------------------------------------------------ scopes

    @contextmanager
    def speculate(self) -> Iterator[Attempt]:
        """A stretch that is taken back at its end, unless `keep` of what `with` gives was called; always on an
        exception."""
        with self._scope():
            mark = self.checkpoint()
            attempt = Attempt()
            try:
                yield attempt
            except BaseException:
                self.rollback(mark)
                raise
            if not attempt.kept:
                self.rollback(mark)

    @contextmanager
    def hypothesis(self, *questions: Question) -> Iterator[tuple[SymInt, ...]]:
        """Propositions that hold inside only. Names in their text that are no symbols become bound variables, from 0.

        Raises:
            Contradiction: they cannot hold, so nothing inside would ever run.
        """
        with self._scope(), supposing(self._commands, self._declarations, questions) as variables:
            yield tuple([self._size(variable) for variable in variables])

    @contextmanager
    def for_all(self, name: str, low: Size, high: Size) -> Iterator[SymInt]:
        """A bound variable that has every value from `low` up to `high`, which is not included: what is proven inside
        holds for all of them. `lemma` keeps it, an assumption about the variable is about every value, and nothing
        about it is left at the end.

        Raises:
            Contradiction: the range is empty, so nothing inside is about anything.
        """
        from shapes.environment.for_all import quantifying

        with self._scope(), quantifying(self._commands, self._declarations, name, low, high) as variable:
            yield self._size(variable)

    @synchronized
    def lemma(self, question: Question, *, effort: Effort = "thorough") -> Lemma:
        """Prove a proposition for all values of the bound variables, to use it where they are gone.

        Raises:
            NotProven: it does not follow; with values for which it is false, where they were found.
        """
        from shapes.environment.for_all import lemma

        return lemma(self._commands, question, effort, partial(SymBool, self))

    @contextmanager
    def _scope(self) -> Iterator[None]:
        """Open a scope whose facts are for this thread alone."""
        self._enter_scope()
        try:
            yield
        finally:
            with self._access.lock:
                self._access.leave()
                self._access_changed()

    @synchronized
    def _enter_scope(self) -> None:
        self._access.enter()
        self._access_changed()

    @synchronized
    def fork(self, *, under: Question | None = None, for_all: tuple[str, Size, Size] | None = None) -> Self:
        """An environment of its own that begins with everything known here, and with one more hypothesis if there is
        one, or inside of `for_all` with these arguments.

        The two share the interner, so sizes of this one may be asked about there.
        """
        other = type(self)(
            interner=self.interner, policy=self.policy, origin=self.origin, solvers=self.solvers, decimals=self.decimals
        )
        other._ledger.table.inherit(self._ledger.table)
        other._ledger.inherit(self._ledger)
        if under is not None:
            other._ledger.hypotheses = (*other._ledger.hypotheses, other._commands.suppose(under))
        if for_all is not None:
            from shapes.environment.for_all import open_range

            open_range(other._commands, other._declarations, *for_all)
        return other

    @synchronized
    def join(self, *branches: Self) -> None:
        """Commit to what holds in every branch: forks of this environment that between them cover every way that was
        taken."""
        if any(not isinstance(branch, ShapeEnv) or branch.interner is not self.interner for branch in branches):
            raise ShapeError("join takes forks of this environment")
        join(self._questions, [branch._questions for branch in branches])

    # ------------------------------------------------------------------ elsewhere

    def __copy__(self) -> Self:
        return self.fork()

    def __deepcopy__(self, memo: object) -> Self:
        """A fork: knowledge is a value, and the sizes of this one may be asked about there."""
        return self.fork()

    @synchronized
    def __reduce__(self) -> tuple[object, ...]:
        """Everything that was committed to; listeners, attached states, open answers and a source of origins that
        pickle cannot take along (a lambda) stay behind. `save` writes a text that other versions read."""
        origin = pickled_provider(self.origin)
        empty = partial(type(self), policy=self.policy, origin=origin, solvers=self.solvers, decimals=self.decimals)
        ledger = self._ledger
        scopes = ledger.hypotheses, ledger.ranges
        return _restored, (empty, self.known, self.events, scopes, tuple(ledger.table.strict))

    def save(self, path: str | PathLike[str]) -> None:
        """Write symbols and facts as a recorded session (compressed if the name ends in .gz)."""
        from shapes.sessions.session import save

        save(self, path)

    @classmethod
    def load(cls, path: str | PathLike[str], name: str | None = None) -> Self:
        """The environment of a recorded session, after all of its lines; by default the last session of the file."""
        from shapes.sessions.session import load

        return load(lambda decimals: cls(decimals=decimals), path, name)

    def record(self, path: str | PathLike[str]) -> Callable[[], None]:
        """Write every symbol, fact and question from now on as a recorded session; the result ends that and closes
        the file."""
        from shapes.sessions.session import record

        return record(self, path)


def _restored(
    empty: partial[ShapeEnv],
    facts: Facts,
    commitments: tuple[Commitment, ...],
    scopes: tuple[tuple[Prop, ...], tuple[BoundRange, ...]],
    strict: tuple[Atom, ...],
) -> ShapeEnv:
    """An environment as it was pickled: an empty one with the interner of its facts, and these."""
    env = empty(interner=facts.interner)
    env._ledger.restore(facts, commitments, *scopes)
    env._ledger.table.strict |= {atom: atom.name for atom in strict}
    return env
