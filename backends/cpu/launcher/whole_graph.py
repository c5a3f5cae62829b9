"""The C printer of a host program of kernels alone, described to the launcher; `backends.program.host` is in Python.

    >>> import torch
    >>> from shapes import ShapeEnv
    >>> from backends import cpu
    >>> from backends.cpu.launcher.program import make_native
    >>> from backends.cpu.launcher.whole_graph import described
    >>> from backends.decisions.questions import Decisions
    >>> from backends.program.host import Host
    >>> from backends.loops.program import Program
    >>> from backends.loops.schedule import schedule
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, s = [size.expr for size in env.sizes("b s")]
    >>> program = Program(Decisions(env))
    >>> x = program.input("x", "float32", (b, s), (s, program.build.one))
    >>> program.outputs.append(program.stored(program.build.reduce("sum", x, (1,)), (program.build.one,)))
    >>> steps = schedule(program)
    >>> host = Host(program, steps, cpu.kernels(steps, program.decisions), cpu)
    >>> make_native(described(host))(torch.ones(2, 3))
    [tensor([3., 3.])]

Both print the same `HostProgram`: symbols are read where it says, and buffers that share a slot share it here as well.
"""

from __future__ import annotations

from backends.cpu.launcher import interleaved_by
from backends.cpu.launcher.program import Again, Description, Fixed, Given, Launch, Made, Number, Output, TensorArgument
from backends.loops.kernels import Buffer, Kernel
from backends.loops.nodes import Memory
from backends.loops.program import Call, Check
from backends.loops.schedule import memories
from backends.program.host import Host
from backends.program.host_program import HostProgram
from backends.program.launch_groups import interleaved_counts
from shapes.guards.arguments import Path
from shapes.guards.emit_c import NotNative
from solver.terms.expr import Expr
from solver.terms.prop import Prop


def described(host: Host) -> Description:
    """The description of a program whose steps are kernels; the arguments are x0, x1... and then n0, n1...

    Raises:
        NotNative: it calls an operator, writes to an argument, or returns a view.
    """
    program, plan = host.program, host.plan
    if program.apart:
        raise NotNative("a view of another tensor is returned")
    kernels = [step for step in host.steps if isinstance(step, Kernel)]
    checks = [step.condition for step in host.steps if isinstance(step, Check)]
    required = _required(host)
    if None in required or len(kernels) + len(checks) + sum(map(len, required.values())) < len(host.steps):
        raise NotNative("there are calls of operators")
    made: dict[Buffer, int] = {}
    outputs = [_output(output, place, made, plan) for place, output in enumerate(program.outputs)]
    allocated = [each.buffer for step in plan.steps for each in step.allocations]
    scratch = [buffer for buffer in allocated if buffer not in made]
    buffers = [*program.inputs, *[buffer for buffer, _ in program.constants], *made, *scratch]
    positions = {buffer: place for place, buffer in enumerate(buffers)}
    launches = []
    counts = interleaved_counts(kernels, plan.memory)
    for place, (kernel, launch, count) in enumerate(zip(kernels, host.launches, counts, strict=True)):
        if any(store.buffer.role != "made" for store in kernel.stores):
            raise NotNative("an argument is written to")
        group = count if interleaved_by(launch) == count else 1
        of_kernel = tuple([positions[plan.slot(buffer)] for buffer in kernel.buffers])
        needed = [buffer for each in kernels[place : place + group] for buffer in required.get(each, ())]
        behind = tuple([positions[plan.slot(buffer)] for buffer in needed])
        launches.append(Launch(launch, of_kernel, kernel.scalars, threads=True, kernels=group, checks=behind))
    symbols: dict[Expr, Path] = {atom.expr: (f"n{place}",) for place, atom in enumerate(program.numbers)}
    for source in plan.symbols:
        how = ".shape" if source.what == "size" else ".stride()"
        symbols[source.symbol.expr] = (f"x{source.buffer.place}", how, source.axis)
    return Description(
        tensors=[TensorArgument(f"x{place}", each.dtype, len(each.sizes)) for place, each in enumerate(program.inputs)],
        integers=[f"n{place}" for place in range(len(program.numbers))],
        symbols=symbols,
        outputs=outputs,
        launches=launches,
        constants=[tensor for _, tensor in program.constants],
        scratch=[plan.memory.size[buffer] for buffer in scratch],
        conditions=checks,
    )


def _required(host: Host) -> dict[Kernel | None, list[Buffer]]:
    """The truth values that must hold behind each kernel; behind none, those before the first."""
    found: dict[Kernel | None, list[Buffer]] = {}
    last: Kernel | None = None
    for step in host.steps:
        if isinstance(step, Kernel):
            last = step
        elif isinstance(step, Call) and step.is_check:
            found.setdefault(last, []).extend([each.buffer for each in memories(step.arguments)])
    return found


def _output(output: object, place: int, made: dict[Buffer, int], plan: HostProgram) -> Output:
    """An output of a program; a slot that is returned is put in `made`, with the first output that it is."""
    if isinstance(output, Expr):
        return Number(output)
    if isinstance(output, Prop):
        raise NotNative("a comparison of sizes is returned")
    if not isinstance(output, Memory):
        return Fixed(output)
    slot = plan.slot(output.buffer)
    if not plan.is_whole(output):
        raise NotNative("a view of another tensor is returned")
    if slot.role == "input":
        return Given(slot.place)
    if slot.role == "constant":
        raise NotNative("a constant is returned")
    first = made.setdefault(slot, place)
    return Made(slot.dtype, *plan.layouts[slot]) if first == place else Again(first)
