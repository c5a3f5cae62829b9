"""Run every row of docs/concretization.md: Python does what the row says."""

from __future__ import annotations

import array
import bisect
import copy
import decimal
import fractions
import functools
import itertools
import json
import math
import numbers
import operator
import pickle
import random
import re
import struct
from pathlib import Path
from typing import Any

import pytest

import shapes
from shapes import ShapeEnv, SymBool, SymFloat, SymInt
from shapes.environment.events import Guarded, Specialized
from shapes.origin import Origin

PAGE = Path(__file__).parents[3] / "docs" / "concretization.md"
ROW = re.compile(r"^\| `(?P<code>.+?)` \| (?P<happens>[^|]+?) \|", re.MULTILINE)
ROWS = [(row["code"].replace("\\|", "|"), row["happens"]) for row in ROW.finditer(PAGE.read_text())]
ERRORS = {"TypeError": TypeError, "ValueError": ValueError, "ZeroDivisionError": ZeroDivisionError}


class Sized:
    def __init__(self, size: int) -> None:
        self.size = size

    def __len__(self) -> int:
        return self.size


MODULES = (
    array, bisect, copy, decimal, fractions, functools, itertools, json, math, numbers, operator, pickle, random,
    struct,
)  # fmt: skip
NAMES: dict[str, Any] = {
    **{module.__name__: module for module in MODULES},
    **{name: getattr(shapes, name) for name in dir(shapes) if name.startswith("sym_")},
    "Sized": Sized,
}


def run(code: str, values: dict[str, Any]) -> Any:
    """The value of an expression; a statement has none."""
    names = {**NAMES, **values}
    try:
        compiled = compile(code, str(PAGE), "eval")
    except SyntaxError:
        exec(compile(code, str(PAGE), "exec"), names)
        return None
    return eval(compiled, names)


def plain(env: ShapeEnv, value: Any) -> Any:
    """The value with every size replaced by its hint."""
    match value:
        case SymInt() | SymBool():
            return env.hint(value)
        case SymFloat():
            arguments = [argument.evaluate(env.hints) for argument in value.value.arguments]
            return value.value.program.evaluate(*arguments)
        case list() | tuple():
            return type(value)([plain(env, part) for part in value])
        case slice():
            return slice(plain(env, value.start), plain(env, value.stop))
        case _:
            return value


def symbolic(value: Any) -> bool:
    match value:
        case list() | tuple():
            return any(symbolic(part) for part in value)
        case slice():
            return symbolic(value.stop)
        case _:
            return isinstance(value, SymInt | SymBool | SymFloat)


def test_the_page_is_read() -> None:
    """A row that the pattern misses would never be run."""
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("| `")]
    assert len(ROWS) == len(lines) > 150


@pytest.mark.parametrize(("code", "happens"), ROWS, ids=[code for code, _ in ROWS])
def test_row(code: str, happens: str) -> None:
    """The reported line where a size is specialized is right."""
    env = ShapeEnv()
    s, t, k = env.symbol("s", hint=6), env.symbol("t", hint=4), env.symbol("k", lo=None, hint=2)
    sizes = {"s": s, "t": t, "k": k, "p": s > 2, "q": t > 2, "x": s / 4}
    numbers_ = {"s": 6, "t": 4, "k": 2, "p": True, "q": True, "x": 1.5}
    before = len(env.events)

    if happens.startswith("raises "):
        with pytest.raises(ERRORS[happens.removeprefix("raises ")]):
            run(code, sizes)
        assert len(env.events) == before
        return
    result = run(code, sizes)
    events = env.events[before:]
    for event in events:
        assert isinstance(event, Guarded | Specialized) and event.fact is not None
        assert isinstance(event.fact.origin, Origin) and event.fact.origin.file == str(PAGE)
    match happens:
        case "stays symbolic":
            assert symbolic(result) and not events
        case "shows the expression":
            assert isinstance(result, str) and re.search(r"[stx]", result) and not events
            return
        case "answers":
            assert not symbolic(result) and not events
            if code.startswith(("isinstance(s, int)", "p is")):
                assert result is False
                return
        case "guards":
            assert events and all(isinstance(event, Guarded) for event in events)
        case "specializes":
            assert any(isinstance(event, Specialized) for event in events) and env.specializations()
        case _:
            raise AssertionError(happens)
    assert plain(env, result) == run(code, numbers_)
