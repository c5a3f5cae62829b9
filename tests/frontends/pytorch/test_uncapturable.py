"""Programs that no graph takes, and programs in which torch traces, differentiates forward, or transforms: as eager."""

from __future__ import annotations

import copy
import threading
import time

import pytest
import torch
from torch.autograd import forward_ad
from torch.autograd.graph import saved_tensors_hooks
from torch.func import jvp, vmap
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils._pytree import tree_leaves
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

from frontends.pytorch import compile


class Doubled(saved_tensors_hooks):
    def __init__(self) -> None:
        super().__init__(lambda tensor: tensor, lambda tensor: tensor * 2)


def in_a_thread(x):
    found = []
    thread = threading.Thread(target=lambda: found.append(x + 1))
    thread.start()
    thread.join()
    return found[0]


def hooked(x):
    with Doubled():
        return x * x.sin()


def shifted(x):
    return x.sin() + 1


def dual(x):
    with forward_ad.dual_level():
        return tuple(forward_ad.unpack_dual(forward_ad.make_dual(x.detach(), torch.ones_like(x)).sin()))


PROGRAMS = {
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
    "hooks of a class": hooked,
    # for a tensor of other sizes than the argument's: those would be in the graph
    "make_fx of a constant": lambda x: make_fx(shifted)(torch.ones(2))(x.detach()),
    "make_fx": lambda x: make_fx(shifted)(x.detach())(x.detach() * 2),
    "jvp": lambda x: jvp(shifted, (x.detach(),), (torch.ones_like(x),)),
    "dual numbers": dual,
    "cond in vmap": lambda x: vmap(lambda row: torch.cond(row.sum() > 0, torch.sin, torch.cos, (row,)))(x.detach()),
}


@pytest.mark.parametrize("backend", ["eager", "cpu"])
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.filterwarnings("ignore")
def test_it_is_as_eager(name: str, backend: str) -> None:
    """Fails when what is refused as one graph is refused in any case, or does something else."""
    program = PROGRAMS[name]
    compiled = compile(program, backend=backend, dynamic=True)
    for rows in (4, 5):
        ours, theirs = [torch.ones(rows, 3, requires_grad=True) for _ in range(2)]
        got, wanted = tree_leaves(compiled(ours)), tree_leaves(program(theirs))
        torch.testing.assert_close(got, wanted)
        if wanted[0].requires_grad:
            got[0].sum().backward(), wanted[0].sum().backward()
            torch.testing.assert_close(ours.grad, theirs.grad)
