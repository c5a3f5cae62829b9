"""Predicted results of common operators checked against the real kernels: sizes, strides and dtypes, over layouts."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator

import pytest
import torch
from torch._dispatch.python import enable_python_dispatcher
from torch.utils._pytree import tree_leaves

from frontends.pytorch.meta_rules import pointwise as family
from frontends.pytorch.meta_rules.registry import RULES
from frontends.pytorch.recording.inference import infer
from frontends.pytorch.recording.recorder import Recorder
from frontends.pytorch.symbolic.metadata import Metadata
from frontends.pytorch.symbolic.node import value_of
from shapes.errors import ShapeError
from shapes.symbolic.numbers import SymInt
from tests.frontends.pytorch.meta_rules import calls_of_operators as calls
from tests.frontends.pytorch.meta_rules.calls_of_operators import FLOATS, INTS, NAMES, Calls, Maker, aten

ROUNDS = int(os.environ.get("RULE_ROUNDS", "8"))
OTHER_SIZES = 4


def taking(*types: str) -> list[object]:
    """The element-wise operators that need arguments of these types."""
    found = []
    for operator in family.overloads():
        needed = [str(argument.type) for argument in operator._schema.arguments if not argument.has_default_value()]
        if needed == list(types) and "clamp." not in str(operator):
            found.append(operator)
    return found


def kinds_for(operator: object) -> tuple[torch.dtype, ...]:
    if "bitwise" in str(operator):
        return INTS
    return (*FLOATS, torch.int64) if operator in (aten.add.Tensor, aten.mul.Tensor) else FLOATS


def matrices(make: Maker) -> list[object]:
    return [make.a, make.b]


TABLE: dict[str, Calls] = {
    **{str(op): calls.pointwise(op, 1, kinds=kinds_for(op)) for op in taking("Tensor")},
    **{
        str(op): calls.pointwise(op, 2, kinds=kinds_for(op))
        for op in taking("Tensor", "Tensor") if "backward" not in str(op)
    },
    **{str(op): calls.pointwise(op, 1, 2, kinds=kinds_for(op)) for op in taking("Tensor", "Scalar")},
    "where": calls.where,
    "masked_fill": calls.masked_fill,
    "addcmul": calls.pointwise(aten.addcmul.default, 3, kinds=(torch.float32,)),
    "lerp": calls.pointwise(aten.lerp.Tensor, 3, kinds=(torch.float32,)),
    "clamp": calls.pointwise(aten.clamp.default, 1, 0, 1),
    "gelu_backward": calls.same_sizes(aten.gelu_backward.default, 2),
    "tanh_backward": calls.same_sizes(aten.tanh_backward.default, 2),
    "sigmoid_backward": calls.same_sizes(aten.sigmoid_backward.default, 2),
    "silu_backward": calls.same_sizes(aten.silu_backward.default, 2),
    "threshold_backward": calls.same_sizes(aten.threshold_backward.default, 2, 0),
    "view": calls.view,
    "expand": calls.expand,
    "slice": calls.slices,
    "slice_backward": calls.slice_backward,
    "transpose": calls.axes(aten.transpose.int, 1, lambda n, r: (r.randrange(n), r.randrange(-n, 0))),
    "permute": calls.axes(aten.permute.default, 1, lambda n, r: (r.sample(range(n), n),)),
    "t": lambda make: (aten.t.default, [make.tensor(*make.dims(0, 2))], {}),
    "unsqueeze": calls.axes(aten.unsqueeze.default, 1, lambda n, r: (r.randint(-n - 1, n),)),
    "squeeze": calls.axes(aten.squeeze.dim, 1, lambda n, r: (r.randrange(n),)),
    "select": calls.axes(aten.select.int, 1, lambda n, r: (r.randrange(n), r.choice((0, -1)))),
    "split": calls.axes(aten.split.Tensor, 1, lambda n, r: (2, r.randrange(n))),
    "unbind": calls.axes(aten.unbind.int, 1, lambda n, r: (r.randrange(n),)),
    "mm": calls.product(aten.mm.default, matrices, lambda make: [make.b, make.c]),
    "bmm": calls.product(aten.bmm.default, lambda m: [m.a, m.b, 3], lambda m: [m.a, 3, m.c]),
    "addmm": calls.product(aten.addmm.default, lambda m: [5], lambda m: [m.a, m.b], lambda m: [m.b, 5]),
    "baddbmm": calls.product(
        aten.baddbmm.default, lambda m: [1, m.c], lambda m: [m.a, m.b, 3], lambda m: [m.a, 3, m.c]
    ),
    "mv": calls.product(aten.mv.default, matrices, lambda m: [m.b]),
    "sum": calls.reduction(aten.sum.dim_IntList, kinds=(*FLOATS, *INTS)),
    "mean": calls.reduction(aten.mean.dim),
    "amax": calls.reduction(aten.amax.default),
    "any": calls.reduction(aten.any.dims, kinds=INTS),
    "all": calls.reduction(aten.all.dim, several=False, kinds=INTS),
    "logsumexp": calls.reduction(aten.logsumexp.default),
    "max": calls.reduction(aten.max.dim, several=False, kinds=(*FLOATS, torch.int64)),
    "argmax": calls.reduction(aten.argmax.default, several=False),
    "whole sum": calls.whole(aten.sum.default, kinds=(*FLOATS, *INTS)),
    "whole mean": calls.whole(aten.mean.default),
    "whole max": calls.whole(aten.max.default),
    "cumsum": calls.scan(aten.cumsum.default),
    "cumprod": calls.scan(aten.cumprod.default),
    "gather": calls.gather,
    "index_select": calls.index_select,
    "layer_norm": calls.layer_norm,
    "layer_norm_backward": calls.layer_norm_backward,
    "group_norm": calls.group_norm,
    "group_norm_backward": calls.group_norm_backward,
    "batch_norm": calls.batch_norm,
    "batch_norm_backward": calls.batch_norm_backward,
    "softmax": calls.softmax(aten._softmax.default, False),
    "log_softmax": calls.softmax(aten._log_softmax.default, False),
    "safe_softmax": calls.softmax(aten._safe_softmax.default),
    "softmax_backward": calls.same_sizes(aten._softmax_backward_data.default, 2, -1, torch.float32),
    "log_softmax_backward": calls.same_sizes(aten._log_softmax_backward_data.default, 2, -1, torch.float32),
    "embedding": calls.embedding,
    "embedding_backward": calls.embedding_backward,
    "nll_loss": calls.nll_loss,
    "nll_loss_backward": calls.nll_loss_backward,
    "convolution": calls.convolution,
    "convolution_backward": calls.convolution_backward,
    "max_pool2d": calls.max_pool,
    "adaptive_avg_pool2d": calls.adaptive_pool,
    "upsample": calls.resampled,
    "upsample_backward": calls.resampled_backward,
    "cat": calls.joined(aten.cat.default),
    "stack": calls.joined(aten.stack.default),
    "repeat": calls.repeat,
    "constant_pad_nd": calls.padded,
    "clone": calls.copied(aten.clone.default, memory_format=(None, torch.contiguous_format, torch.preserve_format)),
    "_to_copy": calls.copied(aten._to_copy.default, dtype=(None, torch.float64, torch.int32)),
    "ones_like": calls.copied(aten.ones_like.default, dtype=(None, torch.int64)),
    "full_like": calls.copied(aten.full_like.default, 2.5, dtype=(None, torch.int64)),
    "zeros": calls.fresh(aten.zeros.default),
    "full": calls.fresh(aten.full.default, 2),
    "new_zeros": calls.new(aten.new_zeros.default),
    "new_full": calls.new(aten.new_full.default, 2),
    "arange": calls.counted,
    "native_dropout": lambda make: (aten.native_dropout.default, [make.tensor(*make.dims(1, 4)), 0.5, True], {}),
}  # fmt: skip
MAY_FALL_BACK = 0.5
"""The part of the generated calls, strange layouts among them, that a rule may leave to torch."""


def sizes(seed: int) -> Iterator[dict[str, int]]:
    chance = random.Random(f"sizes {seed}")
    while True:
        yield {name: chance.choice((1, 2, 3, 4, 5)) for name in NAMES}


def at(value: object, recorder: Recorder, values: dict[str, int]) -> int:
    value = value_of(value)
    if not isinstance(value, SymInt):
        return value
    return value.expr.evaluate(assignment(recorder, values))


def assignment(recorder: Recorder, values: dict[str, int]) -> dict[object, int]:
    return {atom: values[declared.name] for atom, declared in recorder.env.symbols.items()}


def inferred(recorder: Recorder, func: object, args: list[object], kwargs: dict[str, object]) -> object:
    """The results by a rule, or by torch's meta function with our layouts."""
    rule = RULES.get(func)
    if rule is not None:
        return rule(recorder, *args, **kwargs)
    leaves = tree_leaves((args, kwargs))
    tensors = [recorder.lift(leaf) for leaf in leaves if isinstance(leaf, torch.Tensor)]
    with enable_python_dispatcher(), recorder.nodes.infers():
        return infer(recorder, func, args, kwargs, tensors).output


