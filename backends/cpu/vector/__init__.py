"""The vector library of C kernels: what a kernel may call, each as a short C text that is put in only where it is used.

    >>> from backends.cpu.vector import source
    >>> text = source([(4, "void f(float *p) { store_f32(p, exp_f32(load_f32(p, N)), N); }")])
    >>> "f32v exp_f32(f32v x)" in text, "erf_f32" in text
    (True, False)

A kernel is written for N lanes, the same for all its types; `lanes_for(bytes of the widest element)` says how many
fill one register here. Kernels of several N may stand in one file, which has no headers. More than one register per
vector is right, but fast for plain arithmetic and conversions alone: masks of such a type are made lane by lane, and an
accumulator lives in memory.

## Types
`f32v f64v i64v i32v i16v i8v u8v` (elements `e`: f32 f64 i64 i32 i16 i8 u8), and the unsigned `u64v u32v u16v`.
`+ - * & | ^ ~ == != < <= > >=` and `x[lane]` are C's own, a scalar operand is spread; `+ - *` of integers wrap
(-fwrapv). Nothing contracts `a*b + c` (-ffp-contract=off): `fma_f32(a, b, c)` where one rounding is wanted.
A mask is the integer vector as wide as what was compared, 0 or -1 per lane: `m32` = i32v (f32, i32), `m64` = i64v (f64,
i64), `m16` = i16v, `m8` = i8v (i8, u8, bool). Masks combine by `& | ^ ~`.
Scalars: `float double int64_t int32_t int16_t int8_t uint8_t`. A bool is u8, 0 or 1.

## Memory: k is one of f32 f64 f16 bf16 i64 i32 i16 i8 u8 bool; f16 and bf16 are f32v, bool is u8v in registers
| signature | what it does |
| --- | --- |
| `V load_k(const void *p, int64_t n)` | the first n lanes, 0 <= n <= N, others are 0; a literal `N` is a plain load |
| `V load_strided_k(const void *p, int64_t stride, int64_t n)` | the same, `stride` elements apart |
| `V gather_k(const void *p, i64v index, int64_t n)` | the elements at these positions |
| `V broadcast_k(const void *p)` | one element in all lanes |
| `S read_k(const void *p)` | one element as a scalar (float for f16 and bf16, uint8_t for bool) |
| `void store_k(void *p, V x, int64_t n)` | the first n lanes; a literal `N` is a plain store |
| `void store_strided_k(void *p, V x, int64_t stride, int64_t n)` | the same, `stride` elements apart |
| `void write_k(void *p, S x)` | one element |

No alignment is asked for. f16 and bf16 are rounded to nearest even.

## Lanes and masks: e as above, b is one of 8 16 32 64
| signature | what it does |
| --- | --- |
| `V splat_e(S x)` | x in all lanes |
| `i64v lane_i64(void)`, `i32v lane_i32(void)` | 0, 1, 2, ... |
| `Mb first_mb(int64_t n)` | the mask of the lanes below n (any n) |
| `V select_e(M mask, V a, V b)` | a where the mask is set, else b; the mask as wide as the element |
| `u8v bool_mb(Mb mask)`, `Mb mb_bool(u8v x)` | a mask as 0 or 1, and back (any x but 0 is set) |
| `Mb2 mb2_mb(Mb mask)` | a mask at another width, e.g. `m64_m32` |
| `int any_mb(Mb mask)`, `int all_mb(Mb mask)` | 0 or 1 |
| `S product_e(V x)`; of integers `S sum_e(V x)`, `S min_e(V x)`, `S max_e(V x)` | over the lanes, in pairs |
| `V total_f(V x)`, `V least_f(V x)`, `V greatest_f(V x)` | of f32, f64, in all lanes; `total` alone may see a NaN |

## Conversions
| signature | what it does |
| --- | --- |
| `V2 convert_e_e2(V x)` | every e to every other e2, as torch's `.to` on this machine |
| `f32v round_f16(f32v x)`, `f32v round_bf16(f32v x)` | to what that type can hold, and back |

## Functions of f32 and f64: `V function_e(V x)`; masks are m32 or m64
`exp exp2 expm1 log log2 log10 log1p tanh sigmoid erf erfc sin cos tan asin acos atan sinh cosh asinh acosh atanh lgamma
sqrt rsqrt reciprocal floor ceil trunc round abs sign`; of two: `pow atan2 fmod remainder copysign minimum maximum
fmin fmax floor_divide`; of three: `fma`; to a mask: `isnan isinf`.
`round` is half to even; `minimum maximum` pass a NaN on, `fmin fmax` drop it; `remainder` and `floor_divide` as Python.
An accumulator is the second argument of `minimum maximum`: the first is what is tested for NaN.

## Functions of integers: `V function_e(V x, V y)`
`minimum maximum floor_divide divide remainder fmod shift_left shift_right`; of one: `abs sign`.
`divide` and `fmod` truncate. Torch raises at a zero divisor; here the quotient is 0 and the remainder x, so a kernel is
for divisors that are known not to be 0. The least integer by -1 wraps. Shifts by more than the width, or below 0, give
0, and for `shift_right` the sign, as in torch.

## Accuracy
The functions of f32 are within 1.5 units in the last place (docs/reference/vector.md), those of f64 where it was tried;
bit for bit the same on every set of instructions. Left aside what the mathematical library computes lane by lane: tan,
asin, acos, atan, sinh, cosh, asinh, acosh, atanh, erfc, lgamma, pow, atan2, fmod.
"""

from backends.cpu.vector.catalogue import source
from backends.cpu.vector.machine import AVX2, AVX512, NEON, PLAIN, InstructionSet, instruction_set, lanes_for

__all__ = ["AVX2", "AVX512", "NEON", "PLAIN", "InstructionSet", "instruction_set", "lanes_for", "source"]
