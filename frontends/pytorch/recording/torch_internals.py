"""Parts of torch's Python that are replaced while a trace runs, because no mode sees the calls.

    >>> import torch
    >>> from frontends.pytorch.recording.torch_internals import REPLACED, replaced
    >>> before = [getattr(module, name) for module, name, _ in REPLACED]
    >>> with replaced():
    ...     all(getattr(module, name) is function for module, name, function in REPLACED)
    True
    >>> before == [getattr(module, name) for module, name, _ in REPLACED]
    True

| replaced | why no mode does it | seen by another thread |
|---|---|---|
| `py_kernels` of operators in `decompositions/`, `RESAMPLED` | C++ calls them too | as torch's |
| `_is_non_overlapping_and_dense_or_false` of `torch._prims_common` | branches on each size | as torch's |
| `_hop_compile_and_call` of `torch._higher_order_ops.utils` | compiles functions, which a trace refuses | as torch's |
| `torch.compiler._is_compiling_flag` | transformers branches on data unless it is set | set, as by `torch.export` |

Traces in several threads share the replacements; the last one removes them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from types import ModuleType
from typing import Any, Final

import torch
from torch import _prims_common
from torch._C import DispatchKey
from torch._decomp.decompositions import upsample_compute_output_size
from torch._higher_order_ops import utils as higher_order

from frontends.pytorch.decompositions.registry import COMPOSITES
from frontends.pytorch.meta_rules.convolution import RESAMPLING
from frontends.pytorch.recording.special import refuse_control_flow
from frontends.pytorch.symbolic.node import TorchValue, ours
from frontends.pytorch.symbolic.tensor import running_trace

aten: Final = torch.ops.aten
DENSE: Final = _prims_common._is_non_overlapping_and_dense_or_false
COMPILES: Final = higher_order._hop_compile_and_call


def dense(sizes: Sequence[TorchValue], strides: Sequence[TorchValue]) -> bool:
    """Return True if a tensor is non-overlapping and dense; torch's function is called if that is not proven."""
    node = next((number.node for number in (*sizes, *strides) if ours(number)), None)
    if node is not None:
        given = [[each.node if ours(each) else node.wrap_int(each) for each in numbers] for numbers in (sizes, strides)]
        if node.is_non_overlapping_and_dense(*given).statically_known_true():
            return True
    return DENSE(sizes, strides)


def compiled_functions(fn: Callable[..., object], args: object, kwargs: object = None) -> object:
    """Torch's operators that take functions, outside of a trace."""
    if running_trace() is not None:
        refuse_control_flow(fn.__qualname__.partition(".")[0])
    return COMPILES(fn, args, kwargs)


def whole(operator: torch._ops.OpOverload) -> Callable[..., torch.Tensor]:
    """Convert a call with scale factors to one with sizes."""

    def function(input: torch.Tensor, output_size: Any, *given: Any) -> torch.Tensor:
        *options, factors = given
        sizes = upsample_compute_output_size(input.size(), output_size, factors)
        return operator(input, sizes, *options, *(factors or [None] * len(sizes)))

    return function


RESAMPLED: Final[Mapping[torch._ops.OpOverload, Callable[..., torch.Tensor] | None]] = {
    **{getattr(aten, name).vec: whole(getattr(aten, name).default) for name in RESAMPLING},
    **{getattr(aten, name).default: None for name in RESAMPLING},
}
"""The implementation of resampling that replaces torch's decomposition; None for the C++ one.

Torch decomposes these operators to gathers before autograd; the gradients then scatter pixel by pixel, which is slower
than eager's operators, and cubic resampling of bytes rounds differently; and gathers do not reject empty images."""
OPERATORS: Final = {**COMPOSITES, **RESAMPLED}
"""The operators that have another kernel in a trace."""
KEYS: Final = (DispatchKey.CompositeImplicitAutograd, DispatchKey.Autograd)
REPLACED: Final[tuple[tuple[ModuleType, str, object], ...]] = (
    (_prims_common, DENSE.__name__, dense),
    (higher_order, "_hop_compile_and_call", compiled_functions),
    (torch.compiler, "_is_compiling_flag", True),
)

_lock: Final = threading.Lock()
_here: Final = threading.local()
"""`count`: the traces that run in this thread."""
_stack: Final = ExitStack()
_count = 0


@contextmanager
def replaced() -> Iterator[None]:
    """Replace these parts for the duration of the block, and the kernels of `OPERATORS`."""
    global _count
    with _lock:
        _count += 1
        if _count == 1:
            _replace()
    _here.count = getattr(_here, "count", 0) + 1
    try:
        yield
    finally:
        _here.count -= 1
        with _lock:
            _count -= 1
            if _count == 0:
                _stack.close()


def is_tracing() -> bool:
    """Return True if a trace runs in this thread."""
    return getattr(_here, "count", 0) > 0


def _replace() -> None:
    for operator, function in OPERATORS.items():
        for key in KEYS:
            theirs = operator.py_kernels.get(key)
            _stack.callback(_set_kernel, operator, key, theirs)
            _set_kernel(operator, key, function and _here_only(function, _otherwise(operator, key, theirs)))
    for module, name, value in REPLACED:
        _stack.callback(setattr, module, name, getattr(module, name))
        setattr(module, name, value)


def _set_kernel(operator: torch._ops.OpOverload, key: DispatchKey, kernel: Callable[..., object] | None) -> None:
    """Set a kernel of the Python dispatcher, which whoever calls the operator looks up first; None for its C++."""
    if kernel is None:
        operator.py_kernels.pop(key, None)
    else:
        operator.py_kernels[key] = kernel
    operator._dispatch_cache.clear()


def _here_only(function: Callable[..., object], otherwise: Callable[..., object]) -> Callable[..., object]:
    """A kernel that is `function` in the threads of traces."""

    def kernel(*args: object, **kwargs: object) -> object:
        return (function if is_tracing() else otherwise)(*args, **kwargs)

    return kernel


def _otherwise(
    operator: torch._ops.OpOverload, key: DispatchKey, theirs: Callable[..., object] | None
) -> Callable[..., object]:
    """The kernel that torch calls in a thread without a trace."""
    if theirs is not None:
        return theirs
    composite = DispatchKey.CompositeImplicitAutograd
    is_composite = torch._C._dispatch_has_kernel_for_dispatch_key(operator.name(), composite)
    return partial(operator._op_dk, composite if is_composite else key)
