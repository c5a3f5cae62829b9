"""The report of a compiled function: each guard, break and decision at its line, what to do, all of a process."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from frontends.pytorch import compile
from frontends.pytorch.dynamo.program import Program
from shapes.reports.files import read_folder
from shapes.reports.records import Entry
from shapes.reports.report import Report
from tests.shapes.reports.reading import read_page

ROOT = Path(__file__).parents[4]


def attend(x):
    if x.shape[0] > 8:  # the guard
        x = x * 2
    y = torch.softmax(x, -1)  # the kernel
    print(end="")  # the break
    return y + y.shape[0]


def line_of(mark: str) -> int:
    lines = Path(__file__).read_text().splitlines()
    (found,) = [number for number, text in enumerate(lines, 1) if text.endswith(f"# the {mark}")]
    return found


def report_of(program) -> Report:
    return program._program.report()


def test_each_entry_is_at_the_line_that_caused_it() -> None:
    """A guard, a graph break or a decision of a kernel is beside another line than the one that caused it."""
    f = compile(attend, backend="cpu", dynamic=True)
    f(torch.randn(4, 6))
    f(torch.randn(12, 6))
    found = report_of(f)
    guards = [each for variant in found.variants for each in variant.guards]
    assert {(each.text, each.line) for each in guards} >= {
        ("x.shape[0] <= 8", line_of("guard")),
        ("x.shape[0] >= 9", line_of("guard")),
    }
    assert all(each.file == __file__ and each.function == "attend" for each in guards)
    (ended,) = found.breaks
    assert (ended.text, ended.line, ended.function) == ("print", line_of("break"), "attend")
    decisions = [each for variant in found.variants for each in variant.decisions]
    assert {each.verdict for each in decisions} >= {"always", "depends"}
    softmax = [each for each in decisions if each.line == line_of("kernel")]
    assert any("divisible: x.shape[1] % " in each.text for each in softmax)
    assert all("torch_dynamo_resume" not in each.function for each in decisions)
    (excerpt,) = found.excerpts
    lines = dict(zip(excerpt.numbers, excerpt.lines))
    assert lines[found.line] == "def attend(x):" and lines[line_of("guard")].endswith("# the guard")
    assert (found.file, found.name) == (__file__, "attend")


def test_the_sizes_of_a_guard_are_on_its_sides() -> None:
    """A guard accepts the size that it is said to reject, or another variant does."""
    f = compile(lambda x: x * 2 if x.shape[0] % 4 == 0 else x * 3, dynamic=True)
    f(torch.ones(8))
    (guard,) = f.report().variants[0].guards
    assert guard.verdict == "depends"
    for text, variants in ((guard.accepts, 1), (guard.rejects, 2)):
        (size,) = re.findall(r"x\.shape\[0\]=(\d+)", text)
        f(torch.ones(int(size)))
        assert len(f.variants) == variants


def test_a_specialization_has_its_line() -> None:
    """A size that the program made a constant is not in the report, or without the line."""
    f = compile(lambda x: x.reshape(2, 4) + 1, dynamic=True)
    f(torch.ones(8))
    entries = list(f.report().entries)
    made = [each for each in entries if each.kind == "specialization"]
    assert made and all(each.file == __file__ and "reshape(2, 4)" in each.source for each in made), entries
    assert all(each.verdict == "always" and each.facts for each in made)


def unrolled(x):
    for step in range(x.shape[0]):
        x = x * step
    return x


def doubled(x):
    return x * 2


def both(x, y):
    return x + y


def branch(x):
    return x * 2 if x.shape[0] > 4 else x * 3


@pytest.mark.parametrize(
    ("function", "calls", "advice"),
    [
        (doubled, ((3,), (5,)), "mark_dynamic(x, 0), or dynamic=True"),
        (unrolled, ((3,), (5,)), "keep the size symbolic in `for step in range(x.shape[0])` (test_report.py:"),
        (branch, ((3,), (4,), (5,)), "torch.where or torch.cond"),
        (both, ((3, 3), (4, 4), (1, 4)), ""),  # no branch of the program, so none is blamed
    ],
)
def test_what_to_do_is_what_helps(function, calls, advice: str) -> None:
    """The head of a report advises a mark that is refused, or a branch where the program has none."""
    f = compile(function)
    for sizes in calls:
        f(*[torch.ones(size) for size in sizes])
    last = f.report().variants[-1]
    assert last.cause != "first call" and (advice in last.remedy if advice else not last.remedy), last.remedy
    first, cause, *rest = f.explain().splitlines()
    assert first.endswith(("recompilations", " 1 recompilation"))
    assert cause.startswith("  variant") and (not last.remedy or any(last.remedy in each for each in rest[:8]))


PROGRAM = """
import torch
from frontends.pytorch import compile

