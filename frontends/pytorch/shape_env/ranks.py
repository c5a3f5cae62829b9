"""The ranks of a process group decide alike: what is dynamic is merged over the group when a program is compiled.

    >>> from frontends.pytorch.shape_env.ranks import Ranks
    >>> Ranks("model.forward", timeout=60.0).is_apart
    True

Each rank writes the sizes of a call to the store of the process group. The first compilation of a function waits for
those of all ranks; a size that differs between them is a symbol on every rank from then on. Later compilations read
what the others have written so far, without waiting: another rank may have a variant for its sizes. The store is apart
from the collectives, so that an exchange never meets one of the program's. A call that finds its variant exchanges
nothing. Dynamo reads the function again only if other ranks' sizes change what is dynamic.
"""

from __future__ import annotations

import copy
import logging
import pickle
import time
from collections import Counter
from collections.abc import Sequence
from types import CodeType
from typing import Any, Final

import torch.distributed as dist
from torch._dynamo.exc import CompileCollectiveRestartAnalysis
from torch._dynamo.output_graph import OutputGraph

from frontends.pytorch.shape_env.errors import Refused

PATIENCE: Final = 30.0
"""Seconds to wait for other ranks where no timeout is given."""
POLLED: Final = 0.02
"""Seconds between two looks at the store. One long wait would hold its lock, which torch's watchdogs need."""
SIMULATED: Final = ("fake", "threaded")
"""Backends of process groups whose other ranks are no processes."""
PROGRAMS: Final[Counter[str]] = Counter()
"""The number of programs of each name that have exchanged sizes in this process."""
COLLECTIVE = OutputGraph.run_compiler_collective
"""Torch's exchange, for torch's own process group."""
log: Final = logging.getLogger("symshape")


class AbsentRanks(Refused):
    """Other ranks have not compiled a function within the timeout."""


class Ranks:
    """The exchange of one program.

    Attributes:
        name: the program's name, the same on all ranks.
        timeout: seconds to wait for the other ranks at the first compilation of a function; None waits `PATIENCE` and
            then decides alone.
        is_alone: the other ranks were waited for in vain, and are not any more.
    """

    def __init__(self, name: str, timeout: float | None) -> None:
        self.name = name
        self.timeout = timeout
        self._limit = PATIENCE if timeout is None else timeout
        self.is_alone = False
        self._number: int | None = None
        self._own: dict[str, list[Any]] = {}

    @property
    def is_apart(self) -> bool:
        """Return True if this process is in no group, or alone in it."""
        if not (dist.is_available() and dist.is_initialized()):
            return True
        return dist.get_world_size() < 2 or dist.get_backend() in SIMULATED

    def states(self, code: CodeType, local: Any) -> list[Any]:
        """The sizes that this rank and the others have seen for the arguments of a function.

        Raises:
            AbsentRanks: another rank has not compiled it within the timeout, or the store is gone.
        """
        if self._number is None:
            self._number = PROGRAMS[self.name]
            PROGRAMS[self.name] += 1
        function = f"{code.co_name}:{code.co_firstlineno}"
        own = self._own.setdefault(function, [])
        # as met: torch merges into its own
        own.append(copy.deepcopy(local))
        keys = [f"symshape/{self.name}/{self._number}/{function}/{rank}" for rank in range(dist.get_world_size())]
        others = [key for rank, key in enumerate(keys) if rank != dist.get_rank()]
        try:
            store = dist.distributed_c10d._get_default_store()
            store.set(keys[dist.get_rank()], pickle.dumps(own))
            if len(own) == 1 and not self.is_alone:
                self._wait(store, others)
            # a rank that has written once has always written
            found = [pickle.loads(store.get(key)) for key in others if store.check([key])]
        except (RuntimeError, TimeoutError) as error:
            if self.timeout is not None:
                # the next call waits again
                own.pop()
                raise AbsentRanks(self._absent(code, keys, error)) from None
            self.is_alone = True
            log.warning("%s; goes on alone", self._absent(code, keys, error).partition("\n")[0])
            found = []
        return [local, *(state for states in found for state in states)]

    def _wait(self, store: dist.Store, keys: Sequence[str]) -> None:
        """Wait until all keys are written."""
        end = time.monotonic() + self._limit
        while not store.check(list(keys)):
            if time.monotonic() >= end:
                raise TimeoutError(f"waited {self._limit:g} s for the store")
            time.sleep(POLLED)

    def _absent(self, code: CodeType, keys: Sequence[str], error: Exception) -> str:
        """The text of the error: who is missing, and what helps."""
        try:
            store = dist.distributed_c10d._get_default_store()
            missing = ", ".join([str(rank) for rank, key in enumerate(keys) if not store.check([key])])
        except RuntimeError:
            missing = ""
        reason = f"rank {missing} did not" if missing else "the ranks did not (their store is gone)"
        return (
            f"rank {dist.get_rank()} compiles {code.co_name} and waits for the sizes of the other ranks: "
            f"{reason} compile it within {self._limit:g} s\n"
            f"  known:  {str(error).splitlines()[0]}\n"
            "  fix:    call the function on every rank, raise ranks_timeout where a rank is slow, or set it "
            "to 0: then each rank decides alone"
        )


def exchange(self: OutputGraph) -> None:
    """Replacement of torch's `run_compiler_collective`: once per compilation. Dynamo then reads the function again."""
    tx = self.root_tx
    state = None if tx is None else tx.distributed_state
    if tx is None or state is None or not isinstance(state.compile_pg, Ranks):
        COLLECTIVE(self)
    elif state.all_states is None:
        state.all_states = state.compile_pg.states(tx.f_code, state.local_state)
        # the sizes may lead the reading elsewhere
        tx.speculation_log.clear()
        raise CompileCollectiveRestartAnalysis


REPLACED: Final = ((OutputGraph, "run_compiler_collective", exchange),)
