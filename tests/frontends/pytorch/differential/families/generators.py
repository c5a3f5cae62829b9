"""Generators and iterators: sent to, thrown into, delegated, closed."""

import inspect
import itertools
import types

import torch

from tests.frontends.pytorch.differential.cases import Family

FAMILY = Family("generators")
program = FAMILY.program


@program("n m")
def lazy(x):
    log = []

    def g():
        for i in range(3):
            log.append(i)
            yield (x * i)

    it = g()
    log.append("made")
    a = next(it)
    log.append("one")
    b = list(it)
    return (a, b, log)


@program("n m", thorough=True)
def delegation(x):
    def a():
        v = yield 1
        return v * 2

    def b():
        r = yield from a()
        yield r

    it = b()
    next(it)
    return it.send(x)


@program("n m", thorough=True)
def zip_map_filter(x):
    return [a * b for a, b in zip((x + i for i in range(3)), map(lambda v: v * 2, filter(None, [0, 1, 2, 3])))]


@program("n m", thorough=True)
def any_all(x):
    return (any((i > 1 for i in range(3))), all((s > 1 for s in x.shape)), x)


@program("n m")
def dict_from(x):
    return (dict(((i, x * i) for i in range(2))), set((i % 2 for i in range(4))), tuple((x + i for i in range(2))))


@program("n m", thorough=True)
def infinite(x):
    def nat():
        n = 0
        while True:
            yield n
            n += 1

    return [x + i for i in itertools.islice(nat(), 2, 5)]


@program("n m", thorough=True)
def recursive(x):
    def tree(d):
        if d == 0:
            yield x
        else:
            yield from tree(d - 1)
            yield (x * d)

    return list(tree(3))


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


@program("n m")
def closure_mutated(x):
    n = 1

    def g():
        nonlocal n
        while n < 4:
            n += 1
            yield (x * n)

    return (list(g()), n)


@program("n m", thorough=True)
def passed_to_torch(x):
    return (
        torch.stack(list((a for a in (x, x + 1)))),
        torch.cat(tuple((x for _ in range(2)))),
        sum((a for a in (x, x))),
    )


@program("n m", thorough=True)
def unpack(x):
    a, *b = (x * i for i in range(4))
    return (a, b)


@program("n m", thorough=True)
def in_star_args(x):
    return torch.add(*(a for a in (x, 2)))


@program("n m")
def default_next(x):
    return next((v for v in [1, 2] if v > 5), x)


@program("n m", thorough=True)
def throw_uncaught(x):
    def g():
        yield 1
        yield 2

    it = g()
    next(it)
    try:
        it.throw(ValueError("t"))
    except ValueError as e:
        return (str(e), x, list(it))


@program("n m", thorough=True)
def sorted_minmax(x):
    return (sorted((-i for i in range(3))), max(((len(s), s) for s in ("a", "bb"))), x)


@program("n m", thorough=True)
def iter_class(x):
    class It:
        def __init__(self):
            self.n = 0

        def __iter__(self):
            return self

        def __next__(self):
            self.n += 1
            if self.n > 3:
                raise StopIteration
            return x * self.n

    return ([*It()], sum(It()), next(It()), list(zip(It(), range(2))))


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
