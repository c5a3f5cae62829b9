"""The prompt in a terminal: line editing, completion, history and colours around a `Session`.

A script on standard input is carried out line by line, with no `prompt_toolkit` needed:

    $ printf 'sizes b s\\nassume s %% 16 == 0\\ns %% 8 == 0 ?\\n' | shapes
    always    because  s % 16 == 0 [2]
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO

from shapes.folders import base_folder, make_private
from shapes.prompt.grammar import USAGE
from shapes.prompt.page import line, show, span, wants_colour
from shapes.prompt.session import Reply, Session

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import Completer, Completion
    from prompt_toolkit.document import Document
    from prompt_toolkit.formatted_text import StyleAndTextTuples

MISTAKE: Final = 1
CONTRADICTS: Final = 4
FUNCTIONS: Final = ("min(", "max(", "abs(", "gcd(", "ceildiv(", "and", "or", "not", "=>")
GREETING: Final = "sizes b s   assume s % 16 == 0   (b*s) % 64 == 0 ?   why   help   quit"


def converse(*, echo: bool = False) -> int:
    """Talk to the person, or carry out the script, on standard input; with `echo` each line is printed before its
    answer.
    """
    if not sys.stdin.isatty():
        return carry_out(sys.stdin, sys.stdout, echo=echo)
    missing = [name for name in ("prompt_toolkit", "rich") if importlib.util.find_spec(name) is None]
    if missing:
        print(f"the prompt needs {' and '.join(missing)}: pip install 'symshape[prompt]'", file=sys.stderr)
        print("without: `shapes ask`, `shapes replay`, or a script on standard input", file=sys.stderr)
        return 69
    return talk(Session())


def carry_out(script: Iterable[str], output: TextIO, *, echo: bool = False) -> int:
    """A script: mistakes are reported with their line. The status is 1 after a mistake, 4 where facts contradict each
    other.
    """
    session = Session()
    status = 0
    for number, text in enumerate(script, 1):
        if echo:
            print(prompt_of(session, text) + text.rstrip("\r\n"), file=output)
        reply = answer(session, text)
        to = output if reply.ok or echo else sys.stderr
        if not reply.ok:
            status = CONTRADICTS if reply.contradicts and status == 0 else status or MISTAKE
            if not echo:
                output.flush()
                print(f"line {number}:", file=sys.stderr)
        if reply.page:
            show(reply.page, to)
        if reply.ended:
            break
    return status


def prompt_of(session: Session, text: str = "") -> str:
    """The prompt before a line: the number that facts of the line will have."""
    return "> " if text.strip().startswith("#") else f"[{session.number + 1}] > "


def answer(session: Session, text: str) -> Reply:
    """The reply to a line. A fault of ours is reported too, and the session goes on."""
    try:
        return session.run(text)
    except KeyboardInterrupt:
        return Reply([line(span("interrupted", "muted"))], ok=False)
    except Exception as error:
        if os.environ.get("SHAPES_TRACEBACK"):
            raise
        advice = "SHAPES_TRACEBACK=1 shows where"
        return Reply([line(span("internal error", "error"), f"  {error!r}"), line(span(advice, "muted"))], ok=False)


# -------------------------------------------------------------------- the terminal


def talk(session: Session) -> int:
    """Read, carry out, print, until the person leaves."""
    prompt = editor(session)
    show([line(span(GREETING, "muted"))], sys.stdout)
    while True:
        try:
            text = prompt.prompt(prompt_of(session))
        except KeyboardInterrupt:
            continue
        except EOFError:
            return 0
        reply = answer(session, text)
        if reply.page:
            show(reply.page, sys.stdout)
        if reply.ended:
            return 0


def editor(session: Session) -> PromptSession[str]:
    """Line editing with history, completion and colours."""
    from prompt_toolkit import PromptSession
    from prompt_toolkit.history import FileHistory, InMemoryHistory
    from prompt_toolkit.lexers import Lexer
    from prompt_toolkit.output.color_depth import ColorDepth
    from prompt_toolkit.styles import Style

    class Highlight(Lexer):
        """The command's name, and undeclared names."""

        def lex_document(self, document: Document):  # type: ignore[no-untyped-def]
            return lambda number: highlighted(document.lines[number], session.names)

    file = history_file()
    return PromptSession(
        history=FileHistory(str(file)) if file is not None else InMemoryHistory(),
        completer=completer(session),
        lexer=Highlight(),
        style=Style.from_dict({"command": "bold", "symbol": "ansicyan"}),
        color_depth=None if wants_colour(sys.stdout) else ColorDepth.DEPTH_1_BIT,
        complete_while_typing=False,
    )


def history_file() -> Path | None:
    """The file in which lines are remembered; None where no folder can be made for it."""
    try:
        folder = base_folder("XDG_STATE_HOME", ".local", "state") / "symshape"
        make_private(folder)
        history = folder / "history"
        os.close(os.open(history, os.O_RDWR | os.O_CREAT | os.O_NONBLOCK, 0o600))
    except OSError:
        return None
    return history if history.is_file() else None


def completer(session: Session) -> Completer:
    from prompt_toolkit.completion import Completer, Completion

    class Words(Completer):
        def get_completions(self, document: Document, event: object) -> Iterator[Completion]:
            for word, begin in completions(document.text_before_cursor, session.names):
                yield Completion(word, start_position=begin)

    return Words()


def completions(before: str, names: Sequence[str]) -> list[tuple[str, int]]:
    """The words that may follow the text: each with the place where it begins, counted back from the end.

    >>> completions("as", ["s", "seq"])
    [('assume', -2), ('ask', -2)]
    >>> completions("assume b * s", ["s", "seq"])
    [('s', -1), ('seq', -1)]
    >>> completions("help gu", [])
    [('guard', -2), ('guards', -2)]
    """
    start = len(before)
    while start and (before[start - 1].isalnum() or before[start - 1] == "_"):
        start -= 1
    typed, head = before[start:], before[:start].split()
    command = head[0] if head else None
    if command in ("save", "load", "export"):
        return _paths(before[before.index(command) + len(command) :].lstrip())
    if command is None:
        words = [*USAGE, *names]
    elif command == "help":
        words = list(USAGE)
    elif command in ("symbol", "unbacked", "sizes"):
        words = [] if command == "sizes" else ["lo=", "hi="] + ["hint="] * (command == "symbol")
    else:
        words = [*names, *FUNCTIONS]
    return [(word, -len(typed)) for word in words if word.startswith(typed)]


def _paths(typed: str) -> list[tuple[str, int]]:
    folder, name = os.path.split(typed)
    try:
        entries = sorted(os.scandir(os.path.expanduser(folder) or "."), key=lambda entry: entry.name)
    except OSError:
        return []
    return [(e.name + "/" * e.is_dir(), -len(name)) for e in entries if e.name.startswith(name) and e.name[0] != "."]


def highlighted(text: str, names: Sequence[str]) -> StyleAndTextTuples:
    """Pieces of a line with the class of each: its command, its symbols, the rest.

    >>> highlighted("assume s > 3", ["s"])
    [('class:command', 'assume'), ('', ' '), ('class:symbol', 's'), ('', ' > 3')]
    """
    import re

    pieces: StyleAndTextTuples = []
    for match in re.finditer(r"[^\W\d]\w*|(?:\W|\d\w*)+", text):
        word = match[0]
        style = "class:command" if word in USAGE and not text[: match.start()].strip() else ""
        style = "class:symbol" if word in names and not style else style
        if pieces and not style and not pieces[-1][0]:
            word = pieces.pop()[1] + word
        pieces.append((style, word))
    return pieces
