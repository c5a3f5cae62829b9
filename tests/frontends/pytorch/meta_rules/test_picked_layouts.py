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
@pytest.mark.parametrize("name", PROGRAMS)
def test_as_in_eager(name: str, backend: str) -> None:
    """If it fails, a result has other strides than in eager torch, or than in the trace."""
    made = PROGRAMS[name]

    def program(a, i, b):
        y = made(a, i, b)
        # whether there is an element is not known where the run tells how many
        return (
            y,
            y.stride(),
            y + 1 if name in COUNTED else y.reshape(-1),
            y if name in COUNTED else y.as_strided((2,), (1,)),
        )

    compiled = compile(program, backend=backend, dynamic=True)
    for n, m, k in ((3, 4, 5), (5, 2, 6), (4, 6, 3)):
        given = rows(n, m), numbers(m, n), rows(2, 3, k)
        found, expected = compiled(*given), program(*given)
        assert found[1] == expected[1] == expected[0].stride() == found[0].stride()
        for place in (0, 2, 3):
            torch.testing.assert_close(found[place], expected[place])
    assert compiled.variants
    assert not compiled.fallbacks


@pytest.mark.parametrize("backend", ["eager", "cpu"])
def test_axis_of_one_element(backend: str) -> None:
    """If it fails, an axis that is broadcast counts for the order of the result's axes."""

    def program(a, b):
        y = torch.logical_and(a, b)
        return y, y.stride(), y.reshape(-1)

    compiled = compile(program, backend=backend, dynamic=True)
    for n, m, k in ((10, 4, 5), (6, 3, 2)):
        given = rows(n, 1, k), rows(k, m).t()
        found, expected = compiled(*given), program(*given)
        assert found[1] == expected[1] == found[0].stride()
        assert torch.equal(found[2], expected[2])


@pytest.mark.parametrize("backend", ["eager", "cpu"])
def test_class_out_of_range(backend: str) -> None:
    """If it fails, `one_hot` of a number that is no class gives a row of zeros, and no error."""
    compiled = compile(lambda x: torch.nn.functional.one_hot(x, 5), backend=backend, dynamic=True, fullgraph=True)
    assert compiled(torch.tensor([1, 4])).tolist() == [[0, 1, 0, 0, 0], [0, 0, 0, 0, 1]]
    with pytest.raises(RuntimeError, match="Class values must be smaller than num_classes"):
        compiled(torch.tensor([1, 5, 2]))
