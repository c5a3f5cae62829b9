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

/* The tensors of an accepted call: `check` is torch's check that others are like them, which implies what they answered. */
typedef struct {
    PyObject *check;
    PyObject *grad_mode; /* of that call, NULL if it was not asked for */
    int learned;         /* how often */
    char *requires_grad; /* by leaf */
} Seen;

/* Calls with arguments of the same classes and ranks. `width` is the largest number of leaves, of tensors or of integers
   of a program. */
typedef struct {
    Py_ssize_t leaves, variants, width, tensors;
    const Leaf *leaf;
    const Variant *variant;
    Seen seen;
} Form;

/* What is asked besides the memory of the arguments; the caller knows the rest: whether modes or transforms are active
   and the grad mode and default dtype, whether tensors require a gradient, whether they are marked as negative. */
enum { ASKS_MODES = 1, ASKS_GRADIENTS = 2, ASKS_MARKS = 4 };

typedef struct {
    Owner owner;
    int asks;
    PyObject *function, *code; /* a Python function and the code that it should have; NULL for none */
    Py_ssize_t forms;
    Form *form;
} Entry;

/* What surrounds a call: torch's grad mode and default dtype, NULL where they are not asked for; `plain` once it is known
   that nothing intercepts operators. */
typedef struct {
    PyObject *grad_mode, *default_dtype;
    int asks, watched, plain;
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
    Tensor *tensors; /* by leaf, as the others */
    int64_t *integers;
    int *packed;
    int32_t *firsts; /* the first leaf that is the same tensor */
    char *requires_grad;
    int64_t work;
    const Tensor **passed; /* by tensor of a program, as the others */
    PyObject **objects;
    int64_t *numbers;
    int *passed_packed;
    int32_t *slots; /* a hash table of tensors, SLOTS for a leaf */
} Arguments;

enum { SLOTS = 4 };

/* The bytes of the arrays for one leaf. */
enum {
    OF_LEAF = sizeof(Tensor) + sizeof(Tensor *) + sizeof(PyObject *) + 2 * sizeof(int64_t) + 2 * sizeof(int) +
              (SLOTS + 1) * sizeof(int32_t) + sizeof(char)
};

static Arguments arguments_in(void *block, size_t width, PyObject *const *leaves) {
    Arguments made = {leaves, block};
    made.passed = (const Tensor **)(made.tensors + width);
    made.objects = (PyObject **)(made.passed + width);
    made.integers = (int64_t *)(made.objects + width);
    made.numbers = made.integers + width;
    made.packed = (int *)(made.numbers + width);
    made.passed_packed = made.packed + width;
    made.firsts = (int32_t *)(made.passed_packed + width);
    made.slots = made.firsts + width;
    made.requires_grad = (char *)(made.slots + SLOTS * width);
    return made;
}

static int is_for_form(const Form *form, const Arguments *given) {
    size_t slots = 2;
    while (slots < 2 * (size_t)form->leaves) slots *= 2;
    memset(given->slots, -1, slots * sizeof *given->slots);
    for (int32_t place = 0; place < form->leaves; place++) {
        PyObject *leaf = given->leaves[place];
        if (Py_TYPE(leaf) != form->leaf[place].type) return 0;
        given->firsts[place] = place;
        if (form->leaf[place].kind != TENSOR) continue;
        size_t slot = (size_t)(((uint64_t)(uintptr_t)leaf * 0x9E3779B97F4A7C15u) >> 32) & (slots - 1);
        while (given->slots[slot] >= 0 && given->leaves[given->slots[slot]] != leaf) slot = (slot + 1) & (slots - 1);
        if (given->slots[slot] < 0) given->slots[slot] = place;
        given->firsts[place] = given->slots[slot];
    }
    return 1;
}

/* The tensors of a call; NULL with an exception. */
static PyObject *tensors_of(const Form *form, PyObject *args) {
    if (form->tensors == form->leaves) return Py_NewRef(args);
    PyObject *made = PyTuple_New(form->tensors);
    Py_ssize_t next = 0;
    for (Py_ssize_t place = 0; made && place < form->leaves; place++)
        if (form->leaf[place].kind == TENSOR) PyTuple_SET_ITEM(made, next++, Py_NewRef(PyTuple_GET_ITEM(args, place)));
    return made;
}

/* Whether the tensors are like those of an earlier call. It compares what they and torch dispatch on, which has the marks
   and every mode but those of functions. No exception is set. */
