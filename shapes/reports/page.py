"""The page of a report: one HTML file without network, with an index, search, filters and links to each entry.

>>> from shapes.reports.records import Entry, FunctionReport
>>> text = page([FunctionReport("attend", breaks=(Entry("break", "print <i>", file="model.py", line=7),))], title="one")
>>> "print &lt;i&gt;" in text, "<i>" in text
(True, False)
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from shapes.errors import ShapeError
from shapes.reports.layout import NAMES, laid_out, totals
from shapes.reports.records import FunctionReport

if TYPE_CHECKING:
    import jinja2


class MissingExtra(ShapeError):
    """The extra `report` is not installed."""


@cache
def template() -> jinja2.Template:
    """The template of the page.

    Raises:
        MissingExtra: the extra `report` is not installed.
    """
    try:
        import jinja2
        from markupsafe import Markup

        from shapes.reports.chart import timeline
    except ImportError as error:
        raise MissingExtra(f"the page of a report needs {error.name}: pip install 'symshape[report]'") from None
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("shapes.reports"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    # an SVG of pygal, which escapes its texts
    environment.filters["timeline"] = lambda section: Markup(timeline(section))
    return environment.get_template("page.html")


def page(reports: Sequence[FunctionReport], *, title: str) -> str:
    """The page of these functions."""
    sections = laid_out(reports)
    counts = totals(sections)
    verdicts = dict.fromkeys(each.verdict for report in reports for each in report.entries if each.verdict)
    return template().render(title=title, sections=sections, counts=counts, names=NAMES, verdicts=sorted(verdicts))


def save_page(reports: Sequence[FunctionReport], path: str | PathLike[str], *, title: str) -> None:
    """Write the page, all of it or nothing.

    Raises:
        MissingExtra: the extra `report` is not installed.
        OSError: it cannot be written.
    """
    target = Path(path)
    beside = target.with_name(f".{target.name}.{os.getpid()}")
    text = page(reports, title=title)
    if target.is_dir():
        raise IsADirectoryError(21, "it is a folder", str(target))
    try:
        beside.write_text(text, encoding="utf-8", errors="replace")
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)


__all__ = ["MissingExtra", "page", "save_page"]
