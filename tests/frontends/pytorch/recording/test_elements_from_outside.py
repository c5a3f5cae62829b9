"""Numbers that a program takes out of tensors that it is not given: in a graph where they are guarded, never stale."""

from __future__ import annotations

import random

import numpy
import pytest
import torch
import torch.nn.functional as F

from frontends.pytorch import compile

GIVEN = torch.arange(4.0)


class Net(torch.nn.Module):
    """A module with a small tensor that its program reads."""

    def __init__(self, program, shape, kind):
        super().__init__()
        self.program = program
        tensor = torch.full(shape, 0.5)
        if kind == "buffer":
            self.register_buffer("p", tensor)
        else:
            self.p = torch.nn.Parameter(tensor, requires_grad=False)
        self.register_buffer("mean", torch.ones(2))

    def forward(self, x):
        return self.program(self, x)


NEEDED = {
    "a probability": lambda net, x: F.dropout(x, net.p.flatten()[0], True),
    "a branch": lambda net, x: x * 2 if net.p.sum() > 0.6 else x * 3,
    "float": lambda net, x: x * float(net.p.max()),
    "int": lambda net, x: x.repeat(int(net.p.flatten()[0] * 4) + 1),
    "item": lambda net, x: x * {0.25: 1.0, 0.5: 2.0, 0.75: 3.0}.get(net.p.flatten()[-1].item(), 4.0),
    "tolist": lambda net, x: x * sum(net.p.flatten().tolist()) if net.p.flatten().tolist()[0] > 0.3 else x,
    "bool": lambda net, x: x * 2 if bool(net.p.max()) else x * 3,
    "isnan": lambda net, x: x * 2 if net.p.isnan().any() else x * float(net.p.flatten()[0]),
    "an order": lambda net, x: x * (max(net.p.flatten()) * 2).item() + len(range(int(net.p.flatten()[0] * 8))),
}
"""Programs that have a graph."""
OTHERS = {
    "written after": lambda net, x: (x * 2 if net.p.max() > 0.4 else x * 3, net.p.add_(0.25).clamp_(max=0.75))[0],
    "written before": lambda net, x: (net.p.add_(0.25).clamp_(max=0.75), x * 2 if net.p.max() > 0.4 else x * 3)[1],
    "an argument written": lambda net, x: (x.add_(0.25), x * 2 if net.p.max() > 0.4 else x * 3)[1],
    "random": lambda net, x: x * 2 if (torch.rand(()) * net.p).max() > 0.2 else x * 3,
    "statistics": lambda net, x: (F.batch_norm(x.view(2, 2), net.mean, torch.ones(2), training=True), net.mean.sum())[0]
    * (2 if net.mean.sum() > 2.0 else 3),
    "numpy": lambda net, x: x * 2 if net.p.detach().numpy().max() > 0.4 else x * 3,
    "asarray": lambda net, x: x * 2 if numpy.asarray(net.p).max() > 0.4 else x * 3,
    "text": lambda net, x: x * str(net.p).count("7"),
    "a format": lambda net, x: x * f"{net.p}".count("5"),
}


def set_by_numpy(net, value):
    net.p.detach().numpy()[...] = value


def set_in_inference(net, value):
    with torch.inference_mode():
        net.p.fill_(value)


WRITES = {
    "fill_": lambda net, value: net.p.fill_(value),
    "data": lambda net, value: setattr(net.p, "data", torch.full_like(net.p, value)),
    "data.fill_": lambda net, value: net.p.data.fill_(value),
    "numpy": set_by_numpy,
    "inference": set_in_inference,
    "another": lambda net, value: setattr(net, "p", type(net.p)(torch.full_like(net.p, value), requires_grad=False))
    if isinstance(net.p, torch.nn.Parameter)
    else setattr(net, "p", torch.full_like(net.p, value)),
    "load": lambda net, value: net.load_state_dict({"p": torch.full_like(net.p, value), "mean": net.mean.clone()}),
    "storage": lambda net, value: net.p.untyped_storage().copy_(torch.full_like(net.p, value).untyped_storage()),
    "a view": lambda net, value: net.p.view(-1)[:].fill_(value),
}


def tried(module, x):
    """What a call gives, or raises, as text."""
    try:
        return repr(module(x).tolist())
    except (ValueError, RuntimeError, TypeError) as error:
        return type(error).__name__


