"""Calls of operators in tests, with torch's own checks of an operator: `pytest --operators NAMESPACE`.

    >>> import torch
    >>> from frontends.pytorch.custom_operators import custom_op
    >>> from frontends.pytorch.recording.observing import observing
    >>> @custom_op("docs::double")
    ... def double(x: torch.Tensor) -> torch.Tensor:
    ...     return 2 * x
    >>> with observing(["docs"]) as operations:
    ...     y = double(torch.ones(3))
    >>> [(each.name, each.call, each.sizes, *each.checks) for each in operations]   # doctest: +NORMALIZE_WHITESPACE
    [('docs::double', Call((Input((3,), dtype='float32'),)), ((3,),),
      'schema and aliasing', 'autograd', 'fake tensors', 'dynamic tracing')]

Of the calls of one operator that differ in numbers only, the first is kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Final

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_map

from frontends.pytorch.recording.predictions import RULES
from shapes.testing.calls import Call, Input
from shapes.testing.directed.integers import structure_of
from shapes.testing.references.arrays import sizes_of
from shapes.testing.suites import Operation

CHECKS: Final = {
    "schema and aliasing": "test_schema",
    "autograd": "test_autograd_registration",
    "fake tensors": "test_faketensor",
    "dynamic tracing": "test_aot_dispatch_dynamic",
}
"""The names that `torch.library.opcheck` has for its checks."""


@contextmanager
def observing(namespaces: Sequence[str]) -> Iterator[list[Operation]]:
    """Collect the calls of the operators of some namespaces."""
    with Observing(frozenset(namespaces)) as mode:
        yield mode.operations


class Observing(TorchFunctionMode):
    """Runs operators unchanged, and keeps copies of their arguments."""

    def __init__(self, namespaces: frozenset[str]) -> None:
        super().__init__()
        self.namespaces = namespaces
        self.operations: list[Operation] = []
        self.seen: set[str] = set()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run a function of torch; keep it if it is one of the operators."""
        kwargs = kwargs or {}
        name = func._schema.name if isinstance(func, torch._ops.OpOverload) else getattr(func, "_qualified_op_name", "")
        if name.partition("::")[0] not in self.namespaces:
            return func(*args, **kwargs)
        call = Call(tree_map(_input, args), tree_map(_input, kwargs))
        key = f"{name} {structure_of(call)}"
        given = None if key in self.seen else tree_map(_copied, (args, kwargs))
        result = func(*args, **kwargs)
        if given is not None:
            self.seen.add(key)
            checks = {each: partial(torch.library.opcheck, func, *given, test_utils=CHECKS[each]) for each in CHECKS}
            overload = func if isinstance(func, torch._ops.OpOverload) else getattr(func, "default", None)
            self.operations.append(Operation(name, call, tuple(sizes_of(result)), RULES.get(overload), checks))
        return result


def _input(value: object) -> object:
    if not isinstance(value, torch.Tensor):
        return value
    return Input(value.shape, dtype=str(value.dtype).removeprefix("torch."))


def _copied(value: object) -> object:
    return value.detach().clone().requires_grad_(value.requires_grad) if isinstance(value, torch.Tensor) else value
