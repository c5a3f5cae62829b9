"""Words of other libraries: their argument names against the libraries' own, their sizes against real calls."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from frontends.operator_names import OperatorNames, aten, lax, numpy
from shapes import ShapeEnv
from shapes.rules import Refused, Shape, rules
from shapes.symbolic.numbers import SymInt

ROOT = Path(__file__).parent.parent.parent


def test_no_library_is_loaded() -> None:
    """Using a table does not import the library whose names it has."""
    program = (
        "import sys\nfrom frontends.operator_names import aten, lax, numpy\n"
        "for names in (aten, lax, numpy):\n    [names[name] for name in names]\n"
        "print([name for name in ('torch', 'numpy', 'jax', 'onnx') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_errors_are_in_the_words_of_the_library() -> None:
    """An error names the operator that the program calls."""
    env = ShapeEnv(origin=lambda: None)
    with pytest.raises(Refused, match=r"^numpy.concatenate\(arrays=\[\(2, 3\), \(2, 4\)\]\): axes differ"):
        numpy.concatenate(env, [(2, 3), (2, 4)])
    with pytest.raises(Refused, match=r"^aten.embedding\(weight=\(3,\), indices=\(2,\)\)"):
        aten.embedding(env, (3,), (2,))
    with pytest.raises(KeyError):
        aten["no_such_operator"]
    with pytest.raises(AttributeError, match="numpy has no rule convolve_everything"):
        numpy.convolve_everything
    with pytest.raises(ValueError, match="expected `name"):
        OperatorNames("wrong", "no expression here")


def test_losses_of_aten_take_what_aten_takes() -> None:
    """A wrong argument of a loss is an error in the words of ATen."""
    env = ShapeEnv(origin=lambda: None)
    assert "reduction=1" in repr(aten["mse_loss"])
    with pytest.raises(TypeError, match="too many positional arguments"):
        aten["soft_margin_loss"](env, (2, 3), (2, 3), 1, 1)
    with pytest.raises(TypeError, match="multiple values for argument 'target'"):
        aten["mse_loss"](env, (2, 3), (2, 3), target=(2, 3))
    for reduction in (3, "mean"):
        with pytest.raises(Refused, match="expected 0, 1 or 2"):
            aten["mse_loss"](env, (2, 3), (2, 3), reduction)
    with pytest.raises(Refused, match=r"^aten.mse_loss\(self=\(2, 3\), target=\(2, 4\)\): sizes do not broadcast"):
        aten["mse_loss"](env, (2, 3), (2, 4))


def test_arguments_stay_where_the_library_has_them() -> None:
    """Positional and keyword arguments of reductions are those of the library."""
    env = ShapeEnv(origin=lambda: None)
    for name in ("all", "any", "argmax", "argmin", "mean", "nansum", "sum"):
        with pytest.raises(TypeError, match="positional argument"):
            numpy[name](env, (2, 3), 0, "float32")
        assert numpy[name](env, (2, 3), 0, keepdims=True) == (1, 3)
    assert aten["permute"](env, (2, 3), dims=(1, 0)) == (3, 2)
    assert aten["repeat"](env, (2, 3), repeats=(2, 1)) == (4, 3)


def test_words_that_are_asked_for_are_not_written_down() -> None:
    """Looking up a name does not change the list of names."""
    before = list(aten)
    assert "repeat_interleave.Tensor" not in before
    assert aten["repeat_interleave.Tensor"] is aten["repeat_interleave.Tensor"]
    assert list(aten) == before and len(aten) == len(before)


# ---------------------------------------------------------------------- ATen's argument names


DIFFERENT = {
    "add_", "sub_", "subtract_",  # no alpha in place
    "bernoulli", "poisson", "randperm", "randint", "randint_like", "rand_like", "randn_like",  # generators
    "embedding_bag", "fractional_max_pool2d", "fractional_max_pool3d", "gumbel_softmax", "rrelu",
    "linalg.matrix_rank", "linalg.pinv", "tensor_split", "dsplit", "hsplit", "vsplit", "split",  # by overload
    "fft.fftfreq", "fft.rfftfreq", "poisson_nll_loss", "huber_loss", "max_unpool2d", "max_unpool3d",
}  # fmt: skip
"""Names that ATen spells in a way that no word stands for."""


def schemas(torch: object, name: str) -> Iterator[object]:
    packet = getattr(torch.ops.aten, name.replace(".", "_"), None)  # type: ignore[attr-defined]
    if packet is not None:
        yield from [getattr(packet, overload)._schema for overload in packet.overloads()]
        return
    plain, _, overload = name.rpartition(".")
    packet = getattr(torch.ops.aten, plain.replace(".", "_"), None)  # type: ignore[attr-defined]
    if packet is not None and overload in packet.overloads():
        yield getattr(packet, overload)._schema


def test_argument_names_of_aten() -> None:
    """Nodes of PyTorch's graphs can be passed to the rules of their operators as they are."""
    torch = pytest.importorskip("torch")
    agreed, wrong = 0, []
    for name in sorted({*aten, *rules} - DIFFERENT):
        found = list(schemas(torch, name))
        if not found or name not in aten:
            continue
        if any(fits(aten[name].signature, schema) for schema in found):
            agreed += 1
        else:
            wrong.append((name, str(aten[name].signature), [str(schema) for schema in found]))
    assert not wrong
    assert agreed > 550


