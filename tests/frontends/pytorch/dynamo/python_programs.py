"""What Python does around a branch on data or a print: each program is a few lines of the language."""

# ruff: noqa: B007, C416, E731, RUF005, UP031, UP032 - how it is spelled is what is tested

from __future__ import annotations

import logging
import math
from typing import Final

import torch
from torch.nn import functional as F

from tests.frontends.pytorch.dynamo.breaking_programs import Program

PYTHON: Final[dict[str, Program]] = {}
LOG: Final = logging.getLogger("tests.breaking")


def python(function: Program) -> Program:
    """A program for the table."""
    PYTHON[function.__name__] = function
    return function


@python
def fstr_repr(x):
    y = x * 2
    print(f"{x.shape!r} {x.shape[0]!r} {x.dtype!s}")
    return y


@python
def percent_fmt(x):
    print("%d rows %.2f" % (x.shape[0], x.shape[1] / 3))
    return x + 1


@python
def percent_fmt_of_name(x):
    t = "%4d|"
    print(t % x.shape[0])
    return x + 1


@python
def str_format(x):
    print("{:>5}|{}".format(x.shape[0], x.shape[1] / 3))
    return x + 1


@python
def print_multi(x):
    print(x.shape[0], x.shape[1] * 0.1, sep="-", end="!\n")
    print()
    print(None, True, (x.shape[0],), [x.shape[1]])
    return x.cos()


@python
def print_dict(x):
    d = {"b": x.shape[0], "a": 2.5}
    print(d, list(d))
    return x


@python
def print_expr(x):
    print(
        x.shape[0] // 2, x.shape[0] % 2, -x.shape[0], x.shape[0] ** 2, x.shape[0] / 2, 1 / x.shape[0], x.shape[0] * 1.0
    )
    return x


@python
def print_bool(x):
    print(x.shape[0] > 2, x.shape[0] == 3, not x.shape[0], x.shape[0] and 5)
    return x


@python
def print_int_float(x):
    print(int(x.shape[0]), float(x.shape[0]), bool(x.shape[0]), abs(-x.shape[0]))
    return x


@python
def print_math(x):
    print(math.sqrt(x.shape[0]), math.floor(x.shape[0] / 2), math.ceil(x.shape[0] / 2), math.log(x.shape[0]), math.pi)
    return x


@python
def print_grad(x):
    y = x * 2
    print(y)
    return y


def helper_prints(y):
    print(y)


@python
def print_grad_helper(x):
    y = x * 2
    if y.sum() > 0:
        y = y * 1.5
    helper_prints(y)
    return y


@python
def item_bool(x):
    return bool((x > 0).all()), bool((x > 5).any()), x + (1 if (x > 0).any() else 0)


@python
def branch_else(x):
    return x.sin() if x.mean() > 0 else x.cos()


@python
def nested_branch(x):
    if x.sum() > 0:
        if x.max() > 1:
            return x - 1
        return x + 1
    elif x.min() < -1:
        return x * 2
    return x.neg()


@python
def loop_break(x):
    for i in range(5):
        x = x * 1.5
        if x.abs().max() > 3:
            break
    else:
        x = x * 0
    return x, i


@python
def loop_continue(x):
    n = 0
    for row in x:
        if row.sum() < 0:
            continue
        n += 1
    return n, x


@python
def while_else(x):
    k = 0
    while x.abs().sum() > 1:
        x = x / 2
        k += 1
        if k > 20:
            break
    else:
        k = -k
    return x, k


@python
def list_comp(x):
    r = [row * 2 for row in x if row.sum() > 0]
    return r, len(r)


@python
def dict_comp(x):
    d = {i: r for i, r in enumerate(x)}
    return d if x.sum() > 0 else list(d.keys())


@python
def set_comp(x):
    s = {1, 2, 3}
    return (x, len(s)) if x.sum() > 0 else x


@python
def unpack(x):
    a, *b = x.shape
    if x.sum() > 0:
        return a, b, x
    return x, a


@python
def starred_call(x):
    def g(*a, **k):
        return a[0] * k["f"]

    return g(x, f=2.0) if x.sum() > 0 else g(x, 1, f=3.0)


@python
def ret_same(x):
    if x.sum() > 0:
        return x, x, [x]
    return (x,)


@python
def ret_view(x):
    y = x.view(-1)
    if y.sum() > 0:
        return y, x.T, x[0]
    return y[::2]


@python
def inplace_arg(x):
    with torch.no_grad():
        x.add_(1)
    if x.sum() > 0:
        with torch.no_grad():
            x.mul_(2)
    return x * 1


