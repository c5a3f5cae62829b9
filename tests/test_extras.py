"""Without the library of an extra, errors name the command that installs it."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ASKED = "from shapes import ShapeEnv; env = ShapeEnv(); s = env.symbol('s', lo=1); "
CALL = "from shapes.testing.calls import Input; from shapes.testing.references.arrays import "
CONVERT = ASKED + "from frontends.jax import to_jax; to_jax(env, (s,))"
COMPILE = "import frontends.pytorch.dynamo.compiled"
MISSING = [
    ("torch", "import frontends.pytorch", "frontends.pytorch needs torch: pip install 'symshape[torch]'"),
    ("torch", COMPILE, "frontends.pytorch needs torch: pip install 'symshape[torch]'"),
    ("torch", "from backends import named; named('cpu')", "the backend cpu needs torch: pip install 'symshape[torch]'"),
    ("onnx", "import frontends.onnx", "frontends.onnx needs onnx: pip install 'symshape[onnx]'"),
    ("onnx", "import frontends.onnx_model", "frontends.onnx needs onnx: pip install 'symshape[onnx]'"),
    ("numpy", "import frontends.onnx", "frontends.onnx needs numpy: pip install 'symshape[onnx]'"),
    ("numpy", CALL + "array_of; array_of(Input((2,)))", "needs numpy: pip install 'symshape[testing]'"),
    ("jax", CALL + "jax_array_of; jax_array_of(Input((2,)))", "needs jax: pip install 'symshape[jax]'"),
    ("jax", CONVERT, "frontends.jax needs jax: pip install 'symshape[jax]'"),
    ("hypothesis", "from shapes.testing import shapes", "needs Hypothesis: pip install 'symshape[testing]'"),
    ("hypothesis", "from shapes.testing import infer_rule", "needs Hypothesis: pip install 'symshape[testing]'"),
]  # fmt: skip


def without(library: str, program: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", f"import sys; sys.modules[{library!r}] = None; {program}"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)


@pytest.mark.parametrize(("library", "program", "told"), MISSING)
def test_a_missing_library_names_the_command(library: str, program: str, told: str) -> None:
    """The last line of the error is the command, and the error is an ImportError."""
    done = without(library, program)
    last = done.stderr.strip().splitlines()[-1]
    assert done.returncode and last.startswith("ModuleNotFoundError: ") and last.endswith(told), done.stderr


@pytest.mark.parametrize(
    ("library", "arguments", "told"),
    [
        ("onnx", ["onnx", "model.onnx"], "frontends.onnx needs onnx: pip install 'symshape[onnx]'"),
        ("torch", ["certify", "program.pt2"], "pip install 'symshape[torch]'"),
    ],
)
def test_a_command_says_what_is_missing(library: str, arguments: list[str], told: str, tmp_path: Path) -> None:
    """Commands end in one line, without a traceback."""
    file = tmp_path / arguments[1]
    file.write_bytes(b"PK")
    program = f"from shapes.prompt.cli import main; sys.exit(main({[arguments[0], str(file)]}))"
    done = without(library, program)
    assert done.returncode and told in done.stderr and "Traceback" not in done.stderr, done.stderr


def test_the_prompt_says_what_is_missing() -> None:
    """At a terminal without its libraries the prompt names the command and what works without."""
    program = (
        "import importlib.util as u; found = u.find_spec; u.find_spec = lambda name: None if name == 'prompt_toolkit'"
        " else found(name); sys.stdin.isatty = lambda: True; from shapes.prompt.cli import main; sys.exit(main([]))"
    )
    done = without("no_such_library", program)
    assert done.returncode == 69 and "prompt_toolkit: pip install 'symshape[prompt]'" in done.stderr, done.stderr


def test_an_error_inside_of_an_installed_library_stays_as_it_is(tmp_path: Path) -> None:
    """A library that is there but lacks a library of its own is not called missing."""
    (tmp_path / "torch.py").write_text("import no_such_part\n")
    program = f"sys.path.insert(0, {str(tmp_path)!r}); import frontends.pytorch"
    done = without("unrelated", program)
    assert "No module named 'no_such_part'" in done.stderr and "pip install" not in done.stderr