@pytest.mark.parametrize("backend", ["eager", "cpu"])
@pytest.mark.parametrize("program", NEEDED.values(), ids=NEEDED)
def test_in_a_graph(program, backend):
    """If it fails, a program that takes a number out of a buffer runs with graph breaks at each call."""
    net = Net(program, (), "buffer")
    compiled = compile(net, backend=backend, fullgraph=True)
    for value in (0.5, 0.5, 0.75, 0.5):
        net.p.fill_(value)
        torch.manual_seed(3)
        found = compiled(GIVEN.clone())
        torch.manual_seed(3)
        assert torch.equal(found, net(GIVEN.clone()))
    assert len(compiled.variants) <= 2


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
@pytest.mark.parametrize("program", [*NEEDED.values(), *OTHERS.values()], ids=[*NEEDED, *OTHERS])
def test_however_it_is_written(program, write):
    """If it fails, a graph has an element that is another by now."""

    def run(called):
        net = Net(program, (2,), "buffer")
        torch.manual_seed(5)
        module = called(net)
        found = []
        for value in (0.5, 0.25, 0.25, 0.75, float("nan")):
            write(net, value)
            found.append((tried(module, GIVEN.clone()), repr(net.p.tolist()), net.mean.tolist()))
        return found

    assert run(compile) == run(lambda net: net)


def elements_run(seed, called):
    """A random program that reads elements, with writes in between; what was seen of it."""
    draw = random.Random(seed)
    torch.manual_seed(seed)
    programs = [*NEEDED.values(), *OTHERS.values()]
    net = Net(draw.choice(programs), draw.choice([(), (2,), (2, 2), (4,)]), draw.choice(["buffer", "parameter"]))
    module = called(net)
    seen = []
    for _ in range(9):
        if draw.random() < 0.4:
            draw.choice(list(WRITES.values()))(net, draw.choice([0.25, 0.5, 0.75, float("nan")]))
        x = GIVEN.clone()
        if draw.random() < 0.15 and net.p.numel() == 4:
            # the memory that is read
            x = draw.choice([net.p, net.p.view(-1)])
        with torch.set_grad_enabled(draw.random() < 0.5):
            seen.append(tried(module, x))
        seen.append((repr(net.p.tolist()), repr(net.mean.tolist())))
    return seen


@pytest.mark.parametrize("seed", range(30))
def test_random_programs(seed):
    """If it fails, a graph has an element that is another by now."""
    assert elements_run(seed, compile) == elements_run(seed, lambda net: net)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(30, 330))
def test_many_random_programs(seed):
    """The same, of more."""
    backend = "cpu" if seed % 5 == 0 else "eager"
    compiled = elements_run(seed, lambda net: compile(net, backend=backend))
    assert compiled == elements_run(seed, lambda net: net)


def test_an_element_that_always_changes():
    """If it fails, each value is a trace, and then the program falls back to eager instead of graph breaks."""
    rate = torch.tensor(0.0)

    def program(x):
        return x.exp() * 2 if float(rate) > 3 else x.exp() * float(rate)

    compiled = compile(program)
    for step in range(8):
        rate.fill_(step)
        assert torch.equal(compiled(torch.ones(2)), program(torch.ones(2)))
    assert len(compiled.variants) == 2 and compiled.broken is not None
    assert "what is in rate is another at every call" in compiled.fallbacks[-1].reason


def test_only_what_is_read_is_compared():
    """If it fails, a parameter that no number is taken from has a variant for each of its values."""
    weight, rate = torch.nn.Parameter(torch.ones(2)), torch.tensor(0.5)

    def program(x):
        return x * weight if rate > 0.25 else x

    compiled = compile(program)
    for value in (1.0, 2.0, 3.0):
        with torch.no_grad():
            weight.fill_(value)
        assert torch.equal(compiled(torch.ones(2)), program(torch.ones(2)))
    assert len(compiled.variants) == 1


READS = {
    "numpy": lambda tensor: tensor.numpy()[0],
    "asarray": lambda tensor: numpy.asarray(tensor)[1],
    "tolist": lambda tensor: tensor.tolist()[0],
    "item": lambda tensor: tensor[0].item(),
    "repr": lambda tensor: repr(tensor).count("4"),
    "a format": lambda tensor: f"{tensor}".count("2"),
    "cpu": lambda tensor: tensor.cpu().numpy()[0],
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_elements_in_a_program_that_breaks(read, capsys):
    """If it fails, what is read where a program runs with graph breaks is from before what it did to the tensor."""
    state = torch.tensor([1.0, 2.0])

    def program(x):
        print("a break")
        state.add_(1)
        y = x * 2
        number = read(state)
        state.mul_(2)
        return y * float(number)

    compiled = compile(program)
    for _ in range(3):
        expected = program(torch.ones(1)), state.tolist()
        state.copy_(torch.tensor([1.0, 2.0]))
        assert (compiled(torch.ones(1)), state.tolist()) == expected
        state.copy_(torch.tensor([1.0, 2.0]))
