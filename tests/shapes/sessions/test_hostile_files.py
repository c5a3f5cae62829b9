"""Recordings that were cut, damaged or made to do harm: one error with file and line, within bounded memory."""

import gzip
import io
import json
import os
import tracemalloc
from pathlib import Path

import pytest

from shapes import ShapeEnv, ShapeError
from shapes.prompt.cli import main
from shapes.prompt.page import text_of_page
from shapes.prompt.session import Session
from shapes.sessions import recording
from shapes.sessions.recording import FaultyLine, read_sessions, unpacked
from shapes.sessions.replay import replay_session
from tests.shapes.sessions.damage import damaged, session

HEADER = '{"op":"session","format":1,"name":"one"}'
SYMBOL = '{"op":"symbol","name":"s","kind":"backed","hint":4,"lo":0,"hi":null,"source":null}'


def changed(key: str, value: str, line: str = SYMBOL) -> str:
    """The line with another text as the value of a key."""
    return json.dumps({**json.loads(line), key: "@"}).replace('"@"', value)


def assumed(prop: str) -> str:
    return json.dumps({"op": "assume", "prop": prop, "why": "given"})


MALFORMED = [
    ("{", "not JSON"),
    ("[" * 100_000, "nested too deeply"),
    ('{"op":' * 100_000, "nested too deeply"),
    ("[" + "[]," * 2_000_000 + "[]]", "values in a line"),
    ("[]", "not a JSON object"),
    ('{"op":"assume"}', "`prop` is None"),
    ('{"op":"?"}', "`op` is '?'"),
    ('{"op":{}}', "`op` is an object"),
    (changed("name", "3"), "`name` is 3"),
    (changed("name", '"\\ud800"'), "not JSON"),
    (changed("name", '"a\\u0000b"'), "not an identifier"),
    (changed("name", '"s t"'), "`name` is 's t', not an identifier"),
    (changed("lo", "NaN"), "NaN is not a number"),
    (changed("lo", "-Infinity"), "-Infinity is not a number"),
    (changed("lo", "1.0"), "`lo` is 1.0"),
    (changed("lo", "true"), "`lo` is True"),
    (changed("lo", "9" * 500_000), "an integer of 500,000 digits"),
    (changed("hi", '"9"'), "`hi` is '9'"),
    (changed("hint", "[]"), "`hint` is a list"),
    (changed("kind", '"maybe"'), "`kind` is 'maybe'"),
    (changed("kind", "null"), "`kind` is None"),
    (changed("source", "7"), "`source` is 7"),
    (changed("sources", '[7]'), "`sources` is a list, not a list of texts"),
    (changed("at", "[]"), "`at` is a list"),
    (SYMBOL[:-1] + ',"lo":1}', "the key 'lo' is there twice"),
    (assumed("t > 9"), "unknown name `t`"),
    (assumed("s > "), "expected a value"),
    (assumed("s == ²"), "found `²`"),
    (assumed("s > \0"), "found"),
    (assumed("2**(10**9) > s"), "the exponent is too large"),
    (assumed("9**9**9 > s"), "the exponent is too large"),
    (assumed("floor(1e999999999) > s"), "decimal of more than"),
    (assumed("double(2**70) > 1.0"), "`double` is about"),
    (assumed("s > " + "9" * 500_000), "an integer of 500,000 digits"),
    (assumed("s > 0 " + "and s > 0 " * 200_000), "a text of 2,"),
    (assumed("(" * 200_000 + "s"), "nested more than"),
    (changed("why", '"hope"', assumed("s > 1")), "`why` is 'hope'"),
    (changed("as", '"fact"', assumed("s > 1")), "`as` is 'fact'"),
    (changed("message", "1", assumed("s > 1")), "`message` is 1"),
]


