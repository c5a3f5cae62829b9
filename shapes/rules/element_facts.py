"""Facts about the elements of results, for operators from whose results programs make sizes.

    >>> from shapes import ShapeEnv
    >>> from shapes.rules import Shape
    >>> from shapes.rules.element_facts import FACTS
    >>> env = ShapeEnv(origin=lambda: None)
    >>> n, k = env.sizes("n k")
    >>> counts = FACTS["bincount"](Shape((n,), dtype="int64"))
    >>> counts.lo, counts.hi, counts.total
    (0, n, n)
    >>> offsets = FACTS["cumsum"](Shape((k,), dtype="int64", elements=counts), 0)
    >>> offsets.ordered, offsets.hi, offsets.last
    (True, n, n)

Each is a function of the operator's arguments, tensors as shapes; operators with several results have a tuple. They
hold where the elements are integers or booleans; floats have none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from shapes.environment.layout import numel
from shapes.rules.elements import Elements
from shapes.rules.shape import Shape
from shapes.symbolic.choices import Int

Known = Elements | tuple[Elements | None, ...] | None
SMALL: Final = 2**20
FACTS: Final[dict[str, Callable[..., Known]]] = {}  # type: ignore[explicit-any]


def facts(*names: str) -> Callable[[Callable[..., Known]], Callable[..., Known]]:  # type: ignore[explicit-any]
    def register(function: Callable[..., Known]) -> Callable[..., Known]:  # type: ignore[explicit-any]
        FACTS.update(dict.fromkeys(names, function))
        return function

    return register


def known(tensor: Shape) -> Elements:
    """The facts about a tensor's elements; booleans are 0 or 1."""
    found = tensor.elements or Elements()
    return found.with_more(Elements(lo=0, hi=1)) if tensor.dtype == "bool" else found


def extent(tensor: Shape, dim: int | None = None) -> Int:
    """The length of an axis, or the number of elements."""
    if dim is None:
        return numel(tensor)
    return tensor[dim] if tensor else 1


def index_below(length: Int, *, ordered: bool = False, distinct: bool = False) -> Elements:
    return Elements(lo=0, hi=length - 1, ordered=ordered, distinct=distinct)


# ---------------------------------------------------------------------- counting


@facts("bincount")
def bincount(input: Shape, weights: Shape | None = None) -> Known:
    """As many as there are numbers."""
    return Elements(lo=0, hi=numel(input), total=numel(input)) if weights is None else None


@facts("unique")
def unique(input: Shape, values: Shape, dim: int | None = None) -> Known:
    """The inverse indices and the counts, of which none is 0."""
    length = extent(input, dim)
    count = extent(values, dim if dim is not None else 0)
    return None, index_below(count), Elements(lo=1, hi=length, total=length)


@facts("count_nonzero")
def count_nonzero(input: Shape, dim: object = None) -> Known:
    return Elements(lo=0, hi=numel(input))


# ---------------------------------------------------------------------- indices


@facts("nonzero")
def nonzero(input: Shape) -> Known:
    """Coordinates along one axis, in order."""
    return index_below(input[0]) if len(input) == 1 else None


@facts("argsort")
def argsort(input: Shape, dim: int = -1) -> Known:
    """A permutation of the indices."""
    return index_below(extent(input, dim), distinct=len(input) == 1)


@facts("sort")
def sort(input: Shape, dim: int = -1, descending: bool = False) -> Known:
    """The elements themselves, and a permutation."""
    own, places = known(input), argsort(input, dim)
    assert isinstance(places, Elements)
    return Elements(own.lo, own.hi, own.total, len(input) == 1 and not descending, own.distinct), places


@facts("topk")
def topk(input: Shape, dim: int = -1) -> Known:
    own = known(input)
    return Elements(own.lo, own.hi), index_below(extent(input, dim), distinct=len(input) == 1)


@facts("argmax", "argmin")
def argmax(input: Shape, dim: int | None = None) -> Known:
    return index_below(extent(input, dim))


@facts("arange")
def arange(end: Int | float) -> Known:
    return None if isinstance(end, float) else index_below(end, ordered=True, distinct=True)


@facts("randperm")
def randperm(n: Int) -> Known:
    return index_below(n, distinct=True)


@facts("searchsorted")
def searchsorted(sorted_sequence: Shape, input: Shape | Int | float) -> Known:
    """An index into the sequence, or its length."""
    return Elements(lo=0, hi=extent(sorted_sequence, -1))


@facts("bucketize")
def bucketize(input: Shape | Int | float, boundaries: Shape) -> Known:
    return Elements(lo=0, hi=numel(boundaries))


@facts("repeat_interleave")
def repeat_interleave(repeats: Shape) -> Known:
    """Each index as often as it is repeated."""
    return index_below(repeats[0], ordered=True)


# ---------------------------------------------------------------------- sums


@facts("sum")
def total(input: Shape, dim: Sequence[int] | None = None) -> Known:
    """The total; sums of counts along some axes are at most that, and add up to it."""
    own = known(input)
    if dim is not None and len(input) > 1:
        return Elements(lo=0, hi=own.total, total=own.total) if is_counting(own) else None
    if not is_small(own):
        return Elements(total=own.total)
    assert own.lo is not None and own.hi is not None
    return Elements(lo=own.lo * numel(input), hi=own.hi * numel(input), total=own.total)


@facts("cumsum")
def cumsum(input: Shape, dim: int = 0) -> Known:
    """Offsets: in order where no length is negative, the last one the total."""
    own = known(input)
    if len(input) != 1:
        return None
    if not is_counting(own) and not is_small(own):
        return Elements(last=own.total)
    if not isinstance(own.lo, int) or own.lo < 0:
        return Elements(last=own.total)
    most = own.total if own.total is not None else own.hi * numel(input) if own.hi is not None else None
    return Elements(lo=own.lo, hi=most, ordered=True, last=own.total)


def is_counting(elements: Elements) -> bool:
    """Return True if no element is negative, and their sum is no larger than a size."""
    return isinstance(elements.lo, int) and elements.lo >= 0 and elements.hi is not None and elements.total is not None


def is_small(elements: Elements) -> bool:
    """Return True if no tensor is large enough for a sum to exceed its dtype."""
    bounds = elements.lo, elements.hi
    return all(isinstance(bound, int) and abs(bound) <= SMALL for bound in bounds)


# ---------------------------------------------------------------------- parts


@facts("select")
def select(input: Shape, dim: int, index: Int) -> Known:
    """One of the elements, or some of them."""
    own = known(input)
    if len(input) != 1:
        return Elements(own.lo, own.hi)
    value = {0: own.first, -1: own.last}.get(index) if isinstance(index, int) else None
    only = isinstance(input[0], int) and input[0] == 1
    return Elements(own.lo, own.hi, own.total if value is None and only else value)


@facts("same")
def same_elements(input: Shape) -> Known:
    """A view or a copy of all elements in their order."""
    return known(input)


@facts("reordered")
def reordered(input: Shape) -> Known:
    """A view or a copy of all elements."""
    own = known(input)
    return Elements(own.lo, own.hi, own.total, distinct=own.distinct)
