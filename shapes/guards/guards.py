"""Guards as people and compilers read them: the minimal set, a witness for each that is irredundant, and coverage.

    >>> from shapes import ShapeEnv
    >>> env = ShapeEnv(origin=lambda: None)
    >>> s = env.symbol("s", hint=128)
    >>> env.guard(s > 3), env.guard(s > 64)
    (True, True)
    >>> for guard in env.guards():                  # the first follows from the second
    ...     print(guard, "rejects", guard.rejects)
    s >= 65 rejects {'s': 64}

A guard may be dropped only because of ranges, given facts and other guards: never because of a run-time check, which
comes later.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from shapes.accepted import shown, whole_number
from shapes.environment.events import Assumed, Commitment, Declared, Deferred, Guarded, Specialized, within
from shapes.environment.questions import Questions, verdict_under
from shapes.errors import InvalidArgument, ShapeError, fact_place
from shapes.guards.components import connected_components
from shapes.guards.congruences import implied
from shapes.guards.rejection import Changed, rejected_alone
from shapes.origin import Origin
from shapes.size_names import places_of, with_places
from solver.decide.assume import assume
from solver.decide.verdict import Always, Depends, Verdict
from solver.knowledge.by_intervals import prove_by_intervals
from solver.knowledge.facts import Conflict, Facts, range_prop
from solver.knowledge.symbols import by_age
from solver.proofs.fact import Fact
from solver.styled_text import Page, columns, html_of_page, line, span
from solver.syntax.short_text import sizes_text
from solver.terms.digest import digest, joined, same
from solver.terms.expr import Atom, Expr
from solver.terms.interner import Interner
from solver.terms.prop import Prop


@dataclass(frozen=True, slots=True, eq=False)
class Guard:
    """One condition for the trace to be valid. Guards are equal that state the same, wherever they were asked, also in
    another process: symbols are compared by name.

    Attributes:
        prop: what must hold; `domain` is where it makes sense, which must hold too.
        origin: the line that asked.
        rejects: sizes that only this guard rejects; None where none were shown.
        places: the places of symbols, such as `x.shape[0]`.
    """

    prop: Prop
    domain: Prop
    origin: Origin | None
    rejects: Mapping[str, int] | None
    fact: Fact
    places: Mapping[str, str] = field(default_factory=dict)

    @staticmethod
    def of(fact: Fact, rejects: Mapping[str, int] | None = None, places: Mapping[str, str] | None = None) -> Guard:
        """A fact that a check tests."""
        if not isinstance(fact, Fact):
            raise InvalidArgument(f"Guard.of: fact={shown(fact)}: expected a fact, such as `env.known.records()` has")
        origin = fact.origin if isinstance(fact.origin, Origin) else None
        return Guard(fact.prop, fact.domain, origin, rejects, fact, places or {})

    @property
    def text(self) -> str:
        """The text as written; a size that is named after its place is shown as `x.shape[0]`."""
        return self.with_places(self.fact.text)

    def with_places(self, text: str) -> str:
        """A text about its symbols, with their places."""
        return with_places(text, self.places)

    @property
    def fingerprint(self) -> str:
        """A key for caches that other processes read: a digest of what it states, symbols by name."""
        return joined(self.fact.kind.encode(), digest(self.domain), digest(self.prop)).hex()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Guard):
            return NotImplemented
        kinds = self.fact.kind == other.fact.kind
        return kinds and same(self.prop, other.prop) and same(self.domain, other.domain)

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def _repr_html_(self) -> str:
        """The guard with its line and what it alone rejects, as notebooks show it."""
        return html_of_page(guards_page([self]))

    def __repr__(self) -> str:
        return f"Guard({self.text})"

    def __copy__(self) -> Guard:
        return self

    def __deepcopy__(self, memo: object) -> Guard:
        return self

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class RuntimeAssert:
    """A check that runs with the program, as soon as its symbols are known; `message` is the user's, `error` what
    it raises."""

    prop: Prop
    domain: Prop
    text: str
    message: str
    origin: Origin | None
    symbols: tuple[str, ...]
    fact: Fact
    error: type[Exception] = RuntimeError

    def __str__(self) -> str:
        return self.text + (f": {self.message}" if self.message else "")

    def _repr_html_(self) -> str:
        """The check with its line, as notebooks show it."""
        place = span("" if self.origin is None else f"[{self.origin}]   ", "line")
        return html_of_page([line(place, span(self.text, "fact"), f"   {self.message}" if self.message else "")])


@dataclass(frozen=True, slots=True)
class Specialization:
    """A size that became a constant, and the facts that made it one, in order; `why` where Python concretized it."""

    text: str
    value: int
    because: tuple[Fact, ...]
    why: str
    places: Mapping[str, str] = field(default_factory=dict)

    @property
    def origin(self) -> Origin | None:
        """The line that completed it."""
        place = self.because[-1].origin if self.because else None
        return place if isinstance(place, Origin) else None

    def _repr_html_(self) -> str:
        """The constant and the facts that made it one, as notebooks show it."""
        head, *facts = str(self).splitlines()
        return html_of_page([line(span(head, "fact")), *[line(span(fact, "muted")) for fact in facts]])

    def __str__(self) -> str:
        head = f"{self.text} = {self.value}" + (f": {self.why}" if self.why else "")
        return "\n".join([head, *[f"  {self.shown(fact)}  {fact_place(fact)}".rstrip() for fact in self.because]])

    def shown(self, fact: Fact) -> str:
        """The text of a fact, with the places of sizes."""
        return with_places(fact.text, self.places)


def guards_page(guards: Sequence[Guard], *, file: str | None = None) -> Page:
    """The guards, a line each, with sizes that only this one rejects. Of a place in `file` the line number suffices."""
    if not guards:
        return [line(span("no guards", "muted"))]
    rows = []
    for guard in guards:
        where = guard.origin.line if guard.origin is not None and guard.origin.file == file else guard.origin
        alone = f"it alone rejects {guard.with_places(sizes_text(guard.rejects))}" if guard.rejects is not None else ""
        number = span(f"[{where}]" if where else "", "line")
        rows.append([number, span(guard.text, "fact"), span(alone, "muted")])
    return columns(rows)


def minimal_guards(events: Sequence[Commitment], interner: Interner, *, solvers: bool) -> tuple[Guard, ...]:
    """The guards none of which follows from the others, with what each alone rejects.

    Congruences of one expression are sorted out by arithmetic. Most of the rest are seen to be needed by sizes beside
    the hints. Of the others, half are tested under the other half, recursively, so that n guards that share symbols
    cost n log n assumptions. Guards that share none, not even through others, are independent.
    """
    committed = [event.fact for event in events if isinstance(event, Guarded | Specialized)]
    guards = [fact for fact in committed if fact.kind == "guard"]
    if not guards:
        return ()
    inputs = _inputs(events)
    given = _given(events, inputs)
    conditions = [event.fact.prop for event in inputs.values()] + [within(fact) for fact in given]
    hints = {atom: event.hint for atom, event in inputs.items() if event.hint is not None}
    redundant = implied([within(fact) for fact in guards], hints)
    guards = [fact for index, fact in enumerate(guards) if index not in redundant]
    alone = rejected_alone(hints, [within(fact) for fact in guards], conditions)
    needed: dict[int, Mapping[Atom, int] | None] = {
        index: sizes.changed for index, sizes in enumerate(alone) if sizes is not None
    }
    accepted = bool(needed)  # by the hints
    usual = {atom: _some_value(event) for atom, event in inputs.items()}
    declared = {atom: event for event in events if isinstance(event, Declared) for atom in event.symbol.symbols}
    ages = {atom: age for age, atom in enumerate(declared)}
    for component in connected_components([within(fact).symbols for fact in [*guards, *given]]):
        doubtful = [index for index in component if index < len(guards) and index not in needed]
        if not doubtful:
            continue
        assumed = [given[index - len(guards)] for index in component if index >= len(guards)]
        others = [guards[index] for index in component if index in needed]
        tied = sorted(
            _symbols([*assumed, *others, *[guards[index] for index in doubtful]]) & ages.keys(), key=ages.__getitem__
        )
        known = entry_facts([declared[atom] for atom in tied], assumed, interner)
        found = _needed_under(extended(known, others), guards, doubtful, solvers=solvers)
        needed |= found
        if not accepted:
            witness = extended(known, [guards[index] for index in found]).witness()
            usual = {} if witness is None or not usual else usual | witness
    sizes = {event.name: usual[atom] for atom, event in inputs.items() if usual}

    def rejected(changed: Mapping[Atom, int] | None) -> Mapping[str, int] | None:
        if changed is None or not sizes:
            return None
        return Changed(sizes, {inputs[atom].name: value for atom, value in changed.items() if atom in inputs})

    places = places_of(inputs.values())
    return tuple([Guard.of(guards[index], rejected(needed[index]), places) for index in sorted(needed)])


def _needed_under(
    known: Facts, guards: Sequence[Fact], rest: Sequence[int], *, solvers: bool
) -> dict[int, Mapping[Atom, int] | None]:
    """The guards that are needed under what is known, each with sizes that it alone rejects, where some were found."""
    if len(rest) > 1:
        middle = len(rest) // 2
        others = extended(known, [guards[index] for index in rest[middle:]])
        first = _needed_under(others, guards, rest[:middle], solvers=solvers)
        others = extended(known, [guards[index] for index in first])
        return first | _needed_under(others, guards, rest[middle:], solvers=solvers)
    (index,) = rest
    both = within(guards[index])
    if prove_by_intervals(known, known.canonical_prop(both)[0]) is not None:
        return {}
    true = Prop.truth(known.interner, True)
    _, rejected = known.samples.classify(both, true)
    if rejected is None and isinstance(known.suppose(both.negation), Conflict):
        return {}
    verdict = verdict_under(known, both, true, solvers=solvers)
    if isinstance(verdict, Always):
        return {}
    return {index: verdict.found[1] if isinstance(verdict, Depends) else None}


def _inputs(events: Iterable[Commitment]) -> dict[Atom, Declared]:
    declared = [event for event in events if isinstance(event, Declared) and event.kind == "backed"]
    return {atom: event for event in declared for atom in event.symbol.symbols}


def _some_value(declared: Declared) -> int:
    """A value in the range of a symbol that no guard is about."""
    return next((end for end in (declared.hint, declared.lo, declared.hi) if end is not None), 0)


def extended(known: Facts, more: Iterable[Fact]) -> Facts:
    """The facts with some that are known to be consistent with them."""
    for fact in more:
        larger = assume(known, fact)
        if not isinstance(larger, Conflict):
            known = larger
    return known


def entry_facts(declared: Iterable[Declared], given: Iterable[Fact], interner: Interner) -> Facts:
    """The facts known before any guard: the ranges of these symbols, and given facts."""
    known = Facts.empty(interner)
    for event in declared:
        larger = known.declare(event.symbol, event.lo, event.hi, event.fact, hint=event.hint)
        assert not isinstance(larger, Conflict)
        known = larger
    return extended(known, given)


def _given(events: Sequence[Commitment], inputs: Container[Atom]) -> list[Fact]:
    """The facts about inputs that hold before any guard, besides their ranges."""
    given = [event.fact for event in events if isinstance(event, Assumed) and event.fact.kind in ("given", "range")]
    return [fact for fact in given if all(atom in inputs for atom in within(fact).symbols)]


def preconditions(events: Sequence[Commitment]) -> tuple[Guard, ...]:
    """The caller's assumptions."""
    facts = [event.fact for event in events if isinstance(event, Assumed) and event.fact.kind == "given"]
    places = _places(events)
    return tuple([Guard.of(fact, None, places) for fact in facts])


