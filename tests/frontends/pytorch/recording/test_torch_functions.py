"""Arguments that torch would concretize stay symbolic, and a size that Python concretizes is visible with its line."""

import math
import threading

import pytest
import torch

from frontends.pytorch import trace
from frontends.pytorch.errors import Unsupported
from shapes.errors import UndecidedGuard

F = torch.nn.functional
SIZES = ((6, 4), (3, 7), (17, 2), (1, 5))

FREE = {
    "sym_max": lambda x: x.new_ones(torch.sym_max(x.shape[0], 5)),
    "sym_min": lambda x: x.new_ones(torch.sym_min(x.shape[0], 5)),
    "sym_int of a root": lambda x: x.new_ones(torch.sym_int(torch.sym_sqrt(x.shape[0]))),
    "floor, ceil, trunc": lambda x: x.new_ones(
        math.floor(x.shape[0] / 2), math.ceil(x.shape[0] / 3), math.trunc(x.shape[1] / 2) + 1
    ),
    "floor of a size": lambda x: x.new_ones(math.floor(x.shape[0])),
    "sym_float": lambda x: x * torch.sym_float(x.shape[0]),
    "log2": lambda x: x * torch._sym_log2(x.shape[0]),
    "sin of a float": lambda x: x * torch._sym_sin(x.shape[0] * 0.5),
    "sym_ite": lambda x: x.new_ones(torch.sym_ite(x.shape[0] > 4, x.shape[0], 4)),
    "sym_not": lambda x: x * torch.sym_ite(torch.sym_not(x.shape[0] > 4), 1.5, 2.5),
    "signs": lambda x: x * -x.shape[0] + +x.shape[1],
    "a power": lambda x: x * x.shape[0] ** 0.5,
    "sum": lambda x: x.new_ones(sum(x.shape)),
    "sym_sum": lambda x: x.new_ones(torch.sym_sum([*x.shape, 3])),
    "math.prod": lambda x: x.new_ones(math.prod(x.shape)),
    "abs": lambda x: x.new_ones(abs(3 - x.shape[0])),
    "round": lambda x: x.new_ones(round(x.shape[0] / 3)),
    "torch.tensor": lambda x: torch.tensor(x.shape[0]) + torch.tensor([x.shape[0], 1]),
    "torch.tensor, nested": lambda x: torch.tensor([[x.shape[0], 1.5], [2, x.shape[0]]]),
    "torch.tensor, dtype": lambda x: torch.tensor(x.shape[0], dtype=torch.float64),
    "as_tensor": lambda x: torch.as_tensor(x.shape[1]),
    "new_tensor": lambda x: x.new_tensor([x.shape[0]]),
    "an index": lambda x: x[:, x.shape[1] - 1],
    "an index behind an ellipsis": lambda x: x[..., x.shape[1] - 1],
    "an index and a new axis": lambda x: x[None, x.shape[0] // 2, None, 1:],
    "an index beside a tensor": lambda x: x[torch.arange(x.shape[0]), x.shape[1] - 1],
    "an index that is set": lambda x: x.clone().index_fill_(0, torch.tensor(0), 1).__getitem__(x.shape[0] - 1),
    "one_hot": lambda x: F.one_hot(torch.arange(x.shape[0]), x.shape[0]),
    "one_hot, named": lambda x: F.one_hot(torch.arange(x.shape[0]), num_classes=x.shape[0] + 1),
}


@pytest.mark.parametrize("name", FREE)
def test_stays_symbolic(name):
    """A graph is right at all sizes, and has no guard."""
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
    """A write at a symbolic index goes to the index of each call."""
    variant = trace(set_last, (torch.randn(3, 4),))
    assert variant.env.specializations() == ()
    for sizes in SIZES:
        x = torch.randn(*sizes)
        assert torch.equal(variant.graph(x)[0], set_last(x))


CONCRETIZED = {
    "range": (lambda x: sum(i for i in range(x.shape[0])) * x, "range(x.shape[0])"),
    "a list of that length": (lambda x: x * len([0] * x.shape[0]), "[0] * x.shape[0]"),
    "a place in a list": (lambda x: x * list(range(40))[x.shape[0]], "list(range(40))[x.shape[0]]"),
    "rows": (lambda x: torch.stack(list(x)), "list(x)"),
    "math.gcd": (lambda x: x * math.gcd(x.shape[0], 4), "math.gcd(x.shape[0], 4)"),
    "math.sqrt": (lambda x: x * math.sqrt(x.shape[0]), "math.sqrt(x.shape[0])"),
    "int": (lambda x: x * int(x.shape[0]), "int(x.shape[0])"),
    "len": (lambda x: x * len(x), "len(x)"),
}


@pytest.mark.parametrize("name", CONCRETIZED)
def test_concretized_is_visible(name):
    """A concretized size is recorded with its line."""
    function, text = CONCRETIZED[name]
    variant = trace(function, (torch.randn(6, 4),))
    (guard,) = variant.guards
    assert str(guard) == "x.shape[0] == 6"
    first, *_ = variant.env.specializations()
    place = first.origin if hasattr(first, "origin") else guard.origin
    assert place.file == __file__
    assert text in place.segment or text in place.source_line


def test_python_chooses_by_a_guard():
    """A branch inside Python's `max` is a guard."""
    variant = trace(lambda x: x.new_ones(max(x.shape[0], 5)), (torch.randn(6, 4),))
    assert [str(guard) for guard in variant.guards] == ["x.shape[0] >= 5"]


def test_threads_trace_at_once():
    """Traces in several threads at once do not disturb each other."""
    variants, errors = {}, []

    def one(name):
        try:
            for _ in range(3):
                variants[name] = trace(FREE[name], (torch.randn(6, 4),))
        except BaseException as error:
            errors.append(error)

    names = ["sym_ite", "an index", "log2", "torch.tensor"]
    threads = [threading.Thread(target=one, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    for name in names:
        assert variants[name].guards == ()


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


def unrecorded(x):
    with torch.inference_mode():
        return x * 2


def hooked(x):
    with torch.autograd.graph.save_on_cpu():
        return torch.dropout(x, 0.5, True)


def accumulated(x):
    (x * parameter).sum().backward()
    return x


parameter = torch.nn.Parameter(torch.ones(4))

REFUSED = {
    "if on a tensor": (branch_on_data, UndecidedGuard, "if x.sum() > 0"),
    "if on an item": (branch_on_item, UndecidedGuard, "x.sum().item() > 0"),
    "while on data": (loop_on_data, UndecidedGuard, "while x.abs().max() > 1"),
    "range of an item": (lambda x: [x for _ in range(x.long().sum().item())], UndecidedGuard, "range("),
    "a list at an item": (lambda x: [x, -x][int(x.sum().item())], UndecidedGuard, "[x, -x]"),
    "inference mode": (unrecorded, Unsupported, "return x * 2"),
    "hooks around random numbers": (hooked, Unsupported, "torch.dropout"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_with_line_and_fix(name):
    """An unsupported operation is refused, with its line and a fix."""
    function, kind, text = REFUSED[name]
    with pytest.raises(kind) as error:
        trace(function, (torch.randn(6, 4),))
    message = str(error.value)
    assert "test_torch_functions.py" in message
    assert "fix:" in message
    assert text in message


def test_a_gradient_of_a_parameter():
    """A gradient for a tensor of the caller is refused, and the tensor gets none."""
    with pytest.raises(Unsupported, match="sets the gradient of a tensor of the caller"):
        trace(accumulated, (torch.randn(6, 4),))
    assert parameter.grad is None
