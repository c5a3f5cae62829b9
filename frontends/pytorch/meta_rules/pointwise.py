"""Elementwise operators: broadcasting and type promotion; copies, and new tensors like another one.

    >>> import torch
    >>> is_elementwise(torch.ops.aten.mul.Tensor), is_elementwise(torch.ops.aten.mm.default)
    (True, False)

Torch's tag says which operators are elementwise. The operator itself determines the dtype of the result; its
sizes and strides follow from the operands (`layouts`). Torch's own comparison of strides takes longer, and
answers where kernels convert operands first, whose copies have other strides, or where axes of extent 1 matter. Meta
functions of the operators are not asked: those with several steps in Python arrange each step's result anew.

For dtypes the operator itself runs on tiny tensors, once for each combination of dtypes and scalars:

    >>> x, n = torch.ones(2, 3, dtype=torch.float16), torch.arange(4)
    >>> dtypes_of(torch.ops.aten.add.Tensor, (x, torch.ones(())), {})
    (torch.float16,)
    >>> dtypes_of(torch.ops.aten.mean.default, (n,), {}) is None # it is an error, which torch reports
    True

The tensors are on the meta device, with one element and the same rank, so type promotion is the same. `on_cpu`, they
are on the CPU, and kernels run, which do not take all dtypes that meta functions take:

    >>> dtypes_of(torch.ops.aten.mish.default, (n,), {})
    (torch.int64,)
    >>> dtypes_of(torch.ops.aten.mish.default, (n,), {}, on_cpu=True)
    Traceback (most recent call last):
    NotImplementedError: "mish_cpu" not implemented for 'Long'
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any, Final

import torch
from torch._prims_common import compute_elementwise_output_strides

from frontends.pytorch.meta_rules.registry import kind_rule, metadata_of, packed
from frontends.pytorch.symbolic.metadata import Metadata
from frontends.pytorch.symbolic.tensor import Trace
from shapes.rules.memory_order import (
    common_sizes,
    elementwise_strides,
    is_ambiguously_channels_last,
    is_by_row,
    is_expanded,
)
from shapes.symbolic.choices import Int

aten: Final = torch.ops.aten

UNTAGGED: Final = (
    aten.elu_backward, aten.floor_divide, aten.hardsigmoid_backward, aten.hardswish, aten.hardswish_backward,
    aten.hardtanh_backward, aten.leaky_relu_backward, aten.mse_loss_backward, aten.rsub, aten.smooth_l1_loss_backward,
    aten.softplus_backward,
)  # fmt: skip
"""Elementwise operators without torch's tag."""
REVERSED: Final = (aten.leaky_relu_backward.default, aten.rsub.Tensor, aten.threshold_backward.default)
"""Operators whose kernels take their operands in another order: the last one's strides have priority."""
PACKED: Final = (aten.masked_fill.Scalar, aten.masked_fill.Tensor, aten.mvlgamma.default)
"""Operators with torch's tag whose result is contiguous, whatever the operands' layouts."""
KEPT: Final = 1 << 14
Dtypes = tuple[torch.dtype | None, ...]
_found: Final[dict[tuple[object, ...], Dtypes | None]] = {}


def is_elementwise(func: torch._ops.OpOverload) -> bool:
    """Return True if an operator is elementwise, and gives a new tensor or the one that it writes to."""
    name = func._schema.name.removeprefix("aten::")
    packet = getattr(aten, name.removesuffix("_"), None)
    # operators that write to an operand may lack the tag that others have
    is_tagged = torch.Tag.pointwise in (*func.tags, *getattr(packet, func._overloadname, func).tags)
    if func.namespace != "aten" or func in PACKED or not (is_tagged or packet in UNTAGGED):
        return False
    results = func._schema.returns
    given = results[0].alias_info if [str(each.type) for each in results] == ["Tensor"] else results
    return given is None or name.endswith("_") and func._schema.is_mutable


def elementwise(func: torch._ops.OpOverload, recorder: Trace, *args: object, **kwargs: object) -> object:
    """The metadata of an elementwise operator's result; the index of the operand that it writes to.

    Raises:
        RuntimeError: the operands do not broadcast to the one that is written to, or no kernel takes their dtypes:
            torch's meta functions do not check.
    """
    operands = [metadata_of(recorder, value) for value in (*args, *kwargs.values()) if isinstance(value, torch.Tensor)]
    ranked = [operand for operand in operands if operand.sizes] or operands
    if not ranked or any(each.device != ranked[0].device for each in ranked):
        return NotImplemented
    env, sizes = recorder.env, common_sizes(recorder.env, [each.shape for each in ranked])
    if func._schema.is_mutable:
        target = operands[0].shape
        if len(sizes) != len(target) or not all(a is b or env.guard_or_true(a == b) for a, b in zip(sizes, target)):
            raise RuntimeError(f"{func}: operands that broadcast to {tuple(sizes)} do not fit {tuple(target)}")
    # kernels do not take all dtypes, but do not run without elements
    hints = [size if isinstance(size, int) else env.hint(size) for size in sizes]
    dtypes = dtypes_of(func, args, kwargs, on_cpu=ranked[0].device.type == "cpu" and all(hints))
    if dtypes is None:
        return NotImplemented
    if func._schema.is_mutable:
        return 0
    if all(is_by_row(each.shape) for each in ranked):
        return packed(recorder, sizes, dtypes[0], ranked[0].device)
    ordered, dtype = ranked if func not in REVERSED else ranked[::-1], dtypes[0]
    assert dtype is not None
    is_alike = all(each.dtype is ranked[0].dtype and not is_ambiguously_channels_last(each.shape) for each in ranked)
    is_condition = func is aten.where.self and all(each is operands[0] for each in ranked)
    if is_alike:
        is_converted = not is_condition and dtype not in (ranked[0].dtype, torch.bool)
        # kernels compute with copies of another dtype, and those of expanded operands are not expanded
        read = [
            copied(recorder, each, each.dtype, each.device) if is_converted and is_expanded(each.shape) else each
            for each in ordered
        ]
        strides = None if None in read else elementwise_strides(env, [each.shape for each in read if each], sizes)
        if strides is not None:
            return recorder.kinds.laid(sizes, strides, 0, dtype, ranked[0].device)
    return by_comparison(recorder, ordered, sizes, dtype, promoted=func is not aten.where.self)


