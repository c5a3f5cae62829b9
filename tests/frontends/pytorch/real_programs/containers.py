"""Containers as Python has them: dictionaries, lists, sets, named tuples."""

# ruff: noqa: C408, PIE800 - how it is spelled is what is tested

from __future__ import annotations

import collections
from typing import Any, NamedTuple

import torch

from tests.frontends.pytorch.real_programs.running import Call, Compiling, Made, of_one, program

Tensor = torch.Tensor
dictionaries, lists, sets, tuples = map(of_one, ("dictionaries", "lists", "sets", "named tuples"))


@dictionaries
def methods_of_a_dictionary(x: Tensor) -> Tensor:
    table = dict(a=x, b=x * 2)
    table.update(c=x * 3)
    table.setdefault("d", x * 4)
    table.setdefault("a", x * 100)
    popped = table.pop("b")
    table |= {"e": x - 1}
    key, last = table.popitem()
    return sum(table.values()) + popped + last * len(key) + table.get("missing", x) + len(table)


@dictionaries
def an_order_of_insertion(x: Tensor) -> list[object]:
    table = collections.OrderedDict([("b", x), ("a", x + 1), ("c", x + 2)])
    table.move_to_end("b")
    table["a"] = x * 5
    del table["c"]
    return [*table.items()]


@dictionaries
def a_default_for_what_is_missing(x: Tensor) -> dict[str, list[Tensor]]:
    found: dict[str, list[Tensor]] = collections.defaultdict(list)
    for i in range(4):
        found["even" if i % 2 == 0 else "odd"].append(x * i)
    return dict(found)


@dictionaries
def a_counter(x: Tensor) -> Tensor:
    count = collections.Counter("abracadabra")
    return x * count["a"] + count.most_common(1)[0][1] + count["z"]


@dictionaries
def a_chain_of_dictionaries(x: Tensor) -> Tensor:
    options = collections.ChainMap({"scale": 2.0}, {"scale": 3.0, "shift": 1.0})
    return x * options["scale"] + options["shift"]


@dictionaries
def keys_that_are_tuples(x: Tensor) -> Tensor:
    table = {(i, j): x[:, i] * x[:, j] for i in range(2) for j in range(2)}
    return table[0, 1] + table[1, 1] + sum([i for i, j in table])


@dictionaries
def unpacked_into_another(x: Tensor) -> dict[str, Any]:
    return {**{"a": x, "b": 1}, "b": x.shape[0], **{"c": [x, (x + 1,)]}}


@dictionaries
def changed_while_it_is_copied(x: Tensor) -> dict[str, Tensor]:
    table = {"a": x, "b": x + 1, "c": x + 2}
    for name in list(table):
        if name != "b":
            table[name * 2] = table.pop(name) * 2
    return table


@dictionaries
def views_of_a_dictionary(x: Tensor) -> Tensor:
    one, other = {"a": 1, "b": 2}, {"b": 3, "c": 4}
    both = one.keys() & other.keys()
    return x * sum([one[name] * other[name] for name in both]) + len(one.keys() | other.keys()) + ("a" in one)


@program("dictionaries")
def a_dictionary_that_is_given_and_changed(compiling: Compiling) -> Call:
    def f(table: dict[str, Any]) -> Tensor:
        table["y"] = table["x"] * 2
        table["count"] = table.get("count", 0) + 1
        del table["old"]
        return table["y"].sum()

    compiled = compiling(f)

    def call(size: int) -> object:
        table = {"x": torch.randn(size, 4), "old": 1}
        return compiled(table), table

    return call


@lists
def methods_of_a_list(x: Tensor) -> list[Tensor]:
    items = [x * i for i in range(3)]
    items.append(x + 1)
    items.insert(1, x - 1)
    items.extend([x, x * 7])
    popped = items.pop(0)
    items.reverse()
    items += [popped]
    items[1:3] = [x * 9]
    del items[0]
    return items * 2


