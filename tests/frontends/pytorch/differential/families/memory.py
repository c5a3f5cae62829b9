"""Results that are one object or share memory, and writes into them."""

import collections
import enum
import functools
import types
import weakref

import torch

from tests.frontends.pytorch.differential.cases import Family

FAMILY = Family("memory")


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Flag(enum.IntFlag):
    A = 1
    B = 2


class Level(enum.IntEnum):
    ONE = 1
    TWO = 2


FAMILY.table(
    {
        "list expand": lambda x: sum(4 * [x]),
        "vmap inplace": lambda x: torch.vmap(torch.Tensor.sin_)(x) is x,
        "unbind": lambda x: x.unbind(0),
        "out returns same": lambda x: (lambda o: torch.sin(x, out=o) is o)(torch.empty_like(x)),
        "weakref of tensor": lambda x: weakref.ref(x)() is x,
        "same dictionary in list": lambda x: (lambda z: [z, z])({"a": x}),
        "same deque": lambda x: (lambda z: (z, z))(collections.deque([x])),
        "inplace on chunk of arg": lambda x: (x.chunk(2)[0].zero_(), x)[1],
        "contiguous same": lambda x: x.contiguous() is x,
        "expand same": lambda x: x.expand_as(x) is x,
        "positive": lambda x: +x is x,
        "real same": lambda x: x.real is x,
        "as_strided": lambda x: x.as_strided((2,), (1,)),
        "select": lambda x: x.select(0, 1),
        "view_as_complex": lambda x: torch.view_as_complex(x[:, :2].contiguous()),
    },
    "n m",
)

FAMILY.table(
    {
        "tensor of a tensor": lambda x: torch.tensor(x).add_(1),
        "dictionary keys views": lambda x: (lambda d: (3 in d.keys(), 5 in d.keys(), {3: 2}.keys() == d.keys()))(
            {3: x}
        ),
        "new shape from rand": lambda x: x.new(torch.rand(5, 8).shape).fill_(1),
        "set add inplace": lambda x: (lambda y: len({y, y.add_(1)}))(x.clone()),
        "is add_": lambda x: x.add_(1) is x,
        "enum returned": lambda x: (x, Colour.BLUE, Flag.A | Flag.B, Level.TWO + 1),
        "tensor split": lambda x: torch.tensor_split(x, 2),
        "chunk": lambda x: x.chunk(3),
        "foreach inplace": lambda x: (lambda items: (torch._foreach_add_(items, 1), items)[1])([x.clone(), x + 1]),
        "out argument": lambda x: torch.add(x, 1, out=torch.empty(0)),
        "out argument same": lambda x: (lambda o: (torch.sin(x, out=o), o))(torch.empty_like(x)),
        "numbers out": lambda x: torch.add(2, 3, out=torch.tensor(0.0)),
        "resize_": lambda x: torch.empty(0).resize_(3).zero_(),
        "set_": lambda x: torch.empty(0).set_(x.clone()),
        "import": lambda x: __import__("math").pi * x,
        "nested function returned": lambda x: (lambda y: x + y)(2),
        "same list twice": lambda x: (lambda z: {"a": z, "b": z})([x]),
        "same tuple": lambda x: (lambda z: [z, z])((x, 1)),
        "same list nested": lambda x: (lambda z: [z, [z, (z,)]])([x + 1, 2]),
        "same empty list": lambda x: (lambda z: (x, z, z))([]),
        "tensor twice": lambda x: (lambda z: (z, z, [z]))(x + 1),
        "partial returned": lambda x: functools.partial(torch.add, x)(1),
        "namespace returned": lambda x: types.SimpleNamespace(a=x, b=[x]),
        "apply_": lambda x: x.clone().apply_(lambda v: v + 1),
        "map_": lambda x: x.clone().map_(x, lambda a, b: a + b),
        "to same": lambda x: x.to(x.dtype) is x,
        "float same": lambda x: x.float() is x,
        "cpu same": lambda x: x.cpu() is x,
        "detach same": lambda x: x.detach() is x,
        "squeeze same": lambda x: x.squeeze() is x,
        "relu_ same": lambda x: x.relu_() is x,
        "requires_grad_": lambda x: x.clone().requires_grad_().requires_grad,
        "copy_ same": lambda x: (lambda y: y.copy_(x) is y)(torch.empty_like(x)),
        "resolve_conj same": lambda x: x.resolve_conj() is x,
        "type_as same": lambda x: x.type_as(x) is x,
        "flatten same": lambda x: x.flatten() is x,
        "detach returned": lambda x: x.detach(),
        "alias returned": lambda x: (x, x[:], x.view(-1)),
        "diagonal": lambda x: x.diagonal(),
        "unfold": lambda x: x.unfold(0, 2, 1),
        "narrow": lambda x: x.narrow(0, 1, 1),
        "movedim": lambda x: x.movedim(0, 1),
        "swapaxes": lambda x: x.swapaxes(0, 1),
        "view dtype": lambda x: x.view(torch.int32),
        "tensor_split index": lambda x: x.tensor_split((1,)),
    },
    "n m",
    thorough=True,
)
