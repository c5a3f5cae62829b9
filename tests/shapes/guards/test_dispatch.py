"""A dispatch finds the variant that asking each in turn would find."""

from __future__ import annotations

import random
import threading
import timeit
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shapes.env import ShapeEnv
from shapes.guards.arguments import Prologue, Source
from shapes.guards.codegen import Check, compile_check
from shapes.guards.decision_tree import Attempts, Required, Table, Tree, grow
from shapes.guards.dispatch import Dispatch
from solver.decide.verdict import Always, Depends, Never
from solver.errors import ShapeError
from tests.effort import examples
from tests.shapes.guards.propositions import NAMES, edge_values, propositions, written


def check_of(texts: Sequence[str], names: Sequence[str] = NAMES) -> Check:
    requirements, symbols = written(texts, names)
    return compile_check(requirements, symbols, {name: i for i, name in enumerate(names)})


def dispatch_of(variants: Sequence[Sequence[str]], names: Sequence[str] = NAMES) -> Dispatch[int]:
    dispatch: Dispatch[int] = Dispatch(names)
    for number, texts in enumerate(variants):
        dispatch.add(check_of(texts, names), number)
    return dispatch


def first_of(dispatch: Dispatch[int], *arguments: object) -> int | None:
    """The oracle: the variants one by one, in order."""
    return next((entry.value for entry in dispatch.entries if entry.check(*arguments)), None)


SIZES = st.one_of(st.integers(-3, 70), st.sampled_from([0, 1, 2**31, 2**63, 2**200, -(2**63)]))
SIMPLE = st.one_of(
    st.builds(
        "{} {} {}".format,
        st.sampled_from(NAMES),
        st.sampled_from(["==", ">=", "<=", "!=", "<", ">"]),
        st.integers(-1, 40),
    ),
    st.builds(
        "{} % {} {} 0".format, st.sampled_from(NAMES), st.sampled_from([2, 3, 16, "b"]), st.sampled_from(["==", "!="])
    ),
    st.builds(
        "{}*{} {} {}".format,
        st.sampled_from(NAMES),
        st.sampled_from(NAMES),
        st.sampled_from(["==", "<="]),
        st.integers(0, 99),
    ),
)


@settings(max_examples=examples(120), deadline=None)
@given(
    st.lists(st.lists(SIMPLE, max_size=4), max_size=12),
    st.lists(st.tuples(SIZES, SIZES, SIZES), min_size=20, max_size=40),
)
def test_tree_finds_what_a_scan_finds(variants: list[list[str]], calls: list[tuple[int, ...]]) -> None:
    """A failure: a call runs a variant that was compiled for other sizes, or misses the one that fits."""
    dispatch = dispatch_of(variants)
    for call in calls:
        assert dispatch.lookup(*call) == first_of(dispatch, *call), dispatch.source


