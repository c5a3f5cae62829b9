"""Random propositions as text, and integers at the edges, for tests of generated code."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from solver.proofs.fact import Fact
from solver.syntax.parser import parse
from solver.terms.expr import Expr
from solver.terms.interner import Interner
from solver.terms.prop import Prop

NAMES = ["a", "b", "c"]

EDGES = [
    0,
    1,
    -1,
    2,
    3,
    -2,
    7,
    16,
    64,
    100,
    2**31 - 1,
    2**31,
    -(2**31),
    2**62,
    2**63 - 1,
    2**63,
    -(2**63),
    2**64,
    2**200,
]

BINARY = ["({} + {})", "({} - {})", "({} * {})", "({} // {})", "({} % {})", "max({}, {})", "min({}, {})", "({} & {})"]
UNARY = ["abs({})", "(-{})", "({} << 3)", "ceildiv({}, 8)", "({} // 16)", "({} % 16)"]
CHOICE = "({} if {} else {})"
COMPARISONS = ["({} == {})", "({} != {})", "({} >= {})", "({} < {})", "({} % {} == 0)"]
JOINS = ["({} and {})", "({} or {})"]


def requirements_of() -> list[str]:
    """Every operation that the strategy may generate."""
    everything = " ".join([*BINARY, *UNARY, CHOICE, *COMPARISONS, *JOINS])
    marks = ["//", "%", "max(", "min(", "abs(", " if ", "&", "<<", " or ", " and "]
    return [mark for mark in marks if mark in everything]


def expressions() -> st.SearchStrategy[str]:
    leaves = st.one_of(
        st.sampled_from(NAMES), st.integers(-20, 70).map(lambda n: f"({n})"), st.sampled_from(["2**31", "2**63"])
    )
    return st.recursive(leaves, _larger, max_leaves=6)


def _larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    binary = st.builds(str.format, st.sampled_from(BINARY), inner, inner)
    unary = st.builds(str.format, st.sampled_from(UNARY), inner)
    condition = st.builds(str.format, st.sampled_from(COMPARISONS), inner, inner)
    return st.one_of(binary, binary, unary, st.builds(str.format, st.just(CHOICE), inner, condition, inner))


def propositions() -> st.SearchStrategy[list[str]]:
    """One to four propositions over a, b and c."""
    comparison = st.builds(str.format, st.sampled_from(COMPARISONS), expressions(), expressions())
    joined = st.recursive(
        comparison, lambda inner: st.builds(str.format, st.sampled_from(JOINS), inner, inner), max_leaves=3
    )
    return st.lists(joined, min_size=1, max_size=4)


def edge_values() -> st.SearchStrategy[tuple[int, ...]]:
    value = st.one_of(st.sampled_from(EDGES), st.integers(-30, 130), st.integers())
    return st.tuples(value, value, value)


def requirement(text: str, prop: Prop, domain: Prop | None = None) -> Fact:
    """A guard that a check tests."""
    return Fact(prop, prop.interner.true if domain is None else domain, "guard", text, None, None, 0)


def written(texts: Sequence[str], names: Sequence[str]) -> tuple[list[Fact], dict[str, Expr]]:
    """The texts as requirements over fresh symbols with these names."""
    interner = Interner()
    symbols = {name: interner.symbol(name) for name in names}
    parsed = [parse(text, symbols, interner) for text in texts]
    return [requirement(text, p.prop, p.domain) for text, p in zip(texts, parsed)], symbols
