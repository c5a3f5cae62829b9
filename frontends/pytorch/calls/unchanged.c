/* Whether places hold the very objects that they held: bind(kinds, containers, keys, values). */
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

static int is_unchanged(char kind, PyObject *container, PyObject *key, PyObject *value) {
    switch (kind) {
    case 'd': return PyDict_GetItemWithError(container, key) == value;
    case 'i': return is_got(PyObject_GetItem(container, key), value);
    case 'a': return is_got(PyObject_GetAttr(container, key), value);
    case 'c': return PyCell_GET(container) == value;
    case 'n': return PyObject_Size(container) == PyLong_AsSsize_t(value);
    default: return holds(container, value);
    }
}

static PyObject *bind(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    if (count != 4 || !PyBytes_CheckExact(args[0])) return PyErr_Format(PyExc_TypeError, "kinds and three tuples");
    const char *kinds = PyBytes_AS_STRING(args[0]);
    Py_ssize_t places = PyBytes_GET_SIZE(args[0]);
    for (int argument = 1; argument < 4; argument++)
        if (!PyTuple_CheckExact(args[argument]) || PyTuple_GET_SIZE(args[argument]) != places)
            return PyErr_Format(PyExc_TypeError, "kinds and three tuples");
    for (Py_ssize_t place = 0; place < places; place++)
        if (!is_unchanged(kinds[place], PyTuple_GET_ITEM(args[1], place), PyTuple_GET_ITEM(args[2], place),
                          PyTuple_GET_ITEM(args[3], place))) {
            /* what cannot be read is not what it was */
            if (PyErr_Occurred()) {
                if (!PyErr_ExceptionMatches(PyExc_Exception)) return NULL;
                PyErr_Clear();
            }
            Py_RETURN_FALSE;
        }
    Py_RETURN_TRUE;
}

static PyMethodDef functions[] = {{"bind", (PyCFunction)(void (*)(void))bind, METH_FASTCALL, "Whether nothing changed."},
                                  {NULL, NULL, 0, NULL}};
static PyModuleDef_Slot stages[] = {{0, NULL}};
static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "symshape_check", NULL, 0, functions, stages, NULL, NULL, NULL};
PyMODINIT_FUNC PyInit_symshape_check(void) { return PyModuleDef_Init(&definition); }