@settings(max_examples=examples(50), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(st.lists(propositions(), min_size=2, max_size=5), st.lists(edge_values(), min_size=10, max_size=20))
def test_tree_finds_what_a_scan_finds_for_any_guards(variants: list[list[str]], calls: list[tuple[int, ...]]) -> None:
    """A failure: a guard with an operation that the tree does not understand is taken for another."""
    dispatch = dispatch_of(variants)
    for call in calls:
        assert dispatch.lookup(*call) == first_of(dispatch, *call), dispatch.source


FAMILIES = {
    "buckets": [[f"a >= {16 * k}", f"a <= {16 * k + 15}", "a*b <= 10**6", "b % 8 == 0"] for k in range(64)],
    "gaps": [[f"a >= {10 * k}", f"a <= {10 * k + 8}"] for k in range(64)],
    "static": [[f"a == {k}", f"b == {2 * k}", "c == 64"] for k in range(64)],
    "residues": [[f"a % 64 == {k}", "b >= 2"] for k in range(64)],
    "grid": [
        [f"a >= {8 * i}", f"a < {8 * i + 8}", f"b >= {8 * j}", f"b < {8 * j + 8}"] for i in range(8) for j in range(8)
    ],
    "static, then general": [*[[f"a == {k}", f"b == {k % 7}"] for k in range(63)], ["a >= 0"]],
    "products": [[f"a*b >= {100 * k}", f"a*b < {100 * k + 100}"] for k in range(64)],
    "divisible or not": [
        [f"a % {k} {sign} 0", f"b == {i}"] for i in range(16) for k in (16, 3) for sign in ("==", "!=")
    ],
}


def depth(tree: Tree) -> int:
    """The depth of the tree: the most tests that lead to a leaf."""
    match tree:
        case Attempts():
            return 0
        case Required(then=then):
            return depth(then)
        case Table(branches=branches, otherwise=otherwise):
            return 1 + max([depth(branch) for branch in [*branches.values(), otherwise]])
        case _:
            return 1 + max(depth(tree.then), depth(tree.otherwise))


@pytest.mark.parametrize("family", FAMILIES)
def test_sixty_four_variants_are_told_apart_by_few_tests(family: str) -> None:
    """A failure: the cost of a call grows with the number of variants."""
    dispatch = dispatch_of(FAMILIES[family])
    tree = grow(dispatch.operations, [entry.variant for entry in dispatch.entries])
    assert depth(tree) <= 7
    for a in range(0, 1100, 7):
        for b in (0, 1, 8, 2 * a, a % 7, 63):
            assert dispatch.lookup(a, b, 64) == first_of(dispatch, a, b, 64)


def test_cost_is_nearly_flat() -> None:
    """A failure: 64 variants cost several times what one does (a generous bound: this is a shared machine)."""

    def cost(count: int) -> float:
        dispatch = dispatch_of(FAMILIES["buckets"][:count])
        calls = [(16 * (k % count) + 3, 8, 64) for k in range(64)]
        assert all(dispatch.lookup(*call) is not None for call in calls)
        lookup = dispatch.lookup
        return min(timeit.repeat(lambda: [lookup(*call) for call in calls], number=20, repeat=15))

    assert cost(64) < 3 * cost(1)


class Tensor:
    def __init__(self, dtype: object, *shape: int) -> None:
        self.dtype, self.shape, self.ndim = dtype, shape, len(shape)


def test_opaque_tests_and_arguments_of_different_structure() -> None:
    """A failure: a variant for another dtype or rank is found, or a missing size is an exception."""
    dispatch: Dispatch[str] = Dispatch(["x", "y"])
    for dtype in ("f32", "f64", "i64", "u8", "bool"):
        for rank in (1, 2, 3):
            requirements, symbols = written([f"s{rank - 1} % 4 == 0"], [f"s{i}" for i in range(rank)])
            check = compile_check(
                requirements, symbols, {f"s{i}": ("x", ".shape", i) for i in range(rank)}, arguments=("x",)
            )
            dispatch.add(check, f"{dtype}, {rank}", tests={("x", ".dtype"): dtype, ("x", ".ndim"): rank})
    requirements, symbols = written(["n >= 9"], ["n"])
    dispatch.add(compile_check(requirements, symbols, {"n": ("y", 0)}), "any x")
    assert dispatch.lookup(Tensor("f32", 8), None) == "f32, 1"
    assert dispatch.lookup(Tensor("bool", 1, 2, 8), None) == "bool, 3"
    assert dispatch.lookup(Tensor("bool", 1, 2, 9), None) is None
    assert dispatch.lookup(Tensor("f16", 1, 2, 8), None) is None
    assert dispatch.lookup(Tensor("f32", 1, 2, 3, 8), None) is None
    assert dispatch.lookup(None, (9,)) == "any x"
    assert dispatch.lookup(Tensor([], 8), [10]) == "any x"  # a value without a hash
    assert dispatch.lookup(None, None) is None
    tree = grow(dispatch.operations, [entry.variant for entry in dispatch.entries])
    assert 2 <= depth(tree) <= 4  # the one that needs no dtype does not make the others a scan


def test_structure_alone_tells_variants_apart() -> None:
    """A failure: a call with fewer sizes than some variant reads is an exception or a miss."""
    dispatch: Dispatch[int] = Dispatch(["x"])
    for rank in (3, 2, 1):
        for size in (4, 8, 16):
            requirements, symbols = written([f"s{rank - 1} == {size}"], [f"s{i}" for i in range(rank)])
            dispatch.add(
                compile_check(requirements, symbols, {f"s{i}": ("x", i) for i in range(rank)}), 100 * rank + size
            )
    for shape in [(4,), (1, 8), (1, 1, 16), (1, 1, 16, 5), (8, 1), (), (5, 5, 5)]:
        assert dispatch.lookup(shape) == first_of(dispatch, shape)


@pytest.mark.parametrize("seed", range(60))
def test_any_mixture_of_structures(seed: int) -> None:
    """A failure: variants of different ranks, arguments and opaque tests get into each other's way."""
    drawn = random.Random(seed)
    dispatch: Dispatch[int] = Dispatch(["x", "y"])
    for number in range(drawn.randint(1, 14)):
        names = [f"s{i}" for i in range(drawn.randint(1, 3))]
        facts = [
            f"{name} {sign} {k}" for name in names for sign in ("==", ">=", "<=", "!=", "% 2 ==") for k in range(5)
        ]
        requirements, symbols = written(drawn.sample(facts, drawn.randint(0, 3)), names)
        argument = drawn.choice("xy")
        check = compile_check(requirements, symbols, {name: (argument, ".shape", i) for i, name in enumerate(names)})
        paths = drawn.sample([("x", ".dtype"), ("x", ".ndim"), ("y", ".dtype")], drawn.randint(0, 2))
        dispatch.add(check, number, tests={path: drawn.choice(["a", "b", 1, 2]) for path in paths})

    def argument_of() -> Tensor | None:
        if drawn.random() < 0.2:
            return None
        shape = [drawn.randint(0, 5) for _ in range(drawn.randint(0, 4))]
        return Tensor(drawn.choice(["a", "b", 1, 2, []]), *shape)

    for _ in range(30):
        arguments = {"x": argument_of(), "y": argument_of()}
        accepted = []
        for entry in dispatch.entries:
            tested = [
                getattr(arguments[str(path[0])], str(path[1])[1:], _Missing) == value
                for path, value in entry.tests.items()
            ]
            own = [arguments[name] for name in entry.check.plan.arguments.names]
            accepted.append(all(tested) and entry.check(*own))
        assert dispatch.lookup(**arguments) == (accepted.index(True) if True in accepted else None), dispatch.source
        assert [outcome.holds for _, outcome in dispatch.explain(*arguments.values())] == accepted


class _Missing:
    """The value of an argument without the attribute."""


def test_first_added_wins() -> None:
    """A failure: which of two overlapping variants runs depends on the shape of the tree."""
    dispatch = dispatch_of([["a >= 0"], ["a == 5"], *[[f"a == {k}"] for k in range(-20, 0)]])
    assert dispatch.lookup(5, 0, 0) == 0
    assert dispatch.lookup(-3, 0, 0) == 19


def test_values_may_be_anything() -> None:
    """A failure: a variant whose value is None, unhashable or compares strangely is not found."""
    values = [[], {}, object(), float("nan"), 0, False, ""]
    dispatch: Dispatch[object] = Dispatch(NAMES)
    for number, value in enumerate(values):
        dispatch.add(check_of([f"a == {number}"]), value)
    assert all(dispatch.lookup(number, 0, 0) is value for number, value in enumerate(values))


def test_adding_after_a_lookup() -> None:
    """A failure: a variant that was compiled after the first call is never found."""
    dispatch: Dispatch[int] = Dispatch(NAMES)
    assert dispatch.lookup(1, 2, 3) is None
    for number in range(20):
        dispatch.add(check_of([f"a == {number}"]), number)
        assert dispatch.lookup(number, 0, 0) == number and dispatch.lookup(number + 1, 0, 0) is None


def test_arguments_by_name_and_by_position() -> None:
    """A failure: the sizes of a variant are read from the wrong arguments."""
    dispatch: Dispatch[str] = Dispatch(["x", "y"])
    requirements, symbols = written(["s >= 2*t"], ["s", "t"])
    dispatch.add(compile_check(requirements, symbols, {"t": ("x", 0), "s": ("y", 0)}), "named")
    dispatch.add(compile_check(requirements, symbols, {"s": (0, 0), "t": (1, 0)}), "counted")
    dispatch.add(compile_check(requirements, symbols, {"t": ("y", 1), "s": ("y", 0)}), "only y")
    assert [dispatch.lookup((3,), y) for y in [(7,), (1,), (4, 2), (4, 3)]] == ["named", "counted", "only y", None]
    assert dispatch.lookup(y=(7,), x=(3,)) == "named"


def test_threads_that_add_and_look_up() -> None:
    """A failure: a variant that was added while another thread made the tree is never found."""
    dispatch: Dispatch[int] = Dispatch(NAMES)
    checks = [check_of([f"a == {number}", "b >= 0"]) for number in range(60)]
    stop = threading.Event()

    def look_up() -> None:
        while not stop.is_set():
            for number in range(60):
                assert dispatch.lookup(number, 1, 1) in (None, number)

    with ThreadPoolExecutor(2) as pool:
        looking = pool.submit(look_up)
        for number, check in enumerate(checks):
            dispatch.add(check, number)
            assert dispatch.lookup(number, 1, 1) == number
        stop.set()
        looking.result(timeout=600)


def test_explain_says_why_each_variant_does_not_fit() -> None:
    """A failure: nobody can tell why a call needs a new variant."""
    dispatch: Dispatch[str] = Dispatch(["x"])
    requirements, symbols = written(["s % 16 == 0"], ["s"])
    check = compile_check(requirements, symbols, {"s": ("x", ".shape", 0)})
    dispatch.add(check, "float", tests={("x", ".dtype"): "f32"})
    dispatch.add(check, "any")
    said = {value: str(explanation) for value, explanation in dispatch.explain(Tensor("f64", 5))}
    assert said == {"float": "x.dtype is 'f64', not 'f32'", "any": "guard `s % 16 == 0` fails at s=5"}
    assert [explanation.holds for _, explanation in dispatch.explain(Tensor("f32", 32))] == [True, True]
    assert str(dispatch.explain(None)[0][1]) == "the arguments have no x.dtype"


def test_errors_name_what_is_wrong() -> None:
    """A failure: a variant over other arguments is accepted, and reads the wrong ones."""
    dispatch: Dispatch[int] = Dispatch(["x"])
    requirements, symbols = written(["s % 16 == 0"], ["s"])
    with pytest.raises(ShapeError, match="a check of z does not fit a dispatch over x"):
        dispatch.add(compile_check(requirements, symbols, {"s": ("z", 0)}), 0)
    check = compile_check(requirements, symbols, {"s": ("x", 0)})
    with pytest.raises(ShapeError, match="the arguments are x"):
        dispatch.add(check, 0, tests={("z", ".dtype"): 1})
    with pytest.raises(ShapeError, match="is a size"):
        dispatch.add(check, 0, tests={("x", 0): 1})
    with pytest.raises(ShapeError, match="not equal to itself"):
        dispatch.add(check, 0, tests={("x", ".scale"): float("nan")})
    with pytest.raises(ShapeError, match="hashable value"):
        dispatch.add(check, 0, tests={("x", ".scale"): []})  # type: ignore[dict-item]
    with pytest.raises(ShapeError, match="the inputs are"):
        dispatch.coverage({"z": (0, 1)})
    assert dispatch.entries == [] and dispatch.lookup((16,)) is None
    dispatch.add(check, 0)
    other = compile_check(requirements, symbols, {"s": ("x", 1)})
    with pytest.raises(ShapeError, match="is a size"):
        dispatch.add(other, 1, tests={("x", 0): 1})


@pytest.mark.parametrize(
    ("variants", "missed"),
    [
        ([["a <= 15"], ["a >= 16"]], False),
        ([["a <= 15"], ["a >= 17"]], True),
        ([["a % 2 == 0"], ["a % 2 == 1"]], False),
        ([["a % 3 == 0"], ["a % 3 == 2"], ["b == 4"]], True),
        ([["b != 0", "a % b == 0"], ["b != 0", "a % b != 0"]], True),
        ([["b != 0", "a % b == 0"], ["b != 0", "a % b != 0"], ["b == 0"]], False),
        ([["a % b == 0"], ["a % b != 0"], ["b <= 0"]], False),
        ([["a // b >= 0"]], True),
        ([["max(a, b) >= 9"], ["a <= 8 and b <= 8"]], False),
        ([["(a if a > b else b) >= 9"], ["abs(a - b) <= 8 and b <= 8"]], False),
        ([["1 << a >= 1"]], False),
        ([], True),
    ],
)
def test_coverage(variants: list[list[str]], missed: bool) -> None:
    """A failure: a set of variants is called complete while some sizes fit none, or the sizes shown do fit one."""
    dispatch = dispatch_of(variants)
    match dispatch.coverage():
        case Always():
            assert not missed
            calls = [(a, b, c) for a in range(12) for b in range(12) for c in (0, 5)]
            assert all(dispatch.lookup(*call) is not None for call in calls)
        case Depends(false_at=sizes):
            assert missed and dispatch.lookup(*[sizes.get(name, 0) for name in NAMES]) is None
        case answer:
            assert missed and isinstance(answer, Never)


def test_coverage_within_ranges_and_tests() -> None:
    """A failure: sizes or dtypes that were not asked about count, or those that were do not."""
    dispatch: Dispatch[int] = Dispatch(["x"])
    requirements, symbols = written(["n >= 1", "n <= 64"], ["n"])
    check = compile_check(requirements, symbols, {"n": ("x", ".shape", 0)})
    dispatch.add(check, 0, tests={("x", ".dtype"): "f32"})
    assert isinstance(dispatch.coverage({"x.shape[0]": (1, 64)}, tests={("x", ".dtype"): "f32"}), Always)
    assert isinstance(dispatch.coverage({"x.shape[0]": (1, 65)}, tests={("x", ".dtype"): "f32"}), Depends)
    assert isinstance(dispatch.coverage({"x.shape[0]": (1, 64)}, tests={("x", ".dtype"): "f64"}), Never)


class Strided:
    """Something whose sizes are an attribute and whose strides are a call."""

    def __init__(self, size: int, stride: int) -> None:
        self.size = size
        self._stride = stride

    def stride(self) -> tuple[int, ...]:
        return (self._stride,)


def test_arguments_inside_of_a_call() -> None:
    """A failure: a lookup that opens its arguments itself reads them elsewhere, or does not leave where it should."""
    prologue = Prologue(
        ("call",),
        ("if len(call) != 2:", "    return default", "x, y = call", "size_of_x = x.size"),
        {("x", ".size"): "size_of_x"},
        {},
    )
    dispatch: Dispatch[str] = Dispatch(["x", "y"], prologue=prologue)
    for bound, value in (("n <= 8", "small"), ("n >= 9 and n == 2*m", "large")):
        requirements, symbols = written([bound], ["n", "m"])
        sources: dict[str, Source | list[Source]] = {"n": ("x", ".size"), "m": ("y", ".stride()", 0)}
        dispatch.add(compile_check(requirements, symbols, sources), value, tests={("x", ".__class__"): Strided})
    assert dispatch.lookup((Strided(3, 1), Strided(1, 5))) == "small"
    assert dispatch.lookup((Strided(10, 1), Strided(1, 5))) == "large"
    assert dispatch.lookup((Strided(10, 1), Strided(1, 6))) is None
    assert dispatch.lookup((Strided(10, 1),)) is None
    values = {"x": Strided(10, 1), "y": Strided(1, 5)}
    assert dispatch.entries[1].check.plan.explain(values).holds
    assert dispatch.failed_tests(dispatch.entries[0], {"x": 3, "y": 3})[0] == (("x", ".__class__"), int, Strided)
    assert isinstance(dispatch.coverage(), Never)


def test_what_is_known_of_every_input_is_not_tested() -> None:
    """A failure: a check tests what holds of every size there is, or leaves out more than that."""
    env = ShapeEnv(origin=lambda: None)
    for name, lo, hi in (("a", 1, 2**63 - 1), ("b", 0, 2**63 - 1), ("c", 5, 5), ("d", 0, 64)):
        env.symbol(name, lo=lo, hi=hi)
    known = dict.fromkeys("abcd", (0, 2**63 - 1))
    check = env.compile_guards({name: place for place, name in enumerate("abcd")}, known=known)
    assert "a >= 1" in check.source and "c == 5" in check.source and "d <= 64" in check.source
    assert "b" not in check.source.partition("):")[2] and str(2**63 - 1) not in check.source
    assert check(1, 0, 5, 64) and not check(0, 0, 5, 64) and not check(1, 0, 4, 64) and not check(1, 0, 5, 65)
