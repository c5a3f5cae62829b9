"""Lowering of traced programs to tensor expressions: ATen operators in, a `backends.loops.program.Program` out.

    >>> import torch
    >>> from frontends.pytorch.graphs.functional import functional
    >>> from frontends.pytorch.lowering import lower
    >>> from frontends.pytorch.tracing import trace
    >>> def program(x, weight):
    ...     return torch.relu(x @ weight).mean(-1)
    >>> variant = trace(program, (torch.randn(3, 8), torch.randn(8, 5)))
    >>> for step in lower(functional(variant), variant.env).steps:
    ...     print(step)
    made0 = aten.mm.default(float32[x_size0, x_size1], float32[weight_size0, weight_size1])
    made1[i0] = float32[x_size0]

A table maps operators to lowering functions (`registry.py`). An operator without one, or whose function declines, is
called: where loops gain nothing, where they lack the dtype, and where some elements are errors (an integer divided by
zero).

float16 and bfloat16 values are float32 within a kernel: they are rounded when they are stored, not after each operator
as in eager. Explicit casts to a half are rounded.
"""

from __future__ import annotations

from collections.abc import Collection

from backends.decisions.questions import Decisions
from backends.loops.program import Program
from frontends.pytorch.graphs.form import Form
from frontends.pytorch.lowering import (
    decomposed,
    joining,
    normalization,
    pointwise,
    ragged,
    reductions,
    views,
)
from frontends.pytorch.lowering.registry import LOWERINGS
from frontends.pytorch.lowering.writer import Laid, Writer
from frontends.pytorch.symbolic.tensor import Result
from shapes.env import ShapeEnv


def lower(
    form: Form,
    env: ShapeEnv,
    decisions: Decisions | None = None,
    *,
    inner: Collection[Result] = (),
    laid: Laid | None = None,
) -> Program:
    """Lower a functionalized program to steps for backends.

    Args:
        inner: outputs that only another compiled program reads: they may have any layout.
        laid: the strides of such tensors when they are inputs.

    Raises:
        Unsupported: it is on several devices, or mutates an argument of a dtype that loops do not support.
    """
    program = Program(Decisions(env) if decisions is None else decisions)
    Writer(program, form, inner, laid).run()
    return program


__all__ = ["LOWERINGS", "lower"]
