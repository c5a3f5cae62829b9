"""Shape rules of torch's fake tensors, replaced where torch's specialize sizes or read data: views, recurrent layers,
`logsumexp`, DTensors, and operators on jagged tensors; and Dynamo's rule of `addcdiv`.

    >>> from frontends.pytorch.shape_env.torch_rules import TABLES
    >>> sorted(str(operator) for operator in TABLES[0][1])
    ['aten._new_zeros_with_same_feature_meta.default', 'aten._unsafe_view.default', 'aten.view.default']

They apply to tensors of an environment of ours only; for others, and in other threads, torch's are called.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any, Final

import torch
from torch._C import DispatchKey
from torch._decomp import decomposition_table
from torch._dynamo.variables.torch import TorchInGraphFunctionVariable
from torch._functorch._aot_autograd.schemas import MemoryFormatMeta
from torch._subclasses.fake_impls import _view_unbacked_meta, op_implementations_dict
from torch._subclasses.fake_tensor import FakeTensor
from torch.distributed.tensor._ops._view_ops import InputDim, Split, _ViewShardingPropagator
from torch.fx.experimental.proxy_tensor import get_proxy_mode
from torch.nested._internal import ops as jagged
from torch.nested._internal.nested_tensor import _nt_view_dummy

from frontends.pytorch.shape_env.adapter import EngineShapeEnv

aten: Final = torch.ops.aten

VIEWS: Final = {each: op_implementations_dict[each] for each in (aten.view.default, aten._unsafe_view.default)}
"""Torch's shape rules of views, which compare sizes one by one."""


def view(mode: Any, operator: Any, tensor: torch.Tensor, *shape: Any, **named: Any) -> Any:
    """The shape rule of a view in an environment of ours: equal products of sizes are all that a contiguous tensor
    needs. Torch has it for sizes without hints."""
    if isinstance(mode.shape_env, EngineShapeEnv) and mode.shape_env.policies.oblivious:
        try:
            return _view_unbacked_meta(tensor, shape, **named)
        except ValueError:
            # it depends on the sizes
            pass
    return VIEWS[operator](mode, operator, tensor, *shape, **named)


TANGENT: Final = aten._new_zeros_with_same_feature_meta.default
"""Zeros that become the tangent of a tensor: torch's own rule reads the storage offset as a number."""


def tangent(mode: Any, operator: Any, like: torch.Tensor, primal: torch.Tensor, *, self_num_batch_dims: int = 0) -> Any:
    """The shape rule of a tangent in an environment of ours: laid out as the primal, one after another in a batch."""
    batch = like.shape[:self_num_batch_dims]
    if not isinstance(mode.shape_env, EngineShapeEnv) or (batch and not primal.is_contiguous()):
        return NotImplemented
    stride = primal.numel()
    strides: list[Any] = list(primal.stride())
    for size in reversed(batch):
        strides.insert(0, stride)
        stride = stride * size
    with mode:
        return like.new_empty_strided((*batch, *primal.shape), strides)


LOGARITHM: Final = decomposition_table[aten.logsumexp.default]
"""Torch's shape rule of `logsumexp`, which asks if there are elements."""


def logarithm_of_sum(tensor: torch.Tensor, dim: Any, keepdim: bool = False) -> Any:
    """The shape rule of `logsumexp` in an environment of ours: that of a sum."""
    if not (type(tensor) is FakeTensor and asks_an_engine(tensor) and tensor.is_floating_point()):
        return LOGARITHM(tensor, dim, keepdim)
    return tensor.sum(dim, keepdim)


RECURRENT: Final = {
    each: dict(each.py_kernels)
    for each in (aten.lstm.input, aten.gru.input, aten.rnn_tanh.input, aten.rnn_relu.input)
    if DispatchKey.Autograd in each.py_kernels
}
"""Torch's decompositions of recurrent layers by operator and dispatch key: loops over the steps."""


def recurrent(operator: Any, key: DispatchKey) -> Callable[..., Any]:
    """The shape rule of a recurrent layer: as many steps as the input has, time-major in memory."""
    decomposed = RECURRENT[operator][key]

    def rule(input: torch.Tensor, hx: Any, params: Sequence[torch.Tensor], *options: Any) -> Any:
        if not asks_sizes_alone(input):
            return decomposed(input, hx, params, *options)
        _, _, _, _, bidirectional, batch_first = options
        states = list(hx) if isinstance(hx, list | tuple) else [hx]
        width = states[0].shape[2] * (1 + bidirectional)
        steps = input.transpose(0, 1) if batch_first else input
        by_time = input.new_empty((steps.shape[0], steps.shape[1], width))
        results = [by_time.transpose(0, 1) if batch_first else by_time]
        results += [state.new_empty(tuple(state.shape)) for state in states]
        if torch.is_grad_enabled() and any(each.requires_grad for each in (input, *states, *params)):
            results = [result.requires_grad_() * 1 for result in results]
        return tuple(results)

    return rule