@python
def inplace_alias(x):
    y = x.clone()
    z = y.t()
    if x.sum() > 0:
        z.add_(1)
    y.mul_(3)
    return z, y


@python
def augassign(x):
    y = x * 1
    y += 1
    if y.sum() > 0:
        y *= 2
    return y


@python
def out_kw(x):
    y = torch.empty_like(x.detach())
    torch.add(x.detach(), 1, out=y)
    return y if y.sum() > 0 else -y


@python
def raise_mid(x):
    y = x * 2
    if y.sum() > 0:
        raise ValueError("bad")
    return y


@python
def raise_after_inplace(x):
    with torch.no_grad():
        x.add_(1)
    if x.sum() > -100:
        raise RuntimeError("after")
    return x


@python
def shape_error(x):
    if x.sum() > 0:
        return x @ torch.ones(3)
    return x


@python
def assert_data(x):
    assert x.sum() > 0, "neg"
    return x


@python
def assert_size(x):
    assert x.shape[0] > 2, f"rows {x.shape[0]}"
    return x if x.sum() > 0 else -x


@python
def rng_mix(x):
    y = torch.rand(x.shape[0])
    if y.sum() > x.shape[0] / 2:
        y = y + torch.randn(x.shape[0])
    z = F.dropout(x, 0.3)
    return y, z, torch.randint(0, 10, (3,)), torch.randperm(x.shape[0]), torch.bernoulli(torch.full((3,), 0.5))


@python
def no_grad_in(x):
    with torch.no_grad():
        y = x * 2
        if y.sum() > 0:
            return y
    return x * 3


@python
def enable_grad_in(x):
    with torch.no_grad():
        with torch.enable_grad():
            y = x * 2
        if y.sum() > 0:
            return y, y.requires_grad
    return y


@python
def detach_mix(x):
    y = x.detach() * x
    if y.sum() > 0:
        y = y + x
    return y, y.requires_grad


@python
def req_grad(x):
    if x.requires_grad and x.sum() > 0:
        return x * 2
    return x


