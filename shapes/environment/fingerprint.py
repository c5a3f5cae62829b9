"""Fingerprints of environments: keys for caches that other processes read.

    >>> from shapes import ShapeEnv
    >>> def environment(hint):
    ...     env = ShapeEnv()
    ...     env.symbol("s", hint=hint)
    ...     env.assume("s % 16 == 0")
    ...     return env
    >>> environment(64).fingerprint() == environment(64).fingerprint() != environment(128).fingerprint()
    True
    >>> environment(64).fingerprint(hints=False) == environment(128).fingerprint(hints=False)
    True

Equal fingerprints mean the same policy and the same commitments in the same order, with symbols by name, and therefore
the same guards and checks. Lines of programs and the texts of facts are not in them, nor what symbols a rollback took.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from shapes.environment.events import (
    Assumed,
    Chosen,
    Commitment,
    Declared,
    Deferred,
    Guarded,
    Sourced,
    Specialized,
)
from solver.proofs.fact import Fact
from solver.terms.digest import digest, joined, texts


def fingerprint(settings: Iterable[object], commitments: Sequence[Commitment], *, hints: bool) -> str:
    """The digest of an environment as text."""
    return joined(texts(settings), *[_commitment(event, hints=hints) for event in commitments]).hex()



def _commitment(event: Commitment, *, hints: bool) -> bytes:
    name = type(event).__name__
    match event:
        case Declared():
            hint = event.hint if hints else None
            return texts((name, event.name, event.kind, event.lo, event.hi, hint, event.source))
        case Deferred(fact=fact):
            error = f"{event.error.__module__}.{event.error.__qualname__}"
            under = [digest(prop) for prop in event.under]
            return joined(texts((name, event.message, error)), _fact(fact), *under)
        case Guarded(fact=fact) | Assumed(fact=fact) | Specialized(fact=fact):
            return joined(texts((name,)), _fact(fact))
        case Chosen():
            return joined(texts((name, event.answer, event.by)), digest(event.question))
        case Sourced():
            return texts((name, event.name, event.source))


def _fact(fact: Fact) -> bytes:
    return joined(fact.kind.encode(), digest(fact.domain), digest(fact.prop))
