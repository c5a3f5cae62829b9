"""Reads of elements that are no operators, in programs with graph breaks: they flush the queue first.

    >>> import torch
    >>> from frontends.pytorch.breaks.breaks import Broken
    >>> broken = Broken(lambda x: (x + 1).tolist())
    >>> broken(torch.ones(2)), [each.cause for each in broken.breaks]
    ([2.0, 2.0], ['tolist()'])
"""

from __future__ import annotations

from typing import Any, Final

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import _disable_current_modes
from torch.utils._pytree import tree_map

from frontends.pytorch.breaks.pending import Pending, Queue, with_real_tensors
from frontends.pytorch.decompositions.packing import pad
from frontends.pytorch.python.casting import kernel_in_autocast
from frontends.pytorch.python.torch_calls import Arguments, Function, Keywords


class Reads(TorchFunctionMode):
    """A function mode for reads of elements without an operator: flushes the queue first."""

    def __init__(self, session: Queue) -> None:
        super().__init__()
        self.session: Final = session

    def __torch_function__(
        self, func: Function, types: object, args: Arguments = (), kwargs: Keywords | None = None
    ) -> Any:
        if func in READS:
            self.session.interrupted(f"{func.__name__}()")
            with _disable_current_modes():
                return func(*args, **kwargs or {})
        if func in CALLS_PYTHON:
            # C++ reads the memory of all of them
            self.session.interrupted(f"{func.__name__}()")
            with _disable_current_modes(), torch._C.DisableTorchFunction():
                func(*with_real_tensors(args), **kwargs or {})
            return args[0]
        if name := kernel_in_autocast(func):
            return self.session.outside(name, func, args, kwargs)
        if func == SETS_DATA:
            self.session.interrupted("data")
            with _disable_current_modes():
                return func(*with_real_tensors(args))
        if func in READS_LENGTHS:
            self.session.interrupted(f"{func.__name__}()")
            opened, named = tree_map(with_elements, (tuple(args), dict(kwargs or {})))
            if func is PAD:
                # C++ would write the lengths to a lazy tensor
                given = [*opened, *named.values()]
                data, batch_sizes, *rest = given
                return pad(data, batch_sizes, int(batch_sizes.max()), *rest)
            return func(*opened, **named)
        return func(*args, **kwargs) if kwargs else func(*args)


READS: Final = {
    getattr(torch.Tensor, name)
    for name in (
        *("numpy", "__array__", "tolist", "data_ptr", "untyped_storage", "storage", "__deepcopy__", "__reduce_ex__"),
        *("__repr__", "__format__", "share_memory_", "__dlpack__"),
    )
} | {torch.save}

CALLS_PYTHON: Final = {torch.Tensor.apply_, torch.Tensor.map_, torch.Tensor.map2_}
PAD: Final = torch._C._VariableFunctions._pad_packed_sequence
SETS_DATA: Final = torch.Tensor.data.__set__
"""The setter that replaces a tensor's memory, which a lazy tensor lacks."""
READS_LENGTHS: Final = {
    getattr(torch._C._VariableFunctions, name)
    for name in ("_pack_padded_sequence", "_pad_packed_sequence", "lstm", "gru", "rnn_tanh", "rnn_relu")
}
"""Functions whose C++ reads the elements of a length tensor, for packed sequences."""


def with_elements(value: object) -> object:
    """The real tensor of a lazy integer tensor, without gradient."""
    return value.value.materialize() if isinstance(value, Pending) and value.dtype is torch.int64 else value
