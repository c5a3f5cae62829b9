/* ------------------------------------------------------------------ Program: kernels with their sizes and outputs */

/* Fills in the numbers of a program from its arguments; 0 where it is not for them. */
typedef int (*Plan)(const Tensor *const *tensors, const int64_t *integers, int64_t *numbers);

/* What a tensor argument must be; for a constant, sizes and strides behind each other as well. */
typedef struct {
    int code, bits, packed; /* packed is 0, 1, or -1 for either */
    int32_t rank;
    const int64_t *layout;
} Expected;

/* An output: memory of its own, an argument as it is, an output before it, a fixed object, or one of the numbers. */
typedef enum { MADE, GIVEN, AGAIN, FIXED, NUMBER } Source;
typedef struct {
    Source source;
    PyObject *object;  /* the dtype of what is made, the fixed object */
    int32_t rank;
    Py_ssize_t place;  /* the argument or the output, or the first of the numbers: sizes, then strides */
} Output;

typedef enum { ALONE, TUPLE, LIST, BUILT } Structure;

typedef struct {
    Owner owner;
    Plan plan;
    Function run;
    Py_ssize_t tensors, integers, constants, outputs, made, scratch, numbers;
    Py_ssize_t first_scratch; /* of the numbers: how many bytes */
    int threads;              /* whether torch's number of threads is one more integer */
    Expected *expected;       /* of the arguments, then of the constants */
    PyObject **constant;
    Output *output;
    Structure structure;
    PyObject *build;
} Program;

/* What one call works on. */
typedef struct {
    int64_t *numbers;
    void **buffers;
    PyObject **results;
    void *scratch;
} Call;

static inline int is_expected(const Expected *expected, const Tensor *tensor, int packed) {
    if (tensor->dtype.code != expected->code || tensor->dtype.bits != expected->bits || tensor->rank != expected->rank)
        return 0;
    if (expected->packed >= 0 && packed != expected->packed) return 0;
    size_t bytes = (size_t)tensor->rank * sizeof(int64_t);
    return !expected->layout || (!memcmp(tensor->sizes, expected->layout, bytes) &&
                                 !memcmp(tensor->strides, expected->layout + tensor->rank, bytes));
}

static PyObject *tuple_of(const int64_t *values, Py_ssize_t count) {
    PyObject *made = PyTuple_New(count);
    for (Py_ssize_t place = 0; made && place < count; place++) {
        PyObject *value = PyLong_FromLongLong(values[place]);
        if (!value) Py_CLEAR(made);
        else PyTuple_SET_ITEM(made, place, value);
    }
    return made;
}

/* A new tensor, by the one of torch's functions that takes the least time. */
static PyObject *allocated(const Output *output, const int64_t *numbers) {
    PyObject *sizes = tuple_of(numbers + output->place, output->rank);
    PyObject *strides = tuple_of(numbers + output->place + output->rank, output->rank);
    PyObject *args = sizes && strides ? PyTuple_Pack(3, sizes, strides, output->object) : NULL;
    Py_XDECREF(sizes);
    Py_XDECREF(strides);
    if (!args) return NULL;
    PyObject *made = PyCFunction_GET_FUNCTION(torch.empty_strided)(PyCFunction_GET_SELF(torch.empty_strided), args);
    Py_DECREF(args);
    return made;
}

/* Memory for the temporaries in one piece, each at the start of a cache line. -1 with an exception. */
static int reserve(const Program *program, Call *call, int64_t *work) {
    enum { LINE = 64 };
    void **buffers = call->buffers + program->tensors + program->constants + program->made;
    const int64_t *bytes = call->numbers + program->first_scratch;
    int64_t total = 0;
    for (Py_ssize_t place = 0; place < program->scratch; place++) {
        int64_t rounded;
        if (bytes[place] < 0 || __builtin_add_overflow(bytes[place], LINE - 1, &rounded) ||
            __builtin_add_overflow(total, rounded & -LINE, &total)) {
            PyErr_NoMemory();
            return -1;
        }
    }
    if (posix_memalign(&call->scratch, LINE, total ? (size_t)total : LINE)) {
        call->scratch = NULL;
        PyErr_NoMemory();
        return -1;
    }
    char *next = call->scratch;
    for (Py_ssize_t place = 0; place < program->scratch; place++) {
        buffers[place] = next;
        next += (bytes[place] + LINE - 1) & -LINE;
    }
    if (total > *work) *work = total;
    return 0;
}

