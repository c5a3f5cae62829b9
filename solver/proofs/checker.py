"""The proof checker: it recomputes every step of a certificate, by arithmetic alone.

    >>> from solver.proofs.checker import examine, verify
    >>> from solver.terms.interner import Interner
    >>> from solver.proofs.fact import Fact
    >>> from solver.proofs.step import ProofStep, combine
    >>> terms = Interner()
    >>> s = terms.symbol("s")
    >>> given = Fact(terms.ge(s, 3), terms.true, "given", "s >= 3", None, 1, 0)
    >>> proof = combine([ProofStep("fact", given.prop, fact=given)], [1], 2)              # (s - 3) + 2 >= 0
    >>> verify(proof, terms.ge(s, 1), terms.true)
    True
    >>> proof.data = ((1,), 1)
    >>> print(examine(proof, terms.ge(s, 1), terms.true))
    combine: gives `s >= 2`, not `s >= 1`

It does not search, and shares no code with proof search: no rung, no ladder, no knowledge. The conclusion of each step
is recomputed from those of its premises and from its payload, and must be the identical proposition, not one that
implies it, so a changed number does not pass. Payloads are canonical for the same reason: multipliers in lowest terms,
no more slack than rounding leaves.

A step rests on the hypotheses of its premises, without those that it discharges: `refute` the negation of its goal,
`cases` in each branch its case. At the end none may be left but the domain of the question. A fact counts with its
domain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import gcd, prod
from typing import Final, TypeVar

from solver.floats.exact import exact_form
from solver.proofs.fact import Fact, Record
from solver.proofs.rewriting import Round, apply_round_to_prop
from solver.proofs.step import ProofStep
from solver.terms import intervals
from solver.terms.atoms import interval_of_atom, interval_reader, intervals_of_product, stated
from solver.terms.expr import Atom, Expr
from solver.terms.interner import Interner
from solver.terms.prop import Prop


@dataclass(frozen=True, slots=True)
class Refusal:
    """The first wrong step, premises before conclusions, and the reason."""

    step: ProofStep
    why: str

    def __str__(self) -> str:
        return f"{self.step.rule}: {self.why}"


Oracle = Callable[[Sequence[Prop], Prop], str | None]
"""A solver that decides whether a proposition follows from others: None where it does, else its answer."""


def verify(proof: ProofStep, goal: Prop, domain: Prop, oracle: Oracle | None = None) -> bool:
    """Whether the proof shows the goal from the facts at its leaves, inside the domain of the question.

    A proof by z3 has no steps: the `oracle` decides it again (`solver.interop.z3.objection`).
    """
    return examine(proof, goal, domain, oracle) is None


def examine(proof: ProofStep, goal: Prop, domain: Prop, oracle: Oracle | None = None) -> Refusal | None:
    """The objection to the proof, or None."""
    open_at: dict[int, frozenset[Prop]] = {}
    step = proof
    try:
        for step in _in_order(proof):
            if step.conclusion.interner is not goal.interner:
                raise Wrong("is about other expressions")
            _examine_step(step, oracle)
            open_at[id(step)] = _open_hypotheses(step, open_at)
        if proof.conclusion is not goal:
            raise Wrong(f"proves `{proof.conclusion}`, not `{goal}`")
        for left in open_at[id(proof)]:
            if left is not domain:
                raise Wrong(f"rests on the hypothesis `{left}`")
    except Wrong as wrong:
        return Refusal(step, str(wrong))
    return None


def verify_core(proof: ProofStep, core: Sequence[Fact], recorded: Record | None) -> bool:
    """Whether the core is the facts at the leaves of the proof, each as it is among those that were recorded."""
    used = {id(step.fact): step.fact for step in _in_order(proof) if step.fact is not None}
    if [id(fact) for fact in core] != sorted(used, key=lambda key: used[key].serial):
        return False
    while used and recorded is not None:
        if used.pop(id(recorded.fact), None) is not None and not recorded.is_shown_unchanged():
            return False
        recorded = recorded.before
    return not used


def verify_assignment(values: Mapping[Atom, int], recorded: Record | None) -> bool:
    """Whether an assignment satisfies every fact as it was recorded."""
    while recorded is not None:
        if not (recorded.domain.evaluate(values) and recorded.prop.evaluate(values) and recorded.is_unchanged()):
            return False
        recorded = recorded.before
    return True


class Wrong(Exception):
    """Why a step does not hold."""


def _require(holds: bool, why: str) -> None:
    if not holds:
        raise Wrong(why)


def _in_order(proof: ProofStep) -> Iterator[ProofStep]:
    """The steps in topological order, premises first; without recursion, as proofs may be deep."""
    finished: set[int] = set()
    entered: set[int] = set()
    stack = [proof]
    while stack:
        step = stack[-1]
        if id(step) in finished:
            stack.pop()
        elif id(step) in entered:
            stack.pop()
            finished.add(id(step))
            yield step
        else:
            entered.add(id(step))
            for premise in step.premises:
                _require(id(premise) in finished or id(premise) not in entered, "rests on itself")
            stack.extend([premise for premise in step.premises if id(premise) not in finished])


def _examine_step(step: ProofStep, oracle: Oracle | None) -> None:
    compute = RULES.get(step.rule)
    if compute is None and step.rule != "z3":
        raise Wrong("no such rule")
    _require(step.fact is None or step.rule in ("fact", "domain"), "names a fact that it does not state")
    try:
        conclusion = _found_by_solver(step, oracle) if compute is None else compute(step)
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError) as error:
        raise Wrong(f"is malformed: {error}") from error
    if conclusion is not step.conclusion:
        raise Wrong(f"gives `{conclusion}`, not `{step.conclusion}`")


def _open_hypotheses(step: ProofStep, open_at: dict[int, frozenset[Prop]]) -> frozenset[Prop]:
    """The hypotheses that a step leaves open."""
    if step.rule == "hypothesis" or (step.rule == "domain" and step.fact is None):
        return frozenset((step.conclusion,))
    of = [open_at[id(premise)] for premise in step.premises]
    if step.rule == "refute":
        return of[0] - {step.conclusion.negation}
    if step.rule == "cases":
        split, branches = _cases(step)
        of = [*of[: len(split)], *[left - {case} for left, case in zip(of[len(split) :], branches, strict=True)]]
    return frozenset().union(*of)


# ---------------------------------------------------------------------- leaves


def _bare(step: ProofStep, premises: int) -> tuple[Prop, ...]:
    """The conclusions of the premises of a step without payload."""
    _require(step.data is None, "has a payload")
    return _premises(step, premises)


Payload = TypeVar("Payload")

VOLUME: Final = 1 << 14
"""Assignments in the largest box that is enumerated."""


def _payload(step: ProofStep, kind: type[Payload]) -> Payload:
    if not isinstance(step.data, kind):
        raise Wrong("has no payload of its kind")
    return step.data


def _premises(step: ProofStep, count: int) -> tuple[Prop, ...]:
    if len(step.premises) != count:
        raise Wrong(f"has {len(step.premises)} premises, not {count}")
    return tuple([premise.conclusion for premise in step.premises])


def _trivial(step: ProofStep) -> Prop:
    _bare(step, 0)
    return step.conclusion.interner.true


def _fact(step: ProofStep) -> Prop:
    _bare(step, 0)
    if step.fact is None:
        raise Wrong("names no fact")
    return step.fact.prop


def _domain(step: ProofStep) -> Prop:
    _bare(step, 0)
    return step.conclusion if step.fact is None else step.fact.domain


def _hypothesis(step: ProofStep) -> Prop:
    _bare(step, 0)
    return step.conclusion


# ---------------------------------------------------------------------- propositions


def _part(step: ProofStep) -> Prop:
    (whole,) = _premises(step, 1)
    index = _payload(step, int)
    _require(whole.kind == "and" and 0 <= index < len(whole.parts), "is no part of a conjunction")
    return whole.parts[index]


def _every(step: ProofStep) -> Prop:
    goal = step.conclusion
    _require(goal.kind == "and", "is no conjunction")
    parts = _bare(step, len(goal.parts))
    return goal.interner.conjunction(parts)


def _some(step: ProofStep) -> Prop:
    (part,) = _bare(step, 1)
    _require(step.conclusion.kind == "or" and part in step.conclusion.parts, "is not among the alternatives")
    return step.conclusion


def _remaining(step: ProofStep) -> Prop:
    """A disjunction without the parts that are refuted."""
    whole, *refuted = _bare(step, len(step.premises))
    _require(whole.kind == "or", "is no disjunction")
    dropped = {p.negation for p in refuted}
    _require(dropped <= set(whole.parts) and len(dropped) == len(refuted), "refutes no part")
    return whole.interner.disjunction([p for p in whole.parts if p not in dropped])


def _clash(step: ProofStep) -> Prop:
    zero, nonzero = _bare(step, 2)
    _require(zero.kind == "eq" and nonzero is zero.negation, "are no opposites")
    return zero.interner.false


def _absurd(step: ProofStep) -> Prop:
    (false,) = _bare(step, 1)
    _require(false is false.interner.false, "does not start from false")
    return step.conclusion


def _refute(step: ProofStep) -> Prop:
    (false,) = _premises(step, 1)
    _require(false is false.interner.false, "does not end in false")
    _require(step.data is step.conclusion.negation, "supposes something else than the opposite")
    return step.conclusion


def _cases(step: ProofStep) -> tuple[tuple[ProofStep, ...], tuple[Prop, ...]]:
    """The premise that is split (none for a proposition and its negation) and the case of each branch."""
    if isinstance(step.data, Prop):
        return (), (step.data, step.data.negation)
    _require(step.data is None and len(step.premises) > 0, "has no cases")
    split = step.premises[0]
    _require(split.conclusion.kind == "or", "splits no disjunction")
    return (split,), split.conclusion.parts


def _by_cases(step: ProofStep) -> Prop:
    split, cases = _cases(step)
    conclusions = _premises(step, len(split) + len(cases))[len(split) :]
    _require(all(p is step.conclusion for p in conclusions), "has a branch that ends elsewhere")
    return step.conclusion


# ---------------------------------------------------------------------- linear arithmetic


def _inequality(p: Prop) -> Expr:
    """`e` of `e >= 0`."""
    if p.kind != "ge":
        raise Wrong(f"`{p}` is no inequality")
    return p.expr


def _equality(p: Prop) -> Expr:
    """`e` of `e == 0`."""
    if p.kind != "eq":
        raise Wrong(f"`{p}` is no equality")
    return p.expr


def _disequality(p: Prop) -> Expr:
    """`e` of `e != 0`."""
    if p.kind != "ne":
        raise Wrong(f"`{p}` is no disequality")
    return p.expr


def _sum(step: ProofStep, multipliers: tuple[object, ...]) -> Expr:
    """The sum of multiples of comparisons, the multipliers in lowest terms."""
    interner = step.conclusion.interner
    parts = []
    factors = []
    for p, k in zip(_premises(step, len(multipliers)), multipliers, strict=True):
        _require(type(k) is int and k != 0, "has a multiplier that is no nonzero integer")
        assert isinstance(k, int)
        if not (p.kind == "eq" or (p.kind == "ge" and k > 0)):
            raise Wrong(f"cannot multiply `{p}` by {k}")
        factors.append(k)
        parts.append(interner.scale(p.expr, k))
    _require(gcd(*factors) == 1, "has multipliers that are not in lowest terms")
    return interner.sum(parts)


def _combine(step: ProofStep) -> Prop:
    match step.data:
        case (tuple() as multipliers, int() as slack):
            total = _sum(step, multipliers)
            _require(slack >= 0, "takes something away")
            # a part of the content of the terms would be lost in rounding
            _require(slack % total.content() == 0 if total.terms else slack == 0, "has a slack of no use")
            return Prop.nonnegative(total + slack)
    raise Wrong("has no multipliers")


def _equate(step: ProofStep) -> Prop:
    multipliers = _payload(step, tuple)
    _require(all(premise.conclusion.kind == "eq" for premise in step.premises), "sums more than equalities")
    _require(multipliers[0] > 0, "is turned around")
    return Prop.zero(_sum(step, multipliers))


def _equal(step: ProofStep) -> Prop:
    above, below = _bare(step, 2)
    _require(_inequality(below) is -_inequality(above), "has sides that do not meet")
    return Prop.zero(above.expr)


def _apart(step: ProofStep) -> Prop:
    """`p != 0` from `p >= k` or `-p >= k`, k >= 1."""
    (premise,) = _bare(step, 1)
    bounded, e = _inequality(premise), _disequality(step.conclusion)
    gap = [side - bounded for side in (e, -e)]
    if not (any(d.is_constant and d.constant >= 1 for d in gap)):
        raise Wrong(f"`{premise}` does not keep it from zero")
    return step.conclusion


def _strengthen(step: ProofStep) -> Prop:
    inequality, disequality = _bare(step, 2)
    e = _inequality(inequality)
    _require(disequality.kind == "ne" and disequality is Prop.zero(e).negation, "excludes another value")
    return Prop.nonnegative(e - 1)


# ---------------------------------------------------------------------- products


def _times(step: ProofStep) -> Prop:
    left, right = _bare(step, 2)
    return Prop.nonnegative(_inequality(left) * _inequality(right))


def _multiply(step: ProofStep) -> Prop:
    (premise,) = _premises(step, 1)
    return Prop.zero(_equality(premise) * _payload(step, Expr))


def _square(step: ProofStep) -> Prop:
    _premises(step, 0)
    e = _payload(step, Expr)
    return Prop.nonnegative(e * e)


def _gap(step: ProofStep) -> Prop:
    """`e*(e - 1) >= 0`: no integer lies between 0 and 1."""
    _premises(step, 0)
    e = _payload(step, Expr)
    return Prop.nonnegative(e * e - e)


def _monomial_expr(interner: Interner, m: int) -> Expr:
    """A monomial that a payload names, as an expression."""
    _require(m in interner.monomials, "names no monomial")
    return interner.expr(((m, 1),), 0)


def _bound(e: Expr, lower: object, interval: intervals.Interval) -> Prop:
    """The end of an interval as a statement about an expression."""
    _require(type(lower) is bool, "names no side")
    value = interval[0 if lower else 1]
    if value is None:
        raise Wrong(f"leaves {e} unbounded")
    return Prop.nonnegative(e - value if lower else value - e)


def _reader(step: ProofStep) -> Callable[[Expr], intervals.Interval]:
    """Intervals of expressions, as the premises state them."""
    for premise in step.premises:
        _inequality(premise.conclusion)
    return interval_reader([premise.conclusion for premise in step.premises])


def _monomial(step: ProofStep) -> Prop:
    """A bound of a product from bounds of its atoms."""
    match step.data:
        case (int() as m, lower):
            interner = step.conclusion.interner
            whole, known = _monomial_expr(interner, m), _reader(step)
            interval = intervals_of_product(interner.monomials[m], lambda n: known(_monomial_expr(interner, n)))
            return _bound(whole, lower, interval)
    raise Wrong("names no monomial")


def _grouped(step: ProofStep) -> Prop:
    """A bound of a product from bounds of two monomials that it is the product of."""
    match step.data:
        case (int() as m, int() as n, lower):
            interner = step.conclusion.interner
            left, right, known = _monomial_expr(interner, m), _monomial_expr(interner, n), _reader(step)
            return _bound(left * right, lower, intervals.product(known(left), known(right)))
    raise Wrong("names no monomials")


def _operation(step: ProofStep) -> Prop:
    """A bound of an operation from bounds of its arguments."""
    match step.data:
        case (Atom() as atom, lower):
            _require(bool(atom.args), "is about no operation")
            return _bound(atom.expr, lower, interval_of_atom(atom, _reader(step)))
    raise Wrong("names no operation")


def _shift(step: ProofStep) -> Prop:
    """A polynomial without a negative coefficient once each atom is its end plus (or minus) something not negative.

    The end of a relu may be an expression, its argument or what it is at most, which is written in its place first.
    """
    e = _inequality(step.conclusion)
    interner = e.interner
    ends = _payload(step, tuple)
    over: dict[Atom, Expr] = {}
    images: dict[Atom, Expr] = {}
    written: list[Expr] = []
    for p, (atom, (end, lower)) in zip(_premises(step, len(ends)), ends, strict=True):
        _require(isinstance(atom, Atom) and atom not in images and atom not in over, "shifts an atom twice")
        if isinstance(end, Expr):
            _require(type(lower) is bool, "names no side")
            stated = Prop.nonnegative(atom.expr - end if lower else end - atom.expr)
        else:
            stated = _bound(atom.expr, lower, (end, end))
        if p is not stated:
            raise Wrong(f"has an end of {atom} that `{p}` does not state")
        (over if isinstance(end, Expr) else images)[atom] = atom.expr + end if lower else end - atom.expr
        if isinstance(end, Expr):
            written.append(end)
    for end in written:
        _require(over.keys() & end.atoms == set(), "has ends that depend on each other")
    e = interner.replace(e, over)
    used = {atom for m, _ in e.terms for atom in interner.monomials[m]}
    _require(images.keys() <= used <= images.keys() | over.keys(), "shifts other atoms than it has")
    shifted = interner.replace(e, images)
    if shifted.constant < 0 or any(c < 0 for _, c in shifted.terms):
        raise Wrong(f"leaves a negative coefficient: {shifted}")
    return step.conclusion


def _product_nonzero(step: ProofStep) -> Prop:
    e = _disequality(step.conclusion)
    _require(len(e.terms) == 1 and not e.constant, "is about no product")
    atoms = list(dict.fromkeys(e.interner.monomials[e.terms[0][0]]))
    for atom, p in zip(atoms, _bare(step, len(atoms)), strict=True):
        if p is not Prop.zero(atom.expr).negation:
            raise Wrong(f"`{p}` does not say that {atom} is not zero")
    return step.conclusion


def _nonzero_factors(step: ProofStep) -> Prop:
    """A product of powers of expressions none of which is zero."""
    _require(isinstance(step.data, tuple), "has no factors")
    assert isinstance(step.data, tuple)
    product = step.conclusion.interner.one
    for nonzero, each in zip(_premises(step, len(step.data)), step.data, strict=True):
        match each:
            case (Expr() as factor, int() as power) if power >= 1:
                if nonzero is not Prop.zero(factor).negation:
                    raise Wrong(f"`{nonzero}` does not say that {factor} is not zero")
                for _ in range(power):
                    product = product * factor
            case _:
                raise Wrong("has no factors")
    return Prop.zero(product).negation


def _cancelled(step: ProofStep) -> Prop:
    """`rest == 0` from `rest * factor**power == 0` and `factor != 0`."""
    match step.data:
        case (Expr() as rest, Expr() as factor, int() as power) if power >= 1:
            product, nonzero = _premises(step, 2)
            if nonzero is not Prop.zero(factor).negation:
                raise Wrong(f"`{nonzero}` does not say that {factor} is not zero")
            whole = rest
            for _ in range(power):
                whole = whole * factor
            if product is not Prop.zero(whole):
                raise Wrong(f"`{product}` is not `{Prop.zero(whole)}`")
            return Prop.zero(rest)
    raise Wrong("has no other factor")


def _factor_nonzero(step: ProofStep) -> Prop:
    """An atom in every monomial, where substituting zero leaves a false constant."""
    (premise,) = _premises(step, 1)
    e, atom = premise.expr, _payload(step, Atom)
    false_at_zero = {"ge": e.constant < 0, "eq": e.constant != 0, "ne": e.constant == 0}
    _require(false_at_zero.get(premise.kind, False), "allows every factor to be zero")
    monomials = e.interner.monomials
    if not all(atom in monomials[m] for m, _ in e.terms):
        raise Wrong(f"{atom} is no factor of every term of {e}")
    return Prop.zero(atom.expr).negation


def _multiple(step: ProofStep) -> Prop:
    """An atom that is larger than the constant, and divides every other term."""
    (premise,) = _premises(step, 1)
    e, atom = _disequality(step.conclusion), _payload(step, Atom)
    monomials = e.interner.monomials
    if not all(atom in monomials[m] for m, _ in e.terms):
        raise Wrong(f"{atom} is no factor of every term of {e}")
    _require(0 < abs(e.constant) < _positive_bound(premise, atom), "is not too close to zero for a multiple")
    return step.conclusion


def _factored(step: ProofStep) -> Prop:
    """A comparison of `factor * rest` with zero and the same of `rest`, either way round.

    The factor is positive, or for equalities and disequalities not zero.
    """
    match step.data:
        case (Expr() as factor, Expr() as rest, "ge" | "eq" as kind):
            ((m, one),) = factor.terms
            _require(one == 1 and not factor.constant, "divides by no monomial")
            atoms = sorted(set(factor.interner.monomials[m]), key=lambda atom: atom.key)
            premise, *signs = _premises(step, 1 + len(atoms))
            for atom, p in zip(atoms, signs, strict=True):
                if kind == "ge" or p is not Prop.zero(atom.expr).negation:
                    _positive_bound(p, atom)
            compare = Prop.nonnegative if kind == "ge" else Prop.zero
            whole, part = compare(factor * rest), compare(rest)
            for p, q in ((whole, part), (part, whole)):
                if premise is p:
                    return q
                if premise is p.negation:
                    return q.negation
            raise Wrong(f"`{premise}` is not about {factor}*({rest})")
    raise Wrong("has no factor")


def _positive_bound(p: Prop, atom: Atom) -> int:
    """`k` of `atom >= k`, k >= 1."""
    least = atom.expr - _inequality(p)
    if not (least.is_constant and least.constant >= 1):
        raise Wrong(f"`{p}` does not say that {atom} is positive")
    return least.constant


def _factor_bounded(step: ProofStep) -> Prop:
    """`x**n * others <= h`, h >= 0, the others positive: `x**n` is at most h over the least value of the others."""
    match step.data:
        case (int() as m, Atom() as atom):
            interner = atom.expr.interner
            whole, atoms = _monomial_expr(interner, m), interner.monomials[m]
            others = [other for other in dict.fromkeys(atoms) if other is not atom]
            product, *lows = _premises(step, 1 + len(others))
            most = whole + _inequality(product)
            _require(most.is_constant and most.constant >= 0 and atom in atoms, "bounds another product")
            least = 1
            for other, p in zip(others, lows, strict=True):
                least *= _positive_bound(p, other) ** atoms.count(other)
            return Prop.nonnegative(intervals.root(most.constant // least, atoms.count(atom)) - atom.expr)
    raise Wrong("names no product and factor")


# ---------------------------------------------------------------------- enumeration


def _box(step: ProofStep) -> Prop:
    """The goal at every assignment of the symbols within their bounds at which the other premises hold."""
    goal, sides = step.conclusion, _payload(step, tuple)
    premises = _premises(step, len(step.premises))
    bounds, others = premises[: 2 * len(sides)], premises[2 * len(sides) :]
    volume = 1
    for (atom, low, high), least, most in zip(sides, bounds[::2], bounds[1::2], strict=True):
        if least is not Prop.nonnegative(atom.expr - low) or most is not Prop.nonnegative(high - atom.expr):
            raise Wrong(f"has no bounds of {atom} that say {low} and {high}")
        volume *= max(high - low + 1, 0)
    _require(volume <= VOLUME, "is too large a box")
    symbols = [atom for atom, _, _ in sides]
    used = frozenset().union(goal.symbols, *[p.symbols for p in others])
    _require(used <= set(symbols) and all(atom.kind == "symbol" for atom in symbols), "is about other symbols too")
    for point in product(*[range(low, high + 1) for _, low, high in sides]):
        values = dict(zip(symbols, point, strict=True))
        if not goal.evaluate(values) and all(p.evaluate(values) for p in others):
            raise Wrong(f"does not hold at {values}")
    return goal


def _residues(step: ProofStep) -> Prop:
    """`e != 0`, as e is not zero modulo m for any residues of its atoms."""
    _premises(step, 0)
    m, e = _payload(step, int), _disequality(step.conclusion)
    terms = [(c % m, e.interner.monomials[n]) for n, c in e.terms if c % m]
    atoms = list(dict.fromkeys([atom for _, factors in terms for atom in factors]))
    _require(m > 1 and m ** len(atoms) <= VOLUME, "has no small modulus")
    for point in product(range(m), repeat=len(atoms)):
        values = dict(zip(atoms, point, strict=True))
        if (e.constant + sum([c * prod([values[atom] for atom in factors]) for c, factors in terms])) % m == 0:
            raise Wrong(f"is zero modulo {m} at {values}")
    return step.conclusion


# ---------------------------------------------------------------------- operations and equalities


def _axiom(step: ProofStep) -> Prop:
    """The axioms of a floor division, a relu, a conditional, a mask or a rounding of doubles."""
    match step.data:
        case (Atom(args=args) as atom, str() as name):
            value = atom.expr
        case _:
            raise Wrong("names no operation")
    premises = _premises(step, len(step.premises))
    for law in atom.operation.laws:
        if law.name == name:
            known, conclusion = stated(law, atom)
            accepted = [(p,) for p in known] + [()] * (not known or any(p.kind == "true" for p in known))
            _require(premises in accepted, f"does not show `{' or '.join(map(str, known))}`")
            return conclusion
    match atom.kind, name, args, premises:
        case "relu", "at least", (Expr() as e,), (premise,):
            return Prop.nonnegative(e - _positive_bound(premise, atom))
        case "relu", "positive", (Expr() as e,), (premise,) if premise is Prop.nonnegative(e):
            return Prop.zero(value - e)
        case "relu", "negative", (Expr() as e,), (premise,) if premise is Prop.nonnegative(-e):
            return Prop.zero(value)
        case "ite", "positive", (condition, Expr() as e), (premise,) if premise is condition:
            return Prop.zero(value - e)
        case "ite", "negative", (Prop() as condition, _), (premise,) if premise is condition.negation:
            return Prop.zero(value)
        case "function", "exact", _, _:
            found = exact_form(atom)
            if found is None or premises != found[1]:
                raise Wrong(f"does not show that {atom} rounds nothing")
            return Prop.zero(value - found[0])
    raise Wrong(f"{name}: does not hold of {atom}")


def _isolate(step: ProofStep) -> Prop:
    """`n // d >= -rest` from `n + d*rest >= 0`, `n // d <= rest` from `n < d*(rest + 1)`, d positive; n and d are both
    negated where d is negative.
    """
    match step.data:
        case (Atom(kind="floordiv", args=(Expr() as n, Expr() as d)) as atom, Expr() as rest, 1 | -1 as sign):
            isolated, positive = _premises(step, 2)
            if positive is Prop.nonnegative(-d - 1):
                n, d = -n, -d
            elif positive is not Prop.nonnegative(d - 1):
                raise Wrong(f"does not show that {d} is positive, or negative")
            expected = Prop.nonnegative(n + d * rest if sign > 0 else d * (rest + 1) - 1 - n)
            if isolated is not expected:
                raise Wrong(f"has `{isolated}`, not `{expected}`")
            return Prop.nonnegative(sign * atom.expr + rest)
    raise Wrong("isolates no floor division")


def _definition(step: ProofStep) -> Prop:
    """A name equals what it was made for; the name is younger than anything in its definition."""
    _premises(step, 0)
    match step.data:
        case (Expr() as named, Expr() as name):
            symbol = name.atom
            if not (symbol.kind == "symbol" and symbol.definition is named):
                raise Wrong(f"{symbol} is no name of {named}")
            if not all(other.serial < symbol.serial for other in named.atoms):
                raise Wrong(f"{symbol} occurs in its definition")
            return Prop.zero(name - named)
    raise Wrong("defines nothing")


def _rewrite(step: ProofStep) -> Prop:
    """Equalities substituted, round by round: in the premise, or in the conclusion, which becomes the premise (or
    true).
    """
    interner, goal = step.conclusion.interner, step.conclusion
    shape = _payload(step, tuple)
    count = sum([len(steps) for steps in shape])
    _require(0 <= len(step.premises) - count <= 1 and all(shape), "has not one equality for each substitution")
    statement = step.premises[: len(step.premises) - count]
    equalities = iter(step.premises[len(statement) :])
    rounds: list[Round] = []
    for steps in shape:
        made = tuple([(m, image, next(equalities)) for m, image in steps])
        for m, image, equality in made:
            whole = _monomial_expr(interner, m)
            if equality.conclusion is not Prop.zero(whole - image):
                raise Wrong(f"`{equality.conclusion}` does not say that {whole} is {image}")
        products = [m for m, _, _ in made if len(interner.monomials[m]) > 1]
        _require(not products or len(made) == 1, "replaces a product beside others")
        rounds.append(made)
    if not statement:
        if _rewritten(goal, rounds).kind != "true":
            raise Wrong(f"leaves `{_rewritten(goal, rounds)}` to show")
        return goal
    given = statement[0].conclusion
    forward = _rewritten(given, rounds)
    return goal if forward is not goal and _rewritten(goal, rounds) is given else forward


def _rewritten(p: Prop, rounds: list[Round]) -> Prop:
    for steps in rounds:
        p = apply_round_to_prop(p, steps)
    return p


def _found_by_solver(step: ProofStep, oracle: Oracle | None) -> Prop:
    """What a fresh solver proves again from the premises alone."""
    _require(step.data is None, "has a payload")
    if oracle is None:
        raise Wrong("needs a solver that finds it again")
    objection = oracle([premise.conclusion for premise in step.premises], step.conclusion)
    _require(objection is None, f"z3 finds {objection}")
    return step.conclusion


RULES: Final[dict[str, Callable[[ProofStep], Prop]]] = {
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
    "times": _times,
    "multiply": _multiply,
    "square": _square,
    "gap": _gap,
    "monomial": _monomial,
    "grouped": _grouped,
    "operation": _operation,
    "shift": _shift,
    "product-nonzero": _product_nonzero,
    "nonzero-factors": _nonzero_factors,
    "cancelled": _cancelled,
    "factor-nonzero": _factor_nonzero,
    "multiple": _multiple,
    "factored": _factored,
    "factor-bounded": _factor_bounded,
    "box": _box,
    "residues": _residues,
    "axiom": _axiom,
    "isolate": _isolate,
    "definition": _definition,
    "rewrite": _rewrite,
}
"""The rules of inference: each recomputes a conclusion from premises and payload. (`z3` is left to an oracle.)"""
