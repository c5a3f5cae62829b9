"""Inputs of `certify` that are broken, empty, mistyped or foreign: none is proven, and none ends in a traceback."""

import gzip
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from shapes.certification.guard_files import read_guards
from shapes.prompt.cli import main

ROOT = Path(__file__).parents[3]
TREE = """V1128 13:30:29.095000 133 torch/_dynamo/guards.py:4483] [0/0] [__guards] TREE_GUARD_MANAGER:
V1128 13:30:29.095000 133 torch/_dynamo/guards.py:4483] [0/0] [__guards] +- RootGuardManager
V1128 13:30:29.095000 133 torch/_dynamo/guards.py:4483] [0/0] [__guards] | +- TYPE_MATCH: ___check_type_id(L['x'], 9)
V1128 13:30:29.095000 133 torch/_dynamo/guards.py:4483] [0/0] [__guards] +- LAMBDA_GUARD: 5 <= L['x'].size()[0]
V1128 13:30:29.095000 133 torch/_dynamo/guards.py:4483] [0/0] [__guards] \n"""
SESSION = (
    '{"op": "session", "format": 1, "name": "one", "producer": "symshape 0.1.0", "policy": "unspecialized"}\n'
    '{"op": "symbol", "name": "s", "kind": "backed", "hint": 8, "lo": 0, "hi": null, "source": null}\n'
)
GUARD = '{"op": "assume", "prop": "s <= 64", "why": "guard"}\n'

UNREAD = {
    "empty": "",
    "spaces": " \n\n\t\n",
    "comments": "# s0 <= 64\n# s1 <= 64\n",
    "a session without guards": SESSION,
    "an empty object": "{}\n",
    "two sessions": SESSION + GUARD + SESSION.replace("one", "two") + GUARD,
    "binary": b"\x80\x81\x82 s0 <= 64",
    "zeros": b"\0" * 64,
    "an archive": b"PK\x03\x04 s0 <= 64",
    "a broken archive": gzip.compress(b"s0 <= 64\n" * 999)[:40],
    "a log without guards": "I1128 13:30:26.688000 133 torch/fx/symbolic_shapes.py:4058] [0/0] create_env\n",
}
NOT_PROVEN = {
    "prose": "The model accepts sizes of up to 64.\n",
    "python": "import torch\n\ndef f(x):\n    return x\n",
    "json": '[{"guard": "s0 <= 64"}]\n',
    "yaml": "guards:\n  - s0 <= 64\n",
    "csv": "name,lo,hi\ns0,1,64\n",
    "an equality sign": "s0 = 64\n",
    "half a guard": "s0 <=\n",
    "an unknown function": "torch._check(s0 <= 64)\n",
    "a number": "64\n",
    "a guard that fails": "s0 <= 32\n",
    "a guard on another size": "s0 <= 64\ns1 <= 64\n",
    "one of two not understood": "s0 <= 64\ns0 ~= 64\n",
    "a name without a value": "s0\n",
    "an html page": "<!doctype html>\n<p>s0 &lt;= 64</p>\n",
    "a session with a broken line": SESSION + GUARD.replace("64", "9999999") + '{"op": "assume"\n',
    "a session that is cut": SESSION + GUARD[:30],
    "a session with an unknown line": SESSION + '{"op": "promise", "prop": "s <= 64"}\n',
    "another format": SESSION.replace('"format": 1', '"format": 9') + GUARD,
    "a log that breaks off": TREE.rsplit("\n", 2)[0],
    "a log with an unknown kind": TREE.replace("TYPE_MATCH", "MOON_PHASE"),
    "a log with a guard cut off": TREE.replace("5 <= L['x'].size()[0]", "5 <= L['x'].si"),
    "a log with half a line": TREE[:-130],
    "a log of another logger": TREE.replace("LAMBDA_GUARD: 5 <= L['x'].size()[0]", "LAMBDA_GUARD:"),
    "only failed guards": "V1128 13:30:29.242000 1 torch/_dynamo/guards.py:1] [0/1] [__recompiles] "
    "    - 0/0: 1 <= x.size()[0]\n",
    "only added guards": "I1128 13:30:26.9 1 torch/symbolic_shapes.py:8] [0/0] eval s77 >= 0 [guard added] x.view\n",
}
ARGUMENTS = {
    "a mistyped range": ["--range", "so=1..64"],
    "a range of a size that there is not": ["--range", "s0=1..64", "--range", "s7=1..64"],
    "a size with a multiple": ["--range", "s0=8:16384"],
    "a negative size": ["--range", "s0=-4..64"],
    "a negative upper end": ["--range", "s0=..-1"],
    "an empty range": ["--range", "s0=64..1"],
    "two ranges": ["--range", "s0=1..64", "--range", "s0=1..32"],
    "two spellings of one size": ["--range", "x.0=1..64", "--range", "x.shape[0]=1..32"],
    "a range without ends": ["--range", "s0="],
    "a range of one dot": ["--range", "s0=1.64"],
    "a range with a colon": ["--range", "s0=1:64"],
    "a range with a comma": ["--range", "s0=1,64"],
    "a range with words": ["--range", "s0=one..64"],
    "a float": ["--range", "s0=1.5..64"],
    "a multiple of zero": ["--range", "s0=0..64:0"],
    "a range without a name": ["--range", "=1..64"],
    "a bare range": ["--range", "1..64"],
    "a fact of nothing": ["--fact", "t9 <= 64"],
    "a fact that is none": ["--fact", "s0 = 64"],
    "an option that there is not": ["--rnage", "s0=1..64"],
    "a format that there is not": ["--format", "xml"],
}


