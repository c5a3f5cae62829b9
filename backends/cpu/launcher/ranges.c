/* ------------------------------------------------------------------ Apart: alias check of written tensors */

/* The byte range of a tensor's elements, and whether its axes may overlap each other. */
typedef struct {
    uintptr_t start, end;
    int repeats;
} Range;

typedef struct {
    Owner owner;
    Py_ssize_t given, tensors;
    PyObject *const *constant; /* after the arguments */
    const char *written;       /* by tensor */
    Range *last;               /* by tensor, of the last call, whose answer was: */
    int answer;
    Range *sorted;
} Apart;

/* Whether axes may overlap. They do not if, by increasing stride, each stride exceeds the extent of all axes before
   it. */
static int repeats(const Tensor *tensor) {
    int64_t reach = 0, least = -1;
    int32_t last = -1;
    for (int32_t step = 0; step < tensor->rank; step++) {
        int32_t next = -1;
        for (int32_t axis = 0; axis < tensor->rank; axis++) {
            int64_t stride = tensor->strides[axis];
            if (stride < least || (stride == least && axis <= last)) continue;
            if (next < 0 || stride < tensor->strides[next]) next = axis;
        }
        if (next < 0) return 1; /* a negative stride, which torch does not have */
        least = tensor->strides[last = next];
        if (tensor->sizes[next] <= 1) continue;
        if (least <= reach) return 1;
        reach += (tensor->sizes[next] - 1) * least;
    }
    return 0;
}

/* 0 where a tensor cannot be read. */
static int read_range(PyObject *object, Range *range, int written) {
    Tensor tensor;
    int64_t elements, reach = 0;
    int packed;
    if (!is_exact(object) || !read_array(torch.api, object, &tensor, &elements, &packed)) return 0;
    range->start = range->end = (uintptr_t)tensor.data;
    range->repeats = 0;
    if (!elements) return 1;
    for (int32_t axis = 0; axis < tensor.rank; axis++) reach += (tensor.sizes[axis] - 1) * tensor.strides[axis];
    range->end += (uintptr_t)(reach + 1) * (tensor.dtype.bits / 8);
    range->repeats = written && !packed && repeats(&tensor);
    return 1;
}

static int by_start(const void *a, const void *b) {
    const Range *first = a, *second = b;
    return first->start < second->start ? -1 : first->start > second->start;
}

/* Whether a written range overlaps another one. */
static int any_shared(const Apart *apart) {
    Py_ssize_t count = 0;
    for (Py_ssize_t place = 0; place < apart->tensors; place++) {
        const Range *range = &apart->last[place];
        if (range->repeats) return 1;
        if (range->start < range->end) apart->sorted[count++] = (Range){range->start, range->end, apart->written[place]};
    }
    qsort(apart->sorted, (size_t)count, sizeof(Range), by_start);
    uintptr_t any = 0, written = 0; /* the end of the ranges before */
    for (const Range *range = apart->sorted, *end = range + count; range < end; range++) {
        if (range->start < written || (range->repeats && range->start < any)) return 1;
        if (range->end > any) any = range->end;
        if (range->repeats && range->end > written) written = range->end;
    }
    return 0;
}

/* apart(tensors): True, False, or None where one of them cannot be read. Further elements are ignored. */
static PyObject *call_apart(PyObject *self, PyObject *const *args, size_t flags, PyObject *keywords) {
    Apart *apart = (Apart *)self;
    if (PyVectorcall_NARGS(flags) != 1 || keywords || !(PyTuple_CheckExact(args[0]) || PyList_CheckExact(args[0])) ||
        Py_SIZE(args[0]) < apart->given)
        return PyErr_Format(PyExc_TypeError, "a sequence of at least %zd tensors is needed", apart->given);
    int moved = apart->answer < 0;
    for (Py_ssize_t place = 0; place < apart->tensors; place++) {
        PyObject *tensor = place >= apart->given ? apart->constant[place - apart->given]
                                                 : PySequence_Fast_GET_ITEM(args[0], place);
        Range range, *before = &apart->last[place];
        if (!read_range(tensor, &range, apart->written[place])) {
            apart->answer = -1;
            Py_RETURN_NONE;
        }
        if (range.start == before->start && range.end == before->end && range.repeats == before->repeats) continue;
        *before = range;
        moved = 1;
    }
    if (moved) apart->answer = !any_shared(apart);
    return PyBool_FromLong(apart->answer);
}

static int fill_apart(void *self, PyObject *args, char *block, size_t *used) {
    Apart *made = self;
    PyObject *constants, *written;
    if (!PyArg_ParseTuple(args, "nO!O!", &made->given, &PyTuple_Type, &constants, &PyTuple_Type, &written)) return -1;
    made->tensors = made->given + PyTuple_GET_SIZE(constants);
    if (made->given < 0) {
        PyErr_Format(PyExc_ValueError, "%zd tensors", made->given);
        return -1;
    }
    made->constant = ((PyTupleObject *)constants)->ob_item;
    made->last = take(block, used, (size_t)made->tensors * sizeof *made->last);
    made->sorted = take(block, used, (size_t)made->tensors * sizeof *made->sorted);
    made->answer = -1;
    char *marks = take(block, used, (size_t)made->tensors);
    const int32_t *places = small_integers(written, made->tensors, block, used);
    if (!places) return -1;
    for (Py_ssize_t place = 0; marks && place < PyTuple_GET_SIZE(written); place++) marks[places[place]] = 1;
    made->written = marks;
    return 0;
}

/* Apart(given, constants, written): the number of tensor arguments, the constants after them, and which are written. */
static PyObject *new_apart(PyTypeObject *type, PyObject *args, PyObject *named) {
    return new_filled(type, args, named, call_apart, fill_apart);
}

OWNER_TYPE(apart, Apart, owner_free, owner_members,
           "Whether tensors that are written share no memory with others.");
