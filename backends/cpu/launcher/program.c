/* ------------------------------------------------------------------ Program: kernels with their sizes and outputs */

/* What a tensor argument must be; for a constant, sizes and strides behind each other as well. */
typedef struct {
    int code, bits, packed; /* packed is 0, 1, or -1 for either */
    int32_t rank;
    const int64_t *layout;
} Expected;

/* An output: memory of its own, an argument as it is, an output before it, a fixed object, or one of the numbers. */
typedef enum { MADE, GIVEN, AGAIN, FIXED, NUMBER, SOURCES } Source;
typedef struct {
    Source source;
    PyObject *object; /* the dtype of what is made, the fixed object */
    int32_t rank;
    Py_ssize_t place; /* the argument or the output, or the first of the numbers: sizes, then strides */
} Output;

/* A kernel with its buffers and numbers: buffers count arguments, constants, outputs that are made, temporaries. */
typedef struct {
    Function function;
    const int32_t *buffers;
    int32_t tensors, first_number;
} Launch;

typedef enum { ALONE, TUPLE, LIST, BUILT } Structure;

typedef struct {
    Owner owner;
    Py_ssize_t tensors, integers, constants, outputs, made, scratch, launches, steps, fixed, values, numbers, buffers;
    Py_ssize_t first_scratch; /* of the numbers: how many bytes */
    int threads;              /* whether torch's number of threads is needed */
    const Expected *expected; /* of the arguments, then of the constants */
    PyObject **constant;
    const Output *output;
    const Launch *launch;
    const Step *step;
    const int64_t *start;  /* the first values are fixed */
    const int32_t *number; /* which of the values are the numbers */
    Structure structure;
    PyObject *build;
} Program;

