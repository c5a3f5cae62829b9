"""What torch programs do besides operators: modes, random numbers, checkpoints, recurrent layers, vmap."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch.func import functional_call, grad, vmap
from torch.utils.checkpoint import checkpoint

from frontends.pytorch import trace
from frontends.pytorch.graphs.joint import runner
from tests.frontends.pytorch.against_eager import Program, agrees

randn = torch.randn
torch.manual_seed(0)
weight = torch.nn.Parameter(randn(4, 4))
table = torch.arange(12.0).view(3, 4)


def autocast(x):
    with torch.autocast("cpu", torch.bfloat16):
        y = x @ weight
    return y, y.float().sum() + x.sum()


def autocast_inside(x):
    with torch.autocast("cpu", torch.bfloat16):
        y = x @ weight
        with torch.autocast("cpu", enabled=False):
            z = x @ weight
    return y.detach(), z.detach()


def without_gradient(x):
    x = x.detach().requires_grad_()
    y = x * 2
    with torch.no_grad():
        z = y * 3
        with torch.enable_grad():
            w = y.sin()
    return z.requires_grad, w.requires_grad, torch.autograd.grad((w * z).sum(), x)


def stopped_gradient(x):
    x = x.detach().requires_grad_()
    return torch.autograd.grad((x * x.detach()).sum(), x)


def for_a_profiler(x):
    with torch.profiler.record_function("doubled"):
        y = x * 2
    with torch.autograd.profiler.record_function("a row"):
        return y.softmax(-1)


def dropout(x):
    return F.dropout(x, 0.5) + torch.rand_like(x) * torch.randn(x.shape[0], 1), torch.randperm(x.shape[0])


def random_in_place(x):
    y = torch.empty_like(x).normal_()
    y.bernoulli_(0.5)
    return y + torch.randint(0, 9, (x.shape[0], 1)), torch.multinomial(x.abs() + 0.1, 2)


def checkpointed(x):
    x = x.detach().requires_grad_()

    def block(y):
        return F.dropout((y @ weight).relu(), 0.3)

    y = checkpoint(block, x, use_reentrant=False)
    return y.detach(), *torch.autograd.grad(y.sum(), [x, weight])


def constants(x):
    table_here = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    return x.sum() * table_here, table[: x.shape[0] % 3], x + table[0]


def constant_indices(x):
    return x[torch.tensor([0, -1])], x[[0, 1]], x[:, torch.arange(2)]


def einsum(x):
    return torch.einsum("ij,kj->ik", x, x), torch.einsum("ij,jk,lk->il", x, weight, x).detach()


def batched(x):
    return vmap(lambda row: (row * 2).sin() @ weight)(x).detach(), vmap(vmap(lambda v: v * v))(x)


def batched_gradient(x):
    return vmap(grad(lambda row: (row.sin() * row).sum()))(x)


def double_gradient(x):
    x = x.detach().requires_grad_()
    (first,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    return torch.autograd.grad(first.sum(), x)


class Tied(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Linear(4, 4)
        self.second = torch.nn.Linear(4, 4)
        self.second.weight = self.first.weight

    def forward(self, x):
        return self.second(self.first(x).relu())


tied = Tied()


def tied_weights(x):
    return functional_call(tied, {"first.weight": x[:4].t() @ x[:4]}, (x,)).detach()


def tied_gradient(x):
    return torch.autograd.grad(tied(x).sum(), list(tied.parameters()))


lstm = torch.nn.LSTM(4, 5, num_layers=2, batch_first=True, bidirectional=True)
attention = torch.nn.MultiheadAttention(4, 2, batch_first=True)
encoder = torch.nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True)


def recurrent(x):
    out, (h, c) = lstm(x.unsqueeze(0).expand(2, -1, -1))
    return out.detach(), h.detach(), c.detach()


def attending(x):
    y = x.unsqueeze(0)
    out, weights = attention(y, y, y)
    return out.detach(), weights.detach()


def attending_with_gradient(x):
    x = x.detach().requires_grad_()
    y = x.unsqueeze(0)
    out, _ = attention(y, y, y, need_weights=False)
    return torch.autograd.grad(out.sum(), [x, *attention.parameters()])


def encoded(x):
    return encoder(x.unsqueeze(0)).detach()


def complex_numbers(x):
    y = torch.complex(x, x.flip(0))
    return torch.fft.fft(y, dim=0).abs(), torch.view_as_real(y * y.conj())


def of_dtypes(x):
    return x.half(), x.to(torch.float64), x.int() // 2, (x > 0).sum(), x.to(dtype=torch.bool)


def in_containers(x):
    return {"a": x + 1, "b": [x * 2, (x.shape[0], None, "text")]}


PROGRAMS = [autocast, autocast_inside, without_gradient, stopped_gradient, dropout, random_in_place]
PROGRAMS += [checkpointed, constants, constant_indices, einsum, batched, batched_gradient, double_gradient]
PROGRAMS += [tied_weights, tied_gradient, attending, attending_with_gradient, encoded, complex_numbers, of_dtypes]
PROGRAMS += [in_containers, for_a_profiler]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda each: each.__name__)
def test_as_eager(program: Program) -> None:
    """Fails when a graph does something else than the program, with the same seed, at any size."""
    agrees(program, (randn(5, 4),), (randn(8, 4),), (randn(6, 4),))


def test_recurrent() -> None:
    """Fails when a recurrent layer is wrong; as many steps are taken as the traced sequence has."""
    agrees(recurrent, (randn(5, 4),))


def test_gradient_needs_no_inputs_gradient() -> None:
    """Fails when a program whose parameters alone are learned has no backward."""
    variant = trace(tied, (randn(3, 4),), gradients=True)
    (y,) = runner(variant)([randn(5, 4)])
    y.sum().backward()
    assert tied.first.weight.grad is not None
    tied.zero_grad()
