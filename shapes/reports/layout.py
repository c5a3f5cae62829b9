"""A report laid out for its page: entries under their source lines, equal ones of several variants once.

>>> from shapes.reports.records import Entry, Excerpt, FunctionReport, VariantReport
>>> guard = Entry("guard", "s >= 2", file="model.py", line=7)
>>> variants = tuple([VariantReport(n, "first call", entries=(guard,)) for n in (0, 1)])
>>> (section,) = laid_out([FunctionReport("attend", variants=variants, excerpts=(Excerpt("model.py", (7,), ("x",)),))])
>>> (row,) = section.files[0].rows
>>> row.number, row.text, [(each.entry.text, each.variants) for each in row.shown]
(7, 'x', [('s >= 2', (0, 1))])
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import PurePath
from typing import Final

from shapes.reports.records import Entry, FunctionReport, Kind, VariantReport
from shapes.reports.summary import counted, summary

GUARD: Final = re.compile(r"guard `(.*?)` fails")
NAMES: Final[Mapping[Kind, str]] = {
    "declared": "declared",
    "assumption": "stated",
    "guard": "guard",
    "assert": "run-time check",
    "specialization": "specialized",
    "break": "graph break",
    "kernel": "kernel",
    "fallback": "eager fallback",
    "question": "question",
    "error": "error",
}
"""The kinds of entries, for people, in the order of the page's filter."""


@dataclass(frozen=True, slots=True)
class Shown:
    """An entry on the page: the variants that have it, and the name that links to it."""

    entry: Entry
    variants: tuple[int, ...]
    anchor: str


@dataclass(slots=True)
class Row:
    """A source line with its entries; `after_gap` if lines are left out before it."""

    number: int
    text: str
    after_gap: bool = False
    shown: list[Shown] = field(default_factory=list)

    @property
    def kernels(self) -> list[Shown]:
        """The decisions of kernels, which are folded."""
        return [each for each in self.shown if each.entry.kind == "kernel"]

    @property
    def others(self) -> list[Shown]:
        return [each for each in self.shown if each.entry.kind != "kernel"]


@dataclass(frozen=True, slots=True)
class File:
    """A source file."""

    path: str
    anchor: str
    rows: list[Row]

    @property
    def name(self) -> str:
        return PurePath(self.path).name or self.path


@dataclass(frozen=True, slots=True)
class Step:
    """A variant in the timeline: seconds after the first one, and the guard that failed, where it is on the page."""

    variant: VariantReport
    anchor: str
    after: float | None
    failed: str
    link: str
    counts: str


@dataclass(frozen=True, slots=True)
class Section:
    """One function."""

    report: FunctionReport
    anchor: str
    head: list[str]
    steps: list[Step]
    files: list[File]
    elsewhere: Row
    """The entries without a line."""
    counts: Counter[Kind]


def laid_out(reports: Sequence[FunctionReport]) -> list[Section]:
    """A section for each function."""
    taken: set[str] = set()
    return [_section(each, _free(_slug(each.name), taken)) for each in reports]


def _section(report: FunctionReport, anchor: str) -> Section:
    shown = _merged(report, anchor)
    files: dict[str, dict[int, Row]] = {}
    for excerpt in report.excerpts:
        rows = zip(excerpt.numbers, excerpt.lines)
        files[excerpt.file] = {number: Row(number, text) for number, text in rows}
    elsewhere = Row(0, "")
    for each in shown:
        entry = each.entry
        if entry.file:
            rows_of = files.setdefault(entry.file, {})
            rows_of.setdefault(entry.line, Row(entry.line, entry.source)).shown.append(each)
        else:
            elsewhere.shown.append(each)
    taken = {anchor}
    placed = []
    for path, by_number in files.items():
        sorted_rows = [by_number[number] for number in sorted(by_number)]
        for before, row in pairwise(sorted_rows):
            row.after_gap = row.number != before.number + 1
        placed.append(File(path, _free(f"{anchor}-{_slug(PurePath(path).name)}", taken), sorted_rows))
    steps = _timeline(report.variants, anchor, shown)
    counts = Counter([each.entry.kind for each in shown])
    return Section(report, anchor, summary(report), steps, placed, elsewhere, counts)


def _merged(report: FunctionReport, anchor: str) -> list[Shown]:
    """Each distinct entry once, with its variants, and the sizes of the first of them."""
    found: dict[Entry, tuple[Entry, list[int]]] = {}
    for variant in report.variants:
        for entry in variant.entries:
            _, numbers = found.setdefault(replace(entry, accepts="", rejects=""), (entry, []))
            if variant.number not in numbers:
                numbers.append(variant.number)
    for entry in (*report.breaks, *report.fallbacks, *report.asked):
        found.setdefault(entry, (entry, []))
    taken: set[str] = set()
    merged = []
    for entry, variants in found.values():
        digest = hashlib.sha256(f"{entry.text}{entry.note}{entry.facts}".encode(errors="replace")).hexdigest()[:6]
        name = _free(f"{anchor}-{entry.kind}-{entry.line}-{digest}", taken)
        merged.append(Shown(entry, tuple(variants), name))
    return merged


def _timeline(variants: Sequence[VariantReport], anchor: str, shown: Sequence[Shown]) -> list[Step]:
    guards = {each.entry.text: each.anchor for each in reversed(shown) if each.entry.kind == "guard"}
    started = min([each.made for each in variants if each.made], default=0.0)
    steps = []
    for each in variants:
        guard = GUARD.match(each.cause)
        failed = guard[1] if guard is not None else ""
        kinds = Counter([entry.kind for entry in each.entries])
        counts = ", ".join([counted(kinds[kind], _noun(kind)) for kind in NAMES if kinds[kind]])
        after = each.made - started if each.made else None
        steps.append(Step(each, f"{anchor}-v{each.number}", after, failed, guards.get(failed, ""), counts))
    return steps


def _noun(kind: Kind) -> str:
    return {"assumption": "stated fact", "specialization": "specialization", "kernel": "kernel decision"}.get(
        kind, NAMES[kind]
    )


def totals(sections: Iterable[Section]) -> Counter[Kind]:
    """The number of entries of each kind."""
    found: Counter[Kind] = Counter()
    for section in sections:
        found.update(section.counts)
    return found


def _slug(text: str) -> str:
    return re.sub(r"\W+", "-", text).strip("-") or "it"


def _free(name: str, taken: set[str]) -> str:
    """The name, or the first numbered one that is not taken."""
    found, number = name, 2
    while found in taken:
        found, number = f"{name}-{number}", number + 1
    taken.add(found)
    return found


__all__ = ["NAMES", "File", "Row", "Section", "Shown", "Step", "laid_out", "totals"]
