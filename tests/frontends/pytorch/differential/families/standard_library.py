"""The standard library and built-in functions around tensors."""

import collections
import copy
import enum
import functools
import heapq
import inspect
import itertools
import operator
import os
import re
import sys
import types
import typing

import torch
from torch.utils import _pytree as pytree

from tests.frontends.pytorch.differential.cases import Family

FAMILY = Family("standard library")


class Plain:
    a = 1


class Couple(typing.NamedTuple):
    first: torch.Tensor
    second: torch.Tensor

    def both(self):
        return self.first + self.second

    @staticmethod
    def seven():
        return 7

    @classmethod
    def named(cls):
        return cls.__name__


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


@functools.lru_cache
def doubled_once(y):
    return y * 2


Named = collections.namedtuple("Named", "a b")

FAMILY.table(
    {
        "hasattr fields": lambda x: (
            x + (hasattr(Couple(x, x), "_fields") and isinstance(Couple(x, x), tuple)) + hasattr(x.shape, "_fields")
        ),
        "fromkeys": lambda x: collections.defaultdict.fromkeys(iter("ab"), x),
        "type to half": lambda x: x.type(x.to(torch.float16).type()),
        "tuple iadd": lambda x: operator.iadd((x,), (x + 1,)),
        "partial attributes": lambda x: (lambda p: (p.func is torch.mul, p.args, p.keywords, p(x)))(
            functools.partial(torch.mul, other=2)
        ),
        "pos": lambda x: operator.pos(x) * +3,
        "frozenset of frozenset": lambda x: len(frozenset(frozenset({x}))),
        "zip strict bad": lambda x: [a + b for a, b in zip([x, x], [1], strict=True)],
        "iter sentinel": lambda x: (lambda items: [x * v for v in iter(items.pop, 1)])([1, 2, 3]),
        "count step": lambda x: [x * c for c, _ in zip(itertools.count(1, 2), range(3))],
        "attrgetter": lambda x: operator.attrgetter("shape")(x),
        "locals": lambda x: sorted(locals()),
        "cmp_to_key": lambda x: sorted([3, 1, 2], key=functools.cmp_to_key(lambda a, b: b - a)),
        "sys version": lambda x: x * sys.version_info[0],
        "typing cast": lambda x: typing.cast(int, x),
        "lambda name": lambda x: (lambda: 0).__name__,
        "globals": lambda x: globals()["K"] * x,
        "adjoint": lambda x: x.adjoint(),
    },
    "n m",
)

