"""Programs that set or read what holds for all of torch, ask tensors who they are, and change what they get."""

from __future__ import annotations

import copy
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils import deterministic

from tests.frontends.pytorch.autograd_programs import both, learned, plain
from tests.frontends.pytorch.observed import Program

PROGRAMS: dict[str, Callable[[], Program]] = {}


def program(make: Callable[[], Program]) -> Callable[[], Program]:
    PROGRAMS[make.__name__] = make
    return make


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
setting("gradient_mode_below", lambda: torch._C._set_grad_enabled(False))
setting("default_dtype", lambda: torch.set_default_dtype(torch.float64))
setting("default_device", lambda: torch.set_default_device("cpu"))
setting("deterministic", lambda: torch.use_deterministic_algorithms(True, warn_only=True))
setting("deterministic_debug_mode", lambda: torch.set_deterministic_debug_mode("warn"))
setting("filling", lambda: setattr(deterministic, "fill_uninitialized_memory", False))
setting("threads", lambda: torch.set_num_threads(2))
setting("precision", lambda: torch.set_float32_matmul_precision("medium"))
setting("cudnn_benchmark", lambda: setattr(torch.backends.cudnn, "benchmark", True))
setting("cudnn_deterministic", lambda: setattr(torch.backends.cudnn, "deterministic", True))
setting("tf32", lambda: setattr(torch.backends.cuda.matmul, "allow_tf32", True))
setting("flash_attention", lambda: torch.backends.cuda.enable_flash_sdp(False))
setting("plain_attention", lambda: torch.backends.cuda.enable_math_sdp(False))
setting("printing", lambda: torch.set_printoptions(precision=2))
setting("anomalies", lambda: torch.autograd.set_detect_anomaly(True))
setting("autocast", lambda: torch.set_autocast_enabled("cpu", True))
setting("autocast_cache", lambda: torch.set_autocast_cache_enabled(False))
setting("denormals", lambda: torch.set_flush_denormal(True))
setting("warnings", lambda: torch.set_warn_always(True))


@program
def default_dtype_for_a_while():
    def f(x):
        before = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64)
        y = torch.zeros(3) + torch.tensor([1.0])
        torch.set_default_dtype(before)
        return y, torch.ones(2), x + 1

    return Program(f, plain)


@program
def device_for_a_while():
    def f(x):
        with torch.device("cpu"):
            y = torch.zeros(3)
        return y + x.sum()

    return Program(f, plain)


@program
def attention_by_one_kernel():
    def f(x):
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
            return F.scaled_dot_product_attention(x[None], x[None], x[None]).clone()

    return Program(f, plain)


@program
def without_mkldnn():
    def f(x):
        with torch.backends.mkldnn.flags(enabled=False):
            return x @ x.t()

    return Program(f, plain)


@program
def autocast_inside():
    def f(x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = x @ x.t()
            inside = torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")
        return y, inside, torch.is_autocast_enabled("cpu")

    return Program(f, plain)


@program
def anomalies_inside():
    def f(x):
        with torch.autograd.detect_anomaly(check_nan=False):
            return x * 2

    return Program(f, learned)


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
    "precision",
    lambda: torch.get_float32_matmul_precision(),
    lambda n: torch.set_float32_matmul_precision("high" if n > 1 else "highest"),
)
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
reading(
    "benchmark", lambda: torch.backends.cudnn.benchmark, lambda n: setattr(torch.backends.cudnn, "benchmark", n > 1)
)
reading("flash", lambda: torch.backends.cuda.flash_sdp_enabled(), lambda n: torch.backends.cuda.enable_flash_sdp(n < 2))
reading("anomalies", lambda: torch.is_anomaly_enabled(), lambda n: torch.autograd.set_detect_anomaly(n > 1))
reading(
    "autocast_cache", lambda: torch.is_autocast_cache_enabled(), lambda n: torch.set_autocast_cache_enabled(n % 2 == 0)
)
reading("autocast", lambda: torch.is_autocast_enabled("cpu"), lambda n: torch.set_autocast_enabled("cpu", n > 1))
reading("warnings", lambda: torch.is_warn_always_enabled(), lambda n: torch.set_warn_always(n > 1))
reading("default_device", lambda: str(torch.get_default_device()), lambda n: torch.set_default_device("cpu"))


