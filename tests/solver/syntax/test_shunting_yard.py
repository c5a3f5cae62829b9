"""The reader of common comparisons says what the reader of all texts says, or leaves the text to it."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.recorded import corpus_files, sessions
from solver.errors import ParseError
from solver.syntax.parser import Reader, parse
from solver.syntax.shunting_yard import LARGEST_EXPONENT, LONGEST, read_condition, read_side
from solver.terms.depth import SHALLOW
from solver.terms.interner import Interner
from solver.terms.prop import Prop

NAMES = ("a", "b", "s", "min")  # a symbol may be called so where the caller allows it


def read_both(text: str, terms: Interner | None = None) -> tuple[tuple[Prop, Prop] | None, tuple[Prop, Prop] | None]:
    """The results of the reader of comparisons, and of that of all texts; None where they refuse."""
    terms = terms or Interner()
    names = {name: terms.symbol(name) for name in NAMES}
    reader = Reader(text, names, terms, "ieee")
    try:
        general = reader.read(reader.condition), reader.domain()
    except ParseError:
        general = None
    return read_condition(text, names, terms, {}), general


READ = [
    "a == b",
    "a < 3",
    "-a >= 0",
    "--a <= - 3",
    "a - -b != 0",
    "-a ** 2 + 3 > 0",
    "-a // 2 == -(a // 2)",
    "- a % b == 0",
    "2 * -a // 3 * b >= 1",
    "a - b // 2 * 3 % 5 < s",
    "a // b // s % 3 == 0",
    "a // (b - b) > 0",
    "a // 0 > 0",
    "a % (4 - 4) == 0",
    "7 // 2 == 3",
    "(a + b) * (a - b) == a ** 2 - b ** 2",
    "(a + 1) ** 3 // (a + 1) > 0",
    "a**0 == 1",
    "max(a, b, s) - a >= 0",
    "max(a) == a",
    "max(max(a, 1) // b, (s)) != 1",
    "max(a // b, s % a) == 0",
    "max(a, -a) ** 2 >= a ** 2",
    "4 * ((a + 3) // 4) - a <= 3",
    "  a  +b <=  3 ",
    "a+b*2 >= a*b//2",
    "(a+b)*(a -b) - -s*2 >= -(s)-1",
    "max(a,b)-1 <= max( a,-b )",
    "a\t*\nb == b * a",
    "٣ * a == 3 * a",
    "min * 2 > 3",
    "a == b and s > 0",
    "a == b or s > 0 and b < 1 or a*b == 4",
    "a == b or b == a or a != b",
    "a == 1 and a != 1 and s > 0",
    "s > 0 and s > 0",
    f"{'(' * SHALLOW}a{')' * SHALLOW} > 0",
    f"s > {'9' * 4000}",
    f"a ** {LARGEST_EXPONENT} >= 0",
]

LEFT = [
    "a",
    "a == b == s",
    "a == b == s and s > 0",
    "b == 0 or a // b == 1",
    "(a == b or s > 0) and b > 0",
    "a == b and not s > 0",
    "a == b or s",
    "a == b  or s > 0 and (b < 1)",
    "a == b or",
    "not a == b",
    "(a == b) == (s > 0)",
    "a / 2 > 1",
    "a > 2.5",
    "a * 1e-5 > 0",
    "1e -5 > a",
    "a - > b > s",
    "min >= max(a, b == s)",
    "a & 3 == 1",
    "a ** b > 0",
    "2 ** a > 0",
    "2 ** 3 > 0",
    "a ** 2 ** 2 > 0",
    f"a ** {LARGEST_EXPONENT + 1} > 0",
    f"(a + 2 ** 20000) ** {LARGEST_EXPONENT} > 0",
    "abs(a) > 0",
    "max(a, ) > 0",
    "ceildiv(a, 2) > 0",
    "t + 1 > 0 where t = a",
    "t <= t where t = a",
    "a if b > 0 else s > 1",
    f"{'(' * 5000}a{')' * 5000} > 0",
    f"{' + '.join(['a'] * LONGEST)} > 0",
    "min(a, b) > 0",  # here `min` is a symbol
]

REFUSED = [
    "a <  <= b",
    "c == a",
    "a b > 0",
    "a + > 0",
    "a * (b > 0",
    "a) > 0",
    "max() > 0",
    "max(a; b) > 0",
    "max a > 0",
    "(a, b) > 0",
    "() > 0",
    " > 0",
    "a ** -1 > 0",
    "a ** 100 > 0",
    "² > a",
    "1_0 > a",
    f"a > {'9' * 400_001}",
    f"{'a // (1 + ' * 1100}b{')' * 1100} > 0",
    f"a{' // b' * 1100} > 0",
]


@pytest.mark.parametrize("text", READ, ids=lambda text: text[:20])
def test_what_is_read_is_the_same(text: str) -> None:
    """A failure means that what a question says depends on which reader happened to read it."""
    quick, general = read_both(text)
    assert quick is not None and general is not None
    assert quick[0] is general[0] and quick[1] is general[1]


@pytest.mark.parametrize("text", LEFT, ids=lambda text: text[:20])
def test_what_is_no_plain_comparison_is_left_alone(text: str) -> None:
    """A failure means that a text of another kind is read as if it were a comparison of integers."""
    assert read_both(text)[0] is None


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: text[:20])
def test_errors_are_told_by_the_general_reader(text: str) -> None:
    """A failure means that a wrong text is read, or that its error has no column."""
    assert read_both(text) == (None, None)
    terms = Interner()
    with pytest.raises(ParseError) as caught:
        parse(text, {name: terms.symbol(name) for name in NAMES if name != "min"}, terms, sides={})
    assert "^" in str(caught.value)


def sums(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    operator = st.sampled_from([" + ", " - ", " * ", " // ", " % ", "*", "-", " ** 2 * ", " ** 3 - "])
    return st.one_of(
        st.tuples(inner, operator, inner).map("".join),
        st.tuples(inner, operator, inner, operator, inner).map("".join),
        inner.map("({})".format),
        inner.map("-{}".format),
        inner.map("{} ** 2".format),
        st.tuples(st.sampled_from(["max", "max", "floor"]), inner, inner).map(lambda p: f"{p[0]}({p[1]}, {p[2]})"),
    )


SUMS = st.recursive(st.sampled_from(["a", "b", "s", "0", "1", "2", "3", "7", "12"]), sums, max_leaves=9)
COMPARISONS = st.tuples(SUMS, st.sampled_from([" == ", " != ", " <= ", " >= ", " < ", " > "]), SUMS).map("".join)
JOINED = st.tuples(st.sampled_from([" and ", " or "]), COMPARISONS).map("".join)
CONDITIONS = st.tuples(COMPARISONS, st.lists(JOINED, max_size=4).map("".join)).map("".join)


@given(text=CONDITIONS)
def test_random_conditions_are_the_same(text: str) -> None:
    """A failure names comparisons joined by words that the two readers understand differently."""
    quick, general = read_both(text)
    if quick is not None:
        assert general is not None and quick[0] is general[0] and quick[1] is general[1]


@given(text=COMPARISONS)
def test_random_comparisons_are_the_same(text: str) -> None:
    """A failure names a text that the two readers understand differently."""
    quick, general = read_both(text)
    if quick is None:
        assert general is None or "floor" in text or "**" in text
    else:
        assert general is not None and quick[0] is general[0] and quick[1] is general[1]


def test_nearly_all_recorded_questions_are_read_here() -> None:
    """A failure means that what programs ask takes the slow way, or that the two readers differ on it."""
    count: Counter[bool] = Counter()
    for path in corpus_files()[::6]:
        for session in sessions(path):
            terms = Interner()
            names = {line["name"]: terms.symbol(line["name"]) for line in session.lines if line["op"] == "symbol"}
            for text in {line["prop"]: None for line in session.lines if line["op"] != "symbol"}:
                quick = read_condition(text, names, terms, {})
                count[quick is not None] += 1
                if quick is not None:
                    reader = Reader(text, names, terms, "real")
                    assert reader.read(reader.condition) is quick[0], text
                    assert reader.domain() is quick[1], text
    assert count[True] > 1000 and count[True] > 50 * count[False]


def test_sides_are_kept() -> None:
    """A failure means that a side of many comparisons is read each time."""
    terms = Interner()
    names = {name: terms.symbol(name) for name in ("a", "b")}
    sides = {}
    assert read_condition("a // b == 3", names, terms, sides) is not None
    assert sides == {"a // b": read_side("a // b", names, terms), "3": read_side("3", names, terms)}
    sides["a // b"] = (names["a"], ())
    found = read_condition("a // b == 3", names, terms, sides)
    assert found == (terms.eq(names["a"], 3), terms.true)
