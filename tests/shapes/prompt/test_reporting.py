"""`shapes report`: a recorded session as text and as HTML."""

from html.parser import HTMLParser
from pathlib import Path

import pytest

from shapes import ShapeEnv
from shapes.prompt import reporting
from shapes.prompt.cli import main


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    env = ShapeEnv(origin=lambda: None)
    path = tmp_path / "session.jsonl"
    stop = env.record(path)
    _, s = env.sizes("b s", hints=(4, 128))
    env.assume(s % 16 == 0)
    env.guard(s > 64)
    env.ask("s % 8 == 0")
    env.ask("(b*s) % 64 == 0")
    env.ask("s < 0")
    stop()
    return path


class Text(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.text = ""

    def handle_data(self, data: str) -> None:
        self.text += data


def test_what_was_known_and_asked(recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A report contains facts, guards and evidence."""
    assert main(["report", str(recording)]) == 0
    printed = capsys.readouterr().out
    for part in ("declared   0 <= b", "hint 128", "assumed    s % 16 == 0", "guard      s >= 65", "alone rejects"):
        assert part in printed
    assert "always    s % 8 == 0\n      because  s % 16 == 0 [4]\n" in printed
    assert "depends   (b*s) % 64 == 0" in printed or "depends   b*s % 64 == 0" in printed
    assert "true at " in printed and "false at " in printed and "never     s < 0" in printed


def test_the_page_has_the_same_text(recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The page for a browser has the same text, and no text of a session becomes markup."""
    main(["report", str(recording)])
    printed = capsys.readouterr().out
    assert main(["report", str(recording), "-o", str(tmp_path / "report.html")]) == 0
    written = (tmp_path / "report.html").read_text()
    reader = Text()
    reader.feed(written)
    assert written.startswith("<!doctype html>") and "<title>session.jsonl: session</title>" in written
    shown = [line.rstrip() for line in reader.text.splitlines() if line.strip()]
    assert shown[1:] == [line.rstrip() for line in printed.splitlines() if line.strip()]


@pytest.mark.parametrize(
    ("lines", "status", "part"),
    [
        (['{"op":"assume","prop":7}'], 65, "`prop` is 7, not text"),
        (['{"op":"assume","prop":"s > 5"}', '{"op":"assume","prop":"s < 3"}'], 0, "contradict each other"),
        (['{"op":"ask","prop":"s < <b>"}'], 0, "<b>"),
    ],
)
def test_sessions_that_are_wrong(
    lines: list[str], status: int, part: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    begun = ['{"op":"session","format":1,"name":"one"}', '{"op":"symbol","name":"s","kind":"backed","lo":0}']
    (tmp_path / "it").write_text("\n".join([*begun, *lines]))
    assert main(["report", str(tmp_path / "it")]) == status
    printed = capsys.readouterr()
    assert part in printed.out + printed.err, printed


def test_what_is_not_there(recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(tmp_path / "nothing")]) == 66
    assert main(["report", str(recording), "-o", str(tmp_path)]) == 66
    assert main(["report", str(recording), "--session", "other"]) == 64
    assert "no session of the name 'other'" in capsys.readouterr().err


def test_the_reader_of_the_output_may_leave(recording: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`shapes report ... | head` ends without an error. | head` ends with an error about the recording."""

    def left(page: object, stream: object) -> None:
        raise BrokenPipeError

    monkeypatch.setattr("shapes.prompt.reporting.show", left)
    with pytest.raises(BrokenPipeError):
        reporting.report_session(str(recording))
