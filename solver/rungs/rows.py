"""Linearization: the constraints near a question as rows over monomials, and the solver's certificates as proofs.

The facts that share atoms with the question, the ranges of its monomials and the laws of its floor divisions and relus
are rows; `solver.integer` finds a contradiction, whose certificate is replayed as proof steps, or a point.

    >>> from solver.terms.interner import Interner
    >>> from solver.knowledge.facts import Facts
    >>> from solver.rungs.rows import rows_near
    >>> terms = Interner()
    >>> x = terms.symbol("x")
    >>> known = Facts.empty(terms).declare_range(x, 0, 9)
    >>> len(rows_near(known, [x]).monomials)
    1
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from solver.integer.certificate import Branch, Combine, Infeasible, Point, Refutation, Row
from solver.integer.solving import solve
from solver.integer.work_budget import WorkBudget
from solver.knowledge import quotients
from solver.knowledge.base import Knowledge
from solver.knowledge.explain import prove_bound
from solver.knowledge.laws import laws_of, rewritten
from solver.proofs.step import ProofStep, cases, combine, combine_equalities, hypothesis
from solver.terms.expr import Atom, Expr, TermTable
from solver.terms.prop import Prop

ROWS: Final = 48
MONOMIALS: Final = 40
PER_ATOM: Final = 16
QUOTIENTS: Final = 6
"""Quotients that one is compared with."""
ROW: Final = 100
"""The cost of a row, in units of the solver's work (see `solver.integer.Limits`)."""
RESTATED: Final = 3_000
"""The cost of substituting in a fact."""


class Rows:
    """The linear constraints near a question; the proof of each is built when a refutation uses it."""

    __slots__ = (
        "cost",
        "degree",
        "done",
        "index",
        "known",
        "monomials",
        "multiplied",
        "original",
        "proofs",
        "quotients",
        "restated",
        "rows",
        "seen",
        "visited",
    )

    def __init__(self, known: Knowledge, *, restated: bool = False) -> None:
        self.known = known
        self.restated = restated
        self.rows: list[Row] = []
        self.proofs: list[Callable[[], ProofStep]] = []
        self.index: dict[int, int] = {}
        self.monomials: list[int] = []
        self.seen: set[Prop] = set()
        self.multiplied: set[tuple[int, int]] = set()
        self.done = 0
        self.original = 0  # monomials before anything was multiplied, and their degree
        self.degree = 0
        self.cost = 0  # of building the rows, in units of work
        self.visited: set[int] = set()
        self.quotients: list[Atom] = []

    def add(self, p: Prop, proof: Callable[[], ProofStep]) -> bool:
        """A comparison (ge or eq) as a row."""
        if p in self.seen or p.kind not in ("ge", "eq") or not p.terms:
            return False
        self.seen.add(p)
        pairs = [(self.mention(m), c) for m, c in ordered(p.expr)]
        self.rows.append(Row(tuple(sorted(pairs)), p.expr.constant, p.kind == "eq"))
        self.proofs.append(proof)
        self.cost += ROW
        return True

    def mention(self, m: int) -> int:
        """The position of a monomial among the unknowns."""
        position = self.index.get(m)
        if position is None:
            position = self.index[m] = len(self.monomials)
            self.monomials.append(m)
        return position

    def grow(self) -> None:
        """Add the ranges, laws and facts of the monomials so far, and of those that these bring in."""
        known = self.known
        while self.done < len(self.monomials) and self.done < MONOMIALS:
            m = self.monomials[self.done]
            self.done += 1
            self.add_range(m)
            for atom in distinct(known.interner, m):
                if atom.serial in self.visited:
                    continue
                self.visited.add(atom.serial)
                if atom.args:
                    for law in laws_of(known, atom):
                        self.add(law.conclusion, given(law))
                    if atom.kind == "floordiv":
                        self.add_orders(atom)
                if len(self.rows) < ROWS and len(self.monomials) < MONOMIALS:
                    self.add_facts(atom.serial)

    def mark_question(self) -> None:
        """Mark the end of the question's own rows; later ones are lemmas."""
        self.original = len(self.monomials)
        monomials = self.known.interner.monomials
        self.degree = max(2, max((len(monomials[m]) for m in self.monomials), default=0))

    def add_range(self, m: int) -> None:
        known = self.known
        r = known.range_of(m)
        whole = known.interner.expr(((m, 1),), 0)
        if r.lo is not None:
            self.add(Prop.nonnegative(whole - r.lo), _range(known, m, True, r.lo))
        if r.hi is not None:
            self.add(Prop.nonnegative(r.hi - whole), _range(known, m, False, r.hi))

    def add_orders(self, atom: Atom) -> None:
        """The order of a quotient and of others of the same dividend."""
        for other in self.quotients[-QUOTIENTS:]:
            for order in quotients.orders(self.known, atom, other):
                self.add(order.conclusion, given(order))
        self.quotients.append(atom)

    def add_facts(self, serial: int) -> None:
        uses = self.known.uses.get(serial)
        taken = 0
        while uses is not None and taken < PER_ATOM and len(self.rows) < ROWS:
            p = uses.entry.prop
            if p.kind in ("ge", "eq") and len(p.terms) > 1:
                if self.known.is_inert(p.expr):
                    taken += self.add(p, given(uses.entry.proof))
                elif self.restated:
                    taken += self.add_restated(p, uses.entry.proof)
            uses = uses.rest

    def add_restated(self, p: Prop, proof: ProofStep) -> bool:
        """A comparison with the current substitutions applied."""
        canonical, rounds = self.known.canonical_prop(p)
        self.cost += RESTATED if rounds else ROW
        return self.add(canonical, lambda: rewritten(canonical, proof, rounds) if rounds else proof)

    def contradiction(self, budget: WorkBudget) -> ProofStep | Point | None:
        """A proof of false, a point that satisfies the rows, or None."""
        answer = solve(self.rows, budget=budget)
        match answer:
            case Infeasible(certificate=certificate):
                proofs = [(make, 1) for make in self.proofs]
                return _replay(self, certificate, list(proofs))
            case Point():
                return answer
            case _:
                return None


