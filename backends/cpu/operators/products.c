/* out[i, j] = bias[j] + the sum over k of x[i, k] * w[k, j], of float32; numbers are the sizes and then the strides. */

typedef struct {
    float *out;
    const float *bias, *x, *w; /* no bias: NULL */
    int64_t rows, columns, depth, out_row, x_row, x_deep, w_deep, w_column;
} Product;

@BLOCKS@

/* Rows of w lie along the lanes. */
static void along_columns(const Product *p, int64_t row, int64_t rows)
{
    int64_t j = 0;
    for (; j + 4 * N <= p->columns; j += 4 * N)
        rows == ROWS ? columns_many_4(p, row, j, N) : columns_1_4(p, row, j, N);
    for (; j < p->columns; j += N) {
        int64_t n = p->columns - j < N ? p->columns - j : N;
        rows == ROWS ? columns_many_1(p, row, j, n) : columns_1_1(p, row, j, n);
    }
}

/* Rows of x and columns of w lie along the lanes, and each sum is over these. */
static void along_depth(const Product *p, int64_t row, int64_t rows)
{
    int64_t j = 0;
    for (; j + 4 <= p->columns; j += 4) rows == ROWS ? depth_many_4(p, row, j) : depth_1_4(p, row, j);
    for (; j < p->columns; j++) rows == ROWS ? depth_many_1(p, row, j) : depth_1_1(p, row, j);
}

/* Operands as the launcher passes them: bias, x, w and out, of which the first may be missing. 0 for those that torch
   should multiply. */
int product(void **pointers, int64_t *numbers, int64_t count)
{
    const int64_t *bias = count == 4 ? numbers : (const int64_t *)0;
    const int64_t *x = numbers + (count - 3) * OPERAND, *w = x + OPERAND, *out = w + OPERAND;
    for (int64_t place = 0; place < count; place++)
        if (numbers[place * OPERAND] != F32) return 0;
    if (x[RANK] != 2 || w[RANK] != 2 || out[RANK] != 2) return 0;
    Product made = {0, 0, 0, 0, x[SIZE], w[SIZE + 1], x[SIZE + 1], out[STRIDE], x[STRIDE], x[STRIDE + 1], w[STRIDE], w[STRIDE + 1]};
    const Product *p = &made;
    if (p->rows * p->columns * p->depth > MOST || p->rows > MOST || p->columns > MOST || p->depth > MOST) return 0;
    if (w[SIZE] != p->depth || out[SIZE] != p->rows || out[SIZE + 1] != p->columns) return 0;
    if (out[STRIDE + 1] != 1 && p->columns > 1) return 0;
    if (bias && (bias[RANK] != 1 || bias[SIZE] != p->columns || (bias[STRIDE] != 1 && p->columns > 1))) return 0;
    const int is_along = p->w_column == 1 || p->columns == 1;
    if (!is_along && (p->w_deep != 1 || p->x_deep != 1)) return 0;
    if (!pointers) return 1;
    made.out = pointers[count - 1], made.x = pointers[count - 3], made.w = pointers[count - 2];
    made.bias = bias ? pointers[0] : (void *)0;
    for (int64_t row = 0; row < p->rows;) {
        const int64_t rows = p->rows - row >= ROWS ? ROWS : 1;
        is_along ? along_columns(p, row, rows) : along_depth(p, row, rows);
        row += rows;
    }
    return 1;
}
