"""Strategies satisfy their contracts; the kit says what it needs where Hypothesis is missing."""

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st

import shapes.testing
from shapes import Always, Depends, Never, ShapeEnv
from shapes.testing import (
    Call,
    Input,
    check_rule,
    environments,
    expressions,
    facts,
    propositions,
    shapes_that_broadcast,
    symbols,
)
from shapes.testing import shapes as drawn_shapes
from shapes.testing.agreement import disagreement
from shapes.testing.checking import rule_of
from shapes.testing.references.arrays import sizes_of
from shapes.testing.references.functions import Function, takes_calls

ROOT = Path(__file__).parents[3]
WORDS = {"max": max, "min": min}


def test_every_public_name_is_there():
    """Every public name can be loaded."""
    for name in shapes.testing.__all__:
        assert callable(getattr(shapes.testing, name))
    assert dir(shapes.testing) == sorted(shapes.testing.__all__)
    with pytest.raises(AttributeError):
        assert shapes.testing.nothing


@pytest.mark.parametrize(
    ("program", "told"),
    [
        ("from shapes.testing import check_rule", "needs Hypothesis: pip install 'symshape[testing]'"),
        ("from shapes.testing import sizes_for", "needs Hypothesis"),
        ("from shapes import ShapeEnv; from shapes.testing import assignments, check_guards; e = ShapeEnv();"
         " e.symbol('s'); print(*assignments(e, 2))", None),
    ],
)  # fmt: skip
def test_without_hypothesis(program, told):
    """Without hypothesis an error says so, where it is used."""
    blocked = "import sys; sys.modules['hypothesis'] = None; "
    command = [sys.executable, "-c", blocked + program]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if told is None:
        assert done.returncode == 0, done.stderr
    else:
        assert told in done.stderr.splitlines()[-1]


def test_nothing_is_loaded_before_it_is_needed():
    """Importing the kit loads none of its parts."""
    program = "import sys, shapes.testing; print(*[n for n in ('hypothesis', 'numpy', 'torch') if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


@settings(max_examples=100)
@given(shapes_that_broadcast(3), drawn_shapes(rank=(1, 2), size=(3, 4), dtype="int64"))
def test_shapes(together, one):
    """Shapes broadcast, and keep to the bounds."""
    np = pytest.importorskip("numpy")
    np.broadcast_shapes(*[tuple(shape) for shape in together])
    assert 1 <= len(one) <= 2
    assert all(3 <= size <= 4 for size in one)
    assert one.dtype == "int64"


def test_shapes_that_broadcast_differ_and_shrink():
    """Shapes that broadcast differ, and shrink."""
    found = find(shapes_that_broadcast(2), lambda pair: pair[0] != pair[1])
    assert sum(map(len, found)) <= 2
    assert max([size for shape in found for size in shape]) <= 1


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_environments_and_what_is_said_about_them(data):
    """Drawn texts can be read by the environment, and do not contradict each other."""
    env = data.draw(environments(symbols=(1, 3), facts=(0, 3), bounded=True))
    assert env.check_consistent() is not None
    assert data.draw(symbols(env)) in env.names
    env.bounds(data.draw(expressions(env)))
    for text in (data.draw(facts(env)), data.draw(propositions(env))):
        parsed, _ = env.parse(text)
        assert parsed.symbols <= set(env.symbols)
        sizes = env.check_consistent()
        try:
            truth = eval(text, dict(WORDS), dict(sizes))
        except ZeroDivisionError:
            continue
        verdict = env.ask(text)
        assert not (isinstance(verdict, Always) and not truth)
        assert not (isinstance(verdict, Never) and truth)
        assert not (isinstance(verdict, Depends) and not verdict.true_at)


def test_references_are_taken_for_what_they_are():
    """A function of arrays is called with arrays, a function of calls with a Call."""
    np = pytest.importorskip("numpy")
    assert takes_calls(lambda call: None)
    assert not takes_calls(lambda x: None)
    assert not takes_calls(np.add)
    assert list(sizes_of([np.zeros((2, 3)), (np.float64(1), 7), None])) == [(2, 3), (), (), None]
    reference = Function(lambda x: x.reshape(7))
    assert reference(Call((Input((2, 3)),))) is None
    assert isinstance(reference.refusal, ValueError)


def test_arrays_are_filled_as_the_input_says():
    """Arrays are filled as the input says."""
    np = pytest.importorskip("numpy")
    from shapes.testing.references.arrays import array_of

    assert array_of(Input((2, 2), values=(1, 2, 3, 4), dtype="int32")).tolist() == [[1, 2], [3, 4]]
    assert set(array_of(Input((9,), dtype="int64", low=3, high=5)).tolist()) <= {3, 4}
    assert array_of(Input((2, 3), strides=(1, 2))).strides == (4, 8)
    assert Function(np.linalg.qr)(Call((Input((3, 2)),))) == ((3, 2), (2, 2))
    assert np.zeros(1).shape == (1,)


def test_a_failing_rule_is_a_disagreement():
    """A failing rule is a disagreement."""

    def crashes(env, x):
        return (x[3],)

    rule = rule_of(crashes)
    found = disagreement(rule, Call((Input((2,)),)), None)
    assert "the operator refuses, the rule on these sizes fails with IndexError: tuple" in str(found)
    assert disagreement(rule, Call((Input((2,)),)), None, refusals=(IndexError,)) is None
    assert disagreement(rule, Call((Input((2,)),)), ((2,),), refusals=(IndexError,)) is not None


def test_our_own_rules_by_name():
    """A registered operator is checked with its registered arguments."""
    torch = pytest.importorskip("torch")
    from shapes.testing.references.torch_eager import torch_eager

    check_rule("conv2d", torch_eager("conv2d"), examples=30)
    check_rule("cat", torch.cat, examples=60)


def test_operators_of_jax():
    """Functions of JAX can be references."""
    numpy = pytest.importorskip("jax").numpy
    assert Function(numpy.moveaxis, "jax")(Call((Input((2, 3, 4)), 0, 2))) == ((3, 4, 2),)
    assert Function(numpy.concatenate, "jax")(Call(([Input((2, 3)), Input((2, 4))],))) is None


def test_environments_may_be_small():
    """An environment has the size it was given."""
    env = find(environments(symbols=2, facts=0), lambda env: True)
    assert isinstance(env, ShapeEnv)
    assert list(env.names) == ["b", "s"]