def fits(signature: inspect.Signature, schema: object) -> bool:
    """Return True if a node's arguments, by position and by name, are those of the word."""
    parameters = list(signature.parameters.values())[1:]
    names = [parameter.name for parameter in parameters]
    others = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
    starred = any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters)
    positional = [one.name for one in schema.arguments if not one.kwarg_only]  # type: ignore[attr-defined]
    by_name = [one.name for one in schema.arguments if one.kwarg_only]  # type: ignore[attr-defined]
    taken = starred or names[: len(positional)] == positional
    return taken and (others or set(by_name) <= set(names))


ATEN_CALLS = [
    ("convolution", [(2, 4, 9), (6, 2, 3), None, [2], [1], [1], False, [0], 2]),
    ("convolution", [(2, 4, 9), (4, 3, 3), (6,), [2], [1], [1], True, [1], 2]),
    ("native_batch_norm", [(2, 3, 4), (3,), (3,), (3,), (3,), True, 0.1, 1e-5]),
    ("native_batch_norm", [(1, 3), (3,), (3,), (3,), (3,), True, 0.1, 1e-5]),
    ("native_layer_norm", [(2, 3, 4), [4], (4,), (4,), 1e-5]),
    ("native_group_norm", [(2, 4, 3), (4,), (4,), 2, 4, 3, 2, 1e-5]),
    ("max_pool2d_with_indices", [(2, 3, 9, 8), [3, 2], [2, 2], [1, 0], [1, 1], True]),
    ("avg_pool2d", [(2, 3, 9, 8), [3, 2]]),
    ("_softmax", [(2, 3), -1, False]),
    ("slice.Tensor", [(2, 7), -1, 1, -2, 2]),
    ("slice.Tensor", [(2, 7), 0, 1, 9223372036854775807]),
    ("select.int", [(2, 7), 1, -1]),
    ("split.Tensor", [(7, 2), 3]),
    ("split_with_sizes", [(7, 2), [3, 4]]),
    ("mean.dim", [(2, 3), [0], True]),
    ("sum.dim_IntList", [(2, 3), [0, -1]]),
    ("var.correction", [(2, 3), [1]]),
    ("max.dim", [(2, 3), 1]),
    ("_unsafe_view", [(2, 6), [3, -1]]),
    ("expand", [(2, 1), [4, -1, 3]]),
    ("permute", [(2, 3, 4), [2, 0, 1]]),
    ("repeat", [(2, 3), [2, 1, 2]]),
    ("unfold", [(2, 7), 1, 3, 2]),
    ("upsample_nearest2d", [(1, 2, 3, 4), [6, 5]]),
    ("upsample_bilinear2d", [(1, 2, 3, 4), [6, 5], False]),
    ("pow.Tensor_Scalar", [(2, 3), 2]),
    ("constant_pad_nd", [(2, 3), [1, 2, 0, 1]]),
    ("tensordot", [(2, 3), (3, 4), [1], [0]]),
    ("addmm", [(4,), (2, 3), (3, 4)]),
    ("group_norm", [(2, 4, 3), 2]),
    ("native_dropout", [(2, 3), 0.5, True]),
    ("topk", [(2, 5), 3]),
]


@pytest.mark.parametrize("name, arguments", ATEN_CALLS, ids=lambda one: one if isinstance(one, str) else "")
def test_calls_of_aten(name: str, arguments: list[object]) -> None:
    """A word of ATen gives the sizes of the operator."""
    torch = pytest.importorskip("torch")
    plain, _, overload = name.partition(".")
    packet = getattr(torch.ops.aten, plain)
    operator = getattr(packet, overload) if overload else packet
    real = operator(*[torch.rand(one) if isinstance(one, tuple) else one for one in arguments])
    agree_with(aten[name], arguments, {}, [one.shape for one in (real if isinstance(real, tuple | list) else [real])])


