/* Functions of f64 alone. */

INLINE f64v fma_f64(f64v a, f64v b, f64v c)
{
    for (int i = 0; i < N; i++)
        a[i] = __builtin_fma(a[i], b[i], c[i]);
    return a;
}

/* 1 - exp of a polynomial where x is not small. */
INLINE f64v erf_f64(f64v x)
{
    f64v a = abs_f64(x), s = x * x, t = lesser_f64(splat_f64($erf_most), a);
    f64v near = fma_f64(a, erf_polynomial_f64(s), a);
    f64v q = -fma_f64(t, erf_far_polynomial_f64(t), t), power, k = nearest_power_f64(q, $log2_e, 0, &power);
    f64v far = 1 - (1 + exp_rest_f64(q, k)) * power;
    return copysign_f64(select_f64(a < ($s)0.92, near, far), x);
}

INLINE f64v tanh_f64(f64v x)
{
    f64v a = abs_f64(x), s = x * x, twice = 2 * lesser_f64(splat_f64($tanh_most), a), power;
    f64v k = nearest_power_f64(twice, $log2_e, 0, &power);
    f64v near = fma_f64(a * s, tanh_polynomial_f64(s), a);
    f64v far = 1 - 2 / fma_f64(power, exp_rest_f64(twice, k), power + 1);
    return copysign_f64(select_f64(a < 0.55, near, far), x);
}
