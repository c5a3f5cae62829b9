"""Errors that are both ours and torch's: torch handles them as its own, and they say what is known and what helps.

    >>> from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode
    >>> from frontends.pytorch.shape_env.errors import UndecidedBranch
    >>> from shapes.errors import UndecidedGuard
    >>> issubclass(UndecidedBranch, UndecidedGuard), issubclass(UndecidedBranch, GuardOnDataDependentSymNode)
    (True, True)
"""

from __future__ import annotations

from functools import cached_property
from traceback import StackSummary

from torch._dynamo.exc import UncapturedHigherOrderOpError, Unsupported, UserError, UserErrorType
from torch._dynamo.variables.base import AsPythonConstantNotImplementedError, VariableTracker
from torch._guards import TracingContext
from torch.fx.experimental.symbolic_shapes import ConstraintViolationError, GuardOnDataDependentSymNode

from shapes.env import ShapeEnv
from shapes.errors import ShapeError, SpecializedDynamic, UndecidedGuard
from shapes.symbolic.numbers import SymBool, SymInt
from solver.terms.expr import Expr


class UndecidedBranch(UndecidedGuard, GuardOnDataDependentSymNode, UserError):
    """A branch that neither the facts nor a hint decides: a graph break for Dynamo.

    Torch appends its suggestions to `args[0]`.
    """

    def __init__(self, torchs: GuardOnDataDependentSymNode, ours: UndecidedGuard) -> None:
        said = str(torchs.args[0]).partition("\n")[0].rstrip() if torchs.args else ""
        UserError.__init__(self, UserErrorType.DYNAMIC_CONTROL_FLOW, f"{ours}\n  torch:  {said}")
        self.cond = torchs.cond
        self.question, self.verdict, self.origin = ours.question, ours.verdict, ours.origin
        self.sizes, self.headline, self.known, self.fix = ours.sizes, ours.headline, ours.known, ours.fix
        self.places = ours.places

    def __str__(self) -> str:
        return str(self.args[0])


class NotConstant(AsPythonConstantNotImplementedError, Unsupported):
    """Python needs a value that only the run knows: a graph break, where torch has an internal error.

    Torch raises and catches it often, to ask whether a value is known: the texts of a graph break are made when read.
    """

    category, gb_type = "unimplemented", "a value that only the run knows"
    skip_frame = logged = False
    frame_exec_strategy = _torch_dynamo_tracer_output = None

    def __init__(self, variable: VariableTracker) -> None:
        AsPythonConstantNotImplementedError.__init__(self, variable)

    @cached_property
    def msg(self) -> str:
        return str(self)

    @cached_property
    def real_stack(self) -> StackSummary:
        return TracingContext.extract_stack()


def undecided(engine: ShapeEnv, question: SymBool | None, number: Expr | None) -> UndecidedGuard | None:
    """The engine's error for a branch on a question, or for a number where Python needs one.

    None where it decides.
    """
    try:
        with engine.speculate():
            if question is not None:
                engine.guard(question)
            elif number is not None:
                engine.specialize(SymInt(engine, number, engine.interner.true), "a constant")
    except UndecidedGuard as error:
        return error
    except ShapeError:
        pass
    return None


class Refused(UncapturedHigherOrderOpError, ConstraintViolationError):
    """The base of errors that end a call: Dynamo suppresses no errors of the first of these classes."""

    def __init__(self, message: str) -> None:
        UncapturedHigherOrderOpError.__init__(self, message)


class SpecializedMark(SpecializedDynamic, Refused):
    """A size with a strict mark has become a constant; `fact` is the guard that did it."""

    def __init__(self, ours: SpecializedDynamic) -> None:
        Refused.__init__(self, str(ours))
        self.name, self.value, self.fact, self.places = ours.name, ours.value, ours.fact, ours.places
