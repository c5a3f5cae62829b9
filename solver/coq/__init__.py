"""Certificates as Coq theorems: each proof step becomes the application of a lemma, and Coq's kernel checks them.

    >>> from solver.coq import exported
    >>> from solver.knowledge.facts import Facts
    >>> from solver.terms.interner import Interner
    >>> from solver.decide.ladder import decide
    >>> terms = Interner()
    >>> s = terms.symbol("s")
    >>> known = Facts.empty(terms).declare_range(s, 2, None)
    >>> print(exported(decide(known, terms.ge(2 * s, 3))))
    (* `s >= 2` always holds, as Coq checks.
    ...
    Theorem always :
      forall s : Z,
      (0 <= s - 2) ->  (* range: 2 <= s <= None *)
      (0 <= s - 2).  (* s >= 2 *)
    Proof.
    intros s F1_.
    exact (F1_).
    Qed.
    <BLANKLINE>

The facts at the leaves of a certificate are the hypotheses of a theorem. Each step applies a lemma of `symshape.v` to
our multipliers, cuts and cases; what is left to tactics is linear arithmetic and logic (`lia`, products as variables),
identities of polynomials (`ring`), and the computation of closed numbers. A file repeats the lemmas that it uses, and
needs Coq's standard library alone.

The trusted base is Coq's kernel and the printed statement: neither `solver.proofs.checker` nor this package (except for
assumptions, which the checker verifies). Opaque functions are uninterpreted;
where a step uses one of their properties, the statement has it as a hypothesis marked `assumed`. A proof by z3 has no
steps, and is refused by its rule.
"""

from __future__ import annotations

from solver.coq.library import standalone
from solver.coq.script import Script, place_of
from solver.coq.terms import comment
from solver.coq.witness import existence
from solver.decide.verdict import Always, Depends, GaveUp, Never, Verdict
from solver.errors import NotExported
from solver.terms.depth import SHALLOW, room_for
from solver.terms.prop import Prop

TRUSTED = "To be trusted: Coq's kernel, and that the statement says what was asked."


def exported(verdict: Verdict) -> str:
    """A file for `coqc`: the verdict as a theorem, or two for a proposition that depends, with what they use.

    Raises:
        NotExported: a rule of the certificate has no lemma, or there is no evidence.
    """
    head, theorems = theorems_of(verdict)
    assumed = (
        " Some hypotheses are assumed of opaque functions." if any("(* assumed" in each for each in theorems) else ""
    )
    return f"{comment(f'{head}, as Coq checks. {TRUSTED}{assumed}')}\n{standalone(theorems)}"


def theorems_of(verdict: Verdict, suffix: str = "") -> tuple[str, list[str]]:
    """The result in words, and its theorems; `suffix` is appended to their names."""
    depth = max(verdict.prop.depth, verdict.domain.depth)
    try:
        with room_for(max(depth - SHALLOW, 0)):
            return _theorems_of(verdict, suffix)
    except RecursionError:
        raise NotExported(verdict.rung, "conjunctions and disjunctions are nested too deeply") from None


def _theorems_of(verdict: Verdict, suffix: str) -> tuple[str, list[str]]:
    question = f"`{verdict.prop}`"
    match verdict:
        case Always() | Never():
            word = "always" if isinstance(verdict, Always) else "never"
            script = Script(verdict.proof, verdict.goal, verdict.domain)
            return f"{question} {word} holds", [script.theorem(word + suffix)]
        case Depends():
            facts = list(verdict.facts.records())[::-1]
            given: list[tuple[Prop, str]] = []
            for fact in facts:
                for field, prop in (("domain", fact.domain), ("prop", fact.prop)):
                    if prop.kind != "true":
                        given.append((prop, place_of(fact, field, prop)))
            if verdict.domain.kind != "true":
                given.append((verdict.domain, place_of(None, "domain", verdict.domain)))
            sides = (
                ("true_at", verdict.prop, verdict.true_values),
                ("false_at", verdict.prop.negation, verdict.false_values),
            )
            found = [existence(name + suffix, [*given, (p, str(p))], values) for name, p, values in sides]
            return f"{question} holds for some sizes and not for others", found
        case GaveUp():
            raise NotExported(verdict.rung, f"{question} was not decided: {verdict.reason}")
