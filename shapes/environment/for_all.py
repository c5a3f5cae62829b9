"""Bound variables with a range: what holds inside holds for every value.

    >>> from shapes import ShapeEnv
    >>> env = ShapeEnv(origin=lambda: None)
    >>> n, world = env.sizes("n world")
    >>> env.assume(world >= 1)
    >>> with env.for_all("r", 0, world) as r:
    ...     inside = env.lemma("(r + 1) * (n // world) <= n")
    >>> inside
    <(r + 1) * (n // world) <= n, for all r>
    >>> inside.at(world // 2)
    (n//world)*(world//2 + 1) <= n
    >>> inside.at(world)
    Traceback (most recent call last):
    solver.errors.ShapeError: `(r + 1) * (n // world) <= n` at r = world needs `r < world`, which does not follow here
    >>> "r" in env.names
    False

A proposition that is proven of a symbol about which nothing else is known holds for every value of it (generalization).
So a scope declares the variable, supposes its range and gives both up at its end. A lemma keeps what was proven, with
the facts that its proof used: an instance substitutes the variable in all of them, and holds where the facts do.

At the end of the scope nothing about the variable is left. What was committed to inside and does not mention it stays,
under the condition that the range has a value. A check at run time is of one value of the variable; nobody runs it for
all of them, so it is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from shapes.environment.commands import Commands
from shapes.environment.counterexample import counterexample
from shapes.environment.declaring import Declarations
from shapes.environment.questions import Effort
from shapes.environment.reader import Question, Size
from shapes.environment.scopes import lasting
from shapes.environment.universal import BoundRange, universals
from shapes.errors import NotProven, ShapeError
from shapes.symbolic.numbers import SymBool
from solver.decide.verdict import Always
from solver.proofs.fact import Fact
from solver.terms.expr import Atom, Expr
from solver.terms.prop import Prop

VARIABLE = "bound variable"
"""The source of a bound variable."""


@contextmanager
def quantifying(commands: Commands, declarations: Declarations, name: str, low: Size, high: Size) -> Iterator[Expr]:
    """A scope in which a variable has every value from `low` up to `high`, which is not included."""
    ledger = commands.ledger
    mark = ledger.position()
    outside = ledger.hypotheses, ledger.ranges
    try:
        variable, occurs = open_range(commands, declarations, name, low, high)
        yield variable
        inside = ledger.commitments[mark.position :]
    except BaseException:
        ledger.hypotheses, ledger.ranges = outside
        ledger.return_to(mark)
        raise
    ledger.hypotheses, ledger.ranges = outside
    ledger.return_to(mark)
    if commands.questions.proves(occurs):
        occurs = commands.true
    ledger.commit_all(lasting(inside, occurs))


def open_range(commands: Commands, declarations: Declarations, name: str, low: Size, high: Size) -> tuple[Expr, Prop]:
    """Declare the variable and suppose its range; also the condition that the range has a value."""
    ledger, reader, interner = commands.ledger, commands.reader, commands.interner
    position = len(ledger.commitments)
    (first, first_domain), (end, end_domain) = reader.read_expr(low), reader.read_expr(high)
    occurs = commands.within(Prop.lt(first, end), interner.conjunction((first_domain, end_domain)))
    least = ledger.facts.bounds(first)[0]
    variable = declarations.declare(name, least, None, None, "unbacked", VARIABLE)
    if least is None or not first.is_constant:
        commands.suppose_prop(Prop.le(first, variable), first_domain, f"{name} >= {_written(low)}")
    commands.suppose_prop(Prop.lt(variable, end), end_domain, f"{name} < {_written(high)}")
    ledger.hypotheses = (*ledger.hypotheses, occurs)
    before = list(universals(ledger.commitments, ledger.ranges)) if ledger.ranges else []
    ledger.ranges = (*ledger.ranges, BoundRange(variable.atom, first, end, position))
    for each in before:
        commands.instantiate(each, variable.atom)
    return variable, occurs


def _written(size: Size) -> str:
    return size if isinstance(size, str) else str(size)


@dataclass(frozen=True, slots=True, eq=False)
class Lemma:
    """A proposition with the facts that imply it, some of them about bound variables."""

    commands: Commands
    wrap: Callable[[Prop, Prop], SymBool]
    prop: Prop
    domain: Prop
    core: tuple[Fact, ...]
    text: str
    variables: tuple[Atom, ...]
    """The bound variables that the proposition or the facts mention, outermost first."""

    def at(self, *values: Size, **by_name: Size) -> SymBool:
        """The proposition for these values of the variables, in their order or by name: a fact for
        `env.hypothesis`.

        Raises:
            ShapeError: a fact that the proof used does not hold for them, or no longer.
        """
        mapping = self._mapping(values, by_name)
        domain = self.domain.substitute(mapping)
        if not self._holds(domain):
            raise ShapeError(f"`{self.text}` makes sense where `{self.domain}`, which does not follow here")
        for fact in self.core:
            if not self._holds(self.commands.within(fact.prop.substitute(mapping), fact.domain.substitute(mapping))):
                at = ", ".join([f"{atom.name} = {value}" for atom, value in mapping.items()])
                here = f" at {at}" if at else ""
                raise ShapeError(f"`{self.text}`{here} needs `{fact.shown}`, which does not follow here")
        return self.wrap(self.prop.substitute(mapping), domain)

    def _holds(self, prop: Prop) -> bool:
        """Return True if a premise follows here, from what is known now."""
        self.commands.table.check(prop)
        return isinstance(self.commands.questions.answer(prop, self.commands.true, "thorough"), Always)

    def _mapping(self, values: tuple[Size, ...], by_name: Mapping[str, Size]) -> dict[Atom, Expr]:
        names = [atom.name for atom in self.variables]
        if len(values) > len(names):
            raise ShapeError(f"{len(values)} values: `{self.text}` is about {', '.join(names) or 'no variable'}")
        given = {**dict(zip(names, values, strict=False)), **by_name}
        if len(given) != len(values) + len(by_name) or not given.keys() <= set(names):
            wrong = next(name for name in by_name if name not in names or names.index(name) < len(values))
            raise ShapeError(f"{wrong}: expected one value for each of {', '.join(names) or 'no variable'}")
        read = self.commands.reader.read_expr
        return {atom: read(given[atom.name])[0] for atom in self.variables if atom.name in given}

    def __repr__(self) -> str:
        names = ", ".join([atom.name for atom in self.variables])
        return f"<{self.text}{f', for all {names}' if names else ''}>"


def lemma(commands: Commands, question: Question, effort: Effort, wrap: Callable[[Prop, Prop], SymBool]) -> Lemma:
    """A proposition that is proven here, to be used where these bound variables are gone."""
    prop, domain = commands.reader.read(question)
    text = question if isinstance(question, str) else str(prop)
    verdict = commands.questions.answer(prop, domain, effort)
    variables = [each.variable for each in commands.ledger.ranges]
    if not isinstance(verdict, Always):
        found = counterexample(commands.ledger, verdict, variables)
        raise NotProven(text, verdict, tuple([atom.name for atom in variables]), found)
    core = verdict.core
    mentioned = frozenset().union(
        prop.symbols, domain.symbols, *[fact.prop.symbols | fact.domain.symbols for fact in core]
    )
    return Lemma(commands, wrap, prop, domain, core, text, tuple([atom for atom in variables if atom in mentioned]))
