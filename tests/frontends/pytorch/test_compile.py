"""The user's view of `compile`: functions, modules and methods, arguments of every form, reports, coverage."""

from __future__ import annotations

import math
from collections import OrderedDict, namedtuple

import torch
from torch import randn

from frontends.pytorch import compile
from frontends.pytorch.dynamo.compiled import Compiled
from solver.decide.verdict import Always
from tests.frontends.pytorch.against_eager import alike

Point = namedtuple("Point", "x y")


def agrees(f: Compiled, *args: object, **kwargs: object) -> None:
    """A call gives what the function itself gives."""
    expected = f.fn(*args, **kwargs)
    alike(f(*args, **kwargs), expected)


def guards(f: Compiled) -> list[list[str]]:
    return [[str(guard) for guard in variant.guards] for variant in f.variants]


# ---------------------------------------------------------------------- what programs do with sizes


def test_arithmetic_on_sizes() -> None:
    """Fails when square roots, factories or arithmetic on sizes specialize or guard."""

    def program(x):
        head = x.shape[-1] // 2
        padded = torch.zeros(x.size())
        return (x + padded)[..., :head] / math.sqrt(x.shape[-1]), torch.empty(x.size()).shape[0] * 2 + 1

    f = compile(program, dynamic=True)
    for sizes in ((2, 4), (3, 9), (1, 2)):
        agrees(f, randn(*sizes))
    assert len(f.variants) == 1 and guards(f) == [[]]


# ---------------------------------------------------------------------- what can be compiled


def test_a_decorator_with_and_without_options() -> None:
    """Fails when `compile` is not both a call and a decorator."""

    @compile
    def plain(x):
        """Doubles."""
        return x * 2

    @compile(dynamic=True, backend="eager", fullgraph=True)
    def with_options(x):
        return x * 2

    assert plain.__name__ == "plain" and plain.__doc__ == "Doubles."
    for each in (plain, with_options, compile(lambda x: x * 2)):
        agrees(each, randn(3))


def test_under_a_transform() -> None:
    """Fails when a compiled function cannot be mapped over a batch or differentiated by torch.func."""
    f = compile(lambda x: (x * 2 + x.shape[0]).sin(), dynamic=True)
    x = randn(3, 4)
    for _ in range(2):
        torch.testing.assert_close(torch.vmap(f)(x), torch.vmap(f.fn)(x))
        found = torch.func.grad(lambda x: f(x).sum())(x)
        torch.testing.assert_close(found, torch.func.grad(lambda x: f.fn(x).sum())(x))
        agrees(f, x)
    assert len(f.variants) == 1


# ---------------------------------------------------------------------- forms of arguments


def test_arguments_of_every_form() -> None:
    """Fails when containers, named ones, dataclasses, None and strings are not taken apart and put together right."""

    def program(batch, pair, mode="sum", *, point=None, options=None):
        out = batch["x"] * pair[0] + batch["y"][0]
        if mode == "mean":
            out = out / 2
        if point is not None:
            out = out + point.x
        result = OrderedDict(out=out, sizes=(out.shape[0], None, "text", 1.5))
        return {"point": Point(out, 3), "more": [result, ()]} if options else (result,)

    f = compile(program, dynamic=True)

    def batch(n: int) -> dict[str, object]:
        return {"x": randn(n, 4), "y": [randn(n, 4), randn(2)]}

    for n in (3, 5):
        agrees(f, batch(n), (2.0, None))
    agrees(f, batch(3), (3.0, None), "mean")
    agrees(f, batch(3), (2.0, None), point=Point(randn(4), 1), options={"a": True})
    agrees(f, batch(7), (2.0, None), options={"a": True}, point=Point(randn(4), 1))
    assert len(f.variants) == 3
    taken = f(batch(3), (2.0, None), point=Point(randn(4), 1), options={"a": True})
    assert type(taken["point"]) is Point and taken["more"][0]["sizes"] == (3, None, "text", 1.5)


# ---------------------------------------------------------------------- for people


def test_coverage_names_sizes_that_no_variant_accepts() -> None:
    """Fails when it is not known which sizes will be traced for."""
    f = compile(lambda x: x * 2 if x.shape[0] <= 8 else x * 3, dynamic=True)
    f(randn(4))
    ranges = {"x.shape[0]": (1, 64)}
    assert f.coverage(ranges).false_at["x.shape[0]"] > 8
    f(randn(9))
    assert isinstance(f.coverage(ranges), Always)


def test_variants_have_what_is_promised() -> None:
    """Fails when a variant lacks its graph, environment, guards, run-time asserts or cause."""
    f = compile(lambda x: x[x > 0].reshape(-1) * 2, dynamic=True)
    f(randn(8))
    (variant,) = f.variants
    assert isinstance(variant.graph, torch.fx.GraphModule) and variant.env.guards() == variant.guards == ()
    assert variant.runtime_asserts == () and variant.cause == "first call"


def test_a_report_is_a_page(tmp_path) -> None:
    """The page lacks a guard's line, or takes a comparison for a tag."""
    compiled = compile(lambda x: x * 2 if x.shape[0] < 5 else x, dynamic=True)
    compiled(torch.ones(3))
    compiled.report().save(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "x.shape[0] &lt;= 4" in page and "compile(lambda x: x * 2 if x.shape[0] &lt; 5" in page
