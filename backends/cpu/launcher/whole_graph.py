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

import struct
from collections.abc import Sequence
from typing import Final

from backends.cpu.launcher import NativeOperator, Unavailable, interleaved_by, launcher
from backends.cpu.launcher.program import (
    Again,
    Description,
    Fixed,
    Given,
    Launch,
    Made,
    Number,
    Output,
    TensorArgument,
    known,
)
from backends.loops.kernels import Buffer, Kernel
from backends.loops.nodes import Memory
from backends.loops.operations import ITEMSIZE
from backends.loops.program import Bind, Call, Check
from backends.loops.schedule import memories
from backends.program.host import Host
from backends.program.host_program import HostProgram
from backends.program.launch_groups import interleaved_counts
from backends.program.layouts import strides_of
from backends.program.memory import span
from shapes.guards.arguments import Path
from shapes.guards.emit_c import NotNative
from solver.terms.expr import Expr
from solver.terms.prop import Prop

MOST_RANK: Final = 4
"""Axes of an operator's operands at most."""
DOUBLE: Final = struct.Struct("=d")
BITS: Final = struct.Struct("=q")


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
    if None in required or any(isinstance(step, Bind) for step in host.steps):
        raise NotNative("data decides a size, or whether it runs")
    launched = [step for step in host.steps if isinstance(step, Kernel) or isinstance(step, Call) and not step.is_check]
    operators = {step: _operator(step, host) for step in launched if isinstance(step, Call)}
    made: dict[Buffer, int] = {}
    outputs = [_output(output, place, made, plan) for place, output in enumerate(program.outputs)]
    allocated = [each.buffer for step in plan.steps for each in step.allocations]
    results = [each for call in operators if call.into is None for each in call.results if isinstance(each, Buffer)]
    allocated += [each for each in results if plan.slot(each) is each]
    scratch = [buffer for buffer in allocated if buffer not in made]
    buffers = [*program.inputs, *[buffer for buffer, _ in program.constants], *made, *scratch]
    positions = {buffer: place for place, buffer in enumerate(buffers)}
    launches = []
    of_kernels = dict(zip(kernels, zip(host.launches, interleaved_counts(kernels, plan.memory), strict=True)))
    for place, step in enumerate(launched):
        if isinstance(step, Call):
            operator, operands = operators[step]
            of_operator = [positions[plan.slot(each.buffer)] if isinstance(each, Memory) else 0 for each in operands]
            launches.append(Launch(operator, tuple(of_operator), _numbers(operands, program.build.one)))
            continue
        if any(store.buffer.role != "made" for store in step.stores):
            raise NotNative("an argument is written to")
        launch, count = of_kernels[step]
        inside = [each for each in launched[place : place + count] if isinstance(each, Kernel)]
        group = count if interleaved_by(launch) == count == len(inside) else 1
        of_kernel = tuple([positions[plan.slot(buffer)] for buffer in step.buffers])
        needed = [buffer for each in inside[:group] for buffer in required.get(each, ())]
        behind = tuple([positions[plan.slot(buffer)] for buffer in needed])
        launches.append(Launch(launch, of_kernel, step.scalars, threads=True, kernels=group, checks=behind))
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
        scratch=[plan.memory.size.get(buffer) or span(buffer, program.build.one) for buffer in scratch],
        conditions=checks,
    )


def _operator(call: Call, host: Host) -> tuple[NativeOperator, list[object]]:
    """The launcher's operator for a call, and its operands: arguments and results.

    Raises:
        NotNative: it has none, or a side effect.
    """
    target = call.target if call.into is None else call.into
    found, native = host.scope.get(host.operators.get(target, "")), launcher()
    names = (*call.named, *(("out",) if call.into is not None else ()))
    if isinstance(native, Unavailable) or not isinstance(found, native.Operator):
        raise NotNative("there are calls of operators")
    if names != found.names[len(found.names) - len(names) :]:
        raise NotNative("there are calls of operators")
    if call.writes or call.aliases is not None or call.checked is not None or call.guards:
        raise NotNative("an operator does more than compute")
    if len(call.results) != found.results + len(names) - len(call.named):
        raise NotNative("an operator has other results")
    results = [host.program.build.memory(each) if isinstance(each, Buffer) else None for each in call.results]
    return found, [*call.arguments, *call.named.values(), *results]


def _numbers(operands: Sequence[object], one: Expr) -> tuple[Expr, ...]:
    """The numbers of an operator's operands, and how many bytes from the start of its buffer each begins."""
    numbers: list[int | Expr] = []
    for each in operands:
        match each:
            case Memory() if each.rank <= MOST_RANK:
                code, bits = known(each.dtype)
                missing = [0] * (MOST_RANK - each.rank)
                numbers += [code << 8 | bits, each.rank, *each.sizes, *missing, *strides_of(each), *missing]
            case bool() | int() | float():
                numbers += [-1, *BITS.unpack(DOUBLE.pack(each)), *[0] * (2 * MOST_RANK)]
            case _:
                raise NotNative("an operator is given something else than tensors and numbers")
    starts = [each.offset.constant * ITEMSIZE[each.dtype] if isinstance(each, Memory) else 0 for each in operands]
    return tuple([each if isinstance(each, Expr) else one * each for each in (*numbers, *starts)])


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
    layout = plan.layouts.get(slot, (slot.sizes, slot.strides))
    return Made(slot.dtype, *layout) if first == place else Again(first)
