"""The rules that replace Dynamo's: sizes, elements, gradients and deques do in graphs what they do in Python."""

from __future__ import annotations

import asyncio
import collections
import functools
import logging
import re
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch._dynamo import config
from torch._dynamo.exc import Unsupported
from torch._dynamo.variables.constant import CONSTANT_VARIABLE_NONE

from frontends.pytorch import compile
from tests.frontends.pytorch.dynamo.calls import did

SPELLINGS = pytest.mark.parametrize("by", [compile, functools.partial(torch.compile, backend="symshape")])


@pytest.fixture(autouse=True)
def no_entries() -> Iterator[None]:
    """Neither compiled code nor the source that torch sets of the one `None` goes on to another test."""
    torch._dynamo.reset()
    yield
    CONSTANT_VARIABLE_NONE.source = None


class Three:
    """An object that is equal to a number."""

    def __eq__(self, other: object) -> bool:
        return other == 3

    __hash__ = None  # type: ignore[assignment]


class Column:
    """An object with a product."""

    def __init__(self, values: torch.Tensor) -> None:
        self.values = values

    def __matmul__(self, other: Column) -> float:
        return float(self.values.numel() + other.values.numel())


OF_SIZES: dict[str, Callable[[torch.Tensor], object]] = {
    "a size among numbers": lambda x: x.shape[0] in (3, 4),
    "a number among sizes": lambda x: 3 in x.shape,
    "a size among others": lambda x: x.shape[0] not in [x.shape[0] + 1, None, "text"],
    "sizes among sizes": lambda x: x.shape in [(3,), (4,)],
    "a tensor among tensors": lambda x: x in [x],
    "not a number": lambda x: float("nan") in (x.shape[0],),
    "a quotient of sizes": lambda x: (divmod(-x.shape[0], 3), divmod(7, x.shape[0])),
    "sizes in order": lambda x: sorted([x.shape[0], 4, 3], reverse=True),
    "texts in an order of sizes": lambda x: sorted([(4, "a"), (x.shape[0], "b"), (4, "c")], key=lambda it: -it[0]),
    "tuples with sizes in order": lambda x: sorted([(x.shape, "b"), ((4,), "c"), (x.shape, "a")], key=lambda it: it),
    "sizes and floats in order": lambda x: sorted([x.shape[0], 3.5, 2.0], reverse=True),
    "keys that are counted": lambda x: (lambda seen: [sorted("ba", key=lambda it: seen.append(it) or it), seen])([]),
    "the larger of a size and a float": lambda x: (max(x.shape[0], 4.0), max(3.5, x.shape[0], 1), max(4.0, x.shape[0])),
    "the smaller of a size and a float": lambda x: (min(x.shape[0], 4.0), min([x.shape[0] / 2, 2]), x.shape[0] * 0.5),
    "the largest by a key": lambda x: (max(x.shape[0], 4, key=lambda n: -n), min([x.shape[0], 4], key=abs)),
    "the smallest of none": lambda x: (min([n for n in x.shape if n > 3], default=-1), max((), key=len, default=None)),
    "empty or not": lambda x: [bool(each) if each else "empty" for each in ({}.keys(), range(x.shape[0] - 3))],
    "an inverted size": lambda x: (~x.shape[0], x.nbytes + x.itemsize),
    "a power with a modulus": lambda x: (pow(x.shape[0], 2, 5), pow(-x.shape[0], 3, 5), pow(2, 3, -5)),
    "items by name": lambda x: [name for name, _ in sorted({"b": x, "a": x * 2}.items(), reverse=True)],
    "types": lambda x: (torch.can_cast(torch.int, x.dtype), torch.result_type(x, x.shape[0])),
    "an object's product": lambda x: Column(x) @ Column(x),
    "an object among sizes": lambda x: Three() in x.shape,
    "a tensor among numbers": lambda x: x.sum() in [5, 3],
    "a size in a tensor": lambda x: torch.zeros(x.argmax() + 1, 2, dtype=torch.int),
    "elements of a range as arguments": lambda x: ((lambda *given: given)(*range(1, 6, 2)), x.permute(*range(1))),
    "elements of a range of sizes": lambda x: (max(*range(x.shape[0])), [*range(x.shape[0])], 1 in range(3)),
    "a number among tensors": lambda x: (3 in [x.sum()], 4 in (5, x.sum()), 1 in [x.numel(), None]),
}


