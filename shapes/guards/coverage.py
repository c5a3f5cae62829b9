"""Coverage of the variants of a dispatch, decided by the solver with symbolic inputs.

    >>> from shapes import ShapeEnv
    >>> from shapes.guards.dispatch import Dispatch
    >>> def variant(fact):
    ...     env = ShapeEnv()
    ...     env.symbol("n")
    ...     env.assume(fact)
    ...     return env
    >>> dispatch = Dispatch(["n"])
    >>> dispatch.add(variant("n <= 15"), "small", sources={"n": 0})
    >>> dispatch.add(variant("n >= 17"), "large", sources={"n": 0})
    >>> dispatch.coverage().false_at
    {'n': 16}
    >>> dispatch.add(variant("n >= 16 and n <= 20"), "medium", sources={"n": 0})
    >>> type(dispatch.coverage()).__name__
    'Always'

Variants come from environments of their own; here they are brought over one interner, so that one question can be about
all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from shapes.accepted import shown
from shapes.environment.translation import Translator
from solver.decide.ladder import decide
from solver.decide.verdict import Verdict
from solver.errors import ShapeError
from solver.knowledge.facts import Facts
from solver.terms.expr import Atom, Expr
from solver.terms.interner import Interner
from solver.terms.prop import Prop

if TYPE_CHECKING:
    from shapes.guards.variants import Entry

Ranges = Mapping[str, tuple[int | None, int | None]]
SIZES: Final = (0, None)
"""An input is a size, unless its range is given."""


def coverage(entries: Sequence[Entry[object]], texts: Sequence[str], ranges: Ranges) -> Verdict:
    """Decide whether some variant accepts: Always, or sizes (`false_at`) that none does, or GaveUp."""
    if not isinstance(ranges, Mapping):
        raise ShapeError(f"ranges={shown(ranges)}: expected a size, or a pair of bounds, for each input by its text")
    unknown = set(ranges) - set(texts)
    if unknown:
        raise ShapeError(f"ranges[{min(unknown)!r}]: the inputs are {', '.join(texts)}")
    interner = Interner()
    facts = Facts.empty(interner)
    opaque = {leaf.number for entry in entries for leaf in entry.variant.tests}
    inputs: dict[int, Expr] = {}
    for position, text in enumerate(texts):
        if position not in opaque:
            symbol = inputs[position] = interner.symbol(text)
            facts = facts.declare_range(symbol, *ranges.get(text, SIZES))
    return decide(facts, interner.disjunction([accepted(entry, inputs, interner) for entry in entries]))


def accepted(entry: Entry[object], inputs: Mapping[int, Expr], interner: Interner) -> Prop:
    """The requirements of a variant over the inputs, with their domains, and that the sources of a symbol agree."""
    plan = entry.check.plan
    images: dict[Atom, Expr] = {}
    conditions: list[Prop] = []
    for name, own in plan.arguments.positions.items():
        (atom,) = plan.symbols[name].symbols
        first, *others = [inputs[entry.positions[position]] for position in own]
        images[atom] = first
        conditions += [interner.eq(first, other) for other in others]
    translator = Translator(interner, images)
    for requirement in plan.requirements:
        for prop in (requirement.domain, requirement.prop):
            for atom in sorted(prop.symbols, key=lambda atom: atom.serial):
                if atom not in images and atom.definition is not None:
                    images[atom] = translator.expr(atom.definition)
            conditions.append(translator.prop(prop))
    return interner.conjunction(conditions)
