"""Exact factors of small polynomials, for printing: no search beyond division, roots of whole powers and integer roots.

    >>> from solver.terms.factors import split
    >>> x, y = 0, 1
    >>> split({(x, y): 1, (x,): 2, (y,): 3, (): 6})          # x*y + 2*x + 3*y + 6
    ({(1,): 1, (): 2}, {(0,): 1, (): 3}, 1)
    >>> split({(x, x): 1, (x,): 2, (): 1})
    ({(0,): 1, (): 1}, {(0,): 1, (): 1}, 2)

A sum is a dictionary from sorted tuples of variable numbers to coefficients. A polynomial that is linear in some
variable, `x*q + r`, is a product exactly when q and r have a factor in common; it is looked for among the factors of q.
"""

from __future__ import annotations

from math import gcd, isqrt, prod
from typing import Final

Key = tuple[int, ...]
Sum = dict[Key, int]

DEGREE: Final = 8
SPLIT: Final = 30
"""A sum of more terms is split only if it is a square."""
LONG: Final = 60
"""A sum of more terms is not divided by another sum."""
ROOTS: Final = 64
"""Integer roots up to this size are tried."""
ONE: Final = -1
"""The number of a variable that stands for one."""
UNLIKELY: Final = 64
"""Two values without a common factor seldom have a divisor so large in common."""


def parts(poly: Sum) -> list[tuple[Sum, int]]:
    """The factors that `split` finds, and those of the factors: `poly` is the product of the `factor**power`."""
    found: list[tuple[Sum, int]] = []
    waiting = [(poly, 1)]
    while waiting:
        part, power = waiting.pop()
        divided = split(part)
        if divided is None:
            found.append((part, power))
        elif divided[2] > 1:
            waiting.append((divided[0], power * divided[2]))
        else:
            waiting.extend([(divided[0], power), (divided[1], power)])
    merged: list[tuple[Sum, int]] = []
    for part, power in found:
        for i, (other, times) in enumerate(merged):
            if other == part:
                merged[i] = (part, times + power)
                break
        else:
            merged.append((part, power))
    return merged


def positive(product: list[tuple[Sum, int]]) -> tuple[bool, list[tuple[Sum, int]]]:
    """The factors with signs changed so that none has only negative terms, and whether the product's sign changed."""
    negative = False
    found = []
    for factor, power in product:
        if max(factor.values()) < 0:
            factor = scaled(factor, -1)
            negative ^= power % 2 == 1
        found.append((factor, power))
    if negative:
        for i, (factor, power) in enumerate(found):
            if power % 2 and min(factor.values()) < 0:
                found[i] = (scaled(factor, -1), power)
                return False, found
    return negative, found


