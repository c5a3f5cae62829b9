"""Relations between the sizes of arguments: what is refused, what an environment knows, and what a call violates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shapes import ShapeEnv, ShapeError
from shapes.errors import ConstraintViolation
from shapes.origin import Origin
from shapes.relations import Dim, OneOf, Relations, Statement, dims, one_of

WRONG: list[tuple[Callable[[], object], str]] = [
    (lambda: dims(), r"dims\(\)"),
    (lambda: dims(3), r"dims\(3\)"),  # type: ignore[arg-type]
    (lambda: dims("3s"), r"dims\('3s'\)"),
    (lambda: dims("if"), r"dims\('if'\)"),
    (lambda: dims("max"), r"no words of the language"),
    (lambda: dims("s", "s"), r"names that differ"),
    (lambda: dims("s", lo="a"), r"lo='a': expected a size"),  # type: ignore[arg-type]
    (lambda: dims("s", lo=5, hi=2), r"lo=5, hi=2\): no size lies between"),
    (lambda: dims("s", lo=-1), r"lo=-1"),
    (lambda: dims("s", where=3), r"where=3"),  # type: ignore[arg-type]
    (lambda: dims("s", where=["s > 1", 3]), r"where="),  # type: ignore[list-item]
    (lambda: one_of(), r"one_of\(\)"),
    (lambda: one_of("a"), r"one_of\('a'\)"),  # type: ignore[arg-type]
    (lambda: one_of(-1), r"one_of\(-1\)"),
    (lambda: one_of(True), r"one_of\(True\)"),
    (lambda: Relations({"x": dims("s", where="nonsense nonsense")}), r"unknown name `nonsense`"),
    (lambda: Relations({"x": dims("s", where="s")}), r"expected a proposition"),
    (lambda: Relations({"x": dims("s", where="s % 16 = 0")}), r"equality is `==`"),
    (lambda: Relations({"x": dims("s", where="frob(s) > 0")}), r"unknown function `frob`"),
    (lambda: Relations({"x": dims("s", lo=3, hi=4, where="s > 7")}), r"contradicts itself"),
    (lambda: Relations({3: ("b",)}), r"3 is no name of an input"),  # type: ignore[dict-item]
    (lambda: Relations({"x": "b"}), r"x: 'b'(.|\n)*one for each dimension"),
    (lambda: Relations({"x": 3}), r"x: 3"),  # type: ignore[dict-item]
    (lambda: Relations({"x": (1.5, None)}), r"x: 1.5(.|\n)*an expression, a name, a number"),  # type: ignore[dict-item]
    (lambda: Relations({"x": (-1, None)}), r"x: -1"),
    (lambda: Relations({"x": (True, None)}), r"x: True"),
    (lambda: Relations({"x": ("b +", None)}), r"cannot read the relation stated for x.shape\[0\]"),
    (lambda: Relations({"x": ("lambda + b", None)}), r"cannot read the relation stated for x.shape\[0\]"),
    (lambda: Relations({"x": ("b", "y.shape[0]")}), r"cannot read the relation stated for x.shape\[1\]"),
    (lambda: Relations({"x": ("b*b", None)}), r"b is the size of no dimension"),
    (lambda: Relations({"x": ("x_size1", None)}), r"cannot be read: name='x_size1': a symbol of this name exists"),
    (lambda: Relations({"x": ("b",)}).check({"y": (3,)}), r"the tensors among the arguments are y"),
    (lambda: Relations({"scal": ("b",)}).check({"scale": (3,)}), r"did you mean 'scale'"),
    (lambda: Relations({"x": ("b",)}).check({"x": (3, 4)}), r"x has 2 dimensions, but 1 are stated"),
]


@pytest.mark.parametrize(("misuse", "message"), WRONG, ids=range(len(WRONG)))
def test_misuse(misuse: Callable[[], object], message: str) -> None:
    """Fails when a mistake is accepted, or is not an error with a fix."""
    with pytest.raises(ConstraintViolation, match=message) as refused:
        misuse()
    assert "\n  fix:    " in str(refused.value)


def test_errors_name_the_line() -> None:
    """Fails when an error names another line than the caller's, or than that of the given origin."""
    with pytest.raises(
        ShapeError, match=r"  at:     `dims\(\)`  \(test_relations.py:\d+ in test_errors_name_the_line\)"
    ):
        dims()
    with pytest.raises(ShapeError, match=r"\(model.py:41 in forward\)"):
        Relations({"x": ("b",)}, lambda: Origin("model.py", 41, "forward")).check({})


