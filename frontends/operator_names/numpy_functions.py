"""NumPy's functions by name: `numpy["concatenate"]`, `numpy["linalg.qr"]`. None of it needs NumPy.

They flatten an array without a given axis where NumPy does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from frontends.operator_names.named_rules import OperatorNames, renamed
from shapes.env import ShapeEnv
from shapes.rules import Rule, Shape, rules
from shapes.rules.axes import axis_of
from shapes.symbolic.choices import Int, sym_and, sym_or

UNARY: Final = (
    "abs", "absolute", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "ceil", "conj", "cos", "cosh",
    "deg2rad", "exp", "exp2", "expm1", "fix", "floor", "i0", "isfinite", "isinf", "isnan", "log", "log10", "log1p",
    "log2", "logical_not", "negative", "positive", "rad2deg", "reciprocal", "sign", "signbit", "sin", "sinc", "sinh",
    "sqrt", "square", "tan", "tanh", "trunc",
)  # fmt: skip
BINARY: Final = {
    **{
        name: name
        for name in (
            "add", "arctan2", "bitwise_and", "bitwise_or", "bitwise_xor", "copysign", "divide", "equal",
            "float_power", "floor_divide", "fmax", "fmin", "fmod", "gcd", "greater", "greater_equal", "heaviside",
            "hypot", "lcm", "ldexp", "less", "less_equal", "logaddexp", "logaddexp2", "logical_and", "logical_or",
            "logical_xor", "matmul", "maximum", "minimum", "multiply", "nextafter", "not_equal", "remainder",
            "subtract", "true_divide",
        )
    },
    "equal": "eq",
    "mod": "remainder",
    "power": "pow",
}  # fmt: skip

TABLE: Final = """
    all(a, axis=None, *, keepdims=False) = all(a, axis, keepdims)
    amax(a, axis=None, *, keepdims=False) = amax(a, () if axis is None else axis, keepdims)
    amin(a, axis=None, *, keepdims=False) = amin(a, () if axis is None else axis, keepdims)
    any(a, axis=None, *, keepdims=False) = any(a, axis, keepdims)
    arange(start, stop=None, step=1) = arange(start, stop, step)
    argmax(a, axis=None, *, keepdims=False) = argmax(a, axis, keepdims)
    argmin(a, axis=None, *, keepdims=False) = argmin(a, axis, keepdims)
    argsort(a, axis=-1) = argsort(ravel(a) if axis is None else a, -1 if axis is None else axis)
    array_split(ary, indices_or_sections, axis=0) = tensor_split(ary, indices_or_sections, axis)
    atleast_1d(*arys) = atleast_1d(*arys)
    atleast_2d(*arys) = atleast_2d(*arys)
    broadcast_to(array, shape) = broadcast_to(array, shape)
    clip(a, a_min=None, a_max=None) = clip(a, a_min, a_max)
    concatenate(arrays, axis=0)
        = cat([ravel(a) for a in arrays] if axis is None else arrays, 0 if axis is None else axis)
    cumprod(a, axis=None) = cumprod(ravel(a) if axis is None else a, 0 if axis is None else axis)
    cumsum(a, axis=None) = cumsum(ravel(a) if axis is None else a, 0 if axis is None else axis)
    diag(v, k=0) = diag(v, k)
    diagflat(v, k=0) = diagflat(v, k)
    diagonal(a, offset=0, axis1=0, axis2=1) = diagonal(a, offset, axis1, axis2)
    einsum(subscripts, *operands) = einsum(subscripts, *operands)
    empty(shape) = empty(shape)
    empty_like(prototype) = empty_like(prototype)
    expand_dims(a, axis) = unsqueeze(a, axis)
    eye(N, M=None, k=0) = eye(N, M)
    fft.fft2(a, s=None, axes=(-2, -1)) = fft.fft2(a, s, axes)
    fft.fftfreq(n, d=1.0) = fft.fftfreq(n, d)
    fft.fftshift(x, axes=None) = fft.fftshift(x, axes)
    flip(m, axis=None) = flip(m, tuple(range(len(m))) if axis is None else axis)
    full(shape, fill_value) = empty(shape)
    full_like(a, fill_value) = full_like(a, fill_value)
    identity(n) = eye(n)
    isclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False) = add(a, b)
    linspace(start, stop, num=50) = linspace(start, stop, num)
    max(a, axis=None, *, keepdims=False) = amax(a, () if axis is None else axis, keepdims)
    mean(a, axis=None, *, keepdims=False) = mean(a, axis, keepdims)
    meshgrid(*xi, indexing="xy") = meshgrid(*xi, indexing=indexing)
    min(a, axis=None, *, keepdims=False) = amin(a, () if axis is None else axis, keepdims)
    nansum(a, axis=None, *, keepdims=False) = nansum(a, axis, keepdims)
    nonzero(a) = nonzero(a, as_tuple=True)
    ones(shape) = ones(shape)
    ones_like(a) = ones_like(a)
    outer(a, b) = outer(ravel(a), ravel(b))
    prod(a, axis=None, *, keepdims=False) = sum(a, axis, keepdims)
    repeat(a, repeats, axis=None) = repeat_interleave(a, repeats, axis)
    roll(a, shift, axis=None) = roll(a, shift, axis)
    rot90(m, k=1, axes=(0, 1)) = rot90(m, k, axes)
    searchsorted(a, v, side="left") = searchsorted(a, v, side=side)
    sort(a, axis=-1) = sort(ravel(a) if axis is None else a, -1 if axis is None else axis)[0]
    stack(arrays, axis=0) = stack(arrays, axis)
    std(a, axis=None, *, keepdims=False) = std(a, axis, keepdim=keepdims)
    sum(a, axis=None, *, keepdims=False) = sum(a, axis, keepdims)
    swapaxes(a, axis1, axis2) = swapaxes(a, axis1, axis2)
    take_along_axis(arr, indices, axis=-1)
        = take_along_dim(arr, indices, axis)
    tensordot(a, b, axes=2) = tensordot(a, b, axes)
    tile(A, reps) = tile(A, reps)
    trace(a, offset=0, axis1=0, axis2=1) = sum(diagonal(a, offset, axis1, axis2), -1)
    transpose(a, axes=None) = permute(a, tuple(range(len(a) - 1, -1, -1)) if axes is None else axes)
    var(a, axis=None, *, keepdims=False) = var(a, axis, keepdim=keepdims)
    where(condition, x, y) = where(condition, x, y)
    zeros(shape) = zeros(shape)
    zeros_like(a) = zeros_like(a)
