"""Python that Dynamo leaves to Python in our environments, where torch has an error or another value.

    >>> import torch
    >>> from frontends.pytorch.shape_env import installed
    >>> with installed(), torch._dynamo.config.patch(capture_scalar_outputs=True):
    ...     f = torch.compile(lambda x: [1, 2, 3].pop(x.argmax().item()), backend="eager")
    ...     f(torch.tensor([0.0, 1.0]))
    2

A value that only the run knows is a graph break where Python needs it. So is a number that Python draws, which torch
takes for a tensor: no instance of a number, and in no dictionary. A frame on which Dynamo fails, or an operator does,
runs as Python, where the error is the program's. `None` is `None`, too, after another capture of torch's has read it as
the gradient of a tensor. A message that is logged once is logged at capture, where torch ends the graph at each call.
"""

from __future__ import annotations

import logging
import sys
from typing import Any, Final, NoReturn

from torch._dynamo import config, symbolic_convert
from torch._dynamo.exc import TorchDynamoException, TorchRuntimeError, Unsupported, UserError, unimplemented
from torch._dynamo.symbolic_convert import (
    InliningGeneratorInstructionTranslator,
    InliningInstructionTranslator,
    InstructionTranslator,
    InstructionTranslatorBase,
    tls,
)
from torch._dynamo.types import FrameAction, FrameExecStrategy
from torch._dynamo.utils import counters
from torch._dynamo.variables import ConstantVariable, UserDefinedObjectVariable, builder, constant, misc, user_defined
from torch._dynamo.variables.base import VariableTracker
from torch._dynamo.variables.lists import RangeVariable, TupleVariable
from torch.fx.experimental import _config
from torch.fx.experimental.symbolic_shapes import ConstraintViolationError

from frontends.pytorch.shape_env.adapter import EngineShapeEnv
from frontends.pytorch.shape_env.errors import Asked, NotConstant
from frontends.pytorch.source_location import innermost
from shapes.errors import ShapeError

logger: Final = logging.getLogger("symshape")


def as_python_constant(self: Any) -> NoReturn:
    """The value of a variable, which this one does not know."""
    raise NotConstant(self)


def call_random_fn(tx: Any, fn: Any, args: Any, kwargs: Any) -> VariableTracker:
    """A number that Python draws."""
    of_python(tx)
    return DRAWN(tx, fn, args, kwargs)


def call_method(self: Any, tx: Any, name: str, args: Any, kwargs: Any) -> VariableTracker:
    """A method of an instance of `random.Random`, which draws numbers or changes its state."""
    of_python(tx)
    return METHOD(self, tx, name, args, kwargs)


def log(self: Any, tx: Any, name: str, args: Any, kwargs: Any) -> VariableTracker:
    """A method of a logger: one with an unlimited cache logs each message once, and does so now."""
    method: Any = getattr(type(self.value), name, None)
    is_once = hasattr(method, "cache_parameters") and method.cache_parameters()["maxsize"] is None
    is_ours = isinstance(tx.output.shape_env, EngineShapeEnv) and tx.output.is_root_tracer()
    if kwargs or not (is_once and is_ours and all(each.is_python_constant() for each in args)):
        return LOG(self, tx, name, args, kwargs)
    return ConstantVariable.create(method(self.value, *[each.as_python_constant() for each in args]))


def of_python(tx: Any) -> None:
    """End a graph of our environments where Python draws numbers."""
    if isinstance(tx.output.shape_env, EngineShapeEnv):
        unimplemented(
            gb_type="Python draws a random number",
            context="",
            explanation="each call draws another number",
            hints=["draw it outside, and pass it as an argument"],
        )


def call_unpacked(self: Any, instruction: Any) -> None:
    """A call with the elements of an iterable: with those of a range, of which torch passes the bounds."""
    place = -2 if instruction.argval == 1 or sys.version_info >= (3, 14) else -1
    if isinstance(self.stack[place], RangeVariable):
        self.stack[place] = TupleVariable(self.stack[place].unpack_var_sequence(self))
    CALL(self, instruction)


class Truth(ConstantVariable):
    """The truth of an object, on which a jump depends: torch asks the variable itself."""

    def __bool__(self) -> bool:
        return bool(self.value)


def generic_bool(tx: Any, value: VariableTracker) -> VariableTracker:
    """The truth of an object where the program branches: torch takes any but the simplest for true."""
    result = BOOL(tx, value)
    if not isinstance(tx.output.shape_env, EngineShapeEnv) or isinstance(value, UserDefinedObjectVariable):
        return result
    return Truth(result.as_python_constant() if result.is_python_constant() else result.evaluate_expr())


