typedef struct {
    float *result, *logsumexp; /* the latter may be NULL */
    const float *query, *key, *value;
    int64_t width, heads, value_width;
    float scale;
    int64_t query_step, query_head, key_step, key_head, value_step, value_head, is_causal;
} Given;

/* Values of keys, weighted and added to what queries have, two vectors of features a time: `old` is the factor of what is
   there. `count` is a multiple of TOGETHER. */
#define START(k) \
    f32v a##k = {0}, b##k = {0}; \
    if (!is_first) { \
        const f32v factor = broadcast_f32(old + i + k); \
        a##k = load_f32(at + k * row, N) * factor; \
        if (two) b##k = load_f32(at + k * row + N, N) * factor; \
    }
#define ADD(k) { f32v x = broadcast_f32(weight + k); a##k = fma_f32(v, x, a##k); if (two) b##k = fma_f32(w, x, b##k); }
#define KEEP(k) store_f32(at + k * row, a##k, N); if (two) store_f32(at + k * row + N, b##k, N);
static inline __attribute__((always_inline)) void features(float *sums, int64_t row, const float *weights, int64_t step,
    const float *old, const float *value, int64_t value_step, int64_t count, int64_t keys, int64_t n, int is_first, int two)
{
    for (int64_t i = 0; i < count; i += TOGETHER) {
        float *at = sums + i * row;
        const float *weight = weights + i, *its = value;
        EACH(START)
        for (int64_t j = 0; j < keys; j++, weight += step, its += value_step) {
            f32v v = two ? load_f32(its, N) : load_f32(its, n), w = {0};
            if (two) w = load_f32(its + N, n - N);
            EACH(ADD)
        }
        EACH(KEEP)
    }
}
#undef START
#undef ADD
#undef KEEP
static void values(float *sums, int64_t row, const float *weights, int64_t step, const float *old, const float *value,
    int64_t value_step, int64_t count, int64_t keys, int64_t width, int is_first)
{
    for (int64_t d = 0; d < width; d += 2 * N) {
        int64_t n = width - d < 2 * N ? width - d : 2 * N;
        if (n > N)
            features(sums + d, row, weights, step, old, value + d, value_step, count, keys, n, is_first, 1);
        else
            features(sums + d, row, weights, step, old, value + d, value_step, count, keys, n, is_first, 0);
    }
}
