"""Arrays through the DLPack C exchange API: torch's, those of another library, and what is neither."""

import ctypes
import gc
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from backends.cpu import launcher as launching
from backends.cpu.launcher import Unavailable, allocating, launcher, source
from backends.cpu.launcher.entry import Form, Leaf, made_entry
from backends.cpu.launcher.program import Description, Given, Launch, Made, TensorArgument, make_native
from docs.examples.backends.exchanged_arrays import API, FROM_OBJECT, TO_OBJECT, Api, Grid, capsule
from shapes.guards.emit_c import NotNative
from shapes.guards.extension_modules import build, extension_command
from tests.backends.cpu.launcher.programs import description, environment, fused, program
from tests.backends.cpu.launcher.test_entry import X, Y, Z, identity, variant
from tests.backends.cpu.launcher.test_launcher import Seen

ROWS = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
GRID = Grid.of(ROWS)
ROW = Grid.of([[10.0, 20.0, 30.0]])
ROW = Grid(ROW.address, ROW.owner, (3,), (1,))
INCLUDED = Path(torch.__file__).parent / "include" / "ATen" / "dlpack.h"


def checked(text, *options, include=None):
    """The usual warnings of the compiler about a text, as errors; with these headers of Python, or this process's."""
    command = extension_command()
    if isinstance(command, Unavailable):
        pytest.skip(command.reason)
    kept = [part for part in command if part not in ("-w", "-shared") and not (include and part.startswith("-I"))]
    done = [
        *kept,
        *options,
        *([f"-I{include}"] if include else []),
        "-Wall",
        "-Werror",
        "-fsyntax-only",
        "-x",
        "c",
        "-",
    ]
    return subprocess.run(done, input=text, capture_output=True, text=True, check=False).stderr


def headers_of(version):
    """The folder of a Python's headers; None where that Python is not here."""
    found = shutil.which(f"python{version}")
    command = [found or "", "-c", "import sysconfig; print(sysconfig.get_path('include'))"]
    done = found and subprocess.run(command, capture_output=True, text=True, check=False)
    include = Path(done.stdout.strip()) if done and not done.returncode else None
    return include if include and (include / "Python.h").exists() else None


@pytest.mark.parametrize("version", ["of this process", "3.11", "3.12", "3.13"])
def test_no_warnings_and_no_private_headers(version):
    """The launcher is not built with some Python, and all programs run operator by operator."""
    include = None if version == "of this process" else headers_of(version)
    if include is None and version != "of this process":
        pytest.skip(f"no Python {version} with its headers")
    assert not checked(source(), include=include)
    for private in ("Py_BUILD_CORE", "internal/", "ob_digit", "_PyLong", "_PyObject"):
        assert private not in source()


FIELDS = {
    "Tensor DLTensor": "data=data device=device rank=ndim dtype=dtype sizes=shape strides=strides "
    "byte_offset=byte_offset",
    "Managed DLManagedTensorVersioned": "version=version context=manager_ctx deleter=deleter flags=flags "
    "tensor=dl_tensor",
    "Device DLDevice": "type=device_type id=device_id",
    "DataType DLDataType": "code=code bits=bits lanes=lanes",
    "Api DLPackExchangeAPI": "version=header.version previous=header.prev_api allocate=managed_tensor_allocator "
    "from_object_managed=managed_tensor_from_py_object_no_sync to_object=managed_tensor_to_py_object_no_sync "
    "from_object=dltensor_from_py_object_no_sync current_stream=current_work_stream",
}


