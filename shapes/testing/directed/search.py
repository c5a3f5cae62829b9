"""The order in which calls are tried: beginnings, then what a rule's questions lead to, ends and constants between.

    >>> from shapes.rules.registry import Rule
    >>> from shapes.testing.directed.search import Domain, directed
    >>> def halve(env, x):
    ...     return (x[0] // 2,) if x[0] > 1000 else (x[0],)
    >>> tried = []
    >>> for call in directed(Domain(Rule("halve", halve)), lambda call: tried.append(call) or True):
    ...     pass
    >>> [n for n in (1000, 1001, 2**31) if any(call.args[0] == (n,) for call in tried)]
    [1000, 1001, 2147483648]
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from shapes.rules.registry import Rule
from shapes.testing.calls import Call
from shapes.testing.directed.beginnings import beginnings
from shapes.testing.directed.integers import Place, places_of, structure_of, with_values
from shapes.testing.directed.questions import Run, asked, asked_together
from shapes.testing.directed.solving import neighbours
from shapes.testing.signatures import allows_negative, kinds_of, parameters_of
from solver.terms.prop import Prop

EDGES: Final = (0, 1, 2, 8, 2**31 - 1, 2**31, 2**32)
NEGATIVE: Final = (-1, -2)
DEEPEST: Final = 4
FROM_ONE: Final = 24
"""Calls that the questions of one run lead to."""
MODELLED: Final = 4
"""Calls on which a reference that computes sizes is asked for its own questions."""
STARTS: Final = 6
"""Accepted calls whose integers are moved to their ends, one at a time."""


@dataclass(frozen=True)
class Domain:
    """The calls that a rule may be given.

    Attributes:
        fixed: parameters whose strategies are given, so that no other value is tried.
        omitted: parameters that may be left out.
        constants: integers to try.
        model: the reference, where it computes sizes from a `Call`.
        begin: the first calls, where they are not made up.
        allows: says that a call makes for no large work; the others are asked nothing.
    """

    rule: Rule
    fixed: frozenset[str] = frozenset()
    omitted: frozenset[str] = frozenset()
    constants: tuple[int, ...] = ()
    dtypes: bool = False
    model: Callable[[Call], object] | None = None
    begin: Iterable[Call] | None = None
    allows: Callable[[Call], bool] = lambda call: True

    @property
    def numbers(self) -> set[str]:
        """The parameters whose integers are not axes, so that any other may stand for them."""
        return {name for name, kind in kinds_of(self.rule).items() if kind in ("int", "ints")} - self.fixed

    def parameter(self, place: Place) -> str:
        """The name of the parameter that an integer belongs to."""
        head = place.path[0]
        return head if isinstance(head, str) else self.rule.names[min(head, len(self.rule.names) - 1)]

    def range_of(self, place: Place) -> tuple[int, int | None]:
        """The plainest value at a place, and the least one; None where negative ones are meant as well."""
        if place.is_size:
            return 0, 0
        parameter = parameters_of(self.rule).get(self.parameter(place))
        if parameter is None:
            return 0, None
        default: object = parameter.default
        one = isinstance(default, int) and not isinstance(default, bool)
        plain = default if one and isinstance(default, int) else 0
        signed = allows_negative(parameter) or kinds_of(self.rule).get(parameter.name) == "dim"
        return plain, None if signed else min(plain, 1)

    def contains(self, call: Call) -> bool:
        """Return True if no integer of a call is below its least one."""
        ranges = [(place.value, self.range_of(place)[1]) for place in places_of(call)]
        return all(least is None or value >= least for value, least in ranges)

    def holds(self, call: Call, like: Call) -> bool:
        """Return True if a call, made from another, stays in the domain."""
        for place, old in zip(places_of(call), places_of(like)):
            if place.value == old.value:
                continue
            least = self.range_of(place)[1]
            if self.parameter(place) in self.fixed or (least is not None and place.value < least):
                return False
        return True


def directed(domain: Domain, accepted: Callable[[Call], bool]) -> Iterator[Call]:
    """Calls worth trying. `accepted` says, once a call was tried, whether the operator accepted it."""
    queue: list[tuple[int, int, Call]] = []
    order = itertools.count()
    structures: dict[str, int] = {}
    starts: list[Call] = []
    begun: set[str] = set()
    seen: set[str] = set()

    def visit(call: Call, depth: int) -> Iterator[Call]:
        key = repr(call)
        if key in seen:
            return
        seen.add(key)
        yield call
        structure = structure_of(call)
        good = accepted(call)
        met = structures.get(structure, 0)
        structures[structure] = met + 1
        if good and structure not in begun and len(starts) < STARTS:
            begun.add(structure)
            starts.append(call)
        rank = depth * 2 + (0 if good else 3) + min(met, 3)
        if depth < DEEPEST and domain.allows(call):
            heapq.heappush(queue, (rank, next(order), call))

    first = domain.begin if domain.begin is not None else itertools.islice(
        beginnings(domain.rule, omitted=domain.omitted, dtypes=domain.dtypes), 160)  # fmt: skip
    for call in first:
        yield from visit(call, 0)
    for call in _ends(domain, starts or [call for _, _, call in queue[:2]]):
        yield from visit(call, 1)
    reached: dict[str, int] = {}
    modelled = 0
    while queue:
        rank, _, call = heapq.heappop(queue)
        structure = structure_of(call)
        runs = [asked(domain.rule, call, numbers=domain.numbers)]
        if domain.model is not None and modelled < MODELLED and accepted(call):
            modelled += 1
            runs += asked_together(domain.rule, domain.model, call, numbers=domain.numbers)

        for kind, run in enumerate(runs):

            def was_reached(goal: Prop, structure: str = structure, kind: int = kind) -> bool:
                key = f"{kind} {structure} {goal}"
                reached[key] = reached.get(key, 0) + 1
                return reached[key] > 1

            for _, found in itertools.islice(neighbours(run, call, was_reached), FROM_ONE):
                if domain.holds(found, call):
                    yield from visit(found, rank // 2 + 1)


def _ends(domain: Domain, starts: list[Call]) -> Iterator[Call]:
    """Calls with one integer at an end, or at a constant of the code or beside it."""
    around = [value for constant in domain.constants for value in (constant, constant + 1, constant - 1)]
    moves = [_moves(domain, call, around) for call in starts]
    for round_ in itertools.zip_longest(*moves):
        yield from [call for call in round_ if call is not None]


def _moves(domain: Domain, call: Call, around: list[int]) -> Iterator[Call]:
    places = [place for place in places_of(call) if domain.parameter(place) not in domain.fixed]
    places = [place for place in places if place.is_size or domain.parameter(place) in domain.numbers]
    for value in (*around, *EDGES, *NEGATIVE):
        for place in places:
            least = domain.range_of(place)[1]
            if value != place.value and (least is None or value >= least):
                yield with_values(call, {place.path: value})


def run_of(domain: Domain, call: Call) -> Run:
    """The questions of a rule at a call."""
    return asked(domain.rule, call, numbers=domain.numbers)


