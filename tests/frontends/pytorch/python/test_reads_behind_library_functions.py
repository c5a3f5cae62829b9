"""What functions of a program read that a library calls for it: the next call gives what eager gives.

Python's own library and NumPy are meant.

Each program reads `VALUE` in a function that something else calls: a context manager, a dispatcher, a property that is
kept, a comparison, an encoder. Then `VALUE` changes.
"""

from __future__ import annotations

import collections
import contextlib
import copy
import dataclasses
import enum
import functools
import itertools
import json
import re
import string
from collections.abc import Callable

import numpy
import pytest
import torch

from frontends.pytorch import compile

Program = Callable[[torch.Tensor], torch.Tensor]
PROGRAMS: dict[str, Callable[[], Program]] = {}
VALUE = 3.0


def program(made: Callable[[], Program]) -> Callable[[], Program]:
    PROGRAMS[made.__name__] = made
    return made


class Holder:
    """An object of the program with an attribute."""

    value = 1.0


@contextlib.contextmanager
def value():
    yield VALUE


@program
def context_manager():
    def f(x):
        with value() as factor:
            return x * factor

    return f


@program
def context_manager_in_a_stack():
    def f(x):
        with contextlib.ExitStack() as stack:
            return x * stack.enter_context(value())

    return f


@program
def decorated_by_a_context_manager():
    held = Holder()

    @contextlib.contextmanager
    def held_value():
        held.value = VALUE
        yield

    @held_value()
    def f(x):
        return x * held.value

    return f


@program
def decorator_with_a_state():
    class Entered(contextlib.ContextDecorator):
        def __enter__(self):
            self.value = VALUE

        def __exit__(self, *_):
            return False

    entered = Entered()
    return entered(lambda x: x * entered.value)


@program
def suppressed():
    def check():
        if VALUE > 3.5:
            raise ValueError

    def f(x):
        with contextlib.suppress(ValueError):
            check()
            return x
        return x * 2

    return f


@program
def callback_of_a_stack():
    def f(x):
        found = []
        with contextlib.ExitStack() as stack:
            stack.callback(lambda: found.append(VALUE))
        return x * found[0]

    return f


@program
def dispatched():
    @functools.singledispatch
    def scale(_):
        return VALUE

    return lambda x: x * scale(1)


@program
def compiled_dispatcher():
    return functools.singledispatch(lambda x: x * VALUE)


@program
def dispatched_method():
    class Scale:
        @functools.singledispatchmethod
        def of(self, _):
            return VALUE

    return lambda x: x * Scale().of(1)


@program
def kept_property():
    class Scale:
        @functools.cached_property
        def value(self):
            return VALUE

    return lambda x: x * Scale().value


@program
def ordered():
    @functools.total_ordering
    class Size:
        def __lt__(self, other):
            return VALUE < 3.5

        def __eq__(self, other):
            return False

    return lambda x: x * (2.0 if Size() >= Size() else 1.0)


@program
def mapping():
    class Scales(collections.abc.Mapping):
        def __getitem__(self, _):
            return VALUE

        def __iter__(self):
            return iter("a")

        def __len__(self):
            return 1

    return lambda x: x * sum(Scales().values())


@program
def missing_item():
    class Scales(collections.UserDict):
        def __missing__(self, _):
            return VALUE

    return lambda x: x * Scales()["a"]


@program
def filled_in():
    @dataclasses.dataclass
    class Scale:
        value: float = dataclasses.field(default_factory=lambda: VALUE)

        def __post_init__(self):
            self.twice = VALUE * 2

    return lambda x: x * Scale().value + Scale().twice


@program
def copied():
    class Scale(Holder):
        def __copy__(self):
            made = Scale()
            made.value = VALUE
            return made

        def __deepcopy__(self, _):
            return copy.copy(self)

    return lambda x: x * copy.copy(Scale()).value + copy.deepcopy([Scale()])[0].value


@program
def replaced_in_a_text():
    return lambda x: x * float(re.sub("a", lambda _: str(VALUE), "a"))


@program
def encoded():
    return lambda x: x * json.loads(json.dumps([Holder()], default=lambda _: VALUE))[0]


@program
def substituted():
    class Values:
        def __getitem__(self, _):
            return VALUE

    return lambda x: x * float(string.Template("$a").substitute(Values()))


@program
def looked_up_in_an_enumeration():
    class Scale(enum.Enum):
        A, B, C = 3.0, 4.0, 5.0

        @classmethod
        def _missing_(cls, _):
            return cls(VALUE)

    return lambda x: x * Scale("other").value


@program
def accumulated():
    return lambda x: x * list(itertools.accumulate([1.0, 2.0], lambda a, b: a * b * VALUE))[-1]


@program
def vectorized():
    return lambda x: x * float(numpy.vectorize(lambda a: a * VALUE)(numpy.array([1.0]))[0])


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_changes_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails when a graph holds what a function read that the library called for the program."""
    f = PROGRAMS[name]()
    compiled, x = compile(f, dynamic=True), torch.arange(1.0, 4.0)
    results = []
    for number in (3.0, 4.0, 5.0, 5.0, 3.0):
        monkeypatch.setitem(globals(), "VALUE", number)
        results.append(compiled(x))
        assert torch.equal(results[-1], f(x))
    assert not torch.equal(results[0], results[2])
