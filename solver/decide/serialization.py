"""Pickling of what is known and concluded: terms, facts, proofs and verdicts, for another process or hash seed.

    >>> import copy, pickle
    >>> from solver.decide.ladder import decide
    >>> from solver.knowledge.facts import Facts
    >>> from solver.terms.interner import Interner
    >>> terms = Interner()
    >>> s = terms.symbol("s")
    >>> known = Facts.empty(terms).declare_range(s, 2, None)
    >>> verdict, question = pickle.loads(pickle.dumps((decide(known, terms.ge(s * s, 4)), terms.ge(s * s, 4))))
    >>> verdict, verdict.check(), verdict.prop is question, question is terms.ge(s * s, 4)
    (Always(2 <= s <= None), True, True, False)
    >>> copy.deepcopy(question) is question
    True

What is pickled together shares one new interner, whose symbols keep their serial numbers: normal forms, canonical order
and samples depend on these, and hence the answers. A copy within the process shares the interner itself.

Terms are made again from their parts, operands before operations, so that deep ones take no deep recursion. Facts are
learned again, which gives the same knowledge with the same samples. Payloads of proofs name monomials by number, which
is of an interner, so those are pickled as the atoms that they stand for.

Pickle finds these functions by the table of `copyreg`: they need nothing of the classes but what everybody may read.
"""

from __future__ import annotations

import copyreg
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, TypeVar

from solver.decide.assume import assume
from solver.floats.value import Float
from solver.knowledge.facts import Conflict, Facts
from solver.proofs.fact import Fact, Record
from solver.proofs.step import ProofStep
from solver.terms.expr import Atom, Expr, Node
from solver.terms.interner import Interner
from solver.terms.prop import Prop

T = TypeVar("T")
Reduced = tuple[object, tuple[object, ...]]
"""A function that makes the object again, and its arguments."""

SHALLOW: Final = 8
"""Terms nested deeper than this are pickled with their operations in order."""

MONOMIALS: Final[Mapping[str, Callable[[Interner, tuple[object, ...]], object]]] = {
    "monomial": lambda terms, data: (Monomial(terms, data[0]), *data[1:]),
    "grouped": lambda terms, data: (Monomial(terms, data[0]), Monomial(terms, data[1]), *data[2:]),
    "factor-bounded": lambda terms, data: (Monomial(terms, data[0]), *data[1:]),
    "rewrite": lambda terms, data: tuple([_portable_round(terms, each) for each in data]),
}
"""The rules whose payloads have numbers of monomials, each with the payload that has `Monomial` in their place."""


# ---------------------------------------------------------------------- terms


class Monomial:
    """The number of a monomial, on its way into another interner, where it is a number again."""

    __slots__ = ("atoms", "interner")

    def __init__(self, interner: Interner, number: object) -> None:
        assert isinstance(number, int)
        self.interner = interner
        self.atoms = interner.monomials[number]

    def __reduce__(self) -> Reduced:
        return _monomial, (self.interner, self.atoms)


class Handle:
    """An interner in a pickle: another one there, the same one in a copy."""

    __slots__ = ("interner",)

    def __init__(self, interner: Interner) -> None:
        self.interner = interner

    def __deepcopy__(self, memo: object) -> Handle:
        return self

    def __reduce__(self) -> Reduced:
        return _handle, self.interner.serials


def _handle(*serials: int) -> Handle:
    interner = Interner()
    interner.continue_from(*serials)
    return Handle(interner)


def _interner(handle: Handle) -> Interner:
    return handle.interner


def _reduced_interner(interner: Interner) -> Reduced:
    return _interner, (Handle(interner),)


def _reduced_atom(atom: Atom) -> Reduced:
    interner = atom.expr.interner
    if atom.args:
        return _operation, (interner, atom.kind, atom.name, atom.args, atom.serial)
    return _symbol, (
        *(interner, atom.name, atom.definition, atom.serial, atom.key[1]),
        *(atom.monomial, atom in interner.doubles),
    )


def _operation(interner: Interner, kind: str, name: str, args: tuple[Node, ...], serial: int) -> Atom:
    return interner.restored_operation(kind, args, name, serial).atom


def _symbol(
    interner: Interner,
    name: str,
    definition: Expr | None,
    serial: int,
    number: int,
    monomial: int,
    is_double: bool,
) -> Atom:
    """The symbol with this serial number; the very one where it is one of this interner."""
    known = interner.monomials.get(monomial, ())
    if len(known) == 1 and (known[0].serial, known[0].key, known[0].name) == (serial, (0, number), name):
        return known[0]
    symbol = interner.restored_symbol(name, definition, serial, number)
    if is_double:
        interner.doubles.add(symbol.atom)
    return symbol.atom


def _monomial(interner: Interner, atoms: tuple[Atom, ...]) -> int:
    return interner.monomial(tuple(sorted(atoms, key=lambda atom: atom.serial)))


def _operations_first(node: Node) -> tuple[Atom, ...]:
    """The operations in a deep term, arguments first: each is then pickled when those inside it are."""
    return node.schedule if node.depth > SHALLOW else ()


def _reduced_expr(e: Expr) -> Reduced:
    monomials = e.interner.monomials
    terms = tuple([(monomials[m], c) for m, c in e.terms])
    return _expr, (_operations_first(e), e.interner, terms, e.constant)


def _expr(
    before: object, interner: Interner, terms: Iterable[tuple[tuple[Atom, ...], int]], constant: int
) -> Expr:
    return interner.collect({_monomial(interner, atoms): c for atoms, c in terms}, constant)


