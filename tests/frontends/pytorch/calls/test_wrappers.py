"""Tensors of wrapper subclasses as arguments and results, and classes that a graph can not take."""

from __future__ import annotations

import pytest
import torch
from torch.utils._pytree import tree_map

from frontends.pytorch import compile, trace
from frontends.pytorch.errors import GraphBreak, Unsupported


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
    weight = torch.nn.Parameter(torch.ones(3))
    with pytest.raises(Unsupported, match="has a gradient"):
        trace(lambda x: -Scaled(x, 2.0).requires_grad_(), (torch.randn(3),))
    with pytest.raises(Unsupported, match="has a gradient"):
        compile(lambda x: x * weight, fullgraph=True)(Scaled(torch.randn(3), 1.0).requires_grad_())


def test_compiled() -> None:
    """Fails when a compiled function does not take a wrapper, or one variant is for others too."""

    def program(x, y):
        return {"sum": (x + y).sum(0), "neg": -x, "nested": [x.t()]}

    f = compile(program, dynamic=True, fullgraph=True)
    for rows, columns, scale in ((3, 4, 2.0), (5, 2, 2.0), (1, 7, 2.0)):
        x, y = Scaled(torch.randn(rows, columns), scale), torch.randn(rows, columns)
        for found in (f(x, y), f(y=y, x=x)):
            assert type(found["neg"]) is Scaled and found["neg"].scale == scale
            torch.testing.assert_close(found["neg"].inner, -x.inner)
            torch.testing.assert_close(found["nested"][0].inner, x.inner.t())
            torch.testing.assert_close(found["sum"], program(x, y)["sum"])
    assert len(f.variants) == 1
    x, y = Scaled(torch.randn(3, 4), 5.0), torch.randn(3, 4)
    torch.testing.assert_close(f(x, y)["sum"], program(x, y)["sum"])
    torch.testing.assert_close(f(x.inner, y)["sum"], program(x.inner, y)["sum"])
    assert len(f.variants) == 3
    assert f(Scaled(torch.randn(3, 4), 5.0), y)["neg"].scale == 5.0 and len(f.variants) == 3


def test_a_wrapper_in_a_wrapper() -> None:
    """Fails when only the outermost one is taken apart."""
    f = compile(lambda x: -x, dynamic=True, fullgraph=True)
    for size in (3, 5):
        x = Scaled(Scaled(torch.randn(size), 2.0), 3.0)
        found = f(x)
        assert type(found) is type(found.inner) is Scaled and (found.scale, found.inner.scale) == (3.0, 2.0)
        torch.testing.assert_close(found.inner.inner, -x.inner.inner)
    assert len(f.variants) == 1


def test_what_is_changed_in_place() -> None:
    """Fails when a change of what a wrapper holds is lost."""

    def filled(x):
        x.inner.add_(1)
        return x.inner * 2

    def replaced(x):
        x.inner = x.inner * 2
        return x.inner.sum()

    for program in (filled, replaced):
        f = compile(program, dynamic=True)
        for size in (3, 5):
            x, y = [Scaled(torch.arange(float(size)), 2.0) for _ in range(2)]
            torch.testing.assert_close(f(x), program(y))
            torch.testing.assert_close(x.inner, y.inner)
    with pytest.raises(GraphBreak, match="among its arguments"):
        trace(replaced, (Scaled(torch.randn(3), 2.0),))
