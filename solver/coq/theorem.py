"""What the rules of proof need of the theorem that they write a step of (`solver.coq.script.Script` is one)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from solver.coq.canonical import Canonical
from solver.coq.logic import Logic
from solver.coq.terms import Names
from solver.proofs.step import ProofStep
from solver.terms.prop import Prop


class Theorem(Protocol):
    """One theorem in the making."""

    names: Names
    logic: Logic
    canonical: Canonical

    def given(self, premise: ProofStep) -> str:
        """The proof of a premise."""

    def hypothesis(self, p: Prop) -> str:
        """The name of a hypothesis."""

    def remember(self, statement: str, term: str) -> str:
        """A local lemma of the step at hand."""

    def computed(self, statement: str) -> str:
        """A closed statement that computation decides."""

    def folded(self, statement: str, term: str, equations: Sequence[str]) -> str:
        """What a term shows once equations are rewritten in it."""

    def assumed(self, step: ProofStep, why: str) -> str:
        """A hypothesis about an opaque function, which the checker is asked about."""
