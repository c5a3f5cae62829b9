"""What a trace leaves behind: nothing, however it ends.

Behind each program, what stood in for functions is gone, torch's modes are what they were, no tensor of the trace is
kept anywhere, and another function compiles and runs."""

from __future__ import annotations

import builtins
import collections
import contextlib
import contextvars
import functools
import gc
import math
import random
import sys
import threading
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn
from torch.nested._internal import nested_tensor as nested
from torch.nn.utils import parametrize
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import checkpoint

from frontends.pytorch import compile
from frontends.pytorch.python import interception
from frontends.pytorch.python.active_trace import current
from frontends.pytorch.python.code_replacement import replaced
from frontends.pytorch.recording import object_reconstruction
from frontends.pytorch.recording.custom import custom_op
from frontends.pytorch.symbolic.tensor import Traced

jagged = functools.partial(torch.nested.nested_tensor, layout=torch.jagged)
OWNERS = (
    *(builtins, math, time, random, torch, torch.random, torch.compiler, torch.nn.functional, torch.nested, nested),
    *(parametrize, torch.SymInt, torch.SymFloat, torch.SymBool, torch.Tensor, torch._ops.OpOverload, nn.Module),
)
COUNTERS = ("_tensor_id_counter", "__warningregistry__", "_cache")


class Failure(Exception):
    """What the programs below raise."""


# ---------------------------------------------------------------------- programs that end early, or in an odd way


def fails(x):
    raise Failure


def fails_with(kind: type[BaseException]) -> Callable[..., object]:
    def program(x):
        y = x * 2
        raise kind(y.dim())

    program.__name__ = kind.__name__
    return program


def calls_itself(x):
    return calls_itself(x + 1)


def under(context: Callable[[], contextlib.AbstractContextManager[object]]) -> Callable[..., object]:
    def program(x):
        with context():
            y = x * 2
            raise Failure(y.dim())

    return program


class Raising(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        raise Failure


class RaisingFunction(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        raise Failure


def under_a_mode(x):
    with Raising():
        return x * 2


def under_a_function_mode(x):
    with RaisingFunction():
        return x * 2


def vectorized(x):
    return torch.vmap(fails)(x)


def differentiated(x):
    return torch.func.grad(fails)(x)


def pushed_forward(x):
    return torch.func.jvp(fails, (x,), (x,))


def dual(x):
    with torch.autograd.forward_ad.dual_level():
        torch.autograd.forward_ad.make_dual(x, x)
        raise Failure


def checkpointed(x):
    return checkpoint(fails, x, use_reentrant=False)


class FailsForward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        raise Failure

    @staticmethod
    def backward(ctx, gradient):
        return gradient


class FailsBackward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        raise Failure


def applied(x):
    return FailsForward.apply(x)


def applied_backward(x):
    return FailsBackward.apply(x.detach().requires_grad_()).sum().backward()


def generated(x):
    def rows():
        yield x
        raise Failure

    return list(rows())


def left_generator(x):
    def rows():
        with torch.no_grad():
            yield x * 2
            yield x

    return next(rows())


def in_a_thread(x):
    found = []
    thread = threading.Thread(target=lambda: found.append(1))
    thread.start()
    thread.join()
    return x * found[0]


def profiled(x):
    sys.setprofile(lambda *args: None)
    try:
        return x * 2
    finally:
        sys.setprofile(None)


def other_dtype(x):
    torch.set_default_dtype(torch.float64)
    try:
        raise Failure
    finally:
        torch.set_default_dtype(torch.float32)


def draws(x):
    torch.rand(3)
    raise Failure


def compiled_inside(x):
    return compile(fails)(x)


def compiled_inside_right(x):
    return compile(lambda x: x * 2)(x)


torch.manual_seed(0)
linear = nn.Linear(2, 2)


def failing_hook(module, args, output):
    raise Failure


def hooked(x):
    handle = linear.register_forward_hook(failing_hook)
    try:
        return linear(x)
    finally:
        handle.remove()


@custom_op("process::failing")
def failing(x: torch.Tensor) -> torch.Tensor:
    return x + 1


@failing.shape_rule
def _(env, x):
    raise Failure


def failing_rule(x):
    return failing(x)


def no_attribute(x):
    return x.nothing


def wrong_sizes(x):
    return x @ x


def caught(x):
    try:
        x @ x
    except RuntimeError:
        return x + 1


class Unprintable(Exception):
    def __str__(self):
        raise ValueError


ENDINGS = [
    *(fails, calls_itself, under_a_mode, under_a_function_mode, vectorized, differentiated, pushed_forward, dual),
    *(checkpointed, applied, applied_backward, generated, left_generator, in_a_thread, profiled, other_dtype, draws),
    *(compiled_inside, compiled_inside_right, hooked, failing_rule, no_attribute, wrong_sizes, caught),
    *map(fails_with, (KeyboardInterrupt, SystemExit, GeneratorExit, MemoryError, StopIteration)),
    *map(fails_with, (RecursionError, AssertionError, Unprintable)),
    *map(under, (torch.no_grad, torch.inference_mode, torch.enable_grad, torch.autograd.detect_anomaly)),
    *map(under, (lambda: torch.autocast("cpu"), lambda: torch.device("meta"), parametrize.cached)),
    under(lambda: torch.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x)),
    under(torch.autograd.graph.save_on_cpu),
    under(lambda: torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH)),
]


