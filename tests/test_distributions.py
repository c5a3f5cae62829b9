"""Installed distributions are whole: every file that the code opens is in the wheel, all that documents need in the
sdist.

The wheel here is one without extensions, which takes seconds; `make check-wheel` builds and runs the others.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import textwrap
import zipfile
from pathlib import Path

import pytest

import shapes
from shapes.siblings import NAMES
from tests.distributions import build, clone, tracked, unpacked

pytest.importorskip("setuptools", minversion="77")
pytestmark = pytest.mark.shared


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The source distribution, and the wheel that is built from it."""
    work = tmp_path_factory.mktemp("distributions")
    clone(work / "clone")
    sdist = build("sdist", work / "clone", work / "dist", SYMSHAPE_PURE="1")
    source = unpacked(sdist, work)
    left = source / "build" / "lib" / "solver" / "removed_since.py"  # by an earlier build in the same folder
    left.parent.mkdir(parents=True)
    left.write_text("")
    return sdist, build("wheel", source, work / "dist", SYMSHAPE_PURE="1")


def packaged() -> set[str]:
    """The files of the packages, as a clone has them."""
    return {name for name in tracked() if name.split("/")[0] in NAMES}


def test_all_files_of_the_packages_are_in_the_wheel(built: tuple[Path, Path]) -> None:
    """All files of the packages are in the wheel."""
    with zipfile.ZipFile(built[1]) as wheel:
        names = {name for name in wheel.namelist() if name.split("/")[0] in NAMES}
    assert names == packaged()
    assert {"backends/decisions/costs.json", "backends/cpu/launcher/module.c", "frontends/py.typed"} <= names


def test_the_source_distribution_is_a_clone(built: tuple[Path, Path]) -> None:
    """Documents, tests and the list of changes are in the source distribution."""
    with tarfile.open(built[0]) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    dotted = {name for name in tracked() if name.startswith(".") and not name.startswith(".ci/")}
    assert {name for name in tracked() if name not in dotted} - names == set()
    expected = {"CHANGELOG.md", "docs/architecture.md", "tests/test_clone.py", "conftest.py", "setup.py", ".ci/run"}
    assert expected <= names


def test_a_wheel_without_extensions_is_for_every_machine(built: tuple[Path, Path]) -> None:
    """A wheel without extensions is tagged for every platform, and one with them for its own."""
    sdist, wheel = built
    assert (sdist.name, wheel.name) == (
        f"symshape-{shapes.__version__}.tar.gz",
        f"symshape-{shapes.__version__}-py3-none-any.whl",
    )
    with zipfile.ZipFile(wheel) as archive:
        (metadata,) = [name for name in archive.namelist() if name.endswith("/WHEEL")]
        assert b"Root-Is-Purelib: true" in archive.read(metadata)


OPENING = """
    import os, sys, importlib, pkgutil
    site, root = sys.argv[1:]
    opened = set()

    def note(event, arguments):
        if event == "open" and isinstance(arguments[0], (str, os.PathLike)):
            path = os.path.realpath(arguments[0])
            ours = path.startswith((site + os.sep, root + os.sep)) and ".dist-info" not in path
            if ours and not path.endswith((".py", ".pyc")):
                opened.add(path)

    sys.addaudithook(note)
    sys.modules.update(dict.fromkeys(("jax", "onnx", "onnxruntime", "hypothesis", "rich", "prompt_toolkit")))
    import torch, shapes
    assert shapes.__file__.startswith(site)
    for top in ("solver", "shapes", "backends", "frontends", "symshape"):
        for found in pkgutil.walk_packages(importlib.import_module(top).__path__, top + "."):
            if not found.name.endswith("__main__") and ".conformance" not in found.name:
                try:
                    importlib.import_module(found.name)
                except ModuleNotFoundError as error:
                    if error.name.split(".")[0] in ("solver", "shapes", "backends", "frontends"):
                        raise
    from backends.decisions.costs import Costs
    assert Costs.measured("cpu").saved
    from backends.cpu.launcher import launcher
    from backends.cpu import attention, operators, scatter
    from backends.cpu.mersenne import _is_known
    from solver.coq.library import library
    assert library()
    from frontends.pytorch import compile
    launcher(), _is_known(), attention.text(), operators.text(), scatter._run()
    compiled = compile(lambda x: (x.exp() + x.double().sum() + (x > 0).long()).sum(), backend="cpu")
    compiled(torch.randn(300))
    compiled.report().save("report.html")
    print("\\n".join(sorted(opened)))
"""

def test_every_file_that_the_code_opens_is_in_the_wheel(built: tuple[Path, Path], tmp_path: Path) -> None:
    """Every file that the code opens is in the wheel, and every file in it is opened."""
    pytest.importorskip("torch")
    site = tmp_path.resolve() / "site"
    with zipfile.ZipFile(built[1]) as wheel:
        wheel.extractall(site)
    environment = os.environ | {"PYTHONPATH": str(site), "SYMSHAPE_CACHE": str(tmp_path / "cache")}
    environment["PYTHONDONTWRITEBYTECODE"] = "1"  # bytecode is written to files under other names first
    root = Path(__file__).resolve().parents[1]
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(OPENING), str(site), str(root)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.returncode, done.stderr
    opened = set(done.stdout.split())
    data = {str(site / name) for name in packaged() if not name.endswith((".py", "py.typed"))}
    assert opened == data and len(data) > 10


@pytest.mark.thorough
def test_a_wheel_is_named_after_what_was_built(tmp_path: Path) -> None:
    """A wheel is named after what was built: with all of the extensions or none."""
    pytest.importorskip("mypyc")
    clone(tmp_path / "clone")
    wheel = build("wheel", tmp_path / "clone", tmp_path / "dist", CC="false")
    assert wheel.name.endswith("-py3-none-any.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert not [name for name in names if name.endswith((".so", "compiled.txt"))]
