/* The functions that a thread runs: bind(list, observers, places) begins to add calls to the list, each a function, its code
   then, and that of its caller; bind(None) ends it. `places` are five tuples, of what names of files begin with. Left out are
   functions in files of the first, and those that are called from files of the second. A hook of the interpreter (PEP 523) sees
   each frame before it runs.

   `observers` is None or three functions:
   - entered(function), before a function runs for the first time;
   - changes(kind, owner, given, code, offset), before an instruction of the program changes `owner`, or calls it with
     `given`, if the callable is not Python's; of a callable or an owner for which it gives True it is not told again,
     until it gives None for one; or compares both by `is`. Of classes it is told where an object's end may be seen;
   - audited(event, arguments), before Python does what its audit hooks are told of.
   What these raise, the program raises. bind(function) is what a `functools.lru_cache` remembers, and bind(function, that)
   has it remember that again; bind(function, list) begins to add to the list how this thread uses it, until
   bind(function, None), and bind(function, key, times) is the result for a key, which is used so often. The instructions are those of functions outside of the third and the fourth of `places`,
   or in files of the fifth. The interpreter's own tracing stops before each of them; it is on in such functions only. */
#define Py_BUILD_CORE
#define NEED_OPCODE_TABLES
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include "internal/pycore_frame.h"
#include "internal/pycore_gc.h"
#include "internal/pycore_interp.h"
#include "internal/pycore_opcode.h"
#include "opcode.h"
#if PY_VERSION_HEX >= 0x030c0000
#error "frames are laid out otherwise"
#endif

#define MOST 16     /* traces at once, in other threads or inside of each other */
#define KNOWN 8192  /* calls that were added lately */

typedef struct {
    PyThreadState *thread;
    PyObject *calls, *entered, *changes, *audited, *places;
    int busy;       /* calling an observer, whose own frames are not noted */
    int importing;  /* what a module does when it is imported is not the program's */
    void *told[KNOWN]; /* owners whose state is known, and callables of which nothing need be told */
    struct { void *what, *by; } known[KNOWN];
} Watch;

static Watch *watches[MOST];
static int count = 0;
static _PyFrameEvalFunction evaluate;
enum { OURS, ENGINE, STATELESS, LIBRARY, WATCHED, KINDS };

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

static int in(PyCodeObject *code, Watch *watch, int which) { return is_in(code, PyTuple_GET_ITEM(watch->places, which)); }

static int is_of_framework(_PyInterpreterFrame *frame) {
    /* what was made of a text, by its module: `__init__` of dataclasses */
    PyObject *file = frame->f_code->co_filename;
    if (!PyUnicode_IS_COMPACT_ASCII(file) || *(char *)PyUnicode_DATA(file) != '<') return 0;
    if (!strncmp(PyUnicode_DATA(file), "<doctest", 8)) return 0;
    PyObject *name = PyDict_GetItemString(frame->f_globals, "__name__");
    if (!name || !PyUnicode_Check(name) || !PyUnicode_IS_COMPACT_ASCII(name)) return 0;
    static const char *const begins[] = {"frontends.", "backends.", "shapes.", "solver.", "torch.", NULL};
    for (int place = 0; begins[place]; place++)
        if (!strncmp(PyUnicode_DATA(name), begins[place], strlen(begins[place]))) return 1;
    return 0;
}

static int is_programs(PyCodeObject *code, Watch *watch) {
    return !(in(code, watch, LIBRARY) || in(code, watch, STATELESS));
}

static void tell(Watch *watch, PyObject *function) {
    watch->busy = 1;
    PyObject *done = PyObject_CallOneArg(watch->entered, function);
    if (!done) PyErr_WriteUnraisable(watch->entered);
    Py_XDECREF(done);
    watch->busy = 0;
}

/* ------------------------------------------------------------------ what instructions change */

static int is_told(Watch *watch, void *what) { return watch->told[((size_t)what >> 4) % KNOWN] == what; }