# ---------------------------------------------------------------------- programs that keep what they made


@functools.lru_cache
def remembered(size):
    return torch.ones(size, size).tril()


@functools.cache
def remembered_for_good(size):
    return [torch.ones(size, size).tril()]


class Remembers:
    @functools.lru_cache  # noqa: B019
    def rows(self, size):
        return torch.ones(size, size)


remembers = Remembers()
normal = torch.distributions.MultivariateNormal(torch.zeros(2), scale_tril=torch.eye(2))
deep: list[object] = [[[[[[[]]]]]]]
many: dict[int, list[object]] = {place: [] for place in range(2000)}
queue: collections.deque[object] = collections.deque(maxlen=4)
space = SimpleNamespace()
variable: contextvars.ContextVar[object] = contextvars.ContextVar("variable")
local = threading.local()
symmetric = nn.Linear(2, 2)


class Symmetric(nn.Module):
    def forward(self, x):
        return x.triu() + x.triu(1).T


parametrize.register_parametrization(symmetric, "weight", Symmetric())


def by_a_cache(x):
    return x @ remembered(2)


def by_an_unbounded_cache(x):
    return x @ remembered_for_good(2)[0]


def by_a_method(x):
    return x @ remembers.rows(2)


def by_a_cache_then_fails(x):
    remembered_for_good(3)
    raise Failure


def lazily(x):
    return x @ normal.covariance_matrix


def deeply(x):
    deep[0][0][0][0][0][0].append((x * 2, "kept"))
    return x


def among_many(x):
    many[1999].append(x * 2)
    return x


def in_a_queue(x):
    queue.append(x * 2)
    return x


def in_a_namespace(x):
    space.last = {"kept": [x * 2]}
    return x


def in_a_variable(x):
    variable.set(x * 2)
    return x


def in_a_thread_local(x):
    local.last = x * 2
    return x


def as_an_attribute(x):
    linear.bias.kept = x * 2
    return x


def parametrized(x):
    with parametrize.cached():
        return symmetric(x)


def closure_kept(x):
    y = x * 2
    closure = lambda z: y + z  # noqa: E731
    deep[0][0][0][0][0][0].append(closure)
    return closure(x)


def jagged_twice(x):
    one, other = jagged([x, x[:2]]), jagged([x, x[:1]])
    return one.values().sum() + other.values().sum()


def jagged_result(x):
    return jagged([x, x[:2]]).values()


KEEPING = [
    *(by_a_cache, by_an_unbounded_cache, by_a_method, by_a_cache_then_fails, lazily, deeply, among_many, in_a_queue),
    *(in_a_namespace, in_a_variable, in_a_thread_local, as_an_attribute, parametrized, closure_kept, jagged_twice),
    jagged_result,
]


# ---------------------------------------------------------------------- what there is