static PyObject *structured(const Program *program, PyObject **results) {
    Py_ssize_t count = program->outputs;
    PyObject *made;
    if (program->structure == ALONE) return Py_NewRef(results[0]);
    if (program->structure == TUPLE) made = PyTuple_New(count);
    else made = PyList_New(count);
    for (Py_ssize_t place = 0; made && place < count; place++) {
        if (program->structure == TUPLE) PyTuple_SET_ITEM(made, place, Py_NewRef(results[place]));
        else PyList_SET_ITEM(made, place, Py_NewRef(results[place]));
    }
    if (!made || program->structure != BUILT) return made;
    PyObject *built = PyObject_CallOneArg(program->build, made);
    Py_DECREF(made);
    return built;
}

static PyObject *perform(const Program *program, Call *call, const Tensor *const *tensors, PyObject *const *objects,
                         int64_t *integers, int64_t work) {
    void **buffer = call->buffers;
    for (Py_ssize_t place = 0; place < program->tensors; place++) *buffer++ = tensors[place]->data;
    for (Py_ssize_t place = 0; place < program->constants; place++) {
        Tensor tensor;
        int64_t elements;
        int packed;
        /* a constant that has become something else since */
        if (!read_exact(program->constant[place], &tensor, &elements, &packed) ||
            !is_expected(&program->expected[program->tensors + place], &tensor, packed))
            return Py_NewRef(Py_NotImplemented);
        *buffer++ = tensor.data;
        if (elements > work) work = elements;
    }
    if (program->threads) {
        PyObject *threads = ask(&torch.threads);
        if (!threads) return NULL;
        integers[program->integers] = PyLong_AsLongLong(threads);
        Py_DECREF(threads);
    }
    if (!program->plan(tensors, integers, call->numbers)) return Py_NewRef(Py_NotImplemented);
    for (Py_ssize_t place = 0; place < program->outputs; place++) {
        const Output *output = &program->output[place];
        if (output->source == MADE) {
            PyObject *made = call->results[place] = allocated(output, call->numbers);
            Tensor tensor;
            int64_t elements;
            int packed;
            if (!made) return NULL;
            if (!is_exact(made) || !read_exact(made, &tensor, &elements, &packed)) {
                PyErr_SetString(PyExc_RuntimeError, "torch made a tensor without memory");
                return NULL;
            }
            *buffer++ = tensor.data;
            if (elements > work) work = elements;
        } else if (output->source == NUMBER) {
            if (!(call->results[place] = PyLong_FromLongLong(call->numbers[output->place]))) return NULL;
        } else {
            call->results[place] = Py_NewRef(output->source == GIVEN ? objects[output->place]
                                             : output->source == AGAIN ? call->results[output->place] : output->object);
        }
    }
    if (program->scratch && reserve(program, call, &work)) return NULL;
    if (work < RELEASED_FROM) {
        program->run(call->buffers, call->numbers);
    } else {
        Py_BEGIN_ALLOW_THREADS
        program->run(call->buffers, call->numbers);
        Py_END_ALLOW_THREADS
    }
    return structured(program, call->results);
}

/* The result for arguments that have been read; NotImplemented where the program is not for them. There is room for
   one integer more. */
