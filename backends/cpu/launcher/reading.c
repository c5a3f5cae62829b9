/* Reading tensors without torch's headers: sizes and memory through the DLPack exchange API. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#ifdef __linux__
#include <sys/mman.h>
#endif

/* The subset of dlpack.h 1.3 that is used here */
typedef struct { int32_t type, id; } Device;
typedef struct { uint8_t code, bits; uint16_t lanes; } DataType;
typedef struct {
    char *data;
    Device device;
    int32_t rank;
    DataType dtype;
    int64_t *sizes, *strides;
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
typedef void (*Interleaved)(void *const *const *pointers, const int64_t *const *numbers); /* of a group of kernels */
enum { ON_STACK = 32, MOST = 4096, MOST_INTERLEAVED = 8 };
/* Below this many elements, releasing the GIL costs more than it gains. */
enum { RELEASED_FROM = 1 << 16 };

/* A tensor's metadata: at most this many words of its TensorImpl, and of its autograd metadata. */
enum { DESCRIBED = 16, LEARNED = 4, INLINE = 5 };

/* A function of torch without arguments, called directly where it is plain C. */
typedef struct { PyObject *object; PyCFunction direct; } Asked;

static struct {
    const Api *api;
    PyTypeObject *tensor, *parameter;
    getter requires_grad;
    void *requires_grad_closure;
    PyCFunction is_negative;
    /* Offsets of the TensorImpl in a tensor's object, and of the dispatch keys in that; 0 where unknown. */
    Py_ssize_t implementation, kinds;
    uint64_t usual, of_inference;
    /* Offset of the element count in the TensorImpl, and torch's function for the data pointer: a quarter of the time
       of DLPack, which also reads sizes. NULL where one of them is unknown. */
    Py_ssize_t elements;
    void *(*address)(PyObject *tensor);
    /* Offsets in the TensorImpl of the words for sizes, strides, offset, element count, dtype, device and dispatch
       keys, of its storage and the storage's data pointer, and of the autograd metadata, with the words of that for
       requires_grad (`learning.py`). No words: unknown. */
    Py_ssize_t described, words, autograd, storage, data, learned[LEARNED], learned_count;
    PyObject *empty_strided, *data_pointer, *is_cpu, *is_neg, *count, *level, *is_view;
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

static inline uint64_t word(const void *base, Py_ssize_t place) {
    uint64_t found;
    memcpy(&found, (const char *)base + place, sizeof found);
    return found;
}

static inline const void *implementation(PyObject *object) {
    return (const void *)(uintptr_t)word(object, torch.implementation);
}

/* Whether CPU memory holds the tensor's values. A negated view, say, shares memory and sets the negative bit; other
   tensors have no memory, or are wrappers. */
static inline int is_plain(PyObject *object) {
    if (torch.kinds) {
        uint64_t kinds = word(implementation(object), torch.kinds);
        return kinds == torch.usual || kinds == torch.of_inference;
    }
    PyObject *marked = torch.is_negative(object, NULL);
    if (!marked) {
        PyErr_Clear();
        return 0;
    }
    Py_DECREF(marked);
    return marked == Py_False;
}

/* A tensor's element count, and whether it is contiguous in torch's sense: strides of axes of size 1 do not matter. */
static inline int64_t elements_of(const Tensor *tensor, int *packed) {
    int64_t count = 1;
    *packed = 1;
    for (int32_t axis = tensor->rank; axis-- > 0;) {
        if (tensor->sizes[axis] != 1 && tensor->strides[axis] != count) *packed = 0;
        count *= tensor->sizes[axis];
    }
    if (count == 0) *packed = 1;
    return count;
}

/* Whether kernels can read a tensor of torch's own class; no exception is set. */
static inline int read_exact(PyObject *object, Tensor *tensor, int64_t *elements, int *packed) {
    if (!is_plain(object)) return 0;
    if (torch.api->from_object(object, tensor)) {
        PyErr_Clear();
        return 0;
    }
    tensor->data += tensor->byte_offset;
    *elements = elements_of(tensor, packed);
    return tensor->device.type == CPU && tensor->dtype.lanes == 1 && (tensor->data || !*elements);
}

static int is_true(PyObject *answer) {
    int found = answer ? PyObject_IsTrue(answer) : -1;
    Py_XDECREF(answer);
    return found;
}

/* A snapshot of the metadata of a tensor of torch's own class. */
typedef struct {
    const void *implementation; /* NULL where it must be read each time */
    const void *autograd;
    uint64_t storage, data, described[DESCRIBED], learned[LEARNED];
} Seen;

static inline const void *autograd_of(const void *implementation) {
    return (const void *)(uintptr_t)word(implementation, torch.autograd);
}

/* The data pointer of a storage. */
static inline uint64_t data_of(uint64_t storage) {
    return word((const void *)(uintptr_t)storage, torch.data);
}

/* Take a snapshot of a tensor that has been read. Sizes of many axes are stored out of line, and a view's requires_grad
   is that of its base: such tensors are read each time, views only where gradients matter. */
static void look_at(PyObject *object, Seen *seen, int gradients) {
    seen->implementation = NULL;
    if (!torch.words) return;
    const void *found = implementation(object);
    if (word(found, torch.described) > INLINE) return;
    if (gradients) {
        int view = is_true(PyObject_CallMethodNoArgs(object, torch.is_view));
        if (view < 0) PyErr_Clear();
        if (view) return;
        if ((seen->autograd = autograd_of(found)))
            for (Py_ssize_t place = 0; place < torch.learned_count; place++)
                seen->learned[place] = word(seen->autograd, torch.learned[place]);
    }
    memcpy(seen->described, (const char *)found + torch.described, (size_t)torch.words * 8);
    seen->storage = word(found, torch.storage);
    seen->data = seen->storage ? data_of(seen->storage) : 0;
    seen->implementation = found;
}

/* Prefetch the metadata of a tensor that is checked soon: after the kernels of a model little of it is in cache. */
enum { AHEAD = 8 };
static inline void expect(PyObject *object, const Seen *seen) {
    __builtin_prefetch((char *)object + torch.implementation);
    if (!seen->implementation) return;
    __builtin_prefetch((const char *)seen->implementation + torch.described);
    __builtin_prefetch((const char *)seen->implementation + torch.described + 8 * torch.words - 1);
    if (seen->autograd && torch.learned_count)
        __builtin_prefetch((const char *)seen->autograd + torch.learned[torch.learned_count - 1]);
}

/* Whether sizes, strides, offset, dtype, device and dispatch keys are unchanged. */
static inline int is_as_seen(PyObject *object, const Seen *seen) {
    const void *found = implementation(object);
    return seen->implementation && found == seen->implementation &&
           !memcmp(seen->described, (const char *)found + torch.described, (size_t)torch.words * 8);
}

/* Whether the data pointer is unchanged. */
static inline int is_where_seen(const Seen *seen) {
    return seen->storage && word(seen->implementation, torch.storage) == seen->storage && data_of(seen->storage) == seen->data;
}

/* Whether requires_grad is unchanged. */
static inline int is_learned_as_seen(const Seen *seen) {
    if (autograd_of(seen->implementation) != seen->autograd) return 0;
    if (seen->autograd)
        for (Py_ssize_t place = 0; place < torch.learned_count; place++)
            if (seen->learned[place] != word(seen->autograd, torch.learned[place])) return 0;
    return 1;
}

/* Read a subclass by its methods, which may be overridden. -1 with an exception where one raises. */
static int read_subclass(PyObject *object, void **pointer, int64_t *elements) {
    int here = is_true(PyObject_GetAttr(object, torch.is_cpu));
    if (here <= 0) return here;
    int negative = is_true(PyObject_CallMethodNoArgs(object, torch.is_neg));
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

/* 0, or -1 with an exception. */
static int read_tensor(PyObject *object, void **pointer, int64_t *elements) {
    int readable;
    if (is_exact(object) && torch.address) {
        if (!(readable = is_plain(object))) goto unreadable;
        *elements = (int64_t)word(implementation(object), torch.elements);
        *pointer = torch.address(object);
        readable = *pointer || !*elements;
    } else if (is_exact(object)) {
        Tensor tensor;
        int packed;
        readable = read_exact(object, &tensor, elements, &packed);
        *pointer = tensor.data;
    } else if (PyType_IsSubtype(Py_TYPE(object), torch.tensor)) {
        readable = read_subclass(object, pointer, elements);
    } else {
        PyErr_Format(PyExc_TypeError, "a tensor is needed, not %s", Py_TYPE(object)->tp_name);
        return -1;
    }
unreadable:
    if (readable == 0)
        PyErr_Format(torch.unreadable, "a kernel of the CPU cannot read this %s: it needs dense memory on the CPU that "
                     "holds the values as they are", Py_TYPE(object)->tp_name);
    return readable > 0 ? 0 : -1;
}

/* Most integers have one digit, which is read without a call: 1 ns, else 3. */
static inline int read_digit(PyObject *object, int64_t *number) {
    if (!PyLong_CheckExact(object)) return 0;
#if PY_VERSION_HEX >= 0x030C0000
    if (!PyUnstable_Long_IsCompact((PyLongObject *)object)) return 0;
    *number = PyUnstable_Long_CompactValue((PyLongObject *)object);
#else
    Py_ssize_t digits = Py_SIZE(object);
    if (digits < -1 || digits > 1) return 0;
    *number = digits ? (int64_t)digits * ((PyLongObject *)object)->ob_digit[0] : 0;
#endif
    return 1;
}

static inline int read_number(PyObject *object, int64_t *number) {
    if (read_digit(object, number)) return 0;
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

/* ------------------------------------------------------------------ objects that own one tuple */

typedef struct {
    PyObject_HEAD
    vectorcallfunc call;
    PyObject *kept; /* owns what the rest of the object borrows */
    void *block;    /* its arrays */
} Owner;

static int owner_traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(((Owner *)self)->kept);
    return 0;
}

/* Borrowed references are not followed after this: the object is garbage. */
static PyObject *call_cleared(PyObject *self, PyObject *const *args, size_t flags, PyObject *keywords) {
    PyErr_SetString(PyExc_RuntimeError, "called after the garbage collector cleared it");
    return NULL;
}

static int owner_clear(PyObject *self) {
    ((Owner *)self)->call = call_cleared;
    Py_CLEAR(((Owner *)self)->kept);
    return 0;
}

static void owner_free(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    owner_clear(self);
    PyMem_Free(((Owner *)self)->block);
    type->tp_free(self);
    Py_DECREF(type);
}

enum { FLAGS = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_IMMUTABLETYPE };

/* The specification of a type of such objects. */
#define OWNER_TYPE(name, Name, freed, members, text)                                                                   \
    static PyType_Slot name##_slots[] = {                                                                              \
        {Py_tp_doc, text}, {Py_tp_new, new_##name}, {Py_tp_call, PyVectorcall_Call}, {Py_tp_members, members},         \
        {Py_tp_traverse, owner_traverse}, {Py_tp_clear, owner_clear}, {Py_tp_dealloc, freed}, {0, NULL}};              \
    static PyType_Spec name##_specification = {"backends.cpu.launcher." #Name, sizeof(Name), 0, FLAGS, name##_slots}

static PyMemberDef owner_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Owner, call), READONLY, NULL}, {NULL, 0, 0, 0, NULL}};

