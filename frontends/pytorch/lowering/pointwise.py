"""Elementwise operators: arithmetic, comparisons, logic, rounding and functions; constants, iotas, and random masks,
which torch draws in program order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import torch

from backends.cpu.mersenne import Kept
from backends.loops.operations import is_float
from backends.loops.values import Value
from frontends.pytorch.lowering.registry import Argument, Declined, Lowered, Site, lowering
from frontends.pytorch.symbolic.metadata import name_of
from solver.terms.expr import Expr

aten: Final = torch.ops.aten

FLOAT_FUNCTIONS: Final = (
    *("sqrt", "rsqrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "tanh", "sigmoid", "erf", "erfc"),
    *("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh", "lgamma", "reciprocal"),
)
"""Float functions, which convert integers to floats; the loops' operations have torch's names."""
ROUNDINGS: Final = ("floor", "ceil", "trunc", "round")
COMPARISONS: Final = ("eq", "ne", "lt", "le", "gt", "ge")
LOGIC: Final = {"and": "bitand", "or": "bitor", "xor": "bitxor"}


@lowering(*[getattr(aten, name).default for name in FLOAT_FUNCTIONS])
def float_function(at: Site, x: Value) -> Value:
    return at.operand(x).apply(at.name)


@lowering(*[getattr(aten, name).default for name in ROUNDINGS])
def rounding(at: Site, x: Value) -> Value:
    return x.as_stored().apply(at.name) if x.is_float else x


@lowering(*[getattr(getattr(aten, name), of) for name in COMPARISONS for of in ("Tensor", "Scalar")])
def comparison(at: Site, x: Value, y: Argument) -> Value:
    dtype = _promoted(x, y)
    # as by torch, which rounds each result and number
    return at.operand(x, dtype).as_stored().apply(at.name, at.operand(y, dtype).as_stored())


def _promoted(*operands: Argument) -> str:
    """The dtype in which two operands are compared."""
    given = [
        torch.empty((1,) * min(each.rank, 1), dtype=getattr(torch, each.dtype), device="meta")
        if isinstance(each, Value)
        else 1 if isinstance(each, Expr) else each
        for each in operands
    ]
    return name_of(torch.result_type(*given))


@lowering(
    *[getattr(aten, f"logical_{name}").default for name in LOGIC],
    *[getattr(getattr(aten, f"bitwise_{name}"), of) for name in LOGIC for of in ("Tensor", "Scalar", "Scalar_Tensor")],
)
def logic(at: Site, x: Argument, y: Argument) -> Value:
    kind, _, name = at.name.partition("_")
    dtype = "bool" if kind == "logical" else at.dtype
    if is_float(dtype):
        raise Declined
    return at.operand(x, dtype).apply(LOGIC[name], at.operand(y, dtype))


# ---------------------------------------------------------------------- arithmetic


@lowering(aten.add.Tensor, aten.add.Scalar, aten.sub.Tensor, aten.sub.Scalar)
def add(at: Site, x: Argument, y: Argument, alpha: Argument = 1) -> Value:
    if at.dtype == "bool":
        if at.name == "add" and type(alpha) in (int, bool) and alpha == 1:
            return at.operand(x).apply("bitor", at.operand(y))
        raise Declined
    other = at.operand(y)
    if not (type(alpha) in (int, float) and alpha == 1):
        other = other * at.operand(alpha)
    return at.operand(x).apply(at.name, other)


@lowering(aten.mul.Tensor, aten.mul.Scalar)
def mul(at: Site, x: Argument, y: Argument) -> Value:
    operation = "bitand" if at.dtype == "bool" else "mul"
    return at.operand(x).apply(operation, at.operand(y))


@lowering(aten.div.Tensor, aten.div.Scalar)
def div(at: Site, x: Argument, y: Argument) -> Value:
    return at.operand(x) / at.operand(y)


@lowering(aten.div.Tensor_mode, aten.div.Scalar_mode)
def div_mode(at: Site, x: Argument, y: Argument, *, rounding_mode: str | None) -> Value:
    if rounding_mode is None:
        return div(at, x, y)
    if rounding_mode == "floor":
        return _division(at, x, y, "floordiv")
    if is_float(at.dtype):
        return (at.operand(x) / at.operand(y)).apply("trunc")
    return _division(at, x, y, "truncdiv")


@lowering(
    aten.floor_divide.default, aten.floor_divide.Scalar, aten.remainder.Tensor, aten.remainder.Scalar,
    aten.remainder.Scalar_Tensor, aten.fmod.Tensor, aten.fmod.Scalar,
)  # fmt: skip
def division(at: Site, x: Argument, y: Argument) -> Value:
    return _division(at, x, y, "floordiv" if at.name == "floor_divide" else at.name)


def _division(at: Site, x: Argument, y: Argument, operation: str) -> Value:
    """An integer operation that is an error if the divisor is zero, and overflows if it is -1."""
    is_safe = isinstance(y, Expr) and at.is_nonnegative(y - 1) or type(y) is int and y not in (0, -1)
    if at.dtype == "bool" or not (is_float(at.dtype) or is_safe):
        raise Declined
    # torch does not round a number by which it divides and rounds down
    divisor = at.operand(y) if operation == "floordiv" else at.operand(y).as_stored()
    return at.operand(x).as_stored().apply(operation, divisor)


FORMULAS: Final[Mapping[object, Callable[[Value], Value]]] = {
    aten.silu.default: lambda x: x / (1 + (-x).apply("exp")),
    # of two zeros x
    aten.relu.default: lambda x: x.number(0).apply("maximum", x),
    aten.neg.default: lambda x: -x,
    aten.logical_not.default: lambda x: x.as_stored().equals(0),
    aten.bitwise_not.default: lambda x: ~x,
    aten.abs.default: lambda x: x if x.dtype in ("bool", "uint8") else x.apply("abs"),
    aten.sign.default: lambda x: x if x.dtype == "bool" else x.as_stored().apply("sign"),
    aten.sgn.default: lambda x: FORMULAS[aten.sign.default](x),
}


@lowering(*FORMULAS)
def of_one(at: Site, x: Value) -> Value:
    if at.name == "silu" and not x.is_float:
        raise Declined
    return FORMULAS[at.operation.target](x)


@lowering(aten.pow.Tensor_Scalar)
def power_of(at: Site, x: Value, exponent: Argument) -> Value:
    x = at.operand(x)
    if at.dtype == "bool" or isinstance(exponent, Value):
        raise Declined
    if type(exponent) in (int, float) and exponent in POWERS and (x.is_float or exponent in (0, 1, 2, 3)):
        return POWERS[exponent](x)
    if not x.is_float:
        raise Declined
    return x.apply("pow", x.number(exponent))


POWERS: Final = {
    0: lambda x: x.number(1),
    1: lambda x: x,
    2: lambda x: x * x,
    3: lambda x: x * x * x,
    0.5: lambda x: x.apply("sqrt"),
    -0.5: lambda x: x.apply("rsqrt"),
    -1: lambda x: x.apply("reciprocal"),
    -2: lambda x: (x * x).apply("reciprocal"),
}
"""Powers that have simpler forms, in eager as well."""


@lowering(aten.pow.Tensor_Tensor, aten.pow.Scalar, aten.atan2.default, aten.copysign.Tensor, aten.copysign.Scalar)
def of_floats(at: Site, x: Argument, y: Argument) -> Value:
    if not is_float(at.dtype):
        raise Declined
    return at.operand(x).as_stored().apply(at.name, at.operand(y).as_stored())


WHOLE: Final = {"fmin": "minimum", "fmax": "maximum"}
"""Operators with NaN semantics and their integer counterparts."""


@lowering(aten.fmin.default, aten.fmax.default, aten.minimum.default, aten.maximum.default)
def extreme(at: Site, x: Value, y: Value) -> Value:
    return at.operand(x).apply(at.name if is_float(at.dtype) else WHOLE.get(at.name, at.name), at.operand(y))


# ---------------------------------------------------------------------- logic and choice


SHIFTS: Final = {
    aten.bitwise_left_shift.Tensor_Scalar: "shl",
    aten.__lshift__.Scalar: "shl",
    aten.bitwise_right_shift.Tensor_Scalar: "shr",
    aten.__rshift__.Scalar: "shr",
}


@lowering(*SHIFTS)
def shift(at: Site, x: Value, by: Argument) -> Value:
    bits = torch.iinfo(getattr(torch, at.dtype)).bits if at.dtype != "bool" and not is_float(at.dtype) else 0
    if type(by) is not int or not 0 <= by < bits:
        raise Declined
    return at.operand(x).apply(SHIFTS[at.operation.target], by)


@lowering(aten.isnan.default)
def isnan(at: Site, x: Value) -> Value:
    return x.apply("isnan") if x.is_float else at.full(False)


@lowering(aten.signbit.default)
def signbit(at: Site, x: Value) -> Value:
    if x.is_float:
        return x.computed().number(1).apply("copysign", x.computed()) < 0
    return at.full(False) if x.dtype == "bool" else x < 0


@lowering(aten.where.self)
def where(at: Site, condition: Value, yes: Argument, no: Argument) -> Value:
    return at.operand(condition, "bool").select(at.operand(yes), at.operand(no))


def fitting(at: Site, number: Argument) -> Value:
    """A number in the result's dtype; operators refuse one that overflows it."""
    if not at.full(0).represents(number):
        raise Declined
    return at.operand(number)


