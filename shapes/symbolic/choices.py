"""Symbolic forms of what Python concretizes: choices, connectives, roots and sums.

    >>> from shapes import ShapeEnv, sym_and, sym_ite, sym_max, sym_not, sym_or, sym_sqrt, sym_sum
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, s = env.sizes("b s")
    >>> sym_max(b, 16), sym_ite(s > 64, s // 2, s), sym_sum([b, s, b, 1])
    (max(b, 16), s//2 if s >= 65 else s, 2*b + s + 1)
    >>> either = sym_or(b == 0, s % b == 0)
    >>> either.domain                            # as in `b == 0 or s % b == 0`, which never divides by zero
    <True>
    >>> sym_not(either), sym_sqrt(s)
    (b != 0 and s % b != 0, sqrt(float(s)))

With plain numbers they give what Python gives: `sym_max(3, 5)` is 5.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import reduce
from operator import index
from typing import SupportsFloat, SupportsIndex, SupportsInt, TypeVar, cast, overload

from shapes.accepted import is_truth
from shapes.symbolic.numbers import SymBool, SymFloat, SymInt, Tables
from shapes.symbolic.operations import refuse
from solver.floats import values as floats
from solver.terms.expr import Expr
from solver.terms.prop import Prop

Int = int | SymInt
Real = int | float | SymInt | SymFloat
Truth = bool | SymBool
T = TypeVar("T", SymInt, SymFloat)


@overload
def sym_max(first: Int, /, *others: Int) -> Int: ...
@overload
def sym_max(first: Real, /, *others: Real) -> Real: ...
def sym_max(first: Real, /, *others: Real) -> Real:
    """`max`, without a branch. With floats, the first of the largest, as Python has it."""
    for other in others:
        first = _extreme(first, other, largest=True)
    return first


@overload
def sym_min(first: Int, /, *others: Int) -> Int: ...
@overload
def sym_min(first: Real, /, *others: Real) -> Real: ...
def sym_min(first: Real, /, *others: Real) -> Real:
    """`min`, without a branch. With floats, the first of the smallest, as Python has it."""
    for other in others:
        first = _extreme(first, other, largest=False)
    return first


def sym_gcd(first: Int, /, *others: Int) -> Int:
    """`math.gcd`, without a branch."""
    values = [_counted(value, "sym_gcd") for value in (first, *(others or (0,)))]
    symbolic = next((value for value in values if isinstance(value, SymInt)), None)
    if symbolic is None:
        return math.gcd(*[index(value) for value in values])
    operations = symbolic.operations
    numbers = [as_integer(operations, value) for value in values]
    for number in numbers:
        operations.same(number.operations, "sym_gcd")
    found = reduce(operations.interner.gcd, [number.expr for number in numbers])
    return operations.integer(found, operations.interner.conjunction([number.domain for number in numbers]))


def _extreme(a: Real, b: Real, *, largest: bool) -> Real:
    a, b = _plain(a), _plain(b)
    symbolic = a if isinstance(a, SymInt | SymFloat) else b
    for value in (a, b):
        _check_number(value, "sym_max" if largest else "sym_min")
    if not isinstance(symbolic, SymInt | SymFloat):
        return max(a, b) if largest else min(a, b)
    operations = symbolic.operations
    if isinstance(a, int | SymInt) and isinstance(b, int | SymInt):
        x, y = as_integer(operations, a), as_integer(operations, b)
        interner = operations.interner
        operations.same(y.operations, "sym_max" if largest else "sym_min")
        operations.same(x.operations, "sym_max" if largest else "sym_min")
        expr = interner.maximum(x.expr, y.expr) if largest else interner.minimum(x.expr, y.expr)
        return operations.integer(expr, operations.both(x.domain, y.domain))
    return sym_ite(b > a if largest else b < a, b, a)


@overload
def sym_ite(condition: Truth, then: Truth, otherwise: Truth) -> Truth: ...  # type: ignore[overload-overlap]
@overload
def sym_ite(condition: Truth, then: Int, otherwise: Int) -> Int: ...
@overload
def sym_ite(condition: Truth, then: Real, otherwise: Real) -> Real: ...
def sym_ite(condition: Truth, then: Real | Truth, otherwise: Real | Truth) -> Real | Truth:
    """`then if condition else otherwise`, without a branch; only the value that is taken has to make sense."""
    if is_truth(condition):
        return then if condition else otherwise
    if not isinstance(condition, SymBool):
        raise refuse("sym_ite", f"condition={condition!r}: expected a bool or a SymBool", TypeError)
    if isinstance(then, bool | SymBool) and isinstance(otherwise, bool | SymBool):
        return sym_or(sym_and(condition, then), sym_and(sym_not(condition), otherwise))
    operations, p = condition.operations, condition.prop
    interner = operations.interner
    then, otherwise = _plain(then), _plain(otherwise)
    if isinstance(then, float | SymFloat) or isinstance(otherwise, float | SymFloat):
        x, y = as_float(operations, then), as_float(operations, otherwise)
        value = floats.choose(p, x.value, y.value)
        return SymFloat(condition.env, value, _chosen(condition, x, y), operations)
    a, b = as_integer(operations, then), as_integer(operations, otherwise)
    return operations.integer(interner.ite(p, a.expr, b.expr), _chosen(condition, a, b))


def _chosen(condition: SymBool, then: T, otherwise: T) -> Prop:
    operations, p = condition.operations, condition.prop
    for value in (then, otherwise):
        operations.same(value.operations, "sym_ite")
    interner = operations.interner
    if condition.domain is then.domain is otherwise.domain is operations.true:
        return operations.true
    return operations.both(
        condition.domain,
        interner.disjunction((p.negation, then.domain)),
        interner.disjunction((p, otherwise.domain)),
    )


def sym_not(p: Truth) -> Truth:
    """`not p`, without a branch."""
    if isinstance(p, SymBool):
        return p.negated()
    return not p


def sym_and(*parts: Truth) -> Truth:
    """`p and q and ...`, without a branch: each needs to make sense only where those before it hold."""
    return _joined(parts, "sym_and", neutral=True)


def sym_or(*parts: Truth) -> Truth:
    """`p or q or ...`, without a branch: each needs to make sense only where none before it holds."""
    return _joined(parts, "sym_or", neutral=False)


def _joined(parts: Iterable[Truth], name: str, *, neutral: bool) -> Truth:
    symbolic: list[SymBool] = []
    for part in parts:
        if isinstance(part, SymBool):
            if symbolic:
                symbolic[0].operations.same(part.operations, name)
            symbolic.append(part)
        elif not is_truth(part):
            raise refuse(name, f"{part!r}: expected a bool or a SymBool", TypeError)
        elif bool(part) is not neutral:
            if not symbolic:
                return not neutral
            operations = symbolic[0].operations
            whole = operations.interner.true if part else operations.interner.false
            symbolic.append(operations.boolean(whole, operations.true))
            break
    if len(symbolic) < 2:
        return symbolic[0] if symbolic else neutral
    operations = symbolic[0].operations
    interner = operations.interner
    join = interner.conjunction if neutral else interner.disjunction
    prop = join([part.prop for part in symbolic])
    domain = operations.true
    for part in reversed(symbolic):
        # defined where this part is, and where it does not decide, the rest is
        if domain is not operations.true:
            domain = interner.disjunction((part.prop.negation if neutral else part.prop, domain))
        domain = operations.both(part.domain, domain)
    return operations.boolean(prop, domain)


def sym_sum(parts: Iterable[Int]) -> Int:
    """`sum(parts)` in one step; Python's own makes an expression for every prefix."""
    total = 0
    symbolic: list[SymInt] = []
    for part in parts:
        size = _counted(part, "sym_sum")
        if isinstance(size, SymInt):
            symbolic.append(size)
        else:
            total += size
    if not symbolic:
        return total
    operations = symbolic[0].operations
    domain = operations.true
    exprs: list[Expr] = [operations.interner.constant(total)]
    for part in symbolic:
        operations.same(part.operations, "sym_sum")
        exprs.append(part.expr)
        if part.domain is not domain:
            domain = operations.both(domain, part.domain)
    return operations.integer(operations.interner.sum(exprs), domain)


