"""Sessions on disk: what is written is read back, by this reader and by any other of the format."""

import gzip
import json
from pathlib import Path

import pytest

from shapes import Always, Depends, Never, ShapeEnv, ShapeError
from shapes.policies import torch_defaults
from shapes.sessions.recording import read_sessions

CORPUS = Path(__file__).parents[3] / "benchmarks" / "corpus"


def traced() -> ShapeEnv:
    env = ShapeEnv(policy=torch_defaults)
    b, s, t = env.sizes("b s t", hints=(1, 128, 128))
    env.add_source(s, "y.size(0)")
    env.assume("s % 16 == 0")
    n, d = env.symbol("n", hint=12), env.symbol("d", lo=None, hi=9, hint=4)
    env.guard(n // d == 3)
    u = env.unbacked("u0", lo=0, source="x.nonzero()")
    env.expect_true(u <= s, "more tokens than slots")
    env.rebind(env.unbacked("u1"), u + 1)
    env.guard(s * b > t - 1)
    return env


def lines(path: Path) -> list[dict[str, object]]:
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return [json.loads(line) for line in data.splitlines()]


def knowledge(env: ShapeEnv) -> list[tuple[str, str, str]]:
    facts = [event.fact for event in env.events if hasattr(event, "fact")]
    return [(fact.kind, str(fact.prop), str(fact.domain)) for fact in facts]


@pytest.mark.parametrize("name", ["session.jsonl", "session.jsonl.gz"])
def test_what_is_saved_is_loaded(tmp_path: Path, name: str) -> None:
    """A saved environment is loaded with the same facts, kinds, lines, sources and hints."""
    env = traced()
    env.save(tmp_path / name)
    again = ShapeEnv.load(tmp_path / name)
    assert knowledge(again) == knowledge(env)
    assert {str(atom): hint for atom, hint in again.hints.items()} == {
        str(atom): hint for atom, hint in env.hints.items()
    }
    assert again.sources("s") == env.sources("s") and again.policy is torch_defaults
    assert [(each.text, each.message) for each in again.runtime_asserts()] == [
        (each.text, each.message) for each in env.runtime_asserts()
    ]
    for mine, theirs in zip(env.guards(), again.guards(), strict=True):
        assert str(mine.prop) == str(theirs.prop) and mine.origin is not None and theirs.origin is not None
        assert (mine.origin.line, mine.origin.function) == (theirs.origin.line, theirs.origin.function)
    again.save(tmp_path / ("again-" + name))
    assert lines(tmp_path / ("again-" + name))[1:] == lines(tmp_path / name)[1:]


def test_a_failed_save_leaves_no_file(tmp_path: Path) -> None:
    """A failed save leaves no file."""
    with pytest.raises(OSError):
        traced().save(tmp_path / "no such folder" / "session.jsonl")
    assert list(tmp_path.iterdir()) == []


def test_saved_sessions_keep_to_the_format(tmp_path: Path) -> None:
    """Saved sessions keep to the format."""
    env = traced()
    env.save(tmp_path / "session.jsonl")
    first, *rest = lines(tmp_path / "session.jsonl")
    assert first["op"] == "session" and first["format"] == 1 and first["policy"] == "torch_defaults"
    needed = {"symbol": {"name", "kind", "hint", "lo", "hi", "source"}, "assume": {"prop", "why", "at"}}
    for line in rest:
        assert needed[str(line["op"])] <= set(line)
    domains = [line["prop"] for line in rest if line["op"] == "assume" and "//" in str(line["prop"])]
    assert domains and ShapeEnv().parse is not None


def test_a_domain_of_its_own_is_written_out(tmp_path: Path) -> None:
    """A fact saved with a domain of its own is loaded with it."""
    env = ShapeEnv()
    n, d = env.sizes("n d", hints=(12, 4))
    env.assume((n // d) * d - n + n % d == 0)
    env.save(tmp_path / "session.jsonl")
    again = ShapeEnv.load(tmp_path / "session.jsonl")
    assert isinstance(env.ask("d != 0"), Always) and isinstance(again.ask("d != 0"), Always)


@pytest.mark.parametrize("name", ["unbacked-framing", "opinfo-shape", "bert-train-inductor"])
def test_recorded_corpora_load(name: str) -> None:
    """Sessions recorded from real programs can be loaded."""
    path = CORPUS / f"{name}.jsonl.gz"
    env = ShapeEnv.load(path)
    last = [index for index, line in enumerate(lines(path)) if line["op"] == "session"][-1]
    session = lines(path)[last:]
    assert [event.name for event in env.events if type(event).__name__ == "Declared"] == [  # type: ignore[union-attr]
        line["name"] for line in session if line["op"] == "symbol"
    ]
    assert sum(line["op"] == "assume" for line in session) + len(env.names) == len(env.events)
    for line in session[-40:]:
        if line["op"] == "ask" and line["truth"] == "always":
            assert not isinstance(env.ask(str(line["prop"])), Never | Depends)


def test_mistakes_in_a_file_name_the_line(tmp_path: Path) -> None:
    """An error in a file names its line."""
    good = '{"op":"session","format":1,"name":"one"}\n'
    good += '{"op":"symbol","name":"s","kind":"backed","hint":4,"lo":0,"hi":null}\n'
    for bad in (
        '{"op":"assume","prop":"s > 9","why":"given"}',
        '{"op":"assume","prop":"t > 9","why":"given"}',
        "{",
        '{"op":"?"}',
    ):
        path = tmp_path / "bad.jsonl"
        path.write_text(good + bad + "\n")
        with pytest.raises(ShapeError) as caught:
            ShapeEnv.load(path)
        notes = " ".join(getattr(caught.value, "__notes__", []))
        assert "bad.jsonl:3" in str(caught.value) + notes
    path.write_text(good)
    with pytest.raises(ShapeError, match="one"):
        ShapeEnv.load(path, name="two")


def replayed(path: Path) -> list[tuple[str, str]]:
    """Question and answer of every `ask` line, asked again by a reader that knows only the format."""
    answers = []
    for session in read_sessions((json.dumps(line) + "\n").encode() for line in lines(path)):
        env = ShapeEnv(policy=ShapeEnv().policy)
        for line in session.lines:
            match type(line).__name__:
                case "SymbolLine":
                    env.restore_symbol(line.name, "backed", line.lo, line.hi, None, None, None)  # type: ignore[union-attr]
                case "FactLine":
                    env.restore_fact(line.text, line.kind, "", None)  # type: ignore[union-attr]
                case "QuestionLine":
                    answers.append((line.text, type(env.ask(line.text)).__name__))  # type: ignore[union-attr]
                case _:
                    pytest.fail(str(line))
    return answers


def test_a_recording_replays_to_the_same_answers(tmp_path: Path) -> None:
    """A recording replays to the same answers, rolled-back stretches included."""
    env = ShapeEnv()
    b, s = env.sizes("b s", hints=(4, 128))
    path = tmp_path / "stream.jsonl.gz"
    with env.record(path) as recording:
        for _ in range(3):
            env.ask("s % 8 == 0")
        env.assume("s % 16 == 0")
        env.ask("s % 8 == 0")
        with env.speculate():
            env.guard(b > 3)
            env.symbol("h", hint=5)
            env.ask("b > 3 and h >= 0")
        env.ask(b > 3)
        if s > 64:
            env.ask(s >= 65)
        with env.speculate():
            env.ask(b == 4)
        with env.hypothesis("b > 100"):
            env.ask("b > 99")
        env.ask("b > 99")
    recording.close()
    env.ask("b > 98")
    written = lines(path)
    asked = [(line["prop"], line["count"], line["truth"], line["commits"]) for line in written if line["op"] == "ask"]
    assert asked == [
        ("s % 8 == 0", 3, "depends", False),
        ("s % 8 == 0", 1, "always", False),
        ("b >= 4", 1, "depends", True),
        ("b > 3 and h >= 0", 1, "always", False),
        ("b >= 4", 1, "depends", False),
        ("s >= 65", 1, "depends", True),
        ("s >= 65", 1, "always", False),
        ("b == 4", 1, "depends", False),
        ("b > 99", 1, "always", False),
        ("b > 99", 1, "depends", False),
    ]
    words = {"Always": "always", "Never": "never", "Depends": "depends", "GaveUp": "unknown"}
    assert [(text, words[answer]) for text, answer in replayed(path)] == [(text, truth) for text, _, truth, _ in asked]
    marks = [line["rolled_back"] for line in written if "rolled_back" in line]
    assert len(marks) == 2, "the speculation and the hypothesis; one stretch committed to nothing"
    first, last = marks[0]  # type: ignore[misc]
    assert [line["op"] for line in written[first - 1 : last]] == ["assume", "symbol", "ask"]
    assert all("test_session.py:" in str(line["at"]) for line in written if line["op"] == "ask")


def test_loading_a_recording_gives_what_stood_at_its_end(tmp_path: Path) -> None:
    """Loading a recording restores the facts that stood at its end."""
    env = ShapeEnv()
    b = env.symbol("b", hint=4)
    with env.record(tmp_path / "stream.jsonl"):
        with env.speculate():
            env.guard(b > 3)
        env.guard(b > 1)
    assert knowledge(ShapeEnv.load(tmp_path / "stream.jsonl")) == knowledge(env)
