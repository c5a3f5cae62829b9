"""Committing: facts, guards, run-time checks and forced values. What fails leaves the environment as it was.

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

from collections.abc import Mapping

from shapes.environment.answers import Effort, decided, fact_of, synchronized
from shapes.environment.events import Asked, Assumed, Chosen, Commitment, Deferred, Forced, Guarded, SymbolKind
from shapes.environment.reader import Question, Size
from shapes.environment.shrink_assignment import moved
from shapes.environment.symbols import Declarations
from shapes.errors import Contradiction, FalseAtHint, ShapeError, SpecializedDynamic, UndecidedGuard, Undefined
from shapes.origin import Origin
from shapes.policies import Answer, OpenQuestion, Refuse, TakeHint
from shapes.symbolic.symint import SymBool, SymInt
from solver.decide.verdict import Always, Depends, GaveUp, Never, Verdict
from solver.knowledge.facts import Conflict, Facts
from solver.proofs.fact import Fact, Kind
from solver.syntax.precedence import number
from solver.syntax.printer import text_of
from solver.terms.expr import Atom, Expr
from solver.terms.prop import Prop


class Commitments(Declarations):
    """The commands of an environment."""

    # ------------------------------------------------------------------ facts

    @synchronized
    def assume(self, question: Question) -> None:
        """The caller's promise: a *given* fact, listed in `preconditions` and tested by compiled checks.

        Raises:
            Contradiction: it cannot hold together with what is known; its core are the facts.
        """
        prop, domain = self._read(question)
        fact = self._fact(prop, domain, "given", _written(question))
        self._add(fact, Assumed(fact))

    @synchronized
    def rebind(self, symbol: SymInt | str, size: Size) -> None:
        """A symbol is the value of an expression by construction, as when a program is traced again."""
        expr, _ = self._read_expr(symbol)
        name = self._name_of(expr)
        if name is None:
            raise ShapeError(f"symbol={symbol!r}: expected a symbol of this environment")
        value, domain = self._read_expr(size)
        fact = self._fact(self.interner.eq(expr, value), domain, "range", f"{name} == {text_of(value)}")
        self._add(fact, Assumed(fact))

    @synchronized
    def postulate(self, question: Question) -> None:
        """What holds by construction, as of the values that an operator computes: a fact of the kind "range", which no
        check tests.

        Raises:
            Contradiction: it cannot hold together with what is known.
        """
        prop, domain = self._read(question)
        fact = self._fact(prop, domain, "range", _written(question))
        self._add(fact, Assumed(fact))

    def _add(self, fact: Fact, commitment: Commitment) -> None:
        """Take a fact over, or raise and leave everything as it was."""
        facts = self._assumed(fact)
        if fact.kind != "hypothesis":
            self._check_hints(fact)
        self._take_over(facts, fact, commitment)

    def _add_tested(self, fact: Fact, commitment: Commitment) -> None:
        """`_add`, for a fact that was held against the hints just now."""
        self._take_over(self._assumed(fact), fact, commitment)

    def _assumed(self, fact: Fact) -> Facts:
        """The facts with one more."""
        facts = self.facts.assume(fact)
        if isinstance(facts, Conflict):
            raise Contradiction(f"`{fact.text}` contradicts what is known", facts.core, facts.proof)
        return facts

    def _take_over(self, facts: Facts, fact: Fact, commitment: Commitment) -> None:
        if self._strict:
            for atom, name in self._strict.items():
                lo, hi = facts.bounds(atom.expr)
                if lo is not None and lo == hi and self.facts.bounds(atom.expr) != (lo, hi):
                    raise SpecializedDynamic(name, lo, fact)
        self._commit(facts, commitment)

    def _check_hints(self, fact: Fact) -> None:
        """A fact about hinted sizes must be true at the hints."""
        try:
            holds = self._at_hint(fact.prop, fact.domain)
        except Undefined:
            holds = False
        if holds is False:
            atoms = sorted(fact.prop.symbols | fact.domain.symbols, key=lambda atom: atom.serial)
            sizes = ", ".join([f"{atom.name}={number(self.hints[atom]).text}" for atom in atoms if atom in self.hints])
            declared = [self.symbols[atom].fact for atom in atoms if atom in self.symbols]
            raise FalseAtHint(f"`{fact.text}` is false at the hints {sizes}", [fact, *declared])

    # ------------------------------------------------------------------ committing

    def guard(self, question: Question) -> bool:
        """Commit to a branch: what is known decides, otherwise the policy, by default the hint's side as a guard.

        Raises:
            UndecidedGuard: neither decides.
        """
        if type(question) is SymBool and question.domain is self._true and self._plain:
            settled = self._settled.get(question.prop)
            if settled is not None:
                return type(settled) is Always
        return self._branch(question, None)

    def guard_or_false(self, question: Question) -> bool:
        """`guard`, but False where it would raise `UndecidedGuard`; that choice is logged and is no fact."""
        return self._branch(question, False)

    def guard_or_true(self, question: Question) -> bool:
        """`guard`, but True where it would raise `UndecidedGuard`; that choice is logged and is no fact."""
        return self._branch(question, True)

    @synchronized
    def expect_true(self, question: Question, message: str = "", *, error: type[Exception] = RuntimeError) -> None:
        """From here on it holds: known already, a guard where the inputs decide it, else a check that runs with the
        program, and raises `error`.

        Raises:
            Contradiction: it cannot hold.
        """
        prop, domain = self._read(question)
        both = self._within(prop, domain)
        text = _written(question)
        match self._decided(both, self._true, "default"):
            case Always():
                return
            case Never(core=core, proof=proof):
                raise Contradiction(_with_message(f"`{text or text_of(prop)}` can not be true", message), core, proof)
        at_hint = self._at_hint(both, self._true)
        if at_hint is False:
            declared = [self.symbols[atom].fact for atom in sorted(both.symbols, key=lambda atom: atom.serial)]
            raise FalseAtHint(_with_message(f"`{text or text_of(prop)}` is false at the hints", message), declared)
        if self._checkable(both, at_hint):
            fact = self._fact(prop, domain, "guard", text)
            self._add_tested(fact, Guarded(fact, prop, True, message))
            return
        fact = self._fact(prop, domain, "assert", text)
        self._add_tested(fact, Deferred(fact, message, self._hypotheses, error))

    def require(self, question: Question, message: str = "", *, error: type[Exception] = RuntimeError) -> None:
        """As `expect_true`, but a `ShapeError` with the message where it cannot hold."""
        if question is True:
            return
        if question is False:
            raise ShapeError(message or "requirement fails")
        if type(question) is SymBool and question.domain is self._true and self._plain:
            settled = self._settled.get(question.prop)
            if type(settled) is Always:
                return
        try:
            self.expect_true(question, message, error=error)
        except Contradiction as contradiction:
            raise ShapeError(_with_message(message or "requirement fails", str(contradiction))) from contradiction

    @synchronized
    def specialize(self, size: SymInt | str, why: str) -> int:
        """The value of a size as a constant, for Python code that needs one: guards on it and logs why.

        Raises:
            UndecidedGuard: it has no hint and no single value.
        """
        expr, domain = self._read_expr(size)
        lo, hi = self.facts.bounds(expr)
        if lo is not None and lo == hi:
            return lo
        value = self.hint(expr)
        if value is None:
            raise self._valueless(expr, domain, f"{why} needs its value, which is known only at run time")
        prop = self.interner.eq(expr, int(value))
        fact = self._fact(prop, domain, "guard")
        self._add(fact, Forced(expr, int(value), why, fact))
        return int(value)

    # ------------------------------------------------------------------ facts of an earlier session

    @synchronized
    def restore_symbol(
        self,
        name: str,
        kind: SymbolKind,
        lo: int | None,
        hi: int | None,
        hint: int | None,
        source: str | None,
        origin: Origin | None,
        line: int | None = None,
    ) -> SymInt:
        """A symbol as it was recorded; the policy had its say then, if any."""
        with self.at(origin):
            return SymInt(self, self._declare(name, lo, hi, hint, kind, source, obeying=False, line=line), self._true)

    @synchronized
    def restore_fact(self, text: str, kind: Kind, message: str, origin: Origin | None, line: int | None = None) -> None:
        """A fact as it was recorded, a guard as a guard and a check as a check."""
        prop, domain = self.parse(text)
        fact = Fact(prop, domain, kind, text, origin, line, len(self._commitments))
        match kind:
            case "guard":
                self._add(fact, Guarded(fact, prop, True, message))
            case "assert":
                self._add(fact, Deferred(fact, message))
            case "given" | "range":
                self._add(fact, Assumed(fact))
            case "hypothesis":
                self._hypotheses = (*self._hypotheses, self._within(prop, domain))
                self._add(fact, Assumed(fact))

    # ------------------------------------------------------------------ one branch

    @synchronized
    def _branch(self, question: Question, fallback: bool | None) -> bool:
        prop, domain = self._read(question)
        text = question if isinstance(question, str) else None
        if domain is self._true:
            return self._branch_inside(prop, domain, text, fallback)
        mark = self._position()
        try:
            if not self._commit_domain(prop, domain, checks=fallback is None):
                # an optional question costs the run nothing: what it could answer is not worth a check that may fail
                self._log_choice(prop, fallback is True, f"only the run knows whether `{domain}`")
                return fallback is True
            return self._branch_inside(prop, domain, text, fallback)
        except BaseException:
            self._return_to(mark)
            raise

    def _branch_inside(self, prop: Prop, domain: Prop, text: str | None, fallback: bool | None) -> bool:
        """One branch, where its domain is committed to."""
        verdict = self._decided(prop, domain, "default", text, commits=True)
        match verdict:
            case Always():
                return True
            case Never():
                return False
        at_hint = self._at_hint(prop, domain)
        match self.policy.on_open(self._open_question(prop, verdict, at_hint, fallback)):
            case TakeHint() as choice if at_hint is not None:
                self._take(prop, domain, at_hint, text, choice.why)
                return at_hint
            case Answer(value=value, why=why):
                self._log_choice(prop, value, why)
                return value
            case Refuse(why=why):
                raise self._undecided(prop, verdict, text, fix=why)
            case _:
                raise self._undecided(prop, verdict, text)

    def _log_choice(self, prop: Prop, value: bool, why: str) -> None:
        """Log an answer that is no knowledge, once per stretch."""
        position = self._choices.get(prop, -1)
        if 0 <= position < len(self._commitments):
            match self._commitments[position]:
                case Chosen(question=logged, answer=answer) if logged is prop and answer == value:
                    return
        self._choices[prop] = len(self._commitments)
        self._commit(self.facts, Chosen(prop, value, f"{self.policy.name}: {why}", self.origin()))

    def _take(self, prop: Prop, domain: Prop, side: bool, text: str | None, why: str) -> None:
        """Commit to one side of a question as a guard: the side that holds at the hints."""
        taken = prop if side else prop.negation
        both = self._within(taken, domain)
        if not self._inputs_only(both):
            # the hints decide although a value of the run is in it: what decides is the guard, if it is about inputs
            decisive = self._decisive(both)
            if decisive is None:
                fact = self._fact(taken, domain, "assert", text if side else None)
                self._add_tested(fact, Deferred(fact, why, self._hypotheses))
                return
            taken, domain, text = decisive, self._true, None
        fact = self._fact(taken, domain, "guard", text if side else None)
        self._add_tested(fact, Guarded(fact, prop, side, why))

    def _inputs_only(self, prop: Prop) -> bool:
        """Whether every symbol in it is an input."""
        return all(atom in self.symbols and self.symbols[atom].kind == "backed" for atom in prop.symbols)

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
            for known in (prop, self.facts.canonical_prop(prop)[0]):
                if self._inputs_only(known) and known.evaluate(self.hints):
                    return known
        except (KeyError, OverflowError):
            pass
        return None

    def _commit_domain(self, prop: Prop, domain: Prop, checks: bool) -> bool:
        """A question that the program asks needs its domain: a guard, or a check where only the run decides. False, and
        nothing is committed, where that takes a check and there shall be none."""
        match self._decided(domain, self._true, "default"):
            case Always():
                return True
            case Never(core=core):
                raise Undefined(f"`{prop}` needs `{domain}`, but {', '.join([fact.text for fact in core])}")
        at_hint = self._at_hint(domain, self._true)
        if at_hint is False:
            raise Undefined(f"`{prop}` needs `{domain}`, which is false at the hints")
        kind: Kind = "guard" if self._checkable(domain, at_hint) else "assert"
        if kind == "assert" and not checks:
            return False
        fact = self._fact(domain, self._true, kind)
        why = f"`{prop}` needs it"
        self._add(fact, Guarded(fact, domain, True, why) if kind == "guard" else Deferred(fact, why, self._hypotheses))
        return True

    def _decided(
        self, prop: Prop, domain: Prop, effort: Effort, text: str | None = None, *, commits: bool = False
    ) -> Verdict:
        verdict = self.decide(prop, domain, effort)
        if self._listeners:
            self._tell(Asked(prop, domain, text, verdict, "program", commits))
        return verdict

    def _within(self, prop: Prop, domain: Prop) -> Prop:
        """The proposition together with its domain, which comes first."""
        return prop if domain is self._true else self.interner.conjunction((domain, prop))

    def _checkable(self, prop: Prop, at_hint: bool | None) -> bool:
        """Whether it can be checked before the program runs: it is about inputs, and holds whichever way the program
        takes."""
        inputs_only = all(self.symbols[atom].kind == "backed" for atom in prop.symbols)
        return inputs_only and (at_hint is True or not self._hypotheses)

    def _open_question(self, prop: Prop, verdict: Verdict, at_hint: bool | None, fallback: bool | None) -> OpenQuestion:
        unbacked = [
            atom.expr
            for atom in sorted(prop.symbols, key=lambda atom: atom.serial)
            if self.symbols[atom].kind == "unbacked" and (lo := self.symbols[atom].lo) is not None and lo >= 0
        ]

        def suppose(extra: tuple[Prop, ...]) -> Verdict:
            facts = self.facts
            for each in extra:
                larger = facts.assume(Fact(each, self._true, "hypothesis", None, None, None, facts.count))
                if isinstance(larger, Conflict):
                    return GaveUp(prop, self._true, "the supposition contradicts what is known", ())
                facts = larger
            return decided(facts, prop, self._true, "default", solvers=False)

        return OpenQuestion(prop, verdict, at_hint, fallback, tuple(unbacked), suppose)

    def _undecided(self, prop: Prop, verdict: Verdict, text: str | None = None, *, fix: str = "") -> UndecidedGuard:
        """The error, with the facts that share a symbol with the question."""
        wanted = prop.symbols
        known = [
            fact
            for event in self._commitments
            if (fact := fact_of(event)) is not None and not wanted.isdisjoint(fact.prop.symbols)
        ]
        sizes = self._near(verdict) if isinstance(verdict, Depends) else None
        return UndecidedGuard(text or text_of(prop), verdict, self.origin(), known=known, sizes=sizes, fix=fix)

    def _valueless(self, expr: Expr, domain: Prop, reason: str) -> UndecidedGuard:
        """The error where a number is needed and there is none."""
        prop = self.interner.eq(expr, 0)
        fix = f"keep it symbolic, or expect_true({expr} == ...) with the number that it is"
        error = self._undecided(prop, GaveUp(prop, domain, reason, ()), text_of(expr), fix=fix)
        error.headline = f"cannot take `{expr}` as a number: {reason}"
        return error

    def _near(self, verdict: Depends) -> tuple[dict[Atom, int], dict[Atom, int]]:
        """The witnesses of an open question, close to where its answer changes, as far as it is about them."""
        prop, domain = verdict.prop, verdict.domain
        about = sorted(prop.symbols | domain.symbols, key=lambda atom: atom.serial)
        floats = self.interner.doubles  # the nearest double to where the answer changes is one that nobody reads
        targets = {atom: self.facts.bounds(atom.expr)[0] or 0 for atom in about if atom not in floats}

        def shown(values: Mapping[Atom, int], truth: bool) -> dict[Atom, int]:
            near = moved(
                values,
                targets,
                lambda v: domain.evaluate(v) and prop.evaluate(v) is truth and self.facts.holds_at(v),
            )
            return {atom: near[atom] for atom in about}

        true, false = verdict.found
        return shown(true, True), shown(false, False)


def _written(question: Question) -> str | None:
    """A question as it was written, where it was written."""
    return question if isinstance(question, str) else None


def _with_message(text: str, message: str) -> str:
    return f"{text}: {message}" if message else text
