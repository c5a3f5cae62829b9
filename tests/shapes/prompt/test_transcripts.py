"""Transcripts and saved sessions as tests."""

import io
from pathlib import Path

import pytest

from shapes.prompt.page import text_of_page
from shapes.prompt.session import Session
from shapes.prompt.terminal import carry_out
from shapes.prompt.transcripts import run_transcripts

SCRIPT = "sizes b s\n# a remark\nassume s % 16 == 0\n(b*s) % 64 == 0 ?\nassume s > 3 +\nb*s\nwhy\n"


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    output = io.StringIO()
    assert carry_out(io.StringIO(SCRIPT), output, echo=True) == 1
    path = tmp_path / "transcript.txt"
    path.write_text(output.getvalue())
    return path


def test_what_was_echoed_is_what_happens(transcript: Path) -> None:
    assert "[3] > (b*s) % 64 == 0 ?\ndepends" in transcript.read_text()
    assert run_transcripts([str(transcript)]) == 0


def test_another_answer_is_told(transcript: Path, capsys: pytest.CaptureFixture[str]) -> None:
    transcript.write_text(transcript.read_text().replace("depends ", "always "))
    assert run_transcripts([str(transcript)]) == 1
    told = capsys.readouterr().out
    assert f"{transcript}:4: (b*s) % 64 == 0 ?" in told and "1 of 7 differ" in told


def test_a_page_in_markdown_is_a_transcript(transcript: Path) -> None:
    text = f"# A page\n\nSome words.\n\n```text\n{transcript.read_text()}```\n\nMore words.\n"
    transcript.write_text(text)
    assert run_transcripts([str(transcript)]) == 0


def test_a_saved_session_is_a_test(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved = tmp_path / "saved.jsonl"
    session = Session()
    for each in ("sizes s", "assume s > 4", "s > 3 ?", "s > 9 ?", f"save {saved}"):
        assert session.run(each).ok, text_of_page(session.run(each).page)
    assert run_transcripts([str(saved)]) == 0
    saved.write_text(saved.read_text().replace('"truth": "always"', '"truth": "never"'))
    assert run_transcripts([str(saved)]) == 1
    assert "it was never, and is always" in capsys.readouterr().out


@pytest.mark.parametrize(("content", "status"), [("", 65), ("sizes s\n", 65), (None, 66)])
def test_a_file_without_answers_passes_no_test(tmp_path: Path, content: str | None, status: int) -> None:
    path = tmp_path / "transcript.txt"
    if content is not None:
        path.write_text(content)
    assert run_transcripts([str(path)]) == status


def test_a_script_whose_facts_contradict_each_other_has_a_status_of_its_own() -> None:
    assert carry_out(["sizes s", "assume s > 3", "assume s < 2"], io.StringIO()) == 4
    assert carry_out(["sizes s", "assume s > 3 +", "assume s < 2"], io.StringIO()) == 1
