"""A compiled function beside the function itself, call by call: all that the caller can see of either.

A program is made twice, once for each and from the same random numbers, and called with the same arguments at sizes
that repeat and change. After each call what it returned or raised, what became of its arguments and of what it keeps,
torch's settings and the state of the generator are put into plain values, and then compared; so are the gradients of
what it returned.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from frontends.pytorch import compile
from frontends.pytorch.symbolic.tensor import Traced

SIZES = (3, 3, 5, 2, 5)


@dataclass
class Program:
    """A function, its arguments for a size, and what else of it can be seen after a call."""

    fn: Callable[..., object]
    arguments: Callable[[int], Sequence[object]] = lambda n: (torch.randn(n, 4),)
    state: Callable[[], object] = lambda: None
    around: Callable[[], Any] | None = None
    """The context of each call."""
    within: Callable[[Callable[..., object], Sequence[object]], object] = lambda fn, args: fn(*args)
    """A function that calls the program."""
    sizes: Sequence[int] = SIZES
    backward: bool = True
    ignored: Sequence[str] = ()
    """Parts of the observation that may differ."""


class Programs(dict[str, Callable[[], Program]]):
    """Programs by name, declared by decorators; each is made anew for each way to run it."""

    def program(self, arguments: Callable[[int], Sequence[object]], **options: Any) -> Callable[[Any], Any]:
        """A function that keeps nothing itself, with its arguments for a size."""

        def declare(function: Callable[..., object]) -> Callable[..., object]:
            self[function.__name__] = lambda: Program(function, arguments, **options)
            return function

        return declare

    def stateful(self, make: Callable[[], Program]) -> Callable[[], Program]:
        """A function that makes the program and what it keeps."""
        self[make.__name__] = make
        return make


@dataclass
class Seen:
    """Names for objects, given in the order in which they are met."""

    names: dict[int, str] = field(default_factory=dict)
    kept: list[object] = field(default_factory=list)

    def name(self, value: object, label: str) -> str:
        self.kept.append(value)
        return self.names.setdefault(id(value), label)


def settings() -> dict[str, object]:
    """Torch's settings."""
    return {
        "gradients": torch.is_grad_enabled(),
        "inference": torch.is_inference_mode_enabled(),
        "dtype": torch.get_default_dtype(),
        "device": str(torch.get_default_device()),
        "deterministic": (
            torch.are_deterministic_algorithms_enabled(),
            torch.is_deterministic_algorithms_warn_only_enabled(),
            torch.utils.deterministic.fill_uninitialized_memory,
        ),
        "threads": torch.get_num_threads(),
        "precision": torch.get_float32_matmul_precision(),
        "cudnn": (torch.backends.cudnn.enabled, torch.backends.cudnn.benchmark, torch.backends.cudnn.deterministic),
        "mkldnn": torch.backends.mkldnn.enabled,
        "tf32": (torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32),
        "attention": (
            torch.backends.cuda.flash_sdp_enabled(),
            torch.backends.cuda.mem_efficient_sdp_enabled(),
            torch.backends.cuda.math_sdp_enabled(),
        ),
        "anomalies": (torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()),
        "autocast": (
            torch.is_autocast_enabled("cpu"),
            torch.get_autocast_dtype("cpu"),
            torch.is_autocast_cache_enabled(),
        ),
        "printing": torch._tensor_str.PRINT_OPTS.precision,
        "subnormal": float(torch.tensor([1e-310], dtype=torch.float64) * 1),
        "multithreading": torch._C._is_multithreading_enabled(),
        "saved": torch._C._autograd._saved_tensors_hooks_is_enabled(),
        "warn_always": torch.is_warn_always_enabled(),
        "function_modes": torch._C._len_torch_function_stack(),
        "dispatch_modes": torch._C._len_torch_dispatch_stack(),
        "compiling": (torch.compiler.is_compiling(), torch._C._get_tracing_state() is not None),
    }


