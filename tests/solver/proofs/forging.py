"""Forgeries of evidence: verdicts whose proofs, cores, facts or witnesses were changed after they were found.

    >>> from random import Random
    >>> from tests.solver.proofs.forging import accepted
    >>> accepted(Random(1), 20)
    []

From the command line, `python -m tests.solver.proofs.forging --count 100000 --seed 7` forges that many and prints each
that `check()` accepts; it ends with 1 if there is any.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace

from solver.decide.verdict import Always, Depends, Never
from solver.proofs.fact import Fact
from solver.proofs.step import ProofStep
from solver.samples.witness import Witness
from solver.terms.prop import Prop
from tests.solver.asked import asked

SETTLED = [
    "a 1.. b 1.. c 1.. d 1..; a <= b; b <= c; c <= d; d % 4 == 0; a <= d",
    "a 1.. b 1..; a % 8 == 0; b % 6 == 0; (a*b) % 24 == 0",
    "a 2.. b 2..; a*b <= 20; b >= 5; a <= 4",
    "a 0..9 b 0..9; a + b >= 15; a != 9; b >= 7",
    "a 1.. b 1..; b == 3*a; a >= 4; b % 3 == 1",
    "a 0.. b 1..; a // b >= 3; b >= 2; a >= 6",
    "a 1.. b 1..; max(a, b) <= 7; min(a, b) >= 6; a + b >= 12",
    "a 0.. b 0..; a <= 4 or b <= 4; b >= 6; a <= 5",
    "a 1.. b 1.. c 1..; a*b == c; a >= 3; b >= 3; c >= 9",
    "a 1..; a % 4 == 1; a % 2 == 0",
    "a 0.. b 0.. c 0..; min(a, b, c) != 0; a*b*c >= 1",
    "a 0.. b 0..; min(a, b)*min(a, b) >= 3; b >= 1",
    "a 0.. b 0.. k 0..; max(a, b) <= k; a + b <= 2*k",
    "a 1.. b 1..; gcd(a, b) >= 4; a >= 4",
    "a 1.. b 1..; b == 3; a % gcd(a, b) == 0",
    "a .. b ..-1; gcd(a, b) + b <= 0",
]
OPEN = [
    "a 1.. b 1..; a % 16 == 0; (a*b) % 64 == 0",
    "a 2.. b 2..; a <= b; a == b",
    "a 0.. b 0..; a + b == 9; a > b",
]
BATCH = 1_000
STATED = ("prop", "domain", "written", "_printed")
Forge = Callable[[random.Random, Always | Never], bool]
"""Changes a verdict; whether there was anything to change."""


def steps_of(proof: ProofStep) -> list[ProofStep]:
    found: dict[int, ProofStep] = {}
    stack = [proof]
    while stack:
        step = stack.pop()
        if id(step) not in found:
            found[id(step)] = step
            stack.extend(step.premises)
    return list(found.values())


def numbers(rng: random.Random, verdict: Always | Never) -> bool:
    """A multiplier, a slack, a modulus, a bound."""

    def changed(data: object) -> object:
        if type(data) is int:
            return data + rng.choice((-3, -2, -1, 1, 2, 3))
        if isinstance(data, tuple) and data:
            position = rng.randrange(len(data))
            return (*data[:position], changed(data[position]), *data[position + 1 :])
        return data

    steps = [step for step in steps_of(verdict.proof) if isinstance(step.data, (int, tuple))]
    if not steps:
        return False
    step = rng.choice(steps)
    before, step.data = step.data, changed(step.data)
    return step.data != before


def conclusions(rng: random.Random, verdict: Always | Never) -> bool:
    """Forge the conclusion of a step."""
    step = rng.choice(steps_of(verdict.proof))
    p = step.conclusion
    others = [p.negation, *[other.conclusion for other in steps_of(verdict.proof)]]
    if p.kind == "ge":
        others += [Prop.nonnegative(p.expr - 1), Prop.nonnegative(p.expr * 2 - 1)]
    step.conclusion = rng.choice(others)
    # a leaf that is supposed may be any proposition, if the step above does not mind
    return step.conclusion is not p and step.rule not in ("hypothesis", "domain")


def premises(rng: random.Random, verdict: Always | Never) -> bool:
    """Forge the premises of a step."""
    steps = steps_of(verdict.proof)
    step = rng.choice([step for step in steps if step.premises] or steps)
    if not step.premises:
        return False
    position = rng.randrange(len(step.premises))
    old, new = step.premises[position], rng.choice(steps)
    step.premises = (*step.premises[:position], *([new] if rng.random() < 0.7 else []), *step.premises[position + 1 :])
    # another proof of the same is no forgery, and what rests on itself is found out
    return new.conclusion is not old.conclusion or len(step.premises) == position


def leaves(rng: random.Random, verdict: Always | Never) -> bool:
    """The facts at the leaves: others, copies, and the same with another proposition."""
    steps = [step for step in steps_of(verdict.proof) if step.fact is not None]
    if not steps:
        return False
    step = rng.choice(steps)
    fact = step.fact
    assert fact is not None
    terms = fact.prop.interner
    match rng.randrange(4):
        case 0:
            step.fact = replace(fact, prop=fact.prop.negation)
        case 1:
            step.fact = replace(fact)
        case 2:
            step.fact = replace(fact, written="a fact that nobody stated")
        case _:
            step.fact = Fact(step.conclusion, terms.true, "given", "invented", None, None, rng.randrange(9))
    return True


def cores(rng: random.Random, verdict: Always | Never) -> bool:
    """Forge the core."""
    core = verdict.core
    if not core:
        return False
    position = rng.randrange(len(core))
    fact = core[position]
    shown = [*core]
    match rng.randrange(5):
        case 0:
            del shown[position]
        case 1:
            shown.append(fact)
        case 2:
            shown[position] = replace(fact, written="a fact that nobody stated")
        case 3:
            shown[position] = replace(fact)
        case _:
            shown.insert(position, Fact(fact.prop.negation, fact.domain, "given", "invented", None, None, 77))
    verdict._core = tuple(shown)
    return True


def facts_in_place(rng: random.Random, verdict: Always | Never) -> bool:
    """Forge the statement of a recorded fact, or its proof."""
    if not verdict.core:
        return False
    fact = rng.choice(verdict.core)
    field, value = rng.choice(
        [("prop", fact.prop.negation), ("written", "x == 1"), ("_printed", "x == 1"), ("domain", fact.prop.negation)]
    )
    object.__setattr__(fact, field, value)
    return True


FORGES: Sequence[Forge] = (numbers, conclusions, premises, leaves, cores, facts_in_place)


def witnesses(rng: random.Random) -> tuple[Depends, bool]:
    """A verdict with a witness that was changed, and True if it still is one."""
    verdict = asked(rng.choice(OPEN)).verdict()
    assert isinstance(verdict, Depends)
    name, truth = rng.choice([("_true", True), ("_false", False)])
    values = dict(verdict.true_values if truth else verdict.false_values)
    atom = rng.choice(list(values))
    values[atom] += rng.choice((-17, -2, -1, 1, 2, 16))
    holds = verdict.facts.holds_at(values) and verdict.prop.evaluate(values) is truth
    shown = verdict._small()
    if rng.random() < 0.5:
        verdict._shown = (values, shown[1]) if truth else (shown[0], values)
    else:
        setattr(verdict, name, Witness.of(values))
        verdict._shown = None
    return verdict, holds


class Evidence:
    """A verdict and what its evidence was, to forge it many times."""

    def __init__(self, line: str) -> None:
        verdict = asked(line).verdict()
        assert isinstance(verdict, (Always, Never)), line
        self.verdict = verdict
        self.core = verdict.core
        self.steps = [
            (step, (step.conclusion, step.premises, step.data, step.fact)) for step in steps_of(verdict.proof)
        ]
        facts = {id(fact): fact for fact in [*self.core, *[step.fact for step, _ in self.steps if step.fact]]}
        self.facts = [(fact, [(name, getattr(fact, name)) for name in STATED]) for fact in facts.values()]

    def restore(self) -> None:
        """Undo every forgery: the evidence is as it was found."""
        self.verdict._core = self.core
        for step, (conclusion, premises, data, fact) in self.steps:
            step.conclusion, step.premises, step.data, step.fact = conclusion, premises, data, fact
        for fact, stated in self.facts:
            for name, value in stated:
                object.__setattr__(fact, name, value)

    def __str__(self) -> str:
        """The proof, step by step."""
        return "; ".join(f"{step.rule}: {step.conclusion}" for step in steps_of(self.verdict.proof))


def accepted(rng: random.Random, count: int, forges: Sequence[Forge] | None = None) -> list[str]:
    """Lines about the forgeries that `check()` accepts, of so many: none, if all is well."""
    evidence = {line: Evidence(line) for line in SETTLED}
    found = []
    forged = 0
    while forged < count:
        line, forge = rng.choice(SETTLED), rng.choice(forges or FORGES)
        forgery = evidence[line]
        if forge(rng, forgery.verdict):
            forged += 1
            if forgery.verdict.check():
                found.append(f"{forge.__name__} of `{line}`: {forgery}")
        forgery.restore()
    assert all(each.verdict.check() for each in evidence.values()), "what is genuine is refused"
    return found


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description="Forges evidence and counts what is accepted.")
    parser.add_argument("--count", type=int, default=10_000, help="forgeries to make")
    parser.add_argument("--seed", type=int, default=0, help="the first seed; each 1,000 forgeries use another")
    options = parser.parse_args(arguments)
    total = 0
    for first in range(0, options.count, BATCH):
        count = min(BATCH, options.count - first)
        found = accepted(random.Random(options.seed + first), count)
        total += len(found)
        for line in found:
            print(line)
        print(f"{first + count:,} forged, {total} accepted", flush=True)
    return 1 if total else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
