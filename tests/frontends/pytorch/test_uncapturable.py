"""Programs that no graph takes: `fullgraph=True` says in which line and what to do, otherwise they are as eager."""

from __future__ import annotations

import copy
import functools
import io
import json
import random
import threading
import time
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction
from typing import Final

import pytest
import torch
from torch.nn import functional
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

from frontends.pytorch import compile
from frontends.pytorch.errors import InternalError
from shapes.errors import ShapeError

Function = Callable[[torch.Tensor], object]


class Partial(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 2, x * 3

    @staticmethod
    def backward(ctx, one, other):
        return one * 2 if other is None else one * 2 + other * 3


def another_structure(x):
    return torch.cond(x.sum() > 0, lambda y: {"a": y}, lambda y: {"b": y}, (x,))


def another_number_of_tensors(x):
    return torch.cond(x.sum() > 0, lambda y: (y, [y, y]), lambda y: (y, y), (x,))


def nothing_in_one_branch(x):
    return torch.cond(x.sum() > 0, lambda y: None, lambda y: y, (x,))


def another_dtype(x):
    return torch.cond(x.sum() > 0, lambda y: y, lambda y: y.double(), (x,))


def written_in_a_branch(x):
    return torch.cond(x.sum() > 0, lambda y: y.add_(1), lambda y: y.mul_(2), (x.detach(),))


def drawn_in_a_branch(x):
    return torch.cond(x.sum() > 0, lambda y: functional.dropout(y, 0.5), lambda y: y, (x,))


def a_branch_in_a_branch(x):
    def then(y):
        return y if y.mean() > 0 else y * 2

    return torch.cond(x.sum() > 0, then, lambda y: y, (x,))


def a_generator(x):
    return (x * step for step in range(3))


def an_iterator(x):
    return iter([x, x * 2])


def a_map(x):
    return map(torch.sin, [x])


def keys(x):
    return {"a": x + 1}.keys()


def a_set_of_tensors(x):
    return {x + 1}


def a_list_in_itself(x):
    made = [x + 1]
    made.append(made)
    return made


def a_closure(x):
    y = x + 1
    return lambda: y


def a_partial_call(x):
    return functools.partial(torch.add, x + 1)


def a_class(x):
    class Held:
        tensor = x + 1

    return Held


def a_module(x):
    return torch.nn.Linear(3, x.dim())


def a_weak_reference(x):
    y = x + 1
    return weakref.ref(y)


def a_coroutine(x):
    async def inner():
        return x + 1

    made = inner()
    made.close()
    return made


def some_gradients(x):
    return Partial.apply(x)[0]


def reentrant(x):
    return checkpoint(lambda y: y.sin().exp(), x, use_reentrant=True)


def reentrant_in_sequence(x):
    return checkpoint_sequential([torch.sin, torch.cos], 2, x, use_reentrant=True)


def traced_again(x):
    return torch.jit.trace(lambda y: y + 1, (x,), check_trace=False)(x)


def exported(x):
    return torch.export.export(torch.nn.Linear(3, 2), (x,)).module()(x).shape


def written_to_onnx(x):
    torch.onnx.export(torch.nn.Linear(3, 2), (x,), io.BytesIO(), dynamo=False)
    return x


def copied(x):
    return copy.deepcopy(x.detach() + 1)


def pickled(x):
    torch.save(x, io.BytesIO())
    return x


def by_dlpack(x):
    return torch.from_dlpack(torch.to_dlpack(x.detach() + 1))


def quantized(x):
    return torch.quantize_per_tensor(x.detach(), 0.1, 0, torch.qint8).dequantize()


def in_a_thread(x):
    found = []
    thread = threading.Thread(target=lambda: found.append(x + 1))
    thread.start()
    thread.join()
    return found[0]


def in_a_pool(x):
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: x + 1).result()


def a_fraction(x):
    return x * float(Fraction(x.shape[0], 3))


def a_decimal(x):
    return x * float(Decimal(x.shape[0]))


def as_json(x):
    return x * len(json.dumps({"rows": x.shape[0]}))


def a_key(x):
    return x * {4: 1, 5: 2}.get(x.shape[0], 3)


def formatted(x):
    return x * len("{rows:04d}".format_map({"rows": x.nonzero().shape[0]}))


def as_text(x):
    return x * len(f"{x}")


def by_data(x):
    return x if x.sum() > 0 else -x


def a_loop_over_data(x):
    for step in range(x.nonzero().shape[0]):
        x = x + step
    return x


def as_numpy(x):
    return torch.from_numpy(x.detach().numpy() + 1)


def an_address(x):
    return x * (x.data_ptr() % 2)


def a_clock(x):
    return x * (time.time() > 0)


def random_of_python(x):
    return x * (random.random() < 2)


