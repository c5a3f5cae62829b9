"""Arrays of another library, run by the kernels and the launcher of the CPU backend, without torch's tensors.

    >>> run = below_largest()
    >>> run(Grid.of([[1.0, 2.0, 3.0], [4.0, 6.0, 8.0]]))
    Grid([[-2.0, -1.0, 0.0], [-4.0, -2.0, 0.0]])
    >>> run(Grid.of([[3.0, 5.0]]))                                     # other sizes: the same program
    Grid([[-2.0, 0.0]])
    >>> run(Grid.of([[3.0, 5.0], [7.0, 9.0]]).transposed())            # other strides than it is for
    NotImplemented

A library offers the DLPack C exchange API by a capsule of its class, `__dlpack_c_exchange_api__`, with a table of C
functions. Two of them suffice for the launcher: one shows an array's memory, sizes, strides and dtype, the other makes
an array of memory, which it frees later. `Grid` is such a library in ctypes, with one dtype.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from math import prod
from typing import Final

from backends import cpu
from backends.cpu.launcher.program import make_native
from backends.cpu.launcher.whole_graph import described
from backends.decisions.questions import Decisions
from backends.loops.program import Program
from backends.program.host import hosted
from shapes import ShapeEnv
from shapes.guards.toolchain import Unavailable

# ---------------------------------------------------------------------- dlpack.h 1.3


class Tensor(ctypes.Structure):
    """`DLTensor`: an array without the ownership of its memory."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("sizes", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class Managed(ctypes.Structure):
    """`DLManagedTensorVersioned`: an array with its memory, freed by `deleter`."""

    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", Tensor),
    )


class Api(ctypes.Structure):
    """`DLPackExchangeAPI`: the table of functions. NULL stands for those that the launcher does not call."""

    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("previous", ctypes.c_void_p),
        ("allocate", ctypes.c_void_p),
        ("from_object_managed", ctypes.c_void_p),
        ("to_object", ctypes.c_void_p),
        ("from_object", ctypes.c_void_p),
        ("current_stream", ctypes.c_void_p),
    )


FROM_OBJECT: Final = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(Tensor))
TO_OBJECT: Final = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p))
FREE: Final = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
CPU, FLOAT, BITS = 1, 2, 32
CAPSULE: Final = b"dlpack_exchange_api"


def capsule(api: Api) -> object:
    """The capsule of a table, which must live as long as the process."""
    make = ctypes.pythonapi.PyCapsule_New
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return make(ctypes.addressof(api), CAPSULE, None)


# ---------------------------------------------------------------------- the library


class Grid:
    """An array of 32-bit floats: memory, its owner, sizes, and strides in elements."""

    __dlpack_c_exchange_api__: object

    def __init__(self, address: int, owner: object, sizes: Sequence[int], strides: Sequence[int]) -> None:
        self.address, self.owner = address, owner
        self.sizes, self.strides = tuple(sizes), tuple(strides)
        # what the launcher borrows, kept as long as the array
        numbers = ctypes.c_int64 * len(sizes)
        self.exchanged = numbers(*sizes), numbers(*strides)

    @classmethod
    def of(cls, rows: Sequence[Sequence[float]]) -> Grid:
        """A matrix of these rows."""
        flat = [value for row in rows for value in row]
        memory = (ctypes.c_float * len(flat))(*flat)
        return cls(ctypes.addressof(memory), memory, (len(rows), len(rows[0])), (len(rows[0]), 1))

    def transposed(self) -> Grid:
        """A view of the same memory."""
        return Grid(self.address, self.owner, self.sizes[::-1], self.strides[::-1])

    def tolist(self) -> object:
        """The values, nested as the axes are."""
        indices = product(*map(range, self.sizes))
        places = [sum(i * stride for i, stride in zip(index, self.strides)) for index in indices]
        memory = (ctypes.c_float * (max(places, default=-1) + 1)).from_address(self.address)
        values: list[object] = [memory[place] for place in places]
        for size in self.sizes[:0:-1]:
            values = [values[start : start + size] for start in range(0, len(values), size)] if size else []
        return values if self.sizes else values[0]

    def __repr__(self) -> str:
        return f"Grid({self.tolist()})"


@FROM_OBJECT
def show(grid: Grid, out: ctypes._Pointer[Tensor]) -> int:
    """Fill in what an array is; the caller borrows it."""
    sizes, strides = grid.exchanged
    out[0] = Tensor(grid.address, CPU, 0, len(grid.sizes), FLOAT, BITS, 1, sizes, strides, 0)
    return 0


@TO_OBJECT
def adopt(address: int, out: ctypes._Pointer[ctypes.c_void_p]) -> int:
    """Make an array of memory, which is freed with it."""
    managed = Managed.from_address(address)
    tensor: Tensor = managed.tensor
    rank = tensor.rank
    owner = (ctypes.c_char * max(1, ctypes.sizeof(ctypes.c_float) * prod(tensor.sizes[:rank]))).from_address(
        tensor.data
    )
    weakref.finalize(owner, FREE(managed.deleter), address)
    grid = ctypes.py_object(Grid(tensor.data, owner, tensor.sizes[:rank], tensor.strides[:rank]))
    ctypes.pythonapi.Py_IncRef(grid)
    out[0] = ctypes.c_void_p.from_buffer(grid)
    return 0


API: Final = Api(
    major=1,
    minor=3,
    to_object=ctypes.cast(adopt, ctypes.c_void_p),
    from_object=ctypes.cast(show, ctypes.c_void_p),
)
Grid.__dlpack_c_exchange_api__ = capsule(API)


# ---------------------------------------------------------------------- a program


def below_largest() -> Callable[..., object]:
    """A program that subtracts from a matrix the largest element of each row, compiled once for all sizes."""
    env = ShapeEnv()
    b, s = [size.expr for size in env.sizes("b s")]
    program = Program(Decisions(env))
    build = program.build
    x = program.input("x", "float32", (b, s), (s, build.one))
    largest = build.expand(build.reduce("maximum", x, (1,), keepdim=True), x.sizes)
    program.outputs.append(program.stored(build.apply("sub", x, largest), (s, build.one)))
    description = described(hosted(program, cpu))
    tensors = [replace(each, contiguous=True) for each in description.tensors]
    run = make_native(replace(description, tensors=tensors, structure=None))
    assert not isinstance(run, Unavailable), run.reason
    return run
