"""Compiled checks: whether concrete sizes satisfy all assumptions and guards, as one fast call.

    >>> from solver.terms.interner import Interner
    >>> from shapes.guards.codegen import compile_check
    >>> from solver.proofs.fact import Fact
    >>> terms = Interner()
    >>> symbols = {"b": terms.symbol("b"), "s": terms.symbol("s")}
    >>> requirements = [
    ...     Fact(terms.ge(symbols["b"], 1), terms.true, "range", "b >= 1", None, None, 0),
    ...     Fact(terms.divides(16, symbols["s"]), terms.true, "guard", "s % 16 == 0", "model.py:41 in f", None, 1),
    ... ]
    >>> check = compile_check(requirements, symbols, {"b": 0, "s": 1})
    >>> check(4, 128), check(4, 100)
    (True, False)
    >>> print(check.explain(4, 100))
    guard `s % 16 == 0` fails at s=100 (model.py:41 in f)
    >>> print(check.source)
    def check(b, s):
        if not (s % 16 == 0 and b >= 1):
            return False
        return True
    <BLANKLINE>

The check is a function, bound to its plan, so that a call costs what hand-written text would; it is pickled as the
plan, from which it is compiled again. `check.native()` is the same check as compiled C where that can be had. A check
is total: any integers, of any sign and size, are accepted or not, and sizes outside the domain of a requirement (a
divisor that is zero) are not. Integers are Python's own; those of fixed width wrap around, so convert them first.
"""

from __future__ import annotations

import copyreg
import difflib
import inspect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MethodType
from typing import Literal, Protocol, SupportsIndex, TypeGuard, cast

from shapes.accepted import shown
from shapes.guards.arguments import Accepts, Arguments, Sources
from shapes.guards.emit_c import NotNative, native_source
from shapes.guards.emit_python import python_function, python_source
from shapes.guards.extension_modules import build
from shapes.guards.lowering import Lowering, Operation, Operations
from shapes.guards.ordering import ordered
from shapes.guards.toolchain import Unavailable
from shapes.size_names import with_places
from solver.decide.pages import facts_page
from solver.errors import ShapeError
from solver.proofs.fact import Fact
from solver.styled_text import html_of_page, line, span
from solver.syntax.short_text import number_text, sizes_text
from solver.terms.expr import Atom, Expr


@dataclass(frozen=True, slots=True)
class Outcome:
    """The answer of a check about some arguments, and the reason.

    Attributes:
        holds: what the check returns.
        requirement: the first one that fails; None when all hold, or when the arguments do not have the expected
            structure.
        values: the sizes that it is about, by symbol.
        message: the same in words.
    """

    holds: bool
    requirement: Fact | None
    values: dict[str, int]
    message: str

    def __str__(self) -> str:
        return self.message


class Check(Protocol):
    """A compiled check: a callable over concrete sizes, with these attributes.

    Attributes:
        plan: what it tests, for those who build on it.
        source: the text of the Python form.
        form: which form this is.
        reason: why this is not the native form, where that was asked for.
    """

    plan: Plan
    source: str
    form: Literal["python", "native"]
    reason: str

    def __call__(self, *arguments: object, **named: object) -> bool: ...

    def explain(self, *arguments: object, **named: object) -> Outcome:
        """The first requirement that the arguments fail, with the values and the line."""
        ...

    def native(self) -> Check:
        """The native form of this check; this check itself, with the `reason`, where there is none."""
        ...


def is_check(value: object) -> TypeGuard[Check]:
    """Return True for a compiled check. It is a method with the attributes of its function: `isinstance` does not find
    these from Python 3.12 on."""
    return isinstance(getattr(value, "plan", None), Plan)


