"""Attention over rows of different lengths, in C: queries of a row attend to its keys, and nothing is padded.

    >>> import torch
    >>> x, offsets, logsumexp = torch.ones(5, 2, 16), torch.tensor([0, 2, 5]), torch.empty(5, 2)
    >>> found = attention(x, x, x, offsets, offsets, scale=0.25, is_causal=False, logsumexp=logsumexp)
    >>> found is None or torch.allclose(found, x)
    True

Queries of a block lie along the lanes, so that the maximum, the exponentials and the sum of a softmax need nothing from
other lanes; keys and values are read as they lie, one feature for all lanes. The scores of a block of keys stay in the
cache, and what was added up before is scaled where the maximum grows. Threads share rows, heads, parts of long rows.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Final

import torch

from backends.cpu.compiler import compile_source, load
from backends.cpu.vector import AVX512, NEON, PLAIN, instruction_set, lanes_for, source
from shapes.guards.toolchain import Unavailable

KEYS: Final = 128
"""Keys of a block: their scores fill a third of the first cache."""
WIDEST: Final = 256
"""Features of a head; wider ones are torch's."""
PART: Final = 256
"""Queries of a long row that a thread takes at a time."""

Run = Callable[[ctypes.Array[ctypes.c_void_p], ctypes.Array[ctypes.c_int64], float], int]


def attention(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, queries: torch.Tensor, keys: torch.Tensor,
    *, scale: float, is_causal: bool, logsumexp: torch.Tensor | None,
) -> torch.Tensor | None:  # fmt: skip
    """The attention of rows, which the offsets divide, by element, head and feature.

    The logarithms of the denominators go into `logsumexp`, by element and head. None if this code is not written for
    the tensors, or the offsets do not divide them.
    """
    run = _run() if all(map(is_supported, (query, key, value))) else None
    is_alike = query.shape[1:] == key.shape[1:] and key.shape[1] == value.shape[1] and len(queries) == len(keys)
    if run is None or not is_alike:
        return None
    result = query.new_empty((*query.shape[:2], value.shape[2]))
    given = [each if each.stride(2) == 1 else each.contiguous() for each in (query, key, value)]
    offsets = [each.to(torch.int64).contiguous() for each in (queries, keys)]
    numbers = [
        *(len(queries) - 1, query.shape[0], min(key.shape[0], value.shape[0]), *query.shape[1:], value.shape[2]),
        *[step for each in given for step in each.stride()[:2]],
        *(is_causal, torch.get_num_threads()),
    ]
    pointers = [None if each is None else each.data_ptr() for each in (result, *given, *offsets, logsumexp)]
    is_done = run((ctypes.c_void_p * len(pointers))(*pointers), (ctypes.c_int64 * len(numbers))(*numbers), scale)
    return result if is_done else None


def is_supported(tensor: torch.Tensor) -> bool:
    """Return True for float32 on the CPU, with heads that are not too wide."""
    return tensor.dtype is torch.float32 and tensor.device.type == "cpu" and 0 < tensor.shape[2] <= WIDEST


@cache
def _run() -> Run | None:
    if instruction_set() is PLAIN:  # it multiplies and adds in two steps
        return None
    path = compile_source(text(), openmp=True)
    if isinstance(path, Unavailable):
        return None
    run = load(path).attention
    run.restype = ctypes.c_int
    run.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_float]
    found: Run = run
    return found


# ---------------------------------------------------------------------- C


def text() -> str:
    """The C file: `values.c`, `block.c` for one and for two vectors of queries, and `entry.c`."""
    lanes = lanes_for(4)
    together = 8 if instruction_set() in (AVX512, NEON) else 4
    each = " ".join(f"M({number})" for number in range(together))
    parts = [
        f"enum {{ KEYS = {KEYS}, WIDEST = {WIDEST}, PART = {PART}, TOGETHER = {together} }};",
        f"#define EACH(M) {each}\n#define ONE(M) M(0)",
        _transposing(lanes),
        _part("values.c"),
    ]
    for count in (1, 2):
        parts += [
            f"#define COUNT {count}\n#define NAME(name) name##{count}",
            f"#define ALSO(...) {'__VA_ARGS__' if count == 2 else ''}",
            _part("block.c"),
            "#undef COUNT\n#undef NAME\n#undef ALSO",
        ]
    return source([(lanes, "\n".join([*parts, _part("entry.c")]))])


def _part(name: str) -> str:
    return (Path(__file__).parent / name).read_text()


def _transposing(lanes: int) -> str:
    """N features of N queries, scaled, by feature and query; the queries behind `count` are 0."""
    names = [f"r{each}" for each in range(lanes)]
    row = "{0} < count ? load_f32(x + {0} * x_step, n) * scale : (f32v){{0}}"
    lines = [f"f32v {name} = {row.format(each)};" for each, name in enumerate(names)]
    # vectors that are half of them apart are interleaved, as often as it takes to move each lane to its vector
    for stage in range(lanes.bit_length() - 1):
        made: list[str] = []
        for a, b in zip(names[: lanes // 2], names[lanes // 2 :]):
            for start in (0, lanes // 2):
                picked = ", ".join(f"{a}[{lane}], {b}[{lane}]" for lane in range(start, start + lanes // 2))
                made.append(f"t{stage}_{len(made)}")
                lines.append(f"f32v {made[-1]} = {{{picked}}};")
        names = made
    lines += [f"if ({each} < n) store_f32(made + {each} * step, {name}, N);" for each, name in enumerate(names)]
    parameters = "float *made, int64_t step, const float *x, int64_t x_step, int64_t count, int64_t n, float scale"
    body = "\n    ".join(lines)
    return f"static void transposed({parameters})\n{{\n    if (n > N) n = N;\n    {body}\n}}\n"
