"""What a call changes that outlives it is in graphs: values, state, identities are eager torch's over sizes and calls.

Programs are written by a generator with a seed: statements that change attributes, lists, dictionaries, sets, queues
and objects of a module, of a global and of the arguments, and read them.
"""

import builtins
import contextlib
import io
import random
from collections import OrderedDict, deque

import pytest
import torch

from frontends.pytorch import compile

SIZES = (3, 1, 5, 2, 4, 3, 3, 7)
STATEMENTS = (
    "self.n += 1",
    "self.n = (self.n + x.shape[0]) % 7",
    "self.e = self.e * 0.5 + 1.0",
    "y = y * self.n",
    "y = y * self.e",
    "if self.n % 2 == 0:\n    y = y + 1",
    "self.h = self.h * 0.5 + y.sum(0)",
    "y = y + self.h",
    "self.h = torch.tanh(self.weight * self.h).detach()",
    "self.h = y.mean(0)\nself.before = self.h",
    "y = y - self.before",
    "self.pair = (self.pair[1], y.sum(0) * 0.5)",
    "y = y + self.pair[0] * 2",
    "self.last = y",
    "self.last = x",
    "self.last = y[:1]",
    "self.memory = self.memory * 0.5 + y.detach().sum(0)",
    "y = y + self.memory",
    "self.memory.add_(1)",
    "self.items.pop(0)\nself.items.append(y.sum(0))",
    "self.items[0] = self.items[1]",
    "self.items.reverse()",
    "y = y + self.items[0] - self.items[-1]",
    "self.table['a'] = y.sum()",
    "self.table['size'] = x.shape[0]",
    "self.table['b'] = self.table.pop('a', None)",
    "self.table.clear()\nself.table['c'] = x * 2",
    "y = y * len(self.table)",
    "self.order['first'] = y.sum(0)\nself.order.move_to_end('first')",
    "self.names.add('seen')",
    "self.names.discard('seen')",
    "self.window.append(y.sum())",
    "y = y + sum(self.window)",
    "self.box = Box(y.sum(0), self.n)",
    "self.box.h = y.sum(0)",
    "y = y + self.box.h",
    "self.flag = not self.flag",
    "y = y + 1 if self.flag else y - 1",
    "self.maybe = y.sum(0) if self.maybe is None else None",
    "y = y if self.maybe is None else y + self.maybe",
    "self.history.append(y.sum())",
    "self.history.append([y.mean(), {'n': x.shape[0]}])",
    "y = y + len(self.history)",
    "y = y + self.history[-1].sum() if len(self.history) == 2 and torch.is_tensor(self.history[-1]) else y",
    "self.same.append(y.sum())",
    "y = y * len(self.same)",
    "self.seen.append(self.n)\nself.seen.extend([x.shape[0]])",
    "y = y + self.seen[-1] if self.seen else y",
    "self.queue.append(y.sum(0))",
    "y = y + self.queue[0] - self.queue[1]",
    "self.queue.rotate(1)",
    "self.unbounded.append(x)",
    "print('n', self.n, x.shape, self.e)",
    "print(x, [x.shape[0], self.flag], end='.')",
    "print(x)\nx.mul_(2)\nprint(x.shape[0], len(self.items))",
    "self.nested['in']['list'].append(1)",
    "self.fresh = [y.sum(0), y]",
    "del self.gone\nself.gone = y.sum()",
    "STATE.count += 1",
    "STATE.kept = y * 0.5",
    "y = y + STATE.count",
    "y = y + STATE.kept.sum()",
    "values.append(y.sum(0))",
    "values.insert(0, x)",
    "y = y * len(values)",
    "y = y + values[0].sum() if values else y",
    "named['y'] = y",
    "named['y'] = named['x'] if 'x' in named else x",
    "y = y + sum(each.sum() for each in named.values())",
    "box.h = torch.cat([box.h, y])",
    "box.h = box.h[-2:]",
    "box.n = box.n + x.shape[0]",
    "y = y + box.h.sum(0) * box.n",
    "box.extra = y.sum(0)",
    "self.box, box.kept = box, self.h",
    "self.gone = self.weight[index].sum()",
    "if x.shape[0] == 5:\n    raise ValueError(self.n)",
    "try:\n    self.e = 1.0\n    self.missing\nexcept AttributeError:\n    self.e = 2.0",
)
RETURNS = (
    *("y", "(y, self.h)", "y, self.items", "box", "values, y", "(self.last, self.last)", "self.table"),
    "{'y': y, 'b': self.box}",
)


