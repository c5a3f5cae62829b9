"""Attention on symbolic sizes: what comes out, what is required, and that nothing is pinned.

If one of these fails, a rule asks for more than it needs, or tells less than it knows.
"""

import pytest

from shapes import ShapeError
from tests.shapes.rules.expectations import told

TABLE = [
    ("scaled_dot_product_attention", ("b h s d", "b h t d", "b h t e"), {"is_causal": True}, "Shape(b, h, s, e)", []),
    (
        "scaled_dot_product_attention", ("b 8 s d", "b 2 t d", "b 2 t d", "s t"), {"enable_gqa": True},
        "Shape(b, 8, s, d)",
        [],
    ),
    ("scaled_dot_product_attention", ("b h s d", "b h t d", "b h e d"), {}, "Shape(b, h, s, d)", ["e == t"]),
    (
        "multi_head_attention_forward", ("s b 64", "t b 64", "t b 64", 64, 8,
        "192 64", None, None, None, True, 0.0, "64 64", "64"), {},
        "(Shape(s, b, 64), Shape(b, s, t + 1))",
        [],
    ),
]


@pytest.mark.parametrize(("name", "arguments", "options", "output", "guards"), TABLE)
def test_attention_of_symbolic_sizes(name, arguments, options, output, guards):
    assert told(name, *arguments, **options) == (output, guards)


def test_attention_refuses_groups_without_a_head():
    with pytest.raises(ShapeError, match="there are no heads"):
        told("scaled_dot_product_attention", "b 4 s d", "b 0 t d", "b 0 t d", enable_gqa=True)