def state() -> dict[str, object]:
    names = [(owner, name) for owner in OWNERS for name in vars(owner) if name not in COUNTERS]
    found: dict[str, object] = {f"{owner.__name__}.{name}": id(vars(owner)[name]) for owner, name in names}
    return found | {
        "modes": (torch._C._len_torch_dispatch_stack(), torch._C._len_torch_function_stack()),
        "keys": (str(torch._C._dispatch_tls_local_include_set()), str(torch._C._dispatch_tls_local_exclude_set())),
        "transforms": torch._C._functorch.peek_interpreter_stack() is None,
        "forward": torch.autograd.forward_ad._current_level,
        "grad": (torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.is_anomaly_enabled()),
        "threads": (torch._C._is_multithreading_enabled(), threading.active_count()),
        "autocast": torch._C._is_any_autocast_enabled(),
        "defaults": (torch.get_default_dtype(), torch.get_default_device()),
        "saved": torch._C._autograd._top_saved_tensors_default_hooks(True),
        "python": (sys.getprofile(), sys.gettrace(), sys.getrecursionlimit(), gc.get_freeze_count()),
        "trace": (interception._count, len(replaced), len(current.stack), object_reconstruction._blocks),
        "random": (random.getstate(), torch.get_rng_state().tolist()),
    }


def tensors_of_traces() -> set[int]:
    gc.collect()
    return {id(each) for each in gc.get_objects() if type(each) is Traced}


def canary(x):
    return [torch.softmax(x @ x.T, -1), x[x > 0], max(x.shape[0], 2), x.sum(0)]


def check_canary(backend: str = "eager") -> None:
    f = compile(lambda x: canary(x), dynamic=True, backend=backend)
    for rows in (3, 4):
        x = torch.arange(rows * 2.0).view(rows, 2) - 1
        torch.testing.assert_close(f(x), canary(x))
    weight = torch.ones(2, 3, requires_grad=True)
    compile(lambda x: (x @ weight).sigmoid().sum())(torch.ones(4, 2)).backward()
    assert type(weight.grad) is torch.Tensor


def outcome(program: Callable[..., object], x: torch.Tensor) -> tuple[object, object]:
    """What a program returns, or the class of what it raises."""
    torch.manual_seed(0)
    try:
        return "returned", program(x)
    except BaseException as error:
        return "raised", type(error)


@pytest.fixture(autouse=True, scope="module")
def _imports() -> None:
    """What torch imports when it is first needed is not what a trace leaves."""
    check_canary()
    for program in (vectorized, differentiated, pushed_forward, jagged_result, checkpointed):
        outcome(program, torch.ones(3, 2))


@pytest.mark.parametrize("fullgraph", [False, True])
@pytest.mark.parametrize("program", [*ENDINGS, *KEEPING], ids=lambda program: program.__name__)
def test_nothing_is_left(program: Callable[..., object], fullgraph: bool) -> None:
    """Fails when an error, an interruption or an odd program in one trace breaks what runs after it."""
    x = torch.ones(3, 2)
    for cache in (remembered, remembered_for_good, Remembers.rows):
        cache.cache_clear()
    before = state()
    f = compile(program, fullgraph=fullgraph)
    found = [outcome(f, x) for _ in range(2)]
    after = state()
    expected = outcome(program, x)
    before["random"] = state()["random"]
    after["random"] = before["random"] if fullgraph else after["random"]
    assert {name: value for name, value in after.items() if value != before.get(name, value)} == {}
    if not fullgraph:
        for kind, value in found:
            assert kind == expected[0]
            if kind == "raised":
                assert value is expected[1]
            else:
                torch.testing.assert_close(value, expected[1])
    check_canary()


@pytest.mark.parametrize("fullgraph", [False, True])
def test_no_tensor_is_left(fullgraph: bool) -> None:
    """Fails when a tensor of a trace is still there when the trace has ended."""
    before = tensors_of_traces()
    for program in KEEPING if fullgraph else (*ENDINGS, *KEEPING):
        outcome(compile(program, fullgraph=fullgraph), torch.ones(3, 2))
    assert tensors_of_traces() <= before
    check_canary("cpu")


def test_a_dummy_of_torch_is_not_of_a_trace() -> None:
    """Fails when what torch makes once, and keeps, is made of a trace's tensors."""
    before, nested._dummy_instance = nested._dummy_instance, None
    try:
        compile(jagged_result)(torch.ones(3, 2))
        torch.testing.assert_close(jagged_twice(torch.ones(3, 2)), torch.tensor(18.0))
        with contextlib.suppress(Exception):
            compile(jagged_result, fullgraph=True)(torch.ones(3, 2))
        assert type(nested._dummy_instance) is nested.NestedTensor or nested._dummy_instance is None
        torch.testing.assert_close(compile(jagged_twice)(torch.ones(3, 2)), torch.tensor(18.0))
    finally:
        nested._dummy_instance = before


