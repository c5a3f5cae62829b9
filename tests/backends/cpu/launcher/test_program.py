"""Whole programs: what they compute, for which arguments, and what they leave behind."""

import ctypes
import gc
import sys

import pytest
import torch

from backends.cpu.launcher import Unavailable, launcher
from backends.cpu.launcher.program import DTYPES, Again, Fixed, Given, Launch, Made, Number, TensorArgument, make_native
from tests.backends.cpu.launcher.programs import description, environment, fused, program
from tests.threads import at_once

torch.manual_seed(0)
X, Y, Z = torch.randn(3, 5), torch.randn(3, 5), torch.randn(5)


def eager(x, y, z):
    return x * y + z


STORAGE = torch.randn(40, 40)
ACCEPTED = {
    "contiguous": (X, Y, Z),
    "one row": (X[:1], Y[:1], Z),
    "no rows": (X[:0], Y[:0], Z),
    "no columns": (X[:, :0], Y[:, :0].contiguous(), Z[:0]),
    "transposed": (STORAGE.t()[:3, :5], Y, Z),
    "strided": (STORAGE[::7, ::3][:3, :5], Y, Z),
    "expanded": (torch.randn(1, 5).expand(3, 5), Y, Z),
    "offset": (STORAGE[20:23, 7:12], Y, STORAGE[11, 3:8]),
    "overlapping arguments": (Y, Y, Y[0]),
    "requires grad": (X.clone().requires_grad_(), Y, Z),
    "parameter": (X, torch.nn.Parameter(Y), Z),
    "large": (torch.randn(300, 700), torch.randn(300, 700), torch.randn(700)),
    "row of size one anywhere": (X, Y[:1].as_strided((3, 5), (5, 1)), Z),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_result_is_that_of_eager(name):
    """A program reads or writes the wrong elements."""
    args = ACCEPTED[name]
    with torch.no_grad():
        wanted = eager(*args)
        found = program()(*args)
    torch.testing.assert_close(found, wanted)
    assert not found.numel() or found.stride() == wanted.contiguous().stride()
    assert not found.requires_grad


REFUSED = {
    "another dtype": (X.double(), Y, Z),
    "another rank": (X, Y, Y),
    "other sizes": (X, torch.randn(4, 5), Z),
    "sizes of another argument": (X, Y, torch.randn(4)),
    "strides where none are expected": (X, STORAGE.t()[:3, :5], Z),
    "meta": (X.to("meta"), Y, Z),
    "sparse": (X.to_sparse(), Y, Z),
    "negative": (torch.randn(3, 5, dtype=torch.complex64).conj().imag, Y, Z),
    "zero": (torch._efficientzerotensor(3, 5), Y, Z),
    "subclass": (X.as_subclass(type("Own", (torch.Tensor,), {})), Y, Z),
    "no tensor": (X, Y, 1.0),
    "too few": (X, Y),
    "too many": (X, Y, Z, Z),
}


@pytest.mark.parametrize("name", REFUSED)
def test_other_arguments_are_not_implemented(name):
    """A program runs for arguments that it is not for."""
    assert program()(*REFUSED[name]) is NotImplemented


def test_memory_that_was_taken_away_is_refused():
    """A program reads memory that has been freed."""
    empty = torch.randn(3, 5)
    empty.untyped_storage().resize_(0)
    assert program()(empty, Y, Z) is NotImplemented


def test_guards_are_tested():
    """A program runs for sizes that its guards exclude."""
    run = program("rows % 2 == 1", "columns >= 4")
    torch.testing.assert_close(run(X, Y, Z), eager(X, Y, Z))
    assert run(X[:2], Y[:2], Z) is NotImplemented
    assert run(X[:, :3].contiguous(), Y[:, :3].contiguous(), Z[:3]) is NotImplemented


def test_strides_are_those_that_torch_says():
    """A stride along an axis that has no second element is another than in a guard."""
    env = environment()
    symbols = [env.names[name] for name in ("rows", "columns", "down", "right")]
    paths = [("x", ".shape", 0), ("x", ".shape", 1), ("x", ".stride()", 0), ("x", ".stride()", 1)]
    run = make_native(
        description(
            env=env,
            tensors=[TensorArgument("x", "float32", 2)],
            symbols=dict(zip(symbols, paths)),
            outputs=[Number(symbol) for symbol in symbols],
            launches=[],
            guards=None,
            structure=tuple,
        )
    )
    for sizes, strides in [((1, 4), (100, 2)), ((1, 1), (7, 9)), ((0, 3), (5, 6)), ((3, 1), (1, 50)), ((2, 3), (0, 0))]:
        view = STORAGE.as_strided(sizes, strides, 3)
        assert run(view) == (*view.shape, *view.stride())


def test_numbers_beyond_64_bits_are_refused():
    """A size wraps around."""
    env = environment()
    rows = env.names["rows"]
    power = rows * rows * rows * rows * rows * rows * 2**60
    changed = description(env=env, outputs=[Number(power)], launches=[])
    run = make_native(changed)
    assert run(X[:1], Y[:1], Z) == 2**60
    assert run(X, Y, Z) is NotImplemented


def test_integers_come_behind_the_tensors():
    """An integer argument is another one, or cut off."""
    env = environment()
    n, m = env.symbol("n").expr, env.symbol("m").expr
    symbols = {n: ("n",), m: ("m",)}
    run = make_native(
        description(
            env=env,
            tensors=[],
            integers=["m", "n"],
            symbols=symbols,
            outputs=[Number(n), Number(m), Number(n * m + 1)],
            launches=[],
            structure=tuple,
            guards=None,
        )
    )
    assert run(3, 5) == (5, 3, 16)
    for wrong in [(3,), (3, 5, 7), (3, 2**63), (True, 3), (3, 5.0), (3, None)]:
        assert run(*wrong) is NotImplemented, wrong


def test_outputs_of_every_kind():
    """An output is another object than the program returns."""
    env = environment()
    rows, columns = env.names["rows"], env.names["columns"]
    one = rows.interner.constant(1)
    kind = object()
    outputs = [
        Given(1),
        Made("float32", (columns, rows), (one, columns)),
        Again(1),
        Fixed(kind),
        Number(rows * columns),
        Made("float32", (rows, columns), (columns, one)),
    ]
    down, right = env.names["down"], env.names["right"]
    launches = [
        Launch(fused(), (0, 1, 2, 3), (rows, columns, down, right)),
        Launch(fused(), (3, 1, 2, 4), (rows, columns, columns, one)),
    ]
    run = make_native(description(env=env, outputs=outputs, launches=launches, structure=list))
    given, first, again, fixed, number, second = run(X, Y, Z)
    assert given is Y and again is first and fixed is kind and number == 15
    torch.testing.assert_close(first.t(), eager(X, Y, Z))
    torch.testing.assert_close(second, eager(eager(X, Y, Z), Y, Z))
    assert first.stride() == (1, 5)
    changes = {"outputs": outputs, "launches": launches}
    built = make_native(description(env=env, structure=lambda found: {"all": found}, **changes))
    assert built(X, Y, Z)["all"][4] == 15


@pytest.mark.parametrize("dtype", [dtype for dtype in DTYPES if dtype != "float32"])
def test_dtypes(dtype):
    """A dtype is taken for another, or made as another."""
    env = environment()
    rows = env.names["rows"]
    tensors = [TensorArgument("x", dtype, 1)]
    symbols = {rows: ("x", ".shape", 0)}
    outputs = [Made(dtype, (rows,), (rows.interner.constant(1),))]
    run = make_native(description(env=env, tensors=tensors, symbols=symbols, outputs=outputs, launches=[], guards=None))
    kind = getattr(torch, dtype)
    assert run(torch.ones(3, dtype=kind)).dtype is kind
    for other in (torch.float32, torch.complex64, torch.int32, torch.bool, torch.bfloat16):
        if other is not kind:
            assert run(torch.ones(3, dtype=other)) is NotImplemented


def test_temporaries_do_not_overlap():
    """Two temporaries share memory, or are too small."""
    env = environment()
    rows, columns, down, right = [env.names[name] for name in ("rows", "columns", "down", "right")]
    one = rows.interner.constant(1)
    bytes_needed = rows * columns * 4
    chain = [
        Launch(fused(), (0, 1, 2, 4), (rows, columns, down, right)),
        Launch(fused(), (4, 1, 2, 5), (rows, columns, columns, one)),
        Launch(fused(), (4, 5, 2, 6), (rows, columns, columns, one)),
        Launch(fused(), (6, 4, 2, 3), (rows, columns, columns, one)),
    ]
    run = make_native(description(env=env, scratch=[bytes_needed] * 3, launches=chain))
    for args in ((X, Y, Z), ACCEPTED["large"], ACCEPTED["no rows"]):
        first = eager(*args)
        second = eager(first, args[1], args[2])
        third = eager(first, second, args[2])
        torch.testing.assert_close(run(*args), eager(third, first, args[2]))


def test_constants_are_read_at_each_call():
    """A constant is the tensor as it was, or memory that is gone."""
    env = environment()
    constant = torch.nn.Parameter(torch.randn(5))
    tensors = description(env=env).tensors[:2]
    sources = {"rows": ("x", ".shape", 0), "columns": ("x", ".shape", 1)}
    guards = env.compile_guards(
        sources | {"down": ("x", ".stride()", 0), "right": ("x", ".stride()", 1)}, arguments=["x", "y"]
    )
    run = make_native(description(env=env, tensors=tensors, constants=[constant], guards=guards))
    torch.testing.assert_close(run(X, Y), eager(X, Y, constant.detach()))
    with torch.no_grad():
        constant.mul_(2)
    torch.testing.assert_close(run(X, Y), eager(X, Y, constant.detach()))
    constant.data = torch.randn(5)
    torch.testing.assert_close(run(X, Y), eager(X, Y, constant.detach()))
    for other in (torch.randn(4), torch.randn(10)[::2], torch.randn(5).double(), torch.randn(1, 5)):
        constant.data = other
        assert run(X, Y) is NotImplemented


def test_thread_count_is_torchs():
    """Kernels run on as many threads as torch had when they were compiled."""
    seen = []
    note = ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_int64))(
        lambda pointers, numbers: seen.append(tuple(numbers[:2]))
    )
    kernel = launcher().Kernel(ctypes.cast(note, ctypes.c_void_p).value, 0, 2, note)
    env = environment()
    launches = [Launch(kernel, (), (env.names["rows"],), threads=True)]
    run = make_native(description(env=env, outputs=[Fixed(None)], launches=launches))
    before = torch.get_num_threads()
    try:
        for count in (1, 2):
            torch.set_num_threads(count)
            run(X, Y, Z)
    finally:
        torch.set_num_threads(before)
    assert seen == [(3, 1), (3, 2)]


