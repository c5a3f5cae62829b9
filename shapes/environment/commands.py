"""Commitments: facts, guards, run-time checks and specializations. Each is a transaction: what fails changes nothing.

>>> from shapes import ShapeEnv
>>> env = ShapeEnv(origin=lambda: None)
>>> s = env.symbol("s", hint=64)
>>> env.guard(s > 16)                           # open: the hint decides, and that side is recorded
True
>>> env.guard(s > 8)                            # follows: nothing is recorded
True
>>> u = env.unbacked("u0", lo=0)
>>> env.expect_true(u <= s, "more tokens than slots")
>>> for event in env.events:
...     print(event)
symbol s >= 0, hint 64
guard s >= 17
symbol u0 >= 0
run-time check s >= u0: more tokens than slots
"""

from __future__ import annotations

from shapes.environment.events import Asked, Assumed, Chosen, Deferred, Guarded, Specialized, symbols_of
from shapes.environment.hints import value_at_hints
from shapes.environment.questions import Effort, Questions, verdict_under
from shapes.environment.reader import Question, Reader, Size
from shapes.environment.undecided import undecided, undefined, valueless
from shapes.environment.universal import Universal, instances, universals
from shapes.errors import Contradiction, FalseAtHint, Undefined
from shapes.origin import Origin
from shapes.policies import Answer, OpenQuestion, Policy, Refuse, TakeHint
from shapes.symbolic.numbers import SymInt
from solver.decide.assume import assume
from solver.decide.verdict import Always, GaveUp, Never, Verdict
from solver.knowledge.facts import Conflict
from solver.proofs.fact import Fact, Kind
from solver.terms.expr import Atom
from solver.terms.prop import Prop


