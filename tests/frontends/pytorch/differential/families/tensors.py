"""Queries and changes of tensors: attributes, classes, data, items, random numbers."""

import random

import torch
import torch.nn.functional as F

from tests.frontends.pytorch.differential.cases import Family

FAMILY = Family("tensors")
program = FAMILY.program


@program("n")
def structseq_text(x):
    return repr(torch.stack([x, x]).max(0))


@program("n")
def tensor_attribute_read(x):
    return x + 2 if hasattr(x, "tag") else x + 1


@program("n")
def tensor_attribute_made_inner(x):
    y = x + 1
    y.tag = x * 2
    return y * y.tag


@program("n")
def tensor_class(x):
    return (
        type(x),
        x.__class__,
        type(x + 1) is torch.Tensor,
        isinstance(x, (int, torch.Tensor)),
        type(x)(2).shape,
        torch.is_tensor(x),
        x.__class__.__mro__[0],
    )


@program("n")
def tensor_subclass_made(x):
    return (x.as_subclass(torch.Tensor), torch.Tensor._make_subclass(torch.Tensor, x))


@program("n")
def manual_seed(x):
    torch.manual_seed(3)
    return torch.rand(3) + x[:1]


@program("n")
def random_many(x):
    return (
        torch.rand(3),
        torch.randn_like(x),
        torch.randint(0, 5, (2,)),
        torch.randperm(x.shape[0]),
        F.dropout(x),
        torch.bernoulli(x.sigmoid()),
        x.new_empty(2).uniform_(),
        torch.multinomial(x.softmax(0), 2),
    )


@program("n")
def own_random(x):
    r = random.Random(4)
    return (x * r.random(), r.uniform(1, 2))


@program("n")
def set_item_tricks(x):
    x[0] = 1
    x[[1, 2]] = x[[2, 1]]
    x[x > 0] = 7
    x[-1:] += 1
    x[torch.tensor(0)] = torch.tensor(3.0)
    x[...] = x * 2


@program("n")
def data_read(x):
    x.data.mul_(2)
    return (x.data + 1, x.detach())


@program("n")
def range_len_add(a):
    for i in range(1, a.shape[0]):
        a += 1
    return a


@program("n", thorough=True)
def structseq(x):
    m = torch.stack([x, x]).max(0)
    return (m, type(m), m.values + 1, torch.return_types.max((x, x)), torch.stack([x, x]).sort().indices)


@program("n", thorough=True)
def tensor_attribute_of_argument(x):
    x.tag = 3
    return x + 1


@program("n", thorough=True)
def tensor_attribute_made(x):
    y = x + 1
    y.tag = x.shape[0]
    z = y * y.tag
    return (z, y)


@program("n", thorough=True)
def tensor_dict(x):
    y = x + 1
    return (y.__dict__, sorted(vars(y)))


@program("n", thorough=True)
def parameter_made(x):
    p = torch.nn.Parameter(torch.ones(3))
    return (type(p), p.requires_grad, (p * 2).detach())


@program("n", thorough=True)
def share_memory(x):
    return x + torch.zeros(2).share_memory_().sum()


@program("n", thorough=True)
def generator_made(x):
    g = torch.Generator().manual_seed(2)
    return torch.rand(3, generator=g) + x[0]


@program("n", thorough=True)
def python_seed(x):
    random.seed(3)
    return (x * random.random(), random.getrandbits(4), random.sample(range(5), 2), random.gauss(0, 1))


@program("n", thorough=True)
def get_item_tricks(x):
    return (
        x[None],
        x[..., None],
        x[[0, 1]],
        x[x > 0],
        x[torch.tensor(1)],
        x[-1],
        x[1:][0],
        x[slice(0, 2)],
        x[True],
        x[0,],
    )


@program("n", thorough=True)
def data_set(x):
    y = x.clone()
    y.data = torch.ones(2)
    return y


@program("n", thorough=True)
def iterate_and_add(x):
    for y in x:
        y.add_(1.0)
    return y
