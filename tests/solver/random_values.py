"""Random expressions and propositions over given symbols, with every operation of the language."""

from __future__ import annotations

import random

from solver.terms.expr import Expr
from solver.terms.interner import Interner
from solver.terms.prop import Prop


def some_expression(terms: Interner, symbols: list[Expr], rng: random.Random, depth: int) -> Expr:
    if depth == 0 or rng.random() < 0.15:
        return rng.choice(symbols) if rng.random() < 0.75 else terms.constant(rng.randint(-9, 20))

    def part() -> Expr:
        return some_expression(terms, symbols, rng, depth - 1)

    match rng.randrange(22):
        case 0 | 1 | 2:
            return part() + part()
        case 3 | 4:
            return part() - part()
        case 5 | 6:
            return part() * part()
        case 7:
            return terms.floordiv(part(), rng.randint(1, 16))
        case 8:
            return terms.mod(part(), rng.randint(1, 16))
        case 9:
            return terms.floordiv(part(), part())
        case 10:
            return terms.mod(part(), part())
        case 11:
            return terms.maximum(part(), part())
        case 12:
            return terms.minimum(part(), part())
        case 13:
            return terms.absolute(part())
        case 14:
            return terms.ceildiv(part(), rng.randint(1, 8))
        case 15:
            return terms.ite(some_proposition(terms, symbols, rng, depth - 1), part(), part())
        case 16:
            return terms.bit_and(part(), part())
        case 17:
            return terms.bit_or(part(), part())
        case 18:
            return terms.bit_xor(part(), part())
        case 19:
            return terms.power(terms.constant(rng.choice([2, 3, -2])), rng.choice(symbols) + rng.randint(-2, 2))
        case 20:
            return rng.choice([terms.shift_left, terms.shift_right])(part(), rng.choice(symbols))
        case _:
            return terms.function("isqrt", part())


def some_proposition(terms: Interner, symbols: list[Expr], rng: random.Random, depth: int) -> Prop:
    kind = rng.randrange(8)
    if depth <= 0 or kind < 5:
        relation = rng.choice([terms.ge, terms.gt, terms.le, terms.lt, terms.eq, terms.ne])
        below = max(depth - 1, 0)
        return relation(some_expression(terms, symbols, rng, below), some_expression(terms, symbols, rng, below))
    parts = [some_proposition(terms, symbols, rng, depth - 1) for _ in range(rng.randint(2, 3))]
    if kind == 5:
        return terms.conjunction(parts)
    if kind == 6:
        return terms.disjunction(parts)
    return parts[0].negation
