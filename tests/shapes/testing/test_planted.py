"""The kit finds planted mistakes, each at a small call, and blames no right rule, with its default settings."""

import pytest

from shapes.testing import check_rule
from shapes.testing.checking import RuleDisagrees, RuleSpecializes
from tests.shapes.testing.planted import axes, sizes

np = pytest.importorskip("numpy")

RIGHT = [*sizes.RIGHT, *axes.RIGHT]
WRONG = [*sizes.WRONG, *axes.WRONG]
EXAMPLES = 300
TORCH = {"flattened"}


def named(cases):
    return [pytest.param(*case, id=case[0].__name__) for case in cases]


def counted(reference):
    """A reference that counts its calls, and the counter."""
    if reference.__name__ in TORCH:
        pytest.importorskip("torch")
    return reference


def finds(rule, reference, smallest):
    with pytest.raises(RuleDisagrees) as raised:
        check_rule(rule, counted(reference))
    found = raised.value.disagreement
    if smallest is not None:
        assert list(found.call.args) == smallest
    if not isinstance(raised.value, RuleSpecializes):
        # no size or number of it can be lowered by one to a call that fails as well
        assert len(str(found.call)) < 160


@pytest.mark.parametrize(("rule", "reference", "smallest"), named(WRONG[::4]))
def test_planted_mistakes_are_found(rule, reference, smallest):
    """A planted mistake is found."""
    finds(rule, reference, smallest)


@pytest.mark.thorough
@pytest.mark.parametrize(("rule", "reference", "smallest"), named(WRONG))
def test_every_planted_mistake_is_found(rule, reference, smallest):
    """Every planted mistake is found."""
    finds(rule, reference, smallest)


@pytest.mark.parametrize(("rule", "reference"), named(RIGHT[::3]))
def test_right_rules_are_not_blamed(rule, reference):
    """A right rule passes, and the report counts what was tried."""
    report = check_rule(rule, counted(reference))
    assert 0 < report.accepted <= report.calls + report.untested <= EXAMPLES


@pytest.mark.thorough
@pytest.mark.parametrize(("rule", "reference"), named(RIGHT))
def test_no_right_rule_is_blamed(rule, reference):
    """No right rule is blamed."""
    check_rule(rule, counted(reference))
