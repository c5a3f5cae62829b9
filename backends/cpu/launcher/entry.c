/* ------------------------------------------------------------------ Entry: the program for a call's arguments */

/* Kinds of arguments: a tensor, an integer that sizes may depend on, a value (by equality), an object (by identity). */
typedef enum { TENSOR, INTEGER, VALUE, OBJECT } Kind;
typedef struct {
    Kind kind;
    PyTypeObject *type;
    const Api *api; /* of a tensor */
    int32_t rank;
} Leaf;

/* A program, and its assumptions besides its guards. */
typedef struct {
    const Program *program;
    const Api *api;   /* of its tensors */
    PyObject *values; /* by leaf: whether a tensor requires a gradient, the value, the object */
    PyObject *grad_mode, *default_dtype;
    const int32_t *tensors, *integers; /* the leaves passed to it */
    const int32_t *firsts;             /* by leaf: the first leaf that is the same tensor */
} Variant;

/* Calls with arguments of the same classes and ranks. */
typedef struct {
    Py_ssize_t leaves, variants;
    const Leaf *leaf;
    const Variant *variant;
} Form;

/* What is asked besides the memory of the arguments; the caller knows the rest: whether modes or transforms are active
   and the grad mode and default dtype, whether tensors require a gradient, whether they are marked as negative. */
enum { ASKS_MODES = 1, ASKS_GRADIENTS = 2, ASKS_MARKS = 4 };

typedef struct {
    Owner owner;
    int asks;
    Py_ssize_t forms;
    const Form *form;
} Entry;

/* What surrounds a call: torch's grad mode and default dtype, NULL where they are not asked for. */
typedef struct {
    PyObject *grad_mode, *default_dtype;
    int asks, watched;
} Around;

/* Whether two values of one class are equal to a program: floats bitwise, as 0.0 == -0.0. */
static int is_same(PyObject *a, PyObject *b) {
    if (a == b) return 1;
    if (PyFloat_CheckExact(a)) {
        double first = PyFloat_AS_DOUBLE(a), second = PyFloat_AS_DOUBLE(b);
        return !memcmp(&first, &second, sizeof first);
    }
    if (PyComplex_CheckExact(a)) {
        Py_complex first = PyComplex_AsCComplex(a), second = PyComplex_AsCComplex(b);
        return !memcmp(&first, &second, sizeof first);
    }
    int equal = PyObject_RichCompareBool(a, b, Py_EQ);
    if (equal < 0) PyErr_Clear();
    return equal > 0;
}

/* The arguments of one call. */
typedef struct {
    PyObject *const *leaves;
    char *requires_grad; /* by leaf */
    Tensor *tensors;     /* by leaf */
    int *packed;
    int32_t *firsts; /* by leaf: the first leaf that is the same tensor */
    int64_t *integers;
    int64_t work;
} Arguments;

static int is_for_form(const Form *form, const Arguments *given) {
    for (int32_t place = 0; place < form->leaves; place++) {
        if (Py_TYPE(given->leaves[place]) != form->leaf[place].type) return 0;
        int32_t first = place;
        if (form->leaf[place].kind == TENSOR)
            for (first = 0; given->leaves[first] != given->leaves[place]; first++);
        given->firsts[place] = first;
    }
    return 1;
}

static int read_arguments(const Form *form, Arguments *found, const Around *around) {
    for (Py_ssize_t place = 0; place < form->leaves; place++) {
        PyObject *leaf = found->leaves[place];
        int64_t elements;
        int overflow;
        if (form->leaf[place].kind == TENSOR) {
            const Api *api = form->leaf[place].api;
            Tensor *tensor = &found->tensors[place];
            if (!read_array(api, leaf, tensor, &elements, &found->packed[place])) return 0;
            if (tensor->rank != form->leaf[place].rank) return 0;
            if (elements > found->work) found->work = elements;
            if (around->asks & ASKS_MARKS && !is_unmarked(api, leaf, tensor, around->watched)) return 0;
            int needed = 0;
            if (around->asks & ASKS_GRADIENTS && api == torch.api) needed = answers(leaf, REQUIRES_GRAD, around->watched);
            if (needed < 0) return 0;
            found->requires_grad[place] = (char)needed;
        } else if (form->leaf[place].kind == INTEGER) {
            found->integers[place] = PyLong_AsLongLongAndOverflow(leaf, &overflow);
            if (overflow) return 0;
        }
    }
    return 1;
}

