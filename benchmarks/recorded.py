"""Recorded sessions with their labels, which the engine's own replay never reads.

>>> len(list(sessions(CORPUS / "opinfo-unary.jsonl.gz")))
1
"""

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CORPUS = Path(__file__).parent / "corpus"


@dataclass(frozen=True, slots=True)
class Session:
    file: str
    name: str
    lines: list[dict[str, Any]]

    @property
    def asks(self) -> int:
        return sum(line["op"] == "ask" for line in self.lines)


def sessions(path: Path) -> Iterator[Session]:
    """Each session of a file, without its `session` line and without lines that other benchmarks put there."""
    label = path.name.removesuffix(".gz").removesuffix(".jsonl")
    name, lines = None, []
    with gzip.open(path, "rt") if path.suffix == ".gz" else open(path) as file:
        for line in map(json.loads, file):
            if line["op"] == "session":
                if name is not None:
                    yield Session(label, name, lines)
                name, lines = line.get("name", label), []
            elif line["op"] in ("symbol", "assume", "ask"):
                lines.append(line)
    if name is not None:
        yield Session(label, name, lines)


def corpus_files() -> list[Path]:
    return sorted(CORPUS.glob("*.jsonl.gz"))
