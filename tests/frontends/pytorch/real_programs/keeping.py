"""Programs that keep something from call to call: counters, recurrent states, queues, averages, statistics, caches."""

from __future__ import annotations

import copy
import io
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils import prune

from tests.frontends.pytorch.real_programs.running import Call, Compiling, Made, program

state = program("state")
modules = program("modules")


def of_rows(compiled: Callable[..., Any], width: int = 4) -> Call:
    """A call with so many rows."""
    return lambda size: compiled(torch.randn(size, width))


class Counting(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.calls = 0
        self.inner = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return self.inner(x) * self.calls


@state
def counts_its_calls(compiling: Compiling) -> Made:
    net = Counting()
    return of_rows(compiling(net)), lambda: net.calls


@state
def a_counter_of_a_closure(compiling: Compiling) -> Made:
    count = 0

    def step(x: torch.Tensor) -> torch.Tensor:
        nonlocal count
        count += x.shape[0]
        return x / count

    return of_rows(compiling(step)), lambda: count


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.GRUCell(4, 6)
        self.hidden: torch.Tensor | None = None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.hidden is None:
            self.hidden = x.new_zeros(6)
        self.hidden = self.cell(x.mean(0), self.hidden)
        return self.hidden * 2


@state
def a_recurrent_state_on_a_module(compiling: Compiling) -> Made:
    net = Recurrent()

    def call(size: int) -> object:
        with torch.no_grad():
            return compiled(torch.randn(size, 4))

    compiled = compiling(net)
    return call, lambda: net.hidden


@state
def a_recurrent_state_that_is_learned_through(compiling: Compiling) -> Made:
    """Truncated backpropagation through time: the state of the call before is detached."""
    net = Recurrent()
    compiled = compiling(net)

    def call(size: int) -> object:
        if net.hidden is not None:
            net.hidden = net.hidden.detach()
        net.zero_grad()
        y = compiled(torch.randn(size, 4))
        y.square().sum().backward()
        return y

    return call, lambda: (net.hidden, list(net.parameters()))


@state
def the_state_of_an_lstm(compiling: Compiling) -> Made:
    class Keeps(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.LSTM(4, 5, batch_first=True)
            self.states = (torch.zeros(1, 2, 5), torch.zeros(1, 2, 5))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y, self.states = self.layer(x, self.states)
            return y

    net = Keeps()
    compiled = compiling(net)

    def call(size: int) -> object:
        with torch.no_grad():
            return compiled(torch.randn(2, size, 4))

    return call, lambda: net.states


@state
def a_list_of_losses(compiling: Compiling) -> Made:
    losses: list[torch.Tensor] = []

    def loss(x: torch.Tensor) -> torch.Tensor:
        found = x.square().mean()
        losses.append(found.detach())
        return found

    return of_rows(compiling(loss)), lambda: losses


@state
def a_list_that_is_read(compiling: Compiling) -> Made:
    kept: list[torch.Tensor] = []

    def step(x: torch.Tensor) -> torch.Tensor:
        kept.append(x.mean(0))
        return torch.stack(kept).sum(0)

    return of_rows(compiling(step)), lambda: kept


@state
def a_window_of_the_last(compiling: Compiling) -> Made:
    window: deque[torch.Tensor] = deque(maxlen=3)

    def step(x: torch.Tensor) -> torch.Tensor:
        window.append(x.mean(0))
        return sum(window) / len(window)

    return of_rows(compiling(step)), lambda: list(window)


@state
def a_table_by_name(compiling: Compiling) -> Made:
    table: dict[str, Any] = {"steps": 0}

    def step(x: torch.Tensor) -> torch.Tensor:
        table["last"] = x.mean(0)
        table["steps"] += 1
        return x - table["last"]

    return of_rows(compiling(step)), lambda: table


@state
def outputs_by_layer(compiling: Compiling) -> Made:
    """Features of inner layers, kept by hooks in a dictionary."""
    net = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))
    kept: dict[str, torch.Tensor] = {}
    for name, layer in net.named_children():
        layer.register_forward_hook(lambda m, a, y, name=name: kept.__setitem__(name, y.detach()))
    return of_rows(compiling(net)), lambda: kept


