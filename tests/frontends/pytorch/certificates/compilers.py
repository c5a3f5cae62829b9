"""The compilers whose programs `certify` reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
import torch._dynamo
from torch.export import Dim, export

from frontends.pytorch import compile

Program = Callable[..., Any]


def without_entries() -> Iterator[None]:
    """Dynamo has no entries of other tests, and keeps none of a test."""
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


class One(torch.nn.Module):
    def __init__(self, program: Program) -> None:
        super().__init__()
        self.program = program

    def forward(self, x: torch.Tensor) -> object:
        return self.program(x)  # where a function is called


class Two(One):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> object:  # type: ignore[override]
        return self.program(x, y)  # where a function is called


def ours(program: Program, arguments: Sequence[torch.Tensor]) -> object:
    compiled = compile(program, dynamic=True)
    compiled(*arguments)
    return compiled


def by_dynamo(backend: str) -> Callable[[Program, Sequence[torch.Tensor]], object]:
    def compiled(program: Program, arguments: Sequence[torch.Tensor]) -> object:
        made = torch.compile(program, backend=backend, dynamic=True)
        made(*arguments)
        return made

    return compiled


def exported(program: Program, arguments: Sequence[torch.Tensor]) -> torch.export.ExportedProgram:
    module = program if isinstance(program, torch.nn.Module) else (One, Two)[len(arguments) - 1](program)
    dynamic = tuple([dict.fromkeys(range(each.dim()), Dim.AUTO) for each in arguments])
    return export(module, tuple(arguments), dynamic_shapes=dynamic)


COMPILERS = {
    "ours": ours,
    "eager": by_dynamo("eager"),
    "aot_eager": by_dynamo("aot_eager"),
    "symshape": by_dynamo("symshape"),
    "export": exported,
}