def first(x):
    return x * 2 if x.shape[0] > 4 else x * 3

class Net(torch.nn.Module):
    def forward(self, x):
        if x.shape[0] % 2:
            x = x[1:]
        return x.relu()

def run():
    f = compile(first, dynamic=True)
    net = torch.compile(Net(), backend="symshape", dynamic=True)
    for size in (3, 4, 5):
        f(torch.ones(size)), net(torch.ones(size))
    compile(first)

run()
torch.compiler.reset()
"""


def test_all_functions_of_a_process(tmp_path: Path) -> None:
    """A function that is compiled by either spelling, and is gone when the process ends, is missing on its page."""
    (tmp_path / "train.py").write_text(PROGRAM)
    folder = tmp_path / "reports"
    environment = os.environ | {"SYMSHAPE_REPORT": str(folder), "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "train.py"], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr
    reports = {each.name: each for each in read_folder(folder)}
    assert set(reports) == {"first", "Net.forward"}
    for name, line in (("first", 6), ("Net.forward", 10)):
        guards = [each for variant in reports[name].variants for each in variant.guards]
        assert guards and {each.line for each in guards} == {line}
    page = read_page(folder / "index.html")
    assert page.title == "reports" and len(page.sections) == 2
    assert sorted(path.suffix for path in folder.iterdir()) == [".html", ".json"]
    again = [sys.executable, "-m", "shapes", "report", str(folder), "-o", str(tmp_path / "site")]
    subprocess.run(again, env=environment, check=True)
    assert (tmp_path / "site" / "index.html").read_text() == (folder / "index.html").read_text()


def test_without_a_folder_nothing_is_kept() -> None:
    """A program that is reported nowhere stays in memory."""
    import weakref

    program = Program(doubled)
    gone = weakref.ref(program)
    del program
    assert gone() is None


def test_an_entry_without_a_line_has_no_place() -> None:
    assert Entry.at(None, "guard", "s >= 2").place == "" and str(Entry.at(None, "guard", "s >= 2")) == "s >= 2"


@pytest.mark.parametrize("backend", ["eager", "cpu"])
def test_sizes_have_one_name(backend: str) -> None:
    """Reports, causes and guards name sizes as the program does, and such names can be asked about."""
    f = compile(lambda x, y: (x @ y).relu() if x.shape[0] > 4 else x @ y, dynamic=True, backend=backend)
    for rows in (3, 6):
        f(torch.ones(rows, 8), torch.ones(8, 5))
    assert "x.shape[0] <= 4" in f.explain() and "x: float32[x.shape[0], x.shape[1]]" in f.explain()
    texts = [f.explain(kernels=True), *[str(guard) for variant in f.variants for guard in variant.guards]]
    assert all("_size" not in text and ".size(" not in text for text in texts), texts
    env = f.variants[0].env
    assert env.proves("x.shape[0] <= 4") and env.proves("x.size(1) == L['y'].size()[0]")
    assert env.size("x.shape[0] + 1").expr is env.size("x_size0 + 1").expr
