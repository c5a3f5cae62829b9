"""Programs that change something besides tensors: each makes its state anew, and tells what has become of it."""

import argparse
import array
import atexit
import bisect
import collections
import contextvars
import ctypes
import dataclasses
import functools
import gc
import heapq
import io
import itertools
import logging
import operator
import os
import queue
import random
import subprocess
import sys
import threading
import time
import types
import typing
import warnings
import weakref
from pathlib import Path

import numpy
import torch

Made = tuple[typing.Callable[[torch.Tensor], object], typing.Callable[[], object]]
CHANGING: dict[str, typing.Callable[[Path], Made]] = {}
"""By name: a function of a folder that gives the program, and what tells of its state."""
KEEPING: dict[str, typing.Callable[[], typing.Callable[[torch.Tensor], object]]] = {}
"""Programs that change only what is their own: whole graphs."""


def changing(make):
    CHANGING[make.__name__] = make
    return make


def keeping(make):
    KEEPING[make.__name__] = make
    return make


def on(name: str, make, change, tell=repr) -> None:
    """A program that makes one call of `change` on what `make` gives."""

    def made(folder: Path) -> Made:
        state = make()

        def program(x):
            change(state, x.dim())
            return x * 2

        return program, lambda: tell(state)

    CHANGING[name] = made


class Slotted:
    __slots__ = ("absent", "count", "inner")

    def __init__(self):
        self.count = 0
        self.inner = []


class SlottedWithMore(Slotted):
    pass


class Plain:
    shared: typing.ClassVar[list[int]] = []

    def __init__(self, **values):
        vars(self).update(values)

    def __repr__(self):
        return f"Plain({vars(self)})"

    def counts(self):
        self.count = getattr(self, "count", 0) + 1

    @functools.cached_property
    def once(self):
        return 3


class Hashed:
    """A key that holds state."""

    def __init__(self):
        self.count = 0

    def __hash__(self):
        return 1

    def __eq__(self, other):
        return self is other


class Logging:
    """Notes what is set on it."""

    def __init__(self):
        object.__setattr__(self, "seen", [])

    def __setattr__(self, name, value):
        self.seen.append((name, value))


@dataclasses.dataclass
class Record:
    count: int = 0
    values: list = dataclasses.field(default_factory=list)


def add(owner, number, name="count"):
    setattr(owner, name, getattr(owner, name, 0) + number)


def extended(values, number):
    values += [number]


def merged(values, number):
    values |= {number: len(values)}


def deep(value, levels: int):
    for _ in range(levels):
        value = [{"in": (value,)}]
    return value


def inside(value, levels: int):
    for _ in range(levels):
        value = value[0]["in"][0]
    return value


def slots(value):
    return {name: getattr(value, name, None) for name in Slotted.__slots__}


