/* ------------------------------------------------------------------ Layouts: whether layouts are unchanged */

/* The metadata of a tensor, without its data pointer. */
typedef struct {
    DataType dtype;
    int32_t rank;
    PyObject *requires_grad; /* True and False are immortal */
    const int64_t *sizes;    /* then strides */
    Seen seen;
} Layout;

typedef struct {
    Owner owner;
    Py_ssize_t count;
    PyObject *const *tensor;
    Layout *layout;
} Layouts;

/* 0 for a tensor that kernels cannot read; no exception is set. */
static int read_layout(PyObject *object, Tensor *tensor, PyObject **requires_grad) {
    int64_t elements;
    int packed;
    if (!is_exact(object) || !read_exact(object, tensor, &elements, &packed)) return 0;
    *requires_grad = torch.requires_grad(object, torch.requires_grad_closure);
    if (!*requires_grad) {
        PyErr_Clear();
        return 0;
    }
    Py_DECREF(*requires_grad);
    return 1;
}

static int is_laid_out(PyObject *object, Layout *layout) {
    Tensor tensor;
    PyObject *requires_grad;
    if (is_as_seen(object, &layout->seen) && is_learned_as_seen(&layout->seen)) return 1;
    if (!read_layout(object, &tensor, &requires_grad)) return 0;
    size_t bytes = (size_t)layout->rank * sizeof(int64_t);
    if (requires_grad != layout->requires_grad || tensor.rank != layout->rank || tensor.dtype.code != layout->dtype.code ||
        tensor.dtype.bits != layout->dtype.bits || memcmp(tensor.sizes, layout->sizes, bytes) ||
        memcmp(tensor.strides, layout->sizes + layout->rank, bytes))
        return 0;
    look_at(object, &layout->seen, 1);
    return 1;
}

/* layouts(): whether sizes, strides, dtype, device and requires_grad of all of them are unchanged. */
static PyObject *call_layouts(PyObject *self, PyObject *const *args, size_t flags, PyObject *keywords) {
    Layouts *layouts = (Layouts *)self;
    if (PyVectorcall_NARGS(flags) || keywords) return PyErr_Format(PyExc_TypeError, "layouts are asked without arguments");
    for (Py_ssize_t place = 0; place < layouts->count; place++) {
        if (place + AHEAD < layouts->count) expect(layouts->tensor[place + AHEAD], &layouts->layout[place + AHEAD].seen);
        if (!is_laid_out(layouts->tensor[place], &layouts->layout[place])) Py_RETURN_FALSE;
    }
    Py_RETURN_TRUE;
}

static int fill_layouts(void *self, PyObject *args, char *block, size_t *used) {
    Layouts *made = self;
    PyObject *tensors;
    if (!PyArg_ParseTuple(args, "O!", &PyTuple_Type, &tensors)) return -1;
    made->count = PyTuple_GET_SIZE(tensors);
    made->tensor = ((PyTupleObject *)tensors)->ob_item;
    Layout *layout = take(block, used, (size_t)made->count * sizeof *layout);
    for (Py_ssize_t place = 0; place < made->count; place++) {
        Tensor tensor;
        PyObject *requires_grad;
        if (!read_layout(made->tensor[place], &tensor, &requires_grad)) {
            PyErr_Format(PyExc_ValueError, "number %zd is no tensor that kernels can read", place);
            return -1;
        }
        size_t bytes = (size_t)tensor.rank * sizeof(int64_t);
        int64_t *sizes = take(block, used, 2 * bytes);
        if (!layout) continue;
        layout[place] = (Layout){tensor.dtype, tensor.rank, requires_grad, sizes, {NULL}};
        memcpy(sizes, tensor.sizes, bytes);
        memcpy(sizes + tensor.rank, tensor.strides, bytes);
    }
    made->layout = layout;
    return 0;
}

/* Layouts(tensors): record their present layouts. */
static PyObject *new_layouts(PyTypeObject *type, PyObject *args, PyObject *named) {
    return new_filled(type, args, named, call_layouts, fill_layouts);
}

OWNER_TYPE(layouts, Layouts, owner_free, owner_members,
           "Whether tensors have the sizes, strides, dtype and need of a gradient that they had.");
