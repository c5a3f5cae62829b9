"""Decide a comparison by interval arithmetic: each monomial at the end of its range, recorded ranges of whole forms.

    >>> from solver.terms.interner import Interner
    >>> from solver.knowledge.facts import Facts
    >>> from solver.knowledge.comparisons import decided
    >>> terms = Interner()
    >>> b, s = terms.symbol("b"), terms.symbol("s")
    >>> known = Facts.empty(terms).declare_range(b, 2, None).declare_range(s, 2, None)
    >>> decided(known, terms.lt(b * s, 3))
    (False, <combine: b*s >= 3>)

More than half of the recorded questions end here.
"""

from __future__ import annotations

from solver.knowledge.base import Knowledge
from solver.knowledge.by_intervals import prove_between_multiples, prove_nonzero
from solver.knowledge.explain import prove_side
from solver.proofs.step import ProofStep, apart, equal
from solver.terms.prop import Prop


def decided(known: Knowledge, p: Prop) -> tuple[bool, ProofStep] | None:
    """The truth value of a comparison, with its proof; None where bounds do not decide it."""
    e = p.expr
    match p.kind:
        case "ge":
            low = known.low(e)
            if low is not None and low >= 0:
                return True, prove_side(known, e, True, 0)
            high = known.high(e)
            if high is not None and high < 0:
                return False, prove_side(known, e, False, -1)
            return None
        case "eq" | "ne":
            truth = p.kind == "ne"
            nonzero = p if truth else p.negation
            if e.constant:
                between = prove_between_multiples(known, nonzero)
                if between is not None:
                    return truth, between
            low = known.low(e)
            high = known.high(e)
            if low is not None and low > 0:
                return truth, apart(prove_side(known, e, True, 1), nonzero)
            if high is not None and high < 0:
                return truth, apart(prove_side(known, e, False, -1), nonzero)
            if low is not None and low == high:
                return not truth, equal(prove_side(known, e, True, 0), prove_side(known, e, False, 0))
            excluded = prove_nonzero(known, nonzero)
            return None if excluded is None else (truth, excluded)
        case _:
            return None
