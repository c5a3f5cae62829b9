"""The prompt in a real terminal (a pseudo-terminal here), and what helps a person who types."""

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from shapes.prompt.terminal import completions, highlighted, history_file

pexpect = pytest.importorskip("pexpect")
pytest.importorskip("prompt_toolkit")

ROOT = Path(__file__).parents[3]


READY = r"\x1b\[\?2004h"
"""The output of prompt_toolkit when it begins to read a line: pasted text is to be bracketed."""


class Terminal:
    """A person at a prompt."""

    def __init__(self, state: Path, **environment: str) -> None:
        env = {**os.environ, "TERM": "xterm", "XDG_STATE_HOME": str(state), "PROMPT_TOOLKIT_NO_CPR": "1", **environment}
        env.pop("NO_COLOR", None) if "NO_COLOR" not in environment else None
        arguments = ["-m", "shapes"]
        self.child = pexpect.spawn(sys.executable, arguments, cwd=str(ROOT), env=env, encoding="utf-8", timeout=300)
        self.child.setwinsize(40, 160)
        self.child.expect(READY)

    def say(self, text: str) -> str:
        """Type a line; the reply is all that is written until the next line is read."""
        self.child.send(text + "\r")
        self.child.expect(READY)
        return str(self.child.before)

    def leave(self) -> int:
        self.child.sendeof()
        self.child.expect(pexpect.EOF)
        self.child.close()
        return int(self.child.exitstatus)


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    opened = Terminal(tmp_path)
    yield opened
    opened.child.close(force=True)


def test_a_conversation(terminal: Terminal) -> None:
    """`shapes` answers a person who starts it."""
    terminal.say("sizes b s")
    terminal.say("assume s % 16 == 0")
    assert re.search("depends.*true at.*false at", terminal.say("(b*s) % 64 == 0 ?"))
    terminal.say("assume b % 4 == 0")
    assert re.search(r"\x1b\[[0-9;]*32malways.*because.*\[4\]", terminal.say("(b*s) % 64 == 0 ?"))
    assert "^" in terminal.say("assume b %")
    assert terminal.leave() == 0


def test_completion_and_history(terminal: Terminal, tmp_path: Path) -> None:
    """Tab completes, and the next prompt remembers the lines."""
    terminal.say("sizes batch")
    for keys, completed in (("ass\t", "ume"), (" bat\t", "ch")):
        terminal.child.send(keys)
        terminal.child.expect(completed)
    terminal.say(" > 3")
    assert "always" in terminal.say("batch > 2 ?")
    assert terminal.leave() == 0
    remembered = (tmp_path / "symshape" / "history").read_text()
    assert "assume batch > 3" in remembered
    again = Terminal(tmp_path)
    assert "error" in again.say("\x1b[A")  # the question again, in an environment that has no such symbol
    again.child.close(force=True)


def test_no_colours_for_those_who_say_so(tmp_path: Path) -> None:
    """NO_COLOR is obeyed."""
    terminal = Terminal(tmp_path, NO_COLOR="1")
    terminal.say("sizes s")
    shown = terminal.say("s >= 0 ?")
    assert "because" in shown
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]m", shown)
    terminal.child.close(force=True)


def test_interrupting_a_line_does_not_leave(terminal: Terminal) -> None:
    terminal.child.send("sizes x")
    terminal.child.expect("x")
    terminal.child.sendintr()
    terminal.child.expect(READY)
    terminal.say("sizes y")
    shown = terminal.say("facts")
    assert "y >= 0" in shown and "x >= 0" not in shown
    assert terminal.leave() == 0


def test_without_the_libraries_it_says_what_to_install(tmp_path: Path) -> None:
    """Without the libraries the prompt says what to install."""
    program = (
        "import importlib.util, sys\n"
        "find = importlib.util.find_spec\n"
        "gone = ('rich', 'prompt_toolkit')\n"
        "importlib.util.find_spec = lambda name, *rest: None if name in gone else find(name, *rest)\n"
        "from shapes.prompt.cli import main\n"
        "sys.exit(main([]))"
    )
    child = pexpect.spawn(sys.executable, ["-c", program], cwd=str(ROOT), encoding="utf-8", timeout=300)
    child.expect(r"pip install 'symshape\[prompt\]'")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 69


def test_completion_of_paths(tmp_path: Path) -> None:
    (tmp_path / "session.jsonl").touch()
    (tmp_path / "sessions").mkdir()
    assert completions(f"load {tmp_path}/ses", []) == [("session.jsonl", -3), ("sessions/", -3)]


@pytest.mark.parametrize(
    ("before", "words"),
    [
        ("", ["sizes", "s"]),
        ("g", ["guard", "guards"]),
        ("(s", ["s", "seq"]),
        ("symbol h l", ["lo="]),
        ("unbacked u h", ["hi="]),
        ("bounds mi", ["min("]),
        ("sizes s", []),
    ],
)
def test_completion(before: str, words: list[str]) -> None:
    """Tab offers exactly the words that fit."""
    found = [word for word, _ in completions(before, ["s", "seq"])]
    assert found == words or not before and set(words) < set(found)


def test_highlighting_keeps_the_text() -> None:
    """Highlighting keeps the text."""
    for text in ("assume s % 16 == 0", "", "  guards ", "assume assume", "é + 3s*s", "a__b(3)"):
        assert "".join(piece[1] for piece in highlighted(text, ["s", "b"])) == text


@pytest.mark.parametrize("state", ["", "relative"])
def test_history_lies_below_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, state: str) -> None:
    """The history is a private file below the home folder."""
    monkeypatch.setenv("XDG_STATE_HOME", state)
    monkeypatch.setenv("HOME", str(tmp_path))
    before = os.umask(0)
    try:
        found = history_file()
    finally:
        os.umask(before)
    assert found == tmp_path / ".local" / "state" / "symshape" / "history"
    assert found.stat().st_mode & 0o777 == 0o600 and found.parent.stat().st_mode & 0o777 == 0o700


def test_a_history_that_is_a_pipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A history that is a pipe does not block the prompt."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    (tmp_path / "symshape").mkdir()
    os.mkfifo(tmp_path / "symshape" / "history")
    assert history_file() is None
