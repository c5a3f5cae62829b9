"""Small matrix products in C: with few elements, torch's `mm` and `addmm` take longer than what they compute.

    >>> import torch
    >>> from backends.cpu.products import operator
    >>> x, w, out = torch.ones(2, 3), torch.ones(3, 4), torch.empty(2, 4)
    >>> multiply = operator(torch.mm)
    >>> _ = torch.mm(x, w, out=out) if multiply is None else multiply(x, w, out=out)
    >>> out[0]
    tensor([3., 3., 3., 3.])

The callable is torch's, and reads its tensors by the launcher before; torch's own function is called for larger
products, for other types of elements and layouts, and for what is no plain tensor.
"""

from __future__ import annotations

import ctypes
from functools import cache
from itertools import product
from pathlib import Path
from typing import Final

import torch

from backends.backend import Operator
from backends.cpu.compiler import compile_source, load
from backends.cpu.launcher import OPERAND, launcher
from backends.cpu.vector import AVX512, PLAIN, instruction_set, lanes_for, source
from shapes.guards.toolchain import Unavailable

MOST: Final = 1 << 20
"""Multiplications: more are as fast by torch."""
PRODUCTS: Final[tuple[object, ...]] = (torch.mm, torch.addmm)


@cache
def operator(target: object) -> Operator | None:
    """The callable for one of torch's functions, called with `out`; None if there is none here."""
    if target not in PRODUCTS or instruction_set() is PLAIN:  # it multiplies and adds in two steps
        return None
    native, path = launcher(), compile_source(text())
    if isinstance(native, Unavailable) or isinstance(path, Unavailable):
        return None
    library = load(path)
    address = ctypes.cast(library.product, ctypes.c_void_p).value
    return native.Operator(address, target, library)


# ---------------------------------------------------------------------- C


def text() -> str:
    """The C file: blocks of some rows and of one, by some columns and by one."""
    rows = 4 if instruction_set() is AVX512 else 2
    blocks = [along_columns(*sizes) + along_depth(*sizes) for sizes in product((rows, 1), (4, 1))]
    body = (Path(__file__).parent / "products.c").read_text().replace("@BLOCKS@", "\n".join(blocks))
    head = f"enum {{ ROWS = {rows}, MOST = {MOST}, {OPERAND} }};\n"
    return source([(lanes_for(4), head + body)])


def along_columns(rows: int, vectors: int) -> str:
    """A block of rows by vectors of columns, the last of them of `n` columns."""
    each = list(product(range(rows), range(vectors)))
    n = "n" if vectors == 1 else "N"
    lines = [f"f32v b{v} = p->bias ? load_f32(p->bias + j + {v} * N, {n}) : splat_f32(0);" for v in range(vectors)]
    lines += [f"f32v s{r}_{v} = b{v};" for r, v in each]
    lines += ["const float *x = p->x + row * p->x_row, *w = p->w + j;"]
    lines += ["for (int64_t k = 0; k < p->depth; k++, x += p->x_deep, w += p->w_deep) {"]
    lines += [f"    f32v w{v} = load_f32(w + {v} * N, {n});" for v in range(vectors)]
    for r in range(rows):
        lines += [f"    f32v x{r} = broadcast_f32(x + {r} * p->x_row);"]
        lines += [f"    s{r}_{v} = fma_f32(x{r}, w{v}, s{r}_{v});" for v in range(vectors)]
    lines += ["}"]
    lines += [f"store_f32(p->out + (row + {r}) * p->out_row + j + {v} * N, s{r}_{v}, {n});" for r, v in each]
    return function("columns", rows, vectors, "int64_t row, int64_t j, int64_t n", lines)


def along_depth(rows: int, columns: int) -> str:
    """A block of rows by columns, each sum along the lanes."""
    each = list(product(range(rows), range(columns)))
    lines = [f"f32v s{r}_{c} = splat_f32(0);" for r, c in each]
    lines += ["const float *x = p->x + row * p->x_row, *w = p->w + j * p->w_column;"]
    lines += ["int64_t k = 0;"]
    for head, n in (("for (; k + N <= p->depth; k += N) {", "N"), ("if (k < p->depth) {", "p->depth - k")):
        lines += [head]
        lines += [f"    f32v w{c} = load_f32(w + {c} * p->w_column + k, {n});" for c in range(columns)]
        for r in range(rows):
            lines += [f"    f32v x{r} = load_f32(x + {r} * p->x_row + k, {n});"]
            lines += [f"    s{r}_{c} = fma_f32(x{r}, w{c}, s{r}_{c});" for c in range(columns)]
        lines += ["}"]
    for r, c in each:
        value = f"total_f32(s{r}_{c})[0] + (p->bias ? p->bias[j + {c}] : 0)"
        lines += [f"p->out[(row + {r}) * p->out_row + j + {c}] = {value};"]
    return function("depth", rows, columns, "int64_t row, int64_t j", lines)


def function(name: str, rows: int, width: int, numbers: str, lines: list[str]) -> str:
    """A C function of a product and numbers."""
    of_rows = "1" if rows == 1 else "many"
    body = "\n    ".join(lines)
    return f"static void {name}_{of_rows}_{width}(const Product *p, {numbers})\n{{\n    {body}\n}}\n"
