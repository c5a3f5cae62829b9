"""Calls of operators that work element by element."""

from __future__ import annotations

from typing import Final

from hypothesis import strategies as st

from shapes.rules import pointwise
from shapes.rules.axes import replaced
from shapes.symbolic.choices import Int
from shapes.testing.arguments import among, arguments_of, calls_of, calls_of_tensor
from shapes.testing.arguments.mistakes import ANY, narrowed, seldom, sizes, slipped
from shapes.testing.calls import Call, Input

NUMBER_OR_TENSOR: Final = pointwise.names(
    "add div divide eq float_power floor_divide ge greater greater_equal gt le less less_equal lt mul multiply ne "
    "not_equal pow remainder rsub sub subtract true_divide xlogy special.xlogy special.xlog1py special.zeta fmod "
    "copysign add_ div_ divide_ eq_ float_power_ floor_divide_ ge_ greater_ greater_equal_ gt_ le_ less_ less_equal_ "
    "lt_ mul_ multiply_ ne_ not_equal_ pow_ remainder_ sub_ subtract_ true_divide_ xlogy_ fmod_ copysign_ "
    "bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift bitwise_and_ bitwise_or_ bitwise_xor_"
)
"""The operators that take a number in the place of their second tensor."""

DTYPES: Final = {
    **dict.fromkeys(pointwise.WHOLE, "int64"),
    **dict.fromkeys(pointwise.names("bitwise_not bitwise_and_ bitwise_or_ bitwise_xor_ gcd_ lcm_"), "int64"),
    **dict.fromkeys(pointwise.names("float_power_"), "float64"),
}
"""The dtypes required of the operands."""


CLASHES: Final = st.sampled_from((False, False, True))
"""Draws whether the sizes clash."""


def meeting(draw: st.DrawFn, count: int) -> list[tuple[Int, ...]]:
    """Sizes of tensors that broadcast together, or nearly so."""
    if draw(CLASHES):
        target = draw(sizes(1, 4))
        met: list[tuple[Int, ...]] = [narrowed(draw, target) for _ in range(count)]
        one, other = draw(st.permutations(range(count)))[:2]
        met[one], met[other] = target, grown(draw, target)
        return met
    target = draw(sizes(0, 4))
    return [slipped(draw, narrowed(draw, target)) for _ in range(count)]


def fitting(draw: st.DrawFn, count: int) -> list[tuple[Int, ...]]:
    """The same, but the first is not to be outgrown."""
    if draw(CLASHES):
        return meeting(draw, count)
    target = draw(sizes(0, 4))
    first = narrowed(draw, target) if seldom(draw) else target
    return [first, *[slipped(draw, narrowed(draw, target)) for _ in range(count - 1)]]


def grown(draw: st.DrawFn, target: tuple[int, ...]) -> tuple[Int, ...]:
    """The sizes with one of them larger."""
    axis = draw(st.integers(0, len(target) - 1))
    return replaced(target, axis, target[axis] + draw(st.integers(1, 2)))


def operands(draw: st.DrawFn, name: str, count: int) -> list[tuple[Int, ...]]:
    """Sizes for an operator that gives a new tensor, or writes into its first one."""
    return fitting(draw, count) if name.endswith("_") else meeting(draw, count)


@arguments_of(*[name for table in pointwise.UNARY.values() for name in table], *pointwise.IN_PLACE)
@calls_of("round", "special.round", "logit", "special.logit", "nan_to_num", "frexp")
def unary(draw: st.DrawFn, name: str) -> Call:
    return Call((Input(draw(sizes(0, 4)), dtype=DTYPES.get(name)),))


@arguments_of(*[name for table in pointwise.BINARY.values() for name in table], *pointwise.IN_PLACE_BINARY)
@calls_of("equal")
def binary(draw: st.DrawFn, name: str) -> Call:
    dtype = DTYPES.get(name)
    if name in pointwise.WHOLE and seldom(draw):
        dtype = "float32"
    one, other = [Input(each, dtype=dtype, high=3) for each in operands(draw, name, 2)]
    return Call((one, 2 if name in NUMBER_OR_TENSOR and seldom(draw) else other))


