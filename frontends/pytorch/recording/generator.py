"""The state of torch's generator of random numbers, which in a trace is a place in the order of the draws.

    >>> import torch
    >>> import frontends.pytorch.recording.generator
    >>> state = torch.get_rng_state()
    >>> first = torch.rand(3)
    >>> torch.set_rng_state(state)
    >>> torch.equal(first, torch.rand(3))                # outside of a trace they do what they did
    True

A program that is traced seeds nothing itself; torch does, as when a checkpoint computes its block again.
"""

from __future__ import annotations

import torch

from frontends.pytorch.errors import TraceError
from frontends.pytorch.recording.randomness import Draws
from frontends.pytorch.recording.recorder import Recorder
from frontends.pytorch.symbolic.tensor import current_trace


def _recorder() -> Recorder | None:
    try:
        found = current_trace()
    except TraceError:
        return None
    assert isinstance(found, Recorder)
    return found


def _installed(name: str) -> None:
    """Stand before one of torch's functions for the generator's state: outside of a trace nothing changes."""
    plain = getattr(torch, name)

    def get_rng_state(*args: object) -> torch.Tensor:
        state = plain(*args)
        recorder = _recorder()
        if recorder is not None:
            if recorder.draws is None:
                recorder.draws = Draws()
            recorder.draws.save(state)
        return state

    def set_rng_state(state: torch.Tensor, *args: object) -> None:
        recorder = _recorder()
        if recorder is None:
            plain(state, *args)
        elif recorder.draws is None:
            Draws().restore(state)
        else:
            recorder.draws.restore(state)

    stand_in = get_rng_state if name == "get_rng_state" else set_rng_state
    stand_in.__wrapped__ = plain
    setattr(torch, name, stand_in)
    setattr(torch.random, name, stand_in)


for _name in ("get_rng_state", "set_rng_state"):
    _installed(_name)
