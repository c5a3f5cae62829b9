"""Calls of Fourier transforms."""

from __future__ import annotations

from hypothesis import strategies as st

from shapes.testing.arguments import calls_of
from shapes.testing.arguments.mistakes import chosen, seldom, sizes
from shapes.testing.calls import Call, Input

POINTS = st.sampled_from((1, 2, 3, 5, 0, -1))
NONEMPTY = st.sampled_from((2, 3, 4, 1, 5))


def _has_signals(call: Call) -> bool:
    """Intel's library reports an error for a stack of no signals, others transform it: only transformed axes are
    empty.
    """
    sizes, dim = next(call.inputs()), call.kwargs.get("dim", -1)
    dims = (dim,) if isinstance(dim, int) else dim
    assert isinstance(dims, tuple)
    transformed = [dim % len(sizes) for dim in dims if -len(sizes) <= dim < len(sizes)]
    return not any(size == 0 for axis, size in enumerate(sizes) if axis not in transformed)


def _dtype(name: str) -> str:
    return "complex64" if name.rpartition(".")[2].startswith(("ir", "hf")) else "float32"


@calls_of("fft.fft", "fft.ifft", "fft.rfft", "fft.irfft", "fft.hfft", "fft.ihfft", only=_has_signals)
def one_axis(draw: st.DrawFn, name: str) -> Call:
    shape = draw(st.lists(NONEMPTY, min_size=0 if seldom(draw) else 1, max_size=3))
    kwargs = chosen(draw, n=POINTS)
    axis = -1
    if draw(st.booleans()):
        kwargs["dim"] = axis = draw(st.integers(-len(shape) - seldom(draw), max(len(shape) - 1 + seldom(draw), 0)))
    if seldom(draw) and -len(shape) <= axis < len(shape):
        shape[axis] = 0
    return Call((Input(shape, dtype=_dtype(name)),), kwargs)


@calls_of(
    "fft.fft2", "fft.ifft2", "fft.rfft2", "fft.irfft2", "fft.hfft2", "fft.ihfft2",
    "fft.fftn", "fft.ifftn", "fft.rfftn", "fft.irfftn", "fft.hfftn", "fft.ihfftn",
    only=_has_signals,
)  # fmt: skip
def several_axes(draw: st.DrawFn, name: str) -> Call:
    planar = name.endswith("2")
    shape = draw(st.lists(NONEMPTY, min_size=0 if seldom(draw) else 1 + planar, max_size=3))
    rank = len(shape)
    kwargs: dict[str, object] = {}
    count = 2 if planar else rank
    if draw(st.booleans()):
        count = draw(st.integers(0, 3)) if seldom(draw) else min(rank, 2)
        dims = st.integers(-rank - seldom(draw), max(rank - 1, 0))
        kwargs["dim"] = tuple([draw(dims) for _ in range(count)])
    elif not planar:
        count = draw(st.integers(0, rank))
    if draw(st.booleans()):
        kwargs["s"] = tuple([draw(POINTS) for _ in range(count + seldom(draw))])
    if seldom(draw) and not kwargs:
        shape[-1:] = [0]
    return Call((Input(shape, dtype=_dtype(name)),), kwargs)


@calls_of("fft.fftshift", "fft.ifftshift")
def fftshift(draw: st.DrawFn, name: str) -> Call:
    shape = draw(sizes(0, 3))
    dims = st.integers(-3, 2)
    kwargs = chosen(draw, dim=st.one_of(dims, st.lists(dims, min_size=1, max_size=2).map(tuple)))
    return Call((Input(shape),), kwargs)


def _is_rounded_down(call: Call) -> bool:
    """Torch rounds -1 to -3 towards zero, and gives something for them."""
    return call.args[0] not in (-1, -2, -3)


@calls_of("fft.fftfreq", "fft.rfftfreq", only=_is_rounded_down)
def fftfreq(draw: st.DrawFn, name: str) -> Call:
    return Call((draw(st.integers(-4, 9)),), draw(st.sampled_from([{}, {"d": 0.5}])))


@calls_of("stft")
def stft(draw: st.DrawFn, name: str) -> Call:
    shape = draw(st.lists(st.integers(1, 3), max_size=2 if seldom(draw) else 1))
    n_fft = draw(st.sampled_from((4, 5, 2, 3, 1, 8, 7, 6, 0, -1)))
    kwargs = _windows(draw, n_fft)
    kwargs["center"] = draw(st.booleans())
    if kwargs["center"] and draw(st.booleans()):
        kwargs["pad_mode"] = draw(st.sampled_from(["constant", "circular", "replicate", "mirror"]))
    kwargs |= chosen(draw, onesided=st.booleans())
    if not seldom(draw):
        kwargs["return_complex"] = draw(st.booleans())
    dtype = "complex64" if seldom(draw) else "float32"
    lengths = st.sampled_from((max(n_fft // 2, 0), 0)) if draw(st.integers(0, 2)) == 0 else st.integers(0, 12)
    if kwargs.get("pad_mode") == "circular":
        lengths = st.sampled_from((max(n_fft // 2, 0), max(n_fft // 2 - 1, 0), 9))
    length = draw(lengths)
    return Call((Input((*shape, length), dtype=dtype), n_fft), kwargs)


def _windows(draw: st.DrawFn, n_fft: int) -> dict[str, object]:
    kwargs: dict[str, object] = {}
    if draw(st.booleans()) or n_fft < 4:
        kwargs["hop_length"] = draw(st.sampled_from((1, 2, 3, 0)))
    if seldom(draw):
        kwargs["win_length"] = draw(st.integers(0, 6))
    if draw(st.booleans()):
        width = kwargs.get("win_length", n_fft)
        assert isinstance(width, int)
        kwargs["window"] = Input((max(width + seldom(draw), 0),))
    return kwargs


@calls_of("istft")
def istft(draw: st.DrawFn, name: str) -> Call:
    n_fft = draw(st.sampled_from((4, 5, 3, 2, 8)))
    kwargs: dict[str, object] = {"hop_length": draw(st.sampled_from((1, 1, 2, 0, 9)))}
    if draw(st.booleans()):
        width = n_fft + seldom(draw)
        kwargs["window"] = Input((width,), values=[1] * width)
    kwargs["center"] = draw(st.booleans())
    kwargs |= chosen(draw, onesided=st.booleans(), return_complex=st.booleans(), length=st.integers(0, 9))
    frequencies = n_fft // 2 + 1 if kwargs.get("onesided", True) and not kwargs.get("return_complex") else n_fft
    shape = (*draw(st.lists(st.integers(0, 2), max_size=1)), frequencies + seldom(draw), draw(st.integers(0, 4)))
    return Call((Input(shape, dtype="float32" if seldom(draw) else "complex64"), n_fft), kwargs)