def _reduced_prop(p: Prop) -> Reduced:
    parts = tuple([part for part in p.nodes if part is not p]) if p.parts else ()
    return _prop, (_operations_first(p), parts, p.interner, p.kind, p.expr, p.parts)


def _prop(before: object, inside: object, interner: Interner, kind: str, expr: Expr, parts: tuple[Prop, ...]) -> Prop:
    return Prop.make(interner, kind, expr, parts)


def _reduced_float(value: Float) -> Reduced:
    return Float, (value.interner, value.text, value.level, value.arguments, value.domain, value.value)


# ---------------------------------------------------------------------- facts


def _reduced_fact(fact: Fact) -> Reduced:
    return Fact, (fact.prop, fact.domain, fact.kind, fact.written, fact.origin, fact.line, fact.serial)


def _reduced_record(record: Record) -> Reduced:
    found: list[tuple[Fact, Prop, Prop, str | None]] = []
    each: Record | None = record
    while each is not None:
        found.append((each.fact, each.prop, each.domain, each.written))
        each = each.before
    return _record, (tuple(reversed(found)),)


def _record(stated: Iterable[tuple[Fact, Prop, Prop, str | None]]) -> Record | None:
    record: Record | None = None
    for fact, prop, domain, written in stated:
        record = Record(fact, record)
        record.prop, record.domain, record.written = prop, domain, written
    return record


def recorded_among(record: Record | None, core: Sequence[Fact]) -> Record | None:
    """The records of these facts alone, which is all that a certificate is checked against."""
    wanted = {id(fact) for fact in core}
    kept = []
    while record is not None:
        if id(record.fact) in wanted:
            kept.append((record.fact, record.prop, record.domain, record.written))
        record = record.before
    return _record(reversed(kept))


class Recorded:
    """Facts in a pickle, without a hypothesis that is not recorded: the domain of a question that verdicts name."""

    __slots__ = ("facts",)

    def __init__(self, facts: Facts) -> None:
        self.facts = facts

    def __reduce__(self) -> Reduced:
        return _learned_again(self.facts)


def _reduced_facts(facts: Facts) -> Reduced:
    if facts.supposing:
        raise TypeError("facts under a hypothesis that is not recorded are not pickled")
    return _learned_again(facts)


def _learned_again(facts: Facts) -> Reduced:
    declared = {id(each.fact): each for each in facts.declarations()}
    limits = facts.samples.limits
    steps: list[tuple[Fact, Expr | None, tuple[int | None, int | None], int | None]] = []
    for fact in facts.records():
        each = declared.get(id(fact))
        if each is None:
            steps.append((fact, None, (None, None), None))
        else:
            steps.append((fact, each.atom.expr, limits.get(each.atom.serial) or (None, None), each.hint))
    return _facts, (facts.interner, facts.samples.enough, tuple(reversed(steps)))


def _facts(
    interner: Interner,
    enough: int,
    steps: Iterable[tuple[Fact, Expr | None, tuple[int | None, int | None], int | None]],
) -> Facts:
    """Learn the facts again."""
    facts: Facts | Conflict = Facts.empty(interner, enough=enough)
    for fact, symbol, (lo, hi), hint in steps:
        assert isinstance(facts, Facts)
        facts = assume(facts, fact) if symbol is None else facts.declare(symbol, lo, hi, fact, hint=hint)
    assert isinstance(facts, Facts)
    return facts


# ---------------------------------------------------------------------- proofs


Step = tuple[str, Prop, tuple[int, ...], object, Fact | None]
"""A step whose premises are numbers of earlier ones."""


def _reduced_proof(proof: ProofStep) -> Reduced:
    numbers: dict[int, int] = {}
    steps: list[Step] = []
    stack = [(proof, False)]
    while stack:
        step, ready = stack.pop()
        if id(step) in numbers:
            continue
        if not ready:
            stack.append((step, True))
            stack.extend([(premise, False) for premise in reversed(step.premises)])
            continue
        numbers[id(step)] = len(steps)
        premises = tuple([numbers[id(premise)] for premise in step.premises])
        steps.append((step.rule, step.conclusion, premises, _portable(step), step.fact))
    return _proof, (tuple(steps),)


def _portable(step: ProofStep) -> object:
    """The payload without numbers of monomials."""
    change = MONOMIALS.get(step.rule)
    interner = step.conclusion.interner
    if change is None or not isinstance(step.data, tuple):
        return step.data
    assert isinstance(interner, Interner)
    return change(interner, step.data)


def _portable_round(interner: Interner, substitutions: object) -> object:
    assert isinstance(substitutions, tuple)
    return tuple([(Monomial(interner, m), image) for m, image in substitutions])


def _proof(steps: Iterable[Step]) -> ProofStep:
    made: list[ProofStep] = []
    for rule, conclusion, premises, data, fact in steps:
        made.append(ProofStep(rule, conclusion, tuple([made[number] for number in premises]), data, fact))
    return made[-1]


def _register(kind: type[T], reduced: Callable[[T], Reduced]) -> None:
    copyreg.pickle(kind, reduced)  # type: ignore[arg-type]


_register(Interner, _reduced_interner)
_register(Atom, _reduced_atom)
_register(Expr, _reduced_expr)
_register(Prop, _reduced_prop)
_register(Float, _reduced_float)
_register(Fact, _reduced_fact)
_register(Record, _reduced_record)
_register(Facts, _reduced_facts)
_register(ProofStep, _reduced_proof)
