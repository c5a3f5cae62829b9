"""The kit finds planted mistakes, each at a small call, and blames no right rule, with its default settings."""

import pytest

from shapes.testing import check_rule
from shapes.testing.agreement import disagreement
from shapes.testing.checking import RuleDisagrees, RuleSpecializes
from shapes.testing.directed.integers import places_of, with_values
from shapes.testing.directed.search import Domain
from shapes.testing.references.functions import reference_of
from shapes.testing.references.standins import Untested
from shapes.testing.trying import PYTHONS_REFUSALS
from tests.shapes.testing.planted import axes, plain, sizes

np = pytest.importorskip("numpy")

RIGHT = [*sizes.RIGHT, *axes.RIGHT, *plain.RIGHT]
WRONG = [*sizes.WRONG, *axes.WRONG]
EXAMPLES = 300
TORCH = {"flattened"}


def named(cases):
    return [pytest.param(*case, id=case[0].__name__) for case in cases]


def needed(reference):
    """A reference whose library is there."""
    if reference.__name__ in TORCH:
        pytest.importorskip("torch")
    return reference


def lowered(call, domain):
    """The call with one integer lowered by one, in each way."""
    for place in places_of(call):
        if place.value > domain.range_of(place)[0]:
            yield with_values(call, {place.path: place.value - 1})


def differs(rule, reference, call):
    try:
        expected = reference(call)
    except Untested:
        return False
    return disagreement(rule, call, expected, refusals=PYTHONS_REFUSALS) is not None


def finds(rule, reference, smallest):
    """A mistake is found by at most so many calls, and at one where no integer can be lowered by one."""
    with pytest.raises(RuleDisagrees) as raised:
        check_rule(rule, needed(reference), examples=EXAMPLES)
    found, report = raised.value.disagreement, raised.value.report
    assert report.calls + report.untested <= EXAMPLES
    if smallest is not None:
        assert list(found.call.args) == smallest
    if not isinstance(raised.value, RuleSpecializes):
        asked = reference_of(reference)
        assert not [call for call in lowered(found.call, Domain(found.rule)) if differs(found.rule, asked, call)]


@pytest.mark.parametrize(("rule", "reference", "smallest"), named(WRONG[::4]))
def test_planted_mistakes_are_found(rule, reference, smallest):
    """A planted mistake is found."""
    finds(rule, reference, smallest)


@pytest.mark.thorough
@pytest.mark.parametrize(("rule", "reference", "smallest"), named(WRONG))
def test_every_planted_mistake_is_found(rule, reference, smallest):
    """Every planted mistake is found."""
    finds(rule, reference, smallest)


@pytest.mark.parametrize(("rule", "reference"), named(RIGHT[::4]))
def test_right_rules_are_not_blamed(rule, reference):
    """A right rule passes, and the report counts what was tried."""
    report = check_rule(rule, needed(reference), examples=EXAMPLES)
    assert 0 < report.accepted <= report.calls + report.untested <= EXAMPLES


@pytest.mark.thorough
@pytest.mark.parametrize(("rule", "reference"), named(RIGHT))
def test_no_right_rule_is_blamed(rule, reference):
    """No right rule is blamed."""
    check_rule(rule, needed(reference), examples=EXAMPLES)


def test_there_are_many():
    """The figures of the page are about so many rules."""
    assert len(WRONG) >= 80
    assert len(RIGHT) >= 40
