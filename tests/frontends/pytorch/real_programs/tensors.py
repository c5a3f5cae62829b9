"""Tensors in programs: changes in place, views, tensors given twice, dtypes, gradients within the call; and ways to
call them: compiled twice, copied, pickled, with other sizes, kinds and modes."""

from __future__ import annotations

import copy
import math
from typing import Any

import torch
import torch.nn.functional as F

from tests.frontends.pytorch.real_programs.running import Call, Compiling, Made, of_one, program

Tensor = torch.Tensor
in_place, views, dtypes, sizes, gradients = map(of_one, ("in place", "views", "dtypes", "sizes", "gradients"))


@in_place
def an_argument_is_changed(x: Tensor) -> Tensor:
    x.mul_(2).add_(1)
    return x.sum()


@in_place
def an_argument_is_changed_and_given_back(x: Tensor) -> Tensor:
    return x.mul_(2)


@in_place
def rows_are_set(x: Tensor) -> Tensor:
    y = x.clone()
    y[0] = 1.0
    y[:, 1] = x[:, 0] * 2
    y[..., -1] += 5
    y[y > 2] = 0
    return y


@in_place
def an_output_is_given(x: Tensor) -> object:
    out = torch.empty_like(x)
    got = torch.mul(x, 2, out=out)
    return out, got is out


@in_place
def added_to_itself(x: Tensor) -> Tensor:
    y = x
    y += 1
    y *= x
    return y - x


@in_place
def what_was_read_before(x: Tensor) -> object:
    before = x * 1
    same = x
    x.zero_()
    return before, same, x + 1


@program("in place")
def a_buffer_outside_is_changed(compiling: Compiling) -> Made:
    total = torch.zeros(4)
    compiled = compiling(lambda x: total.add_(x.sum(0)).clone())
    return lambda size: compiled(torch.randn(size, 4)), lambda: total


@program("in place")
def a_view_of_an_argument_is_changed(compiling: Compiling) -> Call:
    def f(x: Tensor) -> Tensor:
        x.t()[0].fill_(3.0)
        x.view(-1)[1:3].neg_()
        return x.sum(1)

    compiled = compiling(f)

    def call(size: int) -> object:
        x = torch.randn(size, 4)
        return compiled(x), x

    return call


@program("in place")
def two_views_of_one_tensor_are_given(compiling: Compiling) -> Call:
    def f(a: Tensor, b: Tensor) -> Tensor:
        a.add_(b)
        return a * b

    compiled = compiling(f)

    def call(size: int) -> object:
        x = torch.randn(size + 1, 4)
        return compiled(x[:-1], x[1:].clone()), compiled(x[:1], x[1:2]), compiled(x[:-1], x[:-1]), x

    return call


@program("in place")
def a_view_and_what_it_is_of(compiling: Compiling) -> Call:
    def f(a: Tensor, b: Tensor) -> Tensor:
        a.mul_(2)
        return a.sum() + b.sum()

    compiled = compiling(f)

    def call(size: int) -> object:
        x = torch.randn(size, 4)
        return compiled(x, x[0]), compiled(x[0], x), x

    return call


@program("in place")
def a_result_that_is_changed_by_the_caller(compiling: Compiling) -> Call:
    compiled = compiling(lambda x: (x.view(-1), x[0], x * 2))

    def call(size: int) -> object:
        x = torch.randn(size, 4)
        flat, row, y = compiled(x)
        flat[0] = 100.0
        row.add_(1)
        return x, flat, row, y

    return call


@views
def views_of_an_argument(x: Tensor) -> object:
    return x.t(), x[:, 1:], x.unsqueeze(0).expand(2, -1, -1), x.reshape(-1), x


@views
def the_argument_itself(x: Tensor) -> Tensor:
    return x


@views
def twice_the_same(x: Tensor) -> object:
    y = x * 2
    return y, y, [y]


@views
def pieces_of_a_tensor(x: Tensor) -> object:
    a, b = x.split(2, 1)
    c, *_ = x.chunk(2, 0)
    return a * b, c + 1, torch.cat([a, b], 1), [each.sum() for each in x.unbind(1)]


@views
def strides_and_layout(x: Tensor) -> object:
    y = x.t()
    return y.is_contiguous(), y.stride(), y.contiguous(), x.permute(1, 0).reshape(2, -1), x.as_strided((2, 2), (4, 1))


