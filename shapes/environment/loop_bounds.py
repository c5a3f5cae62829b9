"""Bounds of an expression over a loop, independent of its bound variables.

>>> from shapes import ShapeEnv
>>> env = ShapeEnv(origin=lambda: None)
>>> b, s = env.sizes("b s", hints=(4, 128))
>>> with env.hypothesis("i < b") as (i,):
...     print(env.lower_bound(i * s, over=i), env.upper_bound(i * s, over=i))
0 b*s - s

Each variable is replaced by one of its own bounds, and what comes out is proven to be a bound.
"""

from __future__ import annotations

from collections.abc import Set

from shapes.environment.events import Declared, fact_of
from shapes.environment.ledger import Ledger
from shapes.environment.questions import Questions
from shapes.environment.value_ranges import bounds
from solver.terms.expr import Atom, Expr


def bound_over(questions: Questions, expr: Expr, variables: Set[Atom], *, upper: bool) -> Expr | None:
    """A bound that does not mention the variables; None where none was proven."""
    ledger, interner = questions.ledger, questions.ledger.interner
    candidates = [expr]
    for atom in sorted(variables, key=lambda atom: atom.serial, reverse=True):
        ends = _ends(ledger, atom)
        candidates = [
            each.substitute({atom: end})
            for each in candidates
            for end in (ends if atom in each.atoms else (atom.expr,))
        ]
    lo, hi = bounds(ledger.facts, expr)
    constant = hi if upper else lo
    if constant is not None:
        candidates.append(interner.constant(constant))
    below = interner.le if upper else interner.ge
    best: Expr | None = None
    for each in dict.fromkeys(candidates):
        if not variables.isdisjoint(each.atoms) or not questions.proves(below(expr, each)):
            continue
        if best is None or (questions.proves(below(each, best)) and not questions.proves(below(best, each))):
            best = each
    return best


def _ends(ledger: Ledger, atom: Atom) -> tuple[Expr, ...]:
    """Lower and upper bounds of a variable, from the facts since it was declared."""
    interner = ledger.interner
    found: dict[Expr, None] = {}
    for event in reversed(ledger.commitments):
        fact = fact_of(event)
        if fact is not None and atom in fact.prop.symbols and fact.prop.kind in ("and", "ge", "eq"):
            for part in fact.prop.comparisons():
                c = dict(part.expr.terms).get(atom.monomial, 0)
                rest = part.expr - atom.expr * c
                if part.kind in ("ge", "eq") and c and atom not in rest.atoms:
                    # c*x + rest >= 0 bounds x from above for c < 0, from below for c > 0
                    found[interner.floordiv(rest, -c) if c < 0 else interner.ceildiv(-rest, c)] = None
        if isinstance(event, Declared) and event.symbol is atom.expr:
            break
    found |= dict.fromkeys([interner.constant(end) for end in ledger.facts.bounds(atom.expr) if end is not None])
    return tuple(found)
