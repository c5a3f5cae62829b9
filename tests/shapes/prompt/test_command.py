"""The `shapes` command as other programs use it: exit statuses, JSON, standard streams."""

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
CORPUS = ROOT / "benchmarks" / "corpus"


def shapes(*arguments: str, given: str | bytes = "") -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "shapes", *arguments],
        input=given if isinstance(given, bytes) else given.encode(),
        capture_output=True,
        cwd=ROOT,
        check=False,
        timeout=800,
    )
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


# -------------------------------------------------------------------- ask

ASKED = [
    (0, ["--given", "s % 16 == 0", "s % 8 == 0"], "always    because  s % 16 == 0"),
    (1, ["--given", "s % 16 == 0", "s % 8 == 1"], "never     because  s % 16 == 0"),
    (2, ["--given", "s % 16 == 0", "(b*s) % 64 == 0"], "depends   true at "),
    (0, ["--range", "n=-8..8", "n*n <= 64"], "always    because  -8 <= n <= 8"),
    (2, ["--range", "n=..", "n >= 0"], "depends"),
    (0, ["n >= 0"], "always    because  n >= 0"),
    (0, ["--range", "n=1..", "n >= 1"], "always    because  n >= 1"),
    (0, ["--no-solver", "--given", "s % 16 == 0", "s % 8 == 0"], "always"),
    (4, ["--given", "s > 5", "--given", "s < 3", "s == 7"], "contradiction"),
    (4, ["7 % (s - s) == 0"], "gave up"),
]


def test_the_evidence_instead_of_the_answer() -> None:
    done = shapes("ask", "--export", "coq", "--given", "s % 16 == 0", "s % 8 == 1")
    assert done.returncode == 1 and done.stdout.startswith("(* `s % 8 == 1` never holds, as Coq checks.")
    assert done.stdout.rstrip().endswith("Qed.") and not done.stderr


@pytest.mark.parametrize(("status", "arguments", "output"), ASKED)
def test_ask(status: int, arguments: list[str], output: str) -> None:
    """The exit status of `ask` tells the answer."""
    done = shapes("ask", *arguments)
    assert done.stdout.startswith(output), done
    assert done.returncode == status
    assert not done.stderr


GUARDS_OF_A_FILE = """
# what a server drops
s0 <= 8192              # if tokens.shape[1] <= 8192:  # serve/model.py:41 in forward
L['x'].size()[0] == s1  # model.py:50
s1 % 16 == 0
"""
CERTIFIED = [
    (0, ["--range", "s0=1..8192", "--range", "s1=16..64:16", "--fact", "x.0 == s1"], "proven         3 guards hold"),
    (1, ["--size", "s0=1..8193", "--fact", "x.shape[0] == s1 and s1 % 16 == 0"], "refuted        1 of 3 guards can"),
    (3, ["--range", "s0=1..8192", "--fact", "s0 > 9000"], "contradictory  no sizes satisfy "),
    (64, ["--range", "s0=1.8192"], ""),
    (64, ["--fact", "s0 = 3"], ""),
]


@pytest.mark.parametrize(("status", "arguments", "output"), CERTIFIED)
def test_certify(tmp_path: Path, status: int, arguments: list[str], output: str) -> None:
    """The exit status of `certify` tells guards that can fail."""
    path = tmp_path / "guards.txt"
    path.write_text(GUARDS_OF_A_FILE)
    done = shapes("certify", str(path), *arguments)
    assert done.returncode == status and done.stdout.startswith(output), done
    assert bool(done.stderr) == (status == 64)


def test_certify_for_a_pipeline(tmp_path: Path) -> None:
    path = tmp_path / "guards.txt"
    path.write_text(GUARDS_OF_A_FILE + "foo(s0) == 1\n")
    done = shapes("certify", str(path), "--json", "--range", "s0=1..10000", "--range", "s1=16", "--fact", "x.0 == s1")
    found = json.loads(done.stdout)
    assert done.returncode == 1 and found["status"] == "refuted" and found["checked"] is True
    assert found["findings"] == [
        {
            "guard": "s0 <= 8192",
            "size": {"s0": 8193},
            "smallest": True,
            "file": "serve/model.py",
            "line": 41,
            "function": "forward",
            "why": "",
        }
    ]
    assert [each["line"] for each in found["not_shown"]] == [6]
    done = shapes("certify", str(path), "--range", "s0=1", "--range", "s1=16", "--fact", "x.0 == s1")
    assert done.returncode == 2 and done.stdout.startswith("unknown        1 of 4 guards were not shown")
    assert shapes("certify", str(tmp_path / "none.txt")).returncode == 66


