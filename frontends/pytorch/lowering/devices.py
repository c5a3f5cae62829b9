"""Device placement of a program's tensors.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> from frontends.pytorch.graphs.functional import functional
    >>> place_of(functional(trace(torch.relu, (torch.randn(3),)))).device
    device(type='cpu')

Kernels run on one device. Like operators, a program on an accelerator accepts CPU scalars (tensors with one element) if
they are not aliased by its results.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import torch

from backends.loops.operations import DTYPES
from frontends.pytorch.errors import Unsupported
from frontends.pytorch.graphs.form import Form
from frontends.pytorch.recording.operations import results_of
from frontends.pytorch.symbolic.metadata import name_of
from frontends.pytorch.symbolic.tensor import Result

aten: Final = torch.ops.aten
WRITTEN: Final = (aten.lift_fresh_copy.default, aten.scalar_tensor.default, aten.full.default)
"""Operators that make tensors of a program's literals."""


@dataclass(frozen=True, slots=True)
class Places:
    """A program's device.

    Attributes:
        device: where everything is computed; None if there is no tensor.
        brought: CPU scalars that are copied to it.
    """

    device: torch.device | None
    brought: frozenset[Result] = frozenset()


def place_of(form: Form) -> Places:
    """Find a program's device.

    Raises:
        Unsupported: on several devices.
    """
    made = list(results_of([operation.output for operation in form.operations]))
    given = [*[result for _, result in form.inputs], *form.constants]
    where = {each: each.metadata.device for each in (*given, *made) if each.metadata is not None}
    devices = [*dict.fromkeys(where.values())]
    device = next((each for each in devices if each.type != "cpu"), devices[0] if devices else None)
    apart = [each for each in where if where[each] != device]
    if not apart:
        return Places(device)
    writing = [each for each in form.operations if each.target in WRITTEN]
    literals = {each.output for each in writing}
    seen = {each for each in (*form.outputs, *form.changed) if isinstance(each, Result)}
    for each in apart:
        if each in seen or each not in literals.union(given) or not is_number(each):
            raise Unsupported(f"a program with tensors on both {device} and {where[each]} has no kernels")
    literals.update(results_of([each.args for each in writing]))
    return Places(device, frozenset(apart) - literals)


def is_number(result: Result) -> bool:
    """Return True for a CPU scalar."""
    kind = result.metadata
    return kind is not None and kind.device.type == "cpu" and not kind.sizes and name_of(kind.dtype) in DTYPES


@dataclass(frozen=True, slots=True)
class Brought:
    """Copy a CPU scalar to a device, without synchronization."""

    device: torch.device

    def __call__(self, number: torch.Tensor) -> torch.Tensor:
        return torch.full((), number.item(), dtype=number.dtype, device=self.device)
