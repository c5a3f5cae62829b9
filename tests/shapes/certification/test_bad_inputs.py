"""Broken, empty, mistyped and foreign inputs of `certify`: none is proven.

Each row is a file and the arguments; `test_torch_logs.py` has what is right and wrong with logs of torch.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

import pytest

from shapes.prompt.cli import main

GUARDS: Final = b"s0 <= 64\ns0 % 8 == 0\n"
PREFIX: Final = "V1128 13:30:29.095000 133 torch/_dynamo/guards.py:4483] [0/0] [__guards] "
TREE: Final = ["TREE_GUARD_MANAGER:", "+- RootGuardManager", "| +- LAMBDA_GUARD: 5 <= L['x'].size()[0]"]


def log(*lines: str) -> bytes:
    """Lines as torch logs them."""
    return "".join(f"{PREFIX}{line}\n" for line in lines).encode()


def archive(name: str, contents: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as written:
        written.writestr(name, contents)
    return file.getvalue()


PACKED: Final = gzip.compress(b'{"session": "s", "format": 1}\n' * 50)
UNREAD, UNKNOWN, USAGE = {65}, {2}, {64}
EMPTY: Final[dict[str, bytes]] = {
    "empty": b"",
    "newline": b"\n",
    "blanks": b"   \n\t\n",
    "comments": b"# s0 <= 64\n# s1 > 2\n",
    "mark alone": b"\xef\xbb\xbf",
    "mark and comment": b"\xef\xbb\xbf# nothing\n",
    "utf-16 comment": "# nothing\n".encode("utf-16"),
    "carriage returns": b"\r\n\r\n",
}
BROKEN: Final[dict[str, bytes]] = {
    "zeros": b"\0" * 64,
    "a zero": b"s0 <= 64\n\0\n",
    "latin-1": b"s0 <= 64 # na\xefve\n",
    "utf-16 torn": b"\xff\xfes",
    "gzip header": b"\x1f\x8b",
    "gzip torn": PACKED[: len(PACKED) // 2],
    "gzip without its sum": PACKED[:-4],
    "gzip with a wrong sum": PACKED[:-8] + b"\0" * 8,
    "gzip of nothing": gzip.compress(b""),
    "archive": archive("guards.txt", GUARDS),
    "archive torn": archive("guards.txt", GUARDS)[:20],
    "record torn": b'{"op": "session"',
    "record of something else": b'{"model": "bert"}\n',
    "empty object": b"{}\n",
}
FOREIGN: Final[dict[str, bytes]] = {
    "program": b"def f(x):\n    return x + 1\n",
    "prose": b"The guards of this model hold.\n",
    "markup": b"<html><body>404</body></html>\n",
    "yaml": b"s0: 64\ns1: 16\n",
    "table": b"name,low,high\ns0,1,64\n",
    "list": b"[1, 2, 3]\n",
    "traceback": b"Traceback (most recent call last):\n  File 'x.py'\nValueError: no such size\n",
    "assignment": b"s0 = 64\n",
    "arrow": b"s0 -> 64\n",
    "unclosed": b"(s0 <= 64\n",
    "an expression": b"s0 + 1\n",
    "a float": b"s0 <= 64.5.1\n",
    "unknown function": b"foo(s0) == 1\n",
    "attribute": b"L['x'].dtype == torch.float32\n",
    "two lines in one": b"s0 <= 64 s1 <= 64\n",
    "a good and a bad line": b"s0 <= 64\nfoo bar\n",
}
LOGS: Final[dict[str, bytes]] = {
    "list breaks off": log(*TREE),
    "unknown kind": log(*TREE, "| +- QUANTUM_MATCH: L['x']", ""),
    "a line that is no guard": log(*TREE, "something else", ""),
    "lambda without text": log(*TREE, "| +- LAMBDA_GUARD: ", ""),
    "tensor without sizes": log(*TREE, "| +- TENSOR_MATCH: check_tensor(L['x'], Tensor, ...", ""),
    "begun again": log(*TREE, *TREE),
    "a guard not understood": log(*TREE, "| +- LAMBDA_GUARD: g(L['x'].size()[0]) == 1", ""),
    "no list": log("Recompiling function f in m.py:3", "    - 0/0: L['x'].size()[0] == 8"),
}
HEADER: Final = (
    b'{"op": "session", "format": 1, "name": "one", "producer": "symshape 0.1.0", "policy": "unspecialized"}\n'
)
SIZE: Final = b'{"op": "symbol", "name": "s", "kind": "backed", "hint": 8, "lo": 0, "hi": null, "source": null}\n'
GUARD: Final = b'{"op": "assume", "prop": "s >= 0", "why": "guard"}\n'
SESSIONS: Final[dict[str, bytes]] = {
    "session with a broken line": HEADER + SIZE + GUARD + b'{"op": "assume"\n',
    "session with an unknown line": HEADER + SIZE + GUARD + b'{"op": "promise", "prop": "s <= 64"}\n',
    "session of another format": HEADER.replace(b'"format": 1', b'"format": 9') + SIZE + GUARD,
}
UNREAD_SESSIONS: Final[dict[str, bytes]] = {
    "session without guards": HEADER + SIZE,
    "two sessions": HEADER + SIZE + GUARD + HEADER.replace(b"one", b"two") + SIZE + GUARD,
}
OTHER_LOGS: Final[dict[str, bytes]] = {
    "no guard": log("produced no guards"),
    "list of nothing": log("TREE_GUARD_MANAGER:", "+- RootGuardManager", ""),
}
MISTYPED: Final[list[list[str]]] = [
    ["--range", "s9=1..64"],
    ["--range", "S0=1..64"],
    ["--range", "s0=8:16384"],
    ["--range", "s0=1..64", "--range", "s0=1..32"],
    ["--range", "s0=1..64", "--range", "s0=100..200"],
    ["--range", "s0=-4..64"],
    ["--range", "s0=-1"],
    ["--range", "s0=64..1"],
    ["--range", "s0=1..7:8"],
    ["--range", "s0=1..64:0"],
    ["--range", "s0"],
    ["--range", "=1..64"],
    ["--range", "s0=one..64"],
    ["--range", "s0=1..64..128"],
    ["--fact", "s9 == 8"],
    ["--fact", "s0 = 8"],
    ["--fact", ""],
    ["--format", "xml"],
    ["--no-such-option"],
]


def status_of(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> int:
    try:
        status = main(["certify", *arguments])
    except SystemExit as stopped:
        status = stopped.code if isinstance(stopped.code, int) else 1
    said = capsys.readouterr()
    assert "Traceback" not in said.err
    assert said.out or said.err
    return status


@pytest.mark.parametrize(
    ("contents", "expected"),
    [
        *[pytest.param(each, UNREAD, id=name) for name, each in {**EMPTY, **BROKEN}.items()],
        *[pytest.param(each, UNKNOWN, id=name) for name, each in {**FOREIGN, **LOGS, **SESSIONS}.items()],
        *[pytest.param(each, UNREAD, id=name) for name, each in {**OTHER_LOGS, **UNREAD_SESSIONS}.items()],
    ],
)
def test_no_file_without_understood_guards_is_proven(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], contents: bytes, expected: set[int]
) -> None:
    """A guard that was not read is neither proven nor refuted, even where the ranges leave one size."""
    name = "guards.jsonl.gz" if contents.startswith(b"\x1f\x8b") else "guards.txt"
    (tmp_path / name).write_bytes(contents)
    # in these ranges the guards that are understood hold
    ranges = ["--range", "s0=8..64"] if contents.startswith(b"s0 <= 64\nfoo") else []
    if expected == UNKNOWN and b"L['x'].size()[0]" in contents:
        ranges = ["--range", "x.shape[0]=8"]
    assert status_of([str(tmp_path / name), *ranges], capsys) in expected


@pytest.mark.parametrize("arguments", MISTYPED, ids=" ".join)
def test_mistyped_assumptions_are_bad_usage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    path = tmp_path / "guards.txt"
    path.write_bytes(GUARDS)
    assert status_of([str(path), *arguments], capsys) in USAGE


def test_files_that_are_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert status_of([str(tmp_path / "none.txt")], capsys) == 66
    assert status_of([str(tmp_path)], capsys) == 65


def run(arguments: list[str], contents: bytes, **options: object) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "shapes", "certify", *arguments]
    return subprocess.run(command, input=contents, check=False, **options)  # type: ignore[call-overload, no-any-return]


@pytest.mark.parametrize("name", ["-", "/dev/stdin"])
@pytest.mark.parametrize("change", [bytes, lambda text: b"\xef\xbb\xbf" + text, gzip.compress])
def test_guards_from_a_pipe(name: str, change: Callable[[bytes], bytes]) -> None:
    """A byte order mark and compression make no difference."""
    done = run([name, "--range", "s0=8..64:8"], change(GUARDS), capture_output=True)
    assert done.returncode == 0 and b"2 proven, 0 refuted, 0 unknown" in done.stdout, done


def test_a_reader_that_has_gone_leaves_the_status() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = run(["-", "--range", "s0=1..100"], GUARDS, stdout=writing, stderr=subprocess.PIPE)
    finally:
        os.close(writing)
    assert done.returncode == 1 and not done.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the system has no /dev/full")
def test_a_full_disk_is_no_refutation() -> None:
    with open("/dev/full", "wb") as full:
        done = run(["-", "--range", "s0=8..64:8"], GUARDS, stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 74 and b"could not be written" in done.stderr and b"Traceback" not in done.stderr


def test_the_formats(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """SARIF and JUnit count what the text counts."""
    path = tmp_path / "guards & more.txt"
    path.write_bytes(GUARDS + b"foo(s0) < 1\n")
    arguments = ["certify", str(path), "--range", "s0=8..128:8", "--format"]
    assert main([*arguments, "sarif"]) == 1
    found = json.loads(capsys.readouterr().out)
    results = found["runs"][0]["results"]
    assert found["version"] == "2.1.0" and [each["level"] for each in results] == ["error", "warning"]
    assert [each["locations"][0]["physicalLocation"]["region"]["startLine"] for each in results] == [1, 3]
    assert main([*arguments, "junit"]) == 1
    suite = ElementTree.fromstring(capsys.readouterr().out)
    assert {name: suite.get(name) for name in ("tests", "failures", "errors")} == {
        "tests": "3",
        "failures": "1",
        "errors": "1",
    }
    assert suite.get("name") == str(path)
    assert main([*arguments, "json"]) == 1
    counts = json.loads(capsys.readouterr().out)["counts"]
    assert counts == {"read": 3, "understood": 2, "proven": 1, "refuted": 1, "unknown": 1}