class Commands:
    """The commitments of a program: through what is known where these decide, else by the policy or at run time."""

    __slots__ = ("_choices", "interner", "ledger", "questions", "reader", "table", "true")

    def __init__(self, questions: Questions, reader: Reader) -> None:
        self.questions = questions
        self.reader = reader
        self.ledger = questions.ledger
        self.table = reader.table
        self.interner = reader.interner
        self.true = reader.true
        self._choices: dict[Prop, int] = {}
        """The place at which an answer that is no knowledge was logged last."""

    # ------------------------------------------------------------------ facts

    def assume(self, question: Question, kind: Kind) -> None:
        """Assume a fact of this kind."""
        ledger = self.ledger
        prop, domain = self.reader.read(question)
        fact = ledger.fact(prop, domain, kind, _written(question))
        if not ledger.ranges:
            ledger.add(fact, Assumed(fact))
            return
        mark = ledger.position()
        try:
            ledger.add(fact, Assumed(fact))
            for each in universals(ledger.commitments, ledger.ranges):
                if each.fact is fact:
                    self.instantiate(each)
        except BaseException:
            ledger.return_to(mark)
            raise

    def instantiate(self, each: Universal, at: Atom | None = None) -> None:
        """State instances of an assumption about every value of bound variables."""
        ledger = self.ledger
        for values in instances(each, ledger.ranges, at):
            fact = each.instance(values, len(ledger.commitments))
            if fact.prop.kind != "true":
                ledger.add(fact, Assumed(fact))

    def suppose(self, question: Question) -> Prop:
        """Assume a hypothesis, until a rollback."""
        prop, domain = self.reader.read(question)
        return self.suppose_prop(prop, domain, question if isinstance(question, str) else str(prop))

    def suppose_prop(self, prop: Prop, domain: Prop, text: str) -> Prop:
        """`suppose`, of a proposition that was read before."""
        fact = self.ledger.fact(prop, domain, "hypothesis", text)
        self.ledger.add(fact, Assumed(fact))
        return self.within(prop, domain)

    def rebind(self, symbol: SymInt | str, size: Size) -> None:
        """A symbol is the value of an expression by construction."""
        expr, name = self.reader.read_symbol(symbol, "symbol")
        value, domain = self.reader.read_expr(size)
        fact = self.ledger.fact(self.interner.eq(expr, value), domain, "range", f"{name} == {value}")
        self.ledger.add(fact, Assumed(fact))

    def restore(self, text: str, kind: Kind, message: str, origin: Origin | None, line: int | None) -> None:
        """A fact as it was recorded, a guard as a guard and a check as a check."""
        ledger = self.ledger
        prop, domain = self.reader.parse(text)
        fact = Fact(prop, domain, kind, text, origin, line, len(ledger.commitments))
        match kind:
            case "guard":
                ledger.add(fact, Guarded(fact, prop, True, message))
            case "assert":
                ledger.add(fact, Deferred(fact, message))
            case "given" | "range":
                ledger.add(fact, Assumed(fact))
            case "hypothesis":
                ledger.hypotheses = (*ledger.hypotheses, self.within(prop, domain))
                ledger.add(fact, Assumed(fact))

    # ------------------------------------------------------------------ checks and values

    def expect_true(self, question: Question, message: str, error: type[Exception]) -> None:
        """Require a proposition from here on: by what is known, by a guard where the inputs decide it, else by a check
        that runs with the program."""
        ledger = self.ledger
        prop, domain = self.reader.read(question)
        both = self.within(prop, domain)
        text = _written(question)
        match self._answered(both, self.true, "default"):
            case Always():
                return
            case Never(core=core, proof=proof):
                refuted = with_message(f"`{text or prop}` cannot be true", message)
                raise Contradiction(refuted, core, proof, places=self.table.places)
        at_hint = ledger.at_hint(both, self.true)
        if at_hint is False:
            declared = self.table.ranges_of(sorted(both.symbols, key=lambda atom: atom.serial))
            refuted = with_message(f"`{text or prop}` is false at the hints", message)
            raise FalseAtHint(refuted, declared, places=self.table.places)
        if self._checkable(both, at_hint):
            fact = ledger.fact(prop, domain, "guard", text)
            ledger.add_tested(fact, Guarded(fact, prop, True, message))
            return
        fact = ledger.fact(prop, domain, "assert", text)
        ledger.add_tested(fact, self._deferred(fact, message, error))

    def _deferred(self, fact: Fact, why: str, error: type[Exception] = RuntimeError) -> Deferred:
        """A check that runs with the program.

        Raises:
            UndecidedGuard: it is about every value of a bound variable, and no run has them all.
        """
        ledger = self.ledger
        names = [each.variable.name for each in ledger.ranges if each.variable in symbols_of(fact)]
        if names:
            verdict = self.questions.answer(fact.prop, fact.domain)
            fix = f"no run checks it for all {', '.join(names)}: assume what makes it hold, or ask(...)"
            raise undecided(ledger, fact.prop, verdict, fact.written, fix=fix)
        return Deferred(fact, why, ledger.hypotheses, error)

    def specialize(self, size: SymInt | str, why: str) -> int:
        """The value of a size as a constant: guards on it and logs why."""
        ledger = self.ledger
        expr, domain = self.reader.read_expr(size)
        lo, hi = ledger.facts.bounds(expr)
        if lo is not None and lo == hi:
            return lo
        value = value_at_hints(expr, self.table.hints, ledger.facts)
        if value is None:
            raise valueless(ledger, expr, domain, f"{why} needs its value, which is known only at run time")
        prop = self.interner.eq(expr, int(value))
        fact = ledger.fact(prop, domain, "guard")
        ledger.add(fact, Specialized(expr, int(value), why, fact))
        return int(value)

    # ------------------------------------------------------------------ one branch

    def branch(self, question: Question, fallback: bool | None, policy: Policy) -> bool:
        """Commit to a branch: what is known decides, otherwise the policy; `fallback` is the answer where neither
        does."""
        prop, domain = self.reader.read(question)
        text = _written(question)
        if domain is self.true:
            return self._branch_inside(prop, domain, text, fallback, policy)
        mark = self.ledger.position()
        try:
            if not self._commit_domain(prop, domain, text or str(prop), checks=fallback is None):
                # an optional question costs the run nothing: what it could answer is not worth a check that may fail
                self._log_choice(prop, fallback is True, policy, f"`{domain}` is known only at run time")
                return fallback is True
            return self._branch_inside(prop, domain, text, fallback, policy)
        except BaseException:
            self.ledger.return_to(mark)
            raise

    def _branch_inside(
        self, prop: Prop, domain: Prop, text: str | None, fallback: bool | None, policy: Policy
    ) -> bool:
        """One branch, where its domain is committed to."""
        verdict = self._answered(prop, domain, "default", text, commits=True)
        match verdict:
            case Always():
                return True
            case Never():
                return False
        at_hint = self.ledger.at_hint(prop, domain)
        match policy.on_open(self._open_question(prop, verdict, at_hint, fallback)):
            case TakeHint() as choice if at_hint is not None:
                self._take(prop, domain, at_hint, text, choice.why)
                return at_hint
            case Answer(value=value, why=why):
                self._log_choice(prop, value, policy, why)
                return value
            case Refuse(why=why):
                raise undecided(self.ledger, prop, verdict, text, fix=why)
            case _:
                raise undecided(self.ledger, prop, verdict, text)

    def _log_choice(self, prop: Prop, value: bool, policy: Policy, why: str) -> None:
        """Log an answer that is no knowledge, once per stretch."""
        commitments = self.ledger.commitments
        position = self._choices.get(prop, -1)
        if 0 <= position < len(commitments):
            match commitments[position]:
                case Chosen(question=logged, answer=answer) if logged is prop and answer == value:
                    return
        self._choices[prop] = len(commitments)
        self.ledger.commit(self.ledger.facts, Chosen(prop, value, f"{policy.name}: {why}", self.ledger.origin()))

    def _take(self, prop: Prop, domain: Prop, side: bool, text: str | None, why: str) -> None:
        """Commit to one side of a question as a guard: the side that holds at the hints."""
        ledger = self.ledger
        taken = prop if side else prop.negation
        both = self.within(taken, domain)
        if not self.table.inputs_only(both):
            # the hints decide although a value of the run is in it: what decides is the guard, if it is about inputs
            decisive = self._decisive(both)
            if decisive is None:
                fact = ledger.fact(taken, domain, "assert", text if side else None)
                ledger.add_tested(fact, self._deferred(fact, why))
                return
            taken, domain, text = decisive, self.true, None
        fact = ledger.fact(taken, domain, "guard", text if side else None)
        ledger.add_tested(fact, Guarded(fact, prop, side, why))

    def _decisive(self, prop: Prop) -> Prop | None:
        """A proposition about inputs alone that holds at the hints and from which this one follows, if its form shows
        one."""
        found: dict[Prop, Prop | None] = {}
        for node in prop.nodes:
            parts = [found[part] for part in node.parts]
            kept = [part for part in parts if part is not None]
            match node.kind:
                case "or":
                    found[node] = kept[0] if kept else None
                case "and":
                    found[node] = self.interner.conjunction(kept) if len(kept) == len(parts) else None
                case _:
                    found[node] = self._decisive_comparison(node)
        return found[prop]

    def _decisive_comparison(self, prop: Prop) -> Prop | None:
        try:
            for known in (prop, self.ledger.facts.canonical_prop(prop)[0]):
                if self.table.inputs_only(known) and known.evaluate(self.table.hints):
                    return known
        except (KeyError, OverflowError):
            pass
        return None

    def _commit_domain(self, prop: Prop, domain: Prop, text: str, *, checks: bool) -> bool:
        """A question that the program asks needs its domain: a guard, or a check where only the run decides. False, and
        nothing is committed, where that takes a check and there shall be none."""
        ledger = self.ledger
        match self._answered(domain, self.true, "default"):
            case Always():
                return True
            case Never(core=core):
                raise undefined(text, domain, core)
        at_hint = ledger.at_hint(domain, self.true)
        if at_hint is False:
            raise Undefined(f"`{text}` needs `{domain}`, which is false at the hints")
        kind: Kind = "guard" if self._checkable(domain, at_hint) else "assert"
        if kind == "assert" and not checks:
            return False
        fact = ledger.fact(domain, self.true, kind)
        why = f"`{prop}` needs it"
        ledger.add(fact, Guarded(fact, domain, True, why) if kind == "guard" else self._deferred(fact, why))
        return True

    # ------------------------------------------------------------------ what decides

    def _answered(
        self, prop: Prop, domain: Prop, effort: Effort, text: str | None = None, *, commits: bool = False
    ) -> Verdict:
        verdict = self.questions.answer(prop, domain, effort)
        if self.ledger.listeners:
            self.ledger.tell(Asked(prop, domain, text, verdict, "program", commits))
        return verdict

    def within(self, prop: Prop, domain: Prop) -> Prop:
        """The proposition together with its domain, which comes first."""
        return prop if domain is self.true else self.interner.conjunction((domain, prop))

    def _checkable(self, prop: Prop, at_hint: bool | None) -> bool:
        """Return True if it can be checked before the program runs: it is about inputs, and holds whichever way the
        program takes.
        """
        return self.table.inputs_only(prop) and (at_hint is True or not self.ledger.hypotheses)

    def _open_question(self, prop: Prop, verdict: Verdict, at_hint: bool | None, fallback: bool | None) -> OpenQuestion:
        declared = [self.table.symbols[atom] for atom in sorted(prop.symbols, key=lambda atom: atom.serial)]
        unbacked = [
            each.symbol for each in declared if each.kind == "unbacked" and each.lo is not None and each.lo >= 0
        ]

        def suppose(extra: tuple[Prop, ...]) -> Verdict:
            facts = self.ledger.facts
            for each in extra:
                larger = assume(facts, Fact(each, self.true, "hypothesis", None, None, None, facts.count))
                if isinstance(larger, Conflict):
                    return GaveUp(prop, self.true, "the supposition contradicts what is known", ())
                facts = larger
            return verdict_under(facts, prop, self.true, "default", solvers=False)

        return OpenQuestion(prop, verdict, at_hint, fallback, tuple(unbacked), suppose)


def _written(question: Question) -> str | None:
    """A question as it was written, where it was written."""
    return question if isinstance(question, str) else None


def with_message(text: str, message: str) -> str:
    return f"{text}: {message}" if message else text
