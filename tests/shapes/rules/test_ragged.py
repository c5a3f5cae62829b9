"""Rules for ragged arguments against torch: its dense operators on each row alone, and its jagged tensors.

If one of these fails, a ragged tensor is said to have other sizes than it has, or rows meet that are not as long.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import pytest

from shapes import Contradiction, ShapeEnv, ShapeError
from shapes.rules import Refused, Shape, rules
from shapes.rules.element_facts import FACTS
from shapes.rules.ragged import from_padded, from_values, ragged, to_padded
from shapes.rules.rows import Ragged, Rows
from solver.decide.verdict import Always, Depends, Never

LENGTHS: Final = ((2, 3), (1, 4, 2), (3, 3, 1, 2), (5,))
OTHER: Final = {2: (4, 1), 3: (2, 2, 3), 4: (1, 1, 2, 5), 1: (3,)}


class Sizes:
    """An environment with two divisions of as many rows, and their sizes for some lengths of rows."""

    def __init__(self, least: int = 1) -> None:
        self.env = ShapeEnv(origin=lambda: None)
        self.count, (self.total, self.others) = self.env.symbol("b", lo=least), self.env.sizes("t s")
        self.rows = Rows.declare(self.env, self.count, self.total, name="j")
        self.other = Rows.declare(self.env, self.count, self.others, name="k")

    def tensor(self, token: object) -> Any:
        """The shape for a word of sizes, in which b is the number of rows, j and k are lengths."""
        if not isinstance(token, str):
            return [self.tensor(each) for each in token] if isinstance(token, list) else token
        names = {"b": self.count, "j": self.rows.length, "k": self.other.length}
        sizes = [names[each] if each in names else int(each) for each in token.split()]
        rows = self.rows if "j" in token else self.other
        return Ragged(sizes, rows) if "j" in token or "k" in token else Shape(sizes)

    def at(self, size: object, lengths: Sequence[int], row: int = 0) -> int:
        """The number that a size is, for a row among rows of these lengths."""
        others = OTHER[len(lengths)]
        values = {"b": len(lengths), "t": sum(lengths), "s": sum(others), "j": lengths[row], "k": others[row]}
        return size if isinstance(size, int) else int(size.substitute(values))


def made(token: object, lengths: Sequence[int], row: int | None = None) -> Any:
    """A tensor of torch's for such a word: jagged, or one row of it in a batch of one."""
    import torch

    if not isinstance(token, str):
        return [made(each, lengths, row) for each in token] if isinstance(token, list) else token
    words = token.split()
    sizes = {"j": lengths, "k": OTHER[len(lengths)]}
    axis = next((place for place, word in enumerate(words) if word in sizes), None)
    if axis is None:
        count = len(lengths) if row is None else 1
        return torch.zeros([count if word == "b" else int(word) for word in words])
    whole = sizes[words[axis]]
    dense = [int(word) for place, word in enumerate(words) if place not in (0, axis)]
    if row is not None:
        return torch.zeros([1, *dense[: axis - 1], whole[row], *dense[axis - 1 :]])
    offsets = torch.tensor([0, *whole]).cumsum(0)
    values = torch.zeros([sum(whole), *dense])
    found = torch.nested.nested_tensor_from_jagged(values, offsets)
    return found.transpose(1, axis) if axis > 1 else found


def names(operator: str) -> Callable[..., Any]:
    """Torch's function of an operator."""
    import torch

    for module in (torch.nn.functional, torch, torch.Tensor):
        if hasattr(module, operator):
            return getattr(module, operator)
    raise AssertionError(operator)


