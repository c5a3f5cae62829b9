"""The tour that a newcomer sees first."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_demo_shows_figures_peers_and_three_questions() -> None:
    """If it fails, `make demo` ends in an error, or without what it promises."""
    file = ROOT / "benchmarks" / "corpus" / "unbacked-top-p.jsonl.gz"
    command = [sys.executable, "-m", "benchmarks.demo", str(file)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    for words in ("always or never, decided", "Which rung answered", "Beside peers", "torch"):
        assert words in done.stdout
    assert done.stdout.count("certificate checked") == 2
    assert done.stdout.count("depends: true at") == 1
    assert "variant 1: guard `tokens_size1 <= 64` fails at tokens_size1=80" in done.stdout
    assert done.stdout.count("│ traced  │") == 2
    assert "NO" not in done.stdout
