"""Replay of recorded sessions: the answer to each question, the lines that it follows from, and its cost.

The lines of a session are read and decoded first; then each line is timed from its text to its answer with the
certificate or the witnesses that were found. Nothing is precomputed or shared between sessions. Evidence is minimized
(irredundant cores, small witnesses) when it is read, and that is timed separately.

>>> lines = [
...     SymbolLine(2, "s", lo=0, hi=None, hint=None),
...     FactLine(3, "s % 16 == 0", kind="given"),
...     QuestionLine(4, "s % 8 == 0"),
...     QuestionLine(5, "s > 0"),
... ]
>>> for answer in replay_session(lines).answers:
...     print(answer.line, answer.verdict, answer.core)
4 always (3,)
5 depends None

A session whose facts contradict each other answers its further questions with `gave_up`. A malformed line is left out:
conclusions from the other lines are valid, and name the lines left out; a question that is undecided without it is
`gave_up`, unless the line is about other symbols.

>>> lines[1] = FactLine(3, "s % 16 === 0", kind="given")
>>> for answer in replay_session([*lines, QuestionLine(6, "s >= 0")]).answers:
...     print(answer.line, answer.verdict, answer.left_out, answer.reason)
4 gave_up (3,) open without line 3, which was not understood
5 gave_up (3,) open without line 3, which was not understood
6 always (3,) None

Errors are data in the result, never exceptions: the next session goes on.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple, assert_never

from shapes.sessions.recording import FactLine, FaultyLine, QuestionLine, SessionLine, SymbolLine
from solver.decide.assume import assume
from solver.decide.ladder import decide
from solver.decide.verdict import Always, Depends, GaveUp, Never, Verdict
from solver.errors import ParseError, ShapeError, Undefined
from solver.knowledge.facts import Conflict, Facts, range_prop
from solver.proofs.fact import Fact
from solver.rungs.effort import Effort
from solver.syntax.parser import Parsed, parse
from solver.syntax.short_text import number_text
from solver.syntax.shunting_yard import Side
from solver.syntax.tokens import Decimals
from solver.terms.expr import Expr
from solver.terms.interner import Interner
from solver.terms.prop import Prop

KEPT: Final = 1 << 16
"""The number of texts of a session that are kept with their answers, before all are dropped."""

Outcome = Literal["always", "never", "depends", "gave_up"]


class Answer(NamedTuple):
    """The answer to the question of one line.

    Attributes:
        microseconds: from its text to its answer.
        core: the lines of the symbols and facts that it follows from. Without `evidence` it is None, and so are the
            witnesses.
        left_out: the lines before it that were not understood. What follows without them stands.
        evidence_microseconds: from its answer to its evidence, as it is read.
    """

    line: int
    verdict: Outcome
    rung: str
    microseconds: float
    core: tuple[int, ...] | None = None
    true_at: dict[str, int] | None = None
    false_at: dict[str, int] | None = None
    reason: str | None = None
    left_out: tuple[int, ...] = ()
    evidence_microseconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Clash:
    """Facts that cannot hold together: found at `line`, between the lines of `core`."""

    line: int
    core: tuple[int, ...]

    def __str__(self) -> str:
        return f"the facts contradict each other: {_lines(self.core)}"


@dataclass(slots=True)
class Replay:
    """The outcome of one session. The three parts of the time, and that of reading evidence, add up to the time on the
    wall.

    Attributes:
        clash: the contradiction, if there was one.
        faults: the lines that were not understood.
        errors: the lines at which this engine failed; there should be none.
    """

    answers: list[Answer] = field(default_factory=list)
    symbols: int = 0
    facts: int = 0
    symbol_seconds: float = 0.0
    fact_seconds: float = 0.0
    question_seconds: float = 0.0
    evidence_seconds: float = 0.0
    clash: Clash | None = None
    faults: list[FaultyLine] = field(default_factory=list)
    errors: list[FaultyLine] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        return self.symbol_seconds + self.fact_seconds + self.question_seconds


class _Found(NamedTuple):
    """An answer but for its line and its time, and the verdict that has its evidence."""

    verdict: Outcome
    rung: str
    behind: Verdict | None = None
    reason: str | None = None


class _Evidence(NamedTuple):
    """The evidence as a reader sees it."""

    core: tuple[int, ...] | None = None
    true_at: dict[str, int] | None = None
    false_at: dict[str, int] | None = None


@dataclass(slots=True)
class _Environment:
    """The knowledge of one session while its lines are applied."""

    solvers: bool
    decimals: Decimals
    evidence: bool
    """Else verdicts are dropped, with the facts that they refer to."""
    interner: Interner = field(default_factory=Interner)
    facts: Facts = field(init=False)
    looked_at: Facts = field(init=False)
    names: dict[str, Expr] = field(default_factory=dict)
    decided: dict[str | tuple[Prop, Prop], _Found] = field(default_factory=dict)
    """Facts only grow within a session, so always and never stand; by text, and by what the text says."""
    texts: dict[str, Parsed] = field(default_factory=dict)
    sides: dict[str, Side] = field(default_factory=dict)
    clash: Clash | None = None
    ended: str | None = None
    """The reason for which no further line is looked at."""
    left_out: tuple[int, ...] = ()
    about: frozenset[str] | None = frozenset()
    """The names in the lines that were left out; None where they are not known."""

    def __post_init__(self) -> None:
        self.facts = self.looked_at = Facts.empty(self.interner)

    def declare(self, line: SymbolLine) -> None:
        if line.name in self.names:
            raise ParseError(f"`{line.name}` is declared twice", line.name, 0)
        symbol = self.names[line.name] = self.interner.symbol(line.name)
        prop, text = range_prop(symbol, line.lo, line.hi), _range_text(line)
        fact = Fact(prop, self.interner.true, "range", text, None, line.number, self.facts.count)
        self.accept(line.number, self.facts.declare(symbol, line.lo, line.hi, fact, hint=line.hint))

    def parse(self, text: str) -> Parsed:
        found = self.texts.get(text)
        if found is None:
            if len(self.texts) >= KEPT:
                self.texts.clear()
                self.sides.clear()
                self.decided.clear()
            found = parse(text, self.names, self.interner, decimals=self.decimals, sides=self.sides)
            self.texts[text] = found
        return found

    def assume(self, line: FactLine) -> None:
        parsed = self.parse(line.text)
        fact = Fact(parsed.prop, parsed.domain, line.kind, line.text, None, line.number, self.facts.count)
        self.accept(line.number, assume(self.facts, fact))

    def accept(self, number: int, facts: Facts | Conflict) -> None:
        if isinstance(facts, Conflict):
            self.clash = Clash(number, _numbers(facts.core))
            self.ended = str(self.clash)
        else:
            self.facts = facts

    def leave_out(self, line: SessionLine) -> None:
        """Go on without a line that was not understood."""
        self.left_out += (line.number,)
        match line:
            case FactLine(text=text):
                names = frozenset(NAME.findall(text))
            case SymbolLine(name=name):
                names = frozenset((name,))
            case _:
                self.about = None
                return
        if self.about is not None:
            self.about |= names

    def stands(self, found: _Found, line: QuestionLine) -> _Found:
        """An answer where lines were left out: a proof needs nothing more, a witness may be against what they say."""
        if found.verdict != "depends" or (self.about is not None and self.about.isdisjoint(self.connected(line))):
            return found
        return _Found("gave_up", "facts", reason=f"open without {_lines(self.left_out)}, which {_was(self.left_out)}")

    def connected(self, line: QuestionLine) -> set[str]:
        """The symbols of a question, and those that facts connect with them."""
        parsed = self.parse(line.text)
        groups = [{atom.name for p in (fact.prop, fact.domain) for atom in p.symbols} for fact in self.facts.records()]
        found = {atom.name for p in (parsed.prop, parsed.domain) for atom in p.symbols}
        while near := [group for group in groups if not group.isdisjoint(found) and not group <= found]:
            found.update(*near)
        return found

    def find_contradiction(self, number: int) -> None:
        """Facts with a known assignment are consistent; others must be looked at before anything follows from them."""
        if not self.facts.samples.alive:
            from solver.decide.consistency import consistency

            outcome = consistency(self.facts, solvers=self.solvers)
            if isinstance(outcome, Conflict):
                self.clash = Clash(number, _numbers(outcome.core))
                self.ended = str(self.clash)
        self.looked_at = self.facts

    def ask(self, line: QuestionLine) -> _Found:
        if self.facts is not self.looked_at:
            self.find_contradiction(line.number)
            if self.ended is not None:
                return _Found("gave_up", "facts", reason=self.ended)
        known = self.decided.get(line.text)
        if known is not None:
            return known
        parsed = self.parse(line.text)
        key = (parsed.prop, parsed.domain)
        found = self.decided.get(key)
        if found is None:
            effort: Effort = "thorough" if self.solvers else "default"
            found = _found(decide(self.facts, parsed.prop, domain=parsed.domain, effort=effort), keep=self.evidence)
            if found.verdict in ("always", "never"):
                yes = found.verdict == "always"
                same = _Found("always" if yes else "never", "inherited", found.behind)
                self.decided[key] = self.decided[line.text] = same
                opposite = _Found("never" if yes else "always", "inherited", found.behind)
                self.decided[parsed.prop.negation, parsed.domain] = opposite
        elif found.verdict in ("always", "never"):
            self.decided[line.text] = found
        return found


def _found(verdict: Verdict, *, keep: bool) -> _Found:
    behind = verdict if keep else None
    match verdict:
        case Always():
            return _Found("always", verdict.rung, behind)
        case Never():
            return _Found("never", verdict.rung, behind)
        case Depends():
            return _Found("depends", verdict.rung, behind)
        case GaveUp(reason=reason):
            return _Found("gave_up", verdict.rung, reason=reason)
        case _:
            assert_never(verdict)


def _read(verdict: Verdict | None) -> _Evidence:
    match verdict:
        case Always(core=core) | Never(core=core):
            return _Evidence(_numbers(core))
        case Depends(true_at=true_at, false_at=false_at):
            return _Evidence(None, true_at, false_at)
        case _:
            return _Evidence()


NAME: Final = re.compile(r"[^\W\d]\w*")


def _numbers(core: Iterable[Fact]) -> tuple[int, ...]:
    return tuple(sorted({fact.line for fact in core if fact.line is not None}))


def _range_text(line: SymbolLine) -> str:
    low, high = [None if bound is None else number_text(bound) for bound in (line.lo, line.hi)]
    match low, high:
        case None, None:
            return f"{line.name} is any integer"
        case str(), None:
            return f"{line.name} >= {low}"
        case None, str():
            return f"{line.name} <= {high}"
        case _:
            return f"{low} <= {line.name} <= {high}"


def _was(numbers: Sequence[int]) -> str:
    return f"{'was' if len(numbers) == 1 else 'were'} not understood"


def _lines(numbers: Sequence[int]) -> str:
    return f"line {numbers[0]}" if len(numbers) == 1 else "lines " + ", ".join(map(str, numbers))


def load_solvers() -> None:
    """Import sympy and z3 now, so that it is not charged to the first question that needs them."""
    import sympy  # noqa: F401
    import z3  # noqa: F401


def replay_session(
    lines: Iterable[SessionLine], *, solvers: bool = True, decimals: Decimals = "real", evidence: bool = True
) -> Replay:
    """Apply the lines of one session, in order, to a fresh environment; without `solvers`, no sympy and no z3.

    Args:
        evidence: whether the evidence of each answer is read, which is on a clock of its own.
    """
    lines = tuple(lines)
    replay = Replay()
    found: list[tuple[int, _Found, _Evidence, float, float, tuple[int, ...]]] = []
    clock = time.perf_counter
    then = clock()
    environment = _Environment(solvers=solvers, decimals=decimals, evidence=evidence)
    for line in lines:
        # Every moment from here to the next iteration is charged to this line.
        if type(line) is QuestionLine:
            answer = _answer(environment, line, replay)
            now = clock()
            shown = _Evidence() if answer.behind is None else _evidence(answer.behind, line, replay)
            read = now if answer.behind is None else clock()
            replay.question_seconds += now - then
            replay.evidence_seconds += read - now
            found.append((line.number, answer, shown, now - then, read - now, environment.left_out))
            now = read
        elif type(line) is SymbolLine:
            _apply(environment, line, replay)
            replay.symbols += 1
            now = clock()
            replay.symbol_seconds += now - then
        else:
            _apply(environment, line, replay)
            replay.facts += type(line) is FactLine
            now = clock()
            replay.fact_seconds += now - then
        then = now
    replay.clash = environment.clash
    replay.answers = [
        Answer(number, answer.verdict, answer.rung, 1e6 * asking, *shown, answer.reason, left_out, 1e6 * reading)
        for number, answer, shown, asking, reading, left_out in found
    ]
    return replay


def _evidence(verdict: Verdict, line: QuestionLine, replay: Replay) -> _Evidence:
    try:
        return _read(verdict)
    except Exception as error:  # the answer stands
        replay.errors.append(FaultyLine(line.number, f"internal error: {error!r}"))
        return _Evidence()


def _apply(environment: _Environment, line: SessionLine, replay: Replay) -> None:
    """One line that is no question, unless the session is over: after a contradiction nothing more can be learned."""
    if environment.ended is not None:
        return
    try:
        match line:
            case SymbolLine():
                environment.declare(line)
            case FactLine():
                environment.assume(line)
            case FaultyLine():
                raise ShapeError(line.message)
            case QuestionLine():
                raise TypeError("a question changes nothing")
            case _:
                assert_never(line)
    except ShapeError as error:
        fault = FaultyLine(line.number, str(error))
        replay.faults.append(fault)
    except Exception as error:  # a fault of ours must not take the other sessions with it
        fault = FaultyLine(line.number, f"internal error: {error!r}")
        replay.errors.append(fault)
    else:
        return
    if type(line) is FaultyLine and line.part == "header":
        environment.ended = f"line {fault.number} was not understood: {fault.message.splitlines()[0]}"
    elif type(line) is not FaultyLine or line.part != "question":
        environment.leave_out(line)


def _answer(environment: _Environment, line: QuestionLine, replay: Replay) -> _Found:
    if environment.ended is not None:
        return _Found("gave_up", "facts", reason=environment.ended)
    rung = "text"
    try:
        found = environment.ask(line)
        return environment.stands(found, line) if environment.left_out else found
    except Undefined as error:
        return _Found("gave_up", "domain", reason=f"undefined: {error}")
    except ShapeError as error:
        message = str(error)
        replay.faults.append(FaultyLine(line.number, message))
    except Exception as error:  # one question must not take the others with it
        rung, message = "error", f"internal error: {error!r}"
        replay.errors.append(FaultyLine(line.number, message))
    return _Found("gave_up", rung, reason=message.splitlines()[0])
