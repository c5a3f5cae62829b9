"""The report of a compiled function: variants with guards and lines, causes of recompilation, eager fallbacks.

    >>> import torch
    >>> from frontends.pytorch import compile
    >>> f = compile(lambda x: x * 2 if x.shape[0] > 2 else x * 3, dynamic=True)
    >>> y = f(torch.randn(4, 5))
    >>> report = f.report()
    >>> report.variants[0].guards[0].text
    'x_size0 >= 3'
    >>> print(report.text())  # doctest: +ELLIPSIS
    <lambda>: 1 variant
    <BLANKLINE>
    variant 0: first call
      x: float32[x_size0, x_size1]
      guards:
        x_size0 >= 3    (...)
      graph:
        mul_tensor = torch.ops.aten.mul.Tensor(x, 2)
        return [mul_tensor]
    <BLANKLINE>

`save` writes an HTML page. `table` has a row for each of several reports:

    >>> from frontends.pytorch.variants.report import table
    >>> print(table([report]))
    | function | graphs | operators captured | operators | share captured | share of time |
    |---|---:|---:|---:|---:|---:|
    | <lambda> | 1 | 1 | 1 | 100 % | not measured |

The last column measures the calls inside of `with f.timed():`, and so do the operator counts then; otherwise each graph
counts once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from os import PathLike
from pathlib import Path
from typing import Final

from backends.program.log import lines
from frontends.pytorch.variant import Variant
from frontends.pytorch.variants.recompilations import Fallback
from frontends.pytorch.variants.times import Times, operators_of
from shapes.guards.guards import Guard
from shapes.origin import Origin
from solver.styled_text import columns, html_of_page, line, span

PAGE: Final = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{name}</title></head>
<body><pre>{text}</pre></body></html>
"""


@dataclass(frozen=True, slots=True)
class Line:
    """A commitment with the program's line."""

    text: str
    place: str
    source: str

    @staticmethod
    def of(text: str, origin: Origin | None) -> Line:
        return Line(text, "" if origin is None else str(origin), "" if origin is None else origin.source_line)

    def __str__(self) -> str:
        return f"{self.text}    ({self.place})" if self.place else self.text


@dataclass(frozen=True, slots=True)
class VariantReport:
    """One variant.

    Attributes:
        inputs: the tensors among the arguments.
        guards: the checks of a call; `assumptions` are those that the caller stated.
        asserts: the runtime asserts of the graph.
        specializations: specialized sizes, with the lines that specialized them.
        kernels: loops, decisions and memory, for a kernel backend.
    """

    number: int
    cause: str
    inputs: tuple[str, ...]
    assumptions: tuple[Line, ...]
    guards: tuple[Line, ...]
    asserts: tuple[Line, ...]
    specializations: tuple[Line, ...]
    graph: str
    kernels: tuple[str, ...]

    @staticmethod
    def of(number: int, variant: Variant) -> VariantReport:
        env = variant.env
        bought = {} if variant.running is None else variant.running.bought

        def text(guard: Guard) -> str:
            paid = bought.get(guard.prop)
            return str(guard) if paid is None else f"{guard} (for kernels: {paid.price})"

        return VariantReport(
            number,
            variant.cause,
            tuple([f"{each.name}: {each.result.metadata}" for each in variant.inputs]),
            tuple([Line.of(str(each), each.origin) for each in env.preconditions()]),
            tuple([Line.of(text(each), each.origin) for each in variant.guards]),
            tuple([Line.of(str(each), each.origin) for each in variant.runtime_asserts]),
            tuple([Line.of(str(each), each.origin) for each in env.specializations()]),
            graph_text(variant),
            tuple(kernel_lines(variant)),
        )

    def sections(self) -> list[tuple[str, tuple[Line, ...]]]:
        return [
            ("stated", self.assumptions),
            ("guards", self.guards),
            ("checks of the run", self.asserts),
            ("specialized", self.specializations),
        ]

    def lines(self, *, kernels: bool, sources: bool) -> Iterable[str]:
        yield f"variant {self.number}: {self.cause}"
        for each in self.inputs:
            yield f"  {each}"
        for title, found in self.sections():
            if found:
                yield f"  {title}:"
                texts = [f"{line}    {line.source}" if sources else str(line) for line in found]
                yield from [f"    {line}" for text in texts for line in text.splitlines()]
        yield "  graph:"
        yield from ["    " + line for line in self.graph.splitlines()]
        if kernels and self.kernels:
            yield "  kernels:"
            yield from ["    " + line for line in self.kernels]


