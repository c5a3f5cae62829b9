"""The report of one function: its records, with their text and their page.

>>> from shapes.reports.records import Entry, VariantReport
>>> guard = Entry("guard", "s >= 65", file="model.py", line=41)
>>> print(Report("attend", variants=(VariantReport(0, "first call", entries=(guard,)),)).text())
attend: 1 variant
<BLANKLINE>
variant 0: first call
  guards:
    s >= 65    (model.py:41)
<BLANKLINE>
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from os import PathLike

from shapes.reports.page import save_page
from shapes.reports.records import FunctionReport
from shapes.reports.summary import summary
from solver.styled_text import columns, html_of_page, line, span


@dataclass(frozen=True, slots=True)
class Report(FunctionReport):
    """The report of one function, as text and as a page."""

    def text(self, *, kernels: bool = False, sources: bool = False) -> str:
        """The report for a terminal; with `kernels`, each variant's kernels too; with `sources`, the program's lines
        and not only their numbers."""
        lines = summary(self)
        for fallback in self.fallbacks:
            first, *more = fallback.text.splitlines()
            lines += [f"no variant where: {first}", *more]
        lines += [f"graph break: {each}" for each in self.breaks]
        if self.share_of_time is not None:
            share = f"{100 * self.share_of_time:.0f} % of the time"
            lines += [f"in graphs: {self.captured} of {self.operators} operators, {share}"]
        for variant in self.variants:
            lines += ["", *variant.lines(kernels=kernels, sources=sources)]
        return "\n".join(lines) + "\n"

    def __repr__(self) -> str:
        return f"Report({self.text().splitlines()[0]})"

    def _repr_html_(self) -> str:
        """The variants with their causes and entries, as notebooks show them; graphs and kernels unfold."""
        first, *rest = self.text().partition("\n\nvariant ")[0].splitlines()
        parts = [html_of_page([line(span(first, "heading")), *[line(span(each, "muted")) for each in rest if each]])]
        for variant in self.variants:
            head = line(span(f"variant {variant.number}", "heading"), f": {variant.cause}")
            inputs = [line(span(f"  {each}", "muted")) for each in variant.inputs]
            rows = [
                [span(f"  {each.kind}", "muted"), span(each.text, "fact"), span(each.place, "line"), span(each.source)]
                for each in variant.entries
                if each.kind != "kernel"
            ]
            parts.append(html_of_page([head, *inputs, *columns(rows)]))
            inside = escape("\n".join([*variant.graph.splitlines(), *variant.kernels]))
            parts.append(f"<details><summary>graph and kernels</summary><pre>{inside}</pre></details>")
        return "\n".join(parts)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the report as an HTML page, with the program's lines.

        Raises:
            MissingExtra: the extra `report` is not installed.
        """
        save_page([self], path, title=self.name)


__all__ = ["Report"]
