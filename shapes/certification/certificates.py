"""Certificates for guards: each is proven, refuted by a counterexample, or not shown.

    >>> from shapes.certification.certificates import Condition
    >>> from shapes.origin import Origin
    >>> print(Condition("s % 8 == 0", Origin("/home/me/model.py", 41, "forward")).where)
    model.py:41 in forward

`shapes.certification.certifying` finds them. A certificate is data that can be checked again, without search.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, NoReturn

from shapes.errors import Contradiction
from shapes.origin import Origin
from solver.decide.verdict import Always
from solver.interop.z3 import objection
from solver.knowledge.facts import Facts
from solver.proofs.checker import verify, verify_assignment
from solver.proofs.step import ProofStep
from solver.styled_text import Page, Style, columns, html_of_page, line, span
from solver.syntax.short_text import sizes_text
from solver.terms.expr import Atom
from solver.terms.prop import Prop

Status = Literal["proven", "refuted", "unknown", "contradictory"]
STYLES: Final[Mapping[Status, Style]] = {
    "proven": "always",
    "refuted": "never",
    "unknown": "gave up",
    "contradictory": "error",
}
EXIT: Final[Mapping[Status, int]] = {"proven": 0, "refuted": 1, "unknown": 2, "contradictory": 3}


@dataclass(frozen=True, slots=True)
class Condition:
    """One guard: a proposition over sizes.

    Attributes:
        origin: the line of the program that it is due to.
        why: what made it, in words, where that is no line of the program.
        line: its line in a file of guards.
        static: it says that a size is the number that it was seen as. Of sizes that nothing is said about this is
            assumed.
        derived: it follows from other guards, or was when it was made. Where it can fail only as these can, it is no
            finding of its own.
        fault: why it could not be read, if so.
    """

    text: str
    origin: Origin | None = None
    why: str = ""
    line: int | None = None
    static: bool = False
    derived: bool = False
    fault: str = ""

    @property
    def where(self) -> str:
        """The line of the program, else of the file, else who made it."""
        if self.origin is not None:
            return str(self.origin) + (f" ({self.why})" if self.why else "")
        return self.why or (f"line {self.line}" if self.line is not None else "")


@dataclass(frozen=True, slots=True)
class Conditions:
    """All guards of one compiled variant.

    Attributes:
        names: what names in the guards stand for, such as `x_size0` for `x.shape[0]`; others are sizes themselves.
        integers: the sizes that are just integers, and may be negative.
        bounds: what is known of sizes because they are declared so, not because a guard tests it.
        assumed: what else it relies on, which is not judged.
        inputs: all sizes that there are, where that is known: a range of another one is a mistake.
        group: equal for variants that answer the same calls, of which one has to accept.
        state: guards about objects and global state, each as text: a variant stands in for another one only where it
            has none that the other lacks.
    """

    conditions: Sequence[Condition]
    names: Mapping[str, str] = field(default_factory=dict)
    integers: frozenset[str] = frozenset()
    bounds: Mapping[str, tuple[int | None, int | None]] = field(default_factory=dict)
    assumed: Sequence[str] = ()
    inputs: frozenset[str] | None = None
    group: object = None
    state: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Judged:
    """The finding about a guard: as the program writes it."""

    condition: Condition
    guard: str

    @property
    def origin(self) -> Origin | None:
        """The line of the program that it is due to."""
        return self.condition.origin

    @property
    def why(self) -> str:
        return self.condition.why

    @property
    def place(self) -> str:
        return f"  ({self.condition.where})" if self.condition.where else ""

    def json(self, **more: object) -> dict[str, object]:
        """The finding as data, with `more` between the guard and its place."""
        condition, origin = self.condition, self.condition.origin
        return {
            "guard": self.guard,
            **more,
            "file": None if origin is None else origin.file,
            "line": condition.line if origin is None else origin.line,
            "function": None if origin is None else origin.function,
            "why": condition.why,
        }


@dataclass(frozen=True, slots=True)
class Proven(Judged):
    """A guard that holds for all sizes, with the proof."""

    verdict: Always


@dataclass(frozen=True, slots=True)
class Finding(Judged):
    """A guard that can fail.

    Attributes:
        size: sizes at which it fails, by name.
        smallest: whether no smaller ones were shown to fail.
    """

    size: dict[str, int]
    smallest: bool
    goal: Prop
    values: Mapping[Atom, int]
    facts: Facts

    def check(self) -> bool:
        """Return True if the sizes are as the caller says, and the guard fails there: verified by evaluation."""
        return verify_assignment(self.values, self.facts.last) and self.goal.evaluate(self.values) is False

    def __str__(self) -> str:
        return f"{self.guard}  fails at {sizes_text(self.size)}{self.place}"


@dataclass(frozen=True, slots=True)
class NotShown(Judged):
    """A guard of which nothing was shown."""

    reason: str

    def __str__(self) -> str:
        return f"{self.guard}  not shown: {self.reason}{self.place}"


@dataclass(frozen=True, slots=True)
class Certificate:
    """The answer: see the module's documentation.

    Attributes:
        status: "proven": every guard holds for every size. "refuted": the `findings` can fail. "unknown": none was
            seen to fail, but some were `not_shown`. "contradictory": no sizes are as the caller says.
        holding: the guards that hold, each with its proof.
        implied: guards that can fail too, but only where one of the `findings` does.
        assumed: what the caller has to ensure: layouts of tensors, sizes that are constants and that nothing is
            said about, checks that the program makes itself.
        premises: what the caller says of the sizes; for "contradictory", of these what cannot hold together.
    """

    status: Status
    holding: tuple[Proven, ...] = ()
    findings: tuple[Finding, ...] = ()
    not_shown: tuple[NotShown, ...] = ()
    implied: tuple[Finding, ...] = ()
    assumed: tuple[str, ...] = ()
    premises: tuple[str, ...] = ()
    conflict: Contradiction | None = None

    @property
    def proven(self) -> bool:
        return self.status == "proven"

    @property
    def counts(self) -> dict[str, int]:
        """The number of judged guards that were read, understood, proven, refuted and left unknown."""
        refuted = len(self.findings) + len(self.implied)
        read = len(self.holding) + refuted + len(self.not_shown)
        faulty = [each for each in self.not_shown if each.condition.fault or each.reason.startswith("not understood")]
        return {
            "read": read,
            "understood": read - len(faulty),
            "proven": len(self.holding),
            "refuted": refuted,
            "unknown": len(self.not_shown),
        }

    @property
    def exit_status(self) -> int:
        """0 proven, 1 refuted, 2 unknown, 3 contradictory."""
        return EXIT[self.status]

    def __bool__(self) -> NoReturn:
        raise TypeError("a certificate is not a truth value; read its `status`, or whether it is `proven`")

    def check(self) -> bool:
        """Verify it again, without search: every proof, and every finding by evaluation."""
        if self.conflict is not None:
            return _verified(self.conflict)
        proofs = [each.verdict for each in self.holding]
        findings = (*self.findings, *self.implied)
        return all(proof.check() for proof in proofs) and all(finding.check() for finding in findings)

    def json(self) -> dict[str, object]:
        """The certificate as data, for other programs."""
        return {
            "status": self.status,
            "counts": self.counts,
            "premises": list(self.premises),
            "findings": [each.json(size=each.size, smallest=each.smallest) for each in self.findings],
            "not_shown": [each.json(reason=each.reason) for each in self.not_shown],
            "implied": [each.json(size=each.size, smallest=each.smallest) for each in self.implied],
            "holding": [each.json() for each in self.holding],
            "assumed": list(self.assumed),
            "checked": self.check(),
        }

    def page(self) -> Page:
        """The answer for a person, and a line for each guard that is in doubt."""
        head, *_ = str(self).splitlines()
        status, _, rest = head.partition(":")
        page = [line(span(f"{status:14} ", STYLES[self.status]), rest.strip())]
        if self.status != "contradictory":
            counts = ", ".join(f"{count} {name}" for name, count in self.counts.items())
            page.append(line(span(f"  guards   {counts}", "muted")))
        doubts: list[tuple[Judged, str]] = [(each, f"fails at {sizes_text(each.size)}") for each in self.findings]
        doubts += [(each, f"not shown: {each.reason}") for each in self.not_shown]
        rows = [
            [span(f"  {each.guard}", "fact"), span(doubt), span(each.condition.where, "line")] for each, doubt in doubts
        ]
        return [*page, *columns(rows), *[line(span(f"  assumed  {text}", "muted")) for text in self.assumed]]

    def __repr__(self) -> str:
        return f"Certificate({str(self).splitlines()[0]})"

    def _repr_html_(self) -> str:
        """The page, as notebooks show it."""
        return html_of_page(self.page())

    def __str__(self) -> str:
        total = len(self.holding) + len(self.findings) + len(self.not_shown) + len(self.implied)
        head = {
            "proven": f"proven: {total} guards hold for all sizes",
            "refuted": f"refuted: {len(self.findings)} of {total} guards can fail",
            "unknown": f"unknown: {len(self.not_shown)} of {total} guards were not shown to hold",
            "contradictory": f"contradictory: no sizes satisfy {', '.join(self.premises)}",
        }[self.status]
        rows = [*map(str, self.findings), *map(str, self.not_shown), *[f"with these: {each}" for each in self.implied]]
        return "\n".join([head, *[f"  {row}" for row in rows], *[f"  assumed: {text}" for text in self.assumed]])


def _verified(conflict: Contradiction) -> bool:
    proof = conflict.proof
    if not isinstance(proof, ProofStep):
        return False
    interner = proof.conclusion.interner
    return verify(proof, Prop.truth(interner, False), Prop.truth(interner, True), objection)


__all__ = ["Certificate", "Condition", "Conditions", "Finding", "NotShown", "Proven", "Status"]
