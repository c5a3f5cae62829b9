"""Programs that look at numbers, and programs that fail."""

import itertools
import math

import torch
import torch.nn.functional as F

from tests.frontends.pytorch.differential.cases import Family

FAMILY = Family("data")


FAMILY.table(
    {
        "promote": lambda x: x + 1 if x.dtype == torch.promote_types(torch.int32, torch.float32) else x,
        "float of size": lambda x: x * float(x.shape[0]) + int(x.shape[1] * 1.5),
        "compress dropwhile takewhile": lambda x: (
            list(itertools.compress([x, 1, 2], [1, 0, 1])) + list(itertools.dropwhile(lambda a: a < 2, [1, 2, 3]))
        ),
        "bad attribute": lambda x: x.nothere,
        "bad index": lambda x: x[100],
        "bad call": lambda x: torch.add(x),
        "bad unpack": lambda x: (lambda a, b, c: a)(*x.shape),
        "stop iteration": lambda x: next(iter([])),
        "item integer": lambda x: x.argmax().item(),
        "complex of a tensor": lambda x: complex(x.sum()),
        "allclose": lambda x: torch.allclose(x, x + 1),
        "unique": lambda x: torch.unique(x.round()),
        "one hot": lambda x: F.one_hot(x.abs().long()),
        "sum bools sizes": lambda x: sum((s > 2 for s in x.shape)),
        "size in tuple": lambda x: 3 in x.shape,
        "contains tensor": lambda x: x[0, 0] in x,
        "and tensor": lambda x: x.sum() and 3,
        "math of tensor": lambda x: math.exp(x.sum()),
    },
    "n m",
)

FAMILY.table(
    {
        "range of size as tensor": lambda x: torch.tensor(range(x.size(0))),
        "range plus 2": lambda x: sum((x / (i + 1) for i in range(x.size(0) + 2))),
        "default dtype": lambda x: x + 1 if x.dtype == torch.get_default_dtype() else x,
        "sum of bools": lambda x: x + 1 if sum((s == -1 for s in x.size())) == 0 else x - 1,
        "sum of shape equal": lambda x: x + sum((s == 3 for s in x.size())),
        "math isclose etc": lambda x: (
            math.isnan(float(x.shape[0])),
            math.gcd(x.shape[0], 12),
            math.copysign(2.0, x.shape[0]),
            math.hypot(x.shape[0], 1),
        ),
        "truth of size": lambda x: (bool(x.shape[0]), not x.shape[0], x.shape[0] and 5, x.shape[0] or 7),
        "hex": lambda x: (hex(x.shape[0]), oct(x.shape[0]), bin(x.shape[0])),
        "complex of size": lambda x: x * complex(x.shape[0], 1),
        "batched tensors": lambda x: [a.sum() for a in x.split(2)],
        "tensor truth error": lambda x: 1 if x else 2,
        "float of many": lambda x: float(x),
        "bad shapes": lambda x: x @ torch.ones(99, 3),
        "bad dim": lambda x: x.sum(5),
        "bad key": lambda x: {}["a"],
        "bad view": lambda x: x.view(-1, 1000),
        "bad dtype": lambda x: x & 3,
        "bad reshape of list": lambda x: torch.cat([x, torch.ones(1, 1, 1)]),
        "bad builtin": lambda x: isinstance(x, torch.Tensor, invalid=True),
        "bad module call": lambda x: torch.fft(x),
        "bad type": lambda x: x + "a",
        "bad len": lambda x: len(x.sum()),
        "bad iteration": lambda x: list(x.sum()),
        "bad assert": lambda x: (_ for _ in ()).throw(AssertionError("no")),
        "integer of many": lambda x: int(x),
        "tolist": lambda x: x.tolist(),
        "item": lambda x: x.sum().item(),
        "integer of a tensor": lambda x: int(x.argmax()) + 1,
        "float of a tensor": lambda x: float(x.sum()) * 2,
        "truth of a tensor": lambda x: bool((x > 0).any()),
        "range of tensor": lambda x: list(range(x.argmax())),
        "tensor in list data": lambda x: x.sum() in [1, 2],
        "tensor equal": lambda x: torch.equal(x, x.clone()),
        "is_nonzero": lambda x: x.sum().is_nonzero(),
        "data_ptr": lambda x: x.data_ptr() == x.data_ptr(),
        "storage": lambda x: x.untyped_storage().nbytes(),
        "nonzero": lambda x: torch.nonzero(x > 0),
        "masked": lambda x: x[x > 0],
        "bincount": lambda x: torch.bincount(x.flatten().abs().long()),
        "repeat interleave": lambda x: x.repeat_interleave(torch.arange(x.shape[0]), 0),
        "range of size and shape": lambda x: (range(x.shape[0]), x.shape, x + 1),
        "ternary mixed": lambda x: x.shape[0] if x.shape[0] > 3 else 2.5,
        "any all": lambda x: (any((s > 4 for s in x.shape)), all((s > 2 for s in x.shape))),
        "truth integer": lambda x: int(x.shape[0] > 3) * x,
        "not truth": lambda x: not x.shape[0] > 3,
        "clone of list items": lambda x: [t.clone() for t in x.unbind()],
        "inplace on unbind": lambda x: [t.add_(1) for t in x.clone().unbind()],
        "inplace on split": lambda x: [t.mul_(2) for t in x.split(1)] and x,
        "contains number": lambda x: 0.5 in x,
        "sorted tensor": lambda x: sorted(x[0]),
        "not tensor many": lambda x: not x,
        "integer str tensor": lambda x: int(x.sum() * 0 + 3),
        "hex tensor": lambda x: hex(x.long().sum() * 0 + 3),
        "range tensor": lambda x: list(range(x.long().sum() * 0 + 2)),
        "round number tensor": lambda x: round(x.sum().item(), 2),
        "min key": lambda x: min([x.sum(), x.mean()], key=lambda t: t.item()),
        "if tensor": lambda x: x if x.sum() > 0 else -x,
    },
    "n m",
    thorough=True,
)
