/* ------------------------------------------------------------------ Numbers: three-address code for guards and sizes */

/* Opcodes: first those that compute a value, then conditions that must hold. The
   operations are those of shapes.guards.lowering, with equal results; Python emits the steps. */
typedef enum {
    SIZE, STRIDE, INTEGER_ARGUMENT, THREADS,       /* leaves: the argument a, its axis b */
    MULTIPLY_ADD, MULTIPLY, FLOOR_DIVIDE, REMAINDER, MAXIMUM, MINIMUM, ABSOLUTE, BIT_AND, POWER,
    AND, OR, IS_EQUAL, IS_UNEQUAL, IS_LESS, IS_AT_MOST, CHOOSE, MUST, MUST_EQUAL, MUST_DIFFER, MUST_LESS, MUST_AT_MOST,
    CODES
} Code;
typedef struct {
    int32_t code, target, a, b, c;
    int64_t factor;
} Step;

static inline int divided(int64_t n, int64_t d, int64_t *result) {
    if (d == 0) *result = 0;
    else if (d == -1) return __builtin_sub_overflow((int64_t)0, n, result);
    else *result = n / d - (n % d != 0 && (n ^ d) < 0);
    return 0;
}

static inline int64_t remainder_of(int64_t n, int64_t d) {
    if (d == 0) return n;
    if (d == -1) return 0;
    int64_t r = n % d;
    return r != 0 && (r ^ d) < 0 ? r + d : r;
}

static int power_of(int64_t base, int64_t exponent, int64_t *result) {
    *result = exponent >= 0;
    if (exponent <= 0) return 0;
    if (base == 0 || base == 1) *result = base;
    else if (base == -1) *result = exponent % 2 ? -1 : 1;
    /* any other base overflows 64 bits within 63 steps */
    else while (exponent--) if (__builtin_mul_overflow(*result, base, result)) return 1;
    return 0;
}

/* 1; or 0 where a condition fails, or a value overflows 64 bits. */
static int compute(const Step *step, const Step *end, const Tensor *const *tensors, const int64_t *integers,
                   int64_t threads, int64_t *v) {
    for (; step < end; step++) {
        int64_t *to = &v[step->target], product;
        int32_t a = step->a, b = step->b;
        switch ((Code)step->code) {
            case SIZE: *to = tensors[a]->sizes[b]; break;
            case STRIDE: *to = tensors[a]->strides[b]; break;
            case INTEGER_ARGUMENT: *to = integers[a]; break;
            case THREADS: *to = threads; break;
            case MULTIPLY_ADD:
                if (__builtin_mul_overflow(v[b], step->factor, &product)) return 0;
                if (__builtin_add_overflow(v[a], product, to)) return 0;
                break;
            case MULTIPLY: if (__builtin_mul_overflow(v[a], v[b], to)) return 0; break;
            case FLOOR_DIVIDE: if (divided(v[a], v[b], to)) return 0; break;
            case REMAINDER: *to = remainder_of(v[a], v[b]); break;
            case MAXIMUM: *to = v[a] > v[b] ? v[a] : v[b]; break;
            case MINIMUM: *to = v[a] < v[b] ? v[a] : v[b]; break;
            case ABSOLUTE:
                if (v[a] == INT64_MIN) return 0;
                *to = v[a] < 0 ? -v[a] : v[a];
                break;
            case BIT_AND: *to = v[a] & v[b]; break;
            case POWER: if (power_of(v[a], v[b], to)) return 0; break;
            case AND: *to = v[a] && v[b]; break;
            case OR: *to = v[a] || v[b]; break;
            case IS_EQUAL: *to = v[a] == v[b]; break;
            case IS_UNEQUAL: *to = v[a] != v[b]; break;
            case IS_LESS: *to = v[a] < v[b]; break;
            case IS_AT_MOST: *to = v[a] <= v[b]; break;
            case CHOOSE: *to = v[step->c] ? v[a] : v[b]; break;
            case MUST: if (!v[a]) return 0; break;
            case MUST_EQUAL: if (v[a] != v[b]) return 0; break;
            case MUST_DIFFER: if (v[a] == v[b]) return 0; break;
            case MUST_LESS: if (v[a] >= v[b]) return 0; break;
            case MUST_AT_MOST: if (v[a] > v[b]) return 0; break;
            case CODES: return 0;
        }
    }
    return 1;
}

