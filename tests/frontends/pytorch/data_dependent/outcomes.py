"""The outcome of every program by plain torch and by each spelling of ours, printed as JSON.

    python -m tests.frontends.pytorch.data_dependent.outcomes reasoner backend compile

It is a process of its own: a refusal by Dynamo leaves its evaluation of frames behind, where deep recursion ends the
process.
"""

from __future__ import annotations

import dataclasses
import json
import logging
import sys
import warnings

import torch

from tests.frontends.pytorch.data_dependent.programs import PROGRAMS
from tests.frontends.pytorch.data_dependent.running import SPELLINGS, outcome, repaired, whole_graph


def main(spellings: list[str]) -> None:
    warnings.filterwarnings("ignore")
    logging.disable(logging.ERROR)
    torch.set_num_threads(1)
    found = {"plain": {name: [dataclasses.asdict(outcome(each, whole_graph))] for name, each in PROGRAMS.items()}}
    for spelling in spellings:
        found[spelling] = {
            name: [dataclasses.asdict(step) for step in repaired(each, SPELLINGS[spelling])]
            for name, each in PROGRAMS.items()
        }
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1:])
