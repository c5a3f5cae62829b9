"""`import shapes` is light, and everything torch-free imports where there is no torch."""

import importlib.util
import pkgutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
HEAVY = ("torch", "sympy", "z3", "numpy", "rich", "prompt_toolkit", "hypothesis")
NEEDS_TORCH = (
    *("backends.cpu", "backends.program.host", "backends.interpreter", "backends.results", "backends.testing"),
    *("backends.triton", "frontends"),
)


def python(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    return done.stdout


def test_shapes_brings_nothing_heavy() -> None:
    """If it fails, every program that imports shapes pays for a library that it may never use."""
    assert python(f"import sys, shapes; print(*[name for name in {HEAVY} if name in sys.modules])").split() == []


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
    """If it fails, the author of another compiler must install torch after all."""
    blocked = "import sys; sys.modules['torch'] = sys.modules['triton'] = None\n"
    python(blocked + "\n".join(f"import {name}" for name in modules()))
