"""Certificates as theorems: Coq's kernel accepts what the engine proves, rule by rule."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path

import pytest

from shapes import Always, Depends, Never, ShapeEnv
from shapes.sessions.recording import FactLine, QuestionLine, SymbolLine, open_recording, read_sessions
from solver.coq import exported, theorems_of
from solver.coq.library import library, standalone
from solver.coq.operating import OPERATIONS
from solver.coq.script import Script
from solver.coq.steps import RULES
from solver.decide.ladder import decide
from solver.decide.verdict import Verdict
from solver.errors import NotExported
from solver.knowledge.facts import Facts
from solver.proofs.checker import RULES as CHECKED
from solver.proofs.fact import Fact
from solver.proofs.step import (
    ProofStep,
    absurd,
    combine_equalities,
    hypothesis,
    multiply_equality,
    refute,
    square,
)
from solver.terms.interner import Interner
from solver.terms.prop import Prop
from tests.solver.asked import asked
from tests.solver.coq.coqc import accepted, needs_coq

CASES = Path(__file__).parents[3] / "benchmarks" / "cases"

SESSIONS = {
    "products": ["strictly monotone", "sizes at least two", "a product known k=36", "squares", "zero products"],
    "shapes": ["chunked reverse", "same padding halves s=3", "vocabulary shards v=50257"],
    "bits": ["masks p=3", "two operands of any size"],
    "bounds": [
        "products of signed ranges a=-3 b=4 c=-8 d=2",
        "machine words",
        "quotients over ranges a=-9 b=4 c=-10 d=-1",
        "divisor from zero up",
        "sizes at least one",
    ],
    "modular": ["alignments a=16", "quotients of forms", "squares avoid residues", "chinese remainders"],
    "comparisons": ["triple of loops", "isolated quotients k=3"],
    "solvers": ["rational reasoning needed", "triangle inequality"],
    "division": ["quotient and remainder k=2"],
    "boolean": ["nested and negated"],
    "sets": ["reflections at an edge"],
}
"""Written cases that between them need every rule that any written case needs."""


def rules_of(proof: ProofStep) -> set[str]:
    found: set[str] = set()
    seen: set[int] = set()
    stack = [proof]
    while stack:
        step = stack.pop()
        if id(step) not in seen:
            seen.add(id(step))
            operation = f" {step.data[0].kind} {step.data[1]}" if step.rule == "axiom" else ""  # type: ignore[index]
            found.add(step.rule + operation)
            stack.extend(step.premises)
    return found


def answers(file: str, name: str) -> Iterator[Verdict]:
    """The verdicts of a written case."""
    with open_recording(CASES / f"{file}.jsonl") as stream:
        (session,) = [each for each in read_sessions(stream) if each.name == f"{file}: {name}"]
    env = ShapeEnv(decimals="real", solvers=False, origin=lambda: None)
    for line in session.lines:
        match line:
            case SymbolLine(name=symbol, lo=lo, hi=hi):
                env.unbacked(symbol, lo=lo, hi=hi)
            case FactLine(text=text):
                env.assume(text)
            case QuestionLine(text=text):
                yield env.ask(text)


@cache
def sampled() -> tuple[list[Verdict], set[str]]:
    """Verdicts each of which brings a rule or a rung that those before it did not need, and all the rules."""
    kept: list[Verdict] = []
    needed: set[str] = set()
    for file, names in SESSIONS.items():
        for name in names:
            for verdict in answers(file, name):
                if not isinstance(verdict, (Always, Never)):
                    continue
                rules = rules_of(verdict.proof) | {f"rung {verdict.rung}"}
                if rules - needed:
                    kept.append(verdict)
                    needed |= rules
    return kept, needed


def test_sample_needs_nearly_every_rule() -> None:
    """A rule without a written case here is tested on a handwritten proof below."""
    kept, needed = sampled()
    assert len(kept) >= 25
    assert (RULES | OPERATIONS).keys() - {rule.split()[0] for rule in needed} == {
        "absurd",
        "multiply",
        "nonzero-factors",
    }


def test_every_rule_of_the_checker_has_a_lemma() -> None:
    """Every rule of the checker has a lemma, so that `export("coq")` accepts its certificates."""
    assert CHECKED.keys() - (RULES | OPERATIONS).keys() == {"hypothesis", "fact", "domain"}


@needs_coq
def test_every_rule_of_proof_is_accepted(tmp_path: Path) -> None:
    kept, _ = sampled()
    theorems = [text for number, verdict in enumerate(kept) for text in theorems_of(verdict, f"_{number}")[1]]
    assert accepted(standalone(theorems), tmp_path)


def by_hand() -> list[str]:
    """Rules that no written case needs, each as a proof of its own."""
    terms = Interner()
    a, b = terms.symbol("a"), terms.symbol("b")
    always = terms.true

    def fact(prop: object, serial: int) -> ProofStep:
        given = Fact(prop, always, "given", None, None, None, serial)  # type: ignore[arg-type]
        return ProofStep("fact", given.prop, fact=given)

    zero = fact(terms.eq(a, b), 0)
    times = multiply_equality(zero, a + b)
    apart = fact(terms.ne(a, b), 1)
    powers = ProofStep("nonzero-factors", terms.ne((a - b) * (a - b), 0), (apart,), ((a - b, 2),))
    false = ProofStep("clash", terms.false, (zero, apart))
    nothing = absurd(false, terms.ge(a, 7))
    negative = hypothesis(terms.lt(a * a, 0))
    end = ProofStep("combine", terms.false, (negative, square(a)), ((1, 1), 0))
    refuted = refute(end, terms.ge(a * a, 0))
    both = combine_equalities([zero, fact(terms.eq(a, 3), 2)], [2, -5])
    proofs = (times, powers, nothing, refuted, both)
    return [Script(proof, proof.conclusion, always).theorem(f"hand_{i}") for i, proof in enumerate(proofs)]


@needs_coq
def test_rules_that_no_written_case_needs(tmp_path: Path) -> None:
    assert accepted(standalone(by_hand()), tmp_path)


@needs_coq
def test_an_enumeration_under_many_conditions_is_accepted(tmp_path: Path) -> None:
    """One at a time: Coq's `lia` overflows the stack on a dozen conditions over booleans together."""
    found = answers("wide", "a long conjunction")
    proofs = [each for each in found if isinstance(each, Always) and each.proof.rule == "box"]
    widest = max(proofs, key=lambda each: len(each.proof.premises))
    assert len(widest.proof.premises) > 12
    assert accepted(standalone(theorems_of(widest, "_")[1]), tmp_path)


