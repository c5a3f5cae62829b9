"""`shapes report`: a recorded session as text and as HTML."""

from pathlib import Path

import pytest

from shapes import ShapeEnv
from shapes.prompt import reporting
from shapes.prompt.cli import main
from tests.shapes.reports.reading import read_page


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


def test_what_was_known_and_asked(recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A report contains facts, guards and evidence."""
    assert main(["report", str(recording)]) == 0
    printed = capsys.readouterr().out
    for part in ("declared   0 <= b", "hint 128", "assumed    s % 16 == 0", "guard      s >= 65", "alone rejects"):
        assert part in printed
    assert "always    s % 8 == 0\n      because  s % 16 == 0 [4]\n" in printed
    assert "depends   (b*s) % 64 == 0" in printed or "depends   b*s % 64 == 0" in printed
    assert "true at " in printed and "false at " in printed and "never     s < 0" in printed


def test_the_page_has_the_same_entries(recording: Path, tmp_path: Path) -> None:
    """The page lacks a fact, a guard with its witness, or a question with its evidence, or has the wrong title."""
    assert main(["report", str(recording), "-o", str(tmp_path / "report.html")]) == 0
    found = read_page(tmp_path / "report.html")
    assert found.title == "session.jsonl: session"
    words = [" ".join(each.words.split()).removeprefix("# ") for each in found.entries]
    assert {"declared 0 <= b hint 4", "declared 0 <= s hint 128", "stated s % 16 == 0"} <= set(words)
    assert any(each.startswith("guard depends s >= 65 only it rejects ") for each in words)
    assert "question always s % 8 == 0 because s % 16 == 0 [4]" in words
    both = [each for each in words if each.startswith("question depends") and "64 == 0 holds at" in each]
    assert both and "fails at" in both[0]
    assert "question never s < 0 because s >= 65 [6]" in words
    (section,) = found.sections
    assert section.startswith("session: 4 facts, 4 questions (2 depends, 1 always, 1 never)")


def test_a_session_becomes_no_markup(tmp_path: Path) -> None:
    """Text of a session is read as HTML."""
    begun = ['{"op":"session","format":1,"name":"<i>"}', '{"op":"symbol","name":"s","kind":"backed","lo":0}']
    (tmp_path / "it").write_text("\n".join([*begun, '{"op":"ask","prop":"s < <i>\\"\'</script>"}']))
    main(["report", str(tmp_path / "it"), "-o", str(tmp_path / "it.html")])
    found = read_page(tmp_path / "it.html")
    assert found.title == "it: <i>" and "i" not in found.tags
    assert any("s < <i>\"'</script>" in each.words for each in found.entries)


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