@pytest.mark.parametrize(("line", "message"), MALFORMED, ids=range(len(MALFORMED)))
def test_a_malformed_line_is_one_error_for_both_readers(tmp_path: Path, line: str, message: str) -> None:
    """A malformed line is the same error with its line number for both readers."""
    path = tmp_path / "bad.jsonl"
    declared = [] if '"symbol"' in line else [SYMBOL]
    path.write_text("\n".join([HEADER, *declared, line]))
    number = 2 + len(declared)
    with pytest.raises(ShapeError) as caught:
        ShapeEnv.load(path)
    assert str(caught.value).startswith(f"{path}:{number}: ") and message in str(caught.value)
    assert len(str(caught.value)) < 1500
    with path.open("rb") as file:
        (found,) = read_sessions(file)
    replay = replay_session(found.lines, solvers=False, decimals=found.decimals)
    assert [(fault.number, message in fault.message) for fault in replay.faults] == [(number, True)]
    assert not replay.errors


def test_a_symbol_without_values_is_an_error_where_it_is_loaded(tmp_path: Path) -> None:
    """A symbol without values is an error when it is loaded; a replay reports it as a contradiction."""
    path = tmp_path / "bad.jsonl"
    for key, value, message in (("hi", "-1", "lo=0, hi=-1"), ("hint", "-1", "hint=-1: outside s >= 0")):
        path.write_text("\n".join([HEADER, changed(key, value)]))
        with pytest.raises(ShapeError, match=rf"bad\.jsonl:2: {message}"):
            ShapeEnv.load(path)


HEADERS = [
    ('{"op":"session","format":2,"name":"one"}', "format 2, but this reads 1"),
    ('{"op":"session","format":true,"name":"one"}', "format True"),
    ('{"op":"session","format":"1","name":"one"}', "format '1'"),
    ('{"op":"session","name":"one"}', "format None"),
    ('{"op":"session","format":1,"name":[]}', "`name` is a list"),
    ('{"op":"session","format":1,"name":"one","policy":{}}', "`policy` is an object"),
    (SYMBOL, "begins with a `session` line"),
]


@pytest.mark.parametrize(("header", "message"), HEADERS)
def test_a_header_that_is_not_understood(tmp_path: Path, header: str, message: str) -> None:
    """A file of another format is refused."""
    path = tmp_path / "other.jsonl"
    path.write_text(header + "\n" + SYMBOL)
    with pytest.raises(ShapeError, match=r"other\.jsonl:1: ") as caught:
        ShapeEnv.load(path)
    assert message in str(caught.value)
    with path.open("rb") as file:
        assert message in next(iter(read_sessions(file))).lines[0].message  # type: ignore[union-attr]


def members(count: int) -> bytes:
    """A file of some hundred kilobytes that unpacks to so many megabytes of one line."""
    return gzip.compress(b'{"op":"' + b" " * (1 << 20), mtime=0) * count


PACKED = {
    "cut": (gzip.compress(session())[:-9], "breaks off"),
    "half": (gzip.compress(session())[:60], "breaks off"),
    "garbage behind": (gzip.compress(session()) + b"garbage", "breaks off"),
    "no deflate": (b"\x1f\x8b\x08\x00" + b"\xff" * 100, "breaks off"),
    "another method": (b"\x1f\x8b\x07\x00" + b"\x00" * 100, "breaks off"),
    "wrong sum": (gzip.compress(session())[:-8] + b"\x00" * 8, "breaks off"),
    "packed twice": (gzip.compress(gzip.compress(session())), "not JSON"),
    "not packed": (b"\x80\x04\x95 a pickle, say", "not JSON"),
    "other letters": (session().decode().encode("utf-16"), "not JSON"),
    "bomb": (members(100), "a line of more than 64 MiB"),
    "many lines": (gzip.compress((HEADER + "\n").encode() + b" \n" * (1 << 18)) , "no session of this name"),
}