@needs_coq
@pytest.mark.thorough
def test_a_sum_of_hundreds_of_multiples_is_accepted(tmp_path: Path) -> None:
    """Fails when Coq's `lia` is left to find the multipliers itself, which takes longer than anyone waits."""
    proofs = [each for each in answers("wide", "sums of thirty") if isinstance(each, Always)]
    longest = max([theorems_of(verdict, "_")[1][0] for verdict in proofs], key=len)
    assert longest.count("added ") > 400
    assert accepted(standalone([longest]), tmp_path)


@needs_coq
def test_a_quotient_by_a_negative_divisor_stands_alone(tmp_path: Path) -> None:
    verdict = asked("n 0.. d ..-1 k 0..; n < -d*k; n//d > -k - 1").verdict("isolate", "shift", "bounds")
    assert isinstance(verdict, Always) and "isolate" in rules_of(verdict.proof)
    (theorem,) = theorems_of(verdict, "_0")[1]
    assert "negated_quotient" in theorem
    assert accepted(standalone([theorem]), tmp_path)


@needs_coq
def test_the_whole_library_stands_without_axioms(tmp_path: Path) -> None:
    """Lemmas that no sample uses are checked too, and none assumes anything."""
    text = (files("solver.coq") / "symshape.v").read_text(encoding="utf-8")
    assert accepted(text, tmp_path)
    assert not [word for word in ("Axiom", "Admitted", "Parameter", "Hypothesis", "admit.") if word in text]


