"""Training loops' captured_state: schedules, configurations, averages, counters, caches that grow, records."""

import collections
import copy
import datetime
import enum
import functools
import math
import pathlib
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import NamedTuple, TypedDict

import torch
from torch import nn

from tests.frontends.pytorch.differential.cases import Family

FAMILY = Family("schedules")


class Phase(enum.IntEnum):
    WARM = 0
    MAIN = 1
    LAST = 2


class Options(TypedDict):
    scale: float
    steps: int


@dataclass
class Inner:
    x: torch.Tensor
    weight: float = 0.5


@dataclass
class Batch:
    inner: Inner
    labels: list = field(default_factory=list)
    phase: Phase = Phase.MAIN


@dataclass(frozen=True)
class Settings:
    factor: float = 2.0
    names: tuple = ("a", "b")
    place: pathlib.Path = pathlib.Path("models") / "one"


class Out(NamedTuple):
    loss: torch.Tensor
    step: int


class Growing:
    """Keys and values of the calls so far."""

    def __init__(self):
        self.keys = None
        self.calls = 0

    def update(self, x):
        self.calls += 1
        self.keys = x if self.keys is None else torch.cat([self.keys, x])
        return self.keys


@FAMILY.stateful("n m")
def factor_by_step():
    held = SimpleNamespace(step=0)

    def step(x):
        held.step += 1
        return x * (0.5 * (1 + math.cos(math.pi * held.step / 10)))

    return step, [held.__dict__]


@FAMILY.stateful("n m")
def phases():
    held = {"phase": Phase.WARM}

    def step(x):
        y = x * 2 if held["phase"] is Phase.WARM else x * int(held["phase"])
        held["phase"] = Phase(min(held["phase"] + 1, 2))
        return y

    return step, held


@FAMILY.stateful("n m", learned=False)
def average_of_weights():
    weight, average = torch.ones(1), torch.zeros(1)

    def step(x):
        weight.add_(x.mean())
        average.lerp_(weight, 0.1)
        return x * average

    return step, [weight, average]


@FAMILY.stateful("n 4", learned=False)
def average_of_a_module():
    net = nn.Linear(4, 3)
    average = copy.deepcopy(net).requires_grad_(False)

    @torch.no_grad()
    def step(x):
        for mine, its in zip(average.parameters(), net.parameters()):
            mine.mul_(0.9).add_(its, alpha=0.1)
            its.add_(x.mean())
        return average(x) + net(x)

    return step, [net, average]


@FAMILY.stateful("n m")
def mean_over_calls():
    class Metric(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("total", torch.zeros(()))
            self.register_buffer("count", torch.zeros((), dtype=torch.long))

        def forward(self, x):
            self.total += x.detach().sum()
            self.count += x.shape[0]
            return x - self.total / self.count

    metric = Metric()
    return metric, metric


@FAMILY.stateful("n m")
def counted_by_name():
    counts = collections.Counter()

    def step(x):
        counts[f"rows {x.shape[0]}"] += 1
        return x * counts.total()

    return step, counts


@FAMILY.stateful("n m")
def remembered_scale():
    calls = []

    @functools.cache
    def scale(rows):
        calls.append(rows)
        return rows * 0.5

    return lambda x: x * scale(int(x.shape[0])), calls


@FAMILY.stateful("n m")
def configuration_replaced():
    held = [Settings()]

    def step(x):
        y = x * held[0].factor * len(held[0].names)
        held[0] = replace(held[0], factor=held[0].factor + 1)
        return y

    return step, None


SETTINGS = Settings()
OPTIONS: Options = {"scale": 0.5, "steps": 2}

FAMILY.table(
    {
        "dataclass in dataclass": lambda x: replace(Batch(Inner(x)), inner=Inner(x * 2, 1.0)).inner.x,
        "named tuple with a number": lambda x: Out((x * x).mean(), x.shape[0]),
        "frozen settings": lambda x: x * SETTINGS.factor + len(SETTINGS.place.parts),
        "suffix of a path": lambda x: x * len(SETTINGS.place.with_suffix(".pt").name),
        "days": lambda x: x * (datetime.date(2024, 3, 1) - datetime.date(2024, 2, 1)).days,
        "seconds": lambda x: x * datetime.timedelta(minutes=1).total_seconds() / 60,
        "enumeration": lambda x: [x * phase for phase in Phase][Phase.LAST],
        "enumeration by name": lambda x: x * Phase["LAST"].value + len(Phase),
        "match of a batch": lambda x: matched(Batch(Inner(x, 0.25))),
        "object with hooks": lambda x: Growing().update(x * 2) + Growing().calls,
        "written by a mask": lambda x: written(x, x.detach() > 0),
    },
    "n m",
)


def matched(batch):
    match batch:
        case Batch(inner=Inner(x=x, weight=0.25), phase=Phase.MAIN):
            return x * 0.25
        case _:
            return batch.inner.x


def written(x, mask):
    y = x * 1
    y[mask] = (x * 2)[mask]
    return y * y
