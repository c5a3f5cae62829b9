"""Calls of losses."""

from __future__ import annotations

from hypothesis import strategies as st

from shapes.testing.arguments import calls_of
from shapes.testing.arguments.mistakes import narrowed, optional, seldom, sizes, slipped
from shapes.testing.arguments.pointwise import CLASHES, meeting
from shapes.testing.calls import Call, Input


def reduction(draw: st.DrawFn, *more: str, legacy: bool = True) -> dict[str, object]:
    """How a loss is averaged, mostly not at all."""
    if legacy and seldom(draw):
        flag = st.sampled_from([None, True, False])
        return {"size_average": draw(flag), "reduce": draw(flag)}
    kinds = ("none", "none", "none", "mean", "sum", "average", *more)
    return optional(draw, reduction=draw(st.sampled_from(kinds)))


@calls_of("mse_loss", "l1_loss", "huber_loss")
def weighted(draw: st.DrawFn, name: str) -> Call:
    one, other = meeting(draw, 2)
    kwargs = reduction(draw, legacy=name != "huber_loss")
    if seldom(draw):
        kwargs["weight"] = Input(slipped(draw, draw(st.sampled_from([one, one, other]))))
    if name == "huber_loss":
        kwargs |= optional(draw, delta=draw(st.sampled_from([0.5, 1, 0])))
    return Call((Input(one), Input(other)), kwargs)


@calls_of("smooth_l1_loss", "kl_div", "hinge_embedding_loss", "soft_margin_loss", "poisson_nll_loss")
def broadcasting(draw: st.DrawFn, name: str) -> Call:
    one, other = meeting(draw, 2)
    kwargs = reduction(draw, *(("batchmean",) if name == "kl_div" else ()))
    if name == "smooth_l1_loss":
        kwargs |= optional(draw, beta=draw(st.sampled_from([0, 0.5, -1])))
    return Call((Input(one), Input(other)), kwargs)


@calls_of("binary_cross_entropy", "binary_cross_entropy_with_logits")
def binary(draw: st.DrawFn, name: str) -> Call:
    one = draw(sizes(0, 4))
    kwargs = reduction(draw)
    target = narrowed(draw, one) if draw(CLASHES) else one
    for weight in ("weight", "pos_weight"):
        if draw(st.booleans()) and (weight == "weight" or name.endswith("logits")):
            kwargs[weight] = Input(slipped(draw, narrowed(draw, one)))
    return Call((Input(one), Input(slipped(draw, target))), kwargs)


@calls_of("gaussian_nll_loss")
def gaussian_nll_loss(draw: st.DrawFn, name: str) -> Call:
    one = draw(sizes(0, 4))
    target = slipped(draw, narrowed(draw, one))
    one = (*one[:-1], 1) if one and seldom(draw) else one
    fewer = tuple([max(size - 1, 0) if draw(st.booleans()) else size for size in one])
    ones = (*one[:-2], 1, 1)[: len(one)]
    last, second = [(*one[:-1], size) for size in (1, 3)], (*one[:1], 1, *one[2:])
    variances = draw(st.sampled_from([one, one[:-1], *last, second, ones, fewer]))
    var: object = draw(st.sampled_from((1.5, 0.0, -0.5))) if seldom(draw) else Input(slipped(draw, variances))
    return Call((Input(one), Input(target), var), reduction(draw, legacy=False))


@calls_of("margin_ranking_loss")
def margin_ranking_loss(draw: st.DrawFn, name: str) -> Call:
    one, other, target = aligned(draw, 3)
    return Call((Input(one), Input(other), Input(target)), reduction(draw))


def aligned(draw: st.DrawFn, count: int) -> list[tuple[int, ...]]:
    """Sizes that broadcast without axes missing, or nearly so."""
    whole = draw(sizes(1, 3)) if draw(st.booleans()) else draw(sizes(0, 3))
    narrow = [tuple([1 if seldom(draw) else size for size in whole]) for _ in range(count)]
    if draw(CLASHES):
        narrow = [slipped(draw, slipped(draw, each)) for each in narrow]
    return narrow


@calls_of("cosine_embedding_loss")
def cosine_embedding_loss(draw: st.DrawFn, name: str) -> Call:
    one, other = aligned(draw, 2)
    most = 3 if seldom(draw) else 2
    one, other = one[:most], other[:most]
    target = draw(st.sampled_from([one[:-1], other[:-1], (1,)]))
    return Call((Input(one), Input(other), Input(slipped(draw, target))), reduction(draw))


@calls_of("triplet_margin_loss", "triplet_margin_with_distance_loss")
def triplet(draw: st.DrawFn, name: str) -> Call:
    tensors = [Input(each) for each in aligned(draw, 3)]
    kwargs = reduction(draw, legacy=not name.endswith("distance_loss"))
    kwargs |= optional(draw, swap=True, margin=draw(st.sampled_from([0.5, 2.0, 1.0, 0.0])))
    if name == "triplet_margin_loss":
        kwargs |= optional(draw, p=draw(st.sampled_from([1, 2, float("inf")])))
    return Call(tuple(tensors), kwargs)