@contextmanager
def settings_kept() -> Iterator[None]:
    """Whatever happens to torch's settings, they are put back."""
    before = settings()
    # torch's own tests, once imported, forbid to set flags otherwise than by context managers
    with torch.backends.__allow_nonbracketed_mutation():
        try:
            yield
        finally:
            _put_back(before)


def _put_back(before: dict[str, object]) -> None:
    torch.set_grad_enabled(before["gradients"])
    torch.set_default_device(None)
    torch.set_default_dtype(before["dtype"])
    enabled, warn, fill = before["deterministic"]
    torch.use_deterministic_algorithms(enabled, warn_only=warn)
    torch.utils.deterministic.fill_uninitialized_memory = fill
    torch.set_num_threads(before["threads"])
    flash, efficient, plain = before["attention"]
    torch.backends.cuda.enable_flash_sdp(flash)
    torch.backends.cuda.enable_mem_efficient_sdp(efficient)
    torch.backends.cuda.enable_math_sdp(plain)
    torch.autograd.set_detect_anomaly(*before["anomalies"])
    on, dtype, cached = before["autocast"]
    torch.set_autocast_enabled("cpu", on)
    torch.set_autocast_dtype("cpu", dtype)
    torch.set_autocast_cache_enabled(cached)


def described(value: object, seen: Seen, label: str) -> object:
    """All that can be seen of a value, as plain values; an object that was met before is its name."""
    if isinstance(value, torch.Tensor):
        known = id(value) in seen.names
        name = seen.name(value, label)
        if known:
            return ("same", name)
        assert type(value) in (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer), type(value)
        with torch.no_grad(), torch.inference_mode(value.is_inference()):
            base = value._base
            elements = value.detach().clone().double() if value.is_floating_point() else value.detach().clone()
        return {
            "class": type(value).__name__,
            "dtype": value.dtype,
            "shape": tuple(value.shape),
            "elements": elements.tolist(),
            "requires_grad": value.requires_grad,
            "is_leaf": value.is_leaf,
            "grad_fn": value.grad_fn is not None,
            "retains_grad": value.retains_grad,
            "is_view": value._is_view(),
            "base": None if base is None else seen.names.get(id(base), "another"),
            "is_inference": value.is_inference(),
            "grad": described(value.grad, seen, f"{name}.grad") if value.is_leaf or value.retains_grad else None,
        }
    if isinstance(value, dict):
        name = seen.name(value, label)
        if name != label:
            return ("same", name)
        return (type(value).__name__, {key: described(each, seen, f"{label}[{key!r}]") for key, each in value.items()})
    if isinstance(value, list | tuple):
        # tuples have no identity that matters
        name = seen.name(value, label) if isinstance(value, list) else label
        if name != label:
            return ("same", name)
        return (type(value).__name__, [described(each, seen, f"{label}[{n}]") for n, each in enumerate(value)])
    if type(value).__module__ == "builtins" or isinstance(value, torch.dtype | torch.device | torch.Size):
        return repr(value) if isinstance(value, type) else value
    name = seen.name(value, label)
    return ("same", name) if name != label else (type(value).__qualname__, name)