on("slot", Slotted, lambda s, n: add(s, n), slots)
on("slot of a base", SlottedWithMore, lambda s, n: add(s, n), slots)
on("slot that was empty", Slotted, lambda s, n: setattr(s, "absent", n), slots)
on(
    "slot deleted",
    lambda: [Slotted() for _ in range(9)],
    lambda s, n: delattr(next(each for each in s if hasattr(each, "count")), "count"),
    lambda s: list(map(slots, s)),
)
on("list in a slot", Slotted, lambda s, n: s.inner.append(n), slots)
on("nine levels deep", lambda: deep(Plain(count=0), 9), lambda s, n: inside(s, 9).counts())
on("list nine levels deep", lambda: deep([], 9), lambda s, n: inside(s, 9).append(n))
on("large list", lambda: list(range(2000)), lambda s, n: operator.setitem(s, 1700, s[1700] + n))
on("large dict", lambda: dict.fromkeys(range(2000), 0), lambda s, n: s.__setitem__(1700, s[1700] + n))
on("large set", lambda: set(range(2000)), lambda s, n: (s.add(len(s) + 1), s.discard(min(s))), sorted)
on("object as a key", lambda: {Hashed(): 1}, lambda s, n: add(next(iter(s)), n), lambda s: [key.count for key in s])
on("object in a set", lambda: {Hashed()}, lambda s, n: [add(each, n) for each in s], lambda s: [key.count for key in s])
on("queue rotated", lambda: collections.deque(range(5)), lambda s, n: s.rotate(1))
on("queue from the left", lambda: collections.deque(range(5)), lambda s, n: s.append(s.popleft()))
on("full queue", lambda: collections.deque([1, 1, 1], maxlen=3), lambda s, n: s.append(s[-1] + n))
on(
    "OrderedDict moved",
    lambda: collections.OrderedDict.fromkeys("abc"),
    lambda s, n: s.move_to_end(next(iter(s))),
    list,
)
on("order of a dict", lambda: dict.fromkeys("abc"), lambda s, n: s.__setitem__(*((k := next(iter(s))), s.pop(k))), list)
on("defaultdict read", lambda: collections.defaultdict(list), lambda s, n: s[len(s)])
on("Counter", collections.Counter, lambda s, n: s.update("ab"))
on("Counter counts", collections.Counter, lambda s, n: s.__setitem__("a", s["a"] + n))
on("UserDict", collections.UserDict, lambda s, n: s.__setitem__(len(s), n))
on("UserList", collections.UserList, lambda s, n: s.append(n))
on("ChainMap", lambda: collections.ChainMap({}, {"a": 1}), lambda s, n: s.__setitem__(len(s), n))
on(
    "equal element of a set",
    lambda: {1},
    lambda s, n: (lambda e: (s.clear(), s.add(1.0 if e is int else 1)))(type(min(s))),
)
on("list sorted", lambda: [3, 1, 2], lambda s, n: s.sort() if s[0] == 3 else s.reverse())
on("list in place", list, extended)
on("dict in place", dict, merged)
on("slice of a list", lambda: [0, 0, 0], lambda s, n: s.__setitem__(slice(1, 2), [s[1] + n, 9]))
on("heap", lambda: [5, 6], lambda s, n: heapq.heappush(s, len(s)))
on("insort", lambda: [5, 6], lambda s, n: bisect.insort(s, len(s)))
on("map of append", list, lambda s, n: list(map(s.append, [n, n])))
on("sort key of append", list, lambda s, n: sorted([2, 1], key=lambda item: s.append(item) or item))
on(
    "partial of append",
    lambda: (lambda s: [s, functools.partial(s.append, 7)])([]),
    lambda s, n: s[1](),
    lambda s: s[0],
)
on("unbound append", list, lambda s, n: list.append(s, n))
on("method kept", lambda: (lambda s: [s, s.append])([]), lambda s, n: s[1](n), lambda s: s[0])
on("bytearray", lambda: bytearray(3), lambda s, n: s.__setitem__(0, s[0] + 1))
on("bytearray grows", bytearray, lambda s, n: s.append(n))
on("array", lambda: array.array("i", [0, 1]), lambda s, n: s.__setitem__(0, s[0] + 1))
on(
    "memoryview",
    lambda: (lambda b: [b, memoryview(b)])(bytearray(3)),
    lambda s, n: s[1].__setitem__(0, s[1][0] + 1),
    lambda s: bytes(s[0]),
)
on("element of NumPy", lambda: numpy.zeros(3), lambda s, n: s.__setitem__(1, s[1] + 1))
on("large array of NumPy", lambda: numpy.zeros(3000), lambda s, n: s.__setitem__(2900, s[2900] + 1), lambda s: s.sum())
on("NumPy in place", lambda: [numpy.zeros(3)], lambda s, n: numpy.add(s[0], 1, out=s[0]))
on("NumPy copied", lambda: [numpy.zeros(3)], lambda s, n: numpy.copyto(s[0], s[0] + 1))
on("ctypes", lambda: (ctypes.c_int * 3)(), lambda s, n: s.__setitem__(0, s[0] + 1), list)
on(
    "generator",
    lambda: (lambda i: [i, []])(number for number in range(9)),
    lambda s, n: next(s[0]),
    lambda s: next(s[0]),
)
on("count", itertools.count, lambda s, n: next(s), lambda s: next(s))
on(
    "iterator in a loop",
    lambda: [iter(range(20))],
    lambda s, n: next((each for each in s[0] if each > 3), 0),
    lambda s: next(s[0], None),
)
on("iterator in zip", lambda: [iter(range(20))], lambda s, n: list(zip("ab", s[0])), lambda s: next(s[0]))
on("iterator unpacked", lambda: [iter(range(40))], lambda s, n: list(itertools.islice(s[0], 3)), lambda s: next(s[0]))
on(
    "context variable",
    lambda: contextvars.ContextVar("number", default=0),
    lambda s, n: s.set(s.get() + n),
    lambda s: s.get(),
)
on("local of a thread", threading.local, lambda s, n: add(s, n), vars)
on("SimpleNamespace", types.SimpleNamespace, lambda s, n: add(s, n))
on("argparse", argparse.Namespace, lambda s, n: add(s, n))
on("queue", queue.Queue, lambda s, n: s.put(n), lambda s: list(s.queue))
on("queue in C", queue.SimpleQueue, lambda s, n: s.put(n), lambda s: s.qsize())
on("lock", threading.Lock, lambda s, n: s.release() if s.locked() else s.acquire(), lambda s: s.locked())
on("text in memory", io.StringIO, lambda s, n: s.write("a"), lambda s: s.getvalue())
on("printed to a text", io.StringIO, lambda s, n: print("a", file=s), lambda s: s.getvalue())
on(
    "environment",
    dict,
    lambda s, n: os.environ.__setitem__("SYMSHAPE_TEST", os.environ.get("SYMSHAPE_TEST", "") + "a"),
    lambda s: os.environ.pop("SYMSHAPE_TEST", None),
)
on("sys.path", lambda: len(sys.path), lambda s, n: sys.path.append("nowhere"), lambda s: len(sys.path) - s)
on(
    "modules",
    dict,
    lambda s, n: sys.modules.__setitem__("nothing at all", n),
    lambda s: sys.modules.pop("nothing at all", 0),
)
on(
    "attribute of a module",
    dict,
    lambda s, n: add(operator, n, "symshape_count"),
    lambda s: vars(operator).pop("symshape_count", 0),
)
on(
    "recursion limit",
    sys.getrecursionlimit,
    lambda s, n: sys.setrecursionlimit(sys.getrecursionlimit() + 1),
    lambda s: (lambda now: (sys.setrecursionlimit(s), now - s))(sys.getrecursionlimit())[1],
)
on(
    "collector",
    gc.isenabled,
    lambda s, n: gc.set_threshold(gc.get_threshold()[0] + 1, 10, 10),
    lambda s: (lambda now: (gc.set_threshold(700, 10, 10), now))(gc.get_threshold())[1],
)
on(
    "at exit",
    list,
    lambda s, n: atexit.register(s.append, n),
    lambda s: atexit._ncallbacks() > 0 and (atexit.unregister(s.append)),
)
on(
    "handlers of a logger",
    lambda: logging.Logger("made"),
    lambda s, n: s.addHandler(logging.NullHandler()),
    lambda s: len(s.handlers),
)
on("level of a logger", lambda: logging.Logger("made", 1), lambda s, n: s.setLevel(s.level + 1), lambda s: s.level)
on(
    "filters of warnings",
    lambda: len(warnings.filters),
    lambda s, n: warnings.filters.insert(0, warnings.filters[0]),
    lambda s: [warnings.filters.pop(0) for _ in range(len(warnings.filters) - s)] and 1,
)
on("attribute of a function", lambda: lambda: 0, lambda s, n: add(s, n), vars)
on("defaults of a function", lambda: lambda a=0: a, lambda s, n: setattr(s, "__defaults__", (s() + n,)), lambda s: s())
on(
    "keywords of a function",
    lambda: lambda *, a=0: a,
    lambda s, n: setattr(s, "__kwdefaults__", {"a": s() + n}),
    lambda s: s(),
)
on("own __setattr__", Logging, lambda s, n: setattr(s, "a", n), lambda s: s.seen)
on("object.__setattr__", Plain, lambda s, n: object.__setattr__(s, "a", getattr(s, "a", 0) + n))
on("vars", Plain, lambda s, n: vars(s).update(a=len(vars(s)), b=n, **{f"c{len(vars(s))}": 1}))
on("cached_property", Plain, lambda s, n: s.once)
on("class", lambda: type("Made", (), {"count": 0}), lambda s, n: add(s, n), lambda s: s.count)
on(
    "class of an object",
    lambda: type("Made", (), {"count": 0})(),
    lambda s, n: add(type(s), n),
    lambda s: type(s).count,
)
on("private name", lambda: type("Made", (), {"_count": 0}), lambda s, n: add(s, n, "_count"), lambda s: s._count)
on("dataclass", Record, lambda s, n: (add(s, n), s.values.append(n)))
on(
    "weak dictionary",
    lambda: [[Hashed() for _ in range(9)], weakref.WeakKeyDictionary()],
    lambda s, n: s[1].__setitem__(s[0][len(s[1])], n),
    lambda s: len(s[1]),
)
on(
    "weak set",
    lambda: [[Hashed() for _ in range(9)], weakref.WeakSet()],
    lambda s, n: s[1].add(s[0][len(s[1])]),
    lambda s: len(s[1]),
)
on("weakly held", lambda: (lambda p: [p, weakref.ref(p)])(Plain(count=0)), lambda s, n: s[1]().counts(), lambda s: s[0])
on("shuffled", lambda: [list(range(9)), random.Random(3)], lambda s, n: s[1].shuffle(s[0]), lambda s: s[0])
on("attribute of a parameter", lambda: torch.nn.Parameter(torch.ones(2)), lambda s, n: add(s, n), vars)
on(
    "state of an optimizer",
    lambda: torch.optim.SGD([torch.nn.Parameter(torch.ones(2))], lr=1.0),
    lambda s, n: s.param_groups[0].__setitem__("lr", s.param_groups[0]["lr"] * 0.5),
    lambda s: s.param_groups[0]["lr"],
)
on(
    "group of an optimizer",
    lambda: torch.optim.SGD([torch.nn.Parameter(torch.ones(2))], lr=1.0),
    lambda s, n: s.add_param_group({"params": [torch.nn.Parameter(torch.ones(2))]}),
    lambda s: len(s.param_groups),
)
on(
    "buffer registered",
    lambda: [torch.nn.Linear(2, 2)],
    lambda s, n: s[0].register_buffer(f"b{len(s[0]._buffers)}", None),
    lambda s: list(s[0]._buffers),
)
on(
    "buffer deleted",
    lambda: [torch.nn.BatchNorm1d(2)],
    lambda s, n: s[0]._buffers.popitem() if s[0]._buffers else 0,
    lambda s: list(s[0]._buffers),
)
on(
    "hook of a module",
    lambda: [torch.nn.Linear(2, 2)],
    lambda s, n: s[0].register_forward_hook(len) and None,
    lambda s: len(s[0]._forward_hooks),
)
on(
    "mode of a module",
    lambda: [torch.nn.Linear(2, 2)],
    lambda s, n: s[0].train(not s[0].training),
    lambda s: s[0].training,
)


