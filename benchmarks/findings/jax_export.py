"""JAX's symbolic shapes against JAX on concrete sizes: `jax.export` with a symbol for each size, called at the sizes.

The exported function must give the sizes that the function gives, and refuse what it refuses; where exporting needs to
know more of the symbols, that is a limit of symbolic shapes and no finding. JAX's symbols are at least 1, and so are
the sizes here. Equal sizes share a symbol in one form and have one of their own in the other.
"""

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from benchmarks.findings.drawing import drawn, smallest
from benchmarks.findings.record import Examined, Finding, first_line, under_way
from shapes.testing.calls import Call, Input

LIBRARY = "jax"
DRAWN = 25
SECONDS = 8.0
SIZE = st.integers(1, 5)
Draw = Callable[[SearchStrategy[Any]], Any]
Seen = tuple[tuple[int, ...], ...]

INCONCLUSIVE = (
    "InconclusiveDimensionOperation",
    "NonConcreteBooleanIndexError",
    "ConcretizationTypeError",
    "TracerIntegerConversionError",
    "TracerArrayConversionError",
    "TracerBoolConversionError",
    "NotImplementedError",
    "UnexpectedDimVar",
)
LIMITS = (
    "incompatible",
    "broadcast",
    "equal",
    "must match",
    "same",
    "divi",
    "inconclusive",
    "square",
    "differ",
    "[..., n, n]",
    "either 2 or 3",
    "inconsistent size",
    "not supported",
)
"""Messages of an undecided equality of symbols, and of known unsupported features."""


def sizes(draw: Draw, least: int = 0, most: int = 3) -> tuple[int, ...]:
    return tuple(draw(st.lists(SIZE, min_size=least, max_size=most)))