USAGE = [
    (["--given", "s % 16 = 0", "s > 0"], "s % 16 = 0", 7),
    (["(s > 0"], "(s > 0", 6),
    (["s + 1"], "s + 1", 0),
    (["--range", "n=one..", "n > 0"], "n=one..", 2),
    (["--range", "2n=1..", "n > 0"], "2n=1..", 0),
    (["--range", "n=1..2:x", "n > 0"], "n=1..2:x", 7),
]


@pytest.mark.parametrize(("arguments", "text", "column"), USAGE)
def test_what_cannot_be_read_is_pointed_at(arguments: list[str], text: str, column: int) -> None:
    """A mistake in a proposition has a status of its own, and is shown where it is."""
    done = shapes("ask", *arguments)
    assert done.returncode == 64
    assert not done.stdout
    lines = done.stderr.splitlines()
    (shown,) = [line for line in lines if line.strip() == text]
    mark = lines[lines.index(shown) + 1]
    assert mark.index("^") - shown.index(text) == column


@pytest.mark.parametrize(
    "arguments", [["ask"], ["ask", "s > 0", "s > 1"], ["ask", "--what", "s > 0"], ["guess"], ["replay"], ["--what"]]
)
def test_usage(arguments: list[str]) -> None:
    """A wrong command line exits with a status that is no answer."""
    done = shapes(*arguments)
    assert done.returncode == 64
    assert "usage: shapes" in done.stderr


def test_help_is_no_mistake() -> None:
    for arguments in (["--help"], ["ask", "--help"], ["replay", "--help"]):
        done = shapes(*arguments)
        assert done.returncode == 0
        assert "usage: shapes" in done.stdout


def test_ask_json() -> None:
    always = json.loads(shapes("ask", "--json", "--given", "s % 16 == 0", "s % 8 == 0").stdout)
    assert always["verdict"] == "always"
    assert always["core"] == ["s % 16 == 0"]
    assert always["true_at"] is always["false_at"] is always["reason"] is None
    assert always["checked"] is True
    depends = json.loads(shapes("ask", "--json", "s > 4").stdout)
    assert depends["verdict"] == "depends"
    assert depends["core"] is None
    assert depends["true_at"]["s"] > 4 >= depends["false_at"]["s"]
    contradiction = json.loads(shapes("ask", "--json", "--given", "s < 0", "s == 3").stdout)
    assert contradiction["verdict"] == "gave_up"
    assert contradiction["core"] == ["s >= 0", "s < 0"]
    huge = json.loads(shapes("ask", "--json", "s == 2**60000").stdout, parse_int=len)
    assert huge["true_at"] == {"s": 18062}
    assert json.loads(shapes("ask", "--json", "a % b < b").stdout)["where"] == "b != 0"
    assert set(always) == set(depends) == set(contradiction)


def test_ask_why() -> None:
    assert "verified" in shapes("ask", "--why", "--given", "s % 16 == 0", "s % 8 == 0").stdout
    assert "(b*s) % 64 = " in shapes("ask", "--why", "--given", "s % 16 == 0", "(b*s) % 64 == 0").stdout


# -------------------------------------------------------------------- replay

SESSIONS = [
    {"op": "session", "format": 1, "name": "first"},
    {"op": "symbol", "name": "s", "kind": "backed", "hint": 16, "lo": 0, "hi": None, "source": None},
    {"op": "assume", "prop": "s % 16 == 0", "why": "guard", "at": None},
    {"op": "ask", "prop": "s % 8 == 0", "count": 1, "commits": True, "truth": "always"},
    {"op": "ask", "prop": "s == 0", "count": 1, "commits": False, "truth": "depends"},
    {"op": "session", "format": 1, "name": "contradictory"},
    {"op": "symbol", "name": "s", "kind": "unbacked", "hint": None, "lo": 0, "hi": 9, "source": None},
    {"op": "assume", "prop": "s > 9", "why": "assert", "at": None},
    {"op": "ask", "prop": "s == 0", "count": 1, "commits": True, "truth": "never"},
    {"op": "session", "format": 1, "name": "last"},
    {"op": "symbol", "name": "s", "kind": "backed", "hint": None, "lo": None, "hi": None, "source": None},
    {"op": "ask", "prop": "s*s < 0", "count": 1, "commits": True, "truth": "never"},
]


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    path = tmp_path / "recorded.jsonl"
    path.write_text("\n".join(map(json.dumps, SESSIONS)))
    return path