FAMILY.table(
    {
        "lru cached number": lambda x: x * doubled_once(4),
        "object equal": lambda x: (
            x.sin() if Plain() != None and (not Plain() == Plain()) and (Plain() != Plain()) else -1  # noqa: E711
        ),
        "onnx export": lambda x: x - 1 if torch.onnx.is_in_onnx_export() else x + 1,
        "jit scripting": lambda x: x - 1 if torch.jit.is_scripting() or torch.jit.is_tracing() else x + 1,
        "setdefault": lambda x: (lambda d: (d.setdefault("a", 3), d.setdefault("b"), d))({"a": x}),
        "callable": lambda x: (callable(lambda: 1), callable(torch.abs), callable(sum), callable(x), callable(Plain)),
        "is floating": lambda x: (torch.is_floating_point(x + 1), torch.is_floating_point(input=x), x.is_complex()),
        "type class": lambda x: x.type(torch.HalfTensor),
        "type of a tensor": lambda x: x.type(),
        "list imul": lambda x: operator.imul([x], 3),
        "named tuple methods": lambda x: (
            Couple(x, x + 1).both(),
            Named.seven(),
            Couple(x, x).named(),
            Couple(x, x)._asdict(),
            Couple(x, x)._replace(first=x + 3),
        ),
        "filter by data": lambda x: sum(filter(lambda t: t[0, 0] > 0, [x, -x]), x),
        "compare constant": lambda x: [
            op(-10, x) for op in (operator.lt, operator.le, operator.gt, operator.ge, operator.ne, operator.eq)
        ],
        "truth of list": lambda x: operator.truth([x]),
        "length hint": lambda x: operator.length_hint([x, x]),
        "range slices": lambda x: (range(10)[2:8:3], range(10, 20, 2)[2], x * range(5)[-1], list(range(4)[::-1])),
        "frozenset add": lambda x: frozenset((1,)).add(2),
        "vmap": lambda x: torch.vmap(lambda a: a.sin() * a.sum())(x),
        "enum": lambda x: x * (Colour.RED.value if Colour["RED"] is Colour(1) else 9),
        "enum as key": lambda x: {Colour.RED: x, Colour.BLUE: 1},
        "copy of list": lambda x: copy.copy([x, x]),
        "tee": lambda x: [a + b for a, b in zip(*itertools.tee([x, x + 1]))],
        "repeat": lambda x: sum(itertools.repeat(x, 3)),
        "heap": lambda x: (lambda h: (heapq.heapify(h), heapq.heappop(h), x)[1])([3, 1, 2]),
        "regex": lambda x: x * int(re.match("items(\\d+)", "l3").group(1)),
        "itemgetter": lambda x: operator.itemgetter(0)([x]),
        "methodcaller": lambda x: operator.methodcaller("sum", 1)(x),
        "operator setitem": lambda x: (lambda d: (operator.setitem(d, "a", x), d)[1])({}),
        "mapping proxy": lambda x: types.MappingProxyType({"a": x})["a"],
        "user dictionary": lambda x: collections.UserDict(a=x)["a"],
        "isinstance abc": lambda x: (
            isinstance([x], collections.abc.Sequence),
            isinstance(x, collections.abc.Iterable),
            isinstance(x, collections.abc.Hashable),
        ),
        "isinstance union": lambda x: isinstance(x, torch.Tensor | int),
        "new attribute of intermediate": lambda x: (lambda y: (setattr(y, "foo", 42), y)[1])(x + 1),
        "grad set of intermediate": lambda x: (lambda y: (setattr(y, "grad", torch.ones_like(y)), y)[1])(x + 1),
        "singledispatch": lambda x: functools.singledispatch(lambda a: a + 1)(x),
        "os environ": lambda x: x * len(os.environ.get("NOTTHERE", "ab")),
        "sys modules": lambda x: x * ("torch" in sys.modules),
        "sys maxsize": lambda x: x * (sys.maxsize > 2**32),
        "path join": lambda x: os.path.join("a", "b"),
        "get type hints": lambda x: typing.get_type_hints(Couple)["first"] is torch.Tensor,
        "frame": lambda x: sys._getframe().f_code.co_name,
        "current frame locals": lambda x: sorted(inspect.currentframe().f_locals),
        "code attributes": lambda x: (lambda a, b: 0).__code__.co_argcount,
        "eval": lambda x: eval("1 + 2") * x,
        "exec": lambda x: (exec("y = 3", (d := {})), d["y"] * x)[1],
        "pytree map": lambda x: pytree.tree_map(lambda t: t * 2, {"a": x, "b": (x, [x])}),
        "pytree flatten": lambda x: pytree.tree_flatten([x, {"a": x}])[0],
        "tensor iadd in list": lambda x: (lambda items: (operator.iadd(items[0], 1), items)[1])([x]),
        "searchsorted": lambda x: torch.searchsorted(torch.tensor([0.0, 1.0]), x),
        "round of a tensor": lambda x: round(x, 1) if hasattr(x, "__round__") else x,
        "zip tensor": lambda x: [a + b for a, b in zip(x, x)],
        "index float": lambda x: x[int(1.5)],
        "while data": lambda x: (lambda f: f(f, x))(lambda f, y: y if y.abs().max() > 5 else f(f, y * 2)),
    },
    "n m",
    thorough=True,
)
