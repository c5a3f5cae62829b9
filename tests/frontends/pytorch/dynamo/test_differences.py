"""Programs in which Dynamo differs from eager are refused: they run as Python, with the reason."""

from __future__ import annotations

import collections
import functools
import inspect
import re
from collections.abc import Callable
from pathlib import Path
from types import GeneratorType
from typing import Any

import pytest
import torch
from torch._dynamo import config

from frontends.pytorch import compile
from frontends.pytorch.dynamo.capturing import SETTINGS
from frontends.pytorch.dynamo.differences import DIFFERENCES, DIVIDED
from frontends.pytorch.errors import GraphBreak
from tests.frontends.pytorch.dynamo.calls import Made, did, plain

PAGE = Path(__file__).parents[4] / "docs" / "differences.md"
NUMBER = 3

no_entries = pytest.fixture(torch._dynamo.reset, autouse=True)


def closure_of_a_method() -> Made:
    seen: list[int] = []

    class Scope:
        def __enter__(self) -> int:
            seen.append(1)
            return len(seen)

        def __exit__(self, *error: object) -> None:
            seen.append(2)

    def step(x: torch.Tensor) -> object:
        with Scope() as number:
            return x * number

    return step, seen


def hook_for_a_gradient() -> Made:
    weight = torch.nn.Parameter(torch.ones(1))
    seen: list[torch.Tensor] = []
    weight.register_post_accumulate_grad_hook(lambda leaf: seen.append(leaf.grad.clone()))
    weight.register_hook(lambda gradient: gradient * 2)

    def step(x: torch.Tensor) -> object:
        (x * weight).sum().backward()
        return x + 1

    return step, seen


def memoized() -> Made:
    calls: list[int] = []

    @functools.cache
    def scale(rows: int) -> float:
        calls.append(rows)
        return rows * 0.5

    return lambda x: x * scale(int(x.shape[0])), calls


def memoized_tensors() -> Made:
    @functools.cache
    def table(rows: int) -> torch.Tensor:
        return torch.arange(rows) * 1.0

    return lambda x: table(int(x.shape[0])).add_(x), None


def attribute_of_a_function() -> Made:
    def step(x: Any) -> object:
        step.calls = getattr(step, "calls", 0) + 1  # type: ignore[attr-defined]
        return x * step.calls  # type: ignore[attr-defined]

    return step, None


def order_of_a_dictionary() -> Made:
    table = collections.OrderedDict(a=1, b=2)

    def step(x: torch.Tensor) -> object:
        table.move_to_end("a")
        return x + next(iter(table.values()))

    return step, table


def attribute_of_a_class() -> Made:
    class Counted:
        calls = 0

        def next(self) -> int:
            type(self).calls += 1
            return self.calls

    return lambda x: x * Counted().next(), None


def own_variables() -> Made:
    return lambda x: x * globals()["NUMBER"] + len(locals()), None


def generator_of_a_broken_frame() -> Made:
    def step(x: torch.Tensor) -> object:
        numbers = (each for each in [1])
        next(numbers, None)
        before = inspect.getgeneratorstate(numbers)
        list(numbers)
        return before, inspect.getgeneratorstate(numbers), isinstance(numbers, GeneratorType), x

    return step, None


class Kept:
    kept: object


def attributes() -> Made:
    def step(x: torch.Tensor) -> object:
        made = Kept()
        made.kept = x * 2
        return made.__dict__

    return step, None


def setting() -> Made:
    def step(x: torch.Tensor) -> object:
        torch.set_default_dtype(torch.float64)
        try:
            return x + torch.ones(x.shape[0])
        finally:
            torch.set_default_dtype(torch.float32)

    return step, None


def backward_after_a_break(x: torch.Tensor) -> object:
    weight = torch.ones(x.shape[0], requires_grad=True)
    loss = (weight * x).sum()
    if loss > 0:
        loss = loss * 2
    loss.backward()
    return weight.grad


