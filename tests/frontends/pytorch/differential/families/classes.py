"""Classes of every kind: metaclasses, abstract, generic, data classes, named tuples, enumerations."""

import dataclasses
import typing

import torch

from tests.frontends.pytorch.differential.cases import Family

FAMILY = Family("classes")
program = FAMILY.program


@program("n m")
def object_instance_dict(x):
    class A:
        pass

    a = A()
    a.__dict__["z"] = x
    vars(a)["y"] = 2
    setattr(a, "w", 3)
    return (a.z * a.y, sorted(a.__dict__), getattr(a, "n", "no"), delattr(a, "w"), hasattr(a, "w"))


@program("n m", thorough=True)
def object_frozen(x):
    @dataclasses.dataclass(frozen=True, slots=True)
    class D:
        a: typing.Any
        k: int = 2

    d = D(x)
    try:
        d.a = 1
    except dataclasses.FrozenInstanceError as e:
        return (d.a * d.k, str(e), hash(D(1)) == hash(D(1)))


@program("n m")
def object_namedtuple(x):
    class N(typing.NamedTuple):
        a: torch.Tensor
        b: int = 2

        def f(self):
            return self.a * self.b

    n = N(x)
    a, b = n
    return (n.f(), n._replace(b=3).f(), n[1], len(n), N._make([x, 9]).b, n == (x, 2), N._field_defaults)


@program("n m", thorough=True)
def object_user_int(x):
    class Own(int):
        def __add__(self, o):
            return 100

    class Fl(float):
        pass

    class St(str):
        def f(self):
            return self + "!"

    i = Own(3)
    return (i + 1, i * 2, x * i, type(i * 2) is int, Fl(2.0) * x, St("a").f(), x.sum(Own(0)))
