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
