/* ------------------------------------------------------------------ Kernel: a compiled function of tensors and numbers */

typedef struct {
    Owner owner;
    Function function;
    Py_ssize_t tensors, numbers;
    Interleaved interleaved; /* runs it interleaved with the kernels after it; NULL for none */
    Py_ssize_t kernels; /* the length of that group, itself included */
    const char *plain;  /* by tensor: whether its memory is known to hold its values */
} Kernel;

/* Unpack a kernel's arguments: data pointers and numbers; returns the largest element count, -1 with an exception. */
static int64_t read_given(PyObject *const *args, const char *plain, Py_ssize_t tensors, Py_ssize_t count, void **pointers,
                          int64_t *numbers) {
    int64_t work = 0;
    int watched = -1;
    for (Py_ssize_t place = 0; place < tensors; place++) {
        int64_t elements;
        if (read_tensor(args[place], plain[place], &watched, &pointers[place], &elements)) return -1;
        work = elements > work ? elements : work;
    }
    for (Py_ssize_t place = 0; place < count; place++)
        if (read_number(args[tensors + place], &numbers[place])) return -1;
    return work;
}

static int run_kernel(Kernel *kernel, PyObject *const *args, void **pointers, int64_t *numbers) {
    int64_t work = read_given(args, kernel->plain, kernel->tensors, kernel->numbers, pointers, numbers);
    if (work < 0) return -1;
    RUN(work, kernel->function(pointers, numbers))
    return 0;
}

static PyObject *call_kernel(PyObject *self, PyObject *const *args, size_t flags, PyObject *keywords) {
    Kernel *kernel = (Kernel *)self;
    Py_ssize_t given = PyVectorcall_NARGS(flags);
    if (given != kernel->tensors + kernel->numbers || (keywords && PyTuple_GET_SIZE(keywords)))
        return PyErr_Format(PyExc_TypeError, "a kernel of %zd tensors and %zd numbers, by position: %zd are given",
                            kernel->tensors, kernel->numbers, given);
    int failed;
    if (kernel->tensors <= ON_STACK && kernel->numbers <= ON_STACK) {
        void *pointers[ON_STACK];
        int64_t numbers[ON_STACK];
        failed = run_kernel(kernel, args, pointers, numbers);
    } else {
        int64_t *numbers = PyMem_Malloc((size_t)given * sizeof(int64_t));
        if (!numbers) return PyErr_NoMemory();
        failed = run_kernel(kernel, args, (void **)(numbers + kernel->numbers), numbers);
        PyMem_Free(numbers);
    }
    if (failed) return NULL;
    Py_RETURN_NONE;
}

static PyObject *new_kernel(PyTypeObject *type, PyObject *args, PyObject *named) {
    static char *names[] = {"address", "tensors", "numbers", "library", "interleaved", "kernels", "plain", NULL};
    unsigned long long address, interleaved = 0;
    Py_ssize_t tensors, numbers, kernels = 1;
    PyObject *library = Py_None, *plain = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, named, "Knn|OKnO!", names, &address, &tensors, &numbers, &library, &interleaved,
                                     &kernels, &PyTuple_Type, &plain))
        return NULL;
    if (!address || tensors < 0 || numbers < 0 || tensors > MOST || numbers > MOST || (kernels != 1) != (interleaved != 0))
        return PyErr_Format(PyExc_ValueError, "a kernel at %llu of %zd tensors and %zd numbers", address, tensors, numbers);
    Kernel *kernel = (Kernel *)new_owner(type, call_kernel, library, (size_t)tensors);
    if (!kernel) return NULL;
    kernel->plain = kernel->owner.block;
    for (Py_ssize_t place = 0; plain && place < PyTuple_GET_SIZE(plain); place++) {
        Py_ssize_t each = PyLong_AsSsize_t(PyTuple_GET_ITEM(plain, place));
        if (each < 0 || each >= tensors) {
            Py_DECREF(kernel);
            return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_ValueError, "there is no tensor %zd", each);
        }
        ((char *)kernel->owner.block)[each] = 1;
    }
    kernel->function = (Function)(uintptr_t)address;
    kernel->tensors = tensors;
    kernel->numbers = numbers;
    kernel->interleaved = (Interleaved)(uintptr_t)interleaved;
    kernel->kernels = kernels;
    return (PyObject *)kernel;
}

static PyMemberDef kernel_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Owner, call), READONLY, NULL},
    {"tensors", T_PYSSIZET, offsetof(Kernel, tensors), READONLY, "How many tensors it takes."},
    {"numbers", T_PYSSIZET, offsetof(Kernel, numbers), READONLY, "How many numbers it takes behind them."},
    {"kernels", T_PYSSIZET, offsetof(Kernel, kernels), READONLY, "The length of the interleaved group that starts with it."},
    {NULL, 0, 0, 0, NULL}};
static PyTypeObject *kernel_type;
OWNER_TYPE(kernel, Kernel, owner_free, kernel_members,
           "A compiled kernel as a function of tensors and then numbers.");

