"""Logs of torch as inputs of `certify`: which variants stand in for each other, and folders of traces."""

from pathlib import Path

import pytest

from shapes.prompt.cli import main

TREE = """V1128 13:30:29.095000 133 torch/_dynamo/guards.py:4483] [0/0] [__guards] TREE_GUARD_MANAGER:
V1128 13:30:29.095000 133 torch/_dynamo/guards.py:4483] [0/0] [__guards] +- RootGuardManager
V1128 13:30:29.095000 133 torch/_dynamo/guards.py:4483] [0/0] [__guards] | +- TYPE_MATCH: ___check_type_id(L['x'], 9)
V1128 13:30:29.095000 133 torch/_dynamo/guards.py:4483] [0/0] [__guards] +- LAMBDA_GUARD: 5 <= L['x'].size()[0]
V1128 13:30:29.095000 133 torch/_dynamo/guards.py:4483] [0/0] [__guards] \n"""
ONLY = {
    "only failed guards": "V1128 13:30:29.2 1 torch/guards.py:1] [0/1] [__recompiles]     - 0/0: 1 <= x.size()[0]\n",
    "only added guards": "I1128 13:30:26.9 1 torch/symbolic_shapes.py:8] [0/0] eval s77 >= 0 [guard added] x.view\n",
    "a guard cut off": TREE.replace("5 <= L['x'].size()[0]", "5 <= L['x'].si"),
    "half a line": TREE[:-130],
    "a number beside an object": TREE.replace("5 <= L['x'].size()[0]", "L['y'] is None or L['n'] > 5"),
}


@pytest.fixture
def certified(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> "Certified":
    return Certified(tmp_path / "guards.log", capsys)


class Certified:
    """The status and the output of `certify` for a log, or for what lies at its place."""

    def __init__(self, path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.path = path
        self.capsys = capsys

    def __call__(self, log: str | Path, *arguments: str) -> tuple[int, str]:
        if isinstance(log, str):
            self.path.write_text(log)
        status = main(["certify", str(self.path if isinstance(log, str) else log), *arguments])
        return status, self.capsys.readouterr().out


def test_a_log_is_judged_by_its_sizes(certified: Certified) -> None:
    assert certified(TREE, "--range", "x.shape[0]=5..64")[0] == 0
    status, printed = certified(TREE, "--range", "x.0=1..64")
    assert status == 1 and "fails at x.shape[0]=1" in printed
    assert "1 guards about objects and global state (1 TYPE_MATCH)" in printed


@pytest.mark.parametrize("log", ONLY.values(), ids=ONLY)
def test_a_log_without_a_whole_list_is_not_proven(log: str, certified: Certified) -> None:
    status, printed = certified(log)
    assert status in (1, 2, 65) and not printed.startswith("proven")


PLAIN = ["s0 <= 4", "L['x'].size()[1] % 8 == 0  # model.py:7 in f", "L['x'].size()[0] % = 8", "not (n > 4 or m < 2)"]


@pytest.mark.parametrize("where", ["before", "after"])
def test_plain_guards_in_a_log_are_counted_and_named(where: str, certified: Certified) -> None:
    """Guards on lines of their own are not skipped as output of the program: nothing is proven then."""
    plain = "\n".join(PLAIN) + "\n"
    status, printed = certified(plain + TREE if where == "before" else TREE + plain, "--range", "x.0=5..64")
    assert status == 2 and not printed.startswith("proven")
    named = ["s0 <= 4", "x.shape[1] % 8 == 0", "x.shape[0] % = 8", "not (n > 4 or m < 2)"]
    assert all(each in printed for each in named)
    assert printed.count("between torch's lines") == len(PLAIN)


def test_output_of_the_program_is_no_guard(certified: Certified) -> None:
    """Other lines between torch's are what the program printed."""
    lines = ["step 3: loss 0.25", "# x <= 4", "    if x.size(0) > 4:", "  assert x.shape[0] > 4", "tensor([1, 2])"]
    lines += ["I torch: eval x.size()[0] == 2 [guard]", "epoch=4", "3 <= 4", "x.size()", ""]
    output = "\n".join(lines)
    status, printed = certified(output + TREE + output, "--range", "x.0=5..64")
    assert status == 0 and "between torch" not in printed


def test_variants_of_other_objects_do_not_stand_in(certified: Certified) -> None:
    """A variant for another class does not answer the calls that this one rejects."""
    second = TREE.replace("[0/0]", "[0/1]").replace("5 <= L['x'].size()[0]", "L['x'].size()[0] <= 4")
    assert certified(TREE + second, "--range", "x.0=1..64")[0] == 0
    assert certified(TREE + second.replace("L['x'], 9", "L['x'], 7"), "--range", "x.0=1..64")[0] == 1


def test_a_folder_of_traces_is_read(tmp_path: Path, certified: Certified) -> None:
    """Both what `TORCH_TRACE` writes and what tlparse makes of it."""
    lines = [line.split("[__guards] ")[1] for line in TREE.splitlines()]
    head = 'V1128 13:33:09.758000 14 torch/_dynamo/guards.py:4552] {"dynamo_cpp_guards_str": {}, "frame_id": 0, '
    traces = tmp_path / "traces"
    parsed = tmp_path / "parsed" / "-_0_0_0"
    traces.mkdir()
    parsed.mkdir(parents=True)
    payload = "".join(f"\t{line}\n" for line in lines)
    trace = head + '"frame_compile_id": 0, "attempt": 0, "has_payload": "20"}\n' + payload
    (traces / "dedicated_log_torch_trace_a.log").write_text(trace)
    assert certified(traces, "--range", "x.0=5..64")[0] == 0
    (parsed / "dynamo_cpp_guards_str_3.txt").write_text("\n".join(lines) + "\n")
    assert certified(parsed.parent, "--range", "x.0=1..64")[0] == 1
