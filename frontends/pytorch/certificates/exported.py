"""The guards of a `torch.export` program: ranges, equalities and constants of its inputs, and what it branched on.

    >>> import torch
    >>> from torch.export import Dim, export
    >>> class Net(torch.nn.Module):
    ...     def forward(self, x):
    ...         return x * 2 if x.shape[0] <= 64 else x
    >>> program = export(Net(), (torch.ones(8, 3),), dynamic_shapes=({0: Dim.AUTO, 1: Dim.AUTO},))
    >>> [each.text for each in of_exported(program).conditions][:3]
    ['s77 >= 2', 's77 <= 64', 's27 >= 2']

Inputs have the names that they have in the program's graph. A program loaded from a file has no lines.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final

import sympy
import torch
from torch.utils._sympy.functions import FloorDiv

from frontends.pytorch.certificates.shape_envs import first_use, of_environment
from frontends.pytorch.shape_env.translation import is_unbacked
from shapes.certification.certificates import Condition, Conditions
from shapes.size_names import names_in, renamed

CONSTANT: Final = "a constant of the exported program"
EQUAL: Final = "one size of the exported program"
RANGE: Final = "a range of the exported program"


def of_exported(program: torch.export.ExportedProgram) -> Conditions:
    """All conditions on the sizes of a program's inputs."""
    given = set(program.graph_signature.user_inputs)
    nodes = [node for node in program.graph.find_nodes(op="placeholder") if node.name in given]
    sizes = list(sizes_of([(node.name, node.meta.get("val")) for node in nodes]))
    expressions = {
        sympy.Symbol(name, integer=True): size.node.expr for name, size in sizes if isinstance(size, torch.SymInt)
    }
    names: dict[str, str] = {}
    for name, expression in expressions.items():
        if expression.is_Symbol:
            names.setdefault(str(expression), str(name))
    derived = solved(expressions.items(), {*names, *map(str, expressions)})
    rest = [
        Condition(f"{name} == {size}", None, CONSTANT, static=True)
        for name, size in sizes
        if not isinstance(size, torch.SymInt)
    ]
    for name, expression in expressions.items():
        unknown = [each for each in expression.free_symbols if str(each) not in names and each not in derived]
        fault = f"{unknown[0]} is not a size of an input" if unknown else ""
        if names.get(str(expression)) != str(name):
            rest.append(Condition(f"{name} == {expression.xreplace(derived)}", None, EQUAL, fault=fault))
    rest += ranges_of(program, names, derived)
    if getattr(program, "_guards_code", None) is None:
        rest.append(Condition("the guards of the program", fault="it does not have them as text"))
    rest += [Condition(flat(text, given)) for text in program._guards_code or ()]
    inputs = frozenset([name for name, _ in sizes])
    shapes = next((size.node.shape_env for _, size in sizes if isinstance(size, torch.SymInt)), None)
    if shapes is not None and shapes.tracked_fakes:
        # created in this process: the same guards with their lines
        tracked = [each for each in shapes.tracked_fakes if each.source.name.startswith("L[")][-len(nodes) :]
        uses = {id(each.fake): first_use(node) for each, node in zip(tracked, nodes)}
        called = {f"flat_args[{number}]": name for number, name in enumerate(program.graph_signature.user_inputs)}
        for each in of_environment(shapes, called, uses).conditions:
            text = flat(each.text, given)
            rest += [replace(each, text=text)] if inputs.issuperset(names_in(text)) else []
    return Conditions(rest, names=names, inputs=inputs)


def flat(text: str, given: Collection[str]) -> str:
    """A guard with the graph's input names: `y['a']` is `y_a` there."""

    def name_of(name: str) -> str:
        tensor, dot, rest = name.partition(".shape[")
        flattened = re.sub(r"\W+", "_", tensor).strip("_")
        return f"{flattened}{dot}{rest}" if flattened in given else name

    return renamed(text, name_of)


def ranges_of(
    program: torch.export.ExportedProgram, names: Collection[str], derived: Mapping[sympy.Symbol, sympy.Expr]
) -> Iterator[Condition]:
    """The ranges of a program, from which its checks are generated."""
    for expression, bounds in program.range_constraints.items():
        if all(str(symbol) in names or symbol in derived for symbol in expression.free_symbols):
            text = expression.xreplace(derived)
            if bounds.lower.is_Integer and bounds.lower > 0:
                yield Condition(f"{text} >= {bounds.lower}", None, RANGE, derived=True)
            if bounds.upper.is_Integer and bounds.upper < 2**63 - 1:
                yield Condition(f"{text} <= {bounds.upper}", None, RANGE, derived=True)


def solved(
    sizes: Iterable[tuple[sympy.Symbol, sympy.Expr]], names: Collection[str]
) -> dict[sympy.Symbol, sympy.Expr]:
    """For the `n` of a derived dimension, which is not a size, the number that a size determines: n is (x - 1)//4
    where x is 4*n + 1. There is such an n if and only if both are equal for this one, which is a guard too."""
    found: dict[sympy.Symbol, sympy.Expr] = {}
    for size, expression in sizes:
        for symbol in itertools.filterfalse(is_unbacked, expression.free_symbols):
            factor = expression.coeff(symbol)
            rest = sympy.expand(expression - factor * symbol)
            if factor.is_Integer and factor > 0 and rest.is_Integer and str(size) in names and str(symbol) not in names:
                found.setdefault(symbol, FloorDiv(size - rest, factor))
    return found


def sizes_of(values: list[tuple[str, object]]) -> Iterator[tuple[str, object]]:
    """The sizes among inputs, by name."""
    for name, value in values:
        if isinstance(value, torch.Tensor):
            yield from [(f"{name}.shape[{axis}]", size) for axis, size in enumerate(value.shape)]
        elif isinstance(value, torch.SymInt):
            yield name, value
