"""Contraction order of an einsum: chosen by the hints, correct for all sizes.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> variant = trace(lambda x, y, z: torch.einsum("ab,bc,cd->ad", x, y, z), [torch.randn(4, 4) for _ in range(3)])
    >>> [str(guard) for guard in variant.guards]
    ['x_size1 == y_size0', 'y_size1 == z_size0']

Torch calls `opt_einsum`, which would specialize each size.
"""

from __future__ import annotations

import itertools

import torch
from torch.backends import opt_einsum

from frontends.pytorch.symbolic.function_mode import Arguments, Function, Keywords, TorchFunctions, handles
from frontends.pytorch.symbolic.node import value_of
from shapes.symbolic.numbers import SymInt

TYPICAL = 8
"""The assumed value of an unbacked size."""


@handles(torch.functional.einsum)
def einsum(mode: TorchFunctions, func: Function, args: Arguments, kwargs: Keywords) -> object:
    """The same contraction in an order that adds no guard."""
    equation, operands = args[0], args[1:]
    if len(operands) == 1 and isinstance(operands[0], list | tuple):
        operands = operands[0]
    if not isinstance(equation, str) or len(operands) <= 2 or not opt_einsum.enabled or not opt_einsum.is_available():
        return NotImplemented

    def number(size: object) -> int:
        value = value_of(size)
        hint = mode.trace.env.hint(value) if isinstance(value, SymInt) else value
        return TYPICAL if hint is None else int(hint)

    shapes = [tuple([number(size) for size in operand.shape]) for operand in operands]
    finder = opt_einsum.get_opt_einsum()
    path = finder.contract_path(equation, *shapes, shapes=True, optimize=opt_einsum.strategy)[0]
    return torch._VF.einsum(equation, operands, path=[*itertools.chain.from_iterable(path)])
