/* Calls of compiled kernels with tensors, without torch's headers: a tensor is read through the DLPack exchange API. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>
#include <stddef.h>
#include <stdint.h>

/* dlpack.h 1.3, as far as it is used here */
typedef struct { int32_t type, id; } Device;
typedef struct { uint8_t code, bits; uint16_t lanes; } DataType;
typedef struct {
    char *data;
    Device device;
    int32_t ndim;
    DataType dtype;
    int64_t *shape, *strides;
    uint64_t byte_offset;
} Tensor;
typedef struct Api {
    struct { uint32_t major, minor; } version;
    struct Api *previous;
    void *allocate, *from_object_managed, *to_object_managed;
    int (*from_object)(void *object, Tensor *out);
    void *current_stream;
} Api;
enum { CPU = 1 };

typedef void (*Function)(void *const *pointers, const int64_t *numbers);
enum { ON_STACK = 32, MOST = 4096 };
/* Fewer elements than this are done sooner than the interpreter is given away and taken back. */
enum { RELEASED_FROM = 1 << 16 };

static struct {
    const Api *api;
    PyTypeObject *tensor, *parameter;
    PyCFunction is_negative;
    PyObject *data_pointer, *is_cpu, *count;
} torch;

/* ------------------------------------------------------------------ reading */

static inline int is_exact(PyObject *object) {
    return Py_TYPE(object) == torch.tensor || Py_TYPE(object) == torch.parameter;
}

static int64_t elements_of(const Tensor *tensor) {
    int64_t count = 1;
    for (int32_t axis = 0; axis < tensor->ndim; axis++) count *= tensor->shape[axis];
    return count;
}

/* Whether memory holds the values themselves: the negative of a tensor may be the same memory with a mark. */
static inline int is_plain(PyObject *object) {
    PyObject *marked = torch.is_negative(object, NULL);
    if (!marked) return 0;
    Py_DECREF(marked);
    return marked == Py_False;
}

/* 0, or -1 with an exception for what has no memory on the CPU that can be read as it is. */
static int read_exact(PyObject *object, Tensor *tensor) {
    if (torch.api->from_object(object, tensor)) {
        PyErr_Clear();
        PyErr_SetString(PyExc_TypeError, "a kernel of the CPU needs dense tensors with memory of their own");
        return -1;
    }
    if (tensor->device.type != CPU) {
        PyErr_SetString(PyExc_TypeError, "a kernel of the CPU needs tensors on the CPU");
        return -1;
    }
    if (!is_plain(object)) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError, "a kernel needs tensors without the mark of a negative: resolve_neg()");
        return -1;
    }
    tensor->data += tensor->byte_offset;
    return 0;
}

/* A subclass tells by its methods, which may not be torch's own. */
static int read_subclass(PyObject *object, void **pointer, int64_t *elements) {
    PyObject *here = PyObject_GetAttr(object, torch.is_cpu);
    if (!here) return -1;
    int on_cpu = PyObject_IsTrue(here);
    Py_DECREF(here);
    if (on_cpu < 0) return -1;
    PyObject *marked = on_cpu ? PyObject_CallMethod(object, "is_neg", NULL) : NULL;
    int negative = marked ? PyObject_IsTrue(marked) : 0;
    Py_XDECREF(marked);
    if (PyErr_Occurred()) return -1;
    PyObject *count = PyObject_CallMethodNoArgs(object, torch.count);
    if (!count) return -1;
    *elements = PyLong_AsLongLong(count);
    Py_DECREF(count);
    if (PyErr_Occurred()) return -1;
    PyObject *address = on_cpu ? PyObject_CallMethodNoArgs(object, torch.data_pointer) : NULL;
    *pointer = address ? PyLong_AsVoidPtr(address) : NULL;
    Py_XDECREF(address);
    if (PyErr_Occurred()) return -1;
    if (on_cpu && !negative && (*pointer || !*elements)) return 0;
    PyErr_Format(PyExc_TypeError, "a kernel of the CPU cannot read a tensor of the class %s", Py_TYPE(object)->tp_name);
    return -1;
}

