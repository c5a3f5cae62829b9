/* Functions of integers, a template for each type: $v are vectors of $s, $m their masks. */

INLINE $v minimum_$e($v a, $v b)
{
    return select_$e(a < b, a, b);
}

INLINE $v maximum_$e($v a, $v b)
{
    return select_$e(a > b, a, b);
}

INLINE $v sign_$e($v x)
{
    return ($v)(x < 0) - ($v)(x > 0);
}

INLINE $v abs_$e($v x)
{
    return select_$e(x < 0, -x, x);
}

/* Division by 0 and the least integer by -1 would stop the process: the processor traps at both. */
INLINE $v divide_$e($v x, $v y)
{
    for (int i = 0; i < N; i++)
        x[i] = y[i] == 0 ? 0 : y[i] == ($s)-1 && ($s)-1 < 0 ? -x[i] : x[i] / y[i];
    return x;
}

INLINE $v fmod_$e($v x, $v y)
{
    return x - divide_$e(x, y) * y;
}

INLINE $v remainder_$e($v x, $v y)
{
    $v r = fmod_$e(x, y);
    return r + (y & ($v)((y != 0) & (r != 0) & ((r ^ y) < 0)));
}

INLINE $v floor_divide_$e($v x, $v y)
{
    $v q = divide_$e(x, y), r = x - q * y;
    return q + ($v)((y != 0) & (r != 0) & ((r ^ y) < 0));
}

INLINE $v shift_left_$e($v x, $v y)
{
    $m inside = ($u)y < $b;
    return select_$e(inside, x << select_$e(inside, y, ($v){0}), ($v){0});
}

INLINE $v shift_right_$e($v x, $v y)
{
    $m inside = ($u)y < $b;
    return select_$e(inside, x >> select_$e(inside, y, ($v){0}), ($v)(x < 0));
}