static int changes(Watch *watch, const char *kind, PyObject *owner, PyObject *given, _PyInterpreterFrame *frame) {
    int compares = *kind == 'c' && !strcmp(kind, "compared");
    if (!compares && is_told(watch, owner)) return 0;
    int offset = _PyInterpreterFrame_LASTI(frame) * sizeof(_Py_CODEUNIT);
    watch->busy++;
    PyObject *done = PyObject_CallFunction(
        watch->changes, "sOOOi", kind, owner, given ? given : Py_None, (PyObject *)frame->f_code, offset);
    if (watch != watch_of(PyThreadState_Get())) {
        /* the observer ended it */
        Py_XDECREF(done);
        return done ? 0 : -1;
    }
    watch->busy--;
    if (!done) return -1;
    /* the observer keeps it, so that nothing else comes to be at its address */
    if (done == Py_None) memset(watch->told, 0, sizeof watch->told);
    if (done == Py_True) watch->told[((size_t)owner >> 4) % KNOWN] = owner;
    Py_DECREF(done);
    return 0;
}

static int is_once(PyObject *value) {
    /* an iterator that gives each item once, and that is not only here */
    return Py_TYPE(value)->tp_iternext && Py_TYPE(value)->tp_iternext != _PyObject_NextNotImplemented && Py_REFCNT(value) > 1;
}

static int is_weak(PyObject *value) {
    /* a class of weak references */
    return PyType_Check(value) && PyType_IsSubtype((PyTypeObject *)value, &_PyWeakref_RefType);
}

static int is_remembering(PyObject *value) { return !strcmp(Py_TYPE(value)->tp_name, "functools._lru_cache_wrapper"); }

static int called(Watch *watch, PyObject *callable, PyObject **first, Py_ssize_t count, _PyInterpreterFrame *frame) {
    PyTypeObject *kind = Py_TYPE(callable);
    PyObject *before = NULL;
    if (kind == &PyMethod_Type) {
        before = PyMethod_GET_SELF(callable);
        callable = PyMethod_GET_FUNCTION(callable);
        kind = Py_TYPE(callable);
    }
    if (is_told(watch, callable)) return 0;
    if (kind == &PyFunction_Type) {
        PyCodeObject *code = (PyCodeObject *)PyFunction_GET_CODE(callable);
        if (!in(code, watch, OURS) && (is_programs(code, watch) || in(code, watch, WATCHED))) return 0;
    } else if (PyType_Check(callable)) {
        int told = is_weak(callable) || ((PyTypeObject *)callable)->tp_finalize;
        for (Py_ssize_t place = 0; place < count; place++)
            told |= is_once(first[place]) || is_weak(first[place]) || is_remembering(first[place]);
        if (!told) return 0;
    } else if ((kind->tp_flags & Py_TPFLAGS_HEAPTYPE) && !kind->tp_vectorcall_offset && !is_remembering(callable))
        return 0; /* an object of a class in Python, whose method is watched */
    PyObject *given = PyTuple_New(count + (before != NULL));
    if (!given) return -1;
    if (before) PyTuple_SET_ITEM(given, 0, Py_NewRef(before));
    int once = 0;
    for (Py_ssize_t place = 0; place < count; place++) once |= is_once(first[place]);
    for (Py_ssize_t place = 0; place < count; place++)
        PyTuple_SET_ITEM(given, place + (before != NULL), Py_NewRef(first[place]));
    int failed = changes(watch, once ? "call" : "fresh", callable, given, frame);
    Py_DECREF(given);
    return failed;
}

static int is_plain(PyObject *value) {
    /* what no tensor and no container of them is: None, a truth, a class, a number, a text, ... */
    return value == Py_None || value == Py_Ellipsis || PyType_Check(value) || PyBool_Check(value) ||
           PyLong_CheckExact(value) || PyFloat_CheckExact(value) || PyUnicode_CheckExact(value) || PyFunction_Check(value);
}

