"""Layouts of results depend on strides of arguments: a graph is not reused where they lead to another layout."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
import torch

from frontends.pytorch import compile

SPREAD = torch.arange(64.0)
LAYOUTS = {
    "with gaps": SPREAD.as_strided((3, 3), (12, 2)),
    "repeated inside": SPREAD.as_strided((3, 3), (1, 0)),
    "repeated outside": SPREAD.as_strided((3, 5), (0, 1)),
    "rows of a wider one": SPREAD.as_strided((5, 3), (8, 1)),
    "overlapping": SPREAD.as_strided((2, 3), (1, 1)),
}


def transposed(x: torch.Tensor) -> torch.Tensor:
    y = x.t().relu()
    return y * 1 if y.is_contiguous() else y * 100


def strided(x: torch.Tensor) -> torch.Tensor:
    return x * 2 if x.stride(0) == 0 else x * 3


@pytest.mark.parametrize("program", [transposed, strided])
def test_a_graph_is_for_its_layouts(program: Callable[[torch.Tensor], torch.Tensor]) -> None:
    """A graph captured for one layout is called for another, and its result is unlike eager's."""
    for names in itertools.permutations(LAYOUTS, 2):
        compiled = compile(program, dynamic=True)
        for name in names:
            x = LAYOUTS[name]
            assert torch.equal(compiled(x), program(x)), names
