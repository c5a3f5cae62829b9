"""Within and across lanes: broadcasts, masks, blends, horizontal reductions, conversions of element types.

    >>> from backends.cpu.vector.machine import PLAIN
    >>> texts = lanes_texts(4, PLAIN)
    >>> print(texts["splat_i16"])
    static inline __attribute__((always_inline)) i16v splat_i16(int16_t x)
    {
        return x - (i16v){0};
    }
    <BLANKLINE>

A conversion goes through the widths in between, one step at a time: the compiler has an instruction for each step, and
takes lanes one by one where it is asked for more at once.
"""

from __future__ import annotations

from itertools import pairwise, permutations
from typing import Final

from backends.cpu.vector.elements import BITS, ELEMENTS, FLOATS, INLINE, Element, by_chunks, chunks
from backends.cpu.vector.machine import InstructionSet

SMALLEST_REGISTER: Final = 16


def lanes_texts(lanes: int, instructions: InstructionSet) -> dict[str, str]:
    """The helpers by name."""
    texts: dict[str, str] = {}
    counted = ", ".join(str(lane) for lane in range(lanes))
    for bits in BITS:
        texts[f"lane_i{bits}"] = _function(f"i{bits}v lane_i{bits}(void)", f"return (i{bits}v){{{counted}}};")
        texts |= _masks(bits)
    for element in ELEMENTS.values():
        vector, mask = element.vector, element.mask
        texts[f"splat_{element.name}"] = _splat(element, lanes, instructions)
        texts[f"select_{element.name}"] = _function(
            f"{vector} select_{element.name}({mask} mask, {vector} a, {vector} b)",
            f"return ({vector})((mask & ({mask})a) | (~mask & ({mask})b));",
        )
        texts |= {
            f"{name}_{element.name}": _reduction(name, element, lanes, joined, mask_of)
            for name, (joined, mask_of) in REDUCTIONS.items()
            if not element.is_float or name == "product"
        }
    for name in FLOATS:
        texts |= _all_reductions(ELEMENTS[name], lanes)
    for source, target in permutations(ELEMENTS.values(), 2):
        steps = _steps(source, target)
        if len(steps) == 1:
            body = _step(source, target, lanes, instructions)
        else:
            through = [source.name, *steps]
            calls = [f"convert_{one}_{other}(" for one, other in pairwise(through)]
            body = ["return " + "".join(reversed(calls)) + "x" + ")" * len(calls) + ";"]
        texts[f"convert_{source.name}_{target.name}"] = _function(
            f"{target.vector} convert_{source.name}_{target.name}({source.vector} x)", *body
        )
    return texts


REDUCTIONS: Final = {
    "sum": ("a + b", ""),
    "product": ("a * b", ""),
    "min": ("a : b", "<"),
    "max": ("a : b", ">"),
}
"""The operation that joins two values, or the comparison that chooses the first. Floats use only the product."""


def _all_reductions(element: Element, lanes: int) -> dict[str, str]:
    """Reductions that leave the result in all lanes: each is joined with that half a vector away, and so on."""
    joined = {"total": "x = x + y", "greatest": "x = greater_{e}(y, x)", "least": "x = lesser_{e}(y, x)"}
    texts = {}
    for name, step in joined.items():
        lines = []
        distance = lanes
        while distance > 1:
            distance //= 2
            shuffled = ", ".join(f"x[{lane ^ distance}]" for lane in range(lanes))
            lines.append(f"{{ {element.vector} y = {{{shuffled}}}; {step.format(e=element.name)}; }}")
        signature = f"{element.vector} {name}_{element.name}({element.vector} x)"
        texts[f"{name}_{element.name}"] = _function(signature, *lines, "return x;")
    return texts


def _splat(element: Element, lanes: int, instructions: InstructionSet) -> str:
    """One number in all lanes. What is more than a register the compiler would write to memory, number by number."""
    width, count = chunks(instructions, element.size, lanes)
    signature = f"{element.vector} splat_{element.name}({element.scalar} x)"
    if count == 1:
        return _function(signature, f"return x - ({element.vector}){{0}};")
    number = f"(x - ({element.scalar}_part){{{{0}}}})"
    return by_chunks(signature, element.vector, (), element.scalar, width, count, number)


def _function(signature: str, *body: str) -> str:
    return f"{INLINE} {signature}\n{{\n    " + "\n    ".join(body) + "\n}\n"


