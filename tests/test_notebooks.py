"""Notebooks: executed as they are, and the same as the text they are paired with."""

import html
import json
import os
import re
import sys
from pathlib import Path

import pytest

nbclient = pytest.importorskip("nbclient")
jupytext = pytest.importorskip("jupytext")
nbformat = pytest.importorskip("nbformat")

ROOT = Path(__file__).parent.parent
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))

NEEDS = {"pytorch": ("torch",), "serve": ("torch",), "rules": ("hypothesis", "numpy")}
STEPS = {
    "ask": ("depends", "true at", "false at", "always", "because", "s % 16 == 0", "b % 4 == 0", "never"),
    "embed": ("it alone rejects", "columns % 4 == 0", "fails at columns=7", "def check(shape):", "In [1], line"),
    "rules": ("the operator gives", "the operator refuses", "The smallest call", "length - 7"),
    "pytorch": ("first call", "fails at x.shape[1]=600 (In [1], line", "2 variants", "graph and kernels", "k0: for"),
    "serve": ("refuted", "4112", "smallest sizes", "proven", "(True, True)"),
}
"""The outputs that each notebook shows on its way."""


def pages(notebook: nbformat.NotebookNode) -> list[str]:
    """The HTML of the cells without sizes of witnesses, counts of random calls, and kernels, which depend on the
    processor."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    found = [str(output["data"]["text/html"]) for output in outputs if "text/html" in output.get("data", {})]
    varying = re.compile(r"=-?\d+|\d+ calls \(.*?numbers [-.\d]+|<details>.*?</details>", re.DOTALL)
    return [varying.sub("=...", page) for page in found]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_notebook_is_its_text(path: Path) -> None:
    """The notebook and its reviewed text say the same (`make notebooks` pairs them)."""
    cells = [(cell.cell_type, cell.source) for cell in jupytext.read(path).cells]
    assert cells == [(cell.cell_type, cell.source) for cell in jupytext.read(path.with_suffix(".py")).cells]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_notebook_runs(path: Path) -> None:
    """The notebook runs without an error, and shows each verdict with its evidence."""
    for library in NEEDS.get(path.stem, ()):
        pytest.importorskip(library)
    notebook = jupytext.read(path)
    shown = pages(notebook)
    written = json.loads(path.read_text(encoding="utf-8"))
    client = nbclient.NotebookClient(notebook, timeout=800, resources={"metadata": {"path": str(ROOT)}})
    client.execute(env=os.environ | {"PYTHONPATH": str(ROOT)})
    assert shown
    made_by = str(written["metadata"].get("language_info", {}).get("version", ""))
    # graphs and lines of other Pythons may read otherwise
    if made_by.split(".")[:2] == list(map(str, sys.version_info[:2])):
        assert pages(notebook) == shown


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_notebook_has_every_step(path: Path) -> None:
    """A notebook is committed with its outputs, from the question to the answer."""
    notebook = jupytext.read(path)
    outputs = [str(output) for cell in notebook.cells for output in cell.get("outputs", [])]
    text = html.unescape("\n".join([*outputs, *[cell.source for cell in notebook.cells]]))
    for step in STEPS[path.stem]:
        assert step in text
    assert "ipykernel" not in text, "a temporary file is named"
