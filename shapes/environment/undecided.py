"""Errors for undecided branches and missing values: what is known, and what would decide.

    >>> from shapes import ShapeEnv
    >>> env = ShapeEnv(origin=lambda: None)
    >>> u = env.unbacked("u0", lo=0)
    >>> bool(u >= 8)
    Traceback (most recent call last):
    shapes.errors.UndecidedGuard: cannot decide `u0 >= 8`: true at u0=8, false at u0=0
      known:  u0 >= 0
      fix:    expect_true(u0 >= 8), or ask(...) and handle both cases
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from shapes.environment.ledger import Ledger
from shapes.environment.shrink_assignment import shrink_assignment
from shapes.errors import UndecidedGuard, Undefined
from solver.decide.verdict import Depends, GaveUp, Verdict
from solver.proofs.fact import Fact
from solver.terms.expr import Atom, Expr
from solver.terms.prop import Prop


def undecided(
    ledger: Ledger, prop: Prop, verdict: Verdict, text: str | None = None, *, fix: str = ""
) -> UndecidedGuard:
    """The error, with the facts that share a symbol with the question."""
    sizes = _near(ledger, verdict) if isinstance(verdict, Depends) else None
    return UndecidedGuard(
        text or str(prop),
        verdict,
        ledger.origin(),
        known=ledger.about(prop),
        sizes=sizes,
        fix=fix,
        places=ledger.table.places,
    )


def valueless(ledger: Ledger, expr: Expr, domain: Prop, reason: str) -> UndecidedGuard:
    """The error where a number is needed and there is none."""
    prop = ledger.interner.eq(expr, 0)
    fix = f"keep it symbolic, or expect_true({expr} == ...) with the number that it is"
    error = undecided(ledger, prop, GaveUp(prop, domain, reason, ()), str(expr), fix=fix)
    error.headline = f"cannot take `{expr}` as a number: {reason}"
    return error


def undefined(text: str, domain: Prop, core: Iterable[Fact] = ()) -> Undefined:
    """The error of a question whose domain cannot hold; `text` is the question as it was asked."""
    if domain.kind == "false":
        return Undefined(
            f"`{text}` is undefined for all sizes: a divisor in it is 0, or a shift count, an exponent or the operand"
            " of a root is negative"
        )
    because = ", ".join([fact.shown for fact in core])
    because = f" ({because})" if because else ""
    return Undefined(f"`{text}` is undefined here: the facts refute `{domain}`{because}")


def _near(ledger: Ledger, verdict: Depends) -> tuple[dict[Atom, int], dict[Atom, int]]:
    """The witnesses of an open question, close to where its answer changes, as far as it is about them."""
    prop, domain, facts = verdict.prop, verdict.domain, ledger.facts
    about = sorted(prop.symbols | domain.symbols, key=lambda atom: atom.serial)
    floats = ledger.interner.doubles  # the double nearest to the boundary has unreadable digits
    targets = {atom: facts.bounds(atom.expr)[0] or 0 for atom in about if atom not in floats}

    def shown(values: Mapping[Atom, int], truth: bool) -> dict[Atom, int]:
        near = shrink_assignment(
            values,
            targets,
            lambda v: domain.evaluate(v) and prop.evaluate(v) is truth and facts.holds_at(v),
        )
        return {atom: near[atom] for atom in about}

    true, false = verdict.found
    return shown(true, True), shown(false, False)
