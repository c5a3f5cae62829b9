"""Indexing and looking up on symbolic sizes: what comes out, what is required, and that nothing is pinned.

If one of these fails, a rule asks for more than it needs, or tells less than it knows.
"""

import pytest

from shapes import Always, ShapeEnv
from shapes.rules import Refused, Shape, rules
from tests.shapes.rules.expectations import told

REACHED = "no index fits an axis without elements"

TABLE = [
    ("index", ("b s d", [None, "t 1 int64"]), "Shape(b, t, 1, d)", ["s != 0 or t == 0"]),
    ("index", ("3 s 4", ["t int64", None, "e 1 int64"]), "Shape(e, t, s)", []),
    ("index", ("b 3 4", [None, "t int64", "e 1 int64"]), "Shape(b, e, t)", []),
    ("index", ("b s d", ["b s bool"]), "Shape(u0, d)", []),
    ("index", ("b s d", [None, "t d bool"]), "Shape(b, u0)", ["s == t"]),
    ("index", ("b 3 d", ["b bool", "1 int64"]), "Shape(u0, d)", []),
    ("index_put", ("3 s", ["t int64"], "s"), "Shape(3, s)", []),
    ("index_put", ("3 s", ["t int64"], "e 1"), "Shape(3, s)", ["e == t or e == 1"]),
    ("index_select", ("3 s", 0, "t int64"), "Shape(t, s)", []),
    ("index_select", ("b s", 1, "t int64"), "Shape(b, t)", ["s != 0 or t == 0"]),
    ("index_add", ("b s", -1, "t int64", "b t"), "Shape(b, s)", []),
    ("index_copy", ("b 3", 1, "t int64", "e t"), "Shape(b, 3)", ["b == e"]),
    ("index_fill", ("b 3", 1, "t int64", 0), "Shape(b, 3)", []),
    ("take", ("3", "b s int64"), "Shape(b, s)", []),
    ("put", ("3", "b s int64", "s b"), "Shape(3)", []),
    ("take_along_dim", ("b 3", "1 t int64", 1), "Shape(b, t)", []),
    ("take_along_dim", ("3 1", "b t int64"), "Shape(b*t)", []),
    ("gather", ("b 3", 1, "b t int64"), "Shape(b, t)", []),
    ("gather", ("3 b", 0, "t 4 int64"), "Shape(t, 4)", ["b >= 4 or t == 0"]),
    ("scatter_add", ("b 3", 1, "b t int64", "b t"), "Shape(b, 3)", []),
    ("masked_scatter", ("b s", "s bool", "d"), "Shape(b, s)", []),
    ("embedding", ("b s int64", "100 d"), "Shape(b, s, d)", []),
    ("embedding", ("b s int64", "t d"), "Shape(b, s, d)", ["t != 0 or b == 0 or s == 0"]),
    ("embedding_bag", ("b 3 int64", "100 d"), "Shape(b, d)", []),
    ("embedding_bag", ("s int64", "100 d", "b int64"), "Shape(b, d)", []),
    ("one_hot", ("b s int64", "$t"), "Shape(b, s, t, dtype=int64)", ["t >= 1"]),
]


@pytest.mark.parametrize(("name", "arguments", "output", "guards"), TABLE)
def test_indexing_of_symbolic_sizes(name, arguments, output, guards):
    assert told(name, *arguments) == (output, guards)


def test_a_mask_picks_at_most_as_many_as_it_has():
    """If this fails, what is known of the number of True in a mask is lost."""
    env = ShapeEnv(origin=lambda: None)
    b, s = env.sizes("b s")
    count = rules["index"](env, (b, s), [Shape((b, s), dtype="bool")])[0]
    assert isinstance(env.ask(count <= b * s), Always)
    assert isinstance(env.ask(count >= 0), Always)


def test_a_mask_broadcasts_with_numbers():
    """If this fails, an index that only a run can judge is refused, or not checked when it runs."""
    env = ShapeEnv(origin=lambda: None)
    b, d = env.sizes("b d")
    found = rules["index"](env, (b, 7, d), [Shape((b,), dtype="bool"), Shape((5,), dtype="int64")])
    assert str(found) == "Shape(5, d)"
    assert [check.text for check in env.runtime_asserts()] == ["u0 == 5 or u0 == 1"]


def test_an_axis_without_elements_is_not_picked_from():
    env = ShapeEnv(origin=lambda: None)
    s = env.symbol("s", lo=1)
    with pytest.raises(Refused, match=REACHED):
        rules["embedding"](env, (s,), (0, 4))
    assert rules["embedding"](env, (0, s), (0, 4)) == (0, s, 4)


def test_sizes_of_a_mask_are_those_of_the_axes():
    env = ShapeEnv(origin=lambda: None)
    s = env.symbol("s", hi=8)
    with pytest.raises(Refused, match="a mask has other sizes"):
        rules["index"](env, (s, 3), [Shape((9,), dtype="bool")])
    assert env.guards() == ()
