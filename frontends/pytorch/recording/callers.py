"""What a trace does to tensors that the caller has: how often they are written, what they are to autograd afterwards.

    >>> import torch
    >>> from frontends.pytorch.tracing import trace
    >>> def writes(x):
    ...     x.add_(1)
    ...     x[0].zero_()
    ...     return x * 2
    >>> trace(writes, (torch.ones(3, 2),)).written
    ((0, 2),)

Autograd counts how often a tensor is written, views and all, and refuses a backward that needs what was overwritten. So
a run counts as much as eager torch does, whatever wrote (`frontends.pytorch.running.counted`), and a trace nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

import torch

from frontends.pytorch.errors import eager_only
from frontends.pytorch.symbolic.tensor import Traced, attributes_set

Versions = dict[int, tuple[torch.Tensor, int]]
"""By identity, tensors that a program brings along, and how often each had been written when it first came up."""
RETURN: Final = "return what it becomes"
SET: Final = "set it outside of the function"


def refuse_followed_writes(
    func: torch._ops.OpOverload, args: Sequence[object], kwargs: Mapping[str, object], tensors: Sequence[Traced]
) -> None:
    """Refuse an operator that gives a tensor of the caller a place in autograd's graph.

    Raises:
        EagerOnly: it writes to such a tensor what has a gradient.
    """
    if not any((tensor if tensor.lifted is None else tensor.lifted).requires_grad for tensor in tensors):
        return
    given = dict(zip([argument.name for argument in func._schema.arguments], args)) | dict(kwargs)
    for argument in func._schema.arguments:
        # running statistics have no gradient
        if argument.alias_info is not None and argument.alias_info.is_write and argument.name[:8] != "running_":
            written = given.get(argument.name)
            for each in written if isinstance(written, list | tuple) else [written]:
                if isinstance(each, torch.Tensor) and _is_callers(each):
                    eager_only("what has a gradient is written to a tensor that the caller has", RETURN)


def _is_callers(tensor: torch.Tensor) -> bool:
    with torch._C.DisableTorchFunction():
        base = tensor._base
    found = tensor if base is None else base
    return not isinstance(found, Traced) or found.is_given


@contextmanager
def brought_back(versions: Versions) -> Iterator[list[tuple[int | torch.Tensor, int]]]:
    """At the end of a trace the tensors that the program brings along count as often written as before; how often they
    were is in what `with` gives."""
    written: list[tuple[int | torch.Tensor, int]] = []
    try:
        yield written
    finally:
        written += unwritten(versions)


def unwritten(versions: Versions) -> list[tuple[torch.Tensor, int]]:
    """What the trace wrote of the tensors that the program brings along, each with how often; the count is put back."""
    found: list[tuple[torch.Tensor, int]] = []
    with torch._C.DisableTorchFunction():
        for tensor, before in versions.values():
            count = tensor._version - before
            if count > 0:
                # of two that share a counter, the first to come up counts for both
                found.append((tensor, count))
                torch._C._autograd._unsafe_set_version_counter((tensor,), (before,))
    versions.clear()
    return found


def versions_of(given: Iterable[Traced]) -> list[int]:
    """How often the arguments of a trace have been written."""
    with torch._C.DisableTorchFunction():
        return [tensor._version for tensor in given]


def check_given(given: Iterable[tuple[Traced, bool]]) -> None:
    """Refuse a trace whose arguments are not to autograd what they were; each comes with whether it had a gradient.

    Raises:
        EagerOnly: one is not.
    """
    with torch._C.DisableTorchFunction():
        for tensor, had_gradient in given:
            if tensor.requires_grad is not had_gradient or not tensor.is_leaf or tensor.grad is not None:
                eager_only("what autograd knows of an argument is changed", RETURN, None)
            for name in attributes_set(tensor):
                eager_only(f"the attribute `{name}` of an argument is set", SET, None)


def refuse_gradients(values: Iterable[object]) -> None:
    """Refuse that a call without gradients gives tensors that have one.

    Raises:
        EagerOnly: it does.
    """
    with torch._C.DisableTorchFunction():
        if any(isinstance(value, Traced) and value.requires_grad and not value.is_given for value in values):
            what = "a call without gradients returns a tensor with one"
            eager_only(what, "call the function with gradients enabled", None)


__all__ = ["brought_back", "check_given", "refuse_followed_writes", "refuse_gradients", "versions_of"]
