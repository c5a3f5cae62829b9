/* ------------------------------------------------------------------ Program: kernels with their sizes and outputs */

/* The expected dtype, rank and layout of a tensor argument; for a constant, its sizes and strides as well. */
typedef struct {
    int code, bits, packed; /* packed is 0, 1, or -1 for either */
    int32_t rank;
    const int64_t *layout;
} Expected;

/* An output: a new tensor, an unchanged argument, an earlier output, a fixed object, or one of the numbers. */
typedef enum { MADE, GIVEN, AGAIN, FIXED, NUMBER, SOURCES } Source;
typedef struct {
    Source source;
    PyObject *object; /* the dtype of a new tensor, the fixed object */
    DataType dtype;   /* that dtype as DLPack has it */
    int32_t rank;
    Py_ssize_t place; /* index of the argument, the output, or the first number: sizes, then strides */
    int64_t *last;    /* cached from the last call: sizes and strides, and their Python objects: */
    PyObject *args;
} Output;

/* A kernel or an operator with its buffers and numbers: of an operator those of its operands, then how many bytes from the
   start of its buffer each begins. Buffers are indexed: arguments, constants, new outputs, temporaries. */
typedef struct {
    Function function;
    Direct direct; /* of an operator; NULL of a kernel */
    int64_t given; /* its arguments: its other operands are results */
    Interleaved interleaved; /* runs the group that starts here interleaved; NULL for none */
    const int32_t *buffers;
    int32_t tensors, first_number, kernels;
    int32_t checks; /* how many buffers, of one truth value each, must be true behind it */
    const int32_t *check;
} Launch;

typedef enum { ALONE, TUPLE, LIST, BUILT } Structure;
enum { LARGE = 4 << 20 }; /* bytes */

typedef struct {
    Owner owner;
    Py_ssize_t tensors, integers, constants, outputs, made, scratch, launches, steps, fixed, values, numbers, buffers;
    Py_ssize_t first_scratch; /* index of the first number that is a size in bytes */
    int threads;              /* whether torch's number of threads is needed */
    int operators;            /* whether there are any */
    const Expected *expected; /* of the arguments, then of the constants */
    PyObject **constant;
    Output *output;
    const Launch *launch;
    const Step *step;
    const int64_t *start;  /* the first values are fixed */
    const int32_t *number; /* indices of values */
    Structure structure;
    PyObject *build;
} Program;

/* The state of one call. */
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

/* Sizes, strides and dtype as Python objects, cached: most calls repeat the last sizes, and building them takes a third
   of the time of an allocation. */
static PyObject *layout_of(Output *output, const int64_t *numbers) {
    size_t bytes = 2 * (size_t)output->rank * sizeof(int64_t);
    if (output->args && !memcmp(output->last, numbers, bytes)) return Py_NewRef(output->args);
    PyObject *sizes = tuple_of(numbers, output->rank), *strides = tuple_of(numbers + output->rank, output->rank);
    PyObject *args = sizes && strides ? PyTuple_Pack(3, sizes, strides, output->object) : NULL;
    Py_XDECREF(sizes);
    Py_XDECREF(strides);
    if (!args) return NULL;
    memcpy(output->last, numbers, bytes);
    Py_XSETREF(output->args, Py_NewRef(args));
    return args;
}

/* Allocate an output of the class of the arguments. Of torch: by its function, as a tensor that DLPack makes has a
   storage that cannot be resized, unlike those that operators return. */
static PyObject *allocated(const Api *api, Output *output, const int64_t *numbers) {
    if (api != torch.api) return made_array(api, output->dtype, output->rank, numbers + output->place);
    PyObject *args = layout_of(output, numbers + output->place);
    if (!args) return NULL;
    PyObject *made = PyObject_Call(torch.allocate, args, NULL);
    Py_DECREF(args);
    return made;
}

/* Advise huge pages for large fresh memory, as `backends.cpu.pages` does. */
static void in_large_pages(void *memory, int64_t bytes) {
    enum { PAGE = 1 << 16 };
    if (bytes < LARGE) return;
#ifdef MADV_HUGEPAGE
    uintptr_t start = ((uintptr_t)memory + PAGE - 1) & -(uintptr_t)PAGE;
    madvise((void *)start, (uintptr_t)memory + (uintptr_t)bytes - start, MADV_HUGEPAGE);
#endif
}

