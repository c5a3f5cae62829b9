"""The C text of blocks of a matrix product, in registers: some rows by four vectors, or by one.

>>> from backends.cpu.operators.products import blocks
>>> "static void columns_1_4(const Product *p, int64_t row, int64_t j, int64_t n)" in blocks()
True
"""

from __future__ import annotations

from itertools import product

from backends.cpu.vector import AVX512, instruction_set


def rows_of_block() -> int:
    """The rows of a block: its sums and a vector of each operand fill the registers."""
    return 4 if instruction_set() is AVX512 else 2


def blocks() -> str:
    """Blocks of these rows and of one, by four vectors or columns and by one."""
    return "\n".join([along_columns(*each) + along_depth(*each) for each in product((rows_of_block(), 1), (4, 1))])


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
