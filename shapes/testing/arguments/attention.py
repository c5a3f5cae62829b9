"""Calls of attention."""

from __future__ import annotations

from hypothesis import strategies as st

from shapes.testing.arguments import arguments_of
from shapes.testing.arguments.mistakes import SIZE, narrowed, seldom, slipped
from shapes.testing.calls import Call, Input


@arguments_of("scaled_dot_product_attention")
@st.composite
def scaled_dot_product_attention(draw: st.DrawFn, name: str) -> Call:
    # with nothing to compute, torch does not look what fits, and gives the query's batch whatever that broadcasts to
    fitting = draw(st.booleans())
    size = SIZE if fitting else st.integers(1, 4)
    queries, keys, width, batch = draw(size), draw(size), draw(size), tuple(draw(st.lists(size, max_size=3)))
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
        query = slipped(draw, query)
        # the fused kernel of 4 axes does not look whether keys and values are as many
        if not len(query) == len(key) == 4:
            key, value = slipped(draw, key), slipped(draw, value)
    if seldom(draw):
        key = key[-1:]
    if 0 in (*query, *key, *value) and not fitting:
        query = key = value = (1, 1, 1)
    match draw(st.integers(0, 3)):
        case 0:
            mask = (*query[:-2], queries, keys)
            kwargs["attn_mask"] = Input(mask[-2:] if fitting else slipped(draw, narrowed(draw, mask)))
            if len(query) != 4 and not fitting and draw(st.booleans()):
                kwargs["is_causal"] = True
        case 1:
            kwargs["is_causal"] = True
    return Call((Input(query), Input(key), Input(value)), kwargs)


@arguments_of("multi_head_attention_forward")
@st.composite
def multi_head_attention_forward(draw: st.DrawFn, name: str) -> Call:
    positive = st.integers(1, 3)
    target, source, batch, heads, per_head = [draw(positive) for _ in range(5)]
    width, out = heads * per_head, draw(positive)
    batched = draw(st.booleans())
    batch = batch if batched else 1
    separate = draw(st.booleans())
    key_width, value_width = (draw(positive), draw(positive)) if separate else (width, width)
    mistaken = draw(st.integers(0, 27))
    made = 0

    def tensor(*shape: int) -> Input:
        nonlocal made
        made += 1
        return Input((*shape[:-1], shape[-1] + 1) if made == mistaken > 1 else shape)

    def sequence(length: int, size: int) -> Input:
        return tensor(length, batch, size) if batched else tensor(length, size)

    def rarely(*shape: int) -> Input | None:
        return tensor(*shape) if draw(st.booleans()) else None

    biased = draw(st.integers(0, 2)) == 0
    args: list[object] = [sequence(target, width), sequence(source, key_width), sequence(source, value_width)]
    if batched and mistaken == 22:
        args[1:] = [Input((source, batch + 1, size)) for size in (key_width, value_width)]
    args += [width + (mistaken == 20), heads + (mistaken == 21)]
    args += [None if separate or mistaken in (23, 24) else tensor(3 * width, width), rarely(3 * width)]
    args += [tensor(1, 1, width), tensor(1, 1, width)] if biased else [None, None]
    args += [draw(st.booleans()), 0.0, tensor(out, width), rarely(out)]
    kwargs: dict[str, object] = {"need_weights": draw(st.booleans()), "average_attn_weights": draw(st.booleans())}
    if separate:
        kwargs["use_separate_proj_weight"] = True
        kwargs |= {"q_proj_weight": tensor(width, width), "k_proj_weight": tensor(width, key_width)}
        kwargs["v_proj_weight"] = tensor(width, value_width)
    if draw(st.booleans()):
        kwargs["key_padding_mask"] = tensor(batch, source) if batched else tensor(source)
    if draw(st.booleans()):
        three = draw(st.booleans())
        kwargs["attn_mask"] = tensor(batch * heads, target, source) if three else tensor(target, source)
        kwargs["is_causal"] = seldom(draw)
    elif not biased and "key_padding_mask" not in kwargs and draw(st.booleans()):
        # without weights, the fused kernel does not look whether keys and values are as many
        values = 3 if kwargs["need_weights"] and mistaken in (1, 25, 26, 27) else 2
        kwargs |= {"static_k": tensor(batch * heads, 2, per_head), "static_v": tensor(batch * heads, values, per_head)}
    return Call(tuple(args), kwargs)
