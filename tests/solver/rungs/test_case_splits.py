"""Case splits, products far from zero and quotients by a negative divisor: against all small sizes, and forged."""

from __future__ import annotations

import random
from itertools import product

import pytest

from solver.decide.verdict import Always, Depends, GaveUp, Never
from solver.proofs.checker import verify
from solver.proofs.step import ProofStep
from solver.syntax.parser import parse
from solver.terms.expr import Expr
from solver.terms.prop import Prop
from tests.solver.asked import asked

SIZES = range(5)


def pieces(numbers: random.Random) -> str:
    """A factor as programs have them: a clamp, a difference, a quotient by a difference."""
    a, b, c = (numbers.choice("abc") for _ in range(3))
    k = numbers.randint(1, 3)
    return numbers.choice(
        [
            f"min({a}, {b})",
            f"max({a}, {b}, {k})",
            f"min({a}, {b}, {c} + {k})",
            f"({a} - {b})",
            f"(({a} - {b})//({c} + {k}))",
            f"(({a} + {k})//({b} - {c} - 7))",
            f"min({a}, {b})**2//2",
            f"max({a} - {k}, 0)",
            a,
        ]
    )


def test_answers_agree_with_every_small_size() -> None:
    """Answers agree with every small size: no case is forgotten, no product is too far from zero."""
    numbers = random.Random(16)
    rungs = ("bounds", "shift", "remainder", "extremes", "factor", "linear", "isolate", "split")
    found = {Always: 0, Never: 0, Depends: 0, GaveUp: 0}
    by_split = 0
    for _ in range(220):
        left, right = (
            "*".join([pieces(numbers), pieces(numbers)]),
            numbers.choice(["*".join([pieces(numbers), pieces(numbers)]), str(numbers.randint(-3, 7))]),
        )
        question = f"{left} {numbers.choice(['<=', '>=', '!=', '==', '<'])} {right}"
        one = asked(f"a 0..4 b 0..4 c 0..4; a + b >= {numbers.randint(0, 3)}; {question}")
        verdict = one.verdict(*rungs)
        found[type(verdict)] += 1
        by_split += verdict.rung == "split"
        facts, names = one.known()
        parsed = parse(one.question, names, facts.interner)
        fact = eval(f"lambda a, b, c: {one.facts[0]}")
        atoms = [e.atom for e in names.values()]
        truths = {
            parsed.prop.evaluate(dict(zip(atoms, values, strict=True)))
            for values in product(SIZES, repeat=3)
            if fact(*values)
        }
        if isinstance(verdict, (Always, Never)):
            assert truths == {isinstance(verdict, Always)}, f"{one}: {verdict!r}"
    assert found[Always] > 20 and found[Never] > 10 and by_split > 5, (found, by_split)


def steps(root: ProofStep, rule: str) -> list[ProofStep]:
    """The steps of a proof by one rule."""
    seen, waiting = {}, [root]
    while waiting:
        step = waiting.pop()
        if id(step) not in seen:
            seen[id(step)] = step
            waiting += step.premises
    return [step for step in seen.values() if step.rule == rule]


def holds(step: ProofStep) -> bool:
    return verify(step, step.conclusion, step.conclusion.interner.true)


def test_a_quotient_by_a_negative_divisor_needs_its_sign() -> None:
    """The checker turns dividend and divisor around only where the divisor's sign is known."""
    verdict = asked("n 0.. d ..-1 k 0..; n < -d*k; n//d > -k - 1").verdict("isolate", "shift", "bounds")
    assert isinstance(verdict, Always)
    (step,) = steps(verdict.proof, "isolate")
    about, negative = step.premises
    atom, rest, sign = step.data  # type: ignore[misc]
    d = atom.args[1]
    assert isinstance(d, Expr) and negative.conclusion is Prop.nonnegative(-d - 1)
    interner = d.interner
    for premises, data in [
        ((about, ProofStep("trivial", interner.true)), step.data),
        ((about, about), step.data),
        ((about, ProofStep("hypothesis", Prop.nonnegative(d - 1))), step.data),
        ((about, ProofStep("hypothesis", Prop.nonnegative(-d))), step.data),
        ((about, negative), (atom, rest, -sign)),
        ((about, negative), (atom, rest + 1, sign)),
    ]:
        forged = ProofStep("isolate", step.conclusion, premises, data)
        assert not holds(forged)


