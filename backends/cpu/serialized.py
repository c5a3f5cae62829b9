"""Serialization: a host program as data, and a function of it again, without what it was made from.

    >>> import torch
    >>> from shapes import ShapeEnv
    >>> from backends import cpu
    >>> from backends.cpu.serialized import described, function_of
    >>> from backends.decisions.questions import Decisions
    >>> from backends.program.host import hosted
    >>> from backends.loops.program import Program
    >>> env = ShapeEnv(origin=lambda: None)
    >>> (n,) = [size.expr for size in env.sizes("n")]
    >>> program = Program(Decisions(env))
    >>> x = program.input("x", "float32", (n,), (program.build.one,))
    >>> program.outputs.append(program.stored(program.build.apply("exp", x), (program.build.one,)))
    >>> host = hosted(program, cpu)
    >>> text = described(host)
    >>> sorted(text)
    ['joins', 'kernels', 'names', 'source']
    >>> function_of(text, [])((torch.zeros(2),))
    [tensor([1., 1.])]

The text of the host's function is stored unchanged; its references are names: kernels by the library that they are in,
operators and functions by name, tensors by their number. The libraries themselves are whoever's who keeps this: they
are found where they were built or supplied.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any, Final

import torch

from backends import cpu
from backends.backend import Launch
from backends.cpu import IN_ONE_FILE, compiler
from backends.cpu.launcher import launcher
from backends.loops.kernels import Kernel
from backends.program.generated_functions import defined
from backends.program.host import Host, laid_out
from backends.program.launch_groups import combine
from shapes.guards.toolchain import Unavailable

FLOAT: Final = struct.Struct(">d")
OURS: Final = ("shapes.", "solver.", "backends.")
CONSTANTS: Final[Mapping[str, object]] = {
    **{str(each): each for each in vars(torch).values() if isinstance(each, torch.dtype)},
    **{str(each): each for each in (torch.contiguous_format, torch.preserve_format, torch.channels_last)},
    **{str(each): each for each in (torch.strided, torch.device("cpu"))},
}
ALWAYS: Final[Mapping[str, object]] = {
    "empty": cpu.allocate,
    "as_strided": torch.as_strided,
    "seen": torch._C._dynamo.guards._reinterpret_tensor,
    "last": cpu.threads,
    "large": cpu.large[1],
    "kept": cpu.pooled,
    "laid_out": laid_out,
}
_serial: Final = count()


def described(host: Host) -> dict[str, object] | Unavailable:
    """The description from which `function_of` rebuilds the function of a program; or the reason why none can."""
    kernels = [step for step in host.steps if isinstance(step, Kernel)]
    libraries = host.program.decisions.files
    if len(libraries) != -(-len(kernels) // IN_ONE_FILE) or any(path not in compiler.identities for path in libraries):
        return Unavailable("it is not known which of its kernels are in which library")
    of_kernels = []
    for place, kernel in enumerate(kernels):
        length = kernel.interleaved.kernels if kernel.interleaved is not None else 0
        identity = compiler.identities[libraries[place // IN_ONE_FILE]]
        of_kernels.append([identity, place % IN_ONE_FILE, len(kernel.buffers), len(kernel.scalars), length])
    names: dict[str, object] = {}
    operators = {name: target for target, name in host.operators.items()}
    for name, value in host.scope.items():
        if name in ALWAYS and value is ALWAYS[name] or name == "__builtins__":
            continue
        if name[0] == "k" and name[1:].isdecimal():
            continue
        found = _named(operators.get(name, value))
        if found is None:
            return Unavailable(f"`{name}` in the text of its function, a {type(value).__qualname__}, has no name")
        names[name] = found
    for place, _ in enumerate(host.program.constants):
        names[f"c{place}"] = ["constant", place]
    return {"source": host.source, "kernels": of_kernels, "joins": host.launch_groups, "names": names}


def _named(value: object) -> list[object] | None:
    """The JSON value of a reference by name; None where there is none."""
    if isinstance(value, torch.Tensor):
        return ["constant", -1]
    if type(value) is float:
        return ["float", FLOAT.pack(value).hex()]
    if isinstance(value, torch.dtype | torch.device | torch.layout | torch.memory_format):
        return ["named", str(value)] if CONSTANTS.get(str(value)) == value else None
    if isinstance(value, torch._ops.OpOverload):
        return ["operator", value._schema.name, value._overloadname] if value.namespace == "aten" else None
    name = getattr(value, "__name__", "")
    if value is getattr(torch, name, None):
        return ["torch", name]
    module = getattr(value, "__module__", None) or ""
    if module.startswith(OURS) and getattr(sys.modules.get(module), name, None) is value:
        return ["function", module, name]
    return None


# `Any`, here and below: JSON, whose errors are those of reading it
def function_of(  # type: ignore[explicit-any]
    text: Mapping[str, Any], constants: Sequence[torch.Tensor]
) -> Callable[[Sequence[object]], list[object]] | Unavailable:
    """The function that `described` has told, over these tensors.

    Raises:
        KeyError, TypeError, ValueError, LookupError, AttributeError: the data is malformed.
    """
    launches = _launches(text["kernels"])
    if isinstance(launches, Unavailable):
        return launches
    by_name = {f"k{place}": launch for place, launch in enumerate(launches)}
    scope: dict[str, object] = {**ALWAYS, **by_name}
    for name, (inside, tensors, numbers, lengths) in text["joins"].items():
        if name not in by_name:
            raise LookupError(f"a launch group of an unknown kernel: {name!r}")
        scope[name], _ = combine(cpu.combine, [by_name[each] for each in inside], tensors, numbers, lengths)
    for name, found in text["names"].items():
        if name in scope:
            raise LookupError(f"a duplicate name: {name!r}")
        scope[name] = _meant(found, constants)
    return defined(text["source"], f"<program again {next(_serial)}>", scope)


def _meant(found: Sequence[Any], constants: Sequence[torch.Tensor]) -> object:  # type: ignore[explicit-any]
    match found:
        case ["constant", int() as place] if 0 <= place < len(constants):
            return constants[place]
        case ["float", str() as text]:
            return FLOAT.unpack(bytes.fromhex(text))[0]
        case ["named", str() as text]:
            return CONSTANTS[text]
        case ["operator", str() as name, str() as overload] if name.startswith("aten::"):
            packet = getattr(torch.ops.aten, name.removeprefix("aten::"))
            target = getattr(packet, overload or "default")
            return cpu.operator(target) or target._op
        case ["torch", str() as name]:
            return cpu.operator(getattr(torch, name)) or getattr(torch, name)
        case ["function", str() as module, str() as name] if module.startswith(OURS):
            return getattr(sys.modules[module], name)
    raise LookupError(f"an unknown reference: {found!r}")


def _launches(told: Sequence[Sequence[Any]]) -> list[Launch] | Unavailable:  # type: ignore[explicit-any]
    """The kernels of libraries that were built or supplied."""
    native = launcher()
    if isinstance(native, Unavailable):
        return native
    made: list[Launch] = []
    for identity, *numbers in told:
        path = compiler.supplied_library(identity)
        if path is None:
            return Unavailable(f"the library {identity} is not here")
        made.append(cpu.launch_of(native, compiler.load(path), *numbers))
    return made
