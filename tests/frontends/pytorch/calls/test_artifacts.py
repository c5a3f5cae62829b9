"""What `compiled.save(path)` writes and `load(path, fn)` reads: in another process, and where the file is wrong."""

from __future__ import annotations

import copy
import hashlib
import json
import os
import subprocess
import sys
import types
from pathlib import Path

import pytest
import torch

from backends.cpu.compiler import assume_gnu
from frontends.pytorch import Policy, compile, load, mark_dynamic
from frontends.pytorch.calls import artifact
from frontends.pytorch.errors import ConstraintViolation, WrongArtifact
from shapes.guards import toolchain

ROOT = Path(__file__).parents[4]
PROGRAMS = ("served", "trained", "automatic")


def program(x, y):
    return torch.softmax(x + y, -1) * 2


class Model(torch.nn.Module):
    def __init__(self, width: int = 3) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(width))
        self.scale = 2

    def forward(self, x):
        return helped(torch.exp(x * self.weight) * self.scale)


def helped(x):
    return x / (1 + x)


def arguments(rows: int = 2, columns: int = 3):
    return torch.arange(1.0 * rows * columns).reshape(rows, columns), torch.ones(columns)


@pytest.fixture(autouse=True)
def nothing_stays():
    """No other test of the process is to be given libraries that one of these has loaded."""
    yield
    toolchain.withdraw([*toolchain._supplied])
    assume_gnu(None)


def run(what: str, path: Path, cache: Path, **environment: str):
    command = [sys.executable, "-m", "tests.frontends.pytorch.calls.artifact_process", what, str(path)]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT), "SYMSHAPE_CACHE": str(cache), "OMP_NUM_THREADS": "1"} | environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return {each["program"]: each for each in map(json.loads, done.stdout.splitlines())}


@pytest.fixture(scope="module")
def processes(tmp_path_factory):
    """What a process saw that saved, and one that loaded where there is no compiler, nor a cache of kernels."""
    folder = tmp_path_factory.mktemp("artifacts")
    saved = run("save", folder / "saved", folder / "cache")
    (folder / "nothing").mkdir()
    # Python's own libraries are found without PATH, a compiler is not
    loaded = run("load", folder / "saved", folder / "empty", PATH=str(folder / "nothing"), CC="")
    return saved, loaded, folder


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_second_process_starts_with_the_variants(name: str, processes) -> None:
    """If it fails, a process that loads what another one saved compiles anew, or computes something else; or a library
    was built in it, or looked for where kernels are kept."""
    saved, loaded, folder = processes
    assert saved[name]["near"] and saved[name]["variants"] and not saved[name]["fallbacks"]
    assert all(saved[name]["kernels"]) and saved[name]["before"] == 0
    assert loaded[name]["before"] == len(saved[name]["variants"])
    assert {**loaded[name], "before": 0, "provenance": saved[name]["provenance"]} == saved[name]
    # with a gradient, or where all calls run from C, a variant is traced again
    is_restored = name == "served"
    assert all((each == "restored") is is_restored for each in loaded[name]["provenance"]), loaded[name]["provenance"]
    assert not (folder / "empty").exists() or not [*(folder / "empty").iterdir()]
    assert [*(folder / "cache").iterdir()]


def test_without_the_artifact_there_are_no_kernels_there(processes) -> None:
    """If it fails, the second process finds a compiler although it should not, and the tests above are vacuous.
    """
    _, _, folder = processes
    found = run("compile", folder / "other", folder / "other-cache", PATH=str(folder / "nothing"), CC="")
    assert all(not any(each["kernels"]) for each in found.values())


# ---------------------------------------------------------------------- in one process