@dataclass(frozen=True, slots=True)
class Plan:
    """The conditions that a check tests: the requirements, and the operations that decide them.

    It is a function of requirements, symbols and arguments, and is pickled as these.
    """

    requirements: tuple[Fact, ...]
    arguments: Arguments
    symbols: Mapping[str, Expr]
    operations: Operations
    conditions: tuple[Operation, ...]
    """The guards' conditions, in the order in which they are tested."""

    @property
    def check(self) -> Check:
        """The check of this plan, in its Python form."""
        return python_check(self)

    def __repr__(self) -> str:
        return f"Plan({', '.join([each.text for each in self.requirements])})"

    def __copy__(self) -> Plan:
        return self

    def __deepcopy__(self, memo: object) -> Plan:
        return self

    def __reduce__(self) -> tuple[object, ...]:
        return planned, (self.requirements, self.symbols, self.arguments)

    def _repr_html_(self) -> str:
        """The requirements with their lines, as notebooks show a check."""
        return html_of_page([line(span("check", "heading")), *facts_page(self.requirements)])

    def explain(self, values: Mapping[str, object]) -> Outcome:
        """Test the requirements one by one by evaluation, independently of the generated text. `values` are by
        parameter name."""
        inputs: dict[int, int] = {}
        for position in range(len(self.arguments.paths)):
            try:
                inputs[position] = cast(int, self.arguments.read(position, values))
            except (TypeError, LookupError, AttributeError):
                return Outcome(False, None, {}, f"the arguments have no {self.arguments.text(position)}")
            if not isinstance(inputs[position], SupportsIndex):
                text = f"{self.arguments.text(position)} is {shown(inputs[position])}, no integer"
                return Outcome(False, None, {}, text)
        known: dict[Atom, int] = {}
        names: dict[Atom, str] = {}
        for name, positions in self.arguments.positions.items():
            (atom,) = self.symbols[name].symbols
            names[atom] = name
            value = known[atom] = inputs[positions[0]]
            for position in positions[1:]:
                if inputs[position] != value:
                    first, other = self.arguments.text(positions[0]), self.arguments.text(position)
                    differ = f"{number_text(value)} != {number_text(inputs[position])}"
                    text = f"{first} and {other} are both {name}, but {differ}"
                    return Outcome(False, None, {name: value}, text)
        for requirement in self.requirements:
            failed = _failure(requirement, _with_definitions(requirement, known))
            if failed is not None:
                values_used = {names[atom]: known[atom] for atom in _symbols(requirement) if atom in names}
                return Outcome(False, requirement, values_used, self._message(requirement, values_used, failed))
        return Outcome(True, None, {name: known[atom] for atom, name in names.items()}, "accepted")

    def _message(self, requirement: Fact, values: Mapping[str, int], failed: str) -> str:
        verb = {"domain": "is not defined", "prop": "fails", "size": "is too large to evaluate"}[failed]
        where = f" ({where_of(requirement)})" if where_of(requirement) else ""
        places = self.arguments.places
        text, sizes = with_places(requirement.text, places), with_places(sizes_text(values), places)
        return f"{requirement.kind} `{text}` {verb} at {sizes}{where}"


def compile_check(
    requirements: Iterable[Fact],
    symbols: Mapping[str, Expr],
    sources: Sources,
    *,
    arguments: Sequence[str] | None = None,
    native: bool = False,
) -> Check:
    """A check of the requirements for sizes found where `sources` says.

    Raises:
        ShapeError: a symbol without a source, or a source of a symbol that there is not.
    """
    if not isinstance(sources, Mapping):
        raise ShapeError(f"sources={shown(sources)}: expected the place of each symbol, such as {{'s': ('x', 0)}}")
    layout = Arguments.of(sources, arguments)
    for name in layout.positions:
        if name not in symbols:
            close = difflib.get_close_matches(name, symbols)
            raise ShapeError(
                f"sources[{name!r}]: no such symbol" + (f"; did you mean {' or '.join(close)}?" if close else "")
            )
    check = python_check(planned(tuple(requirements), symbols, layout))
    return check.native() if native else check


