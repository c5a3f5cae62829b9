"""Calls: arguments, decorators, partial functions, patterns, recursion, itertools."""

import functools

from tests.frontends.pytorch.differential.cases import Family

FAMILY = Family("calls")
program = FAMILY.program


@program("n m")
def walrus_while(x):
    n = 0
    while (n := (n + 1)) < 4:
        x = x + n
    return (x, n, [y for i in range(5) if (y := (i * 2)) > 3])


@program("n m", thorough=True)
def star_args(x):
    def f(a, /, b, *c, d=4, **e):
        return (a + b, c, d, e)

    return (f(x, 1, 2, 3, d=5, z=6), f(x, b=2), f(*[x, 2], **{"q": 1}))


@program("n m", thorough=True)
def match_all(x):
    class Pt:
        __match_args__ = ("a", "b")

        def __init__(self, a, b):
            self.a, self.b = (a, b)

    out = []
    for v in (Pt(1, x), [1, [2, 3]], {"k": 1, "z": 2}, "hi", 2.5, None, True, (), Pt(2, 3), x.shape[0], b"q"):
        match v:
            case Pt(1, t):
                out.append(t + 1)
            case Pt(a=2):
                out.append("two")
            case [a, [b, *c]]:
                out.append((a, b, c))
            case {"k": int(k), **r}:
                out.append((k, r))
            case "hi" | "ho" as s:
                out.append(s)
            case float(f) if f > 2:
                out.append(f)
            case None:
                out.append("none")
            case True:
                out.append("true")
            case []:
                out.append("empty")
            case int(n):
                out.append(n)
            case _:
                out.append("?")
    return out


@program("n m")
def loops_else(x):
    for i in range(3):
        if i == 5:
            break
    else:
        x = x + 1
    while x.shape[0] > 100:
        pass
    else:
        x = x * 2
    return (x, i)


@program("n m")
def lambdas_default(x):
    return [f(x) for f in [lambda v, i=i: v + i for i in range(3)]]


@program("n m", thorough=True)
def cached_prop(x):
    class A:
        n = 0

        @functools.cached_property
        def p(self):
            self.n += 1
            return x * 2

    a = A()
    return (a.p, a.p, a.n, "p" in a.__dict__)


@program("n m")
def lru(x):
    calls = []

    @functools.lru_cache(maxsize=2)
    def f(n):
        calls.append(n)
        return n * 2

    f(1)
    f(1)
    f(2)
    return (x * f(1), calls, f.cache_info().hits)
