"""Knowledge under construction: the maps to write to, the worklist, and the steps spent.

    >>> from solver.knowledge.draft import Draft
    >>> from solver.knowledge.facts import Facts
    >>> from solver.terms.interner import Interner
    >>> Draft(Facts.empty(Interner()), supposing=False).steps
    0

`solver.knowledge.inequalities` and `solver.knowledge.equalities` add what is learned from each,
`solver.knowledge.propagation` the loop.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from solver.knowledge.base import Knowledge
from solver.knowledge.decided_atoms import Deciding
from solver.knowledge.entries import Caches, Entry, Products, Rule, Uses
from solver.proofs.step import ProofStep
from solver.terms.expr import Atom
from solver.terms.prop import Prop

MOVES: Final = 8
"""Limit of how often one fact may tighten the same bound: `x >= y + 1` and `y >= x + 1` would go on for ever."""
BITS: Final = 512
"""Bits beyond which a bound is not tightened: `x >= x*x + 1` would double them with every step."""


class Contradictory(Exception):
    """The facts contradict each other; `proof` concludes false."""

    def __init__(self, proof: ProofStep) -> None:
        super().__init__(proof)
        self.proof = proof


class Draft(Deciding):
    """Knowledge while it is being extended."""

    __slots__ = ("moved", "moves", "new_solved", "queue", "steps", "supposing")

    def __init__(self, base: Knowledge, *, supposing: bool) -> None:
        super().__init__(
            base.interner,
            base.ranges.draft(),
            base.forms.draft(),
            base.excluded.draft(),
            base.solved.draft(),
            base.uses.draft(),
            Products(base.products.rules, base.products.bounded),
            Caches(),
        )
        self.queue: deque[tuple[Prop, ProofStep]] = deque()
        self.moved: dict[Atom, None] = {}  # whose bounds have changed, each once
        self.new_solved: list[tuple[Atom, Rule]] = []
        self.moves: dict[tuple[int, bool], int] = {}
        self.steps = 0
        self.supposing = supposing
        """True if the facts include a hypothesis."""

    def note(self, prop: Prop, proof: ProofStep) -> None:
        """Index a learned statement by the atoms it mentions."""
        entry = Entry(prop, proof)
        for atom in sorted(prop.atoms, key=lambda atom: atom.serial):
            self.uses.set(atom.serial, Uses(entry, self.uses.get(atom.serial)))

    def moved_enough(self, key: int, lower: bool, value: int) -> bool:
        """Return True if propagation of a bound stops: this fact has tightened it too often, or too far."""
        side = (key, lower)
        moves = self.moves.get(side, 0) + 1
        self.moves[side] = moves
        return moves > MOVES or (moves > 2 and value.bit_length() > BITS)
