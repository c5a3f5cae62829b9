"""Compilation of Triton source for a device, whether it is there or not.

    >>> from backends.triton.compiling import TARGETS, function
    >>> sorted(TARGETS)
    ['gfx942', 'sm_90']

Triton keeps what it has compiled on disk by content, safe under concurrent processes.
"""

from __future__ import annotations

import linecache
from hashlib import sha256
from typing import Final

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, CompiledKernel

from backends.triton.emission import Source
from backends.triton.library import NAMES

TARGETS: Final = {"sm_90": GPUTarget("cuda", 90, 32), "gfx942": GPUTarget("hip", "gfx942", 64)}
"""Devices that code is compiled for where there is none."""


def function(source: Source) -> object:
    """The text as a function of Triton's, or of its interpreter."""
    file = f"<{source.name} {sha256(source.text.encode()).hexdigest()[:16]}>"
    linecache.cache[file] = (len(source.text), None, source.text.splitlines(keepends=True), file)
    scope = {**NAMES, "__name__": "backends.triton.kernels"}
    exec(compile(source.text, file, "exec"), scope)
    return scope[source.name]


def compiled(source: Source, target: GPUTarget | None = None) -> CompiledKernel:
    """Code for a target; the device at hand where none is named.

    Multiplications and additions are rounded each by itself, and the smallest numbers are not taken for zero, as in
    the operators that they replace.
    """
    divisible = {(place,): [["tt.divisibility", 16]] for place in source.aligned}
    made = ASTSource(function(source), source.signature, attrs=divisible)
    options = {"num_warps": source.form.warps, "enable_fp_fusion": False, "enable_reflect_ftz": False}
    return triton.compile(made, target=target, options=options)
