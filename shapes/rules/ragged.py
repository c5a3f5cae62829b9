"""Shape rules of operators on ragged tensors, from the rules of dense ones.

    >>> from shapes import ShapeEnv
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, t = env.symbol("b", lo=1), env.symbol("t")
    >>> rows = Rows.declare(env, b, t, name="j")
    >>> x = Ragged((b, rows.length, 8), rows)
    >>> ragged(env, "mul", x, (8,)), ragged(env, "softmax", x, dim=1), ragged(env, "sum", x, dim=1)
    (Ragged(b, j, 8), Ragged(b, j, 8), Shape(b, 8))
    >>> ragged(env, "cat", [x, x], dim=1).values
    Shape(2*t, 8)
    >>> ragged(env, "sum", x, dim=0)
    Traceback (most recent call last):
    shapes.rules.registry.Refused: sum(input=Ragged(b, j, 8), dim=0): rows of different lengths do not meet: expected \
no axis 0, unless axis 1 is reduced too

An operator that works on each row by itself has the shapes of a dense one, where the ragged axis is as long as any row.
So the rule of the dense operator is asked, once it is clear that no two rows meet, and that ragged axes which meet have
the same offsets: a fact, or a check that the environment records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from shapes.env import ShapeEnv
from shapes.errors import ShapeError, UndecidedGuard
from shapes.rules.axes import axis_of
from shapes.rules.broadcasting import agree, same
from shapes.rules.reductions import all_or
from shapes.rules.registry import Output, Outputs, Refused, Rule, rules
from shapes.rules.rows import Ragged, Rows
from shapes.rules.shape import Shape, as_shape
from shapes.symbolic.choices import Int, sym_or

Given = dict[str, object]
Handler = Callable[[ShapeEnv, Rule, Given], object]

DENSE_MEETS: Final = "a dense axis meets a ragged one"
ROWS_MEET: Final = "rows of different lengths do not meet"
NOT_BY_ELEMENT: Final = (
    "allclose", "dropout1d", "dropout2d", "dropout3d", "equal", "feature_alpha_dropout", "isin", "nanquantile", "prelu",
    "quantile",
)  # fmt: skip
"""Operators of the families below that see more than elements, or whole axes."""
BY_AXIS: Final = (
    "softmax", "log_softmax", "softmin", "special.softmax", "special.log_softmax", "cumsum", "cumprod", "cummax",
    "cummin", "logcumsumexp", "sort", "argsort", "topk", "kthvalue", "glu", "normalize", "transpose", "swapaxes",
    "swapdims", "unsqueeze", "flatten", "index_select", "clone", "contiguous", "detach", "zeros_like", "ones_like",
    "empty_like", "full_like", "rand_like", "randn_like", "embedding", "one_hot",
)  # fmt: skip
"""Operators of one tensor that may be ragged, along any axes but that of the rows."""
BY_DENSE_AXIS: Final = ("select", "chunk", "split", "squeeze", "unflatten", "narrow")
"""Operators along a dense axis only; `select` and `chunk` also of rows."""


def ragged(env: ShapeEnv, name: str, /, *args: object, **kwargs: object) -> Output:
    """The shapes that come out of an operator of which some arguments are ragged.

    Raises:
        Refused: the operator does not work on each row by itself, or the sizes do not fit.
        UndecidedGuard: how many outputs there are depends on a size that is not known.
    """
    rule = rules[name]
    try:
        _, *bound = rule.signature.bind(env, *args, **kwargs).arguments.items()
    except TypeError as error:
        raise Refused(f"{name}: {error}") from error
    given = {key: as_shape(each) if is_dense(each) and key in rule.tensors else each for key, each in bound}
    if not any(_tensors(given)):
        return rule(env, **given)
    try:
        bases = tuple(dict.fromkeys(base for x in _tensors(given) for base in x.rows.bases))
        return _output(env, _handler(rule)(env, rule, given), bases)
    except UndecidedGuard:
        raise
    except ShapeError as error:
        inner = error.__cause__ if isinstance(error, Refused) else None
        raise Refused(f"{rule.call_text((), given)}: {inner or error}") from error


def _handler(rule: Rule) -> Handler:
    found = HANDLERS.get(rule.name)
    if found is None and rule.name not in NOT_BY_ELEMENT:
        found = {"pointwise": _pointwise, "activations": _pointwise, "reductions": _reduction}.get(rule.family)
    if found is None:
        raise ShapeError("there is no rule for ragged arguments")
    return found


def to_padded(env: ShapeEnv, x: Ragged, output_size: Sequence[Int] | None = None) -> Shape:
    """Rows padded to the longest, or to a size at least as large."""
    padded = x.with_size(x.rows.longest) if output_size is None else Shape(output_size, dtype=x.dtype)
    if len(padded) != len(x):
        raise Refused(f"output_size: expected {len(x)} sizes, not {len(padded)}")
    for axis, (size, wanted) in enumerate(zip(x, padded, strict=True)):
        env.require(wanted >= size, f"output_size: axis {axis} is smaller than a row")
    return padded


def from_padded(env: ShapeEnv, dense: Shape, rows: Rows) -> Ragged:
    """The elements of padded rows, which lie along the second axis."""
    agree(env, dense[0], rows.count, "there are not as many rows")
    env.require(dense[1] >= rows.length, "a row is longer than what it is padded to")
    return Ragged((rows.count, rows.length, *dense[2:]), rows, dtype=dense.dtype)


def from_values(env: ShapeEnv, values: Shape, rows: Rows, *, axis: int = 1) -> Ragged:
    """Values with an axis that is divided into rows, which is number `axis` of the result."""
    agree(env, values[axis - 1], rows.total, "the offsets do not end where the values do")
    return Ragged((rows.count, *values[: axis - 1], rows.length, *values[axis:]), rows, dtype=values.dtype)


# ---------------------------------------------------------------------- arguments and results


def is_dense(x: object) -> bool:
    return isinstance(x, list | tuple) and not isinstance(x, Ragged)


def _tensors(given: Mapping[str, object]) -> Iterator[Ragged]:
    """The ragged arguments."""
    for value in given.values():
        several = value if isinstance(value, list | tuple) and not isinstance(value, Shape) else (value,)
        yield from (each for each in several if isinstance(each, Ragged))


def _by_any_row(env: ShapeEnv, given: Given, *, lengths: bool = True) -> Given:
    """The sizes of any row in the place of ragged arguments; these have as many rows, and as long ones."""
    first = next(_tensors(given)).rows
    for x in _tensors(given):
        agree(env, first.count, x.rows.count, "there are not as many rows in each")
        if lengths:
            agree(env, first.length, x.rows.length, "the offsets differ")

    def dense(x: object) -> object:
        return x.of(first if lengths else x.rows) if isinstance(x, Ragged) else x

    return {key: list(map(dense, x)) if isinstance(x, list | tuple) and key == "tensors" else dense(x)
            for key, x in given.items()}  # fmt: skip


def _output(env: ShapeEnv, found: object, bases: tuple[Rows, ...]) -> Output:
    """The result of a dense rule, ragged where one of its sizes depends on the row."""
    if found is None or isinstance(found, Ragged):
        return found
    if not isinstance(found, Shape):
        assert isinstance(found, tuple)
        return type(found)([_output(env, each, bases) for each in found])
    depending = [size for size in found if not isinstance(size, int) and any(each.is_in(size) for each in bases)]
    if not depending:
        return found
    known = [each for each in bases if same(depending[0], each.length)]
    rows = known[0] if known else bases[0].with_length(depending[0], bases)
    if rows is None or len(depending) > 1:
        raise ShapeError(f"{found}: how many elements it has is not known")
    if not same(found[0], rows.count) and not env.proves(found[0] == rows.count):
        raise ShapeError(f"{found}: the first axis is not that of the rows")
    return Ragged(found, rows, dtype=found.dtype)


def _beside(env: ShapeEnv, dense: Shape, x: Ragged, behind: int = 0) -> Shape:
    """A dense tensor that meets a ragged one, up to the axes `behind`: it has one row for all, or one for each."""
    if len(dense) > len(x):
        raise ShapeError(f"{dense}: it has axes before that of the rows")
    sizes = list(dense)
    for place, size in enumerate(dense[: len(dense) - behind]):
        axis = place + len(x) - len(dense)
        if axis in (0, x.axis) and not same(size, 1):
            if axis == x.axis:
                env.require(size == 1, DENSE_MEETS)
            elif not same(size, x.rows.count):
                env.require(sym_or(size == x.rows.count, size == 1), "there are not as many rows")
            sizes[place] = 1
    return Shape(sizes, dtype=dense.dtype)


def _expect_alike(given: Given) -> None:
    if len({(len(x), x.axis) for x in _tensors(given)}) > 1:
        raise ShapeError("ragged axes are not in the same place")


# ---------------------------------------------------------------------- operators


def _pointwise(env: ShapeEnv, rule: Rule, given: Given) -> object:
    """Ragged axes in the same place, beside dense tensors."""
    _expect_alike(given)
    first = next(_tensors(given))
    if rule.name == "where" and "input" not in given:
        raise ShapeError("how many elements there are is not known")
    if rule.name.endswith("_") and is_dense(given[rule.names[0]]):
        raise ShapeError("a dense tensor is written to")
    met = {key: _beside(env, x, first) if type(x) is Shape else x for key, x in given.items()}
    return rule(env, **_by_any_row(env, met))


def _reduction(env: ShapeEnv, rule: Rule, given: Given) -> object:
    """Over axes of each row; or over all rows, which is one over their values."""
    dims = given.get("dim", rule.signature.parameters["dim"].default)
    if isinstance(dims, Shape) or "other" in given:
        return _pointwise(env, rule, given)
    ((name, x),) = [(key, x) for key, x in given.items() if isinstance(x, Ragged)]
    if not isinstance(dims, int | list | tuple | None) or isinstance(dims, bool) or given.get("dim") in ((), []):
        raise ShapeError("dim: expected axes")
    axes = all_or(dims, len(x))
    if 0 not in axes:
        return rule(env, **_by_any_row(env, given))
    if x.axis not in axes:
        raise ShapeError(f"{ROWS_MEET}: expected no axis 0, unless axis {x.axis} is reduced too")
    if "dim" in given and dims is not None:
        given = {**given, "dim": tuple([axis - 1 for axis in axes if axis])}
    found = rule(env, **{**given, name: x.values})
    if not given.get("keepdim"):
        return found
    several = found if type(found) is tuple else (found,)
    kept = [Shape((1, *each), dtype=each.dtype) for each in several if isinstance(each, Shape)]
    return tuple(kept) if type(found) is tuple else kept[0]


def _by_axis(env: ShapeEnv, rule: Rule, given: Given) -> object:
    """Along axes of each row."""
    (x,), rank = _tensors(given), len(next(_tensors(given))) + (rule.name == "unsqueeze")
    if given[rule.names[0]] is not x:
        raise ShapeError(f"expected no ragged argument but {rule.names[0]}")
    for name in ("dim", "dim0", "dim1", "start_dim"):
        dims = given.get(name, rule.signature.parameters[name].default) if name in rule.names else ()
        for dim in dims if isinstance(dims, list | tuple) else (dims,):
            axis = axis_of(dim, rank, name) if isinstance(dim, int) else None
            if axis == 0 and rule.name in ("select", "chunk"):
                return _of_rows(env, rule, x, given)
            if axis == 0:
                raise ShapeError(f"{name}={dim}: {ROWS_MEET}")
            if axis is None or axis == x.axis and rule.name in BY_DENSE_AXIS:
                raise ShapeError(f"{name}={dim}: expected a dense axis")
    return rule(env, **_by_any_row(env, given))


def _of_rows(env: ShapeEnv, rule: Rule, x: Ragged, given: Given) -> object:
    """One of the rows, or parts with some of them."""
    if rule.name == "select":
        index = given["index"]
        assert isinstance(index, Int)
        return Shape(x.with_size(x.rows.length_of(index))[1:], dtype=x.dtype)
    counts = rule(env, (x.rows.count,), given["chunks"])
    assert isinstance(counts, tuple)
    parts = x.rows.parts([each[0] for each in counts if isinstance(each, Shape)])
    return Outputs([Ragged(x.of(part), part, dtype=x.dtype) for part in parts])


def _joining(env: ShapeEnv, rule: Rule, given: Given) -> object:
    """`cat` and `gather`: along the ragged axis lengths may differ."""
    _expect_alike(given)
    x, dim = next(_tensors(given)), given.get("dim", 0)
    axis = axis_of(dim, len(x)) if isinstance(dim, int) else 0
    tensors = given["tensors"] if rule.name == "cat" else (given["input"], given["index"])
    assert isinstance(tensors, list | tuple)
    if axis == 0:
        raise ShapeError(f"dim={dim}: {ROWS_MEET}")
    if axis != x.axis and any(map(is_dense, tensors)):
        raise ShapeError(DENSE_MEETS)
    for each in filter(is_dense, tensors):
        agree(env, each[0], x.rows.count, "there are not as many rows")
    return rule(env, **_by_any_row(env, given, lengths=axis != x.axis))


def _inner(env: ShapeEnv, rule: Rule, given: Given) -> object:
    """Over the last axes, as many as `normalized_shape` has or one, none of them ragged."""
    (x,) = _tensors(given)
    wanted = given.get("normalized_shape", (0,))
    if given["input"] is not x or not isinstance(wanted, list | tuple) or x.axis >= len(x) - len(wanted):
        raise ShapeError("expected a ragged axis before those of the operator")
    return rule(env, **_by_any_row(env, given))


def _product(env: ShapeEnv, rule: Rule, given: Given) -> object:
    """Products of matrices; where the sum is along the ragged axis, both have it."""
    given = dict(zip(("input", "other"), given.values(), strict=True))
    for place, (name, x) in enumerate(given.items()):
        other_name = ("other", "input")[place]
        other = given[other_name]
        if isinstance(x, Ragged) and isinstance(other, Shape):
            if not isinstance(other, Ragged):
                given[other_name] = _beside(env, other, x, behind=2)
            if len(other) < 2 or is_dense(other) and x.axis == len(x) - 1 - place:
                raise ShapeError(f"{name}: {DENSE_MEETS}")
    if len({len(x) for x in _tensors(given)}) > 1:
        raise ShapeError("expected as many axes in both")
    return rules["matmul"](env, **_by_any_row(env, given))


def _attention(env: ShapeEnv, rule: Rule, given: Given) -> object:
    """Each row of queries attends to its row of keys; keys and values have the same offsets."""
    query, key, value = given["query"], given["key"], given["value"]
    if given.get("attn_mask") is not None:
        raise ShapeError("attn_mask: expected none")
    is_other = any(x.axis != len(x) - 2 for x in _tensors(given)) or is_dense(key) != is_dense(value)
    if is_other or len({len(x) for x in (query, key, value) if isinstance(x, Shape)}) > 1:
        raise ShapeError("expected as many axes, and the ragged one before the last, in values as in keys")
    plain = _by_any_row(env, given, lengths=False)
    if isinstance(key, Ragged) and isinstance(value, Ragged):
        agree(env, key.rows.length, value.rows.length, "the offsets differ")
        plain["value"] = value.of(key.rows)
    for x in (query, key, value):
        if type(x) is Shape:
            agree(env, x[0], next(_tensors(given)).rows.count, "there are not as many rows")
    return rule(env, **plain)


HANDLERS: Final[dict[str, Handler]] = {
    **dict.fromkeys((*BY_AXIS, *BY_DENSE_AXIS), _by_axis),
    **dict.fromkeys(("layer_norm", "rms_norm", "linear"), _inner),
    **dict.fromkeys(("matmul", "bmm"), _product),
    **dict.fromkeys(("cat", "gather"), _joining),
    "scaled_dot_product_attention": _attention,
}
"""The operators beside pointwise ones, activations and reductions."""
