"""Collectives against ranks that are simulated, one array each, in one process.

If one of these fails, a rule gives another shape than the exchange it stands for, refuses what can be exchanged, or
does not know what always holds of the numbers that only a run tells.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shapes import Always, ShapeEnv
from shapes.rules import Refused, rules
from shapes.rules.collectives import exchanged_counts
from shapes.testing.agreement import disagreement
from shapes.testing.calls import Call, Input
from tests.effort import examples
from tests.shapes.rules.expectations import told

SIZES = st.lists(st.integers(0, 6), min_size=1, max_size=3).map(tuple)
GROUP = st.integers(1, 4)


def ranks(shape, group):
    return [np.full(shape, rank) for rank in range(group)]


def simulated(exchange):
    """The sizes on the first rank, the same on all; None where the arrays do not fit."""
    try:
        results = exchange()
    except (ValueError, IndexError):
        return None
    assert len({result.shape for result in results}) == 1
    return (results[0].shape,)


def equal_parts(array, group, axis):
    return np.split(array, group, axis)


def agrees(name, call, exchange):
    found = disagreement(rules[name], call, simulated(exchange))
    assert found is None, str(found)


@settings(max_examples=examples(200), deadline=None, derandomize=True)
@given(SIZES, GROUP, st.integers(-4, 3), st.integers(-4, 3))
def test_equal_parts_agree_with_simulated_ranks(shape, group, axis, other):
    arrays = ranks(shape, group)
    tensor = Input(shape)

    def gather():
        return [np.concatenate(arrays, axis) for _ in range(group)]

    def scatter():
        return [equal_parts(sum(arrays), group, axis)[rank] for rank in range(group)]

    def exchange():
        parts = [equal_parts(array, group, axis) for array in arrays]
        return [np.concatenate([parts[peer][rank] for peer in range(group)], other) for rank in range(group)]

    def exchange_rows():
        parts = [equal_parts(array, group, 0) for array in arrays]
        return [np.concatenate([parts[peer][rank] for peer in range(group)]) for rank in range(group)]

    agrees("all_gather_tensor", Call((tensor, axis, group)), gather)
    agrees("reduce_scatter_tensor", Call((tensor, "sum", axis, group)), scatter)
    agrees("all_to_all", Call((tensor, axis, other, group)), exchange)
    agrees("all_to_all_single", Call((tensor, None, None, group)), exchange_rows)
    agrees("all_reduce", Call((tensor, "max", group)), lambda: [np.maximum.reduce(arrays)] * group)
    agrees("broadcast", Call((tensor, group - 1, group)), lambda: [arrays[-1]] * group)


@settings(max_examples=examples(100), deadline=None, derandomize=True)
@given(st.data(), st.integers(1, 3))
def test_uneven_parts_agree_with_simulated_ranks(data, group):
    counts = [[data.draw(st.integers(0, 3)) for _ in range(group)] for _ in range(group)]
    parts = [np.split(np.full((sum(row), 2), rank), np.cumsum(row)[:-1]) for rank, row in enumerate(counts)]
    env = ShapeEnv(origin=lambda: None)
    rows = [env.symbol(f"n{rank}") for rank in range(group)]
    unknown = exchanged_counts(env, rows)
    values = {n.expr.atom: sum(row) for n, row in zip(rows, counts)}
    values |= {u.expr.atom: count for us, row in zip(unknown, counts) for u, count in zip(us, row)}
    for rank in range(group):
        expected = np.concatenate([parts[peer][rank] for peer in range(group)]).shape
        received = [counts[peer][rank] for peer in range(group)]
        tensor = Input((sum(counts[rank]), 2))
        call = Call((tensor, received, counts[rank], group))
        agrees("all_to_all_single", call, lambda sizes=expected: [np.empty(sizes)])
        output = rules["all_to_all_single"](
            env, (rows[rank], 2), [unknown[peer][rank] for peer in range(group)], unknown[rank], group
        )
        assert (output[0].expr.evaluate(values), output[1]) == expected
    assert env.guards() == () and env.runtime_asserts() == ()


def test_what_is_received_adds_up_to_what_is_sent():
    env = ShapeEnv(origin=lambda: None)
    rows = env.sizes("a b c")
    counts = exchanged_counts(env, rows)
    received = [sum(counts[peer][rank] for peer in range(3)) for rank in range(3)]
    a, b, c = rows
    assert isinstance(env.ask(sum(received) == a + b + c), Always)
    assert isinstance(env.ask(counts[1][2] <= b), Always)
    assert isinstance(env.ask(received[0] <= a + b + c), Always)


def test_numbers_that_only_the_run_tells_are_not_negative_and_no_more_than_a_rank_has():
    env = ShapeEnv(origin=lambda: None)
    rows, kept = env.symbol("rows"), env.symbol("kept")
    sent = [kept, rows - kept]
    with pytest.raises(Refused, match="expected 3 numbers, not 2"):
        rules["all_to_all_single"](env, (rows, 8), None, sent, 3)
    env.assume(kept <= rows)
    output = rules["all_to_all_single"](env, (rows, 8), None, sent, 2, rank=0, peer_rows=rows)
    assert str(output) == "Shape(kept + u0, 8)"
    assert isinstance(env.ask(output[0] <= kept + rows), Always)
    assert isinstance(env.ask(output[0] >= kept), Always)
    assert env.guards() == () and env.runtime_asserts() == ()
    assert str(rules["all_to_all_single"](env, (rows, 8), None, sent, 2)) == "Shape(u1 + u2, 8)"


TABLE = [
    ("all_gather_tensor", ("b s", 0, "$t"), "Shape(b*t, s)", ["t >= 1"]),
    ("reduce_scatter_tensor", ("b s", "sum", -1, 8), "Shape(b, s//8)", ["s % 8 == 0"]),
    ("all_to_all", ("b s d", 1, 2, 4), "Shape(b, s//4, 4*d)", ["s % 4 == 0"]),
    ("all_to_all_single", ("s d", ["$t", "$e"], ["$b", "$h"], 2), "Shape(e + t, d)", ["b + h == s"]),
    ("broadcast", ("s d", "$t", 4), "Shape(s, d)", ["t <= 3"]),
]


@pytest.mark.parametrize(("name", "arguments", "output", "guards"), TABLE)
def test_collectives_of_symbolic_sizes(name, arguments, output, guards):
    assert told(name, *arguments) == (output, guards)


@pytest.mark.parametrize(
    ("name", "arguments", "reason"),
    [
        ("all_reduce", ((2,), "mean", 2), "reduceOp='mean': expected one of sum"),
        ("all_to_all_single", ((4,), [2, 2], None, 2), "input_split_sizes: expected beside"),
        ("all_to_all_single", ((4,), [2, 2], [5, -1], 2), "input_split_sizes: expected no negative number"),
        ("broadcast", ((4,), 2, 2), "src: there is no such rank"),
        ("permute_tensor", ((4,), [0, 0], 2), r"src_dst=\[0, 0\]: expected every rank up to 1 once"),
    ],
)
def test_collectives_refuse_wrong_arguments(name, arguments, reason):
    with pytest.raises(Refused, match=reason):
        rules[name](ShapeEnv(origin=lambda: None), *arguments)