/* What one call works on. */
typedef struct {
    int64_t *values, *numbers;
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
        int64_t rounded, needed = bytes[place] > 0 ? bytes[place] : 0;
        if (__builtin_add_overflow(needed, LINE - 1, &rounded) ||
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
        next += bytes[place] > 0 ? (bytes[place] + LINE - 1) & -LINE : 0;
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

static void launch(const Program *program, const Call *call) {
    for (const Launch *each = program->launch; each < program->launch + program->launches; each++) {
        void *pointers[ON_STACK];
        for (int32_t place = 0; place < each->tensors; place++) pointers[place] = call->buffers[each->buffers[place]];
        each->function(pointers, call->numbers + each->first_number);
    }
}

/* The numbers of a call; 0 where the program is not for it, -1 with an exception. */
static int plan(const Program *program, Call *call, const Tensor *const *tensors, const int64_t *integers) {
    int64_t threads = 0;
    if (program->threads) {
        PyObject *count = ask(&torch.threads);
        if (!count) return -1;
        threads = PyLong_AsLongLong(count);
        Py_DECREF(count);
    }
    memcpy(call->values, program->start, (size_t)program->fixed * sizeof(int64_t));
    if (!compute(program->step, program->step + program->steps, tensors, integers, threads, call->values)) return 0;
    for (Py_ssize_t place = 0; place < program->numbers; place++)
        call->numbers[place] = call->values[program->number[place]];
    return 1;
}

static PyObject *perform(const Program *program, Call *call, const Tensor *const *tensors, PyObject *const *objects,
                         const int64_t *integers, int64_t work) {
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
    int planned = plan(program, call, tensors, integers);
    if (planned <= 0) return planned < 0 ? NULL : Py_NewRef(Py_NotImplemented);
    for (Py_ssize_t place = 0; place < program->outputs; place++) {
        const Output *output = &program->output[place];
        PyObject *made;
        switch (output->source) {
            case MADE: made = allocated(output, call->numbers); break;
            case GIVEN: made = Py_NewRef(objects[output->place]); break;
            case AGAIN: made = Py_NewRef(call->results[output->place]); break;
            case NUMBER: made = PyLong_FromLongLong(call->numbers[output->place]); break;
            default: made = Py_NewRef(output->object);
        }
        if (!(call->results[place] = made)) return NULL;
        if (output->source != MADE) continue;
        Tensor tensor;
        int64_t elements;
        int packed;
        if (!is_exact(made) || !read_exact(made, &tensor, &elements, &packed))
            return PyErr_Format(PyExc_RuntimeError, "torch made a tensor without memory");
        *buffer++ = tensor.data;
        if (elements > work) work = elements;
    }
    if (program->scratch && reserve(program, call, &work)) return NULL;
    if (work < RELEASED_FROM) {
        launch(program, call);
    } else {
        Py_BEGIN_ALLOW_THREADS
        launch(program, call);
        Py_END_ALLOW_THREADS
    }
    return structured(program, call->results);
}

/* The result for arguments that have been read; NotImplemented where the program is not for them. */
static PyObject *attempt(const Program *program, const Tensor *const *tensors, const int *packed,
                         PyObject *const *objects, const int64_t *integers, int64_t work) {
    for (Py_ssize_t place = 0; place < program->tensors; place++)
        if (!is_expected(&program->expected[place], tensors[place], packed[place])) return Py_NewRef(Py_NotImplemented);
    int64_t values[4 * ON_STACK], numbers[4 * ON_STACK];
    void *buffers[ON_STACK];
    PyObject *results[ON_STACK];
    Call call = {values, numbers, buffers, results, NULL};
    char *block = NULL;
    if (program->values > 4 * ON_STACK || program->numbers > 4 * ON_STACK || program->buffers > ON_STACK ||
        program->outputs > ON_STACK) {
        block = PyMem_Malloc(8 * (size_t)(program->values + program->numbers + program->buffers + program->outputs));
        if (!block) return PyErr_NoMemory();
        call.values = (int64_t *)block;
        call.numbers = call.values + program->values;
        call.buffers = (void **)(call.numbers + program->numbers);
        call.results = (PyObject **)(call.buffers + program->buffers);
    }
    memset(call.results, 0, (size_t)program->outputs * sizeof *call.results);
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
    int64_t integers[ON_STACK], *integer = integers, work = 0;
    int packings[ON_STACK], *packed = packings;
    char *block = NULL;
    if (program->tensors > ON_STACK || program->integers > ON_STACK) {
        size_t each = sizeof *tensor + sizeof *pointer + sizeof *packed;
        block = PyMem_Malloc((size_t)program->integers * sizeof *integer + (size_t)program->tensors * each);
        if (!block) return PyErr_NoMemory();
        integer = (int64_t *)block;
        tensor = (Tensor *)(integer + program->integers);
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

/* ------------------------------------------------------------------ making one */

/* A piece of the arrays of an object; the first time around they are only counted. */
static void *take(char *block, size_t *used, size_t bytes) {
    void *found = block ? block + *used : NULL;
    *used += (bytes + 7) & ~(size_t)7;
    return found;
}

/* A tuple of integers below a limit; NULL with an exception. */
static const int32_t *small_integers(PyObject *given, Py_ssize_t limit, char *block, size_t *used) {
    static const int32_t none;
    if (!PyTuple_CheckExact(given)) return (const int32_t *)PyErr_Format(PyExc_TypeError, "a tuple is needed");
    int32_t *found = take(block, used, (size_t)PyTuple_GET_SIZE(given) * sizeof *found);
    for (Py_ssize_t place = 0; place < PyTuple_GET_SIZE(given); place++) {
        long value = PyLong_AsLong(PyTuple_GET_ITEM(given, place));
        if (PyErr_Occurred()) return NULL;
        if (value < 0 || value >= limit)
            return (const int32_t *)PyErr_Format(PyExc_ValueError, "%ld is not among %zd", value, limit);
        if (found) found[place] = (int32_t)value;
    }
    return found ? found : &none;
}

static int fill_constant(Expected *expected, PyObject *constant, char *block, size_t *used) {
    Tensor tensor;
    int64_t elements;
    int packed;
    if (!is_exact(constant) || !read_exact(constant, &tensor, &elements, &packed)) {
        PyErr_SetString(PyExc_ValueError, "a constant is no tensor that kernels can read");
        return -1;
    }
    size_t axes = (size_t)tensor.rank * sizeof(int64_t);
    int64_t *layout = take(block, used, 2 * axes);
    if (!layout) return 0;
    memcpy(layout, tensor.sizes, axes);
    memcpy(layout + tensor.rank, tensor.strides, axes);
    *expected = (Expected){tensor.dtype.code, tensor.dtype.bits, packed, tensor.rank, layout};
    return 0;
}

static int is_step(const Program *program, const Step *step) {
    int leaf = step->code <= THREADS;
    int32_t values = (int32_t)program->values;
    if (step->code < 0 || step->code >= CODES) return 0;
    if (step->code < MUST && (step->target < program->fixed || step->target >= values)) return 0;
    if (step->code <= STRIDE)
        return step->a >= 0 && step->a < program->tensors && step->b >= 0 && step->b < program->expected[step->a].rank;
    if (step->code == INTEGER_ARGUMENT) return step->a >= 0 && step->a < program->integers;
    return leaf || (step->a >= 0 && step->a < values && step->b >= 0 && step->b < values && step->c >= 0 && step->c < values);
}

/* Twice: without a block, what it needs is counted. -1 with an exception. */
static int fill_program(Program *made, PyObject *args, char *block, size_t *used) {
    PyObject *expected, *constants, *outputs, *launches, *steps, *start, *numbers;
    if (!PyArg_ParseTuple(args, "O!nO!O!O!nnO!O!nO!O", &PyTuple_Type, &expected, &made->integers, &PyTuple_Type,
                          &constants, &PyTuple_Type, &outputs, &PyTuple_Type, &launches, &made->scratch,
                          &made->first_scratch, &PyTuple_Type, &steps, &PyTuple_Type, &start, &made->values,
                          &PyTuple_Type, &numbers, &made->build))
        return -1;
    made->tensors = PyTuple_GET_SIZE(expected);
    made->constants = PyTuple_GET_SIZE(constants);
    made->outputs = PyTuple_GET_SIZE(outputs);
    made->launches = PyTuple_GET_SIZE(launches);
    made->steps = PyTuple_GET_SIZE(steps);
    made->fixed = PyTuple_GET_SIZE(start);
    made->numbers = PyTuple_GET_SIZE(numbers);
    made->made = made->threads = 0;
    if (made->integers < 0 || made->integers > MOST || made->tensors > MOST || made->constants > MOST ||
        made->outputs > MOST || made->scratch < 0 || made->scratch > MOST || made->values < made->fixed ||
        made->values > 64 * MOST || made->first_scratch < 0 || made->first_scratch + made->scratch > made->numbers ||
        (made->build == Py_None && made->outputs != 1)) {
        PyErr_SetString(PyExc_ValueError, "a program that cannot be");
        return -1;
    }
    made->structure = made->build == Py_None ? ALONE : made->build == (PyObject *)&PyTuple_Type ? TUPLE
                      : made->build == (PyObject *)&PyList_Type ? LIST : BUILT;
    Expected *expect = take(block, used, (size_t)(made->tensors + made->constants) * sizeof *expect);
    for (Py_ssize_t place = 0; place < made->tensors; place++) {
        Expected each = {0};
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(expected, place), "iiii", &each.code, &each.bits, &each.rank, &each.packed))
            return -1;
        if (expect) expect[place] = each;
    }
    PyObject **constant = take(block, used, (size_t)made->constants * sizeof *constant);
    for (Py_ssize_t place = 0; place < made->constants; place++) {
        PyObject *each = PyTuple_GET_ITEM(constants, place);
        if (constant) constant[place] = each;
        if (fill_constant(expect ? &expect[made->tensors + place] : NULL, each, block, used)) return -1;
    }
    Output *output = take(block, used, (size_t)made->outputs * sizeof *output);
    for (Py_ssize_t place = 0; place < made->outputs; place++) {
        Output each;
        int source;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(outputs, place), "iOin", &source, &each.object, &each.rank, &each.place))
            return -1;
        each.source = (Source)source;
        made->made += source == MADE;
        Py_ssize_t end = each.place + (source == MADE ? 2 * (Py_ssize_t)each.rank : 1);
        Py_ssize_t last = source == GIVEN ? made->tensors : source == AGAIN ? place : source == FIXED ? end : made->numbers;
        if (source < 0 || source >= SOURCES || each.rank < 0 || each.place < 0 || end > last) {
            PyErr_Format(PyExc_ValueError, "output %zd is not in the program", place);
            return -1;
        }
        if (output) output[place] = each;
    }
    made->buffers = made->tensors + made->constants + made->made + made->scratch;
    Launch *launched = take(block, used, (size_t)made->launches * sizeof *launched);
    for (Py_ssize_t place = 0; place < made->launches; place++) {
        PyObject *kernel, *buffers;
        Launch each;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(launches, place), "O!Oi", kernel_type, &kernel, &buffers, &each.first_number))
            return -1;
        if (!(each.buffers = small_integers(buffers, made->buffers, block, used))) return -1;
        each.function = ((Kernel *)kernel)->function;
        each.tensors = (int32_t)PyTuple_GET_SIZE(buffers);
        if (each.tensors != ((Kernel *)kernel)->tensors || each.tensors > ON_STACK || each.first_number < 0 ||
            each.first_number + ((Kernel *)kernel)->numbers > made->numbers) {
            PyErr_Format(PyExc_ValueError, "launch %zd does not fit its kernel", place);
            return -1;
        }
        if (launched) launched[place] = each;
    }
    made->expected = expect;
    Step *step = take(block, used, (size_t)made->steps * sizeof *step);
    for (Py_ssize_t place = 0; place < made->steps; place++) {
        Step each;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(steps, place), "iiiiiL", &each.code, &each.target, &each.a, &each.b, &each.c,
                              &each.factor))
            return -1;
        made->threads |= each.code == THREADS;
        if (expect && !is_step(made, &each)) {
            PyErr_Format(PyExc_ValueError, "step %zd is none", place);
            return -1;
        }
        if (step) step[place] = each;
    }
    int64_t *value = take(block, used, (size_t)made->fixed * sizeof *value);
    for (Py_ssize_t place = 0; place < made->fixed; place++) {
        int64_t each = PyLong_AsLongLong(PyTuple_GET_ITEM(start, place));
        if (PyErr_Occurred()) return -1;
        if (value) value[place] = each;
    }
    if (!(made->number = small_integers(numbers, made->values, block, used))) return -1;
    made->constant = constant;
    made->output = output;
    made->launch = launched;
    made->step = step;
    made->start = value;
    return 0;
}

