"""Planted rules about axes: broadcasting, reductions, products of matrices, windows, lists, options and types."""

import math
from typing import Literal

from shapes.symbolic.choices import sym_max
from shapes.testing import Call

RIGHT, WRONG = [], []


def right(reference):
    return lambda rule: RIGHT.append((rule, reference)) or rule


def wrong(reference, smallest=None):
    return lambda rule: WRONG.append((rule, reference, smallest)) or rule


# ---------------------------------------------------------------------- broadcasting


def broadcast(call: Call):
    import numpy

    a, b = call.args
    return (numpy.broadcast_shapes(tuple(a), tuple(b)),)


def aligned(a, b):
    rank = max(len(a), len(b))
    return [((1,) * (rank - len(x)) + tuple(x)) for x in (a, b)]


@right(broadcast)
def adds(env, a, b):
    sizes = []
    for m, n in zip(*aligned(a, b)):
        if isinstance(m, int) and m == 1:
            sizes.append(n)
        elif isinstance(n, int) and n == 1 or m == n:
            sizes.append(m)
        elif m == 1:
            sizes.append(n)
        else:
            env.require(n == 1, "no broadcast")
            sizes.append(m)
    return tuple(sizes)


@wrong(broadcast)
def adds_with_max(env, a, b):
    sizes = []
    for m, n in zip(*aligned(a, b)):
        env.require((m == n) | (m == 1) | (n == 1), "no broadcast")
        sizes.append(sym_max(m, n))
    return tuple(sizes)


@wrong(broadcast)
def adds_left_aligned(env, a, b):
    a, b = tuple(a), tuple(b)
    rank = max(len(a), len(b))
    sizes = []
    for m, n in zip(a + (1,) * (rank - len(a)), b + (1,) * (rank - len(b))):
        if m == n or n == 1:
            sizes.append(m)
        else:
            env.require(m == 1, "no broadcast")
            sizes.append(n)
    return tuple(sizes)


@wrong(broadcast)
def adds_equal_only(env, a, b):
    env.require(len(a) == len(b), "ranks differ")
    for m, n in zip(a, b):
        env.require(m == n, "sizes differ")
    return tuple(a)


@wrong(broadcast)
def adds_one_sided(env, a, b):
    sizes = []
    for m, n in zip(*aligned(a, b)):
        if m != n:
            env.require(n == 1, "no broadcast")
        sizes.append(m)
    return tuple(sizes)


@wrong(broadcast)
def adds_without_check(env, a, b):
    return tuple([n if m == 1 else m for m, n in zip(*aligned(a, b))])


# ---------------------------------------------------------------------- reductions


def total(x, axis=None, keepdims=False):
    import numpy

    if axis is not None and not x.ndim:
        raise ValueError("no axes")
    return numpy.sum(x, axis=axis, keepdims=keepdims)


@right(total)
def sums(env, x, axis=None, keepdims=False):
    if axis is None:
        return (1,) * len(x) if keepdims else ()
    env.require(-len(x) <= axis < len(x), "no such axis")
    axis %= len(x)
    return tuple([1 if k == axis else size for k, size in enumerate(x) if keepdims or k != axis])


@wrong(total)
def sums_last_by_default(env, x, axis=-1, keepdims=False):
    return sums(env, x, axis, keepdims)


@wrong(total)
def sums_keeping(env, x, axis=None, keepdims=True):
    return sums(env, x, axis, keepdims)


@wrong(total)
def sums_negative_axis(env, x, axis=None, keepdims=False):
    if axis is None:
        return (1,) * len(x) if keepdims else ()
    env.require(-len(x) <= axis < len(x), "no such axis")
    return tuple([1 if k == axis else size for k, size in enumerate(x) if keepdims or k != axis])


@wrong(total)
def sums_range_of_axis(env, x, axis=None, keepdims=False):
    if axis is None:
        return (1,) * len(x) if keepdims else ()
    env.require(-len(x) <= axis <= len(x), "no such axis")
    axis %= max(len(x), 1)
    return tuple([1 if k == axis else size for k, size in enumerate(x) if keepdims or k != axis])


