"""Instruction sets: the width of a register, and which intrinsics the C text may name.

    >>> from backends.cpu.vector.machine import AVX2, lanes_for
    >>> AVX2.register
    32
    >>> lanes_for(4, AVX2), lanes_for(8, AVX2)
    (8, 4)

The C text of a set declares its own builtins: no header is read. `PLAIN` names none: any compiler with GCC's vector
extensions takes it, for any processor. Where `SYMSHAPE_ARCHITECTURE` asks for a lesser processor than this one, the set
is one that both have.
"""

from __future__ import annotations

import platform
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from backends.cpu.compiler import chosen_architecture, is_gnu, macros

LEAST: Final = 4
"""Lanes of the smallest vector: vectors of two bytes are handled badly."""


@dataclass(frozen=True, slots=True)
class InstructionSet:
    """Vectors of `register` bytes; `architecture` is what `-march=` needs at least."""

    name: str
    register: int
    architecture: str
    flags: frozenset[str]
    """The names in `/proc/cpuinfo` of what is used."""


PLAIN: Final = InstructionSet(
    "plain", 16, "x86-64" if platform.machine() in ("x86_64", "AMD64") else "native", frozenset()
)
NEON: Final = InstructionSet("neon", 16, "armv8-a", frozenset({"asimd"}))
AVX2: Final = InstructionSet("avx2", 32, "x86-64-v3", frozenset(["avx2", "fma", "f16c", "bmi2"]))
AVX512: Final = InstructionSet(
    "avx512", 64, "x86-64-v4", AVX2.flags | frozenset(["avx512f", "avx512bw", "avx512dq", "avx512vl"])
)
SETS: Final = (AVX512, AVX2, NEON, PLAIN)
"""The best first."""


@cache
def instruction_set() -> InstructionSet:
    """The best set of this processor, as far as the compiler of this machine names its builtins as GCC does."""
    if not is_gnu():
        return PLAIN
    flags, architecture = _flags(), chosen_architecture()
    if architecture != "native":
        flags &= frozenset(name.strip("_").lower().replace("arm_neon", "asimd") for name in macros(architecture))
    return next(found for found in SETS if found.flags <= flags)


def lanes_for(widest: int, instructions: InstructionSet | None = None) -> int:
    """The number of elements of this many bytes that fill one register; never fewer than four."""
    return max(LEAST, (instructions or instruction_set()).register // widest)


def _flags() -> frozenset[str]:
    """The processor flags that the system reports."""
    try:
        described = Path("/proc/cpuinfo").read_text()
    except OSError:
        return frozenset({"asimd"}) if platform.machine() in ("arm64", "aarch64") else frozenset()
    for line in described.splitlines():
        name, _, value = line.partition(":")
        if name.strip() in ("flags", "Features"):
            return frozenset(value.split())
    return frozenset()