X: Final = "b j 4"
CASES: Final[list[tuple[str, tuple[Any, ...], dict[str, Any]]]] = [
    ("sin", (X,), {}), ("relu", (X,), {}), ("dropout", (X,), {}), ("neg", ("b j",), {}), ("clamp", (X, 0, 1), {}),
    ("add", (X, X), {}), ("mul", (X, "4"), {}), ("mul", ("4", X), {}), ("sub", (X, "1 4"), {}), ("sub", (X, 2), {}),
    ("add", (X, "b 1 4"), {}), ("add", (X, "b 1 1"), {}), ("add", ("1 1 4", X), {}), ("add", ("b 2 j 4", "2 1 4"), {}),
    ("lt", (X, "4"), {}), ("maximum", (X, X), {}), ("atan2", ("b j 1", X), {}), ("lerp", (X, X, 0.5), {}),
    ("softmax", (X,), {"dim": 1}), ("softmax", (X,), {"dim": -1}), ("log_softmax", ("b 2 j 4",), {"dim": 2}),
    ("cumsum", (X, 1), {}), ("cumsum", (X, 2), {}), ("sort", (X, 2), {}), ("sort", (X,), {"dim": 1}),
    ("topk", (X, 1), {"dim": 1}), ("argsort", (X,), {"dim": 1}), ("normalize", (X,), {"dim": 2}), ("glu", (X,), {}),
    ("sum", (X,), {}), ("sum", (X, 1), {}), ("sum", (X, 2), {}), ("sum", (X, (1, 2)), {}), ("sum", (X, -1, True), {}),
    ("sum", (X, 1, True), {}), ("sum", (X, (0, 1)), {}), ("sum", (X, (0, 1), True), {}), ("mean", (X, 1), {}),
    ("mean", (X, (0, 1, 2)), {}), ("amax", (X, 1), {}), ("amin", (X, (0, 1)), {}), ("var", (X, 1), {}),
    ("argmax", (X, 1), {}), ("max", (X, 1), {}), ("max", (X,), {}), ("any", (X, 2), {}), ("logsumexp", (X, 1), {}),
    ("std_mean", (X, (0, 1)), {"keepdim": True}), ("mode", (X,), {}), ("max", (X, X), {}), ("frexp", (X,), {}),
    ("where", ("b j 4", X, 0.5), {}), ("prod", (X, 1), {}), ("median", (X, 1), {}), ("sum", ("b 2 j 4", (1, 3)), {}),
    ("layer_norm", (X, (4,)), {}), ("layer_norm", (X, (4,), "4", "4"), {}), ("rms_norm", ("b j 2 4", (2, 4)), {}),
    ("linear", (X, "5 4", "5"), {}), ("linear", ("b j 2 4", "5 4"), {}),
    ("matmul", (X, "4 5"), {}), ("matmul", (X, "b 4 5"), {}), ("matmul", ("b 4 j", X), {}), ("bmm", (X, "b 4 5"), {}),
    ("matmul", ("b 2 j 4", "2 4 5"), {}), ("bmm", ("b 4 j", "b j 5"), {}), ("matmul", ("b 5 4", "b 4 j"), {}),
    ("scaled_dot_product_attention", ("b 2 j 4", "b 2 j 4", "b 2 j 4"), {}),
    ("scaled_dot_product_attention", ("b 2 j 4", "b 2 k 4", "b 2 k 4"), {}),
    ("scaled_dot_product_attention", ("b 2 3 4", "b 2 k 4", "b 2 k 4"), {}),
    ("scaled_dot_product_attention", ("b 2 j 4", "b 2 3 4", "b 2 3 4"), {}),
    ("cat", ([X, X],), {"dim": 2}), ("cat", ([X, X],), {"dim": 1}), ("cat", ([X, "b k 4"],), {"dim": 1}),
    ("cat", ([X, "b 2 4"],), {"dim": 1}), ("cat", ([X, "b j 3"],), {"dim": -1}),
    ("transpose", (X, 1, 2), {}), ("transpose", ("b j 2 4", 2, 3), {}), ("unsqueeze", (X, 1), {}),
    ("unsqueeze", (X, -1), {}), ("squeeze", ("b j 1", 2), {}), ("flatten", ("b j 2 4", 2), {}), ("flatten", (X, 1), {}),
    ("unflatten", (X, 2, (2, 2)), {}), ("clone", (X,), {}), ("zeros_like", (X,), {}), ("select", (X, 2, 1), {}),
    ("narrow", (X, 2, 1, 2), {}), ("chunk", (X, 2), {"dim": 2}), ("split", (X, 3), {"dim": 2}),
    ("embedding", ("b j", "9 4"), {}), ("index_select", (X, 2, "3"), {}), ("gather", (X, 1, "b k 4"), {}),
    ("gather", (X, 1, "b 3 4"), {}), ("gather", (X, 2, "b j 3"), {}),
]  # fmt: skip
INDICES: Final = {"embedding": 0, "index_select": 2, "gather": 2}
"""The arguments that are indices."""


