"""The generated parts of docs/architecture.md: how packages import each other, and which of them a question enters.

    python -m tests.architecture            # prints them
    python -m tests.architecture --write    # writes them between their markers
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Final

import grimp
import networkx

from tests.walk import EXAMPLES, ROOT, walk_of

PAGE: Final = ROOT / "docs" / "architecture.md"
DRAWN: Final = ("solver", "shapes", "backends", "frontends.pytorch")
COMMON: Final = "s % 16 == 0"


def drawing(package: str) -> str:
    """The imports among the children of a package as a mermaid flow chart, those that follow from others left out."""
    graph = grimp.build_graph(package.partition(".")[0], cache_dir=None)
    children = sorted(graph.find_children(package))
    for child in children:
        graph.squash_module(child)
    imports = networkx.DiGraph(
        (child, imported)
        for child in children
        for imported in graph.find_modules_directly_imported_by(child)
        if imported in children and imported != child
    )
    arrows = sorted(networkx.transitive_reduction(imports).edges)
    lines = [f"    {above.rpartition('.')[2]} --> {below.rpartition('.')[2]}" for above, below in arrows]
    return "\n".join(["```mermaid", "flowchart TD", *lines, "```"])


def walks() -> str:
    """A table of questions, their verdicts and the packages of the solver that they enter, in order."""
    rows = ["| known besides `s % 16 == 0` | question | verdict | packages of `solver/` entered |", "|---|---|---|---|"]
    for question, assumed in EXAMPLES:
        walk = walk_of(question, (COMMON, *assumed), "a b s")
        inside = [each.removeprefix("solver/") for each in walk.packages if each.startswith("solver/")]
        known = ", ".join(f"`{each}`" for each in assumed)
        rows.append(f"| {known} | `{question}` | {walk.verdict} | {', '.join(inside)} |")
    return "\n".join(rows)


def sections() -> Iterator[tuple[str, str]]:
    """Each generated part by its name."""
    for package in DRAWN:
        yield package, drawing(package)
    yield "walk", walks()


def written(page: str) -> str:
    """The page with its generated parts as they are now."""
    for name, text in sections():
        before, begin, rest = page.partition(f"<!-- generated: {name} -->\n")
        _, end, after = rest.partition("<!-- end -->")
        if not end:
            raise SystemExit(f"{PAGE} has no place for {name}")
        page = "".join((before, begin, text, "\n", end, after))
    return page


def main() -> None:
    page = written(PAGE.read_text())
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(page)
    else:
        print(page)


if __name__ == "__main__":
    if os.environ.get("SYMSHAPE_PURE"):
        main()
    else:
        command = [sys.executable, "-m", "tests.architecture", *sys.argv[1:]]
        raise SystemExit(subprocess.run(command, env={**os.environ, "SYMSHAPE_PURE": "1"}, check=False).returncode)
