"""`minify`: reduce a failing program to a minimal graph and minimal facts, with a script that reproduces it.

    >>> import torch
    >>> from frontends.pytorch import minify
    >>> def program(x, y):
    ...     z = torch.softmax(x @ x.t(), -1) + 1
    ...     return (z * 2).sum(0) + y
    >>> found = minify(program, (torch.randn(3, 4), torch.randn(3)), kind="specializes", backend="eager")
    >>> found.operators
    ('aten.add.Tensor',)
    >>> print(*found.facts, sep="\\n")
    mark_maybe_dynamic(arg1_1, 0)
    mark_maybe_dynamic(sum_1, 0)
    >>> print(found.program)
    def program(arg1_1, sum_1):
        add_1 = torch.ops.aten.add.Tensor(sum_1, arg1_1)
        return (add_1,)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr
from dataclasses import dataclass, replace
from io import StringIO
from typing import Any, Final

import torch
from torch.utils._pytree import tree_map_only

from frontends.pytorch.dynamo.compiled import Compiled
from frontends.pytorch.errors import rejected
from frontends.pytorch.minifier.failures import Failure, Kind, Settings, failure_of
from frontends.pytorch.minifier.programs import (
    Fact,
    Operators,
    Program,
    copied,
    inputs_of,
    inputs_text,
    script,
    tensor_text,
)
from shapes.accepted import shown

KINDS: Final = ("raises", "differs", "specializes")


@dataclass(frozen=True, slots=True)
class Minified:
    """A minimal failing program.

    Attributes:
        failure: the failure.
        program: its text.
        operators: its operators in order.
        facts: the statements that make sizes of its inputs symbolic: without one of them it does not fail.
        script: reproduces the failure in a separate process.
        tried: the number of compiled programs.
    """

    failure: Failure
    program: str
    operators: tuple[str, ...]
    facts: tuple[str, ...]
    script: str
    tried: int

    def __str__(self) -> str:
        return self.script


def minify(
    fn: Callable[..., object],
    args: Sequence[object],
    kwargs: Mapping[str, object] | None = None,
    *,
    kind: Kind | None = None,
    backend: str = "cpu",
    dynamic: bool | None = True,
    rtol: float | None = None,
    atol: float | None = None,
    preamble: str = "",
) -> Minified:
    """Reduce a failing program to a minimal graph with the same failure, by delta debugging (torch's minifier).

    Args:
        kind: "raises" (compiled, it is an error), "differs" (another result, or gradient, than eager torch's) or
            "specializes" (a guard on sizes); None is the first of these that there is.
        backend: as in `compile`.
        dynamic: as in `compile`; sizes of arguments may be marked instead.
        rtol: the relative tolerance of results; by default that of their dtypes.
        atol: the absolute tolerance of results; by default that of their dtypes.
        preamble: the first lines of the script, such as an import that registers an operator.

    Raises:
        ConstraintViolation: nothing fails, or not in a graph of torch's operators.
    """
    if not callable(fn) or not isinstance(args, list | tuple) or not (kwargs is None or isinstance(kwargs, Mapping)):
        rejected("minify(): expected a function, a tuple of its arguments, and those by name", "minify(f, (x,))")
    if kind is not None and kind not in KINDS:
        rejected(f"kind={shown(kind)}: expected one of {', '.join(KINDS)}, or None", 'kind="differs"')
    given: object = dynamic
    if not (given is None or isinstance(given, bool)):
        what = f"dynamic={shown(dynamic)}: expected True, False or None, and marks of the arguments"
        rejected(what, "mark_dynamic(x, 0)")
    fn = fn._program.fn if isinstance(fn, Compiled) else fn
    settings = Settings(backend, dynamic, rtol, atol)
    failure = failure_of(fn, lambda: again(args), settings, kind, again(dict(kwargs or {})))
    if failure is None:
        said = "the compiled program" if kind is None else f"nothing {kind}: it"
        what = f"minify(): {said} behaves like eager torch, which raises no error"
        rejected(what, "the arguments with which it fails")
    return _Minifier(Operators(fn, args, kwargs, dynamic=dynamic), failure, settings, preamble).minified()


def again(arguments: Any) -> Any:
    """Copies of arguments and their marks, since a call may mutate tensors."""

    def made(x: torch.Tensor) -> torch.Tensor:
        if type(x) not in (torch.Tensor, torch.nn.Parameter):
            return x
        made = copied(x)
        made.__dict__.update(x.__dict__)
        return made

    return tree_map_only(torch.Tensor, made, arguments)


class _Minifier:
    """One search."""

    def __init__(self, operators: Operators, failure: Failure, settings: Settings, preamble: str) -> None:
        self._operators = operators
        self._failure = failure
        self._settings = replace(settings, dynamic=False)
        self._preamble = preamble
        self._guarding: frozenset[str] = frozenset()
        """The values at which the whole graph has guards: one elsewhere is there because something was left out."""
        self._tried = 0

    def minified(self) -> Minified:
        program = self._least_graph()
        facts = self._least_facts(program)
        inputs, failure = self._inputs(program, facts)
        calls = [line.partition(" = ")[2] for line in program.text.splitlines() if " = torch.ops." in line]
        return Minified(
            failure,
            program.text,
            tuple([text.partition("(")[0].removeprefix("torch.ops.") for text in calls]),
            tuple(map(str, facts)),
            script(program, inputs, failure, self._settings, self._preamble),
            self._tried,
        )

    def _least_graph(self) -> Program:
        """A minimal failing graph, by torch's delta debugging."""
        # imports much of torch
        from torch._functorch.fx_minifier import minifier

        operators = self._operators

        known: dict[str, bool] = {}

        def fails(module: torch.fx.GraphModule, inputs: object) -> bool:
            program = operators.program(module.graph)
            if program.text not in known:
                known[program.text] = self._fails(program, program.inputs) is not None
            return known[program.text]

        complete = operators.program(operators.module.graph)
        found = self._fails(complete, complete.inputs)
        if found is None:
            lines = "".join([f"\n  {line}" for line in self._failure.lines])
            what = f"minify(): {self._failure}{lines}\n  but not as a graph of torch's operators alone"
            fix = "look at the Python around them, and at the line that the error or the guard names"
            rejected(what, fix)
        self._guarding = guarding(complete, found)
        given = list(map(copied, operators.given))
        with redirect_stderr(StringIO()):
            # it reports progress there
            least, _ = minifier(operators.module, given, fails, lambda *state: None, skip_sanity=True)
        return operators.program(least.graph)

    def _fails(self, program: Program, made: Callable[[], list[torch.Tensor]]) -> Failure | None:
        """A program's failure, if it is the original one."""
        self._tried += 1
        found = failure_of(program.call, made, self._settings, self._failure.kind)
        if found is None or not self._failure.is_same(found):
            return None
        return None if self._guarding and self._guarding.isdisjoint(guarding(program, found)) else found

    def _least_facts(self, program: Program) -> list[Fact]:
        """The minimal symbolic sizes, each with minimal bounds."""
        def fails(facts: Sequence[Fact]) -> bool:
            return self._fails(program, lambda: program.inputs(facts)) is not None

        left = list(program.facts)
        for fact in program.facts:
            place = left.index(fact)
            if fails([*left[:place], *left[place + 1 :]]):
                del left[place]
                continue
            for name in ("lo", "hi"):
                without: dict[str, Any] = {name: None}
                freer = replace(left[place], choice=replace(left[place].choice, **without))
                if freer != left[place] and fails([*left[:place], freer, *left[place + 1 :]]):
                    left[place] = freer
        return left

    def _inputs(self, program: Program, facts: Sequence[Fact]) -> tuple[str, Failure]:
        """The inputs as text; with random elements if these fail as well."""
        for seeded in (True, False):
            tensors = [tensor_text(each, seeded=seeded) for each in program.values]
            text = inputs_text(program.names, facts, tensors)
            found = self._fails(program, inputs_of(text))
            if found is not None:
                break
        return text, found or self._failure


def guarding(program: Program, failure: Failure) -> frozenset[str]:
    """The program's values at lines with guards."""
    lines = program.text.splitlines()
    at = [re.match(r"<program>:(\d+) ", line) for line in failure.lines]
    return frozenset([lines[int(found[1]) - 1].partition(" = ")[0].strip() for found in at if found])