def test_what_is_no_program():
    """A description that is no program is an error."""
    env = environment()
    unknown = env.symbol("unknown").expr
    one = env.names["rows"].interner.constant(1)
    complex_constant = torch.ones(2, dtype=torch.complex64).conj()
    for changes in (
        {"outputs": [Number(unknown)]},
        {"tensors": [TensorArgument("x", "complex64", 2)]},
        {"constants": [complex_constant]},
        {"constants": [torch.empty(3, device="meta")]},
        {"symbols": {unknown: ("x", ".storage_offset()")}},
        {"launches": [Launch(fused(), (0, 1), (unknown,) * 4)]},
        {"launches": [Launch(fused(), (0, 1, 2, 9), (one,) * 4)]},
        {"launches": [Launch(fused(), (0, 1, 2, 3), ())]},
    ):
        assert isinstance(make_native(description(env=env, **changes)), Unavailable), changes


def test_negative_sizes_are_torchs_error():
    """Memory of a negative size is made."""
    env = environment()
    rows = env.names["rows"]
    outputs = [Made("float32", (rows - 10,), (rows.interner.constant(1),))]
    run = make_native(description(env=env, outputs=outputs, launches=[]))
    with pytest.raises(RuntimeError):
        run(X, Y, Z)


def test_more_memory_than_there_is():
    """Temporaries that do not fit are written anyway."""
    env = environment()
    rows = env.names["rows"]
    for size in (rows * 2**60, rows * (2**61 - 1)):
        run = make_native(description(env=env, scratch=[size, size], outputs=[Number(rows)], launches=[]))
        with pytest.raises(MemoryError):
            run(X, Y, Z)


