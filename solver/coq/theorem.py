"""The protocol by which rules of inference extend a theorem (implemented by `solver.coq.script.Script`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from solver.coq.canonical import Canonical
from solver.coq.terms import Names
from solver.proofs.step import ProofStep
from solver.terms.prop import Prop


class Theorem(Protocol):
    """One theorem in the making."""

    names: Names
    canonical: Canonical

    def given(self, premise: ProofStep) -> str:
        """The proof of a premise."""

    def hypothesis(self, p: Prop) -> str:
        """The name of a hypothesis."""

    def remember(self, statement: str, term: str) -> str:
        """A local lemma of the current step."""

    def computed(self, statement: str) -> str:
        """A closed statement that computation decides."""

    def folded(self, statement: str, term: str, equations: Sequence[str]) -> str:
        """What a term shows once equations are rewritten in it."""

    def assumed(self, step: ProofStep, why: str) -> str:
        """A property of an opaque function as a hypothesis, which the checker verifies."""
