/* Rows of a matrix, of any elements, at indices that are int64; one result. */

int embedding(void **pointers, int64_t *numbers, int64_t given)
{
    const int64_t *matrix = numbers, *index = matrix + OPERAND, width = matrix[SIZE + 1];
    int64_t *out = numbers + 2 * OPERAND, count = 1, step;
    if (given != 2 || matrix[0] < 0 || matrix[RANK] != 2 || index[0] != I64 || index[RANK] > 3) return 0;
    if (matrix[STRIDE + 1] != 1 || width > MOST) return 0;
    for (int64_t axis = index[RANK]; axis-- > 0; count *= index[SIZE + axis]) {
        if (index[SIZE + axis] > MOST || count > MOST) return 0;
        if (index[STRIDE + axis] != count && index[SIZE + axis] != 1) return 0;
    }
    if (count * width > MOST) return 0;
    if (!pointers) {
        out[0] = matrix[0], out[RANK] = index[RANK] + 1;
        out[SIZE + index[RANK]] = width, out[STRIDE + index[RANK]] = 1;
        step = width > 0 ? width : 1;
        for (int64_t axis = index[RANK]; axis-- > 0; step *= out[SIZE + axis] > 0 ? out[SIZE + axis] : 1)
            out[SIZE + axis] = index[SIZE + axis], out[STRIDE + axis] = step;
        return 1;
    }
    const int64_t bytes = (matrix[0] & 255) / 8, *at = pointers[1];
    for (int64_t place = 0; place < count; place++) {
        if (at[place] < 0 || at[place] >= matrix[SIZE]) return 0;
        const char *row = (const char *)pointers[0] + at[place] * matrix[STRIDE] * bytes;
        __builtin_memcpy((char *)pointers[2] + place * width * bytes, row, (unsigned long)(width * bytes));
    }
    return 1;
}
