"""A sample of the database as a function of its tensors, and tensors like the sample's at other sizes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import islice
from typing import Any, Final

import torch
from torch.utils._pytree import tree_flatten, tree_leaves, tree_unflatten

SEED: Final = 42
"""The seed of the database itself, some of whose operators set it when they run."""
PLAIN: Final = (torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.complex128)


@cache
def database(dtype: str = "float32") -> dict[str, Any]:
    """The operators with CPU samples of this dtype, by name and variant."""
    from torch.testing._internal import common_methods_invocations
    from torch.testing._internal.common_methods_invocations import op_db

    # whoever compares seeds before the call: a program that seeds is no graph
    common_methods_invocations.wrapper_set_seed = lambda operator, *args, **kwargs: operator(*args, **kwargs)

    named = {f"{op.name}{'.' if op.variant_test_name else ''}{op.variant_test_name}": op for op in op_db}
    return {name: op for name, op in named.items() if getattr(torch, dtype) in op.supported_dtypes("cpu")}


class Program:
    """An operator on the arguments of a sample, as a function of the tensors among them.

    With `backward` it gives the gradients besides: of the sum of all differentiable outputs, to all inputs that
    require one.
    """

    def __init__(self, operator: Any, sample: Any, *, backward: bool) -> None:
        self._operator = operator
        self._finish = sample.output_process_fn_grad
        self.backward = backward
        self._leaves, self._structure = tree_flatten((sample.input, sample.args, sample.kwargs))
        self.tensors = [leaf for leaf in self._leaves if isinstance(leaf, torch.Tensor)]

    def __call__(self, *tensors: torch.Tensor) -> object:
        each = iter(tensors)
        leaves = [next(each) if isinstance(leaf, torch.Tensor) else leaf for leaf in self._leaves]
        first, args, kwargs = tree_unflatten(leaves, self._structure)
        output = self._operator.op(first, *args, **kwargs)
        if not self.backward:
            return output
        outputs = [
            leaf for leaf in tree_leaves(self._finish(output)) if isinstance(leaf, torch.Tensor) and leaf.requires_grad
        ]
        if not outputs:
            raise NotDifferentiable
        total = sum([(leaf.real.sum() + leaf.imag.sum()) if leaf.is_complex() else leaf.sum() for leaf in outputs])
        wanted = [tensor for tensor in tensors if tensor.requires_grad]
        return output, torch.autograd.grad(total, wanted, allow_unused=True)


class NotDifferentiable(Exception):
    """No output of a program has a gradient."""


def programs(name: str, count: int, *, backward: bool = False, dtype: str = "float32") -> list[Program]:
    """The first samples of an operator."""
    operator = database(dtype)[name]
    if backward and not operator.supports_autograd:
        return []
    torch.manual_seed(SEED)
    samples = islice(operator.sample_inputs("cpu", getattr(torch, dtype), requires_grad=backward), count)
    return [Program(operator, sample, backward=backward) for sample in samples]


def copied(tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """The same tensors in memory of their own, with the same strides."""
    return [_like(tensor, tensor.detach()) if tensor.layout is torch.strided else tensor for tensor in tensors]


def _like(tensor: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    made = spread(values.resolve_conj().resolve_neg(), tensor)
    return made.requires_grad_(tensor.requires_grad)


def nudged(tensors: Sequence[torch.Tensor], seed: int) -> list[torch.Tensor]:
    """The same tensors, their elements changed by a rounding."""
    generator = torch.Generator().manual_seed(seed)
    found = []
    for tensor in tensors:
        values = tensor.detach()
        if tensor.dtype in PLAIN:
            signs = torch.randint(-1, 2, tensor.shape, generator=generator)
            values = values * (1 + signs.to(values.real.dtype) * torch.finfo(tensor.dtype).eps)
        found.append(_like(tensor, values))
    return found


def spread(values: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    """Values in memory arranged as another tensor is: its order of axes, its gaps, its repetitions."""
    if like.is_contiguous():
        return values.clone(memory_format=torch.contiguous_format)
    strides = [0] * like.dim()
    step = extent = 1
    for axis in sorted(range(like.dim()), key=lambda axis: (like.stride(axis), -axis)):
        if like.stride(axis) == 0 and like.shape[axis] != 1:
            continue
        gap = max(like.stride(axis) // max(extent, 1), 1)
        strides[axis] = step * gap
        step *= max(values.shape[axis], 1) * gap
        extent = like.stride(axis) * max(like.shape[axis], 1)
    repeated = [axis for axis in range(like.dim()) if strides[axis] == 0]
    length = 1 + sum([stride * max(size - 1, 0) for stride, size in zip(strides, values.shape)])
    made = torch.zeros(length, dtype=values.dtype).as_strided(values.shape, strides)
    for axis in repeated:
        values = values.narrow(axis, 0, min(1, values.shape[axis]))
    made.copy_(values) if not repeated else _first(made, repeated).copy_(values)
    return made


def _first(tensor: torch.Tensor, axes: Sequence[int]) -> torch.Tensor:
    for axis in axes:
        tensor = tensor.narrow(axis, 0, min(1, tensor.shape[axis]))
    return tensor


def resampled(tensor: torch.Tensor, sizes: Sequence[int], most: int | None, generator: torch.Generator) -> torch.Tensor:
    """A tensor like this one with other sizes: the same range of values, sorted or symmetric where it is.

    Numbers that may be indices are less than `most`.
    """
    if tuple(sizes) == tuple(tensor.shape) and (most is None or tensor.dtype in PLAIN or tensor.dtype is torch.bool):
        return _like(tensor, tensor.detach())
    old = tensor.detach().resolve_conj().resolve_neg().contiguous()
    flat = old.reshape(-1)
    count = 1
    for size in sizes:
        count *= size
    if not flat.numel():
        values = torch.zeros(count, dtype=tensor.dtype)
    else:
        values = flat[torch.randint(len(flat), (count,), generator=generator)]
        if tensor.dtype in PLAIN and bool(torch.isfinite(flat).all()) and bool((flat != flat.real.round()).any()):
            others = flat[torch.randint(len(flat), (count,), generator=generator)]
            part = torch.rand(count, generator=generator).to(values.real.dtype)
            values = values + (others - values) * part
        elif tensor.dtype not in PLAIN and tensor.dtype is not torch.bool and most is not None:
            if bool((flat >= 0).all()):
                values = values.clamp(max=max(most - 1, 0))
    values = values.reshape(tuple(sizes))
    return _like(tensor, _shaped_like(old, values))


def _shaped_like(old: torch.Tensor, new: torch.Tensor) -> torch.Tensor:
    """Give a new tensor the properties that an operator may rely on: order along the last axis, definite or triangular
    matrices."""
    if old.dim() and old.shape[-1] > 1 and not old.is_complex() and old.dtype is not torch.bool:
        if bool((old.diff(dim=-1) >= 0).all()) and bool((old.diff(dim=-1) > 0).any()):
            return new.sort(dim=-1).values
    if old.dim() < 2 or old.shape[-1] != old.shape[-2] or old.shape[-1] < 2 or old.dtype not in PLAIN:
        return new
    if new.shape[-1] != new.shape[-2]:
        return new
    if bool(torch.allclose(old, old.mH, atol=1e-5)):
        identity = torch.eye(new.shape[-1], dtype=new.dtype)
        return new @ new.mH / new.shape[-1] + identity
    shift = torch.eye(new.shape[-1], dtype=new.dtype) * new.shape[-1]
    if bool((old.tril() == old).all()):
        return new.tril() + shift
    if bool((old.triu() == old).all()):
        return new.triu() + shift
    return new