@pytest.mark.parametrize("name", OF_SIZES)
def test_python_of_sizes(name: str) -> None:
    """`in`, `divmod`, `max` and sorting do what they do in Python; of sizes and tensors themselves, within a graph."""

    def step(x: torch.Tensor) -> object:
        return OF_SIZES[name](x), x + 1

    expected = did(step, None)
    compiled = compile(step, dynamic=True)
    assert did(compiled, None) == expected
    is_graph = name not in ("an object among sizes", "a tensor among numbers")
    assert not is_graph or compiled.graphs and not compiled.breaks and not compiled.fallbacks


@pytest.mark.parametrize("name", ["a number among sizes", "a tensor among numbers"])
def test_torch_still_differs_in_membership(name: str) -> None:
    """Torch still differs from eager: once it is mended, `shape_env/python_rules.py` goes."""

    def step(x: torch.Tensor) -> object:
        return OF_SIZES[name](x), x + 1

    assert did(torch.compile(step, backend="eager", dynamic=True), None) != did(step, None)


def of_one_integer(x: torch.Tensor, place: torch.Tensor) -> object:
    """Elements of a tensor by one of integers, read and changed."""
    y = x * 2
    y[place[0]] = 7
    y[place[1]] = x[place[0]] + 1
    row = x[place[1]]
    row.add_(1)
    return y, row, x + 0


@pytest.mark.parametrize("backend", ["eager", "cpu"])
def test_index_by_a_tensor_of_one_integer(backend: str) -> None:
    """An index in a tensor without axes is a symbol of a graph; negative ones and errors are eager's."""
    # Dynamo keeps the handlers of its own rules
    torch.compile(of_one_integer, backend="eager", dynamic=True)(torch.ones(3, 2), torch.tensor([0, 2]))
    compiled = compile(of_one_integer, backend=backend, dynamic=True)
    for size, places in ((3, (0, 2)), (5, (4, -5)), (4, (-1, 1))):
        given, expected = torch.arange(size * 2.0).reshape(size, 2), torch.arange(size * 2.0).reshape(size, 2)
        place = torch.tensor(places)
        torch.testing.assert_close(compiled(given, place), of_one_integer(expected, place))
        torch.testing.assert_close(given, expected)
    causes = [variant.cause for graph in compiled.graphs for variant in graph.variants]
    assert len(compiled.graphs) == 1 and not compiled.breaks and not compiled.fallbacks, causes
    with pytest.raises(IndexError):
        compiled(torch.ones(3, 2), torch.tensor([3, 0]))


def test_an_element_may_get_a_gradient() -> None:
    """A tensor that gets an element with a gradient requires one."""

    def step(x: torch.Tensor, place: torch.Tensor) -> object:
        made = torch.zeros(3)
        made[place] = x.sum()
        return made, made.requires_grad

    x, place = torch.ones(2, requires_grad=True), torch.tensor(1)
    compiled: Any = compile(step, fullgraph=True)
    (made, has_gradient), (expected, _) = compiled(x, place), step(x, place)  # type: ignore[misc]
    torch.testing.assert_close(made, expected)
    assert has_gradient and made.requires_grad


def test_a_check_whose_message_reads_sizes() -> None:
    """`torch._check` with such a message is part of a graph, and raises it where it fails."""

    def step(x: torch.Tensor) -> torch.Tensor:
        torch._check(x.shape[0] > 2, lambda: f"{x.shape[0]} rows are too few")
        return x + 1

    compiled = compile(step, dynamic=True)
    assert [compiled(torch.ones(size)).shape[0] for size in (3, 5)] == [3, 5]
    assert len(compiled.graphs) == 1 and not compiled.breaks
    with pytest.raises(RuntimeError, match="2 rows are too few"):
        compiled(torch.ones(2))


def test_a_quotient_of_integers_is_not_added() -> None:
    """`addcdiv` of integers is an error: torch's graph has a number until it is mended."""
    fn, ones = lambda x: torch.addcdiv(x, x, x, value=2), torch.ones(3, dtype=torch.int)
    assert torch.equal(torch.compile(fn, backend="eager")(ones), ones * 3)
    with pytest.raises(RuntimeError, match="Integer division"):
        compile(fn)(ones)


