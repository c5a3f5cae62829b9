"""ATen's operators, as graphs of PyTorch call them: `aten["cat"]`, `aten["slice.Tensor"]`, `aten["_softmax"]`.

A name that is not in the table is the rule of that name with ATen's argument names; an overload without a line of its
own is the operator before its dot. None of it needs torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from frontends.operator_names.named_rules import OperatorNames, renamed
from shapes.env import ShapeEnv
from shapes.environment.layout import numel
from shapes.rules import Rule, Shape, rules
from shapes.rules.axes import axis_of
from shapes.rules.expectations import expect_one_of
from shapes.rules.losses import REDUCTIONS
from shapes.rules.norms import channels_normalized
from shapes.symbolic.choices import Int

TABLE: Final = """
    _histogramdd_bin_edges(self, bins, *, range=None, weight=None, density=False)
        = [new_empty(self, (number + 1,)) for number in bins]
    _histogramdd_from_bin_cts(self, bins, *, range=None, weight=None, density=False) = new_empty(self, bins)
    _histogramdd_from_bin_tensors(self, bins, *, weight=None, density=False)
        = new_empty(self, [len(edges) and edges[0] - 1 for edges in bins])
    _log_softmax(self, dim, half_to_float) = log_softmax(self, dim)
    _log_softmax_backward_data(grad_output, output, dim, input_dtype) = mul(grad_output, output)
    _reshape_alias(self, size, stride) = reshape(self, size)
    _softmax(self, dim, half_to_float) = softmax(self, dim)
    _softmax_backward_data(grad_output, output, dim, input_dtype) = mul(grad_output, output)
    _to_copy(self, *, dtype=None, layout=None, device=None, pin_memory=None, non_blocking=False,
        memory_format=None)
        = empty_like(self, dtype=dtype)
    _unsafe_index.Tensor(self, indices) = index(self, indices)
    _unsafe_view(self, size) = reshape(self, size)
    adaptive_max_pool2d(self, output_size) = adaptive_max_pool2d(self, output_size, return_indices=True)
    alias(self) = clone(self)
    alpha_dropout(input, p, train) = alpha_dropout(input, p, train)
    avg_pool2d(self, kernel_size, stride=(), padding=0, ceil_mode=False, count_include_pad=True,
        divisor_override=None)
        = avg_pool2d(self, kernel_size, stride or None, padding, ceil_mode, count_include_pad, divisor_override)
    batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled)
        = batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)
    binary_cross_entropy_with_logits(self, target, weight=None, pos_weight=None, reduction=1)
        = binary_cross_entropy_with_logits(self, target, weight, pos_weight=pos_weight,
          reduction=("none", "mean", "sum")[reduction])
    clone(self, *, memory_format=None) = clone(self)
    cudnn_grid_sampler(self, grid) = grid_sample(self, grid, align_corners=True)
    cudnn_grid_sampler_backward(self, grid, grad_output) = (empty_like(self), empty_like(grid))
    dropout(input, p, train) = dropout(input, p, train)
    dsplit.array(self, indices) = dsplit(self, indices)
    dsplit.int(self, sections) = dsplit(self, sections)
    einsum(equation, tensors, *, path=None) = einsum(equation, *tensors)
    elu(self, alpha=1, scale=1, input_scale=1) = elu(self, alpha)
    embedding(weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False) = embedding(indices, weight)
    expand(self, size, *, implicit=False) = expand(self, size)
    feature_alpha_dropout(input, p, train) = feature_alpha_dropout(input, p, train)
    fractional_max_pool3d(self, kernel_size, output_size, random_samples)
        = fractional_max_pool3d(self, kernel_size, output_size, return_indices=True)
    group_norm(input, num_groups, weight=None, bias=None, eps=1e-05, cudnn_enabled=True)
        = group_norm(input, num_groups, weight, bias, eps)
    hash_tensor(self, dim=(), *, keepdim=False, mode=0) = sum(self, dim or None, keepdim)
    heaviside(self, values) = heaviside(self, values)
    histogram(self, bins=100, *, range=None, weight=None, density=False)
        = histogram(self, bins, range=range, weight=weight, density=density)
    hsplit.array(self, indices) = hsplit(self, indices)
    hsplit.int(self, sections) = hsplit(self, sections)
    instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, cudnn_enabled)
        = instance_norm(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)
    layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-05, cudnn_enable=True)
        = layer_norm(input, normalized_shape, weight, bias, eps)
    lift_fresh_copy(self) = clone(self)
    linalg.tensorsolve(self, other, dims=None) = linalg.tensorsolve(self, other, dims)
    log_softmax(self, dim, dtype=None) = log_softmax(self, dim)
    max_pool2d_with_indices(self, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False)
        = max_pool2d_with_indices(self, kernel_size, stride or None, padding, dilation, ceil_mode)
    max_pool3d_with_indices(self, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False)
        = max_pool3d_with_indices(self, kernel_size, stride or None, padding, dilation, ceil_mode)
    native_dropout(input, p, train) = (empty_like(input), empty_like(input, dtype="bool"))
    nll_loss(self, target, weight=None, reduction=1, ignore_index=-100)
        = nll_loss(self, target, weight, ignore_index=ignore_index, reduction=("none", "mean", "sum")[reduction])
    nll_loss_forward(self, target, weight, reduction, ignore_index)
        = (nll_loss(self, target, weight, reduction=("none", "mean", "sum")[reduction]), empty(()))
    orgqr(self, input2) = orgqr(self, input2)
    permute(self, dims) = permute(self, dims)
    polar(abs, angle) = polar(abs, angle)
    repeat(self, repeats) = repeat(self, repeats)
    repeat_interleave.self_int(self, repeats, dim=None, *, output_size=None) = repeat_interleave(self, repeats, dim)
    scatter.value(self, dim, index, value) = scatter(self, dim, index, value=value)
    softmax(self, dim, dtype=None) = softmax(self, dim)
    split.Tensor(self, split_size, dim=0) = split(self, split_size, dim)
    tensor_split.indices(self, indices, dim=0) = tensor_split(self, indices, dim)
    tensor_split.sections(self, sections, dim=0) = tensor_split(self, sections, dim)
    tensordot(self, other, dims_self, dims_other) = tensordot(self, other, (dims_self, dims_other))
    unfold(self, dimension, size, step) = Tensor.unfold(self, dimension, size, step)
    upsample_bilinear2d(self, output_size, align_corners, scales_h=None, scales_w=None)
        = interpolate(self, output_size, mode="bilinear", align_corners=align_corners)
    upsample_nearest1d(self, output_size, scales=None) = interpolate(self, output_size)
    upsample_nearest2d(self, output_size, scales_h=None, scales_w=None) = interpolate(self, output_size)
    upsample_nearest3d(self, output_size, scales_d=None, scales_h=None, scales_w=None)
        = interpolate(self, output_size)
    var.correction(self, dim=None, *, correction=None, keepdim=False)
        = var(self, dim, keepdim=keepdim, correction=correction)
    view(self, size) = view(self, size)
    vsplit.array(self, indices) = vsplit(self, indices)
    vsplit.int(self, sections) = vsplit(self, sections)
