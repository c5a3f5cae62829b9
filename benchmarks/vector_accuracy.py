"""Accuracy of the CPU backend's vector functions, over every float32.

    python -m benchmarks.vector_accuracy                  # a sample
    python -m benchmarks.vector_accuracy --all --write    # all 2**32, to docs/reference/vector.md

The reference is the mathematical library in double precision, at the same float32. An error is counted in units in the
last place of the reference as a float32, subnormal numbers included; an infinity counts as 2**128. Special values (NaN,
the sign of zero) have to be the same.
"""

from __future__ import annotations

import argparse
import ctypes
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from backends.cpu.compiler import compile_source, load
from backends.cpu.vector import AVX2, AVX512, PLAIN, InstructionSet, instruction_set, lanes_for, source
from shapes.guards.toolchain import Unavailable

FUNCTIONS: Final = {
    "exp": "__builtin_exp(x)",
    "exp2": "__builtin_exp2(x)",
    "expm1": "__builtin_expm1(x)",
    "log": "__builtin_log(x)",
    "log2": "__builtin_log2(x)",
    "log10": "__builtin_log10(x)",
    "log1p": "__builtin_log1p(x)",
    "tanh": "__builtin_tanh(x)",
    "sigmoid": "1 / (1 + __builtin_exp(-x))",
    "erf": "__builtin_erf(x)",
    "sin": "__builtin_sin(x)",
    "cos": "__builtin_cos(x)",
    "rsqrt": "1 / __builtin_sqrt(x)",
}
"""The approximated functions, each with its exact value as a C expression of a double."""
STEP: Final = 997
"""The distance of the bit patterns in a sample."""
PAGE: Final = Path(__file__).parent.parent / "docs" / "reference" / "vector.md"

KERNEL: Final = """
/* Of the float32 at first, first + step, ...: the largest error, where it is, and how many special values are wrong. */
void {name}(void *const *pointers, const int64_t *numbers)
{{
    f64v worst = {{0}};
    double where[N] = {{0}}, wrong = 0;
    for (int64_t i = numbers[0]; i < numbers[1]; i += numbers[2] * N) {{
        f32v inputs = (f32v)convert_i64_i32(i + lane_i64() * numbers[2]);
        f64v result = convert_f32_f64({name}_f32(inputs)), right;
        for (int lane = 0; lane < N; lane++) {{
            double x = inputs[lane];
            right[lane] = {right};
        }}
        i64v special = ((right != right) ^ (result != result)) | ((right == 0) & (result != 0));
        special |= (right == right) & (((i64v)right ^ (i64v)result) < 0) & ((right == 0) | (result != 0));
        /* the bits of 2**e become those of 2**(23 - e), for e from that of the least to that of the greatest float32 */
        f64v size = lesser_f64(abs_f64(right), splat_f64(0x1p128));
        i64v power = (i64v)size & 0x7ff0000000000000;
        power = minimum_i64(maximum_i64(power, splat_i64(897L << 52)), splat_i64(1150L << 52));
        f64v error = abs_f64(lesser_f64(abs_f64(result), splat_f64(0x1p128)) - size) * (f64v)((2069L << 52) - power);
        i64v worse = error > worst;
        if (any_m64(worse | special)) {{
            worst = select_f64(worse, error, worst);
            for (int lane = 0; lane < N; lane++) {{
                where[lane] = worse[lane] ? inputs[lane] : where[lane];
                wrong -= special[lane];
            }}
        }}
    }}
    double *out = pointers[0];
    out[0] = -1;
    out[2] = wrong;
    for (int lane = 0; lane < N; lane++)
        if (worst[lane] > out[0])
            out[0] = worst[lane], out[1] = where[lane];
}}
"""


@dataclass(frozen=True, slots=True)
class Accuracy:
    """The largest error of a function, the input at which it is, and how many special values are wrong."""

    name: str
    worst: float
    where: float
    wrong: int


def measured(
    names: Sequence[str], *, instructions: InstructionSet | None = None, step: int = STEP, workers: int = 1
) -> list[Accuracy]:
    """The accuracy of these functions at every `step`-th float32."""
    chosen = instructions or instruction_set()
    lanes = lanes_for(8, chosen)
    text = source([(lanes, KERNEL.format(name=name, right=FUNCTIONS[name])) for name in names], chosen)
    path = compile_source(text, architecture=None if chosen is instruction_set() else chosen.architecture)
    if isinstance(path, Unavailable):
        raise SystemExit(path.reason)
    library = load(path)
    parts = [(2**32 * part // 64, 2**32 * (part + 1) // 64) for part in range(64)] if step == 1 else [(0, 2**32)]

    def one(name: str, part: tuple[int, int]) -> Accuracy:
        out = (ctypes.c_double * 3)()
        pointers = (ctypes.c_void_p * 1)(ctypes.addressof(out))
        library[name](pointers, (ctypes.c_int64 * 3)(*part, step))
        return Accuracy(name, out[0], out[1], int(out[2]))

    results = []
    with ThreadPoolExecutor(workers) as pool:
        for name in names:
            found = list(pool.map(partial(one, name), parts))
            worst = max(found, key=lambda accuracy: accuracy.worst)
            results.append(Accuracy(name, worst.worst, worst.where, sum(accuracy.wrong for accuracy in found)))
            if step == 1:
                print(results[-1], flush=True)
    return results


def table(columns: dict[str, list[Accuracy]]) -> str:
    """A row for each function, with a column for each instruction set."""
    lines = [
        "| function | " + " | ".join(f"{name}: ulp | at" for name in columns) + " |",
        "| --- |" + " ---: | --- |" * len(columns),
    ]
    for row in zip(*columns.values(), strict=True):
        cells = " | ".join(f"{accuracy.worst:.3f} | `{accuracy.where:.9g}`" for accuracy in row)
        lines.append(f"| `{row[0].name}` | {cells} |")
        for accuracy in row:
            if accuracy.wrong:
                lines.append(f"| | {accuracy.wrong} special values are wrong |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=list(FUNCTIONS))
    parser.add_argument("--all", action="store_true", help="every float32, some minutes a function")
    parser.add_argument("--sets", nargs="*", default=None, help="avx512, avx2, plain; the machine's own by default")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    sets = {found.name: found for found in (AVX512, AVX2, PLAIN)}
    chosen = options.sets or [instruction_set().name]
    columns = {
        name: measured(options.names, instructions=sets[name], step=1 if options.all else STEP, workers=options.workers)
        for name in chosen
    }
    text = table(columns)
    print(text)
    if options.write:
        inputs = "all 2**32" if options.all else f"every {STEP}th of all 2**32"
        PAGE.write_text(PAGE_TEXT.format(inputs=inputs, table=text))


PAGE_TEXT: Final = """# Accuracy of the vector library

The largest error of each function of `backends/cpu/vector` over {inputs} float32, in units in the last place of the
right value, and an input at which it is. No special value (NaN, infinity, the sign of zero) is wrong, and subnormal
numbers are not flushed. Written by `make vector-accuracy`.

{table}
"""

if __name__ == "__main__":
    main()
