"""Environments of torch's with sizes of tensors, for tests."""

from __future__ import annotations

from typing import Any

import torch
from torch._dynamo.source import ConstantSource
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental import symbolic_shapes
from torch.fx.experimental.symbolic_shapes import DimDynamic, StatelessSymbolicContext

from frontends.pytorch.shape_env.adapter import EngineShapeEnv


def sizes_of(environment: Any, *hints: int, name: str = "x") -> list[Any]:
    """The symbolic sizes of a tensor."""
    context = StatelessSymbolicContext(dynamic_sizes=[DimDynamic.DYNAMIC] * len(hints))
    mode = FakeTensorMode(shape_env=environment)
    return list(mode.from_tensor(torch.empty(hints), source=ConstantSource(name), symbolic_context=context).shape)


def number(environment: Any, value: float, name: str) -> Any:
    """A symbolic integer or float among the arguments."""
    source = ConstantSource(name)
    symbol = environment.create_unspecified_symbol(value, source, DimDynamic.DYNAMIC)
    if isinstance(value, float):
        return environment.create_symfloatnode(symbol, hint=value, source=source)
    return environment.create_symintnode(symbol, hint=value, source=source)


def made(**settings: Any) -> EngineShapeEnv:
    """An environment as torch makes it inside of a block."""
    found = symbolic_shapes.ShapeEnv(**settings)
    assert isinstance(found, EngineShapeEnv)
    return found


def guards(environment: EngineShapeEnv) -> list[str]:
    return [str(guard) for guard in environment.engine.guards()]
