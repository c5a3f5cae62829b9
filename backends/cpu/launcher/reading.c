/* ------------------------------------------------------------------ what DLPack does not tell of torch's tensors */

typedef void (*Function)(void *const *pointers, const int64_t *numbers);
typedef void (*Interleaved)(void *const *const *pointers, const int64_t *const *numbers); /* of a group of kernels */
enum { ON_STACK = 32, MOST = 4096, MOST_INTERLEAVED = 8 };
/* Below this many elements, releasing the GIL costs more than it gains. */
enum { RELEASED_FROM = 1 << 16 };

/* A function of torch without arguments, called directly where it is plain C. */
typedef struct { PyObject *object; PyCFunction direct; } Asked;

static struct {
    const Api *api;
    PyTypeObject *tensor, *parameter;
    PyObject *requires_grad;     /* the property of the class */
    PyObject *is_neg, *is_conj;  /* its methods */
    PyObject *unwatched;         /* the class of the context in which no function mode is called */
    PyObject *allocate;          /* sizes, strides and dtype to a tensor */
    PyObject *alike;             /* tensors to the check that others are like them; None where torch has none */
    PyObject *data_pointer, *is_cpu, *negative, *count, *level, *dtype; /* names */
    PyObject *unreadable; /* the class of the error */
    PyObject *forward_ad; /* the namespace of torch.autograd.forward_ad */
    Asked dispatch_modes, function_modes, transforms, grad_mode, default_dtype, autocast, threads;
} torch;

static inline PyObject *ask(const Asked *asked) {
    return asked->direct ? asked->direct(PyCFunction_GET_SELF(asked->object), NULL) : PyObject_CallNoArgs(asked->object);
}

static inline int is_exact(PyObject *object) {
    return Py_TYPE(object) == torch.tensor || Py_TYPE(object) == torch.parameter;
}

/* The API by which arrays of a type are read; NULL where there is none. Subclasses of torch's tensors override what they
   are asked. */
static inline const Api *api_for(PyTypeObject *type) {
    if (type == torch.tensor || type == torch.parameter) return torch.api;
    return PyType_IsSubtype(type, torch.tensor) ? NULL : api_of_type(type);
}

static inline const Api *api_of(PyObject *object) { return api_for(Py_TYPE(object)); }

static int is_true(PyObject *answer) {
    int found = answer ? PyObject_IsTrue(answer) : -1;
    Py_XDECREF(answer);
    return found;
}

/* Whether a function mode is active, which would be called for what a tensor is asked. */
static inline int is_watched(void) {
    int found = is_true(ask(&torch.function_modes));
    if (found < 0) PyErr_Clear();
    return found != 0;
}

typedef enum { REQUIRES_GRAD, NEGATIVE, CONJUGATE } Question;

static inline PyObject *answer(PyObject *object, Question question) {
    if (question == REQUIRES_GRAD)
        return Py_TYPE(torch.requires_grad)->tp_descr_get(torch.requires_grad, object, (PyObject *)Py_TYPE(object));
    return PyObject_Vectorcall(question == NEGATIVE ? torch.is_neg : torch.is_conj, &object, 1, NULL);
}

static PyObject *unwatched_answer(PyObject *object, Question question) {
    PyObject *context = PyObject_CallNoArgs(torch.unwatched), *found = NULL;
    PyObject *entered = context ? PyObject_CallMethod(context, "__enter__", NULL) : NULL;
    if (entered) {
        found = answer(object, question);
        PyObject *left = PyObject_CallMethod(context, "__exit__", "OOO", Py_None, Py_None, Py_None);
        if (!left) Py_CLEAR(found);
        Py_XDECREF(left);
    }
    Py_XDECREF(entered);
    Py_XDECREF(context);
    return found;
}

/* What a tensor of torch's own class answers: 30 ns for requires_grad, 60 for a mark. -1 without an exception. */
static inline int answers(PyObject *object, Question question, int watched) {
    PyObject *found = watched ? unwatched_answer(object, question) : answer(object, question);
    if (!found) PyErr_Clear();
    Py_XDECREF(found); /* True and False stay */
    return found == Py_True ? 1 : found == Py_False ? 0 : -1;
}

/* Whether memory holds the values of a tensor that was read: a negated or conjugate view has the memory of another
   tensor, and a mark. */
static inline int is_unmarked(const Api *api, PyObject *object, const Tensor *tensor, int watched) {
    if (api != torch.api) return 1;
    if (answers(object, NEGATIVE, watched)) return 0;
    return tensor->dtype.code != COMPLEX || !answers(object, CONJUGATE, watched);
}

/* Read a subclass by its methods, which may be overridden. -1 with an exception where one raises. */
static int read_subclass(PyObject *object, void **pointer, int64_t *elements) {
    int here = is_true(PyObject_GetAttr(object, torch.is_cpu));
    if (here <= 0) return here;
    int negative = is_true(PyObject_CallMethodNoArgs(object, torch.negative));
    if (negative) return negative < 0 ? -1 : 0;
    PyObject *count = PyObject_CallMethodNoArgs(object, torch.count);
    if (!count) return -1;
    *elements = PyLong_AsLongLong(count);
    Py_DECREF(count);
    PyObject *address = PyErr_Occurred() ? NULL : PyObject_CallMethodNoArgs(object, torch.data_pointer);
    if (!address) return -1;
    *pointer = PyLong_AsVoidPtr(address);
    Py_DECREF(address);
    if (PyErr_Occurred()) return -1;
    return *pointer || !*elements;
}

/* Read an argument of a kernel; one that is plain holds its values. 0, or -1 with an exception. */
static int read_tensor(PyObject *object, int is_plain, int *watched, void **pointer, int64_t *elements) {
    const Api *api = api_of(object);
    int readable;
    if (api) {
        Tensor tensor;
        int packed;
        readable = read_array(api, object, &tensor, elements, &packed);
        *pointer = tensor.data;
        if (readable && !is_plain) {
            if (*watched < 0) *watched = is_watched();
            readable = is_unmarked(api, object, &tensor, *watched);
        }
    } else if (PyType_IsSubtype(Py_TYPE(object), torch.tensor)) {
        readable = read_subclass(object, pointer, elements);
    } else {
        PyErr_Format(PyExc_TypeError, "a tensor is needed, not %s", Py_TYPE(object)->tp_name);
        return -1;
    }
    if (readable == 0)
        PyErr_Format(torch.unreadable, "a kernel of the CPU cannot read this %s: it needs dense memory on the CPU that "
                     "holds the values as they are", Py_TYPE(object)->tp_name);
    return readable > 0 ? 0 : -1;
}

static inline int read_number(PyObject *object, int64_t *number) {
    if (PyLong_Check(object)) {
        *number = PyLong_AsLongLong(object);
        return *number == -1 && PyErr_Occurred() ? -1 : 0;
    }
    PyErr_Format(PyExc_TypeError, "an int is needed, not %s", Py_TYPE(object)->tp_name);
    return -1;
}

/* Run a statement; where it takes long, other threads may run Python meanwhile. */
#define RUN(work, statement)                                                                                           \
    if ((work) < RELEASED_FROM) statement;                                                                             \
    else { Py_BEGIN_ALLOW_THREADS statement; Py_END_ALLOW_THREADS }