@pytest.mark.skipif(not INCLUDED.exists(), reason="torch without its headers")
def test_structures_are_those_of_the_header():
    """The launcher reads a field of an array at the place of another."""
    ours = Path(launching.__file__).with_name("dlpack.c").read_text()
    enums = "MAJOR == DLPACK_MAJOR_VERSION && (int)CPU == (int)kDLCPU && (int)COMPLEX == (int)kDLComplex"
    lines = [f'#include "{INCLUDED}"', ours, f'_Static_assert({enums}, "");']
    for names, fields in FIELDS.items():
        one, other = names.split()
        lines.append(f'_Static_assert(sizeof({one}) == sizeof({other}), "{names}");')
        for field in fields.split():
            mine, its = field.split("=")
            same = f"offsetof({one}, {mine}) == offsetof({other}, {its})"
            size = f"sizeof((({one} *)0)->{mine}) == sizeof((({other} *)0)->{its})"
            lines.append(f'_Static_assert({same} && {size}, "{names} {field}");')
    assert not checked("\n".join(lines), "-Wno-unused-function")
    assert "static assertion" in checked("\n".join([*lines, '_Static_assert(sizeof(Tensor) == 1, "");'])).lower()


# ---------------------------------------------------------------------- of another library


def test_example():
    """The example of another library's arrays shows what the launcher no longer does."""
    import doctest

    from docs.examples.backends import exchanged_arrays

    assert doctest.testmod(exchanged_arrays).failed == 0


def test_kernels_read_them():
    """A kernel is given another array's memory, or only torch's tensors."""
    part = Grid(GRID.address + 4, GRID.owner, (2, 2), (3, 1))
    (first, other, last), _ = Seen(3, 0)(GRID, torch.ones(2), part)
    assert (first, last) == (GRID.address, GRID.address + 4) and other not in (first, last)


def test_results_are_of_the_class_of_the_arguments():
    """A library's arrays give torch's tensors, or wrong values."""
    found = program()(GRID, GRID, ROW)
    assert type(found) is Grid and found.sizes == (2, 3) and found.strides == (3, 1)
    x = torch.tensor(ROWS)
    assert found.tolist() == (x * x + torch.tensor([10.0, 20.0, 30.0])).tolist()
    assert program()(GRID.transposed(), GRID, ROW) is NotImplemented  # another size
    square = Grid.of([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]])
    y = torch.tensor(square.tolist())
    found = program()(square.transposed(), square, ROW)
    assert found.tolist() == (y.t() * y + torch.tensor([10.0, 20.0, 30.0])).tolist()


def test_results_have_the_strides_of_the_program():
    """A result of another library is always contiguous, or lies in too little memory."""
    env = environment()
    rows, columns = env.names["rows"], env.names["columns"]
    one = rows.interner.constant(1)
    outputs = [Made("float32", (columns, rows), (one, columns)), Given(0), Made("float32", (), ())]
    launches = [Launch(fused(), (0, 1, 2, 3), [env.names[name] for name in ("rows", "columns", "down", "right")])]
    run = make_native(description(env=env, outputs=outputs, launches=launches, structure=tuple))
    turned, same, scalar = run(GRID, GRID, ROW)
    x = torch.tensor(ROWS)
    assert turned.strides == (1, 3) and turned.tolist() == (x * x + torch.tensor([10.0, 20.0, 30.0])).t().tolist()
    assert same is GRID and scalar.sizes == ()
    nothing = Grid(GRID.address, GRID.owner, (0, 3), (3, 1))
    assert run(nothing, nothing, ROW)[0].sizes == (3, 0)


def test_sizes_that_cannot_be():
    """Memory of a negative or overflowing size is made for another library."""
    env = environment()
    rows = env.names["rows"]
    for size, error in [(rows - 10, ValueError), (rows * 2**61, MemoryError), (rows * 2**58, MemoryError)]:
        outputs = [Made("float32", (size, size), (rows, rows))]
        with pytest.raises(error):
            make_native(description(env=env, outputs=outputs, launches=[]))(GRID, GRID, ROW)


class Torchs(torch.Tensor):
    """A subclass of torch's that offers a table itself."""

    __dlpack_c_exchange_api__ = torch.Tensor.__dlpack_c_exchange_api__


class Closer(Grid):
    """A subclass, which may read its memory in another way."""


def of_subclass():
    return Closer(GRID.address, GRID.owner, (2, 3), (3, 1))


