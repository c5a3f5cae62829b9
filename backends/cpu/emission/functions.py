"""A kernel as C functions: ranges of iterations, and the entry that picks a version and divides them among threads.

    >>> from shapes import ShapeEnv
    >>> from backends.decisions.questions import Decisions
    >>> from backends.loops.program import Program
    >>> from backends.loops.schedule import schedule
    >>> env = ShapeEnv(origin=lambda: None)
    >>> (n,) = [size.expr for size in env.sizes("n")]
    >>> decisions = Decisions(env)
    >>> program = Program(decisions)
    >>> x = program.input("x", "float32", (n,), (program.build.one,))
    >>> program.outputs.append(program.stored(program.build.apply("sqrt", x), (program.build.one,)))
    >>> for line in kernel_source(schedule(program)[0], decisions).splitlines()[10:14]:
    ...     print(line)
        for (; i0 + N <= stop; i0 += N) {
            const f32v v1 = load_f32(p1 + i0, N);
            const f32v v2 = sqrt_f32(v1);
            store_f32(p0 + i0, v2, N);

The file of several kernels holds, of the vector library, only what they call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from backends.cpu.emission.c_operations import KINDS
from backends.cpu.emission.column_reduction import Sums, write_column_reduction
from backends.cpu.emission.full_reduction import write_chunk, write_full_reduction
from backends.cpu.emission.interleaved import interleaved_source, numbers_of, product_of
from backends.cpu.emission.loops import ALIGNED, Loops
from backends.cpu.emission.nest import Nest
from backends.cpu.emission.plan import KernelPlan, LoopPlan, plan
from backends.cpu.emission.short import Short, chosen
from backends.cpu.emission.text import Text
from backends.cpu.emission.values import Writer
from backends.cpu.vector import source
from backends.cpu.vector.elements import ELEMENTS
from backends.decisions.questions import Decisions
from backends.loops.kernels import Buffer, Kernel, Load, walk
from solver.terms.expr import Expr

MALLOC: Final = "void *malloc(__SIZE_TYPE__);\nvoid free(void *);\n"


def kernel_source(kernel: Kernel, decisions: Decisions, name: str = "k0") -> str:
    """The text of a kernel, without what it calls."""
    return "".join([text for _, text in _texts(plan(kernel, decisions), name)])


def file_source(kernels: Sequence[Kernel], decisions: Decisions) -> str:
    """One C file with the kernels as k0, k1..."""
    plans = []
    for kernel in kernels:
        with decisions.at(kernel.name, next(iter(kernel.origins), "")):
            plans.append(plan(kernel, decisions))
    return printed(plans)


def printed(plans: Sequence[KernelPlan]) -> str:
    """One C file with planned kernels as k0, k1..."""
    texts: list[tuple[int, str]] = []
    group: list[KernelPlan] = []
    for place, each in enumerate(plans):
        texts += _texts(each, f"k{place}")
        marked = each.interleaved
        group = [*group, each] if group and group[0].interleaved is marked else [each]
        if marked is not None and len(group) == marked.kernels:
            names = [f"k{number}" for number in range(place + 1 - len(group), place + 1)]
            texts.append((each.forms[0].loops.count, interleaved_source(group, names)))
    keeps = any("malloc(" in text for _, text in texts)
    return (MALLOC if keeps else "") + source(texts)


def _texts(found: KernelPlan, name: str) -> list[tuple[int, str]]:
    """The text of a kernel, in parts that have the same number of lanes."""
    loops = found.forms[0].loops
    if found.unit_axis is None:
        return [(loops.count, _written(found.forms, name))]
    size, only = found.unit_axis
    first = f"if (numbers[{loops.scalars.index(size)}] == 1) {{ {name}_one(pointers, numbers); return; }}"
    declared = f"void {name}_one(void *const *pointers, const int64_t *numbers);\n"
    return [
        (only.loops.count, _written((only,), f"{name}_one")),
        (loops.count, declared + _written(found.forms, name, first)),
    ]


def _written(forms: Sequence[LoopPlan], name: str, first: str = "") -> str:
    """All functions of a kernel; `first` is the first statement of its entry."""
    text = Text()
    if len(forms) == 1:
        _write(forms[0], text, name, first)
        return str(text)
    names = (f"{name}_along", f"{name}_across")
    for form, each in zip(forms, names):
        _write(form, text, each)
    loops = forms[0].loops
    numbers = numbers_of(loops)
    *_, along, beside = [product_of([extent], numbers) for extent in loops.kernel.extents]
    with text.block(f"void {name}(void *const *pointers, const int64_t *numbers)"):
        if first:
            text.line(first)
        text.line(f"({along} < N && {along} < {beside} ? {names[1]} : {names[0]})(pointers, numbers);")
    return str(text)


def _write(form: LoopPlan, text: Text, name: str, first: str = "") -> None:
    """All functions of one form."""
    loops, write = form.loops, write_chunk if form.is_full_reduction else Nest.write
    if loops.open:
        write(Nest(form, text, is_narrow=False), f"{name}_strided")
    if not form.is_only_short and not _is_only_strided(loops):
        write(Nest(form, text, is_narrow=True), f"{name}_unit")
    for count in form.short:
        Short(form, text, count).write(f"{name}_short{count}")
    if loops.kernel.accumulating:
        Sums(loops, Writer(loops, text, is_narrow=False), text).write_totals(f"{name}_sums")
    _entry(form, text, name, first)
    if loops.kernel.interleaved is not None:
        _common_iterations(form, text, name)


def _is_only_strided(loops: Loops) -> bool:
    """Return True if one function serves all strides: the second form of a kernel is seldom needed, and takes as long
    to compile.
    """
    return loops.is_swapped and bool(loops.open)


def offsets_of(kernel: Kernel) -> Buffer | None:
    """The offsets of the rows that the first axis of a kernel runs over, if they lie as they are counted."""
    ragged = kernel.ragged
    if ragged is None or ragged.row or not kernel.outer:
        return None
    loads = [each for each in walk((ragged.first,)) if isinstance(each, Load) and each.offset.as_axis == ragged.row]
    return loads[0].buffer if loads else None


def _write_rows(kernel: Kernel, text: Text, name: str) -> None:
    """The first row of a part, where parts have as many elements and rows. A later part begins at no earlier row,
    whatever the offsets are."""
    offsets = offsets_of(kernel)
    assert offsets is not None
    scalar = ELEMENTS[KINDS[offsets.dtype]].scalar
    parameters = "void *const *pointers, int64_t rows, int64_t part, int64_t parts"
    with text.block(f"static int64_t {name}_row({parameters})"):
        text.line(f"const {scalar} *offsets = pointers[{kernel.buffers.index(offsets)}];")
        text.line("const int64_t elements = offsets[rows] - offsets[0];")
        text.line("const int64_t before = (rows + (elements > 0 ? elements : 0)) / parts * part;")
        text.line("int64_t first = 0, last = part ? rows : 0;")
        with text.block("while (first < last)"):
            text.line("const int64_t row = first + (last - first) / 2;")
            text.line("if (offsets[row] - offsets[0] + row < before) first = row + 1;")
            text.line("else last = row;")
        text.line("return first;")


def _entry(form: LoopPlan, text: Text, name: str, first: str) -> None:
    loops, kernel = form.loops, form.loops.kernel
    numbers = numbers_of(loops)
    if kernel.outer and loops.is_large is not False and not kernel.accumulating and offsets_of(kernel) is not None:
        _write_rows(kernel, text, name)

    def product(sizes: Sequence[Expr]) -> str:
        return product_of(sizes, numbers)

    with text.block(f"void {name}(void *const *pointers, const int64_t *numbers)"):
        if first:
            text.line(first)
        run = _run(form, text, name, numbers)
        threads = f"numbers[{len(loops.scalars)}]"
        grain = loops.grain
        if form.is_full_reduction:
            write_full_reduction(form, text, run, elements=product(kernel.extents), threads=threads)
            return
        iterations = product(kernel.extents[: kernel.outer])
        if kernel.accumulating:
            write_column_reduction(loops, text, f"{name}_sums", run, iterations=iterations, threads=threads)
            return
        text.line(f"const int64_t iterations = {iterations};")
        text.line("if (iterations <= 0) return;")
        if kernel.outer and loops.is_large is not False:
            inner = product(kernel.extents[kernel.outer :])
            begin = None
            if kernel.ragged is not None:
                # the inner iterations of all rows together are those of the whole axis
                rows = product([kernel.extents[kernel.ragged.row]])
                inner = f"{inner} / {rows}"
                if offsets_of(kernel) is not None:
                    begin = f"{name}_row(pointers, {rows}, {{0}}, parts) * (iterations / {rows})"
            _parallel(loops, text, run, inner, threads, grain, begin)
        text.line(f"{run}(pointers, numbers, 0, iterations);")


def _run(form: LoopPlan, text: Text, name: str, numbers: Mapping[Expr, str]) -> str:
    """The function that runs a range of iterations, for the sizes at run time."""
    loops = form.loops
    if _is_only_strided(loops):
        return f"{name}_strided"
    run = chosen(form, product_of(loops.kernel.extents[-1:], numbers), name, f"{name}_unit")
    if loops.open:
        condition = " || ".join([f"{numbers[size]} != 1" for size in loops.open])
        run = f"{condition} ? {name}_strided : {run}"
    if "?" not in run:
        return run
    text.line(f"__typeof__({run.split()[-1]}) *run = {run};")
    return "run"


def _common_iterations(form: LoopPlan, text: Text, name: str) -> None:
    """The function that runs a range of the common iterations of an interleaved group, `each` of the kernel's own for
    one of these."""
    parameters = "void *const *pointers, const int64_t *numbers, int64_t begin, int64_t left, int64_t each"
    with text.block(f"static void {name}_block({parameters})"):
        run = _run(form, text, name, numbers_of(form.loops))
        text.line(f"if (left * each > 0) {run}(pointers, numbers, begin * each, left * each);")


def _parallel(loops: Loops, text: Text, run: str, inner: str, threads: str, grain: int, rows: str | None) -> None:
    """Divide the iterations among threads, where there is enough work; `rows` finds the first row of a part."""
    text.count_threads(f"iterations * ({inner}) / {grain}", "iterations", threads)
    with text.block("if (parts > 1)"):
        text.line("#pragma omp parallel for num_threads(parts) schedule(static, 1)")
        with text.block("for (int64_t part = 0; part < parts; part++)"):
            mask = "" if loops.along_inner else f" & -{ALIGNED}"
            begin = f"iterations / parts * {{0}}{mask}" if rows is None else rows
            text.line(f"const int64_t begin = {begin.format('part')};")
            text.line(f"const int64_t end = part == parts - 1 ? iterations : {begin.format('(part + 1)')};")
            text.line(f"{run}(pointers, numbers, begin, end - begin);")
        text.line("return;")
    text.line("#endif")
