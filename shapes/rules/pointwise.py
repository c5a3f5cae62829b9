"""Operators that work element by element: the sizes they broadcast to, and the dtype of the result.

    >>> from shapes import ShapeEnv
    >>> from shapes.rules import Shape, rules
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, s = env.sizes("b s")
    >>> rules["mul"](env, Shape((b, s, 1), dtype="float32"), (8,))
    Shape(b, s, 8)
    >>> rules["lt"](env, (b, s), 0.5)
    Shape(b, s, dtype=bool)
    >>> rules["add_"](env, (s,), (b, s))
    Traceback (most recent call last):
    shapes.rules.registry.Refused: add_(input=Shape(s), other=Shape(b, s)): the result has more axes than the tensor \
written to

Operators alike are lines of a table. What writes into its first operand (a name with an underscore) may not grow it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from shapes.env import ShapeEnv
from shapes.environment.layout import numel
from shapes.rules.broadcasting import broadcast, expandable
from shapes.rules.expectations import expect_one_of
from shapes.rules.promotion import COMPLEX_OF, floating, kind_of, promoted, real
from shapes.rules.registry import rule
from shapes.rules.shape import Shape
from shapes.rules.structure import count
from shapes.symbolic.choices import Int, Real

Result = Callable[[str | None], str | None]
"""From the dtype that the operands are computed in to the one of the result."""


def kept(dtype: str | None) -> str | None:
    return dtype


def truth(dtype: str | None) -> str | None:
    return "bool"


def unknown(dtype: str | None) -> str | None:
    return None


def double(dtype: str | None) -> str | None:
    kind = kind_of(dtype)
    return None if kind is None else "float64" if kind < 3 else "complex128"


def names(text: str) -> tuple[str, ...]:
    return tuple(text.split())


UNARY: Final[dict[Result, tuple[str, ...]]] = {
    kept: names(
        "bernoulli bitwise_not ceil conj_physical fix floor frac neg negative poisson positive sgn sign trunc"
    ),
    real: names("abs absolute"),
    floating: names(
        "acos acosh arccos arccosh arcsin arcsinh arctan arctanh asin asinh atan atanh cos cosh deg2rad digamma erf "
        "erfc erfinv exp exp2 expm1 i0 lgamma log log10 log1p log2 rad2deg reciprocal rsqrt sin sinc sinh sqrt tan "
        "special.digamma special.entr special.erf special.erfc special.erfcx special.erfinv special.exp2 "
        "special.expit special.expm1 special.gammaln special.i0 special.i0e special.i1 special.i1e special.log1p "
        "special.log_ndtr special.ndtr special.ndtri special.psi special.sinc special.airy_ai special.bessel_j0 "
        "special.bessel_j1 special.bessel_y0 special.bessel_y1 special.modified_bessel_i0 "
        "special.modified_bessel_i1 special.modified_bessel_k0 special.modified_bessel_k1 "
        "special.scaled_modified_bessel_k0 special.scaled_modified_bessel_k1 special.spherical_bessel_j0"
    ),
    truth: names("isfinite isinf isnan isreal isneginf isposinf logical_not signbit"),
    unknown: names("angle square"),
}
"""Functions of one tensor and nothing else."""

BINARY: Final[dict[Result, tuple[str, ...]]] = {
    kept: names(
        "fmax fmin fmod floor_divide gcd hypot igamma igammac lcm logaddexp logaddexp2 maximum minimum mul multiply "
        "nextafter pow remainder special.gammainc special.gammaincc bitwise_and bitwise_or bitwise_xor "
        "bitwise_left_shift bitwise_right_shift heaviside"
    ),
    floating: names(
        "arctan2 atan2 copysign true_divide xlogy special.xlogy special.xlog1py special.zeta "
        "special.chebyshev_polynomial_t special.chebyshev_polynomial_u special.chebyshev_polynomial_v "
        "special.chebyshev_polynomial_w special.hermite_polynomial_h special.hermite_polynomial_he "
        "special.laguerre_polynomial_l special.legendre_polynomial_p special.shifted_chebyshev_polynomial_t "
        "special.shifted_chebyshev_polynomial_u special.shifted_chebyshev_polynomial_v "
        "special.shifted_chebyshev_polynomial_w"
    ),
    truth: names(
        "eq ge greater greater_equal gt le less less_equal lt ne not_equal logical_and logical_or logical_xor"
    ),
    double: names("float_power"),
    unknown: names("ldexp"),
}
"""Functions of two tensors, or of a tensor and a number."""

IN_PLACE: Final = names(
    "abs_ acos_ acosh_ asin_ asinh_ atan_ atanh_ ceil_ cos_ cosh_ deg2rad_ digamma_ erf_ erfc_ erfinv_ exp_ exp2_ "
    "expm1_ floor_ frac_ i0_ lgamma_ log_ log10_ log1p_ log2_ logical_not_ neg_ rad2deg_ reciprocal_ round_ rsqrt_ "
    "sigmoid_ sign_ sgn_ sin_ sinc_ sinh_ sqrt_ square_ tan_ tanh_ trunc_ zero_"
)
"""The operators that overwrite their only tensor."""

IN_PLACE_BINARY: Final = names(
    "add_ arctan2_ atan2_ bitwise_and_ bitwise_or_ bitwise_xor_ copysign_ copy_ div_ divide_ eq_ float_power_ "
    "floor_divide_ fmod_ gcd_ ge_ greater_ greater_equal_ gt_ heaviside_ hypot_ igamma_ igammac_ lcm_ ldexp_ le_ less_ "
    "less_equal_ logical_and_ logical_or_ logical_xor_ lt_ mul_ multiply_ ne_ nextafter_ not_equal_ pow_ remainder_ "
    "sub_ subtract_ true_divide_ xlogy_"
)
"""The operators that overwrite their first tensor with a function of both."""

WHOLE: Final = frozenset(names("bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift gcd lcm"))
"""The operators that are not defined for floats."""


def met(env: ShapeEnv, *operands: Shape | Real | None) -> tuple[Int, ...]:
    """The sizes that the operands broadcast to; numbers have none."""
    return broadcast(env, *[operand for operand in operands if isinstance(operand, Shape)])


def unary(env: ShapeEnv, input: Shape) -> Shape:
    """The sizes of the input."""
    return Shape(input, dtype=input.dtype)


def _register_unary(result: Result, operators: Iterable[str]) -> None:
    def of_one(env: ShapeEnv, input: Shape) -> Shape:
        """The sizes of the input."""
        return Shape(input, dtype=result(input.dtype))

    rule(*operators)(of_one)


def _register_binary(result: Result, operators: Iterable[str]) -> None:
    def of_two(env: ShapeEnv, input: Shape | Real, other: Shape | Real) -> Shape:
        """The sizes that both broadcast to."""
        return Shape(met(env, input, other), dtype=result(promoted(input, other)))

    def of_two_whole(env: ShapeEnv, input: Shape | Real, other: Shape | Real) -> Shape:
        """The sizes that both broadcast to, for integers and bools."""
        dtype = promoted(input, other)
        env.require(kind_of(dtype) in (None, 0, 1), "expected integers")
        return Shape(met(env, input, other), dtype=result(dtype))

    operators = set(operators)
    if operators & WHOLE:
        rule(*sorted(operators & WHOLE))(of_two_whole)
    rule(*sorted(operators - WHOLE))(of_two)


for _result, _operators in UNARY.items():
    _register_unary(_result, _operators)
for _result, _operators in BINARY.items():
    _register_binary(_result, _operators)


@rule(*IN_PLACE)
def overwritten(env: ShapeEnv, input: Shape) -> Shape:
    """The input, whose sizes stay."""
    return input


@rule("fill_")
def fill_in_place(env: ShapeEnv, input: Shape, value: Shape | Real) -> Shape:
    """The input, whose sizes stay."""
    env.require(not isinstance(value, Shape) or not value, "value: expected a number or a tensor without axes")
    return input


@rule(*IN_PLACE_BINARY)
def overwritten_by_two(env: ShapeEnv, input: Shape, other: Shape | Real) -> Shape:
    """The input, whose sizes stay: the other has to broadcast to them."""
    return written(env, input, other)


def written(env: ShapeEnv, target: Shape, *operands: Shape | Real | None) -> Shape:
    """A tensor that a function of itself and others is written into."""
    for operand in operands:
        if isinstance(operand, Shape):
            env.require(len(operand) <= len(target), "the result has more axes than the tensor written to")
            expandable(env, operand, target, "the result is larger than the tensor written to")
    return target


@rule("add", "sub", "subtract", "rsub")
def add(env: ShapeEnv, input: Shape | Real, other: Shape | Real, *, alpha: Real = 1) -> Shape:
    """The sizes that both broadcast to."""
    return Shape(met(env, input, other), dtype=promoted(input, other))


@rule("div", "divide")
def div(env: ShapeEnv, input: Shape | Real, other: Shape | Real, *, rounding_mode: str | None = None) -> Shape:
    """The sizes that both broadcast to."""
    expect_one_of(rounding_mode, (None, "trunc", "floor"), "rounding_mode")
    dtype = promoted(input, other)
    return Shape(met(env, input, other), dtype=floating(dtype) if rounding_mode is None else dtype)


@rule("complex", "polar")
def complex_number(env: ShapeEnv, real: Shape, imag: Shape) -> Shape:
    """The sizes that both parts broadcast to."""
    env.require(real.dtype == imag.dtype or None in (real.dtype, imag.dtype), "the parts have different dtypes")
    dtype = None if real.dtype is None else COMPLEX_OF.get(real.dtype)
    return Shape(met(env, real, imag), dtype=dtype)


@rule("round", "special.round")
def round_to(env: ShapeEnv, input: Shape, *, decimals: int = 0) -> Shape:
    """The sizes of the input."""
    return unary(env, input)


@rule("logit", "special.logit")
def logit(env: ShapeEnv, input: Shape, eps: float | None = None) -> Shape:
    """The sizes of the input."""
    return Shape(input, dtype=floating(input.dtype))


@rule("nan_to_num", schema="input, nan=None, posinf=None, neginf=None")
def nan_to_num(env: ShapeEnv, input: Shape) -> Shape:
    """The sizes of the input."""
    return unary(env, input)


@rule("polygamma", "special.polygamma")
def polygamma(env: ShapeEnv, n: int, input: Shape) -> Shape:
    """The sizes of the input."""
    env.require(n >= 0, "n: expected 0 or more")
    return Shape(input, dtype=floating(input.dtype))


@rule("mvlgamma", "special.multigammaln")
def mvlgamma(env: ShapeEnv, input: Shape, p: int) -> Shape:
    """The sizes of the input."""
    env.require(p >= 1, "p: expected 1 or more")
    return Shape(input, dtype=floating(input.dtype))


@rule("frexp")
def frexp(env: ShapeEnv, input: Shape) -> tuple[Shape, Shape]:
    """The sizes of the input, for mantissas and exponents."""
    return unary(env, input), Shape(input, dtype="int32")


@rule("isclose", schema="input, other, rtol=1e-05, atol=1e-08, equal_nan=False")
def isclose(env: ShapeEnv, input: Shape, other: Shape, rtol: float, atol: float) -> Shape:
    """The sizes that both broadcast to."""
    env.require(rtol >= 0, "rtol: expected 0 or more")
    env.require(atol >= 0, "atol: expected 0 or more")
    return Shape(met(env, input, other), dtype="bool")


@rule("allclose")
def allclose(
    env: ShapeEnv, input: Shape, other: Shape, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> None:
    """A truth value; both have to broadcast."""
    isclose(env, input, other, rtol, atol, equal_nan)


@rule("equal")
def equal(env: ShapeEnv, input: Shape, other: Shape) -> None:
    """A truth value; sizes that differ make it false."""


@rule("isin", schema="elements, test_elements, *, assume_unique=False, invert=False")
def isin(env: ShapeEnv, elements: Shape | Real) -> Shape:
    """The sizes of the elements."""
    return Shape(elements if isinstance(elements, Shape) else (), dtype="bool")


@rule("where")
def where(
    env: ShapeEnv, condition: Shape, input: Shape | Real | None = None, other: Shape | Real | None = None
) -> Shape | tuple[Shape, ...]:
    """The sizes that all three broadcast to; with a condition alone, one list of coordinates for each axis."""
    if input is None and other is None:
        number = count(env, numel(condition))
        return tuple([Shape((number,), dtype="int64") for _ in range(max(len(condition), 1))])
    env.require(input is not None and other is not None, "expected both alternatives or none")
    env.require(condition.dtype in (None, "bool", "uint8"), "condition: expected bools")
    return Shape(met(env, condition, input, other), dtype=promoted(input, other))


@rule("clamp", "clip")
def clamp(env: ShapeEnv, input: Shape, min: Shape | Real | None = None, max: Shape | Real | None = None) -> Shape:
    """The sizes that the input and its bounds broadcast to."""
    env.require(min is not None or max is not None, "expected a min or a max")
    bounds = (min, max)
    # a tensor without axes passes as a number
    mixed = any(isinstance(bound, Shape) and bound for bound in bounds) and any(
        bound is not None and not isinstance(bound, Shape) for bound in bounds
    )
    env.require(not mixed, "min and max: expected two tensors or two numbers")
    return Shape(met(env, input, min, max), dtype=promoted(input, min, max))


@rule("clamp_min")
def clamp_min(env: ShapeEnv, input: Shape, min: Shape | Real) -> Shape:
    """The sizes that the input and its bound broadcast to."""
    return Shape(met(env, input, min), dtype=promoted(input, min))


@rule("clamp_max")
def clamp_max(env: ShapeEnv, input: Shape, max: Shape | Real) -> Shape:
    """The sizes that the input and its bound broadcast to."""
    return Shape(met(env, input, max), dtype=promoted(input, max))


@rule("clamp_", "clip_")
def clamp_in_place(
    env: ShapeEnv, input: Shape, min: Shape | Real | None = None, max: Shape | Real | None = None
) -> Shape:
    """The input, whose sizes stay: its bounds have to broadcast to them."""
    clamp(env, input, min, max)
    return written(env, input, min, max)


@rule("addcmul", "addcdiv")
def addcmul(env: ShapeEnv, input: Shape, tensor1: Shape, tensor2: Shape, *, value: Real = 1) -> Shape:
    """The sizes that all three broadcast to."""
    return Shape(met(env, input, tensor1, tensor2), dtype=promoted(input, tensor1, tensor2))


@rule("addcmul_", "addcdiv_")
def addcmul_in_place(env: ShapeEnv, input: Shape, tensor1: Shape, tensor2: Shape, *, value: Real = 1) -> Shape:
    """The input, whose sizes stay: both others have to broadcast to them."""
    return written(env, input, tensor1, tensor2)


@rule("lerp")
def lerp(env: ShapeEnv, input: Shape, end: Shape, weight: Shape | Real) -> Shape:
    """The sizes that both ends and the weight broadcast to."""
    return Shape(met(env, input, end, weight), dtype=input.dtype)


@rule("lerp_")
def lerp_in_place(env: ShapeEnv, input: Shape, end: Shape, weight: Shape | Real) -> Shape:
    """The input, whose sizes stay: the other end and the weight have to broadcast to them."""
    return written(env, input, end, weight)


@rule("masked_fill")
def masked_fill(env: ShapeEnv, input: Shape, mask: Shape, value: Shape | Real) -> Shape:
    """The sizes that input and mask broadcast to."""
    _check_fill(env, mask, value)
    return Shape(met(env, input, mask), dtype=input.dtype)


@rule("masked_fill_")
def masked_fill_in_place(env: ShapeEnv, input: Shape, mask: Shape, value: Shape | Real) -> Shape:
    """The input, whose sizes stay: the mask has to broadcast to them."""
    _check_fill(env, mask, value)
    return written(env, input, mask)


def _check_fill(env: ShapeEnv, mask: Shape, value: Shape | Real) -> None:
    env.require(mask.dtype in (None, "bool"), "mask: expected bools")
    env.require(not isinstance(value, Shape) or not value, "value: expected a number or a tensor without axes")

