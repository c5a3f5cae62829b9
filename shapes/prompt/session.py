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
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeVar

from shapes.certification.size_names import names_in
from shapes.env import ShapeEnv
from shapes.environment.ledger import Checkpoint
from shapes.errors import Contradiction
from shapes.origin import Origin
from shapes.prompt import display
from shapes.prompt.evidence import reasons_page
from shapes.prompt.grammar import USAGE, Argument, Command, parse_command
from shapes.prompt.page import Page, Span, columns, line, span
from solver.decide.verdict import Verdict
from solver.errors import ParseError, ShapeError
from solver.proofs.fact import Fact

Value = TypeVar("Value")

PLACE = "line"
"""The file name of origins that are lines of this session."""
CHANGES: Final = ("sizes", "symbol", "unbacked", "assume", "guard", "load")
"""The commands that `undo` takes back."""


@dataclass(frozen=True, slots=True)
class Reply:
    """The output after a line. `ok` is false for a mistake, `ended` true when the person wants to leave."""

    page: Page = ()
    ok: bool = True
    ended: bool = False


@dataclass(frozen=True, slots=True)
class _Before:
    """The state that `undo` returns to, and the command it undoes."""

    number: int
    text: str
    env: ShapeEnv
    mark: Checkpoint


class Session:
    """An environment with numbered lines, the last answer, and a way back."""

    def __init__(self) -> None:
        self.number = 0
        self.env = ShapeEnv(origin=lambda: None)
        self._past: list[_Before] = []
        self._last: tuple[str, Verdict] | None = None

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
            before = _Before(self.number, text.strip(), self.env, self.env.checkpoint())
            try:
                with self.env.at(Origin(PLACE, self.number)):
                    page = self._carry_out(command, text)
            except BaseException:
                self.number -= 1
                self._go_back(before)
                raise
            if command.name in CHANGES:
                self._past.append(before)
            return Reply(page, ended=command.name == "quit")
        except Contradiction as error:
            page = display.conflict_page(error.message, error.core, label=self.label)
        except (ShapeError, OSError, UnicodeError) as error:
            page = display.error_page(error)
        return Reply(page, ok=False)

    def _carry_out(self, command: Command, text: str) -> Page:
        argument = command.argument
        match command.name:
            case "sizes" | "symbol" | "unbacked":
                for symbol in command.symbols:
                    if symbol.kind == "backed":
                        self.env.symbol(symbol.name, symbol.lo, symbol.hi, symbol.hint)
                    else:
                        self.env.unbacked(symbol.name, symbol.lo, symbol.hi)
            case "assume":
                self._reading(text, argument, self.env.assume)
            case "guard":
                known = self.env.known.count
                side = self._reading(text, argument, self.env.guard)
                return [line(span(str(side).lower(), "value"), "   ", *self._committed(known))]
            case "load":
                return self._load(argument.text)
            case "undo":
                return self._undo()
            case "ask":
                return self._ask(argument, text)
            case "why":
                return self._why()
            case "bounds":
                return display.bounds_page(argument.text, *self._reading(text, argument, self.env.bounds))
            case "simplify":
                return [line(span(str(self._reading(text, argument, self.env.simplify)), "fact"))]
            case "guards":
                return display.guards_page(self.env.guards(), file=PLACE)
            case "facts":
                facts = [fact for fact in reversed(list(self.env.known.records())) if fact.text]
                return display.facts_page(facts, label=self.label)
            case "save":
                self.env.save(os.path.expanduser(argument.text))
                return [line(span(f"saved to {argument.text}", "muted"))]
            case "export":
                return self._export(argument.text)
            case "help":
                return help_page(argument.text)
        return ()

    # ------------------------------------------------------------------ changing

    def _load(self, path: str) -> Page:
        self.env = ShapeEnv.load(os.path.expanduser(path))
        facts = list(self.env.known.records())
        self.number = max([self.number, *[fact.line for fact in facts if fact.line is not None]])
        self._last = None
        return [line(span(f"{len(self.names)} symbols and {len(facts) - len(self.names)} facts", "muted"))]

    def _committed(self, known: int) -> list[Span]:
        new = [fact for fact in self.env.known.records() if fact.serial >= known]
        if not new:
            return [span("follows already; no guard needed", "muted")]
        return [span("recorded: ", "muted"), *[span(fact.text, "fact") for fact in reversed(new)]]

    def _undo(self) -> Page:
        if not self._past:
            raise ShapeError("nothing to undo")
        past = self._past.pop()
        self._go_back(past)
        self._last = None
        return [line(span(f"undid [{past.number}] {past.text}", "muted"))]

    def _go_back(self, before: _Before) -> None:
        self.env = before.env
        self.env.rollback(before.mark)

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
        verdict = self._reading(text, argument, self.env.ask)
        self._last = (argument.text, verdict)
        where = display.obligation(self.env, argument.text)
        return display.verdict_page(verdict, label=self.label, first=names_in(argument.text), where=where)

    def _why(self) -> Page:
        if self._last is None:
            raise ShapeError("nothing was asked yet; `help ask` shows how")
        question, verdict = self._last
        return reasons_page(self.env, verdict, question, label=self.label)

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
                raise ShapeError(f"`{path}`: a name that ends in .v is the last answer, in .smt2 all that is known")
        with open(os.path.expanduser(path), "w", encoding="utf-8") as file:
            file.write(text)
        return [line(span(f"exported to {path}", "muted"))]


def help_page(topic: str) -> Page:
    """All commands, or one with what it does."""
    if topic:
        return [line(span(USAGE[topic].form, "heading"), f"   {USAGE[topic].meaning}")]
    rows = [[span("  " + usage.form, "heading"), span(usage.meaning)] for usage in USAGE.values()]
    language = "+ - * // % **  min max abs ceildiv  == != < <= > >=  and or not  a if p else b"
    return [*columns(rows), line(span(f"  in a proposition: {language}", "muted"))]
