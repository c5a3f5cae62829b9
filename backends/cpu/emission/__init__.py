"""Kernels as C text: loop nests from the axes, vectors of the vector library, all sizes at run time.

    >>> from shapes import ShapeEnv
    >>> from backends.cpu.emission import file_source
    >>> from backends.decisions.questions import Decisions
    >>> from backends.loops.program import Program
    >>> from backends.loops.schedule import schedule
    >>> env = ShapeEnv(origin=lambda: None)
    >>> (n,) = [size.expr for size in env.sizes("n")]
    >>> program = Program(Decisions(env))
    >>> x = program.input("x", "float32", (n,), (program.build.one,))
    >>> program.outputs.append(program.stored(program.build.apply("abs", x), (program.build.one,)))
    >>> text = file_source(schedule(program), program.decisions)
    >>> "abs_f32(v1)" in text, "exp_f32" in text
    (True, False)

`spelling` names types and operations, `loops`, `turning` and `places` look at a kernel, `values` writes what one turn
computes, `unroll` the loops along the lanes, `reducing` reductions, `nest` the loops around it; `whole` is for kernels
that reduce everything, `summing` for sums over rows beside rows, `short` for rows of a few vectors, `split_points` and
`cutting` for pieces along the lanes. `functions` writes the function that is called.
"""

from backends.cpu.emission.functions import file_source, kernel_source

__all__ = ["file_source", "kernel_source"]
