/* Functions of floats, a template for both widths: $v are vectors of $s, $m their masks, $u their bits. */

INLINE $v abs_$e($v x)
{
    return ($v)(($u)x & ~$sign);
}

INLINE $v copysign_$e($v x, $v y)
{
    return ($v)((($u)x & ~$sign) | (($u)y & $sign));
}

INLINE $m isnan_$e($v x)
{
    return x != x;
}

INLINE $m isinf_$e($v x)
{
    return abs_$e(x) == __builtin_inff();
}

/* Whether any lane is not a number from `least` to below `most`, both positive: compared as bits, so NaN is none. */
INLINE int any_outside_$e($v x, $s least, $s most)
{
    $u from = ($u)splat_$e(least), to = ($u)splat_$e(most);
    return any_from_u$b(($u)x - from, to - from);
}

INLINE $v sign_$e($v x)
{
    return convert_i${b}_$e((x < 0) - (x > 0));
}

INLINE $v reciprocal_$e($v x)
{
    return 1 / x;
}

INLINE $v rsqrt_$e($v x)
{
    return 1 / sqrt_$e(x);
}

/* The second one, if either is NaN. */
INLINE $v lesser_$e($v a, $v b)
{
    return select_$e(a < b, a, b);
}

INLINE $v greater_$e($v a, $v b)
{
    return select_$e(a > b, a, b);
}

/* Of two zeros the second, as torch has it. Only a is compared with itself: as an accumulator b is two operations away from
   the next step. */
INLINE $v minimum_$e($v a, $v b)
{
    return select_$e(a != a, a, lesser_$e(a, b));
}

INLINE $v maximum_$e($v a, $v b)
{
    return select_$e(a != a, a, greater_$e(a, b));
}

INLINE $v fmin_$e($v a, $v b)
{
    return select_$e(a != a, b, lesser_$e(b, a));
}

INLINE $v fmax_$e($v a, $v b)
{
    return select_$e(a != a, b, greater_$e(b, a));
}

/* NaN stays. */
INLINE $v clamped_$e($v x, $s least, $s most)
{
    return lesser_$e(splat_$e(most), greater_$e(splat_$e(least), x));
}

INLINE $v remainder_$e($v x, $v y)
{
    $v r = fmod_$e(x, y);
    return select_$e((r != 0) & ((r < 0) != (y < 0)), r + y, r);
}

/* As Python divides floats: from the exact remainder, so that rounding does not carry a quotient over the next integer. */
INLINE $v floor_divide_$e($v x, $v y)
{
    $v r = fmod_$e(x, y), q = (x - r) / y;
    q -= select_$e((r != 0) & ((r < 0) != (y < 0)), splat_$e(1), ($v){0});
    $v whole = floor_$e(q);
    whole += select_$e(q - whole > ($s)0.5, splat_$e(1), ($v){0});
    whole = select_$e(q == 0, copysign_$e(($v){0}, x / y), whole);
    return select_$e(y == 0, x / y, whole);
}

/* Above $whole every float is an integer; adding it rounds to the nearest even one. */
INLINE $v round_$e($v x)
{
    $v a = abs_$e(x), whole = (a + $whole) - $whole;
    return copysign_$e(select_$e(a < $whole, whole, a), x);
}

INLINE $v trunc_$e($v x)
{
    $v a = abs_$e(x), r = round_$e(a);
    return copysign_$e(select_$e(r > a, r - 1, r), x);
}

INLINE $v floor_$e($v x)
{
    $v r = round_$e(x);
    return select_$e(r > x, r - 1, r);
}

INLINE $v ceil_$e($v x)
{
    $v r = round_$e(x);
    return copysign_$e(select_$e(r < x, r + 1, r), x);
}

INLINE $v sqrt_$e($v x)
{
    for (int i = 0; i < N; i++)
        x[i] = __builtin_sqrt$f(x[i]);
    return x;
}

/* Small integers between the two types: a number added to the shifter is the last bits of the sum. */
INLINE $v small_$e($m i)
{
    return ($v)(i + $shifter_bits) - $shifter;
}

INLINE $m small_integer_$e($v k)
{
    return ($m)(k + $shifter) - $shifter_bits;
}

/* 2**k for the integers k at which it is a normal number. */
INLINE $v power_of_two_$e($v k)
{
    return ($v)((small_integer_$e(k) + $bias) << $mantissa);
}

/* x * 2**k for integers k between twice the least and twice the greatest exponent, rounded once. */
INLINE $v scale_$e($v x, $v k)
{
    $v half = floor_$e(k * ($s)0.5);
    return x * power_of_two_$e(half) * power_of_two_$e(k - half);
}

/* The integer that is nearest to x * factor; x * factor is small. */
INLINE $v nearest_$e($v x, $s factor)
{
    return fma_$e(x, splat_$e(factor), splat_$e($shifter)) - $shifter;
}

