/* ------------------------------------------------------------------ classes whose instances call an entry first */

/* The slot for calls of a class with a `__call__` in Python, and the names by which instances have their entry. */
static struct {
    ternaryfunc call;
    PyObject *owner, *name;
} instances;

static PyTypeObject *entry_type;

/* The entry of an instance, or what it has instead; NULL without an exception where it has nothing. */
static PyObject *entry_of(PyObject *self) {
    PyObject *owner = PyObject_GenericGetAttr(self, instances.owner);
    PyObject *found = owner ? PyObject_GetAttr(owner, instances.name) : NULL;
    Py_XDECREF(owner);
    if (!found) PyErr_Clear();
    return found;
}

static PyObject *call_instance(PyObject *self, PyObject *args, PyObject *named) {
    PyObject *entry = named && PyDict_GET_SIZE(named) ? NULL : entry_of(self);
    PyObject *found = entry && Py_TYPE(entry) == entry_type ? first_result((const Entry *)entry, args) : NULL;
    int is_missed = found ? found == Py_NotImplemented : !PyErr_Occurred();
    Py_XDECREF(entry);
    if (!is_missed) return found;
    Py_XDECREF(found);
    return instances.call(self, args, named);
}

/* call_first(class, owner, name): from now on a call of an instance without keywords is one of `instance.owner.name`, if
   that is an Entry, and one of `__call__` where that gives NotImplemented. The class keeps its `__call__`, which tracers
   read; assigning another one undoes this. */
static PyObject *call_first(PyObject *module, PyObject *args) {
    PyTypeObject *type;
    PyObject *owner, *name;
    if (!PyArg_ParseTuple(args, "O!UU", &PyType_Type, &type, &owner, &name)) return NULL;
    if (type->tp_call == call_instance) Py_RETURN_NONE;
    int is_known = !instances.call || (type->tp_call == instances.call && !PyUnicode_Compare(owner, instances.owner) &&
                                       !PyUnicode_Compare(name, instances.name));
    if (!is_known || !type->tp_call || PyType_HasFeature(type, Py_TPFLAGS_IMMUTABLETYPE))
        return PyErr_Format(PyExc_ValueError, "%s: no class with a `__call__` in Python, or other names", type->tp_name);
    if (!instances.call) {
        instances.owner = Py_NewRef(owner);
        instances.name = Py_NewRef(name);
        instances.call = type->tp_call;
    }
    type->tp_call = call_instance;
    PyType_Modified(type);
    Py_RETURN_NONE;
}
