"""The guards of our own variants, as propositions over the sizes of the arguments.

    >>> import torch
    >>> from frontends.pytorch import compile
    >>> f = compile(lambda x: x * 2 if x.shape[0] % 4 == 0 else x, dynamic=True)
    >>> out = f(torch.ones(8, 3))
    >>> (conditions,) = of_program(f._program)
    >>> [each.text for each in conditions.conditions], conditions.names["x_size0"]
    (['x_size0 >= 1', 'x_size1 >= 1', 'x_size0 % 4 == 0'], 'x.shape[0]')

The conditions are those that dispatch tests. Variants for different dtypes, devices or modes accept different calls,
and are no alternatives.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

from frontends.pytorch.dynamo.graph_breaks import in_short
from frontends.pytorch.dynamo.program import Program
from frontends.pytorch.errors import rejected
from frontends.pytorch.recording.inputs import LARGEST
from frontends.pytorch.variant import Variant
from frontends.pytorch.variants.arguments import GraphArguments, is_backed
from shapes.certification.certificates import Condition, Conditions
from shapes.environment.events import within
from shapes.guards.arguments import access
from shapes.guards.variants import Entry
from shapes.origin import Origin
from shapes.size_names import canonical
from solver.proofs.fact import Fact
from solver.syntax.printer import text_of, text_of_both

STATIC: Final = "a constant, as it was not seen to differ"
EMPTY: Final = "a size of 0 has a variant of its own"


def of_program(program: Program) -> list[Conditions]:
    """The conditions of all variants of a program; calls without a variant are not covered."""
    if not program.graphs:
        what = "certify() of a function that was never called: nothing is compiled"
        rejected(what, "call it once with typical arguments")
    reasons = [fallback.reason for fallback in program.fallbacks]
    reasons += [each.reason for each in program.graphs if each.reason]
    if program.breaks:
        reasons.append("calls run with graph breaks")
    rest = [Condition("a variant for every call", fault=in_short(reason)) for reason in reasons]
    compiled = [graph.compiled for graph in program.graphs if graph.compiled is not None]
    dispatches = [found for graph in compiled for found in graph.dispatches]
    found = [of_entry(arguments, entry) for arguments, dispatch in dispatches for entry in dispatch.entries]
    if not found and not rest:
        rest = [Condition("a variant for every call", fault="there is no variant")]
    return [*found, *([Conditions(rest)] if rest else [])]


def of_entry(arguments: GraphArguments, entry: Entry[object]) -> Conditions:
    """The conditions on sizes that dispatch tests for a variant."""
    plan = entry.check.plan
    shown = [canonical(access(*path)) for path in plan.arguments.paths]
    names, equal = {}, []
    for symbol, positions in plan.arguments.positions.items():
        first, *others = [shown[place] for place in positions]
        names[symbol] = first
        equal += [Condition(f"{first} == {other}", why="one size of the trace") for other in others]
    bits = {f"{leaf.name}_bits" for leaf in arguments.leaves if leaf.kind == "float"}
    floats = {
        symbol for symbol, (place, *_) in plan.arguments.positions.items() if plan.arguments.paths[place][0] in bits
    }
    tests = [(access(*path), repr(wanted)) for path, wanted in entry.tests.items()]
    integers = [name for name in shown if name.isidentifier()]
    return stated(plan.requirements, floats, names, integers, equal=equal, group=tuple(sorted(tests)))


def of_variant(variant: Variant) -> Conditions:
    """The preconditions of one variant."""
    names = {
        symbol: canonical(access(given.name, *path))
        for given in variant.inputs
        for symbol, path in given.symbols
        if is_backed(variant, symbol)
    }
    numbers = {each.symbol: each.name for each in variant.integers if each.choice.kind != "unbacked"}
    known: dict[str, tuple[int | None, int | None]] = dict.fromkeys(names, (0, LARGEST))
    sources = {symbol: place for place, symbol in enumerate([*names, *numbers])}
    check = variant.env.compile_guards(sources, known=known)
    floats = {each.symbol for each in variant.integers if each.is_float}
    return stated(check.plan.requirements, floats, names | numbers, list(numbers.values()))


def stated(
    requirements: Sequence[Fact],
    floats: Collection[str],
    names: Mapping[str, str],
    integers: Sequence[str],
    *,
    equal: Iterable[Condition] = (),
    group: object = None,
) -> Conditions:
    """Conditions on the sizes of tensors, and on `integers` among the arguments."""
    sizes = set(names.values()) - set(integers)
    return Conditions(
        [*equal, *conditions_of(requirements, floats)],
        names=names,
        integers=frozenset(integers),
        bounds=dict.fromkeys(sizes, (0, LARGEST)),
        assumed=[each.text for each in requirements if is_about(each, floats)],
        inputs=frozenset(names.values()),
        group=group,
    )


def is_about(requirement: Fact, floats: Collection[str]) -> bool:
    """Return True if a requirement is about floats only."""
    symbols = within(requirement).symbols
    return bool(symbols) and all(atom.name in floats for atom in symbols)


def conditions_of(requirements: Sequence[Fact], floats: Collection[str]) -> Iterator[Condition]:
    """The guards that a compiled check tests."""
    for each in requirements:
        if is_about(each, floats):
            continue
        place = each.origin if isinstance(each.origin, Origin) else None
        if any(atom.name in floats for atom in within(each).symbols):
            yield Condition(each.text, place, fault="it is about a float and sizes")
        elif each.kind != "range":
            shown = text_of(each.prop) if each.domain.kind == "true" else text_of_both(each.domain, each.prop)
            yield Condition(shown, place)
        else:
            # its location is the function's call
            for part in each.prop.parts if each.prop.kind == "and" else [each.prop]:
                text = text_of(part)
                why = EMPTY if text.endswith((">= 1", "== 0")) else STATIC
                yield Condition(text, place, why, static=part.kind == "eq")
