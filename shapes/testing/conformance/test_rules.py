"""Each rule against the operator of that name in torch, where torch is installed.

If one of these fails, the rule is wrong: the message is the smallest call on which they differ, as a test.
"""

from __future__ import annotations

import pytest

from shapes.rules import Rule
from shapes.testing.checking import check_rule
from shapes.testing.conformance.cases import CASES


def test_a_rule_agrees_with_the_operator(rule: Rule, examples: int) -> None:
    """The sizes of a rule, and its refusals, are those of the operator."""
    pytest.importorskip("torch")
    from shapes.testing.references.torch_eager import torch_eager

    try:
        reference = torch_eager(rule.name)
    except LookupError as missing:
        pytest.skip(str(missing))
    check_rule(rule, reference, examples=examples)


def test_there_are_cases() -> None:
    """The suite has cases for the environment."""
    assert len(CASES) >= 20
