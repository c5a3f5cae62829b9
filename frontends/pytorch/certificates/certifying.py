"""`certify`: prove that the guards of a compiled program hold for all sizes in given ranges, or find one that fails.

    >>> import torch
    >>> from frontends.pytorch import certify, compile
    >>> @compile(dynamic=True)
    ... def f(x):
    ...     return x * 2 if x.shape[0] <= 64 else x
    >>> out = f(torch.ones(8, 3))
    >>> certify(f, {"x.shape[0]": (1, 64), "x.shape[1]": (1, None)}).status
    'proven'
    >>> found = certify(f, {"x.shape[0]": (1, 4096), "x.shape[1]": (1, None)})
    >>> [(finding.guard, finding.size) for finding in found.findings]
    [('x.shape[0] <= 64', {'x.shape[0]': 65})]

`shapes.certification.certifying` decides; guards are extracted of our variants here, of `torch.compile` in
`compiled.py`, and of `torch.export` in `exported.py`. Programs are neither changed nor called.

The guards of our variants are propositions over the sizes of the arguments, the conditions that dispatch tests:

    >>> f = compile(lambda x: x * 2 if x.shape[0] % 4 == 0 else x, dynamic=True)
    >>> out = f(torch.ones(8, 3))
    >>> (conditions,) = of_program(f._program)
    >>> [each.text for each in conditions.conditions], conditions.names["x_size0"]
    (['x_size0 >= 1', 'x_size1 >= 1', 'x_size0 % 4 == 0'], 'x.shape[0]')

Variants for different dtypes, devices or modes accept different calls, and are no alternatives.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import torch

from frontends.pytorch.dynamo.compiled import Compiled
from frontends.pytorch.dynamo.graph_breaks import in_short
from frontends.pytorch.dynamo.program import Program
from frontends.pytorch.errors import rejected
from frontends.pytorch.variant import Variant
from frontends.pytorch.variants.arguments import GraphArguments, is_backed
from shapes.accepted import shown
from shapes.certification.certificates import Certificate, Condition, Conditions
from shapes.certification.certifying import Range
from shapes.certification.certifying import certify as judged
from shapes.certification.guard_files import read_guards
from shapes.choices import LARGEST
from shapes.environment.events import within
from shapes.guards.arguments import access
from shapes.guards.variants import Entry
from shapes.origin import Origin
from shapes.size_names import canonical
from solver.proofs.fact import Fact
from solver.syntax.printer import text_of, text_of_both


def certify(compiled: object, sizes: Mapping[str, Range], facts: Sequence[str] = ()) -> Certificate:
    """Decide whether every guard holds for all sizes in these ranges: `{"x.shape[0]": (1, 64), "x.shape[1]": (16, 4096,
    16)}`, where the third number is a divisor of the size; `facts` are further propositions.

    `compiled` is a result of `compile` or `torch.compile` that was called, a variant of ours, a `torch.export` program,
    or the path of a file of guards. Of alternative variants, one must accept.

    Raises:
        ConstraintViolation: it is none of these, or was never called.
        ShapeError: an invalid range, or an unknown size.
    """
    found = guards_of(compiled)
    if found is None:
        what = f"compiled={shown(compiled)}: expected a compiled object"
        fix = "certify(compile(f), ...), torch.compile(f), a torch.export program, or the path of a file of guards"
        rejected(what, fix)
    variants, alternatives = found
    return judged(variants, sizes, facts, alternatives=alternatives)


def guards_of(compiled: object) -> tuple[Sequence[Conditions], bool] | None:
    """The guards of each variant, and whether variants are alternatives.

    None for an object without guards.
    """
    if isinstance(compiled, Compiled):
        compiled = compiled._program
    match compiled:
        case Program():
            return of_program(compiled), True
        case Variant():
            return [of_variant(compiled)], True
        case str() | Path() if Path(compiled).suffix == ".pt2":
            return guards_of(torch.export.load(compiled))
        case str() | Path():
            return read_guards(Path(compiled)), True
        case torch.export.ExportedProgram():
            from frontends.pytorch.certificates.exported import of_exported

            return [of_exported(compiled)], True
    from frontends.pytorch.certificates.compiled import is_compiled, of_compiled

    return of_compiled(compiled) if is_compiled(compiled) else None


# ---------------------------------------------------------------------- our own variants


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
