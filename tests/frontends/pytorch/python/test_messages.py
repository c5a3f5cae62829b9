"""What a program prints and logs is eager torch's, word for word, by graphs where all that is in it is known."""

from __future__ import annotations

import contextlib
import functools
import io
import logging
import pprint
import sys
from collections.abc import Callable

import pytest
import torch
from torch.nn import functional as F

from frontends.pytorch import compile

log = logging.getLogger("program of messages")


def sizes(x):
    print(x.shape, x.shape[0], x.dim(), x.dtype, list(x.shape), {"rows": x.shape[0]})
    return x * 2


def before_and_after(x):
    print("before")
    y = x * 2
    print("after", y.shape[0] * 2, sep="-", end="!\n", flush=True)
    return y


def a_tensor(x):
    y = x * 2
    print("y is", y, [y.sum(), (y.mean(), 3)])
    return y + 1


def changed_later(x):
    y = x * 2
    print(y)
    y.add_(1)
    print(y)
    y.zero_()
    return y


def an_argument_changed_later(x):
    print(x)
    x.mul_(2)
    print(x)
    return x + 1


def an_item(x):
    print("sum", x.sum().item())
    return x * 2


def a_list_changed_later(x):
    seen = [x.shape[0]]
    print(seen)
    seen.append(2)
    print(seen)
    return x + 1


def in_a_loop(x):
    for step in range(3):
        x = x + step
        print("step", step, x.shape[-1])
    return x


def views(x):
    print(x.t(), x[0], x[:, 1:])
    return x.reshape(-1)


def on_a_side(x):
    if x.shape[0] > 4:
        print("large", x.shape[0])
    return x * 2


class Counter:
    calls = 0


def with_state(x):
    Counter.calls += 1
    print("call", Counter.calls, "with", x.shape[0])
    return x * 2


def integers(x):
    print(x.long(), (x > 0), x.double().sum())
    return x * 2


KEPT = {
    each.__name__: each
    for each in (
        *(sizes, before_and_after, a_tensor, changed_later, an_argument_changed_later, an_item, a_list_changed_later),
        *(in_a_loop, views, on_a_side, with_state, integers),
    )
}


class Text:
    def __str__(self):
        return "text"


class Raises:
    def __str__(self):
        raise KeyError("no text")


text, raises = Text(), Raises()


def an_object(x):
    print(text, x.shape[0])
    return x * 2


def an_object_that_raises(x):
    y = x * 2
    print("this", y.shape[0])
    with contextlib.suppress(KeyError):
        print(raises)
    print("that")
    return y


sink = io.StringIO()


def to_a_file(x):
    print(x.shape[0], file=sink)
    return x * 2


def redirected(x):
    with contextlib.redirect_stdout(sink):
        print("inside", x.shape[0])
    print("outside", x.shape[0])
    return x * 2


@functools.lru_cache
def remembers(n):
    print("remembered", n)
    return n * 2


def of_a_memo(x):
    return x * remembers(3)


def on_data(x):
    print("first")
    if x.sum() > 0:
        print("positive")
    print("last")
    return x * 2


def raising(x):
    print("up to here", x.shape[0])
    if x.shape[0] == 5:
        raise ValueError("five")
    return x * 2


def a_formatted_size(x):
    print(f"{x.shape[0]} rows", f"{x.shape[1]} columns")
    return x * 2


def of_a_parameter(x):
    print(weight)
    return F.linear(x, weight)


def of_a_branch(x):
    return torch.cond(x.shape[0] > 3, lambda y: (print("many"), y * 2)[1], lambda y: (print("few"), y + 1)[1], (x,))


def by_another_name(x):
    say("said", x.shape[0])
    return x * 2


def pretty(x):
    pprint.pprint([x.shape[0], "text"])
    sys.stdout.write("written\n")
    return x * 2


def handed_on(x):
    list(map(print, [x.shape[0], 2]))
    functools.partial(print, "part")(x.shape[0])
    return x * 2


say = print
weight = torch.nn.Parameter(torch.ones(2, 2))
OTHERS = {
    each.__name__: each
    for each in (
        *(an_object, an_object_that_raises, to_a_file, redirected, of_a_memo, on_data, raising, a_formatted_size),
        *(of_a_parameter, of_a_branch, by_another_name, pretty, handed_on),
    )
}


def said(program: Callable[..., object], capsys: pytest.CaptureFixture[str]) -> list[object]:
    """What each call gives, and prints."""
    Counter.calls = 0
    remembers.cache_clear()
    sink.seek(0)
    sink.truncate()
    found: list[object] = []
    for size in (3, 5, 2, 4, 3, 7, 5):
        x = torch.arange(size * 2.0).reshape(size, 2)
        try:
            found.append(program(x).tolist())
        except ValueError as error:
            found.append(str(error))
        found += [x.tolist(), capsys.readouterr().out, sink.getvalue()]
    return found


@pytest.mark.parametrize("backend", ["eager", "cpu"])
@pytest.mark.parametrize("name", KEPT)
def test_is_printed_after_the_graph(name: str, backend: str, capsys: pytest.CaptureFixture[str]) -> None:
    """If it fails, a program prints something else, or in another order, or has no graph for its messages."""
    wanted = said(KEPT[name], capsys)
    compiled = compile(KEPT[name], dynamic=True, backend=backend)
    assert said(compiled, capsys) == wanted
    assert 1 <= len(compiled.variants) <= 3 and not compiled.fallbacks
    assert said(compiled, capsys) == wanted