/* The same, and in *power 2**(that + more), a normal number: the sum's last bits are its exponent. */
INLINE $v nearest_power_$e($v x, $s factor, $s more, $v *power)
{
    const $s shifter = $shifter + $bias + more;
    $v shifted = fma_$e(x, splat_$e(factor), splat_$e(shifter));
    *power = ($v)(($u)shifted << $mantissa);
    return shifted - shifter;
}

/* exp(x) - 1 after Cody-Waite range reduction by k = x / ln 2: x - k ln 2 is exact in its first part. */
INLINE $v exp_rest_$e($v x, $v k)
{
    $v r = fma_$e(k, splat_$e(-($ln2_high)), x);
    r = fma_$e(k, splat_$e(-($ln2_low)), r);
    return fma_$e(r * r, exp_polynomial_$e(r), r);
}

INLINE $v exp_$e($v x)
{
    x = clamped_$e(x, $exp_least, $exp_most);
    $v k = nearest_$e(x, $log2_e);
    return scale_$e(1 + exp_rest_$e(x, k), k);
}

INLINE $v exp2_$e($v x)
{
    x = clamped_$e(x, $exp2_least, $exp2_most);
    $v k = nearest_$e(x, 1), r = x - k;
    return scale_$e(fma_$e(r, exp2_polynomial_$e(r), splat_$e(1)), k);
}

/* 2**k (1 + r + tail) - 1, by halves as 2**k may overflow where the result does not. Where the one is taken away an error
   in r counts twice, so what its rounding lost is kept. */
INLINE $v expm1_$e($v x)
{
    $v half, inside = clamped_$e(x, $expm1_least, $exp_most), k = nearest_power_$e(inside, $log2_e, -1, &half);
    $v high = fma_$e(k, splat_$e(-($ln2_high)), inside), low = splat_$e(-($ln2_low)), r = fma_$e(k, low, high);
    $v tail = fma_$e(r * r, exp_polynomial_$e(r), fma_$e(k, low, high - r));
    $v y = 2 * fma_$e(half, tail, fma_$e(half, r, half - ($s)0.5));
    return select_$e(abs_$e(x) < $tiny, x, y);
}

/* 1 / (1 + exp(-x)), both made smaller as exp overflows where its reciprocal is still a subnormal number. The quotient is
   mended by what the sum and the division lost: near a power of two an error in the divisor counts twice. */
INLINE $v sigmoid_$e($v x)
{
    const $s c = ($s)0x1p-64;
    x = clamped_$e(-x, -40, -($exp_least));
    $v power, k = nearest_power_$e(x, $log2_e, -64, &power), rest = exp_rest_$e(x, k);
    $v whole = power + c, d = fma_$e(power, rest, whole), q = c / d;
    $v lost = fma_$e(power, rest, whole - d) + (c - (whole - power));
    $v missing = fma_$e(-q, lost, fma_$e(-q, d, splat_$e(c)));
    return fma_$e(missing, q * ($s)0x1p64, q);
}

/* x = (1 + f) * 2**e with 1 + f between 2/3 and 4/3, for normal numbers above 0. */
INLINE $v fraction_$e($v x, $m *e)
{
    *e = (($m)x - $two_thirds_bits) >> $mantissa;
    return ($v)(($m)x - (*e << $mantissa)) - 1;
}

/* The same for all numbers above 0. */
INLINE $v any_fraction_$e($v x, $v *e)
{
    $m below = x < $least_normal, exponent;
    $v f = fraction_$e(select_$e(below, x * $up, x), &exponent);
    *e = small_$e(exponent) - select_$e(below, splat_$e($mantissa), ($v){0});
    return f;
}

/* A logarithm, where y is right but at 0, infinity, NaN and below 0. */
INLINE $v logarithm_$e($v x, $v y)
{
    $v inf = splat_$e(__builtin_inff()), otherwise = select_$e(x < 0, splat_$e(__builtin_nanf("")), x);
    return select_$e((x > 0) & (x < inf), y, select_$e(x == 0, -inf, otherwise));
}

/* log((1 + f) 2**e) + low */
INLINE $v log_of_fraction_$e($v f, $v e, $v low)
{
    $v y = fma_$e(f * f, log_polynomial_$e(f), fma_$e(e, splat_$e($ln2_low), low)) + f;
    return fma_$e(e, splat_$e($ln2_high), y);
}

COLD $v log_outside_$e($v x)
{
    $v e, f = any_fraction_$e(x, &e);
    return logarithm_$e(x, log_of_fraction_$e(f, e, ($v){0}));
}

