"""Programs as people write them, run by eager torch and compiled, call by call.

A program is made by a function that is given what compiles: nothing, our `compile`, or `torch.compile` with our
backend. It compiles what its writer would (a model's `forward`, `optimizer.step`, a loss), and gives a function of a
size, which is called at several sizes, some of them again. What each call returns and prints, what the program keeps,
and the state of the random numbers are compared with eager torch's.

    >>> from tests.frontends.pytorch.real_programs.running import CASES, ours
    >>> from tests.frontends.pytorch.real_programs import keeping
    >>> ours(CASES["counts its calls"])
    Outcome(wrong=(), how='graphs', variants=2)
"""

from __future__ import annotations

import contextlib
import io
import random
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch._dynamo.utils import counters
from torch.utils._pytree import tree_leaves

from frontends.pytorch import compile
from frontends.pytorch.dynamo.backend import Graph
from frontends.pytorch.dynamo.compiled import Compiled
from frontends.pytorch.dynamo.graph_breaks import BREAKS, NO_OPERATORS, in_short
from tests.frontends.pytorch.observed import differences, numbers

SIZES = (3, 5, 5, 2, 7, 4, 3)
SMALL = ("functions", "iterators", "containers", "classes", "flow", "outside", "tensors", "modules")
"""The modules of programs that are."""
KINDS = ("graphs", "breaks", "eager")
"""The ways that calls run: as graphs; as Python with graphs between, some of them; as they are, some of them."""

Call = Callable[[int], object]
Compiling = Callable[[Any], Any]
Made = tuple[Call, Callable[[], object]]


@dataclass(frozen=True)
class Outcome:
    """The observations of a compiled program.

    Attributes:
        wrong: where it differs from eager torch.
        how: the way its calls run, one of `KINDS`.
        variants: the number of graphs in the end.
    """

    wrong: tuple[str, ...]
    how: str
    variants: int

    @property
    def text(self) -> str:
        """The outcome as the page has it."""
        return f"{self.how}, {self.variants}"


@dataclass(frozen=True)
class Case:
    """A program.

    Attributes:
        feature: the feature of torch that it uses.
        make: gives what is called with a size, and what it keeps.
    """

    feature: str
    name: str
    make: Callable[[Compiling], Made]

    @property
    def is_small(self) -> bool:
        """True for a few lines about a feature of Python or of tensors, as in torch's own suites of Dynamo."""
        return self.make.__module__.rpartition(".")[2] in SMALL


CASES: dict[str, Case] = {}


def program(feature: str) -> Callable[[Callable[[Compiling], Any]], Callable[[Compiling], Any]]:
    """A program of a feature, in the list."""

    def added(make: Callable[[Compiling], Any]) -> Callable[[Compiling], Any]:
        def complete(compiling: Compiling) -> Made:
            made = make(compiling)
            return made if isinstance(made, tuple) else (made, lambda: None)

        name = make.__name__.replace("_", " ").strip()
        assert name not in CASES, name
        complete.__module__ = make.__module__
        CASES[name] = Case(feature, name, complete)
        return make

    return added


def of_one(feature: str) -> Callable[[Callable[[torch.Tensor], object]], Callable[[torch.Tensor], object]]:
    """A program that is a function of one tensor without state; what becomes of the tensor is looked at as well."""

    def added(function: Callable[[torch.Tensor], object]) -> Callable[[torch.Tensor], object]:
        def make(compiling: Compiling) -> Call:
            compiled = compiling(function)

            def call(size: int) -> object:
                x = torch.randn(size, 4)
                found = compiled(x)
                return found, x, [leaf is x for leaf in tree_leaves(found)]

            return call

        make.__name__, make.__module__ = function.__name__, function.__module__
        program(feature)(make)
        return function

    return added


