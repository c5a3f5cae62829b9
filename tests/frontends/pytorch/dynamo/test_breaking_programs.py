"""Programs that cannot be one graph do what they do in Python, whatever changes around them between two calls."""

from __future__ import annotations

import contextlib
import io
import logging
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch.utils._pytree import tree_leaves

from frontends.pytorch import compile
from tests.frontends.pytorch.dynamo.breaking_programs import LOG, PROGRAMS, Made

SIZES = ((3, 4), (5, 2), (2, 7), (3, 4), (3, 4), (4, 4))


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    gradients = torch.is_grad_enabled()
    yield
    torch.set_grad_enabled(gradients)
    torch.compiler.reset()


class Kept(logging.Handler):
    """Keeps messages."""

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


def outcome(function: Callable[..., Any], size: tuple[int, int], seed: int, *, learned: bool) -> list[object]:
    """All that a call does: what it returns, or raises, prints and draws, and what it leaves of its argument."""
    generator = torch.Generator().manual_seed(seed)
    leaf = torch.randn(size, generator=generator).requires_grad_(learned)
    x = leaf * 1 if learned else leaf
    torch.manual_seed(seed)
    handler, returned, raised = Kept(), None, None
    LOG.addHandler(handler)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        try:
            returned = function(x)
        except Exception as error:
            raised = type(error).__name__, str(error)
    LOG.removeHandler(handler)
    outputs = [each for each in tree_leaves(returned) if isinstance(each, torch.Tensor) and each.requires_grad]
    gradients: Any = ()
    if outputs and learned:
        # of a complex tensor, the magnitude
        total = sum([(each.abs() if each.is_complex() else each).sum() for each in outputs])
        gradients = torch.autograd.grad(total, leaf, allow_unused=True)
    is_given = [each is x for each in tree_leaves(returned)]
    return [returned, raised, printed.getvalue(), handler.messages, torch.get_rng_state(), x, gradients, is_given]


def same(found: object, expected: object, where: str) -> None:
    ones, others = tree_leaves(found), tree_leaves(expected)
    assert len(ones) == len(others), where
    for one, other in zip(ones, others):
        assert type(one) is type(other), where
        if isinstance(other, torch.Tensor):
            torch.testing.assert_close(one, other, msg=lambda text: f"{where}: {text}")
            assert (one.stride(), one.requires_grad) == (other.stride(), other.requires_grad), where
        elif isinstance(other, float):
            assert one == pytest.approx(other, rel=1e-5, abs=1e-6), where
        else:
            assert one == other, where


def state_of(program: object) -> list[object]:
    return list(program.state_dict().values()) if isinstance(program, torch.nn.Module) else []


WAYS = [
    pytest.param("cpu", False, id="cpu-inference"),
    pytest.param("cpu", True, id="cpu-training", marks=pytest.mark.thorough),
    pytest.param("eager", True, id="eager-training", marks=pytest.mark.thorough),
]


def compare(expected: Made, given: Made, *, backend: str, learned: bool) -> None:
    """Compare each call of a compiled program with the program itself."""
    (program, change), (function, change_ours) = expected, given
    compiled = compile(function, backend=backend, dynamic=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number, size in enumerate(SIZES):
            change(number)
            wanted = outcome(program, size, number, learned=learned)
            change_ours(number)
            found = outcome(compiled, size, number, learned=learned)
            same(found, wanted, f"call {number} at {size}")
            same(state_of(function), state_of(program), f"state after call {number}")


@pytest.mark.parametrize(("backend", "learned"), WAYS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_as_eager_torch(name: str, backend: str, learned: bool) -> None:
    """If it fails, a program that breaks does something else than in Python, or forgets what has changed around it."""
    compare(PROGRAMS[name](), PROGRAMS[name](), backend=backend, learned=learned)
