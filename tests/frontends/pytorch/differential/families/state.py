"""State of Python that outlives a call: closures, containers, attributes, modules, what is printed."""

import collections
import dataclasses
import itertools

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


@dataclasses.dataclass
class Settings:
    factor: float = 1.5
    names: list = dataclasses.field(default_factory=list)


@stateful("n m")
def counter_in_a_closure():
    state = {"count": 0}

    def step(x):
        state["count"] += 1
        return x * state["count"]

    return step, state


@stateful("n m")
def nonlocal_number():
    count = 0

    def step(x):
        nonlocal count
        count += 1
        return x + count

    return step, None


@stateful("n m")
def list_grows():
    seen = []

    def step(x):
        seen.append(x.shape[0])
        return x + len(seen)

    return step, seen


@stateful("n m")
def list_of_tensors():
    kept = []

    def step(x):
        kept.append(x.detach().sum(0).sum())
        return torch.stack(kept).sum() * x

    return step, kept


@stateful("n m")
def attribute_counts():
    plain = Plain()

    def step(x):
        plain.count += x.shape[0]
        plain.last = x.detach().mean()
        return x * plain.scale + plain.count

    return step, plain


@stateful("n m")
def scale_is_changed_by_the_call():
    plain = Plain()

    def step(x):
        y = x * plain.scale
        plain.scale = plain.scale * 0.5
        return y

    return step, plain


@stateful("n m")
def ordered_dictionary():
    table = collections.OrderedDict(a=1, b=2)

    def step(x):
        table.move_to_end("a")
        return x * next(iter(table.values()))

    return step, table


@stateful("n m")
def default_dictionary():
    table = collections.defaultdict(int)

    def step(x):
        table[x.shape[0]] += 1
        return x * sum(table.values()), dict(table)

    return step, table


@stateful("n m")
def queue_of_fixed_length():
    last = collections.deque(maxlen=2)

    def step(x):
        last.append(x.detach().sum())
        return x + sum(last)

    return step, last


@stateful("n m")
def counted_names():
    counts = collections.Counter()

    def step(x):
        counts.update(["calls", "sizes"])
        return x + counts["calls"]

    return step, counts


@stateful("n m")
def iterator_in_a_closure():
    numbers = itertools.count(1)

    def step(x):
        return x * next(numbers)

    return step, None


@stateful("n m")
def generator_in_a_closure():
    numbers = (number * number for number in range(2, 100))

    def step(x):
        return x * next(numbers)

    return step, None


@stateful("n m")
def set_of_sizes():
    sizes = set()

    def step(x):
        sizes.add(x.shape[1])
        return x * len(sizes)

    return step, sizes


@stateful("n m")
def settings_of_a_dataclass():
    settings = Settings()

    def step(x):
        settings.names.append("call")
        settings.factor += 1
        return x * settings.factor + len(settings.names)

    return step, settings


@stateful("n m")
def nested_dictionary():
    config = {"model": {"scale": 1.0, "seen": [0]}}

    def step(x):
        config["model"]["scale"] += 0.5
        config["model"]["seen"][0] += 1
        return x * config["model"]["scale"] + config["model"]["seen"][0]

    return step, config


@stateful("n m")
def printed():
    def step(x):
        print("rows", x.shape[0])
        y = x + 1
        print("done")
        return y

    return step, None


@stateful("n m")
def printed_values():
    def step(x):
        y = x.detach().round()
        print(tuple(y.shape), float(y.sum().abs() >= 0))
        return x * 2

    return step, None


@stateful("n m")
def function_attribute():
    def step(x):
        step.calls += 1
        return x * step.calls

    step.calls = 0
    return step, None


@stateful("n m")
def default_argument_is_a_list():
    def step(x, memory=[]):  # noqa: B006
        memory.append(1)
        return x * len(memory)

    return step, None


@stateful("n m")
def cache_by_size():
    cache = {}

    def step(x):
        key = x.shape[1]
        if key not in cache:
            cache[key] = torch.arange(key, dtype=x.dtype)
        return x + cache[key]

    return step, cache


@stateful("n 4")
def running_average():
    class Average(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("mean", torch.zeros(4))
            self.calls = 0

        def forward(self, x):
            self.calls += 1
            self.mean = self.mean * 0.9 + x.detach().mean(0) * 0.1
            return x - self.mean

    module = Average()
    return module, module


@stateful("n 4")
def buffer_in_place():
    class Total(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("total", torch.zeros(4))

        def forward(self, x):
            self.total += x.detach().sum(0)
            return x / (self.total.abs() + 1)

    module = Total()
    return module, module


@stateful("n 4")
def history_of_a_module():
    class Remembers(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(4, 4)
            self.history = []

        def forward(self, x):
            y = self.linear(x)
            self.history.append(y.detach().mean())
            return y * len(self.history)

    module = Remembers()
    return module, module.history


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
def class_attribute():
    class Shared:
        calls = 0

    def step(x):
        Shared.calls += 1
        return x + Shared.calls

    return step, None


@stateful("n m")
def returns_its_state():
    state = []

    def step(x):
        state.append(x.shape[0])
        return x, state

    return step, state


@stateful("n m")
def popped_and_pushed():
    stack = [1, 2, 3, 4, 5, 6]

    def step(x):
        top = stack.pop()
        stack.insert(0, top * 10)
        return x * top

    return step, stack


@stateful("n m")
def bytes_and_arrays():
    marks = bytearray(b"abc")

    def step(x):
        marks[0] += 1
        return x * marks[0]

    return step, marks


@stateful("n m")
def property_with_memory():
    class Reads:
        def __init__(self) -> None:
            self.reads = 0

        @property
        def factor(self):
            self.reads += 1
            return self.reads

    reads = Reads()

    def step(x):
        return x * reads.factor * reads.factor

    return step, None


@stateful("n m")
def object_is_made_and_kept():
    kept = []

    def step(x):
        plain = Plain()
        plain.count = x.shape[0]
        kept.append(plain)
        return x * sum(each.count for each in kept)

    return step, kept
