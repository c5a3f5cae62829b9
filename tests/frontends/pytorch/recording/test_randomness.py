"""Programs that read or set the state of a generator of random numbers, checked against eager torch.

Each runs at several sizes, from several seeds: what it returns, its gradient and the states of all generators
afterwards are eager's. A state that a trace reads is that of the trace, in every later call.
"""

from __future__ import annotations

import os
import random
import secrets
import uuid
from collections.abc import Callable

import numpy
import pytest
import torch
import torch.nn.functional as F
from torch.utils._pytree import tree_leaves
from torch.utils.checkpoint import checkpoint

from frontends.pytorch import compile, trace
from frontends.pytorch.errors import Unsupported

GENERATOR = torch.Generator()
weight = torch.nn.Parameter(torch.randn(4, 4, generator=torch.Generator().manual_seed(0)))
other = torch.nn.Parameter(torch.randn(4, 4, generator=torch.Generator().manual_seed(1)))


PROGRAMS: list[Callable[..., object]] = []


def program(function: Callable[..., object]) -> Callable[..., object]:
    """A program, in the list."""
    PROGRAMS.append(function)
    return function


# ---------------------------------------------------------------------- setting a state


@program
def seeds_the_default_generator(x):
    y = torch.rand_like(x)
    torch.default_generator.manual_seed(5)
    return x + y, torch.rand_like(x)


# ---------------------------------------------------------------------- checkpoints


def block(x):
    return F.dropout((x @ weight).relu(), 0.3)


@program
def checkpointed(x):
    return checkpoint(block, x, use_reentrant=False)


@program
def checkpointed_within(x):
    def outer(z):
        return checkpoint(block, z * 2, use_reentrant=False) @ other

    return checkpoint(outer, x, use_reentrant=False)


@program
def checkpointed_and_drawn_anew(x):
    return checkpoint(block, x, use_reentrant=False, preserve_rng_state=False)


@program
def checkpointed_reentrantly_and_drawn_anew(x):
    return checkpoint(block, x * 1, use_reentrant=True, preserve_rng_state=False)


@program
def drawn_before_a_reentrant_checkpoint(x):
    return checkpoint(block, F.dropout(x * 1, 0.5), use_reentrant=True)


@program
def checkpointed_in_sequence(x):
    layers = [block, torch.tanh, block, torch.relu]
    return torch.utils.checkpoint.checkpoint_sequential(layers, 2, x * 1, use_reentrant=False)


@program
def checkpointed_with_a_generator(x):
    def drawn(z):
        return z * torch.rand(z.shape, generator=GENERATOR)

    return checkpoint(drawn, x * 1, use_reentrant=False)


@program
def checkpointed_twice(x):
    y = F.dropout(x, 0.5)
    return checkpoint(lambda t: F.dropout(t.sin(), 0.3) * F.dropout(t, 0.2), y, use_reentrant=False) * F.dropout(x, 0.1)


@program
def checkpointed_and_changed_in_place(x):
    def drawn(z):
        y = F.dropout(z, 0.5)
        return y.mul_(2).sin()

    return checkpoint(drawn, x * 1, use_reentrant=False)


@program
def checkpointed_and_drawn_in_place(x):
    return checkpoint(lambda z: z.sin() * F.dropout2d(z[None, :, :, None], 0.5)[0, :, :, 0], x, use_reentrant=False)


WHOLE = (checkpointed, checkpointed_within, checkpointed_in_sequence, checkpointed_twice)
"""The programs that are one graph."""


def outcome(program: Callable[..., object], x: torch.Tensor, seed: int) -> list[object]:
    """The results of a call, its gradients, and all states afterwards, from these seeds."""
    torch.manual_seed(seed)
    GENERATOR.manual_seed(seed + 1)
    random.seed(seed + 3)
    numpy.random.seed(seed + 4)
    weight.grad = other.grad = None
    found = tree_leaves(program(x))
    tensors = [each for each in found if isinstance(each, torch.Tensor) and each.requires_grad]
    if tensors:
        sum([(each * torch.linspace(0, 1, each.numel()).view(each.shape)).sum() for each in tensors]).backward()
        found += [x.grad, weight.grad, other.grad]
    found += [torch.get_rng_state(), GENERATOR.get_state(), random.getstate()]
    return [*found, *numpy.random.get_state()[1:3]]


def agrees(program: Callable[..., object], backend: str) -> object:
    compiled = compile(program, backend=backend)
    for call, rows in enumerate((3, 5, 3, 8, 5)):
        given = torch.randn(rows, 4, generator=torch.Generator().manual_seed(call))
        mine, theirs = [outcome(each, given.clone().requires_grad_(), 10 * call) for each in (compiled, program)]
        assert len(mine) == len(theirs)
        for place, (one, same) in enumerate(zip(mine, theirs)):
            where = f"call {call}, value {place}"
            if isinstance(same, torch.Tensor) and same.is_floating_point():
                torch.testing.assert_close(
                    one, same, rtol=1e-5, atol=1e-6, msg=lambda text, where=where: f"{where}: {text}"
                )
            else:
                assert (
                    numpy.array_equal(one, same) if isinstance(same, torch.Tensor | numpy.ndarray) else one == same
                ), where
    return compiled


@pytest.mark.parametrize("backend", ["eager", "cpu"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_a_program_does_what_it_does_in_eager_torch(program: Callable[..., object], backend: str) -> None:
    compiled = agrees(program, backend)
    if program in WHOLE:
        assert compiled.variants
        assert not compiled.fallbacks


@pytest.mark.parametrize(
    "draw",
    [
        lambda: random.SystemRandom().random(),
        lambda: secrets.randbelow(1 << 40),
        lambda: uuid.uuid4().int % (1 << 40),
        lambda: os.urandom(4)[0],
        lambda: float(numpy.random.default_rng().random()),
    ],
)
def test_what_the_system_draws_is_drawn_on_every_call(draw: Callable[[], float]) -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        return x * draw()

    compiled = compile(program)
    x = torch.ones(3, dtype=torch.float64)
    assert len({float(compiled(x)[0]) for _ in range(20)}) > 1


def test_a_checkpoint_draws_what_it_drew() -> None:
    """Fails when a checkpoint whose recomputation draws by other arguments differs from eager."""
    steps = [0.5, 0.2]

    def drawn(x: torch.Tensor) -> torch.Tensor:
        return F.dropout(x, steps[0] if x.requires_grad and torch.is_grad_enabled() else steps[1])

    def program(x: torch.Tensor) -> torch.Tensor:
        return checkpoint(drawn, x * 1, use_reentrant=True)

    agrees(program, "eager")


def test_a_trace_of_a_checkpoint_that_draws_is_refused() -> None:
    """Fails when a checkpoint whose recomputation draws other numbers than the forward is captured."""

    def program(x):
        x = x.detach().requires_grad_()
        return torch.autograd.grad(checkpoint(block, x, use_reentrant=False).sum(), x)

    with pytest.raises(Unsupported, match="checkpoint"):
        trace(program, (torch.ones(3, 4),))
