"""A rule against an operator: bugs are found, the counterexample is the smallest, and the test to paste fails too."""

import textwrap

import pytest
from hypothesis import strategies as st

from shapes.errors import ShapeError
from shapes.rules import rule, rules
from shapes.rules.registry import Rule
from shapes.testing import Call, Input, check_call, check_rule, shapes
from shapes.testing.checking import NothingAccepted, RuleDisagrees
from shapes.testing.references.functions import Function, vocabulary_of
from shapes.testing.signatures import kinds_of

np = pytest.importorskip("numpy")


def windows(x, size, step=1):
    """The operator: NumPy's windows along the last axis."""
    return np.lib.stride_tricks.sliding_window_view(x, size, axis=-1)[..., ::step, :]


def test_the_example_of_the_documentation():
    """The example of the documentation works as it stands."""

    @rule("mylib.window")
    def window(env, x, size, step=1):
        env.require(size <= x[-1], "window is longer than the axis")
        return (*x[:-1], (x[-1] - size) // step + 1, size)

    try:
        assert isinstance(window, Rule)
        check_rule(window, windows)
        check_rule("mylib.window", windows)
        check_rule(window, windows, x=shapes(rank=(1, 2)), size=st.integers(0, 9), step=st.integers(1, 5))
    finally:
        del rules._rules["mylib.window"]


def off_by_one(env, x, size, step=1):
    env.require(size <= x[-1], "window is longer than the axis")
    return (*x[:-1], (x[-1] - size) // step, size)


def too_strict(env, x, size, step=1):
    env.require(size < x[-1], "window is longer than the axis")
    return (*x[:-1], (x[-1] - size) // step + 1, size)


def accepts_all(env, x, size, step=1):
    return (*x[:-1], (x[-1] - size) // step + 1, size)


def rounds_up(env, x, size, step=1):
    env.require(size <= x[-1], "window is longer than the axis")
    return (*x[:-1], -((size - x[-1]) // step) + 1, size)


def forgets_step(env, x, size, step=1):
    env.require(size <= x[-1], "window is longer than the axis")
    return (*x[:-1], x[-1] - size + 1, size)


def swapped(env, x, size, step=1):
    env.require(size <= x[-1], "window is longer than the axis")
    return (*x[:-1], size, (x[-1] - size) // step + 1)


def pins(env, x, size, step=1):
    if x[-1] < size:
        env.require(False, "window is longer than the axis")
    return (*x[:-1], int(x[-1]) - size + 1 if step == 1 else (x[-1] - size) // step + 2, size)


def crashes(env, x, size, step=1):
    env.require(size <= x[-1], "window is longer than the axis")
    return (*x[:-1], (x[-1] - size) // step + 1, {0: 0, 1: 1, 2: 2}[size])


@pytest.mark.parametrize(
    ("bad", "smallest", "expected", "found"),
    [
        (off_by_one, ((0,), 0, 1), ((1, 0),), ((0, 0),)),
        (too_strict, ((0,), 0, 1), ((1, 0),), None),
        (accepts_all, ((0,), 1, 1), None, ((0, 1),)),
        (rounds_up, ((1,), 0, 2), ((1, 0),), ((2, 0),)),
        (forgets_step, ((1,), 0, 2), ((1, 0),), ((2, 0),)),
        (swapped, ((0,), 0, 1), ((1, 0),), ((0, 1),)),
        (pins, ((0,), 0, 2), ((1, 0),), ((2, 0),)),
        (crashes, ((0,), 3, 1), None, None),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_planted_bugs_are_found_at_the_smallest_sizes(bad, smallest, expected, found):
    """Planted bugs are found at the smallest sizes."""
    with pytest.raises(RuleDisagrees) as raised:
        check_rule(bad, windows)
    disagreement = raised.value.disagreement
    sizes, size, step = smallest
    assert disagreement.call.args == (Input(sizes), size, step)
    assert (disagreement.expected, disagreement.found) == (expected, found)
    lines = str(raised.value).partition("as a test:\n\n")[2]
    names = {bad.__name__: bad}
    exec(textwrap.dedent(lines), names)
    (test,) = [value for name, value in names.items() if name.startswith("test_")]
    with pytest.raises(RuleDisagrees):
        test()


def test_a_failing_rule_is_told_from_one_that_refuses():
    """An error of a rule is told from a refusal."""
    with pytest.raises(RuleDisagrees, match="fails with KeyError: 3") as raised:
        check_rule(crashes, windows)
    assert isinstance(raised.value.disagreement.crash, KeyError)
    assert isinstance(raised.value.__cause__, KeyError)


def test_a_rule_that_needs_the_values_is_found_on_symbols():
    """A rule that only works on numbers is found on symbols."""

    def halves(env, x):
        if x[0] % 2 == 0:
            return (x[0] // 2,)
        return (x[0] // 2 + 1,)

    def half(x):
        return x[::2] if x.ndim == 1 else None

    check_call(halves, Call((Input((3,)),)), ((2,),))  # undecided symbols get hints: then it only specializes

    def table(env, x):
        return ([0, 1, 1, 2, 2, 3, 3, 4][x[0]],)

    with pytest.raises(RuleDisagrees, match=r"fails with IndexError|on symbols"):
        check_rule(table, half, x=shapes(rank=1, size=(0, 12)))


def test_nothing_accepted_is_no_agreement():
    """A check in which nothing is accepted does not pass."""

    def refuses(env, x):
        env.require(False, "no")

    def broken(x):
        raise ValueError("broken")

    with pytest.raises(NothingAccepted, match="ValueError: broken"):
        check_rule(refuses, broken)


def test_a_reference_may_take_calls():
    """A reference may take calls."""

    def reference(call):
        x, dims = call.args
        sizes = [x[dim] for dim in dims] if sorted(dims) == list(range(len(x))) else None
        return None if sizes is None else (tuple(sizes),)

    def permute(env, x, dims: tuple[int, ...]):
        env.require(sorted(dims) == list(range(len(x))), "no permutation")
        return tuple(x[dim] for dim in dims)

    check_rule(permute, reference)
    with pytest.raises(RuleDisagrees):
        check_rule(lambda env, x, dims: tuple(x), reference, dims=st.permutations((0, 1)).map(tuple))


def test_operators_of_numpy_and_lists_of_arrays():
    """Signatures with several arrays, or with axes, are drawn from."""

    def concatenate(env, arrays, axis: int = 0):
        first, *rest = arrays
        env.require(bool(first), "no axes")
        env.require(-len(first) <= axis < len(first), "no such axis")
        axis %= len(first)
        for other in rest:
            env.require(len(other) == len(first), "ranks differ")
            for place, (a, b) in enumerate(zip(first, other)):
                if place != axis:
                    env.require(a == b, "sizes differ")
        return tuple(sum([each[axis] for each in arrays]) if i == axis else size for i, size in enumerate(first))

    check_rule(concatenate, np.concatenate)

    def outer(env, a, b):
        product = lambda sizes: __import__("math").prod(sizes)  # noqa: E731
        return (product(a), product(b))

    check_rule(outer, np.outer)
    with pytest.raises(RuleDisagrees):
        check_rule(lambda env, a, b: (a[0], b[0]), np.outer)


def test_kinds_of_parameters():
    """Parameters are drawn as what the rule takes."""

    def f(env, query, key=None, *, dim: int = -1, keepdim=False, scale: float = 1.0, mode="full", pads=(0, 0)): ...

    assert kinds_of(Rule("f", f)) == {
        "query": "shape", "key": "default", "dim": "dim", "keepdim": "bool", "scale": "float", "mode": "default",
        "pads": "ints",
    }  # fmt: skip

    def g(env, p, q):
        return (p[0] + q,)

    assert kinds_of(Rule("g", g)) == {"p": "shape", "q": "int"}


def test_arguments_that_the_rule_does_not_take():
    """A misspelled strategy is an error."""
    with pytest.raises(ShapeError, match="sizee: off_by_one takes x, size, step"):
        check_rule(off_by_one, windows, sizee=st.integers())


def test_whose_arrays():
    """A function of torch is called with tensors."""
    torch = pytest.importorskip("torch")
    functions = [torch.cat, torch.nn.functional.conv2d, torch.Tensor.add, lambda x: torch.relu(x)]
    assert [vocabulary_of(function) for function in functions] == ["torch"] * 4
    assert [vocabulary_of(function) for function in (np.sum, windows)] == ["numpy"] * 2
    assert Function(torch.flatten)(Call((Input((2, 3)),))) == ((6,),)

    def window(env, x, size, step=1):
        env.require(len(x) >= 1 and step >= 1, "")
        env.require(size <= x[-1], "window is longer than the axis")
        return (*x[:-1], (x[-1] - size) // step + 1, size)

    check_rule(window, lambda x, size, step: x.unfold(-1, size, step), tensors="torch", x=shapes(rank=(1, 3)))
