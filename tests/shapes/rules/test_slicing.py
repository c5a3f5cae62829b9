"""Slices of symbolic sizes with symbolic bounds, and NumPy's, which may go backwards.

If one of these fails, a bound pins a size, or a slice has another length than the real one.
"""

import operator

import pytest
from hypothesis import HealthCheck, given, settings

from shapes import ShapeEnv
from shapes.rules import Refused, Shape, rules
from shapes.testing.agreement import disagreement
from shapes.testing.arguments.slicing import indexed
from tests.effort import examples

CASES = [
    ("getitem", lambda s, t: [(s, 8), slice(1, None)], "Shape(max(s - 1, 0), 8)", []),
    ("getitem", lambda s, t: [(s, 8), slice(None, -1)], "Shape(max(s - 1, 0), 8)", []),
    ("getitem", lambda s, t: [(s, 8), slice(None, t)], "Shape(min(s, t), 8)", []),
    ("getitem", lambda s, t: [(s, 8), slice(t, t + 4)], "Shape(max(min(s - t, 4), 0), 8)", []),
    ("getitem", lambda s, t: [(s, 8), slice(-3, None)], "Shape(min(s, 3), 8)", []),
    ("getitem", lambda s, t: [(s, 8), slice(None, None, 2)], "Shape(ceildiv(s, 2), 8)", []),
    ("getitem", lambda s, t: [(s, 8), (..., 0)], "Shape(s)", []),
    ("getitem", lambda s, t: [(s, 8), (-1, None)], "Shape(1, 8)", ["s >= 1"]),
    ("getitem", lambda s, t: [(s, 8), (t,)], "Shape(8)", ["s > t"]),
    (
        "getitem",
        lambda s, t: [Shape((s, 8), strides=(8, 1)), (slice(2, None), slice(None, None, 4))],
        "Shape(max(s - 2, 0), 2, strides=(8, 4))",
        [],
    ),
    ("numpy.getitem", lambda s, t: [(s,), slice(None, None, -1)], "Shape(s)", []),
    ("narrow", lambda s, t: [(s, 8), 0, t, 2], "Shape(2, 8)", ["t + 2 <= s"]),
    ("select", lambda s, t: [(s, 8), 0, -1], "Shape(8)", ["s >= 1"]),
    ("slice_scatter", lambda s, t: [(s, 8), (t, 8), 0, 2, None], "Shape(s, 8)", ["max(s - 2, 0) == t"]),
    ("diagonal_scatter", lambda s, t: [(s, s), (s,)], "Shape(s, s)", []),
]


@pytest.mark.parametrize("name, arguments, expected, required", CASES)
def test_a_slice_of_symbolic_sizes(name, arguments, expected, required):
    env = ShapeEnv(origin=lambda: None)
    found = rules[name](env, *arguments(*env.sizes("s t")))
    assert repr(found) == expected
    assert [guard.text for guard in env.guards()] == required
    assert env.specializations() == ()


def test_torch_does_not_go_backwards():
    env = ShapeEnv(origin=lambda: None)
    with pytest.raises(Refused, match="step of -1"):
        rules["getitem"](env, (env.symbol("s"),), slice(None, None, -1))


def test_a_truth_value_is_no_index():
    with pytest.raises(Refused, match="not True"):
        rules["getitem"](ShapeEnv(origin=lambda: None), (2, 3), True)


@pytest.mark.hypothesis
def test_numpy_indexing_agrees_with_numpy():
    numpy = pytest.importorskip("numpy")

    def by_numpy(call):
        args, _ = call.replaced(lambda tensor: numpy.ones(tuple(tensor)))
        try:
            return (operator.getitem(*args).shape,)
        except (IndexError, ValueError):
            return None

    @settings(max_examples=examples(100), deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(indexed(backwards=True))
    def agrees(call):
        found = disagreement(rules["numpy.getitem"], call, by_numpy(call))
        assert found is None, str(found)

    agrees()
