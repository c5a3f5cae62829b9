"""PyTorch's eager kernels on the CPU, by the plain name of an operator.

    >>> from shapes.testing.calls import Call, Input
    >>> from shapes.testing.references.torch_eager import torch_eager
    >>> cat = torch_eager("cat")                                              # doctest: +SKIP
    >>> cat(Call(([Input((2, 3)), Input((1, 3))],), {"dim": 0}))              # doctest: +SKIP
    ((3, 3),)
    >>> cat(Call(([Input((2, 3)), Input((1, 4))],), {"dim": 0})) is None      # refused     # doctest: +SKIP
    True
"""

from __future__ import annotations

import inspect
import operator
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from shapes.testing.agreement import Sizes
from shapes.testing.calls import Call, Input

REFUSALS = (
    RuntimeError, IndexError, ValueError, TypeError, NotImplementedError, ArithmeticError, AssertionError
)  # fmt: skip

ATEN: Final[Mapping[str, str]] = {
    "_jagged_to_padded_dense_forward": "_jagged_to_padded_dense_forward.default",
    "_padded_dense_to_jagged_forward": "_padded_dense_to_jagged_forward.default",
    "index": "index.Tensor",
    "index_put": "index_put.default",
    "unique_dim": "unique_dim.default",
}
"""The operators that torch has no function for, or one that takes less: the names of its dispatcher."""


def torch_eager(name: str) -> Callable[[Call], Sizes | None]:
    """A function from a call to the sizes of the outputs, None where torch refuses it.

    Raises:
        LookupError: torch has no operator of that name.
    """
    function = torch_operator(name)

    def reference(call: Call) -> Sizes | None:
        import torch

        args, kwargs = call.replaced(tensor_of)
        try:
            with warnings.catch_warnings(), torch.no_grad():
                warnings.simplefilter("ignore")
                result = function(*args, **kwargs)
        except REFUSALS:
            return None
        return tuple(_sizes(result))

    return reference


def torch_operator(name: str) -> Callable[..., object]:  # type: ignore[explicit-any]
    """The function that torch, torch.nn.functional or a tensor has under this name; dotted names as they are.

    "getitem" is `x[index]`, a property of tensors is a function of them, and the number of `item` has no axes.
    """
    import torch

    if name == "getitem":
        return operator.getitem
    if name == "item":
        return lambda tensor: torch.as_tensor(tensor.item())
    if name in ATEN:
        dispatched: Callable[..., object] = operator.attrgetter(ATEN[name])(torch.ops.aten)  # type: ignore[explicit-any]
        return dispatched
    for home in (torch.nn.functional, torch, torch.Tensor, torch.special, torch._C._nn):
        found: object = home
        for part in name.split("."):
            found = getattr(found, part, None)
        if callable(found):
            return found
        if inspect.isdatadescriptor(found):
            return operator.attrgetter(name)
    raise LookupError(f"torch has no operator {name}")


def tensor_of(tensor: Input) -> object:
    """A real tensor for an input."""
    import torch

    dtype = getattr(torch, tensor.dtype or "float32")
    if tensor.values is not None:
        return torch.tensor(tensor.values, dtype=dtype).reshape(tuple(tensor))
    if tensor.strides is not None:
        reach = sum([(size - 1) * stride for size, stride in zip(tensor, tensor.strides)]) if 0 not in tensor else 0
        storage = torch.ones(tensor.storage_offset + reach + 1, dtype=dtype)
        return storage.as_strided(tuple(tensor), tensor.strides, tensor.storage_offset)
    if dtype.is_floating_point or dtype.is_complex:
        return torch.rand(tuple(tensor), dtype=dtype)
    if dtype is torch.bool:
        return torch.rand(tuple(tensor)) < 0.5
    return torch.randint(tensor.low, max(tensor.high, tensor.low + 1), tuple(tensor), dtype=dtype)


def _sizes(result: object) -> Iterator[tuple[int, ...] | None]:
    """The sizes of each tensor in a result, in order; None for what is no tensor."""
    import torch

    if isinstance(result, torch.Tensor):
        yield tuple(result.shape)
    elif isinstance(result, tuple | list):
        for one in result:
            yield from _sizes(one)
    else:
        yield None
