"""Python's operations on sizes, gradients and limited deques, as Dynamo traces them in our environments.

    >>> import torch
    >>> from frontends.pytorch.shape_env import installed
    >>> with installed():
    ...     sized = lambda x: (x + 1, x.shape[0] in (3, 4), divmod(x.shape[0], 2))
    ...     f = torch.compile(sized, backend="eager", dynamic=True)
    ...     f(torch.ones(3))[1:], f(torch.ones(5))[1:]
    ((True, (1, 1)), (False, (2, 1)))

Torch's `in` finds constants only, a size is in no container, and a tensor compared with a tensor has no truth; it
has no `divmod` of sizes, no `~` and no order of them, and its `max` of a size and a float is a float. Here Dynamo
traces a function that does what Python does.

With `dynamic=True` torch takes every number for a symbol. Numbers of modules and globals seldom change: here they are
constants until they have changed.
"""

from __future__ import annotations

import collections
import functools
import operator
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from types import SimpleNamespace
from typing import Any, Final

import torch
from torch._dynamo import config
from torch._dynamo.exc import unimplemented
from torch._dynamo.guards import GuardBuilder, install_guard
from torch._dynamo.side_effects import SideEffects
from torch._dynamo.source import AttrSource, CallFunctionNoArgsSource, is_constant_source
from torch._dynamo.symbolic_convert import InstructionTranslator
from torch._dynamo.variables import (
    BuiltinVariable,
    ConstantVariable,
    ConstDictVariable,
    DequeVariable,
    LambdaVariable,
    ListVariable,
    NestedUserFunctionVariable,
    SymNodeVariable,
    TorchInGraphFunctionVariable,
    UserDefinedObjectVariable,
    UserDefinedVariable,
)
from torch._dynamo.variables.base import VariableTracker
from torch._dynamo.variables.builder import VariableBuilder
from torch._dynamo.variables.dicts import DunderDictVariable, SideEffectsProxyDict
from torch._dynamo.variables.hashable import HashableTracker
from torch._dynamo.variables.lists import BaseListVariable, TupleVariable
from torch._dynamo.variables.tensor import TensorVariable
from torch._guards import GuardSource
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode

from frontends import python_functions as pythons
from frontends.pytorch.shape_env.adapter import EngineShapeEnv
from frontends.pytorch.shape_env.numpy_rules import NumpyScalar


def traced(tx: Any, function: object, *args: VariableTracker) -> VariableTracker:
    """The result of a function that Dynamo traces."""
    return VariableTracker.build(tx, function).call_function(tx, list(args), {})


def are_sizes(tx: Any, values: Sequence[VariableTracker]) -> bool:
    """Return True if values are integers, and some are sizes of an environment of ours."""
    if not isinstance(tx.output.shape_env, EngineShapeEnv):
        return False
    symbolic = [isinstance(each, SymNodeVariable) for each in values]
    return any(symbolic) and all(
        (is_symbolic or each.is_python_constant()) and each.python_type() is int
        for each, is_symbolic in zip(values, symbolic)
    )


def are_ordered(tx: Any, values: Sequence[VariableTracker]) -> bool:
    """Return True if values are numbers or texts, or tuples of such, and some are sizes of an environment of ours."""
    leaves, waiting = list[VariableTracker](), list(values)
    while waiting:
        each = waiting.pop()
        if isinstance(each, TupleVariable) and each.python_type() in (tuple, torch.Size):
            waiting += each.items
        else:
            leaves.append(each)
    known = all(isinstance(each, SymNodeVariable) or each.is_python_constant() for each in leaves)
    is_ours = isinstance(tx.output.shape_env, EngineShapeEnv)
    return is_ours and known and any(isinstance(each, SymNodeVariable) for each in leaves)


def are_told_apart(keys: Sequence[VariableTracker]) -> bool:
    """Return True for tuples whose first elements are texts, none twice: nothing else decides their order."""
    firsts = [each.items[0] for each in keys if type(each) is TupleVariable and each.items]
    known = [each.as_python_constant() for each in firsts if each.is_python_constant()]
    is_text = all(type(each) is str for each in known)
    return len(known) == len(keys) and is_text and len(set(known)) == len(keys)


def sq_contains(self: Any, tx: Any, item: VariableTracker) -> VariableTracker:
    """The truth of `item in self`, for Dynamo's variable of a list, a tuple or sizes."""
    compared = [*self.items, item]
    if not isinstance(tx.output.shape_env, EngineShapeEnv) or all(each.is_python_constant() for each in compared):
        return TORCHS.sq_contains(self, tx, item)
    if any(isinstance(each, SymNodeVariable) for each in compared):
        if any(isinstance(each, UserDefinedVariable) for each in compared):
            unimplemented(
                gb_type="an object is looked for among sizes",
                context="",
                explanation="the object may define what it is equal to",
                hints=[],
            )
    return traced(tx, pythons.contains, self, item)


