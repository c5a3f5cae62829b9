"""What a compiled function keeps alive: graphs and guards, never what went through a call; once it is gone, nothing."""

from __future__ import annotations

import gc
import linecache
import weakref
from pathlib import Path
from types import FunctionType

import pytest
import torch

from frontends.pytorch import compile


def program(x, y):
    inner = (x * 2).relu()
    return inner.sum(-1) + y, [inner]


@pytest.mark.parametrize("backend", ["eager", "cpu"])
@pytest.mark.parametrize("gradients", [False, True])
def test_arguments_and_results_are_freed(backend: str, gradients: bool) -> None:
    """Fails when a variant holds the arguments that it was traced with, or what it gave."""
    f = compile(program, dynamic=True, backend=backend, fullgraph=True)
    held = []
    for rows in (3, 5, 1):
        x, y = torch.randn(rows, 4, requires_grad=gradients), torch.randn(rows)
        out, (inner,) = f(x, y)
        if gradients:
            out.sum().backward()
        held += [weakref.ref(each) for each in (x, y, out, inner)]
        del x, y, out, inner
    gc.collect()
    assert len(f.variants) in (1, 2) and [each() for each in held] == [None] * len(held)


def test_arguments_of_calls_with_breaks_are_freed() -> None:
    """Fails when what is kept of a program that breaks holds its arguments."""

    def breaking(x):
        y = x.exp()
        return y * 2 if y.sum().item() > 0 else y

    f = compile(breaking, dynamic=True)
    held = []
    for rows in (3, 5, 3):
        x = torch.randn(rows, 4)
        held.append(weakref.ref(x))
        f(x)
        del x
    gc.collect()
    assert f.fallbacks and [each() for each in held] == [None] * len(held)


def printed(number: int, backend: str) -> list[weakref.ref]:
    """A program of its own, compiled and called; what has to go with it."""
    scope = {"torch": torch}
    exec(f"def f(x, y):\n    return (x * {number}.5 + y.shape[0]).relu().sum(-1) / (x.shape[1] + {number})", scope)
    f = compile(scope["f"], dynamic=True, backend=backend)
    for rows in (3, 5):
        f(torch.randn(rows, 4), torch.randn(rows + 2))
    assert len(f.variants) == 1
    return [weakref.ref(f), weakref.ref(scope["f"]), weakref.ref(f.variants[0])]


def trained(number: int, backend: str) -> list[weakref.ref]:
    module = torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.ReLU(), torch.nn.Linear(5, 2))
    f = compile(module, dynamic=True, backend=backend)
    for rows in (3, 5):
        f(torch.randn(rows, 4)).sum().backward()
    assert len(f.variants) == 1
    return [weakref.ref(f), weakref.ref(module), weakref.ref(module[0].weight), weakref.ref(f.variants[0])]


def broken(number: int, backend: str) -> list[weakref.ref]:
    held = torch.randn(4)

    def program(x):
        return x * held if x.sum().item() > number else x - held

    f = compile(program, dynamic=True, backend=backend)
    for rows in (3, 5):
        f(torch.randn(rows, 4))
    assert f.fallbacks
    return [weakref.ref(f), weakref.ref(program), weakref.ref(held)]


def of_own_class(number: int, backend: str) -> list[weakref.ref]:
    class Own(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = torch.nn.Linear(4, 4)

        def forward(self, x):
            return self.inner(x) * number if isinstance(x.shape[0], int) else x

    module = Own()
    f = compile(module, dynamic=True, backend=backend)
    for rows in (3, 5):
        f(torch.ones(rows, 4))
    assert f.variants
    return [weakref.ref(f), weakref.ref(Own), weakref.ref(Own.forward)]


def asking(number: int, backend: str) -> list[weakref.ref]:
    """A program in globals of its own, which asks for classes, as functions beside it do."""
    scope = {"torch": torch, "Beside": type("Beside", (), {})}
    exec("def beside(x):\n    return isinstance(x, int)", scope)
    exec(f"def f(x):\n    return x * {number}.5 if isinstance(x.shape[0], int) else x", scope)
    f = compile(scope["f"], dynamic=True, backend=backend)
    f(torch.ones(3))
    assert f.variants
    return [weakref.ref(f), weakref.ref(scope["f"]), weakref.ref(scope["beside"]), weakref.ref(scope["Beside"])]


KINDS = {"own class": of_own_class, "asking": asking, "printed": printed, "trained": trained, "broken": broken}


@pytest.mark.parametrize("backend", ["eager", "cpu"])
@pytest.mark.parametrize("kind", KINDS)
def test_functions_that_are_dropped_are_gone(kind: str, backend: str) -> None:
    """Fails when a registry, a cache or a generated text keeps a compiled function, its program, its tensors."""
    known = set(linecache.cache)
    held = [each for number in range(4) for each in KINDS[kind](number % 2, backend)]
    # what the last of them left behind in what is looked up by the latest
    last = KINDS["printed"](0, "eager")
    gc.collect()
    assert [each() for each in held] == [None] * len(held) and [each() for each in last] == [None] * 3
    assert not [file for file in linecache.cache.keys() - known if file.startswith(("<graph ", "<program "))]


@pytest.mark.parametrize("kind", ["printed", "trained"])
def test_functions_that_are_dropped_are_collected_by_themselves(kind: str) -> None:
    """Fails when traces keep the collector of garbage from its work, or leave it what it does not see through: the
    functions that are dropped then stay until the process asks for a collection, which it never does."""
    gc.collect()
    held = [each for number in range(6) for each in KINDS[kind](number, "eager")]
    # what is due is collected before the trace of the next one
    KINDS["printed"](0, "eager")
    ours = [each() for each in held if not isinstance(each(), FunctionType)]
    assert len(held) >= 18 and ours == [None] * len(ours)


def test_the_collector_stays_as_the_program_has_set_it() -> None:
    """Fails when a trace collects in a program that has told the interpreter not to."""

    class Node:
        pass

    gc.disable()
    try:
        node = Node()
        node.itself = node
        gone = weakref.ref(node)
        del node
        printed(7, "eager")
        assert gone() is not None and not gc.isenabled()
    finally:
        gc.enable()
    gc.collect()
    assert gone() is None and gc.get_freeze_count() == 0


def resident() -> float:
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1])


@pytest.mark.thorough
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the system does not tell what memory is resident")
def test_resident_memory_of_2000_functions() -> None:
    """Fails when memory grows with every function that was compiled and dropped: 3 % are left to the allocator, once
    the caches that have a limit are full. Cycles are collected at fixed steps, as Python's own times depend on the
    process."""
    for number in range(600):
        printed(number, "eager")
    before = resident()
    for number in range(600, 2600):
        printed(number, "eager")
        if number % 100 == 0:
            gc.collect()
    assert resident() < 1.03 * before
