"""Changes in place, views, shared memory and constants: a graph does to tensors what the program did to them."""

from __future__ import annotations

import pytest
import torch

from frontends.pytorch import compile, trace
from frontends.pytorch.errors import Unsupported
from tests.frontends.pytorch.against_eager import Program, admits, agrees

randn = torch.randn


def argument(x):
    x.add_(1)
    return x * 2


def view_of_argument(x):
    x.view(-1).mul_(2)
    return x + 1


def row_of_argument(x):
    x[0].fill_(3.0)
    x[:, 1:] += 1
    return x.sum(0)


def overlapping_views(x):
    y = x.clone()
    whole, part = y.view(-1), y[0]
    whole.add_(1)
    part.mul_(2)
    whole[1:3].zero_()
    return part, y


def expanded_then_copied(x):
    y = x.unsqueeze(0).expand(3, *x.shape).contiguous()
    y[1].neg_()
    return y


def outputs_share(x):
    return x.t(), x, x[0], x.view(-1)


def argument_is_output(x):
    return x, x


def fresh_outputs_share(x):
    y = x + 1
    return y, y[0], y.t()


def given_tensors(x, y):
    out = torch.empty_like(x)
    torch.add(x, y, out=out)
    torch.mul(out, y, out=x)
    return out


def given_tensor_resized(x, y):
    out = torch.empty(0)
    before = out.detach()
    torch.add(x, y, out=out)
    return out.t(), out.shape[0] * 2, before.shape[0]


def given_argument_and_another(x, y, z):
    torch.add(x, y, out=x)
    torch.add(x, y, out=z)
    return z


def resized(x):
    y = x.clone()
    y.resize_(x.shape[1], x.shape[0])
    return y, y.shape[0] + 1


def data_written(x):
    x.data.add_(1)
    return x * 1


def set_to_another(x, y):
    z = x.clone()
    z.set_(y)
    z.add_(1)
    return z


def turned_in_place(x):
    y = x.clone()
    z = y.detach()
    y.t_()
    rows = y.shape[0]
    y.unsqueeze_(0).transpose_(0, 2)
    return y, z, rows, torch.ones(y.shape)


def swapped(x, y):
    kept = x.clone()
    x.copy_(y)
    y.copy_(kept)


def strided_in_place(x):
    y = x.clone()
    y.as_strided((2, 2), (1, 2)).add_(1)
    y.diagonal().fill_(7)
    return y


def index_written(x, i):
    x[i] = 1.0
    x.index_add_(0, i, torch.ones(i.shape[0], x.shape[1]))
    return x


def written_down(x):
    c = torch.tensor([1.0, 2.0])
    c.add_(1)
    return x.sum() + c, c


def written_number(x):
    c = torch.tensor(3)
    return x * c.item(), torch.ones(c.item() + 1)


def written_numbers(x):
    a, b = torch.tensor([2, 3]).tolist()
    return x * a + b, torch.ones(a, b)


def written_number_changed(x):
    c = torch.tensor(3)
    c.add_(1)
    return x * c.item()


def scattered(x):
    y = torch.zeros(x.shape[0], x.shape[1])
    y.scatter_(1, x.argmax(1, keepdim=True), 1.0)
    return y


def in_a_loop(x):
    rows = []
    for row in x.split(1):
        row.mul_(2)
        rows.append(row.sum())
    return torch.stack(rows)


ONE = {argument, view_of_argument, row_of_argument, overlapping_views, expanded_then_copied, outputs_share}
ONE |= {argument_is_output, fresh_outputs_share, data_written}
ONE |= {written_number, written_numbers, written_number_changed, scattered}
"""The programs whose graphs have a form without changes in place: `graphs/test_functional.py` checks both."""


@pytest.mark.parametrize("program", [strided_in_place, written_down])
def test_one_argument(program: Program) -> None:
    """Fails when a change in place is lost, done twice, or seen by a tensor that does not share the memory."""
    agrees(program, (randn(4, 3),), (randn(7, 3),), (randn(5, 3),))


@pytest.mark.parametrize("program", [given_tensor_resized, set_to_another, lambda x, y: resized(x * y)])
def test_other_memory(program: Program) -> None:
    """Fails when `resize_`, `set_` or `out=` leave the wrong tensor changed: a trace refuses them."""
    with pytest.raises(Unsupported, match=r"the memory of a tensor changes|resized to the result"):
        trace(program, (randn(4, 3), randn(4, 3)))
    compiled = compile(program, dynamic=True)
    for sizes in ((4, 3), (7, 5)):
        given = randn(*sizes), randn(*sizes)
        copies = [each.clone() for each in given]
        torch.testing.assert_close((compiled(*given), given), (program(*copies), tuple(copies)))