def test_a_cache_is_filled_first() -> None:
    """Fails when a function that remembers its results, or a lazy attribute, keeps a call from being captured."""
    remembered.cache_clear()
    f = compile(by_a_cache)
    for rows in (3, 3, 5):
        x = torch.ones(rows, 2)
        torch.testing.assert_close(f(x), by_a_cache(x))
    assert f.variants and not f.fallbacks


def test_an_effect_that_nothing_sees() -> None:
    """Fails when what a call puts away is put there once, by the trace."""
    kept = many[1999]
    kept.clear()
    f = compile(among_many)
    for number in range(4):
        f(torch.full((2,), float(number)))
    assert [each.tolist() for each in kept] == [[2.0 * number] * 2 for number in range(4)]
    compile(among_many, fullgraph=True)(torch.ones(2))
    assert [each.tolist() for each in kept[4:]] == [[2.0, 2.0]]


def test_a_closure_that_the_program_keeps() -> None:
    """Fails when what watches a trace empties a function that the program has kept."""
    kept = deep[0][0][0][0][0][0]
    f = compile(closure_kept)
    for rows in (3, 3, 4):
        kept.clear()
        x = torch.ones(rows, 2)
        torch.testing.assert_close(f(x), x * 3)
        (closure,) = kept
        torch.testing.assert_close(closure(x), x * 3)


def by_a_comprehension(x):
    return [x * number for number in range(2)]


def by_a_name(x):
    return getattr(x, "".join(("su", "m")))()


def by_a_function(x):
    def inner(z, y=x * 2, *, w=x * 3):
        return x + y + z + w

    return inner(x)


def by_parts_of_a_tensor(w):
    y = w * 2
    return y[:, :1], y[:, 1:]


@pytest.mark.parametrize("program", [by_a_comprehension, by_a_name, by_a_function, by_parts_of_a_tensor])
def test_captured(program: Callable[..., object]) -> None:
    """Fails when what the trace itself refers to, or who watches it, counts as the program's."""
    f = compile(program, fullgraph=True)
    weight = torch.ones(3, 2, requires_grad=True)
    before = tensors_of_traces()
    torch.testing.assert_close(f(weight), program(weight))
    assert f.variants and tensors_of_traces() <= before


nested_memory: list[Any] = [[[[[[{}]]]]]]


def by_a_dictionary_in_a_dictionary(x):
    memory = nested_memory[0][0][0][0][0][0]
    if "masks" not in memory:
        memory["masks"] = {"mask": torch.ones(2, 2)}
    return x @ memory["masks"]["mask"]


def test_a_dictionary_that_was_made_is_removed() -> None:
    """Fails when a dictionary that a trace made stays, without its tensors, where nothing saw it put."""
    torch.testing.assert_close(compile(by_a_dictionary_in_a_dictionary)(torch.ones(3, 2)), torch.full((3, 2), 2.0))


class Keeper:
    def __init__(self) -> None:
        self.items: list[object] = []
        self.names: dict[str, object] = {}
        self.last: object = None

    @functools.cached_property
    def table(self) -> torch.Tensor:
        return torch.ones(2, 2)


@pytest.mark.xfail(strict=True, raises=AssertionError, reason="what graph breaks wait for stays where put")
@pytest.mark.parametrize("place", ["table", "items", "names", "last"])
def test_what_a_program_with_breaks_keeps(place: str) -> None:
    """Fails when what it keeps in its own objects is no tensor of torch's."""
    keeper = Keeper()

    def program(x):
        print(end="", file=sys.stdout)
        y = x @ (keeper.table if place == "table" else torch.ones(2, 2))
        keeper.last = y
        keeper.items.append(y)
        keeper.names["y"] = y
        return y

    f = compile(program)
    torch.testing.assert_close(f(torch.ones(3, 2)), torch.full((3, 2), 2.0))
    found = {"table": vars(keeper).get("table"), "last": keeper.last}
    found |= {"items": keeper.items[0], "names": keeper.names["y"]}
    assert type(found[place]) is torch.Tensor
