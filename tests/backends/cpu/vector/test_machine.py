"""The instructions that kernels are made of: those of this processor, or of a lesser one that is asked for."""

from __future__ import annotations

import platform

import pytest

from backends.cpu.compiler import compile_source, is_gnu, load
from backends.cpu.vector import AVX2, AVX512, PLAIN, instruction_set
from shapes.guards.toolchain import Unavailable
from tests.backends.cpu.vector.vectors import needs_compiler

pytestmark = [
    needs_compiler,
    pytest.mark.skipif(platform.machine() != "x86_64" or not is_gnu(), reason="the architectures of GCC for x86"),
]
WIDTH = """
int width(void) {
#if defined __AVX512F__
    return 512;
#elif defined __AVX2__
    return 256;
#else
    return 0;
#endif
}
/* %s */
"""
found_here = instruction_set.__wrapped__


@pytest.mark.parametrize(
    ("architecture", "sets", "widths"),
    [
        ("x86-64", (PLAIN,), (0,)),
        ("x86-64-v3", (AVX2, PLAIN), (256,)),
        ("x86-64-v4", (AVX512, AVX2, PLAIN), (512,)),
        ("nonsense", (PLAIN,), ()),
    ],
)
def test_a_lesser_processor_is_asked_for(
    architecture: str, sets: tuple[object, ...], widths: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A failure: the suite cannot be run as on a processor without AVX-512, or without AVX."""
    monkeypatch.delenv("SYMSHAPE_ARCHITECTURE", raising=False)
    best = found_here()
    monkeypatch.setenv("SYMSHAPE_ARCHITECTURE", architecture)
    found = found_here()
    assert found in sets and found.flags <= best.flags
    path = compile_source(WIDTH % architecture)
    if not widths:
        assert isinstance(path, Unavailable) and "nonsense" in path.reason
    else:
        assert not isinstance(path, Unavailable) and load(path).width() in widths
