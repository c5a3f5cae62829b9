"""The program of kernels that a graph is, where it is nothing else: what `backends.program.host` does in Python,
described.

    >>> import torch
    >>> from shapes import ShapeEnv
    >>> from backends.cpu import kernels
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
    >>> host = Host(program, steps, kernels(steps, program.decisions), threads=torch.get_num_threads)
    >>> make_native(described(host))(torch.ones(2, 3))
    [tensor([3., 3.])]

Buffers that share a slot in the memory plan share it here as well.
"""

from __future__ import annotations

from collections.abc import Iterator

from backends.cpu.launcher.program import Again, Description, Fixed, Given, Launch, Made, Number, Output, TensorArgument
from backends.decisions.questions import Decisions
from backends.loops.affine import is_zero
from backends.loops.kernels import Buffer, Kernel
from backends.loops.nodes import Memory
from backends.loops.program import Check
from backends.program.host import Host
from backends.program.launch_groups import interleaved_counts
from backends.program.layouts import is_whole, strides_of
from backends.program.memory import span
from backends.program.sizes import symbol_of
from shapes.guards.arguments import Path
from shapes.guards.emit_c import NotNative
from solver.terms.expr import Expr


def described(host: Host) -> Description:
    """The description of a program whose steps are kernels; the arguments are x0, x1... and then n0, n1...

    Raises:
        NotNative: it calls an operator, writes to an argument, or returns a part of a tensor.
    """
    program = host.program
    if program.apart:
        raise NotNative("a view of another tensor is returned")
    outputs: list[Output] = []
    made: list[Buffer] = []
    for output in program.outputs:
        outputs.append(_output(output, outputs, made, program.decisions))
    kernels = [step for step in host.steps if isinstance(step, Kernel)]
    checks = [step.condition for step in host.steps if isinstance(step, Check)]
    if len(kernels) + len(checks) < len(host.steps):
        raise NotNative("there are calls of operators")
    used = dict.fromkeys([buffer for kernel in kernels for buffer in kernel.buffers if buffer.role == "made"])
    first = {buffer: host.memory.slots.get(buffer, buffer) for buffer in used if buffer not in made}
    scratch = list(dict.fromkeys(first.values()))
    places = {buffer: place for place, buffer in enumerate([*program.inputs, *[c for c, _ in program.constants]])}
    for buffer in [*made, *scratch]:
        places[buffer] = len(places)
    places.update({buffer: places[owner] for buffer, owner in first.items()})
    launches = []
    for kernel, launch, count in zip(kernels, host.launches, interleaved_counts(kernels, host.memory), strict=True):
        if any(store.buffer.role != "made" for store in kernel.stores):
            raise NotNative("an argument is written to")
        buffers = tuple([places[buffer] for buffer in kernel.buffers])
        group = count if getattr(launch, "kernels", 1) == count else 1
        launches.append(Launch(launch, buffers, kernel.scalars, threads=True, kernels=group))
    return Description(
        tensors=[TensorArgument(f"x{place}", each.dtype, len(each.sizes)) for place, each in enumerate(program.inputs)],
        integers=[f"n{place}" for place in range(len(program.numbers))],
        symbols=dict(_symbols(host)),
        outputs=outputs,
        launches=launches,
        constants=[tensor for _, tensor in program.constants],
        scratch=[host.memory.size[buffer] for buffer in scratch],
        conditions=checks,
    )


def _output(output: object, before: list[Output], made: list[Buffer], decisions: Decisions) -> Output:
    """An output of a program; what is new memory is put behind `made`."""
    if isinstance(output, Expr):
        return Number(output)
    if not isinstance(output, Memory):
        return Fixed(output)
    buffer = output.buffer
    if not is_whole(output, decisions):
        laid_out = Buffer(buffer.name, buffer.dtype, output.sizes, strides_of(output))
        one = output.offset.constant.interner.constant(1)
        if not is_zero(output.offset.constant) or span(laid_out, one) is not span(buffer, one):
            raise NotNative("a part of a tensor is returned")
        if buffer.role != "made" or buffer in made:
            raise NotNative("a view of another tensor is returned")
        made.append(buffer)
        return Made(buffer.dtype, laid_out.sizes, laid_out.strides)
    if buffer.role == "input":
        return Given(buffer.place)
    if buffer.role == "constant":
        raise NotNative("a constant is returned")
    if buffer in made:
        place = [place for place, each in enumerate(before) if isinstance(each, Made)][made.index(buffer)]
        first = before[place]
        if not isinstance(first, Made) or (first.sizes, first.strides) != (buffer.sizes, buffer.strides):
            raise NotNative("a view of another tensor is returned")
        return Again(place)
    made.append(buffer)
    return Made(buffer.dtype, buffer.sizes, buffer.strides)


def _symbols(host: Host) -> Iterator[tuple[Expr, Path]]:
    """Where the symbols are in the arguments, the last of them counts: a size rather than a stride, which is any number
    along an axis of size 1."""
    inputs = host.program.inputs
    for what, found in ((".stride()", [each.strides for each in inputs]), (".shape", [each.sizes for each in inputs])):
        for place, values in enumerate(found):
            for axis, value in enumerate(values):
                if symbol_of(value) is not None:
                    yield value, (f"x{place}", what, axis)
    for place, atom in enumerate(host.program.numbers):
        yield atom.expr, (f"n{place}",)


__all__ = ["described"]