@pytest.mark.parametrize("name", PACKED)
def test_a_damaged_file_is_one_error(tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A truncated download, or a file that unpacks to gigabytes, is one error."""
    data, message = PACKED[name]
    path = tmp_path / "damaged.jsonl.gz"
    path.write_bytes(data)
    if name == "many lines":
        assert not ShapeEnv.load(path).events
        return
    tracemalloc.start()
    try:
        with pytest.raises(ShapeError, match=r"damaged\.jsonl\.gz:\d+: ") as caught:
            ShapeEnv.load(path)
        assert tracemalloc.get_traced_memory()[1] < 3 * recording.LONGEST_LINE
    finally:
        tracemalloc.stop()
    assert message in str(caught.value)
    assert main(["replay", "--no-solver", str(path)]) == 65
    assert message in capsys.readouterr().err


def test_a_session_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A session, which is kept as a whole, is bounded in memory."""
    monkeypatch.setattr(recording, "LONGEST_SESSION", 1 << 16)
    question = b'{"op":"ask","prop":"s > 0"}\n'
    for filler in (question, b"\n"):
        path = tmp_path / "long.jsonl.gz"
        path.write_bytes(gzip.compress(f"{HEADER}\n{SYMBOL}\n".encode() + filler * 100_000))
        with pytest.raises(ShapeError, match="a session of more than"):
            ShapeEnv.load(path)
    several = f"{HEADER}\n{SYMBOL}\n".encode() + question * 1000
    path.write_bytes(gzip.compress(several * 10))
    assert len(ShapeEnv.load(path).names) == 1


def test_what_is_no_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A FIFO or a device is refused, without waiting."""
    os.mkfifo(tmp_path / "fifo")
    for path, message in (
        (tmp_path / "fifo", "Is a FIFO, not a file"),
        (tmp_path, "Is a directory, not a file"),
        (Path("/dev/zero"), "Is a device, not a file"),
        (tmp_path / "nothing", "No such file"),
        (tmp_path / "nothing\0", "no file has such a name"),
    ):
        with pytest.raises(OSError, match=message):
            ShapeEnv.load(path)
        assert main(["replay", "--no-solver", str(path)]) == 66
        assert message in capsys.readouterr().err


def test_an_empty_file_has_no_session(tmp_path: Path) -> None:
    """An empty file has no session."""
    for data in (b"", b"\n\n", gzip.compress(b"")):
        (tmp_path / "empty").write_bytes(data)
        with pytest.raises(ShapeError, match="has no session"):
            ShapeEnv.load(tmp_path / "empty")


def test_a_failed_load_leaves_the_prompt_as_it_was(tmp_path: Path) -> None:
    """A failed load leaves the prompt as it was."""
    path = tmp_path / "bad.jsonl"
    path.write_text("\n".join([HEADER, SYMBOL, assumed("s > 3"), assumed("t > 3")]))
    prompt = Session()
    for line in ("sizes b", "assume b % 4 == 0"):
        assert prompt.run(line).ok
    env, before = prompt.env, list(prompt.env.events)
    for name in (str(path), str(tmp_path), str(tmp_path / "none"), "a\0b", ""):
        reply = prompt.run(f"load {name}")
        assert not reply.ok and "Traceback" not in text_of_page(reply.page)
        assert prompt.env is env and list(env.events) == before
    assert f"{path}:4" in text_of_page(prompt.run(f"load {path}").page)
    assert "always" in text_of_page(prompt.run("b % 2 == 0 ?").page)


def look(data: bytes, path: Path) -> str:
    """The outcome for a damaged recording: read by both readers, the kind of error of the first."""
    path.write_bytes(data)
    try:
        found = "loaded " + str(len(ShapeEnv.load(path).events))
    except (ShapeError, OSError) as error:
        found = type(error).__name__
        str(error).encode()
        assert str(path) in str(error)
    for each in read_sessions(unpacked(io.BufferedReader(io.BytesIO(data)))):
        replay = replay_session(each.lines, solvers=False, decimals=each.decimals)
        assert not replay.errors
        for fault in [*replay.faults, *[line for line in each.lines if isinstance(line, FaultyLine)]]:
            fault.message.encode()
            assert len(fault.message) < 1500
    return found


def test_random_damage(tmp_path: Path) -> None:
    """Randomly damaged files end in no traceback."""
    found = [look(damaged(seed), tmp_path / "damaged") for seed in range(200)]
    assert {"ShapeError", "ParseError"} <= set(found) and any(each.startswith("loaded") for each in found)


@pytest.mark.thorough
def test_random_damage_for_long(tmp_path: Path) -> None:
    """The rest of `test_random_damage`."""
    for seed in range(200, 10_000):
        look(damaged(seed), tmp_path / "damaged")
