"""Launching: the variant for the sizes at hand is looked up, and called without another look at the arguments.

    >>> from shapes import ShapeEnv
    >>> from backends.decisions.questions import Decisions
    >>> from backends.loops.program import Program
    >>> from backends.loops.schedule import schedule
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, s = [size.expr for size in env.sizes("b s", lo=2)]
    >>> program = Program(Decisions(env))
    >>> x = program.input("x", "float32", (b, s), (s, program.build.one))
    >>> total = program.build.reduce("sum", x, (1,))
    >>> program.outputs.append(program.stored(total, (program.build.one,)))
    >>> launch = Launch(schedule(program)[0], program.decisions)
    >>> (step,) = launch.plan((1000, 1000)).steps
    >>> step.grid, step.aligned.form.columns, step.aligned.form.is_aligned
    (1000, 1024, False)
    >>> launch.plan((1000, 1024)).steps[0].aligned.form.is_aligned
    True
    >>> [step.grid for step in launch.plan((2, 10_000_000)).steps]             # few long rows are cut in parts
    [490, 1]

What the sizes decide is worked out once for each combination of them; whether addresses are multiples of 16 is looked
at in every call. A form that Triton does not compile, or that does not fit the device, is no failure of the call: the
kernel is run by torch's operators then, and the log says why.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from math import prod
from typing import TYPE_CHECKING, Final, NoReturn

from backends import interpreter
from backends.backend import Launch as BackendLaunch
from backends.decisions.questions import Decisions
from backends.loops.affine import Affine
from backends.loops.kernels import Kernel
from backends.program.generated_functions import defined
from backends.triton.emission import Source, source
from backends.triton.facts import LARGEST, Facts
from backends.triton.forms import Form, Parts, choose, divided, longer
from backends.triton.tiles import factors, indices
from solver.terms.expr import Expr

if TYPE_CHECKING:
    from concurrent.futures import Future

    import torch
    from triton.compiler import CompiledKernel

    from backends.triton.calling import Call, Loaded

MOST_PLANS: Final = 4096
"""Combinations of sizes that are remembered."""
log: Final = logging.getLogger("symshape.triton")
_serial: Final = count()


class NotCompiled(Exception):
    """A kernel has no code at these sizes; the reason has been logged."""


@dataclass(frozen=True, slots=True)
class Step:
    """One launch.

    Attributes:
        grid: how many programs.
        aligned, general: the code where all addresses are multiples of 16, and where they are not.
        numbers: the arguments behind the pointers.
    """

    grid: int
    aligned: Source
    general: Source
    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """The launch for some sizes on a device.

    Attributes:
        between: elements of memory between two steps, for each reduction; none where there is one step.
        calls: for each step, the general call and the one for aligned addresses; they take addresses.
    """

    steps: tuple[Step, ...]
    between: int = 0
    calls: tuple[list[Call], ...] = ()


class Launch:
    """A kernel that is called with its tensors, in the order of its buffers, and its numbers.

    Attributes:
        sources: the forms that have been needed so far.
        function: the call itself.
    """

    def __init__(self, kernel: Kernel, decisions: Decisions) -> None:
        self.kernel = kernel
        self.facts = Facts.of(kernel, decisions)
        self.sources: dict[Form, Source] = {}
        self._places = {size: place for place, size in enumerate(kernel.scalars)}
        self._plans: dict[tuple[int, ...], Plan] = {}
        self._loaded: dict[tuple[Form, int], Loaded | None] = {}
        self._begun: dict[tuple[Form, int], Future[CompiledKernel]] = {}
        passes = kernel.passes
        self._is_divisible = len(passes) == 1 and bool(passes[0].reductions) and kernel.ragged is None
        self._instead = interpreter.launch(kernel)
        self.function: BackendLaunch = self._generated()

    def __call__(self, *arguments: torch.Tensor | int) -> None:
        self.function(*arguments)

    def _generated(self) -> BackendLaunch:
        """A function of just these arguments, which looks up the plan and calls its one step, if it is one."""
        tensors = [f"a{place}" for place in range(len(self.kernel.buffers))]
        numbers = [f"n{place}" for place in range(len(self._places))]
        pointers = [f"p{place}" for place in range(len(tensors))]
        key = ", ".join(["a0.get_device()", *numbers])
        lines = [
            f"def run({', '.join([*tensors, *numbers])}):",
            "    try:",
            f"        plan = plans.get(({key},)) or planned({key})",
            "        if len(plan.calls) != 1:",
            f"            return in_steps(plan, {', '.join(tensors)})",
            *[f"        {pointer} = {tensor}.data_ptr()" for pointer, tensor in zip(pointers, tensors)],
            f"        plan.calls[0][not ({' | '.join(pointers)}) & 15]({', '.join(pointers)})",
            "    except NotCompiled:",
            f"        instead({', '.join([*tensors, *numbers])})",
        ]
        scope: dict[str, object] = {"plans": self._plans, "planned": self._planned, "in_steps": self._in_steps}
        scope |= {"NotCompiled": NotCompiled, "instead": self._instead}
        return defined("\n".join(lines), f"<launch {next(_serial)} of {self.kernel.name}>", scope)

    def _planned(self, device: int, *numbers: int) -> Plan:
        """The plan for sizes that are met for the first time."""
        try:
            plan = self.plan(numbers)
        except Exception as error:
            self._refused(error)
            plan = Plan(())
            calls: list[list[Call]] = [[not_compiled, not_compiled]]
        else:
            calls = [self._calls(step, device) for step in plan.steps]
        if len(self._plans) >= MOST_PLANS:
            self._plans.clear()
        plan = self._plans[(device, *numbers)] = replace(plan, calls=tuple(calls))
        return plan

    def _calls(self, step: Step, device: int) -> list[Call]:
        """The calls of a step, each of which is loaded when it is first needed."""

        def first(is_aligned: bool, *pointers: int) -> None:
            code = self._load(step.aligned if is_aligned else step.general, device)
            calls[is_aligned] = not_compiled if code is None else code.call(step.grid, step.numbers)
            calls[is_aligned](*pointers)

        calls: list[Call] = [partial(first, False), partial(first, True)]
        return calls

    def begin(self, numbers: Sequence[int], device: int) -> None:
        """Start to compile for these sizes, as those of the first call will be, on the current device."""
        from backends.triton.calling import begun

        try:
            steps = self.plan(numbers).steps
        except Exception:  # which the first call tells
            return
        for step in steps:
            self._begun[step.aligned.form, device] = begun(step.aligned)

    def _load(self, source: Source, device: int) -> Loaded | None:
        """The code of a form; none where there is none to be had."""
        from backends.triton.calling import loaded

        key = (source.form, device)
        if key not in self._loaded:
            try:
                self._loaded[key] = loaded(source, device, self._begun.pop(key, None))
            except Exception as error:  # of Triton, of the compilers behind it, or of the device's driver
                self._loaded[key] = None
                self._refused(error)
        return self._loaded[key]

    def _refused(self, error: Exception) -> None:
        what = str(error).strip().partition("\n")[0]
        log.warning("%s runs operator by operator: %s: %s", self.kernel.name, type(error).__name__, what)

    def _in_steps(self, plan: Plan, *tensors: torch.Tensor) -> None:
        """Several launches with memory between them, or none."""
        if not plan.calls:
            return
        import torch

        kinds = [getattr(torch, reduction.dtype) for reduction in self.kernel.reductions]
        between = [tensors[0].new_empty(plan.between, dtype=kind) for kind in kinds]
        pointers = [tensor.data_ptr() for tensor in (*tensors, *between)]
        is_aligned = not any(pointer & 15 for pointer in pointers)
        for calls in plan.calls:
            calls[is_aligned](*pointers)

    # ------------------------------------------------------------------ planning

    def plan(self, numbers: Sequence[int]) -> Plan:
        """Return the launch for these sizes."""
        rows, columns = self._count(self.facts.tile.rows, numbers), self._count(self.facts.tile.columns, numbers)
        narrow = self.facts.narrow if self.facts.narrow is not None else self._is_narrow(numbers)
        units = frozenset([size for size in self.facts.strides if self._at(size, numbers) == 1])
        aligned = all(self._at(size, numbers) % 16 == 0 for size in self.facts.aligning if size not in units)
        form = choose(self.facts, rows=rows, columns=columns, narrow=narrow, aligned=aligned, units=units)
        parts = divided(form, rows, columns) if self._is_divisible and form.is_looped else None
        if parts is not None:
            grids = (-(-rows // form.rows) * parts.count, -(-rows // parts.rest.rows))
            steps = [self._step(form, grid, numbers, parts) for form, grid in zip((parts.part, parts.rest), grids)]
            return Plan(tuple(steps), rows * parts.count)
        form = form if self.facts.is_ragged else longer(form, rows, columns)
        grid = self._grid(form, rows, columns)
        return Plan((self._step(form, grid, numbers, None),) if grid else ())

    def _step(self, form: Form, grid: int, numbers: Sequence[int], parts: Parts | None) -> Step:
        fast, general = self._source(form), self._source(replace(form, is_aligned=False))
        named = {"parts": parts.count, "chunk": parts.chunk} if parts else {}
        values = [
            prod([self._at(size, numbers) for size in number.sizes]) if number.sizes else named[number.name]
            for number in fast.numbers
        ]
        return Step(grid, fast, general, tuple(values))

    def _at(self, size: Expr, numbers: Sequence[int]) -> int:
        return size.constant if size.is_constant else numbers[self._places[size]]

    def _count(self, axes: Sequence[int], numbers: Sequence[int]) -> int:
        return prod([self._at(self.kernel.extents[axis], numbers) for axis in axes])

    def _grid(self, form: Form, rows: int, columns: int) -> int:
        high, wide = -(-rows // form.rows), -(-columns // form.columns)
        return {"flat": wide, "grid": high * wide, "reduction": high}[self.facts.tile.kind]

    def _is_narrow(self, numbers: Sequence[int]) -> bool:
        """Return True if indices, and all their operands, fit 32 bits."""
        extents = [self._at(extent, numbers) for extent in self.kernel.extents]
        largest = [abs(self._at(size, numbers)) for size in factors(self.kernel)]
        largest += [self._farthest(index, extents, numbers) for index in indices(self.kernel)]
        return max(prod(extents), *largest) <= LARGEST

    def _farthest(self, index: Affine, extents: Sequence[int], numbers: Sequence[int]) -> int:
        steps = [abs(self._at(coefficient, numbers)) * max(extents[axis] - 1, 0) for axis, coefficient in index.terms]
        return abs(self._at(index.constant, numbers)) + sum(steps)

    def _source(self, form: Form) -> Source:
        found = self.sources.get(form)
        if found is None:
            found = self.sources[form] = source(self.kernel, self.facts, form)
        return found


def not_compiled(*pointers: int) -> NoReturn:
    """The call of a kernel without code: an error."""
    raise NotCompiled
