/* The functions that a thread runs: bind(list, entered, files, engine) begins to add calls to the list, each a function, its code
   then, and that of its caller, and calls `entered` with the function before it runs, if that is not None; bind(None) ends it.
   Left out are functions in files whose names begin with one of `files`, and those that are called from files whose names begin
   with one of `engine`. A hook of the interpreter (PEP 523) sees each frame before it runs. */
#define Py_BUILD_CORE
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include "internal/pycore_frame.h"
#if PY_VERSION_HEX >= 0x030c0000
#error "frames are laid out otherwise"
#endif

#define MOST 16     /* traces at once, in other threads or inside of each other */
#define KNOWN 8192  /* calls that were added lately */

typedef struct {
    PyThreadState *thread;
    PyObject *calls, *entered, *files, *engine;
    int busy;   /* calling `entered`, whose own frames are not noted */
    struct { void *what, *by; } known[KNOWN];
} Watch;

static Watch *watches[MOST];
static int count = 0;
static _PyFrameEvalFunction evaluate;

static int is_in(PyCodeObject *code, PyObject *places) {
    PyObject *name = code->co_filename;
    if (!PyUnicode_IS_COMPACT_ASCII(name)) return 0;
    Py_ssize_t length = PyUnicode_GET_LENGTH(name);
    for (Py_ssize_t place = 0; place < PyTuple_GET_SIZE(places); place++) {
        PyObject *begin = PyTuple_GET_ITEM(places, place);
        Py_ssize_t size = PyBytes_GET_SIZE(begin);
        if (size <= length && !memcmp(PyUnicode_DATA(name), PyBytes_AS_STRING(begin), size)) return 1;
    }
    return 0;
}

static Watch *watch_of(PyThreadState *thread) {
    for (int place = count; place-- > 0;)
        if (watches[place]->thread == thread) return watches[place];
    return NULL;
}

static void tell(Watch *watch, PyObject *function) {
    watch->busy = 1;
    PyObject *done = PyObject_CallOneArg(watch->entered, function);
    if (!done) PyErr_WriteUnraisable(watch->entered);
    Py_XDECREF(done);
    watch->busy = 0;
}

static void note(Watch *watch, PyThreadState *thread, struct _PyInterpreterFrame *frame) {
    PyCodeObject *code = frame->f_code;
    if (is_in(code, watch->files)) return;
    struct _PyInterpreterFrame *caller = thread->cframe->current_frame;
    if (caller && is_in(caller->f_code, watch->engine)) return;
    PyObject *by = caller ? (PyObject *)caller->f_code : Py_None;
    /* functions with one code differ in their closures only */
    void *what = code->co_nfreevars ? (void *)frame->f_func : (void *)code;
    size_t place = (((size_t)what >> 4) ^ ((size_t)by >> 4) * 31) % KNOWN;
    if (watch->known[place].what == what && watch->known[place].by == (void *)by) return;
    PyObject *call = PyTuple_Pack(3, (PyObject *)frame->f_func, (PyObject *)code, by);
    if (call && PyList_Append(watch->calls, call) == 0) {
        watch->known[place].what = what;
        watch->known[place].by = by;
        if (watch->entered != Py_None) tell(watch, (PyObject *)frame->f_func);
    } else
        PyErr_Clear();
    Py_XDECREF(call);
}

static PyObject *noted(PyThreadState *thread, struct _PyInterpreterFrame *frame, int throwing) {
    Watch *watch = throwing ? NULL : watch_of(thread);
    if (watch && !watch->busy) note(watch, thread, frame);
    return evaluate(thread, frame, throwing);
}

static int is_places(PyObject *places) {
    if (!PyTuple_CheckExact(places)) return 0;
    for (Py_ssize_t place = 0; place < PyTuple_GET_SIZE(places); place++)
        if (!PyBytes_CheckExact(PyTuple_GET_ITEM(places, place))) return 0;
    return 1;
}

static PyObject *begin(
    PyThreadState *thread, PyObject *calls, PyObject *entered, PyObject *files, PyObject *engine) {
    _PyFrameEvalFunction present = _PyInterpreterState_GetEvalFrameFunc(thread->interp);
    /* not where another hook came in between: it would be lost, or this one called for ever */
    if (count == MOST || (count && present != noted)) Py_RETURN_FALSE;
    Watch *watch = PyMem_Calloc(1, sizeof *watch);
    if (!watch) return PyErr_NoMemory();
    watch->thread = thread;
    watch->calls = Py_NewRef(calls);
    watch->entered = Py_NewRef(entered);
    watch->files = Py_NewRef(files);
    watch->engine = Py_NewRef(engine);
    if (!count) {
        evaluate = present;
        _PyInterpreterState_SetEvalFrameFunc(thread->interp, noted);
    }
    watches[count++] = watch;
    Py_RETURN_TRUE;
}

static PyObject *bind(PyObject *module, PyObject *const *args, Py_ssize_t given) {
    PyThreadState *thread = PyThreadState_Get();
    if (given == 4 && PyList_CheckExact(args[0]) && is_places(args[2]) && is_places(args[3]))
        return begin(thread, args[0], args[1], args[2], args[3]);
    if (given != 1 || args[0] != Py_None)
        return PyErr_Format(PyExc_TypeError, "a list, a function or None, and two tuples, or None");
    for (int place = count; place-- > 0;) {
        Watch *watch = watches[place];
        if (watch->thread != thread) continue;
        count--;
        memmove(watches + place, watches + place + 1, (count - place) * sizeof *watches);
        if (!count && _PyInterpreterState_GetEvalFrameFunc(thread->interp) == noted)
            _PyInterpreterState_SetEvalFrameFunc(thread->interp, evaluate);
        Py_DECREF(watch->calls);
        Py_DECREF(watch->entered);
        Py_DECREF(watch->files);
        Py_DECREF(watch->engine);
        PyMem_Free(watch);
        Py_RETURN_TRUE;
    }
    Py_RETURN_FALSE;
}

static PyMethodDef functions[] = {{"bind", (PyCFunction)(void (*)(void))bind, METH_FASTCALL, "Begin or end to watch this thread."}, {NULL, NULL, 0, NULL}};
static PyModuleDef_Slot stages[] = {{0, NULL}};
static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "symshape_check", NULL, 0, functions, stages, NULL, NULL, NULL};
PyMODINIT_FUNC PyInit_symshape_check(void) { return PyModuleDef_Init(&definition); }
