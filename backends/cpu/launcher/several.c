/* ------------------------------------------------------------------ Kernels: a launch group, in one call */

/* A part: the indices of its tensors and numbers among the arguments. */
typedef struct {
    Function function;
    Interleaved interleaved; /* runs the group that starts here interleaved; NULL for none */
    const int32_t *tensor, *number;
    int32_t tensors, numbers, parts;
} Part;

typedef struct {
    Owner owner;
    Py_ssize_t tensors, numbers, parts;
    const Part *part;
} Kernels;

static void run_parts(const Kernels *kernels, void *const *pointers, const int64_t *numbers) {
    void *its_pointers[MOST_INTERLEAVED][ON_STACK];
    int64_t its_numbers[MOST_INTERLEAVED][ON_STACK];
    void *const *of_pointers[MOST_INTERLEAVED];
    const int64_t *of_numbers[MOST_INTERLEAVED];
    for (const Part *part = kernels->part, *end = part + kernels->parts; part < end; part += part->parts) {
        for (int32_t each = 0; each < part->parts; each++) {
            const Part *one = &part[each];
            for (int32_t place = 0; place < one->tensors; place++) its_pointers[each][place] = pointers[one->tensor[place]];
            for (int32_t place = 0; place < one->numbers; place++) its_numbers[each][place] = numbers[one->number[place]];
            of_pointers[each] = its_pointers[each];
            of_numbers[each] = its_numbers[each];
        }
        if (part->interleaved) part->interleaved(of_pointers, of_numbers);
        else part->function(its_pointers[0], its_numbers[0]);
    }
}

static PyObject *call_kernels(PyObject *self, PyObject *const *args, size_t flags, PyObject *keywords) {
    const Kernels *kernels = (const Kernels *)self;
    Py_ssize_t given = PyVectorcall_NARGS(flags);
    if (given != kernels->tensors + kernels->numbers || (keywords && PyTuple_GET_SIZE(keywords)))
        return PyErr_Format(PyExc_TypeError, "kernels of %zd tensors and %zd numbers, by position: %zd are given",
                            kernels->tensors, kernels->numbers, given);
    void *pointers[ON_STACK];
    int64_t numbers[ON_STACK];
    int64_t work = read_given(args, kernels->tensors, kernels->numbers, pointers, numbers);
    if (work < 0) return NULL;
    if (work < RELEASED_FROM) {
        run_parts(kernels, pointers, numbers);
    } else {
        Py_BEGIN_ALLOW_THREADS
        run_parts(kernels, pointers, numbers);
        Py_END_ALLOW_THREADS
    }
    Py_RETURN_NONE;
}

/* Runs twice: without a block it counts the bytes. -1 with an exception. */
static int fill_kernels(Kernels *made, PyObject *args, char *block, size_t *used) {
    PyObject *parts;
    if (!PyArg_ParseTuple(args, "O!nn", &PyTuple_Type, &parts, &made->tensors, &made->numbers)) return -1;
    if (made->tensors < 0 || made->numbers < 0 || made->tensors > ON_STACK || made->numbers > ON_STACK) {
        PyErr_Format(PyExc_ValueError, "kernels of %zd tensors and %zd numbers", made->tensors, made->numbers);
        return -1;
    }
    made->parts = PyTuple_GET_SIZE(parts);
    Part *part = take(block, used, (size_t)made->parts * sizeof *part);
    for (Py_ssize_t place = 0; place < made->parts; place++) {
        PyObject *kernel, *tensors, *numbers;
        Part each;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(parts, place), "O!OOi", kernel_type, &kernel, &tensors, &numbers, &each.parts))
            return -1;
        if (!(each.tensor = small_integers(tensors, made->tensors, block, used)) ||
            !(each.number = small_integers(numbers, made->numbers, block, used)))
            return -1;
        each.function = ((Kernel *)kernel)->function;
        each.interleaved = each.parts > 1 ? ((Kernel *)kernel)->interleaved : NULL;
        each.tensors = (int32_t)PyTuple_GET_SIZE(tensors);
        each.numbers = (int32_t)PyTuple_GET_SIZE(numbers);
        if (each.tensors != ((Kernel *)kernel)->tensors || each.numbers != ((Kernel *)kernel)->numbers ||
            each.tensors > ON_STACK || each.numbers > ON_STACK || !are_interleaved(kernel, each.parts, made->parts - place)) {
            PyErr_Format(PyExc_ValueError, "part %zd does not fit its kernel", place);
            return -1;
        }
        if (part) part[place] = each;
    }
    made->part = part;
    return 0;
}

/* Kernels(parts, tensors, numbers); a part is a kernel, its tensor indices, its number indices, and the length of the
   interleaved group from it on. */
static PyObject *new_kernels(PyTypeObject *type, PyObject *args, PyObject *named) {
    size_t used = 0;
    Kernels counted;
    if (named && PyDict_GET_SIZE(named)) return PyErr_Format(PyExc_TypeError, "kernels are combined by position");
    if (fill_kernels(&counted, args, NULL, &used)) return NULL;
    Kernels *made = (Kernels *)new_owner(type, call_kernels, args, used);
    if (!made) return NULL;
    used = 0;
    if (!fill_kernels(made, args, made->owner.block, &used)) return (PyObject *)made;
    Py_DECREF(made);
    return NULL;
}

static PyType_Slot kernels_slots[] = {
    {Py_tp_doc, "Kernels that run one after the other, as a function of all their tensors and then numbers."},
    {Py_tp_new, new_kernels}, {Py_tp_call, PyVectorcall_Call}, {Py_tp_members, owner_members},
    {Py_tp_traverse, owner_traverse}, {Py_tp_clear, owner_clear}, {Py_tp_dealloc, owner_free}, {0, NULL}};
static PyType_Spec kernels_specification = {"backends.cpu.launcher.Kernels", sizeof(Kernels), 0, FLAGS, kernels_slots};

