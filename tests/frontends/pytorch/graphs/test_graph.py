"""Graphs as modules of torch: their text says what was recorded."""

import torch

from backends import eager
from frontends.pytorch import trace


def test_a_power_of_a_negative_number() -> None:
    """The text of a graph keeps the sign of a power's base."""

    def program(x):
        return x.new_zeros(()) + (-2) ** x.shape[0]

    variant = trace(program, (torch.ones(4),))
    for size in (3, 6, 7):
        x = torch.ones(size)
        assert torch.equal(variant.graph(x)[0], program(x))
        assert torch.equal(eager.runner(variant.graph)((x,))[0], program(x))


def test_the_text_is_there_for_those_who_look() -> None:
    """A graph whose text is made late still has it, and is a module."""
    variant = trace(lambda x: x.relu() + 1, (torch.ones(4),))
    assert "torch.ops.aten.relu.default(x)" in variant.graph.code
    assert "relu_default" in str(variant.graph)
    again = trace(lambda x: x.relu() + 1, (torch.ones(4),)).graph
    assert torch.equal(again(-torch.ones(2))[0], torch.ones(2))
