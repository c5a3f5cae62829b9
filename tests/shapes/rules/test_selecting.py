"""Selecting by value on symbolic sizes: what comes out, and what is known of sizes that only a run can tell.

If one of these fails, a rule asks for more than it needs, or tells less than it knows.
"""

import pytest

from shapes import Always, ShapeEnv
from shapes.rules import Refused, rules
from tests.shapes.rules.expectations import told

TABLE = [
    ("nonzero", ("b s",), {}, "Shape(u0, 2, dtype=int64)", []),
    ("nonzero", ("b s",), {"as_tuple": True}, "(Shape(u0, dtype=int64), Shape(u0, dtype=int64))", []),
    ("argwhere", ("b s 2",), {}, "Shape(u0, 3, dtype=int64)", []),
    ("nonzero_static", ("b s",), {"size": "$t"}, "Shape(t, 2, dtype=int64)", []),
    ("masked_select", ("b s", "s bool"), {}, "Shape(u0)", []),
    ("unique", ("b s",), {"return_inverse": True}, "(Shape(u0), Shape(b, s, dtype=int64))", []),
    ("unique", ("b s",), {"dim": 0}, "Shape(u0, s)", ["s != 0"]),
    ("unique_consecutive", ("s",), {"return_counts": True}, "(Shape(u0), Shape(u0, dtype=int64))", []),
    ("unique_dim", ("3 s", -1), {}, "(Shape(3, u0), Shape(s, dtype=int64), Shape(u0, dtype=int64))", []),
    ("repeat_interleave", ("b s", 3), {}, "Shape(3*b*s)", []),
    ("repeat_interleave", ("b s", 3, 1), {}, "Shape(b, 3*s)", []),
    ("repeat_interleave", ("b s", "s int64", 1), {}, "Shape(b, u0)", []),
    ("repeat_interleave", ("b 5", "t int64", 1), {"output_size": "$e"}, "Shape(b, e)", ["t == 5 or t == 1"]),
    ("bincount", ("s int64",), {"minlength": "$t"}, "Shape(u0, dtype=int64)", []),
    ("bincount", ("s int64", "s int64"), {}, "Shape(u0, dtype=float64)", []),
    ("histc", ("b s", "$t"), {}, "Shape(t)", ["t >= 1"]),
    ("histogram", ("b s", "$t"), {}, "(Shape(t), Shape(t + 1))", ["t >= 1"]),
    ("histogram", ("b s", "t"), {}, "(Shape(t - 1), Shape(t))", ["t >= 2"]),
    ("item", ("b s",), {}, "Shape()", ["b*s == 1"]),
    ("sort", ("b s",), {}, "(Shape(b, s), Shape(b, s, dtype=int64))", []),
    ("argsort", ("b s", 0), {}, "Shape(b, s, dtype=int64)", []),
    ("topk", ("b 9", "$t"), {}, "(Shape(b, t), Shape(b, t, dtype=int64))", ["t <= 9"]),
    ("topk", ("b s", 5, 0), {}, "(Shape(5, s), Shape(5, s, dtype=int64))", ["b >= 5"]),
    ("kthvalue", ("b s", 2), {"keepdim": True}, "(Shape(b, 1), Shape(b, 1, dtype=int64))", ["s >= 2"]),
    ("searchsorted", ("b s", "b t"), {}, "Shape(b, t, dtype=int64)", []),
    ("searchsorted", ("s", "b t"), {"out_int32": True}, "Shape(b, t, dtype=int32)", []),
    ("searchsorted", ("b s", "d t"), {}, "Shape(d, t, dtype=int64)", ["b == d"]),
    ("bucketize", ("b s", "t"), {}, "Shape(b, s, dtype=int64)", []),
]


@pytest.mark.parametrize(("name", "arguments", "options", "output", "guards"), TABLE)
def test_selecting_from_symbolic_sizes(name, arguments, options, output, guards):
    assert told(name, *arguments, **options) == (output, guards)


KNOWN = [
    ("nonzero", ("b s",), {}, ["u0 <= b*s", "u0 >= 0"]),
    ("nonzero", ("3 4",), {}, ["u0 <= 12"]),
    ("masked_select", ("b 1", "s bool"), {}, ["u0 <= b*s"]),
    ("unique", ("b s",), {}, ["u0 <= b*s", "b == 0 or s == 0 or u0 >= 1", "s > 0 or u0 == 0"]),
    ("unique", ("b 3",), {"dim": 0}, ["u0 <= b", "b == 0 or u0 >= 1"]),
    ("repeat_interleave", ("b s", "s int64", 1), {}, ["u0 >= 0", "s > 0 or u0 == 0"]),
    ("bincount", ("s int64",), {"minlength": "$t"}, ["u0 >= t", "s == 0 or u0 >= 1", "s > 0 or u0 == t"]),
    ("one_hot", ("3 int64",), {}, ["u0 >= 1"]),
]


@pytest.mark.parametrize(("name", "arguments", "options", "facts"), KNOWN)
def test_sizes_that_only_a_run_tells_have_bounds(name, arguments, options, facts):
    """If this fails, a program that selects by value has to prove what the operator guarantees."""
    envs = []
    told(name, *arguments, **options, seen=envs.append)
    for fact in facts:
        assert isinstance(envs[0].ask(fact), Always), fact


def test_what_is_counted_needs_elements():
    env = ShapeEnv(origin=lambda: None)
    s = env.symbol("s", lo=1)
    with pytest.raises(Refused, match="out of range"):
        rules["kthvalue"](env, (s, 3), 4)
    with pytest.raises(Refused, match="no element that tells"):
        rules["one_hot"](env, (0, s))