static int is_for_variant(const Form *form, const Variant *variant, const Arguments *given, int asks) {
    if (memcmp(variant->firsts, given->firsts, (size_t)form->leaves * sizeof(int32_t))) return 0;
    for (Py_ssize_t place = 0; place < form->leaves; place++) {
        PyObject *wanted = PyTuple_GET_ITEM(variant->values, place), *leaf = given->leaves[place];
        switch (form->leaf[place].kind) {
            case TENSOR: if (asks & ASKS_GRADIENTS && given->requires_grad[place] != (wanted == Py_True)) return 0; break;
            case INTEGER: break;
            case VALUE: if (!is_same(leaf, wanted)) return 0; break;
            case OBJECT: if (leaf != wanted) return 0; break;
        }
    }
    return 1;
}

static PyObject *call_variants(const Form *form, const Arguments *given, const Around *around) {
    for (Py_ssize_t number = 0; number < form->variants; number++) {
        const Variant *variant = &form->variant[number];
        if (around->grad_mode && variant->grad_mode != around->grad_mode) continue;
        if (around->default_dtype && variant->default_dtype != around->default_dtype) continue;
        if (!is_for_variant(form, variant, given, around->asks)) continue;
        const Program *program = variant->program;
        const Tensor *tensors[ON_STACK];
        PyObject *objects[ON_STACK];
        int packed[ON_STACK];
        int64_t integers[ON_STACK];
        for (Py_ssize_t place = 0; place < program->tensors; place++) {
            int32_t leaf = variant->tensors[place];
            tensors[place] = &given->tensors[leaf];
            packed[place] = given->packed[leaf];
            objects[place] = given->leaves[leaf];
        }
        for (Py_ssize_t place = 0; place < program->integers; place++)
            integers[place] = given->integers[variant->integers[place]];
        Given its = {variant->api, tensors, packed, objects, integers, given->work, around->watched};
        PyObject *found = attempt(program, &its);
        if (found != Py_NotImplemented) return found;
        Py_DECREF(found);
    }
    Py_RETURN_NOTIMPLEMENTED;
}

static PyObject *call_form(const Form *form, PyObject *args, const Around *around) {
    char requires_grad[ON_STACK];
    Tensor tensors[ON_STACK];
    int packed[ON_STACK];
    int32_t firsts[ON_STACK];
    int64_t integers[ON_STACK];
    Arguments given = {((PyTupleObject *)args)->ob_item, requires_grad, tensors, packed, firsts, integers, 0};
    int fits = PyTuple_GET_SIZE(args) == form->leaves && is_for_form(form, &given) && read_arguments(form, &given, around);
    return fits ? call_variants(form, &given, around) : Py_NewRef(Py_NotImplemented);
}

/* Whether a mode or transform intercepts operators now; -1 with an exception. Within a level of forward differentiation
   a tensor may have a tangent, which is visible nowhere else. */
static int is_elsewhere(void) {
    PyObject *level = PyDict_GetItemWithError(torch.forward_ad, torch.level);
    if (!level) return PyErr_Occurred() ? -1 : 1;
    if (PyLong_AsLong(level) >= 0) return 1;
    if (PyErr_Occurred()) return -1;
    const Asked *asked[] = {&torch.dispatch_modes, &torch.function_modes, &torch.transforms, &torch.autocast};
    for (int place = 0; place < 4; place++) {
        int active = is_true(ask(asked[place]));
        if (active) return active;
    }
    return 0;
}

/* entry(args, kwargs): the result of the first program that matches this call, or NotImplemented. */
static PyObject *call_entry(PyObject *self, PyObject *const *args, size_t flags, PyObject *keywords) {
    const Entry *entry = (const Entry *)self;
    if (PyVectorcall_NARGS(flags) != 2 || keywords || !PyTuple_CheckExact(args[0]) || !PyDict_CheckExact(args[1]))
        return PyErr_Format(PyExc_TypeError, "an entry takes a tuple and a dict");
    Around around = {NULL, NULL, entry->asks, 0};
    PyObject *found = NULL;
    if (entry->asks & ASKS_MODES) {
        int elsewhere = is_elsewhere();
        if (elsewhere) return elsewhere < 0 ? NULL : Py_NewRef(Py_NotImplemented);
        if (!(around.grad_mode = ask(&torch.grad_mode)) || !(around.default_dtype = ask(&torch.default_dtype))) goto done;
    } else {
        around.watched = is_watched();
    }
    found = Py_NewRef(Py_NotImplemented);
    for (Py_ssize_t number = 0; found == Py_NotImplemented && !PyDict_GET_SIZE(args[1]) && number < entry->forms; number++) {
        Py_DECREF(found);
        found = call_form(&entry->form[number], args[0], &around);
    }
done:
    Py_XDECREF(around.grad_mode);
    Py_XDECREF(around.default_dtype);
    return found;
}