static int is_as_seen(const Form *form, PyObject *args) {
    if (!form->seen.check) return 0;
    PyObject *check = Py_NewRef(form->seen.check), *tensors = tensors_of(form, args);
    PyObject *found = tensors ? PyObject_Call(check, tensors, NULL) : NULL;
    Py_XDECREF(tensors);
    Py_DECREF(check);
    if (!found) PyErr_Clear();
    Py_XDECREF(found); /* True and False stay */
    return found == Py_True;
}

/* Remember the tensors of a call that was accepted by asking each. No exception is set. */
static void see(Form *form, PyObject *args, const Arguments *given, const Around *around) {
    enum { ENOUGH = 4 };
    int gradients = around->asks & ASKS_GRADIENTS;
    if (torch.alike == Py_None || !form->tensors || around->watched || !(around->asks & ASKS_MARKS)) return;
    if (form->seen.learned++ >= ENOUGH) return;
    PyObject *tensors = tensors_of(form, args), *check = tensors ? PyObject_Call(torch.alike, tensors, NULL) : NULL;
    Py_XDECREF(tensors);
    if (!check) PyErr_Clear();
    for (Py_ssize_t place = 0; check && place < form->leaves; place++) {
        PyObject *leaf = given->leaves[place];
        if (form->leaf[place].kind != TENSOR) continue;
        /* another thread may have changed it meanwhile */
        if (form->leaf[place].api != torch.api || !is_unmarked(torch.api, leaf, &given->tensors[place], 0) ||
            (gradients && answers(leaf, REQUIRES_GRAD, 0) != given->requires_grad[place]))
            Py_CLEAR(check);
    }
    Py_XSETREF(form->seen.check, check);
    form->seen.grad_mode = around->grad_mode;
    memcpy(form->seen.requires_grad, given->requires_grad, (size_t)form->leaves);
}

static int read_arguments(const Form *form, Arguments *found, const Around *around, int as_seen) {
    int marks = !as_seen && around->asks & ASKS_MARKS, gradients = around->asks & ASKS_GRADIENTS;
    if (as_seen && gradients && around->grad_mode == Py_True && form->seen.grad_mode == Py_True) {
        /* without a grad mode nothing is like a tensor that requires a gradient */
        memcpy(found->requires_grad, form->seen.requires_grad, (size_t)form->leaves);
        gradients = 0;
    }
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
            if (marks && !is_unmarked(api, leaf, tensor, around->watched)) return 0;
            if (!gradients) continue;
            int needed = api == torch.api ? answers(leaf, REQUIRES_GRAD, around->watched) : 0;
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
        for (Py_ssize_t place = 0; place < program->tensors; place++) {
            int32_t leaf = variant->tensors[place];
            given->passed[place] = &given->tensors[leaf];
            given->passed_packed[place] = given->packed[leaf];
            given->objects[place] = given->leaves[leaf];
        }
        for (Py_ssize_t place = 0; place < program->integers; place++)
            given->numbers[place] = given->integers[variant->integers[place]];
        Given its = {variant->api,   given->passed, given->passed_packed, given->objects,
                     given->numbers, given->work,   around->watched};
        PyObject *found = attempt(program, &its);
        if (found != Py_NotImplemented) return found;
        Py_DECREF(found);
    }
    Py_RETURN_NOTIMPLEMENTED;
}

/* Whether a mode or transform intercepts operators now, other than those of functions; -1 with an exception. */
static int is_intercepted(Around *around) {
    const Asked *asked[] = {&torch.dispatch_modes, &torch.transforms, &torch.autocast};
    if (around->plain || !(around->asks & ASKS_MODES)) return 0;
    for (int place = 0; place < 3; place++) {
        int active = is_true(ask(asked[place]));
        if (active) return active;
    }
    around->plain = 1;
    return 0;
}

/* Whether a mode of functions is active now, or a level of forward differentiation, within which a tensor may have a
   tangent, which is visible nowhere else; -1 with an exception. */
static int is_elsewhere(void) {
    PyObject *level = PyDict_GetItemWithError(torch.forward_ad, torch.level);
    if (!level) return PyErr_Occurred() ? -1 : 1;
    if (PyLong_AsLong(level) >= 0) return 1;
    if (PyErr_Occurred()) return -1;
    return is_true(ask(&torch.function_modes));
}

