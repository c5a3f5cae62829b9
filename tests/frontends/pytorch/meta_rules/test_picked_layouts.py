"""Layouts of advanced indexing, and of operators on operands with different layouts.

A wrong answer raises no error: `stride()` and `as_strided` depend on it, `reshape` views where eager torch copies.
"""

import pytest
import torch

from frontends.pytorch import compile


def rows(*sizes: int) -> torch.Tensor:
    return torch.arange(0, torch.Size(sizes).numel(), dtype=torch.float32).reshape(sizes).sin()


def numbers(*sizes: int) -> torch.Tensor:
    return torch.arange(0, torch.Size(sizes).numel()).reshape(sizes).remainder(2)


def mask(length: int) -> torch.Tensor:
    return torch.arange(length).remainder(2) == 0


PROGRAMS = {
    "indices that are transposed": lambda a, i, b: a[i.t()],
    "of a later axis": lambda a, i, b: a[:, i.t()],
    "in a transposed tensor": lambda a, i, b: a.t()[i.t()],
    "two indices apart": lambda a, i, b: b[i.t(), :, i.t()],
    "two indices together": lambda a, i, b: b[:, i.t(), i.t()],
    "indices of different ranks": lambda a, i, b: b[i.t()[:1], i[:, 0]],
    "the one transposed and broadcast": lambda a, i, b: b[i.t(), torch.zeros(1, 1, dtype=torch.long)],
    "a mask in a permuted tensor": lambda a, i, b: b.permute(2, 1, 0)[mask(b.shape[2])],
    "a mask of a later axis": lambda a, i, b: b.permute(0, 2, 1)[:, mask(b.shape[2])],
    "places of a mask": lambda a, i, b: a.new_ones(9)[(a > -2).nonzero()],
    "combinations": lambda a, i, b: torch.combinations(a[0]),
    "one hot": lambda a, i, b: torch.nn.functional.one_hot(i.t(), 5),
    "isin": lambda a, i, b: torch.isin(a.t(), torch.tensor([0.0])),
    "axes of one element": lambda a, i, b: torch.logical_and(a[:, None], i.t()),
    "heaviside": lambda a, i, b: torch.heaviside(a[:, None], i.t().float()),
}


COUNTED = ("a mask in a permuted tensor", "a mask of a later axis", "places of a mask", "combinations")


@pytest.mark.parametrize("backend", ["eager", "cpu"])
def test_class_out_of_range(backend: str) -> None:
    """If it fails, `one_hot` of a number that is no class gives a row of zeros, and no error."""
    compiled = compile(lambda x: torch.nn.functional.one_hot(x, 5), backend=backend, dynamic=True, fullgraph=True)
    assert compiled(torch.tensor([1, 4])).tolist() == [[0, 1, 0, 0, 0], [0, 0, 0, 0, 1]]
    with pytest.raises(RuntimeError, match="Class values must be smaller than num_classes"):
        compiled(torch.tensor([1, 5, 2]))
