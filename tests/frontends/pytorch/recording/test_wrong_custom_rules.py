"""Custom operators whose rule or fake implementation is wrong, or knows less than the run."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
import torch

from frontends.pytorch import compile
from frontends.pytorch.custom_operators import custom_op
from shapes.errors import RuleViolation, ShapeError
from shapes.rules import Shape

BACKENDS = ("eager", "cpu")
library = torch.library.Library("predictions", "FRAGMENT")
operators = torch.ops.predictions


def defined(name: str, kernel: Callable[..., object], fake: Callable[..., object] | None, schema: str) -> None:
    library.define(f"{name}{schema}")
    library.impl(name, kernel, "CPU")
    if fake is not None:
        torch.library.register_fake(f"predictions::{name}", fake)


def alike(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)


def some_rows(x: torch.Tensor) -> torch.Tensor:
    rows = torch.library.get_ctx().new_dynamic_size()
    return x.new_empty(rows, x.shape[1])


def few_rows(x: torch.Tensor) -> torch.Tensor:
    rows = torch.library.get_ctx().new_dynamic_size(min=2, max=4)
    return x.new_empty(rows, x.shape[1])


def positive_rows(x: torch.Tensor) -> torch.Tensor:
    return x[x[:, 0] > 0]


ONE = "(Tensor x) -> Tensor"
defined("longer", lambda x: torch.cat([x, x]), alike, ONE)
defined("shorter", lambda x: x[:1].clone(), alike, ONE)
defined("rank", lambda x: x.sum(0), alike, ONE)
defined("dtype", lambda x: x.double(), alike, ONE)
defined("strides", lambda x: x.t().contiguous().t(), alike, ONE)
defined("device", lambda x: torch.empty_like(x, device="meta"), alike, ONE)
defined("layout", lambda x: x.to_sparse(), alike, ONE)
defined("second", lambda x: (x + 1, x[:1] + 1), lambda x: (alike(x), alike(x)), "(Tensor x) -> (Tensor, Tensor)")
defined("more", lambda x: [x + 1, x + 2, x + 3], lambda x: [alike(x), alike(x)], "(Tensor x) -> Tensor[]")
defined("fewer", lambda x: [x + 1], lambda x: [alike(x), alike(x)], "(Tensor x) -> Tensor[]")
defined("halves", lambda x: x[: x.shape[0] // 2 + 1] + 0, lambda x: x.new_empty(x.shape[0] // 2, x.shape[1]), ONE)
defined("argument", lambda x: x.view(-1), lambda x: x.new_empty(x.numel()), ONE)
defined("columns", lambda x: positive_rows(x)[:, :2] + 0, some_rows, ONE)
defined("out_of_range", positive_rows, few_rows, ONE)
WRONG = (
    *("longer", "shorter", "rank", "dtype", "strides", "device", "layout", "second", "more", "fewer", "halves"),
    *("argument", "columns", "out_of_range"),
)

defined("offset", lambda x: torch.cat([x, x])[1 : x.shape[0] + 1], alike, ONE)
defined("rows", positive_rows, some_rows, ONE)
defined("doubled_rows", lambda x: positive_rows(x).repeat(2, 1), lambda x: some_rows(x).repeat(2, 1), ONE)
defined("untold", positive_rows, None, ONE)
defined("listed", torch.cat, None, "(Tensor[] x) -> Tensor")
defined("halved", lambda x: x.new_ones(x.shape[0] // 2, 3), None, ONE)
defined("counted", lambda x: x.shape[0] * 2, lambda x: x.shape[0] * 2, "(Tensor x) -> int")


@custom_op("predictions::ruled")
def ruled(x: torch.Tensor) -> torch.Tensor:
    return torch.cat([x, x])


@ruled.shape_rule
def _(env, x):
    return x


@custom_op("predictions::bounded")
def bounded(x: torch.Tensor) -> torch.Tensor:
    return torch.cat([x, x])


@bounded.shape_rule
def _(env, x):
    rows = env.unbacked(lo=0)
    env.postulate(rows <= x[0])
    return Shape((rows, *x[1:]))


def program(operator: Callable[..., object], x: torch.Tensor) -> list[object]:
    """Kernels before and behind an operator, which rely on what it gives."""
    found = operator(x * 2)
    results = found if isinstance(found, list | tuple) else (found,)
    return [part for each in results for part in (each, each + 1 if isinstance(each, torch.Tensor) else each)]


def compiled(operator: Callable[..., object], **options: object) -> Callable[..., object]:
    return compile(lambda x: program(operator, x), **options)


def all_close(mine: Sequence[object], theirs: Sequence[object]) -> None:
    torch.testing.assert_close(list(mine), list(theirs))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", WRONG)
def test_wrong(name: str, backend: str) -> None:
    """Fails when kernels trust the sizes, strides or dtype that a fake implementation says of an operator."""
    x = torch.ones(6, 4)
    for fullgraph in (True, False):
        f = compiled(getattr(operators, name), backend=backend, dynamic=True, fullgraph=fullgraph)
        with pytest.raises(RuntimeError) as caught:
            f(x)
        text = str(caught.value)
        assert f"predictions::{name}" in text
        if name != "out_of_range":
            assert isinstance(caught.value, RuleViolation)
            assert "predicted:" in text and "result:" in text and "fake implementation" in text
            assert "test_wrong_custom_rules.py" in text


@pytest.mark.parametrize("backend", BACKENDS)
def test_wrong_rule(backend: str) -> None:
    """Fails when a result longer than its memory is returned, or the error does not name the rule and both sizes."""
    x = torch.ones(6, 4)
    f = compiled(ruled, backend=backend, dynamic=True)
    with pytest.raises(RuleViolation) as caught:
        f(x)
    for part in ("predictions::ruled", "the shape rule predictions.ruled", "float32[6, 4]", "float32[12, 4]"):
        assert part in str(caught.value)


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_a_rule_says_of_the_run(backend: str) -> None:
    """Fails when a bound on a size of the run is believed because a rule says so."""
    f = compiled(bounded, backend=backend, dynamic=True)
    x = torch.ones(6, 4)
    try:
        found = f(x)
    except RuntimeError as error:
        assert "predictions::bounded" in str(error)
    else:
        all_close(found, program(bounded, x))


@pytest.mark.parametrize("backend", BACKENDS)
def test_later_sizes(backend: str) -> None:
    """Fails when a prediction is compared at the traced sizes only."""
    x, wider = torch.ones(2, 3), torch.ones(2, 40)
    kernel = lambda x: x.sum(1, keepdim=True) if x.shape[1] > 20 else x + 0  # noqa: E731
    if not hasattr(operators, "later"):
        defined("later", kernel, alike, ONE)
    f = compiled(operators.later, backend=backend, dynamic=True)
    all_close(f(x), program(operators.later, x))
    with pytest.raises(RuleViolation, match="predictions::later"):
        f(wider)
    assert len(f.variants) == 1


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", ["untold", "listed", "counted", "halved"])
def test_runs_without_a_prediction(name: str, backend: str) -> None:
    """Fails when an operator of which nothing is known, or not enough, ends a call that needs no graph."""
    operator = getattr(operators, name)
    called = (lambda x: operator([x, x])) if name == "listed" else operator
    x = torch.randn(6, 4)
    f = compiled(called, backend=backend, dynamic=True)
    for _ in range(2):
        all_close(f(x), program(called, x))
    with pytest.raises(RuntimeError):
        compiled(called, backend=backend, dynamic=True, fullgraph=True)(x)


@pytest.mark.parametrize("backend", BACKENDS)
def test_gradient(backend: str) -> None:
    """Fails when a result is not compared in a graph with a backward, or comparing takes its gradient away."""

    @torch.library.custom_op("predictions::squared", mutates_args=())
    def squared(x: torch.Tensor) -> torch.Tensor:
        return x * x if x.shape[0] < 5 else x[:1] * x[:1]

    squared.register_fake(alike)
    squared.register_autograd(
        lambda ctx, gradient: 2 * gradient * ctx.saved_tensors[0],
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
    )
    f = compile(lambda x: squared(x * 3).sum(), backend=backend, dynamic=True)
    x = torch.randn(4, 2, requires_grad=True)
    f(x).backward()
    torch.testing.assert_close(x.grad, 18 * x.detach())
    with pytest.raises(RuleViolation):
        f(torch.randn(7, 2, requires_grad=True))


def test_in_a_branch() -> None:
    """Fails when an operator inside of torch.cond is trusted."""
    f = compile(lambda x: torch.cond(x.sum() > 0, operators.longer, lambda x: x + 1, (x,)), dynamic=True)
    torch.testing.assert_close(f(-torch.ones(2, 3)), torch.zeros(2, 3))
    with pytest.raises((RuleViolation, ShapeError)):
        f(torch.ones(2, 3))