"""


RENAMED: Final = {
    **{name: {"A": "self"} for name in (
        "linalg.cholesky", "linalg.cholesky_ex", "linalg.cond", "linalg.eig", "linalg.eigh", "linalg.eigvals",
        "linalg.eigvalsh", "linalg.ldl_factor", "linalg.ldl_factor_ex", "linalg.matrix_exp", "linalg.matrix_norm",
        "linalg.matrix_power", "linalg.solve_triangular", "linalg.tensorinv",
    )},
    **{name: {} for name in (
        "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "linear",
        "native_layer_norm", "rms_norm",
    )},
    **{f"special.{kind}_polynomial_{letter}": {"input": "x", "other": "n"} for kind, letter in (
        ("chebyshev", "t"), ("chebyshev", "u"), ("chebyshev", "v"), ("chebyshev", "w"), ("hermite", "h"),
        ("hermite", "he"), ("laguerre", "l"), ("legendre", "p"), ("shifted_chebyshev", "t"),
        ("shifted_chebyshev", "u"), ("shifted_chebyshev", "v"), ("shifted_chebyshev", "w"),
    )},
    **{name: {"input": "x"} for name in (
        "special.airy_ai", "special.scaled_modified_bessel_k0", "special.scaled_modified_bessel_k1",
        "special.spherical_bessel_j0",
    )},
    "cholesky_solve": {"B": "self", "L": "input2"},
    "float_power": {"input": "self", "other": "exponent"},
    "float_power_": {"input": "self", "other": "exponent"},
    "heaviside_": {"input": "self", "other": "values"},
    "linalg.householder_product": {"A": "input"},
    "linalg.lstsq": {"A": "self", "B": "b"},
    "linalg.vector_norm": {"x": "self"},
    "lu_solve": {"b": "self"},
    "one_hot": {"tensor": "self"},
    "polygamma": {"input": "self"},
    "pow": {"input": "self", "other": "exponent"},
    "pow_": {"input": "self", "other": "exponent"},
    "searchsorted": {"input": "self"},
    "special.polygamma": {"input": "self"},
    "triangular_solve": {"b": "self"},
}  # fmt: skip
"""ATen's names that differ from a rule's by more than `self` for `input`."""


def _like(name: str) -> Rule | None:
    """The rule of that name with ATen's argument names; without the overload if that has no line of its own."""
    if name not in rules:
        plain, _, overload = name.rpartition(".")
        return aten[plain] if plain and overload and plain in aten else None
    rule = rules[name]
    by_default = {"input": "self"} if "self" not in rule.names else {}
    if "reduction" in rule.names:
        rule = _with_numbered_reduction(rule)
    return renamed(f"aten.{name}", rule, RENAMED.get(name, by_default))