static int watched(PyObject *unused, PyFrameObject *object, int event, PyObject *argument) {
    if (event == PyTrace_CALL) {
        object->f_trace_lines = 0;
        object->f_trace_opcodes = 1;
        return 0;
    }
    if (event != PyTrace_OPCODE) return 0;
    PyThreadState *thread = PyThreadState_Get();
    Watch *watch = watch_of(thread);
    if (!watch || watch->busy) return 0;
    _PyInterpreterFrame *frame = object->f_frame;
    _Py_CODEUNIT *next = frame->prev_instr;
    int code = _PyOpcode_Deopt[_Py_OPCODE(*next)], oparg = _Py_OPARG(*next);
    while (code == EXTENDED_ARG) {
        next++;
        code = _PyOpcode_Deopt[_Py_OPCODE(*next)];
        oparg = oparg << 8 | _Py_OPARG(*next);
    }
    PyObject **top = frame->localsplus + frame->stacktop;
#define PEEK(n) top[-(n)]
    switch (code) {
    case STORE_ATTR:
    case DELETE_ATTR:
        return changes(watch, "attribute", PEEK(1), PyTuple_GET_ITEM(frame->f_code->co_names, oparg), frame);
    case STORE_SUBSCR:
    case DELETE_SUBSCR:
        return changes(watch, "item", PEEK(2), NULL, frame);
    case STORE_DEREF:
    case DELETE_DEREF:
        return changes(watch, "variable", frame->localsplus[oparg], NULL, frame);
    case STORE_GLOBAL:
    case DELETE_GLOBAL:
        return changes(watch, "global", frame->f_globals, PyTuple_GET_ITEM(frame->f_code->co_names, oparg), frame);
    case BINARY_OP:
        if (oparg < NB_INPLACE_ADD || PyLong_CheckExact(PEEK(2)) || PyFloat_CheckExact(PEEK(2))) return 0;
        return changes(watch, "itself", PEEK(2), NULL, frame);
    case IS_OP:
        if (is_plain(PEEK(1)) || is_plain(PEEK(2))) return 0;
        return changes(watch, "compared", PEEK(2), PEEK(1), frame);
    case BINARY_SUBSCR:
        return PyDict_Check(PEEK(2)) && !PyDict_CheckExact(PEEK(2)) ? changes(watch, "read", PEEK(2), NULL, frame) : 0;
    case GET_ITER:
    case UNPACK_SEQUENCE:
    case UNPACK_EX:
    case CONTAINS_OP:
    case LIST_EXTEND:
    case SET_UPDATE:
    case GET_YIELD_FROM_ITER:
        return is_once(PEEK(1)) ? changes(watch, "iterator", PEEK(1), NULL, frame) : 0;
    case PRECALL: {
        int method = PEEK(oparg + 2) != NULL;
        return called(watch, PEEK(oparg + 1 + method), &PEEK(oparg + method), oparg + method, frame);
    }
    case CALL_FUNCTION_EX: {
        PyObject *given = PEEK(1 + (oparg & 1));
        if (!PyTuple_CheckExact(given))
            return is_once(given) ? changes(watch, "iterator", given, NULL, frame) : 0;
        return called(watch, PEEK(2 + (oparg & 1)), &PyTuple_GET_ITEM(given, 0), PyTuple_GET_SIZE(given), frame);
    }
    }
    return 0;
#undef PEEK
}

static int audit(const char *event, PyObject *arguments, void *unused) {
    if (!count || !_PyThreadState_UncheckedGet()) return 0;
    Watch *watch = watch_of(PyThreadState_Get());
    if (!watch || watch->busy || watch->audited == Py_None || watch->importing) return 0;
    static const char *const begins[] = {"open", "os.", "socket.", "subprocess.", "shutil.", "time.sleep", "tempfile.",
        "signal.", "_thread.", "pty.", "fcntl.", "mmap.", "sqlite3.", "webbrowser.", "smtplib.", "ftplib.", "urllib.",
        "http.", "builtins.input", "syslog.", "sys.set", "sys.addaudithook", "resource.set", "pathlib.Path", NULL};
    for (int place = 0; begins[place]; place++) {
        if (strncmp(event, begins[place], strlen(begins[place]))) continue;
        watch->busy++;
        PyObject *done = PyObject_CallFunction(watch->audited, "sO", event, arguments);
        watch->busy--;
        Py_XDECREF(done);
        return done ? 0 : -1;
    }
    return 0;
}

