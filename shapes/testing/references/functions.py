"""Any function of real arrays as a reference: what it gives for a call, and what it refuses.

    >>> import math
    >>> from shapes.testing.calls import Call, Input
    >>> from shapes.testing.references.functions import Function
    >>> import numpy as np                                                    # doctest: +SKIP
    >>> concatenate = Function(np.concatenate)                                # doctest: +SKIP
    >>> concatenate(Call(([Input((2, 3)), Input((1, 3))], 0)))                # doctest: +SKIP
    ((3, 3),)
    >>> concatenate(Call(([Input((2, 3)), Input((1, 4))], 0))) is None        # doctest: +SKIP
    True

The function is called with arrays of NumPy, or with tensors of torch where it is torch's or names torch in its body. An
exception is a refusal.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator
from typing import Final, Literal

from shapes.testing.agreement import Sizes
from shapes.testing.calls import Call, Input
from shapes.testing.references.arrays import array_of, jax_array_of

Tensors = Literal["numpy", "torch", "jax"]
Reference = Callable[[Call], Sizes | None]

VOCABULARIES: Final[tuple[Tensors, ...]] = ("torch", "jax")


class Function:
    """A function of arrays, as a function of calls."""

    def __init__(self, function: Callable[..., object], tensors: Tensors | None = None) -> None:  # type: ignore[explicit-any]
        self.function = function
        self.tensors: Tensors = vocabulary_of(function) if tensors is None else tensors
        self.refusal: Exception | None = None
        """The exception that it raised last."""

    def __call__(self, call: Call) -> Sizes | None:
        args, kwargs = call.replaced(array_maker(self.tensors))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                result = self.function(*args, **kwargs)
        except Exception as refusal:
            self.refusal = refusal
            return None
        return tuple(sizes_of(result))


def array_maker(tensors: Tensors) -> Callable[[Input], object]:
    """The function that makes a real array for an input."""
    match tensors:
        case "numpy":
            return array_of
        case "torch":
            from shapes.testing.references.torch_eager import tensor_of

            return tensor_of
        case "jax":
            return jax_array_of


def sizes_of(result: object) -> Iterator[tuple[int, ...] | None]:
    """The sizes of each array in a result, in order; a plain number has none, and None stands for anything else."""
    shape: object = getattr(result, "shape", None)
    if isinstance(shape, tuple):
        yield tuple([int(size) for size in shape])
    elif isinstance(result, tuple | list):
        for one in result:
            yield from sizes_of(one)
    else:
        yield () if isinstance(result, int | float | complex) else None


def vocabulary_of(function: object) -> Tensors:
    """Whose arrays a function takes: those of the library that it is from, or that its body names."""
    homes = [function, *[getattr(function, name, None) for name in ("__self__", "__objclass__")], type(function)]
    if inspect.isfunction(function):
        named = inspect.getclosurevars(function)
        homes += [*named.globals.values(), *named.nonlocals.values()]
    for home in homes:
        name = home.__name__ if inspect.ismodule(home) else getattr(home, "__module__", None)
        root = str(name).partition(".")[0]
        for tensors in VOCABULARIES:
            if root == tensors:
                return tensors
    return "numpy"


def reference_of(  # type: ignore[explicit-any]
    function: Callable[..., object], tensors: Tensors | None = None
) -> Reference | Function:
    """A reference from a function of arrays; one that takes a `Call` is a reference already."""
    return function if takes_calls(function) else Function(function, tensors)  # type: ignore[return-value]


def takes_calls(function: object) -> bool:
    """Return True if a function takes a `Call` instead of arrays."""
    if isinstance(function, Function):
        return True
    try:
        parameters = list(inspect.signature(function).parameters.values()) if callable(function) else []
    except (TypeError, ValueError):
        return False
    return len(parameters) == 1 and (parameters[0].annotation in (Call, "Call") or parameters[0].name == "call")
