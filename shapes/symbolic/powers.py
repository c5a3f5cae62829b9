"""`**` of symbolic integers: an integer where the exponent is not negative, a float where it is.

    >>> from shapes import ShapeEnv
    >>> env = ShapeEnv(origin=lambda: None)
    >>> s, n = env.sizes("s n")
    >>> s**2, 2**n, pow(s, 2, 5)
    (s**2, 2**n, s**2 % 5)
    >>> s**-1, s**0.5
    (float(s)**-1.0, float(s)**0.5)
    >>> k = env.symbol("k", lo=None, hint=3)
    >>> 2**k, [str(guard.prop) for guard in env.guards()]     # int or float? a branch of the program
    (2**k, ['k >= 0'])
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shapes.symbolic.operations import refuse
from shapes.symbolic.symbool import SymBool
from shapes.symbolic.symint import SymInt

if TYPE_CHECKING:
    from shapes.symbolic.symfloat import SymFloat

LARGEST_EXPONENT: Final = 1 << 12
"""A constant exponent beyond this is refused: its normal form has that many factors."""


def power(base: SymInt, exponent: object, modulus: int | SymInt | None = None) -> SymInt | SymFloat:
    """`base ** exponent`, or `pow(base, exponent, modulus)`."""
    if isinstance(exponent, bool | SymBool):
        exponent = exponent.integer if isinstance(exponent, SymBool) else int(exponent)
    if not isinstance(exponent, int | SymInt):
        if isinstance(exponent, float) and modulus is None:
            return base.as_float**exponent
        return NotImplemented  # type: ignore[no-any-return]
    if modulus is not None:
        return _modular(base, exponent, modulus)
    if exponent < 0:
        return base.as_float ** (exponent.as_float if isinstance(exponent, SymInt) else float(exponent))
    return _integer_power(base, exponent)


def reflected_power(exponent: SymInt, base: object, modulus: int | None = None) -> SymInt | SymFloat:
    """`base ** exponent` for a base that is not symbolic."""
    from shapes.symbolic.symfloat import constant

    operations = exponent.operations
    if isinstance(base, float) and modulus is None:
        return constant(operations, base) ** exponent.as_float
    if not isinstance(base, int):
        return NotImplemented  # type: ignore[no-any-return]
    return power(operations.integer(operations.interner.constant(int(base)), operations.true), exponent, modulus)


def _integer_power(base: SymInt, exponent: int | SymInt) -> SymInt:
    operations = base.operations
    if isinstance(exponent, int):
        if exponent > LARGEST_EXPONENT and not base.expr.is_constant:
            raise refuse(f"{base} ** {exponent}", f"the exponent is beyond {LARGEST_EXPONENT}")
        return operations.integer(operations.interner.power(base.expr, exponent), base.domain)
    operations.same(exponent.operations, "**")
    needed = operations.interner.nonnegative(exponent.expr)
    domain = operations.both(base.domain, exponent.domain, needed)
    return operations.integer(operations.interner.power(base.expr, exponent.expr), domain)


def _modular(base: SymInt, exponent: int | SymInt, modulus: int | SymInt) -> SymInt:
    if exponent < 0:  # an inverse modulo the modulus: Python finds it by the extended Euclidean algorithm
        operations = base.operations
        value = pow(base.__index__(), int(exponent), int(modulus))
        return operations.integer(operations.interner.constant(value), operations.true)
    return _integer_power(base, exponent) % modulus