static PyObject *young(PyObject *asked) {
    /* which of the objects the collector looks at: not those that were frozen */
    Py_ssize_t size = PyTuple_GET_SIZE(asked), slots = 64;
    while (slots < size * 4) slots *= 2;
    PyObject **table = PyMem_Calloc(slots, sizeof *table), *found = PySet_New(NULL);
    if (!table || !found) return PyErr_NoMemory();
    for (Py_ssize_t each = 0; each < size; each++) {
        PyObject *value = PyTuple_GET_ITEM(asked, each);
        size_t slot = ((size_t)value >> 4) & (slots - 1);
        while (table[slot]) slot = (slot + 1) & (slots - 1);
        table[slot] = value;
    }
    PyThreadState *thread = PyThreadState_Get();
    for (int generation = 0; generation < NUM_GENERATIONS; generation++) {
    PyGC_Head *head = &thread->interp->gc.generations[generation].head;
    for (PyGC_Head *each = _PyGCHead_NEXT(head); each != head; each = _PyGCHead_NEXT(each)) {
        PyObject *value = (PyObject *)(each + 1);
        for (size_t slot = ((size_t)value >> 4) & (slots - 1); table[slot]; slot = (slot + 1) & (slots - 1))
            if (table[slot] == value) {
                table[slot] = Py_None; /* found, and no end of a chain */
                PyObject *number = PyLong_FromVoidPtr(value);
                if (number) PySet_Add(found, number);
                Py_XDECREF(number);
                break;
            }
    }
    }
    PyMem_Free(table);
    return found;
}

/* ------------------------------------------------------------------ results that are remembered */

typedef struct Link {
    PyObject_HEAD
    struct Link *previous, *next;
    Py_hash_t hash;
    PyObject *key, *result;
} Link;

typedef PyObject *(*Wrapper)(void *, PyObject *, PyObject *);

typedef struct {
    Link root;
    Wrapper wrapper;
    int typed;
    PyObject *cache; /* by key, a link, or the result where there is no bound */
    Py_ssize_t hits;
    PyObject *function;
    Py_ssize_t most, misses;
    PyObject *mark; /* between the arguments of a key and those by name */
} Remembering; /* a `functools.lru_cache`, as this version of Python lays it out */

/* A function whose uses by a thread are noted: its first state, and then keys and results. What functions that remember
   ask of each other they do not ask when they are asked again: it is left out. */
typedef struct Followed {
    struct Followed *next;
    PyThreadState *thread;
    Remembering *function;
    Wrapper plain;
    PyObject *uses;
} Followed;

static Followed *followed = NULL;
static _Thread_local int inside = 0; /* of calls of such functions */

static PyObject *remembered(Remembering *self) {
    /* what a function remembers, in the order of its use where that matters, and its counts; a link is used again for another result */
    PyObject *links = PyList_New(0), *cache = PyDict_Copy(self->cache);
    for (Link *each = self->root.next; links && each != &self->root; each = each->next) {
        PyObject *parts = Py_BuildValue("OOOn", each, each->key, each->result, each->hash);
        if (!parts || PyList_Append(links, parts)) Py_CLEAR(links);
        Py_XDECREF(parts);
    }
    if (links && cache) return Py_BuildValue("NNnn", links, cache, self->hits, self->misses);
    Py_XDECREF(links);
    Py_XDECREF(cache);
    return NULL;
}

static PyObject *remember(Remembering *self, PyObject *before) {
    /* have it remember what it did then, and nothing else: the list of links has a reference to each */
    PyObject *links, *cache;
    Py_ssize_t hits, misses;
    if (!PyArg_ParseTuple(before, "O!O!nn", &PyList_Type, &links, &PyDict_Type, &cache, &hits, &misses)) return NULL;
    PyObject *now = remembered(self);
    if (!now) return NULL;
    Link *last = &self->root;
    for (Py_ssize_t place = 0; place < PyList_GET_SIZE(links); place++) {
        PyObject *parts = PyList_GET_ITEM(links, place);
        Link *each = (Link *)Py_NewRef(PyTuple_GET_ITEM(parts, 0));
        Py_XSETREF(each->key, Py_NewRef(PyTuple_GET_ITEM(parts, 1)));
        Py_XSETREF(each->result, Py_NewRef(PyTuple_GET_ITEM(parts, 2)));
        each->hash = PyLong_AsSsize_t(PyTuple_GET_ITEM(parts, 3));
        each->previous = last;
        last->next = each;
        last = each;
    }
    last->next = &self->root;
    self->root.previous = last;
    self->hits = hits;
    self->misses = misses;
    PyDict_Clear(self->cache);
    int failed = PyDict_Update(self->cache, cache);
    PyObject *gone = PyTuple_GET_ITEM(now, 0);
    for (Py_ssize_t place = 0; place < PyList_GET_SIZE(gone); place++)
        Py_DECREF(PyTuple_GET_ITEM(PyList_GET_ITEM(gone, place), 0));
    Py_DECREF(now);
    if (failed) return NULL;
    Py_RETURN_NONE;
}

