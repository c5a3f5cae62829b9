"""What was saved, loaded where something else holds than did: refused, or right. The graph of another model never runs.

Each case saves one model (or function), changes what it is, or what the process is, and loads. Where that is refused,
the error is ours; where it is not, results are those of eager torch as things are then, and what holds there is what
later calls are compared with.
"""

from __future__ import annotations

import collections
import contextlib
import os
from collections.abc import Callable, MutableMapping
from pathlib import Path

import pytest
import torch
from torch import nn

from backends.cpu.compiler import assume_gnu
from frontends.pytorch import compile, load
from frontends.pytorch.errors import ConstraintViolation, WrongArtifact
from shapes.guards import toolchain
from tests.frontends.pytorch.planted_operators import planted, shifted

SETTINGS = {"factor": 2.0}
TABLE = [1.0, 2.0]


def helped(x: torch.Tensor) -> torch.Tensor:
    return x / (1 + x * x)


def helped_otherwise(x: torch.Tensor) -> torch.Tensor:
    return x / (2 + x * x)


class Config:
    def __init__(self) -> None:
        self.eps, self.heads, self.bias, self.kind = 1e-3, 2, True, "relu"
        self.scales = [0.5, 2.0]
        self.nested = {"inner": {"power": 2}}


class Part(nn.Module):
    offset = 0.5

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.arange(16.0).reshape(4, 4) / 16)

    @property
    def shift(self) -> float:
        return 0.25

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x @ self.weight + self.offset + self.shift


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.config = Config()
        self.first, self.second = Part(), Part()
        self.act = nn.ReLU()
        self.register_buffer("steps", torch.tensor(3))
        self.register_buffer("mask", torch.tensor([1.0, 0.0, 1.0, 1.0]))
        self.queue = collections.deque([1.0, 2.0])
        self.dropout = nn.Dropout(0.5)
        self.limits = {1, 2}

    def forward(self, x: torch.Tensor, power: int = 1) -> torch.Tensor:
        config = self.config
        y = self.act(self.first(x)) + self.second(x) * SETTINGS["factor"]
        y = y.view(y.shape[0], config.heads, -1).sum(1) if config.bias else y.view(y.shape[0], config.heads, -1)[:, 0]
        for scale in config.scales:
            y = y * scale + config.eps
        y = y ** config.nested["inner"]["power"] + sum(self.queue) + len(self.limits) + TABLE[0]
        if os.environ.get("MODEL_MODE") == "other":
            y = y - 1
        if config.kind == "relu":
            y = torch.relu(y)
        return self.dropout(helped(y)) + self.mask[: y.shape[1]] + power


def untied(model: Model) -> None:
    """As it is."""


def tied(model: Model) -> None:
    model.second.weight = model.first.weight


def strided(model: Model) -> None:
    model.first.weight = nn.Parameter(model.first.weight.detach().t().contiguous().t())


def viewed(model: Model) -> None:
    memory = torch.zeros(40)
    model.first.weight = nn.Parameter(memory[3:19].view(4, 4).copy_(model.first.weight.detach()))
    model.second.weight = nn.Parameter(memory[11:27].view(4, 4))


def with_double_weights(model: Model) -> None:
    model.first.weight = nn.Parameter(model.first.weight.detach().double())


def with_frozen_weights(model: Model) -> None:
    model.first.weight.requires_grad_(False)


def with_other_shapes(model: Model) -> None:
    model.first.weight = nn.Parameter(torch.ones(4, 1))


def with_other_values(model: Model) -> None:
    with torch.no_grad():
        model.first.weight.neg_()


def with_a_subclass(model: Model) -> None:
    class Logged(torch.Tensor):
        pass

    model.mask = model.mask.as_subclass(Logged)


def with_negated_memory(model: Model) -> None:
    model.mask = torch._neg_view(-model.mask)


def setting(*path: str, value: object) -> Callable[[Model], None]:
    def change(model: Model) -> None:
        place = model
        for name in path[:-1]:
            place = place[name] if isinstance(place, dict) else getattr(place, name)
        if isinstance(place, dict):
            place[path[-1]] = value
        else:
            setattr(place, path[-1], value)

    return change


def with_an_own_forward(model: Model) -> None:
    model.first.forward = lambda x: x * 3


def with_a_hook(model: Model) -> None:
    model.first.register_forward_hook(lambda module, args, out: out * 2)


def with_a_hook_before(model: Model) -> None:
    model.second.register_forward_pre_hook(lambda module, args: (args[0] + 1,))


def with_a_hook_of_gradients(model: Model) -> None:
    model.first.weight.register_hook(lambda gradient: gradient * 2)


def parametrized(model: Model) -> None:
    nn.utils.parametrize.register_parametrization(model.first, "weight", nn.Tanh())


