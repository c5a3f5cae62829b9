"""Kernels called with tensors: which memory they get, and what is refused."""

import ctypes
import gc
import sys

import pytest
import torch

from backends import Unreadable, cpu
from backends.cpu.launcher import Unavailable, launcher
from backends.decisions.questions import Decisions
from backends.loops.kernels import Kernel
from backends.loops.program import Program
from backends.loops.schedule import schedule
from shapes import ShapeEnv
from tests.threads import at_once

POINTERS = ctypes.POINTER(ctypes.c_void_p)
NUMBERS = ctypes.POINTER(ctypes.c_int64)


class Seen:
    """A kernel that notes what it is called with."""

    def __init__(self, tensors, numbers):
        self.calls = []
        self.function = ctypes.CFUNCTYPE(None, POINTERS, NUMBERS)(self.note)
        address = ctypes.cast(self.function, ctypes.c_void_p).value
        found = launcher()
        assert not isinstance(found, Unavailable), found.reason
        self.counts = tensors, numbers
        self.kernel = found.Kernel(address, tensors, numbers, self.function)

    def note(self, pointers, numbers):
        tensors, count = self.counts
        self.calls.append(([pointers[i] for i in range(tensors)], [numbers[i] for i in range(count)]))

    def __call__(self, *args):
        assert self.kernel(*args) is None
        return self.calls[-1]


class Subclass(torch.Tensor):
    """A class that changes nothing."""


BASE = torch.arange(24.0).reshape(4, 6)
READABLE = {
    "contiguous": BASE,
    "offset": BASE[2:],
    "strided": BASE.t()[1:, ::2],
    "expanded": torch.ones(1).expand(7),
    "requires grad": torch.ones(3, requires_grad=True),
    "with a history": torch.ones(3, requires_grad=True) * 2,
    "parameter": torch.nn.Parameter(torch.ones(3)),
    "buffer": torch.nn.Buffer(torch.ones(3)),
    "subclass": torch.ones(3).as_subclass(Subclass),
    "empty": torch.empty(0, 5),
    "no axes": torch.tensor(4),
    "eight axes": torch.ones(1, 2, 1, 2, 1, 2, 1, 2),
    "bool": torch.ones(3, dtype=torch.bool),
    "bfloat16": torch.ones(3, dtype=torch.bfloat16),
    "complex": torch.ones(3, dtype=torch.complex64),
    "large": torch.ones(1 << 17),
}


@pytest.mark.parametrize("name", READABLE)
def test_pointer_is_that_of_the_first_element(name):
    """A kernel reads and writes somewhere else."""
    tensor = READABLE[name]
    (pointer, other), _ = Seen(2, 0)(tensor, BASE)
    assert (pointer or 0, other) == (tensor.data_ptr(), BASE.data_ptr())


def test_inference_tensors_are_read():
    """Calls in inference mode fail."""
    with torch.inference_mode():
        tensor = torch.ones(4)
        assert Seen(1, 0)(tensor)[0] == [tensor.data_ptr()]


def test_numbers_come_behind_the_tensors():
    """Sizes arrive changed, or in another order."""
    numbers = [0, -1, 7, True, 2**63 - 1, -(2**63)]
    numbers += [sign * (2**30 + near) for sign in (1, -1) for near in (-1, 0, 1)]
    assert Seen(1, len(numbers))(BASE, *numbers)[1] == numbers


def test_many_arguments():
    """More arguments than fit in the usual room are cut off."""
    tensors = [torch.full((1,), float(place)) for place in range(40)]
    pointers, numbers = Seen(40, 50)(*tensors, *range(50))
    assert pointers == [tensor.data_ptr() for tensor in tensors]
    assert numbers == list(range(50))


def wrapped_by_a_transform():
    kept = []
    torch.func.vmap(lambda x: kept.append(x) or x)(torch.ones(3, 2))
    return kept[0]


def fake():
    with torch._subclasses.FakeTensorMode():
        return torch.empty(3)


