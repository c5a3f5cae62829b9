"""Entries of the knowledge base: bounds, learned comparisons and rewrite rules, each with its proof.

    >>> from solver.knowledge.entries import Range
    >>> bounds = Range(2, None)
    >>> bounds.lo, bounds.hi, bounds.older
    (2, None, None)
"""

from __future__ import annotations

from typing import Final

from solver.proofs.step import ProofStep
from solver.terms.expr import Expr
from solver.terms.prop import Prop


class Range:
    """Bounds of a monomial or form.

    A bound without a proof is derived from the structure; `older` are the weaker bounds known before.
    """

    __slots__ = ("hi", "hi_proof", "lo", "lo_proof", "older")

    def __init__(
        self,
        lo: int | None,
        hi: int | None,
        lo_proof: ProofStep | None = None,
        hi_proof: ProofStep | None = None,
        older: Range | None = None,
    ) -> None:
        self.lo = lo
        self.hi = hi
        self.lo_proof = lo_proof
        self.hi_proof = hi_proof
        self.older = older


UNBOUNDED: Final = Range(None, None)


def tightened(known: Range | None, lower: bool, value: int, proof: ProofStep) -> Range:
    """A range with a new bound, which keeps the one before it."""
    before = known or UNBOUNDED
    if lower:
        return Range(value, before.hi, proof, before.hi_proof, known)
    return Range(before.lo, value, before.lo_proof, proof, known)


class Entry:
    """A learned comparison with its proof."""

    __slots__ = ("proof", "prop")

    def __init__(self, prop: Prop, proof: ProofStep) -> None:
        self.prop = prop
        self.proof = proof


class Uses:
    """The entries that mention an atom, newest first: a linked list, so that adding one copies nothing."""

    __slots__ = ("count", "entry", "rest")

    def __init__(self, entry: Entry, rest: Uses | None) -> None:
        self.entry = entry
        self.rest = rest
        self.count: int = 1 if rest is None else rest.count + 1


class Rule:
    """A rewrite rule: an atom or a product of atoms, and what it equals."""

    __slots__ = ("image", "proof")

    def __init__(self, image: Expr, proof: ProofStep) -> None:
        self.image = image
        self.proof = proof


def form_key(form: Expr) -> int:
    return id(form) >> 4


class Products:
    """Knowledge about products of atoms: their rewrite rules, and which have recorded bounds."""

    __slots__ = ("bounded", "rules")

    def __init__(self, rules: tuple[tuple[int, Rule], ...] = (), bounded: tuple[int, ...] = ()) -> None:
        self.rules = rules
        self.bounded = bounded


class Caches:
    """Values that queries have computed from the maps: none of them is knowledge."""

    __slots__ = ("bounding", "diverging", "explained", "inert", "ranges", "rules")

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Drop everything."""
        self.ranges: dict[int, Range] = {}
        self.rules: dict[int, Rule | None] = {}
        self.inert: set[int] = set()
        self.bounding: list[int] | None = None  # of the bounded products
        self.explained: dict[tuple[int, bool, int], ProofStep] = {}  # of nested atoms (`solver.knowledge.explain`)
        self.diverging: dict[Rule, bool] = {}

    def of_the_maps(self) -> Caches:
        """The caches without proofs, for a value that takes over the maps."""
        caches = Caches()
        caches.ranges, caches.rules, caches.inert, caches.bounding = self.ranges, self.rules, self.inert, self.bounding
        return caches