# ---------------------------------------------------------------------- NumPy and lax


NUMPY_CALLS: list[tuple[str, list[object], dict[str, object]]] = [
    ("all", [(2, 3)], {"axis": 0}),
    ("amax", [(2, 3)], {"axis": (0, 1), "keepdims": True}),
    ("any", [(2, 3)], {}),
    ("arange", [7], {}),
    ("argmax", [(2, 3)], {"axis": 1, "keepdims": True}),
    ("argmin", [(2, 3)], {}),
    ("argsort", [(2, 3)], {"axis": None}),
    ("array_split", [(7, 2), 3], {}),
    ("atleast_2d", [(3,)], {}),
    ("broadcast_to", [(3,), (2, 3)], {}),
    ("clip", [(2, 3), 0, 1], {}),
    ("column_stack", [[(3,), (3, 2)]], {}),
    ("concatenate", [[(2, 3), (2, 1)]], {"axis": -1}),
    ("concatenate", [[(2, 3), (4,)]], {"axis": None}),
    ("concatenate", [[(2, 3), (2, 4)]], {}),
    ("count_nonzero", [(2, 3)], {"axis": 1}),
    ("cumsum", [(2, 3)], {}),
    ("cumsum", [(2, 3)], {"axis": 1}),
    ("diag", [(3, 4)], {"k": 1}),
    ("diagonal", [(3, 4, 2)], {"offset": -1, "axis1": 1, "axis2": 2}),
    ("diff", [(2, 5)], {"n": 2}),
    ("dot", [(2, 3), (4, 3, 5)], {}),
    ("dot", [(2, 3), (3,)], {}),
    ("dot", [(2, 3), (2,)], {}),
    ("dstack", [[(2, 3), (2, 3)]], {}),
    ("einsum", ["ij,kj->ik", (2, 3), (4, 3)], {}),
    ("expand_dims", [(2, 3), 1], {}),
    ("eye", [3, 4], {"k": 1}),
    ("fft.rfft", [(2, 8)], {}),
    ("fft.irfft", [(2, 5)], {"n": 7}),
    ("flip", [(2, 3)], {}),
    ("full", [(2, 3), 7], {}),
    ("hstack", [[(2, 3), (2, 1)]], {}),
    ("inner", [(2, 3), (4, 3)], {}),
    ("kron", [(2, 3), (4, 1)], {}),
    ("linalg.qr", [(4, 3)], {"mode": "complete"}),
    ("linalg.svd", [(4, 3)], {"full_matrices": False}),
    ("linspace", [0, 1], {"num": 7}),
    ("logical_not", [(2, 3)], {}),
    ("matmul", [(5, 2, 3), (3, 4)], {}),
    ("matmul", [(2, 3), (2, 3)], {}),
    ("maximum", [(2, 1), (3,)], {}),
    ("mean", [(2, 3)], {"axis": -1, "keepdims": True}),
    ("meshgrid", [(2,), (3,)], {}),
    ("mod", [(2, 3), (3,)], {}),
    ("moveaxis", [(2, 3, 4), 0, -1], {}),
    ("outer", [(2, 3), (4,)], {}),
    ("pad", [(2, 3), ((1, 2), (0, 1))], {}),
    ("pad", [(2, 3), 2], {"mode": "edge"}),
    ("pad", [(2, 3), (1, 2)], {}),
    ("prod", [(2, 3)], {"axis": (0,)}),
    ("repeat", [(2, 3), 2], {"axis": 1}),
    ("repeat", [(2, 3), 2], {}),
    ("reshape", [(2, 6), (3, -1)], {}),
    ("reshape", [(2, 6), (5, -1)], {}),
    ("roll", [(2, 6), 1], {"axis": 1}),
    ("rot90", [(2, 3)], {"k": 3}),
    ("searchsorted", [(5,), (2, 3)], {}),
    ("sort", [(2, 3)], {"axis": None}),
    ("split", [(6, 2), 3], {}),
    ("split", [(7, 2), 3], {}),
    ("split", [(7, 2), [2, 5]], {"axis": 0}),
    ("squeeze", [(1, 3, 1)], {"axis": 0}),
    ("stack", [[(2, 3), (2, 3)]], {"axis": 2}),
    ("std", [(2, 3)], {"axis": (0, 1)}),
    ("sum", [(2, 3, 4)], {"axis": (0, -1), "keepdims": True}),
    ("swapaxes", [(2, 3, 4), 0, -1], {}),
    ("take", [(2, 6), (3, 1)], {"axis": 1}),
    ("take", [(2, 6), (3, 1)], {}),
    ("tensordot", [(2, 3, 4), (4, 3)], {"axes": ([1, 2], [1, 0])}),
    ("tile", [(2, 3), (2, 1, 2)], {}),
    ("trace", [(3, 4, 5)], {"axis1": 1, "axis2": 2}),
    ("transpose", [(2, 3, 4)], {}),
    ("transpose", [(2, 3, 4), (1, 2, 0)], {}),
    ("vander", [(3,)], {"N": 5}),
    ("vstack", [[(3,), (2, 3)]], {}),
    ("where", [(2, 1), (3,), (1,)], {}),
    ("zeros_like", [(2, 3)], {}),
]
SIZES = {"broadcast_to", "reshape", "full", "tile", "pad", "transpose"}
"""The second argument is no array."""


