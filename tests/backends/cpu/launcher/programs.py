"""A small handwritten program: x * y + z over matrices, any strides of x, y and z contiguous, z one row."""

import ctypes
from functools import cache

from backends.cpu.compiler import compile_source, load
from backends.cpu.launcher import Unavailable, launcher
from backends.cpu.launcher.program import Description, Launch, Made, TensorArgument, make_native
from shapes import ShapeEnv

KERNELS = """
typedef __INT64_TYPE__ number;
void fused(void *const *pointers, const number *numbers) {
    const float *x = pointers[0], *y = pointers[1], *z = pointers[2];
    float *out = pointers[3];
    number rows = numbers[0], columns = numbers[1], down = numbers[2], right = numbers[3];
    for (number i = 0; i < rows; i++)
        for (number j = 0; j < columns; j++)
            out[i * columns + j] = x[i * down + j * right] * y[i * columns + j] + z[j];
}
"""


@cache
def fused():
    """The kernel."""
    path = compile_source(KERNELS)
    assert not isinstance(path, Unavailable), path.reason
    library = load(path)
    return launcher().Kernel(ctypes.cast(library.fused, ctypes.c_void_p).value, 4, 4, library)


def environment(*guards):
    """An environment with the symbols of the program, and these guards."""
    env = ShapeEnv()
    for name in ("rows", "columns", "down", "right"):
        env.symbol(name, lo=0)
    for guard in ("down >= 0", *guards):
        env.assume(guard)
    return env


def description(*guards, env=None, **changes):
    """The program, with these guards."""
    env = env if env is not None else environment(*guards)
    rows, columns, down, right = [env.names[name] for name in ("rows", "columns", "down", "right")]
    one = rows.interner.constant(1)
    sources = {
        "rows": [("x", ".shape", 0), ("y", ".shape", 0)],
        "columns": [("x", ".shape", 1), ("y", ".shape", 1), ("z", ".shape", 0)],
        "down": ("x", ".stride()", 0),
        "right": ("x", ".stride()", 1),
    }
    parts = {
        "tensors": [
            TensorArgument("x", "float32", 2),
            TensorArgument("y", "float32", 2, contiguous=True),
            TensorArgument("z", "float32", 1, contiguous=True),
        ],
        "symbols": {
            rows: ("x", ".shape", 0),
            columns: ("x", ".shape", 1),
            down: ("x", ".stride()", 0),
            right: ("x", ".stride()", 1),
        },
        "outputs": [Made("float32", (rows, columns), (columns, one))],
        "launches": [Launch(fused(), (0, 1, 2, 3), (rows, columns, down, right))],
        "structure": None,
        "guards": env.compile_guards(sources, arguments=["x", "y", "z"]),
    }
    return Description(**(parts | changes))


def program(*guards, **changes):
    """The program as a call."""
    made = make_native(description(*guards, **changes))
    assert not isinstance(made, Unavailable), made.reason
    return made
