"""Random numbers: the same are drawn as by eager torch, and as many."""

import random

import numpy
import torch
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

from tests.frontends.pytorch.differential.cases import Family

FAMILY = Family("random")
program = FAMILY.program
stateful = FAMILY.stateful

FAMILY.table(
    {
        "rand like": lambda x: x + torch.rand_like(x),
        "randn of a shape": lambda x: x * torch.randn(x.shape),
        "integers": lambda x: x + torch.randint(0, 10, (x.shape[0], 1)),
        "permutation": lambda x: x[torch.randperm(x.shape[0])],
        "dropout": lambda x: F.dropout(x, 0.5),
        "dropout of nothing": lambda x: F.dropout(x, 0.0),
        "dropout of everything": lambda x: F.dropout(x, 1.0),
        "dropout that does not train": lambda x: F.dropout(x, 0.5, training=False),
        "alpha dropout": lambda x: F.alpha_dropout(x, 0.3, training=True),
        "bernoulli": lambda x: torch.bernoulli(x.sigmoid()) * x,
        "normal in place": lambda x: torch.empty_like(x).normal_(1.0, 2.0) * x,
        "uniform in place": lambda x: torch.empty(x.shape).uniform_(-1, 1) + x,
        "exponential": lambda x: torch.empty(x.shape).exponential_(2.0) + x,
        "two draws": lambda x: torch.rand(2).sum() * x + torch.randn(x.shape[1]),
        "draw after a draw": lambda x: x[: 1 + int(torch.randint(0, 2, ()))],
        "multinomial": lambda x: torch.multinomial(x.softmax(-1), 2),
        "normal of tensors": lambda x: torch.normal(x, x.abs() + 0.1),
        "randomized relu": lambda x: F.rrelu(x, training=True),
        "gumbel": lambda x: F.gumbel_softmax(x, tau=0.5),
    },
    "n m",
)


@program("n m")
def forked(x):
    with torch.random.fork_rng():
        noise = torch.rand(x.shape[1])
    return x + noise + torch.rand(x.shape[1])


@stateful("n m")
def random_of_python():
    numbers = random.Random(3)

    def step(x):
        return x * numbers.random() + numbers.randint(0, 9)

    return step, None


@stateful("n m")
def random_of_numpy():
    numbers = numpy.random.default_rng(4)

    def step(x):
        return x * float(numbers.normal())

    return step, None


@program("n m")
def checkpointed(x):
    return checkpoint(lambda value: F.dropout(value.sin(), 0.4), x, use_reentrant=False)


@program("n m")
def checkpointed_reentrant(x):
    return checkpoint(lambda value: F.dropout(value.sin(), 0.4), x, use_reentrant=True)


@program("n m")
def two_checkpoints(x):
    for _ in range(2):
        x = checkpoint(lambda value: F.dropout(value * 1.1, 0.2).tanh(), x, use_reentrant=False)
    return x


@stateful("n 4")
def dropout_module():
    module = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.Dropout(0.5), torch.nn.ReLU(), torch.nn.Linear(6, 2))
    return module, None


@stateful("n 3 m k")
def dropout_of_channels():
    return torch.nn.Dropout2d(0.5), None
