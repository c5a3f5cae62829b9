/* What is particular to f64. */

INLINE f64v fma_f64(f64v a, f64v b, f64v c)
{
    for (int i = 0; i < N; i++)
        a[i] = __builtin_fma(a[i], b[i], c[i]);
    return a;
}
