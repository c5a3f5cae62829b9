"""The caller's tensors in a trace: which are supported, and effects on version counters and autograd state.

    >>> import torch
    >>> from frontends.pytorch.tracing import trace
    >>> def writes(x):
    ...     x.add_(1)
    ...     x[0].zero_()
    ...     return x * 2
    >>> trace(writes, (torch.ones(3, 2),)).written
    ((0, 2),)

Autograd has a version counter for each storage, and rejects a backward that needs an overwritten tensor. So a run
increments counters as eager torch does (`frontends.pytorch.variant.counted`), and a trace leaves them unchanged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

import torch

from frontends.pytorch.errors import unsupported
from frontends.pytorch.recording.operations import bound, flat, is_written
from frontends.pytorch.symbolic.tensor import Traced

Versions = dict[int, tuple[torch.Tensor, int]]
"""A program's own tensors and their versions at first use, by identity."""
RETURN: Final = "return what it becomes"


def check_supported(name: str, tensor: torch.Tensor) -> None:
    """Refuse unsupported inputs.

    Raises:
        Unsupported: a nested or quantized tensor, a layout other than strided, a subclass that overrides behavior.
    """
    if isinstance(tensor, Traced):
        unsupported(f"{name}: a tensor of another trace", "do not keep it in a global, an attribute or a container")
    if tensor.is_nested:
        unsupported(f"{name}: a nested tensor", f"pass `{name}.to_padded_tensor(0)`, or its values and offsets")
    if type(tensor) not in (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer):
        what = f"{name}: a tensor of the class {type(tensor).__qualname__}, whose overrides a graph would lose"
        unsupported(what, f"pass `{name}.as_subclass(torch.Tensor)`, or keep it outside")
    if tensor.layout is not torch.strided:
        unsupported(f"{name}: a tensor of layout {tensor.layout}", f"pass `{name}.to_dense()`, or keep it outside")
    if tensor.is_quantized:
        unsupported(f"{name}: a quantized tensor", f"pass `{name}.dequantize()`")
    if tensor.is_conj():
        # one with the negative bit is read as its value (`refuse_negatives`)
        unsupported(f"{name}: a lazy conjugate (a tensor with the conjugate bit)", f"pass `{name}.resolve_conj()`")


def refuse_followed_writes(
    func: torch._ops.OpOverload, args: Sequence[object], kwargs: Mapping[str, object], tensors: Sequence[Traced]
) -> None:
    """Refuse an operator that adds the caller's tensor to autograd's graph.

    Raises:
        Unsupported: it writes a value with a gradient to such a tensor.
    """
    if not any((tensor if tensor.lifted is None else tensor.lifted).requires_grad for tensor in tensors):
        return
    for argument, written in bound(func, args, kwargs):
        # running statistics have no gradient
        if is_written(argument) and argument.name[:8] != "running_":
            for each in flat(written):
                if isinstance(each, torch.Tensor) and _is_callers(each):
                    unsupported("a value with a gradient is written to a tensor of the caller", RETURN)


def _is_callers(tensor: torch.Tensor) -> bool:
    with torch._C.DisableTorchFunction():
        base = tensor._base
    found = tensor if base is None else base
    return not isinstance(found, Traced) or found.is_given


@contextmanager
def brought_back(versions: Versions) -> Iterator[list[tuple[int | torch.Tensor, int]]]:
    """Restore the version counters of the program's own tensors at the end of a trace.

    The block's value has those that the trace wrote, with the number of writes.
    """
    written: list[tuple[int | torch.Tensor, int]] = []
    try:
        yield written
    finally:
        with torch._C.DisableTorchFunction():
            for tensor, before in versions.values():
                count = tensor._version - before
                if count > 0:
                    # of two that share a counter, the first one restores both
                    written.append((tensor, count))
                    torch._C._autograd._unsafe_set_version_counter((tensor,), (before,))
        versions.clear()


def versions_of(given: Iterable[Traced]) -> list[int]:
    """The version counters of a trace's arguments."""
    with torch._C.DisableTorchFunction():
        return [tensor._version for tensor in given]


def check_given(given: Iterable[tuple[Traced, bool]], versions: Versions) -> None:
    """Refuse a trace that has changed its arguments' autograd state, each with whether it had a gradient; or that of
    another tensor of the program.

    Raises:
        Unsupported: it has.
    """
    with torch._C.DisableTorchFunction():
        for own, _ in versions.values():
            if isinstance(own.grad, Traced):
                own.grad = None
                unsupported("backward() sets the gradient of a tensor of the caller", RETURN, None)
        for tensor, had_gradient in given:
            if tensor.requires_grad is not had_gradient or not tensor.is_leaf or tensor.grad is not None:
                unsupported("the autograd state of an argument is changed", RETURN, None)


def refuse_gradients(values: Iterable[object]) -> None:
    """Refuse results with gradients in a trace without gradients.

    Raises:
        Unsupported: it does.
    """
    with torch._C.DisableTorchFunction():
        if any(isinstance(value, Traced) and value.requires_grad and not value.is_given for value in values):
            what = "a call without gradients returns a tensor with one"
            unsupported(what, "call the function with gradients enabled", None)