def near(draw: Draw, shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple([draw(st.sampled_from((size, size, 1, 2))) for size in shape[draw(st.integers(0, len(shape))) :]])


@st.composite
def unary(draw: Draw) -> Call:
    return Call((Input(sizes(draw)),))


@st.composite
def binary(draw: Draw) -> Call:
    x = sizes(draw)
    return Call((Input(x), Input(near(draw, x))))


@st.composite
def reduced(draw: Draw) -> Call:
    x = sizes(draw)
    kwargs = {"axis": draw(st.integers(-len(x) - 1, len(x)))} if draw(st.booleans()) else {}
    return Call((Input(x),), kwargs)


@st.composite
def products(draw: Draw) -> Call:
    inner = draw(SIZE)
    y = (inner, draw(SIZE)) if draw(st.integers(0, 4)) else sizes(draw, 1)
    return Call((Input((*sizes(draw, 0, 2), inner)), Input(y)))


@st.composite
def joined(draw: Draw) -> Call:
    x = sizes(draw, 1)
    axis = draw(st.integers(-len(x), len(x)))
    other = [draw(SIZE) if i == axis % len(x) or draw(st.integers(0, 9)) == 0 else s for i, s in enumerate(x)]
    return Call(([Input(x), Input(other)],), {"axis": axis})


@st.composite
def stacked(draw: Draw) -> Call:
    x = sizes(draw)
    other = x if draw(st.integers(0, 3)) else sizes(draw, len(x), len(x))
    return Call(([Input(x), Input(other)],))


@st.composite
def reshaped(draw: Draw) -> Call:
    x = sizes(draw, 1)
    total = 1
    for size in x:
        total *= size
    forms = [(-1,), (total,), (*x[:1], -1), (-1, *x[1:]), (-1, 2), (2, -1), tuple(reversed(x))]
    return Call((Input(x), draw(st.sampled_from(forms))))


@st.composite
def sliced(draw: Draw) -> Call:
    bound = st.one_of(st.none(), st.integers(-6, 6))
    step = draw(st.sampled_from((None, 1, 2, 3, -1, -2)))
    return Call((Input(sizes(draw, 1, 2)), slice(draw(bound), draw(bound), step)))


@st.composite
def indexed(draw: Draw) -> Call:
    return Call((Input(sizes(draw, 1, 2)), draw(st.integers(-6, 5))))


@st.composite
def split(draw: Draw) -> Call:
    x = sizes(draw, 1)
    parts = draw(st.one_of(st.integers(1, 4), st.lists(st.integers(0, 6), min_size=1, max_size=2)))
    return Call((Input(x), parts), {"axis": draw(st.integers(-len(x), len(x)))})


@st.composite
def padded(draw: Draw) -> Call:
    x = sizes(draw, 1, 2)
    widths = [(draw(st.integers(0, 3)), draw(st.integers(0, 3))) for _ in x]
    return Call((Input(x), tuple(widths)), {"mode": draw(st.sampled_from(("constant", "edge", "reflect", "wrap")))})


@st.composite
def counted(draw: Draw, least: int = 0, most: int = 4) -> Call:
    return Call((Input(sizes(draw, 1)), draw(st.integers(least, most))))


@st.composite
def broadcast(draw: Draw) -> Call:
    x = sizes(draw)
    return Call((Input(x), (*sizes(draw, 0, 1), *[draw(st.sampled_from((s, s, s, 2))) for s in x])))


@st.composite
def moved(draw: Draw) -> Call:
    x = sizes(draw, 1)
    axis = st.integers(-len(x) - 1, len(x))
    return Call((Input(x), draw(axis), draw(axis)))


@st.composite
def taken(draw: Draw) -> Call:
    x = sizes(draw, 1)
    axis = draw(st.integers(-len(x), len(x)))
    return Call((Input(x), Input(sizes(draw, 0, 2), dtype="int32")), {"axis": axis})


@st.composite
def einsums(draw: Draw) -> Call:
    equation = draw(st.sampled_from(("ij,jk->ik", "ii->i", "ij,ij->i", "bij,bjk->bik", "i,j->ij")))
    counts = [len(part) for part in equation.split("->")[0].split(",")]
    return Call((equation, *[Input(sizes(draw, count, count)) for count in counts]))


@st.composite
def windowed(draw: Draw) -> Call:
    x, kernel = (1, 1, *sizes(draw, 1, 1)), (1, 1, draw(st.integers(1, 3)))
    padding = draw(st.sampled_from(("SAME", "VALID", ((1, 0),), ((0, 2),))))
    kwargs: dict[str, object] = {"window_strides": (draw(st.integers(1, 3)),), "padding": padding}
    if draw(st.booleans()) and not isinstance(padding, str):
        kwargs["rhs_dilation"] = (draw(st.integers(1, 2)),)
        kwargs["lhs_dilation"] = (draw(st.integers(1, 2)),)
    return Call((Input(x), Input(kernel)), kwargs)


@st.composite
def transposed(draw: Draw) -> Call:
    x, kernel = (1, *sizes(draw, 1, 1), 1), (draw(st.integers(1, 3)), 1, 1)
    kwargs = {"strides": (draw(st.integers(1, 3)),), "padding": draw(st.sampled_from(("SAME", "VALID")))}
    return Call((Input(x), Input(kernel)), kwargs)


@st.composite
def matrices(draw: Draw) -> Call:
    side = draw(SIZE)
    last = (side, side) if draw(st.integers(0, 2)) else (side, draw(SIZE))
    return Call((Input((*sizes(draw, 0, 1), *last)),))


@st.composite
def transforms(draw: Draw) -> Call:
    n = draw(st.one_of(st.none(), st.integers(1, 6)))
    return Call((Input(sizes(draw, 1, 2)),), {} if n is None else {"n": n})


FUNCTIONS: dict[str, SearchStrategy[Call]] = {
    **{f"numpy.{name}": unary() for name in ("abs", "ravel", "transpose", "squeeze", "diag", "tril", "atleast_3d")},
    **{f"numpy.{name}": unary() for name in ("gradient", "diff", "trace")},
    **{f"numpy.{name}": binary() for name in ("add", "maximum", "kron", "outer", "cross", "convolve")},
    **{f"numpy.{name}": products() for name in ("matmul", "dot", "inner", "vdot")},
    **{f"numpy.{name}": reduced() for name in ("sum", "argmax", "cumsum", "sort", "flip", "median", "trapezoid")},
    **{f"numpy.{name}": stacked() for name in ("stack", "vstack", "hstack", "dstack", "column_stack")},
    **{f"numpy.{name}": split() for name in ("split", "array_split")},
    **{f"numpy.{name}": counted() for name in ("repeat", "tile", "roll", "partition", "vander")},
    **{f"numpy.{name}": moved() for name in ("moveaxis", "swapaxes")},
    "numpy.concatenate": joined(),
    **{f"numpy.linalg.{name}": matrices() for name in ("inv", "qr", "svd", "cholesky", "det", "pinv", "eigh")},
    **{f"numpy.fft.{name}": transforms() for name in ("fft", "rfft", "irfft", "ihfft", "hfft")},
    "numpy.expand_dims": counted(-3, 3),
    "numpy.reshape": reshaped(),
    "numpy.broadcast_to": broadcast(),
    "numpy.pad": padded(),
    "numpy.take": taken(),
    "numpy.einsum": einsums(),
    "numpy.linalg.solve": products(),
    "lax.conv_general_dilated": windowed(),
    "lax.conv_transpose": transposed(),
    "lax.top_k": counted(),
    "getitem": st.one_of(sliced(), indexed()),
}


def operators() -> list[str]:
    import jax  # noqa: F401 - says that it is not here

    return sorted(FUNCTIONS)


def function_of(name: str) -> Callable[..., Any]:
    """The function, as one of JAX's arrays alone."""
    import operator

    import jax

    if name == "getitem":
        return operator.getitem
    found: Any = jax
    for part in name.split("."):
        found = getattr(found, part)
    return found  # type: ignore[no-any-return]


def difference(name: str, call: Call, shared: bool) -> Finding | None:
    """Compare the exported function with the function at the same sizes. None too where it cannot be exported."""
    import jax
    from jax import export

    text = repr(call)
    where = "shared symbols" if shared else "own symbols"
    under_way(where, text)
    function, tensors = function_of(name), list(call.inputs())
    arrays = [jax.numpy.asarray(_filled(tensor)) for tensor in tensors]

    def of_arrays(*given: Any) -> Any:
        rest = iter(given)
        args, kwargs = call.replaced(lambda tensor: next(rest))
        return jax.tree.leaves(function(*args, **kwargs))

    real: Seen | str
    said: Seen | str
    try:
        real = tuple([tuple(one.shape) for one in of_arrays(*arrays)])
    except Exception as refusal:
        real = first_line(refusal)
    try:
        exported = export.export(jax.jit(of_arrays))(*symbolic(tensors, shared))
    except Exception as refusal:
        if type(refusal).__name__ in INCONCLUSIVE or any(part in str(refusal).lower() for part in LIMITS):
            return None
        if isinstance(real, str):
            return None
        return Finding("refuses", text, _told(real), f"refuses to export: {first_line(refusal)}", where)
    try:
        said = tuple([tuple(one.shape) for one in exported.call(*arrays)])
    except Exception as refusal:
        said = first_line(refusal)
    match real, said:
        case tuple(), tuple() if real != said:
            kind = "sizes"
        case str(), tuple():
            kind = "accepts"
        case tuple(), str():
            kind = "refuses"
        case _:
            return None
    return Finding(kind, text, _told(real), f"{_told(said)}; exported: {_told_symbols(exported)}", where)


def symbolic(tensors: list[Input], shared: bool) -> list[Any]:
    """Arrays with a symbol for each size, or for each value of a size."""
    import jax
    from jax import export

    names: dict[object, str] = {}
    written_sizes = []
    for position, tensor in enumerate(tensors):
        keys = [size if shared else (position, axis) for axis, size in enumerate(tensor)]
        written_sizes.append([names.setdefault(key, f"s{len(names)}") for key in keys])
    scope = export.SymbolicScope()
    specs = []
    for tensor, sizes_of in zip(tensors, written_sizes):
        shape = export.symbolic_shape(", ".join(sizes_of), scope=scope) if sizes_of else ()
        specs.append(jax.ShapeDtypeStruct(shape, jax.numpy.dtype(tensor.dtype or "float32")))
    return specs


def examine(name: str) -> Examined:
    strategy, done = FUNCTIONS[name], Examined(name)
    for shared in (True, False):
        kinds: dict[str, Call] = {}
        for call in drawn(strategy, DRAWN):
            done.calls += 1
            found = difference(name, call, shared)
            if found is not None:
                kinds.setdefault(found.kind, call)
        for kind, first in kinds.items():

            def differs(call: Call, kind: str = kind, shared: bool = shared) -> bool:
                found = difference(name, call, shared)
                return found is not None and found.kind == kind

            found = difference(name, smallest(strategy, differs, first, SECONDS), shared)
            if found is not None:
                done.findings.append(found)
    return done


def again(name: str, finding: Finding) -> Finding | None:
    """The same call once more."""
    call = eval(finding.call, {"Call": Call, "Input": Input})
    return difference(name, call, finding.where == "shared symbols")


def _filled(tensor: Input) -> Any:
    import numpy

    from shapes.testing.references.arrays import array_of

    array: Any = array_of(tensor)
    if array.ndim >= 2 and array.shape[-1] == array.shape[-2] and array.dtype.kind == "f":
        return array + 4 * numpy.eye(array.shape[-1], dtype=array.dtype)  # a matrix that can be inverted
    return array


def _told(seen: Seen | str) -> str:
    return f"refuses: {seen}" if isinstance(seen, str) else ", ".join([str(one) for one in seen])


def _told_symbols(exported: Any) -> str:
    return ", ".join([f"({', '.join([str(size) for size in aval.shape])})" for aval in exported.out_avals])
