"""What Python and torch would concretize stays symbolic, and what is concretized is visible with its line."""

import functools
import math
import numbers
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from math import sqrt as root

import pytest
import torch

from frontends.pytorch import compile, trace
from frontends.pytorch.errors import GraphBreak
from frontends.pytorch.python.active_trace import tracing
from shapes.errors import UndecidedGuard

F = torch.nn.functional
SIZES = ((6, 4), (3, 7), (17, 2), (1, 5))


def pair(n):
    return (n, n) if type(n) is int else n


class Window:
    """A helper with methods, as configurations of models have."""

    least = 3

    def width(self, n):
        return max(self.least, int(n * 0.75))


class Padded(torch.nn.Module):
    def width(self, n):
        return max(n, 5)

    def forward(self, x):
        return x.new_ones(self.width(len(x)))


window = Window()
padded = Padded()

FREE = {
    "max": lambda x: x.new_ones(max(x.shape[0], 5)),
    "max of a list": lambda x: x.new_ones(max([x.shape[0], 5, x.shape[1]])),
    "max of a generator": lambda x: x.new_ones(max(n for n in x.shape)),
    "min": lambda x: x.new_ones(min(x.shape[0], 5)),
    "int of a root": lambda x: x.new_ones(int(math.sqrt(x.shape[0]))),
    "an imported root": lambda x: x.new_ones(int(root(x.shape[0]))),
    "math.isqrt": lambda x: x.new_ones(math.isqrt(x.shape[0])),
    "floor, ceil, trunc": lambda x: x.new_ones(
        math.floor(x.shape[0] / 2), math.ceil(x.shape[0] / 3), math.trunc(x.shape[1] / 2) + 1
    ),
    "floor of a size": lambda x: x.new_ones(math.floor(x.shape[0])),
    "int of a quotient": lambda x: x.new_ones(int(x.shape[0] / 2)),
    "float": lambda x: x * float(x.shape[0]),
    "log2": lambda x: x.new_ones(math.ceil(math.log2(x.shape[0]))),
    "log of two": lambda x: x * math.log(x.shape[0], 3),
    "exp": lambda x: x * math.exp(-x.shape[0] / 4),
    "sin of a float": lambda x: x * math.sin(x.shape[0] * 0.5),
    "len": lambda x: x.new_ones(len(x) + len(x.shape)),
    "sum": lambda x: x.new_ones(sum(x.shape)),
    "math.prod": lambda x: x.new_ones(math.prod(x.shape)),
    "abs": lambda x: x.new_ones(abs(3 - x.shape[0])),
    "round": lambda x: x.new_ones(round(x.shape[0] / 3)),
    "divmod": lambda x: x.new_ones(sum(divmod(x.shape[0], 3))),
    "isinstance": lambda x: x.new_ones(x.shape[0] if isinstance(x.shape[0], int) else 1),
    "isinstance of several": lambda x: x.new_ones(x.shape[0] if isinstance(x.shape[0], (str, int | float)) else 1),
    "type": lambda x: x.new_ones(pair(x.shape[0])),
    "a method": lambda x: x.new_ones(window.width(x.shape[0])),
    "a bound method": functools.partial(lambda width, x: x.new_ones(width(x.shape[0])), window.width),
    "a module": lambda x: padded(x),
    "a nested function": lambda x: (lambda n: sum([x.new_ones(max(each, 4)) for each in (n, n)]))(x.shape[0]),
    "torch.tensor": lambda x: torch.tensor(x.shape[0]) + torch.tensor([x.shape[0], 1]),
    "torch.tensor, nested": lambda x: torch.tensor([[x.shape[0], 1.5], [2, len(x)]]),
    "torch.tensor, dtype": lambda x: torch.tensor(x.shape[0], dtype=torch.float64),
    "as_tensor": lambda x: torch.as_tensor(x.shape[1]),
    "new_tensor": lambda x: x.new_tensor([x.shape[0]]),
    "an index": lambda x: x[:, x.shape[1] - 1],
    "an index behind an ellipsis": lambda x: x[..., x.shape[1] - 1],
    "an index and a new axis": lambda x: x[None, x.shape[0] // 2, None, 1:],
    "an index beside a tensor": lambda x: x[torch.arange(x.shape[0]), x.shape[1] - 1],
    "an index that is set": lambda x: x.clone().index_fill_(0, torch.tensor(0), 1).__getitem__(x.shape[0] - 1),
    "linspace": lambda x: torch.linspace(0, 3, x.shape[0]),
    "linspace, named": lambda x: torch.linspace(start=-1, end=3, steps=x.shape[0], dtype=torch.float64),
    "logspace": lambda x: torch.logspace(0, 1, x.shape[0]),
    "tril_indices": lambda x: torch.tril_indices(x.shape[0], x.shape[1]),
    "triu_indices": lambda x: torch.triu_indices(x.shape[0], x.shape[1], offset=1),
    "one_hot": lambda x: F.one_hot(torch.arange(x.shape[0]), x.shape[0]),
    "one_hot, named": lambda x: F.one_hot(torch.arange(x.shape[0]), num_classes=x.shape[0] + 1),
    "hann_window": lambda x: torch.hann_window(x.shape[0]),
    "hamming_window": lambda x: torch.hamming_window(x.shape[0], periodic=False),
    "blackman_window": lambda x: torch.blackman_window(x.shape[0]),
    "bartlett_window": lambda x: torch.bartlett_window(x.shape[0], False),
    "kaiser_window": lambda x: torch.kaiser_window(x.shape[0], True, beta=9.0),
}


@pytest.mark.parametrize("name", FREE)
def test_stays_symbolic(name):
    """If it fails, a graph is right at the traced size only, or refuses sizes for which it is right."""
    function = FREE[name]
    variant = trace(function, (torch.randn(*SIZES[0]),))
    assert variant.guards == ()
    assert variant.env.specializations() == ()
    for sizes in SIZES:
        x = torch.randn(*sizes)
        assert torch.equal(variant.graph(x)[0], function(x))


def set_last(x):
    y = x.clone()
    y[x.shape[0] - 1] = 7
    y[:, x.shape[1] - 1] = y[:, 0]
    return y


def test_symbolic_index_is_set():
    """If it fails, a write goes to the place that it had in the trace."""
    variant = trace(set_last, (torch.randn(3, 4),))
    assert variant.env.specializations() == ()
    for sizes in SIZES:
        x = torch.randn(*sizes)
        assert torch.equal(variant.graph(x)[0], set_last(x))


CONCRETIZED = {
    "range": (lambda x: sum(i for i in range(x.shape[0])) * x, "range(x.shape[0])"),
    "a list of that length": (lambda x: x * len([0] * x.shape[0]), "[0] * x.shape[0]"),
    "a place in a list": (lambda x: x * list(range(40))[x.shape[0]], "list(range(40))[x.shape[0]]"),
    "a format": (lambda x: x * len(f"{x.shape[0]:d}"), "x.shape[0]"),
    "a text": (lambda x: x * len(f"{x.shape[0]}"), "x.shape[0]"),
    "str": (lambda x: x if str(x.shape[0]) == "6" else -x, "str(x.shape[0])"),
    "rows": (lambda x: torch.stack(list(x)), "list(x)"),
    "math.gcd": (lambda x: x * math.gcd(x.shape[0], 4), "math.gcd(x.shape[0], 4)"),
}


@pytest.mark.parametrize("name", CONCRETIZED)
def test_concretized_is_visible(name):
    """If it fails, a size became a constant and nobody can see where."""
    function, text = CONCRETIZED[name]
    variant = trace(function, (torch.randn(6, 4),))
    (guard,) = variant.guards
    assert str(guard) == "x_size0 == 6"
    first, *_ = variant.env.specializations()
    place = first.origin if hasattr(first, "origin") else guard.origin
    assert place.file == __file__
    assert text in place.segment or text in place.source_line


def test_everything_is_put_back():
    """If it fails, a trace that ended leaves changed functions in the process."""
    before = (math.sqrt, print, time.time, torch.manual_seed, torch.compiler.is_compiling(), Window.width.__code__)
    counts = {"calls": 0}

    def body(x):
        counts["calls"] += 1
        window.width(x.shape[0])
        raise KeyError(torch.compiler.is_compiling(), Window.width.__code__ is before[-1])

    with pytest.raises(KeyError) as raised:
        trace(body, (torch.randn(2, 2),))
    assert raised.value.args == (True, False) and counts == {"calls": 0}
    after = (math.sqrt, print, time.time, torch.manual_seed, torch.compiler.is_compiling(), Window.width.__code__)
    assert all(one is other for one, other in zip(before, after))
    assert tracing() is None


def test_threads_trace_at_once():
    """If it fails, a trace in one thread takes away what another one needs."""
    variants, errors = {}, []

    def one(name):
        try:
            for _ in range(3):
                variants[name] = trace(FREE[name], (torch.randn(6, 4),))
        except BaseException as error:
            errors.append(error)

    names = ["a method", "int of a root", "max", "torch.tensor"]
    threads = [threading.Thread(target=one, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    for name in names:
        assert variants[name].guards == ()
    assert math.sqrt.__module__ == "math"


def test_other_threads_are_left_alone():
    """If it fails, a trace makes other threads of the process stop at a print or a clock."""
    with ThreadPoolExecutor(1) as other:

        def body(x):
            other.submit(lambda: time.perf_counter()).result()
            return x + 1

        trace(body, (torch.randn(2),))


def branch_on_data(x):
    if x.sum() > 0:
        return x
    return -x


def branch_on_item(x):
    return x if x.sum().item() > 0 else -x


def loop_on_data(x):
    while x.abs().max() > 1:
        x = x / 2
    return x


REFUSED = {
    "if on a tensor": (branch_on_data, UndecidedGuard, "if x.sum() > 0"),
    "if on an item": (branch_on_item, UndecidedGuard, "x.sum().item() > 0"),
    "while on data": (loop_on_data, UndecidedGuard, "while x.abs().max() > 1"),
    "range of an item": (lambda x: [x for _ in range(x.long().sum().item())], UndecidedGuard, "range("),
    "a list at an item": (lambda x: [x, -x][int(x.sum().item())], UndecidedGuard, "[x, -x]"),
    "numpy()": (lambda x: x.numpy(), GraphBreak, "x.numpy()"),
    "a size as a key": (lambda x: {6: x}[x.shape[0]], GraphBreak, "{6: x}"),
    "data_ptr": (lambda x: x.data_ptr(), GraphBreak, "data_ptr"),
    "print": (lambda x: print(x.shape), GraphBreak, "print"),
    "a caught print": (lambda x: caught(x), GraphBreak, "print"),
    "the clock": (lambda x: x * time.time(), GraphBreak, "time.time()"),
    "a seed": (lambda x: torch.manual_seed(0) and torch.rand_like(x), GraphBreak, "torch.manual_seed(0)"),
}


def caught(x):
    try:
        print("seen")
    except Exception:
        return x
    return x + 1


@pytest.mark.parametrize("name", REFUSED)
def test_refused_with_line_and_fix(name):
    """If it fails, a trace is wrong without an error, or an error does not say where and what to do."""
    function, kind, text = REFUSED[name]
    with pytest.raises(kind) as error:
        trace(function, (torch.randn(6, 4),))
    message = str(error.value)
    assert "test_interception.py" in message
    assert "fix:" in message
    assert text in message


def asks_instance(n):
    return isinstance(n, int)


def asks_type(n):
    return type(n) is int


class Asking:
    def check_type(self, n):
        return type(n) is int

    @staticmethod
    def check_kinds(n):
        return isinstance(n, (float, numbers.Integral))


BY_KEY = {
    "function": asks_instance,
    "type": asks_type,
    "method": Asking().check_type,
    "lambda": lambda n: isinstance(n, int | str),
}


@pytest.mark.parametrize("key", BY_KEY)
def test_a_size_is_an_int_where_no_name_leads(key):
    """If it fails, a function out of a table takes the branch of something that is no number."""

    def program(x):
        return x * 2 if globals()["BY_" + "KEY"][key](x.shape[0]) else x

    variant = trace(program, (torch.ones(3),))
    assert not variant.guards and torch.equal(variant.graph(torch.ones(4))[0], torch.full((4,), 2.0))


@pytest.mark.parametrize("name", ["type", "kinds"])
def test_a_size_is_an_int_in_a_method_of_a_computed_name(name):
    """If it fails, a method that `getattr` finds takes the branch of something that is no number."""

    def program(x):
        return x * 2 if getattr(Asking(), "check_" + name)(x.shape[0]) else x

    variant = trace(program, (torch.ones(3),))
    assert torch.equal(variant.graph(torch.ones(4))[0], torch.full((4,), 2.0))


def test_sizes_in_containers_as_text():
    """If it fails, a program that writes a list of sizes as text gets names of symbols in it."""

    def program(x):
        return f"{list(x.shape)} {x.shape[0]!r} {x.shape[0] > 4} {(x.shape[1] / 2,)}", x + 1

    compiled = compile(program, dynamic=True, fullgraph=True)
    for sizes in ((3, 4), (5, 2)):
        x = torch.randn(sizes)
        assert compiled(x)[0] == program(x)[0]


@pytest.mark.parametrize("make", [torch.linspace, torch.logspace], ids=["linspace", "logspace"])
def test_points_that_require_gradients(make):
    """If it fails, what is made of as many points as a size says has lost that it requires a gradient."""

    def program(x):
        points = make(0.0, 1.0, x.shape[0], requires_grad=True)
        return (x * points).sum()

    x = torch.randn(4)
    assert compile(program, dynamic=True)(x).requires_grad