/* Allocate all temporaries in one block, each aligned to a cache line. -1 with an exception. */
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
    in_large_pages(call->scratch, total);
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

/* Whether all operators are computed here, and have results as planned; beside operators, temporaries are pooled where
   they are large, which is for Python. */
static int fits(const Program *program, const int64_t *numbers) {
    const Launch *next = program->launch;
    int64_t left = LARGE;
    for (Py_ssize_t place = 0; program->operators && place < program->scratch; place++) {
        const int64_t bytes = numbers[program->first_scratch + place];
        if (bytes >= left) return 0;
        if (bytes > 0) left -= bytes;
    }
    for (const Launch *end = next + program->launches; next < end; next++) {
        if (!next->direct) continue;
        const int64_t *planned = numbers + next->first_number;
        int64_t described[MOST_OPERANDS * OPERAND];
        memcpy(described, planned, (size_t)next->tensors * OPERAND * sizeof *described);
        if (!next->direct(NULL, described, next->given)) return 0;
        for (int64_t at = next->given * OPERAND; at < next->tensors * OPERAND; at += OPERAND) {
            const int64_t rank = described[at + 1], *sizes = &described[at + 2], *strides = sizes + MOST_RANK;
            if (memcmp(&described[at], &planned[at], (2 + (size_t)rank) * sizeof *described)) return 0;
            for (int64_t axis = 0; axis < rank; axis++)
                if (sizes[axis] != 1 && strides[axis] != planned[at + 2 + MOST_RANK + axis]) return 0;
        }
    }
    return 1;
}

static int run_direct(const Launch *one, void *const *buffers, const int64_t *numbers) {
    void *pointers[MOST_OPERANDS];
    const int64_t *offsets = numbers + one->tensors * OPERAND;
    for (int32_t place = 0; place < one->tensors; place++)
        pointers[place] = (char *)buffers[one->buffers[place]] + offsets[place];
    return one->direct(pointers, (int64_t *)numbers, one->given);
}

/* Run kernels and operators; 0 where a check of a kernel fails, or torch should compute an operator. */
static int launch(const Launch *next, Py_ssize_t launches, void *const *buffers, const int64_t *numbers) {
    void *pointers[MOST_INTERLEAVED][ON_STACK];
    void *const *of_pointers[MOST_INTERLEAVED];
    const int64_t *of_numbers[MOST_INTERLEAVED];
    for (const Launch *end = next + launches; next < end; next += next->kernels) {
        for (int32_t each = 0; each < next->kernels; each++) {
            const Launch *one = &next[each];
            for (int32_t place = 0; place < one->tensors; place++)
                pointers[each][place] = buffers[one->buffers[place]];
            of_pointers[each] = pointers[each];
            of_numbers[each] = numbers + one->first_number;
        }
        if (next->direct) {
            if (!run_direct(next, buffers, of_numbers[0])) return 0;
        } else if (next->interleaved) next->interleaved(of_pointers, of_numbers);
        else next->function(pointers[0], of_numbers[0]);
        for (int32_t place = 0; place < next->checks; place++)
            if (!*(const char *)buffers[next->check[place]]) return 0;
    }
    return 1;
}

/* Compute the numbers of a call; 0 where the program does not match it, -1 with an exception. */
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

/* Put the memory of a tensor of the program's own into the next buffer. */
static inline void fill_buffer(const Tensor *tensor, int64_t elements, void ***buffer, int64_t *work) {
    *(*buffer)++ = tensor->data;
    in_large_pages(tensor->data, elements * (tensor->dtype.bits / 8));
    if (elements > *work) *work = elements;
}

