"""The data of a report, independent of the framework that fills it and of the page that shows it.

>>> entry = Entry.at(Origin("/home/me/model.py", 41, "forward"), "guard", "s >= 65", rejects="s=64")
>>> print(entry)
s >= 65    (model.py:41 in forward)
>>> report = FunctionReport("forward", breaks=(Entry("break", "print", file="model.py", line=43),))
>>> [each.text for each in report.entries]
['print']
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final, Literal, get_args

from shapes.origin import Origin

Kind = Literal[
    "declared", "assumption", "guard", "assert", "specialization", "break", "kernel", "fallback", "question", "error"
]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
SECTIONS: Final[tuple[tuple[str, Kind], ...]] = (
    ("stated", "assumption"),
    ("guards", "guard"),
    ("checks of the run", "assert"),
    ("specialized", "specialization"),
)
"""The parts of a variant in the text, with their kinds."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that a line caused.

    Attributes:
        text: the condition, or the reason.
        source: the text of the line.
        verdict: always, never, depends, unknown or withheld; empty where nothing was asked.
        facts: the facts that the verdict rests on; for an open question the facts about the same sizes.
        accepts: sizes for which it holds.
        rejects: sizes that it alone rejects.
        note: the code that was chosen, or the message.
    """

    kind: Kind
    text: str
    file: str = ""
    line: int = 0
    function: str = ""
    source: str = ""
    verdict: str = ""
    facts: tuple[str, ...] = ()
    accepts: str = ""
    rejects: str = ""
    note: str = ""

    @staticmethod
    def at(
        origin: Origin | None,
        kind: Kind,
        text: str,
        *,
        verdict: str = "",
        facts: Iterable[str] = (),
        accepts: str = "",
        rejects: str = "",
        note: str = "",
    ) -> Entry:
        """An entry that the line at `origin` caused."""
        entry = Entry(kind, text, "", 0, "", "", verdict, tuple(facts), accepts, rejects, note)
        if origin is None:
            return entry
        place = (origin.file, origin.line, origin.function, origin.source_line)
        return replace(entry, **dict(zip(("file", "line", "function", "source"), place)))  # type: ignore[arg-type]

    @property
    def place(self) -> str:
        """The line, for people; empty where it is not known."""
        return str(Origin(self.file, self.line, self.function)) if self.file else ""

    def __str__(self) -> str:
        return f"{self.text}    ({self.place})" if self.place else self.text


@dataclass(frozen=True, slots=True)
class VariantReport:
    """One variant of a function.

    Attributes:
        cause: why it was compiled.
        remedy: how to avoid that, if there is a way.
        made: when, in seconds of the epoch; 0 where it is not known.
        inputs: the tensors among the arguments.
        kernels: loops, decisions and memory, for a kernel backend.
    """

    number: int
    cause: str
    remedy: str = ""
    made: float = 0.0
    inputs: tuple[str, ...] = ()
    entries: tuple[Entry, ...] = ()
    graph: str = ""
    kernels: tuple[str, ...] = ()

    def of_kind(self, kind: Kind) -> tuple[Entry, ...]:
        return tuple([each for each in self.entries if each.kind == kind])

    @property
    def guards(self) -> tuple[Entry, ...]:
        """The checks of a call."""
        return self.of_kind("guard")

    @property
    def assumptions(self) -> tuple[Entry, ...]:
        """The facts that the caller stated."""
        return self.of_kind("assumption")

    @property
    def asserts(self) -> tuple[Entry, ...]:
        """The run-time checks of the graph."""
        return self.of_kind("assert")

    @property
    def specializations(self) -> tuple[Entry, ...]:
        """The sizes that became constants, with the lines that made them so."""
        return self.of_kind("specialization")

    @property
    def decisions(self) -> tuple[Entry, ...]:
        """The decisions of the kernel backend."""
        return self.of_kind("kernel")

    def lines(self, *, kernels: bool, sources: bool) -> Iterator[str]:
        yield f"variant {self.number}: {self.cause}"
        for each in self.inputs:
            yield f"  {each}"
        for title, kind in SECTIONS:
            if found := self.of_kind(kind):
                yield f"  {title}:"
                texts = [f"{entry}    {entry.source}" if sources else str(entry) for entry in found]
                yield from [f"    {line}" for text in texts for line in text.splitlines()]
        if self.graph:
            yield "  graph:"
            yield from ["    " + line for line in self.graph.splitlines()]
        if kernels and self.kernels:
            yield "  kernels:"
            yield from ["    " + line for line in self.kernels]


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Lines of one file by their numbers, some left out."""

    file: str
    numbers: tuple[int, ...]
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FunctionReport:
    """One compiled function, or one recorded session.

    Attributes:
        breaks, fallbacks: where a graph ends, and calls that run eagerly.
        asked: entries of no variant, such as the questions of a session.
        operators: the number of executed operators; `captured` of them in graphs.
        share_of_time: the graphs' share of the measured calls' time.
        excerpts: the source lines.
    """

    name: str
    file: str = ""
    line: int = 0
    variants: tuple[VariantReport, ...] = ()
    breaks: tuple[Entry, ...] = ()
    fallbacks: tuple[Entry, ...] = ()
    asked: tuple[Entry, ...] = ()
    operators: int = 0
    captured: int = 0
    share_of_time: float | None = None
    excerpts: tuple[Excerpt, ...] = ()

    @property
    def entries(self) -> Iterator[Entry]:
        """All entries, those of variants first."""
        for variant in self.variants:
            yield from variant.entries
        yield from (*self.breaks, *self.fallbacks, *self.asked)


__all__ = ["KINDS", "Entry", "Excerpt", "FunctionReport", "Kind", "VariantReport"]
