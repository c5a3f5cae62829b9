"""Emission of conditions as C: a small extension module with one vectorcall function.

    >>> from shapes.guards.arguments import Arguments
    >>> from shapes.guards.lowering import Operations
    >>> from shapes.guards.emit_c import native_source
    >>> operations = Operations()
    >>> b, s = operations.leaf(0), operations.leaf(1)
    >>> product = operations.make("mul", (b, s))
    >>> small = operations.make("le", (product, operations.constant(4096)))
    >>> source = native_source([small], Arguments.of({"b": 0, "s": 1}))
    >>> [line.strip() for line in source.splitlines() if "v2" in line][1:]
    ['if (__builtin_mul_overflow(v0, v1, &v2)) goto python;', 'v4 = v2 <= 4096LL;']

Arithmetic is in 64 bits and checked: whatever leaves them, an argument that is not an integer of that size, or a
call that is not as expected, is handed to the Python form, which answers for any integers.
"""

from __future__ import annotations

from typing import Final

from shapes.guards.arguments import Arguments
from shapes.guards.emit_python import SIGNS, reachable
from shapes.guards.lowering import COMPARISONS, CONDITIONS, Operation
from solver.terms.operations import OPERATIONS
from solver.terms.operations import Operation as Row

LEAST: Final = -(1 << 63)
MOST: Final = (1 << 63) - 1
LARGEST: Final = 5000
"""More operations than this are not compiled: the compiler would take longer than the check could ever save."""


class NotNative(Exception):
    """Conditions have no native form; the message says why."""


def native_source(conditions: list[Operation], arguments: Arguments) -> str:
    """The C text of a check.

    Raises:
        NotNative: an operation, a constant or a source that 64-bit code has no form for, or too many operations.
    """
    nodes = reachable(conditions)
    if len(nodes) > LARGEST:
        raise NotNative(f"{len(nodes)} operations are more than are worth compiling")
    leaves = [node for node in nodes if node.code == "leaf"]
    targets = {node.number: _value(node) for node in leaves}
    reads = [_read(position, targets.get(position, ""), arguments) for position in range(len(arguments.paths))]
    body: list[str] = []
    done: set[Operation] = set(leaves)
    for condition in conditions:
        for node in reachable([condition], known=done):
            if node.code != "constant":
                body += _statements(node)
            done.add(node)
        body.append(f"if (!{_value(condition)}) Py_RETURN_FALSE;")
    declared = [node for node in nodes if node.code != "constant"]
    integers = ", ".join([_value(node) for node in declared if node.code not in CONDITIONS])
    truths = ", ".join([_value(node) for node in declared if node.code in CONDITIONS])
    declarations = [f"long long {integers};"] * bool(integers) + [f"int {truths};"] * bool(truths)
    lines = "\n".join(["    " + line for line in [*declarations, *reads, *body]])
    text = TEMPLATE.replace("@ARITHMETIC@", ARITHMETIC).replace("@COUNT@", str(len(arguments.names)))
    return text.replace("@BODY@", lines)


def _read(position: int, target: str, arguments: Arguments) -> str:
    """C that reads an input into a variable; without one, that sees whether it is there."""
    head, *steps = arguments.paths[position]
    place = f"args[{arguments.names.index(str(head))}]"
    for step in steps:
        if not isinstance(step, int):
            raise NotNative(f"the source {arguments.text(position)} is not read by position")
        place = f"element({place}, {step})"
    return f"if (!integer({place}, &{target})) goto python;" if target else f"if (!{place}) goto python;"


def _value(node: Operation) -> str:
    return literal(node.number) if node.code == "constant" else f"v{node.index}"


def literal(value: int) -> str:
    if not LEAST <= value <= MOST:
        raise NotNative("a constant is beyond 64 bits")
    return f"({value + 1}LL - 1)" if value == LEAST else f"{value}LL"


def _statements(node: Operation) -> list[str]:
    """C that computes an operation from its operands, which are computed already."""
    target = _value(node)
    match node.code:
        case "true" | "false":
            return [f"{target} = {int(node.code == 'true')};"]
        case "all" | "any":
            sign = " & " if node.code == "all" else " | "
            return [f"{target} = {sign.join([_value(operand) for operand in node.operands])};"]
        case code if code in COMPARISONS:
            return [f"{target} = {_comparison(node)};"]
        case "sum":
            return _sum(node)
    return native_row(node).c.format(*[_value(operand) for operand in node.operands], v=target).splitlines()


def native_row(node: Operation) -> Row:
    """The row of an operation in the table, which has its C text.

    Raises:
        NotNative: it has none.
    """
    row = OPERATIONS.get("product" if node.code == "mul" else node.name or node.code)
    if row is None or not row.c:
        raise NotNative(f"the function {node.name} has no native form")
    return row


def _comparison(node: Operation) -> str:
    a, b = node.operands
    for here, there, flipped in ((a, b, False), (b, a, True)):
        if here.code == "constant" and not LEAST <= here.number <= MOST:
            if there.code == "constant":
                raise NotNative("a constant is beyond 64 bits")
            # the other side is within 64 bits, so that only the sign of this constant matters
            large = (here.number > 0) is not flipped
            return str(int(node.code in (("ne", "ge", "gt") if large else ("ne", "le", "lt"))))
    return f"{_value(a)} {SIGNS[node.code]} {_value(b)}"