def _places(events: Iterable[Commitment]) -> dict[str, str]:
    """The places of the symbols that are named after them."""
    return places_of([event for event in events if isinstance(event, Declared)])


def runtime_asserts(events: Sequence[Commitment]) -> tuple[RuntimeAssert, ...]:
    """The checks that run with the program, in order."""
    found, places = [], _places(events)
    for event in events:
        if isinstance(event, Deferred):
            fact = event.fact
            symbols = tuple([atom.name for atom in sorted(within(fact).symbols, key=by_age)])
            origin = fact.origin if isinstance(fact.origin, Origin) else None
            rest = (event.message, origin, symbols, fact, event.error)
            text = with_places(fact.text, places)
            found.append(RuntimeAssert(fact.prop, fact.domain, text, *rest))
    return tuple(found)


def specializations(questions: Questions) -> tuple[Specialization, ...]:
    """The sizes that became constants, in the order in which they did."""
    ledger = questions.ledger
    places = ledger.table.places
    reasons = {event.expr: event for event in ledger.commitments if isinstance(event, Specialized)}
    sizes: dict[Expr, None] = {}
    for atom, declared in ledger.table.symbols.items():
        lo, hi = ledger.facts.bounds(atom.expr)
        if lo is not None and lo == hi and declared.lo != declared.hi:
            sizes[atom.expr] = None
    sizes |= dict.fromkeys(reasons)
    found = []
    for expr in sizes:
        value = ledger.facts.bounds(expr)[0]
        if value is None:
            value = reasons[expr].value
        verdict = questions.answer(ledger.interner.eq(expr, value), questions.true)
        core = verdict.core if isinstance(verdict, Always) else (reasons[expr].fact,) if expr in reasons else ()
        because = tuple(sorted(core, key=lambda fact: fact.serial))
        why = reasons[expr].why if expr in reasons else ""
        found.append(Specialization(with_places(str(expr), places), value, because, why, places))
    return tuple(sorted(found, key=lambda each: each.because[-1].serial if each.because else -1))


