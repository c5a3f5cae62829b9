"""The facts, as a persistent value with their consequences.

    >>> from solver.terms.interner import Interner
    >>> from solver.knowledge.facts import Facts
    >>> terms = Interner()
    >>> s = terms.symbol("s")
    >>> first = Facts.empty(terms).declare_range(s, 2, None)
    >>> second = first.learn_prop(terms.eq(s % 16, 0))
    >>> second.bounds(s), first.bounds(s)
    ((16, None), (2, None))

`learn` changes no value: it returns a new one, or a `Conflict` as data. Keeping an old value is a checkpoint, going
back to it a rollback. Ranges of composite atoms and substitutions are cached on the value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from solver.hooks import Hook
from solver.knowledge.base import Knowledge
from solver.knowledge.choices import Choices
from solver.knowledge.decided_atoms import Deciding
from solver.knowledge.draft import Contradictory
from solver.knowledge.entries import Caches, Products, Rule
from solver.knowledge.propagation import Learner
from solver.knowledge.samples import ENOUGH, Samples
from solver.proofs.fact import Fact, Kind, Record
from solver.proofs.step import ProofStep, leaves
from solver.terms.expr import Atom, Expr, TermTable
from solver.terms.persistent import ShardedMap
from solver.terms.prop import Prop


class Conflict:
    """Facts that contradict each other: the proof of false, and the facts at its leaves.

    The core is minimized when first read.
    """

    __slots__ = ("_core", "_facts", "_minimal", "found")
    __match_args__ = ("proof",)

    def __init__(self, proof: ProofStep, facts: Facts | None = None) -> None:
        self.found = proof
        self._facts = facts  # None where the proof rests on more than facts
        self._core: tuple[Fact, ...] | None = None
        self._minimal = False

    @property
    def proof(self) -> ProofStep:
        """The proof that was found, or one that rests on fewer facts."""
        if self._facts is not None:
            self._read()
        return self.found

    @property
    def core(self) -> tuple[Fact, ...]:
        return self._read()

    @property
    def core_minimal(self) -> bool:
        """True if the core was shown to be irredundant: an assignment satisfies it without each of its facts."""
        self._read()
        return self._minimal

    def _read(self) -> tuple[Fact, ...]:
        if self._core is None:
            with self.found.conclusion.interner.lock:
                self._minimize()
        assert self._core is not None
        return self._core

    def _minimize(self) -> None:
        """Make the core minimal, unless another thread was faster."""
        if self._core is not None:
            return
        if self._facts is None:
            self._core = tuple(leaves(self.found))
            return
        false = self.found.conclusion
        self.found, core, self._minimal = minimizer.call(self.found, false, false, false.negation, self._facts, False)
        self._core, self._facts = tuple(core), None


class Consistent:
    """The facts are satisfiable, by this assignment of all symbols for instance."""

    __slots__ = ("witness",)
    __match_args__ = ("witness",)

    def __init__(self, witness: Mapping[Atom, int]) -> None:
        self.witness: Final = witness


class Unknown:
    """Neither a model nor a refutation of the facts was found."""

    __slots__ = ("reason",)
    __match_args__ = ("reason",)

    def __init__(self, reason: str) -> None:
        self.reason: Final = reason


class Slice:
    """Facts learned in canonical order, and the cost: that of the first time however often it is asked for, so that
    answers do not depend on earlier questions (see `solver.decide.slicing`).
    """

    __slots__ = ("cost", "known", "order")

    def __init__(
        self, known: Facts | Conflict | None, order: list[tuple[Fact, list[tuple[Atom, Rule]]]], cost: int
    ) -> None:
        self.known: Final = known
        self.order: Final = order  # the facts as they were learned, and what each eliminated
        self.cost: Final = cost


class Tried:
    """The effort that left a canonical form unknown, and the rungs that were tried."""

    __slots__ = ("effort", "rungs")

    def __init__(self, effort: int, rungs: tuple[str, ...]) -> None:
        self.effort: Final = effort
        self.rungs: Final = rungs


class Memos:
    """Values computed by questions about the facts.

    A memo changes no answer: it is what would be computed again.
    """

    __slots__ = ("choices", "consistency", "relevant", "slices", "together", "unknown")

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Drop everything."""
        self.unknown: dict[tuple[Prop, Prop, frozenset[str]], Tried] = {}
        """Canonical forms, in their domains, that these rungs leave unknown."""
        self.slices: dict[tuple[frozenset[Atom], int], Slice] = {}
        """Slices by symbols and number of the attempt."""
        self.relevant: dict[tuple[frozenset[Atom], frozenset[Atom]], list[Atom]] = {}
        """The symbols connected with those of a question and of its domain."""
        self.choices: dict[Atom, Choices] = {}
        self.consistency: Consistent | Conflict | Unknown | None = None
        """z3's answer about the consistency of the facts."""
        self.together: Consistent | Conflict | Unknown | None = None
        """The consistency of the facts by connected parts, where no sample satisfies all."""


