"""NumPy's functions of sizes, as Dynamo traces them in our environments: their results have NumPy's types.

    >>> import numpy, torch
    >>> from frontends.pytorch.shape_env import installed
    >>> with installed(), torch._dynamo.config.patch(trace_numpy=False):
    ...     flat = lambda x: (x.reshape(int(numpy.prod(x.shape))), numpy.prod(x.shape))
    ...     f = torch.compile(flat, backend="eager", dynamic=True, fullgraph=True)
    ...     f(torch.ones(2, 3))[1], f(torch.ones(4, 5))[1]
    (np.int64(6), np.int64(20))

Torch leaves a graph for NumPy, or takes its numbers for tensors, as it does with arrays where it traces these. Here a
number is a size with the type that NumPy has for it: `int`, `float`, an operator of a tensor or torch's operators get
the size, and Python gets the number. Anything else that is done with it is a graph break.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any, Final

from torch._dynamo import config, utils
from torch._dynamo.bytecode_transformation import create_call_function
from torch._dynamo.exc import unimplemented
from torch._dynamo.guards import GuardBuilder, install_guard
from torch._dynamo.source import CallMethodItemSource
from torch._dynamo.variables import BuiltinVariable, ConstantVariable, SymNodeVariable
from torch._dynamo.variables.base import VariableTracker
from torch._dynamo.variables.builder import VariableBuilder
from torch._dynamo.variables.lists import BaseListVariable
from torch._dynamo.variables.misc import NumpyVariable

from frontends.numpy_scalars import OPERATORS, TABLES, compared
from frontends.pytorch.shape_env.adapter import EngineShapeEnv


class NumpyScalar(VariableTracker):
    """Dynamo's variable of a NumPy scalar: its value as a number of Python's, and its type."""

    def __init__(self, value: VariableTracker, kind: type, **options: Any) -> None:
        super().__init__(**options)
        self.value = value
        self.kind = kind

    def python_type(self) -> type:
        return self.kind

    def as_proxy(self) -> Any:
        """The value for torch's operators, for which an `int64` is an `int`."""
        return self.value.as_proxy() if self.kind is np.int64 else break_graph()

    def bool_impl(self, tx: Any) -> VariableTracker:
        return VariableTracker.build(tx, bool).call_function(tx, [self.value], {})

    def nb_int_impl(self, tx: Any) -> VariableTracker:
        return VariableTracker.build(tx, int).call_function(tx, [self.value], {})

    def nb_float_impl(self, tx: Any) -> VariableTracker:
        return VariableTracker.build(tx, float).call_function(tx, [self.value], {})

    def reconstruct(self, codegen: Any) -> None:
        codegen.add_push_null(lambda: codegen.load_import_from("numpy", self.kind.__name__))
        codegen(self.value)
        codegen.extend_output(create_call_function(1, False))


def break_graph(*args: object) -> Any:
    """Break the graph where the program does something else with a NumPy scalar."""
    unimplemented(gb_type="a NumPy scalar", context="", explanation="NumPy computes", hints=["int(number)"])


def is_active(tx: Any) -> bool:
    """Return True in an environment of ours, where torch does not take arrays for tensors."""
    return isinstance(tx.output.shape_env, EngineShapeEnv) and not config.trace_numpy


def value_of(number: VariableTracker) -> VariableTracker:
    """The value of an `int64` or a `float64`, which compute as Python's numbers do; anything else itself."""
    return number.value if isinstance(number, NumpyScalar) and number.kind in (np.int64, np.float64) else number


def operation(formula: Callable[[Any, Any], object]) -> Callable[..., VariableTracker]:
    """A method of Dynamo's for an arithmetic operator."""

    def computed(self: NumpyScalar, tx: Any, other: Any, reverse: bool = False) -> VariableTracker:
        values = (other, self) if reverse else (self, other)
        return result_of(tx, formula, [value_of(each) for each in values]) or break_graph()

    return computed


def result_of(tx: Any, formula: Any, args: Sequence[VariableTracker], *more: VariableTracker) -> NumpyScalar | None:
    """The NumPy scalar that a formula computes of Python's numbers; None where it does not hold for them."""
    values = args[0].items if isinstance(args[0], BaseListVariable) else args
    if not values or not all(isinstance(each, SymNodeVariable) or each.is_python_constant() for each in values):
        return None
    if not {each.python_type() for each in values} <= ({int, float} if values is args else {int}):
        return None
    value = VariableTracker.build(tx, formula).call_function(tx, [*args, *more], {})
    return None if value.is_constant_none() else NumpyScalar(value, KINDS[value.python_type()])


