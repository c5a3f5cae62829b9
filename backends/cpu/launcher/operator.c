/* ------------------------------------------------------------------ Operator: a function of torch, in C for some tensors */

/* Of each operand `OPERAND` numbers: its type of elements, its rank, its sizes and strides. */
enum { MOST_RANK = 4, OPERAND = 2 + 2 * MOST_RANK, MOST_OPERANDS = 6 };
typedef int (*Direct)(void *const *pointers, const int64_t *numbers, int64_t count);

typedef struct {
    Owner owner;
    Direct direct; /* 0 where torch should compute it, with nothing computed */
    PyObject *otherwise;
} Operator;

/* Read tensors that hold their values; 0 where one does not, without an exception. */
static int read_operands(PyObject *const *given, Py_ssize_t count, void **pointers, int64_t *numbers) {
    int watched = is_watched();
    for (Py_ssize_t place = 0; place < count; place++, numbers += OPERAND) {
        Tensor tensor;
        int64_t elements;
        int packed;
        if (api_of(given[place]) != torch.api || !read_array(torch.api, given[place], &tensor, &elements, &packed)) return 0;
        if (tensor.rank > MOST_RANK || !is_unmarked(torch.api, given[place], &tensor, watched)) return 0;
        pointers[place] = tensor.data;
        numbers[0] = tensor.dtype.code << 8 | tensor.dtype.bits;
        numbers[1] = tensor.rank;
        for (int32_t axis = 0; axis < tensor.rank; axis++) {
            numbers[2 + axis] = tensor.sizes[axis];
            numbers[2 + MOST_RANK + axis] = tensor.strides[axis];
        }
    }
    return 1;
}

static PyObject *call_operator(PyObject *self, PyObject *const *args, size_t flags, PyObject *keywords) {
    const Operator *operator = (const Operator *)self;
    Py_ssize_t named = keywords ? PyTuple_GET_SIZE(keywords) : 0, count = PyVectorcall_NARGS(flags) + named;
    void *pointers[MOST_OPERANDS];
    int64_t numbers[MOST_OPERANDS * OPERAND];
    if (named == 1 && count <= MOST_OPERANDS && PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(keywords, 0), "out") == 0 &&
        read_operands(args, count, pointers, numbers) && operator->direct(pointers, numbers, count))
        return Py_NewRef(args[count - 1]);
    return PyObject_Vectorcall(operator->otherwise, args, flags, keywords);
}

/* Operator(address, otherwise, library) */
static PyObject *new_operator(PyTypeObject *type, PyObject *args, PyObject *named) {
    unsigned long long address;
    PyObject *otherwise, *library;
    if (!PyArg_ParseTuple(args, "KOO", &address, &otherwise, &library)) return NULL;
    if (!address) return PyErr_Format(PyExc_ValueError, "an operator without an address");
    Operator *made = (Operator *)new_owner(type, call_operator, args, 0);
    if (!made) return NULL;
    made->direct = (Direct)(uintptr_t)address;
    made->otherwise = otherwise;
    return (PyObject *)made;
}

OWNER_TYPE(operator, Operator, owner_free, owner_members,
           "A function of torch with `out`, computed here where its tensors are plain and small.");

