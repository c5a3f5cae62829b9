"""The state behind a prompt: it takes lines and gives pages, and needs no terminal.

>>> from shapes.prompt.page import text_of_page
>>> session = Session()
>>> for line in ["sizes b s", "assume s % 16 == 0", "(b*s) % 64 == 0 ?", "assume b % 4 == 0", "(b*s) % 64 == 0 ?"]:
...     print("> " + line)
...     if page := session.run(line).page:
...         print(text_of_page(page))
> sizes b s
> assume s % 16 == 0
> (b*s) % 64 == 0 ?
depends   true at b=4, s=16   false at b=1, s=16
> assume b % 4 == 0
> (b*s) % 64 == 0 ?
always    because  s % 16 == 0 [2]   b % 4 == 0 [4]

Lines are numbered as they are entered (not the empty ones and mistakes), and an answer names facts by these numbers.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from shapes.env import ShapeEnv
from shapes.environment.events import Asked
from shapes.environment.ledger import Checkpoint
from shapes.errors import Contradiction
from shapes.origin import Origin
from shapes.prompt import display
from shapes.prompt.calculating import evaluated, expression_page, optimum_page, powers_note, solved
from shapes.prompt.evidence import reasons_page
from shapes.prompt.foreign import advised
from shapes.prompt.grammar import USAGE, Argument, Command, Symbol, parse_command
from shapes.prompt.page import Page, Span, columns, line, span
from shapes.prompt.quantifying import read_ranges
from shapes.prompt.solving import model, optimum
from shapes.sessions.session import Record, lines_so_far, question_record, questions_of, save
from shapes.size_names import names_in
from solver.decide.verdict import Verdict
from solver.errors import ParseError, ShapeError
from solver.proofs.fact import Fact

Value = TypeVar("Value")

PLACE = "line"
"""The file name of origins that are lines of this session."""
SCOPES: Final = ("push", "forall")
"""The commands that `pop` returns to."""
CHANGES: Final = ("sizes", "symbol", "unbacked", "let", "assume", "guard", "expect_true", "load", "reset", *SCOPES)
"""The commands that `undo` takes back."""

RETURNS: Final = ("undo", "pop", "drop")
"""The commands that go back to an earlier state themselves."""


@dataclass(frozen=True, slots=True)
class Reply:
    """The output after a line. `ok` is false for a mistake or facts that contradict each other (`contradicts`), `ended`
    true when the person wants to leave.
    """

    page: Page = ()
    ok: bool = True
    ended: bool = False
    contradicts: bool = False


@dataclass(frozen=True, slots=True)
class _Step:
    """A line that was carried out, and the state before it."""

    number: int
    text: str
    command: str
    env: ShapeEnv
    mark: Checkpoint
    questions: tuple[tuple[int, Record], ...]


class Session:
    """An environment with numbered lines, the last answer, and a way back."""

    def __init__(self) -> None:
        self.number = 0
        self.env = ShapeEnv(origin=lambda: None)
        self._steps: list[_Step] = []
        """The changes and questions that stand, in order."""
        self._questions: tuple[tuple[int, Record], ...] = ()
        """The questions that were asked, as a saved session has them."""
        self._last: tuple[str, Verdict, ShapeEnv] | None = None
        """The last question, its answer, and the environment that it is about."""

    def label(self, fact: Fact) -> str:
        """The number of the line that made a fact; a fact of a loaded program keeps its place there."""
        if fact.line is None and isinstance(fact.origin, Origin) and fact.origin.file == PLACE:
            return str(fact.origin.line)
        return display.place_of(fact)

    @property
    def names(self) -> list[str]:
        """The declared symbols, in order."""
        return list(self.env.names)

    def run(self, text: str) -> Reply:
        """Carry out one line. Whatever is wrong with it becomes a page, and changes nothing."""
        text = text.rstrip("\r\n")
        try:
            command = parse_command(text)
            if not command.name:
                return Reply()
            self.number += 1
            step = self._step(command, text)
            try:
                with self.env.at(Origin(PLACE, self.number)):
                    page = self._carry_out(command, text)
            except BaseException:
                self.number = step.number - 1
                if command.name not in RETURNS:
                    self._go_back(step)
                raise
            if command.name in (*CHANGES, "ask") and not (command.name == "forall" and self.env is step.env):
                self._steps.append(step)
            return Reply(page, ended=command.name == "quit")
        except Contradiction as error:
            page = display.conflict_page(error.message, error.core, label=self.label)
            return Reply(page, ok=False, contradicts=True)
        except ParseError as error:
            page = display.error_page(advised(error, USAGE))
        except (ShapeError, OSError, UnicodeError) as error:
            page = display.error_page(error)
        return Reply(page, ok=False)

    def _step(self, command: Command, text: str) -> _Step:
        return _Step(
            self.number, text.strip(), command.name, self.env, self.env.checkpoint(), self._questions
        )

    def _carry_out(self, command: Command, text: str) -> Page:
        argument = command.argument
        match command.name:
            case "sizes" | "symbol" | "unbacked":
                self._declare(command.symbols)
            case "let":
                (symbol,) = command.symbols
                self._reading(text, argument, self.env.size)
                self.env.unbacked(symbol.name, None)
                self._reading(text, argument, lambda value: self.env.assume(f"{symbol.name} == {value}"))
            case "assume":
                self._reading(text, argument, self.env.assume)
            case "expect_true":
                known = self.env.known.count
                self._reading(text, argument, self.env.expect_true)
                return [line(*self._committed(known))]
            case "guard":
                known = self.env.known.count
                side = self._reading(text, argument, self.env.guard)
                return [line(span(str(side).lower(), "value"), "   ", *self._committed(known))]
            case "load":
                return self._load(argument.text)
            case "undo":
                return self._undo()
            case "drop":
                return self._drop(int(argument.text))
            case "pop":
                return self._pop(int(argument.text or "1"))
            case "reset":
                self.env = ShapeEnv(origin=lambda: None)
                self._questions, self._last = (), None
            case "ask":
                return self._ask(argument, text)
            case "forall":
                return self._for_all(argument, text)
            case "why":
                return self._why()
            case "bounds":
                return display.bounds_page(argument.text, *self._reading(text, argument, self.env.bounds))
            case "minimize" | "maximize":
                greatest = command.name == "maximize"
                best = self._reading(text, argument, lambda value: optimum(self.env, value, greatest=greatest))
                return optimum_page(argument.text, best, greatest=greatest, label=self.label)
            case "evaluate":
                return evaluated(self.env, text, argument)
            case "solve":
                return solved(self.env, text, argument)
            case "model":
                return self._model(text, argument)
            case "check":
                self.env.check_consistent()
                sizes = display.sizes_spans(model(self.env), ())
                return [line(span("consistent", "always"), "  the facts hold at ", *sizes)]
            case "simplify":
                return [line(span(str(self._reading(text, argument, self.env.simplify)), "fact"))]
            case "guards":
                return display.guards_page(self.env.guards(), file=PLACE)
            case "facts":
                facts = [fact for fact in reversed(list(self.env.known.records())) if fact.text]
                return display.facts_page(facts, label=self.label)
            case "save":
                save(self.env, os.path.expanduser(argument.text), self._questions)
                asked = f", with {len(self._questions)} questions" if self._questions else ""
                return [line(span(f"saved to {argument.text}{asked}", "muted"))]
            case "export":
                return self._export(argument.text)
            case "help":
                return help_page(argument.text)
        return ()

    # ------------------------------------------------------------------ changing

    def _declare(self, symbols: Sequence[Symbol]) -> None:
        for symbol in symbols:
            if symbol.kind == "backed":
                self.env.symbol(symbol.name, symbol.lo, symbol.hi, symbol.hint)
            else:
                self.env.unbacked(symbol.name, symbol.lo, symbol.hi)
            if symbol.multiple > 1:
                self.env.assume(f"{symbol.name} % {symbol.multiple} == 0")

    def _load(self, path: str) -> Page:
        file = os.path.expanduser(path)
        self.env = ShapeEnv.load(file)
        self._questions = tuple(questions_of(file))
        facts = list(self.env.known.records())
        self.number = max([self.number, *[fact.line for fact in facts if fact.line is not None]])
        self._last = None
        asked = f", {len(self._questions)} questions asked" if self._questions else ""
        return [line(span(f"{len(self.names)} symbols and {len(facts) - len(self.names)} facts{asked}", "muted"))]

    def _committed(self, known: int) -> list[Span]:
        new = [fact for fact in self.env.known.records() if fact.serial >= known]
        if not new:
            return [span("follows already; no guard needed", "muted")]
        return [span("recorded: ", "muted"), *[span(fact.text, "fact") for fact in reversed(new)]]

    def _undo(self) -> Page:
        for position in reversed(range(len(self._steps))):
            step = self._steps[position]
            if step.command in CHANGES:
                self._go_back(step)
                del self._steps[position:]
                return [line(span(f"undid [{step.number}] {step.text}", "muted"))]
        raise ShapeError("nothing to undo")

    def _pop(self, count: int) -> Page:
        pushes = [position for position, step in enumerate(self._steps) if step.command in SCOPES]
        if not 1 <= count <= len(pushes):
            raise ShapeError(f"there are {len(pushes)} marks to return to; `push` adds one")
        position = pushes[-count]
        step = self._steps[position]
        self._go_back(step)
        del self._steps[position:]
        return [line(span(f"back to [{step.number}]", "muted"))]

    def _drop(self, number: int) -> Page:
        """Take back one line: all from it on are taken back, and those after it carried out again."""
        positions = [at for at, step in enumerate(self._steps) if step.number == number and step.command in CHANGES]
        if not positions:
            raise ShapeError(f"line {number} is not a current declaration, fact or guard; `facts` shows the numbers")
        kept, dropped = self._steps[: positions[0]], self._steps[positions[0]]
        later = self._steps[positions[0] + 1 :]
        now = self.number
        try:
            self._carry_out_again(kept, dropped, later)
        except BaseException as error:
            self._carry_out_again(kept, dropped, [dropped, *later])
            if isinstance(error, ShapeError):
                raise ShapeError(f"a later line needs line {number}: {error}") from None
            raise
        finally:
            self.number = now
        return [line(span(f"dropped [{number}] {dropped.text}", "muted"))]

    def _carry_out_again(self, kept: list[_Step], dropped: _Step, lines: list[_Step]) -> None:
        """From the state before a line that is dropped, carry out lines once more, each under its number."""
        self._go_back(dropped)
        self._steps = kept[:]
        for each in lines:
            self.number = each.number
            command = parse_command(each.text)
            step = self._step(command, each.text)
            with self.env.at(Origin(PLACE, each.number)):
                self._carry_out(command, each.text)
            self._steps.append(step)

    def _go_back(self, step: _Step) -> None:
        self.env, self._questions, self._last = step.env, step.questions, None
        self.env.rollback(step.mark)

    # ------------------------------------------------------------------ asking

    def _reading(self, text: str, argument: Argument, read: Callable[[str], Value]) -> Value:
        """The result of `read` for an argument; a mistake in it points into the whole line."""
        try:
            return read(argument.text)
        except ParseError as error:
            if error.text != argument.text:
                raise
            raise ParseError(error.message, text, argument.column + error.column) from None

    def _ask(self, argument: Argument, text: str) -> Page:
        self.env.check_consistent()
        try:
            verdict = self._reading(text, argument, self.env.ask)
        except ParseError:
            value = expression_page(self.env, argument.text)
            if value is None:
                raise
            return value
        self._last = (argument.text, verdict, self.env)
        prop, domain = self.env.parse(argument.text)
        asked = question_record(self.env, Asked(prop, domain, argument.text, verdict, "person", False))
        self._questions = (*self._questions, (lines_so_far(self.env), asked))
        where = display.obligation(self.env, argument.text)
        page = display.verdict_page(verdict, label=self.label, first=names_in(argument.text), where=where)
        return [*page, *powers_note(argument.text)]

    def _for_all(self, argument: Argument, text: str) -> Page:
        """Open a scope of bound variables, for one question or until `pop`."""
        ranges, question = read_ranges(text, argument)
        outside, asked = self.env, self._questions
        try:
            for each in ranges:
                low = self._reading(text, each.low, self.env.size) + each.above
                high = self._reading(text, each.high, self.env.size) + each.included
                self.env = self.env.fork(for_all=(each.name, low, high))
            if question is None:
                return ()
            page = self._ask(question, text)
        except BaseException:
            self.env = outside
            raise
        self.env, self._questions = outside, asked
        return page

    def _model(self, text: str, argument: Argument) -> Page:
        try:
            sizes = self._reading(text, argument, lambda proposition: model(self.env, proposition or None))
        except Contradiction as error:
            if not argument.text:
                raise
            facts = [fact for fact in error.core if fact.text != argument.text]
            return [line(span("none", "never"), "  because  " if facts else "", *display.fact_spans(facts, self.label))]
        return [line(*display.sizes_spans(sizes, ()))]

    def _why(self) -> Page:
        if self._last is None:
            raise ShapeError("nothing was asked yet; `help ask` shows how")
        question, verdict, env = self._last
        return reasons_page(env, verdict, question, label=self.label)

    def _export(self, path: str) -> Page:
        """The last answer for Coq, or the environment for SMT solvers, as the name of the file says."""
        match os.path.splitext(path)[1]:
            case ".v" if self._last is not None:
                text = self._last[1].export("coq")
            case ".v":
                raise ShapeError("nothing was asked yet; `help ask` shows how")
            case ".smt2":
                text = self.env.export("smtlib")
            case _:
                raise ShapeError(f"`{path}`: expected a name that ends in .v (the last answer) or .smt2 (all facts)")
        with open(os.path.expanduser(path), "w", encoding="utf-8") as file:
            file.write(text)
        return [line(span(f"exported to {path}", "muted"))]


def help_page(topic: str) -> Page:
    """All commands, or one with what it does."""
    if topic:
        return [line(span(USAGE[topic].form, "heading"), f"   {USAGE[topic].meaning}")]
    rows = [[span("  " + usage.form, "heading"), span(usage.meaning)] for usage in USAGE.values()]
    language = "+ - * // % **  min max abs gcd ceildiv  == != < <= > >=  and or not =>  a if p else b"
    return [*columns(rows), line(span(f"  in a proposition: {language}", "muted"))]
