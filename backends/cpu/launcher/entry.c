/* ------------------------------------------------------------------ Entry: flatten the arguments, run a program */

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
    PyObject *grad_mode, *default_dtype, *around;
    PyObject *done; /* called after the run, or None */
    const int32_t *tensors, *integers; /* the leaves passed to it */
    const int32_t *firsts;             /* by leaf: the first leaf that is the same tensor */
} Variant;

/* Calls with the same pytree structure of arguments. */
typedef struct {
    PyObject *bind;      /* returns the bound arguments, or None; None where calls are bound already */
    PyObject *structure; /* None: positional arguments only, all of them leaves */
    PyObject *captured_state;
    Py_ssize_t leaves, tensors, integers, variants;
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

/* Flatten a node (class, keys, children), None for a leaf, to new references. 0 for a different structure. */
static int flatten(PyObject *node, PyObject *shape, PyObject **leaves, Py_ssize_t *count) {
    if (shape == Py_None) {
        leaves[(*count)++] = Py_NewRef(node);
        return 1;
    }
    PyObject *keys = PyTuple_GET_ITEM(shape, 1), *children = PyTuple_GET_ITEM(shape, 2);
    Py_ssize_t expected = PyTuple_GET_SIZE(children);
    if ((PyObject *)Py_TYPE(node) != PyTuple_GET_ITEM(shape, 0)) return 0;
    if (PyDict_CheckExact(node)) {
        Py_ssize_t at = 0, place = 0;
        PyObject *key, *value;
        if (PyDict_GET_SIZE(node) != expected) return 0;
        while (PyDict_Next(node, &at, &key, &value)) {
            PyObject *wanted = PyTuple_GET_ITEM(keys, place);
            if (key != wanted && !(PyUnicode_CheckExact(key) && PyUnicode_CheckExact(wanted) && !PyUnicode_Compare(key, wanted)))
                return 0;
            if (!flatten(value, PyTuple_GET_ITEM(children, place++), leaves, count)) return 0;
        }
        return 1;
    }
    if (Py_SIZE(node) != expected) return 0;
    for (Py_ssize_t place = 0; place < expected; place++) {
        PyObject *child = PyTuple_CheckExact(node) ? PyTuple_GET_ITEM(node, place) : PyList_GET_ITEM(node, place);
        if (!flatten(child, PyTuple_GET_ITEM(children, place), leaves, count)) return 0;
    }
    return 1;
}

/* Keyword arguments in any order. */
static int flatten_named(PyObject *named, PyObject *shape, PyObject **leaves, Py_ssize_t *count) {
    PyObject *keys = PyTuple_GET_ITEM(shape, 1), *children = PyTuple_GET_ITEM(shape, 2);
    if (PyDict_GET_SIZE(named) != PyTuple_GET_SIZE(keys)) return 0;
    for (Py_ssize_t place = 0; place < PyTuple_GET_SIZE(keys); place++) {
        PyObject *value = PyDict_GetItem(named, PyTuple_GET_ITEM(keys, place));
        if (!value || !flatten(value, PyTuple_GET_ITEM(children, place), leaves, count)) return 0;
    }
    return 1;
}

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

/* The flattened arguments of one call. */
typedef struct {
    PyObject **leaves;
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

static PyObject *call_variants(const Form *form, const Arguments *given, const Around *around, PyObject *captured) {
    for (Py_ssize_t number = 0; number < form->variants; number++) {
        const Variant *variant = &form->variant[number];
        if (around->grad_mode && variant->grad_mode != around->grad_mode) continue;
        if (around->default_dtype && variant->default_dtype != around->default_dtype) continue;
        if (!is_same(variant->around, captured) || !is_for_variant(form, variant, given, around->asks)) continue;
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
        if (found != Py_NotImplemented) {
            PyObject *done = variant->done == Py_None || !found ? NULL : PyObject_CallNoArgs(variant->done);
            if (!done && variant->done != Py_None) Py_CLEAR(found);
            Py_XDECREF(done);
            return found;
        }
        Py_DECREF(found);
    }
    Py_RETURN_NOTIMPLEMENTED;
}

static PyObject *call_bound(const Form *form, PyObject *args, PyObject *named, const Around *around) {
    PyObject *leaves[ON_STACK], *found = NULL;
    char requires_grad[ON_STACK];
    Tensor tensors[ON_STACK];
    int packed[ON_STACK];
    int32_t firsts[ON_STACK];
    int64_t integers[ON_STACK];
    Arguments given = {leaves, requires_grad, tensors, packed, firsts, integers, 0};
    Py_ssize_t count = 0;
    int fits;
    if (form->structure == Py_None) {
        fits = PyTuple_GET_SIZE(args) == form->leaves && !PyDict_GET_SIZE(named);
        if (fits)
            for (; count < form->leaves; count++) leaves[count] = Py_NewRef(PyTuple_GET_ITEM(args, count));
    } else {
        fits = flatten(args, PyTuple_GET_ITEM(form->structure, 0), leaves, &count) &&
               flatten_named(named, PyTuple_GET_ITEM(form->structure, 1), leaves, &count);
    }
    if (fits && is_for_form(form, &given)) {
        /* checked before tensors are read, as it runs Python */
        PyObject *captured = form->captured_state == Py_None ? Py_NewRef(Py_None) : PyObject_CallNoArgs(form->captured_state);
        if (captured && read_arguments(form, &given, around)) found = call_variants(form, &given, around, captured);
        else if (captured) found = Py_NewRef(Py_NotImplemented);
        Py_XDECREF(captured);
    } else {
        found = Py_NewRef(Py_NotImplemented);
    }
    while (count) Py_DECREF(leaves[--count]);
    return found;
}

static PyObject *call_form(const Form *form, PyObject *args, PyObject *named, const Around *around) {
    if (form->bind == Py_None) return call_bound(form, args, named, around);
    PyObject *bound = PyObject_CallFunctionObjArgs(form->bind, args, named, NULL);
    if (!bound) return NULL;
    PyObject *found = NULL;
    if (bound == Py_None)
        found = Py_NewRef(Py_NotImplemented);
    else if (!PyTuple_CheckExact(bound) || PyTuple_GET_SIZE(bound) != 2 || !PyTuple_CheckExact(PyTuple_GET_ITEM(bound, 0)) ||
             !PyDict_CheckExact(PyTuple_GET_ITEM(bound, 1)))
        PyErr_SetString(PyExc_TypeError, "arguments are bound to a tuple and a dict");
    else
        found = call_bound(form, PyTuple_GET_ITEM(bound, 0), PyTuple_GET_ITEM(bound, 1), around);
    Py_DECREF(bound);
    return found;
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
    for (Py_ssize_t number = 0; found == Py_NotImplemented && number < entry->forms; number++) {
        Py_DECREF(found);
        found = call_form(&entry->form[number], args[0], args[1], &around);
    }
done:
    Py_XDECREF(around.grad_mode);
    Py_XDECREF(around.default_dtype);
    return found;
}

/* How many leaves a structure has; -1 where `flatten` does not support it. */
static Py_ssize_t leaves_of(PyObject *shape) {
    if (shape == Py_None) return 1;
    if (!PyTuple_CheckExact(shape) || PyTuple_GET_SIZE(shape) != 3) return -1;
    PyObject *kind = PyTuple_GET_ITEM(shape, 0), *keys = PyTuple_GET_ITEM(shape, 1), *children = PyTuple_GET_ITEM(shape, 2);
    if (!PyTuple_CheckExact(keys) || !PyTuple_CheckExact(children)) return -1;
    if (kind == (PyObject *)&PyDict_Type ? PyTuple_GET_SIZE(keys) != PyTuple_GET_SIZE(children)
                                         : kind != (PyObject *)&PyTuple_Type && kind != (PyObject *)&PyList_Type)
        return -1;
    Py_ssize_t count = 0;
    for (Py_ssize_t place = 0; place < PyTuple_GET_SIZE(children); place++) {
        Py_ssize_t inside = leaves_of(PyTuple_GET_ITEM(children, place));
        if (inside < 0) return -1;
        count += inside;
    }
    return count;
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

/* -1 with an exception. A form is (bind, structure, ((kind, class, rank), ...), captured_state, variants), a variant
   (program, values, grad_mode, default_dtype, around, tensors, integers, firsts, done). */
static int fill_form(Form *form, PyObject *given, char *block, size_t *used) {
    PyObject *leaves, *variants;
    if (!PyArg_ParseTuple(given, "OOO!OO!", &form->bind, &form->structure, &PyTuple_Type, &leaves, &form->captured_state, &PyTuple_Type,
                          &variants))
        return -1;
    form->leaves = PyTuple_GET_SIZE(leaves);
    form->variants = PyTuple_GET_SIZE(variants);
    PyObject *structure = form->structure;
    int known = structure == Py_None;
    if (PyTuple_CheckExact(structure) && PyTuple_GET_SIZE(structure) == 2 && PyTuple_GET_ITEM(structure, 1) != Py_None) {
        Py_ssize_t unnamed = leaves_of(PyTuple_GET_ITEM(structure, 0)), count = leaves_of(PyTuple_GET_ITEM(structure, 1));
        known = unnamed >= 0 && count >= 0 && unnamed + count == form->leaves;
    }
    if (!known || form->leaves > ON_STACK) {
        PyErr_SetString(PyExc_ValueError, "an unsupported pytree structure of arguments");
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
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(variants, number), "O!O!OOOOOOO", program_type, &program, &PyTuple_Type,
                              &made.values, &made.grad_mode, &made.default_dtype, &made.around, &tensors, &integers,
                              &firsts, &made.done))
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

