"""A certificate as a Coq script: its leaves as hypotheses, its steps as local lemmas of one theorem.

Steps are in topological order, each once. A step under open hypotheses (a case, or the negated goal) is stated as an
implication from them, so that it can be used anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from solver.coq.connectives import negated
from solver.coq.operating import OPERATIONS
from solver.coq.steps import RULES, product_apart
from solver.coq.terms import argument, by_lia, call, comment, conjunct
from solver.coq.texts import Texts
from solver.coq.theorem import Theorem
from solver.coq.written import Proven, Read
from solver.decide.assume import assume
from solver.decide.ladder import decide
from solver.decide.verdict import Always
from solver.errors import NotExported, NotExpressible
from solver.knowledge.facts import Conflict, Facts
from solver.proofs.fact import Fact
from solver.proofs.inference import Wrong
from solver.proofs.step import ProofStep, leaves
from solver.terms.expr import Expr
from solver.terms.prop import Prop

LEAVES: Final = frozenset(("fact", "domain", "hypothesis"))


class Script(Theorem):
    """One theorem in the making."""

    def __init__(self, proof: ProofStep, goal: Prop, domain: Prop, text: str | None = None) -> None:
        """`text` is the question as it was written; its normal form is the goal or the negation of it."""
        super().__init__(self.nonzero)
        self.goal, self.domain, self.root = goal, domain, proof
        self.facts = leaves(proof)
        self.texts = Texts(self.names, [goal, domain, *[p for fact in self.facts for p in (fact.prop, fact.domain)]])
        self.asked = None if text is None else self.texts.question(text)
        self.proven: dict[Fact | None, tuple[str, Proven]] = {}
        self.written: list[tuple[Fact, str, Read]] = []
        self.lines: list[str] = []
        self.stated: dict[tuple[Fact | None, str], tuple[str, Prop]] = {}
        if text is None:
            self.shown.append(goal)
        self.resting: tuple[Prop, ...] = ()
        self.wanted: set[Expr] = set()
        self.beside: list[ProofStep] = []
        self.parts: dict[Prop, tuple[str, tuple[Prop, ...]]] = {}
        self.concluded: dict[Prop, str] = {}

    def nonzero(self, d: Expr) -> str:
        """A proof that a divisor is nonzero, from the domains of the facts and of the question, and from the facts."""
        wanted = f"{self.names.expression(d)} <> 0"
        for p, known in self._available():
            bounds = [e.constant for e in (d - p.expr, -d - p.expr) if e.is_constant] if p.kind == "ge" else []
            if p is Prop.zero(d).negation or max(bounds, default=0) >= 1:
                return by_lia(wanted, known())
        if len(d.terms) == 1 and not d.constant and (d.degree > 1 or abs(d.terms[0][1]) > 1):
            factors = [self.nonzero(atom.expr) for atom in d.interner.monomials[d.terms[0][0]]]
            return by_lia(wanted, product_apart(factors))
        return self._decided_nonzero(d)

    def _available(self) -> Iterator[tuple[Prop, Callable[[], str]]]:
        """The available statements: conclusions, domains, then facts, conjunctions split."""
        for p, name in self.concluded.items():
            yield p, partial(str, name)
        for fact in [None, *self.facts]:
            for field in ("domain", "prop"):
                whole = self.domain if fact is None else fact.domain if field == "domain" else fact.prop
                if fact is None and field == "prop":
                    continue
                parts = whole.parts if whole.kind == "and" else (whole,)
                for index, part in enumerate(parts):
                    yield part, partial(self._part_stated, fact, field, index, len(parts))

    def _part_stated(self, fact: Fact | None, field: str, index: int, count: int) -> str:
        """A part of the axioms, which becomes a hypothesis of the theorem once it is used."""
        return conjunct(self.stating(fact, field), index, count)

    def _decided_nonzero(self, d: Expr) -> str:
        """A proof by the engine from the available facts, exported too."""
        if d in self.wanted:
            raise NotExpressible(f"no premise says that the divisor {d} is not zero")
        known = Facts.empty(d.interner)
        symbols = frozenset().union(d.symbols, self.domain.symbols, *[fact.prop.symbols for fact in self.facts])
        for atom in sorted(symbols, key=lambda atom: atom.serial):
            if atom.definition is None:
                known = known.declare_range(atom.expr, None, None)
        for fact in self.facts:
            larger = assume(known, fact)
            if not isinstance(larger, Conflict):
                known = larger
        for p in self.resting:
            parts = p.parts if p.kind == "and" else (p,)
            for index, part in enumerate(parts):
                supposed = known.suppose(part)
                if not isinstance(supposed, Conflict):
                    known = supposed
                    self.parts[part] = conjunct(self.hypothesis(p), index, len(parts)), (p,)
        verdict = decide(known, Prop.zero(d).negation, domain=self.domain, solvers=False)
        if not isinstance(verdict, Always):
            raise NotExpressible(f"no premise says that the divisor {d} is not zero")
        self.wanted.add(d)
        found = self._beside(verdict.found)
        self.wanted.discard(d)
        self.parts.clear()
        return by_lia(f"{self.names.expression(d)} <> 0", found)

    def _beside(self, proof: ProofStep) -> str:
        """Another proof, with its steps before the current one."""
        local, resting = self.local, self.resting
        self.beside.append(proof)  # steps are known by identity
        self.take(proof)
        self.local, self.resting = local, resting
        return self.given(proof)

    # ------------------------------------------------------------------ steps

    def take(self, proof: ProofStep) -> None:
        """All steps, premises first."""
        stack = [proof]
        while stack:
            step = stack[-1]
            waiting = [premise for premise in step.premises if id(premise) not in self.known]
            if id(step) in self.known:
                stack.pop()
            elif waiting:
                stack.extend(reversed(waiting))
            else:
                stack.pop()
                self._step(step)

    def _step(self, step: ProofStep) -> None:
        if step.rule in LEAVES:
            self.known[id(step)] = self._leaf(step)
            return
        rule = RULES.get(step.rule) or OPERATIONS.get(step.rule)
        if rule is None:
            raise NotExported(step.rule, "no lemma states it")
        open_ = self._open(step)
        self.resting, self.local = open_, []
        try:
            term = rule(self, step)
        except NotExported:
            raise
        except (NotExpressible, Wrong) as error:
            raise NotExported(step.rule, str(error)) from None
        except (AttributeError, KeyError, IndexError, ValueError, AssertionError, TypeError) as error:
            raise NotExported(step.rule, f"the step is malformed: {error}") from error
        self.count += 1
        name = f"H{self.count}_"
        statement = " -> ".join([argument(self.names.proposition(p)) for p in (*open_, step.conclusion)])
        intros = f"intros {' '.join([self.hypotheses[p] for p in open_])}. " if open_ else ""
        body = " ".join([*self.local, f"exact ({self.names.follows(step.conclusion, term)})."])
        self.lines.append(f"{comment(f'{step.rule}: {step.conclusion}')}")
        self.lines.append(f"assert ({name} : {statement}).\n{{ {intros}{body} }}")
        self.known[id(step)] = name, open_
        if not open_:
            self.concluded.setdefault(step.conclusion, name)

    def _leaf(self, step: ProofStep) -> tuple[str, tuple[Prop, ...]]:
        if step.rule == "fact" or step.fact is not None:
            if step.fact is None:
                raise NotExported(step.rule, "it names no fact")
            return self.stating(step.fact, "prop" if step.rule == "fact" else "domain"), ()
        if step.rule == "domain" and step.conclusion is self.domain:
            return self.stating(None, "domain"), ()
        self.hypothesis(step.conclusion)
        return self.parts.get(step.conclusion, ("", (step.conclusion,)))

    def _open(self, step: ProofStep) -> tuple[Prop, ...]:
        """The hypotheses that the step leaves open."""
        of = [self.known[id(premise)][1] for premise in step.premises]
        if step.rule == "refute":
            of = [tuple([p for p in of[0] if p is not step.conclusion.negation])]
        elif step.rule == "cases":
            own = isinstance(step.data, Prop)
            whole = step.data if isinstance(step.data, Prop) else step.premises[0].conclusion
            branches = (whole, whole.negation) if own else whole.parts
            split = of[:0] if own else of[:1]
            ends = zip(of[len(split) :], branches, strict=True)
            of = [*split, *[tuple([p for p in each if p is not case]) for each, case in ends]]
        return tuple(dict.fromkeys([p for each in of for p in each]))

    def stating(self, fact: Fact | None, field: str) -> str:
        """The name of a fact, of its domain or of the question's as a hypothesis of the theorem."""
        found = self.stated.get((fact, field))
        if found is None:
            prop = self.domain if fact is None else fact.domain if field == "domain" else fact.prop
            found = self.stated[fact, field] = (f"F{len(self.stated) + 1}_", prop)
            known = self._proven(fact)
            if known is None:
                self.shown.append(prop)
            else:
                name, proven = known
                if field == "domain":
                    term = self.names.follows(prop, *[proof for _, proof in proven.defined])
                else:
                    term = call("proj1", proven.proof, name)
                self.lines.append(f"assert ({found[0]} : {self.names.proposition(prop)}). {{ exact ({term}). }}")
        return found[0]

    def _proven(self, fact: Fact | None) -> tuple[str, Proven] | None:
        """The normal forms of a fact or of the question with what proves the text.

        None where there is no text.
        """
        found = self.proven.get(fact)
        if found is not None:
            return found
        if fact is None:
            read, name = self.asked, "W_"
            if read is None:
                return None
            proven = read.prove([conjunct(name, place, len(read.needs)) for place in range(len(read.needs))])
        else:
            read, name = self.texts.fact(fact), f"T{len(self.written) + 1}_"
            if read is None:
                return None
            self.written.append((fact, name, read))
            parts = [conjunct(name, place, len(read.needs) + 1) for place in range(len(read.needs) + 1)]
            proven, name = read.prove(parts[:-1]), parts[-1]
        prop = proven.value
        wanted = (self.goal, self.goal.negation) if fact is None else (fact.prop,)
        if not any(prop is each for each in wanted):
            raise NotExpressible(f"the text reads as `{prop}`")
        self.proven[fact] = found = name, proven
        return found

    # ------------------------------------------------------------------ the text

    def theorem(self, title: str) -> str:
        """The statement and its proof."""
        self.take(self.root)
        question = self._proven(None)
        for p in self.shown:
            self.names.proposition(p)
        inside = {atom for p in self.shown for atom in p.atoms} | self.texts.named()
        waiting = list(inside)
        while waiting:
            atom = waiting.pop()
            for other in atom.definition.atoms if atom.definition is not None else ():
                if other not in inside:
                    inside.add(other)
                    waiting.append(other)
        definitions = {atom: self.names.definition(atom) for atom in self.names.made}
        given = [atom for atom in self.names.variables if atom not in self.names.made]
        quantified = sorted(given, key=lambda atom: atom.serial) + [atom for atom in self.names.made if atom in inside]
        made = [atom for atom in definitions if atom in inside]
        hypotheses = [(name, f"({statement})", why) for name, statement, why in self.assumptions]
        hypotheses += self._hypotheses()
        lines = [f"Theorem {title} :"]
        for function, (name, arity) in self.names.functions.items():
            lines.append(f"  forall {name} : {' -> '.join(['Z'] * (arity + 1))},  {comment(function)}")
        if quantified:
            lines.append(f"  forall {' '.join([self.names.variable(atom) for atom in quantified])} : Z,")
        for atom in made:
            lines.append(f"  {self.names.variable(atom)} = {definitions[atom]} ->  {comment(str(atom))}")
        lines += [f"  {statement} ->  {comment(why)}" for _, statement, why in hypotheses]
        lines.append(f"  {self._conclusion(question)}.  {comment(self.texts.asked or str(self.goal))}")
        intros = [name for name, _ in self.names.functions.values()]
        intros += [self.names.variable(atom) for atom in quantified] + [self.names.equation(atom) for atom in made]
        intros += [name for name, _, _ in hypotheses]
        lines.append("Proof.")
        if intros:
            lines.append(f"intros {' '.join(intros)}.")
        for atom, definition in definitions.items():
            if atom not in inside:
                named = f"[{self.names.variable(atom)} {self.names.equation(atom)}]"
                lines.append(f"destruct (name_of ({definition})) as {named}.")
        return "\n".join([*lines, *self.lines, f"exact ({self._end(question)}).", "Qed."])

    def _hypotheses(self) -> list[tuple[str, str, str]]:
        """The facts as they were recorded, then the domain of the question: names, statements, comments."""
        found: list[tuple[float, str, tuple[str, str, str]]] = []
        for written, name, read in self.written:
            found.append((written.serial, "", (name, argument(read.whole), place_of(written, "prop", written.prop))))
        for (fact, field), (name, prop) in self.stated.items():
            if fact not in self.proven:
                statement = argument(self.names.proposition(prop))
                serial = float("inf") if fact is None else fact.serial
                found.append((serial, field, (name, statement, place_of(fact, field, prop))))
        if self.asked is not None and self.asked.needs:
            why = "where the question makes sense"
            found.append((float("inf"), "", ("W_", argument(self.asked.domain), why)))
        return [each for _, _, each in sorted(found, key=lambda each: each[:2])]

    def _conclusion(self, question: tuple[str, Proven] | None) -> str:
        """The question, or its negation, as it was written."""
        if question is None or self.asked is None:
            return argument(self.names.proposition(self.goal))
        positive = question[1].value is self.goal
        return argument(self.asked.text if positive else f"~ {argument(self.asked.text)}")

    def _end(self, question: tuple[str, Proven] | None) -> str:
        """The proof of the conclusion from that of the goal."""
        end = self.given(self.root)
        if question is None or self.asked is None:
            return end
        proven = question[1]
        assert isinstance(proven.value, Prop)
        if proven.value is self.goal:
            return call("proj2", proven.proof, end)
        text, goal = self.names.proposition(proven.value), self.names.proposition(self.goal)
        opposite = negated(self.names, proven.value)
        return call("proj2", call("not_is", self.asked.text, text, goal, proven.proof, opposite), end)


def place_of(fact: Fact | None, field: str, prop: Prop) -> str:
    """The place of a hypothesis; None is the question."""
    if fact is None:
        return f"where the question makes sense: {prop}"
    text = fact.text if field == "prop" else f"where `{fact.text}` makes sense: {prop}"
    place = str(fact.origin) if fact.origin is not None else f"line {fact.line}" if fact.line is not None else ""
    return f"{fact.kind}: {text}" + (f" ({place})" if place else "")
