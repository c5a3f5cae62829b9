"""The command language of the prompt: one line of text becomes one command, or an error that points at a column.

A command keeps its argument together with the column where it begins, so that the reader of the argument can
still point into the line that the person wrote.

>>> parse_command("assume s % 16 == 0")
Command(name='assume', argument=Argument(text='s % 16 == 0', column=7), symbols=())
>>> parse_command("(b*s) % 64 == 0 ?")
Command(name='ask', argument=Argument(text='(b*s) % 64 == 0', column=0), symbols=())
>>> parse_command("symbol h=1..2**13").symbols[0].hi
8192
"""

from __future__ import annotations

import difflib
import keyword
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal

from shapes.prompt.foreign import advice
from solver.errors import ParseError


@dataclass(frozen=True, slots=True)
class Argument:
    """A piece of the line and the column (from 0) where it begins."""

    text: str
    column: int


@dataclass(frozen=True, slots=True)
class Symbol:
    """A symbol to declare. `lo` and `hi` are inclusive, None is unbounded; it is a multiple of `multiple`."""

    name: str
    kind: Literal["backed", "unbacked"]
    lo: int | None = 0
    hi: int | None = None
    hint: int | None = None
    multiple: int = 1


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
    takes: Literal[
        "nothing", "names", "text", "perhaps text", "definition", "number", "perhaps number", "path", "topic"
    ]


USAGE: Mapping[str, Usage] = {
    "sizes": Usage("sizes b s=128 n=1..64", "declare sizes (integers >= 0), each with a hint or a range", "names"),
    "symbol": Usage("symbol h=-8..8 hint=4", "declare integers with a range; lo=none is unbounded below", "names"),
    "unbacked": Usage("unbacked u=0..64", "declare a value known only at run time", "names"),
    "let": Usage("let n = s // 4", "define a name for an expression", "definition"),
    "assume": Usage("assume s % 16 == 0", "record a fact; questions after it may use it", "text"),
    "ask": Usage("ask (b*s) % 64 == 0", "does this follow?  Also: (b*s) % 64 == 0 ?", "text"),
    "why": Usage("why", "the reasons behind the last answer", "nothing"),
    "guard": Usage("guard s > 64", "take the side that the hints choose, and record it as a guard", "text"),
    "expect_true": Usage("expect_true u <= 64", "it holds from here on: a guard, or a check at run time", "text"),
    "guards": Usage("guards", "the guards so far, those that follow from others left out", "nothing"),
    "bounds": Usage("bounds b*s + 1", "bounds of an expression, by intervals", "text"),
    "minimize": Usage("minimize b*s + 1", "the least value, and sizes where it is taken", "text"),
    "maximize": Usage("maximize b % 16", "the greatest value, and sizes where it is taken", "text"),
    "simplify": Usage("simplify (4*s + 3) // 4", "the same value under these facts, written shorter", "text"),
    "evaluate": Usage("evaluate b*s at b=4 s=16", "the value at these sizes", "text"),
    "solve": Usage("solve 2*x + 3 == b for x", "the value of a symbol, from an equation", "text"),
    "model": Usage("model b*s > 64", "sizes that satisfy all facts, and this if there is one", "perhaps text"),
    "check": Usage("check", "can all facts hold together?", "nothing"),
    "facts": Usage("facts", "all that is known, with line numbers", "nothing"),
    "undo": Usage("undo", "undo the last declaration, fact or guard", "nothing"),
    "drop": Usage("drop 2", "take back the declaration, fact or guard of a line, and keep those after it", "number"),
    "forall": Usage("forall r < world: r*k < n", "is it so for every r? Without a question, until `pop`", "text"),
    "push": Usage("push", "mark a point to return to", "nothing"),
    "pop": Usage("pop", "return to the last `push`, or, with a number, to the last but so many", "perhaps number"),
    "reset": Usage("reset", "begin again", "nothing"),
    "save": Usage("save session.jsonl.gz", "write facts and questions to a file", "path"),
    "export": Usage("export always.v", "the last answer for Coq (.v), or all there is for SMT solvers (.smt2)", "path"),
    "load": Usage("load session.jsonl.gz", "begin again from a file", "path"),
    "help": Usage("help assume", "this list, or one command", "topic"),
    "quit": Usage("quit", "leave (also exit, or Ctrl-D)", "nothing"),
}

LONGEST_INTEGER: Final = 4096
"""Digits, as text or when a power is computed."""

_DEFINES = re.compile(r"\s*let\s+[^\W\d]\w*\s*=(?![=>])")
_DEFINITION = re.compile(r"\s*([^\W\d]\w*)\s*=(?![=>])\s*(\S.*)")
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
        named = word is not None and word[1] in ("ask", "forall") and text[word.end() :][:1] in (" ", "\t")
        name, begin = (word[1], word.end()) if word is not None and named else ("ask", start)
        return Command(name, _argument(line, begin, len(text) - 1, name))
    word = _WORD.match(text)
    if word is None:
        return Command("ask", _argument(line, start, len(text), "ask"))
    name = "quit" if word[1] == "exit" else word[1]
    if name in USAGE and (
        USAGE[name].takes == "path" or _DEFINES.match(text) or not _continues_expression(text[word.end() :])
    ):
        return _read(line, name, word.end(), len(text))
    if _looks_like_command(name, text[word.end() :]):
        known_elsewhere = advice(line)
        if known_elsewhere is not None:
            raise ParseError(known_elsewhere[1], line, known_elsewhere[0])
        close = difflib.get_close_matches(name, USAGE, n=1)
        known = f"did you mean `{close[0]}`?" if close else "`help` lists the commands"
        raise ParseError(f"no command `{name}`; {known}", line, start)
    return Command("ask", _argument(line, start, len(text), "ask"))