@needs_coq
def test_both_outcomes_are_computed(tmp_path: Path) -> None:
    env = ShapeEnv(origin=lambda: None)
    env.sizes("b s", hints=(4, 128))
    env.assume("s % 16 == 0 and (b >= 3 or s == 16)")
    questions = "b*s % 64 == 0", "isqrt(s) // 3 == b or b < 2", "s % b == 0 and s > 3"
    verdicts = [env.ask(question) for question in questions]
    assert all(isinstance(verdict, Depends) for verdict in verdicts)
    theorems = [text for i, verdict in enumerate(verdicts) for text in theorems_of(verdict, f"_{i}")[1]]
    assert [text.split()[1] for text in theorems[:2]] == ["true_at_0", "false_at_0"] and len(theorems) == 6
    text = standalone(theorems)
    assert accepted(text, tmp_path)
    last = text.rindex("exists ")  # the sizes of the last proof
    assert not accepted(text[: last + 7] + "1 + " + text[last + 7 :], tmp_path)


def test_statement_names_lines_and_domains() -> None:
    terms = Interner()
    n, d = terms.symbol("n"), terms.symbol("d")
    known = Facts.empty(terms).declare_range(n, 0, None).declare_range(d, None, None)
    known = known.learn_prop(terms.eq(n, 3 * d))
    verdict = decide(known, terms.eq(n // d, 3), domain=terms.ne(d, 0))
    statement = exported(verdict).partition("Theorem ")[2].partition("Proof.")[0]
    assert statement == (
        "always :\n"
        "  forall n d q1 : Z,\n"
        "  q1 = n / d ->  (* n//d *)\n"
        "  (3 * d - n = 0) ->  (* given: 3*d == n *)\n"
        "  (d <> 0) ->  (* where the question makes sense: d != 0 *)\n"
        "  (q1 - 3 = 0).  (* n//d == 3 *)\n"
    )


def test_names_and_comments_cannot_break_out() -> None:
    """Symbols are named like lemmas and keywords of Coq, and texts hold what ends a comment."""
    env = ShapeEnv(origin=lambda: None, solvers=False)
    for name in ("rounded", "forall", "Z", "by_ring", "F1_", "q1"):
        env.unbacked(name, lo=1)
    env.assume("forall * (Z) >= 2*rounded")
    verdict = env.ask("forall*Z*q1 >= 2*rounded*q1 and q1 // 2 >= 0 and F1_ + by_ring >= 2")
    assert isinstance(verdict, Always)
    text = verdict.export("coq")
    assert text.count("(*") == text.count("*)")
    names = set(library()) | {"forall", "Z", "by_ring"}
    bound = text.partition("forall ")[2].partition(" : Z")[0].split()
    assert len(bound) == len(set(bound)) and names.isdisjoint(bound)


@needs_coq
def test_names_that_scripts_use_themselves(tmp_path: Path) -> None:
    """Symbols called like hypotheses, local variables, lemmas and words of Coq, in every kind of step that binds."""
    env = ShapeEnv(origin=lambda: None, solvers=False)
    for name in ("F1_", "H1_", "E1_", "c1_", "h1_", "D_q1", "q1", "x", "x_", "z_", "B_", "rounded", "fun", "Z"):
        env.unbacked(name, lo=1, hi=9)
    questions = [
        "x*x_*4 + x*2 + 2*x_ + 1 != 0",
        "3*x*x + 3*x_ != 3*Z + 1",
        "x*x != 4*x_ + 2 and x*x != 4*x_ + 3",
        "F1_*H1_ >= 1 and E1_ // 4 * 4 <= E1_",
        "D_q1 // q1 <= D_q1 and q1 // D_q1 <= q1",
        "max(c1_, h1_) >= min(B_, c1_) and (z_ if z_ > 3 else 4) >= 4",
        "fun*rounded >= 1 and Z*Z >= 1",
        "(x - 3) * (x_ - 4) <= 30",
    ]
    verdicts = [env.ask(question) for question in questions]
    assert all(isinstance(verdict, Always) for verdict in verdicts), verdicts
    theorems = [text for i, verdict in enumerate(verdicts) for text in theorems_of(verdict, f"_{i}")[1]]
    assert accepted(standalone(theorems), tmp_path)


def test_no_more_is_assumed_than_the_checker_knows() -> None:
    env = ShapeEnv(origin=lambda: None, solvers=False)
    env.unbacked("s", lo=0, hi=1000)
    verdict = env.ask("int(0.3 * s) <= 300")
    assert isinstance(verdict, Always) and verdict.proof.rule == "operation"
    proof = verdict.proof
    tighter = Prop.nonnegative(verdict.prop.expr - 1)
    step = ProofStep("operation", tighter, proof.premises, proof.data)
    with pytest.raises(NotExported, match="not a registered property"):
        exported(Always(tighter, verdict.domain, "forged", step))


def test_propositions_nested_too_deeply_are_refused() -> None:
    terms = Interner()
    x = terms.symbol("x")
    deep = terms.ge(x, 0)
    for depth in range(1, 3000):
        join = terms.conjunction if depth % 2 else terms.disjunction
        deep = join([deep, terms.ge(x, depth)])
    goal = terms.disjunction([deep, terms.ge(x, -1)])
    leaf = Fact(goal, terms.true, "given", "deep", None, None, 0)
    with pytest.raises(NotExported, match="too deep"):
        exported(Always(goal, terms.true, "facts", ProofStep("fact", goal, fact=leaf)))


@needs_coq
@pytest.mark.thorough
def test_a_sample_over_all_rungs_is_accepted(tmp_path: Path) -> None:
    """Coq accepts nearly every certificate of recorded programs and written cases: a part of `benchmarks.coq`."""
    from benchmarks.coq import drawn, refused
    from benchmarks.recorded import corpus_files
    from benchmarks.textbook import question_files

    sessions = []
    for path in [*corpus_files(), *question_files()]:
        with open_recording(path) as stream:
            sessions += list(read_sessions(stream))
    theorems = []
    for number, verdict in enumerate(drawn(sessions, 240, solvers=False)):
        with contextlib.suppress(NotExported):  # comparisons of doubles, say
            theorems += theorems_of(verdict, f"_{number}")[1]
    assert len(theorems) >= 228
    wrong = {first: refused(theorems[first : first + 40], tmp_path) for first in range(0, 240, 40)}
    assert not any(wrong.values()), wrong


def test_what_has_no_lemma_is_refused_by_its_rule() -> None:
    terms = Interner()
    x = terms.symbol("x")
    goal = terms.ge(x * x, 0)
    with pytest.raises(NotExported, match="`z3`") as refused:
        exported(Always(goal, terms.true, "z3", ProofStep("z3", goal)))
    assert refused.value.rule == "z3"
    env = ShapeEnv(origin=lambda: None, solvers=False)
    n = env.unbacked("n", lo=3)
    open_question = env.ask(n**3 * 7 + 11 * n != 2 * env.unbacked("m", lo=0) ** 3 + 5)
    if not isinstance(open_question, (Always, Never, Depends)):
        with pytest.raises(NotExported, match="was not decided"):
            open_question.export("coq")
    with pytest.raises(ValueError, match="system='lean'"):
        env.ask(n >= 3).export("lean")  # type: ignore[arg-type]


def test_properties_of_opaque_functions_are_hypotheses() -> None:
    env = ShapeEnv(origin=lambda: None, solvers=False)
    env.unbacked("s", lo=0, hi=1000)
    verdict = env.ask("int(0.3 * s) <= 300")
    assert isinstance(verdict, Always)
    text = verdict.export("coq")
    assert "(* assumed: " in text and "Some hypotheses are assumed" in text
    exact = env.ask("isqrt(s) <= 31")
    assert isinstance(exact, Always) and "assumed" not in exact.export("coq") and "Z.sqrt" in exact.export("coq")


@needs_coq
def test_opaque_functions_and_deep_propositions_are_accepted(tmp_path: Path) -> None:
    env = ShapeEnv(origin=lambda: None, solvers=False)
    for name in "abc":
        env.unbacked(name, lo=0, hi=1000)
    nested = "a"
    for depth in range(8):
        nested = f"max({nested} + b, c - {depth})"
    questions = ["int(0.3 * a) <= 300", "isqrt(a) <= 31", f"{nested} >= 0", "a // (b + 1) <= a", "(a & 12) <= 12"]
    verdicts = [env.ask(question) for question in questions]
    assert all(isinstance(verdict, Always) for verdict in verdicts)
    theorems = [text for i, verdict in enumerate(verdicts) for text in theorems_of(verdict, f"_{i}")[1]]
    assert accepted(standalone(theorems), tmp_path)
