"""A clone is whole: the recorded questions travel with it, and nothing in it points outside."""

import gzip
import json
import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
CORPUS = ROOT / "benchmarks" / "corpus"


def stated_counts() -> dict[str, tuple[int, ...]]:
    """STATS.md's table by file: sessions, symbols, assumes, asks, repeats, always, never, depends, unknown."""
    rows = {}
    for line in (CORPUS / "STATS.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 10 and cells[1].isdigit():
            rows[cells[0].strip("* ")] = tuple(int(cell) for cell in cells[1:])
    return rows


def counted(path: Path) -> tuple[int, ...]:
    count: Counter[str] = Counter()
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in map(json.loads, file):
            count[line["op"]] += 1
            if line["op"] == "ask":
                count[line["truth"]] += 1
                count["repeats"] += line["count"]
    keys = ("session", "symbol", "assume", "ask", "repeats", "always", "never", "depends", "unknown")
    return tuple(count[key] for key in keys)


def test_the_corpus_is_what_its_statistics_say() -> None:
    """The corpus has the files that its statistics say, unaltered."""
    stated = stated_counts()
    total = stated.pop("all")
    found = {path.name.removesuffix(".jsonl.gz"): counted(path) for path in CORPUS.glob("*.jsonl.gz")}
    assert found == stated
    assert tuple(map(sum, zip(*found.values(), strict=True))) == total


def tracked_text() -> list[Path]:
    """The files that a clone would have; without git, as in an unpacked archive, there is nothing to look at."""
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listing.returncode:
        pytest.skip("not a git checkout")
    names = [name for name in listing.stdout.split("\0") if name and not name.endswith((".gz", ".png", ".ipynb"))]
    return [ROOT / name for name in names if (ROOT / name).is_file()]


def test_nothing_points_outside_the_clone() -> None:
    """No file names a path that another machine does not have."""
    outside = re.compile(r"(?<![\w.])/(?:work|root)/|\.\./shared")
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in tracked_text()
        if path != Path(__file__)
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1)
        if outside.search(line)
    ]
    assert not found