@wrong(total)
def sums_keepdims_dropped(env, x, axis=None, keepdims=False):
    if axis is None:
        return ()
    return sums(env, x, axis, keepdims)


def largest(x, axis=-1):
    import numpy

    if not x.ndim:
        raise ValueError("no axes")
    return numpy.max(x, axis=axis)


@right(largest)
def maxima(env, x, axis=-1):
    env.require(-len(x) <= axis < len(x), "no such axis")
    axis %= len(x)
    env.require(x[axis] >= 1, "nothing to take the largest of")
    return tuple([size for k, size in enumerate(x) if k != axis])


@wrong(largest)
def maxima_of_nothing(env, x, axis=-1):
    env.require(-len(x) <= axis < len(x), "no such axis")
    return tuple([size for k, size in enumerate(x) if k != axis % len(x)])


@wrong(largest)
def maxima_along_the_first(env, x, axis=0):
    return maxima(env, x, axis)


# ---------------------------------------------------------------------- matrices


def matmul(a, b):
    import numpy

    return numpy.matmul(a, b)


@right(matmul)
def multiplies_matrices(env, a, b):
    env.require(len(a) > 0 and len(b) > 0, "no axes")
    left, right_ = tuple(a), tuple(b)
    if len(a) == 1:
        left = (1, *left)
    if len(b) == 1:
        right_ = (*right_, 1)
    env.require(left[-1] == right_[-2], "inner sizes differ")
    batch = adds(env, left[:-2], right_[:-2])
    return (*batch, *left[-2:-1] * (len(a) > 1), *right_[-1:] * (len(b) > 1))


@wrong(matmul)
def multiplies_without_check(env, a, b):
    env.require(len(a) >= 2 and len(b) >= 2, "expected matrices")
    return (*adds(env, a[:-2], b[:-2]), a[-2], b[-1])


@wrong(matmul)
def multiplies_transposed(env, a, b):
    env.require(len(a) >= 2 and len(b) >= 2, "expected matrices")
    env.require(a[-1] == b[-1], "inner sizes differ")
    return (*adds(env, a[:-2], b[:-2]), a[-2], b[-2])


@wrong(matmul)
def multiplies_two_axes_only(env, a, b):
    env.require(len(a) == 2 and len(b) == 2, "expected matrices")
    env.require(a[-1] == b[-2], "inner sizes differ")
    return (a[0], b[1])


@wrong(matmul)
def multiplies_first_batch(env, a, b):
    multiplies_matrices(env, a, b)
    return (*a[:-1], *b[-1:]) if len(b) > 1 else tuple(a[:-1])


# ---------------------------------------------------------------------- windows