/* Program(expected, integers, constants, outputs, launches, scratch, first_scratch, steps, start, values, numbers,
           structure)
   expected: (code, bits, rank, packed) of each tensor; outputs: (source, object, rank, place); launches: (kernel,
   buffers, first number); steps: (code, target, a, b, c, factor); start: the first values; numbers: which of the values;
   structure: None for one output alone, tuple, list, or what is called with a list. */
static PyObject *new_program(PyTypeObject *type, PyObject *args, PyObject *named) {
    size_t used = 0;
    Program counted;
    if (named && PyDict_GET_SIZE(named)) return PyErr_Format(PyExc_TypeError, "a program is made by position");
    if (fill_program(&counted, args, NULL, &used)) return NULL;
    Program *made = (Program *)new_owner(type, call_program, args, used);
    if (!made) return NULL;
    used = 0;
    if (!fill_program(made, args, made->owner.block, &used)) return (PyObject *)made;
    Py_DECREF(made);
    return NULL;
}

static PyType_Slot program_slots[] = {
    {Py_tp_doc, "Kernels with what is around them: tensors and then integers in, outputs out, or NotImplemented."},
    {Py_tp_new, new_program}, {Py_tp_call, PyVectorcall_Call}, {Py_tp_members, owner_members},
    {Py_tp_traverse, owner_traverse}, {Py_tp_clear, owner_clear}, {Py_tp_dealloc, owner_free}, {0, NULL}};
static PyType_Spec program_specification = {"backends.cpu.launcher.Program", sizeof(Program), 0, FLAGS, program_slots};

