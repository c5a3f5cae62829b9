"""Functions, patterns, contexts and containers inside of a program."""

import collections
import warnings

import torch

from tests.frontends.pytorch.differential.cases import Family

FAMILY = Family("functions")
program = FAMILY.program


class Overloaded:
    def __init__(self, x):
        self.x = x

    def __add__(self, o):
        return Overloaded(self.x + o.x)

    def __radd__(self, o):
        return o + self.x

    def __getitem__(self, i):
        return self.x[i]

    def __iter__(self):
        return iter([self.x, self.x + 1])

    def __len__(self):
        return 2

    def __call__(self, y):
        return self.x * y

    def __matmul__(self, o):
        return self.x @ o

    def __neg__(self):
        return Overloaded(-self.x)

    def __eq__(self, o):
        return isinstance(o, Overloaded)

    __hash__ = None

    def __iadd__(self, o):
        self.x = self.x + o
        return self

    def __bool__(self):
        return True

    def __contains__(self, i):
        return i == 3

    def __enter__(self):
        return self

    def __exit__(self, *a):
        self.done = True


Named = collections.namedtuple("Named", "a b")


@program("n")
def catch_warnings(x):
    with warnings.catch_warnings(record=True) as w:
        warnings.simplefilter("always")
        warnings.warn("a")
    return (x.sin(), len(w))


@program("n")
def profiler_context(x):
    with torch.profiler.record_function("a"):
        y = x + 1
    with torch.autograd.profiler.record_function("b"):
        y = y * 2
    return y


@program("n")
def string_of_sizes(x):
    return (
        str(x.shape[0]),
        repr(x.shape[1:]),
        "{}".format(x.shape[0]),
        "%s" % x.shape[0],
        "%r" % (x.shape,),
        f"{x.shape}",
        str(x.shape),
        str(list(x.shape)),
        str({"a": x.shape[0]}),
        "n" + str(x.shape[0] * 2),
    )


@program("n")
def torch_check(x):
    torch._check(x.shape[0] > 2, lambda: f"{x.shape[0]} is small")
    return x + 1