def call_divmod(self: Any, tx: Any, a: VariableTracker, b: VariableTracker) -> VariableTracker:
    """The results of `divmod(a, b)`."""
    return traced(tx, pythons.quotient, a, b) if are_sizes(tx, [a, b]) else TORCHS.call_divmod(self, tx, a, b)


def _call_min_max_binary(self: Any, tx: Any, a: Any, b: Any) -> VariableTracker | None:
    """The larger or smaller of two values, for Dynamo's variable of `max` or `min`."""
    if a is not None and b is not None:
        is_scalar = isinstance(a, NumpyScalar) or isinstance(b, NumpyScalar)
        if is_scalar or (are_ordered(tx, [a, b]) and {a.python_type(), b.python_type()} == {int, float}):
            return traced(tx, pythons.larger if self.fn is max else pythons.smaller, a, b)
    return TORCHS._call_min_max_binary(self, tx, a, b)


def choosing(name: str, function: Callable[..., object]) -> Callable[..., VariableTracker | None]:
    """Dynamo's method for `max` or `min`: torch has none with a key or a default."""

    def call(self: Any, tx: Any, *args: VariableTracker, **kwargs: VariableTracker) -> VariableTracker | None:
        is_sequence = len(args) == 1
        known = {"key", "default"} if is_sequence else {"key"}
        if not isinstance(tx.output.shape_env, EngineShapeEnv) or not kwargs or not kwargs.keys() <= known:
            return getattr(TORCHS, name)(self, tx, *args, **kwargs)
        key = kwargs.get("key", ConstantVariable.create(None))
        default = [kwargs["default"]] if "default" in kwargs else []
        return traced(tx, function, args[0] if is_sequence else TupleVariable(list(args)), key, *default)

    call.__name__ = name
    return call


def call_method(self: Any, tx: Any, name: str, args: Any, kwargs: dict[str, VariableTracker]) -> VariableTracker:
    """A method of a list: `sort` where sizes are compared, `extend` by the keys of a dictionary."""
    if name == "extend" and args and isinstance(args[0], ConstDictVariable):
        args = [TupleVariable(args[0].unpack_var_sequence(tx)), *args[1:]]
    key, reverse = kwargs.get("key"), kwargs.get("reverse")
    is_known = reverse is None or reverse.is_python_constant()
    if name == "sort" and not args and is_known and self.is_mutable():
        keys = self.items
        if key is not None and not key.is_constant_none():
            keys = [key.call_function(tx, [each], {}) for each in keys]
        if are_told_apart(keys):
            keys = [each.items[0] for each in keys]
        if keys is not self.items:
            # called once for each
            known = iter(keys)
            kwargs = {**kwargs, "key": LambdaVariable(lambda item: next(known))}
        if are_ordered(tx, keys):
            is_reversed = VariableTracker.build(tx, reverse is not None and bool(reverse.as_python_constant()))
            return traced(tx, pythons.sort, self, ListVariable(list(keys)), is_reversed)
    return TORCHS.call_method(self, tx, name, args, kwargs)


def constant_until_changed(builder: Any) -> AbstractContextManager[object]:
    """The settings with which torch wraps a number: one of a module or a global is a symbol once it has changed."""
    origin = builder.source.guard_source
    if config.automatic_dynamic_shapes and (origin.is_unspecialized_nn_module() or origin is GuardSource.GLOBAL):
        if isinstance(builder.tx.output.shape_env, EngineShapeEnv):
            return config.patch(assume_static_by_default=True)
    return nullcontext()


def wrap_symint(self: Any, value: int, *args: Any, **named: Any) -> VariableTracker:
    """The variable of an integer that the program reads."""
    with constant_until_changed(self):
        return TORCHS.wrap_symint(self, value, *args, **named)


def wrap_symfloat(self: Any, value: float) -> VariableTracker:
    """The variable of a float that the program reads: of a zero the sign is guarded, too, as 0.0 == -0.0."""
    with constant_until_changed(self):
        made = TORCHS.wrap_symfloat(self, value)
    is_guarded = isinstance(self.tx.output.shape_env, EngineShapeEnv) and not is_constant_source(self.source)
    if value == 0.0 and is_guarded and made.is_python_constant():
        install_guard(CallFunctionNoArgsSource(AttrSource(self.source, "hex")).make_guard(GuardBuilder.EQUALS_MATCH))
    return made


def method_tolist(self: Any, tx: Any) -> VariableTracker:
    """The elements of a tensor as a list: of a length that only the run knows it is Python's."""
    try:
        return TORCHS.method_tolist(self, tx)
    except GuardOnDataDependentSymNode as error:
        if not isinstance(tx.output.shape_env, EngineShapeEnv):
            raise
        unimplemented(
            gb_type="tolist() of a tensor whose length only the run knows",
            context="",
            explanation=str(error),
            hints=[],
        )


