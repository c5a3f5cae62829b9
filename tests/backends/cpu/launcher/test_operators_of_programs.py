"""Operators inside of host programs in C: results beside those of the Python host, and what is left to that."""

from __future__ import annotations

from random import Random

import pytest
import torch
from torch.nn import functional as F

from backends.cpu.operators import operator
from frontends.pytorch.variants.compiled_graph import CompiledGraph

WEIGHT, BIAS = torch.randn(6, 8), torch.randn(8)
needs_c = pytest.mark.skipif(operator(torch.mm) is None, reason="there is no compiler, or no fused multiply-add")


def linear(x, w, b):
    return torch.addmm(b, x, w).relu() * 2


def chained(x, w, b):
    return torch.mm(torch.addmm(b, x, w), w.t()) + x


def of_views(x, w, b):
    wide = torch.addmm(b, x, w)
    return torch.mm(wide[:, 2:5], wide[:3, :4]), wide[1:, 3:].sum(1)


def attended(x, w, b):
    q = torch.addmm(b, x, w).reshape(1, x.shape[0], 2, 4).transpose(1, 2)
    return F.scaled_dot_product_attention(q, q * 2, q + 1, is_causal=True, scale=0.3)


def embedded(x, w, b):
    return F.embedding(x.abs().long() % 3, w) * b


def compiled(function):
    def program(*args):
        return results_of(function, args)

    return CompiledGraph(program, ["x", "w", "b"], program, backend="cpu")


def results_of(function, args):
    found = function(*args)
    return found if isinstance(found, tuple) else (found,)


@needs_c
@pytest.mark.parametrize("function", [linear, chained, of_views, attended, embedded])
def test_values(function):
    """An operand begins elsewhere or has another layout, or a temporary is overwritten before it is read."""
    graph = compiled(function)
    for rows in (3, 5, 4, 17, 1000, 3):
        args = torch.randn(rows, 6), WEIGHT, BIAS
        with torch.no_grad():
            found, expected = graph(*args), results_of(function, args)
        for ours, eager in zip(found, expected, strict=True):
            torch.testing.assert_close(ours, eager, atol=1e-4, rtol=1e-4)
            assert ours.stride() == eager.stride()
    assert graph.native.programs


@needs_c
def test_what_is_left_to_torch():
    """Many elements, or indices out of range, are not left to the Python host and torch."""
    graph = compiled(chained)
    small, large = torch.randn(3, 6), torch.randn(1 << 16, 6)
    with torch.no_grad():
        graph(small, WEIGHT, BIAS)
        assert graph.entry((small, WEIGHT, BIAS), {}) is not NotImplemented
        assert graph.entry((large, WEIGHT, BIAS), {}) is NotImplemented
        torch.testing.assert_close(graph(large, WEIGHT, BIAS)[0], chained(large, WEIGHT, BIAS), atol=1e-4, rtol=1e-4)
        rows = lambda i, w: (F.embedding(i, w),)  # noqa: E731
        embedding = CompiledGraph(rows, ["i", "w"], rows, backend="cpu")
        assert torch.equal(embedding(torch.tensor([2, 0]), WEIGHT)[0], WEIGHT[[2, 0]])
        with pytest.raises(IndexError):
            embedding(torch.tensor([2, 6]), WEIGHT)


def test_large_operators_have_no_program_in_c():
    """A graph that is traced with many elements tries a program in C at each call."""
    graph = compiled(linear)
    with torch.no_grad():
        graph(torch.randn(1 << 16, 6), WEIGHT, BIAS)
    assert graph.entry is None


STEPS = {
    "product": lambda x, w, b: x @ w @ w.t(),
    "bias": lambda x, w, b: torch.addmm(b, x, w)[:, 2:],
    "by itself": lambda x, w, b: (x @ x.t()).softmax(-1) @ x,
    "turned": lambda x, w, b: (w[:, :6] @ x.t()).t(),
    "attention": lambda x, w, b: attended(x, w, b).transpose(1, 2).flatten(2)[0, :, :6],
    "rows": lambda x, w, b: F.embedding(torch.arange(x.shape[0]) % 3, w)[:, :6] + x,
    "halves": lambda x, w, b: torch.cat([x[:, 3:], x[:, :3]], 1),
}


@needs_c
@pytest.mark.parametrize("seed", range(4))
def test_random_chains(seed):
    """A temporary is overwritten before its last use, or a result by a later call."""
    steps = Random(seed).choices(list(STEPS), k=5)

    def chain(x, w, b):
        found = [x]
        for step in steps:
            found.append(STEPS[step](found[-1], w, b).tanh())
        return found[-1], found[2] + found[-1]

    graph, kept = compiled(chain), []
    layouts = (lambda x: x, lambda x: x.t().contiguous().t(), lambda x: x[:1].expand(x.shape))
    with torch.no_grad():
        for rows, layout in zip((3, 5, 4, 17, 130, 3), layouts * 2):
            args = layout(torch.randn(rows, 6)), WEIGHT, BIAS
            kept.append((graph(*args), chain(*args)))
    for found, expected in kept:
        for ours, eager in zip(found, expected, strict=True):
            torch.testing.assert_close(ours, eager, atol=1e-3, rtol=1e-3)
            assert ours.stride() == eager.stride()
