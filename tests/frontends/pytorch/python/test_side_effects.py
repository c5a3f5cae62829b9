"""What a trace can not see is not lost: put back and refused, or run on every call, as `docs/side-effects.md` says."""

import gc
import random
import re
import time
from collections import deque
from pathlib import Path

import numpy
import pytest
import torch

from frontends.pytorch import compile, trace
from frontends.pytorch.errors import GraphBreak
from frontends.pytorch.python.mentions import location
from frontends.pytorch.python.ran import collecting

PAGE = Path(__file__).parents[4] / "docs" / "side-effects.md"


class State:
    """An object of the program, with a class attribute."""

    shared = 0

    def __init__(self):
        self.count = 0
        self.kept = None
        self.inner = {"seen": []}


class Counting(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0
        self.register_buffer("memory", torch.zeros(2))
        self.history = []

    def forward(self, x):
        if x.shape[0] > 100:
            self.calls += 1
        return x + self.memory


class Keeps(Counting):
    def forward(self, x):
        self.calls += 1
        return x + 1


class Reassigns(Counting):
    def forward(self, x):
        self.memory = self.memory * 0.5 + x.mean(0)
        return x + self.memory


class Remembers(Counting):
    def forward(self, x):
        self.history.append(x.mean())
        return x


COUNTER = 0
SEEN = []
TABLE = {}
QUEUE = deque(maxlen=3)
GENERATOR = torch.Generator()
NUMBERS = numpy.zeros(3)
state = State()


def adds_to_global(x):
    global COUNTER
    COUNTER += 1
    return x + 1


def closure():
    count = 0

    def counts(x):
        nonlocal count
        count += 1
        return x + 1

    return counts


def default(x, memory=[]):  # noqa: B006
    memory.append(1)
    return x


def adds_attribute(x):
    state.fresh = x.sum()
    return x


def sets_attribute(x):
    state.kept = x * 2
    return x


def sets_class_attribute(x):
    State.shared += 1
    return x


def through_argument(x, values):
    values.append(x)
    return x


def print_it(x):
    print("hello")
    return x


def python_random(x):
    return x * random.random()


def numpy_random(x):
    return x * float(numpy.random.rand())


def seeds(x):
    torch.manual_seed(0)
    return torch.rand_like(x)


def seeds_a_generator(x):
    return torch.randn(x.shape, generator=GENERATOR.manual_seed(GENERATOR.initial_seed()))


def reads_a_generator(x):
    return torch.randn(x.shape, generator=GENERATOR) * GENERATOR.initial_seed()


def numbers_of_the_system(x):
    return x * random.SystemRandom().random()


def makes_a_generator(x):
    return torch.empty_like(x).normal_(generator=torch.Generator().manual_seed(0))


def clock(x):
    return x * time.time()


REFUSED = {
    "a global is assigned": adds_to_global,
    "a variable of a closure is assigned": closure(),
    "an attribute of an object is assigned": sets_attribute,
    "an attribute is new": adds_attribute,
    "an attribute of a class is assigned": sets_class_attribute,
    "an attribute of a module is assigned": Keeps(),
    "a buffer is assigned anew": Reassigns(),
    "a list of a module grows": Remembers(),
    "a list grows": lambda x: SEEN.append(x) or x,
    "a dictionary changes": lambda x: TABLE.update(last=x.sum()) or x,
    "a container in a container changes": lambda x: state.inner["seen"].append(1) or x,
    "a queue changes": lambda x: QUEUE.append(1) or x,
    "an array of numpy changes": lambda x: NUMBERS.__setitem__(0, NUMBERS[0] + 1) or x,
    "a default value changes": default,
    "`print`": print_it,
    "random numbers of Python": python_random,
    "random numbers of numpy": numpy_random,
    "a seed is set": seeds,
    "a generator is seeded": seeds_a_generator,
    "a generator is made": makes_a_generator,
    "the state of a generator is read": reads_a_generator,
    "the operating system's random numbers": numbers_of_the_system,
    "the clock is read": clock,
}


def snapshot():
    held = COUNTER, SEEN, TABLE, list(QUEUE), NUMBERS.tolist(), vars(state), State.shared, default.__defaults__
    return repr((held, GENERATOR.get_state().tolist()))


@pytest.mark.parametrize("name", REFUSED)
def test_refused_and_put_back(name):
    """If it fails, a graph leaves out something that the program does, or the trace itself leaves traces."""
    function = REFUSED[name]
    before, python = snapshot(), random.getstate()
    with pytest.raises(GraphBreak) as error:
        trace(function, (torch.randn(3, 2),))
    message = str(error.value)
    assert "fix:" in message
    assert re.search(r"test_side_effects\.py:\d+", message), message
    assert snapshot() == before
    assert random.getstate() == python


DRAWS = {
    "randn": lambda x, numbers: x + torch.randn(x.shape, generator=numbers),
    "rand": lambda x, numbers: x + torch.rand(x.shape[0], 2, generator=numbers),
    "randint": lambda x, numbers: x + torch.randint(0, 9, (x.shape[0], 1), generator=numbers),
    "randint, from 3 on": lambda x, numbers: x + torch.randint(3, 9, x.shape, generator=numbers, dtype=torch.int32),
    "randperm": lambda x, numbers: x[torch.randperm(x.shape[0], generator=numbers)],
    "normal_": lambda x, numbers: torch.empty_like(x).normal_(generator=numbers),
    "bernoulli": lambda x, numbers: torch.bernoulli(x.sigmoid(), generator=numbers),
    "seeded": lambda x, numbers: x + torch.rand(x.shape, generator=numbers.manual_seed(3)),
    "made": lambda x, numbers: x + torch.rand(x.shape, generator=torch.Generator().manual_seed(3)),
}


@pytest.mark.parametrize("name", DRAWS)
@pytest.mark.parametrize("backend", ["eager", "cpu"])
def test_numbers_of_a_generator(name: str, backend: str) -> None:
    """If it fails, a program with a generator of its own draws other numbers than eager, or the trace draws some."""
    f = compile(DRAWS[name], dynamic=True, backend=backend)
    for rows in (3, 5):
        x = torch.randn(rows, 2)
        GENERATOR.manual_seed(rows)
        expected = [f.fn(x, GENERATOR) for _ in range(2)]
        GENERATOR.manual_seed(rows)
        assert all(torch.equal(f(x, GENERATOR), each) for each in expected)
    assert len(f.variants) == (name not in ("seeded", "made"))


def test_container_among_the_arguments():
    """If it fails, what a program adds to a list that it got is lost."""
    with pytest.raises(GraphBreak, match="changes a list"):
        trace(through_argument, (torch.randn(3, 2), []))


def test_runs_with_breaks_on_every_call():
    """If it fails, a compiled function does something else to the world than the function."""
    memory = []

    def program(x):
        memory.append(x.shape[0])
        return x * len(memory)

    compiled = compile(program, dynamic=True)
    for count, rows in enumerate((3, 4, 3), 1):
        x = torch.randn(rows, 2)
        assert torch.equal(compiled(x), x * count)
    assert memory == [3, 4, 3]


def test_prints_on_every_call(capsys):
    """If it fails, a program prints once, or once too often."""
    compiled = compile(print_it, dynamic=True)
    for _ in range(3):
        compiled(torch.randn(2))
    assert capsys.readouterr().out == "hello\n" * 3


def test_module_that_counts():
    """If it fails, a counter of a module stands still, or counts the trace as well."""
    module = Keeps()
    compiled = compile(module, dynamic=True)
    for _ in range(3):
        compiled(torch.randn(2, 2))
    assert module.calls == 3


def reads_are_guarded(x):
    return x * COUNTER + len(SEEN)


def test_reads_are_guarded():
    """If it fails, a program goes on with a value that has changed since the trace."""
    global COUNTER
    compiled = compile(reads_are_guarded, dynamic=True)
    x = torch.ones(2)
    try:
        for COUNTER in (0, 5, 0):
            assert torch.equal(compiled(x), x * COUNTER)
        SEEN.append(1)
        assert torch.equal(compiled(x), x * COUNTER + 1)
    finally:
        COUNTER = 0
        SEEN.clear()


def test_buffers_in_place_are_in_the_graph():
    """If it fails, statistics of a module stand still in a graph, or the trace changes them."""
    norm = torch.nn.BatchNorm1d(2)
    variant = trace(norm, (torch.randn(4, 2),))
    assert norm.num_batches_tracked == 0
    variant.graph(torch.randn(5, 2))
    assert norm.num_batches_tracked == 1


def test_page_lists_what_is_refused():
    """If it fails, the page says something else than the tests."""
    page = PAGE.read_text()
    for name in REFUSED:
        assert f"| {name} |" in page, name


def descriptor(seen):
    class Counted:
        def __get__(self, instance, owner):
            seen.append(1)
            return len(seen)

    class Holder:
        size = Counted()

    holder = Holder()
    return lambda x: x * holder.size


def metaclass(seen):
    class Meta(type):
        def __getitem__(cls, item):
            seen.append(item)
            return len(seen)

    class Indexed(metaclass=Meta):
        pass

    return lambda x: x * Indexed[1]


def hook(seen):
    module = torch.nn.Identity()
    module.register_forward_hook(lambda module, args, output: seen.append(1))
    return module


def context(seen):
    class Scope:
        def __enter__(self):
            seen.append(1)
            return len(seen)

        def __exit__(self, *error):
            seen.append(2)

    def program(x):
        with Scope() as number:
            return x * number

    return program


def reflected(seen):
    class Operand:
        def __radd__(self, other):
            seen.append(1)
            return other * len(seen)

    operand = Operand()
    return lambda x: x + operand


def chosen(seen):
    functions = {f"f{number}": lambda x: seen.append(1) or x * len(seen) for number in range(100)}
    return lambda x: functions["f7"](x)


@pytest.mark.parametrize("make", [descriptor, metaclass, hook, context, reflected, chosen])
def test_changes_by_functions_that_no_name_leads_to(make):
    """If it fails, what Python calls by itself changes something once, when it is traced, or once too often."""
    theirs, ours = [], []
    program = make(theirs)
    compiled = compile(make(ours), dynamic=True)
    for rows in (3, 4, 3):
        x = torch.randn(rows, 2)
        torch.testing.assert_close(compiled(x), program(x))
        assert ours == theirs


def test_what_garbage_collection_calls_is_not_the_programs():
    """If it fails, a callback of the collection of garbage in the middle of a trace refuses it."""
    seen = []

    def called(phase, info):
        seen.append(phase)

    def program(x):
        gc.collect()
        return x + 1

    gc.callbacks.append(called)
    try:
        trace(program, (torch.ones(2),))
    finally:
        gc.callbacks.remove(called)
    assert {"start", "stop"} <= set(seen)


def test_a_callback_of_the_collection_is_known_by_its_place():
    """If it fails, a callback whose code the trace has rewritten counts as the program's when garbage is collected."""

    def called(phase, info):
        return time.perf_counter()

    gc.callbacks.append(called)
    try:
        rewritten = called.__code__.replace(co_consts=(*called.__code__.co_consts, "rewritten"))
        assert rewritten != called.__code__
        assert location(rewritten) in collecting()
    finally:
        gc.callbacks.remove(called)


class Tagged:
    """Programs that set attributes of tensors."""

    @staticmethod
    def of_an_argument(x):
        x.tag = x.shape[0]
        return x * 2

    @staticmethod
    def of_a_result(x):
        y = x * 2
        y.tag = x.shape[0]
        return [y]

    @staticmethod
    def of_a_buffer_made(x):
        return torch.nn.Buffer(x * 2)

    @staticmethod
    def of_none_that_is_left(x):
        y = x * 2
        y.tag = x + 1
        return y * y.tag


@pytest.mark.parametrize("backend", ["eager", "cpu"])
@pytest.mark.parametrize("program", [each.__func__ for name, each in vars(Tagged).items() if name[:2] == "of"])
def test_attributes_of_tensors(program, backend: str) -> None:
    """If it fails, an attribute that a program sets of an argument or a result is lost."""
    compiled = compile(program, backend=backend)
    for size in (3, 3, 5):
        x, other = torch.ones(size), torch.ones(size)
        found, expected = compiled(x), program(other)
        torch.testing.assert_close(found, expected)
        assert vars(x).keys() == vars(other).keys()
        (one,), (wanted,) = [torch.utils._pytree.tree_leaves(each) for each in (found, expected)]
        assert vars(one) == vars(wanted)
        assert isinstance(one, torch.nn.Buffer) == isinstance(wanted, torch.nn.Buffer)
    assert bool(compiled.fallbacks) == (program is not Tagged.of_none_that_is_left)
