"""Testing of shape rules, guards and programs over symbolic sizes: rules against real operators, sizes at the edges.

    >>> from shapes import ShapeEnv
    >>> from shapes.testing import assignments
    >>> env = ShapeEnv(origin=lambda: None)
    >>> s = env.symbol("s", lo=1)
    >>> env.assume("s % 16 == 0")
    >>> [sizes["s"] for sizes in assignments(env, 3)]
    [16, 2147483648, 9223372036854775792]

The strategies need Hypothesis, which comes with the extra `testing` (`pip install symshape[testing]`). Nothing here is
loaded before it is asked for.

- `check_rule(rule, reference)`: a rule gives the sizes that the operator gives, and refuses what it refuses;
- `check_guards(trace, reference)`: guards let nothing through that behaves differently, and reject nothing else;
- `infer_rule(operator, samples)`: a rule guessed from what an operator does;
- `sizes_for(env)`, `assignments(env, count)`: sizes that satisfy facts, or just violate one of them;
- `shapes`, `shapes_that_broadcast`, `environments`, `expressions`, `propositions`: strategies;
- `arguments_for`, `arguments_of`: the calls of an operator.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from shapes.testing.arguments import arguments_for, arguments_of
    from shapes.testing.calls import Call, Input
    from shapes.testing.checking import NothingAccepted, RuleDisagrees, RuleSpecializes, check_call, check_rule
    from shapes.testing.coverage import RuleReport
    from shapes.testing.guarding import GuardsDisagree, check_guards
    from shapes.testing.inferring import NotInferred, infer_rule
    from shapes.testing.references.functions import ReferenceFailed
    from shapes.testing.sampling import assignments
    from shapes.testing.sizes import sizes_for
    from shapes.testing.strategies import (
        environments,
        expressions,
        facts,
        propositions,
        shapes,
        shapes_that_broadcast,
        symbols,
    )  # fmt: skip

HOMES: Final = {
    "arguments": ("arguments_for", "arguments_of"),
    "calls": ("Call", "Input"),
    "checking": ("NothingAccepted", "RuleDisagrees", "RuleSpecializes", "check_call", "check_rule"),
    "coverage": ("RuleReport",),
    "references.functions": ("ReferenceFailed",),
    "guarding": ("GuardsDisagree", "check_guards"),
    "inferring": ("NotInferred", "infer_rule"),
    "sampling": ("assignments",),
    "sizes": ("sizes_for",),
}
"""The module of each public name that is not one of the `strategies`."""

__all__ = [
    "Call",
    "GuardsDisagree",
    "Input",
    "NotInferred",
    "NothingAccepted",
    "ReferenceFailed",
    "RuleDisagrees",
    "RuleReport",
    "RuleSpecializes",
    "arguments_for",
    "arguments_of",
    "assignments",
    "check_call",
    "check_guards",
    "check_rule",
    "environments",
    "expressions",
    "facts",
    "infer_rule",
    "propositions",
    "shapes",
    "shapes_that_broadcast",
    "sizes_for",
    "symbols",
]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = next((home for home, names in HOMES.items() if name in names), "strategies")
    try:
        return getattr(importlib.import_module(f"{__name__}.{home}"), name)
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] != "hypothesis":
            raise
        raise ModuleNotFoundError(
            f"shapes.testing.{name} needs Hypothesis: pip install 'symshape[testing]'", name="hypothesis"
        ) from missing


def __dir__() -> list[str]:
    return sorted(__all__)
