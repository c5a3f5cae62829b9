"""Shape rules under the operator names of other libraries.

    >>> from frontends.operator_names import aten, lax, numpy
    >>> from shapes import ShapeEnv
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, s = env.sizes("b s")
    >>> aten["slice.Tensor"](env, (b, s), 1, 2, None), numpy.concatenate(env, [(b, s), (3, s)], axis=0)
    (Shape(b, max(s - 2, 0)), Shape(b + 3, s))
    >>> lax["dot_general"](env, (b, s, 8), (b, 8, 4), (((2,), (1,)), ((0,), (0,))))
    Shape(b, s, 4)

`aten` has PyTorch's operators as its graphs call them, `numpy` also serves `jax.numpy`, `lax` has JAX's primitives, and
`onnx` the types of ONNX. Each is an `OperatorNames`: it maps names to rules and keeps the library's argument names.
None imports its library, except `onnx`, which needs the package to read attributes.
"""

from typing import TYPE_CHECKING

from frontends.operator_names.aten_operators import aten
from frontends.operator_names.jax_functions import lax
from frontends.operator_names.named_rules import NamedRule, OperatorNames
from frontends.operator_names.numpy_functions import numpy

if TYPE_CHECKING:
    from frontends.operator_names.onnx_operators import onnx as onnx

__all__ = ["NamedRule", "OperatorNames", "aten", "lax", "numpy", "onnx"]


def __getattr__(name: str) -> object:
    if name != "onnx":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from frontends.operator_names.onnx_operators import onnx

    return onnx
