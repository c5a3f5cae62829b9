"""Generators and iterators: sent to, thrown into, delegated, closed."""

import inspect
import itertools
import types

import torch

from tests.frontends.pytorch.differential.cases import Family

FAMILY = Family("generators")
program = FAMILY.program


@program("n m", thorough=True)
def zip_map_filter(x):
    return [a * b for a, b in zip((x + i for i in range(3)), map(lambda v: v * 2, filter(None, [0, 1, 2, 3])))]


@program("n m", thorough=True)
def infinite(x):
    def nat():
        n = 0
        while True:
            yield n
            n += 1

    return [x + i for i in itertools.islice(nat(), 2, 5)]


@program("n m", thorough=True)
def attrs(x):
    def g():
        yield x

    it = g()
    a = inspect.getgeneratorstate(it)
    next(it, None)
    b = inspect.getgeneratorstate(it)
    list(it)
    return (
        a,
        b,
        inspect.getgeneratorstate(it),
        it.__name__,
        inspect.isgenerator(it),
        isinstance(it, types.GeneratorType),
        x,
    )


@program("n m", thorough=True)
def unpack(x):
    a, *b = (x * i for i in range(4))
    return (a, b)


@program("n m", thorough=True)
def in_star_args(x):
    return torch.add(*(a for a in (x, 2)))


@program("n m", thorough=True)
def sorted_minmax(x):
    return (sorted((-i for i in range(3))), max(((len(s), s) for s in ("a", "bb"))), x)


@program("n m")
def iter_getitem(x):
    class S:
        def __getitem__(self, i):
            if i > 2:
                raise IndexError
            return x + i

    return (list(S()), [a for a in S()], S()[1])


@program("n m", thorough=True)
def iter_len_bool(x):
    class S:
        def __len__(self):
            return x.shape[0] - 3

    return (bool(S()), 1 if S() else 2, x)