def _masks(bits: int) -> dict[str, str]:
    """The definitions for masks of this width."""
    mask = f"i{bits}v"
    texts = {
        f"first_m{bits}": _function(
            f"{mask} first_m{bits}(int64_t n)",
            f"int{bits}_t first = n < 0 ? 0 : n > N ? N : n;",
            f"return lane_i{bits}() < splat_i{bits}(first);",
        ),
        f"bool_m{bits}": _function(
            f"u8v bool_m{bits}({mask} mask)",
            f"return (u8v){'mask' if bits == 8 else f'm8_m{bits}(mask)'} & 1;",
        ),
        f"m{bits}_bool": _function(
            f"{mask} m{bits}_bool(u8v x)",
            f"return {'x != 0' if bits == 8 else f'm{bits}_m8(x != 0)'};",
        ),
        f"any_m{bits}": _function(
            f"int any_m{bits}({mask} mask)",
            "uint64_t any = 0;",
            "if (sizeof mask < 8)",
            "    for (int i = 0; i < N; i++)",
            "        any |= mask[i];",
            "for (unsigned i = 0; i < sizeof mask / 8; i++)",
            "    any |= ((uint64_t *)&mask)[i];",
            "return any != 0;",
        ),
        f"any_from_u{bits}": _function(
            f"int any_from_u{bits}(u{bits}v x, u{bits}v least)", f"return any_m{bits}(x >= least);"
        ),
        f"all_m{bits}": _function(f"int all_m{bits}({mask} mask)", f"return !any_m{bits}(~mask);"),
    }
    for other in BITS:
        if other != bits:
            texts[f"m{other}_m{bits}"] = _function(
                f"i{other}v m{other}_m{bits}({mask} mask)", f"return convert_i{bits}_i{other}(mask);"
            )
    return texts


def _reduction(name: str, element: Element, lanes: int, joined: str, comparison: str) -> str:
    """Halves joined until one small register is left, and its lanes in pairs."""
    lines: list[str] = []
    width, whole = lanes * element.size, "x"
    while width > SMALLEST_REGISTER:
        width //= 2
        halves = f"a = ((part{width} *)&{whole})[0], b = ((part{width} *)&{whole})[1]"
        lines.append(f"typedef {element.scalar} part{width} __attribute__((vector_size({width}), may_alias));")
        lines += _joined(element, f"part{width}", f"x{width}", halves, joined, comparison)
        whole = f"x{width}"
    count = width // element.size
    chosen = f"a {comparison} b ? a : b" if comparison else joined
    lines.append(f"{element.scalar} r[{count}];")
    lines += [f"r[{lane}] = {whole}[{lane}];" for lane in range(count)]
    while count > 1:
        count //= 2
        for lane in range(count):
            lines.append(f"{{ {element.scalar} a = r[{lane}], b = r[{lane + count}];")
            lines.append(f"  r[{lane}] = {chosen}; }}")
    lines.append("return r[0];")
    return _function(f"{element.scalar} {name}_{element.name}({element.vector} x)", *lines)


def _joined(element: Element, part: str, result: str, operands: str, joined: str, comparison: str) -> list[str]:
    """Statements that make one vector of two, a and b."""
    lines = [f"{part} {result};", "{", f"    {part} {operands};"]
    if comparison:
        lines += [
            f"    typedef int{8 * element.size}_t part_mask __attribute__((vector_size(sizeof({part}))));",
            f"    part_mask m = (part_mask)(a {comparison} b);",
            f"    {result} = ({part})((m & (part_mask)a) | (~m & (part_mask)b));",
        ]
    else:
        lines.append(f"    {result} = {joined};")
    return [*lines, "}"]


def _step(source: Element, target: Element, lanes: int, instructions: InstructionSet) -> list[str]:
    """A conversion for which there is an instruction, for as many lanes at a time as fill a register.

    More at once makes GCC 12 stop with an internal error where they are in memory.
    """
    each = instructions.register // max(source.size, target.size)
    if lanes <= each:
        return [f"return __builtin_convertvector(x, {target.vector});"]
    return [
        f"typedef {source.scalar} from __attribute__((vector_size({each * source.size}), may_alias));",
        f"typedef {target.scalar} to __attribute__((vector_size({each * target.size}), may_alias));",
        f"{target.vector} r;",
        *(f"((to *)&r)[{part}] = __builtin_convertvector(((from *)&x)[{part}], to);" for part in range(lanes // each)),
        "return r;",
    ]


def _steps(source: Element, target: Element) -> list[str]:
    """The types that a conversion goes through."""
    if source.is_float and target.is_float:
        return [target.name]
    if source.is_float:
        # as torch: a byte without a sign by way of 64 bits, which matters for what is beyond 32
        whole = "i64" if target.size == 8 or (source.name, target.name) == ("f64", "u8") else "i32"
        return [whole, *_integer_steps(ELEMENTS[whole], target)]
    if target.is_float:
        whole = "i32" if source.size <= 4 else "i64"
        return [*_integer_steps(source, ELEMENTS[whole]), target.name]
    return _integer_steps(source, target)


def _integer_steps(source: Element, target: Element) -> list[str]:
    """Through the widths in between; a wider one is reached from the sign that the source has."""
    if source is target:
        return []
    sizes = [1, 2, 4, 8]
    start, end = sizes.index(source.size), sizes.index(target.size)
    between = sizes[start + 1 : end] if start < end else sizes[end + 1 : start][::-1]
    return [*(f"i{8 * size}" for size in between), target.name]
