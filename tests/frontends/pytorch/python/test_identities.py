"""Who a result is: the argument itself, the parameter itself, a view of either; and what a program tells by `is`."""

from __future__ import annotations

import copy
import operator
from collections import OrderedDict, deque

import pytest
import torch
from torch.utils._pytree import register_pytree_node

from frontends.pytorch import compile, trace
from frontends.pytorch.errors import EagerOnly

BACKENDS = [("eager", None), ("eager", True), ("cpu", None), ("cpu", True)]


class Owner(torch.nn.Module):
    """With a parameter of two names, a buffer, and a container of tensors."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(2, 3))
        self.register_buffer("mean", torch.full((2, 3), 2.0))
        self.tied = self.weight
        self.tensors = {"mean": self.mean}


OWNER = Owner()
HELD = [torch.arange(3.0)]


def fresh() -> torch.Tensor:
    return torch.arange(6.0).view(2, 3)


def one():
    return (fresh(),)


def twice():
    x = fresh()
    return x, x


def apart():
    return fresh(), fresh()


def in_list():
    return ([fresh()],)


def listed_twice():
    values = [fresh()]
    return values, values


def listed_apart():
    return [fresh()], [fresh()]


def named_twice():
    values = {"a": fresh()}
    return values, values


def nested_twice():
    values = [fresh()]
    return ([values, values],)


def weight():
    return (OWNER.weight,)


def told_by_local(x):
    own = OWNER.weight
    return x * (2 if x is own else 3)


def told_by_loop(x):
    return x * (2 if any(x is own for own in OWNER.parameters()) else 3)


def changed_for_a_while(x, y):
    x.append(1)
    count = len(y)
    x.pop()
    return x[0] * count


def changed_after_it_was_handed_over(x, y):
    sum([each.sum() for each in sorted(x, key=lambda each: 0)])
    x.append(1)
    count = len(y)
    x.pop()
    return x[0] * count


PROGRAMS = {
    "the argument": (lambda x: x, one),
    "the argument with more": (lambda x: (x * 2, x), one),
    "a view": (lambda x: x[0], one),
    "a view of all": (lambda x: x.view_as(x), one),
    "detached": (lambda x: x.detach(), one),
    "data": (lambda x: x.data, one),
    "nothing to convert": (lambda x: (x.to(torch.float32), x.float(), x.contiguous(), x.cpu(), +x, x.conj()), one),
    "expanded to itself": (lambda x: x.expand(2, 3), one),
    "reshaped to itself": (lambda x: x.reshape(2, 3), one),
    "changed in place": (lambda x: x.add_(1), one),
    "given for the result": (lambda x, y: torch.add(x, 1, out=y), apart),
    "a shallow copy": (lambda x: copy.copy(x), one),
    "a shallow copy of a result": (lambda x: copy.copy(x * 2), one),
    "a deep copy": (lambda x: copy.deepcopy(x), one),
    "a copy of a list": (lambda x: (copy.copy(x), list(x)), in_list),
    "a list": (lambda x: x, in_list),
    "a list in a tuple": (lambda x: (x, x[0] + 1), in_list),
    "one tensor twice": (lambda x, y: (x, y, x * (2 if x is y else 3)), twice),
    "two tensors": (lambda x, y: (x, y, x * (2 if x is y else 3)), apart),
    "one result twice": (lambda x: [x * 2] * 2, one),
    "one list twice": (lambda x, y: x[0] * (2 if x is y else 3), listed_twice),
    "two lists": (lambda x, y: x[0] * (2 if x is y else 3), listed_apart),
    "one list twice, given back": (lambda x, y: (x, y), listed_twice),
    "one list twice, changed for a while": (changed_for_a_while, listed_twice),
    "one list twice, handed over and changed": (changed_after_it_was_handed_over, listed_twice),
    "one dictionary twice": (lambda x, y: x["a"] * (2 if x is y else 3), named_twice),
    "one list twice in a list": (lambda x: x[0][0] * (2 if x[0] is x[1] else 3), nested_twice),
    "a list that grows": (lambda x: (x.append(x[0] + 1), x)[1], in_list),
    "a parameter": (lambda x: OWNER.weight, one),
    "a parameter with more": (lambda x: (OWNER.weight, x * OWNER.weight), one),
    "a parameter by another name": (lambda x: (OWNER.tied, x * OWNER.weight), one),
    "parameters": (lambda x: (list(OWNER.parameters()), x * 2), one),
    "a buffer with more": (lambda x: (OWNER.mean, x * OWNER.mean), one),
    "a buffer in a container": (lambda x: (OWNER.tensors["mean"], x * OWNER.weight), one),
    "a view of a parameter": (lambda x: (OWNER.weight[:1], x * OWNER.weight), one),
    "a parameter without its gradient": (lambda x: (OWNER.weight.detach(), x * OWNER.weight), one),
    "a global's tensor": (lambda x: (HELD[0], x * OWNER.weight), one),
    "a parameter that is given": (lambda x: (x, x * 2), weight),
    "a parameter that is given, told by a local": (told_by_local, weight),
    "another that is given, told by a local": (told_by_local, one),
    "a parameter that is given, told in a loop": (told_by_loop, weight),
    "a parameter that has two names": (lambda x: x * (2 if OWNER.weight is OWNER.tied else 3), one),
}


def leaves_of(value: object) -> list[object]:
    if isinstance(value, dict):
        value = list(value.values())
    return [each for item in value for each in leaves_of(item)] if isinstance(value, list | tuple) else [value]


def described(result: object, args: tuple[object, ...]) -> list[object]:
    """Of each tensor that comes out: which of those known it is, its class, memory, base and elements."""
    known = {"weight": OWNER.weight, "mean": OWNER.mean, "held": HELD[0]}
    known |= {f"argument {place}": each for place, each in enumerate(leaves_of(args))}
    containers = {id(each): place for place, each in enumerate(args)}
    found: list[object] = [type(result), containers.get(id(result))]
    if isinstance(result, list | tuple):
        found += [containers.get(id(each)) for each in result if isinstance(each, list | dict)]
    leaves = leaves_of(result)
    for place, each in enumerate(leaves):
        assert isinstance(each, torch.Tensor)
        names = [name for name, value in known.items() if value is each]
        tensors = {name: value for name, value in known.items() if isinstance(value, torch.Tensor)}
        memory = [name for name, value in tensors.items() if value.data_ptr() == each.data_ptr()]
        base = [name for name, value in known.items() if each._base is not None and value is each._base]
        first = next(other for other, value in enumerate(leaves) if value is each)
        found.append((type(each), names, memory, base, first == place, each.requires_grad, each.tolist()))
    return found


@pytest.mark.parametrize(("backend", "dynamic"), BACKENDS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_identity(name: str, backend: str, dynamic: bool | None) -> None:
    """If it fails, a result is another object than eager torch's, or two objects are one (or not) to the program."""
    program, make = PROGRAMS[name]
    compiled = compile(program, backend=backend, dynamic=dynamic)
    for _ in range(3):
        args, given = make(), make()
        assert described(compiled(*given), given) == described(program(*args), args)


