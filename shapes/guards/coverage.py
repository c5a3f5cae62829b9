"""Coverage and overlap of the variants of a dispatch, decided by the solver with symbolic inputs.

    >>> from shapes import ShapeEnv
    >>> from shapes.guards.dispatch import Dispatch
    >>> def variant(fact):
    ...     env = ShapeEnv()
    ...     env.symbol("n")
    ...     env.assume(fact)
    ...     return env
    >>> dispatch = Dispatch(["n"])
    >>> dispatch.add(variant("n <= 15"), "small", sources={"n": 0})
    >>> dispatch.add(variant("n >= 17"), "large", sources={"n": 0})
    >>> dispatch.coverage().false_at
    {'n': 16}
    >>> dispatch.add(variant("n >= 16 and n <= 20"), "medium", sources={"n": 0})
    >>> type(dispatch.coverage()).__name__
    'Always'
    >>> [(overlap.first, overlap.second) for overlap in dispatch.overlaps()]
    [(1, 2)]

Variants come from environments of their own; here they are brought over one interner, so that one question can be about
all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from shapes.accepted import shown
from shapes.environment.translation import Translator
from solver.decide.ladder import decide
from solver.decide.verdict import Always, Depends, Never, Verdict
from solver.errors import ShapeError
from solver.knowledge.facts import Facts
from solver.terms.expr import Atom, Expr
from solver.terms.interner import Interner
from solver.terms.prop import Prop

if TYPE_CHECKING:
    from shapes.guards.variants import Entry

Ranges = Mapping[str, tuple[int | None, int | None]]
SIZES: Final = (0, None)
"""An input is a size, unless its range is given."""


@dataclass(frozen=True, slots=True)
class Overlap:
    """Two variants, by position, that were not shown to be disjoint; the first one wins.

    `sizes` are accepted by both; None where it is unknown whether there are any.
    """

    first: int
    second: int
    sizes: dict[str, int] | None


class Space:
    """The inputs of some variants as symbols, and what is known about them."""

    def __init__(self, entries: Sequence[Entry[object]], texts: Sequence[str], ranges: Ranges) -> None:
        self.interner = Interner()
        self.facts = Facts.empty(self.interner)
        unknown = set(ranges) - set(texts)
        if unknown:
            raise ShapeError(f"ranges[{min(unknown)!r}]: the inputs are {', '.join(texts)}")
        opaque = {leaf.number for entry in entries for leaf in entry.variant.tests}
        self._inputs: dict[int, Expr] = {}
        for position, text in enumerate(texts):
            if position not in opaque:
                symbol = self._inputs[position] = self.interner.symbol(text)
                self.facts = self.facts.declare_range(symbol, *ranges.get(text, SIZES))
        self.accepted = [self._accepted(entry) for entry in entries]
        """By variant, what its sizes must satisfy."""

    def _accepted(self, entry: Entry[object]) -> Prop:
        """The requirements of a variant over the inputs, with their domains, and that the sources of a symbol agree."""
        plan = entry.check.plan
        images: dict[Atom, Expr] = {}
        accepted: list[Prop] = []
        for name, own in plan.arguments.positions.items():
            (atom,) = plan.symbols[name].symbols
            first, *others = [self._inputs[entry.positions[position]] for position in own]
            images[atom] = first
            accepted += [self.interner.eq(first, other) for other in others]
        translator = Translator(self.interner, images)
        for requirement in plan.requirements:
            for prop in (requirement.domain, requirement.prop):
                for atom in sorted(prop.symbols, key=lambda atom: atom.serial):
                    if atom not in images and atom.definition is not None:
                        images[atom] = translator.expr(atom.definition)
                accepted.append(translator.prop(prop))
        return self.interner.conjunction(accepted)


def coverage(entries: Sequence[Entry[object]], texts: Sequence[str], ranges: Ranges) -> Verdict:
    """Whether some variant accepts: Always, or sizes (`false_at`) that none does, or GaveUp."""
    if not isinstance(ranges, Mapping):
        raise ShapeError(f"ranges={shown(ranges)}: expected a size, or a pair of bounds, for each input by its text")
    space = Space(entries, texts, ranges)
    return decide(space.facts, space.interner.disjunction(space.accepted))


def overlaps(entries: Sequence[Entry[object]], texts: Sequence[str], ranges: Ranges) -> list[Overlap]:
    """The pairs of variants, in order, that were not shown to be disjoint."""
    space = Space(entries, texts, ranges)
    found = []
    for j, second in enumerate(entries):
        for i, first in enumerate(entries[:j]):
            if any(second.tests.get(path, value) != value for path, value in first.tests.items()):
                continue
            verdict = decide(space.facts, space.interner.conjunction([space.accepted[i], space.accepted[j]]))
            if isinstance(verdict, Never):
                continue
            sizes = verdict.true_values if isinstance(verdict, Depends) else None
            if isinstance(verdict, Always):
                sizes = space.facts.witness()
            named = None if sizes is None else {atom.name: value for atom, value in sizes.items()}
            found.append(Overlap(i, j, named))
    return found
