"""The picture of the landing page: recorded questions decided, and the time they take, beside other systems.

    $ python -m benchmarks.picture --write

Draws the figures of `benchmarks/entailment.json`, which `python -m benchmarks.entailment --write` writes beside its
section of RESULTS.md; a test compares the pictures with them.

>>> sorted(figures()["symshape"])
['decided', 'seconds']
"""

import argparse
import json
import re
from pathlib import Path
from typing import Final

import pygal

from shapes.reports.chart import ALONE, transparent

ROOT: Final = Path(__file__).parents[1]
FIGURES: Final = ROOT / "benchmarks" / "entailment.json"
PICTURES: Final = ROOT / "docs" / "pictures"
COMMENT: Final = re.compile(r"<!--.*?-->", re.DOTALL)
"""The date of the drawing, for one."""
SHOWN: Final = ("symshape", "z3", "torch", "tvm", "isl", "jax")
NAMES: Final = {"jax": "JAX", "tvm": "TVM"}
COLOURS: Final = ("#4051b5", "#8a93c8")
STYLE: Final = transparent(
    "#6b7280",
    "#9ca3af",
    COLOURS,
    font_family="system-ui, sans-serif",
    size=15,
    value_font_size=15,
    title_font_size=17,
)


def figures() -> dict[str, dict[str, float]]:
    """The share of questions decided, and the seconds for all of them, by engine."""
    found: dict[str, dict[str, float]] = json.loads(FIGURES.read_text(encoding="utf-8"))
    return found


def draw() -> dict[str, str]:
    """Each picture by its name."""
    found = {name: each for name, each in figures().items() if name in SHOWN}
    names: list[str] = [name for name in SHOWN if name in found]
    decided = {name: found[name]["decided"] for name in names}
    seconds = {name: found[name]["seconds"] for name in names}
    return {
        "decided.svg": _bars("recorded questions decided, %", decided, logarithmic=False),
        "seconds.svg": _bars("seconds for all of them (logarithmic)", seconds, logarithmic=True),
    }


def _bars(title: str, values: dict[str, float], *, logarithmic: bool) -> str:
    chart = pygal.HorizontalBar(
        **ALONE,
        style=STYLE,
        title=title,
        show_legend=False,
        print_values=True,
        logarithmic=logarithmic,
        no_prefix=True,
        width=560,
        height=300,
        margin=8,
        show_x_labels=False,
        range=(0.5, 2 * max(values.values())) if logarithmic else (0, 100),
        value_formatter=lambda value: f"{value:g}",
    )
    chart.x_labels = [NAMES.get(name, name) for name in reversed(values)]
    bars = [{"value": value, "color": COLOURS[name != "symshape"]} for name, value in values.items()]
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