@changing
def cell_of_a_function_in_an_object(folder):
    count = 0

    def counts():
        nonlocal count
        count += 1

    held = Plain(run=[{"call": counts}])

    def program(x):
        held.run[0]["call"]()
        return x + 1

    return program, lambda: count


@changing
def state_of_a_descriptor(folder):
    class Counted:
        count = 0

        def __get__(self, instance, owner):
            self.count += 1
            return 2

    counted = Counted()
    holder = type("Holder", (), {"size": counted})()

    def program(x):
        return x * holder.size

    return program, lambda: counted.count


@changing
def object_among_the_arguments(folder):
    held = Plain(count=0)

    def inner(x, config):
        config.counts()
        return x + 1

    return lambda x: inner(x, held), lambda: held.count


@changing
def registry_of_classes(folder):
    known = []

    class Base:
        def __init_subclass__(cls):
            known.append(cls.__name__)

    def program(x):
        class Made(Base):
            pass

        return x + 1

    return program, lambda: known


@changing
def file_written(folder):
    def program(x):
        with open(folder / "log", "a") as file:
            file.write("a")
        return x + 1

    return program, lambda: (folder / "log").read_text() if (folder / "log").exists() else ""


@changing
def open_file_written(folder):
    file = open(folder / "open", "w")  # noqa: SIM115

    def program(x):
        file.write("a")
        return x + 1

    return program, lambda: (file.flush(), (folder / "open").read_text())


