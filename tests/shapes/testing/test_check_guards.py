"""Guards against the program: incomplete ones, needless ones and miscompiled ones are found."""

import pytest

from shapes import ShapeEnv
from shapes.testing import check_guards
from shapes.testing.guarding import GuardsDisagree


def program(b, s, branch):
    if branch(s > 64):
        kind = "long"
    elif branch(s % 16 == 0):
        kind = "aligned"
    else:
        kind = "short"
    if branch(b * s < 2**20):
        return kind, "small"
    return kind, "large"


def traced_at(b, s):
    env = ShapeEnv(origin=lambda: None)
    sizes = env.sizes("b s", hints=(b, s))
    return env, program(*sizes, env.guard)


@pytest.mark.parametrize("hints", [(4, 128), (4, 64), (4, 63), (2**20, 2**10), (2**20, 0), (2**19, 16)])
def test_guards_of_a_traced_program(hints):
    """The engine's guards accept exactly the sizes that behave as traced."""
    env, result = traced_at(*hints)
    report = check_guards(env, lambda b, s: program(b, s, bool) == result)
    assert report.good
    assert len(report.needed) == len(env.guards())
    check = env.compile_guards({"b": 0, "s": 1})
    assert check_guards(env, lambda b, s: program(b, s, bool), traced=lambda b, s: result, check=check).good


def test_a_missing_guard_is_shown_at_the_smallest_sizes():
    """A missing guard is shown at the smallest sizes."""
    env = ShapeEnv(origin=lambda: None)
    _, s = env.sizes("b s", hints=(4, 128))
    env.guard(s > 64)
    with pytest.raises(GuardsDisagree) as raised:
        check_guards(env, lambda b, s: program(b, s, bool) == ("long", "small"))
    assert raised.value.report.let_through == {"b": 16132, "s": 65}
    assert "the guards accept b=16132, s=65, which does not behave as traced" in str(raised.value)


def test_a_needless_guard_is_named():
    """A needless guard is named."""
    env, result = traced_at(4, 128)
    env.guard("b % 2 == 0")
    with pytest.raises(GuardsDisagree) as raised:
        check_guards(env, lambda b, s: program(b, s, bool) == result)
    (needless,) = raised.value.report.needless
    assert str(needless.guard) == "b % 2 == 0"
    assert needless.sizes["b"] % 2 == 1


def test_a_guard_with_an_error_is_needed():
    """A guard is needed where the reference raises."""
    env = ShapeEnv(origin=lambda: None)
    s = env.symbol("s", hint=4)
    env.guard(s != 0)
    assert check_guards(env, lambda s: 12 // s >= 0).good


def test_redundant_guards_do_not_hide_each_other():
    """Redundant guards do not hide each other."""
    env = ShapeEnv(origin=lambda: None)
    a, b = env.sizes("a b", hints=(4, 4))
    for guard in (a <= b, b <= a, a == b):
        env.guard(guard)
    report = check_guards(env, lambda a, b: a == b)
    assert report.good
    assert not report.unshown


def test_a_check_that_is_wrong_is_found():
    """A compiled check that differs from the guards is found."""
    env, result = traced_at(4, 128)
    with pytest.raises(GuardsDisagree, match="the compiled check differs from the guards at"):
        check_guards(env, lambda b, s: program(b, s, bool) == result, check=lambda b, s: s >= 64)


def test_a_trace_is_what_has_an_environment():
    """A trace is any object that has an environment."""

    class Traced:
        env, result = traced_at(4, 128)

    assert check_guards(Traced, lambda b, s: program(b, s, bool) == Traced.result).good