@program
def reads_inference_mode():
    calls = iter(range(100))

    def f(x):
        return x * (2 if torch.is_inference_mode_enabled() else 3)

    def within(fn, args):
        with torch.inference_mode() if next(calls) % 2 else torch.no_grad():
            return fn(*args).clone()

    return Program(f, plain, within=within)


@program
def goes_by_threads():
    calls = iter(range(100))

    def f(x):
        return x * torch.get_num_threads()

    def within(fn, args):
        torch.set_num_threads(1 + next(calls) % 2)
        return fn(*args)

    return Program(f, plain, within=within)


# ---------------------------------------------------------------------- hooks of modules


def hooked(name: str, register: Callable[[nn.Module, list], object], *, everywhere: bool = False) -> None:
    """A module with a hook that notes its calls."""

    def make() -> Program:
        torch.manual_seed(0)
        seen: list[object] = []
        module = nn.Sequential(nn.Linear(4, 3), nn.ReLU())
        handle = register(module, seen)
        state = {"seen": seen}

        def around(fn, args):
            return fn(*args)

        del handle, state

        def seen_of() -> object:
            return [list(seen), [each.grad for each in module.parameters()]]

        # what a hook for gradients gives is a view of a function of torch's own
        return Program(module, learned, seen_of, within=around, ignored=("is_view", "base"))

    PROGRAMS[f"hook_{name}"] = make


