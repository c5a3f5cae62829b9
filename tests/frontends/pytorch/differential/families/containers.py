"""Arguments and results: containers, named tuples, dataclasses, numbers, nothing; objects made inside."""

import dataclasses
import enum
import functools
import types

import torch

from tests.frontends.pytorch.differential.cases import Family

FAMILY = Family("containers")
program = FAMILY.program


@dataclasses.dataclass
class Result:
    value: torch.Tensor
    note: str = ""


class Mode(enum.Enum):
    DOUBLE = 2
    TRIPLE = 3


class Vector:
    """Overloads operators around a tensor."""

    def __init__(self, value):
        self.value = value

    def __add__(self, other):
        return Vector(self.value + getattr(other, "value", other))

    __radd__ = __add__

    def __matmul__(self, other):
        return (self.value * other.value).sum()

    def __getitem__(self, place):
        return Vector(self.value[place])

    def __len__(self):
        return self.value.shape[0]

    def __iter__(self):
        return iter(self.value)

    def __call__(self, scale):
        return self.value * scale


FAMILY.table(
    {
        "size of an axis": lambda x: (x.size(0), x.size(-1), x.dim(), x.numel()),
        "complex number": lambda x: x * complex(1, 2),
        "dictionary merged": lambda x: {"a": x} | {"b": x * 2},
        "text of sizes": lambda x: f"{x.shape[0]}x{x.shape[1]:03d} {list(x.shape)}",
        "range of a size": lambda x: list(range(x.shape[0])),
        "tensor of sizes": lambda x: torch.tensor([x.shape[0], x.shape[1], 1]),
        "simple namespace": lambda x: types.SimpleNamespace(a=x).a * 2,
        "enumeration": lambda x: x * Mode.TRIPLE.value if Mode(2) is Mode.DOUBLE else x,
        "max of sizes": lambda x: x.new_zeros(max(x.shape), min(x.shape)),
        "as text in a key": lambda x: {f"layer{number}": row for number, row in enumerate(x.unbind(1)[:2])},
    },
    "n m",
)


@program("n m")
def dataclass_is_returned(x):
    return Result(x * 2, note="twice")


@program("n m")
def sum_of_objects(x):
    return sum([Vector(row) for row in x], 0).value


@program("n m", "n m")
def dispatched_by_type(x, y):
    @functools.singledispatch
    def doubled(value):
        return value * 2

    @doubled.register
    def _(value: list):
        return [doubled(each) for each in value]

    return doubled([x, doubled(y)])


@program("n m")
def list_methods(x):
    rows = list(x.unbind(0))
    rows.reverse()
    rows.extend([rows[0] * 2])
    last = rows.pop()
    rows.insert(1, last)
    rows[0], rows[-1] = rows[-1], rows[0]
    del rows[1]
    return rows, len(rows)


@program("n m")
def dictionary_methods(x):
    table = dict.fromkeys("ab", x)
    table.setdefault("c", x + 1)
    table.update(a=x * 3)
    missing = table.get("z", x.shape[0])
    popped = table.pop("b")
    return dict(sorted(table.items(), reverse=True)), missing, popped
