"""Programs whose sizes come from data are whole graphs where checks or construction decide what they ask.

Plain torch 2.13 refuses each of them. The others are refused with a message whose fix works.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest
import torch

import frontends.pytorch
from tests.frontends.pytorch.data_dependent.programs import PROGRAMS

ROOT: Final = Path(__file__).parents[4]
DECIDED: Final = sorted(name for name, program in PROGRAMS.items() if not program.undecided)
UNDECIDED: Final = sorted(name for name, program in PROGRAMS.items() if program.undecided)
SPELLINGS: Final = ("reasoner", "compile", "backend")


@pytest.fixture(scope="module")
def outcomes() -> Any:
    """The outcome of each program by each spelling, and the outcomes after the fixes of its messages."""
    command = [sys.executable, "-m", "tests.frontends.pytorch.data_dependent.outcomes"]
    run = subprocess.run([*command, *SPELLINGS], cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout.splitlines()[-1])


def test_at_least_thirty_from_public_threads() -> None:
    """The collection shrank, or a record lost the thread that its program was met in."""
    assert len(DECIDED) >= 30
    assert all(re.fullmatch(r"[\w.-]+/[\w.-]+#\d+", program.reference) for program in PROGRAMS.values())


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_runs_in_eager_torch(name: str) -> None:
    """A program's arguments are wrong: it raises where its checks hold, or none is false where one should be."""
    program = PROGRAMS[name]
    for make in program.holds:
        program.function(*make())
    for make in program.fails:
        with pytest.raises(RuntimeError):
            program.function(*make())


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_plain_torch_refuses(name: str, outcomes: Any) -> None:
    """Fails when this release of torch takes the program, which then says nothing about the engine."""
    assert outcomes["plain"][name][0]["verdict"] == "refused"


@pytest.mark.parametrize("name", DECIDED)
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_one_graph_where_facts_decide(name: str, spelling: str, outcomes: Any) -> None:
    """A question about sizes from data goes undecided, a result differs from eager torch's, or a false check passes."""
    found = outcomes[spelling][name][0]
    assert found["verdict"] == "whole", found["reason"]


@pytest.mark.parametrize("name", UNDECIDED)
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_refusal_names_a_fix_that_works(name: str, spelling: str, outcomes: Any) -> None:
    """A program that data decide is compiled all the same, or its message does not lead to one that is a graph."""
    *refused, last = outcomes[spelling][name]
    assert refused and all(found["verdict"] == "refused" for found in refused), last
    for found in refused:
        assert re.search(r"known: .*needed: .*fix: .*torch\._check\(", found["reason"], re.DOTALL), found["reason"]
    assert last["verdict"] == "whole", last["reason"]


def test_an_error_that_torch_catches_reads_no_argument() -> None:
    """The advice of an error that torch catches makes Dynamo read an argument in the middle of an operator."""

    def changes(logits: torch.Tensor, lengths: torch.Tensor, unread: torch.Tensor) -> torch.Tensor:
        n = lengths.max().item()
        torch._check(n >= 1)
        torch._check(n <= logits.shape[1])
        best = logits[:, :n].argmax(-1)
        return best[:, :1] - unread

    arguments = torch.randn(3, 14, 5), torch.tensor([9, 12, 7]), torch.tensor(2)
    with frontends.pytorch.reasoner():
        compiled = torch.compile(changes, backend="eager", fullgraph=True, dynamic=True)
        assert torch.equal(compiled(*arguments), changes(*arguments))
    torch.compiler.reset()
