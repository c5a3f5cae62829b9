"""Attention.

    >>> from shapes import ShapeEnv
    >>> from shapes.rules import rules
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, h, s, t = env.sizes("b h s t", lo=1)
    >>> rules["scaled_dot_product_attention"](env, (b, 4*h, s, 64), (b, h, t, 64), (b, h, t, 64), enable_gqa=True)
    Shape(b, 4*h, s, 64)
    >>> rules["scaled_dot_product_attention"](env, (b, h, s, 64), (b, h, t, 64), (b, h, t, 64), (b, 1, s, s))
    Shape(b, h, s, 64)
    >>> [guard.text for guard in env.guards()]
    ['s == t or s == 1']
"""

from __future__ import annotations

from collections.abc import Sequence

from shapes.env import ShapeEnv
from shapes.errors import ShapeError
from shapes.rules.broadcasting import agree, agree_all, broadcast, expandable, same
from shapes.rules.expectations import expect_axes, expect_rank
from shapes.rules.matmul import common_dtype, matrix_product
from shapes.rules.registry import rule
from shapes.rules.shape import Shape
from shapes.rules.windows import require_at_least
from shapes.symbolic.choices import Int


@rule(
    "scaled_dot_product_attention",
    schema="query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False",
)
def scaled_dot_product_attention(
    env: ShapeEnv, query: Shape, key: Shape, value: Shape, attn_mask: Shape | None, is_causal: bool, enable_gqa: bool
) -> Shape:
    """A row of the value's columns for each row of the query; the axes before them broadcast."""
    for name, shape in (("query", query), ("key", key), ("value", value)):
        if len(shape) < (3 if enable_gqa else 2):
            raise ShapeError(f"{name}: expected at least {3 if enable_gqa else 2} axes, not {len(shape)}")
    if attn_mask is not None and is_causal and len(query) != 4:
        raise ShapeError("is_causal=True: expected no attn_mask")
    key_batch, value_batch = key[:-2], value[:-2]
    if enable_gqa:
        key_batch = _repeated_heads(env, query, key, "key")
        value_batch = _repeated_heads(env, query, value, "value")
    agree(env, query[-1], key[-1], "query and key differ in their last axis")
    agree(env, key[-2], value[-2], "key and value differ in the axis before the last")
    batch = broadcast(env, query[:-2], key_batch)
    if attn_mask is not None:
        if len(attn_mask) < 2 and len(query) == len(key) == len(value) == 4:
            raise ShapeError(f"attn_mask: expected at least 2 axes, not {len(attn_mask)}")
        expandable(env, attn_mask, (*batch, query[-2], key[-2]), "attn_mask does not broadcast to the weights")
    batch = broadcast(env, batch, value_batch)
    return Shape((*batch, query[-2], value[-1]), dtype=common_dtype(query, key, value))


def _repeated_heads(env: ShapeEnv, query: Shape, grouped: Shape, name: str) -> tuple[Int, ...]:
    """The axes before the matrices, each head as often as there are heads of the query for it."""
    heads, groups = query[-3], grouped[-3]
    if isinstance(groups, int) and groups == 0:
        raise ShapeError(f"{name}: there are no heads")
    if not same(heads, groups):
        env.require(heads % groups == 0, f"the query's heads are no multiple of the {name}'s")
    return (*grouped[:-3], heads)


