/* ------------------------------------------------------------------ construction of a Program */

/* A tuple of integers below a limit; NULL with an exception. */
static const int32_t *small_integers(PyObject *given, Py_ssize_t limit, char *block, size_t *used) {
    static const int32_t none;
    if (!PyTuple_CheckExact(given)) return (const int32_t *)PyErr_Format(PyExc_TypeError, "a tuple is needed");
    int32_t *found = take(block, used, (size_t)PyTuple_GET_SIZE(given) * sizeof *found);
    for (Py_ssize_t place = 0; place < PyTuple_GET_SIZE(given); place++) {
        long value = PyLong_AsLong(PyTuple_GET_ITEM(given, place));
        if (PyErr_Occurred()) return NULL;
        if (value < 0 || value >= limit)
            return (const int32_t *)PyErr_Format(PyExc_ValueError, "index %ld is out of range of %zd", value, limit);
        if (found) found[place] = (int32_t)value;
    }
    return found ? found : &none;
}

/* Launches: (kernel, buffers, first number, length of the interleaved group from it on, and the buffers that must be true
   behind it, if any); NULL with an exception. */
static const Launch *fill_launches(PyObject *launches, Py_ssize_t buffers, Py_ssize_t numbers, char *block, size_t *used) {
    static const Launch none;
    Py_ssize_t count = PyTuple_GET_SIZE(launches);
    Launch *found = take(block, used, (size_t)count * sizeof *found);
    for (Py_ssize_t place = 0; place < count; place++) {
        PyObject *given, *its_buffers, *checks = NULL;
        Launch each;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(launches, place), "OO!ii|O!", &given, &PyTuple_Type, &its_buffers,
                              &each.first_number, &each.kernels, &PyTuple_Type, &checks))
            return NULL;
        int is_operator = Py_TYPE(given) == operator_type;
        if (!is_operator && Py_TYPE(given) != kernel_type)
            return (const Launch *)PyErr_Format(PyExc_TypeError, "launch %zd is of no kernel", place);
        each.checks = checks ? (int32_t)PyTuple_GET_SIZE(checks) : 0;
        each.check = checks ? small_integers(checks, buffers, block, used) : NULL;
        if (checks && !each.check) return NULL;
        if (!(each.buffers = small_integers(its_buffers, buffers, block, used))) return NULL;
        each.tensors = (int32_t)PyTuple_GET_SIZE(its_buffers);
        if (is_operator) {
            const Operator *operator = (const Operator *)given;
            Py_ssize_t needed = each.tensors * (Py_ssize_t)(OPERAND + 1);
            each.function = NULL;
            each.interleaved = NULL;
            each.direct = operator->direct;
            each.given = each.tensors - operator->results;
            if (each.given < 1 || each.tensors > MOST_OPERANDS || each.kernels != 1 || each.first_number < 0 ||
                each.first_number + needed > numbers)
                return (const Launch *)PyErr_Format(PyExc_ValueError, "launch %zd does not fit its operator", place);
            if (found) found[place] = each;
            continue;
        }
        const Kernel *kernel = (const Kernel *)given;
        each.direct = NULL;
        each.given = 0;
        each.function = kernel->function;
        each.interleaved = each.kernels > 1 ? kernel->interleaved : NULL;
        int is_group = each.kernels > 1 && each.kernels <= MOST_INTERLEAVED && each.kernels <= count - place &&
                       each.kernels == kernel->kernels;
        if ((each.kernels != 1 && !is_group) || each.tensors != kernel->tensors || each.tensors > ON_STACK ||
            each.first_number < 0 || each.first_number + kernel->numbers > numbers)
            return (const Launch *)PyErr_Format(PyExc_ValueError, "launch %zd does not fit its kernel", place);
        if (found) found[place] = each;
    }
    return found ? found : &none;
}

static int fill_constant(Expected *expected, PyObject *constant, char *block, size_t *used) {
    Tensor tensor;
    int64_t elements;
    int packed;
    if (!is_exact(constant) || !read_array(torch.api, constant, &tensor, &elements, &packed) ||
        !is_unmarked(torch.api, constant, &tensor, is_watched())) {
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

static int fill_program(void *self, PyObject *args, char *block, size_t *used) {
    Program *made = self;
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
        PyErr_SetString(PyExc_ValueError, "an inconsistent program");
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
        Output each = {0};
        int source, code, bits;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(outputs, place), "iOiiin", &source, &each.object, &code, &bits, &each.rank,
                              &each.place))
            return -1;
        each.source = (Source)source;
        each.dtype = (DataType){(uint8_t)code, (uint8_t)bits, 1};
        made->made += source == MADE;
        Py_ssize_t end = each.place + (source == MADE ? 2 * (Py_ssize_t)each.rank : 1);
        Py_ssize_t last = source == GIVEN ? made->tensors : source == AGAIN ? place : source == FIXED ? end : made->numbers;
        if (source < 0 || source >= SOURCES || each.rank < 0 || each.place < 0 || end > last) {
            PyErr_Format(PyExc_ValueError, "output %zd is out of range", place);
            return -1;
        }
        each.last = take(block, used, source == MADE ? 2 * (size_t)each.rank * sizeof(int64_t) : 0);
        if (output) output[place] = each;
    }
    made->buffers = made->tensors + made->constants + made->made + made->scratch;
    made->launch = fill_launches(launches, made->buffers, made->numbers, block, used);
    if (!made->launch) return -1;
    made->operators = 0;
    for (Py_ssize_t place = 0; block && place < made->launches; place++)
        made->operators |= made->launch[place].direct != NULL;
    made->expected = expect;
    Step *step = take(block, used, (size_t)made->steps * sizeof *step);
    for (Py_ssize_t place = 0; place < made->steps; place++) {
        Step each;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(steps, place), "iiiiiL", &each.code, &each.target, &each.a, &each.b, &each.c,
                              &each.factor))
            return -1;
        made->threads |= each.code == THREADS;
        if (expect && !is_step(made, &each)) {
            PyErr_Format(PyExc_ValueError, "step %zd is invalid", place);
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
    made->step = step;
    made->start = value;
    return 0;
}

/* Program(expected, integers, constants, outputs, launches, scratch, first_scratch, steps, start, values, numbers,
           structure)
   expected: (code, bits, rank, packed) of each tensor; outputs: (source, object, code, bits, rank, place); launches: (kernel,
   buffers, first number, length of the interleaved group from it on); steps: (code, target, a, b, c, factor);
   start: the first values; numbers: indices of values; structure: None for a single output, tuple, list, or a
   callable that takes a list. */
static PyObject *new_program(PyTypeObject *type, PyObject *args, PyObject *named) {
    return new_filled(type, args, named, call_program, fill_program);
}

static void free_program(PyObject *self) {
    Program *program = (Program *)self;
    for (Py_ssize_t place = 0; program->output && place < program->outputs; place++)
        Py_XDECREF(program->output[place].args);
    owner_free(self);
}

OWNER_TYPE(program, Program, free_program, owner_members,
           "Kernels with what is around them: tensors and then integers in, outputs out, or NotImplemented.");

