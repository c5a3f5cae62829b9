"""A cost model of guards: what one saves and costs, from measured figures, for policies that weigh the two.

    >>> from shapes import ShapeEnv
    >>> from backends.decisions.questions import Choice, Decisions
    >>> env = ShapeEnv(origin=lambda: None)
    >>> rows, s = [size.expr for size in env.sizes("rows s", hints=(100_000, 24))]
    >>> decisions = Decisions(env)
    >>> question = env.interner.eq(s, 24)
    >>> choice = Choice("a number", "a length of the run")
    >>> decisions.holds("constant", question, choice, iterations=rows, length=s) is None
    True
    >>> costs = Costs(variant=(0.1, 0.02, 0.001), saved={"constant": ((8, 4e-9), (40, 2e-9))})
    >>> [each] = guard_candidates([decisions], Expected(calls=1_000), costs, seconds=costs.of_variant(1, 0))
    >>> print(each)
    s == 24: saves 300 us a call, 300 ms in all, costs 240 ms: pays
    >>> [each] = guard_candidates([decisions], Expected(calls=100, misses=0.5), costs, seconds=costs.of_variant(1, 0))
    >>> each.pays
    False

A guard is a fact about sizes that kernels can rely on. It saves time in every call that it holds for. It costs making
the kernels once more, now that it is known, and one more variant if ever a call comes where it does not hold. Only what
is about sizes of inputs can be a guard, and only what holds for the sizes at hand.

The figures are in costs.json, by device, written by `python -m benchmarks.guard_costs`. A kind without a figure saves
nothing.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from backends.decisions.guard_candidates import GuardCandidate
from backends.decisions.questions import Decisions, Open
from shapes.env import ShapeEnv
from shapes.origin import Origin
from solver.decide.verdict import Always
from solver.errors import ShapeError
from solver.terms.prop import Prop

MEASURED: Final = Path(__file__).with_suffix(".json")


@dataclass(frozen=True, slots=True)
class Expected:
    """The expected use of a variant, as far as the caller of the compiler knows.

    Attributes:
        calls: how many calls it takes.
        misses: how likely it is that a call comes where a guard does not hold, from 0 to 1.
    """

    calls: float
    misses: float = 1.0

    def __post_init__(self) -> None:
        for name in ("calls", "misses"):
            if not isinstance(getattr(self, name), int | float):
                raise ShapeError(f"{name}={getattr(self, name)!r}: expected a number")
        if not self.calls >= 0:
            raise ShapeError(f"calls={self.calls!r}: expected a number of at least 0")
        if not 0 <= self.misses <= 1:
            raise ShapeError(f"misses={self.misses!r}: expected a number from 0 to 1")


@dataclass(frozen=True, slots=True)
class Costs:
    """Measured seconds.

    Attributes:
        variant: of one more variant: for itself, for each of its kernels, for each of its calls of operators.
        saved: what a fact of each kind saves in an iteration of a loop, by the length of the loop, ascending.
    """

    variant: tuple[float, float, float]
    saved: Mapping[str, Sequence[tuple[int, float]]]

    @staticmethod
    @cache
    def measured(device: str) -> Costs:
        """The figures that come with the project; for a device that none were measured on, nothing saves anything."""
        found = json.loads(MEASURED.read_text()).get(device, {"variant": {}, "saved": {}})
        saved = {
            kind: tuple([(int(length), nanoseconds * 1e-9) for length, nanoseconds in by_length.items()])
            for kind, by_length in found["saved"].items()
        }
        base, kernel, call = [found["variant"].get(name, 0.0) for name in ("itself", "kernel", "call")]
        return Costs((base, kernel, call), saved)

    def of_variant(self, kernels: int, calls: int) -> float:
        """Seconds until a variant with so many kernels and calls of operators runs."""
        itself, kernel, call = self.variant
        return itself + kernel * kernels + call * calls

    def of_iteration(self, kind: str, length: int) -> float:
        """The saving of a fact per iteration of a loop of this length: interpolated linearly between two measured
        lengths.
        """
        points = self.saved.get(kind, ())
        if not points:
            return 0.0
        before = after = points[0]
        for point in points:
            before, after = after, point
            if length <= point[0]:
                break
        (low, first), (high, second) = before, after
        share = 1.0 if high == low else min(max((length - low) / (high - low), 0.0), 1.0)
        return first + share * (second - first)


def guard_candidates(
    asked: Iterable[Decisions], expected: Expected, costs: Costs, *, seconds: float, varying: Collection[str] = ()
) -> list[GuardCandidate]:
    """The guards that would answer what was open, those that save most first; none about symbols that are `varying`.

    `seconds` is what one more variant takes.
    """
    found: dict[Prop, list[tuple[float, Open]]] = {}
    for decisions in asked:
        for each in decisions.unanswered:
            if is_guard(decisions.env, each.question, varying):
                found.setdefault(each.question, []).append((_saved(decisions.env, each, costs), each))
    made = []
    for question, parts in found.items():
        saves = sum([saved for saved, _ in parts])
        if saves > 0:
            kinds = tuple(dict.fromkeys([each.kind for _, each in parts]))
            _, most = max(parts, key=lambda part: part[0])
            made.append(
                GuardCandidate(question, kinds, saves, expected.calls, (1 + expected.misses) * seconds, most.origin)
            )
    return sorted(made, key=lambda each: -each.saves)


def is_guard(env: ShapeEnv, question: Prop, varying: Collection[str] = ()) -> bool:
    """Return True if a question can be a guard: it is about sizes of inputs, and holds for the present ones."""
    symbols = env.symbols
    for atom in question.symbols:
        if atom not in symbols or symbols[atom].kind != "backed" or atom.name in varying:
            return False
    return env.hint(question) is True


def _saved(env: ShapeEnv, question: Open, costs: Costs) -> float:
    iterations = 1 if question.iterations is None else env.hint(question.iterations)
    length = 1 if question.length is None else env.hint(question.length)
    return 0.0 if iterations is None or length is None else iterations * costs.of_iteration(question.kind, length)


def commit(
    env: ShapeEnv, guards: Iterable[GuardCandidate], origins: Mapping[str, Origin]
) -> dict[Prop, GuardCandidate]:
    """Add those that pay to an environment, as guards; the ones that were added, by what they say.

    One that follows by now is not added, nor one that the environment refuses, as for a size that is to stay dynamic.
    """
    added: dict[Prop, GuardCandidate] = {}
    for each in guards:
        if not each.pays or isinstance(env.ask(each.question, purpose="optional"), Always):
            continue
        try:
            with env.at(origins.get(each.origin)):
                env.guard(each.question)
        except ShapeError:
            continue
        added[each.question] = each
    return added
