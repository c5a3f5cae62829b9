"""Lowering of operators by torch's decompositions: each part by its own lowering.

    >>> from torch._decomp import decomposition_table
    >>> all(operator in decomposition_table for operator in DECOMPOSED)
    True

A decomposition runs on traced tensors of the operator's symbolic sizes. It is declined if it asks for a fact about them
that is not known, or has a part without a lowering.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final
from weakref import WeakKeyDictionary

import torch
from torch._decomp import decomposition_table
from torch._dispatch.python import enable_python_dispatcher

from backends.loops.nodes import Memory
from backends.loops.operations import is_float
from backends.loops.program import Program
from backends.loops.values import Value
from frontends.pytorch.lowering.registry import LOWERINGS, Declined, Lowered, Site, in_order, lowering
from frontends.pytorch.recording.operations import Operation, flat, listed
from frontends.pytorch.recording.recorder import Recorder
from frontends.pytorch.recording.torch_internals import replaced
from frontends.pytorch.symbolic.metadata import Metadata, name_of
from frontends.pytorch.symbolic.node import Node, Nodes
from frontends.pytorch.symbolic.tensor import Result, tensor_of
from shapes.errors import UndecidedGuard
from shapes.symbolic.numbers import SymFloat, SymInt
from solver.floats.programs import Node as Step
from solver.terms.expr import Atom, Expr

aten: Final = torch.ops.aten

NAMES: Final = (
    # activations
    "elu", "elu_backward", "gelu", "gelu_backward", "glu", "hardshrink", "hardsigmoid", "hardsigmoid_backward",
    "hardswish", "hardswish_backward", "hardtanh", "hardtanh_backward", "leaky_relu", "leaky_relu_backward",
    "log_sigmoid_forward", "log_sigmoid_backward", "mish", "_prelu_kernel", "_prelu_kernel_backward",
    "sigmoid_backward", "softplus", "softplus_backward", "softshrink", "tanh_backward", "threshold",
    "threshold_backward", "native_dropout_backward",
    # elementwise
    "addcdiv", "addcmul", "clamp_max", "clamp_max.Tensor", "clamp_min", "clamp_min.Tensor", "deg2rad", "isinf",
    "isneginf", "isposinf", "lerp.Scalar", "lerp.Tensor", "logaddexp", "logaddexp2", "logit", "nan_to_num",
    "rad2deg", "rsub.Scalar", "rsub.Tensor", "xlogy.Scalar_Other", "xlogy.Scalar_Self", "xlogy.Tensor",
    # reductions
    "aminmax", "count_nonzero", "count_nonzero.dim_IntList", "logsumexp", "linalg_vector_norm", "nansum", "norm.Scalar",
    "norm.ScalarOpt_dim", "_softmax", "_safe_softmax", "_softmax_backward_data", "_log_softmax",
    "_log_softmax_backward_data",
    # losses
    "binary_cross_entropy_backward", "binary_cross_entropy_with_logits", "huber_loss", "huber_loss_backward",
    "mse_loss", "mse_loss_backward", "smooth_l1_loss", "smooth_l1_loss_backward",
    # normalization
    "_fused_rms_norm", "_fused_rms_norm_backward", "_native_batch_norm_legit", "_native_batch_norm_legit.no_stats",
    "_native_batch_norm_legit_functional", "_native_batch_norm_legit_no_training", "native_batch_norm",
    "native_batch_norm_backward", "native_layer_norm", "native_layer_norm_backward",
    # views and copies
    "diag_embed", "eye", "eye.m", "pixel_shuffle", "pixel_unshuffle", "repeat", "replication_pad1d",
    "replication_pad2d", "replication_pad3d", "rot90", "select_backward", "stack", "tril", "triu", "unfold_copy",
    "upsample_nearest2d",
)  # fmt: skip
"""Operators by name, those of another overload than the default one by both names."""
DECOMPOSED: Final = tuple([
    getattr(getattr(aten, name), overload or "default") for name, _, overload in [each.partition(".") for each in NAMES]
])  # fmt: skip
FLOATING: Final = (
    "_softmax", "_log_softmax", "huber_loss", "smooth_l1_loss", "log_sigmoid_forward", "glu", "upsample_nearest2d",
    "_prelu_kernel", "gelu", "softplus", "mish", "hardsigmoid", "hardswish", "lerp", "logaddexp", "logaddexp2",
)  # fmt: skip
"""Of those, operators that refuse integers, which their decompositions do not."""
STEPS: Final = {"+": "add", "-": "sub", "*": "mul", "/": "div", "truediv": "div"}
"""The arithmetic of floats that are computed from sizes."""


@dataclass(frozen=True, slots=True)
class Parts:
    """The operations of a decomposition, with what stands for the operator's arguments and results."""

    operations: list[Operation]
    given: list[object]
    outputs: list[Result | None]