def compare(kind: object, tensor: object, recorder: Recorder, values: dict[str, int], args: object, text: str) -> None:
    if isinstance(kind, int):
        kind = args[kind].metadata
    if kind is None:
        assert tensor is None, text
        return
    assert isinstance(kind, Metadata)
    assert isinstance(tensor, torch.Tensor), text
    found = [at(size, recorder, values) for size in kind.sizes]
    assert found == list(tensor.shape), f"sizes {kind.sizes}: {text}"
    assert kind.dtype is tensor.dtype, text
    if tensor.numel():
        for size, stride, real in zip(tensor.shape, kind.strides, tensor.stride()):
            told = f"strides {kind.strides}, not {tensor.stride()}: {text}"
            assert size == 1 or at(stride, recorder, values) == real, told


@pytest.mark.parametrize("name", TABLE)
def test_rule(name: str) -> None:
    """A tensor of a trace has the sizes, strides and dtype of the real one."""
    generated, answered = 0, 0
    for seed in range(ROUNDS):
        drawn = sizes(seed)
        values = next(drawn)
        try:
            func, args, kwargs = calls.real(TABLE[name], seed, values)
            func(*args, **kwargs)
        except (RuntimeError, IndexError, ValueError):
            continue
        recorder, (func, args, kwargs) = calls.symbolic(TABLE[name], seed, values)
        generated += 1
        try:
            found = inferred(recorder, func, args, kwargs)
        except ShapeError as error:
            raise AssertionError(f"{func} at {values}, seed {seed}: {error}") from error
        if found is NotImplemented:
            continue
        answered += 1
        for others in (values, *[next(drawn) for _ in range(OTHER_SIZES)]):
            given = assignment(recorder, others)
            if not all(guard.prop.evaluate(given) for guard in recorder.env.guards()):
                assert others is not values, f"{func} refuses {values}"
                continue
            _, real_args, real_kwargs = calls.real(TABLE[name], seed, others)
            text = f"{func} traced at {values}, seed {seed}, run at {others}"
            try:
                output = func(*real_args, **real_kwargs)
            except RuntimeError as error:
                raise AssertionError(f"{text}: {error}") from error
            if isinstance(output, torch.Tensor):
                compare(found, output, recorder, others, args, text)
            else:
                assert len(found) == len(output), text
                for one, other in zip(found, output):
                    compare(one, other, recorder, others, args, text)
    assert generated, "no call was valid"
    assert answered >= MAY_FALL_BACK * generated, f"{generated - answered} of {generated} calls are left to torch"