def copied(recorder: Trace, operand: Metadata, dtype: torch.dtype, device: torch.device) -> Metadata | None:
    """The metadata of a copy, without gaps and expanded axes; None if its strides depend on sizes."""
    strides = elementwise_strides(recorder.env, [operand.shape], operand.shape)
    return None if strides is None else recorder.kinds.laid(operand.shape, strides, 0, dtype, device)


def by_comparison(
    recorder: Trace, operands: Sequence[Metadata], sizes: Sequence[Int], dtype: torch.dtype, *, promoted: bool
) -> Metadata:
    """The metadata of a result by torch's own comparison of the operands' strides, with guards; operands of other
    dtypes are `promoted` before."""
    made, tensors = packed(recorder, sizes, dtype, operands[0].device), [each.on_meta() for each in operands]
    common = reduce(torch.promote_types, [each.dtype for each in operands])
    if promoted and not (common.is_complex and not dtype.is_complex):
        tensors = [each.to(common if dtype is torch.bool else dtype) for each in tensors]
    strides = compute_elementwise_output_strides(*[each.expand(made.sizes) for each in tensors])
    return recorder.kinds.of(made.sizes, strides, 0, dtype, made.device)


# ---------------------------------------------------------------------- copies


@kind_rule(
    aten.clone.default, aten._to_copy.default, aten.ones_like.default, aten.zeros_like.default, aten.empty_like.default,
    aten.rand_like.default, aten.randn_like.default, aten.full_like.default,
)  # fmt: skip
def like(
    recorder: Trace, self: torch.Tensor, *values: object, dtype: torch.dtype | None = None,
    device: torch.device | None = None, memory_format: torch.memory_format | None = None, **options: object,
) -> object:  # fmt: skip
    """A copy with another dtype or device, or a new tensor like this one, without its gaps and expanded axes."""
    base = metadata_of(recorder, self)
    dtype, device = base.dtype if dtype is None else dtype, base.device if device is None else torch.device(device)
    is_dense = options.get("layout") in (None, torch.strided) and not options.get("pin_memory")
    if not is_dense or device.type != "cpu" and device.index is None:
        return NotImplemented
    if memory_format is torch.contiguous_format:
        return packed(recorder, base.shape, dtype, device)
    is_kept = memory_format in (None, torch.preserve_format)
    made = copied(recorder, base, dtype, device) if is_kept else None
    return NotImplemented if made is None else made


# ---------------------------------------------------------------------- dtypes


def dtypes_of(
    func: torch._ops.OpOverload, args: Sequence[object], kwargs: Mapping[str, object], *, on_cpu: bool = False
) -> Dtypes | None:
    """The dtypes of the results; None if one-element tensors cannot determine them. On the CPU, raises the operator's
    error instead."""
    key: list[object] = [func, torch.get_default_dtype(), on_cpu]
    _describe(key, args)
    for name, value in kwargs.items():
        key.append(name)
        _describe(key, value)
    whole = tuple(key)
    try:
        if whole in _found:
            return _found[whole]
    except TypeError:
        return None
    if len(_found) >= KEPT:
        _found.clear()
    found = _found[whole] = _asked(func, args, kwargs, on_cpu)
    return found


def _describe(key: list[object], value: Any) -> None:
    kind = type(value)
    if isinstance(value, torch.Tensor):
        key.append((value.dtype, value.dim()))
    elif kind is list or kind is tuple:
        key.append(len(value))
        for item in value:
            _describe(key, item)
    elif kind is torch.SymInt or kind is torch.SymFloat or kind is torch.SymBool:
        key.append(kind)
    else:
        key.append(kind)
        key.append(value)


def _asked(
    func: torch._ops.OpOverload, args: Sequence[object], kwargs: Mapping[str, object], on_cpu: bool
) -> Dtypes | None:
    device = torch.device("cpu" if on_cpu else "meta")
    with torch._C._DisablePythonDispatcher(), torch._C._DisableAutocast():
        try:
            given = [_tiny(arg, device) for arg in args]
            made = func(*given, **{name: _tiny(value, device) for name, value in kwargs.items()})
        except (RuntimeError, TypeError, ValueError, IndexError):
            if on_cpu:
                raise
            return None
    if isinstance(made, torch.Tensor):
        return (made.dtype,)
    return tuple([one.dtype if isinstance(one, torch.Tensor) else None for one in made])


def _tiny(value: object, device: torch.device) -> object:
    if isinstance(value, torch.Tensor):
        return torch.ones((1,) * value.dim(), dtype=value.dtype, device=device)
    if isinstance(value, list | tuple):
        return [_tiny(item, device) for item in value]
    if isinstance(value, torch.SymInt):
        return 1
    if isinstance(value, torch.SymFloat):
        return 1.0
    if isinstance(value, torch.device):
        return device
    return True if isinstance(value, torch.SymBool) else value