@pytest.fixture(scope="module")
def saved(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("artifacts") / "program.artifact"
    compiled = compile(program, backend="cpu", dynamic=True)
    compiled(*arguments())
    compiled.save(path)
    return path


def rewritten(path: Path, to: Path, change) -> Path:
    """The same file with another description or other libraries, whole again to whoever looks at its hashes."""
    described, libraries = artifact.read(path)
    described = copy.deepcopy(described)
    contents = [*libraries.values()]
    change(described, contents)
    artifact.write(to, described, contents)
    return to


def test_what_is_loaded_computes_the_same(saved: Path) -> None:
    """If it fails, what was loaded is traced again, or is wrong."""
    loaded = load(saved, program)
    assert len(loaded.variants) == 1 and loaded.variants[0].running.hosts
    for sizes in ((2, 3), (5, 1), (1, 7)):
        assert torch.allclose(loaded(*arguments(*sizes)), program(*arguments(*sizes)))
    assert len(loaded.variants) == 1 and not loaded.fallbacks


def test_what_was_loaded_is_saved_again(saved: Path, tmp_path: Path) -> None:
    """If it fails, an artifact of an artifact lacks libraries."""
    load(saved, program).save(tmp_path / "again")
    one, other = artifact.read(saved), artifact.read(tmp_path / "again")
    for each in one[0]["variants"][0]["libraries"]:
        assert other[1][each] == one[1][each]
    assert torch.allclose(load(tmp_path / "again", program)(*arguments()), program(*arguments()))


def with_a_number_of_its_own(x):
    return torch.exp(x) * 7.0625


def test_what_nothing_has_kept_is_built_again(tmp_path: Path, monkeypatch) -> None:
    """If it fails, nothing can be saved once the folder of kernels was emptied."""
    compiled = compile(with_a_number_of_its_own, backend="cpu", dynamic=True)
    with monkeypatch.context() as patch:
        patch.setenv("SYMSHAPE_CACHE", str(tmp_path / "cache"))
        compiled(torch.ones(2, 5))
    kept = [*(tmp_path / "cache").iterdir()]
    assert kept
    for each in kept:
        each.unlink()
    compiled.save(tmp_path / "saved")
    assert len(load(tmp_path / "saved", with_a_number_of_its_own).variants) == 1


def test_parameters_are_those_that_the_program_has(tmp_path: Path) -> None:
    """If it fails, an artifact keeps weights, or a graph keeps those of the process that saved it."""
    compiled = compile(Model(), backend="cpu", dynamic=True)
    compiled(torch.ones(2, 3))
    compiled.save(tmp_path / "model")
    other = Model()
    torch.nn.init.constant_(other.weight, 0.25)
    loaded = load(tmp_path / "model", other)
    assert torch.allclose(loaded(torch.ones(4, 3)), other(torch.ones(4, 3)))
    loaded(torch.ones(4, 3)).sum().backward()
    assert other.weight.grad is not None and len(loaded.variants) == 1


def scaled(x, *, by=2.0, names=("a", "b"), kind=None, shift=3):
    return {name: (x.to(kind) * by + shift).relu() for name in names}


def together(x, y):
    x = x + y
    return (x.cos(), y.sin()) if x.size(0) > 3 else (x.sin(),)


def changed(x):
    x.mul_(2)
    return x.exp()


@pytest.mark.parametrize("backend", ["cpu", "eager"])
@pytest.mark.parametrize(
    ("function", "calls", "dynamic"),
    [
        (scaled, [lambda: ((torch.ones(2, 3),), {"kind": torch.float64})], True),
        (scaled, [lambda: ((torch.ones(2, 3).t(),), {"by": -0.0}), lambda: ((torch.ones(3, 2),), {"by": 2.5})], None),
        (scaled, [lambda: ((torch.ones(4, 3)[1:, ::2],), {"names": ("c",)})], None),
        (together, [lambda n=n: ((torch.ones(n, 2), torch.ones(2)), {}) for n in (2, 3, 5)], None),
        (together, [lambda: ((x := torch.ones(4, 2), x), {})], True),
        (together, [lambda: ((torch.ones(4, 1, requires_grad=True), torch.ones(2)), {})], True),
        (together, [lambda: ((torch.nn.Parameter(torch.ones(4, 1)), torch.ones(2)), {})], False),
        (together, [lambda: ((torch.ones(0, 2), torch.ones(2).expand(5, 2)[:1]), {})], True),
        (changed, [lambda: ((torch.ones(2, 3),), {})], True),
    ],
)
def test_calls_of_many_forms(function, calls, dynamic, backend: str, tmp_path: Path) -> None:
    """If it fails, what is kept of a call is not the call."""
    compiled = compile(function, backend=backend, dynamic=dynamic, fullgraph=True)
    for call in calls:
        args, kwargs = call()
        compiled(*args, **kwargs)
    compiled.save(tmp_path / "saved")
    loaded = load(tmp_path / "saved", function)
    before = len(loaded.variants)
    assert before == len(compiled.variants)
    for call in calls:
        (args, kwargs), (again, named) = call(), call()
        found, expected = loaded(*args, **kwargs), function(*again, **named)
        torch.testing.assert_close(found, expected)
        torch.testing.assert_close(args, again)
    assert len(loaded.variants) == before
    assert [*map(str, loaded.variants[0].guards)] == [*map(str, compiled.variants[0].guards)]


def test_inference_mode_and_default_dtype(tmp_path: Path) -> None:
    """If it fails, a variant is traced in another mode than the one it is for, or the mode stays."""
    compiled = compile(lambda x: x * torch.ones(3), dynamic=True)
    with torch.inference_mode():
        compiled(torch.ones(2, 3))
    torch.set_default_dtype(torch.float64)
    try:
        compiled(torch.ones(2, 3, dtype=torch.float32))
    finally:
        torch.set_default_dtype(torch.float32)
    compiled.save(tmp_path / "saved")
    loaded = load(tmp_path / "saved", compiled._compilation.fn)
    assert len(loaded.variants) == 2
    assert torch.get_default_dtype() is torch.float32 and not torch.is_inference_mode_enabled()


def test_marks_are_kept(tmp_path: Path) -> None:
    """If it fails, a size that is marked is a number in the second process."""
    compiled = compile(lambda x: x * 2)
    x = torch.ones(3, 8)
    mark_dynamic(x, 0, lo=1, hi=64)
    compiled(x)
    compiled.save(tmp_path / "saved")
    loaded = load(tmp_path / "saved", compiled._compilation.fn)
    loaded(torch.ones(64, 8))
    assert len(loaded.variants) == 1


class Thing:
    factor = 2


def test_what_can_not_be_saved_says_why(tmp_path: Path) -> None:
    """If it fails, a file is written that nobody can load, or an error names something else."""

    def refused(compiled, *args: object) -> str:
        if args:
            compiled(*args)
        with pytest.raises(ConstraintViolation) as caught:
            compiled.save(tmp_path / "saved")
        return str(caught.value)

    x = torch.ones(3)
    memory = torch.ones(4)
    assert "there are no variants" in refused(compile(program))
    assert "a policy" in refused(compile(program, policy=Policy(recompile_limit=3)), *arguments())
    assert "relations" in refused(compile(program, dynamic=lambda name, axis, size: True), *arguments())
    assert "class Thing" in refused(compile(lambda x, thing: x * thing.factor), x, Thing())
    assert "same memory" in refused(compile(lambda x, y: x + y), memory[:2], memory[2:])
    assert "no text" in refused(compile(lambda x: x[1] * 2), {1: x})
    assert "autograd follows" in refused(compile(lambda x: x * 2), x.clone().requires_grad_() * 2)
    assert not [*tmp_path.iterdir()]
    compiled = compile(program)
    compiled(*arguments())
    with pytest.raises(ConstraintViolation, match="nowhere"):
        compiled.save(tmp_path / "nowhere" / "saved")


# ---------------------------------------------------------------------- wrong files


def cut(path: Path, to: Path) -> None:
    to.write_bytes(path.read_bytes()[:-1])


def nothing(path: Path, to: Path) -> None:
    to.write_bytes(b"")


def only_a_header(path: Path, to: Path) -> None:
    to.write_bytes(artifact.MAGIC + b"\1")


def longer(path: Path, to: Path) -> None:
    to.write_bytes(path.read_bytes() + b"\0")


def another_byte(path: Path, to: Path) -> None:
    whole = bytearray(path.read_bytes())
    whole[len(whole) // 2] ^= 1
    to.write_bytes(whole)


def another_format(path: Path, to: Path) -> None:
    whole = path.read_bytes()
    start = len(artifact.MAGIC)
    to.write_bytes(whole[:start] + bytes([artifact.FORMAT + 1]) + whole[start + 1 :])


def a_pickle(path: Path, to: Path) -> None:
    torch.save(torch.ones(2), to)


def a_folder(path: Path, to: Path) -> None:
    to.mkdir()


def a_pipe(path: Path, to: Path) -> None:
    os.mkfifo(to)


def for_all_to_write(path: Path, to: Path) -> None:
    to.write_bytes(path.read_bytes())
    to.chmod(0o666)


def not_there(path: Path, to: Path) -> None:
    pass


def of_text(text: bytes):
    """A file with such a description, whole to whoever looks at its hash alone."""

    def make(path: Path, to: Path) -> None:
        whole = artifact.MAGIC + artifact.HEADER.pack(artifact.FORMAT, len(text), 0) + text
        to.write_bytes(whole + hashlib.sha256(whole).digest())

    return make


def with_change(change):
    return lambda path, to: rewritten(path, to, change)


def with_entry(value: object, *keys: object):
    def change(described, contents) -> None:
        for key in keys[:-1]:
            described = described[key]
        assert keys[-1] in described or isinstance(described, list)
        described[keys[-1]] = value

    return with_change(change)


def with_tensor(**entries: object):
    def change(described, contents) -> None:
        tensor = described["variants"][0]["arguments"]["args"]["tuple"][0]["tensor"]
        assert tensor.keys() >= entries.keys()
        tensor.update(entries)

    return with_change(change)


def other_library(described, contents) -> None:
    contents[0] = contents[0][:-1] + bytes([contents[0][-1] ^ 1])


def one_library_less(described, contents) -> None:
    del described["libraries"][0], contents[0]


def one_content_less(described, contents) -> None:
    del contents[-1]


def twice(described, contents) -> None:
    described["libraries"].append(described["libraries"][0])
    contents.append(contents[0])


def kernels_twice(described, contents) -> None:
    described["variants"][0]["libraries"].append(described["libraries"][0]["identity"])


def kernels_of_others(described, contents) -> None:
    described["variants"][0]["libraries"][0] = "0" * 32


def deep_arguments(described, contents) -> None:
    value: object = None
    for _ in range(40):
        value = {"list": [value]}
    described["variants"][0]["arguments"]["args"] = {"tuple": [value]}


ARGUMENTS = ("variants", 0, "arguments", "args")
WRONG = {
    "cut short": (cut, "truncated"),
    "empty": (nothing, "not an artifact"),
    "only a header": (only_a_header, "truncated"),
    "longer": (longer, "truncated or modified"),
    "another byte": (another_byte, "truncated or modified"),
    "another format": (another_format, f"has format {artifact.FORMAT + 1}"),
    "a pickle": (a_pickle, "not an artifact"),
    "a folder": (a_folder, "not a regular file"),
    "a pipe": (a_pipe, "not a regular file"),
    "for all to write": (for_all_to_write, "others can write to it"),
    "not there": (not_there, "cannot be read"),
    "no JSON": (of_text(b"{"), "cannot be read"),
    "a list": (of_text(b"[]"), "malformed"),
    "deep JSON": (of_text(b'{"libraries":' + b"[" * 100_000), "nested deeper"),
    "a number too long": (of_text(b'{"libraries":' + b"1" * 100_000 + b"}"), "cannot be read"),
    "NaN": (of_text(b'{"libraries":NaN}'), "cannot be read"),
    "a name twice": (of_text(b'{"libraries":[],"libraries":[]}'), "comes twice"),
    "no ASCII": (of_text(b'{"\xff":1}'), "cannot be read"),
    "no entries": (of_text(b'{"libraries":[]}'), "malformed"),
    "another torch": (with_entry("2.12.0", "torch"), "another torch: it was saved with 2.12.0"),
    "another Python": (with_entry("cpython 3.10", "python"), "another python"),
    "another symshape": (with_entry("0.0.1", "symshape"), "another symshape"),
    "another processor": (with_entry("0" * 32, "processor"), "another processor"),
    "another platform": (with_entry("linux-riscv64", "platform"), "another platform"),
    "another name": (with_entry("tests.other", "name"), "it is of tests.other"),
    "another code": (with_entry("0" * 64, "code"), "the code of .*program is not what it was"),
    "a library altered": (with_change(other_library), "another hash"),
    "a library less": (with_change(one_library_less), "kernels of a variant are not in it"),
    "a content less": (with_change(one_content_less), "those of its description"),
    "a library twice": (with_change(twice), "those of its description"),
    "a path": (with_entry("../../../etc/passwd", "libraries", 0, "identity"), "those of its description"),
    "a size below zero": (with_entry(-1, "libraries", 0, "size"), "those of its description"),
    "a size too large": (with_entry(2**62, "libraries", 0, "size"), "those of its description"),
    "a size that is none": (with_entry(True, "libraries", 0, "size"), "`size` in its description"),
    "kernels of others": (with_change(kernels_of_others), "kernels of a variant are not in it"),
    "kernels twice": (
        with_change(kernels_twice),
        "other kernels",
    ),
    "other guards": (with_entry(["x_size0 == 2"], "variants", 0, "guards"), "other guards"),
    "other facts": (with_entry([], "variants", 0, "facts"), "other facts"),
    "other functions": (with_entry([["a", "b", "0"]], "variants", 0, "functions"), "the code of a.b"),
    "no functions": (with_entry([], "variants", 0, "functions"), "program runs here, and did not"),
    "variants that are none": (with_entry([1], "variants"), "a variant in its description"),
    "a variant twice": (
        with_change(lambda described, _: described["variants"].append(described["variants"][0])),
        "variant 1 is not one here",
    ),
    "other options": (with_entry("eval", "options", "dynamic"), "`options`"),
    "another backend": (with_entry("triton", "options", "backend"), "`options`"),
    "more options": (with_change(lambda described, _: described["options"].update(policy=1)), "`options`"),
    "arguments that are none": (with_entry({"object": "os.system"}, *ARGUMENTS), "the arguments of variant 0"),
    "two kinds at once": (with_entry({"list": [], "tuple": []}, *ARGUMENTS), "the arguments of variant 0"),
    "deep arguments": (with_change(deep_arguments), "the arguments of variant 0|nested deeper"),
    "other arguments": (with_entry({"tuple": [{"int": "0x1"}]}, *ARGUMENTS), "cannot be traced here|not one here"),
    "a tensor that is not there": (with_entry({"tuple": [{"tensor": 3}]}, *ARGUMENTS), "the arguments of variant 0"),
    "a tensor too large": (with_tensor(sizes=[2**39, 2**39], strides=[2**39, 1]), "the arguments of variant 0"),
    "strides below zero": (with_tensor(strides=[-1, 1]), "the arguments of variant 0"),
    "a place below zero": (with_tensor(offset=-1), "the arguments of variant 0"),
    "fewer strides": (with_tensor(strides=[1]), "the arguments of variant 0"),
    "no dtype": (with_tensor(dtype="Tensor"), "the arguments of variant 0"),
    "an integer with a gradient": (with_tensor(dtype="int64", requires_grad=True), "the arguments of variant 0"),
    "a mark that is none": (with_tensor(marks=[[9, "dynamic", 1, 2, True, ""]]), "the arguments of variant 0"),
    "a default that is none": (with_entry("load", "variants", 0, "default"), "`default`"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_a_wrong_file_is_refused(kind: str, saved: Path, tmp_path: Path) -> None:
    """If it fails, a file is taken that is altered, none, or for something else, or the error does not say so."""
    make, expected = WRONG[kind]
    path = tmp_path / "wrong.artifact"
    make(saved, path)
    before = dict(toolchain._supplied)
    with pytest.raises(WrongArtifact, match=expected) as caught:
        load(path, program)
    assert str(caught.value).startswith(f"{path}: ") and "fix:" in str(caught.value)
    # nothing of it stays
    assert toolchain._supplied == before
    assert torch.get_default_dtype() is torch.float32


def other_program(x, y):
    return torch.softmax(x - y, -1) * 2


def test_another_function_is_refused(saved: Path) -> None:
    """If it fails, the graphs of one function are taken for another's."""
    with pytest.raises(WrongArtifact, match=r"it is of .*program, not of .*other_program"):
        load(saved, other_program)
    edited = types.FunctionType(other_program.__code__, globals(), "program")
    edited.__qualname__, edited.__module__ = program.__qualname__, program.__module__
    with pytest.raises(WrongArtifact, match="the code of"):
        load(saved, edited)


def helped_otherwise(x):
    return x / (2 + x)


def test_another_model_is_refused(tmp_path: Path, monkeypatch) -> None:
    """If it fails, a model that changed since it was saved goes on as if it had not."""
    path = tmp_path / "model"
    compiled = compile(Model(), backend="cpu", dynamic=True)
    compiled(torch.ones(2, 3))
    compiled.save(path)
    with pytest.raises(WrongArtifact, match=r"weight is torch.float32\[4\] on cpu, was torch.float32\[3\] on cpu"):
        load(path, Model(4))
    frozen = Model()
    frozen.weight.requires_grad_(False)
    with pytest.raises(WrongArtifact, match="without gradient"):
        load(path, frozen)
    other = Model()
    other.register_buffer("more", torch.ones(1))
    with pytest.raises(WrongArtifact, match=r"more is .* was not there"):
        load(path, other)
    scaled = Model()
    scaled.scale = 3
    with pytest.raises(WrongArtifact, match="other kernels"):
        load(path, scaled)
    # what `forward` calls
    with monkeypatch.context() as patch:
        patch.setitem(globals(), "helped", helped_otherwise)
        with pytest.raises(WrongArtifact, match="helped"):
            load(path, Model())
    assert len(load(path, Model()).variants) == 1


def test_the_code_of_a_function_is_known_by_what_it_does() -> None:
    """If it fails, the same code has another hash in a process with another order of sets, or elsewhere on the disk."""
    command = (
        "from frontends.pytorch.calls.example_call import source_of;"
        "import sys; lines, name = sys.argv[1:];"
        'text = \'def f(x):\\n  return x in {1, 2.5, "a", b"c", None, (1, "d")} and (lambda: 1j)\\n\';'
        "print(source_of(compile('\\n' * int(lines) + text, name, 'exec')))"
    )
    found = set()
    for seed, name, lines in ((1, "one.py", 0), (2, "two.py", 3)):
        done = subprocess.run(
            [sys.executable, "-c", command, str(lines), name], cwd=ROOT, capture_output=True, text=True, check=True,
            env={**os.environ, "PYTHONHASHSEED": str(seed), "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        found.add(done.stdout)
    assert len(found) == 1