def run(operator: str, args: Sequence[Any], kwargs: dict[str, Any], lengths: Sequence[int], row: int | None) -> Any:
    """The results of torch's operator: on jagged tensors, or on one row."""
    given = [made(each, lengths, row) for each in args]
    if operator in INDICES:
        given[INDICES[operator]] = given[INDICES[operator]].long()
    if operator == "where":
        given[0] = given[0].bool()
    found = names(operator)(*given, **kwargs)
    return list(found) if isinstance(found, tuple | list) else [found]


def outputs(found: Any) -> list[Any]:
    return [found] if isinstance(found, Shape) else list(found)


@pytest.mark.parametrize(("operator", "args", "kwargs"), CASES)
def test_each_row_alone(operator, args, kwargs):
    """The sizes for any row are those of the dense operator on that row; the values have as many elements as all."""
    pytest.importorskip("torch")
    sizes = Sizes()
    found = outputs(ragged(sizes.env, operator, *map(sizes.tensor, args), **kwargs))
    dims = kwargs.get("dim", next(iter(args[1:]), None))
    across = operator in ("sum", "mean", "amin", "max", "std_mean")
    across = across and (dims is None or isinstance(dims, tuple) and 0 in dims)
    for lengths in LENGTHS:
        by_row = [run(operator, args, kwargs, lengths, row) for row in range(len(lengths))]
        for place, shape in enumerate(found):
            expected = [tuple(results[place].shape) for results in by_row]
            if across:
                assert tuple(shape) == expected[0]
                continue
            for row, wanted in enumerate(expected):
                assert tuple([sizes.at(size, lengths, row) for size in shape[1:]]) == wanted[1:]
            assert sizes.at(shape[0], lengths) == len(lengths)
            if isinstance(shape, Ragged):
                values = [sizes.at(size, lengths) for size in shape.values]
                assert values[shape.axis - 1] == sum(wanted[shape.axis] for wanted in expected)


@pytest.mark.parametrize(("operator", "args", "kwargs"), CASES)
def test_jagged_tensors(operator, args, kwargs):
    """Where torch has an operator on jagged tensors, its values have these sizes."""
    pytest.importorskip("torch")
    from torch.nested._internal.nested_tensor import NestedTensor

    sizes = Sizes()
    found = outputs(ragged(sizes.env, operator, *map(sizes.tensor, args), **kwargs))
    for lengths in LENGTHS:
        try:
            results = run(operator, args, kwargs, lengths, None)
        except (RuntimeError, NotImplementedError, ValueError, TypeError, IndexError, AssertionError):
            pytest.skip("torch does not have it on jagged tensors")
        for shape, result in zip(found, results, strict=True):
            assert isinstance(result, NestedTensor) == isinstance(shape, Ragged)
            theirs = result._values if isinstance(result, NestedTensor) else result
            mine = shape.values if isinstance(shape, Ragged) else shape
            assert tuple([sizes.at(size, lengths) for size in mine]) == tuple(theirs.shape)
            if isinstance(shape, Ragged):
                assert shape.axis == result._ragged_idx


