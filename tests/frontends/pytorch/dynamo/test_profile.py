"""What was seen to be dynamic goes from one process to the next: by Dynamo, and by compiled functions of ours."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from frontends.pytorch import compile, load_profile, save_profile
from frontends.pytorch.errors import ConstraintViolation, WrongArtifact

ROOT = Path(__file__).parents[4]


def run(what: str, path: Path, seed: str) -> dict[str, int]:
    command = [sys.executable, "-m", "tests.frontends.pytorch.dynamo.profile_process", what, str(path)]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": seed, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_second_process_compiles_once(tmp_path: Path) -> None:
    """If it fails, a process learns again which sizes differ, which the one before it has written down."""
    path = tmp_path / "profile.json"
    assert run("save", path, "1") == {"function": 2, "closure": 2, "module": 2, "ours": 2}
    # other hashes of strings, and other sizes
    assert run("load", path, "2") == {"function": 1, "closure": 1, "module": 1, "ours": 1}


def summed(x, y):
    return x.sum() + y.sum()


@pytest.fixture
def forgetful():
    """Dynamo forgets what it saw."""
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def counting(made: list[object]):
    def backend(module, inputs):
        made.append(module)
        return module.forward

    return backend


def test_what_dynamo_saw_is_for_our_functions(forgetful, tmp_path: Path) -> None:
    """If it fails, our own compilation learns again what torch's has seen of the same function."""
    theirs = torch.compile(summed, backend=counting([]))
    for size in (3, 5):
        theirs(torch.ones(size, 2), torch.ones(4))
    save_profile(tmp_path / "profile.json")
    mine = compile(summed)
    load_profile(tmp_path / "profile.json", mine)
    for size in (6, 7):
        mine(torch.ones(size, 2), torch.ones(4))
    assert len(mine.variants) == 1
    # nothing else is dynamic
    mine(torch.ones(6, 2), torch.ones(5))
    assert len(mine.variants) == 2


def test_what_ours_saw_is_for_dynamo(forgetful, tmp_path: Path) -> None:
    """If it fails, torch's compilation learns again what ours has seen of the same function."""
    mine = compile(summed)
    for size in (3, 5):
        mine(torch.ones(size, 2), torch.ones(4))
    save_profile(tmp_path / "profile.json", mine)
    torch._dynamo.reset()
    load_profile(tmp_path / "profile.json")
    made: list[object] = []
    theirs = torch.compile(summed, backend=counting(made))
    for size in (3, 6, 7):
        theirs(torch.ones(size, 2), torch.ones(4))
    assert len(made) == 1


def test_another_function_learns_nothing(tmp_path: Path) -> None:
    """If it fails, a function has symbols because of what another one was given."""
    first = compile(lambda x: x * 2)
    for size in (3, 5):
        first(torch.ones(size))
    save_profile(tmp_path / "profile.json", first)
    second = compile(lambda x: x * 3)
    load_profile(tmp_path / "profile.json", second)
    for size in (3, 5):
        second(torch.ones(size))
    assert len(second.variants) == 2


def test_a_wrong_profile_costs_a_compilation_only(tmp_path: Path) -> None:
    """If it fails, a profile that says something else than what is so makes a result wrong."""

    def program(x):
        return x * x.shape[0]

    first = compile(program)
    for size in (3, 5):
        first(torch.ones(size))
    save_profile(tmp_path / "profile.json", first)
    text = (tmp_path / "profile.json").read_text().replace('"x"', '"y"')
    (tmp_path / "profile.json").write_text(text)
    second = compile(program)
    load_profile(tmp_path / "profile.json", second)
    for size in (3, 5, 0, 1):
        assert torch.equal(second(torch.ones(size)), program(torch.ones(size)))


def with_entry(value: object, *keys: object):
    def change(described):
        for key in keys[:-1]:
            described = described[key]
        assert keys[-1] in described or isinstance(described, list)
        described[keys[-1]] = value

    return change


