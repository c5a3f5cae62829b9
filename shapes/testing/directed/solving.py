"""Sizes on the other side of each question of a run, where it is tight, and at the edges of its results.

    >>> from shapes.rules.registry import Rule
    >>> from shapes.testing.calls import Call, Input
    >>> from shapes.testing.directed.questions import asked
    >>> from shapes.testing.directed.solving import neighbours
    >>> def crop(env, x, width):
    ...     env.require(3 * width <= x[0] - 1, "too wide")
    ...     return (x[0] - width,)
    >>> call = Call((Input((20,)), 2))
    >>> for goal, found in neighbours(asked(Rule("crop", crop), call, numbers={"width"}), call):
    ...     print(goal, found)
    3*n0 >= s0 (Input((6,)), 2)
    3*n0 + 1 == s0 (Input((7,)), 2)
    3*n0 == s0 (Input((6,)), 2)
    3*n0 + 2 == s0 (Input((8,)), 2)
    n0 > s0 (Input((1,)), 2)
    n0 == s0 (Input((2,)), 2)
    n0 + 2147483648 <= s0 (Input((2147483650,)), 2)
    n0 + 2147483647 == s0 (Input((2147483649,)), 2)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from shapes.errors import ShapeError
from shapes.testing.calls import Call
from shapes.testing.directed.integers import with_values
from shapes.testing.directed.questions import Run
from shapes.testing.satisfying import Satisfying, Values
from solver.knowledge.facts import Facts
from solver.terms.expr import Expr, reachable
from solver.terms.prop import Prop

WIDE: Final = 2**31
TIGHT: Final = (0, -1, 1)
"""The values of `e` at which a comparison `e >= 0` or `e == 0` is tried."""
LARGEST: Final = 1 << 48

Seen = Callable[[Prop], bool]


def neighbours(run: Run, call: Call, seen: Seen = lambda goal: False) -> Iterator[tuple[Prop, Call]]:
    """Goals of a run, with a call each that reaches it; those that were `seen` are left out."""
    facts = run.facts.with_samples(run.facts.samples.with_row(0, run.values))
    for goal, before in goals(run):
        if goal.kind in ("true", "false") or seen(goal):
            continue
        values = _reached(facts, run, goal, before)
        if values is not None and values != run.values:
            yield goal, with_values(call, {path: values[atom] for path, atom in run.symbols.items()})


def goals(run: Run) -> Iterator[tuple[Prop, tuple[Prop, ...]]]:
    """Each goal, with what is to hold beside it: the questions asked before, or the whole path for results."""
    for place, prop in enumerate(run.path):
        yield prop.negation, run.path[:place]
        for comparison in prop.comparisons():
            for goal in _tight(comparison):
                yield goal, run.path[:place]
    for size in run.sizes:
        for goal in _edges(size):
            yield goal, run.path


def _tight(comparison: Prop) -> Iterator[Prop]:
    for value in TIGHT:
        yield Prop.eq(comparison.expr, value)


def _edges(size: Expr) -> Iterator[Prop]:
    """The sides of each choice and rounding inside a size, a negative one, and one that 32 bits do not hold."""
    for atom in sorted(reachable(size), key=lambda atom: atom.serial):
        for arg in atom.args:
            if isinstance(arg, Prop):
                yield arg
                yield arg.negation
                for comparison in arg.comparisons():
                    yield from _tight(comparison)
        if atom.kind == "relu" and isinstance(atom.args[0], Expr):
            for value in TIGHT:
                yield Prop.eq(atom.args[0], value)
        if atom.kind == "floordiv" and len(atom.args) == 2:
            above, below = atom.args
            if isinstance(above, Expr) and isinstance(below, Expr):
                rest = above - below * atom.expr
                yield Prop.eq(rest, 0)
                yield Prop.eq(rest, below - 1)
                yield Prop.eq(rest, 1)
                yield Prop.eq(above, below)
                yield Prop.eq(above, below - 1)
                yield Prop.eq(above, -1)
    if not size.is_constant:
        yield Prop.le(size, -1)
        yield Prop.eq(size, 0)
        yield Prop.ge(size, WIDE)
        yield Prop.eq(size, WIDE - 1)


def _reached(facts: Facts, run: Run, goal: Prop, before: tuple[Prop, ...]) -> Values | None:
    """Values that reach a goal and keep to what held before, or that reach it alone."""
    for kept in (before, ()) if before else ((),):
        try:
            found = Satisfying(facts, kept, dict(run.values)).reaching(goal, thorough=False)
        except (ShapeError, ArithmeticError):
            continue
        if found is not None and all(abs(value) <= LARGEST for value in found.values()):
            return {**run.values, **found}
    return None
