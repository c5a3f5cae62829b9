"""Classes of every kind: metaclasses, abstract, generic, data classes, named tuples, enumerations."""

import dataclasses
import enum
import inspect
import types
import typing
import weakref

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


@program("n m", thorough=True)
def object_type_made(x):
    C = type("C", (dict,), {"f": lambda s: x * 2, "k": 1})
    return (C().f(), C.__name__, C.k)


@program("n m", thorough=True)
def object_class_body(x):
    class A:
        n = x.shape[0]
        items = [i for i in range(2)]
        for j in range(3):
            pass
        if n > 3:
            big = True
        else:
            big = False

    return (A.n, A.items, A.j, A.big, x)


@program("n m")
def object_protocol(x):
    @typing.runtime_checkable
    class Pr(typing.Protocol):
        def go(self): ...

    class A:
        def go(self):
            pass

    return (isinstance(A(), Pr), isinstance(3, Pr), x)


@program("n m", thorough=True)
def object_weak(x):
    class A:
        pass

    a = A()
    r = weakref.ref(a)
    p = weakref.proxy(a)
    a.v = x
    w = p.v * 2
    return (w, r() is a)


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
def object_bound(x):
    class A:
        def f(self, v):
            return v * 2

    a = A()
    f = a.f
    return (f(x), f.__self__ is a, f.__func__ is A.f, A.f(a, x), types.MethodType(lambda s, v: v + 1, a)(x), f == a.f)


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
def object_enum(x):
    class E(enum.Enum):
        A = 1
        B = "b"
        C = (1, 2)

        @property
        def twice(self):
            return self.value * 2

        @classmethod
        def _missing_(cls, v):
            return cls.A

    class Fl(enum.Flag):
        R = enum.auto()
        W = enum.auto()

    class St(str, enum.Enum):
        Q = "q"

    return (
        E.A.twice,
        E("zzz") is E.A,
        E["B"].name,
        [e.name for e in E],
        (Fl.R | Fl.W).value,
        Fl.R in Fl.R | Fl.W,
        St.Q == "q",
        St.Q.upper(),
        E.A in E,
        len(E),
        E.C.value[1],
        E.A == 1,
        x,
    )


@program("n m", thorough=True)
def object_generic(x):
    Kind = typing.TypeVar("Kind")

    class Box(typing.Generic[Kind]):
        def __init__(self, v: Kind):
            self.v = v

    return (Box[int](x).v, Box.__parameters__ == (Kind,), typing.get_origin(typing.List[int]) is list, x)


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
def inspect_things(x):
    def f(a, b=2, *c, d: int = 4, **e) -> int:
        """doc"""

    s = inspect.signature(f)
    b = s.bind(1, d=3)
    b.apply_defaults()
    return (
        str(s),
        list(s.parameters),
        b.arguments,
        inspect.getdoc(f),
        inspect.isfunction(f),
        inspect.ismethod(f),
        f.__annotations__["d"] is int,
        f.__kwdefaults__,
        f.__defaults__,
        f.__code__.co_varnames[:2],
        inspect.isclass(int),
        inspect.getmro(bool)[1] is int,
        x,
    )


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
