"""Dynamo in this process: the graphs that it hands over, and who evaluates the frames."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from frontends.pytorch.dynamo import backend, program
from frontends.pytorch.dynamo.backend import Graph


def graphs_of_dynamo(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Graph]]:
    """The graphs that Dynamo hands over during a test."""
    seen: list[Graph] = []

    class Watched(Graph):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            seen.append(self)

    monkeypatch.setattr(backend, "Graph", Watched)
    monkeypatch.setattr(program, "Graph", Watched)
    torch.compiler.reset()
    yield seen
    torch.compiler.reset()


def evaluates_frames() -> bool:
    """Return True if Python evaluates its frames by itself, as no compiler has left its evaluation behind."""
    python = ctypes.pythonapi
    python.PyInterpreterState_Get.restype = python._PyInterpreterState_GetEvalFrameFunc.restype = ctypes.c_void_p
    python._PyInterpreterState_GetEvalFrameFunc.argtypes = [ctypes.c_void_p]
    current = python._PyInterpreterState_GetEvalFrameFunc(python.PyInterpreterState_Get())
    default = ctypes.cast(python._PyEval_EvalFrameDefault, ctypes.c_void_p).value
    return bool(current == default)
