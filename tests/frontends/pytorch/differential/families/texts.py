"""Text that a program writes: sizes, containers, tensors, modules."""

import collections
import functools
import json
import logging
import math
import pprint
import reprlib
import string
import traceback
import types
import typing

import torch

from tests.frontends.pytorch.differential.cases import Family

FAMILY = Family("texts")

Named = collections.namedtuple("Named", "a b")


class WithDefault(typing.NamedTuple):
    a: torch.Tensor
    b: int = 3


FAMILY.table(
    {
        "template": lambda x: string.Template("$a").substitute(a=3),
        "str scalar": lambda x: str(x.sum()),
        "ordered dictionary text": lambda x: repr(collections.OrderedDict(a=x.shape[0])),
        "exception repr": lambda x: repr(ValueError("a", x.shape[0])),
        "reprlib": lambda x: reprlib.repr([x.shape[0]]),
        "json key": lambda x: json.dumps({str(x.shape[0]): 1}),
        "module text": lambda x: repr(torch.nn.Linear(x.shape[0], 2)),
        "distribution text": lambda x: repr(torch.distributions.Normal(0.0, 1.0)),
        "size floor div negative": lambda x: (-x.shape[0] // 2, -x.shape[0] % 3, x.shape[0] // -2),
    },
    "n m",
)

FAMILY.table(
    {
        "fstring": lambda x: x + 1 if f"{x.shape[0]} bar".startswith("3") else x - 1,
        "fstring class name": lambda x: f"{x.__class__.__name__} foo",
        "fstring sum": lambda x: f"{x.shape[0] + x.shape[1]:>5}|{x.shape}|{x.dim()!r}",
        "contiguous format": lambda x: x + x.is_contiguous(memory_format=torch.contiguous_format),
        "device type": lambda x: (x.device.type, x.device.index, str(x.device), x.is_cpu, x.get_device()),
        "pprint": lambda x: pprint.pformat({"a": x.shape[0]}),
        "set comprehension": lambda x: {i % 2 for i in range(5)},
        "f scalar": lambda x: f"{x.amax()}",
        "percent tensor": lambda x: "%s" % (x,),
        "dictionary text": lambda x: repr({"a": x}),
        "named tuple text": lambda x: repr(Named(x, 1)),
        "named tuple size text": lambda x: (
            repr(Named(x.shape[0], 1)),
            str(WithDefault(x.shape[1])),
            repr(types.SimpleNamespace(a=x.shape[0])),
        ),
        "deque text": lambda x: repr(collections.deque([x.shape[0]])),
        "counter text": lambda x: repr(collections.Counter(a=x.shape[0])),
        "defaultdict text": lambda x: repr(collections.defaultdict(int, a=x.shape[0])),
        "userdict": lambda x: repr(collections.UserDict(a=x.shape[0])),
        "partial text": lambda x: repr(functools.partial(math.pow, x.shape[0])).split(">")[1],
        "template again": lambda x: string.Template("$a").substitute(a=x.shape[0]),
        "formatter": lambda x: string.Formatter().format("{0}", x.shape[0]),
        "pformat list": lambda x: pprint.pformat([x.shape[0], x.shape]),
        "saferepr": lambda x: pprint.saferepr(x.shape[0]),
        "json again": lambda x: json.dumps([x.shape[0], {"a": x.shape[1]}]),
        "torch size text": lambda x: repr(torch.Size([x.shape[0], 3])),
        "dtype text": lambda x: f"{x.dtype} {x.device} {x.layout}",
        "module extra": lambda x: torch.nn.Dropout(0.5).extra_repr(),
        "float text": lambda x: (
            str(x.shape[0] / 2),
            repr(x.shape[0] * 1.5),
            f"{x.shape[0] / 3:.2f}",
            "%.3f" % (x.shape[0] / 3),
        ),
        "truth text": lambda x: (
            str(x.shape[0] > 3),
            f"{x.shape[0] == 3}",
            repr(x.shape[0] < 3),
            f"{x.shape[0] > 1!s}",
        ),
        "log record": lambda x: logging.LogRecord("n", 1, "p", 1, "%s", (x.shape[0],), None).getMessage(),
        "traceback text": lambda x: traceback.format_exception_only(ValueError(x.shape[0])),
        "size mod zero": lambda x: x.shape[0] % (x.shape[1] - x.shape[1]),
        "hsplit": lambda x: x.hsplit(2) if x.shape[1] % 2 == 0 else x,
    },
    "n m",
    thorough=True,
)
