"""Tables as Markdown, and the sections of RESULTS.md that hold them.

>>> print(table(["engine", "µs"], [["ours", 7.25], ["baseline", 228.0]]))
| engine | µs |
|---|---:|
| ours | 7.2 |
| baseline | 228 |
"""

import argparse
import datetime
import os
import platform
import re
import sys
from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path

RESULTS = Path(__file__).parent / "RESULTS.md"
Cell = str | int | float | None


def text(cell: Cell) -> str:
    """Three significant digits are what a shared machine can repeat; whole numbers are counts and stay whole."""
    match cell:
        case None:
            return ""
        case float() if cell != cell:
            return "-"
        case float() if abs(cell) >= 100:
            return f"{cell:,.0f}"
        case float() if abs(cell) >= 10:
            return f"{cell:.0f}" if cell == round(cell) else f"{cell:.1f}"
        case float():
            return f"{cell:.2g}" if abs(cell) < 1 else f"{cell:.1f}"
        case int():
            return f"{cell:,}"
    return cell


def table(header: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    numeric = [all(not isinstance(row[i], str) or row[i][:1].isdigit() for row in rows) for i in range(len(header))]
    lines = [
        "| " + " | ".join(header) + " |",
        "|" + "|".join("---:" if right else "---" for right in numeric) + "|",
    ]
    lines += ["| " + " | ".join(map(text, row)) + " |" for row in rows]
    return "\n".join(lines)


def ratio(part: float, whole: float) -> str:
    """The ratio of `part` to `whole` in the format of the tables: `x53`, `x0.8`."""
    return f"x{text(part / whole)}" if whole else "-"


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def machine() -> str:
    """The machine's shape: what a reader needs to judge a figure, and nothing that names the machine."""
    fields: dict[str, str] = {}
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            key, _, value = line.partition(":")
            fields.setdefault(key.strip(), value.strip())
    except OSError:
        pass
    wide = [flag for flag in ("avx2", "avx512f") if flag in fields.get("flags", "").split()]
    return ", ".join(
        [
            f"{cores()} cores",
            fields.get("model name", platform.machine()),
            *wide,
            platform.system(),
            f"Python {platform.python_version()}",
        ]
    )


def versions(*distributions: str) -> str:
    found = []
    for name in distributions:
        try:
            found.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            continue
    return ", ".join(found)


def write_section(name: str, title: str, body: str, *, command: str, path: Path = RESULTS) -> None:
    """Replace the section `name` of the results, or append it; the other sections stay as they were measured."""
    stamp = datetime.date.today().isoformat()
    section = f"<!-- {name} -->\n## {title}\n\n{stamp}; {machine()}. `{command}`\n\n{body.strip()}\n<!-- end {name} -->"
    old = path.read_text() if path.exists() else "# Results\n\nEach section was written by the command it names.\n"
    pattern = re.compile(rf"<!-- {re.escape(name)} -->.*?<!-- end {re.escape(name)} -->", re.DOTALL)
    if pattern.search(old):
        new = pattern.sub(lambda _: section, old)
    else:
        new = old.rstrip() + "\n\n" + section + "\n"
    path.write_text(new)


def arguments(description: str | None) -> argparse.ArgumentParser:
    """The parser that every benchmark starts from."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="put the table into RESULTS.md")
    return parser


def publish(
    module: str,
    title: str,
    measure: Callable[[argparse.Namespace], str],
    parser: argparse.ArgumentParser,
    section: str | None = None,
) -> None:
    """Measure, print and, where asked, write: the `main` of every benchmark. Its section has its own name, unless
    `section` says which."""
    options = parser.parse_args()
    body = measure(options)
    print(body)
    if options.write:
        shown = [argument for argument in sys.argv[1:] if argument != "--write"]
        write_section(
            section or module, title, body, command=" ".join(["python", "-m", f"benchmarks.{module}", *shown])
        )