def call_function(self: Any, tx: Any, args: Sequence[VariableTracker], kwargs: dict[str, Any]) -> VariableTracker:
    """A call of NumPy's."""
    function, found = self.value, None
    args = [value_of(each) for each in args]
    if is_active(tx) and not kwargs:
        formula, count = FORMULAS.get(function, (None, -1))
        if all(each.is_python_constant() for each in args):
            found = of_constants(function, args) if formula or isinstance(function, np.ufunc) else None
        elif formula and len(args) == max(count, 1) and isinstance(args[0], BaseListVariable) is (count == 0):
            found = result_of(tx, formula, args)
    return found or CALL(self, tx, args, kwargs)


def _find_binop_handler(op: Any, a: type[VariableTracker], b: type[VariableTracker]) -> Any:
    """Dynamo's functions for an operator of variables of two classes."""
    found = FIND(op, a, b)
    if not found or NumpyScalar not in (a, b) or op in (operator.is_, operator.is_not):
        return found
    return [functools.partial(compared_by, op) if op in COMPARISONS.values() else break_graph]


def compared_by(op: Any, tx: Any, a: VariableTracker, b: VariableTracker) -> VariableTracker:
    """A comparison of two numbers, one of them of NumPy's."""
    found = result_of(tx, compared, [value_of(a), value_of(b)], VariableTracker.build(tx, op))
    return found or break_graph()


def comparing(compare: Callable[..., VariableTracker]) -> Callable[..., VariableTracker]:
    """Dynamo's method for a comparison: with a NumPy scalar it is NumPy's."""

    def richcompare_impl(self: Any, tx: Any, other: VariableTracker, op: str) -> VariableTracker:
        is_scalar = isinstance(self, NumpyScalar) or isinstance(other, NumpyScalar)
        return compared_by(COMPARISONS[op], tx, self, other) if is_scalar else compare(self, tx, other, op)

    return richcompare_impl


def _wrap(self: Any, value: Any) -> VariableTracker:
    """The variable of an object that the program reads: torch takes a NumPy scalar for a tensor."""
    if np is None or not isinstance(value, np.generic) or not is_active(self.tx):
        return WRAP(self, value)
    number = value.item()
    if type(number) not in (int, float):
        return break_graph()
    install_guard(self.source.make_guard(GuardBuilder.TYPE_MATCH))
    read = VariableBuilder(self.tx, CallMethodItemSource(self.source))(number)
    return NumpyScalar(read.realize(), type(value), source=self.source)


def reconstruct(self: Any, codegen: Any) -> None:
    """The code that reads the value of a NumPy scalar."""
    codegen(self.base)
    codegen.load_method("item")
    codegen.call_method(0)


def of_constants(function: Any, args: Sequence[VariableTracker]) -> NumpyScalar | None:
    """The number that a function computes of constants, if it does without a warning."""
    try:
        with np.errstate(all="raise"):
            result = function(*[each.as_python_constant() for each in args])
    except (ArithmeticError, TypeError, ValueError):
        return None
    known = type(result) in KINDS.values()
    return NumpyScalar(ConstantVariable.create(result.item()), type(result)) if known else None


np: Any = utils.np
CALL: Final = NumpyVariable.call_function
WRAP: Final = VariableBuilder._wrap
FIND: Final = BuiltinVariable._find_binop_handler
KINDS: Final[dict[type, type]] = {} if np is None else {int: np.int64, float: np.float64, bool: np.bool_}
COMPARISONS: Final = {f"__{name}__": getattr(operator, name) for name in ("eq", "ne", "lt", "le", "gt", "ge")}
FORMULAS: Final[dict[Any, tuple[Any, int]]] = {
    getattr(np, name): (formula, count)
    for count, table in enumerate(TABLES if np is not None else ())
    for name, formula in table.items()
}
COMPARED: Final = ConstantVariable, SymNodeVariable, NumpyScalar
REPLACED: Final = (
    (NumpyVariable, "call_function", call_function),
    (VariableBuilder, "_wrap", _wrap),
    (CallMethodItemSource, "reconstruct", reconstruct),
    (BuiltinVariable, "_find_binop_handler", _find_binop_handler),
    *[(each, "richcompare_impl", comparing(each.richcompare_impl)) for each in COMPARED],
)
"""The classes of Dynamo's, with the names that are replaced in them."""
for slot in dir(VariableTracker):
    if slot.startswith("nb_") and slot not in vars(NumpyScalar):
        computes = OPERATORS.get(slot.removeprefix("nb_").removesuffix("_impl"))
        setattr(NumpyScalar, slot, break_graph if computes is None else operation(computes))