OTHERS = {
    "torch's beside": lambda: (torch.tensor(ROWS), GRID, ROW),
    "torch's behind": lambda: (GRID, GRID, torch.ones(3)),
    "a subclass": lambda: (of_subclass(), GRID, ROW),
    "a subclass of torch's": lambda: (X.as_subclass(Torchs), Y, Z),
    "no array": lambda: ([1.0], GRID, ROW),
    "no array behind": lambda: (GRID, GRID, [1.0]),
}


@pytest.mark.parametrize("name", OTHERS)
def test_programs_are_for_one_class(name):
    """A program runs for arrays of two libraries, of which one owns the results; or for what is no array."""
    assert program()(*OTHERS[name]()) is NotImplemented


def test_kernels_refuse_a_subclass():
    """The memory of an array is read though its class may say that it is elsewhere."""
    with pytest.raises(TypeError):
        Seen(1, 0)(of_subclass())


def table(**changes):
    """A library with another table of functions."""
    api = Api(major=1, minor=3, to_object=API.to_object, from_object=API.from_object)
    for name, value in changes.items():
        setattr(api, name, value)
    kind = type("Other", (Grid,), {"__dlpack_c_exchange_api__": capsule(api), "api": api})
    return kind(GRID.address, GRID.owner, (2, 3), (3, 1))


def moved(grid, out):
    """A tensor on another device."""
    sizes, strides = grid.exchanged
    out[0].device_type, out[0].rank, out[0].sizes, out[0].strides = 2, 2, sizes, strides
    out[0].data, out[0].code, out[0].bits, out[0].lanes = grid.address, 2, 32, 1
    return 0


MOVED, FAILED, NO_ARRAY = FROM_OBJECT(moved), FROM_OBJECT(lambda grid, out: -1), TO_OBJECT(lambda managed, out: 0)
IMPOSSIBLE = {
    "a later major version": {"major": 2},
    "an earlier major version": {"major": 0},
    "before the table was": {"minor": 2},
    "nothing to read by": {"from_object": None},
    "nothing to make by": {"to_object": None},
    "another device": {"from_object": ctypes.cast(MOVED, ctypes.c_void_p)},
    "unreadable": {"from_object": ctypes.cast(FAILED, ctypes.c_void_p)},
}


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_other_tables_are_not_used(name):
    """A table of another version is read as if it were of this one; or memory that is not there."""
    grid = table(**IMPOSSIBLE[name])
    same = identity(2)
    assert same(grid) is NotImplemented
    assert same(table()) is not NotImplemented


def test_an_older_table_behind_a_later_one():
    """A library that offers a version that is not known here is not read by the one that is."""
    assert identity(2)(table(major=2, from_object=None, previous=ctypes.addressof(API))) is not NotImplemented


def test_a_library_that_makes_no_array():
    """A result that was not made is returned."""
    grid = table(to_object=ctypes.cast(NO_ARRAY, ctypes.c_void_p))
    run = make_native(
        Description(
            tensors=[TensorArgument("x", "float32", 2)], symbols={}, outputs=[Made("float32", (), ())], launches=[]
        )
    )
    with pytest.raises(RuntimeError):
        run(grid)


def test_what_is_no_capsule():
    """Anything under the name of the table is called as one."""
    for wrong in (1, None, "dlpack_exchange_api"):
        kind = type("Wrong", (Grid,), {"__dlpack_c_exchange_api__": wrong})
        assert identity(2)(kind(GRID.address, GRID.owner, (2, 3), (3, 1))) is NotImplemented


def test_more_libraries_than_are_remembered():
    """A class is taken for another, or refused, when there are many."""
    same = identity(2)
    grids = [table() for _ in range(40)]
    for grid in [*grids, *grids]:
        assert same(grid) is grid