def test_many_arguments_and_outputs():
    """Many arguments and outputs are all passed."""
    env = environment()
    names = [f"t{number}" for number in range(40)]
    symbols = {env.symbol(name).expr: (name, ".shape", 0) for name in names}
    counts = {env.symbol(f"n{number}").expr: (f"n{number}",) for number in range(40)}
    one = env.names["rows"].interner.constant(1)
    outputs = [*[Made("float32", (symbol,), (one,)) for symbol in symbols], *[Number(count) for count in counts]]
    run = make_native(
        description(
            env=env,
            tensors=[TensorArgument(name, "float32", 1) for name in names],
            integers=[f"n{number}" for number in range(40)],
            symbols=symbols | counts,
            outputs=outputs,
            launches=[],
            structure=tuple,
            guards=None,
        )
    )
    found = run(*[torch.empty(size) for size in range(40)], *range(40))
    assert [len(tensor) for tensor in found[:40]] == list(range(40)) == list(found[40:])


def test_nothing_is_kept():
    """Each call leaves a reference behind."""
    run = program("rows == 3")
    others = [torch.randn(2, 5), torch.randn(2, 5)]
    counted = (X, Y, Z, others[0], torch.float32, NotImplemented)
    before = [sys.getrefcount(each) for each in counted]
    for _ in range(10_000):
        run(X, Y, Z)
        assert run(*others, Z) is NotImplemented
    after = [sys.getrefcount(each) for each in counted]
    assert max(abs(a - b) for a, b in zip(after, before)) < 20


