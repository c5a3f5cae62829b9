"""A rule run on symbols that have the sizes of a call: the questions it asks, and what is in its results.

    >>> from shapes.rules.registry import Rule
    >>> from shapes.testing.calls import Call, Input
    >>> from shapes.testing.directed.questions import asked
    >>> def tiles(env, x, width):
    ...     env.require(x[0] % 4 == 0, "expected a multiple of 4")
    ...     return (x[0] // width if width > 0 else int(x[0]),)
    >>> run = asked(Rule("tiles", tiles), Call((Input((8,)), 2)), numbers={"width"})
    >>> [str(p) for p in run.path], [str(size) for size in run.sizes], run.specialized
    (['s0 % 4 == 0', 'n0 >= 1'], ['s0//n0'], {})

The path is what held, of all that was asked, in order. A question that the answers before it decide is left out.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from shapes.env import ShapeEnv
from shapes.environment.events import Asked, Event, Specialized
from shapes.rules.registry import Rule
from shapes.symbolic.choices import Int
from shapes.symbolic.numbers import SymInt
from shapes.testing.calls import Call
from shapes.testing.directed.integers import Path, places_of, rebuilt
from solver.decide.verdict import Always, Never
from solver.knowledge.facts import Facts
from solver.terms.expr import Atom, Expr
from solver.terms.prop import Prop

MOST: Final = 60
"""Questions of one run that are kept."""


@dataclass(frozen=True)
class Run:
    """One run of a rule, or of a reference that takes sizes.

    Attributes:
        facts: what is known of the symbols alone.
        symbols: the symbol of each place.
        values: the value of each symbol.
        path: the answered questions, each as it holds at the values.
        sizes: the sizes of the results, as expressions.
        specialized: the places whose symbol Python took as a number, and that number.
    """

    facts: Facts
    symbols: Mapping[Path, Atom]
    values: dict[Atom, int]
    path: tuple[Prop, ...]
    sizes: tuple[Expr, ...]
    specialized: Mapping[Path, int]


def asked(rule: Rule, call: Call, *, numbers: set[str] | None = None) -> Run:
    """Run a rule; `numbers` are the parameters whose integers are symbols too, as all sizes are."""
    is_symbol = _of_parameters(rule, numbers or set())
    return observed(call, is_symbol, lambda env, given: rule(env, *given.args, **given.kwargs))


def _of_parameters(rule: Rule, taken: set[str]) -> Callable[[Path], bool]:
    """A function that tells the places of these parameters."""

    def is_symbol(path: Path) -> bool:
        head = path[0]
        name = head if isinstance(head, str) else rule.names[head] if head < len(rule.names) else ""
        return name in taken

    return is_symbol


def asked_together(rule: Rule, reference: Callable[[Call], object], call: Call, *, numbers: set[str]) -> list[Run]:
    """Runs of a rule and of a reference that computes sizes from a `Call`, one after the other and the other way round.

    So what the one asks is negated while the answers to the other stand: where one refuses, and the other does not.
    """
    runs: list[Callable[[ShapeEnv, Call], object]] = [
        lambda env, given: rule(env, *given.args, **given.kwargs),
        lambda env, given: reference(given),
    ]

    def in_turn(env: ShapeEnv, given: Call, order: int) -> list[object]:
        results = []
        for run in runs[::order]:
            with contextlib.suppress(Exception):
                results.append(run(env, given))
        return results

    is_symbol = _of_parameters(rule, numbers)
    return [
        observed(call, is_symbol, lambda env, given: in_turn(env, given, 1)),
        observed(call, is_symbol, lambda env, given: in_turn(env, given, -1)),
    ]


def observed(call: Call, is_symbol: Callable[[Path], bool], run: Callable[[ShapeEnv, Call], object]) -> Run:
    """Run something on symbols that have the sizes of a call as hints."""
    env = ShapeEnv(origin=lambda: None)
    symbols: dict[Path, Atom] = {}
    sizes: dict[Path, Int] = {}
    values: dict[Atom, int] = {}
    for place in places_of(call):
        if place.is_size or is_symbol(place.path):
            letter = "s" if place.is_size else "n"
            count = sum([name.name.startswith(letter) for name in values])
            symbol = env.symbol(f"{letter}{count}", lo=0 if place.is_size else None, hint=place.value)
            symbols[place.path], sizes[place.path] = symbol.expr.atom, symbol
            values[symbol.expr.atom] = place.value
    facts = env.known
    path: dict[Prop, None] = {}
    specialized: dict[Path, int] = {}

    def keep(event: Event) -> None:
        match event:
            case Asked(prop=prop, verdict=verdict) if not isinstance(verdict, Always | Never):
                _keep(prop, values, path)
            case Specialized(expr=expr, value=value, fact=fact):
                _keep(fact.prop, values, path)
                for place, atom in symbols.items():
                    if expr is atom.expr:
                        specialized[place] = value
            case _:
                pass

    stop = env.listen(keep)
    try:
        outputs = run(env, rebuilt(call, lambda path, value, is_size: sizes.get(path, value)))
        found = tuple(_expressions(outputs))
    except Exception:
        found = ()
    finally:
        stop()
    return Run(facts, symbols, values, tuple(path)[:MOST], found, specialized)


def _keep(prop: Prop, values: Mapping[Atom, int], path: dict[Prop, None]) -> None:
    """Add an answered question; one about an unbacked symbol is not answered."""
    if prop.kind in ("true", "false") or not prop.symbols <= set(values):
        return
    try:
        holds = prop.evaluate(values)
    except (ArithmeticError, ValueError):
        return
    path[prop if holds else prop.negation] = None


def _expressions(outputs: object) -> Iterator[Expr]:
    if isinstance(outputs, SymInt):
        yield outputs.expr
    elif isinstance(outputs, list | tuple):
        for one in outputs:
            yield from _expressions(one)