@SPELLINGS
def test_a_message_that_is_logged_once(by: Callable[..., Any]) -> None:
    """It is logged at the first call, where torch ends the graph at each."""
    logger: Any = type("Logger", (logging.Logger,), {"once": functools.cache(logging.Logger.warning)})("test")
    seen = list[str]()
    logger.addFilter(lambda record: seen.append(record.getMessage()) is not None)
    compiled = by(lambda x: (logger.once("seen %d", 7), x + 1)[1], fullgraph=True)
    for size in (2, 3, 4):
        assert compiled(torch.ones(size)).tolist() == [2.0] * size
    assert seen == ["seen 7"]


def test_a_deque_keeps_its_limit() -> None:
    """A deque with a limit has the elements that it has in Python, also where another limit comes, or a new deque."""

    def step(x: torch.Tensor, last: collections.deque[int]) -> object:
        last.append(x.shape[0])
        last.appendleft(9)
        last.extend([x.shape[0] + 1])
        return x * sum(last), last, last.maxlen, collections.deque([1, 2, 3], maxlen=2)

    compiled: Any = compile(step, dynamic=True)
    for limit in (2, 3):
        given, expected = collections.deque([1], limit), collections.deque([1], limit)
        for size in (1, 2, 3):
            found, wanted = compiled(torch.ones(size), given), step(torch.ones(size), expected)
            assert repr(found) == repr(wanted) and found[1] is given
        assert compiled.graphs and not compiled.breaks


def cleared_gradients() -> tuple[Callable[..., object], list[torch.Tensor]]:
    """A step that clears gradients, computes new ones, and has a graph break, with its tensors."""
    leaves = [torch.full((3,), float(each), requires_grad=True) for each in (1, 2)]

    def step(x: torch.Tensor) -> object:
        for leaf in leaves:
            leaf.grad = None
        loss = (x * leaves[0]).sum() + (x.exp() * leaves[1]).sum()
        loss.backward()  # type: ignore[no-untyped-call]
        print(end="")
        return loss.detach()

    return step, leaves


@pytest.mark.parametrize("backend", ["eager", "cpu"])
def test_gradients_that_are_cleared(backend: str) -> None:
    """Each leaf gets its own gradient, not that of another leaf from the call before."""
    step, leaves = cleared_gradients()
    compiled = compile(step, backend=backend, dynamic=True)
    for number in range(1, 4):
        x = torch.full((3,), float(number))
        compiled(x)
        torch.testing.assert_close([leaf.grad for leaf in leaves], [x, x.exp()])


def test_torch_still_mixes_gradients() -> None:
    """Torch still mixes them: once it is mended, `var_getattr` of `shape_env/python_rules.py` goes."""
    step, leaves = cleared_gradients()
    with config.patch(trace_autograd_ops=True):
        compiled = torch.compile(step, backend="eager", dynamic=True)
        for number in (1, 2):
            compiled(torch.full((3,), float(number)))
    assert leaves[0].grad is not None and leaves[0].grad.tolist() != [2.0, 2.0, 2.0]


@SPELLINGS
def test_none_after_a_gradient_of_another_capture(by: Callable[..., Callable[..., object]]) -> None:
    """`None` is not what an earlier capture by torch read as `None`: torch shares its source among all captures."""
    step, leaves = cleared_gradients()

    def program(x: torch.Tensor) -> list[object]:
        return [x + len(leaves), None]

    with config.patch(trace_autograd_ops=True):
        torch.compile(step, backend="eager", dynamic=True)(torch.ones(3))
    taken = torch.compile(program, backend="eager")(torch.ones(3))
    assert isinstance(taken[1], torch.Tensor), "torch is right by now: the loop in `python_breaks.run` goes"
    assert by(program)(torch.ones(3))[1] is None


Table = dict[str, int]
OF_KEYS: dict[str, Callable[[Table], object]] = {
    "list": list,
    "unpacked": lambda table: [*table],
    "added to a list": lambda table: [0, *table, 1],
    "tuple": tuple,
    "joined": ",".join,
    "copied": lambda table: list({**table}.items()),
    "passed": lambda table: (lambda **given: list(given.values()))(**table),
    "text": str,
    "merged": lambda table: list((table | {"c": 1}).items()),
    "truth": lambda table: (not table, bool(table)),
    "iterated": lambda table: [key * 2 for key in table],
}
TABLES: list[Table] = [{"a": 1, "b": 2}, {"b": 2, "a": 1}, {"d": 1, "e": 2}, {"a": 1}, {}, {"a": 1, "b": 2, "c": 3}]


