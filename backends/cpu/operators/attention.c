/* softmax(query @ key.T * scale + mask) @ value of few float32, by batch, head, place and feature; causal, the query at a
   place sees the keys up to that place. Several heads of queries may have one of keys. */

typedef struct {
    const float *key, *value, *mask; /* no mask: NULL */
    int64_t key_step, value_step, mask_step, width;
    float scale;
} Rows;

/* One query: 0 if a score is not finite. The logarithm of the denominator goes into `logarithm`. Torch multiplies the
   values behind the `seen` by 0, so that a NaN there is one here. */
static int attend(float *out, float *logarithm, const float *query, const Rows *r, int64_t seen, int64_t keys)
{
    float scores[KEYS + N];
    for (int64_t j = 0; j < seen; j++) {
        const float *key = r->key + j * r->key_step;
        f32v sum = splat_f32(0);
        int64_t e = 0;
        for (; e + N <= r->width; e += N) sum = fma_f32(load_f32(query + e, N), load_f32(key + e, N), sum);
        if (e < r->width) sum = fma_f32(load_f32(query + e, r->width - e), load_f32(key + e, r->width - e), sum);
        scores[j] = total_f32(sum)[0] * r->scale;
        if (r->mask) scores[j] += r->mask[j * r->mask_step];
        if (!(scores[j] - scores[j] == 0)) return 0;
    }
    store_f32(scores + seen, splat_f32(-__builtin_inff()), N);
    f32v most = load_f32(scores, N), total = splat_f32(0);
    for (int64_t j = N; j < seen; j += N) most = greater_f32(load_f32(scores + j, N), most);
    most = greatest_f32(most);
    int64_t weighed = 0;
    for (int64_t j = 0; j < seen; weighed = j += N) {
        f32v weight = exp_f32(load_f32(scores + j, N) - most);
        store_f32(scores + j, weight, N);
        total += weight;
    }
    for (; weighed < keys; weighed += N) store_f32(scores + weighed, splat_f32(0), N);
    total = total_f32(total);
    for (int64_t e = 0; e < r->width; e += N) {
        const int64_t n = r->width - e < N ? r->width - e : N;
        const float *value = r->value + e;
        f32v even = splat_f32(0), odd = splat_f32(0);
        int64_t j = 0;
        for (; j + 2 <= keys; j += 2) {
            even = fma_f32(broadcast_f32(scores + j), load_f32(value + j * r->value_step, n), even);
            odd = fma_f32(broadcast_f32(scores + j + 1), load_f32(value + (j + 1) * r->value_step, n), odd);
        }
        if (j < keys) even = fma_f32(broadcast_f32(scores + j), load_f32(value + j * r->value_step, n), even);
        store_f32(out + e, (even + odd) / total, n);
    }
    *logarithm = most[0] + log_f32(total)[0];
    return 1;
}

/* Of torch's arguments (query, key, value, dropout, is_causal; attn_mask, if there is one, and scale) as the launcher passes
   them; two results. */
int attention(void **pointers, int64_t *numbers, int64_t given)
{
    const int64_t *query = numbers, *key = query + OPERAND, *value = key + OPERAND, *more = value + OPERAND;
    if (given != 6 && given != 7) return 0;
    const int64_t *mask = given == 7 ? more + 2 * OPERAND : (const int64_t *)0;
    int64_t *out = numbers + given * OPERAND;
    for (int64_t place = 0; place < 3; place++) {
        const int64_t *each = numbers + place * OPERAND;
        if (each[0] != F32 || each[RANK] != 4 || each[STRIDE + 3] != 1) return 0;
        if (each[SIZE] != query[SIZE] || each[SIZE + 3] != query[SIZE + 3]) return 0;
    }
    const double dropout = number(more), is_causal = number(more + OPERAND), scale = number(more + (given - 4) * OPERAND);
    const int64_t batch = query[SIZE], heads = query[SIZE + 1], queries = query[SIZE + 2], width = query[SIZE + 3];
    const int64_t keys = key[SIZE + 2], most = MOST_ATTENTION;
    if (is_causal && queries > CAUSAL) return 0;
    if (dropout != 0 || !(is_causal == 0 || is_causal == 1) || !(scale - scale == 0)) return 0;
    if (key[SIZE + 1] < 1 || value[SIZE + 1] != key[SIZE + 1] || heads % key[SIZE + 1]) return 0;
    if (value[SIZE + 2] != keys || keys < 1 || keys > KEYS || width < 1) return 0;
    if (batch > most || heads > most || queries > most || width > most) return 0;
    if (batch * heads > most || batch * heads * queries > most || batch * heads * queries * keys * width > most) return 0;
    const int64_t by_place = heads * width, shared = heads / key[SIZE + 1], whole[] = {batch, heads, queries, keys};
    int64_t step[4] = {0};
    if (mask && (mask[0] != F32 || mask[RANK] != 4)) return 0;
    for (int64_t axis = 0; mask && axis < 4; axis++) {
        if (mask[SIZE + axis] != whole[axis] && mask[SIZE + axis] != 1) return 0;
        step[axis] = mask[SIZE + axis] == 1 ? 0 : mask[STRIDE + axis];
    }
    if (!pointers) {
        const int64_t described[] = {F32, 4, batch, heads, queries, width, queries * by_place, width, by_place, 1,
                                     F32, 3, batch, heads, queries, 0, queries * heads, 1, heads, 0};
        for (int64_t place = 0; place < 2 * OPERAND; place++) out[place] = described[place];
        return 1;
    }
    for (int64_t b = 0; b < batch; b++)
        for (int64_t h = 0; h < heads; h++) {
            const float *q = (const float *)pointers[0] + b * query[STRIDE] + h * query[STRIDE + 1];
            const int64_t kept = h / shared;
            Rows rows = {(const float *)pointers[1] + b * key[STRIDE] + kept * key[STRIDE + 1],
                         (const float *)pointers[2] + b * value[STRIDE] + kept * value[STRIDE + 1], 0,
                         key[STRIDE + 2], value[STRIDE + 2], step[3], width, (float)scale};
            for (int64_t i = 0; i < queries; i++) {
                const int64_t seen = is_causal && i + 1 < keys ? i + 1 : keys, place = b * queries + i;
                float *to = (float *)pointers[given] + place * by_place + h * width;
                if (mask) rows.mask = (const float *)pointers[5] + b * step[0] + h * step[1] + i * step[2];
                if (!attend(to, (float *)pointers[given + 1] + place * heads + h, q + i * query[STRIDE + 2], &rows, seen, keys))
                    return 0;
            }
        }
    return 1;
}
