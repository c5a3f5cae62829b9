"""Layouts against torch's definition on small sizes and strides, and against torch itself where it is installed."""

from __future__ import annotations

from itertools import permutations, product

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shapes import ShapeEnv, SymBool, SymInt
from shapes.environment.layout import (
    CHANNELS_LAST,
    Layout,
    channels_last,
    channels_last_strides,
    contiguous,
    contiguous_strides,
    max_storage_index,
    non_overlapping_and_dense,
    numel,
    storage_size,
)

SIZES = st.integers(0, 4)
STRIDES = st.integers(0, 12)


def offsets(sizes: tuple[int, ...], strides: tuple[int, ...]) -> list[int]:
    """The offset of every element."""
    return [sum(i * stride for i, stride in zip(index, strides)) for index in product(*map(range, sizes))]


def torch_contiguous(sizes: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    if 0 in sizes:
        return True
    expected = 1
    for size, stride in zip(reversed(sizes), reversed(strides)):
        if size != 1:
            if stride != expected:
                return False
            expected *= size
    return True


def torch_channels_last(sizes: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    if len(sizes) not in CHANNELS_LAST:
        return False
    expected = 1
    for axis in CHANNELS_LAST[len(sizes)]:
        if sizes[axis] != 1:
            if strides[axis] != expected:
                return False
            expected *= sizes[axis]
    return True


def dense(sizes: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Return True if the elements fill 0..n-1, each once, by looking at every one."""
    places = offsets(sizes, strides)
    return sorted(places) == list(range(len(places)))


def symbolic(values: tuple[int, ...], mask: tuple[bool, ...], prefix: str, env: ShapeEnv) -> tuple[int | SymInt, ...]:
    """Some of the values as symbols with these hints."""
    return tuple([env.symbol(f"{prefix}{i}", hint=v) if m else v for i, (v, m) in enumerate(zip(values, mask))])


def at_hint(env: ShapeEnv, value: int | SymInt | SymBool) -> int | bool | None:
    return value if isinstance(value, int) else env.hint(value)


@st.composite
def layouts(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...], tuple[bool, ...], tuple[bool, ...]]:
    sizes = tuple(draw(st.lists(SIZES, min_size=0, max_size=5)))
    order = draw(st.permutations(range(len(sizes))))
    strides, stride = [0] * len(sizes), 1
    for axis in order:  # near to a dense layout: a packed one, with a stride changed now and then
        strides[axis] = draw(STRIDES) if draw(st.integers(0, 7)) == 0 else stride
        stride *= sizes[axis] if draw(st.booleans()) else max(sizes[axis], 1)
    masks = [tuple(draw(st.lists(st.booleans(), min_size=len(sizes), max_size=len(sizes)))) for _ in range(2)]
    return sizes, tuple(strides), masks[0], masks[1]


@given(layouts())
@example(((2, 0, 3, 4), (0, 1, 0, 0), (True,) * 4, (False,) * 4))
@example(((2, 2), (1, 1), (True, True), (True, True)))
def test_propositions_mean_what_torch_means(
    case: tuple[tuple[int, ...], tuple[int, ...], tuple[bool, ...], tuple[bool, ...]],
) -> None:
    """A kernel reads a tensor as contiguous that is not."""
    sizes, strides, size_mask, stride_mask = case
    env = ShapeEnv(origin=lambda: None)
    s, t = symbolic(sizes, size_mask, "s", env), symbolic(strides, stride_mask, "t", env)
    for proposition, oracle in (
        (contiguous, torch_contiguous),
        (channels_last, torch_channels_last),
        (non_overlapping_and_dense, lambda a, b: dense(a, b) or torch_channels_last(a, b)),
    ):
        assert proposition(sizes, strides) is oracle(sizes, strides)
        assert at_hint(env, proposition(s, t)) is oracle(sizes, strides)
    places = offsets(sizes, strides)
    assert at_hint(env, numel(s)) == len(places)
    assert at_hint(env, storage_size(s, t, 3)) == (max(places) + 4 if places else 0)
    if places:
        assert at_hint(env, max_storage_index(s, t, 3)) == max(places) + 3
    assert not env.guards()


@pytest.mark.parametrize("lo", [0, 1])
@pytest.mark.parametrize("rank", [0, 1, 2, 3, 4, 5])
def test_fresh_tensors_are_contiguous_for_all_sizes(rank: int, lo: int) -> None:
    """If this is not true as written, every kernel on a fresh tensor costs a proof, or a guard."""
    env = ShapeEnv(origin=lambda: None)
    sizes = tuple([env.symbol(f"s{i}", lo=lo) for i in range(rank)])
    fresh = Layout.contiguous(sizes)
    assert fresh.is_contiguous is True and fresh.is_non_overlapping_and_dense is True
    for order in permutations(range(rank)):
        turned = Layout(tuple([sizes[i] for i in order]), tuple([fresh.strides[i] for i in order]))
        if lo:
            assert turned.is_non_overlapping_and_dense is True
    if lo and rank in CHANNELS_LAST:
        assert Layout(sizes, channels_last_strides(sizes)).is_channels_last is True


@given(st.lists(SIZES, min_size=0, max_size=5))
def test_strides_of_fresh_tensors(sizes: list[int]) -> None:
    """Strides of zero-size tensors are compared at run time: torch counts a size of 0 as 1."""
    env = ShapeEnv(origin=lambda: None)
    symbols = [env.symbol(f"s{i}", hint=size) for i, size in enumerate(sizes)]
    expected, stride = [], 1
    for size in reversed(sizes):
        expected.insert(0, stride)
        stride *= max(size, 1)
    assert list(contiguous_strides(sizes)) == expected
    assert [at_hint(env, stride) for stride in contiguous_strides(symbols)] == expected


def test_errors_name_the_values() -> None:
    """A layout of the wrong rank is caught where it is made."""
    with pytest.raises(ValueError, match="one stride for each size"):
        Layout((2, 3), (1,))
    with pytest.raises(ValueError, match="channels last"):
        channels_last_strides((2, 3))


def test_torch_agrees() -> None:
    """The oracle above is our reading of torch; this is torch."""
    torch = pytest.importorskip("torch")
    values = [(rank, n) for rank in (0, 1, 2, 3) for n in range(2000)] + [
        (rank, n) for rank in (4, 5) for n in range(3000)
    ]
    for rank, seed in values:
        digits = [(seed * 2654435761 >> (4 * i)) % 97 for i in range(2 * rank)]
        sizes = tuple([d % 4 for d in digits[:rank]])
        strides = list(contiguous_strides(sizes)) if seed % 2 else [d % 7 for d in digits[rank:]]
        if seed % 3 == 0 and rank in CHANNELS_LAST:
            strides = list(channels_last_strides(sizes))
        if rank > 1 and seed % 5 == 0:
            strides[0], strides[1] = strides[1], strides[0]
        tensor = torch.empty_strided(sizes, strides)
        assert contiguous(sizes, strides) is tensor.is_contiguous(), (sizes, strides)
        assert non_overlapping_and_dense(sizes, strides) is torch.ops.aten.is_non_overlapping_and_dense(tensor)
        if rank in CHANNELS_LAST:
            form = torch.channels_last if rank == 4 else torch.channels_last_3d
            assert channels_last(sizes, strides) is tensor.is_contiguous(memory_format=form), (sizes, strides)
            fresh = torch.empty(sizes, memory_format=form)
            assert channels_last_strides(sizes) == fresh.stride() or 0 in sizes, sizes
        assert contiguous_strides(sizes) == torch.empty(sizes).stride()
        assert storage_size(sizes, strides) * tensor.element_size() == tensor.untyped_storage().nbytes()