@SPELLINGS
@pytest.mark.parametrize("name", OF_KEYS)
def test_keys_of_a_dictionary_are_guarded(name: str, by: Callable[..., Any]) -> None:
    """What a program reads of the keys of an argument follows them in later calls, their order too."""
    compiled = by(lambda x, table: (x + 1, OF_KEYS[name](table)))
    for table in [*TABLES, *reversed(TABLES)]:
        assert compiled(torch.ones(2), dict(table))[1] == OF_KEYS[name](table)


OF_ATTRIBUTES: list[Callable[[Any], object]] = [
    lambda it: ("a" in it.__dict__, "b" in vars(it)),
    lambda it: [*vars(it)],
    lambda it: list(it.__dict__.items()),
    lambda it: (setattr(it, "w", 2), [*vars(it)]),
    lambda it: (vars(it).pop("a", None), len(vars(it))),
]


@SPELLINGS
@pytest.mark.parametrize("read", OF_ATTRIBUTES)
def test_names_of_attributes_are_guarded(read: Callable[[Any], object], by: Callable[..., Any]) -> None:
    """What a program reads of an object's `__dict__` follows its names, which other calls and objects change."""
    compiled = by(lambda x, it: (x + 1, read(it)))
    for table in [*TABLES, *reversed(TABLES)]:
        ours, pythons = SimpleNamespace(**table), SimpleNamespace(**table)
        assert compiled(torch.ones(2), ours)[1] == read(pythons) and [*vars(ours)] == [*vars(pythons)]


def test_torch_still_forgets_keys() -> None:
    """Torch reads the keys of the first call, a range's bounds, and no truth: once mended, these rules can go."""
    keys = torch.compile(lambda x, table: (x + 1, [*table]), backend="eager")
    assert [keys(torch.ones(2), table)[1] for table in TABLES[1:3]] == [["b", "a"], ["b", "a"]]
    bounds = torch.compile(lambda x: (x + 1, (lambda *given: given)(*range(3))), backend="eager")
    assert bounds(torch.ones(2))[1] == (0, 3, 1)
    truth = torch.compile(lambda x: (x + 1, "some" if {}.keys() else "none"), backend="eager")
    assert truth(torch.ones(2))[1] == "some"


async def doubled(x: torch.Tensor) -> torch.Tensor:
    return x * 2


async def twice(x: torch.Tensor) -> torch.Tensor:
    await asyncio.sleep(0)
    return x * 2


COROUTINES: list[Callable[[torch.Tensor], torch.Tensor]] = [
    lambda x: asyncio.run(doubled(x)),
    lambda x: asyncio.run(doubled(x + 1)) + 1,
    lambda x: (print(end=""), asyncio.run(twice(x + 1)))[1],
]


@SPELLINGS
@pytest.mark.parametrize("function", COROUTINES)
def test_coroutines_are_made_by_python(function: Callable[..., Any], by: Callable[..., Any]) -> None:
    """A coroutine function makes a coroutine, which Python runs, also after a graph break."""
    compiled = by(function)
    for size in (2, 3, 4):
        assert compiled(torch.ones(size)).equal(function(torch.ones(size)))


def test_a_coroutine_function_is_not_one_graph() -> None:
    """A coroutine function that is compiled runs as Python, with the reason; `fullgraph` is an error."""
    compiled = compile(doubled)
    assert asyncio.run(compiled(torch.ones(3))).equal(torch.full([3], 2.0))
    reason = compiled.fallbacks[0].reason
    assert re.fullmatch(r"Unsupported: a coroutine    \(test_python_rules.py:\d+ in doubled\)", reason)
    with pytest.raises(Unsupported, match="a coroutine"):
        compile(doubled, fullgraph=True)(torch.ones(3))
    taken = torch.compile(lambda x: (x, doubled(x)), backend="eager")(torch.ones(3))[1]
    assert isinstance(taken, torch.Tensor), "torch makes coroutines by now: `return_generator` goes"
