"""Planted rules about one or two sizes and integers: thresholds, moduli, signs, roundings, relations, wraparound."""

import math

from shapes.symbolic.choices import sym_ite, sym_max, sym_min
from shapes.testing import Call

RIGHT, WRONG = [], []


def right(reference):
    return lambda rule: RIGHT.append((rule, reference)) or rule


def wrong(reference, smallest=None):
    return lambda rule: WRONG.append((rule, reference, smallest)) or rule


def same(call: Call):
    (x,) = call.args
    return (tuple(x),)


def halved(call: Call):
    (x,) = call.args
    return ((x[0] // 2,),) if len(x) == 1 else None


def vector(env, x):
    env.require(len(x) == 1, "expected one axis")
    return x[0]


@right(same)
def identity(env, x):
    return tuple(x)


@right(halved)
def halves(env, x):
    return (vector(env, x) // 2,)


@right(halved)
def halves_by_cases(env, x):
    n = vector(env, x)
    return (n // 2,) if n % 2 == 0 else ((n - 1) // 2,)


@wrong(halved, [(13,)])
def threshold_13(env, x):
    n = vector(env, x)
    return (n // 2 + 1,) if n >= 13 else (n // 2,)


@wrong(halved, [(4097,)])
def threshold_4097(env, x):
    n = vector(env, x)
    return (n // 2,) if n < 4097 else (n // 2 - 1,)


@wrong(halved, [(4098,)])
def limit_4097(env, x):
    n = vector(env, x)
    env.require(n <= 4097, "too large")
    return (n // 2,)


@wrong(halved, [(2**31,)])
def limit_of_32_bits(env, x):
    n = vector(env, x)
    env.require(n < 2**31, "too large")
    return (n // 2,)


@wrong(halved, [(777,)])
def single_value(env, x):
    n = vector(env, x)
    return (sym_ite(n == 777, n, n // 2),)


@wrong(halved, [(1009,)])
def single_residue(env, x):
    n = vector(env, x)
    return (n // 2 + 1,) if n % 2018 == 1009 else (n // 2,)


@wrong(halved)
def specialized(env, x):
    return (int(vector(env, x)) // 2,)


@wrong(halved)
def specialized_by_guard(env, x):
    n = vector(env, x)
    if env.hint(n) is not None:
        env.guard(n == env.hint(n))
    return (n // 2,)


@wrong(same)
def specialized_axis(env, x):
    return tuple([size if axis != 1 else int(size) for axis, size in enumerate(x)])


@wrong(halved, [(1,)])
def dropped_floor(env, x):
    return ((vector(env, x) + 1) // 2,)


@wrong(same, [(0, 0, 0, 0)])
def rank_4(env, x):
    return tuple(x) if len(x) != 4 else tuple(reversed(x))[:3]


@wrong(same, [(0, 0, 0, 0, 1)])
def rank_5(env, x):
    return tuple(x) if len(x) != 5 else (*x[:3], x[4], x[3])


@wrong(same, [(0, 0, 0, 0)])
def ranks_to_3(env, x):
    env.require(len(x) <= 3, "too many axes")
    return tuple(x)


def product(call: Call):
    x, k = call.args
    return ((x[0] * k,),) if len(x) == 1 and k >= 0 else None


@right(product)
def multiplies(env, x, k: int):
    n = vector(env, x)
    env.require(k >= 0, "negative")
    return (n * k,)


@wrong(product)
def product_limit(env, x, k: int):
    n = vector(env, x)
    env.require(k >= 0, "negative")
    return (n * k,) if n * k <= 2**31 else (n * k - 1,)


@wrong(product)
def product_refused(env, x, k: int):
    n = vector(env, x)
    env.require(k >= 0, "negative")
    env.require(n * k < 2**31, "overflow")
    return (n * k,)


@wrong(product)
def wraps_at_32_bits(env, x, k: int):
    n = vector(env, x)
    env.require(k >= 0, "negative")
    return ((n * k + 2**31) % 2**32 - 2**31,)


@wrong(product)
def wraps_unsigned(env, x, k: int):
    n = vector(env, x)
    env.require(k >= 0, "negative")
    return ((n * k) % 2**32,)


@wrong(product, [(0,), -1])
def missing_sign(env, x, k: int):
    return (vector(env, x) * k,)


def counted(call: Call):
    (n,) = call.args
    return ((n,),) if n >= 0 else None


@right(counted)
def counts(env, n: int):
    env.require(n >= 0, "negative")
    return (n,)


@wrong(counted, [-1])
def counts_negative(env, n: int):
    return (n,)


@wrong(counted, [-1])
def counts_unannotated(env, n):
    return (n,)


@wrong(counted, [-1])
def absolute(env, n: int):
    return (abs(n),)


@wrong(counted, [0])
def counts_from_one(env, n: int):
    env.require(n >= 1, "not positive")
    return (n,)


def range_of(call: Call):
    start, stop, step = call.args
    return None if step == 0 else ((len(range(start, stop, step)),),)


@right(range_of)
def arange(env, start: int, stop: int, step: int):
    env.require(step != 0, "step of zero")
    length = (stop - start + step - 1) // step if step > 0 else (start - stop - step - 1) // -step
    return (sym_max(length, 0),)


@wrong(range_of)
def arange_truncates(env, start: int, stop: int, step: int):
    env.require(step != 0, "step of zero")
    length = (stop - start + step - 1) // step if step > 0 else (start - stop) // -step
    return (sym_max(length, 0),)


@wrong(range_of)
def arange_not_clamped(env, start: int, stop: int, step: int):
    env.require(step != 0, "step of zero")
    return ((stop - start + step - 1) // step if step > 0 else (start - stop - step - 1) // -step,)


@wrong(range_of)
def arange_positive(env, start: int, stop: int, step: int):
    env.require(step > 0, "step of zero")
    return (sym_max((stop - start + step - 1) // step, 0),)


@wrong(range_of)
def arange_negative_start(env, start: int, stop: int, step: int):
    env.require(step != 0, "step of zero")
    start = sym_max(start, 0)
    length = (stop - start + step - 1) // step if step > 0 else (start - stop - step - 1) // -step
    return (sym_max(length, 0),)


def sliced(call: Call):
    x, start, stop = call.args
    return ((len(range(x[0])[start:stop]),),) if len(x) == 1 else None


@right(sliced)
def slices(env, x, start: int, stop: int):
    n = vector(env, x)
    first = sym_max(start + n, 0) if start < 0 else sym_min(start, n)
    last = sym_max(stop + n, 0) if stop < 0 else sym_min(stop, n)
    return (sym_max(last - first, 0),)


@wrong(sliced)
def slices_negative_start(env, x, start: int, stop: int):
    n = vector(env, x)
    first = sym_min(start, n)
    last = sym_max(stop + n, 0) if stop < 0 else sym_min(stop, n)
    return (sym_max(last - first, 0),)


@wrong(sliced)
def slices_unclamped_start(env, x, start: int, stop: int):
    n = vector(env, x)
    first = start + n if start < 0 else sym_min(start, n)
    last = sym_max(stop + n, 0) if stop < 0 else sym_min(stop, n)
    return (sym_max(last - first, 0),)


@wrong(sliced)
def slices_past_the_end(env, x, start: int, stop: int):
    n = vector(env, x)
    first = sym_max(start + n, 0) if start < 0 else sym_min(start, n)
    last = sym_max(stop + n, 0) if stop < 0 else stop
    return (sym_max(last - first, 0),)


def padded(call: Call):
    x, before, after = call.args
    size = x[0] + before + after if len(x) == 1 else -1
    return ((size,),) if size >= 0 else None


@right(padded)
def pads(env, x, before: int, after: int):
    n = vector(env, x)
    env.require(n + before + after >= 0, "nothing left")
    return (n + before + after,)


@wrong(padded)
def pads_wrong_sign(env, x, before: int, after: int):
    n = vector(env, x)
    env.require(n - before + after >= 0, "nothing left")
    return (n - before + after,)


@wrong(padded)
def pads_symmetrically(env, x, before: int, after: int):
    n = vector(env, x)
    env.require(n + 2 * before >= 0, "nothing left")
    return (n + 2 * before,)


@wrong(padded)
def pads_only_out(env, x, before: int, after: int):
    n = vector(env, x)
    env.require(before >= 0, "negative")
    env.require(n + before + after >= 0, "nothing left")
    return (n + before + after,)


@wrong(padded)
def pads_missing_condition(env, x, before: int, after: int):
    return (vector(env, x) + before + after,)


def tiled(call: Call):
    (x,) = call.args
    return ((x[0] // 48, 48),) if len(x) == 1 and x[0] % 48 == 0 else None


@right(tiled)
def tiles(env, x):
    n = vector(env, x)
    env.require(n % 48 == 0, "no whole tiles")
    return (n // 48, 48)


@wrong(tiled, [(16,)])
def tiles_of_16(env, x):
    n = vector(env, x)
    env.require(n % 16 == 0, "no whole tiles")
    return (n // 48, 48)


@wrong(tiled, [(1,)])
def tiles_unconditionally(env, x):
    return (vector(env, x) // 48, 48)


@wrong(tiled, [(48,)])
def tiles_of_96(env, x):
    n = vector(env, x)
    env.require(n % 96 == 0, "no whole tiles")
    return (n // 48, 48)


def limited(call: Call):
    (x,) = call.args
    return ((x[0],),) if len(x) == 1 and x[0] <= 4097 else None


@right(limited)
def limits(env, x):
    n = vector(env, x)
    env.require(n <= 4097, "too large")
    return (n,)


@wrong(limited, [(4098,)])
def no_limit(env, x):
    return (vector(env, x),)


def bounded(call: Call):
    x, k = call.args
    return ((x[0], k),) if len(x) == 1 and 0 <= k < 1 << 20 and x[0] * k <= 123456789 else None


@right(bounded)
def bounds(env, x, k: int):
    n = vector(env, x)
    env.require(k >= 0, "negative")
    env.require(k < 2**20, "too large")
    env.require(n * k <= 123456789, "too large")
    return (n, k)


@wrong(bounded)
def forgets_the_product(env, x, k: int):
    n = vector(env, x)
    env.require(k >= 0, "negative")
    env.require(k < 2**20, "too large")
    return (n, k)


@wrong(bounded)
def off_by_one_at_the_limit(env, x, k: int):
    n = vector(env, x)
    env.require(k >= 0, "negative")
    env.require(k <= 2**20, "too large")
    env.require(n * k <= 123456789, "too large")
    return (n, k)


def clamped(call: Call):
    x, low, high = call.args
    return ((min(max(x[0], low), high),),) if len(x) == 1 and 0 <= low <= high else None


@right(clamped)
def clamps(env, x, low: int, high: int):
    n = vector(env, x)
    env.require(low >= 0, "negative")
    env.require(low <= high, "empty")
    return (sym_min(sym_max(n, low), high),)


@wrong(clamped)
def clamps_swapped(env, x, low: int, high: int):
    n = vector(env, x)
    env.require(low >= 0, "negative")
    env.require(low <= high, "empty")
    return (sym_max(sym_min(n, low), high),)


@wrong(clamped)
def clamps_without_order(env, x, low: int, high: int):
    n = vector(env, x)
    env.require(low >= 0, "negative")
    env.require(high >= 0, "negative")
    return (sym_min(sym_max(n, low), high),)


def rectangle(call: Call):
    (x,) = call.args
    return ((x[0] * x[1],),) if len(x) == 2 else None


def matrix(env, x):
    env.require(len(x) == 2, "expected two axes")
    return x


@right(rectangle)
def area(env, x):
    a, b = matrix(env, x)
    return (a * b,)


@right(rectangle)
def area_by_cases(env, x):
    a, b = matrix(env, x)
    return (a * a,) if a == b else (a * b,)


@wrong(rectangle)
def area_of_squares(env, x):
    a, b = matrix(env, x)
    return (a * b + 1,) if a == b else (a * b,)


@wrong(rectangle)
def area_of_even(env, x):
    a, b = matrix(env, x)
    return (a * b + 1,) if a % 2 == 0 and b % 2 == 0 else (a * b,)


@wrong(rectangle)
def area_of_doubles(env, x):
    a, b = matrix(env, x)
    return (a * b + 1,) if a == 2 * b + 37 else (a * b,)


@wrong(rectangle)
def area_of_coprime(env, x):
    a, b = matrix(env, x)
    return (a * b + 1,) if math.gcd(a, b) == 1 else (a * b,)


@wrong(rectangle)
def area_of_gcd_12(env, x):
    a, b = matrix(env, x)
    return (a * b + 1,) if a % 12 == 0 and b % 12 == 0 and a >= 1 and b >= 1 else (a * b,)


@wrong(rectangle)
def area_where_ordered(env, x):
    a, b = matrix(env, x)
    return (a * b + 1,) if a > b + 100 else (a * b,)


@wrong(rectangle)
def area_of_large(env, x):
    a, b = matrix(env, x)
    return (sym_min(a * b, 2**31 - 1),)


@wrong(rectangle)
def area_where_one_divides(env, x):
    a, b = matrix(env, x)
    if b >= 30 and a >= 30:
        return (a * b + 1,) if a % b == 0 else (a * b,)
    return (a * b,)
