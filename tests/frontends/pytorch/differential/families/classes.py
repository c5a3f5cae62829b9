"""Classes of every kind: metaclasses, abstract, generic, data classes, named tuples, enumerations."""

import dataclasses
import types
import typing

import torch

from tests.frontends.pytorch.differential.cases import Family

FAMILY = Family("classes")
program = FAMILY.program


@program("n m")
def object_metaclass(x):
    class M(type):
        def __new__(m, n, b, d, **k):
            d["extra"] = k.get("z", 0)
            return super().__new__(m, n, b, d)

        def __init__(c, n, b, d, **k):
            super().__init__(n, b, d)

        def __call__(c, *a):
            return super().__call__(*a)

        def __getattr__(c, n):
            return "meta " + n

        def __iter__(c):
            return iter([1, 2])

        def __instancecheck__(c, o):
            return o == 5

        def __contains__(c, o):
            return True

    class A(metaclass=M, z=9):
        pass

    return (A.extra, A.foo, list(A), isinstance(5, A), 3 in A, x)


@program("n m")
def object_protocol(x):
    @typing.runtime_checkable
    class Pr(typing.Protocol):
        def go(self): ...

    class A:
        def go(self):
            pass

    return (isinstance(A(), Pr), isinstance(3, Pr), x)


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
def object_dataclass(x):
    @dataclasses.dataclass(order=True)
    class D:
        a: int
        b: list = dataclasses.field(default_factory=list, compare=False)
        c: typing.Any = dataclasses.field(init=False, default=4)

        def __post_init__(self):
            self.a = self.a * 2

    d = D(1)
    e = dataclasses.replace(d, a=3)
    return (
        d.a,
        e.a,
        d < e,
        dataclasses.asdict(d),
        dataclasses.astuple(d),
        repr(d),
        [f.name for f in dataclasses.fields(d)],
        D(1) == D(1),
        dataclasses.is_dataclass(d),
        x,
    )


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


@program("n m")
def object_tuple_sub(x):
    class Kind(tuple):
        def __new__(c, *a):
            return super().__new__(c, a)

        @property
        def first(self):
            return self[0]

    t = Kind(x, 1)
    return (t.first, len(t), t[1], t + (2,), isinstance(t, tuple))


@program("n m", thorough=True)
def builtin_many(x):
    return (
        bin(5),
        hex(255),
        oct(8),
        chr(97),
        ord("a"),
        divmod(7, 2),
        pow(2, 3, 5),
        round(2.5),
        round(2.567, 1),
        abs(-2),
        sum([1, 2], 3),
        min(3, 1),
        max("ab"),
        all([]),
        any([]),
        sorted("ba"),
        list(map(str, range(2))),
        int("ff", 16),
        float("inf") > 1,
        complex(1, 2) * 1j,
        bool([]),
        bytes([1]),
        bytearray(b"a")[0],
        type(3)(4),
        isinstance(True, int),
        callable(len),
        id(x) == id(x),
        hash("a") == hash("a"),
        repr("a"),
        ascii("é"),
        format(3.14159, ".2f"),
        slice(1, 2).start,
        list(enumerate("ab", 1)),
        list(zip("ab", [1, 2])),
        list(reversed([1, 2])),
        next(iter([1])),
        vars(types.SimpleNamespace(a=1)),
        eval("1+1"),
        ...,
        memoryview(b"ab")[0],
        frozenset([1]),
        iter([]).__length_hint__(),
        x,
    )