def test_numbers_of_numpy_are_numbers() -> None:
    """Fails when a bound or a value can not be a number of NumPy's."""
    assert one_of(np.int64(2), 4) == OneOf((2, 4))
    assert dims("s", lo=np.int64(2), hi=np.int64(8)) == (Dim("s", (), 2, 8),)


def test_sizes_by_themselves() -> None:
    """Fails when a size has not the word, the bounds or the number that is stated of it."""
    (b,) = dims("b", lo=2, hi=8)
    relations = Relations({"x": (b, 5 * b, 4, None, one_of(1, 2)), "y": ("b",)})
    assert relations.named("x", 0) == Dim("b", (), 2, 8)
    assert relations.named("x", 1) == Dim("x_size1", lo=0)
    assert (relations.named("x", 2), relations.named("x", 3)) == (4, None)
    assert relations.named("x", 4) == Dim("x_size4", lo=0)
    assert relations.named("y", 0) == Dim("y_size0", (), 2, 8)
    assert relations.named("x", -1) is relations.named("z", 0) is None


def test_an_environment_knows_the_relations() -> None:
    """Fails when a bound, a multiple, a solved name or a condition is no fact of an environment."""
    b, s = dims("b", "s", hi=64, where="s % b == 0")
    env = ShapeEnv()
    sizes = Relations({"x": (b, 3 * s + 1), "y": (b + s,), "z": (7,)}).declare(env)
    assert [str(size) for of_argument in sizes.values() for size in of_argument] == [
        "b",
        "x.shape[1]",
        "y.shape[0]",
        "z.shape[0]",
    ]
    for known in ("b <= 64", "x_size1 % 3 == 1", "(x_size1 - 1)//3 % b == 0", "y_size0 % b == 0", "z_size0 == 7"):
        assert env.proves(known), known


SHAPES = st.fixed_dictionaries({"x": st.tuples(*[st.integers(0, 13)] * 2), "y": st.tuples(*[st.integers(0, 13)] * 2)})
b, s = dims("b", "s", hi=6)
CASES: list[tuple[Mapping[str, Sequence[Statement]], Callable[[int, int, int, int], bool]]] = [
    ({"x": (b, 2 * b), "y": (s, None)}, lambda i, j, k, m: 1 <= i <= 6 and j == 2 * i and 1 <= k <= 6),
    ({"x": (b, s), "y": (b + s, b - s)}, lambda i, j, k, m: min(i, j) >= 1 and max(i, j) <= 6 and k - i == j == i - m),
    ({"x": (2 * b + 1, None), "y": (None, b)}, lambda i, j, k, m: 1 <= m <= 6 and i == 2 * m + 1),
    ({"x": (3 * b + 1, one_of(2, 4)), "y": (5, b * b)}, lambda i, j, k, m: (
        i in range(4, 20, 3) and j in (2, 4) and k == 5 and m == ((i - 1) // 3) ** 2
    )),
    ({"x": (b, b // 2), "y": (b % 3, "max(b, 4)")}, lambda i, j, k, m: (
        1 <= i <= 6 and j == i // 2 and k == i % 3 and m == max(i, 4)
    )),
    ({"x": (*dims("n", lo=0, where="n % 4 == 0"), "n"), "y": (7 - b, b)}, lambda i, j, k, m: (
        i == j and i % 4 == 0 and 1 <= m <= 6 and k == 7 - m
    )),
]  # fmt: skip


@pytest.mark.parametrize(("statements", "holds"), CASES, ids=range(len(CASES)))
@given(SHAPES)
def test_calls(
    statements: Mapping[str, Sequence[Statement]],
    holds: Callable[[int, int, int, int], bool],
    shapes: dict[str, tuple[int, int]],
) -> None:
    """Fails when a call is accepted that violates a relation, or refused where none is violated."""
    relations = Relations(statements)
    if holds(*shapes["x"], *shapes["y"]):
        relations.check(shapes)
    else:
        with pytest.raises(ConstraintViolation, match="is stated, but is false with"):
            relations.check(shapes)