@views
def indices_of_each_kind(x: Tensor) -> object:
    rows = torch.tensor([0, -1])
    return x[rows], x[:, [0, 2]], x[None], x[..., 0], x[x.shape[0] // 2 :], x[-1], x[::2], x[rows, [1, 2]]


@views
def windows_and_diagonals(x: Tensor) -> Tensor:
    return x.unfold(1, 2, 1).mean(-1) + torch.diagonal(x.unsqueeze(1).expand(-1, 3, 4), dim1=1, dim2=2).sum()


@views
def padding_and_rolling(x: Tensor) -> Tensor:
    y = x.view(1, 1, -1, 4)
    return F.pad(y, (1, 1, 0, 0), mode="replicate").movedim(-1, 0).flatten(1).roll(1, 0)


@dtypes
def promotion_of_dtypes(x: Tensor) -> object:
    n, d, h = torch.ones(4, dtype=torch.int64), torch.ones(4, dtype=torch.float64), torch.ones((), dtype=torch.half)
    return x * n, x * d, n / 2, n // 2, x * h, n + 1.5, n > 0.5, x + torch.tensor(True), 2**n, h * n


@dtypes
def conversions_of_dtypes(x: Tensor) -> object:
    y = x.to(torch.float64)
    return y.float(), x.int(), x.bool(), x.type_as(y), x.half() * 2, y.to(x), x.to("cpu", torch.bfloat16), x.long() % 3


@dtypes
def complex_numbers(x: Tensor) -> object:
    z = torch.complex(x, x * 2)
    w = torch.view_as_complex(x.reshape(-1, 2, 2).contiguous())
    return z.abs(), (z * z.conj()).real, z.imag, torch.fft.ifft(torch.fft.fft(x)).real, w.angle()


@dtypes
def arithmetic_of_integers(x: Tensor) -> object:
    n = torch.arange(x.shape[0] * 4).view(-1, 4)
    return n.sum(), n.float().mean(), n & 3, n << 1, n.to(torch.uint8) - 1, n.max(), -(n // -3), n % -5


@dtypes
def asked_of_dtypes(x: Tensor) -> object:
    y = x * torch.finfo(x.dtype).eps if x.is_floating_point() else x
    return y, x.dtype == torch.float32, torch.result_type(x, 1), torch.promote_types(torch.int8, torch.half), x.itemsize


@dtypes
def not_numbers(x: Tensor) -> object:
    y = torch.where(x > 0, x, math.nan)
    return y.isnan(), torch.nan_to_num(y), y.nansum(), (x / 0).isinf(), torch.full((2,), -math.inf).exp()


@program("dtypes")
def dtypes_in_turns(compiling: Compiling) -> Call:
    compiled = compiling(lambda x: (x + 1) / 2)
    kinds = (torch.float32, torch.float64, torch.int64, torch.bfloat16)
    return lambda size: compiled(torch.randn(size, 4).mul(10).to(kinds[size % 4]))


@sizes
def arithmetic_on_sizes(x: Tensor) -> object:
    n, m = x.shape
    return x * (n % 3), n // 2, n * m - 1, max(n, 4), min(n, m), n / m, -n // 2, divmod(n, 3), round(n / 3), n**2


@sizes
def sizes_that_are_compared(x: Tensor) -> object:
    n = x.shape[0]
    return x + (1 if 2 < n <= 4 else 2), n == 4, n in (3, 5), n > 3 or n < 2, bool(n), not n, n != x.numel()


@sizes
def sizes_as_numbers(x: Tensor) -> object:
    n = x.shape[0]
    return math.sqrt(n), int(n * 0.5), float(n), str(n), abs(-n), sum(x.shape), list(range(n)), x.size(), len(x)


@sizes
def tensors_made_of_sizes(x: Tensor) -> object:
    n = x.shape[0]
    return torch.arange(n), torch.ones(n, n).triu(1), torch.linspace(0, 1, n), torch.full((n,), n), torch.eye(n, 4)


@sizes
def encodings_of_positions(x: Tensor) -> Tensor:
    steps = torch.arange(x.shape[0], dtype=x.dtype).unsqueeze(1)
    rates = torch.exp(torch.arange(0, 4, 2) * -(math.log(1e4) / 4))
    return x + torch.stack([torch.sin(steps * rates), torch.cos(steps * rates)], -1).flatten(1)


@sizes
def a_mask_of_sizes(x: Tensor) -> Tensor:
    n = x.shape[0]
    mask = torch.ones(n, n, dtype=torch.bool).tril()
    scores = (x @ x.t() / x.shape[1] ** 0.5).masked_fill(~mask, -math.inf)
    return scores.softmax(-1) @ x


@program("sizes")
def sizes_that_are_given(compiling: Compiling) -> Call:
    compiled = compiling(lambda x, shape, n: (x.reshape(shape), x.new_zeros(n, 2), torch.Size([n, 4]) == x.shape))
    return lambda size: compiled(torch.randn(size, 4), (4, size), size)


@program("sizes")
def sizes_of_none_and_one(compiling: Compiling) -> Call:
    compiled = compiling(lambda x, y: (x + y, x.sum(0), x.shape[0] == y.shape[0]))

    def call(size: int) -> object:
        x = torch.randn(size, 4)
        return compiled(x, x[:1]), compiled(x[:0], x[:0]), compiled(x, x.clone()), compiled(x[:1], x)

    return call


@gradients
def gradients_within(x: Tensor) -> object:
    w = x.detach().clone().requires_grad_()
    loss = (w * x).sin().sum()
    (found,) = torch.autograd.grad(loss, w)
    return found, w.grad is None, loss.detach()


@gradients
def detached_and_cloned(x: Tensor) -> object:
    y = x.detach().requires_grad_()
    z = y * 2
    return z, z.detach(), z.requires_grad, y.is_leaf, z.clone().detach().requires_grad_()


@program("gradients")
def backward_of_what_is_returned(compiling: Compiling) -> Call:
    compiled = compiling(lambda x, w: ((x * w).tanh().sum(), (x @ w).relu()))

    def call(size: int) -> object:
        x, w = torch.randn(size, 4, requires_grad=True), torch.randn(4, requires_grad=True)
        loss, y = compiled(x, w)
        (loss + y.sum()).backward()
        return x.grad, w.grad, y.requires_grad

    return call


@program("gradients")
def some_require_gradients_at_times(compiling: Compiling) -> Call:
    compiled = compiling(lambda x, y: (x * y, x.exp()))

    def call(size: int) -> object:
        x = torch.randn(size, 4, requires_grad=size > 3)
        y = torch.randn(size, 4, requires_grad=size % 2 == 0)
        found = compiled(x, y)
        wanted = [each for each in (x, y) if each.requires_grad]
        total = sum([each.sum() for each in found if each.requires_grad])
        return found, torch.autograd.grad(total, wanted, allow_unused=True) if wanted else None

    return call


@program("gradients")
def a_change_in_place_that_is_learned(compiling: Compiling) -> Call:
    def f(x: Tensor) -> Tensor:
        y = x * 2
        y[0] = y[0].exp()
        y.add_(x)
        return y

    compiled = compiling(f)

    def call(size: int) -> object:
        x = torch.randn(size, 4, requires_grad=True)
        compiled(x).square().sum().backward()
        return x.grad

    return call


@program("gradients")
def gradients_of_gradients_within(compiling: Compiling) -> Call:
    def f(x: Tensor) -> object:
        (first,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
        return first.detach(), torch.autograd.grad(first.sum(), x)[0]

    compiled = compiling(f)
    return lambda size: compiled(torch.randn(size, 4, requires_grad=True))


@program("calling")
def compiled_twice(compiling: Compiling) -> Call:
    compiled = compiling(compiling(lambda x: x.relu() * 2))
    return lambda size: compiled(torch.randn(size, 4))


@program("calling")
def compiled_in_compiled(compiling: Compiling) -> Call:
    inner = compiling(lambda x: x.relu() * x.shape[0])
    outer = compiling(lambda x: inner(x + 1).sum(0) + inner(x).mean(0))
    return lambda size: outer(torch.randn(size, 4))


@program("calling")
def one_function_compiled_twice(compiling: Compiling) -> Made:
    seen: list[int] = []

    def f(x: Tensor) -> Tensor:
        seen.append(x.shape[0])
        return x * len(seen)

    one, other = compiling(f), compiling(f)
    return lambda size: (one(torch.randn(size, 4)), other(torch.randn(size, 4))), lambda: seen


@program("calling")
def a_copy_of_a_compiled_function(compiling: Compiling) -> Call:
    compiled = compiling(lambda x: x.exp().sum(0))
    other = copy.deepcopy(compiled)
    return lambda size: (compiled(torch.randn(size, 4)), other(torch.randn(size, 3)))


@program("calling")
def one_function_for_many_ranks(compiling: Compiling) -> Call:
    compiled = compiling(lambda x: x.softmax(-1).sum(0) * x.dim())
    return lambda size: [compiled(torch.randn(shape)) for shape in ((size,), (size, 4), (2, size, 3))]


@program("calling")
def tensors_that_lie_otherwise(compiling: Compiling) -> Call:
    compiled = compiling(lambda x: (x * 2, x.reshape(-1), x.stride(0) > x.stride(1)))

    def call(size: int) -> object:
        x = torch.randn(size, 4)
        return compiled(x), compiled(x.t()), compiled(x[:, ::2]), compiled(x[1:]), compiled(x[:, :1].expand(-1, 3))

    return call


@program("calling")
def a_function_of_the_library(compiling: Compiling) -> Call:
    compiled = compiling(F.cross_entropy)
    return lambda size: compiled(torch.randn(size, 4), torch.randint(4, (size,)), label_smoothing=0.1)


@program("calling")
def results_that_are_no_tensors(compiling: Compiling) -> Call:
    compiled = compiling(lambda x: (x.shape, None, "text", 3, {"a": [x.dim(), (x.dtype,)]}, x.device, ..., 2.5, Any))

    def call(size: int) -> object:
        return [str(each) for each in compiled(torch.randn(size, 4))]

    return call