def var_getattr(self: Any, tx: Any, name: str) -> VariableTracker:
    """An attribute of a tensor: of a gradient that the frame has set, what it has set.

    Torch marks that value as read from the tensor. A constant is one for all that the frame sets to it, and other
    tensors would get the old gradient of this one.
    """
    effects = tx.output.side_effects
    if name == "nbytes" and self.layout is torch.strided and isinstance(tx.output.shape_env, EngineShapeEnv):
        return traced(tx, pythons.number_of_bytes, self)
    if name in ("grad", "_grad") and effects.has_pending_mutation_of_attr(self, "grad"):
        return effects.load_attr(self, "grad")
    return TORCHS.var_getattr(self, tx, name)


def _handle_insert_op_in_graph(self: Any, tx: Any, args: list[VariableTracker], kwargs: Any) -> Any:
    """An operator on tensors: where an element's index is a tensor of one integer, its value is a symbol."""
    if self.fn is operator.getitem and isinstance(args[0], TensorVariable) and is_index(tx, args[1]):
        return args[0].call_method(tx, "__getitem__", [args[1].call_method(tx, "item", [], {})], {})
    args = [each.value if isinstance(each, NumpyScalar) else each for each in args]
    return TORCHS._handle_insert_op_in_graph(self, tx, args, kwargs)


def method___setitem__(self: Any, tx: Any, key: VariableTracker, value: VariableTracker) -> VariableTracker:
    """A change of a tensor's element: the index may be a tensor of one integer, whose value is a symbol."""
    change = changing(self, value)
    if change is None or not is_index(tx, key):
        return TORCHS.method___setitem__(self, tx, key, value)
    version = self._get_fake_version()
    element = self.call_method(tx, "__getitem__", [key.call_method(tx, "item", [], {})], {})
    element.call_method(tx, change, [value], {})
    # it may have a gradient now
    self._sync_if_inplace_mutation(tx, version, value.is_tensor())
    return ConstantVariable.create(None)


def changing(tensor: Any, value: Any) -> str | None:
    """The method by which an element becomes a value; None if its axes may not fit."""
    if isinstance(value, TensorVariable):
        is_small = None not in (tensor.ndim, value.ndim) and value.ndim < tensor.ndim
        return "copy_" if is_small else None
    return "fill_" if value.is_python_constant() and value.python_type() in (bool, int, float) else None


def is_index(tx: Any, value: Any) -> bool:
    """Return True for a tensor of one integer without axes, in an environment of ours."""
    if not isinstance(value, TensorVariable) or not isinstance(tx.output.shape_env, EngineShapeEnv):
        return False
    return value.ndim == 0 and value.dtype in (torch.int64, torch.int32, torch.int16, torch.int8)


def call_invert(self: Any, tx: Any, number: VariableTracker) -> VariableTracker | None:
    """The result of `~number`."""
    return traced(tx, pythons.inverted, number) if are_sizes(tx, [number]) else None


def call_pow(self: Any, tx: Any, a: VariableTracker, b: VariableTracker, *rest: VariableTracker) -> Any:
    """The result of `pow(a, b, modulus)`, where no inverse is asked for."""
    if rest and are_sizes(tx, [a, b, *rest]) and b.is_python_constant() and b.as_python_constant() >= 0:
        return traced(tx, pythons.remainder_of_power, a, b, *rest)
    return None


def call_matmul(self: Any, tx: Any, a: VariableTracker, b: VariableTracker) -> VariableTracker | None:
    """The result of `a @ b`, where the class of `a` defines it and `b` is of the same."""
    is_defined = isinstance(a, UserDefinedObjectVariable) and a.python_type() is b.python_type()
    return traced(tx, pythons.matrix_product, a, b) if is_defined and hasattr(a.python_type(), "__matmul__") else None


def call_function(self: Any, tx: Any, args: Sequence[VariableTracker], kwargs: dict[str, Any]) -> VariableTracker:
    """A call of torch's: of `can_cast` and the like, which are about types alone, the result is known; a check of sizes
    is a branch, so that its message may read them; a size in a tensor is its value."""
    is_ours = isinstance(tx.output.shape_env, EngineShapeEnv)
    is_plain = is_ours and not kwargs
    if is_ours and self.value in SIZED:
        args = [each.call_method(tx, "item", [], {}) if isinstance(each, TensorVariable) else each for each in args]
    if is_plain and self.value is torch._check and reads_sizes(*args):
        return traced(tx, pythons.checked, *args)
    if is_plain and self.value in OF_TYPES:
        known = [sample(each) for each in args]
        if None not in known:
            return VariableTracker.build(tx, self.value(*known))
    return TORCHS.call_function(self, tx, args, kwargs)