@changing
def written_by_descriptor(folder):
    number = os.open(folder / "raw", os.O_CREAT | os.O_WRONLY)

    def program(x):
        os.write(number, b"a")
        return x + 1

    return program, lambda: (folder / "raw").read_text()


@changing
def folder_made(folder):
    def program(x):
        os.mkdir(folder / str(len(os.listdir(folder))))
        return x + 1

    return program, lambda: sorted(os.listdir(folder))


@changing
def path_touched(folder):
    def program(x):
        (folder / str(len(os.listdir(folder)))).touch()
        return x + 1

    return program, lambda: sorted(os.listdir(folder))


@changing
def process_started(folder):
    def program(x):
        subprocess.run(["/bin/sh", "-c", f"echo a >> {folder}/ran"], check=True)
        return x + 1

    return program, lambda: (folder / "ran").read_text() if (folder / "ran").exists() else ""


@changing
def thread_started(folder):
    seen = []

    def program(x):
        thread = threading.Thread(target=seen.append, args=(1,))
        thread.start()
        thread.join()
        return x + 1

    return program, lambda: seen


@changing
def slept(folder):
    """Time is no state: that it was slept is seen by the calls of what stands in for the clock."""
    seen = []

    def program(x):
        began = time.monotonic()
        time.sleep(0.002)
        seen.append(time.monotonic() - began >= 0.002)
        return x + 1

    return program, lambda: seen


