"""Loads and stores: of all lanes or under a mask, strided, gathered, of one element.

    >>> from backends.cpu.vector.machine import PLAIN
    >>> texts = memory(4, PLAIN)
    >>> print(texts["write_i64"])
    static inline __attribute__((always_inline)) void write_i64(void *p, int64_t x)
    {
        __builtin_memcpy(p, &x, sizeof x);
    }
    <BLANKLINE>

The first n lanes are a masked access on AVX-512, on AVX2 for elements of four and eight bytes; elsewhere they are
copied by way of a full vector. Sanitized builds always copy: the sanitizers do not see what a masked access touches.
"""

from __future__ import annotations

from typing import Final

from backends.cpu.vector.elements import ELEMENTS, INLINE, Element, chunks
from backends.cpu.vector.machine import AVX2, AVX512, InstructionSet

AVX512_NAMES: Final = {1: ("dquqi", "char"), 2: ("dquhi", "short"), 4: ("dqusi", "int"), 8: ("dqudi", "long long")}
AVX2_NAMES: Final = {4: ("d", "int"), 8: ("q", "long long")}
"""The builtins of masked accesses, and their argument types, by the size of an element."""


def memory(lanes: int, instructions: InstructionSet) -> dict[str, str]:
    """The helpers for memory by name."""
    texts: dict[str, str] = {}
    for element in ELEMENTS.values():
        texts |= _plain_kind(element.name, element, lanes, instructions)
    texts |= _plain_kind("bool", ELEMENTS["u8"], lanes, instructions)
    for kind in ("f16", "bf16"):
        texts |= _short_kind(kind)
    return texts


def _plain_kind(kind: str, element: Element, lanes: int, instructions: InstructionSet) -> dict[str, str]:
    """Elements that are in registers what they are in memory."""
    vector, scalar = element.vector, element.scalar

    def lanes_of(place: str) -> str:
        return "{" + ", ".join(f"q[{place.format(lane)}]" for lane in range(lanes)) + "}"

    def collected(name: str, parameters: str, place: str) -> str:
        return f"""{INLINE} {vector} {name}_{kind}(const void *p, {parameters}, int64_t n)
{{
    const {scalar} *q = p;
    if (__builtin_constant_p(n) && n >= N)
        return ({vector}){lanes_of(place)};
    {scalar} r[N] = {{0}};
    for (int64_t i = 0; i < n; i++)
        r[i] = q[{place.format("i")}];
    return *({vector}_any *)r;
}}
"""

    copied = f"for (int64_t i = 0; i < n && i < N; i++) if (where[i]) r[i] = ((const {scalar} *)p)[i];"

    def chosen(name: str, parameters: str, place: str) -> str:
        places = [f"*(where[{lane}] ? q + {place.format(lane)} : &zero)" for lane in range(lanes)]
        selected = "{" + ", ".join(places) + "}"
        return f"""{INLINE} {vector} {name}_{kind}(const void *p, {parameters}, {element.mask} where, int64_t n)
{{
    const {scalar} *q = p;
    if (__builtin_constant_p(n) && n >= N) {{
        static const {scalar} zero;
        return ({vector}){selected};
    }}
    {vector} r = {{0}};
    for (int64_t i = 0; i < n && i < N; i++)
        if (where[i])
            r[i] = q[{place.format("i")}];
    return r;
}}
"""

    return {
        f"load_{kind}": f"""{INLINE} {vector} load_{kind}(const void *p, int64_t n)
{{
    if (__builtin_constant_p(n) && n >= N)
        return *(const {vector}_any *)p;
    {vector} r = {{0}};
{_first_lanes(_masked(element, lanes, instructions), "__builtin_memcpy(&r, p, n * sizeof r[0]);")}
    return r;
}}
""",
        f"store_{kind}": f"""{INLINE} void store_{kind}(void *p, {vector} x, int64_t n)
{{
    if (__builtin_constant_p(n) && n >= N) {{
        *({vector}_any *)p = x;
        return;
    }}
{_first_lanes(_masked(element, lanes, instructions, is_store=True), "__builtin_memcpy(p, &x, n * sizeof x[0]);")}
}}
""",
        f"load_strided_{kind}": collected("load_strided", "int64_t stride", "{} * stride"),
        f"gather_{kind}": collected("gather", "i64v index", "index[{}]"),
        f"load_strided_where_{kind}": chosen("load_strided_where", "int64_t stride", "{} * stride"),
        f"gather_where_{kind}": chosen("gather_where", "i64v index", "index[{}]"),
        f"load_where_{kind}": f"""{INLINE} {vector} load_where_{kind}(const void *p, {element.mask} where, int64_t n)
{{
    {vector} r = {{0}};
{_first_lanes(_masked(element, lanes, instructions, is_chosen=True), copied)}
    return r;
}}
""",
        f"store_strided_{kind}": f"""{INLINE} void store_strided_{kind}(void *p, {vector} x, int64_t stride, int64_t n)
{{
    {scalar} *q = p;
    for (int64_t i = 0; i < n; i++)
        q[i * stride] = x[i];
}}
""",
        f"read_{kind}": f"""{INLINE} {scalar} read_{kind}(const void *p)
{{
    {scalar} x;
    __builtin_memcpy(&x, p, sizeof x);
    return x;
}}
""",
        f"write_{kind}": f"""{INLINE} void write_{kind}(void *p, {scalar} x)
{{
    __builtin_memcpy(p, &x, sizeof x);
}}
""",
        f"broadcast_{kind}": f"""{INLINE} {vector} broadcast_{kind}(const void *p)
{{
    return splat_{element.name}(read_{element.name}(p));
}}
""",
    }


