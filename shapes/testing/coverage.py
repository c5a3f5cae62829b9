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
    >>> report.leave_out(Call((Input((2**40,)),)), "the reference computes elements")
    >>> print(report.details().splitlines()[-1])
      1 call, with integers of 1099511627776 or more, not tested: the reference computes elements
"""

from __future__ import annotations

from dataclasses import dataclass, field

from shapes.testing.agreement import Sizes
from shapes.testing.calls import Call
from shapes.testing.directed.integers import places_of
from solver.styled_text import html_of_page, line, span


@dataclass
class RuleReport:
    """The findings about a rule that agrees with its operator.

    Attributes:
        accepted, refused: how many calls the operator accepted, and refused.
        left_out: the calls on which the operator was not asked: by reason, their number and the least of their largest
            integers.
        ranks, sizes, numbers: the ranks, sizes and other integers that occurred.
        conditions: each condition that the rule asked for, with the answers that occurred.
    """

    rule: str
    accepted: int = 0
    refused: int = 0
    ranks: set[int] = field(default_factory=set)
    sizes: set[int] = field(default_factory=set)
    numbers: set[int] = field(default_factory=set)
    conditions: dict[str, set[bool]] = field(default_factory=dict)
    left_out: dict[str, tuple[int, int]] = field(default_factory=dict)

    @property
    def calls(self) -> int:
        """The calls on which the rule and the operator were compared."""
        return self.accepted + self.refused

    @property
    def untested(self) -> int:
        """The number of calls on which the operator was not asked."""
        return sum([count for count, _ in self.left_out.values()])

    def leave_out(self, call: Call, reason: str) -> None:
        """Count a call on which the operator is not asked."""
        count, least = self.left_out.get(reason, (0, 0))
        largest = max([abs(place.value) for place in places_of(call)], default=0)
        self.left_out[reason] = count + 1, min(least, largest) if count else largest

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
            parts.append(f"{self.untested} not tested ({'; '.join(self.left_out)})")
        return f"{self.rule}: {', '.join(parts)}"

    def details(self) -> str:
        """A line for each condition of which one side occurred only, and for each reason to leave calls out."""
        one_sided = [(text, *answers) for text, answers in self.conditions.items() if len(answers) == 1]
        lines = [f"  {text}: only where it {'holds' if side else 'does not'}" for text, side in one_sided]
        for reason, (count, least) in self.left_out.items():
            larger = f", with integers of {least} or more," if least > 1 else ""
            lines.append(f"  {count} call{'s' * (count != 1)}{larger} not tested: {reason}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """The text and the details, as notebooks show them."""
        lines = [[span(str(self), "fact")], *[[span(each, "muted")] for each in self.details().splitlines()]]
        return html_of_page([line(*each) for each in lines])


reports: list[tuple[str, str]] = []
"""The text and the details of each check that passed; the plugin of pytest reads them."""


def told(report: RuleReport) -> RuleReport:
    """Keep the text of a report."""
    reports.append((str(report), report.details()))
    return report
