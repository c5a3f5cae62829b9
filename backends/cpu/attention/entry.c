/* Attention of the queries of a row from `start` to `stop`. */
static void rows(const Given *given, int64_t head, int64_t query, int64_t start, int64_t stop, int64_t key, int64_t keys)
{
    for (int64_t place = start, count; place < stop; place += count) {
        count = stop - place < 2 * N ? stop - place : 2 * N;
        if (count > N)
            block2(given, head, query + place, count, key, keys, place);
        else
            block1(given, head, query + place, count, key, keys, place);
    }
}

/* What queries without keys get. */
static void zeros(const Given *given, int64_t head, int64_t from, int64_t to)
{
    for (int64_t i = from; i < to; i++) {
        float *made = given->result + (i * given->heads + head) * given->value_width;
        for (int64_t d = 0; d < given->value_width; d++) made[d] = 0;
        if (given->logsumexp) given->logsumexp[i * given->heads + head] = 0;
    }
}

/* Whether offsets divide `count` elements in rows. */
static int divides(const int64_t *offsets, int64_t rows, int64_t count)
{
    for (int64_t row = 0; row < rows; row++)
        if (offsets[row + 1] < offsets[row]) return 0;
    return rows >= 0 && offsets[0] >= 0 && offsets[rows] <= count;
}

/* 0 with nothing computed if the offsets are none. */
int attention(void *const *pointers, const int64_t *numbers, float scale)
{
    enum { ENOUGH = 1 << 16 }; /* products for a thread */
    Given made = {pointers[0], pointers[6], pointers[1], pointers[2], pointers[3], numbers[4], numbers[3], numbers[5], scale};
    const int64_t *queries = pointers[4], *keys = pointers[5];
    const Given *given = &made;
    const int64_t count = numbers[0], query_count = numbers[1], key_count = numbers[2], heads = numbers[3];
    made.query_step = numbers[6], made.query_head = numbers[7], made.key_step = numbers[8], made.key_head = numbers[9];
    made.value_step = numbers[10], made.value_head = numbers[11], made.is_causal = numbers[12];
    int64_t longest = 0, work = 0, threads = numbers[13];
    if (!divides(queries, count, query_count) || !divides(keys, count, key_count)) return 0;
    for (int64_t row = 0; row < count; row++) {
        const int64_t length = queries[row + 1] - queries[row];
        if (length > longest) longest = length;
        work += length * (keys[row + 1] - keys[row]);
    }
    for (int64_t head = 0; head < heads; head++) {
        zeros(given, head, 0, queries[0]);
        zeros(given, head, queries[count], query_count);
    }
    const int64_t parts = (longest + PART - 1) / PART, tasks = count * heads * parts;
    work *= heads * given->width;
    if (threads > work / ENOUGH) threads = work / ENOUGH;
    if (threads < 1) threads = 1;
    const int64_t several = tasks / (8 * threads) + 1;
#pragma omp parallel for num_threads(threads) schedule(dynamic, several) if(threads > 1)
    for (int64_t task = 0; task < tasks; task++) {
        int64_t row = task / (heads * parts), head = task % heads, start = task / heads % parts * PART;
        const int64_t first = queries[row], length = queries[row + 1] - first;
        const int64_t stop = length < start + PART ? length : start + PART;
        if (keys[row] == keys[row + 1])
            zeros(given, head, first + start, first + stop);
        else
            rows(given, head, first, start, stop, keys[row], keys[row + 1] - keys[row]);
    }
    return 1;
}
