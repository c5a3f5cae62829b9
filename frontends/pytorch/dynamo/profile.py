"""Profile-guided dynamism: saves which sizes are dynamic, so that the next process compiles once.

    >>> import os, tempfile, torch
    >>> from frontends.pytorch import compile, load_profile, save_profile
    >>> def f(x):
    ...     return x * 2
    >>> first = compile(f)
    >>> for size in (3, 5):
    ...     out = first(torch.ones(size))
    >>> path = os.path.join(tempfile.mkdtemp(), "profile.json")
    >>> save_profile(path, first)
    >>> second = compile(f)
    >>> load_profile(path, second)
    >>> for size in (4, 7):
    ...     out = second(torch.ones(size))
    >>> len(first.variants), len(second.variants)
    (2, 1)

Dynamo has such a profile (`torch._dynamo.pgo`), by code and source, pickled under a job's name. Here it is JSON in a
file of your choice, with the profile of our own compiled functions. Dynamo's name of a frame with a closure has a hash
of the cells' addresses, which differ between processes: the file has their number instead, for frames that close over
no function. A profile affects dynamism, never correctness: a wrong one costs a recompilation.
"""

from __future__ import annotations

import dataclasses
import json
import logging
from collections.abc import Callable, Iterator, Mapping
from os import PathLike, fspath
from types import FunctionType, MethodType
from typing import Any, Final

import torch

from frontends.pytorch.calls.artifact import AGAIN, content_of, entry, of_kind, parsed, refuse, write_whole
from frontends.pytorch.calls.compiled import Compiled
from frontends.pytorch.calls.saving import code_of, name_of
from frontends.pytorch.errors import rejected
from frontends.pytorch.python.code_replacement import own_code

FORMAT: Final = 1
MOST_CELLS: Final = 64
FIELDS: Final = ("filename", "firstlineno", "name", "file_hash", "closure_hash")
LATTICE: Final = ("scalar", "size", "stride")
log: Final = logging.getLogger("symshape")


def save_profile(path: str | PathLike[str], *functions: Compiled) -> None:
    """Save the profile of Dynamo in this process and of these compiled functions.

    Raises:
        ConstraintViolation: something else was given, or the file cannot be written.
    """
    given = [*_checked("save_profile", functions)]
    described = {
        "symshape profile": FORMAT,
        "torch": torch.__version__,
        "frames": [*of_dynamo(), *[each for compiled, _ in given for each in _as_frame(compiled)]],
        "functions": [
            {"name": name_of(fn), "code": code_of(fn), **compiled._compilation.history.described()}
            for compiled, fn in given
        ],
    }
    text = json.dumps(described, ensure_ascii=True, allow_nan=False, indent=1)
    write_whole(fspath(path), text.encode(), f"save_profile({fspath(path)!r})")


def load_profile(path: str | PathLike[str], *functions: Compiled) -> None:
    """Load a profile into Dynamo and these compiled functions.

    Raises:
        WrongArtifact: it is no such file, or others can write to it.
        ConstraintViolation: something else was given.
    """
    name, given = fspath(path), [*_checked("load_profile", functions)]
    described = parsed(name, content_of(name))
    if described.get("symshape profile") != FORMAT:
        refuse(name, "it is no profile of this symshape", "the path that `save_profile` was given")
    frames = [of_kind(name, dict, each, "a frame in it") for each in entry(name, described, "frames", list)]
    read = [(_frame(name, each), _sources(name, each)) for each in frames]
    seen = [of_kind(name, dict, each, "a function in it") for each in entry(name, described, "functions", list)]
    mine = []
    for compiled, fn in given:
        known = [each for each in seen if each.get("name") == name_of(fn) and each.get("code") == code_of(fn)]
        mine += [(compiled._compilation.history, each) for each in known]
        mine += [
            (compiled._compilation.history, _as_history(sources)) for frame, sources in read if _is_frame_of(frame, fn)
        ]
    for history, each in mine:
        try:
            type(history)().add(each)
        except ValueError as error:
            refuse(name, f"{error} is malformed", AGAIN)
    to_dynamo(read)
    for history, each in mine:
        history.add(each)


def _checked(asked: str, functions: tuple[object, ...]) -> Iterator[tuple[Compiled, Callable[..., object]]]:
    for each in functions:
        if not isinstance(each, Compiled):
            what = f"{asked}(): {type(each).__qualname__} is nothing that `frontends.pytorch.compile` gives"
            rejected(what, "what torch compiles is in it without being given")
        yield each, each._compilation.fn


# ---------------------------------------------------------------------- Dynamo's profile

Frame = tuple[str, int, str, str, int]
"""File, first line, name, hash of the file, and the number of closure cells without a function."""
Sources = Mapping[str, Mapping[str, Any]]


def of_dynamo() -> list[dict[str, object]]:
    """Dynamo's frames with their sources, if they have a known format."""
    pgo = profile_of_torch()
    if pgo is None:
        return []
    cells: dict[int | None, int] = {hash((None,) * count): count for count in range(1, MOST_CELLS)}
    cells[None] = 0
    frames: list[dict[str, object]] = []
    for code, state in pgo.get_code_state().items():
        sources = {
            source: {part: _written(pgo, getattr(seen, part)) for part in LATTICE}
            for source, seen in state.automatic_dynamic.items()
            # floats are always static
            if type(seen.scalar) is not float
        }
        if sources and code.closure_hash in cells:
            place = (code.filename, code.firstlineno, code.name, code.file_hash, cells[code.closure_hash])
            frames.append({"frame": [*place], "sources": sources})
    return frames


