"""Rules of inference for the checker: leaves, propositions, linear arithmetic; and how a rule reads a step.

A rule recomputes the conclusion of a step from its premises and payload, or raises `Wrong`.
"""

from __future__ import annotations

from collections.abc import Callable
from math import gcd
from typing import Final, TypeVar

from solver.proofs.step import ProofStep
from solver.terms.expr import Atom, Expr, TermTable
from solver.terms.prop import Prop


class Wrong(Exception):
    """A step that does not hold, with the reason."""


def require(holds: bool, why: str) -> None:
    if not holds:
        raise Wrong(why)


Rules = dict[str, Callable[[ProofStep], Prop]]


# ---------------------------------------------------------------------- leaves


def without_payload(step: ProofStep, premises: int) -> tuple[Prop, ...]:
    """The conclusions of the premises of a step without payload."""
    require(step.data is None, "has a payload")
    return premises_of(step, premises)


Payload = TypeVar("Payload")


def payload_of(step: ProofStep, kind: type[Payload]) -> Payload:
    if not isinstance(step.data, kind):
        raise Wrong("has no payload of its kind")
    return step.data


def premises_of(step: ProofStep, count: int) -> tuple[Prop, ...]:
    if len(step.premises) != count:
        raise Wrong(f"has {len(step.premises)} premises, not {count}")
    return tuple([premise.conclusion for premise in step.premises])


def _trivial(step: ProofStep) -> Prop:
    without_payload(step, 0)
    return Prop.truth(step.conclusion.interner, True)


def _fact(step: ProofStep) -> Prop:
    without_payload(step, 0)
    if step.fact is None:
        raise Wrong("names no fact")
    return step.fact.prop


def _domain(step: ProofStep) -> Prop:
    without_payload(step, 0)
    return step.conclusion if step.fact is None else step.fact.domain


def _hypothesis(step: ProofStep) -> Prop:
    without_payload(step, 0)
    return step.conclusion


# ---------------------------------------------------------------------- propositions


def _part(step: ProofStep) -> Prop:
    (whole,) = premises_of(step, 1)
    index = payload_of(step, int)
    require(whole.kind == "and" and 0 <= index < len(whole.parts), "is no part of a conjunction")
    return whole.parts[index]


def _every(step: ProofStep) -> Prop:
    goal = step.conclusion
    require(goal.kind == "and", "is no conjunction")
    parts = without_payload(step, len(goal.parts))
    return Prop.join(goal.interner, "and", parts)


def _some(step: ProofStep) -> Prop:
    (part,) = without_payload(step, 1)
    require(step.conclusion.kind == "or" and part in step.conclusion.parts, "is not among the alternatives")
    return step.conclusion


def _remaining(step: ProofStep) -> Prop:
    """A disjunction without the parts that are refuted."""
    whole, *refuted = without_payload(step, len(step.premises))
    require(whole.kind == "or", "is no disjunction")
    dropped = {p.negation for p in refuted}
    require(dropped <= set(whole.parts) and len(dropped) == len(refuted), "refutes no part")
    return Prop.join(whole.interner, "or", [p for p in whole.parts if p not in dropped])


def _clash(step: ProofStep) -> Prop:
    zero, nonzero = without_payload(step, 2)
    require(zero.kind == "eq" and nonzero is zero.negation, "are no opposites")
    return Prop.truth(zero.interner, False)


def _absurd(step: ProofStep) -> Prop:
    (false,) = without_payload(step, 1)
    require(false.kind == "false", "does not start from false")
    return step.conclusion


def _refute(step: ProofStep) -> Prop:
    (false,) = premises_of(step, 1)
    require(false.kind == "false", "does not end in false")
    require(step.data is step.conclusion.negation, "supposes something else than the opposite")
    return step.conclusion


def cases_of(step: ProofStep) -> tuple[tuple[ProofStep, ...], tuple[Prop, ...]]:
    """The premise that is split (none for a proposition and its negation) and the case of each branch."""
    if isinstance(step.data, Prop):
        return (), (step.data, step.data.negation)
    require(step.data is None and len(step.premises) > 0, "has no cases")
    split = step.premises[0]
    require(split.conclusion.kind == "or", "splits no disjunction")
    return (split,), split.conclusion.parts