class Partial(torch.autograd.Function):
    """A gradient that depends on which results have one."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        ctx.set_materialize_grads(False)
        return x * 2, x * 3

    @staticmethod
    def backward(ctx: Any, one: torch.Tensor, other: torch.Tensor | None) -> torch.Tensor:
        return one if other is None else one + other + 1


def partial_gradient(x: torch.Tensor) -> object:
    x = x.detach().requires_grad_()
    return torch.autograd.grad(Partial.apply(x)[0].sum(), x)


REFUSED: dict[str, Callable[[], Made]] = {
    "a closure of a method of a new object": closure_of_a_method,
    "a memoized function has state": memoized,
    "a memoized function computes tensors": memoized_tensors,
    "an attribute that may be missing is set on a function": attribute_of_a_function,
    "an OrderedDict whose order is changed": order_of_a_dictionary,
    "backward() of a tensor with a hook": hook_for_a_gradient,
    "backward() after a graph break": plain(backward_after_a_break),
    "an autograd.Function without materialized gradients": plain(partial_gradient),
    "an attribute of a class is set": attribute_of_a_class,
    "a frame that reads its variables and has a graph break": own_variables,
    "a generator in a frame with a graph break": generator_of_a_broken_frame,
    "a generator is returned, or live at a graph break": plain(lambda x: (x + each for each in range(3))),
    "an object's __dict__ is returned, or live at a graph break": attributes,
    "Python's max or min of tensors": plain(lambda x: max(x.sum() - 4, 0.0)),
    "format()": plain(lambda x: (format(3.14159, ".2f"), x + 1)),
    "an error message that contains a size": plain(lambda x: (repr(ValueError(x.shape[0])), x + 1)),
}
IN_RANDOMNESS = "a checkpoint that is computed anew"
"""Tested with other checkpoints, in tests/frontends/pytorch/recording/test_randomness.py."""
BY_US = {"a torch setting is changed": setting}
"""Programs that Dynamo captures rightly by itself."""


@pytest.mark.parametrize("name", [*REFUSED, *BY_US])
def test_refused(name: str) -> None:
    """A program that torch compiles wrongly runs in eager, with the reason."""
    make = (REFUSED | BY_US)[name]
    expected = did(*make())
    function, state = make()
    compiled = compile(function, dynamic=True)
    assert did(compiled, state) == expected
    assert [each.reason.partition(": ")[0] for each in compiled.fallbacks] == [name]
    assert Path(__file__).name in compiled.fallbacks[0].reason


@pytest.mark.parametrize("name", [*REFUSED, *BY_US])
def test_refused_by_the_backend_of_torch(name: str, caplog: pytest.LogCaptureFixture) -> None:
    """A program that torch compiles wrongly runs otherwise by `torch.compile`, or without a word."""
    make = (REFUSED | BY_US)[name]
    expected = did(*make())
    function, state = make()
    assert did(torch.compile(function, backend="symshape", dynamic=True), state) == expected
    reasons = [each.getMessage().partition(" runs as Python: ")[2] for each in caplog.records]
    assert [each.partition(": ")[0] for each in reasons if each] == [name]


@pytest.mark.parametrize("name", REFUSED)
def test_torch_still_differs(name: str) -> None:
    """Torch still differs from eager in each refused program; a mended one leaves `DIFFERENCES` and the page."""
    expected = did(*REFUSED[name]())
    function, state = REFUSED[name]()
    with config.patch(SETTINGS):
        try:
            found = did(torch.compile(function, backend="eager", dynamic=True), state)
        except Exception as error:
            found = [repr(error)]
    assert found != expected


def test_every_record_is_tested() -> None:
    """Every refused difference has a test that tells when torch has mended it."""
    assert {each.name for each in (*DIFFERENCES, *DIVIDED)} == {*REFUSED, *BY_US, IN_RANDOMNESS}


def test_every_record_is_in_the_page() -> None:
    """The page lists everything that is refused."""
    text = PAGE.read_text()
    assert [name for name in (*REFUSED, *BY_US) if name not in text] == []


def test_fullgraph_is_an_error_with_the_line() -> None:
    """With `fullgraph`, a program without a graph is an error with its line."""
    with pytest.raises(Exception, match=rf"(?s)format\(\): .*{re.escape(Path(__file__).name)}:\d+") as raised:
        compile(REFUSED["format()"]()[0], fullgraph=True)(torch.ones(3))
    assert isinstance(raised.value, GraphBreak)


def test_fullgraph_of_torch_is_an_error_with_the_line() -> None:
    """With torch's `fullgraph`, a program without a graph has a graph that differs."""
    with pytest.raises(GraphBreak, match=rf"(?s)format\(\): .*{re.escape(Path(__file__).name)}:\d+"):
        torch.compile(REFUSED["format()"]()[0], backend="symshape", fullgraph=True)(torch.ones(3))


