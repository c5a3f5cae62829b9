"""The head of a report: in ten lines at most, why something was compiled again, and what to do.

>>> from shapes.reports.records import FunctionReport, VariantReport
>>> first = VariantReport(0, "first call")
>>> again = [VariantReport(n, f"x.shape[0] is {n + 4}, was {n + 3}", "mark_dynamic(x, 0)") for n in (1, 2)]
>>> print("\\n".join(summary(FunctionReport("attend", variants=(first, *again)))))
attend: 3 variants, 2 recompilations
  variants 1, 2: x.shape[0] is 5, was 4
    to avoid it: mark_dynamic(x, 0)
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

from shapes.reports.records import Entry, FunctionReport, VariantReport

LINES: Final = 10
LONGEST: Final = 160
NUMBER: Final = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?")


def summary(report: FunctionReport) -> list[str]:
    """The lines: counts first, then each cause once, the most frequent first, each with its remedy."""
    if report.asked and not report.variants:
        return [_of_session(report)]
    again = recompilations(report.variants)
    counts = [(len(report.variants), "variant"), (len(again), "recompilation"), (len(report.breaks), "graph break")]
    counts += [(len(report.fallbacks), "eager fallback")]
    shown = [counted(*each) for each in counts if each[0] or each[1] == "variant"]
    lines = [f"{report.name}: {', '.join(shown)}"]
    causes = [*_causes(again), *_breaks(report.breaks)]
    for place, cause in enumerate(causes):
        room = LINES - len(lines) - (place + 1 < len(causes))
        if len(cause) > room:
            left = len(causes) - place
            return [*lines, f"  and {counted(left, 'more cause')}: below"]
        lines += cause
    return lines


def _of_session(report: FunctionReport) -> str:
    """The counts of a session: its facts, and its questions by their verdicts."""
    verdicts = Counter([each.verdict for each in report.asked if each.kind == "question"])
    errors = sum([each.kind == "error" for each in report.asked])
    facts = len(report.asked) - verdicts.total() - errors
    parts = [counted(facts, "fact"), counted(verdicts.total(), "question")]
    parts += [counted(errors, "error")] if errors else []
    found = ", ".join([f"{count} {verdict}" for verdict, count in verdicts.most_common()])
    return f"{report.name}: {', '.join(parts)}" + (f" ({found})" if found else "")


def recompilations(variants: Sequence[VariantReport]) -> list[VariantReport]:
    """The variants that were compiled because a call failed a check of an earlier one."""
    return [each for each in variants if each.cause != "first call"]


def _causes(again: Sequence[VariantReport]) -> list[list[str]]:
    """Two lines for each cause. Causes that differ in numbers alone are one."""
    groups: dict[str, list[VariantReport]] = {}
    for variant in again:
        groups.setdefault(NUMBER.sub("#", variant.cause), []).append(variant)
    found = []
    for group in sorted(groups.values(), key=len, reverse=True):
        numbers = [str(each.number) for each in group]
        listed = ", ".join(numbers if len(numbers) <= 6 else [*numbers[:5], f"{len(numbers) - 5} more"])
        lines = [_cut(f"  variant{'s' * (len(group) > 1)} {listed}: {group[0].cause}")]
        if group[0].remedy:
            lines.append(_cut(f"    to avoid it: {group[0].remedy}"))
        found.append(lines)
    return found


def _breaks(breaks: Sequence[Entry]) -> list[list[str]]:
    return [[_cut(f"  graph break at {each.place or 'a line not known'}: {each.text}"),
             *([_cut(f"    to avoid it: {each.note}")] if each.note else [])] for each in breaks]  # fmt: skip


def _cut(text: str) -> str:
    line = " ".join(text.split("\n"))
    return line if len(line) <= LONGEST else line[: LONGEST - 3] + "..."


def counted(count: int, noun: str) -> str:
    """`1 variant`, `2 variants`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


__all__ = ["counted", "recompilations", "summary"]
