"""A compiled function or module stands in the place of the original: whatever is asked of it or set reaches that."""

from __future__ import annotations

import copy
import functools
import inspect
import pickle
from collections.abc import Callable
from typing import Final

import pytest
import torch
from torch import nn

from frontends.pytorch import Compiled, compile
from frontends.pytorch.dynamo.program import Program

SIZES: Final = (3, 3, 5, 1)


class Net(nn.Module):
    """A network whose attributes are called as those of a compiled function."""

    fn = 3.0

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(4, 4)
        self.backend = 0.5
        self.history = [2.0]
        self.variants = nn.Linear(4, 4)
        self.enter = self._enter = 7.0
        self.scale = 1.0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        assert type(self) is Net
        own = self.fn * self.backend * self.history[0] * self.enter * self._enter
        return self.variants(self.inner(x)) * own * self.scale + self.report()

    def report(self) -> float:
        return 11.0

    def generate(self, x: torch.Tensor, *, steps: int = 2) -> torch.Tensor:
        for _ in range(steps):
            x = self(x)
        return x


def same(compiled: Callable[..., object], original: Callable[..., object]) -> None:
    """Results for several sizes, the first call and later ones."""
    for size in SIZES:
        x = torch.randn(size, 4)
        torch.testing.assert_close(compiled(x), original(x))


def test_what_is_set_is_the_modules() -> None:
    """An attribute set on the compiled module is set on the module: `compiled.scale = 3` changes its results."""
    net = Net()
    compiled = compile(net)
    same(compiled, net)
    compiled.scale = 3.0
    compiled.fn = 1.0
    compiled.variants = nn.Linear(4, 4, bias=False)
    compiled.extra = nn.Parameter(torch.ones(2))
    assert (net.scale, net.fn, Net.fn) == (3.0, 1.0, 3.0) and net.variants.bias is None
    assert "extra" in dict(net.named_parameters()) and "extra" in compiled.state_dict()
    same(compiled, net)
    del compiled.fn, compiled.extra
    assert net.fn == 3.0 and not hasattr(net, "extra") and not hasattr(compiled, "extra")
    same(compiled, net)
    with pytest.raises(AttributeError, match="'Net' object has no attribute 'nothing'"):
        compiled.nothing
    compiled.eval()
    assert not net.training and not compiled.training
    same(compiled, net)
    handle = compiled.register_forward_hook(lambda module, args, result: result + 1)
    same(compiled, net)
    handle.remove()
    assert compiled.half() is compiled and net.inner.weight.dtype is torch.float16
    assert compiled.float() is compiled
    same(compiled, net)


@pytest.mark.parametrize("container", [nn.Sequential, lambda *each: nn.ModuleList(each)])
def test_operators_of_containers(container: Callable[..., nn.Module]) -> None:
    """A compiled container has length, items and slices."""
    net = container(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))
    compiled = compile(net)
    assert len(compiled) == 3 and bool(compiled) and compiled[1] is net[1] and list(compiled) == list(net)
    assert type(compiled[:2]) is type(net) and net[0] in compiled
    compiled[1] = nn.Tanh()
    compiled.append(nn.Linear(2, 2))
    del compiled[0]
    assert [type(each) for each in net] == [nn.Tanh, nn.Linear, nn.Linear]
    if isinstance(net, nn.Sequential):
        for size in SIZES:
            torch.testing.assert_close(compiled(torch.ones(size, 4)), net(torch.ones(size, 4)))


def test_what_a_module_does_not_have() -> None:
    """A compiled module has no special methods that the module lacks."""
    compiled = compile(nn.Linear(4, 2))
    assert bool(compiled)
    for asked in (len, iter, lambda module: module[0], lambda module: module.__enter__()):
        with pytest.raises((TypeError, AttributeError)):
            asked(compiled)