REFUSED = {
    "meta": lambda: torch.empty(3, device="meta"),
    "sparse": lambda: torch.eye(3).to_sparse(),
    "compressed": lambda: torch.eye(3).to_sparse_csr(),
    "mkldnn": lambda: torch.eye(3).to_mkldnn(),
    "quantized": lambda: torch.quantize_per_tensor(torch.ones(3), 1.0, 0, torch.qint8),
    "nested": lambda: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]),
    "marked as conjugate": lambda: torch.ones(3, dtype=torch.complex64).conj(),
    "marked as negative": lambda: torch.ones(3, dtype=torch.complex64).conj().imag,
    "zeros without memory": lambda: torch._efficientzerotensor(3),
    "functional": lambda: torch._to_functional_tensor(torch.ones(3)),
    "of a transform": wrapped_by_a_transform,
    "fake": fake,
    "subclass on meta": lambda: torch.empty(3, device="meta").as_subclass(Subclass),
    "negative subclass": lambda: torch._neg_view(torch.ones(3)).as_subclass(Subclass),
    "no tensor": lambda: [1.0],
    "a number": lambda: 3,
    "nothing": lambda: None,
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_memory_of_its_values_is_refused(name):
    """A kernel is given memory that is not there, or that does not hold the values."""
    seen = Seen(2, 0)
    with pytest.raises((TypeError, RuntimeError)):
        seen(BASE, REFUSED[name]())
    assert not seen.calls


class Watching(torch.overrides.TorchFunctionMode):
    """A mode that notes what torch is asked."""

    def __init__(self):
        super().__init__()
        self.asked = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.asked.append(func)
        return func(*args, **(kwargs or {}))


def test_modes_of_the_user_do_not_see_the_launcher():
    """A mode that counts or changes what torch is asked is called for each argument of a kernel; or, so that it is not,
    a mark is overlooked."""
    negative = READABLE["complex"].conj().imag
    seen = Seen(2, 0)
    with Watching() as mode:
        seen.kernel(BASE, READABLE["complex"])
        with pytest.raises(TypeError):
            seen.kernel(BASE, negative)
    assert len(seen.calls) == 1 and not mode.asked
    torch.ones(1)  # nothing is left switched off
    with Watching() as mode:
        BASE.is_neg()
    assert mode.asked


def test_what_the_caller_allocated_is_not_asked_for_its_mark():
    """A kernel takes longer to look at its arguments than to run; or it does not look at the others."""
    function = Seen(2, 0).function
    address = ctypes.cast(function, ctypes.c_void_p).value
    kernel = launcher().Kernel(address, 2, 0, function, 0, 1, (1,))
    negative = torch._neg_view(torch.ones(3))
    kernel(BASE, negative)
    together = launcher().Kernels(((kernel, (0, 1), 0, 1), (kernel, (1, 2), 0, 1)), (), 3, 0)
    together(BASE, BASE, negative)
    for refused in [(negative, BASE, BASE), (BASE, negative, BASE)]:
        with pytest.raises(TypeError):
            together(*refused)
    for places in [(2,), (-1,)]:
        with pytest.raises(ValueError):
            launcher().Kernel(address, 2, 0, function, 0, 1, places)


def test_kernels_know_what_their_program_allocates():
    """A kernel asks for the mark of memory that another kernel has just filled; or not for that of an argument."""
    env = ShapeEnv()
    (n,) = [size.expr for size in env.sizes("n")]
    program = Program(Decisions(env))
    x = program.input("x", "float32", (n,), (program.build.one,))
    program.outputs.append(program.stored(program.build.apply("exp", x), (program.build.one,)))
    (kernel,) = [step for step in schedule(program) if isinstance(step, Kernel)]
    (launch,) = cpu.kernels([kernel], program.decisions)
    marked = [torch._neg_view(torch.ones(3)) if each.role == "made" else torch.ones(3) for each in kernel.buffers]
    launch(*marked, 3, 1)
    with pytest.raises(Unreadable):
        launch(*[torch._neg_view(torch.ones(3)) for _ in kernel.buffers], 3, 1)


@pytest.mark.parametrize("number", [1.0, "1", None, 2**63, -(2**63) - 1, torch.tensor(1)])
def test_numbers_are_integers_of_64_bits(number):
    """A size wraps around, or is cut off."""
    seen = Seen(0, 1)
    with pytest.raises((TypeError, OverflowError)):
        seen(number)
    assert not seen.calls


@pytest.mark.parametrize("args", [(), (BASE,), (BASE, 1, 2), (BASE, BASE, 1)])
def test_count_of_arguments_is_exact(args):
    """A kernel reads past its arguments."""
    seen = Seen(1, 1)
    with pytest.raises(TypeError):
        seen.kernel(*args)
    with pytest.raises(TypeError):
        seen.kernel(BASE, numbers=1)
    assert not seen.calls