static int read_tensor(PyObject *object, void **pointer, int64_t *elements) {
    if (is_exact(object)) {
        Tensor tensor;
        if (read_exact(object, &tensor)) return -1;
        *elements = elements_of(&tensor);
        *pointer = tensor.data;
        if (*pointer || !*elements) return 0;
        PyErr_SetString(PyExc_TypeError, "a kernel needs tensors with memory of their own");
        return -1;
    }
    if (PyType_IsSubtype(Py_TYPE(object), torch.tensor)) return read_subclass(object, pointer, elements);
    PyErr_Format(PyExc_TypeError, "a tensor is needed, not %s", Py_TYPE(object)->tp_name);
    return -1;
}

static inline int read_number(PyObject *object, int64_t *number) {
    if (PyLong_Check(object)) {
        *number = PyLong_AsLongLong(object);
        return *number == -1 && PyErr_Occurred() ? -1 : 0;
    }
    PyErr_Format(PyExc_TypeError, "an int is needed, not %s", Py_TYPE(object)->tp_name);
    return -1;
}

/* ------------------------------------------------------------------ Kernel */

typedef struct {
    PyObject_HEAD
    vectorcallfunc call;
    Function function;
    Py_ssize_t tensors, numbers;
    PyObject *library;
} Kernel;

static int run_kernel(Kernel *kernel, PyObject *const *args, void **pointers, int64_t *numbers) {
    int64_t work = 0;
    for (Py_ssize_t place = 0; place < kernel->tensors; place++) {
        int64_t elements;
        if (read_tensor(args[place], &pointers[place], &elements)) return -1;
        work = elements > work ? elements : work;
    }
    for (Py_ssize_t place = 0; place < kernel->numbers; place++)
        if (read_number(args[kernel->tensors + place], &numbers[place])) return -1;
    if (work < RELEASED_FROM) {
        kernel->function(pointers, numbers);
    } else {
        Py_BEGIN_ALLOW_THREADS
        kernel->function(pointers, numbers);
        Py_END_ALLOW_THREADS
    }
    return 0;
}

static PyObject *call_kernel(PyObject *self, PyObject *const *args, size_t flags, PyObject *keywords) {
    Kernel *kernel = (Kernel *)self;
    Py_ssize_t given = PyVectorcall_NARGS(flags);
    if (given != kernel->tensors + kernel->numbers || (keywords && PyTuple_GET_SIZE(keywords)))
        return PyErr_Format(PyExc_TypeError, "a kernel of %zd tensors and %zd numbers, by position: %zd are given",
                            kernel->tensors, kernel->numbers, given);
    int failed;
    if (kernel->tensors <= ON_STACK && kernel->numbers <= ON_STACK) {
        void *pointers[ON_STACK];
        int64_t numbers[ON_STACK];
        failed = run_kernel(kernel, args, pointers, numbers);
    } else {
        int64_t *numbers = PyMem_Malloc((size_t)given * sizeof(int64_t));
        if (!numbers) return PyErr_NoMemory();
        failed = run_kernel(kernel, args, (void **)(numbers + kernel->numbers), numbers);
        PyMem_Free(numbers);
    }
    if (failed) return NULL;
    Py_RETURN_NONE;
}

static PyObject *new_kernel(PyTypeObject *type, PyObject *args, PyObject *named) {
    static char *names[] = {"address", "tensors", "numbers", "library", NULL};
    unsigned long long address;
    Py_ssize_t tensors, numbers;
    PyObject *library = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, named, "Knn|O", names, &address, &tensors, &numbers, &library)) return NULL;
    if (!address || tensors < 0 || numbers < 0 || tensors > MOST || numbers > MOST)
        return PyErr_Format(PyExc_ValueError, "a kernel at %llu of %zd tensors and %zd numbers", address, tensors, numbers);
    Kernel *kernel = (Kernel *)type->tp_alloc(type, 0);
    if (!kernel) return NULL;
    kernel->call = call_kernel;
    kernel->function = (Function)(uintptr_t)address;
    kernel->tensors = tensors;
    kernel->numbers = numbers;
    Py_INCREF(library);
    kernel->library = library;
    return (PyObject *)kernel;
}

