"""Numbers that are read from tensors: one symbol for each element, with what is known of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

import pytest
import torch

from frontends.pytorch import Variant, compile, trace
from shapes import Always, UndecidedGuard

ones, tensor = torch.ones, torch.tensor


def unbacked(variant: Variant) -> int:
    """The number of symbols that data decides."""
    return sum(symbol.kind == "unbacked" for symbol in variant.env.symbols.values())


def agrees(program: Callable[..., Any], *given: torch.Tensor) -> Variant:
    """The graph gives what the program gives, for arguments that it may write."""
    variant = trace(program, [each.clone() for each in given])
    expected = program(*[each.clone() for each in given])
    found = variant.assembled(variant.graph(*[each.clone() for each in given]))
    torch.testing.assert_close(found, expected)
    return variant


def twice(x, k):
    return x[: k.item()] + x[: k.item()]


def by_two_views(x, k):
    return x.new_ones(k.view(1)[0].item()) + x.new_ones(k.reshape(()).item())


def by_lists(x, k):
    return x.new_ones(k.tolist()) + x.new_ones(k.tolist())


@pytest.mark.parametrize(
    ("program", "read", "count"),
    [(twice, tensor(2), 1), (by_two_views, tensor(2), 2), (by_lists, tensor([2, 3]), 2)],
)
def test_one_symbol_for_each_element(program: Callable[..., Any], read: torch.Tensor, count: int) -> None:
    """An element that is read twice gives two symbols, which are not known to be equal."""
    assert unbacked(agrees(program, ones(4), read)) == count


def written(x, k):
    before = k.item()
    k.add_(1)
    return x.new_ones(before).sum() + 10 * x.new_ones(k.item()).sum()


def written_by_a_view(x, k):
    before = k.item()
    k.view(1)[0] = 3
    return x.new_ones(before).sum() + 10 * x.new_ones(k.item()).sum()


def drawn(x, k):
    return [torch.randint(0, 9, ()).item() - torch.randint(0, 9, ()).item() for _ in range(2)]


@pytest.mark.parametrize("program", [written, written_by_a_view])
def test_a_written_element_is_read_again(program: Callable[..., Any]) -> None:
    """A number is taken for the one before a write."""
    assert unbacked(agrees(program, ones(4), tensor(1))) == 2


def test_random_numbers_are_no_equal_elements() -> None:
    """Two random numbers are one symbol."""
    assert unbacked(trace(drawn, (ones(4), tensor(1)))) == 4


def test_arguments_that_share_memory() -> None:
    """A write to one argument changes another one that shares its memory: an element of that is read anew."""

    def program(k, view):
        before = view.item()
        k.add_(1)
        return torch.ones(before).sum() + 10 * torch.ones(view.item()).sum()

    compiled = compile(program, dynamic=True, backend="cpu", fullgraph=True)
    for call in (compiled, program):
        k = tensor([1, 2])
        assert call(k, k[1]).item() == 32.0


def always(variant: Variant, question: str) -> bool:
    return isinstance(variant.env.ask(question), Always)


def test_a_mask_selects_its_sum() -> None:
    """The sum of a mask and the number of elements that it selects are unrelated, in either order."""

    def first(x, m):
        return x[m].view(m.sum().item())

    def then(x, m):
        n = m.sum().item()
        return x[m].view(n)

    for program in (first, then):
        variant = agrees(program, ones(4), tensor([True, False, True, True]))
        assert unbacked(variant) == 1 and variant.runtime_asserts == ()


def test_pieces_of_a_histogram() -> None:
    """A split by counts is checked at run time, though they add up to what was counted."""

    def program(labels):
        counts = torch.bincount(labels, minlength=3).view(3)
        return [piece.sum() for piece in labels.sort().values.split(counts.tolist())]

    variant = agrees(program, tensor([0, 1, 1, 2, 2, 2]))
    assert [each.text for each in variant.runtime_asserts] == ["u0 == 3"]


def test_lengths_and_offsets() -> None:
    """A repetition, a sum and the last offset of the same lengths are unrelated."""

    def program(x, lengths):
        repeated = x.repeat_interleave(lengths)
        total = lengths.sum().item()
        return repeated.view(total) + lengths.cumsum(0)[-1].item()

    variant = agrees(program, torch.randn(3), tensor([2, 0, 3]))
    assert unbacked(variant) == 1 and variant.runtime_asserts == ()


FACTS: Final[dict[str, tuple[Callable[..., Any], list[torch.Tensor], str]]] = {
    "bucketize": (lambda x, e: torch.ones(torch.bucketize(x, e)[0].item()), [ones(3), ones(2)], "u0 <= e_size0"),
    "searchsorted": (lambda e, x: torch.ones(torch.searchsorted(e, x)[0].item()), [ones(2), ones(3)], "u0 >= 0"),
    "argmax": (lambda x: torch.ones(x.argmax().item()), [ones(3)], "u0 < x_size0"),
    "argsort": (lambda x: torch.ones(x.argsort()[0].item()), [ones(3)], "u0 < x_size0"),
    "count of a mask": (lambda m: torch.ones(m.sum().item()), [ones(3) > 0], "u0 <= m_size0"),
    "offset": (lambda m: torch.ones(m.cumsum(0)[0].item()), [ones(3) > 0], "u0 <= m_size0"),
}


@pytest.mark.parametrize("name", FACTS)
def test_bounds_of_elements(name: str) -> None:
    """A number that an operator has bounded is checked at run time, or may be out of bounds to the engine."""
    program, given, fact = FACTS[name]
    variant = agrees(program, *given)
    assert always(variant, fact) and variant.runtime_asserts == ()


def test_offsets_are_in_order() -> None:
    """The rows between two offsets have a size that may be negative."""

    def program(x, labels):
        start, end = torch.bincount(labels, minlength=2).view(2).cumsum(0).tolist()
        return x[:end], torch.ones(end - start)

    variant = agrees(program, torch.randn(4), tensor([0, 1, 1, 1]))
    assert always(variant, "u0 <= u1 or u1 <= u0") and not any("-" in each.text for each in variant.runtime_asserts)


def test_stated_sums_are_facts() -> None:
    """A sum that the program checks is no fact: the split is checked a second time."""

    def program(x, sizes):
        ins = sizes.tolist()
        torch._check(sum(ins) == x.size(0))
        return [piece.sum() for piece in x.split(ins)]

    variant = trace(program, (ones(5), tensor([2, 3])))
    assert len([check for check in variant.runtime_asserts if "+" in check.text]) == 1
    compiled = compile(program, dynamic=True, backend="cpu", fullgraph=True)
    assert [each.item() for each in compiled(ones(5), tensor([2, 3]))] == [2.0, 3.0]
    (variant,) = compiled.variants
    assert len([check for check in variant.runtime_asserts if "+" in check.text]) == 1
    with pytest.raises(RuntimeError):
        compiled(ones(5), tensor([2, 2]))


def branching(x):
    if (x.sum() > 0).item():
        return x * 2
    return x


def stated(x):
    flag = (x.sum() > 0).item()
    torch._check(flag)
    return x * 2 if flag else x


def denied(x):
    flag = (x.sum() > 0).item()
    torch._check(torch.sym_not(flag))
    return x * 2 if flag else x


def test_the_fix_of_a_boolean_can_be_written() -> None:
    """The message names a check of the engine's text, which is no Python of the program."""
    fix = "flag = (x.sum() > 0).item(); torch._check(flag) or torch._check(torch.sym_not(flag))"
    with pytest.raises(UndecidedGuard, match=re.escape(fix)):
        trace(branching, (ones(3),))
    with pytest.raises(Exception, match=re.escape(fix)):
        compile(branching, dynamic=True, fullgraph=True)(ones(3))


@pytest.mark.parametrize(("program", "x"), [(stated, ones(3)), (denied, -ones(3))])
def test_the_fix_of_a_boolean_works(program: Callable[..., Any], x: torch.Tensor) -> None:
    """A branch on a boolean is undecided though the program states it, or a false statement passes."""
    compiled = compile(program, dynamic=True, fullgraph=True)
    assert torch.equal(compiled(x), program(x))
    with pytest.raises(RuntimeError):
        compiled(-x)
