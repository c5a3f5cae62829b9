"""Functions, patterns, contexts and containers inside of a program."""

import collections
import contextlib
import dataclasses
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


@dataclasses.dataclass
class Record:
    a: object
    b: object = None
    c: list = dataclasses.field(default_factory=list)

    def scale(self):
        return 2


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


@program("n", thorough=True)
def contextmanager_inside(x):
    log = []

    @contextlib.contextmanager
    def scaled(n):
        log.append(n)
        try:
            yield (n * 2)
        finally:
            log.append(-n)

    with scaled(1) as a, scaled(2) as b:
        y = x * a + b
    with contextlib.ExitStack() as s:
        s.enter_context(scaled(3))
        s.callback(log.append, 9)
    with contextlib.nullcontext(4) as n:
        y = y + n
    with contextlib.suppress(ValueError):
        raise ValueError
    return (y, log)


@program("n", thorough=True)
def catch_warnings_returned(x):
    return (x.sin(), type(warnings.catch_warnings(record=True)))


@program("n", thorough=True)
def match_kinds(x):
    out = []
    for v in [(0, 1), [1, 2, 3], {"a": 0.5}, "txt", 3, Overloaded(1), Record(1, 2)]:
        match v:
            case [0, y]:
                out.append(("pair", y))
            case [a, *r]:
                out.append(("list", a, r))
            case {"a": p, **rest}:
                out.append(("map", p, rest))
            case str() as s:
                out.append(s)
            case int(n) if n > 2:
                out.append(n)
            case Record(a=a, b=b):
                out.append((a, b))
            case _:
                out.append("other")
    return (x, out)
