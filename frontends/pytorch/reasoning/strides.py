"""Strides of Inductor's index expressions as coefficients.

To vectorize a loop, Inductor computes the stride of an index in a loop variable by simplifying `index(x + 1) -
index(x)` with sympy, which takes milliseconds for each index and variable. In

    64*s0*x0 + 64*x1 + x2

the stride of `x0` is its coefficient, `64*s0`. It is read off if exactly one term of the sum contains the variable, as
a factor, and the term's other factors are integers and powers of symbols; the other terms cancel. Everything else, such
as a variable in a quotient or a remainder, or a factor that is a sum, is left to Inductor.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sympy

Implementation = Callable[..., Any]


def functions(strides: Any) -> dict[str, Any]:
    """Replacements for Inductor's stride functions, by name."""
    return {
        "stride_at": read_off(strides.stride_at),
        "stride_at_vec_range": read_off(strides.stride_at_vec_range),
    }


def read_off(original: Implementation) -> Implementation:
    """The stride of an index in a variable; simplified only if it is not a coefficient."""

    def stride(index: Any, variable: Any, *length: Any, **named: Any) -> Any:
        found = coefficient(index, variable)
        return original(index, variable, *length, **named) if found is None else found

    return stride


def coefficient(index: Any, variable: Any) -> Any:
    """The coefficient of a variable in an index; None if it cannot be read off.

    >>> x, y, size = sympy.symbols("x y size", integer=True)
    >>> coefficient(3 * size * x + y // 2, x), coefficient(3 * size * x + y // 2, y), coefficient(size, x)
    (3*size, None, 0)
    """
    if not (isinstance(index, sympy.Expr) and isinstance(variable, sympy.Symbol)):
        return None
    terms = [term for term in sympy.Add.make_args(index) if variable in term.free_symbols]
    if not terms:
        return sympy.S.Zero
    if len(terms) > 1:
        return None
    factors = sympy.Mul.make_args(terms[0])
    others = [factor for factor in factors if factor != variable]
    if len(others) != len(factors) - 1 or not all(map(is_plain, others)):
        return None
    return sympy.Mul(*others)


def is_plain(factor: Any) -> bool:
    """Whether a factor is an integer, a symbol, or a power of a symbol."""
    if factor.is_Pow:
        base, exponent = factor.args
        return base.is_Symbol and exponent.is_Integer and exponent > 0
    return factor.is_Integer or factor.is_Symbol


__all__ = ["coefficient", "functions"]
