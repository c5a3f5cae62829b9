/* ------------------------------------------------------------------ Layouts: whether layouts are unchanged */

/* The metadata of a tensor, without its data pointer. */
typedef struct {
    DataType dtype;
    int32_t rank;
    int requires_grad;
    const int64_t *sizes; /* then strides */
} Layout;

typedef struct {
    Owner owner;
    Py_ssize_t count;
    PyObject *const *tensor;
    Layout *layout;
} Layouts;

/* 0 for a tensor that kernels cannot read; no exception is set. */
static int read_layout(PyObject *object, Tensor *tensor, int *requires_grad, int watched) {
    int64_t elements;
    int packed;
    if (!is_exact(object) || !read_array(torch.api, object, tensor, &elements, &packed)) return 0;
    *requires_grad = answers(object, REQUIRES_GRAD, watched);
    return *requires_grad >= 0;
}

static int is_laid_out(PyObject *object, const Layout *layout, int watched) {
    Tensor tensor;
    int requires_grad;
    if (!read_layout(object, &tensor, &requires_grad, watched)) return 0;
    size_t bytes = (size_t)layout->rank * sizeof(int64_t);
    return requires_grad == layout->requires_grad && tensor.rank == layout->rank &&
           tensor.dtype.code == layout->dtype.code && tensor.dtype.bits == layout->dtype.bits &&
           !memcmp(tensor.sizes, layout->sizes, bytes) && !memcmp(tensor.strides, layout->sizes + layout->rank, bytes);
}

/* layouts(): whether sizes, strides, dtype, device and requires_grad of all of them are unchanged. */
static PyObject *call_layouts(PyObject *self, PyObject *const *args, size_t flags, PyObject *keywords) {
    Layouts *layouts = (Layouts *)self;
    if (PyVectorcall_NARGS(flags) || keywords) return PyErr_Format(PyExc_TypeError, "layouts are asked without arguments");
    int watched = is_watched();
    for (Py_ssize_t place = 0; place < layouts->count; place++)
        if (!is_laid_out(layouts->tensor[place], &layouts->layout[place], watched)) Py_RETURN_FALSE;
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
        int requires_grad;
        if (!read_layout(made->tensor[place], &tensor, &requires_grad, is_watched())) {
            PyErr_Format(PyExc_ValueError, "number %zd is no tensor that kernels can read", place);
            return -1;
        }
        size_t bytes = (size_t)tensor.rank * sizeof(int64_t);
        int64_t *sizes = take(block, used, 2 * bytes);
        if (!layout) continue;
        layout[place] = (Layout){tensor.dtype, tensor.rank, requires_grad, sizes};
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
