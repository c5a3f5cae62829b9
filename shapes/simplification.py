"""The same value in fewer operations, as far as the facts allow.

    >>> from shapes import ShapeEnv
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, s = env.sizes("b s", lo=1)
    >>> env.assume("s % 16 == 0")
    >>> env.assume("b <= 8")
    >>> env.simplify((b * s + 8) // 16 * 2 + b // 9)
    2*b*(s//16)
    >>> from shapes import sym_max
    >>> env.simplify(sym_max(s, 12)), env.simplify(s % 8)
    (s, 0)

Candidates come from the equalities known, and from every operation whose outcome the facts settle: a choice with one
side, a division without remainder, a value with equal bounds. The one that prints with the fewest operators is taken,
and only if the engine proves it equal.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from shapes.ranges import bounds
from solver.display import text_of
from solver.expr import Atom, Expr
from solver.interner import Interner
from solver.prop import Prop
from solver.verdict import Always, Never

if TYPE_CHECKING:
    from shapes.env import ShapeEnv

OPERATOR: Final = re.compile(r"\*\*|//|<<|>>|[<>=!]=|[-+*%&|^<>]|\b(?:if|and|or)\b|\w+\(")
ROUNDS: Final = 4
ATOMS: Final = 200
"""An expression with more operations than this only has its equalities applied."""


def simplify(env: ShapeEnv, expr: Expr) -> Expr:
    """The candidate that prints with the fewest operators among those proven equal."""
    best, fewest = expr, operators(expr)
    pending = expr
    for _ in range(ROUNDS):
        if not fewest:
            break
        improved = False
        for candidate in _candidates(env, pending):
            count = operators(candidate)
            if count < fewest and _equal(env, expr, candidate):
                best, fewest, improved = candidate, count, True
        if not improved or best is pending:
            break
        pending = best
    return best


def operators(expr: Expr) -> int:
    """How many operators and calls the text of an expression has."""
    return len(OPERATOR.findall(text_of(expr)))


def _equal(env: ShapeEnv, a: Expr, b: Expr) -> bool:
    return isinstance(env.decide(env.interner.eq(a, b), env.interner.true), Always)


def _candidates(env: ShapeEnv, expr: Expr) -> Iterator[Expr]:
    lo, hi = bounds(env.facts, expr)
    if lo is not None and lo == hi:
        yield env.interner.constant(lo)
        return
    canonical = _defined(_multiplied(env, env.facts.canonical(expr)[0]))
    yield canonical
    for start in dict.fromkeys((expr, canonical)):
        if len(start.schedule) <= ATOMS:
            yield _settled(env, start)


def _multiplied(env: ShapeEnv, expr: Expr) -> Expr:
    """The expression with multiples of the engine's own symbols put back: where s is known as `16*t`, `16*t` is s."""
    interner = expr.interner
    for t in sorted([atom for atom in expr.symbols if atom.definition is not None], key=lambda atom: atom.serial):
        assert t.definition is not None
        for x in sorted(t.definition.symbols, key=lambda atom: atom.serial):
            terms = env.facts.canonical(x.expr)[0].terms
            if len(terms) == 1 and terms[0][0] == t.monomial:
                parts = [interner.constant(expr.constant)]
                parts += [_with_multiple(interner, term, t, terms[0][1], x) for term in expr.terms]
                expr = interner.sum(parts)
    return expr


def _with_multiple(interner: Interner, term: tuple[int, int], t: Atom, k: int, x: Atom) -> Expr:
    """A term with every `k*t` in it written as x; as it is where the coefficient does not allow it."""
    monomial, coefficient = term
    atoms = interner.monomials[monomial]
    count = atoms.count(t)
    if not count or coefficient % k**count:
        return interner.expr((term,), 0)
    product = interner.constant(coefficient // k**count)
    for atom in atoms:
        product = interner.multiply(product, x.expr if atom is t else atom.expr)
    return product


def _defined(expr: Expr) -> Expr:
    """The expression without the engine's own symbols: each stands for an expression of the user's."""
    for _ in range(ROUNDS * 4):
        own = {atom: atom.definition for atom in expr.symbols if atom.definition is not None}
        if not own:
            break
        expr = expr.interner.substitute(expr, own)
    return expr


def _settled(env: ShapeEnv, expr: Expr) -> Expr:
    """The expression with every operation replaced whose outcome the facts settle, innermost first."""
    interner = env.interner
    images: dict[Atom, Expr] = {}
    for atom in expr.schedule:
        args = tuple(
            [interner.replace(arg, images) if isinstance(arg, Expr) else arg.replace(images) for arg in atom.args]
        )
        changed = any(new is not old for new, old in zip(args, atom.args, strict=True))
        built = interner.rebuild(atom.kind, atom.name, args) if changed else atom.expr
        outcome = _outcome(env, built)
        if outcome is not atom.expr:
            images[atom] = outcome
    return interner.replace(expr, images)


def _outcome(env: ShapeEnv, built: Expr) -> Expr:
    """What a single operation comes to under the facts; itself where they leave it open."""
    lo, hi = bounds(env.facts, built)
    if lo is not None and lo == hi:
        return env.interner.constant(lo)
    if len(built.terms) != 1 or built.constant:
        return built
    (monomial, coefficient) = built.terms[0]
    atoms = env.interner.monomials[monomial]
    if coefficient != 1 or len(atoms) != 1:
        return built
    match atoms[0].kind, atoms[0].args:
        case "relu", (Expr() as e,):
            return _choice(env, env.interner.ge(e, 0), e, env.interner.zero, built)
        case "ite", (Prop() as p, Expr() as e):
            return _choice(env, p, e, env.interner.zero, built)
        case "floordiv", (Expr() as n, Expr() as d):
            return _quotient(env, n, d, built)
        case _:
            return built


def _choice(env: ShapeEnv, p: Prop, then: Expr, other: Expr, built: Expr) -> Expr:
    match env.decide(p, env.interner.true, "fast"):
        case Always():
            return then
        case Never():
            return other
        case _:
            return built


def _quotient(env: ShapeEnv, n: Expr, d: Expr, built: Expr) -> Expr:
    """`n // d` with the terms that d divides taken out one by one; the rest is a constant if it stays within one
    period."""
    interner = env.interner
    whole, rest = interner.zero, interner.constant(n.constant)
    for term in n.terms:
        part = interner.expr((term,), 0)
        if isinstance(env.decide(interner.divides(d, part), interner.ne(d, 0), "fast"), Always):
            whole = whole + interner.floordiv(part, d)
        else:
            rest = rest + part
    if whole is interner.zero:
        return built
    remaining = interner.floordiv(rest, d)
    lo, hi = bounds(env.facts, remaining)
    if lo is not None and lo == hi:
        return whole + lo
    return whole + remaining
