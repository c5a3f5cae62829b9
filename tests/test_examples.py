"""The worked examples of the documentation run, and do what they say."""

from __future__ import annotations

import doctest
import importlib.util
import itertools
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from shapes.errors import ShapeError

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted((ROOT / "docs" / "examples").glob("*.py"))


def loaded(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"example_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path: Path) -> None:
    """Each example shows what the engine does."""
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    assert doctest.testmod(loaded(path), optionflags=options).failed == 0


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_need_nothing_else(path: Path) -> None:
    """The examples need no framework."""
    blocked = "import sys\nfor name in ('torch', 'numpy', 'jax', 'onnx'): sys.modules[name] = None\n"
    program = f"{blocked}import runpy; runpy.run_path({str(path)!r})"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr


# ---------------------------------------------------------------------- the array compiler

compiler = loaded(ROOT / "docs" / "examples" / "array_compiler.py")


def layer() -> object:
    graph = compiler.Graph()
    x, weight = graph.input("x", "rows", "inner"), graph.input("weight", "inner", "columns")
    bias = graph.input("bias", "bias_rows", "columns")
    hidden = compiler.relu(x @ weight + bias)
    return compiler.Compiled(graph, compiler.total(hidden, 0))


Numbers = list[float]


def expected(x: Numbers, weight: Numbers, bias: Numbers, rows: int, inner: int, columns: int) -> Numbers:
    """The same, written manually."""
    result = [0.0] * columns
    for r, c in itertools.product(range(rows), range(columns)):
        value = sum([x[r * inner + k] * weight[k * columns + c] for k in range(inner)])
        result[c] += max(value + (bias[c] if len(bias) == columns else bias[r * columns + c]), 0)
    return result


def test_one_variant_serves_many_sizes() -> None:
    """One variant of the example serves many sizes, with right results."""
    program = layer()
    calls = 0
    for rows, inner, columns, whole in itertools.product((4, 1, 2, 5), (1, 3), (4, 1, 2), (False, True)):
        bias_rows = rows if whole else 1
        arrays = {
            name: compiler.Array(sizes, [(7 * i + place) % 5 - 2 for i in range(sizes[0] * sizes[1])])
            for place, (name, sizes) in enumerate(
                {"x": (rows, inner), "weight": (inner, columns), "bias": (bias_rows, columns)}.items()
            )
        }
        found = program(**arrays)
        assert found.sizes == (columns,)
        lists = [array.elements for array in arrays.values()]
        assert found.elements == expected(*lists, rows, inner, columns)
        calls += 1
    assert calls == 48 and len(program.variants) == 2
    # a bias of one row or of all of them: one code for both, as broadcasting did not pay for a guard
    assert "if (bias_rows) != 1 else 0" in program.variants[0].source
    for variant in program.variants:
        assert "bias_rows == rows or rows == 1 or bias_rows == 1" in {str(guard) for guard in variant.env.guards()}


def test_what_the_facts_settle_is_not_guarded() -> None:
    """A decision that holds for every size is taken without a check."""
    graph = compiler.Graph()
    x, y = graph.input("x", "rows", 64), graph.input("y", 1, 64)
    program = compiler.Compiled(graph, compiler.reshape(x + y, -1, 16))
    found = program(x=compiler.Array((3, 64), range(192)), y=compiler.Array((1, 64), range(64)))
    assert found.sizes == (12, 16) and found.elements[64:67] == [64, 66, 68]
    (variant,) = program.variants
    assert variant.env.guards() == ()
    assert variant.decisions == ["v2: 4 at a time", "y: 32-bit offsets"]


def test_sizes_that_do_not_fit_are_refused() -> None:
    """Arrays that do not go together are refused."""
    graph = compiler.Graph()
    x, y = graph.input("x", "m", "k"), graph.input("y", "n", "p")
    program = compiler.Compiled(graph, x @ y)
    with pytest.raises(ShapeError, match="mm"):
        program(x=compiler.Array((2, 3), range(6)), y=compiler.Array((4, 1), range(4)))
    assert program(x=compiler.Array((1, 2), [1, 2]), y=compiler.Array((2, 1), [3, 4])).elements == [11]
    with pytest.raises(TypeError, match="x has 1 axes"):
        program(x=compiler.Array((3,), range(3)), y=compiler.Array((4, 1), range(4)))
