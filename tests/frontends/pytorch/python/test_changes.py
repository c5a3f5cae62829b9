"""Whatever a compiled function changes besides tensors is changed as by the function itself, call for call."""

import pkgutil
import sys
from collections import deque

import pytest
import torch
from torch.utils._pytree import tree_map

from frontends.pytorch import compile, trace
from frontends.pytorch.errors import GraphBreak
from tests.frontends.pytorch.python.effect_programs import CHANGING, KEEPING

ROWS = (3, 4, 3, 5)
ON_CPU = ("slot", "nine levels deep", "file_written", "generator", "defaultdict read", "element of NumPy")


def states(make, folder, run) -> list[object]:
    """What the program gives, and its state after the calls."""
    folder.mkdir()
    program, tell = make(folder)
    program = run(program)
    found = []
    for rows in ROWS:
        x = torch.arange(rows * 2.0).view(rows, 2)
        found.append(program(x).tolist())
        found.append(repr(vars(x)))
    return [*found, repr(tell()).replace(str(folder), "")]


@pytest.mark.parametrize(
    ("name", "backend"), [*[(name, "eager") for name in CHANGING], *[(name, "cpu") for name in ON_CPU]]
)
def test_as_by_the_function(name, backend, tmp_path):
    """If it fails, something that a program does is lost, done once, or done twice."""
    expected = states(CHANGING[name], tmp_path / "eager", lambda program: program)
    found = states(
        CHANGING[name], tmp_path / "compiled", lambda program: compile(program, dynamic=True, backend=backend)
    )
    assert found == expected


@pytest.mark.parametrize("name", CHANGING)
def test_refused_and_as_it_was(name, tmp_path):
    """If it fails, a trace leaves out a change, or leaves one behind."""
    for folder in ("one", "other"):
        (tmp_path / folder).mkdir()
    x = torch.ones(3, 2)
    _, untouched = CHANGING[name](tmp_path / "one")
    program, tell = CHANGING[name](tmp_path / "other")
    with pytest.raises(GraphBreak) as error:
        trace(program, (x,))
    # an attribute of an argument is found when the program has ended
    assert "  at:     `" in str(error.value) or "of an argument is set" in str(error.value)
    assert "fix:" in str(error.value)
    assert repr(tell()) == repr(untouched()) and not vars(x)


@pytest.mark.parametrize("name", KEEPING)
def test_whole_graphs(name):
    """If it fails, a program that changes only what it made itself is taken for one that changes the world."""
    program = KEEPING[name]()
    compiled = compile(program, dynamic=True, fullgraph=True)
    for rows in ROWS:
        x = torch.arange(rows * 2.0).view(rows, 2)
        expected = program(x)
        found = compiled(x)
        assert type(found) is type(expected)
        assert repr(tree_map(lambda each: each, found)) == repr(expected)
    assert len(compiled.variants) == 1


def test_more_than_eighty():
    """If it fails, the table has shrunk."""
    assert len(CHANGING) >= 80


class Config:
    kind = None


def test_filled_in_once():
    """If it fails, a program that keeps what it has worked out is no graph, or its first call is as later ones."""
    theirs, ours = Config(), Config()

    def program(config):
        def run(x):
            if config.kind is None:
                config.kind = "first"
                return x * 2
            return x * 3

        return run

    expected, compiled = program(theirs), compile(program(ours), dynamic=True, fullgraph=True)
    for rows in ROWS:
        x = torch.ones(rows, 2)
        assert torch.equal(compiled(x), expected(x)) and ours.kind == theirs.kind
    assert len(compiled.variants) == 1 and not compiled.fallbacks


def test_filled_in_anew_at_each_call():
    """If it fails, a table that grows with every call is filled once, or its calls fall back to eager for ever."""
    theirs, ours = {}, {}

    def program(table):
        def run(x):
            table[f"call {len(table)}"] = True
            return x * 2

        return run

    expected, compiled = program(theirs), compile(program(ours), dynamic=True)
    for rows in (*ROWS, 6, 7):
        x = torch.ones(rows, 2)
        assert torch.equal(compiled(x), expected(x)) and ours == theirs
    assert compiled.broken is not None


def test_a_change_after_a_library_has_imported(tmp_path, monkeypatch):
    """If it fails, what functions change is not noticed from where Python's library has imported a module on."""
    monkeypatch.syspath_prepend(tmp_path)
    line = deque([1, 2, 3])
    held = [[[[[[[line]]]]]]]

    def turned():
        held[0][0][0][0][0][0][0].rotate(1)

    for number, backend in enumerate(("eager", "cpu")):
        (tmp_path / f"imported_in_a_trace_{number}.py").write_text("name = 'found'\n")

        def program(x, number=number):
            pkgutil.resolve_name(f"imported_in_a_trace_{number}:name")
            turned()
            return x + 1

        compiled = compile(program, backend=backend)
        for _ in range(3):
            before = list(line)
            compiled(torch.ones(2))
            assert list(line) == [before[-1], *before[:-1]]
        monkeypatch.delitem(sys.modules, f"imported_in_a_trace_{number}")
