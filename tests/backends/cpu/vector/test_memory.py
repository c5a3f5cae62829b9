"""Loads and stores of the vector library: the right elements, and nothing beside them."""

from __future__ import annotations

import ctypes
import mmap
import subprocess
import sys
from functools import partial

import pytest
import torch

from backends.cpu.vector import InstructionSet, lanes_for, source
from tests.backends.cpu.vector.vectors import HERE, KINDS, call, compiled, needs_compiler

pytestmark = needs_compiler
on_each_set = pytest.mark.parametrize("instructions", HERE, ids=lambda found: found.name)
ARGUMENTS = "(void *const *p, const int64_t *s)"


def kernels(lanes: int) -> str:
    """Each way to read, written as it is; each way to write, of what was read as it is."""
    text = ""
    for kind in KINDS:
        text += f"""
void tail_{kind}{ARGUMENTS} {{ store_{kind}(p[1], load_{kind}(p[0], s[0]), s[0]); }}
void zeros_{kind}{ARGUMENTS} {{ store_{kind}(p[1], load_{kind}(p[0], s[0]), N); }}
void whole_{kind}{ARGUMENTS} {{ store_{kind}(p[1], load_{kind}(p[0], N), N); }}
void strided_{kind}{ARGUMENTS} {{ store_{kind}(p[1], load_strided_{kind}(p[0], s[1], s[0]), N); }}
void whole_strided_{kind}{ARGUMENTS} {{ store_{kind}(p[1], load_strided_{kind}(p[0], s[1], N), N); }}
void store_strided_of_{kind}{ARGUMENTS} {{ store_strided_{kind}(p[1], load_{kind}(p[0], N), s[1], s[0]); }}
void one_{kind}{ARGUMENTS} {{ write_{kind}(p[1], read_{kind}(p[0])); }}
void broadcast_of_{kind}{ARGUMENTS} {{ store_{kind}(p[1], broadcast_{kind}(p[0]), N); }}
"""
        if lanes * 8 <= 128:
            text += f"""
void gather_of_{kind}{ARGUMENTS} {{ store_{kind}(p[2], gather_{kind}(p[0], load_i64(p[1], s[0]), s[0]), N); }}
"""
    return text


def values(kind: str, count: int) -> torch.Tensor:
    """No two neighbours alike, none of them 0 (of bools every third is)."""
    numbers = torch.arange(1, count + 1)
    return numbers % 3 != 0 if kind == "bool" else (numbers % 100 + 1).to(KINDS[kind])


@on_each_set
@pytest.mark.parametrize("widest", [1, 4, 8])
def test_every_way_to_read_and_write(instructions: InstructionSet, widest: int) -> None:
    """A failure: an element is taken from, or put at, the wrong place; or the lanes behind the last one are not 0."""
    lanes = lanes_for(widest, instructions)
    library = compiled(source([(lanes, kernels(lanes))], instructions), instructions)

    def launched(kind: str, name: str, *inputs: torch.Tensor, numbers: list[int], size: int = lanes) -> torch.Tensor:
        result = values(kind, size + 1)
        call(library, f"{name}_{kind}", *inputs, result, numbers=numbers)
        assert result[size] == values(kind, size + 1)[size], f"{name}_{kind} writes behind the end"
        return result[:size]

    for kind, dtype in KINDS.items():
        run = partial(launched, kind)
        x = values(kind, 3 * lanes + 1)
        for n in {0, 1, 2, 3, lanes // 2, lanes - 1, lanes}:
            zeros = torch.zeros(lanes - n, dtype=dtype)

            given = x[1:]  # at no aligned address
            assert run("tail", given, numbers=[n])[:n].equal(given[:n])
            assert run("tail", given, numbers=[n])[n:].equal(values(kind, lanes)[n:])
            assert run("zeros", given, numbers=[n]).equal(torch.cat([given[:n], zeros]))
            assert run("strided", given, numbers=[n, 3]).equal(torch.cat([given[: 3 * n : 3], zeros]))
            assert run("strided", x[lanes:], numbers=[n, -1]).equal(torch.cat([x[: lanes + 1].flip(0)[:n], zeros]))
            spread = run("store_strided_of", given, numbers=[n, 2], size=2 * lanes)
            expected = values(kind, 2 * lanes)
            expected[: 2 * n : 2] = given[:n]
            assert spread.equal(expected)
            if lanes * 8 <= 128:
                index = torch.randint(0, 3 * lanes, (lanes,))
                assert run("gather_of", x, index, numbers=[n]).equal(torch.cat([x[index[:n]], zeros]))
        assert run("whole", given, numbers=[]).equal(given[:lanes])
        assert run("whole_strided", given, numbers=[0, 2]).equal(given[: 2 * lanes : 2])
        assert run("whole_strided", given, numbers=[0, 0]).equal(given[:1].expand(lanes))
        assert run("broadcast_of", given, numbers=[]).equal(given[:1].expand(lanes))
        assert run("one", given, numbers=[], size=1).equal(given[:1])


def at_the_end_of_memory() -> None:
    """Reads and writes the first n elements right before, and right behind, pages that may not be touched."""
    page = mmap.PAGESIZE
    memory = mmap.mmap(-1, 3 * page)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    protect = ctypes.CDLL(None, use_errno=True).mprotect
    for place in (start, start + 2 * page):
        assert protect(ctypes.c_void_p(place), ctypes.c_size_t(page), 0) == 0
    for instructions in HERE:
        lanes = lanes_for(1, instructions)
        library = compiled(source([(lanes, kernels(lanes))], instructions), instructions)
        for kind, dtype in KINDS.items():
            for n in range(lanes):
                for address in (start + 2 * page - n * dtype.itemsize, start + page):
                    call(library, f"tail_{kind}", address, address, numbers=[n])


def test_no_access_beside_the_elements() -> None:
    """A failure: the tail of a tensor at the end of a mapping stops the process."""
    program = "from tests.backends.cpu.vector.test_memory import at_the_end_of_memory; at_the_end_of_memory()"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=600)


@on_each_set
def test_kernels_of_several_numbers_of_lanes(instructions: InstructionSet) -> None:
    """A failure: kernels for different types cannot stand in one file, or see each other's vectors."""
    text = "void k{0}(void *const *p, const int64_t *s) {{ store_f32(p[0], exp_f32(splat_f32(N)), N); }}"
    library = compiled(source([(lanes, text.format(lanes)) for lanes in (4, 8, 16)], instructions), instructions)
    for lanes in (4, 8, 16):
        result = torch.zeros(20)
        call(library, f"k{lanes}", result, numbers=[])
        torch.testing.assert_close(result[:lanes], torch.full((lanes,), float(lanes)).exp())
        assert not result[lanes:].any()
