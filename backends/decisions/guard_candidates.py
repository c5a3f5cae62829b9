"""Guard candidates: guards that would make kernels faster, with what they save and cost.

    >>> from solver.terms.interner import Interner
    >>> terms = Interner()
    >>> question = terms.eq(terms.symbol("s"), 24)
    >>> print(GuardCandidate(question, ("constant",), saves=3e-4, calls=1000, costs=0.24, origin=""))
    s == 24: saves 300 us a call, 300 ms in all, costs 240 ms: pays
"""

from __future__ import annotations

from dataclasses import dataclass

from solver.terms.prop import Prop


@dataclass(frozen=True, slots=True)
class GuardCandidate:
    """A guard that could be added.

    Attributes:
        question: what it would say.
        kinds: of the decisions that would rest on it.
        saves: seconds a call.
        calls: how many are expected.
        costs: seconds in all, as far as they are to be expected.
        origin: the line of the program that saves most.
    """

    question: Prop
    kinds: tuple[str, ...]
    saves: float
    calls: float
    costs: float
    origin: str

    @property
    def pays(self) -> bool:
        return self.saves * self.calls > self.costs

    @property
    def price(self) -> str:
        """The saving and the cost, as text for people."""
        return f"saves {_span(self.saves)} a call, {_span(self.saves * self.calls)} in all, costs {_span(self.costs)}"

    def __str__(self) -> str:
        return f"{self.question}: {self.price}: {'pays' if self.pays else 'does not pay'}"


def _span(seconds: float) -> str:
    for unit, factor in (("s", 1), ("ms", 1e3), ("us", 1e6)):
        if seconds * factor >= 1:
            return f"{seconds * factor:,.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"