def to_dynamo(frames: list[tuple[Frame, Sources]]) -> None:
    """Add these to Dynamo's profile."""
    pgo = profile_of_torch() if frames else None
    if pgo is None:
        return
    states = pgo.get_code_state()
    for (file, line, name, hashed, cells), sources in frames:
        code = pgo.CodeId(file, line, name, hashed, hash((None,) * cells) if cells else None)
        for source, seen in sources.items():
            known = states[code].automatic_dynamic[source]
            known |= pgo.FrameStateSizeEntry(**{part: _read(pgo, seen[part]) for part in LATTICE})
            # nothing was compiled in this process for the other's first sizes
            known.excluded_sizes = known.excluded_scalar = None


def profile_of_torch() -> Any:
    """The module of Dynamo's profile; None if its format is unknown."""
    from torch._dynamo import pgo

    field_names = [field.name for field in dataclasses.fields(pgo.FrameStateSizeEntry)]
    named = tuple([field.name for field in dataclasses.fields(pgo.CodeId)])
    if named == FIELDS and {*LATTICE, "excluded_sizes", "excluded_scalar"} <= {*field_names}:
        return pgo
    log.warning("torch %s keeps another profile than is known here: what Dynamo saw is left out", torch.__version__)
    return None


def _written(pgo: Any, value: object) -> object:
    if value is pgo.auto_dynamic:
        return "dynamic"
    if value is pgo.auto_unset:
        return "unset"
    if isinstance(value, pgo.InferStride):
        return {"behind": value.dim}
    return [_written(pgo, each) for each in value] if isinstance(value, tuple) else value


def _read(pgo: Any, value: Any) -> object:
    if type(value) is str:
        return pgo.auto_dynamic if value == "dynamic" else pgo.auto_unset
    if type(value) is dict:
        return pgo.InferStride(value["behind"])
    return tuple([_read(pgo, each) for each in value]) if type(value) is list else value


def _frame(name: str, described: Mapping[str, object]) -> Frame:
    match described.get("frame"):
        case [str(file), int(line), str(function), str(hashed), int(cells)] if 0 <= cells < MOST_CELLS:
            return file, line, function, hashed, cells
    refuse(name, "a frame in it is malformed", AGAIN)


def _sources(name: str, described: Mapping[str, object]) -> Sources:
    sources = entry(name, described, "sources", dict)
    for source, seen in sources.items():
        valid = type(seen) is dict and seen.keys() == {*LATTICE}
        if not valid or not is_number(seen["scalar"]) or not all(is_layout(seen[part]) for part in ("size", "stride")):
            refuse(name, f"what it says of {source} is malformed", AGAIN)
    return sources


def is_number(value: object) -> bool:
    return value in ("dynamic", "unset") if type(value) is str else type(value) is int


def is_layout(value: object) -> bool:
    """Whether this is an entry for sizes or strides."""
    if type(value) is not list:
        return value == "dynamic" or value == "unset"
    return all(each == "dynamic" or type(each) is int or is_behind(each) for each in value)


def is_behind(value: object) -> bool:
    """Whether this is an entry for a stride that is another axis's extent."""
    return type(value) is dict and value.keys() == {"behind"} and type(value["behind"]) is int


# ---------------------------------------------------------------------- conversions


def _is_frame_of(frame: Frame, fn: object) -> bool:
    """Whether this is Dynamo's frame of a function's code."""
    function = fn.__func__ if isinstance(fn, MethodType) else fn
    if not isinstance(function, FunctionType) or function.__closure__:
        return False
    code = own_code(function)
    return frame[1:3] == (code.co_firstlineno, code.co_name) and frame[3] == hash_of_file(code.co_filename)


def hash_of_file(name: str) -> str | None:
    """Dynamo's hash of a file."""
    pgo = profile_of_torch()
    return None if pgo is None else pgo._hash_containing_file(name)


def _as_history(sources: Sources) -> dict[str, object]:
    """Convert Dynamo's entries for parameters to our history."""
    sizes: list[object] = []
    for source, seen in sources.items():
        if source[:3] != "L['" or source[-2:] != "']" or "'" in source[3:-2]:
            continue
        name, size, scalar = source[3:-2], seen["size"], seen["scalar"]
        if type(size) is list:
            for axis, each in enumerate(size):
                differs = each == "dynamic"
                sizes.append([name, len(size), axis, 0 if differs else each, differs])
        elif type(scalar) is int:
            sizes.append([name, -1, 0, scalar, False])
        elif size == scalar == seen["stride"] == "dynamic":
            sizes.append([name, -1, 0, 0, True])
    return {"sizes": sizes, "floats": [], "fixed": []}


def _as_frame(compiled: Compiled) -> Iterator[dict[str, object]]:
    """Convert a compiled function's history to Dynamo's entries."""
    fn = compiled._compilation.fn
    function = fn.__func__ if isinstance(fn, MethodType) else fn
    if not isinstance(function, FunctionType) or function.__closure__:
        return
    code = own_code(function)
    parameters = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    sources: dict[str, dict[str, Any]] = {}
    for name, rank, axis, size, differs in compiled._compilation.history.described()["sizes"]:
        if name in parameters:
            seen = "dynamic" if differs else size
            if rank < 0:
                sources[f"L[{name!r}]"] = {"scalar": seen, "size": "dynamic", "stride": "dynamic"}
                continue
            found = sources.setdefault(f"L[{name!r}]", {"scalar": "dynamic", "size": [], "stride": "unset"})
            if found["size"] == "dynamic" or axis != len(found["size"]):
                # another rank in another call
                found["size"] = "dynamic"
            else:
                found["size"].append(seen)
    hashed = hash_of_file(code.co_filename)
    if sources and hashed is not None:
        yield {"frame": [code.co_filename, code.co_firstlineno, code.co_name, hashed, 0], "sources": sources}