static PyObject *attempt(const Program *program, const Tensor *const *tensors, const int *packed,
                         PyObject *const *objects, int64_t *integers, int64_t work) {
    for (Py_ssize_t place = 0; place < program->tensors; place++)
        if (!is_expected(&program->expected[place], tensors[place], packed[place])) return Py_NewRef(Py_NotImplemented);
    Py_ssize_t count = program->tensors + program->constants + program->made + program->scratch;
    int64_t numbers[4 * ON_STACK];
    void *buffers[ON_STACK];
    PyObject *results[ON_STACK] = {NULL};
    Call call = {numbers, buffers, results, NULL};
    char *block = NULL;
    if (program->numbers > 4 * ON_STACK || count > ON_STACK || program->outputs > ON_STACK) {
        block = PyMem_Calloc((size_t)(program->numbers + count + program->outputs), 8);
        if (!block) return PyErr_NoMemory();
        call.numbers = (int64_t *)block;
        call.buffers = (void **)(block + 8 * program->numbers);
        call.results = (PyObject **)(block + 8 * (program->numbers + count));
    }
    PyObject *found = perform(program, &call, tensors, objects, integers, work);
    for (Py_ssize_t place = 0; place < program->outputs; place++) Py_XDECREF(call.results[place]);
    free(call.scratch);
    PyMem_Free(block);
    return found;
}

static PyObject *call_program(PyObject *self, PyObject *const *args, size_t flags, PyObject *keywords) {
    const Program *program = (const Program *)self;
    if (PyVectorcall_NARGS(flags) != program->tensors + program->integers || (keywords && PyTuple_GET_SIZE(keywords)))
        Py_RETURN_NOTIMPLEMENTED;
    Tensor tensors[ON_STACK], *tensor = tensors;
    const Tensor *pointers[ON_STACK], **pointer = pointers;
    int64_t integers[ON_STACK + 1], *integer = integers, work = 0;
    int packings[ON_STACK], *packed = packings;
    char *block = NULL;
    if (program->tensors > ON_STACK || program->integers > ON_STACK) {
        size_t each = sizeof *tensor + sizeof *pointer + sizeof *packed;
        block = PyMem_Malloc((size_t)(program->integers + 1) * sizeof *integer + (size_t)program->tensors * each);
        if (!block) return PyErr_NoMemory();
        integer = (int64_t *)block;
        tensor = (Tensor *)(integer + program->integers + 1);
        pointer = (const Tensor **)(tensor + program->tensors);
        packed = (int *)(pointer + program->tensors);
    }
    PyObject *found = NULL;
    for (Py_ssize_t place = 0; place < program->tensors; place++) {
        int64_t elements;
        pointer[place] = &tensor[place];
        if (!is_exact(args[place]) || !read_exact(args[place], &tensor[place], &elements, &packed[place])) goto refused;
        if (elements > work) work = elements;
    }
    for (Py_ssize_t place = 0; place < program->integers; place++) {
        PyObject *given = args[program->tensors + place];
        int overflow = 1;
        if (PyLong_CheckExact(given)) integer[place] = PyLong_AsLongLongAndOverflow(given, &overflow);
        if (overflow) goto refused;
    }
    found = attempt(program, pointer, packed, args, integer, work);
    PyMem_Free(block);
    return found;
refused:
    PyMem_Free(block);
    Py_RETURN_NOTIMPLEMENTED;
}

/* Program(plan, run, library, expected, integers, threads, constants, outputs, scratch, first_scratch, numbers,
           structure)
   expected: (code, bits, rank, packed) of each tensor; outputs: (source, object, rank, place);
   structure: None for one output alone, tuple, list, or what is called with a list. */
