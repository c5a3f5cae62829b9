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


@program("n", thorough=True)
def structseq(x):
    m = torch.stack([x, x]).max(0)
    return (m, type(m), m.values + 1, torch.return_types.max((x, x)), torch.stack([x, x]).sort().indices)


@program("n", thorough=True)
def share_memory(x):
    return x + torch.zeros(2).share_memory_().sum()


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