/* The leaves passed to a program; NULL with an exception. */
static const int32_t *places_of(PyObject *given, Py_ssize_t expected, const Form *form, const Leaf *leaf, Kind kind,
                                char *block, size_t *used) {
    const int32_t *places = small_integers(given, form->leaves, block, used);
    if (!places) return NULL;
    int fits = PyTuple_GET_SIZE(given) == expected;
    for (Py_ssize_t place = 0; leaf && fits && place < expected; place++) fits = leaf[places[place]].kind == kind;
    return fits ? places : (const int32_t *)PyErr_Format(PyExc_ValueError, "leaves of another kind or number than the program takes");
}

static PyTypeObject *program_type;

/* -1 with an exception. A form is (((kind, class, rank), ...), variants), a variant (program, values, grad_mode,
   default_dtype, tensors, integers, firsts). */
static int fill_form(Form *form, PyObject *given, char *block, size_t *used) {
    PyObject *leaves, *variants;
    if (!PyArg_ParseTuple(given, "O!O!", &PyTuple_Type, &leaves, &PyTuple_Type, &variants)) return -1;
    form->leaves = PyTuple_GET_SIZE(leaves);
    form->variants = PyTuple_GET_SIZE(variants);
    if (form->leaves > ON_STACK) {
        PyErr_Format(PyExc_ValueError, "%zd arguments", form->leaves);
        return -1;
    }
    Leaf *leaf = take(block, used, (size_t)form->leaves * sizeof *leaf);
    for (Py_ssize_t place = 0; place < form->leaves; place++) {
        int kind, rank;
        PyObject *type;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(leaves, place), "iO!i", &kind, &PyType_Type, &type, &rank)) return -1;
        PyTypeObject *found = (PyTypeObject *)type;
        const Api *api = api_for(found);
        int is_known = kind == TENSOR ? api != NULL : api != torch.api;
        if (kind < TENSOR || kind > OBJECT || !is_known || (kind == INTEGER && found != &PyLong_Type)) {
            PyErr_Format(PyExc_ValueError, "an argument of the class %s", found->tp_name);
            return -1;
        }
        if (leaf) leaf[place] = (Leaf){(Kind)kind, found, api, rank};
    }
    Variant *variant = take(block, used, (size_t)form->variants * sizeof *variant);
    for (Py_ssize_t number = 0; number < form->variants; number++) {
        Variant made;
        PyObject *program, *tensors, *integers, *firsts;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(variants, number), "O!O!OOOOO", program_type, &program, &PyTuple_Type,
                              &made.values, &made.grad_mode, &made.default_dtype, &tensors, &integers, &firsts))
            return -1;
        made.program = (const Program *)program;
        if (PyTuple_GET_SIZE(made.values) != form->leaves || !PyTuple_CheckExact(firsts) ||
            PyTuple_GET_SIZE(firsts) != form->leaves || made.program->tensors > ON_STACK || made.program->integers > ON_STACK) {
            PyErr_SetString(PyExc_ValueError, "a variant with another number of leaves");
            return -1;
        }
        made.tensors = places_of(tensors, made.program->tensors, form, leaf, TENSOR, block, used);
        made.integers = made.tensors ? places_of(integers, made.program->integers, form, leaf, INTEGER, block, used) : NULL;
        if (!made.integers || !(made.firsts = small_integers(firsts, form->leaves, block, used))) return -1;
        made.api = torch.api;
        for (Py_ssize_t place = 0; leaf && place < made.program->tensors; place++) {
            const Api *api = leaf[made.tensors[place]].api;
            if (place && api != made.api) {
                PyErr_SetString(PyExc_ValueError, "arrays of several libraries for one program");
                return -1;
            }
            made.api = api;
        }
        if (variant) variant[number] = made;
    }
    form->leaf = leaf;
    form->variant = variant;
    return 0;
}

static int fill_entry(void *self, PyObject *args, char *block, size_t *used) {
    Entry *made = self;
    if (PyTuple_GET_SIZE(args) < 1) {
        PyErr_SetString(PyExc_TypeError, "an entry is made of what it asks, and forms");
        return -1;
    }
    made->asks = (int)PyLong_AsLong(PyTuple_GET_ITEM(args, 0));
    if (PyErr_Occurred()) return -1;
    made->forms = PyTuple_GET_SIZE(args) - 1;
    Form *form = take(block, used, (size_t)made->forms * sizeof *form);
    for (Py_ssize_t number = 0; number < made->forms; number++) {
        Form each;
        if (fill_form(&each, PyTuple_GET_ITEM(args, number + 1), block, used)) return -1;
        if (form) form[number] = each;
    }
    made->form = form;
    return 0;
}

/* Entry(asks, *forms) */
static PyObject *new_entry(PyTypeObject *type, PyObject *args, PyObject *named) {
    return new_filled(type, args, named, call_entry, fill_entry);
}

OWNER_TYPE(entry, Entry, owner_free, owner_members,
           "Programs by what they are for: called with the arguments of a call, or NotImplemented.");

