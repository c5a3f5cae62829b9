"""Intrinsics: helpers that are one instruction, and functions that the mathematical library computes lane by lane.

    >>> print(instructions_texts(8, AVX2)["fma_f32"])
    static inline __attribute__((always_inline)) f32v fma_f32(f32v a, f32v b, f32v c)
    {
        typedef float float_part __attribute__((vector_size(32), may_alias));
        f32v r;
        ((float_part *)&r)[0] = (float_part)__builtin_ia32_vfmaddps256(((float_part *)&a)[0], ...);
        return r;
    }
    <BLANKLINE>

For each name here there is also a text in C alone (`floats.c`, `f32.c`, `f64.c`), for processors without it.
"""

from __future__ import annotations

from typing import Final

from backends.cpu.vector.elements import BITS, ELEMENTS, FLOATS, INLINE, by_chunks, chunks
from backends.cpu.vector.machine import AVX2, AVX512, NEON, InstructionSet

ARGUMENTS: Final = {
    "fma": ("a", "b", "c"),
    "sqrt": ("x",),
    "floor": ("x",),
    "ceil": ("x",),
    "trunc": ("x",),
    "round": ("x",),
    "lesser": ("a", "b"),
    "greater": ("a", "b"),
    "scale": ("x", "k"),
}
ROUNDINGS: Final = {"round": 8, "floor": 9, "ceil": 10, "trunc": 11}

LIBRARY: Final = {
    "tan asin acos atan sinh cosh asinh acosh atanh erfc lgamma": ("x",),
    "pow atan2 fmod": ("x", "y"),
}
"""Functions of the mathematical library, and their arguments."""


def instructions_texts(lanes: int, instructions: InstructionSet) -> dict[str, str]:
    """The helpers of this set, by name."""
    texts: dict[str, str] = {}
    for name in FLOATS:
        element = ELEMENTS[name]
        width, count = chunks(instructions, element.size, lanes)
        for operation, arguments in ARGUMENTS.items():
            call = _call(operation, name, width, instructions)
            if call:
                parameters = ", ".join(f"{element.vector} {argument}" for argument in arguments)
                signature = f"{element.vector} {operation}_{name}({parameters})"
                texts[f"{operation}_{name}"] = by_chunks(
                    signature, element.vector, arguments, element.scalar, width, count, call
                )
    if instructions in (AVX2, AVX512):
        texts |= _half(lanes, instructions) | _questions(lanes, instructions) | _look_up(lanes, instructions)
    return texts


def library_texts() -> dict[str, str]:
    """The functions that are computed lane by lane."""
    texts = {}
    for name in FLOATS:
        for operations, arguments in LIBRARY.items():
            for operation in operations.split():
                parameters = ", ".join(f"{name}v {argument}" for argument in arguments)
                lanes = ", ".join(f"{argument}[i]" for argument in arguments)
                suffix = "f" if name == "f32" else ""
                texts[f"{operation}_{name}"] = f"""static __attribute__((noinline))
{name}v {operation}_{name}({parameters})
{{
    for (int i = 0; i < N; i++)
        x[i] = __builtin_{operation}{suffix}({lanes});
    return x;
}}
"""
    return texts


def _call(operation: str, name: str, width: int, instructions: InstructionSet) -> str:
    """The builtin for one register, or nothing."""
    kind = "ps" if name == "f32" else "pd"
    if instructions is NEON:
        shape = "v4sf" if name == "f32" else "v2df"
        return f"__builtin_aarch64_fma{shape}({{0}}, {{1}}, {{2}})" if operation == "fma" else ""
    if instructions not in (AVX2, AVX512):
        return ""
    is_full = width == 64
    wide = "256" if width == 32 else ""
    if operation in ROUNDINGS:
        mode = ROUNDINGS[operation]
        if is_full:
            return f"__builtin_ia32_rndscale{kind}_mask({{0}}, {mode}, {{0}}, -1, 4)"
        return f"__builtin_ia32_round{kind}{wide}({{0}}, {mode})"
    if operation == "scale":
        if instructions is not AVX512:
            return ""
        return f"__builtin_ia32_scalef{kind}{8 * width}_mask({{0}}, {{1}}, {{0}}, -1{', 4' if is_full else ''})"
    if operation == "fma":
        if is_full:
            return f"__builtin_ia32_vfmadd{kind}512_mask({{0}}, {{1}}, {{2}}, -1, 4)"
        return f"__builtin_ia32_vfmadd{kind}{wide}({{0}}, {{1}}, {{2}})"
    stem = {"sqrt": "sqrt", "lesser": "min", "greater": "max"}[operation]
    operands = "{0}" if operation == "sqrt" else "{0}, {1}"
    if is_full:
        return f"__builtin_ia32_{stem}{kind}512_mask({operands}, {{0}}, -1, 4)"
    return f"__builtin_ia32_{stem}{kind}{wide}({operands})"


