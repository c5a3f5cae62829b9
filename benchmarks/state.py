"""Calls with side effects, on small tensors: against eager torch, which runs their Python each time.

    python -m benchmarks.state [--rounds 30] [--only counter,window] [--backend cpu] [--write]

Inference without gradients on 3 x 4 floats, one thread, processor time of a call once variants exist; the program and
its compiled twin are interleaved. Every program has state: a counter, a tensor, a list, a cache argument. The median of
the rounds in microseconds, and of eager torch's.
"""

from __future__ import annotations

import argparse
import logging
import statistics
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks import report

if TYPE_CHECKING:
    import torch

CALLS = 100
"""At most so many of one size: what grows at each call is in the time of eager torch as well."""
WARM = 6


@dataclass(frozen=True)
class Case:
    """A program: what makes one with a state of its own, and what it is given at each call."""

    name: str
    make: Callable[[], Callable[..., object]]
    given: Callable[[torch.Tensor], tuple[object, ...]] = lambda x: (x,)


class Cache:
    """One of a language model, made anew for each call."""

    def __init__(self) -> None:
        self.keys: torch.Tensor | None = None
        self.length = 0

    def add(self, keys: torch.Tensor) -> torch.Tensor:
        import torch

        self.keys = keys if self.keys is None else torch.cat([self.keys, keys])
        self.length += keys.shape[0]
        return self.keys


def cases() -> Iterator[Case]:
    import torch

    class Stateful(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.calls, self.mean, self.state = 0, 1.0, torch.zeros(4)
            self.pair = torch.zeros(4), torch.ones(4)
            self.items = [torch.zeros(4), torch.ones(4), torch.ones(4)]
            self.window: deque[torch.Tensor] = deque([torch.zeros(4), torch.ones(4)], maxlen=2)
            self.table: dict[str, torch.Tensor] = {"last": torch.zeros(4)}
            self.log: list[torch.Tensor] = []
            self.register_buffer("memory", torch.zeros(4))

    def counts(self: Stateful, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return x * self.calls

    def averages(self: Stateful, x: torch.Tensor) -> torch.Tensor:
        self.mean = self.mean * 0.9 + 0.3
        return x * self.mean

    def recurs(self: Stateful, x: torch.Tensor) -> torch.Tensor:
        self.state = torch.tanh(self.state + x.sum(0))
        return x + self.state

    def recurs_in_two(self: Stateful, x: torch.Tensor) -> torch.Tensor:
        hidden, cell = self.pair
        cell = torch.sigmoid(x.sum(0)) * cell + hidden
        self.pair = torch.tanh(cell), cell
        return x + self.pair[0]

    def assigns_a_buffer(self: Stateful, x: torch.Tensor) -> torch.Tensor:
        self.memory = self.memory * 0.5 + x.mean(0)
        return x + self.memory

    def adds_to_a_buffer(self: Stateful, x: torch.Tensor) -> torch.Tensor:
        self.memory.mul_(0.5).add_(x.mean(0))
        self.calls += 1
        return x + self.memory

    def rolls(self: Stateful, x: torch.Tensor) -> torch.Tensor:
        self.items.pop(0)
        self.items.append(x.mean(0))
        return x + self.items[0] + self.items[1] + self.items[2]

    def rolls_a_new_list(self: Stateful, x: torch.Tensor) -> torch.Tensor:
        self.items = [*self.items[1:], x.mean(0)]
        return x + self.items[0] + self.items[1] + self.items[2]

    def rolls_a_queue(self: Stateful, x: torch.Tensor) -> torch.Tensor:
        self.window.append(x.mean(0))
        return x + self.window[0]

    def stores_by_key(self: Stateful, x: torch.Tensor) -> torch.Tensor:
        y = x + self.table["last"]
        self.table["last"] = y.mean(0)
        return y

    def logs(self: Stateful, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(x * 2)
        self.log.append(y.mean())
        return y

    def of(forward: Callable[..., torch.Tensor]) -> Callable[[], Callable[..., object]]:
        return lambda: type("Program", (Stateful,), {"forward": forward})()

    def caches(x: torch.Tensor, cache: Cache) -> torch.Tensor:
        return torch.softmax(cache.add(x * 0.5), -1)

    def keeps_in_an_argument(x: torch.Tensor, seen: list[torch.Tensor]) -> torch.Tensor:
        seen.append(x.sum(0))
        return torch.softmax(x, -1)

    yield Case("counter", of(counts))
    yield Case("float", of(averages))
    yield Case("state", of(recurs))
    yield Case("two states", of(recurs_in_two))
    yield Case("buffer", of(assigns_a_buffer))
    yield Case("buffer in place", of(adds_to_a_buffer))
    yield Case("window", of(rolls))
    yield Case("new window", of(rolls_a_new_list))
    yield Case("queue", of(rolls_a_queue))
    yield Case("dictionary", of(stores_by_key))
    yield Case("log", of(logs))
    yield Case("new cache", lambda: caches, lambda x: (x, Cache()))
    yield Case("given list", lambda: keeps_in_an_argument, lambda x: (x, []))


def spent(call: Callable[..., object], given: Callable[[torch.Tensor], tuple[object, ...]], x: torch.Tensor) -> float:
    """Microseconds of a call."""
    start = time.process_time()
    for _ in range(CALLS):
        call(*given(x))
    return (time.process_time() - start) / CALLS * 1e6


def row(case: Case, backend: str, rounds: int) -> list[report.Cell]:
    import torch

    from frontends.pytorch import compile

    eager, compiled = case.make(), compile(case.make(), dynamic=True, backend=backend)
    for size in range(2, 2 + WARM):
        x = torch.randn(size, 4)
        eager(*case.given(x))
        compiled(*case.given(x))
    x = torch.randn(3, 4)
    times = [(spent(eager, case.given, x), spent(compiled, case.given, x)) for _ in range(rounds)]
    one, other = [statistics.median(part) for part in zip(*times)]
    ratio = statistics.median([ours / theirs for theirs, ours in times])
    how = "falls back to eager" if compiled.fallbacks else str(len(compiled.variants))
    return [case.name, one, other, ratio, how]


def measure(options: argparse.Namespace) -> str:
    import torch

    torch.set_num_threads(1)
    logging.getLogger("symshape").setLevel(logging.ERROR)
    wanted = [name for name in options.only.split(",") if name]
    with torch.no_grad():
        chosen = [case for case in cases() if not wanted or case.name in wanted]
        rows = [row(case, options.backend, options.rounds) for case in chosen]
    header = ["program", "eager, us", "compiled, us", "of eager", "variants"]
    return f"{report.table(header, rows)}\n\n{report.versions('torch')}."


def main() -> None:
    parser = report.arguments(__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", default="", help="programs, by name")
    parser.add_argument("--backend", default="cpu")
    report.publish("state", "Calls with side effects", measure, parser)


if __name__ == "__main__":
    main()
