"""Predictions of operators' results: by torch's meta function on symbolic sizes; of a program's own operators, by a
shape rule or a fake implementation.

    >>> from frontends.pytorch.custom_operators import custom_op  # registers its rules in RULES

A rule or fake implementation is a prediction: each result is compared with it at run time (`backends.results`), and so
are a rule's facts about unbacked values. A schema's mutated arguments are trusted: a kernel that mutates another one is
not detected.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import torch
from torch._library import fake_impl, simple_registry
from torch._library.utils import has_fake_kernel
from torch.utils._pytree import tree_map

from frontends.pytorch.errors import TraceError, Unsupported, unsupported
from frontends.pytorch.meta_rules.registry import made, sizes_of
from frontends.pytorch.symbolic.metadata import Template
from frontends.pytorch.symbolic.tensor import Arguments, Function, Keywords, Trace, Traced
from shapes.rules import Rule, Shape
from shapes.rules.third_party import TestedEnv

RESIZED: Final = "tried to directly modify sizes for customized tensor"
"""C++'s message for resizing a tensor with symbolic sizes."""
OTHER_SIZES: Final = "{}: the tensor passed as out= is resized to the result; pass one with the result's sizes"
WANTS_NUMBERS: Final = "dispatch_on_subclass called with NO overloaded args"
"""The error of a C++ meta function that reads a symbolic size as a concrete one."""
RULES: Final[dict[object, Rule]] = {}
"""The shape rules of custom operators."""
TENSORS: Final = ("Tensor", "Optional[Tensor]", "List[Tensor]")
"""The types of results that are predicted."""
WRITE_ONE: Final = "custom_op(...).shape_rule or infer_shape_rule gives it one, or torch.library.register_fake"


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


# ---------------------------------------------------------------------- custom operators


def template(
    recorder: Trace, func: torch._ops.OpOverload, args: Arguments, kwargs: Keywords, tensors: Sequence[Traced]
) -> Template:
    """Predict a custom operator's results by its rule or its fake implementation.

    Raises:
        TraceError: it has neither.
    """
    if not all(str(each.type) in TENSORS for each in func._schema.returns) or (
        len(func._schema.returns) > 1 and is_list(func)
    ):
        what = f"{func.name()} gives more than tensors: {func._schema}"
        unsupported(what, "return tensors, or a single list of tensors")
    rule = RULES.get(func)
    if rule is None and (not func._schema.returns or has_fake_kernel(func)):
        fake = simple_registry.singleton.find(func._schema.name).fake_impl.kernel
        with DynamicSizes(recorder, func.name()) as sizes:
            found = by_meta(recorder, func, args, kwargs, tensors, run=func if fake is None else fake)
        return replace(found, once=True) if sizes.used else found
    if rule is None:
        raise TraceError(f"{func.name()} has no shape rule: {WRITE_ONE}")
    env = recorder.env
    before = len(env.symbols)
    named = {name: sizes_of(value) for name, value in kwargs.items()}
    tested: Any = TestedEnv(env, func.name())  # in an environment's place
    outputs = rule(tested, *[sizes_of(arg) for arg in args], **named)
    like = next((tensor.metadata for tensor in tensors), None)
    if like is None:
        like = recorder.kinds.of((), (), 0, torch.get_default_dtype(), torch.get_default_device())
    kinds = made(recorder, flat(outputs), like)
    output: object = kinds if is_list(func) else kinds[0] if len(func._schema.returns) == 1 else tuple(kinds)
    return Template(output, once=len(env.symbols) > before)


def predicted_by(func: torch._ops.OpOverload) -> str:
    """The source of a custom operator's prediction."""
    rule = RULES.get(func)
    if rule is not None:
        code = getattr(rule.function, "__code__", None)
        return f"the shape rule {rule.name}" + (f" ({code.co_filename}:{code.co_firstlineno})" if code else "")
    return "its fake implementation"


class DynamicSizes:
    """The context of a fake implementation that creates unbacked sizes (`torch.library.get_ctx`)."""

    def __init__(self, recorder: Trace, operator: str) -> None:
        self.recorder = recorder
        self.used = False
        self._env = TestedEnv(recorder.env, operator)

    def new_dynamic_size(self, *, min: int = 0, max: int | None = None) -> torch.SymInt:
        """A new unbacked size with bounds."""
        self.used = True
        return self.recorder.nodes.wrap(self._env.unbacked(None, min, max))

    create_unbacked_symint = new_dynamic_size

    def __enter__(self) -> DynamicSizes:
        self._setting = fake_impl.set_ctx_getter(lambda: self)
        self._setting.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._setting.__exit__(*error)


def flat(outputs: Any) -> list[Shape]:
    return [outputs] if isinstance(outputs, Shape) else [shape for shape in outputs if shape is not None]


def is_list(func: torch._ops.OpOverload) -> bool:
    return any(isinstance(each.type, torch.ListType) for each in func._schema.returns)


def dtype_of(shape: Shape, otherwise: torch.dtype) -> torch.dtype:
    return otherwise if shape.dtype is None else getattr(torch, shape.dtype)
