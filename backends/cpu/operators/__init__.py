"""Operators on few elements in C: products, attention and embeddings that torch takes longer to call than to compute.

    >>> import torch
    >>> from backends.cpu.operators import operator
    >>> x, w, out = torch.ones(2, 3), torch.ones(3, 4), torch.empty(2, 4)
    >>> multiply = operator(torch.mm)
    >>> _ = torch.mm(x, w, out=out) if multiply is None else multiply(x, w, out=out)
    >>> out[0]
    tensor([3., 3., 3., 3.])

Such a callable reads its tensors by the launcher. Torch's own function is called for more elements, for other types of
elements and layouts, for what is no plain tensor, and where torch would raise.
"""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path
from typing import Final

import torch

from backends.backend import Operator
from backends.cpu.compiler import compile_source, load
from backends.cpu.launcher import OPERAND, launcher
from backends.cpu.operators.products import blocks, rows_of_block
from backends.cpu.vector import PLAIN, instruction_set, lanes_for, source
from shapes.guards.toolchain import Unavailable

MOST: Final = 1 << 20
"""Multiplications of a product, elements of an embedding: with more, torch is as fast."""
MOST_ATTENTION: Final = 1 << 18
"""Multiplications of an attention."""
KEYS: Final = 512
CAUSAL: Final = 128
"""Keys, and queries that do not see all of them: torch divides more into blocks."""
aten: Final = torch.ops.aten
OPERATORS: Final[dict[object, tuple[str, object, tuple[str, ...], int]]] = {
    torch.mm: ("product", torch.mm, ("out",), 0),
    torch.addmm: ("product", torch.addmm, ("out",), 0),
    aten.embedding.default: ("embedding", torch.embedding, (), 1),
    aten._scaled_dot_product_flash_attention_for_cpu.default: (
        "attention",
        aten._scaled_dot_product_flash_attention_for_cpu.default._op,
        ("attn_mask", "scale"),
        2,
    ),
}
"""The function in C, torch's function, the arguments that are given by name, of which the first may be missing, and how
many results are made."""

NUMBER: Final = """
static double number(const int64_t *operand)
{
    double value = __builtin_nan("");
    if (operand[0] == -1) __builtin_memcpy(&value, operand + 1, sizeof value);
    return value;
}
"""
"""The value of an operand that is a number."""


@cache
def operator(target: object) -> Operator | None:
    """The callable for an operator; None if there is none here."""
    if target not in OPERATORS or instruction_set() is PLAIN:  # it multiplies and adds in two steps
        return None
    native, path = launcher(), compile_source(text())
    if isinstance(native, Unavailable) or isinstance(path, Unavailable):
        return None
    name, *others = OPERATORS[target]
    library = load(path)
    return native.Operator(ctypes.cast(getattr(library, name), ctypes.c_void_p).value, *others, library)


def text() -> str:
    """The C file."""
    numbers = {"MOST": MOST, "MOST_ATTENTION": MOST_ATTENTION, "KEYS": KEYS, "CAUSAL": CAUSAL, "ROWS": rows_of_block()}
    head = f"enum {{ {', '.join([f'{name} = {value}' for name, value in numbers.items()])}, {OPERAND} }};"
    parts = [(Path(__file__).parent / f"{name}.c").read_text() for name in ("products", "attention", "embedding")]
    return source([(lanes_for(4), "\n".join([head, NUMBER, *parts]).replace("@BLOCKS@", blocks()))])
