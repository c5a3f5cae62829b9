"""The consequences of a subset of the facts, learned by itself.

    >>> from solver.decide.selection import Step, learned_from
    >>> from solver.terms.interner import Interner
    >>> from solver.knowledge.facts import Facts
    >>> terms = Interner()
    >>> s = terms.symbol("s")
    >>> known = Facts.empty(terms).declare_range(s, 4, None).learn_prop(terms.eq(s % 8, 0))
    >>> newest, range_ = known.records()
    >>> known.bounds(s), learned_from(known.subsets, [Step(s.atom), Step(None, newest)]).bounds(s)
    ((8, None), (None, None))

Subsets that share a prefix share what was learned from it: that depends on the facts and their order alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from solver.decide.assume import assume
from solver.knowledge.facts import Conflict, Facts, Learned, Subsets
from solver.proofs.fact import Fact
from solver.terms.expr import Atom
from solver.terms.prop import Prop

KEPT: Final = 512
"""Selections of facts whose consequences are cached."""


class Step(NamedTuple):
    """A fact to learn, or a symbol to declare, with its range where that is among the facts."""

    atom: Atom | None
    fact: Fact | None = None
    lo: int | None = None
    hi: int | None = None
    hint: int | None = None


def learned_from(subsets: Subsets, steps: Sequence[Step]) -> Facts | Conflict:
    """The knowledge that follows from these symbols and facts alone, with samples, or a conflict."""
    if subsets.count > KEPT:
        subsets.forget()
    node = subsets.learned
    if node is None:
        node = subsets.learned = Learned(Facts.empty(subsets.interner, enough=1))
    true = Prop.truth(subsets.interner, True)
    for position, (atom, fact, lo, hi, hint) in enumerate(steps):
        key = (0 if atom is None else atom.serial, 0 if fact is None else id(fact), hint)
        following = node.more.get(key)
        if following is None:
            if atom is not None:
                declaring = fact or Fact(true, true, "range", "", None, None, -1)
                larger = node.known.declare(atom.expr, lo, hi, declaring, hint=hint, seed=position + 1)
            else:
                assert fact is not None
                larger = assume(node.known, fact)
            if isinstance(larger, Conflict):
                return larger
            if atom is not None:
                larger.samples.cache = {}  # in another branch of the tree the symbol has other samples
            following = node.more[key] = Learned(larger)
            subsets.count += 1
        node = following
    return node.known