@rule("multi_head_attention_forward")
def multi_head_attention_forward(
    env: ShapeEnv,
    query: Shape,
    key: Shape,
    value: Shape,
    embed_dim_to_check: Int,
    num_heads: Int,
    in_proj_weight: Shape | None,
    in_proj_bias: Shape | None,
    bias_k: Shape | None,
    bias_v: Shape | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Shape,
    out_proj_bias: Shape | None,
    training: bool = True,
    key_padding_mask: Shape | None = None,
    need_weights: bool = True,
    attn_mask: Shape | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Shape | None = None,
    k_proj_weight: Shape | None = None,
    v_proj_weight: Shape | None = None,
    static_k: Shape | None = None,
    static_v: Shape | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Shape, Shape | None]:
    """(L, N, E), and weights of (N, L, S) or (N, heads, L, S); without N where the query has none."""
    expect_axes(query, 2, "query", most=3)
    for name, shape in (("key", key), ("value", value)):
        expect_rank(shape, len(query), name)
    batched = len(query) == 3
    target, width, source = query[0], query[-1], key[0]
    batch: Int = query[1] if batched else 1
    agree(env, width, embed_dim_to_check, "embed_dim_to_check is not the query's last axis")
    if training and (dropout_p > 1 or (dropout_p < 0 and not need_weights)):
        raise ShapeError(f"dropout_p={dropout_p}: expected a probability")
    require_at_least(env, num_heads, 1, "num_heads: expected at least 1")
    env.require(width % num_heads == 0, "embed_dim_to_check is no multiple of num_heads")
    agree_all(env, key[:-1], value, "key and value differ")
    if batched:
        agree(env, key[1], batch, "query and key have different batches")
    weights: Sequence[Shape | None] = (q_proj_weight, k_proj_weight, v_proj_weight)
    if use_separate_proj_weight:
        _separate_projections(env, (query, key, value), weights, width)
    else:
        if in_proj_weight is None:
            raise ShapeError("in_proj_weight: expected a tensor")
        agree(env, key[-1], width, "key and query differ in their last axis")
        agree(env, value[-1], width, "value and query differ in their last axis")
        _expect_sizes(env, in_proj_weight, (3 * width, width), "in_proj_weight")
    if in_proj_bias is not None:
        _expect_sizes(env, in_proj_bias, (3 * width,), "in_proj_bias")

    heads = batch * num_heads
    masked = attn_mask if key_padding_mask is not None or need_weights or not is_causal else None
    if is_causal and attn_mask is None:
        raise ShapeError("is_causal=True: expected attn_mask")
    if attn_mask is not None and not 2 <= len(attn_mask) <= 3:
        raise ShapeError(f"attn_mask: expected 2 or 3 axes, not {len(attn_mask)}")
    if masked is not None:
        _expect_sizes(env, masked, (target, source) if len(masked) == 2 else (heads, target, source), "attn_mask")
    if key_padding_mask is not None:
        _expect_sizes(env, key_padding_mask, (batch, source) if batched else (source,), "key_padding_mask")
    if (bias_k is None) != (bias_v is None):
        raise ShapeError("bias_k and bias_v: expected both or none")
    if bias_k is not None and bias_v is not None:
        if static_k is not None or static_v is not None:
            raise ShapeError("bias_k: expected none beside static keys and values")
        for name, bias in (("bias_k", bias_k), ("bias_v", bias_v)):
            _expect_sizes(env, bias, (1, 1, width), name)
        source = source + 1
    lengths = [source, source]
    for place, (name, static) in enumerate((("static_k", static_k), ("static_v", static_v))):
        if static is not None:
            expect_rank(static, 3, name)
            lengths[place] = static[1]
            _expect_sizes(env, static, (heads, static[1], width // num_heads), name)
    source = agree(env, lengths[0], lengths[1], "keys and values are not as many")
    source = source + 1 if add_zero_attn else source

    expect_rank(out_proj_weight, 2, "out_proj_weight")
    output = matrix_product(env, (target, batch, width), out_proj_weight[::-1], "out_proj_weight does not fit")
    if out_proj_bias is not None:
        expandable(env, out_proj_bias, output, "out_proj_bias does not broadcast to the output")
    result = Shape(output if batched else (target, output[2]), dtype=query.dtype)
    if not need_weights:
        return result, None
    per_head = () if average_attn_weights else (num_heads,)
    return result, Shape((*((batch,) if batched else ()), *per_head, target, source), dtype=query.dtype)


def _separate_projections(
    env: ShapeEnv, inputs: Sequence[Shape], weights: Sequence[Shape | None], width: Int
) -> None:
    for name, input, weight in zip(("q", "k", "v"), inputs, weights):
        if weight is None:
            raise ShapeError(f"{name}_proj_weight: expected a tensor")
        _expect_sizes(env, weight, (width, input[-1]), f"{name}_proj_weight")


def _expect_sizes(env: ShapeEnv, shape: Shape, wanted: Sequence[Int], name: str) -> None:
    expect_rank(shape, len(wanted), name)
    for axis, (size, other) in enumerate(zip(shape, wanted)):
        agree(env, size, other, f"{name}: axis {axis} does not fit")
