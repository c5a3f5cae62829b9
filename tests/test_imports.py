"""`import shapes` is light, and everything torch-free imports where there is no torch."""

import importlib.util
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import shapes
import symshape

ROOT = Path(__file__).parent.parent
HEAVY = ("torch", "sympy", "z3", "numpy", "rich", "prompt_toolkit", "hypothesis")
NEEDS_TORCH = (
    *("backends.cpu", "backends.program.host", "backends.program.runtime_functions", "backends.interpreter"),
    *("backends.results", "backends.testing", "backends.triton", "frontends"),
)


def python(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    return done.stdout


@pytest.mark.parametrize("package", ["shapes", "symshape"])
def test_shapes_brings_nothing_heavy(package: str) -> None:
    """Importing shapes loads no heavy library, nor what its names stand for."""
    absent = (*HEAVY, "shapes.env", "solver")
    assert python(f"import sys, {package}; print(*[name for name in {absent} if name in sys.modules])").split() == []


def test_the_distribution_is_imported_under_its_own_name() -> None:
    """symshape has the public names of shapes, and no others."""
    assert symshape.__all__ == shapes.__all__ and symshape.__version__ == shapes.__version__
    for name in shapes.__all__:
        assert getattr(symshape, name) is getattr(shapes, name)
    assert {*shapes.__all__} <= {*dir(symshape)}
    with pytest.raises(AttributeError, match="'symshape' has no attribute 'shapeenv'"):
        _ = symshape.shapeenv


FIRST_QUESTION = """
import sys
from shapes import ShapeEnv
env = ShapeEnv()
b, s = env.sizes('b s')
env.assume(s % 16 == 0)
print(type(env.ask(b * s % 64 == 0)).__name__)
print(*sorted(name for name in sys.modules if name.startswith('solver.')))
env.ask(b * b * s >= b * s)
print(*sorted(name for name in sys.modules if name.startswith('solver.')))
"""
ON_DEMAND = ("solver.rungs.prover", "solver.integer.solving", "solver.decide.search", "solver.decide.minimal_core")
RARE = ("solver.syntax.printer", "solver.decide.minimal_core", "solver.interop", "solver.coq")


def test_a_first_question_loads_neither_rungs_nor_printer() -> None:
    """A first question loads neither proof search nor printer nor other solvers."""
    verdict, first, second = python(FIRST_QUESTION).splitlines()
    loaded, later = first.split(), second.split()
    assert verdict == "Depends" and "solver.decide.question" in loaded
    assert not set(loaded) & {*ON_DEMAND, *RARE}
    assert "solver.rungs.prover" in later and not set(later) & set(RARE)


def modules() -> list[str]:
    """Every module of ours but those that run on tensors of torch."""
    names = []
    for top in ("solver", "shapes", "backends"):
        spec = importlib.util.find_spec(top)
        if spec is None or spec.submodule_search_locations is None:
            continue
        names += [top, *(found.name for found in pkgutil.walk_packages(spec.submodule_search_locations, f"{top}."))]
    return [name for name in names if not name.startswith(NEEDS_TORCH) and not name.endswith("__main__")]


def test_everything_imports_without_torch() -> None:
    """Everything imports without torch."""
    blocked = "import sys; sys.modules['torch'] = sys.modules['triton'] = None\n"
    python(blocked + "\n".join(f"import {name}" for name in modules()))
