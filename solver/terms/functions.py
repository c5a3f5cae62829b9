"""Opaque integer functions: known by how they are evaluated and how they are bounded, nothing else.

    >>> from solver.terms.functions import function, register
    >>> function("isqrt").evaluate(17)
    4
    >>> function("isqrt").bounds((16, 99))
    (4, 9)
    >>> collatz = register("half_or_triple", lambda n: 3 * n + 1 if n % 2 else n // 2, lambda interval: (None, None))
    >>> function("half_or_triple").evaluate(7)
    22

`Interner.function(name, *arguments)` makes the atom. Where it plugs in:

- evaluation (witnesses, generated checks) calls `function(name).evaluate(*integers)`. It is total: where there is no
  value it gives 0, and `solver.terms.atoms.domain_of` says where that is;
- the bounds rung calls `function(name).bounds(*intervals)`, one `(lo, hi)` for each argument, None for no bound. The
  interval that it gets back holds for all arguments of the domain in those intervals. The checker calls the same;
- `function(name).threshold(k)`, for a monotone function of one argument, turns `f(e) >= k` into a bound of `e`:
  `Threshold(t, rising=True)` says that it holds if and only if `e >= t`, with `rising=False` if and only if `e <= t`;
  True and False say that it holds everywhere and nowhere (all inside the domain). None: not known;
- printing calls `function(name).text(texts of the arguments)`; the parser builds the named ones of `known_functions()`.

Programs over IEEE doubles are functions too. Their name is their text, with `{0}`, `{1}` for the integer arguments: the
name says all there is to know, and nothing needs to be registered. `function("trunc(0.29*float({0}))").evaluate(100)`
is 28. See `solver.floats.values`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from solver.hooks import Hook
from solver.terms.operations import CALLED, FUNCTIONS, OPERATIONS, Bound, Evaluate, Law, Operation, Threshold

_registered: dict[str, Operation] = {row.name: row for row in FUNCTIONS}


def register(
    name: str,
    evaluate: Evaluate,
    bounds: Bound,
    *,
    arity: int = 1,
    nonnegative: Sequence[int] = (),
    laws: tuple[Law, ...] = (),
    threshold: Callable[[int], Threshold | bool | None] = lambda k: None,
) -> Operation:
    """Make a function known under a name, for every environment of the process.

    `evaluate` must be pure and give an integer for all integers; `bounds` must hold wherever the arguments numbered in
    `nonnegative` are not negative.

    Raises:
        ValueError: the name is no identifier, or another function has it.
    """
    if not name.isidentifier():
        raise ValueError(f"name={name!r}: a function is named by an identifier")
    found = _registered.get(name) or OPERATIONS.get(name)
    if found is not None and found.evaluate is not evaluate:
        raise ValueError(f"name={name!r}: there is a function of this name already")
    made = Operation(name, arity, evaluate, bounds, tuple(nonnegative), laws=laws, threshold=threshold)
    _registered[name] = made
    return made


def function(name: str) -> Operation:
    """The function of this name.

    Raises:
        LookupError: there is none.
    """
    found = _registered.get(name)
    if found is not None:
        return found
    if "{" in name:
        return _program(name)
    raise LookupError(f"no function is registered under the name {name!r}")


def known_functions() -> Mapping[str, Operation]:
    """The registered functions by name."""
    return MappingProxyType(_registered)


def called(name: str) -> Operation | None:
    """The operation on integers that a text calls by this name; None if there is none."""
    return CALLED.get(name) or _registered.get(name)


program_reader: Final[Hook[Callable[[str], Operation]]] = Hook()
"""The function whose name is a program, by `solver.floats.programs`."""


@lru_cache(maxsize=4096)
def _program(name: str) -> Operation:
    return program_reader.call(name)