def a_state(x):
    return x + torch.get_rng_state()[:1] * 0


def evaluated(x):
    return eval("x * 2", {"x": x})


def its_own_gradient(x):
    (x * 2).sum().backward()
    return x + 1


SAID: Final[dict[Function, str]] = {
    another_structure: "different structures: {'a': _} and {'b': _}",
    another_number_of_tensors: "different structures: (_, [_, _]) and (_, _)",
    nothing_in_one_branch: "None and float32",
    another_dtype: "the same dtype",
    written_in_a_branch: "changes a tensor from outside in place",
    drawn_in_a_branch: "random numbers in a branch",
    a_branch_in_a_branch: "cannot decide",
    a_generator: "a list of what it gives",
    an_iterator: "a list of what it gives",
    a_map: "a list of what it gives",
    keys: "a list of what it gives",
    a_set_of_tensors: "tensors as keys",
    a_list_in_itself: "holds itself",
    a_closure: "a function that the call made",
    a_partial_call: "a partial that the call made",
    a_class: "a type that the call made",
    a_module: "a Linear that the call made",
    a_weak_reference: "a ReferenceType that the call made",
    a_coroutine: "a coroutine that the call made",
    some_gradients: "set_materialize_grads",
    reentrant: "use_reentrant=False",
    reentrant_in_sequence: "use_reentrant=False",
    traced_again: "torch.jit.trace()",
    exported: "torch.export.export()",
    written_to_onnx: "torch.onnx.export()",
    copied: "tensors with elements",
    pickled: "pickled",
    by_dlpack: "tensors with elements",
    quantized: "tensors with elements",
    in_a_thread: "a thread is started",
    in_a_pool: "in another thread",
    a_fraction: "a size where a plain number is needed",
    a_decimal: "a size where a plain number is needed",
    as_json: "a size where a plain number is needed",
    a_key: "no hash while it is symbolic",
    formatted: "known only at run time",
    as_text: "written as text",
    by_data: "torch.cond with both branches",
    a_loop_over_data: "known only at run time",
    as_numpy: "known only when the graph runs",
    an_address: "has no memory",
    a_clock: "the time of the trace",
    random_of_python: "draws from `random`",
    a_state: "what it was in the trace",
    evaluated: "eval()",
    its_own_gradient: "use torch.autograd.grad",
}
# no function that torch.compile has compiled: where its tracing raises, Dynamo's hook of the interpreter stays
OWN_WAY: Final = {exported, written_to_onnx, traced_again}
"""What torch does in a way of its own, for which it takes long."""


@pytest.mark.parametrize("program", SAID, ids=lambda each: each.__name__)
def test_the_error_says_where_and_what_to_do(program: Function) -> None:
    """Fails when who asks for one graph is not told what keeps the program from being one."""
    code = program.__code__
    lines = {line for *_, line in code.co_lines() if line} | {
        line for inner in code.co_consts if hasattr(inner, "co_lines") for *_, line in inner.co_lines() if line
    }
    lines |= {line for *_, line in Partial.forward.__code__.co_lines() if line} if program is some_gradients else set()
    with pytest.raises(ShapeError) as raised:
        compile(program, fullgraph=True, dynamic=True)(torch.ones(4, 3, requires_grad=True))
    text = str(raised.value)
    assert not isinstance(raised.value, InternalError)
    assert SAID[program] in text
    assert "fix:" in text
    assert any(f"test_uncapturable.py:{line}" in text for line in lines), text


BRANCHES: Final = (*list(SAID)[:6], a_branch_in_a_branch)
"""Eager torch refuses these as well."""
RETURNED: Final = list(SAID)[list(SAID).index(a_generator) : list(SAID).index(some_gradients)]
"""What is returned has no values to compare."""


@pytest.mark.parametrize(
    "program",
    [each for each in SAID if each not in (*BRANCHES, *RETURNED, *OWN_WAY)],
    ids=lambda each: each.__name__,
)
def test_without_asking_for_one_graph_it_is_as_eager(program: Function) -> None:
    """Fails when what is refused as one graph is refused in any case, or does something else."""
    compiled = compile(program, dynamic=True)
    for rows in (4, 5):
        ours, theirs = [torch.ones(rows, 3, requires_grad=True) for _ in range(2)]
        got, wanted = compiled(ours), program(theirs)
        torch.testing.assert_close(got, wanted)
        if wanted.requires_grad:
            got.sum().backward(), wanted.sum().backward()
            torch.testing.assert_close(ours.grad, theirs.grad)


def test_an_endless_recursion_is_the_programs() -> None:
    """Fails when a program's own mistake is called one of ours."""

    def endless(x):
        return endless(x + 1)

    with pytest.raises(RecursionError):
        compile(endless, fullgraph=True)(torch.ones(2))