@lowering(aten.masked_fill.Tensor, aten.masked_fill.Scalar)
def filled(at: Site, x: Value, mask: Value, value: Argument) -> Value:
    return at.operand(mask, "bool").select(fitting(at, value), at.operand(x))


@lowering(aten.clamp.default, aten.clamp.Tensor)
def clamp(at: Site, x: Value, low: Argument | None = None, high: Argument | None = None) -> Value:
    x = at.operand(x)
    for operation, bound in (("maximum", low), ("minimum", high)):
        if isinstance(bound, Value):
            x = x.apply(operation, at.operand(bound))
        elif bound is not None:
            # of two zeros x
            x = fitting(at, bound).apply(operation, x)
    return x


# ---------------------------------------------------------------------- copies and dtypes


@lowering(aten.clone.default, aten.alias_copy.default, aten.lift_fresh_copy.default, aten.detach_copy.default)
def copy_of(at: Site, x: Value, *, memory_format: object = None) -> Value:
    literal = at.operation.args[0].constant
    if at.operation.target is aten.lift_fresh_copy.default and literal is not None and literal.dim() == 0:
        return at.full(literal.item())
    return x


@lowering(aten._to_copy.default)
def to_copy(at: Site, x: Value, **options: object) -> Value:
    return x.as_stored().rounded(at.dtype)


