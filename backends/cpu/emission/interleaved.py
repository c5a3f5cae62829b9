"""Interleaved kernels (`backends.loops.interleaving`) as one function: their common iterations in blocks.

    for each block of iterations (in parallel):
        k0_block(...); k1_block(...); ...

A block is so long that its data stays in the L1 cache from one kernel to the next, and one iteration at least. Where
that is too much for the L2 cache as well, or there are too few iterations for the threads, the kernels run one after
the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from backends.cpu.emission.c_operations import integer
from backends.cpu.emission.loops import Loops
from backends.cpu.emission.plan import FIRST_CACHE, KernelPlan, row_bytes
from backends.cpu.emission.text import Text
from backends.loops.affine import is_one
from backends.loops.interleaving import split
from solver.terms.expr import Expr

LARGEST: Final = 3 << 17
"""Bytes of one iteration at most: so much is still in the L2 cache when the next kernel comes."""
EACH: Final = 8
"""Iterations for each thread that are enough to balance the work."""


def numbers_of(loops: Loops, given: str = "numbers") -> dict[Expr, str]:
    """The C expression of each scalar argument."""
    return {size: f"{given}[{place}]" for place, size in enumerate(loops.scalars)}


def product_of(sizes: Sequence[Expr], numbers: Mapping[Expr, str]) -> str:
    """The product of sizes as a C expression."""
    return " * ".join([integer(s.constant) if s.is_constant else numbers[s] for s in sizes]) or "1"


def interleaved_source(kernels: Sequence[KernelPlan], names: Sequence[str]) -> str:
    """The function of kernels with these names. Where an axis has one element for which one of them has a form of its
    own, they run one after the other."""
    text = Text()
    line = text.line
    group = [each.forms[0].loops for each in kernels]
    indices = range(len(group))
    for name in names:
        parameters = "void *const *pointers, const int64_t *numbers"
        line(f"void {name}({parameters});")
        line(f"static void {name}_block({parameters}, int64_t begin, int64_t left, int64_t each);")
    numbers = [numbers_of(loops, f"numbers[{place}]") for place, loops in enumerate(group)]
    outer = [product_of(loops.kernel.extents[: loops.kernel.outer], all_) for loops, all_ in zip(group, numbers)]
    inner = [product_of(loops.kernel.extents[loops.kernel.outer :], all_) for loops, all_ in zip(group, numbers)]

    def all_blocks(begin: str, end: str) -> None:
        with text.block(f"for (int64_t begin = {begin}; begin < {end}; begin += block)"):
            line(f"const int64_t left = {end} - begin < block ? {end} - begin : block;")
            for place, name in zip(indices, names):
                line(f"{name}_block(pointers[{place}], numbers[{place}], begin, left, each{place});")

    def one_after_the_other() -> None:
        for place, name in zip(indices, names):
            line(f"{name}(pointers[{place}], numbers[{place}]);")
        line("return;")

    with text.block(f"void {names[0]}_interleaved(void *const *const *pointers, const int64_t *const *numbers)"):
        line(f"const int64_t iterations = {_iterations(group, numbers)};")
        line("if (iterations <= 0) return;")
        unit_axes = [f"{all_[each.unit_axis[0]]} == 1" for each, all_ in zip(kernels, numbers) if each.unit_axis]
        if unit_axes:
            with text.block(f"if ({' || '.join(dict.fromkeys(unit_axes))})"):
                one_after_the_other()
        for place in indices:
            line(f"const int64_t each{place} = {outer[place]} / iterations;")
            line(f"const int64_t elements{place} = each{place} * {inner[place]};")
        line("int64_t bytes = 1;")
        for place, loops in zip(indices, group):
            size = f"elements{place} * {row_bytes(loops)}"
            line(f"if ({size} > bytes) bytes = {size};")
        with text.block(f"if (bytes > {LARGEST})"):
            one_after_the_other()
        line(f"const int64_t block = bytes < {FIRST_CACHE} ? {FIRST_CACHE} / bytes : 1;")
        work = " + ".join([f"iterations * elements{place} / {loops.grain}" for place, loops in zip(indices, group)])
        threads = f"numbers[0][{len(group[0].scalars)}]"
        text.count_threads(work, "", threads)
        with text.block("if (parts > 1)"):
            with text.block(f"if (iterations < {EACH} * parts)"):
                one_after_the_other()
            line("#pragma omp parallel for num_threads(parts) schedule(static, 1)")
            with text.block("for (int64_t part = 0; part < parts; part++)"):
                line("const int64_t first = iterations / parts * part;")
                line("const int64_t last = part == parts - 1 ? iterations : iterations / parts * (part + 1);")
                all_blocks("first", "last")
            line("return;")
        line("#endif")
        all_blocks("0", "iterations")
    return str(text)


def _iterations(group: Sequence[Loops], numbers: Sequence[Mapping[Expr, str]]) -> str:
    """The common iterations, by the axes of one of the kernels."""
    for loops, its in zip(group, numbers):
        kernel = loops.kernel
        assert kernel.interleaved is not None
        found = split(kernel, kernel.interleaved.iterations)
        if found is not None and is_one(found[1]):
            return product_of(kernel.extents[: found[0] + 1], its)
    raise AssertionError("the common iterations are those of no kernel")