static int traverse_kernel(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(((Kernel *)self)->library);
    return 0;
}

static int clear_kernel(PyObject *self) {
    Py_CLEAR(((Kernel *)self)->library);
    return 0;
}

static void free_kernel(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    clear_kernel(self);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMemberDef kernel_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Kernel, call), READONLY, NULL},
    {"tensors", T_PYSSIZET, offsetof(Kernel, tensors), READONLY, "How many tensors it takes."},
    {"numbers", T_PYSSIZET, offsetof(Kernel, numbers), READONLY, "How many numbers it takes behind them."},
    {NULL, 0, 0, 0, NULL}};
static PyType_Slot kernel_slots[] = {
    {Py_tp_doc, "A compiled kernel as a function of tensors and then numbers."},
    {Py_tp_new, new_kernel}, {Py_tp_call, PyVectorcall_Call}, {Py_tp_members, kernel_members},
    {Py_tp_traverse, traverse_kernel}, {Py_tp_clear, clear_kernel}, {Py_tp_dealloc, free_kernel}, {0, NULL}};
static PyType_Spec kernel_specification = {
    "backends.cpu.launcher.Kernel", sizeof(Kernel), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_IMMUTABLETYPE, kernel_slots};

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

/* Learn torch's part, once: `bind(torch.Tensor, torch.nn.Parameter)` gives the types of this module. */
static PyObject *bind(PyObject *module, PyObject *args) {
    PyObject *tensor, *parameter;
    if (!PyArg_ParseTuple(args, "O!O!", &PyType_Type, &tensor, &PyType_Type, &parameter)) return NULL;
    if (!torch.api) {
        PyObject *capsule = PyObject_GetAttrString(tensor, "__dlpack_c_exchange_api__");
        if (!capsule) return NULL;
        const Api *api = PyCapsule_GetPointer(capsule, "dlpack_exchange_api");
        Py_DECREF(capsule);
        if (!api) return NULL;
        while (api && api->version.major > 1) api = api->previous;
        if (!api || api->version.major != 1 || api->version.minor < 3 || !api->from_object)
            return PyErr_Format(PyExc_ImportError, "torch has no DLPack exchange API of version 1.3");
        if (!(torch.is_negative = method_of(tensor, "is_neg"))) return NULL;
        torch.data_pointer = PyUnicode_InternFromString("data_ptr");
        torch.is_cpu = PyUnicode_InternFromString("is_cpu");
        torch.count = PyUnicode_InternFromString("numel");
        if (!torch.data_pointer || !torch.is_cpu || !torch.count) return NULL;
        Py_INCREF(tensor);
        Py_INCREF(parameter);
        torch.tensor = (PyTypeObject *)tensor;
        torch.parameter = (PyTypeObject *)parameter;
        torch.api = api;
    }
    return PyObject_GetAttrString(module, "Kernel");
}

static int prepare(PyObject *module) {
    PyObject *type = PyType_FromSpec(&kernel_specification);
    if (!type) return -1;
    int failed = PyObject_SetAttrString(module, "Kernel", type);
    Py_DECREF(type);
    return failed;
}

static PyMethodDef functions[] = {
    {"bind", bind, METH_VARARGS, "The types of this module, for these classes of tensors."}, {NULL, NULL, 0, NULL}};
static PyModuleDef_Slot stages[] = {{Py_mod_exec, prepare}, {0, NULL}};
static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "symshape_check", NULL, 0, functions, stages, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_symshape_check(void) { return PyModuleDef_Init(&definition); }
