"""A recompilation's cause names what is another this time: the property, the argument, and nothing else."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import pytest
import torch
from torch import nn

from frontends.pytorch import compile

Call = tuple[tuple[object, ...], dict[str, object]]


def x(*sizes: int, **options: object) -> torch.Tensor:
    return torch.ones(*(sizes or (3, 4)), **options)  # type: ignore[arg-type]


def call(*args: object, **kwargs: object) -> Call:
    return args, kwargs


Y = x()
HALF, DOUBLE, GRADIENT, TURNED = x().bfloat16(), x().double(), x(requires_grad=True), x(4, 3).t()

CAUSES: list[tuple[str, list[Call], str]] = [
    ("dtype", [call(x()), call(DOUBLE)], "x.dtype is torch.float64, was torch.float32"),
    ("requires_grad", [call(x()), call(GRADIENT)], "x.requires_grad is True, was False"),
    ("requires_grad later", [call(x()), call(DOUBLE), call(GRADIENT)], "x.requires_grad is True, was False"),
    ("dtype later", [call(x()), call(GRADIENT), call(DOUBLE)], "x.dtype is torch.float64, was torch.float32"),
    (
        "dtype of another",
        [call(x(), y=x()), call(DOUBLE, y=x()), call(x(), y=DOUBLE)],
        "y.dtype is torch.float64, was torch.float32",
    ),
    (
        "two at once",
        [call(x()), call(DOUBLE.detach().requires_grad_())],
        "x.dtype is torch.float64, was torch.float32; x.requires_grad is True, was False",
    ),
    ("device", [call(x()), call(x(device="meta"))], "x.device is meta, was cpu"),
    ("strides", [call(x()), call(TURNED)], "x.is_contiguous() is False, was True"),
    ("strides later", [call(x()), call(DOUBLE), call(TURNED)], "x.is_contiguous() is False, was True"),
    ("rank", [call(x()), call(x(3, 4, 5))], "x has rank 3, was 2"),
    ("rank of another", [call(x(), y=x()), call(x(), y=x(3, 4, 4))], "y has rank 3, was 2"),
    ("class", [call(x()), call(nn.Parameter(x()))], "x is of the class Parameter, was Tensor"),
    ("number", [call(x(), y=2), call(x(), y=x())], "y is of the class Tensor, was int"),
    ("truth", [call(x(), y=True), call(x(), y=False)], "y is False, was True"),
    ("text", [call(x(), y="a"), call(x(), y="b")], "y is b, was a"),
    ("nothing", [call(x(), y=None), call(x(), y="b")], "y is of the class str, was NoneType"),
    ("object", [call(x(), y=len), call(x(), y=max)], "y is another object"),
    ("same", [call(Y, y=x()), call(Y, y=Y)], "x and y are the same tensor, before no tensor is given twice"),
    ("size", [call(x()), call(x(5, 4))], "x.size(0) is 5, was 3"),
    ("container", [call([x()]), call((x(),))], "different pytree structure"),
    ("length", [call([x()]), call([x(), x()])], "different pytree structure"),
]


def f(x: torch.Tensor | list[torch.Tensor] | tuple[torch.Tensor, ...], y: object = None) -> torch.Tensor:
    first = x[0] if isinstance(x, list | tuple) else x
    return first * 2


@pytest.mark.parametrize(("calls", "cause"), [row[1:] for row in CAUSES], ids=[row[0] for row in CAUSES])
def test_cause(calls: list[Call], cause: str) -> None:
    """If it fails, someone looks for the wrong property: a dtype where it was a gradient, say."""
    compiled = compile(f)
    for args, kwargs in calls:
        compiled(*args, **kwargs)
    causes = [variant.cause for variant in compiled.variants]
    assert len(causes) == len(calls), compiled.fallbacks
    assert causes[-1] == cause


def float64() -> AbstractContextManager[object]:
    class Scope(nullcontext[object]):
        def __enter__(self) -> None:
            torch.set_default_dtype(torch.float64)

        def __exit__(self, *error: object) -> None:
            torch.set_default_dtype(torch.float32)

    return Scope()


AROUND: list[tuple[Callable[[], AbstractContextManager[object]], str]] = [
    (torch.no_grad, "grad_mode is False, was True"),
    (float64, "default_dtype is torch.float64, was torch.float32"),
    (lambda: torch.autocast("cpu", torch.bfloat16), "autocast is (('cpu', True, torch.bfloat16),), was None"),
]


@pytest.mark.parametrize(("around", "cause"), AROUND, ids=["gradients", "default dtype", "autocast"])
def test_cause_around(around: Callable[[], AbstractContextManager[object]], cause: str) -> None:
    """If it fails, a mode is taken for a property of an argument."""
    compiled = compile(f)
    compiled(x())
    compiled(DOUBLE)
    with around():
        compiled(x())
    assert [variant.cause for variant in compiled.variants][2:] == [cause]


def test_cause_of_a_module() -> None:
    """If it fails, the mode or an attribute of a module is not named."""
    module = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5))
    compiled = compile(module)
    compiled(x())
    compiled(DOUBLE.float())
    module.eval()
    compiled(x())
    assert len(compiled.variants) == 2 and "training" in compiled.variants[1].cause
