"""A theorem in the making, as rules of inference extend it (`solver.coq.script` walks the certificate).

Rules ask for proofs of premises, and state local lemmas of the current step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from solver.coq.canonical import Canonical
from solver.coq.terms import Names, argument, call
from solver.errors import NotExpressible
from solver.proofs.checker import RULES
from solver.proofs.step import ProofStep
from solver.terms.expr import Expr
from solver.terms.prop import Prop


class Theorem:
    """A theorem under construction: names, hypotheses, assumptions, and the conclusions so far."""

    def __init__(self, nonzero: Callable[[Expr], str]) -> None:
        self.names = Names()
        self.canonical = Canonical(self.names, nonzero)
        self.local: list[str] = []
        self.known: dict[int, tuple[str, tuple[Prop, ...]]] = {}
        self.hypotheses: dict[Prop, str] = {}
        self.assumptions: list[tuple[str, str, str]] = []
        self.shown: list[Prop] = []
        self.count = 0

    def given(self, premise: ProofStep) -> str:
        """The proof of a premise."""
        term, open_ = self.known[id(premise)]
        if premise.rule == "hypothesis" and term:
            return term
        return " ".join([term, *[self.hypotheses[p] for p in open_]]).strip()

    def hypothesis(self, p: Prop) -> str:
        """The name of a hypothesis."""
        found = self.hypotheses.get(p)
        if found is None:
            found = self.hypotheses[p] = f"h{len(self.hypotheses) + 1}_"
        return found

    def remember(self, statement: str, term: str) -> str:
        """A local lemma of the current step."""
        return self._assert("E", statement, f"exact ({term}).")

    def computed(self, statement: str) -> str:
        """A closed statement that computation decides."""
        return self._assert("E", statement, "vm_compute. reflexivity.")

    def folded(self, statement: str, term: str, equations: Sequence[str]) -> str:
        """A statement about operations, from the same statement about their definitions."""
        back = "".join([f" rewrite <- {name} in B_." for name in equations])
        return self._assert("E", statement, f"pose proof ({term}) as B_. cbv zeta beta in B_.{back} exact B_.")

    def _assert(self, letter: str, statement: str, tactic: str) -> str:
        self.count += 1
        name = f"{letter}{self.count}_"
        self.local.append(f"assert ({name} : {statement}). {{ {tactic} }}")
        return name

    def assumed(self, step: ProofStep, why: str) -> str:
        """A property of an opaque function, stated as a hypothesis.

        `solver.proofs.checker` verifies it, so that a certificate cannot assume more.
        """
        if RULES[step.rule](step) is not step.conclusion:
            raise NotExpressible(f"`{step.conclusion}` is not a registered property of the function")
        parts = [*[premise.conclusion for premise in step.premises], step.conclusion]
        self.shown += parts
        name = f"A{len(self.assumptions) + 1}_"
        statement = " -> ".join([argument(self.names.proposition(p)) for p in parts])
        self.assumptions.append((name, statement, f"assumed: {why}"))
        return call(name, *[self.given(premise) for premise in step.premises])
