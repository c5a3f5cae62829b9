"""Objects of classes that a program makes: operators, descriptors, metaclasses, data classes."""

import math

from tests.frontends.pytorch.differential.cases import Family

FAMILY = Family("protocols")
program = FAMILY.program


@program("n m")
def object_dunders(x):
    class V:
        def __init__(self, t):
            self.t = t

        def __add__(self, o):
            return V(self.t + (o.t if isinstance(o, V) else o))

        def __radd__(self, o):
            return V(o + self.t)

        def __mul__(self, o):
            return NotImplemented

        def __rmul__(self, o):
            return V(self.t * o)

        def __iadd__(self, o):
            self.t = self.t + o
            return self

        def __neg__(self):
            return V(-self.t)

        def __abs__(self):
            return V(self.t.abs())

        def __getitem__(self, k):
            return self.t[k]

        def __setitem__(self, k, v):
            self.t = self.t.clone()
            self.t[k] = v

        def __delitem__(self, k):
            self.t = None

        def __contains__(self, k):
            return k == "in"

        def __len__(self):
            return 7

        def __call__(self, *a, **k):
            return self.t * len(a) + len(k)

        def __int__(self):
            return 4

        def __float__(self):
            return 2.5

        def __index__(self):
            return 1

        def __bool__(self):
            return False

        def __hash__(self):
            return 5

        def __eq__(self, o):
            return True

        def __lt__(self, o):
            return "lt"

        def __matmul__(self, o):
            return "mm"

        def __divmod__(self, o):
            return ("dm", 1)

        def __pow__(self, o, m=None):
            return ("pow", m)

        def __round__(self, n=None):
            return n

        def __reversed__(self):
            return iter([1])

        def __enter__(self):
            return self

        def __exit__(self, *a):
            return False

        def __format__(self, f):
            return f + "!"

        def __repr__(self):
            return "V"

        def __dir__(self):
            return ["q"]

        def __getattr__(self, n):
            return n + "?"

        def __invert__(self):
            return "inv"

        def __rsub__(self, o):
            return ("rsub", o)

        def __ror__(self, o):
            return "ror"

        def __floor__(self):
            return 3

    v = V(x)
    w = v + 1 + v
    w += 1
    w[0] = 5
    try:
        bad = v * 2
    except TypeError:
        bad = "refused"
    return (
        w.t,
        (3 + v).t,
        (2 * v).t,
        (-v).t,
        abs(v).t,
        v[0],
        "in" in v,
        len(v),
        v(1, 2, k=3),
        int(v),
        float(v),
        [9, 8][v],
        not v,
        {v: 1}[V(0)],
        v == 3,
        v < 1,
        v @ 2,
        divmod(v, 1),
        pow(v, 2, 3),
        v**2,
        round(v, 2),
        list(reversed(v)),
        f"{v:ab}",
        repr(v),
        dir(v),
        v.nothing,
        ~v,
        5 - v,
        1 | v,
        math.floor(v),
        bad,
        hash(v),
    )


@program("n m", thorough=True)
def object_slots(x):
    class A:
        __slots__ = ("a", "b")

        def __init__(self, a):
            self.a = a

    o = A(x)
    o.b = 2
    try:
        o.c = 1
    except AttributeError:
        pass
    return (o.a * o.b, hasattr(o, "__dict__"))