def test_memory_is_given_back():
    """Each call leaves memory behind."""
    import resource

    env = environment()
    rows, columns, down, right = [env.names[name] for name in ("rows", "columns", "down", "right")]
    one = rows.interner.constant(1)
    launches = [
        Launch(fused(), (0, 1, 2, 4), (rows, columns, down, right)),
        Launch(fused(), (4, 1, 2, 3), (rows, columns, columns, one)),
    ]
    run = make_native(description(env=env, scratch=[rows * columns * 4], launches=launches))
    args = torch.randn(30, 50), torch.randn(30, 50), torch.randn(50)
    run(*args)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(20_000):
        run(*args)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 10_000  # of 120 MB that were made, twice


def test_programs_can_be_collected():
    """A program in a cycle with its constants is never freed."""
    env = environment()
    constant = torch.randn(5)
    run = make_native(description(env=env, constants=[constant], outputs=[Number(env.names["rows"])], launches=[]))
    constant.own = run
    before = sys.getrefcount(constant)
    assert before > 2
    import weakref

    gone = weakref.ref(constant)
    del run, constant
    gc.collect()
    assert gone() is None


def test_threads_call_at_once():
    """Calls from several threads write into each other's memory."""
    run = program()
    wrong = []

    def work(seed):
        generator = torch.Generator().manual_seed(seed)
        small = [torch.randn(*sizes, generator=generator) for sizes in ((3, 5), (3, 5), (5,))]
        large = [torch.randn(*sizes, generator=generator) for sizes in ((300, 300), (300, 300), (300,))]
        wanted = [eager(*args) for args in (small, large)]
        for _ in range(100):
            found = [run(*args) for args in (small, large)]
            if not all(torch.allclose(a, b) for a, b in zip(found, wanted)):
                wrong.append(seed)

    at_once(work)
    assert not wrong
