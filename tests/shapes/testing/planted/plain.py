"""Right rules of everyday operators, each with NumPy as its reference: none may be blamed."""

from shapes.symbolic.choices import sym_min

RIGHT = []


def right(reference):
    return lambda rule: RIGHT.append((rule, reference)) or rule


def refused():
    raise ValueError("not of these sizes")


def transposed(x):
    return x.T


@right(transposed)
def transposes(env, x):
    return tuple(reversed(x))


def outer(a, b):
    import numpy

    return numpy.outer(a, b) if a.ndim == b.ndim == 1 else refused()


@right(outer)
def outer_product(env, a, b):
    env.require(len(a) == len(b) == 1, "expected vectors")
    return (a[0], b[0])


def diagonal(x):
    import numpy

    return numpy.diagonal(x) if x.ndim == 2 else refused()


@right(diagonal)
def main_diagonal(env, x):
    env.require(len(x) == 2, "expected a matrix")
    return (sym_min(x[0], x[1]),)


def differences(x):
    import numpy

    return numpy.diff(x.astype("float64")) if x.ndim >= 1 and x.shape[-1] >= 1 else refused()


@right(differences)
def consecutive_differences(env, x):
    env.require(len(x) >= 1, "no axes")
    env.require(x[-1] >= 1, "nothing to subtract")
    return (*x[:-1], x[-1] - 1)


def every_other(x):
    return x[::2] if x.ndim else refused()


@right(every_other)
def strided(env, x):
    env.require(len(x) >= 1, "no axes")
    return ((x[0] + 1) // 2, *x[1:])


def reversed_rows(x):
    return x[::-1] if x.ndim else refused()


@right(reversed_rows)
def flips(env, x):
    env.require(len(x) >= 1, "no axes")
    return tuple(x)


def first_half(x):
    return x[: x.shape[0] // 2] if x.ndim else refused()


@right(first_half)
def halves(env, x):
    env.require(len(x) >= 1, "no axes")
    return (x[0] // 2, *x[1:])


def framed(x):
    import numpy

    return numpy.pad(x, 1) if x.ndim == 2 else refused()


@right(framed)
def pads_by_one(env, x):
    env.require(len(x) == 2, "expected a matrix")
    return (x[0] + 2, x[1] + 2)


def stacked(a, b):
    import numpy

    return numpy.stack([a, b]) if a.shape == b.shape else refused()


@right(stacked)
def stacks(env, a, b):
    env.require(len(a) == len(b), "ranks differ")
    for m, n in zip(a, b):
        env.require(m == n, "sizes differ")
    return (2, *a)


def row_means(x):
    return x.mean(-1, keepdims=True) if x.ndim and x.shape[-1] else refused()


@right(row_means)
def means(env, x):
    env.require(len(x) >= 1, "no axes")
    env.require(x[-1] >= 1, "no mean of nothing")
    return (*x[:-1], 1)


def merged(x):
    return x.reshape(x.shape[0] * x.shape[1], x.shape[2]) if x.ndim == 3 else refused()


@right(merged)
def merges(env, x):
    env.require(len(x) == 3, "expected three axes")
    return (x[0] * x[1], x[2])


def lower_triangle(x):
    import numpy

    return numpy.tril(x) if x.ndim >= 2 else refused()


@right(lower_triangle)
def triangle(env, x):
    env.require(len(x) >= 2, "expected matrices")
    return tuple(x)


def pairs(x):
    return x.reshape(x.shape[0] // 2, 2) if x.ndim == 1 and x.shape[0] % 2 == 0 else refused()


@right(pairs)
def pairs_up(env, x):
    env.require(len(x) == 1, "expected one axis")
    env.require(x[0] % 2 == 0, "one is left over")
    return (x[0] // 2, 2)


def inserted(x):
    return x[:, None] if x.ndim == 1 else refused()


@right(inserted)
def columns(env, x):
    env.require(len(x) == 1, "expected one axis")
    return (x[0], 1)
