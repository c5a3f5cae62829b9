"""The picture of the landing page: recorded questions decided, and the time they take, beside other systems.

    $ python -m benchmarks.picture --write

Reads the first table of the section "Recorded questions" in `benchmarks/RESULTS.md`, which `python -m
benchmarks.entailment --write` writes; a test compares the picture with it.

>>> rows("| engine | x |\\n|---|---:|\\n| torch | 1 % |\\n\\nmore")
[{'engine': 'torch', 'x': '1 %'}]
"""

import argparse
import re
from pathlib import Path
from typing import Final

import pygal
from pygal.style import Style

ROOT: Final = Path(__file__).parents[1]
RESULTS: Final = ROOT / "benchmarks" / "RESULTS.md"
PICTURES: Final = ROOT / "docs" / "pictures"
SECTION: Final = re.compile(r"<!-- entailment -->(.*?)<!-- end entailment -->", re.DOTALL)
COMMENT: Final = re.compile(r"<!--.*?-->", re.DOTALL)
"""The date of the drawing, for one."""
SHOWN: Final = ("symshape", "z3", "torch", "tvm", "isl", "jax")
NAMES: Final = {"jax": "JAX", "tvm": "TVM"}
STYLE: Final = Style(
    background="transparent",
    plot_background="transparent",
    foreground="#6b7280",
    foreground_strong="#6b7280",
    foreground_subtle="#9ca3af",
    colors=("#4051b5", "#8a93c8"),
    font_family="system-ui, sans-serif",
    label_font_size=15,
    major_label_font_size=15,
    value_font_size=15,
    title_font_size=17,
    legend_font_size=15,
)


def rows(text: str) -> list[dict[str, str]]:
    """The first table of a text in Markdown."""
    lines = list(text.splitlines())
    begin = next(index for index, line in enumerate(lines) if line.startswith("| "))
    table = []
    for line in lines[begin:]:
        if not line.startswith("|"):
            break
        table.append([cell.strip() for cell in line.strip("|").split("|")])
    heads, _, *body = table
    return [dict(zip(heads, row, strict=False)) for row in body]


def draw() -> dict[str, str]:
    """Each picture by its name."""
    section = SECTION.search(RESULTS.read_text(encoding="utf-8"))
    assert section is not None, "RESULTS.md has no section `entailment`"
    found = {row["engine"]: row for row in rows(section[1])}
    names: list[str] = [name for name in SHOWN if name in found]
    decided = {name: float(found[name]["always/never decided"].split()[0]) for name in names}
    seconds = {name: float(found[name]["total s"].replace(",", "")) for name in names}
    return {
        "decided.svg": _bars("recorded questions decided, %", decided, logarithmic=False),
        "seconds.svg": _bars("seconds for all of them (logarithmic)", seconds, logarithmic=True),
    }


def _bars(title: str, values: dict[str, float], *, logarithmic: bool) -> str:
    chart = pygal.HorizontalBar(
        style=STYLE,
        title=title,
        show_legend=False,
        print_values=True,
        logarithmic=logarithmic,
        disable_xml_declaration=True,
        no_prefix=True,
        js=(),
        width=560,
        height=300,
        margin=8,
        show_x_labels=False,
        range=(0.5, 2 * max(values.values())) if logarithmic else (0, 100),
        value_formatter=lambda value: f"{value:g}",
    )
    chart.x_labels = [NAMES.get(name, name) for name in reversed(values)]
    bars = [{"value": value, "color": STYLE.colors[name != "symshape"]} for name, value in values.items()]
    chart.add("", list(reversed(bars)))
    return COMMENT.sub("", str(chart.render(is_unicode=True))) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help=f"write them to {PICTURES.relative_to(ROOT)}/")
    options = parser.parse_args()
    for name, picture in draw().items():
        if options.write:
            PICTURES.mkdir(exist_ok=True)
            (PICTURES / name).write_text(picture, encoding="utf-8")
        print(name, len(picture))


if __name__ == "__main__":
    main()
