"""A custom backend: torch runs each kernel over the whole grid of its loops.

    >>> import torch
    >>> from frontends.pytorch import compile
    >>> @compile(backend="docs.examples.pytorch.kernel_backend:backend", dynamic=True)
    ... def attend(scores, mask):
    ...     return torch.softmax(scores * 0.125 + mask, -1)
    >>> scores, mask = torch.ones(4, 7), torch.arange(7.0)
    >>> torch.allclose(attend(scores, mask), torch.softmax(scores * 0.125 + mask, -1))
    True
    >>> print("\\n".join(backend.compiled))
    k0: for i0 < scores_size0 | i1 < scores_size1, lanes i1
      pass 0:
        maximum0 += ((scores[scores_size1*i0 + i1] * 0.125) + mask[i1])
      pass 1:
        sum1 += exp((((scores[scores_size1*i0 + i1] * 0.125) + mask[i1]) - maximum0))
      pass 2:
        made0[scores_size1*i0 + i1] = (exp((((scores[scores_size1*i0 + i1] * 0.125) + mask[i1]) - maximum0)) / sum1)

A compiler would print code where this one prints the kernel, and return what calls that code. It is tested by

    pytest --pyargs backends.testing.conformance --shape-backend=docs.examples.pytorch.kernel_backend:backend
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from backends import interpreter
from backends.backend import Backend, Launch
from backends.decisions.questions import Decisions
from backends.loops.kernels import Kernel


class WholeGrid(Backend):
    """Keeps the text of each kernel that it compiles."""

    device = "cpu"

    def __init__(self) -> None:
        self.compiled: list[str] = []

    def allocate(self, sizes: Sequence[int], strides: Sequence[int], dtype: torch.dtype, /) -> torch.Tensor:
        return torch.empty_strided(sizes, strides, dtype=dtype)

    def kernels(self, scheduled: Sequence[Kernel], decisions: Decisions, /) -> list[Launch]:
        self.compiled += map(str, scheduled)
        return [interpreter.launch(kernel) for kernel in scheduled]


backend = WholeGrid()