def _sum(node: Operation) -> list[str]:
    target = _value(node)
    lines: list[str] = []
    started = False
    for operand, c in zip(node.operands, node.coefficients):
        value = _value(operand)
        if abs(c) != 1:
            lines.append(f"if (__builtin_mul_overflow({value}, {literal(abs(c))}, &scaled)) goto python;")
            value = "scaled"
        if not started and c > 0:
            lines.append(f"{target} = {value};")
        else:
            operation = "sub" if c < 0 else "add"
            before = target if started else "0LL"
            lines.append(f"if (__builtin_{operation}_overflow({before}, {value}, &{target})) goto python;")
        started = True
    if node.number:
        lines.append(f"if (__builtin_add_overflow({target}, {literal(node.number)}, &{target})) goto python;")
    return lines


ARITHMETIC: Final = r"""static inline int quotient(long long n, long long d, long long *result) {
    if (d == 0) { *result = 0; return 0; }
    if (d == -1) return __builtin_sub_overflow(0LL, n, result);
    *result = n / d - (n % d != 0 && (n ^ d) < 0);
    return 0;
}

static inline long long remainder_of(long long n, long long d) {
    if (d == 0) return n;
    if (d == -1) return 0;
    long long r = n % d;
    return r != 0 && (r ^ d) < 0 ? r + d : r;
}

static inline int power_of(long long base, long long exponent, long long *result) {
    *result = exponent >= 0;
    if (exponent <= 0) return 0;
    if (base == 0 || base == 1) { *result = base; return 0; }
    if (base == -1) { *result = exponent % 2 ? -1 : 1; return 0; }
    /* any other base leaves 64 bits within 63 steps */
    while (exponent--) if (__builtin_mul_overflow(*result, base, result)) return 1;
    return 0;
}

static inline int gcd_of(long long a, long long b, long long *result) {
    unsigned long long x = a < 0 ? 0ULL - a : a, y = b < 0 ? 0ULL - b : b;
    while (y) { unsigned long long rest = x % y; x = y; y = rest; }
    *result = (long long)x;
    return *result < 0;
}
"""
"""Functions that the C texts of the table of operations call."""

TEMPLATE: Final = r"""#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>
#include <stddef.h>

typedef struct { PyObject_HEAD vectorcallfunc call; PyObject *python; PyObject *attributes; } Check;

static inline int integer(PyObject *object, long long *value) {
    int overflow;
    if (!object || !PyLong_Check(object)) return 0;
    *value = PyLong_AsLongLongAndOverflow(object, &overflow);
    return !overflow;
}

static inline PyObject *element(PyObject *container, Py_ssize_t position) {
    if (!container) return NULL;
    if (PyTuple_Check(container)) {
        if (position < 0) position += PyTuple_GET_SIZE(container);
        return position >= 0 && position < PyTuple_GET_SIZE(container) ? PyTuple_GET_ITEM(container, position) : NULL;
    }
    if (PyList_CheckExact(container)) {
        if (position < 0) position += PyList_GET_SIZE(container);
        return position >= 0 && position < PyList_GET_SIZE(container) ? PyList_GET_ITEM(container, position) : NULL;
    }
    return NULL;
}

@ARITHMETIC@
static PyObject *holds(PyObject *self, PyObject *const *args, size_t flags, PyObject *keywords) {
    long long scaled = 0; (void)scaled;
    if (PyVectorcall_NARGS(flags) != @COUNT@ || (keywords && PyTuple_GET_SIZE(keywords))) goto python;
    {
@BODY@
    }
    Py_RETURN_TRUE;
python:
    return PyObject_Vectorcall(((Check *)self)->python, args, flags, keywords);
}

static int traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self)); Py_VISIT(((Check *)self)->python); Py_VISIT(((Check *)self)->attributes);
    return 0;
}
static int clear(PyObject *self) { Py_CLEAR(((Check *)self)->python); Py_CLEAR(((Check *)self)->attributes); return 0; }
static void deallocate(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self); clear(self); type->tp_free(self); Py_DECREF(type);
}
static PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Check, call), READONLY, NULL},
    {"__dictoffset__", T_PYSSIZET, offsetof(Check, attributes), READONLY, NULL}, {NULL, 0, 0, 0, NULL}};
static PyGetSetDef properties[] = {{"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL}, {NULL,
NULL, NULL, NULL, NULL}}; static PyType_Slot slots[] = {
    {Py_tp_call, PyVectorcall_Call}, {Py_tp_traverse, traverse}, {Py_tp_clear, clear}, {Py_tp_dealloc, deallocate},
    {Py_tp_members, members}, {Py_tp_getset, properties}, {0, NULL}};
static PyType_Spec specification = {"shapes.NativeCheck", sizeof(Check), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

static PyObject *bind(PyObject *module, PyObject *python) {
    PyTypeObject *type = (PyTypeObject *)PyObject_GetAttrString(module, "NativeCheck");
    if (!type) return NULL;
    Check *check = (Check *)type->tp_alloc(type, 0);
    Py_DECREF(type);
    if (!check) return NULL;
    check->call = holds; Py_INCREF(python); check->python = python;
    return (PyObject *)check;
}
static int prepare(PyObject *module) {
    PyObject *type = PyType_FromSpec(&specification);
    if (!type) return -1;
    int failed = PyObject_SetAttrString(module, "NativeCheck", type);
    Py_DECREF(type);
    return failed;
}
static PyMethodDef functions[] = {{"bind", bind, METH_O, "The native check that falls back on this one."}, {NULL,
NULL, 0, NULL}}; static PyModuleDef_Slot stages[] = {{Py_mod_exec, prepare}, {0, NULL}};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "symshape_check", NULL, 0, functions, stages, NULL,
NULL, NULL}; PyMODINIT_FUNC PyInit_symshape_check(void) { return PyModuleDef_Init(&definition); }
"""