def certified(path: Path, *arguments: str) -> tuple[int, str]:
    stdout, stderr = sys.stdout, sys.stderr
    sys.stdout = sys.stderr = io.StringIO()
    try:
        status = main(["certify", str(path), *arguments])
    except SystemExit as error:
        status = int(str(error.code))
    finally:
        printed, sys.stdout, sys.stderr = sys.stdout.getvalue(), stdout, stderr
    return status, printed


def written(folder: Path, content: str | bytes, name: str = "guards.txt") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("content", UNREAD.values(), ids=UNREAD)
def test_a_file_without_guards_is_unread(content: str | bytes, tmp_path: Path) -> None:
    status, printed = certified(written(tmp_path, content))
    assert status == 65 and "proven" not in printed


@pytest.mark.parametrize("content", NOT_PROVEN.values(), ids=NOT_PROVEN)
def test_what_was_not_understood_is_not_proven(content: str, tmp_path: Path) -> None:
    path = written(tmp_path, content)
    arguments = ["--range", "s0=1..64"] if "s0" in content and "<= 64" in content else []
    status, printed = certified(path, *arguments)
    assert status in (1, 2, 64, 65), printed
    assert not printed.startswith("proven")


@pytest.mark.parametrize("arguments", ARGUMENTS.values(), ids=ARGUMENTS)
def test_a_mistake_in_the_command_line_is_told(arguments: list[str], tmp_path: Path) -> None:
    status, printed = certified(written(tmp_path, "s0 <= 64\nL['x'].size()[0] <= 64\n"), *arguments)
    assert status == 64 and "proven" not in printed


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_byte_order_mark_is_no_part_of_a_guard(encoding: str, tmp_path: Path) -> None:
    path = written(tmp_path, "s0 <= 64\r\n".encode(encoding))
    assert certified(path, "--range", "s0=1..64")[0] == 0


def test_missing_files_and_folders_are_told_apart(tmp_path: Path) -> None:
    assert certified(tmp_path / "nothing.txt")[0] == 66
    assert certified(tmp_path)[0] == 65


