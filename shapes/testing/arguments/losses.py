"""Calls of losses, those over classes included."""

from __future__ import annotations

from hypothesis import strategies as st

from shapes.testing.arguments import calls_of
from shapes.testing.arguments.mistakes import SIZE, narrowed, optional, seldom, sizes, slipped
from shapes.testing.arguments.pointwise import CLASHES, meeting
from shapes.testing.calls import Call, Input


def reduction(draw: st.DrawFn, *more: str, legacy: bool = True) -> dict[str, object]:
    """Draw the reduction of a loss, mostly none."""
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


def weight_of(draw: st.DrawFn, classes: int) -> Input | None:
    """A weight for each class, or none."""
    return Input(slipped(draw, (classes,))) if draw(st.booleans()) else None


def _weighs_by_vector(call: Call) -> bool:
    """For images torch takes weights of any axes, if they are as many as the classes."""
    one, _, weight = call.args
    return not isinstance(weight, Input) or not isinstance(one, Input) or len(weight) == 1 or len(one) < 3


@calls_of("nll_loss", "cross_entropy", only=_weighs_by_vector)
def cross_entropy(draw: st.DrawFn, name: str) -> Call:
    classes = draw(st.sampled_from([3, 2, 1, 4, 0]))
    rest = draw(sizes(0, 4))
    kwargs = reduction(draw)
    one = (classes,) if not rest else (rest[0], classes, *rest[1:])
    weight = weight_of(draw, classes)
    if name == "cross_entropy":
        smoothing = draw(st.sampled_from([0.0, 0.1, 1.0, 1.5]))
        if seldom(draw) or draw(st.booleans()):
            kwargs |= optional(draw, label_smoothing=smoothing)
            dtype = "int64" if seldom(draw) else "float32"
            one = () if seldom(draw) else one
            return Call((Input(slipped(draw, one)), Input(slipped(draw, one), dtype=dtype), weight), kwargs)
        if rest:
            kwargs |= optional(draw, label_smoothing=smoothing)
    # a target for one sample may not have an axis and classes to be smoothed over
    dtype = "float32" if name == "nll_loss" and seldom(draw) else "int64"
    fitting = slipped(draw, rest) if rest else draw(st.sampled_from([(), (1,), (2,), (1, 1)]))
    target = Input(fitting, dtype=dtype, high=max(classes, 1))
    return Call((Input(() if seldom(draw) else one), target, weight), kwargs)


@calls_of("multi_margin_loss")
def multi_margin_loss(draw: st.DrawFn, name: str) -> Call:
    one = draw(sizes(0, 2))
    classes = one[-1] if one else 1
    samples = one[:1]
    if len(one) != 2 or one[0] == 1:
        samples = draw(st.sampled_from([(), (1,)]))
    target = Input(slipped(draw, samples), dtype="int64", high=max(classes, 1))
    weight = weight_of(draw, classes)
    kwargs = reduction(draw) | optional(draw, p=draw(st.sampled_from([1, 2, 3])), weight=weight)
    return Call((Input(slipped(draw, one)) if classes > 1 and seldom(draw) else Input(one), target), kwargs)


@calls_of("multilabel_margin_loss")
def multilabel_margin_loss(draw: st.DrawFn, name: str) -> Call:
    one = draw(sizes(0, 3)) if seldom(draw) else draw(sizes(0, 2))
    classes = one[-1] if one else 1
    sizes_of_target = slipped(draw, one) if len(one) > 1 else draw(st.sampled_from([one, (classes,), (1, classes)]))
    target = Input(sizes_of_target, dtype="int64", low=-1, high=max(classes, 1))
    return Call((Input(one), target), reduction(draw))


@calls_of("multilabel_soft_margin_loss")
def multilabel_soft_margin_loss(draw: st.DrawFn, name: str) -> Call:
    one = draw(sizes(0, 3))
    target = slipped(draw, narrowed(draw, one))
    kwargs = reduction(draw) | optional(draw, weight=Input(slipped(draw, narrowed(draw, one))))
    return Call((Input(one), Input(target)), kwargs)


@calls_of("ctc_loss", as_written=True)
def ctc_loss(draw: st.DrawFn, name: str) -> Call:
    steps, batch, labels = draw(st.integers(0, 4)), draw(SIZE), draw(st.integers(2, 4))
    batched = draw(st.integers(0, 3)) > 0
    if not batched:
        batch = 1
    longest = draw(st.integers(0, 3))
    lengths = [draw(st.integers(0, longest)) for _ in range(batch)]
    stacked = draw(st.booleans())
    targets = Input((batch, longest) if stacked else (sum(lengths),), dtype="int64", low=1, high=labels)
    count = batch + 1 if seldom(draw) else batch
    taken = Input((count,), dtype="int64", values=[steps] * count)
    lengths_given = Input((batch,), dtype="int64", values=lengths)
    if seldom(draw):
        lengths_given = Input((1, batch), dtype="int64", values=lengths)
    elif not batched and draw(st.booleans()):
        taken, lengths_given = Input((), dtype="int64", values=[steps]), Input((), dtype="int64", values=lengths)
    log_probs = Input((steps, batch, labels) if batched else (steps, labels))
    if seldom(draw):
        log_probs = Input((1, *log_probs) if batched else log_probs[1:])
    elif seldom(draw):
        targets = Input(draw(st.sampled_from(((batch + 1, longest), (), (batch, longest, 1)))), dtype="int64")
    kwargs = optional(draw, blank=draw(st.sampled_from([0, 0, 0, labels, -1]))) | reduction(draw, legacy=False)
    return Call((log_probs, targets, taken, lengths_given), kwargs)