def rows_of(output: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in output.splitlines()]


def test_replay_json_is_the_contract(recorded: Path) -> None:
    """The JSON of a replay has the documented form."""
    done = shapes("replay", "--json", str(recorded))
    assert done.returncode == 0
    *rows, last = rows_of(done.stdout)
    keys = ["file", "line", "verdict", "rung", "us", "core", "true_at", "false_at", "reason"]
    assert [list(row) for row in rows] == [keys] * 4
    assert {row["file"] for row in rows} == {str(recorded)}
    found = [(row["line"], row["verdict"], row["core"]) for row in rows]
    assert found == [(4, "always", [3]), (5, "depends", None), (9, "gave_up", None), (12, "never", [])]
    depends = rows[1]
    assert isinstance(depends["true_at"], dict) and isinstance(depends["false_at"], dict)
    assert depends["true_at"]["s"] == 0 != depends["false_at"]["s"]
    assert all(isinstance(row["us"], float) and row["us"] > 0 for row in rows)
    assert "lines 7, 8" in str(rows[2]["reason"])
    assert "contradiction between lines 7, 8" in done.stderr
    assert list(last) == ["summary"]
    summary = last["summary"]
    assert isinstance(summary, dict)
    counts = {"sessions": 3, "symbols": 3, "assumes": 2, "asks": 4, "always": 1, "never": 1, "depends": 1, "gave_up": 1}
    assert {key: summary[key] for key in counts} == counts
    seconds = summary["seconds"]
    assert seconds["wall"] == pytest.approx(seconds["symbols"] + seconds["assumes"] + seconds["asks"])
    assert summary["contradictions"] == [{"file": str(recorded), "session": "contradictory", "line": 8, "core": [7, 8]}]


def without_times(output: str) -> list[dict[str, object]]:
    return [{**row, "us": None, "file": None} for row in rows_of(output)[:-1]]


def test_packed_plain_and_standard_input_are_the_same(recorded: Path, tmp_path: Path) -> None:
    packed = tmp_path / "recorded.jsonl.gz"
    packed.write_bytes(gzip.compress(recorded.read_bytes()))
    plain = shapes("replay", "--json", str(recorded))
    assert without_times(shapes("replay", "--json", str(packed)).stdout) == without_times(plain.stdout)
    for content in (recorded.read_bytes(), packed.read_bytes()):
        assert without_times(shapes("replay", "--json", "-", given=content).stdout) == without_times(plain.stdout)


def test_truth_is_not_read(recorded: Path, tmp_path: Path) -> None:
    """The recorded truth does not reach an answer."""
    stripped = tmp_path / "stripped.jsonl"
    lines = [{k: v for k, v in line.items() if k != "truth"} for line in SESSIONS]
    stripped.write_text("\n".join(map(json.dumps, lines)))
    plain = shapes("replay", "--json", str(recorded))
    assert without_times(shapes("replay", "--json", str(stripped)).stdout) == without_times(plain.stdout)
    lying = tmp_path / "lying.jsonl"
    lies = [{**line, "truth": "never"} if "truth" in line else line for line in SESSIONS]
    lying.write_text("\n".join(map(json.dumps, lies)))
    assert without_times(shapes("replay", "--json", str(lying)).stdout) == without_times(plain.stdout)
    judged = shapes("replay", "--judge", "--json", str(lying))
    assert judged.returncode == 1
    assert rows_of(judged.stdout)[-1]["summary"]["judged"] == {  # type: ignore[index]
        "right": 1, "wrong": 2, "left open": 1, "not judged": 0,
    }  # fmt: skip


