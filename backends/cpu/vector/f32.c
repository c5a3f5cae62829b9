/* Functions of f32 alone: f16 and bf16 in memory, and a fused multiply-add where there is no instruction for it. */

INLINE f32v fma_f32(f32v a, f32v b, f32v c)
{
#ifdef __FP_FAST_FMAF
    for (int i = 0; i < N; i++)
        a[i] = __builtin_fmaf(a[i], b[i], c[i]);
    return a;
#endif
    return convert_f64_f32(convert_f32_f64(a) * convert_f32_f64(b) + convert_f32_f64(c));
}

INLINE f32v widen_bf16(i16v x)
{
    return (f32v)(convert_i16_i32(x) << 16);
}

INLINE i16v narrow_bf16(f32v x)
{
    u32v bits = (u32v)x, r = (bits + (0x7fff + ((bits >> 16) & 1))) >> 16;
    return convert_i32_i16(select_i32(x != x, splat_i32(0x7fc0), (i32v)r));
}

/* The bits of a half in the place of those of a float are too small by 2**112, also where the half is subnormal. */
INLINE f32v widen_f16(i16v x)
{
    u32v bits = (u32v)convert_i16_i32(x), size = (bits & 0x7fff) << 13;
    u32v r = (u32v)((f32v)size * 0x1p112f);
    r |= (u32v)(size >= 0x0f800000) & 0x7f800000;
    return (f32v)(r | ((bits & 0x8000) << 16));
}

/* Subnormal halves are rounded by the addition of 0.5, whose last bit is the least half. */
INLINE i16v narrow_f16(f32v x)
{
    u32v bits = (u32v)x, size = bits & 0x7fffffff;
    u32v normal = (size + (0xc8000fff + ((size >> 13) & 1))) >> 13;
    u32v small = (u32v)((f32v)size + 0.5f) - 0x3f000000;
    u32v r = (u32v)select_i32(size < 0x38800000, (i32v)small, (i32v)normal);
    r = (u32v)select_i32(size >= 0x477ff000, splat_i32(0x7c00), (i32v)r);
    r = (u32v)select_i32(x != x, splat_i32(0x7e00), (i32v)r);
    return convert_i32_i16((i32v)(r | ((bits >> 16) & 0x8000)));
}

INLINE f32v round_f16(f32v x)
{
    return widen_f16(narrow_f16(x));
}

INLINE f32v round_bf16(f32v x)
{
    return widen_bf16(narrow_bf16(x));
}

/* Of 16 numbers those at the last four bits of an index. */
INLINE f32v look_up_f32(const float *table, i32v index)
{
    f32v y;
    for (int i = 0; i < N; i++)
        y[i] = table[index[i] & 15];
    return y;
}

/* In pieces of equal length. */
INLINE f32v erf_f32(f32v x)
{
    f32v a = lesser_f32(splat_f32($erf_most), abs_f32(x));
    return copysign_f32(erf_pieces_f32(a, (i32v)fma_f32(a, splat_f32(3.9f), splat_f32($shifter))), x);
}

/* Beginning at 5/8, four pieces from each power of two to the next: short where the function bends. */
INLINE f32v tanh_f32(f32v x)
{
    f32v a = lesser_f32(splat_f32($tanh_most), abs_f32(x));
    return copysign_f32(tanh_pieces_f32(a, (i32v)(a + 0.625f) >> 21), x);
}