static PyObject *key_of(Remembering *self, PyObject *args, PyObject *named) {
    /* as Python's own */
    Py_ssize_t count = PyTuple_GET_SIZE(args), by_name = named ? PyDict_GET_SIZE(named) : 0;
    if (!self->typed && !by_name) {
        PyObject *only = count == 1 ? PyTuple_GET_ITEM(args, 0) : NULL;
        return Py_NewRef(only && (PyUnicode_CheckExact(only) || PyLong_CheckExact(only)) ? only : args);
    }
    PyObject *key = PyTuple_New(count + (by_name ? 1 + 2 * by_name : 0) + (self->typed ? count + by_name : 0));
    if (!key) return NULL;
    Py_ssize_t next = 0, at = 0;
    PyObject *name, *value;
    for (Py_ssize_t place = 0; place < count; place++) PyTuple_SET_ITEM(key, next++, Py_NewRef(PyTuple_GET_ITEM(args, place)));
    if (by_name) PyTuple_SET_ITEM(key, next++, Py_NewRef(self->mark));
    while (by_name && PyDict_Next(named, &at, &name, &value)) {
        PyTuple_SET_ITEM(key, next++, Py_NewRef(name));
        PyTuple_SET_ITEM(key, next++, Py_NewRef(value));
    }
    if (!self->typed) return key;
    for (Py_ssize_t place = 0; place < count; place++)
        PyTuple_SET_ITEM(key, next++, Py_NewRef(Py_TYPE(PyTuple_GET_ITEM(args, place))));
    at = 0;
    while (by_name && PyDict_Next(named, &at, &name, &value)) PyTuple_SET_ITEM(key, next++, Py_NewRef(Py_TYPE(value)));
    return key;
}

static PyObject *result_of(Remembering *self, PyObject *key, Py_ssize_t times) {
    /* what it remembers for a key, NotImplemented if nothing; that it is used makes it the last to be dropped */
    PyObject *found = self->most ? PyDict_GetItemWithError(self->cache, key) : NULL;
    if (!found) return PyErr_Occurred() ? NULL : Py_NewRef(Py_NotImplemented);
    self->hits += times;
    if (self->most < 0) return Py_NewRef(found);
    Link *link = (Link *)found;
    if (times) {
        link->previous->next = link->next;
        link->next->previous = link->previous;
        link->previous = self->root.previous;
        link->next = &self->root;
        link->previous->next = self->root.previous = link;
    }
    return Py_NewRef(link->result);
}

static PyObject *noted_use(void *function, PyObject *args, PyObject *named) {
    /* a call of a function that is followed */
    Remembering *self = function;
    PyThreadState *thread = PyThreadState_Get();
    Watch *watch = watch_of(thread);
    Wrapper plain = NULL;
    PyObject *uses = NULL, *key = NULL;
    for (Followed *each = followed; each; each = each->next)
        if (each->function == self) {
            plain = each->plain;
            if (each->thread == thread) uses = each->uses;
        }
    if (!uses || !watch || watch->busy) return plain(function, args, named);
    Py_INCREF(uses);
    PyObject *before = PyList_GET_SIZE(uses) ? NULL : remembered(self), *result = NULL;
    if (!PyErr_Occurred() && (!before || !PyList_Append(uses, before)) && (key = key_of(self, args, named))) {
        inside++;
        result = plain(function, args, named);
        inside--;
        if (result && !inside) {
            PyObject *use = PyTuple_Pack(2, key, result);
            if (!use || PyList_Append(uses, use)) Py_CLEAR(result);
            Py_XDECREF(use);
        }
    }
    Py_XDECREF(before);
    Py_XDECREF(key);
    Py_DECREF(uses);
    return result;
}

