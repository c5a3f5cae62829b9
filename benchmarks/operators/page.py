"""The outcomes as tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from benchmarks.operators.record import Outcome
from benchmarks.report import Cell, machine, table, versions

PAGE: Final = Path(__file__).parent / "RESULTS.md"
SHOWN: Final = 110
EXPLANATION: Final = """\
Every operator of torch's operator database with CPU samples in float32, the first 10 samples of each, every size of
every tensor a symbol from 1. A graph is run on the sample and at other sizes: those of the sample about three times
larger, three times smaller, one larger, all 1, single ones of them changed; and those that the engine proposes at the
edges of the guards and at random. All is compared with eager: values, dtypes, sizes, arguments that were written to,
and the sizes and dtypes that the trace foresaw.

- full, partly, not: all, some or none of the samples traced and right; wrong: different from eager anywhere. At other
  sizes a run does not count, neither as right nor as wrong, where eager differs as much from itself when its arguments
  are changed by one rounding
- general: full, no size pinned to a number, right at two other sizes at least, none failed; or there are no others,
  as where no sample has a tensor with sizes that eager lets us change
- pinned: a size of the sample that became a number; a size 1 that stays 1, as in a broadcast, is counted apart
- refused: other sizes that eager accepts and the guards refuse
- stopped: other sizes that eager and the guards accept and the graph did not
- lenient: other sizes that eager refuses and the graph did not
"""


def summary(directions: Mapping[str, Sequence[Outcome]]) -> str:
    """Summarize all operators."""
    rows: list[list[Cell]] = []
    counts: list[tuple[str, Callable[[Sequence[Outcome]], Cell]]] = [
        ("operators", len),
        ("samples", lambda each: sum([one.samples for one in each])),
        ("full", lambda each: number(each, "full")),
        ("with kernels, in a part at least", lambda each: sum([bool(one.fused) for one in each])),
        ("partly", lambda each: number(each, "partly")),
        ("not", lambda each: number(each, "not")),
        ("wrong", lambda each: number(each, "wrong")),
        ("general", lambda each: sum([one.general for one in each])),
        ("of these right at two other sizes", lambda each: sum([one.general and one.elsewhere >= 2 for one in each])),
        ("with pinned sizes", lambda each: sum([bool(one.pinned) for one in each])),
        ("without other sizes to try", lambda each: sum([tried(one) < 2 for one in each])),
        ("runs at other sizes, right", lambda each: sum([one.elsewhere for one in each])),
        ("refused", lambda each: sum([len(one.refused) for one in each])),
        ("refused, %", lambda each: 100 * share(each)),
        ("stopped", lambda each: sum([len(one.stopped) for one in each])),
        ("lenient", lambda each: sum([len(one.lenient) for one in each])),
        ("other strides than foreseen", lambda each: sum([bool(one.strides) for one in each])),
    ]
    for what, count in counts:
        rows.append([what, *[count(each) for each in directions.values()]])
    return table(["", *directions], rows)


def number(outcomes: Iterable[Outcome], verdict: str) -> int:
    return sum([outcome.verdict == verdict for outcome in outcomes])


def tried(outcome: Outcome) -> int:
    """Other sizes that eager accepts."""
    return outcome.elsewhere + len(outcome.refused) + len(outcome.stopped)


def share(outcomes: Iterable[Outcome]) -> float:
    """The part of the other sizes that the guards refuse."""
    each = list(outcomes)
    refused = sum([len(outcome.refused) for outcome in each])
    return refused / max(sum([tried(outcome) for outcome in each]), 1)


def page(directions: Mapping[str, Sequence[Outcome]], command: str) -> str:
    """All of it."""
    parts = ["# Torch's operators, traced", f"{versions('torch')}; {machine()}. `{command}`", EXPLANATION.strip()]
    parts.append(summary(directions))
    for direction, outcomes in directions.items():
        parts += [
            f"## {direction}: not all samples",
            listed(outcomes, "failed", lambda one: one.verdict in ("partly", "not")),
            f"## {direction}: wrong",
            listed(outcomes, "wrong"),
            f"## {direction}: pinned",
            listed(outcomes, "pinned"),
            f"## {direction}: refused",
            listed(outcomes, "refused"),
            f"## {direction}: stopped",
            listed(outcomes, "stopped"),
            f"## {direction}: every operator",
            everything(outcomes),
        ]
    return "\n\n".join(parts) + "\n"


def listed(outcomes: Iterable[Outcome], what: str, among: Callable[[Outcome], bool] = lambda one: True) -> str:
    """The operators with something to tell, and the first of what there is."""
    rows: list[list[Cell]] = []
    for outcome in outcomes:
        found = getattr(outcome, what)
        if found and among(outcome):
            first = found[0] if len(found[0]) <= SHOWN else f"{found[0][:SHOWN]}..."
            rows.append([outcome.operator, len(found), f"`{first.replace('|', '/').replace('`', '')}`"])
    return table(["operator", "count", "the first"], rows) if rows else "None."


def everything(outcomes: Iterable[Outcome]) -> str:
    rows: list[list[Cell]] = [
        [
            outcome.operator,
            outcome.verdict,
            f"{outcome.right} of {outcome.samples}",
            len(outcome.pinned),
            len(outcome.ones),
            outcome.elsewhere,
            len(outcome.refused),
        ]
        for outcome in outcomes
    ]
    return table(["operator", "verdict", "right", "pinned", "ones", "other sizes", "refused"], rows)
