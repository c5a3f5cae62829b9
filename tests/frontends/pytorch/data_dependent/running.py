"""A program whose sizes come from data, compiled as a whole graph and compared with eager torch.

>>> from tests.frontends.pytorch.data_dependent.programs import PROGRAMS
>>> always_holds(PROGRAMS["single_segment"])
True
"""

from __future__ import annotations

import ast
import inspect
import linecache
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import torch
import torch._dynamo

import frontends.pytorch
from tests.frontends.pytorch.data_dependent.programs import Program
from tests.frontends.pytorch.data_dependent.records import Function

Spelling = Callable[[Function], Function]
CAPTURED: Final = {"capture_scalar_outputs": True, "capture_dynamic_output_shape_ops": True}
"""Settings by which plain torch takes sizes from data into a graph; `fullgraph=True` sets both in torch 2.13."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of a program: `whole` is one graph with eager torch's results whose false checks raise."""

    verdict: Literal["whole", "refused", "wrong"]
    reason: str = ""


def whole_graph(function: Function) -> Function:
    """The function by plain torch, as one graph that eager kernels run."""
    return torch.compile(function, backend="eager", fullgraph=True)


def in_reasoner(function: Function) -> Function:
    """The same, with the engine asked."""
    compiled = whole_graph(function)

    def call(*arguments: torch.Tensor) -> Any:
        with frontends.pytorch.reasoner():
            return compiled(*arguments)

    return call


def by_backend(function: Function) -> Function:
    """The public spelling with torch's `compile`."""
    return torch.compile(function, backend="symshape", fullgraph=True)


def by_compile(function: Function) -> Function:
    """The public spelling with our `compile`."""
    return frontends.pytorch.compile(function, fullgraph=True)


SPELLINGS: Final[dict[str, Spelling]] = {"reasoner": in_reasoner, "backend": by_backend, "compile": by_compile}


def outcome(program: Program, compiled_by: Spelling) -> Outcome:
    """Run the program on all its arguments, freshly compiled."""
    function = program.function
    torch._dynamo.reset()
    with torch._dynamo.config.patch(CAPTURED):
        compiled = compiled_by(function)
        for make in program.holds:
            expected = program.function(*make())
            try:
                actual = compiled(*make())
            except Exception as error:
                return Outcome("refused", str(error))
            try:
                torch.testing.assert_close(actual, expected, rtol=1e-5, atol=1e-6)
            except AssertionError as error:
                return Outcome("wrong", str(error))
        for make in program.fails:
            try:
                compiled(*make())
            except Exception:
                continue
            return Outcome("wrong", f"a false check passes on {make()}")
    return Outcome("whole")


def repaired(program: Program, compiled_by: Spelling) -> list[Outcome]:
    """The outcomes of the program and of what up to three messages make of it, the last one after their fixes."""
    found = [outcome(program, compiled_by)]
    while found[-1].verdict == "refused" and len(found) < 4:
        changed = fixed(program, found[-1].reason)
        if changed is None:
            break
        program = changed
        found.append(outcome(program, compiled_by))
    return found


def fixed(program: Program, message: str) -> Program | None:
    """The program with the check of a message's fix before the line that asks; None where no check always holds."""
    needed = re.search(r"needed: .*  \((.+):(\d+)\)$", message, re.MULTILINE)
    line = re.search(r"^ *fix: (.*)$", message, re.MULTILINE)
    if needed is None or line is None or needed[1] not in inspect.getfile(program.function):
        return None
    for check in re.findall(r"(torch\._check\(.*?\))(?= or torch|,|;|$)", line[1]):
        changed = replace(program, function=with_statement(program.function, check, int(needed[2])))
        if always_holds(changed):
            return changed
    return None


def always_holds(program: Program) -> bool:
    """Return True if the program runs in eager torch on the arguments on which its checks hold."""
    try:
        for make in program.holds:
            program.function(*make())
    except (RuntimeError, ValueError):
        return False
    return True


def with_statement(function: Function, statement: str, line: int) -> Function:
    """The function with a statement before the one that holds a line of its file."""
    lines, first = inspect.getsourcelines(function)
    tree = ast.parse("".join(lines))
    (definition,) = tree.body
    assert isinstance(definition, ast.FunctionDef)
    definition.decorator_list = []
    ahead = [body for body in definition.body if body.lineno + first - 1 <= line]
    definition.body.insert(len(ahead) - 1, ast.parse(statement).body[0])
    source = ast.unparse(tree)
    file = f"<{function.__name__} with {statement}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    scope = dict(function.__globals__)
    exec(compile(source, file, "exec"), scope)
    made: Function = scope[function.__name__]
    return made