def reads_sizes(condition: VariableTracker, message: VariableTracker | None = None) -> bool:
    """Return True for a condition on sizes whose message has variables of the frame."""
    is_known = isinstance(condition, SymNodeVariable) and condition.sym_num.node.has_hint()
    return is_known and isinstance(message, NestedUserFunctionVariable) and message.has_closure()


def sample(value: VariableTracker) -> Any:
    """A value of the type of a variable's; None if it is unknown."""
    if isinstance(value, TensorVariable):
        return value.as_proxy().node.meta.get("example_value")
    if isinstance(value, SymNodeVariable):
        return value.python_type()(1)
    return value.as_python_constant() if value.is_python_constant() else None


def wrap_listlike(self: Any, value: Any) -> VariableTracker:
    """The variable of a list or the like that the program reads: a deque keeps its limit."""
    made = TORCHS.wrap_listlike(self, value)
    if type(value) is collections.deque and value.maxlen is not None:
        install_guard(AttrSource(self.source, "maxlen").make_guard(GuardBuilder.CONSTANT_MATCH))
        made.maxlen = VariableTracker.build(self.tx, value.maxlen)
    return made


def codegen_update_mutated(self: Any, cg: Any, log_side_effects: bool = False) -> None:
    """The code that changes objects as the program does: a deque with a limit gets its last elements."""
    for each in self.id_to_variable.values():
        if isinstance(each, DequeVariable) and each.source is not None and self.is_modified(each):
            each.maxlen = ConstantVariable.create(None)
    TORCHS.codegen_update_mutated(self, cg, log_side_effects)


def install_dict_keys_match_guard(self: Any) -> None:
    """Guard the keys of a dictionary and their order, which the program sees in all that it makes of them."""
    if self.source is not None:
        InstructionTranslator.current_tx().output.guard_on_key_order.add(self.source)
    TORCHS.install_dict_keys_match_guard(self)


def __iter__(self: Any) -> Iterator[HashableTracker]:
    """The names in an object's `__dict__`, as Dynamo sees it: those that the frame adds come last."""
    names = dict.fromkeys([*self.item_dict, *self.side_effects_table()])
    return iter([HashableTracker(ConstantVariable.create(name)) for name in names if name in self])


def call_not_(self: Any, tx: Any, value: VariableTracker) -> VariableTracker | None:
    """The result of `not value`."""
    if isinstance(value, ConstDictVariable):
        value.install_dict_keys_match_guard()
    if isinstance(value, NumpyScalar):
        return self.call_function(tx, [value.bool_impl(tx)], {})
    return TORCHS.call_not_(self, tx, value)


def guarding_keys(method: Callable[..., object]) -> Callable[..., object]:
    """A method that reads all keys of a dictionary, with a guard for them."""

    @functools.wraps(method)
    def call(self: Any, *args: object) -> object:
        result = method(self, *args)
        self.install_dict_keys_match_guard()
        return result

    return call


SIZED: Final = (torch.empty, torch.ones, torch.rand, torch.randn, torch.zeros)
OF_TYPES: Final = (torch.can_cast, torch.promote_types, torch.result_type)


REPLACED: Final = (
    (BaseListVariable, sq_contains),
    # torch guards neither the names in an object's `__dict__` nor those that it lacks; `TORCHS` has the later method
    (DunderDictVariable, install_dict_keys_match_guard),
    (DunderDictVariable, ConstDictVariable.install_dict_contains_guard),
    (ConstDictVariable, install_dict_keys_match_guard),
    (SideEffectsProxyDict, __iter__),
    (ConstDictVariable, guarding_keys(ConstDictVariable.as_python_constant)),
    (ConstDictVariable, guarding_keys(ConstDictVariable.repr_impl)),
    (BuiltinVariable, call_not_),
    (BuiltinVariable, call_divmod),
    (BuiltinVariable, _call_min_max_binary),
    (BuiltinVariable, choosing("call_max", pythons.largest)),
    (BuiltinVariable, choosing("call_min", pythons.smallest)),
    (ListVariable, call_method),
    (VariableBuilder, wrap_symint),
    (VariableBuilder, wrap_symfloat),
    (TensorVariable, method_tolist),
    (TensorVariable, var_getattr),
    (TensorVariable, method___setitem__),
    (BuiltinVariable, _handle_insert_op_in_graph),
    (BuiltinVariable, call_invert),
    (BuiltinVariable, call_matmul),
    (BuiltinVariable, call_pow),
    (TorchInGraphFunctionVariable, call_function),
    (VariableBuilder, wrap_listlike),
    (SideEffects, codegen_update_mutated),
)
"""The classes of Dynamo's, each with the function that replaces its method of the same name."""
TORCHS: Final = SimpleNamespace(**{each.__name__: getattr(owner, each.__name__, None) for owner, each in REPLACED})
"""The methods that are replaced."""