@changing
def logged(folder):
    seen = []

    class Keeps(logging.Handler):
        def emit(self, record):
            seen.append(record.getMessage())

    logger = logging.Logger("symshape.test")
    logger.addHandler(Keeps())

    def program(x):
        logger.info("rows: %d", x.dim())
        return x + 1

    return program, lambda: seen


@changing
def caught_refusal(folder):
    """The program catches everything: what it was kept from doing is done after all."""
    seen = io.StringIO()

    def program(x):
        try:
            seen.write("a")
        except Exception:
            return x - 1
        return x + 1

    return program, seen.getvalue


@changing
def attribute_of_an_argument(folder):
    """What has become of the argument itself is looked at as well."""
    count = 0

    def program(x):
        nonlocal count
        x.count = count = count + 1
        return x + 1

    return program, lambda: count


@changing
def state_of_an_iterator_of_the_program(folder):
    class Numbers:
        number = 0

        def __iter__(self):
            return self

        def __next__(self):
            self.number += 1
            return self.number

    numbers = Numbers()
    return lambda x: x * next(numbers), lambda: numbers.number


# ---------------------------------------------------------------------- their own


@keeping
def containers_of_the_call():
    def program(x):
        values, table, seen = [], {}, {1}
        for number in range(3):
            values.append(x + number)
            table["last"] = number
            table[f"n{number}"] = [number]
            seen.add(number)
        table.update(a=1)
        return torch.stack(values) * len(table) * len(seen)

    return program


@keeping
def objects_of_the_call():
    def program(x):
        record, slotted, plain = Record(), Slotted(), Plain(count=1)
        record.count += 2
        record.values.append(x)
        slotted.count = 3
        plain.counts()
        plain.once
        return record.values[0] * record.count * slotted.count * plain.count

    return program


@keeping
def iterators_of_the_call():
    def program(x):
        numbers = iter([1, 2, 3])
        first = next(numbers)
        rest = list(numbers)
        squares = (number * number for number in rest)
        pairs = enumerate(squares)
        for place, square in pairs:
            x = x * place + square
        return x + first + sum(a for a, b in zip(rest, itertools.count()))

    return program


@keeping
def variables_of_closures_of_the_call():
    def program(x):
        count = 0

        def counts():
            nonlocal count
            count += 1
            return x * count

        return counts() + counts()

    return program


@keeping
def libraries():
    def program(x):
        counter = collections.Counter("abca")
        order = collections.OrderedDict(a=1, b=2)
        order.move_to_end("a")
        heap = [3, 1]
        heapq.heapify(heap)
        line = collections.deque([1, 2], maxlen=2)
        line.append(heapq.heappop(heap))
        return x * counter["a"] + next(iter(order.values())) + line[-1] + functools.reduce(operator.add, [1, 2])

    return program


@keeping
def changed_and_put_back():
    held = Plain(count=1)

    def program(x):
        before, held.count = held.count, 5
        try:
            return x * held.count
        finally:
            held.count = before

    return program


@keeping
def remembered():
    @functools.lru_cache
    def expensive(number):
        return number * 2

    return lambda x: x * expensive(3)


@keeping
def arrays_of_the_call():
    def program(x):
        numbers = numpy.zeros(3)
        numbers[1] = 2.0
        raw = bytearray(2)
        raw[0] = 3
        return x * float(numbers[1]) + raw[0]

    return program


@keeping
def returned_containers():
    def program(x):
        out = {"n": 1}
        out["m"] = 2
        made = collections.OrderedDict()
        made["x"] = x + 1
        return out, made, [x]

    return program


@keeping
def returned_dictionary():
    def program(x):
        out = {}
        for number in range(3):
            out[f"n{number}"] = number
        out["x"] = x * 2
        return out

    return program


@keeping
def returned_plain_dictionaries():
    def program(x):
        inner, outer = {}, {}
        inner["a"] = 1
        outer["inner"] = inner
        outer["again"] = [inner]
        return outer, x + 1

    return program


@keeping
def returned_subclass():
    def program(x):
        out = collections.OrderedDict()
        out["x"] = x
        out["y"] = x + 1
        return out

    return program