def test_a_log_is_judged_by_its_sizes(tmp_path: Path) -> None:
    path = written(tmp_path, TREE)
    assert certified(path, "--range", "x.shape[0]=5..64")[0] == 0
    status, printed = certified(path, "--range", "x.0=1..64")
    assert status == 1 and "fails at x.shape[0]=1" in printed
    assert "1 guards about objects and global state (1 TYPE_MATCH)" in printed


def test_variants_of_other_objects_do_not_stand_in(tmp_path: Path) -> None:
    """A variant for another dtype does not answer the calls that this one rejects."""
    second = TREE.replace("[0/0]", "[0/1]").replace("5 <= L['x'].size()[0]", "L['x'].size()[0] <= 4")
    both = written(tmp_path, TREE + second)
    assert certified(both, "--range", "x.0=1..64")[0] == 0
    other = written(tmp_path, TREE + second.replace("L['x'], 9", "L['x'], 7"))
    assert certified(other, "--range", "x.0=1..64")[0] == 1


def test_a_folder_of_traces_is_read(tmp_path: Path) -> None:
    lines = [line.split("[__guards] ")[1] for line in TREE.splitlines()]
    head = 'V1128 13:33:09.758000 14 torch/_dynamo/guards.py:4552] {"dynamo_cpp_guards_str": {}, "frame_id": 0, '
    head += '"frame_compile_id": 0, "attempt": 0, "has_payload": "20"}\n'
    trace = head + "".join(f"\t{line}\n" for line in lines)
    written(tmp_path, trace, "dedicated_log_torch_trace_a.log")
    assert certified(tmp_path, "--range", "x.0=5..64")[0] == 0
    parsed = tmp_path / "parsed" / "-_0_0_0"
    parsed.mkdir(parents=True)
    written(parsed, "\n".join(lines) + "\n", "dynamo_cpp_guards_str_3.txt")
    assert certified(parsed.parent, "--range", "x.0=1..64")[0] == 1


def test_formats_of_continuous_integration(tmp_path: Path) -> None:
    path = written(tmp_path, "s0 <= 64  # model.py:41 in forward\ns0 >= 0\ns0 ~ 3\n")
    status, printed = certified(path, "--range", "s0=1..128", "--format", "sarif")
    log = json.loads(printed)
    assert status == 1 and log["version"] == "2.1.0"
    failed, unshown = log["runs"][0]["results"]
    assert failed["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "model.py"},
        "region": {"startLine": 41},
    }
    assert failed["ruleId"] == "guard-can-fail" and unshown["ruleId"] == "guard-not-shown"
    suite = ElementTree.fromstring(certified(path, "--range", "s0=1..128", "--format", "junit")[1])
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("3", "1", "1")
    assert json.loads(certified(path, "--json")[1])["status"] == "refuted"


def piped(command: str, given: str = "") -> int:
    done = subprocess.run(["bash", "-c", command], input=given, text=True, cwd=ROOT, env=os.environ, check=False)
    return done.returncode


def test_the_reader_of_the_output_changes_no_status(tmp_path: Path) -> None:
    """A pipe that nobody reads, and a disk that is full, do not turn a refutation into a proof."""
    path = written(tmp_path, "".join(f"s{number} <= 64\n" for number in range(2000)))
    shapes = f"{sys.executable} -m shapes certify {path} --no-solver"
    assert piped(f"{shapes} 2> /dev/null | true; exit ${{PIPESTATUS[0]}}") == 1
    assert piped(f"{shapes} > /dev/full 2> /dev/null") == 74


@pytest.mark.parametrize("name", ["-", "/dev/stdin"])
def test_standard_input_is_read(name: str) -> None:
    assert piped(f"{sys.executable} -m shapes certify {name} --range s0=1..64 > /dev/null", "s0 <= 64\n") == 0
    assert piped(f"{sys.executable} -m shapes certify {name} 2> /dev/null", "") == 65


def test_a_session_is_one_element(tmp_path: Path) -> None:
    (found,) = read_guards(written(tmp_path, SESSION + GUARD, "session.jsonl"))
    assert [each.text for each in found.conditions] == ["s <= 64"]
