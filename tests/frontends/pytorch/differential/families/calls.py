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
