"""Models, least and greatest values, and equations solved for a symbol: each from questions to the environment.

>>> from shapes import ShapeEnv
>>> env = ShapeEnv(origin=lambda: None)
>>> b, s = env.sizes("b s")
>>> env.assume("s % 16 == 0 and s >= 1 and b > 2")

>>> best = optimum(env, "b*s", greatest=False)
>>> best.value, best.sizes, [fact.text for fact in best.core]
(48, {'b': 3, 's': 16}, ['s % 16 == 0 and s >= 1 and b > 2'])
>>> solution(env, "2*b + 4", "s", "b")
Solution(symbol='b', values=('s//2 - 2',), where=())
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from shapes.env import ShapeEnv
from shapes.errors import Contradiction, ShapeError, Undefined
from shapes.symbolic.numbers import SymBool, SymInt
from solver.decide.verdict import Always, Depends, GaveUp, Never, Verdict
from solver.proofs.fact import Fact

FARTHEST: Final = 2**70
"""A value so large is taken for one without bound."""
SECONDS: Final = 2.0
"""The time limit of a question."""


@dataclass(frozen=True, slots=True)
class Optimum:
    """The least or greatest value.

    Attributes:
        value: the best that was found; None where there is one beyond `FARTHEST`.
        sizes: where it is taken.
        bound: what no value goes beyond, as far as was shown; `value` itself where that is proven the best.
        core: the facts that it follows from.
    """

    value: int | None
    sizes: Mapping[str, int]
    bound: int | None
    core: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class Solution:
    """The value of a symbol: one of `values`, as text, where the propositions of `where` hold."""

    symbol: str
    values: tuple[str, ...]
    where: tuple[str, ...]


def model(env: ShapeEnv, proposition: str | None = None) -> dict[str, int]:
    """Sizes that satisfy all facts, and the proposition.

    Raises:
        Contradiction: there are none.
    """
    env.check_consistent()
    with env.speculate():
        if proposition is not None:
            env.assume(proposition)
            env.check_consistent()
        names = list(env.names)
        if not names:
            raise ShapeError("there is no symbol yet: `sizes b s` declares two")
        verdict = env.ask(_any_of(env, names), effort="thorough")
        match verdict:
            case Depends(true_at=sizes):
                return {name: sizes[name] for name in names if name in sizes}
            case GaveUp(reason=reason):
                raise ShapeError(f"no sizes were found: {reason}")
        witness = env.known.witness()
        if witness is None:
            raise ShapeError("no sizes were found within the budget")
        return {name: witness[atom] for atom, declared in env.symbols.items() for name in [declared.name]}


def _any_of(env: ShapeEnv, names: list[str]) -> str:
    """A proposition about all symbols that neither follows nor is refuted, as a rule."""
    return " and ".join(f"{name} % 2 == 0" for name in names)


def optimum(env: ShapeEnv, text: str, *, greatest: bool) -> Optimum:
    """The least or greatest value of an expression under the facts: a bisection between what is taken and what is
    proven to be out of reach.
    """
    env.check_consistent()
    size = env.size(text)
    if not isinstance(size, SymInt):
        return Optimum(size, {}, size, ())
    objective = -size if greatest else size
    sign = -1 if greatest else 1
    sizes = model(env, str(size.domain) if size.domain.kind != "true" else None)
    value = _value(objective, sizes)
    bound, _ = env.bounds(objective)
    core: tuple[Fact, ...] = ()
    step = 1
    while bound is None or bound < value:
        if bound is None and value < -FARTHEST:
            return Optimum(None, sizes, None, ())
        target = value - step if bound is None else (bound + value) // 2
        verdict = _at_least(env, objective, target + 1)
        match verdict:
            case Always():
                bound = target + 1
            case Depends(false_at=found):
                sizes, value, step = found, _value(objective, found), step * 4
            case _:
                return Optimum(sign * value, sizes, None if bound is None else sign * bound, ())
    verdict = _at_least(env, objective, value)
    if isinstance(verdict, Always):
        core = verdict.core
    return Optimum(sign * value, sizes, sign * value, core)


def _value(objective: SymInt, sizes: Mapping[str, int]) -> int:
    return objective.evaluate({name: sizes[name] for name in sizes})


def _at_least(env: ShapeEnv, objective: SymInt, value: int) -> Verdict:
    return env.ask(objective >= value, effort="thorough", timeout=SECONDS)


def solution(env: ShapeEnv, left: str, right: str, symbol: str) -> Solution:
    """The value of a symbol that makes two expressions equal: exact division where they are linear in it, else roots
    that sympy finds and a proof confirms.

    Raises:
        ShapeError: neither gives one.
    """
    if symbol not in env.names:
        raise ShapeError(f"there is no symbol `{symbol}`: `sizes {symbol}` declares it")
    difference = env.size(f"({left}) - ({right})")
    if not isinstance(difference, SymInt) or symbol not in {atom.name for atom in difference.expr.symbols}:
        raise ShapeError(f"`{left} == {right}` does not restrict `{symbol}`")
    rest = difference.substitute({symbol: 0})
    factor = difference.substitute({symbol: 1}) - rest
    linear = factor * env.size(symbol) + rest
    if env.proves(difference == linear):
        positive = isinstance(factor, int) and factor > 0
        numerator, divisor = (-rest, factor) if positive else (rest, -factor)
        if divisor == 1:
            return Solution(symbol, (str(env.simplify(numerator)),), ())
        nonzero = () if isinstance(divisor, int) or env.proves(divisor != 0) else (str(divisor != 0),)
        exact = numerator % divisor == 0
        divides = () if exact is True or isinstance(exact, SymBool) and env.proves(exact) else (str(exact),)
        return Solution(symbol, (str(env.simplify(numerator // divisor)),), (*nonzero, *divides))
    found = _roots(env, difference, symbol)
    if not found:
        raise ShapeError(
            f"no value of `{symbol}` was found for which `{left} == {right}`; `model {left} == {right}` looks for sizes"
        )
    return Solution(symbol, found, ())


def _roots(env: ShapeEnv, difference: SymInt, symbol: str) -> tuple[str, ...]:
    """The roots of a polynomial that are integers by a formula of ours, each shown to be one, and possible."""
    import sympy

    from solver.errors import NotExpressible
    from solver.interop.sympy import to_sympy

    try:
        equation = to_sympy(difference.expr)
        unknown = next(each for each in equation.free_symbols if str(each) == symbol)
        candidates = sympy.solve(equation, unknown)
    except (NotExpressible, NotImplementedError, StopIteration):
        return ()
    roots = []
    for candidate in candidates:
        try:
            root = env.size(str(candidate))
            value = difference.substitute({symbol: root})
        except (ShapeError, Undefined):
            continue
        if (value == 0 if isinstance(value, int) else env.proves(value == 0)) and _possible(env, symbol, root):
            roots.append(str(root))
    return tuple(roots)


def _possible(env: ShapeEnv, symbol: str, root: SymInt | int) -> bool:
    try:
        return not isinstance(env.ask(env.size(symbol) == root), Never)
    except Contradiction:
        return False
