"""State of Python that outlives a call: closures, containers, attributes, modules, what is printed."""

import collections

import torch

from tests.frontends.pytorch.differential.cases import Family

FAMILY = Family("state")
stateful = FAMILY.stateful


class Plain:
    """An object with attributes."""

    def __init__(self) -> None:
        self.count = 0
        self.last = None
        self.scale = 2.0


@stateful("n m")
def ordered_dictionary():
    table = collections.OrderedDict(a=1, b=2)

    def step(x):
        table.move_to_end("a")
        return x * next(iter(table.values()))

    return step, table


@stateful("n m")
def queue_of_fixed_length():
    last = collections.deque(maxlen=2)

    def step(x):
        last.append(x.detach().sum())
        return x + sum(last)

    return step, last


@stateful("n m")
def printed():
    def step(x):
        print("rows", x.shape[0])
        y = x + 1
        print("done")
        return y

    return step, None


@stateful("n 4")
def growing_cache_of_keys():
    class Attends(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.key = torch.nn.Linear(4, 4)
            self.keys = None

        def forward(self, x):
            new = self.key(x).detach()
            self.keys = new if self.keys is None else torch.cat([self.keys, new])
            return (x @ self.keys.t()).softmax(-1) @ self.keys

    module = Attends()
    return module, module


@stateful("n m")
def bytes_and_arrays():
    marks = bytearray(b"abc")

    def step(x):
        marks[0] += 1
        return x * marks[0]

    return step, marks


@stateful("n m")
def object_is_made_and_kept():
    kept = []

    def step(x):
        plain = Plain()
        plain.count = x.shape[0]
        kept.append(plain)
        return x * sum(each.count for each in kept)

    return step, kept
