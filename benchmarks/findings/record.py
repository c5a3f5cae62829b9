"""The findings of a survey, as lines of JSON.

>>> one = Finding("sizes", "Call((Input((1,)),))", "((1,),)", "((2,),)")
>>> Examined("addmv", 300, 0, [one]).line()[:60]
'{"operator": "addmv", "calls": 300, "unsupported": 0, "findi'
"""

import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
WORK = ROOT / ".findings"  # not in build/, which compiling empties
SEEN = Path(__file__).parent / "seen.jsonl"

KINDS = {
    "sizes": "other sizes",
    "accepts": "the rule accepts what the kernel refuses",
    "refuses": "the rule refuses what the kernel accepts",
    "dtype": "another dtype",
    "strides": "other strides",
    "kernel": "the kernel itself",
    "crash": "the process dies",
}
"""The kinds of difference between a rule and a kernel, worst first."""


@dataclass
class Finding:
    """One call on which they differ, and what each does."""

    kind: str
    call: str
    kernel: str
    rule: str
    where: str = ""
    """The library's rule, where it has several."""


@dataclass
class Examined:
    """The findings about one operator."""

    operator: str
    calls: int = 0
    unsupported: int = 0
    """Calls that the rule has no answer for: no rule, or data needed."""
    findings: list[Finding] = field(default_factory=list)
    failed: str = ""
    """The reason for which it could not be examined."""

    def line(self) -> str:
        return json.dumps(asdict(self))


def read(path: Path) -> Iterator[Examined]:
    """The lines of a file, none where there is no such file."""
    if not path.exists():
        return
    for line in path.read_text().splitlines():
        values = json.loads(line)
        values.pop("survey", None)
        findings = [Finding(**one) for one in values.pop("findings")]
        yield Examined(**values, findings=findings)


def under_way(where: str, call: str) -> None:
    """Note the call that comes next, for the case that this process does not survive it."""
    WORK.mkdir(parents=True, exist_ok=True)
    (WORK / f"under_way.{os.getpid()}").write_text(f"{where}\n{call}")


def last_under_way(process: int) -> tuple[str, str]:
    """The call that a process noted last; the note is removed."""
    note = WORK / f"under_way.{process}"
    where, _, call = note.read_text().partition("\n") if note.exists() else ("", "", "")
    note.unlink(missing_ok=True)
    return where, call


def first_line(error: object) -> str:
    """The first line of an error, short enough for a table."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = lines[0] if lines else ""
    return f"{type(error).__name__}: {text}" if len(text) <= 110 else f"{type(error).__name__}: {text[:107]}..."
