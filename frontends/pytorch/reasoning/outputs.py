"""Cheaper fake outputs from torch's fake tensor cache.

When torch caches an operator's output, it synthesizes a second tensor only to check its dispatch keys. The keys do not
depend on sizes, so here this tensor has one element. And torch allocates a cached view with its sizes before it sets
the view's storage, so the metadata derived from sizes and strides are computed twice; here it is allocated empty.

Sizes without a hint are left to torch, since they raise when a computation needs their value.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import torch
from torch._subclasses.fake_tensor import (
    FakeTensor,
    FakeTensorMode,
    _SymIntOutputStub,
    in_kernel_invocation_manager,
)

Implementation = Callable[..., Any]


class Stage(threading.local):
    """The cache key of the call for which torch synthesizes a tensor only to check its dispatch keys."""

    key: Any = None


def methods(count: Callable[[str, object, object], None] | None = None) -> dict[str, Any]:
    """Replacements for methods of torch's fake tensor mode, by name.

    Args:
        count: called with each answer's name, ours and torch's, which is then returned. Without it ours is returned.
    """
    stage = Stage()
    return {
        "_get_output_info_for_cache_entry": kept(stage, FakeTensorMode._get_output_info_for_cache_entry),
        "_output_from_cache_entry": with_the_same_keys(stage, FakeTensorMode._output_from_cache_entry, count),
        "_get_output_tensor_from_cache_entry": view(FakeTensorMode._get_output_tensor_from_cache_entry, count),
    }


def kept(stage: Stage, original: Implementation) -> Implementation:
    """The cache entry of an output."""

    def output_info(self: Any, state: Any, key: Any, func: Any, args: Any, kwargs: Any, output: Any) -> Any:
        if type(output) is not FakeTensor:
            return original(self, state, key, func, args, kwargs, output)
        if not is_symbolic((*output.shape, *output.stride(), output.storage_offset())):
            return original(self, state, key, func, args, kwargs, output)
        outer, stage.key = stage.key, key
        try:
            return original(self, state, key, func, args, kwargs, output)
        finally:
            stage.key = outer

    return output_info


def with_the_same_keys(stage: Stage, original: Implementation, count: Any) -> Implementation:
    """The tensor that torch synthesizes from a new cache entry."""

    def output(self: Any, state: Any, entry: Any, key: Any, func: Any, args: Any) -> Any:
        if stage.key is not key:
            return original(self, state, entry, key, func, args)
        stage.key = None
        metadata = entry.output_infos[0].metadata
        if metadata is None or metadata.layout is not torch.strided:
            return original(self, state, entry, key, func, args)
        rank = len(metadata.shape)
        with in_kernel_invocation_manager(self):
            made = allocated((1,) * rank, metadata)
        ours = FakeTensor(self, made, metadata.device)
        if count is None:
            return ours
        theirs = original(self, state, entry, key, func, args)
        count("dispatch keys", torch._C._dispatch_key_set(ours), torch._C._dispatch_key_set(theirs))
        return theirs

    return output


def view(original: Implementation, count: Any) -> Implementation:
    """A view that torch synthesizes from its cache."""

    def tensor(self: Any, state: Any, entry: Any, key: Any, func: Any, args: Any) -> Any:
        metadata = entry.metadata
        if (
            metadata is None
            or entry.inplace_idx is not None
            or entry.view_idx is None
            or metadata.layout is not torch.strided
            or not isinstance(func, torch._ops.OpOverload)
            or not func.is_view
            or self.shape_env is None
        ):
            return original(self, state, entry, key, func, args)

        def value(kept: Any) -> Any:
            return kept.extract(key, state.shape_env) if isinstance(kept, _SymIntOutputStub) else kept

        shape, stride = tuple(map(value, metadata.shape)), tuple(map(value, metadata.stride))
        offset = value(metadata.storage_offset)
        if not is_symbolic((*shape, *stride, offset)):
            return original(self, state, entry, key, func, args)
        memory = args[entry.view_idx].untyped_storage()
        with in_kernel_invocation_manager(self), self.shape_env.suppress_guards():
            made = allocated((0,), metadata)
            made.set_(memory, offset, shape, stride)
        ours = FakeTensor(self, made, metadata.device)
        if count is None:
            return ours
        theirs = original(self, state, entry, key, func, args)
        count(str(func), described(ours), described(theirs))
        return theirs

    return tensor


def allocated(shape: tuple[int, ...], metadata: Any) -> torch.Tensor:
    """An empty tensor with the cached metadata except sizes."""
    made = torch.empty_strided(
        shape,
        (1,) * len(shape),
        dtype=metadata.dtype,
        layout=metadata.layout,
        device="meta",
        requires_grad=metadata.requires_grad,
    )
    if metadata.is_conj:
        torch._C._set_conj(made, True)
    if metadata.is_neg:
        torch._C._set_neg(made, True)
    return made


def is_symbolic(numbers: tuple[object, ...]) -> bool:
    """Whether some number is symbolic, and all have hints."""
    symbolic = [number for number in numbers if isinstance(number, torch.SymInt)]
    return bool(symbolic) and all(type(number.node._hint) is int for number in symbolic)


def described(tensor: Any) -> object:
    """The compared parts of a tensor: everything that torch caches."""
    numbers = (*tensor.shape, *tensor.stride(), tensor.storage_offset())
    return (
        tuple([str(number.node._expr) if isinstance(number, torch.SymInt) else number for number in numbers]),
        (tensor.dtype, tensor.layout, tensor.device, tensor.requires_grad, tensor.is_conj(), tensor.is_neg()),
        tensor.untyped_storage()._cdata,
        torch._C._dispatch_key_set(tensor),
    )


__all__ = ["methods"]