@pytest.mark.parametrize("backend", ["eager", "cpu"])
@pytest.mark.parametrize("first", [listed_apart, listed_twice])
def test_containers_of_other_calls(first, backend: str) -> None:
    """If it fails, a graph that was made of two lists runs where one is given twice, or the other way around."""
    program, _ = PROGRAMS["one list twice"]
    compiled = compile(program, backend=backend)
    for make in (first, listed_twice, listed_apart, listed_twice):
        assert torch.equal(compiled(*make()), program(*make()))


class Holder:
    held = HELD


HOLDER = Holder()
NAMED = {"a": HELD}
OUTSIDE = {
    "a global": lambda x, given: x * (2 if given is HELD else 3),
    "not a global": lambda x, given: x * (2 if HELD is not given else 3),
    "an attribute": lambda x, given: x * (2 if given is HOLDER.held else 3),
    "an item": lambda x, given: x * (2 if given is NAMED["a"] else 3),
    "in a loop": lambda x, given: x * (2 if any(given is each for each in NAMED.values()) else 3),
    "operator": lambda x, given: x * (2 if operator.is_(given, HELD) else 3),
    "operator, not": lambda x, given: x * (2 if operator.is_not(HELD, given) else 3),
    "id": lambda x, given: x * (2 if id(given) == id(HELD) else 3),
    "id among others": lambda x, given: x * (2 if id(given) in {id(each): 1 for each in (HELD, NAMED)} else 3),
}


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("name", OUTSIDE)
def test_containers_from_outside(name: str, first: int) -> None:
    """If it fails, a container argument is distinguished from the program's own by its state at another call."""
    program = OUTSIDE[name]
    compiled = compile(program)
    for given in ([[torch.ones(3)], HELD] * 2)[first : first + 3]:
        assert torch.equal(compiled(torch.ones(2), given), program(torch.ones(2), given))