def ordered(e: Expr) -> list[tuple[int, int]]:
    """The terms in structural order; their own order depends on which monomials any question met first."""
    if len(e.terms) == 1:
        return list(e.terms)
    keys = e.interner.monomial_keys
    return sorted(e.terms, key=lambda term: keys[term[0]])


def distinct(interner: TermTable, m: int) -> list[Atom]:
    """The atoms of a monomial, each once, in structural order."""
    atoms = interner.monomials[m]
    return list(atoms) if len(atoms) == 1 else sorted(set(atoms), key=lambda atom: atom.key)


def given(proof: ProofStep) -> Callable[[], ProofStep]:
    return lambda: proof


def _range(known: Knowledge, m: int, lower: bool, value: int) -> Callable[[], ProofStep]:
    return lambda: prove_bound(known, m, lower, value)


def _replay(rows: Rows, certificate: Refutation, made: list[tuple[Callable[[], ProofStep], int]]) -> ProofStep:
    """Replay the solver's certificate as proof steps; each row is a proof times a factor."""
    last: ProofStep | None = None
    cache: dict[int, ProofStep] = {}

    def proof_of(i: int) -> ProofStep:
        if i not in cache:
            cache[i] = made[i][0]()
        return cache[i]

    for step in certificate.steps:
        last, factor = _step(rows, step, proof_of, made)
        cache[len(made)] = last
        made.append((given(last), factor))
    if certificate.branch is None:
        assert last is not None and last.conclusion.kind == "false"
        return last
    return _branch(rows, certificate.branch, made)


def _step(
    rows: Rows,
    step: Combine,
    proof_of: Callable[[int], ProofStep],
    made: Sequence[tuple[Callable[[], ProofStep], int]],
) -> tuple[ProofStep, int]:
    premises = [proof_of(i) for i, _ in step.multipliers]
    multipliers = [k * made[i][1] for i, k in step.multipliers]
    if any(premise.conclusion.kind != "eq" for premise in premises):
        return combine(premises, multipliers), 1
    whole = rows.known.interner.sum(
        [rows.known.interner.scale(p.conclusion.expr, k) for p, k in zip(premises, multipliers, strict=True)]
    )
    proof = combine_equalities(premises, multipliers)
    same = (
        not whole.terms or whole.terms[0][1] * proof.conclusion.expr.terms[0][1] > 0
        if proof.conclusion.terms
        else True
    )
    return proof, 1 if same else -1


def _branch(rows: Rows, branch: Branch, made: list[tuple[Callable[[], ProofStep], int]]) -> ProofStep:
    interner = rows.known.interner
    form = interner.sum([interner.expr(((rows.monomials[i], c),), 0) for i, c in branch.form])
    size = max(1, form.content())
    left = Prop.nonnegative(branch.value - form)
    below = _replay(rows, branch.left, [*made, (given(hypothesis(left)), size)])
    above = _replay(rows, branch.right, [*made, (given(hypothesis(left.negation)), size)])
    return cases(Prop.truth(interner, False), left, [below, above])


def rows_near(known: Knowledge, start: Sequence[Expr], hypotheses: Sequence[ProofStep] = ()) -> Rows:
    """The rows near some expressions and hypotheses, restated where hypotheses have decided something."""
    rows = Rows(known, restated=bool(hypotheses))
    for proof in hypotheses:
        rows.add_restated(proof.conclusion, proof)
    for e in start:
        for m, _ in ordered(e):
            rows.mention(m)
    rows.grow()
    return rows