@pytest.mark.parametrize("by_torch", [False, True])
@pytest.mark.filterwarnings("ignore:Dynamo detected a call to a `functools.lru_cache`")
def test_one_graph_of_a_memoized_function(by_torch: bool) -> None:
    """A difference of which torch warns is an error with `fullgraph`, or one of which it does not is none."""
    program, _ = memoized_tensors()
    compiled: Any = (
        torch.compile(program, backend="symshape", fullgraph=True) if by_torch else compile(program, fullgraph=True)
    )
    assert compiled(torch.ones(3)).tolist() == [1.0, 2.0, 3.0]
    with_state, _ = memoized()
    with pytest.raises(GraphBreak, match="a memoized function has state"):
        compile(with_state, fullgraph=True)(torch.ones(3))


@pytest.mark.parametrize("by_torch", [False, True])
def test_a_backward_on_the_line_of_a_graph_break(by_torch: bool) -> None:
    """Dynamo drops a `backward` whose leaves come from an earlier graph, also if another break follows on its line."""

    def made() -> tuple[Callable[[torch.Tensor], torch.Tensor], torch.Tensor]:
        weight = torch.nn.Parameter(torch.ones(3))

        def step(x: torch.Tensor) -> torch.Tensor:
            loss = (x * weight).sum()
            torch._dynamo.graph_break()
            (loss * 2).backward(); torch._dynamo.graph_break()  # fmt: skip  # noqa: E702
            return loss.detach()

        return step, weight

    (step, expected), (other, found) = made(), made()
    compiled: Any = torch.compile(other, backend="symshape") if by_torch else compile(other)
    for rows in (2, 4, 5):
        x = torch.randn(rows, 3)
        assert torch.equal(compiled(x), step(x))
        assert found.grad is not None
        torch.testing.assert_close(found.grad, expected.grad)


def test_a_training_step_of_the_backend_of_torch() -> None:
    """A step with another batch drops its gradients: Dynamo drops `backward` of a constant of the graph."""

    def made() -> tuple[Callable[[torch.Tensor], torch.Tensor], torch.Tensor]:
        weight = torch.nn.Parameter(torch.ones(3))
        optimizer = torch.optim.SGD([weight], lr=0.1)

        def step(x: torch.Tensor) -> torch.Tensor:
            optimizer.zero_grad()
            loss = (x * weight).pow(2).mean()
            loss.backward()
            optimizer.step()
            return loss.detach()

        return step, weight

    (step, expected), (other, found) = made(), made()
    compiled = torch.compile(other, backend="symshape")
    for rows in (2, 2, 5, 5, 4):
        x = torch.randn(rows, 3)
        torch.testing.assert_close(compiled(x), step(x))
        torch.testing.assert_close(found, expected)


def test_functions_without_the_difference_are_graphs() -> None:
    """Code around a refused frame is compiled."""

    def inner(x: torch.Tensor) -> object:
        return format(2.5, ".0f"), x * 2

    def outer(x: torch.Tensor) -> object:
        y = (x + 1).relu() * 3
        print(end="")
        return inner(y)

    compiled = compile(outer, dynamic=True)
    assert compiled(torch.ones(3))[0] == "2"
    assert compiled.graphs