def of_another_class(model: Model) -> None:
    class Part(globals()["Part"]):
        offset = 0.75

    Part.__qualname__ = "Part"
    model.first.__class__ = Part


def exchanged(model: Model) -> None:
    model.first, model.second = model.second, model.first
    with torch.no_grad():
        model.first.weight.add_(1)


MODELS: dict[str, Callable[[Model], None]] = {
    "the same": untied,
    "tied weights": tied,
    "other strides": strided,
    "weights in the same memory": viewed,
    "another dtype": with_double_weights,
    "frozen": with_frozen_weights,
    "other shapes": with_other_shapes,
    "other values": with_other_values,
    "a buffer of a subclass": with_a_subclass,
    "a buffer marked as negative": with_negated_memory,
    "a float of the configuration": setting("config", "eps", value=0.5),
    "an integer of the configuration": setting("config", "heads", value=4),
    "a truth of the configuration": setting("config", "bias", value=False),
    "a text of the configuration": setting("config", "kind", value="none"),
    "a list of the configuration": setting("config", "scales", value=[0.5, 3.0]),
    "more in a list": setting("config", "scales", value=[0.5, 2.0, 2.0]),
    "deep in the configuration": setting("config", "nested", "inner", "power", value=3),
    "1 in the place of 1.0": setting("config", "scales", value=[0.5, 2]),
    "a queue": setting("queue", value=collections.deque([1.0, 4.0])),
    "a set": setting("limits", value={1, 2, 3}),
    "another activation": setting("act", value=nn.Tanh()),
    "training": setting("dropout", "training", value=True),
    "another probability": setting("dropout", "p", value=0.25),
    "a forward of its own": with_an_own_forward,
    "a hook": with_a_hook,
    "a hook before": with_a_hook_before,
    "a hook of gradients": with_a_hook_of_gradients,
    "a parametrization": parametrized,
    "a class of the same name": of_another_class,
    "parts exchanged": exchanged,
    "an attribute of the instance": setting("first", "offset", value=1.5),
}


@pytest.fixture(autouse=True)
def nothing_stays():
    """No other test of the process is to be given libraries that one of these has loaded."""
    yield
    toolchain.withdraw([*toolchain._supplied])
    assume_gnu(None)


@pytest.fixture(scope="module", params=["eager", "cpu"])
def saved(request, tmp_path_factory) -> Path:
    """The model for evaluation, with gradients and without."""
    path = tmp_path_factory.mktemp("elsewhere") / request.param
    compiled = compile(Model().eval(), backend=request.param, dynamic=True)
    compiled(given(3))
    with torch.no_grad():
        compiled(given(3))
    compiled.save(path)
    return path


def given(rows: int) -> torch.Tensor:
    return torch.linspace(-1, 1, rows * 4, dtype=torch.float32).reshape(rows, 4)


def seen(run: Callable[..., torch.Tensor], model: Model, rows: int) -> list[torch.Tensor | None]:
    torch.manual_seed(0)
    model.zero_grad()
    found = run(given(rows))
    if found.requires_grad:
        found.sum().backward()
    return [found.detach(), *[each.grad for each in model.parameters()]]


def refused_or_right(path: Path, model: Model) -> bool:
    """Whether it is right; False where it is refused, by an error of ours that says so."""
    try:
        loaded = load(path, model)
    except (WrongArtifact, ConstraintViolation) as error:
        assert "fix:" in str(error)
        return False
    for rows in (3, 5, 1):
        for gradients in (True, False):
            with torch.set_grad_enabled(gradients):
                torch.testing.assert_close(seen(loaded, model, rows), seen(model, model, rows))
    return True


RIGHT = frozenset({"the same", "other values", "parts exchanged", "a hook of gradients"})
"""What is no other program: the graph is the same, or is that of the one that is loaded."""


@pytest.mark.parametrize("kind", MODELS)
def test_another_model(kind: str, saved: Path) -> None:
    """If it fails, what was saved of one model runs for another; or one that is the same is refused."""
    model = Model().eval()
    MODELS[kind](model)
    is_right = refused_or_right(saved, model)
    assert is_right or kind not in RIGHT


# ---------------------------------------------------------------------- another process


@contextlib.contextmanager
def set_to(get: Callable[[], object], put: Callable[[object], object], value: object):
    before = get()
    put(value)
    try:
        yield
    finally:
        put(before)


@contextlib.contextmanager
def hooked_everywhere():
    hook = nn.modules.module.register_module_forward_hook(
        lambda module, args, out: out * 2 if type(module) is Part else out
    )
    try:
        yield
    finally:
        hook.remove()


