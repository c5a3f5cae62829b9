"""The tour that a newcomer sees first."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SCREENS = 3 * 50
WITHOUT_NUMPY = """
import runpy, sys
sys.modules["numpy"] = None  # as where `make demo` installed what it needs
runpy.run_module("benchmarks.demo", run_name="__main__", alter_sys=True)
"""


def test_the_demo_shows_figures_baselines_and_three_questions() -> None:
    """`make demo` shows all of its parts, and is short enough to be read."""
    file = ROOT / "benchmarks" / "corpus" / "unbacked-top-p.jsonl.gz"
    # what torch says of Python 3.13.0
    ignored = "ignore:Guards may run slower:RuntimeWarning"
    command = [sys.executable, "-W", ignored, "-c", WITHOUT_NUMPY, str(file)]
    variables = {**os.environ, "COLUMNS": "100"}
    done = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, check=False, timeout=800)
    assert done.returncode == 0, done.stderr
    for words in ("always or never, decided", "Which rung answered", "Compared with the baselines", "torch"):
        assert words in done.stdout
    assert done.stdout.count("certificate checked") == 2
    assert done.stdout.count("depends: true at") == 1
    assert "variant 1: guard `tokens.shape[1] <= 64` fails at tokens.shape[1]=80" in done.stdout
    assert done.stdout.count("│ traced  │") == 2
    assert "NO" not in done.stdout
    assert "A training step, ms" in done.stdout or "operators run one by one" in done.stdout
    lines = done.stdout.splitlines()
    assert len(lines) + 8 <= SCREENS, "8 more rungs answer where all questions are asked"
    assert max(map(len, lines)) <= 100
    assert done.stderr == ""
