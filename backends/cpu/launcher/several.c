/* ------------------------------------------------------------------ Kernels: a launch group, in one call */

typedef struct {
    Owner owner;
    Py_ssize_t tensors, given, numbers, launches;
    const Launch *launch;
    const char *plain;     /* by tensor: whether every kernel knows that its memory holds its values */
    const int32_t *number; /* of each launch after the other, the indices of its numbers among those given */
} Kernels;

static PyObject *call_kernels(PyObject *self, PyObject *const *args, size_t flags, PyObject *keywords) {
    const Kernels *kernels = (const Kernels *)self;
    Py_ssize_t given = PyVectorcall_NARGS(flags);
    if (given != kernels->tensors + kernels->given || (keywords && PyTuple_GET_SIZE(keywords)))
        return PyErr_Format(PyExc_TypeError, "kernels of %zd tensors and %zd numbers, by position: %zd are given",
                            kernels->tensors, kernels->given, given);
    void *pointers[ON_STACK];
    int64_t all[ON_STACK], numbers[ON_STACK * ON_STACK];
    int64_t work = read_given(args, kernels->plain, kernels->tensors, kernels->given, pointers, all);
    if (work < 0) return NULL;
    for (Py_ssize_t place = 0; place < kernels->numbers; place++) numbers[place] = all[kernels->number[place]];
    RUN(work, launch(kernels->launch, kernels->launches, pointers, numbers))
    Py_RETURN_NONE;
}

static int fill_kernels(void *self, PyObject *args, char *block, size_t *used) {
    Kernels *made = self;
    PyObject *launches, *numbers;
    if (!PyArg_ParseTuple(args, "O!O!nn", &PyTuple_Type, &launches, &PyTuple_Type, &numbers, &made->tensors, &made->given))
        return -1;
    made->launches = PyTuple_GET_SIZE(launches);
    made->numbers = PyTuple_GET_SIZE(numbers);
    if (made->tensors < 0 || made->given < 0 || made->tensors > ON_STACK || made->given > ON_STACK ||
        made->numbers > ON_STACK * ON_STACK) {
        PyErr_Format(PyExc_ValueError, "kernels of %zd tensors and %zd numbers", made->tensors, made->given);
        return -1;
    }
    made->launch = fill_launches(launches, made->tensors, made->numbers, block, used);
    char *plain = take(block, used, (size_t)made->tensors);
    if (plain) memset(plain, 1, (size_t)made->tensors);
    for (Py_ssize_t place = 0; plain && made->launch && place < made->launches; place++) {
        const Kernel *kernel = (const Kernel *)PyTuple_GET_ITEM(PyTuple_GET_ITEM(launches, place), 0);
        for (int32_t tensor = 0; tensor < made->launch[place].tensors; tensor++)
            plain[made->launch[place].buffers[tensor]] &= kernel->plain[tensor];
    }
    made->plain = plain;
    made->number = made->launch ? small_integers(numbers, made->given, block, used) : NULL;
    return made->number ? 0 : -1;
}

/* Kernels(launches, numbers, tensors, given): `launches` as those of a program, `numbers` the indices of theirs among
   those given. */
static PyObject *new_kernels(PyTypeObject *type, PyObject *args, PyObject *named) {
    return new_filled(type, args, named, call_kernels, fill_kernels);
}

OWNER_TYPE(kernels, Kernels, owner_free, owner_members,
           "Kernels that run one after the other, as a function of all their tensors and then numbers.");