def test_entries_take_them():
    """A call with another library's arrays is left to Python, or run for another class."""
    leaves = (Leaf("tensor", Grid, 2), Leaf("tensor", Grid, 2), Leaf("tensor", Grid, 1))
    run = made_entry([Form(leaves, [variant(program(), (False,) * 3, (0, 1, 2))])])
    assert type(run((GRID, GRID.transposed().transposed(), ROW), {})) is Grid
    assert run((GRID, GRID, ROW), {}) is NotImplemented  # given twice
    assert run((torch.tensor(ROWS), GRID, ROW), {}) is NotImplemented
    pair = (Leaf("tensor", Grid, 1), Leaf("object", Grid))
    run = made_entry([Form(pair, [variant(identity(), (False, GRID), (0,))])])
    assert run((ROW, GRID), {}) is ROW and run((ROW, GRID.transposed()), {}) is NotImplemented
    for mixed in (torch.Tensor, dict):
        with pytest.raises(NotNative):
            made_entry([Form((Leaf("tensor", mixed, 2), *leaves[1:]), [variant(program(), (False,) * 3, (0, 1, 2))])])


LARGE = Grid.of([[1.0] * 100] * 100)
LARGE_ROW = Grid(LARGE.address, LARGE.owner, (100,), (1,))


def test_nothing_is_kept():
    """Each call leaves a reference behind."""
    run = program()
    gc.collect()  # the classes of other tests
    counted = (Grid, LARGE, LARGE_ROW)
    before = [sys.getrefcount(each) for each in counted]
    for _ in range(1000):
        run(LARGE, LARGE, LARGE_ROW)
        assert run(LARGE, GRID, LARGE_ROW) is NotImplemented
    gc.collect()
    after = [sys.getrefcount(each) for each in counted]
    assert max(abs(a - b) for a, b in zip(after, before)) < 20


def test_memory_is_given_back():
    """Memory that was made for another library is not freed with its array."""
    run = program()
    run(LARGE, LARGE, LARGE_ROW)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(2000):
        run(LARGE, LARGE, LARGE_ROW)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 10_000  # of 80 MB that were made


# ---------------------------------------------------------------------- torch's own


def test_results_are_as_eager_makes_them(monkeypatch):
    """A result cannot be resized in place, as memory that comes through DLPack."""
    for kept in (True, False):
        if not kept:
            monkeypatch.delattr(torch._C._dynamo.guards, "_empty_strided_cpu")
        made = allocating()((2, 3), (1, 2), torch.float64)
        assert made.stride() == (1, 2) and made.dtype is torch.float64 and made.untyped_storage().resizable()
    found = program()(X, Y, Z)
    assert found.untyped_storage().resizable() and found._version == 0 and found.is_leaf
    assert found.resize_(100).shape == (100,)


def anew(monkeypatch, what):
    """The launcher, bound anew."""
    monkeypatch.setattr(launching, "build", lambda text: build(f"{text}/* {what} */\n"))
    return launcher.__wrapped__()


LATER = Api(major=2)


class Later:
    __dlpack_c_exchange_api__ = capsule(LATER)


def test_another_version_of_torchs_api(monkeypatch):
    """With another torch, its tensors are read by a table that is not known; or importing the launcher is an error."""
    monkeypatch.setattr(torch, "Tensor", Later)
    found = anew(monkeypatch, "later")
    assert isinstance(found, Unavailable) and "version" in found.reason


def test_torch_without_the_api(monkeypatch):
    """With an older torch, importing the launcher is an error."""
    monkeypatch.setattr(torch, "Tensor", Seen)
    assert isinstance(anew(monkeypatch, "older"), Unavailable)


def test_torch_without_its_fastest_allocator(monkeypatch):
    """Without a private function of torch nothing is run."""
    monkeypatch.delattr(torch._C._dynamo.guards, "_empty_strided_cpu")
    found = anew(monkeypatch, "slower")
    assert not isinstance(found, Unavailable), found.reason
    monkeypatch.setattr("backends.cpu.launcher.program.launcher", lambda: found)
    env = environment()
    rows = env.names["rows"]
    made = [Made("float32", (rows,), (rows.interner.constant(1),))]
    run = make_native(description(env=env, outputs=made, launches=[]))
    assert run(X, Y, Z).shape == (3,)
