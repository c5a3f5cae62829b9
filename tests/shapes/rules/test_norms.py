"""Normalizing layers and distances on symbolic sizes.

If one of these fails, a rule pins a size, or asks for more than one number where there is one for sure.
"""

import pytest

from tests.shapes.rules.expectations import told

TABLE = [
    ("softmax", ("b s", 1), {}, "Shape(b, s)", []),
    ("gumbel_softmax", ("b s",), {"hard": True}, "Shape(b, s)", ["s != 0"]),
    ("layer_norm", ("b s h", ["$h"], "h", "h"), {}, "Shape(b, s, h)", []),
    ("native_layer_norm", ("b s", ["$s"], "s", None, 1e-5), {}, "(Shape(b, s), Shape(b, 1), Shape(b, 1))", []),
    ("batch_norm", ("b s", "s", "s"), {}, "Shape(b, s)", []),
    ("batch_norm", ("b 3 h", None, None), {"training": True}, "Shape(b, 3, h)", ["b != 1 or h != 1"]),
    ("batch_norm", ("b 3 4", None, None), {"training": True}, "Shape(b, 3, 4)", []),
    ("instance_norm", ("b s h 2",), {}, "Shape(b, s, h, 2)", []),
    ("group_norm", ("b 32 h", 8, "32", "32"), {}, "Shape(b, 32, h)", []),
    ("cosine_similarity", ("b s", "t s"), {"dim": 1}, "Shape(t if b == 1 else b)", ["b == t or b == 1 or t == 1"]),
    ("cdist", ("b s h", "b t h"), {}, "Shape(b, s, t)", []),
    ("pairwise_distance", ("b s", "b s"), {"keepdim": True}, "Shape(b, 1)", []),
    ("pdist", ("b s",), {}, "Shape((b**2 - b)//2)", []),
]


@pytest.mark.parametrize(("name", "arguments", "options", "output", "guards"), TABLE)
def test_norms_of_symbolic_sizes(name, arguments, options, output, guards):
    assert told(name, *arguments, **options) == (output, guards)