@calls_of("isclose", "allclose")
def close(draw: st.DrawFn, name: str) -> Call:
    tolerances = st.sampled_from([0.0, 0.5, -0.5])
    one, other = [Input(each) for each in meeting(draw, 2)]
    kwargs = {option: draw(tolerances) for option in ("rtol", "atol") if draw(st.integers(0, 2)) == 0}
    return Call((one, other), kwargs)


@calls_of("add", "sub", "subtract", "rsub")
def add(draw: st.DrawFn, name: str) -> Call:
    one, other = [Input(each) for each in meeting(draw, 2)]
    kwargs = draw(st.sampled_from([{}, {"alpha": 2}]))
    return Call((one, 2.5 if seldom(draw) else other), kwargs)


@calls_of("div", "divide")
def div(draw: st.DrawFn, name: str) -> Call:
    one, other = [Input(each) for each in meeting(draw, 2)]
    modes = st.sampled_from([None, None, "trunc", "floor", "ceil"])
    return Call((one, 2.5 if seldom(draw) else other), {"rounding_mode": draw(modes)})


@calls_of("complex", "polar")
def complex_number(draw: st.DrawFn, name: str) -> Call:
    one, other = meeting(draw, 2)
    dtypes = ("float32", "float64") if seldom(draw) else ("float32", "float32")
    return Call((Input(one, dtype=dtypes[0]), Input(other, dtype=dtypes[1])))


@calls_of("polygamma", "special.polygamma")
def polygamma(draw: st.DrawFn, name: str) -> Call:
    return Call((draw(st.integers(-1, 3)), Input(draw(sizes(0, 4)))))


@calls_of("mvlgamma", "special.multigammaln")
def mvlgamma(draw: st.DrawFn, name: str) -> Call:
    return Call((Input(draw(sizes(0, 4)), dtype="int64", low=5, high=7), draw(st.integers(0, 3))))


@calls_of("isin")
def isin(draw: st.DrawFn, name: str) -> Call:
    elements, tested = Input(draw(sizes(0, 4))), Input(draw(sizes(0, 3)))
    kwargs = draw(st.sampled_from([{}, {"invert": True}]))
    return Call(draw(st.sampled_from([(elements, tested), (elements, 1.0)])), kwargs)


@calls_of("where")
def where(draw: st.DrawFn, name: str) -> Call:
    condition, one, other = meeting(draw, 3)
    tested = Input(condition, dtype="float32" if seldom(draw) else "bool")
    if seldom(draw):
        return Call((tested,))
    arguments: list[object] = [Input(one), Input(other)]
    if seldom(draw):
        arguments[draw(st.integers(0, 1))] = 1.5
    return Call((tested, *arguments))


@calls_of("clamp", "clip", "clamp_", "clip_")
def clamp(draw: st.DrawFn, name: str) -> Call:
    one, *bounds = operands(draw, name, 3)
    form = draw(st.integers(0, 7))
    least, most = [Input(bound) if form < 5 else draw(st.sampled_from([Input(bound), 0.5, None])) for bound in bounds]
    return Call((Input(one), least if form else None), {"max": most})


@calls_of("clamp_min", "clamp_max")
def clamp_min(draw: st.DrawFn, name: str) -> Call:
    one, bound = meeting(draw, 2)
    return Call((Input(one), 0.5 if seldom(draw) else Input(bound)))


@calls_of("addcmul", "addcdiv", "addcmul_", "addcdiv_")
def addcmul(draw: st.DrawFn, name: str) -> Call:
    kwargs = draw(st.sampled_from([{}, {"value": 2}]))
    return Call(tuple([Input(each) for each in operands(draw, name, 3)]), kwargs)


@calls_of("lerp", "lerp_")
def lerp(draw: st.DrawFn, name: str) -> Call:
    one, end, weight = operands(draw, name, 3)
    return Call((Input(one), Input(end), 0.5 if seldom(draw) else Input(weight)))


@calls_of("masked_fill", "masked_fill_")
def masked_fill(draw: st.DrawFn, name: str) -> Call:
    one, mask = operands(draw, name, 2)
    value = draw(st.sampled_from([1.5, 2, Input(()), Input((1,))]))
    return Call((Input(one), Input(mask, dtype="float32" if seldom(draw) else "bool"), value))


calls_of_tensor(ANY, "fill_", then=(among(1.5, 2, Input(()), Input((1,))),))