/* Read the constants, whose metadata may have changed; 0 where kernels cannot read one, or it is not as expected. */
static int read_constants(const Program *program, void ***buffer, int64_t *work, int watched) {
    const Expected *expected = program->expected + program->tensors;
    for (Py_ssize_t place = 0; place < program->constants; place++) {
        PyObject *object = program->constant[place];
        Tensor tensor;
        int64_t elements;
        int packed;
        if (!is_exact(object) || !read_array(torch.api, object, &tensor, &elements, &packed)) return 0;
        if (!is_expected(&expected[place], &tensor, packed) || !is_unmarked(torch.api, object, &tensor, watched)) return 0;
        fill_buffer(&tensor, elements, buffer, work);
    }
    return 1;
}

/* The arguments of one call, of types that offer one API. */
typedef struct {
    const Api *api;
    const Tensor *const *tensors;
    const int *packed;
    PyObject *const *objects;
    const int64_t *integers;
    int64_t work; /* the elements of the largest tensor */
    int watched;  /* whether a function mode is active */
} Given;

static PyObject *perform(const Program *program, Call *call, const Given *given) {
    void **buffer = call->buffers;
    int64_t work = given->work;
    for (Py_ssize_t place = 0; place < program->tensors; place++) *buffer++ = given->tensors[place]->data;
    if (!read_constants(program, &buffer, &work, given->watched)) return Py_NewRef(Py_NotImplemented);
    int planned = plan(program, call, given->tensors, given->integers);
    if (planned < 0) return NULL;
    if (!planned || !fits(program, call->numbers)) return Py_NewRef(Py_NotImplemented);
    for (Py_ssize_t place = 0; place < program->outputs; place++) {
        Output *output = &program->output[place];
        PyObject *made;
        switch (output->source) {
            case MADE: made = allocated(given->api, output, call->numbers); break;
            case GIVEN: made = Py_NewRef(given->objects[output->place]); break;
            case AGAIN: made = Py_NewRef(call->results[output->place]); break;
            case NUMBER: made = PyLong_FromLongLong(call->numbers[output->place]); break;
            default: made = Py_NewRef(output->object);
        }
        if (!(call->results[place] = made)) return NULL;
        if (output->source != MADE) continue;
        Tensor tensor;
        int64_t elements;
        int packed;
        if (api_of(made) != given->api || !read_array(given->api, made, &tensor, &elements, &packed))
            return PyErr_Format(PyExc_RuntimeError, "a new %s has no memory on the CPU", Py_TYPE(made)->tp_name);
        fill_buffer(&tensor, elements, &buffer, &work);
    }
    if (program->scratch && reserve(program, call, &work)) return NULL;
    int holds = 0;
    RUN(work, holds = launch(program->launch, program->launches, call->buffers, call->numbers))
    if (!holds) return Py_NewRef(Py_NotImplemented);
    return structured(program, call->results);
}

/* Run a program on flattened arguments; NotImplemented where it does not match them. */
static PyObject *attempt(const Program *program, const Given *given) {
    for (Py_ssize_t place = 0; place < program->tensors; place++)
        if (!is_expected(&program->expected[place], given->tensors[place], given->packed[place]))
            return Py_NewRef(Py_NotImplemented);
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
    PyObject *found = perform(program, &call, given);
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
    int64_t integers[ON_STACK], *integer = integers;
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
    Given given = {program->tensors ? api_of(args[0]) : torch.api, pointer, packed, args, integer, 0, is_watched()};
    for (Py_ssize_t place = 0; place < program->tensors; place++) {
        int64_t elements;
        pointer[place] = &tensor[place];
        if (!given.api || api_of(args[place]) != given.api) goto refused;
        if (!read_array(given.api, args[place], &tensor[place], &elements, &packed[place])) goto refused;
        if (!is_unmarked(given.api, args[place], &tensor[place], given.watched)) goto refused;
        if (elements > given.work) given.work = elements;
    }
    for (Py_ssize_t place = 0; place < program->integers; place++) {
        PyObject *number = args[program->tensors + place];
        int overflow = 1;
        if (PyLong_CheckExact(number)) integer[place] = PyLong_AsLongLongAndOverflow(number, &overflow);
        if (overflow) goto refused;
    }
    found = attempt(program, &given);
    PyMem_Free(block);
    return found;
refused:
    PyMem_Free(block);
    Py_RETURN_NOTIMPLEMENTED;
}

