/* ------------------------------------------------------------------ Operator: a function of torch, in C for some tensors */

/* Of each operand `OPERAND` numbers: its type of elements, its rank, its sizes and strides; or NO_TENSOR and the bits of a
   double. Without pointers, it is only told whether it is computed here, and results are described. */
enum { MOST_RANK = 4, OPERAND = 2 + 2 * MOST_RANK, MOST_OPERANDS = 10, NO_TENSOR = -1 };
typedef int (*Direct)(void **pointers, int64_t *numbers, int64_t given);

typedef struct {
    Owner owner;
    Direct direct; /* 0 where torch should compute it */
    PyObject *otherwise, *names;
    Py_ssize_t results;
} Operator;

/* Read an argument; 0 where it is no number and no tensor that holds its values, without an exception. */
static int read_operand(PyObject *object, int watched, void **pointer, int64_t *numbers) {
    Tensor tensor;
    int64_t elements;
    int packed;
    if (PyFloat_CheckExact(object) || PyLong_CheckExact(object) || PyBool_Check(object)) {
        double value = PyFloat_AsDouble(object);
        if (PyErr_Occurred()) PyErr_Clear(), value = Py_NAN;
        numbers[0] = NO_TENSOR;
        memcpy(numbers + 1, &value, sizeof value);
        *pointer = NULL;
        return 1;
    }
    if (api_of(object) != torch.api || !read_array(torch.api, object, &tensor, &elements, &packed)) return 0;
    if (tensor.rank > MOST_RANK || !is_unmarked(torch.api, object, &tensor, watched)) return 0;
    *pointer = tensor.data;
    numbers[0] = tensor.dtype.code << 8 | tensor.dtype.bits;
    numbers[1] = tensor.rank;
    for (int32_t axis = 0; axis < tensor.rank; axis++) {
        numbers[2 + axis] = tensor.sizes[axis];
        numbers[2 + MOST_RANK + axis] = tensor.strides[axis];
    }
    return 1;
}

/* Uninitialized memory as a result was described, of the dtype of a tensor; NULL with an exception. */
static PyObject *made_like(PyObject *object, const int64_t *numbers, void **pointer) {
    Py_ssize_t rank = numbers[1];
    PyObject *layout[2] = {PyTuple_New(rank), PyTuple_New(rank)}, *made = NULL;
    PyObject *dtype = PyObject_GetAttr(object, torch.dtype);
    for (int of = 0; of < 2; of++)
        for (Py_ssize_t axis = 0; layout[of] && axis < rank; axis++) {
            PyObject *number = PyLong_FromLongLong(numbers[2 + of * MOST_RANK + axis]);
            if (!number) Py_CLEAR(layout[of]);
            else PyTuple_SET_ITEM(layout[of], axis, number);
        }
    if (layout[0] && layout[1] && dtype)
        made = PyObject_Vectorcall(torch.allocate, (PyObject *[]){layout[0], layout[1], dtype}, 3, NULL);
    Py_XDECREF(layout[0]);
    Py_XDECREF(layout[1]);
    Py_XDECREF(dtype);
    Tensor tensor;
    int64_t elements;
    int packed;
    if (made && (api_of(made) != torch.api || !read_array(torch.api, made, &tensor, &elements, &packed)))
        Py_SETREF(made, PyErr_Format(PyExc_RuntimeError, "a new %s has no memory on the CPU", Py_TYPE(made)->tp_name));
    if (made) *pointer = tensor.data;
    return made;
}

/* The results of an operator; NULL without an exception where torch should compute them. */
static PyObject *computed(const Operator *operator, PyObject *const *args, Py_ssize_t given) {
    void *pointers[MOST_OPERANDS] = {NULL};
    int64_t numbers[MOST_OPERANDS * OPERAND];
    PyObject *results[MOST_OPERANDS] = {NULL}, *found = NULL;
    if (given < 1 || given + operator->results > MOST_OPERANDS) return NULL;
    int watched = is_watched();
    for (Py_ssize_t place = 0; place < given; place++)
        if (!read_operand(args[place], watched, &pointers[place], &numbers[place * OPERAND])) return NULL;
    if (!operator->results) return operator->direct(pointers, numbers, given) ? Py_NewRef(args[given - 1]) : NULL;
    if (!operator->direct(NULL, numbers, given)) return NULL;
    for (Py_ssize_t place = 0; place < operator->results; place++)
        if (!(results[place] = made_like(args[0], &numbers[(given + place) * OPERAND], &pointers[given + place]))) goto failed;
    if (!operator->direct(pointers, numbers, given)) goto failed;
    if (operator->results == 1) return results[0];
    if ((found = PyTuple_New(operator->results))) {
        for (Py_ssize_t place = 0; place < operator->results; place++) PyTuple_SET_ITEM(found, place, results[place]);
        return found;
    }
failed:
    for (Py_ssize_t place = 0; place < operator->results; place++) Py_XDECREF(results[place]);
    return NULL;
}

static PyObject *call_operator(PyObject *self, PyObject *const *args, size_t flags, PyObject *keywords) {
    const Operator *operator = (const Operator *)self;
    Py_ssize_t named = keywords ? PyTuple_GET_SIZE(keywords) : 0;
    Py_ssize_t missing = PyTuple_GET_SIZE(operator->names) - named;
    int is_known = missing >= 0 && (named || !PyTuple_GET_SIZE(operator->names));
    for (Py_ssize_t place = 0; is_known && place < named; place++)
        is_known = !PyUnicode_Compare(PyTuple_GET_ITEM(keywords, place), PyTuple_GET_ITEM(operator->names, missing + place));
    PyObject *found = is_known ? computed(operator, args, PyVectorcall_NARGS(flags) + named) : NULL;
    if (found || PyErr_Occurred()) return found;
    return PyObject_Vectorcall(operator->otherwise, args, flags, keywords);
}

/* Operator(address, otherwise, names, results, library) */
static PyObject *new_operator(PyTypeObject *type, PyObject *args, PyObject *named) {
    unsigned long long address;
    PyObject *otherwise, *names, *library;
    Py_ssize_t results;
    if (!PyArg_ParseTuple(args, "KOO!nO", &address, &otherwise, &PyTuple_Type, &names, &results, &library)) return NULL;
    if (!address || results < 0 || results > MOST_OPERANDS)
        return PyErr_Format(PyExc_ValueError, "an operator at %llu with %zd results", address, results);
    for (Py_ssize_t place = 0; place < PyTuple_GET_SIZE(names); place++)
        if (!PyUnicode_Check(PyTuple_GET_ITEM(names, place))) return PyErr_Format(PyExc_TypeError, "a name is no string");
    Operator *made = (Operator *)new_owner(type, call_operator, args, 0);
    if (!made) return NULL;
    made->direct = (Direct)(uintptr_t)address;
    made->otherwise = otherwise;
    made->names = names;
    made->results = results;
    return (PyObject *)made;
}

static PyTypeObject *operator_type;
static PyMemberDef operator_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Owner, call), READONLY, NULL},
    {"names", T_OBJECT_EX, offsetof(Operator, names), READONLY, "The arguments given by name, of which the first may be missing."},
    {"results", T_PYSSIZET, offsetof(Operator, results), READONLY, "How many results it makes."},
    {NULL, 0, 0, 0, NULL}};
OWNER_TYPE(operator, Operator, owner_free, operator_members,
           "A function of torch, computed here where its tensors are plain and small.");

