"""The errors of this project. `ShapeError` is the base of all.

    >>> from shapes.errors import ShapeError, Contradiction, ParseError, UndecidedGuard
    >>> all(issubclass(error, ShapeError) for error in (Contradiction, ParseError, UndecidedGuard))
    True

Each prints the question, what is known with the line that made it so, and what to do:

    >>> from shapes import ShapeEnv
    >>> env = ShapeEnv(origin=lambda: None)
    >>> u = env.unbacked("u0", lo=0)
    >>> env.guard(u >= 8)
    Traceback (most recent call last):
    shapes.errors.UndecidedGuard: cannot decide `u0 >= 8`: true at u0=8, false at u0=0
      known:  u0 >= 0
      fix:    expect_true(u0 >= 8), or ask(...) and handle both cases
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from shapes.origin import Origin
from shapes.size_names import with_places
from solver.errors import InvalidArgument, NotExported, NotExpressible, ParseError, ShapeError, Undefined, bounded
from solver.syntax.short_text import number_text as number_text
from solver.syntax.short_text import shortened as shortened
from solver.syntax.short_text import sizes_text as sizes_text
from solver.syntax.short_text import with_names

if TYPE_CHECKING:
    from solver.decide.verdict import Verdict
    from solver.proofs.fact import Fact
    from solver.terms.expr import Atom

__all__ = [
    "ConcurrentScope",
    "ConstraintViolation",
    "Contradiction",
    "FalseAtHint",
    "ForeignSymbol",
    "InvalidArgument",
    "NotExported",
    "NotExpressible",
    "NotProven",
    "ParseError",
    "RuleViolation",
    "ShapeError",
    "SpecializedDynamic",
    "StaleCheckpoint",
    "Undefined",
    "UndecidedGuard",
]

SHOWN_FACTS: Final = 8


class Contradiction(ShapeError):
    """Facts that cannot hold together. `core` are the facts involved, the new one included."""

    def __init__(
        self,
        message: str,
        core: Sequence[Fact] = (),
        proof: object | None = None,
        *,
        places: Mapping[str, str] | None = None,
    ) -> None:
        self.message, self.core, self.proof, self.places = message, tuple(core), proof, places or {}
        super().__init__(message)

    def __str__(self) -> str:
        text = "\n".join([self.message, *known_lines(self.core, label="")])
        return bounded(with_places(text, self.places))


class FalseAtHint(Contradiction):
    """A proposition that is possible under the facts but false at the sizes this environment was made with."""


class RuleViolation(ShapeError, RuntimeError):
    """The result of an operator is not what its shape rule or fake implementation predicted."""


class ConstraintViolation(ShapeError):
    """Options or stated relations that are invalid, contradict each other, or are false for the sizes of a call."""


class StaleCheckpoint(ShapeError):
    """A rollback to a position that an earlier rollback has already passed."""


class ConcurrentScope(ShapeError):
    """Another thread is inside a hypothesis or speculation of this environment: what holds there is not for others."""

    def __init__(self, asked: str) -> None:
        self.asked = asked
        super().__init__(
            f"`{asked}`: another thread is inside a hypothesis or speculation of this environment; "
            "let each thread ask a fork of its own (`env.fork()`)"
        )

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.asked,)


class ForeignSymbol(ShapeError):
    """A size of another environment, or one that a rollback has taken away."""


class UndecidedGuard(ShapeError):
    """A branch that neither the facts nor a hint decides. `verdict` has sizes for both outcomes where they were
    found."""

    def __init__(
        self,
        question: str,
        verdict: Verdict,
        origin: Origin | None = None,
        *,
        known: Iterable[Fact] = (),
        sizes: tuple[Mapping[Atom, int], Mapping[Atom, int]] | None = None,
        fix: str = "",
        places: Mapping[str, str] | None = None,
    ) -> None:
        self.question, self.verdict, self.origin, self.places = question, verdict, origin, places or {}
        self.sizes = sizes
        self.headline = ""
        self.known = tuple(known)
        written = written_condition(origin) or question
        self.fix = fix or f"expect_true({written}), or ask(...) and handle both cases"
        super().__init__(question, verdict, origin)

    def __str__(self) -> str:
        outcome = outcome_of(self.verdict) if self.sizes is None else outcome_at(*self.sizes)
        lines = [self.headline or f"cannot decide `{self.question}`: {outcome}", *known_lines(self.known)]
        if self.origin is not None:
            lines.append(f"  needed: `{self.origin.source_line or self.question}`  ({_place(self.origin)})")
        return bounded(with_places("\n".join([*lines, f"  fix:    {self.fix}"]), self.places))


class NotProven(ShapeError):
    """A proposition that was to be proven for all values of bound variables. `sizes` are values for which it is false,
    by name, where they were found."""

    def __init__(
        self, question: str, verdict: Verdict, variables: tuple[str, ...], sizes: Mapping[str, int] | None
    ) -> None:
        self.question, self.verdict, self.variables, self.sizes = question, verdict, variables, sizes
        super().__init__(question, verdict, variables, sizes)

    def __str__(self) -> str:
        over = f" for all {', '.join(self.variables)}" if self.variables else ""
        outcome = outcome_of(self.verdict) if self.sizes is None else f"false at {sizes_text(self.sizes)}"
        return bounded(f"cannot prove `{self.question}`{over}: {outcome}")


class SpecializedDynamic(ShapeError):
    """A size that was marked as dynamic has become a constant. `fact` is the guard that did it."""

    def __init__(self, name: str, value: int, fact: Fact, places: Mapping[str, str] | None = None) -> None:
        self.name, self.value, self.fact, self.places = name, value, fact, places or {}
        super().__init__(name, value, fact, self.places)

    def __str__(self) -> str:
        where = f"  ({_place(self.fact.origin)})" if isinstance(self.fact.origin, Origin) else ""
        size = self.places.get(self.name, self.name)
        return (
            f"{size} is marked as dynamic, but would become the constant {self.value}\n"
            f"  {self.fact.kind}:  {shortened(with_places(self.fact.text, self.places))}{where}\n"
            f"  fix:    make that line hold for every {size}, or do not mark {size} as strictly dynamic"
        )


def outcome_of(verdict: Verdict) -> str:
    """The finding about an open question, in words, with the sizes that it is about."""
    from solver.decide.verdict import Depends, GaveUp

    match verdict:
        case Depends(true_values=true_values, false_values=false_values):
            about = verdict.prop.symbols | verdict.domain.symbols
            true, false = (
                {atom: value for atom, value in values.items() if atom in about}
                for values in (true_values, false_values)
            )
            return outcome_at(true, false)
        case GaveUp(reason=reason):
            return f"unknown, {reason}"
        case _:
            return str(verdict)


def outcome_at(true: Mapping[Atom, int], false: Mapping[Atom, int]) -> str:
    return f"true at {_values_text(true)}, false at {_values_text(false)}"


def _values_text(values: Mapping[Atom, int]) -> str:
    from solver.samples.witness import shown_value

    shown = [f"{atom.name}={shortened(shown_value(atom, value))}" for atom, value in values.items()]
    names = next(iter(values)).expr.interner.shown_names if values else {}
    return with_names(", ".join(shown), names) or "every size"


def known_lines(facts: Sequence[Fact], *, label: str = "known:") -> list[str]:
    """One line per fact with its place, aligned; the last says how many more there are."""
    shown = facts[:SHOWN_FACTS]
    width = max([len(fact.shown) for fact in shown], default=0)
    lines = []
    for position, fact in enumerate(shown):
        head = f"  {label if position == 0 else '':{len(label)}s}" + ("  " if label else "")
        lines.append(f"{head}{shortened(fact.shown):{min(width, 60)}s}  {fact_place(fact)}".rstrip())
    if len(facts) > len(shown):
        lines.append(f"  {'':{len(label)}s}{'  ' if label else ''}and {len(facts) - len(shown)} more")
    return lines


def fact_place(fact: Fact) -> str:
    """The place of a fact, in parentheses; its kind where that says more than the text."""
    kind = {"range": "", "guard": "guard", "given": "given", "assert": "run-time check", "hypothesis": "hypothesis"}[
        fact.kind
    ]
    place = f"line {fact.line}" if fact.line is not None else ""
    if isinstance(fact.origin, Origin):
        place = _place(fact.origin) + (f", {fact.origin.segment}" if fact.origin.segment else "")
    inside = ", ".join([part for part in (kind, place) if part])
    return f"({inside})" if inside else ""


def refusal(what: str, fix: str, place: Origin | None) -> str:
    """The text of an error: what, where, and what to do.

    >>> print(refusal("a size is printed", "print it outside", None))
    a size is printed
      fix:    print it outside
    """
    lines = [what]
    if place is not None:
        lines.append(f"  at:     `{place.source_line}`  ({place})")
    return "\n".join([*lines, f"  fix:    {fix}"])


def written_condition(origin: Origin | None) -> str:
    """The condition as the user wrote it, where the line can be read: `n >= 8` of `if n >= 8:` or of `env.guard(n >=
    8)`."""
    import ast

    if origin is None or not origin.segment:
        return ""
    try:
        tree = ast.parse(origin.segment, mode="eval").body
    except (SyntaxError, ValueError, RecursionError):
        return ""
    match tree:
        case ast.Compare() | ast.BoolOp() | ast.UnaryOp(op=ast.Not()):
            return ast.unparse(tree)
        case ast.Call(
            func=ast.Name(id="bool" | "guard") | ast.Attribute(attr="guard"), args=[ast.Compare() as condition]
        ):
            return ast.unparse(condition)
        case _:
            return ""


def _place(origin: Origin) -> str:
    return origin.place
