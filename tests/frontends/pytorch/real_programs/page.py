"""The table of `docs/programs.md`: what runs how, measured and written, or read.

    python -m tests.frontends.pytorch.real_programs.page [--only TEXT ...]

runs all programs, or those with such a text in their names, and writes their rows.
"""

from __future__ import annotations

import argparse
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tests.frontends.pytorch.real_programs import (  # registered by import
    classes,
    containers,
    flow,
    functions,
    generation,
    iterators,
    keeping,
    modules,
    outside,
    tensors,
    training,
    transforms,
)
from tests.frontends.pytorch.real_programs.running import CASES, KINDS, Case, Outcome, by_dynamo, is_torchs, ours

PAGE: Final = Path(__file__).parents[4] / "docs" / "programs.md"
HEAD: Final = '| program | feature | `compile` | `torch.compile(backend="symshape")` |\n|---|---|---|---|\n'
TORCHS: Final = "torch's"
"""Where torch's own backend has another answer than eager torch as well, or raises."""
MODULES: Final = (
    *(generation, keeping, training, transforms),
    *(functions, iterators, containers, classes, flow, outside, tensors, modules),
)
ORDER: Final = [module.__name__ for module in MODULES]
LISTED: Final = sorted(CASES, key=lambda name: ORDER.index(CASES[name].make.__module__))
"""The programs as the page lists them, whichever module was imported first."""


def rows(text: str) -> dict[str, tuple[str, str, str]]:
    """The row of each program in the page: its feature, and how it runs by either way of compiling."""
    found = {}
    for line in text.partition(HEAD)[2].splitlines():
        if not line.startswith("| "):
            break
        name, *rest = [each.strip() for each in line.strip("| ").split(" | ")]
        found[name] = tuple(rest)
    return found


def is_as_good(found: Outcome, said: str) -> bool:
    """Return True if a program runs as the page says, or better: in no more graphs, or more of it in graphs."""
    how, _, variants = said.partition(", ")
    rank = KINDS.index(found.how) - KINDS.index(how)
    return rank < 0 or (rank == 0 and (found.how != "graphs" or found.variants <= int(variants)))


def row(case: Case) -> tuple[str, str, str]:
    """The page's row for a program.

    Raises:
        AssertionError: a program is not as in eager torch, and that is not torch's doing.
    """
    found = ours(case)
    assert not found.wrong, (case.name, found.wrong)
    try:
        other = by_dynamo(case)
        wrong, said = bool(other.wrong), other.text
    except Exception:
        wrong, said = True, ""
    if wrong:
        assert is_torchs(case), case.name
        said = TORCHS
    return case.feature, found.text, said


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=[])
    only = parser.parse_args().only
    logging.getLogger("symshape").setLevel(logging.ERROR)
    for name in LISTED:
        text = PAGE.read_text()
        known = rows(text)
        if not only and name not in known or any(each in name for each in only):
            known[name] = row(CASES[name])
            print(name, *known[name], flush=True)
            PAGE.write_text(with_rows(text, known))


def with_rows(text: str, known: Mapping[str, tuple[str, ...]]) -> str:
    """The page with these rows, in the order of the programs."""
    before, _, after = text.partition(HEAD)
    rest = after[after.index("\n\n") :] if "\n\n" in after else "\n"
    lines = [f"| {name} | {' | '.join(known[name])} |" for name in LISTED if name in known]
    return before + HEAD + "\n".join(lines) + rest


if __name__ == "__main__":
    main()
