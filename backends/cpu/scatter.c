/* Add rows to rows of a table: row i of `from` to the row `to[i]`; with `offsets`, all between two offsets take the row of
   their bag. A thread has a part of the table, so sums are in the same order whatever the number of threads. */
void add_rows(void *const *pointers, const int64_t *numbers)
{
    enum { ENOUGH = 1 << 15 }; /* additions for a thread */
    float *made = pointers[0];
    const float *from = pointers[1];
    const int64_t *to = pointers[2], *offsets = pointers[3];
    const int64_t table = numbers[0], width = numbers[1], count = numbers[2], bags = numbers[3], ignored = numbers[4];
    int64_t threads = numbers[5], most = (count + table) * width / ENOUGH;
    threads = threads < most ? threads : most;
    threads = threads < 1 ? 1 : threads;
#pragma omp parallel for num_threads(threads) schedule(static, 1) if(threads > 1)
    for (int64_t part = 0; part < threads; part++) {
        const int64_t begin = table * part / threads, end = table * (part + 1) / threads;
        for (int64_t place = begin * width; place < end * width; place++) made[place] = 0;
        for (int64_t bag = 0; bag < bags; bag++) {
            const int64_t first = offsets ? offsets[bag] : bag, last = offsets ? offsets[bag + 1] : bag + 1;
            const float *row = from + bag * width;
            for (int64_t i = first < 0 ? 0 : first; i < last && i < count; i++) {
                if (to[i] < begin || to[i] >= end || to[i] == ignored) continue;
                float *at = made + to[i] * width;
                int64_t d = 0;
                for (; d + N <= width; d += N) store_f32(at + d, load_f32(at + d, N) + load_f32(row + d, N), N);
                if (d < width) store_f32(at + d, load_f32(at + d, width - d) + load_f32(row + d, width - d), width - d);
            }
        }
    }
}