def requirements(
    events: Sequence[Commitment],
    guards: Sequence[Guard],
    sourced: set[str],
    *,
    trusted: bool,
    known: Mapping[str, tuple[int | None, int | None]] = {},
) -> list[Fact]:
    """The conditions that a compiled check tests: ranges of the inputs that it reads, assumptions about inputs, the
    guards. Of a range it leaves out what is `known` of every input that will ever be seen.
    """
    declared = {atom: event for event in events if isinstance(event, Declared) for atom in event.symbol.symbols}
    tested = [guard.fact for guard in guards]
    if not trusted:
        assumptions = [guard.fact for guard in preconditions(events)]
        tested = [
            fact for fact in assumptions if all(declared[atom].kind == "backed" for atom in within(fact).symbols)
        ] + tested
    needed = _symbols(tested)
    ranges = [
        Fact(prop, fact.domain, "range", fact.text, fact.origin, fact.line, fact.serial)
        for atom, event in declared.items()
        if event.kind == "backed" and (event.name in sourced or atom in needed)
        for fact, prop in [(event.fact, _tested_range(event, known.get(event.name)))]
    ]
    return [each for each in ranges + tested if each.prop.kind != "true" or each.domain.kind != "true"]


def _tested_range(declared: Declared, known: tuple[int | None, int | None] | None) -> Prop:
    """The tests of the range of an input: one comparison where it is one value."""
    lo, hi = declared.lo, declared.hi
    if lo is not None and lo == hi:
        return Prop.eq(declared.symbol, lo)
    if known is None:
        return declared.fact.prop
    least, most = known
    return range_prop(
        declared.symbol,
        None if lo is not None and least is not None and lo <= least else lo,
        None if hi is not None and most is not None and hi >= most else hi,
    )


