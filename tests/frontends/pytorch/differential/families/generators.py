"""Generators and iterators: sent to, thrown into, delegated, closed."""

import inspect
import types

from tests.frontends.pytorch.differential.cases import Family

FAMILY = Family("generators")
program = FAMILY.program


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
def sorted_minmax(x):
    return (sorted((-i for i in range(3))), max(((len(s), s) for s in ("a", "bb"))), x)


@program("n m", thorough=True)
def iter_len_bool(x):
    class S:
        def __len__(self):
            return x.shape[0] - 3

    return (bool(S()), 1 if S() else 2, x)
