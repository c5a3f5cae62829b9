"""Evaluation at the hints: the known sizes of this run.

    >>> from solver.knowledge.facts import Facts
    >>> from solver.terms.interner import Interner
    >>> terms = Interner()
    >>> s, n = terms.symbol("s"), terms.symbol("n")
    >>> facts, hints = Facts.empty(terms).declare_range(s, 0, None).declare_range(n, 0, None), {s.atom: 128}
    >>> [truth_at_hints(terms.ge(size, 64), terms.true, hints, facts) for size in (s, n)]
    [True, None]
    >>> value_at_hints(2 * s, hints, facts), value_at_hints(s + n, hints, facts), value_at_hints(s + n, hints, facts, 8)
    (256, None, 136)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shapes.errors import Undefined
from solver.knowledge.facts import Facts
from solver.terms.expr import Atom, Expr
from solver.terms.prop import Prop


def truth_at_hints(
    prop: Prop, domain: Prop, hints: Mapping[Atom, int], facts: Facts, hypotheses: Sequence[Prop] = ()
) -> bool | None:
    """The value at the hints; None where a symbol has none, even by the equalities known.

    Under a hypothesis that is false at the hints they say nothing.

    Raises:
        Undefined: the hints are outside the domain.
    """
    if hypotheses and _excluded_by_hints(hypotheses, hints):
        return None
    if hints:
        try:
            return _evaluated(prop, domain, hints)
        except KeyError:
            pass
    known, inside = facts.canonical_prop(prop)[0], facts.canonical_prop(domain)[0]
    if known is prop and inside is domain and known.symbols:
        return None
    try:
        return _evaluated(known, inside, hints)
    except KeyError:
        return None


def _excluded_by_hints(hypotheses: Sequence[Prop], hints: Mapping[Atom, int]) -> bool:
    """Return True if the scope is one that this run does not enter."""
    for scope in hypotheses:
        try:
            if not scope.evaluate(hints):
                return True
        except (KeyError, OverflowError):
            continue
    return False


def _evaluated(prop: Prop, domain: Prop, hints: Mapping[Atom, int]) -> bool | None:
    try:
        if domain.kind != "true" and not domain.evaluate(hints):
            raise Undefined(f"`{prop}` needs `{domain}`, which is false at the hints")
        return prop.evaluate(hints)
    except OverflowError:
        return None


def value_at_hints(
    node: Expr | Prop, hints: Mapping[Atom, int], facts: Facts, fallback: int | None = None
) -> int | bool | None:
    """The value at the hints; symbols without one count as `fallback`. With none, the answer is None."""
    values = hints if fallback is None else {**dict.fromkeys(node.symbols, fallback), **hints}
    try:
        return node.evaluate(values)
    except OverflowError:
        return None
    except KeyError:
        pass
    try:
        return (
            facts.canonical(node)[0].evaluate(values)
            if isinstance(node, Expr)
            else facts.canonical_prop(node)[0].evaluate(values)
        )
    except (KeyError, OverflowError):
        return None
