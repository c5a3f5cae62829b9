"""Hypothesis strategies for the arguments of operators, one family a file, as the rules are.

    >>> from shapes.testing.arguments import arguments_for, calls_of
    >>> from hypothesis import strategies as st
    >>> from shapes.testing.calls import Call, Input
    >>> @calls_of("mylib.twice")
    ... def twice(draw, name):
    ...     return Call((Input((draw(st.integers(0, 4)),)),))
    >>> arguments_for("mylib.twice").example()          # doctest: +SKIP
    Call((Input((3,)),))

A strategy draws calls that the operator accepts and calls that it refuses: empty tensors, sizes of 1, axes out of
range. One in three gets one argument changed besides, whatever the strategy thought of; where that may show what no
sizes tell, or oddities of the operator, `only` says which calls are meant.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from shapes.rules.registry import FAMILIES
from shapes.testing.arguments.alterations import altered
from shapes.testing.calls import Call, Input

Factory = Callable[[str], SearchStrategy[Call]]
Drawn = Callable[[DrawFn, str], Call]
Ranked = Callable[[DrawFn, int], object]
"""Draws an argument for a tensor of this rank."""

_factories: Final[dict[str, Factory]] = {}
_pending: Final = list(FAMILIES)


def arguments_of(
    *names: str, as_written: bool = False, only: Callable[[Call], bool] | None = None
) -> Callable[[Factory], Factory]:
    """Register a function from an operator's name to a strategy of its calls, of which those are taken that `only`
    says; `as_written` leaves all of them as they are drawn.
    """

    def strategy(factory: Factory, name: str) -> SearchStrategy[Call]:
        calls = factory(name) if as_written else altered(factory(name))
        return calls if only is None else calls.filter(only)

    def register(factory: Factory) -> Factory:
        for name in names:
            if name in _factories:
                raise ValueError(f"{name} has arguments already")
            _factories[name] = partial(strategy, factory)
        return factory

    return register


def calls_of(
    *names: str, as_written: bool = False, only: Callable[[Call], bool] | None = None
) -> Callable[[Drawn], Factory]:
    """Register a function that draws a call of an operator, as `arguments_of` does its strategy."""
    return lambda drawn: arguments_of(*names, as_written=as_written, only=only)(st.composite(drawn))


def calls_of_tensor(
    tensor: SearchStrategy[Input],
    *names: str,
    then: Sequence[Ranked] = (),
    only: Callable[[Call], bool] | None = None,
    **options: Ranked,
) -> None:
    """Register operators of a tensor, of what comes `then` and of some options, each drawn for the tensor's rank."""

    @calls_of(*names, only=only)
    def drawn(draw: DrawFn, name: str) -> Call:
        x = draw(tensor)
        more = [argument(draw, len(x)) for argument in then]
        given = {option: value(draw, len(x)) for option, value in options.items() if draw(st.booleans())}
        return Call((x, *more), given)


def among(*values: object) -> Ranked:
    """One of these, whatever the rank."""
    return lambda draw, rank: draw(st.sampled_from(values))


def arguments_for(name: str) -> SearchStrategy[Call]:
    """The strategy of an operator's calls.

    Raises:
        KeyError: nobody wrote one.
    """
    if name not in _factories:
        _load()
    return _factories[name](name)


def operators_with_arguments() -> tuple[str, ...]:
    """The names of all operators whose arguments can be generated."""
    _load()
    return tuple(_factories)


def _load() -> None:
    while _pending:
        family = _pending.pop()
        if importlib.util.find_spec(f"{__name__}.{family}") is not None:
            importlib.import_module(f"{__name__}.{family}")
