"""The page that lists every rule: names, arguments, sizes. `docs/reference/rules.md` is what it writes.

    >>> from shapes.rules import rules
    >>> from shapes.rules.reference import arguments_text, depends_on_data
    >>> arguments_text(rules["conv1d"])
    'input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1'
    >>> [name for name in ("conv1d", "nonzero", "reshape") if depends_on_data(rules[name])]
    ['nonzero']
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterable, Iterator, Mapping
from types import CodeType, FunctionType

from shapes.rules.registry import FAMILIES, Rule, rules

HEADER = """\
# Operators with a shape rule

`python -m shapes.rules > docs/reference/rules.md` writes this page, `python -m shapes.rules conv2d` tells one rule.

{names} names by {count} rules in {families} families. `rules["conv2d"](env, ...)` takes shapes where the operator takes
tensors, and its other arguments as they are. The line of an operator says what its sizes are; the sizes and arguments
that it accepts are those of torch's CPU kernel (NumPy's for names that begin so), which
`tests/shapes/rules/test_agreement.py` compares. What is marked "data" may need numbers known only at run time: those
become unbacked symbols, with all that always holds of them.
"""


def page() -> str:
    """The whole page."""
    by_family: dict[str, list[Rule]] = {family: [] for family in FAMILIES}
    for rule in ours():
        by_family[rule.family].append(rule)
    present = {family: found for family, found in by_family.items() if found}
    grouped = {family: list(alike(found)) for family, found in present.items()}
    header = HEADER.format(
        names=sum([len(found) for found in present.values()]),
        count=sum([len(groups) for groups in grouped.values()]),
        families=len(present),
    )
    return "\n".join([header, *[section(family, groups) for family, groups in grouped.items()]])


def ours() -> Iterator[Rule]:
    """The rules of this project, without those that others registered."""
    for rule in rules.values():
        if rule.function.__module__ in {f"shapes.rules.{family}" for family in FAMILIES}:
            yield rule


def section(family: str, groups: Iterable[list[Rule]]) -> str:
    """The table of a family, below the first line of its module."""
    first_line = (importlib.import_module(f"shapes.rules.{family}").__doc__ or "").partition("\n")[0]
    lines = [f"## {family}", "", first_line, "", "| operator | arguments | sizes | |", "|---|---|---|---|"]
    for group in groups:
        names = ", ".join([f"`{rule.name}`" for rule in group])
        summary = (group[0].__doc__ or "").partition("\n\n")[0].split()
        data = "data" if depends_on_data(group[0]) else ""
        lines.append(f"| {names} | `{arguments_text(group[0])}` | {_cell(' '.join(summary))} | {data} |")
    return "\n".join([*lines, ""])


def alike(found: Iterable[Rule]) -> Iterator[list[Rule]]:
    """Rules that take the same arguments and say the same, together."""
    groups: dict[tuple[str, str, bool], list[Rule]] = {}
    for rule in found:
        groups.setdefault((arguments_text(rule), rule.__doc__ or "", depends_on_data(rule)), []).append(rule)
    yield from groups.values()


def arguments_text(rule: Rule) -> str:
    """The arguments with their defaults; types are in the source."""
    parameters = [
        parameter.replace(annotation=inspect.Parameter.empty) for parameter in rule.signature.parameters.values()
    ]
    return str(inspect.Signature(parameters[1:]))[1:-1]


def depends_on_data(rule: Rule) -> bool:
    """Return True if the rule, or a function of the rules that it calls, allocates unbacked symbols."""
    seen: set[CodeType] = set()
    pending: list[object] = [rule.function]
    while pending:
        function = pending.pop()
        if isinstance(function, Rule):
            function = function.function
        if not isinstance(function, FunctionType) or function.__code__ in seen:
            continue
        if not function.__module__.startswith("shapes.rules"):
            continue
        seen.add(function.__code__)
        names = set(_names(function.__code__))
        if "unbacked" in names:
            return True
        scope: Mapping[str, object] = function.__globals__
        pending += [scope[name] for name in names if name in scope]
        pending += [cell.cell_contents for cell in function.__closure__ or ()]
    return False


def _names(code: CodeType) -> Iterator[str]:
    """The names that a function uses, those of functions within it too."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
