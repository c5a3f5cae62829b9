"""Proof steps: each derives a conclusion by a rule of inference from premises; the leaves are facts.

    >>> from solver.terms.interner import Interner
    >>> from solver.proofs.step import ProofStep, combine, hypothesis
    >>> terms = Interner()
    >>> s = terms.symbol("s")
    >>> step = combine([hypothesis(terms.ge(s, 3))], [2], 1)       # 2*(s - 3) + 1 >= 0, rounded: s >= 3
    >>> print(step.conclusion)
    s >= 3

The graph of steps behind a verdict is its certificate. `solver.proofs.checker` recomputes every conclusion from the
premises and the payload and compares it exactly; it lists the rules. An unsat core is the facts at the leaves.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

from solver.proofs.fact import Fact
from solver.terms.expr import Atom, Expr
from solver.terms.prop import Prop


class ProofStep:
    """`conclusion` follows by `rule` from the premises; `data` is the payload that the checker recomputes it from."""

    __slots__ = ("conclusion", "data", "fact", "premises", "rule")

    def __init__(
        self,
        rule: str,
        conclusion: Prop,
        premises: tuple[ProofStep, ...] = (),
        data: object = None,
        fact: Fact | None = None,
    ) -> None:
        self.rule = rule
        self.conclusion = conclusion
        self.premises = premises
        self.data = data
        self.fact = fact

    def __repr__(self) -> str:
        return f"<{self.rule}: {self.conclusion}>"


def hypothesis(p: Prop) -> ProofStep:
    """An assumption, until a later step discharges it."""
    return ProofStep("hypothesis", p)


def combine(premises: Sequence[ProofStep], multipliers: Sequence[int], slack: int = 0) -> ProofStep:
    """The inequality that is the sum of multiples of premises, plus a nonnegative slack, rounded over the integers.

    The payload is canonical: multipliers in lowest terms, and of the slack only what rounding leaves to be seen.
    """
    interner = premises[0].conclusion.interner
    coefficients: dict[int, int] = {}
    constant = slack
    for premise, k in zip(premises, multipliers, strict=True):
        e = premise.conclusion.expr
        constant += k * e.constant
        for m, c in e.terms:
            coefficients[m] = coefficients.get(m, 0) + k * c
    total = interner.collect(coefficients, constant)
    conclusion = Prop.nonnegative(total)
    if conclusion.expr is total:
        return ProofStep("combine", conclusion, tuple(premises), (tuple(multipliers), slack))
    used = [(premise, k) for premise, k in zip(premises, multipliers, strict=True) if k]
    common = gcd(*multipliers)
    content = total.content() // common
    slack = (conclusion.expr.constant - (constant - slack) // common // content) * content if content else 0
    return ProofStep("combine", conclusion, tuple([p for p, _ in used]), (tuple([k // common for _, k in used]), slack))


def combine_equalities(premises: Sequence[ProofStep], multipliers: Sequence[int]) -> ProofStep:
    """The equality that is the sum of multiples of equalities."""
    interner = premises[0].conclusion.interner
    used = [(premise, k) for premise, k in zip(premises, multipliers, strict=True) if k]
    common = gcd(*multipliers) if used[0][1] > 0 else -gcd(*multipliers)
    factors = tuple([k // common for _, k in used])
    total = interner.sum([interner.scale(p.conclusion.expr, k) for (p, _), k in zip(used, factors, strict=True)])
    return ProofStep("equate", Prop.zero(total), tuple([p for p, _ in used]), factors)


def equal(above: ProofStep, below: ProofStep) -> ProofStep:
    """`p == 0` from `p >= 0` and `-p >= 0`."""
    return ProofStep("equal", Prop.zero(above.conclusion.expr), (above, below))


def sided(equality: ProofStep, sign: int) -> ProofStep:
    """`p >= 0` (sign 1) or `-p >= 0` (sign -1) from `p == 0`."""
    return combine([equality], [sign])


def apart(premise: ProofStep, goal: Prop) -> ProofStep:
    """`p != 0` from `p >= k` or `p <= -k` with k >= 1."""
    return ProofStep("apart", goal, (premise,))


def part(premise: ProofStep, index: int) -> ProofStep:
    """One conjunct."""
    return ProofStep("part", premise.conclusion.parts[index], (premise,), index)


def every(goal: Prop, premises: Sequence[ProofStep]) -> ProofStep:
    """A conjunction from all its parts."""
    return ProofStep("every", goal, tuple(premises))


def some(goal: Prop, premise: ProofStep) -> ProofStep:
    """A disjunction from one of its parts."""
    return ProofStep("some", goal, (premise,))


def strengthen(inequality: ProofStep, disequality: ProofStep) -> ProofStep:
    """`p - 1 >= 0` from `p >= 0` and `p != 0`."""
    return ProofStep("strengthen", Prop.nonnegative(inequality.conclusion.expr - 1), (inequality, disequality))


def times(left: ProofStep, right: ProofStep) -> ProofStep:
    """`p*q >= 0` from `p >= 0` and `q >= 0`."""
    product = left.conclusion.expr * right.conclusion.expr
    return ProofStep("times", Prop.nonnegative(product), (left, right))


def multiply_equality(equality: ProofStep, factor: Expr) -> ProofStep:
    """`p*q == 0` from `p == 0`."""
    return ProofStep("multiply", Prop.zero(equality.conclusion.expr * factor), (equality,), factor)


def square(e: Expr) -> ProofStep:
    """`e*e >= 0`."""
    return ProofStep("square", Prop.nonnegative(e * e), (), e)


def gap(e: Expr) -> ProofStep:
    """`e*(e - 1) >= 0`: no integer is strictly between 0 and 1."""
    return ProofStep("gap", Prop.nonnegative(e * e - e), (), e)


def boxed(
    goal: Prop, bounds: Sequence[ProofStep], others: Sequence[ProofStep], sides: Sequence[tuple[Atom, int, int]]
) -> ProofStep:
    """The goal holds at every assignment of a few symbols within their bounds (two for each) that satisfies the other
    premises.
    """
    return ProofStep("box", goal, (*bounds, *others), tuple(sides))


def residues(goal: Prop, modulus: int) -> ProofStep:
    """`e != 0`: whatever the residues of its atoms, e is not zero modulo a number."""
    return ProofStep("residues", goal, (), modulus)


def axiom(conclusion: Prop, data: object, premises: Sequence[ProofStep] = ()) -> ProofStep:
    """An axiom: what holds of an atom by its definition."""
    return ProofStep("axiom", conclusion, tuple(premises), data)


def absurd(contradiction: ProofStep, goal: Prop) -> ProofStep:
    """The principle of explosion: anything follows from false."""
    return goal is contradiction.conclusion and contradiction or ProofStep("absurd", goal, (contradiction,))


def refute(contradiction: ProofStep, goal: Prop) -> ProofStep:
    """`goal`, by contradiction: the hypothesis of its negation leads to false."""
    return ProofStep("refute", goal, (contradiction,), goal.negation)


def cases(goal: Prop, split: ProofStep | Prop, branches: Sequence[ProofStep]) -> ProofStep:
    """`goal`, proven under each part of a disjunction, or under a proposition and its negation."""
    if isinstance(split, Prop):
        return ProofStep("cases", goal, tuple(branches), split)
    return ProofStep("cases", goal, (split, *branches), None)


def leaves(*roots: ProofStep) -> list[Fact]:
    """The facts at the leaves, in the order in which they were recorded."""
    found: dict[int, Fact] = {}
    stack: list[ProofStep] = []
    for root in roots:
        if root.fact is not None:
            found[root.fact.serial] = root.fact
        elif root.premises:
            stack.append(root)
    seen: set[ProofStep] = set(stack)
    while stack:
        for premise in stack.pop().premises:
            fact = premise.fact
            if fact is not None:
                found[fact.serial] = fact
            elif premise.premises and premise not in seen:
                seen.add(premise)
                stack.append(premise)
    return [found[serial] for serial in sorted(found)] if len(found) > 1 else list(found.values())
