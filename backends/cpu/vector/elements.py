"""The element types of vectors, in C.

    >>> from backends.cpu.vector.machine import AVX512
    >>> ELEMENTS["f32"].mask, ELEMENTS["u8"].scalar
    ('i32v', 'uint8_t')
    >>> chunks(AVX512, 8, 16)
    (64, 2)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from backends.cpu.vector.machine import InstructionSet


@dataclass(frozen=True, slots=True)
class Element:
    """A type of elements: its name in helpers, in C, and its size in bytes."""

    name: str
    scalar: str
    size: int

    @property
    def vector(self) -> str:
        return f"{self.name}v"

    @property
    def mask(self) -> str:
        return f"i{8 * self.size}v"

    @property
    def is_float(self) -> bool:
        return self.name[0] == "f"


ELEMENTS: Final = {
    name: Element(name, scalar, size)
    for name, scalar, size in [
        ("f32", "float", 4),
        ("f64", "double", 8),
        ("i64", "int64_t", 8),
        ("i32", "int32_t", 4),
        ("i16", "int16_t", 2),
        ("i8", "int8_t", 1),
        ("u8", "uint8_t", 1),
    ]
}
FLOATS: Final = ("f32", "f64")
INTEGERS: Final = ("i64", "i32", "i16", "i8", "u8")
BITS: Final = (8, 16, 32, 64)

SCALARS: Final = "\n".join(
    f"typedef __{sign.upper()}{bits}_TYPE__ {sign}{bits}_t;" for bits in BITS for sign in ("int", "uint")
)
INLINE: Final = "static inline __attribute__((always_inline))"


def types(lanes: int) -> str:
    """The vector types. `..._any` is the same in memory, at any address and beside any other type."""
    named = [(element.vector, element.scalar, element.size) for element in ELEMENTS.values()]
    named += [(f"u{bits}v", f"uint{bits}_t", bits // 8) for bits in (64, 32, 16)]
    lines = []
    for vector, scalar, size in named:
        width = f"vector_size({size * lanes})"
        lines.append(f"typedef {scalar} {vector} __attribute__(({width}));")
        lines.append(f"typedef {scalar} {vector}_any __attribute__(({width}, aligned(1), may_alias));")
    return "\n".join(lines)


def chunks(instructions: InstructionSet, size: int, lanes: int) -> tuple[int, int]:
    """The registers of a vector: bytes of each, and their number."""
    width = min(instructions.register, size * lanes)
    return width, size * lanes // width


def by_chunks(
    signature: str, result: str, arguments: tuple[str, ...], scalar: str, width: int, count: int, call: str
) -> str:
    """A function that does `call`, of the registers `{0}`, `{1}`..., to each register of its arguments in turn."""
    part = f"{scalar}_part"
    body = [f"typedef {scalar} {part} __attribute__((vector_size({width}), may_alias));", f"{result} r;"]
    for chunk in range(count):
        parts = [f"(({part} *)&{argument})[{chunk}]" for argument in arguments]
        body.append(f"(({part} *)&r)[{chunk}] = ({part}){call.format(*parts)};")
    return f"{INLINE} {signature}\n{{\n    " + "\n    ".join([*body, "return r;"]) + "\n}\n"
