"""The helpers by name, and the C file of kernels with those that they reach.

    >>> from backends.cpu.vector.machine import PLAIN
    >>> print(sorted(needed("f32v f(f32v x) { return minimum_f32(x, splat_f32(0)); }", helpers(4, PLAIN))))
    ['lesser_f32', 'minimum_f32', 'select_f32', 'splat_f32']
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from string import Template
from typing import Final

from backends.cpu.vector.coefficients import CONSTANTS, polynomials
from backends.cpu.vector.elements import ELEMENTS, FLOATS, INLINE, INTEGERS, SCALARS, types
from backends.cpu.vector.instructions import instructions_texts, library_texts
from backends.cpu.vector.lanes import lanes_texts
from backends.cpu.vector.machine import InstructionSet, instruction_set
from backends.cpu.vector.memory import memory
from backends.cpu.vector.pieces import pieces_texts

IDENTIFIER: Final = re.compile(r"[A-Za-z_]\w*")
DEFINITION: Final = re.compile(r"^(?:INLINE|COLD) \w+ (\w+)\(", re.MULTILINE)
TEMPLATES: Final = {"floats": FLOATS, "integers": INTEGERS, "f32": ("f32",), "f64": ("f64",)}
"""The C files of this folder, and the elements for which each is read."""
COLD: Final = "static __attribute__((noinline, cold))"


def source(kernels: Sequence[tuple[int, str]], instructions: InstructionSet | None = None) -> str:
    """One C file of kernels: of each its number of lanes and its text.

    The text may call any helper, and use `N` and the types of vectors, which are those of its number of lanes.
    """
    chosen = instructions or instruction_set()
    texts: dict[int, list[str]] = {}
    for lanes, text in kernels:
        texts.setdefault(lanes, []).append(text)
    parts = [SCALARS]
    for lanes, bodies in texts.items():
        body = "\n".join(bodies)
        known = helpers(lanes, chosen)
        names = needed(body, known)
        prelude = f"#define N {lanes}\n{types(lanes)}\n" + "".join(known[name] for name in names)
        if len(texts) == 1:
            parts += [prelude, body]
        else:
            own = sorted({*names, *re.findall(r"\w+(?= __attribute__)", types(lanes))})
            parts += [f"#define {name} {name}_{lanes}" for name in own]
            parts += [prelude, body, "#undef N", *(f"#undef {name}" for name in own)]
    return "\n".join(parts) + "\n"


def needed(text: str, known: Mapping[str, str]) -> list[str]:
    """The helpers that a text calls, and those that they call, each behind what it calls itself."""
    order: dict[str, None] = {}

    def visit(text: str, inside: str) -> None:
        for name in IDENTIFIER.findall(text):
            if name in known and name not in order and name != inside:
                visit(known[name], name)
                order[name] = None

    visit(text, "")
    return list(order)


@cache
def helpers(lanes: int, instructions: InstructionSet) -> dict[str, str]:
    """The C text of every helper by name."""
    texts = memory(lanes, instructions) | lanes_texts(lanes, instructions)
    for name, elements in TEMPLATES.items():
        for element in elements:
            texts |= _template(name, element)
    for element in FLOATS:
        texts |= polynomials(element)
    return texts | pieces_texts() | library_texts() | instructions_texts(lanes, instructions)


@cache
def _template(name: str, element: str) -> dict[str, str]:
    """The functions of one of the C files, for one type of elements."""
    found = ELEMENTS[element]
    words = {
        "e": element,
        "v": found.vector,
        "s": found.scalar,
        "m": found.mask,
        "b": str(8 * found.size),
        "u": f"u{8 * found.size}v",
        "f": "f" if element == "f32" else "",
    }
    if element in FLOATS:
        words |= {word: of_both[FLOATS.index(element)] for word, of_both in CONSTANTS.items()}
    text = Template(Path(__file__).with_name(f"{name}.c").read_text()).substitute(words)
    functions = re.split(r"\n(?=INLINE|COLD|/\*)", text)
    defined = [(DEFINITION.search(function), function) for function in functions]
    return {
        match.group(1): re.sub(r"^INLINE", INLINE, re.sub(r"^COLD", COLD, function, flags=re.M), flags=re.M) + "\n"
        for match, function in defined
        if match is not None
    }