def test_malformed_lines_are_named_and_what_does_not_need_them_stands(tmp_path: Path) -> None:
    """A damaged line is named, and what does not need it is answered."""
    path = tmp_path / "damaged.jsonl"
    lines = [json.dumps(line) for line in SESSIONS]
    lines[2] = '{"op": "assume", "prop": "s %% 16"}'
    path.write_text("\n".join(lines))
    done = shapes("replay", "--json", str(path))
    assert done.returncode == 65
    assert f"{path}:3: " in done.stderr
    verdicts = [row["verdict"] for row in rows_of(done.stdout)[:-1]]
    assert verdicts == ["gave_up", "gave_up", "gave_up", "never"]


def test_a_file_that_is_not_there(recorded: Path) -> None:
    done = shapes("replay", "--json", "/nowhere/at/all.jsonl", str(recorded))
    assert done.returncode == 66
    assert "/nowhere/at/all.jsonl: No such file" in done.stderr
    assert len(rows_of(done.stdout)) == 5


def test_an_empty_file(tmp_path: Path) -> None:
    path = tmp_path / "empty.jsonl"
    path.write_text("")
    done = shapes("replay", str(path))
    assert done.returncode == 0
    assert "questions" in done.stdout


def test_replay_table_on_the_corpus() -> None:
    """The summary of a replay is shown, with right answers for the recorded questions."""
    files = [CORPUS / f"{name}.jsonl.gz" for name in ("opinfo-fft-signal", "unbacked-top-p", "vit-train-inductor")]
    done = shapes("replay", "--judge", *map(str, files))
    assert done.returncode == 0, done
    assert "questions" in done.stdout and "429" in done.stdout
    assert "bounds" in done.stdout and "median" in done.stdout
    assert "\x1b" not in done.stdout + done.stderr


def test_no_solver_leaves_them_out() -> None:
    """`--no-solver` uses the engine's own procedures only."""
    program = (
        "import sys; from shapes.prompt.cli import main\n"
        "status = main(sys.argv[1:])\n"
        "assert not {'sympy', 'z3'} & set(sys.modules)\n"
        "sys.exit(status)"
    )
    file = str(CORPUS / "opinfo-masked.jsonl.gz")
    done = subprocess.run([sys.executable, "-c", program, "replay", "--no-solver", file], cwd=ROOT, check=False)
    assert done.returncode == 0


@pytest.mark.parametrize("command", [["ask", "s >= 0"], ["replay", str(CORPUS / "opinfo-unary.jsonl.gz")]])
def test_questions_and_replays_need_neither_rich_nor_prompt_toolkit(command: list[str]) -> None:
    """Questions and replays run without rich and prompt_toolkit."""
    program = (
        "import sys\n"
        "sys.modules['rich'] = sys.modules['prompt_toolkit'] = None\n"
        "from shapes.prompt.cli import main\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    done = subprocess.run([sys.executable, "-c", program, *command], cwd=ROOT, check=False, capture_output=True)
    assert done.returncode == 0, done


def test_the_reader_of_the_output_may_leave() -> None:
    """`shapes replay ... | head` ends without a traceback. | head` ends in a traceback."""
    files = " ".join(str(path) for path in sorted(CORPUS.glob("unbacked-*.gz"))[:4])
    command = f"{sys.executable} -m shapes replay --no-solver --json {files} | head -1"
    done = subprocess.run(["bash", "-c", command], cwd=ROOT, check=True, capture_output=True, text=True)
    assert json.loads(done.stdout)["line"]
    assert "Traceback" not in done.stderr


# -------------------------------------------------------------------- scripts


def test_a_script_on_standard_input() -> None:
    done = shapes(given="sizes b s\nassume s % 16 == 0\n# a comment\n\n(b*s) % 16 == 0 ?\nquit\nsizes z\n")
    assert done.returncode == 0
    assert done.stdout == "always    because  s % 16 == 0 [2]\n"


def test_a_script_with_a_mistake() -> None:
    done = shapes(given="sizes s\nassume s >\ns >= 0 ?\n")
    assert done.returncode == 1
    assert done.stdout == "always    because  s >= 0 [1]\n"
    assert "line 2:" in done.stderr and "^" in done.stderr
