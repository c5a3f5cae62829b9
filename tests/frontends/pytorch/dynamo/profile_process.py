"""Programs whose sizes differ from call to call, and how often a process compiles each; what it saw is written, or was
read before. Prints the counts, as JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable

import torch

from frontends.pytorch import compile, load_profile, save_profile
from frontends.pytorch.dynamo.backend import symshape

factor = torch.full((4,), 2.0)


def scaled(x: torch.Tensor, times: int) -> torch.Tensor:
    return x * times


def closed(added: torch.Tensor) -> Callable[[torch.Tensor], torch.Tensor]:
    def program(x: torch.Tensor) -> torch.Tensor:
        return (x + added).relu()

    return program


def ours(x: torch.Tensor, batch: dict[str, torch.Tensor]) -> torch.Tensor:
    return x.sum(0) + batch["y"].sum(0)


def counts(first: int) -> dict[str, int]:
    """How many graphs are made of each program, whose first axis is `first` and then others."""
    torch.manual_seed(0)
    made: dict[str, int] = {}

    def counted(name: str) -> Callable[..., object]:
        def backend(module: torch.fx.GraphModule, inputs: list[torch.Tensor]) -> Callable[..., object]:
            made[name] = made.get(name, 0) + 1
            return symshape(module, inputs, options={"backend": "eager"})

        return backend

    sizes = (first, first + 2, first + 5)
    programs = {"function": scaled, "closure": closed(torch.ones(4)), "module": torch.nn.Linear(4, 2)}
    for name, program in programs.items():
        compiled = torch.compile(program, backend=counted(name))
        for size in sizes:
            given = (torch.ones(size, 4), *([size] if program is scaled else []))
            torch.testing.assert_close(compiled(*given), program(*given))
    for size in sizes:
        mine(torch.ones(size, 4), {"y": torch.ones(size + 1, 4)})
    return {**made, "ours": len(mine.variants)}


mine = compile(ours)

if __name__ == "__main__":
    what, path = sys.argv[1:]
    if what == "load":
        load_profile(path, mine)
    print(json.dumps(counts({"save": 3, "load": 11}[what])))
    if what == "save":
        save_profile(path, mine)
