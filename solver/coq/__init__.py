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

The facts at the leaves of a certificate are the hypotheses of a theorem, and the question is its conclusion, both as
they were written, with what Python needs to evaluate them (`solver.coq.texts`); they are proven equivalent to the
normal forms that the certificate is about. Without a text, as here, the normal form is stated. Each step applies a
lemma of `symshape.v` to our multipliers, cuts and cases; what is left to tactics is linear arithmetic and logic (`lia`,
products as variables), identities of polynomials (`ring`), and the computation of closed numbers. A file repeats the
lemmas that it uses, and needs Coq's standard library alone.

The trusted base is Coq's kernel and the printed statement: neither the normal form, `solver.proofs.checker` nor this
package (except for assumptions, which the checker verifies). Opaque functions are uninterpreted;
where a step uses one of their properties, the statement has it as a hypothesis marked `assumed`. A proof by z3 has no
steps, and is refused by its rule.
"""

from __future__ import annotations

from collections.abc import Iterator

from solver.coq.library import standalone
from solver.coq.script import Script, place_of
from solver.coq.terms import Names, argument, comment
from solver.coq.texts import Texts
from solver.coq.witness import existence
from solver.decide.verdict import Always, Depends, GaveUp, Never, Verdict
from solver.errors import NotExported, NotExpressible
from solver.terms.depth import SHALLOW, room_for
from solver.terms.expr import Atom
from solver.terms.prop import Prop

TRUTHS = ("True", "False")
TRUSTED = "To be trusted: Coq's kernel, and that the statement says what was asked."


def exported(verdict: Verdict) -> str:
    """A file for `coqc`: the verdict as a theorem, or two for a proposition that depends, with what they use.

    Raises:
        NotExported: a rule has no lemma, a text is not integer arithmetic, or there is no evidence.
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
        raise NotExported(verdict.rung, "its conjunctions and disjunctions are nested too deeply") from None


def _theorems_of(verdict: Verdict, suffix: str) -> tuple[str, list[str]]:
    question = f"`{verdict.written or verdict.prop}`"
    text = verdict.written
    if not verdict.prop.symbols if text is None else text.replace("(", " ").replace(")", " ").split()[-1] in TRUTHS:
        raise NotExported("text", f"{question} states nothing about numbers")
    match verdict:
        case Always() | Never():
            word = "always" if isinstance(verdict, Always) else "never"
            try:
                script = Script(verdict.proof, verdict.goal, verdict.domain, verdict.written)
                theorem = script.theorem(word + suffix)
            except NotExported:
                raise
            except NotExpressible as error:
                raise NotExported("text", f"{question}: {error}") from None
            return f"{question} {word} holds", [theorem]
        case Depends():
            try:
                found = [existence(name + suffix, *each) for name, each in _outcomes(verdict)]
            except NotExported:
                raise
            except NotExpressible as error:
                raise NotExported("text", f"{question}: {error}") from None
            return f"{question} holds for some sizes and not for others", found
        case GaveUp():
            raise NotExported(verdict.rung, f"{question} was not decided: {verdict.reason}")


def _outcomes(verdict: Depends) -> Iterator[tuple[str, tuple[Names, list[tuple[Prop | str, str]], dict[Atom, int]]]]:
    """The statements about the sizes where the question is true, and about those where it is false."""
    facts = list(verdict.facts.records())[::-1]
    props = [verdict.prop, verdict.domain, *[p for fact in facts for p in (fact.prop, fact.domain)]]
    for truth, name, values in (True, "true_at", verdict.true_values), (False, "false_at", verdict.false_values):
        names = Names()
        texts = Texts(names, props, values)
        stated: list[tuple[Prop | str, str]] = []
        asked = None if verdict.written is None else texts.question(verdict.written)
        for fact in facts:
            read = texts.fact(fact)
            if read is not None:
                stated.append((read.whole, place_of(fact, "prop", fact.prop)))
                continue
            for field, prop in (("domain", fact.domain), ("prop", fact.prop)):
                if prop.kind != "true":
                    stated.append((prop, place_of(fact, field, prop)))
        if asked is not None:
            if asked.needs:
                stated.append((asked.domain, "where the question makes sense"))
            stated.append((asked.text if truth else f"~ {argument(asked.text)}", verdict.written or ""))
        else:
            if verdict.domain.kind != "true":
                stated.append((verdict.domain, place_of(None, "domain", verdict.domain)))
            prop = verdict.prop if truth else verdict.prop.negation
            stated.append((prop, str(prop)))
        yield name, (names, stated, values)
