"""Programs that set or read what holds for all of torch, ask tensors who they are, and change what they get."""

from __future__ import annotations

import copy
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import nn

from tests.frontends.pytorch.autograd_programs import learned, plain
from tests.frontends.pytorch.observed import Program, Programs

PROGRAMS = Programs()
program, stateful = PROGRAMS.program, PROGRAMS.stateful


def setting(name: str, change: Callable[[], object]) -> None:
    """A program that sets something, and leaves it so."""

    def make() -> Program:
        def f(x):
            y = x * 2
            change()
            return y + 1

        return Program(f, plain)

    PROGRAMS[f"sets_{name}"] = make


setting("gradient_mode", lambda: torch.set_grad_enabled(False))
setting("default_dtype", lambda: torch.set_default_dtype(torch.float64))
setting("default_device", lambda: torch.set_default_device("cpu"))
setting("deterministic", lambda: torch.use_deterministic_algorithms(True, warn_only=True))
setting("threads", lambda: torch.set_num_threads(2))
setting("flash_attention", lambda: torch.backends.cuda.enable_flash_sdp(False))
setting("anomalies", lambda: torch.autograd.set_detect_anomaly(True))
setting("autocast", lambda: torch.set_autocast_enabled("cpu", True))
setting("autocast_cache", lambda: torch.set_autocast_cache_enabled(False))


@program(plain)
def default_dtype_for_a_while(x):
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    y = torch.zeros(3) + torch.tensor([1.0])
    torch.set_default_dtype(before)
    return y, torch.ones(2), x + 1


@program(plain)
def attention_by_one_kernel(x):
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        return F.scaled_dot_product_attention(x[None], x[None], x[None]).clone()