def observed(case: Case, compiling: Compiling) -> Iterator[dict[str, object]]:
    """The observations of each call."""
    torch.manual_seed(0)
    call, state = case.make(compiling)
    for number, size in enumerate(SIZES):
        torch.manual_seed(100 + number)
        random.seed(number)
        np.random.seed(number)
        printed = io.StringIO()
        returned, raised = [], ""
        with contextlib.redirect_stdout(printed):
            try:
                returned = plain(call(size))
            except Exception as error:
                raised = f"{type(error).__name__}: {error}"
        settings = torch.is_grad_enabled(), torch.is_autocast_enabled("cpu"), torch.get_default_dtype()
        others = [random.random(), float(np.random.rand())]
        yield {
            "returned": returned,
            "raises": raised,
            "kept": plain(state()),
            "prints": printed.getvalue(),
            "random numbers": [torch.get_rng_state().tolist(), others],
            "settings": settings,
        }


def plain(value: object) -> list[object]:
    """The leaves, of tensors all that there is to see."""
    found: list[object] = []
    for leaf in tree_leaves(value):
        if isinstance(leaf, torch.Tensor):
            found += [numbers(leaf.detach()), leaf.requires_grad, leaf.grad_fn is None, type(leaf).__name__]
            found += plain(leaf.grad) if leaf.is_leaf else ()
        else:
            found.append(leaf.tolist() if isinstance(leaf, np.ndarray) else leaf)
    return found


def compared(case: Case, compiling: Compiling) -> tuple[str, ...]:
    """Where a program, compiled, differs from eager torch."""
    expected = list(observed(case, lambda fn: fn))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = list(observed(case, compiling))
    return tuple(
        [
            f"call {number} of size {SIZES[number]}: {text}"
            for number, (one, other) in enumerate(zip(found, expected))
            for text in differences(one, other, tolerance=1e-4)
        ]
    )


def ours(case: Case) -> Outcome:
    """A program by our `compile`."""
    compiled: list[Compiled] = []

    def compiling(fn: Any) -> Any:
        compiled.append(compile(fn, dynamic=True, backend="cpu"))
        return compiled[-1]

    with dynamo():
        wrong = compared(case, compiling)
        graphs = [graph for each in compiled for graph in each._program.graphs]
        programs = [each._program for each in compiled]
        # a program that ends or breaks before its first operator is none that falls back
        left = {NO_OPERATORS, *map(in_short, counters[BREAKS])}
        fell_back = any(each.question or each.reason not in left for one in programs for each in one.fallbacks)
        assert compiled, f"{case.name} compiles nothing"
        return Outcome(wrong, kind(graphs, fell_back), sum([len(graph.variants) for graph in graphs]))


def kind(graphs: list[Graph], fell_back: bool) -> str:
    """The way that calls ran which made these graphs, one of `KINDS`; a program without an operator has none."""
    frames = counters["frames"]
    if fell_back or frames["ok"] < frames["total"] and not graphs or any(graph.reason for graph in graphs):
        return "eager"
    is_broken = counters["graph_break"] or frames["ok"] < frames["total"]
    return "breaks" if is_broken or any(graph.ended is not None for graph in graphs) else "graphs"


def by_dynamo(case: Case) -> Outcome:
    """A program by `torch.compile` with our backend."""
    graphs: list[Graph] = []

    def watched(module: torch.fx.GraphModule, inputs: Any) -> Callable[..., object]:
        graphs.append(Graph(module, backend="cpu"))
        return graphs[-1].call

    with dynamo():
        wrong = compared(case, lambda fn: torch.compile(fn, backend=watched, dynamic=True))
        return Outcome(wrong, kind(graphs, False), sum([len(graph.variants) for graph in graphs]))


def is_torchs(case: Case) -> bool:
    """Return True if `torch.compile` differs from eager torch with torch's own backend as well."""
    with dynamo():
        try:
            return bool(compared(case, lambda fn: torch.compile(fn, backend="aot_eager", dynamic=True)))
        except Exception:
            return True


@contextlib.contextmanager
def dynamo() -> Iterator[None]:
    """Dynamo as in a new process, which it is again afterwards."""
    torch.compiler.reset()
    counters.clear()
    try:
        yield
    finally:
        torch.compiler.reset()
        counters.clear()
