"""How far the functions of the CPU backend's vector library are from the right values, over every float32.

    python -m benchmarks.vector_accuracy                  # a sample
    python -m benchmarks.vector_accuracy --all --write    # all 2**32, to docs/reference/vector.md

The right value is that of the mathematical library in double precision, at the same float32. An error is counted in
units in the last place of the right value as a float32, subnormal numbers included; an infinity counts as 2**128.
Special values (NaN, the sign of zero) have to be the same.
"""

from __future__ import annotations

import argparse
import ctypes
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from backends.cpu.compiler import compile_source, load
from backends.cpu.vector import AVX2, AVX512, PLAIN, InstructionSet, instruction_set, source
from shapes.toolchain import Unavailable

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
"""What is approximated, and the right value of it as a C expression of a double."""
STEP: Final = 997
"""Of a sample: every so many bit patterns."""
PAGE: Final = Path(__file__).parent.parent / "docs" / "reference" / "vector.md"

KERNEL: Final = """
/* Of the float32 at first, first + step, ...: the largest error, where it is, and how many special values are wrong. */
void {name}(void *const *pointers, const int64_t *numbers)
{{
    double worst = 0, where = 0, wrong = 0;
    for (int64_t i = numbers[0]; i < numbers[1]; i += numbers[2] * N) {{
        uint32_t bits[N];
        float results[N];
        for (int lane = 0; lane < N; lane++)
            bits[lane] = i + lane * numbers[2];
        store_f32(results, {name}_f32(load_f32(bits, N)), N);
        for (int lane = 0; lane < N; lane++) {{
            float input, result = results[lane];
            __builtin_memcpy(&input, bits + lane, 4);
            double x = input, right = {right}, error;
            if (right != right || result != result)
                error = 0, wrong += (right != right) != (result != result);
            else if (right == 0)
                error = 0, wrong += result != 0 || !__builtin_signbit(right) != !__builtin_signbit(result);
            else {{
                int64_t exponent = 0;
                double bounded = __builtin_fmin(__builtin_fabs(right), 0x1p128), unit;
                __builtin_memcpy(&exponent, &bounded, 8);
                exponent = (exponent >> 52) < 897 ? 897 : (exponent >> 52) > 1150 ? 1150 : exponent >> 52;
                exponent = (exponent - 23) << 52;
                __builtin_memcpy(&unit, &exponent, 8);
                double given = __builtin_fmin(__builtin_fabs((double)result), 0x1p128);
                wrong += result != 0 && !__builtin_signbit(right) != !__builtin_signbit(result);
                error = __builtin_fabs(given - bounded) / unit;
            }}
            if (error > worst)
                worst = error, where = input;
        }}
    }}
    double *out = pointers[0];
    out[0] = worst, out[1] = where, out[2] = wrong;
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
    lanes = chosen.register // 4
    text = source([(lanes, KERNEL.format(name=name, right=FUNCTIONS[name])) for name in names], chosen)
    path = compile_source(text, architecture="native" if chosen is not PLAIN else "x86-64")
    if isinstance(path, Unavailable):
        raise SystemExit(path.reason)
    library = load(path)
    parts = [(2**32 * part // 64, 2**32 * (part + 1) // 64) for part in range(64)] if step == 1 else [(0, 2**32)]

    def one(task: tuple[str, tuple[int, int]]) -> Accuracy:
        name, (first, end) = task
        out = (ctypes.c_double * 3)()
        pointers = (ctypes.c_void_p * 1)(ctypes.addressof(out))
        library[name](pointers, (ctypes.c_int64 * 3)(first, end, step))
        return Accuracy(name, out[0], out[1], int(out[2]))

    with ThreadPoolExecutor(workers) as pool:
        found = list(pool.map(one, [(name, part) for name in names for part in parts]))
    results = []
    for name in names:
        own = [accuracy for accuracy in found if accuracy.name == name]
        worst = max(own, key=lambda accuracy: accuracy.worst)
        results.append(Accuracy(name, worst.worst, worst.where, sum(accuracy.wrong for accuracy in own)))
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
        PAGE.write_text(PAGE_TEXT.format(table=text))


PAGE_TEXT: Final = """# Accuracy of the vector library

The largest error of each function of `backends/cpu/vector` over all 2**32 float32, in units in the last place of the
right value, and an input at which it is. No special value (NaN, infinity, the sign of zero) is wrong, and subnormal
numbers are not flushed. Written by `python -m benchmarks.vector_accuracy --all --write` (`make vector-accuracy`).

{table}
"""

if __name__ == "__main__":
    main()