def windows(call: Call):
    x, size, stride, padding = (*call.args, *(None, 1, 0)[len(call.args) - 1 :])
    if len(x) != 1 or size < 1 or stride < 1 or padding < 0 or x[0] + 2 * padding < size:
        return None
    return (((x[0] + 2 * padding - size) // stride + 1,),)


def pool(env, x, size, stride, padding):
    env.require(len(x) == 1, "expected one axis")
    env.require(size >= 1, "empty window")
    env.require(stride >= 1, "no stride")
    env.require(padding >= 0, "negative padding")
    env.require(x[0] + 2 * padding >= size, "window is longer than the axis")


@right(windows)
def pools(env, x, size, stride=1, padding=0):
    pool(env, x, size, stride, padding)
    return ((x[0] + 2 * padding - size) // stride + 1,)


@wrong(windows)
def pools_ceiling(env, x, size, stride=1, padding=0):
    pool(env, x, size, stride, padding)
    return ((x[0] + 2 * padding - size + stride - 1) // stride + 1,)


@wrong(windows)
def pools_padding_once(env, x, size, stride=1, padding=0):
    pool(env, x, size, stride, padding)
    return ((x[0] + padding - size) // stride + 1,)


@wrong(windows)
def pools_stride_2(env, x, size, stride=2, padding=0):
    pool(env, x, size, stride, padding)
    return ((x[0] + 2 * padding - size) // stride + 1,)


@wrong(windows)
def pools_too_long(env, x, size, stride=1, padding=0):
    env.require(len(x) == 1, "expected one axis")
    env.require(size >= 1, "empty window")
    env.require(stride >= 1, "no stride")
    env.require(padding >= 0, "negative padding")
    return (sym_max((x[0] + 2 * padding - size) // stride + 1, 0),)


@wrong(windows)
def pools_half_padding(env, x, size, stride=1, padding=0):
    pool(env, x, size, stride, padding)
    env.require(2 * padding <= size, "padding is more than half of the window")
    return ((x[0] + 2 * padding - size) // stride + 1,)


# ---------------------------------------------------------------------- lists


def concatenated(arrays, axis=0):
    import numpy

    return numpy.concatenate(arrays, axis)


@right(concatenated)
def concatenates(env, arrays, axis=0):
    env.require(len(arrays) > 0, "nothing to join")
    first, *rest = arrays
    env.require(-len(first) <= axis < len(first), "no such axis")
    axis %= len(first)
    for other in rest:
        env.require(len(other) == len(first), "ranks differ")
        for k, (m, n) in enumerate(zip(first, other)):
            if k != axis:
                env.require(m == n, "sizes differ")
    return tuple([sum([each[axis] for each in arrays]) if k == axis else size for k, size in enumerate(first)])


@wrong(concatenated)
def concatenates_two(env, arrays, axis=0):
    joined = list(concatenates(env, arrays, axis))
    joined[axis] = arrays[0][axis] + arrays[-1][axis]
    return tuple(joined)


@wrong(concatenated)
def concatenates_unchecked(env, arrays, axis=0):
    env.require(len(arrays) > 0, "nothing to join")
    first = arrays[0]
    env.require(-len(first) <= axis < len(first), "no such axis")
    axis %= len(first)
    env.require(all(len(each) == len(first) for each in arrays), "ranks differ")
    return tuple([sum([each[axis] for each in arrays]) if k == axis else size for k, size in enumerate(first)])


@wrong(concatenated)
def concatenates_last(env, arrays, axis=-1):
    return concatenates(env, arrays, axis)


# ---------------------------------------------------------------------- views and options


def flattened(x, start_dim=0, end_dim=-1):
    import torch

    return torch.flatten(x, start_dim, end_dim)


@right(flattened)
def flattens(env, x, start_dim: int = 0, end_dim: int = -1):
    rank = max(len(x), 1)
    env.require(-rank <= start_dim < rank and -rank <= end_dim < rank, "no such axis")
    start, end = start_dim % rank, end_dim % rank
    env.require(start <= end, "axes are the wrong way round")
    return (*x[:start], math.prod(x[start : end + 1]), *x[end + 1 :])


@wrong(flattened)
def flattens_order(env, x, start_dim: int = 0, end_dim: int = -1):
    rank = max(len(x), 1)
    env.require(-rank <= start_dim < rank and -rank <= end_dim < rank, "no such axis")
    start, end = sorted((start_dim % rank, end_dim % rank))
    return (*x[:start], math.prod(x[start : end + 1]), *x[end + 1 :])


@wrong(flattened)
def flattens_from_one(env, x, start_dim: int = 1, end_dim: int = -1):
    return flattens(env, x, start_dim, end_dim)


@wrong(flattened)
def flattens_numbers(env, x, start_dim: int = 0, end_dim: int = -1):
    return tuple(x) if not len(x) else flattens(env, x, start_dim, end_dim)


@wrong(flattened)
def flattens_to_31_bits(env, x, start_dim: int = 0, end_dim: int = -1):
    sizes = flattens(env, x, start_dim, end_dim)
    for size in sizes:
        env.require(size < 2**31, "too many elements")
    return sizes


def convolved(call: Call):
    x, w = call.args[:2]
    mode = call.args[2] if len(call.args) > 2 else "full"
    if len(x) != 1 or len(w) != 1 or x[0] < 1 or w[0] < 1:
        return None
    full, least, most = x[0] + w[0] - 1, min(x[0], w[0]), max(x[0], w[0])
    return (({"full": full, "same": most, "valid": most - least + 1}[mode],),)


@right(convolved)
def convolves(env, x, w, mode: Literal["full", "same", "valid"] = "full"):
    env.require(len(x) == 1 and len(w) == 1, "expected one axis each")
    env.require(x[0] >= 1, "empty")
    env.require(w[0] >= 1, "empty")
    most = sym_max(x[0], w[0])
    return ({"full": x[0] + w[0] - 1, "same": most, "valid": 2 * most - x[0] - w[0] + 1}[mode],)


@wrong(convolved)
def convolves_same(env, x, w, mode: Literal["full", "same", "valid"] = "full"):
    convolves(env, x, w, mode)
    most = sym_max(x[0], w[0])
    return ({"full": x[0] + w[0] - 1, "same": x[0], "valid": 2 * most - x[0] - w[0] + 1}[mode],)


@wrong(convolved)
def convolves_by_default(env, x, w, mode: Literal["full", "same", "valid"] = "valid"):
    return convolves(env, x, w, mode)


@wrong(convolved)
def convolves_longer_signal(env, x, w, mode: Literal["full", "same", "valid"] = "full"):
    convolves(env, x, w, mode)
    return ({"full": x[0] + w[0] - 1, "same": sym_max(x[0], w[0]), "valid": sym_max(x[0] - w[0] + 1, 0)}[mode],)


def as_bytes(x):
    import numpy

    return None if x.ndim != 1 else numpy.ascontiguousarray(x).view(numpy.uint8)


BYTES = {"bool": 1, "uint8": 1, "float16": 2, "int32": 4, "float32": 4, "int64": 8, "float64": 8, "complex64": 8}


def sized(call: Call):
    (x,) = call.args
    return ((x[0] * BYTES[x.dtype or "float32"],),) if len(x) == 1 else None


@right(sized)
def counts_bytes(env, x):
    env.require(len(x) == 1, "expected one axis")
    return (x[0] * BYTES[x.dtype or "float32"],)


@wrong(sized)
def counts_bytes_of_floats(env, x):
    env.require(len(x) == 1, "expected one axis")
    return (x[0] * {**BYTES, "complex64": 16}[x.dtype or "float32"],)


def split_evenly(call: Call):
    x, sections = call.args
    if len(x) != 1 or sections < 1 or x[0] % sections:
        return None
    return ((x[0] // sections,),) * sections


@right(split_evenly)
def splits(env, x, sections):
    env.require(len(x) == 1, "expected one axis")
    env.require(sections >= 1, "no sections")
    env.require(x[0] % sections == 0, "no equal parts")
    return tuple([(x[0] // sections,) for _ in range(sections)])


@wrong(split_evenly)
def splits_one_less(env, x, sections):
    env.require(len(x) == 1, "expected one axis")
    env.require(sections >= 1, "no sections")
    env.require(x[0] % sections == 0, "no equal parts")
    return tuple([(x[0] // sections,) for _ in range(max(sections - 1, 1))])


@wrong(split_evenly)
def splits_anything(env, x, sections):
    env.require(len(x) == 1, "expected one axis")
    env.require(sections >= 1, "no sections")
    return tuple([(x[0] // sections,) for _ in range(sections)])


# ---------------------------------------------------------------------- sizes that are taken as numbers for a reason


def powers(call: Call):
    (x,) = call.args
    return ((1 << max(x[0] - 1, 0).bit_length(),),) if len(x) == 1 and x[0] < 1 << 40 else None


@right(powers)
def next_power(env, x):
    env.require(len(x) == 1, "expected one axis")
    env.require(x[0] < 2**40, "too large")
    return (1 << max(int(x[0]) - 1, 0).bit_length(),)


def unbound(call: Call):
    (x,) = call.args
    return (tuple(x[1:]),) * x[0] if len(x) and 1 <= x[0] < 50 else None


@right(unbound)
def unbinds(env, x):
    env.require(len(x) >= 1, "no axes")
    env.require(1 <= x[0], "nothing")
    env.require(x[0] < 50, "too many")
    return tuple([tuple(x[1:]) for _ in range(x[0])])
