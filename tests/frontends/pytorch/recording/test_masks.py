"""Masks and counts: what is written through a mask has no unknown size, what is read has one with its facts."""

from __future__ import annotations

import pytest
import torch

from frontends.pytorch import trace
from shapes import Always
from tests.frontends.pytorch.against_eager import Program, admits, agrees
from tests.frontends.pytorch.graphs.masked_forms import UPDATES

randn = torch.randn


def argument(x):
    x[x > 0] = 0.5
    return x * 2


def rows_and_columns(x, m, z):
    y = x * 1
    y[m[:, 0]] = 2.0
    y[:, m[0]] = 3.0
    return y


def of_a_view(x):
    x = x.clone()
    x[1:][x[1:] < 0] = 9.0
    return x


def added(x):
    return torch.index_put(x, [x > 0], x.max(), accumulate=True), torch.index_put(x.t(), [x.t() > 0], x.max())


def nan_replaced(x):
    x = torch.where(x > 1, float("nan"), x)
    x[x.isnan()] = 0
    return x


OWN = {each.__name__: lambda x, m, z, own=each: own(x) for each in (argument, of_a_view, added, nan_replaced)}
WRITTEN = OWN | {name: UPDATES[name] for name in ("a number", "a scalar", "masked_fill", "masked_fill_")}
WRITTEN |= {"rows": lambda x, m, z: torch.index_put(x, [m[:, 0]], z[0]), "columns": rows_and_columns}


@pytest.mark.parametrize("name", WRITTEN)
def test_written(name: str) -> None:
    """Fails when writing through a mask gives something else than eager, needs a guard, or an unknown size."""

    def program(x):
        return WRITTEN[name](x, x > 0, x * 3)

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
