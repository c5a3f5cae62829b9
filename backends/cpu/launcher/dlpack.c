/* Arrays through the DLPack C exchange API: a table of C functions that a type offers in a capsule,
   `__dlpack_c_exchange_api__`. No header and no layout of a library is needed, and reading calls no Python. */
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

/* Of dlpack.h 1.3, field by field. */
typedef struct { uint32_t major, minor; } Version;
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
typedef struct Managed {
    Version version;
    void *context;
    void (*deleter)(struct Managed *);
    uint64_t flags;
    Tensor tensor;
} Managed;
typedef struct Api {
    Version version;
    const struct Api *previous; /* an older one, NULL for none */
    int (*allocate)(Tensor *prototype, Managed **out, void *context, void (*fail)(void *, const char *, const char *));
    int (*from_object_managed)(void *object, Managed **out);
    int (*to_object)(Managed *managed, void **object); /* takes over the memory */
    int (*from_object)(void *object, Tensor *out);     /* borrows; may be NULL */
    int (*current_stream)(int32_t device_type, int32_t device_id, void **out);
} Api;
enum { CPU = 1, COMPLEX = 5, MAJOR = 1, MINOR = 3 };

/* The table in an object that should be its capsule, of a version that is known and with the functions that are used
   here; NULL without an exception. */
static const Api *api_in(PyObject *capsule) {
    const char *name = "dlpack_exchange_api";
    const Api *api = PyCapsule_IsValid(capsule, name) ? PyCapsule_GetPointer(capsule, name) : NULL;
    while (api && api->version.major > MAJOR) api = api->previous;
    if (!api || api->version.major != MAJOR || api->version.minor < MINOR) return NULL;
    return api->from_object && api->to_object ? api : NULL;
}

/* Types besides torch's that offer the API, each kept alive; of more types it is looked up at each call. */
enum { ARRAYS = 16 };
static struct { PyTypeObject *type; const Api *api; } arrays[ARRAYS];
static int array_types;

/* The API that a type offers itself: a subclass may read its memory in another way. NULL without an exception. */
static const Api *api_of_type(PyTypeObject *type) {
    for (int place = 0; place < array_types; place++)
        if (arrays[place].type == type) return arrays[place].api;
    PyObject *own = PyObject_GetAttrString((PyObject *)type, "__dict__");
    PyObject *capsule = own ? PyMapping_GetItemString(own, "__dlpack_c_exchange_api__") : NULL;
    const Api *api = capsule ? api_in(capsule) : NULL;
    PyErr_Clear();
    Py_XDECREF(own);
    Py_XDECREF(capsule); /* the type holds it, too */
    if (api && array_types < ARRAYS) {
        arrays[array_types].type = (PyTypeObject *)Py_NewRef(type);
        arrays[array_types++].api = api;
    }
    return api;
}

/* An array's element count, and whether it is contiguous in torch's sense: strides of axes of size 1 do not matter. */
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

/* Read an array of a type that offers this API; 0 where it is not in dense memory on the CPU. No exception is set. */
static inline int read_array(const Api *api, PyObject *object, Tensor *tensor, int64_t *elements, int *packed) {
    if (api->from_object(object, tensor)) {
        PyErr_Clear();
        return 0;
    }
    if (tensor->device.type != CPU || tensor->dtype.lanes != 1 || (tensor->rank && !tensor->strides)) return 0;
    if (tensor->data) tensor->data += tensor->byte_offset;
    *elements = elements_of(tensor, packed);
    return tensor->data || !*elements;
}

enum { ALIGNED = 256 }; /* what DLPack asks for */

static void free_managed(Managed *managed) { free(managed); }

/* A new array of the type that offers this API, by sizes and then strides; NULL with an exception. */
static PyObject *made_array(const Api *api, DataType dtype, int32_t rank, const int64_t *layout) {
    int64_t reach = 0, elements = 1, bytes;
    for (int32_t axis = 0; axis < rank; axis++) {
        int64_t along;
        if (layout[axis] < 0 || layout[rank + axis] < 0)
            return PyErr_Format(PyExc_ValueError, "an array of a negative size or stride");
        if (__builtin_mul_overflow(layout[axis] ? layout[axis] - 1 : 0, layout[rank + axis], &along) ||
            __builtin_add_overflow(reach, along, &reach))
            return PyErr_NoMemory();
        if (!layout[axis]) elements = 0;
    }
    int64_t header = (int64_t)sizeof(Managed) + 2 * (int64_t)rank * (int64_t)sizeof(int64_t);
    header = (header + ALIGNED - 1) & -(int64_t)ALIGNED;
    if (__builtin_mul_overflow(reach + elements, (int64_t)(dtype.bits / 8), &bytes) ||
        __builtin_add_overflow(bytes, header, &bytes))
        return PyErr_NoMemory();
    void *block, *object = NULL;
    if (posix_memalign(&block, ALIGNED, (size_t)bytes)) return PyErr_NoMemory();
    Managed *managed = block;
    int64_t *sizes = (int64_t *)(managed + 1);
    memcpy(sizes, layout, 2 * (size_t)rank * sizeof(int64_t));
    *managed = (Managed){{MAJOR, MINOR}, NULL, free_managed, 0,
                         {(char *)block + header, {CPU, 0}, rank, dtype, sizes, sizes + rank, 0}};
    if (!api->to_object(managed, &object) && object) return object;
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_RuntimeError, "no array was made of new memory");
    return NULL;
}

