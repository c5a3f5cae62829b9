"""`item in container`, as Dynamo traces it in an environment of ours.

    >>> import torch
    >>> from frontends.pytorch.shape_env import installed
    >>> with installed():
    ...     f = torch.compile(lambda x: (x + 1, x.shape[0] in (3, 4)), backend="eager", dynamic=True)
    ...     f(torch.ones(3))[1], f(torch.ones(5))[1]
    (True, False)

Torch's compares numbers that are constants only: a size is in no container, and a tensor compared with a tensor is no
truth value. Here the elements are compared one after another, as in Python.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from torch._dynamo.exc import unimplemented
from torch._dynamo.variables import SymNodeVariable, UserDefinedVariable
from torch._dynamo.variables.base import VariableTracker
from torch._dynamo.variables.lists import BaseListVariable

from frontends.pytorch.shape_env.adapter import EngineShapeEnv

TORCHS: Final = BaseListVariable.sq_contains
"""Torch's own."""


def contains(container: Iterable[object], item: object) -> bool:
    """Dynamo traces this function."""
    for each in container:  # noqa: SIM110  # Dynamo traces a loop faster than a generator
        if each is item or each == item:
            return True
    return False


def sq_contains(self: Any, tx: Any, item: VariableTracker) -> VariableTracker:
    """The truth of `item in self`, for Dynamo's variable of a list, a tuple or sizes."""
    compared = [*self.items, item]
    if not isinstance(tx.output.shape_env, EngineShapeEnv) or all(each.is_python_constant() for each in compared):
        return TORCHS(self, tx, item)
    if any(isinstance(each, SymNodeVariable) for each in compared):
        if any(isinstance(each, UserDefinedVariable) for each in compared):
            unimplemented(
                gb_type="an object is looked for among sizes",
                context="",
                explanation="the object may define what it is equal to",
                hints=[],
            )
    return VariableTracker.build(tx, contains).call_function(tx, [self, item], {})


def replace() -> None:
    """Replace torch's."""
    BaseListVariable.sq_contains = sq_contains


def restore() -> None:
    """Put torch's back."""
    BaseListVariable.sq_contains = TORCHS
