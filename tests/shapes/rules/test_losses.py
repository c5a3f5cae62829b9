"""Losses on symbolic sizes: what predictions and targets have to agree in.

If one of these fails, a rule asks for more than torch does, or pins a size.
"""

import pytest

from shapes import ShapeEnv
from shapes.rules import Refused, Shape, rules
from tests.shapes.rules.expectations import told

TABLE = [
    ("mse_loss", ("b s", "b s"), {}, "Shape()", []),
    ("mse_loss", ("b s", "b 1"), {"reduction": "none"}, "Shape(b, s)", []),
    ("mse_loss", ("b s", "b 1"), {"reduce": False}, "Shape(b, s)", []),
    ("binary_cross_entropy", ("b s", "b t"), {}, "Shape()", ["s == t"]),
    ("gaussian_nll_loss", ("b s", "b s", "b"), {"reduction": "none"}, "Shape(b, s)", []),
    ("cosine_embedding_loss", ("b s", "b s", "b"), {"reduction": "none"}, "Shape(b)", []),
    ("triplet_margin_loss", ("b s", "b s", "b s"), {"reduction": "none"}, "Shape(b)", []),
    ("nll_loss", ("b 4", "b"), {"reduction": "none"}, "Shape(b)", []),
    ("cross_entropy", ("b 4 s t", "b s t", "4"), {"reduction": "none"}, "Shape(b, s, t)", []),
    ("cross_entropy", ("b s", "t"), {}, "Shape()", ["b == t", "s != 0 or t == 0"]),
    ("cross_entropy", ("b s", "b s"), {"reduction": "none"}, "Shape(b)", []),
    ("multi_margin_loss", ("b 4", "b"), {"reduction": "none"}, "Shape(b)", []),
    ("multilabel_margin_loss", ("b 4", "b 4"), {"reduction": "none"}, "Shape(b)", []),
    ("multilabel_soft_margin_loss", ("b s", "b s"), {"reduction": "none"}, "Shape(b)", []),
]


@pytest.mark.parametrize(("name", "arguments", "options", "output", "guards"), TABLE)
def test_losses_of_symbolic_sizes(name, arguments, options, output, guards):
    assert told(name, *arguments, **options) == (output, guards)


def test_targets_of_the_wrong_dtype_are_refused():
    env = ShapeEnv(origin=lambda: None)
    b, c = env.sizes("b c", lo=1)
    with pytest.raises(Refused, match="target: expected classes as integers"):
        rules["cross_entropy"](env, (b, c), Shape((b,), dtype="float32"))
    with pytest.raises(Refused, match="target: expected probabilities"):
        rules["cross_entropy"](env, (b, c), Shape((b, c), dtype="int64"))