def test_is_a_module_inside_of_another() -> None:
    """Parameters of a compiled layer have their names in the model that holds it."""

    def made(change: Callable[[nn.Module], nn.Module]) -> nn.Module:
        torch.manual_seed(0)
        model = nn.Module()
        model.first = change(nn.Linear(4, 4))
        model.rest = nn.ModuleList([change(nn.Sequential(nn.Linear(4, 2), nn.BatchNorm1d(2)))])
        return model

    plain, model = made(lambda layer: layer), made(compile)
    for listed in (nn.Module.named_parameters, nn.Module.named_buffers, nn.Module.named_modules):
        assert [name for name, _ in listed(model)] == [name for name, _ in listed(plain)]
    assert list(model.state_dict()) == list(plain.state_dict()) and repr(model) == repr(plain)
    assert isinstance(model.first, nn.Module) and isinstance(model.first, nn.Linear)
    assert isinstance(model.first, Compiled) and not isinstance(model.first, nn.ReLU)
    model.load_state_dict({name: value + 1 for name, value in plain.state_dict().items()})
    torch.testing.assert_close(model.first.weight, plain.first.weight + 1)
    model.eval()
    assert not model.rest[0][1].training
    assert model.double().first.weight.dtype is torch.float64
    again = copy.deepcopy(model)
    assert isinstance(again.first, Compiled) and again.first.weight is not model.first.weight
    assert isinstance(pickle.loads(pickle.dumps(model)).first, Compiled)


def test_a_compiled_layer_in_a_compiled_model() -> None:
    """A model notices a change of a layer that is itself compiled."""
    model = nn.Sequential(compile(nn.Linear(4, 4)), nn.ReLU())
    compiled = compile(model)
    same(compiled, model)
    assert compiled.fallbacks == []
    model[0].bias = None
    same(compiled, model)
    model[0] = compile(nn.Linear(4, 3))
    same(compiled, model)


@compile
def scaled(x: torch.Tensor, factor: float = 2.0, *, shift: int = 1) -> torch.Tensor:
    """Scaled."""
    return x * factor + shift


def test_functions_look_like_themselves() -> None:
    """A compiled function has its own name, parameters and source."""
    original = scaled.__wrapped__
    assert inspect.isfunction(original) and inspect.signature(scaled) == inspect.signature(original)
    for name in ("__name__", "__qualname__", "__doc__", "__module__", "__defaults__", "__kwdefaults__", "__code__"):
        assert getattr(scaled, name) == getattr(original, name), name
    assert "x * factor" in inspect.getsource(scaled) and scaled.__annotations__ is original.__annotations__
    scaled.tag = 3
    assert original.tag == 3 and vars(scaled) == {"tag": 3}
    del scaled.tag
    assert vars(original) == {}

    @functools.wraps(scaled)
    def outer(*args: object, **kwargs: object) -> object:
        return scaled(*args, **kwargs)

    assert outer.__wrapped__ is scaled and outer.__name__ == "scaled" and set(vars(outer)) == {"__wrapped__"}
    assert inspect.signature(outer) == inspect.signature(original)
    assert compile(scaled, dynamic=True).__wrapped__ is original
    same(outer, original)


def test_names_of_a_function_are_its_own() -> None:
    """A function's attributes are its own, not those of the compilation."""

    def counted(x: torch.Tensor) -> torch.Tensor:
        return x * counted.variants + counted.history

    counted.variants, counted.history = 2, 3.0
    compiled = compile(counted)
    same(compiled, counted)
    compiled.history = 4.0
    assert counted.history == 4.0
    same(compiled, counted)
    assert compiled.variants == 2 and len(compiled._program.variants) >= 2


def test_lazy_parameters() -> None:
    """The first call, which makes the parameters, is an error inside torch, and Python runs all later ones."""
    for make in (lambda: nn.LazyLinear(3), lambda: nn.Sequential(nn.LazyLinear(3), nn.LazyBatchNorm1d())):
        net = make().eval()
        compiled = compile(net, dynamic=True, fullgraph=True)
        same(compiled, net)
        assert compiled._program.variants and not compiled._program.fallbacks


