"""Every rule against the real operator, on generated calls: the same sizes, and the same refusals.

If one of these fails, a rule is wrong (or torch has changed): the message is the smallest call on which they differ.
A run of the suite looks at a few calls of each operator; `make agreement` looks at 300.
"""

import os

import pytest
from hypothesis import HealthCheck, given, settings

from shapes.rules import rules
from shapes.testing.agreement import disagreement
from shapes.testing.arguments import arguments_for, operators_with_arguments
from tests.effort import examples

torch_eager = pytest.importorskip("shapes.testing.references.torch_eager").torch_eager
pytest.importorskip("torch")
EXAMPLES = int(os.environ.get("AGREEMENT_EXAMPLES", examples(10, thorough=100)))


@pytest.mark.hypothesis
@pytest.mark.parametrize("name", sorted(operators_with_arguments()))
def test_a_rule_agrees_with_the_operator(name):
    rule, reference = rules[name], torch_eager(name)

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(arguments_for(name))
    def agrees(call):
        found = disagreement(rule, call, reference(call))
        assert found is None, str(found)

    agrees()
