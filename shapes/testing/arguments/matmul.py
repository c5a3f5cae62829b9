"""Calls of products of matrices and vectors, and of Einstein sums."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import strategies as st

from shapes.testing.arguments import calls_of
from shapes.testing.arguments.mistakes import SIZE, chosen, narrowed, seldom, sizes, slipped
from shapes.testing.calls import Call, Input


def _inputs(draw: st.DrawFn, *fitting: tuple[int, ...]) -> list[Input]:
    return [Input(slipped(draw, one)) for one in fitting]


@calls_of("matmul")
def matmul(draw: st.DrawFn, name: str) -> Call:
    n, m, p, batch = draw(SIZE), draw(SIZE), draw(SIZE), draw(sizes(0, 2))
    left = draw(st.sampled_from([(m,), (n, m), (*narrowed(draw, batch), n, m)]))
    right = draw(st.sampled_from([(m,), (m, p), (*narrowed(draw, batch), m, p)]))
    return Call(tuple(_inputs(draw, left, right)))


@calls_of("mm", "addmm")
def mm(draw: st.DrawFn, name: str) -> Call:
    n, m, p = draw(sizes(3))
    factors = _inputs(draw, (n, m), (m, p))
    return _added(draw, factors, (n, p)) if name == "addmm" else Call(tuple(factors))


@calls_of("bmm", "addbmm", "baddbmm")
def bmm(draw: st.DrawFn, name: str) -> Call:
    b, n, m, p = draw(sizes(4))
    factors = _inputs(draw, (b, n, m), (b, m, p))
    return Call(tuple(factors)) if name == "bmm" else _added(draw, factors, (n, p) if name == "addbmm" else (b, n, p))


def _adds(call: Call) -> bool:
    """Torch returns an input of fewer elements unchanged where there is nothing to add."""
    added, *factors = call.inputs()
    return len(factors) < 2 or 0 not in factors[0] or tuple(added) == tuple(factors[0][:1])


@calls_of("mv", "addmv", only=_adds)
def mv(draw: st.DrawFn, name: str) -> Call:
    n, m = draw(sizes(2))
    factors = _inputs(draw, (n, m), (m,))
    return Call(tuple(factors)) if name == "mv" else _added(draw, factors, (n,))


@calls_of("outer", "ger", "addr")
def outer(draw: st.DrawFn, name: str) -> Call:
    n, m = draw(sizes(2))
    factors = _inputs(draw, (n,), (m,))
    return _added(draw, factors, (n, m)) if name == "addr" else Call(tuple(factors))


def _added(draw: st.DrawFn, factors: list[Input], target: tuple[int, ...]) -> Call:
    added = Input(slipped(draw, narrowed(draw, target)))
    return Call((added, *factors), draw(st.sampled_from([{}, {"beta": 0}, {"beta": 2, "alpha": 0.5}])))


@calls_of("dot", "vdot")
def dot(draw: st.DrawFn, name: str) -> Call:
    n = draw(SIZE)
    return Call(tuple(_inputs(draw, (n,), (n,))))


@calls_of("inner")
def inner(draw: st.DrawFn, name: str) -> Call:
    n = draw(SIZE)
    one, other = [() if seldom(draw) else (*draw(sizes(0, 2)), n) for _ in range(2)]
    return Call(tuple(_inputs(draw, one, other)))


def _is_no_row(call: Call) -> bool:
    """For a vector torch takes a bias of one row as well, if that has more than one column."""
    one, _, *bias = call.inputs()
    return not bias or len(one) > 1 or len(bias[0]) < 2


@calls_of("linear", only=_is_no_row)
def linear(draw: st.DrawFn, name: str) -> Call:
    n, m, batch = draw(SIZE), draw(SIZE), draw(sizes(0, 3))
    one_row = seldom(draw)
    tensors = _inputs(draw, (*batch, n), (n,) if one_row else (m, n))
    if draw(st.booleans()):
        tensors.append(Input(slipped(draw, () if one_row else (m,))))
    return Call(tuple(tensors))


@calls_of("bilinear")
def bilinear(draw: st.DrawFn, name: str) -> Call:
    n, m, p, batch = draw(SIZE), draw(SIZE), draw(SIZE), draw(sizes(0, 2))
    tensors = _inputs(draw, (*batch, n), (*batch, m + seldom(draw)), (p, n, m))
    if draw(st.booleans()):
        tensors += _inputs(draw, (p,))
    return Call(tuple(tensors))


@calls_of("linalg.multi_dot", "chain_matmul")
def chain(draw: st.DrawFn, name: str) -> Call:
    between = draw(sizes(2 if seldom(draw) else 3, 5))
    matrices = list(pairwise(between))
    fitting: list[tuple[int, ...]] = [*matrices]
    if name == "linalg.multi_dot" and draw(st.booleans()):
        fitting[0] = fitting[0][1:]
    if name == "linalg.multi_dot" and draw(st.booleans()):
        fitting[-1] = fitting[-1][:1]
    tensors = _inputs(draw, *fitting)
    return Call(tuple(tensors)) if name == "chain_matmul" else Call((tensors,))


@calls_of("tensordot")
def tensordot(draw: st.DrawFn, name: str) -> Call:
    summed = draw(sizes(0, 2))
    count = len(summed)
    left, right = draw(sizes(0, 2)), draw(sizes(0, 2))
    if draw(st.booleans()):
        tensors = _inputs(draw, (*left, *narrowed_in_place(draw, summed)), (*summed, *right))
        return Call(tuple(tensors), {} if count == 2 and draw(st.booleans()) else {"dims": count + seldom(draw)})
    tensors = _inputs(draw, (*left, *summed), (*right, *narrowed_in_place(draw, summed)))
    first, second = [len(left) + place for place in range(count)], [place - count for place in range(count)]
    if seldom(draw):
        second = [draw(st.integers(-3, 3)) for _ in second]
    if seldom(draw):
        first = first[1:]
    return Call(tuple(tensors), {"dims": (first, second)})


def narrowed_in_place(draw: st.DrawFn, target: tuple[int, ...]) -> tuple[int, ...]:
    """The sizes, now and then one of them 1."""
    return tuple([1 if seldom(draw) else size for size in target])


@calls_of("kron")
def kron(draw: st.DrawFn, name: str) -> Call:
    return Call((Input(draw(sizes(0, 3))), Input(draw(sizes(0, 3)))))


@calls_of("cross", "linalg.cross")
def cross(draw: st.DrawFn, name: str) -> Call:
    if seldom(draw) and seldom(draw):
        return Call((Input(()), Input(())), {"dim": draw(st.integers(-1, 0))} if draw(st.booleans()) else {})
    target = list(draw(sizes(1, 3)))
    axis = draw(st.integers(0, len(target) - 1))
    target[axis] = 3
    one, other = [
        tuple([1 if place != axis and seldom(draw) else size for place, size in enumerate(target)]) for _ in range(2)
    ]
    dims: list[int] = [axis, axis - len(target), axis, axis - len(target), draw(st.integers(-4, 4))]
    kwargs = chosen(draw, dim=st.sampled_from(dims))
    return Call(tuple(_inputs(draw, one, other)), kwargs)


@calls_of("einsum")
def einsum(draw: st.DrawFn, name: str) -> Call:
    letters = "ijKz"
    size_of = {letter: draw(SIZE) for letter in letters}
    spared = draw(sizes(0, 2))
    terms: list[str] = []
    operands: list[Input] = []
    for _ in range(draw(st.integers(1, 3))):
        term = draw(st.text(letters, max_size=3))
        own = [1 if seldom(draw) and term.count(letter) == 1 else size_of[letter] for letter in term]
        if draw(st.integers(0, 2)) == 0:
            place = draw(st.integers(0, len(term)))
            own[place:place] = narrowed(draw, spared)
            dots = draw(st.sampled_from([".", "..", "......", "......"])) if draw(st.integers(0, 3)) == 0 else "..."
            term = f"{term[:place]}{dots}{term[place:]}"
        terms.append(term)
        operands.append(Input(slipped(draw, own)))
    equation = draw(st.sampled_from([",", " , "])).join(terms)
    if draw(st.booleans()):
        named = sorted(set("".join(terms)) - {"."})
        output = "".join(draw(st.lists(st.sampled_from(named), unique=True)) if named else [])
        if draw(st.booleans()):
            output = draw(st.sampled_from(["...", "... "])) + output
        if draw(st.integers(0, 3)) == 0:
            output += draw(st.sampled_from(["q", "..", "->", "...", "1", *named, *named, output]))
        equation += "->" + output
    if seldom(draw):
        return Call((equation, operands))
    if seldom(draw):
        operands = operands[1:] or [*operands, *operands]
    return Call((equation, *operands))
