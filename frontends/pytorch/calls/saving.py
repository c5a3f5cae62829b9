"""Serialization by `compiled.save(path)`: for each variant the traced call and its outcome, and all libraries.

    >>> import os, tempfile, torch
    >>> from frontends.pytorch import compile, load
    >>> def f(x, y):
    ...     return torch.softmax(x + y, -1)
    >>> compiled = compile(f, backend="cpu", dynamic=True)
    >>> out = compiled(torch.zeros(2, 3), torch.zeros(3))
    >>> path = os.path.join(tempfile.mkdtemp(), "f.artifact")
    >>> compiled.save(path)
    >>> again = load(path, f)
    >>> len(again.variants), again(torch.zeros(4, 2), torch.zeros(2))[0]
    (1, tensor([0.5000, 0.5000]))

The file has neither graphs nor parameters. A loading process restores a variant (`calls/restoring.py`) if the state
that its trace has read is equivalent there. Otherwise the function is traced again for fake tensors of the same
metadata, and its guards, functions and kernels are compared with the saved ones. The C compiler, the most expensive
part, is not needed.
"""

from __future__ import annotations

import hashlib
import json
import sys
import sysconfig
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from types import FunctionType, MethodType
from typing import Final, NoReturn

import torch

from frontends.pytorch.calls import artifact
from frontends.pytorch.calls.example_call import ExampleCall, source_of
from frontends.pytorch.calls.options import Options
from frontends.pytorch.calls.restoring import Restored
from frontends.pytorch.calls.serialization import Reads, of_process, serialized
from frontends.pytorch.errors import rejected
from frontends.pytorch.python.code_replacement import own_code
from frontends.pytorch.variant import Variant
from shapes import __version__
from shapes.guards import extension_modules, toolchain

BACKENDS: Final = ("cpu", "eager")
OPTIONS: Final = ("dynamic", "backend", "fullgraph")


def save(
    path: str | PathLike[str], fn: Callable[..., object], options: Options, variants: Sequence[Variant]
) -> None:
    """Save the variants of a function.

    Raises:
        ConstraintViolation: there are none, or one is not serializable.
    """
    if not variants:
        _cannot("there are no variants", "call it first, with all that is to be saved")
    if options["backend"] not in BACKENDS:
        _cannot(f"backend={options['backend']!r}", f"one of the backends {', '.join(BACKENDS)}")
    if options["policy"] is not None or not (options["dynamic"] is None or isinstance(options["dynamic"], bool)):
        _cannot("it has a policy, or dynamic= is a function or relations", "dynamic=True, False or None, and marks")
    described = []
    libraries: dict[str, bytes] = {}
    around = of_process()
    for place, variant in enumerate(variants):
        example_call = variant.example_call
        if not isinstance(example_call, ExampleCall) or example_call.arguments is None:
            reason = example_call.reason if isinstance(example_call, ExampleCall) else "it was not traced by a call"
            _cannot(f"variant {place}: {reason}", "call what is to be saved with tensors, numbers, text and containers")
        used = libraries_of(variant)
        libraries.update(used)
        if isinstance(variant, Restored):
            described.append({**variant.described})
            continue
        assert isinstance(variant.reads, Reads)
        restored = serialized(fn, variant, variant.reads, around)
        described.append(
            {
                "arguments": example_call.arguments,
                "gradients": example_call.gradients,
                "inference": example_call.inference,
                "default": example_call.default,
                "functions": example_call.sources(),
                "libraries": [*used],
                "note": "" if variant.running is None else variant.running.note,
                **outcome(variant),
                "restored": restored,
            }
        )
    libraries.update(shared())
    manifest = {
        **captured_state(),
        "name": name_of(fn),
        "code": code_of(fn),
        "tensors": tensors_of(fn),
        "options": {name: each for name, each in options.items() if name in OPTIONS},
        "gnu": is_gnu(options["backend"]),
        "variants": described,
        "libraries": [
            {"identity": identity, "size": len(content), "hash": hashlib.sha256(content).hexdigest()}
            for identity, content in libraries.items()
        ],
    }
    artifact.write(path, {**manifest, "whole": hash_of(manifest)}, [*libraries.values()])


def hash_of(described: Mapping[str, object]) -> str:
    """A hash of a description: if it differs, unchecked parts of the description are not used."""
    text = json.dumps({key: each for key, each in described.items() if key != "whole"}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def captured_state() -> dict[str, str]:
    """The general requirements of a file: versions and processor."""
    from backends.cpu.compiler import made_for

    return {
        "symshape": __version__,
        "torch": torch.__version__,
        "python": f"{sys.implementation.name} {sys.version}",
        "platform": sysconfig.get_platform(),
        "processor": made_for(),
    }


def outcome(variant: Variant) -> dict[str, list[str]]:
    """The outcome of a trace as text: guards and other facts about sizes."""
    return {
        "guards": [str(guard) for guard in variant.guards],
        "facts": [fact.text for fact in variant.env.facts.records()],
    }


def libraries_of(variant: Variant) -> dict[str, bytes]:
    """The kernels of a variant, by content hash."""
    from backends.cpu import compiler

    if isinstance(variant, Restored):
        known = {each: compiler.supplied_library(each) for each in variant.described["libraries"]}
        return {identity: content_of(path, identity) for identity, path in known.items() if path is not None}
    hosts = () if variant.running is None else variant.running.hosts
    paths = dict.fromkeys([path for host in hosts for path in host.program.decisions.libraries])
    return {compiler.identities[path]: content_of(path, compiler.identities[path]) for path in paths}


def shared() -> dict[str, bytes]:
    """The libraries shared by all variants: launcher and observer."""
    from backends.cpu import compiler, mersenne

    found = dict(extension_modules.identities)
    generator = mersenne.library()
    if generator is not None:
        found[generator] = compiler.identities[generator]
    return {identity: content_of(path, identity) for path, identity in found.items()}


def content_of(path: Path, identity: str) -> bytes:
    """The bytes of a library.

    Raises:
        ConstraintViolation: it is not cached, and cannot be built again.
    """
    content = toolchain.content_of(path, identity)
    if isinstance(content, toolchain.Unavailable):
        _cannot(f"the compiled library is gone: {content.reason}", "a folder for SYMSHAPE_CACHE that can be written")
    return content


def is_gnu(backend: str) -> bool | None:
    """Whether C code was generated for GCC's dialect; None without C code."""
    from backends.cpu import compiler

    return compiler.is_gnu() if backend == "cpu" else None


def name_of(fn: Callable[..., object]) -> str:
    """The display name of the compiled function."""
    named = fn if isinstance(fn, FunctionType | MethodType) else type(fn)
    return f"{named.__module__}.{named.__qualname__}"


def code_of(fn: Callable[..., object]) -> str:
    """A hash of the function's or the module's `forward` code, checked before tracing."""
    found = fn.forward if isinstance(fn, torch.nn.Module) else fn
    found = found.__func__ if isinstance(found, MethodType) else found
    return source_of(own_code(found)) if isinstance(found, FunctionType) else ""


def tensors_of(fn: Callable[..., object]) -> list[list[object]]:
    """The metadata of a module's parameters and buffers, without elements."""
    if not isinstance(fn, torch.nn.Module):
        return []
    both = [*fn.named_parameters(remove_duplicate=False), *fn.named_buffers(remove_duplicate=False)]
    return [[name, f"{x.dtype}", list(x.shape), f"{x.device}", x.requires_grad] for name, x in both]


def _cannot(what: str, fix: str) -> NoReturn:
    rejected(f"save(): {what}", fix)