@pytest.mark.parametrize(
    "line",
    [
        "a .. b .. c .. d ..; a - b >= 2; c - d >= 3; (a - b)*(c - d) >= 6",
        "a .. b .. c .. d .. k 2..; a - b >= 2; d - c >= 3; 5*(a - b)*(d - c)*k > 59",
    ],
)
def test_a_product_is_no_farther_from_zero_than_its_factors(line: str) -> None:
    """A product is no farther from zero than its factors: one more is rejected."""
    verdict = asked(line).verdict("factor", "bounds", "shift", "linear")
    assert isinstance(verdict, Always) and verdict.found.rule == "combine"
    factors, slack = verdict.found.data  # type: ignore[misc]
    farther = Prop.nonnegative(verdict.found.conclusion.expr - 1)
    for conclusion, data in [
        (farther, verdict.found.data),
        (farther, (factors, slack - 1)),
    ]:
        assert not verify(ProofStep("combine", conclusion, verdict.found.premises, data), verdict.prop, verdict.domain)


def test_every_case_is_looked_at() -> None:
    """A split is rejected where a case is missing, or is proven for something else."""
    verdict = asked("a 2.. b 2..; a*b > max(max(a, b)//4, 1)*min(a, b)").verdict()
    assert isinstance(verdict, Always) and verdict.rung == "split"
    for step in steps(verdict.proof, "cases"):
        first, second = step.premises
        assert isinstance(step.data, Prop)
        for premises, case in [
            ((first, first), step.data),
            ((second, second), step.data),
            ((second, first), step.data),
            ((first,), step.data),
            ((first, second), Prop.nonnegative(step.data.expr - 1)),
        ]:
            forged = ProofStep("cases", step.conclusion, premises, case)
            changed = _replaced(verdict.proof, step, forged)
            assert not verify(changed, verdict.prop, verdict.domain)


def _replaced(root: ProofStep, old: ProofStep, new: ProofStep) -> ProofStep:
    """A proof with one step exchanged."""
    if root is old:
        return new
    premises = tuple([_replaced(premise, old, new) for premise in root.premises])
    if all(a is b for a, b in zip(premises, root.premises, strict=True)):
        return root
    return ProofStep(root.rule, root.conclusion, premises, root.data)


def test_what_is_left_out_makes_it_strict() -> None:
    """An excluded value makes an inequality strict, without search."""
    line = "o .. t .. h ..; t >= 4; o >= 0; o < t; t <= h; (h - 1 - o)//(t - o) != 0; (h - 1 - o)//(t - o) >= 1"
    verdict = asked(line).verdict("bounds", "shift", "linear", "isolate", "split")
    assert isinstance(verdict, Always)
    (step,) = steps(verdict.proof, "strengthen")
    above, left_out = step.premises
    for premises in ((above, above), (left_out, left_out), (left_out, above)):
        assert not holds(ProofStep("strengthen", step.conclusion, premises))
    assert not holds(ProofStep("strengthen", Prop.nonnegative(step.conclusion.expr - 1), step.premises))


@pytest.mark.parametrize("order", ["o t h w", "w h t o", "t o h w"])
def test_the_order_of_symbols_does_not_matter(order: str) -> None:
    """`n//d` and `(-n)//(-d)`, as which it may be kept, are both decided."""
    symbols = " ".join(f"{name} .." for name in order.split())
    facts = "t >= 4; o >= 0; o < t; t <= h; t <= w"
    rows, columns = "((h - 1 - o)//(t - o) + 1)", "((w - 1 - o)//(t - o) + 1)"
    for question in (
        f"{rows}*{columns} >= 1",
        f"{rows}*{columns} != -1",
        f"{rows} - 1 >= 0",
        "(h - 1 - o)//(t - o)*(t - o) + t >= 4",
        "((h - 1 - o)//(t - o)*(t - o) + t)*((w - 1 - o)//(t - o)*(t - o) + t) > 1",
    ):
        verdict = asked(f"{symbols}; {facts}; {question}").verdict(
            "bounds", "shift", "remainder", "extremes", "factor", "linear", "isolate", "split"
        )
        assert isinstance(verdict, Always), question
