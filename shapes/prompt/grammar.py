"""The command language of the prompt: one line of text becomes one command, or an error that points at a column.

A command keeps its argument together with the column where it begins, so that the reader of the argument can
still point into the line that the person wrote.

>>> parse_command("assume s % 16 == 0")
Command(name='assume', argument=Argument(text='s % 16 == 0', column=7), symbols=())
>>> parse_command("(b*s) % 64 == 0 ?")
Command(name='ask', argument=Argument(text='(b*s) % 64 == 0', column=0), symbols=())
>>> parse_command("symbol h lo=1 hi=2**13").symbols[0].hi
8192
"""

from __future__ import annotations

import difflib
import keyword
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from solver.errors import ParseError


@dataclass(frozen=True, slots=True)
class Argument:
    """A piece of the line and the column (from 0) where it begins."""

    text: str
    column: int


@dataclass(frozen=True, slots=True)
class Symbol:
    """A symbol to declare. `lo` and `hi` are inclusive, None is unbounded."""

    name: str
    kind: Literal["backed", "unbacked"]
    lo: int | None = 0
    hi: int | None = None
    hint: int | None = None


@dataclass(frozen=True, slots=True)
class Command:
    """A command by its name in `USAGE`, with what stands behind it. An empty line or a comment has no name."""

    name: str
    argument: Argument = Argument("", 0)
    symbols: tuple[Symbol, ...] = ()


@dataclass(frozen=True, slots=True)
class Usage:
    """The `help` text of a command."""

    form: str
    meaning: str
    takes: Literal["nothing", "names", "text", "path", "topic"]


USAGE: Mapping[str, Usage] = {
    "sizes": Usage("sizes b s=128", "declare sizes (integers >= 0), each with a hint if you like", "names"),
    "symbol": Usage("symbol h lo=1 hi=8192 hint=64", "declare a size with bounds; lo=none is unbounded below", "names"),
    "unbacked": Usage("unbacked u lo=0", "declare a value that only run time knows", "names"),
    "assume": Usage("assume s % 16 == 0", "record a fact; questions after it may use it", "text"),
    "ask": Usage("ask (b*s) % 64 == 0", "does this follow?  Also: (b*s) % 64 == 0 ?", "text"),
    "why": Usage("why", "the reasons behind the last answer", "nothing"),
    "guard": Usage("guard s > 64", "take the side that the hints choose, and record it as a guard", "text"),
    "guards": Usage("guards", "the guards so far, those that follow from others left out", "nothing"),
    "bounds": Usage("bounds b*s + 1", "least and greatest value of an expression", "text"),
    "simplify": Usage("simplify (4*s + 3) // 4", "the same value under these facts, written shorter", "text"),
    "facts": Usage("facts", "all that is known, with line numbers", "nothing"),
    "undo": Usage("undo", "undo the last declaration, fact or guard", "nothing"),
    "save": Usage("save session.jsonl.gz", "write this session to a file", "path"),
    "export": Usage("export always.v", "the last answer for Coq (.v), or all there is for SMT solvers (.smt2)", "path"),
    "load": Usage("load session.jsonl.gz", "begin again from a file", "path"),
    "help": Usage("help assume", "this list, or one command", "topic"),
    "quit": Usage("quit", "leave (also exit, or Ctrl-D)", "nothing"),
}

LONGEST_INTEGER: Final = 4096
"""Digits, as text or when a power is computed."""

_WORD = re.compile(r"\s*([^\W\d]\w*)")
_NAME = re.compile(r"[^\W\d]\w*")
_INTEGER = re.compile(r"[+-]?\d[\d_]*(?:\*\*\d+(?:[+-]\d+)?)?")
_CALLED_WORDS = frozenset({"min", "max", "abs", "ceildiv", "divides"})
_OPERATOR_WORDS = frozenset({"and", "or", "not", "if", "else", "is", "in"})


def parse_command(line: str) -> Command:
    """The command that a line says; a line that names no command is a question."""
    text = line.rstrip()
    start = len(text) - len(text.lstrip())
    if not text.strip() or text.lstrip().startswith("#"):
        return Command("")
    if text.endswith("?"):
        word = _WORD.match(text)
        begin = word.end() if word is not None and word[1] == "ask" and text[word.end() :][:1] in (" ", "\t") else start
        return Command("ask", _argument(line, begin, len(text) - 1, "ask"))
    word = _WORD.match(text)
    if word is None:
        return Command("ask", _argument(line, start, len(text), "ask"))
    name = "quit" if word[1] == "exit" else word[1]
    if name in USAGE and (USAGE[name].takes == "path" or not _continues_expression(text[word.end() :])):
        return _read(line, name, word.end(), len(text))
    if _looks_like_command(name, text[word.end() :]):
        close = difflib.get_close_matches(name, USAGE, n=1)
        known = f"did you mean `{close[0]}`?" if close else "`help` lists the commands"
        raise ParseError(f"no command `{name}`; {known}", line, start)
    return Command("ask", _argument(line, start, len(text), "ask"))


