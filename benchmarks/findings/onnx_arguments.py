"""Calls of ONNX operators: inputs in order, attributes by name.

An `Input` is an input of the graph, a number or a list of numbers a constant, None an input left out.

>>> from hypothesis import find
>>> find(ONNX["Flatten"][0], lambda call: call.kwargs.get("axis") == 0)
(Input(), axis=0)
"""

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from shapes.testing.calls import Call, Input

Draw = Callable[[SearchStrategy[Any]], Any]
SIZE = st.integers(0, 4)
EQUATIONS = ("ij,jk->ik", "bij,bjk->bik", "ii->i", "ij->ji", "i,j->ij", "...ij,...jk->...ik", "ij,j", "ij->")

ONNX: dict[str, tuple[SearchStrategy[Call], int]] = {}
"""The calls of each operator, and how many outputs are asked for."""


def calls(*names: str, outputs: int = 1) -> Callable[[Callable[..., Call]], Callable[..., Call]]:
    """Register a function that draws the calls of these operators."""

    def register(function: Callable[..., Call]) -> Callable[..., Call]:
        for name in names:
            ONNX[name] = (st.composite(function)(), outputs)
        return function

    return register


def sizes(draw: Draw, least: int = 0, most: int = 4) -> tuple[int, ...]:
    return tuple(draw(st.lists(SIZE, min_size=least, max_size=most)))


def axis(draw: Draw, rank: int) -> int:
    return int(draw(st.integers(-rank - 1, rank)))


def some(draw: Draw, **options: SearchStrategy[Any]) -> dict[str, object]:
    """Some of these attributes."""
    return {name: draw(strategy) for name, strategy in options.items() if draw(st.booleans())}