class Box:
    """A container of tensors that is registered with torch's pytree."""

    def __init__(self, values: list[torch.Tensor]) -> None:
        self.values = values


register_pytree_node(Box, lambda box: (box.values, None), lambda values, _: Box(list(values)))
CONTAINERS = {
    "deque": lambda: deque([torch.ones(2)]),
    "deque in a dictionary": lambda: {"a": deque([torch.ones(2)])},
    "registered": lambda: Box([torch.ones(2)]),
    "dictionary in order": lambda: OrderedDict(a=torch.ones(2)),
    "sizes": lambda: torch.Size([2]),
}
INSIDE = lambda given: given["a"] if isinstance(given, dict) and type(given) is dict else given  # noqa: E731
TOLD = {
    "is": lambda x, one, other: x * (2 if INSIDE(one) is INSIDE(other) else 3),
    "id": lambda x, one, other: x * (2 if id(INSIDE(one)) == id(INSIDE(other)) else 3),
    "any": lambda x, one, other: x * (2 if any(INSIDE(one) is each for each in [INSIDE(other)]) else 3),
}


@pytest.mark.parametrize("twice", [True, False])
@pytest.mark.parametrize("name", TOLD)
@pytest.mark.parametrize("make", CONTAINERS.values(), ids=CONTAINERS)
def test_containers_of_all_classes(make, name: str, twice: bool) -> None:
    """If it fails, a graph takes two containers among the arguments for one, or one for two."""
    compiled = compile(TOLD[name])
    kept, x = make(), torch.ones(2)
    calls = [(kept, kept), (make(), kept), (kept, kept)][0 if twice else 1 :]
    for one, other in calls:
        assert torch.equal(compiled(x, one, other), TOLD[name](x, one, other))


@pytest.mark.parametrize("make", CONTAINERS.values(), ids=CONTAINERS)
def test_containers_of_all_classes_from_outside(make) -> None:
    """If it fails, an argument is distinguished from the program's own by its state at another call."""
    kept = make()

    def program(x, given):
        return x * (2 if INSIDE(given) is INSIDE(kept) else 3)

    for calls in ([kept, make(), kept], [make(), kept]):
        compiled = compile(program)
        for given in calls:
            assert torch.equal(compiled(torch.ones(2), given), program(torch.ones(2), given))


def test_sizes_as_an_argument_have_a_graph() -> None:
    """If it fails, a `torch.Size` among the arguments makes the call fall back to eager."""
    compiled = compile(lambda x, sizes: (x.expand(sizes), sizes), fullgraph=True, dynamic=True)
    for sizes in (torch.Size([3, 2]), torch.Size([5, 2])):
        found, given = compiled(torch.ones(2), sizes)
        assert found.shape == sizes and given is sizes
    assert compiled.variants


def test_a_container_made_inside_has_a_graph() -> None:
    """If it fails, a program that tells an argument from what it makes has no graph."""
    compiled = compile(lambda x: x[0] * (2 if x is list(x) else 3), fullgraph=True)
    assert compiled([torch.ones(2)]).tolist() == [3.0, 3.0] and len(compiled.variants) == 1


@pytest.mark.parametrize("backend", ["eager", "cpu"])
def test_a_parameter_at_another_call(backend: str) -> None:
    """If it fails, a graph that was made for another tensor is run for the parameter that the program compares."""
    compiled = compile(told_by_local, backend=backend)
    for given in (torch.nn.Parameter(torch.ones(2, 3)), OWNER.weight, fresh(), OWNER.weight):
        assert torch.equal(compiled(given), told_by_local(given))


@pytest.mark.parametrize("name", ["one list twice", "two lists", "one list twice in a list", "a shallow copy"])
def test_refused(name: str) -> None:
    """If it fails, a graph depends on who an object is, without a guard; or the error does not name the line."""
    program, make = PROGRAMS[name]
    with pytest.raises(EagerOnly, match=r"test_identities\.py"):
        trace(program, make(), shared=True)


@pytest.mark.parametrize("backend", ["eager", "cpu"])
def test_a_parameter_keeps_its_gradient(backend: str) -> None:
    """If it fails, what is computed of a parameter that is a result as well has no gradient, or another."""
    owner = Owner()
    compiled = compile(lambda x: (owner.weight, (x * owner.weight).sum()), backend=backend)
    own, total = compiled(fresh())
    (total + own.sum() * 2).backward()
    assert own is owner.weight
    assert torch.equal(owner.weight.grad, fresh() + 2)
