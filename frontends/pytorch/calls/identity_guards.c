/* Whether places hold the very objects that they held: bind(kinds, containers, keys, values, ends, seen). */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

static int is_got(PyObject *found, PyObject *value) {
    Py_XDECREF(found);
    return found == value;
}

/* The items of a set in the order in which it gives them. */
static int holds_set(PyObject *container, PyObject *values) {
    Py_ssize_t number = 0, count = PyTuple_GET_SIZE(values);
    if (PySet_GET_SIZE(container) != count) return 0;
    PyObject *items = PySet_Type.tp_iter(container), *item;
    if (!items) return 0;
    while ((item = PyIter_Next(items))) {
        Py_DECREF(item); /* the set has it */
        if (number >= count || item != PyTuple_GET_ITEM(values, number++)) break;
    }
    Py_DECREF(items);
    return !item && number == count && !PyErr_Occurred();
}

/* The items of a list or a set, or of a dictionary the keys and then the values, whatever a class of its own makes of
   being asked. An OrderedDict has an order of its own, unless it is empty. */
static int holds(PyObject *container, PyObject *values) {
    Py_ssize_t count = PyTuple_GET_SIZE(values), place = 0, number = 0;
    if (PyList_Check(container)) {
        if (PyList_GET_SIZE(container) != count) return 0;
        for (; number < count; number++)
            if (PyList_GET_ITEM(container, number) != PyTuple_GET_ITEM(values, number)) return 0;
        return 1;
    }
    if (PySet_Check(container)) return holds_set(container, values);
    if (!PyDict_Check(container) || 2 * PyDict_GET_SIZE(container) != count) return 0;
    if (PyODict_Check(container) && count) return 0;
    for (PyObject *key, *value; PyDict_Next(container, &place, &key, &value); number++)
        if (key != PyTuple_GET_ITEM(values, number) || value != PyTuple_GET_ITEM(values, count / 2 + number)) return 0;
    return 1;
}

/* The keys of a dictionary in order. */
static int has_keys(PyObject *container, PyObject *keys) {
    Py_ssize_t count = PyTuple_GET_SIZE(keys), place = 0, number = 0;
    if (!PyDict_CheckExact(container) || PyDict_GET_SIZE(container) != count) return 0;
    for (PyObject *key, *value; PyDict_Next(container, &place, &key, &value); number++)
        if (key != PyTuple_GET_ITEM(keys, number)) return 0;
    return 1;
}

/* The single word of an object that says what a place of this kind holds; NULL where there is none. */
static PyObject **word_of(char kind, PyObject *container) {
    switch (kind) {
    case 't': return (PyObject **)&container->ob_type;
    case 'c': return &((PyCellObject *)container)->ob_ref;
    case 'f': return &((PyFunctionObject *)container)->func_code;
    case 'p': return &((PyFunctionObject *)container)->func_defaults;
    case 'q': return &((PyFunctionObject *)container)->func_kwdefaults;
    default: return NULL;
    }
}

/* Default values of a function are None where there are none. */
static int holds_word(char kind, PyObject *found, PyObject *value) {
    return found == value || (!found && value == Py_None && (kind == 'p' || kind == 'q'));
}

static int is_unchanged(char kind, PyObject *container, PyObject *key, PyObject *value) {
    switch (kind) {
    case 'd': return PyDict_GetItemWithError(container, key) == value;
    case 'i': return is_got(PyObject_GetItem(container, key), value);
    case 'a': return is_got(PyObject_GetAttr(container, key), value);
    case 't': case 'c': case 'f': case 'p': case 'q': return holds_word(kind, *word_of(kind, container), value);
    case 'k': return has_keys(container, value);
    case 'x': return !PyDict_GetItemWithError(container, key) && !PyErr_Occurred();
    case 'n': return PyObject_Size(container) == PyLong_AsSsize_t(value);
    default: return holds(container, value);
    }
}

enum { AHEAD = 24 };

/* Where a word is that tells whether anything changed in some places, and what it was when nothing had; NULL where all
   of them are looked at each time. */
typedef struct {
    const uintptr_t *word;
    uintptr_t seen;
} Seen;

