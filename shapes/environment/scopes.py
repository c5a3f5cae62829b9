"""Scopes: hypotheses and bound variables that are gone afterwards, speculation, branches that join again, bounds over
a loop.

    >>> from shapes import Always, ShapeEnv
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, s = env.sizes("b s", hints=(4, 128))
    >>> with env.hypothesis("i < b") as (i,):       # a name that is not known is a bound variable, from 0
    ...     print(isinstance(env.ask(i * s + s <= b * s), Always), env.upper_bound(i * s, over=i))
    True b*s - s
    >>> "i" in env.names
    False

What is committed inside a hypothesis outlives it without leaking the hypothesis: a guard about inputs stays as it is
(it holds for this run anyway), a run-time check or promise becomes an implication. What mentions a bound variable is
gone with it.

Two branches are two forks under opposite conditions; `join` gives back what holds after either:

    >>> then, other = env.fork(under="s >= 64"), env.fork(under="s < 64")
    >>> then.assume("b >= 4")
    >>> other.assume("b >= 2")
    >>> env.join(then, other)
    >>> isinstance(env.ask("b >= 2"), Always)
    True
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final, Self

from shapes.accepted import shown
from shapes.environment.answers import fact_of, synchronized
from shapes.environment.events import Assumed, Chosen, Commitment, Declared, Deferred, Forced, Guarded, Sourced
from shapes.environment.ledger import Commitments
from shapes.environment.reader import Question, Size
from shapes.environment.symbols import range_text
from shapes.environment.value_ranges import bounds
from shapes.errors import ShapeError
from shapes.symbolic.symint import SymInt
from solver.decide.verdict import Always
from solver.proofs.fact import Fact, Kind
from solver.terms.expr import Atom, Expr
from solver.terms.functions import known_functions
from solver.terms.prop import Prop

WORD: Final = re.compile(r"(?<![\w.])([^\W\d]\w*)(?!\w|\s*\()")
WORDS: Final = frozenset(("and", "or", "not", "if", "else", "True", "False"))
DISJUNCTION: Final = 8
"""Branches with more facts than this are joined fact by fact only."""


@dataclass(slots=True)
class Attempt:
    """A speculation: taken back at its end, unless it was kept."""

    kept: bool = False

    def keep(self) -> None:
        self.kept = True


class Scopes(Commitments):
    """What holds for a while, or on one of several ways."""

    @contextmanager
    def speculate(self) -> Iterator[Attempt]:
        """A stretch that is taken back at its end, unless `keep` of what `with` gives was called; always on an
        exception."""
        self._enter_scope()
        try:
            mark = self.checkpoint()
            attempt = Attempt()
            try:
                yield attempt
            except BaseException:
                self.rollback(mark)
                raise
            if not attempt.kept:
                self.rollback(mark)
        finally:
            self._leave_scope()

    @contextmanager
    def hypothesis(self, *questions: Question) -> Iterator[tuple[SymInt, ...]]:
        """Propositions that hold inside only. Names in their text that are no symbols become bound variables, from 0.

        Raises:
            Contradiction: they cannot hold, so nothing inside would ever run.
        """
        self._enter_scope()
        try:
            with self._supposing(questions) as variables:
                yield variables
        finally:
            self._leave_scope()

    @contextmanager
    def _supposing(self, questions: Sequence[Question]) -> Iterator[tuple[SymInt, ...]]:
        mark = self._position()
        outer = self._hypotheses
        try:
            variables = tuple([self._bound_variable(name) for name in self._new_names(questions)])
            props = [self._suppose(question) for question in questions]
            self._hypotheses = (*outer, *props)
            yield variables
            lasting = self._lasting(mark.position, self.interner.conjunction(props))
        except BaseException:
            self._hypotheses = outer
            self._return_to(mark)
            raise
        self._hypotheses = outer
        self._return_to(mark)
        self._commit_all(lasting)

    @synchronized
    def fork(self, *, under: Question | None = None) -> Self:
        """An environment of its own that begins with everything known here, and with one more hypothesis if there is
        one.

        The two share the interner, so sizes of this one may be asked about there.
        """
        other = type(self)(
            interner=self.interner, policy=self.policy, origin=self.origin, solvers=self.solvers, decimals=self.decimals
        )
        other.facts = self.facts
        other.names.update(self.names)
        other.symbols.update(self.symbols)
        other.hints.update(self.hints)
        other._by_hint.update(self._by_hint)
        other._strict.update(self._strict)
        other._commitments += self._commitments
        other._sizes += [(0, 0, symbols) for _, _, symbols in self._sizes]
        other._hypotheses = self._hypotheses
        if under is not None:
            other._hypotheses = (*other._hypotheses, other._suppose(under))
        return other

    @synchronized
    def adopt(self, size: SymInt) -> SymInt:
        """A size of the environment that this one was forked from, as a size of this one: branching on it commits
        here. Symbols that were declared there since are symbols here from now on."""
        if not isinstance(size, SymInt):
            raise ShapeError(f"size={shown(size)}: expected a size of an environment that was forked from this one")
        for atom in sorted(size.expr.symbols, key=_serial):
            if atom not in self.symbols and isinstance(size.env, Scopes):
                found = size.env.symbols[atom]
                facts = self.facts.declare(found.symbol, found.lo, found.hi, found.fact, hint=found.hint)
                self._commit(self._extended(facts, found.fact.text), found)
        expr, domain = self._read_expr(size)
        return SymInt(self, expr, domain)

    @synchronized
    def join(self, *branches: Self) -> None:
        """Commit to what holds in every branch: forks of this environment that between them cover every way that was
        taken."""
        if any(not isinstance(branch, Scopes) or branch.interner is not self.interner for branch in branches):
            raise ShapeError("join takes forks of this environment")
        extra = [self._since(branch) for branch in branches]
        if not branches:
            return
        common = self._common(branches, extra)
        self._commit_all(
            _commitment(self._fact(prop, self._true, self._kind(prop, kinds), text))
            for prop, text, kinds in common
            if not isinstance(self.decide(prop, self._true, "default"), Always)
        )

    def _kind(self, prop: Prop, kinds: Iterable[Kind]) -> Kind:
        """The kind of a fact that rests on facts of these kinds.

        One that rests on a guard is a guard, or where only the run tells, a check: as a range it would seem to make
        the guard superfluous.
        """
        kind = _weakest(list(kinds))
        return "assert" if kind == "guard" and not self._inputs_only(prop) else kind

    def _since(self, branch: Self) -> list[Fact]:
        """The facts that a branch has beyond what is known in this environment, as far as they are about symbols
        here."""
        start = 0
        for mine, theirs in zip(self._commitments, branch._commitments, strict=False):
            if mine is not theirs:
                break
            start += 1
        facts = [fact_of(event) for event in branch._commitments[start:] if not isinstance(event, Declared)]
        return [
            fact
            for fact in facts
            if fact is not None
            and all(atom in self.symbols for atom in _symbols(fact))
            and not isinstance(self.decide(self._within(fact.prop, fact.domain), self._true, "default"), Always)
        ]

    @synchronized
    def upper_bound(self, size: Size, over: SymInt | Sequence[SymInt]) -> SymInt | int | None:
        """A bound from above that does not mention the bound variables; None where none was proven."""
        return self._bound(size, over, upper=True)

    @synchronized
    def lower_bound(self, size: Size, over: SymInt | Sequence[SymInt]) -> SymInt | int | None:
        """A bound from below that does not mention the bound variables; None where none was proven."""
        return self._bound(size, over, upper=False)

    # ------------------------------------------------------------------ hypotheses

    def _suppose(self, question: Question) -> Prop:
        """Take a proposition for granted, until the environment returns to an earlier position."""
        prop, domain = self._read(question)
        fact = self._fact(prop, domain, "hypothesis", question if isinstance(question, str) else str(prop))
        self._add(fact, Assumed(fact))
        return self._within(prop, domain)

    def _bound_variable(self, name: str) -> SymInt:
        return SymInt(self, self._declare(name, 0, None, None, "unbacked", "bound variable"), self._true)

    def _new_names(self, questions: Sequence[Question]) -> list[str]:
        """The words of the texts that are no symbols yet."""
        words = [word for question in questions if isinstance(question, str) for word in WORD.findall(question)]
        known = known_functions()
        return [
            word for word in dict.fromkeys(words) if word not in self.names and word not in WORDS and word not in known
        ]

    def _lasting(self, position: int, scope: Prop) -> list[Commitment]:
        """What was committed since then, as it holds outside the scope."""
        since = self._commitments[position:]
        local = {atom for event in since if isinstance(event, Declared) for atom in event.symbol.symbols}
        conditional = local.isdisjoint(scope.symbols)
        lasting: list[Commitment] = []
        for event in since:
            fact = fact_of(event)
            if fact is not None and not local.isdisjoint(_symbols(fact)):
                continue
            match event:
                case Guarded() | Forced() | Sourced() | Chosen():
                    lasting.append(event)
                case Assumed(fact=fact) if conditional and fact.kind != "hypothesis":
                    lasting.append(replace(event, fact=_implied(scope, fact)))
                case Deferred(fact=fact) if conditional:
                    lasting.append(replace(event, fact=_implied(scope, fact)))
        return lasting

    def _commit_all(self, commitments: Iterable[Commitment]) -> None:
        """All of them, or none where one fails."""
        mark = self._position()
        try:
            for commitment in commitments:
                self._commit_again(commitment)
        except BaseException:
            self._return_to(mark)
            raise

    def _commit_again(self, commitment: Commitment) -> None:
        """Commit to what was found in a scope or in every branch."""
        match commitment:
            case Guarded() | Assumed() | Deferred() | Forced():
                fact = replace(commitment.fact, serial=len(self._commitments))
                self._add(fact, replace(commitment, fact=fact))
            case _:
                self._commit(self.facts, commitment)

    # ------------------------------------------------------------------ joining

    def _common(
        self, branches: Sequence[Self], extra: Sequence[Sequence[Fact]]
    ) -> Iterator[tuple[Prop, str, Iterable[Kind]]]:
        """What holds in every branch: shared facts, hulls of bounds, and that one of the branches was taken; each with
        the kinds of the facts that it rests on."""
        interner = self.interner

        def in_every(prop: Prop) -> list[Kind] | None:
            kinds: list[Kind] = []
            for branch in branches:
                verdict = branch.decide(prop, self._true, "default")
                if not isinstance(verdict, Always):
                    return None
                kinds += [fact.kind for fact in verdict.core]
            return kinds

        for fact in dict.fromkeys([fact for facts in extra for fact in facts]):
            both = self._within(fact.prop, fact.domain)
            kinds = in_every(both)
            if kinds is not None:
                yield both, fact.text, kinds
        for atom in dict.fromkeys(
            [atom for facts in extra for fact in facts for atom in sorted(_symbols(fact), key=_serial)]
        ):
            ends = [branch.facts.bounds(atom.expr) for branch in branches]
            lows, highs = [lo for lo, _ in ends if lo is not None], [hi for _, hi in ends if hi is not None]
            if len(lows) == len(branches):
                bound = interner.ge(atom.expr, min(lows))
                yield bound, range_text(atom.name, min(lows), None), in_every(bound) or ["guard"]
            if len(highs) == len(branches):
                bound = interner.le(atom.expr, max(highs))
                yield bound, range_text(atom.name, None, max(highs)), in_every(bound) or ["guard"]
        if all(len(facts) <= DISJUNCTION for facts in extra):
            cases = [
                interner.conjunction([part for fact in facts for part in (fact.domain, fact.prop)]) for facts in extra
            ]
            either = interner.disjunction(cases)
            yield either, str(either), [fact.kind for facts in extra for fact in facts]

    # ------------------------------------------------------------------ bounds over bound variables

    def _bound(self, size: Size, over: SymInt | Sequence[SymInt], *, upper: bool) -> SymInt | int | None:
        """Each variable is replaced by one of its own bounds, and what comes out is proven to be a bound."""
        interner = self.interner
        expr, domain = self._read_expr(size)
        several = [over] if isinstance(over, SymInt) else over
        if not isinstance(several, Sequence) or not all(isinstance(each, SymInt) for each in several):
            raise ShapeError(f"over={shown(over)}: expected a bound variable, or a list of them")
        variables = {
            atom for variable in several for atom in variable.expr.symbols
        }
        if not variables.isdisjoint(domain.symbols):
            return None
        candidates = [expr]
        for atom in sorted(variables, key=_serial, reverse=True):
            ends = self._ends(atom)
            candidates = [
                interner.substitute(each, {atom: end})
                for each in candidates
                for end in (ends if atom in each.atoms else (atom.expr,))
            ]
        lo, hi = bounds(self.facts, expr)
        constant = hi if upper else lo
        if constant is not None:
            candidates.append(interner.constant(constant))
        below = interner.le if upper else interner.ge
        best: Expr | None = None
        for each in dict.fromkeys(candidates):
            if not variables.isdisjoint(each.atoms) or not self._follows(below(expr, each)):
                continue
            if best is None or (self._follows(below(each, best)) and not self._follows(below(best, each))):
                best = each
        if best is None:
            return None
        return best.constant if best.is_constant else SymInt(self, best, domain)

    def _follows(self, prop: Prop) -> bool:
        return isinstance(self.decide(prop, self._true), Always)

    def _ends(self, atom: Atom) -> tuple[Expr, ...]:
        """Expressions between which a variable lies, by the facts since it was declared."""
        interner = self.interner
        found: dict[Expr, None] = {}
        for event in reversed(self._commitments):
            fact = fact_of(event)
            if fact is not None and atom in fact.prop.symbols and fact.prop.kind in ("and", "ge", "eq"):
                for part in fact.prop.comparisons():
                    c = dict(part.expr.terms).get(atom.monomial, 0)
                    rest = part.expr - atom.expr * c
                    if part.kind in ("ge", "eq") and c and atom not in rest.atoms:
                        # c*x + rest >= 0 bounds x from above for c < 0, from below for c > 0
                        found[interner.floordiv(rest, -c) if c < 0 else interner.ceildiv(-rest, c)] = None
            if isinstance(event, Declared) and event.symbol is atom.expr:
                break
        found |= dict.fromkeys([interner.constant(end) for end in self.facts.bounds(atom.expr) if end is not None])
        return tuple(found)


def _implied(scope: Prop, fact: Fact) -> Fact:
    """The fact where the scope holds."""
    outside, join = scope.negation, scope.interner.disjunction
    domain = fact.domain if fact.domain.kind == "true" else join((outside, fact.domain))
    return replace(fact, prop=join((outside, fact.prop)), domain=domain, written=f"not ({scope}) or ({fact.text})")


def _weakest(kinds: Sequence[Kind]) -> Kind:
    order: tuple[Kind, ...] = ("assert", "guard", "given")
    return next((kind for kind in order if kind in kinds), "range")


def _commitment(fact: Fact) -> Commitment:
    match fact.kind:
        case "assert":
            return Deferred(fact, "")
        case "guard":
            return Guarded(fact, fact.prop, True, "joined branches")
        case _:
            return Assumed(fact)


def _symbols(fact: Fact) -> frozenset[Atom]:
    return fact.prop.symbols | fact.domain.symbols


def _serial(atom: Atom) -> int:
    return atom.serial