static Owner *new_owner(PyTypeObject *type, vectorcallfunc call, PyObject *kept, size_t bytes) {
    Owner *made = (Owner *)type->tp_alloc(type, 0);
    if (!made) return NULL;
    made->call = call;
    made->kept = Py_NewRef(kept);
    made->block = PyMem_Calloc(1, bytes ? bytes : 1);
    if (made->block) return made;
    Py_DECREF(made);
    return (Owner *)PyErr_NoMemory();
}

/* Fills an object's fields and arrays; runs twice: without a block it counts their bytes. -1 with an exception. */
typedef int (*Fill)(void *self, PyObject *args, char *block, size_t *used);

static PyObject *new_filled(PyTypeObject *type, PyObject *args, PyObject *named, vectorcallfunc call, Fill fill) {
    size_t used = 0;
    if (named && PyDict_GET_SIZE(named)) return PyErr_Format(PyExc_TypeError, "%s is made by position", type->tp_name);
    Owner *made = new_owner(type, call, args, 0);
    if (!made) return NULL;
    if (!fill(made, args, NULL, &used)) {
        PyMem_Free(made->block);
        made->block = PyMem_Calloc(1, used ? used : 1);
        used = 0;
        if (!made->block) PyErr_NoMemory();
        else if (!fill(made, args, made->block, &used)) return (PyObject *)made;
    }
    Py_DECREF(made);
    return NULL;
}

/* Allocate from an object's block of arrays; the first pass only counts. */
static void *take(char *block, size_t *used, size_t bytes) {
    void *found = block ? block + *used : NULL;
    *used += (bytes + 7) & ~(size_t)7;
    return found;
}