@pytest.mark.parametrize(
    ("operator", "args", "kwargs", "why"),
    [
        ("add", (X, "b 3 4"), {}, "a dense axis meets a ragged one"),
        ("add", (X, "2 1 1 4"), {}, "axes before that of the rows"),
        ("add", (X, "b 4 j"), {}, "not in the same place"),
        ("softmax", (X,), {"dim": 0}, "do not meet"),
        ("softmax", (X,), {"dim": -3}, "do not meet"),
        ("sum", (X, 0), {}, "unless axis 1 is reduced"),
        ("sum", (X, (0, 2)), {}, "unless axis 1 is reduced"),
        ("matmul", (X, "b 4 j"), {}, "how many elements"),
        ("matmul", ("b 4 j", "3 5"), {}, "a dense axis meets a ragged one"),
        ("linear", ("b 4 j", "5 4"), {}, "before those of the operator"),
        ("layer_norm", (X, (3, 4)), {}, "before those of the operator"),
        ("transpose", (X, 0, 1), {}, "do not meet"),
        ("flatten", (X,), {}, "do not meet"),
        ("cat", ([X, X],), {}, "do not meet"),
        ("cat", ([X, "b 3 4"],), {"dim": 2}, "a dense axis meets a ragged one"),
        ("chunk", (X, 2), {"dim": 1}, "expected a dense axis"),
        ("squeeze", (X,), {}, "expected a dense axis"),
        ("unflatten", (X, 1, (2, 2)), {}, "expected a dense axis"),
        ("conv1d", (X, "4 4 3"), {}, "no rule for ragged arguments"),
        ("where", (X,), {}, "not known"),
        ("linear", (X, "5 3"), {}, "differ|fit|match|sum"),
        ("sum", (), {}, "missing"),
        ("sum", (X, ()), {}, "expected axes"),
        ("any", (X, ()), {}, "expected axes"),
        ("softmax", (X,), {}, "expected a dense axis"),
        ("embedding", ("3", "b j"), {}, "no ragged argument but input"),
        ("index_select", ("9 4", 1, "b j"), {}, "no ragged argument but input"),
        ("add_", ("b 1 4", X), {}, "a dense tensor is written to"),
        ("allclose", (X, X), {}, "no rule for ragged arguments"),
        ("quantile", (X, 0.5, 1), {}, "no rule for ragged arguments"),
        ("scaled_dot_product_attention", ("b 2 j 4", X, X), {}, "as many axes"),
        ("scaled_dot_product_attention", ("b 2 j 4", "b 2 j 4", "b 2 j 4", "b 1 1 1"), {}, "attn_mask"),
        ("scaled_dot_product_attention", ("b 2 j 4", "b 2 j 4", "b 2 3 4"), {}, "in values as in keys"),
    ],
)
def test_what_is_refused(operator, args, kwargs, why):
    """Rows that meet are an error that names the call."""
    sizes = Sizes()
    given = [sizes.tensor(each) for each in args]
    with pytest.raises(Refused, match=why) as caught:
        ragged(sizes.env, operator, *given, **kwargs)
    assert str(caught.value).startswith(operator)
    # nothing that is refused was required
    assert not sizes.env.guards()


def test_dense_rules_refuse_ragged_tensors():
    """The rule of a dense operator multiplies rows by the length of any of them."""
    sizes = Sizes()
    with pytest.raises(ShapeError, match="is ragged"):
        rules["flatten"](sizes.env, sizes.tensor(X))
    with pytest.raises(ShapeError, match="is ragged"):
        rules["cat"](sizes.env, [sizes.tensor(X)])


def test_the_same_offsets_are_a_fact():
    """Two divisions are taken for the same one, or a fact that they are is not used."""
    sizes = Sizes()
    env, x, y = sizes.env, sizes.tensor(X), sizes.tensor("b k 4")
    ragged(env, "add", x, x)
    assert not env.runtime_asserts()
    assert ragged(env, "add", x, y).rows is sizes.rows
    assert [each.text for each in env.runtime_asserts()] == ["j == k"]
    known = Sizes()
    known.env.assume(known.rows.length == known.other.length)
    ragged(known.env, "mul", known.tensor(X), known.tensor("b k 4"))
    assert not known.env.runtime_asserts()
    never = Sizes()
    never.env.assume(never.rows.length > never.other.length)
    with pytest.raises(Refused, match="offsets differ"):
        ragged(never.env, "mul", never.tensor(X), never.tensor("b k 4"))


