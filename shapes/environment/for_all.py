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

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shapes.environment.commands import Commands
from shapes.environment.counterexample import counterexample
from shapes.environment.declaring import Declarations
from shapes.environment.reader import Question, Size
from shapes.environment.scopes import lasting
from shapes.environment.universal import BoundRange
from shapes.errors import NotProven, ShapeError
from shapes.symbolic.numbers import SymBool
from solver.decide.verdict import Always
from solver.proofs.fact import Fact
from solver.terms.expr import Atom, Expr
from solver.terms.prop import Prop

if TYPE_CHECKING:
    from shapes.asking import Asking
    from shapes.environment.questions import Effort

VARIABLE = "bound variable"
"""The source of a bound variable."""


@contextmanager
def quantifying(
    commands: Commands, declarations: Declarations, name: str, low: Size, high: Size
) -> Iterator[Expr]:
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


def open_range(
    commands: Commands, declarations: Declarations, name: str, low: Size, high: Size
) -> tuple[Expr, Prop]:
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
    ledger.ranges = (*ledger.ranges, BoundRange(variable.atom, first, end, position))
    return variable, occurs


def _written(size: Size) -> str:
    return size if isinstance(size, str) else str(size)


@dataclass(frozen=True, slots=True, eq=False)
class Lemma:
    """A proposition with the facts that imply it, some of them about bound variables."""

    env: Asking
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
        env = self.env
        if not env.proves(SymBool(env, self.domain.substitute(mapping), env.interner.true)):
            raise ShapeError(f"`{self.text}` makes sense where `{self.domain}`, which does not follow here")
        at = ", ".join([f"{atom.name} = {value}" for atom, value in mapping.items()])
        for fact in self.core:
            premise, where = fact.prop.substitute(mapping), fact.domain.substitute(mapping)
            asked = SymBool(env, env.interner.conjunction((where, premise)), env.interner.true)
            if not env.proves(asked, effort="thorough"):
                here = f" at {at}" if at else ""
                raise ShapeError(f"`{self.text}`{here} needs `{fact.text}`, which does not follow here")
        return SymBool(env, self.prop.substitute(mapping), self.domain.substitute(mapping))

    def _mapping(self, values: tuple[Size, ...], by_name: Mapping[str, Size]) -> dict[Atom, Expr]:
        names = [atom.name for atom in self.variables]
        if len(values) > len(names):
            raise ShapeError(f"{len(values)} values: `{self.text}` is about {', '.join(names) or 'no variable'}")
        given = {**dict(zip(names, values, strict=False)), **by_name}
        if len(given) != len(values) + len(by_name) or not given.keys() <= set(names):
            wrong = next(name for name in by_name if name not in names or names.index(name) < len(values))
            raise ShapeError(f"{wrong}: expected one value for each of {', '.join(names) or 'no variable'}")
        return {atom: self.env.expression(given[atom.name]) for atom in self.variables if atom.name in given}

    def __repr__(self) -> str:
        names = ", ".join([atom.name for atom in self.variables])
        return f"<{self.text}{f', for all {names}' if names else ''}>"


def lemma(env: Asking, commands: Commands, question: Question, effort: Effort) -> Lemma:
    """A proposition that is proven here, to be used where these bound variables are gone."""
    prop, domain = commands.reader.read(question)
    text = question if isinstance(question, str) else str(prop)
    verdict = env.ask(question, effort=effort)
    ranges = commands.ledger.ranges
    if not isinstance(verdict, Always):
        found = counterexample(env, verdict, [each.variable for each in ranges])
        raise NotProven(text, verdict, tuple([each.variable.name for each in ranges]), found)
    core = verdict.core
    mentioned = frozenset().union(
        prop.symbols, domain.symbols, *[fact.prop.symbols | fact.domain.symbols for fact in core]
    )
    variables = [each.variable for each in ranges if each.variable in mentioned]
    return Lemma(env, prop, domain, core, text, tuple(variables))
