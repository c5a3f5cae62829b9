"""Programs that set or read what holds for all of torch, ask tensors who they are, and change what they get."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable
from typing import NamedTuple

import torch

from tests.frontends.pytorch.autograd_programs import plain
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


# ---------------------------------------------------------------------- containers


@program(lambda n: ([torch.randn(n, 4)], torch.randn(n, 4)))
def list_returned_within(values, x):
    return {"values": values, "y": x * 2}


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


# ---------------------------------------------------------------------- who a tensor is


@stateful
def identities():
    def f(x, y):
        return x + y, x is y, x is x, id(x) == id(y), hash(x) == hash(y), x in {x}, {x: 1}[x], y in {x: 2}

    def arguments(n):
        x = torch.randn(n, 4)
        return (x, x) if n % 2 else (x, torch.randn(n, 4))

    return Program(f, arguments)


@stateful
def looked_up_by_tensor():
    w = torch.ones(4)
    table = {w: 3}

    def f(x):
        return x * table.get(x, 5)

    return Program(f, lambda n: (w,) if n % 2 == 0 else (torch.randn(4),))


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
def function_mode_around():
    seen: list[str] = []

    class Mode(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(getattr(func, "__name__", ""))
            return func(*args, **(kwargs or {}))

    return Program(lambda x: torch.add(x, 1), plain, lambda: list(seen), around=Mode)