@dataclass(frozen=True, slots=True)
class Report:
    """The report of a compiled function."""

    name: str
    variants: tuple[VariantReport, ...]
    fallbacks: tuple[Fallback, ...]
    breaks: tuple[str, ...]
    """The graph breaks."""
    graphs: int
    operators: int
    """The number of executed operators; `captured` of them in graphs."""
    captured: int
    share_of_time: float | None
    """The graphs' share of the measured calls' time."""

    @staticmethod
    def of(
        fn: Callable[..., object],
        variants: Sequence[Variant],
        fallbacks: Sequence[Fallback],
        breaks: Sequence[object],
        times: Times | None,
    ) -> Report:
        found = [VariantReport.of(*each) for each in enumerate(variants)]
        name = getattr(fn, "__qualname__", type(fn).__qualname__)
        captured = operators = sum([operators_of(variant) for variant in variants])
        if times is not None:
            captured, operators = times.captured, times.operators
        return Report(
            name.rpartition("<locals>.")[2],
            tuple(found),
            tuple(fallbacks),
            tuple(map(str, breaks)),
            len(variants),
            operators,
            captured,
            None if times is None else times.share_of_time,
        )

    def text(self, *, kernels: bool = False, sources: bool = False) -> str:
        """The report for a terminal; with `kernels`, each variant's kernels too; with `sources`, the program's lines
        and not only their numbers."""
        count = len(self.variants)
        lines = [f"{self.name}: {count} variant{'' if count == 1 else 's'}"]
        for fallback in self.fallbacks:
            first, *more = fallback.reason.splitlines()
            lines += [f"no variant where: {first}", *more]
        lines += self.breaks
        if self.share_of_time is not None:
            lines += ["", *table([self]).splitlines()]
        for variant in self.variants:
            lines += ["", *variant.lines(kernels=kernels, sources=sources)]
        return "\n".join(lines) + "\n"

    def __repr__(self) -> str:
        return f"Report({self.text().splitlines()[0]})"

    def _repr_html_(self) -> str:
        """The variants with their causes and guards, as notebooks show them; graphs and kernels unfold."""
        first, *rest = self.text().partition("\n\nvariant ")[0].splitlines()
        parts = [html_of_page([line(span(first, "heading")), *[line(span(each, "muted")) for each in rest if each]])]
        for variant in self.variants:
            head = line(span(f"variant {variant.number}", "heading"), f": {variant.cause}")
            inputs = [line(span(f"  {each}", "muted")) for each in variant.inputs]
            rows = [
                [span(f"  {title}", "muted"), span(each.text, "fact"), span(each.place, "line"), span(each.source)]
                for title, found in variant.sections()
                for each in found
            ]
            parts.append(html_of_page([head, *inputs, *columns(rows)]))
            inside = escape("\n".join([*variant.graph.splitlines(), *variant.kernels]))
            parts.append(f"<details><summary>graph and kernels</summary><pre>{inside}</pre></details>")
        return "\n".join(parts)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the report as an HTML page, with kernels and the program's lines."""
        text = self.text(kernels=True, sources=True)
        Path(path).write_text(PAGE.format(name=escape(self.name), text=escape(text)), encoding="utf-8")


def table(reports: Iterable[Report]) -> str:
    """A row for each function: its graphs, their operators, and their share in the calls."""
    columns = ("function", "graphs", "operators captured", "operators", "share captured", "share of time")
    rows = [f"| {' | '.join(columns)} |", "|---|---:|---:|---:|---:|---:|"]
    for each in reports:
        share = percent(each.captured / each.operators) if each.operators else "no operators"
        of_time = "not measured" if each.share_of_time is None else percent(each.share_of_time)
        cells = (each.name, each.graphs, each.captured, each.operators, share, of_time)
        rows.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(rows)


def percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def kernel_lines(variant: Variant) -> Iterable[str]:
    """A variant's kernels, forward and then backward."""
    running = variant.running
    if running is None:
        return
    if running.note:
        yield f"operators run one by one: {running.note}"
    if running.guard_candidates:
        yield "guards that would save time:"
        yield from [f"  {each}{', added' * (each.question in running.bought)}" for each in running.guard_candidates]
    for name, host in zip(("forward", "backward"), running.hosts):
        yield f"{name}:"
        yield from [f"  {line}" for line in lines(host)]


def graph_text(variant: Variant) -> str:
    """The statements of a graph."""
    text = variant.graph.graph.python_code("self").src
    body = text.partition(":\n")[2]
    return "\n".join([line.strip().partition(";  ")[0] for line in body.splitlines() if line.strip()])
