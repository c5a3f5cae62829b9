"""Masks and counts: what is written through a mask has no unknown size, what is read has one with its facts."""

from __future__ import annotations

import pytest
import torch

from frontends.pytorch import compile, trace
from shapes import Always
from tests.frontends.pytorch.against_eager import Program, admits, agrees

randn = torch.randn


def number(x):
    x = x.clone()
    x[x > 0] = -1.0
    return x


def argument(x):
    x[x > 0] = 0.5
    return x * 2


def tensor_of_one(x):
    x = x.clone()
    x[x > 0] = x.sum()
    return x


def rows(x):
    x = x.clone()
    x[x[:, 0] > 0] = 2.0
    return x


def rows_by_row(x):
    x = x.clone()
    x[x[:, 0] > 0] = x.mean(0)
    return x


def columns(x):
    x = x.clone()
    x[:, x[0] > 0] = 3.0
    return x


def of_a_view(x):
    x = x.clone()
    x[1:][x[1:] < 0] = 9.0
    return x


def turned(x):
    y = x.t().clone()
    y[y > 0] = 1.5
    return y


def added(x):
    return torch.index_put(x, [x > 0], x.max(), accumulate=True), torch.index_put(x.t(), [x.t() > 0], x.max())


def filled(x):
    return x.masked_fill(x > 0, 7.0), x.clone().masked_fill_(x < 0, float("-inf"))


def nan_replaced(x):
    x = torch.where(x > 1, float("nan"), x)
    x[x.isnan()] = 0
    return x


def learned(x):
    x = x.detach().requires_grad_()
    y = x * 2
    y[x > 0] = 0.25
    y[x[:, 0] < 0] = 3.0
    return torch.autograd.grad((y * y).sum(), x)


WRITTEN = [number, argument, tensor_of_one, rows, rows_by_row, columns, of_a_view, turned, added, filled]
WRITTEN += [nan_replaced, learned]


@pytest.mark.parametrize("program", WRITTEN)
def test_written(program: Program) -> None:
    """Fails when writing through a mask gives something else than eager, needs a guard, or an unknown size."""
    variant = agrees(program, (randn(4, 3),), (randn(6, 5),), (randn(5, 2),), (-randn(3, 7).abs(),))
    assert variant.guards == ()
    assert all(symbol.kind == "backed" for symbol in variant.env.symbols.values())
    assert not any("index_put" in node.name for node in variant.graph.graph.nodes)


def test_mask_of_another_size() -> None:
    """Fails when a mask that is too long is broadcast or cut instead of guarded."""

    def program(x, mask):
        x[mask] = 1.0
        return x

    variant = agrees(program, (randn(4, 3), randn(4) > 0), (randn(7, 2), randn(7) > 0))
    assert not admits(variant, (randn(4, 3), randn(5) > 0))
    with pytest.raises(Exception, match="mask has other sizes"):
        trace(program, (randn(4, 3), randn(5) > 0))


def counted_values(x):
    x = x.clone()
    x[x > 0] = x[x > 0] * 2
    return x


def read(x):
    return x[x > 0], x[x[:, 0] > 0].sum(0), x[:, x[0] > 0]


def coordinates(x):
    where = x.nonzero()
    return where.shape[0] * 2, x[where[:, 0]], where.t()


def indices(x):
    i, j = torch.where(x > 0)
    return x[i, j], i + j


def joined(x):
    return torch.cat([x[x > 0], x.reshape(-1)]).softmax(0)


def normalized(x):
    return torch.nn.functional.layer_norm(x[x[:, 0] > 0], x.shape[1:])


def multiplied(x):
    return x[x[:, 0] > 0] @ x.t()


def read_and_learned(x):
    x = x.detach().requires_grad_()
    return torch.autograd.grad((x[x > 0] * 3).sin().sum(), x)


READ = [counted_values, read, coordinates, indices, joined, normalized, multiplied, read_and_learned]


@pytest.mark.parametrize("program", READ)
def test_read(program: Program) -> None:
    """Fails when reading through a mask gives other values or sizes than eager."""
    agrees(program, (randn(4, 3),), (randn(6, 5),), (randn(5, 2),), (-randn(3, 7).abs(),), (randn(1, 1),))


