"""Two-stage full reduction: partial results of chunks of the axis, combined in order (deterministic).

    for each chunk (in parallel):   partials[chunk] = ...        k0_chunk
    result = identity;
    for each chunk:                 result = result + partials[chunk]
    stores

How many chunks there are depends on the sizes only, and they are combined in order, so a result does not depend on how
many threads there are.
"""

from __future__ import annotations

from typing import Final

from backends.cpu.emission.c_operations import KINDS, CValue, combined, element_of, identity
from backends.cpu.emission.nest import Nest
from backends.cpu.emission.plan import PART, UNROLL, LoopPlan
from backends.cpu.emission.text import Text
from backends.cpu.emission.unroll import ONE

MOST: Final = 64
"""Chunks at most."""
SLOT: Final = 8
"""Bytes of a partial result."""


def write_chunk(nest: Nest, name: str) -> None:
    """The function that reduces one chunk."""
    parameters = "void *const *pointers, const int64_t *numbers, int64_t first, int64_t last, char *partials"
    with nest.text.block(f"static void {name}({parameters})"):
        nest.one_pass("first", "last")
        for place, reduction in enumerate(nest.kernel.reductions):
            result = nest.writer.result(reduction, -1).text
            nest.text.line(f"write_{KINDS[reduction.dtype]}(partials + {SLOT * place}, {result}[0]);")


def write_full_reduction(plan: LoopPlan, text: Text, run: str, *, elements: str, threads: str) -> None:
    """The body of the entry: the partial results of all chunks, combined, and the stores."""
    nest = Nest(plan, text, is_narrow=True)
    loops, kernel = plan.loops, plan.loops.kernel
    line = text.line
    line(f"int64_t chunks = {f'{elements} / {loops.grain}' if loops.is_large is not False else '0'} + 1;")
    line(f"chunks = chunks < {MOST} ? chunks : {MOST};")
    nest.writer.prologue()
    extent = nest.writer.size(kernel.extents[0])
    step = UNROLL * PART * loops.count if kernel.lanes == 0 else 1
    line(f"const int64_t step = ({extent} / chunks + {step}) / {step} * {step};")
    line(f"chunks = {extent} / step + ({extent} % step != 0);")
    line(f"char partials[{MOST * SLOT * len(kernel.reductions)}];")
    call = f"{run}(pointers, numbers, first, first + step < {extent} ? first + step : {extent}, partials + "
    call += f"first / step * {SLOT * len(kernel.reductions)});"
    line("#ifdef _OPENMP")
    loop = f"for (int64_t first = 0; first < {extent}; first += step) {call}"
    text.parallel(f"{threads} > 1 && chunks > 1", f"num_threads({threads}) schedule(dynamic, 1)", loop)
    for place, reduction in enumerate(kernel.reductions):
        element, name = element_of(reduction.dtype), f"r{next(nest.writer.serial)}"
        line(f"{element.vector} {name} = {identity(reduction.operation, reduction.dtype)};")
        with text.block("for (int64_t chunk = 0; chunk < chunks; chunk++)"):
            address = f"partials + chunk * {SLOT * len(kernel.reductions)} + {SLOT * place}"
            part = f"broadcast_{KINDS[reduction.dtype]}({address})"
            line(f"{name} = {combined(reduction.operation, name, part, reduction.dtype)};")
        nest.writer.give(reduction, -1, CValue(name, reduction.dtype))
    values = loops.after_passes()
    nest.writer.define(values, ONE)
    for store in kernel.once:
        nest.writer.store(store, ONE)