hooked("forward", lambda module, seen: module[0].register_forward_hook(lambda m, a, y: seen.append(1)))
hooked("forward_of_whole", lambda module, seen: module.register_forward_hook(lambda m, a, y: seen.append(1)))
hooked("forward_changes", lambda module, seen: module[0].register_forward_hook(lambda m, a, y: y * 2))
hooked("before_forward", lambda module, seen: module[0].register_forward_pre_hook(lambda m, a: seen.append(1)))
hooked("before_forward_changes", lambda module, seen: module[0].register_forward_pre_hook(lambda m, a: (a[0] * 2,)))
hooked(
    "full_backward", lambda module, seen: module[0].register_full_backward_hook(lambda m, gi, go: seen.append(len(gi)))
)
hooked(
    "full_backward_changes",
    lambda module, seen: module[1].register_full_backward_hook(lambda m, gi, go: (gi[0] * 2,)),
)
hooked(
    "before_full_backward", lambda module, seen: module[0].register_full_backward_pre_hook(lambda m, go: seen.append(1))
)
hooked(
    "full_backward_of_whole",
    lambda module, seen: module.register_full_backward_hook(lambda m, gi, go: seen.append(len(gi))),
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
hooked_everywhere("before_forward", lambda seen: modules.register_module_forward_pre_hook(lambda m, a: seen.append(1)))
hooked_everywhere(
    "backward", lambda seen: modules.register_module_full_backward_hook(lambda m, gi, go: seen.append(1))
)


@program
def hook_registered_inside():
    module = nn.Linear(4, 3)
    with torch.no_grad():
        module.weight.fill_(0.5)
        module.bias.fill_(0.25)

    def f(x):
        module.register_forward_hook(lambda m, a, y: y * 2)
        return module(x)

    return Program(f, plain, lambda: len(module._forward_hooks))


@program
def hook_removed_inside():
    module = nn.Linear(4, 3)
    handle = module.register_forward_hook(lambda m, a, y: y * 2)

    def f(x):
        y = module(x)
        handle.remove()
        return y

    return Program(f, plain, lambda: len(module._forward_hooks))


@program
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


@program
def list_changed_and_returned():
    def f(values, x):
        values.append(x * 2)
        return values

    return Program(f, lambda n: ([torch.zeros(2)], torch.randn(n, 4)))


@program
def list_changed_and_not_returned():
    def f(values, x):
        values.append(x * 2)
        values[0] = x
        return x + 1

    return Program(f, lambda n: ([torch.zeros(2)], torch.randn(n, 4)))


@program
def list_returned():
    def f(values):
        return values

    return Program(f, lambda n: ([torch.randn(n, 4)],))


@program
def list_returned_within():
    def f(values, x):
        return {"values": values, "y": x * 2}

    return Program(f, lambda n: ([torch.randn(n, 4)], torch.randn(n, 4)))


@program
def dictionary_changed_and_returned():
    def f(values, x):
        values["y"] = x * 2
        return values

    return Program(f, lambda n: ({"x": torch.zeros(2)}, torch.randn(n, 4)))


@program
def dictionary_popped():
    def f(values):
        x = values.pop("x")
        return x * 2, values

    return Program(f, lambda n: ({"x": torch.randn(n, 4), "y": torch.randn(n)},))


@program
def ordered_dictionary_returned():
    def f(values):
        values["z"] = values["x"] * 2
        return values

    return Program(f, lambda n: (OrderedDict(x=torch.randn(n, 4)),))


@program
def nested_list_changed():
    def f(values, x):
        values[0][1].append(x * 3)
        return values[0]

    return Program(f, lambda n: ([[1, [torch.zeros(2)]]], torch.randn(n, 4)))


@program
def list_of_closure_changed():
    kept: list[torch.Tensor] = []

    def f(x):
        kept.append(x * 2)
        return kept

    return Program(f, plain, lambda: list(kept))


@program
def dictionary_of_closure_returned():
    kept: dict[str, torch.Tensor] = {"a": torch.ones(3)}

    def f(x):
        return kept, x * 2

    return Program(f, plain, lambda: [kept])


@program
def default_dictionary_changed():
    kept: defaultdict[str, list] = defaultdict(list)

    def f(x):
        kept["a"].append(x * 2)
        return x + 1

    return Program(f, plain, lambda: [len(kept["a"]), kept["a"][-1]])


@program
def attribute_of_argument_set():
    class State:
        pass

    def f(state, x):
        state.y = x * 2
        return state

    return Program(f, lambda n: (State(), torch.randn(n, 4)), within=lambda fn, args: fn(*args).y)


@program
def list_sorted_and_returned():
    def f(values):
        values.reverse()
        return values, values[0] * 2

    return Program(f, lambda n: ([torch.randn(n, 4), torch.randn(n)],))


@program
def tuple_of_arguments_returned():
    def f(pair):
        return pair, pair[0] is pair[1]

    def arguments(n):
        x = torch.randn(n, 4)
        return ((x, x),)

    return Program(f, arguments)


class Pair(NamedTuple):
    first: torch.Tensor
    second: int


@program
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


@program
def key_renamed():
    def f(values):
        values["new"] = values.pop("old")
        return values["new"] * 2

    return Program(f, lambda n: ({"old": torch.randn(n, 4)},))


@program
def list_returned_of_learned():
    def f(values, x):
        return values, [*values, x * 2]

    return Program(f, lambda n: ([torch.randn(n, 4, requires_grad=True)], torch.randn(n, requires_grad=True)))


# ---------------------------------------------------------------------- who a tensor is


@program
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


@program
def parameter_as_argument():
    def f(p):
        return p * (2 if isinstance(p, nn.Parameter) else 3), type(p).__name__, p.__class__.__name__

    return Program(f, lambda n: (nn.Parameter(torch.randn(n, 4)) if n % 2 else torch.randn(n, 4, requires_grad=True),))


@program
def class_by_call():
    def f(x):
        made = x.__class__([1.0, 2.0])
        return made + x.sum(), type(x)(2, 3).shape

    return Program(f, plain)


@program
def shape_printed():
    def f(x):
        return x * 2, str(x.shape), f"{x.shape}", repr(x.size()), str(tuple(x.shape)), str(x.shape[0])

    return Program(f, plain)


@program
def tensor_printed():
    def f(x):
        return x * 2, repr(x), str(x + 1), f"{x.sum()}", f"{x.sum():.3f}", format(x.max())

    return Program(f, plain)


@program
def parameter_printed():
    w = nn.Parameter(torch.ones(2))

    def f(x):
        return x * 2, repr(w)

    return Program(f, plain)


@program
def identities():
    def f(x, y):
        return x + y, x is y, x is x, id(x) == id(y), hash(x) == hash(y), x in {x}, {x: 1}[x], y in {x: 2}

    def arguments(n):
        x = torch.randn(n, 4)
        return (x, x) if n % 2 else (x, torch.randn(n, 4))

    return Program(f, arguments)


@program
def identity_of_closure():
    w = torch.ones(4)

    def f(x):
        return x * 2, x is w, id(x) == id(w)

    return Program(f, lambda n: (w,) if n % 2 else (torch.randn(4),))


@program
def compared_with_closure():
    w = torch.ones(4)

    def f(x):
        return x * 2 if x is not w else x * 3

    return Program(f, lambda n: (w,) if n % 2 == 0 else (torch.randn(4),))


@program
def compared_with_parameter():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(4))

        def forward(self, x):
            return x * 2 if x is self.weight else x * 3

    module = Tied()
    return Program(module, lambda n: (module.weight,) if n % 2 == 0 else (torch.randn(4),))


