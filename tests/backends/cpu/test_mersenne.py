"""Elements that a dropout keeps are those that torch keeps."""

from __future__ import annotations

import pytest
import torch

from backends.cpu import mersenne
from tests.backends.cpu.vector.vectors import needs_compiler

pytestmark = needs_compiler


@pytest.mark.parametrize("drawn", [0, 1, 2, 623, 624, 625])
@pytest.mark.parametrize("count", [mersenne.LEAST, 2 * 624, 4 * 624 + 311, 30_001])
def test_as_torch_draws(count: int, drawn: int) -> None:
    """A failure: a compiled dropout keeps other elements than torch's, or leaves the generator somewhere else."""
    torch.manual_seed(count)
    torch.rand(drawn)
    before = torch.get_rng_state()
    for share in (0.9, 0.5, 1e-7, 1 - 2**-53):
        torch.set_rng_state(before)
        expected = torch.empty(count, dtype=torch.bool).bernoulli_(share)
        after = torch.get_rng_state()
        torch.set_rng_state(before)
        assert torch.equal(mersenne.bernoulli(torch.empty(count, dtype=torch.bool), share), expected)
        assert torch.equal(torch.get_rng_state(), after)


def test_it_is_not_torch_that_draws() -> None:
    """A failure: every dropout takes as long as torch's, as it falls back to it."""
    kept = torch.empty(mersenne.LEAST, dtype=torch.bool)
    torch.manual_seed(0)
    if torch.equal(kept.bernoulli_(0.5), _by_pairs(kept.numel())):
        assert mersenne._is_known()


def test_the_numbers_kept_for_a_normal_distribution_stay() -> None:
    """A failure: `randn` after a compiled dropout is not what it is after torch's."""
    results = []
    for keep in (mersenne.bernoulli, torch.Tensor.bernoulli_):
        torch.manual_seed(3)
        first = torch.randn(3)
        kept = keep(torch.empty(5000, dtype=torch.bool), 0.3)
        results.append(torch.cat([first, kept.float(), torch.randn(5)]))
    assert torch.equal(*results)


@pytest.mark.parametrize("strides", [(1, 90), (180, 2), (90, 1)])
def test_any_strides(strides: tuple[int, int]) -> None:
    """A failure: elements between those of a tensor are written, or in another order than torch's."""
    results = []
    for keep in (mersenne.bernoulli, torch.Tensor.bernoulli_):
        torch.manual_seed(3)
        results.append(keep(torch.empty_strided((90, 90), strides, dtype=torch.bool), 0.3))
    assert torch.equal(*results)


def test_another_thread_draws_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    """A failure: two threads are given the same random numbers."""
    draw = mersenne._draw()
    assert draw is not None
    others: list[torch.Tensor] = []

    def disturbed(*arguments: int) -> int:
        if not others:
            others.append(torch.rand(7))
        return draw(*arguments)

    torch.manual_seed(0)
    mersenne._is_known()
    monkeypatch.setattr(mersenne, "_draw", lambda: disturbed)
    found = mersenne.bernoulli(torch.empty(5000, dtype=torch.bool), 0.5)
    torch.manual_seed(0)
    assert torch.equal(others[0], torch.rand(7))
    assert torch.equal(found, torch.empty(5000, dtype=torch.bool).bernoulli_(0.5))


def _by_pairs(count: int) -> torch.Tensor:
    """The elements that torch draws with a probability of a half where each takes two numbers of the generator."""
    import random

    generator = random.Random()
    words = torch.Generator().manual_seed(0).get_state()[mersenne.STATE :][: 8 * mersenne.WORDS].view(torch.int64)
    generator.setstate((3, (*words.tolist(), mersenne.WORDS), None))
    drawn = [(generator.getrandbits(32) << 32 | generator.getrandbits(32)) % 2**53 for _ in range(count)]
    return torch.tensor([number < 2**52 for number in drawn])
