"""`certify` of compiled functions from a command line."""

from __future__ import annotations

import configparser
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from shapes.prompt import certifying
from shapes.prompt.cli import main
from tests.frontends.pytorch.certificates.compilers import without_entries

entries_removed = pytest.fixture(without_entries, autouse=True)


SERVED = """
import torch
from frontends.pytorch import compile

def cut(x):
    return x * 2 if x.shape[0] <= 64 else x

own, torchs, nothing = compile(cut, dynamic=True), torch.compile(cut, backend="eager", dynamic=True), 3
own(torch.ones(8, 3))

def served():
    torchs(torch.ones(8, 3))
    return torchs

def fails():
    raise RuntimeError("no weights")
"""


@pytest.mark.parametrize(
    ("name", "size", "status", "printed"),
    [
        ("own", 64, 0, "proven"),
        ("own", 65, 1, "x.shape[0] <= 64   fails at x.shape[0]=65   certified_programs.py:6 in cut"),
        ("served", 64, 0, "proven"),
        ("served", 65, 1, "x.shape[0] <= 64   fails at x.shape[0]=65   certified_programs.py:6 in cut"),
        ("fails", 64, 64, "certified_programs:fails(): RuntimeError: no weights"),
        ("nothing", 64, 64, "certified_programs:nothing is 3: it has no guards"),
        ("missing", 64, 64, "certified_programs:missing: AttributeError: "),
    ],
)
def test_from_a_command_line(
    name: str,
    size: int,
    status: int,
    printed: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The command line certifies a program as it does a file."""
    (tmp_path / "certified_programs.py").write_text(SERVED)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "certified_programs", raising=False)
    setup = configparser.ConfigParser()
    setup.read(Path(__file__).parents[4] / "setup.cfg")
    reader, _, target = setup["options.entry_points"]["symshape.guards"].strip().splitlines()[-1].partition(" = ")
    point = EntryPoint(reader, target, "symshape.guards")
    # as it is once the distribution is installed
    monkeypatch.setattr(certifying, "entry_points", lambda group: [point] if group == point.group else [])
    found = main(["certify", f"certified_programs:{name}", "--size", f"x.0=2..{size}", "--size", "x.1=2..9"])
    sys.modules.pop("certified_programs", None)
    said = capsys.readouterr()
    assert found == status and printed in said.out + said.err, said