def test_facts_of_the_family():
    """A fact about offsets is not known, or more is claimed than holds."""
    env = ShapeEnv(origin=lambda: None)
    total, most = env.sizes("t most")
    rows = Rows.declare(env, 3, total, longest=most)
    lengths = [rows.length_of(row) for row in range(3)]
    assert isinstance(env.ask(sum(lengths) == total), Always)
    for length in lengths:
        assert isinstance(env.ask(length >= 0), Always) and isinstance(env.ask(length <= most), Always)
    assert isinstance(env.ask(rows.offset(1) <= rows.offset(2)), Always)
    assert isinstance(env.ask(rows.offset(2) <= total), Always)
    assert isinstance(env.ask(total <= 3 * most), Always)
    assert isinstance(env.ask(lengths[0] == lengths[1]), Depends)
    assert isinstance(env.ask(rows.length * 3 == total), Depends)
    assert isinstance(env.ask(rows.offset(1) > total), Never)
    assert rows.offset(0) == 0 and rows.offset(3) is total
    assert rows.length_of(-1) == lengths[2]
    with pytest.raises(ShapeError, match="not as many rows"):
        rows.length_of(3)
    with pytest.raises(Contradiction):
        Rows.declare(env, 2, 9, longest=4)
    select = FACTS["select"]
    assert [getattr(select(rows.offsets, 0, place), "total", None) for place in (0, -1)] == [0, total]
    summed = FACTS["cumsum"](rows.lengths, 0)
    assert (summed.ordered, summed.last, summed.hi) == (True, total, total)


def test_no_rows():
    """A check of all rows tells that there are some, or bounds of their lengths contradict it."""
    sizes = Sizes(least=0)
    env, x = sizes.env, sizes.tensor(X)
    ragged(env, "amax", x, 1)
    assert [each.text for each in env.runtime_asserts()] == ["j != 0"]
    assert isinstance(env.ask(sizes.count == 0), Depends)
    assert isinstance(env.ask(sizes.total == 0), Depends)
    assert isinstance(env.ask(sizes.rows.longest == 0), Depends)
    env.assume(sizes.count >= 1)
    assert isinstance(env.ask(sizes.total >= 1), Always)
    rows = Rows.declare(env, 0, 0, shortest=3, longest=5)
    assert isinstance(env.ask(rows.length >= 7), Depends)
    assert env.check_consistent() is not None


def test_symbolic_rows():
    """Offsets of rows by symbolic numbers are out of order, or a row is longer than the longest."""
    sizes = Sizes()
    env, rows = sizes.env, sizes.rows
    i = env.unbacked("i", lo=0)
    env.assume(i < sizes.count)
    row = ragged(env, "select", sizes.tensor(X), 0, i)
    assert isinstance(row, Shape) and not isinstance(row, Ragged) and row[1:] == (4,)
    assert isinstance(env.ask(row[0] <= rows.longest), Always)
    assert isinstance(env.ask(rows.offset(i) + row[0] <= sizes.total), Always)
    assert ragged(env, "select", sizes.tensor(X), 0, i) == row


def test_rolled_back():
    """Offsets of symbols that no longer exist are given out."""
    sizes = Sizes()
    mark = sizes.env.checkpoint()
    ragged(sizes.env, "select", sizes.tensor(X), 0, 1)
    sizes.env.rollback(mark)
    again = ragged(sizes.env, "select", sizes.tensor(X), 0, 1)
    assert isinstance(sizes.env.ask(again[0] <= sizes.total), Always)


