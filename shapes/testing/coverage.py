"""The coverage of a check that passed: calls, ranks, sizes, and the sides of each condition that the rule asks for.

    >>> from shapes.testing.calls import Call, Input
    >>> from shapes.testing.coverage import RuleReport
    >>> report = RuleReport("halve")
    >>> report.count(Call((Input((4, 2**31)),)), ((2, 2**31),))
    >>> report.count(Call((Input((3,)),)), None)
    >>> report.condition("x[0] % 2 == 0", True)
    >>> print(report)
    halve: 2 calls (1 accepted, 1 refused), ranks 1..2, sizes 3..2147483648, both sides of 0 of 1 conditions
    >>> print(report.details())
      x[0] % 2 == 0: only where it holds
"""

from __future__ import annotations

from dataclasses import dataclass, field

from shapes.testing.agreement import Sizes
from shapes.testing.calls import Call
from shapes.testing.directed.integers import places_of


@dataclass
class RuleReport:
    """The findings about a rule that agrees with its operator.

    Attributes:
        accepted, refused: how many calls the operator accepted, and refused.
        untested: how many calls this machine cannot make, or the reference does not model.
        ranks, sizes, numbers: the ranks, sizes and other integers that occurred.
        conditions: each condition that the rule asked for, with the answers that occurred.
    """

    rule: str
    accepted: int = 0
    refused: int = 0
    untested: int = 0
    ranks: set[int] = field(default_factory=set)
    sizes: set[int] = field(default_factory=set)
    numbers: set[int] = field(default_factory=set)
    conditions: dict[str, set[bool]] = field(default_factory=dict)

    @property
    def calls(self) -> int:
        """The calls on which the rule and the operator were compared."""
        return self.accepted + self.refused

    def count(self, call: Call, expected: Sizes | None) -> None:
        """Count a call on which they agree."""
        if expected is None:
            self.refused += 1
        else:
            self.accepted += 1
        self.ranks.update([len(tensor) for tensor in call.inputs()])
        for place in places_of(call):
            (self.sizes if place.is_size else self.numbers).add(place.value)

    def condition(self, text: str, answer: bool) -> None:
        """Note a condition, and an answer to it that occurred."""
        self.conditions.setdefault(text, set()).add(answer)

    def __str__(self) -> str:
        parts = [f"{self.calls} calls ({self.accepted} accepted, {self.refused} refused)"]
        for word, values in (("ranks", self.ranks), ("sizes", self.sizes), ("numbers", self.numbers)):
            if values:
                parts.append(f"{word} {min(values)}..{max(values)}")
        both = sum([len(answers) == 2 for answers in self.conditions.values()])
        parts.append(f"both sides of {both} of {len(self.conditions)} conditions")
        if self.untested:
            parts.append(f"{self.untested} not tested")
        return f"{self.rule}: {', '.join(parts)}"

    def details(self) -> str:
        """A line for each condition of which one side occurred only."""
        one_sided = [(text, *answers) for text, answers in self.conditions.items() if len(answers) == 1]
        return "\n".join([f"  {text}: only where it {'holds' if side else 'does not'}" for text, side in one_sided])


reports: list[tuple[str, str]] = []
"""The text and the details of each check that passed; the plugin of pytest reads them."""


def told(report: RuleReport) -> RuleReport:
    """Keep the text of a report."""
    reports.append((str(report), report.details()))
    return report