def asks_sizes_alone(tensor: torch.Tensor) -> bool:
    """Return True for a batch of sequences of which only sizes are asked."""
    return (
        type(tensor) is FakeTensor
        and tensor.dim() == 3
        and asks_an_engine(tensor)
        and tensor.fake_mode.shape_env.policies.oblivious
    )


def asks_an_engine(tensor: FakeTensor) -> bool:
    """Return True for a fake tensor of an environment of ours from which no graph is being recorded."""
    return isinstance(tensor.fake_mode.shape_env, EngineShapeEnv) and get_proxy_mode() is None


def ragged(name: str, torchs: Callable[..., Any]) -> Callable[..., Any]:
    """A function of `ragged_rules` that replaces one of torch's, loaded when it is called, whose frames Dynamo leaves
    alone."""

    @torch._dynamo.disable
    def call(*given: Any, **named: Any) -> Any:
        from frontends.pytorch.shape_env import ragged_rules

        return getattr(ragged_rules, name)(torchs, *given, **named)

    return call


HANDLERS: Final = TorchInGraphFunctionVariable._get_handlers()
ADDCDIV: Final = HANDLERS[torch.addcdiv]
"""Dynamo's rule of `addcdiv`: an operator for each step, which also take numbers, and integers."""


def divided_and_added(self: Any, tx: Any, *given: Any, **named: Any) -> Any:
    """Apply that rule; in an environment of ours only to a factor that is a tensor, as the operator takes none."""
    factor = named.get("value")
    is_number = isinstance(tx.output.shape_env, EngineShapeEnv) and factor is not None and not factor.is_tensor()
    return None if is_number else ADDCDIV(self, tx, *given, **named)


SPLIT: Final = _ViewShardingPropagator._analyze_split
"""Torch's rule of an axis of a DTensor that a view splits, which asks if the ranks divide it."""


def split_axis(self: _ViewShardingPropagator, cmd: Split) -> Any:
    """The rule of an axis that a view splits: only of one that is sharded it matters if the ranks divide it."""
    sizes = self.mesh_sizes
    within = cmd.input_dim.inputs() or (cmd.input_dim,)
    axes = {each.input_dim for each in within if isinstance(each, InputDim)}
    if not any(getattr(placement, "dim", None) in axes for placement in self.input_src_placements):
        self.mesh_sizes = (1,) * len(sizes)
    try:
        return SPLIT(self, cmd)
    finally:
        self.mesh_sizes = sizes


TABLES: Final[tuple[tuple[dict[Any, Any], dict[Any, Any]], ...]] = (
    (op_implementations_dict, {**dict.fromkeys(VIEWS, view), TANGENT: tangent}),
    (HANDLERS, {torch.addcdiv: divided_and_added}),
    (decomposition_table, {aten.logsumexp.default: logarithm_of_sum}),
    (jagged.JAGGED_OPS_TABLE, {aten.select.int: ragged("select", jagged.JAGGED_OPS_TABLE[aten.select.int])}),
    *[
        (operator.py_kernels, {key: recurrent(operator, key) for key in kernels})
        for operator, kernels in RECURRENT.items()
    ],
)
"""Torch's tables, with the rules that replace its own."""
REPLACED: Final = (
    (jagged, "jagged_scaled_dot_product_attention", ragged("attention", jagged.jagged_scaled_dot_product_attention)),
    (MemoryFormatMeta, "from_tensor", staticmethod(ragged("layout_of_gradient", MemoryFormatMeta.from_tensor))),
    (_ViewShardingPropagator, "_analyze_split", split_axis),
)


def replace(replaced: ExitStack) -> None:
    """Put the rules into torch's tables until the end of `replaced`."""
    if not torch._C._len_torch_dispatch_stack():
        # made during a capture, it would be a fake tensor of that one, for good
        _nt_view_dummy()
    for operator in RECURRENT:
        # what torch found for a key before
        replaced.callback(operator._dispatch_cache.clear)
    for table, rules in TABLES:
        for key, rule in rules.items():
            replaced.callback(table.__setitem__, key, table[key]) if key in table else replaced.callback(table.pop, key)
            table[key] = rule
    for operator in RECURRENT:
        operator._dispatch_cache.clear()
