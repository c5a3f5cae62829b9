"""Who is to blame: a reference that is broken, a rule that specializes; the errors say what to do."""

import pytest

from shapes.testing import Call, Input, ReferenceFailed, RuleSpecializes, check_rule
from shapes.testing.coverage import reports

np = pytest.importorskip("numpy")


def halves(env, x):
    env.require(len(x) == 1, "expected one axis")
    return (x[0] // 2,)


def misspelled(x):
    return x[:: stepp]  # noqa: F821


def unknown_function(x):
    return np.havle(x)


def not_importable(x):
    import no_such_module  # noqa: F401


def no_method(x):
    return x.halve()


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        (misspelled, "reference misspelled is broken.*NameError: name 'stepp'"),
        (unknown_function, "reference unknown_function is broken.*AttributeError"),
        (not_importable, "reference not_importable is broken.*ModuleNotFoundError"),
        (no_method, r'(?s)reference no_method is broken.*AttributeError.*fix: +tensors="torch"'),
        (lambda x, step: x[::step], "cannot be called as the rule is"),
        (lambda x: (x.shape[0] // 2,) if x.ndim == 1 else x[0:0, 1], 'tensors="sizes"'),
        (lambda call: "no shape", "expected a shape, or a tuple of shapes"),
        (lambda call: (("a", "b"),), "of integers"),
    ],
)
def test_a_broken_reference_is_not_the_rules_fault(reference, said):
    """A mistake of the reference raises `ReferenceFailed`, which names it."""
    with pytest.raises(ReferenceFailed, match=said):
        check_rule(halves, reference)


def test_the_line_of_a_broken_reference():
    """The error says where the reference failed."""
    with pytest.raises(ReferenceFailed, match=rf"at: +{__file__}:\d+"):
        check_rule(halves, misspelled)


def test_a_refusal_is_no_mistake():
    """Exceptions about the arguments are refusals."""

    def half(x):
        if x.ndim != 1:
            raise AssertionError("expected one axis")
        return x[: x.shape[0] // 2]

    report = check_rule(halves, half)
    assert report.accepted
    assert report.refused


def test_sizes_instead_of_arrays():
    """With `tensors="sizes"` a reference takes tuples of sizes."""
    report = check_rule(halves, lambda x: (x[0] // 2,) if len(x) == 1 else [].pop(), tensors="sizes")
    assert max(report.sizes) >= 2**31


def halved(call):
    (x,) = call.args
    return ((x[0] // 2,),) if len(x) == 1 else None


def by_number(env, x):
    env.require(len(x) == 1, "expected one axis")
    return (int(x[0]) // 2,)


def test_a_rule_that_specializes_is_told_so():
    """The error names the size, the formula and the remedy."""
    before = len(reports)
    with pytest.raises(RuleSpecializes) as raised:
        check_rule(by_number, halved)
    text = str(raised.value)
    assert "by_number takes x[0] as a number" in text
    assert "x[0] // 2" in text
    assert "compute with x[0] itself" in text
    assert raised.value.specialization.name == "x[0]"
    assert isinstance(raised.value.specialization.call.args[0], Input)
    assert len(reports) == before


def test_what_needs_the_number_is_not_blamed():
    """A size that is the number of outputs needs its value."""

    def unbind(env, x):
        env.require(len(x) >= 1, "no axes")
        env.require(x[0] >= 1, "no parts")
        return tuple([tuple(x[1:])] * int(x[0]))

    def parts(call: Call):
        (x,) = call.args
        return tuple([tuple(x[1:])] * x[0]) if len(x) and x[0] else None

    assert check_rule(unbind, parts).accepted


def test_a_look_up_is_not_blamed():
    """Where no formula fits, the value may be needed."""
    table = {0: 3, 1: 1, 2: 4, 3: 1, 4: 5, 5: 9, 6: 2, 7: 6}

    def looked_up(env, x):
        env.require(len(x) == 1, "expected one axis")
        return (table.get(int(x[0]), 8),)

    def found(call):
        (x,) = call.args
        return ((table.get(x[0], 8),),) if len(x) == 1 else None

    assert check_rule(looked_up, found).accepted
