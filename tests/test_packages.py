"""The packages of the project are found as ours, or the stranger in their place is named."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import shapes
from shapes.prompt.cli import main
from shapes.siblings import NAMES

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packages without the rest, as they are installed."""
    folder = tmp_path_factory.mktemp("site")
    for name in NAMES:
        ignored = shutil.ignore_patterns("__pycache__", "*.so", "pytorch", "jax", "testing")
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    shutil.copytree(ROOT / "symshape", folder / "symshape", ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def run(program: str, path: list[Path], folder: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, path))}
    command = [sys.executable, "-c", program]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def complaint(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode, "nothing was noticed"
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError: "), done.stderr
    return last


@pytest.mark.parametrize("imported", ["shapes", "backends", "frontends", "symshape"])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", ["module", "package"])
def test_a_stranger_first_on_the_path_is_named(
    project: Path, tmp_path: Path, imported: str, name: str, kind: str
) -> None:
    """An error about a module called solver.py beside the user's script names both files."""
    stranger = tmp_path / (f"{name}.py" if kind == "module" else f"{name}/__init__.py")
    stranger.parent.mkdir(exist_ok=True)
    stranger.write_text("raise SystemExit('it was run')\n" if name != imported else "x = 1\n")
    done = run(f"import {imported}", [tmp_path, project], tmp_path)
    if name == imported:
        assert not done.returncode, "what the user asks for is the stranger"
        return
    said = complaint(done)
    assert str(stranger) in said and f"`{name}`" in said and f"PYTHONPATH={project}" in said


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("made", ["imported", "made by hand"])
def test_a_stranger_that_is_imported_already_is_named(project: Path, tmp_path: Path, name: str, made: str) -> None:
    """An error names a module that was imported before as well."""
    imported = "shapes" if name != "shapes" else "frontends"
    (tmp_path / f"{name}.py").write_text("")
    by_hand = f"import types; sys.modules[{name!r}] = types.ModuleType({name!r})"
    first = f"import {name}" if made == "imported" else by_hand
    program = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); {first}; sys.path.pop(0); import {imported}"
    said = complaint(run(program, [project], ROOT.parent))
    assert f"`{name}`" in said and (str(tmp_path / f"{name}.py") in said or made == "made by hand")


@pytest.mark.parametrize("name", NAMES)
def test_a_package_that_another_distribution_has_overwritten_is_named(
    project: Path, tmp_path: Path, name: str
) -> None:
    """An error names a package that another distribution has overwritten."""
    imported = "shapes" if name != "shapes" else "frontends"
    installed = tmp_path / "site"
    shutil.copytree(project, installed)
    (installed / name / "__init__.py").write_text("'''Solves crosswords.'''\n")
    for distribution in ("symshape", "crosswords"):
        folder = installed / f"{distribution}-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n")
        (folder / "RECORD").write_text(f"{name}/__init__.py,,\n")
    said = complaint(run(f"import {imported}", [installed], tmp_path))
    assert str(installed / name / "__init__.py") in said and "crosswords" in said and "--force-reinstall" in said


def test_nobody_is_taken_for_a_stranger(project: Path, tmp_path: Path) -> None:
    """A folder of documents called `solver`, or a link to the project, is no error."""
    (tmp_path / "solver").mkdir()
    (tmp_path / "link").symlink_to(project)
    program = "import frontends, backends, shapes; from shapes import ShapeEnv; ShapeEnv()"
    for path in (project, tmp_path / "link"):
        done = run(program, [tmp_path, path], tmp_path)
        assert not done.returncode, done.stderr


def test_one_version(capsys: pytest.CaptureFixture[str]) -> None:
    """`--version` prints the one version, which shapes/__init__.py alone states."""
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert not ended.value.code
    said = capsys.readouterr().out
    assert re.fullmatch(r"symshape \d+\.\d+\.\d+ \(solver (compiled|not compiled), Python [^)]*\)\n", said)
    assert f" {shapes.__version__} " in said
    stated = re.findall(rf"^.*\b{re.escape(shapes.__version__)}\b.*$", (ROOT / "setup.cfg").read_text(), re.MULTILINE)
    assert stated == [], "the version stands in shapes/__init__.py alone"


@pytest.mark.parametrize("name", NAMES)
def test_types_are_published(name: str) -> None:
    """Packages publish their types for mypy."""
    assert (ROOT / name / "py.typed").is_file()