def _with_numbered_reduction(rule: Rule) -> Rule:
    """A loss as ATen has it: the reduction is a number, and the older arguments for it are missing."""
    _, *arguments = rule.signature.parameters.values()
    signature = rule.signature.replace(
        parameters=[
            each.replace(default=REDUCTIONS.index(each.default)) if each.name == "reduction" else each
            for each in arguments
            if each.name not in ("size_average", "reduce")
        ]
    )

    def call(env: ShapeEnv, /, *args: object, **kwargs: object) -> object:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        reduction = bound.arguments["reduction"]
        expect_one_of(reduction, range(len(REDUCTIONS)), "reduction")
        return rule(env, **{**bound.arguments, "reduction": REDUCTIONS[reduction]})

    call.__doc__ = rule.__doc__
    vars(call)["__signature__"] = rule.signature.replace(
        parameters=[next(iter(rule.signature.parameters.values())), *signature.parameters.values()]
    )
    return Rule(rule.name, call)


aten: Final = OperatorNames("aten", TABLE, like=_like)


@aten.define("slice.Tensor")
def slice_tensor(
    env: ShapeEnv, self: Shape, dim: int = 0, start: Int | None = None, end: Int | None = None, step: int = 1
) -> object:
    """A part of one axis."""
    axis = axis_of(dim, len(self))
    return rules["getitem"](env, self, (*[slice(None)] * axis, slice(start, end, step)))


@aten.define("convolution")
def convolution(
    env: ShapeEnv, input: Shape, weight: Shape, bias: Shape | None, stride: Sequence[Int], padding: Sequence[Int],
    dilation: Sequence[Int], transposed: bool, output_padding: Sequence[Int], groups: int,
) -> object:  # fmt: skip
    """Convolution over as many axes as the weight has beside its channels, or its transpose."""
    axes = len(weight) - 2
    if not transposed:
        return rules[f"conv{axes}d"](env, input, weight, bias, stride, padding, dilation, groups)
    name = f"conv_transpose{axes}d"
    return rules[name](env, input, weight, bias, stride, padding, output_padding, groups, dilation)


def _register_batch_norms() -> None:
    """Register batch normalization, with the statistics for its backward, under its several names."""

    def batch_norm(
        env: ShapeEnv, input: Shape, weight: Shape | None, bias: Shape | None, running_mean: Shape | None,
        running_var: Shape | None, training: bool, momentum: float, eps: float,
    ) -> tuple[object, Shape, Shape]:  # fmt: skip
        """The sizes of the input, then two numbers for each channel in training."""
        found = channels_normalized(env, input, running_mean, running_var, weight, bias, training)
        saved = Shape((input[1] if training else 0,), dtype=input.dtype)
        return found, saved, saved

    for name in ("native_batch_norm", "_native_batch_norm_legit"):
        aten.define(name)(batch_norm)


_register_batch_norms()


@aten.define("native_group_norm")
def native_group_norm(
    env: ShapeEnv, input: Shape, weight: Shape | None, bias: Shape | None, N: Int, C: Int, HxW: Int, group: Int,
    eps: float,
) -> tuple[object, Shape, Shape]:  # fmt: skip
    """The sizes of the input, then two numbers for each group of each batch."""
    env.require(input[0] == N, "N is not the batch")
    env.require(input[1] == C, "C is not the number of channels")
    env.require(numel(input) == N * C * HxW, "HxW is not the number of places")
    saved = Shape((N, group), dtype=input.dtype)
    return rules["group_norm"](env, input, group, weight, bias, eps), saved, saved
