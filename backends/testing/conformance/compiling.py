"""A program compiled by a backend, of either kind.

>>> from backends import cpu, eager
>>> from backends.testing.conformance.compiling import compiled
>>> from backends.testing.conformance.programs import PROGRAMS
>>> each = PROGRAMS["transposed"]
>>> for backend in (cpu, eager):
...     compiled(each, backend)(each.inputs(b=1, s=2))[0].shape
torch.Size([2, 1])
torch.Size([2, 1])
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch.fx.experimental.proxy_tensor import make_fx

from backends.backend import AnyBackend, GraphBackend, Run, emits_kernels, runs_graphs
from backends.program.host import hosted
from backends.testing.conformance.programs import Lowered
from shapes.guards.toolchain import Unavailable


class NotHere(Exception):
    """A backend that compiles nothing on this machine, and why."""


def compiled(lowered: Lowered, backend: AnyBackend) -> Run:
    """Return a function that runs a program at any sizes.

    Raises:
        NotHere: the backend says why it cannot.
    """
    if emits_kernels(backend):
        host = hosted(lowered.program(), backend)
        if isinstance(host, Unavailable):
            raise NotHere(host.reason)
        return host.function
    assert runs_graphs(backend)
    return _traced(lowered, backend)


def _traced(lowered: Lowered, backend: GraphBackend) -> Run:
    def run(inputs: Sequence[object]) -> Sequence[object]:
        graph = make_fx(lambda *given: lowered.oracle(given))(*inputs)
        return backend.runner(graph)(inputs)

    return run


def device_of(backend: AnyBackend) -> str:
    """The device of a backend's tensors."""
    return backend.device if emits_kernels(backend) else "cpu"


def on(device: str, tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Tensors on a device, with the strides that they have."""
    return [torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device=device).copy_(x) for x in tensors]