def observed(program: Program, fn: Callable[..., object]) -> Iterator[dict[str, object]]:
    """The observations of each call."""
    for number, size in enumerate(program.sizes):
        torch.manual_seed(1000 + size)
        args = list(program.arguments(size))
        leaves = [leaf for leaf in tree_leaves(args) if isinstance(leaf, torch.Tensor)]
        versions = [None if leaf.is_inference() else leaf._version for leaf in leaves]
        torch.manual_seed(number)
        seen = Seen()
        for place, arg in enumerate(args):
            seen.name(arg, f"argument {place}")
        for place, leaf in enumerate(leaves):
            seen.name(leaf, f"tensor {place}")
        found: dict[str, object] = {}
        returned: object = None
        try:
            returned = program.within(fn, args) if program.around is None else _inside(program, fn, args)
            found["returned"] = described(returned, seen, "result")
        except Exception as error:
            found["raised"] = _kind(error)
            found["text"] = str(error)
        found["settings"] = settings()
        found["generator"] = torch.get_rng_state().sum().item()
        found["versions"] = [
            None if leaf.is_inference() else leaf._version - before for leaf, before in zip(leaves, versions)
        ]
        again = Seen(dict(seen.names))
        for leaf in (*args, *leaves):
            again.names.pop(id(leaf), None)
        found["arguments"] = described(args, again, "arguments")
        found["state"] = described(program.state(), Seen(), "state")
        if program.backward and "raised" not in found:
            outputs = [each for each in tree_leaves(returned) if isinstance(each, torch.Tensor) and each.requires_grad]
            outputs = list({id(each): each for each in outputs if each.grad_fn is not None}.values())
            if outputs:
                try:
                    torch.autograd.backward([each.double().square().sum() for each in outputs])
                except Exception as error:
                    found["backward raised"] = _kind(error)
                found["gradients"] = [described(leaf.grad, Seen(), "") if leaf.is_leaf else None for leaf in leaves]
                found["state after"] = described(program.state(), Seen(), "state")
        yield found


def _inside(program: Program, fn: Callable[..., object], args: Sequence[object]) -> object:
    with program.around():
        return program.within(fn, args)


def _kind(error: Exception) -> str:
    return type(error).__name__


def numbers(value: torch.Tensor) -> dict[str, object]:
    """The elements of a tensor, and how they lie."""
    elements = torch.view_as_real(value.resolve_conj()) if value.is_complex() else value
    elements = elements.double() if elements.is_floating_point() else elements
    return {"dtype": value.dtype, "shape": tuple(value.shape), "strides": value.stride(), "elements": elements.tolist()}


def differences(one: object, other: object, path: str = "", tolerance: float = 1e-5) -> Iterator[str]:
    """Where two observations differ; numbers count as equal up to rounding."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in dict.fromkeys([*one, *other]):
            if key == "text":
                continue
            if key not in one or key not in other:
                left, right = one.get(key, "nothing"), other.get(key, "nothing")
                yield f"{path}.{key}: {left} {one.get('text', '')!r}, not {right} {other.get('text', '')!r}"
            else:
                yield from differences(one[key], other[key], f"{path}.{key}", tolerance)
    elif isinstance(one, list | tuple) and isinstance(other, list | tuple) and len(one) == len(other):
        for place, (a, b) in enumerate(zip(one, other)):
            yield from differences(a, b, f"{path}[{place}]", tolerance)
    elif isinstance(one, float) and isinstance(other, float):
        if not (one == other or abs(one - other) <= 1e-5 + tolerance * abs(other) or (one != one and other != other)):
            yield f"{path}: {one}, not {other}"
    elif type(one) is not type(other) or one != other:
        yield f"{path}: {one!r}, not {other!r}"


def compared(make: Callable[[], Program], backend: str, fullgraph: bool = False) -> list[str]:
    """Differences between a program and the same compiled, and state that a trace left behind."""
    with settings_kept():
        torch.manual_seed(0)
        program = make()
        expected = list(observed(program, program.fn))
    with settings_kept():
        torch.manual_seed(0)
        program = make()
        compiled = compile(program.fn, backend=backend, fullgraph=fullgraph)
        found = list(observed(program, compiled))
    wrong, ignored = [], program.ignored
    for number, (one, other) in enumerate(zip(found, expected)):
        found_here = differences(one, other)
        wrong += [f"call {number}{text}" for text in found_here if text.split(":")[0].split(".")[-1] not in ignored]
    return wrong


def left_behind() -> list[object]:
    """Tensors of traces that some program still holds."""
    gc.collect()
    return [each for each in gc.get_objects() if type(each) is Traced]