def _continues_expression(rest: str) -> bool:
    """Return True if a line that begins with a command's name is a proposition about a symbol of that name: `guards >
    3`.
    """
    return re.match(r"\s*(?:=>|[<>=!]=|[<>+*/%)]|-\s|//)", rest) is not None


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
        raise ParseError(f"`{command}` needs an argument: {USAGE[command].form}", line, end)
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
    """The reason why `name` cannot name a symbol, or None when it can."""
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
        case "perhaps text":
            text = line[begin:end].strip()
            return Command(command, _argument(line, begin, end, command) if text else Argument("", end))
        case "number" | "perhaps number" as takes:
            return _numbered(line, command, begin, end, needed=takes == "number")
        case "definition":
            found = _DEFINITION.match(line[begin:end])
            if found is None:
                raise ParseError(f"`{command}` needs a name and its value: {USAGE[command].form}", line, begin)
            name = _name(line, Argument(found[1], begin + found.start(1)))
            return Command(command, Argument(found[2], begin + found.start(2)), (Symbol(name, "unbacked", None),))
        case "path":
            argument = _argument(line, begin, end, command)
            return Command(command, Argument(argument.text.strip("\"'"), argument.column))
        case "names":
            return Command(command, _argument(line, begin, end, command), tuple(_symbols(line, command, begin, end)))
        case takes:
            for word in _words(line, begin, end):
                if takes == "nothing":
                    raise ParseError(f"`{command}` takes no argument", line, word.column)
                if word.text not in USAGE:
                    raise ParseError(f"no command `{word.text}`; `help` lists the commands", line, word.column)
                return Command(command, word)
            return Command(command)


def _numbered(line: str, command: str, begin: int, end: int, *, needed: bool) -> Command:
    words = list(_words(line, begin, end))
    if not words and not needed:
        return Command(command)
    if len(words) != 1 or not words[0].text.isdecimal():
        raise ParseError(f"`{command}` takes a number: {USAGE[command].form}", line, words[0].column if words else end)
    return Command(command, words[0])


def _symbols(line: str, command: str, begin: int, end: int) -> Iterator[Symbol]:
    """The symbols to declare: each may have a range behind it, of `sizes` a hint; options are for all of them."""
    symbols: list[Symbol] = []
    options: dict[str, int | None] = {}
    kind: Literal["backed", "unbacked"] = "unbacked" if command == "unbacked" else "backed"
    for word in _words(line, begin, end):
        name, equals, value = word.text.partition("=")
        if equals and ".." in value:
            lo, hi, multiple = read_range(value, line, word.column + len(name) + 1)
            symbols.append(Symbol(_name(line, Argument(name, word.column)), kind, lo, hi, multiple=multiple))
        elif command == "sizes":
            hint = _option(line, word, value) if equals else None
            symbols.append(Symbol(_name(line, Argument(name, word.column)), kind, hint=hint))
        elif not equals or not re.fullmatch(r"\w+", name):
            symbols.append(Symbol(_name(line, word), kind))
        elif name not in ("lo", "hi", "hint") or name == "hint" and command == "unbacked":
            known = "lo, hi" if command == "unbacked" else "lo, hi, hint"
            raise ParseError(f"no option `{name}`; `{command}` takes {known}", line, word.column)
        else:
            options[name] = _option(line, word, value)
    if not symbols:
        raise ParseError(f"`{command}` needs a name: {USAGE[command].form}", line, end)
    for symbol in symbols:
        lo, hi, hint = (options.get(name, getattr(symbol, name)) for name in ("lo", "hi", "hint"))
        yield replace(symbol, lo=lo, hi=hi, hint=hint)


def read_range(text: str, line: str, column: int) -> tuple[int | None, int | None, int]:
    """`LO..HI`, `LO..HI:MULTIPLE` or one value; an end that is left out is unbounded. `column` is where it begins in
    the line.

    >>> read_range("16..4096:16", "", 0), read_range("..8", "", 0)
    ((16, 4096, 16), (None, 8, 1))
    """
    ends, colon, multiple = text.partition(":")
    low, dots, high = ends.partition("..")
    if not dots and colon:
        raise ParseError("a multiple needs a range: expected LO..HI:MULTIPLE", line, column + len(ends))
    if not dots:
        high = low
    places = column, column + len(low) + 2, column + len(ends) + 1
    values: list[int | None] = []
    for part, place in zip((low, high, multiple if colon else "1"), places, strict=True):
        value = read_integer(part) if part else None
        if value is None and part:
            raise ParseError(f"`{part}` is not an integer", line, place)
        values.append(value)
    lo, hi, step = values
    if not dots and lo is None:
        raise ParseError("expected LO..HI, LO..HI:MULTIPLE or a value", line, column)
    if step is None or step < 1:
        raise ParseError("a multiple must be 1 or more", line, places[2])
    if lo is not None and hi is not None and lo > hi:
        raise ParseError(f"no integer is in {lo}..{hi}", line, column)
    if lo is not None and hi is not None and hi // step * step < lo:
        raise ParseError(f"no multiple of {step} is in {lo}..{hi}", line, places[2])
    return lo, hi, step
