"""Coq's kernel rejects certificates in which something was exchanged."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from shapes import Always, ShapeEnv
from solver.coq.library import standalone
from solver.coq.script import Script
from solver.decide.verdict import Verdict
from solver.errors import NotExported
from solver.proofs.fact import Fact
from solver.proofs.step import ProofStep, combine
from solver.terms.prop import Prop
from tests.solver.coq.coqc import accepted, needs_coq

FORGERIES = ["a multiplier", "the slack", "the conclusion", "the goal", "a premise", "an image", "a bound", "a leaf"]


@cache
def genuine(kind: str) -> tuple[ProofStep, Verdict]:
    """A proof, and the verdict that it belongs to."""
    env = ShapeEnv(origin=lambda: None, solvers=False)
    x, y = env.unbacked("x", lo=2), env.unbacked("y", lo=None)
    if kind in ("an image", "a bound"):
        env.assume(y % 4 == 0)
        verdict = env.ask(y % 2 == 0 if kind == "an image" else x * x >= 4)
        assert isinstance(verdict, Always)
        return verdict.proof, verdict
    env.assume(3 * x + 2 * y >= 7)
    sloped, least = [ProofStep("fact", fact.prop, fact=fact) for fact in env.known.records() if fact.prop.kind == "ge"]
    proof = combine((sloped, least), (2, 1))
    return proof, Always(proof.conclusion, env.interner.true, "linear", proof)


def forged(kind: str) -> tuple[ProofStep, Verdict]:
    """The same proof with something in it exchanged."""
    proof, verdict = genuine(kind)
    terms = verdict.prop.interner
    step = ProofStep(proof.rule, proof.conclusion, proof.premises, proof.data, proof.fact)
    match kind:
        case "a multiplier":
            assert proof.data == ((2, 1), 0)
            step.data = ((3, 1), 0)
        case "the slack":
            step = ProofStep("combine", Prop.nonnegative(verdict.prop.expr - 1), (proof,), ((1,), -1))
            return step, _about(verdict, step)
        case "the conclusion":
            step.conclusion = Prop.nonnegative(verdict.prop.expr - 1)
            return step, _about(verdict, step)
        case "the goal":
            return proof, _about(verdict, ProofStep("", Prop.nonnegative(verdict.prop.expr - 1)))
        case "a premise":
            other = Fact(terms.ge(verdict.prop.expr, 0), terms.true, "given", None, None, None, 9)
            weak = ProofStep("fact", Prop.nonnegative(other.prop.expr + 5), fact=other)
            weak.fact = Fact(weak.conclusion, terms.true, "given", None, None, None, 9)
            step = ProofStep("combine", verdict.prop, (weak,), ((1,), 0))
        case "an image":
            assert proof.rule == "rewrite"
            shape = proof.data
            assert isinstance(shape, tuple)
            step.data = tuple([tuple([(m, image + 1) for m, image in steps]) for steps in shape])
        case "a bound":
            assert proof.rule == "monomial"
            step.conclusion = Prop.nonnegative(verdict.prop.expr - 1)
            return step, _about(verdict, step)
        case "a leaf":
            step = ProofStep("hypothesis", verdict.prop)
    return step, verdict


def _about(verdict: Verdict, step: ProofStep) -> Verdict:
    return Always(step.conclusion, verdict.domain, "forged", step)


@needs_coq
def test_what_is_forged_below_was_accepted(tmp_path: Path) -> None:
    proofs = [genuine(kind) for kind in ("an image", "a bound", "the goal")]
    theorems = [
        Script(proof, verdict.prop, verdict.domain).theorem(f"genuine_{i}")
        for i, (proof, verdict) in enumerate(proofs)
    ]
    assert accepted(standalone(theorems), tmp_path)


@needs_coq
@pytest.mark.parametrize("kind", FORGERIES)
def test_forged_certificates_are_rejected(kind: str, tmp_path: Path) -> None:
    """Coq rejects them: the export compares no conclusions, except those of substitutions, which it has to know."""
    step, about = forged(kind)
    try:
        text = Script(step, about.prop, about.domain).theorem("forged")
    except NotExported:
        assert kind == "an image"
        return
    assert not accepted(standalone([text]), tmp_path)
