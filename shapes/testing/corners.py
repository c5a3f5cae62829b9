"""Corner cases of facts: each fact tight, each symbol at its bounds, each fact just violated.

    >>> from shapes import ShapeEnv
    >>> from shapes.testing.corners import corners, violations
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, s = env.symbol("b", lo=1, hi=8), env.symbol("s", hi=4096)
    >>> env.assume("16*b <= s")
    >>> for corner in corners(env):
    ...     print(corner.what, corner.sizes)
    the smallest {'b': 1, 's': 16}
    tight: 1 <= b <= 8 {'b': 1, 's': 16}
    tight: 1 <= b <= 8 {'b': 8, 's': 128}
    tight: 0 <= s <= 4096 {'b': 1, 's': 16}
    tight: 0 <= s <= 4096 {'b': 1, 's': 4096}
    tight: 16*b <= s {'b': 1, 's': 16}
    b near 1 {'b': 1, 's': 16}
    b near 8 {'b': 8, 's': 128}
    s near 4096 {'b': 1, 's': 4096}
    >>> for corner in violations(env):
    ...     print(corner.what, corner.sizes)
    violated: 16*b <= s {'b': 1, 's': 15}

A comparison `e >= 0` is tight where e is 0, or as small as the other facts let it be, and just violated where it is -1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from shapes.env import ShapeEnv
from shapes.environment.reader import Question
from shapes.errors import Contradiction, ShapeError
from shapes.guards.guards import Guard
from shapes.testing.satisfying import Satisfying, Values, without
from solver.proofs.fact import Fact, Kind
from solver.terms.expr import Atom, Expr
from solver.terms.prop import Prop

EDGES: Final = (0, 1, 2**31)
"""Sizes at which programs break; the largest possible one comes on top."""
UNBOUNDED: Final = 2**63 - 1
"""The largest size where nothing bounds it."""
CLIMBS: Final = 12
VIOLABLE: Final[tuple[Kind, ...]] = ("given", "guard", "assert")
"""Ranges are not violated unless asked for: they say what a size can be at all."""

Violating = bool | str | Guard | Fact
"""The fact to be violated: any of them, or the one with this text."""


@dataclass(frozen=True, slots=True)
class Corner:
    """An assignment at an edge. What is `around` keeps the edge when other symbols are moved."""

    what: str
    values: Values
    sizes: dict[str, int]
    around: Satisfying
    fact: Fact | None = None


def corners(env: ShapeEnv) -> Iterator[Corner]:
    """Assignments that satisfy the facts: the smallest, those where a fact is tight, those with a symbol at an end."""
    inside = Satisfying(env.known)
    yield _corner(env, "the smallest", inside.smallest, inside)
    for fact in sorted(env.known.records(), key=lambda fact: fact.serial):
        for comparison in _comparisons(fact.prop):
            values = tightest(inside, comparison)
            if values is not None:
                kept = _kept(inside, comparison, values)
                yield _corner(env, f"tight: {fact.text}", kept.smallest, kept, fact)
    for atom in inside.symbols:
        yield from _ends(env, inside, atom)


def tightest(inside: Satisfying, comparison: Prop) -> Values | None:
    """An assignment at which a comparison is tight; None where it always does or none was found."""
    e = comparison.expr
    match comparison.kind:
        case "ge":
            return inside.least(e, at_least=0)
        case "ne":
            return inside.least(e - 1, at_least=0) or inside.least(-e - 1, at_least=0)
        case _:
            return None


def _ends(env: ShapeEnv, inside: Satisfying, atom: Atom) -> Iterator[Corner]:
    """A symbol at its smallest and largest and at the values in between at which programs break."""
    lo, hi = inside.facts.bounds(atom.expr)
    largest = UNBOUNDED if hi is None else hi
    for end in dict.fromkeys((*EDGES, largest)):
        if end > largest or (lo is not None and end < lo):
            continue
        values = inside.moved(inside.smallest, atom, end)
        if values[atom] != end:
            exact = inside.reaching(Prop.eq(atom.expr, end), thorough=False)
            values = exact or (_climbed(inside, atom, values, end) if end == largest else values)
        yield _corner(env, f"{atom.name} near {end}", values, inside)


def _climbed(inside: Satisfying, atom: Atom, values: Values, end: int) -> Values:
    """An assignment with the symbol as close below its end as was found in a few steps."""
    for _ in range(CLIMBS):
        middle = (values[atom] + end + 1) // 2
        closer = inside.moved(values, atom, middle)
        if closer[atom] > values[atom]:
            values = closer
        else:
            end = middle - 1
        if values[atom] >= end:
            break
    return values


# ---------------------------------------------------------------------- violated


def violations(env: ShapeEnv, violating: Violating = True) -> Iterator[Corner]:
    """Assignments that just violate one fact while all others hold. A fact that follows from them has none.

    Raises:
        ShapeError: there is no such fact.
    """
    for fact in violable(env, violating):
        yield from violating_only(env, fact)


def violable(env: ShapeEnv, violating: Violating) -> tuple[Fact, ...]:
    """The facts meant."""
    facts = sorted(env.known.records(), key=lambda fact: fact.serial)
    match violating:
        case bool():
            return tuple([fact for fact in facts if fact.kind in VIOLABLE]) if violating else ()
        case Guard():
            meant = [violating.fact]
        case Fact():
            meant = [violating]
        case str():
            meant = [fact for fact in facts if fact.text == violating] or _of_proposition(env, facts, violating)
    if not meant:
        known = ", ".join([fact.text for fact in facts])
        raise ShapeError(f"violating={violating!r}: expected one of the facts {known}")
    return tuple(meant)


def _of_proposition(env: ShapeEnv, facts: list[Fact], question: Question) -> list[Fact]:
    assert isinstance(question, str)
    prop, _ = env.parse(question)
    return [fact for fact in facts if fact.prop is prop]


def violating_only(env: ShapeEnv, fact: Fact, *, dropped: Sequence[Fact] = ()) -> Iterator[Corner]:
    """Assignments that just violate this fact, each of its comparisons in turn, and no other fact but, perhaps,
    dropped ones."""
    try:
        others = Satisfying(without(env, fact, *dropped))
    except (Contradiction, ShapeError):
        return
    found = False
    for goals, slack in _escapes(fact.prop):
        if any(goal.kind == "false" for goal in goals):
            continue
        try:
            outside = Satisfying(others.facts, goals)
        except ShapeError:
            continue
        values = outside.smallest if slack is None else outside.least(slack, at_least=0)
        if values is not None:
            found = True
            kept = outside if slack is None else _kept(outside, Prop.nonnegative(slack), values)
            yield _corner(env, f"violated: {fact.text}", kept.smallest, kept, fact)
    if not found and fact.domain.kind != "true":
        values = others.reaching(fact.domain.negation)
        if values is not None:
            around = Satisfying(others.facts, (fact.domain.negation,), values)
            yield _corner(env, f"violated: {fact.text}", values, around, fact)


def _escapes(p: Prop) -> Iterator[tuple[tuple[Prop, ...], Expr | None]]:
    """The ways to violate a proposition: what must hold for one, and what must be small and not negative for it to be
    violated only just."""
    match p.kind:
        case "ge":
            yield (p.negation,), -p.expr - 1
        case "eq":
            for slack in (p.expr - 1, -p.expr - 1):
                yield (Prop.nonnegative(slack),), slack
        case "ne":
            yield (p.negation,), None
        case "and" | "or":
            for part in p.parts:
                others = [other for other in p.parts if other is not part]
                rest = others if p.kind == "and" else [other.negation for other in others]
                for goals, inner in _escapes(part):
                    yield (*rest, *goals), inner


def _comparisons(p: Prop) -> tuple[Prop, ...]:
    return tuple(p.comparisons())


def _kept(inside: Satisfying, comparison: Prop, values: Values) -> Satisfying:
    """Constraints that move other symbols while the comparison stays as tight as it is."""
    e = comparison.expr
    tight = Prop.eq(e, e.evaluate(values))
    return Satisfying(inside.facts, (*inside.goals, tight), values)


def _corner(env: ShapeEnv, what: str, values: Values, around: Satisfying, fact: Fact | None = None) -> Corner:
    return Corner(what, values, around.named(env, values), around, fact)
