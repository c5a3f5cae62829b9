"""Launching: which form for the sizes at hand is looked up, and compiled code is called without another look at it.

    >>> from shapes import ShapeEnv
    >>> from backends.decisions import Decisions
    >>> from backends.loops.program import Program
    >>> from backends.loops.schedule import schedule
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, s = [size.expr for size in env.sizes("b s", lo=2)]
    >>> program = Program(Decisions(env))
    >>> x = program.input("x", "float32", (b, s), (s, program.build.one))
    >>> total = program.build.reduce("sum", x, (1,))
    >>> program.outputs.append(program.stored(total, (program.build.one,)))
    >>> launch = Launch(schedule(program)[0], program.decisions)
    >>> plan = launch.plan((100, 1000))
    >>> plan.grid, plan.aligned.form.columns, plan.aligned.form.is_aligned
    (100, 1024, False)
    >>> launch.plan((100, 1024)).aligned.form.is_aligned
    True

What the sizes decide is worked out once for each combination of them; whether addresses are multiples of 16 is looked
at in every call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Final

from backends.decisions import Decisions
from backends.loops.indices import Affine
from backends.loops.kernels import Kernel
from backends.triton.emission import Source, source
from backends.triton.facts import LARGEST, Facts
from backends.triton.forms import Form, choose
from backends.triton.tiles import indices
from solver.expr import Expr

MOST_PLANS: Final = 4096
"""Combinations of sizes that are remembered."""


@dataclass(slots=True)
class Plan:
    """A launch for some sizes.

    Attributes:
        grid: how many programs; 0 where there is nothing to do.
        aligned, general: the code where all addresses are multiples of 16, and where they are not.
        numbers: the arguments behind the pointers.
        calls: the two, compiled, once they are needed.
    """

    grid: int
    aligned: Source
    general: Source
    numbers: tuple[int, ...]
    calls: dict[bool, Callable[..., object]] = field(default_factory=dict)


class Launch:
    """A kernel that is called with its tensors, in the order of its buffers, and its numbers.

    Attributes:
        sources: the forms that have been needed so far.
    """

    def __init__(self, kernel: Kernel, decisions: Decisions) -> None:
        self.kernel = kernel
        self.facts = Facts.of(kernel, decisions)
        self.sources: dict[Form, Source] = {}
        self._numbers = kernel.numbers
        self._places = {size: place for place, size in enumerate(self._numbers)}
        self._plans: dict[tuple[int, ...], Plan] = {}
        self._tensors = len(kernel.buffers)

    def __call__(self, *arguments: object) -> None:
        tensors = arguments[: self._tensors]
        numbers = arguments[self._tensors :]
        plan = self._plans.get(numbers) or self.plan(numbers)
        if not plan.grid:
            return
        pointers = [tensor.data_ptr() for tensor in tensors]
        aligned = not any(pointer & 15 for pointer in pointers)
        call = plan.calls.get(aligned)
        if call is None:
            call = plan.calls[aligned] = self._call(plan.aligned if aligned else plan.general)
        call(plan.grid, tensors, pointers, plan.numbers)

    def plan(self, numbers: Sequence[int]) -> Plan:
        """What to launch for these sizes."""
        rows, columns = self._count(self.facts.tile.rows, numbers), self._count(self.facts.tile.columns, numbers)
        narrow = self.facts.narrow if self.facts.narrow is not None else self._is_narrow(numbers)
        aligned = all(self._at(size, numbers) % 16 == 0 for size in self.facts.aligning)
        form = choose(self.facts, rows=rows, columns=columns, narrow=narrow, aligned=aligned)
        fast, general = self._source(form), self._source(replace(form, is_aligned=False))
        values = tuple([prod([self._at(size, numbers) for size in number.sizes]) for number in fast.numbers])
        plan = Plan(self._grid(form, rows, columns), fast, general, values)
        if len(self._plans) >= MOST_PLANS:
            self._plans.clear()
        self._plans[tuple(numbers)] = plan
        return plan

    def _at(self, size: Expr, numbers: Sequence[int]) -> int:
        return size.constant if size.is_constant else numbers[self._places[size]]

    def _count(self, axes: Sequence[int], numbers: Sequence[int]) -> int:
        return prod([self._at(self.kernel.extents[axis], numbers) for axis in axes])

    def _grid(self, form: Form, rows: int, columns: int) -> int:
        high, wide = -(-rows // form.rows), -(-columns // form.columns)
        return {"flat": wide, "grid": high * wide, "reduction": high}[self.facts.tile.kind]

    def _is_narrow(self, numbers: Sequence[int]) -> bool:
        """Whether indices fit 32 bits, and all that they are made from."""
        extents = [self._at(extent, numbers) for extent in self.kernel.extents]
        farthest = [self._farthest(index, extents, numbers) for index in indices(self.kernel)]
        return max(prod(extents), *farthest) <= LARGEST

    def _farthest(self, index: Affine, extents: Sequence[int], numbers: Sequence[int]) -> int:
        steps = [abs(self._at(coefficient, numbers)) * max(extents[axis], 1) for axis, coefficient in index.terms]
        return abs(self._at(index.constant, numbers)) + sum(steps)

    def _source(self, form: Form) -> Source:
        found = self.sources.get(form)
        if found is None:
            found = self.sources[form] = source(self.kernel, self.facts, form)
        return found

    def _call(self, text: Source) -> Callable[..., object]:
        from backends.triton.calling import caller

        return caller(text)
