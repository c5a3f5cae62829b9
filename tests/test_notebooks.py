"""Notebooks: executed as they are, and the same as the text they are paired with."""

import re
from pathlib import Path

import pytest

nbclient = pytest.importorskip("nbclient")
jupytext = pytest.importorskip("jupytext")
nbformat = pytest.importorskip("nbformat")

ROOT = Path(__file__).parent.parent
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def pages(notebook: nbformat.NotebookNode) -> list[str]:
    """The HTML of the cells, but for the sizes of witnesses: any that show the same would do."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    found = [str(output["data"]["text/html"]) for output in outputs if "text/html" in output.get("data", {})]
    return [re.sub(r"=-?\d+", "=...", page) for page in found]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_notebook_is_its_text(path: Path) -> None:
    """The notebook and its reviewed text say the same (`make notebooks` pairs them)."""
    cells = [(cell.cell_type, cell.source) for cell in jupytext.read(path).cells]
    assert cells == [(cell.cell_type, cell.source) for cell in jupytext.read(path.with_suffix(".py")).cells]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_notebook_runs(path: Path) -> None:
    """The notebook runs without an error, and shows each verdict with its evidence."""
    notebook = jupytext.read(path)
    shown = pages(notebook)
    nbclient.NotebookClient(notebook, timeout=800, resources={"metadata": {"path": str(ROOT)}}).execute()
    assert shown
    assert pages(notebook) == shown


def test_the_first_notebook_walks_from_a_question_to_its_core_and_counterexample() -> None:
    """The first notebook has every step from a question to its core and counterexample."""
    notebook = jupytext.read(ROOT / "notebooks" / "ask.ipynb")
    text = "\n".join(str(output) for cell in notebook.cells for output in cell.get("outputs", []))
    for word in ("depends", "true at", "false at", "always", "because", "s % 16 == 0", "b % 4 == 0", "never"):
        assert word in text