def return_generator(self: Any, instruction: Any) -> None:
    """The first instruction of a coroutine, which makes it: torch runs the rest, and of a frame its code crashes."""
    if isinstance(self.output.shape_env, EngineShapeEnv):
        why = "it would run where it is called"
        unimplemented(gb_type="a coroutine", context="", explanation=why, hints=["compile what it calls"])
    GENERATOR(self, instruction)


def in_range(self: Any, tx: Any, item: VariableTracker) -> VariableTracker:
    """The truth of `item in self`, for Dynamo's variable of a range: torch gives a number."""
    return VariableTracker.build(tx, bool(self.range_count(item)))


def get_static_address_type(tensor: Any) -> str | None:
    """How torch guards the address of a tensor: what an optimizer holds is an input, since a graph keeps constants."""
    reader: Any = getattr(tls, "current_tx", None)
    is_ours = reader is not None and isinstance(reader.output.shape_env, EngineShapeEnv)
    found: str | None = STATIC(tensor)
    return "unguarded" if found and is_ours else found


def described(error: BaseException) -> str:
    """An error of Dynamo's in one line, with the program's line."""
    place = innermost(getattr(error, "real_stack", None) or ())
    said, _, _ = str(error).strip().partition("\n")
    return f"{type(error).__name__}: {said}" + ("" if place is None else f"    ({place})")


def run(self: Any) -> None:
    """Trace a frame; one on which Dynamo or an operator fails runs as Python. An `IndexError` passes, as in torch."""
    for each in SHARED:
        each.source = None
    try:
        RUN(self)
    except Exception as error:
        of_program = isinstance(error, TorchRuntimeError)
        is_traced = isinstance(self, InstructionTranslator) and isinstance(self.output.shape_env, EngineShapeEnv)
        if not is_traced or self.one_graph or self.error_on_graph_break:
            raise
        if isinstance(error, Unsupported | UserError):
            counters["graph_break"][described(error)] += 1
        if isinstance(error, LEFT) and not of_program:
            raise
        is_strict = _config.no_data_dependent_graph_break or config.side_effect_replay_policy == "error"
        is_asked = is_strict or "Attempt to trace forbidden callable" in str(error)
        if is_asked and not of_program and not config.suppress_errors:
            raise Asked(str(error)) from error
        said = described(error)
        counters["graph_break"][said] += 1
        if not of_program:
            logger.warning("%s runs as Python: Dynamo fails: %s", self.f_code.co_name, said)
        try:
            unimplemented(gb_type="Dynamo fails", context=said, explanation=str(error), hints=[], from_exc=error)
        except Unsupported as unsupported:
            # the operator raises in Python, too; calls with other arguments are captured as before
            unsupported.frame_exec_strategy = AS_BEFORE if of_program else None
            raise


LEFT: Final = (TorchDynamoException, ConstraintViolationError, ShapeError, IndexError)
"""Errors that torch handles, or users see."""
AS_BEFORE: Final = FrameExecStrategy(FrameAction.DEFAULT, FrameAction.DEFAULT)
BOOL: Final = symbolic_convert.generic_bool
CALL: Final = InstructionTranslatorBase.CALL_FUNCTION_EX
GENERATOR: Final = InstructionTranslatorBase.RETURN_GENERATOR
OPERATIONS: Final = {CALL: call_unpacked, GENERATOR: return_generator}
"""Our functions for instructions, by those of torch."""
TRANSLATORS: Final = InstructionTranslator, InliningInstructionTranslator, InliningGeneratorInstructionTranslator
DRAWN: Final = user_defined.call_random_fn
LOG: Final = misc.LoggingLoggerVariable.call_method
METHOD: Final = misc.RandomVariable.call_method
RUN: Final = InstructionTranslatorBase.run
STATIC: Final = builder.get_static_address_type
SHARED: Final = [value for name, value in vars(constant).items() if name.startswith("CONSTANT_VARIABLE_")]
"""The constants that all captures share: torch has the `None` that a program read from `x.grad` come from there."""

REPLACED: Final = (
    (VariableTracker, "as_python_constant", as_python_constant),
    (symbolic_convert, "generic_bool", generic_bool),
    (user_defined, "call_random_fn", call_random_fn),
    (misc.RandomVariable, "call_method", call_method),
    (misc.LoggingLoggerVariable, "call_method", log),
    (InstructionTranslatorBase, "run", run),
    (builder, "get_static_address_type", get_static_address_type),
    (RangeVariable, "sq_contains", in_range),
    *[(each, "dispatch_table", [OPERATIONS.get(op, op) for op in each.dispatch_table]) for each in TRANSLATORS],
)
"""The classes and modules of Dynamo's, with the names that are replaced in them."""
