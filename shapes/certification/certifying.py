"""Certification of guards over a box of sizes: a proof for each guard, or the least sizes at which it fails.

    >>> from shapes.certification.certificates import Condition, Conditions
    >>> guards = Conditions([Condition("s % 8 == 0"), Condition("s <= 4096"), Condition("x.shape[0] == 1")])
    >>> found = certify([guards], {"s": (16, 8192, 16), "x.shape[0]": 1})
    >>> found.status, [(finding.guard, finding.size) for finding in found.findings]
    ('refuted', [('s <= 4096', {'s': 4112})])
    >>> certify([guards], {"s": (16, 4096, 16), "x.shape[0]": 1}).proven
    True

Whoever drops guards, or wants no recompilation, asks beforehand. What the caller says of the sizes are facts, and every
guard is a question about them: proven, refuted by sizes (the smallest, in the order in which the sizes are given; that
nothing smaller fails is proven as well), or not shown. A guard that is not understood, or stays open, is never counted
as one that holds. Where several variants stand beside each other, a guard holds also where another variant accepts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from shapes.accepted import did_you_mean, shown, whole_number
from shapes.certification.certificates import Certificate, Condition, Conditions, Finding, NotShown, Proven, Status
from shapes.env import ShapeEnv
from shapes.environment.symbols import free_name
from shapes.errors import Contradiction, ShapeError
from shapes.size_names import canonical, is_layout, is_size, names_in, renamed
from solver.decide.assume import assume
from solver.decide.ladder import decide
from solver.decide.verdict import Always, Depends, GaveUp, Never, Verdict
from solver.knowledge.facts import Conflict, Facts
from solver.proofs.checker import verify_assignment
from solver.proofs.fact import Fact
from solver.terms.expr import Atom, Expr
from solver.terms.prop import Prop

Range = int | Sequence[int | None]
"""A size, (lo, hi), or (lo, hi, what it is a multiple of); None is unbounded."""

NO_SIZES: Final = (".dtype", ".device", ".layout", ".requires_grad")
"""The ends of names that are attributes of tensors, and no sizes."""
MOST_MINIMIZED: Final = 8
"""The number of sizes of a finding that are minimized; the others stay as they were found."""
QUESTIONS: Final = 200
"""The limit of the cost of each finding."""


def certify(
    variants: Sequence[Conditions],
    sizes: Mapping[str, Range],
    facts: Sequence[str] = (),
    *,
    alternatives: bool = True,
    solvers: bool = True,
) -> Certificate:
    """Decide whether every guard holds for all sizes in these ranges that satisfy the facts.

    A size without a range is any size from 0 on. With `alternatives`, a guard need not hold where
    another of the variants accepts; without, each variant must do alone.

    Raises:
        ShapeError: a range that is none, or of a size that the guards do not know.
    """
    return Judgement(variants, sizes, facts, solvers=solvers).certificate(alternatives=alternatives)


class Judgement:
    """Guards over one set of symbols, and what the caller says about these."""

    def __init__(
        self, variants: Sequence[Conditions], sizes: Mapping[str, Range], facts: Sequence[str], *, solvers: bool
    ) -> None:
        self.variants = variants
        self.solvers = solvers
        self.env = ShapeEnv(origin=lambda: None, solvers=solvers)
        self._symbols: dict[str, str] = {}
        """The symbol of each size, by canonical name."""
        self._integers = frozenset().union(*[each.integers for each in variants])
        self._said = (sizes, facts)
        self.spoken = self._declared(sizes, facts)

    def _declared(self, sizes: Mapping[str, Range], facts: Sequence[str]) -> set[str]:
        """Declare the symbols: of ranges first, then of facts and guards. Gives those that the caller speaks of."""
        if not isinstance(sizes, Mapping):
            raise ShapeError(f"sizes={shown(sizes)}: expected a range for each size, as in {{'x.shape[0]': (1, 64)}}")
        for name in sizes:
            if not isinstance(name, str):
                raise ShapeError(f"sizes: {shown(name)} is not the name of a size, such as 'x.shape[0]'")
        for text in facts:
            if not isinstance(text, str):
                raise ShapeError(f"facts: {shown(text)} is not a proposition as text, such as 'x.shape[0] % 8 == 0'")
        spoken = {canonical(name): limits(name, given) for name, given in sizes.items()}
        bounds = {canonical(name): known for each in self.variants for name, known in each.bounds.items()}
        known = list(dict.fromkeys([name for each in self.variants for name in _names_of(each)]))
        mentioned = [name for text in facts for name in names_in(text)]
        self._check_known([*spoken, *mentioned], known)
        for name in dict.fromkeys([*spoken, *mentioned, *known]):
            least = None if name in self._integers or not (is_size(name) or is_layout(name)) else 0
            lo, hi, _ = spoken.get(name, (*bounds.get(name, (least, None)), 1))
            symbol = free_name(name, self.env.names)
            self._symbols[name] = symbol
            self.env.symbol(symbol, lo, hi)
        return {*spoken, *mentioned}

    def _check_known(self, names: Sequence[str], known: Sequence[str]) -> None:
        """Check that there are such sizes, where it is known which there are."""
        inputs = [each.inputs for each in self.variants if each.inputs is not None]
        if len(inputs) < len(self.variants):
            return
        among = sorted({*known, *[name for each in inputs for name in each]})
        for name in names:
            if name not in among:
                listed = ", ".join(among[:12]) + (", ..." if len(among) > 12 else "")
                raise ShapeError(f"{name!r}: there is no such size; there are {listed}{did_you_mean(name, among)}")

    def shown(self, text: str) -> str:
        """A text over the symbols, as the program names the sizes."""
        names = {symbol: name for name, symbol in self._symbols.items()}
        return renamed(text, lambda name: names.get(name, name))

    # ------------------------------------------------------------------ what the caller says

    def certificate(self, *, alternatives: bool) -> Certificate:
        try:
            self._assume()
            witness = self.env.check_consistent()
        except Contradiction as error:
            core = tuple([self.shown(fact.text) for fact in error.core])
            return Certificate("contradictory", premises=core, conflict=error)
        premises = self._premises()
        assumed, judged = self._divided(alternatives=alternatives)
        holding: list[Proven] = []
        findings: list[Finding] = []
        not_shown: list[NotShown] = []
        for condition, text, goal in judged:
            result = self._judged(condition, text, goal)
            match result:
                case Finding():
                    findings.append(result)
                case Proven() if witness is not None:
                    holding.append(result)
                case Proven():
                    not_shown.append(NotShown(condition, text, "no sizes were found that satisfy what is given"))
                case _:
                    not_shown.append(result)
        status: Status = "refuted" if findings else "unknown" if not_shown else "proven"
        kept, implied = self._irredundant(findings)
        return Certificate(
            status, tuple(holding), tuple(kept), tuple(not_shown), tuple(implied), tuple(assumed), premises
        )

    def _irredundant(self, findings: Sequence[Finding]) -> tuple[list[Finding], list[Finding]]:
        """The findings, and apart from them those of derived guards that fail only where another one does."""
        kept = [each for each in findings if not each.condition.derived]
        implied: list[Finding] = []
        for each in findings:
            if each.condition.derived:
                # where all others hold, does it?
                others = self.env.interner.conjunction([other.goal for other in kept]).negation
                claim = self.env.interner.disjunction([others, each.goal])
                verdict = decide(self.env.known, claim, effort="default")
                (implied if isinstance(verdict, Always) else kept).append(each)
        order = {id(each): place for place, each in enumerate(findings)}
        return sorted(kept, key=lambda each: order[id(each)]), implied

    def _premises(self) -> tuple[str, ...]:
        """The assumptions of the caller, in order."""
        spoken = {self._symbols[name] for name in self.spoken}
        facts = [
            fact
            for fact in self.env.known.records()
            if fact.kind != "range" or not spoken.isdisjoint([atom.name for atom in fact.prop.symbols])
        ]
        return tuple([self.shown(fact.text) for fact in reversed(facts)])

    def _assume(self) -> None:
        sizes, facts = self._said
        for name, given in sizes.items():
            multiple = limits(name, given)[2]
            if multiple != 1:
                self.env.assume(f"{self._symbols[canonical(name)]} % {multiple} == 0")
        for text in facts:
            self.env.assume(self._over_symbols(text, {}))

    # ------------------------------------------------------------------ the guards

    def _divided(self, *, alternatives: bool) -> tuple[list[str], list[tuple[Condition, str, Prop | str]]]:
        """The assumptions and the goals: each guard with its text and its goal, or the reason why there is none."""
        assumed: dict[str, None] = {}
        read: list[list[tuple[Condition, str, Prop | str]]] = []
        relied: list[set[str]] = []
        common = self._static_everywhere()
        for variant in self.variants:
            assumed |= dict.fromkeys(variant.assumed)
            here: list[tuple[Condition, str, Prop | str]] = []
            besides: set[str] = set(variant.assumed)
            state = set(variant.state)
            for condition in variant.conditions:
                text = text_of(condition, variant)
                names = names_in(text)
                if any(map(is_layout, names)) or (
                    condition.static and text in common and self.spoken.isdisjoint(names)
                ):
                    besides.add(text)
                    continue
                here.append((condition, text, condition.fault or self._prop(text)))
            assumed |= dict.fromkeys(sorted(besides))
            read.append(here)
            # a summary in `assumed` says less than the guards themselves
            relied.append(besides - set(variant.assumed) | state if state else besides)
        asked: dict[Prop | str, tuple[Condition, str, Prop | str]] = {}
        remaining = self._not_subsumed(read, relied) if alternatives else range(len(read))
        for place in remaining:
            here = read[place]
            others = [
                self.env.interner.conjunction([prop for _, _, prop in there if isinstance(prop, Prop)])
                for other, there in enumerate(read)
                if alternatives and other in remaining and self._stands_in(other, place, relied) and _all_read(there)
            ]
            for condition, text, prop in here:
                goal = self.env.interner.disjunction([prop, *others]) if isinstance(prop, Prop) else prop
                key = goal if isinstance(goal, Prop) else text
                if key not in asked or (asked[key][0].origin is None and condition.origin is not None):
                    asked[key] = (condition, text, goal)
        return list(assumed), list(asked.values())

    def _stands_in(self, other: int, place: int, relied: Sequence[set[str]]) -> bool:
        """Return True if one variant may answer what another one does not accept."""
        same = self.variants[other].group == self.variants[place].group
        return other != place and same and relied[other] <= relied[place]

    def _not_subsumed(
        self, read: Sequence[list[tuple[Condition, str, Prop | str]]], relied: Sequence[set[str]]
    ) -> list[int]:
        """The irredundant variants: each accepts sizes that no other one does."""
        interner = self.env.interner
        accepted = [interner.conjunction([prop for _, _, prop in here if isinstance(prop, Prop)]) for here in read]
        left = list(range(len(read)))
        for place in range(len(read)):
            for other in left:
                if not (self._stands_in(other, place, relied) and _all_read(read[other]) and _all_read(read[place])):
                    continue
                claim = interner.disjunction([accepted[place].negation, accepted[other]])
                if isinstance(decide(self.env.known, claim, effort="default"), Always):
                    left.remove(place)
                    break
        return left

    def _static_everywhere(self) -> set[str]:
        found = [{text_of(each, variant) for each in variant.conditions if each.static} for variant in self.variants]
        return set.intersection(*found) if found else set()

    def _over_symbols(self, text: str, names: Mapping[str, str]) -> str:
        def symbol(name: str) -> str:
            return self._symbols.get(names.get(name, name), name)

        return renamed(text, symbol)

    def _prop(self, text: str) -> Prop | str:
        """The guard together with its domain; or the reason why it cannot be read."""
        for name in names_in(text):
            if name.startswith("torch.") or name.endswith(NO_SIZES):
                return f"not understood: `{name}` is no size"
        try:
            prop, domain = self.env.parse(self._over_symbols(text, {}))
        except ShapeError as error:
            return f"not understood: {str(error).splitlines()[0]}"
        return self.env.interner.conjunction([domain, prop])

    def _judged(self, condition: Condition, text: str, goal: Prop | str) -> Proven | Finding | NotShown:
        if isinstance(goal, str):
            return NotShown(condition, text, goal)
        verdict = self._decided(self.env.known, goal)
        match verdict:
            case Always():
                return Proven(condition, text, verdict)
            case GaveUp(reason=reason):
                return NotShown(condition, text, reason)
        return self._finding(condition, text, goal, verdict)

    def _decided(self, facts: Facts, goal: Prop) -> Verdict:
        verdict = decide(facts, goal, effort="default")
        if isinstance(verdict, GaveUp) and self.solvers:
            verdict = decide(facts, goal, effort="thorough", solvers=True)
        return verdict

    # ------------------------------------------------------------------ the smallest sizes

    def _finding(self, condition: Condition, text: str, goal: Prop, verdict: Depends | Never) -> Finding | NotShown:
        """The guard with the least sizes at which it fails."""
        facts = self.env.known
        failing = given(facts, goal.negation)
        values = verdict.false_values if isinstance(verdict, Depends) else None
        smallest = False
        if isinstance(failing, Facts):
            values = values or failing.witness() or facts.witness()
            if values is not None:
                values, smallest = self._minimized(failing, goal, dict(values))
        if values is None or not verify_assignment(values, facts.last) or goal.evaluate(values) is not False:
            return NotShown(condition, text, "it fails wherever it was looked at, but no sizes were found")
        symbols = {symbol: name for name, symbol in self._symbols.items()}
        about = {atom for atom in goal.symbols if atom in self.env.symbols}
        sizes = {symbols[declared.name]: values[atom] for atom, declared in self.env.symbols.items() if atom in about}
        return Finding(condition, text, sizes, smallest, goal, values, facts)

    def _minimized(self, failing: Facts, goal: Prop, values: dict[Atom, int]) -> tuple[dict[Atom, int], bool]:
        """The least of each size of the goal, one after the other; and whether that they are is proven."""
        left = QUESTIONS
        atoms = [atom for atom in self.env.symbols if atom in goal.symbols]
        interner = self.env.interner
        smallest = len(atoms) <= MOST_MINIMIZED
        for atom in atoms[:MOST_MINIMIZED]:
            size: Expr = atom.expr
            lo, _ = failing.bounds(size)
            if lo is None:
                # no integer is the smallest
                smallest = False
                lo = values[atom]
            middle = lo
            while lo < values[atom]:
                left -= 1
                if left < 0:
                    return values, False
                verdict = self._decided(failing, interner.gt(size, middle))
                if isinstance(verdict, Always):
                    lo = middle + 1
                else:
                    below = given(failing, interner.le(size, middle))
                    found = verdict.false_values if isinstance(verdict, Depends) else witness_of(below)
                    if found is None:
                        smallest = False
                        break
                    values = dict(found)
                middle = (lo + values[atom]) // 2
            fixed = given(failing, interner.eq(size, values[atom]))
            if isinstance(fixed, Conflict):
                return values, False
            failing = fixed
        return values, smallest


def text_of(condition: Condition, variant: Conditions) -> str:
    """A guard over the canonical names of sizes."""
    return renamed(condition.text, lambda name: variant.names.get(name, name))


def given(facts: Facts, prop: Prop) -> Facts | Conflict:
    """The facts with one more."""
    return assume(facts, Fact(prop, Prop.truth(facts.interner, True), "given", None, None, None, facts.count))


def witness_of(facts: Facts | Conflict) -> dict[Atom, int] | None:
    return None if isinstance(facts, Conflict) else facts.witness()


def _all_read(conditions: Sequence[tuple[Condition, str, Prop | str]]) -> bool:
    return all(isinstance(goal, Prop) for _, _, goal in conditions)


def _names_of(variant: Conditions) -> Iterator[str]:
    for condition in variant.conditions:
        if not condition.fault:
            yield from [variant.names.get(name, name) for name in names_in(condition.text)]
    yield from variant.names.values()


def limits(name: str, given: Range) -> tuple[int | None, int | None, int]:
    """The least and the greatest size, and what it is a multiple of.

    >>> limits("s", (1, 64)), limits("s", (16, None, 16)), limits("s", 4)
    ((1, 64, 1), (16, None, 16), (4, 4, 1))
    """
    expected = "a size, (lo, hi), or (lo, hi, what it is a multiple of), with None for unbounded"
    if not isinstance(given, tuple | list):
        size = whole_number(name, given, expected)
        return size, size, 1
    if len(given) not in (2, 3):
        raise ShapeError(f"{name}={shown(given)}: expected {expected}")
    lo, hi = [None if end is None else whole_number(name, end, expected) for end in given[:2]]
    multiple = whole_number(name, given[2], expected) if len(given) == 3 else 1
    if lo is not None and hi is not None and lo > hi:
        raise ShapeError(f"{name}={shown(given)}: no size lies between")
    if multiple < 1:
        raise ShapeError(f"{name}={shown(given)}: the multiple is less than 1; expected {expected}")
    return lo, hi, multiple


__all__ = ["Range", "certify", "limits"]
