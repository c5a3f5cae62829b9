"""Factories whose number of steps, classes or rows is a plain int in the schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import torch

from frontends.pytorch.meta_rules.registry import kind_rule, packed, ruled

if TYPE_CHECKING:
    from frontends.pytorch.symbolic.tensor import Trace

aten: Final = torch.ops.aten
WINDOWS: Final = (
    aten.hann_window,
    aten.hamming_window,
    aten.blackman_window,
    aten.bartlett_window,
    aten.kaiser_window,
)


def registered(
    default: torch._ops.OpOverload,
    *operators: torch._ops.OpOverload,
    dtype: torch.dtype | None,
    counts: int | None = None,
) -> None:
    """The rule of a factory: the sizes are its numbers, or the first of them."""

    @kind_rule(*operators)
    def factory(recorder: Trace, *numbers: object, **options: object) -> object:
        shape = ruled(recorder, default, *numbers[:counts])
        kind = options.get("dtype") or dtype or torch.get_default_dtype()
        device = options.get("device")
        where = torch.get_default_device() if device is None else torch.device(device)
        return packed(recorder, shape, kind, where)


for spaced in (aten.linspace, aten.logspace):
    registered(spaced.default, spaced.default, dtype=None)
for triangle in (aten.tril_indices, aten.triu_indices):
    registered(triangle.default, triangle.default, dtype=torch.int64)
for window in WINDOWS:
    overloads = [getattr(window, name) for name in window.overloads() if not name.endswith("out")]
    registered(window.default, *overloads, dtype=None, counts=1)


@kind_rule(aten.one_hot.default, once=True)
def one_hot(recorder: Trace, self: torch.Tensor, num_classes: int = -1) -> object:
    """One element for each class; the number of classes is data-dependent if it is not given."""
    return packed(recorder, ruled(recorder, aten.one_hot.default, self, num_classes), torch.int64, self.device)
