"""Just-in-time compilation of C: one run of the machine's compiler per text, the library cached on disk.

    >>> from backends.cpu.compiler import compile_source, load
    >>> from shapes.guards.toolchain import Unavailable
    >>> path = compile_source("int answer(void) { return 42; }", openmp=False)
    >>> isinstance(path, Unavailable) or load(path).answer() == 42
    True

Compiled with strict floats: no contraction, no reassociation; integers wrap.
(Never add -ffast-math: loading such a library sets flush-to-zero for the whole process. Nor -fassociative-math: it
merges the steps in which exp takes out the logarithm of two.) Nothing is linked but the mathematical library and, on
request, the OpenMP that the process already runs: a second one would be a second pool of threads.

A result is named after its text, the flags, the compiler's version and the processor. Without a compiler the answer
is `Unavailable`, with the reason as a sentence. `shapes.guards.library_cache` says where results are kept, and which
variables change that. `SYMSHAPE_ARCHITECTURE` stands behind `-march=`, for kernels as a lesser processor would run
them: `x86-64-v3` is AVX2 without AVX-512, `x86-64` has neither. `SYMSHAPE_SANITIZE=1` builds with the address and
undefined-behaviour sanitizers, for processes that run under `sanitizer_environment()`.
"""

from __future__ import annotations

import ctypes
import os
import platform
import re
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Final

from backends.progress import awaited
from shapes.guards.toolchain import SECONDS, Unavailable, compiler, digest, library, supplied