def patched(target: object, name: str, value: object):
    patch = pytest.MonkeyPatch.context()

    @contextlib.contextmanager
    def context():
        with patch as patcher:
            (patcher.setitem if isinstance(target, MutableMapping) else patcher.setattr)(target, name, value)
            yield

    return context()


@contextlib.contextmanager
def with_defaults(function: Callable[..., object], *values: object):
    before = function.__defaults__
    function.__defaults__ = values
    try:
        yield
    finally:
        function.__defaults__ = before


PROCESSES: dict[str, Callable[[], contextlib.AbstractContextManager[object]]] = {
    "a global": lambda: patched(SETTINGS, "factor", 3.0),
    "a list of a module": lambda: patched(globals(), "TABLE", [7.0]),
    "another function": lambda: patched(globals(), "helped", helped_otherwise),
    "a variable of the environment": lambda: patched(os.environ, "MODEL_MODE", "other"),
    "an attribute of a class": lambda: patched(Part, "offset", 1.5),
    "a property": lambda: patched(Part, "shift", property(lambda self: 4.0)),
    "a default value": lambda: with_defaults(Model.forward, 2),
    "hooks of all modules": hooked_everywhere,
    "gradients off": torch.no_grad,
    "inference": torch.inference_mode,
    "autocast": lambda: torch.autocast("cpu", torch.bfloat16),
    "a default device": lambda: torch.device("meta"),
    "another default dtype": lambda: set_to(torch.get_default_dtype, torch.set_default_dtype, torch.float64),
    "deterministic operators": lambda: set_to(
        torch.are_deterministic_algorithms_enabled, torch.use_deterministic_algorithms, True
    ),
    "another number of threads": lambda: set_to(torch.get_num_threads, torch.set_num_threads, 3),
    "without oneDNN": lambda: torch.backends.mkldnn.flags(enabled=False),
    "anomaly mode": lambda: torch.autograd.set_detect_anomaly(True, check_nan=False),
    "hooks of what is saved": lambda: torch.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x),
    "no kernels": lambda: patched(os.environ, "SYMSHAPE_NATIVE", "0"),
    "another architecture": lambda: patched(os.environ, "SYMSHAPE_ARCHITECTURE", "x86-64"),
    "no compiler": lambda: patched(os.environ, "CC", "no-such-compiler"),
    "named as dynamic": lambda: torch.compiler.config.patch(dynamic_sources="L['power']"),
}


def is_same(loaded: Callable[..., torch.Tensor], model: Model, rows: int, kind: str) -> None:
    if kind == "a default device":
        # eager torch mixes devices there
        return
    # kernels keep in floats what eager torch rounds after each operator
    near = {"rtol": 2e-2, "atol": 2e-2} if kind == "autocast" else {}
    torch.testing.assert_close(seen(loaded, model, rows), seen(model, model, rows), **near)


@pytest.mark.parametrize("kind", PROCESSES)
def test_another_process(kind: str, saved: Path) -> None:
    """If it fails, a graph that was traced where something else held runs where it does not."""
    model = Model().eval()
    with PROCESSES[kind](), contextlib.suppress(WrongArtifact, ConstraintViolation):
        loaded = load(saved, model)
        for rows in (3, 5):
            is_same(loaded, model, rows, kind)
    # and where it was loaded before that held
    loaded = load(saved, model)
    with PROCESSES[kind]():
        is_same(loaded, model, 4, kind)
    assert refused_or_right(saved, model)


def test_loading_leaves_the_process_as_it_was(saved: Path) -> None:
    """If it fails, what a variant was traced under stays when it is loaded."""
    def state() -> list[object]:
        ambient = [torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.get_default_dtype()]
        return [*ambient, torch.is_autocast_enabled("cpu"), torch.get_rng_state().tolist()]

    model = Model().eval()
    before = state(), [each.grad for each in model.parameters()], dict(model.named_buffers())
    with torch.autocast("cpu", torch.bfloat16):
        loaded = load(saved, model)
        assert torch.is_autocast_enabled("cpu")
    assert (state(), [each.grad for each in model.parameters()], dict(model.named_buffers())) == before
    count = len(loaded.variants)
    assert count == 2
    # they are for calls as those that were saved
    loaded(given(7))
    assert len(loaded.variants) == count


def program(x: torch.Tensor) -> torch.Tensor:
    return shifted(x) * 2


def test_another_lowering(tmp_path: Path) -> None:
    """If it fails, kernels of another lowering of an operator are taken for those of the one that holds here."""
    compiled = compile(program, backend="cpu", dynamic=True)
    compiled(torch.ones(3))
    compiled.save(tmp_path / "saved")
    with planted(), pytest.raises(WrongArtifact, match="other kernels"):
        load(tmp_path / "saved", program)
    assert torch.equal(load(tmp_path / "saved", program)(torch.ones(5)), torch.full((5,), 4.0))