class Box:
    def __init__(self, h, n=0):
        self.h, self.n = h, n


class State:
    def __init__(self):
        self.count, self.kept = 0, torch.ones(2, 4)


class Program(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.n, self.e, self.flag, self.maybe = 1, 1.0, False, None
        self.h, self.before, self.last, self.gone = torch.ones(4), torch.zeros(4), torch.zeros(1), torch.zeros(())
        self.pair, self.items = (torch.ones(4), torch.zeros(4)), [torch.zeros(4), torch.ones(4)]
        self.table, self.order, self.names = {"old": 1}, OrderedDict(first=torch.zeros(4), second=2), {"a"}
        self.window, self.history, self.nested = deque([torch.ones(())], maxlen=2), [], {"in": {"list": []}}
        self.box, self.fresh = Box(torch.ones(4)), None
        self.same, self.seen, self.unbounded = self.history, deque(), deque()
        self.queue = deque([torch.zeros(4), torch.ones(4)], maxlen=2)
        self.register_buffer("memory", torch.zeros(4))
        self.weight = torch.nn.Parameter(torch.linspace(-1, 1, 4))


def written(seed: int) -> str:
    """The text of a program."""
    choose = random.Random(seed)
    lines = [line for each in choose.sample(STATEMENTS, choose.randint(2, 7)) for line in each.splitlines()]
    body = "\n".join(["    " + line for line in ["y = x * 2", *lines, f"return {choose.choice(RETURNS)}"]])
    return f"def forward(self, x, index, values, named, box):\n{body}\n"


def made(source: str, path: str):
    """The program as a module, with a state that is a global of it."""
    scope = {"torch": torch, "Box": Box, "STATE": State(), "__name__": "program_of_states"}
    exec(builtins.compile(source, path, "exec"), scope)
    program = Program()
    kind = type("Written", (Program,), {"forward": scope["forward"]})
    program.__class__ = kind
    return program, scope["STATE"]


def described(*values: object) -> tuple[list[object], list[torch.Tensor]]:
    """Everything that is in some values, each object once, and the tensors."""
    seen: dict[int, int] = {}
    tensors: list[torch.Tensor] = []

    def visit(value: object) -> object:
        if isinstance(value, bool | int | float | str | None):
            return value
        if id(value) in seen:
            return "again", seen[id(value)]
        seen[id(value)] = len(seen)
        kept.append(value)
        if isinstance(value, torch.Tensor):
            tensors.append(value.detach())
            base = -1 if value._base is None else seen.get(id(value._base), -2)
            return "tensor", value.dtype, value.shape, value.stride(), value.requires_grad, value._version, base
        if isinstance(value, dict):
            return type(value), [(key, visit(each)) for key, each in value.items()]
        if isinstance(value, list | tuple | deque):
            return type(value), [visit(each) for each in value]
        if isinstance(value, set):
            return sorted(value)
        if isinstance(value, Program):
            own = {key: each for key, each in vars(value).items() if not key.startswith("_")}
            return visit({**own, **value._buffers, **value._parameters})
        return type(value).__name__, visit(dict(vars(value)))

    kept: list[object] = []
    return [visit(value) for value in values], tensors


def calls(program, function, state, seed: int, *, same_arguments: bool):
    """What each call gives, and what it leaves behind."""
    numbers = torch.Generator().manual_seed(seed)
    given = [torch.zeros(4)], {"x": torch.ones(2)}, Box(torch.ones(1, 4), 1)
    for number, size in enumerate(SIZES):
        if not same_arguments:
            given = [torch.zeros(4)], {"x": torch.ones(2)}, Box(torch.ones(1, 4), 1)
        x, index = torch.randn(size, 4, generator=numbers), torch.tensor([9 if number == 4 else 1])
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            try:
                returned = function(x, index, *given)
            except Exception as error:
                returned = type(error).__name__
        yield described(returned, program, state, given, x, printed.getvalue())


def against_eager(seed: int, path: str, *, backend: str, same_arguments: bool):
    source = written(seed)
    one, state = made(source, path)
    other, its_state = made(source, path)
    compiled = compile(other, dynamic=True, backend=backend)
    wanted = calls(one, one, state, seed, same_arguments=same_arguments)
    found = calls(other, compiled, its_state, seed, same_arguments=same_arguments)
    for number, ((shape, tensors), (its_shape, its_tensors)) in enumerate(zip(wanted, found, strict=True)):
        assert its_shape == shape, f"call {number} of\n{source}"
        for tensor, its_tensor in zip(tensors, its_tensors, strict=True):
            torch.testing.assert_close(its_tensor, tensor, msg=f"call {number} of\n{source}", equal_nan=True)
    return compiled


@pytest.mark.parametrize("same_arguments", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_written_programs(seed: int, same_arguments: bool, tmp_path) -> None:
    """If it fails, a program with state computes or leaves behind something else than by eager torch."""
    against_eager(seed, str(tmp_path / "program.py"), backend="cpu", same_arguments=same_arguments)


class Counter(torch.nn.Module):
    """Keeps what it counts and computes."""

    def __init__(self):
        super().__init__()
        self.calls, self.mean, self.state, self.kept = 0, 1.0, None, torch.zeros(4)
        self.register_buffer("memory", torch.zeros(4))


def counts(self, x):
    self.calls += 1
    return x * self.calls


def averages(self, x):
    self.mean = self.mean * 0.5 + 1
    return x * self.mean


def keeps_a_state(self, x):
    self.state = x.sum(0) if self.state is None else torch.tanh(self.state + x.sum(0))
    return x + self.state


def grows(self, x):
    self.state = x if self.state is None else torch.cat([self.state, x])
    return self.state.sum(0)


def keeps_several(self, x):
    hidden, cell = self.state or (torch.zeros(4), torch.zeros(4))
    self.state = torch.tanh(hidden + x.sum(0)), cell + hidden
    return self.state[0]


def assigns_a_buffer(self, x):
    self.memory = self.memory * 0.5 + x.mean(0)
    return x + self.memory


STATES = {each.__name__: each for each in (counts, averages, keeps_a_state, grows, keeps_several, assigns_a_buffer)}


@pytest.mark.parametrize("backend", ["eager", "cpu"])
@pytest.mark.parametrize("name", STATES)
def test_state_is_an_input(name: str, backend: str) -> None:
    """If it fails, a module that counts, or carries a state, has a graph for each call, or none."""
    forward = STATES[name]
    one, other = [type("Stateful", (Counter,), {"forward": forward})() for _ in range(2)]
    compiled = compile(other, dynamic=True, backend=backend)
    for number, size in enumerate((3, 5, 2, 4, 7, 3, 3)):
        x = torch.linspace(-1, 1, size * 4).reshape(size, 4)
        found, wanted = compiled(x), one(x)
        torch.testing.assert_close(found, wanted)
        for key in ("calls", "mean", "state", "memory"):
            torch.testing.assert_close(getattr(other, key), getattr(one, key))
        if number == 2:
            variants = len(compiled.variants)
    assert len(compiled.variants) == variants <= 3 and not compiled.fallbacks


class Cache:
    """Grows, as that of a language model."""

    def __init__(self):
        self.keys, self.length, self.lines = None, 0, []

    def add(self, x):
        self.keys = x if self.keys is None else torch.cat([self.keys, x])
        self.length += 1
        return self.keys


def cached(x, cache):
    return cache.add(x).sum(0) * cache.length


@pytest.mark.parametrize("backend", ["eager", "cpu"])
def test_a_cache_that_grows(backend: str) -> None:
    """If it fails, each new cache, or each length of it, has a graph of its own."""
    compiled = compile(cached, dynamic=True, backend=backend)
    for _ in range(3):
        one, other = Cache(), Cache()
        for size in (3, 1, 1, 2, 5):
            x = torch.linspace(0, 1, size * 4).reshape(size, 4)
            torch.testing.assert_close(compiled(x, other), cached(x, one))
            torch.testing.assert_close(other.keys, one.keys)
            assert other.length == one.length
    # before and after there are keys; the length a number, then a symbol
    assert len(compiled.variants) <= 3 and not compiled.fallbacks


def both(x, one, other):
    one.append(x * 2)
    return x + len(other)


def test_containers_that_are_one() -> None:
    """If it fails, a list that is given twice is taken for two lists."""
    compiled = compile(both, dynamic=True)
    for same in (False, True, False, True):
        lists = [torch.zeros(1)], [torch.zeros(1)]
        one, other = (lists[0], lists[0]) if same else lists
        assert compiled(torch.ones(2), one, other).tolist() == ([3.0, 3.0] if same else [2.0, 2.0])
        assert len(one) == 2 and len(other) == 1 + same
    assert compiled.variants


SHARED: list[torch.Tensor] = []


def also_global(x, given):
    given.append(x)
    return x + len(SHARED)


def test_a_global_as_an_argument() -> None:
    """If it fails, a list that is read as a global is not the argument that the call changes."""
    compiled = compile(also_global, dynamic=True)
    SHARED.clear()
    assert compiled(torch.zeros(1), []).item() == 0
    assert compiled(torch.zeros(1), SHARED).item() == 1
    assert compiled(torch.zeros(1), SHARED).item() == 2
    assert len(SHARED) == 2 and compiled.variants


def raises(x, index, seen):
    seen.append(x)
    y = x[index]
    seen.append(y)
    return y


@pytest.mark.parametrize("backend", ["eager", "cpu"])
def test_an_error_in_the_middle(backend: str) -> None:
    """If it fails, a call that raises leaves something else than eager torch does."""
    compiled, seen = compile(raises, dynamic=True, backend=backend), []
    for number, index in enumerate((1, 9, 0)):
        x = torch.arange(3.0)
        if index == 9:
            with pytest.raises(IndexError):
                compiled(x, torch.tensor([index]), seen)
        else:
            assert compiled(x, torch.tensor([index]), seen) is seen[-1]
        assert len(seen) == (2, 3, 5)[number] and seen[(0, 2, 3)[number]] is x
    assert compiled.variants


def test_the_report_names_them() -> None:
    """If it fails, `explain` does not show that a variant has an effect."""
    compiled = compile(type("Stateful", (Counter,), {"forward": counts})())
    compiled(torch.ones(2))
    assert "side effects:\n    `calls` of a Stateful" in compiled._compilation.explain()


def test_a_list_that_nothing_reads() -> None:
    """If it fails, what a call appends overwrites what an earlier one has."""
    log: list[str] = []

    @contextlib.contextmanager
    def logged(name):
        log.append("in " + name)
        yield
        log.append("out " + name)

    def step(x):
        with logged("a"):
            return x * 2

    compiled = compile(step, dynamic=True)
    for number in range(1, 5):
        compiled(torch.ones(number))
        assert log == ["in a", "out a"] * number


def test_a_backward_that_changes_something() -> None:
    """If it fails, what a backward of the program's does is done by the forward, or by nobody."""
    seen: list[str] = []

    class Counted(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            seen.append("forward")
            return x * 2

        @staticmethod
        def backward(ctx, gradient):
            seen.append("backward")
            return gradient * 2

    compiled = compile(lambda x: Counted.apply(x) + 1)
    for _ in range(3):
        x = torch.ones(2, requires_grad=True)
        compiled(x).sum().backward()
        assert x.grad.tolist() == [2.0, 2.0]
    assert seen == ["forward", "backward"] * 3