@python
def autocast_in(x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = x @ x.t()
        if y.sum() > 0:
            y = y @ y
    return y


@python
def dtype_branch(x):
    y = x.to(torch.float64) if x.sum() > 0 else x.to(torch.int32)
    return y, y.dtype, y.dtype == torch.float64


@python
def shape_eq(x):
    if x.sum() > 0:
        x = x + 1
    return x, x.shape == (3, 4), x.shape[0] == 3, x.shape[0] != 4, 2 < x.shape[0] < 5, x.shape[0] is None


@python
def shape_arith(x):
    if x.sum() > 0:
        x = x + 1
    n, m = x.shape
    return x, n / 2, n // 2, n % 3, -n, n**2, n * 0.5, n << 1, n & 1, n ^ 3, float(n), int(m), n - m, (n, m), [n]


@python
def shape_float(x):
    s = x.shape[0] ** 0.5
    if x.sum() > s:
        return x * s, s, 1 / s
    return x / s, -s


@python
def size_types(x):
    if x.sum() > 0:
        x = x * 2
    return x.shape, x.size(), x.size(0), x.stride(), x.numel(), x.dim(), x.ndim, x.is_contiguous(), len(x)


@python
def reversed_range(x):
    t = 0
    for i in reversed(range(x.shape[0])):
        t = t + i * x[i]
    return t if t.sum() > 0 else -t


@python
def zip_enum(x):
    r = []
    for i, (a, b) in enumerate(zip(x, x * 2)):
        r.append((i, a + b))
    return r if x.sum() > 0 else r[::-1]


@python
def list_mut(x):
    r = [x, 1]
    r.append(2)
    if x.sum() > 0:
        r.append(x.shape[0])
    return r


@python
def list_alias(x):
    r = []
    s = r
    r.append(x)
    if x.sum() > 0:
        s.append(1)
    return r, s is r, len(s)


@python
def list_two(x):
    r = []
    q = (r, r)
    if x.sum() > 0:
        r.append(x)
    return q, q[0] is q[1]


@python
def list_arg_mut_nested(x):
    def add(items, v):
        items.append(v)

    r = []
    add(r, x)
    return r if x.sum() > 0 else r + [1]


@python
def tuple_ops(x):
    t = (x,) + (x * 2,)
    if x.sum() > 0:
        t = t * 2
    return t, t[0] is x, t[-1]


@python
def is_none(x, y=None):
    if x.sum() > 0:
        y = x if y is None else y
    return y


@python
def bool_ops(x):
    a = (x > 0).any() and (x < 0).any()
    b = (x > 0).all() or x.shape[0]
    c = not (x > 9).any()
    return a, b, c


@python
def ternary_chain(x):
    return x * (1 if x.sum() > 0 else 2) * (3 if x.max() > 1 else 4)


@python
def walrus(x):
    if (s := x.sum()) > 0:
        return s * x
    return s


@python
def lambda_in(x):
    g = lambda y: y * 2 if y.sum() > 0 else y
    return g(x) + g(-x)


@python
def closure_in(x):
    n = 3

    def g(y):
        return y * n

    n = 4
    return g(x) if x.sum() > 0 else x


@python
def rec(x, k=3):
    if k == 0 or x.sum() > 100:
        return x
    return rec(x * 2, k - 1)


@python
def tolist(x):
    items = x.detach().tolist()
    return items if x.sum() > 0 else x


@python
def mask_assign(x):
    y = x.clone()
    y[y < 0] = 0
    return y if y.sum() > 0 else x


@python
def where1(x):
    a, b = torch.where(x > 0)
    return a, b, x[a, b].sum() if a.shape[0] > 0 else x


@python
def sortk(x):
    v, i = x.sort(dim=1)
    if v[0, 0] < 0:
        v = v.abs()
    k = x.topk(2, dim=1)
    return v, i, k.values, k[1], k


@python
def maxdim(x):
    m = x.max(dim=0)
    return m.values if m.values.sum() > 0 else m.indices


@python
def cat_stack(x):
    parts = []
    for i in range(3):
        if x.sum() > i:
            parts.append(x + i)
    return torch.cat(parts) if len(parts) > 0 else x


@python
def stack_rows(x):
    return torch.stack([r if r.sum() > 0 else -r for r in x])


@python
def cumu(x):
    t = torch.zeros(x.shape[1])
    for r in x:
        t = torch.where(t > r, t, r)
        if t.sum() > 5:
            t = t / 2
    return t


@python
def complex_(x):
    z = torch.complex(x, x)
    return z.abs() if z.real.sum() > 0 else z


@python
def fft_(x):
    z = torch.fft.fft(x)
    return z.real if z.real.sum() > 0 else z.imag


@python
def linalg_(x):
    n = torch.linalg.norm(x)
    return x / n if n > 2 else x


@python
def nan_cmp(x):
    y = x / 0
    s = (y - y).sum().item()
    return (s == s), s != s, x if s > 0 else -x


@python
def big_int(x):
    n = int(x.numel()) * 10**12
    return n, n * n, x if x.sum() > 0 else -x


@python
def chained_item(x):
    a = x[0, 0].item()
    b = x[-1, -1].item()
    return x.clamp(-abs(a), abs(b)), a if a > b else b


@python
def isinstance_(x):
    n = x.shape[0]
    s = x.sum().item()
    return isinstance(n, int), isinstance(s, float), isinstance(x, torch.Tensor), x if s > 0 else n


@python
def tensor_in_if_list(x):
    items = [x.sum() > 0, x.mean() > 1]
    return [1 if b else 0 for b in items]


@python
def print_then_raise(x):
    print("before", x.shape[0])
    y = x.view(-1, 7)
    print("after")
    return y


@python
def print_order(x):
    print("a")
    y = x + 1
    LOG.warning("b %s", y.shape[0])
    print("c")
    if y.sum() > 0:
        print("d")
    return y


@python
def layer_calls(x):
    w = torch.ones(x.shape[1], 2)
    y = F.linear(x, w.t())
    return F.softmax(y, -1) if y.sum() > 0 else F.gelu(y)


@python
def chunked(x):
    a = x[:1]
    b = x[1:]
    if a.sum() > b.sum():
        a, b = b, a
    return a, b


@python
def swap_mutate(x):
    a = x.clone()
    b = a
    if x.sum() > 0:
        a.add_(1)
    return b, a is b


@python
def expand_(x):
    y = x[0].expand(3, -1)
    return y if y.sum() > 0 else y.contiguous()


@python
def aliasing_out(x):
    y = x + 1
    v = y[0]
    if v.sum() > 0:
        return v, y
    return y, v


@python
def attr_T(x):
    return x.T if x.sum() > 0 else x.mT


@python
def size_loop(x):
    t = x
    for i in range(x.shape[0]):
        t = t + i
    return t if t.sum() > 0 else x


@python
def tensor_const(x):
    c = torch.tensor([1.0, 2.0])
    return x.sum() + c if x.sum() > 0 else c


@python
def new_zeros(x):
    return x.new_zeros(x.shape[0], 2) if x.sum() > 0 else torch.full((x.shape[0],), 2.0)


@python
def default_dtype(x):
    return torch.arange(x.shape[0]) / 2 if x.sum() > 0 else torch.ones(2).dtype