def planned(requirements: tuple[Fact, ...], symbols: Mapping[str, Expr], layout: Arguments) -> Plan:
    """The conditions of the requirements, in the order in which they are tested.

    Raises:
        ShapeError: a requirement is about a symbol that is not among the arguments.
    """
    operations = Operations()
    inputs = {symbols[name]: operations.leaf(positions[0]) for name, positions in layout.positions.items()}
    lowering = Lowering(operations, inputs)
    conditions: list[Operation] = []
    for requirement in requirements:
        conditions.append(lowering.proposition(requirement.domain))
        conditions.append(lowering.proposition(requirement.prop))
        if lowering.missing:
            missing = next(iter(lowering.missing))
            raise ShapeError(
                f"no source for the symbol {missing.name}, which `{requirement.text}` needs: add it to the sources"
            )
    for first, *others in layout.positions.values():
        conditions += [operations.make("eq", (operations.leaf(first), operations.leaf(other))) for other in others]
    return Plan(requirements, layout, dict(symbols), operations, tuple(ordered(operations, conditions)))


def python_check(plan: Plan) -> Check:
    """The Python form: a function of its own for this plan."""
    source = python_source(plan.operations, plan.conditions, plan.arguments)
    function = python_function(source, plan.conditions, bound=True)
    _dress(function, plan, source, "python", MethodType(function, plan))
    return cast(Check, MethodType(function, plan))


def native_check(check: Check) -> Check:
    """The native form of a check in Python; the check itself, with the reason, where there is none."""
    try:
        built = build(native_source(list(check.plan.conditions), check.plan.arguments))
    except NotNative as error:
        built = Unavailable(str(error))
    if isinstance(built, Unavailable):
        vars(cast(MethodType, check).__func__)["reason"] = built.reason
        return check
    made = built(check)
    # its class is one of the module that was built for it
    copyreg.pickle(type(made), _reduced_native)  # type: ignore[arg-type]
    _dress(made, check.plan, check.source, "native", check)
    return cast(Check, made)


def _reduced_native(check: Check) -> tuple[object, ...]:
    return _native, (check.plan,)


def _native(plan: Plan) -> Check:
    return plan.check.native()


def _dress(function: object, plan: Plan, source: str, form: Literal["python", "native"], python: Accepts) -> None:
    """Give a function the attributes of a check. They live on the function itself: an object around it would cost as
    much as the test."""
    signature = inspect.signature(python)
    check = cast(Check, python if form == "python" else function)

    def explain(*arguments: object, **named: object) -> Outcome:
        return plan.explain(signature.bind(*arguments, **named).arguments)

    def native() -> Check:
        return check if form == "native" else native_check(check)

    attributes = {
        "plan": plan,
        "source": source,
        "form": form,
        "reason": "",
        "explain": explain,
        "native": native,
        "_repr_html_": plan._repr_html_,
    }
    for name, value in attributes.items():
        setattr(function, name, value)


def _failure(requirement: Fact, values: Mapping[Atom, int]) -> Literal["domain", "prop", "size"] | None:
    try:
        if not requirement.domain.evaluate(values):
            return "domain"
        return None if requirement.prop.evaluate(values) else "prop"
    except OverflowError:
        return "size"


def where_of(requirement: Fact) -> str:
    """The place in the program, as far as it is known."""
    if requirement.origin is not None:
        return str(requirement.origin)
    return f"line {requirement.line}" if requirement.line is not None else ""


def _symbols(requirement: Fact) -> list[Atom]:
    """The symbols that a requirement mentions, those inside definitions included."""
    found = dict.fromkeys(sorted(requirement.prop.symbols | requirement.domain.symbols, key=lambda atom: atom.serial))
    pending = list(found)
    while pending:
        definition = pending.pop().definition
        for atom in definition.symbols if definition is not None else ():
            if atom not in found:
                found[atom] = None
                pending.append(atom)
    return list(found)


def _with_definitions(requirement: Fact, known: Mapping[Atom, int]) -> Mapping[Atom, int]:
    """The known values, with those of symbols that are defined by others."""
    values = dict(known)
    for atom in sorted(_symbols(requirement), key=lambda atom: atom.serial):
        if atom not in values and atom.definition is not None:
            values[atom] = atom.definition.evaluate(values)
    return values