@program
def looked_up_by_tensor():
    w = torch.ones(4)
    table = {w: 3}

    def f(x):
        return x * table.get(x, 5)

    return Program(f, lambda n: (w,) if n % 2 == 0 else (torch.randn(4),))


@program
def set_of_tensors_returned():
    def f(x):
        return {x}, x * 2

    def within(fn, args):
        found, y = fn(*args)
        return args[0] in found, len(found), y

    return Program(f, plain, within=within)


@program
def remembered_by_identity():
    seen: dict[int, int] = {}

    def f(x):
        seen[id(x)] = 1
        return x * 2

    return Program(f, plain, lambda: len(seen) > 0)


@program
def identity_printed():
    def f(x):
        return x * 2, f"{id(x)}"

    def within(fn, args):
        y, text = fn(*args)
        return y, text == str(id(args[0]))

    return Program(f, plain, within=within)


@program
def identity_number_returned():
    def f(x):
        return x * 2, id(x)

    def within(fn, args):
        y, number = fn(*args)
        return y, number == id(args[0])

    return Program(f, plain, within=within)


@program
def hash_returned():
    def f(x):
        return x * 2, hash(x)

    def within(fn, args):
        y, number = fn(*args)
        return y, number == hash(args[0])

    return Program(f, plain, within=within)


@program
def kept_by_tensor():
    def f(x, y):
        table = {x: x * 2, y: y * 3}
        return table[y], table[x], len({x, y, x})

    return Program(f, lambda n: (torch.randn(n, 4), torch.randn(n, 4)))


@program
def dictionary_by_tensor_returned():
    def f(x):
        return {x: 1}, x * 2

    def within(fn, args):
        table, y = fn(*args)
        return next(iter(table)) is args[0], y

    return Program(f, plain, within=within)


@program
def copied():
    def f(x):
        a, b = copy.copy(x), copy.deepcopy(x)
        a.add_(1)
        return x * 2, a, b

    return Program(f, plain)


@program
def copied_inner():
    def f(x):
        y = x * 2
        return copy.copy(y), copy.deepcopy(y)

    return Program(f, plain)


@program
def copied_deeply_of_learned():
    def f(x):
        return copy.deepcopy(x), copy.copy(x)

    return Program(f, learned)


@program
def copied_inner_of_learned():
    def f(x):
        return copy.deepcopy(x * 2)

    return Program(f, learned)


@program
def module_copied():
    torch.manual_seed(0)
    module = nn.Linear(4, 3)

    def f(x):
        return copy.deepcopy(module)(x)

    return Program(f, plain, lambda: list(module.parameters()))