def _continues_expression(rest: str) -> bool:
    """Return True if a line that begins with a command's name is a proposition about a symbol of that name: `guards >
    3`.
    """
    return re.match(r"\s*(?:[<>=!]=|[<>+*/%)]|-\s|//)", rest) is not None


def _looks_like_command(name: str, rest: str) -> bool:
    """Return True if `name rest` is two operands in a row, which no proposition has."""
    if name in _OPERATOR_WORDS or name in _CALLED_WORDS:
        return False
    following = re.match(r"\s+(\w+)", rest)
    return following is not None and following[1] not in _OPERATOR_WORDS


def _argument(line: str, begin: int, end: int, command: str) -> Argument:
    text = line[begin:end]
    column = begin + len(text) - len(text.lstrip())
    if not text.strip():
        raise ParseError(f"`{command}` needs something after it: {USAGE[command].form}", line, end)
    return Argument(text.strip(), column)


def _words(line: str, begin: int, end: int) -> Iterator[Argument]:
    for match in re.finditer(r"[^\s,]+", line[begin:end]):
        yield Argument(match[0], begin + match.start())


def read_integer(text: str) -> int | None:
    """An integer as people write large ones (`8_192`, `2**63-1`), or None.

    >>> read_integer("2**63-1")
    9223372036854775807
    """
    if len(text) > LONGEST_INTEGER or _INTEGER.fullmatch(text) is None:
        return None
    base, _, power = text.partition("**")
    if not power:
        return int(base)
    exponent, sign, offset = re.fullmatch(r"(\d+)([+-]?)(\d*)", power).groups()  # type: ignore[union-attr]
    if int(exponent) * len(base) > LONGEST_INTEGER:
        return None
    value: int = int(base) ** int(exponent) if not base.startswith("-") else -(int(base[1:]) ** int(exponent))
    return value + int(sign + offset) if offset else value


def check_name(name: str) -> str | None:
    """Why `name` cannot name a symbol, or None when it can."""
    if _NAME.fullmatch(name) is None:
        return f"`{name}` is not a name"
    if keyword.iskeyword(name) or name in _CALLED_WORDS:
        return f"`{name}` is a word of the language"
    return None


def _name(line: str, word: Argument) -> str:
    fault = check_name(word.text)
    if fault is not None:
        raise ParseError(fault, line, word.column)
    return word.text


def _option(line: str, word: Argument, text: str) -> int | None:
    offset = len(word.text) - len(text)
    value = read_integer(text)
    if value is None and text.lower() not in ("none", "inf", "-inf"):
        raise ParseError(f"`{text}` is not an integer", line, word.column + offset)
    return value


def _read(line: str, command: str, begin: int, end: int) -> Command:
    """Read the arguments behind the name of a command, as `USAGE` says that it takes."""
    match USAGE[command].takes:
        case "text":
            return Command(command, _argument(line, begin, end, command))
        case "path":
            argument = _argument(line, begin, end, command)
            return Command(command, Argument(argument.text.strip("\"'"), argument.column))
        case "names":
            return Command(command, _argument(line, begin, end, command), tuple(_symbols(line, command, begin, end)))
        case takes:
            for word in _words(line, begin, end):
                if takes == "nothing":
                    raise ParseError(f"`{command}` takes nothing after it", line, word.column)
                if word.text not in USAGE:
                    raise ParseError(f"no command `{word.text}`; `help` lists the commands", line, word.column)
                return Command(command, word)
            return Command(command)


def _symbols(line: str, command: str, begin: int, end: int) -> Iterator[Symbol]:
    """The symbols to declare: of `sizes` each may have a hint behind it, for others options are for all of them."""
    names: list[str] = []
    options: dict[str, int | None] = {}
    for word in _words(line, begin, end):
        name, equals, value = word.text.partition("=")
        if command == "sizes":
            hint = _option(line, word, value) if equals else None
            yield Symbol(_name(line, Argument(name, word.column)), "backed", hint=hint)
        elif not equals or not re.fullmatch(r"\w+", name):
            names.append(_name(line, word))
        elif name not in ("lo", "hi", "hint") or name == "hint" and command == "unbacked":
            known = "lo, hi" if command == "unbacked" else "lo, hi, hint"
            raise ParseError(f"no option `{name}`; `{command}` takes {known}", line, word.column)
        else:
            options[name] = _option(line, word, value)
    if command != "sizes" and not names:
        raise ParseError(f"`{command}` needs a name: {USAGE[command].form}", line, end)
    kind: Literal["backed", "unbacked"] = "unbacked" if command == "unbacked" else "backed"
    for name in names:
        yield Symbol(name, kind, options.get("lo", 0), options.get("hi"), options.get("hint"))
