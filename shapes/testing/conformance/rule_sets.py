"""The rules that the suite is about, by name.

    >>> from shapes.testing.conformance.rule_sets import rules_under_test
    >>> rules_under_test(None)["conv2d"].name
    'conv2d'
"""

from __future__ import annotations

from collections.abc import Mapping

from shapes.rules import Rule, rules
from shapes.testing.arguments import operators_with_arguments
from shapes.testing.conformance.adapter import named


def rules_under_test(place: object) -> dict[str, Rule]:
    """The rules at `module:name`, or ours; of ours those whose arguments can be generated."""
    if place is None:
        return {name: rules[name] for name in sorted(operators_with_arguments()) if name in rules}
    found = named(str(place))
    if not isinstance(found, Mapping):
        raise ValueError(f"--shape-rules={place}: expected a mapping from names to rules")
    return {str(name): one if isinstance(one, Rule) else Rule(str(name), one) for name, one in found.items()}