@program
def containers_copied():
    def f(values):
        other = copy.copy(values)
        other.append(values[0] * 2)
        return other, values

    return Program(f, lambda n: ([torch.randn(n, 4)],))


@program
def to_numpy():
    def f(x):
        return x * 2, float(x.numpy().sum()), x.tolist(), x.sum().item()

    return Program(f, plain)


@program
def from_numpy():
    def f(x):
        return torch.from_numpy(x.numpy() * 2) + x, torch.tensor(x.numpy()), torch.as_tensor(x.numpy())

    return Program(f, plain)


@program
def to_array():
    import numpy

    def f(x):
        return x + 1, float(numpy.asarray(x).sum()), numpy.add(x, 1).shape

    return Program(f, plain)


@program
def by_dlpack():
    def f(x):
        return torch.from_dlpack(torch.utils.dlpack.to_dlpack(x)) * 2, torch.from_dlpack(x) + 1

    return Program(f, plain)


@program
def pointers():
    def f(x):
        y = x.view(-1)
        return x * 2, x.data_ptr() == y.data_ptr(), x.untyped_storage().nbytes(), x.untyped_storage().data_ptr() > 0

    return Program(f, plain)


@program
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


@program
def kinds_asked():
    def f(x):
        return (
            x * 2,
            x.is_floating_point(),
            x.is_complex(),
            x.is_sparse,
            x.is_quantized,
            x.is_cuda,
            x.is_meta,
            x.is_cpu,
            x.device.type,
            x.layout == torch.strided,
            x.is_nested,
            x.is_shared(),
            x.is_pinned(),
            x.is_conj(),
            x.is_neg(),
            x.itemsize,
            x.names,
        )

    return Program(f, plain)


@program
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


@program
def attribute_of_tensor_set():
    def f(x):
        y = x * 2
        y.note = 5
        return y

    return Program(f, plain, within=lambda fn, args: getattr(fn(*args), "note", None))


@program
def attribute_of_argument_tensor_set():
    def f(x):
        x.note = 5
        return x * 2

    def within(fn, args):
        fn(*args)
        return getattr(args[0], "note", None)

    return Program(f, plain, within=within)


@program
def attribute_of_closure_counted():
    w = torch.ones(4)

    def f(x):
        w.calls = getattr(w, "calls", 0) + 1
        return x * w.calls

    return Program(f, plain, lambda: w.calls)


@program
def attribute_of_parameter_counted():
    module = nn.Linear(4, 3)
    module.weight.calls = 0

    def f(x):
        module.weight.calls += 1
        return x * module.weight.calls

    return Program(f, plain, lambda: module.weight.calls)


@program
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


@program
def attribute_deleted():
    def f(x):
        del x.note
        return x * 2

    def arguments(n):
        x = torch.randn(n, 4)
        x.note = 3
        return (x,)

    return Program(f, arguments, within=lambda fn, args: (fn(*args), hasattr(args[0], "note")))


@program
def attributes_listed():
    def f(x):
        return x * (2 + len(vars(x)))

    def arguments(n):
        x = torch.randn(n, 4)
        if n % 2:
            x.note = 3
        return (x,)

    return Program(f, arguments)


@program
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


@program
def tracing_asked():
    def f(x):
        return (
            x * 2,
            torch._C._get_tracing_state() is None,
            torch.jit.is_tracing(),
            torch.jit.is_scripting(),
            torch.compiler.is_dynamo_compiling(),
            torch.is_inference_mode_enabled(),
            torch.is_grad_enabled(),
        )

    return Program(f, plain)


@program
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


@program
def function_mode_around():
    seen: list[str] = []

    class Mode(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(getattr(func, "__name__", ""))
            return func(*args, **(kwargs or {}))

    return Program(lambda x: torch.add(x, 1), plain, lambda: list(seen), around=Mode)


@program
def warned():
    import warnings

    seen: list[int] = []

    def f(x):
        seen.append(1)
        warnings.warn("again", stacklevel=1)
        return x * 2

    return Program(f, both and plain, lambda: len(seen))
