"""`in` and `max` of sizes, and numbers of modules, as Dynamo traces them in our environments.

    >>> import torch
    >>> from frontends.pytorch.shape_env import installed
    >>> with installed():
    ...     sized = lambda x: (x + 1, 3 in x.shape, max(x.shape[0], 4.0))
    ...     f = torch.compile(sized, backend="eager", dynamic=True)
    ...     f(torch.ones(3))[1:], f(torch.ones(5))[1:]
    ((True, 4.0), (False, 5))

Torch's `in` finds no number among sizes, and returns a tensor where it compares tensors; its `max` of a size and a
float is a float. Here Dynamo traces a function that does what Python does.

With `dynamic=True` torch takes every number for a symbol. Numbers of modules and globals seldom change: here they are
constants until they have changed.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final

from torch._dynamo import config
from torch._dynamo.exc import unimplemented
from torch._dynamo.variables import BuiltinVariable, SymNodeVariable, UserDefinedVariable
from torch._dynamo.variables.base import VariableTracker
from torch._dynamo.variables.builder import VariableBuilder
from torch._dynamo.variables.lists import BaseListVariable
from torch._dynamo.variables.tensor import TensorVariable
from torch._guards import GuardSource
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode

from frontends.pytorch.shape_env.adapter import EngineShapeEnv


def contains(container: Iterable[object], item: object) -> bool:
    """Return True if an element is the item or equals it."""
    for each in container:  # noqa: SIM110  # Dynamo traces a loop faster than a generator
        if each is item or each == item:
            return True
    return False


def larger(a: float, b: float) -> float:
    """The result of `max`: the first one of equals."""
    return b if b > a else a


def smaller(a: float, b: float) -> float:
    """The result of `min`: the first one of equals."""
    return b if b < a else a


def traced(tx: Any, function: object, *args: VariableTracker) -> VariableTracker:
    """The result of a function that Dynamo traces."""
    return VariableTracker.build(tx, function).call_function(tx, list(args), {})


def sq_contains(self: Any, tx: Any, item: VariableTracker) -> VariableTracker:
    """The truth of `item in self`, for Dynamo's variable of a list, a tuple or sizes."""
    compared = [*self.items, item]
    if not isinstance(tx.output.shape_env, EngineShapeEnv) or all(each.is_python_constant() for each in compared):
        return CONTAINS(self, tx, item)
    if any(isinstance(each, SymNodeVariable) for each in compared):
        if any(isinstance(each, UserDefinedVariable) for each in compared):
            unimplemented(
                gb_type="an object is looked for among sizes",
                context="",
                explanation="the object may define what it is equal to",
                hints=[],
            )
    return traced(tx, contains, self, item)


def _call_min_max_binary(self: Any, tx: Any, a: Any, b: Any) -> VariableTracker | None:
    """The larger or smaller of two values, for Dynamo's variable of `max` or `min`."""
    values = [each for each in (a, b) if isinstance(each, SymNodeVariable) or (each and each.is_python_constant())]
    is_ours = isinstance(tx.output.shape_env, EngineShapeEnv)
    if is_ours and len(values) == 2 and {each.python_type() for each in values} == {int, float}:
        return traced(tx, larger if self.fn is max else smaller, a, b)
    return EXTREME(self, tx, a, b)


def constant_until_changed(builder: Any, value: float) -> AbstractContextManager[object]:
    """The settings with which torch wraps a number: one of a module or a global is a symbol once it has changed."""
    origin = builder.source.guard_source
    # guards take 0.0 and -0.0 for equal
    becomes_symbol = config.automatic_dynamic_shapes and (type(value) is int or value != 0.0)
    if becomes_symbol and (origin.is_unspecialized_nn_module() or origin is GuardSource.GLOBAL):
        if isinstance(builder.tx.output.shape_env, EngineShapeEnv):
            return config.patch(assume_static_by_default=True)
    return nullcontext()


def wrap_symint(self: Any, value: int, *args: Any, **named: Any) -> VariableTracker:
    """The variable of an integer that the program reads."""
    with constant_until_changed(self, value):
        return INTEGER(self, value, *args, **named)


def wrap_symfloat(self: Any, value: float) -> VariableTracker:
    """The variable of a float that the program reads."""
    with constant_until_changed(self, value):
        return FLOAT(self, value)


def method_tolist(self: Any, tx: Any) -> VariableTracker:
    """The elements of a tensor as a list: of a length that only the run knows it is Python's."""
    try:
        return LIST(self, tx)
    except GuardOnDataDependentSymNode as error:
        if not isinstance(tx.output.shape_env, EngineShapeEnv):
            raise
        unimplemented(
            gb_type="tolist() of a tensor whose length only the run knows",
            context="",
            explanation=str(error),
            hints=[],
        )


CONTAINS: Final = BaseListVariable.sq_contains
EXTREME: Final = BuiltinVariable._call_min_max_binary
INTEGER: Final = VariableBuilder.wrap_symint
FLOAT: Final = VariableBuilder.wrap_symfloat
LIST: Final = TensorVariable.method_tolist


REPLACED: Final = (
    (BaseListVariable, sq_contains),
    (BuiltinVariable, _call_min_max_binary),
    (VariableBuilder, wrap_symint),
    (VariableBuilder, wrap_symfloat),
    (TensorVariable, method_tolist),
)
"""By class of Dynamo's, what replaces its method of this name."""
