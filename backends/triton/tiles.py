"""Tiling: which axes of a kernel are the rows of a tile, and which are its columns.

    >>> from shapes import ShapeEnv
    >>> from backends.decisions.questions import Decisions
    >>> from backends.loops.program import Program
    >>> from backends.loops.schedule import schedule
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, s = [size.expr for size in env.sizes("b s", lo=2)]
    >>> program = Program(Decisions(env))
    >>> x = program.input("x", "float32", (b, s), (s, program.build.one))
    >>> y = program.build.reduce("sum", x, (1,))
    >>> program.outputs.append(program.stored(y, (program.build.one,)))
    >>> tile(schedule(program)[0])
    Tile(kind='reduction', rows=(0,), columns=(1,), is_along_rows=False)

A reduction's columns are its inner axes. Without one, a single axis is flat, and of several the one that lanes run
along is the columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from backends.loops.affine import Affine, is_one
from backends.loops.kernels import IndexValue, Kernel, Load, walk
from solver.terms.expr import Expr


@dataclass(frozen=True, slots=True)
class Tile:
    """An axis spread over programs and their lanes.

    Attributes:
        is_along_rows: whether memory is contiguous from row to row, somewhere at least.
    """

    kind: Literal["flat", "grid", "reduction"]
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    is_along_rows: bool


def tile(kernel: Kernel) -> Tile:
    """The tile of a kernel."""
    outer = tuple(range(kernel.outer))
    if kernel.inner:
        inner = tuple(range(kernel.outer, len(kernel.extents)))
        return Tile("reduction", outer, inner, kernel.lanes < kernel.outer)
    if len(outer) <= 1:
        return Tile("flat", (), outer, False)
    rows = tuple([axis for axis in outer if axis != kernel.lanes])
    steps = [index.coefficient(rows[-1]) for index in indices(kernel)]
    return Tile("grid", rows, (kernel.lanes,), any(step is not None and is_one(step) for step in steps))


def factors(kernel: Kernel) -> Iterator[Expr]:
    """All sizes that indices are computed with: extents and strides."""
    yield from kernel.extents
    for index in indices(kernel):
        for _, coefficient in index.terms:
            yield coefficient
    for value in walk(kernel.roots()):
        if isinstance(value, Load):
            for _, stride in value.indirect:
                yield stride


def indices(kernel: Kernel) -> Iterator[Affine]:
    """All affine indices of a kernel."""
    for store in kernel.stores:
        yield store.offset
    for value in walk(kernel.roots()):
        match value:
            case Load(offset=index) | IndexValue(index=index):
                yield index
