"""The four answers to "does this follow?", each with its evidence.

- `Always(core)` and `Never(core)`: a proof; the core is the facts at its leaves.
- `Depends(true_at, false_at)`: two assignments that satisfy the facts.
- `GaveUp(reason, tried)`: unknown.

`check()` verifies the evidence again without search: a proof by `solver.proofs.checker`, witnesses by evaluation.
`export("coq")` writes it for Coq's kernel.

    >>> from solver.terms.interner import Interner
    >>> from solver.knowledge.facts import Facts
    >>> from solver.decide.ladder import decide
    >>> terms = Interner()
    >>> s = terms.symbol("s")
    >>> known = Facts.empty(terms).declare_range(s, 2, None)
    >>> verdict = decide(known, terms.ge(s * s, 4))
    >>> verdict, verdict.core, verdict.check()
    (Always(2 <= s <= None), (<range 2 <= s <= None>,), True)
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from typing import ClassVar

from solver.decide.answer import Answer, included
from solver.decide.serialization import Recorded, recorded_among
from solver.knowledge.facts import Facts, minimizer
from solver.knowledge.symbols import by_age
from solver.proofs.fact import Fact, Record
from solver.proofs.step import ProofStep, leaves
from solver.samples.shrinking import Shrinking, relevant, shrunk
from solver.samples.witness import Witness, shown_value
from solver.syntax.named_sizes import NamedSizes
from solver.syntax.short_text import with_names
from solver.terms.depth import SHALLOW, room_for
from solver.terms.digest import digest
from solver.terms.expr import Atom
from solver.terms.prop import Prop


class Decided(Answer):
    """A proof of the proposition or of its negation."""

    __slots__ = ("_core", "_facts", "_minimal", "_proof", "_records", "_same", "_used", "found")
    __match_args__ = ("core",)

    def __init__(self, prop: Prop, domain: Prop, rung: str, proof: ProofStep, facts: Facts | None = None) -> None:
        self.prop = prop
        self.domain = domain
        self.rung = rung
        self.found = proof
        self._proof: ProofStep | None = None
        self._facts = facts
        self._records = None if facts is None else facts.last
        self.written = None
        self._same: Decided | None = None
        self._core: tuple[Fact, ...] | None = None
        self._minimal = False
        self._used: tuple[ProofStep, tuple[Fact, ...]] | None = None

    @property
    def used(self) -> tuple[Fact, ...]:
        """The facts at the leaves of the proof as it was found, for programs: a core that may be redundant.

        They are gathered when first read. Evidence is never checked by them.
        """
        if self._used is None or self._used[0] is not self.found:
            self._used = self.found, tuple(leaves(self.found))
        return self._used[1]

    @property
    def goal(self) -> Prop:
        """The conclusion of the proof: the proposition, or its negation."""
        return self.prop if isinstance(self, Always) else self.prop.negation

    @property
    def core(self) -> tuple[Fact, ...]:
        """An unsat core, as small as a budget allows: the recorded facts that the proof rests on.

        Where `core_minimal` is true, each of them is necessary.
        """
        if self._core is None:
            self._read()
        assert self._core is not None
        return self._core

    @property
    def core_minimal(self) -> bool:
        """True if no fact of the core can be left out: for each of them, an assignment satisfies all others and refutes
        the conclusion. False where none was found for some fact, though it may be necessary."""
        self._read()
        return self._minimal

    @property
    def proof(self) -> ProofStep:
        """The proof that was found, or one that rests on fewer facts."""
        self._read()
        return self.found if self._proof is None else self._proof

    def _read(self) -> None:
        """Minimize the core when it is first read."""
        if self._core is None:
            with self.prop.interner.lock:
                if self._core is None:
                    self._minimize()

    def of_text(self, text: str) -> Verdict:
        """The same answer to a question that was asked as this text: its evidence is minimized once for all texts."""
        kind = Always if isinstance(self, Always) else Never
        verdict = kind(self.prop, self.domain, self.rung, self.found, self._facts)
        verdict._core, verdict._minimal, verdict._records = self._core, self._minimal, self._records
        verdict._proof = self._proof
        verdict.written, verdict._same = text, self
        return verdict

    def under(self, facts: Facts) -> Always | Never:
        """The same answer under facts that include those at the leaves of its proof, with its core sought among them.
        """
        kind = Always if isinstance(self, Always) else Never
        verdict = kind(self.prop, self.domain, self.rung, self.found, included(facts))
        verdict._used = self._used
        return verdict

    def _minimize(self) -> None:
        if self._same is not None:
            self._same._read()
            self._proof, self._core, self._minimal = self._same.proof, self._same._core, self._same._minimal
            self._facts = None
            return
        if self._facts is None or self._facts.interner is not self.prop.interner:
            self._core, self._minimal = tuple(leaves(self.found)), self.found.rule == "trivial"
            return
        depth = self.prop.depth
        with room_for(depth) if depth > SHALLOW else nullcontext():
            self._proof, core, self._minimal = minimizer.call(
                self.found, self.goal, self.prop, self.domain, self._facts, self.rung == "z3"
            )
        self._facts = None
        self._core = tuple(core)

    def check(self) -> bool:
        from solver.interop.z3 import objection  # loaded on demand, as the checker is
        from solver.proofs.checker import verify, verify_core

        found, proof = self.found, self.proof
        if found is not proof and not verify(found, self.goal, self.domain, objection):
            return False
        return verify(proof, self.goal, self.domain, objection) and verify_core(proof, self.core, self._records)

    def evidence(self) -> object:
        """The statements of the core."""
        return frozenset([(fact.kind, digest(fact.prop), digest(fact.domain)) for fact in self.core])

    def __reduce__(self) -> tuple[object, ...]:
        proof, core = self.proof, self.core
        records = recorded_among(self._records, core)
        asked = type(self), self.prop, self.domain, self.rung
        return _decided, (*asked, proof, core, self._minimal, records, self.written)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(fact.shown for fact in self.core)})"


def _decided(
    kind: type[Decided],
    prop: Prop,
    domain: Prop,
    rung: str,
    proof: ProofStep,
    core: tuple[Fact, ...],
    minimal: bool,
    records: Record | None,
    written: str | None,
) -> Decided:
    """A verdict as it was pickled, its core minimized."""
    verdict = kind(prop, domain, rung, proof)
    verdict.written = written
    verdict._core, verdict._minimal, verdict._records = core, minimal, records
    return verdict


class Always(Decided):
    """The proposition is true for every assignment that satisfies the facts, inside the domain of the question."""

    __slots__ = ()


class Never(Decided):
    """False for every assignment that satisfies the facts, inside the domain of the question."""

    __slots__ = ()


class Depends(Answer):
    """The proposition is true for some sizes and false for others."""

    __slots__ = ("_cancelled", "_facts", "_false", "_records", "_shown", "_true")
    __match_args__: ClassVar[tuple[str, ...]] = ("true_at", "false_at")

    def __init__(self, prop: Prop, domain: Prop, rung: str, facts: Facts, true: Witness, false: Witness) -> None:
        self.prop = prop
        self.domain = domain
        self.rung = rung
        self.written = None
        self._facts = facts
        self._records = facts.last
        self._true = true
        self._false = false
        self._cancelled: tuple[Atom, ...] = ()
        self._shown: tuple[dict[Atom, int], dict[Atom, int]] | None = None

    @property
    def facts(self) -> Facts:
        """The facts of the question."""
        return self._facts

    @property
    def found(self) -> tuple[dict[Atom, int], dict[Atom, int]]:
        """A model where it is true and one where it is false, as the search found them."""
        return self._true.values(self.facts), self._false.values(self.facts)

    @property
    def true_values(self) -> dict[Atom, int]:
        """Sizes of all symbols that satisfy the facts and the proposition; those of `true_at` unchanged."""
        return {**self.found[0], **self._small()[0]}

    @property
    def false_values(self) -> dict[Atom, int]:
        """Sizes of all symbols that satisfy the facts and not the proposition."""
        return {**self.found[1], **self._small()[1]}

    @property
    def true_at(self) -> dict[str, int]:
        """Small sizes of the symbols of the question, and of those that facts connect with them, where it is true.

        By name, where `x.shape[0]` finds the size of `x_size0` too; a float symbol has its 64 bits here, as in text,
        and prints as a decimal.
        """
        return self._by_name(self._small()[0])

    @property
    def false_at(self) -> dict[str, int]:
        """Small sizes of the same symbols where it is false."""
        return self._by_name(self._small()[1])

    def _by_name(self, values: Mapping[Atom, int]) -> dict[str, int]:
        sizes = {atom.name: value for atom, value in values.items()}
        names = self.prop.interner.shown_names
        return NamedSizes(sizes, names) if names else sizes

    def _small(self) -> tuple[dict[Atom, int], dict[Atom, int]]:
        """The witnesses, shrunk when first read."""
        if self._shown is None:
            depth = self.prop.depth
            with self.prop.interner.lock, room_for(depth) if depth > SHALLOW else nullcontext():
                found = shrunk(self.facts, self.prop, self.domain, *self.found)
                self._shown = self._with_cancelled(*found) if self._cancelled else found
        return self._shown

    def _with_cancelled(
        self, true: dict[Atom, int], false: dict[Atom, int]
    ) -> tuple[dict[Atom, int], dict[Atom, int]]:
        """Small sizes of the symbols that cancelled, too: where facts do not connect them with the others, the same in
        both witnesses."""
        missing = [atom for atom in self._cancelled if atom not in true]
        if not missing:
            return true, false
        interner = self.facts.interner
        truth = Prop.truth(interner, True)
        about = Prop.join(interner, "and", [Prop.ne(atom.expr, 0) for atom in missing])
        symbols = relevant(self.facts, about, truth)
        values = self.found[0]
        free = Shrinking(self.facts, truth, truth, True, {atom: values[atom] for atom in symbols}, symbols)
        free.smallest()
        one, other = [
            {atom: both[atom] for atom in sorted(both, key=by_age)}
            for both in ({**free.values, **true}, {**free.values, **false})
        ]
        return one, other

    def naming(self, symbols: tuple[Atom, ...]) -> Depends:
        """The same answer, whose witnesses have values of these symbols as well: those of the question as it was asked
        that its normal form has lost, such as b in `s + b - b > 3`."""
        verdict = Depends(self.prop, self.domain, self.rung, self._facts, self._true, self._false)
        verdict._cancelled, verdict.written = symbols, self.written
        return verdict

    def of_text(self, text: str) -> Depends:
        """The same answer to a question that was asked as this text."""
        verdict = self.naming(self._cancelled)
        verdict._shown, verdict.written = self._shown, text
        return verdict

    def shown_under(self, facts: Facts) -> Depends:
        """The same answer under fewer facts, with the same witnesses: other facts may have chosen them."""
        true, false = Witness.of(self.true_values), Witness.of(self.false_values)
        verdict = Depends(self.prop, self.domain, self.rung, facts, true, false)
        verdict._cancelled, verdict._shown, verdict.written = self._cancelled, self._small(), self.written
        return verdict

    def under(self, facts: Facts) -> Depends:
        """The same answer under more facts, which both witnesses satisfy as they were found."""
        facts = included(facts)
        return Depends(self.prop, self.domain, self.rung, facts, Witness.of(self.found[0]), Witness.of(self.found[1]))

    def check(self) -> bool:
        from solver.proofs.checker import verify_assignment

        if self._facts.last is not self._records:
            return False
        for values, truth in ((self.true_values, True), (self.false_values, False)):
            if (
                not verify_assignment(values, self._records)
                or not self.domain.evaluate(values)
                or self.prop.evaluate(values) is not truth
            ):
                return False
        return True

    def evidence(self) -> object:
        """The small witnesses."""
        return self.true_at, self.false_at

    def __reduce__(self) -> tuple[object, ...]:
        asked = self.prop, self.domain, self.rung, Recorded(self._facts)
        return _depends, (*asked, *self.found, *self._small(), self._cancelled, self.written)

    def __repr__(self) -> str:
        return f"Depends(true_at={_shown(self._small()[0])}, false_at={_shown(self._small()[1])})"


def _depends(
    prop: Prop,
    domain: Prop,
    rung: str,
    facts: Facts,
    true: dict[Atom, int],
    false: dict[Atom, int],
    small_true: dict[Atom, int],
    small_false: dict[Atom, int],
    cancelled: tuple[Atom, ...],
    written: str | None,
) -> Depends:
    """A verdict as it was pickled, its witnesses shrunk."""
    verdict = Depends(prop, domain, rung, facts, Witness.of(true), Witness.of(false))
    verdict._cancelled, verdict._shown, verdict.written = cancelled, (small_true, small_false), written
    return verdict


class GaveUp(Answer):
    """Unknown: not decided within the budget.

    Attributes:
        reason: why.
        tried: the rungs tried.
        work: the cost, in numbers that the linear solver touched (see `solver.rungs.effort`).
        seconds: elapsed time.
    """

    __slots__ = ("reason", "seconds", "tried", "work")
    __match_args__ = ("reason", "tried")

    def __init__(
        self, prop: Prop, domain: Prop, reason: str, tried: tuple[str, ...], *, work: int = 0, seconds: float = 0.0
    ) -> None:
        self.prop = prop
        self.domain = domain
        self.rung = tried[-1] if tried else ""
        self.written = None
        self.reason = reason
        self.tried = tried
        self.work = work
        self.seconds = seconds

    def of_text(self, text: str) -> GaveUp:
        return self

    def check(self) -> bool:
        return True

    def evidence(self) -> object:
        """The reason, and what was tried."""
        return self.reason, self.tried

    def __reduce__(self) -> tuple[object, ...]:
        return _gave_up, (self.prop, self.domain, self.reason, self.tried, self.work, self.seconds)

    def __repr__(self) -> str:
        return f"GaveUp({self.reason!r}, {self.tried})"


def _gave_up(
    prop: Prop, domain: Prop, reason: str, tried: tuple[str, ...], work: int, seconds: float
) -> GaveUp:
    return GaveUp(prop, domain, reason, tried, work=work, seconds=seconds)


Verdict = Always | Never | Depends | GaveUp


def _shown(sizes: Mapping[Atom, int]) -> str:
    """An assignment as text, also for integers that Python does not print."""
    values = {with_names(atom.name, atom.expr.interner.shown_names): shown_value(atom, sizes[atom]) for atom in sizes}
    return "{" + ", ".join([f"{name!r}: {value}" for name, value in values.items()]) + "}"