STRICT: Final = (
    *("-O2", "-w", "-fPIC", "-shared"),
    *("-ffp-contract=off", "-fwrapv", "-fno-math-errno", "-fno-trapping-math"),
    "-fno-strict-aliasing",  # buffers of one type are used again for another
)
QUICK: Final = (
    *("-pipe", "-nostdlib", "-fno-use-linker-plugin"),
    *("-fno-asynchronous-unwind-tables", "-fcf-protection=none", "-fno-stack-protector"),
)
"""Compiler options that turn off the parts a library of plain functions does not need: a third of the time of an empty
file.
"""
PASSES: Final = (
    *("-O1", "-fno-tree-pta", "-fexpensive-optimizations", "-ftree-pre", "-fgcse", "-fthread-jumps"),
    *("-fschedule-insns", "-fsched-pressure", "-fschedule-insns2", "-fpeephole2", "-fcaller-saves", "-falign-loops"),
)
"""The passes of GCC that make kernels faster: compiled in four fifths to nine tenths of the time of -O2, and as fast.
Without one of these, single kernels have been seen to take 1.1 to 1.7 of their time. Scheduling early interleaves the
instructions of two vectors that go through the same function: a tenth of the time of erf."""
SANITIZED: Final = (
    *("-g", "-fno-omit-frame-pointer", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"),
    "-fno-sanitize=pointer-overflow",  # a row may begin in an empty tensor, of which nothing is read
)

_libraries: Final[dict[Path, ctypes.CDLL]] = {}
"""Each loaded library, by its path. It stays loaded to the end of the process."""
identities: Final[dict[Path, str]] = {}
"""The contents that each library was built from, whatever compiler built it: the source text and its purpose."""
_gnu: list[bool] = []
"""True if the supplied libraries were built by GCC, empty if none was supplied: sources are then written for GCC."""


def compile_source(
    text: str, *, openmp: bool = False, sanitize: bool | None = None, architecture: str | None = None
) -> Path | Unavailable:
    """The library of this C text, from the cache or compiled now; it is loaded by `load`.

    Args:
        openmp: heed its OpenMP pragmas. Where there is no OpenMP they are ignored, and `_OPENMP` is not defined.
        sanitize: stop the process at the first error that a sanitizer sees; None asks `SYMSHAPE_SANITIZE`.
        architecture: what stands behind `-march=`; None asks `SYMSHAPE_ARCHITECTURE`.
    """
    if sanitize is None:
        sanitize = os.environ.get("SYMSHAPE_SANITIZE") == "1"
    for_whom = pool_name() if openmp else None
    identity = digest(text, _processor(), architecture or chosen_architecture(), str(openmp), for_whom or "")
    given = None if sanitize else _supplied(identity)
    if given is not None:
        return given
    command = compiler()
    if isinstance(command, Unavailable):
        return command
    if sanitize and "libasan" not in _mapped():
        return Unavailable("the process does not run under the address sanitizer: see sanitizer_environment")
    version = _version(command)
    quick = sys.platform == "linux" and is_gnu() and not sanitize
    flags = (*STRICT, *(PASSES if is_gnu() else ()), *(QUICK if quick else ()))
    flags += (*(SANITIZED if sanitize else ()), f"-march={architecture or chosen_architecture()}")
    libraries: tuple[str, ...] = ("-l:libm.so.6",) if quick else ("-lm",)
    if openmp:
        pool = openmp_library()
        flags += ("-fopenmp",) if pool is not None else ()
        libraries += (pool,) if pool is not None else ()
    key = f"{version} {_processor()}"
    seconds = (5 if sanitize else 1) * SECONDS
    found = library(
        text,
        (*command, *flags),
        ".so",
        load=_load,
        known=_libraries,
        libraries=libraries,
        key=key,
        seconds=seconds,
        lasting=sanitize,  # its messages name lines, which are read from the file
    )
    if isinstance(found, Unavailable):
        return found
    path, _libraries[path] = found
    if not sanitize:
        identities[path] = identity
    return path


def compile_all(texts: Sequence[str], *, openmp: bool = False) -> list[Path | Unavailable]:
    """`compile_source` of each, as many at once as there are cores; from the second second on with a progress bar."""
    if len(texts) <= 1:
        return [compile_source(text, openmp=openmp) for text in texts]
    with ThreadPoolExecutor(min(len(texts), _cores())) as pool:
        futures = [pool.submit(compile_source, text, openmp=openmp) for text in texts]
        try:
            awaited(futures)
            return [future.result() for future in futures]
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def supplied_library(identity: str) -> Path | None:
    """A library by what it is made of: one that is loaded, or that was supplied; None where there is none."""
    loaded = next((path for path, known in identities.items() if known == identity), None)
    return _supplied(identity) if loaded is None else loaded


def _supplied(identity: str) -> Path | None:
    given = supplied(identity, ".so", load=_load, known=_libraries)
    if given is None:
        return None
    path, _libraries[path] = given
    identities[path] = identity
    return path


def load(path: Path) -> ctypes.CDLL:
    """The functions of a library that `compile_source` has given."""
    return _libraries[path]


def chosen_architecture() -> str:
    """The value of `-march=`: this machine, unless another is asked for."""
    return os.environ.get("SYMSHAPE_ARCHITECTURE") or "native"


def macros(architecture: str) -> frozenset[str]:
    """The macros that the compiler predefines for this architecture, those defined as nothing or as 1."""
    command = compiler()
    if isinstance(command, Unavailable):
        return frozenset()
    said = _printed(command, f"-march={architecture}", "-dM", "-E", "-x", "c", os.devnull)
    return frozenset(re.findall(r"^#define (\w+)(?: 1)?$", said, re.MULTILINE))


def assume_gnu(gnu: bool | None) -> bool | None:
    """Write texts as those were written that another process compiled, and ask no compiler; None asks it again. Gives
    what was assumed before."""
    before = _gnu[0] if _gnu else None
    _gnu[:] = () if gnu is None else (gnu,)
    return before


def made_for() -> str:
    """The processor and its instruction sets that texts are compiled for, by a name."""
    return digest(_processor(), chosen_architecture())


def is_gnu() -> bool:
    """Return True if the compiler is GCC, whose builtins have names of their own."""
    if _gnu:
        return _gnu[0]
    command = compiler()
    return not isinstance(command, Unavailable) and "Free Software Foundation" in _version(command)


def openmp_library() -> str | None:
    """The OpenMP library to link: the one loaded here (torch brings its own), else the compiler's; or None."""
    loaded = _pool()
    if loaded is not None:
        return loaded
    command = compiler()
    return None if isinstance(command, Unavailable) else _own_openmp(command)


def pool_name() -> str | None:
    """The name of the OpenMP library that this process runs."""
    pool = _pool()
    return None if pool is None else os.path.basename(pool)


def _pool() -> str | None:
    """The OpenMP that this process runs."""
    loaded = re.search(r"/\S*libgomp[^/\s]*\.so[^/\s]*", _mapped())
    return None if loaded is None else loaded.group()


def sanitizer_environment() -> dict[str, str] | Unavailable:
    """The variables under which a new Python process may load sanitized libraries. Leaks are not looked for."""
    command = compiler()
    if isinstance(command, Unavailable):
        return command
    runtime = _printed(command, "-print-file-name=libasan.so")
    if not os.path.isabs(runtime):
        return Unavailable(f"{command[0]} has no address sanitizer")
    # behind it the library whose exceptions it watches: an error of torch's would end the process otherwise
    exceptions = _printed(command, "-print-file-name=libstdc++.so.6")
    loaded = [str(Path(path).resolve()) for path in (runtime, exceptions) if os.path.isabs(path)]
    return {
        "LD_PRELOAD": " ".join(loaded),
        "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=1:allocator_may_return_null=1",
        "SYMSHAPE_SANITIZE": "1",
    }


def _load(path: str) -> ctypes.CDLL | Unavailable:
    try:
        return ctypes.CDLL(path)
    except OSError as error:
        return Unavailable(f"what was compiled cannot be loaded: {error}")


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _mapped() -> str:
    """The files mapped into this process, where the system tells."""
    try:
        return Path("/proc/self/maps").read_text()
    except OSError:
        return ""


@cache
def _version(command: tuple[str, ...]) -> str:
    return _printed(command, "--version")


@cache
def _own_openmp(command: tuple[str, ...]) -> str | None:
    return "-lgomp" if os.path.isabs(_printed(command, "-print-file-name=libgomp.so")) else None


def _printed(command: tuple[str, ...], *question: str) -> str:
    """The output of the compiler; empty if it prints nothing."""
    try:
        answer = subprocess.run(
            [*command, *question], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS
        )
    except (OSError, ValueError, subprocess.SubprocessError):
        return ""
    return answer.stdout.strip()


@cache
def _processor() -> str:
    """The properties of the processor that `-march=native` depends on: the model and the instruction sets."""
    try:
        described = Path("/proc/cpuinfo").read_text().split("\n\n")[0]
    except OSError:
        return platform.processor() + platform.machine()
    names = ("model name", "flags", "Features", "CPU part")
    return "\n".join(line for line in described.splitlines() if line.startswith(names))
