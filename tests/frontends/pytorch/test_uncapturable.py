"""Programs that no graph takes are as eager."""

from __future__ import annotations

import copy
import threading
import time

import pytest
import torch
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

from frontends.pytorch import compile


class Partial(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 2, x * 3

    @staticmethod
    def backward(ctx, one, other):
        return one * 2 if other is None else one * 2 + other * 3


def in_a_thread(x):
    found = []
    thread = threading.Thread(target=lambda: found.append(x + 1))
    thread.start()
    thread.join()
    return found[0]


PROGRAMS = {
    "some gradients": lambda x: Partial.apply(x)[0],
    "a reentrant checkpoint": lambda x: checkpoint(lambda y: y.sin().exp(), x, use_reentrant=True),
    "reentrant in sequence": lambda x: checkpoint_sequential([torch.sin, torch.cos], 2, x, use_reentrant=True),
    "copied": lambda x: copy.deepcopy(x.detach() + 1),
    "by dlpack": lambda x: torch.from_dlpack(torch.to_dlpack(x.detach() + 1)),
    "quantized": lambda x: torch.quantize_per_tensor(x.detach(), 0.1, 0, torch.qint8).dequantize(),
    "in a thread": in_a_thread,
    "formatted": lambda x: x * len("{rows:04d}".format_map({"rows": x.nonzero().shape[0]})),
    "as text": lambda x: x * len(f"{x}"),
    "an address": lambda x: x * (x.data_ptr() % 2),
    "a clock": lambda x: x * (time.time() > 0),
    "a state": lambda x: x + torch.get_rng_state()[:1] * 0,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_without_asking_for_one_graph_it_is_as_eager(name: str) -> None:
    """Fails when what is refused as one graph is refused in any case, or does something else."""
    program = PROGRAMS[name]
    compiled = compile(program, dynamic=True)
    for rows in (4, 5):
        ours, theirs = [torch.ones(rows, 3, requires_grad=True) for _ in range(2)]
        got, wanted = compiled(ours), program(theirs)
        torch.testing.assert_close(got, wanted)
        if wanted.requires_grad:
            got.sum().backward(), wanted.sum().backward()
            torch.testing.assert_close(ours.grad, theirs.grad)
