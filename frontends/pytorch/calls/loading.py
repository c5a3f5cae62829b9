"""`load(path, fn)`: restore a saved compiled function or module, without running the C compiler.

    >>> import os, tempfile, torch
    >>> from frontends.pytorch import compile, load
    >>> compiled = compile(torch.nn.Linear(3, 2), dynamic=True)
    >>> out = compiled(torch.zeros(2, 3))
    >>> path = os.path.join(tempfile.mkdtemp(), "linear.artifact")
    >>> compiled.save(path)
    >>> len(load(path, torch.nn.Linear(3, 2)).variants)
    1
    >>> load(path, torch.nn.Linear(4, 2))
    Traceback (most recent call last):
    frontends.pytorch.errors.WrongArtifact: .../linear.artifact: weight is torch.float32[2, 4] on cpu, was ...
      fix:    ...

First the file's requirements (versions, processor, code, parameters) are compared. Then each variant is restored if the
state that its trace has read is equivalent here (`calls/restoring.py`), or else traced again, in order, which must
produce the saved guards, functions and kernels. A rejected file leaves nothing behind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from os import PathLike, fspath
from typing import Any, Final

import torch

from frontends.pytorch.calls import saving
from frontends.pytorch.calls.argument_unpacking import autocast, elsewhere
from frontends.pytorch.calls.artifact import AGAIN, entry, of_kind, read, refuse
from frontends.pytorch.calls.compiled import Compiled
from frontends.pytorch.calls.example_call import DTYPES, ExampleCall, made
from frontends.pytorch.calls.restoring import Restored, restored
from frontends.pytorch.calls.serialization import of_process
from frontends.pytorch.errors import WrongArtifact, rejected
from frontends.pytorch.tracing import trace
from shapes.guards.toolchain import supply, withdraw

HERE: Final = "save it again in this process's place; the artifact is for the one that it was saved in"
MODEL: Final = "load it for the function or module that was saved, or save it again"


def load(path: str | PathLike[str], fn: Callable[..., object]) -> Compiled:
    """Restore the function or module saved to `path`, with its variants.

    Raises:
        WrongArtifact: the file is for another program, was altered, or others may have written it.
    """
    name = fspath(path)
    if elsewhere():
        what = f"load({name!r}) inside of a mode, a transform or another trace"
        rejected(what, "load it before")
    if isinstance(fn, Compiled):
        fn = fn._compilation.fn
    described, libraries = read(path)
    _check_surroundings(name, described)
    _check_model(name, described, fn)
    variants = [
        of_kind(name, dict, variant, "a variant in its description")
        for variant in entry(name, described, "variants", list)
    ]
    for variant in variants:
        for each in entry(name, variant, "libraries", list):
            if type(each) is not str or each not in libraries:
                refuse(name, "kernels of a variant are not in it", AGAIN)
    compiled = Compiled(fn, **_options(name, described))
    gnu = described.get("gnu")
    before = None if gnu is None else _written_for(of_kind(name, bool, gnu, "`gnu` in its description"))
    new = supply(libraries)
    more = of_process() if described.get("whole") == saving.hash_of(described) else None
    try:
        for place, variant in enumerate(variants):
            _trace(name, compiled, place, variant, more)
    except BaseException:
        withdraw(new)
        if gnu is not None:
            _written_for(before)
        raise
    return compiled


def _written_for(gnu: bool | None) -> bool | None:
    from backends.cpu.compiler import assume_gnu
    from backends.cpu.vector.machine import instruction_set

    before = assume_gnu(gnu)
    if before is not gnu:
        # may have been queried before, without a compiler
        instruction_set.cache_clear()
    return before


def _check_surroundings(name: str, described: Mapping[str, object]) -> None:
    for what, here in saving.captured_state().items():
        saved = entry(name, described, what, str)
        if saved != here:
            shown = "" if what == "processor" else f": it was saved with {saved}, this is {here}"
            refuse(name, f"another {what}{shown}", HERE)


def _check_model(name: str, described: Mapping[str, object], fn: Callable[..., object]) -> None:
    saved = entry(name, described, "name", str)
    if saved != saving.name_of(fn):
        refuse(name, f"it is of {saved}, not of {saving.name_of(fn)}", MODEL)
    if entry(name, described, "code", str) != saving.code_of(fn):
        refuse(name, f"the code of {saved} is not what it was", MODEL)
    before: dict[object, list[Any]] = {}
    for each in entry(name, described, "tensors", list):
        match each:
            case [str() as key, str(), list(), str(), bool()] if key not in before:
                before[key] = each
            case _:
                refuse(name, "`tensors` in its description is malformed", AGAIN)
    now = {each[0]: each for each in saving.tensors_of(fn)}
    for text in [*now, *before]:
        if now.get(text) != before.get(text):
            refuse(name, f"{text} is {_shown(now.get(text))}, was {_shown(before.get(text))}", MODEL)


def _shown(tensor: list[object] | None) -> str:
    if tensor is None:
        return "not there"
    _, dtype, sizes, device, requires_grad = tensor
    return f"{dtype}{sizes} on {device}{'' if requires_grad else ', without gradient'}"


def _options(name: str, described: Mapping[str, object]) -> dict[str, Any]:
    options = entry(name, described, "options", dict)
    valid = (
        options.keys() == {*saving.OPTIONS}
        and any(options["dynamic"] is each for each in (None, True, False))
        and options["backend"] in saving.BACKENDS
        and type(options["fullgraph"]) is bool
    )
    if not valid:
        refuse(name, "`options` in its description is malformed", AGAIN)
    return options


def _trace(
    name: str, compiled: Compiled, place: int, described: Mapping[str, object], more: Sequence[str] | None
) -> None:
    """Restore or trace the next variant, and compare it with the one that was saved."""
    try:
        args, kwargs = made(entry(name, described, "arguments", dict))
    except (ValueError, RecursionError) as error:
        refuse(name, f"the arguments of variant {place} are malformed: {error}", AGAIN)
    compilation = compiled._compilation
    if more is not None:
        compilation.tracer.tracing = partial(restored, described, more)
    with _ambient(name, described):
        try:
            compilation.found(args, kwargs)
        except Exception as error:
            refuse(name, f"variant {place} cannot be traced here: {str(error).splitlines()[0]}", MODEL)
        finally:
            compilation.tracer.tracing = trace
    if len(compilation.variants) != place + 1:
        reason = f": {compilation.fallbacks[-1].reason.splitlines()[0]}" if compilation.fallbacks else ""
        refuse(name, f"variant {place} is not one here{reason}", MODEL)
    variant = compilation.variants[place]
    if isinstance(variant, Restored):
        return
    example_call = variant.example_call
    assert isinstance(example_call, ExampleCall)
    functions = example_call.sources()
    for saved in entry(name, described, "functions", list):
        if saved not in functions:
            shown = ".".join(map(str, saved[:2])) if type(saved) is list else ""
            refuse(name, f"the code of {shown} is not what it was, or it does not run any more", MODEL)
    for module, function, hashed in functions:
        if [module, function, hashed] not in entry(name, described, "functions", list):
            refuse(name, f"{module}.{function} runs here, and did not", MODEL)
    for key, found in saving.outcome(variant).items():
        if entry(name, described, key, list) != found:
            refuse(name, f"variant {place} has other {key} here", MODEL)
    if variant.running is not None and variant.running.note != entry(name, described, "note", str):
        refuse(name, f"variant {place} does not run here as it did: {variant.running.note or 'as kernels'}", HERE)
    if entry(name, described, "libraries", list) != [*saving.libraries_of(variant)]:
        refuse(name, f"variant {place} has other kernels here", MODEL)


@contextmanager
def _ambient(name: str, described: Mapping[str, object]) -> Iterator[None]:
    """Restore the ambient state of a saved variant."""
    default = DTYPES.get(entry(name, described, "default", str))
    if default is None:
        refuse(name, "`default` in its description is malformed", AGAIN)
    before = torch.get_default_dtype()
    gradients, inference = [entry(name, described, key, bool) for key in ("gradients", "inference")]
    try:
        if before is not default:
            torch.set_default_dtype(default)
        with torch.inference_mode(inference), torch.set_grad_enabled(gradients), without_autocast():
            yield
    except TypeError as error:
        raise WrongArtifact(f"{name}: {error}") from None
    finally:
        torch.set_default_dtype(before)


@contextmanager
def without_autocast() -> Iterator[None]:
    """Disable autocast: no saved variant was traced under it."""
    devices = [device for device, *_ in autocast()]
    try:
        for device in devices:
            torch.set_autocast_enabled(device, False)
        yield
    finally:
        for device in devices:
            torch.set_autocast_enabled(device, True)
