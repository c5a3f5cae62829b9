"""NumPy's functions in Python compute what NumPy does, or nothing."""

from __future__ import annotations

import itertools
import math
import operator
import warnings
from collections.abc import Callable, Sequence

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from frontends.numpy_scalars import TABLES, compared

SMALL = (*range(-3, 4), 7, 63, 64)
LARGE = (2**31, 2**53 - 1, 2**53 + 1, 2**62, 2**63 - 1, -(2**63))
FLOATS = (0.0, -0.0, 0.5, -0.5, 1.5, 2.0, 1e300, -1e300, float("inf"), float("nan"))
INTEGERS = st.integers(-(2**63), 2**63 - 1)
OF_SEQUENCES, OF_NUMBERS, OF_PAIRS = TABLES
COMPARISONS = operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge


def agrees(name: str, formula: Callable[..., object], *given: object) -> bool:
    """Return True if a formula has NumPy's value and type, or none."""
    try:
        found = formula(*given)
    except OverflowError:
        # a float of an integer beyond floats, which no `int64` is
        return False
    if found is None:
        return True
    assert isinstance(found, int | float)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        expected = getattr(numpy, name)(*given)
    kind = numpy.int64 if type(found) is int else numpy.float64
    is_silent = not warned or not math.isfinite(found)
    return type(expected) is kind and repr(kind(found)) == repr(expected) and is_silent


@pytest.mark.parametrize("name", OF_NUMBERS)
def test_functions_of_a_number(name: str) -> None:
    """Each number has NumPy's result, and an ordinary one does have it."""
    assert OF_NUMBERS[name](7) is not None or OF_NUMBERS[name](1.5) is not None
    for number in (*SMALL, *LARGE, *FLOATS):
        assert agrees(name, OF_NUMBERS[name], number), number


@pytest.mark.parametrize("name", OF_PAIRS)
def test_functions_of_two_numbers(name: str) -> None:
    """Each two numbers have NumPy's result, and ordinary ones do have it."""
    assert OF_PAIRS[name](7, 2) is not None
    for a, b in itertools.product((*SMALL, *LARGE, *FLOATS), repeat=2):
        assert agrees(name, OF_PAIRS[name], a, b), (a, b)


@pytest.mark.parametrize("name", OF_SEQUENCES)
def test_functions_of_small_sizes(name: str) -> None:
    """Sizes have NumPy's result, and do have one."""
    for sizes in itertools.chain.from_iterable(itertools.product(range(4), repeat=count) for count in (1, 2, 3)):
        assert OF_SEQUENCES[name](sizes) is not None and agrees(name, OF_SEQUENCES[name], sizes), sizes


@given(st.sampled_from(sorted(OF_SEQUENCES)), st.lists(INTEGERS | st.integers(0, 2**16), min_size=1, max_size=5))
def test_functions_of_sequences(name: str, sizes: Sequence[int]) -> None:
    """Integers have NumPy's result, or none where it wraps around."""
    assert agrees(name, OF_SEQUENCES[name], sizes)


@given(INTEGERS | st.floats(), INTEGERS | st.floats(), st.sampled_from(COMPARISONS))
def test_comparisons(a: int | float, b: int | float, comparison: Callable[[object, object], bool]) -> None:
    """Numbers compare as NumPy's do, also an integer with a float."""
    kinds = {int: numpy.int64, float: numpy.float64}
    for left, right in ((kinds[type(a)](a), b), (a, kinds[type(b)](b)), (kinds[type(a)](a), kinds[type(b)](b))):
        assert compared(a, b, comparison) == bool(comparison(left, right))