def test_what_is_written_is_told_apart() -> None:
    """Fails when two calls with the same kinds of tensors are taken for one though another argument is written."""
    agrees(given_argument_and_another, (randn(4, 3), randn(4, 3), randn(4, 3)), (randn(2, 5), randn(2, 5), randn(2, 5)))


def test_a_loop_over_pieces() -> None:
    """Fails when pieces of an argument lose their tie to it, or how many there are is no guard."""
    variant = trace(in_a_loop, (randn(4, 3),))
    assert not admits(variant, (randn(5, 3),)) and not admits(variant, (randn(3, 3),))


def test_the_same_tensor_twice() -> None:
    """Fails when a graph traced with two tensors is wrong where both are the same one."""

    def program(x, y):
        x.add_(1)
        y.mul_(2)
        return x * y

    tensor, other = randn(4, 3), randn(2, 5)
    agrees(program, (tensor, tensor), (other, other), (randn(3, 4), randn(3, 4)))


def test_views_of_one_tensor_as_arguments() -> None:
    """Fails when arguments that overlap are treated as apart."""

    def program(x, y):
        x.add_(1)
        return x * 2, y + 1

    base, other = randn(6, 4), randn(9, 5)
    agrees(program, (base[1:], base[:-1]), (other[1:], other[:-1]))


def test_strided_arguments() -> None:
    """Fails when a graph takes an argument that is turned or sliced for a packed one."""

    def program(x):
        x.mul_(2)
        return x.t() + 1, x[1:]

    agrees(program, (randn(4, 3).t(),), (randn(6, 5).t(),))
    agrees(program, (randn(4, 6)[:, ::2],), (randn(7, 8)[:, ::2],))


class Counting(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))
        self.register_buffer("seen", torch.zeros(2))

    def forward(self, x):
        self.calls += 1
        self.seen.add_(x.sum())
        return x * self.calls + self.seen[0]


def test_buffers() -> None:
    """Fails when tracing changes a buffer, puts a tensor of the trace in its place, or a run does not change it."""
    module, same = Counting(), Counting()
    variant = trace(module, (randn(3),))
    assert type(module.calls) is torch.Tensor and module.calls == 0
    for x in (randn(3), randn(5)):
        expected = same(x)
        (got,) = variant.graph(x)
        torch.testing.assert_close(got, expected)
        torch.testing.assert_close(module.seen, same.seen)


buffer = torch.zeros(4, 2)


@pytest.mark.parametrize("program", [lambda x: buffer.t_() + x, lambda x: x.t_() + 1, lambda x: x.resize_(2, 2)])
def test_sizes_of_the_callers_changed(program: Program) -> None:
    """Fails when a tensor of the caller is left unchanged without an error, or changed by the trace."""
    x = randn(2, 4)
    with pytest.raises(Unsupported, match="changes its sizes in place"):
        trace(program, (x,))
    assert x.shape == (2, 4)


def test_statistics_without_a_result() -> None:
    """Fails when batch normalization is left out because nobody uses what it gives."""
    norm = torch.nn.BatchNorm1d(3)

    def program(x):
        norm(x)
        return x + 1

    variant = trace(program, (randn(4, 3),))
    variant.graph(torch.ones(5, 3))
    torch.testing.assert_close(norm.running_mean, torch.full((3,), 0.1))


def reshaped_and_written(x):
    y = x.t().reshape(-1)
    y.add_(1)
    return x * 2


def packed_and_source_written(x):
    y = x.t().contiguous()
    x.mul_(2)
    return y + 1


@pytest.mark.parametrize("program", [reshaped_and_written, packed_and_source_written])
def test_a_copy_that_may_be_a_view(program: Program) -> None:
    """Fails when a write is lost, or seen, at the sizes where `reshape` and `contiguous` give a view."""
    variant = agrees(program, (randn(4, 3),), (randn(2, 5),))
    assert not admits(variant, (randn(4, 1),)) and not admits(variant, (randn(1, 4),))
    agrees(program, (randn(4, 1),), (randn(3, 1),))


def test_a_copy_that_nobody_tells_from_a_view() -> None:
    """Fails when copies that are only read cost guards."""
    variant = agrees(lambda x: x.t().reshape(-1).relu() + x.sum(), (randn(4, 3),), (randn(4, 1),), (randn(1, 1),))
    assert variant.guards == ()
