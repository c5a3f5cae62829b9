/* ------------------------------------------------------------------ the module */

static Asked asked_of(PyObject *function) {
    int direct = PyCFunction_CheckExact(function) && PyCFunction_GET_FLAGS(function) == METH_NOARGS;
    return (Asked){Py_NewRef(function), direct ? PyCFunction_GET_FUNCTION(function) : NULL};
}

/* Bind the module to torch, once: bind(Tensor, Parameter, its context without function modes, what allocates, what
   compares tensors, the namespace of forward differentiation, the class of an error, and seven functions). */
static PyObject *bind(PyObject *module, PyObject *args) {
    PyObject *tensor, *parameter, *unwatched, *allocate, *alike, *forward_ad, *unreadable, *asked[7];
    if (!PyArg_ParseTuple(args, "O!O!OOOO!OOOOOOOO", &PyType_Type, &tensor, &PyType_Type, &parameter, &unwatched, &allocate,
                          &alike, &PyDict_Type, &forward_ad, &unreadable, &asked[0], &asked[1], &asked[2], &asked[3], &asked[4],
                          &asked[5], &asked[6]))
        return NULL;
    if (torch.tensor) return Py_NewRef(module);
    PyObject *capsule = PyObject_GetAttrString(tensor, "__dlpack_c_exchange_api__");
    if (!capsule) return NULL;
    torch.api = api_in(capsule);
    Py_DECREF(capsule); /* the class holds it, too */
    if (!torch.api) return PyErr_Format(PyExc_ImportError, "the DLPack exchange API of torch is of another version");
    torch.requires_grad = PyObject_GetAttrString(tensor, "requires_grad");
    torch.is_neg = PyObject_GetAttrString(tensor, "is_neg");
    torch.is_conj = PyObject_GetAttrString(tensor, "is_conj");
    if (!torch.requires_grad || !torch.is_neg || !torch.is_conj) return NULL;
    if (!Py_TYPE(torch.requires_grad)->tp_descr_get)
        return PyErr_Format(PyExc_ImportError, "Tensor.requires_grad is no property");
    torch.data_pointer = PyUnicode_InternFromString("data_ptr");
    torch.is_cpu = PyUnicode_InternFromString("is_cpu");
    torch.negative = PyUnicode_InternFromString("is_neg");
    torch.count = PyUnicode_InternFromString("numel");
    torch.level = PyUnicode_InternFromString("_current_level");
    torch.dtype = PyUnicode_InternFromString("dtype");
    if (!torch.data_pointer || !torch.is_cpu || !torch.negative || !torch.count || !torch.level || !torch.dtype) return NULL;
    torch.forward_ad = Py_NewRef(forward_ad);
    torch.unreadable = Py_NewRef(unreadable);
    torch.unwatched = Py_NewRef(unwatched);
    torch.allocate = Py_NewRef(allocate);
    torch.alike = Py_NewRef(alike);
    Asked *functions_asked[] = {&torch.dispatch_modes, &torch.function_modes, &torch.transforms, &torch.grad_mode,
                                &torch.default_dtype, &torch.autocast, &torch.threads};
    for (int place = 0; place < 7; place++) *functions_asked[place] = asked_of(asked[place]);
    torch.parameter = (PyTypeObject *)Py_NewRef(parameter);
    torch.tensor = (PyTypeObject *)Py_NewRef(tensor);
    return Py_NewRef(module);
}

static PyType_Spec *const specifications[] = {&kernel_specification, &program_specification, &kernels_specification,
                                              &entry_specification, &apart_specification, &operator_specification};
enum { TYPES = sizeof specifications / sizeof *specifications };

static int prepare(PyObject *module) {
    PyTypeObject *types[TYPES];
    for (int place = 0; place < TYPES; place++) {
        types[place] = (PyTypeObject *)PyType_FromSpec(specifications[place]);
        if (!types[place] || PyModule_AddType(module, types[place])) return -1;
    }
    kernel_type = types[0];
    program_type = types[1];
    entry_type = types[3];
    operator_type = types[5];
    return 0;
}

static PyMethodDef functions[] = {
    {"bind", bind, METH_VARARGS, "This module, bound to this torch."},
    {"call_first", call_first, METH_VARARGS, "Call the entry of an instance of a class before its `__call__`."},
    {NULL, NULL, 0, NULL}};
static PyModuleDef_Slot stages[] = {{Py_mod_exec, prepare}, {0, NULL}};
static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "symshape_check", NULL, 0, functions, stages, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_symshape_check(void) { return PyModuleDef_Init(&definition); }