def real(module: object, name: str, one: object, place: int) -> object:
    """An array for a tuple, unless it is an argument of sizes."""
    import numpy as np

    if isinstance(one, tuple) and not (name in SIZES and place) and not (name == "full"):
        whole = name in ("take", "bincount") and place == 1
        return np.zeros(one, np.int64) if whole else np.linspace(1, 2, int(np.prod(one))).reshape(one)
    if isinstance(one, list) and one and isinstance(one[0], tuple):
        return [real(module, name, each, 0) for each in one]
    return one


@pytest.mark.parametrize("name, arguments, named", NUMPY_CALLS, ids=lambda one: one if isinstance(one, str) else "")
def test_calls_of_numpy(name: str, arguments: list[object], named: dict[str, object]) -> None:
    """A word of NumPy gives the sizes of the function, or refuses what it refuses."""
    np = pytest.importorskip("numpy")
    function = np
    for part in name.split("."):
        function = getattr(function, part)
    try:
        result = function(*[real(np, name, one, place) for place, one in enumerate(arguments)], **named)
    except Exception:
        with pytest.raises(Refused):
            numpy[name](ShapeEnv(origin=lambda: None), *arguments, **named)
        return
    listed = list(result) if isinstance(result, tuple | list) else [result]
    agree_with(numpy[name], arguments, named, [np.shape(one) for one in listed])


def test_argument_names_of_numpy() -> None:
    """A call of NumPy by keyword is one of the word."""
    np = pytest.importorskip("numpy")
    wrong = []
    for name in numpy:
        function = np
        for part in name.split("."):
            function = getattr(function, part)
        try:
            theirs = list(inspect.signature(function).parameters)
        except (TypeError, ValueError):
            continue
        if not set(numpy[name].names) <= {*theirs, *ALIASES}:
            wrong.append((name, numpy[name].names, theirs))
    assert not wrong


ALIASES = {"arys", "xi", "operands", "subscripts", "start"}