def _limits(name: str, bounds: object) -> tuple[int | None, int | None]:
    """The least and the greatest value that a box has for a symbol."""
    expected = "a size, or a pair of the least and the greatest one (None for unbounded)"
    if not isinstance(bounds, tuple | list):
        size = whole_number(name, bounds, expected)
        return size, size
    if len(bounds) != 2:
        raise ShapeError(f"{name}={shown(bounds)}: expected {expected}")
    low, high = [None if end is None else whole_number(name, end, expected) for end in bounds]
    return low, high


def certify(
    questions: Questions,
    guards: Sequence[Guard],
    box: Mapping[str, int | tuple[int | None, int | None]],
    *,
    trusted: bool,
) -> Verdict:
    """Decide whether ranges, given facts and guards accept every size in the box. Run-time checks are not judged."""
    table, interner = questions.ledger.table, questions.ledger.interner
    limits: dict[Atom, tuple[int | None, int | None]] = {}
    for name, bounds in box.items():
        if name not in table.names:
            raise ShapeError(f"{name}={bounds!r}: no such symbol; there are {', '.join(table.names)}")
        (atom,) = table.names[name].symbols
        limits[atom] = _limits(name, bounds)
    given = [guard.fact for guard in preconditions(questions.ledger.commitments)]
    given = [fact for fact in given if all(table.symbols[atom].kind == "backed" for atom in within(fact).symbols)]
    goal = [within(guard.fact) for guard in guards]
    if not trusted:
        goal = [within(fact) for fact in given] + goal
    wanted = set().union(limits, *[prop.symbols for prop in goal], _symbols(given))
    known = Facts.empty(interner)
    ranges = []
    for atom, declared in table.symbols.items():
        if atom not in wanted:
            continue
        lo, hi = limits.get(atom, (declared.lo, declared.hi))
        if lo is not None and hi is not None and lo > hi:
            raise ShapeError(f"{declared.name}=({lo}, {hi}): no size lies between")
        prop = range_prop(atom.expr, lo, hi)
        fact = Fact(prop, interner.true, "range", None, None, None, known.count)
        larger = known.declare(atom.expr, lo, hi, fact)
        assert not isinstance(larger, Conflict)
        known = larger
        if atom in limits:
            ranges.append(range_prop(atom.expr, declared.lo, declared.hi))
    if trusted:
        for fact in given:
            larger = assume(known, fact)
            if isinstance(larger, Conflict):
                raise ShapeError(f"no size in the box satisfies {', '.join([one.text for one in larger.core])}")
            known = larger
    return verdict_under(known, interner.conjunction([*ranges, *goal]), interner.true, solvers=questions.solvers)


def _symbols(facts: Iterable[Fact]) -> set[Atom]:
    return set().union(*[within(fact).symbols for fact in facts])
