/* Attention of rows: COUNT vectors of queries a time, once with 2 and once with 1 of them. ALSO(x) is x where there are 2,
   EACH(M) is M of each of TOGETHER numbers. */

/* Products of the queries along the lanes with keys, TOGETHER and then one a time. */
#define ZERO(k) f32v a##k = {0}; ALSO(f32v b##k = {0};)
#define ADD(k) { f32v x = broadcast_f32(at + k * step + e); a##k = fma_f32(q0, x, a##k); ALSO(b##k = fma_f32(q1, x, b##k);) }
#define KEEP(k) store_f32(made + k * COUNT * N, a##k, N); ALSO(store_f32(made + (k * COUNT + 1) * N, b##k, N);)
#define SCORES(TOGETHER, EACH) \
    for (; j + TOGETHER <= keys; j += TOGETHER, made += TOGETHER * COUNT * N) { \
        const float *at = key + j * step; \
        EACH(ZERO) \
        for (int64_t e = 0; e < width; e++) { \
            f32v q0 = load_f32(queries + e * COUNT * N, N); \
            ALSO(f32v q1 = load_f32(queries + (e * COUNT + 1) * N, N);) \
            EACH(ADD) \
        } \
        EACH(KEEP) \
    }
static void NAME(scores)(float *made, const float *queries, const float *key, int64_t step, int64_t keys, int64_t width)
{
    int64_t j = 0;
    SCORES(TOGETHER, EACH)
    SCORES(1, ONE)
}
#undef ZERO
#undef ADD
#undef KEEP
#undef SCORES

/* Scores become weights, exponentials of what they are less than the maximum; `old` is that of what was added up before.
   Causal, a query sees the keys up to `place`, its own. */
static void NAME(weights)(float *scores, int64_t keys, float *most, float *total, float *old, int64_t hidden_from, int32_t place)
{
    f32v m0 = load_f32(most, N), t0 = load_f32(total, N), last0 = m0;
    ALSO(f32v m1 = load_f32(most + N, N), t1 = load_f32(total + N, N), last1 = m1;)
    for (int64_t j = hidden_from; j < keys; j++) {
        i32v query = lane_i32() + place;
        float *at = scores + j * COUNT * N;
        store_f32(at, select_f32(query >= (int32_t)j, load_f32(at, N), splat_f32(-__builtin_inff())), N);
        ALSO(store_f32(at + N, select_f32(query + N >= (int32_t)j, load_f32(at + N, N), splat_f32(-__builtin_inff())), N);)
    }
    for (int64_t j = 0; j < keys; j++) {
        m0 = greater_f32(load_f32(scores + j * COUNT * N, N), m0);
        ALSO(m1 = greater_f32(load_f32(scores + (j * COUNT + 1) * N, N), m1);)
    }
    last0 = exp_f32(last0 - m0);
    t0 *= last0;
    ALSO(last1 = exp_f32(last1 - m1); t1 *= last1;)
    for (int64_t j = 0; j < keys; j++) {
        float *at = scores + j * COUNT * N;
        f32v x = exp_f32(load_f32(at, N) - m0);
        ALSO(f32v y = exp_f32(load_f32(at + N, N) - m1);)
        t0 += x;
        store_f32(at, x, N);
        ALSO(t1 += y; store_f32(at + N, y, N);)
    }
    store_f32(most, m0, N);
    store_f32(total, t0, N);
    store_f32(old, last0, N);
    ALSO(store_f32(most + N, m1, N); store_f32(total + N, t1, N); store_f32(old + N, last1, N);)
}

/* Attention of up to COUNT * N queries of a row, of which `place` is the first. */
static void NAME(block)(const Given *given, int64_t head, int64_t query, int64_t count, int64_t key, int64_t keys, int64_t place)
{
    float queries[WIDEST * COUNT * N], scores[KEYS * COUNT * N], sums[COUNT * N * WIDEST];
    float most[COUNT * N], total[COUNT * N], old[COUNT * N];
    const int64_t width = given->value_width, row = (width + N - 1) / N * N, far = (count + TOGETHER - 1) / TOGETHER * TOGETHER;
    for (int64_t part = 0; part < COUNT; part++) {
        for (int64_t e = 0; e < given->width; e += N)
            transposed(queries + (e * COUNT + part) * N, COUNT * N,
                       given->query + (query + part * N) * given->query_step + head * given->query_head + e,
                       given->query_step, count - part * N, given->width - e, given->scale);
        store_f32(most + part * N, splat_f32(-__builtin_inff()), N);
        store_f32(total + part * N, splat_f32(0), N);
    }
    if (given->is_causal && keys > place + count) keys = place + count;
    for (int64_t start = 0; start < keys; start += KEYS) {
        const int64_t these = keys - start < KEYS ? keys - start : KEYS;
        const float *its = given->key + (key + start) * given->key_step + head * given->key_head;
        NAME(scores)(scores, queries, its, given->key_step, these, given->width);
        int64_t hidden_from = given->is_causal ? place - start + 1 : these;
        if (hidden_from < 0) hidden_from = 0;
        NAME(weights)(scores, these, most, total, old, hidden_from, (int32_t)(place - start));
        its = given->value + (key + start) * given->value_step + head * given->value_head;
        values(sums, row, scores, COUNT * N, old, its, given->value_step, far, these, width, start == 0);
    }
    for (int64_t i = 0; i < count; i++) {
        float *made = given->result + ((query + i) * given->heads + head) * width, *sum = sums + i * row;
        const f32v factor = splat_f32(1 / total[i]);
        for (int64_t d = 0; d < width; d += N)
            store_f32(made + d, load_f32(sum + d, N) * factor, width - d < N ? width - d : N);
    }
    if (!given->logsumexp) return;
    for (int64_t part = 0; part < COUNT; part++)
        store_f32(most + part * N, load_f32(most + part * N, N) + log_f32(load_f32(total + part * N, N)), N);
    for (int64_t i = 0; i < count; i++) given->logsumexp[(query + i) * given->heads + head] = most[i];
}