SEEN = ("frames", 0, "sources", "L['x']")
WRONG = {
    "another format": (with_entry(2, "symshape profile"), "no profile"),
    "no frames": (with_entry(None, "frames"), "`frames`"),
    "a frame that is none": (with_entry(["a"], "frames", 0, "frame"), "a frame in it"),
    "cells without end": (with_entry(10**9, "frames", 0, "frame", 4), "a frame in it"),
    "a scalar that is none": (with_entry([1], *SEEN, "scalar"), "what it says of"),
    "a truth": (with_entry(True, *SEEN, "scalar"), "what it says of"),
    "sizes that are none": (with_entry(["eval"], *SEEN, "size"), "what it says of"),
    "strides that are none": (with_entry([{"behind": "1"}], *SEEN, "stride"), "what it says of"),
    "a part more": (with_entry({"scalar": 1, "size": "dynamic", "stride": "dynamic", "more": 1}, *SEEN), "what it"),
    "a history that is none": (with_entry([["x", 1, 0, "3", True]], "functions", 0, "sizes"), "what was seen"),
    "floats that are none": (with_entry([["x", 1.0, True]], "functions", 0, "floats"), "what was seen"),
}


@pytest.mark.parametrize("kind", [*WRONG, "a pickle", "no file", "for all to write"])
def test_a_wrong_file_is_refused(kind: str, forgetful, tmp_path: Path) -> None:
    """If it fails, a file is taken that is none, or the error is another library's; or something of it stays."""
    from torch._dynamo import pgo

    path = tmp_path / "profile.json"
    mine = compile(summed)
    mine(torch.ones(3, 2), torch.ones(4))
    save_profile(path, mine)
    expected = {"a pickle": "cannot be read", "no file": "cannot be read", "for all to write": "others can write"}
    if kind == "a pickle":
        torch.save(torch.ones(2), path)
    elif kind == "no file":
        path.unlink()
    elif kind == "for all to write":
        path.chmod(0o666)
    else:
        change, expected[kind] = WRONG[kind]
        described = json.loads(path.read_text())
        change(described)
        path.write_text(json.dumps(described))
    before = len(pgo.get_code_state())
    other = compile(summed)
    with pytest.raises(WrongArtifact, match=expected[kind]):
        load_profile(path, other)
    assert len(pgo.get_code_state()) == before
    assert not other._compilation.history.described()["sizes"]


def test_what_is_no_compiled_function_is_refused(tmp_path: Path) -> None:
    """If it fails, a function of torch's compiler is taken, and nothing is written of it."""
    with pytest.raises(ConstraintViolation, match="without being given"):
        save_profile(tmp_path / "profile.json", summed)
    assert not (tmp_path / "profile.json").exists()
    with pytest.raises(ConstraintViolation, match="No such file"):
        save_profile(tmp_path / "nowhere" / "profile.json")


@pytest.mark.parametrize(
    ("named", "variants"),
    [("L['x']:0", 1), ("L['x']", 1), (r"L\['[a-x]'\]", 1), ("L['y'], L['x']:0", 1), ("L['x']:1", 2), ("L['y']", 2)],
)
def test_sources_named_beforehand(named: str, variants: int) -> None:
    """If it fails, our compilation does not heed what torch's does: sizes named in its settings."""
    with torch.compiler.config.patch(dynamic_sources=named):
        mine = compile(summed)
        for size in (3, 5, 6):
            mine(torch.ones(size, 2), torch.ones(4))
        assert len(mine.variants) == variants


def test_integers_named_beforehand() -> None:
    """If it fails, an integer that is named is a number all the same; or a setting that forbids symbols is not heeded.
    """
    with torch.compiler.config.patch(dynamic_sources="L['n']"):
        mine, static = compile(lambda x, n: x * n), compile(lambda x, n: x * n, dynamic=False)
        for n in (3, 5, 6):
            mine(torch.ones(2), n)
            static(torch.ones(2), n)
    assert len(mine.variants) == 1 and len(static.variants) > 1


def test_a_pattern_that_is_none() -> None:
    """If it fails, the error is that of Python's patterns."""
    patched = torch.compiler.config.patch(dynamic_sources="L['x'")
    with patched, pytest.raises(ConstraintViolation, match="is no pattern"):
        compile(lambda x: x * 2)(torch.ones(2))
