"""A wheel and a source distribution as a user gets them: built, installed without anything else, and run.

    python -m tests.distributions

builds the source distribution, and from that a wheel with extensions and one without. It installs each into an empty
virtual environment (no torch), and runs there the conformance suite, a question, the prompt, and a replay beside the
checkout's.
"""

from __future__ import annotations

import os
import re
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
BUILD: Final = "import sys; from setuptools import build_meta; print(getattr(build_meta, sys.argv[1])(sys.argv[2]))"
REPLAY: Final = """
import contextlib, io, sys, time
begin = time.process_time()
from shapes.prompt.cli import main
with contextlib.redirect_stdout(io.StringIO()):
    assert main(["replay", "--no-solver", *sys.argv[1:]]) == 0
import shapes, solver.terms.expr
print(time.process_time() - begin, solver.terms.expr.__file__)
"""
TURNS: Final = 5
"""The number of replays of each, in turn; the fastest counts."""


def tracked() -> list[str]:
    """The files that a clone has; in an unpacked archive all that are there."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if not listed.returncode:
        return sorted(name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file())
    found = [str(path.relative_to(ROOT)) for path in ROOT.rglob("*") if path.is_file()]
    return sorted(name for name in found if not re.search(r"__pycache__|\.so$|\.egg-info/|(^|/)\.(?!ci)|^build/", name))


def clone(folder: Path) -> None:
    for name in tracked():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, folder / name)


def build(kind: str, source: Path, into: Path, *, python: str = sys.executable, **environment: str) -> Path:
    """The `sdist` or `wheel` of an unpacked source, by this Python's setuptools."""
    into.mkdir(exist_ok=True)
    variables = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "SYMSHAPE_PURE")}
    done = subprocess.run(
        [python, "-c", BUILD, f"build_{kind}", str(into)],
        cwd=source,
        env=variables | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.returncode, done.stdout + done.stderr
    return into / done.stdout.strip().splitlines()[-1]


def unpacked(sdist: Path, into: Path) -> Path:
    with tarfile.open(sdist) as archive:
        archive.extractall(into, filter="data")
    return into / sdist.name.removesuffix(".tar.gz")


class Environment:
    """An empty virtual environment, and programs in it that see nothing of the checkout."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
        variables = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "SYMSHAPE"))}
        self.variables = variables | {"PATH": f"{folder / 'bin'}{os.pathsep}{variables['PATH']}"}

    def run(self, *command: str, **options: str) -> str:
        """The output of a program."""
        done = subprocess.run(
            [str(self.folder / "bin" / command[0]), *command[1:]],
            cwd=self.folder,
            env=self.variables,
            capture_output=True,
            text=True,
            check=False,
            input=options.get("typed", ""),
        )
        assert not done.returncode, f"{command} ended with {done.returncode}:\n{done.stdout}{done.stderr}"
        return done.stdout

    def install(self, *what: str) -> None:
        """Install by the pip of this Python: the environment needs none."""
        pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
        options = ["--no-compile", "--constraint", str(ROOT / "constraints.txt")]
        target = ["--python", str(self.folder / "bin" / "python"), "install"]
        subprocess.run([*pip, *target, *options, *what], cwd=self.folder, check=True, stderr=subprocess.DEVNULL)


def exercised(environment: Environment, distribution: Path, extensions: bool) -> None:
    """Install a distribution, and run its entry points."""
    environment.install(f"{distribution}[prompt,testing]", "pytest")
    form = "compiled" if extensions else "not compiled"
    version = environment.run("shapes", "--version")
    assert f"(solver {form}," in version, f"{distribution.name}: {version}"
    assert environment.run("python", "-c", "import importlib.util as u; print(u.find_spec('torch'))") == "None\n"
    assert "always" in environment.run("shapes", "ask", "--given", "s % 16 == 0", "s % 8 == 0")
    said = environment.run("shapes", typed="sizes b s\nassume s % 16 == 0\n(b*s) % 8 == 0 ?\n")
    assert "always" in said, said
    suite = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "--pyargs", "shapes.testing.conformance")
    print(f"{distribution.name}: {version.strip()}; conformance: {environment.run('python', *suite).splitlines()[-1]}")


def replaying(environment: Environment) -> tuple[float, float | None]:
    """Seconds that a replay takes, installed and in the checkout; None where that is not compiled."""
    files = sorted(str(path) for path in (ROOT / "benchmarks" / "corpus").glob("*.jsonl.gz"))[::6]
    installed, checkout = [], []
    for _ in range(TURNS):
        seconds, _ = environment.run("python", "-c", REPLAY, *files).split()
        installed.append(float(seconds))
        done = subprocess.run(
            [sys.executable, "-c", REPLAY, *files], cwd=ROOT, capture_output=True, text=True, check=True
        )
        seconds, file = done.stdout.split()
        if not file.endswith(".py"):
            checkout.append(float(seconds))
    return statistics.median(installed), statistics.median(checkout) if checkout else None


def main() -> None:
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        tools = Environment(work / "tools")
        needed = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
        tools.install(*needed)
        python = str(tools.folder / "bin" / "python")
        clone(work / "clone")
        sdist = build("sdist", work / "clone", work / "dist", python=python)
        source = unpacked(sdist, work / "source")
        wheel = build("wheel", source, work / "dist", python=python)
        pure = build("wheel", unpacked(sdist, work / "again"), work / "dist", python=python, SYMSHAPE_PURE="1")
        assert not wheel.name.endswith("-none-any.whl"), f"{wheel.name}: no C compiler, or mypyc objects"
        print(f"built in {time.perf_counter() - begin:.0f} s", flush=True)
        compiled, written = Environment(work / "compiled"), Environment(work / "written")
        exercised(compiled, wheel, extensions=True)
        exercised(written, pure, extensions=False)
        installed, checkout = replaying(compiled)
        beside = "not compiled" if checkout is None else f"{checkout:.2f} s"
        print(f"replay of recorded questions: installed {installed:.2f} s, the checkout {beside}")
    print(f"{time.perf_counter() - begin:.0f} s in all")


if __name__ == "__main__":
    main()