INLINE $v log_$e($v x)
{
    if (__builtin_expect(any_outside_$e(x, $least_normal, __builtin_inff()), 0))
        return log_outside_$e(x);
    $m e;
    $v f = fraction_$e(x, &e);
    return log_of_fraction_$e(f, small_$e(e), ($v){0});
}

/* x where it is small; by fours, as 2**-e may be subnormal. */
COLD $v log1p_outside_$e($v x)
{
    $v sum = 1 + x, e = small_$e((($m)sum - $two_thirds_bits) >> $mantissa);
    $v down = power_of_two_$e(2 - e), quarter = x * ($s)0.25, rest = down * ($s)0.25 - 1;
    $v f = fma_$e(quarter, down, rest), lost = fma_$e(quarter, down, rest - f);
    $v y = logarithm_$e(sum, log_of_fraction_$e(f, e, lost - lost * f));
    return select_$e(abs_$e(x) < $tiny, x, y);
}

/* 1 + x is rounded; f = x * 2**-e + (2**-e - 1) is known with what its rounding loses. */
INLINE $v log1p_$e($v x)
{
    $v sum = 1 + x;
    if (__builtin_expect(any_outside_$e(sum, $least_normal, $inverse_most), 0))
        return log1p_outside_$e(x);
    $m e = (($m)sum - $two_thirds_bits) >> $mantissa;
    $v down = ($v)(($bias - e) << $mantissa), rest = down - 1;
    $v f = fma_$e(x, down, rest), lost = fma_$e(x, down, rest - f);
    return copysign_$e(log_of_fraction_$e(f, small_$e(e), lost - lost * f), x);
}

/* f / ln(base) in two parts, added to e * log(2) in two parts from the greatest on. */
INLINE $v log_in_base_$e($v e, $v whole, $v whole_low, $v f, $s base, $s base_low, $v rest)
{
    $v part = f * base, low = fma_$e(f, splat_$e(base), -part) + (f * base_low + whole_low);
    $v sum = whole + part, lost = part - (sum - whole);
    return sum + (lost + fma_$e(f * f, rest, low));
}

INLINE $v log2_$e($v x)
{
    $v e, f = any_fraction_$e(x, &e);
    return logarithm_$e(x, log_in_base_$e(e, e, ($v){0}, f, $log2_e, $log2_e_low, log2_polynomial_$e(f)));
}

INLINE $v log10_$e($v x)
{
    $v e, f = any_fraction_$e(x, &e), whole = e * $log10_2, low = fma_$e(e, splat_$e($log10_2), -whole) + e * $log10_2_low;
    return logarithm_$e(x, log_in_base_$e(e, whole, low, f, $log10_e, $log10_e_low, log10_polynomial_$e(f)));
}

/* The sine of x and `more` quarter turns, with the sign of `signs` if that is negative, for 0 <= x < turns_most: r is x
   without the nearest multiple of a quarter turn (Cody-Waite, in three parts); where that is an odd one, the cosine of r
   is wanted. */
INLINE $v sine_$e($v x, int more, $v signs)
{
    $v shifted = fma_$e(x, splat_$e($two_over_pi), splat_$e($shifter)), k = shifted - $shifter;
    $m quarters = ($m)shifted + more, odd = (quarters & 1) != 0;
    $v r = fma_$e(k, splat_$e(-($half_pi_1)), x);
    r = fma_$e(k, splat_$e(-($half_pi_3)), fma_$e(k, splat_$e(-($half_pi_2)), r));
    $v s = r * r, start = select_$e(odd, splat_$e(1), r), y = fma_$e(start, s * sin_or_cos_polynomial_$e(s, odd), start);
    return ($v)(($u)y ^ ((($u)quarters << ($b - 2) ^ ($u)signs) & $sign));
}

/* The lanes that are far from 0 by the mathematical library; the others as they are, so that no lane depends on another. */
COLD $v sin_far_$e($v x, $v y)
{
    for (int i = 0; i < N; i++)
        y[i] = __builtin_fabs$f(x[i]) >= $turns_most ? __builtin_sin$f(x[i]) : y[i];
    return y;
}

COLD $v cos_far_$e($v x, $v y)
{
    for (int i = 0; i < N; i++)
        y[i] = __builtin_fabs$f(x[i]) >= $turns_most ? __builtin_cos$f(x[i]) : y[i];
    return y;
}

INLINE $v sin_$e($v x)
{
    $v a = abs_$e(x), y = sine_$e(a, 0, x);
    return __builtin_expect(any_outside_$e(a, 0, $turns_most), 0) ? sin_far_$e(x, y) : y;
}

INLINE $v cos_$e($v x)
{
    $v a = abs_$e(x), y = sine_$e(a, 1, ($v){0});
    return __builtin_expect(any_outside_$e(a, 0, $turns_most), 0) ? cos_far_$e(x, y) : y;
}
