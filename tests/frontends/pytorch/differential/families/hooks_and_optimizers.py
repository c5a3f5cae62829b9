"""Hooks of modules and weights, and steps of training."""

import torch
from torch import nn

from tests.frontends.pytorch.differential.cases import Family

FAMILY = Family("hooks and optimizers")
stateful = FAMILY.stateful


def hooked(name, register):
    def make():
        module = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))
        log = []
        register(module, log)
        return module, log

    make.__name__ = name
    stateful("n 4")(make)


hooked("hook doubles", lambda module, log: module[0].register_forward_hook(lambda _, args, out: out * 2))
hooked("hook logs", lambda module, log: module[0].register_forward_hook(lambda _, args, out: log.append(out.shape[1])))
hooked("hook before", lambda module, log: module[0].register_forward_pre_hook(lambda _, args: (args[0] + 1,)))
hooked("hook of a weight", lambda module, log: module[0].weight.register_hook(lambda gradient: gradient * 2))
hooked(
    "hook of a backward",
    lambda module, log: module[2].register_full_backward_hook(lambda _, given, out: log.append(len(given))),
)
hooked(
    "hooks in order",
    lambda module, log: (
        module[0].register_forward_hook(lambda _, args, out: out + 1),
        module[0].register_forward_hook(lambda _, args, out: out * 2, prepend=True),
    ),
)


class Remembering(nn.Module):
    """A module whose own method is a hook of a part of it."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.found = {}
        self.layer.register_forward_hook(self.remember)

    def remember(self, module, args, out):
        self.found["layer"] = out.detach()

    def forward(self, x):
        y = self.layer(x)
        return y + self.found["layer"]


@stateful("n 4")
def hook_of_its_own_module():
    return Remembering(), None


def trained(name, make_optimizer):
    def make():
        layer = nn.Linear(4, 3)
        optimizer = make_optimizer(list(layer.parameters()))

        def step(x):
            optimizer.zero_grad()
            loss = layer(x.detach()).square().mean()
            loss.backward()
            optimizer.step()
            return loss.detach()

        return step, layer

    make.__name__ = name
    stateful("n 4")(make)


trained("momentum", lambda given: torch.optim.SGD(given, 0.1, momentum=0.9, nesterov=True))
trained("adam", lambda given: torch.optim.Adam(given, 0.1))
trained("adam of a tensor", lambda given: torch.optim.AdamW(given, torch.tensor(0.1), amsgrad=True))
trained("root mean square", lambda given: torch.optim.RMSprop(given, 0.1, centered=True))
trained("adadelta", torch.optim.Adadelta)


@stateful("n 4")
def smaller_steps():
    layer = nn.Linear(4, 3)
    optimizer = torch.optim.SGD(layer.parameters(), 0.1)

    def step(x):
        for group in optimizer.param_groups:
            group["lr"] = group["lr"] * 0.5
        optimizer.zero_grad()
        layer(x.detach()).sum().backward()
        optimizer.step()
        return x * 2

    return step, layer
