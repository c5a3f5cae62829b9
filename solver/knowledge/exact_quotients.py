"""E-matching over the laws of divisibility: quotients by a divisor of the dividend, such as `a*b//gcd(a, b)`.

A law `v | x` of an operation v (`solver.terms.operations`) is an equality `x == v*(x//v)`. Where v is a divisor in the
goal, it gets a name h, and x is written as `h*(x//h)`: the quotient by h becomes a product.

    >>> from solver.knowledge.exact_quotients import prove
    >>> from solver.knowledge.facts import Facts
    >>> from solver.terms.interner import Interner
    >>> terms = Interner()
    >>> a, b = terms.symbol("a"), terms.symbol("b")
    >>> known = Facts.empty(terms).declare_range(a, 1, None).declare_range(b, 1, None)
    >>> prove(known, terms.divides(a, a * b // terms.gcd(a, b))).rule            # the least common multiple
    'rewrite'

Each law is tried once for a goal, and again for what it leaves of it.
"""

from __future__ import annotations

from typing import Final

from solver.knowledge.base import Knowledge
from solver.knowledge.laws import definition_of, rewritten
from solver.proofs.rewriting import Round, apply_round_to_prop
from solver.proofs.step import ProofStep
from solver.terms.atoms import conclusion_of, expression_of
from solver.terms.expr import Atom, Expr
from solver.terms.operations import Law
from solver.terms.prop import Prop

TRIED: Final = 40
"""Rewritings of one goal, nested ones included."""
ATOMS: Final = 64
"""Largest number of atoms of a goal that is examined."""


def prove(known: Knowledge, goal: Prop) -> ProofStep | None:
    """An equality or disequality that laws of divisibility decide."""
    if goal.kind not in ("eq", "ne", "ge") or not _divisors(goal):
        return None
    rounds = _Search(known).rounds(goal)
    return None if rounds is None else rewritten(goal, None, rounds)


def _divisors(goal: Prop) -> list[Atom]:
    """The operations with laws of divisibility that are divisors in the goal, the outermost first."""
    schedule = goal.schedule
    if len(schedule) > ATOMS:
        return []
    monomials = goal.interner.monomials
    found: dict[Atom, None] = {}
    for atom in reversed(schedule):
        if atom.kind != "floordiv":
            continue
        divisor = atom.args[1]
        assert isinstance(divisor, Expr)
        for m, _ in divisor.terms if len(divisor.terms) == 1 else ():
            for factor in monomials[m]:
                if factor.args and any(law.divides for law in factor.operation.laws):
                    found[factor] = None
    return list(found)


class _Search:
    """The rewritings of one goal."""

    __slots__ = ("known", "left", "seen")

    def __init__(self, known: Knowledge) -> None:
        self.known = known
        self.left: int = TRIED
        self.seen: set[Prop] = set()

    def rounds(self, goal: Prop) -> tuple[Round, ...] | None:
        """The substitutions that make the goal true."""
        if goal in self.seen:
            return None
        self.seen.add(goal)
        further: list[tuple[int, int, Prop, tuple[Round, ...]]] = []
        for atom in _divisors(goal):
            for law in atom.operation.laws:
                steps = _rewriting(atom, law) if law.divides and self.left > 0 else None
                if steps is None:
                    continue
                self.left -= 1
                new = goal
                for each in steps:
                    new = apply_round_to_prop(new, each)
                canonical, rounds = self.known.canonical_prop(new)
                if canonical.kind == "true":
                    return (*steps, *rounds)
                if canonical.kind != "false" and canonical.depth <= goal.depth:
                    further.append((len(canonical.schedule), len(further), canonical, (*steps, *rounds)))
        for _, _, smaller, made in sorted(further, key=lambda each: each[:2]):
            rest = self.rounds(smaller)
            if rest is not None:
                return (*made, *rest)
        return None


def _rewriting(atom: Atom, law: Law) -> tuple[Round, Round] | None:
    """A name for a divisor, then one of its multiples as a product with that name."""
    multiple = expression_of(law.conclusion, atom)
    if len(multiple.terms) != 1 or multiple.constant or abs(multiple.terms[0][1]) != 1:
        return None
    interner = multiple.interner
    m = multiple.terms[0][0]
    name = interner.name_of(atom.expr)
    named: Round = ((atom.monomial, name, definition_of(atom.expr, name)),)
    given = ProofStep("axiom", conclusion_of(law, atom), (), (atom, law.name))
    conclusion = apply_round_to_prop(given.conclusion, named)
    whole = interner.expr(((m, 1),), 0)
    image = multiple.terms[0][1] * name * (multiple // name)
    if conclusion is not Prop.zero(whole - image) or whole is image:
        return None
    return named, ((m, image, rewritten(conclusion, given, (named,))),)