static PyObject *follow(Remembering *self, PyObject *uses) {
    /* begin with a list of its uses, end with None: False where this thread does already, or does not */
    PyThreadState *thread = PyThreadState_Get();
    Wrapper plain = NULL;
    Followed **own = NULL;
    int others = 0;
    for (Followed **each = &followed; *each; each = &(*each)->next)
        if ((*each)->function == self) {
            plain = (*each)->plain;
            if ((*each)->thread == thread) own = each;
            else others = 1;
        }
    if ((uses == Py_None) != (own != NULL)) Py_RETURN_FALSE;
    if (uses == Py_None) {
        Followed *ended = *own;
        *own = ended->next;
        if (!others) self->wrapper = plain;
        Py_DECREF(ended->function);
        Py_DECREF(ended->uses);
        PyMem_Free(ended);
        Py_RETURN_TRUE;
    }
    Followed *begun = PyMem_Malloc(sizeof *begun);
    if (!begun) return PyErr_NoMemory();
    *begun = (Followed){followed, thread, (Remembering *)Py_NewRef(self), plain ? plain : self->wrapper, Py_NewRef(uses)};
    followed = begun;
    self->wrapper = noted_use;
    Py_RETURN_TRUE;
}

/* ------------------------------------------------------------------ frames */

static void note(Watch *watch, PyThreadState *thread, struct _PyInterpreterFrame *frame) {
    PyCodeObject *code = frame->f_code;
    struct _PyInterpreterFrame *caller = thread->cframe->current_frame;
    if (caller && in(caller->f_code, watch, ENGINE)) return;
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

static void imported(Watch *watch, int imports) {
    /* a watch that began inside of an import has not counted it */
    if (imports && watch->importing > 0) watch->importing--;
}

static PyObject *hooked(PyThreadState *thread, struct _PyInterpreterFrame *frame, int throwing) {
    Watch *watch = watch_of(thread);
    if (!watch || watch->busy) return evaluate(thread, frame, throwing);
    PyCodeObject *code = frame->f_code;
    int ours = in(code, watch, OURS);
    if (!ours && !throwing) note(watch, thread, frame);
    if (watch->changes == Py_None) return evaluate(thread, frame, throwing);
    Py_tracefunc tracing = thread->c_tracefunc;
    int module = !(code->co_flags & CO_OPTIMIZED);
    /* of the library what the program calls, and not what torch does */
    int follows = !ours && !module && !watch->importing &&
                  !is_of_framework(frame) && (is_programs(code, watch) || (tracing == watched && in(code, watch, WATCHED)));
    int imports = (module && PyUnicode_CompareWithASCIIString(code->co_name, "<module>") == 0) ||
                  (PyUnicode_IS_COMPACT_ASCII(code->co_filename) &&
                   !strncmp(PyUnicode_DATA(code->co_filename), "<frozen importlib", 17));
    _PyCFrame *before = thread->cframe;
    int use = before->use_tracing;
    if (!follows && tracing != watched) {
        /* another's, or none */
        watch->importing += imports;
        PyObject *result = evaluate(thread, frame, throwing);
        watch = watch_of(thread);
        if (watch) imported(watch, imports);
        return result;
    }
    if (tracing && tracing != watched) return evaluate(thread, frame, throwing);
    thread->c_tracefunc = follows ? watched : NULL;
    before->use_tracing = follows || thread->c_profilefunc ? 255 : 0;
    watch->importing += imports;
    PyObject *result = evaluate(thread, frame, throwing);
    watch = watch_of(thread);
    if (watch) imported(watch, imports);
    thread->c_tracefunc = tracing;
    thread->cframe->use_tracing = use;
    return result;
}

#define DEEPEST 4000    /* calls inside of each other: with a hook each takes a part of the stack of C */
static _Thread_local int deep = 0;
static _Thread_local struct _PyInterpreterFrame *present_frame = NULL;

static PyObject *noted(PyThreadState *thread, struct _PyInterpreterFrame *frame, int throwing) {
    /* a hook that was set after this one, as Dynamo's is, leads back here when it was not gone as this one was set
       again: the frame was seen */
    if (frame == present_frame) return _PyEval_EvalFrameDefault(thread, frame, throwing);
    if (!count) {
        /* put back by such a hook, after all watches ended */
        if (_PyInterpreterState_GetEvalFrameFunc(thread->interp) == noted)
            _PyInterpreterState_SetEvalFrameFunc(thread->interp, evaluate);
        struct _PyInterpreterFrame *before = present_frame;
        present_frame = frame;
        PyObject *result = evaluate(thread, frame, throwing);
        present_frame = before;
        return result;
    }
    if (deep >= DEEPEST) {
        PyErr_SetString(PyExc_RecursionError, "maximum recursion depth exceeded while a program is traced");
        return NULL;
    }
    struct _PyInterpreterFrame *before = present_frame;
    present_frame = frame;
    deep++;
    PyObject *result = hooked(thread, frame, throwing);
    deep--;
    present_frame = before;
    return result;
}

static int is_places(PyObject *places) {
    if (!PyTuple_CheckExact(places)) return 0;
    for (Py_ssize_t place = 0; place < PyTuple_GET_SIZE(places); place++)
        if (!PyBytes_CheckExact(PyTuple_GET_ITEM(places, place))) return 0;
    return 1;
}

static PyObject *begin(PyThreadState *thread, PyObject *calls, PyObject *observers, PyObject *places) {
    _PyFrameEvalFunction present = _PyInterpreterState_GetEvalFrameFunc(thread->interp);
    /* not where another hook came in between: it would be lost, or this one called for ever */
    if (count == MOST || (count && present != noted)) Py_RETURN_FALSE;
    static int audits = 0;
    if (!audits && observers != Py_None) {
        if (PySys_AddAuditHook(audit, NULL) < 0) return NULL;
        audits = 1;
    }
    Watch *watch = PyMem_Calloc(1, sizeof *watch);
    if (!watch) return PyErr_NoMemory();
    PyObject *each[3] = {Py_None, Py_None, Py_None};
    for (int place = 0; observers != Py_None && place < 3; place++) each[place] = PyTuple_GET_ITEM(observers, place);
    watch->thread = thread;
    watch->calls = Py_NewRef(calls);
    watch->entered = Py_NewRef(each[0]);
    watch->changes = Py_NewRef(each[1]);
    watch->audited = Py_NewRef(each[2]);
    watch->places = Py_NewRef(places);
    if (!count && present != noted) {
        evaluate = present;
        _PyInterpreterState_SetEvalFrameFunc(thread->interp, noted);
    }
    watches[count++] = watch;
    Py_RETURN_TRUE;
}

static PyObject *bind(PyObject *module, PyObject *const *args, Py_ssize_t given) {
    PyThreadState *thread = PyThreadState_Get();
    if (given == 3 && PyList_CheckExact(args[0]) && PyTuple_CheckExact(args[2]) && PyTuple_GET_SIZE(args[2]) == KINDS) {
        int right = args[1] == Py_None || (PyTuple_CheckExact(args[1]) && PyTuple_GET_SIZE(args[1]) == 3);
        for (int place = 0; place < KINDS; place++) right = right && is_places(PyTuple_GET_ITEM(args[2], place));
        if (right) return begin(thread, args[0], args[1], args[2]);
    }
    if (given == 1 && PyTuple_CheckExact(args[0])) return young(args[0]);
    if (given && is_remembering(args[0])) {
        Remembering *function = (Remembering *)args[0];
        if (given == 1) return remembered(function);
        if (given == 3 && PyLong_CheckExact(args[2])) return result_of(function, args[1], PyLong_AsSsize_t(args[2]));
        if (given == 2 && PyTuple_CheckExact(args[1])) return remember(function, args[1]);
        if (given == 2 && (args[1] == Py_None || PyList_CheckExact(args[1]))) return follow(function, args[1]);
    }
    if (given != 1 || args[0] != Py_None)
        return PyErr_Format(PyExc_TypeError, "a list, three functions or None, and five tuples; objects; None; or what remembers");
    for (int place = count; place-- > 0;) {
        Watch *watch = watches[place];
        if (watch->thread != thread) continue;
        count--;
        memmove(watches + place, watches + place + 1, (count - place) * sizeof *watches);
        if (!count && _PyInterpreterState_GetEvalFrameFunc(thread->interp) == noted)
            _PyInterpreterState_SetEvalFrameFunc(thread->interp, evaluate);
        Py_DECREF(watch->calls);
        Py_DECREF(watch->entered);
        Py_DECREF(watch->changes);
        Py_DECREF(watch->audited);
        Py_DECREF(watch->places);
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
