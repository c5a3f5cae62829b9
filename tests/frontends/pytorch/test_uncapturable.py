"""Programs that no graph takes are as eager."""

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


PROGRAMS: Final = (
    *(another_structure, another_number_of_tensors, nothing_in_one_branch, another_dtype),
    *(written_in_a_branch, drawn_in_a_branch),
    *(a_branch_in_a_branch, a_generator, an_iterator, a_map, keys, a_set_of_tensors),
    *(a_list_in_itself, a_closure, a_partial_call, a_class, a_module, a_weak_reference),
    *(a_coroutine, some_gradients, reentrant, reentrant_in_sequence, traced_again, exported),
    *(written_to_onnx, copied, pickled, by_dlpack, quantized, in_a_thread),
    *(in_a_pool, a_fraction, a_decimal, as_json, a_key, formatted),
    *(as_text, by_data, a_loop_over_data, as_numpy, an_address, a_clock),
    *(random_of_python, a_state, evaluated, its_own_gradient),
)
# no function that torch.compile has compiled: where its tracing raises, Dynamo's hook of the interpreter stays
OWN_WAY: Final = {exported, written_to_onnx, traced_again}
"""What torch does in a way of its own, for which it takes long."""


BRANCHES: Final = (*PROGRAMS[:6], a_branch_in_a_branch)
"""Eager torch refuses these as well."""
RETURNED: Final = PROGRAMS[PROGRAMS.index(a_generator) : PROGRAMS.index(some_gradients)]
"""What is returned has no values to compare."""


@pytest.mark.parametrize(
    "program",
    [each for each in PROGRAMS if each not in (*BRANCHES, *RETURNED, *OWN_WAY)],
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
