"""What a program writes as text, gives tensors as attributes, and gets back in containers: as eager torch has it."""

import collections
import dataclasses
import json
import pprint
import string
import types

import numpy
import pytest
import torch

from frontends.pytorch import compile

Pair = collections.namedtuple("Pair", ["first", "second"])


class Items(list):
    pass


class Couple(tuple):
    pass


class Ordered(collections.OrderedDict):
    pass


@dataclasses.dataclass
class Record:
    tensor: object
    count: int = 1


def arguments():
    return [torch.linspace(-1.0, 2.0, rows * 2).reshape(rows, 2) for rows in (3, 5, 2, 3)]


def agree(function, calls, **options):
    """Each call gives what eager torch gives, types and all."""
    compiled = compile(function, **options)
    for given in calls:
        expected = outcome(function, given)
        found = outcome(compiled, given)
        assert described(found) == described(expected), f"{given}: {found}, expected {expected}"


def outcome(function, given):
    try:
        return function(*given)
    except Exception as error:
        return type(error).__name__, str(error)


def described(value):
    if isinstance(value, torch.Tensor):
        return type(value), value.tolist(), described(vars(value))
    if isinstance(value, numpy.ndarray | numpy.generic):
        return type(value), value.dtype, value.tolist()
    if isinstance(value, list | tuple):
        return type(value), [described(item) for item in value]
    if isinstance(value, dict):
        return type(value), [(key, described(item)) for key, item in value.items()]
    return type(value), value if isinstance(value, int | float | str | bool) else repr(value)


TEXTS = {
    "a tensor": lambda x: repr(x),
    "a number": lambda x: str(x.sum()),
    "a formatted tensor": lambda x: f"{x}|{x.sum():.1f}",
    "in a list": lambda x: f"{[x, x.shape[0]]}",
    "a dataclass": lambda x: repr(Record(x)),
    "results of a function": lambda x: repr(x.max(0)),
    "a named tuple": lambda x: (repr(Pair(1, x.shape[0])), str(Pair(x.shape[0] * 2, 0))),
    "a namespace": lambda x: repr(types.SimpleNamespace(size=x.shape[0])),
    "containers of the library": lambda x: [repr(made(a=x.shape[0])) for made in (Ordered, collections.UserDict)],
    "a template": lambda x: string.Template("$n rows").substitute(n=x.shape[0]),
    "pprint": lambda x: pprint.pformat({"n": x.shape[0]}),
    "json": lambda x: json.dumps({"n": x.shape[0]}),
    "a layer": lambda x: repr(torch.nn.Linear(x.shape[0], 2)),
}
NUMBERS = {
    "an array of sizes": lambda x: numpy.array(x.shape),
    "sums": lambda x: (numpy.sum(x.shape), numpy.cumsum(x.shape), numpy.max(x.shape)),
    "a root": lambda x: x / numpy.sqrt(x.shape[0]),
    "functions": lambda x: (numpy.ceil(x.shape[0] / 2), numpy.maximum(x.shape[0], 4), numpy.int64(2) * x.shape[0]),
    "the greatest of both kinds": lambda x: (max(x.shape[0], 3.5), min(x.shape[0], 2.5), max(3.0, x.shape[0])),
    "a shift": lambda x: 1 << (x.shape[0] - 3),
    "a quotient": lambda x: 6 // (x.shape[0] - 3),
}
SHARED = {
    "a list": lambda x: (lambda z: [z, {"a": z}])([x + 1]),
    "an empty list": lambda x: (lambda z: (x, z, z))([]),
    "a dictionary": lambda x: (lambda z: [z, z])({"a": x}),
    "a queue": lambda x: (lambda z: (z, [z]))(collections.deque([x])),
}


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("function", [*TEXTS.values(), *NUMBERS.values()], ids=[*TEXTS, *NUMBERS])
def test_text_and_numbers(function, dynamic):
    agree(function, [(x,) for x in arguments()], dynamic=dynamic)


@pytest.mark.parametrize("function", SHARED.values(), ids=SHARED)
def test_a_container_that_is_returned_twice_is_one(function):
    def inner(value):
        values = value.values() if isinstance(value, dict) else value
        return [each for item in values if not isinstance(item, torch.Tensor) for each in (item, *inner(item))]

    compiled = compile(function, dynamic=True)
    for x in arguments():
        found, expected = inner(compiled(x)), inner(function(x))
        one, other = [[id(each) for each in found], [id(each) for each in expected]]
        assert [one.index(each) for each in one] == [other.index(each) for each in other]
    assert not compiled.fallbacks


def test_a_container_of_the_caller_is_returned_as_it_is():
    outside = [3]
    compiled = compile(lambda x, given: (x + 1, outside, given, {"a": given}))
    for given in ([1], [2]):
        _, one, other, inside = compiled(torch.ones(2), given)
        assert one is outside and other is given and inside["a"] is given