def split(poly: Sum, depth: int = 3) -> tuple[Sum, Sum, int] | None:
    """`(f, g, 1)` with `poly == f*g`, or `(f, f, k)` with `poly == f**k`; no factor is a constant or a single term."""
    if not 2 < len(poly) < LONG * LONG or max([len(key) for key in poly]) > DEGREE:
        return None
    values = {key: c * prod([sample(piece) for piece in key]) for key, c in poly.items()}
    whole = sum(values.values())
    if whole > 0 and isqrt(whole) ** 2 == whole:
        root = whole_root(poly, 2)
        if root is not None:
            return root, root, 2
    if len(poly) > SPLIT:
        return _of_two_lines(poly)
    if len(poly) > 3:
        root = whole_root(poly, 3)
        if root is not None:
            return root, root, 3
    variables = sorted({piece for key in poly for piece in key})
    for variable in variables:
        at = sample(variable)
        inside = sum([value for key, value in values.items() if variable in key])
        if gcd(inside // at, whole - inside) < UNLIKELY:
            continue
        q, r, linear = _linear(poly, variable)
        if linear and r:
            factor = _common(q, r, depth)
            if factor is not None:
                other = divide(poly, factor)
                if other is not None:
                    return factor, other, 1
    if len(variables) == 1:
        return _integer_root(poly, variables[0])
    return None


def _of_two_lines(poly: Sum) -> tuple[Sum, Sum, int] | None:
    """The factors of a quadratic polynomial, whose partial derivatives are combinations of the two.

    Where only two variables are not zero the factors are those of a binary quadratic form, which has rational ones if
    its discriminant is a square; they determine the whole factors.
    """
    if max([len(key) for key in poly]) != 2:
        return None
    lines: dict[int, dict[int, int]] = {}  # the partial derivative in each variable; ONE makes all terms quadratic
    for key, c in poly.items():
        u, v = (*key, ONE, ONE)[:2]
        for one, other in ((u, v), (v, u)):
            line = lines.setdefault(one, {})
            line[other] = line.get(other, 0) + c
    u, *rest = lines
    first = lines[u]
    for v in rest:
        second = lines[v]
        # the minor of both derivatives in the same two variables, which is the discriminant
        square = first.get(v, 0) ** 2 - first.get(u, 0) * second.get(v, 0)
        if square:
            break
    else:
        return None
    root = isqrt(max(square, 0))
    if root * root != square:
        return None
    a, b, c = first.get(u, 0), first.get(v, 0), second.get(v, 0)
    found: list[Sum] = []
    for left, right in ((a, b - root), (a, b + root)) if a else ((0, 1), (2 * b, c)):
        line = {w: (b * right - c * left) * first.get(w, 0) + (b * left - a * right) * second.get(w, 0) for w in lines}
        factor: Sum = {() if w == ONE else (w,): k for w, k in line.items() if k}
        content = gcd(*factor.values())
        if len(factor) < 2:
            return None
        found.append({key: k // content for key, k in factor.items()})
    made: Sum = {}
    for left_key, k in found[0].items():
        for right_key, m in found[1].items():
            key = tuple(sorted(left_key + right_key))
            made[key] = made.get(key, 0) + k * m
    made = {key: k for key, k in made.items() if k}
    key = next(iter(poly))
    scale = poly[key] // (made.get(key) or 1)
    return (found[0], scaled(found[1], scale), 1) if scaled(made, scale) == poly else None


def sample(variable: int) -> int:
    """A large number for each variable, no two close together.

    The values of two polynomials with a common factor have the value of that factor in common, which is large; a common
    divisor of two other values seldom is. So most searches for a factor end before they begin.
    """
    return 100_003 + 7_919 * variable * variable + 31 * variable


def _linear(poly: Sum, variable: int) -> tuple[Sum, Sum, bool]:
    """`(q, r, True)` with `poly == variable*q + r`, unless the variable occurs to a higher power."""
    q: Sum = {}
    r: Sum = {}
    for key, c in poly.items():
        times = key.count(variable)
        if times > 1:
            return q, r, False
        if times:
            q[divide_key(key, (variable,))] = c
        else:
            r[key] = c
    return q, r, True


def _common(q: Sum, r: Sum, depth: int) -> Sum | None:
    """A factor of several terms that q and r share."""
    q, r = primitive(q), primitive(r)
    small, large = (q, r) if len(q) <= len(r) else (r, q)
    for first, second in ((small, large), (large, small)):
        if len(first) > 1 and divide(second, first) is not None:
            return first
    if depth and len(small) > 2:
        found = split(small, depth - 1)
        if found is not None:
            for factor in found[:2]:
                shared = _common(factor, large, depth - 1)
                if shared is not None:
                    return shared
    return None


def primitive(poly: Sum) -> Sum:
    """The polynomial without its content and its common variables."""
    content = gcd(*poly.values())
    common: Key | None = None
    for key in poly:
        common = key if common is None else shared_key(common, key)
    return {divide_key(key, common or ()): c // content for key, c in poly.items()}


def shared_key(a: Key, b: Key) -> Key:
    left = list(b)
    kept = []
    for piece in a:
        if piece in left:
            left.remove(piece)
            kept.append(piece)
    return tuple(kept)


def divide_key(key: Key, divisor: Key) -> Key:
    """The key without the divisor's variables, each of which it has."""
    if not divisor:
        return key
    rest = list(key)
    for piece in divisor:
        rest.remove(piece)
    return tuple(rest)


def order(key: Key) -> tuple[int, tuple[int, ...]]:
    """A monomial order: by degree, then lexicographic, smaller numbers weighing more."""
    return (len(key), tuple([-piece for piece in key]))


def divide(poly: Sum, divisor: Sum) -> Sum | None:
    """The exact quotient, or None."""
    lead = max(divisor, key=order)
    coefficient = divisor[lead]
    rest = dict(poly)
    quotient: Sum = {}
    while rest:
        top = max(rest, key=order)
        c = rest[top]
        if c % coefficient or shared_key(lead, top) != lead:
            return None
        step, factor = divide_key(top, lead), c // coefficient
        quotient[step] = factor
        for key, k in divisor.items():
            product = tuple(sorted(step + key))
            left = rest.get(product, 0) - factor * k
            if left:
                rest[product] = left
            else:
                rest.pop(product, None)
        if len(quotient) > len(poly):
            return None
    return quotient


def multiply(a: Sum, b: Sum) -> Sum:
    if len(b) == 1 and () in b:
        return a if b[()] == 1 else scaled(a, b[()])
    if len(a) == 1 and () in a:
        return b if a[()] == 1 else scaled(b, a[()])
    product: Sum = {}
    for key, c in a.items():
        for other, d in b.items():
            both = tuple(sorted(key + other))
            product[both] = product.get(both, 0) + c * d
    return {key: c for key, c in product.items() if c}


def divide_with_rest(poly: Sum, divisor: Sum) -> tuple[Sum, Sum]:
    """`(q, r)` with `poly == q*divisor + r`, where no term of r is a multiple of the divisor's leading term."""
    quotient: Sum = {}
    rest: Sum = {}
    if len(divisor) == 1:
        ((lead, coefficient),) = divisor.items()
        for key, c in poly.items():
            if c % coefficient or (lead and shared_key(lead, key) != lead):
                rest[key] = c
            else:
                quotient[divide_key(key, lead)] = c // coefficient
        return quotient, rest
    if len(poly) > LONG:
        return {}, poly
    lead = max(divisor, key=order)
    coefficient = divisor[lead]
    waiting = dict(poly)
    steps = 0
    while waiting:
        top = max(waiting, key=order)
        c = waiting[top]
        steps += 1
        if c % coefficient or shared_key(lead, top) != lead or steps > 2 * len(poly) + 4:
            rest[top] = waiting.pop(top)
            continue
        step, factor = divide_key(top, lead), c // coefficient
        quotient[step] = factor
        waiting = add(waiting, multiply({step: -factor}, divisor))
    return quotient, rest


def add(a: Sum, b: Sum) -> Sum:
    total = dict(a)
    for key, c in b.items():
        both = total.get(key, 0) + c
        if both:
            total[key] = both
        else:
            del total[key]
    return total


def scaled(poly: Sum, k: int) -> Sum:
    return {key: c * k for key, c in poly.items()}


def powers(poly: Sum, variable: int) -> dict[int, Sum]:
    """The coefficients of the powers of a variable that occur."""
    groups: dict[int, Sum] = {}
    for key, c in poly.items():
        times = key.count(variable)
        rest = tuple([piece for piece in key if piece != variable]) if times else key
        groups.setdefault(times, {})[rest] = c
    return groups


def halves(poly: Sum) -> tuple[Sum, Sum]:
    """`(p, n)` with `poly == p - n` and no negative coefficient in either."""
    return {key: c for key, c in poly.items() if c > 0}, {key: -c for key, c in poly.items() if c < 0}


def whole_root(poly: Sum, power: int) -> Sum | None:
    """The polynomial whose square or cube this is, term by term from the largest."""
    lead = max(poly, key=order)
    if len(lead) % power:
        return None
    first = _root_key(lead, power)
    c = poly[lead]
    start = round(abs(c) ** (1 / power)) if abs(c) < 1 << 40 else 0
    if first is None or c <= 0 or start**power != c:
        return None
    if power == 2:
        last = poly.get((), 0)
        if last < 0 or isqrt(last) ** 2 != last:
            return None
    root: Sum = {first: start}
    below: Sum = {(): 1}
    for _ in range(power - 1):
        below = multiply(below, {first: start})
    (base, scale), = [(key, power * k) for key, k in below.items()]
    for _ in range(len(poly)):
        value = root
        for _ in range(power - 1):
            value = multiply(value, root)
        rest = {key: poly.get(key, 0) - value.get(key, 0) for key in {**poly, **value}}
        rest = {key: k for key, k in rest.items() if k}
        if not rest:
            return root
        top = max(rest, key=order)
        if rest[top] % scale or shared_key(base, top) != base or order(top) >= order(lead):
            return None
        step = divide_key(top, base)
        if step in root:
            return None
        root[step] = rest[top] // scale
    return None


def _root_key(key: Key, power: int) -> Key | None:
    chosen = key[::power]
    return chosen if tuple(sorted(chosen * power)) == key else None


def _integer_root(poly: Sum, variable: int) -> tuple[Sum, Sum, int] | None:
    """A factor `x - r` of a polynomial in one variable."""
    constant = poly.get((), 0)
    for size in range(1, ROOTS + 1):
        if constant % size == 0:
            for r in (-size, size):
                factor = {(variable,): 1, (): -r}
                if sum([c * r ** len(key) for key, c in poly.items()]) == 0:
                    quotient = divide(poly, factor)
                    if quotient is not None and len(quotient) > 1:
                        return factor, quotient, 1
    return None
