"""Loops divided where pieces meet: along rows, along the lanes, and along what is reduced."""

from __future__ import annotations

import pytest
import torch

from backends.cpu.emission import file_source
from backends.loops.kernels import Kernel
from frontends.pytorch import compile


def rows(x):
    return x * torch.cat((x[:1], x[:-1].tanh()), 0)


def halves_of_rows(x):
    half = x.shape[1] // 2
    return torch.cat((-x[:, half:], x[:, :half]), 1) + x


def rows_and_columns(x):
    x = torch.cat((x[:2], x[2:].exp()), 0)
    return torch.cat((x[..., 1:].tanh(), x[..., :1]), 2) * 2


def whole_numbers(x):
    places = torch.arange(x.shape[0])[:, None, None]
    return torch.cat((places[:1] + 3, places[:-1]), 0) + (x > 0).long()


def summed(x):
    return torch.cat((x[:1], x[:-1].tanh()), 0).sum(0)


def reduced_by_rows(x):
    return torch.cat((x[:1], x[:-1].tanh()), 0).softmax(-1)


def norm_of_rows(x):
    x = x + torch.cat((x[:1], x[:-1]), 0)
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1)


def reduced_between(x):
    return torch.cat((x[:, :1] + 1, x[:, :-1].tanh()), 1).softmax(1)


FUNCTIONS = (
    rows,
    halves_of_rows,
    rows_and_columns,
    whole_numbers,
    summed,
    reduced_by_rows,
    norm_of_rows,
    reduced_between,
)
SIZES = [(3, 4, 5), (2, 2, 1), (1, 3, 16), (7, 1, 33), (5, 6, 70), (130, 65, 40)]


@pytest.fixture(params=[1, 2])
def threads(request):
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_pieces_are_where_they_belong(function, threads):
    """A loop goes over places of another piece, begins a thread's turns in the wrong one, or leaves some out."""
    compiled = compile(function, backend="cpu", dynamic=True)
    for sizes in SIZES:
        x = torch.randn(sizes)
        torch.testing.assert_close(compiled(x), function(x), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_no_piece_is_chosen_element_by_element(function):
    """All pieces are computed for every element, or loaded under masks."""
    compiled = compile(function, backend="cpu", dynamic=True)
    compiled(torch.randn(3, 4, 5))
    (host,) = compiled.variants[0].running.hosts
    kernels = [step for step in host.steps if isinstance(step, Kernel)]
    text = file_source(kernels, host.program.decisions)
    body = text[text.index("void k0") :]
    assert "_where_" not in body and " ? load" not in body and " ? read" not in body
