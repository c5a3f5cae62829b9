"""Rules as they are registered: what a wrong call says.

If one of these fails, who calls a rule wrongly does not read which, or not what it takes.
"""

import pytest

from shapes import ShapeEnv
from shapes.rules import Refused, rules


@pytest.mark.parametrize("name", ["elu", "mse_loss", "conv2d", "leaky_relu"])
def test_an_argument_that_an_operator_lacks_names_the_operator(name):
    with pytest.raises(TypeError, match=rf"^{name}\(\) got an unexpected keyword argument 'bogus'"):
        rules[name](ShapeEnv(), bogus=1)


def test_an_unknown_mode_of_padding_names_all_of_them():
    with pytest.raises(Refused, match="expected 'constant', 'reflect', 'replicate' or 'circular'"):
        rules["pad"](ShapeEnv(), (2, 3), (1, 1), mode="zero")