"""

ALIKE: Final = (
    ({"input": "a", "A": "a", "dim": "axis"}, (
        "argwhere", "count_nonzero", "diff", "fft.fft", "fft.ifft", "fft.irfft", "fft.rfft", "linalg.cholesky",
        "linalg.det", "linalg.eigh", "linalg.eigvals", "linalg.inv", "linalg.matrix_power", "linalg.qr",
        "linalg.slogdet", "linalg.svd", "moveaxis", "ravel", "reshape", "squeeze",
    )),
    ({"input": "a", "other": "b"}, ("inner", "kron")),
    ({"input": "m", "diagonal": "k"}, ("fliplr", "flipud", "tril", "triu")),
    ({"input": "x"}, ("bincount", "vander")),
    ({"tensors": "tup"}, ("column_stack", "dstack", "hstack", "vstack")),
)  # fmt: skip
"""Functions that differ from the rule of their name by the names of arguments alone."""


def _like(name: str) -> Rule | None:
    """Functions of one or two arrays have the rules of the elements' operators."""
    for names, functions in ALIKE:
        if name in functions:
            return renamed(f"numpy.{name}", rules[name], names)
    if name in UNARY:
        return renamed(f"numpy.{name}", rules[name], {"input": "x"})
    if name in BINARY:
        return renamed(f"numpy.{name}", rules[BINARY[name]], {"input": "x1", "other": "x2"})
    return None


numpy: Final = OperatorNames("numpy", TABLE, like=_like)


@numpy.define("take")
def take(env: ShapeEnv, a: Shape, indices: Shape, axis: int | None = None) -> Shape:
    """The sizes of the indices, which replace an axis if one is given."""
    if axis is None:
        return Shape(indices, dtype=a.dtype)
    place = axis_of(axis, len(a), "axis")
    return Shape((*a[:place], *indices, *a[place + 1 :]), dtype=a.dtype)


@numpy.define("dot")
def dot(env: ShapeEnv, a: Shape, b: Shape) -> object:
    """Contract the last axis of the first with the second to last of the second; other axes are kept."""
    if not a or not b:
        return rules["mul"](env, a, b)
    return rules["tensordot"](env, a, b, ([len(a) - 1], [max(len(b) - 2, 0)]))


@numpy.define("split")
def split(env: ShapeEnv, ary: Shape, indices_or_sections: Int | Sequence[Int], axis: int = 0) -> object:
    """Equal pieces, or those between indices."""
    if isinstance(indices_or_sections, int):
        place = axis_of(axis, len(ary), "axis")
        env.require(ary[place] % indices_or_sections == 0, "the axis is not a multiple of the number of pieces")
    return rules["tensor_split"](env, ary, indices_or_sections, axis)


@numpy.define("pad")
def pad(env: ShapeEnv, array: Shape, pad_width: Int | Sequence[Int | Sequence[Int]], mode: str = "constant") -> Shape:
    """Each size plus its padding; one number or pair may apply to all axes."""
    pairs = _pairs(pad_width)
    pairs = pairs * len(array) if len(pairs) == 1 else pairs
    env.require(len(pairs) == len(array), "pad_width is not for every axis")
    sizes: list[Int] = []
    for size, (before, behind) in zip(array, pairs):
        env.require(before >= 0, "pad_width is negative")
        env.require(behind >= 0, "pad_width is negative")
        if mode != "constant" and mode != "empty":
            nothing = sym_and(before == 0, behind == 0)
            env.require(sym_or(nothing, size >= 1), "an empty axis has nothing to pad with")
        sizes.append(size + before + behind)
    return Shape(sizes, dtype=array.dtype)


def _pairs(width: Int | Sequence[Int | Sequence[Int]]) -> list[tuple[Int, Int]]:
    """(before, after) pairs, one for each axis, or one for all."""
    if not isinstance(width, tuple | list):
        return [(width, width)]  # type: ignore[list-item]  # no sequence, said above
    numbers = [one for one in width if not isinstance(one, tuple | list)]
    if numbers:
        return [(numbers[0], numbers[-1])]
    return [(pair[0], pair[-1]) for pair in width if isinstance(pair, tuple | list)]
