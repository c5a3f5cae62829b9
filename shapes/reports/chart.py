"""The timeline of a function's variants as an SVG: when each was compiled, by the kind of its cause.

>>> from shapes.reports.layout import laid_out
>>> from shapes.reports.records import FunctionReport, VariantReport
>>> variants = (VariantReport(0, "first call", made=10.0), VariantReport(1, "guard `s >= 2` fails", made=12.5))
>>> "<svg" in timeline(laid_out([FunctionReport("attend", variants=variants)])[0])
True
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final
from xml.etree.ElementTree import Element

import pygal
from pygal.style import Style

from shapes.reports.layout import Section, Step

COLOURS: Final = ("var(--muted)", "var(--depends)", "var(--never)", "var(--always)")
CAUSES: Final = ("first call", "guard failed", "size changed", "another cause")
ALONE: Final[Mapping[str, Any]] = {"js": (), "disable_xml_declaration": True, "pretty_print": False}  # type: ignore[explicit-any]
"""Options of an SVG within a page that has its own scripts and fetches nothing."""


def transparent(text: str, lines: str, colours: Sequence[str], *, font_family: str, size: int, **sizes: int) -> Style:
    """A style without a background, for light and dark pages alike; `sizes` are those of single texts."""
    return Style(
        background="transparent",
        plot_background="transparent",
        foreground=text,
        foreground_strong=text,
        foreground_subtle=lines,
        colors=tuple(colours),
        font_family=font_family,
        **{"label_font_size": size, "major_label_font_size": size, "legend_font_size": size, **sizes},
    )


def timeline(section: Section) -> str:
    """The chart; empty where there are not two variants with their times."""
    steps = [each for each in section.steps if each.after is not None]
    if len(steps) < 2:
        return ""
    style = transparent("var(--text)", "var(--line)", COLOURS, font_family="inherit", size=12)
    chart = pygal.XY(
        **ALONE,
        stroke=False,
        style=style,
        width=900,
        height=220,
        dots_size=5,
        legend_at_bottom=True,
        legend_at_bottom_columns=len(CAUSES),
        x_value_formatter=lambda seconds: f"{seconds:.3g} s",
        y_labels=[step.variant.number for step in steps][:: max(1, len(steps) // 6)],
        value_formatter=lambda number: f"{number:.0f}",
        include_x_axis=True,
    )
    for cause in CAUSES:
        points = [
            {"value": (step.after, step.variant.number), "label": step.variant.cause, "xlink": f"#{step.anchor}"}
            for step in steps
            if kind_of(step) == cause
        ]
        chart.add(cause, points)
    # names of its own for each chart of a page, the same each time
    chart.uuid = section.anchor
    chart.add_xml_filter(unnamed)
    return str(chart.render(is_unicode=True))


def unnamed(tree: Element) -> Element:
    """The chart without the names of its legend, which all charts have."""
    for node in tree.iter():
        if node.get("id", "").startswith("activate-serie"):
            del node.attrib["id"]
    return tree


def kind_of(step: Step) -> str:
    """The kind of a variant's cause."""
    cause = step.variant.cause
    if cause == "first call":
        return CAUSES[0]
    if step.failed:
        return CAUSES[1]
    return CAUSES[2] if ".shape[" in cause.partition(" is ")[0] else CAUSES[3]


__all__ = ["ALONE", "timeline", "transparent"]