_known: Final[WeakKeyDictionary[Program, dict[object, Parts | None]]] = WeakKeyDictionary()
"""The decompositions of the operators of each program; None for one that needs more facts about sizes."""


@lowering(*DECOMPOSED)
def decomposed(at: Site, *args: object, **kwargs: object) -> Lowered:
    """The values of an operator's parts."""
    if at.name in FLOATING and not is_float(at.dtype):
        raise Declined
    positional, named = in_order(at.operation)
    known, key = _known.setdefault(at.program, {}), described((at.operation.target, positional, *named.items()))
    if key not in known:
        known[key] = parts(at, positional, named)
    found = known[key]
    if found is None:
        raise Declined
    sources = dict(zip(found.given, flat((positional, *named.values()))))
    values: dict[object, Any] = dict(zip(found.given, flat((args, *kwargs.values()))))
    bound = frozenset().union(*map(symbols_of, values.values()))

    def memory(result: Result) -> Memory:
        source, value = sources.get(result), values[result]
        if isinstance(source, Result):
            return at.memory(source)
        assert isinstance(value, Value)
        return at.stored(value)

    def known_size(expr: Expr) -> Expr:
        size = at.build.lift(expr)
        if not size.symbols <= bound:
            raise Declined
        return size

    def operand(argument: object) -> object:
        match argument:
            case Result():
                return values[argument]
            case Node() if argument in values:
                return values[argument]
            case Node(value=SymInt() as size):
                return known_size(size.expr)
            case Node(value=SymFloat() as number):
                return computed(at, number.value.program.node, [known_size(each) for each in number.value.arguments])
            case Node():
                raise Declined
            case list():
                return [operand(each) for each in argument]
        return argument

    for each in found.operations:
        function = LOWERINGS.get(each.target)
        if function is None:
            raise Declined
        kinds = [result.metadata for result in each.outputs]
        site = Site(at.program, each, kinds, memory, is_part=True)
        positional, named = in_order(each)
        made = function(site, *map(operand, positional), **{name: operand(value) for name, value in named.items()})
        for result, kind, value in zip(each.outputs, kinds, listed(made)):
            converted = value and value.cast(name_of(kind.dtype))
            values[result] = converted and converted.of(converted.tensor, site.sizes_of(kind))
    return [None if each is None else values[each] for each in found.outputs]


def symbols_of(value: object) -> frozenset[Atom]:
    """The symbols in an argument, which the program has computed."""
    sizes = value.sizes if isinstance(value, Value) else (value,)
    return frozenset().union(*[size.symbols for size in sizes if isinstance(size, Expr)])


def described(value: Any) -> object:
    """A key for an argument: equal ones have the same decomposition."""
    match value:
        case Result(metadata=Metadata() as kind):
            return kind.key
        case list() | tuple():
            return tuple(map(described, value))
    return type(value), value


def computed(at: Site, step: Step, arguments: Sequence[Expr]) -> Value:
    """A float that is computed from sizes."""
    if step.operation == "constant":
        return at.full(step.value, "float64", ())
    if step.operation == "integer":
        return at.full(arguments[step.place], "float64", ())
    first, *rest = [computed(at, each, arguments) for each in step.operands]
    if step.operation == "float":
        return first
    if step.operation not in STEPS:
        raise Declined
    return first.apply(STEPS[step.operation], *rest)


def parts(at: Site, args: list[object], kwargs: dict[str, object]) -> Parts | None:
    """Trace an operator's decomposition; None if it needs more facts about sizes."""
    env = at.program.decisions.env
    kinds = [value.metadata for value in flat((args, *kwargs.values())) if isinstance(value, Result)]
    numbers = [part for kind in kinds if kind is not None for part in kind.key if isinstance(part, Node)]
    recorder = Recorder(env, numbers[0].nodes if numbers else Nodes(env))
    given: list[object] = []

    def outside(value: Any) -> object:
        if isinstance(value, list):
            return [outside(each) for each in value]
        if isinstance(value, Result) and value.metadata is not None:
            # values do not depend on the layout, so any will do
            kind = recorder.kinds.packed(value.metadata.sizes, value.metadata.dtype, value.metadata.device)
            result = recorder.recording.result(kind)
            given.append(result)
            return tensor_of(kind, result)
        given.append(value)
        return value.outside if isinstance(value, Node) else value

    nodes = recorder.nodes
    with env.speculate(), recorder, enable_python_dispatcher(), replaced(), torch.no_grad(), nodes.lays_out():
        before = env.known
        positional, named = [outside(each) for each in args], {name: outside(each) for name, each in kwargs.items()}
        try:
            found = decomposition_table[at.operation.target](*positional, **named)
        except UndecidedGuard:
            return None
        outputs = [None if each is None else recorder.result_of(each) for each in flat(found)]
        is_known = env.known is before
    recorder.kinds.let_go_of_tensors()
    return Parts(recorder.recording.operations, given, outputs) if is_known else None