@lists
def sorted_by_a_key(x: Tensor) -> Tensor:
    names = ["ccc", "a", "bb"]
    names.sort(key=len)
    order = sorted([(3, "x"), (1, "y"), (2, "z")], key=lambda pair: -pair[0])
    return x * len(names[0]) + order[0][0] + names.index("bb") + max(names, key=len).count("c")


@lists
def slices_of_lists(x: Tensor) -> Tensor:
    items = [x * i for i in range(6)]
    return torch.stack(items[::2]) + torch.stack(items[-3:]) + torch.stack(items[4:1:-1])


@lists
def a_queue(x: Tensor) -> list[Tensor]:
    queue = collections.deque([x], maxlen=3)
    for i in range(4):
        queue.append(x + i)
    queue.appendleft(x * 10)
    queue.rotate(1)
    return [*queue, queue.popleft()]


@lists
def compared_as_lists(x: Tensor) -> Tensor:
    if [1, 2, x.shape[1]] == [1, 2, 4] and (1, 2) < (1, 3) and [*x.shape] != [0]:
        return x * 2
    return x


@lists
def a_list_in_itself(x: Tensor) -> Tensor:
    items: list[Any] = [x]
    items.append(items)
    return items[1][1][0] * 2


@program("lists")
def a_list_that_is_given_and_changed(compiling: Compiling) -> Call:
    def f(items: list[Tensor]) -> Tensor:
        items.append(items[0] + items[1])
        items[0] = items[0] * 2
        items.sort(key=lambda each: each.shape[0])
        return items[-1].sum()

    compiled = compiling(f)

    def call(size: int) -> object:
        items = [torch.randn(size, 4), torch.randn(size, 4)]
        first = items[0]
        return compiled(items), items, first

    return call


@program("lists")
def a_list_that_is_given_back(compiling: Compiling) -> Call:
    def f(items: list[Tensor]) -> object:
        return items, items[0] * 2

    compiled = compiling(f)

    def call(size: int) -> object:
        items = [torch.randn(size, 4)]
        got, y = compiled(items)
        return got is items, got[0] is items[0], y

    return call


@sets
def operations_on_sets(x: Tensor) -> Tensor:
    a, b = {1, 2, 3}, frozenset([2, 3, 4])
    a.add(7)
    a.discard(1)
    return x * len(a | b) + sum(a & b) - len(a - b) + (a ^ b == {7, 4}) + a.isdisjoint([9])


@sets
def names_in_a_set(x: Tensor) -> Tensor:
    wanted = {"relu", "exp"}
    for name in ("relu", "tanh", "exp"):
        if name in wanted:
            x = getattr(torch, name)(x)
    return x


@program("sets")
def a_set_that_is_kept(compiling: Compiling) -> Made:
    seen: set[int] = set()

    def f(x: Tensor) -> Tensor:
        seen.add(x.shape[0])
        return x * len(seen)

    compiled = compiling(f)
    return lambda size: compiled(torch.randn(size, 4)), lambda: sorted(seen)


class Point(NamedTuple):
    x: Any
    y: Any = 1.0

    def length(self) -> Any:
        return (self.x**2 + self.y**2) ** 0.5


Pair = collections.namedtuple("Pair", ["first", "second"])


@tuples
def a_named_tuple(x: Tensor) -> object:
    p = Point(x, x + 1)
    q = p._replace(y=x * 2)
    return q, q.length(), Point(x)._asdict()["y"], Pair(*p).second


@program("named tuples")
def a_named_tuple_that_is_given(compiling: Compiling) -> Call:
    compiled = compiling(lambda p: Point(p.y, p.x) if p.x.shape[0] > 3 else p)
    return lambda size: compiled(Point(torch.randn(size, 4), torch.randn(size, 4)))


@tuples
def results_of_torch_by_name(x: Tensor) -> object:
    found = x.max(1)
    values, indices = torch.topk(x, 2)
    return found.values, found.indices, values, indices, torch.sort(x, 0).values, x.std(0)


@tuples
def names_that_are_swapped(x: Tensor) -> tuple[Tensor, Tensor]:
    a, b = x, x + 1
    a, b = b, a + b
    (a, b), c = (b, a), 3
    return a * c, b
