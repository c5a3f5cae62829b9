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
  value it gives 0, and `Interner.domain` says where that is;
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
from dataclasses import dataclass
from functools import lru_cache
from math import isqrt
from types import MappingProxyType
from typing import Protocol, cast

Interval = tuple[int | None, int | None]


class Evaluate(Protocol):
    def __call__(self, *arguments: int) -> int: ...


class Bound(Protocol):
    def __call__(self, *arguments: Interval) -> Interval: ...


@dataclass(frozen=True, slots=True)
class Threshold:
    """`f(e) >= k` if and only if `e >= at` (rising) or `e <= at` (falling)."""

    at: int
    rising: bool


@dataclass(frozen=True, slots=True)
class Function:
    """What the engine knows about an opaque function."""

    name: str
    arity: int
    evaluate: Evaluate
    bounds: Bound
    nonnegative: tuple[int, ...] = ()
    """The arguments that must not be negative."""
    threshold: Callable[[int], Threshold | bool | None] = lambda k: None
    template: str | None = None
    """The text with `{0}`, `{1}` for the arguments, where it is not `name(argument, ...)`."""

    def text(self, arguments: Sequence[str]) -> str:
        if self.template is not None:
            return self.template.format(*arguments)
        return f"{self.name}({', '.join(arguments)})"


_registered: dict[str, Function] = {}


def register(
    name: str,
    evaluate: Callable[[int], int] | Callable[[int, int], int] | Callable[[int, int, int], int],
    bounds: Callable[[Interval], Interval]
    | Callable[[Interval, Interval], Interval]
    | Callable[[Interval, Interval, Interval], Interval],
    *,
    arity: int = 1,
    nonnegative: Sequence[int] = (),
    threshold: Callable[[int], Threshold | bool | None] = lambda k: None,
) -> Function:
    """Make a function known under a name, for every environment of the process.

    `evaluate` must be pure and give an integer for all integers; `bounds` must hold wherever the arguments numbered in
    `nonnegative` are not negative.

    Raises:
        ValueError: the name is no identifier, or another function has it.
    """
    if not name.isidentifier():
        raise ValueError(f"name={name!r}: a function is named by an identifier")
    found = _registered.get(name)
    if found is not None and found.evaluate is not evaluate:
        raise ValueError(f"name={name!r}: there is a function of this name already")
    made = Function(name, arity, cast(Evaluate, evaluate), cast(Bound, bounds), tuple(nonnegative), threshold)
    _registered[name] = made
    return made


def function(name: str) -> Function:
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


def known_functions() -> Mapping[str, Function]:
    """The registered functions by name."""
    return MappingProxyType(_registered)


_readers: list[Callable[[str], Function]] = []


def read_programs_by(reader: Callable[[str], Function]) -> None:
    """Have functions whose name is a program be read by this: it stands above them, in `solver.floats.programs`."""
    _readers[:] = [reader]


@lru_cache(maxsize=4096)
def _program(name: str) -> Function:
    return _readers[0](name)


def _isqrt(n: int) -> int:
    return isqrt(n) if n >= 0 else 0


def _isqrt_bounds(n: Interval) -> Interval:
    lo, hi = n
    return (_isqrt(lo) if lo is not None else 0, None if hi is None else _isqrt(hi))


def _isqrt_threshold(k: int) -> Threshold | bool:
    return Threshold(k * k, rising=True) if k > 0 else True


def _bit_length_bounds(n: Interval) -> Interval:
    lo, hi = n
    least = max(lo if lo is not None else 0, -hi if hi is not None else 0, 0)
    return (least.bit_length(), None if lo is None or hi is None else max(abs(lo), abs(hi)).bit_length())


register("isqrt", _isqrt, _isqrt_bounds, nonnegative=(0,), threshold=_isqrt_threshold)
register("bit_length", int.bit_length, _bit_length_bounds)