@pytest.mark.parametrize("made", [Items, Couple, Ordered, Record])
def test_what_a_broken_call_made_holds_real_tensors(made):
    def function(x):
        value = made(a=x * 2) if made is Ordered else made(x * 2) if made is Record else made([x * 2, x])
        print("", end="")
        return value

    found = compile(function)(torch.ones(2))
    (tensor, *_) = found.values() if made is Ordered else [found.tensor] if made is Record else found
    assert type(found) is made and type(tensor) is torch.Tensor and tensor.tolist() == [2, 2]


def attributed(tensor, **attributes):
    for name, value in attributes.items():
        setattr(tensor, name, value)
    return tensor


def sets_of_argument(x):
    x.seen = x.shape[0]
    return x + x.seen


def sets_of_result(x):
    y = x + 1
    y.kind, y.other = "sum", x
    return y


def sets_between(x):
    y = x + 1
    y.factor = 3
    return y * y.factor, hasattr(y, "factor"), sorted(vars(y))


ATTRIBUTES = {
    "set of an argument": sets_of_argument,
    "set of a result": sets_of_result,
    "set in between": sets_between,
    "read": lambda x: x * getattr(x, "factor", 5),
    "asked for": lambda x: (x + 1 if hasattr(x, "factor") else x, vars(x)),
    "missing": lambda x: x.missing,
}


@pytest.mark.parametrize("backend", ["eager", "cpu"])
@pytest.mark.parametrize("function", ATTRIBUTES.values(), ids=ATTRIBUTES)
def test_attributes_of_tensors(function, backend):
    def given():
        return [torch.ones(3), torch.ones(3), attributed(torch.ones(3), factor=2), attributed(torch.ones(3), factor=7)]

    compiled = compile(function, backend=backend)
    for ours, theirs in zip(given(), given()):
        assert described(outcome(compiled, (ours,))) == described(outcome(function, (theirs,)))
        assert described(ours) == described(theirs)


@pytest.mark.parametrize("backend", ["eager", "cpu"])
def test_attributes_of_tensors_around(backend):
    layer = torch.nn.Linear(2, 2)
    weight = layer.weight
    weight.factor = 1
    table = {"w": attributed(torch.ones(2), factor=1)}

    def reads(x):
        return layer(x) * weight.factor * table["w"].factor

    def counts(x):
        table["w"].factor += 1
        layer.bias.seen = table["w"].factor
        return x * table["w"].factor

    x = torch.ones(2)
    compiled = compile(reads, backend=backend)
    for weight.factor in (1, 2):
        for table["w"].factor in (1, 3):
            assert torch.equal(compiled(x), reads(x))
    counting = compile(counts, backend=backend)
    assert [counting(x)[0].item() for _ in range(3)] == [4, 5, 6] and layer.bias.seen == 6


def test_signs_of_zeros_in_text():
    for dynamic in (None, True):
        function = lambda x, n: (str(n), f"{n:+}", x * n)  # noqa: E731
        agree(function, [(torch.ones(2), n) for n in (1.5, 0.0, -0.0, 2.5, 0.0)], dynamic=dynamic)


def test_sizes_among_arguments_are_sizes():
    def function(s, x):
        return type(s), s, s.numel(), x.new_zeros(s), s[:1], s.count(2)

    agree(function, [(x.shape, x) for x in arguments()], dynamic=True)
    agree(function, [(torch.Size([n]), torch.ones(2)) for n in (2, 3)])


def test_tensors_as_keys():
    def function(table):
        return list(table.values())

    compiled = compile(function)
    for key in (torch.ones(2), 1, torch.ones(3), "a", torch.tensor(1)):
        assert torch.equal(compiled({key: torch.ones(2)})[0], torch.ones(2))


def test_a_product_of_sizes_is_no_number():
    compiled = compile(lambda x: x.reshape(int(numpy.prod(x.shape))), dynamic=True, fullgraph=True)
    assert [compiled(x).shape[0] for x in arguments()] == [6, 10, 4, 6]
    assert len(compiled.variants) == 1


def test_the_first_attribute_of_a_function_is_set_on_every_call():
    def counted(x):
        counted.calls = getattr(counted, "calls", 0) + 1
        return x * counted.calls

    compiled = compile(counted, dynamic=True)
    assert [compiled(torch.ones(size))[0].item() for size in (3, 5, 2)] == [1, 2, 3] and counted.calls == 3


def test_python_that_is_called_with_elements():
    """`apply_` and `map_` go through memory, which neither a tensor of a trace nor one that waits has."""

    def applied(x):
        y = (x * 2).apply_(lambda value: value + 1)
        return y.map_(x + 1, lambda a, b: a * b), y

    agree(applied, [(x,) for x in arguments()])
    agree(applied, [(x.requires_grad_(),) for x in arguments()])
