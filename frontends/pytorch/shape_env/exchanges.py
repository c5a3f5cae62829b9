"""Data of other ranks is no constant: an exchange is never run while a program is captured.

    >>> import torch
    >>> from frontends.pytorch.shape_env.exchanges import is_exchange_of_constants
    >>> is_exchange_of_constants(torch.ops.aten.add.Tensor, (), {})
    False

Torch computes operators on constants, such as `torch.tensor([x.shape[0]])` with a constant size, while it captures. Of
a collective that would be an exchange which the other ranks don't expect, and the other ranks' numbers of one call as
constants of the graph.
"""

from __future__ import annotations

from typing import Any, Final

from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.utils import _pytree as pytree

from frontends.pytorch.recording.operations import EXCHANGES
from frontends.pytorch.shape_env.adapter import EngineShapeEnv

DISPATCH = FakeTensorMode._dispatch_impl


def is_exchange_of_constants(func: Any, args: Any, kwargs: Any) -> bool:
    """Return True if an operator exchanges a tensor whose numbers torch knows."""
    return getattr(func, "namespace", None) in EXCHANGES and bool(constants(args, kwargs))


def constants(args: Any, kwargs: Any) -> list[FakeTensor]:
    """The arguments whose numbers torch knows."""
    leaves = pytree.tree_leaves((args, kwargs))
    return [each for each in leaves if isinstance(each, FakeTensor) and each.constant is not None]


def dispatch(self: FakeTensorMode, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """Replacement of torch's `FakeTensorMode._dispatch_impl`: an exchange does not see the numbers of its arguments."""
    if not (isinstance(self.shape_env, EngineShapeEnv) and is_exchange_of_constants(func, args, kwargs)):
        return DISPATCH(self, func, types, args, kwargs)
    known = [(each, each.constant) for each in constants(args, kwargs)]
    for each, _ in known:
        each.constant = None
    try:
        return DISPATCH(self, func, types, args, kwargs)
    finally:
        if not func._schema.is_mutable:
            for each, constant in known:
                each.constant = constant


REPLACED: Final = ((FakeTensorMode, "_dispatch_impl", dispatch),)
