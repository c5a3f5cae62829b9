"""The engine as torch's ShapeEnv: Dynamo, export and make_fx ask it, for any backend.

    >>> import torch
    >>> from frontends.pytorch.shape_env import installed
    >>> with installed():
    ...     f = torch.compile(lambda x: x.view(-1, 4) if x.shape[0] % 4 == 0 else x, backend="eager", dynamic=True)
    ...     out = f(torch.ones(8))
    >>> out.shape
    torch.Size([2, 4])
"""

from frontends.pytorch.shape_env.adapter import EngineShapeEnv
from frontends.pytorch.shape_env.comparing import Comparison
from frontends.pytorch.shape_env.errors import SpecializedMark, UndecidedBranch
from frontends.pytorch.shape_env.installing import installed
from frontends.pytorch.shape_env.marking import Policies

__all__ = ["Comparison", "EngineShapeEnv", "Policies", "SpecializedMark", "UndecidedBranch", "installed"]