static PyObject *call_form(Form *form, PyObject *args, Around *around) {
    if (PyTuple_GET_SIZE(args) != form->leaves) return Py_NewRef(Py_NotImplemented);
    Tensor on_stack[ON_STACK * OF_LEAF / sizeof(Tensor) + 1];
    void *block = form->width <= ON_STACK ? on_stack : PyMem_Malloc((size_t)form->width * OF_LEAF);
    if (!block) return PyErr_NoMemory();
    Arguments given = arguments_in(block, (size_t)form->width, ((PyTupleObject *)args)->ob_item);
    int fits = is_for_form(form, &given), as_seen = fits && is_as_seen(form, args);
    int elsewhere = fits && !as_seen ? is_intercepted(around) : 0;
    PyObject *found = NULL;
    if (!elsewhere && fits && read_arguments(form, &given, around, as_seen)) {
        found = call_variants(form, &given, around);
        if (found && found != Py_NotImplemented && !as_seen) see(form, args, &given, around);
    } else if (elsewhere >= 0) {
        found = Py_NewRef(Py_NotImplemented);
    }
    if (block != on_stack) PyMem_Free(block);
    return found;
}

/* The result of the first program that matches a call with these arguments, or NotImplemented. */
static PyObject *first_result(const Entry *entry, PyObject *args) {
    if (entry->function && PyFunction_GetCode(entry->function) != entry->code) Py_RETURN_NOTIMPLEMENTED;
    Around around = {NULL, NULL, entry->asks, 0, 0};
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
        found = call_form(&entry->form[number], args, &around);
    }
done:
    Py_XDECREF(around.grad_mode);
    Py_XDECREF(around.default_dtype);
    return found;
}

/* entry(args, kwargs) */
static PyObject *call_entry(PyObject *self, PyObject *const *args, size_t flags, PyObject *keywords) {
    if (PyVectorcall_NARGS(flags) != 2 || keywords || !PyTuple_CheckExact(args[0]) || !PyDict_CheckExact(args[1]))
        return PyErr_Format(PyExc_TypeError, "an entry takes a tuple and a dict");
    if (PyDict_GET_SIZE(args[1])) Py_RETURN_NOTIMPLEMENTED;
    return first_result((const Entry *)self, args[0]);
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
    form->width = form->leaves > 1 ? form->leaves : 1;
    form->tensors = 0;
    form->seen = (Seen){NULL, NULL, 0, take(block, used, (size_t)form->leaves)};
    if (form->leaves > MOST) {
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
        form->tensors += kind == TENSOR;
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
            PyTuple_GET_SIZE(firsts) != form->leaves) {
            PyErr_SetString(PyExc_ValueError, "a variant with another number of leaves");
            return -1;
        }
        if (made.program->tensors > form->width) form->width = made.program->tensors;
        if (made.program->integers > form->width) form->width = made.program->integers;
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
    if (PyTuple_GET_SIZE(args) < 3) {
        PyErr_SetString(PyExc_TypeError, "an entry is made of what it asks, a function and its code, and forms");
        return -1;
    }
    made->asks = (int)PyLong_AsLong(PyTuple_GET_ITEM(args, 0));
    if (PyErr_Occurred()) return -1;
    made->function = PyFunction_Check(PyTuple_GET_ITEM(args, 1)) ? PyTuple_GET_ITEM(args, 1) : NULL;
    made->code = PyTuple_GET_ITEM(args, 2);
    made->forms = PyTuple_GET_SIZE(args) - 3;
    Form *form = take(block, used, (size_t)made->forms * sizeof *form);
    for (Py_ssize_t number = 0; number < made->forms; number++) {
        Form each;
        if (fill_form(&each, PyTuple_GET_ITEM(args, number + 3), block, used)) return -1;
        if (form) form[number] = each;
    }
    made->form = form;
    return 0;
}

/* Entry(asks, function, code, *forms): a Python function and its code, or None twice. */
static PyObject *new_entry(PyTypeObject *type, PyObject *args, PyObject *named) {
    return new_filled(type, args, named, call_entry, fill_entry);
}

static void entry_free(PyObject *self) {
    const Entry *entry = (const Entry *)self;
    for (Py_ssize_t number = 0; entry->form && number < entry->forms; number++)
        Py_XDECREF(entry->form[number].seen.check); /* it has no reference to a tensor */
    owner_free(self);
}

OWNER_TYPE(entry, Entry, entry_free, owner_members,
           "Programs by what they are for: called with the arguments of a call, or NotImplemented.");