def test_chunks_of_rows():
    """Parts of the rows have other counts than torch's, or do not add up."""
    torch = pytest.importorskip("torch")
    for lengths, chunks in (((2, 3, 1), 2), ((1, 4, 2, 2, 5), 3), ((3, 3), 2)):
        env = ShapeEnv(origin=lambda: None)
        (total,) = env.sizes("t")
        x = Ragged((len(lengths), (rows := Rows.declare(env, len(lengths), total)).length, 4), rows)
        found = outputs(ragged(env, "chunk", x, chunks))
        whole = torch.nested.nested_tensor([torch.zeros(n, 4) for n in lengths], layout=torch.jagged)
        assert [part[0] for part in found] == [part.size(0) for part in whole.chunk(chunks)]
        assert isinstance(env.ask(sum(part.values[0] for part in found) == total), Always)
        again = outputs(ragged(env, "chunk", ragged(env, "sin", x), chunks))
        assert [part.rows for part in again] == [part.rows for part in found]


def test_padded_and_back():
    """Padded rows have another width than the longest, or are taken apart where they are too short."""
    torch = pytest.importorskip("torch")
    sizes = Sizes()
    env, x = sizes.env, sizes.tensor(X)
    assert to_padded(env, x) == (sizes.count, sizes.rows.longest, 4)
    assert not env.runtime_asserts()
    for lengths in LENGTHS:
        whole = torch.nested.nested_tensor([torch.zeros(n, 4) for n in lengths], layout=torch.jagged)
        assert tuple(whole.to_padded_tensor(0.0).shape) == (len(lengths), max(lengths), 4)
    back = from_padded(env, Shape((sizes.count, sizes.rows.longest, 4)), sizes.rows)
    assert tuple(back) == tuple(x) and not env.runtime_asserts()
    to_padded(env, x, (sizes.count, 9, 4))
    assert [each.text for each in env.runtime_asserts()] == ["j <= 9"]
    assert from_values(env, Shape((sizes.total, 4)), sizes.rows).values == (sizes.total, 4)
    with pytest.raises(Refused, match="expected 3 sizes"):
        to_padded(env, x, (sizes.count, 9))


def test_sums_over_rows():
    """The number of elements is known where it is no sum of lengths, or is another one."""
    sizes = Sizes()
    env, x, y = sizes.env, sizes.tensor(X), sizes.tensor("b k 4")
    joined = ragged(env, "cat", [x, y, sizes.tensor("b 2 4")], dim=1)
    assert joined.values[0] - (2 * sizes.count + sizes.others + sizes.total) == 0
    twice = ragged(env, "cat", [joined, x], dim=1)
    assert twice.values[0] - (2 * sizes.count + sizes.others + 2 * sizes.total) == 0
    assert ragged(env, "add", joined, ragged(env, "cat", [y, sizes.tensor("b 2 4"), x], dim=1)).values
    assert not env.runtime_asserts()
    with pytest.raises(Refused, match="how many elements"):
        ragged(env, "matmul", x, ragged(env, "transpose", y, 1, 2))


@pytest.mark.parametrize("lengths", [(2, 3), (0, 4, 0, 1), (5,), (0, 0), (), (1, 7, 2, 2, 0)])
def test_facts_hold_of_rows(lengths):
    """A fact about the family is false of some rows."""
    sizes = Sizes(least=0)
    env, rows = sizes.env, sizes.rows
    values = {"b": len(lengths), "t": sum(lengths), "j_longest": max(lengths, default=0)}
    for row in range(len(lengths) + 1):
        offset = rows.offset(row)
        if not isinstance(offset, int):
            values[str(offset)] = sum(lengths[:row])
    for place in range(len(lengths)):
        rows.length_of(place)
    about = {*values, "j"}
    for length in lengths or (0,):
        given = {atom: {**values, "j": length}.get(str(atom), 0) for fact in env.facts() for atom in fact.prop.symbols}
        for fact in env.facts():
            if all(str(atom) in about for atom in fact.prop.symbols):
                assert fact.prop.evaluate(given), fact.text