def near(draw: Draw, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Sizes that often broadcast with others."""
    kept = shape[draw(st.integers(0, len(shape))) :]
    return tuple([draw(st.sampled_from((size, size, size, 1, 2))) for size in kept])


@calls("Relu", "Identity", "Size", "Dropout", "GlobalAveragePool", "GlobalMaxPool", "EyeLike", "NonZero", "Trilu")
def one(draw: Draw) -> Call:
    return Call((Input(sizes(draw)),))


@calls("Softmax", "LogSoftmax", "Hardmax", "Flatten", "LpNormalization")
def with_axis(draw: Draw) -> Call:
    x = sizes(draw)
    return Call((Input(x),), some(draw, axis=st.integers(-len(x) - 1, len(x))))


@calls("Shape")
def shape_of(draw: Draw) -> Call:
    return Call((Input(sizes(draw)),), some(draw, start=st.integers(-5, 5), end=st.integers(-5, 5)))


@calls("Transpose")
def transpose(draw: Draw) -> Call:
    x = sizes(draw)
    return Call((Input(x),), {"perm": draw(st.permutations(range(len(x))))} if draw(st.booleans()) else {})


@calls("CumSum")
def cumsum(draw: Draw) -> Call:
    x = sizes(draw)
    return Call((Input(x), axis(draw, len(x))))


@calls("Squeeze", "Unsqueeze")
def squeeze(draw: Draw) -> Call:
    x = sizes(draw)
    return Call((Input(x), draw(st.lists(st.integers(-len(x) - 2, len(x) + 1), min_size=1, max_size=3))))


@calls("DepthToSpace", "SpaceToDepth")
def blocks(draw: Draw) -> Call:
    x = tuple(draw(st.lists(st.sampled_from((0, 1, 2, 4, 3)), min_size=3, max_size=5)))
    return Call((Input(x),), {"blocksize": draw(st.integers(0, 3))})


@calls("Add", "Pow", "Sub", "PRelu", "Max", "Mean", "Equal", "Mod")
def binary(draw: Draw) -> Call:
    x = sizes(draw)
    return Call((Input(x), Input(near(draw, x))))


@calls("Where")
def where(draw: Draw) -> Call:
    x = sizes(draw)
    return Call((Input(near(draw, x), dtype="bool"), Input(x), Input(near(draw, x))))


@calls("Expand", "Tile")
def expand(draw: Draw) -> Call:
    x = sizes(draw)
    return Call((Input(x), draw(st.lists(st.integers(-1, 4), max_size=4))))


@calls("Reshape")
def reshape(draw: Draw) -> Call:
    return Call((Input(sizes(draw)), draw(st.lists(st.integers(-1, 6), max_size=4))), some(draw, allowzero=st.just(1)))


@calls("MatMul")
def matmul(draw: Draw) -> Call:
    x, inner = sizes(draw, 0, 3), draw(SIZE)
    columns = (inner, draw(SIZE)) if draw(st.booleans()) else (inner,)
    return Call((Input((*x, inner)), Input((*near(draw, x[:-1]), *columns))))


@calls("Gemm")
def gemm(draw: Draw) -> Call:
    m, k, n = draw(SIZE), draw(SIZE), draw(SIZE)
    c = [Input(near(draw, (m, n)))] if draw(st.booleans()) else []
    x, y = ((m, k), (k, m))[draw(st.integers(0, 1))], ((k, n), (n, k))[draw(st.integers(0, 1))]
    return Call((Input(x), Input(y), *c), some(draw, transA=st.just(1), transB=st.just(1)))


@calls("Einsum")
def einsum(draw: Draw) -> Call:
    equation = draw(st.sampled_from(EQUATIONS))
    count = equation.split("->")[0].count(",") + 1
    return Call(tuple([Input(sizes(draw, 1, 3)) for _ in range(count)]), {"equation": equation})


@calls("ReduceSum", "ReduceMax", "ReduceMean", "ReduceL2", "ReduceLogSumExp", "ReduceProd")
def reduce(draw: Draw) -> Call:
    x = sizes(draw)
    axes = [draw(st.lists(st.integers(-len(x) - 1, len(x)), max_size=3))] if draw(st.booleans()) else []
    return Call((Input(x), *axes), some(draw, keepdims=st.integers(0, 1), noop_with_empty_axes=st.just(1)))


@calls("ArgMax", "ArgMin")
def arg(draw: Draw) -> Call:
    x = sizes(draw)
    return Call((Input(x),), some(draw, axis=st.integers(-len(x) - 1, len(x)), keepdims=st.integers(0, 1)))


@calls("Concat")
def concat(draw: Draw) -> Call:
    x = sizes(draw)
    at = axis(draw, len(x))
    other = [draw(SIZE) if i == at % max(len(x), 1) or draw(st.integers(0, 9)) == 0 else s for i, s in enumerate(x)]
    return Call((Input(x), Input(other)), {"axis": at})


@calls("Split", outputs=2)
def split(draw: Draw) -> Call:
    x = sizes(draw)
    if draw(st.booleans()):
        return Call((Input(x),), {"axis": axis(draw, len(x)), "num_outputs": 2})
    return Call((Input(x), draw(st.lists(SIZE, min_size=2, max_size=2))), {"axis": axis(draw, len(x))})


@calls("Slice")
def slice_of(draw: Draw) -> Call:
    x = sizes(draw, 1)
    count = draw(st.integers(1, len(x)))
    bound = st.lists(st.integers(-6, 6), min_size=count, max_size=count)
    step = st.lists(st.sampled_from((1, 2, 3, -1, -2)), min_size=count, max_size=count)
    axes = draw(st.lists(st.integers(-len(x), len(x) - 1), min_size=count, max_size=count))
    return Call((Input(x), draw(bound), draw(bound), axes, draw(step)))


@calls("Gather", "GatherElements")
def gather(draw: Draw) -> Call:
    x = sizes(draw, 1)
    return Call((Input(x), Input(near(draw, x), dtype="int64")), some(draw, axis=st.integers(-len(x) - 1, len(x))))


@calls("GatherND")
def gather_nd(draw: Draw) -> Call:
    x = sizes(draw, 1)
    indices = (*near(draw, x[:2]), draw(st.integers(0, len(x) + 1)))
    return Call((Input(x), Input(indices, dtype="int64")), some(draw, batch_dims=st.integers(0, 3)))


@calls("ScatterElements")
def scatter(draw: Draw) -> Call:
    x = sizes(draw, 1)
    at = near(draw, x)
    return Call((Input(x), Input(at, dtype="int64"), Input(at)), some(draw, axis=st.integers(-len(x) - 1, len(x))))


@calls("ScatterND")
def scatter_nd(draw: Draw) -> Call:
    x = sizes(draw, 1)
    count, outer = draw(st.integers(0, len(x) + 1)), sizes(draw, 0, 2)
    updates = (*outer, *x[count:]) if draw(st.integers(0, 4)) else sizes(draw)
    return Call((Input(x), Input((*outer, count), dtype="int64"), Input(updates)))


@calls("Pad")
def pad(draw: Draw) -> Call:
    x = sizes(draw)
    pads = draw(st.lists(st.integers(-2, 3), min_size=2 * len(x), max_size=2 * len(x)))
    return Call((Input(x), pads), some(draw, mode=st.sampled_from(("constant", "reflect", "edge", "wrap"))))


@calls("Resize")
def resize(draw: Draw) -> Call:
    x = tuple(draw(st.lists(st.integers(1, 5), min_size=1, max_size=4)))
    kwargs = some(
        draw,
        mode=st.sampled_from(("nearest", "linear")),
        keep_aspect_ratio_policy=st.sampled_from(("stretch", "not_larger", "not_smaller")),
    )
    count = len(x)
    if draw(st.booleans()):
        kwargs["axes"] = draw(st.lists(st.integers(0, len(x) - 1), min_size=1, max_size=len(x), unique=True))
        count = len(kwargs["axes"])  # type: ignore[arg-type]
    if draw(st.booleans()):
        wanted = draw(st.lists(st.integers(1, 7), min_size=count, max_size=count))
        return Call((Input(x), None, None, wanted), kwargs)
    kwargs.pop("keep_aspect_ratio_policy", None)
    factor = st.sampled_from((0.5, 0.7, 1.0, 1.5, 2.0, 0.33))
    return Call((Input(x), None, draw(st.lists(factor, min_size=count, max_size=count))), kwargs)


def windows(draw: Draw, axes: int) -> dict[str, object]:
    """Attributes of convolutions and pools."""
    ints = lambda lo, hi: st.lists(st.integers(lo, hi), min_size=axes, max_size=axes)  # noqa: E731
    found = some(draw, strides=ints(1, 3), dilations=ints(1, 2))
    if draw(st.integers(0, 2)) == 0:
        found["auto_pad"] = draw(st.sampled_from(("SAME_UPPER", "SAME_LOWER", "VALID")))
    elif draw(st.booleans()):
        found["pads"] = draw(st.lists(st.integers(0, 2), min_size=2 * axes, max_size=2 * axes))
    return found


@calls("Conv", "ConvTranspose")
def conv(draw: Draw) -> Call:
    axes = draw(st.integers(1, 2))
    group, inside, out = draw(st.integers(1, 2)), draw(st.integers(1, 2)), draw(st.integers(1, 2))
    spatial = draw(st.lists(st.integers(0, 6), min_size=axes, max_size=axes))
    kernel = draw(st.lists(st.integers(1, 3), min_size=axes, max_size=axes))
    kwargs = windows(draw, axes)
    if group != 1:
        kwargs["group"] = group
    x = Input((draw(st.integers(0, 2)), group * inside, *spatial))
    return Call((x, Input((group * out, inside, *kernel))), kwargs)


@calls("ConvTranspose")
def conv_transpose(draw: Draw) -> Call:
    axes = draw(st.integers(1, 2))
    spatial = draw(st.lists(st.integers(1, 4), min_size=axes, max_size=axes))
    kernel = draw(st.lists(st.integers(1, 3), min_size=axes, max_size=axes))
    kwargs = windows(draw, axes)
    if draw(st.integers(0, 2)) == 0:
        kwargs["output_padding"] = draw(st.lists(st.integers(0, 2), min_size=axes, max_size=axes))
    if draw(st.integers(0, 2)) == 0:
        kwargs["output_shape"] = draw(st.lists(st.integers(1, 8), min_size=axes, max_size=axes))
    return Call((Input((1, 2, *spatial)), Input((2, draw(st.integers(1, 2)), *kernel))), kwargs)


@calls("MaxPool", "AveragePool", "LpPool")
def pool(draw: Draw) -> Call:
    axes = draw(st.integers(1, 2))
    spatial = draw(st.lists(st.integers(0, 7), min_size=axes, max_size=axes))
    kernel = draw(st.lists(st.integers(1, 3), min_size=axes, max_size=axes))
    kwargs = {"kernel_shape": kernel, **windows(draw, axes), **some(draw, ceil_mode=st.just(1))}
    return Call((Input((1, draw(st.integers(0, 2)), *spatial)),), kwargs)


@calls("TopK", outputs=2)
def topk(draw: Draw) -> Call:
    x = sizes(draw)
    return Call((Input(x), [draw(st.integers(0, 5))]), some(draw, axis=st.integers(-len(x) - 1, len(x))))


@calls("OneHot")
def one_hot(draw: Draw) -> Call:
    x = sizes(draw, 0, 3)
    kwargs = some(draw, axis=st.integers(-len(x) - 2, len(x) + 1))
    return Call((Input(x, dtype="int64"), draw(st.integers(0, 4)), [0.0, 1.0]), kwargs)


@calls("Range")
def range_of(draw: Draw) -> Call:
    return Call((draw(st.integers(-4, 6)), draw(st.integers(-4, 6)), draw(st.sampled_from((1, 2, 3, -1, -2)))))


@calls("ConstantOfShape")
def constant_of_shape(draw: Draw) -> Call:
    return Call((draw(st.lists(st.integers(-1, 4), max_size=4)),))


@calls("Unique", outputs=4)
def unique(draw: Draw) -> Call:
    x = sizes(draw)
    return Call((Input(x),), some(draw, axis=st.integers(-len(x) - 1, len(x))))


@calls("Compress")
def compress(draw: Draw) -> Call:
    x = sizes(draw, 1)
    flags = draw(st.lists(st.booleans(), max_size=5))
    chosen = Input((len(flags),), dtype="bool", values=flags)
    return Call((Input(x), chosen), some(draw, axis=st.integers(-len(x), len(x))))


@calls("Col2Im")
def col2im(draw: Draw) -> Call:
    image, block = draw(st.lists(st.integers(1, 5), min_size=2, max_size=2)), [2, draw(st.integers(1, 2))]
    channels = draw(st.integers(1, 2)) * block[0] * block[1]
    x = (1, channels + draw(st.sampled_from((0, 0, 0, 1))), draw(st.integers(0, 12)))
    if draw(st.integers(0, 3)):
        x = (1, channels, max(image[0] - 1, 0) * max(image[1] - block[1] + 1, 0))
    return Call((Input(x), image, block))


@calls("CenterCropPad")
def center_crop_pad(draw: Draw) -> Call:
    x = sizes(draw, 1)
    axes = draw(st.lists(st.integers(-len(x), len(x) - 1), min_size=1, max_size=len(x), unique_by=lambda a: a % len(x)))
    wanted = draw(st.lists(st.integers(0, 5), min_size=len(axes), max_size=len(axes)))
    return Call((Input(x), wanted), {"axes": axes})


@calls("GridSample")
def grid_sample(draw: Draw) -> Call:
    axes = draw(st.integers(2, 3))
    batch = draw(st.integers(1, 2))
    x, grid = sizes(draw, axes, axes), sizes(draw, axes, axes)
    last = draw(st.sampled_from((axes, axes, axes, 2)))
    return Call((Input((batch, 1, *x)), Input((draw(st.sampled_from((batch, batch, 1))), *grid, last))))


@calls("DFT")
def dft(draw: Draw) -> Call:
    x = (*tuple(draw(st.lists(st.integers(1, 5), min_size=1, max_size=3))), draw(st.integers(1, 2)))
    length = draw(st.one_of(st.none(), st.integers(1, 6)))
    return Call((Input(x), length, axis(draw, len(x))), some(draw, onesided=st.just(1), inverse=st.just(1)))


@calls("STFT")
def stft(draw: Draw) -> Call:
    signal, step, frame = draw(st.integers(1, 12)), draw(st.integers(1, 4)), draw(st.integers(1, 5))
    return Call((Input((1, signal, 1)), step, None, frame), some(draw, onesided=st.integers(0, 1)))


@calls("HannWindow")
def hann(draw: Draw) -> Call:
    return Call((draw(st.integers(0, 6)),))


@calls("LayerNormalization")
def layer_norm(draw: Draw) -> Call:
    x = sizes(draw, 1)
    at = axis(draw, len(x))
    return Call((Input(x), Input(near(draw, x[at:] if -len(x) <= at < len(x) else x))), {"axis": at})


@calls("InstanceNormalization")
def instance_norm(draw: Draw) -> Call:
    x = sizes(draw, 2)
    return Call((Input(x), Input(near(draw, x[1:2])), Input(near(draw, x[1:2]))))


@calls("BatchNormalization")
def batch_norm(draw: Draw) -> Call:
    x = sizes(draw, 1)
    return Call((Input(x), *[Input(near(draw, x[1:2])) for _ in range(4)]))


@calls("RoiAlign")
def roi_align(draw: Draw) -> Call:
    rois = draw(SIZE)
    x = (draw(st.integers(1, 2)), draw(SIZE), 4, 4)
    kwargs = some(draw, output_height=st.integers(0, 3), output_width=st.integers(0, 3))
    return Call((Input(x), Input((rois, 4)), Input((draw(st.sampled_from((rois, rois, 2))),), dtype="int64")), kwargs)


@calls("ReverseSequence")
def reverse_sequence(draw: Draw) -> Call:
    x = sizes(draw, 2)
    lengths = Input((x[1],), dtype="int64", values=[1] * x[1])
    return Call((Input(x), lengths), some(draw, batch_axis=st.just(1), time_axis=st.just(0)))