def _questions(lanes: int, instructions: InstructionSet) -> dict[str, str]:
    """Tests for any lane: the generic text goes through the lanes in memory."""
    texts = {}
    for bits in BITS:
        width, count = chunks(instructions, bits // 8, lanes)
        if width < 16:
            continue
        size = "512" if width == 64 else "256" if width == 32 else "128"
        test = f"__builtin_ia32_ptestmd{size}({{0}}, {{0}}, -1) != 0"
        part = "int"
        if instructions is AVX2:
            test, part = f"!__builtin_ia32_ptestz{size}({{0}}, {{0}})", "long long"
        signature = f"int any_m{bits}(i{bits}v mask)"
        texts[f"any_m{bits}"] = _any(signature, ("mask",), part, width, count, test)
        if instructions is AVX512 and bits >= 32:
            test = f"__builtin_ia32_ucmp{'d' if bits == 32 else 'q'}{8 * width}_mask({{0}}, {{1}}, 5, -1) != 0"
            signature = f"int any_from_u{bits}(u{bits}v x, u{bits}v least)"
            part = "int" if bits == 32 else "long long"
            texts[f"any_from_u{bits}"] = _any(signature, ("x", "least"), part, width, count, test)
    return texts


def _look_up(lanes: int, instructions: InstructionSet) -> dict[str, str]:
    """Look up elements of a table in one or two registers."""
    width, count = chunks(instructions, 4, lanes)
    if width == 64:
        found = "__builtin_ia32_permvarsf512_mask(*(const part *)table, {0}, (part){{0}}, -1)"
    elif width == 32:
        low, high = "*(const part *)table", "*(const part *)(table + 8)"
        found = f"__builtin_ia32_vpermt2varps256_mask({{0}}, {low}, {high}, -1)"
        if instructions is AVX2:
            low, high = (f"__builtin_ia32_permvarsf256({half}, {{0}})" for half in (low, high))
            found = f"__builtin_ia32_blendvps256({low}, {high}, (part)({{0}} << 28))"
    else:
        return {}
    lines = "\n".join(
        f"    {{ places i = ((places *)&index)[{chunk}]; ((part *)&y)[{chunk}] = {found.format('i')}; }}"
        for chunk in range(count)
    )
    text = f"""{INLINE} f32v look_up_f32(const float *table, i32v index)
{{
    typedef float part __attribute__((vector_size({width}), may_alias));
    typedef int places __attribute__((vector_size({width}), may_alias));
    f32v y;
{lines}
    return y;
}}
"""
    return {"look_up_f32": text}


def _any(signature: str, arguments: tuple[str, ...], scalar: str, width: int, count: int, test: str) -> str:
    """Return True if a test holds for any register of vectors."""
    tests = [test.format(*[f"((part *)&{argument})[{chunk}]" for argument in arguments]) for chunk in range(count)]
    return f"""{INLINE} {signature}
{{
    typedef {scalar} part __attribute__((vector_size({width}), may_alias));
    return {" || ".join(tests)};
}}
"""


def _half(lanes: int, instructions: InstructionSet) -> dict[str, str]:
    """Floats of two bytes to four and back, rounding to nearest even."""
    width, count = chunks(instructions, 4, lanes)
    short = max(width // 2, 16)
    widen = {
        64: "__builtin_ia32_vcvtph2ps512_mask(h, (wide){0}, -1, 4)",
        32: "__builtin_ia32_vcvtph2ps256(h)",
        16: "__builtin_ia32_vcvtph2ps(h)",
    }[width]
    narrow = {
        64: "__builtin_ia32_vcvtps2ph512_mask(w, 8, (narrow){0}, -1)",
        32: "__builtin_ia32_vcvtps2ph256(w, 8)",
        16: "__builtin_ia32_vcvtps2ph(w, 8)",
    }[width]
    declared = (
        f"typedef float wide __attribute__((vector_size({width}), may_alias));\n"
        f"    typedef short narrow __attribute__((vector_size({short}), may_alias));\n"
        f"    typedef short part __attribute__((vector_size({width // 2}), may_alias));"
    )
    widened = "\n".join(
        f"    {{ narrow h = {{0}}; *(part *)&h = ((part *)&x)[{chunk}]; ((wide *)&r)[{chunk}] = {widen}; }}"
        for chunk in range(count)
    )
    narrowed = "\n".join(
        f"    {{ wide w = ((wide *)&x)[{chunk}]; narrow h = (narrow){narrow}; ((part *)&r)[{chunk}] = *(part *)&h; }}"
        for chunk in range(count)
    )
    texts = {}
    for name, given, result, parts in [("widen", "i16v", "f32v", widened), ("narrow", "f32v", "i16v", narrowed)]:
        texts[f"{name}_f16"] = f"""{INLINE} {result} {name}_f16({given} x)
{{
    {declared}
    {result} r;
{parts}
    return r;
}}
"""
    return texts
