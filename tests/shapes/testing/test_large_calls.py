"""Large sizes: references that cannot take them are not called with them, and those that can are."""

import pytest

from shapes.testing import Call, Input, check_rule
from shapes.testing.directed.constants import does_constant_work
from shapes.testing.directed.growth import Growth
from shapes.testing.references.functions import Function, OfCalls, on_sizes
from shapes.testing.references.standins import ALLOCATED, Untested

np = pytest.importorskip("numpy")

WIDE = 2**31


def growth_of(function):
    reference = OfCalls(function)
    return Growth([reference], on_sizes(reference))


def vector(size):
    return Call((Input((size,)),))


def looped(call):
    count = 0
    for _ in range(call.args[0][0]):
        count += 1
    return ((count,),)


def repeated(call):
    return ((2,) * call.args[0][0],)


def summed(call):
    return ((sum(range(call.args[0][0])),),)


def filled(call):
    return ((len([0] * (call.args[0][0] + 1)),),)


def halved(call):
    return ((call.args[0][0] // 2,),)


def stepped(call):
    return ((len(range(0, call.args[0][0], 2)),),)


@pytest.mark.parametrize("function", [looped, repeated])
def test_loops_and_long_results_are_not_made(function):
    """Where Python's lines or the result grow, integers stay small."""
    growth = growth_of(function)
    assert growth.allows(vector(500))
    assert not growth.allows(vector(4097))
    assert not growth.allows(vector(WIDE))


@pytest.mark.parametrize("function", [summed, filled])
def test_loops_of_c_are_not_made(function):
    """Where C may count up to an integer, it is large, yet not 2**31."""
    growth = growth_of(function)
    assert growth.allows(vector(4097))
    assert not growth.allows(vector(WIDE))


@pytest.mark.parametrize("function", [halved, stepped])
def test_constant_work_is_done_on_large_integers(function):
    """A reference that computes with a size, or names only what takes constant time, is tried with any."""
    reference = OfCalls(function)
    growth = Growth([reference], [] if does_constant_work(function) else on_sizes(reference))
    assert growth.allows(vector(WIDE))


def test_names_tell_constant_work():
    """Names of methods count, and so do those in nested functions; exceptions do not."""

    def refuses(call):
        def of(size):
            if size < 0:
                raise ValueError("negative")
            return len(range(size))

        return ((of(call.args[0][0]),),)

    assert does_constant_work(stepped)
    assert does_constant_work(refuses)
    assert does_constant_work(lambda call: ((call.args[0] * 2, 3),))
    assert not does_constant_work(summed)
    assert not does_constant_work(filled)
    assert not does_constant_work(lambda call: len("x" * call.args[0]))
    assert not does_constant_work(lambda call: call.args[0].tolist())
    assert not does_constant_work(len)


def test_refusals_do_not_tell_growth():
    """A function that refuses at the probes is asked again at other integers."""

    def picky(call):
        (size,) = call.args[0]
        return ((2,) * size,) if size % 5 == 0 else None

    growth = growth_of(picky)
    assert growth.allows(vector(2000))


VIEWS = [
    (lambda x: x[::2], [(WIDE + 1,)], ((WIDE // 2 + 1,),)),
    (lambda x: x.T, [(WIDE, 3)], ((3, WIDE),)),
    (lambda x: x.reshape(-1), [(2, WIDE)], ((2 * WIDE,),)),
    (lambda x, y: np.broadcast_arrays(x, y)[1], [(4, 1), (WIDE,)], ((4, WIDE),)),
    (lambda x: np.lib.stride_tricks.sliding_window_view(x, 3), [(WIDE,)], ((WIDE - 2, 3),)),
    (lambda x: np.array_split(x, 4), [(WIDE,)], ((WIDE // 4,),) * 4),
]


@pytest.mark.parametrize(("function", "shapes", "expected"), VIEWS)
def test_views_of_large_arrays(function, shapes, expected):
    """Functions of NumPy that make views are called with sizes that no memory holds."""
    assert Function(function)(Call(tuple([Input(shape) for shape in shapes]))) == expected


COMPUTE = [
    lambda x: x + 1,
    lambda x: np.sum(x),
    lambda x: x.mean(axis=0),
    lambda x: x[: 1 + int(x.any())],
    lambda x: x.copy(),
    lambda x: np.ascontiguousarray(x)[::2],
    lambda x: np.concatenate([x, x]),
    lambda x: np.where(x),
    lambda x: np.argmax(x),
    lambda x: np.zeros(x.shape),
    lambda x: x.ravel()[:1],
]


@pytest.mark.parametrize("function", COMPUTE)
def test_elements_of_large_arrays_are_not_read(function):
    """Functions that compute elements, or copy, are called up to a fixed number of elements."""
    calls = []

    def counted(x):
        calls.append(x.size)
        return function(x)

    reference = Function(counted)
    reference(Call((Input((2, ALLOCATED // 2)),)))
    with pytest.raises(Untested, match="elements"):
        reference(Call((Input((2, WIDE)),)))
    assert max(calls) == ALLOCATED


def test_refused_when_watched_is_not_remembered():
    """Calls that are refused for lowered sizes may be views for others."""
    reference = Function(lambda x, start: x[start:] if start <= x.shape[0] - 20 else x[::0])
    with pytest.raises(Untested):
        reference(Call((Input((WIDE,)), 100)))
    assert reference(Call((Input((WIDE,)), 1))) == ((WIDE - 1,),)


def test_calls_left_out_are_counted_with_their_reason() -> None:
    """A rule that is wrong only where its reference would allocate passes, and its report says so."""

    def twice(env, x):
        env.require(len(x) == 1, "expected one axis")
        return (x[0] * 2 if x[0] <= WIDE else 0,)

    def concatenated(x):
        if x.ndim != 1:
            raise ValueError("expected one axis")
        return np.concatenate([x, x])

    report = check_rule(twice, concatenated)
    ((reason, (count, least)),) = report.left_out.items()
    assert report.untested == count > 0 and least > ALLOCATED // 2
    assert f"{count} not tested ({reason})" in str(report) and "computes elements" in reason
    assert f"with integers of {least} or more, not tested: {reason}" in report.details()
    assert f"{count} not tested" in report._repr_html_() and str(least) in report._repr_html_()