static PyObject *new_program(PyTypeObject *type, PyObject *args, PyObject *named) {
    unsigned long long plan, run;
    PyObject *library, *expected, *constants, *outputs, *structure;
    Py_ssize_t integers, scratch, first_scratch, numbers;
    int threads;
    if (named && PyDict_GET_SIZE(named)) return PyErr_Format(PyExc_TypeError, "a program is made by position");
    if (!PyArg_ParseTuple(args, "KKOO!npO!O!nnnO", &plan, &run, &library, &PyTuple_Type, &expected, &integers, &threads,
                          &PyTuple_Type, &constants, &PyTuple_Type, &outputs, &scratch, &first_scratch, &numbers,
                          &structure))
        return NULL;
    Py_ssize_t tensors = PyTuple_GET_SIZE(expected), fixed = PyTuple_GET_SIZE(constants);
    Py_ssize_t count = PyTuple_GET_SIZE(outputs), ranks = 0;
    if (!plan || !run || integers < 0 || integers > MOST || tensors > MOST || fixed > MOST || count > MOST ||
        scratch < 0 || scratch > MOST || numbers < 0 || numbers > 16 * MOST || first_scratch < 0 ||
        first_scratch + scratch > numbers || (structure == Py_None && count != 1))
        return PyErr_Format(PyExc_ValueError, "a program that cannot be");
    for (Py_ssize_t place = 0; place < fixed; place++) {
        Tensor tensor;
        int64_t elements;
        int packed;
        PyObject *constant = PyTuple_GET_ITEM(constants, place);
        if (!is_exact(constant) || !read_exact(constant, &tensor, &elements, &packed))
            return PyErr_Format(PyExc_TypeError, "constant %zd cannot be read by kernels", place);
        ranks += tensor.rank;
    }
    size_t bytes = (size_t)(tensors + fixed) * sizeof(Expected) + (size_t)count * sizeof(Output) +
                   (size_t)fixed * sizeof(PyObject *) + (size_t)ranks * 2 * sizeof(int64_t);
    Program *made = (Program *)new_owner(type, call_program, args, bytes);
    if (!made) return NULL;
    made->output = made->owner.block;
    made->constant = (PyObject **)(made->output + count);
    int64_t *layout = (int64_t *)(made->constant + fixed);
    made->expected = (Expected *)(layout + 2 * ranks);
    made->plan = (Plan)(uintptr_t)plan;
    made->run = (Function)(uintptr_t)run;
    made->tensors = tensors;
    made->integers = integers;
    made->threads = threads;
    made->constants = fixed;
    made->outputs = count;
    made->scratch = scratch;
    made->first_scratch = first_scratch;
    made->numbers = numbers;
    made->build = structure;
    made->structure = structure == Py_None ? ALONE : structure == (PyObject *)&PyTuple_Type ? TUPLE
                      : structure == (PyObject *)&PyList_Type ? LIST : BUILT;
    for (Py_ssize_t place = 0; place < tensors; place++) {
        Expected *each = &made->expected[place];
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(expected, place), "iiii", &each->code, &each->bits, &each->rank,
                              &each->packed))
            goto failed;
    }
    for (Py_ssize_t place = 0; place < fixed; place++) {
        Tensor tensor;
        int64_t elements;
        int packed;
        made->constant[place] = PyTuple_GET_ITEM(constants, place);
        if (!read_exact(made->constant[place], &tensor, &elements, &packed)) goto failed;
        size_t axes = (size_t)tensor.rank * sizeof(int64_t);
        memcpy(layout, tensor.sizes, axes);
        memcpy(layout + tensor.rank, tensor.strides, axes);
        made->expected[tensors + place] = (Expected){tensor.dtype.code, tensor.dtype.bits, packed, tensor.rank, layout};
        layout += 2 * tensor.rank;
    }
    for (Py_ssize_t place = 0; place < count; place++) {
        Output *each = &made->output[place];
        int source;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(outputs, place), "iOin", &source, &each->object, &each->rank, &each->place))
            goto failed;
        each->source = (Source)source;
        made->made += source == MADE;
        Py_ssize_t end = each->place + (source == MADE ? 2 * (Py_ssize_t)each->rank : 1);
        Py_ssize_t last = source == GIVEN ? tensors : source == AGAIN ? place : source == FIXED ? end : numbers;
        if (source < MADE || source > NUMBER || each->rank < 0 || each->place < 0 || end > last) {
            PyErr_Format(PyExc_ValueError, "output %zd is not in the program", place);
            goto failed;
        }
    }
    return (PyObject *)made;
failed:
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "a constant changed meanwhile");
    Py_DECREF(made);
    return NULL;
}

static PyType_Slot program_slots[] = {
    {Py_tp_doc, "Kernels with what is around them: tensors and then integers in, outputs out, or NotImplemented."},
    {Py_tp_new, new_program}, {Py_tp_call, PyVectorcall_Call}, {Py_tp_members, owner_members},
    {Py_tp_traverse, owner_traverse}, {Py_tp_clear, owner_clear}, {Py_tp_dealloc, owner_free}, {0, NULL}};
static PyType_Spec program_specification = {"backends.cpu.launcher.Program", sizeof(Program), 0, FLAGS, program_slots};