def _short_kind(kind: str) -> dict[str, str]:
    """Floats of two bytes, which are wider in registers."""
    loads = {"load": "int64_t n", "load_strided": "int64_t stride, int64_t n", "gather": "i64v index, int64_t n"}
    loads["load_where"] = "i16v where, int64_t n"
    loads["load_strided_where"] = "int64_t stride, i16v where, int64_t n"
    loads["gather_where"] = "i64v index, i16v where, int64_t n"
    stores = {"store": "int64_t n", "store_strided": "int64_t stride, int64_t n"}

    def names(parameters: str) -> str:
        return ", ".join(parameter.split()[-1] for parameter in parameters.split(", "))

    texts = {
        f"{name}_{kind}": f"""{INLINE} f32v {name}_{kind}(const void *p, {parameters})
{{
    return widen_{kind}({name}_i16(p, {names(parameters)}));
}}
"""
        for name, parameters in loads.items()
    }
    texts |= {
        f"{name}_{kind}": f"""{INLINE} void {name}_{kind}(void *p, f32v x, {parameters})
{{
    {name}_i16(p, narrow_{kind}(x), {names(parameters)});
}}
"""
        for name, parameters in stores.items()
    }
    texts[f"broadcast_{kind}"] = f"""{INLINE} f32v broadcast_{kind}(const void *p)
{{
    return widen_{kind}(broadcast_i16(p));
}}
"""
    texts[f"read_{kind}"] = f"""{INLINE} float read_{kind}(const void *p)
{{
    return broadcast_{kind}(p)[0];
}}
"""
    texts[f"write_{kind}"] = f"""{INLINE} void write_{kind}(void *p, float x)
{{
    write_i16(p, narrow_{kind}(splat_f32(x))[0]);
}}
"""
    return texts


def _first_lanes(masked: list[str], copied: str) -> str:
    """The statements for the first n lanes."""
    if not masked:
        return f"    {copied}"
    lines = "\n".join(f"    {line}" for line in masked)
    return f"#ifdef __SANITIZE_ADDRESS__\n    {copied}\n#else\n{lines}\n#endif"


def _masked(
    element: Element, lanes: int, instructions: InstructionSet, *, is_store: bool = False, is_chosen: bool = False
) -> list[str]:
    """The first n lanes at p, or those of them that are chosen by `where`, into r by masked loads; or of x to p by
    masked stores. Nothing where there is no such instruction."""
    width, count = chunks(instructions, element.size, lanes)
    register, each = max(width, 16), width // element.size
    verb = "store" if is_store else "load"
    if instructions is AVX512:
        name, scalar = AVX512_NAMES[element.size]
        value = "{1}" if is_store else "(part){{0}}"
        access = f"__builtin_ia32_{verb}{name}{8 * register}_mask(({scalar} *)p + {{0}}, {value}, mask >> {{0}})"
        mask = ["uint64_t mask = __builtin_ia32_bzhi_di(-1, n);"]
        if is_chosen:
            mask = _chosen_bits(element, width, register, count)
    elif instructions is AVX2 and element.size in AVX2_NAMES:
        name, scalar = AVX2_NAMES[element.size]
        wide, value = "256" if register == 32 else "", ", {1}" if is_store else ""
        access = f"__builtin_ia32_mask{verb}{name}{wide}((part *)(({scalar} *)p + {{0}}), ((part *)&mask)[{{2}}]"
        access += f"{value})"
        mask = [f"{element.mask} mask = first_m{8 * element.size}(n){' & where' if is_chosen else ''};"]
    else:
        return []
    vector = "x" if is_store else "r"
    parts = [f"((part *)&{vector})[{chunk}]" for chunk in range(count)] if width == register else ["whole"]
    calls = [access.format(chunk * each, part, chunk) for chunk, part in enumerate(parts)]
    lines = [f"typedef {scalar} part __attribute__((vector_size({register}), may_alias));", *mask]
    if is_store:
        # a vector narrower than the smallest register is the begin of one
        whole = [] if width == register else ["part whole = {0};", f"*({element.vector} *)&whole = x;"]
        return [*lines, *whole, *[f"{call};" for call in calls]]
    if width == register:
        return [*lines, *[f"{part} = {call};" for part, call in zip(parts, calls)]]
    return [*lines, f"part whole = {calls[0]};", f"r = *({element.vector} *)&whole;"]


def _chosen_bits(element: Element, width: int, register: int, count: int) -> list[str]:
    """A mask as vector registers have it, as bits."""
    letter = {1: "b", 2: "w", 4: "d", 8: "q"}[element.size]
    move = f"__builtin_ia32_cvt{letter}2mask{8 * register}"
    each = width // element.size
    parts = [f"((part *)&where)[{chunk}]" for chunk in range(count)]
    lines = [] if width == register else ["part chosen = {0};", f"*({element.mask} *)&chosen = where;"]
    parts = parts if width == register else ["chosen"]
    bits = [f"((uint64_t){move}({part}) << {chunk * each})" for chunk, part in enumerate(parts)]
    return [*lines, f"uint64_t mask = ({' | '.join(bits)}) & __builtin_ia32_bzhi_di(-1, n);"]
