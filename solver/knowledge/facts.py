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

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from solver.hooks import Hook
from solver.knowledge.base import Knowledge, Rule
from solver.knowledge.decided_atoms import Deciding
from solver.knowledge.draft import Contradictory
from solver.knowledge.propagation import Learner
from solver.knowledge.samples import ENOUGH, Samples
from solver.proofs.fact import Fact, Kind, Record
from solver.proofs.step import ProofStep, leaves
from solver.terms.expr import Atom, Expr, TermTable
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


class Facts(Deciding):
    """An immutable set of facts with what follows from them at once."""

    __slots__ = ("count", "eliminated", "last", "samples", "steps", "subsets", "supposing", "symbols")

    count: int
    steps: int  # what it took to learn the newest fact or hypothesis
    eliminated: list[tuple[Atom, Rule]]  # eliminated by the newest fact
    last: Record | None
    samples: Samples
    supposing: bool  # whether there is a hypothesis that is not recorded as a fact
    symbols: SymbolList | None
    subsets: Subsets

    def __init__(self, known: Knowledge) -> None:
        """Take over what is known; it is not written again."""
        self.interner = known.interner
        self.ranges, self.forms, self.excluded = known.ranges, known.forms, known.excluded
        self.solved, self.uses, self.product_rules = known.solved, known.uses, known.product_rules
        self.bounded_products, self.bounding_products = known.bounded_products, known.bounding_products
        self.range_cache, self.elementary_cache = known.range_cache, known.elementary_cache
        self.inert, self.explained, self.scratch = known.inert, {}, {}

    @staticmethod
    def empty(interner: TermTable, *, enough: int = ENOUGH) -> Facts:
        """No facts; `enough` is the number of samples to keep alive."""
        facts = Facts(Knowledge(interner))
        facts.count = facts.steps = 0
        facts.eliminated = []
        facts.last = None
        facts.samples = Samples.empty(enough=enough)
        facts.supposing = False
        facts.symbols = None
        facts.subsets = Subsets(interner)
        return facts

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
        draft = Learner(self)
        (atom,) = symbol.symbols
        try:
            if fact.prop.kind != "true":
                draft.learn_fact(fact)
        except Contradictory as contradiction:
            return Conflict(contradiction.proof, self)
        facts = self._from(draft, fact)
        facts.symbols = SymbolList(atom, fact, hint, self.symbols)
        facts.samples = self.samples.declare(atom, lo, hi, hint, atom.key[1] if seed is None else seed)
        return facts

    def learn(self, fact: Fact) -> Facts | Conflict:
        """The facts with one more, and the samples that satisfy it; a contradiction is data.

        `solver.decide.assume` also repairs samples.
        """
        draft = Learner(self)
        try:
            draft.learn_fact(fact)
        except Contradictory as contradiction:
            return Conflict(contradiction.proof, self)
        facts = self._from(draft, fact)
        facts.samples = self.samples.assume(fact, draft.new_solved)
        return facts

    def suppose(self, p: Prop, *, leaf: str = "hypothesis") -> Facts | Conflict:
        """The facts under a hypothesis, which is not recorded and for which no sample is repaired. `leaf` names the
        rule of its proof.
        """
        draft = Learner(self)
        draft.queue.append((p, ProofStep(leaf, p)))
        try:
            draft.run()
        except Contradictory as contradiction:
            return Conflict(contradiction.proof)
        facts = self._from(draft, None)
        facts.supposing = True
        truth = self.samples.truths(p)
        alive = self.samples.evaluable(tuple([row for row in self.samples.alive if truth[row]]), p)
        if len(alive) < len(self.samples.alive):
            facts.samples = self.samples.copy()
            facts.samples.alive = alive
        return facts

    def _from(self, draft: Learner, fact: Fact | None) -> Facts:
        facts = Facts(draft)
        facts.steps = draft.steps
        facts.eliminated = draft.new_solved
        facts.count = self.count + (fact is not None)
        facts.last = Record(fact, self.last) if fact is not None else self.last
        facts.symbols = self.symbols
        facts.samples = self.samples
        facts.supposing = self.supposing
        facts.subsets = self.subsets
        return facts

    def with_samples(self, samples: Samples) -> Facts:
        """The same facts with other samples."""
        facts = Facts(self)
        facts.scratch = self.scratch
        facts.count, facts.last = self.count, self.last
        facts.symbols = self.symbols
        facts.subsets = self.subsets
        facts.steps, facts.eliminated = self.steps, self.eliminated
        facts.supposing = self.supposing
        facts.samples = samples
        return facts

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
        self.forget()
        self.samples.cache.clear()

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
    """A trie node: what is known after some steps, and after further ones (see `solver.decide.selection`)."""

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
