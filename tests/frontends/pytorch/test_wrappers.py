"""Tensors of wrapper subclasses as arguments and results, and classes that a graph can not take."""

from __future__ import annotations

import pytest
import torch
from torch.utils._pytree import tree_map

from frontends.pytorch import compile, trace
from frontends.pytorch.errors import Unsupported


class Scaled(torch.Tensor):
    """A tensor that is kept as another one times a number."""

    @staticmethod
    def __new__(cls, inner, scale):
        return torch.Tensor._make_wrapper_subclass(
            cls, inner.shape, strides=inner.stride(), dtype=inner.dtype, device=inner.device
        )

    def __init__(self, inner, scale):
        self.inner = inner
        self.scale = scale

    def __tensor_flatten__(self):
        return ["inner"], self.scale

    @staticmethod
    def __tensor_unflatten__(tensors, scale, outer_size, outer_stride):
        return Scaled(tensors["inner"], scale)

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        if func in (torch.ops.aten.neg.default, torch.ops.aten.t.default, torch.ops.aten.view.default):
            return Scaled(func(args[0].inner, *args[1:]), args[0].scale)
        args, kwargs = tree_map(lambda x: x.inner * x.scale if isinstance(x, Scaled) else x, (args, kwargs or {}))
        return func(*args, **kwargs)


class Pair(Scaled):
    """A tensor of which no part has its sizes."""

    @staticmethod
    def __new__(cls, inner, scale):
        return torch.Tensor._make_wrapper_subclass(cls, (2, *inner.shape), dtype=inner.dtype)


class Loud(torch.Tensor):
    """A class that torch can not take apart."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return super().__torch_function__(func, types, args, kwargs or {})


def inner_of(value):
    return value.inner if isinstance(value, Scaled) else value


@pytest.mark.parametrize("sizes", [(3, 4), (6, 2)])
def test_argument_and_result(sizes: tuple[int, ...]) -> None:
    """Fails when the class's own operators are passed by, or its inner sizes are numbers."""

    def program(x, y):
        return (x + y).sum(0), -x, (x.t(), {"view": x.view(-1)})

    variant = trace(program, (Scaled(torch.randn(3, 4), 2.0), torch.randn(3, 4)))
    x, y = Scaled(torch.randn(*sizes), 2.0), torch.randn(*sizes)
    got = variant.assembled(variant.graph(x.inner, y))
    expected = program(x, y)
    assert isinstance(got[1], Scaled) and isinstance(got[2][0], Scaled) and got[1].scale == 2.0
    assert got[2][1]["view"].shape == expected[2][1]["view"].shape
    for one, other in zip(torch.utils._pytree.tree_leaves(got), torch.utils._pytree.tree_leaves(expected)):
        torch.testing.assert_close(inner_of(one), inner_of(other))
    assert all("inner" not in str(guard) or "==" in str(guard) for guard in variant.guards)


def test_plain_tensor_and_a_class_result() -> None:
    """Fails when a tensor of a class that is made inside does not come out."""
    variant = trace(lambda x: Scaled(x * 2, 3.0), (torch.randn(4),))
    got = variant.assembled(variant.graph(torch.ones(5)))
    assert isinstance(got, Scaled) and got.scale == 3.0
    torch.testing.assert_close(got.inner, torch.ones(5) * 2)


def test_refused() -> None:
    """Fails when a class whose behaviour a graph would lose is taken, or the message does not say what to do."""
    with pytest.raises(Unsupported, match="as_subclass"):
        trace(lambda x: x + 1, (torch.randn(3).as_subclass(Loud),))
    with pytest.raises(Unsupported, match="none of whose inner tensors"):
        trace(lambda x: x + 1, (Pair(torch.randn(3), 1.0),))
    with pytest.raises(Unsupported):
        compile(lambda x: x + 1, fullgraph=True)(Scaled(torch.randn(3), 1.0))