@pytest.mark.parametrize("name", OTHERS)
def test_is_printed_as_it_is(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """If it fails, what only the program can print is printed once, or otherwise."""
    wanted = said(OTHERS[name], capsys)
    assert said(compile(OTHERS[name], dynamic=True), capsys) == wanted


def test_with_a_gradient(capsys: pytest.CaptureFixture[str]) -> None:
    """If it fails, a tensor is printed without the name of what made it."""
    compiled = compile(a_tensor)
    for _ in range(3):
        x = torch.ones(2, 2, requires_grad=True)
        compiled(x).sum().backward()
        found = capsys.readouterr().out
        a_tensor(x)
        assert found == capsys.readouterr().out
        assert "grad_fn=<MulBackward0>" in found


def test_another_print(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """If it fails, what a program has in the place of `print` is not called."""
    compiled = compile(before_and_after, dynamic=True)
    x, seen = torch.ones(2, 2), []
    compiled(x)
    capsys.readouterr()
    monkeypatch.setattr("builtins.print", lambda *values, **named: seen.append(values))
    compiled(x)
    compiled(x)
    monkeypatch.undo()
    assert seen == [("before",), ("after", 4)] * 2 and not capsys.readouterr().out


def test_another_output() -> None:
    """If it fails, a program prints to where it did at the trace."""
    compiled = compile(before_and_after, dynamic=True)
    outputs = [io.StringIO() for _ in range(3)]
    for each in outputs:
        with contextlib.redirect_stdout(each):
            compiled(torch.ones(2, 2))
    assert [each.getvalue() for each in outputs] == ["before\nafter-4!\n"] * 3


def logs(x):
    log.info("rows %d", x.shape[0])
    y = x * 2
    log.warning("columns %s of %s", x.shape[1], tuple(y.shape))
    log.debug("not said")
    return y


def logs_an_error(x):
    try:
        x.missing
    except AttributeError:
        log.exception("rows %d", x.shape[0])
    return x * 2


def logs_more(x):
    log.info("rows", extra={"rows": x.shape[0]})
    return x * 2


@pytest.mark.parametrize("program", [logs, logs_an_error, logs_more])
def test_logging(program: Callable[..., object], caplog: pytest.LogCaptureFixture) -> None:
    """If it fails, a message is logged once, or as if from another line, or at another time."""
    caplog.set_level(logging.INFO, "program of messages")

    def records(call: Callable[..., object]) -> list[object]:
        caplog.clear()
        for size in (3, 5, 2, 4):
            call(torch.ones(size, 2))
        found = [each for each in caplog.records if each.name == "program of messages"]
        created = [each.created for each in found]
        assert created == sorted(set(created)) or len(set(created)) > 1
        return [
            (each.getMessage(), each.levelname, each.pathname, each.lineno, each.funcName, bool(each.exc_info))
            for each in found
        ]

    wanted = records(program)
    compiled = compile(program, dynamic=True)
    assert wanted and records(compiled) == wanted
    assert program is not logs or (len(compiled.variants) == 1 and not compiled.fallbacks)


def test_logging_is_turned_off(caplog: pytest.LogCaptureFixture) -> None:
    """If it fails, a message is logged that the logger lets through no more."""
    compiled = compile(logs, dynamic=True)
    caplog.set_level(logging.INFO, "program of messages")
    compiled(torch.ones(2, 2))
    compiled(torch.ones(3, 2))
    caplog.clear()
    caplog.set_level(logging.WARNING, "program of messages")
    compiled(torch.ones(4, 2))
    own = [each for each in caplog.records if each.name == "program of messages"]
    assert [each.levelname for each in own] == ["WARNING"]


def found_by_name(x):
    logging.getLogger("program of messages.inner").debug("rows %d", x.shape[0])
    return x * 2


@pytest.mark.parametrize("program", [logs, found_by_name])
def test_logging_is_turned_on(program: Callable[..., object], caplog: pytest.LogCaptureFixture) -> None:
    """If it fails, a logger set to a lower level logs nothing in variants traced before."""
    compiled = compile(program, dynamic=True)
    caplog.set_level(logging.CRITICAL, "program of messages")
    for size in (2, 3):
        compiled(torch.ones(size, 2))
    assert len(compiled.variants) == 1
    for level, size in ((logging.DEBUG, 3), (logging.CRITICAL, 4), (logging.DEBUG, 2)):
        caplog.set_level(level, "program of messages")
        caplog.clear()
        program(torch.ones(size, 2))
        expected = [each.getMessage() for each in caplog.records if each.name.startswith("program")]
        assert bool(expected) == (level == logging.DEBUG)
        caplog.clear()
        compiled(torch.ones(size, 2))
        assert [each.getMessage() for each in caplog.records if each.name.startswith("program")] == expected
    assert len(compiled.variants) == 2


def test_what_a_backward_prints(capsys: pytest.CaptureFixture[str]) -> None:
    """If it fails, a forward prints what the backward does, or nobody prints it."""

    class Told(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            print("forward", x.shape[0])
            return x * 2

        @staticmethod
        def backward(ctx, gradient):
            print("backward")
            return gradient * 2

    compiled = compile(lambda x: Told.apply(x) + 1)
    for _ in range(3):
        y = compiled(torch.ones(2, requires_grad=True)).sum()
        assert capsys.readouterr().out == "forward 2\n"
        y.backward()
        assert capsys.readouterr().out == "backward\n"
