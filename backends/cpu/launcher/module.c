/* ------------------------------------------------------------------ the module */

/* The C function of a method that takes no arguments. */
static PyCFunction method_of(PyObject *type, const char *name) {
    PyObject *method = PyObject_GetAttrString(type, name);
    if (!method) return NULL;
    PyCFunction found = NULL;
    if (Py_IS_TYPE(method, &PyMethodDescr_Type) && ((PyMethodDescrObject *)method)->d_method->ml_flags == METH_NOARGS)
        found = ((PyMethodDescrObject *)method)->d_method->ml_meth;
    else
        PyErr_Format(PyExc_ImportError, "Tensor.%s is not a method as it is known", name);
    Py_DECREF(method);
    return found;
}

static int learn_requires_grad(PyObject *type) {
    PyObject *property = PyObject_GetAttrString(type, "requires_grad");
    if (!property) return -1;
    if (Py_IS_TYPE(property, &PyGetSetDescr_Type)) {
        torch.requires_grad = ((PyGetSetDescrObject *)property)->d_getset->get;
        torch.requires_grad_closure = ((PyGetSetDescrObject *)property)->d_getset->closure;
    }
    Py_DECREF(property); /* the class holds a reference too */
    if (torch.requires_grad) return 0;
    PyErr_SetString(PyExc_ImportError, "Tensor.requires_grad is not a property as it is known");
    return -1;
}

static int learn_api(PyObject *type) {
    PyObject *capsule = PyObject_GetAttrString(type, "__dlpack_c_exchange_api__");
    if (!capsule) return -1;
    const Api *api = PyCapsule_GetPointer(capsule, "dlpack_exchange_api");
    Py_DECREF(capsule);
    while (api && api->version.major > 1) api = api->previous;
    if (api && api->version.major == 1 && api->version.minor >= 3 && api->from_object) {
        torch.api = api;
        return 0;
    }
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_ImportError, "torch has no DLPack exchange API of version 1.3");
    return -1;
}

/* Adopt the offsets in a tensor's object that Python found (`learning.py`); 0 for those that are not known. */
static int learn_offsets(PyObject *offsets) {
    PyObject *learned;
    unsigned long long usual, of_inference;
    if (!PyArg_ParseTuple(offsets, "nnKKnnnnnnO!", &torch.implementation, &torch.kinds, &usual, &of_inference,
                          &torch.elements, &torch.described, &torch.words, &torch.autograd, &torch.storage, &torch.data,
                          &PyTuple_Type, &learned))
        return -1;
    torch.usual = usual;
    torch.of_inference = of_inference;
    torch.learned_count = PyTuple_GET_SIZE(learned);
    if (torch.words > DESCRIBED || torch.learned_count > LEARNED) torch.words = torch.learned_count = 0;
    for (Py_ssize_t place = 0; place < torch.learned_count; place++)
        torch.learned[place] = PyLong_AsSsize_t(PyTuple_GET_ITEM(learned, place));
    return PyErr_Occurred() ? -1 : 0;
}

static Asked asked_of(PyObject *function) {
    int direct = PyCFunction_CheckExact(function) && PyCFunction_GET_FLAGS(function) == METH_NOARGS;
    return (Asked){Py_NewRef(function), direct ? PyCFunction_GET_FUNCTION(function) : NULL};
}

/* Import torch's functions and find its offsets, once. */
static PyObject *bind(PyObject *module, PyObject *args) {
    PyObject *tensor, *parameter, *empty_strided, *forward_ad, *unreadable, *offsets, *asked[7];
    unsigned long long address;
    if (!PyArg_ParseTuple(args, "O!O!O!O!OOOOOOOOKO!", &PyType_Type, &tensor, &PyType_Type, &parameter,
                          &PyCFunction_Type, &empty_strided, &PyDict_Type, &forward_ad, &unreadable,
                          &asked[0], &asked[1], &asked[2], &asked[3], &asked[4], &asked[5], &asked[6],
                          &address, &PyTuple_Type, &offsets))
        return NULL;
    if (!torch.tensor) {
        if (PyCFunction_GET_FLAGS(empty_strided) != METH_VARARGS)
            return PyErr_Format(PyExc_ImportError, "_empty_strided_cpu is not a function as it is known");
        if (learn_api(tensor) || learn_requires_grad(tensor) || !(torch.is_negative = method_of(tensor, "is_neg")))
            return NULL;
        torch.data_pointer = PyUnicode_InternFromString("data_ptr");
        torch.is_cpu = PyUnicode_InternFromString("is_cpu");
        torch.is_neg = PyUnicode_InternFromString("is_neg");
        torch.count = PyUnicode_InternFromString("numel");
        torch.level = PyUnicode_InternFromString("_current_level");
        torch.is_view = PyUnicode_InternFromString("_is_view");
        if (!torch.is_view || !torch.data_pointer || !torch.is_cpu || !torch.is_neg || !torch.count || !torch.level) return NULL;
        if (learn_offsets(offsets)) return NULL;
        if (torch.kinds && torch.elements) torch.address = (void *(*)(PyObject *))(uintptr_t)address;
        torch.forward_ad = Py_NewRef(forward_ad);
        torch.unreadable = Py_NewRef(unreadable);
        torch.empty_strided = Py_NewRef(empty_strided);
        Asked *functions_asked[] = {&torch.dispatch_modes, &torch.function_modes, &torch.transforms,
                           &torch.grad_mode, &torch.default_dtype, &torch.autocast, &torch.threads};
        for (int place = 0; place < 7; place++) *functions_asked[place] = asked_of(asked[place]);
        torch.parameter = (PyTypeObject *)Py_NewRef(parameter);
        torch.tensor = (PyTypeObject *)Py_NewRef(tensor);
    }
    return Py_NewRef(module);
}

static PyType_Spec *const specifications[] = {&kernel_specification, &program_specification, &kernels_specification,
                                              &entry_specification, &apart_specification, &layouts_specification};
enum { TYPES = sizeof specifications / sizeof *specifications };

static int prepare(PyObject *module) {
    PyTypeObject *types[TYPES];
    for (int place = 0; place < TYPES; place++) {
        types[place] = (PyTypeObject *)PyType_FromSpec(specifications[place]);
        if (!types[place] || PyModule_AddType(module, types[place])) return -1;
    }
    kernel_type = types[0];
    program_type = types[1];
    return 0;
}

static PyMethodDef functions[] = {
    {"bind", bind, METH_VARARGS, "This module, bound to this torch."}, {NULL, NULL, 0, NULL}};
static PyModuleDef_Slot stages[] = {{Py_mod_exec, prepare}, {0, NULL}};
static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "symshape_check", NULL, 0, functions, stages, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_symshape_check(void) { return PyModuleDef_Init(&definition); }