class Facts(Deciding):
    """An immutable set of facts with what follows from them at once.

    Its attributes are final: assigning to one is an error of types, and raises `AttributeError`.
    """

    __slots__ = ("count", "eliminated", "last", "memos", "samples", "steps", "subsets", "supposing", "symbols")

    def __init__(
        self,
        known: Knowledge,
        *,
        count: int,
        last: Record | None,
        symbols: SymbolList | None,
        samples: Samples,
        subsets: Subsets,
        memos: Memos,
        steps: int = 0,
        eliminated: list[tuple[Atom, Rule]],
        supposing: bool = False,
    ) -> None:
        """Take ownership of the maps, which are not written again."""
        super().__init__(
            known.interner,
            known.ranges,
            known.forms,
            known.excluded,
            known.solved,
            known.uses,
            known.products,
            known.caches.of_the_maps(),
        )
        self.count: Final = count
        self.last: Final = last
        self.symbols: Final = symbols
        self.samples: Final = samples
        self.subsets: Final = subsets
        self.memos: Final = memos
        self.steps: Final = steps
        """The cost of learning the newest fact or hypothesis."""
        self.eliminated: Final = eliminated
        """The atoms that the newest fact eliminated."""
        self.supposing: Final = supposing
        """True if there is a hypothesis that is not recorded as a fact."""

    @staticmethod
    def empty(interner: TermTable, *, enough: int = ENOUGH) -> Facts:
        """No facts; `enough` is the number of samples to keep alive."""
        nothing = Knowledge(
            interner, ShardedMap(), ShardedMap(), ShardedMap(), ShardedMap(), ShardedMap(), Products(), Caches()
        )
        return Facts(
            nothing,
            count=0,
            last=None,
            symbols=None,
            samples=Samples.empty(enough=enough),
            subsets=Subsets(interner),
            memos=Memos(),
            eliminated=[],
        )

    def refuted(self, e: Expr) -> bool:
        values = self.samples.values(e)
        return any(values[row] < 0 for row in self.samples.alive)

    def declare(
        self,
        symbol: Expr,
        lo: int | None,
        hi: int | None,
        fact: Fact,
        *,
        hint: int | None = None,
        seed: int | None = None,
    ) -> Facts | Conflict:
        """A symbol with its inclusive bounds; `fact.prop` says the same (true where there are none).

        `seed` chooses its sample values, by default the serial number of the symbol.
        """
        draft = Learner(self, supposing=self.supposing)
        (atom,) = symbol.symbols
        try:
            if fact.prop.kind != "true":
                draft.learn_fact(fact)
        except Contradictory as contradiction:
            return Conflict(contradiction.proof, self)
        samples = self.samples.declare(atom, lo, hi, hint, atom.key[1] if seed is None else seed)
        return self._with(draft, fact, samples, SymbolList(atom, fact, hint, self.symbols))

    def learn(self, fact: Fact) -> Facts | Conflict:
        """The facts with one more, and the samples that satisfy it; a contradiction is data.

        `solver.decide.assume` also repairs samples.
        """
        draft = Learner(self, supposing=self.supposing)
        try:
            draft.learn_fact(fact)
        except Contradictory as contradiction:
            return Conflict(contradiction.proof, self)
        return self._with(draft, fact, self.samples.assume(fact, draft.new_solved), self.symbols)

    def suppose(self, p: Prop, *, leaf: str = "hypothesis") -> Facts | Conflict:
        """The facts under a hypothesis, which is not recorded and for which no sample is repaired.

        `leaf` names the rule of its proof.
        """
        draft = Learner(self, supposing=True)
        draft.queue.append((p, ProofStep(leaf, p)))
        try:
            draft.run()
        except Contradictory as contradiction:
            return Conflict(contradiction.proof)
        truth = self.samples.truths(p)
        samples = self.samples
        alive = samples.evaluable(tuple([row for row in samples.alive if truth[row]]), p)
        if len(alive) < len(samples.alive):
            samples = samples.copy()
            samples.alive = alive
        return self._with(draft, None, samples, self.symbols)

    def derive(self, proofs: Iterable[ProofStep]) -> Facts | Conflict:
        """The facts with consequences of theirs that propagation does not find: the same samples satisfy them."""
        draft = Learner(self, supposing=True)
        draft.queue.extend([(proof.conclusion, proof) for proof in proofs])
        try:
            draft.run()
        except Contradictory as contradiction:
            return Conflict(contradiction.proof, self)
        return self._with(draft, None, self.samples, self.symbols)

    def _with(self, draft: Learner, fact: Fact | None, samples: Samples, symbols: SymbolList | None) -> Facts:
        """The facts with a draft of the consequences of one more fact, or of a hypothesis if there is none."""
        return Facts(
            draft,
            count=self.count if fact is None else self.count + 1,
            last=self.last if fact is None else Record(fact, self.last),
            symbols=symbols,
            samples=samples,
            subsets=self.subsets,
            memos=Memos(),
            steps=draft.steps,
            eliminated=draft.new_solved,
            supposing=self.supposing or fact is None,
        )

    def with_samples(self, samples: Samples, memos: Memos | None = None) -> Facts:
        """The same facts with other samples, and with the same memos unless there are others."""
        return Facts(
            self,
            count=self.count,
            last=self.last,
            symbols=self.symbols,
            samples=samples,
            subsets=self.subsets,
            memos=self.memos if memos is None else memos,
            steps=self.steps,
            eliminated=self.eliminated,
            supposing=self.supposing,
        )

    def next_fact(
        self,
        prop: Prop,
        *,
        domain: Prop | None = None,
        kind: Kind = "given",
        text: str = "",
        origin: object = None,
        line: int | None = None,
    ) -> Fact:
        """The fact that would come next."""
        domain = Prop.truth(self.interner, True) if domain is None else domain
        return Fact(prop, domain, kind, text or None, origin, line, self.count)

    def declare_range(self, symbol: Expr, lo: int | None, hi: int | None, *, hint: int | None = None) -> Facts:
        """`declare` for callers that know the bounds to be consistent.

        Raises:
            ValueError: they are not.
        """
        facts = self.declare(
            symbol,
            lo,
            hi,
            self.next_fact(range_prop(symbol, lo, hi), kind="range", text=f"{lo} <= {symbol.atom.name} <= {hi}"),
            hint=hint,
        )
        if isinstance(facts, Conflict):
            raise ValueError(f"no value of {symbol} is between {lo} and {hi}")
        return facts

    def learn_prop(self, prop: Prop, domain: Prop | None = None) -> Facts:
        """`learn` for callers that know the proposition to be consistent with the facts.

        Raises:
            ValueError: it is not.
        """
        facts = self.learn(self.next_fact(prop, domain=domain))
        if isinstance(facts, Conflict):
            raise ValueError(f"{prop} contradicts {', '.join(fact.text for fact in facts.core)}")
        return facts

    def forget_questions(self) -> None:
        """Drop the caches of questions; they are computed again when needed."""
        self.caches.forget()
        self.memos.forget()
        self.samples.cache.clear()

    def choices_of(self, atom: Atom) -> Choices:
        """The simplest values that a symbol may take."""
        found = self.memos.choices.get(atom)
        if found is None:
            found = self.memos.choices[atom] = Choices(self, atom)
        return found

    # ------------------------------------------------------------------ reading

    def records(self) -> Iterator[Fact]:
        """The facts, newest first."""
        record = self.last
        while record is not None:
            yield record.fact
            record = record.before

    def bounds(self, e: Expr) -> tuple[int | None, int | None]:
        """The interval of an expression, equalities applied."""
        e, _ = self.canonical(e)
        return self.low(e), self.high(e)

    def holds_at(self, values: Mapping[Atom, int]) -> bool:
        """Return True if an assignment of all symbols satisfies every fact and its domain."""
        return all(fact.domain.evaluate(values) and fact.prop.evaluate(values) for fact in self.records())

    def all_symbols(self) -> list[Atom]:
        """The declared symbols, in order."""
        found: list[Atom] = []
        symbols = self.symbols
        while symbols is not None:
            found.append(symbols.atom)
            symbols = symbols.before
        found.reverse()
        return found

    def declarations(self) -> Iterator[SymbolList]:
        """The declared symbols with the facts that declare them, newest first."""
        symbols = self.symbols
        while symbols is not None:
            yield symbols
            symbols = symbols.before

    def witness(self) -> dict[Atom, int] | None:
        """An assignment of all symbols that satisfies every fact, if one is known."""
        alive = self.samples.alive
        return self.samples.row_values(self.all_symbols(), alive[0]) if alive else None


