"""Calls of attention."""

from __future__ import annotations

from hypothesis import strategies as st

from shapes.testing.arguments import arguments_of, calls_of
from shapes.testing.arguments.alterations import altered, resized
from shapes.testing.arguments.mistakes import SIZE, narrowed, seldom
from shapes.testing.calls import Call, Input


@calls_of("scaled_dot_product_attention", as_written=True)
def scaled_dot_product_attention(draw: st.DrawFn, name: str) -> Call:
    # with nothing to compute, torch does not look what fits, and gives the query's batch whatever that broadcasts to
    fitting = seldom(draw) or seldom(draw)
    size = SIZE if fitting else st.integers(1, 4)
    queries, keys, width = draw(size), draw(size), draw(size)
    batch = tuple([draw(size) for _ in range(draw(st.integers(0, 3)))])
    columns = width if draw(st.booleans()) else draw(size)
    batches: list[tuple[int, ...]] = [batch if fitting else narrowed(draw, batch) for _ in range(3)]
    kwargs: dict[str, object] = {}
    if draw(st.integers(0, 2)) == 0:
        kwargs["enable_gqa"] = True
        groups, outer = draw(st.integers(1, 3)), batch[:1]
        heads = groups * draw(st.integers(1, 3)) + (not fitting and seldom(draw))
        batches = [(*outer, heads), (*outer, groups), (*outer, groups)]
    query, key, value = (*batches[0], queries, width), (*batches[1], keys, width), (*batches[2], keys, columns)
    if not fitting:
        one = draw(st.integers(0, 6))
        query = tuple(resized(draw, list(query))) if one == 0 else query
        # the fused kernel of 4 axes does not look whether keys and values are as many
        if not len(query) == len(key) == 4:
            key = tuple(resized(draw, list(key))) if one == 1 else key
            value = tuple(resized(draw, list(value))) if one == 2 else value
    if seldom(draw):
        key = key[-1:]
    if 0 in (*query, *key, *value) and not fitting:
        query = key = value = (1, 1, 1)
    match draw(st.integers(0, 3)):
        case 0:
            mask = (*query[:-2], queries, keys)
            if not fitting:
                mask = mask[-1:] if seldom(draw) else narrowed(draw, mask)
                mask = mask if draw(st.integers(0, 2)) else tuple(resized(draw, list(mask)))
                if len(query) != 4 and draw(st.booleans()):
                    kwargs["is_causal"] = True  # of 4 axes, it depends on the kernel that torch picks
            kwargs["attn_mask"] = Input(mask[-2:] if fitting else mask)
        case 1:
            kwargs["is_causal"] = True
    return Call((Input(query), Input(key), Input(value)), kwargs)


MISTAKES = (
    "ranks", "batches", "heads", "projection", "causal", "bias", "static bias", "lengths", "width", "mask", "out", "p"
)  # fmt: skip
"""The mistakes in attention with many heads, most often of two arguments together."""


def _looks_at_lengths(call: Call) -> bool:
    """Without weights, the fused kernel does not look whether keys and values are as many."""
    keys, values = call.kwargs.get("static_k"), call.kwargs.get("static_v")
    return call.kwargs["need_weights"] is True or (
        not isinstance(keys, Input) or not isinstance(values, Input) or keys[1:2] == values[1:2]
    )


@arguments_of("multi_head_attention_forward", only=_looks_at_lengths)
def multi_head_attention_forward(name: str) -> st.SearchStrategy[Call]:
    """With so many arguments, one of them is altered more often."""
    return altered(_many_heads())


@st.composite
def _many_heads(draw: st.DrawFn) -> Call:
    positive = st.integers(1, 3)
    target, source, batch, heads, per_head = [draw(positive) for _ in range(5)]
    width, out = heads * per_head, draw(positive)
    mistake = draw(st.sampled_from((*MISTAKES, *[""] * 16)))
    batched = mistake == "batches" or draw(st.booleans())
    batch = batch if batched else 1
    separate = mistake != "width" and draw(st.booleans())
    key_width, value_width = (draw(positive), draw(positive)) if separate else (width, width)

    def sequence(length: int, size: int, more: int = 0) -> Input:
        return Input((length, batch + more, size) if batched else (length, size))

    def rarely(*shape: int) -> Input | None:
        return Input(shape) if draw(st.booleans()) else None

    more = 1 if mistake == "batches" else 0
    value_width += mistake == "width"
    args: list[object] = [
        sequence(target, width), sequence(source, key_width, more), sequence(source, value_width, more)
    ]  # fmt: skip
    if mistake == "ranks":
        args = [Input((2, 1, 1, width) if batched else (width,))] * 3
    biased = "bias" in mistake or draw(st.integers(0, 2)) == 0
    args += [width, draw(st.sampled_from((heads + 1, 0, -heads))) if mistake == "heads" else heads]
    args += [None if separate or mistake == "projection" else Input((3 * width, width)), rarely(3 * width)]
    args += [Input((1, 1, width)), None if mistake == "bias" else Input((1, 1, width))] if biased else [None, None]
    probability = draw(st.sampled_from((-0.5, 1.5, 1.0) if mistake == "p" else (0.0, 0.0, 0.5)))
    out_bias = Input((out + 1,)) if mistake == "out" else rarely(out)
    args += [draw(st.booleans()), probability, Input((out, width)), out_bias]
    kwargs: dict[str, object] = {
        "need_weights": mistake != "mask" and draw(st.booleans()), "average_attn_weights": draw(st.booleans())
    }  # fmt: skip
    if separate:
        kwargs["use_separate_proj_weight"] = True
        kwargs |= {"q_proj_weight": Input((width, width)), "k_proj_weight": Input((width, key_width))}
        kwargs["v_proj_weight"] = None if mistake == "projection" else Input((width, value_width))
    if mistake not in ("mask", "static bias") and draw(st.booleans()):
        kwargs["key_padding_mask"] = Input((batch, source) if batched else (source,))
    if mistake in ("causal", "mask"):
        kwargs["is_causal"] = True
        if mistake == "mask":
            kwargs["attn_mask"] = Input(draw(st.sampled_from(((source,), (1, 1, target, source), (target, source)))))
    elif mistake != "static bias" and draw(st.booleans()):
        three = draw(st.booleans())
        kwargs["attn_mask"] = Input((batch * heads, target, source) if three else (target, source))
        kwargs["is_causal"] = seldom(draw)
    elif mistake == "static bias" or (not biased and "key_padding_mask" not in kwargs and draw(st.booleans())):
        values = 3 if mistake == "lengths" else 2
        kwargs["static_k"] = Input((batch * heads, 2, per_head))
        kwargs["static_v"] = Input((batch * heads, values, per_head))
    return Call(tuple(args), kwargs)