def _by_cases(step: ProofStep) -> Prop:
    split, cases = cases_of(step)
    conclusions = premises_of(step, len(split) + len(cases))[len(split) :]
    require(all(p is step.conclusion for p in conclusions), "has a branch that ends elsewhere")
    return step.conclusion


# ---------------------------------------------------------------------- linear arithmetic


def inequality_of(p: Prop) -> Expr:
    """`e` of `e >= 0`."""
    if p.kind != "ge":
        raise Wrong(f"`{p}` is no inequality")
    return p.expr


def equality_of(p: Prop) -> Expr:
    """`e` of `e == 0`."""
    if p.kind != "eq":
        raise Wrong(f"`{p}` is no equality")
    return p.expr


def disequality_of(p: Prop) -> Expr:
    """`e` of `e != 0`."""
    if p.kind != "ne":
        raise Wrong(f"`{p}` is no disequality")
    return p.expr


def _sum(step: ProofStep, multipliers: tuple[object, ...]) -> Expr:
    """The sum of multiples of comparisons, the multipliers in lowest terms."""
    interner = step.conclusion.interner
    parts = []
    factors = []
    for p, k in zip(premises_of(step, len(multipliers)), multipliers, strict=True):
        require(type(k) is int and k != 0, "has a multiplier that is no nonzero integer")
        assert isinstance(k, int)
        if not (p.kind == "eq" or (p.kind == "ge" and k > 0)):
            raise Wrong(f"cannot multiply `{p}` by {k}")
        factors.append(k)
        parts.append(interner.scale(p.expr, k))
    require(gcd(*factors) == 1, "has multipliers that are not in lowest terms")
    return interner.sum(parts)


def _combine(step: ProofStep) -> Prop:
    match step.data:
        case (tuple() as multipliers, int() as slack):
            total = _sum(step, multipliers)
            require(slack >= 0, "takes something away")
            # a part of the content of the terms would be lost in rounding
            require(slack % total.content() == 0 if total.terms else slack == 0, "has a slack of no use")
            return Prop.nonnegative(total + slack)
    raise Wrong("has no multipliers")


def _equate(step: ProofStep) -> Prop:
    multipliers = payload_of(step, tuple)
    require(all(premise.conclusion.kind == "eq" for premise in step.premises), "sums more than equalities")
    require(multipliers[0] > 0, "is turned around")
    return Prop.zero(_sum(step, multipliers))


def _equal(step: ProofStep) -> Prop:
    above, below = without_payload(step, 2)
    require(inequality_of(below) is -inequality_of(above), "has sides that do not meet")
    return Prop.zero(above.expr)


def _apart(step: ProofStep) -> Prop:
    """`p != 0` from `p >= k` or `-p >= k`, k >= 1."""
    (premise,) = without_payload(step, 1)
    bounded, e = inequality_of(premise), disequality_of(step.conclusion)
    gap = [side - bounded for side in (e, -e)]
    if not (any(d.is_constant and d.constant >= 1 for d in gap)):
        raise Wrong(f"`{premise}` does not keep it from zero")
    return step.conclusion


def _strengthen(step: ProofStep) -> Prop:
    inequality, disequality = without_payload(step, 2)
    e = inequality_of(inequality)
    require(disequality.kind == "ne" and disequality is Prop.zero(e).negation, "excludes another value")
    return Prop.nonnegative(e - 1)


def monomial_expr(interner: TermTable, m: int) -> Expr:
    """A monomial that a payload names, as an expression."""
    require(m in interner.monomials, "names no monomial")
    return interner.expr(((m, 1),), 0)


def positive_bound(p: Prop, atom: Atom) -> int:
    """`k` of `atom >= k`, k >= 1."""
    least = atom.expr - inequality_of(p)
    if not (least.is_constant and least.constant >= 1):
        raise Wrong(f"`{p}` does not say that {atom} is positive")
    return least.constant


INFERENCES: Final[Rules] = {
    "trivial": _trivial,
    "fact": _fact,
    "domain": _domain,
    "hypothesis": _hypothesis,
    "part": _part,
    "every": _every,
    "some": _some,
    "remaining": _remaining,
    "clash": _clash,
    "absurd": _absurd,
    "refute": _refute,
    "cases": _by_cases,
    "combine": _combine,
    "equate": _equate,
    "equal": _equal,
    "apart": _apart,
    "strengthen": _strengthen,
}
"""The rules by name."""