@program(plain)
def autocast_inside(x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = x @ x.t()
        inside = torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")
    return y, inside, torch.is_autocast_enabled("cpu")


@program(learned)
def anomalies_inside(x):
    with torch.autograd.detect_anomaly(check_nan=False):
        return x * 2


# ---------------------------------------------------------------------- what is read, while it changes


def reading(name: str, read: Callable[[], object], change: Callable[[int], object]) -> None:
    """A program that reads something which is another at some of the calls."""

    def make() -> Program:
        calls = iter(range(100))

        def within(fn, args):
            change(next(calls))
            return fn(*args)

        def f(x):
            return x * 2, read()

        return Program(f, plain, within=within)

    PROGRAMS[f"reads_{name}"] = make


reading("threads", lambda: torch.get_num_threads(), lambda n: torch.set_num_threads(1 + n // 2))
reading(
    "deterministic",
    lambda: torch.are_deterministic_algorithms_enabled(),
    lambda n: torch.use_deterministic_algorithms(n % 2 == 1, warn_only=True),
)
reading("gradient_mode", lambda: torch.is_grad_enabled(), lambda n: torch.set_grad_enabled(n % 2 == 0))
reading(
    "default_dtype",
    lambda: torch.get_default_dtype(),
    lambda n: torch.set_default_dtype(torch.float64 if n > 2 else torch.float32),
)
reading("autocast", lambda: torch.is_autocast_enabled("cpu"), lambda n: torch.set_autocast_enabled("cpu", n > 1))


@stateful
def reads_inference_mode():
    calls = iter(range(100))

    def f(x):
        return x * (2 if torch.is_inference_mode_enabled() else 3)

    def within(fn, args):
        with torch.inference_mode() if next(calls) % 2 else torch.no_grad():
            return fn(*args).clone()

    return Program(f, plain, within=within)


# ---------------------------------------------------------------------- hooks of modules


def hooked(name: str, register: Callable[[nn.Module, list], object]) -> None:
    """A module with a hook that notes its calls."""

    def make() -> Program:
        torch.manual_seed(0)
        seen: list[object] = []
        module = nn.Sequential(nn.Linear(4, 3), nn.ReLU())
        register(module, seen)
        # what a hook for gradients gives is a view of a function of torch's own
        return Program(
            module,
            learned,
            lambda: [list(seen), [each.grad for each in module.parameters()]],
            ignored=("is_view", "base"),
        )

    PROGRAMS[f"hook_{name}"] = make


hooked("forward_changes", lambda module, seen: module[0].register_forward_hook(lambda m, a, y: y * 2))
hooked("before_forward_changes", lambda module, seen: module[0].register_forward_pre_hook(lambda m, a: (a[0] * 2,)))
hooked(
    "full_backward", lambda module, seen: module[0].register_full_backward_hook(lambda m, gi, go: seen.append(len(gi)))
)
hooked(
    "full_backward_changes",
    lambda module, seen: module[1].register_full_backward_hook(lambda m, gi, go: (gi[0] * 2,)),
)


def hooked_everywhere(name: str, register: Callable[[list], object]) -> None:
    """A module, and a hook for all modules, which is there for the time of a call."""

    def make() -> Program:
        torch.manual_seed(0)
        seen: list[object] = []
        module = nn.Sequential(nn.Linear(4, 3), nn.ReLU())

        def within(fn, args):
            handle = register(seen)
            try:
                y = fn(*args)
                y.sum().backward()
                return y.detach()
            finally:
                handle.remove()

        return Program(module, learned, lambda: list(seen), within=within)

    PROGRAMS[f"hook_everywhere_{name}"] = make


modules = nn.modules.module
hooked_everywhere("forward", lambda seen: modules.register_module_forward_hook(lambda m, a, y: seen.append(1)))
hooked_everywhere(
    "backward", lambda seen: modules.register_module_full_backward_hook(lambda m, gi, go: seen.append(1))
)


@stateful
def hook_registered_inside():
    module = nn.Linear(4, 3)
    with torch.no_grad():
        module.weight.fill_(0.5)
        module.bias.fill_(0.25)

    def f(x):
        module.register_forward_hook(lambda m, a, y: y * 2)
        return module(x)

    return Program(f, plain, lambda: len(module._forward_hooks))


@stateful
def hook_there_for_one_call():
    torch.manual_seed(0)
    module = nn.Linear(4, 3)
    seen: list[int] = []
    calls = iter(range(100))

    def within(fn, args):
        if next(calls) == 1:
            handle = module.register_forward_hook(lambda m, a, y: seen.append(1))
            try:
                return fn(*args)
            finally:
                handle.remove()
        return fn(*args)

    return Program(lambda x: module(x), plain, lambda: list(seen), within=within)


# ---------------------------------------------------------------------- containers


@program(lambda n: ([torch.zeros(2)], torch.randn(n, 4)))
def list_changed_and_returned(values, x):
    values.append(x * 2)
    return values


@program(lambda n: ([torch.randn(n, 4)], torch.randn(n, 4)))
def list_returned_within(values, x):
    return {"values": values, "y": x * 2}


@program(lambda n: ({"x": torch.randn(n, 4), "y": torch.randn(n)},))
def dictionary_popped(values):
    x = values.pop("x")
    return x * 2, values


@program(lambda n: (OrderedDict(x=torch.randn(n, 4)),))
def ordered_dictionary_returned(values):
    values["z"] = values["x"] * 2
    return values


@stateful
def list_of_closure_changed():
    kept: list[torch.Tensor] = []

    def f(x):
        kept.append(x * 2)
        return kept

    return Program(f, plain, lambda: list(kept))


@stateful
def attribute_of_argument_set():
    class State:
        pass

    def f(state, x):
        state.y = x * 2
        return state

    return Program(f, lambda n: (State(), torch.randn(n, 4)), within=lambda fn, args: fn(*args).y)


class Pair(NamedTuple):
    first: torch.Tensor
    second: int


@stateful
def containers_of_every_kind_returned():
    def f(pair, table, both, *rest, named):
        return {"pair": pair, "table": [table, table["in"]], "both": both, "rest": rest[0], "named": named}

    def arguments(n):
        x = torch.randn(n)
        return Pair(x, 1), {"in": [x]}, (x, 3.0), OrderedDict(q=x), defaultdict(list, u=x)

    def within(fn, args):
        pair, table, both, ordered, default = args
        got = fn(pair, table, both, ordered, named=default)
        same = [got["pair"] is pair, got["both"] is both, got["rest"] is ordered, got["named"] is default]
        return got, same, got["table"][0] is table, got["table"][1] is table["in"]

    return Program(f, arguments, within=within)


@program(lambda n: ([torch.randn(n, 4, requires_grad=True)], torch.randn(n, requires_grad=True)))
def list_returned_of_learned(values, x):
    return values, [*values, x * 2]


# ---------------------------------------------------------------------- who a tensor is


@stateful
def of_classes():
    w = nn.Parameter(torch.ones(4))

    def f(x, p):
        return (
            x * w,
            type(x) is torch.Tensor,
            type(p) is torch.Tensor,
            type(w) is nn.Parameter,
            isinstance(x, torch.Tensor),
            isinstance(p, nn.Parameter),
            isinstance(x, nn.Parameter),
            isinstance(w, nn.Parameter),
            isinstance(x * 2, nn.Parameter),
            type(x).__name__,
            x.__class__.__name__,
            w.__class__.__name__,
            (x * 2).__class__.__name__,
            x.__class__ is torch.Tensor,
            issubclass(type(x), torch.Tensor),
            isinstance(x.shape, torch.Size),
            type(x.shape) is torch.Size,
            type(x.size()) is torch.Size,
            isinstance(x.shape, tuple),
            type(x.shape[0]) is int,
            isinstance(x.dtype, torch.dtype),
            torch.is_tensor(x),
            torch.is_tensor(x.shape),
            isinstance(x[:, :1].shape, torch.Size),
        )

    return Program(f, lambda n: (torch.randn(n, 4), nn.Parameter(torch.randn(n))), backward=False)


@program(lambda n: (nn.Parameter(torch.randn(n, 4)) if n % 2 else torch.randn(n, 4, requires_grad=True),))
def parameter_as_argument(p):
    return p * (2 if isinstance(p, nn.Parameter) else 3), type(p).__name__, p.__class__.__name__


@program(plain)
def shape_printed(x):
    return x * 2, str(x.shape), f"{x.shape}", repr(x.size()), str(tuple(x.shape)), str(x.shape[0])


@stateful
def identities():
    def f(x, y):
        return x + y, x is y, x is x, id(x) == id(y), hash(x) == hash(y), x in {x}, {x: 1}[x], y in {x: 2}

    def arguments(n):
        x = torch.randn(n, 4)
        return (x, x) if n % 2 else (x, torch.randn(n, 4))

    return Program(f, arguments)


@stateful
def compared_with_closure():
    w = torch.ones(4)

    def f(x):
        return x * 2 if x is not w else x * 3

    return Program(f, lambda n: (w,) if n % 2 == 0 else (torch.randn(4),))


@stateful
def compared_with_parameter():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(4))

        def forward(self, x):
            return x * 2 if x is self.weight else x * 3

    module = Tied()
    return Program(module, lambda n: (module.weight,) if n % 2 == 0 else (torch.randn(4),))


@stateful
def looked_up_by_tensor():
    w = torch.ones(4)
    table = {w: 3}

    def f(x):
        return x * table.get(x, 5)

    return Program(f, lambda n: (w,) if n % 2 == 0 else (torch.randn(4),))


@stateful
def set_of_tensors_returned():
    def f(x):
        return {x}, x * 2

    def within(fn, args):
        found, y = fn(*args)
        return args[0] in found, len(found), y

    return Program(f, plain, within=within)


@stateful
def identity_number_returned():
    def f(x):
        return x * 2, id(x)

    def within(fn, args):
        y, number = fn(*args)
        return y, number == id(args[0])

    return Program(f, plain, within=within)


@program(plain)
def copied(x):
    a, b = copy.copy(x), copy.deepcopy(x)
    a.add_(1)
    return x * 2, a, b


@program(learned)
def copied_inner_of_learned(x):
    return copy.deepcopy(x * 2)


@stateful
def module_copied():
    torch.manual_seed(0)
    module = nn.Linear(4, 3)

    def f(x):
        return copy.deepcopy(module)(x)

    return Program(f, plain, lambda: list(module.parameters()))


@program(plain)
def from_numpy(x):
    return torch.from_numpy(x.numpy() * 2) + x, torch.tensor(x.numpy()), torch.as_tensor(x.numpy())


@program(plain)
def by_dlpack(x):
    return torch.from_dlpack(torch.utils.dlpack.to_dlpack(x)) * 2, torch.from_dlpack(x) + 1


@program(plain)
def pointers(x):
    y = x.view(-1)
    return x * 2, x.data_ptr() == y.data_ptr(), x.untyped_storage().nbytes(), x.untyped_storage().data_ptr() > 0


@stateful
def layouts_asked():
    def f(x):
        y = x[1:]
        return (
            x * 2,
            x.is_contiguous(),
            x.t().is_contiguous(),
            y.storage_offset(),
            x.stride(),
            x.storage_offset(),
            x.element_size(),
            x.nbytes,
            x.numel(),
            x.ndim,
            x.is_set_to(x),
            x.t().is_set_to(x),
        )

    def arguments(n):
        return (torch.randn(n + 1, 4)[1:] if n % 2 else torch.randn(4, n).t(),)

    return Program(f, arguments)


@stateful
def attributes_of_tensors():
    def f(x):
        y = x * getattr(x, "factor", 2)
        return y, hasattr(x, "factor")

    def arguments(n):
        x = torch.randn(n, 4)
        if n % 2:
            x.factor = 5
        return (x,)

    return Program(f, arguments)


@program(plain, within=lambda fn, args: getattr(fn(*args), "note", None))
def attribute_of_tensor_set(x):
    y = x * 2
    y.note = 5
    return y


@stateful
def attribute_of_argument_tensor_set():
    def f(x):
        x.note = 5
        return x * 2

    def within(fn, args):
        fn(*args)
        return getattr(args[0], "note", None)

    return Program(f, plain, within=within)


@stateful
def attribute_of_parameter_counted():
    module = nn.Linear(4, 3)
    module.weight.calls = 0

    def f(x):
        module.weight.calls += 1
        return x * module.weight.calls

    return Program(f, plain, lambda: module.weight.calls)


@stateful
def attributes_of_brought_tensors_changed():
    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(4))
            self.listed = [torch.ones(4)]
            self.weight.scale, self.listed[0].scale = 2, 3

        def forward(self, x):
            return x * self.weight.scale * self.listed[0].scale

    module = Scaled()
    calls = iter(range(100))

    def within(fn, args):
        module.weight.scale += 1
        module.listed[0].scale -= next(calls) % 2
        return fn(*args)

    return Program(module, plain, within=within)


@stateful
def attribute_deleted():
    def f(x):
        del x.note
        return x * 2

    def arguments(n):
        x = torch.randn(n, 4)
        x.note = 3
        return (x,)

    return Program(f, arguments, within=lambda fn, args: (fn(*args), hasattr(args[0], "note")))


@stateful
def detached_that_share_a_counter():
    a = torch.ones(4)
    b = a.detach()

    def f(x):
        b.add_(1)
        y = a * x
        a.mul_(2)
        b.sub_(1)
        return y + b

    return Program(f, plain, lambda: [a, b, a._version, b._version])


@program(plain)
def tracing_asked(x):
    return (
        x * 2,
        torch._C._get_tracing_state() is None,
        torch.jit.is_tracing(),
        torch.jit.is_scripting(),
        torch.compiler.is_dynamo_compiling(),
        torch.is_inference_mode_enabled(),
        torch.is_grad_enabled(),
    )


@stateful
def function_mode_inside():
    seen: list[str] = []

    class Mode(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func.__name__)
            return func(*args, **(kwargs or {}))

    def f(x):
        with Mode():
            return torch.add(x, 1)

    return Program(f, plain, lambda: list(seen))


@stateful
def function_mode_around():
    seen: list[str] = []

    class Mode(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(getattr(func, "__name__", ""))
            return func(*args, **(kwargs or {}))

    return Program(lambda x: torch.add(x, 1), plain, lambda: list(seen), around=Mode)