/* The number that a dictionary has until it is changed; NULL where Python has none. */
static const uintptr_t *version(PyObject *container, int is_plain) {
#if PY_VERSION_HEX < 0x030C0000 && UINTPTR_MAX == UINT64_MAX
    /* an OrderedDict, which modules have for their hooks, is one with an order, of which no place tells; a class of its
       own may give other items than it holds */
    if (PyDict_CheckExact(container) || PyODict_CheckExact(container) || (is_plain && PyDict_Check(container)))
        return (const uintptr_t *)&((PyDictObject *)container)->ma_version_tag;
#endif
    return NULL;
}

/* 1, 0, or -1 with an exception. Places that are what they were are next time seen by one word, if one tells. */
static int look(const char *kinds, PyObject *const *containers, PyObject *const *keys, PyObject *const *values,
                Py_ssize_t count, Seen *known) {
    PyObject *container = containers[0], **word = count == 1 ? word_of(kinds[0], container) : NULL;
    Seen now = {word ? (const uintptr_t *)word : version(container, count == 1 && kinds[0] == 'h'), 0};
    if (now.word) now.seen = *now.word;
    for (Py_ssize_t place = 0; place < count; place++) {
        if (is_unchanged(kinds[place], containers[place], keys[place], values[place])) continue;
        /* what cannot be read is not what it was */
        if (PyErr_Occurred()) {
            if (!PyErr_ExceptionMatches(PyExc_Exception)) return -1;
            PyErr_Clear();
        }
        return 0;
    }
    *known = now;
    return 1;
}

/* Each group of places ends where `ends` says, and its container is the same for all: dictionaries, of which none that
   has not been changed is looked at, and objects of which one word tells. `seen` remembers. */
static PyObject *bind(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    if (count != 6 || !PyBytes_CheckExact(args[0]) || !PyBytes_CheckExact(args[4]) || !PyByteArray_CheckExact(args[5]))
        return PyErr_Format(PyExc_TypeError, "kinds, three tuples, ends and a bytearray");
    Py_ssize_t places = PyBytes_GET_SIZE(args[0]), groups = PyBytes_GET_SIZE(args[4]) / (Py_ssize_t)sizeof(int32_t);
    for (int argument = 1; argument < 4; argument++)
        if (!PyTuple_CheckExact(args[argument]) || PyTuple_GET_SIZE(args[argument]) != places)
            return PyErr_Format(PyExc_TypeError, "kinds, three tuples, ends and a bytearray");
    if (PyByteArray_GET_SIZE(args[5]) != groups * (Py_ssize_t)sizeof(Seen))
        return PyErr_Format(PyExc_TypeError, "%zd bytes for each group", sizeof(Seen));
    const char *kinds = PyBytes_AS_STRING(args[0]);
    const int32_t *ends = (const int32_t *)PyBytes_AS_STRING(args[4]);
    Seen *known = (Seen *)PyByteArray_AS_STRING(args[5]);
    PyObject *const *containers = ((PyTupleObject *)args[1])->ob_item;
    for (Py_ssize_t group = 0; group < groups; group++) {
        /* after the kernels of a model little of this is in cache: what comes soon is asked for now */
        if (group + AHEAD < groups) __builtin_prefetch(known[group + AHEAD].word);
        if (known[group].word && *known[group].word == known[group].seen) continue;
        Py_ssize_t first = group ? ends[group - 1] : 0, end = ends[group];
        if (first < 0 || end <= first || end > places) return PyErr_Format(PyExc_ValueError, "groups one after the other");
        int same = look(kinds + first, containers + first, ((PyTupleObject *)args[2])->ob_item + first,
                        ((PyTupleObject *)args[3])->ob_item + first, end - first, &known[group]);
        if (same <= 0) return same < 0 ? NULL : Py_NewRef(Py_False);
    }
    Py_RETURN_TRUE;
}

static PyMethodDef functions[] = {{"bind", (PyCFunction)(void (*)(void))bind, METH_FASTCALL, "Whether nothing changed."},
                                  {NULL, NULL, 0, NULL}};
static PyModuleDef_Slot stages[] = {{0, NULL}};
static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "symshape_check", NULL, 0, functions, stages, NULL, NULL, NULL};
PyMODINIT_FUNC PyInit_symshape_check(void) { return PyModuleDef_Init(&definition); }
