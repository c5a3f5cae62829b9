/* ------------------------------------------------------------------ Numbers: three-address code for guards and sizes */

/* Opcodes: first those that compute a value, then conditions that must hold. The
   operations are those of solver.terms.operations that have a C text, with equal results; Python emits the steps. */
typedef enum {
    SIZE, STRIDE, INTEGER_ARGUMENT, THREADS,       /* leaves: the argument a, its axis b */
    MULTIPLY_ADD, @OPERATIONS@, MUST, @COMPARISONS@, CODES
} Code;
typedef struct {
    int32_t code, target, a, b, c;
    int64_t factor;
} Step;

@ARITHMETIC@
/* 1; or 0 where a condition fails, or a value overflows 64 bits. */
static int compute(const Step *step, const Step *end, const Tensor *const *tensors, const int64_t *integers,
                   int64_t threads, int64_t *v) {
    for (; step < end; step++) {
        int64_t *to = &v[step->target], product;
        int32_t a = step->a, b = step->b, c = step->c;
        switch ((Code)step->code) {
            case SIZE: *to = tensors[a]->sizes[b]; break;
            case STRIDE: *to = tensors[a]->strides[b]; break;
            case INTEGER_ARGUMENT: *to = integers[a]; break;
            case THREADS: *to = threads; break;
            case MULTIPLY_ADD:
                if (__builtin_mul_overflow(v[b], step->factor, &product)) return 0;
                if (__builtin_add_overflow(v[a], product, to)) return 0;
                break;
@CASES@
            case MUST: if (!v[a]) return 0; break;
            case CODES: return 0;
        }
    }
    return 1;
python:
    return 0;
}