DOT = (((2,), (1,)), ((0,), (0,)))
LAX_CALLS: list[tuple[str, list[object], dict[str, object]]] = [
    ("add", [(2, 3), (2, 3)], {}),
    ("add", [(2, 3), (1, 3)], {}),
    ("batch_matmul", [(5, 2, 3), (5, 3, 4)], {}),
    ("broadcast", [(2, 3)], {"sizes": (4, 1)}),
    ("broadcast_in_dim", [(3, 1)], {"shape": (2, 3, 4), "broadcast_dimensions": (1, 2)}),
    ("broadcast_in_dim", [(3,)], {"shape": (2, 4), "broadcast_dimensions": (1,)}),
    ("concatenate", [[(2, 3), (2, 1)]], {"dimension": 1}),
    ("conv_general_dilated", [(2, 4, 9), (6, 2, 3)],
     {"window_strides": (2,), "padding": [(1, 2)], "rhs_dilation": (2,), "feature_group_count": 2}),
    ("conv_general_dilated", [(2, 4, 9), (6, 4, 3)], {"window_strides": (2,), "padding": "SAME", "lhs_dilation": (3,)}),
    ("conv_general_dilated", [(2, 4, 2), (6, 4, 3)], {"window_strides": (1,), "padding": "VALID"}),
    ("cumsum", [(2, 3)], {"axis": 1}),
    ("dot_general", [(5, 2, 3), (5, 3, 4)], {"dimension_numbers": DOT}),
    ("dot_general", [(5, 2, 3), (4, 3, 4)], {"dimension_numbers": DOT}),
    ("dynamic_slice", [(5, 6)], {"start_indices": (1, 2), "slice_sizes": (2, 3)}),
    ("expand_dims", [(2, 3)], {"dimensions": (0, -1)}),
    ("pad", [(3, 4)], {"padding_value": 0.0, "padding_config": ((1, -1, 2), (0, 2, 0))}),
    ("reshape", [(2, 6)], {"new_sizes": (3, 4)}),
    ("reshape", [(2, 6)], {"new_sizes": (3, 5)}),
    ("rev", [(2, 3)], {"dimensions": (0,)}),
    ("select", [(2, 3), (2, 3), (2, 3)], {}),
    ("slice", [(5, 6)], {"start_indices": (1, 0), "limit_indices": (5, 6), "strides": (2, 4)}),
    ("slice", [(5, 6)], {"start_indices": (1, 0), "limit_indices": (6, 6)}),
    ("squeeze", [(1, 3)], {"dimensions": (0,)}),
    ("top_k", [(2, 5)], {"k": 3}),
    ("transpose", [(2, 3, 4)], {"permutation": (1, 2, 0)}),
    ("exp", [(2, 3)], {}),
]  # fmt: skip


@pytest.mark.parametrize("name, arguments, named", LAX_CALLS, ids=lambda one: one if isinstance(one, str) else "")
def test_calls_of_lax(name: str, arguments: list[object], named: dict[str, object]) -> None:
    """A word of JAX gives the sizes of the primitive, or refuses what it refuses."""
    jax = pytest.importorskip("jax")
    arrays = [
        [jax.numpy.ones(each) for each in one] if isinstance(one, list) else jax.numpy.ones(one) for one in arguments
    ]
    if name == "select":
        arrays[0] = arrays[0] > 0
    try:
        # compiled, as a call on real arrays moves limits behind the end, and shapes alone are not checked by reshape
        result = jax.jit(lambda *given: getattr(jax.lax, name)(*given, **named))(*arrays)
    except Exception:
        with pytest.raises(Refused):
            lax[name](ShapeEnv(origin=lambda: None), *arguments, **named)
        return
    listed = list(result) if isinstance(result, tuple | list) else [result]
    agree_with(lax[name], arguments, named, [one.shape for one in listed])


def agree_with(word: object, arguments: list[object], named: dict[str, object], wanted: list[tuple[int, ...]]) -> None:
    """The word gives the sizes, for the numbers and for symbols that stand for those of the first array."""
    env = ShapeEnv(origin=lambda: None)
    assert shapes_of(word(env, *arguments, **named)) == [tuple(size) for size in wanted]  # type: ignore[operator]
    if isinstance(arguments[0], tuple):
        env = ShapeEnv(origin=lambda: None)
        first = [env.symbol(f"s{axis}", lo=1, hint=size) for axis, size in enumerate(arguments[0])]
        found = shapes_of(word(env, tuple(first), *arguments[1:], **named))  # type: ignore[operator]
        assert [tuple([env.hint(size) for size in shape]) for shape in found] == [tuple(size) for size in wanted]


def shapes_of(output: object) -> list[tuple[int | SymInt, ...]]:
    return [tuple(output)] if isinstance(output, Shape) else [tuple(one) for one in output]  # type: ignore[attr-defined]


def test_types_of_onnx() -> None:
    """An operator of ONNX can be used outside of a model."""
    pytest.importorskip("onnx")
    from frontends.onnx import Refused as Unfit
    from frontends.operator_names import onnx

    env = ShapeEnv(origin=lambda: None)
    b, h, w = env.sizes("b h w", lo=1)
    assert str(onnx["Conv"](env, (b, 3, h, w), (8, 3, 3, 3), strides=[2, 2], pads=[1] * 4)) == (
        "Shape(b, 8, ceildiv(h, 2), ceildiv(w, 2))"
    )
    assert str(onnx["Reshape"](env, (b, h, 6), [0, -1, 3])) == "Shape(b, 2*h, 3)"
    assert len(onnx) > 150 and "Einsum" in onnx
    with pytest.raises(Unfit, match=r"^onnx.MatMul\(\(2, 3\), \(4, 5\)\)"):
        onnx["MatMul"](env, (2, 3), (4, 5))