class Learned:
    """A trie node: the knowledge after some steps, and after further ones (see `solver.decide.selection`)."""

    __slots__ = ("known", "more")

    def __init__(self, known: Facts) -> None:
        self.known = known
        self.more: dict[tuple[int, int, int | None], Learned] = {}


class Subsets:
    """The knowledge learned from subsets of the facts, as a trie."""

    __slots__ = ("count", "interner", "learned")

    learned: Learned | None

    def __init__(self, interner: TermTable) -> None:
        self.interner = interner
        self.forget()

    def forget(self) -> None:
        self.count = 0
        self.learned = None


class SymbolList:
    """The declared symbols, newest first, each with the fact that declares it and its hint."""

    __slots__ = ("atom", "before", "fact", "hint")

    def __init__(self, atom: Atom, fact: Fact, hint: int | None, before: SymbolList | None) -> None:
        self.atom = atom
        self.fact = fact
        self.hint = hint
        self.before = before


def range_prop(symbol: Expr, lo: int | None, hi: int | None) -> Prop:
    """`lo <= symbol <= hi`, without missing bounds."""
    parts = []
    if lo is not None:
        parts.append(Prop.ge(symbol, lo))
    if hi is not None:
        parts.append(Prop.le(symbol, hi))
    return Prop.join(symbol.interner, "and", parts)


Minimizer = Callable[[ProofStep, Prop, Prop, Prop, Facts, bool], tuple[ProofStep, list[Fact], bool]]
"""A proof of a goal, for a question in its domain, on as few facts as can be; its core; and whether none can be left
out. The last argument is whether other solvers may be asked.
"""

minimizer: Final[Hook[Minimizer]] = Hook()
"""A proof on as few facts as possible, its core, and whether that is irredundant, by `solver.decide.minimal_core`."""