def test_impossible_kernels_are_refused():
    """A kernel without a function, or with a nonsensical count, is called."""
    kernel = launcher().Kernel
    for address, tensors, numbers in [(0, 1, 1), (1, -1, 1), (1, 1, -1), (1, 10**6, 1)]:
        with pytest.raises(ValueError):
            kernel(address, tensors, numbers)


def test_nothing_is_kept():
    """Each call leaves a reference behind."""
    negative = READABLE["complex"].conj().imag
    seen = Seen(2, 1)
    before = sys.getrefcount(BASE), sys.getrefcount(negative), sys.getrefcount(True)
    for _ in range(10_000):
        seen.kernel(BASE, BASE, 1)
        seen.calls.clear()
    for _ in range(1000):
        with pytest.raises(TypeError):
            seen.kernel(BASE, negative, 1)
    after = sys.getrefcount(BASE), sys.getrefcount(negative), sys.getrefcount(True)
    assert max(abs(a - b) for a, b in zip(after, before)) < 20


def test_library_lives_as_long_as_the_kernel():
    """The code of a kernel is unloaded while it can still be called."""
    seen = Seen(0, 0)
    kernel, function = seen.kernel, seen.function
    count = sys.getrefcount(function)
    del seen.kernel
    kernel()
    del kernel
    gc.collect()
    assert sys.getrefcount(function) == count - 1


def test_threads_call_at_once():
    """Calls from several threads mix up their arguments."""
    wrong = []
    large = torch.ones(1 << 17)  # for which the interpreter is let go

    def work(number):
        for _ in range(300):
            mine = torch.full((4,), float(number))
            for tensor in (mine, large):
                kernel, calls = seen.kernel, seen.calls
                kernel(tensor, number)
                if ([tensor.data_ptr()], [number]) not in calls:
                    wrong.append(number)

    seen = Seen(1, 1)
    at_once(work)
    assert not wrong


def together(*seen):
    """Kernels of one call, the first of two tensors and a number, the second of one tensor and two numbers."""
    first, second = [each.kernel for each in seen]
    return launcher().Kernels(((first, (2, 0), 0, 1), (second, (1,), 1, 1)), (1, 1, 0), 3, 2)


def test_several_kernels_are_called_in_order_each_with_its_own():
    """A kernel of a joint call is given another's tensors or numbers, or runs too early."""
    first, second = Seen(2, 1), Seen(1, 2)
    tensors = [torch.ones(2), torch.ones(3), torch.ones(4)]
    pointers = [each.data_ptr() for each in tensors]
    assert together(first, second)(*tensors, 7, 8) is None
    assert first.calls == [([pointers[2], pointers[0]], [8])] and second.calls == [([pointers[1]], [8, 7])]


@pytest.mark.parametrize(
    "arguments",
    [(BASE, BASE, BASE, 1), (BASE, BASE, BASE, 1, 2, 3), (BASE, BASE, 1, 1, 2), (BASE, BASE, BASE, 1, 2.0)],
    ids=["too few", "too many", "a number for a tensor", "a float for a number"],
)
def test_several_kernels_run_all_or_none(arguments):
    """The first kernels of a call have run when an argument of the others is refused."""
    seen = Seen(2, 1), Seen(1, 2)
    with pytest.raises(TypeError):
        together(*seen)(*arguments)
    assert not seen[0].calls and not seen[1].calls


@pytest.mark.parametrize(
    "tensors, first, numbers, count",
    [
        *[((0, 3), 0, (0,), 3), ((0,), 0, (0,), 3), ((0, 1), 0, (1,), 3), ((0, 1), 0, (), 3), ((0, 1), 1, (0,), 3)],
        *[((0, 1), -1, (0,), 3), ((0, 1), 0, (0,), 33), ((0, 1), 0, (0,) * 1025, 3)],
    ],
    ids=[
        *["no such tensor", "too few tensors", "no such number", "too few numbers", "numbers behind the last"],
        *["numbers before the first", "more tensors than there is place for", "more numbers"],
    ],
)
def test_several_kernels_are_given_what_each_takes(tensors, first, numbers, count):
    """A kernel reads past what it was given."""
    kernel = Seen(2, 1).kernel
    with pytest.raises(ValueError):
        launcher().Kernels(((kernel, tensors, first, 1),), numbers, count, 1)