class Layer:
    factor = 7.0

    def __init__(self, factor: float) -> None:
        self.factor = factor

    @compile
    def method(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.factor

    @compile
    @staticmethod
    def static_inside(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    @staticmethod
    @compile
    def static_outside(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    @compile
    @classmethod
    def of_class_inside(cls, x: torch.Tensor) -> torch.Tensor:
        return x * cls.factor

    @classmethod
    @compile(dynamic=True)
    def of_class_outside(cls, x: torch.Tensor) -> torch.Tensor:
        return x * cls.factor

    layer = compile(nn.ReLU())
    function = compile(torch.relu)


@pytest.mark.parametrize("of", [lambda: Layer(2.0), lambda: Layer], ids=["instance", "class"])
def test_methods(of: Callable[[], object]) -> None:
    """A compiled method, static method or class method receives the right `self`, or none."""
    owner = of()
    for _ in range(2):
        for size in SIZES:
            x = torch.randn(size)
            for name in ("static_inside", "static_outside"):
                torch.testing.assert_close(getattr(owner, name)(x), x + 1)
            for name in ("of_class_inside", "of_class_outside"):
                torch.testing.assert_close(getattr(owner, name)(x), x * 7)
            torch.testing.assert_close(owner.layer(x), torch.relu(x))
            torch.testing.assert_close(owner.function(x), torch.relu(x))


def test_methods_of_several_instances() -> None:
    """A compiled method reads its own instance's attributes."""
    first, second = Layer(2.0), Layer(3.0)
    for size in SIZES:
        x = torch.randn(size)
        for each in (first, second):
            torch.testing.assert_close(each.method(x), x * each.factor)
    first.factor = 5.0
    torch.testing.assert_close(first.method(torch.ones(2)), torch.full((2,), 5.0))
    assert first.method.__self__ is first and str(inspect.signature(first.method)).startswith("(x:")


def test_modules_of_one_class_have_graphs_of_their_own() -> None:
    """Programs do not use up each other's entries, which torch counts by code."""
    compiled = [compile(torch.nn.Linear(2, width), backend="eager", fullgraph=True) for width in range(1, 6)]
    with torch._dynamo.config.patch(accumulated_recompile_limit=2):
        for f in compiled:
            assert f(torch.ones(3, 2)).shape == (3, f.out_features)
    assert [len(f.variants) for f in compiled] == [1] * 5


class Scales:
    def __call__(self, x, factor=2.0):
        return torch.relu(x * factor)


class AnyAttribute(Scales):
    def __getattr__(self, name):
        return 5


class NoAttribute(Scales):
    def __getattr__(self, name):
        raise ValueError(name)


CALLABLES = {
    "module of torch": lambda: torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU()),
    "function of torch": lambda: torch.nn.functional.relu,
    "builtin": lambda: torch.relu,
    "partial": lambda: functools.partial(lambda x, factor: x * factor, factor=3.0),
    "object": Scales,
    "object with any attribute": AnyAttribute,
    "object whose attributes raise": NoAttribute,
    "method": lambda: Scales().__call__,
}


@pytest.mark.parametrize("make", CALLABLES.values(), ids=CALLABLES)
def test_callables_without_a_frame_of_their_own_are_called_directly(make, monkeypatch):
    """Torch's own modules and functions, objects and partials take the shortest route, too, with named arguments."""
    fn = make()
    compiled = compile(fn)
    for rows in (2, 4, 5):
        torch.testing.assert_close(compiled(torch.ones(rows, 4)), fn(torch.ones(rows, 4)))
    assert compiled._program.explain()
    # torch remembers which sizes of such a callable have varied
    assert all("L[" not in variant.cause for variant in compiled._program.variants)
    monkeypatch.setattr(Program, "missed", None)
    torch.testing.assert_close(compiled(torch.ones(7, 4)), fn(torch.ones(7, 4)))
