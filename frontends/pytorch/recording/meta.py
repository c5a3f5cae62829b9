"""Metadata inference by torch's own meta functions, on symbolic sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import torch
from torch.utils._pytree import tree_map

from frontends.pytorch.errors import Unsupported
from frontends.pytorch.symbolic.function_mode import Arguments, Function, Keywords
from frontends.pytorch.symbolic.metadata import Template
from frontends.pytorch.symbolic.tensor import Trace, Traced

RESIZED: Final = "tried to directly modify sizes for customized tensor"
"""C++'s message for resizing a tensor with symbolic sizes."""
OTHER_SIZES: Final = "{}: the tensor passed as out= is resized to the result; pass one with the result's sizes"
WANTS_NUMBERS: Final = "dispatch_on_subclass called with NO overloaded args"
"""The error of a C++ meta function that reads a symbolic size as a concrete one."""


def by_meta(
    recorder: Trace,
    func: torch._ops.OpOverload,
    args: Arguments,
    kwargs: Keywords,
    tensors: Sequence[Traced],
    *,
    run: Function | None = None,
) -> Template:
    """Torch's own meta function, or `run`, on tensors of the meta device with the same symbolic sizes."""
    mutates = func._schema.is_mutable
    twins: dict[int, torch.Tensor] = {}
    indices: dict[int, int] = {}
    order = iter(range(len(tensors)))

    def on_meta(value: object) -> object:
        if isinstance(value, torch.Tensor):
            place = next(order)
            tensor = tensors[place]
            # a twin for each mutated argument, by which returned arguments are identified
            twin = tensor.metadata.fresh_on_meta() if mutates else tensor.metadata.on_meta()
            twins[place] = twin
            indices[id(twin)] = place
            return twin
        if isinstance(value, torch.device):
            return torch.device("meta")
        return value

    device = numbered(torch.device(kwargs.get("device") or device_of(tensors)))
    on_meta_args = tree_map(on_meta, args)
    on_meta_kwargs = tree_map(on_meta, kwargs)
    if "device" in on_meta_kwargs or not tensors:
        if any(argument.name == "device" for argument in func._schema.arguments):
            on_meta_kwargs["device"] = torch.device("meta")
    try:
        output = (run or func)(*on_meta_args, **on_meta_kwargs)
    except RuntimeError as error:
        if RESIZED in str(error):
            raise Unsupported(OTHER_SIZES.format(func)) from error
        if WANTS_NUMBERS not in str(error) or mutates:
            raise
        output = func(*tree_map(with_numbers, on_meta_args), **tree_map(with_numbers, on_meta_kwargs))

    def piece(value: object) -> object:
        if isinstance(value, torch.Tensor):
            place = indices.get(id(value))
            if place is not None and (mutates or func._schema.returns[0].alias_info is not None):
                return place
            return recorder.kinds.of_tensor(value, device)
        return None

    if any(argument.is_out for argument in func._schema.arguments):
        for place, twin in twins.items():
            before = tensors[place].metadata
            if recorder.kinds.of_tensor(twin, before.device) is not before:
                raise Unsupported(OTHER_SIZES.format(func))
    if not isinstance(output, list | tuple):
        return Template(piece(output))
    pieces = [piece(value) for value in output]
    return Template(pieces if isinstance(output, list) else tuple(pieces))


def with_numbers(value: object) -> object:
    """Specialize a meta tensor's sizes, or a size, to the hints."""
    if isinstance(value, torch.Tensor):
        sizes, strides = [int(size) for size in value.shape], [int(stride) for stride in value.stride()]
        return torch.empty_strided(sizes, strides, dtype=value.dtype, device="meta")
    return int(value) if isinstance(value, torch.SymInt) else value


def device_of(tensors: Sequence[Traced]) -> torch.device:
    """The result's device: that of the arguments, except CPU scalars."""
    devices = [tensor.metadata.device for tensor in tensors]
    for tensor, device in zip(tensors, devices):
        if tensor.metadata.sizes:
            return device
    elsewhere = [device for device in devices if device.type != "cpu"]
    return (elsewhere or devices or [torch.get_default_device()])[0]


def numbered(device: torch.device) -> torch.device:
    """A device with an explicit index for accelerators."""
    if device.index is not None or device.type in ("cpu", "meta"):
        return device
    return torch.device(device.type, torch.accelerator.current_device_index())
