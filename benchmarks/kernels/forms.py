"""The measured parts of a compiled function: the kernels of one call, each with its arguments, to be replayed.

A form is called once with everything that it calls recorded, then the recorded calls are run over and over: so neither
side pays for guards, allocation or Python in between. What a form calls besides kernels, such as the operator that
draws the numbers of a dropout, is run again too.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from backends.program.host import Host

Calls = list[tuple[Callable[..., object], tuple[object, ...], dict[str, object]]]


@dataclass
class Form:
    """One way of compiling a function.

    Attributes:
        function: the compiled function.
        by_kernels: the same, by a way on which its kernels are called one by one.
        recording: a context that records its next calls of kernels.
        seconds: the times of first calls, compiling included.
    """

    name: str
    function: Callable[..., torch.Tensor]
    by_kernels: Callable[..., torch.Tensor]
    recording: Callable[[], Iterator[Calls]]
    seconds: list[float] = field(default_factory=list)

    def forward(self, inputs: Sequence[torch.Tensor]) -> tuple[torch.Tensor, Calls]:
        """The result, and the kernels behind it."""
        began = spent()
        self.function(*inputs)
        self.seconds.append(spent() - began)
        with self.recording() as calls:
            result = self.by_kernels(*inputs)
        return result, calls

    def backward(self, inputs: Sequence[torch.Tensor]) -> tuple[list[torch.Tensor], Calls]:
        """The gradients of the inputs, and the kernels of forward and backward: what is computed in which of the two
        is up to who compiles them, so only both together can be compared."""
        leaves = [x.detach().requires_grad_(x.is_floating_point()) for x in inputs]
        wanted = [leaf for leaf in leaves if leaf.requires_grad]
        torch.manual_seed(0)
        began = spent()
        result = self.function(*leaves)
        gradient = torch.ones_like(result)
        torch.autograd.grad(result, wanted, gradient)
        self.seconds.append(spent() - began)
        torch.manual_seed(0)
        with self.recording() as calls:
            result = self.by_kernels(*leaves)
            gradients = torch.autograd.grad(result, wanted, gradient)
        return list(gradients), calls


def spent() -> float:
    """Processor seconds of this process and of the compilers that it has waited for."""
    return sum(os.times()[:4])


def replay(calls: Calls) -> None:
    for function, args, kwargs in calls:
        function(*args, **kwargs)


def recorded(function: Callable[..., object], calls: Calls) -> Callable[..., object]:
    """The same, noting what it is given."""

    def call(*args: object, **kwargs: object) -> object:
        calls.append((function, args, kwargs))
        return function(*args, **kwargs)

    return call


@contextmanager
def replaced(scopes: Sequence[dict[str, object]], prefixes: tuple[str, ...]) -> Iterator[Calls]:
    """The names with these prefixes record their calls for a while."""
    calls: Calls = []
    before = [dict(scope) for scope in scopes]
    for scope in scopes:
        for name, value in list(scope.items()):
            if name.startswith(prefixes) and callable(value):
                scope[name] = recorded(value, calls)
    try:
        yield calls
    finally:
        for scope, old in zip(scopes, before):
            scope.update(old)


def ours(name: str, function: Callable[..., torch.Tensor], **options: object) -> Form:
    """A function compiled by this project for the CPU."""
    from frontends.pytorch import compile

    compiled = compile(function, backend="cpu", **options)

    def by_kernels(*inputs: torch.Tensor) -> torch.Tensor:
        return compiled.variants[-1].running.call(inputs)[0]

    @contextmanager
    def recording() -> Iterator[Calls]:
        hosts: list[Host] = [host for variant in compiled.variants for host in variant.running.hosts]
        with replaced([host.function.__globals__ for host in hosts], ("k", "f")) as calls:
            yield calls

    return Form(name, compiled, by_kernels, recording)


def inductors(name: str, function: Callable[..., torch.Tensor], *, dynamic: bool) -> Form:
    """The same function compiled by Inductor."""
    torch._dynamo.reset()
    copied = type(function)(function.__code__.replace(), function.__globals__)
    compiled = torch.compile(copied, dynamic=dynamic)

    @contextmanager
    def recording() -> Iterator[Calls]:
        with replaced([vars(module) for module in generated()], ("cpp_fused",)) as calls:
            yield calls

    return Form(name, compiled, compiled, recording)


def generated() -> list[ModuleType]:
    """The modules that Inductor has written in this process."""
    return [module for module in list(sys.modules.values()) if _has_kernels(module)]


def _has_kernels(module: object) -> bool:
    return isinstance(module, ModuleType) and any(name.startswith("cpp_fused") for name in vars(module))