def test_facts_by_construction() -> None:
    """Fails when what holds of a count whatever the data is not known."""
    variant = trace(lambda x: x.nonzero(), (randn(4, 3),))
    env = variant.env
    assert isinstance(env.ask("u0 >= 0"), Always) and isinstance(env.ask("u0 <= x_size0*x_size1"), Always)
    assert variant.runtime_asserts == ()


def test_split_by_data() -> None:
    """Fails when pieces whose sizes are data do not sum to the whole, at run time and in the facts."""

    def program(x, counts):
        first, second = torch.split(x, counts.tolist())
        return torch.cat([second, first]), first.shape[0] + second.shape[0]

    variant = agrees(program, (randn(5, 2), torch.tensor([2, 3])), (randn(9, 3), torch.tensor([0, 9])))
    assert [str(check) for check in variant.runtime_asserts]
    with pytest.raises(RuntimeError):
        variant.graph(randn(9, 3), torch.tensor([1, 2]))


def assigned(x, mask, values):
    y = x * 1
    y[mask] = values(y)
    return y


WRITTEN = {
    "values of another": lambda x, m, v: assigned(x, m, lambda y: v[m]) * x,
    "its own values": lambda x, m, v: assigned(x, m, lambda y: -y[m]).exp(),
    "a number": lambda x, m, v: assigned(x, m, lambda y: 0.5) ** 2,
    "a scalar": lambda x, m, v: assigned(x, m, lambda y: v.sum() * 2) ** 2,
    "counted": lambda x, m, v: assigned(x, m, lambda y: torch.arange(int(m.sum())) * v.sum()) ** 2,
    "a view": lambda x, m, v: assigned((x * 1).t(), m.t(), lambda y: v.t()[m.t()]).t() * x,
    "a column": lambda x, m, v: assigned(x[:, 1], m[:, 1], lambda y: v[:, 0][m[:, 1]]) ** 2,
    "rows": lambda x, m, v: assigned(x, m[:, 0], lambda y: v[m[:, 0]] * 2) ** 2,
    "a row to rows": lambda x, m, v: assigned(x, m[:, 0], lambda y: v[0] * 2) ** 2,
    "added to": lambda x, m, v: assigned(x, m, lambda y: y[m] * v.sum() + 1) ** 2,
    "twice": lambda x, m, v: assigned(assigned(x, m, lambda y: v[m]), x > 0, lambda y: (v * x)[x > 0]),
    "the other one": lambda x, m, v: assigned(v, m, lambda y: x[m]) * x,
    "accumulated": lambda x, m, v: (x * 1).index_put_((m,), v[m], accumulate=True) ** 2,
}


@pytest.mark.parametrize(("backend", "learned"), [("eager", "xv"), ("eager", "v"), ("cpu", "xv")])
@pytest.mark.parametrize("program", WRITTEN.values(), ids=WRITTEN)
def test_written_by_a_mask_with_a_gradient(program, learned, backend) -> None:
    """A check of how many elements a gradient has under the mask is looked for in the forward: there is no graph."""
    compiled = compile(program, backend=backend, dynamic=True, fullgraph=True)
    for rows in (3, 5, 2):
        generator = torch.Generator().manual_seed(rows)
        x, v = [torch.randn(rows, 4, generator=generator) for _ in range(2)]
        mask = torch.rand(rows, 4, generator=generator) > 0.5
        outcomes = []
        for call in (compiled, program):
            given = [each.clone().requires_grad_(name in learned) for name, each in (("x", x), ("v", v))]
            returned = call(given[0], mask.clone(), given[1])
            if returned.requires_grad:
                (returned * torch.linspace(0.5, 1.5, returned.numel()).reshape(returned.shape)).sum().backward()
            outcomes.append((returned.detach(), *[each.grad for each in given]))
        for found, expected in zip(*outcomes):
            assert (found is None) == (expected is None)
            if found is not None:
                torch.testing.assert_close(found, expected)
