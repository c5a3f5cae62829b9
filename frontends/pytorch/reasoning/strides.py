"""Strides of Inductor's index expressions, read off where they are coefficients.

To choose how a loop is vectorized, Inductor asks how an index changes with a loop's variable: it simplifies
`index(x + 1) - index(x)` by all that sympy has, milliseconds for each index and variable. Of

    64*s0*x0 + 64*x1 + x2

the stride of `x0` is what is multiplied with it, `64*s0`. Here that is answered where it can be read off: the index is
a sum in which one term alone has the variable, as a factor, and the other factors of that term are integers and powers
of symbols; then both are the same product. What the other terms are does not matter, as they go away. Everything else,
such as a variable in a quotient or a remainder, or a factor that is a sum, is Inductor's to simplify.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sympy

Implementation = Callable[..., Any]


def functions(strides: Any) -> dict[str, Any]:
    """What takes the place of functions of the module that has Inductor's strides, by their names."""
    return {
        "stride_at": read_off(strides.stride_at),
        "stride_at_vec_range": read_off(strides.stride_at_vec_range),
    }


def read_off(original: Implementation) -> Implementation:
    """The stride of an index with regard to a variable, simplified only where it is not a coefficient."""

    def stride(index: Any, variable: Any, *length: Any, **named: Any) -> Any:
        found = coefficient(index, variable)
        return original(index, variable, *length, **named) if found is None else found

    return stride


def coefficient(index: Any, variable: Any) -> Any:
    """What a variable is multiplied with in an index; None where that is not read off.

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
