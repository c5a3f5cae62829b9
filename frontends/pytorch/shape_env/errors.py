"""Errors that are both ours and torch's: torch handles them as its own, and they say what is known and what helps.

    >>> from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode
    >>> from frontends.pytorch.shape_env.errors import UndecidedBranch
    >>> from shapes.errors import UndecidedGuard
    >>> issubclass(UndecidedBranch, UndecidedGuard), issubclass(UndecidedBranch, GuardOnDataDependentSymNode)
    (True, True)

The condition of a fix is the user's own text where the user's line compares. Where an operator asks, it is the engine's
text, with what the program calls the symbols there: a number's name, or a tensor's size.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from traceback import StackSummary
from typing import Any, Final

import sympy
import torch
from torch._dynamo.exc import UncapturedHigherOrderOpError, Unsupported, UserError, UserErrorType
from torch._dynamo.symbolic_convert import InstructionTranslatorBase, tls
from torch._dynamo.variables.base import AsPythonConstantNotImplementedError, VariableTracker
from torch._dynamo.variables.lazy import LazyVariableTracker
from torch._guards import TracingContext
from torch.fx.experimental.symbolic_shapes import ConstraintViolationError, GuardOnDataDependentSymNode

from frontends.pytorch.source_location import checks_of_truth, is_users, whichever_holds
from shapes.env import ShapeEnv
from shapes.errors import ShapeError, SpecializedDynamic, UndecidedGuard, written_condition
from shapes.origin import Origin, tested_truth
from shapes.symbolic.numbers import SymBool, SymInt
from solver.terms.expr import Expr

OTHERWISE: Final = "else torch.where, or torch.cond with both branches"
BREAKS: Final = "; fullgraph=False breaks the graph here"

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


class Asked(Refused, AssertionError):
    """An error that a setting of torch's asks for, or a call that torch forbids in what is compiled."""


class SpecializedMark(SpecializedDynamic, Refused):
    """A size with a strict mark has become a constant; `fact` is the guard that did it."""

    def __init__(self, ours: SpecializedDynamic) -> None:
        Refused.__init__(self, str(ours))
        self.name, self.value, self.fact, self.places = ours.name, ours.value, ours.fact, ours.places


# ---------------------------------------------------------------------- fixes


def advise(error: UndecidedGuard, words: Mapping[sympy.Symbol, Expr | None]) -> str:
    """Describe the program's ways out of an undecided question; `words` has our symbol for each of torch's."""
    frame = innermost_of_program()
    breaks = "" if frame is None else BREAKS
    names = {} if frame is None else names_in(frame)
    if error.fix.startswith("keep it symbolic"):
        number = renamed(error.fix.partition("expect_true(")[2].partition(" == ...")[0], words, names)
        return f"keep it symbolic, or torch._check({number} == ...) with the number that it always is{breaks}"
    tested = tested_truth(error.question, error.origin)
    if tested:
        return f"{checks_of_truth(tested)}; {OTHERWISE}{breaks}"
    condition = written_condition(error.origin) if is_plain(error.origin) else ""
    condition = condition or renamed(error.question, words, names)
    return f"{whichever_holds(condition)}; {OTHERWISE}{breaks}"


def is_plain(origin: Origin | None) -> bool:
    """Return True if the line is the program's own and one comparison, rather than several of which one was asked."""
    if origin is None or not is_users(origin.file):
        return False
    try:
        return isinstance(ast.parse(origin.segment, mode="eval").body, ast.Compare)
    except (SyntaxError, ValueError):
        return False


def renamed(text: str, words: Mapping[sympy.Symbol, Expr | None], names: Mapping[sympy.Symbol, str]) -> str:
    """Text about our symbols in the program's names, for those that have one."""
    by_word = {str(ours): names[symbol] for symbol, ours in words.items() if ours is not None and symbol in names}
    return re.sub(r"\b[A-Za-z_]\w*\b", lambda found: by_word.get(found[0], found[0]), text)


def innermost_of_program() -> InstructionTranslatorBase | None:
    """The program's innermost function that Dynamo reads, None outside of Dynamo."""
    root = getattr(tls, "current_tx", None)
    reader: InstructionTranslatorBase | None = None if root is None else root.output.current_tx
    while reader is not None and not is_users(reader.f_code.co_filename):
        reader = reader.parent
    return reader


def names_in(reader: InstructionTranslatorBase) -> dict[sympy.Symbol, str]:
    """Names of torch's symbols by the function's local variables: numbers before sizes of tensors."""
    numbers: dict[sympy.Symbol, str] = {}
    sizes: dict[sympy.Symbol, str] = {}
    for name, value in values_of(reader):
        if isinstance(value, torch.SymInt):
            found = value.node.expr
            if isinstance(found, sympy.Symbol):
                numbers.setdefault(found, name)
        elif isinstance(value, torch.Tensor):
            for dim, size in enumerate(value.shape):
                found = size.node.expr if isinstance(size, torch.SymInt) else None
                if isinstance(found, sympy.Symbol):
                    sizes.setdefault(found, f"{name}.shape[{dim}]")
    return {**sizes, **numbers}


def values_of(reader: InstructionTranslatorBase) -> Iterator[tuple[str, Any]]:
    """The fake tensors and symbolic numbers of a function's local variables that Dynamo has read: it is left as it is,
    since torch catches some of these errors and goes on."""
    for name, variable in reader.symbolic_locals.items():
        if isinstance(variable, LazyVariableTracker):
            variable = variable.unwrap()
        proxy = None if isinstance(variable, LazyVariableTracker) else getattr(variable, "proxy", None)
        if name.isidentifier() and proxy is not None:
            yield name, proxy.node.meta.get("example_value")