@state
def metrics(compiling: Compiling) -> Made:
    class Mean:
        def __init__(self) -> None:
            self.total, self.count = torch.zeros(()), 0

        def update(self, values: torch.Tensor) -> None:
            self.total = self.total + values.sum()
            self.count += values.numel()

    losses: dict[str, Mean] = defaultdict(Mean)

    def step(x: torch.Tensor) -> torch.Tensor:
        losses["square"].update(x.square())
        losses["absolute"].update(x.abs())
        return x + 1

    return of_rows(compiling(step)), lambda: [(name, each.total, each.count) for name, each in losses.items()]


@state
def a_growing_cache_of_an_object(compiling: Compiling) -> Made:
    class Cache:
        def __init__(self) -> None:
            self.keys = torch.zeros(0, 4)

        def update(self, x: torch.Tensor) -> torch.Tensor:
            self.keys = torch.cat([self.keys, x])
            return self.keys

    cache = Cache()

    def attend(x: torch.Tensor) -> torch.Tensor:
        keys = cache.update(x)
        return torch.softmax(x @ keys.t(), -1) @ keys

    return of_rows(compiling(attend)), lambda: cache.keys


@state
def a_ring_buffer(compiling: Compiling) -> Made:
    class Ring(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("memory", torch.zeros(6, 4))
            self.place = 0

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.memory[self.place] = x.mean(0)
            self.place = (self.place + 1) % 6
            return x @ self.memory.t()

    net = Ring()
    return of_rows(compiling(net)), lambda: (net.memory, net.place)


@state
def a_queue_of_keys(compiling: Compiling) -> Made:
    """The queue of momentum contrast: keys replace the oldest, the pointer is a buffer."""

    class Queue(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("queue", torch.zeros(8, 4))
            self.register_buffer("pointer", torch.zeros(1, dtype=torch.long))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            scores = x @ self.queue.clone().t()
            places = (self.pointer + torch.arange(x.shape[0])) % 8
            self.queue[places] = F.normalize(x.detach(), dim=-1)
            self.pointer.add_(x.shape[0]).remainder_(8)
            return scores

    net = Queue()
    return of_rows(compiling(net)), lambda: list(net.buffers())


@state
def a_queue_with_a_pointer_read(compiling: Compiling) -> Made:
    class Queue(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("queue", torch.zeros(4, 16))
            self.register_buffer("pointer", torch.zeros(1, dtype=torch.long))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            start = int(self.pointer)
            scores = x @ self.queue.clone()
            stop = min(start + x.shape[0], 16)
            self.queue[:, start:stop] = x.detach().t()[:, : stop - start]
            self.pointer[0] = stop % 16
            return scores

    net = Queue()
    return of_rows(compiling(net)), lambda: list(net.buffers())


@state
def prints_what_it_does(compiling: Compiling) -> Call:
    def step(x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        print("rows", x.shape[0])
        return y.relu()

    return of_rows(compiling(step))


@state
def prints_a_loss(compiling: Compiling) -> Call:
    def step(x: torch.Tensor) -> torch.Tensor:
        loss = x.square().mean()
        print(f"loss {loss.item():.3f}")
        return loss + 1

    return of_rows(compiling(step))


@state
def branches_on_data(compiling: Compiling) -> Call:
    def step(x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        return y - 1 if y.sum() > 0 else y + 1

    return of_rows(compiling(step))


@state
def loops_until_data_says_so(compiling: Compiling) -> Call:
    def step(x: torch.Tensor) -> torch.Tensor:
        x, steps = x.abs() + 1, 0
        while x.max() > 0.5 and steps < 20:
            x, steps = x * 0.5, steps + 1
        return x + steps

    return of_rows(compiling(step))


@state
def writes_to_a_log(compiling: Compiling) -> Made:
    log = io.StringIO()

    def step(x: torch.Tensor) -> torch.Tensor:
        log.write(f"{x.shape[0]} ")
        return x.relu()

    return of_rows(compiling(step)), log.getvalue


# ---------------------------------------------------------------------- modules


def small(*, dropout: float = 0.0) -> nn.Module:
    return nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(dropout), nn.Linear(8, 3))


def learning(compiled: Callable[..., Any], net: nn.Module) -> Made:
    """Forward, backward, and what the module has then."""

    def call(size: int) -> object:
        net.zero_grad()
        y = compiled(torch.randn(size, 4))
        y.square().sum().backward()
        return y

    return call, lambda: (list(net.parameters()), list(net.buffers()))


@modules
def running_statistics(compiling: Compiling) -> Made:
    net = small()
    return learning(compiling(net), net)


@modules
def dropout(compiling: Compiling) -> Made:
    net = small(dropout=0.5)
    return learning(compiling(net), net)


@modules
def training_and_evaluation_in_turns(compiling: Compiling) -> Made:
    net = small(dropout=0.5)
    compiled, calls = compiling(net), iter(range(100))

    def call(size: int) -> object:
        net.train(next(calls) % 2 == 0)
        return compiled(torch.randn(size, 4))

    return call, lambda: list(net.buffers())


@modules
def weight_norm(compiling: Compiling) -> Made:
    net = nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Linear(4, 6)), nn.Tanh(), nn.Linear(6, 2))
    return learning(compiling(net), net)


@modules
def spectral_norm(compiling: Compiling) -> Made:
    net = nn.utils.parametrizations.spectral_norm(nn.Linear(4, 6))
    return learning(compiling(net), net)


@modules
def spectral_norm_by_hooks(compiling: Compiling) -> Made:
    net = nn.utils.spectral_norm(nn.Linear(4, 6))
    return learning(compiling(net), net)


@modules
def weight_norm_by_hooks(compiling: Compiling) -> Made:
    net = nn.utils.weight_norm(nn.Linear(4, 6))
    return learning(compiling(net), net)


@modules
def orthogonal_weights(compiling: Compiling) -> Made:
    net = nn.utils.parametrizations.orthogonal(nn.Linear(4, 4))
    return learning(compiling(net), net)


@modules
def parametrizations_that_are_kept(compiling: Compiling) -> Made:
    net = nn.utils.parametrizations.weight_norm(nn.Linear(4, 4))

    def forward(x: torch.Tensor) -> torch.Tensor:
        with nn.utils.parametrize.cached():
            return net(net(x))

    return learning(compiling(forward), net)


@modules
def pruned_weights(compiling: Compiling) -> Made:
    net = nn.Linear(4, 6)
    prune.l1_unstructured(net, "weight", amount=0.5)
    return learning(compiling(net), net)


@modules
def tied_weights(compiling: Compiling) -> Made:
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(10, 4)
            self.head = nn.Linear(4, 10, bias=False)
            self.head.weight = self.embedding.weight

        def forward(self, tokens: torch.Tensor) -> torch.Tensor:
            return self.head(torch.tanh(self.embedding(tokens)))

    net = Tied()
    compiled = compiling(net)

    def call(size: int) -> object:
        net.zero_grad()
        y = compiled(torch.arange(size))
        F.cross_entropy(y, torch.arange(size)).backward()
        return y

    return call, lambda: list(net.parameters())


@modules
def an_average_of_weights(compiling: Compiling) -> Made:
    """An exponential moving average, whose update is compiled."""
    net, average = nn.Linear(4, 3), nn.Linear(4, 3)

    @torch.no_grad()
    def update(decay: float) -> None:
        for mean, weight in zip(average.parameters(), net.parameters()):
            mean.mul_(decay).add_(weight, alpha=1 - decay)

    compiled = compiling(update)

    def call(size: int) -> object:
        with torch.no_grad():
            net.weight.add_(0.1)
        return compiled(0.9)

    return call, lambda: list(average.parameters())


@modules
def an_average_that_torch_keeps(compiling: Compiling) -> Made:
    net = nn.Linear(4, 3)
    average = torch.optim.swa_utils.AveragedModel(net, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.9))
    update = compiling(average.update_parameters)

    def call(size: int) -> object:
        with torch.no_grad():
            net.weight.add_(0.1)
        update(net)
        return average(torch.randn(size, 4))

    return call, lambda: (list(average.parameters()), list(average.buffers()))


@modules
def weights_loaded_between_calls(compiling: Compiling) -> Made:
    net, other = small(), small()
    compiled = compiling(net)

    def call(size: int) -> object:
        if size == 5:
            net.load_state_dict({name: value * 0.5 for name, value in other.state_dict().items()})
        return compiled(torch.randn(size, 4))

    return call, lambda: list(net.state_dict().values())


@modules
def weights_assigned_between_calls(compiling: Compiling) -> Made:
    net, other = small(), small()
    compiled = compiling(net)

    def call(size: int) -> object:
        if size == 2:
            net.load_state_dict(other.state_dict(), assign=True)
        return compiled(torch.randn(size, 4))

    return call, lambda: list(net.state_dict().values())


@modules
def parameters_frozen_between_calls(compiling: Compiling) -> Made:
    net = small()
    compiled, calls = compiling(net), iter(range(100))

    def call(size: int) -> object:
        net[0].requires_grad_(next(calls) % 3 != 1)
        net.zero_grad()
        y = compiled(torch.randn(size, 4))
        y.square().sum().backward()
        return y

    return call, lambda: list(net.parameters())


@modules
def a_copy_of_a_compiled_module(compiling: Compiling) -> Made:
    net = Counting()
    compiled = compiling(net)
    compiled(torch.ones(2, 4))
    other = copy.deepcopy(compiled)

    def call(size: int) -> object:
        return compiled(torch.randn(size, 4)), other(torch.randn(size, 4))

    return call, lambda: (net.calls, other.calls)


@modules
def a_module_to_another_dtype(compiling: Compiling) -> Made:
    net = nn.Linear(4, 3)
    compiled = compiling(net)

    def call(size: int) -> object:
        dtype = torch.float64 if size == 5 else torch.float32
        net.to(dtype)
        return compiled(torch.randn(size, 4, dtype=dtype))

    return call, lambda: list(net.parameters())


@modules
def submodules_compiled_one_by_one(compiling: Compiling) -> Made:
    net = nn.Sequential(*[nn.Linear(4, 4) for _ in range(3)])
    for place in range(3):
        net[place] = compiling(net[place])
    return learning(net, net)


@modules
def a_lazy_module(compiling: Compiling) -> Made:
    net = nn.Sequential(nn.LazyLinear(5), nn.ReLU())
    return of_rows(compiling(net)), lambda: list(net.parameters())


@modules
def layers_in_containers(compiling: Compiling) -> Made:
    class Routed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleDict({"a": nn.Linear(4, 4), "b": nn.Linear(4, 4)})
            self.scales = nn.ParameterList([nn.Parameter(torch.ones(4)) for _ in range(2)])
            self.seen: OrderedDict[str, int] = OrderedDict()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for place, (name, layer) in enumerate(self.layers.items()):
                x = layer(x) * self.scales[place]
                self.seen[name] = self.seen.get(name, 0) + 1
            return x

    net = Routed()
    call, kept = learning(compiling(net), net)
    return call, lambda: (kept(), net.seen)


@modules
def hooks_of_modules(compiling: Compiling) -> Made:
    net, seen = small(), []
    net[0].register_forward_pre_hook(lambda m, args: (args[0] * 2,))
    net[2].register_forward_hook(lambda m, args, y: y + 1)
    net[4].register_forward_hook(lambda m, args, y: seen.append(y.shape[-1]))
    call, kept = learning(compiling(net), net)
    return call, lambda: (kept(), seen)


@modules
def backward_hooks_of_modules(compiling: Compiling) -> Made:
    net, seen = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 2)), []
    net[0].register_full_backward_hook(lambda m, gi, go: seen.append(go[0].shape[-1]))
    net[1].register_full_backward_hook(lambda m, gi, go: (gi[0] * 2,))
    call, kept = learning(compiling(net), net)
    return call, lambda: (kept(), seen)


@modules
def a_hook_that_comes_and_goes(compiling: Compiling) -> Made:
    net, seen = nn.Linear(4, 3), []
    compiled = compiling(net)

    def call(size: int) -> object:
        handle = net.register_forward_hook(lambda m, a, y: seen.append(1)) if size == 5 else None
        y = compiled(torch.randn(size, 4))
        if handle is not None:
            handle.remove()
        return y

    return call, lambda: seen
