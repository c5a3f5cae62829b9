"""State that programs keep between calls: closures, classes, defaults, locks, iterators."""

import itertools
import threading

import torch

from tests.frontends.pytorch.differential.cases import Family

FAMILY = Family("what is kept")
stateful = FAMILY.stateful


@stateful("n m")
def lock_used():
    lock = threading.Lock()
    n = [0]

    def f(x):
        with lock:
            n[0] += 1
        return x * n[0]

    return (f, n)


@stateful("n m", thorough=True)
def function_attribute():
    def f(x):
        f.n = getattr(f, "n", 0) + 1
        return x * f.n

    return (f, None)


@stateful("n m", thorough=True)
def counter_iterator():
    c = itertools.count()
    return (lambda x: x * next(c), None)


@stateful("n m", thorough=True)
def kw_default_tensor_changed():
    def g(*, t=torch.zeros(2, 2)):
        t.add_(1)
        return t

    return (lambda x: x.sum() + g(), None)
