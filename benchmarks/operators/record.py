"""The outcome of one operator, as a line of JSON, and its verdict in the table.

>>> outcome = Outcome("abs", samples=3, right=3, elsewhere=6)
>>> outcome.verdict, Outcome.read(outcome.line()) == outcome
('full', True)
"""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
WORK = ROOT / ".operators"
"""Where a run leaves its lines, so that the next one goes on from there."""
SEEN = Path(__file__).parent / "seen.jsonl"
"""The lines that RESULTS.md was made from; the suite fails where an operator does worse."""


@dataclass
class Outcome:
    """One operator, forward or backward."""

    operator: str
    samples: int = 0
    """Samples that eager runs."""
    right: int = 0
    """Samples traced, and right on the sample itself."""
    fused: int = 0
    """Samples of which at least a part runs in kernels."""
    failed: list[str] = field(default_factory=list)
    """The samples that could not be traced, or whose graph did not run: the number of each, and the error."""
    wrong: list[str] = field(default_factory=list)
    """Differences from eager, on a sample or at sizes that the guards admit."""
    pinned: list[str] = field(default_factory=list)
    """Sizes other than 1 that became a number."""
    ones: list[str] = field(default_factory=list)
    """Sizes 1 that stay 1, as in a broadcast."""
    elsewhere: int = 0
    """Runs at other sizes that were right."""
    refused: list[str] = field(default_factory=list)
    """Other sizes that eager accepts and our guards refuse."""
    stopped: list[str] = field(default_factory=list)
    """Other sizes that eager and our guards accept, where the graph raised."""
    lenient: list[str] = field(default_factory=list)
    """Other sizes that eager refuses, where the graph went through."""
    strides: list[str] = field(default_factory=list)
    """Outputs whose strides are not those that were foreseen."""
    seconds: float = 0.0

    @property
    def verdict(self) -> str:
        if self.wrong:
            return "wrong"
        if not self.samples:
            return "no samples"
        return "full" if self.right == self.samples else "partly" if self.right else "not"

    @property
    def general(self) -> bool:
        """True if no size is pinned, and at least two other sizes, if there are any, were right and none failed."""
        if self.verdict != "full" or self.pinned or self.stopped:
            return False
        return self.elsewhere >= 2 or not self.refused

    def line(self) -> str:
        values = {name: value for name, value in asdict(self).items() if value}
        return json.dumps(values)

    @classmethod
    def read(cls, line: str) -> "Outcome":
        return cls(**json.loads(line))


def read(path: Path) -> dict[str, Outcome]:
    """The outcomes in a file by operator, the last one of each; none where there is no such file."""
    lines = path.read_text().splitlines() if path.exists() else []
    return {outcome.operator: outcome for outcome in map(Outcome.read, lines)}


def seen(direction: str) -> dict[str, Outcome]:
    """The committed outcomes of one direction, "forward" or "backward"."""
    found = {}
    for line in SEEN.read_text().splitlines() if SEEN.exists() else []:
        values = json.loads(line)
        if values.pop("direction") == direction:
            outcome = Outcome(**values)
            found[outcome.operator] = outcome
    return found


def write_seen(outcomes: dict[str, Iterable[Outcome]]) -> None:
    """Commit outcomes by direction: what is long is cut, what changes from run to run left out."""
    lines = []
    for direction, each in outcomes.items():
        for outcome in sorted(each, key=lambda outcome: outcome.operator):
            values = {"direction": direction, **json.loads(outcome.line())}
            values.pop("seconds", None)
            lines.append(json.dumps({name: cut(value) for name, value in values.items()}))
    SEEN.write_text("\n".join(lines) + "\n")


def cut(value: object) -> object:
    """The first few of many."""
    if not isinstance(value, list) or len(value) <= 3:
        return value
    return [*value[:3], f"and {len(value) - 3} more"]


def first_line(error: BaseException) -> str:
    """The first line of an error, short enough for a table."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = f"{type(error).__name__}: {lines[0] if lines else ''}"
    return text if len(text) <= 180 else f"{text[:177]}..."
