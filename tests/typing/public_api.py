"""The types that a program gets from the public API; mypy reads this file, nothing runs it."""

from typing import assert_never, assert_type

import symshape
from shapes import Always, Depends, GaveUp, Never, ShapeEnv, SymBool, SymFloat, SymInt, sym_ite, sym_max, sym_sum


def program(env: ShapeEnv) -> None:
    b = env.symbol("b", lo=1, hi=8192, hint=64)
    u = env.unbacked("u", lo=0)
    assert_type(b, SymInt)
    assert_type(u, SymInt)
    assert_type(b * u + 1, SymInt)
    assert_type(2 * b, SymInt)
    assert_type(b // 2 % 16, SymInt)
    assert_type(b >= u, SymBool)
    assert_type(b % 16 == 0, SymBool)
    assert_type(env.guard(b > 16), bool)
    assert_type(env.bounds(b), tuple[int | None, int | None])
    env.ask(3)  # E: a number is no proposition
    env.symbol("n", low=1)  # E: no such option


def chosen(env: ShapeEnv, question: SymBool | str) -> str:
    """A match over the four verdicts is complete, and mypy knows it."""
    verdict = env.ask(question)
    match verdict:
        case Always(core=core) | Never(core=core):
            return ", ".join(fact.text for fact in core)
        case Depends(true_at=true_at, false_at=false_at):
            assert_type(true_at, dict[str, int])
            return str(false_at)
        case GaveUp(reason=reason, tried=tried):
            assert_type(tried, tuple[str, ...])
            return reason
        case _:
            assert_never(verdict)


def numbers(b: SymInt, x: SymFloat, p: SymBool) -> None:
    """Symbolic numbers mix as Python's own do."""
    assert_type(b * 0.5, SymFloat)
    assert_type(b / 2, SymFloat)
    assert_type(0.5 * b, SymFloat)
    assert_type(b**2, SymInt)
    assert_type(-b, SymInt)
    assert_type(divmod(b, 4), tuple[SymInt, SymInt])
    assert_type(round(x), SymInt)
    assert_type(x + b, SymFloat)
    assert_type(x < b, SymBool)
    assert_type(p & True, SymBool)
    assert_type(p + 1, SymInt)
    assert_type(sym_max(b, 4), int | SymInt)
    assert_type(sym_ite(p, b, 4), int | SymInt)
    assert_type(sym_sum([b, 1]), int | SymInt)
    assert_type(b.substitute(b=4), SymInt | int)
    assert_type(p.substitute({"b": b + 1}), SymBool | bool)
    assert_type(x.substitute(b=4), SymFloat | float)
    assert_type(b.evaluate(b=4), int)
    assert_type(x.evaluate(b=4), float)
    assert_type(symshape.ShapeEnv().size("max(b, s)"), symshape.SymInt | int)
    _ = b + "x"  # E: no number