@lowering(aten.copy.default)
def copied_into(at: Site, x: Value, source: Argument, non_blocking: bool = False) -> Value:
    return at.operand(source.rounded(at.dtype) if isinstance(source, Value) else source)


# ---------------------------------------------------------------------- constants, iotas and random masks


ONES: Final = (aten.ones.default, aten.ones_like.default, aten.new_ones.default)


@lowering(
    *ONES, aten.zeros.default, aten.zeros_like.default, aten.new_zeros.default, aten.zero.default,
    aten.empty.memory_format, aten.empty_like.default, aten.empty_strided.default, aten.empty_permuted.default,
    aten.new_empty.default, aten.new_empty_strided.default,
)  # fmt: skip
def constant(at: Site, *given: object, **options: object) -> Value:
    """Lower a tensor of zeros or ones; elements that are not initialized are zeros, where anything reads them."""
    return at.full(int(at.operation.target in ONES))


@lowering(aten.full.default, aten.full_like.default, aten.new_full.default, aten.scalar_tensor.default)
@lowering(aten.fill.Scalar, aten.fill.Tensor)
def full(at: Site, *given: Argument, **options: object) -> Value:
    """Lower `full` and its like: the fill value is the last argument."""
    return fitting(at, given[-1])


@lowering(aten.arange.default, aten.arange.start, aten.arange.start_step)
def arange(at: Site, *numbers: Argument, **options: object) -> Value:
    """Lower `arange`: integers are exact; floats are start + i * step in double, as in eager."""
    start, _, step = (0, *numbers, 1) if len(numbers) == 1 else (*numbers, 1)[:3]
    if isinstance(start, Value) or isinstance(step, Value) or at.dtype == "bool":
        raise Declined
    place = at.iota(0)
    whole = not isinstance(start, float) and not isinstance(step, float)
    if not whole and at.dtype not in ("float32", "float64"):
        raise Declined
    dtype = "int64" if whole else "float64"
    place = place.cast(dtype)
    if not (type(step) is int and step == 1):
        place = place * step
    if not (type(start) is int and start == 0):
        place = place + start
    return place.cast(at.dtype)


@lowering(aten.native_dropout.default)
def native_dropout(at: Site, x: Value, share: float, training: bool | None) -> Lowered:
    """Lower dropout; on accelerators it uses another generator sequence than `bernoulli_`."""
    kind = at.kinds[1]
    if kind is None or kind.device.type != "cpu" or training is False or not isinstance(share, float):
        raise Declined
    if not 0 < share < 1:
        raise Declined
    mask = at.called(Kept(1 - share, x.rank, kind.device), kind)
    return [at.operand(x) * at.operand(mask) * (1 / (1 - share)), mask]