@overload
def sym_int(value: int) -> int: ...
@overload
def sym_int(value: float | SymInt | SymFloat | SymBool) -> Int: ...
def sym_int(value: float | SymInt | SymFloat | SymBool) -> Int:
    """`int(value)`: towards zero."""
    if isinstance(value, SymBool):
        return value.integer
    if isinstance(value, SymFloat):
        return value.__trunc__()
    if isinstance(value, SymInt):
        return value
    _check_number(value, "sym_int")
    return int(value)


def sym_float(value: float | SymInt | SymFloat | SymBool) -> float | SymFloat:
    """`float(value)`."""
    if isinstance(value, SymBool):
        value = value.integer
    if isinstance(value, SymInt):
        return value.as_float
    if isinstance(value, SymFloat):
        return value
    _check_number(value, "sym_float")
    try:
        return float(value)
    except OverflowError as error:
        raise refuse("sym_float", str(error), OverflowError) from None


def sym_sqrt(value: float | SymInt | SymFloat | SymBool) -> float | SymFloat:
    """`math.sqrt(value)`, correctly rounded."""
    value = sym_float(value)
    if not isinstance(value, SymFloat):
        if value < 0:
            raise refuse(f"sym_sqrt({value})", "the root of a negative number is no real one", ValueError)
        return math.sqrt(value)
    try:
        root = floats.square_root(value.value)
    except ValueError as error:
        raise refuse(f"sym_sqrt({value})", str(error), ValueError) from None
    return SymFloat(value.env, root, value.operations.both(value.domain, root.domain), value.operations)


def _plain(value: Real | Truth) -> Real:
    """Truth values count as 0 and 1."""
    if isinstance(value, SymBool):
        return value.integer
    if isinstance(value, bool):
        return int(value)
    given = cast("object", value)
    if not isinstance(given, int | float | SymInt | SymFloat) and isinstance(given, SupportsIndex):
        return index(given)  # an integer of another library
    return value


def _check_number(value: object, name: str) -> None:
    """Refuse what is no number of any library, and text, which Python would read as one."""
    if isinstance(value, str | bytes) or not isinstance(value, SupportsFloat | SupportsInt | SupportsIndex):
        raise refuse(name, f"{value!r}: expected a number or a symbolic one", TypeError)


def _counted(value: object, name: str) -> Int:
    """An integer of any library; truth values count as 0 and 1."""
    if isinstance(value, SymInt):
        return value
    if isinstance(value, SymBool):
        return value.integer
    if isinstance(value, SupportsIndex) and not isinstance(value, SymFloat):
        return index(value)
    raise refuse(name, f"{value!r}: expected an int or a SymInt", TypeError)


def as_integer(operations: Tables, value: object) -> SymInt:
    size = _counted(value, "sym_ite")
    return size if isinstance(size, SymInt) else operations.whole(size)


def as_float(operations: Tables, value: Real) -> SymFloat:
    if isinstance(value, SymFloat):
        return value
    return value.as_float if isinstance(value, SymInt) else operations.double(float(value))
