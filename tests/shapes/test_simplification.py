"""Simpler, and equal: expressions under facts, intermediates of machines, other environments' propositions, whole
inputs."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shapes import Always, Depends, Never, ShapeEnv, ShapeError, sym_max
from shapes.errors import ForeignSymbol
from solver.syntax.printer import operators
from tests.effort import examples

FACTS = ["s % 16 == 0", "b <= 8", "b == 2 * c", "s >= 32", "c + 1 <= s"]
LEAVES = ["b", "s", "c", "7", "16", "3"]
OPERATIONS = [
    "({} + {})",
    "({} * {})",
    "({} - {})",
    "({} // 16)",
    "({} % 8)",
    "max({}, {})",
    "min({}, {})",
    "({} if {} >= 5 else {})",
]


def expressions() -> st.SearchStrategy[str]:
    def larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        return st.builds(str.format, st.sampled_from(OPERATIONS), inner, inner, inner)

    return st.recursive(st.sampled_from(LEAVES), larger, max_leaves=5)


def points(facts: list[str]) -> list[dict[str, int]]:
    found = []
    for b, s, c in itertools.product(range(13), range(0, 100, 4), range(9)):
        point = {"b": b, "s": s, "c": c}
        if all(eval(fact, {}, point) for fact in facts):
            found.append(point)
    return found


@settings(max_examples=examples(60))
@given(expressions(), st.sets(st.sampled_from(FACTS)))
def test_simplified_is_equal_and_never_longer(text: str, chosen: set[str]) -> None:
    """A simplified expression is equal and never longer."""
    facts = sorted(chosen)
    env = ShapeEnv(solvers=False)
    env.sizes("b s c")
    for fact in facts:
        env.assume(fact)
    simple = env.simplify(text)
    if not isinstance(simple, int):
        assert operators(simple.expr) <= operators(env.expression(text))
    for point in points(facts)[::7]:
        assert eval(str(simple), {"ceildiv": lambda a, b: -(-a // b)}, point) == eval(text, {}, point), point


@pytest.mark.parametrize(
    ("text", "facts", "expected"),
    [
        ("max(s, 12)", ["s >= 32"], "s"),
        ("min(b, 8)", ["b <= 8"], "b"),
        ("s % 8", ["s % 16 == 0"], "0"),
        ("s // 16 * 16", ["s % 16 == 0"], "s"),
        ("(s + 15) // 16", ["s % 16 == 0"], "s//16"),
        ("(b * s + 5) // 16", ["s % 16 == 0"], "b*(s//16)"),
        ("b + b // 9", ["b <= 8"], "b"),
        ("s + (1 if b > 8 else 0)", ["b <= 8"], "s"),
        ("b - c", ["b == 2 * c"], "c"),
        ("b * s", [], "b*s"),
    ],
)
def test_known_simplifications(text: str, facts: list[str], expected: str) -> None:
    """Facts are used to simplify."""
    env = ShapeEnv(solvers=False)
    env.sizes("b s c", lo=1)
    for fact in facts:
        env.assume(fact)
    simple = env.expression(env.simplify(text))
    assert operators(simple) <= operators(env.expression(expected)), simple
    assert isinstance(env.ask(f"({simple}) == ({expected})"), Always)


def test_intermediates_of_machine_integers() -> None:
    """No intermediate of an expression overflows machine integers."""
    env = ShapeEnv()
    b, s = (env.symbol(name, lo=0, hi=2**20) for name in ("b", "s"))
    n = env.symbol("n", lo=0, hi=2**31 - 1)
    assert isinstance(env.fits(b, 32), Always) and isinstance(env.fits(b * s, 64), Always)
    verdict = env.fits("b * s // 1048576", 32)
    assert isinstance(verdict, Depends)
    assert verdict.false_at["b"] * verdict.false_at["s"] >= 2**31 > verdict.true_at["b"] * verdict.true_at["s"]
    assert isinstance(env.fits("(n + 1) - 1", 32), Depends), "as written, n + 1 comes first"
    assert isinstance(env.fits(n + 1 - 1, 32), Always)
    assert isinstance(env.fits(n + b * 0, 31), Depends)
    assert isinstance(env.fits("n - 2147483648 - 2147483648", 32), Never)
    assert isinstance(env.fits("(n + 1 if n < 9 else n)", 32), Always), "only the side that is taken counts"
    assert isinstance(env.fits(sym_max(n, b), 32), Always)
    assert isinstance(env.fits("1 << b", 64), Depends)
    assert isinstance(env.fits("-(n + 1)", 32), Depends), "-2**31 fits, 2**31 on the way does not"
    with pytest.raises(ShapeError, match="bits"):
        env.fits(n, 0)


def test_propositions_of_another_environment() -> None:
    """Propositions of another environment are compared by the right sizes."""
    there, here = ShapeEnv(), ShapeEnv()
    r, c = there.sizes("rows columns")
    b, s = here.sizes("b s", lo=1)
    here.assume("s % 8 == 0")
    asked = (r * c) % 16 == 0
    moved = here.translate(asked, {"rows": 2 * b, "columns": s})
    assert isinstance(here.ask(moved), Always)
    nested = there.ask(sym_max(r // c, (c % 7) * r) >= 1)
    assert isinstance(nested, Depends)
    again = here.translate(sym_max(r // c, (c % 7) * r) >= 1, {"rows": b, "columns": s})
    assert str(again) == "max(b//s, b*(s % 7)) >= 1"
    assert isinstance(here.translate("rows >= 1 and rows < columns", {"rows": b, "columns": b + 1}).prop, object)
    assert isinstance(here.ask(here.translate("rows < columns", {"rows": b, "columns": b + 1})), Always)
    with pytest.raises(ForeignSymbol, match="columns"):
        here.translate(asked, {"rows": b})
    fork = here.fork()
    assert isinstance(fork.ask(fork.translate(s % 4 == 0, {})), Always), "a fork shares its symbols"


@pytest.mark.parametrize(
    ("sizes", "strides", "expected"),
    [
        ((4, 128), None, ("max(s1, 1)", "1")),
        ((4, 128), (128, 1), ("max(s1, 1)", "1")),
        ((4, 128), (1, 4), ("1", "max(s0, 1)")),
        ((4, 128), (256, 1), ("x_stride0", "1")),
        ((4, 128), (0, 1), ("0", "1")),
        (
            (2, 3, 5, 7),
            (105, 1, 21, 3),
            ("max(s1, 1)*max(s2, 1)*max(s3, 1)", "1", "max(s1, 1)*max(s3, 1)", "max(s1, 1)"),
        ),
        ((3,), (2,), ("x_stride0",)),
        ((), (), ()),
    ],
)
def test_strides_of_an_input_through_its_sizes(
    sizes: tuple[int, ...], strides: tuple[int, ...] | None, expected: tuple[str, ...]
) -> None:
    """Strides of a contiguous input are expressed through its sizes, those of a transposed one are not."""
    env = ShapeEnv()
    x = env.input("x", sizes, strides, dims=[f"s{axis}" for axis in range(len(sizes))])
    assert [str(size) for size in x.sizes] == [f"s{axis}" for axis in range(len(sizes))]
    for stride, text in zip(x.strides, expected, strict=True):
        assert isinstance(env.ask(f"({stride}) == ({text})"), Always)
    assert str(x.storage_offset) == "x_offset"
    values = {str(size): hint for size, hint in zip(x.sizes, sizes)}
    assert tuple(env.hint(stride) for stride in x.strides) == (strides or (128, 1))[: len(sizes)], values
    assert env.sources("x_stride0") == ("x.stride(0)",) if sizes else True


def test_inputs_share_named_dimensions() -> None:
    """Inputs that share named `dims` are related, and a mismatch is noticed."""
    env = ShapeEnv()
    x = env.input("x", (4, 128), dims="b s")
    y = env.input("y", (128, 64), dims="s 64")
    assert isinstance(env.ask(x.sizes[1] == y.sizes[0]), Always) and y.sizes[1] == 64
    assert env.sources("s") == ("x.shape[1]", "y.shape[0]")
    before = env.events
    with pytest.raises(ShapeError, match="b is 4"):
        env.input("z", (5,), dims="b")
    assert env.events == before
