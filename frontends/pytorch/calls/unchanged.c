/* Whether places hold the very objects that they held: bind(kinds, containers, keys, values, ends, versions). */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

static int is_got(PyObject *found, PyObject *value) {
    Py_XDECREF(found);
    return found == value;
}

/* The items of a list, or of a dictionary the keys and then the values. */
static int holds(PyObject *container, PyObject *values) {
    Py_ssize_t count = PyTuple_GET_SIZE(values), place = 0, number = 0;
    if (PyList_CheckExact(container)) {
        if (PyList_GET_SIZE(container) != count) return 0;
        for (; number < count; number++)
            if (PyList_GET_ITEM(container, number) != PyTuple_GET_ITEM(values, number)) return 0;
        return 1;
    }
    if (!PyDict_CheckExact(container) || 2 * PyDict_GET_SIZE(container) != count) return 0;
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

/* What a function runs: its code and its default values, None where there are none. */
static int runs(PyObject *function, PyObject *values) {
    PyObject *defaults = PyFunction_GET_DEFAULTS(function), *by_name = PyFunction_GET_KW_DEFAULTS(function);
    return PyFunction_GET_CODE(function) == PyTuple_GET_ITEM(values, 0) &&
           (defaults ? defaults : Py_None) == PyTuple_GET_ITEM(values, 1) &&
           (by_name ? by_name : Py_None) == PyTuple_GET_ITEM(values, 2);
}

static int is_unchanged(char kind, PyObject *container, PyObject *key, PyObject *value) {
    switch (kind) {
    case 'd': return PyDict_GetItemWithError(container, key) == value;
    case 'i': return is_got(PyObject_GetItem(container, key), value);
    case 'a': return is_got(PyObject_GetAttr(container, key), value);
    case 'c': return PyCell_GET(container) == value;
    case 't': return (PyObject *)Py_TYPE(container) == value;
    case 'f': return runs(container, value);
    case 'k': return has_keys(container, value);
    case 'x': return !PyDict_GetItemWithError(container, key) && !PyErr_Occurred();
    case 'n': return PyObject_Size(container) == PyLong_AsSsize_t(value);
    default: return holds(container, value);
    }
}

enum { AHEAD = 16 };

/* A number that a dictionary has until it is changed; 0 where Python has none. */
static uint64_t version(PyObject *container) {
#if PY_VERSION_HEX < 0x030C0000
    /* an OrderedDict, which modules have for their hooks, is one with an order, of which no place tells */
    int counted = PyDict_CheckExact(container) || PyODict_CheckExact(container);
    return counted ? ((PyDictObject *)container)->ma_version_tag : 0;
#else
    return 0;
#endif
}

/* The places of a container are next to each other, and end where `ends` says. Of a dictionary that has not been changed
   since all of them were what they were, none is looked at: `versions` remembers, 0 for not known. */
static PyObject *bind(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    if (count != 6 || !PyBytes_CheckExact(args[0]) || !PyBytes_CheckExact(args[4]) || !PyByteArray_CheckExact(args[5]))
        return PyErr_Format(PyExc_TypeError, "kinds, three tuples, ends and versions");
    const char *kinds = PyBytes_AS_STRING(args[0]);
    const int32_t *ends = (const int32_t *)PyBytes_AS_STRING(args[4]);
    uint64_t *versions = (uint64_t *)PyByteArray_AS_STRING(args[5]);
    Py_ssize_t places = PyBytes_GET_SIZE(args[0]), containers = PyByteArray_GET_SIZE(args[5]) / 8;
    for (int argument = 1; argument < 4; argument++)
        if (!PyTuple_CheckExact(args[argument]) || PyTuple_GET_SIZE(args[argument]) != places)
            return PyErr_Format(PyExc_TypeError, "kinds, three tuples, ends and versions");
    if (PyBytes_GET_SIZE(args[4]) != 4 * containers) return PyErr_Format(PyExc_TypeError, "an end for each container");
    for (Py_ssize_t number = 0, place = 0; number < containers; number++) {
        Py_ssize_t end = ends[number] < places ? ends[number] : places;
        /* after the kernels of a model little of this is in cache: what comes soon is asked for now */
        if (number + AHEAD < containers && ends[number + AHEAD - 1] < places)
            __builtin_prefetch(PyTuple_GET_ITEM(args[1], ends[number + AHEAD - 1]));
        if (place >= end) continue;
        uint64_t now = version(PyTuple_GET_ITEM(args[1], place));
        if (now && now == versions[number]) {
            place = end;
            continue;
        }
        for (; place < end; place++)
            if (!is_unchanged(kinds[place], PyTuple_GET_ITEM(args[1], place), PyTuple_GET_ITEM(args[2], place),
                              PyTuple_GET_ITEM(args[3], place))) {
                /* what cannot be read is not what it was */
                if (PyErr_Occurred()) {
                    if (!PyErr_ExceptionMatches(PyExc_Exception)) return NULL;
                    PyErr_Clear();
                }
                Py_RETURN_FALSE;
            }
        versions[number] = now;
    }
    Py_RETURN_TRUE;
}

static PyMethodDef functions[] = {{"bind", (PyCFunction)(void (*)(void))bind, METH_FASTCALL, "Whether nothing changed."},
                                  {NULL, NULL, 0, NULL}};
static PyModuleDef_Slot stages[] = {{0, NULL}};
static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "symshape_check", NULL, 0, functions, stages, NULL, NULL, NULL};
PyMODINIT_FUNC PyInit_symshape_check(void) { return PyModuleDef_Init(&definition); }
