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

`loops`, `transpose`, `lane_compare` and `loop_split` analyse a kernel; `c_operations` and `uniform` have operations,
`values` emits a loop body, `unroll` the vectorized loops, `reducing` accumulators, `nest` the loops around them.
`full_reduction` and `column_reduction` are two-stage, `short` keeps rows of a few vectors in registers, `split_loops`
emits split loops, `interleaved` groups of kernels. `functions` emits the entry of a kernel, which picks a version.
"""

from backends.cpu.emission.functions import file_source, kernel_source

__all__ = ["file_source", "kernel_source"]
