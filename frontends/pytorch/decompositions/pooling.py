"""Pooling operators as compositions of others.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> variant = trace(torch.nn.AdaptiveAvgPool2d(1), (torch.ones(2, 3, 4, 5),))
    >>> variant.guards, tuple(variant.graph(torch.ones(1, 1, 7, 1))[0].shape)
    ((), (1, 1, 1, 1))
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

import torch
from torch._C import DispatchKey

from frontends.pytorch.decompositions.registry import composite
from frontends.pytorch.meta_rules.layouts import is_packed
from frontends.pytorch.symbolic.tensor import Traced

aten: Final = torch.ops.aten
Tensor: TypeAlias = torch.Tensor


@composite(aten.max_pool1d.default)
def max_pool1d(
    self: Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0,),
    dilation: Sequence[int] = (1,),
    ceil_mode: bool = False,
) -> Tensor:
    """1-D max pooling as 2-D pooling over an axis of extent 1.

    Without gradients eager torch has a separate kernel with a contiguous result.
    """
    two = [(1, *stride) if stride else (1, *kernel_size), (0, *padding), (1, *dilation)]
    pooled = aten.max_pool2d_with_indices(self.unsqueeze(-2), (1, *kernel_size), *two, ceil_mode)[0].squeeze(-2)
    is_followed = torch.is_grad_enabled() and self.requires_grad
    return pooled if is_followed or self.device.type != "cpu" else pooled.contiguous()


def adaptive_average(operator: torch._ops.OpOverload, whole: torch._ops.OpOverload, axes: int) -> None:
    """Adaptive average pooling, a mean if there is one window, as in torch.

    A contiguous input's layout depends on no size.
    """

    def pool(self: Tensor, output_size: Sequence[int | torch.SymInt]) -> object:
        if any(type(size) is not int for size in output_size):
            return whole(self, output_size)
        if all(size == 1 for size in output_size) and type(self) is Traced and is_packed(self.metadata):
            return self.mean(list(range(-axes, 0)), keepdim=True)
        return operator._op_dk(DispatchKey.CompositeImplicitAutograd, self, output_size)

    composite(operator)(pool)


adaptive_average(aten.adaptive_avg_pool2d.default, aten._adaptive_avg_pool2d.default, 2)
adaptive_average(aten.adaptive_avg_pool3d.default, aten._adaptive_avg_pool3d.default, 3)
